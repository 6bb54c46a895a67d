//! The dynamic control-flow graph itself: what the document's section 2 describes, with its rules
//! checked.

use super::json::{Table, integer};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

/// Ids are 31 bits wide by the document; wider ones are met.
type Id = u64;

/// What an edge does to the call stack, from the name of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    Entry,
    Exit,
    Branch,
    FallThrough,
    Repeat,
    Call,
    Return,
    /// System call, interrupt, fault: into a handler.
    Trap,
    TrapReturn,
    /// Over what was called.
    Bypass,
    Unknown,
}

impl EdgeKind {
    /// Any string is a type (document, section 2.5, whose example has names that its table lacks).
    pub fn of(name: &str) -> EdgeKind {
        match name {
            "ENTRY" => EdgeKind::Entry,
            "EXIT" => EdgeKind::Exit,
            "REP" => EdgeKind::Repeat,
            "FALL_THROUGH" => EdgeKind::FallThrough,
            "RETURN" => EdgeKind::Return,
            "SYSTEM_RETURN" | "CONTEXT_CHANGE_RETURN" | "INTERRUPT_RETURN" => EdgeKind::TrapReturn,
            "SYSTEM_CALL" | "CONTEXT_CHANGE" | "INTERRUPT" => EdgeKind::Trap,
            n if n.ends_with("_BYPASS") => EdgeKind::Bypass,
            n if n == "CALL" || n.ends_with("_CALL") => EdgeKind::Call,
            n if n == "BRANCH" || n.ends_with("_BRANCH") => EdgeKind::Branch,
            _ => EdgeKind::Unknown,
        }
    }

    /// The word in `cfg_edge.kind`.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Entry => "entry",
            EdgeKind::Exit => "exit",
            EdgeKind::Branch => "branch",
            EdgeKind::FallThrough => "fall-through",
            EdgeKind::Repeat => "repeat",
            EdgeKind::Call => "call",
            EdgeKind::Return => "return",
            EdgeKind::Trap => "trap",
            EdgeKind::TrapReturn => "trap-return",
            EdgeKind::Bypass => "bypass",
            EdgeKind::Unknown => "unknown",
        }
    }

    /// Control stays in the routine (document, section 2.14).
    pub fn is_inside(self) -> bool {
        matches!(
            self,
            EdgeKind::Branch
                | EdgeKind::FallThrough
                | EdgeKind::Repeat
                | EdgeKind::Bypass
                | EdgeKind::Unknown
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Block,
    Start,
    End,
    /// No code is known for it.
    Unknown,
}

impl NodeKind {
    /// The word in `basic_block.kind`.
    pub fn name(self) -> &'static str {
        ["block", "start", "end", "unknown"][self as usize]
    }
}

