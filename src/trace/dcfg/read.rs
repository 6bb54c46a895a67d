//! From a JSON document to a graph.

use super::check;
use super::graph::{Edge, EdgeKind, Graph, Id, Image, MOST, NodeKind, Process};
use super::json::{self, Table, integer};
use super::notes::Notes;
use crate::diagnostics::{Diagnostic, Severity};
use crate::trace::input::Input;
use crate::trace::{Listener, TraceError};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// Bytes of a graph at most; it is kept in memory.
const LARGEST: usize = 1 << 30;
/// Instructions of a block at most.
const LONGEST: u64 = u32::MAX as u64;

/// Bytes of memory that are not worth a refusal: the limit is looked at again.
const LITTLE: u64 = 64 << 20;

/// Reads a whole DCFG.
pub fn read_graph(input: Input, listener: &mut impl Listener) -> Result<Graph, TraceError> {
    let name = input.name().to_owned();
    let left = listener.memory();
    let most = usize::try_from((left / 4).max(LITTLE)).unwrap_or(usize::MAX);
    let mapped = input.is_mapped();
    let (bytes, damage) = input.whole(if mapped { LARGEST } else { LARGEST.min(most) })?;
    listener.progress(bytes.consumed);
    if let Some(damage) = damage {
        listener.diagnostic(damage.into_damage()?);
    }
    let needed = needed(&bytes);
    if needed > left.max(LITTLE) {
        return Err(TraceError::Malformed {
            name,
            position: "1".into(),
            message: format!(
                "the document takes {} MiB of memory; {} MiB are left for it",
                needed >> 20,
                left >> 20
            ),
            remedy: "record a smaller part of the run".into(),
        });
    }
    let document = document(&bytes, &name, listener)?;
    graph(&document, &mut Notes { name: &name, listener }).map_err(|message| {
        let remedy = "give a DCFG as its document describes it".to_owned();
        TraceError::Malformed { name: name.clone(), position: "1".into(), message, remedy }
    })
}

/// Bytes of memory that a document takes at most: 32 for each cell, and as many again for the room
/// that an array has, as many for a text, and for an object a node of a tree, whatever is in it.
fn needed(bytes: &[u8]) -> u64 {
    const OBJECT: u64 = 704;
    let cells = memchr::memchr2_iter(b',', b'[', bytes).count() as u64;
    let texts = memchr::memchr_iter(b'"', bytes).count() as u64 / 2;
    let objects = memchr::memchr_iter(b'{', bytes).count() as u64;
    64 * cells + 32 * texts + OBJECT * objects + bytes.len() as u64
}

/// The JSON document; of a damaged one what stands before the damage.
fn document(bytes: &[u8], name: &str, listener: &mut impl Listener) -> Result<Value, TraceError> {
    if let Ok(document) = serde_json::from_slice(bytes) {
        return Ok(document);
    }
    let mut text = bytes.to_vec();
    json::mend_numbers(&mut text);
    let error = match serde_json::from_slice(&text) {
        Ok(document) => return Ok(document),
        Err(error) => error,
    };
    // Up to the damage, which is where the parser stopped.
    let line = error.line().saturating_sub(1);
    let start = if line == 0 {
        0
    } else {
        memchr::memchr_iter(b'\n', &text).nth(line - 1).map_or(0, |n| n + 1)
    };
    let end = start.saturating_add(error.column().saturating_sub(1)).min(text.len());
    let mended = json::mend_end(&text[..end]).and_then(|t| serde_json::from_slice(&t).ok());
    let Some(document) = mended else {
        return Err(TraceError::Malformed {
            name: name.to_owned(),
            position: format!("{}:{}", error.line(), error.column()),
            message: format!("no JSON: {error}"),
            remedy: "write the file again".to_owned(),
        });
    };
    listener.diagnostic(Diagnostic {
        severity: Severity::Error,
        code: "damaged-input",
        message: format!("{error}; what follows was lost"),
        position: format!("{name}:{}:{}", error.line(), error.column()),
        remedy: "copy or record the file again; what was read up to here is in the database",
    });
    Ok(document)
}

