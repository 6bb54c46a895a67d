//! What lies where in the program that runs, and what the code does that it is going to run: the same images, decoder and
//! segments as a build has.

use super::super::code::{Functions, Named, Space};
use super::super::dictionary;
use super::super::maps::{open, other_file};
use super::message::{Answer, Numbers};
use crate::analysis::CodeMap;
use crate::analysis::access::{Insn, SaveRule};
use crate::analysis::block::{Last, Prepared};
use crate::analysis::operation::{Operation, OperationKind};
use crate::analysis::place::{Place, PlaceCode};
use crate::analysis::segment::{Order, Purpose, Segment, Static};
use crate::analysis::sums::Actors;
use crate::diagnostics::Diagnostic;
use crate::event::{
    BlockDef, BlockStep, Dialect, Event, ImageMap, InsnDef, Isa, MemShape, RegSpan,
};
use crate::id::FunctionId;
use crate::image::{AddressSpace, Image, Loaded, Mapped};
use crate::isa::resolve::{resolve, undecoded};
use crate::isa::{self, Decoder, MemOperand};
use crate::trace::stream::{KernelSources, without_state};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// System calls that are kept: memory is not to grow with the run.
const MOST_CALLS: usize = 1 << 20;

/// The name of an access is that of no other one, or that of all of such a call.
const FOR_ONE: u32 = 255;
const FOR_ALL: u32 = 254;

/// No register, no slot.
const NONE: u32 = u32::MAX;

/// Whether a load fills the register that is read further on in the segment.
fn feeds(op: &Operation, read: &Static) -> bool {
    matches!(op.kind, OperationKind::Load { .. })
        && read.write_step == op.step
        && op.register.is_some_and(|r| r.overlaps(read.register))
}

/// A bit for each byte of a register, from `first` on.
fn bits_of(span: RegSpan, first: u16) -> u64 {
    let bit = |b: u16| b.checked_sub(first).and_then(|b| 1u64.checked_shl(b.into())).unwrap_or(0);
    (span.offset..span.offset + span.size).fold(0, |all, b| all | bit(b))
}

/// A section or a file that lies somewhere.
pub struct PlaceName {
    pub via: &'static str,
    pub name: String,
    /// None: a file that is no image.
    pub image: Option<usize>,
}

impl PlaceName {
    /// What it is among these sections, of which several may have its name.
    pub fn code(&self, sections: &[dictionary::SectionRow]) -> Option<PlaceCode> {
        let is = |row: &dictionary::SectionRow| {
            (row.via, &row.name, row.image) == (self.via, &self.name, self.image)
        };
        let first = sections.iter().position(is)?;
        Some(PlaceCode::of(Place::Section(first as u32)))
    }
}

/// What is said of code: the bytes, and its segments.
struct Answered {
    bytes: Box<[u8]>,
    segments: std::ops::Range<u32>,
}

/// A process that tells of itself.
pub struct Process {
    pub kernel: KernelSources,
    /// What lies where, while another process is told of.
    mapped: Mapped,
    /// The process that it was forked from, and how many segments of that it knew then.
    parent: Option<(usize, usize)>,
    /// The segments that it was told itself.
    segments: Vec<u32>,
    /// What the kernel's accesses were named by, by its numbers: where it is in the list of all.
    pub sources: Vec<u32>,
    /// System calls with the steps before them, as far as they are kept.
    pub system_calls: Vec<(u64, Event)>,
}

impl Process {
    fn new(isa: Isa, number: usize, parent: Option<(usize, usize)>, sources: Vec<u32>) -> Process {
        let (kernel, mapped) = (KernelSources::new(isa, number as u32), Mapped::default());
        let (segments, system_calls) = (Vec::new(), Vec::new());
        Process { kernel, mapped, parent, segments, sources, system_calls }
    }
}

