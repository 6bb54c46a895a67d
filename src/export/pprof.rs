//! pprof's profile: stacks with what they cost, as gzipped protocol buffers. (google/pprof,
//! `proto/profile.proto`: the numbers here are the field numbers there.)

use super::calls::Unit;
use super::error::ExportError;
use super::folded;
use super::options::Options;
use crate::graph::FunctionNames;
use crate::id::FunctionId;
use duckdb::Connection;
use std::collections::{BTreeSet, HashMap};
use std::io::Write;

fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// A number; protocol buffers leave out zeros.
fn number(out: &mut Vec<u8>, field: u64, n: u64) {
    if n != 0 {
        varint(out, field << 3);
        varint(out, n);
    }
}

fn bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Numbers of a repeated field.
fn numbers(out: &mut Vec<u8>, field: u64, list: impl Iterator<Item = u64>) {
    let mut packed = Vec::new();
    list.for_each(|n| varint(&mut packed, n));
    bytes(out, field, &packed);
}

/// Texts by number; number 0 is the empty one.
#[derive(Default)]
struct Strings(HashMap<String, u64>, Vec<String>);

impl Strings {
    fn id(&mut self, text: &str) -> u64 {
        if self.1.is_empty() {
            self.1.push(String::new());
            self.0.insert(String::new(), 0);
        }
        if let Some(&id) = self.0.get(text) {
            return id;
        }
        self.1.push(text.to_owned());
        self.0.insert(text.to_owned(), self.1.len() as u64 - 1);
        self.1.len() as u64 - 1
    }
}

/// An image at its run-time addresses.
struct Mapped {
    path: String,
    start: u64,
    end: u64,
}

/// Where a function is.
struct Place {
    /// Number of its image, from 1; 0: none.
    mapping: u64,
    address: Option<u64>,
    /// The first of its lines that ran.
    line: Option<u64>,
}

/// Where images and functions are.
struct Places {
    images: Vec<Mapped>,
    functions: HashMap<FunctionId, Place>,
}

impl Places {
    fn read(connection: &Connection) -> Result<Places, ExportError> {
        let sql = "SELECT i.image_id, i.path, min(s.address), max(s.address + s.size) FROM image i JOIN section s USING (image_id)
                   GROUP BY ALL ORDER BY 1";
        let (mut images, mut numbers) = (Vec::new(), HashMap::new());
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            images.push(Mapped { path: r.get(1)?, start: r.get(2)?, end: r.get(3)? });
            numbers.insert(r.get::<_, i32>(0)?, images.len() as u64);
        }
        let sql = "SELECT f.function_id, f.image_id, f.address, min(i.line) FILTER (i.file_id = f.file_id)
                   FROM function_symbol f LEFT JOIN instruction i USING (function_id) GROUP BY ALL";
        let mut functions = HashMap::new();
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let image: Option<i32> = r.get(1)?;
            let mapping = image.and_then(|image| numbers.get(&image)).copied().unwrap_or(0);
            let place = Place { mapping, address: r.get(2)?, line: r.get(3)? };
            functions.insert(r.get(0)?, place);
        }
        Ok(Places { images, functions })
    }
}

pub fn write(connection: &Connection, _: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let (stacks, unit) = folded::stacks(connection, "a profile")?;
    let names = FunctionNames::read(connection)?;
    let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    let mut strings = Strings::default();
    let mut part = Vec::new();
    let mut type_of = |strings: &mut Strings, name: &str| {
        part.clear();
        number(&mut part, 1, strings.id(name));
        number(&mut part, 2, strings.id("count"));
        part.clone()
    };
    let cost = if unit == Unit::Steps { "steps" } else { "ticks" };
    let mut head = Vec::new();
    bytes(&mut head, 1, &type_of(&mut strings, "calls"));
    bytes(&mut head, 1, &type_of(&mut strings, cost));
    number(&mut head, 14, strings.id(cost));
    out.write_all(&head)?;
    // A function has one location, of the same number.
    let mut used: BTreeSet<FunctionId> = BTreeSet::new();
    let (mut message, mut sample) = (Vec::new(), Vec::new());
    for (i, stack) in stacks.iter().enumerate() {
        let mut chain = Vec::new();
        let mut at = Some(i);
        while let Some(i) = at {
            chain.push(stacks[i].function_id.get().into());
            used.insert(stacks[i].function_id);
            at = stacks[i].parent;
        }
        sample.clear();
        numbers(&mut sample, 1, chain.into_iter());
        numbers(&mut sample, 2, [stack.calls as u64, stack.own as u64].into_iter());
        message.clear();
        bytes(&mut message, 2, &sample);
        out.write_all(&message)?;
    }
    let places = Places::read(connection)?;
    for (at, image) in (1..).zip(&places.images) {
        let mut mapping = Vec::new();
        number(&mut mapping, 1, at);
        number(&mut mapping, 2, image.start);
        number(&mut mapping, 3, image.end);
        number(&mut mapping, 5, strings.id(&image.path));
        // It has functions, file names and line numbers.
        (7..=9).for_each(|field| number(&mut mapping, field, 1));
        message.clear();
        bytes(&mut message, 3, &mapping);
        out.write_all(&message)?;
    }
    for function_id in used {
        let id = u64::from(function_id.get());
        let place = places.functions.get(&function_id);
        let name = names.name(function_id);
        let file = names.get(function_id).and_then(|f| f.file.as_deref());
        message.clear();
        let mut line = Vec::new();
        number(&mut line, 1, id);
        let first = place.and_then(|place| place.line).unwrap_or(0);
        number(&mut line, 2, first);
        let mut location = Vec::new();
        number(&mut location, 1, id);
        number(&mut location, 2, place.map_or(0, |place| place.mapping));
        number(&mut location, 3, place.and_then(|place| place.address).unwrap_or(0));
        bytes(&mut location, 4, &line);
        bytes(&mut message, 4, &location);
        let mut function = Vec::new();
        number(&mut function, 1, id);
        number(&mut function, 2, strings.id(name));
        number(&mut function, 4, strings.id(file.unwrap_or_default()));
        number(&mut function, 5, first);
        bytes(&mut message, 5, &function);
        out.write_all(&message)?;
    }
    for text in &strings.1 {
        message.clear();
        bytes(&mut message, 6, text.as_bytes());
        out.write_all(&message)?;
    }
    out.finish()?;
    Ok(())
}
