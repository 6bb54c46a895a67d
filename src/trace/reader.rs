//! What a trace format is, and where its records go.

use super::error::TraceError;
use super::input::Input;
use crate::diagnostics::Diagnostic;
use crate::event::{Carries, Isa, RunBatch, StepBatch};

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
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError>;
}

/// What a reader may need to know beside its input.
pub struct Context<'a> {
    /// Instruction set of the ELF files, if there are any.
    pub isa: Option<Isa>,
    /// Text of the layout file, for the `layout` format.
    pub layout: Option<&'a str>,
    /// Threads that may parse beside the caller's.
    pub jobs: usize,
}

/// What a recorder says of the run itself, to be compared with what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Executions of conditional jumps, and iterations of repeated string instructions.
    ConditionalExits(u64),
    /// The process that was recorded.
    Process(ProcessClaim),
}

/// A process as a log's head names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessClaim {
    pub pid: Option<u64>,
    pub program: Option<Box<str>>,
    /// The process that began it.
    pub parent: Option<u64>,
}

/// Who is told how the reading goes.
pub trait Listener {
    fn diagnostic(&mut self, diagnostic: Diagnostic);
    /// Bytes of the input, compressed as it is, that were consumed since the last call.
    fn progress(&mut self, bytes: u64);
    fn claim(&mut self, _: Claim) {}
    /// Bytes of memory that may be taken.
    fn memory(&self) -> u64 {
        u64::MAX
    }
}

/// Where the rows of a [`StepFormat`] go.
pub trait Sink: Listener {
    /// Once, before the first batch: what this file carries, and its instruction set if the log
    /// tells.
    fn begin(&mut self, carries: Carries, isa: Option<Isa>) -> Result<(), TraceError>;
    /// Takes the rows out of `batch` and leaves an empty one to fill again.
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError>;
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError>;
}
