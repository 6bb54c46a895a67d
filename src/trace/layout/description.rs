//! A layout file, read and checked.

use super::pattern::{Field, Fields, Pattern};
use crate::event::{Isa, NamedRange};
use crate::ranges::{self, RangeError};
use crate::trace::number::hex;
use crate::trace::record::{ISA_NAMES, isa_named};
use toml::Value;

/// Keys of a layout file.
const KEYS: [&str; 14] = [
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
    "line",
    "failed",
    "device",
    "memory",
];
/// Keys of a line.
const LINE_KEYS: [&str; 5] = ["kind", "pattern", "when", "item", "size"];
/// Keys of an item.
const ITEM_KEYS: [&str; 4] = ["kind", "pattern", "when", "size"];

/// What an item of a line is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
    Register,
    Load,
    Store,
    /// A load, then a store.
    Atomic,
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "read" => Kind::Read,
            "write" => Kind::Write,
            "register" => Kind::Register,
            "load" => Kind::Load,
            "store" => Kind::Store,
            "atomic" => Kind::Atomic,
            _ => return None,
        })
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Step,
    /// It says more of a step.
    Continue,
    /// An exception is taken.
    Trap,
    /// Its handler ends.
    Return,
    Ignore,
}

impl LineKind {
    fn named(name: &str) -> Option<LineKind> {
        Some(match name {
            "step" => LineKind::Step,
            "continue" => LineKind::Continue,
            "trap" => LineKind::Trap,
            "return" => LineKind::Return,
            "ignore" => LineKind::Ignore,
            _ => return None,
        })
    }
}

/// A kind of lines. A line is of the first that it fits.
pub struct LineRule {
    pub kind: LineKind,
    pub shape: Shape,
    pub when: When,
    /// What the line itself is of a step, with the size of an access.
    pub item: Option<(Kind, Size)>,
    /// It stands in the layout file as such.
    pub written: bool,
}

/// How a line is cut into fields.
pub enum Shape {
    /// Those that are tried one after the other.
    Patterns(Vec<Pattern>),
    Columns {
        separator: Vec<u8>,
        fields: Vec<usize>,
    },
}

impl Shape {
    pub fn has(&self, field: Field) -> bool {
        match self {
            Shape::Columns { fields, .. } => fields.contains(&(field as usize)),
            Shape::Patterns(patterns) => patterns.iter().any(|pattern| pattern.has(field)),
        }
    }
}

/// What a field must be.
pub enum Test {
    Begins(String),
    /// Bits of a number.
    Bits {
        mask: u64,
        value: u64,
    },
}

/// Fields, and tests of which one must hold.
pub type When = Vec<(usize, Vec<Test>)>;

/// Bytes of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// What the field `{size}` says, else what the instruction does.
    Logged,
    Given(u32),
    /// By the digits of the value.
    ByDigits,
}

pub struct Item {
    pub kind: Kind,
    pub pattern: Pattern,
    pub when: When,
    pub size: Size,
}

/// How opcodes are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Digits {
    /// As the instruction set's own tools do.
    Usual,
    /// Bytes in memory order.
    Bytes,
}

/// A layout file.
pub struct Description {
    pub isa: Option<Isa>,
    /// Values of registers are those before the instruction.
    pub values_before: bool,
    /// Reads and writes are all that an instruction touches.
    pub flags: bool,
    pub opcode: Digits,
    pub skip: Vec<String>,
    /// In the order in which they are tried.
    pub lines: Vec<LineRule>,
    pub items: Vec<Item>,
    pub failed: When,
    pub fields: Fields,
    /// Where the machine's devices and memories are.
    pub devices: Vec<NamedRange>,
    pub memories: Vec<NamedRange>,
}

/// Line of the layout file and what is wrong there.
pub type Wrong = (usize, String);

impl Description {
    /// Whether lines of steps have a field.
    pub fn has(&self, field: Field) -> bool {
        let mut steps = self.lines.iter().filter(|line| line.kind == LineKind::Step);
        steps.any(|line| line.shape.has(field))
    }

