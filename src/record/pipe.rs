//! Pipes that hold more than a piece of a stream.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd;

/// As much as a system gives to anyone.
const ROOM: libc::c_int = 1 << 20;

/// A pipe in which a piece has room, so that who writes it need not wait for who reads.
pub(super) fn wide() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    // SAFETY: the descriptor is open. What the system refuses is a narrow pipe.
    unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, ROOM) };
    Ok((reader, writer))
}
