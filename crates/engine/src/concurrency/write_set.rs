//! What a transaction will write: per record the version to install, in the order of the first write.
//!
//! Invariants:
//! - A record is in the set once; a later write of the same row replaces the pending version.
//! - Nothing in the set is visible to others before it is installed, except that the record of a new key is already
//!   indexed, absent, as a placeholder.
//! - Rolling back to a savepoint restores the set exactly.
//! - Every placeholder that the transaction indexed is in a write or remembered for the purge, whatever fails in between.

use std::cell::RefCell;

use osier_memory::{AddressMap, Held, Pin, Record, Stamp, Version, VersionBox};

use super::{KEPT_CAPACITY, faults};
use crate::failpoint::locks_by_key;
use crate::log::format::payload::delta::{self, Delta};
use crate::log::format::payload::physiological::Before;
use crate::sizes::{deltas_kept_bytes, linear_writes_max};

/// The tree that a record is in: a slot of the transaction's tables, and which of the table's indexes. No reference
/// count is touched per write: handles are shared by all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeRef {
    pub(crate) table: u32,
    /// Position among the table's secondary indexes; `None` for the primary one. Entries of secondary indexes are
    /// derived from rows and never logged.
    pub(crate) index: Option<u16>,
}

/// One record to write.
pub(crate) struct Write {
    pub(crate) record: Held<Record>,
    pub(crate) tree_ref: TreeRef,
    /// The content to install; `None` deletes.
    pub(crate) pending: Option<VersionBox>,
    /// When the row came to exist at the latest; `None`: with this transaction.
    pub(crate) birth: Option<Stamp>,
    /// The committed version whose content the transaction has read before its first write of the row; [`Stamp::ZERO`] where
    /// there is none. Only then does it depend on what is in that version, so that it may log what changed in it.
    pub(crate) base: Stamp,
    /// Where [`WriteSet::delta`] has what changed in `base`, if that is logged.
    pub(crate) delta: Option<DeltaRange>,
    /// The same of what makes `base` out of the new row.
    pub(crate) undo: Option<DeltaRange>,
    /// This transaction indexed the record.
    pub(crate) is_placeholder: bool,
}

/// A range of the deltas of a write set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeltaRange {
    begin: u32,
    end: u32,
}

impl DeltaRange {
    /// `None` beyond 4 GiB, where images are logged.
    fn of(begin: usize, end: usize) -> Option<DeltaRange> {
        Some(DeltaRange { begin: u32::try_from(begin).ok()?, end: u32::try_from(end).ok()? })
    }
}

impl Write {
    /// Returns a write that rests on nothing that was read.
    pub(crate) fn new(record: Held<Record>, tree_ref: TreeRef, pending: Option<VersionBox>) -> Write {
        let (birth, base, delta, undo) = (None, Stamp::ZERO, None, None);
        Write { record, tree_ref, pending, birth, base, delta, undo, is_placeholder: false }
    }

    /// The write takes the place of the committed version `base`, if its content `is_read`.
    pub(crate) fn based_on(self, base: impl FnOnce() -> Stamp, is_read: bool) -> Write {
        if faults::is_read(is_read) { Write { base: base(), ..self } } else { self }
    }

    /// Takes the version to install under `stamp`; `None` where the write deletes.
    #[inline]
    pub(crate) fn take_version(&mut self, stamp: Stamp) -> Option<VersionBox> {
        let mut version = self.pending.take();
        if let Some(version) = &mut version {
            assert!(self.birth.is_none_or(|birth| birth < stamp), "a row is born before it is replaced");
            version.set_order(stamp, self.birth.unwrap_or(stamp));
        }
        self.is_placeholder &= version.is_none();
        version
    }
}

/// What a write takes of memory beside its version, its place in the order of locks included.
const WRITE_BYTES: usize = size_of::<Write>() + size_of::<Held<Record>>();

