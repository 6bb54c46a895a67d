//! CSI path tracing: path numbers to blocks and back, dumped path arrays, every kind of damage, and
//! all commands on such databases.

use crate::common::*;
use addfg::internals::paths::{BlockKind, End, Function, Numbering, Path as BlockPath};
use addfg::internals::trace::csi::metadata::{Described, parse};
use addfg::internals::trace::formats;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn fixture(name: &str) -> PathBuf {
    repository("tests/formats/csi").join(name)
}

/// The number of a path from its blocks alone, by the edges' weights and the gaps that they leave:
/// a second way, which knows nothing of how the first one finds it. None if the blocks are no path.
fn number_of_blocks(function: &Function, paths: &[u64], path: &BlockPath) -> Option<u64> {
    let edge = |e: usize| function.edges[e];
    let mut number = path.begin.map_or(0, |e| edge(e).weight);
    let mut ends = path.blocks.clone();
    if path.end == End::Exit {
        ends.push(function.blocks.iter().position(|b| b.kind == BlockKind::Exit)?);
    }
    for pair in ends.windows(2) {
        let e = function
            .edges
            .iter()
            .position(|e| !e.restarts && (e.source, e.target) == (pair[0], pair[1]))?;
        number += edge(e).weight;
    }
    if let End::Edge(e) = path.end {
        let source = edge(e).source;
        // The only number of the source that none of its edges covers; the sample files have one
        // such edge a block.
        let covered = |n: u64| {
            function.edges.iter().any(|o| {
                o.source == source
                    && !o.restarts
                    && (o.weight..o.weight + paths[o.target]).contains(&n)
            })
        };
        number += (0..paths[source]).find(|&n| !covered(n))?;
    }
    Some(number)
}

/// Paths from each block, counted by walking.
fn count_paths(function: &Function) -> Vec<u64> {
    fn walk(function: &Function, block: usize, known: &mut Vec<Option<u64>>) -> u64 {
        if let Some(n) = known[block] {
            return n;
        }
        let mut n = u64::from(function.blocks[block].kind == BlockKind::Exit);
        for e in function.edges.iter().filter(|e| e.source == block) {
            n += if e.restarts { 1 } else { walk(function, e.target, known) };
        }
        if function.blocks[block].kind == BlockKind::Entry {
            for e in function.edges.iter().filter(|e| e.restarts) {
                n += walk(function, e.target, known);
            }
        }
        known[block] = Some(n);
        n
    }
    let mut known = vec![None; function.blocks.len()];
    (0..function.blocks.len()).map(|b| walk(function, b, &mut known)).collect()
}

/// Every path up to 10,000: number to blocks to number; gives how many.
fn round_trip(described: &Described) -> u64 {
    let function = &described.function;
    let numbering = Numbering::of(function).unwrap_or_else(|e| panic!("{}: {e}", described.name));
    assert!(numbering.increments, "{}", described.name);
    let paths = count_paths(function);
    let entry = function.blocks.iter().position(|b| b.kind == BlockKind::Entry).unwrap();
    assert_eq!(numbering.paths(), paths[entry], "{}", described.name);
    let mut seen = BTreeSet::new();
    for number in 0..numbering.paths().min(10_000) {
        let path = numbering.path(function, number).unwrap();
        assert_eq!(numbering.number_of(function, &path), Some(number));
        // What the program would have counted on the way.
        assert_eq!(numbering.counted(function, &path), Some(number));
        assert_eq!(
            number_of_blocks(function, &paths, &path),
            Some(number),
            "{} {path:?}",
            described.name
        );
        assert!(
            seen.insert((path.begin, path.blocks)),
            "{} has path {number} twice",
            described.name
        );
    }
    assert_eq!(numbering.path(function, numbering.paths()), None);
    numbering.paths().min(10_000)
}

#[test]
fn every_sample_goes_from_numbers_to_blocks_and_back() {
    let (good, damage) = parse(&std::fs::read(fixture("good.debug_PT")).unwrap());
    assert!(damage.is_empty());
    assert_eq!(good.iter().map(round_trip).collect::<Vec<_>>(), [2, 8]);
    let (documented, damage) = parse(LOOP.replace(' ', "\n").as_bytes());
    assert!(damage.is_empty());
    assert_eq!(documented.iter().map(round_trip).collect::<Vec<_>>(), [1, 6]);
    let Some(folder) = elsewhere("csi") else { return };
    let samples = std::fs::read_dir(folder).unwrap();
    let (mut files, mut functions, mut paths) = (0, 0, 0);
    for sample in samples {
        let sample = sample.unwrap().path();
        if sample.extension().is_some_and(|e| e == "expected") {
            let bytes = std::fs::read(&sample).unwrap();
            let found: Vec<_> = formats().filter(|f| f.sniff(&bytes)).map(|f| f.name()).collect();
            assert_eq!(found, ["csi"], "{}", sample.display());
            let (described, damage) = parse(&bytes);
            assert!(damage.is_empty(), "{}: {damage:?}", sample.display());
            assert!(described.len() > 1);
            files += 1;
            functions += described.len();
            paths += described.iter().map(round_trip).sum::<u64>();
        }
    }
    assert!(files >= 12);
    println!("{files} files, {functions} functions, {paths} paths");
}

