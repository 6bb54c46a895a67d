//! Long ranges of memory that the kernel fills, reads, maps, moves and takes back, between loads and stores: sums are
//! those of arrays with an entry for each byte.

use super::access::SaveRule;
use super::pass::{FrameSlot, Pass, Processor};
use super::place::{Place, PlaceCode, SectionRange};
use super::random::{Code, Insn, Random, Rows, accesses, name, operand, options, plain, seeds};
use super::*;
use crate::event::{
    BlockDef, BlockStep, Event, ImageMap, InsnDef, KernelAccess, MemShape, NamedRange, RunBatch,
    SystemCall,
};
use crate::isa::FlowKind;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: usize = 4096;
const PAGES: usize = 96;
const SPACE: usize = PAGES * PAGE;
/// Where the space may begin; the last one ends with the last page but one.
const BASES: [u64; 3] = [0x40_0000, 0, ((SPACE + PAGE) as u64).wrapping_neg()];

/// What a byte holds.
#[derive(Clone, Copy, Default, PartialEq)]
struct Byte {
    /// Number of the write, 0 for none.
    write: u32,
    read: bool,
    /// Never dead: of the kernel, or a copy.
    kept: bool,
}

struct Model {
    base: u64,
    bytes: Vec<Byte>,
    /// Names of the writes' writers.
    writers: Vec<String>,
    /// Section of each byte, from 1.
    sections: Vec<u8>,
    of_file: Vec<bool>,
    touched: BTreeSet<usize>,
    /// By a load or a store.
    stepped: BTreeSet<usize>,
    dead: u64,
    /// By writer, reader and place.
    sums: BTreeMap<(String, String, String), u64>,
    transfers: BTreeMap<(String, String), u64>,
    shared: BTreeMap<(String, String), Vec<bool>>,
}

const STEP: &str = "FunctionId#1";

impl Model {
    fn end(&mut self, at: usize) {
        let byte = std::mem::take(&mut self.bytes[at]);
        self.dead += u64::from(byte.write != 0 && !byte.read && !byte.kept);
    }

    fn touch(&mut self, from: usize, to: usize) {
        if from < to {
            self.touched.extend(from / PAGE..=(to - 1) / PAGE);
        }
    }

    fn write(&mut self, from: usize, to: usize, writer: &str, kept: bool) {
        self.touch(from, to);
        self.writers.push(writer.to_owned());
        for at in from..to {
            self.end(at);
            self.bytes[at] = Byte { write: self.writers.len() as u32, read: false, kept };
        }
    }

    fn read(&mut self, from: usize, to: usize, reader: &str) {
        self.touch(from, to);
        let mut met = BTreeSet::new();
        let (mut last, mut n) = (None, 0);
        for at in from..=to {
            let here = (at < to).then(|| (self.bytes[at].write, self.sections[at]));
            if here != last {
                if let Some((write, section)) = last {
                    let writer = self.writer(write);
                    let place = match section {
                        0 => "region".to_owned(),
                        s => format!("section {}", s - 1),
                    };
                    let key = (writer, reader.to_owned(), place);
                    *self.sums.entry(key).or_default() += n;
                }
                (last, n) = (here, 0);
            }
            n += 1;
            let Some((write, _)) = here else { break };
            let mut key = (self.writer(write), reader.to_owned());
            if write == 0 {
                // What nobody wrote is told apart by where it lies.
                key.0 = format!("Initial {}", self.sections[at]);
            }
            if write != 0 && met.insert(write) {
                *self.transfers.entry(key.clone()).or_default() += 1;
            }
            self.shared.entry(key).or_insert_with(|| vec![false; SPACE])[at] = true;
            let byte = &mut self.bytes[at];
            (byte.read, byte.kept) = (true, byte.kept || reader != STEP);
        }
    }

    fn writer(&self, write: u32) -> String {
        match write {
            0 => "Initial".to_owned(),
            write => self.writers[write as usize - 1].clone(),
        }
    }

    fn forget(&mut self, from: usize, to: usize) {
        (from..to).for_each(|at| self.end(at));
    }

