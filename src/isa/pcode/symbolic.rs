//! Evaluates the p-code of one instruction: what the memory accesses' addresses are in terms of the
//! registers before it, and which register bytes are read and written.
//!
//! Two passes. Forwards, a value is kept per byte of storage, which gives addresses, copies between
//! memory and registers, constants (a zeroing idiom is one) and writes that change nothing.
//! Backwards, liveness inside the instruction: only what reaches a register, memory, a branch or
//! the outside counts as read.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

use libsla::{BoolOp, IntOp, IntSign, OpCode, PseudoOp};

use super::registers::{RegisterMap, Shown};
use crate::event::RegSpan;
use crate::isa::{Expr, Op};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    Const,
    Register,
    Unique,
    Memory,
    Other,
}

/// A varnode; `at` counts little end first also where the machine is big-endian (the space is
/// mirrored), except in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vn {
    pub space: Space,
    pub at: u64,
    pub size: u32,
}

#[derive(Clone, Debug)]
pub struct POp {
    pub code: OpCode,
    pub out: Option<Vn>,
    pub ins: Vec<Vn>,
    /// Space that a LOAD or STORE goes to.
    pub space: Space,
}

/// What one byte of storage holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteVal {
    /// What this byte of our register file held before the instruction.
    Initial(u16),
    /// Byte of a load: index into [`Effects::memory`], offset.
    Load(u16, u8),
    Zero,
    Other,
}

/// A memory access, in the order of the p-code.
#[derive(Clone, Debug)]
pub struct MemEffect {
    pub op: usize,
    pub is_write: bool,
    pub size: u32,
    pub address: Expr,
    pub guard: Option<Expr>,
    /// What a store stores.
    pub data: Vec<ByteVal>,
}

/// Where control goes, as the p-code says.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub code: OpCode,
    pub direct: Option<u64>,
    /// Indirect: what the target is computed from.
    pub registers: Vec<RegSpan>,
    pub loads: Vec<u16>,
    pub conditional: bool,
}

#[derive(Debug, Default)]
pub struct Effects {
    pub memory: Vec<MemEffect>,
    /// Bytes of our register file.
    pub reads: BTreeSet<u16>,
    pub writes: BTreeSet<u16>,
    /// What each written byte holds at the end.
    pub finals: FxHashMap<u16, ByteVal>,
    /// Values that whole registers have at the end where they are constants, by offset in our file.
    pub constants: FxHashMap<u16, u64>,
    pub transfer: Option<Transfer>,
    ops: Vec<POp>,
    dead: Vec<bool>,
    constant: Vec<bool>,
}

/// A leaf that stands for the value of a load; never leaves this module (see [`publish`]).
const LOAD_LEAF: u16 = 0x8000;
/// Expressions above this many nodes are given up: nothing that an address needs is that large.
const MAX_NODES: usize = 48;

