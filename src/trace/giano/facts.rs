//! What the header and the first lines say of the whole log.

use super::line::{Item, Items, Parsed};
use crate::diagnostics::Severity;
use crate::event::{Isa, RegUse};
use crate::trace::error::TraceError;
use crate::trace::input::Place;
use crate::trace::problems::{Problems, excerpt};
use crate::trace::reader::Sink;
use crate::trace::record::{ISA_NAMES, isa_named};
use rustc_hash::FxHashMap;

/// Version that a `# giano N` line declares.
pub fn version(line: &[u8]) -> Option<&[u8]> {
    let mut words =
        line.strip_prefix(b"#")?.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    (words.next()? == b"giano").then_some(())?;
    words.next()
}

/// What the header and the first lines say of the whole log.
#[derive(Default)]
pub struct Facts {
    pub isa: Option<Isa>,
    declared_before: Option<bool>,
    /// Votes of the first lines for values after and before the instruction.
    after_votes: u32,
    before_votes: u32,
    pub registers: bool,
    pub flagged: bool,
    pub accesses: bool,
    pub cpus: bool,
    pub psr: bool,
}

impl Facts {
    pub fn of(head: &[u8], problems: &Problems) -> Result<Facts, TraceError> {
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
                    Item::Skipped | Item::Executed => {}
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
    pub fn values(&self, sink: &mut dyn Sink, problems: &mut Problems) -> Result<bool, TraceError> {
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

pub fn is_psr(name: &[u8]) -> bool {
    matches!(name, b"cpsr" | b"CPSR" | b"psr" | b"PSR")
}
