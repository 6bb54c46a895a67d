//! How much memory a build may take.

use super::BuildError;
use std::fs;
use std::path::Path;

/// A bound on the memory of the process.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Resident.
    bytes: u64,
    /// Of address space.
    addresses: u64,
}

impl Limit {
    /// So many bytes resident; 0: three quarters of what is available. Where the address space is
    /// limited (`ulimit -v`), an eighth of it is left for what is asked for at once.
    pub fn new(bytes: u64) -> Limit {
        let addresses = resource(libc::RLIMIT_AS);
        let addresses = addresses.saturating_sub(addresses / 8);
        Limit { bytes: if bytes > 0 { bytes } else { available() / 4 * 3 }, addresses }
    }

    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Bytes that are left.
    pub fn left(self) -> u64 {
        let used = memory_stats::memory_stats();
        let resident = used.map_or(0, |m| m.physical_mem as u64);
        let addresses = used.map_or(0, |m| m.virtual_mem as u64);
        self.bytes.saturating_sub(resident).min(self.addresses.saturating_sub(addresses))
    }

    /// An error if the process has more; `done` is how far it came ("5 steps").
    pub fn check(self, done: impl FnOnce() -> String) -> Result<(), BuildError> {
        if self.left() > 0 {
            return Ok(());
        }
        Err(BuildError::Memory { limit_mb: self.bytes.min(self.addresses) >> 20, done: done() })
    }
}

/// Gives memory that was freed in pieces back to the system, where the allocator would keep it.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim touches free memory only.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Bytes that this process can take: of the machine what is free or can be freed, of its control
/// groups and of its own limits what is left.
fn available() -> u64 {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let kilobytes = named(&text("/proc/meminfo"), "MemAvailable:");
    let machine = kilobytes.map_or_else(machine_memory, |n| n.saturating_mul(1024));
    let groups = left_in_groups(&text("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    [groups.unwrap_or(u64::MAX), resource(libc::RLIMIT_AS), resource(libc::RLIMIT_DATA)]
        .into_iter()
        .fold(machine, u64::min)
}

/// The number behind a name that begins a line.
fn named(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
    line?.parse().ok()
}

/// Bytes that the control groups of a process leave it, the least of all above it; None where none
/// is limited. `groups` is its `/proc/PID/cgroup`: `0::/path` (version 2) or `4:memory:/path`.
fn left_in_groups(groups: &str, root: &Path) -> Option<u64> {
    let of_line = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (root, files) = match controllers {
            "" => (root.to_owned(), ["memory.max", "memory.current", "file "]),
            _ if controllers.split(',').any(|c| c == "memory") => (
                root.join("memory"),
                ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache "],
            ),
            _ => return None,
        };
        let folder = root.join(path.trim_start_matches('/'));
        folder.ancestors().take_while(|f| f.starts_with(&root)).filter_map(|f| left(f, files)).min()
    };
    groups.lines().filter_map(of_line).min()
}

/// What is left in one group. What files are cached there goes when memory is wanted.
fn left(folder: &Path, [limit, used, cached]: [&str; 3]) -> Option<u64> {
    let read = |name| fs::read_to_string(folder.join(name)).ok();
    let number = |name| read(name)?.trim().parse::<u64>().ok();
    let cache = read("memory.stat").and_then(|text| named(&text, cached)).unwrap_or(0);
    let used = number(used).unwrap_or(0).saturating_sub(cache);
    Some(number(limit)?.saturating_sub(used))
}

/// A limit of the process; [`u64::MAX`] where there is none.
fn resource(which: libc::__rlimit_resource_t) -> u64 {
    let mut found = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: getrlimit fills the structure.
    unsafe { libc::getrlimit(which, &mut found) };
    found.rlim_cur
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_the_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(left_in_groups("0::/a/b\n", root.path()), None);
        write("a/memory.max", "1000\n");
        write("a/memory.current", "700\n");
        write("a/memory.stat", "anon 400\nfile 300\n");
        write("a/b/memory.max", "max\n");
        assert_eq!(left_in_groups("0::/a/b\n", root.path()), Some(600));
        write("memory/c/memory.limit_in_bytes", "500\n");
        write("memory/c/memory.usage_in_bytes", "100\n");
        assert_eq!(left_in_groups("1:cpu:/c\n4:memory:/c\n0::/a\n", root.path()), Some(400));
        assert!(available() > 0);
    }
}