fn nodes(e: &Expr) -> usize {
    match e {
        Expr::Bin(_, a, b) => 1 + nodes(a) + nodes(b),
        Expr::Extend(_, _, a) => 1 + nodes(a),
        _ => 1,
    }
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// `e` modulo 2^bits, zero extended.
pub fn truncate(e: Expr, bits: u32) -> Expr {
    if bits >= 64 {
        return e;
    }
    match e {
        Expr::Const(c) => Expr::Const(c & mask(bits)),
        Expr::Unknown => Expr::Unknown,
        Expr::Reg(r) if u32::from(r.size) * 8 <= bits => Expr::Reg(r),
        Expr::Extend(false, b, x) if u32::from(b) <= bits => Expr::Extend(false, b, x),
        Expr::Extend(_, b, x) if u32::from(b) >= bits => truncate(*x, bits),
        Expr::Bin(Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Slt | Op::Sle, ..) => e,
        Expr::Bin(Op::And, _, ref b) if matches!(**b, Expr::Const(c) if c <= mask(bits)) => e,
        e => Expr::Extend(false, bits as u8, Box::new(e)),
    }
}

/// Drops an extension that does not matter to the low `bits` bits.
fn low(e: Expr, bits: u32) -> Expr {
    match e {
        Expr::Extend(_, b, x) if u32::from(b) >= bits => low(*x, bits),
        e => e,
    }
}

/// `a op b` on 64 bits with the obvious simplifications.
pub fn bin(op: Op, a: Expr, b: Expr) -> Expr {
    if let (Expr::Const(x), Expr::Const(y)) = (&a, &b) {
        return Expr::Const(op.apply(*x, *y));
    }
    // A known zero decides also where the other side is unknown.
    if matches!(op, Op::And | Op::Mul) && (a == Expr::Const(0) || b == Expr::Const(0)) {
        return Expr::Const(0);
    }
    if a == Expr::Unknown || b == Expr::Unknown {
        return Expr::Unknown;
    }
    if a == b {
        match op {
            Op::Sub | Op::Xor | Op::Ne | Op::Lt | Op::Slt => return Expr::Const(0),
            Op::Eq | Op::Le | Op::Sle => return Expr::Const(1),
            Op::And | Op::Or => return a,
            _ => {}
        }
    }
    // Constants to the right, sums with constants flat.
    let (a, b) = match (op, a, b) {
        (Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor, a @ Expr::Const(_), b) => (b, a),
        (_, a, b) => (a, b),
    };
    let (op, b) = match (op, b) {
        (Op::Sub, Expr::Const(c)) => (Op::Add, Expr::Const(c.wrapping_neg())),
        (op, b) => (op, b),
    };
    match (op, a, b) {
        (Op::Add | Op::Or | Op::Xor | Op::Shl | Op::Shr | Op::Sar, a, Expr::Const(0)) => a,
        (Op::Mul, a, Expr::Const(1)) => a,
        (Op::And, a, Expr::Const(u64::MAX)) => a,
        (Op::Add, Expr::Bin(Op::Add, x, y), Expr::Const(c)) if matches!(*y, Expr::Const(_)) => {
            match *y {
                Expr::Const(d) => bin(Op::Add, *x, Expr::Const(c.wrapping_add(d))),
                y => Expr::Bin(Op::Add, x, Box::new(y)),
            }
        }
        (op, a, b) => {
            let e = Expr::Bin(op, Box::new(a), Box::new(b));
            if nodes(&e) > MAX_NODES { Expr::Unknown } else { e }
        }
    }
}

/// 1 if `e` is 0, else 0.
pub fn not(e: Expr) -> Expr {
    match e {
        Expr::Bin(Op::Eq, a, b) if *b == Expr::Const(0) && is_bool(&a) => *a,
        Expr::Bin(Op::Eq, a, b) => Expr::Bin(Op::Ne, a, b),
        Expr::Bin(Op::Ne, a, b) => Expr::Bin(Op::Eq, a, b),
        e => bin(Op::Eq, e, Expr::Const(0)),
    }
}

fn is_bool(e: &Expr) -> bool {
    matches!(e, Expr::Bin(Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Slt | Op::Sle, ..))
        || matches!(e, Expr::Bin(Op::And, _, b) if **b == Expr::Const(1))
}

fn leaves(e: &Expr, out: &mut Vec<RegSpan>) {
    match e {
        Expr::Reg(r) => out.push(*r),
        Expr::Bin(_, a, b) => {
            leaves(a, out);
            leaves(b, out);
        }
        Expr::Extend(_, _, a) => leaves(a, out),
        Expr::Const(_) | Expr::Unknown => {}
    }
}

/// Registers in an expression.
pub fn registers_in(e: &Expr) -> Vec<RegSpan> {
    let mut out = Vec::new();
    leaves(e, &mut out);
    out
}

/// An expression for the world outside: one that needs a loaded value is unknown.
fn publish(e: Expr) -> Expr {
    if registers_in(&e).iter().any(|r| r.offset >= LOAD_LEAF) { Expr::Unknown } else { e }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Cell {
    def: u32,
    byte: u8,
}

struct Def {
    value: Expr,
    size: u32,
    bytes: Vec<ByteVal>,
}

type State = FxHashMap<(Space, u64), Cell>;

struct Forward<'a> {
    map: &'a RegisterMap,
    defs: Vec<Def>,
    state: State,
    /// Conditions under which the current op runs; None after an unconditional branch.
    path: Option<Vec<Expr>>,
    out: Effects,
}

impl Forward<'_> {
    fn initial_byte(&self, at: u64) -> ByteVal {
        match self.map.at(at) {
            Some(m) => match m.shown {
                Shown::Bytes(offset) => ByteVal::Initial(offset + (at - m.start) as u16),
                Shown::Zero => ByteVal::Zero,
                _ => ByteVal::Other,
            },
            None => ByteVal::Other,
        }
    }

    fn byte(&self, space: Space, at: u64) -> ByteVal {
        match self.state.get(&(space, at)) {
            Some(cell) => self.defs[cell.def as usize]
                .bytes
                .get(cell.byte as usize)
                .copied()
                .unwrap_or(ByteVal::Other),
            None if space == Space::Register => self.initial_byte(at),
            None => ByteVal::Other,
        }
    }

    fn bytes(&self, v: Vn) -> Vec<ByteVal> {
        if v.space == Space::Const {
            return (0..v.size)
                .map(|i| {
                    let zero = i >= 8 || (v.at >> (8 * i)) & 0xff == 0;
                    if zero { ByteVal::Zero } else { ByteVal::Other }
                })
                .collect();
        }
        (0..u64::from(v.size)).map(|i| self.byte(v.space, v.at.wrapping_add(i))).collect()
    }

    /// Value of a varnode of up to 8 bytes, zero extended.
    fn value(&self, v: Vn) -> Expr {
        if v.space == Space::Const {
            return Expr::Const(v.at & mask(8 * v.size));
        }
        if v.size == 0 || v.size > 8 {
            return Expr::Unknown;
        }
        let bits = 8 * v.size;
        let first = self.state.get(&(v.space, v.at)).copied();
        // All bytes of one definition, in order.
        if let Some(first) = first
            && (1..v.size as u64).all(|i| {
                self.state.get(&(v.space, v.at + i)).is_some_and(|c| {
                    c.def == first.def && u64::from(c.byte) == u64::from(first.byte) + i
                })
            })
        {
            let def = &self.defs[first.def as usize];
            if def.size <= 8 && def.value != Expr::Unknown {
                let shifted =
                    bin(Op::Shr, def.value.clone(), Expr::Const(8 * u64::from(first.byte)));
                return if def.size == v.size { shifted } else { truncate(shifted, bits) };
            }
        }
        if v.space == Space::Register
            && let Some(m) = self.map.at(v.at)
            && first.is_none()
            && let Shown::Bit(span, bit) = m.shown
            && v.size == 1
        {
            return bin(
                Op::And,
                bin(Op::Shr, Expr::Reg(span), Expr::Const(u64::from(bit))),
                Expr::Const(1),
            );
        }
        let bytes = self.bytes(v);
        self.number(&bytes)
    }

    /// A number from bytes: runs of registers, loads and zeros, little end first.
    fn number(&self, bytes: &[ByteVal]) -> Expr {
        let mut total = Expr::Const(0);
        let mut i = 0;
        while i < bytes.len() {
            let mut n = 1;
            match bytes[i] {
                ByteVal::Zero => {}
                ByteVal::Other => return Expr::Unknown,
                ByteVal::Initial(r) => {
                    while bytes.get(i + n) == Some(&ByteVal::Initial(r + n as u16)) {
                        n += 1;
                    }
                    let part = Expr::Reg(RegSpan { offset: r, size: n as u16 });
                    total = bin(Op::Or, bin(Op::Shl, part, Expr::Const(8 * i as u64)), total);
                }
                ByteVal::Load(k, b) => {
                    while bytes.get(i + n) == Some(&ByteVal::Load(k, b.wrapping_add(n as u8))) {
                        n += 1;
                    }
                    let leaf = Expr::Reg(RegSpan { offset: LOAD_LEAF + k, size: 8 });
                    let part =
                        truncate(bin(Op::Shr, leaf, Expr::Const(8 * u64::from(b))), 8 * n as u32);
                    total = bin(Op::Or, bin(Op::Shl, part, Expr::Const(8 * i as u64)), total);
                }
            }
            i += n;
        }
        total
    }

    fn define(&mut self, out: Vn, value: Expr, mut bytes: Vec<ByteVal>) {
        bytes.resize(out.size as usize, ByteVal::Other);
        if let Expr::Const(c) = value {
            for (i, b) in bytes.iter_mut().enumerate() {
                if i >= 8 || (c >> (8 * i)) & 0xff == 0 {
                    *b = ByteVal::Zero;
                }
            }
        }
        let def = self.defs.len() as u32;
        self.defs.push(Def { value, size: out.size, bytes });
        for i in 0..u64::from(out.size) {
            self.state
                .insert((out.space, out.at.wrapping_add(i)), Cell { def, byte: i.min(255) as u8 });
        }
    }

    fn guard(&self) -> Option<Expr> {
        let path = self.path.as_deref().unwrap_or(&[]);
        let mut parts = path.iter().cloned().map(publish);
        let first = parts.next()?;
        let truth = |e: Expr| if is_bool(&e) { e } else { bin(Op::Ne, e, Expr::Const(0)) };
        Some(parts.fold(first, |a, b| bin(Op::And, truth(a), truth(b))))
    }

    /// Records an access; gives its number.
    fn access(
        &mut self,
        op: usize,
        is_write: bool,
        size: u32,
        address: Expr,
        data: Vec<ByteVal>,
    ) -> u16 {
        let number = self.out.memory.len().min(usize::from(u16::MAX - LOAD_LEAF)) as u16;
        let guard = self.guard();
        self.out.memory.push(MemEffect {
            op,
            is_write,
            size,
            address: publish(address),
            guard,
            data,
        });
        number
    }
}

