//! Any log with a line an instruction, described by a layout file (`--layout FILE`, TOML;
//! `docs/layout.md`): columns or a pattern with named fields, and patterns for the registers and
//! accesses behind them.

use super::error::TraceError;
use super::input::{Input, Place};
use super::lines::{Line, each_line};
use super::number::{hex, hex_length, number};
use super::problems::{Problems, excerpt};
use super::reader::{Context, Format, Sink, StepFormat};
use super::record::{
    ISA_NAMES, Lists, Names, Record, Steps, TOO_MANY_CPUS, isa_named, opcode, pieces,
};
use crate::diagnostics::Severity;
use crate::event::{Carries, Condition, Isa, LoggedAccess, RegUse};
use std::collections::BTreeMap;
use toml::Value;

pub struct Layout;

impl Format for Layout {
    fn name(&self) -> &'static str {
        "layout"
    }
    fn about(&self) -> &'static str {
        "any log with a line an instruction, described by a layout file"
    }
    fn record(&self) -> &'static str {
        "any simulator; then addfg build app.log --layout FILE (docs/layout.md)"
    }
    fn carries(&self) -> Carries {
        Carries {
            steps: true,
            opcodes: true,
            accesses: true,
            registers: true,
            values: true,
            time: true,
            threads: true,
            thumb: true,
            ..Carries::default()
        }
    }
    fn help(&self) -> &'static str {
        "A layout file (TOML) says how the log's lines look:\n\
         \x20   isa = \"riscv32\"\n\
         \x20   skip = [\"Time\"]                                   # lines that begin so are no steps\n\
         \x20   pattern = \"{time} {_} {pc} {opcode} {text}\"       # or columns = [\"time\", \"pc\", ..., \"items\"], separator = \"\\t\"\n\
         \x20   [[item]]                                          # what may stand in the field {items}\n\
         \x20   kind = \"write\"                                    # read, write, register, load, store\n\
         \x20   pattern = \"{name}={value}\"\n\
         Fields: time cpu pc opcode text mode micro items, _ for what does not matter, and any other name to ask for in `when`. A field\n\
         ends where the pattern goes on; a blank of the pattern matches any blanks. Numbers are hexadecimal but time, cpu, micro and\n\
         size; {time:hex} and {address:dec} say otherwise. What the file has no accesses or opcodes for comes from the operands and\n\
         the ELF. See docs/layout.md for two worked examples. Never detected by content."
    }
    fn sniff(&self, _head: &[u8]) -> bool {
        false
    }
}

impl StepFormat for Layout {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let mut problems = Problems::new(input.locator());
        let Some(text) = context.layout else {
            return Err(problems.malformed(
                1,
                "the format `layout` needs a layout file",
                "give it with --layout FILE",
            ));
        };
        let layout = Description::parse(text).map_err(|(line, message)| TraceError::Malformed {
            name: "layout file".into(),
            position: line.to_string(),
            message,
            remedy: "see docs/layout.md".into(),
        })?;
        let Some(isa) = layout.isa.or(context.isa) else {
            return Err(problems.malformed(
                1,
                "the instruction set is not known",
                "put isa = \"...\" in the layout file or give --elf",
            ));
        };
        let has = |kinds: &[Kind]| layout.items.iter().any(|item| kinds.contains(&item.kind));
        let registers = has(&[Kind::Read, Kind::Write, Kind::Register]);
        let before = has(&[Kind::Read]) || layout.values_before && has(&[Kind::Register]);
        let accesses = has(&[Kind::Load, Kind::Store]);
        let carries = Carries {
            opcodes: layout.has(Field::Opcode),
            accesses,
            registers,
            registers_before: before,
            values: registers || accesses,
            time: layout.has(Field::Time),
            threads: layout.has(Field::Cpu),
            thumb: layout.has(Field::Mode),
            ..self.carries()
        };
        sink.begin(carries, layout.isa)?;
        let mut reader = Reader {
            isa,
            names: Names::new(isa),
            steps: Steps::new(isa, before, layout.flags, carries.time),
            lists: Lists::default(),
            layout: &layout,
            captures: vec![None; layout.names.len()],
            first_bad: None,
        };
        each_line(input, sink, |line, sink| reader.line(line, &mut problems, sink))?;
        if reader.steps.count == 0 {
            let (line, text) =
                reader.first_bad.unwrap_or((1, "no line that is not skipped".into()));
            return Err(problems.malformed(
                line,
                format!("no line fits the layout, first `{text}`"),
                "correct the layout file",
            ));
        }
        reader.steps.finish(sink)
    }
}