/// Where to roll back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    writes: usize,
    undo: usize,
}

impl Mark {
    /// Before the first write.
    pub(crate) const START: Mark = Mark { writes: 0, undo: 0 };
}

/// Where to roll back to if an operation fails half way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    mark: Mark,
    protected: usize,
}

/// What a write set takes of memory when it is installed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Balance {
    /// What its rows take; the keys of new ones are there already.
    pub(crate) needed: u64,
    /// What remains when everything that is replaced or deleted is freed.
    pub(crate) growth: i64,
    /// The rows' share of that.
    pub(crate) row_growth: i64,
}

struct Undo {
    at: usize,
    pending: Option<VersionBox>,
    birth: Option<Stamp>,
}

/// Where in a large set the writes of records are. Nobody asks that of a set that only adds rows, so it is worked out when
/// somebody does.
#[derive(Default)]
struct Places {
    by_record: AddressMap<usize>,
    /// Of so many writes.
    known: usize,
}

impl Places {
    fn of(&mut self, writes: &[Write], record: Held<Record>) -> Option<usize> {
        let new = writes.iter().enumerate().skip(self.known);
        self.by_record.extend(new.map(|(at, write)| (write.record.address(), at)));
        self.known = writes.len();
        self.by_record.get(&record.address()).copied()
    }

    fn clear(&mut self) {
        self.by_record.clear();
        self.known = 0;
    }
}

/// The writes of one transaction.
#[derive(Default)]
pub(crate) struct WriteSet {
    writes: Vec<Write>,
    /// Their records in the order in which they are locked; nothing while that is not worked out.
    order: Vec<Held<Record>>,
    places: RefCell<Places>,
    /// A Bloom filter of the records: nearly every read asks, and seldom for one of them.
    filter: u64,
    /// What replaced versions were, since the first savepoint.
    undo: Vec<Undo>,
    /// Length of `writes` at the latest savepoint: writes before it need undo.
    protected: usize,
    /// Placeholders that no write holds: not yet, or no more.
    abandoned: Vec<(Held<Record>, TreeRef)>,
    /// What is logged of rows in place of their images, one behind the other.
    deltas: Vec<u8>,
    /// Whether the images that writes replace are logged.
    logs_before: bool,
    /// What `writes` and `undo` take of memory.
    memory_bytes: usize,
    /// How often it has changed, over all transactions.
    puts: u64,
}

/// What records are locked in the order of: their addresses. Where a run must not depend on addresses, their keys first.
#[inline(always)]
fn lock_order<'p>(pin: &'p Pin<'_>, record: Held<Record>) -> (&'p [u8], usize) {
    let key: &[u8] = if locks_by_key() { pin.get(record).key() } else { &[] };
    (key, record.address())
}

/// The bit of a record in [`WriteSet::filter`]: the high bits of a product depend on all bits of the address.
fn filter_bit(record: Held<Record>) -> u64 {
    1 << ((record.address() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58)
}

/// What is logged of a write in place of its image.
fn delta_of<'d>(deltas: &'d [u8], write: &Write) -> Option<Delta<'d>> {
    let DeltaRange { begin, end } = write.delta?;
    Some(Delta { base: write.base, body: &deltas[begin as usize..end as usize] })
}

/// The committed version that a write rests on; where it is another one by now, the transaction does not validate.
fn base_of<'p>(pin: &'p Pin<'_>, write: &Write) -> Option<&'p Version> {
    pin.get(write.record).version(pin).filter(|version| version.stamp() == write.base)
}

fn memory_bytes(pending: &Option<VersionBox>) -> usize {
    pending.as_ref().map_or(0, VersionBox::memory_bytes)
}

