//! What the structures of this crate may hold: values behind one-word pointers, found by key, owned by one structure.
//!
//! Invariants: a [`Thin`] value is reached again from nothing but its address, whatever its size; an [`Entry`] enters a
//! structure as its owner and leaves it through [`Entry::free`], once.
//!
//! Deliberately absent: the structures themselves.

use std::ops::Deref;
use std::ptr::NonNull;

use crate::Epochs;
use crate::usage::Tally;

/// A value that knows its own key.
pub trait Keyed {
    /// The key, in an order-preserving encoding. It never changes while the value is shared.
    fn key(&self) -> &[u8];
}

/// A value that can be referred to by one machine word, also where Rust's own pointer to it takes two.
///
/// # Safety
/// `from_raw` must yield the value whose address it is given, covering all its bytes.
pub unsafe trait Thin {
    /// The value at `raw`.
    ///
    /// # Safety
    /// `raw` carries the provenance of the value's whole allocation, and the value lives throughout `'a`.
    unsafe fn from_raw<'a>(raw: NonNull<()>) -> &'a Self;
}

// SAFETY: a sized value is found at its address and covers `size_of::<T>()` bytes.
unsafe impl<T> Thin for T {
    #[inline(always)]
    unsafe fn from_raw<'a>(raw: NonNull<()>) -> &'a T {
        // SAFETY: the caller passes the address of a live `T`.
        unsafe { raw.cast::<T>().as_ref() }
    }
}

/// What an index stores: it is moved in as an owner, shared by address, and freed when nobody can hold it any more.
///
/// # Safety
/// `into_raw` gives up ownership of one allocation whose address serves [`Thin::from_raw`] until [`Entry::free`] is
/// called on it. Entries are shared between threads and freed on any of them, at any time.
pub unsafe trait Entry: Keyed + Thin + Send + Sync + 'static {
    /// The owner before the entry is shared.
    type Owned: Deref<Target = Self>;

    /// Gives the value to a structure whose pins come from `epochs`, and counts it.
    fn into_raw(owned: Self::Owned, epochs: &Epochs, tally: &Tally) -> NonNull<()>;

    /// Frees the value, and takes it off the count.
    ///
    /// # Safety
    /// `raw` came from [`Entry::into_raw`], is freed for the first time, and nobody refers to it any more.
    unsafe fn free(raw: NonNull<()>, tally: &Tally);
}
