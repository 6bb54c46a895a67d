//! `memory --show allocations` against what programs say of their own allocations, and against a
//! naive count of the accesses to each.

use crate::common::*;
use crate::record::record;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a program said of an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    allocator: String,
    address: u64,
    bytes: u64,
    /// In which line, from 0.
    line: usize,
    /// In which line it was given back, from 0.
    freed: Option<usize>,
    /// The allocation that it was reallocated from.
    from: Option<usize>,
}

/// glibc has one function with two names.
fn plain(allocator: &str) -> String {
    if allocator == "memalign" { "aligned_alloc" } else { allocator }.to_owned()
}

fn told(text: &str) -> Vec<Said> {
    let (mut list, mut live): (Vec<Said>, BTreeMap<u64, usize>) = (Vec::new(), BTreeMap::new());
    let mut before = None;
    for (at, line) in text.lines().enumerate() {
        let mut words = line.rsplitn(3, ' ');
        let mut number = || u64::from_str_radix(words.next().unwrap(), 16).unwrap();
        let (bytes, address) = (number(), number());
        let what = words.next().unwrap();
        let mut ended = None;
        if what == "free" {
            let which = live.remove(&address).unwrap_or_else(|| panic!("{line}: not live"));
            list[which].freed = Some(at);
            ended = Some(which);
        } else {
            live.insert(address, list.len());
            let from = before.filter(|_| what == "realloc");
            list.push(Said { allocator: plain(what), address, bytes, line: at, freed: None, from });
        }
        before = ended;
    }
    list
}

/// Runs a program in QEMU with a log of its registers; gives what it printed.
fn run(emulator: &str, elf: &Path, log: &Path) -> String {
    let output = qemu(emulator, elf, log);
    assert!(output.status.success(), "{emulator}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Vec<Value> {
    let text = ok(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str::<Value>(&text).unwrap().as_array().unwrap().clone()
}

fn number(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("{name} of {row}"))
}

fn address(row: &Value) -> Option<u64> {
    row["address"].as_str().map(|a| u64::from_str_radix(a.strip_prefix("0x").unwrap(), 16).unwrap())
}

fn sum(list: &[Value], name: &str) -> u64 {
    list.iter().filter_map(|r| r[name].as_u64()).sum()
}

/// Bytes of large allocations that are in another region than the heap: without mappings in the log their pages are
/// one region with those of a stack next to them (QEMU 10 for ARM).
fn beside_the_stack(db: &Path, each: &[Value], is_write: bool) -> u64 {
    let large = each.iter().filter(|r| address(r).is_some() && number(r, "bytes") >= 1 << 17);
    large
        .map(|r| {
            let (first, bytes) = (address(r).unwrap(), number(r, "bytes"));
            let sql = format!(
                "SELECT coalesce(sum(size), 0)::BIGINT FROM data_access a JOIN region r ON a.address BETWEEN r.first_address AND r.last_address
                 WHERE space = 'memory' AND via <> 'heap' AND is_write = {is_write} AND address >= {first} AND address < {first} + {bytes}"
            );
            rows(db, &sql)[0].parse::<u64>().unwrap()
        })
        .sum()
}

/// Rows of `--each`, of `--show allocations`; their sums are those of the heap by variable, and of
/// each other.
fn tables(db: &Path) -> (Vec<Value>, Vec<Value>) {
    let name = utf8(db);
    let each = json(&["memory", name, "--show", "allocations", "--each", "--limit", "0"]);
    let sites = json(&["memory", name, "--show", "allocations", "--limit", "0"]);
    let variables = json(&["memory", name]);
    let heap = variables.iter().find(|r| r["variable"] == "(heap)").expect("a heap");
    for (figure, is_write) in [("read_bytes", false), ("written_bytes", true)] {
        let known = number(heap, figure) + beside_the_stack(db, &each, is_write);
        assert_eq!(sum(&each, figure), known, "{figure} of each");
        assert_eq!(sum(&sites, figure), known, "{figure} by site");
    }
    for figure in ["bytes", "dead_bytes"] {
        assert_eq!(sum(&each, figure), sum(&sites, figure), "{figure}");
    }
    assert_eq!(sum(&sites, "count"), each.iter().filter(|r| address(r).is_some()).count() as u64);
    (each, sites)
}

/// The allocations that a program makes itself or by functions of the library, within main.
fn within_main<'a>(db: &Path, each: &'a [Value]) -> Vec<&'a Value> {
    let sql = "SELECT call_seq, return_seq FROM function_call JOIN function_symbol USING (function_id) WHERE name = 'main'";
    let found = rows(db, sql);
    let (first, last) = found[0].split_once(',').unwrap();
    let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
    each.iter()
        .filter(|r| address(r).is_some() && (first..=last).contains(&number(r, "allocated")))
        .collect()
}

