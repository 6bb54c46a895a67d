//! What a whole trace shows of how it was recorded.

use super::names::FunctionNames;
use crate::analysis::access::Insn;
use crate::analysis::interleaving::Interleaving;
use crate::analysis::sums::FunctionSums;
use crate::analysis::{CallKind, Summary};
use crate::diagnostics::{Counted, Diagnostic, Severity};
use crate::event::BlockDef;
use crate::id::FunctionId;
use crate::registers::RegAccess;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many calls are not in a calling context of their own. With call instances views go through
/// those instead.
pub fn contexts(left_out: u64) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        code: "many-contexts",
        message: format!(
            "{left_out} calls count as their callers' in call trees and flame graphs: there are too many calling contexts"
        ),
        position: String::new(),
        remedy: "build with --detail instance for all of them",
    }
}

/// Exits of a block's code for a conditional jump or a repeated string instruction. Those whose
/// condition follows from constants of the block are left out: valgrind decides them when it
/// translates (`mov $1,%ecx; rep movsb`).
fn certain_exits(block: &BlockDef, insns: &[Insn]) -> u64 {
    let (mut constant, mut exits) = (FxHashSet::default(), 0);
    for step in &block.steps {
        let decoded = &insns[step.insn as usize].decoded;
        let known = |read: &RegAccess| read.span.bytes().all(|byte| constant.contains(&byte));
        let (flow, reads) = (decoded.flow, &decoded.reads);
        let jumps = flow.conditional && flow.target.is_some() && !reads.iter().all(known);
        // Of a repeated instruction one register counts; the others are addresses and data.
        let repeats = flow.repeats && !reads.iter().any(known);
        exits += u64::from(jumps || repeats);
        let loads = decoded.memory.iter().any(|m| !m.is_write);
        let is_constant = !loads && reads.iter().all(known);
        for byte in decoded.writes.iter().flat_map(|w| w.span.bytes()) {
            if is_constant {
                constant.insert(byte);
            } else {
                constant.remove(&byte);
            }
        }
    }
    exits
}

/// Tells of lackey's logs in which valgrind went on past branches: `&&` is then run as one piece of
/// code with one exit, and instructions behind the first branch are listed that never ran. So more
/// conditional jumps are listed than lackey counted exits.
///
/// `exits` are those counts of all inputs, `counts` executions by block.
pub fn chased(
    exits: u64,
    insns: &[Insn],
    blocks: &[BlockDef],
    counts: &[u64],
) -> Option<Diagnostic> {
    let exits_of = |(block, count): (&BlockDef, &u64)| certain_exits(block, insns) * count;
    let listed: u64 = blocks.iter().zip(counts).map(exits_of).sum();
    (listed > exits).then(|| Diagnostic {
        severity: Severity::Error,
        code: "chased-branches",
        message: format!(
            "{listed} conditional jumps are listed, but valgrind ran {exits}: instructions that never ran are in the log"
        ),
        position: String::new(),
        remedy: "record with valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file=app.log ./app",
    })
}

/// Tells how often the registers of the x87 were renamed: they are a stack, and named from its top.
pub fn renamed(insns: &[Insn], blocks: &[BlockDef], counts: &[u64]) -> Option<Diagnostic> {
    let executed = |block: &BlockDef| {
        let steps = block.steps.iter().filter(|step| step.executed);
        steps.filter(|step| insns[step.insn as usize].decoded.renames).count() as u64
    };
    let times: u64 = blocks.iter().zip(counts).map(|(block, count)| executed(block) * count).sum();
    (times > 0).then(|| Diagnostic {
        severity: Severity::Info,
        code: "renamed-registers",
        message: format!(
            "{times} instructions pushed or popped the x87's stack of registers, which is not followed: what st(0) to st(7) hand on is that of the \
             name, not of the value"
        ),
        position: String::new(),
        remedy: "dataflow through memory and other registers is not affected; compile with -mfpmath=sse and without long double",
    })
}

