//! What is needed soon and known now: the code of large programs and their memory are in no near
//! cache, and a pass that waits for each of their lines does little else.

/// Asks the processor to load a value, of which nothing but its first line is asked for.
#[inline(always)]
pub fn prefetch<T>(value: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing that a program could see, whatever is there.
        unsafe { _mm_prefetch(value.cast(), _MM_HINT_T0) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
