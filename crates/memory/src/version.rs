//! Row versions: an immutable row image with the stamp that wrote it, in one allocation behind one word.
//!
//! Invariants:
//! - A [`Version`] never changes once it is shared; it is owned by exactly one [`VersionBox`], one record, the snapshots
//!   (`snapshots/mod.rs`), or one limbo entry, and freed by the last of them.
//! - All memory of a version has been written, also what lies beyond its bytes, so that it can be handed on.
//! - A version with a [`History`] has it in front of its header. It does not change once the version is shared; what it points
//!   to may be freed before the version is: [`Record::read_at`](crate::Record::read_at) says when it is not.
//!
//! Deliberately absent: the meaning of the bytes.

use std::alloc::{self, Layout};
use std::mem;
use std::ops::RangeInclusive;
use std::ptr::{self, NonNull};

use crate::prefetch::{LINE_BYTES, prefetch_next};
use crate::sync::RaceCell;
use crate::thin::Thin;
use crate::usage::{Kind, Tally};
use crate::{Epoch, Moment, Stamp, Timestamp};

/// The fixed part of a version; its address is the version's thin pointer. The 42 bits of the epoch lie where stamps and length
/// leave some.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    /// The stamp, and bits 36 to 38 of the epoch.
    stamp: u64,
    /// The birth stamp, and bits 39 to 41 of the epoch.
    birth: u64,
    /// The length in 27 bits, whether there is a history, and bits 0 to 35 of the epoch.
    len: u64,
    race: RaceCell,
}

impl Header {
    const STAMP_BITS: u32 = 61;
    const LEN_BITS: u32 = 27;
    const HAS_HISTORY: u64 = 1 << Header::LEN_BITS;
    const EPOCH_SHIFT: u32 = Header::LEN_BITS + 1;
    const LOW_EPOCH_BITS: u32 = u64::BITS - Header::EPOCH_SHIFT;

    fn new(extent: Extent) -> Header {
        let Extent { len, has_history } = extent;
        assert!(len < 1 << Header::LEN_BITS, "a row is shorter than 128 MiB");
        let history = if has_history { Header::HAS_HISTORY } else { 0 };
        Header { stamp: 0, birth: 0, len: len as u64 | history, race: RaceCell::new() }
    }

    fn len(&self) -> usize {
        (self.len & (Header::HAS_HISTORY - 1)) as usize
    }

    fn extent(&self) -> Extent {
        Extent { len: self.len(), has_history: self.len & Header::HAS_HISTORY != 0 }
    }

    fn set_order(&mut self, stamp: Stamp, birth: Stamp) {
        let mask = Stamp::MAX.0;
        (self.stamp, self.birth) = (self.stamp & !mask | stamp.0, self.birth & !mask | birth.0);
    }

    fn set_epoch(&mut self, epoch: Epoch) {
        let epoch = epoch.min(Version::EPOCH_MAX).0;
        let high = epoch >> Header::LOW_EPOCH_BITS;
        let shape = (1 << Header::EPOCH_SHIFT) - 1;
        self.len = self.len & shape | epoch << Header::EPOCH_SHIFT;
        self.stamp = self.stamp & Stamp::MAX.0 | high << Header::STAMP_BITS;
        self.birth = self.birth & Stamp::MAX.0 | high >> 3 << Header::STAMP_BITS;
    }

    fn epoch(&self) -> Epoch {
        let high = self.stamp >> Header::STAMP_BITS | self.birth >> Header::STAMP_BITS << 3;
        Epoch(self.len >> Header::EPOCH_SHIFT | high << Header::LOW_EPOCH_BITS)
    }
}

/// What a version knows of the one that it replaced, for readers that see the older one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct History {
    /// Of the commit that installed the version.
    timestamp: Timestamp,
    /// What the record held before.
    older: Link,
}

/// What a record holds: nothing, a version, or a tombstone, which is a version without a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Link(pub(crate) *mut Header);

impl Link {
    pub(crate) const NONE: Link = Link(ptr::null_mut());
    const TOMBSTONE: usize = 1;

