//! Forwards through the p-code: values, accesses, and where control goes.

use super::compute::compute;
use super::effects::{ByteValue, Effects, MemEffect, Transfer};
use super::op::{BranchTarget, PcodeOp, Space, Varnode};
use super::values::{LOADS, Storage, Value, Values, flag_bit};
use crate::isa::expr::{Expr, Operator};
use crate::isa::pcode::register_map::{RegisterMap, ShownAs};
use libsla::OpCode;

/// Places of hidden temporaries that hold what varnodes in memory gave.
const HIDDEN: u64 = 1 << 40;

/// A way through the p-code that waits for the op where a forward branch ends.
struct Waiting {
    at: usize,
    storage: Storage,
    path: Vec<Expr>,
}

pub struct Forward<'a> {
    values: Values<'a>,
    /// Conditions under which the current op runs; None after an unconditional branch.
    path: Option<Vec<Expr>>,
    waiting: Vec<Waiting>,
    out: Effects,
    /// The address after the instruction.
    next: u64,
    address_bits: u32,
}

impl<'a> Forward<'a> {
    pub fn new(ops: Vec<PcodeOp>, map: &'a RegisterMap, next: u64, address_bits: u32) -> Self {
        let (dead, constant) = (vec![false; ops.len()], vec![false; ops.len()]);
        Forward {
            values: Values::new(map),
            path: Some(Vec::new()),
            waiting: Vec::new(),
            out: Effects { dead, constant, ops, ..Effects::default() },
            next,
            address_bits,
        }
    }

    /// Everything but the registers that are read.
    pub fn run(mut self) -> Effects {
        for index in 0..self.out.ops.len() {
            self.join(index);
            self.op(index);
        }
        self.join(self.out.ops.len());
        let Forward { values, mut out, .. } = self;
        for (at, byte, constant) in values.registers() {
            if let Some(register) = values.map.at(at)
                && let Some(ours) = register.byte(at)
            {
                out.finals.insert(ours, byte);
                if let Some(constant) = constant.filter(|_| at == register.start) {
                    out.constants.insert(ours, constant);
                }
            }
        }
        let written = out.ops.iter().zip(&out.dead).filter(|(_, dead)| !**dead);
        for v in written.filter_map(|(op, _)| op.out).filter(|v| v.space == Space::Register) {
            for (_, at) in v.places() {
                values.map.shown_bytes(at, &mut out.writes);
            }
        }
        out
    }

    /// Ways that end at op `index` join the current one.
    fn join(&mut self, index: usize) {
        let mut k = 0;
        while k < self.waiting.len() {
            if self.waiting[k].at != index {
                k += 1;
                continue;
            }
            let way = self.waiting.swap_remove(k);
            match &mut self.path {
                None => (self.values.storage, self.path) = (way.storage, Some(way.path)),
                Some(path) => {
                    let common = path.iter().zip(&way.path).take_while(|(a, b)| a == b).count();
                    path.truncate(common);
                    self.values.join(&way.storage);
                }
            }
        }
    }

    fn op(&mut self, index: usize) {
        if self.path.is_none() {
            // Only loops get here without a forward branch; their body has no known values.
            self.path = Some(vec![Expr::Unknown]);
        }
        let mut op = self.out.ops[index].clone();
        self.make_plain(&mut op);
        self.load_operands(index, &mut op);
        self.out.ops[index] = op.clone();
        match op.code {
            OpCode::Branch | OpCode::BranchConditional | OpCode::Call => self.branch(index, &op),
            OpCode::BranchIndirect | OpCode::CallIndirect | OpCode::Return => self.leave(&op),
            OpCode::Load => self.load(index, &op),
            OpCode::Store => self.store(index, &op),
            _ => self.assign(index, &op),
        }
    }

    /// Accesses to registers by address become copies.
    fn make_plain(&self, op: &mut PcodeOp) {
        if !matches!(op.code, OpCode::Load | OpCode::Store) || op.space == Space::Memory {
            return;
        }
        let Some(Expr::Const(at)) = op.ins.get(1).map(|v| self.values.number(*v)) else { return };
        if op.code == OpCode::Load {
            let size = op.out.map_or(0, |o| o.size);
            op.ins = vec![Varnode { space: op.space, at, size }];
        } else if let Some(data) = op.ins.get(2).copied() {
            op.out = Some(Varnode { space: op.space, at, size: data.size });
            op.ins = vec![data];
        }
        op.code = OpCode::Copy;
    }

    /// Operands in memory become hidden temporaries with what was loaded.
    fn load_operands(&mut self, index: usize, op: &mut PcodeOp) {
        if matches!(op.code, OpCode::Branch | OpCode::BranchConditional | OpCode::Call) {
            return;
        }
        for v in op.ins.iter_mut().filter(|v| v.space == Space::Memory) {
            let load = self.access(index, false, v.size, Expr::Const(v.at));
            let at = HIDDEN + 256 * u64::from(load);
            let hidden = Varnode { space: Space::Other, at, size: v.size };
            self.values.define(hidden, Value::of_load(load, v.size));
            *v = hidden;
        }
    }

    fn branch(&mut self, index: usize, op: &PcodeOp) {
        let conditional = op.code == OpCode::BranchConditional;
        match op.target(index, self.out.ops.len(), self.next) {
            Some(BranchTarget::Op(to)) if op.code != OpCode::Call => {
                self.branch_inside(index, op, to, conditional);
            }
            Some(BranchTarget::Address(to)) => {
                let conditional = conditional || self.is_guarded();
                self.transfer(op, Some(to), conditional);
            }
            // A call to the next address.
            Some(BranchTarget::Op(_)) => self.transfer(op, Some(self.next), false),
            None => {}
        }
    }

