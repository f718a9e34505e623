//! Cache lines that are fetched ahead of their use.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the cache lines of a value; changes nothing but the time it takes to read it.
#[inline(always)]
pub fn prefetch<T>(value: *const T) {
    for line in 0..size_of::<T>().div_ceil(LINE) {
        prefetch_line(value.cast::<u8>().wrapping_add(line * LINE));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn prefetch_line(at: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: SSE is part of x86-64, and a prefetch reads nothing: any address will do.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn prefetch_line(_: *const u8) {}
