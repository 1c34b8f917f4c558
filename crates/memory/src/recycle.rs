//! The versions that one participant has replaced: their memory becomes that of the versions it writes next.
//!
//! Each update frees one version and makes another, mostly of the same size. Handing the memory on spares the allocator
//! twice, and what is written next can be fetched into the cache in time.
//!
//! Invariants:
//! - A version waits as anything retired does (`limbo.rs`); its memory is handed on only when nobody can reach it.
//! - Where it has none, a participant takes over some of those that snapshots have let go of ([`Spares`]), and uses them up
//!   before it uses its own: what is kept is replaced by fresh memory, which costs more than the copy.
//! - Versions that are not asked for are freed [`KEPT_EPOCHS`] after they could be: a participant that deletes more than it
//!   writes does not hoard. Beside limbo it keeps at most [`SPARES_MAX`] blocks of each size.

use std::collections::VecDeque;
use std::ptr::NonNull;

use crate::Epoch;
use crate::limbo::Limbo;
use crate::prefetch::{LINE_BYTES, prefetch_to_write};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, lock};
use crate::usage::{Kind, Tally};
use crate::version::{self, Extent, Remains, SIZE_CLASSES, VersionBox};

/// For so many epochs memory that could be freed is kept for the versions written next. Values become safe all at once when
/// the epoch advances, and are needed one by one.
const KEPT_EPOCHS: u64 = 4;

/// Blocks of one size that are kept when those of another size were asked for.
const SPARES_MAX: usize = 16;

/// How much of the block that comes next is fetched ahead.
const EXPECTED_BYTES_MAX: usize = 2048;

/// Blocks that are looked at for one version.
const LOOKS_MAX: usize = 4;

/// For so many epochs what snapshots have let go of waits for somebody who writes.
const SPARE_EPOCHS: u64 = 64;

/// Versions that snapshots have let go of, for all participants; counted as kept for snapshots while they are here.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    batches: Mutex<VecDeque<(Epoch, Vec<Replaced>)>>,
    /// Whether there are any, for who asks often.
    has_some: AtomicBool,
}

impl Spares {
    /// Takes versions that were unlinked before `epoch` was read.
    pub(crate) fn put(&self, epoch: Epoch, versions: Vec<Replaced>) {
        let mut batches = lock(&self.batches);
        batches.push_back((epoch, versions));
        self.has_some.store(true, Ordering::Release);
    }

    /// Gives away some that nobody can reach.
    fn take(&self, safe: Epoch) -> Option<Vec<Replaced>> {
        if !self.has_some.load(Ordering::Acquire) {
            return None;
        }
        let mut batches = lock(&self.batches);
        let (_, versions) = batches.pop_front_if(|(epoch, _)| *epoch <= safe)?;
        self.has_some.store(!batches.is_empty(), Ordering::Release);
        Some(versions)
    }

    /// Frees some that nobody can reach, and that nobody wanted; returns whether there are more.
    pub(crate) fn free_unused(&self, safe: Epoch, tally: &Tally) -> bool {
        self.free(Epoch(safe.0.saturating_sub(SPARE_EPOCHS)), tally)
    }

    /// Frees some that were put here in `epoch` or before; returns whether there may be more.
    pub(crate) fn free(&self, epoch: Epoch, tally: &Tally) -> bool {
        let Some(versions) = self.take(epoch) else { return false };
        // SAFETY: E2 of `epoch.rs` for the epoch that they were put here in; they have left this place.
        versions.into_iter().for_each(|version| unsafe { version::free_kept(version.0, tally) });
        true
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        for (_, versions) in lock(&self.batches).drain(..) {
            // SAFETY: with the clock goes the last one who could reach them.
            versions.into_iter().for_each(|version| unsafe { version::free_kept(version.0, &Tally::default()) });
        }
    }
}

/// A version that has been replaced or deleted.
#[derive(Debug)]
pub(crate) struct Replaced(NonNull<()>);

// SAFETY: a version may be freed on any thread.
unsafe impl Send for Replaced {}

impl Replaced {
    /// The version at `raw`, which has been unlinked.
    pub(crate) fn new(raw: NonNull<()>) -> Replaced {
        Replaced(raw)
    }

    /// Frees the version.
    ///
    /// # Safety
    /// Nobody refers to it.
    pub(crate) unsafe fn free(self, tally: &Tally) {
        // SAFETY: passed on to the caller; `self` is consumed, so this happens once.
        unsafe { version::free(self.0, tally) }
    }

