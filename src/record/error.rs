//! What keeps a program from being recorded.

use crate::trace::TraceError;
use std::io;
use thiserror::Error;

/// Environment variable with the folder of the recorders' sources (`recorders` of a checkout).
pub const FOLDER: &str = "ADDFG_RECORDERS";

#[derive(Debug, Error)]
pub enum RecordError {
    #[error(
        "{what} is not installed: it runs the recorded program; Debian: apt-get install {package}"
    )]
    Missing { what: String, package: &'static str },
    #[error(
        "the recorders' sources (recorders) are not where addfg is installed; give their folder in {variable}",
        variable = FOLDER
    )]
    NoSources,
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
