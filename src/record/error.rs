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
    #[error(
        "{program} is a program for {processor}: record it under QEMU: addfg record --qemu {emulator} -- {program}"
    )]
    Foreign { program: String, processor: &'static str, emulator: String },
    #[error(
        "{program} is a program for a processor that addfg does not know (machine {machine} of ELF): \
         x86, ARM, AArch64 and RISC-V, little-endian, are recorded"
    )]
    Processor { program: String, machine: u16 },
    #[error(
        "{program} needs {interpreter}, which is not installed; Debian: apt-get install {package}; \
         or name the folder with it: --qemu \"qemu-... -L FOLDER\""
    )]
    Libraries { program: String, interpreter: String, package: &'static str },
    #[error("no program: name it behind --, as in `addfg record --qemu {emulator} -- ./app`")]
    NoProgram { emulator: String },
    #[error("{program}: {error}")]
    Start { program: String, error: io::Error },
    #[error("{path}: {error}")]
    Io { path: String, error: io::Error },
    #[error(transparent)]
    File(#[from] crate::files::FileError),
    #[error(transparent)]
    Input(#[from] TraceError),
}