/// Fields with a meaning; others are numbered behind them in order of appearance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Ignored,
    Time,
    Cpu,
    Pc,
    Opcode,
    Text,
    Mode,
    Micro,
    Items,
    Name,
    Value,
    Address,
    Size,
}

/// Names of [`Field`]s, in their order.
const FIELDS: [&str; 13] = [
    "_", "time", "cpu", "pc", "opcode", "text", "mode", "micro", "items", "name", "value",
    "address", "size",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Register,
    Load,
    Store,
}

enum Piece {
    /// One or more blanks; at the end of the text also none.
    Blanks,
    Literal(Vec<u8>),
    /// Index into the captures.
    Field(usize),
}

/// Text to match, cut into pieces. A field ends at the first place where all pieces up to the next
/// field fit.
struct Pattern(Vec<Piece>);

impl Pattern {
    fn parse(
        text: &str,
        names: &mut Vec<String>,
        decimal: &mut Vec<Option<bool>>,
    ) -> Result<Pattern, String> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut literal = Vec::new();
        let mut rest = text;
        let flush = |literal: &mut Vec<u8>, pieces: &mut Vec<Piece>| {
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(literal)));
            }
        };
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '{' if rest.starts_with('{') => {
                    literal.push(b'{');
                    rest = &rest[1..];
                }
                '}' if rest.starts_with('}') => {
                    literal.push(b'}');
                    rest = &rest[1..];
                }
                '}' => {
                    return Err(format!(
                        "`}}` without `{{` in pattern `{text}`; a brace of the log is written twice"
                    ));
                }
                '{' => {
                    flush(&mut literal, &mut pieces);
                    let end = rest
                        .find('}')
                        .ok_or_else(|| format!("`{{` without `}}` in pattern `{text}`"))?;
                    if matches!(pieces.last(), Some(Piece::Field(_))) {
                        return Err(format!(
                            "two fields with nothing between them in pattern `{text}`"
                        ));
                    }
                    pieces.push(Piece::Field(field(&rest[..end], names, decimal)?));
                    rest = &rest[end + 1..];
                }
                ' ' | '\t' => {
                    flush(&mut literal, &mut pieces);
                    if !matches!(pieces.last(), Some(Piece::Blanks)) {
                        pieces.push(Piece::Blanks);
                    }
                }
                c => literal.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        flush(&mut literal, &mut pieces);
        if pieces.is_empty() { Err("an empty pattern".into()) } else { Ok(Pattern(pieces)) }
    }

    /// Matches at the start of `text` and fills `captures` with ranges; gives the length matched.
    /// `whole`: to the end of the text; else a field at the end of the pattern, and every field, is
    /// one word.
    fn matches<'a>(
        &self,
        text: &'a [u8],
        whole: bool,
        captures: &mut [Option<&'a [u8]>],
    ) -> Option<usize> {
        let mut at = 0;
        let mut index = 0;
        while index < self.0.len() {
            let Piece::Field(field) = self.0[index] else {
                at += fits(&self.0[index], &text[at..])?;
                index += 1;
                continue;
            };
            let after = &self.0[index + 1..];
            let separators = &after
                [..after.iter().position(|p| matches!(p, Piece::Field(_))).unwrap_or(after.len())];
            let last = separators.len() == after.len();
            let limit = if whole {
                text.len() - at
            } else {
                text[at..]
                    .iter()
                    .position(|b| b.is_ascii_whitespace() || *b == b',')
                    .unwrap_or(text.len() - at)
            };
            let mut length = 0;
            loop {
                if separators.is_empty() {
                    length = limit;
                } else if let Some(Piece::Literal(literal)) = separators.first() {
                    // No farther than a field may reach, lest long lines take quadratic time.
                    let to = text.len().min(at + limit + literal.len());
                    length += memchr::memmem::find(text.get(at + length..to)?, literal)?;
                } else {
                    length += text[at + length..]
                        .iter()
                        .position(u8::is_ascii_whitespace)
                        .unwrap_or(text.len() - at - length);
                }
                if length > limit {
                    return None;
                }
                let mut end = at + length;
                let fitting = separators.iter().all(|piece| match fits(piece, &text[end..]) {
                    Some(n) => {
                        end += n;
                        true
                    }
                    None => false,
                });
                // The end of the pattern must be that of the text.
                if fitting && (!last || !whole || end == text.len()) {
                    captures[field] = Some(text[at..at + length].trim_ascii());
                    at = end;
                    break;
                }
                length += 1;
                if at + length > text.len() {
                    return None;
                }
            }
            index += 1 + separators.len();
        }
        (!whole || at == text.len()).then_some(at)
    }
}

