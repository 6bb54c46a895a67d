//! What docs/semantics.md says of calls and memory, done again with the plainest means: every step
//! of a recording, a map from each byte to the access that wrote it last, a list of open frames. An
//! instruction is what objdump says it is; sections are readelf's. Only which function holds an
//! address is asked of the database. Saves are literal: what is transparent is another subject.

use crate::common::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::process::Command;

/// What an instruction does to control, with its target if that is written in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Plain,
    Repeated,
    Call,
    Return,
    Jump(Option<u64>),
    Branch(u64),
    /// Not in the program's sections.
    Unknown,
}

fn class(text: &str) -> Class {
    let prefixes = ["bnd", "notrack", "lock", "data16", "cs", "ds", "addr32"];
    let mut words = text.split_whitespace().filter(|w| !prefixes.contains(w));
    let (mut name, mut operand) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let repeat = ["rep", "repz", "repnz", "repe", "repne"].contains(&name);
    if repeat {
        (name, operand) = (operand, words.next().unwrap_or(""));
    }
    let target = u64::from_str_radix(operand, 16).ok();
    match name {
        "call" | "callq" => Class::Call,
        "ret" | "retq" => Class::Return,
        "jmp" | "jmpq" => Class::Jump(target),
        _ if name.starts_with('j') || name.starts_with("loop") => Class::Branch(target.unwrap()),
        _ if repeat && !name.is_empty() => Class::Repeated,
        _ => Class::Plain,
    }
}

