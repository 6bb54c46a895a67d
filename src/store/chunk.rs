//! Chunks of the run: 2^18 steps each, packed so that each can be unpacked alone (`run_chunk`).
//!
//! A chunk is one zstd frame with a checksum. It holds a version, a head, and a section of bytes for
//! each column; all numbers are LEB128. Events stand before the run that follows them. Predictions begin anew in each chunk. The next block is
//! predicted by the two blocks before it, else by the one. The addresses of each access of a block
//! are a list of their own, predicted in the one of four ways that makes the list smallest.

use super::frame;
use super::numbers::{Section, put, unzigzag, zigzag};
use super::run_events;
use crate::event::Event;
use std::ops::Range;

pub use super::numbers::ChunkError;

/// Steps from which on a chunk is full.
pub const STEPS: u64 = 1 << 18;
/// Changes whenever a chunk reads differently.
const VERSION: u64 = 2;
/// Room is made for so many runs and addresses because a chunk says so.
const BELIEVED: usize = 1 << 19;
/// Entries of the table that predicts by two blocks.
const PAIRS: usize = 1 << 14;

/// What each run of a block has of each column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub steps: usize,
    /// Memory accesses.
    pub accesses: usize,
    /// Register writes whose values are kept.
    pub register_values: usize,
}

/// One run of a block.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub thread: u32,
    pub block: u32,
    pub shape: Shape,
    /// One for each memory access.
    pub address: &'a [u64],
    /// Of the memory accesses, then of the register writes; empty where the trace has none.
    pub value: &'a [Option<u64>],
    /// One for each step; empty where the trace has none.
    pub time: &'a [u64],
    pub sp: Option<u64>,
    pub linked: Option<bool>,
}

/// A packed chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// First and last step.
    pub first: u64,
    pub last: u64,
    pub data: Vec<u8>,
}

/// An unpacked chunk: columns, a row a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    pub start: Vec<u64>,
    pub thread: Vec<u32>,
    pub block: Vec<u32>,
    /// Where each run's addresses begin, with one more at the end; likewise for values and times, but
    /// empty where the trace has none.
    pub address_at: Vec<usize>,
    pub address: Vec<u64>,
    value_at: Vec<usize>,
    value: Vec<Option<u64>>,
    time_at: Vec<usize>,
    time: Vec<u64>,
    /// Stack pointers, and whether the link register holds the next address; empty where nothing is known
    /// of any run.
    ends: Vec<(Option<u64>, Option<bool>)>,
    /// Each with the run before which it stands; the number of runs behind the last one.
    pub events: Vec<(usize, Event)>,
}

/// The columns, each a section of bytes.
#[derive(Clone, Copy)]
enum Column {
    Blocks,
    Threads,
    Tokens,
    /// For each access of each block: its prediction, and the bytes of its list in `Addresses`.
    Lists,
    Addresses,
    Values,
    Times,
    /// Stack pointers and whether the link register holds the next address.
    Ends,
    /// For each event: the runs since the event before it, and the event.
    Events,
}

const COLUMNS: usize = Column::Events as usize + 1;

/// Predicts the next block of the chunk. Blocks are places in the chunk's list, from 1; 0 is none.
struct Successors {
    last: [u32; 2],
    /// By the block before.
    one: Vec<u32>,
    /// By a hash of the two before.
    two: Box<[u32]>,
}

impl Successors {
    fn new() -> Successors {
        Successors { last: [0; 2], one: vec![0], two: vec![0; PAIRS].into_boxed_slice() }
    }

    #[inline]
    fn pair(&self) -> usize {
        let [before, last] = self.last;
        (before.wrapping_mul(0x9e37_79b1) ^ last.wrapping_mul(0x85eb_ca6b)) as usize >> 7
            & (PAIRS - 1)
    }

    /// Another block.
    fn add(&mut self) {
        self.one.push(0);
    }

    /// By two, then by one.
    #[inline]
    fn guess(&self) -> (u32, u32) {
        (self.two[self.pair()], self.one[self.last[1] as usize])
    }

    #[inline]
    fn learn(&mut self, block: u32) {
        let pair = self.pair();
        self.two[pair] = block;
        self.one[self.last[1] as usize] = block;
        self.last = [self.last[1], block];
    }
}

/// What a token says: by which guess the block is known, else its place in the list.
const BY_TWO: u64 = 0;
const BY_ONE: u64 = 1;
const PLACES: u64 = 1;

