//! From what the p-code of an instruction does to [`Decoded`].

use super::evaluated::Evaluated;
use super::register_map::spans;
use super::symbolic::effects::{ByteValue, MemEffect};
use super::symbolic::liveness;
use crate::event::{Isa, RegSpan};
use crate::isa::decoded::{ControlFlow, Decoded, FlowKind, MemOperand, Moved, RegAccess};
use crate::isa::system_call;
use std::collections::BTreeSet;

/// Bytes of our register file.
type Bytes = BTreeSet<u16>;

impl Evaluated<'_> {
    /// The instruction without conditions that its opcode has (ARM).
    pub fn describe(&self, size: u8) -> Decoded {
        let flow = self.flow();
        let (reads, writes) = self.touched(flow.kind);
        let mut memory = self.memory(flow.kind, &reads, &writes);
        // A register whose bytes go to or come from memory is an access of its own, so that a save
        // can be told by its span.
        let moved = |is_write: bool| {
            let moves = memory.iter().filter(move |m| m.is_write == is_write);
            moves.filter_map(|m| m.data_register).collect::<Vec<_>>()
        };
        let (stored, loaded) = (moved(true), moved(false));
        let returned = match &self.effects.transfer {
            Some(transfer) if flow.kind.returns() => transfer.registers.as_slice(),
            _ => &[],
        };
        let read = |span: RegSpan| RegAccess {
            span,
            control: self.file.is_control(span.offset) || returned.iter().any(|r| r.overlaps(span)),
        };
        let reads: Vec<RegAccess> =
            split(spans(self.file, &reads), &stored).into_iter().map(read).collect();
        let writes: Vec<RegAccess> = split(spans(self.file, &writes), &loaded)
            .into_iter()
            .map(|span| self.file.access(span))
            .collect();
        for m in &mut memory {
            let all: &[RegAccess] = if m.is_write { &reads } else { &writes };
            m.data_register = m
                .data_register
                .filter(|r| u32::from(r.size) == m.size && all.iter().any(|a| a.span == *r));
        }
        let moved = self.moved(&memory, &writes);
        let text = self.text.to_string();
        let destination = self.effects.transfer.as_ref().and_then(|t| t.target.clone());
        let destination = destination.filter(|_| flow.target.is_none());
        let (unknown, link) = (Decoded::unknown(size), self.link());
        let mut decoded =
            Decoded { text, flow, reads, writes, memory, moved, destination, link, ..unknown };
        self.store_conditional(&mut decoded);
        decoded
    }

    /// Bytes of registers that are read and written.
    fn touched(&self, kind: FlowKind) -> (Bytes, Bytes) {
        let (mut reads, mut writes) = (self.effects.reads.clone(), self.effects.writes.clone());
        self.mend_registers(&mut reads, &mut writes);
        if kind == FlowKind::Syscall {
            let names = system_call::argument_names(self.isa);
            let register = |name: &&str| self.file.lookup(name);
            let number = system_call::number_name(self.isa);
            let taken = names.iter().chain([&number]);
            reads.extend(taken.filter_map(register).flat_map(RegSpan::bytes));
            // The result is where the first argument was.
            writes.extend(names.first().and_then(register).into_iter().flat_map(RegSpan::bytes));
        }
        for byte in self.file.pc.into_iter().flat_map(RegSpan::bytes) {
            reads.remove(&byte);
            writes.remove(&byte);
        }
        (reads, writes)
    }

    fn memory(&self, kind: FlowKind, reads: &Bytes, writes: &Bytes) -> Vec<MemOperand> {
        let targets: &[u16] = match &self.effects.transfer {
            Some(transfer) if kind.returns() => &transfer.loads,
            _ => &[],
        };
        let written = spans(self.file, writes);
        let mut memory = Vec::with_capacity(self.effects.memory.len());
        for (number, effect) in (0..).zip(&self.effects.memory) {
            let data_register = if effect.is_write {
                self.stored_register(effect, writes)
            } else {
                self.loaded_register(effect, number, reads, &written)
            };
            memory.push(MemOperand {
                guard: effect.guard.clone(),
                stack_relative: self.on_stack(&effect.address),
                control: targets.contains(&number),
                data_register,
                ..MemOperand::plain(effect.is_write, effect.size, effect.address.clone())
            });
        }
        self.mend_memory(&mut memory);
        for m in memory.iter_mut().filter(|m| !m.is_write) {
            m.data_register = m.data_register.filter(|r| self.whole_write(*r, writes));
        }
        memory.sort_by_key(|m| m.is_write);
        memory
    }

    /// The register that a store stores unchanged and that is for nothing else: without this store
    /// nothing reads or writes it.
    fn stored_register(&self, store: &MemEffect, writes: &Bytes) -> Option<RegSpan> {
        let register = initial_register(&store.data, store.size)?;
        let any_in = |bytes: &Bytes| register.bytes().any(|b| bytes.contains(&b));
        let others = || liveness::reads(self.effects, self.map, self.next, Some(store.op));
        (!any_in(writes) && !any_in(&others())).then_some(register)
    }

    /// The register that gets what load `number` loads, unchanged, and is read for nothing.
    fn loaded_register(
        &self,
        load: &MemEffect,
        number: u16,
        reads: &Bytes,
        written: &[RegSpan],
    ) -> Option<RegSpan> {
        let loaded = |register: &RegSpan| {
            (0u16..).zip(register.bytes()).all(|(i, byte)| {
                u8::try_from(i).is_ok_and(|i| {
                    self.effects.finals.get(&byte) == Some(&ByteValue::Load(number, i))
                })
            })
        };
        written
            .iter()
            .flat_map(|span| pieces(*span, load.size))
            .find(|r| loaded(r) && !r.bytes().any(|byte| reads.contains(&byte)))
    }

    /// The register with what the only load loads, as it is; what the instruction writes behind that is
    /// not loaded.
    fn moved(&self, memory: &[MemOperand], writes: &[RegAccess]) -> Option<Moved> {
        let ([load], [effect]) = (memory, &self.effects.memory[..]) else { return None };
        let size = u16::try_from(load.size).ok().filter(|size| *size > 0)?;
        if load.is_write || effect.is_write || effect.size != load.size {
            return None;
        }
        let holds = |span: &RegSpan| {
            span.size >= size
                && (0u16..).zip(span.bytes()).all(|(i, byte)| {
                    match (self.effects.finals.get(&byte), u8::try_from(i)) {
                        (Some(&ByteValue::Load(_, at)), Ok(i)) => i == at && u16::from(i) < size,
                        (Some(ByteValue::Load(..)), Err(_)) => false,
                        _ => i >= size,
                    }
                })
        };
        let span = writes.iter().map(|write| write.span).find(holds)?;
        Some(Moved::ToRegister(RegSpan { offset: span.offset, size }))
    }

    /// Whether the instruction writes nothing else of the same full register (an extension). ARM's
    /// q registers are the exception: their parts are registers too.
    fn whole_write(&self, register: RegSpan, writes: &Bytes) -> bool {
        let Some(full) = self.file.at(register.offset) else { return false };
        self.isa == Isa::Arm && full.span.size == 16
            || writes.range(full.span.bytes()).count() == usize::from(register.size)
    }

    fn store_conditional(&self, decoded: &mut Decoded) {
        let name = self.mnemonic();
        let exclusive = match self.isa {
            Isa::Arm => name.starts_with("strex") || name.starts_with("stlex"),
            Isa::Aarch64 => name.starts_with("stx") || name.starts_with("stlx"),
            _ => name == "sc",
        };
        if !exclusive {
            return;
        }
        decoded.memory.iter_mut().for_each(|o| o.guard = None);
        if let [status] = decoded.writes.as_slice() {
            decoded.success = Some((status.span, 0));
        }
    }
}