    fn leave_sections(&mut self, from: usize, to: usize, of_file_only: bool) {
        for section in &mut self.sections[from..to] {
            if *section != 0 && (!of_file_only || self.of_file[*section as usize - 1]) {
                *section = 0;
            }
        }
    }

    fn add_section(&mut self, section: &SectionRange) {
        self.of_file.push(section.of_file);
        let number = self.of_file.len() as u8;
        let at = |address: u64| (address - self.base) as usize;
        self.sections[at(section.first)..=at(section.last)].fill(number);
    }

    fn copy(&mut self, from: usize, to: usize, n: usize) {
        let copied: Vec<Byte> = self.bytes[from..from + n].to_vec();
        self.forget(to, to + n);
        for (i, byte) in copied.into_iter().enumerate().filter(|(_, byte)| byte.write != 0) {
            self.touch(to + i, to + i + 1);
            self.bytes[to + i] = Byte { read: false, kept: true, ..byte };
        }
    }

    fn move_there(&mut self, from: usize, to: usize, n: usize) {
        let moved: Vec<Byte> = self.bytes[from..from + n].to_vec();
        self.bytes[from..from + n].fill(Byte::default());
        self.forget(to, to + n);
        self.leave_sections(to, to + n, true);
        for (i, byte) in moved.into_iter().enumerate().filter(|(_, byte)| byte.write != 0) {
            self.touch(to + i, to + i + 1);
            self.bytes[to + i] = Byte { read: false, kept: byte.kept || byte.read, ..byte };
        }
        self.leave_sections(from, from + n, false);
    }
}

/// A function that stores and one that loads, eight bytes each, and jumps from any of its instructions to any.
fn pass(details: Details, sections: &[SectionRange]) -> Pass<Code, Rows> {
    let mut random = Random(1);
    let code = Code { functions: Vec::new(), blocks: Vec::new(), ..Code::new(&mut random) };
    let processor = Processor {
        fast: Vec::new(),
        given: Vec::new(),
        register_bytes: 16,
        slot: FrameSlot::ReturnSlot { bytes: 8 },
        link: None,
        frame: Vec::new(),
        long: Vec::new(),
    };
    let options = options(SaveRule::Transparent, details, 2);
    let mut pass = Pass::new(code, Rows::default(), options, sections.to_vec(), processor);
    for (i, is_write) in (0..).zip([true, false]) {
        let mut decoded = plain(FlowKind::Jump);
        decoded.memory = vec![operand(is_write, 8, false, None)];
        decoded.reads = accesses(Vec::new());
        let insn = Insn { address: 0x100 + 4 * u64::from(i), decoded, places: Vec::new() };
        let def = InsnDef { address: insn.address, ..InsnDef::default() };
        pass.add_insn(def, insn.decoded);
        pass.add_block(BlockDef {
            steps: vec![BlockStep { insn: i, executed: true, mem: 1 }],
            mem: vec![MemShape { is_write, size: 8, operand: 0 }],
        });
    }
    pass
}

fn range(random: &mut Random, most: u64) -> (usize, usize) {
    let pages = random.below(PAGES as u64) as usize;
    let n = match random.below(4) {
        0 => random.below(100) as usize,
        1 => random.below(3 * PAGE as u64) as usize,
        _ => random.below(most * PAGE as u64) as usize,
    };
    let (mut from, mut to) = (pages * PAGE + random.below(PAGE as u64) as usize, 0);
    if random.chance(60) {
        from = pages * PAGE;
    }
    to += from + n;
    if random.chance(60) {
        to = to.next_multiple_of(PAGE);
    }
    // Where it just has a byte of a page, or lacks one.
    match random.below(12) {
        0 => to = to.next_multiple_of(PAGE) + 1,
        1 => to = (to.next_multiple_of(PAGE) - 1).max(from),
        2 => from = (from & !(PAGE - 1)) + 1,
        3 if from >= PAGE => from = (from & !(PAGE - 1)) - 1,
        _ => {}
    }
    let to = to.min(SPACE);
    (from.min(to), to)
}

fn section(random: &mut Random, base: u64, number: u32) -> SectionRange {
    let (from, to) = loop {
        let (from, to) = range(random, 20);
        if from < to {
            break (from, to);
        }
    };
    let (first, last) = (base + from as u64, base + (to as u64 - 1));
    SectionRange { first, last, name: number, via: number, of_file: random.chance(40) }
}

