//! From definitions and records to blocks and runs.

use super::bytes::{Bad, Bytes};
use super::columns::{Columns, Shape};
use super::events::{Common, Events, Said, Unknown, kind};
use super::notes::{self, BlockNote, CodeNote};
use super::owners::Owner;
use crate::event::{BlockDef, BlockStep, InsnDef, Isa, MemShape, RunBatch};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Steps of a block, and accesses of a step, at most.
const MOST: u64 = 1 << 16;
/// AArch64's `dc zva`, without its register.
const DC_ZVA: u32 = 0xd50b_7420;
/// An optional access that was not made.
const NOT_DONE: u64 = u64::MAX;

/// How an access was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Made {
    Not,
    Whole,
    /// Its bytes lie at two places: so many at the first.
    Split(u32),
}

/// Where an access has its address from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The next field of the run.
    Field,
    /// An earlier one, and a difference.
    Same(u32, u64),
    Constant(u64),
    /// The next field; [`NOT_DONE`] if the access was not made.
    Optional,
}

#[derive(Clone, Copy, Debug)]
struct Access {
    instruction: u32,
    shape: MemShape,
    source: Source,
}

/// A block as it was defined.
struct Block {
    instructions: Vec<Instruction>,
    accesses: Vec<Access>,
    /// Of a converted stream.
    note: BlockNote,
}

struct Instruction {
    address: u64,
    code: Box<[u8]>,
    /// It stands right behind the one before.
    follows: bool,
    /// Of a converted stream.
    note: Option<Arc<CodeNote>>,
}

/// A path as its runs need it.
struct Path {
    block: usize,
    steps: usize,
    sources: Vec<Source>,
    /// Bytes of each.
    sizes: Vec<u32>,
    /// Fields in [`Decoder::last`].
    fields: std::ops::Range<usize>,
    /// Some of its accesses need not be made.
    optional: bool,
    /// The blocks of straight code that it is made of, once it has run with all accesses made.
    straight: Vec<u32>,
    /// Paths that followed it, the last one first.
    next: [Option<u32>; 2],
}

/// What has been defined, and what the next record is told by its difference from.
pub struct Decoder {
    /// Odd addresses are those of Thumb code.
    arm: bool,
    aarch64: bool,
    events: Events,
    blocks: Vec<Block>,
    paths: Vec<Path>,
    /// What each field of each path was last.
    last: Vec<u64>,
    before: Option<u32>,
    steps: u64,
    /// Instructions and straight blocks of the processes before.
    instructions_before: u32,
    straight_before: u32,
    instructions: FxHashMap<(u64, Owner, Box<[u8]>, Option<Arc<CodeNote>>), u32>,
    /// What is said of instructions, from here on.
    notes: FxHashMap<(u64, Box<[u8]>), Arc<CodeNote>>,
    isa: Isa,
    /// The stream was converted from a log: runs whose values are to come, and what these are told by.
    converted: bool,
    runs: Vec<(u32, Shape)>,
    columns: Columns,
    straight: FxHashMap<BlockDef, u32>,
    /// Straight blocks of paths whose accesses were not all made, or not at one place, by how they
    /// were.
    variants: FxHashMap<(u32, Box<[Made]>), Vec<u32>>,
}

impl Decoder {
    /// Whether the stream was converted from a log.
    pub fn is_converted(&self) -> bool {
        self.converted
    }

    /// `converted`: from a log.
    pub fn new(isa: Isa, converted: bool) -> Decoder {
        let mut events = Events::new(isa, Common::default());
        events.converted = converted;
        Decoder {
            isa,
            converted,
            notes: FxHashMap::default(),
            runs: Vec::new(),
            columns: Columns::default(),
            arm: isa == Isa::Arm,
            aarch64: isa == Isa::Aarch64,
            events,
            blocks: Vec::new(),
            paths: Vec::new(),
            last: Vec::new(),
            before: None,
            steps: 0,
            instructions_before: 0,
            straight_before: 0,
            instructions: FxHashMap::default(),
            straight: FxHashMap::default(),
            variants: FxHashMap::default(),
        }
    }

    /// For the stream of the next process: definitions of its own, numbers that go on.
    pub fn next(self, isa: Isa, converted: bool) -> Decoder {
        let mut events = Events::new(isa, self.events.into_common());
        events.converted = converted;
        Decoder {
            instructions_before: self.instructions_before + self.instructions.len() as u32,
            straight_before: self.straight_before + self.straight.len() as u32,
            steps: self.steps,
            events,
            ..Decoder::new(isa, converted)
        }
    }

