//! Slices: of a program with a planted constant, and against the closure of the communications.

use super::kept;
use crate::common::*;
use crate::record::record;
use std::collections::{BTreeSet, HashMap};

#[test]
fn a_backward_slice_reaches_the_planted_constant() {
    let scratch = Scratch::new("planted");
    let source = std::fs::read_to_string(repository("tests/programs/planted.c")).unwrap();
    let line = |mark: &str| {
        format!("planted.c:{}", 1 + source.lines().position(|l| l.contains(mark)).unwrap())
    };
    for flags in ["-O0", "-O1", "-O2"] {
        let Some([elf, log]) = recording("planted.c", "gcc", &[flags]) else { return };
        let path = scratch.path("planted.duckdb");
        load(&log, &elf, &path, &[]);
        let db = utf8(&path);
        let lines = |arguments: &[&str]| -> BTreeSet<String> {
            let text =
                ok(&[&["slice", db, "--group", "--limit", "0", "--format", "csv"], arguments]
                    .concat());
            text.lines().filter_map(|l| l.rsplit(',').next()).map(str::to_owned).collect()
        };
        let (decides, planted, innocent) = (line("decides"), line("planted */"), line("innocent"));
        let slice = lines(&["--at", &decides, "--control"]);
        assert!(slice.contains(&planted) && !slice.contains(&innocent), "{flags}: {slice:?}");
        // The result depends on the table through a branch or flags only.
        let (data, with_control) =
            (lines(&["--at", "result"]), lines(&["--at", "result", "--control"]));
        assert!(
            !data.contains(&planted) && with_control.contains(&planted),
            "{flags}: {data:?} {with_control:?}"
        );
        assert!(!with_control.contains(&innocent), "{flags}: {with_control:?}");
        let forward = lines(&["--at", &planted, "--forward"]);
        assert!(forward.contains(&decides) && !forward.contains(&innocent), "{flags}: {forward:?}");
        let table = lines(&["--at", "table"]);
        assert!(table.contains(&planted) && !table.contains(&decides), "{flags}: {table:?}");
        let near = lines(&["--at", &decides, "--depth", "1"]);
        assert!(!near.contains(&planted), "{flags}: {near:?}");
        let graph = ok(&["slice", db, "--at", &decides, "--picture", "json"]);
        assert!(graph.contains("\"instruction\""));
    }
}

/// By the table of communications, followed by hand.
#[test]
fn a_slice_is_the_closure_of_the_communications() {
    for name in ["fir", "jpeg"] {
        let db = example(name, "full");
        let connection = open(&db);
        let mut sources: HashMap<i64, Vec<i64>> = HashMap::new();
        let mut sinks: HashMap<i64, Vec<i64>> = HashMap::new();
        for (write, _, read, ..) in kept(&connection) {
            if let Some(write) = write {
                sources.entry(read).or_default().push(write);
                sinks.entry(write).or_default().push(read);
            }
        }
        let closure = |start: i64, next: &HashMap<i64, Vec<i64>>| {
            let mut seen = BTreeSet::from([start]);
            let mut stack = vec![start];
            while let Some(n) = stack.pop() {
                stack.extend(next.get(&n).into_iter().flatten().filter(|&&m| seen.insert(m)));
            }
            seen
        };
        let last = sources.keys().copied().max().unwrap();
        for at in [last, last / 2, last / 3, last / 5] {
            for (way, next) in [("--backward", &sources), ("--forward", &sinks)] {
                let text = ok(&[
                    "slice",
                    utf8(&db),
                    "--at",
                    &at.to_string(),
                    way,
                    "--limit",
                    "0",
                    "--format",
                    "csv",
                ]);
                let found: BTreeSet<i64> = text
                    .lines()
                    .skip(1)
                    .map(|l| l.split(',').next().unwrap().parse().unwrap())
                    .collect();
                assert_eq!(found, closure(at, next), "{name}: {way} from {at}");
            }
        }
    }
}

