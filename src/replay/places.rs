//! What an address is: via, variable, and the name of the pseudo-function where no step wrote it.

use super::error::ReplayError;
use super::usage::PAGE;
use crate::query::places_of_memory;
use duckdb::Connection;
use rustc_hash::FxHashMap;

struct Piece {
    start: u64,
    via: String,
    unwritten: usize,
    variable: Option<usize>,
}

/// A global variable.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub address: u64,
    pub size: u64,
    /// Of a structure or an array of them.
    parts: Parts,
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

/// Memory cut where sections, regions and variables begin and end.
pub struct Places {
    pieces: Vec<Piece>,
    names: Vec<String>,
    variables: Vec<Variable>,
}

/// Reads the map of memory.
pub fn places(connection: &Connection) -> Result<Places, ReplayError> {
    let mut places = Places {
        pieces: Vec::new(),
        names: vec!["<initial registers>".into(), "<input>".into()],
        variables: Vec::new(),
    };
    let mut by_id = std::collections::BTreeMap::new();
    let mut statement = connection.prepare(include_str!("../../queries/report/variables.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        by_id.insert(r.get::<_, i32>(0)?, places.variables.len());
        places.variables.push(Variable {
            name: r.get(1)?,
            address: r.get(2)?,
            size: r.get(3)?,
            parts: Parts::default(),
        });
    }
    let mut statement = connection.prepare(include_str!("../../queries/report/fields.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let Some(&variable) = by_id.get(&r.get(0)?) else { continue };
        let parts = &mut places.variables[variable].parts;
        let name: String = r.get(1)?;
        let number = parts.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            parts.names.push(name);
            parts.names.len() - 1
        });
        parts.list.push((r.get(2)?, r.get(3)?, number));
        parts.stride = r.get(4)?;
    }
    let sql = format!("FROM ({}) ORDER BY start", places_of_memory(connection)?);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        let name: String = r.get(2)?;
        let unwritten = places.names.iter().position(|n| *n == name).unwrap_or_else(|| {
            places.names.push(name);
            places.names.len() - 1
        });
        let variable = r.get::<_, Option<i32>>(3)?.and_then(|v| by_id.get(&v).copied());
        places.pieces.push(Piece { start: r.get(0)?, via: r.get(1)?, unwritten, variable });
    }
    let mut statement =
        connection.prepare(include_str!("../../queries/report/outside_names.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(r) = rows.next()? {
        places.names.push(r.get(0)?);
    }
    Ok(places)
}

impl Places {
    fn piece(&self, address: u64) -> Option<&Piece> {
        self.pieces
            .partition_point(|p| p.start <= address)
            .checked_sub(1)
            .and_then(|i| self.pieces.get(i))
    }

    /// Via, and the number of the pseudo-function that bytes come from which no step wrote.
    pub fn at(&self, is_register: bool, address: u64) -> (&str, usize) {
        if is_register {
            return ("register", 0);
        }
        self.piece(address).map_or(("heap", 1), |p| (p.via.as_str(), p.unwritten))
    }

    pub fn name(&self, unwritten: usize) -> &str {
        self.names.get(unwritten).map_or("<input>", |n| n)
    }

    /// The number of a name; what the kernel reads and writes is numbered with the rest.
    pub fn number(&self, name: &str) -> usize {
        self.names.iter().position(|n| n == name).unwrap_or(1)
    }

    /// The smallest variable that covers an address, as an index.
    pub fn variable(&self, address: u64) -> Option<usize> {
        self.piece(address).and_then(|p| p.variable)
    }

    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Whether an address is memory without a name that programs manage themselves: the heap, or
    /// all such memory on bare metal.
    pub fn is_heap(&self, address: u64) -> bool {
        self.variable(address).is_none() && matches!(self.at(false, address).0, "heap" | "other")
    }

    /// Whether bytes are all of one piece.
    pub fn is_uniform(&self, address: u64, bytes: u64) -> bool {
        let at = |a| self.pieces.partition_point(|p| p.start <= a);
        at(address) == at(address.saturating_add(bytes - 1))
    }

    /// `quant+12`, or the address.
    pub fn describe(&self, address: u64) -> String {
        match self.variable(address).map(|v| &self.variables[v]) {
            Some(v) if v.address == address => v.name.clone(),
            Some(v) => format!("{}+{}", v.name, address - v.address),
            None => format!("{address:#x}"),
        }
    }
}

/// What is asked of addresses again and again, remembered for pages all of which have one answer.
pub struct ByPage<T> {
    known: FxHashMap<u64, T>,
}

impl<T> Default for ByPage<T> {
    fn default() -> Self {
        ByPage { known: FxHashMap::default() }
    }
}

impl<T: Copy> ByPage<T> {
    /// What `find` says of an address; it may depend on via, variable and name only.
    pub fn find(&mut self, places: &Places, address: u64, find: impl FnOnce() -> T) -> T {
        let page = address / PAGE;
        if let Some(&known) = self.known.get(&page) {
            return known;
        }
        let found = find();
        if places.is_uniform(page * PAGE, PAGE) {
            self.known.insert(page, found);
        }
        found
    }
}
