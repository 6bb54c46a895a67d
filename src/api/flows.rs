//! Sums of a run.

use super::problem::{Problem, problems};
use crate::graph::Via;
use crate::load::{Summed, SummedFunction};

/// The sums of a run: which functions ran, who called whom, and whose data each of them read.
///
/// They are those of a database at detail `summary`, by the rules of `docs/semantics.md`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Flows {
    /// Executed instructions.
    pub steps: u64,
    /// In the order in which they were met; the others have their places in this list.
    pub functions: Vec<Function>,
    /// By writer, reader and via.
    pub flows: Vec<Flow>,
    /// By caller and callee.
    pub calls: Vec<Call>,
    /// What was lost or not understood.
    pub problems: Vec<Problem>,
}

/// A function that ran, or who wrote or read outside of it (`<input>`, `<read: words.txt>`).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Function {
    /// Its name, demangled; no other function's.
    pub name: String,
    /// Source or object file, where that is known.
    pub file: Option<String>,
    /// It is a PLT stub, a veneer or an IFUNC resolver.
    pub is_stub: bool,
    /// It stands for who wrote or read outside of the program's code.
    pub is_pseudo: bool,
    /// How often it was called.
    pub calls: u64,
    /// Instructions that it executed itself.
    pub steps_self: u64,
    /// The same with those of what it called.
    pub steps_total: u64,
}

/// Bytes that one function wrote and another one (or itself, in another call) read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Flow {
    /// Place in [`Flows::functions`].
    pub writer: usize,
    /// Place in [`Flows::functions`].
    pub reader: usize,
    /// What the bytes went through.
    pub via: Via,
    /// Bytes read, each read counted.
    pub bytes: u64,
    /// Distinct pairs of a byte and its write, for each call that read.
    pub unique_bytes: u64,
    /// Distinct bytes of memory and registers.
    pub addresses: u64,
    /// Distinct pairs of a write and a read.
    pub transfers: u64,
}

/// Calls of one function by another.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Call {
    /// Place in [`Flows::functions`]; None: nothing of the run called it.
    pub caller: Option<usize>,
    /// Place in [`Flows::functions`].
    pub callee: usize,
    /// How often.
    pub calls: u64,
    /// Instructions of these calls, with those of what they called.
    pub steps: u64,
}

impl Flows {
    pub(super) fn of(summed: Summed) -> Flows {
        let function = |f: SummedFunction| Function {
            name: f.name,
            file: f.file,
            is_stub: f.is_stub,
            is_pseudo: f.is_pseudo,
            calls: f.calls,
            steps_self: f.steps_self,
            steps_total: f.steps_total,
        };
        let flows = summed.flows.iter().map(|&((writer, reader, via), sums)| Flow {
            writer: writer.index(),
            reader: reader.index(),
            via: Via::of(via),
            bytes: sums[0],
            unique_bytes: sums[1],
            addresses: sums[2],
            transfers: sums[3],
        });
        let calls = summed.calls.iter().map(|edge| Call {
            caller: edge.caller.map(|caller| caller.index()),
            callee: edge.callee.index(),
            calls: edge.calls,
            steps: edge.steps,
        });
        Flows {
            steps: summed.steps,
            flows: flows.collect(),
            calls: calls.collect(),
            problems: problems(&summed.diagnostics),
            functions: summed.functions.into_iter().map(function).collect(),
        }
    }
}
