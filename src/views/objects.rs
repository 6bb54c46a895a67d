//! Which functions use which variables, buffers and other memory, as a table.

use super::ViewError;
use crate::graph::FunctionNames;
use crate::id::FunctionId;
use crate::render::rows::{RowFormat, RowWriter, word};
use crate::replay::objects::{Object, Use, objects as find};
use crate::replay::{Code, Places, places};
use duckdb::Connection;
use duckdb::types::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// An object with what functions do with it.
pub struct ObjectUse {
    /// The variable, or `(heap)` and the like; hostile text.
    pub name: String,
    /// Where it lies; None for what is more than one piece.
    pub address: Option<u64>,
    pub bytes: Option<u64>,
    /// By function, those with the most bytes first; hostile text.
    pub functions: Vec<(Option<FunctionId>, String, Use)>,
}

impl ObjectUse {
    fn traffic(&self) -> u64 {
        let all = self.functions.iter().map(|(.., of)| of.volume);
        all.map(|volume| volume.read_bytes + volume.written_bytes).sum()
    }
}

fn named(object: &Object, places: &Places) -> (String, Option<u64>, Option<u64>) {
    match object {
        Object::Variable(at) => {
            let variable = &places.variables()[*at];
            (variable.name.clone(), Some(variable.address), Some(variable.size))
        }
        Object::Buffer { first, last } => {
            ("(heap)".to_owned(), Some(*first), Some((last - first).saturating_add(1)))
        }
        Object::Via(via) => (format!("({via})"), None, None),
    }
}

/// Goes through the run once; objects with the most traffic first. `only`: those that these
/// functions use, if it has any.
pub fn objects(
    connection: &Connection,
    only: &BTreeSet<FunctionId>,
) -> Result<Vec<ObjectUse>, ViewError> {
    let code = Code::open(connection)?;
    let places = places(connection)?;
    let names = FunctionNames::read(connection)?;
    let mut by_object: BTreeMap<Object, Vec<(Option<FunctionId>, String, Use)>> = BTreeMap::new();
    for ((object, function), of) in find(&code, connection, &places)? {
        let row = (function, names.name(function).to_owned(), of);
        by_object.entry(object).or_default().push(row);
    }
    let mut list: Vec<ObjectUse> = by_object
        .into_iter()
        .map(|(object, mut functions)| {
            let volume = |of: &Use| of.volume.read_bytes + of.volume.written_bytes;
            functions.sort_by_key(|(id, _, of)| (Reverse(volume(of)), *id));
            let (name, address, bytes) = named(&object, &places);
            ObjectUse { name, address, bytes, functions }
        })
        .collect();
    if !only.is_empty() {
        let uses =
            |of: &(Option<FunctionId>, String, Use)| of.0.is_some_and(|id| only.contains(&id));
        list.retain(|object| object.functions.iter().any(uses));
    }
    list.sort_by(|a, b| b.traffic().cmp(&a.traffic()).then_with(|| a.name.cmp(&b.name)));
    Ok(list)
}

/// A row for each object and function that uses it.
pub fn write(
    list: &[ObjectUse],
    limit: usize,
    format: RowFormat,
    out: &mut dyn Write,
) -> std::io::Result<u64> {
    let columns = [
        "object",
        "address",
        "bytes",
        "function",
        "reads",
        "read_bytes",
        "writes",
        "written_bytes",
        "unique_bytes",
        "dead_bytes",
        "first_seq",
        "last_seq",
    ];
    let mut rows = RowWriter::new(&columns, format, out)?;
    let all = list.iter().flat_map(|object| object.functions.iter().map(move |of| (object, of)));
    for (object, (_, function, of)) in all.take(limit) {
        let count = Value::UBigInt;
        let dead = if object.name == "(stack)" { Value::Null } else { count(of.dead_bytes) };
        rows.row(&[
            word(object.name.clone()),
            word(object.address.map(|address| format!("{address:#x}"))),
            object.bytes.map_or(Value::Null, count),
            word(function.clone()),
            count(of.volume.reads),
            count(of.volume.read_bytes),
            count(of.volume.writes),
            count(of.volume.written_bytes),
            count(of.unique_bytes),
            dead,
            Value::BigInt(of.first_seq),
            Value::BigInt(of.last_seq),
        ])?;
    }
    rows.finish()
}
