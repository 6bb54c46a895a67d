//! The memory that packed sections of ELF files may take when they are unpacked.

use std::sync::{PoisonError, RwLock};

type Left = Box<dyn Fn() -> u64 + Send + Sync>;

static LEFT: RwLock<Option<Left>> = RwLock::new(None);

/// Has every file that is opened from now on keep to what is left, in bytes.
pub fn bound(left: impl Fn() -> u64 + Send + Sync + 'static) {
    *LEFT.write().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(left));
}

/// Bytes that may be taken.
pub(super) fn left() -> u64 {
    let left = LEFT.read().unwrap_or_else(PoisonError::into_inner);
    left.as_ref().map_or(u64::MAX, |left| left())
}
