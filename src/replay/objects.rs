//! Which functions use which objects: variables, buffers of the heap, the stack. By both: accesses,
//! distinct bytes, first and last use, and bytes that were written in vain.
//!
//! Accesses are those of the log, as for [`super::memory`], which sums them by variable alone.

use super::allocations::{
    Allocations, Allocator, Finder, Holder, Lifetime, Site, are_known, may_be_known,
};
use super::bytes::ByteMap;
use super::code::{BlockAccess, Code};
use super::error::ReplayError;
use super::outside::{Change, Outside, Outsides};
use super::places::{At, ByPage, Places, When};
use super::usage::Volume;
use super::window::{Piece, Way};
use crate::id::{FunctionId, InstructionId, ProcessId};
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What a function uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// By its place in [`Places::variables`].
    Variable(usize),
    /// A part of a variable that is a structure or an array of them; it counts for the variable, too.
    Field(usize, usize),
    /// Bytes of the heap that stand together, first and last, where allocations are not known.
    Buffer { first: u64, last: u64 },
    /// All heap allocations of a place that asks for them.
    Allocations(Site),
    /// The heap, by what runs within calls of allocation functions.
    Allocator,
    /// The heap beside live allocations.
    Unallocated,
    /// All other memory of a via.
    Via(String),
}

/// What a function does with an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    pub volume: Volume,
    /// Distinct bytes that it reads or writes.
    pub unique_bytes: u64,
    /// Bytes that it wrote, and that were overwritten or left without being read; of the stack 0:
    /// they would be return addresses and saves.
    pub dead_bytes: u64,
    pub first_seq: i64,
    pub last_seq: i64,
}

impl Use {
    fn add(&mut self, other: &Use) {
        let (a, b) = (&mut self.volume, &other.volume);
        a.reads += b.reads;
        a.read_bytes += b.read_bytes;
        a.writes += b.writes;
        a.written_bytes += b.written_bytes;
        self.unique_bytes += other.unique_bytes;
        self.dead_bytes += other.dead_bytes;
        let first = if self.first_seq == 0 { other.first_seq } else { self.first_seq };
        self.first_seq = if other.first_seq == 0 { first } else { first.min(other.first_seq) };
        self.last_seq = self.last_seq.max(other.last_seq);
    }
}

/// Objects by the functions that use them; None: code of no function.
pub type Uses = BTreeMap<(Object, Option<FunctionId>), Use>;

/// What is found in a run.
pub struct Objects {
    pub uses: Uses,
    /// None: the trace tells neither of allocations nor of register values.
    pub allocations: Option<Allocations>,
}

/// Bytes of the heap that are summed together, and that may lie between two of one buffer.
const GRANULE: u64 = 16;

/// What an access counts for: the place in a list of variables, of vias, or a piece of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Slot {
    Variable(usize),
    Field(usize, usize),
    Via(usize),
    /// A piece of the heap of a process.
    Heap(ProcessId, u64),
    /// By its place in a list.
    Site(usize),
    Allocator,
    Unallocated,
}

/// What is known of a byte: the function that wrote it, from 1, while nobody has read it.
type Unread = u32;

struct Tracker<'a> {
    places: &'a Places,
    /// The process and the step that are looked at. Of the bytes below, each process has its own.
    now: When,
    vias: Vec<String>,
    by_page: ByPage<Option<Slot>>,
    uses: FxHashMap<(Slot, u32), Use>,
    unread: ByteMap<Unread, 4096>,
    /// By function: bytes that it touched.
    touched: FxHashMap<u32, ByteMap<bool, 4096>>,
    /// By byte of the access that is looked at: whether its function had not touched it.
    fresh: Vec<bool>,
    /// First and last byte of each piece of the heap.
    bounds: FxHashMap<(ProcessId, u64), (u64, u64)>,
    /// Where allocations are known.
    heap: Option<Finder<'a>>,
    sites: Vec<Site>,
    site_places: FxHashMap<Site, usize>,
    /// By function: the allocation for which it touched a byte last, by its number.
    touched_of: FxHashMap<u32, ByteMap<u32, 4096>>,
    /// What a reallocation takes along unread, by offset.
    along: Vec<(u64, Unread)>,
    /// Whose uses are wanted; None: those of all.
    only: Option<BTreeSet<u32>>,
}

