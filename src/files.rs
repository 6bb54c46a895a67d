//! Files that addfg makes: written beside their name, which they get when they are whole. So who
//! kills addfg, or fills the disk, leaves what was there before.

use std::ffi::{CString, OsString};
use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

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
}

impl Output {
    /// Makes room for it. An error if what is there is not to be replaced.
    pub fn begin(path: &Path, kind: Kind, rule: Rule) -> Result<Output, FileError> {
        check(path, kind, rule)?;
        let (target, part) = (target(path), part(path));
        remove_leftovers(&target);
        remove(&part);
        unfinished().push(part.clone());
        Ok(Output { path: path.to_owned(), target, part, kind, rule })
    }

    /// The name under which it is written until it is whole.
    pub fn part(&self) -> &Path {
        &self.part
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

/// The name under which this process writes a file until it is whole.
pub fn part(path: &Path) -> PathBuf {
    with_suffix(&target(path), &format!(".{}.part", std::process::id()))
}

/// What DuckDB and SQLite keep beside a file that they write.
const BESIDE: [&str; 4] = ["", ".wal", ".tmp", "-journal"];

/// Removes an unfinished file and what stands beside it.
fn remove(part: &Path) {
    for suffix in BESIDE {
        let path = with_suffix(part, suffix);
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        let _ = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

/// Removes what processes that were killed have left of this file.
fn remove_leftovers(target: &Path) {
    let Some(name) = target.file_name() else { return };
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut begin = name.to_owned();
    begin.push(".");
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if ended(&entry.file_name(), &begin) {
            remove(&entry.path());
        }
    }
}

/// Whether a name is that of an unfinished file of a process that is no more.
fn ended(name: &OsString, begin: &OsString) -> bool {
    let number = name.as_bytes().strip_prefix(begin.as_bytes()).and_then(|rest| {
        let part = |beside: &&str| rest.strip_suffix(beside.as_bytes())?.strip_suffix(b".part");
        std::str::from_utf8(BESIDE.iter().find_map(part)?).ok()?.parse::<libc::pid_t>().ok()
    });
    // SAFETY: signal 0 is sent to nobody.
    number.is_some_and(|process| {
        process > 0
            && unsafe { libc::kill(process, 0) } != 0
            && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
    })
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

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = child.id();
        child.wait().unwrap();
        for name in [
            format!("a.{process}.part"),
            format!("a.{process}.part.wal"),
            "a.1.part".into(),
            "b.9.part".into(),
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        write(&folder.path().join("a"), b"", nothing).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a", "a.1.part", "b.9.part"]);
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
