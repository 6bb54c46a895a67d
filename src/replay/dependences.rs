//! What the iterations of loops have to do with one another: which wrote what a later one reads,
//! writes over or reads first, through which storage, and how many iterations lie between.

use super::bytes::ByteMap;
use super::cell::{Bytes, Cell, Space};
use super::code::Code;
use super::control::ControlFlow;
use super::error::ReplayError;
use super::nest::{LiveLoop, Nests};
use super::places::{ByPage, Places, When};
use super::resolve::Step;
use super::writers::{Communication, Observer, observe};
use crate::id::{BlockId, CallId, InstructionId, ProcessId};
use crate::load::history::Caller;
use crate::text::words;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

words! {
    /// What a later iteration does to what an earlier one did.
    #[derive(Hash, PartialOrd, Ord)]
    pub enum Conflict {
        /// It reads what the earlier one wrote.
        ReadAfterWrite = "read after write",
        /// It writes over what the earlier one read.
        WriteAfterRead = "write after read",
        /// It writes over what the earlier one wrote.
        WriteAfterWrite = "write after write",
    }
}

/// Storage that a dependence goes through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Storage {
    Register(String),
    Variable(String),
    /// Memory without a name, by its via.
    Memory(String),
}

impl Storage {
    /// What it is, and its name.
    pub fn words(&self) -> (&'static str, &str) {
        match self {
            Storage::Register(name) => ("register", name),
            Storage::Variable(name) => ("variable", name),
            Storage::Memory(via) => ("memory", via),
        }
    }

    /// Storage of these words; None: the first is none of them.
    pub fn parse(space: &str, name: String) -> Option<Storage> {
        match space {
            "register" => Some(Storage::Register(name)),
            "variable" => Some(Storage::Variable(name)),
            "memory" => Some(Storage::Memory(name)),
            _ => None,
        }
    }
}

/// Dependences between iterations of a loop through one piece of storage.
#[derive(Clone, Copy, Debug)]
pub struct Dependence {
    /// Accesses of the later iterations.
    pub count: u64,
    pub bytes: u64,
    /// The least and the most iterations between.
    pub least: usize,
    pub most: usize,
}

/// Dataflow between two instructions in a loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopEdge {
    /// Within an iteration.
    pub inside: bool,
    /// From one to a later: the least and the most iterations between; 0: never.
    pub least: usize,
    pub most: usize,
    /// Through memory.
    pub memory: bool,
    /// A carried byte was not written again at its place by the instruction that had written it, in
    /// the iteration that read it: it is no accumulator.
    pub moves: bool,
}

/// A loop's dependences.
#[derive(Default)]
pub struct LoopDependences {
    pub by_storage: BTreeMap<(Conflict, Storage), Dependence>,
    /// By writing and reading instruction.
    pub edges: BTreeMap<(InstructionId, InstructionId), LoopEdge>,
}

impl LoopDependences {
    /// The edges from one instruction.
    pub fn from(&self, writer: InstructionId) -> impl Iterator<Item = (InstructionId, &LoopEdge)> {
        let from = self.edges.range((writer, InstructionId::FIRST)..);
        from.take_while(move |((w, _), _)| *w == writer).map(|((_, r), edge)| (*r, edge))
    }

    /// The instructions that read what one writes.
    pub fn readers(&self, writer: InstructionId) -> impl Iterator<Item = InstructionId> {
        self.from(writer).map(|(reader, _)| reader)
    }

    /// By instruction: those that write what it reads.
    pub fn writers(&self) -> BTreeMap<InstructionId, Vec<InstructionId>> {
        let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
        self.edges.keys().for_each(|(w, r)| found.entry(*r).or_default().push(*w));
        found
    }
}

/// Who touched a byte last.
#[derive(Clone, Copy, Default)]
struct Touched {
    /// Seqs; 0: nobody.
    write: i64,
    read: i64,
}

type EdgeKey = (usize, InstructionId, InstructionId);

/// Dataflow between the instructions of all loops.
#[derive(Default)]
struct Edges {
    list: Vec<(EdgeKey, LoopEdge)>,
    at: FxHashMap<EdgeKey, u32>,
    /// By the loops around, too: they have the edge inside.
    seen: FxHashMap<(u32, EdgeKey), Option<u32>>,
}

impl Edges {
    fn at(&mut self, key: EdgeKey) -> u32 {
        *self.at.entry(key).or_insert_with(|| {
            self.list.push((key, LoopEdge::default()));
            self.list.len() as u32 - 1
        })
    }

