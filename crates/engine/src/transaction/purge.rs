//! Gives back the memory of keys without a row: tombstones of deletes, placeholders of inserts that did not commit.
//!
//! Invariant (Poplar, docs/protocols.md): a record leaves its tree only when its stamp is stable, that is when every
//! later stamp of every stream exceeds it; the leaf's `max_stamp` takes the stamp over, so that observers of the absence
//! still depend on the delete. Without a log nothing is replayed, and `max_stamp` alone keeps the stamps of the key rising.
//! While a log is replayed by several threads neither is needed: who depends on the delete waits for it (O18).
//! Where transactions see rows of the past, it stays until none of those is left that may see the row which it had
//! ([`read_until`](crate::concurrency::ConcurrencyControl::read_until)). One of the catalog stays until every transaction has
//! ended that was there when it lost its row: who looked for the name before finds at its commit that somebody had it meanwhile.
//! The record is marked dead under its lock and the leaf's: nobody can commit to it. What a transaction has locked stays, and is
//! looked at again later: a record, and the records beside gaps.
//!
//! What snapshots see of a row that was deleted is kept by its record's address: it is moved before the record goes.

use std::collections::VecDeque;
use std::sync::Arc;

use osier_memory::{Held, Pin, Record, Snapshots, Stamp};

use super::critical::critical;
use super::{TouchedTable, TransactionState, faults, tree};
use crate::concurrency::write_set::{Mark, TreeRef, Write};
use crate::concurrency::{ConcurrencyControl, with_scheme};
use crate::ids::{Epoch, TableId};
use crate::sizes::purges_per_begin;
use crate::table::store::RecordTree;
use crate::transaction::shared::Shared;

/// Keys that a begin purges at most beside twice as many as the transaction before has left: a tenth of a millisecond.
const PURGES_MAX: usize = 256;

/// A key that had no row when it was noted.
pub(crate) struct Purge {
    tree: Arc<RecordTree>,
    key: Box<[u8]>,
    stamp: Stamp,
    /// Transactions that began in this epoch or before may see a row.
    read_until: Epoch,
    /// Whether the key is one of the catalog.
    is_definition: bool,
}

impl Purge {
    fn new(
        pin: &Pin<'_>,
        tables: &[TouchedTable],
        (record, tree_ref): (Held<Record>, TreeRef),
        read_until: Epoch,
    ) -> Purge {
        let record = pin.get(record);
        assert!((tree_ref.table as usize) < tables.len(), "the tables of a transaction are known until it has ended");
        let is_definition = tables[tree_ref.table as usize].table.id < TableId::FIRST_USER;
        let read_until = if is_definition { pin.current_epoch() } else { read_until };
        let (tree, key, stamp) = (tree(tables, tree_ref).clone(), record.key().into(), record.word().stamp());
        Purge { tree, key, stamp, read_until, is_definition }
    }

    /// Whether it may happen while keys up to the stamp `purgeable` may go, and every transaction of an epoch up to `over` has
    /// ended.
    fn is_due(&self, purgeable: Stamp, over: Epoch) -> bool {
        faults::is_due(self.stamp, purgeable) && faults::is_unread(self.read_until <= over)
    }

    /// Removes the record unless its key is in use again. `false`: somebody has locked it, or the gaps beside it.
    fn run(&self, pin: &Pin<'_>, snapshots: &Snapshots) -> bool {
        let mut is_held = false;
        let purge = |record: &Record| {
            let word = record.try_lock().ok()?;
            if record.is_absent() && faults::is_noted(word.stamp() == self.stamp) {
                faults::keep(|| snapshots.orphan(record, self.tree.id()));
                record.kill();
                return Some(faults::left_behind(self.stamp));
            }
            record.unlock();
            None
        };
        self.tree.remove_if(pin, &self.key, |record, gap| {
            is_held = faults::is_held(|| !gap.is_free() || !record.lock_word().close());
            if is_held {
                return None;
            }
            let purged = critical(|| purge(record));
            if purged.is_none() {
                faults::open(record.lock_word());
            }
            purged
        });
        !is_held
    }
}

/// Works off the queue, oldest first, as far as the log allows.
///
/// That takes as long as it takes to make as many keys as the last transaction left behind, `noted`; beyond that no begin is slow
/// because some transaction before has left many.
pub(crate) fn purge_some(pin: &Pin<'_>, shared: &Shared, queue: &mut VecDeque<Purge>, noted: usize) {
    if shared.has_orphans() {
        queue.extend(shared.take_orphans());
    }
    if queue.is_empty() {
        return;
    }
    let (purgeable, over) = (shared.log.purgeable(), shared.store.epochs().safe());
    let usual = purges_per_begin();
    let share = (queue.len() / usual).min(PURGES_MAX + 2 * noted);
    let budget = if shared.memory.is_tight() { queue.len() } else { usual.max(share) };
    let mut put_off = 0;
    for _ in 0..budget {
        // A name waits for transactions for which the rows behind it need not wait.
        let may_pass = |purge: &mut Purge| purge.is_due(purgeable, over) || purge.is_definition && put_off < usual;
        let Some(purge) = queue.pop_front_if(may_pass) else { return };
        if !purge.is_due(purgeable, over) {
            put_off += 1;
            queue.push_back(purge);
        } else if !purge.run(pin, &shared.snapshots) {
            queue.push_back(purge);
        }
    }
}

/// Works off the whole queue, and what other sessions left behind: every later stamp is above those of all that is in it.
pub(crate) fn purge_all(pin: &Pin<'_>, shared: &Shared, queue: &mut VecDeque<Purge>) {
    queue.extend(shared.take_orphans());
    queue.retain(|purge| !purge.run(pin, &shared.snapshots));
}

/// Notes every record that a finished transaction left without a row.
pub(crate) fn note_absent(pin: &Pin<'_>, state: &mut TransactionState) {
    let TransactionState { scheme, writes, tables, purges, purges_noted: noted, .. } = state;
    let is_absent = |write: &&Write| pin.get(write.record).is_absent();
    let absent = writes.iter().filter(is_absent).map(|write| (write.record, write.tree_ref));
    let mut absent = writes.abandoned().chain(absent).peekable();
    if absent.peek().is_none() {
        return;
    }
    let read_until = with_scheme!(scheme, control => control.read_until(pin));
    let before = purges.len();
    purges.extend(absent.map(|of| Purge::new(pin, tables, of, read_until)));
    *noted += purges.len() - before;
    writes.forget_abandoned();
}

/// Drops the pending writes; their placeholders are purged later.
pub(crate) fn roll_back(pin: &Pin<'_>, state: &mut TransactionState) {
    if state.writes.is_clear() {
        return;
    }
    note_absent(pin, state);
    state.observe_discarded(pin, Mark::START);
    state.writes.clear();
}
