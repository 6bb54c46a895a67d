//! Writes a stream of runs that a reader has given, with all that is known of them.

use super::bytes::{put, put_text, zigzag};
use super::columns::{Columns, Lists, Shape, Values};
use super::events::kind;
use super::notes::{BlockNote, CodeNote};
use super::piece::{Header, PieceKind, put_header, put_piece};
use super::told;
use crate::event::{BlockDef, Carries, Event, InsnDef, Isa, RunBatch};
use crate::trace::reader::{Claim, ProcessClaim};
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// Bytes of a piece at most, about. A batch that is smaller is a piece, so that who reads it has the same
/// batches.
const PIECE: usize = 16 << 20;

/// ELF's `e_machine` and the bits of an address.
fn machine(isa: Isa) -> (u16, u8) {
    match isa {
        Isa::X86 => (3, 32),
        Isa::Arm => (40, 32),
        Isa::X86_64 => (62, 64),
        Isa::Aarch64 => (183, 64),
        Isa::Riscv32 => (243, 32),
        Isa::Riscv64 => (243, 64),
    }
}

/// A block that is defined: all of it is its only path.
struct Block {
    shape: Shape,
    fields: Vec<u64>,
    next: [Option<u32>; 2],
}

pub struct Writer<W: Write> {
    out: W,
    isa: Isa,
    insns: Vec<InsnDef>,
    notes: FxHashMap<(u64, Vec<u8>), CodeNote>,
    blocks: Vec<Block>,
    columns: Columns,
    lists: Lists,
    definitions: Vec<u8>,
    records: Vec<u8>,
    before: Option<u32>,
    thread: u32,
    /// Steps of the pieces before, and of this one.
    done: u64,
    steps: u64,
    runs: u64,
    /// Events and names of registers for which there is no place.
    pub lost: u64,
}

impl<W: Write> Writer<W> {
    pub fn begin(mut out: W, isa: Isa, carries: Carries) -> io::Result<Writer<W>> {
        let (machine, bits) = machine(isa);
        let (tells_all, whole_machine) = (carries.all_stores, carries.kernel);
        put_header(
            &mut out,
            &Header { machine, bits, tells_all, whole_machine, carries: Some(carries) },
        )?;
        Ok(Writer {
            out,
            isa,
            insns: Vec::new(),
            notes: FxHashMap::default(),
            blocks: Vec::new(),
            columns: Columns::default(),
            lists: Lists::default(),
            definitions: Vec::new(),
            records: Vec::new(),
            before: None,
            thread: 0,
            done: 0,
            steps: 0,
            runs: 0,
            lost: 0,
        })
    }

    /// Defines an instruction behind those before.
    pub fn instruction(&mut self, def: InsnDef) {
        self.insns.push(def);
    }

    /// Defines a block of instructions that are defined; `register_values`: those of a run.
    pub fn block(&mut self, def: &BlockDef, register_values: usize) {
        let out = &mut self.definitions;
        let mut block = vec![1];
        put(&mut block, def.steps.len() as u64);
        let mut next = 0u64;
        for step in &def.steps {
            let Some(insn) = self.insns.get(step.insn as usize) else { continue };
            let address = insn.address | u64::from(self.isa == Isa::Arm && insn.thumb);
            let code = code(insn);
            let note = CodeNote::of(insn);
            let key = (address, code.clone());
            if self.notes.get(&key).cloned().unwrap_or_default() != note {
                self.lost += note.write(out, self.isa, address, &code);
                self.notes.insert(key, note);
            }
            let size = code.len() as u8;
            if address == next {
                block.push(size);
            } else {
                block.push(size | 0x80);
                put(&mut block, zigzag(address.wrapping_sub(next)));
            }
            block.extend_from_slice(&code);
            next = address.wrapping_add(size.into());
        }
        put(&mut block, def.mem.len() as u64);
        let mut shapes = def.mem.iter();
        for (i, step) in def.steps.iter().enumerate() {
            for shape in shapes.by_ref().take(step.mem.into()) {
                put(&mut block, i as u64);
                block.push(shape.is_write.into());
                put(&mut block, shape.size.into());
            }
        }
        out.append(&mut block);
        let number = self.blocks.len() as u64;
        let (steps, accesses) = (def.steps.len(), def.mem.len());
        BlockNote::of(def, register_values as u32).write(out, number);
        out.push(2);
        [number, steps as u64, accesses as u64].into_iter().for_each(|n| put(out, n));
        let shape = Shape { steps, accesses, register_values };
        self.blocks.push(Block { shape, fields: vec![0; accesses], next: [None; 2] });
    }

