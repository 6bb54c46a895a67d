//! The DCFG-trace: a streaming reader of the document's section 3, which gives edges in order of
//! execution, chunk after chunk.

use super::graph::{Graph, MOST};
use super::json::parse_integer;
use super::notes::{LEFT_OUT, RULE};
use super::sequence::{
    Budget, CodeError, Edges, SequenceError, StringDictionary, Transitions, decode,
};
use crate::diagnostics::{Diagnostic, Severity};
use crate::trace::Listener;
use crate::trace::input::{Chunk, Chunks, Input};
use rustc_hash::FxHashMap;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use struson::reader::{JsonReader, JsonStreamReader, ReaderError, ValueType};

/// Edges that are sent at a time.
const BATCH: usize = 1 << 16;
/// Edges that a file may unfold to: these, so many for each of its bytes, and those that the graph
/// counts, if these are not more than a person waits for.
const ANY_EDGES: u64 = 1 << 24;
const EDGES_PER_BYTE: u64 = 1 << 12;
const MOST_COUNTED: u64 = 1 << 32;

/// What a trace tells of its threads, in the order of the file.
pub enum Record {
    /// Index of the process in the graph, and number of the thread in it: what follows is its.
    Thread(usize, u64),
    Chunk {
        /// Instructions of the thread before it, and in it.
        preceding: u64,
        instructions: u64,
        edges: u64,
    },
    /// Indices of edges; those of unknown edges are behind the last of the process.
    Edges(Vec<u32>),
    /// The chunk is over; false if not all of it could be decoded.
    End(bool),
}

/// What the reader's thread sends.
enum Message {
    Record(Record),
    Progress(u64),
    Problem(Diagnostic),
}

/// The records of a trace, which a thread of its own decodes.
pub struct Records {
    messages: Receiver<Message>,
    thread: JoinHandle<()>,
}

impl Records {
    pub fn start(input: Input, graph: Arc<Graph>) -> io::Result<Records> {
        let (sender, messages) = mpsc::sync_channel(16);
        let thread = thread::Builder::new().name("reader".into());
        let thread = thread.spawn(move || read(input, &graph, sender))?;
        Ok(Records { messages, thread })
    }

    /// The next record; None behind the last.
    pub fn next(&mut self, listener: &mut impl Listener) -> Option<Record> {
        while let Ok(message) = self.messages.recv() {
            match message {
                Message::Record(record) => return Some(record),
                Message::Progress(bytes) => listener.progress(bytes),
                Message::Problem(problem) => listener.diagnostic(problem),
            }
        }
        None
    }

    /// Ends the reading, whether or not all was read.
    pub fn finish(self) {
        // A reader that still runs ends when nobody listens.
        drop(self.messages);
        let _ = self.thread.join();
    }
}

/// Reads the input's bytes one behind the other and says how far it is.
struct Bytes {
    chunks: Chunks,
    chunk: Option<Chunk>,
    at: usize,
    consumed: u64,
    total: u64,
    sender: SyncSender<Message>,
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(chunk) = &self.chunk
                && self.at < chunk.len()
            {
                let n = buffer.len().min(chunk.len() - self.at);
                buffer[..n].copy_from_slice(&chunk[self.at..self.at + n]);
                self.at += n;
                // A version like 04 is no JSON; nothing before the first process has another
                // number.
                if self.total == 0 {
                    super::json::mend_numbers(&mut buffer[..n]);
                }
                self.total += n as u64;
                return Ok(n);
            }
            match self.chunks.next() {
                None => return Ok(0),
                Some(Err(e)) => return Err(io::Error::other(e.to_string())),
                Some(Ok(chunk)) => {
                    let _ = self.sender.send(Message::Progress(chunk.consumed - self.consumed));
                    self.consumed = chunk.consumed;
                    self.chunk = Some(chunk);
                    self.at = 0;
                }
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error(transparent)]
    Json(#[from] ReaderError),
    /// The receiver is gone.
    #[error("stopped")]
    Gone,
    #[error("{0}")]
    Order(String),
}

struct Reader<'a> {
    json: JsonStreamReader<Bytes>,
    graph: &'a Graph,
    name: &'a str,
    sender: SyncSender<Message>,
    /// Index in the graph's processes, if it is there.
    process: Option<usize>,
    dictionary: StringDictionary,
    transitions: Transitions,
    /// Ids of edges that the graph does not have.
    unknown: Vec<u64>,
    unknown_by_id: FxHashMap<u64, u32>,
    budget: Budget,
    granted: u64,
}

