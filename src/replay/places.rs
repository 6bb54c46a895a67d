//! What an address is: via, variable, and the name of the pseudo-function where no step wrote it. That depends on the
//! process, and on what it had mapped there at the time.

use super::cell::{Cell, Space};
use super::error::ReplayError;
use super::mapped::{ImagePlace, Layer, Mapped};
use super::usage::PAGE;
use crate::id::ProcessId;
use crate::query::each;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// When an address is looked at, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    pub process: ProcessId,
    /// The step that accesses it.
    pub seq: i64,
}

/// Memory of an image from an address on, up to where the next piece begins.
#[derive(Clone, Copy)]
struct Piece {
    start: u64,
    /// None: in no section.
    section: Option<(&'static str, usize)>,
    variable: Option<usize>,
}

/// What an address is.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    pub via: &'a str,
    /// Number of the pseudo-function that bytes come from which no step wrote.
    pub unwritten: usize,
    /// The smallest variable that covers it, as an index.
    pub variable: Option<usize>,
}

impl At<'_> {
    /// Whether it is memory without a name that programs manage themselves: the heap, or all such memory
    /// on bare metal.
    pub fn is_heap(&self) -> bool {
        self.variable.is_none() && matches!(self.via, "heap" | "other")
    }
}

/// A global variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// `variable.variable_id`.
    pub id: i32,
    pub name: String,
    pub address: u64,
    pub size: u64,
    /// Its image, by its index.
    image: Option<usize>,
    /// Of a structure or an array of them.
    parts: Parts,
}

impl Variable {
    /// It is of the same image.
    pub fn is_with(&self, other: &Variable) -> bool {
        self.image == other.image
    }
}

/// Parts of a structure, by their beginnings.
#[derive(Clone, Debug, Default)]
struct Parts {
    /// Beginning, bytes, and the number of the name.
    list: Vec<(u64, u64, usize)>,
    names: Vec<String>,
    /// Of an array: bytes of an element.
    stride: Option<u64>,
}

impl Variable {
    pub fn has_fields(&self) -> bool {
        !self.parts.list.is_empty()
    }

    pub fn field_name(&self, field: usize) -> &str {
        self.parts.names.get(field).map_or("?", String::as_str)
    }

    /// The field of a byte, if it is of one, and how many bytes from there on are of the same one or of
    /// none.
    pub fn field(&self, address: u64) -> (Option<usize>, u64) {
        let within = address.saturating_sub(self.address);
        let at = self.parts.stride.filter(|&n| n > 0).map_or(within, |stride| within % stride);
        let list = &self.parts.list;
        let behind = list.partition_point(|(start, ..)| *start <= at);
        if let Some(&(start, size, field)) = behind.checked_sub(1).and_then(|i| list.get(i))
            && at - start < size
        {
            return (Some(field), size - (at - start));
        }
        let next = list.get(behind).map(|(start, ..)| *start).or(self.parts.stride);
        (None, next.map_or(u64::MAX, |next| next.saturating_sub(at).max(1)))
    }
}

/// What memory is, of each process at each time.
pub struct Places {
    mapped: Mapped,
    /// By image, in order of addresses.
    images: Vec<Vec<Piece>>,
    /// Variables of no image.
    loose: Vec<Piece>,
    /// Touched memory outside of sections, in order: first and last address, and what it is.
    regions: Vec<(u64, u64, String)>,
    /// By process: what the stack had when it began is from here on. Older databases have the first one's.
    stack_starts: Vec<Option<u64>>,
    /// The name of what bytes outside of sections and of the stack come from.
    unwritten: usize,
    names: Vec<String>,
    variables: Vec<Variable>,
}

/// Numbers of names with a meaning.
const REGISTERS: usize = 0;
const INPUT: usize = 1;
const STACK_START: usize = 2;
const UNINITIALISED: usize = 3;

/// Names by number.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    numbers: FxHashMap<String, usize>,
}

impl Names {
    fn number(&mut self, name: String) -> usize {
        let next = self.list.len();
        let number = *self.numbers.entry(name.clone()).or_insert(next);
        if number == next {
            self.list.push(name);
        }
        number
    }
}

