//! Osier's concurrent structures: everything that many threads touch at once, and all unsafe code of the project.
//!
//! Invariants that the whole crate keeps:
//! - A pointer into shared memory leaves this crate only as a [`Held`], and is followed only through the [`Pin`] it was
//!   obtained under; the pin announces an epoch and nothing retired since is freed while it lives.
//! - Every atomic and every thread primitive comes from [`sync`], so that the models run the shipped code.
//! - Using the public interface wrongly (without a lock, from two threads, with another clock's pin) may panic or give wrong
//!   answers, but it is never undefined behaviour.
//!
//! Deliberately absent: files, clocks, transactions. This crate knows keys, stamps and bytes.

mod address_map;
mod aligned;
mod epoch;
mod ids;
mod key_stamps;
mod lanes;
mod limbo;
mod locks;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
mod page;
mod prefetch;
mod record;
mod recycle;
mod ring;
mod simulated;
mod snapshots;
pub mod sync;
#[cfg_attr(any(loom, shuttle), path = "models/task.rs")]
pub mod task;
#[cfg(test)]
mod testing;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod thin;
mod timestamps;
mod tree;
mod usage;
mod version;

pub use address_map::{AddressHasher, AddressMap};
pub use aligned::AlignedBuffer;
pub use epoch::{Epochs, Held, Participant, Pin, SPoint};
pub use ids::{Epoch, Stamp};
pub use key_stamps::{KeyHash, KeyStamps};
pub use lanes::{Isa, LANES_MAX};
pub use locks::{LockMode, LockWord, Locking, Locks, Lost, Owner, Taken};
pub use page::{Listed, Page, PageStart};
pub use prefetch::prefetch_to_write;
pub use record::{AsOf, Dead, LockFailed, Observed, Record, RecordBox, Replayed, Word};
pub use ring::{Batch, Closed, Reservation, Ring, RingConfig};
pub use simulated::TreeFault;
#[cfg(feature = "simulated")]
pub use simulated::{TreeSizes, set_timeouts, set_tree_fault, set_tree_sizes};
pub use snapshots::{Committer, Ended, OpenSnapshot, Reads, Snapshot, Snapshots, Swept};
pub use thin::{Entry, Keyed, Thin};
pub use timestamps::{Moment, Timestamp, Timestamps};
pub use tree::{
    Ahead, Duplicate, EXPECTED_AT_ONCE, INNER_SLOTS, Inserted, LEAF_SLOTS, LeafChange, LeafRead, LeafScan, Lookup, Run,
    ScanFrom, Shape, Tree,
};
pub use usage::{FOLD_BYTES, MemoryUse, Tally};
pub use version::{Version, VersionBox};