    /// The link to a version, which is a tombstone or a row.
    pub(crate) fn to(version: NonNull<Header>, is_tombstone: bool) -> Link {
        let mark = if is_tombstone { Link::TOMBSTONE } else { 0 };
        Link(version.as_ptr().map_addr(|address| address | mark))
    }

    /// Whether there is no row.
    #[inline]
    pub(crate) fn is_absent(self) -> bool {
        self.0.is_null() || self.0.addr() & Link::TOMBSTONE != 0
    }

    /// The row.
    #[inline]
    pub(crate) fn row(self) -> Option<NonNull<Header>> {
        if self.is_absent() { None } else { NonNull::new(self.0) }
    }

    /// The row or the tombstone.
    #[inline]
    pub(crate) fn version(self) -> Option<NonNull<Header>> {
        NonNull::new(self.0.map_addr(|address| address & !Link::TOMBSTONE))
    }
}

/// How large a version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) len: usize,
    pub(crate) has_history: bool,
}

impl Extent {
    /// Where the header is.
    fn header_at(self) -> usize {
        if self.has_history { mem::size_of::<History>() } else { 0 }
    }

    fn used_bytes(self) -> usize {
        self.header_at() + mem::size_of::<Header>() + self.len
    }

    fn layout(self) -> Layout {
        let (_, bytes) = size_class(self.used_bytes());
        Layout::from_size_align(bytes, mem::align_of::<Header>()).expect("a row fits in memory")
    }

    /// The class of versions of this size, `None` for large ones.
    pub(crate) fn class(self) -> Option<usize> {
        size_class(self.used_bytes()).0
    }
}

/// The history of a version, if it has one.
///
/// # Safety
/// `version` is that of a live version, with the provenance of the whole allocation.
#[inline]
unsafe fn history(version: NonNull<Header>) -> Option<NonNull<History>> {
    // SAFETY: the header is initialized; where it says so, a history lies in front of it.
    unsafe {
        (*version.as_ptr()).race.read();
        let has_history = (*version.as_ptr()).extent().has_history;
        has_history.then(|| version.cast::<History>().sub(1))
    }
}

/// The moment of the commit that installed a version; the first one where nobody noted it.
///
/// # Safety
/// As for [`history`].
#[inline]
pub(crate) unsafe fn moment(version: NonNull<Header>) -> Moment {
    // SAFETY: passed on to the caller; a header and a history do not change once the version is shared.
    unsafe {
        let timestamp = history(version).map_or(Timestamp(0), |history| history.as_ref().timestamp);
        Moment { epoch: (*version.as_ptr()).epoch(), timestamp }
    }
}