/// The file of a path.
fn file(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Memory cut where sections and variables begin and end. Of those that overlap the smallest has the bytes.
#[derive(Default)]
struct Pieces {
    /// By address: what begins or ends there.
    edges: BTreeMap<u128, Vec<(bool, Part)>>,
}

/// A section or a variable, by its size and its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Section(u64, (&'static str, usize)),
    Variable(u64, usize),
}

impl Pieces {
    fn add(&mut self, address: u64, size: u64, part: Part) {
        if size > 0 {
            let first = u128::from(address);
            self.edges.entry(first).or_default().push((true, part));
            self.edges.entry(first + u128::from(size)).or_default().push((false, part));
        }
    }

    fn cut(self) -> Vec<Piece> {
        let (mut sections, mut variables) = (BTreeSet::new(), BTreeSet::new());
        let mut pieces = Vec::new();
        for (start, parts) in self.edges {
            for (begins, part) in parts {
                match part {
                    Part::Section(size, of) if begins => drop(sections.insert((size, of))),
                    Part::Section(size, of) => drop(sections.remove(&(size, of))),
                    Part::Variable(size, of) if begins => drop(variables.insert((size, of))),
                    Part::Variable(size, of) => drop(variables.remove(&(size, of))),
                }
            }
            let Ok(start) = u64::try_from(start) else { break };
            let section = sections.first().map(|(_, section)| *section);
            let variable = variables.first().map(|(_, variable)| *variable);
            pieces.push(Piece { start, section, variable });
        }
        pieces
    }
}

/// Reads the map of memory.
pub fn places(connection: &Connection) -> Result<Places, ReplayError> {
    let mut names = Names::default();
    for name in ["<initial registers>", "<input>", "<stack start>", "<uninitialised>"] {
        names.number(name.into());
    }
    let sql = "SELECT coalesce(max(value) FILTER (key = 'unwritten'), '<input>'),
                      coalesce(max(value) FILTER (key = 'first_stack_pointers'), max(value) FILTER (key = 'first_stack_pointer'))
               FROM meta";
    let (unwritten, stack_starts): (String, Option<String>) =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let stack_starts = stack_starts.unwrap_or_default();
    let stack_starts = stack_starts.split(',').map(|start| start.parse().ok()).collect();
    let unwritten = names.number(unwritten);
    let mut images = Images::default();
    let sql = "SELECT image_id, process_id, path FROM image ORDER BY image_id";
    each(connection, sql, &[], |r| {
        images.ids.insert(r.get(0)?, images.list.len());
        let path: String = r.get(2)?;
        let file = file(&path).to_owned();
        images.list.push(ImagePlace { process: r.get(1)?, file, range: (u64::MAX, 0), code: None });
        Ok(())
    })?;
    let mut pieces: Vec<Pieces> = images.list.iter().map(|_| Pieces::default()).collect();
    let sql = "SELECT image_id, name, address, size, writable, executable FROM section
               WHERE image_id IS NOT NULL AND size > 0 ORDER BY section_id";
    let alone = images.list.len() == 1;
    each(connection, sql, &[], |r| {
        let Some(&at) = images.ids.get(&r.get::<_, i32>(0)?) else { return Ok(()) };
        let image = &mut images.list[at];
        let (name, address, size): (String, u64, u64) = (r.get(1)?, r.get(2)?, r.get(3)?);
        let (writable, executable): (bool, bool) = (r.get(4)?, r.get(5)?);
        let (low, high) = image.range;
        image.range = (low.min(address), high.max(address.saturating_add(size - 1)));
        if executable {
            image.code = Some(image.code.map_or(address, |code| code.min(address)));
        }
        let name = match alone {
            true => format!("<image {name}>"),
            false => format!("<{} {name}>", image.file),
        };
        let via = if writable { "global" } else { "constant" };
        let section = (via, names.number(name));
        pieces[at].add(address, size, Part::Section(size, section));
        Ok(())
    })?;
    // An image without sections lies nowhere.
    images.list.iter_mut().filter(|i| i.range.0 > i.range.1).for_each(|i| i.range = (0, 0));
    let mut loose = Pieces::default();
    let variables = variables(connection, &images, |image, at, of| {
        let pieces = image.map_or(&mut loose, |image| &mut pieces[image]);
        pieces.add(of.0, of.1, Part::Variable(of.1, at));
    })?;
    let mapped = Mapped::read(connection, &images.list, |name| names.number(name))?;
    let mut regions = Vec::new();
    let sql =
        "SELECT first_address, last_address, via FROM region ORDER BY first_address, via DESC";
    each(connection, sql, &[], |r| {
        regions.push((r.get(0)?, r.get(1)?, r.get(2)?));
        Ok(())
    })?;
    each(connection, include_str!("../../queries/report/outside_names.sql"), &[], |r| {
        names.number(r.get(0)?);
        Ok(())
    })?;
    let images = pieces.into_iter().map(Pieces::cut).collect();
    let (loose, names) = (loose.cut(), names.list);
    Ok(Places { mapped, images, loose, regions, stack_starts, unwritten, names, variables })
}

