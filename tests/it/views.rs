//! Views: each against a second way to the same figures.

use crate::common::{self, *};
use addfg::internals::graph::{Graph, Level, NodeId, Selection, Show, Stubs, load};
use addfg::internals::id::FunctionId;
use addfg::internals::replay::writers::{Communication, communications};
use addfg::internals::replay::{
    Code,
    critical::{Weight, critical_path},
};
use duckdb::Connection;
use std::collections::{BTreeMap, HashMap};

pub mod callgrind;
mod graphs;
mod memory;
mod pictures;
mod slices;

/// Everything, nothing merged or left out.
fn whole(level: Level) -> Selection {
    Selection {
        level,
        top: usize::MAX / 8,
        min_bytes: Some(0),
        stubs: Stubs::Show,
        range: Some((1, i64::MAX)),
        ..Selection::default()
    }
}

/// (bytes, transfers) on edges and within nodes.
fn sums(graph: &Graph) -> (i64, i64) {
    use addfg::internals::graph::EdgeKind;
    let edges = graph
        .edges()
        .into_iter()
        .filter_map(|e| if let EdgeKind::Data(f) = &e.2.kind { Some(f.clone()) } else { None });
    let flows: Vec<_> =
        edges.flatten().chain(graph.graph.node_weights().flat_map(|n| n.local.clone())).collect();
    (flows.iter().map(|f| f.bytes).sum(), flows.iter().map(|f| f.transfers.unwrap()).sum())
}

#[test]
fn what_adds_up_adds_up_over_all_levels() {
    for name in ["fir", "jpeg"] {
        let db = example(name, "pairs");
        let connection = open(&db);
        let function = load(&connection, &whole(Level::Function)).unwrap();
        let expected = sums(&function);
        for level in Level::ALL.iter().copied().filter(|&l| l != Level::Step || name == "fir") {
            let graph = load(&connection, &whole(level)).unwrap();
            assert_eq!(sums(&graph), expected, "{name}: {}", level.name());
            let steps: i64 = graph.graph.node_weights().filter_map(|n| n.steps_self).sum();
            // Steps and instructions without data or calls are not drawn, and that is said.
            let said = graph.left_out.iter().any(|l| l.contains("without an edge"));
            assert!(
                steps == function.steps || (level as u8) < 6 && steps > 0 && said,
                "{name}: steps at level {}",
                level.name()
            );
        }
        // Bottom-up: parts of functions, merged by function, are the graph of functions.
        for level in [Level::Instruction, Level::Block, Level::Line, Level::Loop, Level::Inlined] {
            let graph = load(&connection, &whole(level)).unwrap();
            assert_eq!(by_function(&graph), by_function(&function), "{name}: {}", level.name());
        }
        let filter = addfg::internals::graph::resolve_function(
            &connection,
            if name == "fir" { "fir" } else { "stbi__idct_block" },
        )
        .unwrap();
        let mixed = load(
            &connection,
            &Selection { expand: vec![filter.function_id], ..whole(Level::Function) },
        )
        .unwrap();
        assert_eq!(by_function(&mixed), by_function(&function), "{name}: expanded");
    }
}

/// Bytes and transfers by (writer, reader, via), functions by name.
fn by_function(graph: &Graph) -> BTreeMap<(String, String, String), (i64, i64)> {
    use addfg::internals::graph::EdgeKind;
    let name = |i| {
        let node: &addfg::internals::graph::Node = &graph.graph[i];
        node.function.clone().unwrap_or(node.name.clone())
    };
    let mut sums: BTreeMap<_, (i64, i64)> = BTreeMap::new();
    let mut add = |a: String, b: String, f: &addfg::internals::graph::Flow| {
        let sum = sums.entry((a, b, f.via.name().to_owned())).or_default();
        *sum = (sum.0 + f.bytes, sum.1 + f.transfers.unwrap());
    };
    for (a, b, edge) in graph.edges() {
        if let EdgeKind::Data(flows) = &edge.kind {
            flows.iter().for_each(|f| add(name(a), name(b), f));
        }
    }
    for i in graph.graph.node_indices() {
        graph.graph[i].local.iter().for_each(|f| add(name(i), name(i), f));
    }
    sums
}

