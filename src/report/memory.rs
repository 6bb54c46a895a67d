//! Memory over the run, and objects with the functions that access them.

use super::functions::{Functions, text};
use super::missing::{or_say, steps};
use super::options::{Options, ReportError};
use crate::graph::Via;
use crate::id::FunctionId;
use crate::query::is_prepared;
use crate::replay::memory::{PAGE, Profile};
use crate::replay::{ByPage, Code, Places, ReplayError, Traffic, Volume, When, places};
use crate::text::human_count;
use crate::views::ViewError;
use crate::views::memory;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of pages at most; more share rows.
const ROWS: usize = 160;
/// Functions of an object that are listed.
const USERS: usize = 60;

/// The views Memory and Objects; null where the trace has no accesses to memory.
pub(super) fn memory(
    connection: &Connection,
    functions: &Functions,
    options: &Options,
    missing: &mut Vec<Value>,
) -> Result<(Value, Value), ReportError> {
    let views = ["memory", "objects"];
    let sql = "SELECT EXISTS (FROM block_access WHERE space = 'memory')";
    let accesses: bool = connection.query_row(sql, [], |r| r.get(0))?;
    if !accesses {
        let why = "No accesses to memory: the trace has none, or the database keeps no steps (--no-steps).";
        missing.push(json!([views, why]));
        return Ok((Value::Null, Value::Null));
    }
    let places = places(connection).map_err(ViewError::from)?;
    let steps = steps(connection)?;
    let profile = if steps <= options.replayed.memory || is_prepared(connection)? {
        or_say(memory::memory(connection), &views, "No memory over time", missing)?
    } else {
        let why = format!(
            "Memory over time, and which bytes are read again or never, are not in this page: the run has {} steps. \
             addfg prepare or report --all goes through them, addfg memory prints them.",
            human_count(steps)
        );
        missing.push(json!([views, why]));
        None
    };
    let objects = objects(connection, functions, &places, (profile.as_ref(), options.rows))?;
    let memory = profile.map_or(Value::Null, |profile| over_time(&profile, &places));
    Ok((memory, objects))
}

/// Parts of the run (first step, reads, writes, distinct bytes in it, distinct bytes so far); rows of
/// pages (first address, via), pages of a row; accesses (part, row, reads, writes); accesses to lines of
/// 64 bytes by how many other lines came between (words, accesses).
fn over_time(profile: &Profile, places: &Places) -> Value {
    let moments: Vec<Value> = profile
        .moments
        .iter()
        .map(|m| json!([m.first_seq, m.reads, m.writes, m.touched, m.footprint]))
        .collect();
    let pages: BTreeSet<u64> = profile.pages.keys().map(|k| k.1).collect();
    let pages: Vec<u64> = pages.into_iter().collect();
    let group = pages.len().div_ceil(ROWS).max(1);
    // A page of which a section has some bytes is the section's.
    let via = |address: u64| {
        let at = |process, address| places.at(When { process, seq: i64::MAX }, address).via;
        let words = |process| (0..PAGE).step_by(16).map(move |by| at(process, address | by));
        let mut all = places.processes().into_iter().flat_map(words);
        all.find(|via| *via != "heap").unwrap_or("heap")
    };
    let row = |first: &u64| {
        let address = first * PAGE;
        json!([format!("{address:#x}"), via(address)])
    };
    let rows: Vec<Value> = pages.iter().step_by(group).map(row).collect();
    let mut cells: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
    for (&(moment, page), &(reads, writes)) in &profile.pages {
        let row = pages.binary_search(&page).unwrap_or(0) / group;
        let cell = cells.entry((moment, row)).or_default();
        *cell = (cell.0 + reads, cell.1 + writes);
    }
    let cells: Vec<Value> =
        cells.into_iter().map(|((m, row), (r, w))| json!([m, row, r, w])).collect();
    let first = std::iter::once(("first access".to_owned(), profile.cold));
    let again = profile.reuse.iter().enumerate().map(|(class, &n)| (memory::distance(class), n));
    let reuse: Vec<(String, u64)> = first.chain(again).collect();
    json!({ "moments": moments, "rows": rows, "group": group, "cells": cells, "reuse": reuse })
}

/// An object as functions use it.
#[derive(Default)]
struct Object {
    via: String,
    /// Of a variable: its first address and its bytes.
    at: Option<(u64, u64)>,
    users: BTreeMap<Option<FunctionId>, Volume>,
}

/// Via and variable, by its index.
type Holder = (Via, Option<usize>);

/// What is accessed, who does, and whether by writing.
type Access = (Holder, Option<FunctionId>, bool);

