//! Figures of groups of functions that are no sums, against SQL over the single communications.

use crate::common::program::{Program, Random};
use crate::common::*;
use addfg::internals::graph::{EdgeKind, NodeKind, Selection, Show, Stubs, load, resolve_function};
use std::collections::BTreeMap;
use std::path::Path;

/// From group to group: distinct cells, and distinct cells of distinct writes for each entry into the
/// reading group. Calls with their node and the entry that they belong to are in `group_of_call`.
const FIGURES: &str = "
WITH ends AS (
    SELECT r.node AS reader, r.entry, c.read_seq - c.write_back AS write_seq, k.write_ordinal, k.is_register, c.address, k.bytes
    FROM communication_row c JOIN communication_kind k USING (kind_id)
    ASOF JOIN control_flow f ON c.read_seq >= f.start_seq JOIN group_of_call r ON r.call_id = f.call_id),
crossing AS (
    SELECT DISTINCT w.node AS writer, e.reader, e.entry, e.write_seq, e.write_ordinal, e.is_register, e.address, e.bytes
    FROM (FROM ends WHERE write_seq IS NOT NULL) e ASOF JOIN control_flow f ON e.write_seq >= f.start_seq
    JOIN group_of_call w ON w.call_id = f.call_id
    WHERE w.node <> e.reader),
byte AS (
    SELECT writer, reader, entry, write_seq, write_ordinal, is_register, address::HUGEINT + unnest(range(bytes::BIGINT)) AS cell
    FROM crossing)
SELECT writer, reader, is_register, count(DISTINCT cell), count(DISTINCT (entry, write_seq, write_ordinal, cell))
FROM byte GROUP BY ALL ORDER BY ALL";

/// By names of writer and reader and whether through registers: cells, unique bytes.
type Figures = BTreeMap<(String, String, bool), (i64, i64)>;

/// A line over each call, as `docs/views.md` says what an entry is.
fn counted(db: &Path, groups: &[(&str, &[&str])], stubs: Stubs) -> Figures {
    let connection = addfg::internals::store::open::open(db, false).unwrap();
    let name_of = |function: &str| {
        let group = groups.iter().find(|(_, members)| members.contains(&function));
        group.map_or(function, |(name, _)| *name).to_owned()
    };
    let (mut of, mut names): (BTreeMap<i64, (i64, i64)>, Vec<String>) = Default::default();
    let sql =
        "SELECT call_id, s.name, coalesce(tail_of_call_id, parent_call_id, 0), coalesce(f.into_call_id, 0)
               FROM function_call c JOIN function_symbol s USING (function_id) LEFT JOIN folded_call f USING (call_id) ORDER BY call_id";
    let mut statement = connection.prepare(sql).unwrap();
    let mut calls = statement.query([]).unwrap();
    while let Some(r) = calls.next().unwrap() {
        let (call, function): (i64, String) = (r.get(0).unwrap(), r.get(1).unwrap());
        let caller = of.get(&r.get::<_, i64>(2).unwrap()).copied();
        let name = name_of(&function);
        let node = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        }) as i64;
        // Stubs are part of what the graph merges them into.
        let into: i64 = r.get(3).unwrap();
        let into = of.get(&into).filter(|_| stubs == Stubs::Fold && into < call).copied();
        of.insert(
            call,
            match (into, caller) {
                (Some(into), _) => into,
                (None, Some(caller)) if caller.0 == node => caller,
                _ => (node, call),
            },
        );
    }
    drop(calls);
    let rows: Vec<String> = of.iter().map(|(c, (n, e))| format!("({c}, {n}, {e})")).collect();
    connection
        .execute_batch(&format!(
            "CREATE TEMP TABLE group_of_call (call_id BIGINT, node BIGINT, entry BIGINT);
             INSERT INTO group_of_call VALUES {}",
            rows.join(", ")
        ))
        .unwrap();
    let mut statement = connection.prepare(FIGURES).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut figures = Figures::new();
    while let Some(r) = rows.next().unwrap() {
        let name = |i| names[r.get::<_, usize>(i).unwrap()].clone();
        let key = (name(0), name(1), r.get(2).unwrap());
        figures.insert(key, (r.get(3).unwrap(), r.get(4).unwrap()));
    }
    figures
}

