//! Why a build fails.

use crate::image::ImageError;
use crate::store::StoreError;
use crate::store::chunk::ChunkError;
use crate::trace::TraceError;

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the trace's addresses ({first:#x} ...) fall in no function of {elf}: is it the program that was recorded? \
         For a position-independent program give the load address: --elf FILE@ADDRESS"
    )]
    WrongElf { first: u64, elf: String },
    #[error(
        "{what}: most likely it is another program, or another build of the one that was recorded. Give the file that ran; --force-elf goes on"
    )]
    OtherElf { what: String },
    #[error("--elf files are for different instruction sets: {0}")]
    MixedElf(String),
    #[error("the log is of an instruction set that the ELF file is not for ({0})")]
    WrongIsa(String),
    #[error("{0} and {1} have different instruction sets: they are not traces of the same run")]
    MixedIsa(String, String),
    #[error("which instruction set is this trace of? Give the program with --elf")]
    NoIsa,
    #[error("{0} {1}: no function has that name; `addfg info` lists those that ran")]
    NoFunction(&'static str, String),
    #[error("format {0} has no steps that could be added up without a database: build one")]
    NoSums(&'static str),
    #[error("the recorder's sums are not exact ({0}): record without --summed")]
    RecorderSums(String),
    #[error("{0} and {1} are not traces of the same run: build a database of each")]
    MixedFormats(String, String),
    #[error(
        "{first}, {other}: they are not of the same run: build a database of each; --force-elf takes them as one"
    )]
    OtherRun { first: String, other: String },
    #[error("{0} and {1} are one file: give each trace once")]
    Twice(String, String),
    #[error("nothing fills the tables from format {0}")]
    NoLoader(&'static str),
    #[error("{position}: {message}; --strict refuses it")]
    Strict { position: String, message: String },
    #[error(
        "more than {limit_mb} MiB of memory in use after {done} (it grows with the bytes that the program touches and \
         its function pairs): raise --memory-limit, use --detail summary, or record a shorter run"
    )]
    Memory { limit_mb: u64, done: String },
    #[error(
        "the reader stopped before the end of its input; this is a defect of addfg: please report it with the trace"
    )]
    ReaderStopped,
    #[error("run_code is damaged, copy the database again, or build it again: {source}")]
    Code { source: ChunkError },
    #[error(
        "run_chunk at step {first} is damaged, copy the database again, or build it again: {source}"
    )]
    Chunk { first: u64, source: ChunkError },
    #[error(
        "the packed run has bytes of `{0}`, which is not in function_symbol: build the database again"
    )]
    NoPseudo(String),
    #[error("give one log: a stream has the steps of one")]
    OneInput,
    #[error("{0}: format {1} has no steps to convert; `addfg build` loads it")]
    NoSteps(String, &'static str),
    #[error("{0} is already a stream: copy it, or pack it with zstd")]
    IsStream(String),
    #[error("cannot write the output: {0}")]
    Output(std::io::Error),
    #[error("interrupted; {0} is as it was")]
    Interrupted(String),
}

impl From<duckdb::Error> for BuildError {
    fn from(e: duckdb::Error) -> Self {
        BuildError::Store(e.into())
    }
}
