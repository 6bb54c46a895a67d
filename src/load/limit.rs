//! How much memory a build may take.

use super::BuildError;

/// A bound on the resident memory of the process.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    bytes: u64,
}

impl Limit {
    /// So many bytes; 0: three quarters of the machine's.
    pub fn new(bytes: u64) -> Limit {
        Limit { bytes: if bytes > 0 { bytes } else { machine_memory() / 4 * 3 } }
    }

    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// An error if the process has more resident; `done` is how far it came ("5 steps").
    pub fn check(self, done: impl FnOnce() -> String) -> Result<(), BuildError> {
        let resident = memory_stats::memory_stats().map_or(0, |m| m.physical_mem as u64);
        if resident <= self.bytes {
            return Ok(());
        }
        Err(BuildError::Memory { limit_mb: self.bytes >> 20, done: done() })
    }
}

/// Bytes of the machine; [`u64::MAX`] where the system does not tell.
fn machine_memory() -> u64 {
    let value = |name| {
        // SAFETY: sysconf takes a number and gives one.
        u64::try_from(unsafe { libc::sysconf(name) }).ok()
    };
    match (value(libc::_SC_PHYS_PAGES), value(libc::_SC_PAGESIZE)) {
        (Some(pages), Some(size)) => pages.saturating_mul(size),
        _ => u64::MAX,
    }
}
