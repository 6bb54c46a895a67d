//! From steps to runs: computes the memory accesses that the log does not hold.
//!
//! A step is looked at twice: *begun* with the register values before it (conditions, addresses,
//! what a store stores) and *completed* with those after it (what a load loaded, what registers
//! got, whether a store-conditional stored). Where the log has the values before each instruction,
//! a step is completed by the next record of its thread, so the runs wait in a queue.

use super::{Decoded, Decoder, RegAccess, decoder, kernel_helper, registers};
use crate::diagnostics::{Counted, Diagnostic, Severity};
use crate::event::{
    BlockDef, BlockStep, Carries, Condition, InsnDef, Isa, LoggedAccess, MemShape, RegSpan, RegUse,
    RunBatch, RunEnd, StepBatch,
};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};

/// Steps after which a run ends.
const LONGEST_RUN: usize = 4096;
/// Steps that a run may wait for the next record of its thread; then its last step stays without
/// the values after it.
const LONGEST_WAIT: u64 = 65_536;

/// Code bytes at a run-time address, to the end of their segment or as many as a decoder needs.
pub type Code = Box<dyn Fn(u64) -> Option<Vec<u8>>>;

/// Turns [`StepBatch`]es into [`RunBatch`]es. What comes out does not depend on how the steps are
/// cut into batches.
pub struct Elaborator {
    isa: Isa,
    carries: Carries,
    code: Code,
    decoder: Box<dyn Decoder>,
    /// The reader's dictionary.
    entries: Vec<Entry>,
    /// Output id of each distinct instruction.
    insn_ids: FxHashMap<InsnDef, u32>,
    threads: Vec<Thread>,
    thread_index: FxHashMap<u32, usize>,
    current: usize,
    queue: VecDeque<Box<Run>>,
    /// Number of the run at the front of the queue.
    first: u64,
    #[allow(clippy::vec_box)]
    spare: Vec<Box<Run>>,
    blocks: Blocks,
    rows: u64,
    position: u64,
    address_mask: u64,
    thumb_mask: u64,
    natural_size: u32,
    register_bytes: usize,
    sp: Option<RegSpan>,
    link: Option<RegSpan>,
    problems: Problems,
}

/// An instruction of the reader's dictionary.
struct Entry {
    def: InsnDef,
    decoded: Decoded,
    /// Id in the output's dictionary, `NEW` until it is executed.
    id: u32,
    next: u64,
    helper: bool,
    /// Nothing but register accesses.
    plain: bool,
    /// Registers whose values a run lists.
    values: Vec<RegSpan>,
}

const NEW: u32 = u32::MAX;

struct Thread {
    id: u32,
    registers: RegisterFile,
    pending: Option<Pending>,
}

/// The last step of a thread, which waits for the values after it.
#[derive(Clone, Copy)]
struct Pending {
    run: u64,
    entry: u32,
    /// First memory access and first register value of the step in its run.
    mem: u32,
    value: u32,
    executed: bool,
}

/// Register values with a mask of the bytes that are known.
struct RegisterFile {
    bytes: Vec<u8>,
    known: Vec<u8>,
    size: usize,
}

impl RegisterFile {
    fn new(size: usize) -> RegisterFile {
        // Eight bytes more, so that every span can be read as a word.
        RegisterFile { bytes: vec![0; size + 8], known: vec![0; size + 8], size }
    }