fn compare(name: &str, expected: &[Said], found: &[&Value]) {
    let found: Vec<_> = found
        .iter()
        .map(|r| {
            (
                plain(r["allocator"].as_str().unwrap()),
                address(r).unwrap(),
                number(r, "bytes"),
                !r["freed"].is_null(),
            )
        })
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|s| (s.allocator.clone(), s.address, s.bytes, s.freed.is_some()))
        .collect();
    for (i, (a, b)) in expected.iter().zip(&found).enumerate() {
        assert_eq!(a, b, "{name}: allocation {i}");
    }
    assert_eq!(expected.len(), found.len(), "{name}: {found:?}");
}

/// Every byte of every access to the addresses of an allocation while it lived.
fn naive(name: &str, db: &Path, said: &[Said], found: &[&Value]) {
    let sql = "SELECT seq, is_write, is_control, address, size FROM data_access WHERE space = 'memory' ORDER BY seq, ordinal";
    let accesses: Vec<(u64, bool, bool, u64, u64)> = rows(db, sql)
        .iter()
        .map(|line| {
            let f: Vec<&str> = line.split(',').collect();
            let n = |i: usize| f[i].parse::<u64>().unwrap();
            (n(0), f[1] == "true", f[2] == "true", n(3), n(4))
        })
        .collect();
    // What is left unread, by offset, of those that may be taken along; dead bytes by the first of
    // a chain of reallocations.
    let mut left: Vec<BTreeSet<u64>> = Vec::new();
    let (mut dead, mut dead_found): (BTreeMap<usize, u64>, BTreeMap<usize, u64>) =
        (BTreeMap::new(), BTreeMap::new());
    let mut chain: Vec<usize> = Vec::new();
    let last = accesses.last().unwrap().0;
    let mut busy = 0;
    for (i, (s, row)) in said.iter().zip(found).enumerate() {
        let (from, to) = (number(row, "allocated"), row["freed"].as_u64().unwrap_or(last + 1));
        chain.push(s.from.map_or(i, |f| chain[f]));
        let mut unread: BTreeSet<u64> =
            s.from.map(|f| std::mem::take(&mut left[f])).unwrap_or_default();
        let cut = unread.split_off(&s.bytes);
        *dead.entry(chain[i]).or_default() += cut.len() as u64;
        let (mut read, mut written, mut seen, mut uses) = (0, 0, BTreeSet::new(), Vec::new());
        for &(seq, is_write, is_control, address, size) in
            accesses.iter().filter(|a| from < a.0 && a.0 < to)
        {
            for byte in address..address + size {
                let Some(offset) = byte.checked_sub(s.address).filter(|&o| o < s.bytes) else {
                    continue;
                };
                uses.push(seq);
                if is_write {
                    written += 1;
                    *dead.entry(chain[i]).or_default() += u64::from(!unread.insert(offset));
                } else {
                    read += 1;
                    if !is_control {
                        seen.insert(offset);
                        unread.remove(&offset);
                    }
                }
            }
        }
        busy += u64::from(read > 0 && written > 0);
        let figures = [read, seen.len() as u64, written];
        let got = ["read_bytes", "unique_read_bytes", "written_bytes"].map(|f| number(row, f));
        assert_eq!(figures, got, "{name}: {s:?} {row}");
        assert_eq!(
            (uses.first().copied(), uses.last().copied()),
            (row["first_use"].as_u64(), row["last_use"].as_u64()),
            "{row}"
        );
        left.push(unread);
        *dead_found.entry(chain[i]).or_default() += number(row, "dead_bytes");
    }
    for (i, unread) in left.iter().enumerate() {
        *dead.entry(chain[i]).or_default() += unread.len() as u64;
    }
    assert_eq!(dead, dead_found, "{name}: dead bytes");
    assert!(busy >= 5 && dead.values().sum::<u64>() > 100, "{name}: too little to count");
}

