//! Valgrind lackey, `--trace-mem=yes`: a line an instruction (`I  addr,size`), then a line for each
//! of its data accesses (` L`oad, ` S`tore, ` M`odify: a load, then a store). Addresses are
//! hexadecimal, sizes decimal bytes.
//!
//! Chunks are parsed in parallel: each finds straight runs and keeps a dictionary of them; one
//! ordered pass joins the runs that a cut went through and maps the dictionaries onto one.

use super::input::{Chunk, Input};
use super::{Context, Format, Sink, StepFormat, TraceError};
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{BlockDef, BlockStep, Carries, InsnDef, MemShape, RunBatch};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::{Mutex, mpsc};

/// Bytes of text that one job parses at a time.
const CHUNK: usize = 2 << 20;
/// Steps of a block at most, so that a log without jumps needs no endless block.
const LONGEST_RUN: usize = 4096;

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
        let mut lines = 0;
        let last = memchr::memrchr(b'\n', head).unwrap_or(head.len());
        for line in head[..last].split(|&b| b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line.starts_with(b"==") || line.starts_with(b"--") {
                continue;
            }
            match parse_line(line) {
                Some(_) => lines += 1,
                None => return lines >= 3,
            }
            if lines >= 16 {
                break;
            }
        }
        lines > 0
    }
}

impl StepFormat for Lackey {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let locator = input.locator();
        let name = input.name().to_owned();
        sink.begin(self.carries(), None)?;
        let chunks = Mutex::new(input.chunks(CHUNK).enumerate());
        let next = || chunks.lock().unwrap_or_else(|p| p.into_inner()).next();
        let mut merge = Merge::default();
        let mut failed = None;
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(context.jobs.max(1));
            for _ in 0..context.jobs.max(1) {
                let sender = sender.clone();
                let next = &next;
                let parse = move || {
                    while let Some((index, chunk)) = next() {
                        let parsed = chunk.map(|c| (Parsed::parse(&c), c.consumed));
                        let ends = parsed.is_err();
                        if sender.send((index, parsed)).is_err() || ends {
                            break;
                        }
                    }
                };
                if let Err(source) =
                    std::thread::Builder::new().name("parser".into()).spawn_scoped(scope, parse)
                {
                    failed = Some(TraceError::Io { name: name.clone(), source });
                    return;
                }
            }
            drop(sender);
            let mut early = BTreeMap::new();
            let mut wanted = 0;
            let mut consumed = 0;
            for (index, parsed) in receiver.iter() {
                early.insert(index, parsed);
                while let Some(parsed) = early.remove(&wanted) {
                    wanted += 1;
                    let (parsed, end) = match parsed {
                        Ok(p) => p,
                        Err(e) => match e.into_damage() {
                            Ok(diagnostic) => {
                                sink.diagnostic(diagnostic);
                                continue;
                            }
                            Err(e) => {
                                failed = Some(e);
                                return;
                            }
                        },
                    };
                    for (offset, line) in &parsed.bad {
                        sink.diagnostic(Diagnostic {
                            severity: Severity::Error,
                            code: "malformed-line",
                            message: format!("no lackey line: `{line}`"),
                            position: locator.at(*offset),
                            remedy: "the line was left out; record again if there are many",
                        });
                    }
                    if let Some((offset, line)) = &parsed.cut {
                        sink.diagnostic(Diagnostic {
                            severity: Severity::Error,
                            code: "truncated",
                            message: format!("the log ends within a line: `{line}`"),
                            position: locator.at(*offset),
                            remedy: "the steps before it were loaded; let the recorder finish",
                        });
                    }
                    merge.add(parsed);
                    sink.progress(end - consumed);
                    consumed = end;
                    if let Err(e) = sink.runs(&mut merge.out) {
                        failed = Some(e);
                        return;
                    }
                }
            }
        });
        if let Some(e) = failed {
            return Err(e);
        }
        merge.finish();
        if merge.steps == 0 && merge.out.block.is_empty() {
            return Err(TraceError::Malformed {
                name,
                position: "1".into(),
                message: "no instruction in it".into(),
                remedy: format!("record with `{}`", self.record()),
            });
        }
        sink.runs(&mut merge.out)
    }
}

const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let mut i = 0;
    while i < 10 {
        table[b'0' as usize + i] = i as u8;
        i += 1;
    }
    let mut i = 0;
    while i < 6 {
        table[b'a' as usize + i] = 10 + i as u8;
        table[b'A' as usize + i] = 10 + i as u8;
        i += 1;
    }
    table
};