fn tool(name: &str, arguments: &[&str]) -> String {
    let output = Command::new(name).args(arguments).output().expect(name);
    assert!(output.status.success(), "{name} {arguments:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("{text} is not an address"))
}

fn classes(elf: &Path) -> HashMap<u64, Class> {
    let listing = tool("objdump", &["-d", "-w", "--no-show-raw-insn", utf8(elf)]);
    let instruction = |line: &str| {
        let (address, text) = line.strip_prefix(' ')?.split_once(":\t")?;
        Some((u64::from_str_radix(address.trim(), 16).ok()?, class(text)))
    };
    listing.lines().filter_map(instruction).collect()
}

/// Sections that have a place in memory: first address, end, name.
fn sections(elf: &Path) -> Vec<(u64, u64, String)> {
    let text = tool("readelf", &["-S", "-W", utf8(elf)]);
    let section = |line: &str| {
        let words: Vec<&str> = line.split_once(']')?.1.split_whitespace().collect();
        // Name, type, address, offset, size, entry size, flags.
        let [name, kind, address, _, size, _, flags, ..] = words[..] else { return None };
        let threads_own = kind == "NOBITS" && flags.contains('T');
        let (address, size) = (u64::from_str_radix(address, 16).ok()?, hexadecimal(size));
        (flags.contains('A') && !threads_own).then(|| (address, address + size, name.to_owned()))
    };
    text.lines().filter_map(section).collect()
}

struct Access {
    is_write: bool,
    address: u64,
    size: u64,
}

struct Step {
    pc: u64,
    next: u64,
    accesses: Vec<Access>,
}

fn steps(log: &Path) -> Vec<Step> {
    let mut list: Vec<Step> = Vec::new();
    for line in std::fs::read_to_string(log).unwrap().lines() {
        let Some((address, size)) = line.get(3..).and_then(|l| l.split_once(',')) else { continue };
        let kind = &line[..3];
        if !["I  ", " L ", " S ", " M "].contains(&kind) {
            continue;
        }
        let (address, size) = (hexadecimal(address), size.parse().unwrap());
        if kind == "I  " {
            list.push(Step { pc: address, next: address + size, accesses: Vec::new() });
            continue;
        }
        let accesses = &mut list.last_mut().unwrap().accesses;
        if kind != " S " {
            accesses.push(Access { is_write: false, address, size });
        }
        if kind != " L " {
            accesses.push(Access { is_write: true, address, size });
        }
    }
    list
}

/// A call instance. Steps and instances count from 1.
struct Instance {
    function: i64,
    parent: Option<usize>,
    tail_of: Option<usize>,
    kind: &'static str,
    ending: &'static str,
    first: usize,
    last: usize,
    steps: usize,
}

/// What is open: an instance, what ends it, and where it was interrupted if it is a signal's.
struct Frame {
    instance: usize,
    token: Option<(u64, Option<u64>)>,
    interrupted: Vec<u64>,
}

#[derive(Default)]
struct Calls {
    instances: Vec<Instance>,
    stack: Vec<Frame>,
    /// Of the functions that have one.
    entries: HashMap<i64, u64>,
}

impl Calls {
    fn begin(&mut self, function: i64, kind: &'static str, seq: usize) -> usize {
        let parent = self.stack.last().map(|f| f.instance);
        self.instances.push(Instance {
            function,
            parent,
            tail_of: None,
            kind,
            ending: "open",
            first: seq,
            last: seq,
            steps: 0,
        });
        self.instances.len()
    }

    /// Ends the frame at a place in the stack, and what is above it.
    fn end(&mut self, at: usize, ending: &'static str, last: usize) {
        for (i, frame) in self.stack.drain(at..).enumerate() {
            let instance = &mut self.instances[frame.instance - 1];
            instance.ending = if i == 0 { ending } else { "unwound" };
            instance.last = last;
        }
    }

    /// The newest of those below the top that a jump goes back to: where the stack pointer is in its frame.
    fn goes_back_to(&self, function: i64, slot: Option<u64>) -> Option<usize> {
        let top = |i: usize| self.stack.get(i).and_then(|f| f.token.and_then(|(_, slot)| slot));
        let below = self.stack.len().saturating_sub(1);
        let here = |i: &usize| {
            slot.is_none_or(|slot| {
                top(i + 1).is_none_or(|t| t <= slot) && top(*i).is_none_or(|t| slot < t)
            })
        };
        let of = |i: &usize| self.instances[self.stack[*i].instance - 1].function == function;
        (0..below).rev().filter(of).find(here)
    }

    /// What control does from step p to step n, of which `seq` is the number.
    fn step(&mut self, p: Option<(&Step, Class)>, n: &Step, function: i64, seq: usize) {
        let Some((p, class)) = p else {
            let instance = self.begin(function, "root", seq);
            return self.stack.push(Frame { instance, token: None, interrupted: Vec::new() });
        };
        let slot = |is_write| p.accesses.iter().rfind(|a| a.is_write == is_write);
        let slot = |is_write| slot(is_write).map(|a| a.address);
        if n.pc == p.next || n.pc == p.pc && class == Class::Repeated {
            // No transfer.
        } else if class == Class::Call {
            let instance = self.begin(function, "call", seq);
            let token = Some((p.next, slot(true)));
            self.stack.push(Frame { instance, token, interrupted: Vec::new() });
        } else if let (Class::Return, Some(at)) = (class, self.returns_to(n.pc, slot(false))) {
            self.end(at, "return", seq - 1);
        } else {
            let successor = match class {
                Class::Return | Class::Jump(None) | Class::Unknown => true,
                Class::Jump(Some(target)) | Class::Branch(target) => n.pc == target,
                _ => false,
            };
            let anywhere = matches!(class, Class::Return | Class::Jump(None) | Class::Unknown);
            let top = self.instances[self.stack.last().expect("open").instance - 1].function;
            let elsewhere = top != function;
            let inside =
                elsewhere && self.entries.get(&function).is_some_and(|entry| *entry != n.pc);
            let slot = slot(false).filter(|_| class == Class::Return);
            if anywhere
                && inside
                && let Some(at) = self.goes_back_to(function, slot)
            {
                self.end(at + 1, "unwound", seq - 1);
            }
            if !successor {
                let back = self.stack.iter().rposition(|f| f.interrupted.contains(&n.pc));
                match back {
                    Some(at) => self.end(at, "return", seq - 1),
                    None => {
                        let instance = self.begin(function, "signal", seq);
                        let mut interrupted = vec![p.next];
                        match class {
                            Class::Repeated => interrupted.push(p.pc),
                            Class::Branch(target) => interrupted.push(target),
                            Class::Jump(Some(target)) => interrupted = vec![target],
                            _ => {}
                        }
                        self.stack.push(Frame { instance, token: None, interrupted });
                    }
                }
            }
        }
        self.tail(function, seq);
    }

    fn returns_to(&self, pc: u64, slot: Option<u64>) -> Option<usize> {
        self.stack.iter().rposition(|f| {
            f.token.is_some_and(|(to, own)| {
                to == pc && (own.is_none() || slot.is_none() || own == slot)
            })
        })
    }

    /// Another function than that of the instance: it is replaced.
    fn tail(&mut self, function: i64, seq: usize) {
        let old = self.stack.last().expect("the root does not end").instance;
        if self.instances[old - 1].function == function {
            return;
        }
        self.instances[old - 1].ending = "tail";
        self.instances[old - 1].last = seq - 1;
        let new = self.begin(function, "tail", seq);
        self.instances[new - 1].parent = self.instances[old - 1].parent;
        self.instances[new - 1].tail_of = Some(old);
        self.stack.last_mut().expect("replaced").instance = new;
    }
}

/// Who wrote a byte: an instance, or the section that holds it, or nobody known.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
enum Writer {
    Instance(usize),
    Section(String),
    Elsewhere,
}

#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct Figures {
    bytes: u64,
    unique_bytes: u64,
    transfers: u64,
}

