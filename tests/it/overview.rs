//! The overview: exact steps, the same picture every time, and what it is drawn for.

use crate::common::*;
use crate::record::record;
use addfg::internals::graph::{BoxRole, Facts, Folding, OverviewBox, OverviewLine};
use addfg::internals::render::overview::dot;
use std::collections::{BTreeMap, BTreeSet};

/// Every step is in one box, or said not to be.
#[test]
fn steps_of_boxes_are_all_steps() {
    for (name, detail) in [("fir", "pairs"), ("jpeg", "pairs"), ("jpeg", "summary")] {
        let db = open(&example(name, detail));
        let facts = Facts::find(&db).expect("facts");
        let folding = Folding::read(&db, facts).expect("folding").expect("steps");
        let found = folding.overview();
        let boxes: i64 = found.parts.iter().map(|p| p.steps).sum();
        assert_eq!(boxes + found.start_up, found.steps, "{name} {detail}");
        let all: i64 = db
            .query_row("SELECT CAST(sum(steps_self) AS BIGINT) FROM function_profile", [], |r| {
                r.get(0)
            })
            .expect("steps");
        assert_eq!(found.steps, all, "{name} {detail}");
        assert!(found.parts.len() <= 16 && found.parts.len() > 2);
        assert!(found.parts.iter().filter(|p| p.role == BoxRole::Function).count() <= 10);
        let again = Folding::read(&db, facts).expect("folding").expect("steps").overview();
        assert_eq!(dot(&found, 3, None), dot(&again, 3, None), "the same every time");
        assert_ne!(dot(&found, 3, None), dot(&found, 4, None), "statements are shuffled");
    }
}

/// A picture is the overview; with --all or as text it is the graph.
#[test]
fn pictures_are_overviews_unless_all_is_asked_for() {
    if std::process::Command::new("dot").arg("-V").output().is_err() {
        eprintln!("skipped: Graphviz is not installed");
        return;
    }
    let scratch = Scratch::new("overview");
    let db = example("jpeg", "pairs");
    let draw = |more: &[&str]| {
        let file = scratch.path("picture.svg");
        let mut arguments = vec!["graph", utf8(&db), "-o", utf8(&file)];
        arguments.extend(more);
        ok(&arguments);
        std::fs::read_to_string(&file).expect("picture")
    };
    let (first, second, all) = (draw(&[]), draw(&[]), draw(&["--all"]));
    assert_eq!(first, second);
    assert!(first.contains("the others are counted with their callers"));
    assert!(first.contains("width=\"100%\""));
    assert!(!all.contains("the others are counted with their callers"));
    assert!(ok(&["graph", utf8(&db), "--format", "dot", "--all"]).contains("Solid: calls."));
    // The bytes of an arrow are the same in every format of one command.
    let dot = ok(&["graph", utf8(&db), "--format", "dot"]);
    let json: serde_json::Value =
        serde_json::from_str(&ok(&["graph", utf8(&db), "--format", "json"])).expect("JSON");
    let mut arrows = 0;
    for edge in json["edges"].as_array().expect("edges").iter().filter(|e| e["kind"] == "data") {
        let name = |end: &str| &json["nodes"][edge[end].as_u64().unwrap() as usize]["full_name"];
        let (from, to) = (name("from").as_str().unwrap(), name("to").as_str().unwrap());
        let tip = format!(
            "{from} to {to}: {} bytes, mostly {}; back {} bytes",
            edge["bytes"],
            edge["via"].as_str().unwrap(),
            edge["bytes_back"]
        );
        assert!(dot.contains(&tip), "{tip}");
        let escaped = tip.replace('<', "&lt;").replace('>', "&gt;");
        assert!(first.contains(&escaped) || first.contains(&tip), "{tip}");
        arrows += 1;
    }
    assert!(arrows > 3, "{json}");
}