/// A row of the table `communication`.
pub type Kept = (Option<i64>, u16, i64, u16, bool, u64, u32);

/// What going through the run again finds.
pub fn replayed(connection: &Connection) -> Vec<Kept> {
    let code = Code::open(connection).unwrap();
    let mut found = Vec::new();
    communications(&code, connection, |c: &Communication| {
        let write = c.write.map(|w| w.access);
        let (seq, ordinal) = (write.map(|w| w.seq), write.map_or(0, |w| w.ordinal));
        let (first, bytes) = (c.bytes.first, c.bytes.size);
        let is_register = first.space.is_register();
        let (read, address) = (c.read, first.address);
        found.push((seq, ordinal, read.seq, read.ordinal, is_register, address, bytes));
    })
    .unwrap();
    found.sort();
    found
}

/// What the build found; of databases that keep all.
pub fn kept(connection: &Connection) -> Vec<Kept> {
    let sql =
        "SELECT write_seq, coalesce(write_ordinal, 0)::USMALLINT, read_seq, read_ordinal, space = 'register', address, bytes
               FROM communication";
    let mut statement = connection.prepare(sql).unwrap();
    let row = |r: &duckdb::Row| {
        Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?, r.get(6)?))
    };
    let mut rows: Vec<_> = statement.query_map([], row).unwrap().map(Result::unwrap).collect();
    rows.sort();
    rows
}

#[test]
fn the_run_again_has_the_communications_of_the_first_pass() {
    let scratch = Scratch::new("replay");
    for name in ["fir", "jpeg"] {
        let connection = open(&example(name, "full"));
        let (again, first) = (replayed(&connection), kept(&connection));
        assert_eq!(again.len(), first.len(), "{name}");
        let differ = again.iter().zip(&first).find(|(a, b)| a != b);
        assert!(differ.is_none(), "{name}: {differ:?}");
    }
    for (program, flags) in [
        ("recursion", "-O2"),
        ("longjmp", "-O1"),
        ("structs", "-O0"),
        ("floats", "-O2"),
        ("signal", "-O1"),
    ] {
        let db = scratch.path("p.duckdb");
        if let Some([elf, log]) = recording(&format!("{program}.c"), "gcc", &[flags]) {
            common::load(&log, &elf, &db, &["--detail", "full"]);
            let connection = open(&db);
            let (again, first) = (replayed(&connection), kept(&connection));
            let differ = again.iter().zip(&first).find(|(a, b)| a != b);
            assert!(
                again.len() == first.len() && differ.is_none(),
                "{program}: {} {} {differ:?}",
                again.len(),
                first.len()
            );
        }
    }
}

#[test]
fn the_critical_path_is_the_longest_chain() {
    for name in ["fir", "jpeg"] {
        let connection = open(&example(name, "full"));
        // Step by step from the table of communications.
        let mut depth: HashMap<i64, u64> = HashMap::new();
        let mut reads: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for (write, _, read, ..) in kept(&connection) {
            reads.entry(read).or_default().extend(write);
        }
        for (read, writes) in reads {
            let longest =
                writes.iter().map(|w| depth.get(w).copied().unwrap_or(1)).max().unwrap_or(0);
            depth.insert(read, longest + 1);
        }
        let path =
            critical_path(&Code::open(&connection).unwrap(), &connection, Weight::Steps).unwrap();
        assert_eq!(path.length, depth.values().copied().max().unwrap(), "{name}");
        assert_eq!(
            path.by_function.values().sum::<u64>(),
            path.length,
            "{name}: every step of it has a function"
        );
        assert_eq!(path.by_call.values().map(|c| c.1).sum::<u64>(), path.length);
    }
}

