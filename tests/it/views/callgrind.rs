//! Calls and steps against callgrind's.

use crate::common::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What callgrind writes with names and positions in full: by name, its own instructions and
/// inclusive ones; by pair of names, calls.
#[derive(Default)]
pub struct Callgrind {
    own: BTreeMap<String, i64>,
    pub inclusive: BTreeMap<String, i64>,
    pub calls: BTreeMap<(String, String), i64>,
}

pub fn read_callgrind(text: &str) -> Callgrind {
    let mut found = Callgrind::default();
    let (mut function, mut callee) = (String::new(), String::new());
    let mut call = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = name.to_owned();
        } else if let Some(name) = line.strip_prefix("cfn=") {
            callee = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("calls=") {
            call = rest.split(' ').next().and_then(|n| n.parse::<i64>().ok());
        } else if line.starts_with("0x") {
            let cost: i64 = line.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            *found.inclusive.entry(function.clone()).or_default() += cost;
            match call.take() {
                Some(count) => {
                    *found.calls.entry((function.clone(), callee.clone())).or_default() += count;
                }
                None => *found.own.entry(function.clone()).or_default() += cost,
            }
        }
    }
    found
}

/// What the same program did, counted by both.
struct Both {
    db: PathBuf,
    theirs: Callgrind,
    names: Names,
}

/// The name of a function in the database, by any of its names; several functions of one name are
/// one to callgrind.
pub struct Names {
    canonical: HashMap<String, String>,
    places: Vec<(u64, u64, String)>,
}

impl Names {
    pub fn new(db: &Path) -> Names {
        let mut canonical: HashMap<String, String> = HashMap::new();
        let sql = "SELECT s.symbol, n.name FROM function_symbol s JOIN function_name n USING (function_id) WHERE s.symbol IS NOT NULL";
        for row in rows(db, sql) {
            let (symbol, name) = row.split_once(',').unwrap();
            canonical.entry(name.to_owned()).or_insert(symbol.to_owned());
        }
        let sql = "SELECT address, size, coalesce(symbol, name) FROM function_symbol WHERE address IS NOT NULL AND size IS NOT NULL";
        let place = |row: &String| {
            let [address, size, name] = row.splitn(3, ',').collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            (address.parse().unwrap(), size.parse().unwrap(), name.to_owned())
        };
        Names { canonical, places: rows(db, sql).iter().map(place).collect() }
    }

    pub fn of(&self, n: &str) -> String {
        let n = n.split('\'').next().unwrap_or(n);
        // Symbols without a type or size have no name for callgrind, but an address.
        let address = n.strip_prefix("0x").and_then(|d| u64::from_str_radix(d, 16).ok());
        let holds = |a: u64| {
            self.places.iter().find(|p| p.0 <= a && a - p.0 < p.1.max(1)).map(|p| p.2.as_str())
        };
        let at = address.and_then(holds).unwrap_or(n);
        self.canonical.get(at).cloned().unwrap_or(at.to_owned())
    }
}

