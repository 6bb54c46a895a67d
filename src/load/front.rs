//! Between the readers and the pass.

use super::steps::ThePass;
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{Carries, Isa, RunBatch, StepBatch};
use crate::image::AddressSpace;
use crate::isa::elaborate::{self, Elaborator};
use crate::isa::{self, Decoded, Decoder};
use crate::store::writer::{Rows, RunRows};
use std::rc::Rc;
use std::sync::mpsc;

/// Between the readers and the pass: decodes instructions, turns steps into runs, numbers the
/// dictionaries of several inputs as one.
pub struct Front {
    isa: Isa,
    space: Rc<AddressSpace>,
    big_endian: bool,
    decoder: Box<dyn Decoder>,
    elaborator: Option<Elaborator>,
    /// Where the ids of the current input's dictionaries begin among the pass's.
    insn_base: u32,
    block_base: u32,
    undecoded: u64,
    first_undecoded: u64,
    problems: Vec<(Diagnostic, u64)>,
    /// Runs that wait for the first stack pointer; none once it is known or given up.
    held: Option<Vec<RunBatch>>,
}

impl Front {
    pub fn new(isa: Isa, space: Rc<AddressSpace>) -> Self {
        let big_endian = space.images().first().is_some_and(|i| i.image.big_endian_code);
        Front {
            isa,
            space,
            big_endian,
            decoder: isa::decoder(isa, big_endian),
            elaborator: None,
            insn_base: 0,
            block_base: 0,
            undecoded: 0,
            first_undecoded: 0,
            problems: Vec::new(),
            held: Some(Vec::new()),
        }
    }

    pub fn runs(
        &mut self,
        mut batch: RunBatch,
        pass: &mut ThePass,
        low: bool,
        rows: &mpsc::SyncSender<Rows>,
    ) {
        for def in std::mem::take(&mut batch.new_insns) {
            let space = &self.space;
            let code = |a: u64| space.bytes(a).map(|b| b[..b.len().min(16)].to_vec());
            let (resolved, decoded) = elaborate::resolve(&def, self.isa, &mut *self.decoder, &code);
            match decoded.filter(|d| def.size == 0 || d.size == def.size) {
                Some(decoded) => pass.add_insn(resolved, decoded),
                None => {
                    if self.undecoded == 0 {
                        self.first_undecoded = def.address;
                    }
                    self.undecoded += 1;
                    let unknown = Decoded::unknown(def.size.max(1));
                    pass.add_insn(def, unknown);
                }
            }
        }
        for mut def in std::mem::take(&mut batch.new_blocks) {
            for step in &mut def.steps {
                step.insn += self.insn_base;
            }
            pass.add_block(def);
        }
        if self.block_base > 0 {
            batch.block.iter_mut().for_each(|b| *b += self.block_base);
        }
        match &mut self.held {
            None => push(batch, pass, low, rows),
            Some(held) => {
                let over = pass.find_first_sp(&batch);
                held.push(batch);
                if over {
                    self.release(pass, low, rows);
                }
            }
        }
    }

    /// Gives the pass what is held back; to be called when the last input has ended.
    pub fn release(&mut self, pass: &mut ThePass, low: bool, rows: &mpsc::SyncSender<Rows>) {
        for batch in self.held.take().into_iter().flatten() {
            push(batch, pass, low, rows);
        }
    }

    pub fn steps(
        &mut self,
        batch: &mut StepBatch,
        carries: Carries,
        pass: &mut ThePass,
        low: bool,
        rows: &mpsc::SyncSender<Rows>,
    ) {
        let (isa, big_endian, space) = (self.isa, self.big_endian, self.space.clone());
        let elaborator = self.elaborator.get_or_insert_with(|| {
            let code = move |a: u64| space.bytes(a).map(|b| b[..b.len().min(16)].to_vec());
            Elaborator::new(isa, big_endian, carries, Box::new(code))
        });
        // Where the log does not say which code is Thumb, the ELF's mapping symbols do.
        if isa == Isa::Arm && !carries.thumb {
            for def in &mut batch.new_insns {
                def.thumb = self.space.thumb(def.address).unwrap_or(def.thumb);
            }
        }
        let mut out = RunBatch::default();
        elaborator.push(batch, &mut out);
        self.runs(out, pass, low, rows);
    }

    /// The trace file has ended: the next one has dictionaries of its own.
    pub fn end_of_input(&mut self, pass: &mut ThePass, low: bool, rows: &mpsc::SyncSender<Rows>) {
        if let Some(mut elaborator) = self.elaborator.take() {
            let mut out = RunBatch::default();
            elaborator.finish(&mut out);
            for problem in elaborator.diagnostics() {
                let mut first = problem.first.clone();
                first.position.clear();
                self.problems.push((first, problem.count));
            }
            self.runs(out, pass, low, rows);
        }
        self.insn_base = pass.insns.len() as u32;
        self.block_base = pass.blocks.len() as u32;
    }

    pub fn diagnostics(&self) -> Vec<(Diagnostic, u64)> {
        let mut list = self.problems.clone();
        if self.undecoded > 0 {
            let undecoded = Diagnostic {
                severity: Severity::Warning,
                code: "undecoded",
                message: format!(
                    "{} distinct instructions could not be decoded: their register accesses and calls are unknown",
                    self.undecoded
                ),
                position: format!("address {:#x}", self.first_undecoded),
                remedy: "give every ELF file that was loaded with --elf; link statically to need only one",
            };
            list.push((undecoded, self.undecoded));
        }
        list
    }
}

fn push(batch: RunBatch, pass: &mut ThePass, low: bool, rows: &mpsc::SyncSender<Rows>) {
    let start = pass.next_seq();
    pass.push(&batch);
    if low && !batch.block.is_empty() {
        // A failed send means that the writer has ended: its error is taken when it is joined.
        let _ = rows.send(Rows::Runs(run_rows(batch, pass, start)));
    }
}

fn run_rows(batch: RunBatch, pass: &ThePass, start: u64) -> RunRows {
    let runs = batch.block.len();
    let mut rows = RunRows {
        start_seq: Vec::with_capacity(runs),
        thread: Vec::with_capacity(runs),
        block: Vec::with_capacity(runs),
        address_end: Vec::with_capacity(runs),
        ..RunRows::default()
    };
    let (mut seq, mut address, mut time, mut register) = (start, 0usize, 0usize, 0usize);
    let with_values = !batch.values.is_empty() || !batch.register_values.is_empty();
    for (i, &b) in batch.block.iter().enumerate() {
        let block = &pass.blocks[b as usize];
        rows.start_seq.push(seq as i64);
        rows.thread.push(batch.thread.get(i).map_or(1, |t| *t as i32 + 1));
        rows.block.push(b as i32 + 1);
        let first = address;
        address += block.mem as usize;
        rows.address_end.push(address as i32);
        if with_values {
            // Memory values first, then those of the register writes: `value_index` of block_access
            // counts so.
            rows.values.extend((first..address).map(|m| batch.values.get(m).copied().flatten()));
            let n = pass.register_values(b);
            rows.values.extend(
                (register..register + n).map(|r| batch.register_values.get(r).copied().flatten()),
            );
            register += n;
            rows.value_end.push(rows.values.len() as i32);
        }
        if !batch.time.is_empty() {
            time += block.steps as usize;
            rows.time_end.push(time as i32);
        }
        if let Some(end) = batch.end.get(i) {
            rows.sp.push(end.sp);
            rows.linked.push(end.linked);
        }
        seq += block.steps as u64;
    }
    rows.addresses = batch.addresses;
    rows.time = batch.time;
    rows
}
