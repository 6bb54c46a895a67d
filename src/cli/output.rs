//! Where reports go.

use crate::files;
use crate::store::open::no_databases;
use std::io::{self, ErrorKind, StdoutLock, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Nobody reads standard output any more.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Standard output, as every command writes it: that nobody reads it any more is kept, for it is no
/// error, in whatever words those in between tell it.
pub struct Stdout(StdoutLock<'static>);

pub fn stdout() -> Stdout {
    Stdout(io::stdout().lock())
}

/// Whether somebody has stopped to read standard output.
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

fn kept<T>(written: io::Result<T>) -> io::Result<T> {
    if written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        CLOSED.store(true, Ordering::Relaxed);
    }
    written
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        kept(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        kept(self.0.flush())
    }
}

/// Writes a report to a file, or to standard output where there is none or its name is -.
pub fn write_output(path: Option<&Path>, text: &[u8]) -> anyhow::Result<ExitCode> {
    match path.filter(|p| p.as_os_str() != "-") {
        Some(path) => {
            files::write(path, text, no_databases)?;
        }
        None => {
            let mut out = stdout();
            out.write_all(text)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