/// How an address is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guess {
    /// It moves as far as the access before it in the same run.
    Together,
    /// It moves as far as it did last.
    Stride,
    /// It stays where it was.
    Still,
    /// It is where the run's and the chunk's access before it is.
    Near,
}

const GUESSES: [Guess; 4] = [Guess::Together, Guess::Stride, Guess::Still, Guess::Near];

/// The addresses of one access of a block.
#[derive(Clone, Copy, Default)]
struct Place {
    last: u64,
    /// How far it moved last.
    moved: u64,
}

impl Place {
    /// `together`: how far the access before it in the run moved; `near`: where the one before is.
    #[inline(always)]
    fn guess(self, how: Guess, together: u64, near: u64) -> u64 {
        match how {
            Guess::Together => self.last.wrapping_add(together),
            Guess::Stride => self.last.wrapping_add(self.moved),
            Guess::Still => self.last,
            Guess::Near => near,
        }
    }

    /// Gives how far it moved.
    fn go_to(&mut self, address: u64) -> u64 {
        self.moved = address.wrapping_sub(self.last);
        self.last = address;
        self.moved
    }
}

/// Whether the link register holds the next address: 0, 1, or this.
const UNKNOWN: u8 = 2;

/// Addresses by which a prediction is chosen.
const SAMPLE: usize = 256;

/// A block of a chunk that is being packed.
struct Packed {
    id: u32,
    accesses: usize,
    /// For each run, where its addresses begin in those of the chunk; empty where it has none.
    runs: Vec<u32>,
    value: Vec<u64>,
}

/// The addresses of one access of a block.
struct List<'a> {
    /// Those of the chunk.
    address: &'a [u64],
    runs: &'a [u32],
    access: usize,
}

impl List<'_> {
    /// The address before it, and its own.
    #[inline(always)]
    fn at(&self, run: u32) -> (u64, u64) {
        let own = run as usize + self.access;
        (self.address[own - 1], self.address[own])
    }

    /// How far the access before it in the run moved.
    #[inline(always)]
    fn together(&self, near: u64, near_before: u64) -> u64 {
        if self.access == 0 { 0 } else { near.wrapping_sub(near_before) }
    }

    /// The prediction with the smallest list, as zstd will see it: bytes that are not 0 cost more
    /// than those that are.
    fn best(&self) -> usize {
        let apart = self.runs.len().div_ceil(SAMPLE).max(1);
        // So many runs before.
        let at = |run: usize, back: usize| {
            run.checked_sub(back).map_or((0, 0), |run| self.at(self.runs[run]))
        };
        let mut costs = [0; GUESSES.len()];
        for run in (0..self.runs.len()).step_by(apart) {
            let ((near, address), (near_before, last)) = (at(run, 0), at(run, 1));
            let place = Place { last, moved: last.wrapping_sub(at(run, 2).1) };
            let together = self.together(near, near_before);
            for (how, cost) in GUESSES.into_iter().zip(&mut costs) {
                let off = zigzag(address.wrapping_sub(place.guess(how, together, near)));
                // A number has seven bits in a byte; most bytes of one that is not 0 are not.
                *cost += 1 + 4 * (64 - off.leading_zeros()).div_ceil(7);
            }
        }
        (0..GUESSES.len()).min_by_key(|&i| costs[i]).unwrap_or(0)
    }

    fn put(&self, how: Guess, out: &mut Vec<u8>) {
        match how {
            Guess::Together => self.put_all(Guess::Together, out),
            Guess::Stride => self.put_all(Guess::Stride, out),
            Guess::Still => self.put_all(Guess::Still, out),
            Guess::Near => self.put_all(Guess::Near, out),
        }
    }

    /// A loop of its own for each prediction.
    #[inline(always)]
    fn put_all(&self, how: Guess, out: &mut Vec<u8>) {
        let (mut place, mut near_before) = (Place::default(), 0);
        out.reserve(self.runs.len());
        for &run in self.runs {
            let (near, address) = self.at(run);
            let together = self.together(near, near_before);
            put(out, zigzag(address.wrapping_sub(place.guess(how, together, near))));
            near_before = near;
            place.go_to(address);
        }
    }
}

