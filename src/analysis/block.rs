//! What is known of a block before it runs: its accesses, and for the registers which reads are fed
//! inside the block and which reach out of it. Register traffic inside a run is the same each time,
//! so it is counted once here and multiplied.

use crate::event::{BlockDef, MemShape, RegSpan};
use crate::isa::{Decoded, FlowKind};

/// An access of a block's template, as the table `block_access` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub step: u32,
    pub ordinal: u16,
    pub is_write: bool,
    pub place: AccessPlace,
    pub size: u32,
    pub is_control: bool,
    pub stack_relative: bool,
    /// See `docs/semantics.md`.
    pub data_register: Option<RegSpan>,
    /// Index among the run's values, for register writes.
    pub value: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPlace {
    Register(u16),
    /// Index among the run's addresses.
    Memory(u32),
}

/// Gives each logged access without an operand the next free operand of the decoder with the same
/// direction, one of the same size first.
pub fn match_operands(decoded: &Decoded, shapes: &mut [MemShape]) {
    let mut used = 0u64;
    for shape in shapes.iter().filter(|s| s.operand != MemShape::NO_OPERAND) {
        used |= 1 << (shape.operand & 63);
    }
    for shape in shapes.iter_mut().filter(|s| s.operand == MemShape::NO_OPERAND) {
        let free = |&(i, o): &(usize, &crate::isa::MemOperand)| {
            o.is_write == shape.is_write && used & (1 << i) == 0
        };
        let candidates = || decoded.memory.iter().enumerate().take(64).filter(free);
        let found =
            candidates().find(|(_, o)| o.size == shape.size).or_else(|| candidates().next());
        if let Some((i, _)) = found {
            used |= 1 << i;
            shape.operand = i as u8;
        }
    }
}

/// Lists the accesses of a block in order. `decoded(i)` describes instruction i of the dictionary.
pub fn accesses<'a>(
    def: &BlockDef,
    decoded: impl Fn(u32) -> &'a Decoded,
    mut f: impl FnMut(Access),
) {
    let mut mem = 0u32;
    let mut value = 0u32;
    for (index, step) in def.steps.iter().enumerate() {
        let insn = decoded(step.insn);
        let mut ordinal = 0u16;
        let mut give = |access: Access| {
            f(Access { step: index as u32, ordinal, ..access });
            ordinal += 1;
        };
        let register = |span: RegSpan, control: bool, is_write: bool, value: Option<u32>| Access {
            step: 0,
            ordinal: 0,
            is_write,
            place: AccessPlace::Register(span.offset),
            size: span.size as u32,
            is_control: control,
            stack_relative: false,
            data_register: None,
            value,
        };
        for read in &insn.reads {
            if step.executed || read.control {
                give(register(read.span, read.control, false, None));
            }
        }
        for _ in 0..step.mem {
            let shape = def.mem[mem as usize];
            let operand = insn.memory.get(shape.operand as usize);
            give(Access {
                step: 0,
                ordinal: 0,
                is_write: shape.is_write,
                place: AccessPlace::Memory(mem),
                size: shape.size,
                is_control: operand.is_some_and(|o| o.control),
                stack_relative: operand.is_some_and(|o| o.stack_relative),
                data_register: operand.and_then(|o| o.data_register).filter(|r| {
                    r.size as u32 == shape.size
                        && operand.is_some_and(|o| o.is_write == shape.is_write)
                }),
                value: None,
            });
            mem += 1;
        }
        if step.executed {
            for write in &insn.writes {
                let slot = (write.span.size <= 8).then_some(value);
                value += slot.is_some() as u32;
                give(register(write.span, write.control, true, slot));
            }
        }
    }
}

/// What the pass does for one access, or part of one, of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    pub kind: OpKind,
    pub stack_relative: bool,
    /// Read: goes on with the access of the op before. Write: the bytes were loaded by the step.
    /// Load: a return's.
    pub flag: bool,
    /// Write: the version was already read inside the segment.
    pub seen: bool,
    pub ordinal: u16,
    /// Store that may be a save: ordinal of its register read.
    pub read_ordinal: u16,
    pub step: u32,
    pub insn: u32,
    /// Index among the run's addresses.
    pub mem: u32,
    pub size: u32,
    /// Read, Write: offset of the bytes; Load, Store: the data register.
    pub register: Option<RegSpan>,
    /// In a copying function: the part of a register that a load fills with what it loaded (the
    /// rest is zeros or sign), or the store of a move from memory to memory (and its load:
    /// `moves`).
    pub low: Option<RegSpan>,
    pub moves: bool,
    /// Of the pass.
    pub met: Met,
}