/// The images of the database, in order.
#[derive(Default)]
struct Images {
    list: Vec<ImagePlace>,
    /// By id.
    ids: FxHashMap<i32, usize>,
}

/// Reads the variables; tells `add` of each: its image, its index, its address and bytes.
fn variables(
    connection: &Connection,
    images: &Images,
    mut add: impl FnMut(Option<usize>, usize, (u64, u64)),
) -> Result<Vec<Variable>, ReplayError> {
    let mut variables: Vec<Variable> = Vec::new();
    let mut by_id: FxHashMap<i32, usize> = FxHashMap::default();
    each(connection, include_str!("../../queries/report/variables.sql"), &[], |r| {
        let id = r.get(0)?;
        by_id.insert(id, variables.len());
        let (address, size) = (r.get(2)?, r.get(3)?);
        let image = r.get::<_, Option<i32>>(4)?.and_then(|id| images.ids.get(&id)).copied();
        add(image, variables.len(), (address, size));
        let name = r.get(1)?;
        variables.push(Variable { id, name, address, size, image, parts: Parts::default() });
        Ok(())
    })?;
    each(connection, include_str!("../../queries/report/fields.sql"), &[], |r| {
        let Some(&variable) = by_id.get(&r.get(0)?) else { return Ok(()) };
        let parts = &mut variables[variable].parts;
        let name: String = r.get(1)?;
        let known = parts.names.iter().position(|known| *known == name);
        let name = known.unwrap_or_else(|| {
            parts.names.push(name);
            parts.names.len() - 1
        });
        parts.list.push((r.get(2)?, r.get(3)?, name));
        parts.stride = r.get(4)?;
        Ok(())
    })?;
    Ok(variables)
}

/// The piece that has an address.
fn piece(pieces: &[Piece], address: u64) -> usize {
    pieces.partition_point(|piece| piece.start <= address)
}