/// The description of the format's documentation, and the arrays that are known for it.
const LOOP: &str = "# rand 1|EXIT 0|ENTRY|5|5|5|5|5|5|5|5|-1|5 $ 0->1|0$0 # main 3|EXIT 2|ENTRY|9|9|9|9|9|9|9 4|10|10|10 \
    5|11|11|12|12|12|12|13|13|13 6|-1|20|20|21|21 7|14 8|17 9|18|18|18|-1 $ 2->4|0$0 4->5|0$0 4->6|2$2 5->7|0$0 5->8|1$1 6->3|0$0 \
    7->9|0$0 8->9|0$0 9~>4|3$3\n";
const FRAMES: [&str; 2] = [
    "~~main:20:/src/loop.c:2:{4, 5, 4, 4, 4, 4, 3, 4, 4, 4}:0:{1, 1, 0, 1, 1, 1, 0}:{1, 1, 1, 1, 1, 1}\n",
    "~~main:18:/src/loop.c:2:{1, 3, 6, 3, 2, 4, 8, 9, 2, -1}:4:?:?\n",
];

const PATHS: &str = "SELECT p.ordinal, p.state, p.alternatives, p.number, string_agg(b.number, ' ' ORDER BY x.position) AS blocks
    FROM executed_path p LEFT JOIN executed_path_block x USING (executed_path_id) LEFT JOIN path_block b USING (path_block_id)
    GROUP BY p.executed_path_id, p.ordinal, p.state, p.alternatives, p.number ORDER BY ALL";

fn lines(db: &Path) -> String {
    let sql = "SELECT line FROM (SELECT line, executed_path_id, position, line_position,
                      lag(line) OVER (ORDER BY executed_path_id, position, line_position) AS before FROM executed_path_line)
               WHERE line IS DISTINCT FROM before ORDER BY executed_path_id, position, line_position";
    rows(db, sql).join(" ")
}

#[test]
fn dumped_arrays_decode_to_the_documented_lines() {
    let scratch = Scratch::new("csi-arrays");
    let description = scratch.write("loop.debug_PT", LOOP);
    let mut cases: Vec<(PathBuf, [PathBuf; 2])> =
        vec![(description, [0, 1].map(|i| scratch.write(&format!("frame{i}"), FRAMES[i])))];
    if let Some(shared) = elsewhere("csi") {
        let sample = std::fs::read_to_string(shared.join("gdb-frames.sample.txt")).unwrap();
        let of = |i: usize| scratch.write(&format!("sample{i}"), sample.lines().nth(i).unwrap());
        cases.push((shared.join("loop-O0.csi-static-PT.expected"), [of(0), of(1)]));
    }
    for (description, [wrapped, open]) in cases {
        // Not full: two paths and one under way, blocks 2,4,5,8,9, 4,5,7,9, 4,5,8,9.
        let (code, error, db) = build_in(&scratch, &[&description, &open], &[]);
        assert_eq!((code, error.contains("warning")), (0, false), "{error}");
        assert_eq!(
            rows(&db, PATHS),
            ["1,finished,1,1,2 4 5 8 9", "2,finished,1,3,4 5 7 9", "3,open,1,4,4 5 8 9"]
        );
        assert_eq!(lines(&db), "9 10 11 12 13 17 18 10 11 12 13 14 18 10 11 12 13 17 18");
        assert_eq!(rows(&db, "SELECT wrapped, current_path, line FROM path_frame"), ["false,4,18"]);
        let run = "SELECT b.number, b.executions FROM path_block b JOIN function_symbol s USING (function_id) WHERE s.name = 'main' ORDER BY 1";
        assert_eq!(rows(&db, run), ["2,1", "3,0", "4,3", "5,3", "6,0", "7,1", "8,2", "9,3"]);
        let edges =
            "SELECT a.number, b.number, e.executions FROM path_edge e JOIN path_block a ON a.path_block_id = source_block_id
                     JOIN path_block b ON b.path_block_id = target_block_id WHERE e.executions > 0 ORDER BY ALL";
        assert_eq!(
            rows(&db, edges),
            ["2,4,1", "4,5,3", "5,7,1", "5,8,2", "7,9,1", "8,9,2", "9,4,2"]
        );
        // Full: ten paths, the oldest behind the newest; the frame stands behind the end of the
        // last one.
        let (code, error, db) = build_in(&scratch, &[&description, &wrapped], &[]);
        assert_eq!((code, error.contains("warning")), (0, false), "{error}");
        let number = "SELECT string_agg(number, ' ' ORDER BY ordinal) FROM executed_path WHERE state = 'finished'";
        assert_eq!(rows(&db, number), ["4 4 4 4 3 4 4 4 4 5"]);
        assert_eq!(rows(&db, PATHS)[9..], ["10,finished,1,5,4 6", "11,behind,1,0,6"]);
        assert!(lines(&db).starts_with("10 11 12 13 17 18 10 11 12 13 17 18 "), "{}", lines(&db));
        assert!(
            lines(&db).ends_with(" 14 18 10 11 12 13 17 18 10 11 12 13 17 18 10 11 12 13 17 18 10 11 12 13 17 18 10 20 21 20 21")
        );
        let recorded = rows(&db, "SELECT calls_covered, blocks_covered FROM path_frame");
        assert_eq!(recorded, ["\"1, 1, 0, 1, 1, 1, 0\",\"1, 1, 1, 1, 1, 1\""]);
    }
}

