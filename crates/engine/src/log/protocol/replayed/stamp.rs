//! The stamp of a transaction that is run again: that of its record.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

use crate::error::LogError;
use crate::ids::{Stamp, StreamId};
use crate::log::persist::Slot;

/// The stamps of the transactions that are run just now, one for each session: a session of such a recovery has a stream of its
/// own.
#[derive(Debug)]
pub(crate) struct ReplayedStamp {
    of_streams: Box<[CachePadded<AtomicU64>]>,
    before: AtomicU64,
    /// Whether there are stamps in leaves that say nothing: of transactions that were run before others with smaller or equal
    /// stamps, which do not depend on them, and of users.
    were_at_once: AtomicBool,
}

impl ReplayedStamp {
    /// For so many sessions.
    pub(crate) fn new(sessions: u32) -> ReplayedStamp {
        let of_streams = (0..sessions).map(|_| CachePadded::default()).collect();
        ReplayedStamp { of_streams, before: AtomicU64::new(0), were_at_once: AtomicBool::new(false) }
    }

    /// The next transaction has this stamp, which is not below that of the one before, and is run by the first session alone.
    pub(crate) fn set(&self, stamp: Stamp) {
        self.set_before(stamp);
        self.set_of(StreamId(0), stamp);
    }

    /// From here on no transaction has a smaller stamp, and they are run at once.
    pub(crate) fn begin_at_once(&self, stamp: Stamp) {
        self.set_before(stamp);
        self.were_at_once.store(true, Ordering::Relaxed);
    }

    fn set_before(&self, stamp: Stamp) {
        let before = self.before.swap(stamp.0.saturating_sub(1), Ordering::Relaxed);
        assert!(before < stamp.0.max(1), "transaction {stamp} is run again after {before}");
    }

    /// The next transaction of a session has this stamp.
    pub(crate) fn set_of(&self, session: StreamId, stamp: Stamp) {
        self.of_streams[session.0 as usize].store(stamp.0, Ordering::Relaxed);
    }

    /// Whether the stamps count that keys without a row have left behind in leaves.
    pub(crate) fn absences_count(&self) -> bool {
        !self.were_at_once.load(Ordering::Relaxed)
    }

    /// Returns the stamp up to which all transactions have been run. Others may have that of the present one.
    pub(crate) fn before(&self) -> Stamp {
        Stamp(self.before.load(Ordering::Relaxed))
    }

    /// Returns the slot of a commit over `base`.
    ///
    /// # Errors
    /// [`LogError::OutOfOrder`] where that is not below the stamp of the record.
    pub(super) fn draw<'l>(&self, session: StreamId, base: Stamp) -> Result<Slot<'l>, LogError> {
        let stamp = Stamp(self.of_streams[session.0 as usize].load(Ordering::Relaxed));
        if base < stamp { Ok(Slot::unlogged(stamp)) } else { Err(LogError::OutOfOrder { stamp, base }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_above_what_it_rests_on_or_fails() {
        let (stamp, first) = (ReplayedStamp::new(2), StreamId(0));
        stamp.set(Stamp(7));
        let drawn = stamp.draw(first, Stamp(6)).map(|slot| slot.stamp()).ok();
        assert_eq!((drawn, stamp.before()), (Some(Stamp(7)), Stamp(6)));
        let error = stamp.draw(first, Stamp(7)).err().expect("it rests on itself");
        assert!(matches!(error, LogError::OutOfOrder { stamp: Stamp(7), base: Stamp(7) }), "{error}");
    }

    #[test]
    fn sessions_have_stamps_of_their_own() {
        let stamp = ReplayedStamp::new(2);
        stamp.begin_at_once(Stamp(5));
        stamp.set_of(StreamId(0), Stamp(9));
        stamp.set_of(StreamId(1), Stamp(5));
        let drawn = [0, 1].map(|session| stamp.draw(StreamId(session), Stamp(4)).map(|slot| slot.stamp()).ok());
        assert_eq!((drawn, stamp.before()), ([Some(Stamp(9)), Some(Stamp(5))], Stamp(4)));
    }

    /// The next one in order may have the stamp of one that was run at once, and has purged a key.
    #[test]
    fn absences_count_until_transactions_are_run_at_once() {
        let stamp = ReplayedStamp::new(1);
        stamp.set(Stamp(4));
        assert!(stamp.absences_count());
        stamp.begin_at_once(Stamp(5));
        stamp.set(Stamp(9));
        assert!(!stamp.absences_count());
    }
}
