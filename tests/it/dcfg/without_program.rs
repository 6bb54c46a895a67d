//! A graph without its program: its blocks have places in images, its edges are there.

use super::{round_trip, same};
use crate::common::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Nodes by address, with their steps; edges of a kind between addresses, with their counts.
type Drawn = (BTreeMap<u64, i64>, BTreeSet<(u64, u64, String, i64)>);

fn hex(text: &str) -> u64 {
    let digits = text.trim_start_matches("0x");
    u64::from_str_radix(digits.split(',').next().unwrap(), 16).unwrap_or_else(|_| panic!("{text}"))
}

/// The picture of blocks: addresses are those in the names of nodes.
fn blocks(db: &Path, address: impl Fn(&str) -> u64) -> Drawn {
    let all = ["--top", "100000", "--min-bytes", "0", "--format", "json"];
    let text =
        ok(&[&["graph", utf8(db), "--level", "block", "--show", "jumps"], &all[..]].concat());
    let graph: Value = serde_json::from_str(&text).unwrap();
    let nodes = graph["nodes"].as_array().unwrap();
    let named = |n: &Value| (n["id"].as_i64().unwrap(), address(n["name"].as_str().unwrap()));
    let by_id: BTreeMap<i64, u64> = nodes.iter().map(named).collect();
    let steps = nodes.iter().map(|n| (named(n).1, n["steps_self"].as_i64().unwrap())).collect();
    let edge = |e: &Value| {
        let end = |name: &str| by_id[&e[name].as_i64().unwrap()];
        let kind = e["kind"].as_str().unwrap().to_owned();
        (end("from"), end("to"), kind, e["count"].as_i64().unwrap_or_default())
    };
    (steps, graph["edges"].as_array().unwrap().iter().map(edge).collect())
}

#[test]
fn blocks_are_drawn_as_with_the_program() {
    let scratch = Scratch::new("dcfg-bare");
    let (_, with, folder) = round_trip(&scratch, "fir");
    let bare = scratch.path("bare.duckdb");
    let files = ["run.dcfg.json", "run.trace.json"].map(|name| folder.join(name));
    ok(&["build", utf8(&files[0]), utf8(&files[1]), "-o", utf8(&bare)]);
    let base = hex(&rows(&bare, "SELECT format('{:x}', bias) FROM image")[0]);
    let drawn = blocks(&bare, |name| {
        let (image, offset) = name.split_once('+').unwrap_or_else(|| panic!("{name}"));
        assert_eq!(image, "fir");
        base + hex(offset)
    });
    assert!(drawn.0.len() > 10 && drawn.1.len() > 10, "{drawn:?}");
    assert_eq!(drawn, blocks(&with, hex));
    // Without a word about edges, too, and around a function; with lines where the graph has them.
    let text = ok(&["graph", utf8(&bare), "--level", "block", "--focus", "fir"]);
    assert!(
        text.contains("fir+0x") && text.contains(", fir.c:") && text.contains(" -> "),
        "{text}"
    );
}

/// A graph and its trace are written from what was kept of them; with the program, what is read
/// back has the calls that it had.
#[test]
fn a_graph_is_exported_without_the_program() {
    let scratch = Scratch::new("dcfg-bare-export");
    for name in ["fir", "jpeg"] {
        let (_, with, folder) = round_trip(&scratch, name);
        let [_, elf] = example_files(name);
        let (bare, out, back) =
            (scratch.path("bare.duckdb"), scratch.path("out"), scratch.path("again.duckdb"));
        let load = |folder: &Path, to: &Path, more: &[&str]| {
            let files = ["run.dcfg.json", "run.trace.json"].map(|name| folder.join(name));
            let fixed = ["build", utf8(&files[0]), utf8(&files[1]), "-o", utf8(to), "--force"];
            ok(&[&fixed[..], more].concat());
        };
        load(&folder, &bare, &[]);
        ok(&["export", utf8(&bare), "--to", "dcfg", "-o", utf8(&out), "--force"]);
        let read = |folder: &Path| std::fs::read(folder.join("run.dcfg.json")).unwrap();
        let graph = |folder: &Path| serde_json::from_slice::<Value>(&read(folder)).unwrap();
        let (before, after) = (graph(&folder), graph(&out));
        let image = "/PROCESSES/1/1/IMAGES/1/3";
        let parts = ["/PROCESSES/1/1/EDGES".to_owned(), format!("{image}/BASIC_BLOCKS")];
        for part in parts.into_iter().chain([format!("{image}/ROUTINES")]) {
            let (a, b) = (before.pointer(&part), after.pointer(&part));
            assert!(a.is_some() && a == b, "{name}: {part}");
        }
        let trace = |folder: &Path| std::fs::read(folder.join("run.trace.json")).unwrap();
        assert!(trace(&folder) == trace(&out), "{name}: traces differ");
        load(&out, &back, &["--elf", utf8(&elf)]);
        assert_eq!(rows(&back, "SELECT code, message FROM diagnostic"), [""; 0], "{name}");
        assert!(same(&with, &back) > 5);
    }
}

/// The sample of two threads, and what a hand wrote: its traps, its exclusions.
#[test]
fn what_others_recorded_is_exported_without_the_program() {
    let scratch = Scratch::new("dcfg-bare-samples");
    let (good, demo) = (repository("tests/formats/dcfg"), repository("tests/data/dcfg"));
    for (graph, trace) in [
        (good.join("good.dcfg.json"), good.join("good.trace.json")),
        (demo.join("demo-1t.dcfg.json"), demo.join("demo-1t.trace.json")),
        (demo.join("demo-2t-chunked.dcfg.json"), demo.join("demo-2t-chunked.trace.json.bz2")),
    ] {
        let [one, two] = ["one.duckdb", "two.duckdb"].map(|name| scratch.path(name));
        let out = scratch.path("out");
        ok(&["build", utf8(&graph), utf8(&trace), "-o", utf8(&one), "--force"]);
        ok(&["export", utf8(&one), "--to", "dcfg", "-o", utf8(&out), "--force"]);
        let files = ["run.dcfg.json", "run.trace.json"].map(|name| out.join(name));
        ok(&["build", utf8(&files[0]), utf8(&files[1]), "-o", utf8(&two), "--force"]);
        for what in [
            "SELECT code, message FROM diagnostic",
            "SELECT address, size, instructions, last_address, executions FROM basic_block
             WHERE address IS NOT NULL ORDER BY ALL",
            "SELECT s.address, t.address, e.kind, e.type, e.count FROM cfg_edge e
             JOIN basic_block s ON s.basic_block_id = e.source_block_id
             JOIN basic_block t ON t.basic_block_id = e.target_block_id ORDER BY ALL",
            "SELECT thread_id, start_seq, b.address FROM block_run r
             JOIN basic_block b ON b.basic_block_id = r.block_id ORDER BY ALL",
            "SELECT s.name, c.kind, ending, call_seq, return_seq FROM function_call c
             JOIN function_symbol s USING (function_id) ORDER BY ALL",
        ] {
            assert_eq!(rows(&one, what), rows(&two, what), "{}: {what}", graph.display());
        }
    }
}
