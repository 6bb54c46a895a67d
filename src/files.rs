//! Files that addfg makes: written beside their name, which they get when they are whole. So who
//! kills addfg, or fills the disk, leaves what was there before.

use std::collections::BTreeSet;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock};

/// Why a file or folder that is there is not to be replaced; None if it may be.
pub type Rule = fn(&Path) -> Option<&'static str>;

/// The rule that nothing is replaced.
pub fn nothing(_: &Path) -> Option<&'static str> {
    Some("exists; --force replaces it")
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path} {why}")]
    Kept { path: String, why: &'static str },
    #[error(
        "cannot write {path}: there is no folder {folder}; make it first, or name another place"
    )]
    NoFolder { path: String, folder: String },
    #[error("cannot write {path}")]
    Io { path: String, source: io::Error },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    /// What stands in it is renamed one by one where it is there already.
    Folder,
}

/// A file or folder that is being made.
pub struct Output {
    /// As it was asked for.
    path: PathBuf,
    /// Where symbolic links lead to.
    target: PathBuf,
    part: PathBuf,
    kind: Kind,
    rule: Rule,
    /// Held until it is whole or gone: who finds the part knows by it that somebody writes there.
    _lock: Option<File>,
}

impl Output {
    /// Makes room for it. An error if what is there is not to be replaced.
    pub fn begin(path: &Path, kind: Kind, rule: Rule) -> Result<Output, FileError> {
        let output = Output::beside(path, kind, rule)?;
        remove_leftovers(&output.target);
        Ok(output)
    }

    /// Makes room for a recording. What is left of another one, whose addfg was killed, is what was
    /// received until then: it stays, and can be built. Of one that was removed the lock goes, too.
    pub fn begin_recording(path: &Path, rule: Rule) -> Result<Output, FileError> {
        let output = Output::beside(path, Kind::File, rule)?;
        unheld(&output.target).iter().filter(|part| !part.exists()).for_each(|part| remove(part));
        Ok(output)
    }

    fn beside(path: &Path, kind: Kind, rule: Rule) -> Result<Output, FileError> {
        check(path, kind, rule)?;
        let (target, part) = (target(path), part(path));
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let folder = folder.display().to_string();
            return Err(FileError::NoFolder { path: path.display().to_string(), folder });
        }
        remove(&part);
        unfinished().push(part.clone());
        // Where none can be had, writing fails, too, or nobody else gets one.
        let lock = lock(&with_suffix(&part, LOCK));
        Ok(Output { path: path.to_owned(), target, part, kind, rule, _lock: lock })
    }

    /// The name under which it is written until it is whole.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Leaves the part as it is, as a process does that is killed; gives its name.
    pub fn leave(self) -> PathBuf {
        unfinished().retain(|part| *part != self.part);
        let part = self.part.clone();
        std::mem::forget(self);
        part
    }

    fn failed(&self, source: io::Error) -> FileError {
        FileError::Io { path: self.path.display().to_string(), source }
    }

    /// Gives it its name. What came there meanwhile is looked at again.
    pub fn finish(self) -> Result<(), FileError> {
        check(&self.path, self.kind, self.rule)?;
        let old = match fs::metadata(&self.target) {
            Ok(old) => old,
            Err(_) => match rename_new(&self.part, &self.target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    check(&self.path, self.kind, self.rule)?;
                    fs::metadata(&self.target).map_err(|e| self.failed(e))?
                }
                renamed => return renamed.map_err(|e| self.failed(e)),
            },
        };
        match self.kind {
            Kind::File => self.replace(&old),
            Kind::Folder => self.merge(),
        }
        .map_err(|e| self.failed(e))
    }

    /// In place of a file: with its permissions, and only when all bytes are on the disk.
    fn replace(&self, old: &Metadata) -> io::Result<()> {
        fs::set_permissions(&self.part, old.permissions())?;
        fs::File::open(&self.part)?.sync_all()?;
        fs::rename(&self.part, &self.target)
    }

    fn merge(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.part)? {
            let entry = entry?;
            fs::rename(entry.path(), self.target.join(entry.file_name()))?;
        }
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        remove(&self.part);
        unfinished().retain(|part| *part != self.part);
    }
}

/// Whether a file or folder may be made there.
pub fn check(path: &Path, kind: Kind, rule: Rule) -> Result<(), FileError> {
    let why = match fs::metadata(path) {
        // Nothing is there; or that cannot be known, and writing will fail.
        Err(_) => None,
        Ok(found) if found.is_dir() && kind == Kind::File => Some("is a folder"),
        Ok(found) if found.is_file() && kind == Kind::Folder => {
            rule(path).or(Some("is a file, and a folder is to be made"))
        }
        Ok(found) if !found.is_dir() && !found.is_file() => Some("is a device or a pipe"),
        Ok(_) => rule(path),
    };
    why.map_or(Ok(()), |why| Err(FileError::Kept { path: path.display().to_string(), why }))
}

