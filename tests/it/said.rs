//! What was not understood is said wherever the database is shown; outputs go where -o says.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A database of the fir example that tells of problems.
fn with_problems(scratch: &Scratch) -> PathBuf {
    let db = scratch.copy(&example("fir", "pairs"), "problems.duckdb");
    change(
        &db,
        "INSERT INTO diagnostic VALUES
             ('error', 'unknown-instruction', 'no decoder knows <this>', 7, 'log:3', 'none'),
             ('warning', 'merged-threads', 'two stacks in one thread', 1, NULL, 'none'),
             ('info', 'as-it-should-be', 'nothing to say', 1, NULL, 'none')",
    );
    db
}

#[test]
fn pictures_and_pages_say_what_was_not_understood() {
    let scratch = Scratch::new("said");
    let (db, clean) = (with_problems(&scratch), example("fir", "pairs"));
    let (db, clean) = (db.to_str().unwrap(), clean.to_str().unwrap());
    let pictures = [
        vec!["graph"],
        vec!["graph", "--level", "instance"],
        vec!["graph", "--level", "loop"],
        vec!["graph", "--format", "json"],
        vec!["graph", "--format", "graphml"],
        vec!["graph", "--format", "flamegraph"],
        vec!["calls", "--timeline"],
        vec!["slice", "--at", "200", "--picture", "dot"],
        vec!["report", "-o", "-"],
    ];
    for words in &pictures {
        let run = |db| {
            let mut all = words.clone();
            all.insert(1, db);
            addfg(&all)
        };
        let output = run(db);
        let text = printed(&output);
        for said in ["no decoder knows", "two stacks in one thread"] {
            assert!(text.contains(said), "{words:?}: {said}\n{text}");
        }
        // In JSON it is text as any other.
        assert!(!text.contains("<this>") || words.contains(&"json"), "{words:?}: hostile text");
        assert!(said(&output).contains("no decoder knows"), "{words:?}");
        assert!(!printed(&run(clean)).contains("no decoder"), "{words:?}");
    }
    for words in [vec!["calls"], vec!["flows", "produce", "fir"], vec!["loops"], vec!["matrix"]] {
        let mut all = words.clone();
        all.insert(1, db);
        let output = addfg(&all);
        assert!(said(&output).contains("error: no decoder knows <this> (7 times)"), "{words:?}");
        all[1] = clean;
        assert_eq!(said(&addfg(&all)), "", "{words:?}");
    }
    let info = ok(&["info", db]);
    assert!(info.contains("no decoder knows") && info.contains("two stacks"), "{info}");
}

#[test]
fn a_dash_and_a_pipe_are_streams() {
    let scratch = Scratch::new("streams");
    let db = example("fir", "pairs");
    let db = db.to_str().unwrap();
    for (words, begin) in [
        (vec!["graph", db, "-o"], "digraph"),
        (vec!["matrix", db, "-o"], "writer"),
        (vec!["calls", db, "--timeline", "-o"], "<svg"),
        (vec!["memory", db, "-o"], "variable"),
        (vec!["report", db, "-o"], "<!doctype"),
        (vec!["export", db, "-q", "--to", "folded", "-o"], "_start"),
    ] {
        for name in ["-", "/dev/stdout"] {
            let mut all = words.clone();
            all.push(name);
            let output = command(&all)
                .current_dir(&scratch.0)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .output()
                .unwrap();
            let text = printed(&output);
            assert_eq!(output.status.code(), Some(0), "{all:?}: {}", said(&output));
            let text = text.trim_start().to_lowercase();
            assert!(text.starts_with(begin), "{all:?}: {text:.60}");
        }
    }
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 0, "files were made");
    refused(&["build", "-", "-o", "-"], &["not a stream"]);
}

#[test]
fn an_export_makes_the_folders_of_its_name() {
    let scratch = Scratch::new("folders");
    let (db, to) = (example("fir", "pairs"), scratch.path("a/b/fir.folded"));
    ok(&["export", db.to_str().unwrap(), "--to", "folded", "-o", to.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&to).unwrap().contains("main"));
}

/// Sums of 128 bits, which Parquet does not have, are decimals of 38 digits: exact.
#[test]
fn sums_are_exact_in_parquet() {
    let scratch = Scratch::new("parquet");
    let (db, to) = (scratch.copy(&example("fir", "pairs"), "wide.duckdb"), scratch.path("out"));
    change(&db, "CREATE TABLE wide AS SELECT (9007199254740993)::HUGEINT AS h, 'x' AS \"a \"\"b\"");
    let path = to.to_str().unwrap();
    ok(&["export", db.to_str().unwrap(), "--to", "parquet", "-o", path, "-q"]);
    let memory = duckdb::Connection::open_in_memory().unwrap();
    let read = |sql: &str| -> String { memory.query_row(sql, [], |r| r.get(0)).unwrap() };
    let wide = read(&format!("SELECT h::VARCHAR FROM '{path}/wide.parquet'"));
    assert_eq!(wide, "9007199254740993");
    for entry in std::fs::read_dir(&to).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let doubles = |from: &str| -> i64 {
            let sql =
                format!("SELECT count(*) FROM (DESCRIBE FROM {from}) WHERE column_type = 'DOUBLE'");
            memory.query_row(&sql, [], |r| r.get(0)).unwrap()
        };
        let theirs = doubles(&format!("'{}'", file.display()));
        let ours = rows(
            &db,
            &format!(
                "SELECT count(*) FROM (DESCRIBE FROM \"{name}\") WHERE column_type = 'DOUBLE'"
            ),
        );
        assert_eq!(theirs.to_string(), ours[0], "{name}");
    }
}

