//! An encoded key, short ones without an allocation.
//!
//! Invariants:
//! - Equality, order and hash are those of the bytes, wherever they lie.
//! - A key that outgrew its inline bytes stays on the heap; its length never exceeds what it holds.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// The most bytes of a key that needs no allocation. With the length and the variant they fill six words.
pub const KEY_INLINE_BYTES: usize = 46;

const _: () = assert!(size_of::<KeyBuf>() == 48);

/// The bytes of a key.
#[derive(Clone)]
pub struct KeyBuf(Storage);

#[derive(Clone)]
enum Storage {
    Inline { len: u8, bytes: [u8; KEY_INLINE_BYTES] },
    Heap(Vec<u8>),
}

impl KeyBuf {
    /// Returns the empty key, which precedes all others.
    pub const fn new() -> KeyBuf {
        KeyBuf(Storage::Inline { len: 0, bytes: [0; KEY_INLINE_BYTES] })
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Storage::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Storage::Heap(bytes) => bytes,
        }
    }

    /// Adds bytes at the end.
    #[inline]
    pub fn extend(&mut self, more: &[u8]) {
        match &mut self.0 {
            Storage::Inline { len, bytes } if usize::from(*len) + more.len() <= KEY_INLINE_BYTES => {
                let start = usize::from(*len);
                bytes[start..start + more.len()].copy_from_slice(more);
                *len += more.len() as u8;
            }
            _ => self.extend_heap(more),
        }
    }

    /// Adds a few bytes, as many as the type says, at the end.
    #[inline(always)]
    pub(super) fn extend_array<const N: usize>(&mut self, more: [u8; N]) {
        if let Storage::Inline { len, bytes } = &mut self.0
            && let Some(place) = bytes.get_mut(usize::from(*len)..usize::from(*len) + N)
        {
            place.copy_from_slice(&more);
            *len += N as u8;
        } else {
            self.extend_heap(&more);
        }
    }

    /// Adds a byte at the end.
    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.extend_array([byte]);
    }

    #[cold]
    fn extend_heap(&mut self, more: &[u8]) {
        match &mut self.0 {
            Storage::Heap(bytes) => bytes.extend_from_slice(more),
            Storage::Inline { .. } => {
                let bytes = self.as_bytes();
                // Room for an end mark and an integer or two: most keys that outgrow their place grow little further.
                let mut heap = Vec::with_capacity(bytes.len() + more.len() + KEY_INLINE_BYTES);
                heap.extend_from_slice(bytes);
                heap.extend_from_slice(more);
                self.0 = Storage::Heap(heap);
            }
        }
    }

    /// Forgets the bytes from `len` on.
    pub fn truncate(&mut self, len: usize) {
        match &mut self.0 {
            Storage::Inline { len: held, .. } if len < usize::from(*held) => *held = len as u8,
            Storage::Inline { .. } => {}
            Storage::Heap(bytes) => bytes.truncate(len),
        }
    }

    /// Returns the smallest byte string greater than every one that begins with this one; `None` where there is none.
    pub fn successor(mut self) -> Option<KeyBuf> {
        let last = self.as_bytes().iter().rposition(|byte| *byte != 0xFF)?;
        self.truncate(last + 1);
        match &mut self.0 {
            Storage::Inline { bytes, .. } => bytes[last] += 1,
            Storage::Heap(bytes) => bytes[last] += 1,
        }
        Some(self)
    }
}

impl Default for KeyBuf {
    fn default() -> KeyBuf {
        KeyBuf::new()
    }
}

impl From<&[u8]> for KeyBuf {
    fn from(bytes: &[u8]) -> KeyBuf {
        let mut key = KeyBuf::new();
        key.extend(bytes);
        key
    }
}

impl Deref for KeyBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<[u8]> for KeyBuf {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Borrow<[u8]> for KeyBuf {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for KeyBuf {
    fn eq(&self, other: &KeyBuf) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for KeyBuf {}

impl PartialOrd for KeyBuf {
    fn partial_cmp(&self, other: &KeyBuf) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyBuf {
    fn cmp(&self, other: &KeyBuf) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for KeyBuf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for KeyBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("x")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
