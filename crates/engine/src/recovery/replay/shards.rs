//! Replays rows by threads that own them (LLR-P in PACMAN, section 6.2): each has the rows of its share of all keys to itself, in
//! a table of its own, and installs what is written to them without a latch or an atomic exchange.
//!
//! A write whose row another thread owns is handed to that thread ([`Shuffle`]). Trees come last: the rows of all threads are
//! sorted and become the leaves of their tables, as those of a checkpoint do. In a table that has rows of a checkpoint each takes
//! its place by itself.
//!
//! Invariants, which make the law of [`ReplayMachine`] hold:
//! - A row has one owner, and the owner keeps the write of the greatest stamp, as [`ValueMachine`](super::values::ValueMachine)
//!   does under a latch. What the checkpoint has of the row is a write like any other.
//! - A delete leaves a tombstone, which its owner drops when it **merges**.
//! - No tree changes before the machines merge.
//!
//! Absent: a look at the memory limit while rows come: what is overwritten is freed at once, and nothing waits for readers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use osier_memory::sync::{Mutex, lock};
use osier_memory::{Lookup, Participant, Pin, Record, RecordBox, Run, Stamp, Version};

use super::machine::{ReplayBatch, ReplayMachine};
use super::row_map::RowMap;
use super::shuffle::{self, Place, Shuffle};
use super::values::{Replay, for_each_write, version_of};
use super::waiting::WaitingDeltas;
use crate::config::Config;
use crate::error::RecoveryError;
use crate::ids::TableId;
use crate::log::format::dependency::Dependency;
use crate::log::format::payload::values::{Change, LoggedWrite};
use crate::log::format::record::RecordReader;
use crate::log::protocol::replay_order::ReplayOrder;
use crate::recovery::sorted::{self, Entry};
use crate::recovery::workers::{self, Work};
use crate::recovery::{faults, replay};
use crate::sizes::{replay_purges_per_step, shuffled_batch_bytes};
use crate::table::store::{RecordTree, Store};
use crate::transaction::critical;

/// How long a thread waits for others before it looks again.
const PAUSE: Duration = Duration::from_micros(50);

/// A machine that owns the rows of its share of all keys.
pub(crate) struct ShardMachine {
    participant: Participant,
    shard: Shard,
}

/// What a machine has besides its place in the epochs.
struct Shard {
    shuffle: Arc<Shuffle>,
    /// Which thread it is.
    own: usize,
    store: Store,
    waiting: Arc<WaitingDeltas>,
    waiting_bytes_max: u64,
    tables: Vec<OwnedRows>,
    /// What is to be handed to each thread.
    outgoing: Vec<Vec<u8>>,
    is_feeding: bool,
    waited: Duration,
    /// When it merges: rows of a table that had some before, in the order of their keys from the last.
    draining: Option<(Arc<RecordTree>, Vec<RecordBox>)>,
}

/// What a machine owns of one table.
struct OwnedRows {
    table: TableId,
    tree: Arc<RecordTree>,
    /// Whether a checkpoint has filled the tree.
    has_base: bool,
    rows: RowMap,
}

impl ShardMachine {
    /// Returns a machine for each thread of recovery; they own the rows of `store` together.
    ///
    /// # Errors
    /// [`RecoveryError::Thread`] where the store has no participant left.
    pub(crate) fn for_threads(
        store: &Store,
        config: &Config,
        waiting: &Arc<WaitingDeltas>,
        threads: usize,
    ) -> Result<Vec<ShardMachine>, RecoveryError> {
        let shuffle = Arc::new(Shuffle::new(config, threads));
        let machine = |own| {
            let shard = Shard {
                shuffle: shuffle.clone(),
                own,
                store: store.clone(),
                waiting: waiting.clone(),
                waiting_bytes_max: replay::waiting_bytes_max(config),
                tables: Vec::new(),
                outgoing: vec![Vec::new(); threads],
                is_feeding: false,
                waited: Duration::ZERO,
                draining: None,
            };
            Ok(ShardMachine { participant: workers::register(store)?, shard })
        };
        (0..threads).map(machine).collect()
    }
}

impl ReplayMachine for ShardMachine {
    type Batch<'m> = ShardBatch<'m>;

    /// The last writer of a key wins.
    const NEEDS: ReplayOrder = ReplayOrder::PerKey;

    fn begin(&mut self) {
        assert!(!self.shard.is_feeding, "a pass ends before the next begins");
        self.shard.is_feeding = true;
        self.shard.shuffle.feeding.fetch_add(1, Ordering::AcqRel);
    }

