//! What goes from node to node of a graph of functions, some of which were put together: distinct
//! bytes of storage, and each byte of each write once for each entry into the reading node.
//! `addfg graph --group` shows it. For a run of one thread.

use super::super::error::ReplayError;
use super::members::EntryNumber;
use super::row::{Kind, Row};
use super::{Crossed, Members, Place, Side, Stored, Sum};
use crate::id::{FunctionId, ProcessId, ThreadId};
use duckdb::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

/// Number of a node, from 0.
pub type NodeNumber = u32;

/// Memory from an address to where the next piece begins.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub start: u64,
    /// A number of the caller's.
    pub via: usize,
    /// What bytes are of that no step wrote; None: not to be counted.
    pub source: Option<NodeNumber>,
}

/// The nodes of a graph, and what is asked of them.
pub struct Nodes {
    /// Functions that are in none are left out.
    pub of_function: FxHashMap<FunctionId, NodeNumber>,
    /// Whether stubs are part of what they are merged into (`folded_call`).
    pub folds_stubs: bool,
    /// From address 0, in their order.
    pub pieces: Vec<Piece>,
    /// Of registers; its start means nothing.
    pub registers: Piece,
    /// From which node to which.
    pub wanted: FxHashSet<(NodeNumber, NodeNumber)>,
}

/// By writer, reader and via.
pub type Between = FxHashMap<(NodeNumber, NodeNumber, usize), Sum>;

struct Finder<'a> {
    nodes: &'a Nodes,
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

    fn piece(&self, is_register: bool, address: u64) -> Option<&Piece> {
        if is_register {
            return Some(&self.nodes.registers);
        }
        let behind = self.nodes.pieces.partition_point(|piece| piece.start <= address);
        self.nodes.pieces.get(behind.checked_sub(1)?)
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
        let piece = *self.piece(is_register, row.address)?;
        let (writer, version) = match known {
            Some(known) => known,
            None => (piece.source?, -1),
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
        self.found.entry((writer, reader, piece.via)).or_default().add(sum);
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
