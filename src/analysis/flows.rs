//! What live call instances have read, by writer: handed out when they end.

use super::memory::Memory;
use super::origin::{Origin, Packed, Source};
use super::place::PlaceCode;
use super::sums::Sums;
use super::{Flow, Output};
use crate::id::{CallId, FunctionId};
use rustc_hash::FxHashMap;

/// Entries of a live instance's flows above which they are handed out early.
const MOST: usize = 1 << 16;

/// The flow that a reading operation met last, and so most likely meets next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowHint(u32);

/// What one writer's bytes are to one live instance.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Call instance or source.
    writer: Packed,
    /// Function of the writer, or its source.
    pub function: Packed,
    pub place: PlaceCode,
    pub bytes: u64,
    pub unique: u64,
    pub transfers: u64,
}

impl Entry {
    /// Counts a read, or several.
    #[inline]
    pub fn add(&mut self, bytes: u64, unique: u64, transfers: u64) {
        self.bytes += bytes;
        self.unique += unique;
        self.transfers += transfers;
    }

    /// The writing instance and its function, if a step wrote.
    #[inline]
    pub fn step(&self) -> Option<(CallId, FunctionId)> {
        Some((self.writer.writer()?, self.function.writer()?))
    }
}

/// Flows into one live instance: few, so a list; a map from its sixteenth entry on.
#[derive(Default)]
pub struct Flows {
    list: Vec<Entry>,
    /// Few instances have one: it is a pointer in the others.
    map: Option<Box<FxHashMap<(Packed, PlaceCode), u32>>>,
    /// Some were handed out before the instance's end.
    parted: bool,
    /// Registers that the instance hands to itself.
    own: FlowHint,
    /// What was searched last: after a writer's turn most operations meet the next one.
    last: FlowHint,
}

impl Flows {
    const LINEAR: usize = 16;

    /// Sets `hint` to the flow from `writer`, which it mostly is already. `function`: of the
    /// writer.
    #[inline]
    pub fn entry(
        &mut self,
        hint: &mut FlowHint,
        writer: Packed,
        place: PlaceCode,
        function: impl FnOnce() -> Packed,
    ) -> &mut Entry {
        let is = |hint: FlowHint| {
            self.list.get(hint.0 as usize).is_some_and(|e| e.writer == writer && e.place == place)
        };
        if !is(*hint) {
            if !is(self.last) {
                self.last = FlowHint(self.look_up(writer, place, function) as u32);
            }
            *hint = self.last;
        }
        &mut self.list[hint.0 as usize]
    }

    /// What the instance hands to itself in registers.
    #[inline]
    pub fn own(&mut self, (call, function): (CallId, FunctionId)) -> &mut Entry {
        let (mut hint, function) = (self.own, || Packed::step(function));
        self.entry(&mut hint, Packed::step(call), PlaceCode::REGISTER, function);
        self.own = hint;
        &mut self.list[hint.0 as usize]
    }

    #[inline(never)]
    fn look_up(
        &mut self,
        writer: Packed,
        place: PlaceCode,
        function: impl FnOnce() -> Packed,
    ) -> usize {
        let found = if self.list.len() <= Flows::LINEAR {
            self.list.iter().position(|e| e.writer == writer && e.place == place)
        } else {
            let known = self.map.as_ref().and_then(|map| map.get(&(writer, place)));
            known.map(|&i| i as usize)
        };
        debug_assert!(
            {
                let mapped = self.map.as_ref().map_or(0, |map| map.len());
                mapped == if self.list.len() > Flows::LINEAR { self.list.len() } else { 0 }
            },
            "all are in the map, or none"
        );
        found.unwrap_or_else(|| {
            let function = function();
            if self.list.capacity() == 0 {
                // Of many live instances most have no more.
                self.list.reserve_exact(2);
            }
            self.list.push(Entry { writer, function, place, bytes: 0, unique: 0, transfers: 0 });
            let new = self.list.len() - 1;
            if new == Flows::LINEAR {
                let all = self.list.iter().enumerate();
                let map = self.map.get_or_insert_default();
                map.extend(all.map(|(i, e)| ((e.writer, e.place), i as u32)));
            } else if let Some(map) = &mut self.map
                && new > Flows::LINEAR
            {
                map.insert((writer, place), new as u32);
            }
            new
        })
    }

    /// So many that they are to be handed out before the instance ends.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.list.len() > MOST
    }

    /// One more may be so many.
    #[inline]
    pub fn is_nearly_full(&self) -> bool {
        self.list.len() >= MOST
    }

    pub fn entries(&self) -> &[Entry] {
        &self.list
    }

    /// Bytes that others wrote.
    fn bytes_in(&self, reader: CallId) -> u64 {
        let own = Packed::step(reader);
        self.list.iter().filter(|e| e.writer != own).map(|e| e.bytes).sum()
    }

    fn clear(&mut self) {
        self.list.clear();
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }
}