/// Packs runs as they come.
pub struct Packer {
    /// Steps from which on a chunk is full.
    most: u64,
    first: u64,
    /// The step behind the last.
    next: u64,
    runs: u64,
    blocks: Vec<Packed>,
    /// Place in `blocks`, from 1, by id; 0: not in this chunk.
    places: Vec<u32>,
    successors: Successors,
    thread: (u32, u64),
    time: u64,
    sp: u64,
    /// A zero, and the addresses of all runs.
    address: Vec<u64>,
    /// Runs of which `Ends` has something.
    ended: u64,
    /// Runs before the last event.
    event_at: u64,
    columns: [Vec<u8>; COLUMNS],
}

impl Packer {
    /// Begins with the step `first`.
    pub fn new(first: u64) -> Packer {
        Packer {
            most: STEPS,
            first,
            next: first,
            runs: 0,
            blocks: Vec::new(),
            places: Vec::new(),
            successors: Successors::new(),
            thread: (0, 0),
            time: 0,
            sp: 0,
            address: vec![0],
            ended: 0,
            event_at: 0,
            columns: Default::default(),
        }
    }

    /// With chunks of another length.
    pub fn of_steps(self, most: u64) -> Packer {
        Packer { most, ..self }
    }

    /// Adds an event that stands behind the last run.
    pub fn event(&mut self, event: &Event) {
        self.number(Column::Events, self.runs - self.event_at);
        self.event_at = self.runs;
        run_events::put_event(&mut self.columns[Column::Events as usize], event);
    }

    /// Adds the run that follows. Gives the chunk before it, if that is full.
    #[inline]
    pub fn push(&mut self, run: &Run) -> std::io::Result<Option<Chunk>> {
        let full = if self.next - self.first < self.most { None } else { self.finish()? };
        let place = match self.places.get(run.block as usize) {
            Some(&place) if place != 0 => place,
            _ => self.new_place(run.block, run.shape),
        };
        self.token(place);
        self.thread(run.thread);
        self.addresses(place, run.address)?;
        // The column of a chunk without values stays empty.
        if !run.value.is_empty() || !self.columns[Column::Values as usize].is_empty() {
            self.values(place, run.value);
        }
        for &time in run.time {
            self.number(Column::Times, zigzag(time.wrapping_sub(self.time)));
            self.time = time;
        }
        if run.sp.is_some() || run.linked.is_some() {
            self.end_of_run(run.sp, run.linked);
        }
        self.runs += 1;
        self.next += run.shape.steps as u64;
        Ok(full)
    }

    fn end_of_run(&mut self, sp: Option<u64>, linked: Option<bool>) {
        self.end_runs(self.runs);
        self.ended += 1;
        let linked = linked.map_or(UNKNOWN, u8::from);
        self.columns[Column::Ends as usize].push(linked << 1 | u8::from(sp.is_some()));
        if let Some(sp) = sp {
            self.number(Column::Ends, zigzag(sp.wrapping_sub(self.sp)));
            self.sp = sp;
        }
    }

    /// Nothing is known of the ends of the runs up to this one.
    fn end_runs(&mut self, runs: u64) {
        let column = &mut self.columns[Column::Ends as usize];
        column.resize(column.len() + (runs - self.ended) as usize, UNKNOWN << 1);
        self.ended = runs;
    }

    /// The chunk of the runs that are left; then it begins anew.
    pub fn finish(&mut self) -> std::io::Result<Option<Chunk>> {
        if self.runs == 0 {
            return Ok(None);
        }
        self.end_thread();
        self.end_runs(self.runs);
        self.lists();
        let next = std::mem::replace(self, Packer::new(self.next).of_steps(self.most));
        let mut head = Vec::new();
        for number in [VERSION, next.first, next.runs, next.blocks.len() as u64] {
            put(&mut head, number);
        }
        for column in &next.columns {
            put(&mut head, column.len() as u64);
        }
        next.columns.iter().for_each(|column| head.extend_from_slice(column));
        let data = frame::pack(&head)?;
        Ok(Some(Chunk { first: next.first, last: next.next - 1, data }))
    }

    /// The list of each access.
    fn lists(&mut self) {
        let mut column = |column: Column| std::mem::take(&mut self.columns[column as usize]);
        let (mut lists, mut addresses) = (column(Column::Lists), column(Column::Addresses));
        for block in &self.blocks {
            for access in 0..block.accesses {
                let list = List { address: &self.address, runs: &block.runs, access };
                let (best, before) = (list.best(), addresses.len());
                list.put(GUESSES[best], &mut addresses);
                lists.push(best as u8);
                put(&mut lists, (addresses.len() - before) as u64);
            }
        }
        self.columns[Column::Lists as usize] = lists;
        self.columns[Column::Addresses as usize] = addresses;
    }