#[test]
fn a_stack_of_frames_is_a_chain_of_calls() {
    let scratch = Scratch::new("csi-stack");
    let (code, error, db) =
        build_in(&scratch, &[&fixture("good.frames"), &fixture("good.debug_PT")], &[]);
    assert_eq!((code, error.contains("warning")), (0, false), "{error}");
    let calls = "SELECT c.call_id, s.name, c.instance, c.parent_call_id, c.thread_id, c.depth, c.kind, c.ending, c.call_seq
                 FROM function_call c JOIN function_symbol s USING (function_id) ORDER BY 1";
    assert_eq!(
        rows(&db, calls),
        ["1,main,1,,1,0,root,open,", "2,clamp,1,1,1,1,call,open,", "3,main,2,,2,0,root,open,"]
    );
    assert_eq!(
        rows(&db, "SELECT caller, callee, kind, calls FROM call_graph ORDER BY ALL"),
        ["main,clamp,call,1", ",main,root,2"]
    );
    let blocks = "SELECT s.name, count(*), sum(b.executions), min(line) FROM basic_block b JOIN function_symbol s USING (function_id) GROUP BY ALL ORDER BY 1";
    assert_eq!(rows(&db, blocks), ["clamp,4,2,4", "main,7,21,12"]);
    assert_eq!(
        rows(&db, "SELECT type, count(*), sum(count) FROM cfg_edge GROUP BY ALL ORDER BY 1"),
        ["->,11,16", "~>,1,5"]
    );
    let wanted = [
        "1,finished,1,0,4 5 6 7 8",
        "1,finished,1,6,5 7 8",
        "1,open,1,1,0 2",
        "2,finished,1,4,5 6 7 8",
        "2,finished,1,4,5 6 7 8",
        "3,finished,1,7,5 7 10",
        "3,open,1,4,5",
        "4,behind,1,0,10",
    ];
    assert_eq!(rows(&db, PATHS), wanted);
}

#[test]
fn one_text_from_an_object_a_program_and_a_file() {
    let scratch = Scratch::new("csi-elf");
    let path = |name: &str| scratch.path(name).to_str().unwrap().to_owned();
    let tables = |db: &Path| {
        let sql = "SELECT s.name, f.paths, (SELECT string_agg(number, ' ' ORDER BY path_block_id) FROM path_block b WHERE b.function_id = f.function_id)
                   FROM path_function f JOIN function_symbol s USING (function_id) ORDER BY ALL";
        rows(db, sql)
    };
    let (_, _, db) = build_in(&scratch, &[&fixture("good.debug_PT")], &[]);
    let wanted = tables(&db);
    assert_eq!(wanted, ["clamp,2,3 0 1 2", "main,8,9 4 5 6 7 8 10"]);
    if !have("gcc") || !have("objcopy") {
        return;
    }
    std::fs::write(
        scratch.path("p.c"),
        "static int clamp(int x)\n{\n return x < 0\n ? 0 : x; }\nint main(int n, char **v) { return clamp(n); }\n",
    )
    .unwrap();
    let run = |program: &str, arguments: &[&str]| {
        assert!(
            Command::new(program).args(arguments).status().unwrap().success(),
            "{program} {arguments:?}"
        );
    };
    run("gcc", &["-g", "-c", "-o", &path("p.o"), &path("p.c")]);
    let section = format!(".debug_PT={}", fixture("good.debug_PT").display());
    run("objcopy", &["--add-section", &section, &path("p.o"), &path("q.o")]);
    run("gcc", &["-o", &path("q"), &path("q.o")]);
    run("objcopy", &["--compress-debug-sections=zlib", &path("q.o"), &path("z.o")]);
    for trace in ["q.o", "q", "z.o"] {
        let (code, error, db) = build_in(&scratch, &[&scratch.path(trace)], &[]);
        assert_eq!((code, tables(&db)), (0, wanted.clone()), "{trace}: {error}");
    }
    // The program beside a dump: its functions have addresses then.
    let (code, error, db) = build_in(&scratch, &[&fixture("good.frames")], &["--elf", &path("q")]);
    assert_eq!((code, tables(&db)), (0, wanted.clone()), "{error}");
    assert_eq!(
        rows(
            &db,
            "SELECT count(*) FROM path_function JOIN function_symbol USING (function_id) WHERE address > 0"
        ),
        ["2"]
    );
    let (code, error, db) =
        build_in(&scratch, &[&scratch.path("q"), &fixture("good.frames")], &["--elf", &path("q")]);
    assert_eq!((code, tables(&db)), (0, wanted), "{error}");
    // An ELF file without the section is no trace.
    let (code, error, _) = build_in(&scratch, &[&scratch.path("p.o")], &[]);
    assert!(code == 2 && error.contains("without a section .debug_PT"), "{error}");
    let (code, error, _) = build_in(&scratch, &[&fixture("good.frames")], &[]);
    assert!(code == 1 && error.contains("give the program with --elf"), "{error}");
}

