//! What a person reads goes through a pager, as git's output does.

use std::io::{IsTerminal, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

struct Pager {
    child: Child,
    /// Copies of standard output and, where that is a terminal, too, of standard error.
    kept: Vec<(i32, i32)>,
}

static OPEN: Mutex<Option<Pager>> = Mutex::new(None);

/// The pager and its arguments: `ADDFG_PAGER`, else `PAGER`, else less; none for `cat` and nothing.
fn chosen() -> Vec<String> {
    let set = |name| std::env::var(name).ok();
    let text = set("ADDFG_PAGER").or_else(|| set("PAGER")).unwrap_or_else(|| "less".to_owned());
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    if words.first().is_some_and(|w| w == "cat") { Vec::new() } else { words }
}

/// Sends standard output through a pager, if it is a terminal; what fits on the screen less shows and
/// ends. Where there is no pager all is as it was.
pub fn begin() {
    let words = chosen();
    let Some((program, arguments)) = words.split_first() else { return };
    if !std::io::stdout().is_terminal() {
        return;
    }
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // End where it fits on a screen, show colours, cut long lines (arrows move), leave it there.
        command.env("LESS", "FRSX");
    }
    let Ok(mut child) = command.spawn() else { return };
    let Some(input) = child.stdin.take() else { return };
    let mut kept = Vec::new();
    let both = if std::io::stderr().is_terminal() { &[1, 2][..] } else { &[1] };
    for &stream in both {
        // SAFETY: they take numbers; a failed copy is -1 and is not put back.
        unsafe {
            kept.push((stream, libc::fcntl(stream, libc::F_DUPFD_CLOEXEC, 3)));
            libc::dup2(input.as_raw_fd(), stream);
        }
    }
    if let Ok(mut open) = OPEN.lock() {
        *open = Some(Pager { child, kept });
    }
}

/// Waits until the person has read it.
pub fn end() {
    let Some(mut pager) = OPEN.lock().ok().and_then(|mut open| open.take()) else { return };
    let _ = std::io::stdout().flush();
    for (stream, copy) in pager.kept {
        // SAFETY: as above. What was the pipe's end is closed by it.
        unsafe {
            libc::dup2(copy, stream);
        }
    }
    let _ = pager.child.wait();
}