/// The flow of an instruction that goes on with the next address.
pub const NEXT: ControlFlow = ControlFlow::plain(FlowKind::Next);

/// The register whose bytes these are, in order.
fn initial_register(data: &[ByteValue], size: u32) -> Option<RegSpan> {
    let Some(ByteValue::Initial(offset)) = data.first().copied() else { return None };
    let span = RegSpan { offset, size: u16::try_from(data.len()).ok()? };
    let whole = u32::from(span.size) == size
        && span.bytes().zip(data).all(|(byte, value)| *value == ByteValue::Initial(byte));
    whole.then_some(span)
}

/// Cuts spans at the ends of `at`.
fn split(spans: Vec<RegSpan>, at: &[RegSpan]) -> Vec<RegSpan> {
    let cuts: Bytes = at.iter().flat_map(|r| [r.offset, r.end()]).collect();
    let mut out = Vec::with_capacity(spans.len());
    for span in spans {
        let mut from = span.offset;
        for &cut in cuts.range(span.offset + 1..).take_while(|c| **c < span.end()) {
            out.push(RegSpan { offset: from, size: cut - from });
            from = cut;
        }
        out.push(RegSpan { offset: from, size: span.end() - from });
    }
    out
}

/// The aligned pieces of a span that are `size` bytes long.
fn pieces(span: RegSpan, size: u32) -> impl Iterator<Item = RegSpan> {
    let size = u16::try_from(size).unwrap_or(u16::MAX);
    let step = size.max(1);
    (0..span.size / step).map(move |i| RegSpan { offset: span.offset + i * step, size })
}