/// A function as a number: 0 for code of none.
fn number(function: Option<FunctionId>) -> u32 {
    function.map_or(0, FunctionId::get)
}

/// What holds an address; None: the heap.
fn place_of(at: At, vias: &mut Vec<String>) -> Option<Slot> {
    if let Some(variable) = at.variable {
        return Some(Slot::Variable(variable));
    }
    if at.is_heap() {
        return None;
    }
    let known = vias.iter().position(|known| known == at.via);
    Some(Slot::Via(known.unwrap_or_else(|| {
        vias.push(at.via.to_owned());
        vias.len() - 1
    })))
}

impl Tracker<'_> {
    fn slot(&mut self, address: u64) -> Slot {
        let Tracker { places, now, vias, by_page, .. } = self;
        let found = by_page.find(places, *now, address, |at| place_of(at, vias));
        found.unwrap_or(Slot::Heap(now.process, address / GRANULE))
    }

    /// What follows is of this process: the steps of the one before are done.
    fn go_to(&mut self, process: ProcessId) {
        if process != self.now.process {
            self.left();
            self.touched.clear();
            self.touched_of.clear();
            self.now.process = process;
        }
    }

    /// What is left unread is dead.
    fn left(&mut self) {
        let unread = std::mem::take(&mut self.unread);
        for (first, writers) in unread.pages() {
            for (at, &writer) in (first..).zip(writers).filter(|(_, writer)| **writer > 0) {
                self.dead_at(self.now.process, at, writer);
            }
        }
    }

    /// A byte of an allocation or of other memory that nobody has read.
    fn dead_at(&mut self, process: ProcessId, at: u64, writer: Unread) {
        let heap = self.heap.as_mut();
        match heap.and_then(|heap| heap.site_at(process, at)) {
            Some(site) => {
                let slot = Slot::Site(self.site(site));
                self.dead_of(slot, writer);
            }
            None => self.dead(at, writer),
        }
    }

    fn site(&mut self, site: Site) -> usize {
        *self.site_places.entry(site).or_insert_with(|| {
            self.sites.push(site);
            self.sites.len() - 1
        })
    }

    /// What an access is to; of an allocation with its number.
    fn holder(&mut self, piece: &Piece, step: usize, access: &BlockAccess) -> Option<(Slot, u32)> {
        let address = access.address(piece.address)?;
        let heap = self.heap.as_mut();
        let holder = heap.map(|heap| heap.access(piece.thread, piece.seq(step), access, address));
        Some(match holder {
            Some(Holder::Allocation(site, number)) => {
                (Slot::Site(self.site(site)), u32::try_from(number).unwrap_or(u32::MAX))
            }
            Some(Holder::Allocator) => (Slot::Allocator, 0),
            Some(Holder::Unallocated) => (Slot::Unallocated, 0),
            Some(Holder::Other) | None => (self.slot(address), 0),
        })
    }

    /// Which bytes of an access its function had not touched: into `fresh`. Gives how many.
    fn touch(
        &mut self,
        (slot, number): (Slot, u32),
        address: u64,
        bytes: u64,
        function: u32,
    ) -> u64 {
        let mut unique = 0;
        self.fresh.clear();
        if let Slot::Site(_) = slot {
            let touched = self.touched_of.entry(function).or_default();
            touched.visit(address, bytes, |seen| {
                unique += u64::from(*seen != number);
                *seen = number;
            });
            return unique;
        }
        let touched = &mut self.touched.entry(function).or_default();
        touched.visit(address, bytes, |seen| {
            unique += u64::from(!*seen);
            self.fresh.push(!*seen);
            *seen = true;
        });
        unique
    }

    fn access(
        &mut self,
        access: &BlockAccess,
        (address, function, seq): (u64, u32, i64),
        (slot, number): (Slot, u32),
    ) {
        let bytes = u64::from(access.size);
        self.widen(slot, address, bytes);
        let unique_bytes = self.touch((slot, number), address, bytes, function);
        let of = self.uses.entry((slot, function)).or_default();
        of.volume.add(access.is_write, bytes);
        if of.first_seq == 0 {
            of.first_seq = seq;
        }
        of.last_seq = seq;
        of.unique_bytes += unique_bytes;
        if let Slot::Variable(variable) = slot
            && self.places.variables()[variable].has_fields()
        {
            self.fields(access, (variable, address), function, seq);
        }
        // The allocator's own work uses nothing.
        if slot != Slot::Allocator {
            self.use_bytes(access, address, Some(function), slot);
        }
    }

    /// The piece of a heap whose allocations are not known is as long as what is accessed there.
    fn widen(&mut self, slot: Slot, address: u64, bytes: u64) {
        if let Slot::Heap(process, piece) = slot {
            let last = address.saturating_add(bytes.max(1) - 1);
            let bounds = self.bounds.entry((process, piece)).or_insert((address, last));
            *bounds = (bounds.0.min(address), bounds.1.max(last));
        }
    }

    /// An access by a function whose uses are not wanted: of those that are, what they wrote is used, or dead.
    fn access_beside(&mut self, access: &BlockAccess, address: u64, slot: Slot) {
        self.widen(slot, address, access.size.into());
        let mut meets = false;
        self.unread.touched_parts(address, access.size.into(), |_, part| {
            meets |= part.iter().any(|writer| *writer > 0);
        });
        if meets && slot != Slot::Allocator {
            self.use_bytes(access, address, None, slot);
        }
    }

    /// What a byte's writer wrote is used, or dead. `function`: None where what it writes is not wanted.
    fn use_bytes(&mut self, access: &BlockAccess, address: u64, function: Option<u32>, slot: Slot) {
        let bytes = u64::from(access.size);
        let mut dead: Vec<(u64, Unread)> = Vec::new();
        let mut at = address;
        self.unread.visit(address, bytes, |writer| {
            match (access.is_write, access.is_control) {
                (true, _) => {
                    if *writer > 0 {
                        dead.push((at, *writer));
                    }
                    // Behind 0, which is nobody.
                    *writer = function.map_or(0, |function| function.saturating_add(1));
                }
                // A return's read of where to go is no use.
                (false, true) => {}
                (false, false) => *writer = 0,
            }
            at = at.wrapping_add(1);
        });
        for (at, writer) in dead {
            match slot {
                Slot::Site(_) | Slot::Unallocated => self.dead_of(slot, writer),
                _ => self.dead(at, writer),
            }
        }
    }

    /// The same by field: an access may touch several.
    fn fields(
        &mut self,
        access: &BlockAccess,
        (variable, address): (usize, u64),
        function: u32,
        seq: i64,
    ) {
        let places = self.places;
        let of = &places.variables()[variable];
        let end = (of.address + of.size).min(address.saturating_add(access.size.into()));
        let mut at = address;
        while at < end {
            let (field, left) = of.field(at);
            let bytes = left.min(end - at);
            if let Some(field) = field {
                let new = self.fresh.iter().skip((at - address) as usize).take(bytes as usize);
                let unique_bytes = new.filter(|fresh| **fresh).count() as u64;
                let mut volume = Volume::default();
                volume.add(access.is_write, bytes);
                let use_of = self.uses.entry((Slot::Field(variable, field), function)).or_default();
                use_of.add(&Use {
                    volume,
                    unique_bytes,
                    dead_bytes: 0,
                    first_seq: seq,
                    last_seq: seq,
                });
            }
            at += bytes;
        }
    }

    fn dead(&mut self, address: u64, writer: Unread) {
        let slot = match self.heap {
            Some(_) if self.places.at(self.now, address).is_heap() => Slot::Unallocated,
            _ => self.slot(address),
        };
        if let Slot::Variable(variable) = slot
            && let Some(field) = self.places.variables()[variable].field(address).0
        {
            self.uses.entry((Slot::Field(variable, field), writer - 1)).or_default().dead_bytes +=
                1;
        }
        // The end of an access may lie in a piece that no access begins in.
        if let Slot::Heap(process, piece) = slot {
            self.bounds.entry((process, piece)).or_insert((address, address));
        }
        self.dead_of(slot, writer);
    }

    fn dead_of(&mut self, slot: Slot, writer: Unread) {
        self.uses.entry((slot, writer - 1)).or_default().dead_bytes += 1;
    }

    /// What is unread of an allocation dies with it, but for what a reallocation takes along.
    fn lifetime(&mut self, lifetime: Lifetime) {
        match lifetime {
            Lifetime::Ends { bytes: 0, .. } => {}
            Lifetime::Ends { address, bytes, site, along } => {
                let (mut dead, mut kept) = (0, Vec::new());
                let mut by_writer: FxHashMap<Unread, u64> = FxHashMap::default();
                self.unread.change(address, address.saturating_add(bytes - 1), |at, writer| {
                    let was = std::mem::take(writer);
                    if was > 0 && at - address < along {
                        kept.push((at - address, was));
                    } else if was > 0 {
                        dead += 1;
                        *by_writer.entry(was).or_default() += 1;
                    }
                });
                if along > 0 {
                    self.along = kept;
                }
                if dead > 0 {
                    let slot = Slot::Site(self.site(site));
                    for (writer, bytes) in by_writer {
                        self.uses.entry((slot, writer - 1)).or_default().dead_bytes += bytes;
                    }
                }
            }
            Lifetime::Begins { address, bytes, moved } => {
                let along = std::mem::take(&mut self.along);
                for (offset, writer) in along.into_iter().filter(|a| moved && a.0 < bytes) {
                    self.unread.set(address.wrapping_add(offset), 1, writer);
                }
            }
        }
    }

    fn lifetimes(&mut self) {
        let Some(heap) = &mut self.heap else { return };
        let list = std::mem::take(&mut heap.lifetimes);
        // What was unread of a process that is done is dead already.
        let now = self.now.process;
        let of_now = list.into_iter().filter(|(process, _)| *process == now);
        of_now.for_each(|(_, lifetime)| self.lifetime(lifetime));
    }

    fn outside(&mut self, outside: &Outside) {
        let outside = &outside.overwriting();
        let (mut dead, mut moved) = (Vec::new(), Vec::new());
        self.unread.change(outside.address, outside.last, |at, writer| {
            let was = std::mem::take(writer);
            match outside.change {
                _ if was == 0 => {}
                Change::Read(_) => {}
                Change::Write(_) | Change::New | Change::Gap | Change::Copy { .. } => {
                    dead.push((at, was));
                }
                Change::Move { to } => {
                    moved.push((at.wrapping_sub(outside.address).wrapping_add(to), was));
                }
            }
        });
        moved.into_iter().for_each(|(at, writer)| self.unread.set(at, 1, writer));
        dead.into_iter().for_each(|(at, writer)| self.dead_at(outside.process, at, writer));
    }

    fn piece(&mut self, code: &Code, piece: &Piece) -> Result<(), ReplayError> {
        self.go_to(code.process(piece.thread));
        if let Some(heap) = &mut self.heap {
            heap.before(piece)?;
            self.lifetimes();
        }
        for step in piece.steps() {
            let function = number(code.instruction(piece.block.instructions[step]).function);
            let is_wanted = self.only.as_ref().is_none_or(|only| only.contains(&function));
            self.now.seq = piece.seq(step);
            for access in piece.block.accesses_of(step) {
                let Some(held) = self.holder(piece, step, access) else { continue };
                let Some(address) = access.address(piece.address) else { continue };
                if is_wanted {
                    self.access(access, (address, function, piece.seq(step)), held);
                } else {
                    self.access_beside(access, address, held.0);
                }
            }
        }
        if let Some(heap) = &mut self.heap {
            heap.behind(piece);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Objects, ReplayError> {
        if let Some(heap) = &mut self.heap {
            heap.finish_all()?;
            self.lifetimes();
        }
        self.left();
        let mut pieces: Vec<_> = self.bounds.into_iter().collect();
        pieces.sort_unstable();
        let mut buffers: Vec<(u64, u64)> = Vec::new();
        let mut buffer_of: FxHashMap<(ProcessId, u64), usize> = FxHashMap::default();
        let mut before = None;
        for (piece, (first, last)) in pieces {
            let goes_on = before.replace(piece.0) == Some(piece.0);
            match buffers.last_mut().filter(|_| goes_on) {
                Some(buffer) if first <= buffer.1.saturating_add(GRANULE) => {
                    buffer.1 = buffer.1.max(last);
                }
                _ => buffers.push((first, last)),
            }
            buffer_of.insert(piece, buffers.len() - 1);
        }
        let mut objects = Uses::new();
        for ((slot, function), of) in self.uses {
            let object = match slot {
                Slot::Variable(variable) => Object::Variable(variable),
                Slot::Field(variable, field) => Object::Field(variable, field),
                Slot::Via(via) => Object::Via(self.vias[via].clone()),
                Slot::Heap(process, piece) => match buffer_of.get(&(process, piece)) {
                    Some(&at) => Object::Buffer { first: buffers[at].0, last: buffers[at].1 },
                    None => Object::Via("heap".to_owned()),
                },
                Slot::Site(at) => Object::Allocations(self.sites[at]),
                Slot::Allocator => Object::Allocator,
                Slot::Unallocated => Object::Unallocated,
            };
            let function = i32::try_from(function).ok().and_then(FunctionId::from_column);
            objects.entry((object, function)).or_default().add(&of);
        }
        let stack = |object: &Object| matches!(object, Object::Via(via) if via == "stack");
        for ((object, _), of) in &mut objects {
            of.dead_bytes = if stack(object) { 0 } else { of.dead_bytes };
        }
        Ok(Objects { uses: objects, allocations: self.heap.map(|heap| heap.found) })
    }
}

/// The run as [`objects`] goes through it: with its calls where allocations may be known. `more`: there are
/// functions that do what allocation functions do.
///
/// # Errors
/// As [`Code::open`].
pub fn open(connection: &Connection, more: bool) -> Result<Code, ReplayError> {
    if more || may_be_known(connection)? {
        Code::open(connection)
    } else {
        Code::open_events(connection)
    }
}

/// Goes through the run once. `sites`: by instruction the one that stands for what asks for
/// allocations there. `more`: functions that do what allocation functions do. `only`: whose uses are
/// wanted; empty: those of all.
///
/// # Errors
/// There are `more`, and the trace tells neither of allocations nor of register values.
pub fn objects(
    code: Code,
    connection: &Connection,
    places: &Places,
    (more, only): (&[(FunctionId, &'static Allocator)], &BTreeSet<FunctionId>),
    sites: &[InstructionId],
) -> Result<Objects, ReplayError> {
    let known = !more.is_empty() || are_known(connection)?;
    let code = if known { code.with_values() } else { code };
    let heap = known.then(|| Finder::new(&code, connection, places, more, sites)).transpose()?;
    let mut tracker = Tracker {
        places,
        now: When { process: ProcessId::FIRST, seq: code.first },
        vias: Vec::new(),
        by_page: ByPage::default(),
        uses: FxHashMap::default(),
        unread: ByteMap::default(),
        touched: FxHashMap::default(),
        fresh: Vec::new(),
        bounds: FxHashMap::default(),
        heap,
        sites: Vec::new(),
        site_places: FxHashMap::default(),
        touched_of: FxHashMap::default(),
        along: Vec::new(),
        only: (!only.is_empty()).then(|| only.iter().map(|id| number(Some(*id))).collect()),
    };
    let mut outsides = Outsides::new(&code, connection, Way::Forwards);
    code.forwards(connection, (code.first, code.last), |piece| {
        tracker.piece(&code, piece)?;
        outsides.cover(piece)?;
        let behind = outsides.behind(piece, piece.end_step - 1);
        behind.iter().for_each(|outside| {
            tracker.go_to(outside.process);
            tracker.outside(outside);
        });
        Ok(true)
    })?;
    tracker.finish()
}