fn loaded(number: u16, size: u32) -> (Expr, Vec<ByteVal>) {
    let leaf = Expr::Reg(RegSpan { offset: LOAD_LEAF + number, size: 8 });
    let value = if size <= 8 { truncate(leaf, 8 * size) } else { Expr::Unknown };
    (value, (0..size).map(|i| ByteVal::Load(number, i.min(255) as u8)).collect())
}

/// Runs both passes. `next` is the address after the instruction.
pub fn evaluate(ops: Vec<POp>, map: &RegisterMap, next: u64, address_bits: u32) -> Effects {
    let count = ops.len();
    let mut f = Forward {
        map,
        defs: Vec::new(),
        state: State::default(),
        path: Some(Vec::new()),
        out: Effects {
            dead: vec![false; count],
            constant: vec![false; count],
            ops,
            ..Effects::default()
        },
    };
    // States that wait for a forward branch's target.
    let mut pending: Vec<(usize, State, Vec<Expr>)> = Vec::new();
    for i in 0..=count {
        let mut k = 0;
        while k < pending.len() {
            if pending[k].0 != i {
                k += 1;
                continue;
            }
            let (_, state, path) = pending.swap_remove(k);
            join(&mut f, state, path);
        }
        if i == count {
            break;
        }
        forward(&mut f, i, next, address_bits, &mut pending);
    }
    let Forward { state, defs, mut out, .. } = f;
    for (&(space, at), cell) in &state {
        if space != Space::Register {
            continue;
        }
        let def = &defs[cell.def as usize];
        if let Some(m) = map.at(at)
            && let Shown::Bytes(offset) = m.shown
        {
            let ours = offset + (at - m.start) as u16;
            out.finals.insert(ours, def.bytes[cell.byte as usize]);
            if at == m.start
                && cell.byte == 0
                && let Expr::Const(c) = def.value
            {
                out.constants.insert(ours, c);
            }
        }
    }
    for (i, op) in out.ops.iter().enumerate() {
        if out.dead[i] {
            continue;
        }
        if let Some(o) = op.out
            && o.space == Space::Register
        {
            for b in 0..u64::from(o.size) {
                shown_bytes(map, o.at + b, &mut out.writes);
            }
        }
    }
    let live = liveness(&out, map, next, None);
    out.reads = live;
    out
}

