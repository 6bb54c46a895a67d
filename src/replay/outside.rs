//! What happens to memory beside the steps: the kernel reads and writes it for system calls, it is
//! mapped, unmapped and moved. See "Events" in `docs/semantics.md`.

use super::cell::Space;
use super::code::Code;
use super::error::ReplayError;
use super::window::{Part, Piece, Way};
use crate::id::ProcessId;
use duckdb::{Connection, params};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// What is done to bytes of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The kernel reads them; by the name of where they go to.
    Read(Rc<str>),
    /// The kernel writes them; by the name of where they come from.
    Write(Rc<str>),
    /// They are mapped or unmapped: nobody has written what is there.
    New,
    /// They are at another address, with what they hold.
    Move { to: u64 },
    /// They are at another address, too.
    Copy { to: u64 },
    /// Something was done that the trace does not have: what memory and registers hold is not known
    /// any more.
    Gap,
}

/// Something that happens behind a step.
#[derive(Clone, Debug)]
pub struct Outside {
    pub(super) seq: i64,
    pub(super) process: ProcessId,
    pub address: u64,
    /// Its last byte; it does not go round the end of memory.
    pub last: u64,
    pub change: Change,
    /// It is mapped.
    is_map: bool,
}

impl Outside {
    pub fn space(&self) -> Space {
        Space::Memory(self.process)
    }

    /// First and last byte that it overwrites; None: it reads.
    pub(super) fn overwritten(&self) -> Option<(u64, u64)> {
        let &Outside { address, last, ref change, .. } = self;
        match *change {
            Change::Read(_) => None,
            Change::Gap => Some((0, u64::MAX)),
            Change::Write(_) | Change::New => Some((address, last)),
            Change::Move { to } | Change::Copy { to } => {
                Some((to, to.saturating_add(last - address)))
            }
        }
    }

    /// What it is to memory where only what is overwritten matters: a copy writes where it goes to.
    pub fn overwriting(&self) -> Outside {
        let Change::Copy { to } = self.change else { return self.clone() };
        let last = to.saturating_add(self.last - self.address);
        Outside { address: to, last, change: Change::New, ..self.clone() }
    }
}

/// What happens in the part of the run that is being gone through.
pub(super) struct Outsides<'a> {
    code: &'a Code,
    connection: &'a Connection,
    part: Part,
    /// By step.
    list: Vec<Outside>,
}

/// What happens behind the steps from `first` to `last`, in order.
pub(super) fn outsides(
    connection: &Connection,
    (first, last): (i64, i64),
) -> Result<Vec<Outside>, ReplayError> {
    let mut list = Vec::new();
    let sql = include_str!("../../queries/report/replay_outside.sql");
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![first, last])?;
    while let Some(r) = rows.next()? {
        let kind: String = r.get(2)?;
        let name = || -> duckdb::Result<Rc<str>> { Ok(r.get::<_, String>(6)?.into()) };
        let change = match &kind[..] {
            "read" => Change::Read(name()?),
            "write" => Change::Write(name()?),
            "move" => Change::Move { to: r.get(5)? },
            "copy" => Change::Copy { to: r.get(5)? },
            "gap" => Change::Gap,
            _ => Change::New,
        };
        let (address, bytes): (u64, u64) = (r.get(3)?, r.get(4)?);
        let Some(more) = bytes.checked_sub(1) else { continue };
        list.push(Outside {
            seq: r.get(0)?,
            process: r.get(1)?,
            address,
            last: address.saturating_add(more),
            change,
            is_map: kind == "map",
        });
    }
    Ok(list)
}

impl<'a> Outsides<'a> {
    pub(super) fn new(code: &'a Code, connection: &'a Connection, way: Way) -> Outsides<'a> {
        Outsides { code, connection, part: Part::new(way), list: Vec::new() }
    }

    /// Loads what a piece needs, and what its neighbours will.
    pub(super) fn cover(&mut self, piece: &Piece) -> Result<(), ReplayError> {
        if let Some((first, last)) = self.part.cover(piece) {
            self.code.cover(self.connection, (first, last))?;
            self.list = outsides(self.connection, (first, last))?;
            // Where a process begins with its parent's memory, what lies there is told again.
            let begins = self.code.forks(self.connection)?.iter();
            let begins = begins.filter_map(|(seq, fork)| Some((*seq, fork.begins_in?)));
            let begins: FxHashSet<(i64, ProcessId)> =
                begins.map(|(seq, thread)| (seq, self.code.process(thread))).collect();
            if !begins.is_empty() {
                self.list.retain(|o| !o.is_map || !begins.contains(&(o.seq, o.process)));
            }
        }
        Ok(())
    }

    /// What happens behind a step of a piece: behind its last, if behind any.
    pub(super) fn behind(&self, piece: &Piece, step: usize) -> &[Outside] {
        if step + 1 < piece.end_step {
            return &[];
        }
        let seq = piece.seq(step);
        let from = self.list.partition_point(|o| o.seq < seq);
        let to = from + self.list[from..].partition_point(|o| o.seq == seq);
        &self.list[from..to]
    }
}
