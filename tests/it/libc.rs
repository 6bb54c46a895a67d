//! Programs of the C libraries of ARM, AArch64 and RISC-V: QEMU's own lines for blocks of one instruction
//! (`-d exec`) say which functions were entered, and how many instructions ran.
//!
//! `ADDFG_PROGRAMS=all` runs all programs at all levels instead of a few.

use crate::common::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const PROGRAMS: [&str; 5] = ["strings.c", "structs.c", "recursion.c", "tail.c", "copies.c"];
const LEVELS: [&str; 3] = ["-O0", "-O2", "-Os"];

/// Compiler, its flags, emulator with its options.
const PROCESSORS: [(&str, &[&str], &[&str]); 4] = [
    ("arm-linux-gnueabi-gcc", &["-marm"], &["qemu-arm"]),
    ("arm-linux-gnueabi-gcc", &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp"], &["qemu-arm"]),
    ("aarch64-linux-gnu-gcc", &[], &["qemu-aarch64", "-cpu", "cortex-a72"]),
    ("riscv64-linux-gnu-gcc", &[], &["qemu-riscv64"]),
];

/// A function: its first address and what is behind its last, as the database has them.
type Ranges = BTreeMap<u64, (u64, String)>;

fn ranges(db: &Path) -> Ranges {
    let sql = "SELECT address, address + size, name FROM function_symbol
               WHERE address IS NOT NULL AND size > 0 ORDER BY ALL";
    let number = |text: &str| text.parse::<u64>().expect("an address");
    let row = |row: String| {
        let parts: Vec<&str> = row.splitn(3, ',').collect();
        (number(parts[0]), (number(parts[1]), parts[2].to_owned()))
    };
    rows(db, sql).into_iter().map(row).collect()
}

fn function_at(ranges: &Ranges, address: u64) -> Option<&str> {
    let (_, (end, name)) = ranges.range(..=address).next_back()?;
    (address < *end).then_some(name.as_str())
}

/// Addresses of instructions that call.
fn calls(db: &Path) -> BTreeSet<u64> {
    let sql = "SELECT address FROM instruction WHERE regexp_matches(text,
               '^(bl|blx|blr|blra+|jal|jalr|c\\.jal|c\\.jalr)(eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)? ')
               AND NOT regexp_matches(text, '^(jal|jalr) zero,')";
    rows(db, sql).iter().map(|row| row.parse().expect("an address")).collect()
}

/// What QEMU says: how many instructions ran, and how often control came to the first one of each
/// function from another one or by a call.
fn told(log: &Path, ranges: &Ranges, calls: &BTreeSet<u64>) -> (u64, BTreeMap<String, u64>) {
    let text = String::from_utf8_lossy(&std::fs::read(log).expect("the log")).into_owned();
    let (mut steps, mut entries) = (0, BTreeMap::new());
    let mut before = None;
    for line in text.lines().filter(|line| line.starts_with("Trace ")) {
        let place = line.split_once('[').expect("a place").1.split('/').nth(1).expect("an address");
        let address = u64::from_str_radix(place, 16).expect("an address");
        steps += 1;
        if let Some((_, name)) = ranges.get(&address) {
            let from = before.and_then(|b| function_at(ranges, b));
            if from != Some(name) || before.is_some_and(|b| calls.contains(&b)) {
                *entries.entry(name.clone()).or_default() += 1;
            }
        }
        before = Some(address);
    }
    (steps, entries)
}

/// A program by QEMU's log: what differs.
fn differences(elf: &Path, emulator: &[&str], scratch: &Scratch) -> Vec<String> {
    let (log, db) = (scratch.path("log"), scratch.path("log.duckdb"));
    let help = Command::new(emulator[0]).arg("-h").output().expect("QEMU runs");
    let new = String::from_utf8_lossy(&help.stdout).contains("one-insn-per-tb");
    let ran = Command::new(emulator[0])
        .args(&emulator[1..])
        .arg(if new { "-one-insn-per-tb" } else { "-singlestep" })
        .args(["-d", "nochain,cpu,in_asm,exec", "-D"])
        .arg(&log)
        .arg(elf)
        .output()
        .expect("QEMU runs");
    assert!(ran.status.code().is_some(), "{}", said(&ran));
    load(&log, elf, &db, &["--detail", "pairs"]);
    let ranges = ranges(&db);
    let (steps, entries) = told(&log, &ranges, &calls(&db));
    let mut lines = Vec::new();
    let own = &rows(&db, "SELECT sum(steps_self), max(steps_total) FROM function_profile")[0];
    let (own, most) = own.split_once(',').expect("two sums");
    if own != steps.to_string() || most.parse::<u64>().expect("a number") > steps {
        lines.push(format!("QEMU executed {steps}, addfg {own}, inclusive {most} at most"));
    }
    // Others begin elsewhere in the function: it is jumped into (`__adddf3`, `__sigsetjmp`), or gone on with.
    let sql = "SELECT f.name, count(*) FROM function_call c
               JOIN function_symbol f USING (function_id)
               JOIN steps(0, 1000000000) s ON s.seq = c.call_seq
               JOIN instruction i USING (instruction_id)
               WHERE i.address = f.address GROUP BY ALL ORDER BY ALL";
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows(&db, sql) {
        let (name, n) = row.rsplit_once(',').expect("a name");
        counted.insert(name.trim_matches('"').to_owned(), n.parse().expect("a number"));
    }
    let names: BTreeSet<&String> = entries.keys().chain(counted.keys()).collect();
    for name in names {
        let n = |table: &BTreeMap<String, u64>| table.get(name).copied().unwrap_or(0);
        if n(&entries) != n(&counted) {
            lines.push(format!("{name}: QEMU entered it {}, addfg {}", n(&entries), n(&counted)));
        }
    }
    lines
}

#[test]
fn functions_are_entered_as_often_as_qemu_says() {
    let every = std::env::var("ADDFG_PROGRAMS").is_ok_and(|said| said == "all");
    let scratch = Scratch::new("libc");
    let elf = scratch.path("app");
    let (mut ran, mut found) = (0, Vec::new());
    for (i, (compiler, flags, emulator)) in PROCESSORS.iter().enumerate() {
        for (j, program) in PROGRAMS.iter().enumerate() {
            for (k, level) in LEVELS.iter().enumerate() {
                // Each processor, program and level at least once.
                if !(every || (i + j) % 4 == 0 && (i + j + k) % 3 == 0) {
                    continue;
                }
                let flags = [&[*level, "-fno-builtin"], *flags].concat();
                if !have(emulator[0]) || !compile(compiler, program, &flags, &elf) {
                    continue;
                }
                ran += 1;
                for line in differences(&elf, emulator, &scratch) {
                    found.push(format!("{program} {compiler} {flags:?}: {line}"));
                }
            }
        }
    }
    println!("{ran} programs");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