/// Our bytes for a byte of SLEIGH's register space.
fn shown_bytes(map: &RegisterMap, at: u64, into: &mut BTreeSet<u16>) {
    match map.at(at).map(|m| (m.shown, m.start)) {
        Some((Shown::Bytes(offset), start)) => {
            into.insert(offset + (at - start) as u16);
        }
        Some((Shown::Bit(span, _) | Shown::Whole(span), _)) => {
            into.extend(span.offset..span.offset + span.size)
        }
        Some((Shown::Zero, _)) | None => {}
    }
}

fn join(f: &mut Forward, state: State, path: Vec<Expr>) {
    let Some(current) = &mut f.path else {
        f.state = state;
        f.path = Some(path);
        return;
    };
    let common = current.iter().zip(&path).take_while(|(a, b)| a == b).count();
    current.truncate(common);
    let keys: FxHashSet<(Space, u64)> = f.state.keys().chain(state.keys()).copied().collect();
    for key in keys {
        let (a, b) = (f.state.get(&key), state.get(&key));
        if a == b {
            continue;
        }
        let def = f.defs.len() as u32;
        f.defs.push(Def { value: Expr::Unknown, size: 1, bytes: vec![ByteVal::Other] });
        f.state.insert(key, Cell { def, byte: 0 });
    }
}

/// Where a branch goes: an op of the instruction (`ops.len()` is its end), or an address.
enum Target {
    Op(usize),
    Address(u64),
}

fn target(op: &POp, i: usize, count: usize, next: u64) -> Option<Target> {
    let v = op.ins.first()?;
    Some(match v.space {
        // Relative to this op, signed in its own size.
        Space::Const => {
            let shift = 64 - 8 * v.size.clamp(1, 8);
            let delta = ((v.at << shift) as i64) >> shift;
            let to = (i as i64).saturating_add(delta);
            Target::Op(usize::try_from(to).unwrap_or(0).min(count))
        }
        _ if v.at == next => Target::Op(count),
        _ => Target::Address(v.at),
    })
}

