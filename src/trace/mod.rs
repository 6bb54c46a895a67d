//! Trace formats: one file a format, one word in [`STEP_FORMATS`] or [`TABLE_FORMATS`]; detection
//! by content; files, pipes and compression in [`input`].

use crate::diagnostics::Diagnostic;
use crate::event::{Carries, Isa, RunBatch, StepBatch};

pub mod csi;
pub mod dcfg;
pub mod execlog;
pub mod giano;
pub mod input;
pub mod lackey;
pub mod layout;
pub mod qemu;
pub mod record;
pub mod wet;
pub mod xray;

/// What is said of a trace format.
pub trait Format: Sync {
    /// The word for `--format`.
    fn name(&self) -> &'static str;
    /// One line: what makes such a file.
    fn about(&self) -> &'static str;
    /// The command that records one.
    fn record(&self) -> &'static str;
    /// What it carries at best (a single file's [`Sink::begin`] is exact).
    fn carries(&self) -> Carries;
    /// Whether the first bytes (up to 64 KiB, after decompression) are of this format. At most one
    /// format may say yes.
    fn sniff(&self, head: &[u8]) -> bool;
    /// A longer text for `addfg formats NAME`: the grammar, its limits.
    fn help(&self) -> &'static str;
}

/// A format whose records are executed instructions, from which [`crate::analysis`] finds the rest.
pub trait StepFormat: Format {
    fn read(
        &self,
        input: input::Input,
        context: &Context,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError>;
}

/// A format whose records are calls, communications or control flow: it fills the tables itself.
pub trait TableFormat: Format {
    /// Loads all files of a run. Bad input is a [`crate::diagnostics::Diagnostic`] and goes on
    /// behind the damage where that can be done; an error is for an input of which nothing can be
    /// loaded.
    fn load(
        &self,
        inputs: Vec<input::Input>,
        load: &mut crate::load::Load,
    ) -> Result<Loaded, crate::load::BuildError>;
}

/// What a [`TableFormat`] loaded.
#[derive(Debug, Default)]
pub struct Loaded {
    /// What these files carry.
    pub carries: Carries,
    /// Steps, calls and functions, for the line that the build prints.
    pub steps: u64,
    pub calls: u64,
    pub functions: usize,
    /// More rows for `meta`.
    pub meta: Vec<(&'static str, Option<String>)>,
}

pub static STEP_FORMATS: &[&dyn StepFormat] =
    &[&lackey::Lackey, &qemu::Qemu, &execlog::Execlog, &giano::Giano, &layout::Layout];
pub static TABLE_FORMATS: &[&dyn TableFormat] = &[&csi::Csi, &dcfg::Dcfg, &wet::Wet, &xray::Xray];

/// Every format, in the order in which `addfg formats` lists them.
pub fn formats() -> impl Iterator<Item = &'static dyn Format> {
    STEP_FORMATS
        .iter()
        .map(|f| *f as &dyn Format)
        .chain(TABLE_FORMATS.iter().map(|f| *f as &dyn Format))
}

/// What a reader may need to know beside its input.
pub struct Context<'a> {
    /// Instruction set of the ELF files, if there are any.
    pub isa: Option<Isa>,
    pub big_endian: bool,
    /// Code bytes at a run-time address, to the end of their segment.
    pub code: &'a (dyn Fn(u64) -> Option<&'a [u8]> + Sync),
    /// Layout file for the `layout` format.
    pub layout: Option<&'a str>,
    /// Threads that may parse beside the caller's.
    pub jobs: usize,
}

/// Where a reader's rows go.
pub trait Sink {
    /// Once, before the first batch: what this file carries, and its instruction set if the log
    /// tells.
    fn begin(&mut self, carries: Carries, isa: Option<Isa>) -> Result<(), TraceError>;
    /// Takes the rows out of `batch` and leaves an empty one to fill again.
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError>;
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError>;
    fn diagnostic(&mut self, diagnostic: Diagnostic);
    /// Bytes of the input that were consumed, for the progress bar.
    fn progress(&mut self, bytes: u64);
}

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("cannot read {name}")]
    Io { name: String, source: std::io::Error },
    #[error(
        "{name}: not a trace in any format that addfg knows ({seen}); `addfg formats` lists them, --format NAME forces one"
    )]
    UnknownFormat { name: String, seen: String },
    #[error("{name}: empty file; nothing was recorded")]
    Empty { name: String },
    #[error("{name}:{position}: {message}; {remedy}")]
    Malformed { name: String, position: String, message: String, remedy: String },
    /// The receiving side ended; its own error says why.
    #[error("the build was stopped")]
    Stopped,
}

/// A format as [`detect`] gives it.
pub enum Found {
    Steps(&'static dyn StepFormat),
    Tables(&'static dyn TableFormat),
}

impl Found {
    pub fn format(&self) -> &'static dyn Format {
        match self {
            Found::Steps(format) => *format,
            Found::Tables(format) => *format,
        }
    }
}

/// The format of an input: the one named, else the one that recognises its first bytes.
pub fn detect(input: &input::Input, forced: Option<&str>) -> Result<Found, TraceError> {
    let is = |f: &dyn Format| forced.map_or_else(|| f.sniff(input.head()), |name| f.name() == name);
    if let Some(format) = STEP_FORMATS.iter().find(|f| is(**f)) {
        return Ok(Found::Steps(*format));
    }
    if let Some(format) = TABLE_FORMATS.iter().find(|f| is(**f)) {
        return Ok(Found::Tables(*format));
    }
    let seen = match forced {
        Some(name) => format!("no format is named {name}"),
        None => format!(
            "it begins with `{}`",
            input.head()[..input.head().len().min(40)].escape_ascii()
        ),
    };
    Err(TraceError::UnknownFormat { name: input.name().to_owned(), seen })
}