    fn number(&mut self, column: Column, number: u64) {
        put(&mut self.columns[column as usize], number);
    }

    /// The place of a block that has none in the list of the chunk, from 1.
    #[cold]
    fn new_place(&mut self, id: u32, shape: Shape) -> u32 {
        let index = id as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, 0);
        }
        let before = self.blocks.last().map_or(0, |b| b.id);
        self.number(Column::Blocks, zigzag(u64::from(id).wrapping_sub(before.into())));
        self.number(Column::Blocks, shape.steps as u64);
        self.number(Column::Blocks, shape.accesses as u64);
        let (accesses, runs, value) = (shape.accesses, Vec::new(), Vec::new());
        self.blocks.push(Packed { id, accesses, runs, value });
        self.successors.add();
        self.places[index] = self.blocks.len() as u32;
        self.places[index]
    }

    #[inline]
    fn token(&mut self, place: u32) {
        let (two, one) = self.successors.guess();
        let token = match place {
            _ if place == two => BY_TWO,
            _ if place == one => BY_ONE,
            _ => PLACES + u64::from(place),
        };
        self.number(Column::Tokens, token);
        self.successors.learn(place);
    }

    #[inline]
    fn thread(&mut self, thread: u32) {
        if self.thread.0 != thread {
            self.end_thread();
            self.thread.0 = thread;
        }
        self.thread.1 += 1;
    }

    fn end_thread(&mut self) {
        let (thread, runs) = std::mem::take(&mut self.thread);
        if runs > 0 {
            self.number(Column::Threads, thread.into());
            self.number(Column::Threads, runs);
        }
    }

    #[inline]
    fn addresses(&mut self, place: u32, address: &[u64]) -> std::io::Result<()> {
        let block = &mut self.blocks[place as usize - 1];
        if address.len() != block.accesses {
            return Err(std::io::Error::other("a run with more or fewer accesses than its block"));
        }
        if address.is_empty() {
            return Ok(());
        }
        let at = u32::try_from(self.address.len());
        block.runs.push(at.map_err(|_| std::io::Error::other("a chunk of too many accesses"))?);
        match *address {
            // Most runs: a copy of any length costs more.
            [one] => self.address.push(one),
            [one, two] => self.address.extend([one, two]),
            [one, two, three] => self.address.extend([one, two, three]),
            _ => self.address.extend_from_slice(address),
        }
        Ok(())
    }

    fn values(&mut self, place: u32, value: &[Option<u64>]) {
        let column = &mut self.columns[Column::Values as usize];
        if column.is_empty() {
            column.resize(self.runs as usize, 0);
        }
        let block = &mut self.blocks[place as usize - 1];
        put(column, value.len() as u64);
        block.value.resize(value.len().max(block.value.len()), 0);
        for (last, value) in block.value.iter_mut().zip(value) {
            column.push(u8::from(value.is_some()));
            if let Some(value) = *value {
                put(column, zigzag(value.wrapping_sub(std::mem::replace(last, value))));
            }
        }
    }
}

/// Unpacks one chunk.
pub fn unpack(data: &[u8]) -> Result<Runs, ChunkError> {
    let bytes = frame::unpack(data)?;
    let mut head = Section(&bytes);
    match head.number()? {
        VERSION => {}
        other => return Err(ChunkError::Version(other)),
    }
    let (first, runs, blocks) = (head.number()?, head.count()?, head.count()?);
    let mut sizes = [0; COLUMNS];
    for size in &mut sizes {
        *size = head.count()?;
    }
    let mut rest = head.0;
    let mut columns = [&[][..]; COLUMNS];
    for (column, size) in columns.iter_mut().zip(sizes) {
        let (this, more) =
            rest.split_at_checked(size).ok_or(ChunkError::Damaged("a column is missing"))?;
        (*column, rest) = (this, more);
    }
    Unpacker::new(columns, first, blocks)?.runs(runs)
}

/// A block of a chunk that is being unpacked.
struct Block<'a> {
    id: u32,
    steps: usize,
    lists: Vec<(Place, Guess, Section<'a>)>,
    value: Vec<u64>,
}

