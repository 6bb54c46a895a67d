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
    let db = example("fir", "sums");
    refused(&["memory", utf8(&db)], &["--no-steps"]);
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
    addfg::internals::views::memory::gnuplot(&open(&db), &folder).unwrap();
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

#[test]
fn what_groups_wrote_is_the_sum_of_their_functions() {
    let scratch = Scratch::new("memory-groups");
    let db = scratch.copy(&example("jpeg", "pairs"), "jpeg.duckdb");
    let list = |more: &[&str]| -> BTreeMap<String, [String; 3]> {
        let base = ["memory", utf8(&db), "--show", "functions", "--limit", "0", "--format", "csv"];
        let text = ok(&[&base[..], more].concat());
        let fields = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        fields.map(|f| (f[0].to_owned(), [f[1], f[2], f[4]].map(str::to_owned))).collect()
    };
    let alone = list(&[]);
    let flows = rows(
        &db,
        "SELECT DISTINCT writer, reader FROM function_dataflow WHERE via <> 'register' AND writer <> reader",
    );
    let flows: Vec<(&str, &str)> = flows.iter().map(|f| f.split_once(',').unwrap()).collect();
    // Whose data one other function reads: with that one, nobody else does.
    let readers = |writer: &str| -> BTreeSet<&str> {
        flows.iter().filter(|f| f.0 == writer).map(|f| f.1).collect()
    };
    let wrote: Vec<&String> = alone.keys().collect();
    let (mut only_own, mut given) = (0, 0);
    for pair in wrote.windows(2).map(|w| (w[0].as_str(), w[1].as_str())).chain(
        wrote
            .iter()
            .filter_map(|w| Some((w.as_str(), *readers(w).first()?)))
            .filter(|p| alone.contains_key(p.1)),
    ) {
        let group = format!("the pair={},{}", pair.0, pair.1);
        let found = list(&["--group", &group]);
        let number = |name: &str, i: usize| alone[name][i].parse::<u64>().unwrap();
        let outside = [pair.0, pair.1]
            .iter()
            .any(|w| readers(w).iter().any(|r| ![pair.0, pair.1].contains(r)));
        if outside {
            given += 1;
        } else {
            only_own += 1;
        }
        let expected = [0, 1].map(|i| (number(pair.0, i) + number(pair.1, i)).to_string());
        let [written, dead] = expected;
        assert_eq!(found["the pair"], [written, dead, (!outside).to_string()], "{group}");
        let rest: BTreeMap<_, _> =
            alone.iter().filter(|(n, _)| ![pair.0, pair.1].contains(&n.as_str())).collect();
        assert_eq!(
            found.iter().filter(|(n, _)| *n != "the pair").collect::<BTreeMap<_, _>>(),
            rest
        );
    }
    assert!(only_own > 0 && given > 0, "{only_own}, {given}");
    let before = list(&["--group", "idct=glob:stbi__idct*,stbi__clamp"]);
    ok(&["prepare", utf8(&db), "--quiet"]);
    assert_eq!(list(&["--group", "idct=glob:stbi__idct*,stbi__clamp"]), before);
    for show in [&["traffic"][..], &["time"], &["reuse"], &["allocations", "--each"]] {
        let base = ["memory", utf8(&db), "--group", "idct=glob:stbi__idct*", "--show"];
        refused(&[&base[..], show].concat(), &["--group goes with"]);
    }
}