/// What happens, and what that does to the model.
fn event(
    random: &mut Random,
    model: &mut Model,
    placed: &mut Vec<Vec<SectionRange>>,
    sections: &mut u32,
) -> Event {
    let (from, to) = range(random, 50);
    let base = model.base;
    let address = |at: usize| base + at as u64;
    let (start, bytes) = (address(from), (to - from) as u64);
    let source = [None, Some("<a>"), Some("<b>")][random.below(3) as usize];
    let known = source.unwrap_or("<kernel>");
    let mut place = |random: &mut Random, model: &mut Model| {
        let new: Vec<SectionRange> = (0..random.below(2))
            .map(|_| {
                *sections += 1;
                section(random, model.base, *sections - 1)
            })
            .collect();
        new.iter().for_each(|section| model.add_section(section));
        placed.push(new);
    };
    match random.below(16) {
        0 | 1 => {
            model.forget(from, to);
            Event::MemoryFresh { address: start, bytes }
        }
        2 => {
            model.forget(from, to);
            model.leave_sections(from, to, false);
            Event::ImageUnmap { address: start, bytes }
        }
        3 => {
            let file = random.chance(40);
            model.forget(from, to);
            if !file {
                model.leave_sections(from, to, true);
            }
            place(random, model);
            let path = file.then(|| "/lib/a".into());
            let (offset, executable) = (0, false);
            Event::ImageMap(Box::new(ImageMap { address: start, bytes, offset, executable, path }))
        }
        4 if random.chance(30) => {
            place(random, model);
            Event::Device(Box::new(NamedRange { address: start, bytes, name: "uart".into() }))
        }
        kind @ 4..=6 => {
            // Not onto itself.
            let n = (to - from).min(SPACE / 2 - PAGE);
            let (from, mut there) = (from.min(SPACE / 2 - PAGE), SPACE / 2);
            there += random.below((SPACE / 2 - n) as u64 + 1) as usize & !(PAGE - 1);
            let n = n.min(there - from).min(SPACE - there);
            let (from, there) = if random.chance(50) { (from, there) } else { (there, from) };
            let (bytes, to, start) = (n as u64, address(there), address(from));
            if kind == 6 {
                model.move_there(from, there, n);
                return Event::MemoryMove { from: start, to, bytes };
            }
            model.copy(from, there, n);
            Event::MemoryCopy { from: start, to, bytes }
        }
        kind => {
            let is_write = kind % 2 == 0;
            if is_write {
                model.write(from, to, known, true);
            } else {
                model.read(from, to, known);
            }
            let source = source.map(Into::into);
            let accesses = vec![KernelAccess { is_write, address: start, bytes, source }];
            Event::SystemCall(Box::new(SystemCall { accesses, ..SystemCall::default() }))
        }
    }
}

fn check(seed: u64, details: Details) {
    let mut random = Random(seed.wrapping_mul(0x9e6c_63d0_76cc_4719) | 1);
    let random = &mut random;
    let base = BASES[seed as usize % 3];
    let address = |at: usize| base + at as u64;
    let mut first: Vec<SectionRange> =
        (0..random.below(4)).map(|n| section(random, base, n as u32)).collect();
    // Those that lie apart.
    let mut end = 0;
    first.sort_by_key(|s| s.first);
    first.retain(|s| {
        let is_apart = s.first >= end;
        end = if is_apart { s.last.saturating_add(1) } else { end };
        is_apart
    });
    (0..).zip(&mut first).for_each(|(n, s)| (s.name, s.via) = (n, n));
    let mut model = Model {
        base,
        bytes: vec![Byte::default(); SPACE],
        writers: Vec::new(),
        sections: vec![0; SPACE],
        of_file: Vec::new(),
        touched: BTreeSet::new(),
        stepped: BTreeSet::new(),
        dead: 0,
        sums: BTreeMap::new(),
        transfers: BTreeMap::new(),
        shared: BTreeMap::new(),
    };
    first.iter().for_each(|section| model.add_section(section));
    let (mut placed, mut sections) = (Vec::new(), first.len() as u32);
    let mut batch = RunBatch::default();
    let mut recent = 0;
    for _ in 0..120 {
        if random.chance(50) {
            let event = event(random, &mut model, &mut placed, &mut sections);
            batch.events.push((batch.block.len() as u32, event));
            continue;
        }
        let is_write = random.chance(50);
        if random.chance(50) {
            recent = random.below((SPACE - 8) as u64) as usize;
        }
        // Near the page's end, too.
        let at = if random.chance(20) { (recent | (PAGE - 1)) - 3 } else { recent };
        let at = at.min(SPACE - 8);
        batch.block.push(u32::from(!is_write));
        batch.addresses.push(address(at));
        model.stepped.extend([at / PAGE, (at + 7) / PAGE]);
        if is_write {
            model.write(at, at + 8, STEP, false);
        } else {
            model.read(at, at + 8, STEP);
        }
    }
    let mut pass = pass(details, &first);
    placed.into_iter().for_each(|sections| pass.place_when_mapped(sections));
    pass.push(&batch);
    let summary = pass.finish();
    compare(&format!("ranges {seed} {details:?}"), model, &summary);
}

