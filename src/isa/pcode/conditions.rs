//! Conditions of ARM: of A32 opcodes, and of T32 instructions in IT blocks.

use crate::event::RegSpan;
use crate::isa::decoded::{Decoded, FlowKind};
use crate::isa::expr::{Expr, Operator};
use crate::registers::Registers;

/// Flags with which ARM's conditions 0, 2, 4, ... hold: bit n is set if it holds with N Z C V = n.
/// The odd ones are their opposites.
const CONDITIONS: [u16; 8] = {
    let mut table = [0u16; 8];
    let mut flags = 0;
    while flags < 16 {
        let (n, z, c, v) =
            (flags >> 3 & 1 == 1, flags >> 2 & 1 == 1, flags >> 1 & 1 == 1, flags & 1 == 1);
        let held = [z, c, n, v, c && !z, n == v, n == v && !z, true];
        let mut k = 0;
        while k < 8 {
            if held[k] {
                table[k] |= 1 << flags;
            }
            k += 1;
        }
        flags += 1;
    }
    table
};

fn flags(cpsr: RegSpan) -> Expr {
    Expr::Reg(cpsr).binary(Operator::Shr, Expr::Const(28))
}

/// 1 if the ARM condition (0 to 13) holds.
pub fn holds(cpsr: RegSpan, condition: u32) -> Expr {
    let table = CONDITIONS.get(condition as usize >> 1).copied().unwrap_or(0);
    let table = if condition & 1 == 1 { !table } else { table };
    Expr::Const(table.into())
        .binary(Operator::Shr, flags(cpsr))
        .binary(Operator::And, Expr::Const(1))
}

/// 1 outside of an IT block, and inside one if the condition in ITSTATE holds: CPSR has IT[7:2] in
/// bits 15:10 and IT[1:0] in 26:25.
pub fn it_holds(cpsr: RegSpan) -> Expr {
    use Operator::*;
    // Kept as written: this is evaluated at every Thumb instruction.
    let op = |op: Operator, a: Expr, b: Expr| Expr::Binary(op, Box::new(a), Box::new(b));
    let (c, reg) = (Expr::Const, || Expr::Reg(cpsr));
    let half = |k: usize| {
        let tables = CONDITIONS[k..k + 4].iter().rev();
        tables.fold(0u64, |all, table| all << 16 | u64::from(*table))
    };
    let outside = op(Eq, op(And, reg(), c(0x0600_0c00)), c(0));
    // Bits 15:13 (the condition without its lowest bit) and the flags index a table of 8 x 16 bits,
    // of which a word holds half.
    let index = op(Or, op(And, op(Shr, reg(), c(9)), c(0x30)), flags(cpsr));
    let upper = op(Sub, c(0), op(And, op(Shr, reg(), c(15)), c(1)));
    let table = op(Xor, c(half(0)), op(And, upper, c(half(0) ^ half(4))));
    // Bit 12 selects the opposite condition.
    let held = op(Xor, op(Shr, table, index), op(Shr, reg(), c(12)));
    op(Or, outside, op(And, held, c(1)))
}

/// Gives `decoded` the condition of an A32 opcode (`condition`, 0 to 13).
pub fn apply(file: &Registers, decoded: &mut Decoded, condition: u32) {
    let Some(cpsr) = file.lookup("cpsr") else { return };
    let kind = decoded.flow.kind;
    decoded.flow.conditional |= kind != FlowKind::Next;
    if !decoded.reads.iter().any(|r| r.span == cpsr) {
        decoded.reads.push(file.access(cpsr));
        decoded.reads.sort_by_key(|r| r.span);
    }
    // A branch that does nothing but branch is told by the next address.
    let branches = kind == FlowKind::Jump || kind.returns();
    if !(branches && decoded.memory.is_empty() && decoded.writes.is_empty()) {
        decoded.condition = Some(holds(cpsr, condition));
    }
}

/// Gives `decoded`, a T32 instruction, the condition of the IT block that it may stand in.
pub fn apply_it(file: &Registers, decoded: &mut Decoded) {
    if let Some(cpsr) = file.lookup("cpsr")
        && !decoded.flow.conditional
        && !decoded.text.starts_with("bkpt")
    {
        decoded.condition = Some(it_holds(cpsr));
    }
}