/// What the pass met at an operation last, and so most likely meets next: indices that save it a
/// search, 0 if none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Edges of the instructions, the last first.
    pub edges: [u32; 2],
    /// Flow into the call instance.
    pub flow: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Register read that the segment does not feed itself.
    Read,
    /// Register write that is the last in the segment.
    Write,
    Load,
    Store,
}

/// A communication inside a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Static {
    pub write_step: u32,
    pub write_ordinal: u16,
    pub read_step: u32,
    pub read_ordinal: u16,
    pub address: u16,
    pub bytes: u16,
    pub write_insn: u32,
    pub read_insn: u32,
    /// First communication of its (write access, read access).
    pub first: bool,
    /// Bytes of the version that nothing read before.
    pub unique: u16,
}

/// Steps of a block in one function, between points where registers must be looked at anew.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    pub first_step: u32,
    pub steps: u32,
    pub function: u32,
    pub ops: Vec<Op>,
    pub statics: Vec<Static>,
    pub static_bytes: u64,
    pub static_unique: u64,
    pub static_transfers: u64,
    /// Bytes that its stores write.
    pub stored_bytes: u64,
    /// How often it ran.
    pub count: u64,
    /// Of the pass: a bit for each of the first 64 threads in which it ran.
    pub threads: u64,
    /// Registers from which a store may be a save.
    pub save_mask: u64,
    /// Registers whose load feeds reads further on in the segment.
    pub hazard_mask: u64,
    /// A step of a copying function.
    pub through: bool,
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    pub address: u64,
    pub next: u64,
    pub kind: FlowKind,
    pub target: Option<u64>,
    pub conditional: bool,
    pub repeats: bool,
    pub executed: bool,
    pub insn: u32,
    /// Address index of the return-address slot that a call stores or a return loads.
    pub slot: Option<u32>,
    pub slot_size: u32,
}

/// A block ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub steps: u32,
    pub mem: u32,
    /// Register writes of 8 bytes or less: values that each run has, where the trace has any.
    pub register_values: usize,
    pub first_address: u64,
    pub segments: Vec<Segment>,
    /// Cut after each load that may be a restore and feeds reads in its segment; empty if there is
    /// none.
    pub careful: Vec<Segment>,
    /// Registers of those loads.
    pub hazard_mask: u64,
    /// The block itself may save such a register before.
    pub always_careful: bool,
    pub last: Last,
}

/// Bit of a register in the masks (several registers may share one).
pub fn mask(span: RegSpan) -> u64 {
    1 << ((span.offset / 4) & 63)
}

/// Prepares a block. `function(i)` is the function of instruction i, `through(i)` whether that
/// copies; `literal` makes no store a save.
pub fn prepare<'a>(
    def: &BlockDef,
    decoded: &impl Fn(u32) -> &'a Decoded,
    address: &impl Fn(u32) -> u64,
    function: &impl Fn(u32) -> u32,
    through: &impl Fn(u32) -> bool,
    literal: bool,
) -> Prepared {
    let mut list = Vec::new();
    accesses(def, decoded, |a| list.push(a));
    let last_step = def.steps.len() as u32 - 1;
    let last_insn = def.steps[last_step as usize].insn;
    let flow = decoded(last_insn).flow;
    let slot = list.iter().rev().find(|a| {
        a.step == last_step
            && match flow.kind {
                FlowKind::Call => a.is_write && a.stack_relative,
                FlowKind::Return => !a.is_write && a.is_control,
                _ => false,
            }
            && matches!(a.place, AccessPlace::Memory(_))
    });
    let last = Last {
        address: address(last_insn),
        next: address(last_insn).wrapping_add(decoded(last_insn).size as u64),
        kind: flow.kind,
        target: flow.target,
        conditional: flow.conditional,
        repeats: flow.repeats,
        executed: def.steps[last_step as usize].executed,
        insn: last_insn,
        slot: slot.and_then(|a| if let AccessPlace::Memory(m) = a.place { Some(m) } else { None }),
        slot_size: slot.map_or(0, |a| a.size),
    };
    let cut = |careful: bool| {
        let mut segments: Vec<Segment> = Vec::new();
        let mut builder = Builder::default();
        let mut rest = &list[..];
        let mut start = 0;
        for step in 0..=last_step {
            let f = function(def.steps[step as usize].insn);
            let copies = through(def.steps[step as usize].insn);
            let ends =
                copies || step == last_step || function(def.steps[step as usize + 1].insn) != f;
            let here = rest.partition_point(|a| a.step <= step);
            let may_restore = careful
                && rest[..here].iter().any(|a| {
                    a.step == step
                        && !a.is_write
                        && a.data_register.is_some()
                        && matches!(a.place, AccessPlace::Memory(_))
                });
            if ends || may_restore {
                let mut segment = builder.segment(
                    def,
                    &rest[..here],
                    start,
                    step + 1 - start,
                    f,
                    literal && !copies,
                );
                if copies {
                    mark_copies(&mut segment, &decoded(def.steps[step as usize].insn).text);
                }
                segments.push(segment);
                rest = &rest[here..];
                start = step + 1;
            }
        }
        segments
    };
    let segments = cut(false);
    let hazard_mask = if literal { 0 } else { segments.iter().fold(0, |m, s| m | s.hazard_mask) };
    let save_mask = segments.iter().fold(0, |m, s| m | s.save_mask);
    Prepared {
        steps: def.steps.len() as u32,
        mem: def.mem.len() as u32,
        register_values: list.iter().filter(|a| a.value.is_some()).count(),
        first_address: address(def.steps[0].insn),
        careful: if hazard_mask == 0 { Vec::new() } else { cut(true) },
        segments,
        hazard_mask,
        always_careful: hazard_mask & save_mask != 0,
        last,
    }
}