    pub fn has_item(&self, kinds: &[Kind]) -> bool {
        let alone = self.lines.iter().filter_map(|line| line.item);
        let items = self.items.iter().map(|item| item.kind).chain(alone.map(|(kind, _)| kind));
        items.into_iter().any(|kind| kinds.contains(&kind))
    }

    /// Whether a line can name the step that it is of.
    pub fn names_steps(&self) -> bool {
        let mut more = self.lines.iter().filter(|line| line.kind == LineKind::Continue);
        more.any(|line| line.shape.has(Field::Pc))
    }

    pub fn parse(text: &str) -> Result<Description, Wrong> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let start = e.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count();
            (line, e.message().to_owned())
        })?;
        if let Some(key) = table.keys().find(|k| !KEYS.contains(&k.as_str())) {
            let message = format!("unknown key `{key}`; there are {}", KEYS.join(", "));
            return Err((place(text, key), message));
        }
        let mut file = File { text, table: &table, fields: Fields::new() };
        let isa = match file.word("isa")? {
            None => None,
            Some(name) => Some(isa_named(name).ok_or_else(|| {
                file.wrong("isa", format!("isa `{name}` is not known; there are {ISA_NAMES}"))
            })?),
        };
        let values = file.choice("values", ["before", "after"])?;
        let opcode = file.choice("opcode", ["bytes", "number"])?;
        let flags = match table.get("flags") {
            None => false,
            Some(value) => value
                .as_bool()
                .ok_or_else(|| file.wrong("flags", "flags must be true or false".into()))?,
        };
        let layout = Description {
            isa,
            values_before: values == Some("before"),
            flags,
            opcode: if opcode == Some("bytes") { Digits::Bytes } else { Digits::Usual },
            skip: file.words("skip")?,
            lines: file.lines()?,
            items: file.items()?,
            failed: when(table.get("failed"), &mut file.fields)
                .map_err(|message| (place(text, "failed"), message))?,
            devices: file.ranges("device", ranges::device)?,
            memories: file.ranges("memory", ranges::memory)?,
            fields: file.fields,
        };
        layout.check(values.is_some())?;
        Ok(layout)
    }

    /// What only the whole file tells.
    fn check(&self, values_said: bool) -> Result<(), Wrong> {
        let message = if !self.has(Field::Pc) {
            "no field {pc}: where the instruction is must be known"
        } else if !self.items.is_empty() && !self.lines.iter().any(|l| l.shape.has(Field::Items)) {
            "[[item]]s are looked for in the field {items}, which the layout does not have"
        } else if !values_said && self.has_item(&[Kind::Register]) {
            "items of kind register need values = \"before\" or \"after\""
        } else {
            return Ok(());
        };
        Err((1, message.into()))
    }
}

/// Line of the first that begins with the key: values know no place in the file.
fn place(text: &str, key: &str) -> usize {
    text.lines().position(|l| l.trim_start().starts_with(key)).map_or(1, |i| i + 1)
}

/// A layout file that is being read.
struct File<'t> {
    text: &'t str,
    table: &'t toml::Table,
    fields: Fields,
}

impl<'t> File<'t> {
    fn wrong(&self, key: &str, message: String) -> Wrong {
        (place(self.text, key), message)
    }