/// When each was given and taken back: between which lines that the program printed.
fn moments(name: &str, db: &Path, said: &[Said], found: &[&Value]) {
    let sql = "SELECT call_seq, return_seq FROM function_call JOIN function_symbol USING (function_id) WHERE name = 'say' ORDER BY ALL";
    let lines: Vec<(u64, u64)> = rows(db, sql)
        .iter()
        .map(|l| l.split_once(',').unwrap())
        .map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap()))
        .collect();
    let between = |seq: u64, line: usize| {
        let after = line.checked_sub(1).map_or(0, |l| lines[l].1);
        after < seq && seq < lines.get(line).map_or(u64::MAX, |l| l.0)
    };
    for (s, row) in said.iter().zip(found) {
        assert!(between(number(row, "allocated"), s.line), "{name}: {s:?} {row} {lines:?}");
        let freed = s.freed.is_none_or(|line| between(number(row, "freed"), line + 1));
        assert!(freed, "{name}: {s:?} {row} {lines:?}");
    }
}

/// Functions that are one.
const GROUP: &str = "the group";

/// Sums by site, counted from the rows of each.
fn sums(name: &str, each: &[Value], sites: &[Value], last: u64, least: usize) {
    let key =
        |r: &Value| ["function", "line", "allocator"].map(|k| r[k].as_str().map(str::to_owned));
    let mut compared = 0;
    for site in sites.iter().filter(|s| !s["line"].is_null() || s["function"] == GROUP) {
        let of: Vec<&Value> = each.iter().filter(|r| key(r) == key(site)).collect();
        let all = |figure: &str| of.iter().map(|r| number(r, figure)).sum::<u64>();
        let lives: Vec<(u64, u64, u64)> = of
            .iter()
            .map(|r| {
                (number(r, "allocated"), r["freed"].as_u64().unwrap_or(last), number(r, "bytes"))
            })
            .collect();
        let at =
            |seq: u64| lives.iter().filter(|l| l.0 <= seq && seq < l.1).map(|l| l.2).sum::<u64>();
        let peak = lives.iter().map(|l| at(l.0)).max().unwrap();
        let steps = lives.iter().map(|l| l.1 - l.0).sum::<u64>() / lives.len() as u64;
        let expected = [
            of.len() as u64,
            all("bytes"),
            peak,
            all("read_bytes"),
            all("written_bytes"),
            all("dead_bytes"),
            steps,
        ];
        let figures = [
            "count",
            "bytes",
            "peak_bytes",
            "read_bytes",
            "written_bytes",
            "dead_bytes",
            "mean_steps",
        ];
        assert_eq!(expected, figures.map(|f| number(site, f)), "{name}: {site}");
        let unread = (all("bytes") > 0)
            .then(|| 100.0 * (1.0 - all("unique_read_bytes") as f64 / all("bytes") as f64));
        assert_eq!(
            site["never_read"].as_str().map(str::to_owned),
            unread.map(|u| format!("{u:.1} %")),
            "{name}: {site}"
        );
        compared += 1;
    }
    assert!(compared >= least, "{name}: {compared}");
    let traffic: Vec<u64> =
        sites.iter().map(|s| number(s, "read_bytes") + number(s, "written_bytes")).collect();
    assert!(traffic.is_sorted_by(|a, b| a >= b), "{name}: {traffic:?}");
}

#[test]
fn allocations_that_a_program_names_itself() {
    let scratch = Scratch::new("allocations");
    let mut done = Vec::new();
    for (name, compiler, emulator, more) in [
        ("x86-64", "gcc", "qemu-x86_64", &[][..]),
        ("arm", "arm-linux-gnueabi-gcc", "qemu-arm", &["-marm"]),
        (
            "thumb",
            "arm-linux-gnueabi-gcc",
            "qemu-arm",
            &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp"],
        ),
        ("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64", &[]),
        ("riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64", &[]),
    ] {
        let (elf, log, db) = (scratch.path(name), scratch.path("log"), scratch.path("a.duckdb"));
        if !have(emulator)
            || !compile(compiler, "allocations.c", &[&["-O2"][..], more].concat(), &elf)
        {
            continue;
        }
        let expected = told(&run(emulator, &elf, &log));
        assert!(
            expected.len() > 25 && expected.iter().filter(|e| e.freed.is_none()).count() >= 4,
            "{expected:?}"
        );
        load(&log, &elf, &db, &[]);
        let (each, sites) = tables(&db);
        let found = within_main(&db, &each);
        compare(name, &expected, &found);
        naive(name, &db, &expected, &found);
        moments(name, &db, &expected, &found);
        let last = rows(&db, "SELECT max(seq) FROM opcode_line")[0].parse().unwrap();
        sums(name, &each, &sites, last, 9);
        // The five of the first list live at once with the three of the second.
        let list = sites
            .iter()
            .find(|r| r["function"] == "list")
            .unwrap_or_else(|| panic!("{name}: {sites:?}"));
        let node = found[0]["bytes"].as_u64().unwrap();
        assert_eq!(
            (number(list, "count"), number(list, "peak_bytes")),
            (8, 8 * node),
            "{name}: {list}"
        );
        assert!(list["line"].as_str().unwrap().starts_with("allocations.c:"), "{list}");
        done.push(name);
    }
    println!("equal on {done:?}");
}

