//! Notifications between sessions: what `NOTIFY` sends and who listens.
//!
//! The life of a notification: the session keeps it until its transaction commits (`session/notify.rs`). The transaction takes a
//! turn in the [`Exchange`] before it commits, and hands its notifications over once it has. When its commit is durable, and
//! those with earlier turns are done, they come into the [`Inbox`] of each session that listens.
//!
//! Invariants:
//! - Nothing is told that a crash could take back: what waits for durability waits in the exchange.
//! - The notifications of a transaction come together and in their order. Of two transactions of which one has seen what the
//!   other wrote, that other one comes first.
//! - A session that does not take its notifications holds nobody up: its inbox is bounded, and closed where it is full.
//! - What waits for durability is bounded, too: while it is too much nobody sends more.
//!
//! Absent: notifications are in memory only, and a restart forgets them.

mod exchange;
mod inbox;

use std::sync::Arc;

pub(crate) use exchange::{Exchange, Turn};
pub use inbox::Inbox;

/// What one notification takes of a limit in bytes, beside its channel and its payload.
const OVERHEAD_BYTES: usize = 64;

/// How many notifications one transaction may send.
pub(crate) const SENT_MAX: usize = 1 << 17;
/// How many bytes these may take.
pub(crate) const SENT_BYTES_MAX: usize = 16 << 20;
/// How many bytes may wait for commits to be durable, of all transactions.
const QUEUE_BYTES_MAX: usize = 4 * SENT_BYTES_MAX;
/// How many notifications may wait for one session.
const INBOX_MAX: usize = 2 * SENT_MAX;
/// How many bytes these may take.
const INBOX_BYTES_MAX: usize = 2 * SENT_BYTES_MAX;

/// What a session is told that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The number of the session that sent it, as [`Session::set_backend_pid`](crate::Session::set_backend_pid) has set it.
    pub pid: i32,
    /// The channel.
    pub channel: Arc<str>,
    /// What was sent; empty where nothing was.
    pub payload: Arc<str>,
}

impl Notification {
    /// What it takes of a limit in bytes.
    pub(crate) fn bytes(&self) -> usize {
        OVERHEAD_BYTES + self.channel.len() + self.payload.len()
    }
}