    fn word(bytes: &[u8], offset: usize) -> u64 {
        bytes.get(offset..offset + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    #[inline]
    fn get(&self, span: RegSpan) -> Option<u64> {
        if span.size == 0 || span.size > 8 {
            return None;
        }
        let mask = u64::MAX >> (64 - 8 * u32::from(span.size));
        let known = Self::word(&self.known, span.offset.into());
        (known & mask == mask).then(|| Self::word(&self.bytes, span.offset.into()) & mask)
    }

    #[inline]
    fn set(&mut self, span: RegSpan, value: u64) {
        let (offset, size) = (usize::from(span.offset), u32::from(span.size.min(8)));
        if size == 0 || offset + size as usize > self.size {
            return;
        }
        let mask = u64::MAX >> (64 - 8 * size);
        let bytes = Self::word(&self.bytes, offset) & !mask | value & mask;
        let known = Self::word(&self.known, offset) | mask;
        self.bytes[offset..offset + 8].copy_from_slice(&bytes.to_le_bytes());
        self.known[offset..offset + 8].copy_from_slice(&known.to_le_bytes());
    }
}

/// A straight run that is being formed, or that waits for the values after its last step.
#[derive(Default)]
struct Run {
    thread: usize,
    next: u64,
    closed: bool,
    waiting: bool,
    /// Row that closed it.
    closed_at: u64,
    position: u64,
    def: BlockDef,
    addresses: Vec<u64>,
    values: Vec<Option<u64>>,
    register_values: Vec<Option<u64>>,
    time: Vec<u64>,
    /// After the last step that was completed.
    end: Option<RunEnd>,
}

impl Run {
    /// Stops waiting for the values after the last step.
    fn give_up(&mut self) {
        if self.waiting {
            (self.waiting, self.end) = (false, None);
        }
    }

    fn clear(&mut self) {
        let Run { def, addresses, values, register_values, time, .. } = self;
        def.steps.clear();
        def.mem.clear();
        addresses.clear();
        values.clear();
        register_values.clear();
        time.clear();
        (self.closed, self.waiting, self.end) = (false, false, None);
    }
}

/// Distinct blocks by content.
#[derive(Default)]
struct Blocks {
    defs: Vec<BlockDef>,
    /// First block with a hash, and for each block the one before it with the same hash.
    heads: FxHashMap<u64, u32>,
    older: Vec<u32>,
}

impl Blocks {
    /// The id of `def`, and whether it is new.
    fn intern(&mut self, def: &BlockDef) -> (u32, bool) {
        let mut hasher = FxHasher::default();
        def.hash(&mut hasher);
        let head = self.heads.entry(hasher.finish()).or_insert(NEW);
        let mut at = *head;
        while at != NEW {
            if self.defs[at as usize] == *def {
                return (at, false);
            }
            at = self.older[at as usize];
        }
        let id = self.defs.len() as u32;
        self.older.push(*head);
        *head = id;
        self.defs.push(def.clone());
        (id, true)
    }
}

/// Kinds of problems with their number; a message is made for the first of each only.
#[derive(Default)]
struct Problems(BTreeMap<&'static str, Counted>);

impl Problems {
    fn add(
        &mut self,
        code: &'static str,
        position: u64,
        remedy: &'static str,
        message: impl FnOnce() -> String,
    ) {
        self.0.entry(code).and_modify(|row| row.count += 1).or_insert_with(|| {
            let position = position.to_string();
            Counted {
                first: Diagnostic {
                    severity: Severity::Warning,
                    code,
                    message: message(),
                    position,
                    remedy,
                },
                count: 1,
            }
        });
    }
}

/// What the decoder makes of an instruction of a log, and the definition with the bytes that were
/// decoded.
///
/// The bytes of a log may be cut (QEMU's plugin gives 4) or have stale ones behind the instruction;
/// where the ELF's code agrees with them, the ELF's is decoded. Registers that the log flags
/// replace the decoder's.
pub fn resolve(
    def: &InsnDef,
    isa: Isa,
    decoder: &mut dyn Decoder,
    code: &dyn Fn(u64) -> Option<Vec<u8>>,
) -> (InsnDef, Option<Decoded>) {
    let mut def = def.clone();
    let mut decoded = kernel_helper::decode(isa, def.address);
    if decoded.is_some() {
        def.bytes.clear();
    } else {
        if let Some(bytes) = code(def.address)
            && let Some(d) = decoder.decode(def.address, &bytes, def.thumb)
        {
            let size = usize::from(d.size).min(bytes.len());
            let same = size.min(def.bytes.len());
            if bytes[..same] == def.bytes[..same] {
                def.bytes = bytes[..size].to_vec();
                decoded = Some(d);
            }
        }
        if decoded.is_none() && !def.bytes.is_empty() {
            decoded = decoder.decode(def.address, &def.bytes, def.thumb);
            if let Some(d) = &decoded {
                def.bytes.truncate(d.size.into());
            }
        }
    }
    if let Some(d) = &mut decoded {
        def.size = d.size;
        if let Some(flags) = &def.log_registers {
            let file = registers(isa);
            let list = |kind: RegUse| {
                let of_kind = flags.iter().filter(|(_, u)| *u == kind || *u == RegUse::ReadWrite);
                let mut spans: Vec<RegSpan> = of_kind.map(|(span, _)| *span).collect();
                spans.sort_unstable();
                spans.dedup_by(|next, kept| {
                    let joined = next.offset < kept.offset.saturating_add(kept.size);
                    if joined {
                        kept.size =
                            kept.size.max(next.offset.saturating_add(next.size) - kept.offset);
                    }
                    joined
                });
                let control = |span: &RegSpan| file.at(span.offset).is_some_and(|r| r.control);
                spans.into_iter().map(|span| RegAccess { span, control: control(&span) }).collect()
            };
            (d.reads, d.writes) = (list(RegUse::Read), list(RegUse::Write));
        }
    }
    (def, decoded)
}

impl Elaborator {
    /// `code` gives the code bytes of the loaded images; `carries` says which columns of the
    /// batches mean something.
    pub fn new(isa: Isa, big_endian: bool, carries: Carries, code: Code) -> Elaborator {
        let file = registers(isa);
        let wide = matches!(isa, Isa::X86_64 | Isa::Aarch64 | Isa::Riscv64);
        Elaborator {
            isa,
            carries,
            code,
            decoder: decoder(isa, big_endian),
            entries: Vec::new(),
            insn_ids: FxHashMap::default(),
            threads: Vec::new(),
            thread_index: FxHashMap::default(),
            current: 0,
            queue: VecDeque::new(),
            first: 0,
            spare: Vec::new(),
            blocks: Blocks::default(),
            rows: 0,
            position: 0,
            address_mask: if wide { u64::MAX } else { u32::MAX.into() },
            thumb_mask: if isa == Isa::Arm { !1 } else { u64::MAX },
            natural_size: if wide { 8 } else { 4 },
            register_bytes: file.size,
            sp: file.sp,
            link: file.link,
            problems: Problems::default(),
        }
    }

    /// Problems met so far, by code.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Counted> {
        self.problems.0.values()
    }

    /// Takes the rows of `batch`, which is left empty, and appends to `out` the runs that are
    /// complete.
    pub fn push(&mut self, batch: &mut StepBatch, out: &mut RunBatch) {
        self.position = batch.position;
        for def in batch.new_insns.drain(..) {
            self.entries.push(Entry {
                next: def.address,
                def,
                decoded: Decoded::unknown(0),
                id: NEW,
                helper: false,
                plain: false,
                values: Vec::new(),
            });
        }
        let (mut access, mut register) = (0, 0);
        for row in 0..batch.insn.len() {
            let access_end = batch
                .access_end
                .get(row)
                .map_or(access, |&e| (e as usize).clamp(access, batch.accesses.len()));
            let register_end = batch
                .register_end
                .get(row)
                .map_or(register, |&e| (e as usize).clamp(register, batch.registers.len()));
            let logged = &batch.accesses[access..access_end];
            let changes = &batch.registers[register..register_end];
            (access, register) = (access_end, register_end);
            let insn = batch.insn[row];
            if insn as usize >= self.entries.len() {
                self.problems.add(
                    "instruction-unknown",
                    self.position,
                    "this is a defect of the reader; report it",
                    || format!("a row names instruction {insn}, which was not defined"),
                );
                continue;
            }
            let thread =
                if self.carries.threads { batch.thread.get(row).copied().unwrap_or(0) } else { 0 };
            let thread = self.thread(thread);
            let condition = batch.condition.get(row).copied().unwrap_or_default();
            let time = if self.carries.time {
                Some(batch.time.get(row).copied().unwrap_or(0))
            } else {
                None
            };
            self.rows += 1;
            if self.carries.registers && self.carries.registers_before {
                self.change(thread, changes);
                self.complete(thread);
                self.begin(thread, insn, condition, time, logged, out);
            } else {
                self.begin(thread, insn, condition, time, logged, out);
                self.change(thread, changes);
                self.complete(thread);
            }
            self.emit(out);
        }
        batch.clear();
    }

    /// Ends the last runs and appends them to `out`.
    pub fn finish(&mut self, out: &mut RunBatch) {
        for thread in &mut self.threads {
            thread.pending = None;
        }
        for run in &mut self.queue {
            run.give_up();
            run.closed = true;
        }
        self.emit(out);
    }

    fn thread(&mut self, id: u32) -> usize {
        if self.threads.get(self.current).is_some_and(|t| t.id == id) {
            return self.current;
        }
        let next = self.threads.len();
        self.current = *self.thread_index.entry(id).or_insert(next);
        if self.current == next {
            self.threads.push(Thread {
                id,
                registers: RegisterFile::new(self.register_bytes),
                pending: None,
            });
        }
        self.current
    }

    #[inline]
    fn change(&mut self, thread: usize, changes: &[(RegSpan, u64)]) {
        let file = &mut self.threads[thread].registers;
        for &(span, value) in changes {
            file.set(span, value);
        }
    }

    /// Decodes an instruction that is executed for the first time.
    #[cold]
    fn define(&mut self, insn: u32, out: &mut RunBatch) {
        let entry = &mut self.entries[insn as usize];
        let (def, decoded) = resolve(&entry.def, self.isa, self.decoder.as_mut(), &self.code);
        entry.helper = kernel_helper::is_helper(self.isa, def.address);
        entry.decoded = decoded.unwrap_or_else(|| {
            let fixed = matches!(self.isa, Isa::Arm | Isa::Aarch64) && !def.thumb;
            let size = match def.size {
                0 if fixed => 4,
                0 => def.bytes.len().min(15) as u8,
                size => size,
            };
            self.problems.add(
                "instruction-undecoded",
                self.position,
                "give the ELF files that ran with --elf",
                || {
                    format!(
                        "cannot decode the instruction at {:#x}, opcode bytes {:02x?}",
                        def.address, def.bytes
                    )
                },
            );
            Decoded::unknown(size)
        });
        let decoded = &entry.decoded;
        entry.next = def.address.wrapping_add(decoded.size.into()) & self.address_mask;
        entry.plain = decoded.memory.is_empty() && decoded.condition.is_none();
        entry.values = decoded.writes.iter().map(|w| w.span).filter(|s| s.size <= 8).collect();
        // Two definitions that differ only in stale bytes or in the log's text are one instruction.
        let key = InsnDef { text: None, ..def.clone() };
        let id = self.insn_ids.len() as u32;
        entry.id = *self.insn_ids.entry(key).or_insert(id);
        if entry.id == id {
            out.new_insns.push(def.clone());
        }
        entry.def = def;
    }

    /// First look at a step, with the register values before it.
    #[inline]
    fn begin(
        &mut self,
        thread: usize,
        insn: u32,
        condition: Condition,
        time: Option<u64>,
        logged: &[LoggedAccess],
        out: &mut RunBatch,
    ) {
        if self.entries[insn as usize].id == NEW {
            self.define(insn, out);
        }
        let entry = &self.entries[insn as usize];
        let goes_on = self.queue.back().is_some_and(|run| {
            !run.closed
                && run.thread == thread
                && run.next == entry.def.address
                && run.def.steps.len() < LONGEST_RUN
        });
        if !goes_on {
            if let Some(run) = self.queue.back_mut()
                && !run.closed
            {
                (run.closed, run.closed_at) = (true, self.rows);
            }
            let mut run = self.spare.pop().unwrap_or_default();
            run.thread = thread;
            run.position = self.position;
            self.queue.push_back(run);
        }
        let number = self.first + self.queue.len() as u64 - 1;
        let Some(run) = self.queue.back_mut() else { return };
        run.next = entry.next;
        let mem = run.def.mem.len();
        let mut executed = condition != Condition::Failed;
        if !entry.plain || !logged.is_empty() {
            let mut step = Step {
                entry,
                registers: &self.threads[thread].registers,
                values: self.carries.values || self.carries.registers,
                natural_size: self.natural_size,
                address_mask: self.address_mask,
                position: self.position,
                run,
                problems: &mut self.problems,
            };
            executed = step.executed(condition, logged, self.carries.accesses);
            if executed && self.carries.accesses && !entry.helper {
                step.take(logged);
            } else if executed {
                step.compute();
            }
        }
        let accesses = run.def.mem.len() - mem;
        run.def.steps.push(BlockStep { insn: entry.id, executed, mem: accesses as u16 });
        run.time.extend(time);
        if entry.decoded.size == 0 {
            // What follows is not known.
            (run.closed, run.closed_at) = (true, self.rows);
        }
        if self.carries.registers {
            let value = run.register_values.len() as u32;
            if executed {
                run.register_values.resize(run.register_values.len() + entry.values.len(), None);
            }
            run.waiting = true;
            self.threads[thread].pending =
                Some(Pending { run: number, entry: insn, mem: mem as u32, value, executed });
        }
    }

    /// Second look at the last step of a thread, with the register values after it.
    #[inline]
    fn complete(&mut self, thread: usize) {
        let Thread { registers, pending, .. } = &mut self.threads[thread];
        let Some(step) = pending.take() else { return };
        let Some(run) =
            step.run.checked_sub(self.first).and_then(|i| self.queue.get_mut(i as usize))
        else {
            return;
        };
        let entry = &self.entries[step.entry as usize];
        run.waiting = false;
        let sp = self.sp.and_then(|span| registers.get(span));
        let link = self.link.and_then(|span| registers.get(span));
        run.end =
            Some(RunEnd { sp, linked: link.is_some_and(|l| l & self.thumb_mask == entry.next) });
        if !step.executed {
            return;
        }
        for (slot, span) in run.register_values[step.value as usize..].iter_mut().zip(&entry.values)
        {
            *slot = registers.get(*span);
        }
        let mem = step.mem as usize;
        if run.def.mem.len() == mem {
            return;
        }
        if let Some((span, value)) = entry.decoded.success
            && (!self.carries.accesses || entry.helper)
        {
            match registers.get(span) {
                Some(got) if got != value => {
                    // The writes are the last accesses.
                    while run.def.mem.len() > mem && run.def.mem.last().is_some_and(|m| m.is_write) {
                        run.def.mem.pop();
                        run.addresses.pop();
                        run.values.pop();
                        if let Some(step) = run.def.steps.last_mut() {
                            step.mem -= 1;
                        }
                    }
                }
                Some(_) => {}
                None => self.problems.add("condition-unknown", self.position, RECORD_REGISTERS, || {
                    format!("cannot tell whether the store-conditional at {:#x} stored; taken as if it did", entry.def.address)
                }),
            }
        }
        for (shape, value) in run.def.mem[mem..].iter().zip(&mut run.values[mem..]) {
            if !shape.is_write && value.is_none() {
                *value = data_register(&entry.decoded, shape).and_then(|span| registers.get(span));
            }
        }
    }

    /// Moves the runs at the front of the queue that are complete to `out`.
    #[inline]
    fn emit(&mut self, out: &mut RunBatch) {
        while let Some(run) = self.queue.front() {
            if !run.closed || run.waiting && self.rows - run.closed_at < LONGEST_WAIT {
                return;
            }
            let Some(mut run) = self.queue.pop_front() else { return };
            self.first += 1;
            run.give_up();
            if out.block.is_empty() {
                out.position = run.position;
            }
            let (block, new) = self.blocks.intern(&run.def);
            if new {
                out.new_blocks.push(run.def.clone());
            }
            out.block.push(block);
            if self.carries.threads {
                out.thread.push(self.threads[run.thread].id);
            }
            out.addresses.extend_from_slice(&run.addresses);
            out.values.extend_from_slice(&run.values);
            out.register_values.extend_from_slice(&run.register_values);
            out.time.extend_from_slice(&run.time);
            if self.carries.registers {
                out.end.push(run.end.unwrap_or(RunEnd { sp: None, linked: false }));
            }
            run.clear();
            self.spare.push(run);
        }
    }
}

const RECORD_REGISTERS: &str =
    "record with the registers that the instruction reads, the flags included";

fn data_register(decoded: &Decoded, shape: &MemShape) -> Option<RegSpan> {
    let operand = decoded.memory.get(usize::from(shape.operand))?;
    operand
        .data_register
        .filter(|r| u32::from(r.size) == shape.size && operand.is_write == shape.is_write)
}

/// The step that is being begun.
struct Step<'a> {
    entry: &'a Entry,
    registers: &'a RegisterFile,
    values: bool,
    natural_size: u32,
    address_mask: u64,
    position: u64,
    run: &'a mut Run,
    problems: &'a mut Problems,
}

impl Step<'_> {
    fn executed(&mut self, condition: Condition, logged: &[LoggedAccess], accesses: bool) -> bool {
        match condition {
            Condition::Held => return true,
            Condition::Failed => return false,
            Condition::Unknown if !logged.is_empty() => return true,
            Condition::Unknown => {}
        }
        let decoded = &self.entry.decoded;
        let Some(expression) = &decoded.condition else { return true };
        if let Some(value) = expression.eval(&|span| self.registers.get(span)) {
            return value != 0;
        }
        if accesses && !decoded.memory.is_empty() {
            return false;
        }
        let address = self.entry.def.address;
        self.problems.add("condition-unknown", self.position, RECORD_REGISTERS, || {
            format!("cannot tell whether the condition of the instruction at {address:#x} held; taken as if it did")
        });
        true
    }