/// What a version has replaced, as it was told. It may have been freed: it has not where whoever looks has had a pin since the
/// epoch of the version or longer (`record.rs`).
///
/// # Safety
/// As for [`history`].
pub(crate) unsafe fn older(version: NonNull<Header>) -> Link {
    // SAFETY: as for `moment`.
    unsafe { history(version).map_or(Link::NONE, |history| history.as_ref().older) }
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
        self.header.race.read();
        self.header.extent().layout().size()
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
    /// Where `len` is 128 MiB or more.
    pub fn new(len: usize) -> VersionBox {
        VersionBox::of(Extent { len, has_history: false })
    }

    /// A zeroed image with both stamps zero, and the history of nothing, if it has one.
    pub(crate) fn of(extent: Extent) -> VersionBox {
        let layout = extent.layout();
        // SAFETY: the layout holds at least the header.
        VersionBox::init(unsafe { alloc::alloc_zeroed(layout) }, layout, extent)
    }

    /// An image that is a copy of `bytes`, with both stamps zero: for whoever makes many, one after the other.
    pub fn copy_of(bytes: &[u8]) -> VersionBox {
        VersionBox::copy(bytes, false)
    }

    /// As [`VersionBox::copy_of`], with the history of nothing, if it is to have one.
    pub(crate) fn copy(bytes: &[u8], has_history: bool) -> VersionBox {
        let extent = Extent { len: bytes.len(), has_history };
        let layout = extent.layout();
        // SAFETY: the layout holds what is in front of the bytes, and them; all of it is written here.
        unsafe {
            let raw = alloc::alloc(layout);
            if FETCHED_BYTES.contains(&layout.size()) {
                prefetch_next(raw, layout.size());
            }
            let version = VersionBox::init(raw, layout, extent);
            let row = version.header.add(1).cast::<u8>().as_ptr();
            ptr::copy_nonoverlapping(bytes.as_ptr(), row, bytes.len());
            let rest = layout.size() - extent.used_bytes();
            ptr::write_bytes(row.add(bytes.len()), 0, rest);
            version
        }
    }

    fn init(raw: *mut u8, layout: Layout, extent: Extent) -> VersionBox {
        let Some(raw) = NonNull::new(raw) else { alloc::handle_alloc_error(layout) };
        // SAFETY: the allocation is new, aligned for header and history, and large enough for them.
        unsafe {
            let header = raw.add(extent.header_at()).cast::<Header>();
            header.write(Header::new(extent));
            if extent.has_history {
                header.cast::<History>().sub(1).write(History { timestamp: Timestamp(0), older: Link::NONE });
            }
            VersionBox { header }
        }
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

    /// Notes the timestamp of the transaction, and what the version is about to replace.
    ///
    /// # Panics
    /// Where the version has no history.
    pub(crate) fn set_history(&mut self, timestamp: Timestamp, older: Link) {
        // SAFETY: the box is the only owner of a live version.
        let mut history = unsafe { history(self.header) }.expect("where there are timestamps, versions have histories");
        // SAFETY: as above.
        *unsafe { history.as_mut() } = History { timestamp, older };
    }

    /// The box of a version that another one gave up.
    ///
    /// # Safety
    /// `header` is that of a live version to which nothing refers any more, and which was not counted.
    pub(crate) unsafe fn from_raw(header: NonNull<Header>) -> VersionBox {
        VersionBox { header }
    }

    /// Where the version is, for whoever will own it.
    pub(crate) fn as_raw(&self) -> NonNull<Header> {
        self.header
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
    unsafe { (*header.as_ptr()).extent() }.layout().size()
}

/// Ends the life of a version, and returns its size; its memory is left.
///
/// # Safety
/// As for [`free`].
unsafe fn end(header: NonNull<Header>) -> Extent {
    // SAFETY: the caller owns a live version.
    unsafe {
        (*header.as_ptr()).race.write();
        let extent = (*header.as_ptr()).extent();
        ptr::drop_in_place(header.as_ptr());
        extent
    }
}

/// The memory of a version that is no more: [`Remains::class`] says which versions fit in.
#[derive(Debug)]
pub(crate) struct Remains {
    start: NonNull<u8>,
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
        // SAFETY: passed on to the caller; the allocation begins so far in front of the header.
        unsafe {
            let extent = end(raw.cast());
            Remains { start: raw.cast::<u8>().sub(extent.header_at()), layout: extent.layout() }
        }
    }

    /// Frees the memory of a version that was counted.
    pub(crate) fn free(self, tally: &Tally) {
        tally.take_off(Kind::Rows, self.layout.size());
    }

    /// The class of all versions whose memory can be exchanged, `None` for large ones.
    pub(crate) fn class(&self) -> Option<usize> {
        size_class(self.layout.size()).0
    }

    /// A version of this size in this memory, which was counted and is not any more. The bytes are what they were.
    ///
    /// # Panics
    /// Where the size is of another class.
    pub(crate) fn reuse(self, extent: Extent, tally: &Tally) -> VersionBox {
        assert_eq!(extent.layout(), self.layout, "memory is reused within its class");
        tally.take_off(Kind::Rows, self.layout.size());
        let (start, layout) = (self.start, self.layout);
        mem::forget(self);
        // The memory has one owner, and all of it was written when it was allocated.
        VersionBox::init(start.as_ptr(), layout, extent)
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        // SAFETY: the memory has one owner and was allocated with this layout.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) }
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
