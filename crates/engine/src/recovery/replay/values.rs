//! Replays records that hold values: every row image and delete is installed unless a later one already is, and what changed in a
//! version of a row is applied when the row stands at that version.
//!
//! Invariants, which make the law of [`ReplayMachine`] hold:
//! - **Replay** leaves for each key the write of the greatest stamp, in whatever order and however often records come. No two
//!   records of a key have one stamp (P1).
//! - A delta has one base, the version right before. It is applied to that and to nothing else; until it comes the delta waits
//!   ([`WaitingDeltas`]). One at or below the stamp of the row is in the row already.
//! - A delete leaves a tombstone with its stamp. **Merge** purges it: dropped earlier, an older image that comes later would
//!   bring the row back. The machine whose delete won purges it, unless a later write has replaced it by then.
//! - A recovered row is born with the stamp of its image.
//! - Each machine has its own participant, is pinned for one batch at a time, and frees overwritten images as they come.
//! - A thread that dies while it changes a tree or a record ends the process: others would wait for its locks for ever.
//! - Where secondary indexes are kept, whoever installs a version replaces the row's entries under the same lock.
//!
//! Absent: which records live (recovery/cut.rs), secondary indexes that are built at the end (indexes.rs).

use std::sync::Arc;

use osier_memory::{LockWord, Participant, Pin, Record, Replayed, Version, VersionBox, Word};

use super::kept_indexes::{IndexTombstone, KeptIndexes};
use super::machine::{LogBegin, ReplayBatch, ReplayMachine};
use super::waiting::{Settled, WaitingDeltas, applied};
use crate::config::Config;
use crate::error::RecoveryError;
use crate::ids::{Stamp, TableId};
use crate::log::format::dependency::Dependency;
use crate::log::format::payload::PayloadReader;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::log::format::record::RecordReader;
use crate::log::protocol::replay_order::ReplayOrder;
use crate::recovery::{faults, replay, workers};
use crate::sizes::{replay_handled_bytes_max, replay_purges_per_step, replay_waiting_max};
use crate::table::store::{RecordTree, Store};
use crate::transaction::critical;
use crate::transaction::memory_limit::MemoryLimit;

/// A machine for values.
pub(crate) struct ValueMachine {
    waiting: Arc<WaitingDeltas>,
    /// It is ahead where more waits.
    waiting_bytes_max: u64,
    memory: MemoryLimit,
    participant: Participant,
    trees: Trees,
    /// Keys of deletes that won.
    tombstones: Vec<(TableId, Box<[u8]>)>,
    /// Where they are kept in step with rows.
    indexes: Option<Arc<KeptIndexes>>,
    /// Entries that were taken out of them.
    index_tombstones: Vec<IndexTombstone>,
    /// Written or replaced since it last freed anything.
    handled_bytes: usize,
    /// How many versions may wait before it tries again to free some.
    waiting_max: usize,
    is_merging: bool,
}

impl ValueMachine {
    /// Returns a machine that replays into `store`; those of one store share `waiting`.
    ///
    /// # Errors
    /// [`RecoveryError::Thread`] where the store has no participant left.
    pub(crate) fn new(
        store: &Store,
        config: &Config,
        waiting: &Arc<WaitingDeltas>,
    ) -> Result<ValueMachine, RecoveryError> {
        let (participant, memory) = (workers::register(store)?, MemoryLimit::new(store.epochs(), config));
        Ok(ValueMachine {
            waiting: waiting.clone(),
            waiting_bytes_max: replay::waiting_bytes_max(config),
            memory,
            participant,
            trees: Trees { store: store.clone(), known: Vec::new() },
            tombstones: Vec::new(),
            indexes: None,
            index_tombstones: Vec::new(),
            handled_bytes: 0,
            waiting_max: replay_waiting_max(),
            is_merging: false,
        })
    }

    /// As [`ValueMachine::new`], and keeps `indexes` in step with rows.
    pub(super) fn with_indexes(
        store: &Store,
        config: &Config,
        waiting: &Arc<WaitingDeltas>,
        indexes: Option<Arc<KeptIndexes>>,
    ) -> Result<ValueMachine, RecoveryError> {
        Ok(ValueMachine { indexes, ..ValueMachine::new(store, config, waiting)? })
    }

    /// Returns a machine for each thread of recovery.
    ///
    /// # Errors
    /// As [`ValueMachine::new`].
    pub(crate) fn for_threads(
        store: &Store,
        config: &Config,
        waiting: &Arc<WaitingDeltas>,
    ) -> Result<Vec<ValueMachine>, RecoveryError> {
        (0..workers::count(config)).map(|_| ValueMachine::new(store, config, waiting)).collect()
    }
}

impl ReplayMachine for ValueMachine {
    type Batch<'m> = ValueBatch<'m>;

    /// The last writer of a key wins.
    const NEEDS: ReplayOrder = ReplayOrder::PerKey;

    fn learn(&mut self, begin: &LogBegin<'_>) -> Result<(), RecoveryError> {
        self.indexes.as_ref().map_or(Ok(()), |indexes| indexes.learn(begin))
    }

