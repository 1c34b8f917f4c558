//! The *debt*: how long a recovery would take to replay the log since the last checkpoint, as far as that can be told beforehand.
//!
//! Where commands are logged, a recovery runs one transaction after the other, so what each will cost adds up. Rows that were
//! logged cost their number and their bytes; a command costs what its procedure takes, which its caller has measured.
//!
//! Invariants:
//! - A commit writes nothing that is shared: a session tells of what it owes in pieces.
//! - What a checkpoint is said to cover was owed before its boundary was announced, so the debt is never below what is left.
//!
//! Absent: the debt of a log of values, which is replayed in parallel and as fast as it is read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;

use crate::config::Config;

/// What replaying a transaction costs besides its rows. This and what follows is processor time of recoveries on the machine of
/// docs/performance.md, which lists them (adaptive logging): of rows of 100 and of 1,000 bytes (YCSB), one and two to a
/// transaction, and of TPC-C's, as values and as calls.
const TRANSACTION_NS: u64 = 400;
/// What a row costs: to find its record, its index entries, to lock and to install it.
const ROW_NS: u64 = 1100;
/// What 16 bytes of rows cost: to read and check them, to make an image of them.
const SIXTEEN_BYTES_NS: u64 = 14;
/// What a row that a command has written costs at its commit, which is not in the measured time of the procedure.
const INSTALLED_ROW_NS: u64 = 300;
/// How much a session owes at most before it tells.
const PIECE_NS_MAX: u64 = 1_000_000;

/// What the log got of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogEntry {
    /// Nothing: nothing was written, or there is no log.
    Nothing,
    /// Rows.
    Values { rows: u64, bytes: u64 },
    /// A command, which wrote so many rows.
    Command { rows: u64 },
}

impl LogEntry {
    /// Returns what replaying it takes; `execution_ns` is the time of its procedure, if it is a command.
    pub(crate) fn replay_ns(self, execution_ns: u64) -> u64 {
        match self {
            LogEntry::Nothing => 0,
            LogEntry::Values { rows, bytes } => TRANSACTION_NS + rows * ROW_NS + bytes * SIXTEEN_BYTES_NS / 16,
            LogEntry::Command { rows } => TRANSACTION_NS + execution_ns + rows * INSTALLED_ROW_NS,
        }
    }
}

/// The debt of an open database.
pub(crate) struct Debt {
    /// Whether the log is one that is replayed in order.
    is_counted: bool,
    piece_ns: u64,
    target_ns: u64,
    /// All of it since the open, and what earlier lives have left.
    owed_ns: CachePadded<AtomicU64>,
    /// What checkpoints have covered of that.
    covered_ns: AtomicU64,
}

impl Debt {
    pub(crate) fn new(config: &Config) -> Debt {
        let target_ns = config.recovery_seconds_target.saturating_mul(1_000_000_000);
        Debt {
            is_counted: config.logged.has_commands(),
            piece_ns: PIECE_NS_MAX.min(target_ns / 1024),
            target_ns,
            owed_ns: CachePadded::default(),
            covered_ns: AtomicU64::new(0),
        }
    }

    /// Whether it is known.
    #[inline]
    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// Adds to it; what earlier lives of the database have left, too.
    pub(crate) fn add(&self, ns: u64) {
        if self.is_counted {
            self.owed_ns.fetch_add(ns, Ordering::Relaxed);
        }
    }

    /// Returns all that was owed since the open, whether it is covered by now or not.
    pub(crate) fn owed_ns(&self) -> u64 {
        self.owed_ns.load(Ordering::Relaxed)
    }

    /// A checkpoint that holds all of what was owed up to `owed_ns` is valid.
    pub(crate) fn cover(&self, owed_ns: u64) {
        assert!(owed_ns <= self.owed_ns(), "what is covered was owed");
        self.covered_ns.fetch_max(owed_ns, Ordering::Relaxed);
    }

