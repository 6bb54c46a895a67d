//! Problems met on the way from steps to runs.

use crate::diagnostics::{Counted, Diagnostic, Severity};
use std::collections::BTreeMap;
use std::fmt::Arguments;

/// A kind of problem.
#[derive(Clone, Copy)]
pub struct ProblemKind {
    severity: Severity,
    code: &'static str,
    remedy: &'static str,
}

impl ProblemKind {
    /// Something is not in the database that ran.
    pub const fn lost(code: &'static str, remedy: &'static str) -> ProblemKind {
        ProblemKind { severity: Severity::Error, code, remedy }
    }

    /// Something was taken for likely.
    pub const fn assumed(code: &'static str, remedy: &'static str) -> ProblemKind {
        ProblemKind { severity: Severity::Warning, code, remedy }
    }
}

pub const UNDECODED: ProblemKind =
    ProblemKind::lost("instruction-undecoded", "give the ELF files that ran with --elf");
pub const UNDEFINED: ProblemKind =
    ProblemKind::lost("instruction-unknown", "this is a defect of the reader; report it");
pub const UNKNOWN_ADDRESS: ProblemKind =
    ProblemKind::lost("address-unknown", "record with these registers, or with accesses");
pub const TOO_MANY_ACCESSES: ProblemKind =
    ProblemKind::lost("accesses-too-many", "this is more than any instruction makes; see the log");
pub const UNKNOWN_CONDITION: ProblemKind = ProblemKind::assumed(
    "condition-unknown",
    "record with the registers that the instruction reads, the flags included",
);
pub const UNKNOWN_SIZE: ProblemKind =
    ProblemKind::assumed("access-size-unknown", "record with sizes of the accesses");
pub const NOT_TOLD_APART: ProblemKind = ProblemKind::lost(
    "threads-not-told-apart",
    "record with exec among the words of QEMU's -d, which says whose each dump is, or one processor (-smp 1)",
);
pub const OTHER_DIRECTION: ProblemKind = ProblemKind::assumed(
    "access-direction",
    "correct what the log, or its layout file, says is a load or a store",
);

/// Kinds of problems with their number; a message is made for the first of each only.
#[derive(Default)]
pub struct ProblemCounts(BTreeMap<&'static str, Counted>);

impl ProblemCounts {
    pub fn add(
        &mut self,
        kind: ProblemKind,
        position: Arguments,
        message: impl FnOnce() -> String,
    ) {
        let ProblemKind { severity, code, remedy } = kind;
        self.0.entry(code).and_modify(|row| row.count += 1).or_insert_with(|| {
            let (position, message) = (position.to_string(), message());
            let first = Diagnostic { severity, code, message, position, remedy };
            Counted { first, count: 1 }
        });
    }

    /// By code.
    pub fn all(&self) -> impl Iterator<Item = &Counted> {
        self.0.values()
    }
}