/// A program's own allocator, in a variable; a signal comes while it works, whose handler
/// allocates, too.
#[test]
fn allocations_of_a_programs_own_functions() {
    let scratch = Scratch::new("allocations-own");
    let (elf, log, db) = (scratch.path("program"), scratch.path("log"), scratch.path("a.duckdb"));
    if !have("qemu-aarch64") || !compile("aarch64-linux-gnu-gcc", "allocator.c", &["-O1"], &elf) {
        return;
    }
    let expected = told(&run("qemu-aarch64", &elf, &log));
    assert_eq!(expected.len(), 6);
    load(&log, &elf, &db, &[]);
    let name = utf8(&db);
    let own = ["--allocator", "pool_get=memalign", "--allocator", "pool_put=free"];
    let each = json(&[&["memory", name, "--show", "allocations", "--each"][..], &own].concat());
    let found = within_main(&db, &each);
    compare("aarch64", &expected, &found);
    let used: Vec<u64> = found.iter().map(|r| number(r, "written_bytes")).collect();
    assert_eq!(used, [24, 4, 100, 3, 0, 12], "{found:?}");
    // By function, too; and a build that was told need not be told again.
    let objects = |db: &Path, more: &[&str]| {
        json(&[&["objects", utf8(db), "--limit", "0"][..], more].concat())
    };
    let list = objects(&db, &own);
    let of_pool: Vec<&Value> = list
        .iter()
        .filter(|row| row["object"].as_str().unwrap().starts_with("(pool_get by "))
        .collect();
    let written: u64 = of_pool.iter().map(|row| number(row, "written_bytes")).sum();
    assert_eq!(written, used.iter().sum::<u64>(), "{of_pool:?}");
    assert_ne!(objects(&db, &[]), list);
    let knows = scratch.path("knows.duckdb");
    load(&log, &elf, &knows, &own);
    for round in ["found", "stored"] {
        assert_eq!(objects(&knows, &[]), list, "{round}");
        let told = json(&["memory", utf8(&knows), "--show", "allocations", "--each"]);
        assert_eq!(told, each, "{round}");
        ok(&["prepare", utf8(&knows), "-q"]);
    }
    refused(&["objects", name, "--allocator", "nothing=malloc"], &["nothing"]);
    let lackey = example("fir", "pairs");
    refused(&["objects", utf8(&lackey), "--allocator", "main=malloc"], &["addfg record"]);
    moments("aarch64", &db, &expected, &found);
    for (wrong, says) in [
        ("pool_get", "NAME=FUNCTION"),
        ("pool_get=main", "not an allocation function"),
        ("nothing=malloc", "nothing"),
    ] {
        refused(&["memory", name, "--show", "allocations", "--allocator", wrong], &[says]);
    }
}

/// Runs a program under the recorder; gives what it printed.
fn recorded(options: &[&str], program: &Path, db: &Path) -> String {
    let output = record(&[&["-o", utf8(db), "--force", "-q"], options].concat(), &[utf8(program)]);
    assert!(output.status.success(), "{}", said(&output));
    printed(&output)
}

