//! From lines to steps.

use super::facts::is_psr;
use super::line::{Item, Items, Parsed};
use crate::diagnostics::Severity;
use crate::event::{Carries, Condition, Isa, RegSpan};
use crate::trace::error::TraceError;
use crate::trace::input::Place;
use crate::trace::lines::Line;
use crate::trace::number::hex_digits;
use crate::trace::problems::{Kind, Problems, excerpt};
use crate::trace::reader::Sink;
use crate::trace::record::{Lists, Names, Record, Steps, TOO_MANY_CPUS, opcode, pieces};
use rustc_hash::FxHashMap;

/// Places that are remembered at most.
const PLACES: usize = 256;

const ACCESSES_IGNORED: Kind =
    (Severity::Warning, "accesses-ignored", "declare them: `# giano 1 accesses=yes`");
const UNKNOWN_REGISTER: Kind = (Severity::Warning, "unknown-register", "see `addfg formats giano`");
const LATE_CPU: Kind = (Severity::Error, "late-cpu", "give every line its cpuN from the start");

/// A register of a line, which the next lines mostly repeat.
struct Repeated {
    /// Name and value as the line has them, empty if the value is in several pieces.
    text: Vec<u8>,
    piece: (RegSpan, u64),
    psr: bool,
}

/// What the items of a line say beside registers and accesses.
#[derive(Default)]
struct Said {
    condition: Condition,
    /// ARM's T bit.
    t_bit: Option<bool>,
}

pub struct Reader {
    isa: Isa,
    carries: Carries,
    problems: Problems,
    names: Names,
    steps: Steps,
    lists: Lists,
    /// Registers by their place in the line, as a line before had them.
    places: Vec<Repeated>,
    /// T bit that the line before left, per CPU.
    t_bit: FxHashMap<u32, bool>,
    /// The log has odd addresses, which are those of Thumb code.
    has_odd: bool,
    first_bad: Option<(u64, String)>,
}

impl Reader {
    pub fn new(isa: Isa, carries: Carries, flagged: bool, problems: Problems) -> Reader {
        Reader {
            isa,
            carries,
            problems,
            names: Names::new(isa),
            steps: Steps::new(isa, carries.registers_before, flagged, true),
            lists: Lists::default(),
            places: Vec::new(),
            t_bit: FxHashMap::default(),
            has_odd: false,
            first_bad: None,
        }
    }

    pub fn line(&mut self, line: Line, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if line.text.starts_with(b"#") {
            return Ok(());
        }
        if !line.whole || self.step(&line, sink)?.is_none() {
            if self.first_bad.is_none() {
                self.first_bad = Some((line.number, excerpt(line.text)));
            }
            self.problems.line(sink, &line, "no line of a Giano log");
        }
        Ok(())
    }