fn compare(case: &str, mut model: Model, summary: &Summary) {
    let holds: BTreeSet<usize> =
        (0..SPACE).filter(|at| model.bytes[*at].write != 0).map(|at| at / PAGE).collect();
    model.forget(0, SPACE);
    let names = &summary.sources;
    let known = |origin: &Origin<FunctionId>| match origin {
        Origin::Source(Source::Initial(_)) => "Initial".to_owned(),
        origin => name(origin, names),
    };
    let (mut sums, mut transfers) = (BTreeMap::new(), BTreeMap::new());
    let mut addresses: BTreeMap<(String, String), u64> = BTreeMap::new();
    for flow in summary.function_flows.iter().filter(|f| f.place != PlaceCode::REGISTER) {
        let place = match flow.place.place() {
            Place::Section(s) => format!("section {s}"),
            _ => "region".to_owned(),
        };
        let (writer, reader) = (known(&flow.writer), known(&flow.reader));
        let pair = (writer.clone(), reader.clone());
        *sums.entry((writer, reader, place)).or_insert(0) += flow.sums.bytes;
        if pair.0 != "Initial" {
            *transfers.entry(pair.clone()).or_insert(0) += flow.sums.transfers;
        }
        // A region may have several numbers as it grows.
        let initial = match flow.place.place() {
            _ if pair.0 != "Initial" => pair.0,
            Place::Section(s) => format!("Initial {}", s + 1),
            _ => continue,
        };
        *addresses.entry((initial, pair.1)).or_insert(0) += flow.sums.addresses;
    }
    assert_eq!(sums, model.sums, "{case}: bytes");
    model.transfers.retain(|(writer, _), _| writer != "Initial");
    assert_eq!(transfers, model.transfers, "{case}: transfers");
    let shared = |list: Vec<bool>| list.into_iter().filter(|is| *is).count() as u64;
    let known = model.shared.into_iter().filter(|(pair, _)| pair.0 != "Initial 0");
    let shared: BTreeMap<_, _> = known.map(|(pair, list)| (pair, shared(list))).collect();
    assert_eq!(addresses, shared, "{case}: addresses");
    assert_eq!(summary.functions[0].dead_bytes, model.dead, "{case}: dead");
    // Of pages with bytes of sections it depends on which bytes were touched since. What was filled at once and taken
    // back may be as if nobody had touched it.
    let in_regions = |page: usize| {
        let address = model.base + (page * PAGE) as u64;
        summary.regions.iter().any(|r| r.first <= address && address <= r.last)
    };
    for page in 0..PAGES {
        if model.sections[page * PAGE..(page + 1) * PAGE].iter().all(|s| *s == 0) {
            assert!(!in_regions(page) || model.touched.contains(&page), "{case}: page {page}");
            let is_known = holds.contains(&page) || model.stepped.contains(&page);
            assert!(in_regions(page) || !is_known, "{case}: page {page}");
        }
    }
}

#[test]
fn long_ranges_are_as_all_their_bytes() {
    for seed in seeds(40) {
        check(seed, Details::Sums);
        check(seed, Details::Local);
    }
}