/// Length of a piece that is no field at the start of `text`.
fn fits(piece: &Piece, text: &[u8]) -> Option<usize> {
    match piece {
        Piece::Literal(literal) => text.starts_with(literal).then_some(literal.len()),
        Piece::Blanks => {
            let blanks = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
            (blanks > 0 || text.is_empty()).then_some(blanks)
        }
        Piece::Field(_) => None,
    }
}

/// Number of a field, `name` or `name:hex` or `name:dec`.
fn field(
    text: &str,
    names: &mut Vec<String>,
    decimal: &mut Vec<Option<bool>>,
) -> Result<usize, String> {
    let (name, base) = text.split_once(':').map_or((text, None), |(name, base)| (name, Some(base)));
    let name = if name.is_empty() { FIELDS[Field::Ignored as usize] } else { name };
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err(format!("`{{{text}}}` is no field"));
    }
    let base = match base {
        None => None,
        Some("hex") => Some(false),
        Some("dec") => Some(true),
        Some(other) => return Err(format!("`{other}` in `{{{text}}}`; it may be hex or dec")),
    };
    let index = names.iter().position(|n| n == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        decimal.push(None);
        names.len() - 1
    });
    if base.is_some() {
        decimal[index] = base;
    }
    Ok(index)
}

/// How a line is cut into fields.
enum Shape {
    /// Those that are tried one after the other.
    Patterns(Vec<Pattern>),
    Columns {
        separator: Vec<u8>,
        fields: Vec<usize>,
    },
}

/// Fields and the beginnings of which they must have one.
type When = Vec<(usize, Vec<String>)>;

struct Item {
    kind: Kind,
    pattern: Pattern,
    when: When,
    /// Bytes of an access: given, or by the digits of its value.
    size: Option<u32>,
    by_digits: bool,
}

/// A layout file.
struct Description {
    isa: Option<Isa>,
    values_before: bool,
    /// Reads and writes are all that an instruction touches.
    flags: bool,
    /// Opcodes are bytes in memory order.
    opcode_bytes: Option<bool>,
    skip: Vec<String>,
    /// Lines that fit no pattern but one of these are no steps.
    ignore: Vec<Pattern>,
    shape: Shape,
    items: Vec<Item>,
    failed: When,
    names: Vec<String>,
    /// Whether each field's numbers are decimal, where the layout says.
    decimal: Vec<Option<bool>>,
}

impl Description {
    fn has(&self, field: Field) -> bool {
        let index = field as usize;
        match &self.shape {
            Shape::Columns { fields, .. } => fields.contains(&index),
            Shape::Patterns(patterns) => patterns
                .iter()
                .any(|p| p.0.iter().any(|piece| matches!(piece, Piece::Field(f) if *f == index))),
        }
    }