/// Data between boxes, as it is drawn: functions by their numbers.
fn arrows(path: &std::path::Path) -> (BTreeSet<(String, String)>, BTreeMap<(String, String), f64>) {
    let db = open(path);
    let facts = Facts::find(&db).expect("facts");
    let found = Folding::read(&db, facts).expect("folding").expect("steps").overview();
    assert!(found.parts.iter().all(|part| part.role != BoxRole::Helper), "{:?}", found.parts);
    let named = |part: &OverviewBox| {
        part.function.map_or_else(|| part.full.clone(), |function| function.get().to_string())
    };
    let parts = found.parts.iter();
    let boxes = parts.map(|part| (format!("{:?}", part.role), named(part))).collect();
    let name = |i: usize| named(&found.parts[i]);
    let both = found.lines.iter().flat_map(|line| {
        let (from, to) = (name(line.from), name(line.to));
        [((from.clone(), to.clone()), line.there), ((to, from), line.back)]
    });
    (boxes, both.filter(|(_, bytes)| *bytes > 0.0).collect())
}

/// Data between boxes, where a call is in that of its nearest caller that has one.
fn data_by_nearest(
    path: &std::path::Path,
    boxes: &BTreeSet<(String, String)>,
) -> BTreeMap<(String, String), f64> {
    let mut of: Vec<String> = vec![String::new()];
    let calls =
        "SELECT coalesce(parent_call_id, 0), function_id FROM function_call ORDER BY call_id";
    for row in rows(path, calls) {
        let (parent, name) = row.split_once(',').expect("two columns");
        let own = boxes.contains(&("Function".to_owned(), name.to_owned()));
        let above = || of[parent.parse::<usize>().expect("a call")].clone();
        of.push(if own { name.to_owned() } else { above() });
    }
    let mut found: BTreeMap<(String, String), f64> = BTreeMap::new();
    let data = "SELECT writer_call_id, reader_call_id, sum(unique_bytes)::BIGINT FROM dataflow
                WHERE writer_call_id IS NOT NULL GROUP BY ALL";
    for row in rows(path, data) {
        let [writer, reader, bytes] =
            [0, 1, 2].map(|i| row.split(',').nth(i).expect("a column").parse::<usize>().unwrap());
        *found.entry((of[writer].clone(), of[reader].clone())).or_default() += bytes as f64;
    }
    found
}

/// Boxes, inputs, outputs and arrows are the same at every detail, whoever calls `memcpy`, and the arrows
/// between functions are what single calls say.
#[test]
fn boxes_are_the_same_at_every_detail() {
    let same = |name: &str, summary: &std::path::Path, pairs: &std::path::Path| {
        let (found, expected) = (arrows(summary), arrows(pairs));
        assert_eq!(found, expected, "{name}");
        let counted = data_by_nearest(pairs, &found.0);
        let function = |name: &String| found.0.contains(&("Function".to_owned(), name.clone()));
        let between = found.1.iter().filter(|((from, to), _)| function(from) && function(to));
        for (ends, bytes) in between {
            assert_eq!(counted.get(ends), Some(bytes), "{name}: {ends:?}");
        }
        found
    };
    for name in ["fir", "jpeg"] {
        let pairs = example(name, "pairs");
        for detail in ["summary", "instance"] {
            let (boxes, arrows) = same(name, &example(name, detail), &pairs);
            assert!(boxes.len() > 2 && arrows.len() > 2, "{name}: {boxes:?}");
        }
    }
    if !["valgrind", "gcc", "g++", "pkg-config"].iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("boxes");
    for (source, compiler) in [
        ("structs.c", "gcc"),
        ("strings.c", "gcc"),
        ("evaluator.c", "gcc"),
        ("containers.cc", "g++"),
    ] {
        let program = scratch.path(&format!("{source}.elf"));
        make(compiler, &repository(&format!("tests/programs/{source}")), &["-O1", "-g"], &program);
        let file = |end: &str| scratch.path(&format!("{source}.{end}"));
        let (stream, pairs, summary) = (file("stream"), file("pairs"), file("summary"));
        let options = ["-q", "--detail", "pairs", "-o", utf8(&pairs), "--keep", utf8(&stream)];
        let output = record(&options, &[utf8(&program)]);
        assert!(pairs.exists(), "{}", said(&output));
        ok(&["build", "-q", "--detail", "summary", "-o", utf8(&summary), utf8(&stream)]);
        let (boxes, _) = same(source, &summary, &pairs);
        // `strings.c` has no function but `main`, and the C library's have few steps.
        let least = if source == "strings.c" { 2 } else { 3 };
        assert!(boxes.len() >= least, "{source}: {boxes:?}");
    }
}

