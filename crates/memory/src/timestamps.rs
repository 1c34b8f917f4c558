//! The order of commits, for readers that see a state of the past: epochs, and a counter of all commits within them.
//!
//! A commit is of a [`Moment`]: its epoch, and a timestamp from the counter. So what readers of the past take for earlier agrees
//! with what snapshots of whole epochs hold.
//!
//! Invariants:
//! - A committer takes the locks of all that it will write, then draws its timestamp and reads its epoch ([`Pin::s_point`]), and
//!   installs what it writes under that moment before it unlocks.
//! - *What is earlier is seen*: who asks for the moment of now and then finds a record unlocked finds what every commit up to
//!   that moment wrote there.
//! - *Moments are an order*: those of commits on one record increase. Of one who has read a record, and finds it unlocked and
//!   unchanged after its own moment, and one who changes it, the second has the later moment.
//!
//! Why what is earlier is seen. Let a commit be up to the moment. If its epoch is less than that of the moment, it read its epoch
//! before that was raised: commit: lock; fence; read e, which misses the raise. Reader: read the raised epoch; fence; look at the
//! record. The fence of the commit comes first, so its lock is seen. If the epochs are the same, the reader's load of the counter
//! has seen the commit's increment or a later one, increments are one release sequence, and the lock was taken before: it is seen
//! too.
//!
//! Why moments are an order. Epochs are closed under every dependency (docs/protocols.md, epochs), so that the later commit has
//! no lesser one. Within an epoch timestamps decide. Who locks a record after another unlocked it draws after that one. Who
//! read it found no lock of whoever changes it after it had drawn its own timestamp; had that one drawn before, its lock would
//! have been seen.

use crossbeam_utils::CachePadded;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::{Epoch, Pin};

/// How many commits drew a timestamp before, and the commit itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

/// A place in the order of commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// The epoch.
    pub epoch: Epoch,
    /// The place in it.
    pub timestamp: Timestamp,
}

/// See the module.
pub struct Timestamps {
    drawn: CachePadded<AtomicU64>,
}

impl Default for Timestamps {
    fn default() -> Timestamps {
        Timestamps { drawn: CachePadded::new(AtomicU64::new(0)) }
    }
}

impl Timestamps {
    /// The moment of now.
    #[inline]
    pub fn now(&self, pin: &Pin<'_>) -> Moment {
        // There is a fence behind the read of the pin's own epoch; behind another one it takes a new one.
        let epoch = if pin.latest_epoch() == pin.epoch() { pin.epoch() } else { pin.current_epoch() };
        Moment { epoch, timestamp: Timestamp(self.drawn.load(Ordering::Acquire)) }
    }

    /// The next timestamp, for a commit that holds its locks and reads its epoch next.
    #[inline]
    pub fn draw(&self) -> Timestamp {
        Timestamp(self.drawn.fetch_add(1, Ordering::AcqRel) + 1)
    }
}

impl std::fmt::Debug for Timestamps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timestamps").field("drawn", &self.drawn).finish()
    }
}
