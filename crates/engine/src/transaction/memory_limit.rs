//! `memory_limit`: who may still take memory, and how it comes back.
//!
//! Counted is what `memory/src/usage.rs` counts: rows, keys, index nodes and what a snapshot retains, also where it only
//! waits for its last reader. Not counted are what is of fixed size (log rings, buffers), what open transactions have not
//! committed (`transaction_bytes_max` each), and what the allocator adds.
//!
//! Invariants:
//! - A transaction that leaves more behind than it found commits only within the limit. One that replaces rows by rows that
//!   are no larger commits up to the limit and [`headroom`]: the rows it replaces are still there for a while. One that only
//!   deletes or reads is never refused. With multiversion control a deletion leaves a tombstone of 40 bytes until nobody sees the
//!   row: one that deletes many rows takes that beyond the limit for a while.
//! - A session that replaces rows faster than their last readers leave waits for them, without a pin, when they take a
//!   quarter of the headroom: a while, for a reader may stay.
//! - A checkpoint gives up when what it retains has used up most of the headroom, and may be taken again later; who begins
//!   a transaction waits for that as above.
//! - Two that commit at the same moment may each see room for one: the limit holds to what the sessions commit at once.
//! - Recovery is never refused. Its rows and keys are those that were accepted, its nodes are filled as they were by keys that
//!   came in order and half or more otherwise; full where they come from a checkpoint or are those of an index. What its threads
//!   replace, and hint tables that grow, take the headroom: beyond a quarter of it the threads wait for each other's readers.
//!   Not in it are the keys of rows deleted since the last checkpoint, until all is replayed, log kept for the second pass, at
//!   most as much as the headroom, what changed in versions that are yet to be replayed (replay/waiting.rs), as much again, and
//!   24 bytes for each index entry while they are sorted.
//! - After a refusal sessions give back at once what they usually keep for later.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use osier_memory::{Epochs, MemoryUse, Participant, Pin};

use crate::concurrency::write_set::{Balance, WriteSet};
use crate::config::Config;
use crate::error::{CheckpointError, TransactionError};
use crate::io::Clock;

/// How many epochs, at most, a session waits for the last readers of the rows that it replaced.
const PATIENCE_EPOCHS: u32 = 16;

/// How often a thread of recovery looks whether the other threads have released what they replaced.
const RECOVERY_LOOKS: u32 = 1024;
/// The pause between two such looks.
const RECOVERY_PAUSE: Duration = Duration::from_micros(100);

/// How many epochs memory counts as tight after a refusal.
const TIGHT_EPOCHS: u64 = 64;

/// A session that leaves behind so many keys to purge does not wait for its next transaction with it.
const PURGES_KEPT_MAX: usize = 1024;

/// What a limit leaves for rows that are replaced and still there, for checkpoints, and for recovery.
fn headroom(limit: u64) -> u64 {
    limit / 8
}

/// How much log recovery keeps for its second pass.
pub(crate) fn log_kept_bytes(config: &Config) -> u64 {
    let spare = if config.memory_limit > 0 { headroom(config.memory_limit) } else { u64::MAX };
    config.recovery_buffer_bytes.min(spare)
}

/// The limit of one database.
pub(crate) struct MemoryLimit {
    epochs: Arc<Epochs>,
    clock: Arc<dyn Clock>,
    epoch_interval: Duration,
    /// 0: none.
    limit: u64,
    /// What transactions in parts will take that have been admitted and are not installed yet; others are too short to count.
    promised: AtomicU64,
    refused: AtomicU64,
    /// The epoch of the last refusal; 0: none.
    refused_in: AtomicU64,
}

impl MemoryLimit {
    pub(crate) fn new(epochs: &Arc<Epochs>, config: &Config) -> MemoryLimit {
        let (clock, epoch_interval) = (config.environment.clock.clone(), config.epoch_interval);
        let (epochs, limit) = (epochs.clone(), config.memory_limit);
        MemoryLimit {
            epochs,
            clock,
            epoch_interval,
            limit,
            promised: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            refused_in: AtomicU64::new(0),
        }
    }

    /// Before a transaction: frees what the session replaced and deleted, where that is needed now.
    #[inline]
    pub(crate) fn make_room(&self, participant: &mut Participant) {
        if self.limit > 0 && (self.is_tight() || self.epochs.memory_bytes() > self.limit + headroom(self.limit) / 4) {
            self.make_room_now(participant);
        }
    }

    /// As [`MemoryLimit::make_room`], where this thread may hold another pin: it waits for nobody.
    pub(crate) fn make_some_room(&self, participant: &mut Participant) {
        if self.limit > 0 && self.is_tight() {
            self.epochs.free_spares();
            self.epochs.free_more();
            participant.reclaim_all();
        }
    }

    #[cold]
    fn make_room_now(&self, participant: &mut Participant) {
        assert!(self.limit > 0, "without a limit there is room");
        for _ in 0..PATIENCE_EPOCHS {
            self.epochs.free_spares();
            self.epochs.free_more();
            let is_mine = participant.reclaim_all() > 0;
            if !(is_mine && self.is_crowded() || self.admit_snapshot().is_err()) {
                return;
            }
            self.clock.sleep(self.epoch_interval);
        }
    }

    /// In recovery, whose threads advance the epochs themselves: `let_go` frees what it may and returns how much still waits.
    pub(crate) fn make_room_to_replay(&self, mut let_go: impl FnMut() -> usize) {
        for _ in 0..RECOVERY_LOOKS {
            if let_go() == 0 || self.limit == 0 || !self.is_crowded() {
                return;
            }
            self.clock.sleep(RECOVERY_PAUSE);
        }
    }

