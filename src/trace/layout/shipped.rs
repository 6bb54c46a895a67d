//! Layouts that come with addfg.

use super::Layout;
use crate::diagnostics::Diagnostic;
use crate::event::{Carries, Isa, RunBatch, StepBatch};
use crate::trace::input::Input;
use crate::trace::lines::Lines;
use crate::trace::{Context, Listener, Sink, StepFormat, TraceError};

/// A layout by its name.
pub struct Shipped {
    pub name: &'static str,
    /// One line: what logs it is for.
    pub about: &'static str,
    pub text: &'static str,
}

pub const SHIPPED: &[Shipped] = &[
    Shipped {
        name: "sail",
        about: "Sail's RISC-V model, --trace",
        text: include_str!("shipped/sail.toml"),
    },
    Shipped {
        name: "renode",
        about: "Renode's execution tracing: Disassembly, PCAndOpcode, PC",
        text: include_str!("shipped/renode.toml"),
    },
    Shipped {
        name: "ibex",
        about: "the tracer of the RISC-V core ibex",
        text: include_str!("shipped/ibex.toml"),
    },
    Shipped {
        name: "cv32e40p",
        about: "the tracer of the RISC-V core cv32e40p",
        text: include_str!("shipped/ibex.toml"),
    },
    Shipped {
        name: "tenet",
        about: "Tenet's traces, of its tracers for Pin, QEMU and PANDA",
        text: include_str!("shipped/tenet.toml"),
    },
    Shipped {
        name: "dynamorio",
        about: "DynamoRIO's drmemtrace, -tool view",
        text: include_str!("shipped/dynamorio.toml"),
    },
];

/// The layout of a name.
pub fn named(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}

/// Lines by which a layout is found.
const FIRST: usize = 64;

/// The layout that fits the first bytes of a log which is of no format: of a layout, each step has a
/// line, and half of the lines are steps or of them.
pub fn fitting(head: &[u8]) -> Option<&'static Shipped> {
    let end = memchr::memrchr(b'\n', head)?;
    let lines = Lines::of(&head[..=end]).take(FIRST);
    let text = lines.flat_map(|line| [line.text, b"\n"]).collect::<Vec<_>>().concat();
    SHIPPED.iter().find(|shipped| {
        let mut fit = Fit::default();
        let context = Context { isa: Some(Isa::Riscv64), layout: Some(shipped.text), jobs: 1 };
        let read = Input::from_bytes("log", &text)
            .and_then(|input| Layout.read(input, &context, &mut fit));
        read.is_ok() && fit.steps > 0 && fit.problems < fit.steps
    })
}

/// How well a layout fits.
#[derive(Default)]
struct Fit {
    steps: usize,
    problems: usize,
}

impl Listener for Fit {
    fn diagnostic(&mut self, problem: Diagnostic) {
        self.problems += usize::from(problem.code == "malformed-line");
    }
    fn progress(&mut self, _: u64) {}
}

impl Sink for Fit {
    fn begin(&mut self, _: Carries, _: Option<Isa>) -> Result<(), TraceError> {
        Ok(())
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.steps += batch.len();
        batch.clear();
        Ok(())
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        *batch = RunBatch::default();
        Ok(())
    }
}
