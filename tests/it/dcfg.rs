//! DCFG and DCFG-trace: samples decoded, what is exported comes back the same, every rule broken
//! once, hostile traces.

use crate::common::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

mod without_program;

fn sample(name: &str) -> PathBuf {
    repository("tests/data/dcfg").join(name)
}

/// The numbers of the blocks that ran, with their addresses.
const BLOCKS: &str = "SELECT b.number || format(' {:#x}', b.address)
                      FROM block_run r JOIN basic_block b ON b.basic_block_id = r.block_id WHERE r.thread_id = 1 ORDER BY r.start_seq";

/// The edges that were taken, from the blocks in order: entry, those between two blocks, exit.
const EDGES: &str = "WITH step AS (
                         SELECT start_seq, block_id, lead(block_id) OVER (ORDER BY start_seq) AS next, row_number() OVER (ORDER BY start_seq) AS n
                         FROM block_run WHERE thread_id = 1)
                     SELECT number FROM (
                         SELECT 0 AS place, e.number FROM step s JOIN cfg_edge e ON e.target_block_id = s.block_id AND e.kind = 'entry' WHERE s.n = 1
                         UNION ALL
                         SELECT s.n, e.number FROM step s JOIN cfg_edge e ON e.source_block_id = s.block_id
                             AND (e.target_block_id = s.next OR s.next IS NULL AND e.kind = 'exit') AND e.kind <> 'bypass')
                     ORDER BY place";