#[derive(Clone, Debug)]
pub struct Node {
    pub id: Id,
    pub kind: NodeKind,
    /// Index into the process's images; meaningless for nodes without code.
    pub image: u32,
    pub address: u64,
    /// Bytes; 0 where the writer does not know.
    pub size: u64,
    pub instructions: u64,
    pub last_address: u64,
    /// What the block table says.
    pub count: Option<u64>,
    /// Sum of the counts of the edges that enter it.
    pub entered: u64,
    /// Innermost loop and routine, as indices.
    pub inner_loop: Option<u32>,
    pub routine: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct Edge {
    pub id: Id,
    /// Indices into the nodes.
    pub source: u32,
    pub target: u32,
    pub kind: EdgeKind,
    /// Index into [`Graph::types`].
    pub type_name: u32,
    /// By thread; may be shorter than there are threads.
    pub counts: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Image {
    pub id: Id,
    pub path: Option<String>,
    pub load_address: u64,
    pub size: u64,
    /// Run-time address, bytes, name; by address.
    pub symbols: Vec<(u64, u64, String)>,
    /// Run-time address, bytes, file, line; by address.
    pub lines: Vec<(u64, u64, u32, u32)>,
}

impl Image {
    /// The innermost symbol that holds the address.
    pub fn symbol_at(&self, address: u64) -> Option<usize> {
        let after = self.symbols.partition_point(|s| s.0 <= address);
        (0..after).rev().take(16).find(|&i| address - self.symbols[i].0 < self.symbols[i].1.max(1))
    }
    /// File (index into [`Graph::files`]) and line.
    pub fn line_at(&self, address: u64) -> Option<(u32, u32)> {
        let after = self.lines.partition_point(|l| l.0 <= address);
        let &(start, size, file, line) = self.lines.get(after.checked_sub(1)?)?;
        (address - start < size.max(1)).then_some((file, line))
    }
}

#[derive(Clone, Debug)]
pub struct Routine {
    pub image: u32,
    pub entry: u32,
    pub exits: Vec<u32>,
    /// Node and immediate dominator.
    pub nodes: Vec<(u32, Option<u32>)>,
}

#[derive(Clone, Debug)]
pub struct Loop {
    pub routine: u32,
    pub header: u32,
    pub back_edge_sources: Vec<u32>,
    /// Sorted.
    pub nodes: Vec<u32>,
    pub parent: Option<u32>,
    pub depth: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Process {
    pub pid: u64,
    pub instructions: Option<u64>,
    pub instructions_per_thread: Vec<u64>,
    pub images: Vec<Image>,
    /// The special nodes first.
    pub nodes: Vec<Node>,
    pub node_by_id: FxHashMap<Id, u32>,
    pub edges: Vec<Edge>,
    pub edge_by_id: FxHashMap<Id, u32>,
    pub routines: Vec<Routine>,
    /// A loop comes after those around it.
    pub loops: Vec<Loop>,
}

#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub version: (u64, u64),
    pub files: Vec<String>,
    /// Names of edge types.
    pub types: Vec<String>,
    /// Special nodes: id, name.
    pub specials: Vec<(Id, String)>,
    pub processes: Vec<Process>,
}

/// Takes problems of one file.
pub struct Notes<'a> {
    pub name: &'a str,
    pub all: &'a mut Diagnostics,
}

impl Notes<'_> {
    pub fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: &str,
        message: String,
        remedy: &'static str,
    ) {
        let position =
            if place.is_empty() { self.name.to_owned() } else { format!("{}: {place}", self.name) };
        self.all.add(Diagnostic { severity, code, message, position, remedy });
    }
    /// Something in the file is not as the document wants it; nothing of it was lost.
    pub fn warn(&mut self, code: &'static str, place: &str, message: String) {
        self.add(
            Severity::Warning,
            code,
            place,
            message,
            "the writer of the file breaks a rule of the DCFG document",
        );
    }
    /// Something in the file could not be used.
    fn lost(&mut self, code: &'static str, place: &str, message: String) {
        self.add(
            Severity::Error,
            code,
            place,
            message,
            "what is said here was left out: write the file again",
        );
    }
}

/// A table of the document, or what is wrong with it as a diagnostic.
fn table<'a>(
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

struct Reader<'n, 'a> {
    notes: &'n mut Notes<'a>,
    file_by_id: FxHashMap<Id, u32>,
    type_by_id: FxHashMap<Id, u32>,
    /// An id beyond the 31 bits of the document was seen.
    wide: Option<Id>,
    graph: Graph,
}