#[test]
fn every_fixture_and_what_it_gave() {
    let scratch = Scratch::new("csi-fixtures");
    let settings = beside_formats();
    for kind in ["good", "truncated", "damaged"] {
        for ending in ["debug_PT", "frames"] {
            let path = fixture(&format!("{kind}.{ending}"));
            let head = std::fs::read(&path).unwrap();
            for head in
                [head.clone(), String::from_utf8(head).unwrap().replace('\n', "\r\n").into_bytes()]
            {
                let found: Vec<_> =
                    formats().filter(|f| f.sniff(&head)).map(|f| f.name()).collect();
                assert_eq!(found, ["csi"], "{kind}.{ending}");
            }
            let description = fixture("good.debug_PT");
            let traces = if ending == "frames" {
                vec![path.as_path(), &description]
            } else {
                vec![path.as_path()]
            };
            let (code, error, db) = build_in(&scratch, &traces, &[]);
            assert_eq!(code, i32::from(kind != "good"), "{kind}.{ending}: {error}");
            let mut out = String::new();
            for (name, sql) in [
                (
                    "functions",
                    "SELECT s.name, paths, increments FROM path_function JOIN function_symbol s USING (function_id)",
                ),
                (
                    "blocks",
                    "SELECT path_block_id, number, kind, b.executions, string_agg(CASE WHEN position >= 0 THEN coalesce(line::VARCHAR, 'store') END, ' ' ORDER BY position) AS lines FROM path_block b LEFT JOIN path_block_line USING (path_block_id) GROUP BY ALL ORDER BY 1",
                ),
                (
                    "edges",
                    "SELECT source_block_id AS source, target_block_id AS target, restarts, increment, weight, path_weight, end_weight, end_increment, executions FROM path_edge ORDER BY path_edge_id",
                ),
                (
                    "frames",
                    "SELECT frame_id, s.name, line, slots, next_slot, wrapped, current_path FROM path_frame JOIN function_symbol s USING (function_id) ORDER BY 1",
                ),
                ("paths", PATHS),
                (
                    "problems",
                    "SELECT severity, code, count, regexp_replace(first_position, '.*/', '') AS place, message FROM diagnostic ORDER BY code",
                ),
            ] {
                out += &format!("{name}\n{}\n", csv(&db, sql));
            }
            settings.bind(|| insta::assert_snapshot!(format!("csi-{kind}-{ending}"), out));
            let (code, error, _) = build_in(&scratch, &traces, &["--strict"]);
            assert_eq!(code, if kind == "good" { 0 } else { 2 }, "{kind}.{ending}: {error}");
        }
    }
}

