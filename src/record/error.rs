//! What keeps a program from being recorded.

use crate::trace::TraceError;
use std::io;
use thiserror::Error;

/// Environment variable with a folder of recorders' sources (`recorders` of a checkout) that are
/// compiled in place of those in the program.
pub const FOLDER: &str = "ADDFG_RECORDERS";

#[derive(Debug, Error)]
pub enum RecordError {
    #[error(
        "{what} is not installed: it runs the recorded program; Debian: apt-get install {package}"
    )]
    Missing { what: String, package: &'static str },
    #[error(
        "{variable} names no folder with the recorders' sources: {path}: {error}; without it addfg takes its own",
        variable = FOLDER
    )]
    Sources { path: String, error: io::Error },
    #[error("the recorder cannot be compiled with {script}:\n{output}")]
    Compile { script: String, output: String },
    #[error("{program}: {error}")]
    Start { program: String, error: io::Error },
    #[error("{path}: {error}")]
    Io { path: String, error: io::Error },
    #[error(transparent)]
    File(#[from] crate::files::FileError),
    #[error(transparent)]
    Input(#[from] TraceError),
}