    /// Whether too much waits for its last reader.
    fn is_crowded(&self) -> bool {
        let MemoryUse { rows, keys, nodes, .. } = self.epochs.memory();
        rows + keys + nodes > self.limit + headroom(self.limit) / 4
    }

    /// Whether a transaction may commit these writes.
    #[inline]
    pub(crate) fn admit(&self, pin: &Pin<'_>, writes: &WriteSet) -> Result<(), TransactionError> {
        if self.limit == 0 {
            return Ok(());
        }
        // The keys and nodes of its own new rows are in use already.
        pin.tell_memory();
        if self.used() + writes.memory_bytes() as u64 <= self.limit {
            return Ok(());
        }
        self.admit_at_limit(pin, writes)
    }

    /// Admits the writes of a transaction in parts, for as long as the answer lives: until they are installed, nobody else is
    /// admitted to the memory that they will take.
    pub(crate) fn promise(&self, pin: &Pin<'_>, writes: &WriteSet) -> Result<Promised<'_>, TransactionError> {
        if self.limit == 0 {
            return Ok(Promised { limit: self, bytes: 0 });
        }
        self.admit(pin, writes)?;
        let bytes = writes.balance(pin).row_growth.max(0) as u64;
        self.promised.fetch_add(bytes, Ordering::AcqRel);
        let promised = Promised { limit: self, bytes };
        // Two that came at once count each other.
        let used = self.used();
        if bytes > 0 && used > self.limit {
            return Err(self.refuse(bytes, used - bytes));
        }
        Ok(promised)
    }

    /// What is in use, and what is promised.
    #[inline]
    fn used(&self) -> u64 {
        self.epochs.memory_bytes() + self.promised.load(Ordering::Acquire)
    }

    #[cold]
    fn admit_at_limit(&self, pin: &Pin<'_>, writes: &WriteSet) -> Result<(), TransactionError> {
        assert!(self.limit > 0, "without a limit all is admitted");
        let Balance { needed, growth, .. } = writes.balance(pin);
        let room = if growth > 0 { 0 } else { headroom(self.limit) };
        let used = self.used();
        if needed == 0 || used + needed <= self.limit + room {
            return Ok(());
        }
        Err(self.refuse(needed, used))
    }

    /// Whether the headroom is in use.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.limit > 0 && self.epochs.memory_bytes() > self.limit
    }

    /// For work that takes memory under a pin before it commits.
    pub(crate) fn admit_more(&self, pin: &Pin<'_>) -> Result<(), TransactionError> {
        pin.tell_memory();
        let used = self.epochs.memory_bytes();
        if self.limit > 0 && used > self.limit { Err(self.refuse(0, used)) } else { Ok(()) }
    }

    fn refuse(&self, needed: u64, used: u64) -> TransactionError {
        assert!(self.limit > 0 && used + needed > self.limit, "{used} bytes are in use and {needed} more are refused");
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.refused_in.store(self.epochs.current().0, Ordering::Relaxed);
        TransactionError::MemoryLimit { needed, used, limit: self.limit }
    }

    /// Whether a checkpoint may go on retaining rows.
    pub(crate) fn admit_snapshot(&self) -> Result<(), CheckpointError> {
        self.admit_retained(u64::MAX)
    }

    /// Whether snapshots may go on retaining rows, of which they hold `kept` bytes: the others are about to be freed.
    pub(crate) fn admit_retained(&self, kept: u64) -> Result<(), CheckpointError> {
        let MemoryUse { retained, .. } = self.epochs.memory();
        let used = self.epochs.memory_bytes().saturating_sub(retained.saturating_sub(kept));
        let retained = retained.min(kept);
        if self.limit == 0 || retained == 0 || used <= self.limit + headroom(self.limit) / 4 * 3 {
            return Ok(());
        }
        Err(CheckpointError::MemoryLimit { retained, used, limit: self.limit })
    }

    /// Whether somebody was refused just now.
    #[inline]
    pub(crate) fn is_tight(&self) -> bool {
        let refused_in = self.refused_in.load(Ordering::Relaxed);
        refused_in > 0 && self.epochs.current().0.saturating_sub(refused_in) <= TIGHT_EPOCHS
    }

    /// Whether a session is to leave what it has to free and to purge to the others.
    #[inline]
    pub(crate) fn wants(&self, purges: usize) -> bool {
        self.limit > 0 && purges > 0 && (purges >= PURGES_KEPT_MAX || self.is_tight())
    }

    pub(crate) fn metrics(&self) -> MemoryMetrics {
        MemoryMetrics {
            used: self.epochs.memory(),
            peak_bytes: self.epochs.memory_peak_bytes(),
            limit_bytes: self.limit,
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}

/// Memory that is kept free for a transaction in parts.
pub(crate) struct Promised<'l> {
    limit: &'l MemoryLimit,
    bytes: u64,
}

impl Drop for Promised<'_> {
    fn drop(&mut self) {
        let before = self.limit.promised.fetch_sub(self.bytes, Ordering::AcqRel);
        assert!(before >= self.bytes, "what is promised is given back once");
    }
}

/// Memory as it is accounted; the process has more: log rings, buffers, open transactions, and what the allocator adds.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct MemoryMetrics {
    /// What is held, by kind; exact to 64 KiB for each session.
    pub used: MemoryUse,
    /// The most that was held since the open, recovery included.
    pub peak_bytes: u64,
    /// `memory_limit`; 0: none.
    pub limit_bytes: u64,
    /// Transactions that were refused for want of memory.
    pub refused: u64,
}