#[derive(Default)]
struct Memory {
    /// Step and ordinal of the access that wrote a byte last, and its instance.
    last: HashMap<u64, (usize, usize, usize)>,
    /// Which version of a byte an instance has read.
    read: HashMap<(usize, u64), (usize, usize)>,
    flows: BTreeMap<(Writer, usize), Figures>,
    /// Cells by function that wrote, function that read.
    cells: HashSet<(Writer, i64, u64)>,
}

impl Memory {
    fn read(&mut self, at: &Access, reader: usize, of: &Calls, sections: &[(u64, u64, String)]) {
        let mut writes = BTreeSet::new();
        for byte in at.address..at.address + at.size {
            let last = self.last.get(&byte).copied();
            let writer = match last {
                Some((_, _, instance)) => Writer::Instance(instance),
                None => sections
                    .iter()
                    .find(|s| (s.0..s.1).contains(&byte))
                    .map_or(Writer::Elsewhere, |s| Writer::Section(s.2.clone())),
            };
            let version = last.map_or((0, 0), |l| (l.0, l.1));
            let flow = self.flows.entry((writer.clone(), reader)).or_default();
            flow.bytes += 1;
            flow.transfers += u64::from(writes.insert((writer.clone(), version)));
            if self.read.insert((reader, byte), version) != Some(version) {
                flow.unique_bytes += 1;
            }
            let function = |i: usize| of.instances[i - 1].function;
            let writer = match writer {
                Writer::Instance(i) => Writer::Instance(function(i) as usize),
                other => other,
            };
            self.cells.insert((writer, function(reader), byte));
        }
    }
}

/// All that the model says of a run.
fn model(
    log: &Path,
    elf: &Path,
    functions: &HashMap<u64, i64>,
    entries: HashMap<i64, u64>,
) -> (Calls, Memory) {
    let (classes, sections, steps) = (classes(elf), sections(elf), steps(log));
    let class = |s: &Step| classes.get(&s.pc).copied().unwrap_or(Class::Unknown);
    let (mut calls, mut memory) = (Calls { entries, ..Calls::default() }, Memory::default());
    for (i, step) in steps.iter().enumerate() {
        let (seq, before) = (i + 1, i.checked_sub(1).map(|b| (&steps[b], class(&steps[b]))));
        calls.step(before, step, functions[&step.pc], seq);
        let instance = calls.stack.last().expect("open").instance;
        calls.instances[instance - 1].steps += 1;
        for (ordinal, access) in step.accesses.iter().enumerate() {
            if access.is_write {
                for byte in access.address..access.address + access.size {
                    memory.last.insert(byte, (seq, ordinal, instance));
                }
            } else if class(step) != Class::Return {
                memory.read(access, instance, &calls, &sections);
            }
        }
    }
    calls.stack.iter().for_each(|f| calls.instances[f.instance - 1].last = steps.len());
    (calls, memory)
}

/// Where two lists of lines differ first.
fn same(name: &str, what: &str, stored: Vec<String>, model: Vec<String>) {
    let differ = stored.iter().zip(&model).find(|(a, b)| a != b);
    let (lengths, equal) = ((stored.len(), model.len()), stored == model);
    assert!(equal, "{name}: {what}: stored and model {lengths:?}: {differ:?}");
}

