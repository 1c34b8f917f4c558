//! Search among the heads of a node: the first eight bytes of each key after the node's common prefix, as one number.
//!
//! Invariants:
//! - `head(a) < head(b)` implies `a < b`. Equal heads decide nothing: a short key is padded with zeros, so it shares its
//!   head with longer keys that go on with zero bytes, and long keys differ after the head. The full keys decide then.
//! - The search is free of branches that depend on the keys: a mispredicted branch costs more than the whole search.

use std::cmp::Ordering as Order;

use crate::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a head.
pub(super) const HEAD_BYTES: usize = 8;

/// The head of `key` in a node whose keys share their first `prefix_len` bytes; 0 where the key ends there or before.
#[inline]
pub(super) fn head(key: &[u8], prefix_len: usize) -> u64 {
    let suffix = key.get(prefix_len..).unwrap_or_default();
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

/// What an unused slot holds in place of a head. A search may count it in where the head looked for is as high.
pub(super) const UNUSED: u64 = u64::MAX;

/// Heads that stand for the others in the first line of a node. A model has fewer words to look at in every order.
pub(super) const SAMPLES: usize = if cfg!(loom) { 1 } else { 5 };

/// Slots from one sample to the next in a node of `slots`.
pub(super) const fn stride(slots: usize) -> usize {
    slots.div_ceil(SAMPLES + 1)
}

/// How many heads, which ascend, are at most `head`. `samples` are the heads at each multiple of the stride.
///
/// Two rounds of independent comparisons, in two cache lines, in place of a chain of dependent ones in more.
#[inline(always)]
pub(super) fn count_up_to<const N: usize>(samples: &[AtomicU64; SAMPLES], heads: &[AtomicU64; N], head: u64) -> usize {
    let is_counted = |other: &AtomicU64| usize::from(other.load(Ordering::Relaxed) <= head);
    let start = samples.iter().map(is_counted).sum::<usize>() * stride(N);
    if N.is_multiple_of(stride(N)) && N / stride(N) == SAMPLES + 1 {
        // The common case has a fixed number of comparisons.
        start + (0..stride(N)).map(|offset| is_counted(&heads[(start + offset).min(N - 1)])).sum::<usize>()
    } else {
        let start = start.min(N);
        start + heads[start..N.min(start + stride(N))].iter().map(is_counted).sum::<usize>()
    }
}

/// Compares two keys that are nearly always equal and short: without a call and without branches that depend on the
/// length, up to 32 bytes.
#[inline(always)]
pub(super) fn compare(a: &[u8], b: &[u8]) -> Order {
    if is_same(a, b) { Order::Equal } else { compare_different(a, b) }
}

#[inline(never)]
fn compare_different(a: &[u8], b: &[u8]) -> Order {
    a.cmp(b)
}

#[inline(always)]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    const WORD: usize = HEAD_BYTES;
    let len = a.len();
    if len != b.len() {
        return false;
    }
    let differs = |at: usize| head(a, at) ^ head(b, at);
    match len {
        0..WORD => differs(0) == 0,
        WORD..=16 => differs(0) | differs(len - WORD) == 0,
        17..=32 => differs(0) | differs(WORD) | differs(len - 2 * WORD) | differs(len - WORD) == 0,
        _ => a == b,
    }
}

/// Whether `a` is below `b`, which begin with the same words for the most part: without a call.
#[inline]
pub(super) fn is_below(a: &[u8], b: &[u8]) -> bool {
    let heads = (0..a.len().min(b.len())).step_by(HEAD_BYTES).map(|at| (head(a, at), head(b, at)));
    heads.into_iter().find(|(a, b)| a != b).map_or_else(|| a < b, |(a, b)| a < b)
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

/// Where to split `slots` slots: near the middle, where the separator is shortest. Short separators follow the structure
/// of the keys, so that the keys of a node share long prefixes and their heads tell them apart.
pub(super) fn shortest_near_middle(slots: usize, separator_len: impl Fn(usize) -> usize) -> usize {
    let (middle, reach) = (slots / 2, slots / 8);
    let near = (0..=reach).flat_map(|distance| [middle - distance, middle + distance]);
    near.min_by_key(|&split| separator_len(split)).unwrap_or(middle)
}