    /// Errors: line of the layout file and what is wrong there.
    fn parse(text: &str) -> Result<Description, (usize, String)> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let line = e.span().map_or(1, |span| {
                text.as_bytes()[..span.start.min(text.len())]
                    .iter()
                    .filter(|b| **b == b'\n')
                    .count()
                    + 1
            });
            (line, e.message().to_owned())
        })?;
        // Values know no place in the file: the first line that begins with the key.
        let place = |key: &str| {
            text.lines().position(|l| l.trim_start().starts_with(key)).map_or(1, |i| i + 1)
        };
        let at = |key: &'static str| move |message: String| (place(key), message);
        let known = [
            "isa",
            "values",
            "flags",
            "opcode",
            "skip",
            "ignore",
            "pattern",
            "columns",
            "separator",
            "item",
            "failed",
        ];
        if let Some(key) = table.keys().find(|k| !known.contains(&k.as_str())) {
            return Err((
                place(key),
                format!("unknown key `{key}`; there are {}", known.join(", ")),
            ));
        }
        let mut names: Vec<String> = FIELDS.iter().map(|n| n.to_string()).collect();
        let mut decimal = vec![None; names.len()];
        let isa = match word(&table, "isa").map_err(at("isa"))? {
            None => None,
            Some(name) => Some(isa_named(name).ok_or_else(|| {
                (place("isa"), format!("isa `{name}` is not known; there are {ISA_NAMES}"))
            })?),
        };
        let choice = |key: &'static str, first: &str, second: &str| match word(&table, key)
            .map_err(at(key))?
        {
            None => Ok(None),
            Some(w) if w == first => Ok(Some(true)),
            Some(w) if w == second => Ok(Some(false)),
            Some(other) => {
                Err((place(key), format!("{key} `{other}`; it may be {first} or {second}")))
            }
        };
        let values = choice("values", "before", "after")?;
        let opcode_bytes = choice("opcode", "bytes", "number")?;
        let flags = match table.get("flags") {
            None => false,
            Some(value) => value
                .as_bool()
                .ok_or_else(|| (place("flags"), "flags must be true or false".into()))?,
        };
        let skip = words(table.get("skip")).map_err(at("skip"))?;
        let ignore = words(table.get("ignore"))
            .and_then(|list| {
                list.iter().map(|p| Pattern::parse(p.trim(), &mut names, &mut decimal)).collect()
            })
            .map_err(at("ignore"))?;
        let shape = match (table.get("pattern"), table.get("columns")) {
            (Some(pattern), None) => {
                let parse = |p: &String| Pattern::parse(p.trim(), &mut names, &mut decimal);
                Shape::Patterns(
                    words(Some(pattern))
                        .and_then(|l| l.iter().map(parse).collect())
                        .map_err(at("pattern"))?,
                )
            }
            (None, Some(columns)) => {
                let list = words(Some(columns)).map_err(at("columns"))?;
                let fields: Result<_, _> =
                    list.iter().map(|c| field(c, &mut names, &mut decimal)).collect();
                let separator = word(&table, "separator")
                    .map_err(at("separator"))?
                    .unwrap_or(" ")
                    .as_bytes()
                    .to_vec();
                if separator.is_empty() {
                    return Err((place("separator"), "an empty separator".into()));
                }
                Shape::Columns { separator, fields: fields.map_err(at("columns"))? }
            }
            _ => return Err((1, "a layout needs either `pattern` or `columns`".into())),
        };
        let mut items = Vec::new();
        // Errors of items tell the line of the item's heading.
        let heading = |n: usize| {
            text.lines()
                .enumerate()
                .filter(|(_, l)| l.trim() == "[[item]]")
                .nth(n)
                .map_or(1, |(i, _)| i + 1)
        };
        let list = match table.get("item") {
            None => &[][..],
            Some(Value::Array(list)) => list,
            Some(_) => return Err((place("item"), "items are written [[item]]".into())),
        };
        for (n, value) in list.iter().enumerate() {
            items.push(
                item(value, &mut names, &mut decimal).map_err(|message| (heading(n), message))?,
            );
        }
        let failed = when(table.get("failed"), &mut names, &mut decimal).map_err(at("failed"))?;
        let layout = Description {
            isa,
            values_before: values == Some(true),
            flags,
            opcode_bytes,
            skip,
            ignore,
            shape,
            items,
            failed,
            names,
            decimal,
        };
        if !layout.has(Field::Pc) {
            return Err((1, "no field {pc}: where the instruction is must be known".into()));
        }
        if !layout.items.is_empty() && !layout.has(Field::Items) {
            return Err((
                1,
                "[[item]]s are looked for in the field {items}, which the layout does not have"
                    .into(),
            ));
        }
        if values.is_none() && layout.items.iter().any(|i| i.kind == Kind::Register) {
            return Err((1, "items of kind register need values = \"before\" or \"after\"".into()));
        }
        Ok(layout)
    }
}

fn word<'t>(table: &'t toml::Table, key: &str) -> Result<Option<&'t str>, String> {
    table.get(key).map(|v| v.as_str().ok_or_else(|| format!("{key} must be a text"))).transpose()
}

/// A text or a list of texts.
fn words(value: Option<&Value>) -> Result<Vec<String>, String> {
    match value {
        None => Ok(Vec::new()),
        Some(Value::String(one)) => Ok(vec![one.clone()]),
        Some(Value::Array(list)) => list
            .iter()
            .map(|v| v.as_str().map(str::to_owned).ok_or_else(|| format!("`{v}` is no text")))
            .collect(),
        Some(other) => Err(format!("`{other}` is no text and no list of texts")),
    }
}