    fn word(&self, key: &str) -> Result<Option<&'t str>, Wrong> {
        word(self.table, key).map_err(|message| self.wrong(key, message))
    }

    fn words(&self, key: &str) -> Result<Vec<String>, Wrong> {
        words(self.table.get(key)).map_err(|message| self.wrong(key, message))
    }

    /// Ranges by name, which do not overlap.
    fn ranges(
        &self,
        key: &'static str,
        parse: fn(&str) -> Result<NamedRange, RangeError>,
    ) -> Result<Vec<NamedRange>, Wrong> {
        let all = self.words(key)?;
        let all = all.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>();
        let checked = all.and_then(|all| ranges::refuse_overlap(key, &all).map(|()| all));
        checked.map_err(|error| self.wrong(key, error.to_string()))
    }

    fn choice(&self, key: &str, known: [&'static str; 2]) -> Result<Option<&'static str>, Wrong> {
        let Some(word) = self.word(key)? else { return Ok(None) };
        let found = known.into_iter().find(|k| *k == word);
        found.map(Some).ok_or_else(|| {
            let [first, second] = known;
            self.wrong(key, format!("{key} `{word}`; it may be {first} or {second}"))
        })
    }

    fn patterns(&mut self, key: &str) -> Result<Vec<Pattern>, Wrong> {
        let list = self.words(key)?;
        let parsed: Result<_, _> =
            list.iter().map(|p| Pattern::parse(p.trim(), &mut self.fields)).collect();
        parsed.map_err(|message| self.wrong(key, message))
    }

    /// All kinds of lines: steps by `pattern` or `columns`, those written as such, `ignore`.
    fn lines(&mut self) -> Result<Vec<LineRule>, Wrong> {
        let plain =
            |kind, shape| LineRule { kind, shape, when: Vec::new(), item: None, written: false };
        let mut lines = Vec::new();
        if let Some(shape) = self.shape()? {
            lines.push(plain(LineKind::Step, shape));
        }
        let list = match self.table.get("line") {
            None => &[][..],
            Some(Value::Array(list)) => list,
            Some(_) => return Err(self.wrong("line", "lines are written [[line]]".into())),
        };
        // Errors of lines tell the line of the line's heading.
        let mut headings = (1..).zip(self.text.lines()).filter(|(_, l)| l.trim() == "[[line]]");
        for value in list {
            let at = headings.next().map_or(1, |(line, _)| line);
            lines.push(line(value, &mut self.fields).map_err(|message| (at, message))?);
        }
        let ignored = self.patterns("ignore")?;
        if !ignored.is_empty() {
            lines.push(plain(LineKind::Ignore, Shape::Patterns(ignored)));
        }
        Ok(lines)
    }

    fn shape(&mut self) -> Result<Option<Shape>, Wrong> {
        match (self.table.get("pattern"), self.table.get("columns")) {
            (Some(_), None) => Ok(Some(Shape::Patterns(self.patterns("pattern")?))),
            (None, None) if self.table.contains_key("line") => Ok(None),
            (None, Some(_)) => {
                let list = self.words("columns")?;
                let fields: Result<_, _> = list.iter().map(|c| self.fields.index(c)).collect();
                let separator = self.word("separator")?.unwrap_or(" ").as_bytes().to_vec();
                if separator.is_empty() {
                    return Err(self.wrong("separator", "an empty separator".into()));
                }
                let fields = fields.map_err(|message| self.wrong("columns", message))?;
                Ok(Some(Shape::Columns { separator, fields }))
            }
            _ => Err((1, "a layout needs either `pattern` or `columns`, or [[line]]s".into())),
        }
    }

    fn items(&mut self) -> Result<Vec<Item>, Wrong> {
        let list = match self.table.get("item") {
            None => &[][..],
            Some(Value::Array(list)) => list,
            Some(_) => return Err(self.wrong("item", "items are written [[item]]".into())),
        };
        // Errors of items tell the line of the item's heading.
        let mut headings = (1..).zip(self.text.lines()).filter(|(_, l)| l.trim() == "[[item]]");
        list.iter()
            .map(|value| {
                let line = headings.next().map_or(1, |(line, _)| line);
                item(value, &mut self.fields).map_err(|message| (line, message))
            })
            .collect()
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
            .map(|v| v.as_str().map(str::to_owned).ok_or_else(|| format!("`{v}` is not a text")))
            .collect(),
        Some(other) => Err(format!("`{other}` is neither a text nor a list of texts")),
    }
}

fn when(value: Option<&Value>, fields: &mut Fields) -> Result<When, String> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let table =
        value.as_table().ok_or("a condition is written { field = [\"beginning\", ...] }")?;
    let tests = |(name, value): (&String, &Value)| {
        let tests: Result<Vec<Test>, String> = words(Some(value))?.into_iter().map(test).collect();
        Ok((fields.index(name)?, tests?))
    };
    table.iter().map(tests).collect()
}