    /// Writes the runs of a batch, whose definitions are made.
    pub fn runs(&mut self, batch: &RunBatch) -> io::Result<()> {
        let mut events = batch.events.iter().peekable();
        let (mut addresses, mut memory) = (&batch.addresses[..], &batch.values[..]);
        let (mut registers, mut times) = (&batch.register_values[..], &batch.time[..]);
        for (i, &block) in batch.block.iter().enumerate() {
            while let Some((_, event)) = events.next_if(|(at, _)| *at as usize <= i) {
                self.event(event);
            }
            self.thread(batch.thread.get(i).copied().unwrap_or(0));
            let Some(shape) = self.blocks.get(block as usize).map(|b| b.shape) else { continue };
            self.run(block, split(&mut addresses, shape.accesses));
            let values = Values {
                memory: split(&mut memory, shape.accesses),
                registers: split(&mut registers, shape.register_values),
                times: split(&mut times, shape.steps),
                end: batch.end.get(i).copied(),
            };
            self.columns.write(block, &values, &mut self.lists);
            self.steps += shape.steps as u64;
            self.runs += 1;
            if self.records.len() + self.lists.len() >= PIECE {
                self.flush()?;
            }
        }
        events.for_each(|(_, event)| self.event(event));
        if batch.block.is_empty() { Ok(()) } else { self.flush() }
    }

    fn run(&mut self, path: u32, addresses: &[u64]) {
        let next = self.before.and_then(|before| self.blocks.get_mut(before as usize));
        let token = match next {
            Some(Block { next, .. }) if next[0] == Some(path) => 0,
            Some(Block { next, .. }) => {
                let second = next[1] == Some(path);
                *next = [Some(path), next[0]];
                if second { 2 } else { u64::from(path) + 3 }
            }
            None => u64::from(path) + 3,
        };
        put(&mut self.records, token);
        self.before = Some(path);
        for (field, &address) in self.blocks[path as usize].fields.iter_mut().zip(addresses) {
            put(&mut self.records, zigzag(address.wrapping_sub(*field)));
            *field = address;
        }
    }

    fn tell(&mut self, kind: u8, payload: &[u8]) {
        self.records.extend([1, kind]);
        put(&mut self.records, payload.len() as u64);
        self.records.extend_from_slice(payload);
    }

    fn numbers(&mut self, kind: u8, numbers: &[u64], text: Option<&str>) {
        let mut payload = Vec::new();
        numbers.iter().for_each(|n| put(&mut payload, *n));
        if let Some(text) = text {
            put_text(&mut payload, text);
        }
        self.tell(kind, &payload);
    }

    fn thread(&mut self, thread: u32) {
        if self.thread != thread {
            self.thread = thread;
            self.numbers(kind::THREAD, &[thread.into()], None);
        }
    }

