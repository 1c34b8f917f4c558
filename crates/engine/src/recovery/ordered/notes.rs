//! What is noted of a replay, where a simulation of others wants to know (recovery/simulation): what its steps took, and how
//! procedures and arguments have divided the log.
//!
//! Invariants:
//! - Transactions count once, by the first of their records, and in the order of the log: so the notes of two replays of one log
//!   fit together.
//! - The clock is read once for each transaction and each window: what they took adds up to the whole.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::merge::LiveRecord;
use crate::catalog::procedure::VersionKey;
use crate::io::Clock;

/// What decides where a transaction is at home; `None`: it is at home anywhere.
pub(in crate::recovery) type Group = Option<u16>;

/// What is noted of a replay.
pub(in crate::recovery) struct Notes {
    clock: Arc<dyn Clock>,
    since: Duration,
    /// Of a replay in order what each transaction took, in nanoseconds.
    pub(in crate::recovery) transactions: Vec<u32>,
    /// The same by what they called; `None`: they were logged as rows.
    pub(in crate::recovery) procedures: BTreeMap<Option<VersionKey>, NotedCalls>,
    /// Reading the log, of a replay in order by one thread.
    pub(in crate::recovery) read: Duration,
    /// Of a replay by procedures.
    pub(in crate::recovery) stretches: Vec<NotedStretch>,
}

/// Calls of one version of a procedure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::recovery) struct NotedCalls {
    /// The name, where the catalog knows it.
    pub(in crate::recovery) name: Option<String>,
    pub(in crate::recovery) calls: u64,
    pub(in crate::recovery) took: Duration,
}

/// A stretch of the order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::recovery) struct NotedStretch {
    pub(in crate::recovery) transactions: u32,
    /// How long it took to plan it; zero where it was not planned.
    pub(in crate::recovery) planned: Duration,
    /// How much of that was noting what its transactions access, which several threads can do.
    pub(in crate::recovery) noted: Duration,
    /// Where its transactions are at home, if it was planned.
    pub(in crate::recovery) groups: Vec<Group>,
    /// `None`: its transactions run one after the other.
    pub(in crate::recovery) at_once: Option<NotedGraph>,
}

/// Transactions that may run at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::recovery) struct NotedGraph {
    /// Each from one to another one that waits for it.
    pub(in crate::recovery) edges: Vec<(u32, u32)>,
    /// Making the queues, ...
    pub(in crate::recovery) queued: Duration,
    /// ... beginning with one thread, ...
    pub(in crate::recovery) begun: Duration,
    /// ... and waiting until it has run everything.
    pub(in crate::recovery) ran: Duration,
}

impl Notes {
    /// Returns the notes of a replay that begins now.
    pub(in crate::recovery) fn new(clock: &Arc<dyn Clock>) -> Notes {
        let (transactions, procedures, stretches) = Default::default();
        Notes { since: clock.now(), clock: clock.clone(), transactions, procedures, read: Duration::ZERO, stretches }
    }

    /// Returns how long it is since this was asked the last time.
    fn lap(&mut self) -> Duration {
        let now = self.clock.now();
        now.saturating_sub(std::mem::replace(&mut self.since, now))
    }

    /// A window was read, or waited for.
    pub(super) fn has_read(&mut self) {
        let read = self.lap();
        self.read += read;
    }

    /// A transaction has run, in its turn; `name` is that of what it calls.
    pub(super) fn ran(&mut self, record: &LiveRecord<'_>, name: impl FnOnce() -> Option<String>) {
        let took = self.lap();
        self.transactions.push(u32::try_from(took.as_nanos()).unwrap_or(u32::MAX));
        let key = record.command.as_ref().map(VersionKey::of_command);
        let of = self.procedures.entry(key).or_insert_with(|| NotedCalls { name: name(), ..NotedCalls::default() });
        of.calls += 1;
        of.took += took;
    }
}