/// A call that has no box counts with the nearest caller that has one, also where functions call one
/// another in turn: counted here from the calls by themselves.
#[test]
fn recursion_counts_with_the_nearest_box() {
    if !["valgrind", "gcc", "pkg-config"].iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("turns");
    let program = scratch.path("evaluator");
    make("gcc", &repository("tests/programs/evaluator.c"), &["-O1", "-g"], &program);
    let mut drawn = Vec::new();
    for detail in ["summary", "pairs"] {
        let path = scratch.path(&format!("{detail}.duckdb"));
        let output = record(&["-q", "--detail", detail, "-o", utf8(&path)], &[utf8(&program)]);
        assert!(path.exists(), "{}", said(&output));
        let db = open(&path);
        let facts = Facts::find(&db).expect("facts");
        let found = Folding::read(&db, facts).expect("folding").expect("steps").overview();
        let boxes = found.parts.iter().filter(|part| part.role == BoxRole::Function);
        let boxes: BTreeMap<String, i64> =
            boxes.map(|part| (part.full.clone(), part.steps)).collect();
        assert!(boxes.contains_key("evaluate") && !boxes.contains_key("apply"), "{boxes:?}");
        if detail == "pairs" {
            assert_eq!(boxes, steps_by_nearest(&path, &boxes));
        }
        drawn.push(boxes);
    }
    assert_eq!(drawn[0], drawn[1]);
}

/// Steps of each box, where a call is in that of its nearest caller that has one.
fn steps_by_nearest(
    path: &std::path::Path,
    boxes: &BTreeMap<String, i64>,
) -> BTreeMap<String, i64> {
    let mut counted: BTreeMap<String, i64> = boxes.keys().map(|name| (name.clone(), 0)).collect();
    let mut of: Vec<Option<String>> = vec![None];
    let calls = "SELECT coalesce(parent_call_id, 0), coalesce(steps_self, 0), s.name
                 FROM function_call JOIN function_symbol s USING (function_id) ORDER BY call_id";
    for row in rows(path, calls) {
        let [parent, steps, name] = row.splitn(3, ',').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let above = of[parent.parse::<usize>().expect("a call")].clone();
        let place = if boxes.contains_key(name) { Some(name.to_owned()) } else { above };
        if let Some(sum) = place.as_ref().and_then(|place| counted.get_mut(place)) {
            *sum += steps.parse::<i64>().expect("steps");
        }
        of.push(place);
    }
    counted
}

/// Who copies much is not taken for the writer of what another one copied to be written. Where data is not
/// known by context, it is drawn beside the boxes that it works for.
#[test]
fn outputs_come_from_who_wrote_them() {
    if !["valgrind", "gcc", "pkg-config"].iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("outlet");
    let program = scratch.path("outlet");
    let flags = ["-O1", "-g", "-fno-builtin"];
    make("gcc", &repository("tests/programs/outlet.c"), &flags, &program);
    for (detail, known) in
        [("summary", true), ("pairs", true), ("summary", false), ("pairs", false)]
    {
        let path = scratch.path(&format!("{detail}{known}.duckdb"));
        let output = record(&["-q", "--detail", detail, "-o", utf8(&path)], &[utf8(&program)]);
        assert!(path.exists(), "{}", said(&output));
        if !known {
            change(&path, "DELETE FROM stack_edge");
        }
        let db = open(&path);
        let facts = Facts::find(&db).expect("facts");
        let found = Folding::read(&db, facts).expect("folding").expect("steps").overview();
        let boxes: BTreeSet<&str> = found.parts.iter().map(|part| part.name.as_str()).collect();
        assert!(boxes.contains("crunch") && boxes.contains("tell"), "{boxes:?}");
        let sink = |line: &&OverviewLine| found.parts[line.to].role == BoxRole::Sink;
        let writers: Vec<&OverviewBox> =
            found.lines.iter().filter(sink).map(|line| &found.parts[line.from]).collect();
        let helper = |i: usize| found.parts[i].role == BoxRole::Helper;
        if known {
            let names: Vec<&str> = writers.iter().map(|writer| writer.name.as_str()).collect();
            assert_eq!(names, ["tell"], "{detail}");
            assert!(!(0..found.parts.len()).any(helper), "{boxes:?}");
            continue;
        }
        assert!(!writers.is_empty(), "{detail}");
        for writer in writers {
            assert!(writer.role == BoxRole::Helper && writer.name.contains("mem"), "{writer:?}");
        }
        // It is seen for whom the helper works: by data or, where single calls have that, by calls.
        let into = |line: &&OverviewLine| helper(line.to) || line.back > 0.0 && helper(line.from);
        let users: BTreeMap<&str, i64> = (found.lines.iter().filter(into))
            .map(|line| {
                let user = if helper(line.to) { line.from } else { line.to };
                (found.parts[user].name.as_str(), line.calls)
            })
            .collect();
        let expected = if detail == "pairs" { [20, 40] } else { [0, 0] };
        let expected: BTreeMap<&str, i64> = ["crunch", "tell"].into_iter().zip(expected).collect();
        assert_eq!(users, expected, "{detail}");
    }
}