impl Graph {
    /// Reads a whole DCFG. What is wrong with it goes to `notes`; an error is for a document that
    /// is none.
    pub fn read(document: &Value, notes: &mut Notes) -> Result<Graph, String> {
        if !document.is_object() {
            return Err("the document is no object".into());
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
}

impl Reader<'_, '_> {
    fn id(&mut self, id: Option<u64>, place: &str, what: &str) -> Option<Id> {
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
        if let Some(t) =
            table(document, "PROCESSES", &["PROCESS_ID", "PROCESS_DATA"], 2, "", self.notes)
        {
            for row in t.rows() {
                match (row.integer(0), row.cell(1)) {
                    (Some(pid), Some(data)) => self.process(pid, data),
                    _ => {
                        self.notes.lost("dcfg-cell", "PROCESSES", "a row without id or data".into())
                    }
                }
            }
        }
        if self.graph.processes.is_empty() {
            self.notes.warn("dcfg-empty", "", "no process".into());
        }
    }

    fn process(&mut self, pid: u64, data: &Value) {
        let place = format!("process {pid}");
        let per_thread = data.get("INSTR_COUNT_PER_THREAD").and_then(Value::as_array);
        let mut process = Process {
            pid,
            instructions: data.get("INSTR_COUNT").and_then(integer),
            instructions_per_thread: per_thread
                .map(|a| a.iter().map(|v| integer(v).unwrap_or(0)).collect())
                .unwrap_or_default(),
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
        self.overlaps(&process, &place);
        self.edges(&mut process, data, &place);
        for (image, data, place) in routines {
            self.routines(&mut process, image, data, &place);
        }
        self.rules(&mut process, &place);
        self.graph.processes.push(process);
    }

    /// Images may lie over one another when one was unloaded before another came; worth knowing.
    fn overlaps(&mut self, process: &Process, place: &str) {
        let mut spans: Vec<_> = process
            .images
            .iter()
            .map(|i| (i.load_address, i.load_address.saturating_add(i.size), i.id))
            .collect();
        spans.sort_unstable();
        for pair in spans.windows(2) {
            if pair[1].0 < pair[0].1 {
                let message =
                    format!("images {} and {} lie over one another", pair[0].2, pair[1].2);
                let remedy =
                    "nothing, if one was unloaded before the other came: blocks know their image";
                self.notes.add(Severity::Info, "dcfg-overlap", place, message, remedy);
            }
        }
    }

    fn image(&mut self, process: &mut Process, data: &Value, place: &str) {
        let number = process.images.len() - 1;
        let (base, size) = (process.images[number].load_address, process.images[number].size);
        if let Some(id) = data.get("FILE_NAME_ID").and_then(integer) {
            match self.file_by_id.get(&id) {
                Some(&file) => {
                    process.images[number].path = Some(self.graph.files[file as usize].clone())
                }
                None => self.notes.warn(
                    "dcfg-unknown-id",
                    place,
                    format!("file name {id} is not in FILE_NAMES"),
                ),
            }
        }
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
                        process.images[number].symbols.push(symbol);
                    }
                    _ => self.notes.lost(
                        "dcfg-cell",
                        place,
                        "a symbol without name or address".into(),
                    ),
                }
            }
            process.images[number].symbols.sort();
        }
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
                process.images[number].lines.push((
                    base.wrapping_add(offset),
                    row.integer(3).unwrap_or(0),
                    file,
                    line,
                ));
            }
            process.images[number].lines.sort_unstable();
        }
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
                let address = base.wrapping_add(offset);
                let node = process.node(id, NodeKind::Block);
                let node = &mut process.nodes[node as usize];
                node.image = number as u32;
                node.address = address;
                node.size = bytes;
                node.instructions = row.integer(2).unwrap_or(0);
                node.last_address = address.wrapping_add(last);
                node.count = row.integer(5);
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
            let counts = row.integers(4);
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

    fn routines(&mut self, process: &mut Process, image: u32, data: &Value, place: &str) {
        let names = ["ENTRY_NODE_ID", "EXIT_NODE_IDS", "NODES", "LOOPS"];
        let Some(t) = table(data, "ROUTINES", &names, 1, place, self.notes) else { return };
        for row in t.rows() {
            let Some(id) = self.id(row.integer(0), place, "a routine's entry") else { continue };
            let place = format!("{place}, routine {id}");
            let Some(&entry) = process.node_by_id.get(&id) else {
                self.notes.lost(
                    "dcfg-unknown-id",
                    &place,
                    format!("its entry, node {id}, is no block"),
                );
                continue;
            };
            let number = process.routines.len() as u32;
            let mut known = |process: &Process, node: Id, what: &str| {
                let found = process.node_by_id.get(&node).copied();
                if found.is_none() {
                    self.notes.lost(
                        "dcfg-unknown-id",
                        &place,
                        format!("{what} {node} is no block"),
                    );
                }
                found
            };
            let exits: Vec<u32> =
                row.integers(1).into_iter().filter_map(|n| known(process, n, "exit")).collect();
            let mut nodes = Vec::new();
            match Table::new(row.cell(2), &["NODE_ID", "IDOM_NODE_ID"], 1) {
                Err(wrong) => self.notes.lost("dcfg-table", &place, format!("NODES {wrong}")),
                Ok(None) => {}
                Ok(Some(t)) => {
                    for row in t.rows() {
                        let Some(node) = row.integer(0).and_then(|n| known(process, n, "node"))
                        else {
                            continue;
                        };
                        nodes.push((
                            node,
                            row.integer(1).and_then(|n| known(process, n, "dominator")),
                        ));
                    }
                }
            }
            for &(node, _) in &nodes {
                let node = &mut process.nodes[node as usize];
                match node.routine {
                    Some(_) => self.notes.warn(
                        "dcfg-two-routines",
                        &place,
                        format!("node {} is in another routine too", node.id),
                    ),
                    None => node.routine = Some(number),
                }
                if node.kind != NodeKind::Block || node.image != image {
                    self.notes.warn(
                        "dcfg-routine-node",
                        &place,
                        format!("node {} is no block of this image", node.id),
                    );
                }
            }
            process.routines.push(Routine { image, entry, exits, nodes });
            self.check_routine(process, number, &place);
            self.loops(process, number, row.cell(3), &place);
        }
    }

    fn check_routine(&mut self, process: &Process, number: u32, place: &str) {
        let routine = &process.routines[number as usize];
        let members: FxHashSet<u32> = routine.nodes.iter().map(|n| n.0).collect();
        let id = |node: u32| process.nodes[node as usize].id;
        if !members.contains(&routine.entry) {
            self.notes.warn("dcfg-routine-entry", place, "its entry is not among its nodes".into());
        }
        for &exit in routine.exits.iter().filter(|e| !members.contains(e)) {
            self.notes.warn(
                "dcfg-routine-exit",
                place,
                format!("its exit {} is not among its nodes", id(exit)),
            );
        }
        for &(node, dominator) in &routine.nodes {
            match dominator {
                Some(d) if !members.contains(&d) => {
                    let message = format!(
                        "the dominator {} of node {} is not among its nodes",
                        id(d),
                        id(node)
                    );
                    self.notes.warn("dcfg-dominator", place, message);
                }
                Some(d) if (d == node) != (node == routine.entry) => {
                    let message = format!(
                        "node {} has {} as its dominator: only the entry has itself",
                        id(node),
                        id(d)
                    );
                    self.notes.warn("dcfg-dominator", place, message);
                }
                _ => {}
            }
        }
    }

    fn loops(&mut self, process: &mut Process, routine: u32, value: Option<&Value>, place: &str) {
        let names = [
            "LOOP_HEAD_NODE_ID",
            "LOOP_BACK_EDGE_SOURCE_NODE_IDS",
            "LOOP_NODE_IDS",
            "PARENT_LOOP_HEAD_NODE_ID",
        ];
        let t = match Table::new(value, &names, 1) {
            Ok(None) => return,
            Ok(Some(t)) => t,
            Err(wrong) => return self.notes.lost("dcfg-table", place, format!("LOOPS {wrong}")),
        };
        let members: FxHashSet<u32> =
            process.routines[routine as usize].nodes.iter().map(|n| n.0).collect();
        let mut found: Vec<(Loop, Option<Id>)> = Vec::new();
        for row in t.rows() {
            let Some(id) = self.id(row.integer(0), place, "a loop's head") else { continue };
            let Some(&header) = process.node_by_id.get(&id) else {
                self.notes.lost("dcfg-unknown-id", place, format!("loop head {id} is no block"));
                continue;
            };
            if found.iter().any(|(l, _)| l.header == header) {
                self.notes.lost("dcfg-loop", place, format!("two loops have the head {id}"));
                continue;
            }
            let mut list = |column: usize, what: &str| {
                let mut nodes = Vec::new();
                for id in row.integers(column) {
                    match process.node_by_id.get(&id) {
                        Some(&node) if members.contains(&node) => nodes.push(node),
                        _ => self.notes.warn(
                            "dcfg-loop",
                            place,
                            format!("{what} {id} is no node of the routine"),
                        ),
                    }
                }
                nodes
            };
            let (back_edge_sources, mut nodes) =
                (list(1, "back-edge source"), list(2, "loop node"));
            nodes.sort_unstable();
            nodes.dedup();
            if nodes.binary_search(&header).is_err() {
                self.notes.warn(
                    "dcfg-loop",
                    place,
                    format!("loop head {id} is not among the loop's nodes"),
                );
                nodes.insert(nodes.partition_point(|&n| n < header), header);
            }
            if let Some(&other) = back_edge_sources.iter().find(|n| nodes.binary_search(n).is_err())
            {
                let other = process.nodes[other as usize].id;
                self.notes.warn(
                    "dcfg-loop",
                    place,
                    format!("back-edge source {other} is not in the loop of head {id}"),
                );
            }
            let parent = row.integer(3).filter(|&p| p != 0);
            found.push((
                Loop { routine, header, back_edge_sources, nodes, parent: None, depth: 0 },
                parent,
            ));
        }
        // Outer ones first, whatever the order in the file: a loop has more nodes than those in it.
        found.sort_by_key(|(l, _)| std::cmp::Reverse(l.nodes.len()));
        let base = process.loops.len();
        for (mut l, parent) in found {
            if let Some(id) = parent {
                let header = process.node_by_id.get(&id).copied();
                let outer = process.loops[base..].iter().position(|o| Some(o.header) == header);
                match outer.filter(|&o| {
                    l.nodes.iter().all(|n| process.loops[base + o].nodes.binary_search(n).is_ok())
                }) {
                    Some(o) => {
                        l.parent = Some((base + o) as u32);
                        l.depth = process.loops[base + o].depth + 1;
                    }
                    None => {
                        let head = process.nodes[l.header as usize].id;
                        self.notes.warn(
                            "dcfg-loop",
                            place,
                            format!("no loop of head {id} lies around that of head {head}"),
                        );
                    }
                }
            }
            for &node in &l.nodes {
                process.nodes[node as usize].inner_loop = Some(process.loops.len() as u32);
            }
            process.loops.push(l);
        }
    }

    /// Counts that must add up, and what a routine must reach.
    fn rules(&mut self, process: &mut Process, place: &str) {
        let threads = process.instructions_per_thread.len();
        let sum = |of: &[u64]| of.iter().fold(0u64, |a, &b| a.saturating_add(b));
        let total = sum(&process.instructions_per_thread);
        if let Some(all) = process.instructions
            && threads > 0
            && all != total
        {
            let message = format!("INSTR_COUNT is {all}, the threads' sum {total}");
            self.notes.warn("dcfg-instruction-count", place, message);
        }
        // By node: how often each thread came and went, as wrapping sums.
        let widest = process.edges.iter().map(|e| e.counts.len()).max().unwrap_or(0).max(threads);
        if widest > 0 && process.nodes.len().saturating_mul(widest) < 1 << 28 {
            let mut balance = vec![0u64; process.nodes.len() * widest];
            let mut instructions = vec![0u64; widest];
            for e in &process.edges {
                for (t, &count) in e.counts.iter().enumerate() {
                    let (source, target) =
                        (e.source as usize * widest + t, e.target as usize * widest + t);
                    balance[source] = balance[source].wrapping_sub(count);
                    balance[target] = balance[target].wrapping_add(count);
                    let node = &mut process.nodes[e.target as usize];
                    node.entered = node.entered.saturating_add(count);
                    instructions[t] =
                        instructions[t].saturating_add(count.saturating_mul(node.instructions));
                }
            }
            for (n, node) in
                process.nodes.iter().enumerate().filter(|(_, n)| n.kind == NodeKind::Block)
            {
                if balance[n * widest..][..widest].iter().any(|&b| b != 0) {
                    let message =
                        format!("node {} is entered and left a different number of times", node.id);
                    self.notes.warn("dcfg-flow", place, message);
                }
                if let Some(count) = node.count
                    && count != node.entered
                {
                    let message = format!(
                        "node {} has COUNT {count}, but its edges enter it {} times",
                        node.id, node.entered
                    );
                    self.notes.warn("dcfg-block-count", place, message);
                }
            }
            if !process.edges.is_empty() {
                for (t, (&said, &counted)) in
                    process.instructions_per_thread.iter().zip(&instructions).enumerate()
                {
                    if said != counted {
                        let message =
                            format!("thread {t} has {said} instructions, its edges make {counted}");
                        self.notes.warn("dcfg-instruction-count", place, message);
                    }
                }
            }
        }
        let mut next: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for e in process.edges.iter().filter(|e| e.kind.is_inside()) {
            next.entry(e.source).or_default().push(e.target);
        }
        for r in &process.routines {
            let mut missing: FxHashSet<u32> = r.nodes.iter().map(|n| n.0).collect();
            let mut stack = vec![r.entry];
            while let Some(n) = stack.pop() {
                if missing.remove(&n) {
                    stack.extend(next.get(&n).into_iter().flatten().copied());
                }
            }
            if let Some(&node) = missing.iter().min() {
                let (node, entry) =
                    (process.nodes[node as usize].id, process.nodes[r.entry as usize].id);
                let message =
                    format!("node {node} of routine {entry} cannot be reached from its entry");
                self.notes.warn("dcfg-unreachable", place, message);
            }
        }
        let outside = process
            .nodes
            .iter()
            .filter(|n| n.kind == NodeKind::Block && n.routine.is_none())
            .count();
        if !process.routines.is_empty() && outside > 0 {
            let message = format!("{outside} blocks are in no routine");
            self.notes.add(
                Severity::Info,
                "dcfg-no-routine",
                place,
                message,
                "nothing: loops are not known there",
            );
        }
        let pairs: FxHashSet<(u32, u32)> =
            process.edges.iter().map(|e| (e.source, e.target)).collect();
        for l in &process.loops {
            if let Some(&source) =
                l.back_edge_sources.iter().find(|&&s| !pairs.contains(&(s, l.header)))
            {
                let (source, head) =
                    (process.nodes[source as usize].id, process.nodes[l.header as usize].id);
                self.notes.warn(
                    "dcfg-loop",
                    place,
                    format!("no edge goes back from {source} to the loop head {head}"),
                );
            }
        }
    }
}

impl Process {
    fn node(&mut self, id: Id, kind: NodeKind) -> u32 {
        let number = self.nodes.len() as u32;
        self.node_by_id.insert(id, number);
        self.nodes.push(Node {
            id,
            kind,
            image: 0,
            address: 0,
            size: 0,
            instructions: 0,
            last_address: 0,
            count: None,
            entered: 0,
            inner_loop: None,
            routine: None,
        });
        number
    }

    pub fn threads(&self) -> usize {
        let counted = self.edges.iter().map(|e| e.counts.len()).max().unwrap_or(0);
        self.instructions_per_thread.len().max(counted.min(1 << 16))
    }
}