/// What a number of [`Flow::place`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowPlace {
    /// A section that stands for all of its `via`, or for all of its name if no step wrote; a
    /// region as it was known then.
    pub place: PlaceCode,
    /// No step wrote.
    pub source: Option<Source>,
}

/// A place that stands for all that surely have the same `via`, as far as is known, and the same
/// pseudo-function if no step wrote.
pub fn canonical(memory: &mut Memory, place: PlaceCode, writer: Packed) -> PlaceCode {
    // Of sections, those that steps wrote differ by `via` only.
    if place.is_region() || writer.is_step() { memory.canonical(place) } else { place }
}

/// The writer of a flow, from its call instance and function or from its source.
pub fn writer(call: Packed, function: Packed) -> Origin<(CallId, FunctionId)> {
    match (call.origin(), function.origin()) {
        (Origin::Step(call), Origin::Step(function)) => Origin::Step((call, function)),
        (Origin::Source(source), _) | (_, Origin::Source(source)) => Origin::Source(source),
    }
}

/// Hands out the flows into instances.
#[derive(Default)]
pub struct HandOut {
    /// Scratch.
    list: Vec<Entry>,
    numbers: FxHashMap<FlowPlace, u32>,
    pub places: Vec<FlowPlace>,
    last: Option<(FlowPlace, u32)>,
}

impl HandOut {
    /// The number of a place.
    pub fn number(&mut self, place: FlowPlace) -> u32 {
        if let Some((last, number)) = self.last
            && last == place
        {
            return number;
        }
        let places = &mut self.places;
        let number = *self.numbers.entry(place).or_insert_with(|| {
            places.push(place);
            places.len() as u32 - 1
        });
        self.last = Some((place, number));
        number
    }

    /// The instance `reader` has ended: adds its flows to the sums of function pairs and gives them
    /// out as rows. Gives the bytes among them that others wrote.
    pub fn end(
        &mut self,
        flows: &mut Flows,
        reader: (CallId, FunctionId),
        sums: &mut Sums,
        memory: &mut Memory,
        output: &mut impl Output,
    ) -> u64 {
        if flows.list.is_empty() {
            flows.parted = false;
            return 0;
        }
        let bytes_in = flows.bytes_in(reader.0);
        for e in &flows.list {
            let sums = sums.functions(e.function, Packed::step(reader.1), e.place);
            sums.bytes += e.bytes;
            sums.unique += e.unique;
            sums.transfers += e.transfers;
        }
        self.give(flows, reader, memory, output);
        flows.clear();
        flows.parted = false;
        bytes_in
    }

    /// Too many flows for a live instance: hands them out as parts.
    #[cold]
    pub fn part(
        &mut self,
        flows: &mut Flows,
        reader: (CallId, FunctionId),
        sums: &mut Sums,
        memory: &mut Memory,
        output: &mut impl Output,
    ) -> u64 {
        flows.parted = true;
        let bytes_in = self.end(flows, reader, sums, memory, output);
        flows.parted = true;
        bytes_in
    }

    /// Rows by writing instance and place, those together that surely are of the same `via`. Of two
    /// regions that is not known before the end.
    fn give(
        &mut self,
        flows: &Flows,
        reader: (CallId, FunctionId),
        memory: &mut Memory,
        output: &mut impl Output,
    ) {
        let mut list = std::mem::take(&mut self.list);
        list.clear();
        list.extend(
            flows.list.iter().map(|e| Entry { place: canonical(memory, e.place, e.writer), ..*e }),
        );
        list.sort_unstable_by_key(|e| (e.writer, e.place));
        list.dedup_by(|next, e| {
            let same = next.writer == e.writer && next.place == e.place;
            if same {
                e.bytes += next.bytes;
                e.unique += next.unique;
                e.transfers += next.transfers;
            }
            same
        });
        let together = |a: &Entry, b: &Entry| {
            a.writer == b.writer || a.writer.is_initial() && b.writer.is_initial()
        };
        for group in list.chunk_by(together) {
            let several = group.iter().filter(|e| e.place.is_region()).count() > 1;
            for e in group {
                output.flow(Flow {
                    writer: writer(e.writer, e.function),
                    reader: Some(reader.0),
                    reader_function: Origin::Step(reader.1),
                    place: self.number(FlowPlace { place: e.place, source: e.writer.source() }),
                    part: flows.parted || (several && e.place.is_region()),
                    bytes: e.bytes,
                    unique: e.unique,
                    transfers: e.transfers,
                });
            }
        }
        self.list = list;
    }
}