/// A call whose context was left out, as it is too deep, makes nobody else the writer of what it wrote.
#[test]
fn contexts_that_are_left_out_make_nobody_a_writer() {
    if !["valgrind", "gcc", "pkg-config"].iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("abyss");
    let program = scratch.path("abyss");
    make("gcc", &repository("tests/programs/abyss.c"), &["-O1", "-g"], &program);
    for detail in ["summary", "pairs"] {
        let path = scratch.path(&format!("{detail}.duckdb"));
        let output = record(&["-q", "--detail", detail, "-o", utf8(&path)], &[utf8(&program)]);
        assert!(path.exists(), "{}", said(&output));
        let db = open(&path);
        let facts = Facts::find(&db).expect("facts");
        let found = Folding::read(&db, facts).expect("folding").expect("steps").overview();
        let name = |i: usize| found.parts[i].name.as_str();
        let between = |a: &str, b: &str| -> f64 {
            let lines = found.lines.iter().map(|l| match (name(l.from), name(l.to)) {
                (from, to) if (from, to) == (a, b) => l.there,
                (from, to) if (from, to) == (b, a) => l.back,
                _ => 0.0,
            });
            lines.sum()
        };
        // `prepare` wrote the table, and `put` 1,024 bytes for it. What it wrote below `descend` is not `prepare`'s.
        let bytes = between("prepare", "consume");
        assert!((65_536.0..=66_560.0).contains(&bytes), "{detail}: {bytes}");
        assert_eq!(bytes, 66_560.0, "{detail}");
    }
}

/// A box that is opened has the inputs and outputs that it has in the whole, whichever of its parts reads or
/// writes them.
#[test]
fn opened_boxes_keep_their_inputs_and_outputs() {
    let mut opened = 0;
    for (name, detail) in
        [("fir", "pairs"), ("jpeg", "pairs"), ("jpeg", "instance"), ("jpeg", "summary")]
    {
        let db = open(&example(name, detail));
        let facts = Facts::find(&db).expect("facts");
        let folding = Folding::read(&db, facts).expect("folding").expect("steps");
        let whole = folding.overview();
        for (i, part) in whole.parts.iter().enumerate() {
            let Some(inside) = part.function.and_then(|f| folding.opened(f)) else { continue };
            let names: BTreeSet<&str> = inside.parts.iter().map(|p| p.full.as_str()).collect();
            let ends = whole.lines.iter().filter_map(|line| match (line.from == i, line.to == i) {
                (true, _) => Some(&whole.parts[line.to]),
                (_, true) => Some(&whole.parts[line.from]),
                _ => None,
            });
            for end in ends.filter(|end| matches!(end.role, BoxRole::Source | BoxRole::Sink)) {
                assert!(
                    names.contains(end.full.as_str()),
                    "{name} {detail} {}: {names:?}",
                    part.name
                );
                opened += 1;
            }
            // No helper is drawn that no line leads to or from.
            for (k, other) in inside.parts.iter().enumerate() {
                let has_line = inside.lines.iter().any(|line| line.from == k || line.to == k);
                assert!(has_line || other.role != BoxRole::Helper, "{name} {detail}: {other:?}");
            }
        }
    }
    assert!(opened > 0, "no box with an input or output opens");
}