struct Unpacker<'a> {
    columns: [Section<'a>; COLUMNS],
    blocks: Vec<Block<'a>>,
    successors: Successors,
    thread: (u32, u64),
    next: u64,
    time: u64,
    sp: u64,
    near: u64,
    has_values: bool,
    has_times: bool,
    has_ends: bool,
    out: Runs,
}

impl<'a> Unpacker<'a> {
    fn new(columns: [&'a [u8]; COLUMNS], first: u64, blocks: usize) -> Result<Self, ChunkError> {
        let mut unpacker = Unpacker {
            columns: columns.map(Section),
            blocks: Vec::new(),
            successors: Successors::new(),
            thread: (0, 0),
            next: first,
            time: 0,
            sp: 0,
            near: 0,
            has_values: !columns[Column::Values as usize].is_empty(),
            has_times: !columns[Column::Times as usize].is_empty(),
            has_ends: true,
            out: Runs::default(),
        };
        let mut id = 0;
        for _ in 0..blocks {
            let column = unpacker.column(Column::Blocks);
            id = unzigzag(column.number()?).wrapping_add(id);
            let (steps, accesses) = (column.count()?, column.count()?);
            let id = u32::try_from(id).map_err(|_| ChunkError::Damaged("an id is too large"))?;
            // Each list takes two bytes at least: no block has more than there are.
            let lists = (0..accesses).map(|_| unpacker.list()).collect::<Result<_, _>>()?;
            unpacker.blocks.push(Block { id, steps, lists, value: Vec::new() });
            unpacker.successors.add();
        }
        Ok(unpacker)
    }

    /// The list of the next access of a block.
    fn list(&mut self) -> Result<(Place, Guess, Section<'a>), ChunkError> {
        let column = self.column(Column::Lists);
        let (how, size) = (column.byte()?, column.count()?);
        let how = GUESSES.get(usize::from(how)).copied();
        let how = how.ok_or(ChunkError::Damaged("an unknown prediction"))?;
        let all = self.column(Column::Addresses);
        let (list, rest) =
            all.0.split_at_checked(size).ok_or(ChunkError::Damaged("a list is missing"))?;
        all.0 = rest;
        Ok((Place::default(), how, Section(list)))
    }

    fn runs(mut self, runs: usize) -> Result<Runs, ChunkError> {
        // A run is a token at least.
        if runs > self.columns[Column::Tokens as usize].0.len() {
            return Err(ChunkError::Damaged("more runs than tokens"));
        }
        // Each address takes a byte at least. What a damaged chunk claims is not believed.
        let lists = self.blocks.iter().flat_map(|block| &block.lists);
        let addresses = lists.map(|(_, _, list)| list.0.len()).sum::<usize>().min(BELIEVED);
        let out = &mut self.out;
        out.address.reserve(addresses);
        let likely = runs.min(BELIEVED);
        out.start.reserve(likely);
        out.thread.reserve(likely);
        out.block.reserve(likely);
        let columns = [
            (true, &mut out.address_at),
            (self.has_values, &mut out.value_at),
            (self.has_times, &mut out.time_at),
        ];
        for (_, at) in columns.into_iter().filter(|(is_there, _)| *is_there) {
            at.reserve(likely + 1);
            at.push(0);
        }
        let ends = self.columns[Column::Ends as usize].0;
        self.has_ends = ends.len() < runs || ends.iter().any(|end| *end != UNKNOWN << 1);
        for _ in 0..runs {
            self.run()?;
        }
        self.events(runs)?;
        Ok(self.out)
    }

    fn events(&mut self, runs: usize) -> Result<(), ChunkError> {
        let mut at = 0usize;
        while !self.column(Column::Events).0.is_empty() {
            at = at.saturating_add(self.column(Column::Events).count()?);
            if at > runs {
                return Err(ChunkError::Damaged("an event behind the last run"));
            }
            let event = run_events::event(self.column(Column::Events))?;
            self.out.events.push((at, event));
        }
        Ok(())
    }

    fn column(&mut self, column: Column) -> &mut Section<'a> {
        &mut self.columns[column as usize]
    }

    fn run(&mut self) -> Result<(), ChunkError> {
        let place = self.place()?;
        let steps = self.blocks[place].steps;
        self.out.start.push(self.next);
        let end = self.next.checked_add(steps as u64);
        self.next = end.ok_or(ChunkError::Damaged("a step's number"))?;
        self.out.block.push(self.blocks[place].id);
        let thread = self.thread()?;
        self.out.thread.push(thread);
        self.addresses(place)?;
        if self.has_values {
            self.values(place)?;
        }
        if self.has_times {
            self.times(steps)?;
        }
        if self.has_ends { self.end_of_run() } else { Ok(()) }
    }

