//! How transactions ended, counted where their sessions are.
//!
//! Invariant: only the session that a slot is of writes to it, so that a count is no locked instruction and no line goes from
//! one processor to another.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use osier_memory::sync::{Mutex, lock};

/// Commits and aborts of all sessions.
#[derive(Default)]
pub(crate) struct Counters {
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    of_sessions: Vec<Arc<CachePadded<Slot>>>,
    /// Those of sessions that have ended.
    ended: Totals,
}

#[derive(Default)]
struct Slot {
    committed: AtomicU64,
    aborted: AtomicU64,
    conflicts: AtomicU64,
}

/// How many transactions committed, how many did not, and how many conflicts they met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    pub(crate) conflicts: u64,
}

/// The counters of one session.
pub(crate) struct SessionCounters(Arc<CachePadded<Slot>>);

impl Slot {
    fn add_to(&self, totals: &mut Totals) {
        totals.committed += self.committed.load(Ordering::Relaxed);
        totals.aborted += self.aborted.load(Ordering::Relaxed);
        totals.conflicts += self.conflicts.load(Ordering::Relaxed);
    }
}

impl SessionCounters {
    /// Counts a transaction that committed.
    #[inline]
    pub(crate) fn committed(&self) {
        increment(&self.0.committed);
    }

    /// Counts a transaction that did not.
    #[inline]
    pub(crate) fn aborted(&self) {
        increment(&self.0.aborted);
    }

    /// Counts a transaction that met a conflict, whatever becomes of it.
    #[cold]
    pub(crate) fn conflicted(&self) {
        increment(&self.0.conflicts);
    }
}

/// By the only thread that writes to it.
#[inline]
fn increment(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl Counters {
    /// Returns the counters of a session that begins.
    pub(crate) fn begin(&self) -> SessionCounters {
        let slot = Arc::<CachePadded<Slot>>::default();
        lock(&self.slots).of_sessions.push(Arc::clone(&slot));
        SessionCounters(slot)
    }

    /// Takes the counts of a session that ends.
    pub(crate) fn end(&self, of: &SessionCounters) {
        let slots = &mut *lock(&self.slots);
        let at = slots.of_sessions.iter().position(|slot| Arc::ptr_eq(slot, &of.0));
        slots.of_sessions.swap_remove(at.expect("a session ends once")).add_to(&mut slots.ended);
    }

    /// Returns what was counted so far.
    pub(crate) fn totals(&self) -> Totals {
        let slots = lock(&self.slots);
        let mut totals = slots.ended;
        slots.of_sessions.iter().for_each(|slot| slot.add_to(&mut totals));
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ended_session_counted_stays() {
        let counters = Counters::default();
        let [one, other] = [counters.begin(), counters.begin()];
        (0..3).for_each(|_| one.committed());
        other.aborted();
        one.conflicted();
        assert_eq!(counters.totals(), Totals { committed: 3, aborted: 1, conflicts: 1 });
        counters.end(&one);
        other.committed();
        assert_eq!(counters.totals(), Totals { committed: 4, aborted: 1, conflicts: 1 });
    }
}
