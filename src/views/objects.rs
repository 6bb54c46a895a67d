//! Which functions use which variables, their fields, buffers and other memory, as a table.

use super::sites::{Sites, own};
use super::{ViewError, report};
use crate::graph::FunctionNames;
use crate::id::FunctionId;
use crate::query::{each, is_prepared};
use crate::render::rows::{RowFormat, RowWriter, word};
use crate::replay::allocations::{Allocations, Allocator, Site};
use crate::replay::objects::{Object, Objects, Use, objects as uses, open};
use crate::replay::{Places, Volume, places};
use duckdb::Connection;
use duckdb::types::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// What an object or a field of one is used by, those with the most bytes first.
pub type Users = Vec<(Option<FunctionId>, Use)>;

/// An object with what functions do with it.
#[derive(Default)]
pub struct ObjectUse {
    /// The variable, or `(heap)` and the like; hostile text.
    pub name: String,
    /// Where it lies; None for what is more than one piece.
    pub address: Option<u64>,
    pub bytes: Option<u64>,
    pub users: Users,
    /// Of a structure: its parts by name, hostile text, too.
    pub fields: BTreeMap<String, Users>,
}

/// Which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    Objects,
    /// Behind each object its fields.
    Fields,
}

fn bytes(users: &Users) -> u64 {
    let all = users.iter().map(|(_, of)| of.volume);
    all.map(|volume| volume.read_bytes.saturating_add(volume.written_bytes)).sum()
}

/// Dead bytes of the stack would be return addresses and saves; what the allocator writes is its own.
pub fn knows_dead(object: &str) -> bool {
    !["(stack)", ALLOCATOR].contains(&object)
}

const ALLOCATOR: &str = "(allocator)";

type Key = (String, Option<u64>, Option<u64>);

/// `(malloc by list list.c:12)`, and the bytes that were asked for there.
fn site(at: Site, found: Option<&Allocations>, sites: &Sites) -> (String, Option<u64>) {
    let bytes = found.and_then(|found| found.sites.get(&at)).map(|sum| sum.bytes);
    let allocator = found.map_or("?", |found| sites.allocator(found, at));
    let name = match (sites.place(at), at.instruction) {
        (Some((function, "")), Some(instruction)) => {
            format!("({allocator} by {function} instruction {instruction})")
        }
        (Some((function, line)), _) => format!("({allocator} by {function} {line})"),
        (None, _) => format!("({allocator})"),
    };
    (name, bytes)
}

fn named(
    object: &Object,
    places: &Places,
    found: Option<&Allocations>,
    sites: &Sites,
) -> (Key, Option<String>) {
    let variable = |at: usize| {
        let variable = &places.variables()[at];
        (variable.name.clone(), Some(variable.address), Some(variable.size))
    };
    match object {
        Object::Variable(at) => (variable(*at), None),
        Object::Field(at, field) => {
            (variable(*at), Some(places.variables()[*at].field_name(*field).to_owned()))
        }
        Object::Buffer { first, last } => {
            let size = (last - first).saturating_add(1);
            (("(heap)".to_owned(), Some(*first), Some(size)), None)
        }
        Object::Via(via) => ((format!("({via})"), None, None), None),
        Object::Allocations(at) => {
            let (name, bytes) = site(*at, found, sites);
            ((name, None, bytes), None)
        }
        Object::Allocator => ((ALLOCATOR.to_owned(), None, None), None),
        Object::Unallocated => (("(not allocated)".to_owned(), None, None), None),
    }
}

/// As `addfg prepare` has stored them.
fn prepared(connection: &Connection) -> Result<Vec<ObjectUse>, ViewError> {
    let mut objects = BTreeMap::new();
    each(connection, report!("objects"), &[], |r| {
        let volume = Volume {
            reads: r.get(5)?,
            read_bytes: r.get(6)?,
            writes: r.get(7)?,
            written_bytes: r.get(8)?,
        };
        let of = Use {
            volume,
            unique_bytes: r.get(9)?,
            dead_bytes: r.get::<_, Option<u64>>(10)?.unwrap_or(0),
            first_seq: r.get(11)?,
            last_seq: r.get(12)?,
        };
        let key = (r.get(0)?, r.get(2)?, r.get(3)?);
        add(&mut objects, key, r.get(1)?, (r.get(4)?, of));
        Ok(())
    })?;
    Ok(objects.into_values().collect())
}

fn add(
    objects: &mut BTreeMap<Key, ObjectUse>,
    key: Key,
    field: Option<String>,
    user: (Option<FunctionId>, Use),
) {
    let (name, address, bytes) = key.clone();
    let new = || ObjectUse { name, address, bytes, ..ObjectUse::default() };
    let object = objects.entry(key).or_insert_with(new);
    match field {
        None => object.users.push(user),
        Some(field) => object.fields.entry(field).or_default().push(user),
    }
}