/// A table of the document, or what is wrong with it as a diagnostic.
pub(super) fn table<'a>(
    object: &'a Value,
    key: &str,
    names: &[&str],
    required: usize,
    place: &str,
    notes: &mut Notes,
) -> Option<Table<'a>> {
    match Table::new(object.get(key), names, required) {
        Ok(table) => table,
        Err(wrong) => {
            notes.lost("dcfg-table", place, format!("{key} {wrong}"));
            None
        }
    }
}

pub(super) struct Reader<'n, 'a> {
    pub(super) notes: &'n mut Notes<'a>,
    file_by_id: FxHashMap<Id, u32>,
    type_by_id: FxHashMap<Id, u32>,
    /// An id beyond the 31 bits of the document was seen.
    wide: Option<Id>,
    graph: Graph,
}

/// The graph of a whole document. What is wrong with it goes to `notes`; an error is for a document
/// that is none.
fn graph(document: &Value, notes: &mut Notes) -> Result<Graph, String> {
    if !document.is_object() {
        return Err("the document is not an object".into());
    }
    let mut reader = Reader {
        notes,
        file_by_id: FxHashMap::default(),
        type_by_id: FxHashMap::default(),
        wide: None,
        graph: Graph::default(),
    };
    reader.top(document);
    Ok(reader.graph)
}

impl Reader<'_, '_> {
    /// A count, if a run may have so many.
    fn count(&mut self, count: Option<u64>, place: &str, what: impl Fn() -> String) -> Option<u64> {
        let count = count?;
        if count > MOST {
            let message = format!("{} counts {count}, more than any run has", what());
            self.notes.lost("dcfg-count", place, message);
            return None;
        }
        Some(count)
    }

    pub(super) fn id(&mut self, id: Option<u64>, place: &str, what: &str) -> Option<Id> {
        match id {
            None => {
                self.notes.lost("dcfg-cell", place, format!("{what} is missing or no integer"));
                None
            }
            Some(id) => {
                if id > 0x7fff_ffff && self.wide.is_none() {
                    self.wide = Some(id);
                    let message = format!("{what} {id} is wider than 31 bits");
                    self.notes.add(
                        Severity::Info,
                        "dcfg-wide-id",
                        place,
                        message,
                        "nothing: such ids work here",
                    );
                }
                Some(id)
            }
        }
    }

    fn top(&mut self, document: &Value) {
        self.version(document);
        self.file_names(document);
        self.edge_types(document);
        self.special_nodes(document);
        if let Some(t) =
            table(document, "PROCESSES", &["PROCESS_ID", "PROCESS_DATA"], 2, "", self.notes)
        {
            for row in t.rows() {
                match (row.integer(0), row.cell(1)) {
                    (Some(pid), Some(data)) => self.process(pid, data),
                    _ => {
                        self.notes.lost(
                            "dcfg-cell",
                            "PROCESSES",
                            "a row without id or data".into(),
                        );
                    }
                }
            }
        }
        if self.graph.processes.is_empty() {
            self.notes.warn("dcfg-empty", "", "no process".into());
        }
    }

    fn version(&mut self, document: &Value) {
        let version = |key| document.get(key).and_then(integer);
        match (version("MAJOR_VERSION"), version("MINOR_VERSION")) {
            (Some(major), minor) => {
                self.graph.version = (major, minor.unwrap_or(0));
                if major > 1 {
                    let message = format!(
                        "version {major}.{:02}: known are 0.03 to 1.00",
                        minor.unwrap_or(0)
                    );
                    self.notes.add(
                        Severity::Warning,
                        "dcfg-version",
                        "",
                        message,
                        "what is unknown was ignored: compare with another reader",
                    );
                }
            }
            (None, _) => self.notes.warn("dcfg-version", "", "no version".into()),
        }
    }

