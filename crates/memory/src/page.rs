//! Scans at a snapshot: the entries of one leaf per call, with the orphans between them.
//!
//! Invariants:
//! - The pages of a scan follow each other without a gap and without overlap.
//! - The orphans are read after the leaf. A record that has left the leaf by then is among them, if a snapshot sees it; one
//!   that is in the leaf and has left since is listed once, as the record, and its row is found by its key.
//!
//! Deliberately absent: a limit to the entries of a leaf. The caller stops when it has enough.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::{Ended, Held, LeafScan, Pin, Record, ScanFrom, Snapshot, Tree, Version};

/// What one call gave. Reused from call to call, its buffers are too.
#[derive(Debug, Default)]
pub struct Page {
    leaf: LeafScan<Record>,
    listed: Vec<Listed>,
    next: Option<PageStart>,
}

/// Something that may have a row in a snapshot.
#[derive(Clone, Debug)]
pub enum Listed {
    /// A record of the index.
    Record(Held<Record>),
    /// A key that is not in the index any more.
    Orphan(Box<[u8]>),
}

/// Where the next page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// At a fence: upwards from the first key that is not below it, downwards from the last one below it.
    Fence(Box<[u8]>),
    /// Beyond a key.
    Beyond(Box<[u8]>),
}

impl PageStart {
    /// The key or the fence.
    pub fn key(&self) -> &[u8] {
        match self {
            PageStart::Fence(key) | PageStart::Beyond(key) => key,
        }
    }

    /// Where a scan goes on.
    pub fn from(&self, is_reversed: bool) -> ScanFrom<'_> {
        match (self, is_reversed) {
            (PageStart::Fence(key), false) => ScanFrom::AtLeast(key),
            (PageStart::Beyond(key), false) => ScanFrom::Above(key),
            (_, true) => ScanFrom::Below(self.key()),
        }
    }
}

impl Listed {
    /// The key.
    pub fn key<'a>(&'a self, pin: &'a Pin<'_>) -> &'a [u8] {
        match self {
            Listed::Record(record) => pin.get(*record).key(),
            Listed::Orphan(key) => key,
        }
    }

    /// The row in a snapshot: [`Snapshot::read`].
    ///
    /// # Errors
    /// The snapshot was ended.
    pub fn read<'a>(
        &self,
        pin: &'a Pin<'_>,
        snapshot: &Snapshot,
        tree: &Tree<Record>,
    ) -> Result<Option<&'a Version>, Ended> {
        match self {
            Listed::Record(record) => snapshot.read(pin, tree.id(), *record),
            Listed::Orphan(key) => snapshot.read_orphan(pin, tree.id(), key),
        }
    }
}

impl Page {
    /// Reads the leaf at which a scan begins, or goes on; of a snapshot, with so many orphans at most.
    ///
    /// # Panics
    /// Where `pin` belongs to other epochs than the tree.
    pub fn read(
        &mut self,
        pin: &Pin<'_>,
        tree: &Tree<Record>,
        from: ScanFrom<'_>,
        snapshot: Option<(&Snapshot, usize)>,
    ) {
        tree.scan_leaf(pin, from, &mut self.leaf);
        self.next = self.leaf.next(pin).map(|fence| PageStart::Fence(fence.into()));
        self.listed.clear();
        let is_reversed = !matches!(from, ScanFrom::AtLeast(_) | ScanFrom::Above(_));
        let mut orphans = Vec::new();
        if let Some((snapshot, most)) = snapshot {
            // A fence is the first key of the leaf above it.
            let far_bound = if is_reversed { Bound::Included } else { Bound::Excluded };
            let far = self.next.as_ref().map_or(Bound::Unbounded, |fence| far_bound(fence.key()));
            let near = match from {
                ScanFrom::AtLeast(key) | ScanFrom::AtMost(key) => Bound::Included(key),
                ScanFrom::Above(key) | ScanFrom::Below(key) => Bound::Excluded(key),
                ScanFrom::Last => Bound::Unbounded,
            };
            let bounds = if is_reversed { (far, near) } else { (near, far) };
            orphans = snapshot.orphans(tree.id(), bounds, is_reversed, most);
            if let Some(last) = orphans.last().filter(|_| orphans.len() >= most) {
                // There may be more.
                self.next = Some(PageStart::Beyond(last.clone()));
            }
        }
        self.merge(pin, orphans, is_reversed);
    }

    /// Lists the entries of the leaf and the orphans in the order of the scan, up to where the next page begins.
    fn merge(&mut self, pin: &Pin<'_>, orphans: Vec<Box<[u8]>>, is_reversed: bool) {
        let order = |one: &[u8], other: &[u8]| if is_reversed { other.cmp(one) } else { one.cmp(other) };
        let last = match &self.next {
            Some(PageStart::Beyond(last)) => Some(&**last),
            _ => None,
        };
        let mut orphans = orphans.iter().peekable();
        for &record in &self.leaf.entries {
            let key = pin.get(record).key();
            if last.is_some_and(|last| order(key, last) == Ordering::Greater) {
                break;
            }
            while let Some(orphan) = orphans.next_if(|orphan| order(orphan, key) == Ordering::Less) {
                self.listed.push(Listed::Orphan(orphan.clone()));
            }
            // The record leads to it.
            let _ = orphans.next_if(|orphan| ***orphan == *key);
            self.listed.push(Listed::Record(record));
        }
        self.listed.extend(orphans.map(|orphan| Listed::Orphan(orphan.clone())));
    }

    /// What there is, in the order of the scan.
    pub fn listed(&self) -> &[Listed] {
        &self.listed
    }

    /// Where the next page begins; `None` after the last one.
    pub fn next(&self) -> Option<&PageStart> {
        self.next.as_ref()
    }
}