/// Writes a file, or into a device or pipe that is there.
pub fn write(path: &Path, bytes: &[u8], rule: Rule) -> Result<(), FileError> {
    let failed = |source| FileError::Io { path: path.display().to_string(), source };
    if fs::metadata(path).is_ok_and(|found| !found.is_dir() && !found.is_file()) {
        let mut file = fs::File::options().write(true).open(path).map_err(failed)?;
        return file.write_all(bytes).map_err(failed);
    }
    let output = Output::begin(path, Kind::File, rule)?;
    fs::write(output.part(), bytes).map_err(failed)?;
    output.finish()
}

/// The file that a name means, through symbolic links, which need not lead to anything.
fn target(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    // As many as the system follows.
    for _ in 0..40 {
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.parent().map_or_else(|| next.clone(), |folder| folder.join(&next));
    }
    target
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// What tells this process from all others, also from one of another machine or container that has
/// its number.
pub fn process_name() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        format!("{}-{:08x}", std::process::id(), RandomState::new().hash_one(0) as u32)
    });
    &NAME
}

/// The name under which this process writes a file until it is whole.
pub fn part(path: &Path) -> PathBuf {
    with_suffix(&target(path), &format!(".{}.part", process_name()))
}

/// Of the file that is locked while a part is written: on some file systems a lock on the part
/// itself would be in the way of DuckDB's.
const LOCK: &str = ".lock";

/// What DuckDB and SQLite keep beside a file that they write, and the lock.
const BESIDE: [&str; 5] = ["", ".wal", ".tmp", "-journal", LOCK];

/// Removes an unfinished file and what stands beside it.
fn remove(part: &Path) {
    for suffix in BESIDE {
        let path = with_suffix(part, suffix);
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        let _ = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

/// Locks a file or folder that is open, as long as it is; None if that cannot be.
fn locked(file: File) -> Result<File, io::Error> {
    // SAFETY: it takes numbers.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Locks a folder, or a file that is made where there is none. The lock goes with the process,
/// however that ends, on whatever machine it runs.
pub fn lock(path: &Path) -> Option<File> {
    // Who removes what is left may have it for a moment, and take it away.
    for _ in 0..100 {
        let file = match path.is_dir() {
            true => File::open(path),
            false => File::options().create(true).truncate(false).write(true).open(path),
        };
        match locked(file.ok()?) {
            Ok(file) if is_at(&file, path) => return Some(file),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Err(_) => return None,
        }
    }
    None
}

/// Whether a name is still that of an open file.
fn is_at(file: &File, path: &Path) -> bool {
    let number = |found: Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => number(open) == number(named),
        _ => false,
    }
}

/// A lock on what is there, to remove it; an error if somebody has it, or that cannot be known.
pub fn abandoned(path: &Path) -> io::Result<File> {
    // Without waiting, where it is a pipe.
    locked(File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?)
}

/// Removes what processes that were killed have left of this file.
fn remove_leftovers(target: &Path) {
    unheld(target).iter().for_each(|part| remove(part));
}

/// What processes that were killed have left of this file, as far as they had written it.
pub fn leftovers(path: &Path) -> Vec<PathBuf> {
    unheld(&target(path)).into_iter().filter(|part| part.is_file()).collect()
}

/// The unfinished files of this name that nobody writes any more.
fn unheld(target: &Path) -> BTreeSet<PathBuf> {
    let Some(name) = target.file_name() else { return BTreeSet::new() };
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut begin = name.to_owned();
    begin.push(".");
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.file_name());
    let parts = names.filter_map(|name| part_of(&name, &begin).map(|part| folder.join(part)));
    // Both are tried: a lock that is not there is nobody's.
    let is_free = |part: &PathBuf| {
        [with_suffix(part, LOCK), part.clone()].map(|path| abandoned(&path)).iter().all(|lock| {
            lock.as_ref().err().is_none_or(|error| error.kind() == io::ErrorKind::NotFound)
        })
    };
    parts.collect::<BTreeSet<_>>().into_iter().filter(is_free).collect()
}

/// The unfinished file that a name is of: `NAME.PROCESS.part`, or what stands beside it.
fn part_of<'a>(name: &'a OsString, begin: &OsString) -> Option<&'a OsStr> {
    let rest = name.as_bytes().strip_prefix(begin.as_bytes())?;
    let part = |beside: &&str| rest.strip_suffix(beside.as_bytes())?.strip_suffix(b".part");
    let process = BESIDE.iter().find_map(part)?;
    let is_process = process.first().is_some_and(u8::is_ascii_digit)
        && process.iter().all(|c| c.is_ascii_hexdigit() || *c == b'-');
    let end = begin.len() + process.len() + ".part".len();
    is_process.then(|| OsStr::from_bytes(&name.as_bytes()[..end]))
}