    fn file_names(&mut self, document: &Value) {
        if let Some(t) =
            table(document, "FILE_NAMES", &["FILE_NAME_ID", "FILE_NAME"], 2, "", self.notes)
        {
            for row in t.rows() {
                let (Some(id), Some(name)) = (row.integer(0), row.string(1)) else {
                    self.notes.lost("dcfg-cell", "FILE_NAMES", "a row without id or name".into());
                    continue;
                };
                self.graph.files.push(name.to_owned());
                if self.file_by_id.insert(id, self.graph.files.len() as u32 - 1).is_some() {
                    self.notes.warn(
                        "dcfg-duplicate-id",
                        "FILE_NAMES",
                        format!("file name {id} is there twice"),
                    );
                }
            }
        }
    }

    fn edge_types(&mut self, document: &Value) {
        if let Some(t) =
            table(document, "EDGE_TYPES", &["EDGE_TYPE_ID", "EDGE_TYPE"], 2, "", self.notes)
        {
            for row in t.rows() {
                let (Some(id), Some(name)) = (row.integer(0), row.string(1)) else {
                    self.notes.lost("dcfg-cell", "EDGE_TYPES", "a row without id or type".into());
                    continue;
                };
                self.graph.types.push(name.to_owned());
                if self.type_by_id.insert(id, self.graph.types.len() as u32 - 1).is_some() {
                    self.notes.warn(
                        "dcfg-duplicate-id",
                        "EDGE_TYPES",
                        format!("edge type {id} is there twice"),
                    );
                }
            }
        }
    }

    fn special_nodes(&mut self, document: &Value) {
        if let Some(t) =
            table(document, "SPECIAL_NODES", &["NODE_ID", "NODE_NAME"], 2, "", self.notes)
        {
            for row in t.rows() {
                match (row.integer(0), row.string(1)) {
                    (Some(id), Some(name)) => self.graph.specials.push((id, name.to_owned())),
                    _ => self.notes.lost(
                        "dcfg-cell",
                        "SPECIAL_NODES",
                        "a row without id or name".into(),
                    ),
                }
            }
        }
    }

    fn process(&mut self, pid: u64, data: &Value) {
        let place = format!("process {pid}");
        let per_thread = data.get("INSTR_COUNT_PER_THREAD").and_then(Value::as_array);
        let per_thread: Vec<Option<u64>> =
            per_thread.map(|a| a.iter().map(integer).collect()).unwrap_or_default();
        let of_thread = |t: usize| format!("INSTR_COUNT_PER_THREAD of thread {t}");
        let mut process = Process {
            pid,
            instructions: self.count(data.get("INSTR_COUNT").and_then(integer), &place, || {
                "INSTR_COUNT".to_owned()
            }),
            instructions_per_thread: (0..)
                .zip(per_thread)
                .map(|(t, n)| self.count(n, &place, || of_thread(t)).unwrap_or(0))
                .collect(),
            ..Process::default()
        };
        for (id, name) in &self.graph.specials {
            let kind = match name.as_str() {
                "START" => NodeKind::Start,
                "END" => NodeKind::End,
                _ => NodeKind::Unknown,
            };
            process.node(*id, kind);
        }
        let mut routines = Vec::new();
        let names = ["IMAGE_ID", "LOAD_ADDR", "SIZE", "IMAGE_DATA"];
        if let Some(t) = table(data, "IMAGES", &names, 2, &place, self.notes) {
            for row in t.rows() {
                let (Some(id), Some(load_address)) = (row.integer(0), row.integer(1)) else {
                    self.notes.lost(
                        "dcfg-cell",
                        &place,
                        "an image without id or load address".into(),
                    );
                    continue;
                };
                let place = format!("{place}, image {id}");
                if process.images.iter().any(|i| i.id == id) {
                    self.notes.warn(
                        "dcfg-duplicate-id",
                        &place,
                        format!("image {id} is there twice"),
                    );
                }
                process.images.push(Image {
                    id,
                    load_address,
                    size: row.integer(2).unwrap_or(0),
                    ..Image::default()
                });
                if let Some(data) = row.cell(3) {
                    self.image(&mut process, data, &place);
                    routines.push((process.images.len() as u32 - 1, data, place));
                }
            }
        }
        check::overlaps(&process, &place, self.notes);
        self.edges(&mut process, data, &place);
        for (image, data, place) in routines {
            self.routines(&mut process, image, data, &place);
        }
        check::rules(&mut process, &place, self.notes);
        self.graph.processes.push(process);
    }