    /// The edge between two instructions in the innermost of the loops that both run in; None: it does not
    /// matter.
    fn inside(
        &mut self,
        (innermost, around): (&LiveLoop, &[LiveLoop]),
        (writer, reader): (InstructionId, InstructionId),
        matters: impl Fn(&LiveLoop) -> bool,
    ) -> Option<u32> {
        let key = (innermost.number, writer, reader);
        let seen = innermost.around.map(|around| (around, key));
        if let Some(known) = seen.and_then(|seen| self.seen.get(&seen)) {
            return *known;
        }
        for outer in around.iter().filter(|l| matters(l)) {
            let at = self.at((outer.number, writer, reader));
            self.list[at as usize].1.inside = true;
        }
        let at = matters(innermost).then(|| self.at(key));
        self.seen.extend(seen.map(|seen| (seen, at)));
        at
    }
}

/// The registers, by the byte, and the storage that each is.
struct Registers {
    /// First byte and storage of each.
    list: Vec<(u64, usize)>,
    /// Of a byte of none.
    unknown: usize,
}

impl Registers {
    fn find(&self, address: u64) -> usize {
        let at = self.list.partition_point(|(first, _)| *first <= address);
        at.checked_sub(1).map_or(self.unknown, |i| self.list[i].1)
    }
}

/// Gathers what iterations have to do with one another.
pub struct Gatherer<'a> {
    nests: Nests<'a>,
    places: &'a Places,
    registers: Registers,
    storages: Vec<Storage>,
    known: ByPage<usize>,
    by_storage: FxHashMap<(usize, Conflict, usize), Dependence>,
    edges: Edges,
    /// By writing instruction: the edge, the place and the step of what was read last of what it wrote in an
    /// earlier iteration.
    pending: Vec<Option<(u32, u64, i64)>>,
    /// By process.
    memory: Vec<ByteMap<Touched, 256>>,
    seq: i64,
    instruction: Option<InstructionId>,
}

/// The number of a storage.
fn number(storages: &mut Vec<Storage>, storage: Storage) -> usize {
    storages.iter().position(|known| *known == storage).unwrap_or_else(|| {
        storages.push(storage);
        storages.len() - 1
    })
}

impl<'a> Gatherer<'a> {
    /// # Errors
    /// Where the database cannot be read.
    pub fn new(
        code: &Code,
        connection: &Connection,
        nests: Nests<'a>,
        places: &'a Places,
    ) -> Result<Gatherer<'a>, ReplayError> {
        let mut storages = Vec::new();
        Ok(Gatherer {
            nests,
            places,
            registers: registers(connection, &mut storages)?,
            storages,
            known: ByPage::default(),
            by_storage: FxHashMap::default(),
            edges: Edges::default(),
            pending: vec![None; code.instructions()],
            memory: Vec::new(),
            seq: 0,
            instruction: None,
        })
    }

    /// See [`Nests::begin_chunk`].
    pub fn begin_chunk(&mut self, callers: impl Iterator<Item = (CallId, Caller)>) {
        self.nests.begin_chunk(callers);
    }

    /// The dependences of each loop that has any.
    pub fn found(self) -> BTreeMap<usize, LoopDependences> {
        let mut found: BTreeMap<usize, LoopDependences> = BTreeMap::new();
        for ((number, conflict, storage), dependence) in self.by_storage {
            let of = &mut found.entry(number).or_default().by_storage;
            of.insert((conflict, self.storages[storage].clone()), dependence);
        }
        for ((number, writer, reader), edge) in self.edges.list {
            found.entry(number).or_default().edges.insert((writer, reader), edge);
        }
        found
    }

    fn storage(&mut self, bytes: Bytes) -> usize {
        let (places, storages) = (self.places, &mut self.storages);
        let Cell { space, address } = bytes.first;
        let Space::Memory(process) = space else { return self.registers.find(address) };
        let moment = When { process, seq: self.seq };
        self.known.find(places, moment, address, |at| {
            let storage = match at.variable {
                Some(variable) => Storage::Variable(places.variables()[variable].name.clone()),
                None => Storage::Memory(at.via.to_owned()),
            };
            number(storages, storage)
        })
    }

    fn memory(&mut self, process: ProcessId) -> &mut ByteMap<Touched, 256> {
        let at = process.index();
        if at >= self.memory.len() {
            self.memory.resize_with(at + 1, ByteMap::default);
        }
        &mut self.memory[at]
    }

    /// Notes a conflict with an earlier access, if an earlier iteration made it.
    fn conflict(&mut self, conflict: Conflict, bytes: Bytes, earlier: i64) {
        let innermost = self.nests.since(earlier).last();
        let matters = |l: &&LiveLoop| self.nests.matters(l.number) && l.is_earlier(earlier);
        if let Some(found) = innermost.filter(matters) {
            let (number, distance) = (found.number, found.distance(earlier));
            self.depends(conflict, bytes, number, distance);
        }
    }

    /// Notes that an iteration of a loop depends on one so many before.
    fn depends(&mut self, conflict: Conflict, bytes: Bytes, number: usize, distance: usize) {
        let storage = self.storage(bytes);
        let new = Dependence { count: 0, bytes: 0, least: distance, most: distance };
        let sum = self.by_storage.entry((number, conflict, storage)).or_insert(new);
        sum.count += 1;
        sum.bytes += u64::from(bytes.size);
        sum.least = sum.least.min(distance);
        sum.most = sum.most.max(distance);
    }
}

