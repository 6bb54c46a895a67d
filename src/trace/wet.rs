//! WET traces: dependences between instances of instructions, either all of them with the values
//! computed ("comprehensive"), or those of a limited history. There is no order of steps: an
//! instruction and the number of its execution take the place of time.

use super::input::{Input, Locator};
use super::{Format, Loaded, TableFormat, TraceError};
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::Carries;
use crate::id::FileId;
use crate::image::AddressSpace;
use crate::isa::{Decoded, Decoder, FlowKind, decoder};
use crate::load::{BuildError, Detail, FunctionNames, Load};
use crate::store::columns::{BATCH, batch};
use duckdb::arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray, UInt64Array};
use duckdb::{Connection, params};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Bytes of the input that are looked at at a time.
const CHUNK: usize = 1 << 20;
/// Use ports of one instruction that are kept; no instruction has so many.
const PORTS: u64 = 1 << 16;
/// No instruction runs so often; a larger instance number is damage.
const INSTANCES: i64 = 1 << 48;

pub struct Wet;

impl Format for Wet {
    fn name(&self) -> &'static str {
        "wet"
    }
    fn about(&self) -> &'static str {
        "WET traces: dependences between instances of instructions, with values; comprehensive or of a limited history"
    }
    fn record(&self) -> &'static str {
        "the WET tool's trace of PROGRAM; both of its formats, also together; --elf PROGRAM adds names and instructions (docs/wet.md)"
    }
    fn carries(&self) -> Carries {
        Carries { dependences: true, ..Carries::default() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let text = String::from_utf8_lossy(&head[..head.len().min(4096)]);
        let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
        let Some(mut first) = lines.next() else { return false };
        if history_line(first).is_some() {
            return true;
        }
        if first.bytes().all(|b| b.is_ascii_digit()) {
            match lines.next() {
                Some(next) => first = next,
                None => return false,
            }
        }
        matches!(comprehensive_line(first), Some(Line::Static { .. }))
            && lines.next().is_none_or(|l| {
                matches!(
                    comprehensive_line(l),
                    Some(Line::Size(_) | Line::Values(_) | Line::Dependence { .. })
                )
            })
            && text.lines().nth(1).is_some()
    }
    fn help(&self) -> &'static str {
        "Comprehensive: the number of instructions, then for each of them\n\
         \x20   id ports address [file] [function] [line]       id and ports decimal, address hexadecimal\n\
         \x20   SIZE n                                          once a use port; the first is the control dependence\n\
         \x20       x:id instance                               its xth instance depends on that instance of instruction id\n\
         \x20   VALUES n                                        or NO VALUES\n\
         \x20       x:value                                     hexadecimal\n\
         Limited history: lines `a#b --> x#y`, instance b of the instruction at a depends on instance y of the one at x.\n\
         Instances count from 0. Files of both kinds given together are one run: the history adds what the other lacks.\n\
         With --elf, functions have their symbols' names, instructions their text, and in a history a dependence on a jump or a return is\n\
         a control dependence and one on an instruction that goes on is one of data; without, the two kinds are not told apart."
    }
}