/// Reads a trace and sends what is in it.
fn read(input: Input, graph: &Graph, sender: SyncSender<Message>) {
    let name = input.name().to_owned();
    let bytes = Bytes {
        chunks: input.blocks(1 << 20),
        chunk: None,
        at: 0,
        consumed: 0,
        total: 0,
        sender: sender.clone(),
    };
    let counts = graph.processes.iter().flat_map(|p| &p.edges).flat_map(|e| &e.counts);
    let counted = counts.fold(0, |a: u64, &b| a.saturating_add(b)).min(MOST_COUNTED);
    let mut reader = Reader {
        json: JsonStreamReader::new(bytes),
        graph,
        name: &name,
        sender: sender.clone(),
        process: None,
        dictionary: StringDictionary::default(),
        transitions: Transitions::default(),
        unknown: Vec::new(),
        unknown_by_id: FxHashMap::default(),
        budget: Budget(ANY_EDGES + counted),
        granted: 0,
    };
    match reader.document() {
        Ok(()) | Err(Stop::Gone) => {}
        Err(stop) => {
            let position = format!("{name}: {}", reader.position());
            let message = format!("{}; what follows was lost", shorten(&stop.to_string()));
            let remedy =
                "copy or record the file again; what was read up to here is in the database";
            let severity = Severity::Error;
            let problem = Diagnostic { severity, code: "damaged-input", message, position, remedy };
            let _ = sender.send(Message::Problem(problem));
        }
    }
}

/// The first line of a message, of a length for people.
fn shorten(message: &str) -> String {
    message.lines().next().unwrap_or_default().chars().take(200).collect()
}

