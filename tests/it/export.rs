//! Exports: what they hold is what the database holds, in the words of the other program.
//!
//! What needs no tool always runs. Readers of the other programs run where they are installed:
//! `callgrind_annotate`, `gnuplot`, `dot`, and of the Python that ADDFG_PYTHON names (else python3)
//! gprof2dot, networkx, pandas and pyarrow.

use crate::common::*;
use addfg::internals::export::{EXPORTS, Made};
use addfg::internals::store::open::{Opening, Reach, open_as};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

mod pprof;

/// The databases of the examples and the fixture of hostile names.
fn databases() -> Vec<PathBuf> {
    vec![example("fir", "pairs"), example("jpeg", "pairs"), small()]
}

/// Exports to a path of its own.
fn export(scratch: &Scratch, db: &Path, format: &str) -> PathBuf {
    let name = db.file_stem().unwrap().to_str().unwrap();
    let path = scratch.path(&format!("{name}.{format}"));
    ok(&["export", utf8(db), "--to", format, "-o", utf8(&path), "--quiet"]);
    path
}

fn text(db: &Path, format: &str) -> String {
    ok(&["export", utf8(db), "--to", format, "-o", "-"])
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Python with a module; None and a word where it is not there.
fn python(module: &str) -> Option<String> {
    let python = std::env::var("ADDFG_PYTHON").unwrap_or_else(|_| "python3".into());
    let found = Command::new(&python)
        .args(["-c", &format!("import {module}")])
        .output()
        .is_ok_and(|o| o.status.success());
    if !found {
        skipped(&format!("exports in {module}: {python} has no such module (ADDFG_PYTHON)"));
    }
    found.then_some(python)
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect(program);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_registry_is_in_order() {
    let names: BTreeSet<&str> = EXPORTS.iter().map(|e| e.name).collect();
    let files: BTreeSet<&str> = EXPORTS.iter().map(|e| e.file).collect();
    assert_eq!(
        (names.len(), files.len()),
        (EXPORTS.len(), EXPORTS.len()),
        "names and outputs differ"
    );
    let document = std::fs::read_to_string(repository("docs/exports.md")).expect("docs/exports.md");
    for export in EXPORTS {
        assert!(export.file.contains('*') && export.about.len() > 20, "{}", export.name);
        assert!(
            document.contains(&format!("--to {}", export.name)),
            "docs/exports.md has no --to {}",
            export.name
        );
    }
}

/// A callgrind file: exclusive costs by function, inclusive ones by caller and callee with the
/// calls, and the total.
#[derive(Default)]
struct Callgrind {
    own: BTreeMap<String, i64>,
    edges: BTreeMap<(String, String), (i64, i64)>,
    total: i64,
}

fn callgrind(text: &str) -> Callgrind {
    let mut found = Callgrind::default();
    let mut names: HashMap<String, String> = HashMap::new();
    let (mut function, mut callee, mut calls) = (String::new(), String::new(), None);
    let lines = text.lines();
    for line in lines {
        if let Some((key, value)) = line.split_once('=') {
            let (id, name) = value.split_once(' ').unwrap_or((value, ""));
            match key {
                "fn" | "cfn" => {
                    if !name.is_empty() {
                        assert!(names.insert(id.into(), name.into()).is_none(), "{line}: twice");
                    }
                    let name =
                        names.get(id).unwrap_or_else(|| panic!("{line}: not named before")).clone();
                    *(if key == "fn" { &mut function } else { &mut callee }) = name;
                }
                "calls" => {
                    calls = Some(value.split(' ').next().unwrap().parse::<i64>().unwrap());
                }
                "ob" | "fl" | "fi" | "fe" | "cob" | "cfi" => {}
                _ => panic!("{line}"),
            }
        } else if let Some((key, value)) = line.split_once(": ") {
            if key == "totals" || key == "summary" {
                found.total = value.parse().unwrap();
            }
        } else if line.starts_with(|c: char| c.is_ascii_digit()) {
            let cost: i64 = line.split(' ').nth(1).unwrap().parse().unwrap();
            match calls.take() {
                Some(n) => {
                    let edge = found.edges.entry((function.clone(), callee.clone())).or_default();
                    *edge = (edge.0 + n, edge.1 + cost);
                }
                None => *found.own.entry(function.clone()).or_default() += cost,
            }
        }
    }
    found
}

#[test]
fn callgrind_has_the_totals_of_the_database() {
    let scratch = Scratch::new("export-callgrind");
    for db in databases() {
        let file = export(&scratch, &db, "callgrind");
        let found = callgrind(&std::fs::read_to_string(&file).unwrap());
        let shown = |v: &Value| addfg::internals::text::visible(v.as_str().unwrap()).into_owned();
        let own: BTreeMap<String, i64> = query(
            &db,
            "SELECT name, steps_self FROM function_profile JOIN function_symbol USING (function_id) WHERE steps_self > 0",
        )
        .iter()
        .map(|r| (shown(&r[0]), number(&r[1])))
        .collect();
        assert_eq!(found.own, own);
        assert_eq!(found.total, own.values().sum::<i64>());
        let edges: BTreeMap<(String, String), (i64, i64)> = query(
            &db,
            "SELECT caller AS a, callee AS b, sum(calls)::BIGINT AS c, sum(steps)::BIGINT AS d FROM call_graph WHERE caller IS NOT NULL GROUP BY ALL",
        )
        .iter()
        .map(|r| ((shown(&r[0]), shown(&r[1])), (number(&r[2]), number(&r[3]))))
        .collect();
        assert_eq!(found.edges, edges);
        let program = file.to_str().unwrap();
        if have("callgrind_annotate") {
            let annotated = run(
                "callgrind_annotate",
                &["--auto=no", "--threshold=100", "--show-percs=no", program],
            );
            let total = annotated
                .lines()
                .find_map(|l| l.trim().strip_suffix("PROGRAM TOTALS"))
                .expect("totals")
                .trim();
            assert_eq!(total.replace(',', ""), found.total.to_string());
            for (name, cost) in own.iter().filter(|(name, _)| !name.contains(['<', '\\'])) {
                let line = annotated
                    .lines()
                    .find(|l| l.contains(&format!(":{name} [")))
                    .unwrap_or_else(|| panic!("{name}: {annotated}"));
                assert_eq!(
                    line.split_whitespace().next().unwrap().replace(',', ""),
                    cost.to_string(),
                    "{name}"
                );
            }
        }
        if let Some(python) = python("gprof2dot") {
            let dot = run(&python, &["-m", "gprof2dot", "-f", "callgrind", "-n0", "-e0", program]);
            let called: BTreeSet<&String> = edges.keys().flat_map(|(a, b)| [a, b]).collect();
            for name in called.iter().filter(|name| !name.contains(['<', '\\'])) {
                assert!(
                    dot.contains(name.split('(').next().unwrap().trim()),
                    "{name} is not in gprof2dot's graph"
                );
            }
            assert_eq!(dot.matches(" -> ").count(), edges.len());
        }
    }
}

/// Without call instances the profile has the same figures, by function.
#[test]
fn callgrind_of_a_summary() {
    let (whole, summary) = (example("jpeg", "pairs"), example("jpeg", "summary"));
    let (a, b) = (callgrind(&text(&whole, "callgrind")), callgrind(&text(&summary, "callgrind")));
    assert_eq!((a.own, a.edges, a.total), (b.own, b.edges, b.total));
    // Calling contexts are the same, too.
    assert_eq!(text(&whole, "folded"), text(&summary, "folded"));
}

/// Where not all contexts were kept, those of the calls are told; where no calls were, those that are
/// there. A damaged tree of them is refused.
#[test]
fn folded_stacks_where_contexts_were_left_out() {
    let scratch = Scratch::new("export-left-out");
    let copy = |detail: &str| {
        let to = scratch.path(detail);
        std::fs::copy(example("jpeg", detail), &to).unwrap();
        to
    };
    let (whole, summary) = (copy("pairs"), copy("summary"));
    let before = text(&whole, "folded");
    let less = "UPDATE meta SET value = '5' WHERE key = 'contexts_left_out'; UPDATE stack_profile SET steps_self = 1";
    change(&whole, less);
    change(&summary, less);
    assert_eq!(text(&whole, "folded"), before);
    assert!(text(&summary, "folded").lines().all(|line| line.ends_with(" 1")));
    for damage in
        ["parent_stack_id = stack_id", "parent_stack_id = 1000000", "stack_id = stack_id + 1"]
    {
        let summary = copy("summary");
        let and = if damage.starts_with("stack") {
            "; UPDATE stack_profile SET stack_id = stack_id + 1"
        } else {
            ""
        };
        change(&summary, &format!("UPDATE call_stack SET {damage}{and}"));
        for arguments in [
            &["export", utf8(&summary), "--to", "folded", "-o", "-"][..],
            &["calls", utf8(&summary), "--tree"],
        ] {
            refused(arguments, &["call stack", "is not there"]);
        }
    }
}

#[test]
fn folded_stacks_add_up() {
    for db in databases() {
        let folded = text(&db, "folded");
        let mut own: BTreeMap<String, i64> = BTreeMap::new();
        let lines: Vec<&str> = folded.lines().collect();
        assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len(), "a stack twice");
        for line in lines {
            let (stack, steps) = line.rsplit_once(' ').unwrap();
            *own.entry(stack.rsplit(';').next().unwrap().into()).or_default() +=
                steps.parse::<i64>().unwrap();
        }
        assert_eq!(own, steps_of_functions(&db));
        let svg = text(&db, "flamegraph");
        assert!(svg.contains("</svg>") && svg.contains(" steps, 100%)"));
        assert!(!svg.contains("<img") && !svg.contains('\u{1b}'), "hostile names are escaped");
        assert_eq!(svg, ok(&["graph", utf8(&db), "--format", "flamegraph"]));
        // Frames that would be too narrow to see are not drawn.
        let whole: i64 = own.values().sum();
        for (name, _) in
            own.iter().filter(|(n, steps)| **steps > whole / 100 && !n.contains(['<', '\\']))
        {
            assert!(svg.contains(&format!("<title>{name} (")), "{name} has no frame");
        }
    }
}

/// Exclusive steps, stubs merged, by the names that folded stacks show.
fn steps_of_functions(db: &Path) -> BTreeMap<String, i64> {
    query(
        db,
        "SELECT name, steps_self FROM function_profile_folded JOIN function_symbol USING (function_id) WHERE steps_self > 0",
    )
    .iter()
    .map(|r| (addfg::internals::text::visible(r[0].as_str().unwrap()).replace(';', ":"), number(&r[1])))
    .collect()
}

#[test]
fn speedscope_calls_nest_and_cost_what_they_do() {
    for db in databases() {
        let whole: Value = serde_json::from_str(&text(&db, "speedscope")).expect("JSON");
        assert_eq!(whole["$schema"], "https://www.speedscope.app/file-format-schema.json");
        let frames: Vec<&str> = whole["shared"]["frames"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["name"].as_str().unwrap())
            .collect();
        let mut own: BTreeMap<String, i64> = BTreeMap::new();
        let profiles = whole["profiles"].as_array().unwrap();
        assert!(!profiles.is_empty());
        for profile in profiles {
            assert_eq!(
                (profile["type"].as_str(), profile["unit"].as_str()),
                (Some("evented"), Some("none"))
            );
            let (mut stack, mut now) = (Vec::new(), number(&profile["startValue"]));
            for event in profile["events"].as_array().unwrap() {
                let (frame, at) = (number(&event["frame"]) as usize, number(&event["at"]));
                assert!(at >= now, "time goes back at {at}");
                if let Some(&top) = stack.last() {
                    let name: &str = frames[top];
                    *own.entry(addfg::internals::text::visible(name).replace(';', ":"))
                        .or_default() += at - now;
                }
                now = at;
                match event["type"].as_str() {
                    Some("O") => stack.push(frame),
                    Some("C") => assert_eq!(stack.pop(), Some(frame), "calls nest"),
                    other => panic!("{other:?}"),
                }
            }
            assert!(stack.is_empty(), "every call ends");
            assert_eq!(now, number(&profile["endValue"]));
        }
        if !db.ends_with("small.duckdb") {
            // With one thread a call lasts as long as its steps; the fixture's times are made up.
            own.retain(|_, steps| *steps > 0);
            assert_eq!(own, steps_of_functions(&db));
        }
    }
}

fn chrome(db: &Path, arrows: &str) -> String {
    ok(&["export", utf8(db), "--to", "chrome", "-o", "-", "--arrows", arrows])
}

struct Slice {
    call: i64,
    last: f64,
}

#[test]
fn chrome_slices_nest_and_arrows_join_the_right_ones() {
    for db in databases() {
        let whole: Value = serde_json::from_str(&chrome(&db, "0")).expect("JSON");
        let mut events: Vec<&Value> = whole["traceEvents"].as_array().unwrap().iter().collect();
        let ts = |e: &Value| e["ts"].as_f64().unwrap_or(f64::MIN);
        // As readers do: by time, what is equal in the order of the file.
        events.sort_by(|a, b| ts(a).total_cmp(&ts(b)));
        let mut threads: BTreeMap<(i64, i64), Vec<Slice>> = BTreeMap::new();
        let mut slices: BTreeSet<i64> = BTreeSet::new();
        // Innermost slice at the end of an arrow, by the arrow's id.
        let (mut from, mut to): (BTreeMap<i64, (i64, i64)>, BTreeMap<i64, i64>) =
            Default::default();
        for event in events {
            let kind = event["ph"].as_str().unwrap();
            if kind == "M" {
                continue;
            }
            let stack = threads.entry((number(&event["pid"]), number(&event["tid"]))).or_default();
            while stack.last().is_some_and(|s| s.last <= ts(event)) {
                stack.pop();
            }
            match kind {
                "X" => {
                    let slice = Slice {
                        call: number(&event["args"]["call_id"]),
                        last: ts(event) + event["dur"].as_f64().unwrap(),
                    };
                    assert!(
                        stack.last().is_none_or(|s| slice.last <= s.last),
                        "{event} ends behind the slice that it is in"
                    );
                    assert!(slices.insert(slice.call), "{event} twice");
                    stack.push(slice);
                }
                "s" => {
                    let at = stack.last().expect("an arrow that begins in no slice").call;
                    assert!(
                        from.insert(number(&event["id"]), (at, number(&event["args"]["bytes"])))
                            .is_none()
                    );
                }
                "f" => {
                    assert_eq!(event["bp"], "e", "binds to the enclosing slice");
                    assert!(
                        from.contains_key(&number(&event["id"])),
                        "an arrow ends before it begins"
                    );
                    to.insert(
                        number(&event["id"]),
                        stack.last().expect("an arrow that ends in no slice").call,
                    );
                }
                other => panic!("{other}"),
            }
        }
        let calls = query(
            &db,
            "SELECT call_id FROM function_call WHERE call_id NOT IN (SELECT call_id FROM folded_call WHERE call_id <> into_call_id)",
        );
        assert_eq!(slices, calls.iter().map(|r| number(&r[0])).collect(), "a slice for each call");
        let arrows: BTreeMap<(i64, i64), i64> =
            from.iter().map(|(id, &(call, bytes))| ((call, to[id]), bytes)).collect();
        assert_eq!(arrows.len(), to.len());
        let wanted: BTreeMap<(i64, i64), i64> = query(
            &db,
            "WITH m AS (SELECT call_id, into_call_id FROM folded_call),
             d AS (SELECT coalesce(w.into_call_id, writer_call_id) AS a, coalesce(r.into_call_id, reader_call_id) AS b, bytes
                   FROM dataflow LEFT JOIN m w ON w.call_id = writer_call_id LEFT JOIN m r ON r.call_id = reader_call_id
                   WHERE writer_call_id IS NOT NULL)
             SELECT a, b, sum(bytes)::BIGINT AS bytes FROM d WHERE a <> b AND (SELECT count(*) FROM control_flow) > 0 GROUP BY ALL",
        )
        .iter()
        .map(|r| ((number(&r[0]), number(&r[1])), number(&r[2])))
        .collect();
        assert!(!wanted.is_empty() || db.ends_with("small.duckdb"));
        assert_eq!(arrows, wanted);
    }
    let few = chrome(&example("jpeg", "pairs"), "7");
    assert_eq!(few.matches("\"ph\":\"s\"").count(), 7);
}

/// Edges of the function level, stubs merged: from, to, via or nothing, bytes or calls.
fn edges(db: &Path) -> BTreeSet<(i64, i64, String, i64)> {
    query(
        db,
        "SELECT writer_function_id AS a, reader_function_id AS b, via AS c, bytes AS d FROM function_edge_folded
         WHERE writer_function_id <> reader_function_id
         UNION ALL SELECT caller_function_id, callee_function_id, '', sum(calls)::BIGINT FROM call_edge_folded
         WHERE caller_function_id IS NOT NULL GROUP BY ALL",
    )
    .iter()
    .map(|r| (number(&r[0]), number(&r[1]), r[2].as_str().unwrap().to_owned(), number(&r[3])))
    .collect()
}

#[test]
fn json_and_graphml_have_every_edge() {
    let scratch = Scratch::new("export-graphs");
    for db in databases() {
        let graph: Value = serde_json::from_str(&text(&db, "json")).expect("JSON");
        let mut found = BTreeSet::new();
        for edge in graph["edges"].as_array().unwrap() {
            let (from, to) = (number(&edge["from"]), number(&edge["to"]));
            match edge["kind"].as_str() {
                Some("call") => {
                    found.insert((from, to, String::new(), number(&edge["calls"])));
                }
                Some("data") => {
                    for flow in edge["via"].as_array().unwrap() {
                        found.insert((
                            from,
                            to,
                            flow["via"].as_str().unwrap().to_owned(),
                            number(&flow["bytes"]),
                        ));
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(found, edges(&db));
        let schema: Value = serde_json::from_str(
            &std::fs::read_to_string(repository("docs/graph.schema.json")).unwrap(),
        )
        .expect("schema");
        conforms(&graph, &schema, &schema, "");
        if let Some(python) = python("jsonschema") {
            let (graph, schema) =
                (export(&scratch, &db, "json"), repository("docs/graph.schema.json"));
            let script =
                "import json, sys, jsonschema; jsonschema.Draft202012Validator.check_schema(json.load(open(sys.argv[2])));
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))";
            run(&python, &["-c", script, graph.to_str().unwrap(), schema.to_str().unwrap()]);
        }
        let file = export(&scratch, &db, "graphml");
        let graphml = std::fs::read_to_string(&file).unwrap();
        assert_eq!(graphml.matches("<edge ").count(), edges(&db).len());
        assert_eq!(graphml.matches("<node ").count(), graph["nodes"].as_array().unwrap().len());
        assert!(!graphml.contains("<img"), "names are escaped");
        if let Some(python) = python("networkx") {
            let script = "import sys, json, networkx as nx
g = nx.read_graphml(sys.argv[1], force_multigraph=True)
print(json.dumps({'edges': [[int(a[1:]), int(b[1:]), d.get('via', ''), d.get('bytes', d.get('calls'))] for a, b, d in g.edges(data=True)],
                  'names': sorted(d['name'] for _, d in g.nodes(data=True))}))";
            let read: Value =
                serde_json::from_str(&run(&python, &["-c", script, file.to_str().unwrap()]))
                    .unwrap();
            let list = read["edges"].as_array().unwrap().iter();
            let list = list
                .map(|e| {
                    (number(&e[0]), number(&e[1]), e[2].as_str().unwrap().to_owned(), number(&e[3]))
                })
                .collect();
            assert_eq!(edges(&db), list);
            let mut names: Vec<String> = graph["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| addfg::internals::text::visible(n["name"].as_str().unwrap()).into_owned())
                .collect();
            names.sort();
            assert_eq!(read["names"], serde_json::json!(names));
        }
        if have("dot") {
            let dot = export(&scratch, &db, "dot");
            run("dot", &["-Tcanon", "-o", "/dev/null", dot.to_str().unwrap()]);
        }
    }
}

/// The part of JSON Schema that docs/graph.schema.json uses: type, properties, required, items,
/// enum, additionalProperties, $ref.
fn conforms(value: &Value, schema: &Value, root: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root
            .pointer(reference.strip_prefix('#').unwrap())
            .unwrap_or_else(|| panic!("{reference}"));
        return conforms(value, target, root, at);
    }
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{at}: type {other}"),
    };
    match &schema["type"] {
        Value::String(kind) => assert!(is(kind), "{at}: {value} is not a {kind}"),
        Value::Array(kinds) => assert!(
            kinds.iter().any(|k| is(k.as_str().unwrap())),
            "{at}: {value} is none of {kinds:?}"
        ),
        _ => {}
    }
    if let Some(list) = schema["enum"].as_array() {
        assert!(list.contains(value), "{at}: {value} is none of {list:?}");
    }
    if let (Some(object), Some(properties)) = (value.as_object(), schema["properties"].as_object())
    {
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(object.contains_key(name.as_str().unwrap()), "{at} has no {name}");
        }
        for (name, member) in object {
            assert!(properties.contains_key(name), "{at}: {name} is not in the schema");
            conforms(member, &properties[name], root, &format!("{at}/{name}"));
        }
    }
    if let (Some(list), true) = (value.as_array(), schema["items"].is_object()) {
        list.iter().for_each(|v| conforms(v, &schema["items"], root, at));
    }
}

#[test]
fn tables_come_back_from_parquet_and_csv() {
    let scratch = Scratch::new("export-tables");
    for db in databases() {
        let (parquet, csv) = (export(&scratch, &db, "parquet"), export(&scratch, &db, "csv"));
        let opening = Opening { reach: Reach::Everything, ..Opening::READ };
        let connection = open_as(&db, opening).unwrap();
        let count = |sql: &str| {
            connection
                .query_row(sql, [], |r| r.get::<_, i64>(0))
                .unwrap_or_else(|e| panic!("{sql}: {e}"))
        };
        let mut tables = BTreeSet::new();
        for entry in std::fs::read_dir(&parquet).unwrap() {
            let path = entry.unwrap().path();
            let table = path.file_stem().unwrap().to_string_lossy().into_owned();
            let beside = csv.join(format!("{table}.csv"));
            // Parquet keeps every type; of CSV the types are the table's.
            for (a, b) in [
                (table.as_str(), format!("'{}'", path.display())),
                (&format!("'{}'", path.display()), table.clone()),
            ] {
                assert_eq!(
                    count(&format!("SELECT count(*) FROM (FROM {a} EXCEPT ALL FROM {b})")),
                    0,
                    "{table}"
                );
            }
            let types: Vec<String> = {
                let mut statement = connection.prepare(&format!("DESCRIBE {table}")).unwrap();
                let rows = statement
                    .query_map([], |r| {
                        Ok(format!("'{}': '{}'", r.get::<_, String>(0)?, r.get::<_, String>(1)?))
                    })
                    .unwrap();
                rows.map(|r| r.unwrap()).collect()
            };
            let read = format!(
                "read_csv('{}', header = true, columns = {{{}}}, quote = '\"', escape = '\"', delim = ',', auto_detect = false, allow_quoted_nulls = false)",
                beside.display(),
                types.join(", ")
            );
            assert_eq!(
                count(&format!("SELECT count(*) FROM {read}")),
                count(&format!("SELECT count(*) FROM {table}")),
                "{table}"
            );
            if table != "instruction" {
                assert_eq!(
                    count(&format!("SELECT count(*) FROM (FROM {table} EXCEPT ALL FROM {read})")),
                    0,
                    "{table} as CSV"
                );
            }
            tables.insert(table);
        }
        assert!(
            tables.len() > 25 && tables.contains("communication") && tables.contains("block_run"),
            "{tables:?}"
        );
        assert!(!tables.contains("opcode_line"), "every step only on demand");
        if let Some(python) = python("pyarrow, pandas") {
            let script = "import sys, os, json, pyarrow.parquet as pq, pandas as pd
print(json.dumps({f[:-8]: [pq.read_table(os.path.join(sys.argv[1], f)).num_rows, len(pd.read_parquet(os.path.join(sys.argv[1], f)))]
                  for f in os.listdir(sys.argv[1])}))";
            let read: Value =
                serde_json::from_str(&run(&python, &["-c", script, parquet.to_str().unwrap()]))
                    .unwrap();
            for table in &tables {
                let rows = count(&format!("SELECT count(*) FROM {table}"));
                assert_eq!(read[table], serde_json::json!([rows, rows]), "{table}");
            }
        }
    }
    let (db, folder) = (example("fir", "pairs"), scratch.path("steps"));
    let (db, folder) = (utf8(&db), utf8(&folder));
    let two = ["--tables", "opcode_line,data_access", "--quiet"];
    ok(&[&["export", db, "--to", "parquet", "-o", folder], &two[..]].concat());
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2);
    let opening = Opening { reach: Reach::Everything, ..Opening::READ };
    let connection = open_as(Path::new(db), opening).unwrap();
    let sql = format!("SELECT count(*) FROM '{folder}/opcode_line.parquet'");
    let steps: i64 = connection.query_row(&sql, [], |r| r.get(0)).unwrap();
    assert_eq!(steps, 401);
    let unknown = ["export", db, "--to", "csv", "-o", folder, "--tables", "nothing", "--force"];
    refused(&unknown, &["there are allocation, basic_block"]);
}