enum Line<'a> {
    Static { number: u64, ports: u64, address: u64, rest: &'a str },
    Size(u64),
    Dependence { at: u64, number: u64, instance: i64 },
    Value { at: u64, text: &'a str },
    Values(u64),
    Count(u64),
}

/// Decimal number without sign.
fn decimal(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

fn instance(text: &str) -> Option<i64> {
    decimal(text).and_then(|n| i64::try_from(n).ok()).filter(|&n| n < INSTANCES)
}

/// Hexadecimal number, with or without `0x`.
fn hexadecimal(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    if digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        u64::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

/// A line of the comprehensive format, trimmed.
fn comprehensive_line(line: &str) -> Option<Line<'_>> {
    if let Some(n) = line.strip_prefix("SIZE ") {
        return Some(Line::Size(decimal(n.trim())?));
    }
    if let Some(n) = line.strip_prefix("VALUES ") {
        return Some(Line::Values(decimal(n.trim())?));
    }
    if line == "NO VALUES" {
        return Some(Line::Values(0));
    }
    let mut rest = line;
    let mut next = || {
        let (field, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = after.trim_start();
        field
    };
    let first = next();
    if let Some((at, value)) = first.split_once(':') {
        let at = decimal(at)?;
        // `0: 12 3`, with a blank behind the colon, is the same.
        let value = if value.is_empty() { next() } else { value };
        let second = next();
        return if second.is_empty() {
            let digits =
                value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")).unwrap_or(value);
            let hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
            hex.then_some(Line::Value { at, text: digits })
        } else {
            let (number, instance) = (decimal(value)?, instance(second)?);
            next().is_empty().then_some(Line::Dependence { at, number, instance })
        };
    }
    let number = decimal(first).filter(|_| !first.is_empty())?;
    let second = next();
    if second.is_empty() {
        return Some(Line::Count(number));
    }
    let ports = decimal(second)?;
    let address = next();
    let address = hexadecimal(address).filter(|_| !address.is_empty())?;
    Some(Line::Static { number, ports, address, rest })
}

/// Address and instance of the reader and of the writer.
fn history_line(line: &str) -> Option<[(u64, i64); 2]> {
    let (reader, writer) = line
        .split_once("-->")
        .or_else(|| line.split_once('→'))
        .or_else(|| line.split_once("->"))?;
    let end = |text: &str| {
        let (address, number) = text.trim().split_once('#')?;
        Some((
            hexadecimal(address).filter(|_| !address.is_empty())?,
            instance(number).filter(|_| !number.is_empty())?,
        ))
    };
    Some([end(reader)?, end(writer)?])
}

/// File, function and line as the end of a static line has them. File and function may contain
/// blanks: the file ends with the first word that has an ending, else it is the first word.
fn source(rest: &str) -> (Option<&str>, Option<&str>, Option<u32>) {
    let some = |t: &'_ str| -> bool { !t.is_empty() && t != "?" && t != "??" };
    let rest = rest.trim();
    let (rest, line) = match rest.rsplit_once(char::is_whitespace) {
        Some((before, last)) if last.bytes().all(|b| b.is_ascii_digit()) => {
            (before.trim_end(), last.parse().ok())
        }
        _ if !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()) => {
            ("", rest.parse().ok())
        }
        _ => (rest, None),
    };
    let ending = |word: &str| {
        word.rsplit_once('.')
            .is_some_and(|(name, e)| !name.is_empty() && (1..=4).contains(&e.len()))
    };
    let mut at = 0;
    let mut split = None;
    for word in rest.split_whitespace() {
        at = rest[at..].find(word).map_or(at, |p| p + at) + word.len();
        if ending(word) {
            split = Some(at);
            break;
        }
    }
    let (file, function) = match split {
        Some(at) => rest.split_at(at),
        None => rest.split_once(char::is_whitespace).unwrap_or(("", rest)),
    };
    let (file, function) = (file.trim(), function.trim());
    (Some(file).filter(|t| some(t)), Some(function).filter(|t| some(t)), line.filter(|&l| l > 0))
}

/// An instruction of the trace.
struct Instruction {
    address: u64,
    function: i32,
    file: Option<i32>,
    line: Option<u32>,
    executions: i64,
    decoded: Option<Decoded>,
    number: Option<u64>,
}

impl Instruction {
    fn ran(&mut self, instance: i64) {
        self.executions = self.executions.max(instance.saturating_add(1));
    }
}

/// Columns of a table that is filled in batches.
struct Rows<'c> {
    appender: duckdb::Appender<'c>,
    text: Vec<Option<String>>,
    port: Vec<Option<i32>>,
    wide: Vec<Option<u64>>,
    first: Vec<i64>,
    second: Vec<i64>,
    reader: Vec<i32>,
    table: RowsOf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowsOf {
    /// `comprehensive` (number of the writer), `history` (id of the writer), both temporary.
    Dependence,
    Value,
}

impl<'c> Rows<'c> {
    fn new(appender: duckdb::Appender<'c>, table: RowsOf) -> Self {
        let (text, port, wide) = (Vec::new(), Vec::new(), Vec::new());
        Rows {
            appender,
            text,
            port,
            wide,
            first: Vec::new(),
            second: Vec::new(),
            reader: Vec::new(),
            table,
        }
    }

    /// (port, number or id of the writer, its instance, reader, its instance)
    fn dependence(
        &mut self,
        port: Option<i32>,
        writer: Option<u64>,
        write: i64,
        reader: i32,
        read: i64,
    ) -> Result<(), BuildError> {
        self.port.push(port);
        self.wide.push(writer);
        self.first.push(write);
        self.reader.push(reader);
        self.second.push(read);
        if self.reader.len() == BATCH { self.send() } else { Ok(()) }
    }

    fn value(&mut self, instruction: i32, instance: i64, digits: &str) -> Result<(), BuildError> {
        let value = hexadecimal(digits);
        self.reader.push(instruction);
        self.first.push(instance);
        self.wide.push(value);
        self.text.push(if value.is_none() { Some(digits.to_ascii_lowercase()) } else { None });
        if self.reader.len() == BATCH { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), BuildError> {
        fn take<T>(v: &mut Vec<T>) -> Vec<T> {
            std::mem::take(v)
        }
        if self.reader.is_empty() {
            return Ok(());
        }
        let reader = Arc::new(Int32Array::from(take(&mut self.reader)));
        let first = Arc::new(Int64Array::from(take(&mut self.first)));
        let wide = Arc::new(UInt64Array::from(take(&mut self.wide)));
        let columns: Vec<ArrayRef> = match self.table {
            RowsOf::Dependence => vec![
                Arc::new(Int32Array::from(take(&mut self.port))),
                wide,
                first,
                reader,
                Arc::new(Int64Array::from(take(&mut self.second))),
            ],
            RowsOf::Value => {
                vec![reader, first, wide, Arc::new(StringArray::from(take(&mut self.text)))]
            }
        };
        let rows = batch(columns).map_err(crate::store::StoreError::from)?;
        Ok(self.appender.append_record_batch(rows)?)
    }

    fn finish(mut self) -> Result<(), BuildError> {
        self.send()?;
        Ok(self.appender.flush()?)
    }
}

/// All files of a run.
struct Reader<'a, 'l, 's> {
    load: &'a mut Load<'l>,
    space: &'s AddressSpace,
    names: FunctionNames<'s>,
    instructions: Vec<Instruction>,
    /// The first instruction at each address.
    by_address: FxHashMap<u64, i32>,
    decoder: Option<Box<dyn Decoder>>,
    /// (instruction, port, dependences)
    ports: Vec<(i32, u64, u64)>,
    values: bool,
    lines: u64,
    /// Addresses in a function of an ELF file.
    known: u64,
}

fn problem(
    severity: Severity,
    code: &'static str,
    message: String,
    position: String,
    remedy: &'static str,
) -> Diagnostic {
    Diagnostic { severity, code, message, position, remedy }
}

const DAMAGED: &str = "copy or record the trace again; what could be read is in the database";

impl<'s> Reader<'_, '_, 's> {
    fn instruction(
        &mut self,
        address: u64,
        number: Option<u64>,
        rest: &str,
        place: &dyn Fn() -> String,
    ) -> Result<i32, BuildError> {
        let space: &'s AddressSpace = self.space;
        let (file, function, line) = source(rest);
        let at = space.function_at(address);
        let found = space.line(address);
        self.known += u64::from(at.is_some());
        if let (Some(at), Some(said)) = (at, function) {
            let f = space.function(at);
            if f.name != said && f.names.iter().all(|n| n != said) {
                let message = format!(
                    "the trace says that {address:#x} is in {said}, the ELF file in {}",
                    f.name
                );
                let remedy =
                    "give the program that was recorded with --elf; its names are in the database";
                self.load.problem(problem(
                    Severity::Warning,
                    "elf-function",
                    message,
                    place(),
                    remedy,
                ))?;
            }
        }
        if let (Some((_, of_elf)), Some(said)) = (&found, line)
            && *of_elf != said
        {
            let message = format!(
                "the trace says that {address:#x} is of line {said}, the ELF file of line {of_elf}"
            );
            let remedy = "give the program that was recorded with --elf; the trace's lines are in the database";
            self.load.problem(problem(Severity::Warning, "elf-line", message, place(), remedy))?;
        }
        let function = match (at, function) {
            (Some(at), _) => self.names.symbol(at),
            (None, Some(name)) => self.names.named(name, file),
            (None, None) => self.names.unknown(space.image_at(address)),
        };
        // The ELF file has the whole path.
        let path = match (&found, file) {
            (Some((path, _)), Some(file)) if path.ends_with(file) => Some(path.as_str()),
            (_, Some(file)) => Some(file),
            (Some((path, _)), None) => Some(path.as_str()),
            (None, None) => None,
        };
        let file = path.map(|p| self.load.files.id(p));
        let line = line.or(found.as_ref().map(|f| f.1));
        let decoded = self.decoder.as_mut().zip(space.bytes(address));
        let decoded = decoded
            .and_then(|(d, bytes)| d.decode(address, bytes, space.thumb(address).unwrap_or(false)));
        self.instructions.push(Instruction {
            address,
            function: function.column(),
            file: file.map(FileId::column),
            line,
            executions: 0,
            decoded,
            number,
        });
        let id = self.instructions.len() as i32;
        self.by_address.entry(address).or_insert(id);
        Ok(id)
    }

    fn history(&mut self, input: Input, rows: &mut Rows) -> Result<(), BuildError> {
        let name = input.name().to_owned();
        let locator = input.locator();
        let mut good = false;
        self.each_line(input, |reader, offset, line| {
            let Some([(a, b), (x, y)]) = history_line(line) else {
                return reader.malformed(&locator, offset, line);
            };
            good = true;
            let mut end = |address, instance| -> Result<i32, BuildError> {
                let id = match reader.by_address.get(&address) {
                    Some(&id) => id,
                    None => reader.instruction(address, None, "", &|| locator.at(offset))?,
                };
                reader.instructions[id as usize - 1].ran(instance);
                Ok(id)
            };
            let (read, write) = (end(a, b)?, end(x, y)?);
            rows.dependence(None, Some(write as u64), y, read, b)
        })?;
        if good { Ok(()) } else { Err(nothing(name)) }
    }

    /// Gives each line that is not empty, trimmed, with its byte offset; what of damaged compressed
    /// files can be read.
    fn each_line(
        &mut self,
        input: Input,
        mut take: impl FnMut(&mut Self, u64, &str) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let mut consumed = 0;
        for chunk in input.chunks(CHUNK) {
            let chunk = match chunk {
                Ok(chunk) => chunk,
                Err(error) => {
                    let damage = error.into_damage()?;
                    self.load.problem(damage)?;
                    break;
                }
            };
            let mut offset = chunk.offset;
            for line in chunk.split_inclusive(|&b| b == b'\n') {
                let text = String::from_utf8_lossy(line);
                let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
                if !text.is_empty() {
                    self.lines += 1;
                    take(self, offset, text)?;
                }
                offset += line.len() as u64;
            }
            self.load.progress(chunk.consumed - consumed)?;
            consumed = chunk.consumed;
        }
        Ok(())
    }

    fn malformed(&mut self, locator: &Locator, offset: u64, line: &str) -> Result<(), BuildError> {
        let shown: String = line.chars().take(60).collect();
        let message = format!("a line that is none of the format: `{}`", shown.escape_debug());
        self.load.problem(problem(
            Severity::Error,
            "malformed-line",
            message,
            locator.at(offset),
            DAMAGED,
        ))
    }
}

fn nothing(name: String) -> BuildError {
    TraceError::Malformed {
        name,
        position: "1".into(),
        message: "no line of a WET trace".into(),
        remedy: "`addfg formats wet` describes them".into(),
    }
    .into()
}

/// Which list of a block is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// None yet.
    Before,
    Port {
        port: u64,
        size: u64,
        seen: u64,
    },
    Values {
        size: u64,
        seen: u64,
    },
    /// The block was left out.
    Skip,
}

/// One comprehensive file.
struct Comprehensive {
    locator: Locator,
    declared: Option<u64>,
    blocks: u64,
    /// Ids of the file.
    numbers: FxHashMap<u64, i32>,
    /// Last instance of each that others depend on.
    depended: FxHashMap<u64, i64>,
    current: i32,
    ports: u64,
    next_port: u64,
    list: List,
}

impl Comprehensive {
    fn say(
        &self,
        reader: &mut Reader,
        code: &'static str,
        message: String,
        offset: u64,
    ) -> Result<(), BuildError> {
        reader.load.problem(problem(
            Severity::Error,
            code,
            message,
            self.locator.at(offset),
            DAMAGED,
        ))
    }

    /// What was missing from the list that ends here.
    fn close_list(&mut self, reader: &mut Reader, offset: u64) -> Result<(), BuildError> {
        match self.list {
            List::Port { port, size, seen } => {
                reader.ports.push((self.current, port, seen));
                if size != seen {
                    let message =
                        format!("use port {port} announces {size} dependences and lists {seen}");
                    self.say(reader, "short-list", message, offset)?;
                }
            }
            List::Values { size, seen } if size != seen => {
                self.say(
                    reader,
                    "short-list",
                    format!("{size} values are announced and {seen} listed"),
                    offset,
                )?;
            }
            _ => {}
        }
        Ok(())
    }

    fn close_block(&mut self, reader: &mut Reader, offset: u64) -> Result<(), BuildError> {
        self.close_list(reader, offset)?;
        if self.blocks > 0 && !matches!(self.list, List::Values { .. } | List::Skip) {
            let message = format!(
                "the block before has {} of {} use ports and no VALUES",
                self.next_port, self.ports
            );
            self.say(reader, "short-block", message, offset)?;
        }
        self.list = List::Before;
        Ok(())
    }

    fn line(
        &mut self,
        reader: &mut Reader,
        rows: &mut Rows,
        values: &mut Rows,
        offset: u64,
        text: &str,
    ) -> Result<(), BuildError> {
        let Some(line) = comprehensive_line(text) else {
            return reader.malformed(&self.locator, offset, text);
        };
        match line {
            Line::Count(n) if self.declared.is_none() && self.blocks == 0 => {
                self.declared = Some(n)
            }
            Line::Count(_) => return reader.malformed(&self.locator, offset, text),
            Line::Static { number, ports, address, rest } => {
                self.close_block(reader, offset)?;
                self.blocks += 1;
                (self.ports, self.next_port) = (ports, 0);
                if self.numbers.contains_key(&number) {
                    self.list = List::Skip;
                    return self.say(
                        reader,
                        "double-block",
                        format!("instruction {number} has two blocks; the second is left out"),
                        offset,
                    );
                }
                let locator = &self.locator;
                self.current =
                    reader.instruction(address, Some(number), rest, &|| locator.at(offset))?;
                self.numbers.insert(number, self.current);
            }
            _ if self.blocks == 0 => return reader.malformed(&self.locator, offset, text),
            _ if self.list == List::Skip => {}
            Line::Size(size) => {
                if matches!(self.list, List::Values { .. }) {
                    return self.say(
                        reader,
                        "stray-line",
                        "a use port behind the values of its instruction".into(),
                        offset,
                    );
                }
                self.close_list(reader, offset)?;
                let port = self.next_port;
                self.next_port += 1;
                if port >= self.ports.min(PORTS) {
                    let message =
                        format!("use port {port} of an instruction that announces {}", self.ports);
                    self.say(reader, "port-count", message, offset)?;
                }
                self.list = List::Port { port, size, seen: 0 };
            }
            Line::Values(size) => {
                if matches!(self.list, List::Values { .. }) {
                    return self.say(reader, "stray-line", "values twice".into(), offset);
                }
                self.close_list(reader, offset)?;
                if self.next_port < self.ports {
                    let message = format!("{} of {} use ports", self.next_port, self.ports);
                    self.say(reader, "port-count", message, offset)?;
                }
                self.list = List::Values { size, seen: 0 };
            }
            Line::Dependence { at, number, instance } => {
                let List::Port { port, size, seen } = self.list else {
                    return self.say(
                        reader,
                        "stray-line",
                        "a dependence outside of a use port".into(),
                        offset,
                    );
                };
                self.list = List::Port { port, size, seen: seen + 1 };
                let Some(read) = self.entry(reader, at, seen, offset)? else { return Ok(()) };
                let last = self.depended.entry(number).or_insert(instance);
                *last = instance.max(*last);
                rows.dependence(
                    Some(port.min(PORTS) as i32),
                    Some(number),
                    instance,
                    self.current,
                    read,
                )?;
            }
            Line::Value { at, text } => {
                let List::Values { size, seen } = self.list else {
                    return self.say(
                        reader,
                        "stray-line",
                        "a value outside of VALUES".into(),
                        offset,
                    );
                };
                self.list = List::Values { size, seen: seen + 1 };
                let Some(instance) = self.entry(reader, at, seen, offset)? else { return Ok(()) };
                reader.values = true;
                values.value(self.current, instance, text)?;
            }
        }
        Ok(())
    }

    /// The number of an entry of a list, which should be how many were before it.
    fn entry(
        &mut self,
        reader: &mut Reader,
        at: u64,
        seen: u64,
        offset: u64,
    ) -> Result<Option<i64>, BuildError> {
        if at != seen {
            self.say(
                reader,
                "entry-order",
                format!("entry {at} of a list stands where {seen} should"),
                offset,
            )?;
        }
        let Some(instance) = i64::try_from(at).ok().filter(|&n| n < INSTANCES) else {
            return Ok(None);
        };
        reader.instructions[self.current as usize - 1].ran(instance);
        Ok(Some(instance))
    }
}

impl Reader<'_, '_, '_> {
    fn comprehensive(
        &mut self,
        input: Input,
        rows: &mut Rows,
        values: &mut Rows,
    ) -> Result<(), BuildError> {
        let name = input.name().to_owned();
        let mut file = Comprehensive {
            locator: input.locator(),
            declared: None,
            blocks: 0,
            numbers: FxHashMap::default(),
            depended: FxHashMap::default(),
            current: 0,
            ports: 0,
            next_port: 0,
            list: List::Before,
        };
        let mut end = 0;
        self.each_line(input, |reader, offset, line| {
            end = offset;
            file.line(reader, rows, values, offset, line)
        })?;
        if file.blocks == 0 {
            return Err(nothing(name));
        }
        file.close_block(self, end)?;
        match file.declared {
            Some(n) if n > file.blocks => {
                file.say(
                    self,
                    "lost-blocks",
                    format!("{n} instructions are announced and {} are there", file.blocks),
                    end,
                )?;
            }
            Some(n) if n < file.blocks => {
                let message =
                    format!("{n} instructions are announced and {} are there", file.blocks);
                let remedy = "all are in the database; if two traces were joined, build one database of each";
                self.load.problem(problem(
                    Severity::Warning,
                    "more-blocks",
                    message,
                    file.locator.at(end),
                    remedy,
                ))?;
            }
            None => {
                let message =
                    "the number of instructions is missing: the beginning of the trace may be"
                        .into();
                self.load.problem(problem(
                    Severity::Warning,
                    "no-count",
                    message,
                    file.locator.at(0),
                    DAMAGED,
                ))?;
            }
            _ => {}
        }
        let mut lost: Vec<u64> = Vec::new();
        for (&number, &instance) in &file.depended {
            match file.numbers.get(&number) {
                Some(&id) => self.instructions[id as usize - 1].ran(instance),
                None => lost.push(number),
            }
        }
        if let Some(first) = lost.iter().min() {
            let message = format!(
                "{} instructions that others depend on have no block; the first is {first}",
                lost.len()
            );
            file.say(self, "unknown-instruction", message, end)?;
        }
        Ok(())
    }
}

