//! `addfg build`: from traces and ELF files to a database.

mod code;
mod derived;
mod dictionary;
mod events;
mod finish;
mod front;
pub mod instructions;
mod intake;
mod limit;
mod names;
mod places;
mod placing;
mod reader;
pub mod rows;
mod runs;
mod steps;
pub mod sums;
pub mod symbols;
mod tables;

use crate::diagnostics::Diagnostics;
use crate::image::{Image, ImageError};
use crate::store::StoreError;
use crate::trace::input::Input;
use crate::trace::{self, Found, TraceError};
use std::path::PathBuf;

pub use derived::derived;
pub use dictionary::Files;
pub use names::FunctionNames;
pub use tables::Load;

/// How much a database keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Sums by function and instruction.
    Summary,
    /// And calls, intervals, dataflow between instances.
    Instance,
    /// And the low level, and the communications that cross call instances.
    Pairs,
    /// And those inside one.
    Full,
}

impl Detail {
    pub fn name(self) -> &'static str {
        ["summary", "instance", "pairs", "full"][self as usize]
    }
}

/// An ELF file and the bias it was loaded at, if that is known.
#[derive(Clone, Debug)]
pub struct ElfInput {
    pub path: PathBuf,
    pub bias: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub traces: Vec<PathBuf>,
    pub elfs: Vec<ElfInput>,
    pub output: PathBuf,
    pub format: Option<String>,
    pub layout: Option<String>,
    pub detail: Detail,
    pub literal_saves: bool,
    /// Copying functions: bytes that they copy keep their producer.
    pub through: Vec<String>,
    pub strict: bool,
    pub force: bool,
    /// Bytes of resident memory above which the build ends; 0: three quarters of the machine's.
    pub memory_limit: u64,
    pub jobs: usize,
    /// A rule of the pass to leave out, for tests.
    #[doc(hidden)]
    pub mutation: Option<crate::analysis::Mutation>,
    /// Times that a block must follow another before both are taken as one, if not as many as
    /// usual, for tests.
    #[doc(hidden)]
    pub superblock_after: Option<u32>,
}

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
    #[error("--elf files are for different instruction sets: {0}")]
    MixedElf(String),
    #[error("the log is of an instruction set that the ELF file is not for ({0})")]
    WrongIsa(String),
    #[error("{0} and {1}: traces of different instruction sets are no traces of one run")]
    MixedIsa(String, String),
    #[error("which instruction set is this trace of? Give the program with --elf")]
    NoIsa,
    #[error("--through {0}: no function has that name; `addfg info` lists those that ran")]
    Through(String),
    #[error("{0} and {1} are no traces of one run: build a database of each")]
    MixedFormats(&'static str, &'static str),
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
    #[error("interrupted; {0} is as it was")]
    Interrupted(String),
}

impl From<duckdb::Error> for BuildError {
    fn from(e: duckdb::Error) -> Self {
        BuildError::Store(e.into())
    }
}

/// What a build did, for the line that it prints.
#[derive(Clone, Debug)]
pub struct Report {
    pub format: &'static str,
    pub steps: u64,
    pub calls: u64,
    pub functions: usize,
    pub diagnostics: Diagnostics,
}

/// Builds a database. `progress` is told of the bytes consumed and, first, of the bytes there are
/// (0: unknown); it returns true to interrupt.
pub fn load(
    options: &Options,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Report, BuildError> {
    // Refuse before any work.
    if options.output.exists() && !options.force {
        return Err(StoreError::Exists { path: options.output.display().to_string() }.into());
    }
    let mut images = Vec::new();
    for elf in &options.elfs {
        images.push((Image::open(&elf.path)?, elf.bias));
    }
    let isa = images.first().map(|(i, _)| i.isa);
    if let Some((other, _)) = images.iter().find(|(i, _)| Some(i.isa) != isa) {
        return Err(BuildError::MixedElf(other.path.display().to_string()));
    }
    let (mut stepped, mut tabled) = (Vec::new(), Vec::new());
    for path in &options.traces {
        let input = Input::open(path)?;
        match trace::detect(&input, options.format.as_deref())? {
            Found::Steps(format) => stepped.push((input, format)),
            Found::Tables(format) => tabled.push((input, format)),
        }
    }
    let Some(&(_, format)) = tabled.first() else {
        if let Some((object, _)) = images.iter().find(|(image, _)| image.relocatable()) {
            let message = "a relocatable object file (.o) has no addresses yet; link it".into();
            return Err(ImageError::NotElf { path: object.path.clone(), message }.into());
        }
        return steps::build(options, images, stepped, progress);
    };
    if let Some(other) = stepped
        .iter()
        .map(|(_, f)| f.name())
        .chain(tabled.iter().map(|(_, f)| f.name()))
        .find(|f| *f != format.name())
    {
        return Err(BuildError::MixedFormats(format.name(), other));
    }
    tables::build(
        options,
        images,
        tabled.into_iter().map(|(input, _)| input).collect(),
        format,
        progress,
    )
}
