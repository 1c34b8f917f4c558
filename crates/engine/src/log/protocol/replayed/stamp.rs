//! The stamp of a transaction that is run again: that of its record.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::LogError;
use crate::ids::Stamp;
use crate::log::persist::Slot;

/// The stamp of the transaction that is run just now.
#[derive(Debug, Default)]
pub(crate) struct ReplayedStamp(AtomicU64);

impl ReplayedStamp {
    /// The next transaction has this stamp, which is not below that of the one before.
    pub(crate) fn set(&self, stamp: Stamp) {
        let before = self.0.swap(stamp.0, Ordering::Relaxed);
        assert!(before <= stamp.0, "transaction {stamp} is run again after {before}");
    }

    /// Returns the stamp up to which all transactions have been run. Others may have that of the present one.
    pub(crate) fn before(&self) -> Stamp {
        Stamp(self.0.load(Ordering::Relaxed).saturating_sub(1))
    }

    /// Returns the slot of a commit over `base`.
    ///
    /// # Errors
    /// [`LogError::OutOfOrder`] where that is not below the stamp of the record.
    pub(super) fn draw<'l>(&self, base: Stamp) -> Result<Slot<'l>, LogError> {
        let stamp = Stamp(self.0.load(Ordering::Relaxed));
        if base < stamp { Ok(Slot::unlogged(stamp)) } else { Err(LogError::OutOfOrder { stamp, base }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_above_what_it_rests_on_or_fails() {
        let stamp = ReplayedStamp::default();
        stamp.set(Stamp(7));
        assert_eq!((stamp.draw(Stamp(6)).map(|slot| slot.stamp()).ok(), stamp.before()), (Some(Stamp(7)), Stamp(6)));
        let error = stamp.draw(Stamp(7)).err().expect("it rests on itself");
        assert!(matches!(error, LogError::OutOfOrder { stamp: Stamp(7), base: Stamp(7) }), "{error}");
    }
}