fn when(
    value: Option<&Value>,
    names: &mut Vec<String>,
    decimal: &mut Vec<Option<bool>>,
) -> Result<When, String> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let table =
        value.as_table().ok_or("a condition is written { field = [\"beginning\", ...] }")?;
    table
        .iter()
        .map(|(name, value)| Ok((field(name, names, decimal)?, words(Some(value))?)))
        .collect()
}

fn item(
    value: &Value,
    names: &mut Vec<String>,
    decimal: &mut Vec<Option<bool>>,
) -> Result<Item, String> {
    let table = value.as_table().ok_or("items are written [[item]]")?;
    if let Some(key) =
        table.keys().find(|k| !["kind", "pattern", "when", "size"].contains(&k.as_str()))
    {
        return Err(format!("unknown key `{key}` of an item; there are kind, pattern, when, size"));
    }
    let kinds: BTreeMap<&str, Kind> = [
        ("read", Kind::Read),
        ("write", Kind::Write),
        ("register", Kind::Register),
        ("load", Kind::Load),
        ("store", Kind::Store),
    ]
    .into();
    let name = word(table, "kind")?.ok_or("an item without kind")?;
    let kind = *kinds
        .get(name)
        .ok_or_else(|| format!("kind `{name}`; it may be read, write, register, load or store"))?;
    let pattern = Pattern::parse(
        word(table, "pattern")?.ok_or("an item without pattern")?.trim(),
        names,
        decimal,
    )?;
    let needed = match kind {
        Kind::Load | Kind::Store => &[Field::Address][..],
        _ => &[Field::Name, Field::Value],
    };
    for &field in needed {
        if !pattern.0.iter().any(|p| matches!(p, Piece::Field(f) if *f == field as usize)) {
            return Err(format!("the pattern of kind {name} needs {{{}}}", FIELDS[field as usize]));
        }
    }
    let (size, by_digits) = match table.get("size") {
        None => (None, false),
        Some(Value::Integer(n)) if (1..=4096).contains(n) => (u32::try_from(*n).ok(), false),
        Some(Value::String(s)) if s == "digits" => (None, true),
        Some(other) => {
            return Err(format!("size `{other}`; it may be a number of bytes or \"digits\""));
        }
    };
    Ok(Item { kind, pattern, when: when(table.get("when"), names, decimal)?, size, by_digits })
}

struct Reader<'l> {
    isa: Isa,
    names: Names,
    steps: Steps,
    lists: Lists,
    layout: &'l Description,
    captures: Vec<Option<&'static [u8]>>,
    first_bad: Option<(u64, String)>,
}