/// Temporary tables that dependences are read into: a writer is its number in a comprehensive file,
/// its id in a history.
const READ: &str = "
    CREATE OR REPLACE TEMP TABLE comprehensive (port INTEGER, writer UBIGINT, write_instance BIGINT, reader INTEGER, read_instance BIGINT);
    CREATE OR REPLACE TEMP TABLE history AS FROM comprehensive;
    CREATE OR REPLACE TEMP TABLE numbered (number UBIGINT, instruction_id INTEGER);
    CREATE OR REPLACE TEMP TABLE class_kind (class VARCHAR, kind VARCHAR)";

macro_rules! derive {
    ($name:literal) => {
        include_str!(concat!("../../queries/derive/", $name, ".sql"))
    };
}

impl TableFormat for Wet {
    fn load(&self, inputs: Vec<Input>, load: &mut Load) -> Result<Loaded, BuildError> {
        let space = load.space.clone();
        read(inputs, &space, load)
    }
}

fn read(inputs: Vec<Input>, space: &AddressSpace, load: &mut Load) -> Result<Loaded, BuildError> {
    let connection = load.connection;
    connection.execute_batch(READ)?;
    let first = space.images().first();
    let mut reader = Reader {
        names: FunctionNames::new(space),
        instructions: Vec::new(),
        by_address: FxHashMap::default(),
        decoder: first.map(|l| decoder(l.image.isa, l.image.big_endian_code)),
        ports: Vec::new(),
        values: false,
        lines: 0,
        known: 0,
        space,
        load,
    };
    // Histories last: what a comprehensive trace says of an instruction is more.
    let (histories, comprehensive): (Vec<Input>, Vec<Input>) =
        inputs.into_iter().partition(|input| {
            let text = String::from_utf8_lossy(&input.head()[..input.head().len().min(4096)]);
            text.lines()
                .map(str::trim)
                .find(|l| !l.is_empty())
                .is_some_and(|l| history_line(l).is_some())
        });
    if comprehensive.len() > 1 {
        let name = comprehensive[1].name().to_owned();
        return Err(TraceError::Malformed {
            name,
            position: "1".into(),
            message: "a second comprehensive trace".into(),
            remedy: "each is a run of its own: build a database of each".into(),
        }
        .into());
    }
    let whole = !comprehensive.is_empty();
    let mut values = Rows::new(connection.appender("instruction_value")?, RowsOf::Value);
    for input in comprehensive {
        let mut rows = Rows::new(
            connection.appender_to_catalog_and_db("comprehensive", "temp", "main")?,
            RowsOf::Dependence,
        );
        reader.comprehensive(input, &mut rows, &mut values)?;
        rows.finish()?;
    }
    values.finish()?;
    for input in histories {
        let mut rows = Rows::new(
            connection.appender_to_catalog_and_db("history", "temp", "main")?,
            RowsOf::Dependence,
        );
        reader.history(input, &mut rows)?;
        rows.finish()?;
    }
    if !space.images().is_empty() && reader.known == 0 {
        let first = reader.instructions.first().map_or(0, |i| i.address);
        let elf = space
            .images()
            .iter()
            .map(|l| l.image.path.display().to_string())
            .collect::<Vec<_>>()
            .join(", ");
        return Err(BuildError::WrongElf { first, elf });
    }
    reader.write(connection)?;
    if reader.load.detail < Detail::Pairs {
        connection.execute_batch("DELETE FROM dependence; DELETE FROM instruction_value;")?;
    }
    let unknown: i64 = connection.query_row(
        "SELECT coalesce(sum(count), 0)::BIGINT FROM dependence_edge WHERE kind IS NULL",
        [],
        |r| r.get(0),
    )?;
    if unknown > 0 {
        let message = format!(
            "of {unknown} dependences the trace does not say whether they are of data or of control; drawn as data"
        );
        let remedy = "give the comprehensive trace beside the history, or the program with --elf: jumps give control";
        reader.load.problem(problem(
            Severity::Warning,
            "unknown-kind",
            message,
            String::new(),
            remedy,
        ))?;
    }
    let short: i64 = connection.query_row(derive!("high/short_ports"), [], |r| r.get(0))?;
    if short > 0 {
        let message = format!(
            "{short} use ports have fewer dependences than executions: their instances count dependences, not executions"
        );
        let remedy = "none: the format does not say which executions those were";
        reader.load.problem(problem(
            Severity::Info,
            "port-instances",
            message,
            String::new(),
            remedy,
        ))?;
    }
    let steps =
        reader.instructions.iter().map(|i| i.executions as u64).fold(0, u64::saturating_add);
    let isa = first.map(|l| format!("{:?}", l.image.isa).to_lowercase());
    let functions = reader.names.len();
    let kind = if whole { "comprehensive" } else { "limited history" };
    connection.execute_batch(
        "DROP TABLE comprehensive; DROP TABLE history; DROP TABLE numbered; DROP TABLE class_kind",
    )?;
    let carries = Carries { dependences: true, values: reader.values, ..Carries::default() };
    Ok(Loaded {
        carries,
        steps,
        calls: 0,
        functions,
        meta: vec![("isa", isa), ("wet", Some(kind.to_owned()))],
    })
}