    /// What is for the listener.
    pub fn said(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.events.said)
    }

    /// The program that this one was going to be.
    pub fn exec(&self) -> Option<&str> {
        self.events.exec()
    }

    /// What the recorder could not follow so far, in all processes.
    pub fn unknown(&self) -> (&Unknown, Option<&str>) {
        (&self.events.unknown, self.events.shared.by_several.as_deref())
    }

    pub fn steps(&self) -> u64 {
        self.steps
    }

    pub fn definitions(&mut self, payload: &[u8]) -> Result<(), Bad> {
        let mut bytes = Bytes(payload);
        while !bytes.0.is_empty() {
            match bytes.byte()? {
                1 => {
                    let mut block = block(&mut bytes)?;
                    if !self.notes.is_empty() {
                        for of in &mut block.instructions {
                            of.note = self.notes.get(&(of.address, of.code.clone())).cloned();
                        }
                    }
                    self.blocks.push(block);
                }
                2 => self.path(&mut bytes)?,
                notes::OF_CODE if self.converted => {
                    let (address, code, note) = CodeNote::read(&mut bytes, self.isa)?;
                    self.notes.insert((address, code.into()), note.into());
                }
                notes::OF_BLOCK if self.converted => {
                    let (number, note) = BlockNote::read(&mut bytes)?;
                    let block = usize::try_from(number).ok().and_then(|n| self.blocks.get_mut(n));
                    block.ok_or(Bad::Reference)?.note = note;
                }
                _ => return Err(Bad::Definition),
            }
        }
        Ok(())
    }

    fn path(&mut self, bytes: &mut Bytes) -> Result<(), Bad> {
        let number = usize::try_from(bytes.number()?).map_err(|_| Bad::Reference)?;
        let (steps, accesses) = (bytes.number()?, bytes.number()?);
        let block = self.blocks.get(number).ok_or(Bad::Reference)?;
        let inside = |n: u64, most: usize| usize::try_from(n).ok().filter(|&n| n <= most);
        let steps = inside(steps, block.instructions.len()).ok_or(Bad::Reference)?;
        let accesses = inside(accesses, block.accesses.len()).ok_or(Bad::Reference)?;
        let taken = &block.accesses[..accesses];
        if taken.last().is_some_and(|a| a.instruction as usize >= steps) {
            return Err(Bad::Reference);
        }
        let sources: Vec<Source> = taken.iter().map(|a| a.source).collect();
        let sizes = taken.iter().map(|a| a.shape.size).collect();
        let fields =
            sources.iter().filter(|s| matches!(s, Source::Field | Source::Optional)).count();
        let optional = sources.iter().any(|s| matches!(s, Source::Optional));
        let first = self.last.len();
        self.last.resize(first + fields, 0);
        self.paths.push(Path {
            block: number,
            steps,
            sources,
            sizes,
            fields: first..first + fields,
            optional,
            straight: Vec::new(),
            next: [None; 2],
        });
        Ok(())
    }

    /// The blocks of straight code that a path is made of, with those of its accesses that were
    /// made. They and their instructions get their numbers now, in the order in which they ran.
    fn cut(&mut self, id: u32, made: &[Made], out: &mut RunBatch) -> Vec<u32> {
        let path = &self.paths[id as usize];
        let block = &self.blocks[path.block];
        let (dictionary, known) = (&mut self.instructions, &mut self.straight);
        let arm = self.arm;
        let mut clears = false;
        let mut parts: Vec<BlockDef> = Vec::new();
        let note = &block.note;
        let operand = |i: usize| note.operands.get(i).copied().unwrap_or(MemShape::NO_OPERAND);
        let shapes = block.accesses.iter().enumerate();
        let mut accesses = shapes.map(|(i, access)| (access, operand(i))).zip(made).peekable();
        for (i, instruction) in block.instructions[..path.steps].iter().enumerate() {
            if !instruction.follows || i == 0 {
                parts.push(BlockDef::default());
            }
            let Some(part) = parts.last_mut() else { continue };
            let mut mem = 0;
            while let Some(((access, operand), made)) =
                accesses.next_if(|((a, _), _)| a.instruction as usize == i)
            {
                let (shape, before) = (MemShape { operand, ..access.shape }, part.mem.len());
                match *made {
                    Made::Not => {}
                    Made::Whole => part.mem.push(shape),
                    Made::Split(first) => part.mem.extend([
                        MemShape { size: first, ..shape },
                        MemShape { size: shape.size - first, ..shape },
                    ]),
                }
                mem += (part.mem.len() - before) as u16;
            }
            let next = self.instructions_before + dictionary.len() as u32;
            let owner = self.events.owners.at(instruction.address);
            let of = (instruction.code.clone(), instruction.note.clone());
            let key = (instruction.address, owner, of.0, of.1);
            let insn = *dictionary.entry(key).or_insert_with(|| {
                let thumb = arm && instruction.address & 1 == 1;
                let note = instruction.note.as_deref().cloned().unwrap_or_default();
                let size = instruction.code.len() as u8;
                out.new_insns.push(InsnDef {
                    address: instruction.address - u64::from(thumb),
                    bytes: if note.no_code { Vec::new() } else { instruction.code.to_vec() },
                    size: if note.no_size { 0 } else { size },
                    thumb,
                    text: note.text,
                    log_registers: note.registers,
                });
                next
            });
            let word = instruction.code.first_chunk().map(|code| u32::from_le_bytes(*code));
            clears |= mem == 0 && word.is_some_and(|word| word & !0x1f == DC_ZVA);
            let executed = !note.failed.contains(&(i as u32));
            part.steps.push(BlockStep { insn, executed, mem });
        }
        self.events.unknown.clears |= self.aarch64 && clears;
        let ids = parts.into_iter().map(|part| {
            let next = self.straight_before + known.len() as u32;
            *known.entry(part).or_insert_with_key(|part| {
                out.new_blocks.push(part.clone());
                next
            })
        });
        ids.collect()
    }

    /// Adds the runs of a piece of records. What stands before something bad is in `out`.
    pub fn records(&mut self, payload: &[u8], resets: bool, out: &mut RunBatch) -> Result<(), Bad> {
        let mut bytes = Bytes(payload);
        if resets {
            self.before = None;
            self.last.fill(0);
            self.paths.iter_mut().for_each(|p| p.next = [None; 2]);
            self.columns.forget();
        }
        self.runs.clear();
        while !bytes.0.is_empty() {
            let id = match bytes.number()? {
                1 => {
                    self.event(&mut bytes, out)?;
                    continue;
                }
                token => self.follow(token)?,
            };
            self.run(id, &mut bytes, out)?;
        }
        Ok(())
    }

    /// The path that a record names.
    #[inline]
    fn follow(&mut self, token: u64) -> Result<u32, Bad> {
        let before = self.before.map(|b| &mut self.paths[b as usize].next);
        let id = match (token, &before) {
            (0, Some(next)) => next[0].ok_or(Bad::Unpredicted)?,
            (2, Some(next)) => next[1].ok_or(Bad::Unpredicted)?,
            (0 | 2, None) => return Err(Bad::Unpredicted),
            (n, _) => u32::try_from(n - 3).map_err(|_| Bad::Path(n - 3))?,
        };
        if id as usize >= self.paths.len() {
            return Err(Bad::Path(u64::from(id)));
        }
        if let Some(next) = self.before.map(|b| &mut self.paths[b as usize].next)
            && token != 0
        {
            *next = [Some(id), next[0]];
        }
        self.before = Some(id);
        Ok(id)
    }

    #[inline]
    fn run(&mut self, id: u32, bytes: &mut Bytes, out: &mut RunBatch) -> Result<(), Bad> {
        let path = &self.paths[id as usize];
        let fields = &mut self.last[path.fields.clone()];
        for field in fields.iter_mut() {
            *field = field.wrapping_add(bytes.difference()?);
        }
        let (mut next, before) = (0, out.addresses.len());
        for source in &path.sources {
            let address = match *source {
                Source::Field | Source::Optional => {
                    next += 1;
                    fields[next - 1]
                }
                Source::Same(field, difference) => fields[field as usize].wrapping_add(difference),
                Source::Constant(address) => address,
            };
            if address != NOT_DONE || !matches!(source, Source::Optional) {
                out.addresses.push(address);
            }
        }
        self.steps += path.steps as u64;
        let split = match self.events.shared.is_empty() {
            true => None,
            false => self.place(id, before, &mut out.addresses),
        };
        let path = &self.paths[id as usize];
        let before = out.block.len();
        if split.is_some() || path.straight.is_empty() {
            let blocks = self.first_or_optional(id, split, out);
            out.block.extend_from_slice(&blocks);
        } else {
            out.block.extend_from_slice(&path.straight);
        }
        out.thread.resize(out.thread.len() + out.block.len() - before, self.events.thread());
        if self.converted {
            let path = &self.paths[id as usize];
            let register_values = self.blocks[path.block].note.register_values as usize;
            let (steps, accesses) = (path.steps, path.sources.len());
            self.runs.push((id, Shape { steps, accesses, register_values }));
        }
        Ok(())
    }

    /// Which accesses the last run of a path has made.
    fn made(&self, path: &Path) -> Box<[Made]> {
        let mut fields = self.last[path.fields.clone()].iter();
        let made = |source: &Source| {
            let field = match source {
                Source::Field | Source::Optional => fields.next(),
                Source::Same(..) | Source::Constant(_) => None,
            };
            match (source, field) {
                (Source::Optional, Some(&NOT_DONE)) => Made::Not,
                _ => Made::Whole,
            }
        };
        path.sources.iter().map(made).collect()
    }

    /// Gives addresses from `from` on, those of a path's last run, the places where shared memory
    /// lies. How they were made, if one has its bytes at two places.
    fn place(&self, id: u32, from: usize, addresses: &mut Vec<u64>) -> Option<Box<[Made]>> {
        let shared = &self.events.shared;
        if addresses[from..].iter().all(|&address| shared.is_far(address)) {
            return None;
        }
        let path = &self.paths[id as usize];
        let mut made = self.made(path);
        let mut given = addresses.split_off(from).into_iter();
        let mut split = false;
        for (made, &size) in
            made.iter_mut().zip(&path.sizes).filter(|(made, _)| **made != Made::Not)
        {
            let Some(address) = given.next() else { break };
            addresses.push(shared.place(address));
            if let Some(first) = shared.first_part(address, size) {
                addresses.push(shared.place(address.wrapping_add(first.into())));
                *made = Made::Split(first);
                split = true;
            }
        }
        split.then_some(made)
    }

    /// The straight blocks of a path that runs for the first time, or whose accesses have not all
    /// been made, or not at one place.
    #[cold]
    fn first_or_optional(
        &mut self,
        id: u32,
        split: Option<Box<[Made]>>,
        out: &mut RunBatch,
    ) -> Vec<u32> {
        let path = &self.paths[id as usize];
        let optional = path.optional || split.is_some();
        let key = (id, split.unwrap_or_else(|| self.made(path)));
        if let Some(known) = self.variants.get(&key) {
            return known.clone();
        }
        let blocks = self.cut(id, &key.1, out);
        if optional {
            self.variants.insert(key, blocks.clone());
        } else {
            self.paths[id as usize].straight = blocks.clone();
        }
        blocks
    }

    fn event(&mut self, bytes: &mut Bytes, out: &mut RunBatch) -> Result<(), Bad> {
        let kind = bytes.byte()?;
        let length = bytes.number()?;
        let mut payload = Bytes(bytes.take(length)?);
        if kind == kind::VALUES && self.converted {
            // Values are those of straight runs.
            if self.runs.len() != out.block.len() {
                return Err(Bad::Values);
            }
            let runs = std::mem::take(&mut self.runs);
            return self.columns.read(&mut payload, &runs, out);
        }
        let at = out.block.len() as u32;
        self.events.take(kind, payload, &mut |event| out.events.push((at, event)))
    }
}