impl Reader<'_> {
    fn line(
        &mut self,
        line: Line,
        problems: &mut Problems,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        if self.layout.skip.iter().any(|s| line.text.starts_with(s.as_bytes())) {
            return Ok(());
        }
        if !line.whole || self.step(&line, problems, sink)?.is_none() {
            if self.first_bad.is_none() {
                self.first_bad = Some((line.number, excerpt(line.text)));
            }
            problems.line(sink, &line, "a line that does not fit the layout");
        }
        Ok(())
    }

    /// `None`: the line does not fit.
    fn step(
        &mut self,
        line: &Line,
        problems: &mut Problems,
        sink: &mut dyn Sink,
    ) -> Result<Option<()>, TraceError> {
        let mut captures = reuse(std::mem::take(&mut self.captures));
        let result = self.fields(line, &mut captures, problems, sink);
        self.captures = reuse(captures);
        result
    }

    fn fields<'a>(
        &mut self,
        line: &Line<'a>,
        captures: &mut [Option<&'a [u8]>],
        problems: &mut Problems,
        sink: &mut dyn Sink,
    ) -> Result<Option<()>, TraceError> {
        let layout = self.layout;
        let fitting = match &layout.shape {
            Shape::Patterns(patterns) => patterns.iter().any(|pattern| {
                captures.fill(None);
                pattern.matches(line.text, true, captures).is_some()
            }),
            Shape::Columns { separator, fields } => {
                captures.fill(None);
                columns(line.text, separator, fields, captures)
            }
        };
        if !fitting {
            let ignored = layout
                .ignore
                .iter()
                .any(|pattern| pattern.matches(line.text, true, captures).is_some());
            return Ok(ignored.then_some(()));
        }
        self.lists.clear();
        let (mut place, mut bad) = (0, false);
        if let Some(items) = captures[Field::Items as usize] {
            let mut rest = items;
            while !rest.is_empty() {
                let taken = match self.item(rest, captures, &mut place) {
                    Found::Length(length) => length,
                    Found::Nothing => 0,
                    Found::Bad => {
                        bad = true;
                        0
                    }
                    Found::Unknown(name, length) => {
                        let kind = (
                            Severity::Warning,
                            "unknown-register",
                            "restrict the item's pattern or give the right isa",
                        );
                        problems.add(sink, kind, Place::Line(line.number), || {
                            format!(
                                "`{}` is no register of {:?}; left out",
                                excerpt(name),
                                self.isa
                            )
                        });
                        length
                    }
                };
                // On to the next word.
                let word = |b: &u8| b.is_ascii_whitespace() || *b == b',';
                rest = &rest[taken..];
                if taken == 0 {
                    rest = &rest[rest.iter().position(word).unwrap_or(rest.len())..];
                }
                rest = &rest[rest.iter().position(|b| !word(b)).unwrap_or(rest.len())..];
            }
        }
        let value = |field: Field| self.number(captures, field);
        let text = |field: Field| captures[field as usize].unwrap_or_default();
        let Some(pc) = value(Field::Pc).filter(|_| !bad) else { return Ok(None) };
        let time = if layout.has_time(captures) { value(Field::Time) } else { Some(0) };
        let cpu = if text(Field::Cpu).is_empty() { Some(0) } else { value(Field::Cpu) };
        let (Some(time), Some(cpu)) = (time, cpu.and_then(|c| u32::try_from(c).ok())) else {
            return Ok(None);
        };
        let digits = text(Field::Opcode);
        let plain = digits.strip_prefix(b"0x").unwrap_or(digits);
        let mut thumb = false;
        if self.isa == Isa::Arm {
            thumb = text(Field::Mode).first().is_some_and(|b| b.eq_ignore_ascii_case(&b'T'))
                || plain.len() == 4
                || pc & 1 != 0;
        }
        let bytes = match plain {
            [] | b"-" => Some(Default::default()),
            digits if layout.opcode_bytes == Some(true) => opcode(digits, Isa::X86_64, false),
            digits => opcode(digits, self.isa, thumb),
        };
        let Some(opcode) = bytes else { return Ok(None) };
        let failed = !layout.failed.is_empty() && holds(&layout.failed, captures);
        let record = Record {
            line: line.number,
            time,
            cpu,
            pc: if self.isa == Isa::Arm { pc & !1 } else { pc },
            opcode,
            thumb,
            text: text(Field::Text),
            condition: if failed { Condition::Failed } else { Condition::Unknown },
        };
        if !self.steps.admits(cpu) {
            problems.add(sink, TOO_MANY_CPUS, Place::Line(line.number), || {
                format!("CPU {cpu} is one too many; its lines were left out")
            });
            return Ok(Some(()));
        }
        let micro = value(Field::Micro).unwrap_or(0);
        if micro == 0 || !self.steps.join(&record, &mut self.lists) {
            self.steps.push(&record, &mut self.lists, sink)?;
        }
        Ok(Some(()))
    }

    fn number(&self, captures: &[Option<&[u8]>], field: Field) -> Option<u64> {
        let text = captures[field as usize]?;
        let usual = matches!(field, Field::Time | Field::Cpu | Field::Micro | Field::Size);
        let decimal = self.layout.decimal[field as usize].unwrap_or(usual);
        if !decimal {
            return hex(text);
        }
        // `cpu0`, `T1`; `271ns`
        let text = match field {
            Field::Cpu => {
                &text[text.iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |i| i + 1)..]
            }
            Field::Time if !text.starts_with(b"0x") => {
                let end = text.iter().position(u8::is_ascii_alphabetic).unwrap_or(text.len());
                text[..end].trim_ascii_end()
            }
            _ => text,
        };
        number(text)
    }

    /// The first item whose pattern fits at the start of `rest`.
    fn item<'a>(
        &mut self,
        rest: &'a [u8],
        captures: &mut [Option<&'a [u8]>],
        place: &mut usize,
    ) -> Found<'a> {
        for item in &self.layout.items {
            if !item.when.is_empty() && !holds(&item.when, captures) {
                continue;
            }
            for field in [Field::Name, Field::Value, Field::Address, Field::Size] {
                captures[field as usize] = None;
            }
            let Some(length) = item.pattern.matches(rest, false, captures) else { continue };
            let value = captures[Field::Value as usize];
            if let Kind::Load | Kind::Store = item.kind {
                let Some(address) = self.number(captures, Field::Address) else { continue };
                let size = match (item.size, value) {
                    (Some(size), _) => size,
                    (None, Some(value)) if item.by_digits => (hex_length(value) / 2) as u32,
                    _ => match captures[Field::Size as usize]
                        .map(|_| self.number(captures, Field::Size))
                    {
                        None => 0,
                        Some(Some(size @ 1..=4096)) => size as u32,
                        Some(_) => return Found::Bad,
                    },
                };
                let value =
                    if value.is_some() { self.number(captures, Field::Value) } else { None };
                self.lists.accesses.push(LoggedAccess {
                    address,
                    size,
                    is_write: item.kind == Kind::Store,
                    value,
                });
                return Found::Length(length);
            }
            let (Some(name), Some(value)) = (captures[Field::Name as usize], value) else {
                continue;
            };
            let span = match self.names.span(*place, name) {
                Ok(Some(span)) => span,
                Ok(None) => return Found::Length(length),
                Err(()) => return Found::Unknown(name, length),
            };
            *place += 1;
            let before = match item.kind {
                Kind::Read => true,
                Kind::Register => self.layout.values_before,
                _ => false,
            };
            let list = if before { &mut self.lists.before } else { &mut self.lists.after };
            if !pieces(span, value, list) {
                return Found::Bad;
            }
            match item.kind {
                Kind::Read => self.lists.flags.push((span, RegUse::Read)),
                Kind::Write => self.lists.flags.push((span, RegUse::Write)),
                _ => {}
            }
            return Found::Length(length);
        }
        Found::Nothing
    }
}