    /// Returns what is owed now.
    pub(crate) fn present_ns(&self) -> u64 {
        self.owed_ns().saturating_sub(self.covered_ns.load(Ordering::Relaxed))
    }

    /// Returns how much it may become, by the configuration.
    pub(crate) fn target_ns(&self) -> u64 {
        self.target_ns
    }

    /// Returns by how much it grows from one checkpoint that it calls for to the next, so that the second half of the target is
    /// for what is logged while one is written.
    pub(crate) fn due_ns(&self) -> u64 {
        self.target_ns / 2
    }
}

/// What a session owes and has not told of.
#[derive(Default)]
pub(crate) struct OwnDebt {
    ns: u64,
}

impl OwnDebt {
    /// The log got `entry`; see [`LogEntry::replay_ns`].
    #[inline]
    pub(crate) fn add(&mut self, debt: &Debt, entry: LogEntry, execution_ns: u64) {
        if debt.is_counted {
            self.ns += entry.replay_ns(execution_ns);
            if self.ns >= debt.piece_ns {
                self.tell(debt);
            }
        }
    }

    /// Tells of what is owed.
    pub(crate) fn tell(&mut self, debt: &Debt) {
        debt.add(std::mem::take(&mut self.ns));
    }
}

/// How long a recovery would take to replay the log since the last checkpoint; see `recovery_seconds_target`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecoveryDebt {
    /// What it is estimated to take now. A little is missing: each session tells of what it adds in pieces of up to 1 ms.
    pub debt: Duration,
    /// What it is to take at most.
    pub target: Duration,
}

impl RecoveryDebt {
    /// `None` where no commands are logged: such a log is replayed in parallel.
    pub(crate) fn of(debt: &Debt) -> Option<RecoveryDebt> {
        let [present, target] = [debt.present_ns(), debt.target_ns()].map(Duration::from_nanos);
        debt.is_counted().then_some(RecoveryDebt { debt: present, target })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Logged, Protocol};

    fn debt(logged: Logged) -> Debt {
        let config = Config::new("x").protocol(Protocol::Gsn).logged(logged).recovery_seconds_target(2);
        assert_eq!(config.check(), Ok(()));
        Debt::new(&config)
    }

    #[test]
    fn a_checkpoint_covers_what_was_owed_when_it_began() {
        let debt = debt(Logged::Adaptive);
        assert_eq!((debt.target_ns(), debt.due_ns()), (2_000_000_000, 1_000_000_000));
        debt.add(700);
        let begun = debt.owed_ns();
        debt.add(50);
        debt.cover(begun);
        assert_eq!(debt.present_ns(), 50);
        debt.cover(0);
        assert_eq!(debt.present_ns(), 50, "an earlier checkpoint uncovers nothing");
    }

    #[test]
    fn a_session_tells_in_pieces_and_at_its_end() {
        let debt = debt(Logged::Commands);
        let (mut own, entry) = (OwnDebt::default(), LogEntry::Command { rows: 2 });
        own.add(&debt, entry, 1000);
        assert_eq!(debt.present_ns(), 0, "a small debt stays with its session");
        own.add(&debt, LogEntry::Nothing, 5);
        own.add(&debt, entry, PIECE_NS_MAX);
        let all = entry.replay_ns(1000) + entry.replay_ns(PIECE_NS_MAX);
        assert_eq!(debt.present_ns(), all);
        own.add(&debt, LogEntry::Values { rows: 1, bytes: 160 }, 0);
        own.tell(&debt);
        assert_eq!(debt.present_ns(), all + TRANSACTION_NS + ROW_NS + 10 * SIXTEEN_BYTES_NS);
    }

    #[test]
    fn a_log_of_values_has_no_debt() {
        let debt = debt(Logged::Values);
        debt.add(5);
        OwnDebt::default().add(&debt, LogEntry::Values { rows: 1_000_000, bytes: 0 }, 0);
        assert_eq!((debt.owed_ns(), RecoveryDebt::of(&debt)), (0, None));
    }
}