#[test]
fn each_kind_of_damage_is_named_with_its_place() {
    let scratch = Scratch::new("csi-damage");
    let description = std::fs::read_to_string(fixture("good.debug_PT")).unwrap();
    let frames = std::fs::read_to_string(fixture("good.frames")).unwrap();
    // (in the frames, from, to, code, line, exit code)
    for (dump, from, to, code, line, exit) in [
        (false, "1|5|-1", "1|5|-1|y", "malformed-line", 5, 1),
        (false, "0->2|1$1", "0->2|1", "malformed-line", 9, 1),
        (false, "2|7|-1", "1|7|-1", "double-block", 6, 1),
        (false, "0->2|1$1", "0->6|1$1", "unknown-block", 9, 1),
        (false, "0->2|1$1", "0->2|1$3", "path-numbering", 1, 1),
        (false, "0->2|1$1", "0->2|1$0", "path-numbering", 1, 1),
        (false, "0->2|1$1", "0->2|2$1", "path-increments", 1, 1),
        (false, "2->3|0$0\n", "", "path-numbering", 1, 1),
        (false, "3|EXIT", "3|NULL", "path-numbering", 1, 1),
        (false, "0|ENTRY", "0", "path-numbering", 1, 1),
        (false, "1->3|0$0", "1->2|0$0\n2->1|0$0", "path-numbering", 1, 1),
        (false, "8~>5|4$4", "8->5|4$4", "path-numbering", 12, 1),
        (false, "8~>5|4$4", "8~>4|4$4", "path-numbering", 12, 1),
        (false, "$\n4->5", "#\nmain\n$\n4->5", "short-function", 21, 1),
        (true, "{77, 78, -1}", "{77, 78}", "path-number", 2, 1),
        (true, "{77, 78, -1}:1:?:?", "{77, 78, -1}:1:?", "malformed-line", 2, 1),
        (true, "{0, 4, -1}", "{0, 8, -1}", "path-number", 3, 1),
        (true, "{0, 4, -1}", "{0, -4, -1}", "path-number", 3, 1),
        (true, ":2:{0, 4", ":3:{0, 4", "path-slot", 3, 1),
        (true, ":2:{0, 4", ":-1:{0, 4", "path-slot", 3, 1),
        (true, "{0, 4, -1}", "{4, 0, -1}", "path-order", 3, 0),
        (true, "{0, 4, -1}", "{0, 5, -1}", "path-order", 3, 0),
        (true, "~~main:15", "~~main:99", "path-position", 3, 0),
        (true, "~~main:20", "~~other:20", "", 0, 0),
    ] {
        let (mut d, mut f) = (description.clone(), frames.clone());
        let changed = if dump { &mut f } else { &mut d };
        assert!(changed.contains(from), "{from:?}");
        *changed = changed.replacen(from, to, 1);
        let (d, f) = (scratch.write("d.debug_PT", &d), scratch.write("f.frames", &f));
        let (found, error, db) = build_in(&scratch, &[&d, &f], &[]);
        assert_eq!(found, exit, "{from:?} to {to:?}: {error}");
        let problems = rows(&db, "SELECT code, first_position FROM diagnostic");
        if code.is_empty() {
            assert!(problems.is_empty(), "{from:?} to {to:?}: {problems:?}");
            continue;
        }
        let place = format!("{code},{}:{line}", if dump { &f } else { &d }.display());
        assert!(problems.contains(&place), "{from:?} to {to:?}: {problems:?}, not {place}");
        // What is not damaged is there.
        assert_eq!(
            rows(&db, "SELECT count(*) FROM path_frame")[0],
            if to.ends_with(":1:?") { "2" } else { "3" },
            "{from:?}"
        );
    }
    let path = scratch.write("nothing", "Dear reader,\n");
    let (exit, error, _) = build_in(&scratch, &[&path], &["--format", "csi"]);
    assert!(exit == 2 && error.contains("addfg formats csi"), "{error}");
}

#[test]
fn functions_of_one_name_are_told_apart_by_their_lines() {
    let scratch = Scratch::new("csi-names");
    let both = "#\nf\n1|EXIT\n0|ENTRY|3|-1\n$\n0->1|0$0\n#\nf\n1|EXIT\n0|ENTRY|30|-1\n$\n0->1|0$0\n#\n_Z1gi\n1|EXIT\n0|ENTRY|9|-1\n$\n0->1|0$0\n";
    let d = scratch.write("d.debug_PT", both);
    let f = scratch.write(
        "f.frames",
        "~~f:30:b.c:1:{0, -1}:0:?:?\n~~g(int):9:c.cc:0:{5, -1}:0:?:?\n~~f:77:b.c:0:{0, -1}:0:?:?\n",
    );
    let (code, error, db) = build_in(&scratch, &[&d, &f], &[]);
    assert!(code == 0 && error.contains("2 functions are named f"), "{error}");
    let sql = "SELECT s.name, l.line FROM path_frame f JOIN function_symbol s USING (function_id)
               LEFT JOIN path_block b ON b.function_id = f.function_id AND b.kind = 'entry'
               LEFT JOIN path_block_line l ON l.path_block_id = b.path_block_id AND l.position = 0 ORDER BY frame_id";
    assert_eq!(rows(&db, sql), ["f,3", "_Z1gi,9", "f #2,30"]);
}