/// The number that eight hexadecimal digits are, if all eight are digits: all at once, byte by byte
/// of a word, because most of a log is addresses.
#[inline]
fn hex8(digits: [u8; 8]) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let text = u64::from_le_bytes(digits);
    // The high bit of each byte tells whether it is at least `least`; bytes are below 0x80.
    let least = |word: u64, least: u8| (word | HIGH) - least as u64 * ONES;
    let lower = text | (0x20 * ONES);
    let decimal = least(text, b'0') & !least(text, b'9' + 1);
    let letter = least(lower, b'a') & !least(lower, b'f' + 1);
    if text & HIGH != 0 || (decimal | letter) & HIGH != HIGH {
        return None;
    }
    // A letter has bit 6, and its low bits count from 1. The first digit is the highest: neighbours
    // change places as they are joined.
    let nibbles = (text & (0x0f * ONES)) + 9 * ((text >> 6) & ONES);
    let bytes = (nibbles << 4 | nibbles >> 8) & 0x00ff_00ff_00ff_00ff;
    let halves = (bytes << 8 | bytes >> 16) & 0x0000_ffff_0000_ffff;
    Some((halves << 16 | halves >> 32) & 0xffff_ffff)
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
    let eight = bytes[3..].first_chunk().and_then(|&digits| hex8(digits));
    let (mut address, mut at) = eight.map_or((0, 3), |a| (a, 11));
    while let Some(&digit) = bytes.get(at)
        && HEX[digit as usize] != 255
    {
        address = address << 4 | HEX[digit as usize] as u64;
        at += 1;
    }
    if at == 3 || at > 19 || bytes.get(at) != Some(&b',') {
        return None;
    }
    at += 1;
    let start = at;
    let mut size = 0u32;
    while let Some(&digit) = bytes.get(at)
        && digit.is_ascii_digit()
    {
        size = size.wrapping_mul(10).wrapping_add((digit - b'0') as u32);
        at += 1;
    }
    if at == start
        || at > start + 7
        || size == 0
        || size >= SIZE
        || (kind == Kind::Instruction && size > 16)
    {
        return None;
    }
    Some((kind, address, size, at))
}

/// A whole line without its end.
fn parse_line(line: &[u8]) -> Option<(Kind, u64, u32)> {
    let (kind, address, size, length) = parse_record(line)?;
    (length == line.len()).then_some((kind, address, size))
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
}

impl Parsed {
    fn parse(chunk: &Chunk) -> Parsed {
        let bytes: &[u8] = chunk;
        let mut parsed = Parsed { offset: chunk.offset, ..Parsed::default() };
        let mut run = Raw::default();
        let mut begun = false;
        let mut at = 0;
        while at < bytes.len() {
            let Some((kind, address, size, length)) = parse_record(&bytes[at..]) else {
                at = parsed.foreign(bytes, at);
                continue;
            };
            match bytes.get(at + length) {
                Some(b'\n') => {}
                Some(b'\r') if bytes.get(at + length + 1) == Some(&b'\n') => {}
                None => {
                    // The last digits may be missing.
                    at = parsed.foreign(bytes, at);
                    continue;
                }
                Some(_) => {
                    at = parsed.foreign(bytes, at);
                    continue;
                }
            }
            at += length + 1 + (bytes[at + length] == b'\r') as usize;
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
                    run.end = address.wrapping_add(size as u64);
                    run.steps += 1;
                    run.tokens.push(size);
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
        let quiet = line.iter().all(u8::is_ascii_whitespace)
            || line.starts_with(b"==")
            || line.starts_with(b"--");
        if !quiet {
            let text =
                String::from_utf8_lossy(&line[..line.len().min(60)]).escape_debug().to_string();
            let position = self.offset + at as u64;
            if end.is_none() {
                self.cut = Some((position, text));
            } else {
                self.bad.push((position, text));
            }
        }
        end.map_or(bytes.len(), |e| e + 1)
    }
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
    fn add(&mut self, parsed: Parsed) {
        self.out.position = parsed.offset;
        // Accesses before the first instruction of the whole log have nobody to belong to: they are
        // left out.
        if let Some(open) = &mut self.open {
            open.tokens.extend(&parsed.orphans.tokens);
            open.addresses.extend(&parsed.orphans.addresses);
        }
        let Some(head) = parsed.head else { return };
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
        let Some(tail) = parsed.tail else { return };
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
    }

    fn finish(&mut self) {
        self.close();
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
    use super::hex8;

    #[test]
    fn eight_digits_are_what_the_standard_library_reads() {
        let mut digits = *b"0123cDeF";
        for place in 0..8 {
            let before = digits[place];
            for byte in 0..=255 {
                digits[place] = byte;
                let text = std::str::from_utf8(&digits).ok().filter(|t| !t.contains('+'));
                assert_eq!(
                    hex8(digits),
                    text.and_then(|t| u64::from_str_radix(t, 16).ok()),
                    "{digits:?}"
                );
            }
            digits[place] = before;
        }
    }
}