    fn image(&mut self, process: &mut Process, data: &Value, place: &str) {
        let number = process.images.len() - 1;
        if let Some(id) = data.get("FILE_NAME_ID").and_then(integer) {
            match self.file_by_id.get(&id) {
                Some(&file) => {
                    process.images[number].path = Some(self.graph.files[file as usize].clone());
                }
                None => self.notes.warn(
                    "dcfg-unknown-id",
                    place,
                    format!("file name {id} is not in FILE_NAMES"),
                ),
            }
        }
        self.symbols(&mut process.images[number], data, place);
        self.lines(&mut process.images[number], data, place);
        self.blocks(process, data, place);
    }

    fn symbols(&mut self, image: &mut Image, data: &Value, place: &str) {
        let base = image.load_address;
        if let Some(t) =
            table(data, "SYMBOLS", &["NAME", "ADDR_OFFSET", "SIZE"], 2, place, self.notes)
        {
            for row in t.rows() {
                match (row.string(0), row.integer(1)) {
                    (Some(name), Some(offset)) => {
                        let symbol = (
                            base.wrapping_add(offset),
                            row.integer(2).unwrap_or(0),
                            name.to_owned(),
                        );
                        image.symbols.push(symbol);
                    }
                    _ => self.notes.lost(
                        "dcfg-cell",
                        place,
                        "a symbol without name or address".into(),
                    ),
                }
            }
            image.symbols.sort();
        }
    }

    /// Source lines.
    fn lines(&mut self, image: &mut Image, data: &Value, place: &str) {
        let base = image.load_address;
        let names = ["FILE_NAME_ID", "LINE_NUM", "ADDR_OFFSET", "SIZE"];
        if let Some(t) = table(data, "SOURCE_DATA", &names, 3, place, self.notes) {
            for row in t.rows() {
                let (Some(id), Some(line), Some(offset)) =
                    (row.integer(0), row.integer(1), row.integer(2))
                else {
                    self.notes.lost(
                        "dcfg-cell",
                        place,
                        "source data without file, line or address".into(),
                    );
                    continue;
                };
                let Some(&file) = self.file_by_id.get(&id) else {
                    self.notes.warn(
                        "dcfg-unknown-id",
                        place,
                        format!("file name {id} is not in FILE_NAMES"),
                    );
                    continue;
                };
                let line = u32::try_from(line).unwrap_or(0);
                image.lines.push((
                    base.wrapping_add(offset),
                    row.integer(3).unwrap_or(0),
                    file,
                    line,
                ));
            }
            image.lines.sort_unstable();
        }
    }