fn call_rows(calls: &Calls) -> Vec<String> {
    let text = |n: Option<usize>| n.map_or(String::new(), |n| n.to_string());
    let mut depth: Vec<usize> = Vec::new();
    let row = |(i, c): (usize, &Instance)| {
        depth.push(c.parent.map_or(0, |p| depth[p - 1] + 1));
        let (parent, tail_of, id) = (text(c.parent), text(c.tail_of), i + 1);
        format!(
            "{id},{},{parent},{tail_of},{},{},{},{},{},{}",
            c.function, depth[i], c.kind, c.ending, c.first, c.last, c.steps
        )
    };
    calls.instances.iter().enumerate().map(row).collect()
}

/// The names that stand for a writer in SQL. Bytes outside of sections that no step wrote have
/// several sources, which are another subject: one here, without transfers.
const WRITER: &str = "CASE WHEN w.kind <> 'pseudo' THEN NULL WHEN w.name LIKE '<image %' THEN w.name ELSE 'elsewhere' END";

fn flow_rows(memory: &Memory) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for ((writer, reader), f) in &memory.flows {
        let (writer, transfers) = match writer {
            Writer::Instance(n) => (format!("{n},"), f.transfers.to_string()),
            Writer::Section(name) => (format!(",<image {name}>"), f.transfers.to_string()),
            Writer::Elsewhere => (",elsewhere".to_owned(), String::new()),
        };
        rows.push(format!("{writer},{reader},{},{},{transfers}", f.bytes, f.unique_bytes));
    }
    rows.sort();
    rows
}

/// (writer, reader, bytes, unique bytes, addresses) by function.
fn function_rows(calls: &Calls, memory: &Memory) -> Vec<String> {
    let function = |i: usize| calls.instances[i - 1].function;
    let mut sums: BTreeMap<(Writer, i64), [u64; 3]> = BTreeMap::new();
    for ((writer, reader), f) in &memory.flows {
        let writer = match writer {
            Writer::Instance(i) => Writer::Instance(function(*i) as usize),
            other => other.clone(),
        };
        let sum = sums.entry((writer, function(*reader))).or_default();
        (sum[0], sum[1]) = (sum[0] + f.bytes, sum[1] + f.unique_bytes);
    }
    for (writer, reader, _) in &memory.cells {
        sums.entry((writer.clone(), *reader)).or_default()[2] += 1;
    }
    let row = |((writer, reader), [bytes, unique, cells]): (&(Writer, i64), &[u64; 3])| {
        let writer = match writer {
            Writer::Instance(id) => format!("{id},"),
            Writer::Section(name) => format!(",<image {name}>"),
            Writer::Elsewhere => ",elsewhere".to_owned(),
        };
        format!("{writer},{reader},{bytes},{unique},{cells}")
    };
    let mut rows: Vec<String> = sums.iter().map(row).collect();
    rows.sort();
    rows
}

