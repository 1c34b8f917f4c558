//! What changed in versions that replay has not met yet. Each waits until the row stands at its base.
//!
//! Invariants:
//! - Whoever adds, takes or drops what waits for a record holds the record's lock, or owns the record alone, and it is marked
//!   exactly as long as something waits for it. So a row for which nothing waits costs no look-up here.
//! - What waits for a row is newer than the row. Of what waits the oldest is looked at and nothing else: many changes of one row
//!   may wait.
//! - Memory: records are read in the order of their stamps, about. Where more waits than a bound, only who replays what comes
//!   first goes on (first_pass.rs, parts.rs).
//!
//! Absent: the law (machine.rs).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};

use osier_memory::sync::{Mutex, lock};
use osier_memory::{AddressMap, Pin, VersionBox};

use crate::ids::{Stamp, TableId};
use crate::log::format::payload::delta::Delta;
use crate::recovery::faults;

/// Locks of their own, so that threads hardly meet.
const SHARDS: usize = 64;

/// What changed in a version.
struct Waiting {
    base: Stamp,
    body: Box<[u8]>,
}

impl Waiting {
    /// What it takes of memory, about, beside other ones of its row.
    fn memory_bytes(&self) -> u64 {
        (2 * size_of::<(Stamp, Waiting)>() + self.body.len()) as u64
    }
}

/// What a row takes of memory, about, for which anything waits: its place in a map, and a leaf of a map of its own.
const ROW_BYTES: usize = 512;

/// All that waits for one record.
struct Row {
    table: TableId,
    key: Box<[u8]>,
    /// By the stamps of those that changed the row.
    waiting: BTreeMap<Stamp, Waiting>,
}

/// What waits, of all rows of a store. Machines share it. Records have one address as long as machines replay.
pub(crate) struct WaitingDeltas {
    shards: Box<[Mutex<AddressMap<Row>>]>,
    /// What waits takes so much memory, about.
    bytes: AtomicU64,
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
        WaitingDeltas { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), bytes: AtomicU64::new(0) }
    }

    /// Returns how much memory what waits takes, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn shard(&self, address: usize) -> &Mutex<AddressMap<Row>> {
        // Records are allocated at multiples of 16.
        &self.shards[address / 16 % SHARDS]
    }

    /// Lets a delta of a row of `table` wait for the record at this address, whose lock the caller holds, or which is its own. It
    /// may wait there already.
    pub(crate) fn add(&self, table: TableId, (address, key): (usize, &[u8]), stamp: Stamp, delta: Delta<'_>) {
        let mut rows = lock(self.shard(address));
        let row = || {
            self.bytes.fetch_add((ROW_BYTES + key.len()) as u64, Ordering::Relaxed);
            Row { table, key: key.into(), waiting: BTreeMap::new() }
        };
        if let Entry::Vacant(place) = rows.entry(address).or_insert_with(row).waiting.entry(stamp) {
            let waiting = place.insert(Waiting { base: delta.base, body: delta.body.into() });
            self.bytes.fetch_add(waiting.memory_bytes(), Ordering::Relaxed);
        }
    }

    /// Returns what becomes of a row that gets `version` under `stamp`: what waits for that is applied, and then what waits for
    /// the result; what is not newer is dropped. The caller holds the record's lock, or owns it.
    pub(crate) fn settle(
        &self,
        pin: &Pin<'_>,
        address: usize,
        mut version: Option<VersionBox>,
        mut stamp: Stamp,
    ) -> Settled {
        let mut rows = lock(self.shard(address));
        let row = rows.get_mut(&address).expect("something waits for a record that is marked");
        while let Some(oldest) = row.waiting.first_entry() {
            if faults::still_waits(*oldest.key() > stamp) {
                let (next, Waiting { base, body }) = (*oldest.key(), oldest.get());
                let Some(old) = version.as_ref().filter(|_| *base == stamp) else { break };
                let Some(changed) = applied(pin, next, Delta { base: *base, body }, old.bytes()) else { break };
                (stamp, version) = (next, Some(changed));
            }
            self.bytes.fetch_sub(oldest.remove().memory_bytes(), Ordering::Relaxed);
        }
        let is_waited_for = !row.waiting.is_empty();
        if !is_waited_for {
            self.bytes.fetch_sub((ROW_BYTES + row.key.len()) as u64, Ordering::Relaxed);
            rows.remove(&address);
        }
        Settled { version, stamp, is_waited_for }
    }

    /// Returns what still waits, in the order of tables and keys. Nobody replays any more.
    pub(crate) fn left(&self) -> Vec<WithoutBase> {
        let mut left = Vec::new();
        for shard in &self.shards {
            left.extend(lock(shard).values().map(|row| {
                let (stamp, Waiting { base, .. }) = row.waiting.first_key_value().expect("something waits for it");
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
