//! What a build is asked for, and what it did.

use crate::diagnostics::Diagnostics;
use crate::event::NamedRange;
use crate::text::words;
use crate::trace::StepFormat;
use std::path::PathBuf;

words! {
    /// How much a database keeps.
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Detail {
        /// Sums by function.
        Summary = "summary",
        /// And by instruction; calls, intervals, dataflow between instances.
        Instance = "instance",
        /// And the low level as rows, and the communications that cross call instances.
        Pairs = "pairs",
        /// And those inside one.
        Full = "full",
    }
}

/// An ELF file and the bias it was loaded at, if that is known.
#[derive(Clone, Debug)]
pub struct ElfInput {
    pub path: PathBuf,
    pub bias: Option<u64>,
}

/// Steps of a run up to which all rows are made where nobody said which: those of detail `pairs`.
pub const ROWS_STEPS: u64 = 5_000_000;

#[derive(Clone)]
pub struct Options {
    pub traces: Vec<PathBuf>,
    pub elfs: Vec<ElfInput>,
    pub output: PathBuf,
    pub format: Option<String>,
    /// Formats beside addfg's own, which are asked before these.
    pub formats: Vec<&'static dyn StepFormat>,
    pub layout: Option<String>,
    /// What is kept as rows. None: of steps that of `summary`, and of a run of up to [`ROWS_STEPS`] that of
    /// `pairs`; of other traces that of `pairs`.
    pub detail: Option<Detail>,
    pub literal_saves: bool,
    /// Copying functions: bytes that they copy keep their producer.
    pub through: Vec<String>,
    /// Functions of the program that do what allocation functions do: `NAME=FUNCTION` each.
    pub allocators: Vec<String>,
    /// Where devices are, beside those that the trace tells of. They do not overlap.
    pub devices: Vec<NamedRange>,
    /// Memories that have names, which do not overlap.
    pub memories: Vec<NamedRange>,
    /// Whether the run is kept, packed.
    pub steps: bool,
    pub strict: bool,
    pub force: bool,
    /// Whether ELF files are taken that do not fit the trace.
    pub force_elf: bool,
    /// Bytes of resident memory above which the build ends; 0: three quarters of what is available.
    pub memory_limit: u64,
    pub jobs: usize,
    /// Times that a block must follow another before both are taken as one, if not as many as
    /// usual, for tests.
    #[doc(hidden)]
    pub superblock_after: Option<u32>,
    /// Steps from which on a chunk of the packed run is full, if not as many as usual, for tests.
    #[doc(hidden)]
    pub chunk_steps: Option<u64>,
}

impl Options {
    /// What `addfg build -o OUTPUT` without other options means; without traces.
    pub fn new(output: PathBuf) -> Options {
        Options {
            traces: Vec::new(),
            elfs: Vec::new(),
            output,
            format: None,
            formats: Vec::new(),
            layout: None,
            detail: None,
            literal_saves: false,
            through: Vec::new(),
            allocators: Vec::new(),
            devices: Vec::new(),
            memories: Vec::new(),
            steps: true,
            strict: false,
            force: false,
            force_elf: false,
            memory_limit: 0,
            jobs: 1,
            superblock_after: None,
            chunk_steps: None,
        }
    }

    /// The detail that a pass over steps gives.
    pub(super) fn detail(&self) -> Detail {
        self.detail.unwrap_or(Detail::Summary)
    }

    /// Whether all rows of a run of so many steps are made behind the pass.
    pub(super) fn makes_rows(&self, steps: u64) -> bool {
        self.detail.is_none() && self.steps && steps <= ROWS_STEPS
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

/// How far a build is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progressed {
    /// Bytes that were read of the traces.
    pub bytes: u64,
    /// Bytes that there are, 0: unknown.
    pub total: u64,
    /// Steps that were read, 0: unknown.
    pub steps: u64,
}