fn forward(
    f: &mut Forward,
    i: usize,
    next: u64,
    address_bits: u32,
    pending: &mut Vec<(usize, State, Vec<Expr>)>,
) {
    let count = f.out.ops.len();
    let mut op = f.out.ops[i].clone();
    if f.path.is_none() {
        // Only loops get here without a forward branch; their body has no known values.
        f.path = Some(vec![Expr::Unknown]);
    }
    // Accesses to registers by address become plain ones.
    if matches!(op.code, OpCode::Load | OpCode::Store) && op.space != Space::Memory {
        let pointer = op.ins.get(1).map(|v| f.value(*v));
        if let Some(Expr::Const(at)) = pointer {
            if op.code == OpCode::Load {
                let size = op.out.map_or(0, |o| o.size);
                op.ins = vec![Vn { space: op.space, at, size }];
            } else if let Some(data) = op.ins.get(2).copied() {
                op.out = Some(Vn { space: op.space, at, size: data.size });
                op.ins = vec![data];
            }
            op.code = OpCode::Copy;
            f.out.ops[i] = op.clone();
        }
    }
    // Varnodes in memory are accesses.
    let branches = matches!(op.code, OpCode::Branch | OpCode::BranchConditional | OpCode::Call);
    if !branches {
        for k in 0..op.ins.len() {
            let v = op.ins[k];
            if v.space == Space::Memory {
                let number = f.access(i, false, v.size, Expr::Const(v.at), Vec::new());
                let (value, bytes) = loaded(number, v.size);
                // A hidden temporary of its own holds the loaded value.
                let hidden = Vn {
                    space: Space::Other,
                    at: (1 << 40) + 256 * u64::from(number),
                    size: v.size,
                };
                f.define(hidden, value, bytes);
                op.ins[k] = hidden;
            }
        }
        f.out.ops[i] = op.clone();
    }
    match op.code {
        OpCode::Branch | OpCode::BranchConditional | OpCode::Call => {
            let conditional = op.code == OpCode::BranchConditional;
            let condition = if conditional {
                op.ins.get(1).map_or(Expr::Unknown, |v| f.value(*v))
            } else {
                Expr::Const(1)
            };
            match target(&op, i, count, next) {
                Some(Target::Op(to)) if op.code != OpCode::Call => {
                    if to <= i {
                        // A loop: what it touches cannot be said.
                        for m in f.out.memory.iter_mut().filter(|m| m.op >= to) {
                            m.address = Expr::Unknown;
                            m.guard = Some(Expr::Unknown);
                        }
                        if !conditional {
                            f.path = None;
                        }
                        return;
                    }
                    let mut path = f.path.clone().unwrap_or_default();
                    if conditional {
                        path.push(condition.clone());
                    }
                    pending.push((to, f.state.clone(), path));
                    if conditional {
                        if let Some(p) = &mut f.path {
                            p.push(not(condition));
                        }
                    } else {
                        f.path = None;
                    }
                }
                Some(Target::Address(to)) => {
                    let guarded = f.path.as_ref().is_some_and(|p| !p.is_empty());
                    f.out.transfer = Some(Transfer {
                        code: op.code,
                        direct: Some(to),
                        registers: Vec::new(),
                        loads: Vec::new(),
                        conditional: conditional || guarded,
                    });
                }
                // A call to the next address.
                Some(Target::Op(_)) => {
                    f.out.transfer = Some(Transfer {
                        code: op.code,
                        direct: Some(next),
                        registers: Vec::new(),
                        loads: Vec::new(),
                        conditional: false,
                    });
                }
                None => {}
            }
        }
        OpCode::BranchIndirect | OpCode::CallIndirect | OpCode::Return => {
            let mut registers = Vec::new();
            let mut direct = None;
            if let Some(v) = op.ins.first() {
                let value = f.value(*v);
                if let Expr::Const(c) = value {
                    direct = Some(c);
                }
                leaves(&value, &mut registers);
            }
            let loads = registers
                .iter()
                .filter(|r| r.offset >= LOAD_LEAF)
                .map(|r| r.offset - LOAD_LEAF)
                .collect();
            registers.retain(|r| r.offset < LOAD_LEAF);
            let conditional = f.path.as_ref().is_some_and(|p| !p.is_empty());
            f.out.transfer =
                Some(Transfer { code: op.code, direct, registers, loads, conditional });
        }
        OpCode::Load => {
            let Some(out) = op.out else { return };
            if op.space == Space::Memory {
                let address =
                    op.ins.get(1).map_or(Expr::Unknown, |v| truncate(f.value(*v), address_bits));
                let number = f.access(i, false, out.size, address, Vec::new());
                let (value, bytes) = loaded(number, out.size);
                f.define(out, value, bytes);
            } else {
                f.define(out, Expr::Unknown, Vec::new());
            }
        }
        OpCode::Store => {
            if op.space == Space::Memory
                && let (Some(pointer), Some(data)) = (op.ins.get(1), op.ins.get(2))
            {
                let address = truncate(f.value(*pointer), address_bits);
                let bytes = f.bytes(*data);
                f.access(i, true, data.size, address, bytes);
            }
        }
        _ => {
            let Some(out) = op.out else { return };
            let (value, bytes) = compute(f, &op, out);
            if out.space == Space::Memory {
                f.access(i, true, out.size, Expr::Const(out.at), bytes);
                return;
            }
            f.out.constant[i] = matches!(value, Expr::Const(_))
                || (!bytes.is_empty() && bytes.iter().all(|b| *b == ByteVal::Zero));
            if out.space == Space::Register && unchanged(f, &value, &bytes, out) {
                f.out.dead[i] = true;
                for b in 0..u64::from(out.size) {
                    f.state.remove(&(out.space, out.at + b));
                }
                return;
            }
            if out.space != Space::Const {
                f.define(out, value, bytes);
            }
        }
    }
}