#[test]
fn gnuplot_draws_its_folder() {
    let scratch = Scratch::new("export-gnuplot");
    let folder = export(&scratch, &example("fir", "pairs"), "gnuplot");
    assert!(folder.join("memory.gp").is_file() && folder.join("footprint.tsv").is_file());
    if have("gnuplot") {
        let output = Command::new("gnuplot")
            .arg("memory.gp")
            .current_dir(&folder)
            .output()
            .expect("gnuplot");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(std::fs::read_to_string(folder.join("memory.svg")).unwrap().contains("</svg>"));
    }
}

#[test]
fn outputs_are_complete_or_not_there() {
    let scratch = Scratch::new("export-output");
    let db = scratch.copy(&example("fir", "pairs"), "fir.duckdb");
    let db_text = utf8(&db);
    let path = |name: &str| scratch.path(name).to_str().unwrap().to_owned();
    let no = |arguments: &[&str], says: &str| {
        refused(&[&["export", db_text], arguments].concat(), &[says]);
    };
    for export in EXPORTS {
        let output = path(export.name);
        ok(&["export", db_text, "--to", export.name, "-o", &output, "--quiet"]);
        no(&["--to", export.name, "-o", &output], "--force replaces it");
        // The same again, byte for byte; of Parquet and SQLite the rows are.
        let read = |p: &Path| if p.is_dir() { Vec::new() } else { std::fs::read(p).unwrap() };
        let before = read(Path::new(&output));
        ok(&["export", db_text, "--to", export.name, "-o", &output, "--quiet", "--force"]);
        assert_eq!(before, read(Path::new(&output)), "{} is the same from run to run", export.name);
        match export.made {
            Made::Stream(_) => {
                let printed = addfg(&["export", db_text, "--to", export.name, "-o", "-"]);
                assert_eq!(printed.stdout, before, "{}", export.name);
            }
            _ => no(&["--to", export.name, "-o", "-"], "name one with -o"),
        }
        no(&["--to", export.name, "-o", db_text, "--force"], "is a database");
    }
    no(&["--to", "csv", "-o", &path("fir.duckdb/below"), "--force"], "cannot write");
    no(&["--to", "csv", "-o", &path("t"), "--tables", "nothing"], "no table or view `nothing`");
    no(&["--to", "callgrind", "-o", &path("fir.duckdb/file")], "cannot write");
    let left: Vec<String> = std::fs::read_dir(&scratch.0)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|n| n.ends_with(".part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    // A name made of the database's, in the working directory.
    let output = command(&["export", "fir.duckdb", "--to", "callgrind"])
        .current_dir(&scratch.0)
        .output()
        .unwrap();
    assert!(output.status.success() && scratch.path("callgrind.out.fir").is_file());
    assert!(String::from_utf8_lossy(&output.stderr).contains("wrote callgrind.out.fir"));
    // Nobody reads: no error.
    let mut child = command(&["export", db_text, "--to", "chrome", "-o", "-"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

/// Recursion deeper than stacks are written, and a trace that has a clock and no steps.
#[test]
fn deep_recursion_and_clocks() {
    let scratch = Scratch::new("export-deep");
    let db = scratch.copy(&small(), "small.duckdb");
    let connection = duckdb::Connection::open(&db).unwrap();
    connection
        .execute_batch(
            "DELETE FROM function_call_row; DELETE FROM folded_call_row; DELETE FROM call_edge; DELETE FROM function_profile; DELETE FROM dataflow_row;
             INSERT INTO function_call_row (call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_seq,
                 return_seq, call_time, return_time, call_instruction_id, steps_self, steps_total)
                 SELECT i, 1, i, CASE WHEN i > 1 THEN i - 1 END, NULL, 1, i - 1, 'call', 'return', i, 100001 - i, NULL,
                 NULL, NULL, 2, 2 * (50001 - i) FROM range(1, 50001) t(i);
             INSERT INTO function_profile VALUES (1, 50000, 100000, 100000, 0, 0);",
        )
        .unwrap();
    drop(connection);
    let folded = text(&db, "folded");
    let sum: i64 =
        folded.lines().map(|l| l.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap()).sum();
    assert_eq!(sum, 100_000);
    assert!(folded.len() < 3_000_000, "{} bytes", folded.len());
    let speedscope: Value = serde_json::from_str(&text(&db, "speedscope")).unwrap();
    assert_eq!(speedscope["profiles"][0]["events"].as_array().unwrap().len(), 100_000);
    let connection = duckdb::Connection::open(&db).unwrap();
    connection
        .execute_batch(
            "DELETE FROM function_call_row; DELETE FROM function_profile;
             INSERT INTO function_call_row (call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_seq,
                 return_seq, call_time, return_time, call_instruction_id, steps_self, steps_total) VALUES
                 (1, 1, 1, NULL, NULL, 1, 0, 'root', 'open', NULL, NULL, 1000, 1100, NULL, NULL, NULL),
                 (2, 2, 1, 1, NULL, 1, 1, 'call', 'return', NULL, NULL, 1010, 1050, NULL, NULL, NULL),
                 (3, 4, 1, 2, NULL, 1, 2, 'call', 'return', NULL, NULL, 1020, 1030, NULL, NULL, NULL),
                 (4, 3, 1, NULL, NULL, 2, 0, 'root', 'return', NULL, NULL, 1005, 1095, NULL, NULL, NULL);",
        )
        .unwrap();
    drop(connection);
    assert_eq!(text(&db, "folded"), "A 60\nA;B 30\nA;B;D 10\nC 90\n");
    let found = callgrind(&text(&db, "callgrind"));
    assert_eq!(found.total, 190);
    assert_eq!(found.edges[&("A".into(), "B".into())], (1, 40));
    let chrome: Value = serde_json::from_str(&text(&db, "chrome")).unwrap();
    let begins = chrome["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "X");
    assert_eq!(begins.map(|e| number(&e["ts"])).collect::<Vec<_>>(), [0, 10, 20, 5]);
    let connection = duckdb::Connection::open(&db).unwrap();
    connection
        .execute_batch("UPDATE function_call_row SET call_time = NULL, return_time = NULL")
        .unwrap();
    drop(connection);
    let folded = ["export", utf8(&db), "--to", "folded", "-o", "-"];
    refused(&folded, &["neither steps nor a clock"]);
}
