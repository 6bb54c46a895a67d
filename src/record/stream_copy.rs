//! The copy of a stream in a file: one that is asked for (`--keep`), or one that is there while the
//! program runs, so that a database can be made of what was received should addfg be killed.

use super::error::RecordError;
use super::pipe;
use crate::files::{self, FileError, Output};
use crate::trace::{Format, stream};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Where a stream is copied to.
pub struct Kept {
    output: Output,
    /// It goes when the database is there, and when there is no room for it.
    meanwhile: bool,
}

impl Kept {
    /// A recording that stays.
    pub fn asked(path: &Path, force: bool) -> Result<Kept, FileError> {
        let rule = if force { only_recordings } else { files::nothing };
        Ok(Kept { output: Output::begin_recording(path, rule)?, meanwhile: false })
    }

    /// A recording that is there until the database is.
    pub fn meanwhile(database: &Path) -> Result<Kept, FileError> {
        let output = Output::begin_recording(&beside(database), files::nothing)?;
        Ok(Kept { output, meanwhile: true })
    }

    /// Copies `stream` into the file while it is read from what is given.
    pub(super) fn copy(
        self,
        stream: Box<dyn Read + Send>,
    ) -> Result<(PipeReader, Keeper), RecordError> {
        let path = self.output.part().to_owned();
        let shown = path.display().to_string();
        let failed = move |error| RecordError::Io { path: shown.clone(), error };
        let file = File::create(&path).map_err(&failed)?;
        let (reader, copy) = pipe::wide().map_err(&failed)?;
        let meanwhile = self.meanwhile.then(|| path.clone());
        let run = move || copy_stream(stream, file, copy, meanwhile);
        let thread = std::thread::Builder::new().spawn(run).map_err(&failed)?;
        Ok((reader, Keeper { thread, kept: self }))
    }
}

/// The recording beside a database that is being made.
fn beside(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".stream");
    name.into()
}

/// What was received of programs whose addfg was killed while it made this database.
pub fn abandoned(database: &Path) -> Vec<PathBuf> {
    files::leftovers(&beside(database))
}

/// Who copies.
pub(super) struct Keeper {
    thread: JoinHandle<io::Result<()>>,
    kept: Kept,
}

impl Keeper {
    /// The stream has ended: gives the file its name, or removes it where the database is made. Gives the
    /// file that is left for want of one.
    pub(super) fn finish(self, made: bool) -> Result<Option<PathBuf>, RecordError> {
        let Kept { output, meanwhile } = self.kept;
        let path = output.part().display().to_string();
        let stopped = |_| Err(io::Error::other("the stream's copy stopped"));
        let copied = self.thread.join().unwrap_or_else(stopped);
        copied.map_err(|error| RecordError::Io { path, error })?;
        // It went where there was no room for it.
        if meanwhile && (made || !output.part().exists()) {
            return Ok(None);
        }
        if meanwhile {
            return Ok(Some(output.leave()));
        }
        output.finish()?;
        Ok(None)
    }
}

/// The rule of what `--keep` replaces: recordings.
fn only_recordings(path: &Path) -> Option<&'static str> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let recording = read.is_ok() && (head.is_empty() || stream::Stream.sniff(&head));
    (!recording).then_some("is not a recording; --force replaces only those")
}

/// Bytes by which a recording is known.
const HEAD: u64 = 64 << 10;

/// Bytes between two looks at how much room the disk has.
const LOOK: u64 = 16 << 20;
/// Room that a copy which nobody asked for leaves at least.
const ROOM: u64 = 1 << 30;

/// Copies the stream into a file and to who builds from it, who may stop listening. `meanwhile`: the
/// file's path, if it may go before the stream ends.
fn copy_stream(
    mut from: Box<dyn Read + Send>,
    file: File,
    copy: PipeWriter,
    meanwhile: Option<PathBuf>,
) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 18];
    let (mut file, mut copy) = (Some(file), Some(copy));
    let (mut received, mut looked) = (0_u64, 0_u64);
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return file.map_or(Ok(()), |mut file| file.flush());
        }
        received += n as u64;
        if let Some(open) = &mut file {
            let looks = meanwhile.is_some() && received - looked >= LOOK;
            looked = if looks { received } else { looked };
            let written = match looks && is_short(meanwhile.as_deref(), received) {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => open.write_all(&buffer[..n]),
            };
            match (written, &meanwhile) {
                (Err(_), Some(path)) => {
                    file = None;
                    let _ = std::fs::remove_file(path);
                }
                (written, _) => written?,
            }
        }
        if copy.as_mut().is_some_and(|copy| copy.write_all(&buffer[..n]).is_err()) {
            copy = None;
        }
        if copy.is_none() && file.is_none() {
            return Ok(());
        }
    }
}

/// Whether the disk has less room left than a file of so many bytes takes, or than others need.
fn is_short(path: Option<&Path>, received: u64) -> bool {
    let text = path.and_then(|path| CString::new(path.as_os_str().as_bytes()).ok());
    text.is_some_and(|text| {
        // SAFETY: zeros are valid, and the text ends in a zero byte.
        let (known, found) = unsafe {
            let mut found: libc::statvfs = std::mem::zeroed();
            (libc::statvfs(text.as_ptr(), &mut found) == 0, found)
        };
        known && found.f_bavail.saturating_mul(found.f_frsize) < received.max(ROOM)
    })
}