/// Whether a write gives the register what it held before the instruction.
fn unchanged(f: &Forward, value: &Expr, bytes: &[ByteVal], out: Vn) -> bool {
    match f.map.at(out.at).map(|m| m.shown) {
        Some(Shown::Bytes(_)) => {
            bytes.len() == out.size as usize
                && bytes.iter().enumerate().all(|(i, b)| {
                    matches!(b, ByteVal::Initial(_)) && *b == f.initial_byte(out.at + i as u64)
                })
        }
        Some(Shown::Bit(span, bit)) => {
            *value
                == bin(
                    Op::And,
                    bin(Op::Shr, Expr::Reg(span), Expr::Const(u64::from(bit))),
                    Expr::Const(1),
                )
        }
        _ => false,
    }
}

fn compute(f: &Forward, op: &POp, out: Vn) -> (Expr, Vec<ByteVal>) {
    let bits = 8 * out.size;
    let arg = |k: usize| op.ins.get(k).map_or(Expr::Unknown, |v| f.value(*v));
    let in_bits = |k: usize| op.ins.get(k).map_or(64, |v| 8 * v.size);
    // Sign extension of an argument to 64 bits, for what depends on the sign.
    let signed = |k: usize| sign_extend(arg(k), in_bits(k));
    let same = op.ins.len() == 2 && op.ins[0] == op.ins[1];
    let value = match op.code {
        OpCode::Copy => {
            let Some(v) = op.ins.first() else { return (Expr::Unknown, Vec::new()) };
            return (f.value(*v), f.bytes(*v));
        }
        OpCode::Subpiece => {
            let (Some(v), Some(skip)) = (op.ins.first(), op.ins.get(1)) else {
                return (Expr::Unknown, Vec::new());
            };
            let bytes: Vec<ByteVal> = f
                .bytes(*v)
                .into_iter()
                .skip(skip.at.min(1 << 16) as usize)
                .take(out.size as usize)
                .collect();
            let value = if v.size <= 8 {
                truncate(bin(Op::Shr, arg(0), Expr::Const(8 * skip.at.min(8))), bits)
            } else if out.size <= 8 {
                f.number(&bytes)
            } else {
                Expr::Unknown
            };
            return (value, bytes);
        }
        OpCode::Piece => {
            let (Some(high), Some(lower)) = (op.ins.first(), op.ins.get(1)) else {
                return (Expr::Unknown, Vec::new());
            };
            let mut bytes = f.bytes(*lower);
            bytes.extend(f.bytes(*high));
            let value = if out.size <= 8 {
                bin(Op::Or, bin(Op::Shl, arg(0), Expr::Const(u64::from(8 * lower.size))), arg(1))
            } else {
                Expr::Unknown
            };
            return (value, bytes);
        }
        OpCode::Int(IntOp::Extension(IntSign::Unsigned)) => {
            let Some(v) = op.ins.first() else { return (Expr::Unknown, Vec::new()) };
            let mut bytes = f.bytes(*v);
            bytes.resize(out.size as usize, ByteVal::Zero);
            return (if out.size <= 8 { arg(0) } else { Expr::Unknown }, bytes);
        }
        OpCode::Int(IntOp::Bitwise(BoolOp::Xor) | IntOp::Subtract) if same => {
            return (
                if out.size <= 8 { Expr::Const(0) } else { Expr::Unknown },
                vec![ByteVal::Zero; out.size as usize],
            );
        }
        _ if out.size > 8 || op.ins.iter().any(|v| v.size > 8) => Expr::Unknown,
        OpCode::Int(int) => match int {
            IntOp::Add => truncate(bin(Op::Add, low(arg(0), bits), low(arg(1), bits)), bits),
            IntOp::Subtract => truncate(bin(Op::Sub, low(arg(0), bits), low(arg(1), bits)), bits),
            IntOp::Multiply => truncate(bin(Op::Mul, low(arg(0), bits), low(arg(1), bits)), bits),
            IntOp::Negate => truncate(bin(Op::Sub, Expr::Const(0), low(arg(0), bits)), bits),
            IntOp::Bitwise(BoolOp::Negate) => bin(Op::Xor, arg(0), Expr::Const(mask(bits))),
            IntOp::Bitwise(BoolOp::And) => bin(Op::And, arg(0), arg(1)),
            IntOp::Bitwise(BoolOp::Or) => bin(Op::Or, arg(0), arg(1)),
            IntOp::Bitwise(BoolOp::Xor) => bin(Op::Xor, arg(0), arg(1)),
            // Shifts by the width or more shift everything out, in p-code as in `Op`.
            IntOp::ShiftLeft => truncate(bin(Op::Shl, low(arg(0), bits), arg(1)), bits),
            IntOp::ShiftRight(IntSign::Unsigned) => bin(Op::Shr, arg(0), arg(1)),
            IntOp::ShiftRight(IntSign::Signed) => match arg(1) {
                Expr::Const(c) => truncate(bin(Op::Sar, signed(0), Expr::Const(c.min(63))), bits),
                _ => Expr::Unknown,
            },
            IntOp::Extension(IntSign::Signed) => truncate(signed(0), bits),
            IntOp::Equal => bin(Op::Eq, arg(0), arg(1)),
            IntOp::NotEqual => bin(Op::Ne, arg(0), arg(1)),
            IntOp::LessThan(IntSign::Unsigned) => bin(Op::Lt, arg(0), arg(1)),
            IntOp::LessThanOrEqual(IntSign::Unsigned) => bin(Op::Le, arg(0), arg(1)),
            IntOp::LessThan(IntSign::Signed) => bin(Op::Slt, signed(0), signed(1)),
            IntOp::LessThanOrEqual(IntSign::Signed) => bin(Op::Sle, signed(0), signed(1)),
            _ => Expr::Unknown,
        },
        OpCode::Bool(b) => match b {
            BoolOp::Negate => not(arg(0)),
            BoolOp::And => bin(Op::And, arg(0), arg(1)),
            BoolOp::Or => bin(Op::Or, arg(0), arg(1)),
            BoolOp::Xor => bin(Op::Xor, arg(0), arg(1)),
        },
        _ => Expr::Unknown,
    };
    (value, Vec::new())
}