/// Accesses to memory: how many there were of each, and their bytes.
fn accesses(
    connection: &Connection,
    places: &Places,
) -> Result<FxHashMap<Access, (u64, u64)>, ReplayError> {
    let code = Code::open(connection)?;
    let mut sums: FxHashMap<Access, (u64, u64)> = FxHashMap::default();
    let mut by_page = ByPage::default();
    code.forwards(connection, (code.first, code.last), |piece| {
        let process = code.process(piece.thread);
        for step in piece.steps() {
            let when = When { process, seq: piece.seq(step) };
            let function = code.instruction(piece.block.instructions[step]).function;
            for access in piece.block.accesses_of(step) {
                let Some(address) = access.address(piece.address) else { continue };
                let holder: Holder =
                    by_page.find(places, when, address, |at| (Via::of(at.via), at.variable));
                let (times, bytes) = sums.entry((holder, function, access.is_write)).or_default();
                *times += 1;
                *bytes += u64::from(access.size);
            }
        }
        Ok(true)
    })?;
    Ok(sums)
}

/// Objects that were accessed, those with the most bytes first: name, via, address, size, reads, bytes
/// read, writes, bytes written, distinct bytes, of the bytes read those read again, of the bytes
/// written those never read; and functions (place, name if it has none, reads, bytes, writes, bytes).
fn objects(
    connection: &Connection,
    functions: &Functions,
    places: &Places,
    (profile, most): (Option<&Profile>, usize),
) -> Result<Value, ReportError> {
    let mut found: BTreeMap<String, Object> = BTreeMap::new();
    let accesses = accesses(connection, places).map_err(ViewError::from)?;
    for (((via, variable), user, is_write), (times, bytes)) in accesses {
        let via = via.name();
        let variable = variable.map(|v| &places.variables()[v]);
        let name = variable.map_or_else(|| format!("({via})"), |v| v.name.clone());
        let object = found.entry(name).or_insert_with(|| Object {
            via: via.to_owned(),
            at: variable.map(|v| (v.address, v.size)),
            users: BTreeMap::new(),
        });
        let volume = object.users.entry(user).or_default();
        let (count, sum) = if is_write {
            (&mut volume.writes, &mut volume.written_bytes)
        } else {
            (&mut volume.reads, &mut volume.read_bytes)
        };
        *count = count.saturating_add(times);
        *sum = sum.saturating_add(bytes);
    }
    let mut list: Vec<(Volume, String, Object)> =
        found.into_iter().map(|(name, object)| (object.volume(), name, object)).collect();
    let traffic = |v: &Volume| v.read_bytes.saturating_add(v.written_bytes);
    list.sort_by(|a, b| traffic(&b.0).cmp(&traffic(&a.0)).then_with(|| a.1.cmp(&b.1)));
    let row = |(sum, name, object): &(Volume, String, Object)| {
        let became = profile.and_then(|p| p.traffic.get(name));
        object.row(sum, name, became, functions)
    };
    let rows: Vec<Value> = list.iter().take(most).map(row).collect();
    Ok(json!({ "all": list.len(), "rows": rows }))
}

impl Object {
    fn volume(&self) -> Volume {
        let mut sum = Volume::default();
        for volume in self.users.values() {
            sum.reads = sum.reads.saturating_add(volume.reads);
            sum.read_bytes = sum.read_bytes.saturating_add(volume.read_bytes);
            sum.writes = sum.writes.saturating_add(volume.writes);
            sum.written_bytes = sum.written_bytes.saturating_add(volume.written_bytes);
        }
        sum
    }

    fn row(
        &self,
        sum: &Volume,
        name: &str,
        became: Option<&Traffic>,
        functions: &Functions,
    ) -> Value {
        // Of bytes that no step wrote it is not known which were read before; of the stack dead
        // bytes would be return addresses and saves.
        let again = became
            .filter(|_| sum.written_bytes > 0)
            .map(|t| t.volume.read_bytes.saturating_sub(t.first_read_bytes));
        let dead = became
            .filter(|t| name != "(stack)" && t.volume.written_bytes > 0)
            .map(|t| t.dead_bytes);
        let mut users: Vec<_> = self.users.iter().collect();
        users.sort_by_key(|(_, v)| Reverse(v.read_bytes.saturating_add(v.written_bytes)));
        let users: Vec<Value> = users
            .iter()
            .take(USERS)
            .map(|(id, v)| {
                let place = id.and_then(|id| functions.at(id));
                json!([place, v.reads, v.read_bytes, v.writes, v.written_bytes])
            })
            .collect();
        json!([
            text(Some(name.to_owned())),
            self.via,
            self.at.map(|at| format!("{:#x}", at.0)),
            self.at.map(|at| at.1),
            sum.reads,
            sum.read_bytes,
            sum.writes,
            sum.written_bytes,
            became.map(|t| t.touched),
            again,
            dead,
            users
        ])
    }
}
