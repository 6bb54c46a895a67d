//! A layout file, read and checked.

use super::pattern::{Field, Fields, Pattern};
use crate::event::Isa;
use crate::trace::record::{ISA_NAMES, isa_named};
use toml::Value;

/// Keys of a layout file.
const KEYS: [&str; 11] = [
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
}

impl Kind {
    fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "read" => Kind::Read,
            "write" => Kind::Write,
            "register" => Kind::Register,
            "load" => Kind::Load,
            "store" => Kind::Store,
            _ => return None,
        })
    }
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

/// Fields and the beginnings of which they must have one.
pub type When = Vec<(usize, Vec<String>)>;

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
    /// Lines that fit no pattern but one of these are no steps.
    pub ignore: Vec<Pattern>,
    pub shape: Shape,
    pub items: Vec<Item>,
    pub failed: When,
    pub fields: Fields,
}

/// Line of the layout file and what is wrong there.
pub type Wrong = (usize, String);

impl Description {
    pub fn has(&self, field: Field) -> bool {
        match &self.shape {
            Shape::Columns { fields, .. } => fields.contains(&(field as usize)),
            Shape::Patterns(patterns) => patterns.iter().any(|pattern| pattern.has(field)),
        }
    }

    pub fn has_item(&self, kinds: &[Kind]) -> bool {
        self.items.iter().any(|item| kinds.contains(&item.kind))
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
            ignore: file.patterns("ignore")?,
            shape: file.shape()?,
            items: file.items()?,
            failed: when(table.get("failed"), &mut file.fields)
                .map_err(|message| (place(text, "failed"), message))?,
            fields: file.fields,
        };
        layout.check(values.is_some())?;
        Ok(layout)
    }

    /// What only the whole file tells.
    fn check(&self, values_said: bool) -> Result<(), Wrong> {
        let message = if !self.has(Field::Pc) {
            "no field {pc}: where the instruction is must be known"
        } else if !self.items.is_empty() && !self.has(Field::Items) {
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

    fn shape(&mut self) -> Result<Shape, Wrong> {
        match (self.table.get("pattern"), self.table.get("columns")) {
            (Some(_), None) => Ok(Shape::Patterns(self.patterns("pattern")?)),
            (None, Some(_)) => {
                let list = self.words("columns")?;
                let fields: Result<_, _> = list.iter().map(|c| self.fields.index(c)).collect();
                let separator = self.word("separator")?.unwrap_or(" ").as_bytes().to_vec();
                if separator.is_empty() {
                    return Err(self.wrong("separator", "an empty separator".into()));
                }
                let fields = fields.map_err(|message| self.wrong("columns", message))?;
                Ok(Shape::Columns { separator, fields })
            }
            _ => Err((1, "a layout needs either `pattern` or `columns`".into())),
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
            .map(|v| v.as_str().map(str::to_owned).ok_or_else(|| format!("`{v}` is no text")))
            .collect(),
        Some(other) => Err(format!("`{other}` is no text and no list of texts")),
    }
}

fn when(value: Option<&Value>, fields: &mut Fields) -> Result<When, String> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let table =
        value.as_table().ok_or("a condition is written { field = [\"beginning\", ...] }")?;
    table.iter().map(|(name, value)| Ok((fields.index(name)?, words(Some(value))?))).collect()
}

fn item(value: &Value, fields: &mut Fields) -> Result<Item, String> {
    let table = value.as_table().ok_or("items are written [[item]]")?;
    if let Some(key) = table.keys().find(|k| !ITEM_KEYS.contains(&k.as_str())) {
        return Err(format!("unknown key `{key}` of an item; there are {}", ITEM_KEYS.join(", ")));
    }
    let name = word(table, "kind")?.ok_or("an item without kind")?;
    let kind = Kind::named(name)
        .ok_or_else(|| format!("kind `{name}`; it may be read, write, register, load or store"))?;
    let pattern = word(table, "pattern")?.ok_or("an item without pattern")?;
    let pattern = Pattern::parse(pattern.trim(), fields)?;
    let needed = match kind {
        Kind::Load | Kind::Store => &[Field::Address][..],
        _ => &[Field::Name, Field::Value],
    };
    if let Some(field) = needed.iter().find(|field| !pattern.has(**field)) {
        let field = Fields::name(*field);
        return Err(format!("the pattern of kind {name} needs {{{field}}}"));
    }
    let size = match table.get("size") {
        None => Size::Logged,
        Some(Value::String(s)) if s == "digits" => Size::ByDigits,
        Some(other) => other
            .as_integer()
            .and_then(|bytes| u32::try_from(bytes).ok())
            .filter(|bytes| (1..=4096).contains(bytes))
            .map(Size::Given)
            .ok_or_else(|| format!("size `{other}`; it may be a number of bytes or \"digits\""))?,
    };
    Ok(Item { kind, pattern, when: when(table.get("when"), fields)?, size })
}