fn sign_extend(e: Expr, bits: u32) -> Expr {
    match e {
        _ if bits >= 64 => e,
        Expr::Const(c) => Expr::Const((((c << (64 - bits)) as i64) >> (64 - bits)) as u64),
        Expr::Unknown => Expr::Unknown,
        e => Expr::Extend(true, bits as u8, Box::new(low(e, bits))),
    }
}

/// Bytes that something later needs, and register bytes that may still reach the end.
#[derive(Clone, Default)]
struct Live {
    needed: FxHashSet<(Space, u64)>,
    reaching: FxHashSet<(Space, u64)>,
}

/// Register bytes (ours) that are read, leaving out the data of the store `without`.
pub fn liveness(
    e: &Effects,
    map: &RegisterMap,
    next: u64,
    without: Option<usize>,
) -> BTreeSet<u16> {
    let count = e.ops.len();
    let mut exit = Live::default();
    for op in &e.ops {
        if let Some(o) = op.out
            && o.space == Space::Register
        {
            for b in 0..u64::from(o.size) {
                // Registers that we do not show are SLEIGH's own temporaries: nothing after the
                // instruction needs them.
                if map.at(o.at + b).is_some_and(|m| m.shown != Shown::Zero) {
                    exit.reaching.insert((o.space, o.at + b));
                }
            }
        }
    }
    let mut at: Vec<Live> = vec![Live::default(); count + 1];
    at[count] = exit;
    let need = |live: &mut Live, v: &Vn| {
        if matches!(v.space, Space::Register | Space::Unique | Space::Other) {
            for b in 0..u64::from(v.size) {
                live.needed.insert((v.space, v.at.wrapping_add(b)));
            }
        }
    };
    // Loops are rare and small: a few rounds reach the fixed point.
    let has_loop = e.ops.iter().enumerate().any(|(i, op)| {
        matches!(op.code, OpCode::Branch | OpCode::BranchConditional)
            && matches!(target(op, i, count, next), Some(Target::Op(to)) if to <= i)
    });
    for _ in 0..if has_loop { 8 } else { 1 } {
        for i in (0..count).rev() {
            let op = &e.ops[i];
            let mut live = match op.code {
                OpCode::Branch => match target(op, i, count, next) {
                    Some(Target::Op(to)) => at[to].clone(),
                    _ => at[count].clone(),
                },
                OpCode::BranchConditional => {
                    let mut live = at[i + 1].clone();
                    let other = match target(op, i, count, next) {
                        Some(Target::Op(to)) => &at[to],
                        _ => &at[count],
                    };
                    live.needed.extend(&other.needed);
                    live.reaching.extend(&other.reaching);
                    live
                }
                OpCode::BranchIndirect | OpCode::Return => at[count].clone(),
                _ => at[i + 1].clone(),
            };
            if e.dead[i] {
                at[i] = live;
                continue;
            }
            match op.code {
                OpCode::Branch | OpCode::Call => {}
                OpCode::BranchConditional => {
                    if let Some(v) = op.ins.get(1) {
                        need(&mut live, v);
                    }
                }
                OpCode::BranchIndirect | OpCode::CallIndirect | OpCode::Return => {
                    if let Some(v) = op.ins.first() {
                        need(&mut live, v);
                    }
                }
                OpCode::Store => {
                    if let Some(v) = op.ins.get(1) {
                        need(&mut live, v);
                    }
                    if without != Some(i)
                        && let Some(v) = op.ins.get(2)
                    {
                        need(&mut live, v);
                    }
                }
                _ => {
                    let mut useful: Vec<bool> = Vec::new();
                    let any = match op.out {
                        Some(o) if o.space == Space::Memory => without != Some(i),
                        Some(o) => {
                            for b in 0..u64::from(o.size) {
                                let key = (o.space, o.at.wrapping_add(b));
                                let needed = live.needed.remove(&key);
                                useful.push(live.reaching.remove(&key) || needed);
                            }
                            useful.iter().any(|u| *u)
                        }
                        None => true,
                    };
                    if op.code == OpCode::Load {
                        // Loads happen whether their value is used or not.
                        if op.space == Space::Memory
                            && let Some(v) = op.ins.get(1)
                        {
                            need(&mut live, v);
                        }
                    } else if any && !e.constant[i] {
                        transfer_bytes(op, &useful, &mut live, &need);
                    }
                }
            }
            at[i] = live;
        }
    }
    let mut reads = BTreeSet::new();
    for &(space, byte) in &at[0].needed {
        if space == Space::Register {
            shown_bytes(map, byte, &mut reads);
        }
    }
    reads
}

