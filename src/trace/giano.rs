//! Logs in the manner of the paper's modified Giano simulator (section III): a line an executed
//! instruction with timestamp, opcode, disassembly, the values of all registers, and flags that say
//! which of them it read or wrote. The paper does not give its syntax; `docs/giano.md` defines
//! ours.

use super::error::TraceError;
use super::input::{Input, Place};
use super::lines::{Line, each_line};
use super::number::{hex, number};
use super::problems::{Problems, excerpt};
use super::reader::{Context, Format, Sink, StepFormat};
use super::record::{
    ISA_NAMES, Lists, Names, Record, Steps, TOO_MANY_CPUS, isa_named, opcode, pieces,
};
use crate::diagnostics::Severity;
use crate::event::{Carries, Condition, Isa, LoggedAccess, RegSpan, RegUse};
use rustc_hash::FxHashMap;

pub struct Giano;

/// Lines of the head that must be steps.
const SNIFFED: usize = 8;

impl Format for Giano {
    fn name(&self) -> &'static str {
        "giano"
    }
    fn about(&self) -> &'static str {
        "Giano-style simulator log: opcode, disassembly, all registers with read/write flags, optionally accesses"
    }
    fn record(&self) -> &'static str {
        "a simulator that writes the lines of docs/giano.md (the paper's modified Giano)"
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
        "# giano 1 isa=arm values=after\n\
         TIME [cpuN] PC OPCODE \"disassembly\" {NAME=HEX[FLAGS]} {[M:R|W ADDRESS SIZE [VALUE]]} [[skipped]]\n\
         e.g.  12 00008004 e5801000 \"str r1, [r0]\" r0=00009000[R] r1=00000005[R] pc=00008004 [M:W 00009000 4 00000005]\n\
         TIME and SIZE are decimal, the rest hexadecimal. FLAGS are [R], [W] or [RW]; where a log has them they decide what an\n\
         instruction read and wrote. [skipped] marks an instruction whose condition failed. OPCODE is - where there is none.\n\
         Lines that begin with # are comments; `# giano 1` may say isa (or give --elf), values=before or values=after the instruction\n\
         (else found from the flags), flags=yes and accesses=yes (else found in the first 64 KiB). Without accesses they are computed\n\
         from the operands and the register values. Four digits of OPCODE are Thumb code, or else the T bit of cpsr says which it is.\n\
         The last line must end with a newline."
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let complete = memchr::memrchr(b'\n', head).map_or(&head[..0], |end| &head[..end]);
        let (mut steps, mut items) = (0, 0);
        for line in
            complete.split(|&b| b == b'\n').map(|l| l.trim_ascii()).filter(|l| !l.is_empty())
        {
            if line.starts_with(b"#") {
                if version(line).is_some() {
                    return true;
                }
                continue;
            }
            let Some(parsed) = Parsed::parse(line) else { return false };
            for item in Items(parsed.rest) {
                if item.is_none() {
                    return false;
                }
                items += 1;
            }
            steps += 1;
            if steps == SNIFFED {
                break;
            }
        }
        steps > 0 && items > 0
    }
}

impl StepFormat for Giano {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let mut problems = Problems::new(input.locator());
        let facts = Facts::of(input.head(), &problems)?;
        let Some(isa) = facts.isa.or(context.isa) else {
            let remedy = "add a line `# giano 1 isa=arm` at the top or give the program with --elf";
            return Err(problems.malformed(1, "the log does not tell its instruction set", remedy));
        };
        let before = facts.registers && facts.values(sink, &mut problems)?;
        let carries = Carries {
            accesses: facts.accesses,
            registers: facts.registers,
            registers_before: before,
            values: facts.registers || facts.accesses,
            threads: facts.cpus,
            thumb: facts.psr,
            ..self.carries()
        };
        sink.begin(carries, facts.isa)?;
        let mut reader = Reader {
            isa,
            carries,
            names: Names::new(isa),
            steps: Steps::new(isa, before, facts.flagged, true),
            lists: Lists::default(),
            places: Vec::new(),
            t_bit: FxHashMap::default(),
            first_bad: None,
        };
        each_line(input, sink, |line, sink| reader.line(line, &mut problems, sink))?;
        if reader.steps.count == 0 {
            let (line, text) = reader.first_bad.unwrap_or((1, "end of file".into()));
            return Err(problems.malformed(
                line,
                format!("no step in it, first `{text}`"),
                "see `addfg formats giano`",
            ));
        }
        reader.steps.finish(sink)
    }
}