    /// The blocks of the image read last.
    fn blocks(&mut self, process: &mut Process, data: &Value, place: &str) {
        let number = process.images.len() - 1;
        let (base, size) = (process.images[number].load_address, process.images[number].size);
        let names = ["NODE_ID", "ADDR_OFFSET", "NUM_INSTRS", "SIZE", "LAST_INSTR_OFFSET", "COUNT"];
        if let Some(t) = table(data, "BASIC_BLOCKS", &names, 2, place, self.notes) {
            process.nodes.reserve(t.len());
            for row in t.rows() {
                let Some(id) = self.id(row.integer(0), place, "a block's id") else { continue };
                let Some(offset) = row.integer(1) else {
                    self.notes.lost("dcfg-cell", place, format!("block {id} without address"));
                    continue;
                };
                if process.node_by_id.contains_key(&id) {
                    self.notes.lost(
                        "dcfg-duplicate-id",
                        place,
                        format!("node {id} is there twice"),
                    );
                    continue;
                }
                let (bytes, last) = (row.integer(3).unwrap_or(0), row.integer(4).unwrap_or(0));
                if size > 0 && offset.saturating_add(bytes) > size {
                    self.notes.warn(
                        "dcfg-block-outside",
                        place,
                        format!("block {id} lies outside of the image's {size} bytes"),
                    );
                }
                if bytes > 0 && last >= bytes {
                    self.notes.warn(
                        "dcfg-last-instruction",
                        place,
                        format!("the last instruction of block {id} is behind it"),
                    );
                }
                let what = |column| format!("{column} of block {id}");
                let instructions = row.integer(2).filter(|&n| n <= LONGEST);
                if instructions.is_none()
                    && let Some(n) = row.integer(2)
                {
                    let message = format!("{} is {n}, more than any block has", what("NUM_INSTRS"));
                    self.notes.lost("dcfg-count", place, message);
                }
                let instructions = instructions.unwrap_or(0);
                let count = self.count(row.integer(5), place, || what("COUNT"));
                let address = base.wrapping_add(offset);
                let node = process.node(id, NodeKind::Block);
                let node = &mut process.nodes[node as usize];
                node.image = number as u32;
                node.address = address;
                node.size = bytes;
                node.instructions = instructions;
                node.last_address = address.wrapping_add(last);
                node.count = count;
            }
        }
    }

    fn edges(&mut self, process: &mut Process, data: &Value, place: &str) {
        let names =
            ["EDGE_ID", "SOURCE_NODE_ID", "TARGET_NODE_ID", "EDGE_TYPE_ID", "COUNT_PER_THREAD"];
        let Some(t) = table(data, "EDGES", &names, 3, place, self.notes) else { return };
        process.edges.reserve(t.len());
        for row in t.rows() {
            if [0, 1, 2].iter().all(|&c| row.integer(c) == Some(0)) {
                // A placeholder that one writer leaves.
                continue;
            }
            let ends = (
                self.id(row.integer(1), place, "an edge's source"),
                self.id(row.integer(2), place, "an edge's target"),
            );
            let (Some(id), (Some(source), Some(target))) =
                (self.id(row.integer(0), place, "an edge's id"), ends)
            else {
                continue;
            };
            if process.edge_by_id.contains_key(&id) {
                self.notes.lost("dcfg-duplicate-id", place, format!("edge {id} is there twice"));
                continue;
            }
            let type_name = match row.integer(3).and_then(|t| self.type_by_id.get(&t).copied()) {
                Some(found) => found,
                None => {
                    self.notes.warn(
                        "dcfg-unknown-id",
                        place,
                        format!("edge {id} has a type that is not in EDGE_TYPES"),
                    );
                    self.unknown_type()
                }
            };
            let mut end = |node: Id| match process.node_by_id.get(&node) {
                Some(&found) => found,
                None => {
                    self.notes.warn(
                        "dcfg-unknown-id",
                        place,
                        format!("edge {id} joins node {node}, which is nowhere"),
                    );
                    process.node(node, NodeKind::Unknown)
                }
            };
            let (source, target) = (end(source), end(target));
            let counts = row.integers(4).into_iter();
            let counts = counts.map(|n| self.count(Some(n), place, || format!("edge {id}")));
            let counts: Vec<u64> = counts.map(Option::unwrap_or_default).collect();
            let threads = process.instructions_per_thread.len();
            if counts.len() > threads && threads > 0 {
                self.notes.warn(
                    "dcfg-thread-count",
                    place,
                    format!("edge {id} counts {} threads of {threads}", counts.len()),
                );
            }
            let kind = EdgeKind::of(&self.graph.types[type_name as usize]);
            process.edge_by_id.insert(id, process.edges.len() as u32);
            process.edges.push(Edge { id, source, target, kind, type_name, counts });
        }
    }

    fn unknown_type(&mut self) -> u32 {
        let found = self.graph.types.iter().position(|t| t == "UNKNOWN");
        found.unwrap_or_else(|| {
            self.graph.types.push("UNKNOWN".into());
            self.graph.types.len() - 1
        }) as u32
    }
}
