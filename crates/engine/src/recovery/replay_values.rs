//! Replays records that hold values: every row image and delete is installed unless a later one already is.
//!
//! Invariants:
//! - The last writer by stamp wins, in whatever order records come: replay is commutative and idempotent, so it runs in
//!   parallel over everything, and a record may be replayed twice.
//! - A delete leaves a tombstone with its stamp until all records are replayed; only then is it purged. Dropped earlier, an
//!   older image that comes later would bring the row back.
//! - A recovered row is born with the stamp of its image.
//! - Each thread has its own participant, is pinned for one batch at a time, and frees overwritten images as they come.
//!
//! Absent: which records live (check.rs, schedule.rs), secondary indexes (indexes.rs).

use std::sync::Arc;

use osier_memory::{Participant, Pin, Record, Version, VersionBox};

use super::{RecoveryError, workers};
use crate::config::Config;
use crate::failpoint::{Mutation, has};
use crate::ids::{Stamp, TableId};
use crate::limits::MemoryLimit;
use crate::log::record::RecordReader;
use crate::table::store::{RecordTree, Store};

/// So many overwritten images and replaced nodes wait at most before a thread begins to free them.
const WAITING_MAX: usize = 512;
/// It begins earlier when it has written and replaced so much.
const HANDLED_BYTES_MAX: usize = 256 << 10;

/// One thread's hands in the store.
pub(crate) struct Replayer {
    memory: MemoryLimit,
    participant: Participant,
    trees: Trees,
    tombstones: Vec<(TableId, Box<[u8]>)>,
    /// Written or replaced since it last freed anything.
    handled_bytes: usize,
}

impl Replayer {
    /// One for each thread.
    pub(crate) fn new(store: &Store, config: &Config) -> Result<Replayer, RecoveryError> {
        let (participant, memory) = (workers::register(store)?, MemoryLimit::new(store.epochs(), config));
        let trees = Trees { store: store.clone(), known: Vec::new() };
        Ok(Replayer { memory, participant, trees, tombstones: Vec::new(), handled_bytes: 0 })
    }

    /// Pins for the records of one batch.
    pub(crate) fn session(&mut self) -> Session<'_> {
        let Replayer { memory, participant, trees, tombstones, handled_bytes } = self;
        Session { memory, pin: participant.pin(), trees, tombstones, handled_bytes }
    }

    /// Purges up to `count` of the tombstones that this replayer left; returns whether there are more. Only when nobody
    /// replays any more.
    pub(crate) fn purge(&mut self, count: usize) -> bool {
        let pin = self.participant.pin();
        let rest = self.tombstones.len().saturating_sub(count);
        for (table, key) in self.tombstones.drain(rest..) {
            let tombstone = |record: &Record| record.is_absent().then(|| record.word().stamp());
            self.trees.of(table).remove_if(&pin, &key, tombstone);
        }
        rest > 0
    }
}

/// A pinned replayer.
pub(crate) struct Session<'r> {
    memory: &'r MemoryLimit,
    pin: Pin<'r>,
    trees: &'r mut Trees,
    tombstones: &'r mut Vec<(TableId, Box<[u8]>)>,
    handled_bytes: &'r mut usize,
}

impl Session<'_> {
    /// Before a write of `row`: lets go of what was overwritten and replaced, if that is much.
    fn breathe(&mut self, row: Option<&[u8]>) {
        *self.handled_bytes += row.map_or(0, <[u8]>::len);
        if self.pin.waiting() < WAITING_MAX && *self.handled_bytes < HANDLED_BYTES_MAX {
            return;
        }
        *self.handled_bytes = 0;
        let (epochs, pin) = (self.trees.store.epochs(), &mut self.pin);
        self.memory.make_room_to_replay(|| {
            if pin.waiting() > 0 {
                epochs.advance();
            }
            // Also where nothing waits here: an old pin holds the others up.
            pin.renew();
            pin.waiting()
        });
    }

    /// Replays all writes of a record.
    pub(crate) fn replay(&mut self, record: &RecordReader<'_>) {
        let stamp = record.header().stamp;
        for write in record.writes() {
            self.write(stamp, write.table, write.key, write.row);
        }
    }

    /// Replays one write: a row, or its delete.
    pub(crate) fn write(&mut self, stamp: Stamp, table: TableId, key: &[u8], row: Option<&[u8]>) {
        self.breathe(row);
        let tree = self.trees.of(table);
        let inserted = tree.get_or_insert(&self.pin, key, |_| Record::new_absent(key, Stamp::ZERO));
        let record = self.pin.get(inserted.entry);
        // Saves the copy; `Record::replay` decides.
        let is_first = record.word().stamp() == Stamp::ZERO;
        let is_forgotten = row.is_none() && is_first && has(Mutation::TombstonesNotReplayed);
        if record.word().stamp() >= stamp || (has(Mutation::StampsIgnored) && !is_first) || is_forgotten {
            return;
        }
        *self.handled_bytes += record.version(&self.pin).map_or(0, Version::memory_bytes);
        let won = record.replay(&self.pin, stamp, row.map(|row| version_of(stamp, row)));
        if won && row.is_none() {
            self.tombstones.push((table, key.into()));
        }
    }
}

/// The row with its stamp.
pub(super) fn version_of(stamp: Stamp, row: &[u8]) -> VersionBox {
    let mut version = VersionBox::copy_of(row);
    version.set_order(stamp, stamp);
    version
}

/// The trees that a thread has met: few, so that a walk is faster than the store's map and its lock.
struct Trees {
    store: Store,
    known: Vec<(TableId, Arc<RecordTree>)>,
}

impl Trees {
    fn of(&mut self, table: TableId) -> &RecordTree {
        let place = self.known.iter().position(|(known, _)| *known == table).unwrap_or_else(|| {
            self.known.push((table, self.store.tree(table)));
            self.known.len() - 1
        });
        &self.known[place].1
    }
}