impl WriteSet {
    pub(crate) fn clear(&mut self) {
        let kept = [self.writes.capacity(), self.order.capacity(), self.undo.capacity(), self.abandoned.capacity()];
        if kept.iter().any(|capacity| *capacity > KEPT_CAPACITY) {
            *self = WriteSet { puts: self.puts, ..WriteSet::default() };
        }
        self.writes.clear();
        self.order.clear();
        self.places.get_mut().clear();
        self.filter = 0;
        self.undo.clear();
        self.abandoned.clear();
        self.protected = 0;
        self.memory_bytes = 0;
        self.clear_deltas();
    }

    /// Forgets what is logged in place of images.
    fn clear_deltas(&mut self) {
        self.deltas.clear();
        self.logs_before = false;
        if self.deltas.capacity() > deltas_kept_bytes() {
            self.deltas = Vec::new();
        }
    }

    /// How many records are to be written.
    pub(crate) fn len(&self) -> usize {
        self.writes.len()
    }

    /// What the set takes of memory, what savepoints keep included.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// What installing the set does to memory.
    pub(crate) fn balance(&self, pin: &Pin<'_>) -> Balance {
        let mut balance = Balance::default();
        for write in &self.writes {
            let record = pin.get(write.record);
            let row = memory_bytes(&write.pending);
            let key = if write.is_placeholder && row > 0 { record.memory_bytes() } else { 0 };
            let replaced = record.version(pin).map_or(0, Version::memory_bytes);
            balance.needed += row as u64;
            balance.row_growth += row as i64 - replaced as i64;
            balance.growth += key as i64;
        }
        balance.growth += balance.row_growth;
        assert!(balance.needed <= self.memory_bytes as u64, "{balance:?} of {} bytes", self.memory_bytes);
        balance
    }

