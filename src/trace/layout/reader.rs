//! From lines to steps.

use super::description::{Description, Digits, Item, Kind, Shape, Size, When};
use super::pattern::{Base, Captures, Field, Reach};
use crate::diagnostics::Severity;
use crate::event::{Condition, Isa, LoggedAccess, RegUse};
use crate::trace::error::TraceError;
use crate::trace::input::Place;
use crate::trace::lines::Line;
use crate::trace::number::{hex, hex_length, number, without_prefix};
use crate::trace::problems::{Kind as ProblemKind, Problems, excerpt};
use crate::trace::reader::Sink;
use crate::trace::record::{Lists, Names, Opcode, Record, Steps, TOO_MANY_CPUS, opcode, pieces};

const UNKNOWN_REGISTER: ProblemKind =
    (Severity::Warning, "unknown-register", "restrict the item's pattern or give the right isa");

const PASSED_OVER: ProblemKind = (
    Severity::Warning,
    "item-passed-over",
    "say in a [[item]] of the layout file what it is where its `when` does not hold",
);
const ITEM_UNUSED: ProblemKind =
    (Severity::Info, "item-unused", "compare its pattern with the log, if there should be such");

pub struct Reader<'l> {
    isa: Isa,
    problems: Problems,
    names: Names,
    steps: Steps,
    lists: Lists,
    layout: &'l Description,
    /// By item: something was one.
    fitted: Vec<bool>,
    /// Memory for the fields of a line.
    captures: Vec<Option<&'static [u8]>>,
    first_bad: Option<(u64, String)>,
}

/// An item at the start of a text.
enum Found<'a> {
    /// Its bytes.
    Length(usize),
    Nothing,
    /// An item that cannot be what it says.
    Bad,
    /// A name that is no register, met for the first time.
    Unknown(&'a [u8], usize),
}

