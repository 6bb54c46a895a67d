//! A tree of processes: its streams as one, that of the first process while it runs, then, when all have
//! ended, those that the others left as files, in the order in which they began.

use crate::trace::stream::{HEADER, PIECE_HEADER, piece_length};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read, Seek, SeekFrom, Take};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::mpsc;
use tempfile::TempDir;

/// A folder for the streams of processes; it goes when nobody needs it any more.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> io::Result<Folder> {
        crate::files::private_folder("addfg-record-").map(Folder)
    }

    /// What the names of the streams begin with; `.1` and so on follows.
    pub fn prefix(&self) -> PathBuf {
        self.0.path().join("stream")
    }

    /// Where the recorders find who takes their sums.
    pub fn sums(&self) -> PathBuf {
        self.0.path().join("sums")
    }

    /// The streams but the first, which goes through a pipe.
    fn streams(&self) -> VecDeque<PathBuf> {
        let path = |n: &u32| self.0.path().join(format!("stream.{n}"));
        (2..).take_while(|n| path(n).exists()).map(|n| path(&n)).collect()
    }
}

/// Waits for a tree of processes.
pub struct Waiter {
    /// The process that the others descend from, and who is told how it ended.
    pub root: u32,
    pub ended: mpsc::Sender<ExitStatus>,
    /// Is closed when none is left.
    pub alive: Option<UnixStream>,
}

/// Reads all streams.
pub struct Family {
    first: Option<PipeReader>,
    folder: Folder,
    waiter: Waiter,
    files: VecDeque<PathBuf>,
    open: Option<Take<File>>,
}

impl Family {
    pub fn new(first: PipeReader, folder: Folder, waiter: Waiter) -> Family {
        Family { first: Some(first), folder, waiter, files: VecDeque::new(), open: None }
    }
}

impl Waiter {
    /// Waits until no process of the tree is left.
    pub fn wait(&mut self) -> io::Result<()> {
        let ended = self.wait_for_all();
        self.alive = None;
        ended
    }

    fn wait_for_all(&self) -> io::Result<()> {
        loop {
            let mut status = 0;
            // SAFETY: wait writes one int, which lives as long as the call.
            let pid = unsafe { libc::wait(&raw mut status) };
            if pid < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::ECHILD) => return Ok(()),
                    Some(libc::EINTR) => continue,
                    _ => return Err(error),
                }
            }
            if u32::try_from(pid) == Ok(self.root) {
                // That nobody asks is no reason to stop.
                let _ = self.ended.send(ExitStatus::from_raw(status));
            }
        }
    }
}

impl Read for Family {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(first) = &mut self.first {
            let n = first.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            self.first = None;
            self.waiter.wait()?;
            self.files = self.folder.streams();
        }
        loop {
            let n = self.open.as_mut().map_or(Ok(0), |open| open.read(buffer))?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            let Some(path) = self.files.pop_front() else { return Ok(0) };
            self.open = whole(&path)?;
            std::fs::remove_file(&path)?;
        }
    }
}

/// The whole pieces of a stream; None if it has not even begun. A process that is killed may leave a
/// part of one at the end.
fn whole(path: &Path) -> io::Result<Option<Take<File>>> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut end = HEADER as u64;
    if size < end {
        return Ok(None);
    }
    let mut head = [0; PIECE_HEADER];
    loop {
        file.seek(SeekFrom::Start(end))?;
        match file.read_exact(&mut head) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            read => read?,
        }
        let next = end + piece_length(&head);
        if next > size {
            break;
        }
        end = next;
    }
    file.rewind()?;
    Ok(Some(file.take(end)))
}

/// Makes processes whose parents have ended children of this one, so that it can wait for them.
pub fn adopt() -> io::Result<()> {
    // SAFETY: changes an attribute of this process only.
    match unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