    fn batch(&mut self) -> ShardBatch<'_> {
        ShardBatch { pin: self.participant.pin(), shard: &mut self.shard }
    }

    fn is_waiting(&self) -> bool {
        replay::is_waiting(&self.shard.waiting, self.shard.waiting_bytes_max)
    }

    fn is_ahead(&self) -> bool {
        self.shard.is_ahead()
    }

    fn tend(&mut self, is_idle: bool) {
        let pin = self.participant.pin();
        if is_idle {
            self.shard.hand_over_all(&pin);
        }
        self.shard.take_in(&pin);
    }

    fn finish(&mut self) -> bool {
        let (pin, shard) = (self.participant.pin(), &mut self.shard);
        if shard.is_feeding {
            shard.hand_over_all(&pin);
            shard.is_feeding = false;
            shard.shuffle.feeding.fetch_sub(1, Ordering::AcqRel);
        }
        // Asked before the inbox is emptied: whoever has handed over the last batch has counted itself out afterwards.
        let is_last_look = shard.shuffle.feeding.load(Ordering::Acquire) == 0;
        if !shard.take_in(&pin) && !is_last_look {
            shard.pause();
        }
        !is_last_look
    }

    fn waited(&self) -> Duration {
        self.shard.waited
    }

    fn merge(&mut self) -> bool {
        let (pin, shard) = (self.participant.pin(), &mut self.shard);
        assert!(!shard.is_feeding, "no machine merges while one is fed");
        if let Some((tree, rows)) = &mut shard.draining {
            let rest = rows.len().saturating_sub(replay_purges_per_step());
            rows.drain(rest..).for_each(|row| critical(|| put_in_place(&pin, tree, row)));
            if rest == 0 {
                shard.draining = None;
            }
            drop(pin);
            shard.store.epochs().advance();
        } else if let Some(OwnedRows { table, tree, has_base, rows, .. }) = shard.tables.pop() {
            let is_left = |row: &RecordBox| has_base || !row.is_absent();
            let mut rows: Vec<Entry> = rows.into_rows().filter(is_left).map(Entry::new).collect();
            rows.sort_unstable_by(Entry::compare);
            if has_base {
                shard.draining = Some((tree, rows.into_iter().rev().map(Entry::into_record).collect()));
            } else {
                lock(&shard.shuffle.sorted).entry(table).or_default().push(rows);
            }
        }
        shard.draining.is_some() || !shard.tables.is_empty()
    }

    fn complete(config: &Config, machines: Vec<ShardMachine>) -> Result<(), RecoveryError> {
        let Some(machine) = machines.first() else { return Ok(()) };
        let store = machine.shard.store.clone();
        let tables = std::mem::take(&mut *lock(&machine.shard.shuffle.sorted));
        let cut = |(table, chunks)| sorted::cut(chunks).into_iter().map(move |parts| (table, parts));
        let leaves = Arc::new(Leaves {
            store: store.clone(),
            pieces: Mutex::new(tables.into_iter().flat_map(cut).collect()),
            runs: Mutex::default(),
        });
        let builder = |machine: ShardMachine| Builder { leaves: leaves.clone(), participant: machine.participant };
        let mut builders = workers::run(&config.environment, machines.into_iter().map(builder).collect())?;
        let pin = builders[0].participant.pin();
        let runs = std::mem::take(&mut *lock(&leaves.runs));
        for (table, runs) in runs {
            store.tree(table).fill(&pin, runs).expect("the pieces of a table have no key in common");
        }
        Ok(())
    }
}

/// Others need not wait for what this one would take in.
impl Drop for Shard {
    fn drop(&mut self) {
        self.shuffle.close(self.own);
    }
}

impl Shard {
    fn is_ahead(&self) -> bool {
        self.waiting.memory_bytes() > self.waiting_bytes_max
    }

    fn pause(&mut self) {
        let clock = self.shuffle.clock.clone();
        let begun = clock.now();
        clock.sleep(PAUSE);
        self.waited += clock.now().saturating_sub(begun);
    }

    /// Replays one write, or hands it to whoever owns its row.
    fn write(&mut self, pin: &Pin<'_>, stamp: Stamp, write: LoggedWrite<'_>) {
        let Place { owner, hash } = self.shuffle.place(self.own, write.table, write.key);
        if owner == self.own {
            return self.install(pin, hash, stamp, write);
        }
        let batch = &mut self.outgoing[owner];
        shuffle::push(batch, hash, stamp, &write);
        if batch.len() >= shuffled_batch_bytes() {
            self.hand_over(pin, owner);
        }
    }

    /// Hands over what is to go to `owner`; while that has too much to do it sees to its own.
    fn hand_over(&mut self, pin: &Pin<'_>, owner: usize) {
        let batch = std::mem::take(&mut self.outgoing[owner]);
        if batch.is_empty() {
            return;
        }
        while self.shuffle.is_full(owner) {
            if !self.take_in(pin) {
                self.pause();
            }
        }
        self.outgoing[owner].reserve_exact(batch.len());
        self.shuffle.send(owner, batch);
    }

    fn hand_over_all(&mut self, pin: &Pin<'_>) {
        (0..self.outgoing.len()).for_each(|owner| self.hand_over(pin, owner));
    }

    /// Replays what others have handed over; returns whether there was anything.
    fn take_in(&mut self, pin: &Pin<'_>) -> bool {
        let mut was_there = false;
        while let Some(batch) = self.shuffle.receive(self.own) {
            let mut rest = &batch[..];
            while let Some((hash, stamp, write)) = shuffle::pop(&mut rest) {
                self.install(pin, hash, stamp, write);
            }
            was_there = true;
        }
        was_there
    }