/// What is left far from the criterion is the beginning of what is found without an end.
#[test]
fn a_long_slice_is_left_where_its_list_is_full() {
    use addfg::internals::replay::slice::Bounds;
    use addfg::internals::views::slice::{Along, Direction, slice};
    let (db, mut left) = (open(&example("jpeg", "full")), 0);
    let last: i64 =
        db.query_row("SELECT max(return_seq) FROM function_call", [], |r| r.get(0)).unwrap();
    for (place, limit, far) in (1..8).flat_map(|n| [(n, 3, 50), (n, 40, 2000), (n, 10, i64::MAX)]) {
        for direction in [Direction::Backward, Direction::Forward] {
            let at = last * place / 8;
            let found = |limit, far| {
                let bounds = Bounds { depth: u32::MAX, limit, far };
                slice(&db, &at.to_string(), direction, Along::Data, bounds).unwrap().slice
            };
            let (part, all) = (found(limit, far), found(usize::MAX, 0));
            assert_eq!(all.left_at, None);
            let steps =
                |slice: &addfg::internals::replay::slice::Slice, limit| -> Vec<(i64, u32)> {
                    slice.steps.iter().take(limit).map(|step| (step.seq, step.depth)).collect()
                };
            assert_eq!(steps(&part, limit), steps(&all, limit), "{at} {direction:?}");
            match part.left_at {
                Some(seq) => {
                    left += 1;
                    assert!(part.steps.len() == limit && seq.abs_diff(at) >= far.unsigned_abs());
                    let seen = all.steps.iter().filter(|s| s.seq.abs_diff(at) <= seq.abs_diff(at));
                    assert_eq!(part.count, seen.count() as u64, "{at} {direction:?}");
                }
                None => {
                    assert_eq!(
                        (part.count, part.data),
                        (all.count, all.data),
                        "{at} {direction:?}"
                    );
                }
            }
        }
    }
    assert!(left >= 8, "{left} of 42 were left");
}

/// A value goes on from what has exchanged it, from a line with calls, and comes from and goes to the kernel.
#[test]
fn a_slice_goes_through_exchanges_calls_and_the_kernel() {
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return;
    }
    let scratch = Scratch::new("exchanges");
    let path = repository("tests/programs/exchanges.c");
    let source = std::fs::read_to_string(&path).unwrap();
    let line = |mark: &str| {
        format!("exchanges.c:{}", 1 + source.lines().position(|l| l.contains(mark)).unwrap())
    };
    let text = scratch.write("text", "abcdefghijk");
    for flags in ["-O0", "-O1", "-O2"] {
        let (program, db) = (scratch.path("exchanges"), scratch.path("e.duckdb"));
        // Without now: stubs are bound when they are called.
        let gcc = std::process::Command::new("gcc")
            .args(["-g", flags, "-fno-builtin", "-Wl,-z,lazy", "-o", utf8(&program), utf8(&path)])
            .status();
        assert!(gcc.unwrap().success());
        let recorded = record(&["-q", "--force", "-o", utf8(&db)], &[utf8(&program), utf8(&text)]);
        assert!(recorded.status.success(), "{}", said(&recorded));
        let db = utf8(&db);
        let slice = |arguments: &[&str]| {
            let words = ["slice", db, "--group", "--limit", "0", "--format", "csv", "--at"];
            addfg(&[&words, arguments].concat())
        };
        let lines = |arguments: &[&str]| -> BTreeSet<String> {
            let of = |l: &str| l.rsplit(',').next().map(str::to_owned);
            printed(&slice(arguments)).lines().filter_map(of).collect()
        };
        for (variable, marks) in
            [("at", &["after the addition"][..]), ("locked", &["after the exchange"])]
        {
            let found = lines(&[variable, "--forward"]);
            assert!(
                marks.iter().all(|m| found.contains(&line(m))),
                "{flags} {variable}: {found:?}"
            );
        }
        let calls = line("two calls");
        let found = lines(&[&calls, "--forward"]);
        assert!(found.contains(&line("what came of them")), "{flags}: {found:?}");
        assert!(!found.contains(&line("after the addition")), "{flags}: {found:?}");
        let found = lines(&[&calls]);
        assert!(found.contains(&line("four(int n)")), "{flags}: {found:?}");
        // Bytes that no step wrote have sources, too, and the kernel takes what no step has read.
        let expected = "comes from <exchanges .bss> (7 B), <read: text> (8 B)";
        assert!(said(&slice(&["buffer"])).contains(expected), "{}", said(&slice(&["buffer"])));
        assert!(said(&slice(&["only"])).contains("<read: text> (1 B)"));
        let forward = slice(&["only", "--forward"]);
        assert!(said(&forward).contains("goes to <write: stdout> (1 B)"), "{}", said(&forward));
        let picture = ok(&["slice", db, "--at", "only", "--picture", "json"]);
        assert!(picture.contains("<read: text>"), "{picture}");
        // Stubs belong to what calls them, also the one that binds names.
        let steps = |sql: &str| rows(std::path::Path::new(db), sql).pop().unwrap();
        let folded = steps(
            "SELECT sum(steps_self) FROM function_call c JOIN function_symbol s USING (function_id)
             WHERE s.name = 'main' OR (s.kind = 'stub' AND (SELECT p.name FROM function_symbol p JOIN function_call o USING (function_id)
                   WHERE o.call_id = c.parent_call_id) = 'main')",
        );
        let cut: serde_json::Value = serde_json::from_str(&ok(&[
            "cut", db, "main", "--show", "entries", "--format", "json",
        ]))
        .unwrap();
        assert_eq!(cut[0]["steps"].to_string(), folded, "{flags}: {cut}");
    }
}
