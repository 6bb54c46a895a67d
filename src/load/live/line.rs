//! A socket to a recorder, and memory beside it that tells how many bytes each end has sent: who looks there for the
//! next message asks the system nothing.

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of the memory.
const SHARED: usize = 4096;

/// None: the recorder was killed, which is no error of ours.
pub fn living<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How many bytes each end has sent, modulo 2^32.
struct Sent(MmapRaw);

impl Sent {
    fn count(&self, at: usize) -> &AtomicU32 {
        // SAFETY: the memory is aligned, lives as long as this does, and is looked at in no other way.
        unsafe { AtomicU32::from_ptr(self.0.as_mut_ptr().cast::<u32>().add(at)) }
    }

    fn by_addfg(&self) -> &AtomicU32 {
        self.count(0)
    }

    /// In another line of the processors' caches.
    fn by_recorder(&self) -> &AtomicU32 {
        self.count(16)
    }
}

/// addfg's end of a socket to a recorder.
#[derive(Clone)]
pub struct Line {
    stream: Arc<UnixStream>,
    sent: Option<Arc<Sent>>,
}

impl Line {
    /// Sends the recorder the memory, as its first message. Without any, the socket does alone.
    ///
    /// # Errors
    /// The recorder is gone.
    pub fn new(stream: UnixStream) -> io::Result<Line> {
        let shared = memory().ok();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = shared.as_ref().map(|(file, _)| [file.as_fd()]);
        if let Some(files) = &files {
            control.push(SendAncillaryMessage::ScmRights(files));
        }
        sendmsg(&stream, &[IoSlice::new(&[0; 4])], &mut control, SendFlags::NOSIGNAL)?;
        let sent = shared.map(|(_, map)| Arc::new(Sent(map)));
        Ok(Line { stream: Arc::new(stream), sent })
    }

    /// Whether nothing has come since so many bytes.
    pub fn is_quiet(&self, got: u32) -> bool {
        self.sent.as_ref().is_some_and(|sent| sent.by_recorder().load(Ordering::Acquire) == got)
    }

    /// What is there now, or what comes next: without `wait` an error where nothing is.
    pub fn read(&self, into: &mut [u8], wait: bool) -> io::Result<usize> {
        let flags = if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        Ok(recv(&self.stream, into, flags)?.0)
    }
}

fn memory() -> io::Result<(File, MmapRaw)> {
    let file = File::from(memfd_create("addfg", MemfdFlags::CLOEXEC)?);
    ftruncate(&file, SHARED as u64)?;
    let map = MmapOptions::new().len(SHARED).map_raw(&file)?;
    Ok((file, map))
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.stream.as_ref().write(bytes)?;
        if let Some(sent) = &self.sent {
            sent.by_addfg().fetch_add(n as u32, Ordering::Release);
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl AsRawFd for Line {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}