/// The rows behind this were counted by hand: of 15 iterations of fir's loop that are not the
/// first, each reads rbx twice, rbp twice (8 bytes each) and r12d (4) as the one before left them:
/// 36 bytes. checksum: 7 x (rdx twice, ecx); filter: 4 x rbx three times.
#[test]
fn what_the_loops_of_the_fir_filter_carry() {
    let db = example("fir", "pairs");
    let found = ok(&["loops", utf8(&db), "--format", "csv"]);
    let expected = "function,loop,depth,entries,iterations,steps,carried_memory,carried_register,carried_edges,irreducible,pattern,distance,private
fir,fir.c:20-21,1,5,20,160,0,540,5,false,reduction (add),,
checksum,fir.c:32-33,1,1,8,48,0,140,3,false,reduction (add),,
filter,fir.c:26-27,1,1,5,30,0,96,3,false,independent,,
";
    assert_eq!(found, expected);
    let graph = load(
        &open(&db),
        &Selection { show: [Show::Data, Show::Calls, Show::Control].into(), ..whole(Level::Loop) },
    )
    .unwrap();
    let carried: i64 = graph.graph.node_weights().map(|n| n.carried).sum::<i64>()
        + graph.edges().iter().map(|e| e.2.carried).sum::<i64>();
    assert_eq!(carried, 540 + 140 + 96);
}

#[test]
fn differences_of_two_runs() {
    let (fir, jpeg) = (example("fir", "pairs"), example("jpeg", "instance"));
    let (a, b) = (utf8(&fir), utf8(&jpeg));
    assert_eq!(
        ok(&["diff", a, a, "--format", "csv"]),
        "what,one,two,via,before,after,change,percent\n"
    );
    let there = ok(&["diff", a, b, "--format", "csv", "--limit", "0"]);
    let back = ok(&["diff", b, a, "--format", "csv", "--limit", "0"]);
    assert_eq!(there.lines().count(), back.lines().count());
    assert!(
        there.contains("function,checksum,,,53,24583,grown,46283\n")
            && there.contains("data,produce,fir,global,80,,gone,\n"),
        "{there}"
    );
    let count = |text: &str, what: &str| text.lines().filter(|l| l.contains(what)).count();
    assert_eq!(count(&there, ",added,"), count(&back, ",gone,"));
    let graph = ok(&["diff", a, b, "--picture", "dot"]);
    assert!(graph.contains("Against the first") && graph.contains("Not drawn"));
}

#[test]
fn the_matrix_has_all_bytes() {
    let scratch = Scratch::new("matrix");
    let db = example("jpeg", "instance");
    let whole: i64 = rows(&db, "SELECT sum(bytes) FROM function_edge")[0].parse().unwrap();
    for top in ["3", "12", "500"] {
        let text = ok(&["matrix", utf8(&db), "--top", top, "--format", "csv"]);
        let sum: i64 = text
            .lines()
            .skip(1)
            .flat_map(|l| {
                l.split(',').skip(1).map(|n| n.parse::<i64>().unwrap()).collect::<Vec<_>>()
            })
            .sum();
        assert_eq!(sum, whole, "top {top}");
    }
    let picture = scratch.path("m.svg");
    ok(&["matrix", utf8(&db), "-o", utf8(&picture)]);
    assert!(std::fs::read_to_string(picture).unwrap().starts_with("<svg"));
}

#[test]
fn the_call_tree_has_all_steps() {
    let db = example("jpeg", "instance");
    let text = ok(&["calls", utf8(&db), "--tree", "--least", "0", "--format", "json"]);
    let tree: serde_json::Value = serde_json::from_str(&text).unwrap();
    let field = |name: &str| {
        tree.as_array().unwrap().iter().map(|r| r[name].as_i64().unwrap()).sum::<i64>()
    };
    let expected = rows(
        &db,
        "SELECT (SELECT max(value) FROM meta WHERE key = 'steps'), (SELECT count(*) FROM function_call)",
    );
    assert_eq!(format!("{},{}", field("steps_self"), field("calls")), expected[0]);
    insta::assert_snapshot!("call_tree", ok(&["calls", utf8(&db), "--tree", "--least", "5"]));
}

#[test]
fn without_dot_the_graph_is_written_as_text() {
    let scratch = Scratch::new("no-dot");
    let db = example("fir", "instance");
    let picture = scratch.path("fir.svg");
    let output =
        command(&["graph", utf8(&db), "-o", utf8(&picture)]).env("PATH", "").output().unwrap();
    let error = said(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error.contains("fir.dot instead of a picture") && error.contains("install Graphviz"),
        "{error}"
    );
    assert!(std::fs::read_to_string(scratch.path("fir.dot")).unwrap().starts_with("digraph"));
}

