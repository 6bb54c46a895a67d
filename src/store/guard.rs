//! The kernel's word that a query writes no file: Linux can take the right to write from a thread and
//! all that it starts (landlock). It holds where all that is said of statements would be wrong.

use std::path::Path;

/// Takes from this thread, and from those that it starts from now on, the right to write, make or
/// remove files but in these folders and on devices, for good. False where the system does not know
/// how.
#[cfg(target_os = "linux")]
pub fn write_only_in(folders: &[&Path]) -> bool {
    landlock::restrict(folders).is_some()
}

#[cfg(not(target_os = "linux"))]
pub fn write_only_in(_: &[&Path]) -> bool {
    false
}

#[cfg(target_os = "linux")]
mod landlock {
    use std::fs::File;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;

    // linux/landlock.h
    const WRITE_FILE: u64 = 1 << 1;
    /// To remove an empty folder.
    const REMOVE_FOLDER: u64 = 1 << 4;
    /// And files, and to make anything.
    const CHANGE_FOLDERS: u64 = 0b1_1111_1111 << 4;
    const TRUNCATE: u64 = 1 << 14;
    const VERSION: u32 = 1;
    const BENEATH: u32 = 1;

    #[repr(C)]
    struct Ruleset {
        handled: u64,
    }

    #[repr(C, packed)]
    struct Beneath {
        allowed: u64,
        parent: i32,
    }

    /// What this kernel can forbid.
    fn rights() -> Option<u64> {
        let nothing: *const Ruleset = std::ptr::null();
        // SAFETY: it takes no structure, and gives the version.
        let version =
            unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
        match version {
            1 | 2 => Some(WRITE_FILE | CHANGE_FOLDERS),
            3.. => Some(WRITE_FILE | CHANGE_FOLDERS | TRUNCATE),
            _ => None,
        }
    }

    pub fn restrict(folders: &[&Path]) -> Option<()> {
        let handled = rights()?;
        let ruleset = Ruleset { handled };
        let size = size_of::<Ruleset>();
        // SAFETY: the structure lives as long as the call; the descriptor is this one's only.
        let rules = unsafe {
            let made =
                libc::syscall(libc::SYS_landlock_create_ruleset, &raw const ruleset, size, 0_u32);
            OwnedFd::from_raw_fd(i32::try_from(made).ok().filter(|made| *made >= 0)?)
        };
        for folder in folders.iter().chain(&[Path::new("/dev")]) {
            allow(&rules, folder, handled);
            // They go with the process, which takes a right in the folders that they are in.
            if let Some(parent) = folder.parent() {
                let here = Path::new(".");
                let parent = if parent.as_os_str().is_empty() { here } else { parent };
                allow(&rules, parent, handled & REMOVE_FOLDER);
            }
        }
        // Where standard output is a file, a COPY to it opens that.
        allow(&rules, Path::new("/dev/stdout"), handled & (WRITE_FILE | TRUNCATE));
        // SAFETY: both take numbers, and change this thread only.
        let restricted = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0_u32) == 0
        };
        restricted.then_some(())
    }

    /// What cannot be allowed stays forbidden.
    fn allow(rules: &OwnedFd, path: &Path, allowed: u64) {
        let opened = File::options().read(true).custom_flags(libc::O_PATH).open(path);
        let Ok(parent) = opened else { return };
        let rule = Beneath { allowed, parent: parent.as_raw_fd() };
        // SAFETY: the structure lives as long as the call.
        unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                rules.as_raw_fd(),
                BENEATH,
                &raw const rule,
                0_u32,
            );
        }
    }
}
