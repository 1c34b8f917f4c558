//! Row versions: an immutable row image with the stamp that wrote it, in one allocation behind one word.
//!
//! Invariants:
//! - A [`Version`] never changes once it is shared; it is owned by exactly one [`VersionBox`], one record, the snapshots
//!   (`snapshots/mod.rs`), or one limbo entry, and freed by the last of them.
//! - All memory of a version has been written, also what lies beyond its bytes, so that it can be handed on.
//!
//! Deliberately absent: the meaning of the bytes, and chains of versions.

use std::alloc::{self, Layout};
use std::mem;
use std::ops::RangeInclusive;
use std::ptr::{self, NonNull};

use crate::prefetch::{LINE_BYTES, prefetch_next};
use crate::sync::RaceCell;
use crate::thin::Thin;
use crate::usage::{Kind, Tally};
use crate::{Epoch, Stamp};

/// The fixed part of a version; its address is the version's thin pointer. The 42 bits of the epoch lie where stamps and length
/// leave some.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    /// The stamp, and bits 36 to 38 of the epoch.
    stamp: u64,
    /// The birth stamp, and bits 39 to 41 of the epoch.
    birth: u64,
    /// The length, and bits 0 to 35 of the epoch.
    len: u64,
    race: RaceCell,
}

impl Header {
    const STAMP_BITS: u32 = 61;
    const LEN_BITS: u32 = 28;
    const LOW_EPOCH_BITS: u32 = u64::BITS - Header::LEN_BITS;

    fn new(len: usize) -> Header {
        assert!(len < 1 << Header::LEN_BITS, "a row is shorter than 256 MiB");
        Header { stamp: 0, birth: 0, len: len as u64, race: RaceCell::new() }
    }

    fn len(&self) -> usize {
        (self.len & ((1 << Header::LEN_BITS) - 1)) as usize
    }

    fn set_order(&mut self, stamp: Stamp, birth: Stamp) {
        let mask = Stamp::MAX.0;
        (self.stamp, self.birth) = (self.stamp & !mask | stamp.0, self.birth & !mask | birth.0);
    }

    fn set_epoch(&mut self, epoch: Epoch) {
        let epoch = epoch.min(Version::EPOCH_MAX).0;
        let high = epoch >> Header::LOW_EPOCH_BITS;
        self.len = self.len() as u64 | epoch << Header::LEN_BITS;
        self.stamp = self.stamp & Stamp::MAX.0 | high << Header::STAMP_BITS;
        self.birth = self.birth & Stamp::MAX.0 | high >> 3 << Header::STAMP_BITS;
    }

    fn epoch(&self) -> Epoch {
        let high = self.stamp >> Header::STAMP_BITS | self.birth >> Header::STAMP_BITS << 3;
        Epoch(self.len >> Header::LEN_BITS | high << Header::LOW_EPOCH_BITS)
    }
}

/// Classes of versions by size, for [`size_class`]: all up to 64 KiB.
pub(crate) const SIZE_CLASSES: usize = 4 * 12;

/// Versions of which the memory of the next one is asked for: small ones the processor follows by itself, large ones are
/// several pages.
const FETCHED_BYTES: RangeInclusive<usize> = 5 * LINE_BYTES..=4096;

/// The class of an allocation of `bytes`, if it has one, and the bytes that it takes. There are four classes to a doubling,
/// as in most allocators, so that rounding up costs nothing that they would not have cost.
#[inline]
fn size_class(bytes: usize) -> (Option<usize>, usize) {
    const SMALLEST_BITS: u32 = 5;
    let below = bytes.max(1 << SMALLEST_BITS) - 1;
    let bits = usize::BITS - below.leading_zeros();
    let shift = bits - 3;
    let step = below >> shift;
    let class = (bits - SMALLEST_BITS) as usize * 4 + (step & 3);
    ((class < SIZE_CLASSES).then_some(class), (step + 1) << shift)
}

/// An immutable row image and its place in the order.
#[repr(C)]
#[derive(Debug)]
pub struct Version {
    header: Header,
    bytes: [u8],
}

impl Version {
    /// The latest epoch that a version can tell from later ones: at 10,000 epochs a second they last for 13 years.
    pub const EPOCH_MAX: Epoch = Epoch((1 << 42) - 1);

    /// The stamp of the transaction that wrote this image.
    pub fn stamp(&self) -> Stamp {
        self.header.race.read();
        Stamp(self.header.stamp & Stamp::MAX.0)
    }

    /// A stamp at or above that of the transaction that made the row exist, and at or below that of this version and of those
    /// that the row had since then: who replaces a row without reading its content depends on that alone.
    pub fn birth(&self) -> Stamp {
        self.header.race.read();
        Stamp(self.header.birth & Stamp::MAX.0)
    }

    /// The epoch of the transaction that wrote this image, at most [`Version::EPOCH_MAX`]; 0 for what was recovered.
    pub fn epoch(&self) -> Epoch {
        self.header.race.read();
        self.header.epoch()
    }

    /// The row.
    pub fn bytes(&self) -> &[u8] {
        self.header.race.read();
        &self.bytes
    }