impl Reader<'_> {
    fn position(&self) -> String {
        let at = self.json.current_position(false);
        match at.data_pos {
            Some(byte) => format!("byte {byte}"),
            None => at.line_pos.map_or_else(|| "?".into(), |l| format!("line {}", l.line + 1)),
        }
    }

    fn note(
        &mut self,
        severity: Severity,
        code: &'static str,
        message: String,
        remedy: &'static str,
    ) {
        let position = format!("{}: {}", self.name, self.position());
        let problem = Diagnostic { severity, code, message, position, remedy };
        let _ = self.sender.send(Message::Problem(problem));
    }

    fn warn(&mut self, code: &'static str, message: String) {
        self.note(Severity::Warning, code, message, RULE);
    }

    fn send(&mut self, record: Record) -> Result<(), Stop> {
        self.sender.send(Message::Record(record)).map_err(|_| Stop::Gone)
    }

    fn document(&mut self) -> Result<(), Stop> {
        self.json.begin_object()?;
        while self.json.has_next()? {
            let key = self.json.next_name_owned()?;
            match key.as_str() {
                "PROCESSES" => {
                    let names =
                        ["PROCESS_ID", "STRING_DICTIONARY", "TRANSITION_TABLE", "THREAD_DATA"];
                    self.table(&names, Self::process)?;
                }
                "MAJOR_VERSION" => {
                    if let Some(major) = self.integer()?
                        && major > 1
                    {
                        self.warn(
                            "dcfg-version",
                            format!("trace of version {major}: known are those up to 1"),
                        );
                    }
                }
                _ => self.json.skip_value()?,
            }
        }
        self.json.end_object()?;
        Ok(())
    }

    /// A table, whose columns must be in the order of `names` (this is read as it comes): gives
    /// each cell of each row to `cell`. Other columns are skipped.
    fn table(
        &mut self,
        names: &[&str],
        mut cell: impl FnMut(&mut Self, usize) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if self.json.peek()? != ValueType::Array {
            self.warn("dcfg-table", format!("the table with {} is not a table", names[0]));
            return Ok(self.json.skip_value()?);
        }
        self.json.begin_array()?;
        let mut columns: Vec<Option<usize>> = Vec::new();
        if self.json.has_next()? {
            self.json.begin_array()?;
            while self.json.has_next()? {
                let name = self.json.next_string()?;
                columns.push(names.iter().position(|n| *n == name.trim()));
            }
            self.json.end_array()?;
            let known: Vec<usize> = columns.iter().copied().flatten().collect();
            if known.len() < names.len() || !known.is_sorted() {
                return Err(Stop::Order(format!(
                    "a table needs the columns {} in this order",
                    names.join(", ")
                )));
            }
        }
        while self.json.has_next()? {
            if self.json.peek()? != ValueType::Array {
                self.json.skip_value()?;
                continue;
            }
            self.json.begin_array()?;
            for &column in &columns {
                if !self.json.has_next()? {
                    break;
                }
                match column {
                    Some(column) => cell(self, column)?,
                    None => self.json.skip_value()?,
                }
            }
            while self.json.has_next()? {
                self.json.skip_value()?;
            }
            self.json.end_array()?;
        }
        Ok(self.json.end_array()?)
    }

    /// An integer as number or string, None for anything else.
    fn integer(&mut self) -> Result<Option<u64>, Stop> {
        Ok(match self.json.peek()? {
            ValueType::Number => parse_integer(self.json.next_number_as_str()?),
            ValueType::String => parse_integer(&self.json.next_string()?),
            _ => {
                self.json.skip_value()?;
                None
            }
        })
    }

    fn process(&mut self, column: usize) -> Result<(), Stop> {
        match column {
            0 => {
                let pid = self.integer()?;
                self.process = self.graph.processes.iter().position(|p| Some(p.pid) == pid);
                self.dictionary = StringDictionary::default();
                self.transitions = Transitions::default();
                self.unknown.clear();
                self.unknown_by_id.clear();
                if self.process.is_none() {
                    let remedy = "give the DCFG of the same run";
                    let message = format!(
                        "process {} is not in the DCFG: its trace was left out",
                        pid.unwrap_or(0)
                    );
                    self.note(Severity::Error, "dcfg-process", message, remedy);
                }
                Ok(())
            }
            _ if self.process.is_none() => Ok(self.json.skip_value()?),
            1 => self.string_dictionary(),
            2 => self.transition_table(),
            _ => self.thread_data(),
        }
    }

    fn string_dictionary(&mut self) -> Result<(), Stop> {
        if self.json.peek()? != ValueType::Object {
            return Ok(self.json.skip_value()?);
        }
        self.json.begin_object()?;
        while self.json.has_next()? {
            let key = self.json.next_name_owned()?;
            if self.json.peek()? == ValueType::String {
                let value = self.json.next_string()?;
                self.dictionary.insert(key, value);
            } else {
                self.warn("dcfg-dictionary", format!("the value of `{key}` is not a string"));
                self.json.skip_value()?;
            }
        }
        Ok(self.json.end_object()?)
    }

    /// Index of an edge; that of one which the graph lacks is behind all others.
    fn edge(&mut self, id: u64) -> u32 {
        let Some(process) = self.process.and_then(|p| self.graph.processes.get(p)) else {
            return 0;
        };
        if let Some(&known) = process.edge_by_id.get(&id) {
            return known;
        }
        let base = process.edges.len() as u32;
        if let Some(&known) = self.unknown_by_id.get(&id) {
            return known;
        }
        let new = base + self.unknown.len() as u32;
        self.unknown.push(id);
        self.unknown_by_id.insert(id, new);
        self.warn("dcfg-unknown-id", format!("edge {id} is not in the DCFG"));
        new
    }

    fn transition_table(&mut self) -> Result<(), Stop> {
        // The cells of a row are put together here.
        let (mut current, mut code) = (None, None);
        self.table(&["CURRENT_EDGE_ID", "TRANSITION_CODE", "NEXT_EDGE_IDS"], |reader, column| {
            match column {
                0 => {
                    current = reader.integer()?;
                    code = None;
                }
                1 => {
                    code = match reader.json.peek()? {
                        ValueType::String => Some(reader.json.next_string()?),
                        _ => {
                            reader.json.skip_value()?;
                            None
                        }
                    };
                }
                _ => {
                    let mut next = Vec::new();
                    if reader.json.peek()? == ValueType::Array {
                        reader.json.begin_array()?;
                        while reader.json.has_next()? {
                            if let Some(id) = reader.integer()? {
                                next.push(reader.edge(id));
                            }
                        }
                        reader.json.end_array()?;
                    } else {
                        reader.json.skip_value()?;
                    }
                    let (Some(id), Some(code)) = (current, code.take()) else {
                        reader.warn("dcfg-cell", "a transition without edge or code".into());
                        return Ok(());
                    };
                    let edge = reader.edge(id);
                    match reader.transitions.insert(edge, &code, &next) {
                        Ok(()) => {}
                        Err(CodeError::Characters) => {
                            reader
                                .warn("dcfg-code", format!("the code `{}` of edge {id} is not of 0 to 32 bits", shorten(&code)));
                        }
                        Err(CodeError::NoEdges) => {
                            reader.warn("dcfg-code", format!("the code `{code}` of edge {id} leads nowhere"));
                        }
                        Err(CodeError::Ambiguous) => {
                            let message =
                                format!("the code `{code}` of edge {id} cannot be told from another one; the first counts");
                            reader.warn("dcfg-transition-code", message);
                        }
                    }
                }
            }
            Ok(())
        })
    }

    fn thread_data(&mut self) -> Result<(), Stop> {
        let mut thread = None;
        self.table(&["THREAD_ID", "TRACE_DATA"], |reader, column| {
            if column == 0 {
                thread = reader.integer()?;
                return Ok(());
            }
            let (Some(thread), Some(process)) = (thread.take(), reader.process) else {
                reader.warn("dcfg-cell", "a thread without id".into());
                return Ok(reader.json.skip_value()?);
            };
            reader.send(Record::Thread(process, thread))?;
            reader.trace_data()
        })
    }

    fn trace_data(&mut self) -> Result<(), Stop> {
        let names = [
            "PRECEDING_INSTR_COUNT",
            "INSTR_COUNT",
            "EDGE_COUNT",
            "FIRST_EDGE_ID",
            "EDGE_ID_SEQUENCE",
        ];
        let mut row = [0u64; 4];
        self.table(&names, |reader, column| {
            if column < 4 {
                row[column] = match reader.integer()? {
                    Some(n) => n,
                    None => {
                        reader.warn("dcfg-cell", format!("{} is not an integer", names[column]));
                        0
                    }
                };
                return Ok(());
            }
            if reader.json.peek()? != ValueType::String {
                reader.warn("dcfg-cell", "EDGE_ID_SEQUENCE is not a string".into());
                return Ok(reader.json.skip_value()?);
            }
            if let Some(count) = row[..2].iter().find(|count| **count > MOST) {
                let message = format!("a chunk counts {count} instructions, more than any run has");
                reader.note(Severity::Error, "dcfg-count", message, LEFT_OUT);
                return Ok(reader.json.skip_value()?);
            }
            reader.chunk(row)
        })
    }

    fn chunk(&mut self, [preceding, instructions, edges, first]: [u64; 4]) -> Result<(), Stop> {
        self.send(Record::Chunk { preceding, instructions, edges })?;
        let first = if edges > 0 { self.edge(first) } else { 0 };
        // The bytes of the file up to here grant more edges.
        let granted =
            self.json.current_position(false).data_pos.unwrap_or(0).saturating_mul(EDGES_PER_BYTE);
        self.budget.0 = self.budget.0.saturating_add(granted.saturating_sub(self.granted));
        self.granted = self.granted.max(granted);
        let process = self.process.and_then(|p| self.graph.processes.get(p));
        let unknown = &self.unknown;
        let id = |edge: u32| {
            let known = process.and_then(|p| p.edges.get(edge as usize)).map(|e| e.id);
            let behind =
                || unknown.get((edge as usize).checked_sub(process?.edges.len())?).copied();
            known.or_else(behind).unwrap_or(0)
        };
        let mut batch = Vec::with_capacity(BATCH);
        let mut gone = false;
        let sender = &self.sender;
        let emit = |edge: u32| {
            batch.push(edge);
            if batch.len() == BATCH {
                let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
                gone |= sender.send(Message::Record(Record::Edges(full))).is_err();
            }
        };
        let mut text = self.json.next_string_reader()?;
        let result = decode(
            &mut text,
            &self.dictionary,
            &self.transitions,
            Edges { first, count: edges },
            &mut self.budget,
            id,
            emit,
        );
        // The rest of the string, so that what follows can be read.
        let rest = if matches!(result, Err(SequenceError::Read(_))) {
            Ok(0)
        } else {
            io::copy(&mut text, &mut io::sink())
        };
        drop(text);
        if !batch.is_empty() {
            self.send(Record::Edges(batch))?;
        }
        if gone {
            return Err(Stop::Gone);
        }
        self.send(Record::End(result.is_ok()))?;
        match result {
            Ok(true) => {
                self.warn(
                    "dcfg-sequence-long",
                    format!("characters are left behind {edges} edges"),
                );
            }
            Ok(false) => {}
            Err(SequenceError::Read(e)) => return Err(Stop::Order(e.to_string())),
            Err(e) => {
                let (code, remedy) = match e {
                    SequenceError::Unfolds => {
                        ("dcfg-unfolds", "cut the trace into chunks, or is the file hostile?")
                    }
                    _ => (
                        "dcfg-sequence",
                        "what could be decoded is in the database: write the trace again",
                    ),
                };
                self.note(
                    Severity::Error,
                    code,
                    format!("{e}; the rest of the chunk was lost"),
                    remedy,
                );
            }
        }
        rest.map_err(|e| Stop::Order(e.to_string()))?;
        Ok(())
    }
}