impl Description {
    /// A time that is missing in a line of a layout that has one is 0 only if the field is none of
    /// the pattern that fitted.
    fn has_time(&self, captures: &[Option<&[u8]>]) -> bool {
        captures[Field::Time as usize].is_some()
    }
}

enum Found<'a> {
    /// Bytes of an item.
    Length(usize),
    Nothing,
    /// An item that cannot be what it says.
    Bad,
    /// A name that is no register, met for the first time.
    Unknown(&'a [u8], usize),
}

/// Whether each field begins with one of its words.
fn holds(when: &When, captures: &[Option<&[u8]>]) -> bool {
    when.iter().all(|(field, beginnings)| {
        let text = captures[*field].unwrap_or_default();
        beginnings.iter().any(|b| text.starts_with(b.as_bytes()))
    })
}

/// Cuts a line at its separators; the last field takes the rest, and fields behind the address may
/// be missing.
fn columns<'a>(
    line: &'a [u8],
    separator: &[u8],
    fields: &[usize],
    captures: &mut [Option<&'a [u8]>],
) -> bool {
    let blanks = separator == b" ";
    let mut rest = Some(line);
    for (n, &field) in fields.iter().enumerate() {
        let Some(text) = rest else { break };
        let text = if blanks { text.trim_ascii_start() } else { text };
        let end = if n + 1 == fields.len() {
            None
        } else if blanks {
            text.iter().position(u8::is_ascii_whitespace)
        } else {
            memchr::memmem::find(text, separator)
        };
        captures[field] = Some(text[..end.unwrap_or(text.len())].trim_ascii());
        rest = end.map(|end| &text[end + separator.len()..]);
    }
    captures[Field::Pc as usize].is_some()
}