fn both(scratch: &Scratch) -> Option<Both> {
    let [elf, log] = recording("recursion.c", "gcc", &["-O1"])?;
    let (db, out) = (scratch.path("a.duckdb"), scratch.path("callgrind.out"));
    load(&log, &elf, &db, &[]);
    let ran = std::process::Command::new("valgrind")
        .args(["--tool=callgrind", "--show-below-main=yes", "--compress-strings=no"])
        .args(["--compress-pos=no", "--dump-instr=yes", "--dump-line=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(&elf)
        .output();
    if !ran.is_ok_and(|o| o.status.code().is_some()) || !out.exists() {
        skipped("counts of callgrind: it does not run");
        return None;
    }
    let theirs = read_callgrind(&std::fs::read_to_string(&out).unwrap());
    Some(Both { names: Names::new(&db), db, theirs })
}

type Counts<K> = BTreeMap<K, (i64, i64)>;

/// Exclusive instructions of functions. PLT steps are in the caller, as callgrind has them; the
/// resolvers of indirect functions stay what they are.
fn own(both: &Both) -> Counts<String> {
    let mut own: Counts<String> = BTreeMap::new();
    for (function, cost) in &both.theirs.own {
        own.entry(both.names.of(function)).or_default().0 += cost;
    }
    let sql = "WITH plt AS (SELECT c.* FROM folded_call c JOIN function_symbol s USING (function_id) WHERE s.name LIKE '%@plt'),
               step AS (SELECT function_id, steps_self AS n FROM function_profile
                        UNION ALL SELECT function_id, -steps_self FROM plt UNION ALL SELECT into_function_id, steps_self FROM plt)
               SELECT coalesce(s.symbol, s.name), sum(n) FROM step JOIN function_symbol s USING (function_id)
               GROUP BY s.function_id, s.symbol, s.name HAVING sum(n) > 0";
    for row in rows(&both.db, sql) {
        let (function, steps) = row.rsplit_once(',').unwrap();
        own.entry(both.names.of(function)).or_default().1 += steps.parse::<i64>().unwrap();
    }
    own
}

/// Calls by pair of functions: tail jumps from the function that jumped; PLT stubs are part of what
/// called them.
fn calls(both: &Both) -> Counts<(String, String)> {
    let name = |n: &str| both.names.of(n);
    let mut calls: Counts<(String, String)> = BTreeMap::new();
    for ((a, b), n) in &both.theirs.calls {
        calls.entry((name(a), name(b))).or_default().0 += n;
    }
    let sql = "SELECT c.call_id, coalesce(c.tail_of_call_id, c.parent_call_id, 0), coalesce(s.symbol, s.name)
               FROM function_call c JOIN function_symbol s USING (function_id) ORDER BY c.call_id";
    let mut instances: HashMap<i64, (i64, String)> = HashMap::new();
    for row in rows(&both.db, sql) {
        let parts: Vec<&str> = row.splitn(3, ',').collect();
        let (id, from): (i64, i64) = (parts[0].parse().unwrap(), parts[1].parse().unwrap());
        instances.insert(id, (from, parts[2].to_owned()));
    }
    let plt = |id: &i64| instances.get(id).is_some_and(|i| i.1.ends_with("@plt"));
    for (id, (from, callee)) in instances.iter().filter(|(_, i)| i.0 > 0) {
        let mut from = *from;
        while plt(&from) {
            from = instances[&from].0;
        }
        if !plt(id) {
            calls.entry((name(&instances[&from].1), name(callee))).or_default().1 += 1;
        }
    }
    calls
}

/// Functions that call themselves, at last.
fn recursive(calls: &Counts<(String, String)>, functions: &Counts<String>) -> BTreeSet<String> {
    let mut next: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for (a, b) in calls.keys() {
        next.entry(a).or_default().insert(b);
    }
    let calls_itself = |function: &&String| {
        let mut seen = BTreeSet::new();
        let mut stack: Vec<&String> = next.get(*function).into_iter().flatten().copied().collect();
        while let Some(n) = stack.pop() {
            if seen.insert(n) {
                stack.extend(next.get(n).into_iter().flatten().copied());
            }
        }
        seen.contains(*function)
    };
    functions.keys().filter(calls_itself).cloned().collect()
}

/// Inclusive instructions of functions outside recursion. Callgrind counts what a function jumps to
/// for it, too, so those that do are left out.
fn inclusive(both: &Both, left_out: &BTreeSet<String>, missing: i64) -> Counts<String> {
    let name = |n: &String| both.names.of(n);
    let jumps = "SELECT DISTINCT coalesce(s.symbol, s.name)
               FROM function_call c JOIN function_call t ON t.tail_of_call_id = c.call_id
               JOIN function_symbol s ON s.function_id = c.function_id";
    let open = "SELECT DISTINCT coalesce(s.symbol, s.name)
                FROM function_call JOIN function_symbol s USING (function_id) WHERE ending = 'open'";
    let [jumps, open] =
        [jumps, open].map(|sql| rows(&both.db, sql).iter().map(name).collect::<BTreeSet<_>>());
    let mut inclusive: Counts<String> = BTreeMap::new();
    for (function, cost) in &both.theirs.inclusive {
        inclusive.entry(name(function)).or_default().0 += cost;
    }
    let sql = "SELECT coalesce(s.symbol, s.name), p.steps_total FROM function_profile p JOIN function_symbol s USING (function_id)";
    for row in rows(&both.db, sql) {
        let (function, steps) = row.rsplit_once(',').unwrap();
        inclusive.entry(name(&function.to_owned())).or_default().1 += steps.parse::<i64>().unwrap();
    }
    // What never returned has the end of the run in it, of which callgrind lacks the last block.
    for (_, counts) in inclusive.iter_mut().filter(|(f, _)| open.contains(*f)) {
        counts.1 -= missing;
    }
    inclusive.retain(|f, _| !left_out.contains(f) && !jumps.contains(f) && !f.ends_with("@plt"));
    inclusive
}

/// More than 20 counts are equal; each that is not has a reason.
fn explained<K: std::fmt::Debug>(
    what: &str,
    counts: &Counts<K>,
    reason: impl Fn(&K) -> Option<&'static str>,
) {
    let (same, differ): (Vec<_>, Vec<_>) = counts.iter().partition(|(_, c)| c.0 == c.1);
    for (key, (callgrind, addfg)) in &differ {
        let why = reason(key).unwrap_or("not allowed");
        println!("{what} of {key:?}: callgrind {callgrind}, addfg {addfg}: {why}");
    }
    println!("{} of {} {what} are the same", same.len(), counts.len());
    let unexplained: Vec<_> = differ.iter().filter(|d| reason(d.0).is_none()).collect();
    assert!(same.len() > 20 && unexplained.is_empty(), "{what}: {unexplained:?}");
}

/// Functions of the same static program, counted by callgrind and by addfg. Every difference that
/// remains is printed, and allowed by name with its reason.
#[test]
fn callgrind_counts_the_same() {
    let scratch = Scratch::new("callgrind");
    let Some(both) = both(&scratch) else { return };
    let own = own(&both);
    let allowed = |f: &String| ALLOWED.iter().find(|a| f.starts_with(a.0)).map(|a| a.1);
    explained("exclusive instructions", &own, allowed);
    let calls = calls(&both);
    explained("calls", &calls, |(a, b)| {
        CALLS_ALLOWED.iter().find(|x| a.starts_with(x.0) && b.starts_with(x.1)).map(|x| x.2)
    });
    let mut left_out = recursive(&calls, &own);
    left_out.extend(own.keys().filter(|f| allowed(f).is_some()).cloned());
    let missing = own.iter().filter(|o| o.0.starts_with("_exit")).map(|o| o.1.1 - o.1.0).sum();
    explained("inclusive instructions", &inclusive(&both, &left_out, missing), |_| None);
}

/// Functions by the beginnings of their names: which variant glibc takes depends on the processor.
const ALLOWED: [(&str, &str); 7] = [
    (
        "frame_dummy",
        "it ends with a jump to register_tm_clones, and callgrind knows neither by name: it goes on counting for the first",
    ),
    ("register_tm_clones", "the other side of frame_dummy"),
    (
        "__strdup",
        "it ends with a jump to memcpy's PLT stub: callgrind counts the stub for it, addfg for the caller of what was replaced",
    ),
    ("fillin_rpath", "the other side of strdup"),
    (
        "__memcpy_",
        "mempcpy jumps into the middle of memcpy: callgrind goes on counting for the function that jumped",
    ),
    ("__mempcpy_", "the other side of memcpy"),
    ("_exit", "the run ends in a system call: callgrind does not count the block that it is in"),
];
/// Callers, callees.
const CALLS_ALLOWED: [(&str, &str, &str); 2] = [
    (
        "__mempcpy_",
        "__memcpy_",
        "mempcpy jumps into the middle of memcpy, which is not a call for callgrind",
    ),
    ("frame_dummy", "register_tm_clones", "callgrind knows neither by name"),
];
