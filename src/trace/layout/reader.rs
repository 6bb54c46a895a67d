//! From lines to steps.

use super::description::{Description, Digits, Kind, LineKind, LineRule, Shape, Size, Test, When};
use super::pattern::{Base, Captures, Field, Reach};
use crate::diagnostics::Severity;
use crate::event::{Condition, Event, ExceptionEntry, Isa, Keeps, LoggedAccess, RegUse};
use crate::trace::error::TraceError;
use crate::trace::input::Place;
use crate::trace::lines::Line;
use crate::trace::number::{decimal_front, hex, hex_length, number, without_prefix};
use crate::trace::open::{NO_STEP, OpenStep, OpenSteps};
use crate::trace::problems::{Kind as ProblemKind, MOST_ACCESSES, Problems, excerpt};
use crate::trace::reader::Sink;
use crate::trace::record::{Lists, Names, Opcode, Record, Steps, TOO_MANY_CPUS, opcode, pieces};

const UNKNOWN_REGISTER: ProblemKind =
    (Severity::Warning, "unknown-register", "restrict the item's pattern or give the right isa");

const PASSED_OVER: ProblemKind = (
    Severity::Warning,
    "item-passed-over",
    "say in a [[item]] of the layout file what it is where its `when` does not hold",
);
/// Steps that are kept for lines that name one.
const NAMED: usize = 256;
const LINE_UNUSED: ProblemKind =
    (Severity::Info, "line-unused", "compare its pattern with the log, if there should be such");
const ITEM_UNUSED: ProblemKind =
    (Severity::Info, "item-unused", "compare its pattern with the log, if there should be such");