/// The code and the memory of the processes that run: the first one from the beginning.
pub struct Planner {
    pub isa: Isa,
    pub processes: Vec<Process>,
    /// The one that is told of.
    now: usize,
    /// By image: the process that has it; None: several.
    pub image_processes: Vec<Option<usize>>,
    pub space: Space,
    pub functions: Functions,
    decoder: Box<dyn Decoder>,
    opened: FxHashMap<String, Arc<Image>>,
    pub insns: Vec<Insn>,
    /// By instruction: the image that it is of.
    pub insn_images: Vec<Option<usize>>,
    /// The segments that were told.
    pub segments: Vec<BlockDef>,
    pub sections: Vec<dictionary::SectionRow>,
    known: FxHashMap<(u64, Vec<u8>), u32>,
    /// What was answered for code, if there may be several processes: most of them have some in common.
    answered: Option<FxHashMap<BlockDef, Answered>>,
    pub places: Vec<PlaceName>,
    given_up: FxHashSet<String>,
    /// What is to be said of images.
    pub problems: Vec<Diagnostic>,
    calls_kept: usize,
    pub calls_left_out: u64,
    /// What the kernel's accesses were named by.
    pub sources: Vec<String>,
}

impl Planner {
    pub fn new(isa: Isa) -> Planner {
        let space: Space = Rc::new(RefCell::new(AddressSpace::new(Vec::new())));
        let through = Named::new("--through", &[]);
        Planner {
            isa,
            processes: vec![Process::new(isa, 0, None, Vec::new())],
            now: 0,
            image_processes: Vec::new(),
            functions: Functions::new(space.clone(), false, through),
            space,
            decoder: isa::decoder(isa, Dialect::default()),
            opened: FxHashMap::default(),
            insns: Vec::new(),
            insn_images: Vec::new(),
            segments: Vec::new(),
            sections: Vec::new(),
            known: FxHashMap::default(),
            answered: None,
            places: Vec::new(),
            given_up: FxHashSet::default(),
            problems: Vec::new(),
            calls_kept: 0,
            calls_left_out: 0,
            sources: Vec::new(),
        }
    }

    // ---- processes ----

    /// There may be several processes.
    pub fn of_several(self) -> Planner {
        Planner { answered: Some(FxHashMap::default()), ..self }
    }

    /// One more process begins, forked from another one that had so many segments; gives its number. The first that
    /// there is from the beginning does not begin so.
    pub fn begin_process(&mut self, parent: Option<(usize, usize)>) -> usize {
        // Of those that its parent was told since it has no cells.
        let sources = parent.map_or_else(Vec::new, |(of, _)| self.processes[of].sources.clone());
        let number = self.processes.len();
        self.processes.push(Process::new(self.isa, number, parent, sources));
        number
    }

    /// What is told from now on is of this process.
    pub fn enter(&mut self, process: usize) {
        if process == self.now {
            return;
        }
        let mapped = std::mem::take(&mut self.processes[process].mapped);
        let before = self.space.borrow_mut().swap(mapped);
        let last = &mut self.processes[self.now];
        last.mapped = before;
        let common = last.kernel.take_common();
        self.processes[process].kernel.put_common(common);
        self.now = process;
    }

    /// A process tells nothing any more.
    pub fn end_process(&mut self, process: usize) {
        match process == self.now {
            true => self.space.borrow_mut().unmap_all(),
            false => self.processes[process].mapped = Mapped::default(),
        }
    }

    /// The segments of a process by its numbers, with those of the processes that it comes from.
    pub fn segments_of(&self, process: usize) -> Vec<u32> {
        let (mut parts, mut at) = (Vec::new(), (process, usize::MAX));
        // A process comes from one that began before it.
        loop {
            let of = &self.processes[at.0];
            let inherited = of.parent.map_or(0, |(_, n)| n).min(at.1);
            let own = at.1 - inherited;
            parts.push(&of.segments[..own.min(of.segments.len())]);
            match of.parent {
                Some((parent, _)) => at = (parent, inherited),
                None => break,
            }
        }
        parts.into_iter().rev().flatten().copied().collect()
    }

    // ---- memory ----

    pub fn map(&mut self, mut of: Numbers, answer: &mut Answer) -> io::Result<()> {
        let (address, bytes, offset) = (of.eight()?, of.eight()?, of.eight()?);
        let executable = of.four()? != 0;
        let path = String::from_utf8_lossy(of.0);
        let path = without_state(&path);
        let map = ImageMap {
            address,
            bytes,
            offset,
            executable,
            path: (!path.is_empty()).then(|| path.into()),
        };
        let sections = self.sections(&map);
        answer.four(map.file().is_some().into());
        answer.four(sections.len() as u32);
        for (first, last, id) in sections {
            answer.eight(first);
            answer.eight(last);
            answer.four(id);
        }
        Ok(())
    }

