//! Heap bytes aligned to a device block, as direct I/O wants them.
//!
//! Invariants: the address is a multiple of [`AlignedBuffer::ALIGNMENT`]; the bytes are always initialized and never move.
//!
//! Deliberately absent: growing.

use std::alloc::{self, Layout};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

/// A fixed number of bytes on the heap, block-aligned.
pub struct AlignedBuffer {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the buffer is the only owner of plain bytes.
unsafe impl Send for AlignedBuffer {}
// SAFETY: through a shared buffer the bytes are only read (the log ring, which writes, says how it divides them).
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// The alignment in bytes.
    pub const ALIGNMENT: usize = 4096;

    /// `len` zeroed bytes.
    ///
    /// # Panics
    /// Where `len` is 0.
    pub fn zeroed(len: usize) -> AlignedBuffer {
        assert!(len > 0, "an empty buffer has no address");
        let layout = AlignedBuffer::layout(len);
        // SAFETY: the layout is not empty.
        let Some(start) = NonNull::new(unsafe { alloc::alloc_zeroed(layout) }) else {
            alloc::handle_alloc_error(layout)
        };
        AlignedBuffer { start, len }
    }

    /// The first byte, with the provenance of all of them.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, AlignedBuffer::ALIGNMENT).expect("a buffer fits in memory")
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` initialized bytes, shared for as long as the buffer is borrowed.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: `len` initialized bytes, borrowed exclusively with their only owner.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this layout and owned by nobody else.
        unsafe { alloc::dealloc(self.start.as_ptr(), AlignedBuffer::layout(self.len)) }
    }
}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedBuffer").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_aligned_zeroed_and_writable() {
        for len in [1, 8, 4096, 12_288] {
            let mut buffer = AlignedBuffer::zeroed(len);
            assert_eq!(buffer.as_ptr().addr() % AlignedBuffer::ALIGNMENT, 0);
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().all(|&byte| byte == 0));
            buffer.fill(7);
            assert!(buffer.iter().all(|&byte| byte == 7));
        }
    }

    #[test]
    #[should_panic(expected = "an empty buffer")]
    fn an_empty_buffer_is_refused() {
        AlignedBuffer::zeroed(0);
    }
}
