//! The memory profile against SQL and a naive count of reuse distances; gnuplot draws it.

use crate::common::*;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn the_memory_profile_against_sql() {
    for name in ["fir", "jpeg"] {
        let db = example(name, "pairs");
        let text = ok(&["memory", utf8(&db), "--format", "json"]);
        let table: serde_json::Value = serde_json::from_str(&text).unwrap();
        let field = |name: &str| {
            table.as_array().unwrap().iter().map(|r| r[name].as_i64().unwrap_or(0)).sum::<i64>()
        };
        let found = ["reads", "read_bytes", "writes", "written_bytes", "distinct_bytes"]
            .map(field)
            .map(|n| n.to_string())
            .join(",");
        let sql = "SELECT count(*) FILTER (NOT is_write), sum(size) FILTER (NOT is_write), count(*) FILTER (is_write),
                          sum(size) FILTER (is_write), (SELECT count(DISTINCT address + o) FROM data_access, unnest(range(size::BIGINT)::UBIGINT[]) t(o)
                                                        WHERE space = 'memory')
                   FROM data_access WHERE space = 'memory'";
        assert_eq!(found, rows(&db, sql)[0], "{name}");
    }
    // Reuse distances, naively: distinct other lines between two accesses to a line.
    let db = example("fir", "instance");
    refused(&["memory", utf8(&db)], &["--detail pairs"]);
    let db = example("fir", "pairs");
    let lines = rows(
        &db,
        "SELECT address // 64, (address + size - 1) // 64 FROM data_access WHERE space = 'memory' ORDER BY seq, ordinal",
    );
    let mut touched: Vec<u64> = Vec::new();
    for line in lines {
        let (a, b) = line.split_once(',').unwrap();
        touched.extend(
            [a, b].iter().take(if a == b { 1 } else { 2 }).map(|n| n.parse::<u64>().unwrap()),
        );
    }
    let mut expected = BTreeMap::new();
    for (i, line) in touched.iter().enumerate() {
        let class = match touched[..i].iter().rposition(|l| l == line) {
            None => "first access".to_owned(),
            Some(before) => {
                match touched[before + 1..i].iter().collect::<BTreeSet<_>>().len() as u32 {
                    n @ 0..=1 => n.to_string(),
                    n => {
                        let low = 1u32 << n.ilog2();
                        format!("{low}-{}", 2 * low - 1)
                    }
                }
            }
        };
        *expected.entry(class).or_insert(0) += 1;
    }
    let text = ok(&["memory", utf8(&db), "--show", "reuse", "--format", "csv"]);
    for row in text.lines().skip(1) {
        let (class, count) = row.split_once(',').unwrap();
        assert_eq!(expected.remove(class).unwrap_or(0).to_string(), count, "{class}");
    }
    assert!(expected.is_empty(), "{expected:?}");
}

#[test]
fn gnuplot_draws_the_memory_profile() {
    let scratch = Scratch::new("gnuplot");
    let db = example("fir", "pairs");
    let folder = scratch.path("plot");
    addfg::views::memory::gnuplot(&open(&db), &folder).unwrap();
    if !have("gnuplot") {
        return;
    }
    let output = std::process::Command::new("gnuplot")
        .arg("memory.gp")
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(std::fs::read_to_string(folder.join("memory.svg")).unwrap().contains("footprint"));
}
