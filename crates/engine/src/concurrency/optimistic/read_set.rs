//! What a transaction has observed: rows by their stamps, ranges and absences by their leaves' versions, and definitions that are
//! absent by their keys.
//!
//! Invariant: every observation that could change the transaction's outcome is in here before its value is returned,
//! and `raw_dep` covers each (Poplar's read-after-write dependency, absences included).

use std::cell::LazyCell;
use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use osier_memory::{Held, LeafChange, LeafRead, Lookup, Pin, Record, Stamp};

use super::leaf_set::LeafSet;
use crate::concurrency::KEPT_CAPACITY;
use crate::log::gathering::{Gathered, Gathering};
use crate::table::store::RecordTree;

/// So many of the absent names noted last are looked through before another one is noted.
const NAMES_COMPARED: usize = 64;

/// One observed record.
#[derive(Clone, Copy)]
pub(crate) struct RowRead {
    pub(crate) record: Held<Record>,
    pub(crate) seen: Seen,
}

/// What was learnt about a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Its content, or its absence, as of this stamp.
    Stamp(Stamp),
    /// Only that a row exists that was born at this stamp or before; its content may change.
    Existence(Stamp),
}

/// A key of a tree of definitions that had no record.
///
/// A record that comes to be there afterwards has the stamp of the leaf then, `max_stamp` or a later one, and a greater one as
/// soon as somebody has committed to it. It stays until every transaction has ended that was there then (transaction/purge.rs).
/// Where several threads replay a log the stamps of leaves do not count; there nobody looks for a name while it is made (O9).
pub(crate) struct AbsentName {
    tree: Arc<RecordTree>,
    pub(crate) key: Box<[u8]>,
    max_stamp: Stamp,
}

impl AbsentName {
    /// Whether there is no record of that key, or none that a row has been in since. `is_met`: whether the transaction has met
    /// a record later, with that stamp, and found no row, which is validated, too.
    fn is_absent(&self, pin: &Pin<'_>, is_met: impl Fn(Held<Record>, Stamp) -> bool) -> bool {
        loop {
            let Lookup::Found(held) = self.tree.get(pin, &self.key) else { return true };
            let (record, word) = (pin.get(held), pin.get(held).word());
            if !word.is_dead() {
                let is_untouched = !word.is_locked() && word.stamp() <= self.max_stamp;
                return is_untouched || record.is_absent() && is_met(held, word.stamp());
            }
        }
    }
}

/// The reads of one transaction.
pub(crate) struct ReadSet<D: Gathered> {
    pub(crate) rows: Vec<RowRead>,
    pub(crate) leaves: LeafSet,
    pub(crate) names: Vec<AbsentName>,
    /// Everything observed.
    pub(crate) raw_dep: D::Gathering,
}

impl<D: Gathered> Default for ReadSet<D> {
    fn default() -> ReadSet<D> {
        ReadSet { rows: Vec::new(), leaves: LeafSet::default(), names: Vec::new(), raw_dep: D::Gathering::default() }
    }
}

impl<D: Gathered> ReadSet<D> {
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.rows.shrink_to(KEPT_CAPACITY);
        self.leaves.clear();
        self.names.clear();
        self.names.shrink_to(KEPT_CAPACITY);
    }

    /// Notes what was learnt about a record; the caller adds it to `raw_dep`.
    #[inline]
    pub(crate) fn row(&mut self, record: Held<Record>, seen: Seen) {
        self.rows.push(RowRead { record, seen });
    }

    /// Notes an absence or a scanned leaf.
    pub(crate) fn leaf(&mut self, leaf: LeafRead) {
        self.raw_dep.add(leaf.max_stamp());
        self.leaves.add(leaf);
    }

    /// Notes a name that is absent.
    pub(crate) fn absent(&mut self, tree: &Arc<RecordTree>, key: &[u8], leaf: LeafRead) {
        let max_stamp = leaf.max_stamp();
        self.raw_dep.add(max_stamp);
        let is_same = |name: &AbsentName| Arc::ptr_eq(&name.tree, tree) && *name.key == *key;
        if !self.names.iter().rev().take(NAMES_COMPARED).any(is_same) {
            self.names.push(AbsentName { tree: tree.clone(), key: key.into(), max_stamp });
        }
    }

    /// The transaction itself changed a leaf: what it observed there before stays observed, under the new version. A
    /// version that somebody else changed in between does not match and fails validation.
    ///
    /// Where the leaf had been observed, so had the absence of the placeholder's key. From now on the leaf does not tell
    /// that absence from a row that somebody else installs in the placeholder, so the placeholder is observed itself.
    ///
    /// Returns whether the leaf had been observed.
    pub(crate) fn own_insert(&mut self, change: &LeafChange, placeholder: Held<Record>, stamp: Stamp) -> bool {
        let is_observed = self.leaves.remove(&change.before);
        if is_observed {
            change.after().for_each(|leaf| self.leaves.add(leaf));
            self.row(placeholder, Seen::Stamp(stamp));
            self.raw_dep.add(stamp);
        }
        is_observed
    }

    /// How many observations there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len() + self.leaves.len() + self.names.len()
    }

    /// Whether the names are absent, as they were all the while.
    pub(crate) fn names_absent(&self, pin: &Pin<'_>) -> bool {
        let met = |read: &RowRead| if let Seen::Stamp(stamp) = read.seen { Some((read.record, stamp)) } else { None };
        let met: LazyCell<HashSet<_, RandomState>, _> = LazyCell::new(|| self.rows.iter().filter_map(met).collect());
        self.names.iter().all(|name| name.is_absent(pin, |record, stamp| met.contains(&(record, stamp))))
    }

    pub(crate) fn leaves_unchanged(&self, pin: &Pin<'_>) -> bool {
        self.leaves.are_unchanged(pin)
    }
}
