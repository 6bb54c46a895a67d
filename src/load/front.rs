//! Between the readers and the pass: decodes instructions, turns steps into runs, numbers what
//! several inputs have as one.

use super::code::Space;
use super::devices::Devices;
use super::dictionary::Loading;
use super::elf_check::Fits;
use super::events::EventRows;
use super::exceptions::Exceptions;
use super::links::Links;
use super::maps::{self, Maps};
use super::one_run::Parts;
use super::pass::{BuildPass, Send};
use super::runs::{PackedRuns, RunRows};
use crate::analysis::place::SectionRange;
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{Carries, Dialect, Event, Isa, NamedRange, Process, RunBatch, StepBatch};
use crate::image::{Image, Loaded};
use crate::isa::elaborate::Elaborator;
use crate::isa::resolve::{resolve, undecoded};
use crate::isa::{self, Decoder, FlowKind};
use crate::store::chunk::Shape;
use rustc_hash::FxHashMap;

/// The pass, and what keeps the runs that it is given.
pub struct Target<'a> {
    pub pass: BuildPass<'a>,
    /// None: the run has no rows.
    pub rows: Option<RunRows<'a>>,
    /// None: the run is not packed.
    pub packed: Option<PackedRuns>,
    pub events: EventRows<Send<'a>>,
    /// When each image was mapped, by its index, if the trace told.
    pub mapped: FxHashMap<usize, Loading>,
    /// Sections of each mapping and device so far.
    pub placed: Vec<Vec<SectionRange>>,
    /// Of the processes before.
    pub first_stack_pointers: Vec<Option<u64>>,
    /// Somebody else has the sums of the runs.
    pub noting: bool,
}

impl<'a> Target<'a> {
    pub fn new(
        pass: BuildPass<'a>,
        (rows, packed): (Option<RunRows<'a>>, Option<PackedRuns>),
        events: EventRows<Send<'a>>,
    ) -> Self {
        Target {
            pass,
            rows,
            packed,
            events,
            mapped: FxHashMap::default(),
            placed: Vec::new(),
            first_stack_pointers: Vec::new(),
            noting: false,
        }
    }

    fn place_when_mapped(&mut self, sections: Vec<SectionRange>) {
        self.placed.push(sections.clone());
        self.pass.place_when_mapped(sections);
    }

    fn push(&mut self, batch: RunBatch) {
        let seq = self.pass.next_seq();
        match self.noting {
            true => self.pass.note(&batch),
            false => self.pass.push(&batch),
        }
        if let Some(rows) = &mut self.rows {
            let pass = &self.pass;
            let with_registers = !batch.register_values.is_empty() || !batch.values.is_empty();
            rows.add(&batch, seq, pass.kept_runs(), |block| {
                let shape = shape(pass, block as usize);
                let register_values = if with_registers { shape.register_values } else { 0 };
                Shape { register_values, ..shape }
            });
        }
        self.events(&batch, seq);
        if let Some(packed) = &mut self.packed {
            let pass = &self.pass;
            packed.add(batch, |from| (from..pass.blocks.len()).map(|b| shape(pass, b)).collect());
        }
    }

    /// Tells of the events of a batch that begins with the step `seq`.
    fn events(&mut self, batch: &RunBatch, seq: u64) {
        let steps = |block: &u32| u64::from(self.pass.blocks[*block as usize].steps);
        let (mut before, mut done) = (seq - 1, 0);
        for (run, event) in &batch.events {
            let run = (*run as usize).min(batch.block.len());
            before += batch.block[done..run].iter().map(steps).sum::<u64>();
            done = run;
            self.events.add(event, before);
            match event {
                Event::ImageMap(map) => {
                    if let Some(image) = maps::mapped(&self.pass.code.space.borrow(), map) {
                        let new = Loading { load: before, unload: None };
                        self.mapped.entry(image).or_insert(new).unload = None;
                    }
                }
                Event::ImageUnmap { address, bytes } => {
                    let space = self.pass.code.space.borrow();
                    for image in maps::unmapped(&space, *address, *bytes) {
                        let unload = self.mapped.get_mut(&image).map(|l| &mut l.unload);
                        unload.into_iter().for_each(|at| *at = at.or(Some(before)));
                    }
                }
                _ => {}
            }
        }
    }
}

/// What a run of a block has, with values.
fn shape(pass: &BuildPass, block: usize) -> Shape {
    let prepared = &pass.blocks[block];
    Shape {
        steps: prepared.steps as usize,
        accesses: prepared.mem as usize,
        register_values: prepared.register_values,
    }
}

/// Threads by the numbers that the log has for them, dense in order of first appearance.
#[derive(Default)]
struct ThreadNumbers {
    /// Those of the process.
    index: FxHashMap<u32, u32>,
    /// By index.
    logged: Vec<u32>,
}

/// A process as far as the trace tells of it.
pub struct ProcessPart {
    pub named: Process,
    /// How many threads and instructions the processes before have.
    pub first_thread: usize,
    pub first_instruction: usize,
}

impl ThreadNumbers {
    fn index(&mut self, logged: u32) -> u32 {
        let next = self.logged.len() as u32;
        *self.index.entry(logged).or_insert_with(|| {
            self.logged.push(logged);
            next
        })
    }