impl Reader<'_, '_, '_> {
    fn write(&mut self, connection: &Connection) -> Result<(), BuildError> {
        let steps = self.instructions.iter().map(|i| i.executions).fold(0, i64::saturating_add);
        connection.execute_batch("INSERT INTO process VALUES (1, NULL, NULL)")?;
        connection.execute("INSERT INTO thread VALUES (1, 1, NULL, ?)", [steps])?;
        self.names.write(connection, &mut self.load.files)?;
        let mut table = connection.appender("instruction")?;
        let mut numbers = connection.appender("instruction_number")?;
        let mut numbered = connection.appender_to_catalog_and_db("numbered", "temp", "main")?;
        for (i, insn) in self.instructions.iter().enumerate() {
            let id = i as i32 + 1;
            let image = self.space.image_at(insn.address).map(|i| i as i32 + 1);
            let decoded = insn.decoded.as_ref();
            let bytes =
                decoded.and_then(|d| self.space.bytes(insn.address)?.get(..d.size as usize));
            let flow = decoded.map(|d| d.flow);
            table.append_row(params![
                id,
                1,
                image,
                insn.address,
                bytes,
                decoded.map(|d| d.text.as_str()),
                decoded.map(|d| d.size),
                insn.function,
                insn.file,
                insn.line,
                flow.map_or(FlowKind::Unknown, |f| f.kind).name(),
                flow.and_then(|f| f.target),
                flow.map(|f| f.conditional),
                flow.map(|f| f.repeats),
                insn.executions
            ])?;
            if let Some(number) = insn.number {
                numbers.append_row(params![id, number])?;
                numbered.append_row(params![number, id])?;
            }
        }
        table.flush()?;
        numbers.flush()?;
        numbered.flush()?;
        let mut table = connection.appender("use_port")?;
        for &(instruction, port, dependences) in &self.ports {
            let kind = if port == 0 { "control" } else { "data" };
            table.append_row(params![
                instruction,
                port.min(PORTS) as i32,
                kind,
                dependences as i64
            ])?;
        }
        table.flush()?;
        // What a dependence on an instruction is, where the trace does not say: a jump computes
        // nothing but where control goes, what goes on to the next instruction decides nothing. A
        // call leaves a return address, too.
        let mut table = connection.appender_to_catalog_and_db("class_kind", "temp", "main")?;
        for (class, kind) in [
            (FlowKind::Jump, "control"),
            (FlowKind::Return, "control"),
            (FlowKind::ExceptionReturn, "control"),
            (FlowKind::Next, "data"),
        ] {
            table.append_row([class.name(), kind])?;
        }
        table.flush()?;
        for (table, sql) in [
            ("dependence", derive!("middle/dependence")),
            ("dependence_edge", derive!("high/dependence_edge")),
            ("instruction_edge", derive!("high/dependence_instruction_edge")),
            ("function_edge", derive!("high/dependence_function_edge")),
            ("function_profile", derive!("high/dependence_function_profile")),
        ] {
            connection.execute_batch(&format!("INSERT INTO {table} {sql}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_static_line_in_all_its_shapes() {
        let shapes = [
            ("foo1.c main 8", (Some("foo1.c"), Some("main"), Some(8))),
            ("", (None, None, None)),
            ("my file.c operator new 12", (Some("my file.c"), Some("operator new"), Some(12))),
            ("foo1.c main", (Some("foo1.c"), Some("main"), None)),
            ("main 8", (None, Some("main"), Some(8))),
            ("foo1.c 8", (Some("foo1.c"), None, Some(8))),
            ("main", (None, Some("main"), None)),
            ("Makefile main 3", (Some("Makefile"), Some("main"), Some(3))),
            ("? ? 0", (None, None, None)),
            ("a.c f(int, ns::x.y) 4", (Some("a.c"), Some("f(int, ns::x.y)"), Some(4))),
            ("8", (None, None, Some(8))),
        ];
        for (text, wanted) in shapes {
            assert_eq!(source(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn lines_of_a_history() {
        for text in ["0x10#3 --> 0x8#0", "10#3 → 8#0", " 0X10#3-->0x8#0", "0x10#3 -> 0x8#0"] {
            assert_eq!(history_line(text), Some([(16, 3), (8, 0)]), "{text:?}");
        }
        for text in [
            "0x10#3",
            "0x10 --> 0x8",
            "0x10# --> 0x8#0",
            "#3 --> 0x8#0",
            "0x10#-1 --> 0x8#0",
            "0x1g#1 --> 0x8#0",
        ] {
            assert_eq!(history_line(text), None, "{text:?}");
        }
    }
}
