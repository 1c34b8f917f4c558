//! Asking for memory before it is needed.

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks for a cache line that will be read soon. Any address is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch is a hint; it reads nothing, never faults and is valid for every address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Asks for a cache line that will be written soon. Any address is allowed.
#[inline(always)]
pub fn prefetch_to_write<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: as for `prefetch`; where the processor does not know the instruction it does nothing.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Asks for the memory behind a new allocation of `bytes`, to be written: a thread that makes many of them is likely to get
/// it next.
#[inline(always)]
pub(crate) fn prefetch_next(allocation: *const u8, bytes: usize) {
    (bytes..2 * bytes).step_by(LINE_BYTES).for_each(|line| prefetch_to_write(allocation.wrapping_add(line)));
}
