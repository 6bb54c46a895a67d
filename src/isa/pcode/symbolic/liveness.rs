//! Backwards through the p-code: only what reaches a register, memory, a branch or the outside
//! counts as read.

use super::effects::Effects;
use super::op::{BranchTarget, PcodeOp, Space, Varnode};
use crate::isa::pcode::register_map::{RegisterMap, ShownAs};
use libsla::{IntOp, IntSign, OpCode, PseudoOp};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Times that a loop is gone through: loops are rare and small, so that this reaches the fixed
/// point.
const ROUNDS: usize = 8;

/// Bytes that something later needs, and register bytes that may still reach the end.
#[derive(Clone, Default)]
struct Liveness {
    needed: FxHashSet<(Space, u64)>,
    reaching: FxHashSet<(Space, u64)>,
}

/// Register bytes (ours) that are read, leaving out the data of the store `without`; `next` is the
/// address after the instruction.
pub fn reads(
    effects: &Effects,
    map: &RegisterMap,
    next: u64,
    without: Option<usize>,
) -> BTreeSet<u16> {
    let count = effects.ops.len();
    // What is needed before each op, and at the end.
    let mut before = vec![Liveness::default(); count + 1];
    before[count] = Liveness::at_exit(effects, map);
    let has_loop = effects.ops.iter().enumerate().any(|(i, op)| {
        matches!(op.code, OpCode::Branch | OpCode::BranchConditional)
            && op.back(i, count, next).is_some()
    });
    for _ in 0..if has_loop { ROUNDS } else { 1 } {
        for i in (0..count).rev() {
            let mut live = after(effects, i, next, &before);
            if !effects.dead[i] {
                live.step(&effects.ops[i], without == Some(i), effects.constant[i]);
            }
            before[i] = live;
        }
    }
    let mut reads = BTreeSet::new();
    for &(_, at) in before[0].needed.iter().filter(|(space, _)| *space == Space::Register) {
        map.shown_bytes(at, &mut reads);
    }
    reads
}

/// What is needed after op `index`, wherever it goes on.
fn after(effects: &Effects, index: usize, next: u64, before: &[Liveness]) -> Liveness {
    let (op, count) = (&effects.ops[index], effects.ops.len());
    let target = || match op.target(index, count, next) {
        Some(BranchTarget::Op(to)) => &before[to],
        _ => &before[count],
    };
    match op.code {
        OpCode::Branch => target().clone(),
        OpCode::BranchConditional => {
            let mut live = before[index + 1].clone();
            live.needed.extend(&target().needed);
            live.reaching.extend(&target().reaching);
            live
        }
        OpCode::BranchIndirect | OpCode::Return => before[count].clone(),
        _ => before[index + 1].clone(),
    }
}

impl Liveness {
    fn at_exit(effects: &Effects, map: &RegisterMap) -> Liveness {
        let outputs = effects.ops.iter().filter_map(|op| op.out);
        let places = outputs.filter(|v| v.space == Space::Register).flat_map(Varnode::places);
        // Registers that we do not show are SLEIGH's own temporaries: nothing after the instruction
        // needs them.
        let shown = |at: u64| map.at(at).is_some_and(|m| m.shown != ShownAs::Zero);
        Liveness {
            reaching: places.filter(|(_, at)| shown(*at)).collect(),
            needed: FxHashSet::default(),
        }
    }

    fn need(&mut self, v: &Varnode) {
        if matches!(v.space, Space::Register | Space::Unique | Space::Other) {
            self.needed.extend(v.places());
        }
    }

    fn need_operand(&mut self, op: &PcodeOp, n: usize) {
        if let Some(v) = op.ins.get(n) {
            self.need(v);
        }
    }

    /// Backwards over one op; `unread`: the data that it stores does not count.
    fn step(&mut self, op: &PcodeOp, unread: bool, constant: bool) {
        match op.code {
            OpCode::Branch | OpCode::Call => {}
            OpCode::BranchConditional => self.need_operand(op, 1),
            OpCode::BranchIndirect | OpCode::CallIndirect | OpCode::Return => {
                self.need_operand(op, 0);
            }
            OpCode::Store => {
                self.need_operand(op, 1);
                if !unread {
                    self.need_operand(op, 2);
                }
            }
            _ => self.assignment(op, unread, constant),
        }
    }

    fn assignment(&mut self, op: &PcodeOp, unread: bool, constant: bool) {
        let mut useful: Vec<bool> = Vec::new();
        let any = match op.out {
            Some(v) if v.space == Space::Memory => !unread,
            Some(v) => {
                for place in v.places() {
                    let needed = self.needed.remove(&place);
                    useful.push(self.reaching.remove(&place) || needed);
                }
                useful.contains(&true)
            }
            None => true,
        };
        if op.code == OpCode::Load {
            // Loads happen whether their value is used or not.
            if op.space == Space::Memory {
                self.need_operand(op, 1);
            }
        } else if any && !constant {
            self.operands(op, &useful);
        }
    }

    /// The operands of an op whose result is useful: byte for byte where it only moves bytes, else
    /// all.
    fn operands(&mut self, op: &PcodeOp, useful: &[bool]) {
        let bytes = || (0u64..).zip(useful).filter(|(_, useful)| **useful).map(|(byte, _)| byte);
        match (op.code, op.ins.as_slice()) {
            (OpCode::Copy | OpCode::Int(IntOp::Extension(IntSign::Unsigned)), [v])
                if !useful.is_empty() =>
            {
                bytes().for_each(|byte| self.need_byte(v, byte));
            }
            (OpCode::Subpiece, [v, skip]) if !useful.is_empty() => {
                bytes().for_each(|byte| self.need_byte(v, byte.saturating_add(skip.at)));
            }
            (OpCode::Piece, [high, low]) if !useful.is_empty() => {
                for byte in bytes() {
                    match byte.checked_sub(low.size.into()) {
                        None => self.need_byte(low, byte),
                        Some(above) => self.need_byte(high, above),
                    }
                }
            }
            // The first input of CALLOTHER is the operation's number.
            (OpCode::Pseudo(PseudoOp::CallOther), [_, rest @ ..]) => {
                rest.iter().for_each(|v| self.need(v));
            }
            (_, all) => all.iter().for_each(|v| self.need(v)),
        }
    }

    /// Byte `index` of a varnode, if it has so many.
    fn need_byte(&mut self, v: &Varnode, index: u64) {
        if index < u64::from(v.size) {
            self.need(&v.byte(index));
        }
    }
}
