//! Which functions use which objects: variables, buffers of the heap, the stack. By both: accesses,
//! distinct bytes, first and last use, and bytes that were written in vain.
//!
//! Accesses are those of the log, as for [`super::memory`], which sums them by variable alone.

use super::bytes::ByteMap;
use super::code::{BlockAccess, Code};
use super::error::ReplayError;
use super::outside::{Change, Outside, Outsides};
use super::places::Places;
use super::usage::Volume;
use super::window::{Piece, Way};
use crate::id::FunctionId;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What a function uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// By its place in [`Places::variables`].
    Variable(usize),
    /// A part of a variable that is a structure or an array of them; it counts for the variable, too.
    Field(usize, usize),
    /// Bytes of the heap that stand together: first and last.
    Buffer { first: u64, last: u64 },
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
pub type Objects = BTreeMap<(Object, Option<FunctionId>), Use>;

/// Bytes of the heap that are summed together, and that may lie between two of one buffer.
const GRANULE: u64 = 16;

/// What an access counts for: the place in a list of variables, of vias, or a piece of the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Slot {
    Variable(usize),
    Field(usize, usize),
    Via(usize),
    Heap(u64),
}

/// What is known of a byte: the function that wrote it, from 1, while nobody has read it.
type Unread = u32;

struct Tracker<'a> {
    places: &'a Places,
    vias: Vec<String>,
    uses: FxHashMap<(Slot, u32), Use>,
    unread: ByteMap<Unread, 4096>,
    /// By function: bytes that it touched.
    touched: FxHashMap<u32, ByteMap<bool, 4096>>,
    /// By byte of the access that is looked at: whether its function had not touched it.
    fresh: Vec<bool>,
    /// First and last byte of each piece of the heap.
    bounds: FxHashMap<u64, (u64, u64)>,
}

/// A function as a number: 0 for code of none.
fn number(function: Option<FunctionId>) -> u32 {
    function.map_or(0, FunctionId::get)
}