impl Observer for Gatherer<'_> {
    fn skips(&self, block: BlockId) -> bool {
        !self.nests.is_in_some() && !self.nests.may_enter(block)
    }

    fn begin(&mut self, step: &Step) {
        self.nests.begin(step);
        self.seq = step.seq;
        self.instruction = Some(step.instruction);
    }

    fn communication(&mut self, c: &Communication) {
        // What was read before a loop was entered is nothing to its iterations.
        if !self.nests.is_in_some() {
            return;
        }
        if let Space::Memory(process) = c.bytes.first.space {
            let (seq, bytes) = (c.read.seq, c.bytes);
            let map = self.memory(process);
            map.visit(bytes.first.address, bytes.size.into(), |byte| byte.read = seq);
        }
        let Some(write) = c.write.filter(|w| w.access.thread == c.read.thread) else { return };
        let (writer, seq) = (write.access.instruction, write.access.seq);
        let Some((innermost, around)) = self.nests.since(seq).split_last() else { return };
        let (pair, matters) =
            ((writer, c.read.instruction), |l: &LiveLoop| self.nests.matters(l.number));
        let Some(at) = self.edges.inside((innermost, around), pair, matters) else { return };
        let edge = &mut self.edges.list[at as usize].1;
        let is_memory = !c.bytes.first.space.is_register();
        edge.memory |= is_memory;
        if !innermost.is_earlier(seq) {
            edge.inside = true;
            return;
        }
        let (number, distance) = (innermost.number, innermost.distance(seq));
        edge.least = if edge.least == 0 { distance } else { edge.least.min(distance) };
        edge.most = edge.most.max(distance);
        if is_memory && let Some(pending) = self.pending.get_mut(writer.index()) {
            *pending = Some((at, c.bytes.first.address, c.read.seq));
        }
        self.depends(Conflict::ReadAfterWrite, c.bytes, number, distance);
    }

    fn write(&mut self, bytes: Bytes) -> u32 {
        let Space::Memory(process) = bytes.first.space else { return 0 };
        if !self.nests.is_in_some() {
            return 0;
        }
        if let Some(instruction) = self.instruction {
            let pending = self.pending.get_mut(instruction.index()).and_then(Option::take);
            if let Some((at, address, read)) = pending {
                let (key, edge) = &mut self.edges.list[at as usize];
                let goes_on = || self.nests.since(read).iter().any(|l| l.number == key.0);
                edge.moves |= address != bytes.first.address && goes_on();
            }
        }
        let (mut read, mut written) = (0, 0);
        let seq = self.seq;
        self.memory(process).visit(bytes.first.address, bytes.size.into(), |byte| {
            read = read.max(byte.read);
            written = written.max(byte.write);
            *byte = Touched { write: seq, read: 0 };
        });
        if read > 0 {
            self.conflict(Conflict::WriteAfterRead, bytes, read);
        }
        if written > 0 {
            self.conflict(Conflict::WriteAfterWrite, bytes, written);
        }
        0
    }
}

fn registers(
    connection: &Connection,
    storages: &mut Vec<Storage>,
) -> Result<Registers, ReplayError> {
    let sql = "SELECT address, size, name FROM register ORDER BY address, size DESC";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |r| {
        Ok((u64::from(r.get::<_, u32>(0)?), u64::from(r.get::<_, u32>(1)?), r.get(2)?))
    })?;
    let mut list: Vec<(u64, u64, String)> = rows.collect::<Result<_, _>>()?;
    // The whole register stands for its parts.
    list.dedup_by(|part, whole| part.0 < whole.0 + whole.1);
    let mut number = |name: String| number(storages, Storage::Register(name));
    let unknown = number("?".to_owned());
    let list = list.into_iter().map(|(first, _, name)| (first, number(name))).collect();
    Ok(Registers { list, unknown })
}

/// Goes through the run once.
///
/// # Errors
/// Where the database is damaged.
pub fn dependences(
    code: &Code,
    connection: &Connection,
    flow: &ControlFlow,
    places: &Places,
) -> Result<BTreeMap<usize, LoopDependences>, ReplayError> {
    let nests = Nests::new(code, flow, |_| true).with_all_callers(connection)?;
    let mut gatherer = Gatherer::new(code, connection, nests, places)?;
    observe(code, connection, code.last, &mut gatherer)?;
    Ok(gatherer.found())
}
