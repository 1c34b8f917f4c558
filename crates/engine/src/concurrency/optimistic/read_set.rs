//! What a transaction has observed: rows by their stamps, ranges and absences by their leaves' versions.
//!
//! Invariant: every observation that could change the transaction's outcome is in here before its value is returned,
//! and `raw_dep` covers each (Poplar's read-after-write dependency, absences included).

use osier_memory::{Held, LeafChange, LeafRead, Pin, Record, Stamp};

use super::leaf_set::LeafSet;
use crate::concurrency::KEPT_CAPACITY;
use crate::log::gathering::{Gathered, Gathering};

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

/// The reads of one transaction.
pub(crate) struct ReadSet<D: Gathered> {
    pub(crate) rows: Vec<RowRead>,
    pub(crate) leaves: LeafSet,
    /// Everything observed.
    pub(crate) raw_dep: D::Gathering,
}

impl<D: Gathered> Default for ReadSet<D> {
    fn default() -> ReadSet<D> {
        ReadSet { rows: Vec::new(), leaves: LeafSet::default(), raw_dep: D::Gathering::default() }
    }
}

impl<D: Gathered> ReadSet<D> {
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.rows.shrink_to(KEPT_CAPACITY);
        self.leaves.clear();
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
        self.rows.len() + self.leaves.len()
    }

    pub(crate) fn leaves_unchanged(&self, pin: &Pin<'_>) -> bool {
        self.leaves.are_unchanged(pin)
    }
}