    /// What it takes of memory.
    pub fn memory_bytes(&self) -> usize {
        Version::layout(self.bytes().len()).size()
    }

    /// The memory of a version with `len` bytes.
    fn layout(len: usize) -> Layout {
        let (_, bytes) = size_class(mem::size_of::<Header>() + len);
        Layout::from_size_align(bytes, mem::align_of::<Header>()).expect("a row fits in memory")
    }

    /// The full pointer to the version whose header is at `header`.
    ///
    /// # Safety
    /// `header` points to the header of a live version.
    unsafe fn widen(header: NonNull<Header>) -> *mut Version {
        // SAFETY: the header is initialized and its length never changes.
        let len = unsafe { (*header.as_ptr()).len() };
        ptr::slice_from_raw_parts_mut(header.as_ptr().cast::<u8>(), len) as *mut Version
    }
}

// SAFETY: the address of a version is that of its header, which holds the length of the rest.
unsafe impl Thin for Version {
    #[inline]
    unsafe fn from_raw<'a>(raw: NonNull<()>) -> &'a Version {
        // SAFETY: the caller passes the address of a live version, with the provenance of the whole allocation.
        unsafe { &*Version::widen(raw.cast()) }
    }
}

/// A version that nobody else can see yet; freed when dropped.
#[derive(Debug)]
pub struct VersionBox {
    header: NonNull<Header>,
}

// SAFETY: the box is the only owner of plain bytes.
unsafe impl Send for VersionBox {}
// SAFETY: through a shared box the bytes are only read.
unsafe impl Sync for VersionBox {}

impl VersionBox {
    /// A zeroed image of `len` bytes with both stamps zero.
    ///
    /// # Panics
    /// Where `len` is 256 MiB or more.
    pub fn new(len: usize) -> VersionBox {
        let layout = Version::layout(len);
        // SAFETY: the layout holds at least the header.
        VersionBox::init(unsafe { alloc::alloc_zeroed(layout) }, layout, len)
    }

    /// An image that is a copy of `bytes`, with both stamps zero: for whoever makes many, one after the other.
    pub fn copy_of(bytes: &[u8]) -> VersionBox {
        let layout = Version::layout(bytes.len());
        // SAFETY: the layout holds at least the header, and the bytes behind it; all of them are written here.
        unsafe {
            let raw = alloc::alloc(layout);
            if FETCHED_BYTES.contains(&layout.size()) {
                prefetch_next(raw, layout.size());
            }
            let version = VersionBox::init(raw, layout, bytes.len());
            let row = raw.add(mem::size_of::<Header>());
            ptr::copy_nonoverlapping(bytes.as_ptr(), row, bytes.len());
            let rest = layout.size() - mem::size_of::<Header>() - bytes.len();
            ptr::write_bytes(row.add(bytes.len()), 0, rest);
            version
        }
    }

    fn init(raw: *mut u8, layout: Layout, len: usize) -> VersionBox {
        let Some(header) = NonNull::new(raw.cast::<Header>()) else { alloc::handle_alloc_error(layout) };
        // SAFETY: the allocation is new, aligned for the header and large enough for it.
        unsafe { header.write(Header::new(len)) };
        VersionBox { header }
    }

    fn version(&self) -> &Version {
        // SAFETY: the box owns a live version, shared for as long as the box is borrowed.
        unsafe { &*Version::widen(self.header) }
    }

    fn version_mut(&mut self) -> &mut Version {
        // SAFETY: the box is the only owner of a live version and is borrowed exclusively.
        unsafe { &mut *Version::widen(self.header) }
    }

    /// The stamp set by [`VersionBox::set_order`].
    pub fn stamp(&self) -> Stamp {
        self.version().stamp()
    }

    /// The birth stamp set by [`VersionBox::set_order`].
    pub fn birth(&self) -> Stamp {
        self.version().birth()
    }

    /// The row.
    pub fn bytes(&self) -> &[u8] {
        self.version().bytes()
    }

    /// What it takes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.version().memory_bytes()
    }

    /// The row, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.version_mut().bytes
    }

    /// Gives the image its place in the order, once the transaction's stamp is known.
    pub fn set_order(&mut self, stamp: Stamp, birth: Stamp) {
        assert!(birth <= stamp && stamp <= Stamp::MAX, "a row is born no later than it is written");
        self.version_mut().header.set_order(stamp, birth);
    }

    /// Notes the epoch of the transaction.
    pub(crate) fn set_epoch(&mut self, epoch: Epoch) {
        self.version_mut().header.set_epoch(epoch);
    }

    /// Gives up ownership; the pointer is freed with [`free`].
    pub(crate) fn into_raw(self) -> NonNull<Header> {
        let header = self.header;
        mem::forget(self);
        header
    }
}

impl Drop for VersionBox {
    fn drop(&mut self) {
        // SAFETY: the box owns the version and is gone after this.
        drop(unsafe { Remains::of(self.header.cast()) });
    }
}