    fn sections(&mut self, map: &ImageMap) -> Vec<(u64, u64, u32)> {
        let Some(path) = map.file() else { return Vec::new() };
        let known = self.space.borrow().image_at(map.address);
        let same = |i: &usize| {
            let space = self.space.borrow();
            space.images()[*i].image.path.file_name() == Path::new(path).file_name()
        };
        if let Some(known) = known.filter(same) {
            self.belongs(known);
            return Vec::new();
        }
        if map.executable && !self.given_up.contains(path) {
            match self.place(map, path) {
                Ok(placed) => return placed,
                Err(problem) => self.problems.push(problem),
            }
            self.given_up.insert(path.to_owned());
        } else if !map.executable && map.bytes > 0 {
            let file = path.rsplit('/').next().unwrap_or(path);
            let (name, last) =
                (format!("<mmap: {file}>"), map.address.saturating_add(map.bytes - 1));
            let id = self.name("global", name.clone(), None);
            self.sections.push(dictionary::SectionRow {
                image: None,
                name,
                first: map.address,
                last,
                via: "global",
                executable: false,
            });
            return vec![(map.address, last, id)];
        }
        Vec::new()
    }

    /// The process has the image, too.
    fn belongs(&mut self, image: usize) {
        let of = &mut self.image_processes[image];
        *of = of.filter(|process| *process == self.now);
    }

    fn name(&mut self, via: &'static str, name: String, image: Option<usize>) -> u32 {
        let same = |p: &PlaceName| (p.via, &p.name, p.image) == (via, &name, image);
        let known = self.places.iter().position(same);
        let at = known.unwrap_or(self.places.len());
        if known.is_none() {
            self.places.push(PlaceName { via, name, image });
        }
        at as u32 + 1
    }

    /// Who wrote the bytes of a place that no step wrote.
    pub fn place_source(&self, place: usize) -> String {
        let Some(PlaceName { name, image, .. }) = self.places.get(place) else {
            return String::new();
        };
        let space = self.space.borrow();
        match image {
            None => name.clone(),
            Some(_) if space.images().len() == 1 => format!("<image {name}>"),
            Some(at) => format!("<{} {name}>", space.image_name(*at)),
        }
    }

    /// The sections of the image of an executable mapping.
    fn place(&mut self, map: &ImageMap, path: &str) -> Result<Vec<(u64, u64, u32)>, Diagnostic> {
        let image = match self.opened.get(path) {
            Some(image) => image.clone(),
            None => {
                let image = Arc::new(open(self.isa, map, path)?);
                self.opened.insert(path.to_owned(), image.clone());
                image
            }
        };
        let bias = image.bias_of_mapping(map.address, map.offset, map.executable);
        let bias = bias.ok_or_else(|| other_file(map, path))?;
        let loaded = Loaded { image, bias };
        let same = |of: &Loaded| Arc::ptr_eq(&of.image, &loaded.image) && of.bias == loaded.bias;
        let known = self.space.borrow().images().iter().position(same);
        let at = known.unwrap_or(self.space.borrow().images().len());
        match known {
            Some(_) => {
                self.belongs(at);
                self.space.borrow_mut().map_again(at);
            }
            None => {
                self.image_processes.push(Some(self.now));
                self.space.borrow_mut().map(loaded);
            }
        }
        let rows = dictionary::image_sections(&self.space.borrow(), at);
        let mut placed = Vec::new();
        for row in rows {
            placed.push((row.first, row.last, self.name(row.via, row.name.clone(), Some(at))));
            self.sections.push(row);
        }
        Ok(placed)
    }

    pub fn unmap(&mut self, mut of: Numbers) -> io::Result<()> {
        let (address, bytes) = (of.eight()?, of.eight()?);
        let gone: Vec<usize> =
            super::super::maps::unmapped(&self.space.borrow(), address, bytes).collect();
        gone.into_iter().for_each(|image| self.space.borrow_mut().unmap(image));
        Ok(())
    }

    // ---- the kernel ----

    pub fn event(&mut self, mut of: Numbers) -> io::Result<()> {
        let (kind, steps) = (of.four()? as u8, of.eight()?);
        let Process { kernel, system_calls, .. } = &mut self.processes[self.now];
        let tell = |event| match event {
            Event::SystemCall(_) if self.calls_kept < MOST_CALLS => {
                self.calls_kept += 1;
                system_calls.push((steps, event));
            }
            Event::SystemCall(_) => self.calls_left_out += 1,
            _ => {}
        };
        kernel.event(kind, of.0, tell).then_some(()).ok_or_else(super::message::bad)
    }