    pub(crate) fn into_raw(self) -> NonNull<()> {
        self.0
    }
}

/// The replaced versions of one participant.
#[derive(Debug)]
pub(crate) struct Recycler {
    limbo: Limbo<Replaced>,
    /// What was taken over of the spares of all; nobody can reach it.
    adopted: Vec<Replaced>,
    spares: [Vec<Remains>; SIZE_CLASSES],
}

impl Default for Recycler {
    fn default() -> Self {
        Recycler { limbo: Limbo::default(), adopted: Vec::new(), spares: [const { Vec::new() }; SIZE_CLASSES] }
    }
}

impl Recycler {
    /// Takes a version that has just been unlinked.
    ///
    /// # Safety
    /// As for `Pin::retire`.
    #[inline]
    pub(crate) unsafe fn push(&mut self, version: NonNull<()>) {
        self.limbo.push(Replaced(version));
    }

    /// See [`Limbo::tag`].
    #[inline]
    pub(crate) fn tag(&mut self, epoch: Epoch) {
        self.limbo.tag(epoch);
    }

    /// How many versions wait.
    pub(crate) fn len(&self) -> usize {
        self.limbo.len() + self.adopted.len()
    }

    /// Frees a bounded number of versions that nobody asked for.
    #[inline]
    pub(crate) fn free_unused(&mut self, safe: Epoch, tally: &Tally) {
        self.free_some(Epoch(safe.0.saturating_sub(KEPT_EPOCHS)), tally);
    }

    /// Frees a bounded number of versions, and all spare memory.
    pub(crate) fn reclaim(&mut self, safe: Epoch, tally: &Tally) {
        self.free_spares(tally);
        self.free_some(safe, tally);
    }

    fn free_spares(&mut self, tally: &Tally) {
        // SAFETY: nobody can reach what was adopted.
        self.adopted.drain(..).for_each(|version| unsafe { version.free(tally) });
        self.spares.iter_mut().flat_map(std::mem::take).for_each(|spare| spare.free(tally));
    }

    #[inline]
    fn free_some(&mut self, safe: Epoch, tally: &Tally) {
        // SAFETY: E2 of `epoch.rs` for the epoch that the version was tagged with.
        self.limbo.free_some(safe, |version| unsafe { version.free(tally) });
    }

    /// A version of this size, whose bytes hold anything.
    pub(crate) fn version(&mut self, extent: Extent, safe: Epoch, others: &Spares, tally: &Tally) -> VersionBox {
        let Some(class) = extent.class() else { return VersionBox::of(extent) };
        if let Some(spare) = self.spares[class].pop() {
            return spare.reuse(extent, tally);
        }
        for _ in 0..LOOKS_MAX {
            let own = self.adopted.pop().or_else(|| self.limbo.take(safe));
            let Some(version) = own.or_else(|| self.adopt(safe, others, tally)) else { break };
            if let Some(next) = self.adopted.last().or(self.limbo.oldest()) {
                let start = next.0.as_ptr().cast::<u8>();
                (0..extent.len.min(EXPECTED_BYTES_MAX))
                    .step_by(LINE_BYTES)
                    .for_each(|line| prefetch_to_write(start.wrapping_add(line)));
            }
            // SAFETY: E2 of `epoch.rs` for the epoch that the version was tagged with; it has left limbo, so this is once.
            let remains = unsafe { Remains::of(version.0) };
            match remains.class() {
                Some(found) if found == class => return remains.reuse(extent, tally),
                Some(found) if self.spares[found].len() < SPARES_MAX => self.spares[found].push(remains),
                _ => remains.free(tally),
            }
        }
        VersionBox::of(extent)
    }

    /// Takes over some of those that all share, and gives one.
    #[inline]
    fn adopt(&mut self, safe: Epoch, others: &Spares, tally: &Tally) -> Option<Replaced> {
        self.adopted = others.take(safe)?;
        for version in &self.adopted {
            // SAFETY: it is a live version that nobody else can reach.
            let bytes = unsafe { version::memory_bytes(version.0.cast()) };
            tally.turn(Kind::Retained, Kind::Rows, bytes);
        }
        self.adopted.pop()
    }

    /// Gives all versions away, tagged or not, and frees spare memory.
    pub(crate) fn drain(&mut self, tally: &Tally) -> impl Iterator<Item = Replaced> + '_ {
        self.free_spares(tally);
        self.limbo.drain()
    }
}