#[test]
fn every_command_says_what_it_can() {
    let scratch = Scratch::new("csi-commands");
    let (_, _, db) = build_in(&scratch, &[&fixture("good.frames"), &fixture("good.debug_PT")], &[]);
    let db = utf8(&db);
    for (arguments, words) in [
        (&["info"][..], &["paths (addfg paths)", "no dataflow"][..]),
        (&["paths"], &["main", "clamp", "good.debug_PT:12"]),
        (&["paths", "main"], &["5 6 7 8", "12 13 14 15 16", "restart", "exit", "behind"]),
        (&["paths", "main", "--all"], &["4 5 6 7 10", "8~>5"]),
        (&["paths", "main", "--number", "7"], &["5 7 10", "14 15 19 20"]),
        (
            &["paths", "main", "--picture", "dot"],
            &["digraph", "4 of them run", "frame 1 stands here", "10"],
        ),
        (&["paths", "main", "--picture", "json"], &["\"jump\""]),
        (&["graph"], &["main", "clamp", "no accesses"]),
        (&["graph", "--level", "instance"], &["main#1", "clamp#1"]),
        (&["graph", "--level", "context"], &["clamp"]),
        (&["calls"], &["main", "clamp"]),
        (&["calls", "--tree"], &["clamp"]),
        (&["instances", "main"], &["2"]),
        (&["verify"], &["not applicable", "no steps"]),
        (&["diff", db], &[""]),
        (&["sql", "FROM executed_path_line"], &["14"]),
    ] {
        let mut all = vec![arguments[0], db];
        all.extend(&arguments[1..]);
        let text = ok(&all);
        for word in words {
            assert!(text.contains(word), "{arguments:?}: {word:?} is not in {text}");
        }
    }
    for arguments in [
        &["graph", "--level", "block"][..],
        &["flows", "main", "clamp", "--sum"],
        &["flows", "main,clamp", "clamp"],
        &["slice", "--at", "1"],
        &["loops"],
        &["matrix"],
        &["memory"],
        &["memory", "--show", "functions"],
        &["critical"],
    ] {
        let mut all = vec![arguments[0], db];
        all.extend(&arguments[1..]);
        refused(&all, &["addfg record -- ./app"]);
    }
    refused(&["paths", db, "main", "--number", "8"], &["its paths are 0 to 7"]);
    // Without frames there is what could run.
    let (_, _, alone) = build_in(&scratch, &[&fixture("good.debug_PT")], &[]);
    let alone = alone.to_str().unwrap();
    assert!(ok(&["paths", alone, "main", "--all"]).contains("4 5 6 7 10"));
    assert!(ok(&["paths", alone, "main", "--picture", "dot"]).contains("8 paths"));
    assert!(ok(&["graph", alone]).contains("addfg paths"));
    // A trace of steps has no paths.
    refused(&["paths", utf8(&example("fir", "pairs"))], &["csi-cc --trace=pt"]);
}

