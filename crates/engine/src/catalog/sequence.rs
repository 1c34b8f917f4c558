//! Sequences as the catalog knows them: the row that says which values are left, and the handle.
//!
//! Invariants:
//! - A row's `next` is beyond every value that was reserved, in the direction of the sequence; where the sequence cycles, beyond
//!   those since it last began anew.
//! - A block of reserved values crosses no bound.
//! - A reservation changes the row and not the definition: handles stay good until the sequence is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::handles::{Handle, RowStamp};
use crate::ids::Stamp;
use crate::table::{ColumnId, Row, Value};

/// The column of `osier_sequences` that tells sequences of one name apart.
pub(crate) const ID: ColumnId = ColumnId(1);

/// The column of `osier_sequences` that a reservation changes.
pub(crate) const NEXT: ColumnId = ColumnId(8);

/// What a sequence is declared as, and what is left of it: a row of `osier_sequences`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SequenceRow {
    pub(crate) id: i64,
    pub(crate) increment: i64,
    pub(crate) minimum: i64,
    pub(crate) maximum: i64,
    pub(crate) start: i64,
    pub(crate) cycle: bool,
    /// How many values a session reserves at once.
    pub(crate) cache: i64,
    /// The next value; `None`: there is none left.
    pub(crate) next: Option<i64>,
}

/// Values that are reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reserved {
    next: i64,
    increment: i64,
    /// How many.
    left: u64,
}

impl Iterator for Reserved {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        let value = self.next;
        // Behind the last value may be no number.
        self.next = value.wrapping_add(self.increment);
        Some(value)
    }
}

impl SequenceRow {
    /// The row of the sequence named `name`.
    pub(crate) fn values<'r>(&self, name: &'r str) -> [Value<'r>; 9] {
        [
            Value::Text(name),
            Value::Int(self.id),
            Value::Int(self.increment),
            Value::Int(self.minimum),
            Value::Int(self.maximum),
            Value::Int(self.start),
            Value::Bool(self.cycle),
            Value::Int(self.cache),
            self.next_value(),
        ]
    }

    /// What the column [`NEXT`] holds.
    pub(crate) fn next_value(&self) -> Value<'static> {
        self.next.map_or(Value::Null, Value::Int)
    }

    /// Reads a row.
    pub(crate) fn of(row: &Row<'_>) -> SequenceRow {
        let int = |column| row.int(ColumnId(column));
        SequenceRow {
            id: int(1),
            increment: int(2),
            minimum: int(3),
            maximum: int(4),
            start: int(5),
            cycle: row.boolean(ColumnId(6)),
            cache: int(7),
            next: (!row.is_null(NEXT)).then(|| row.int(NEXT)),
        }
    }

    /// Reads the name from a row.
    pub(crate) fn name<'r>(row: &'r Row<'_>) -> &'r str {
        row.text(ColumnId(0))
    }

    /// Takes up to `wanted` values; `None` where none is left.
    pub(crate) fn reserve(&mut self, wanted: u64) -> Option<Reserved> {
        let next = self.next?;
        let (bound, begin) =
            if self.is_ascending() { (self.maximum, self.minimum) } else { (self.minimum, self.maximum) };
        let (first, increment) = (i128::from(next), i128::from(self.increment));
        let left = (i128::from(bound) - first) / increment + 1;
        let taken = left.min(i128::from(wanted.max(1)));
        assert!(taken > 0, "the next value is within the bounds");
        let behind = i64::try_from(first + taken * increment).ok();
        let behind = behind.filter(|value| (self.minimum..=self.maximum).contains(value));
        self.next = behind.or(self.cycle.then_some(begin));
        Some(Reserved { next, increment: self.increment, left: taken as u64 })
    }

    /// Whether its values grow.
    pub(crate) fn is_ascending(&self) -> bool {
        self.increment > 0
    }

    /// The bound at which it ends.
    pub(crate) fn bound(&self) -> i64 {
        if self.is_ascending() { self.maximum } else { self.minimum }
    }

    /// Whether it is one that can be declared, and its next value is one of its own: what a disk held may be anything.
    pub(crate) fn is_sound(&self) -> bool {
        let bounds = self.minimum..=self.maximum;
        let next = self.next.is_none_or(|next| bounds.contains(&next));
        self.increment != 0 && self.cache > 0 && bounds.contains(&self.start) && next
    }
}