impl<'l> Reader<'l> {
    pub fn new(layout: &'l Description, isa: Isa, steps: Steps, problems: Problems) -> Reader<'l> {
        Reader {
            isa,
            problems,
            names: Names::new(isa),
            steps,
            lists: Lists::default(),
            layout,
            fitted: vec![false; layout.items.len()],
            captures: vec![None; layout.fields.len()],
            first_bad: None,
        }
    }

    pub fn line(&mut self, line: Line, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if self.layout.skip.iter().any(|s| line.text.starts_with(s.as_bytes())) {
            return Ok(());
        }
        let mut captures = reuse(std::mem::take(&mut self.captures));
        let read = if line.whole { self.step(&line, &mut captures, sink) } else { Ok(None) };
        self.captures = reuse(captures);
        if read?.is_none() {
            if self.first_bad.is_none() {
                self.first_bad = Some((line.number, excerpt(line.text)));
            }
            self.problems.line(sink, &line, "a line that does not fit the layout");
        }
        Ok(())
    }

    /// Gives the last steps.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if self.steps.count == 0 {
            let none = || (1, "no line that is not skipped".into());
            let (line, text) = self.first_bad.take().unwrap_or_else(none);
            let message = format!("no line fits the layout, first `{text}`");
            return Err(self.problems.malformed(line, message, "correct the layout file"));
        }
        for (number, _) in (1..).zip(&self.fitted).filter(|(_, fitted)| !**fitted) {
            self.problems.add(sink, ITEM_UNUSED, Place::Line(1), || {
                format!("[[item]] {number} of the layout file fits nothing in the log")
            });
        }
        self.steps.finish(sink)
    }

    /// `None`: the line does not fit.
    fn step<'a>(
        &mut self,
        line: &Line<'a>,
        captures: &mut Captures<'a>,
        sink: &mut dyn Sink,
    ) -> Result<Option<()>, TraceError> {
        let layout = self.layout;
        if !fit(&layout.shape, line.text, captures) {
            let mut ignored = layout.ignore.iter();
            let ignored = ignored.any(|p| p.matches(line.text, Reach::Whole, captures).is_some());
            return Ok(ignored.then_some(()));
        }
        self.lists.clear();
        if let Some(items) = captures[Field::Items as usize]
            && !self.items(items, line, captures, sink)
        {
            return Ok(None);
        }
        let Some(record) = self.record(line, captures) else { return Ok(None) };
        if !self.steps.admits(record.cpu) {
            self.problems.add(sink, TOO_MANY_CPUS, Place::Line(line.number), || {
                format!("CPU {} is one too many; its lines were left out", record.cpu)
            });
            return Ok(Some(()));
        }
        let micro = self.number(captures, Field::Micro).unwrap_or(0);
        if micro == 0 || !self.steps.join(&record, &mut self.lists) {
            self.steps.push(&record, &mut self.lists, sink)?;
        }
        Ok(Some(()))
    }

    /// What the fields beside the items say; `None`: a field is not what it should be.
    fn record<'a>(&self, line: &Line<'a>, captures: &Captures<'a>) -> Option<Record<'a>> {
        let layout = self.layout;
        let text = |field: Field| captures[field as usize].unwrap_or_default();
        let pc = self.number(captures, Field::Pc)?;
        // A time is missing only if it is no field of the pattern that fitted.
        let time = match captures[Field::Time as usize] {
            Some(_) => self.number(captures, Field::Time)?,
            None => 0,
        };
        let cpu = match text(Field::Cpu) {
            b"" => 0,
            _ => u32::try_from(self.number(captures, Field::Cpu)?).ok()?,
        };
        let digits = without_prefix(text(Field::Opcode));
        let mode = text(Field::Mode).first();
        let thumb = self.isa == Isa::Arm
            && (mode.is_some_and(|b| b.eq_ignore_ascii_case(&b'T'))
                || digits.len() == 4
                || pc & 1 != 0);
        let opcode: Opcode = match digits {
            [] | b"-" => Default::default(),
            digits if layout.opcode == Digits::Bytes => opcode(digits, Isa::X86_64, false)?,
            digits => opcode(digits, self.isa, thumb)?,
        };
        let failed = !layout.failed.is_empty() && holds(&layout.failed, captures);
        Some(Record {
            line: line.number,
            time,
            cpu,
            pc: if self.isa == Isa::Arm { pc & !1 } else { pc },
            opcode,
            thumb,
            text: text(Field::Text),
            condition: if failed { Condition::Failed } else { Condition::Unknown },
        })
    }

    fn number(&self, captures: &Captures, field: Field) -> Option<u64> {
        let text = captures[field as usize]?;
        let usual = match field {
            Field::Time | Field::Cpu | Field::Micro | Field::Size => Base::Decimal,
            _ => Base::Hexadecimal,
        };
        if self.layout.fields.base(field).unwrap_or(usual) == Base::Hexadecimal {
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

    /// Puts the items into the lists; false: one of them cannot be what it says.
    fn items<'a>(
        &mut self,
        items: &'a [u8],
        line: &Line,
        captures: &mut Captures<'a>,
        sink: &mut dyn Sink,
    ) -> bool {
        let (mut rest, mut place, mut good) = (items, 0, true);
        while !rest.is_empty() {
            let taken = match self.item(rest, captures, &mut place) {
                Found::Length(length) => length,
                Found::Nothing => {
                    if self.refused(rest, captures) {
                        self.problems.add(sink, PASSED_OVER, Place::Line(line.number), || {
                            format!(
                                "`{}` fits only items whose `when` does not hold; passed over",
                                excerpt(rest)
                            )
                        });
                    }
                    0
                }
                Found::Bad => {
                    good = false;
                    0
                }
                Found::Unknown(name, length) => {
                    let isa = self.isa;
                    self.problems.add(sink, UNKNOWN_REGISTER, Place::Line(line.number), || {
                        format!("`{}` is no register of {isa:?}; left out", excerpt(name))
                    });
                    length
                }
            };
            // On to the next word.
            let separator = |b: &u8| b.is_ascii_whitespace() || *b == b',';
            rest = &rest[taken..];
            if taken == 0 {
                rest = &rest[rest.iter().position(separator).unwrap_or(rest.len())..];
            }
            rest = &rest[rest.iter().position(|b| !separator(b)).unwrap_or(rest.len())..];
        }
        good
    }

    /// The first item whose pattern fits at the start of `rest`.
    fn item<'a>(
        &mut self,
        rest: &'a [u8],
        captures: &mut Captures<'a>,
        place: &mut usize,
    ) -> Found<'a> {
        for (number, item) in self.layout.items.iter().enumerate() {
            if !item.when.is_empty() && !holds(&item.when, captures) {
                continue;
            }
            for field in [Field::Name, Field::Value, Field::Address, Field::Size] {
                captures[field as usize] = None;
            }
            let Some(length) = item.pattern.matches(rest, Reach::Words, captures) else { continue };
            let found = match item.kind {
                Kind::Load | Kind::Store => self.access(item, length, captures),
                _ => self.register(item.kind, length, captures, place),
            };
            if !matches!(found, Found::Nothing) {
                self.fitted[number] = true;
                return found;
            }
        }
        Found::Nothing
    }

    /// Whether an item that has a `when` would begin here, did it hold.
    fn refused<'a>(&self, rest: &'a [u8], captures: &mut Captures<'a>) -> bool {
        let mut restricted = self.layout.items.iter().filter(|item| !item.when.is_empty());
        restricted.any(|item| item.pattern.matches(rest, Reach::Words, captures).is_some())
    }

    fn access<'a>(&mut self, item: &Item, length: usize, captures: &Captures<'a>) -> Found<'a> {
        let Some(address) = self.number(captures, Field::Address) else { return Found::Nothing };
        let value = captures[Field::Value as usize];
        let logged = captures[Field::Size as usize].map(|_| self.number(captures, Field::Size));
        let size = match (item.size, value, logged) {
            (Size::Given(size), ..) => Some(size),
            (Size::ByDigits, Some(value), _) => u32::try_from(hex_length(value) / 2).ok(),
            (.., None) => Some(0),
            (.., Some(size)) => size
                .and_then(|size| u32::try_from(size).ok())
                .filter(|size| (1..=4096).contains(size)),
        };
        let Some(size) = size else { return Found::Bad };
        let value = value.and_then(|_| self.number(captures, Field::Value));
        let is_write = item.kind == Kind::Store;
        self.lists.accesses.push(LoggedAccess { address, size, is_write, value });
        Found::Length(length)
    }

    fn register<'a>(
        &mut self,
        kind: Kind,
        length: usize,
        captures: &Captures<'a>,
        place: &mut usize,
    ) -> Found<'a> {
        let (Some(name), Some(value)) =
            (captures[Field::Name as usize], captures[Field::Value as usize])
        else {
            return Found::Nothing;
        };
        let span = match self.names.span(*place, name) {
            Ok(Some(span)) => span,
            Ok(None) => return Found::Length(length),
            Err(()) => return Found::Unknown(name, length),
        };
        *place += 1;
        let before = match kind {
            Kind::Read => true,
            Kind::Register => self.layout.values_before,
            _ => false,
        };
        if !pieces(span, value, self.lists.values(before)) {
            return Found::Bad;
        }
        match kind {
            Kind::Read => self.lists.flags.push((span, RegUse::Read)),
            Kind::Write => self.lists.flags.push((span, RegUse::Write)),
            _ => {}
        }
        Found::Length(length)
    }
}

/// Cuts a line into fields; false if it does not fit.
fn fit<'a>(shape: &Shape, line: &'a [u8], captures: &mut Captures<'a>) -> bool {
    match shape {
        Shape::Patterns(patterns) => patterns.iter().any(|pattern| {
            captures.fill(None);
            pattern.matches(line, Reach::Whole, captures).is_some()
        }),
        Shape::Columns { separator, fields } => {
            captures.fill(None);
            columns(line, separator, fields, captures)
        }
    }
}

/// Whether each field begins with one of its words.
fn holds(when: &When, captures: &Captures) -> bool {
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
    captures: &mut Captures<'a>,
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