/// What crosses into a group of functions is counted once for each entry into the group, against
/// the communications one by one.
#[test]
fn unique_bytes_of_a_group_are_those_of_its_entries() {
    use addfg::internals::graph::{EdgeKind, NodeKind, Selection, load, resolve_function};
    let db = example("jpeg", "pairs");
    let connection = open(&db);
    let members: Vec<String> = rows(
        &db,
        "SELECT s.name FROM function_profile p JOIN function_symbol s USING (function_id)
         WHERE s.kind = 'function' ORDER BY p.steps_self DESC, s.name LIMIT 5",
    );
    let ids: Vec<_> = members
        .iter()
        .map(|name| resolve_function(&connection, name.trim_matches('"')).unwrap().function_id)
        .collect();
    let groups = vec![("core".to_owned(), ids.clone())];
    let selection = Selection { groups, top: 10_000, min_bytes: Some(0), ..Selection::default() };
    let graph = load(&connection, &selection).unwrap();
    // Calls come before what they call.
    let (mut entry, mut inside) = (vec![0u32], vec![false]);
    for row in rows(
        &db,
        "SELECT function_id, coalesce(tail_of_call_id, parent_call_id, 0), kind = 'stub'
         FROM function_call ORDER BY call_id",
    ) {
        let fields: Vec<&str> = row.split(',').collect();
        let from: usize = fields[1].parse().unwrap();
        let member =
            ids.iter().any(|id| id.to_string() == fields[0]) || fields[2] == "true" && inside[from];
        entry.push(if member && inside[from] { entry[from] } else { entry.len() as u32 });
        inside.push(member);
    }
    let intervals: Vec<(u64, usize)> =
        rows(&db, "SELECT start_seq, call_id FROM control_flow ORDER BY start_seq")
            .iter()
            .map(|r| {
                r.split_once(',').map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap())).unwrap()
            })
            .collect();
    let call = |seq: u64| intervals[intervals.partition_point(|i| i.0 <= seq) - 1].1;
    let mut cells = std::collections::HashSet::new();
    let (mut other, mut last) = (0u64, 0u64);
    for row in rows(
        &db,
        "SELECT write_seq, write_ordinal, read_seq, space = 'register', address, bytes
         FROM communication WHERE write_seq IS NOT NULL",
    ) {
        let f: Vec<&str> = row.split(',').collect();
        let (write, read): (u64, u64) = (f[0].parse().unwrap(), f[2].parse().unwrap());
        if inside[call(read)] && !inside[call(write)] {
            let (address, bytes): (u64, u64) = (f[4].parse().unwrap(), f[5].parse().unwrap());
            for cell in address..address + bytes {
                cells.insert((entry[call(read)], write, f[1].to_owned(), f[3].to_owned(), cell));
            }
            other += bytes;
        }
        last = last.max(read);
    }
    let mut unique = 0;
    for (a, b, edge) in graph.edges() {
        let (from, to) = (&graph.graph[a], &graph.graph[b]);
        if let EdgeKind::Data(flows) = &edge.kind
            && to.kind == NodeKind::Group
            && from.kind != NodeKind::Pseudo
        {
            unique += flows.iter().map(|f| f.unique_bytes.unwrap()).sum::<i64>();
        }
    }
    assert_eq!(unique as usize, cells.len());
    assert!((unique as u64) < other && last > 0);
}

/// One loop has one name: in the picture that of the list.
#[test]
fn the_picture_names_loops_as_the_list_does() {
    for name in ["fir", "jpeg"] {
        let db = example(name, "pairs");
        let db = db.to_str().unwrap();
        let list = ok(&["loops", db, "--quick", "--limit", "0", "--format", "csv"]);
        let places: Vec<&str> = list.lines().skip(1).filter_map(|l| l.split(',').nth(1)).collect();
        let graph = ok(&["graph", db, "--level", "loop", "--top", "100000", "--format", "json"]);
        let graph: serde_json::Value = serde_json::from_str(&graph).unwrap();
        let mut drawn = 0;
        for node in graph["nodes"].as_array().unwrap() {
            if let Some(place) = node["name"].as_str().unwrap().strip_prefix("loop ") {
                assert!(places.contains(&place), "{name}: {place} is not in {places:?}");
                drawn += 1;
            }
        }
        assert!(drawn > 0, "{name}");
    }
}

/// Standard output is not waited for when it is a pipe.
#[test]
fn a_database_is_asked_by_its_bytes_only_where_it_is_a_file() {
    assert!(!addfg::internals::store::open::is_duckdb(Path::new("/dev/stdin")));
    assert!(!addfg::internals::store::sqlite::is_sqlite(Path::new("/dev/stdin")));
}