/// A new folder in the temporary one that is this user's alone: nobody else can read it, and its name
/// cannot be foretold.
pub fn private_folder(begin: &str) -> io::Result<tempfile::TempDir> {
    let user = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix(begin).permissions(user).tempdir()
}

/// A name in the temporary folder that nothing has, in a folder of this process that is this
/// user's alone and goes when the process ends.
pub fn private() -> io::Result<PathBuf> {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if FOLDER.get().is_none() {
        let folder = private_folder("addfg-")?.keep();
        removed_at_the_end(&folder);
        if let Err(other) = FOLDER.set(folder) {
            let _ = fs::remove_dir(other);
        }
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = FOLDER.get().ok_or_else(|| io::Error::other("there is no temporary folder"))?;
    Ok(folder.join(number.to_string()))
}

/// Makes a folder of this user alone, which goes when the process ends.
pub fn make_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)?;
    removed_at_the_end(path);
    Ok(())
}

/// Has a folder removed when the process ends, by itself or by a signal that it handles.
fn removed_at_the_end(folder: &Path) {
    extern "C" fn remove_all() {
        remove_unfinished();
    }
    static ONCE: OnceLock<()> = OnceLock::new();
    unfinished().push(folder.to_owned());
    // SAFETY: the function takes nothing and does not panic: a lock that was held when a thread
    // panicked is taken all the same.
    ONCE.get_or_init(|| unsafe {
        libc::atexit(remove_all);
    });
}

/// Renames to a name that nothing has.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes());
        let (from, to) = (text(from)?, text(to)?);
        // SAFETY: both are texts that end in a zero byte.
        let renamed = unsafe {
            libc::renameat2(
                libc::AT_FDCWD,
                from.as_ptr(),
                libc::AT_FDCWD,
                to.as_ptr(),
                libc::RENAME_NOREPLACE,
            )
        };
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            _ if renamed == 0 => return Ok(()),
            // Some file systems do not know how.
            Some(libc::EINVAL | libc::ENOSYS) => {}
            _ => return Err(error),
        }
    }
    if to.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// The unfinished files of this process. A signal comes to the process, not to who writes, and the
/// process ends by it: so there is one list.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Removes all unfinished files, for a process that ends.
pub fn remove_unfinished() {
    unfinished().iter().for_each(|part| remove(part));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anything(_: &Path) -> Option<&'static str> {
        None
    }

    #[test]
    fn a_file_is_replaced_when_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("file", &link).unwrap();
        let output = Output::begin(&link, Kind::File, anything).unwrap();
        fs::write(output.part(), "half").unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write(&link, b"new", anything).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(matches!(write(&path, b"", nothing), Err(FileError::Kept { .. })));
        let dangling = folder.path().join("dangling");
        std::os::unix::fs::symlink("later", &dangling).unwrap();
        write(&dangling, b"made", nothing).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("later")).unwrap(), "made");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    /// By the lock, not by the number of a process: that is another one's in another container, on
    /// another machine, and after a while.
    #[test]
    fn what_a_killed_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let this = std::process::id();
        let names = [
            format!("a.{this}.part"),
            format!("a.{this}.part.wal"),
            format!("a.{this}.part.lock"),
            "a.4000000-00c0ffee.part.tmp".into(),
            "a.4000001-00c0ffee.part".into(),
            "a.4000001-00c0ffee.part.lock".into(),
            "a.4000001-00c0ffee.part.wal".into(),
            "a.4000002.part".into(),
            "a.of mine.part".into(),
            "b.9.part".into(),
        ];
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let _held = lock(&folder.path().join("a.4000001-00c0ffee.part.lock")).unwrap();
        let _itself = lock(&folder.path().join("a.4000002.part")).unwrap();
        write(&folder.path().join("a"), b"", nothing).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(
            left,
            [
                "a",
                "a.4000001-00c0ffee.part",
                "a.4000001-00c0ffee.part.lock",
                "a.4000001-00c0ffee.part.wal",
                "a.4000002.part",
                "a.of mine.part",
                "b.9.part"
            ]
        );
    }

    /// A recording whose addfg was killed stays; the lock of one that was removed does not.
    #[test]
    fn what_was_received_stays() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["a.4000000-00c0ffee.part", "a.4000000-00c0ffee.part.lock", "a.4000001.part.lock"]
        {
            fs::write(folder.path().join(name), "").unwrap();
        }
        drop(Output::begin_recording(&folder.path().join("a"), nothing).unwrap());
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a.4000000-00c0ffee.part", "a.4000000-00c0ffee.part.lock"]);
    }

    #[test]
    fn what_is_private_is_this_users_alone() {
        let (one, two) = (private().unwrap(), private().unwrap());
        assert_ne!(one, two);
        let mode = one.parent().unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn of_two_that_make_a_file_one_wins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let output = Output::begin(&path, Kind::File, nothing).unwrap();
        fs::write(output.part(), "second").unwrap();
        fs::write(&path, "first").unwrap();
        assert!(matches!(output.finish(), Err(FileError::Kept { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    }
}