#[test]
fn blocks_and_edges_of_the_samples() {
    let scratch = Scratch::new("dcfg-samples");
    let (blocks, edges) = (sample("demo.expected-blocks.txt"), sample("demo.expected-edges.txt"));
    let lines = |path: &Path| {
        std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let elf = repository("tests/data/demo/demo-x86_64.elf");
    for (graph, trace) in [
        ("demo-1t.dcfg.json", "demo-1t.trace.json"),
        ("demo-1t.dcfg.json.bz2", "demo-1t.trace.json.bz2"),
        ("demo-2t-chunked.dcfg.json", "demo-2t-chunked.trace.json.bz2"),
    ] {
        let db = scratch.path(&format!("{graph}.duckdb"));
        let (graph, trace) = (sample(graph), sample(trace));
        // The trace may come first, and a program is not needed.
        ok(&["build", utf8(&trace), utf8(&graph), "-o", utf8(&db)]);
        assert_eq!(rows(&db, BLOCKS), lines(&blocks));
        assert_eq!(rows(&db, EDGES), lines(&edges));
        let calls = rows(
            &db,
            "SELECT s.name, count(*), sum(steps_total) FROM function_call JOIN function_symbol s USING (function_id) \
                               WHERE thread_id = 1 GROUP BY ALL ORDER BY ALL",
        );
        assert_eq!(
            calls,
            [
                "<unknown demo-x86_64.elf>,1,208",
                "add,9,18",
                "fact,5,120",
                "fill,1,53",
                "main,1,202",
                "sum,1,75"
            ]
        );
        assert!(rows(&db, "FROM diagnostic WHERE code <> 'dcfg-no-code'").is_empty());
        // Of blocks without instructions the SQL can derive nothing.
        assert!(ok(&["verify", utf8(&db)]).starts_with("not applicable"));
        // With the program there are instructions, and the SQL finds the same calls from them.
        let db = scratch.path("elf.duckdb");
        ok(&["build", utf8(&graph), utf8(&trace), "--elf", utf8(&elf), "-o", utf8(&db), "--force"]);
        assert!(ok(&["info", utf8(&db)]).contains("none"));
        if rows(&db, "SELECT count(*) FROM thread") == ["1"] {
            assert!(!ok(&["verify", utf8(&db)]).contains("DIFFERENT"));
            assert_eq!(rows(&db, "SELECT count(*) FROM opcode_line"), ["208"]);
        } else {
            // Each thread counts its own steps.
            assert!(ok(&["verify", utf8(&db)]).starts_with("not applicable"));
        }
        // Nothing is known of data: there are no dependences to be on a path.
        let critical = addfg(&["critical", utf8(&db)]);
        assert_eq!(critical.status.code(), Some(2), "{}", printed(&critical));
        assert!(said(&critical).contains("no accesses"), "{}", said(&critical));
        assert_eq!(
            rows(
                &db,
                "SELECT iterations, end_seq - start_seq + 1 FROM loop_instance WHERE thread_id = 1 ORDER BY ALL"
            ),
            ["8,48", "8,64"]
        );
        let static_loops = "SELECT l.loop_id, any_value(l.iterations), any_value(l.entries), sum(i.iterations), count(*)
                            FROM loop l JOIN loop_instance i USING (loop_id) GROUP BY ALL
                            HAVING any_value(l.iterations) <> sum(i.iterations) OR any_value(l.entries) <> count(*)";
        assert!(rows(&db, static_loops).is_empty());
    }
}

#[test]
fn a_graph_alone_has_static_control_flow_and_counts() {
    let scratch = Scratch::new("dcfg-static");
    let graph = sample("demo-1t.dcfg.json");
    let db = scratch.path("static.duckdb");
    ok(&["build", utf8(&graph), "-o", utf8(&db)]);
    let profile = "SELECT s.name, p.calls, p.steps_self FROM function_profile p JOIN function_symbol s USING (function_id) ORDER BY ALL";
    let found = rows(&db, profile);
    assert_eq!(
        found,
        [
            "<unknown demo-x86_64.elf>,1,6",
            "add,9,18",
            "fact,5,44",
            "fill,1,53",
            "main,1,28",
            "sum,1,59"
        ]
    );
    let calls = rows(
        &db,
        "SELECT caller, callee, kind, calls FROM call_graph WHERE caller = 'fact' OR callee = 'add' ORDER BY ALL",
    );
    assert_eq!(calls, ["fact,fact,call,4", "main,add,call,1", "sum,add,call,8"]);
    assert_eq!(rows(&db, "SELECT count(*) FROM basic_block WHERE kind = 'block'"), ["21"]);
    assert!(ok(&["graph", utf8(&db), "--format", "json"]).contains("\"fact\""));
    assert!(ok(&["verify", utf8(&db)]).starts_with("not applicable"));
    let loops = ok(&["loops", utf8(&db), "--format", "csv"]);
    assert!(
        loops.contains("fill,0x401010,1,1,8,48,,,,false") && loops.contains("sum,0x401037,1,1,8,"),
        "{loops}"
    );
    for command in [&["slice", "--at", "1"][..], &["critical"], &["memory"]] {
        let mut all = vec![command[0], utf8(&db)];
        all.extend(&command[1..]);
        let output = addfg(&all);
        let all = said(&output) + &printed(&output);
        assert!(output.status.code() != Some(101) && !all.is_empty(), "{command:?}: {all}");
    }
}

/// The tables that a trace fills, as far as another recording of the same run must have the same in
/// them.
const SAME: [&str; 4] = [
    "SELECT call_id, s.name, instance, parent_call_id, tail_of_call_id, thread_id, depth, f.kind, ending, call_seq, return_seq,
            steps_self, steps_total, format('{:#x}', i.address)
     FROM function_call f JOIN function_symbol s USING (function_id) LEFT JOIN instruction i ON i.instruction_id = f.call_instruction_id
     ORDER BY call_id",
    "SELECT interval_id, thread_id, call_id, start_seq, end_seq FROM control_flow ORDER BY interval_id",
    "SELECT caller, callee, kind, calls, steps FROM call_graph ORDER BY ALL",
    "SELECT s.name, calls, steps_self, steps_total FROM function_profile JOIN function_symbol s USING (function_id) ORDER BY ALL",
];

/// Compares two databases and gives how many rows the first table has.
fn same(a: &Path, b: &Path) -> usize {
    let mut count = 0;
    for sql in SAME {
        let (first, second) = (rows(a, sql), rows(b, sql));
        for (x, y) in first.iter().zip(&second) {
            assert_eq!(x, y, "{sql}");
        }
        assert_eq!(first.len(), second.len(), "{sql}");
        count = count.max(first.len());
    }
    let executions = "SELECT address, executions FROM instruction ORDER BY ALL";
    assert_eq!(rows(a, executions), rows(b, executions));
    count
}

/// Exports the database of an example and builds one of the export.
fn round_trip(scratch: &Scratch, name: &str) -> (PathBuf, PathBuf, PathBuf) {
    let db = example(name, "pairs");
    let [_, elf] = example_files(name);
    let (folder, back) = (scratch.path(&format!("{name}-dcfg")), scratch.path("back.duckdb"));
    ok(&["export", utf8(&db), "--to", "dcfg", "-o", utf8(&folder)]);
    let (graph, edges) = (folder.join("run.dcfg.json"), folder.join("run.trace.json"));
    ok(&["build", utf8(&graph), utf8(&edges), "--elf", utf8(&elf), "-o", utf8(&back), "--force"]);
    assert!(
        rows(&back, "SELECT code, message FROM diagnostic").is_empty(),
        "{:?}",
        rows(&back, "SELECT code, message FROM diagnostic")
    );
    (db, back, folder)
}

#[test]
fn what_is_exported_comes_back_the_same() {
    let scratch = Scratch::new("dcfg-round");
    for name in ["fir", "jpeg"] {
        let (db, back, folder) = round_trip(&scratch, name);
        assert!(same(&db, &back) > 5);
        assert!(!ok(&["verify", utf8(&back)]).contains("DIFFERENT"), "{name}");
        // And once more gives the same bytes.
        let again = scratch.path("again");
        ok(&["export", utf8(&back), "--to", "dcfg", "-o", utf8(&again), "--force"]);
        let read = |folder: &Path, file: &str| std::fs::read(folder.join(file)).unwrap();
        assert!(
            read(&folder, "run.trace.json") == read(&again, "run.trace.json"),
            "{name}: traces differ"
        );
        // (Symbols that did not run, and files without lines, are not in a database of a graph.)
        let graph = |folder: &Path| -> Value {
            serde_json::from_slice(&read(folder, "run.dcfg.json")).unwrap()
        };
        for part in [
            "/PROCESSES/1/1/EDGES",
            "/PROCESSES/1/1/IMAGES/1/3/BASIC_BLOCKS",
            "/PROCESSES/1/1/IMAGES/1/3/ROUTINES",
        ] {
            let (a, b) = (graph(&folder), graph(&again));
            assert!(a.pointer(part).is_some_and(|a| Some(a) == b.pointer(part)), "{name}: {part}");
        }
        // Loops of the format are those found in the executed instructions.
        let found = ok(&["loops", utf8(&db), "--quick", "--limit", "0", "--format", "csv"]);
        let mut wanted: BTreeMap<(String, String, String), usize> = BTreeMap::new();
        for line in found.lines().skip(1).filter(|l| !l.ends_with("true")) {
            let cells: Vec<_> = line.split(',').collect();
            *wanted.entry((cells[0].into(), cells[3].into(), cells[4].into())).or_default() += 1;
        }
        let mut stored = BTreeMap::new();
        for line in rows(
            &back,
            "SELECT s.name, l.entries, l.iterations FROM loop l JOIN function_symbol s USING (function_id)",
        ) {
            let cells: Vec<_> = line.split(',').collect();
            *stored.entry((cells[0].into(), cells[1].into(), cells[2].into())).or_default() += 1;
        }
        // The format has an edge for each time that a repeated string instruction repeats; what such a
        // one does in a step is no loop of the program.
        let repeated = stored.iter().filter(|(key, _)| !wanted.contains_key(*key)).count();
        let repeats = "SELECT count(*) FROM instruction WHERE repeats AND executions > 1";
        let repeats: usize = rows(&db, repeats).remove(0).parse().unwrap();
        assert!(repeated <= repeats, "{name}: {repeated} loops, {repeats} repeated instructions");
        stored.retain(|key, _| wanted.contains_key(key));
        assert_eq!(stored, wanted, "{name}");
        // What the edges count is what the walk met.
        let counted = "SELECT l.loop_id, any_value(l.entries), count(*), any_value(l.iterations), sum(i.iterations), any_value(l.function_id)
                       FROM loop l LEFT JOIN loop_instance i USING (loop_id) GROUP BY ALL
                       HAVING any_value(l.entries) <> count(*) OR any_value(l.iterations) <> sum(i.iterations)";
        assert_eq!(rows(&back, counted), [""; 0], "{name}");
        let iterations = "SELECT (SELECT sum(iterations) FROM loop_instance), (SELECT count(*) FROM loop_iteration)";
        let both = rows(&back, iterations).remove(0);
        assert_eq!(both.split_once(',').map(|(a, b)| a == b), Some(true), "{both}");
    }
}

/// Dominators that are not computed by the library: what cannot be reached without a node is
/// dominated by it.
#[test]
fn dominators_are_those_of_the_definition() {
    let scratch = Scratch::new("dcfg-dominators");
    let mut graphs = vec![round_trip(&scratch, "fir").1];
    let db = scratch.path("sample.duckdb");
    assert_eq!(build(&db, &[&sample("demo-1t.dcfg.json")], &[]).0, 0);
    graphs.push(db);
    for db in graphs {
        let mut routines: BTreeMap<i64, BTreeMap<i64, i64>> = BTreeMap::new();
        for row in
            rows(&db, "SELECT routine_id, basic_block_id, dominator_block_id FROM routine_block")
        {
            let n: Vec<i64> = row.split(',').map(|c| c.parse().unwrap()).collect();
            routines.entry(n[0]).or_default().insert(n[1], n[2]);
        }
        let mut next: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for row in rows(
            &db,
            "SELECT source_block_id, target_block_id FROM cfg_edge WHERE kind IN ('branch', 'fall-through', 'repeat', 'bypass', 'unknown')",
        ) {
            let (a, b) = row.split_once(',').unwrap();
            next.entry(a.parse().unwrap()).or_default().push(b.parse().unwrap());
        }
        assert!(!routines.is_empty());
        for nodes in routines.values() {
            let entry = *nodes.iter().find(|(n, d)| n == d).unwrap().0;
            let reach = |without: Option<i64>| {
                let mut seen = BTreeSet::new();
                let mut stack = vec![entry];
                while let Some(n) = stack.pop() {
                    if Some(n) != without && nodes.contains_key(&n) && seen.insert(n) {
                        stack.extend(next.get(&n).into_iter().flatten());
                    }
                }
                seen
            };
            for &n in nodes.keys().filter(|&&n| n != entry) {
                let dominators: BTreeSet<i64> = nodes
                    .keys()
                    .copied()
                    .filter(|&d| d != n && !reach(Some(d)).contains(&n))
                    .collect();
                // The immediate one is dominated by all others.
                let immediate = dominators
                    .iter()
                    .find(|&&d| dominators.iter().all(|&o| o == d || !reach(Some(o)).contains(&d)));
                assert_eq!(immediate, nodes.get(&n), "node {n} of routine {entry}");
            }
        }
    }
}

/// A graph of two functions: main with a loop (15, 11, 12, 13) around a loop (11), whose block 12
/// calls leaf (20).
fn graph() -> Value {
    json!({
        "MAJOR_VERSION": 1, "MINOR_VERSION": 0,
        "FILE_NAMES": [["FILE_NAME_ID", "FILE_NAME"], [7, "app"], [9, "main.c"]],
        "EDGE_TYPES": [["EDGE_TYPE_ID", "EDGE_TYPE"], [31, "ENTRY"], [32, "EXIT"], [33, "DIRECT_CALL"], [34, "RETURN"],
                       [35, "CALL_BYPASS"], [36, "FALL_THROUGH"], [37, "DIRECT_CONDITIONAL_BRANCH"]],
        "SPECIAL_NODES": [["NODE_ID", "NODE_NAME"], [1, "START"], [2, "END"]],
        "PROCESSES": [["PROCESS_ID", "PROCESS_DATA"], [55, {
            "INSTR_COUNT": 32, "INSTR_COUNT_PER_THREAD": [32],
            "IMAGES": [["IMAGE_ID", "LOAD_ADDR", "SIZE", "IMAGE_DATA"], [0, "0x400000", 4096, {
                "FILE_NAME_ID": 7,
                "SYMBOLS": [["NAME", "ADDR_OFFSET", "SIZE "], ["main", "0x100", 80], ["leaf", "0x200", 16]],
                "SOURCE_DATA": [["FILE_NAME_ID", "LINE_NUM", "ADDR_OFFSET", "SIZE", "NUM_INSTRS"], [9, 12, "0x120", 16, 2]],
                "BASIC_BLOCKS": [["NODE_ID", "ADDR_OFFSET", "SIZE", "NUM_INSTRS", "LAST_INSTR_OFFSET", "COUNT"],
                    [10, "0x100", 16, 4, 12, 1], [15, "0x110", 16, 1, 12, 2], [11, "0x120", 16, 2, 12, 5], [12, "0x130", 16, 3, 12, 2],
                    [13, "0x140", 16, 3, 12, 2], [20, "0x200", 16, 2, 12, 2]],
                "ROUTINES": [["ENTRY_NODE_ID", "EXIT_NODE_IDS", "NODES", "LOOPS"],
                    [10, [13], [["NODE_ID", "IDOM_NODE_ID"], [10, 10], [15, 10], [11, 15], [12, 11], [13, 12]],
                        [["LOOP_HEAD_NODE_ID", "LOOP_BACK_EDGE_SOURCE_NODE_IDS", "LOOP_NODE_IDS", "PARENT_LOOP_HEAD_NODE_ID"],
                         [11, [11], [11], 15], [15, [13], [11, 12, 13, 15]]]],
                    [20, [20], [["NODE_ID", "IDOM_NODE_ID"], [20, 20]]]],
            }]],
            "EDGES": [["EDGE_ID", "SOURCE_NODE_ID", "TARGET_NODE_ID", "EDGE_TYPE_ID", "COUNT_PER_THREAD"],
                [1, 1, 10, 31, [1]], [2, 10, 15, 36, [1]], [10, 15, 11, 36, [2]], [3, 11, 11, 37, [3]], [8, 11, 12, 36, [2]],
                [4, 12, 20, 33, [2]], [5, 20, 13, 34, [2]], [6, 12, 13, 35, [0]], [7, 13, 15, 37, [1]], [9, 13, 2, 32, [1]]],
        }]],
    })
}

/// Its trace: 10, twice 15, 11 (three times, then twice), 12, 20, 13.
fn trace() -> Value {
    json!({
        "MAJOR_VERSION": 1, "MINOR_VERSION": 0,
        "PROCESSES": [["PROCESS_ID", "STRING_DICTIONARY", "TRANSITION_TABLE", "THREAD_DATA"], [55, {"w": "o"}, [
            ["CURRENT_EDGE_ID", "TRANSITION_CODE", "NEXT_EDGE_IDS"],
            [1, "", [2, 10, 3]], [3, "1", [3]], [3, "0", [8, 4, 5]], [5, "1", [7, 10, 3]], [5, "0", [9]], [7, "", [10, 3]]],
            [["THREAD_ID", "TRACE_DATA"], [0, [
                ["PRECEDING_INSTR_COUNT", "INSTR_COUNT", "EDGE_COUNT", "FIRST_EDGE_ID", "EDGE_ID_SEQUENCE"],
                [0, 32, 15, 1, "<w>"]]]]]],
    })
}

/// Builds a database of the two and gives the codes of the problems met; writes the trace before
/// the graph's bytes are looked at.
fn problems(
    scratch: &Scratch,
    graph: &str,
    trace: Option<&str>,
) -> (Option<i32>, Vec<String>, PathBuf) {
    let graph = scratch.write("g.json", graph);
    let trace = trace.map(|trace| scratch.write("t.json", trace));
    let traces: Vec<&Path> = [&graph].into_iter().chain(&trace).map(PathBuf::as_path).collect();
    let (code, error, db) = build_in(scratch, &traces, &[]);
    let codes = if matches!(code, 0 | 1) {
        rows(&db, "SELECT code FROM diagnostic ORDER BY code")
            .into_iter()
            .filter(|c| c != "dcfg-no-code")
            .collect()
    } else {
        vec![error]
    };
    (Some(code), codes, db)
}

const NODES: &str = "SELECT b.number FROM block_run r JOIN basic_block b ON b.basic_block_id = r.block_id ORDER BY r.start_seq";

#[test]
fn the_small_graph_is_clean() {
    let scratch = Scratch::new("dcfg-clean");
    let (code, codes, db) = problems(&scratch, &graph().to_string(), Some(&trace().to_string()));
    assert_eq!((code, codes.as_slice()), (Some(0), &[][..]));
    assert_eq!(rows(&db, NODES).join(" "), "10 15 11 11 11 12 20 13 15 11 11 12 20 13");
    // Loop, its call, its run, first and last step, iterations; the inner ones are within the outer
    // one.
    let loops = rows(&db, "SELECT b.number, instance, start_seq, end_seq, i.iterations, parent_instance_id FROM loop_instance i
                           JOIN loop l USING (loop_id) JOIN basic_block b ON b.basic_block_id = l.header_block_id ORDER BY start_seq, loop_id");
    assert_eq!(loops, ["15,1,5,32,2,", "11,1,6,11,3,1", "11,2,21,24,2,1"]);
    assert_eq!(
        rows(
            &db,
            "SELECT iteration, start_seq FROM loop_iteration ORDER BY start_seq, loop_instance_id"
        )
        .len(),
        7
    );
    let calls = rows(
        &db,
        "SELECT s.name, f.kind, ending, call_seq, return_seq FROM function_call f JOIN function_symbol s USING (function_id) ORDER BY call_id",
    );
    assert_eq!(calls, ["main,root,open,1,32", "leaf,call,return,15,16", "leaf,call,return,28,29"]);
    // Numbers may be strings, and the columns in another order, with others between them.
    let mut turned = graph();
    let blocks = turned
        .pointer_mut("/PROCESSES/1/1/IMAGES/1/3/BASIC_BLOCKS")
        .unwrap()
        .as_array_mut()
        .unwrap();
    for row in blocks.iter_mut() {
        let row = row.as_array_mut().unwrap();
        row.reverse();
        row.insert(1, json!("FUTURE"));
        for cell in row.iter_mut().filter(|c| c.is_number()) {
            *cell = json!(format!("{:#X}", cell.as_u64().unwrap()).replace("0X", "0x"));
        }
    }
    turned["FUTURE"] = json!({"any": ["thing"]});
    let (code, codes, db) = problems(&scratch, &turned.to_string(), Some(&trace().to_string()));
    assert_eq!((code, codes.as_slice()), (Some(0), &[][..]));
    assert_eq!(rows(&db, NODES).len(), 14);
    // The version of the document's example is no JSON.
    for replaced in ["\"MINOR_VERSION\" : 04", "\"MINOR_VERSION\":000"] {
        let old = graph().to_string().replace("\"MINOR_VERSION\":0", replaced);
        let old_trace = trace().to_string().replace("\"MINOR_VERSION\":0", replaced);
        let (code, codes, db) = problems(&scratch, &old, Some(&old_trace));
        assert_eq!((code, codes.as_slice()), (Some(0), &[][..]), "{replaced}");
        assert_eq!(rows(&db, NODES).len(), 14);
    }
}

/// What a field of the graph is changed to, and the problem that is to be found.
#[test]
fn every_rule_of_the_graph() {
    let scratch = Scratch::new("dcfg-rules");
    let image = "/PROCESSES/1/1/IMAGES/1";
    let blocks = "/PROCESSES/1/1/IMAGES/1/3/BASIC_BLOCKS";
    let routine = "/PROCESSES/1/1/IMAGES/1/3/ROUTINES";
    let edges = "/PROCESSES/1/1/EDGES";
    for (field, value, wanted) in [
        ("/MAJOR_VERSION".into(), json!(2), "dcfg-version"),
        ("/FILE_NAMES/2/0".into(), json!(7), "dcfg-duplicate-id"),
        ("/FILE_NAMES/1/0".into(), json!(8), "dcfg-unknown-id"),
        ("/EDGE_TYPES/2/0".into(), json!(31), "dcfg-duplicate-id"),
        ("/EDGE_TYPES/2/0".into(), json!(77), "dcfg-unknown-id"),
        ("/EDGE_TYPES/2/1".into(), json!(5), "dcfg-cell"),
        ("/SPECIAL_NODES/2/0".into(), json!("x"), "dcfg-cell"),
        ("/SPECIAL_NODES/0".into(), json!(["NODE_ID"]), "dcfg-table"),
        ("/EDGE_TYPES".into(), json!("none"), "dcfg-table"),
        ("/PROCESSES/1/1/INSTR_COUNT".into(), json!(31), "dcfg-instruction-count"),
        ("/PROCESSES/1/1/INSTR_COUNT_PER_THREAD".into(), json!([33]), "dcfg-instruction-count"),
        ("/PROCESSES/1/1/INSTR_COUNT_PER_THREAD".into(), json!([16, 16]), "dcfg-instruction-count"),
        (format!("{image}/1"), json!("none"), "dcfg-cell"),
        (format!("{image}/2"), json!(0x150), "dcfg-block-outside"),
        (format!("{image}/3/SYMBOLS/1/0"), json!(3), "dcfg-cell"),
        (format!("{image}/3/SOURCE_DATA/1/0"), json!(99), "dcfg-unknown-id"),
        (format!("{blocks}/1/0"), json!(15), "dcfg-duplicate-id"),
        (format!("{blocks}/1/0"), json!(1), "dcfg-duplicate-id"),
        (format!("{blocks}/1/0"), json!(-4), "dcfg-cell"),
        (format!("{blocks}/1/1"), json!(null), "dcfg-cell"),
        (format!("{blocks}/1/3"), json!(5), "dcfg-instruction-count"),
        (format!("{blocks}/1/4"), json!(16), "dcfg-last-instruction"),
        (format!("{blocks}/1/5"), json!(2), "dcfg-block-count"),
        (format!("{routine}/1/0"), json!(11), "dcfg-dominator"),
        (format!("{routine}/1/0"), json!(20), "dcfg-routine-entry"),
        (format!("{routine}/1/0"), json!(404), "dcfg-unknown-id"),
        (format!("{routine}/1/1"), json!([20]), "dcfg-routine-exit"),
        (format!("{routine}/1/2"), json!(5), "dcfg-table"),
        (format!("{routine}/1/2/5"), json!([20, 12]), "dcfg-two-routines"),
        (format!("{routine}/1/2/5"), json!([1, 12]), "dcfg-routine-node"),
        (format!("{routine}/1/2/5"), json!([13, 20]), "dcfg-dominator"),
        (format!("{routine}/1/2/5"), json!([13, 13]), "dcfg-dominator"),
        // One of the routine that dominates it, but not immediately.
        (format!("{routine}/1/2/5"), json!([13, 15]), "dcfg-dominator"),
        (format!("{routine}/2/2"), json!([["NODE_ID", "IDOM_NODE_ID"]]), "dcfg-no-routine"),
        (format!("{routine}/1/3/1/0"), json!(404), "dcfg-unknown-id"),
        (format!("{routine}/1/3/1/0"), json!(15), "dcfg-loop"),
        (format!("{routine}/1/3/1/1"), json!([12]), "dcfg-loop"),
        (format!("{routine}/1/3/1/2"), json!([20]), "dcfg-loop"),
        (format!("{routine}/1/3/1/3"), json!(13), "dcfg-loop"),
        (format!("{routine}/1/3/2/2"), json!([12, 13, 15]), "dcfg-loop"),
        (format!("{edges}/1/0"), json!(2), "dcfg-duplicate-id"),
        (format!("{edges}/2/0"), json!(0x1_0000_0000u64), "dcfg-wide-id"),
        (format!("{edges}/2/1"), json!(404), "dcfg-unknown-id"),
        (format!("{edges}/2/2"), json!({}), "dcfg-cell"),
        (format!("{edges}/2/3"), json!(404), "dcfg-unknown-id"),
        (format!("{edges}/2/4"), json!([2]), "dcfg-flow"),
        (format!("{edges}/2/4"), json!([1, 0]), "dcfg-thread-count"),
        (format!("{edges}/2/4"), json!([u64::MAX]), "dcfg-count"),
        (format!("{blocks}/1/3"), json!(u64::MAX), "dcfg-count"),
        (format!("{blocks}/1/3"), json!(1u64 << 32), "dcfg-count"),
        (format!("{blocks}/1/5"), json!(1u64 << 63), "dcfg-count"),
        ("/PROCESSES/1/1/INSTR_COUNT_PER_THREAD".into(), json!([u64::MAX]), "dcfg-count"),
        (format!("{edges}/2/3"), json!(34), "dcfg-unreachable"),
        ("/PROCESSES".into(), json!([["PROCESS_ID", "PROCESS_DATA"]]), "dcfg-empty"),
    ] {
        let mut changed = graph();
        *changed.pointer_mut(&field).unwrap_or_else(|| panic!("{field}")) = value.clone();
        let (code, codes, _) = problems(&scratch, &changed.to_string(), None);
        assert!(codes.iter().any(|c| c == wanted), "{field} = {value}: {codes:?} lacks {wanted}");
        assert!(matches!(code, Some(0 | 1)), "{field}");
    }
    // Two images over one another, and a placeholder edge, are no faults.
    let mut changed = graph();
    let images = changed.pointer_mut("/PROCESSES/1/1/IMAGES").unwrap().as_array_mut().unwrap();
    images.push(json!([3, "0x400800", 4096, {}]));
    changed.pointer_mut(edges).unwrap().as_array_mut().unwrap().push(json!([0, 0, 0, 0, []]));
    assert_eq!(problems(&scratch, &changed.to_string(), None).1, ["dcfg-overlap"]);
}

/// What a field of the trace is changed to, the problem that is to be found, and the nodes that are
/// left.
#[test]
fn every_kind_of_damage_to_a_trace() {
    let scratch = Scratch::new("dcfg-trace-damage");
    let process = "/PROCESSES/1";
    let chunk = "/PROCESSES/1/3/1/1/1";
    let all = "10 15 11 11 11 12 20 13 15 11 11 12 20 13";
    let first = "10 15 11 11 11 12 20 13";
    for (field, value, wanted, nodes) in [
        (format!("{process}/0"), json!(56), "dcfg-process", ""),
        (format!("{process}/1"), json!({"v": "o"}), "dcfg-sequence", "10 15 11"),
        (format!("{process}/1"), json!({"w": "<w>"}), "dcfg-sequence", "10 15 11"),
        (format!("{process}/1"), json!({"w": 5}), "dcfg-dictionary", "10 15 11"),
        (format!("{process}/2/3/1"), json!("1"), "dcfg-transition-code", "10 15 11 11"),
        (format!("{process}/2/3/1"), json!("2"), "dcfg-code", "10 15 11 11"),
        (format!("{process}/2/3/2"), json!([]), "dcfg-code", "10 15 11 11"),
        (format!("{process}/2/3/2"), json!(["x"]), "dcfg-code", "10 15 11 11"),
        (format!("{process}/2/3/0"), json!(404), "dcfg-unknown-id", "10 15 11 11"),
        // An edge that the graph does not have is gone over; it counts.
        (
            format!("{process}/2/3/2"),
            json!([8, 404, 4, 5]),
            "dcfg-unknown-id",
            "10 15 11 11 11 12 20 13 15 11 11 12",
        ),
        // An edge out of its place is a jump: 12 does not run.
        (
            format!("{process}/2/3/2"),
            json!([8, 5]),
            "dcfg-jump",
            "10 15 11 11 11 20 13 15 11 11 20 13",
        ),
        (format!("{process}/3/1/0"), json!(1), "dcfg-thread", ""),
        (format!("{process}/3/1/0"), json!("x"), "dcfg-cell", ""),
        (format!("{chunk}/0"), json!(100), "dcfg-gap", all),
        (format!("{chunk}/1"), json!(31), "dcfg-chunk-count", all),
        (format!("{chunk}/1"), json!("x"), "dcfg-cell", all),
        (format!("{chunk}/2"), json!(9), "dcfg-part", first),
        (format!("{chunk}/2"), json!(16), "dcfg-sequence", all),
        (format!("{chunk}/3"), json!(404), "dcfg-sequence", ""),
        (format!("{chunk}/4"), json!(""), "dcfg-sequence", "10 15 11"),
        (format!("{chunk}/4"), json!("o!"), "dcfg-sequence-long", all),
        (format!("{chunk}/4"), json!("!"), "dcfg-sequence", "10 15 11"),
        (format!("{chunk}/4"), json!("oA"), "dcfg-sequence-long", all),
        (format!("{chunk}/4"), json!("(2*"), "dcfg-sequence", "10 15 11"),
        (format!("{chunk}/4"), json!(5), "dcfg-cell", ""),
    ] {
        let mut changed = trace();
        *changed.pointer_mut(&field).unwrap_or_else(|| panic!("{field}")) = value.clone();
        let (code, codes, db) =
            problems(&scratch, &graph().to_string(), Some(&changed.to_string()));
        assert!(codes.iter().any(|c| c == wanted), "{field} = {value}: {codes:?} lacks {wanted}");
        assert!(matches!(code, Some(0 | 1)), "{field}: {code:?}");
        // The last block of what was decoded has no edge that leaves it: whether it ran is not
        // said.
        let found = rows(&db, NODES).join(" ");
        assert!(
            found == nodes
                || nodes.starts_with(&found)
                    && nodes[found.len()..].split_whitespace().count() <= 1,
            "{field} = {value}: {found}"
        );
    }
}

#[test]
fn chunks() {
    let scratch = Scratch::new("dcfg-chunks");
    let run = |chunks: Value| {
        let mut changed = trace();
        let data = changed.pointer_mut("/PROCESSES/1/3/1/1").unwrap().as_array_mut().unwrap();
        data.truncate(1);
        data.extend(chunks.as_array().unwrap().iter().cloned());
        problems(&scratch, &graph().to_string(), Some(&changed.to_string()))
    };
    const CALLS: &str = "SELECT s.name, f.kind, ending, call_seq, return_seq FROM function_call f JOIN function_symbol s USING (function_id) ORDER BY call_id";
    // Cut in the middle, behind the return to 13, which runs at the head of the second chunk:
    // nothing is seen of it.
    let (_, codes, db) = run(json!([[0, 16, 8, 1, "g"], [16, 16, 7, 7, "A"]]));
    assert_eq!(codes, [""; 0]);
    assert_eq!(rows(&db, NODES).join(" "), "10 15 11 11 11 12 20 13 15 11 11 12 20 13");
    assert_eq!(
        rows(&db, CALLS),
        ["main,root,open,1,32", "leaf,call,return,15,16", "leaf,call,return,28,29"]
    );
    // With a gap between: what is open begins anew.
    let (_, codes, db) = run(json!([[0, 16, 8, 1, "g"], [116, 16, 7, 7, "A"]]));
    assert_eq!(codes, ["dcfg-gap"]);
    let wanted = [
        "main,root,open,1,16",
        "leaf,call,open,15,16",
        "main,gap,open,117,132",
        "leaf,call,return,128,129",
    ];
    assert_eq!(rows(&db, CALLS), wanted);
    assert_eq!(rows(&db, "SELECT steps FROM thread"), ["32"]);
    // The second part alone, and none at all.
    let (_, codes, db) = run(json!([[16, 16, 7, 7, "A"]]));
    assert_eq!(codes, ["dcfg-gap", "dcfg-part"]);
    assert_eq!(rows(&db, CALLS), ["main,gap,open,17,32", "leaf,call,return,28,29"]);
    let (code, codes, _) = run(json!([[0, 0, 0, 0, ""]]));
    assert_eq!((code, codes.as_slice()), (Some(0), &["dcfg-part".to_owned()][..]));
    // Chunks that lie over one another.
    let (code, codes, db) = run(json!([[0, 16, 8, 1, "g"], [10, 16, 7, 7, "A"]]));
    assert_eq!(
        (code, codes.as_slice()),
        (Some(1), &["dcfg-chunk-order".to_owned(), "dcfg-part".to_owned()][..])
    );
    assert_eq!(rows(&db, CALLS), ["main,root,open,1,16", "leaf,call,open,15,16"]);
}

/// A few bytes that would unfold to more than a disk holds.
#[test]
fn bombs() {
    let scratch = Scratch::new("dcfg-bombs");
    let small = ["--detail", "summary"];
    for sequence in ["(1000000000000*(1000000000000*-))", "(9999999999999*(0*AAAA))", "<w>"] {
        let mut changed = trace();
        *changed.pointer_mut("/PROCESSES/1/3/1/1/1").unwrap() =
            json!([0, 1u64 << 60, 1u64 << 60, 1, sequence]);
        if sequence == "<w>" {
            // Edges that follow one another without a bit.
            *changed.pointer_mut("/PROCESSES/1/2").unwrap() = json!([
                ["CURRENT_EDGE_ID", "TRANSITION_CODE", "NEXT_EDGE_IDS"],
                [1, "", [2, 10, 3]],
                [3, "", [3]]
            ]);
        }
        let g = scratch.write("g.json", graph().to_string());
        let t = scratch.write("t.json", changed.to_string());
        let begin = std::time::Instant::now();
        let (code, error, db) = build_in(&scratch, &[&g, &t], &small);
        assert_eq!(code, 1, "{error}");
        assert!(
            rows(&db, "SELECT code FROM diagnostic").contains(&"dcfg-unfolds".to_owned()),
            "{sequence}"
        );
        assert!(begin.elapsed().as_secs() < 60, "{sequence}: {:?}", begin.elapsed());
    }
    let nest = "(1*".repeat(100_000) + &")".repeat(100_000);
    let mut changed = trace();
    *changed.pointer_mut("/PROCESSES/1/3/1/1/1/4").unwrap() = json!(nest);
    let codes = problems(&scratch, &graph().to_string(), Some(&changed.to_string())).1;
    assert!(codes.iter().any(|c| c == "dcfg-sequence" || c == "dcfg-unfolds"), "{codes:?}");
}

/// Two processes that ran one program: their functions, loops and threads are their own.
#[test]
fn processes_of_one_program_are_told_apart() {
    let scratch = Scratch::new("dcfg-processes");
    let (mut two, mut traces) = (graph(), trace());
    for document in [&mut two, &mut traces] {
        let processes = document.pointer_mut("/PROCESSES").unwrap().as_array_mut().unwrap();
        let mut second = processes[1].clone();
        second[0] = json!(56);
        processes.push(second);
    }
    let (code, codes, db) = problems(&scratch, &two.to_string(), Some(&traces.to_string()));
    assert_eq!((code, codes), (Some(0), vec![]));
    let calls = "SELECT t.process_id, s.name, count(*) FROM function_call JOIN function_symbol s USING (function_id)
                 JOIN thread t USING (thread_id) GROUP BY ALL ORDER BY ALL";
    assert_eq!(
        rows(&db, calls),
        ["1,leaf,2", "1,main,1", "2,leaf (process 56),2", "2,main (process 56),1"]
    );
    // The loops that ran are those of the process, counted anew.
    let loops = "SELECT r.process_id, l.loop_id, count(*), min(i.instance) FROM loop_instance i JOIN loop l USING (loop_id)
                 JOIN routine r USING (routine_id) JOIN thread t USING (thread_id) WHERE t.process_id = r.process_id
                 GROUP BY ALL ORDER BY ALL";
    assert_eq!(rows(&db, loops), ["1,1,1,1", "1,2,2,1", "2,3,1,1", "2,4,2,1"]);
    assert_eq!(rows(&db, "SELECT count(*) FROM call_edge WHERE caller_function_id = 0"), ["0"]);
}

/// Few bytes of a compressed file, many of a document.
#[test]
fn a_document_of_too_many_cells_is_refused() {
    use std::io::Write;
    let scratch = Scratch::new("dcfg-cells");
    let path = scratch.path("g.json.gz");
    let file = std::fs::File::create(&path).unwrap();
    let mut file = flate2::write::GzEncoder::new(file, flate2::Compression::new(6));
    file.write_all(br#"{"MAJOR_VERSION": 1, "PROCESSES": [[0"#).unwrap();
    let zeros = ",0".repeat(1 << 20);
    for _ in 0..20 {
        file.write_all(zeros.as_bytes()).unwrap();
    }
    file.write_all(b"]]}").unwrap();
    drop(file.finish().unwrap());
    let (code, error, _) = build_in(&scratch, &[&path], &["--memory-limit", "512"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("the document takes"), "{error}");
}

/// A trace that counts more instructions than there can be.
#[test]
fn a_chunk_of_too_many_instructions_is_left_out() {
    let scratch = Scratch::new("dcfg-counts");
    let mut changed = trace();
    *changed.pointer_mut("/PROCESSES/1/3/1/1/1/0").unwrap() = json!(u64::MAX);
    let (code, codes, db) = problems(&scratch, &graph().to_string(), Some(&changed.to_string()));
    assert_eq!(code, Some(1));
    assert!(codes.iter().any(|c| c == "dcfg-count"), "{codes:?}");
    assert_eq!(rows(&db, "SELECT count(*) FROM block_run"), ["0"]);
}

#[test]
fn files_that_are_cut_or_damaged() {
    let scratch = Scratch::new("dcfg-cut");
    let (graph, trace) = (graph().to_string(), trace().to_string());
    for end in (1..trace.len()).step_by(41) {
        let (code, codes, _) = problems(&scratch, &graph, Some(&trace[..end]));
        assert!(matches!(code, Some(1 | 2)), "{end}: {code:?} {codes:?}");
        assert!(code == Some(2) || codes.contains(&"damaged-input".to_owned()), "{end}: {codes:?}");
    }
    for end in (1..graph.len()).step_by(211) {
        let (code, codes, _) = problems(&scratch, &graph[..end], Some(&trace));
        assert!(matches!(code, Some(1 | 2)), "{end}: {code:?}");
        assert!(code == Some(2) || codes.contains(&"damaged-input".to_owned()), "{end}: {codes:?}");
    }
    // The graph up to the edges is there when the edges are cut.
    let cut = graph.find("[9,13,2,32,[1]]").unwrap();
    let (code, codes, db) = problems(&scratch, &graph[..cut], None);
    assert!(code == Some(1) && codes.contains(&"damaged-input".to_owned()), "{code:?} {codes:?}");
    assert_eq!(rows(&db, "SELECT count(*) FROM cfg_edge"), ["9"]);
    // Nothing is made of a trace without its graph, of two graphs, or with --strict.
    let g = scratch.write("g.json", &graph);
    let t = scratch.write("t.json", &trace[..trace.len() / 2]);
    let db = scratch.path("none.duckdb");
    for arguments in [&[utf8(&t)][..], &[utf8(&g), utf8(&g)], &[utf8(&g), utf8(&t), "--strict"]] {
        let error = refused(&[&["build", "-o", utf8(&db)], arguments].concat(), &[]);
        assert!(!error.is_empty() && !db.exists());
    }
}

/// As QEMU's bbgraph plugin writes: 64-bit ids, one type of edge, no start and no end, no sizes,
/// empty tables.
#[test]
fn a_writer_that_knows_less() {
    let scratch = Scratch::new("dcfg-less");
    let node = |n: u64| 0xffff_0000_0040_0000 + n;
    let graph = json!({
        "MAJOR_VERSION": 0, "MINOR_VERSION": 1,
        "FILE_NAMES": [["FILE_NAME_ID", "FILE_NAME"], [1835035, "/bin/app"], [3, "[vdso]"]],
        "EDGE_TYPES": [["EDGE_TYPE_ID", "EDGE_TYPE"], [27, "UNKNOWN"]],
        "SPECIAL_NODES": [["NODE_ID", "NODE_NAME"], [3, "UNKNOWN"]],
        "PROCESSES": [["PROCESS_ID", "PROCESS_DATA"], [9, {
            "INSTR_COUNT_PER_THREAD": [],
            "IMAGES": [["IMAGE_ID", "LOAD_ADDR", "SIZE", "IMAGE_DATA"],
                [1835035, "0xffff000000400000", 0, {"FILE_NAME_ID": 1835035, "SYMBOLS": [], "SOURCE_DATA": [], "ROUTINES": [],
                    "BASIC_BLOCKS": [["NODE_ID", "ADDR_OFFSET", "SIZE", "NUM_INSTRS", "LAST_INSTR_OFFSET", "COUNT"],
                        [node(1), "0x10", 0, 3, 0, 7], [node(2), "0x20", 0, 2, 0, 0]]}],
                [3, "0x7000", 4096, {"FILE_NAME_ID": 3, "BASIC_BLOCKS": []}]],
            "EDGES": [["EDGE_ID", "SOURCE_NODE_ID", "TARGET_NODE_ID", "EDGE_TYPE_ID", "COUNT_PER_THREAD"],
                [0, 0, 0, 0, []], [1, node(1), node(1), 27, [6]], [2, node(1), node(2), 27, [1]], [4, 3, node(1), 27, []]],
        }]],
    });
    let (code, codes, db) = problems(&scratch, &graph.to_string(), None);
    assert_eq!(code, Some(0));
    assert_eq!(codes, ["dcfg-block-count", "dcfg-flow", "dcfg-wide-id"]);
    let blocks = rows(
        &db,
        "SELECT number, instructions, size, executions FROM basic_block WHERE kind = 'block' ORDER BY number",
    );
    assert_eq!(blocks, [format!("{},3,,6", node(1)), format!("{},2,,1", node(2))]);
    assert_eq!(rows(&db, "SELECT name FROM function_symbol"), ["<unknown app>"]);
    assert_eq!(rows(&db, "SELECT path FROM image ORDER BY image_id"), ["/bin/app", "[vdso]"]);
}

#[test]
fn every_fixture_and_what_it_gave() {
    let scratch = Scratch::new("dcfg-fixtures");
    let folder = repository("tests/formats/dcfg");
    let settings = beside_formats();
    let good = (folder.join("good.dcfg.json"), folder.join("good.trace.json"));
    for kind in ["good", "truncated", "damaged"] {
        for (part, files) in [
            ("graph", (folder.join(format!("{kind}.dcfg.json")), good.1.clone())),
            ("trace", (good.0.clone(), folder.join(format!("{kind}.trace.json")))),
        ] {
            let (code, error, db) = build_in(&scratch, &[&files.0, &files.1], &[]);
            assert_eq!(code, i32::from(kind != "good"), "{kind} {part}: {error}");
            let mut contents = String::new();
            for (name, sql) in [
                ("nodes that ran", NODES),
                (
                    "calls",
                    "SELECT s.name, f.kind, ending, call_seq, return_seq FROM function_call f JOIN function_symbol s USING (function_id) ORDER BY call_id",
                ),
                (
                    "loops",
                    "SELECT b.number, instance, start_seq, end_seq, i.iterations FROM loop_instance i JOIN loop l USING (loop_id) JOIN basic_block b ON b.basic_block_id = l.header_block_id ORDER BY loop_instance_id",
                ),
                (
                    "blocks",
                    "SELECT number, kind, format('{:#x}', address), instructions, executions, line FROM basic_block ORDER BY basic_block_id",
                ),
                (
                    "edges",
                    "SELECT e.number, a.number, b.number, e.kind, type, count FROM cfg_edge e JOIN basic_block a ON a.basic_block_id = source_block_id JOIN basic_block b ON b.basic_block_id = target_block_id ORDER BY cfg_edge_id",
                ),
                ("problems", "SELECT severity, code, message FROM diagnostic ORDER BY ALL"),
            ] {
                contents += &format!("{name}\n");
                rows(&db, sql).iter().for_each(|row| contents += &format!("    {row}\n"));
            }
            settings.bind(|| insta::assert_snapshot!(format!("dcfg-{kind}-{part}"), contents));
        }
    }
}
