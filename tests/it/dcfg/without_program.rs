//! A graph without its program: its blocks have places in images, its edges are there.

use super::round_trip;
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