/// Objects, and how many calls of allocation functions are left out of them, as the trace does not tell
/// their arguments or results; None: it is not known any more.
pub type Found = (Vec<ObjectUse>, Option<u64>);

/// Goes through the run once. `only`: what these functions use, if it has any. `more`: names of functions that do
/// what allocation functions do.
pub fn find(
    connection: &Connection,
    only: &BTreeSet<FunctionId>,
    more: &[(&str, &'static Allocator)],
) -> Result<Found, ViewError> {
    let (code, places) = (open(connection, !more.is_empty())?, places(connection)?);
    let more = own(connection, more)?;
    let sites = Sites::read(connection, &code, &more, &BTreeMap::new())?;
    let Objects { uses, allocations } =
        uses(code, connection, &places, (&more, only), &sites.representative)?;
    let mut found = BTreeMap::new();
    for ((object, function), of) in uses {
        let (key, field) = named(&object, &places, allocations.as_ref(), &sites);
        add(&mut found, key, field, (function, of));
    }
    let unknown = allocations.map(|found| found.unknown);
    Ok((found.into_values().collect(), unknown))
}

/// Objects with the most traffic first: as they are stored, else by going through the run once.
/// `only`: what these functions do with those that they use, if it has any. `more`: names of functions that do what
/// allocation functions do, beside those that the recording or the build was told of.
pub fn objects(
    connection: &Connection,
    only: &BTreeSet<FunctionId>,
    more: &[(&str, &'static Allocator)],
) -> Result<Found, ViewError> {
    let (mut list, unknown) = if more.is_empty() && is_prepared(connection)? {
        (prepared(connection)?, None)
    } else {
        find(connection, only, more)?
    };
    for object in &mut list {
        for users in object.fields.values_mut().chain([&mut object.users]) {
            let volume = |of: &Use| of.volume.read_bytes.saturating_add(of.volume.written_bytes);
            users.sort_by_key(|(id, of)| (Reverse(volume(of)), *id));
        }
    }
    if !only.is_empty() {
        let one = |of: &(Option<FunctionId>, Use)| of.0.is_some_and(|id| only.contains(&id));
        list.retain(|object| object.users.iter().any(one));
        for object in &mut list {
            object.users.retain(one);
            object.fields.values_mut().for_each(|users| users.retain(one));
            object.fields.retain(|_, users| !users.is_empty());
        }
    }
    list.sort_by_key(|object| Reverse(bytes(&object.users)));
    Ok((list, unknown))
}

/// A row for each object, or field, and function that uses it.
pub fn write(
    connection: &Connection,
    list: &[ObjectUse],
    (rows, limit): (Rows, usize),
    format: RowFormat,
    out: &mut dyn Write,
) -> Result<u64, ViewError> {
    let mut columns = vec!["object", "address", "bytes", "function"];
    let figures = [
        "reads",
        "read_bytes",
        "writes",
        "written_bytes",
        "unique_bytes",
        "dead_bytes",
        "first_seq",
        "last_seq",
    ];
    columns.extend(figures);
    if rows == Rows::Fields {
        columns.insert(1, "field");
    }
    let names = FunctionNames::read(connection)?;
    let io = |error| ViewError::Io { path: "standard output".to_owned(), error };
    let mut writer = RowWriter::new(&columns, format, out).map_err(io)?.short_names();
    let all = list.iter().flat_map(|object| {
        let fields = object.fields.iter().filter(|_| rows == Rows::Fields);
        let fields = fields.map(|(name, users)| (Some(name), users));
        let parts = std::iter::once((None, &object.users)).chain(fields);
        parts.flat_map(move |(field, users)| users.iter().map(move |user| (object, field, user)))
    });
    for (object, field, (function, of)) in all.take(limit) {
        let count = Value::UBigInt;
        let dead = if knows_dead(&object.name) { count(of.dead_bytes) } else { Value::Null };
        let mut row = vec![word(object.name.clone())];
        if rows == Rows::Fields {
            row.push(word(field.cloned()));
        }
        row.extend([
            word(object.address.map(|address| format!("{address:#x}"))),
            object.bytes.map_or(Value::Null, count),
            word(names.name(*function).to_owned()),
            count(of.volume.reads),
            count(of.volume.read_bytes),
            count(of.volume.writes),
            count(of.volume.written_bytes),
            count(of.unique_bytes),
            dead,
            Value::BigInt(of.first_seq),
            Value::BigInt(of.last_seq),
        ]);
        writer.row(&row).map_err(io)?;
    }
    writer.finish().map_err(io)
}