    /// Installs a write of a row that it owns, unless the row has a later one or has to wait for an earlier one.
    fn install(&mut self, pin: &Pin<'_>, hash: u32, stamp: Stamp, write: LoggedWrite<'_>) {
        let LoggedWrite { table, key, change } = write;
        let waiting = self.waiting.clone();
        let owned = self.owned(pin, table);
        let (tree, has_base) = (&owned.tree, owned.has_base);
        let of_base = || tree.get(pin, key).found().filter(|_| has_base).map(|record| pin.get(record));
        let new = || Record::new_absent(key, of_base().map_or(Stamp::ZERO, |record| record.word().stamp()));
        let row = owned.rows.get_or_insert(hash, key, new);
        if faults::is_superseded(row.word().stamp(), stamp, change == Change::Delete) {
            return;
        }
        let image = match change {
            Change::Put(row) => Some(version_of(pin, (stamp, stamp), row)),
            Change::Delete | Change::Delta(_) => None,
        };
        let replayed = Replay { pin, waiting: &waiting, table, key, address: row.address() };
        let won = row.replay_alone(|word, old| {
            let in_base = || of_base().and_then(|record| record.version(pin)).filter(|row| row.stamp() == word.stamp());
            let is_changed = matches!(change, Change::Delta(_));
            let old = old.or_else(|| is_changed.then(in_base).flatten());
            replayed.decide(word, old.map(Version::bytes), (stamp, change, image))
        });
        if won && faults::forgets_tombstone(change == Change::Delete) {
            *row = Record::new_absent(key, Stamp::ZERO);
        }
    }

    /// Returns what it owns of a table: few, so that a walk is faster than a map.
    fn owned(&mut self, pin: &Pin<'_>, table: TableId) -> &mut OwnedRows {
        let place = self.tables.iter().position(|owned| owned.table == table).unwrap_or_else(|| {
            let tree = self.store.tree(table);
            let has_base = !tree.is_empty(pin);
            self.tables.push(OwnedRows { table, tree, has_base, rows: RowMap::default() });
            self.tables.len() - 1
        });
        &mut self.tables[place]
    }
}

/// Puts a row into a tree that may hold an earlier version of it. Where it is deleted nothing is left.
fn put_in_place(pin: &Pin<'_>, tree: &RecordTree, row: RecordBox) {
    let (stamp, is_deleted) = (row.word().stamp(), row.is_absent());
    let known = match tree.get(pin, row.key()) {
        Lookup::Found(record) => pin.get(record),
        Lookup::Absent(_) if is_deleted => return,
        Lookup::Absent(_) => {
            let key: Box<[u8]> = row.key().into();
            tree.get_or_insert(pin, &key, |_| row);
            return;
        }
    };
    if stamp <= known.word().stamp() {
        return;
    }
    let key: Box<[u8]> = row.key().into();
    assert!(known.replay(pin, stamp, row.into_version()), "the row of the checkpoint is older");
    if is_deleted {
        tree.remove_if(pin, &key, |record, _| record.is_absent().then_some(stamp));
    }
}

/// A machine for values that is pinned for one batch.
pub(crate) struct ShardBatch<'m> {
    pin: Pin<'m>,
    shard: &'m mut Shard,
}

impl ReplayBatch for ShardBatch<'_> {
    fn replay<D: Dependency>(&mut self, record: &RecordReader<'_, D>) {
        for_each_write(record, |stamp, write| self.shard.write(&self.pin, stamp, write));
    }

    fn replay_write(&mut self, stamp: Stamp, write: LoggedWrite<'_>) {
        self.shard.write(&self.pin, stamp, write);
    }

    fn is_ahead(&self) -> bool {
        self.shard.is_ahead()
    }

    fn renew(&mut self) {
        self.shard.hand_over_all(&self.pin);
        self.shard.take_in(&self.pin);
        self.pin.renew();
    }
}

/// What the threads share that make leaves of the sorted rows.
struct Leaves {
    store: Store,
    /// What the rows of a table have of one range of keys.
    pieces: Mutex<Vec<(TableId, Vec<Vec<Entry>>)>>,
    runs: Mutex<BTreeMap<TableId, Vec<Run<Record>>>>,
}

/// One of these threads.
struct Builder {
    leaves: Arc<Leaves>,
    participant: Participant,
}

impl Work for Builder {
    type Error = RecoveryError;

    fn advance(&mut self) -> Result<bool, RecoveryError> {
        let Some((table, parts)) = lock(&self.leaves.pieces).pop() else { return Ok(false) };
        let pin = self.participant.pin();
        let run = sorted::into_run(&self.leaves.store, &pin, parts);
        let run = run.unwrap_or_else(|row| panic!("two threads own row {:?} of table {}", row.key(), table.0));
        drop(pin);
        lock(&self.leaves.runs).entry(table).or_default().push(run);
        Ok(true)
    }
}