impl Places {
    /// What an address is when a step accesses it.
    pub fn at(&self, When { process, seq }: When, address: u64) -> At<'_> {
        let lies = self.mapped.at(process, seq, (address, address));
        self.in_layer(process, lies.and_then(|lies| lies.layer), address)
    }

    /// Whether the stack had a byte when its process began.
    fn is_stack_start(&self, process: ProcessId, address: u64) -> bool {
        let own = self.stack_starts.get(process.index()).or(self.stack_starts.first());
        own.copied().flatten().is_some_and(|start| address >= start)
    }

    /// What a byte of storage is when a step accesses it.
    pub fn of(&self, Cell { space, address }: Cell, seq: i64) -> At<'_> {
        match space {
            Space::Register(_) => REGISTER,
            Space::Memory(process) => self.at(When { process, seq }, address),
        }
    }

    fn in_layer(&self, process: ProcessId, layer: Option<Layer>, address: u64) -> At<'_> {
        let at = |via, unwritten, variable| At { via, unwritten, variable };
        let pieces = match layer {
            Some(Layer::Device(name)) => return at("mmio", name, None),
            Some(Layer::File(name)) => return at("global", name, None),
            Some(Layer::Image(image)) => self.images.get(image).unwrap_or(&self.loose),
            None => &self.loose,
        };
        let found = piece(pieces, address).checked_sub(1).and_then(|i| pieces.get(i));
        let variable = found.and_then(|piece| piece.variable);
        if let Some((via, name)) = found.and_then(|piece| piece.section) {
            return at(via, name, variable);
        }
        let behind = self.regions.partition_point(|region| region.0 <= address);
        let region = behind.checked_sub(1).and_then(|i| self.regions.get(i));
        match region.filter(|region| address <= region.1).map_or("heap", |region| &region.2) {
            "stack" if self.is_stack_start(process, address) => at("stack", STACK_START, variable),
            "stack" => at("stack", UNINITIALISED, variable),
            via => at(via, self.unwritten, variable),
        }
    }

    /// Until which step, and from which one on, all these bytes are of one piece: behind the first, up to the other. None:
    /// they are not when this one accesses them.
    fn uniform(&self, moment: When, (first, last): (u64, u64)) -> Option<(i64, i64)> {
        let lies = self.mapped.at(moment.process, moment.seq, (first, last))?;
        let together = |pieces: &[Piece]| piece(pieces, first) == piece(pieces, last);
        let is_one = match lies.layer {
            Some(Layer::Device(_) | Layer::File(_)) => true,
            Some(Layer::Image(image)) => self.images.get(image).is_none_or(|p| together(p)),
            None => together(&self.loose),
        };
        let regions = |a| self.regions.partition_point(|region| region.1 < a);
        let region = |a| (regions(a), self.regions.get(regions(a)).is_some_and(|r| r.0 <= a));
        let above = |a| self.is_stack_start(moment.process, a);
        let is_one = is_one && region(first) == region(last) && above(first) == above(last);
        is_one.then_some(lies.steps)
    }

    /// Whether bytes are all of one piece.
    pub fn is_uniform(&self, moment: When, address: u64, bytes: u64) -> bool {
        let last = address.saturating_add(bytes.saturating_sub(1));
        self.uniform(moment, (address, last)).is_some()
    }

    pub fn name(&self, unwritten: usize) -> &str {
        self.names.get(unwritten).map_or("<input>", |n| n)
    }

    /// The number of a name; what the kernel reads and writes is numbered with the rest.
    pub fn number(&self, name: &str) -> usize {
        self.names.iter().position(|n| n == name).unwrap_or(INPUT)
    }

    /// All names of what bytes come from that no step wrote, by their numbers.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Processes that have memory of their own, as far as that is known: at least the first one.
    pub fn processes(&self) -> BTreeSet<ProcessId> {
        self.mapped.processes().chain([ProcessId::FIRST]).collect()
    }

    /// The processes that have a variable's image, in order. None: all have it.
    pub fn processes_of(&self, variable: &Variable) -> BTreeSet<ProcessId> {
        variable.image.map(|image| self.mapped.processes_of(image)).unwrap_or_default()
    }

    /// `quant+12`, or the address.
    pub fn describe(&self, moment: When, address: u64) -> String {
        match self.at(moment, address).variable.map(|v| &self.variables[v]) {
            Some(v) if v.address == address => v.name.clone(),
            Some(v) => format!("{}+{}", v.name, address - v.address),
            None => format!("{address:#x}"),
        }
    }
}

/// What registers are.
pub const REGISTER: At = At { via: "register", unwritten: REGISTERS, variable: None };

/// What is asked of addresses again and again, remembered for pages all of which have one answer for some time,
/// and for the words of other pages.
pub struct ByPage<T> {
    pages: Remembered<T>,
    words: Remembered<T>,
}

/// By process and number: behind which step up to which other one.
type Remembered<T> = FxHashMap<(ProcessId, u64), ((i64, i64), T)>;

/// Bytes of a word.
const WORD: u64 = 8;

impl<T> Default for ByPage<T> {
    fn default() -> Self {
        ByPage { pages: FxHashMap::default(), words: FxHashMap::default() }
    }
}

impl<T: Copy> ByPage<T> {
    /// What `find` says of an address; it may depend on what it is only.
    pub fn find(
        &mut self,
        places: &Places,
        moment: When,
        address: u64,
        find: impl FnOnce(At) -> T,
    ) -> T {
        let known = |all: &Remembered<T>, number: u64| {
            let ((from, until), known) = *all.get(&(moment.process, number))?;
            (from < moment.seq && moment.seq <= until).then_some(known)
        };
        let (page, word) = (address / PAGE, address / WORD);
        if let Some(known) = known(&self.pages, page).or_else(|| known(&self.words, word)) {
            return known;
        }
        let found = find(places.at(moment, address));
        for (all, number, bytes) in [(&mut self.pages, page, PAGE), (&mut self.words, word, WORD)] {
            let first = number * bytes;
            if let Some(steps) = places.uniform(moment, (first, first.saturating_add(bytes - 1))) {
                all.insert((moment.process, number), (steps, found));
                break;
            }
        }
        found
    }
}