/// A random function: blocks in a row, edges forward and back, numbered as the tool does: the paths
/// of each block in the order of its edges, an edge that goes back in its place among them;
/// increments moved along by random amounts, as the tool does to save some.
fn random_function(
    blocks: usize,
    forward: &[(usize, usize)],
    back: &[(usize, usize)],
    moved: &[u64],
) -> (Function, Vec<u64>) {
    use addfg::internals::paths::{Block, Edge};
    let last = blocks - 1;
    let kind = |b: usize| {
        if b == 0 {
            BlockKind::Entry
        } else if b == last {
            BlockKind::Exit
        } else {
            BlockKind::Plain
        }
    };
    let block = |b: usize| Block {
        number: b as u64,
        kind: kind(b),
        lines: if b == last { vec![] } else { vec![Some(b as u32)] },
    };
    let mut edges: Vec<(usize, usize, bool)> = (0..last).map(|b| (b, b + 1, false)).collect();
    edges.extend(
        forward.iter().map(|&(a, b)| (a % last, a % last + 1 + b % (last - a % last), false)),
    );
    // One at most from each block: two would end the same blocks.
    for &(a, b) in back {
        let source = 1 + a % last.saturating_sub(1).max(1);
        if source < last && !edges.iter().any(|e| e.0 == source && e.2) {
            edges.push((source, 1 + b % source, true));
        }
    }
    edges.sort_by_key(|e| (e.0, e.1.wrapping_mul(7919) % 31));
    let mut paths = vec![0u64; blocks];
    let mut weights = vec![0u64; edges.len()];
    let mut ends = vec![0u64; edges.len()];
    paths[last] = 1;
    for b in (0..last).rev() {
        let mut sum = 0;
        for (i, e) in edges.iter().enumerate().filter(|(_, e)| e.0 == b) {
            if e.2 {
                ends[i] = sum;
            } else {
                weights[i] = sum;
            }
            sum += if e.2 { 1 } else { paths[e.1] };
        }
        if b == 0 {
            for (i, e) in edges.iter().enumerate().filter(|(_, e)| e.2) {
                weights[i] = sum;
                sum += paths[e.1];
            }
        }
        paths[b] = sum;
    }
    // Moving: an offset at a block is taken from what comes in and added to what goes out, or the
    // other way.
    let mut offset = vec![0u64; blocks];
    for b in 1..last {
        let room = edges
            .iter()
            .zip(&weights)
            .filter(|(e, _)| e.1 == b)
            .map(|(_, &w)| w)
            .min()
            .unwrap_or(0);
        offset[b] = moved[b % moved.len()] % (room + 1);
    }
    let list = edges.iter().zip(&weights).map(|(&(source, target, restarts), &weight)| {
        let from = if restarts { 0 } else { offset[source] };
        Edge {
            source,
            target,
            restarts,
            increment: weight + from - offset[target].min(weight + from),
            weight,
        }
    });
    let function = Function { blocks: (0..blocks).map(block).collect(), edges: list.collect() };
    (function, ends)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_functions_go_from_numbers_to_blocks_and_back(
        blocks in 3usize..12,
        forward in prop::collection::vec(any::<(usize, usize)>(), 0..10),
        back in prop::collection::vec(any::<(usize, usize)>(), 0..5),
        moved in prop::collection::vec(0u64..3, 4),
    ) {
        let (function, ends) = random_function(blocks, &forward, &back, &moved);
        let numbering = Numbering::of(&function).unwrap();
        prop_assert!(numbering.increments);
        for (e, edge) in function.edges.iter().enumerate().filter(|(_, e)| e.restarts) {
            prop_assert_eq!(numbering.end(&function, e).unwrap().0, ends[e], "{:?}", edge);
        }
        for number in 0..numbering.paths().min(2000) {
            let path = numbering.path(&function, number).unwrap();
            prop_assert_eq!(numbering.number_of(&function, &path), Some(number));
            prop_assert_eq!(numbering.counted(&function, &path), Some(number));
            // Wherever the program stops on the way, the way is found again from what it has
            // counted.
            for stop in 0..path.blocks.len() {
                let way = BlockPath {
                    begin: path.begin, blocks: path.blocks[..=stop].to_vec(), edges: path.edges[..stop].to_vec(), end: End::Open
                };
                let counted = numbering.counted(&function, &way).unwrap();
                let line = function.blocks[path.blocks[stop]].lines[0].unwrap();
                let found = numbering.positions(&function, line, counted, None);
                prop_assert_eq!(found, vec![addfg::internals::paths::Position::Open(way)]);
            }
        }
    }

    #[test]
    fn damaged_texts_never_panic(changes in prop::collection::vec(any::<(u16, u8)>(), 1..12)) {
        let mut bytes = std::fs::read(fixture("good.debug_PT")).unwrap();
        for (place, byte) in changes {
            let at = place as usize % bytes.len();
            bytes[at] = b"0123456789|->~$#\n E\0"[byte as usize % 20];
        }
        what_is_taken_is_a_numbering(&bytes);
    }
}

fn what_is_taken_is_a_numbering(text: &[u8]) {
    for described in parse(text).0 {
        if let Ok(numbering) = Numbering::of(&described.function) {
            for number in 0..numbering.paths().min(50) {
                let path = numbering.path(&described.function, number).unwrap();
                assert_eq!(numbering.number_of(&described.function, &path), Some(number));
            }
        }
    }
}

#[test]
fn a_path_may_begin_at_the_exit() {
    let text = String::from_utf8(std::fs::read(fixture("good.debug_PT")).unwrap()).unwrap();
    assert!(text.contains("1->3|0$0"));
    what_is_taken_is_a_numbering(text.replacen("1->3|0$0", "1~>3|0$0", 1).as_bytes());
}

/// Lines as good.debug_PT has them, local variables as csi-cc makes them.
const STOPS: &str = "#include <stdlib.h>
static int clamp(int x)
{ volatile long __PT_counter_arr[3] = {77, 78, -1}, __PT_counter_idx = 0, __PT_current_path = 1;
  if (x < 3)
    x = 3;
  else
    abort();
  return x; }


int main(int argc, char **argv)
{ volatile long __PT_counter_arr[3] = {0, 4, -1}, __PT_counter_idx = 2, __PT_current_path = 4;
  int sum = argc;
  sum += 5;
  return clamp(sum); }
";

