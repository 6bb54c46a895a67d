//! What is needed soon and known now: the code of large programs and their memory are in no near
//! cache, and a pass that waits for each of their lines does little else.

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// Asks the processor to load a value.
#[inline]
pub fn prefetch<T>(value: &T) {
    let first: *const i8 = std::ptr::from_ref(value).cast();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: it is within the value, and nothing of it is read that a program could see.
            unsafe { _mm_prefetch(first.add(line * LINE), _MM_HINT_T0) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (first, line);
    }
}