    /// A branch to another op of the instruction.
    fn branch_inside(&mut self, index: usize, op: &PcodeOp, to: usize, conditional: bool) {
        if to <= index {
            // A loop: what it touches cannot be said.
            for m in self.out.memory.iter_mut().filter(|m| m.op >= to) {
                m.address = Expr::Unknown;
                m.guard = Some(Expr::Unknown);
            }
            if !conditional {
                self.path = None;
            }
            return;
        }
        let mut path = self.path.clone().unwrap_or_default();
        if conditional {
            let condition = op.ins.get(1).map_or(Expr::Unknown, |v| self.values.number(*v));
            path.push(condition.clone());
            if let Some(stays) = &mut self.path {
                stays.push(condition.negate());
            }
        } else {
            self.path = None;
        }
        self.waiting.push(Waiting { at: to, storage: self.values.storage.clone(), path });
    }

    /// An indirect branch, call or return.
    fn leave(&mut self, op: &PcodeOp) {
        let target = op.ins.first().map(|v| self.values.number(*v));
        let direct = match &target {
            Some(Expr::Const(c)) => Some(*c),
            _ => None,
        };
        let leaves = target.as_ref().map(Expr::registers).unwrap_or_default();
        let (loads, registers): (Vec<_>, Vec<_>) =
            leaves.into_iter().partition(|r| r.offset >= LOADS);
        self.transfer(op, direct, self.is_guarded());
        if let Some(transfer) = &mut self.out.transfer {
            transfer.registers = registers;
            transfer.loads = loads.iter().map(|r| r.offset - LOADS).collect();
            transfer.target = target.filter(|_| loads.is_empty() && direct.is_none());
        }
    }

    fn is_guarded(&self) -> bool {
        self.path.as_ref().is_some_and(|p| !p.is_empty())
    }

    fn transfer(&mut self, op: &PcodeOp, direct: Option<u64>, conditional: bool) {
        self.out.transfer = Some(Transfer {
            code: op.code,
            direct,
            registers: Vec::new(),
            loads: Vec::new(),
            target: None,
            conditional,
        });
    }

    fn load(&mut self, index: usize, op: &PcodeOp) {
        let Some(out) = op.out else { return };
        let value = match op.space {
            Space::Memory => {
                let address = self.address(op);
                Value::of_load(self.access(index, false, out.size, address), out.size)
            }
            _ => Value::unknown(),
        };
        self.values.define(out, value);
    }

    fn store(&mut self, index: usize, op: &PcodeOp) {
        if let Some(data) = op.ins.get(2).filter(|_| op.space == Space::Memory) {
            let address = self.address(op);
            self.stored(index, data.size, address, self.values.bytes(*data));
        }
    }

    /// The address of a LOAD or STORE.
    fn address(&self, op: &PcodeOp) -> Expr {
        let pointer = op.ins.get(1).map_or(Expr::Unknown, |v| self.values.number(*v));
        pointer.truncate(self.address_bits)
    }

    /// An op that gives its output a value.
    fn assign(&mut self, index: usize, op: &PcodeOp) {
        let Some(out) = op.out else { return };
        let value = compute(&self.values, op, out);
        if out.space == Space::Memory {
            self.stored(index, out.size, Expr::Const(out.at), value.bytes);
            return;
        }
        self.out.constant[index] = value.is_constant();
        if out.space == Space::Register && self.unchanged(&value, out) {
            self.out.dead[index] = true;
            self.values.forget(out);
        } else if out.space != Space::Const {
            self.values.define(out, value);
        }
    }

    /// Whether a write gives the register what it held before the instruction.
    fn unchanged(&self, value: &Value, out: Varnode) -> bool {
        match self.values.map.at(out.at).map(|m| m.shown) {
            Some(ShownAs::Bytes(_)) => {
                value.bytes.len() == out.size as usize
                    && out.places().zip(&value.bytes).all(|((_, at), byte)| {
                        matches!(byte, ByteValue::Initial(_))
                            && *byte == self.values.initial_byte(at)
                    })
            }
            Some(ShownAs::Bit(span, bit)) => value.number == flag_bit(span, bit),
            _ => false,
        }
    }

    fn stored(&mut self, op: usize, size: u32, address: Expr, data: Vec<ByteValue>) {
        self.access(op, true, size, address);
        if let Some(store) = self.out.memory.last_mut() {
            store.data = data;
        }
    }

    /// Records an access; gives its number.
    fn access(&mut self, op: usize, is_write: bool, size: u32, address: Expr) -> u16 {
        let number = u16::try_from(self.out.memory.len()).unwrap_or(u16::MAX).min(u16::MAX - LOADS);
        let (address, guard) = (publish(address), self.guard());
        self.out.memory.push(MemEffect { op, is_write, size, address, guard, data: Vec::new() });
        number
    }

    /// What must not be 0 for the current op to run.
    fn guard(&self) -> Option<Expr> {
        let mut parts = self.path.iter().flatten().cloned().map(publish);
        let first = parts.next()?;
        Some(parts.fold(first, |all, part| all.truth().binary(Operator::And, part.truth())))
    }
}

/// An expression for the world outside: one that needs a loaded value is unknown.
fn publish(e: Expr) -> Expr {
    if e.registers().iter().any(|r| r.offset >= LOADS) { Expr::Unknown } else { e }
}