    fn is_waiting(&self) -> bool {
        replay::is_waiting(&self.waiting, self.waiting_bytes_max)
    }

    fn is_ahead(&self) -> bool {
        self.waiting.memory_bytes() > self.waiting_bytes_max
    }

    fn batch(&mut self) -> ValueBatch<'_> {
        assert!(!self.is_merging, "no machine replays when the merge has begun");
        let ValueMachine { waiting, memory, participant, trees, tombstones, handled_bytes, waiting_max, .. } = self;
        let (indexes, index_tombstones) = (self.indexes.as_deref(), &mut self.index_tombstones);
        let (pin, waiting_bytes_max) = (participant.pin(), self.waiting_bytes_max);
        ValueBatch {
            waiting,
            waiting_bytes_max,
            memory,
            pin,
            trees,
            tombstones,
            indexes,
            index_tombstones,
            handled_bytes,
            waiting_max,
        }
    }

    fn merge(&mut self) -> bool {
        self.is_merging = true;
        let pin = self.participant.pin();
        let rest = self.tombstones.len().saturating_sub(replay_purges_per_step());
        for (table, key) in self.tombstones.drain(rest..) {
            let tombstone = |record: &Record, _: &LockWord| record.is_absent().then(|| record.word().stamp());
            let tree = self.trees.of(table);
            critical(|| tree.remove_if(&pin, &key, tombstone));
        }
        if rest > 0 {
            return true;
        }
        let rest = self.index_tombstones.len().saturating_sub(replay_purges_per_step());
        let purged = self.index_tombstones.drain(rest..);
        purged.for_each(|entry| critical(|| entry.purge(&pin)));
        rest > 0
    }
}

/// A machine for values that is pinned for one batch.
pub(crate) struct ValueBatch<'m> {
    waiting: &'m WaitingDeltas,
    waiting_bytes_max: u64,
    memory: &'m MemoryLimit,
    pin: Pin<'m>,
    trees: &'m mut Trees,
    tombstones: &'m mut Vec<(TableId, Box<[u8]>)>,
    indexes: Option<&'m KeptIndexes>,
    index_tombstones: &'m mut Vec<IndexTombstone>,
    handled_bytes: &'m mut usize,
    waiting_max: &'m mut usize,
}

impl ReplayBatch for ValueBatch<'_> {
    fn replay<D: Dependency>(&mut self, record: &RecordReader<'_, D>) {
        for_each_write(record, |stamp, write| self.write(stamp, write));
    }

    fn replay_write(&mut self, stamp: Stamp, write: LoggedWrite<'_>) {
        self.write(stamp, write);
    }

    fn is_ahead(&self) -> bool {
        self.waiting.memory_bytes() > self.waiting_bytes_max
    }

    fn renew(&mut self) {
        self.pin.renew();
    }
}

impl ValueBatch<'_> {
    /// Before a write: frees versions that were overwritten, if they are many.
    fn free_overwritten(&mut self) {
        if self.pin.waiting() < *self.waiting_max && *self.handled_bytes < replay_handled_bytes_max() {
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
        // What another thread's pin holds up is not asked for again at once.
        *self.waiting_max = self.pin.waiting() + replay_waiting_max();
    }

    /// Replays one write.
    pub(crate) fn write(&mut self, stamp: Stamp, write: LoggedWrite<'_>) {
        self.free_overwritten();
        if critical(|| self.install(stamp, &write)) && write.change == Change::Delete {
            self.tombstones.push((write.table, write.key.into()));
        }
    }

    /// Installs a write, unless the row has a later one or has to wait for an earlier one; returns whether it did.
    fn install(&mut self, stamp: Stamp, write: &LoggedWrite<'_>) -> bool {
        let LoggedWrite { table, key, change } = *write;
        let tree = self.trees.of(table);
        let held = tree.get_or_insert(&self.pin, key, |_| Record::new_absent(key, Stamp::ZERO)).entry;
        let record = self.pin.get(held);
        // Saves the copy; what follows under the lock decides.
        if faults::is_superseded(record.word().stamp(), stamp, change == Change::Delete) {
            return false;
        }
        let image = match change {
            Change::Put(row) => Some(version_of(&self.pin, (stamp, stamp), row)),
            Change::Delete | Change::Delta(_) => None,
        };
        let (indexes, index_tombstones) = (self.indexes, &mut *self.index_tombstones);
        let replayed = Replay { pin: &self.pin, waiting: self.waiting, table, key, address: held.address() };
        let handled = &mut *self.handled_bytes;
        let won = record.replay_by(&self.pin, |word, old| {
            let replayed = replayed.decide(word, old.map(Version::bytes), (stamp, change, image));
            *handled += match &replayed {
                Replayed::Superseded => 0,
                Replayed::Waits => match change {
                    Change::Delta(delta) => delta.body.len(),
                    Change::Put(_) | Change::Delete => 0,
                },
                Replayed::Installed { version, stamp, .. } => {
                    if let Some(indexes) = indexes {
                        let new = version.as_ref().map(VersionBox::bytes);
                        indexes.follow(
                            &self.pin,
                            (table, key),
                            old.map(Version::bytes),
                            (new, *stamp),
                            index_tombstones,
                        );
                    }
                    old.map_or(0, Version::memory_bytes) + version.as_ref().map_or(0, VersionBox::memory_bytes)
                }
            };
            replayed
        });
        assert!(!won || record.word().stamp() >= stamp, "the stamps of a key only rise");
        won
    }
}