/// Frees a version that was counted, given its thin pointer.
///
/// # Safety
/// `raw` is a version that nobody refers to, freed for the first time.
pub(crate) unsafe fn free(raw: NonNull<()>, tally: &Tally) {
    // SAFETY: the caller owns a live version.
    unsafe { Remains::of(raw) }.free(tally);
}

/// [`free`] for a version that was counted as kept for a snapshot.
///
/// # Safety
/// As for [`free`].
pub(crate) unsafe fn free_kept(raw: NonNull<()>, tally: &Tally) {
    // SAFETY: the caller owns a live version.
    tally.take_off(Kind::Retained, unsafe { Remains::of(raw) }.layout.size());
}

/// What a live version takes of memory, given its thin pointer.
///
/// # Safety
/// `header` is that of a live version.
pub(crate) unsafe fn memory_bytes(header: NonNull<Header>) -> usize {
    // SAFETY: the header is initialized and its length never changes.
    Version::layout(unsafe { (*header.as_ptr()).len() }).size()
}

/// Ends the life of a version, and returns its length; its memory is left.
///
/// # Safety
/// As for [`free`].
unsafe fn end(header: NonNull<Header>) -> usize {
    // SAFETY: the caller owns a live version.
    unsafe {
        (*header.as_ptr()).race.write();
        let len = (*header.as_ptr()).len();
        ptr::drop_in_place(header.as_ptr());
        len
    }
}

/// The memory of a version that is no more: [`Remains::class`] says which versions fit in.
#[derive(Debug)]
pub(crate) struct Remains {
    header: NonNull<Header>,
    layout: Layout,
}

// SAFETY: the memory has one owner.
unsafe impl Send for Remains {}

impl Remains {
    /// What is left of a version given its thin pointer.
    ///
    /// # Safety
    /// As for [`free`].
    pub(crate) unsafe fn of(raw: NonNull<()>) -> Remains {
        let header = raw.cast();
        // SAFETY: passed on to the caller.
        let len = unsafe { end(header) };
        Remains { header, layout: Version::layout(len) }
    }

    /// Frees the memory of a version that was counted.
    pub(crate) fn free(self, tally: &Tally) {
        tally.take_off(Kind::Rows, self.layout.size());
    }

    /// The class of all versions whose memory can be exchanged, `None` for large ones.
    pub(crate) fn class(&self) -> Option<usize> {
        size_class(self.layout.size()).0
    }

    /// The class of a version of `len` bytes.
    pub(crate) fn class_for(len: usize) -> Option<usize> {
        size_class(mem::size_of::<Header>() + len).0
    }

    /// A version of `len` bytes in this memory, which was counted and is not any more. The bytes are what they were.
    ///
    /// # Panics
    /// Where `len` is of another class.
    pub(crate) fn reuse(self, len: usize, tally: &Tally) -> VersionBox {
        assert_eq!(Version::layout(len), self.layout, "memory is reused within its class");
        tally.take_off(Kind::Rows, self.layout.size());
        let header = self.header;
        mem::forget(self);
        // SAFETY: the memory has one owner, the layout that a version of `len` bytes is given, and all of it was written
        // when it was allocated.
        unsafe { header.write(Header::new(len)) };
        VersionBox { header }
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        // SAFETY: the memory has one owner and was allocated with this layout.
        unsafe { alloc::dealloc(self.header.as_ptr().cast(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_keeps_all_that_it_is_told() {
        for epoch in [0, 1, (1 << 36) - 1, 1 << 36, 5 << 38, Version::EPOCH_MAX.0] {
            for (stamp, birth) in [(0, 0), (7, 3), (Stamp::MAX.0, Stamp::MAX.0)] {
                for order_first in [false, true] {
                    let mut version = VersionBox::copy_of(&[1, 2, 3]);
                    let set_order = |version: &mut VersionBox| version.set_order(Stamp(stamp), Stamp(birth));
                    if order_first {
                        set_order(&mut version);
                    }
                    version.set_epoch(Epoch(epoch));
                    if !order_first {
                        set_order(&mut version);
                    }
                    let version = version.version();
                    let found = (version.stamp().0, version.birth().0, version.epoch().0, version.bytes());
                    assert_eq!(found, (stamp, birth, epoch, &[1, 2, 3][..]));
                }
            }
        }
        let mut version = VersionBox::new(1);
        version.set_epoch(Epoch(u64::MAX));
        assert_eq!(version.version().epoch(), Version::EPOCH_MAX);
    }

    #[test]
    fn classes_hold_what_is_put_into_them() {
        let mut last = (0, 0);
        for bytes in 1..70_000 {
            let (class, room) = size_class(bytes);
            assert!(room >= bytes && room <= bytes.max(26) + bytes.max(26) / 4, "{bytes} bytes take {room}");
            assert_eq!(size_class(room), (class, room), "what is full keeps its class");
            let Some(class) = class else {
                assert!(bytes > 64 << 10);
                continue;
            };
            assert!(class == last.0 && room == last.1 || class == last.0 + 1 && room > last.1 || bytes == 1, "{bytes}");
            last = (class, room);
        }
        assert_eq!(last.0, SIZE_CLASSES - 1);
    }
}