    /// Whether there is nothing to forget.
    pub(crate) fn is_clear(&self) -> bool {
        self.writes.is_empty() && self.abandoned.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Write> {
        self.writes.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Write> {
        self.writes.iter_mut()
    }

    pub(crate) fn find(&self, record: Held<Record>) -> Option<&Write> {
        self.position(record).map(|at| &self.writes[at])
    }

    fn position(&self, record: Held<Record>) -> Option<usize> {
        if self.filter & filter_bit(record) == 0 {
            return None;
        }
        if self.writes.len() <= linear_writes_max() {
            return self.writes.iter().position(|write| write.record == record);
        }
        self.places.borrow_mut().of(&self.writes, record)
    }

    /// Remembers a placeholder that was indexed, until a write of it is added.
    pub(crate) fn note_placeholder(&mut self, record: Held<Record>, tree_ref: TreeRef) {
        debug_assert!(self.position(record).is_none(), "a record that was just made is not written yet");
        self.abandoned.push((record, tree_ref));
    }

    /// Adds a write, or replaces the content of the one that is there.
    pub(crate) fn put(&mut self, write: Write) {
        self.puts += 1;
        if write.is_placeholder {
            let at = self.abandoned.iter().rposition(|(record, _)| *record == write.record);
            self.abandoned.swap_remove(at.expect("a placeholder is noted when it is indexed"));
            self.push(write);
            return;
        }
        match self.position(write.record) {
            Some(at) => self.replace(at, write.pending, write.birth),
            None => self.push(write),
        }
    }

    fn replace(&mut self, at: usize, pending: Option<VersionBox>, birth: Option<Stamp>) {
        self.memory_bytes += memory_bytes(&pending);
        let write = &mut self.writes[at];
        let old = Undo {
            at,
            pending: std::mem::replace(&mut write.pending, pending),
            birth: std::mem::replace(&mut write.birth, birth),
        };
        if at < self.protected {
            self.memory_bytes += size_of::<Undo>();
            self.undo.push(old);
        } else {
            self.memory_bytes -= memory_bytes(&old.pending);
        }
    }

    fn push(&mut self, write: Write) {
        self.memory_bytes += WRITE_BYTES + memory_bytes(&write.pending);
        self.order.clear();
        self.filter |= filter_bit(write.record);
        self.writes.push(write);
    }

    pub(crate) fn mark(&mut self) -> Mark {
        self.protected = self.writes.len();
        Mark { writes: self.writes.len(), undo: self.undo.len() }
    }

    /// Returns a number that changes with every write that is added, replaced or rolled back.
    pub(crate) fn puts(&self) -> u64 {
        self.puts
    }

    /// Begins an operation of several writes.
    pub(crate) fn begin_attempt(&mut self) -> Attempt {
        let protected = self.protected;
        Attempt { mark: self.mark(), protected }
    }

    /// Ends the operation: undoes its writes where it has failed, else forgets what no savepoint needs.
    pub(crate) fn end_attempt(&mut self, attempt: Attempt, has_succeeded: bool) {
        let Attempt { mark, protected } = attempt;
        if !has_succeeded {
            self.rollback_to(mark);
        }
        for undo in self.undo.extract_if(mark.undo.., |undo| undo.at >= protected) {
            self.memory_bytes -= size_of::<Undo>() + memory_bytes(&undo.pending);
        }
        self.protected = protected;
    }

    /// Whether `mark` still lies in the past of this set.
    pub(crate) fn contains(&self, mark: Mark) -> bool {
        mark.writes <= self.writes.len() && mark.undo <= self.undo.len()
    }

    /// The records first written since `mark`.
    pub(crate) fn records_since(&self, mark: Mark) -> impl Iterator<Item = Held<Record>> {
        self.writes[mark.writes..].iter().map(|write| write.record)
    }

    pub(crate) fn rollback_to(&mut self, mark: Mark) {
        assert!(self.contains(mark), "a savepoint is rolled back at most once");
        self.puts += 1;
        for undo in self.undo.drain(mark.undo..).rev() {
            let write = &mut self.writes[undo.at];
            self.memory_bytes -= size_of::<Undo>() + memory_bytes(&write.pending);
            (write.pending, write.birth) = (undo.pending, undo.birth);
        }
        self.order.clear();
        let places = self.places.get_mut();
        for write in self.writes.extract_if(mark.writes.., |write| faults::goes(write.tree_ref.index)) {
            self.memory_bytes -= WRITE_BYTES + memory_bytes(&write.pending);
            faults::forget(|| places.by_record.remove(&write.record.address()));
            if write.is_placeholder {
                self.abandoned.push((write.record, write.tree_ref));
            }
        }
        places.known = places.known.min(self.writes.len());
        if self.writes.len() <= linear_writes_max() {
            places.clear();
        }
        self.protected = mark.writes;
        assert!(self.writes.len() >= mark.writes && self.undo.len() == mark.undo, "the set is as it was at the mark");
    }

    /// Works out, before anything is locked, what is logged in place of images that the transaction has changed. `visit` is given
    /// each write, with its key and with that.
    pub(crate) fn find_deltas(&mut self, pin: &Pin<'_>, mut visit: impl FnMut(&Write, &[u8], Option<Delta<'_>>)) {
        self.clear_deltas();
        for write in &mut self.writes {
            let record = pin.get(write.record);
            (write.delta, write.undo) = (None, None);
            if write.base > Stamp::ZERO
                && write.tree_ref.index.is_none()
                && let Some(new) = &write.pending
                && let Some(base) = base_of(pin, write)
            {
                let begin = self.deltas.len();
                if delta::push_body(write.base, base.bytes(), new.bytes(), &mut self.deltas) {
                    write.delta = DeltaRange::of(begin, self.deltas.len());
                    if write.delta.is_none() {
                        self.deltas.truncate(begin);
                    }
                }
            }
            visit(write, record.key(), delta_of(&self.deltas, write));
        }
    }

    /// Returns what is logged of a write in place of its image, if anything is: a change of what the transaction has read.
    pub(crate) fn delta(&self, write: &Write) -> Option<Delta<'_>> {
        delta_of(&self.deltas, write)
    }