/// Tells of instructions of a recording of which the decoder does not know all. What they accessed
/// is what the recorder was told: where it was told nothing, that may be because its host does not
/// tell (QEMU does not of SVE's loads and stores).
pub fn unmodelled(
    insns: &[Insn],
    blocks: &[BlockDef],
    counts: &[u64],
) -> impl Iterator<Item = Counted> {
    let mut found: FxHashMap<u32, [u64; 2]> = FxHashMap::default();
    for (block, count) in blocks.iter().zip(counts) {
        for step in block.steps.iter().filter(|step| step.executed) {
            if let Some(gap) = insns[step.insn as usize].decoded.unmodelled {
                let lost = gap.memory && step.mem == 0;
                found.entry(step.insn).or_default()[usize::from(lost)] += count;
            }
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_unstable();
    let tell = |(insn, [registers, memory]): (u32, [u64; 2])| {
        let Insn { def, decoded, .. } = &insns[insn as usize];
        let (text, address) = (&decoded.text, def.address);
        let remedy = decoded.unmodelled.map_or("", |gap| gap.remedy);
        let counted = |code, message, count| {
            let position = format!("address {address:#x}");
            let first = Diagnostic { severity: Severity::Error, code, message, position, remedy };
            Counted { first, count }
        };
        let lost = format!(
            "the recording has no access of `{text}`, of which it is not known what it loads or stores"
        );
        let part = format!("not all registers of `{text}` are known; they are left out");
        [
            counted("memory-unmodelled", lost, memory),
            counted("registers-unmodelled", part, registers),
        ]
    };
    let all: Vec<Counted> = found.into_iter().flat_map(tell).collect();
    all.into_iter().filter(|counted| counted.count > 0)
}

/// Steps of a hundred outside of all functions from which on it is said.
const NAMELESS: u64 = 90;

/// Tells of a run of which nearly nothing has a name.
pub fn nameless(
    insns: &[Insn],
    blocks: &[BlockDef],
    counts: &[u64],
    names: &FunctionNames,
) -> Option<Diagnostic> {
    let (mut all, mut nameless) = (0u64, 0u64);
    for (block, count) in blocks.iter().zip(counts) {
        let outside =
            |step: &&crate::event::BlockStep| names.is_unknown(insns[step.insn as usize].function);
        all += block.steps.len() as u64 * count;
        nameless += block.steps.iter().filter(outside).count() as u64 * count;
    }
    (all > 0 && nameless * 100 > all * NAMELESS).then(|| Diagnostic {
        severity: Severity::Warning,
        code: "nameless-run",
        message: format!(
            "{nameless} of {all} steps are in no known function: calls and dataflow are between `<unknown>` and itself"
        ),
        position: String::new(),
        remedy: "give the ELF file that ran, with its symbols: --elf FILE (or FILE@ADDRESS where it was loaded elsewhere)",
    })
}

/// Tells of calls between two functions whose inclusive steps, summed over the calls, exceed the run: some are
/// nested in others. So they are in a recursion. But where a run began nobody calls: returns that were
/// taken for calls look like that. `shown`: a function's name.
pub fn inclusive<'s>(
    summary: &Summary,
    shown: impl Fn(FunctionId) -> Option<&'s str>,
) -> Option<Counted> {
    let edges = &summary.call_edges;
    let begins = |f| edges.iter().any(|e| e.callee == f && e.kind == CallKind::Root);
    let beyond = edges.iter().filter(|edge| edge.steps > summary.steps);
    let whole = |f: &FunctionSums| f.steps_total > summary.steps;
    let functions = summary.functions.iter().filter(|f| whole(f)).count() as u64;
    let count = beyond.clone().count() as u64 + functions;
    let worst = beyond.max_by_key(|edge| (begins(edge.callee), edge.steps))?;
    let wrong = begins(worst.callee) || functions > 0;
    let name = |f: Option<FunctionId>| f.and_then(&shown).unwrap_or("<unknown>").to_owned();
    let (caller, callee) = (name(worst.caller), name(Some(worst.callee)));
    let (severity, says, remedy) = match wrong {
        true => (
            Severity::Warning,
            "the run began in it, so returns to it may have been taken for calls",
            "look at `addfg calls`; if nothing calls it in the program, keep the log and its ELF file and report it",
        ),
        false => (
            Severity::Info,
            "calls in a recursion count for each call that they are nested in",
            "`addfg calls --functions` counts the steps of a recursion once",
        ),
    };
    let first = Diagnostic {
        severity,
        code: "inclusive-steps",
        message: format!(
            "calls of {callee} by {caller} have {} inclusive steps, the run {}: {says}",
            worst.steps, summary.steps
        ),
        position: String::new(),
        remedy,
    };
    Some(Counted { first, count })
}

/// Times that what had ended was gone on with, in a log of several threads: fewer may be damage.
const OFTEN: u64 = 2;

/// Tells of several threads in a log that does not say so.
pub fn interleaved(found: &Interleaving) -> Option<Diagnostic> {
    (found.resumed >= OFTEN || found.woken > 0).then(|| Diagnostic {
        severity: Severity::Error,
        code: "threads-not-told-apart",
        message: format!(
            "control went back and forth between codes that had not called each other {} times: \
             several threads as if they were one, whose calls and register dataflow are fiction",
            found.resumed + found.woken
        ),
        position: found.first.map_or_else(String::new, |seq| format!("step {}", seq.get())),
        remedy: "record one thread, or with what tells threads apart: QEMU's execlog plugin, or its -d with exec",
    })
}
