//! What changed in versions that replay has not met yet. Each waits until the row stands at its base.
//!
//! Invariants:
//! - Whoever adds, takes or drops what waits for a record holds the record's lock, and the record is marked exactly as long as
//!   something waits for it. So a row for which nothing waits costs no look-up here.
//! - What waits for a row is newer than the row.
//! - Memory: records are read in the order of their stamps, about, so that what waits is at most a few chunks of log, and what
//!   waits for the second pass.
//!
//! Absent: the law (machine.rs).

use osier_memory::sync::{Mutex, lock};
use osier_memory::{AddressMap, Held, Pin, Record, VersionBox};

use crate::ids::{Stamp, TableId};
use crate::log::format::payload::delta::Delta;
use crate::recovery::faults;

/// Locks of their own, so that threads hardly meet.
const SHARDS: usize = 64;

/// What changed in a version.
struct Waiting {
    base: Stamp,
    stamp: Stamp,
    body: Box<[u8]>,
}

/// All that waits for one record.
struct Row {
    table: TableId,
    key: Box<[u8]>,
    waiting: Vec<Waiting>,
}

/// What waits, of all rows of a store. Machines share it. Records have one address as long as machines replay.
pub(crate) struct WaitingDeltas {
    shards: Box<[Mutex<AddressMap<Row>>]>,
}

/// A row that was changed after the version that there is of it, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WithoutBase {
    pub(crate) table: TableId,
    pub(crate) key: Box<[u8]>,
    /// The version that is missing.
    pub(crate) base: Stamp,
    /// Of the transaction that changed it.
    pub(crate) stamp: Stamp,
}

/// A row as it is to be installed.
pub(crate) struct Settled {
    pub(crate) version: Option<VersionBox>,
    pub(crate) stamp: Stamp,
    pub(crate) is_waited_for: bool,
}

impl WaitingDeltas {
    /// Returns a place where nothing waits.
    pub(crate) fn new() -> WaitingDeltas {
        WaitingDeltas { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    fn shard(&self, address: usize) -> &Mutex<AddressMap<Row>> {
        // Records are allocated at multiples of 16.
        &self.shards[address / 16 % SHARDS]
    }

    /// Lets a delta of a row of `table` wait for its record, whose lock the caller holds. It may wait there already.
    pub(crate) fn add(&self, table: TableId, (record, key): (Held<Record>, &[u8]), stamp: Stamp, delta: Delta<'_>) {
        let mut rows = lock(self.shard(record.address()));
        let row = rows.entry(record.address()).or_insert_with(|| Row { table, key: key.into(), waiting: Vec::new() });
        if row.waiting.iter().all(|waiting| waiting.stamp != stamp) {
            row.waiting.push(Waiting { base: delta.base, stamp, body: delta.body.into() });
        }
    }

    /// Returns what becomes of a row that gets `version` under `stamp`: what waits for that is applied, and then what waits for
    /// the result; what is not newer is dropped. The caller holds the record's lock.
    pub(crate) fn settle(
        &self,
        pin: &Pin<'_>,
        record: Held<Record>,
        mut version: Option<VersionBox>,
        mut stamp: Stamp,
    ) -> Settled {
        let mut rows = lock(self.shard(record.address()));
        let row = rows.get_mut(&record.address()).expect("something waits for a record that is marked");
        loop {
            row.waiting.retain(|waiting| faults::still_waits(waiting.stamp > stamp));
            let is_next = |waiting: &&Waiting| waiting.base == stamp;
            let (Some(next), Some(base)) = (row.waiting.iter().find(is_next), &version) else { break };
            let Some(changed) = applied(pin, next.stamp, Delta { base: next.base, body: &next.body }, base.bytes())
            else {
                break;
            };
            (stamp, version) = (next.stamp, Some(changed));
        }
        let is_waited_for = !row.waiting.is_empty();
        if !is_waited_for {
            rows.remove(&record.address());
        }
        Settled { version, stamp, is_waited_for }
    }

    /// Returns what still waits, in the order of tables and keys. Nobody replays any more.
    pub(crate) fn left(&self) -> Vec<WithoutBase> {
        let mut left = Vec::new();
        for shard in &self.shards {
            left.extend(lock(shard).values().map(|row| {
                let oldest = row.waiting.iter().min_by_key(|waiting| waiting.stamp);
                let Waiting { base, stamp, .. } = oldest.expect("something waits for it");
                WithoutBase { table: row.table, key: row.key.clone(), base: *base, stamp: *stamp }
            }));
        }
        left.sort_unstable_by(|one, next| (one.table, &one.key).cmp(&(next.table, &next.key)));
        left
    }
}

/// Returns the row that `delta` of `stamp` makes of `old`; `None` where it does not fit.
pub(crate) fn applied(pin: &Pin<'_>, stamp: Stamp, delta: Delta<'_>, old: &[u8]) -> Option<VersionBox> {
    let mut version = pin.new_version(delta.new_len(old.len())?);
    delta.apply(old, version.bytes_mut());
    version.set_order(stamp, stamp);
    Some(version)
}