    fn renumber(&mut self, threads: &mut [u32]) {
        let mut last = None;
        for thread in threads {
            let index = match last {
                Some((logged, index)) if logged == *thread => index,
                _ => self.index(*thread),
            };
            last = Some((*thread, index));
            *thread = index;
        }
    }
}

/// Instructions that could not be decoded.
#[derive(Default)]
struct Undecoded {
    count: u64,
    /// Address of the first.
    first: u64,
}

pub struct Front {
    isa: Isa,
    space: Space,
    pub maps: Maps,
    dialect: Dialect,
    /// The code that system calls enter is part of the trace.
    pub kernel: bool,
    decoder: Box<dyn Decoder>,
    elaborator: Option<Elaborator>,
    /// A trace had steps, of which the elaborator tells what is not known.
    pub elaborated: bool,
    /// The runs of the input that is read are those of a log that was elaborated.
    pub decided: bool,
    /// Where the ids of the current input's dictionaries begin among the pass's.
    insn_base: u32,
    /// The pass's numbers of the current input's blocks; whether they are others than the input's.
    blocks: Vec<u32>,
    renumbered: bool,
    threads: ThreadNumbers,
    pub processes: Vec<ProcessPart>,
    /// By instruction: the image that it is of.
    pub images: Vec<Option<usize>>,
    undecoded: Undecoded,
    /// Of the input that is read.
    fits: Fits,
    /// The inputs, to be held against each other.
    pub parts: Parts,
    pub exceptions: Exceptions,
    links: Links,
    devices: Devices,
    /// Those that were given, until the trace begins.
    memories: Vec<NamedRange>,
    problems: Vec<(Diagnostic, u64)>,
    /// Runs that wait for the first stack pointer; none once it is known or given up.
    held: Option<Vec<RunBatch>>,
}

/// Addresses that were given names.
pub struct GivenRanges {
    pub devices: Vec<NamedRange>,
    pub memories: Vec<NamedRange>,
}

impl Front {
    /// `waiting`: images whose place only the trace tells; `named`: devices and memories that were given.
    pub fn new(isa: Isa, space: Space, waiting: Vec<Image>, named: GivenRanges) -> Self {
        let (dialect, m_profile) = space.borrow().of_first();
        let vectors = {
            let space = space.borrow();
            let of = |loaded: &Loaded| -> Vec<(u32, u64)> {
                let run_time =
                    |(number, handler): (u32, u64)| (number, handler.wrapping_add(loaded.bias));
                loaded.image.vectors().into_iter().map(run_time).collect()
            };
            space.images().first().map(of).unwrap_or_default()
        };
        Front {
            isa,
            maps: Maps::new(isa, space.clone(), waiting),
            space,
            dialect,
            kernel: m_profile,
            decoder: isa::decoder(isa, dialect),
            elaborator: None,
            elaborated: false,
            decided: false,
            insn_base: 0,
            blocks: Vec::new(),
            renumbered: false,
            threads: ThreadNumbers::default(),
            processes: vec![ProcessPart {
                named: Process::default(),
                first_thread: 0,
                first_instruction: 0,
            }],
            images: Vec::new(),
            undecoded: Undecoded::default(),
            fits: Fits::default(),
            parts: Parts::default(),
            exceptions: Exceptions::new(isa, &vectors),
            links: Links::new(isa),
            devices: Devices::new(m_profile, named.devices),
            memories: named.memories,
            problems: Vec::new(),
            held: Some(Vec::new()),
        }
    }

    /// The numbers that the log has for its threads, in order of their first appearance.
    pub fn threads(&self) -> &[u32] {
        &self.threads.logged
    }