#[test]
fn sources_stay_however_few_nodes_are_drawn() {
    let connection = open(&example("jpeg", "instance"));
    let graph = load(&connection, &Selection { top: 3, ..Selection::default() }).unwrap();
    assert!(graph.graph.node_weights().any(|n| n.name == "<input>"));
    let full = load(&connection, &whole(Level::Function)).unwrap();
    let few = load(&connection, &Selection { top: 3, min_bytes: Some(0), ..Selection::default() })
        .unwrap();
    assert_eq!(sums(&few), sums(&full));
}

/// What is kept for the largest call instances gives the same picture as all call instances do.
#[test]
fn the_largest_instances_are_kept() {
    for name in ["fir", "jpeg"] {
        let connection = open(&example(name, "instance"));
        for top in [1, 7, 40, 256] {
            top_agrees(&connection, top);
        }
        contexts_agree(&connection);
    }
}

#[test]
fn groups_are_sums_of_their_functions() {
    let db = example("fir", "pairs");
    let graph = ok(&[
        "graph",
        utf8(&db),
        "--group",
        "core=fir,multiply",
        "--format",
        "json",
        "--min-bytes",
        "0",
    ]);
    let graph: serde_json::Value = serde_json::from_str(&graph).unwrap();
    let id = |name: &str| {
        graph["nodes"].as_array().unwrap().iter().find(|n| n["name"] == name).unwrap()["id"].clone()
    };
    let edge = |a: &str, b: &str| {
        let (a, b) = (id(a), id(b));
        let found = graph["edges"]
            .as_array()
            .unwrap()
            .iter()
            .find(|e| e["from"] == a && e["to"] == b && e["kind"] == "data");
        let flow = &found.unwrap()["via"][0];
        (
            flow["bytes"].as_i64().unwrap(),
            flow["unique_bytes"].as_i64().unwrap(),
            flow["addresses"].as_i64().unwrap(),
        )
    };
    // As from and to fir alone: multiply has nothing to do with the others.
    assert_eq!(edge("produce", "core"), (80, 80, 32));
    assert_eq!(edge("filter", "core"), (40, 40, 8));
    assert_eq!(edge("core", "filter"), (20, 20, 4));
    let core =
        graph["nodes"].as_array().unwrap().iter().find(|n| n["name"] == "core").unwrap().clone();
    // fir to itself 1100, fir to multiply 160 and back 80, multiply to itself 80.
    assert_eq!(core["local_bytes"], 1100 + 160 + 80 + 80);
}

#[test]
fn cells_between_groups_are_counted_once() {
    // Each function a group of its own has the addresses of the graph of functions.
    let connection = open(&example("jpeg", "pairs"));
    let all = Selection {
        stubs: Stubs::Show,
        top: usize::MAX / 8,
        min_bytes: Some(0),
        show: [Show::Data].into(),
        ..Selection::default()
    };
    let plain = load(&connection, &all).unwrap();
    let groups: Vec<(String, Vec<FunctionId>)> = plain
        .graph
        .node_weights()
        .filter(|n| n.kind != addfg::internals::graph::NodeKind::Pseudo)
        .filter_map(|n| match n.id {
            NodeId::Function(id) => Some((n.name.clone(), vec![id])),
            _ => None,
        })
        .collect();
    let grouped = load(&connection, &Selection { groups, ..all }).unwrap();
    let cells = |graph: &Graph| -> BTreeMap<(String, String), Vec<(String, Option<i64>)>> {
        let name = |i: petgraph::graph::NodeIndex| graph.graph[i].name.clone();
        let pseudo = |i: petgraph::graph::NodeIndex| {
            graph.graph[i].kind == addfg::internals::graph::NodeKind::Pseudo
        };
        let edges = graph.edges().into_iter().filter(|e| !pseudo(e.0));
        edges
            .filter_map(|(a, b, e)| match &e.kind {
                addfg::internals::graph::EdgeKind::Data(flows) => Some((
                    (name(a), name(b)),
                    flows.iter().map(|f| (f.via.name().to_owned(), f.addresses)).collect(),
                )),
                _ => None,
            })
            .collect()
    };
    let (a, b) = (cells(&plain), cells(&grouped));
    assert!(a.len() > 50 && a.len() == b.len());
    let differ = a.iter().zip(&b).find(|(a, b)| a != b);
    assert!(differ.is_none(), "{differ:?}");
}
