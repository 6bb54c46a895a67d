//! Valgrind lackey, `--trace-mem=yes`: a line an instruction (`I  addr,size`), then a line for each
//! of its data accesses (` L`oad, ` S`tore, ` M`odify: a load, then a store). Addresses are
//! hexadecimal, sizes decimal bytes.
//!
//! Chunks are parsed in parallel: each finds straight runs and keeps a dictionary of them; one
//! ordered pass joins the runs that a cut went through and maps the dictionaries onto one.

use super::error::TraceError;
use super::input::{Chunk, HEAD, Input, Place};
use super::lines::{Parsers, each_parsed};
use super::number::{decimal, decimal_front, hex_front};
use super::problems::{
    FOREIGN_LINES, MALFORMED_LINE, MOST_ACCESSES, Problems, TOO_MANY_ACCESSES, TRUNCATED, excerpt,
};
use super::reader::{Claim, Context, Format, ProcessClaim, Sink, StepFormat};
use crate::event::{BlockDef, BlockStep, Carries, InsnDef, MemShape, RunBatch};
use rustc_hash::FxHashMap;

/// Bytes of text that one job parses at a time.
const CHUNK: usize = 2 << 20;
/// Steps of a block at most, so that a log without jumps needs no endless block.
const LONGEST_RUN: usize = 4096;

/// Records that make a log behind lines of another kind, and those that make one without such.
const RECORDS: usize = 16;
const FEW_RECORDS: usize = 3;

/// A data access in a run's tokens; an instruction is its size.
const ACCESS: u32 = 1 << 31;
const WRITE: u32 = 1 << 30;
/// Sizes are below this.
const SIZE: u32 = 1 << 24;

pub struct Lackey;

impl Format for Lackey {
    fn name(&self) -> &'static str {
        "lackey"
    }
    fn about(&self) -> &'static str {
        "valgrind's lackey tool: instructions and data accesses with addresses and sizes"
    }
    fn record(&self) -> &'static str {
        "valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file=app.log ./app"
    }
    fn carries(&self) -> Carries {
        Carries { steps: true, accesses: true, ..Carries::default() }
    }
    fn help(&self) -> &'static str {
        "One line an instruction, then one for each of its data accesses:\n\
         \x20   I  004010e9,5          instruction: address, size\n\
         \x20    S 1fff000728,8        store;  L load;  M modify: a load, then a store\n\
         Record with --vex-guest-chase=no: otherwise valgrind goes on past branches and lists instructions that never ran.\n\
         Link the program statically: then its addresses are those of the ELF and no library is missing.\n\
         Opcodes come from the ELF. There is no clock, no thread, no register value, and nothing of what the kernel stored: bytes\n\
         that a system call wrote keep the producer they had before."
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let end = memchr::memrchr(b'\n', head).map_or(head.len(), |end| end + 1);
        let quiet = |line: &[u8]| is_quiet(line) || line.trim_ascii().is_empty();
        let text: Vec<&[u8]> =
            head[..end].split_inclusive(|&b| b == b'\n').filter(|line| !quiet(line)).collect();
        let good = |line: &&[u8]| {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            parse_line(line.strip_suffix(b"\r").unwrap_or(line)).is_some()
        };
        // A log of superblocks is refused by its own words.
        if text.first().is_some_and(|line| is_superblock(line))
            && text.iter().all(|line| is_superblock(line))
        {
            return true;
        }
        let before = text.iter().take_while(|line| !good(line)).count();
        let rest = text.len() - before;
        let records = text[before..].iter().take(RECORDS).take_while(|line| good(line)).count();
        if before > 0 {
            return records == RECORDS
                || records >= FEW_RECORDS && records == rest && head.len() < HEAD;
        }
        records > 0 && records >= FEW_RECORDS.min(rest)
    }
}