impl Tracker<'_> {
    fn slot(&mut self, address: u64) -> Slot {
        if let Some(variable) = self.places.variable(address) {
            return Slot::Variable(variable);
        }
        if self.places.is_heap(address) {
            return Slot::Heap(address / GRANULE);
        }
        let via = self.places.at(false, address).0;
        let known = self.vias.iter().position(|known| known == via);
        Slot::Via(known.unwrap_or_else(|| {
            self.vias.push(via.to_owned());
            self.vias.len() - 1
        }))
    }

    fn access(&mut self, access: &BlockAccess, address: u64, function: u32, seq: i64) {
        let bytes = u64::from(access.size);
        let slot = self.slot(address);
        if let Slot::Heap(piece) = slot {
            let last = address.saturating_add(bytes.max(1) - 1);
            let bounds = self.bounds.entry(piece).or_insert((address, last));
            *bounds = (bounds.0.min(address), bounds.1.max(last));
        }
        let of = self.uses.entry((slot, function)).or_default();
        of.volume.add(access.is_write, bytes);
        if of.first_seq == 0 {
            of.first_seq = seq;
        }
        of.last_seq = seq;
        let mut unique = 0;
        let touched = &mut self.touched.entry(function).or_default();
        self.fresh.clear();
        touched.visit(address, bytes, |seen| {
            unique += u64::from(!*seen);
            self.fresh.push(!*seen);
            *seen = true;
        });
        of.unique_bytes += unique;
        if let Slot::Variable(variable) = slot
            && self.places.variables()[variable].has_fields()
        {
            self.fields(access, (variable, address), function, seq);
        }
        let mut dead: Vec<(u64, Unread)> = Vec::new();
        let mut at = address;
        self.unread.visit(address, bytes, |writer| {
            match (access.is_write, access.is_control) {
                (true, _) => {
                    if *writer > 0 {
                        dead.push((at, *writer));
                    }
                    // Behind 0, which is nobody.
                    *writer = function.saturating_add(1);
                }
                // A return's read of where to go is no use.
                (false, true) => {}
                (false, false) => *writer = 0,
            }
            at = at.wrapping_add(1);
        });
        dead.into_iter().for_each(|(at, writer)| self.dead(at, writer));
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
        let slot = self.slot(address);
        if let Slot::Variable(variable) = slot
            && let Some(field) = self.places.variables()[variable].field(address).0
        {
            self.uses.entry((Slot::Field(variable, field), writer - 1)).or_default().dead_bytes +=
                1;
        }
        // The end of an access may lie in a piece that no access begins in.
        if let Slot::Heap(piece) = slot {
            self.bounds.entry(piece).or_insert((address, address));
        }
        self.uses.entry((slot, writer - 1)).or_default().dead_bytes += 1;
    }

    fn outside(&mut self, outside: &Outside) {
        let (mut dead, mut moved) = (Vec::new(), Vec::new());
        self.unread.change(outside.address, outside.last, |at, writer| {
            let was = std::mem::take(writer);
            match outside.change {
                _ if was == 0 => {}
                Change::Read(_) => {}
                Change::Write(_) | Change::New | Change::Gap => dead.push((at, was)),
                Change::Move { to } => {
                    moved.push((at.wrapping_sub(outside.address).wrapping_add(to), was));
                }
            }
        });
        moved.into_iter().for_each(|(at, writer)| self.unread.set(at, 1, writer));
        dead.into_iter().for_each(|(at, writer)| self.dead(at, writer));
    }

    fn piece(&mut self, code: &Code, piece: &Piece) {
        for step in piece.steps() {
            let function = number(code.instruction(piece.block.instructions[step]).function);
            for access in piece.block.accesses_of(step) {
                if let Some(address) = access.address(piece.address) {
                    self.access(access, address, function, piece.seq(step));
                }
            }
        }
    }

    fn finish(mut self) -> Objects {
        let mut left = Vec::new();
        self.unread.change(0, u64::MAX, |at, writer| {
            if *writer > 0 {
                left.push((at, *writer));
            }
        });
        left.into_iter().for_each(|(at, writer)| self.dead(at, writer));
        let mut pieces: Vec<(u64, (u64, u64))> = self.bounds.into_iter().collect();
        pieces.sort_unstable();
        let mut buffers: Vec<(u64, u64)> = Vec::new();
        let mut buffer_of: FxHashMap<u64, usize> = FxHashMap::default();
        for (piece, (first, last)) in pieces {
            match buffers.last_mut() {
                Some(buffer) if first <= buffer.1.saturating_add(GRANULE) => {
                    buffer.1 = buffer.1.max(last);
                }
                _ => buffers.push((first, last)),
            }
            buffer_of.insert(piece, buffers.len() - 1);
        }
        let mut objects = Objects::new();
        for ((slot, function), of) in self.uses {
            let object = match slot {
                Slot::Variable(variable) => Object::Variable(variable),
                Slot::Field(variable, field) => Object::Field(variable, field),
                Slot::Via(via) => Object::Via(self.vias[via].clone()),
                Slot::Heap(piece) => match buffer_of.get(&piece) {
                    Some(&at) => Object::Buffer { first: buffers[at].0, last: buffers[at].1 },
                    None => Object::Via("heap".to_owned()),
                },
            };
            let function = i32::try_from(function).ok().and_then(FunctionId::from_column);
            objects.entry((object, function)).or_default().add(&of);
        }
        let stack = |object: &Object| matches!(object, Object::Via(via) if via == "stack");
        for ((object, _), of) in &mut objects {
            of.dead_bytes = if stack(object) { 0 } else { of.dead_bytes };
        }
        objects
    }
}

/// Goes through the run once.
pub fn objects(
    code: &Code,
    connection: &Connection,
    places: &Places,
) -> Result<Objects, ReplayError> {
    let mut tracker = Tracker {
        places,
        vias: Vec::new(),
        uses: FxHashMap::default(),
        unread: ByteMap::default(),
        touched: FxHashMap::default(),
        fresh: Vec::new(),
        bounds: FxHashMap::default(),
    };
    let mut outsides = Outsides::new(connection, Way::Forwards);
    code.forwards(connection, (code.first, code.last), |piece| {
        tracker.piece(code, piece);
        outsides.cover(piece)?;
        let behind = outsides.behind(piece, piece.end_step - 1);
        behind.iter().for_each(|outside| tracker.outside(outside));
        Ok(true)
    })?;
    Ok(tracker.finish())
}