    fn access(&mut self, address: u64, shape: MemShape, value: Option<u64>) {
        let stored =
            || data_register(&self.entry.decoded, &shape).and_then(|span| self.registers.get(span));
        let value = if shape.is_write { value.or_else(stored) } else { value };
        self.run.def.mem.push(shape);
        self.run.addresses.push(address);
        if self.values {
            self.run.values.push(value);
        }
    }

    /// Computes the accesses from the register values.
    fn compute(&mut self) {
        let entry = self.entry;
        for (i, operand) in
            entry.decoded.memory.iter().take(MemShape::NO_OPERAND.into()).enumerate()
        {
            let value_of = |span| self.registers.get(span);
            if operand.guard.as_ref().is_some_and(|g| g.eval(&value_of) == Some(0)) {
                continue;
            }
            match operand.address.eval(&value_of) {
                Some(address) if operand.size > 0 => {
                    let shape = MemShape {
                        is_write: operand.is_write,
                        size: operand.size,
                        operand: i as u8,
                    };
                    self.access(address & self.address_mask, shape, None);
                }
                _ => self.problems.add(
                    "address-unknown",
                    self.position,
                    "record with these registers, or with accesses",
                    || {
                        format!(
                            "cannot compute what `{}` at {:#x} accesses; left out",
                            entry.decoded.text, entry.def.address
                        )
                    },
                ),
            }
        }
    }