/// Finds out what a step of a copying function hands on unchanged beside whole registers.
fn mark_copies(segment: &mut Segment, text: &str) {
    segment.through = true;
    segment.hazard_mask = 0;
    let of = |kind| {
        segment
            .ops
            .iter()
            .enumerate()
            .filter(|(_, o)| o.kind == kind)
            .map(|(i, _)| i)
            .collect::<Vec<_>>()
    };
    let (loads, stores, mut writes) = (of(OpKind::Load), of(OpKind::Store), of(OpKind::Write));
    // A base register that moves on is read, too.
    let is_read = |i: &usize| {
        segment.ops.iter().any(|o| o.kind == OpKind::Read && o.register == segment.ops[*i].register)
    };
    if writes.len() > 1 {
        writes.retain(|i| !is_read(i));
    }
    match (&loads[..], &stores[..], &writes[..]) {
        (&[load], &[store], _)
            if text.contains("movs") && segment.ops[load].size == segment.ops[store].size =>
        {
            segment.ops[load].moves = true;
            segment.ops[store].moves = true;
        }
        // The loads with extension: movz, movs, ldrb, ldrsh, lbu, lw; and those into the low part
        // of a register.
        (&[load], &[], &[write])
            if ["mov", "vmov", "ld", "lb", "lh", "lw"].iter().any(|m| text.starts_with(m)) =>
        {
            let (size, whole) = (segment.ops[load].size as u16, segment.ops[write].register);
            if segment.ops[load].register.is_none()
                && let Some(whole) = whole.filter(|w| w.size > size)
            {
                segment.ops[load].low = Some(RegSpan { offset: whole.offset, size });
            }
        }
        _ => {}
    }
}

/// Scratch for one segment: who wrote each register byte last.
#[derive(Default)]
struct Builder {
    /// Index + 1 into `writes`, 0 for live-in.
    last: Vec<u32>,
    /// Bytes of the current version that were read inside the segment.
    seen: Vec<bool>,
}

struct Write {
    step: u32,
    ordinal: u16,
    insn: u32,
    span: RegSpan,
    loaded: bool,
}

