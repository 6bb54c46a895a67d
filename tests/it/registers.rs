//! Register dataflow by hand: programs of which every register edge is written beside the
//! instruction that reads, for each instruction set. `/* [c] rax 4 from a; rbx 8 from b */`: this
//! is c, and it reads four bytes of rax that a wrote last, and eight of rbx that b wrote. Where
//! another number is stored, which is a defect, `(stored 8)` says so until it is mended.

use crate::common::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Register, its bytes, who wrote them, who reads.
type Edge = (String, u64, String, String);

/// The edges that comments say, and the labels by line.
fn written(source: &str) -> (BTreeSet<Edge>, BTreeMap<usize, String>) {
    let (mut edges, mut labels) = (BTreeSet::new(), BTreeMap::new());
    for (i, line) in source.lines().enumerate() {
        let Some((_, rest)) = line.split_once("/* [") else { continue };
        let (label, rest) = rest.split_once(']').expect("a label");
        labels.insert(i + 1, label.to_owned());
        let list = rest.split_once("*/").expect("an end").0;
        for edge in list.split(';').map(str::trim).filter(|e| !e.is_empty()) {
            let words: Vec<&str> = edge.split_whitespace().collect();
            let [register, bytes, "from", writer, ref known @ ..] = words[..] else {
                panic!("{line}")
            };
            let bytes = match known {
                [] => bytes,
                ["(stored", other] => other.trim_end_matches(')'),
                _ => panic!("{line}"),
            };
            let bytes = bytes.parse().unwrap();
            edges.insert((register.to_owned(), bytes, writer.to_owned(), label.to_owned()));
        }
    }
    (edges, labels)
}

/// Edges between labelled lines, of one function, as stored.
fn stored(db: &Path, labels: &BTreeMap<usize, String>) -> BTreeSet<Edge> {
    let sql = "SELECT g.name, sum(c.bytes), w.line, r.line FROM communication c
               JOIN register g ON c.address >= g.address AND c.address < g.address + g.size
               JOIN opcode_line ws ON ws.seq = c.write_seq JOIN instruction w ON w.instruction_id = ws.instruction_id
               JOIN opcode_line rs ON rs.seq = c.read_seq JOIN instruction r ON r.instruction_id = rs.instruction_id
               WHERE c.space = 'register' GROUP BY ALL";
    let edge = |row: &String| {
        let cells: Vec<&str> = row.split(',').collect();
        let label = |n: &str| labels.get(&n.parse().unwrap_or(0)).cloned();
        Some((cells[0].to_owned(), cells[1].parse().unwrap(), label(cells[2])?, label(cells[3])?))
    };
    rows(db, sql).iter().filter_map(edge).collect()
}

fn check(program: &str, compiler: &str, flags: &[&str], emulator: &str) {
    let scratch = Scratch::new("registers");
    let source = repository(&format!("tests/programs/{program}"));
    if !have(compiler) || !have(emulator) {
        return;
    }
    let (elf, log, db) = (scratch.path("elf"), scratch.path("log"), scratch.path("a.duckdb"));
    make(compiler, &source, &[&["-nostdlib", "-static"], flags].concat(), &elf);
    if emulator == "valgrind" {
        lackey(&elf, &log);
    } else {
        assert!(qemu(emulator, &elf, &log).status.success(), "{program}");
    }
    load(&log, &elf, &db, &["--detail", "full", "--saves", "literal"]);
    let (expected, labels) = written(&std::fs::read_to_string(&source).unwrap());
    let found = stored(&db, &labels);
    let show = |list: Vec<&Edge>| -> String {
        list.iter().map(|(r, n, w, l)| format!("\n    [{l}] {r} {n} from {w}")).collect()
    };
    let more = show(found.difference(&expected).collect());
    let less = show(expected.difference(&found).collect());
    let equal = more.is_empty() && less.is_empty();
    assert!(equal, "{program} by {emulator}: only stored:{more}\nonly written:{less}");
    println!("{program} by {emulator}: {} edges of {} instructions", found.len(), labels.len());
    assert!(found.len() >= 20);
    let verdict = ok(&["verify", utf8(&db)]);
    assert!(!verdict.contains("DIFFERENT"), "{program} by {emulator}: {verdict}");
}

#[test]
fn x86_64() {
    check("registers-x86_64.s", "gcc", &["-no-pie"], "valgrind");
    check("registers-x86_64.s", "gcc", &["-no-pie"], "qemu-x86_64");
}

#[test]
fn arm() {
    check("registers-arm.s", "arm-linux-gnueabi-gcc", &["-marm"], "qemu-arm");
}

#[test]
fn thumb() {
    check("registers-thumb.s", "arm-linux-gnueabi-gcc", &["-mthumb"], "qemu-arm");
}

#[test]
fn aarch64() {
    check("registers-aarch64.s", "aarch64-linux-gnu-gcc", &[], "qemu-aarch64");
}

#[test]
fn riscv64() {
    check("registers-riscv64.s", "riscv64-linux-gnu-gcc", &[], "qemu-riscv64");
}
