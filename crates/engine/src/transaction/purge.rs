//! Gives back the memory of keys without a row: tombstones of deletes, placeholders of inserts that did not commit.
//!
//! Invariant (Poplar, docs/protocols.md): a record leaves its tree only when its stamp is stable, that is when every
//! later stamp of every stream exceeds it; the leaf's `max_stamp` takes the stamp over, so that observers of the absence
//! still depend on the delete. The record is marked dead under its lock and the leaf's: nobody can commit to it.
//!
//! What an active snapshot needs of a row that was deleted is kept by its record's address: it is moved before the record goes.

use std::collections::VecDeque;
use std::sync::Arc;

use osier_memory::{Held, Pin, Record, Snapshots, Stamp};

use super::write_set::{Mark, Place, Write};
use super::{State, TouchedTable, tree};
use crate::database::Shared;
use crate::failpoint::{Mutation, has};
use crate::ids::TableId;
use crate::table::store::RecordTree;

/// A key that had no row when it was noted.
pub(crate) struct Purge {
    tree: Arc<RecordTree>,
    /// Whose primary tree it is, if it is one.
    table: Option<TableId>,
    key: Box<[u8]>,
    stamp: Stamp,
}

/// Keys purged at the begin of one transaction: more than a usual transaction leaves behind, few enough not to be felt.
const PURGES_PER_BEGIN: usize = 16;

impl Purge {
    fn new(pin: &Pin<'_>, tables: &[TouchedTable], record: Held<Record>, place: Place) -> Purge {
        let record = pin.get(record);
        let table = place.index.is_none().then(|| tables[place.table as usize].table.id);
        Purge { tree: tree(tables, place).clone(), table, key: record.key().into(), stamp: record.word().stamp() }
    }

    /// Whether it may happen while everything up to `stable` is durable.
    fn is_due(&self, stable: Stamp) -> bool {
        self.stamp <= stable || has(Mutation::EarlyPurge)
    }

    /// Removes the record unless its key is in use again.
    fn run(&self, pin: &Pin<'_>, snapshots: &Snapshots) {
        self.tree.remove_if(pin, &self.key, |record| {
            let word = record.try_lock().ok()?;
            if record.is_absent() && word.stamp() == self.stamp {
                if let (Some(snapshot), Some(table)) = (snapshots.active(pin), self.table)
                    && !has(Mutation::OrphansForgotten)
                {
                    snapshot.orphan(record, table.0);
                }
                record.kill();
                return Some(if has(Mutation::EarlyPurge) { Stamp::ZERO } else { self.stamp });
            }
            record.unlock();
            None
        });
    }
}

/// Works off the queue, oldest first, as far as the log allows.
pub(crate) fn purge_some(pin: &Pin<'_>, shared: &Shared, queue: &mut VecDeque<Purge>) {
    if shared.has_orphans() {
        queue.extend(shared.take_orphans());
    }
    if queue.is_empty() {
        return;
    }
    let stable = shared.stable();
    let budget =
        if shared.memory.is_tight() { queue.len() } else { PURGES_PER_BEGIN.max(queue.len() / PURGES_PER_BEGIN) };
    for _ in 0..budget {
        match queue.front() {
            Some(purge) if purge.is_due(stable) => purge.run(pin, &shared.snapshots),
            _ => return,
        }
        queue.pop_front();
    }
}

/// Notes every record that a finished transaction left without a row.
pub(crate) fn note_absent(pin: &Pin<'_>, state: &mut State) {
    let State { writes, tables, purges, .. } = state;
    let is_absent = |write: &&Write| pin.get(write.record).is_absent();
    let absent = writes.iter().filter(is_absent).map(|write| (write.record, write.place));
    let purge = |(record, place)| Purge::new(pin, tables, record, place);
    purges.extend(writes.abandoned().chain(absent).map(purge));
    writes.forget_abandoned();
}

/// Drops the pending writes; their placeholders are purged later.
pub(crate) fn roll_back(pin: &Pin<'_>, state: &mut State) {
    if state.writes.is_clear() {
        return;
    }
    note_absent(pin, state);
    state.observe_discarded(pin, Mark::START);
    state.writes.clear();
}