    pub fn source(&mut self, mut of: Numbers, answer: &mut Answer) -> io::Result<()> {
        let structure = of.four()? != 0;
        let kernel = &self.processes[self.now].kernel;
        let (name, depends) = (kernel.name(structure), kernel.depends(structure));
        let known = self.sources.iter().position(|source| **source == *name);
        let at = known.unwrap_or(self.sources.len());
        if known.is_none() {
            self.sources.push(name.into());
        }
        let own = &mut self.processes[self.now].sources;
        let number = own.iter().position(|source| *source == at as u32).unwrap_or(own.len());
        if number == own.len() {
            own.push(at as u32);
        }
        answer.four(number as u32);
        answer.four(match depends {
            None => FOR_ONE,
            Some(None) => FOR_ALL,
            Some(Some(argument)) => argument as u32,
        });
        Ok(())
    }

    // ---- code ----

    pub fn code(&mut self, mut of: Numbers, answer: &mut Answer) -> io::Result<()> {
        let mut def = BlockDef::default();
        for _ in 0..of.four()? {
            let (address, size) = (of.eight()?, of.four()? as usize);
            let bytes = of.bytes(16)?[..size.min(16)].to_vec();
            let insn = self.instruction(address, bytes);
            def.steps.push(BlockStep { insn, executed: true, mem: 0 });
        }
        for _ in 0..of.four()? {
            let (step, is_write, size) = (of.four()? as usize, of.four()? != 0, of.four()?);
            def.mem.push(MemShape { is_write, size, operand: MemShape::NO_OPERAND });
            def.steps.get_mut(step).ok_or_else(super::message::bad)?.mem += 1;
        }
        if def.steps.is_empty() {
            return Err(super::message::bad());
        }
        let mut at = 0;
        for step in &mut def.steps {
            let insn = &self.insns[step.insn as usize];
            step.executed = !insn.decoded.flow.repeats || step.mem > 0;
            let shapes = &mut def.mem[at..at + step.mem as usize];
            at += step.mem as usize;
            crate::analysis::access::match_operands(&insn.decoded, shapes);
        }
        let known = self.answered.as_ref().and_then(|answered| answered.get(&def));
        if let Some(Answered { bytes, segments }) = known {
            answer.bytes(bytes);
            self.processes[self.now].segments.extend(segments.clone());
            return Ok(());
        }
        let new = self.segments.len() as u32;
        let purpose = Purpose {
            saves: SaveRule::Transparent,
            actors: Actors::Functions,
            order: Order::AsMade,
        };
        let mut block = Prepared::new(&def, &self.insns, purpose);
        let hands_on = block.segments.iter().any(|segment| self.hands_on(&def, segment));
        let last = block.last;
        // Cut behind such a load, whatever is saved: the store may save again what it gives back.
        let segments = block.segments_for(if hands_on { u64::MAX } else { 0 });
        self.tell_last(&last, answer);
        answer.four(segments.len() as u32);
        segments.iter().for_each(|segment| self.tell(segment, answer));
        for segment in segments.iter() {
            let first = segment.first_step as usize;
            let steps = def.steps[first..first + segment.steps as usize].to_vec();
            self.processes[self.now].segments.push(self.segments.len() as u32);
            self.segments.push(BlockDef { steps, ..BlockDef::default() });
        }
        if let Some(answered) = &mut self.answered {
            let segments = new..self.segments.len() as u32;
            answered.insert(def, Answered { bytes: answer.said().into(), segments });
        }
        Ok(())
    }

    /// Whether a register that a load fills, and maybe restores, is stored in the same segment.
    fn hands_on(&self, def: &BlockDef, segment: &Segment) -> bool {
        let loads = |step: u32, register: RegSpan| {
            segment.operations.iter().any(|op| {
                matches!(op.kind, OperationKind::Load { .. })
                    && op.step == step
                    && op.register.is_some_and(|r| r.overlaps(register))
            })
        };
        segment.statics.iter().any(|s| {
            let reader = &self.insns[def.steps[s.read_step as usize].insn as usize].decoded;
            let stores = |o: &MemOperand| {
                o.is_write && o.data_register.is_some_and(|r| r.overlaps(s.register))
            };
            reader.memory.iter().any(stores) && loads(s.write_step, s.register)
        })
    }