fn block(bytes: &mut Bytes) -> Result<Block, Bad> {
    let mut block =
        Block { instructions: Vec::new(), accesses: Vec::new(), note: BlockNote::default() };
    let mut address = 0u64;
    for i in 0..bytes.up_to(MOST, |_| Bad::Definition)? {
        let size = bytes.byte()?;
        let jump = if size & 0x80 != 0 { bytes.difference()? } else { 0 };
        let size = size & 0x7f;
        if !(1..=16).contains(&size) {
            return Err(Bad::Instruction(u64::from(size)));
        }
        address = address.wrapping_add(jump);
        let code = bytes.take(u64::from(size))?.into();
        let follows = i > 0 && jump == 0;
        block.instructions.push(Instruction { address, code, follows, note: None });
        address = address.wrapping_add(u64::from(size));
    }
    let count = block.instructions.len() as u64;
    let mut fields = 0;
    for _ in 0..bytes.up_to(MOST, |_| Bad::Definition)? {
        let instruction = bytes.number()?;
        let flags = bytes.byte()?;
        let size = bytes.up_to(1 << 24, Bad::Access)?;
        if instruction >= count || size == 0 {
            return Err(Bad::Reference);
        }
        let source = match flags >> 1 {
            0 => Source::Field,
            1 => {
                let field = bytes.number()?;
                if field >= fields {
                    return Err(Bad::Reference);
                }
                Source::Same(field as u32, bytes.difference()?)
            }
            2 => Source::Constant(bytes.difference()?),
            3 => Source::Optional,
            _ => return Err(Bad::Definition),
        };
        fields += u64::from(matches!(source, Source::Field | Source::Optional));
        let shape =
            MemShape { is_write: flags & 1 != 0, size: size as u32, operand: MemShape::NO_OPERAND };
        block.accesses.push(Access { instruction: instruction as u32, shape, source });
    }
    if !block.accesses.is_sorted_by_key(|a| a.instruction) {
        return Err(Bad::Definition);
    }
    Ok(block)
}
