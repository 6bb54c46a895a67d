//! One random program, written in each format that can say it: equal databases.
//!
//! QEMU's log of registers is left out: it has no accesses, its reader computes their addresses from the
//! registers, and the programs here compute nothing. Lackey has no threads, so that it gets programs
//! of one; formats without a clock are asked for no times.

use crate::common::program::{Program, Random, Step};
use crate::common::*;
use std::fmt::Write;
use std::path::Path;

/// What a database says of the run, without how it was recorded.
const CONTENTS: [&str; 5] = [
    "SELECT writer, reader, via, bytes, unique_bytes, addresses, transfers FROM function_dataflow ORDER BY ALL",
    "SELECT caller, callee, kind, calls, steps FROM call_graph ORDER BY ALL",
    "SELECT call_id, instance, parent_call_id, thread_id, kind, ending, call_seq, return_seq FROM function_call ORDER BY ALL",
    "SELECT seq, ordinal, is_write, space, address, size FROM data_access ORDER BY ALL",
    "SELECT write_seq, write_ordinal, read_seq, read_ordinal, space, address, bytes FROM communication ORDER BY ALL",
];
const TIMES: &str = "SELECT call_id, call_time, return_time FROM function_call ORDER BY ALL";

const LAYOUT: &str = r#"
isa = "x86_64"
values = "after"
columns = ["time", "cpu", "pc", "opcode", "items"]

[[item]]
kind = "register"
pattern = "{name}={value}"

[[item]]
kind = "load"
pattern = "R:{address}/{size:dec}"

[[item]]
kind = "store"
pattern = "W:{address}/{size:dec}"
"#;

/// A log that [`LAYOUT`] describes.
fn layout(steps: &[Step]) -> Vec<u8> {
    let mut log = String::new();
    for (time, step) in steps.iter().enumerate() {
        write!(log, "{time} cpu{} {:x} ", step.thread, step.pc).unwrap();
        step.code.iter().for_each(|byte| write!(log, "{byte:02x}").unwrap());
        write!(log, " rsp={:x}", step.sp).unwrap();
        for a in &step.accesses {
            let kind = if a.is_write { 'W' } else { 'R' };
            write!(log, " {kind}:{:x}/{}", a.address, a.size).unwrap();
        }
        log.push('\n');
    }
    log.into()
}

/// QEMU's plugin shows four bytes of an instruction and no sizes of accesses.
fn execlog(steps: &[Step]) -> Vec<u8> {
    let mut log = String::new();
    for step in steps {
        let mut first = [0; 4];
        let shown = step.code.len().min(4);
        first[..shown].copy_from_slice(&step.code[..shown]);
        let opcode = u32::from_le_bytes(first);
        write!(log, "{}, {:#x}, {opcode:#x}, \"\"", step.thread, step.pc).unwrap();
        for a in &step.accesses {
            let kind = if a.is_write { "store" } else { "load" };
            write!(log, ", {kind}, {:#010x}", a.address).unwrap();
        }
        writeln!(log, ", rsp -> {:#018x}", step.sp).unwrap();
    }
    log.into()
}

fn lackey(steps: &[Step]) -> Vec<u8> {
    let mut log = String::from("==1== Lackey, an example Valgrind tool\n");
    for step in steps {
        writeln!(log, "I  {:08x},{}", step.pc, step.code.len()).unwrap();
        for a in &step.accesses {
            let kind = if a.is_write { 'S' } else { 'L' };
            writeln!(log, " {kind} {:08x},{}", a.address, a.size).unwrap();
        }
    }
    log.into()
}

/// docs/stream.md, without events.
fn stream(steps: &[Step]) -> Vec<u8> {
    stream::stream(steps, &[])
}

struct Writer {
    name: &'static str,
    write: fn(&[Step]) -> Vec<u8>,
    has_threads: bool,
    has_times: bool,
}

const WRITERS: [Writer; 4] = [
    Writer { name: "layout", write: layout, has_threads: true, has_times: true },
    Writer { name: "execlog", write: execlog, has_threads: true, has_times: false },
    Writer { name: "lackey", write: lackey, has_threads: false, has_times: false },
    Writer { name: "stream", write: stream, has_threads: true, has_times: false },
];

/// Builds a database; gives what it says of the run.
fn contents(scratch: &Scratch, format: &str, log: &[u8]) -> (Vec<Vec<String>>, Vec<String>) {
    let (path, db) = (scratch.path(format), scratch.path(&format!("{format}.duckdb")));
    std::fs::write(&path, log).expect("writes");
    let (elf, layout) = (scratch.path("elf"), scratch.path("layout.toml"));
    let mut arguments = vec!["build", utf8(&path), "--elf", utf8(&elf), "-o", utf8(&db), "-q"];
    arguments.extend(["--format", format, "--detail", "full"]);
    if format == "layout" {
        arguments.extend(["--layout", utf8(&layout)]);
    }
    // Without threads, leaps of a program that unwinds and is interrupted look like several of them.
    let output = addfg(&arguments);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
    let db: &Path = &db;
    (CONTENTS.map(|sql| rows(db, sql)).into(), rows(db, TIMES))
}

#[test]
fn a_program_has_one_database_in_every_format() {
    let runs = std::env::var("ADDFG_FUZZ").ok().and_then(|n| n.parse::<u64>().ok());
    for seed in 0..runs.map_or(2, |n| (n / 10_000).max(2)) {
        let scratch = Scratch::new("differential");
        let mut random = Random::new(seed);
        let program = Program::new(&mut random);
        let threads = 1 + (seed % 2) as usize;
        let (log, steps) = program.run(&mut random, 400, threads);
        scratch.write("elf", program.elf());
        scratch.write("layout.toml", LAYOUT);
        let (giano, times) = contents(&scratch, "giano", log.as_bytes());
        assert!(giano.iter().all(|rows| !rows.is_empty()));
        for writer in WRITERS.iter().filter(|w| threads == 1 || w.has_threads) {
            let (found, found_times) = contents(&scratch, writer.name, &(writer.write)(&steps));
            for ((one, two), sql) in giano.iter().zip(&found).zip(CONTENTS) {
                let other = one.iter().zip(two).find(|(a, b)| a != b);
                assert_eq!(
                    (other, one.len()),
                    (None, two.len()),
                    "{}, seed {seed}: {sql}",
                    writer.name
                );
            }
            assert!(!writer.has_times || times == found_times, "{}, seed {seed}", writer.name);
        }
    }
}