    /// Lets the image of every write be logged.
    pub(crate) fn forget_deltas(&mut self) {
        self.clear_deltas();
        self.writes.iter_mut().for_each(|write| (write.delta, write.undo) = (None, None));
    }

    /// Works out, for a transaction that has read all that it overwrites, and before anything is locked, what undoes the
    /// changes of [`WriteSet::find_deltas`]. From now on [`WriteSet::before`] is asked what rows were.
    pub(crate) fn find_undo(&mut self, pin: &Pin<'_>) {
        self.logs_before = true;
        for write in &mut self.writes {
            write.undo = None;
            if write.delta.is_some()
                && let (Some(new), Some(base)) = (&write.pending, base_of(pin, write))
            {
                let begin = self.deltas.len();
                if delta::push_inverse(base.bytes(), new.bytes(), &mut self.deltas) {
                    write.undo = DeltaRange::of(begin, self.deltas.len());
                    if write.undo.is_none() {
                        self.deltas.truncate(begin);
                    }
                }
            }
        }
    }

    /// Returns the row that a write replaces, if there is one: the version that the transaction has read.
    pub(crate) fn before<'w>(&'w self, pin: &'w Pin<'_>, write: &Write) -> Before<'w> {
        if !faults::is_shown(self.logs_before) {
            return Before::NotLogged;
        }
        match (write.undo, base_of(pin, write)) {
            (Some(DeltaRange { begin, end }), _) => Before::Ranges(&self.deltas[begin as usize..end as usize]),
            (None, Some(base)) => Before::Image(base.bytes()),
            (None, None) => Before::Absent,
        }
    }

    /// Checks, with the writes locked and the reads validated, that what is logged of each write is a change of what is in its
    /// place, and that this is what is logged as its row before.
    pub(crate) fn assert_bases(&self, pin: &Pin<'_>) {
        let is_logged_before = |write: &Write| self.logs_before && write.tree_ref.index.is_none();
        for write in self.writes.iter().filter(|write| write.delta.is_some() || is_logged_before(write)) {
            let base = pin.get(write.record).version(pin).map_or(Stamp::ZERO, Version::stamp);
            assert!(faults::rests_on(base == write.base), "a write that rests on {} where {base} is", write.base);
        }
    }

    /// Works out the order in which records are locked, the same in every transaction.
    pub(crate) fn sort_for_locking(&mut self, pin: &Pin<'_>) {
        if self.order.len() == self.writes.len() {
            return;
        }
        self.order.clear();
        self.order.extend(self.writes.iter().map(|write| write.record));
        // Stable, as it uses what is in order already: records that were made one after the other mostly are.
        self.order.sort_by(|a, b| lock_order(pin, *a).cmp(&lock_order(pin, *b)));
        assert!(self.order.windows(2).all(|pair| pair[0] != pair[1]), "a record is locked once");
    }

    /// The records in the order in which they are locked, once that is worked out.
    pub(crate) fn sorted(&self) -> &[Held<Record>] {
        assert!(self.order.len() == self.writes.len(), "what is locked are the records that are written");
        &self.order
    }

    /// Whether the record is to be written, once the order is worked out.
    pub(crate) fn contains_sorted(&self, pin: &Pin<'_>, record: Held<Record>) -> bool {
        if self.writes.len() <= linear_writes_max() {
            return self.sorted().contains(&record);
        }
        let wanted = lock_order(pin, record);
        let found = self.sorted().binary_search_by(|written| lock_order(pin, *written).cmp(&wanted));
        faults::is_found(found.is_ok())
    }

    pub(crate) fn abandoned(&self) -> impl Iterator<Item = (Held<Record>, TreeRef)> {
        self.abandoned.iter().copied()
    }

    pub(crate) fn forget_abandoned(&mut self) {
        self.abandoned.clear();
    }
}

#[cfg(test)]
#[path = "write_set_tests.rs"]
mod tests;
