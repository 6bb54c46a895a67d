//! The folder in which compiled recorders are kept: programs are run from it, so that nobody else may
//! write there, nor in any folder on the way to it.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Who else may write.
const OTHERS: u32 = 0o022;
/// In such a folder (/tmp) everybody makes files, and only who made one removes or renames it.
const STICKY: u32 = 0o1000;

/// addfg's folder in the user's cache, made where there is none; None where it is not the user's alone
/// or cannot be made.
pub fn cache() -> Option<PathBuf> {
    // A relative path means nothing (XDG Base Directory Specification).
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    let folder = caches.join("addfg");
    let user = user();
    // What is not there yet is made in something that others cannot write.
    let there = folder.ancestors().find(|path| fs::symlink_metadata(path).is_ok())?;
    leads_safely(there, user).then_some(())?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
    let folder = folder.canonicalize().ok()?;
    (leads_safely(&folder, user) && is_own(&folder, user)).then_some(folder)
}

/// The file of a folder in which its other files stand with their sizes.
const PARTS: &str = "parts";

/// Whether a folder with programs and all that is in it are the user's alone.
pub fn is_closed(folder: &Path) -> bool {
    let user = user();
    let closed = |path: PathBuf| {
        fs::symlink_metadata(path).is_ok_and(|found| by(&found, user) && found.mode() & OTHERS == 0)
    };
    is_own(folder, user)
        && fs::read_dir(folder)
            .is_ok_and(|entries| entries.into_iter().all(|e| e.is_ok_and(|e| closed(e.path()))))
}

/// Whether all is there that was when [`seal`] was called: what cleans or copies a cache may leave
/// a part of a folder.
pub fn is_whole(folder: &Path) -> bool {
    let sealed = fs::read_to_string(folder.join(PARTS));
    parts(folder).is_ok_and(|parts| sealed.is_ok_and(|sealed| sealed == parts))
}

/// Writes down what is in a folder.
pub fn seal(folder: &Path) -> io::Result<()> {
    fs::write(folder.join(PARTS), parts(folder)?)
}

/// The size and the name of each file but that of the list.
fn parts(folder: &Path) -> io::Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != PARTS {
            let size = fs::metadata(entry.path())?.len();
            lines.push(format!("{size} {}\n", entry.file_name().display()));
        }
    }
    lines.sort_unstable();
    Ok(lines.concat())
}

fn user() -> u32 {
    // SAFETY: it gives a number.
    unsafe { libc::geteuid() }
}

/// Whether it belongs to the user, or to the system's.
fn by(found: &Metadata, user: u32) -> bool {
    found.uid() == user || found.uid() == 0
}

/// Whether a path is a folder itself, of this user, that nobody else writes.
fn is_own(path: &Path, user: u32) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & OTHERS == 0)
}

/// Whether nobody else can put another folder in the place of one on the way.
fn leads_safely(path: &Path, user: u32) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    real.ancestors().all(|part| {
        fs::metadata(part).is_ok_and(|found| {
            by(&found, user) && (found.mode() & OTHERS == 0 || found.mode() & STICKY != 0)
        })
    })
}