pub struct Reader<'l> {
    isa: Isa,
    problems: Problems,
    names: Names,
    steps: OpenSteps,
    lists: Lists,
    layout: &'l Description,
    typed: Vec<(usize, Base)>,
    /// By item: something was one.
    fitted: Vec<bool>,
    /// By kind of lines: there was one.
    fitted_lines: Vec<bool>,
    /// The CPU of the last step.
    cpu: u32,
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
        let mut steps = OpenSteps::new(steps);
        if layout.names_steps() {
            steps.keep(NAMED);
        }
        Reader {
            isa,
            problems,
            names: Names::new(isa),
            steps,
            lists: Lists::default(),
            layout,
            typed: layout.fields.typed(),
            fitted: vec![false; layout.items.len()],
            fitted_lines: vec![false; layout.lines.len()],
            cpu: 0,
            captures: vec![None; layout.fields.len()],
            first_bad: None,
        }
    }

    pub fn line(&mut self, line: Line, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if self.layout.skip.iter().any(|s| line.text.starts_with(s.as_bytes())) {
            return Ok(());
        }
        let mut captures = reuse(std::mem::take(&mut self.captures));
        let read = if line.whole { self.fit(&line, &mut captures, sink) } else { Ok(false) };
        self.captures = reuse(captures);
        if !read? {
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
        let rules = self.layout.lines.iter().zip(&self.fitted_lines);
        let unused = rules.filter(|(rule, fitted)| rule.written && !**fitted);
        for (rule, _) in unused {
            self.problems.add(sink, LINE_UNUSED, Place::Line(1), || {
                format!(
                    "a [[line]] of kind {:?} of the layout file fits nothing in the log",
                    rule.kind
                )
            });
        }
        self.steps.finish(sink)
    }

    /// Whether the line is of a kind that the layout has: the first that takes all its fields.
    fn fit<'a>(
        &mut self,
        line: &Line<'a>,
        captures: &mut Captures<'a>,
        sink: &mut dyn Sink,
    ) -> Result<bool, TraceError> {
        let layout = self.layout;
        for (number, rule) in layout.lines.iter().enumerate() {
            let mut from = 0;
            while let Some(next) = fit(&rule.shape, from, line.text, captures) {
                from = next;
                if !holds(&rule.when, captures) || !self.are_numbers(captures) {
                    continue;
                }
                let taken = match rule.kind {
                    LineKind::Step => self.step(line, captures, sink)?,
                    LineKind::Continue => self.more(rule, line, captures, sink)?,
                    LineKind::Trap => self.trap(captures, sink)?,
                    LineKind::Return => {
                        let thread = self.cpu_of(captures).unwrap_or(self.cpu);
                        let event = Event::ExceptionReturn { thread, frame: None };
                        Some(self.steps.event(thread, event, sink)?)
                    }
                    LineKind::Ignore => Some(()),
                };
                if taken.is_some() {
                    self.fitted_lines[number] = true;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether the fields that the layout says to be numbers are.
    fn are_numbers(&self, captures: &Captures) -> bool {
        self.typed.iter().all(|(field, base)| {
            captures[*field].is_none_or(|text| match base {
                Base::Hexadecimal => hex(text).is_some(),
                Base::Decimal => number(text).is_some(),
                Base::Thousandths => thousandths(text).is_some(),
            })
        })
    }

    /// A line that says more of a step: of the one that it names, else of the last one of its CPU.
    fn more<'a>(
        &mut self,
        rule: &LineRule,
        line: &Line<'a>,
        captures: &mut Captures<'a>,
        sink: &mut dyn Sink,
    ) -> Result<Option<()>, TraceError> {
        self.lists.clear();
        let Some(cpu) = self.cpu_of(captures) else { return Ok(None) };
        let pc = captures[Field::Pc as usize].map(|_| self.number(captures, Field::Pc));
        if pc == Some(None) {
            return Ok(None);
        }
        match rule.item {
            Some((kind, size)) => {
                let found = match kind {
                    Kind::Load | Kind::Store | Kind::Atomic => self.access(kind, size, 0, captures),
                    _ => self.register(kind, 0, captures, &mut 0),
                };
                match found {
                    Found::Length(_) => {}
                    Found::Unknown(name, _) => self.unknown(name, line, sink),
                    Found::Nothing | Found::Bad => return Ok(None),
                }
            }
            None => {
                if let Some(items) = captures[Field::Items as usize]
                    && !self.items(items, line, captures, sink)
                {
                    return Ok(None);
                }
            }
        }
        let step = match pc.flatten() {
            Some(pc) => self.steps.find(|s| s.record.pc == pc && s.record.cpu == cpu),
            None => self.steps.open(cpu),
        };
        if let Some(step) = step {
            add(step, &mut self.lists);
        } else if let Some(access) = self.lists.accesses.first() {
            self.problems.add(sink, NO_STEP, Place::Line(line.number), || {
                format!("an access of {:#x} that belongs to no instruction", access.address)
            });
        } else {
            self.steps.values(cpu).append(&mut self.lists.after);
        }
        Ok(Some(()))
    }

    /// A line that says that an exception is taken.
    fn trap(&mut self, captures: &Captures, sink: &mut dyn Sink) -> Result<Option<()>, TraceError> {
        let resume = self.number(captures, Field::Pc);
        let said = |field: Field| captures[field as usize].is_some();
        let number = self.number(captures, Field::Number).and_then(|n| u32::try_from(n).ok());
        let thread = self.cpu_of(captures);
        let wrong = said(Field::Pc) && resume.is_none() || said(Field::Number) && number.is_none();
        let Some(thread) = thread.filter(|_| !wrong) else { return Ok(None) };
        if let Some(step) = self.steps.open(thread)
            && resume == Some(step.record.pc)
            && step.lists.accesses.is_empty()
            && step.lists.after.is_empty()
        {
            step.undo();
        }
        let keeps = if self.isa == Isa::Arm { Keeps::Link } else { Keeps::None };
        let entry = ExceptionEntry { thread, number, resume, keeps, ..Default::default() };
        self.steps.event(thread, Event::ExceptionEntry(entry), sink)?;
        Ok(Some(()))
    }

    /// The CPU of a line: the last one if it does not say; `None`: it is no number.
    fn cpu_of(&self, captures: &Captures) -> Option<u32> {
        match captures[Field::Cpu as usize] {
            None | Some(b"") => Some(self.cpu),
            Some(_) => u32::try_from(self.number(captures, Field::Cpu)?).ok(),
        }
    }

    /// `None`: the line does not fit.
    fn step<'a>(
        &mut self,
        line: &Line<'a>,
        captures: &mut Captures<'a>,
        sink: &mut dyn Sink,
    ) -> Result<Option<()>, TraceError> {
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
        self.cpu = record.cpu;
        let micro = self.number(captures, Field::Micro).unwrap_or(0);
        let open = self.steps.open(record.cpu).filter(|step| step.record.pc == record.pc);
        match open.filter(|_| micro != 0) {
            Some(step) => {
                self.lists.before.clear();
                self.lists.flags.clear();
                add(step, &mut self.lists);
            }
            None => add(self.steps.begin(&record, sink)?, &mut self.lists),
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
            Field::Time | Field::Cpu | Field::Micro | Field::Size | Field::Number => Base::Decimal,
            _ => Base::Hexadecimal,
        };
        match self.layout.fields.base(field).unwrap_or(usual) {
            Base::Hexadecimal => return hex(text),
            Base::Thousandths => return thousandths(text),
            Base::Decimal => {}
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
                    self.unknown(name, line, sink);
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

    fn unknown(&mut self, name: &[u8], line: &Line, sink: &mut dyn Sink) {
        let isa = self.isa;
        self.problems.add(sink, UNKNOWN_REGISTER, Place::Line(line.number), || {
            format!("`{}` is not a register of {isa:?}; left out", excerpt(name))
        });
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
                Kind::Load | Kind::Store | Kind::Atomic => {
                    self.access(item.kind, item.size, length, captures)
                }
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

    fn access<'a>(
        &mut self,
        kind: Kind,
        size: Size,
        length: usize,
        captures: &Captures<'a>,
    ) -> Found<'a> {
        let Some(address) = self.number(captures, Field::Address) else { return Found::Nothing };
        let value = captures[Field::Value as usize];
        let logged = captures[Field::Size as usize].map(|_| self.number(captures, Field::Size));
        let size = match (size, value, logged) {
            (Size::Given(size), ..) => Some(size),
            (Size::ByDigits, Some(value), _) => u32::try_from(hex_length(value) / 2).ok(),
            (.., None) => Some(0),
            (.., Some(size)) => size
                .and_then(|size| u32::try_from(size).ok())
                .filter(|size| (1..=4096).contains(size)),
        };
        let Some(size) = size else { return Found::Bad };
        let value = value.and_then(|_| self.number(captures, Field::Value));
        if kind == Kind::Atomic {
            let load = LoggedAccess { address, size, is_write: false, value: None };
            self.lists.accesses.push(load);
        }
        let is_write = matches!(kind, Kind::Store | Kind::Atomic);
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

/// Adds what a line says of a step.
fn add(step: &mut OpenStep, lists: &mut Lists) {
    step.lists.before.append(&mut lists.before);
    step.lists.after.append(&mut lists.after);
    step.lists.accesses.append(&mut lists.accesses);
    step.lists.flags.append(&mut lists.flags);
    step.lists.accesses.truncate(MOST_ACCESSES);
}

/// A decimal number with a fraction and a unit, in thousandths.
fn thousandths(text: &[u8]) -> Option<u64> {
    let (whole, length) = decimal_front(text);
    (1..=16).contains(&length).then_some(())?;
    let digits = text[length..].strip_prefix(b".").unwrap_or_default();
    let digit = |i: usize| digits.get(i).filter(|b| b.is_ascii_digit()).map_or(0, |b| b - b'0');
    let fraction = u64::from(digit(0)) * 100 + u64::from(digit(1)) * 10 + u64::from(digit(2));
    Some(whole * 1000 + fraction)
}

/// Cuts a line into fields by the first pattern from `from` on that fits; gives the number behind it.
fn fit<'a>(
    shape: &Shape,
    from: usize,
    line: &'a [u8],
    captures: &mut Captures<'a>,
) -> Option<usize> {
    match shape {
        Shape::Patterns(patterns) => {
            let mut rest = patterns.iter().enumerate().skip(from);
            let found = rest.find(|(_, pattern)| {
                captures.fill(None);
                pattern.matches(line, Reach::Whole, captures).is_some()
            });
            found.map(|(number, _)| number + 1)
        }
        Shape::Columns { separator, fields } => {
            captures.fill(None);
            (from == 0 && columns(line, separator, fields, captures)).then_some(1)
        }
    }
}

/// Whether one of each field's tests holds.
fn holds(when: &When, captures: &Captures) -> bool {
    when.iter().all(|(field, tests)| {
        let text = captures[*field].unwrap_or_default();
        tests.iter().any(|test| match test {
            Test::Begins(beginning) => text.starts_with(beginning.as_bytes()),
            Test::Bits { mask, value } => hex(text).is_some_and(|n| n & mask == *value),
        })
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