/// A beginning, or bits of a number: `0x7f=0x23`.
fn test(text: String) -> Result<Test, String> {
    let Some((mask, value)) = text.split_once('=').filter(|(mask, _)| mask.starts_with("0x"))
    else {
        return Ok(Test::Begins(text));
    };
    match (hex(mask.as_bytes()), hex(value.as_bytes())) {
        (Some(mask), Some(value)) => Ok(Test::Bits { mask, value }),
        _ => Err(format!("`{text}`; bits are written 0xMASK=0xVALUE")),
    }
}

fn line(value: &Value, fields: &mut Fields) -> Result<LineRule, String> {
    let table = value.as_table().ok_or("lines are written [[line]]")?;
    if let Some(key) = table.keys().find(|k| !LINE_KEYS.contains(&k.as_str())) {
        return Err(format!("unknown key `{key}` of a line; there are {}", LINE_KEYS.join(", ")));
    }
    let name = word(table, "kind")?.ok_or("a line without kind")?;
    let kind = LineKind::named(name).ok_or_else(|| {
        format!("kind `{name}`; it may be step, continue, trap, return or ignore")
    })?;
    let list = words(table.get("pattern"))?;
    let patterns: Result<Vec<_>, _> =
        list.iter().map(|p| Pattern::parse(p.trim(), fields)).collect();
    let patterns = patterns?;
    if patterns.is_empty() {
        return Err("a line without pattern".into());
    }
    let item = match word(table, "item")? {
        None => None,
        Some(item) => {
            let of = item_kind(item)?;
            patterns.iter().try_for_each(|pattern| needs(of, item, pattern))?;
            Some((of, size(table)?))
        }
    };
    if item.is_some() && kind != LineKind::Continue {
        return Err("only a line of kind continue is an item itself".into());
    }
    let when = when(table.get("when"), fields)?;
    Ok(LineRule { kind, shape: Shape::Patterns(patterns), when, item, written: true })
}

fn item_kind(name: &str) -> Result<Kind, String> {
    Kind::named(name).ok_or_else(|| {
        format!("kind `{name}`; it may be read, write, register, load, store or atomic")
    })
}

/// Whether a pattern has what an item is made of.
fn needs(kind: Kind, name: &str, pattern: &Pattern) -> Result<(), String> {
    let needed = match kind {
        Kind::Load | Kind::Store | Kind::Atomic => &[Field::Address][..],
        _ => &[Field::Name, Field::Value],
    };
    match needed.iter().find(|field| !pattern.has(**field)) {
        Some(field) => {
            Err(format!("the pattern of kind {name} needs {{{}}}", Fields::name(*field)))
        }
        None => Ok(()),
    }
}

fn size(table: &toml::Table) -> Result<Size, String> {
    match table.get("size") {
        None => Ok(Size::Logged),
        Some(Value::String(s)) if s == "digits" => Ok(Size::ByDigits),
        Some(other) => other
            .as_integer()
            .and_then(|bytes| u32::try_from(bytes).ok())
            .filter(|bytes| (1..=4096).contains(bytes))
            .map(Size::Given)
            .ok_or_else(|| format!("size `{other}`; it may be a number of bytes or \"digits\"")),
    }
}

fn item(value: &Value, fields: &mut Fields) -> Result<Item, String> {
    let table = value.as_table().ok_or("items are written [[item]]")?;
    if let Some(key) = table.keys().find(|k| !ITEM_KEYS.contains(&k.as_str())) {
        return Err(format!("unknown key `{key}` of an item; there are {}", ITEM_KEYS.join(", ")));
    }
    let name = word(table, "kind")?.ok_or("an item without kind")?;
    let kind = item_kind(name)?;
    let pattern = word(table, "pattern")?.ok_or("an item without pattern")?;
    let pattern = Pattern::parse(pattern.trim(), fields)?;
    needs(kind, name, &pattern)?;
    let size = size(table)?;
    Ok(Item { kind, pattern, when: when(table.get("when"), fields)?, size })
}
