//! Which transactions in parts recovery may need the parts of: what keeps truncation from them.
//!
//! Invariants:
//! - A transaction is noted before its first part has a place in the log, and stays noted until it has ended or its record has a
//!   stamp. So where the log begins for a checkpoint is read first, and who is noted afterwards: whoever is missed either has
//!   its parts behind that begin, or had committed before it was read.
//! - A transaction that has committed is needed by a checkpoint that begins at a stamp below its own. It is forgotten when the
//!   segment with its first part is given up.

use std::sync::Arc;

use osier_memory::sync::{Mutex, lock};

use crate::ids::{LogOffset, Stamp};

/// The transactions in parts of one stream.
#[derive(Debug, Default)]
pub(crate) struct PartsHeld(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    list: Vec<Entry>,
    /// How many there were: the number of the next one.
    count: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    /// Its first part is there or behind it.
    first: LogOffset,
    /// Of its record, once that is in the log.
    stamp: Option<Stamp>,
}

/// A transaction in parts that is not committed yet. Dropped, it never will be.
#[derive(Debug)]
#[must_use = "without it the log may be given up"]
pub(crate) struct PartsHold {
    held: Arc<PartsHeld>,
    number: u64,
}

impl PartsHeld {
    /// Notes a transaction none of whose parts has a place before `end`, which is read after that.
    pub(crate) fn hold(self: &Arc<Self>, end: impl FnOnce() -> LogOffset) -> PartsHold {
        let Entries { list, count } = &mut *lock(&self.0);
        let number = *count;
        list.push(Entry { number, first: end(), stamp: None });
        *count += 1;
        PartsHold { held: Arc::clone(self), number }
    }

    /// Returns the least offset at or behind which all parts are that a checkpoint needs which holds everything up to stamp
    /// `floor`, or without one everything that was stamped before now.
    pub(crate) fn needed(&self, floor: Option<Stamp>) -> Option<LogOffset> {
        let is_needed = |entry: &&Entry| match (entry.stamp, floor) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(stamp), Some(floor)) => stamp > floor,
        };
        lock(&self.0).list.iter().filter(is_needed).map(|entry| entry.first).min()
    }

    /// Forgets those whose first part may lie before `begin`: the log before that is given up.
    pub(crate) fn forget_before(&self, begin: LogOffset) {
        lock(&self.0).list.retain(|entry| entry.first >= begin || entry.stamp.is_none());
    }
}

impl PartsHold {
    /// Notes that the record that names the parts is in the log.
    pub(crate) fn committed(self, stamp: Stamp) {
        let mut entries = lock(&self.held.0);
        let entry = entries.list.iter_mut().find(|entry| entry.number == self.number);
        entry.expect("a transaction is noted until it has ended").stamp = Some(stamp);
    }
}

impl Drop for PartsHold {
    fn drop(&mut self) {
        lock(&self.held.0).list.retain(|entry| entry.number != self.number || entry.stamp.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_or_stamped_above_the_floor_is_needed() {
        let held = Arc::new(PartsHeld::default());
        let [first, second, third] = [8192, 4096, 64].map(|end| held.hold(|| LogOffset(end)));
        assert_eq!(held.needed(None), Some(LogOffset(64)));
        drop(third);
        assert_eq!(held.needed(None), Some(LogOffset(4096)), "a transaction that ends without a record needs none");
        second.committed(Stamp(70));
        assert_eq!(held.needed(None), Some(LogOffset(8192)), "its epoch is before the next boundary");
        assert_eq!(held.needed(Some(Stamp(69))), Some(LogOffset(4096)), "it is above what the checkpoint holds");
        assert_eq!(held.needed(Some(Stamp(70))), Some(LogOffset(8192)));
        held.forget_before(LogOffset(4096));
        assert_eq!(held.needed(Some(Stamp(1))), Some(LogOffset(4096)));
        held.forget_before(LogOffset(4097));
        assert_eq!(held.needed(Some(Stamp(1))), Some(LogOffset(8192)));
        first.committed(Stamp(71));
        assert_eq!(held.needed(None), None);
    }

    /// Between the commit and the end of its note the log may be given up to behind its parts.
    #[test]
    fn no_two_transactions_have_one_number() {
        let held = Arc::new(PartsHeld::default());
        let ending = held.hold(|| LogOffset(64));
        lock(&held.0).list[0].stamp = Some(Stamp(7));
        held.forget_before(LogOffset(128));
        let next = held.hold(|| LogOffset(128));
        drop(ending);
        assert_eq!(held.needed(None), Some(LogOffset(128)));
        next.committed(Stamp(8));
    }
}
