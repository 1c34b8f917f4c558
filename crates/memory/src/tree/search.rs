//! Search among the heads of a node: the first eight bytes of each key after the node's common prefix, as one number.
//!
//! Invariants:
//! - `head(a) < head(b)` implies `a < b`. Equal heads decide nothing: a short key is padded with zeros, so it shares its
//!   head with longer keys that go on with zero bytes, and long keys differ after the head. The full keys decide then.
//! - The searches are free of branches that depend on the keys: a mispredicted branch costs more than the whole search.

use std::hint::select_unpredictable;

use crate::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a head.
const HEAD_BYTES: usize = 8;

/// The head of `key` in a node whose keys share their first `prefix_len` bytes.
#[inline]
pub(super) fn head(key: &[u8], prefix_len: usize) -> u64 {
    let suffix = &key[prefix_len..];
    if let Some(bytes) = suffix.first_chunk::<HEAD_BYTES>() {
        return u64::from_be_bytes(*bytes);
    }
    let missing_bits = (HEAD_BYTES - suffix.len()) * 8;
    if let Some(bytes) = key.last_chunk::<HEAD_BYTES>() {
        // The last eight bytes of the key end with the suffix: shift the prefix out and zeros in.
        return u64::from_be_bytes(*bytes).checked_shl(missing_bits as u32).unwrap_or(0);
    }
    let mut bytes = [0; HEAD_BYTES];
    bytes[..suffix.len()].copy_from_slice(suffix);
    u64::from_be_bytes(bytes)
}

/// How many of `heads`, which ascend, are below `head`.
#[inline]
pub(super) fn count_below(heads: &[AtomicU64], head: u64) -> usize {
    partition(heads, |other| other < head)
}

/// How many of `heads`, which ascend, are at most `head`.
#[inline]
pub(super) fn count_up_to(heads: &[AtomicU64], head: u64) -> usize {
    partition(heads, |other| other <= head)
}

#[inline]
fn partition(heads: &[AtomicU64], belongs: impl Fn(u64) -> bool) -> usize {
    let mut base = 0;
    let mut size = heads.len();
    while size > 1 {
        let half = size / 2;
        let probe = heads[base + half - 1].load(Ordering::Relaxed);
        base = select_unpredictable(belongs(probe), base + half, base);
        size -= half;
    }
    if size == 1 {
        base += usize::from(belongs(heads[base].load(Ordering::Relaxed)));
    }
    base
}

/// Length of the longest common prefix.
pub(super) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The shortest key that is above `left` and at most `right`: what a parent needs to tell two children apart.
pub(super) fn shortest_separator<'k>(left: &[u8], right: &'k [u8]) -> &'k [u8] {
    debug_assert!(left < right, "keys ascend");
    &right[..common_prefix_len(left, right) + 1]
}

/// Asks for a cache line that will be read soon. Any address is allowed.
#[inline(always)]
pub(super) fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch is a hint; it reads nothing, never faults and is valid for every address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}