    fn event(&mut self, event: &Event) {
        if let Some((kind, payload)) = told::write(event) {
            return self.tell(kind, &payload);
        }
        match event {
            Event::Gap => self.tell(kind::GAP, &[]),
            Event::Process(of) => {
                let name = of.name.as_deref().unwrap_or_default();
                self.numbers(kind::PROCESS, &[of.pid.unwrap_or(0)], Some(name));
            }
            Event::ThreadStart(of) if of.thread > 0 => {
                self.numbers(
                    kind::THREAD_START,
                    &[of.thread.into(), of.parent.unwrap_or(0).into()],
                    None,
                );
            }
            Event::ThreadEnd { thread } => {
                self.numbers(kind::THREAD_END, &[(*thread).into()], None);
            }
            Event::ImageMap(map) => {
                let protection = 4 | u64::from(map.executable);
                let path = map.path.as_deref().unwrap_or_default();
                self.numbers(
                    kind::MAP,
                    &[map.address, map.bytes, protection, map.offset],
                    Some(path),
                );
            }
            Event::ImageUnmap { address, bytes } => {
                self.numbers(kind::UNMAP, &[*address, *bytes], None);
            }
            Event::Device(device) => {
                self.numbers(kind::DEVICE, &[device.address, device.bytes], Some(&device.name));
            }
            Event::MemoryMove { from, to, bytes } => {
                self.numbers(kind::MOVE, &[*from, *to, *bytes], None);
            }
            Event::MemoryFresh { address, bytes } => {
                self.numbers(kind::FRESH, &[*address, *bytes], None);
            }
            Event::SignalDelivered { thread, number } => {
                self.thread(*thread);
                self.numbers(kind::SIGNAL, &[(*number).into()], None);
            }
            Event::SignalEnded { thread } => {
                self.thread(*thread);
                self.numbers(kind::SIGNAL_END, &[0], None);
            }
            Event::Allocation(of) => {
                self.thread(of.thread);
                self.numbers(kind::ALLOCATE, &[of.address, of.bytes], None);
            }
            Event::Free { thread, address } => {
                self.thread(*thread);
                self.numbers(kind::FREE, &[*address], None);
            }
            Event::Reallocation { thread, address } => {
                self.thread(*thread);
                self.numbers(kind::REALLOCATE, &[*address], None);
            }
            Event::StackPointer { thread, before, behind, above } => {
                self.thread(*thread);
                let above = above.iter().flat_map(|(slot, address)| [*slot, *address]);
                let numbers: Vec<u64> = [*before, *behind].into_iter().chain(above).collect();
                self.numbers(kind::STACK_POINTER, &numbers, None);
            }
            _ => self.lost += 1,
        }
    }

    /// What the log claims of the run.
    pub fn claim(&mut self, claim: &Claim) {
        match claim {
            Claim::ConditionalExits(exits) => {
                self.numbers(kind::CONDITIONAL_EXITS, &[*exits], None);
            }
            Claim::Process(ProcessClaim { pid, program, parent }) => {
                let numbers = [pid.map_or(0, |n| n + 1), parent.map_or(0, |n| n + 1)];
                self.numbers(
                    kind::PROCESS_CLAIM,
                    &numbers,
                    Some(program.as_deref().unwrap_or_default()),
                );
            }
        }
    }

    /// Something of the log that was not understood: 0 to 2, how bad it is.
    pub fn problem(&mut self, severity: u64, text: &str) {
        self.numbers(kind::PROBLEM, &[severity], Some(text));
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(payload) = self.lists.take() {
            self.tell(kind::VALUES, &payload);
        }
        let steps = [self.done, 0];
        if !self.definitions.is_empty() {
            put_piece(&mut self.out, PieceKind::Definitions, steps, &self.definitions)?;
            self.definitions.clear();
        }
        if !self.records.is_empty() {
            put_piece(&mut self.out, PieceKind::Records, [self.done, self.steps], &self.records)?;
            self.records.clear();
        }
        (self.done, self.steps) = (self.done + self.steps, 0);
        // Each piece can be read by itself.
        self.before = None;
        self.columns.forget();
        for block in &mut self.blocks {
            block.fields.fill(0);
            block.next = [None; 2];
        }
        Ok(())
    }

    /// Ends the stream; gives what it was written to, and how many steps were.
    pub fn end(mut self) -> io::Result<(W, u64)> {
        self.flush()?;
        let mut payload = Vec::new();
        put(&mut payload, 0);
        put(&mut payload, self.runs);
        put_piece(&mut self.out, PieceKind::End, [self.done, 0], &payload)?;
        self.out.flush()?;
        Ok((self.out, self.done))
    }
}

/// The bytes that stand for an instruction, also if its own are not known.
fn code(insn: &InsnDef) -> Vec<u8> {
    if insn.bytes.is_empty() {
        vec![0; usize::from(insn.size.clamp(1, 16))]
    } else {
        insn.bytes[..insn.bytes.len().min(16)].to_vec()
    }
}

/// The first `count`, or as many as there are; the rest stays.
fn split<'a, T>(rest: &mut &'a [T], count: usize) -> &'a [T] {
    let (first, more) = rest.split_at(count.min(rest.len()));
    *rest = more;
    first
}