impl StepFormat for Lackey {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let mut problems = Problems::new(input.locator());
        sink.begin(self.carries(), None)?;
        if let Some(process) = process(input.head()) {
            sink.claim(Claim::Process(process));
        }
        let superblocks = input.head().split(|&b| b == b'\n').any(is_superblock);
        let mut merge = Merge::default();
        let parsers = Parsers { jobs: context.jobs, target: CHUNK };
        each_parsed(input, parsers, sink, Parsed::parse, |parsed, sink| {
            parsed.report(&mut problems, sink);
            let offset = parsed.offset;
            if !merge.add(parsed) {
                problems.add(sink, TOO_MANY_ACCESSES, Place::Byte(offset), too_many);
            }
            sink.runs(&mut merge.out)
        })?;
        merge.close();
        if merge.steps == 0 && merge.out.block.is_empty() {
            let remedy = format!("record with `{}`", self.record());
            let what = if superblocks { SUPERBLOCKS } else { "no instruction in it" };
            return Err(problems.malformed(1, what, remedy));
        }
        sink.runs(&mut merge.out)
    }
}

const SUPERBLOCKS: &str =
    "a log of superblocks (--trace-superblocks=yes), which lists no instruction and no access";

/// `SB 004010e3`: valgrind enters a block of code.
fn is_superblock(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    line.strip_prefix(b"SB ").is_some_and(|rest| {
        let (_, digits) = hex_front(rest);
        digits > 0 && digits == rest.len()
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Instruction,
    Load,
    Store,
    Modify,
}

/// One record at the start of `bytes` up to a line end: (kind, address, size, length without the
/// line end).
#[inline]
fn parse_record(bytes: &[u8]) -> Option<(Kind, u64, u32, usize)> {
    let kind = match *bytes.first_chunk::<3>()? {
        [b'I', b' ', b' '] => Kind::Instruction,
        [b' ', b'L', b' '] => Kind::Load,
        [b' ', b'S', b' '] => Kind::Store,
        [b' ', b'M', b' '] => Kind::Modify,
        _ => return None,
    };
    let (address, digits) = hex_front(&bytes[3..]);
    let comma = 3 + digits;
    if !(1..=16).contains(&digits) || bytes.get(comma) != Some(&b',') {
        return None;
    }
    let (size, digits) = decimal_front(&bytes[comma + 1..]);
    let most = if kind == Kind::Instruction { 16 } else { u64::from(SIZE) - 1 };
    if !(1..=7).contains(&digits) || !(1..=most).contains(&size) {
        return None;
    }
    Some((kind, address, size as u32, comma + 1 + digits))
}

/// A record and its line end at the start of `bytes`: (kind, address, size), and the bytes of both.
/// A record without line end is none: its last digits may be missing.
#[inline]
fn whole_record(bytes: &[u8]) -> Option<((Kind, u64, u32), usize)> {
    let (kind, address, size, length) = parse_record(bytes)?;
    let end = match bytes.get(length..)? {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => return None,
    };
    Some(((kind, address, size), length + end))
}

/// A whole line without its end.
fn parse_line(line: &[u8]) -> Option<(Kind, u64, u32)> {
    let (kind, address, size, length) = parse_record(line)?;
    (length == line.len()).then_some((kind, address, size))
}

/// Whether valgrind wrote the line beside the tool: its banner and statistics, warnings, and what
/// it says while it reads debugging information.
fn is_quiet(line: &[u8]) -> bool {
    line.starts_with(b"==") || line.starts_with(b"--") || line.starts_with(b"###")
}

/// The process that valgrind names before the first record: `==PID== Command: ./app arguments`.
fn process(head: &[u8]) -> Option<ProcessClaim> {
    let mut found = ProcessClaim::default();
    for line in head.split(|&b| b == b'\n').take_while(|line| parse_line(line).is_none()) {
        let Some((pid, said)) = line.strip_prefix(b"==").and_then(|rest| {
            let end = memchr::memmem::find(rest, b"== ")?;
            Some((decimal(&rest[..end])?, rest[end + 3..].trim_ascii()))
        }) else {
            continue;
        };
        if let Some(command) = said.strip_prefix(b"Command: ") {
            let program = command.split(|&b| b == b' ').next().unwrap_or_default();
            found.program = Some(String::from_utf8_lossy(program).into());
            found.pid = Some(pid);
        } else if let Some(parent) = said.strip_prefix(b"Parent PID: ") {
            found.parent = decimal(parent);
        }
    }
    found.program.is_some().then_some(found)
}

/// A straight run: start address, tokens, addresses of its accesses.
#[derive(Default, Clone, Debug)]
struct Raw {
    start: u64,
    /// Address behind its last instruction.
    end: u64,
    steps: usize,
    tokens: Vec<u32>,
    addresses: Vec<u64>,
}

/// Runs by content.
#[derive(Default)]
struct Dictionary {
    index: FxHashMap<u64, u32>,
    /// (start address, range in `tokens`)
    runs: Vec<(u64, usize, usize)>,
    tokens: Vec<u32>,
}

impl Dictionary {
    fn get(&self, id: u32) -> (u64, &[u32]) {
        let (start, from, to) = self.runs[id as usize];
        (start, &self.tokens[from..to])
    }
    fn hash(start: u64, tokens: &[u32]) -> u64 {
        const K: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |h: u64, t: u64| (h.rotate_left(23) ^ t).wrapping_mul(K);
        tokens.iter().fold(start.wrapping_mul(K), |h, &t| mix(h, t as u64))
    }
    #[inline]
    fn intern(&mut self, start: u64, tokens: &[u32]) -> u32 {
        let mut hash = Dictionary::hash(start, tokens);
        loop {
            match self.index.get(&hash) {
                Some(&id) if self.get(id) == (start, tokens) => return id,
                // Another run with this hash: look behind it.
                Some(_) => hash = hash.wrapping_add(1),
                None => {
                    let from = self.tokens.len();
                    self.tokens.extend_from_slice(tokens);
                    self.runs.push((start, from, self.tokens.len()));
                    let id = self.runs.len() as u32 - 1;
                    self.index.insert(hash, id);
                    return id;
                }
            }
        }
    }
}

/// A chunk after parsing.
#[derive(Default)]
struct Parsed {
    offset: u64,
    /// Accesses before the first instruction: they belong to the last one of the chunk before.
    orphans: Raw,
    /// The first run, which may go on with the last one of the chunk before. None: no instruction
    /// in the chunk.
    head: Option<Raw>,
    /// Runs between the first and the last.
    runs: Vec<u32>,
    dictionary: Dictionary,
    addresses: Vec<u64>,
    /// The last run, which may go on in the next chunk; None if the head is all there is.
    tail: Option<Raw>,
    bad: Vec<(u64, String)>,
    cut: Option<(u64, String)>,
    /// The first line of another kind before the first record of the log.
    before: Option<(u64, String)>,
    /// A record has come.
    begun: bool,
    /// Conditional exits that lackey counted.
    exits: Option<u64>,
    /// Offset of the first access that is one too many of an instruction.
    too_many: Option<u64>,
}

impl Parsed {
    fn parse(chunk: &Chunk) -> Parsed {
        let bytes: &[u8] = chunk;
        let mut parsed = Parsed { offset: chunk.offset, ..Parsed::default() };
        let mut run = Raw::default();
        let (mut begun, mut at) = (false, 0);
        // Where the tokens of the current instruction begin.
        let mut step = 0;
        while at < bytes.len() {
            let Some((record, length)) = whole_record(&bytes[at..]) else {
                at = parsed.foreign(bytes, at);
                continue;
            };
            parsed.begun = true;
            let (kind, address, size) = record;
            if kind != Kind::Instruction && run.tokens.len() >= step + MOST_ACCESSES {
                parsed.too_many.get_or_insert(parsed.offset + at as u64);
                at += length;
                continue;
            }
            at += length;
            match kind {
                Kind::Instruction => {
                    if !begun {
                        begun = true;
                        parsed.orphans = std::mem::take(&mut run);
                        run.start = address;
                    } else if address != run.end
                        || (run.steps >= LONGEST_RUN && parsed.head.is_some())
                    {
                        parsed.end_run(&mut run);
                        run.start = address;
                    }
                    run.end = address.wrapping_add(u64::from(size));
                    run.steps += 1;
                    run.tokens.push(size);
                    step = run.tokens.len();
                }
                Kind::Load => {
                    run.tokens.push(ACCESS | size);
                    run.addresses.push(address);
                }
                Kind::Store => {
                    run.tokens.push(ACCESS | WRITE | size);
                    run.addresses.push(address);
                }
                Kind::Modify => {
                    run.tokens.extend([ACCESS | size, ACCESS | WRITE | size]);
                    run.addresses.extend([address, address]);
                }
            }
        }
        if !begun {
            parsed.orphans = run;
        } else if parsed.head.is_none() {
            parsed.head = Some(run);
        } else {
            parsed.tail = Some(run);
        }
        parsed
    }

    /// Tells what was left out.
    fn report(&self, problems: &mut Problems, sink: &mut dyn Sink) {
        for (offset, line) in &self.bad {
            problems.add(sink, MALFORMED_LINE, Place::Byte(*offset), || {
                format!("no lackey line: `{line}`")
            });
        }
        if let Some((offset, line)) = &self.before {
            problems.add_once(sink, FOREIGN_LINES, Place::Byte(*offset), || {
                format!("lines before the first record: `{line}`")
            });
        }
        if let Some(offset) = self.too_many {
            problems.add(sink, TOO_MANY_ACCESSES, Place::Byte(offset), too_many);
        }
        if let Some(exits) = self.exits {
            sink.claim(Claim::ConditionalExits(exits));
        }
        if let Some((offset, line)) = &self.cut {
            problems.add(sink, TRUNCATED, Place::Byte(*offset), || {
                format!("the log ends within a line: `{line}`")
            });
        }
    }

    #[inline]
    fn end_run(&mut self, run: &mut Raw) {
        if self.head.is_none() {
            self.head = Some(std::mem::take(run));
            return;
        }
        let id = self.dictionary.intern(run.start, &run.tokens);
        self.runs.push(id);
        self.addresses.extend_from_slice(&run.addresses);
        run.steps = 0;
        run.tokens.clear();
        run.addresses.clear();
    }

    /// Skips a line that is no record; gives where the next begins.
    #[cold]
    fn foreign(&mut self, bytes: &[u8], at: usize) -> usize {
        let end = memchr::memchr(b'\n', &bytes[at..]).map(|n| at + n);
        let line = &bytes[at..end.unwrap_or(bytes.len())];
        if is_quiet(line) {
            if let Some(exits) = exits(line) {
                *self.exits.get_or_insert(0) += exits;
            }
        } else if !line.trim_ascii().is_empty() {
            let text = excerpt(line);
            let position = self.offset + at as u64;
            if end.is_none() {
                self.cut = Some((position, text));
            } else if self.offset == 0 && !self.begun {
                self.before.get_or_insert((position, text));
            } else {
                self.bad.push((position, text));
            }
        }
        end.map_or(bytes.len(), |e| e + 1)
    }
}

fn too_many() -> String {
    format!("an instruction with more than {MOST_ACCESSES} accesses")
}

/// `==PID==   total:         24,990`, the jumps that lackey counted: conditional exits of its own
/// code, taken or not.
fn exits(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"==")?;
    let (_, rest) = rest.split_at(memchr::memmem::find(rest, b"==")? + 2);
    let number = rest.trim_ascii().strip_prefix(b"total:")?.trim_ascii();
    decimal(&number.iter().copied().filter(|b| *b != b',').collect::<Vec<_>>())
}

/// Joins parsed chunks into one stream of runs.
#[derive(Default)]
struct Merge {
    out: RunBatch,
    /// The last run so far, which may go on.
    open: Option<Raw>,
    dictionary: Dictionary,
    insns: FxHashMap<(u64, u32), u32>,
    steps: u64,
}

impl Merge {
    /// Appends a chunk; false if accesses were left out, because an instruction has too many.
    fn add(&mut self, parsed: Parsed) -> bool {
        let mut complete = true;
        self.out.position = parsed.offset;
        // Accesses before the first instruction of the whole log have nobody to belong to: they are
        // left out.
        if let Some(open) = &mut self.open {
            let last = open.tokens.iter().rev().take_while(|token| **token & ACCESS != 0).count();
            let room = (MOST_ACCESSES - last.min(MOST_ACCESSES)).min(parsed.orphans.tokens.len());
            complete = room == parsed.orphans.tokens.len();
            open.tokens.extend(&parsed.orphans.tokens[..room]);
            open.addresses.extend(&parsed.orphans.addresses[..room]);
        }
        let Some(head) = parsed.head else { return complete };
        match &mut self.open {
            Some(open) if open.end == head.start => {
                open.end = head.end;
                open.steps += head.steps;
                open.tokens.extend(&head.tokens);
                open.addresses.extend(&head.addresses);
                self.cut_open();
            }
            _ => {
                self.close();
                self.open = Some(head);
                self.cut_open();
            }
        }
        let Some(tail) = parsed.tail else { return complete };
        self.close();
        let mut global = vec![u32::MAX; parsed.dictionary.runs.len()];
        self.out.block.reserve(parsed.runs.len());
        for local in parsed.runs {
            if global[local as usize] == u32::MAX {
                let (start, tokens) = parsed.dictionary.get(local);
                global[local as usize] = self.block(start, tokens);
            }
            self.out.block.push(global[local as usize]);
        }
        self.steps += 1;
        self.out.addresses.extend_from_slice(&parsed.addresses);
        self.open = Some(tail);
        complete
    }

    /// Cuts full blocks from the front of an open run that has grown too long.
    fn cut_open(&mut self) {
        while let Some(open) = &mut self.open
            && open.steps > LONGEST_RUN
        {
            let mut steps = 0;
            let mut cut = 0;
            let mut length = 0;
            let mut accesses = 0;
            for (i, &token) in open.tokens.iter().enumerate() {
                if token & ACCESS == 0 {
                    if steps == LONGEST_RUN {
                        cut = i;
                        break;
                    }
                    steps += 1;
                    length += token as u64;
                } else {
                    accesses += 1;
                }
            }
            let rest = Raw {
                start: open.start.wrapping_add(length),
                end: open.end,
                steps: open.steps - steps,
                tokens: open.tokens.split_off(cut),
                addresses: open.addresses.split_off(accesses),
            };
            self.close();
            self.open = Some(rest);
        }
    }

    fn close(&mut self) {
        let Some(run) = self.open.take() else { return };
        let block = self.block(run.start, &run.tokens);
        self.out.block.push(block);
        self.out.addresses.extend_from_slice(&run.addresses);
        self.steps += run.steps as u64;
    }

    /// Id of a block, defined if it is new.
    fn block(&mut self, start: u64, tokens: &[u32]) -> u32 {
        let known = self.dictionary.runs.len() as u32;
        let id = self.dictionary.intern(start, tokens);
        if id < known {
            return id;
        }
        let mut def = BlockDef::default();
        let mut address = start;
        for &token in tokens {
            if token & ACCESS == 0 {
                let next = self.insns.len() as u32;
                let insn = *self.insns.entry((address, token)).or_insert_with(|| {
                    self.out.new_insns.push(InsnDef {
                        address,
                        size: token as u8,
                        ..InsnDef::default()
                    });
                    next
                });
                def.steps.push(BlockStep { insn, executed: true, mem: 0 });
                address = address.wrapping_add(token as u64);
            } else if let Some(step) = def.steps.last_mut() {
                step.mem += 1;
                let is_write = token & WRITE != 0;
                def.mem.push(MemShape {
                    is_write,
                    size: token & (SIZE - 1),
                    operand: MemShape::NO_OPERAND,
                });
            }
        }
        self.out.new_blocks.push(def);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lackey_counted() {
        assert_eq!(exits(b"==6643==   total:         24,137"), Some(24_137));
        for line in ["==6643==   taken:         24,137 (46%)", "==6643== total", "total: 5"] {
            assert_eq!(exits(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn other_lines_may_come_first() {
        let records = |n: usize| " S 1fff000728,8\nI  004010e9,5\n".repeat(n);
        let noise = "### unhandled dwarf2 abbrev form code 0x25\n".repeat(9);
        for (text, yes) in [
            (noise.clone() + "==1== x\n" + &records(1), true),
            ("hello\n".to_owned() + &records(8), true),
            ("hello\n".to_owned() + &records(2), true),
            ("hello\n".to_owned() + &records(1), false),
            ("hello\n".to_owned() + &records(3) + "and so on\n", false),
            (records(1) + "what\n", false),
            (records(1), true),
            (noise, false),
        ] {
            assert_eq!(Lackey.sniff(text.as_bytes()), yes, "{text}");
        }
    }
}