    pub fn runs(&mut self, mut batch: RunBatch, target: &mut Target) {
        // First, so that code of an image has its functions.
        let mut events = std::mem::take(&mut batch.events);
        events.retain(|(_, event)| match event {
            Event::Device(device) => self.devices.report(device),
            _ => true,
        });
        for device in self.devices.begun(&batch).into_iter().rev() {
            self.devices.add(&device);
            events.insert(0, (0, Event::Device(Box::new(device))));
        }
        for memory in std::mem::take(&mut self.memories).into_iter().rev() {
            events.insert(0, (0, Event::Memory(Box::new(memory))));
        }
        if self.parts.begins_process(&events) {
            events.insert(0, (0, Event::ProcessStart));
        }
        for (at, event) in &events {
            self.parts.event(event);
            match event {
                Event::ImageMap(map) => {
                    if map.executable && map.path.is_some() {
                        self.define_before(*at, &mut batch, &mut target.pass);
                    }
                    let sections = self.maps.map(map, &mut target.pass);
                    target.place_when_mapped(sections);
                }
                Event::ImageUnmap { address, bytes } if self.maps.holds(*address, *bytes) => {
                    self.define_before(*at, &mut batch, &mut target.pass);
                    self.maps.unmap(*address, *bytes);
                }
                Event::Device(device) => {
                    let sections = self.maps.device(device);
                    target.place_when_mapped(sections);
                }
                Event::ProcessStart => self.next_process(target),
                Event::Process(named) => {
                    self.processes.last_mut().iter_mut().for_each(|p| p.named = (**named).clone());
                }
                _ => {}
            }
        }
        batch.events = events;
        let (insns, blocks) = (batch.new_insns.len(), batch.new_blocks.len());
        self.define(&mut batch, (insns, blocks), &mut target.pass);
        if batch.thread.is_empty() {
            // A log without threads is of one.
            if !batch.block.is_empty() {
                self.threads.index(0);
            }
        } else {
            self.threads.renumber(&mut batch.thread);
        }
        for (_, event) in &mut batch.events {
            event.renumber(|logged| self.threads.index(logged));
        }
        if self.renumbered {
            batch.block.iter_mut().for_each(|b| *b = self.blocks[*b as usize]);
        }
        self.links.find(&mut batch, &target.pass);
        self.exceptions.find(&mut batch, &target.pass);
        self.devices.cut(&mut batch, &mut target.pass);
        match &mut self.held {
            None => target.push(batch),
            Some(held) => {
                let over = target.pass.find_first_sp(&batch);
                held.push(batch);
                if over {
                    self.release(target);
                }
            }
        }
    }

    /// Another process begins: a batch that says so has no runs of the one before.
    fn next_process(&mut self, target: &mut Target) {
        self.release(target);
        target.first_stack_pointers.push(target.pass.first_stack_pointer());
        self.held = Some(Vec::new());
        self.maps.next_process();
        self.threads.index.clear();
        let first_thread = self.threads.logged.len();
        target.pass.next_process(first_thread as u32);
        self.processes.push(ProcessPart {
            named: Process::default(),
            first_thread,
            first_instruction: target.pass.insns.len(),
        });
    }

    /// Gives the pass the definitions that the runs before this one need: what lies where their
    /// code is changes there.
    fn define_before(&mut self, run: u32, batch: &mut RunBatch, pass: &mut BuildPass) {
        let Some(&last) = batch.block[..run as usize].iter().max() else { return };
        let known = self.blocks.len();
        let blocks = (last as usize + 1).saturating_sub(known).min(batch.new_blocks.len());
        let steps = batch.new_blocks[..blocks].iter().flat_map(|block| &block.steps);
        let Some(last) = steps.map(|step| step.insn).max() else { return };
        let known = pass.insns.len() - self.insn_base as usize;
        let insns = (last as usize + 1).saturating_sub(known).min(batch.new_insns.len());
        self.define(batch, (insns, blocks), pass);
    }

