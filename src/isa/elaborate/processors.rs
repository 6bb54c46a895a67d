//! Several processors, or threads, in a log that does not say whose each dump is.
//!
//! Each goes on at the place and with the registers with which it was left. So where registers that
//! no exception changes have other values than before, which the instruction before did not write,
//! and place and values are those of one that was left, then the log is of several. On one processor
//! an exception leaves these registers alone, and what gives them other values are instructions
//! that it executes. Signals and exceptions change some of the others. Where only these have other values,
//! all of them are to be those of one that was left, just at the instruction that was next there.

use super::dictionary::{Dictionary, KnownInstruction};
use super::register_values::RegisterValues;
use crate::event::{Isa, RegSpan};
use crate::isa::decoded::FlowKind;
use crate::registers::registers;
use std::collections::VecDeque;

/// Processors that were left and are remembered, of each kind.
const LEFT: usize = 16;
/// Times that one went on: a single time may be damage of the log.
pub const ENOUGH: u64 = 2;

/// Registers that neither an exception nor the delivery of a signal changes.
///
/// Source: Arm Architecture Reference Manual (DDI 0406, B1.3.2; DDI 0403, B1.5.6): banked and
/// stacked registers; setup_rt_frame() of Linux for each processor.
fn kept(isa: Isa) -> Vec<RegSpan> {
    let numbered = |letter: char, from: u32, to: u32| {
        (from..=to).map(move |number| format!("{letter}{number}")).collect::<Vec<_>>()
    };
    let named = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let names = match isa {
        Isa::X86_64 => named(&["rbx", "rbp", "r12", "r13", "r14", "r15"]),
        Isa::X86 => named(&["ebx", "ebp", "esi", "edi"]),
        Isa::Arm => numbered('r', 4, 11),
        Isa::Aarch64 => numbered('x', 3, 28),
        Isa::Riscv32 | Isa::Riscv64 => {
            [numbered('s', 0, 11), numbered('t', 0, 6), numbered('a', 3, 7)].concat()
        }
    };
    lookup(isa, &names)
}

/// The other general registers, but for those that a processor has several of, one a mode, and what the
/// exceptions of ARM's M profile set.
fn others(isa: Isa) -> Vec<RegSpan> {
    let names: &[&str] = match isa {
        Isa::X86_64 => &["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "rsp"],
        Isa::X86 => &["eax", "ecx", "edx", "esp"],
        Isa::Arm => &["r0", "r1", "r2", "r3", "r12"],
        Isa::Aarch64 => &["x0", "x1", "x2", "x29", "lr"],
        Isa::Riscv32 | Isa::Riscv64 => &["a0", "a1", "a2", "ra", "sp"],
    };
    lookup(isa, &names.iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn lookup(isa: Isa, names: &[String]) -> Vec<RegSpan> {
    let file = registers(isa);
    names.iter().filter_map(|name| file.lookup(name)).collect()
}

/// Values of the general registers, the kept ones first.
type Values = Vec<Option<u64>>;

/// One that was left: its last instruction, and the registers before that.
pub struct Left {
    instruction: usize,
    values: Values,
    /// Kept registers had other values behind it.
    is_kept: bool,
}

pub struct Processors {
    general: Vec<RegSpan>,
    /// How many of them are kept.
    kept: usize,
    /// By offset: the number of the general register that begins there.
    number: Vec<usize>,
    /// Those where kept registers had other values, and those where only others had.
    left: [VecDeque<Left>; 2],
    /// Times that one which was left went on.
    pub returned: u64,
}

impl Processors {
    pub fn new(isa: Isa) -> Processors {
        let mut general = kept(isa);
        let kept = general.len();
        general.extend(others(isa));
        let mut number = vec![usize::MAX; registers(isa).size];
        for (i, span) in general.iter().enumerate() {
            number[usize::from(span.offset)] = i;
        }
        Processors { general, kept, number, left: Default::default(), returned: 0 }
    }

    fn values(&self, registers: &RegisterValues) -> Values {
        self.general.iter().map(|span| registers.get(*span)).collect()
    }

    /// What is left if registers change that `instruction`, the last of the log, does not write;
    /// `registers` are those before it.
    #[inline]
    pub fn leave(
        &self,
        known: &KnownInstruction,
        instruction: usize,
        registers: &RegisterValues,
        changes: &[(RegSpan, u64)],
    ) -> Option<Left> {
        let number = |span: RegSpan| self.number.get(usize::from(span.offset)).copied();
        let unexplained = |&&(span, value): &&(RegSpan, u64)| {
            number(span).is_some_and(|number| number != usize::MAX)
                && known.decoded.writes.iter().all(|written| !written.span.overlaps(span))
                && registers.get(span).is_some_and(|before| before != value)
        };
        changes.iter().find(unexplained)?;
        let of_kept = |(span, _): &(RegSpan, u64)| number(*span).is_some_and(|n| n < self.kept);
        let is_kept = changes.iter().filter(unexplained).any(of_kept);
        // Of these it is not known what they do.
        let said = matches!(
            known.decoded.flow.kind,
            FlowKind::Next | FlowKind::Jump | FlowKind::Call | FlowKind::Return
        );
        let known_whole = said && known.decoded.unmodelled.is_none() && !known.helper;
        known_whole.then(|| Left { instruction, values: self.values(registers), is_kept })
    }

    /// The instruction behind the one of `left`, with the registers before it. True if it is another
    /// processor's, which goes on.
    #[cold]
    pub fn go_on(
        &mut self,
        dictionary: &Dictionary,
        left: Left,
        next: usize,
        registers: &RegisterValues,
    ) -> bool {
        let now = self.values(registers);
        let address = dictionary.at(next).def.address;
        let goes_on = |other: &Left| {
            let known = dictionary.at(other.instruction);
            let written =
                |span: &RegSpan| known.decoded.writes.iter().any(|w| w.span.overlaps(*span));
            let same = |count: usize| {
                let mut values = self.general.iter().zip(&other.values).zip(&now).take(count);
                values.all(|((span, before), now)| before == now || written(span))
            };
            let follows = may_follow(known, address);
            let by_kept =
                left.is_kept && other.is_kept && follows != Some(false) && same(self.kept);
            by_kept || follows == Some(true) && same(self.general.len())
        };
        let mut found = false;
        for list in &mut self.left {
            if let Some(place) = list.iter().position(goes_on) {
                list.remove(place);
                self.returned += 1;
                found = true;
                break;
            }
        }
        let list = &mut self.left[usize::from(!left.is_kept)];
        list.truncate(LEFT - 1);
        list.push_front(left);
        found
    }
}

/// Whether control goes on at an address: of most instructions it is known where.
fn may_follow(known: &KnownInstruction, address: u64) -> Option<bool> {
    let flow = known.decoded.flow;
    let known_targets = match flow.kind {
        FlowKind::Next => true,
        FlowKind::Jump | FlowKind::Call => flow.target.is_some(),
        _ => false,
    };
    known_targets.then(|| address == known.next || flow.target == Some(address))
}
