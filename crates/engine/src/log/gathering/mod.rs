//! What a transaction depends on, while it is gathered: each access adds what it observed, and the commit closes it.
//!
//! Invariant: when [`Gathering::close`] has returned, the [`Dependency`] covers everything that was added, and a stamp above
//! [`Gathering::greatest`] is above everything in it.
//!
//! Absent: what is gathered when (concurrency/), the bytes in a record (log/format/), what follows from it (log/protocol/).

mod faults;
pub(crate) mod lsns;

use osier_memory::{KeyHash, KeyStamps};

use crate::ids::{Stamp, StreamId};
use crate::log::format::dependency::Dependency;

/// What a transaction depends on, with the way to gather it.
pub(crate) trait Gathered: Dependency {
    /// As it is gathered.
    type Gathering: Gathering<Dependency = Self>;
}

/// A row that a commit overwrites, with its lock held.
pub(crate) struct Overwritten<'k> {
    pub(crate) key: &'k [u8],
    pub(crate) stamp: Stamp,
    /// Whether there is no row: the stamp may be that of a leaf.
    pub(crate) is_absent: bool,
}

/// What an open transaction depends on. The default is nothing.
pub(crate) trait Gathering: Default + Clone {
    /// What becomes of it.
    type Dependency: Dependency;
    /// What protocols know of the dependencies of others.
    type Source: Sync;
    /// Whether it covers those who have read what is overwritten, when it is closed.
    const COVERS_READERS: bool;

    /// Begins a transaction; everything up to `durable` is durable on every stream.
    fn begin(&mut self, durable: impl FnOnce() -> Stamp);

    /// Adds whatever committed with `stamp` or a smaller one.
    fn add(&mut self, stamp: Stamp);

    /// Adds what committed with `stamp` and wrote the row of `key`.
    fn add_row(&mut self, stamp: Stamp, key: impl FnOnce() -> KeyHash);

    /// Adds what others, whose rows were added, depended on; for a commit to the stream `own` that overwrites rows. Where it
    /// overwrites none, nothing is logged. A commit that finds no room closes it again.
    fn close<'k>(&mut self, source: &Self::Source, own: StreamId, overwritten: impl Iterator<Item = Overwritten<'k>>);

    /// Tells the source what a transaction depended on that is about to install rows of these keys, under `stamp`.
    fn publish<'k>(&self, source: &Self::Source, at: (StreamId, Stamp), keys: impl Iterator<Item = &'k [u8]>);

    /// Returns what was gathered: all of it when it is closed.
    fn dependency(&self) -> &Self::Dependency;

    /// Returns the greatest stamp in it.
    fn greatest(&self) -> Stamp;

    /// Returns how many bytes it has in the header of a record at most, when it is closed.
    fn encoded_len_max(&self, source: &Self::Source) -> usize;
}

/// The source of protocols that know nothing of others.
pub(crate) const NO_SOURCE: &() = &();

impl Gathered for Stamp {
    type Gathering = Stamp;
}

/// A stamp stands for all stamps up to it: it is gathered as it is.
impl Gathering for Stamp {
    type Dependency = Stamp;
    type Source = ();
    const COVERS_READERS: bool = false;

    #[inline]
    fn begin(&mut self, _durable: impl FnOnce() -> Stamp) {
        *self = Stamp::ZERO;
    }

    #[inline]
    fn add(&mut self, stamp: Stamp) {
        *self = stamp.max(*self);
    }

    #[inline]
    fn add_row(&mut self, stamp: Stamp, _key: impl FnOnce() -> KeyHash) {
        self.add(stamp);
    }

    #[inline]
    fn close<'k>(&mut self, _source: &(), _own: StreamId, _overwritten: impl Iterator<Item = Overwritten<'k>>) {}

    #[inline]
    fn publish<'k>(&self, _source: &(), _at: (StreamId, Stamp), _keys: impl Iterator<Item = &'k [u8]>) {}

    #[inline]
    fn dependency(&self) -> &Stamp {
        self
    }

    #[inline]
    fn greatest(&self) -> Stamp {
        *self
    }

    #[inline]
    fn encoded_len_max(&self, _source: &()) -> usize {
        self.encoded_len()
    }
}

/// The lane of a stream: where there is one, it is that of all.
#[inline]
pub(crate) fn lane(stamps: &KeyStamps, stream: StreamId) -> usize {
    if stamps.lanes() == 1 { 0 } else { stream.0 as usize }
}
