//! Row versions: an immutable row image with the stamp that wrote it, in one allocation behind one word.
//!
//! Invariants: a [`Version`] never changes once it is shared; it is owned by exactly one [`VersionBox`], one record, or
//! one limbo entry, and freed by the last of them.
//!
//! Deliberately absent: the meaning of the bytes, and chains of versions.

use std::alloc::{self, Layout};
use std::mem;
use std::ptr::{self, NonNull};

use crate::Stamp;
use crate::sync::RaceCell;
use crate::thin::Thin;

/// The fixed part of a version; its address is the version's thin pointer.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    stamp: Stamp,
    birth: Stamp,
    len: u32,
    race: RaceCell,
}

/// An immutable row image and its place in the order.
#[repr(C)]
#[derive(Debug)]
pub struct Version {
    header: Header,
    bytes: [u8],
}

impl Version {
    /// The stamp of the transaction that wrote this image.
    pub fn stamp(&self) -> Stamp {
        self.header.race.read();
        self.header.stamp
    }

    /// The stamp of the transaction that made the row exist; an update keeps it (correctness: a blind full-image UPDATE
    /// depends on the row's birth only).
    pub fn birth(&self) -> Stamp {
        self.header.race.read();
        self.header.birth
    }

    /// The row.
    pub fn bytes(&self) -> &[u8] {
        self.header.race.read();
        &self.bytes
    }

    fn layout(len: usize) -> Layout {
        let bytes = Layout::array::<u8>(len).expect("a row fits in memory");
        let (layout, offset) = Layout::new::<Header>().extend(bytes).expect("a row fits in memory");
        debug_assert_eq!(offset, mem::size_of::<Header>());
        layout.pad_to_align()
    }

    /// The full pointer to the version whose header is at `header`.
    ///
    /// # Safety
    /// `header` points to the header of a live version.
    unsafe fn widen(header: NonNull<Header>) -> *mut Version {
        // SAFETY: the header is initialized and its length never changes.
        let len = unsafe { (*header.as_ptr()).len } as usize;
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
    /// Where `len` does not fit in 32 bits.
    pub fn new(len: usize) -> VersionBox {
        let layout = Version::layout(len);
        // SAFETY: the layout holds at least the header.
        VersionBox::init(unsafe { alloc::alloc_zeroed(layout) }, layout, len)
    }

    /// An image that is a copy of `bytes`, with both stamps zero.
    pub fn copy_of(bytes: &[u8]) -> VersionBox {
        let layout = Version::layout(bytes.len());
        // SAFETY: the layout holds at least the header.
        let raw = unsafe { alloc::alloc(layout) };
        if !raw.is_null() {
            // SAFETY: the allocation has room for `bytes` behind the header, and is new, so they do not overlap.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), raw.add(mem::size_of::<Header>()), bytes.len()) };
        }
        VersionBox::init(raw, layout, bytes.len())
    }

    fn init(raw: *mut u8, layout: Layout, len: usize) -> VersionBox {
        let Some(header) = NonNull::new(raw.cast::<Header>()) else { alloc::handle_alloc_error(layout) };
        let len = u32::try_from(len).expect("a row is shorter than 4 GiB");
        // SAFETY: the allocation is new, aligned for the header and large enough for it.
        unsafe { header.write(Header { stamp: Stamp::ZERO, birth: Stamp::ZERO, len, race: RaceCell::new() }) };
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

    /// The row, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.version_mut().bytes
    }

    /// Gives the image its place in the order, once the transaction's stamp is known.
    pub fn set_order(&mut self, stamp: Stamp, birth: Stamp) {
        assert!(birth <= stamp && stamp <= Stamp::MAX, "a row is born no later than it is written");
        let version = self.version_mut();
        version.header.stamp = stamp;
        version.header.birth = birth;
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
        unsafe { free(self.header.cast()) }
    }
}

/// Frees a version given its thin pointer; the drop function that limbo entries carry.
///
/// # Safety
/// `raw` is a version that nobody refers to, freed for the first time.
pub(crate) unsafe fn free(raw: NonNull<()>) {
    // SAFETY: the caller owns a live version.
    unsafe {
        let version = Version::widen(raw.cast());
        (*version).header.race.write();
        let layout = Layout::for_value(&*version);
        ptr::drop_in_place(version);
        alloc::dealloc(raw.as_ptr().cast(), layout);
    }
}