/// An empty list of captures in the memory of another one.
fn reuse<'b>(mut captures: Vec<Option<&[u8]>>) -> Vec<Option<&'b [u8]>> {
    let length = captures.len();
    captures.clear();
    let mut captures: Vec<Option<&'b [u8]>> = captures.into_iter().map(|_| None).collect();
    captures.resize(length, None);
    captures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(pattern: &str, text: &str, whole: bool) -> Option<Vec<(String, String)>> {
        let (mut names, mut decimal) = (Vec::new(), Vec::new());
        let pattern = Pattern::parse(pattern, &mut names, &mut decimal).unwrap();
        let mut captures = vec![None; names.len()];
        pattern.matches(text.as_bytes(), whole, &mut captures)?;
        let value = |c: Option<&[u8]>| String::from_utf8_lossy(c.unwrap_or_default()).into_owned();
        Some(names.into_iter().zip(captures.into_iter().map(value)).collect())
    }

    fn values(pattern: &str, text: &str) -> Option<Vec<String>> {
        Some(matched(pattern, text, true)?.into_iter().map(|(_, value)| value).collect())
    }

    #[test]
    fn fields_end_where_the_pattern_goes_on() {
        let gem5 = "{time}: {name}: {thread} : {pc} @{sym} : {text} : {class} : {items}";
        let line = "416029000: system.cpu: T0 : 0x10436 @main+2    : c_swsp ra, 60(sp)          : MemWrite :  D=0x05 A=0x7c";
        assert_eq!(
            values(gem5, line).unwrap(),
            [
                "416029000",
                "system.cpu",
                "T0",
                "0x10436",
                "main+2",
                "c_swsp ra, 60(sp)",
                "MemWrite",
                "D=0x05 A=0x7c"
            ]
        );
        assert_eq!(values(gem5, "1: cpu: T0 : 0x1 @f : nop : IntAlu :").unwrap()[7], "");
        assert_eq!(values(gem5, "1: cpu: T0 : 0x1 @f : nop"), None);
        assert_eq!(values("{a} {b}", "x   y z").unwrap(), ["x", "y z"]);
        assert_eq!(values("<{a}>", "<x>>"), Some(vec!["x>".into()]));
        assert_eq!(values("{a}={{{b}}}", "k={v}"), Some(vec!["k".into(), "v".into()]));
        assert_eq!(values("{a}:", "x:y"), None);
        assert_eq!(
            values("core {cpu}: {rest}", "core   3: 0x80"),
            Some(vec!["3".into(), "0x80".into()])
        );
    }

    #[test]
    fn items_are_words() {
        let item = |pattern, text| {
            matched(pattern, text, false).map(|m| m.into_iter().map(|(_, v)| v).collect::<Vec<_>>())
        };
        assert_eq!(item("{name}={value}", "x9=0x05 x8=7"), Some(vec!["x9".into(), "0x05".into()]));
        assert_eq!(item("{name}={value}", "x9:0x05 x8=7"), None);
        assert_eq!(
            item("PA:{a} store:{v}", "PA:0x20 store:0x00  load:1"),
            Some(vec!["0x20".into(), "0x00".into()])
        );
        assert_eq!(
            item("{name} {value}", "x9   0x05 x8 7"),
            Some(vec!["x9".into(), "0x05".into()])
        );
    }

    #[test]
    fn what_is_wrong_with_a_layout_is_said_with_its_line() {
        for (text, line, words) in [
            ("pattern = ", 1, "string"),
            ("isa = \"arm\"\ncolours = 1\npattern = \"{pc}\"", 2, "unknown key `colours`"),
            ("pattern = \"{time}\"", 1, "{pc}"),
            ("\npattern = \"{pc\"", 2, "without `}`"),
            ("pattern = \"{pc}{text}\"", 1, "nothing between"),
            ("pattern = \"{pc:oct}\"", 1, "hex or dec"),
            ("isa = \"z80\"\npattern = \"{pc}\"", 1, "z80"),
            ("pattern = \"{pc}\"\ncolumns = [\"pc\"]", 1, "either"),
            (
                "pattern = \"{pc} {items}\"\n[[item]]\nkind = \"write\"\npattern = \"{name}\"",
                2,
                "{value}",
            ),
            (
                "pattern = \"{pc} {items}\"\n[[item]]\nkind = \"colour\"\npattern = \"{name}\"",
                2,
                "colour",
            ),
            (
                "pattern = \"{pc}\"\n[[item]]\nkind = \"load\"\npattern = \"{address}\"",
                1,
                "{items}",
            ),
            (
                "pattern = \"{pc} {items}\"\n[[item]]\nkind = \"register\"\npattern = \"{name}={value}\"",
                1,
                "values",
            ),
            ("pattern = [\"{pc}\", 3]", 1, "no text"),
            ("pattern = \"{pc}\"\nvalues = \"now\"", 2, "before or after"),
        ] {
            let (at, message) = Description::parse(text).err().unwrap_or_else(|| panic!("{text}"));
            assert!(at == line && message.contains(words), "{text}: {at}: {message}");
        }
    }
}