/// Version that a `# giano N` line declares.
fn version(line: &[u8]) -> Option<&[u8]> {
    let mut words =
        line.strip_prefix(b"#")?.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    (words.next()? == b"giano").then_some(())?;
    words.next()
}

/// A step's line before its items are looked at.
struct Parsed<'a> {
    time: u64,
    cpu: Option<u32>,
    pc: u64,
    opcode: &'a [u8],
    text: &'a [u8],
    rest: &'a [u8],
}

/// The first word and what follows it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    text.split_at(end)
}

impl<'a> Parsed<'a> {
    fn parse(line: &'a [u8]) -> Option<Parsed<'a>> {
        let (time, rest) = word(line);
        let time = number(time)?;
        let (mut pc, mut rest) = word(rest);
        let mut cpu = None;
        if let Some(digits) = pc.strip_prefix(b"cpu") {
            cpu = Some(u32::try_from(number(digits.strip_prefix(b"=").unwrap_or(digits))?).ok()?);
            (pc, rest) = word(rest);
        }
        let pc = hex(pc)?;
        let (opcode, rest) = word(rest);
        if opcode != b"-" {
            opcode.iter().all(u8::is_ascii_hexdigit).then_some(())?;
            (!opcode.is_empty() && opcode.len() <= 30).then_some(())?;
        }
        let quoted = rest.trim_ascii_start().strip_prefix(b"\"")?;
        let end = memchr::memchr(b'"', quoted)?;
        let rest = &quoted[end + 1..];
        rest.first().is_none_or(u8::is_ascii_whitespace).then_some(())?;
        Some(Parsed { time, cpu, pc, opcode, text: &quoted[..end], rest })
    }
}

#[derive(Clone, Copy)]
enum Item<'a> {
    Register { name: &'a [u8], value: &'a [u8], usage: Option<RegUse> },
    Access(LoggedAccess),
    Skipped,
}

/// The items behind the disassembly; gives `None` for what is none and ends there.
struct Items<'a>(&'a [u8]);

impl<'a> Iterator for Items<'a> {
    type Item = Option<Item<'a>>;
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0 = self.0.trim_ascii_start();
        if self.0.is_empty() {
            return None;
        }
        let item = if self.0[0] == b'[' { self.bracket() } else { self.register() };
        if item.is_none() {
            self.0 = &[];
        }
        Some(item)
    }
}

impl<'a> Items<'a> {
    /// Takes a register if it begins with `text`, its name and value, and gives its flags.
    #[inline]
    fn again(&mut self, text: &[u8]) -> Option<Option<RegUse>> {
        let rest = self.0.trim_ascii_start().strip_prefix(text)?;
        let (flags, rest) = match rest.first() {
            None | Some(b' ') => (&rest[..0], rest),
            Some(b'[') => word(rest),
            Some(_) => return None,
        };
        let usage = usage(flags)?;
        self.0 = rest;
        Some(usage)
    }

    fn bracket(&mut self) -> Option<Item<'a>> {
        let end = memchr::memchr(b']', self.0)?;
        let (inner, rest) = (&self.0[1..end], &self.0[end + 1..]);
        self.0 = rest;
        rest.first().is_none_or(|b| b.is_ascii_whitespace() || *b == b'[').then_some(())?;
        if inner == b"skipped" {
            return Some(Item::Skipped);
        }
        let inner = inner.strip_prefix(b"M:")?;
        let (kind, rest) = word(inner);
        let is_write = match kind {
            b"R" => false,
            b"W" => true,
            _ => return None,
        };
        let (address, rest) = word(rest);
        let (size, rest) = word(rest);
        let (value, rest) = word(rest);
        rest.is_empty().then_some(())?;
        let size = u32::try_from(number(size)?).ok().filter(|s| (1..=4096).contains(s))?;
        // A value wider than 8 bytes is left out, one that is no number is an error.
        let digits = value.strip_prefix(b"0x").unwrap_or(value);
        digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
        let value = if size <= 8 && !value.is_empty() { Some(hex(value)?) } else { None };
        Some(Item::Access(LoggedAccess { address: hex(address)?, size, is_write, value }))
    }

    fn register(&mut self) -> Option<Item<'a>> {
        let (text, rest) = word(self.0);
        self.0 = rest;
        let equals = memchr::memchr(b'=', text)?;
        let (name, value) = (&text[..equals], &text[equals + 1..]);
        let (value, usage) = match memchr::memchr(b'[', value) {
            None => (value, None),
            Some(open) => (&value[..open], usage(&value[open..])?),
        };
        let digits = value.strip_prefix(b"0x").unwrap_or(value);
        let good = !name.is_empty() && name.len() <= 32 && (1..=128).contains(&digits.len());
        (good && digits.iter().all(u8::is_ascii_hexdigit)).then_some(Item::Register {
            name,
            value,
            usage,
        })
    }
}

