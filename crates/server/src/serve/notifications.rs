//! Notifications to a client: when it is told, and how one ends that does not read.
//!
//! Invariants:
//! - A client is told outside of transactions alone: before `ReadyForQuery`, or while it is waited for.
//! - What it has sent to itself it is told before the `ReadyForQuery` of that transaction.
//! - What waits for a client that does not read is bounded, by its session's inbox and a piece of the output. One whose inbox is
//!   full is told so, and its connection ends. Senders never wait for it.

use std::future::pending;

use osier_sql::Session;

use super::connection::{Connection, Wire};
use super::errors::End;

/// What an idle client is sent at a time, about.
const PIECE_BYTES: usize = 64 * 1024;

impl Connection {
    /// Appends the notifications that there are, if no transaction is open.
    ///
    /// # Errors
    /// Where there were too many; where the log failed that was to hold what the client has sent to itself.
    pub async fn push_notifications(&mut self) -> Result<(), End> {
        let Some(inbox) = self.session.inbox().filter(|_| self.session.is_idle()).cloned() else { return Ok(()) };
        if inbox.awaits_own() {
            self.settle().await?;
            inbox.own_arrival().await;
        }
        while let Some(notification) = self.session.next_notification().map_err(End::Fatal)? {
            self.wire.output.push_notification(&notification);
        }
        Ok(())
    }
}

/// Waits until there is something to tell the client.
pub async fn arrival(session: &Session) {
    match session.inbox() {
        Some(inbox) if session.is_idle() => inbox.arrival().await,
        Some(inbox) => inbox.overflow().await,
        None => pending().await,
    }
}

/// Tells the client a piece of what there is. Safe to cancel.
///
/// # Errors
/// Where the connection broke, or the client does not read.
pub async fn tell(wire: &mut Wire, session: &mut Session) -> Result<(), End> {
    if !session.is_idle() {
        return session.inbox().map_or(Ok(()), |inbox| inbox.check().map_err(End::Fatal));
    }
    while wire.output.bytes.len() < PIECE_BYTES
        && let Some(notification) = session.next_notification().map_err(End::Fatal)?
    {
        wire.output.push_notification(&notification);
    }
    tokio::select! {
        biased;
        sent = wire.send() => sent,
        end = overflow(session) => Err(end),
    }
}

/// Waits until more notifications wait for the client than may. Returns how its connection ends.
pub async fn overflow(session: &Session) -> End {
    let Some(inbox) = session.inbox() else { return pending().await };
    inbox.overflow().await;
    inbox.check().map_or_else(End::Fatal, |()| End::Closed)
}