/// What the graph says of edges at groups. Memory is put together where it has one via only.
fn agree(db: &Path, groups: &[(&str, &[&str])], stubs: Stubs) -> usize {
    let connection = addfg::internals::store::open::open(db, false).unwrap();
    let ids = |names: &[&str]| {
        let id = |name: &&str| resolve_function(&connection, name).unwrap().function_id;
        names.iter().map(id).collect::<Vec<_>>()
    };
    let selection = Selection {
        groups: groups.iter().map(|(name, members)| ((*name).to_owned(), ids(members))).collect(),
        stubs,
        top: usize::MAX / 8,
        min_bytes: Some(0),
        show: [Show::Data].into(),
        ..Selection::default()
    };
    let graph = load(&connection, &selection).unwrap();
    let expected = counted(db, groups, stubs);
    let mut compared = 0;
    for (a, b, edge) in graph.edges() {
        let (a, b) = (&graph.graph[a], &graph.graph[b]);
        let EdgeKind::Data(flows) = &edge.kind else { continue };
        if a.kind == NodeKind::Pseudo || ![a.kind, b.kind].contains(&NodeKind::Group) {
            continue;
        }
        for is_register in [false, true] {
            let of: Vec<_> =
                flows.iter().filter(|f| (f.via.name() == "register") == is_register).collect();
            if of.is_empty() {
                continue;
            }
            let key = (a.name.clone(), b.name.clone(), is_register);
            let (cells, unique) = expected[&key];
            let all = |figure: fn(&addfg::internals::graph::Flow) -> Option<i64>| -> i64 {
                of.iter().map(|flow| figure(flow).unwrap()).sum()
            };
            assert_eq!(all(|f| f.addresses), cells, "{key:?}");
            if b.kind == NodeKind::Group {
                assert_eq!(all(|f| f.unique_bytes), unique, "{key:?}");
                assert!(unique <= all(|f| Some(f.bytes)), "{key:?}");
            }
            compared += 1;
        }
    }
    compared
}

#[test]
fn figures_of_groups_against_sql() {
    let jpeg = example("jpeg", "pairs");
    let groups = [
        (
            "huffman",
            &[
                "stbi__jpeg_decode_block",
                "stbi__grow_buffer_unsafe",
                "stbi__get8",
                "stbi__extend_receive",
            ][..],
        ),
        ("idct", &["stbi__idct_block", "stbi__clamp"]),
        ("rest", &["main", "stbi__resample_row_hv_2"]),
    ];
    for stubs in [Stubs::Fold, Stubs::Show] {
        assert!(agree(&jpeg, &groups, stubs) > 15);
        assert!(agree(&example("fir", "pairs"), &[("core", &["fir", "multiply"])], stubs) >= 3);
    }
    let scratch = Scratch::new("groups-random");
    let (elf, log, db) = (scratch.path("elf"), scratch.path("log"), scratch.path("db"));
    for seed in 1..8 {
        let mut random = Random::new(seed);
        let program = Program::new(&mut random);
        std::fs::write(&elf, program.elf()).unwrap();
        std::fs::write(&log, program.run(&mut random, 3000, 1).0).unwrap();
        let build = ["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db), "--force", "-q"];
        ok(&[&build[..], &["--saves", "literal"]].concat());
        for groups in [
            &[("one", &["alpha", "gamma"][..])][..],
            &[("one", &["beta", "delta"]), ("two", &["main", "gamma"])],
        ] {
            for stubs in [Stubs::Fold, Stubs::Show] {
                assert!(agree(&db, groups, stubs) > 2, "seed {seed}");
            }
        }
    }
}