/// A handle on a sequence, cheap to clone. It stays valid until the sequence is dropped.
#[derive(Clone)]
pub struct Sequence {
    parts: Arc<SequenceParts>,
}

struct SequenceParts {
    name: String,
    id: i64,
    /// Of its row when the handle was made.
    stamp: RowStamp,
    /// How often it was restarted in the life of the handle.
    restarts: AtomicU64,
}

impl Sequence {
    /// A handle made from a committed row, or (without a stamp) by the transaction that writes it.
    pub(crate) fn new(name: &str, id: i64, stamp: Option<Stamp>) -> Sequence {
        let (name, stamp, restarts) = (name.to_owned(), RowStamp::new(stamp), AtomicU64::new(0));
        Sequence { parts: Arc::new(SequenceParts { name, id, stamp, restarts }) }
    }

    /// Returns the name that it was created with.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// Returns what tells it from every other sequence.
    pub(crate) fn id(&self) -> i64 {
        self.parts.id
    }

    /// Returns the stamp of the row that it was made from; `None` where that has not committed.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.parts.stamp.get()
    }

    /// The transaction that created it has committed with `stamp`.
    pub(crate) fn committed(&self, stamp: Stamp) {
        self.parts.stamp.commit(stamp);
    }

    /// Changes with every restart that has committed: values reserved before are not handed out any more.
    pub(crate) fn restarts(&self) -> u64 {
        self.parts.restarts.load(Ordering::Acquire)
    }

    /// A restart has committed.
    pub(crate) fn restarted(&self) {
        self.parts.restarts.fetch_add(1, Ordering::Release);
    }
}

impl Handle for Sequence {
    fn name(&self) -> &str {
        Sequence::name(self)
    }

    fn is_same(&self, other: &Sequence) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts)
    }

    fn is_of_same_object(&self, other: &Sequence) -> bool {
        self.parts.id == other.parts.id
    }
}

impl std::fmt::Debug for Sequence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sequence").field("id", &self.parts.id).field("name", &self.name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(increment: i64, (minimum, maximum): (i64, i64), next: i64, cycle: bool) -> SequenceRow {
        SequenceRow { id: 1, increment, minimum, maximum, start: next, cycle, cache: 1, next: Some(next) }
    }

    fn taken(row: &mut SequenceRow, wanted: u64) -> Option<Vec<i64>> {
        row.reserve(wanted).map(Iterator::collect)
    }

    #[test]
    fn a_block_ends_at_the_bound() {
        let mut row = row(3, (1, 10), 4, false);
        assert_eq!(taken(&mut row, 2), Some(vec![4, 7]));
        assert_eq!(row.next, Some(10));
        assert_eq!(taken(&mut row, 5), Some(vec![10]));
        assert_eq!(taken(&mut row, 1), None);
        assert_eq!(row.next_value(), Value::Null);
    }

    #[test]
    fn a_sequence_that_cycles_begins_at_its_other_bound() {
        let mut up = row(4, (1, 10), 6, true);
        assert_eq!(taken(&mut up, 9), Some(vec![6, 10]));
        assert_eq!(taken(&mut up, 9), Some(vec![1, 5, 9]));
        let mut down = row(-4, (-3, 5), 0, true);
        assert_eq!(taken(&mut down, 9), Some(vec![0]));
        assert_eq!(taken(&mut down, 1), Some(vec![5]));
    }

    #[test]
    fn the_ends_of_the_numbers_are_bounds() {
        let mut up = row(i64::MAX, (i64::MIN, i64::MAX), i64::MIN, false);
        assert_eq!(taken(&mut up, u64::MAX), Some(vec![i64::MIN, -1, i64::MAX - 1]));
        assert_eq!(up.next, None);
        let mut down = row(i64::MIN, (i64::MIN, i64::MAX), i64::MAX, false);
        assert_eq!(taken(&mut down, 3), Some(vec![i64::MAX, -1]));
        assert_eq!(down.next, None);
    }
}