    /// Takes the accesses of the log. An operand may be logged in adjacent pieces, which become one
    /// access again.
    fn take(&mut self, logged: &[LoggedAccess]) {
        let operands = &self.entry.decoded.memory;
        let operands = &operands[..operands.len().min(64)];
        let mut used = 0u64;
        let mut left = [0i64; 2];
        for access in logged {
            left[usize::from(access.is_write)] += 1;
        }
        for operand in operands {
            left[usize::from(operand.is_write)] -= 1;
        }
        let mut i = 0;
        // `mem` of a step has 16 bits.
        let end = logged.len().min(u16::MAX.into());
        while i < end {
            let first = logged[i];
            let direction = usize::from(first.is_write);
            let free = |n: &usize| operands[*n].is_write == first.is_write && used & (1 << n) == 0;
            let next = (0..operands.len()).find(free);
            // Accesses that go on where this one ends, as far as the operand reaches.
            let pieces = |n: usize| {
                let size = u64::from(operands[n].size);
                let (mut count, mut reach) = (1, u64::from(first.size));
                let mut previous = 0;
                for access in &logged[i + 1..end] {
                    let at = access.address.wrapping_sub(first.address);
                    let fits = if first.size > 0 {
                        access.size > 0 && at == reach && at + u64::from(access.size) <= size
                    } else {
                        (count as i64) <= left[direction] && at > previous && at < size
                    };
                    if access.is_write != first.is_write || !fits {
                        break;
                    }
                    previous = at;
                    reach = at + u64::from(access.size);
                    count += 1;
                }
                (count, if first.size > 0 { reach as u32 } else { operands[n].size })
            };
            let same = |n: usize| first.size == operands[n].size;
            let (operand, count, size) = match next {
                None => (None, 1, first.size),
                Some(n) if operands[n].size == 0 => (Some(n), 1, first.size),
                Some(n) if first.size == 0 || first.size < operands[n].size && pieces(n).0 > 1 => {
                    let (count, size) = pieces(n);
                    (Some(n), count, size)
                }
                Some(n) => (
                    Some((n..operands.len()).filter(free).find(|&m| same(m)).unwrap_or(n)),
                    1,
                    first.size,
                ),
            };
            if let Some(n) = operand
                && operands[n].size > 0
            {
                used |= 1 << n;
            }
            left[direction] -= count as i64 - 1;
            let size = if size > 0 {
                size
            } else {
                let (address, natural) = (self.entry.def.address, self.natural_size);
                self.problems.add("access-size-unknown", self.position, "record with sizes of the accesses", || {
                    format!("the log has an access without size that the instruction at {address:#x} is not known to make; taken as {natural} bytes")
                });
                self.natural_size
            };
            let shape = MemShape {
                is_write: first.is_write,
                size,
                operand: operand.map_or(MemShape::NO_OPERAND, |n| n as u8),
            };
            self.access(
                first.address & self.address_mask,
                shape,
                if count == 1 { first.value } else { None },
            );
            i += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Carries = Carries {
        steps: true,
        opcodes: true,
        calls: false,
        accesses: false,
        registers: true,
        registers_before: true,
        values: false,
        time: false,
        threads: false,
        thumb: true,
        kernel_stores: false,
        dependences: false,
        paths: false,
    };

    /// A step: thread, instruction, changed registers, accesses.
    type Row<'a> = (u32, u32, &'a [(&'a str, u64)], &'a [(bool, u64, u32)]);

    fn insns(code: &[(u64, &[u8])]) -> Vec<InsnDef> {
        code.iter()
            .map(|(address, bytes)| InsnDef {
                address: *address,
                bytes: bytes.to_vec(),
                ..InsnDef::default()
            })
            .collect()
    }

    fn batch(rows: &[Row]) -> StepBatch {
        let file = registers(Isa::X86_64);
        let mut b = StepBatch::default();
        for (thread, insn, changes, logged) in rows {
            b.insn.push(*insn);
            b.thread.push(*thread);
            b.condition.push(Condition::Unknown);
            b.registers
                .extend(changes.iter().map(|(name, value)| (file.lookup(name).unwrap(), *value)));
            b.register_end.push(b.registers.len() as u32);
            b.accesses.extend(logged.iter().map(|&(is_write, address, size)| LoggedAccess {
                address,
                size,
                is_write,
                value: None,
            }));
            b.access_end.push(b.accesses.len() as u32);
        }
        b
    }

    /// Runs the rows through in batches of `chunk`, and joins what comes out.
    fn run(
        carries: Carries,
        defs: &[InsnDef],
        rows: &[Row],
        chunk: usize,
    ) -> (RunBatch, Elaborator) {
        let mut e = Elaborator::new(Isa::X86_64, false, carries, Box::new(|_| None));
        let mut all = RunBatch::default();
        let mut join = |out: RunBatch| {
            all.new_insns.extend(out.new_insns);
            all.new_blocks.extend(out.new_blocks);
            all.block.extend(out.block);
            all.thread.extend(out.thread);
            all.addresses.extend(out.addresses);
            all.values.extend(out.values);
            all.register_values.extend(out.register_values);
            all.end.extend(out.end);
        };
        for (i, part) in rows.chunks(chunk).enumerate() {
            let mut b = batch(part);
            if i == 0 {
                b.new_insns = defs.to_vec();
            }
            let mut out = RunBatch::default();
            e.push(&mut b, &mut out);
            assert!(b.is_empty());
            join(out);
        }
        let mut out = RunBatch::default();
        e.finish(&mut out);
        join(out);
        (all, e)
    }

    /// One line a run: its steps' ids with a `-` where not executed, and accesses as
    /// `S8@address=value`.
    fn show(out: &RunBatch) -> Vec<String> {
        let mut at = 0;
        let mut lines = Vec::new();
        for (i, &block) in out.block.iter().enumerate() {
            let def = &out.new_blocks[block as usize];
            let mut mem = def.mem.iter();
            let mut words = Vec::new();
            for step in &def.steps {
                let mut word = format!("{}{}", step.insn, if step.executed { "" } else { "-" });
                for shape in mem.by_ref().take(step.mem as usize) {
                    word += &format!(
                        ",{}{}@{:x}",
                        if shape.is_write { "S" } else { "L" },
                        shape.size,
                        out.addresses[at]
                    );
                    if let Some(value) = out.values.get(at).copied().flatten() {
                        word += &format!("={value:x}");
                    }
                    at += 1;
                }
                words.push(word);
            }
            if let Some(sp) = out.end.get(i).and_then(|e| e.sp) {
                words.push(format!("sp={sp:x}"));
            }
            let thread = out.thread.get(i).map_or(String::new(), |t| format!("t{t} "));
            lines.push(format!("b{block} {thread}{}", words.join(" ")));
        }
        lines
    }

    fn program() -> Vec<InsnDef> {
        insns(&[
            (0x100, &[0x55]),                         // push %rbp
            (0x101, &[0x48, 0x89, 0xe5]),             // mov %rsp,%rbp
            (0x104, &[0xf3, 0xa4]),                   // rep movsb
            (0x106, &[0x0f, 0x44, 0x03]),             // cmove (%rbx),%eax
            (0x109, &[0x5d]),                         // pop %rbp
            (0x10a, &[0xc3]),                         // ret
            (0x200, &[0xe8, 0xfb, 0xfe, 0xff, 0xff]), // call 0x100
        ])
    }

    const ROWS: &[Row] = &[
        (
            0,
            6,
            &[
                ("rsp", 0x8000),
                ("rbp", 0x77),
                ("rsi", 0x10),
                ("rdi", 0x20),
                ("rcx", 2),
                ("rbx", 0x40),
                ("rax", 5),
            ],
            &[],
        ),
        (0, 0, &[("rsp", 0x7ff8)], &[]),
        (0, 1, &[("rsp", 0x7ff0)], &[]),
        (0, 2, &[("rbp", 0x7ff0)], &[]),
        (0, 2, &[("rsi", 0x11), ("rdi", 0x21), ("rcx", 1)], &[]),
        (0, 2, &[("rsi", 0x12), ("rdi", 0x22), ("rcx", 0)], &[]),
        (0, 3, &[], &[]),
        (0, 4, &[], &[]),
        (0, 5, &[("rsp", 0x7ff8), ("rbp", 0x77)], &[]),
        (0, 6, &[("rsp", 0x8000)], &[]),
        (0, 0, &[("rsp", 0x7ff8)], &[]),
    ];

    #[test]
    fn accesses_are_computed_from_the_registers_before() {
        let (out, e) = run(BEFORE, &program(), ROWS, usize::MAX);
        assert_eq!(
            show(&out),
            [
                "b0 0,S8@7ff8 sp=7ff8",
                "b1 1,S8@7ff0=77 2 3,L1@10,S1@20 sp=7ff0",
                "b2 3,L1@11,S1@21 sp=7ff0",
                // The last look of the repeated instruction at its count moves nothing.
                "b3 3 4,L4@40 5,L8@7ff0=77 6,L8@7ff8 sp=8000",
                "b0 0,S8@8000 sp=7ff8".replace("@8000", "@7ff8").as_str(),
                "b4 1,S8@7ff0=77",
            ]
        );
        assert_eq!(e.diagnostics().count(), 0);
        assert_eq!(out.new_insns.len(), 7);
        // call: rsp, rip; push: rsp; mov: rbp; rep movsb: rcx, rsi, rdi.
        let end = [Some(0x7ff8), None, Some(0x7ff0), Some(0x7ff0), Some(1), Some(0x11), Some(0x21)];
        assert_eq!(out.register_values[..7], end);
    }

    #[test]
    fn batches_do_not_matter() {
        let mut rows = Vec::new();
        for i in 0..200u32 {
            for row in ROWS {
                rows.push((i / 3 % 4, row.1, row.2, row.3));
            }
        }
        let carries = Carries { threads: true, ..BEFORE };
        let (whole, _) = run(carries, &program(), &rows, usize::MAX);
        for chunk in [1, 2, 7, 100] {
            let (parts, _) = run(carries, &program(), &rows, chunk);
            assert_eq!(show(&whole), show(&parts));
            assert_eq!(whole.register_values, parts.register_values);
            assert_eq!((&whole.end, &whole.thread), (&parts.end, &parts.thread));
            assert_eq!(
                (&whole.new_insns, &whole.new_blocks),
                (&parts.new_insns, &parts.new_blocks)
            );
        }
        let steps: usize =
            whole.block.iter().map(|&b| whole.new_blocks[b as usize].steps.len()).sum();
        assert_eq!(steps, rows.len());
    }

    #[test]
    fn threads_keep_the_order_of_the_log_and_wait_for_each_other_only_so_long() {
        let code = insns(&[(0x100, &[0x58]), (0x101, &[0x90])]); // pop %rax; nop
        let carries = Carries { threads: true, ..BEFORE };
        let rows: &[Row] = &[
            (1, 0, &[("rsp", 0x10), ("rax", 1)], &[]),
            (2, 0, &[("rsp", 0x20), ("rax", 2)], &[]),
            (1, 1, &[("rsp", 0x18), ("rax", 7)], &[]),
            (2, 1, &[("rsp", 0x28), ("rax", 8)], &[]),
        ];
        let (out, _) = run(carries, &code, rows, 1);
        assert_eq!(
            show(&out),
            ["b0 t1 0,L8@10=7 sp=18", "b0 t2 0,L8@20=8 sp=28", "b1 t1 1", "b1 t2 1"]
        );
        let mut many = vec![rows[0]];
        many.extend(std::iter::repeat_n(rows[1], 70_000));
        let mut e = Elaborator::new(Isa::X86_64, false, carries, Box::new(|_| None));
        let mut b = batch(&many);
        b.new_insns = code;
        let mut out = RunBatch::default();
        e.push(&mut b, &mut out);
        assert!(out.block.len() > 69_000 && e.queue.len() < 4, "{} runs still wait", e.queue.len());
        assert_eq!((out.thread[0], out.values[0], out.end[0].sp), (1, None, None));
    }

    #[test]
    fn registers_after_the_instruction() {
        let carries = Carries { registers_before: false, ..BEFORE };
        let code = insns(&[(0x100, &[0x55]), (0x101, &[0x5d])]);
        let rows: &[Row] = &[
            (0, 0, &[("rsp", 0x8000), ("rbp", 3)], &[]), // its registers before are not known
            (0, 1, &[("rsp", 0x8008), ("rbp", 4)], &[]),
            (0, 0, &[("rsp", 0x8000)], &[]),
        ];
        let (out, e) = run(carries, &code, rows, 2);
        assert_eq!(show(&out), ["b0 0 1,L8@8000=4 sp=8008", "b1 0,S8@8000=4 sp=8000"]);
        assert_eq!(
            e.diagnostics().map(|c| (c.first.code, c.count)).collect::<Vec<_>>(),
            [("address-unknown", 1)]
        );
    }

    #[test]
    fn logged_accesses_get_sizes_and_operands() {
        let carries =
            Carries { accesses: true, registers: false, registers_before: false, ..BEFORE };
        let code = insns(&[
            (0x100, &[0x0f, 0x10, 0x00]),       // movups (%rax),%xmm0
            (0x103, &[0xff, 0x30]),             // push (%rax)
            (0x105, &[0xf0, 0x0f, 0xb1, 0x0a]), // lock cmpxchg %ecx,(%rdx)
            (0x109, &[0x90]),                   // nop
            (0x10a, &[0xc5, 0xfc, 0x11, 0x00]), // vmovups %ymm0,(%rax)
        ]);
        let rows: &[Row] = &[
            (0, 0, &[], &[(false, 0x50, 0), (false, 0x58, 0)]),
            (0, 1, &[], &[(false, 0x50, 0), (true, 0x90, 0)]),
            (0, 2, &[], &[(false, 0x60, 4), (false, 0x60, 4), (true, 0x60, 4)]),
            (0, 3, &[], &[(true, 0x70, 0)]),
            (0, 4, &[], &[(true, 0x80, 8), (true, 0x88, 8), (true, 0x90, 8), (true, 0x98, 8)]),
            (0, 0, &[], &[(false, u64::MAX, 16)]),
        ];
        let (out, e) = run(carries, &code, rows, 3);
        assert_eq!(
            show(&out),
            [
                "b0 0,L16@50 1,L8@50,S8@90 2,L4@60,L4@60,S4@60 3,S8@70 4,S32@80",
                "b1 0,L16@ffffffffffffffff"
            ]
        );
        let operands: Vec<u8> = out.new_blocks[0].mem.iter().map(|m| m.operand).collect();
        assert_eq!(operands, [0, 0, 1, 0, MemShape::NO_OPERAND, 1, MemShape::NO_OPERAND, 0]);
        assert_eq!(
            e.diagnostics().map(|c| c.first.code).collect::<Vec<_>>(),
            ["access-size-unknown"]
        );
        assert!(out.values.is_empty() && out.end.is_empty() && out.register_values.is_empty());
    }

    #[test]
    fn opcodes_that_the_log_cuts_come_from_the_elf_if_they_agree() {
        let mov: &[u8] = &[0x48, 0xc7, 0x45, 0xf8, 1, 0, 0, 0, 0xcc, 0xcc]; // movq $1,-8(%rbp)
        let code = move |address: u64| (address == 0x100).then(|| mov.to_vec());
        let mut decoder = decoder(Isa::X86_64, false);
        let mut size = |bytes: &[u8]| {
            let def = InsnDef { address: 0x100, bytes: bytes.to_vec(), ..InsnDef::default() };
            resolve(&def, Isa::X86_64, decoder.as_mut(), &code).0.bytes
        };
        assert_eq!(size(&mov[..4]), mov[..8]);
        assert_eq!(size(&[]), mov[..8]);
        // Code that is not the ELF's: what was logged, without stale bytes behind it.
        assert_eq!(size(&[0x90, 0x11, 0x22, 0x33]), [0x90]);
    }

    #[test]
    fn hostile_rows_are_counted() {
        let mut e = Elaborator::new(Isa::X86_64, false, BEFORE, Box::new(|_| None));
        let mut b = batch(ROWS);
        b.register_end[3] = 9999;
        b.access_end[4] = 77;
        b.registers[0].0 = RegSpan { offset: u16::MAX, size: 300 };
        b.new_insns = insns(&[(0x100, &[0x06]), (u64::MAX, &[])]);
        let mut out = RunBatch::default();
        e.push(&mut b, &mut out);
        e.finish(&mut out);
        let counts: Vec<_> = e.diagnostics().map(|c| (c.first.code, c.count)).collect();
        assert_eq!(counts, [("instruction-undecoded", 2), ("instruction-unknown", 8)]);
        assert_eq!(out.block.len(), 3);
    }

    #[test]
    #[ignore = "measures, for `cargo test -- --ignored --nocapture`"]
    fn throughput() {
        let mut e = Elaborator::new(Isa::X86_64, false, BEFORE, Box::new(|_| None));
        let rows: Vec<Row> = ROWS.iter().copied().cycle().take(110_000).collect();
        let template = batch(&rows);
        let mut out = RunBatch::default();
        let mut steps = 0;
        let start = std::time::Instant::now();
        let mut inside = std::time::Duration::ZERO;
        while start.elapsed().as_secs() < 3 {
            let mut b = template.clone();
            if steps == 0 {
                b.new_insns = program();
            }
            out.block.clear();
            out.addresses.clear();
            out.values.clear();
            out.register_values.clear();
            out.end.clear();
            let before = std::time::Instant::now();
            steps += b.len();
            e.push(&mut b, &mut out);
            inside += before.elapsed();
        }
        eprintln!("{:.1} M steps/s", steps as f64 / inside.as_secs_f64() / 1e6);
    }
}