    fn end_of_run(&mut self) -> Result<(), ChunkError> {
        let column = &mut self.columns[Column::Ends as usize];
        let said = column.byte()?;
        let sp = if said & 1 == 1 {
            self.sp = self.sp.wrapping_add(unzigzag(column.number()?));
            Some(self.sp)
        } else {
            None
        };
        let linked = match said >> 1 {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        self.out.ends.push((sp, linked));
        Ok(())
    }

    /// The next block, as a place in the list from 0.
    fn place(&mut self) -> Result<usize, ChunkError> {
        let (two, one) = self.successors.guess();
        let place = match self.column(Column::Tokens).number()? {
            BY_TWO => two,
            BY_ONE => one,
            token => u32::try_from(token - PLACES).unwrap_or(0),
        };
        if place == 0 || place as usize > self.blocks.len() {
            return Err(ChunkError::Damaged("a run of no block"));
        }
        self.successors.learn(place);
        Ok(place as usize - 1)
    }

    fn thread(&mut self) -> Result<u32, ChunkError> {
        if self.thread.1 == 0 {
            let column = self.column(Column::Threads);
            self.thread = (column.id()?, column.number()?);
        }
        self.thread.1 =
            self.thread.1.checked_sub(1).ok_or(ChunkError::Damaged("a thread without runs"))?;
        Ok(self.thread.0)
    }

    fn addresses(&mut self, place: usize) -> Result<(), ChunkError> {
        let mut together = 0;
        for (place, how, list) in &mut self.blocks[place].lists {
            let guess = place.guess(*how, together, self.near);
            let address = guess.wrapping_add(unzigzag(list.number()?));
            together = place.go_to(address);
            self.near = address;
            self.out.address.push(address);
        }
        self.out.address_at.push(self.out.address.len());
        Ok(())
    }

    fn values(&mut self, place: usize) -> Result<(), ChunkError> {
        let (block, column) = (&mut self.blocks[place], &mut self.columns[Column::Values as usize]);
        // Each value takes a byte at least.
        for i in 0..column.count()? {
            let known = column.byte()? != 0;
            if block.value.len() <= i {
                block.value.push(0);
            }
            if known {
                block.value[i] = block.value[i].wrapping_add(unzigzag(column.number()?));
            }
            self.out.value.push(known.then_some(block.value[i]));
        }
        self.out.value_at.push(self.out.value.len());
        Ok(())
    }

    fn times(&mut self, steps: usize) -> Result<(), ChunkError> {
        let column = &mut self.columns[Column::Times as usize];
        // What has no clock may follow what has one.
        let steps = if column.0.is_empty() { 0 } else { steps };
        for _ in 0..steps {
            let moved = unzigzag(column.number()?);
            self.time = self.time.wrapping_add(moved);
            self.out.time.push(self.time);
        }
        self.out.time_at.push(self.out.time.len());
        Ok(())
    }
}

impl Runs {
    /// Addresses of a run.
    pub fn addresses(&self, run: usize) -> &[u64] {
        &self.address[self.address_at[run]..self.address_at[run + 1]]
    }

    /// When the steps of a run were; empty where the trace has no clock.
    pub fn times(&self, run: usize) -> &[u64] {
        self.times_of(run..run + 1)
    }

    /// The same of runs that follow one another.
    pub fn times_of(&self, runs: Range<usize>) -> &[u64] {
        if self.time_at.is_empty() {
            &[]
        } else {
            &self.time[self.time_at[runs.start]..self.time_at[runs.end]]
        }
    }

    /// Values of a run; empty where the trace has none.
    pub fn values(&self, run: usize) -> &[Option<u64>] {
        if self.value_at.is_empty() {
            &[]
        } else {
            &self.value[self.value_at[run]..self.value_at[run + 1]]
        }
    }

    /// Whether the trace has values.
    pub fn has_values(&self) -> bool {
        !self.value.is_empty()
    }

    /// Stack pointers behind runs, and whether the link register holds the next address; empty where nothing
    /// is known of any run.
    pub fn ends(&self) -> &[(Option<u64>, Option<bool>)] {
        &self.ends
    }
}

#[cfg(test)]
#[path = "chunk_tests.rs"]
mod tests;