    fn instruction(&mut self, address: u64, bytes: Vec<u8>) -> u32 {
        let function = self.functions.function_at(address);
        if let Some(&known) = self.known.get(&(address, bytes.clone()))
            && self.insns[known as usize].function == function
        {
            return known;
        }
        let def = InsnDef {
            address,
            size: bytes.len() as u8,
            bytes: bytes.clone(),
            ..InsnDef::default()
        };
        let space = self.space.borrow();
        let code = |a: u64| space.bytes(a).map(|b| b[..b.len().min(16)].to_vec());
        let (resolved, decoded) = resolve(&def, self.isa, &mut *self.decoder, &code, false);
        self.insn_images.push(space.image_at(address));
        drop(space);
        let decoded = decoded.filter(|d| d.size == def.size);
        let (def, decoded) = match decoded {
            Some(decoded) => (resolved, decoded),
            None => {
                let unknown = undecoded(&def, def.size.max(1), self.isa);
                (def, unknown)
            }
        };
        let number = self.insns.len() as u32;
        self.insns.push(Insn { def, decoded, function, copies: false });
        self.known.insert((address, bytes), number);
        number
    }

    fn tell_last(&self, last: &Last, answer: &mut Answer) {
        answer.eight(last.address);
        answer.eight(last.next);
        answer.eight(last.target.unwrap_or(0));
        answer.four(last.kind as u32);
        answer.four(
            u32::from(last.conditional)
                | u32::from(last.repeats) << 1
                | u32::from(last.executed) << 2
                | u32::from(last.target.is_some()) << 3,
        );
        answer.four(last.slot.unwrap_or(NONE));
    }

    fn tell(&self, segment: &Segment, answer: &mut Answer) {
        answer.four(segment.function.get());
        answer.four(u32::from(self.functions.is_stub(segment.function)));
        answer.eight(self.functions.entry(segment.function).unwrap_or(0));
        for number in [u64::from(segment.first_step), segment.steps.into(), segment.static_bytes] {
            answer.four(number as u32);
        }
        for number in [segment.static_transfers, segment.static_unique, segment.stored_bytes] {
            answer.four(number as u32);
        }
        self.tell_inside(segment, answer);
        answer.four(segment.operations.len() as u32);
        for op in &segment.operations {
            let (kind, more) = match op.kind {
                OperationKind::Read { extent } => (0, extent as u32),
                OperationKind::Write { loaded, seen } => {
                    (1, u32::from(loaded) | u32::from(seen) << 1)
                }
                OperationKind::Load { control } => (2, control.into()),
                OperationKind::Store { .. } => (3, 0),
            };
            let register = op.register.map_or([NONE; 2], |r| [r.offset.into(), r.size.into()]);
            // Which write of its step, or which access of the run.
            let which = if kind == 1 { op.ordinal.into() } else { op.mem };
            for number in [kind, more, op.step, which, op.size, op.stack_relative.into()] {
                answer.four(number);
            }
            register.into_iter().for_each(|number| answer.four(number));
            // What the segment makes of a register that the load may give its old writers again.
            let (mut bytes, mut transfers, mut which) = (0, 0, 0);
            for s in segment.statics.iter().filter(|s| feeds(op, s)) {
                bytes += u32::from(s.register.size);
                transfers += u32::from(s.first);
                which |= op.register.map_or(0, |r| bits_of(s.register, r.offset));
            }
            answer.four(bytes);
            answer.four(transfers);
            answer.eight(which);
        }
    }

    /// The register bytes that the segment hands to itself for certain.
    fn tell_inside(&self, segment: &Segment, answer: &mut Answer) {
        let by_load = |s: &&Static| segment.operations.iter().any(|op| feeds(op, s));
        let mut spans: Vec<RegSpan> =
            segment.statics.iter().filter(|s| !by_load(s)).map(|s| s.register).collect();
        spans.sort_unstable_by_key(|span| (span.offset, span.size));
        spans.dedup();
        answer.four(spans.len() as u32);
        for span in spans {
            answer.four(span.offset.into());
            answer.four(span.size.into());
        }
    }

    /// What a function is called, and where it begins, if that is known.
    pub fn function(&self, function: FunctionId) -> (String, Option<u64>) {
        self.functions.names.shown(&self.space.borrow(), function)
    }
}