/// The recorder tells what QEMU's registers do.
#[test]
fn allocations_that_the_recorder_tells() {
    if !have("valgrind") || !have("pkg-config") || !have("g++") {
        println!("the recorder needs valgrind, pkg-config and g++");
        return;
    }
    let scratch = Scratch::new("allocations-told");
    for (name, compiler, source, options) in [
        ("static", "gcc", "allocations.c", &["-O2", "-static"][..]),
        ("dynamic", "gcc", "allocations.c", &["-O2"]),
        ("c++", "g++", "allocations.cc", &["-O0", "-std=c++17"]),
    ] {
        let (elf, db) = (scratch.path(name), scratch.path("a.duckdb"));
        let source = repository(&format!("tests/programs/{source}"));
        make(compiler, &source, &[&["-g"], options].concat(), &elf);
        let expected = told(&recorded(&[], &elf, &db));
        let (each, sites) = tables(&db);
        let found = within_main(&db, &each);
        compare(name, &expected, &found);
        naive(name, &db, &expected, &found);
        if compiler == "gcc" {
            moments(name, &db, &expected, &found);
            let last = rows(&db, "SELECT max(seq) FROM opcode_line")[0].parse().unwrap();
            sums(name, &each, &sites, last, 9);
            // All that a group asks for is one place for each allocator.
            let group = format!("{GROUP}=grow,list");
            let list = ["memory", utf8(&db), "--show", "allocations", "--limit", "0", "--group"];
            let sites = json(&[&list[..], &[&group]].concat());
            let mut each = each.clone();
            for row in
                each.iter_mut().filter(|r| r["function"] == "grow" || r["function"] == "list")
            {
                (row["function"], row["line"]) = (GROUP.into(), Value::Null);
            }
            assert_eq!(sites.iter().filter(|r| r["function"] == GROUP).count(), 2, "{sites:?}");
            sums(name, &each, &sites, last, 5);
        }
    }
    // The program's own allocator, with a signal while it works.
    let (elf, db) = (scratch.path("own"), scratch.path("a.duckdb"));
    make("gcc", &repository("tests/programs/allocator.c"), &["-g", "-O1"], &elf);
    let own = ["--allocator", "pool_get=memalign", "--allocator", "pool_put=free"];
    let expected = told(&recorded(&own, &elf, &db));
    assert_eq!(expected.len(), 4);
    // The database knows what the recorder was told.
    let each = json(&["memory", utf8(&db), "--show", "allocations", "--each"]);
    let found = within_main(&db, &each);
    compare("own", &expected, &found);
    let used: Vec<u64> = found.iter().map(|r| number(r, "written_bytes")).collect();
    assert_eq!(used, [24, 4, 100, 3], "{found:?}");
    moments("own", &db, &expected, &found);
}

/// Without the library's ELF its functions have no names: the calls are those of the linkage table.
#[test]
fn allocations_through_the_linkage_table() {
    let scratch = Scratch::new("allocations-plt");
    let (elf, log, db) = (scratch.path("program"), scratch.path("log"), scratch.path("a.duckdb"));
    if !have("qemu-x86_64") || !have("gcc") {
        return;
    }
    let source = repository("tests/programs/allocations.c");
    make("gcc", &source, &["-O2", "-no-pie"], &elf);
    let expected = told(&run("qemu-x86_64", &elf, &log));
    // What ld.so saves with `xsave` is not known, and that is said.
    let (code, said) = build(&db, &[&log], &["--elf", utf8(&elf)]);
    assert!(code == 0 || said.contains("xsave"), "{said}");
    let (each, _) = tables(&db);
    let found = within_main(&db, &each);
    // What strdup asks for is not seen.
    let expected: Vec<Said> = expected.into_iter().filter(|s| s.bytes != 15).collect();
    compare("x86-64", &expected, &found);
}

#[test]
fn allocations_of_a_cxx_program() {
    let scratch = Scratch::new("allocations-cxx");
    let mut done = Vec::new();
    for (name, compiler, emulator) in
        [("x86-64", "g++", "qemu-x86_64"), ("arm", "arm-linux-gnueabi-g++", "qemu-arm")]
    {
        let (elf, log, db) = (scratch.path(name), scratch.path("log"), scratch.path("a.duckdb"));
        if !have(emulator) || !compile(compiler, "allocations.cc", &["-O0", "-std=c++17"], &elf) {
            continue;
        }
        let expected = told(&run(emulator, &elf, &log));
        load(&log, &elf, &db, &[]);
        let (each, _) = tables(&db);
        let found = within_main(&db, &each);
        compare(name, &expected, &found);
        naive(name, &db, &expected, &found);
        done.push(name);
    }
    println!("equal on {done:?}");
}

#[test]
fn what_is_missing_is_said() {
    let says = |detail: &str, arguments: &[&str], text: &str| {
        let db = example("fir", detail);
        let output = addfg(&[&["memory", utf8(&db)][..], arguments].concat());
        let error = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty() && error.contains(text), "{arguments:?}: {error}");
    };
    says(
        "pairs",
        &["--show", "allocations"],
        "its trace (lackey) tells of none; `addfg record` tells of allocations, QEMU of registers: qemu-x86_64 -singlestep -d nochain,cpu,in_asm",
    );
    says("pairs", &["--each"], "--each and --allocator go with --show allocations");
    says("sums", &["--show", "allocations"], "--no-steps");
}