/// One write of a row that is replayed, whatever holds the row.
pub(super) struct Replay<'r> {
    pub(super) pin: &'r Pin<'r>,
    pub(super) waiting: &'r WaitingDeltas,
    pub(super) table: TableId,
    pub(super) key: &'r [u8],
    /// Of the record.
    pub(super) address: usize,
}

impl Replay<'_> {
    /// Returns what becomes of the record, which has this word and this row: `image` is what a put installs.
    pub(super) fn decide(
        &self,
        word: Word,
        old: Option<&[u8]>,
        (stamp, change, image): (Stamp, Change<'_>, Option<VersionBox>),
    ) -> Replayed {
        if word.stamp() >= stamp {
            return Replayed::Superseded;
        }
        let version = match change {
            Change::Put(_) | Change::Delete => image,
            Change::Delta(delta) => {
                let is_base = faults::is_base(word.stamp() == delta.base);
                let changed = old.filter(|_| is_base).and_then(|base| applied(self.pin, stamp, delta, base));
                let Some(changed) = changed else {
                    let wait = || self.waiting.add(self.table, (self.address, self.key), stamp, delta);
                    return faults::waiting(wait);
                };
                Some(changed)
            }
        };
        let Settled { version, stamp, is_waited_for } = match word.is_waited_for() {
            true => self.waiting.settle(self.pin, self.address, version, stamp),
            false => Settled { version, stamp, is_waited_for: false },
        };
        Replayed::Installed { version, stamp, is_waited_for }
    }
}

/// Gives the writes of a record that holds rows to `each`.
pub(super) fn for_each_write<D: Dependency>(
    record: &RecordReader<'_, D>,
    mut each: impl FnMut(Stamp, LoggedWrite<'_>),
) {
    let stamp = record.header().stamp;
    assert!(stamp > Stamp::ZERO, "a record has a stamp, an absent row none");
    match record.payload() {
        PayloadReader::Values(writes) => {
            let lost = faults::lost_name(|note| writes.clone().for_each(note));
            writes.filter(|write| !faults::is_lost(lost, write)).for_each(|write| each(stamp, write));
        }
        // What rows were before says nothing of what they become, whatever the order.
        PayloadReader::Physiological(images) => images.writes().for_each(|write| each(stamp, write)),
        PayloadReader::InParts(_) => unreachable!("the parts of a record are replayed, not what names them"),
        PayloadReader::Command(_) => unreachable!("commands are replayed in their order, by transactions"),
    }
}

/// Returns the row with its stamp and that of its birth.
pub(crate) fn version_of(pin: &Pin<'_>, (stamp, birth): (Stamp, Stamp), row: &[u8]) -> VersionBox {
    let mut version = pin.copy_of(row);
    version.set_order(stamp, birth);
    version
}

/// The trees that a machine has met: few, so that a walk is faster than the store's map and its lock.
struct Trees {
    store: Store,
    known: Vec<(TableId, Arc<RecordTree>)>,
}

impl Trees {
    /// Returns the tree of a table.
    fn of(&mut self, table: TableId) -> &RecordTree {
        let place = self.known.iter().position(|(known, _)| *known == table).unwrap_or_else(|| {
            self.known.push((table, self.store.tree(table)));
            self.known.len() - 1
        });
        &self.known[place].1
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use osier_memory::Epochs;

    use super::*;

    /// Set in the process that is to die.
    const DEATH: &str = "OSIER_TEST_REPLAY_DEATH";

    #[test]
    fn a_thread_that_dies_in_a_tree_ends_the_process() {
        if std::env::var(DEATH).is_ok() {
            let (config, [store, other]) = (Config::new("/db"), [(); 2].map(|()| Store::new(Epochs::new(4))));
            let mut machine = ValueMachine::new(&store, &config, &Arc::new(WaitingDeltas::new())).unwrap();
            // A pin of another clock: the tree refuses it.
            machine.trees.store = other;
            let write = LoggedWrite { table: TableId(16), key: b"key", change: Change::Put(b"row") };
            return machine.batch().write(Stamp(1), write);
        }
        let test = format!("{}::a_thread_that_dies_in_a_tree_ends_the_process", module_path!());
        let test = test.trim_start_matches("osier::");
        let mut child = Command::new(std::env::current_exe().unwrap());
        let died = child.args([test, "--exact", "--nocapture"]).env(DEATH, "1").output().unwrap();
        const ABORT: i32 = 6;
        let told = String::from_utf8_lossy(&died.stderr).into_owned();
        assert_eq!(died.status.signal(), Some(ABORT), "{told}");
        assert!(told.contains("osier: a thread died with locks held"), "{told}");
    }
}
