//! Several processors, or threads, in a log that does not say whose each dump is.
//!
//! Each goes on at the place and with the registers with which it was left. So where registers that
//! no exception changes have other values than before, which the instruction before did not write,
//! and place and values are those of one that was left, then the log is of several. On one processor
//! an exception leaves these registers alone, and what gives them other values are instructions
//! that it executes.

use super::dictionary::{Dictionary, KnownInstruction};
use super::register_values::RegisterValues;
use crate::event::{Isa, RegSpan};
use crate::isa::decoded::FlowKind;
use crate::registers::registers;
use std::collections::VecDeque;

/// Processors that were left and are remembered.
const LEFT: usize = 16;
/// Times that one went on: a single time may be damage of the log.
pub const ENOUGH: u64 = 2;

/// Registers that neither an exception nor the delivery of a signal changes.
///
/// Source: Arm Architecture Reference Manual (DDI 0406, B1.3.2; DDI 0403, B1.5.6): banked and
/// stacked registers; setup_rt_frame() of Linux for each processor.
fn kept(isa: Isa) -> Vec<RegSpan> {
    let file = registers(isa);
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
    names.iter().filter_map(|name| file.lookup(name)).collect()
}

/// Values of the kept registers.
type Values = Vec<Option<u64>>;

/// One that was left: its last instruction, and the registers before that.
pub struct Left {
    instruction: usize,
    values: Values,
}

pub struct Processors {
    kept: Vec<RegSpan>,
    /// By offset: whether a kept register begins there.
    is_kept: Vec<bool>,
    left: VecDeque<Left>,
    /// Times that one which was left went on.
    pub returned: u64,
}

impl Processors {
    pub fn new(isa: Isa) -> Processors {
        let kept = kept(isa);
        let mut is_kept = vec![false; registers(isa).size];
        kept.iter().for_each(|span| is_kept[usize::from(span.offset)] = true);
        Processors { kept, is_kept, left: VecDeque::new(), returned: 0 }
    }

    fn values(&self, registers: &RegisterValues) -> Values {
        self.kept.iter().map(|span| registers.get(*span)).collect()
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
        let unexplained = |&&(span, value): &&(RegSpan, u64)| {
            self.is_kept.get(usize::from(span.offset)) == Some(&true)
                && known.decoded.writes.iter().all(|written| !written.span.overlaps(span))
                && registers.get(span).is_some_and(|before| before != value)
        };
        changes.iter().find(unexplained)?;
        // Of these it is not known what they do.
        let said = matches!(
            known.decoded.flow.kind,
            FlowKind::Next | FlowKind::Jump | FlowKind::Call | FlowKind::Return
        );
        let known_whole = said && known.decoded.unmodelled.is_none() && !known.helper;
        known_whole.then(|| Left { instruction, values: self.values(registers) })
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
            let mut values = self.kept.iter().zip(&other.values).zip(&now);
            may_follow(known, address)
                && values.all(|((span, before), now)| before == now || written(span))
        };
        let found = self.left.iter().position(goes_on);
        if let Some(place) = found {
            self.left.remove(place);
            self.returned += 1;
        }
        self.left.truncate(LEFT - 1);
        self.left.push_front(left);
        found.is_some()
    }
}

/// Whether control may go on at an address: of most instructions it is known where.
fn may_follow(known: &KnownInstruction, address: u64) -> bool {
    let flow = known.decoded.flow;
    let known_targets = match flow.kind {
        FlowKind::Next => true,
        FlowKind::Jump | FlowKind::Call => flow.target.is_some(),
        _ => false,
    };
    !known_targets || address == known.next || flow.target == Some(address)
}
