//! What goes from node to node of a graph of functions, some of which were put together: distinct
//! bytes of storage, and each byte of each write once for each entry into the reading node.
//! `addfg graph --group` shows it. For a run of one thread.

use super::super::error::ReplayError;
use super::super::places::{At, ByPage, Places, REGISTER, When};
use super::members::EntryNumber;
use super::row::{Kind, Row};
use super::{Crossed, Members, Place, Side, Stored, Sum};
use crate::id::{FunctionId, ProcessId, ThreadId};
use duckdb::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

/// Number of a node, from 0.
pub type NodeNumber = u32;

/// The nodes of a graph, and what is asked of them.
pub struct Nodes<'a> {
    /// Functions that are in none are left out.
    pub of_function: FxHashMap<FunctionId, NodeNumber>,
    /// Whether stubs are part of what they are merged into (`folded_call`).
    pub folds_stubs: bool,
    pub places: &'a Places,
    /// The number of a via.
    pub via: &'a dyn Fn(&str) -> usize,
    /// By name of the places: what bytes are of that no step wrote; None: not to be counted.
    pub sources: Vec<Option<NodeNumber>>,
    /// From which node to which.
    pub wanted: FxHashSet<(NodeNumber, NodeNumber)>,
}

/// By writer, reader and via.
pub type Between = FxHashMap<(NodeNumber, NodeNumber, usize), Sum>;

struct Finder<'a> {
    nodes: &'a Nodes<'a>,
    /// By page: the number of a via, and of a name.
    known: ByPage<(usize, usize)>,
    members: &'a Members,
    /// By entry: the node that it is into.
    of_entry: &'a [NodeNumber],
    /// By reading node. Of many nodes each may have read a few bytes here and there: small pages.
    sides: FxHashMap<NodeNumber, Side<32>>,
    found: Between,
}

impl Finder<'_> {
    fn node(&self, entry: EntryNumber) -> Option<NodeNumber> {
        self.of_entry.get(entry.checked_sub(1)? as usize).copied()
    }

    fn entry(&self, seq: i64) -> EntryNumber {
        self.members.span(seq).map_or(0, |span| span.entry)
    }

    /// The number of its via, and of the name of what it comes from where no step wrote it.
    fn place(&mut self, row: &Row) -> (usize, usize) {
        let Nodes { places, via, .. } = self.nodes;
        let what = |at: At| (via(at.via), at.unwritten);
        if row.kind.is_register {
            return what(REGISTER);
        }
        let moment = When { process: ProcessId::FIRST, seq: row.read_seq };
        self.known.find(places, moment, row.address, what)
    }

    /// A communication into an entry; None: it is none that is wanted.
    fn row(&mut self, row: Row, entry: EntryNumber) -> Option<()> {
        let reader = self.node(entry)?;
        let mut known = None;
        if let Some(seq) = row.write_seq {
            let writer = self.node(self.entry(seq))?;
            // Before all else, as most are not wanted.
            if writer == reader || !self.nodes.wanted.contains(&(writer, reader)) {
                return None;
            }
            known = Some((writer, seq));
        }
        let Kind { is_register, bytes } = row.kind;
        let (via, unwritten) = self.place(&row);
        let (writer, version) = match known {
            Some(known) => known,
            None => (self.nodes.sources.get(unwritten).copied().flatten()?, -1),
        };
        if !self.nodes.wanted.contains(&(writer, reader)) {
            return None;
        }
        let place = if is_register {
            Place::Register(ThreadId::FIRST)
        } else {
            Place::Memory(ProcessId::FIRST)
        };
        let Row { read_seq, address, .. } = row;
        let crossed = Crossed { read_seq, version, entry, partner: writer, place, address, bytes };
        let news = self.sides.entry(reader).or_default().look(self.members, &crossed, |_| ());
        let sum = Sum { bytes, unique_bytes: news.unique, addresses: news.of_partner };
        self.found.entry((writer, reader, via)).or_default().add(sum);
        Some(())
    }
}

/// Goes through the stored communications once.
pub fn between(
    connection: &Connection,
    nodes: &Nodes,
    stored: Stored,
) -> Result<Between, ReplayError> {
    let (members, of_entry) = Members::of_nodes(connection, &nodes.of_function, nodes.folds_stubs)?;
    let mut finder = Finder {
        nodes,
        known: ByPage::default(),
        members: &members,
        of_entry: &of_entry,
        sides: FxHashMap::default(),
        found: Between::default(),
    };
    stored.windows(&members, |rows| {
        let mut reader = (i64::MIN, 0);
        for &row in rows {
            if row.read_seq != reader.0 {
                reader = (row.read_seq, finder.entry(row.read_seq));
            }
            finder.row(row, reader.1);
        }
        Ok(())
    })?;
    Ok(finder.found)
}