/// What flags say; the outer `None`: they are none.
fn usage(flags: &[u8]) -> Option<Option<RegUse>> {
    Some(match flags {
        b"[R]" => Some(RegUse::Read),
        b"[W]" => Some(RegUse::Write),
        b"[RW]" => Some(RegUse::ReadWrite),
        b"" | b"[]" | b"[-]" => None,
        _ => return None,
    })
}

/// What the header and the first lines say of the whole log.
#[derive(Default)]
struct Facts {
    isa: Option<Isa>,
    declared_before: Option<bool>,
    /// Votes of the first lines for values after and before the instruction.
    after_votes: u32,
    before_votes: u32,
    registers: bool,
    flagged: bool,
    accesses: bool,
    cpus: bool,
    psr: bool,
}

impl Facts {
    fn of(head: &[u8], problems: &Problems) -> Result<Facts, TraceError> {
        let mut facts = Facts::default();
        // Per CPU and register: value and whether it was written, of the line before.
        let mut last: FxHashMap<(u32, &[u8]), (&[u8], bool)> = FxHashMap::default();
        let complete = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
        for (index, line) in complete.split(|&b| b == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.starts_with(b"#") {
                facts.declare(line, index as u64 + 1, problems)?;
                continue;
            }
            let Some(parsed) = Parsed::parse(line) else { continue };
            facts.cpus |= parsed.cpu.is_some();
            for item in Items(parsed.rest).flatten() {
                match item {
                    Item::Access(_) => facts.accesses = true,
                    Item::Skipped => {}
                    Item::Register { name, value, usage } => {
                        facts.registers = true;
                        facts.flagged |= usage.is_some();
                        facts.psr |= is_psr(name);
                        let written = matches!(usage, Some(RegUse::Write | RegUse::ReadWrite));
                        let entry = (value, written);
                        let Some((before, was_written)) =
                            last.insert((parsed.cpu.unwrap_or(0), name), entry)
                        else {
                            continue;
                        };
                        // The program counter changes without being written.
                        if before == value
                            || matches!(name, b"pc" | b"PC" | b"r15" | b"R15" | b"rip" | b"eip")
                        {
                            continue;
                        }
                        // A change shows in the line that writes, or in the one behind it.
                        match (was_written, written) {
                            (false, true) => facts.after_votes += 1,
                            (true, false) => facts.before_votes += 1,
                            _ => {}
                        }
                    }
                }
            }
        }
        Ok(facts)
    }