/// Marks the inputs of a useful op: byte for byte where it only moves bytes, else all.
fn transfer_bytes(op: &POp, useful: &[bool], live: &mut Live, need: &impl Fn(&mut Live, &Vn)) {
    let byte = |v: &Vn, b: usize| Vn { space: v.space, at: v.at.wrapping_add(b as u64), size: 1 };
    let moves = !useful.is_empty();
    match (op.code, op.ins.as_slice()) {
        (OpCode::Copy | OpCode::Int(IntOp::Extension(IntSign::Unsigned)), [v]) if moves => {
            for (b, _) in useful.iter().enumerate().filter(|(b, u)| **u && *b < v.size as usize) {
                need(live, &byte(v, b));
            }
        }
        (OpCode::Subpiece, [v, skip]) if moves => {
            let skip = skip.at.min(1 << 16) as usize;
            for (b, _) in
                useful.iter().enumerate().filter(|(b, u)| **u && b + skip < v.size as usize)
            {
                need(live, &byte(v, b + skip));
            }
        }
        (OpCode::Piece, [high, lower]) if moves => {
            let cut = lower.size as usize;
            for (b, _) in useful.iter().enumerate().filter(|(_, u)| **u) {
                if b < cut {
                    need(live, &byte(lower, b));
                } else if b - cut < high.size as usize {
                    need(live, &byte(high, b - cut));
                }
            }
        }
        // The first input of CALLOTHER is the operation's number.
        (OpCode::Pseudo(PseudoOp::CallOther), [_, rest @ ..]) => {
            rest.iter().for_each(|v| need(live, v))
        }
        (_, ins) => ins.iter().for_each(|v| need(live, v)),
    }
}