    /// Gives the pass the first so many definitions of a batch.
    fn define(
        &mut self,
        batch: &mut RunBatch,
        (insns, blocks): (usize, usize),
        pass: &mut BuildPass,
    ) {
        for def in batch.new_insns.drain(..insns) {
            let space = self.space.borrow();
            self.images.push(space.image_at(def.address));
            let image = self.images.last().copied().flatten();
            let code = |a: u64| space.bytes(a).map(|b| b[..b.len().min(16)].to_vec());
            let (resolved, decoded) =
                resolve(&def, self.isa, &mut *self.decoder, &code, self.kernel);
            let decoded = decoded.filter(|d| def.size == 0 || d.size == def.size);
            self.fits.instruction(image, &def, decoded.as_ref(), space.bytes(def.address));
            match decoded {
                Some(decoded) => pass.add_insn(resolved, decoded),
                None => {
                    if self.undecoded.count == 0 {
                        self.undecoded.first = def.address;
                    }
                    self.undecoded.count += 1;
                    let unknown = undecoded(&def, def.size.max(1), self.isa);
                    pass.add_insn(def, unknown);
                }
            }
        }
        for mut def in batch.new_blocks.drain(..blocks) {
            for step in &mut def.steps {
                step.insn += self.insn_base;
                // A log with all accesses does not say that the count of a repeated instruction
                // was zero: then it has none.
                let repeats = pass.insns[step.insn as usize].decoded.flow.repeats;
                step.executed &= !repeats || step.mem > 0 || self.is_decided();
            }
            if !self.is_decided() {
                self.fits.block(&def, |insn| {
                    let decoded = &pass.insns[insn as usize].decoded;
                    let known =
                        decoded.flow.kind != FlowKind::Unknown && decoded.unmodelled.is_none();
                    let image = self.images.get(insn as usize).copied().flatten()?;
                    known.then_some((image, !decoded.memory.is_empty()))
                });
            }
            let number = pass.blocks.len() as u32;
            self.renumbered |= number as usize != self.blocks.len();
            self.blocks.push(number);
            pass.add_block(def);
        }
    }

    /// Whether the elaborator, now or when the trace was converted, has decided what was executed.
    fn is_decided(&self) -> bool {
        self.elaborator.is_some() || self.decided
    }

    /// Gives the pass what is held back; to be called when the last input has ended.
    pub fn release(&mut self, target: &mut Target) {
        for batch in self.held.take().into_iter().flatten() {
            target.push(batch);
        }
    }

    pub fn steps(&mut self, batch: &mut StepBatch, carries: Carries, target: &mut Target) {
        let (isa, dialect, space) = (self.isa, self.dialect, self.space.clone());
        self.elaborated = true;
        let carries = Carries { kernel: self.kernel, ..carries };
        let elaborator = self.elaborator.get_or_insert_with(|| {
            let tohost = space.borrow().tohost();
            let code = move |a: u64| space.borrow().bytes(a).map(|b| b[..b.len().min(16)].to_vec());
            Elaborator::new(isa, dialect, carries, Box::new(code)).with_tohost(tohost)
        });
        // Where the log does not say which code is Thumb, the ELF's mapping symbols do.
        if isa == Isa::Arm && !carries.thumb {
            for def in &mut batch.new_insns {
                def.thumb = self.space.borrow().thumb(def.address).unwrap_or(def.thumb);
            }
        }
        let mut out = RunBatch::default();
        elaborator.push(batch, &mut out);
        self.runs(out, target);
    }

    /// The trace file has ended: the next one has dictionaries of its own.
    pub fn end_of_input(&mut self, target: &mut Target) {
        if let Some(elaborator) = &mut self.elaborator {
            let mut out = RunBatch::default();
            elaborator.finish(&mut out);
            let problems = elaborator.diagnostics();
            self.problems.extend(problems.map(|problem| (problem.first.clone(), problem.count)));
            self.runs(out, target);
            self.elaborator = None;
        }
        self.exceptions.forget();
        self.links.forget();
        self.parts.end(target.pass.insns.len(), std::mem::take(&mut self.fits));
        self.insn_base = target.pass.insns.len() as u32;
        self.blocks.clear();
        self.renumbered = false;
    }

    /// What was not understood, with how often.
    pub fn diagnostics(&self) -> Vec<(Diagnostic, u64)> {
        let mut list = self.problems.clone();
        list.extend(self.maps.problems.iter().map(|problem| (problem.clone(), 1)));
        list.extend(self.exceptions.diagnostic());
        list.extend(self.parts.missing());
        if self.undecoded.count > 0 {
            let undecoded = Diagnostic {
                severity: Severity::Error,
                code: "undecoded",
                message: format!(
                    "{} distinct instructions could not be decoded: their register accesses and calls are unknown",
                    self.undecoded.count
                ),
                position: format!("address {:#x}", self.undecoded.first),
                remedy: "give every ELF file that was loaded with --elf; link statically to need only one",
            };
            list.push((undecoded, self.undecoded.count));
        }
        list
    }
}