impl Builder {
    fn segment(
        &mut self,
        def: &BlockDef,
        list: &[Access],
        first: u32,
        steps: u32,
        function: u32,
        literal: bool,
    ) -> Segment {
        self.last.clear();
        self.seen.clear();
        let mut segment = Segment { first_step: first, steps, function, ..Segment::default() };
        let mut writes: Vec<Write> = Vec::new();
        let insn_of = |a: &Access| def.steps[a.step as usize].insn;
        let reach = |v: &mut Builder, end: usize| {
            if v.last.len() < end {
                v.last.resize(end, 0);
                v.seen.resize(end, false);
            }
        };
        for (i, a) in list.iter().enumerate() {
            let op = Op {
                kind: OpKind::Read,
                stack_relative: a.stack_relative,
                flag: false,
                seen: false,
                ordinal: a.ordinal,
                read_ordinal: u16::MAX,
                step: a.step,
                insn: insn_of(a),
                mem: 0,
                size: a.size,
                register: None,
                low: None,
                moves: false,
                met: Met::default(),
            };
            match a.place {
                AccessPlace::Memory(mem) => {
                    let mut op = Op {
                        mem,
                        kind: if a.is_write { OpKind::Store } else { OpKind::Load },
                        ..op
                    };
                    op.flag = !a.is_write && a.is_control;
                    op.register = a.data_register.filter(|_| !literal);
                    if a.is_write
                        && let Some(r) = op.register
                    {
                        // The save's read of the register was left to this op, if the segment does
                        // not feed it.
                        match segment.ops.iter().rposition(|o| {
                            o.step == a.step && o.kind == OpKind::Read && o.register == Some(r)
                        }) {
                            Some(p) => {
                                op.read_ordinal = segment.ops.remove(p).ordinal;
                                segment.save_mask |= mask(r);
                            }
                            None => op.register = None,
                        }
                    }
                    segment.ops.push(op);
                }
                AccessPlace::Register(offset) if a.is_control => {
                    let _ = offset;
                }
                AccessPlace::Register(offset) if a.is_write => {
                    let span = RegSpan { offset, size: a.size as u16 };
                    reach(self, offset as usize + a.size as usize);
                    let loaded = list[..i].iter().any(|l| {
                        l.step == a.step
                            && !l.is_write
                            && l.data_register == Some(span)
                            && matches!(l.place, AccessPlace::Memory(_))
                    });
                    writes.push(Write {
                        step: a.step,
                        ordinal: a.ordinal,
                        insn: op.insn,
                        span,
                        loaded,
                    });
                    for b in offset..offset + a.size as u16 {
                        self.last[b as usize] = writes.len() as u32;
                        self.seen[b as usize] = false;
                    }
                }
                AccessPlace::Register(offset) => {
                    reach(self, offset as usize + a.size as usize);
                    let mut sources: Vec<u32> = Vec::new();
                    let mut b = offset;
                    let end = offset + a.size as u16;
                    let mut live_in = false;
                    while b < end {
                        let w = self.last[b as usize];
                        let mut e = b + 1;
                        while e < end && self.last[e as usize] == w {
                            e += 1;
                        }
                        if w == 0 {
                            let register = Some(RegSpan { offset: b, size: e - b });
                            segment.ops.push(Op {
                                size: (e - b) as u32,
                                register,
                                flag: live_in,
                                ..op
                            });
                            live_in = true;
                        } else {
                            let write = &writes[w as usize - 1];
                            let unique = (b..e).filter(|&x| !self.seen[x as usize]).count() as u16;
                            self.seen[b as usize..e as usize].fill(true);
                            let first = !sources.contains(&w);
                            sources.push(w);
                            segment.statics.push(Static {
                                write_step: write.step,
                                write_ordinal: write.ordinal,
                                read_step: a.step,
                                read_ordinal: a.ordinal,
                                address: b,
                                bytes: e - b,
                                write_insn: write.insn,
                                read_insn: op.insn,
                                first,
                                unique,
                            });
                            segment.static_bytes += (e - b) as u64;
                            segment.static_unique += unique as u64;
                            segment.static_transfers += first as u64;
                            if write.loaded {
                                segment.hazard_mask |= mask(write.span);
                            }
                        }
                        b = e;
                    }
                }
            }
        }
        // What is left in the registers, at the place of the write.
        for (w, write) in writes.iter().enumerate() {
            let mut b = write.span.offset;
            let end = write.span.offset + write.span.size;
            while b < end {
                if self.last[b as usize] != w as u32 + 1 {
                    b += 1;
                    continue;
                }
                let seen = self.seen[b as usize];
                let mut e = b + 1;
                while e < end
                    && self.last[e as usize] == w as u32 + 1
                    && self.seen[e as usize] == seen
                {
                    e += 1;
                }
                segment.ops.push(Op {
                    kind: OpKind::Write,
                    stack_relative: false,
                    flag: write.loaded,
                    seen,
                    ordinal: write.ordinal,
                    read_ordinal: 0,
                    step: write.step,
                    insn: write.insn,
                    mem: 0,
                    size: (e - b) as u32,
                    register: Some(RegSpan { offset: b, size: e - b }),
                    low: None,
                    moves: false,
                    met: Met::default(),
                });
                b = e;
            }
        }
        segment.stored_bytes =
            segment.ops.iter().filter(|o| o.kind == OpKind::Store).map(|o| o.size as u64).sum();
        segment.ops.sort_by_key(|o| (o.step, o.ordinal));
        segment
    }
}