fn compare(name: &str, log: &Path, elf: &Path) {
    let scratch = Scratch::new("oracle");
    let db = scratch.path("a.duckdb");
    let more = ["--elf", utf8(elf), "--saves", "literal", "--detail", "instance"];
    let (code, error) = build(&db, &[log], &more);
    // Of code that was made at run time the log has the addresses only, which is said.
    let made = name.starts_with("jit") && error.contains("could not be decoded");
    assert!(code == 0 || code == 1 && made, "{name}: {code}: {error}");
    let pair = |row: &String| {
        let (address, id) = row.split_once(',').unwrap();
        (address.parse().unwrap(), id.parse().unwrap())
    };
    let functions: HashMap<u64, i64> =
        rows(&db, "SELECT DISTINCT address, function_id FROM instruction")
            .iter()
            .map(pair)
            .collect();
    let sql = "SELECT address, function_id FROM function_symbol WHERE address IS NOT NULL";
    let entries = rows(&db, sql).iter().map(pair).map(|(at, id): (u64, i64)| (id, at)).collect();
    let (calls, memory) = model(log, elf, &functions, entries);
    let sql = "SELECT call_id, function_id, parent_call_id, tail_of_call_id, depth,
                      CASE WHEN kind = 'stub' THEN 'call' ELSE kind END, ending, call_seq, return_seq, steps_self
               FROM function_call ORDER BY call_id";
    same(name, "calls", rows(&db, sql), call_rows(&calls));
    let sorted = |mut list: Vec<String>| {
        list.sort();
        list
    };
    let sql = format!(
        "SELECT writer_call_id, source, reader_call_id, sum(bytes), sum(unique_bytes),
                sum(transfers) FILTER (source IS DISTINCT FROM 'elsewhere')
         FROM (SELECT d.*, {WRITER} AS source FROM dataflow d JOIN function_symbol w ON w.function_id = d.writer_function_id)
         WHERE via <> 'register' GROUP BY ALL"
    );
    same(name, "dataflow", sorted(rows(&db, &sql)), flow_rows(&memory));
    let sql = format!(
        "SELECT CASE WHEN source IS NULL THEN writer_function_id END AS writer, source, reader_function_id,
                sum(bytes), sum(unique_bytes), sum(addresses)
         FROM (SELECT e.*, {WRITER} AS source FROM function_edge e JOIN function_symbol w ON w.function_id = e.writer_function_id)
         WHERE via <> 'register' GROUP BY ALL"
    );
    same(name, "functions", sorted(rows(&db, &sql)), function_rows(&calls, &memory));
    let steps: usize = calls.instances.iter().map(|i| i.steps).sum();
    println!(
        "{name}: {steps} steps, {} instances, {} flows between them",
        calls.instances.len(),
        memory.flows.len()
    );
}

/// See unwinding.h.
const INCLUDE: &str = "-includetests/programs/unwinding.h";
const QUICK: &str = "-Wl,--eh-frame-hdr,--allow-multiple-definition";

/// Source, compiler and its flags, in tests/programs.
const PROGRAMS: [(&str, &str, &[&str]); 24] = [
    ("recursion.c", "gcc", &["-O0"]),
    ("recursion.c", "gcc", &["-O2"]),
    ("recursion.c", "gcc", &["-O3", "-flto"]),
    ("structs.c", "gcc", &["-O0"]),
    ("structs.c", "gcc", &["-O2"]),
    ("structs.c", "clang-19", &["-O2", "-gdwarf-4"]),
    ("floats.c", "gcc", &["-O3"]),
    ("strings.c", "gcc", &["-O2"]),
    ("pointers.c", "gcc", &["-O1"]),
    ("pointers.c", "clang-19", &["-O3", "-gdwarf-4"]),
    ("cold.c", "gcc", &["-O2"]),
    ("tail.c", "gcc", &["-O2"]),
    ("tail.c", "clang-19", &["-O2", "-gdwarf-4"]),
    ("longjmp.c", "gcc", &["-O1"]),
    ("signal.c", "gcc", &["-O1"]),
    ("signal.c", "gcc", &["-O2"]),
    ("conditional.c", "gcc", &["-O2"]),
    ("coroutines.c", "gcc", &["-O1"]),
    ("jit.c", "gcc", &["-O1"]),
    ("interpreter.c", "gcc", &["-O2"]),
    ("deep.c", "gcc", &["-O1"]),
    ("exceptions.cc", "g++", &["-O2", INCLUDE, QUICK]),
    ("containers.cc", "g++", &["-O2", INCLUDE, QUICK]),
    ("mix.rs", "rustc", &["-O"]),
];

/// Each program is a test of its own, so that they run side by side and all that differ are named.
macro_rules! programs {
    ($($name:ident $range:expr;)*) => {$(
        #[test]
        fn $name() {
            if !have("valgrind") || !have("objdump") || !have("readelf") {
                return;
            }
            for (source, compiler, flags) in &PROGRAMS[$range] {
                if let Some([elf, log]) = recording(source, compiler, flags) {
                    compare(&format!("{source} {compiler} {flags:?}"), &log, &elf);
                }
            }
        }
    )*};
}

programs! {
    recursion 0..3;
    structs 3..6;
    arithmetic_and_strings 6..8;
    pointers 8..10;
    cold_parts 10..11;
    tail_calls 11..13;
    longjmp 13..14;
    signals 14..16;
    conditions 16..17;
    coroutines 17..18;
    generated_code 18..19;
    an_interpreter 19..20;
    deep_recursion 20..21;
    exceptions 21..22;
    containers 22..23;
    rust 23..24;
}