    fn declare(&mut self, line: &[u8], number: u64, problems: &Problems) -> Result<(), TraceError> {
        let Some(version) = version(line) else { return Ok(()) };
        if version != b"1" {
            let message = format!("version {} of the format is not known", excerpt(version));
            return Err(problems.malformed(number, message, "this addfg reads version 1"));
        }
        for word in line.split(u8::is_ascii_whitespace) {
            let Some(equals) = memchr::memchr(b'=', word) else { continue };
            let value = String::from_utf8_lossy(&word[equals + 1..]);
            let wrong = |known: &str| {
                problems.malformed(
                    number,
                    format!("`{}`", excerpt(word)),
                    format!("it may be {known}"),
                )
            };
            match &word[..equals] {
                b"isa" => self.isa = Some(isa_named(&value).ok_or_else(|| wrong(ISA_NAMES))?),
                b"values" => match &*value {
                    "before" => self.declared_before = Some(true),
                    "after" => self.declared_before = Some(false),
                    _ => return Err(wrong("before or after")),
                },
                b"flags" => self.flagged |= value == "yes",
                b"accesses" => self.accesses |= value == "yes",
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the values are those before the instruction.
    fn values(&self, sink: &mut dyn Sink, problems: &mut Problems) -> Result<bool, TraceError> {
        if let Some(before) = self.declared_before {
            return Ok(before);
        }
        let remedy = "add a line `# giano 1 values=after` (or before) at the top";
        if !self.flagged {
            return Err(problems.malformed(
                1,
                "without flags, it cannot be told whether values are before or after",
                remedy,
            ));
        }
        let before = self.before_votes > self.after_votes;
        let word = if before { "before" } else { "after" };
        let (most, least) =
            (self.before_votes.max(self.after_votes), self.before_votes.min(self.after_votes));
        if most == 0 || least > 0 {
            problems.add(sink, (Severity::Warning, "values-assumed", remedy), Place::Line(1), || {
                format!("register values taken as those {word} the instruction: {most} changes speak for it, {least} against")
            });
        }
        Ok(before)
    }
}

fn is_psr(name: &[u8]) -> bool {
    matches!(name, b"cpsr" | b"CPSR" | b"psr" | b"PSR")
}

/// A register of a line, which the next lines mostly repeat.
struct Repeated {
    /// Name and value as the line has them, empty if the value is in several pieces.
    text: Vec<u8>,
    piece: (RegSpan, u64),
    psr: bool,
}

/// Places that are remembered at most.
const PLACES: usize = 256;

struct Reader {
    isa: Isa,
    carries: Carries,
    names: Names,
    steps: Steps,
    lists: Lists,
    /// Registers by their place in the line, as a line before had them.
    places: Vec<Repeated>,
    /// T bit that the line before left, per CPU.
    t_bit: FxHashMap<u32, bool>,
    first_bad: Option<(u64, String)>,
}

impl Reader {
    fn line(
        &mut self,
        line: Line,
        problems: &mut Problems,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        if line.text.starts_with(b"#") {
            return Ok(());
        }
        if !line.whole || self.step(&line, problems, sink)?.is_none() {
            if self.first_bad.is_none() {
                self.first_bad = Some((line.number, excerpt(line.text)));
            }
            problems.line(sink, &line, "no line of a Giano log");
        }
        Ok(())
    }

    /// `None`: the line is no step.
    fn step(
        &mut self,
        line: &Line,
        problems: &mut Problems,
        sink: &mut dyn Sink,
    ) -> Result<Option<()>, TraceError> {
        let Some(parsed) = Parsed::parse(line.text) else { return Ok(None) };
        let cpu = parsed.cpu.unwrap_or(0);
        let before = self.carries.registers_before;
        self.lists.clear();
        let mut condition = Condition::Unknown;
        let mut t_bit = None;
        let mut items = Items(parsed.rest);
        for number in 0.. {
            // What the line before said, too, is not parsed again.
            if let Some(place) = self.places.get(number)
                && !place.text.is_empty()
                && let Some(usage) = items.again(&place.text)
            {
                let list = if before { &mut self.lists.before } else { &mut self.lists.after };
                list.push(place.piece);
                self.lists.flags.extend(usage.map(|usage| (place.piece.0, usage)));
                if place.psr {
                    t_bit = Some(place.piece.1 & 0x20 != 0);
                }
                continue;
            }
            let Some(item) = items.next() else { break };
            match item {
                None => return Ok(None),
                Some(Item::Skipped) => condition = Condition::Failed,
                Some(Item::Access(access)) => {
                    if !self.carries.accesses {
                        let kind = (
                            Severity::Warning,
                            "accesses-ignored",
                            "declare them: `# giano 1 accesses=yes`",
                        );
                        problems.add(sink, kind, Place::Line(line.number), || {
                            "accesses begin so late that they were not expected; all are computed from the registers".into()
                        });
                        continue;
                    }
                    self.lists.accesses.push(access);
                }
                Some(Item::Register { name, value, usage }) => {
                    let span = match self.names.span(number, name) {
                        Ok(span) => span,
                        Err(()) => {
                            let kind = (
                                Severity::Warning,
                                "unknown-register",
                                "see `addfg formats giano`",
                            );
                            problems.add(sink, kind, Place::Line(line.number), || {
                                format!(
                                    "`{}` is no register of {:?}; left out",
                                    excerpt(name),
                                    self.isa
                                )
                            });
                            continue;
                        }
                    };
                    let Some(span) = span else { continue };
                    let list = if before { &mut self.lists.before } else { &mut self.lists.after };
                    let first = list.len();
                    if !pieces(span, value, list) {
                        return Ok(None);
                    }
                    remember(
                        &mut self.places,
                        number,
                        [name, value],
                        &list[first..],
                        self.isa == Isa::Arm && is_psr(name),
                    );
                    if let Some(usage) = usage {
                        self.lists.flags.push((span, usage));
                    }
                    if self.isa == Isa::Arm && is_psr(name) {
                        t_bit = list.last().map(|(_, value)| value & 0x20 != 0);
                    }
                }
            }
        }
        if cpu != 0 && !self.carries.threads {
            let kind = (Severity::Error, "late-cpu", "give every line its cpuN from the start");
            problems.add(sink, kind, Place::Line(line.number), || {
                "a second CPU begins where none were expected; the line was left out".into()
            });
            return Ok(Some(()));
        }
        if !self.steps.admits(cpu) {
            problems.add(sink, TOO_MANY_CPUS, Place::Line(line.number), || {
                format!("CPU {cpu} is one too many; its lines were left out")
            });
            return Ok(Some(()));
        }
        let mut thumb = false;
        if self.isa == Isa::Arm {
            let last = t_bit.and_then(|t| self.t_bit.insert(cpu, t)).or(t_bit);
            let state = if before { t_bit } else { last };
            thumb = parsed.opcode.len() == 4 || state.unwrap_or(false) || parsed.pc & 1 != 0;
        }
        let bytes = if parsed.opcode == b"-" {
            Some(Default::default())
        } else {
            opcode(parsed.opcode, self.isa, thumb)
        };
        let Some(opcode) = bytes else { return Ok(None) };
        let record = Record {
            line: line.number,
            time: parsed.time,
            cpu,
            pc: if self.isa == Isa::Arm { parsed.pc & !1 } else { parsed.pc },
            opcode,
            thumb,
            text: parsed.text,
            condition,
        };
        self.steps.push(&record, &mut self.lists, sink)?;
        Ok(Some(()))
    }
}

/// Keeps what a line says of the register at a place.
fn remember(
    places: &mut Vec<Repeated>,
    number: usize,
    [name, value]: [&[u8]; 2],
    pieces: &[(RegSpan, u64)],
    psr: bool,
) {
    if number >= PLACES {
        return;
    }
    if places.len() <= number {
        let empty = || Repeated {
            text: Vec::new(),
            piece: (RegSpan { offset: 0, size: 0 }, 0),
            psr: false,
        };
        places.resize_with(number + 1, empty);
    }
    let place = &mut places[number];
    place.text.clear();
    if let &[piece] = pieces {
        place.text.extend_from_slice(name);
        place.text.push(b'=');
        place.text.extend_from_slice(value);
        (place.piece, place.psr) = (piece, psr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Diagnostic;
    use crate::event::{RunBatch, StepBatch};
    use crate::trace::reader::Listener;

    #[derive(Default)]
    struct Rows {
        carries: Carries,
        batch: StepBatch,
        diagnostics: Vec<Diagnostic>,
    }
    impl Sink for Rows {
        fn begin(&mut self, carries: Carries, _: Option<Isa>) -> Result<(), TraceError> {
            self.carries = carries;
            Ok(())
        }
        fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
            self.batch = std::mem::take(batch);
            Ok(())
        }
        fn runs(&mut self, _: &mut RunBatch) -> Result<(), TraceError> {
            Ok(())
        }
    }
    impl Listener for Rows {
        fn diagnostic(&mut self, diagnostic: Diagnostic) {
            self.diagnostics.push(diagnostic);
        }
        fn progress(&mut self, _: u64) {}
    }

    fn read(text: &str) -> Result<Rows, TraceError> {
        let context = Context { isa: Some(Isa::Arm), layout: None, jobs: 1 };
        let mut rows = Rows::default();
        Giano.read(Input::from_bytes("g", text.as_bytes())?, &context, &mut rows)?;
        Ok(rows)
    }

    #[test]
    fn values_before_or_after_are_found_from_the_flags() {
        let after = "1 0 e3a00005 \"\" r0=5[W] r1=0\n2 4 e3a01006 \"\" r0=5 r1=6[W]\n3 8 e1a00001 \"\" r0=6[W] r1=6[R]\n";
        let rows = read(after).unwrap();
        assert!(!rows.carries.registers_before && rows.diagnostics.is_empty());
        let before = "1 0 e3a00005 \"\" r0=0[W] r1=0\n2 4 e3a01006 \"\" r0=5 r1=0[W]\n3 8 e1a00001 \"\" r0=5[W] r1=6[R]\n";
        let rows = read(before).unwrap();
        assert!(rows.carries.registers_before && rows.diagnostics.is_empty());
        // All in the first row, then what changed.
        assert_eq!(rows.batch.register_end, [2, 3, 4]);
        let one = read("1 0 e3a00005 \"\" r0=5[W]\n").unwrap();
        assert_eq!(one.diagnostics[0].code, "values-assumed");
        let error = read("1 0 e3a00005 \"\" r0=5\n").err().unwrap().to_string();
        assert!(error.contains("values=after"), "{error}");
    }

    #[test]
    fn thumb_is_the_state_before_the_instruction() {
        let thumb = |text: &str| {
            read(text).unwrap().batch.new_insns.iter().map(|i| i.thumb).collect::<Vec<_>>()
        };
        let lines = |values: &str, psr: [&str; 3]| {
            format!(
                "# giano 1 values={values}\n1 0 e12fff10 \"bx r0\" cpsr={}\n2 8 f8df1004 \"ldr.w\" cpsr={}\n3 c 4770 \"bx lr\" cpsr={}\n",
                psr[0], psr[1], psr[2]
            )
        };
        assert_eq!(thumb(&lines("before", ["10", "30", "30"])), [false, true, true]);
        // The first line has none before it: its own must do, so what it says of a `bx` is wrong
        // only there.
        assert_eq!(thumb(&lines("after", ["10", "30", "30"])), [false, false, true]);
        let rows = read(&lines("before", ["10", "30", "30"])).unwrap();
        assert_eq!(rows.batch.new_insns[1].bytes, [0xdf, 0xf8, 0x04, 0x10]);
    }

    #[test]
    fn values_that_a_line_repeats_are_not_listed_again() {
        let rows = read(
            "# giano 1 isa=arm values=after\n1 0 e3a00005 \"a\" r0=5[W] r1=1 cpsr=10\n2 4 e3a00005 \"b\" r0=5 r1=1[R] cpsr=10\n\
             3 8 e3a00005 \"c\" r0=51[R] r1=1 cpsr=30\n4 c 2005 \"d\" r1=1 r0=51 cpsr=30\n5 e 2005 \"e\" r1=1 r0=5 cpsr=30[R]\n",
        )
        .unwrap();
        let values: Vec<u64> = rows.batch.registers.iter().map(|r| r.1).collect();
        assert_eq!(
            (values, rows.batch.register_end),
            (vec![5, 1, 0x10, 0x51, 0x30, 5], vec![3, 3, 5, 5, 6])
        );
        let insns = rows
            .batch
            .new_insns
            .iter()
            .map(|i| (i.thumb, i.log_registers.as_ref().map(|f| f.len())));
        let expected = [
            (false, Some(1)),
            (false, Some(1)),
            (false, Some(1)),
            (true, Some(0)),
            (true, Some(1)),
        ];
        assert_eq!(insns.collect::<Vec<_>>(), expected);
        for bad in ["r0=5[X]", "r0=5[R]1", "r0=5x"] {
            let rows =
                read(&format!("# giano 1 isa=arm values=after\n1 0 e3a00005 \"a\" r0=5[W]\n2 4 e3a00005 \"b\" {bad}\n")).unwrap();
            assert_eq!(
                (rows.batch.len(), rows.diagnostics[0].code),
                (1, "malformed-line"),
                "{bad}"
            );
        }
    }

    #[test]
    fn flags_make_instructions_of_their_own() {
        let rows = read(
            "# giano 1 isa=arm values=after\n1 0 03a00005 \"moveq r0, #5\" r0=0 cpsr=0[R]\n2 4 e1a00000 \"nop\" r0=0\n\
             3 0 03a00005 \"moveq r0, #5\" r0=5[W] cpsr=40000000[R]\n",
        )
        .unwrap();
        let flags: Vec<_> = rows
            .batch
            .new_insns
            .iter()
            .map(|i| i.log_registers.as_ref().map(|f| f.len()))
            .collect();
        assert_eq!(flags, [Some(1), Some(0), Some(2)]);
    }
}