/// The core file of `p.c` as `q`, with tables of paths, where it stops; None if gdb writes none.
fn core_file(scratch: &Scratch, compiler: &str, flags: &[&str]) -> Option<PathBuf> {
    let path = |name: &str| scratch.path(name).to_str().unwrap().to_owned();
    let section = format!(".debug_PT={}", fixture("good.debug_PT").display());
    let made = Command::new(compiler)
        .args(["-g", "-w", "-o", &path("p"), &path("p.c")])
        .args(flags)
        .status()
        .unwrap();
    assert!(made.success(), "{compiler} {flags:?}");
    let with_tables = ["--add-section", &section, &path("p"), &path("q")];
    assert!(Command::new("objcopy").args(with_tables).status().unwrap().success());
    let core = scratch.path("core");
    let _ = std::fs::remove_file(&core);
    let save = format!("generate-core-file {}", core.display());
    let gdb = ["-nx", "-batch", "-ex", "set confirm off", "-ex", "run", "-ex", &save, &path("q")];
    let _ = Command::new("timeout").arg("60").arg("gdb").args(gdb).output().unwrap();
    core.exists().then_some(core)
}

#[test]
fn a_core_file_gives_the_frames_of_its_stacks() {
    if !have("gdb") || !have("objcopy") || !have("gcc") {
        return;
    }
    let scratch = Scratch::new("csi-core");
    std::fs::write(scratch.path("p.c"), STOPS).unwrap();
    for (compiler, flags) in [
        ("gcc", &["-O0", "-static"][..]),
        ("gcc", &["-O0", "-pie", "-fPIE"]),
        ("gcc", &["-O1", "-fno-inline", "-fno-asynchronous-unwind-tables", "-gdwarf-4"]),
        ("clang-19", &["-O0"]),
    ] {
        if !have(compiler) {
            continue;
        }
        let Some(core) = core_file(&scratch, compiler, flags) else {
            skipped("core files of CSI programs: gdb writes none here");
            return;
        };
        // Without unwinding tables for it, libc ends the stack of a program that is linked with it.
        let libc = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"]
            .into_iter()
            .find(|l| Path::new(l).exists());
        let program = scratch.path("q");
        let mut more = vec!["--elf", program.to_str().unwrap()];
        if !flags.contains(&"-static") {
            let (code, error, _) = build_in(&scratch, &[&core], &more);
            assert!(
                code == 0 && error.contains("cannot be followed beyond libc.so.6"),
                "{compiler} {flags:?}: {code} {error}"
            );
            let Some(libc) = libc else {
                skipped("core files of CSI programs: no libc.so.6 where it usually is");
                continue;
            };
            more.extend(["--elf", libc]);
        }
        let (code, error, db) = build_in(&scratch, &[&core], &more);
        assert!(code == 0, "{compiler} {flags:?}: {code} {error}");
        let frames = "SELECT s.name, f.line, f.slots, f.next_slot, f.wrapped, f.current_path FROM path_frame f
                      JOIN function_symbol s USING (function_id) WHERE f.slots IS NOT NULL ORDER BY frame_id";
        assert_eq!(
            rows(&db, frames),
            ["main,15,3,2,false,4", "clamp,7,3,0,false,1"],
            "{compiler} {flags:?}: {error}"
        );
        let wanted = [
            "1,finished,1,0,4 5 6 7 8",
            "1,open,1,1,0 2",
            "2,finished,1,4,5 6 7 8",
            "3,open,1,4,5",
        ];
        assert_eq!(rows(&db, PATHS), wanted, "{compiler} {flags:?}");
        let callers = rows(
            &db,
            "SELECT caller, callee FROM call_graph WHERE callee IN ('clamp', 'main') OR caller = 'clamp' ORDER BY ALL",
        );
        assert!(callers.contains(&"main,clamp".to_owned()) && callers.len() == 3, "{callers:?}");
        assert!(
            callers.iter().any(|c| c.starts_with("clamp,") && c.contains("abort")),
            "{callers:?}"
        );
        println!(
            "{compiler} {flags:?}: {} frames",
            rows(&db, "SELECT count(*) FROM path_frame")[0]
        );
        // Any part of it is loaded or refused: of a program alone and of one with libraries.
        let bytes = std::fs::read(&core).unwrap();
        let cuts = [64, 200, 2000, bytes.len() / 2, bytes.len() - 100];
        let first_of_its_kind = flags.contains(&"-static") || flags.contains(&"-pie");
        for cut in cuts.into_iter().filter(|_| first_of_its_kind) {
            let part = scratch.path("part");
            std::fs::write(&part, &bytes[..cut]).unwrap();
            let (code, error, _) = build_in(&scratch, &[&part], &more);
            assert!(
                (0..=2).contains(&code) && !error.contains("panicked"),
                "{cut}: {code} {error}"
            );
        }
        let (code, error, _) = build_in(&scratch, &[&core], &[]);
        assert!(code == 2 && error.contains("--elf"), "{code} {error}");
    }
}