    /// Gives the last steps.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        if self.steps.count == 0 {
            let (line, text) = self.first_bad.take().unwrap_or((1, "end of file".into()));
            let message = format!("no step in it, first `{text}`");
            return Err(self.problems.malformed(line, message, "see `addfg formats giano`"));
        }
        self.steps.finish(sink)
    }

    /// `None`: the line is no step.
    fn step(&mut self, line: &Line, sink: &mut dyn Sink) -> Result<Option<()>, TraceError> {
        let Some(parsed) = Parsed::parse(line.text) else { return Ok(None) };
        self.lists.clear();
        let Some(said) = self.items(line, parsed.rest, sink) else { return Ok(None) };
        let cpu = parsed.cpu.unwrap_or(0);
        if !self.admits(cpu, line, sink) {
            return Ok(Some(()));
        }
        let thumb = self.isa == Isa::Arm && self.thumb(&parsed, cpu, said.t_bit);
        let opcode = match parsed.opcode {
            b"-" => Default::default(),
            digits => match opcode(digits, self.isa, thumb) {
                Some(opcode) => opcode,
                None => return Ok(None),
            },
        };
        let record = Record {
            line: line.number,
            time: parsed.time,
            cpu,
            pc: if self.isa == Isa::Arm { parsed.pc & !1 } else { parsed.pc },
            opcode,
            thumb,
            text: parsed.text,
            condition: said.condition,
        };
        self.steps.push(&record, &mut self.lists, sink)?;
        Ok(Some(()))
    }

    /// Puts the items into the lists; `None`: one of them is none.
    fn items(&mut self, line: &Line, text: &[u8], sink: &mut dyn Sink) -> Option<Said> {
        let mut said = Said::default();
        let mut items = Items(text);
        for place in 0.. {
            // What the line before said, too, is not parsed again.
            if let Some(repeated) = self.places.get(place)
                && !repeated.text.is_empty()
                && let Some(usage) = items.again(&repeated.text)
            {
                let (span, value) = repeated.piece;
                self.lists.values(self.carries.registers_before).push((span, value));
                self.lists.flags.extend(usage.map(|usage| (span, usage)));
                if repeated.psr {
                    said.t_bit = Some(value & 0x20 != 0);
                }
                continue;
            }
            let Some(item) = items.next() else { break };
            match item? {
                Item::Skipped => said.condition = Condition::Failed,
                Item::Executed => said.condition = Condition::Held,
                Item::Access(access) if self.carries.accesses => self.lists.accesses.push(access),
                Item::Access(_) => {
                    self.problems.add(sink, ACCESSES_IGNORED, Place::Line(line.number), || {
                        "accesses begin so late that they were not expected; all are computed from the registers".into()
                    });
                }
                Item::Register { name, value, usage } => {
                    let span = match self.names.span(place, name) {
                        Ok(Some(span)) => span,
                        Ok(None) => continue,
                        Err(()) => {
                            let isa = self.isa;
                            let kind = UNKNOWN_REGISTER;
                            self.problems.add(sink, kind, Place::Line(line.number), || {
                                format!(
                                    "`{}` is not a register of {isa:?}; left out",
                                    excerpt(name)
                                )
                            });
                            continue;
                        }
                    };
                    let t_bit = self.register(place, [name, value], span)?;
                    self.lists.flags.extend(usage.map(|usage| (span, usage)));
                    said.t_bit = t_bit.or(said.t_bit);
                }
            }
        }
        Some(said)
    }

    /// Lists a register's value, and remembers what the line says at this place. Gives the T bit if
    /// it is ARM's status register; `None`: the value is none of this register.
    fn register(
        &mut self,
        place: usize,
        [name, value]: [&[u8]; 2],
        span: RegSpan,
    ) -> Option<Option<bool>> {
        let list = self.lists.values(self.carries.registers_before);
        let first = list.len();
        if !pieces(span, value, list) {
            return None;
        }
        let psr = self.isa == Isa::Arm && is_psr(name);
        let pieces = &list[first..];
        remember(&mut self.places, place, [name, value], pieces, psr);
        Some(if psr { pieces.last().map(|(_, value)| value & 0x20 != 0) } else { None })
    }

    /// Whether there is room for a CPU; else its line is left out.
    fn admits(&mut self, cpu: u32, line: &Line, sink: &mut dyn Sink) -> bool {
        let place = Place::Line(line.number);
        if cpu != 0 && !self.carries.threads {
            self.problems.add(sink, LATE_CPU, place, || {
                "a second CPU begins where none were expected; the line was left out".into()
            });
            return false;
        }
        let admits = self.steps.admits(cpu);
        if !admits {
            self.problems.add(sink, TOO_MANY_CPUS, place, || {
                format!("CPU {cpu} is one too many; its lines were left out")
            });
        }
        admits
    }

    /// Whether an instruction is Thumb code: its address, if the log has odd ones, or the state before it decides, or else four
    /// digits of opcode.
    fn thumb(&mut self, parsed: &Parsed, cpu: u32, t_bit: Option<bool>) -> bool {
        let odd = parsed.pc & 1 != 0;
        self.has_odd |= odd;
        let last = t_bit.and_then(|t| self.t_bit.insert(cpu, t));
        let state = match (self.carries.registers_before, last, t_bit) {
            (true, ..) => t_bit,
            (false, None, Some(after)) => Some(thumb_before(parsed.opcode, after)),
            (false, last, _) => last,
        };
        parsed.opcode.len() == 4 || odd || !self.has_odd && state.unwrap_or(false)
    }
}

/// Whether the first instruction of a log is Thumb code, of which the state after it is known: that
/// of the instruction, unless it is one that changes it.
fn thumb_before(opcode: &[u8], after: bool) -> bool {
    let Some(number) = hex_digits(opcode).and_then(|n| u32::try_from(n).ok()) else { return after };
    let (first, second) = (number >> 16, number & 0xffff);
    if after {
        // No Thumb instruction of four bytes begins so; `blx` with an address.
        first >= 0xe800 && number >> 25 != 0x7d
    } else {
        // `blx` with an address.
        first >> 11 == 0x1e && second & 0xd001 == 0xc000
    }
}

/// Keeps what a line says of the register at a place.
fn remember(
    places: &mut Vec<Repeated>,
    place: usize,
    [name, value]: [&[u8]; 2],
    pieces: &[(RegSpan, u64)],
    psr: bool,
) {
    if place >= PLACES {
        return;
    }
    if places.len() <= place {
        let piece = (RegSpan { offset: 0, size: 0 }, 0);
        places.resize_with(place + 1, || Repeated { text: Vec::new(), piece, psr: false });
    }
    let repeated = &mut places[place];
    repeated.text.clear();
    if let &[piece] = pieces {
        repeated.text.extend_from_slice(name);
        repeated.text.push(b'=');
        repeated.text.extend_from_slice(value);
        (repeated.piece, repeated.psr) = (piece, psr);
    }
}
