//! Views: each against a second way to the same figures.

use crate::common::*;
use addfg::graph::{Graph, Level, NodeId, Selection, Show, Stubs, load};
use addfg::id::FunctionId;
use addfg::replay::control::{control_dependences, immediate_dominators, loops};
use addfg::replay::dataflow::{Communication, communications};
use addfg::replay::{Code, critical::critical_path};
use duckdb::Connection;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

fn example(scratch: &Scratch, name: &str, detail: &str) -> PathBuf {
    let db = scratch.path(&format!("{name}-{detail}.duckdb"));
    let (log, elf) = (
        repository(&format!("examples/{name}/{name}.log.xz")),
        repository(&format!("examples/{name}/{name}")),
    );
    let arguments =
        [log.to_str().unwrap(), "--elf", elf.to_str().unwrap(), "-o", db.to_str().unwrap()];
    ok(&[&["build"], &arguments[..], &["--quiet", "--detail", detail]].concat());
    db
}

fn open(db: &Path) -> Connection {
    addfg::store::open::open(db, false).expect("opens")
}

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
    use addfg::graph::EdgeKind;
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
    let scratch = Scratch::new("levels");
    for name in ["fir", "jpeg"] {
        let db = example(&scratch, name, "pairs");
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
                steps == function.steps || (level as u8) < 5 && steps > 0 && said,
                "{name}: steps at level {}",
                level.name()
            );
        }
        // Bottom-up: parts of functions, merged by function, are the graph of functions.
        for level in [Level::Instruction, Level::Block, Level::Line, Level::Loop] {
            let graph = load(&connection, &whole(level)).unwrap();
            assert_eq!(by_function(&graph), by_function(&function), "{name}: {}", level.name());
        }
        let filter = addfg::graph::resolve_function(
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
    use addfg::graph::EdgeKind;
    let name = |i| {
        let node: &addfg::graph::Node = &graph.graph[i];
        node.function.clone().unwrap_or(node.name.clone())
    };
    let mut sums: BTreeMap<_, (i64, i64)> = BTreeMap::new();
    let mut add = |a: String, b: String, f: &addfg::graph::Flow| {
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

/// As rows of the table `communication`.
fn replayed(connection: &Connection) -> Vec<(Option<i64>, u16, i64, u16, bool, u64, u32)> {
    let code = Code::open(connection).unwrap();
    let mut found = Vec::new();
    communications(&code, connection, |c: &Communication| {
        let (seq, ordinal) = c.write.map_or((None, 0), |w| (Some(w.seq), w.ordinal));
        found.push((seq, ordinal, c.read.seq, c.read.ordinal, c.is_register, c.address, c.bytes));
    })
    .unwrap();
    found.sort();
    found
}

fn kept(connection: &Connection) -> Vec<(Option<i64>, u16, i64, u16, bool, u64, u32)> {
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
        let connection = open(&example(&scratch, name, "full"));
        let (again, first) = (replayed(&connection), kept(&connection));
        assert_eq!(again.len(), first.len(), "{name}");
        let differ = again.iter().zip(&first).find(|(a, b)| a != b);
        assert!(differ.is_none(), "{name}: {differ:?}");
    }
    if !have("valgrind") || !have("gcc") {
        return;
    }
    for (program, flags) in [
        ("recursion", "-O2"),
        ("longjmp", "-O1"),
        ("structs", "-O0"),
        ("floats", "-O2"),
        ("signal", "-O1"),
    ] {
        let (elf, log, db) = (scratch.path(program), scratch.path("log"), scratch.path("p.duckdb"));
        if compile("gcc", &format!("{program}.c"), &[flags], &elf) {
            lackey(&elf, &log);
            let path = |p: &Path| p.to_str().unwrap().to_owned();
            ok(&[
                "build",
                &path(&log),
                "--elf",
                &path(&elf),
                "-o",
                &path(&db),
                "--detail",
                "full",
                "--force",
                "--quiet",
            ]);
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
    let scratch = Scratch::new("critical");
    for name in ["fir", "jpeg"] {
        let connection = open(&example(&scratch, name, "full"));
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
        let path = critical_path(&Code::open(&connection).unwrap(), &connection).unwrap();
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
    let scratch = Scratch::new("loops");
    let db = example(&scratch, "fir", "pairs");
    let found = ok(&["loops", db.to_str().unwrap(), "--format", "csv"]);
    let expected = "function,loop,depth,entries,iterations,steps,carried_memory,carried_register,carried_edges,irreducible
fir,fir.c:20-21,1,5,20,160,0,540,5,false
checksum,fir.c:32-33,1,1,8,48,0,140,3,false
filter,fir.c:26-27,1,1,5,30,0,96,3,false
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

type Edges = Vec<(usize, usize)>;

/// What `root` reaches without going through `without`.
fn reach(count: usize, edges: &Edges, root: usize, without: Option<usize>) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut stack = vec![root];
    while let Some(n) = stack.pop() {
        if Some(n) != without && seen.insert(n) {
            stack.extend(edges.iter().filter(|e| e.0 == n && e.1 < count).map(|e| e.1));
        }
    }
    seen
}

fn random_graph() -> impl Strategy<Value = (usize, Edges)> {
    (3usize..10).prop_flat_map(|n| (Just(n), proptest::collection::vec((0..n, 0..n), 1..24)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// A node dominates what cannot be reached without it.
    #[test]
    fn dominators_of_random_graphs((count, edges) in random_graph()) {
        let found = immediate_dominators(count, &edges, 0);
        let all = reach(count, &edges, 0, None);
        for n in 0..count {
            let mut chain = BTreeSet::new();
            let mut at = found[n];
            while let Some(d) = at {
                chain.insert(d);
                at = found[d];
            }
            let naive: BTreeSet<usize> = all.iter().copied()
                .filter(|&d| d != n && all.contains(&n) && !reach(count, &edges, 0, Some(d)).contains(&n)).collect();
            prop_assert_eq!(chain, naive, "dominators of {}", n);
        }
    }

    /// Natural loops of back edges, by dominators; where the graph is irreducible, those at least
    /// that are not marked so.
    #[test]
    fn loops_of_random_graphs((count, edges) in random_graph()) {
        let all = reach(count, &edges, 0, None);
        let dominates = |d: usize, n: usize| d == n || !reach(count, &edges, 0, Some(d)).contains(&n);
        let mut natural: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for &(tail, header) in edges.iter().filter(|e| all.contains(&e.0) && dominates(e.1, e.0)) {
            let body = natural.entry(header).or_insert_with(|| BTreeSet::from([header]));
            let mut stack = vec![tail];
            while let Some(n) = stack.pop() {
                if all.contains(&n) && body.insert(n) {
                    stack.extend(edges.iter().filter(|e| e.1 == n).map(|e| e.0));
                }
            }
        }
        let found = loops(count, &edges, 0);
        // Reducible: without the back edges to dominators there is no cycle.
        let forward: Edges = edges.iter().copied().filter(|e| all.contains(&e.0) && !dominates(e.1, e.0)).collect();
        let reducible = !forward.iter().any(|e| reach(count, &forward, e.1, None).contains(&e.0));
        let mine: BTreeMap<usize, BTreeSet<usize>> = found.iter().map(|l| (l.header, l.body.clone())).collect();
        prop_assert_eq!(mine.len(), found.len(), "one loop a header");
        if reducible {
            prop_assert_eq!(mine, natural);
            prop_assert!(found.iter().all(|l| !l.irreducible));
        } else {
            prop_assert!(found.iter().any(|l| l.irreducible));
        }
        for l in &found {
            prop_assert!(l.parent.is_none_or(|p| found[p].body.is_superset(&l.body) && !l.body.contains(&found[p].header)));
        }
    }

    /// By the definition: b post-dominates a successor of a, and does not post-dominate a, or is a.
    #[test]
    fn control_dependences_of_random_graphs((count, edges) in random_graph()) {
        // Every node reaches the exit, as in what ran.
        let exit = count;
        let mut edges = edges;
        edges.push((count - 1, exit));
        let reversed: Edges = edges.iter().map(|e| (e.1, e.0)).collect();
        let to_exit = reach(count + 1, &reversed, exit, None);
        edges.extend((0..count).filter(|n| !to_exit.contains(n)).map(|n| (n, exit)));
        let reversed: Edges = edges.iter().map(|e| (e.1, e.0)).collect();
        let decides = |d: usize, n: usize| d == n || !reach(count + 1, &reversed, exit, Some(d)).contains(&n);
        let mut naive = BTreeSet::new();
        for &(a, s) in &edges {
            for b in 0..count {
                if decides(b, s) && (a == b || !decides(b, a)) {
                    naive.insert((a, b));
                }
            }
        }
        prop_assert_eq!(control_dependences(count + 1, &edges, exit), naive);
    }
}

fn record(scratch: &Scratch, program: &str, flags: &[&str]) -> Option<String> {
    if !have("valgrind") || !have("gcc") {
        return None;
    }
    let (elf, log, db) = (scratch.path(program), scratch.path("log"), scratch.path("p.duckdb"));
    if !compile("gcc", &format!("{program}.c"), flags, &elf) {
        return None;
    }
    lackey(&elf, &log);
    let path = |p: &Path| p.to_str().unwrap().to_owned();
    ok(&["build", &path(&log), "--elf", &path(&elf), "-o", &path(&db), "--force", "--quiet"]);
    Some(path(&db))
}

#[test]
fn a_backward_slice_reaches_the_planted_constant() {
    let scratch = Scratch::new("planted");
    let source = std::fs::read_to_string(repository("tests/programs/planted.c")).unwrap();
    let line = |mark: &str| {
        format!("planted.c:{}", 1 + source.lines().position(|l| l.contains(mark)).unwrap())
    };
    for flags in ["-O0", "-O1", "-O2"] {
        let Some(db) = record(&scratch, "planted", &[flags]) else { return };
        let lines = |arguments: &[&str]| -> BTreeSet<String> {
            let text =
                ok(&[&["slice", &db, "--group", "--limit", "0", "--format", "csv"], arguments]
                    .concat());
            text.lines().filter_map(|l| l.rsplit(',').next()).map(str::to_owned).collect()
        };
        let (decides, planted, innocent) = (line("decides"), line("planted */"), line("innocent"));
        let slice = lines(&["--at", &decides, "--control"]);
        assert!(slice.contains(&planted) && !slice.contains(&innocent), "{flags}: {slice:?}");
        // The result depends on the table through a branch or flags only.
        let (data, with_control) =
            (lines(&["--at", "result"]), lines(&["--at", "result", "--control"]));
        assert!(
            !data.contains(&planted) && with_control.contains(&planted),
            "{flags}: {data:?} {with_control:?}"
        );
        assert!(!with_control.contains(&innocent), "{flags}: {with_control:?}");
        let forward = lines(&["--at", &planted, "--forward"]);
        assert!(forward.contains(&decides) && !forward.contains(&innocent), "{flags}: {forward:?}");
        let table = lines(&["--at", "table"]);
        assert!(table.contains(&planted) && !table.contains(&decides), "{flags}: {table:?}");
        let near = lines(&["--at", &decides, "--depth", "1"]);
        assert!(!near.contains(&planted), "{flags}: {near:?}");
        let graph = ok(&["slice", &db, "--at", &decides, "--picture", "json"]);
        assert!(graph.contains("\"instruction\""));
    }
}

/// By the table of communications, followed by hand.
#[test]
fn a_slice_is_the_closure_of_the_communications() {
    let scratch = Scratch::new("closure");
    for name in ["fir", "jpeg"] {
        let db = example(&scratch, name, "full");
        let connection = open(&db);
        let mut sources: HashMap<i64, Vec<i64>> = HashMap::new();
        let mut sinks: HashMap<i64, Vec<i64>> = HashMap::new();
        for (write, _, read, ..) in kept(&connection) {
            if let Some(write) = write {
                sources.entry(read).or_default().push(write);
                sinks.entry(write).or_default().push(read);
            }
        }
        let closure = |start: i64, next: &HashMap<i64, Vec<i64>>| {
            let mut seen = BTreeSet::from([start]);
            let mut stack = vec![start];
            while let Some(n) = stack.pop() {
                stack.extend(next.get(&n).into_iter().flatten().filter(|&&m| seen.insert(m)));
            }
            seen
        };
        let last = sources.keys().copied().max().unwrap();
        for at in [last, last / 2, last / 3, last / 5] {
            for (way, next) in [("--backward", &sources), ("--forward", &sinks)] {
                let text = ok(&[
                    "slice",
                    db.to_str().unwrap(),
                    "--at",
                    &at.to_string(),
                    way,
                    "--limit",
                    "0",
                    "--format",
                    "csv",
                ]);
                let found: BTreeSet<i64> = text
                    .lines()
                    .skip(1)
                    .map(|l| l.split(',').next().unwrap().parse().unwrap())
                    .collect();
                assert_eq!(found, closure(at, next), "{name}: {way} from {at}");
            }
        }
    }
}

#[test]
fn differences_of_two_runs() {
    let scratch = Scratch::new("diff");
    let (fir, jpeg) = (example(&scratch, "fir", "pairs"), example(&scratch, "jpeg", "instance"));
    let (a, b) = (fir.to_str().unwrap(), jpeg.to_str().unwrap());
    assert_eq!(ok(&["diff", a, a, "--format", "csv"]), "what,one,two,via,before,after,change\n");
    let there = ok(&["diff", a, b, "--format", "csv", "--limit", "0"]);
    let back = ok(&["diff", b, a, "--format", "csv", "--limit", "0"]);
    assert_eq!(there.lines().count(), back.lines().count());
    assert!(
        there.contains("function,checksum,,,53,24583,grown\n")
            && there.contains("data,produce,fir,global,80,,gone\n"),
        "{there}"
    );
    let count = |text: &str, what: &str| text.lines().filter(|l| l.ends_with(what)).count();
    assert_eq!(count(&there, ",added"), count(&back, ",gone"));
    let graph = ok(&["diff", a, b, "--picture", "dot"]);
    assert!(graph.contains("Against the first") && graph.contains("Not drawn"));
}

#[test]
fn the_matrix_has_all_bytes() {
    let scratch = Scratch::new("matrix");
    let db = example(&scratch, "jpeg", "instance");
    let whole: i64 = rows(&db, "SELECT sum(bytes) FROM function_edge")[0].parse().unwrap();
    for top in ["3", "12", "500"] {
        let text = ok(&["matrix", db.to_str().unwrap(), "--top", top, "--format", "csv"]);
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
    ok(&["matrix", db.to_str().unwrap(), "-o", picture.to_str().unwrap()]);
    assert!(std::fs::read_to_string(picture).unwrap().starts_with("<svg"));
}

#[test]
fn the_call_tree_has_all_steps() {
    let scratch = Scratch::new("tree");
    let db = example(&scratch, "jpeg", "instance");
    let text = ok(&["calls", db.to_str().unwrap(), "--tree", "--min", "0", "--format", "json"]);
    let tree: serde_json::Value = serde_json::from_str(&text).unwrap();
    let field = |name: &str| {
        tree.as_array().unwrap().iter().map(|r| r[name].as_i64().unwrap()).sum::<i64>()
    };
    let expected = rows(
        &db,
        "SELECT (SELECT max(value) FROM meta WHERE key = 'steps'), (SELECT count(*) FROM function_call)",
    );
    assert_eq!(format!("{},{}", field("steps_self"), field("calls")), expected[0]);
    insta::assert_snapshot!(
        "call_tree",
        ok(&["calls", db.to_str().unwrap(), "--tree", "--min", "5"])
    );
}

#[test]
fn the_memory_profile_against_sql() {
    let scratch = Scratch::new("memory");
    for name in ["fir", "jpeg"] {
        let db = example(&scratch, name, "pairs");
        let text = ok(&["memory", db.to_str().unwrap(), "--format", "json"]);
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
    let db = example(&scratch, "fir", "instance");
    assert_eq!(
        addfg(&["memory", db.to_str().unwrap()]).status.code(),
        Some(2),
        "no steps are kept"
    );
    let db = scratch.path("fir-pairs.duckdb");
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
    let text = ok(&["memory", db.to_str().unwrap(), "--show", "reuse", "--format", "csv"]);
    for row in text.lines().skip(1) {
        let (class, count) = row.split_once(',').unwrap();
        assert_eq!(expected.remove(class).unwrap_or(0).to_string(), count, "{class}");
    }
    assert!(expected.is_empty(), "{expected:?}");
}

#[test]
fn gnuplot_draws_the_memory_profile() {
    let scratch = Scratch::new("gnuplot");
    let db = example(&scratch, "fir", "pairs");
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

#[test]
fn without_dot_the_graph_is_written_as_text() {
    let scratch = Scratch::new("no-dot");
    let db = example(&scratch, "fir", "instance");
    let picture = scratch.path("fir.svg");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_addfg"))
        .args(["graph", db.to_str().unwrap(), "-o", picture.to_str().unwrap()])
        .env("PATH", "")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error.contains("fir.dot instead of a picture") && error.contains("install Graphviz"),
        "{error}"
    );
    assert!(std::fs::read_to_string(scratch.path("fir.dot")).unwrap().starts_with("digraph"));
}

#[test]
fn sources_stay_however_few_nodes_are_drawn() {
    let scratch = Scratch::new("top");
    let connection = open(&example(&scratch, "jpeg", "instance"));
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
    let scratch = Scratch::new("largest");
    for name in ["fir", "jpeg"] {
        let connection = open(&example(&scratch, name, "instance"));
        for top in [1, 7, 40, 256] {
            top_agrees(&connection, top);
        }
    }
}

#[test]
fn groups_are_sums_of_their_functions() {
    let scratch = Scratch::new("groups");
    let db = example(&scratch, "fir", "pairs");
    let graph = ok(&[
        "graph",
        db.to_str().unwrap(),
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

/// What callgrind writes with names and positions in full: by name, its own instructions and
/// inclusive ones; by pair of names, calls.
#[derive(Default)]
struct Callgrind {
    own: BTreeMap<String, i64>,
    inclusive: BTreeMap<String, i64>,
    calls: BTreeMap<(String, String), i64>,
}

fn read_callgrind(text: &str) -> Callgrind {
    let mut found = Callgrind::default();
    let (mut function, mut callee) = (String::new(), String::new());
    let mut call = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = name.to_owned();
        } else if let Some(name) = line.strip_prefix("cfn=") {
            callee = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("calls=") {
            call = rest.split(' ').next().and_then(|n| n.parse::<i64>().ok());
        } else if line.starts_with("0x") {
            let cost: i64 = line.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            *found.inclusive.entry(function.clone()).or_default() += cost;
            match call.take() {
                Some(count) => {
                    *found.calls.entry((function.clone(), callee.clone())).or_default() += count
                }
                None => *found.own.entry(function.clone()).or_default() += cost,
            }
        }
    }
    found
}

/// Functions of the same static program, counted by callgrind and by addfg. Every difference that
/// remains is printed, and allowed by name with its reason.
#[test]
fn callgrind_counts_the_same() {
    let scratch = Scratch::new("callgrind");
    let Some(db) = record(&scratch, "recursion", &["-O1"]) else { return };
    let out = scratch.path("callgrind.out");
    let ran = std::process::Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--show-below-main=yes",
            "--compress-strings=no",
            "--compress-pos=no",
            "--dump-instr=yes",
        ])
        .args(["--dump-line=no", &format!("--callgrind-out-file={}", out.display())])
        .arg(scratch.path("recursion"))
        .output();
    if !ran.is_ok_and(|o| o.status.code().is_some()) || !out.exists() {
        println!("skipped: callgrind does not run");
        return;
    }
    let theirs = read_callgrind(&std::fs::read_to_string(&out).unwrap());
    let db = PathBuf::from(db);
    // A function under any of its names; several functions of one name are one to callgrind.
    let mut canonical: HashMap<String, String> = HashMap::new();
    let names = rows(
        &db,
        "SELECT s.symbol, n.name FROM function_symbol s JOIN function_name n USING (function_id) WHERE s.symbol IS NOT NULL",
    );
    for row in names {
        let (symbol, name) = row.split_once(',').unwrap();
        canonical.entry(name.to_owned()).or_insert(symbol.to_owned());
    }
    let mut places: Vec<(u64, u64, String)> = Vec::new();
    for row in rows(
        &db,
        "SELECT address, size, coalesce(symbol, name) FROM function_symbol WHERE address IS NOT NULL AND size IS NOT NULL",
    ) {
        let parts: Vec<&str> = row.splitn(3, ',').collect();
        places.push((parts[0].parse().unwrap(), parts[1].parse().unwrap(), parts[2].to_owned()));
    }
    let name = |n: &str| {
        let n = n.split('\'').next().unwrap_or(n);
        // Symbols without a type or size have no name for callgrind, but an address.
        let address = n.strip_prefix("0x").and_then(|d| u64::from_str_radix(d, 16).ok());
        let at = address
            .and_then(|a| {
                places.iter().find(|p| p.0 <= a && a - p.0 < p.1.max(1)).map(|p| p.2.as_str())
            })
            .unwrap_or(n);
        canonical.get(at).cloned().unwrap_or(at.to_owned())
    };
    let mut own: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for (function, cost) in &theirs.own {
        own.entry(name(function)).or_default().0 += cost;
    }
    // PLT steps in the caller, as callgrind has them; the resolvers of indirect functions stay what
    // they are.
    let sql = "WITH plt AS (SELECT c.* FROM folded_call c JOIN function_symbol s USING (function_id) WHERE s.name LIKE '%@plt'),
               step AS (SELECT function_id, steps_self AS n FROM function_profile
                        UNION ALL SELECT function_id, -steps_self FROM plt UNION ALL SELECT into_function_id, steps_self FROM plt)
               SELECT coalesce(s.symbol, s.name), sum(n) FROM step JOIN function_symbol s USING (function_id)
               GROUP BY s.function_id, s.symbol, s.name HAVING sum(n) > 0";
    for row in rows(&db, sql) {
        let (function, steps) = row.rsplit_once(',').unwrap();
        own.entry(name(function)).or_default().1 += steps.parse::<i64>().unwrap();
    }
    // (function, why its counts may differ)
    let allowed: &[(&str, &str)] = &ALLOWED;
    let mut equal = 0;
    let mut unexplained = Vec::new();
    for (function, &(callgrind, addfg)) in &own {
        if callgrind == addfg {
            equal += 1;
            continue;
        }
        let reason = allowed.iter().find(|a| function.starts_with(a.0)).map(|a| a.1);
        println!(
            "{function}: callgrind {callgrind}, addfg {addfg}: {}",
            reason.unwrap_or("not allowed")
        );
        if reason.is_none() {
            unexplained.push(function.clone());
        }
    }
    println!("{equal} of {} functions have the same exclusive instructions", own.len());
    assert!(equal > 20 && unexplained.is_empty(), "{unexplained:?}");
    // Calls by pair.
    let mut calls: BTreeMap<(String, String), (i64, i64)> = BTreeMap::new();
    for ((a, b), n) in &theirs.calls {
        calls.entry((name(a), name(b))).or_default().0 += n;
    }
    // Tail jumps from the function that jumped; PLT stubs are part of what called them.
    let sql = "SELECT c.call_id, coalesce(c.tail_of_call_id, c.parent_call_id, 0), coalesce(s.symbol, s.name)
               FROM function_call c JOIN function_symbol s USING (function_id) ORDER BY c.call_id";
    let mut instances: HashMap<i64, (i64, String)> = HashMap::new();
    for row in rows(&db, sql) {
        let parts: Vec<&str> = row.splitn(3, ',').collect();
        let (id, from): (i64, i64) = (parts[0].parse().unwrap(), parts[1].parse().unwrap());
        instances.insert(id, (from, parts[2].to_owned()));
    }
    let plt = |id: &i64| instances.get(id).is_some_and(|i| i.1.ends_with("@plt"));
    for (id, (from, callee)) in instances.iter().filter(|(_, i)| i.0 > 0) {
        let mut from = *from;
        while plt(&from) {
            from = instances[&from].0;
        }
        if !plt(id) {
            calls.entry((name(&instances[&from].1), name(callee))).or_default().1 += 1;
        }
    }
    let mut differ = Vec::new();
    let mut same = 0;
    for ((a, b), &(callgrind, addfg)) in &calls {
        if callgrind == addfg {
            same += 1;
        } else {
            let reason = CALLS_ALLOWED
                .iter()
                .find(|x| a.starts_with(x.0) && b.starts_with(x.1))
                .map(|x| x.2);
            println!(
                "{a} to {b}: callgrind {callgrind}, addfg {addfg}: {}",
                reason.unwrap_or("not allowed")
            );
            if reason.is_none() {
                differ.push((a.clone(), b.clone()));
            }
        }
    }
    println!("{same} of {} pairs have the same calls", calls.len());
    assert!(same > 20 && differ.is_empty(), "{differ:?}");
    // Inclusive, outside recursion. Callgrind counts what a function jumps to for it, too, so those
    // that do are left out.
    let sql = "SELECT DISTINCT coalesce(s.symbol, s.name)
               FROM function_call c JOIN function_call t ON t.tail_of_call_id = c.call_id
               JOIN function_symbol s ON s.function_id = c.function_id";
    let mut left_out: BTreeSet<String> = rows(&db, sql).iter().map(|n| name(n)).collect();
    let next: BTreeMap<&String, BTreeSet<&String>> =
        calls.keys().fold(BTreeMap::new(), |mut map, (a, b)| {
            map.entry(a).or_insert_with(BTreeSet::new).insert(b);
            map
        });
    for function in own.keys() {
        let mut seen = BTreeSet::new();
        let mut stack: Vec<&String> = next.get(function).into_iter().flatten().copied().collect();
        while let Some(n) = stack.pop() {
            if seen.insert(n) {
                stack.extend(next.get(n).into_iter().flatten().copied());
            }
        }
        if seen.contains(function) {
            left_out.insert(function.clone());
        }
    }
    left_out.extend(own.keys().filter(|f| allowed.iter().any(|a| f.starts_with(a.0))).cloned());
    let open: BTreeSet<String> = rows(&db, "SELECT DISTINCT coalesce(s.symbol, s.name) FROM function_call JOIN function_symbol s USING (function_id) WHERE ending = 'open'").iter().map(|n| name(n)).collect();
    let missing =
        own.iter().filter(|o| o.0.starts_with("_exit")).map(|o| o.1.1 - o.1.0).sum::<i64>();
    let mut inclusive: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for (function, cost) in &theirs.inclusive {
        inclusive.entry(name(function)).or_default().0 += cost;
    }
    for row in rows(
        &db,
        "SELECT coalesce(s.symbol, s.name), p.steps_total FROM function_profile p JOIN function_symbol s USING (function_id)",
    ) {
        let (function, steps) = row.rsplit_once(',').unwrap();
        inclusive.entry(name(function)).or_default().1 += steps.parse::<i64>().unwrap();
    }
    let mut compared = 0;
    let mut differ = Vec::new();
    for (function, &(callgrind, addfg)) in
        inclusive.iter().filter(|i| !left_out.contains(i.0) && !i.0.ends_with("@plt"))
    {
        // What never returned has the end of the run in it, of which callgrind lacks the last
        // block.
        let addfg = if open.contains(function) { addfg - missing } else { addfg };
        compared += 1;
        if callgrind != addfg {
            println!("{function} inclusive: callgrind {callgrind}, addfg {addfg}: not allowed");
            differ.push(function.clone());
        }
    }
    println!(
        "{} of {compared} functions have the same inclusive instructions, {} left out",
        compared - differ.len(),
        left_out.len()
    );
    assert!(compared > 20 && differ.is_empty(), "{differ:?}");
}

/// Functions by the beginnings of their names: which variant glibc takes depends on the processor.
const ALLOWED: [(&str, &str); 7] = [
    (
        "frame_dummy",
        "it ends with a jump to register_tm_clones, and callgrind knows neither by name: it goes on counting for the first",
    ),
    ("register_tm_clones", "the other side of frame_dummy"),
    (
        "__strdup",
        "it ends with a jump to memcpy's PLT stub: callgrind counts the stub for it, addfg for the caller of what was replaced",
    ),
    ("fillin_rpath", "the other side of strdup"),
    (
        "__memcpy_",
        "mempcpy jumps into the middle of memcpy: callgrind goes on counting for the function that jumped",
    ),
    ("__mempcpy_", "the other side of memcpy"),
    ("_exit", "the run ends in a system call: callgrind does not count the block that it is in"),
];
/// Callers, callees.
const CALLS_ALLOWED: [(&str, &str, &str); 2] = [
    (
        "__mempcpy_",
        "__memcpy_",
        "mempcpy jumps into the middle of memcpy, which is no call for callgrind",
    ),
    ("frame_dummy", "register_tm_clones", "callgrind knows neither by name"),
];

#[test]
fn cells_between_groups_are_counted_once() {
    // Each function a group of its own has the addresses of the graph of functions.
    let scratch = Scratch::new("cells");
    let connection = open(&example(&scratch, "jpeg", "pairs"));
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
        .filter(|n| n.kind != addfg::graph::NodeKind::Pseudo)
        .filter_map(|n| match n.id {
            NodeId::Function(id) => Some((n.name.clone(), vec![id])),
            _ => None,
        })
        .collect();
    let grouped = load(&connection, &Selection { groups, ..all }).unwrap();
    let cells = |graph: &Graph| -> BTreeMap<(String, String), Vec<(String, Option<i64>)>> {
        let name = |i: petgraph::graph::NodeIndex| graph.graph[i].name.clone();
        let pseudo =
            |i: petgraph::graph::NodeIndex| graph.graph[i].kind == addfg::graph::NodeKind::Pseudo;
        let edges = graph.edges().into_iter().filter(|e| !pseudo(e.0));
        edges
            .filter_map(|(a, b, e)| match &e.kind {
                addfg::graph::EdgeKind::Data(flows) => Some((
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

#[test]
fn hostile_text_in_every_place_of_a_picture() {
    use addfg::graph::{Change, Edge, EdgeKind, Flow, Node, NodeKind, Via};
    let long = "x".repeat(10_000);
    let hostile = [
        "\"quoted\"",
        "a\nb",
        "<b>bold</b>",
        "\\n\\N\\G\\",
        "]]>",
        "&lt;&#0;&",
        "-->",
        "\u{0}\u{1b}[31m",
        "}; x -> y [label=\"",
        &long,
        "",
        "<TABLE>",
        "\u{202e}",
        "--",
        "é\u{fffe}",
    ];
    let mut graph = Graph::new(Level::Line);
    graph.title = Some(hostile.join(" "));
    graph.left_out = hostile.iter().map(|h| (*h).to_owned()).collect();
    let mut before = None;
    for (i, text) in hostile.iter().enumerate() {
        let own = |n: usize| hostile[(i + n) % hostile.len()].to_owned();
        let kinds = [
            NodeKind::Line,
            NodeKind::Pseudo,
            NodeKind::Block,
            NodeKind::File,
            NodeKind::Context,
            NodeKind::Group,
        ];
        let node = Node {
            id: NodeId::listed(i),
            name: (*text).to_owned(),
            kind: kinds[i % kinds.len()],
            text: vec![own(1), own(2)],
            function: (i % 3 == 0).then(|| own(3)),
            file: Some(own(4)),
            image: Some(own(5)),
            change: if i % 2 == 0 { Change::Grown } else { Change::Same },
            steps_self: Some(1),
            members: 1,
            ..Node::default()
        };
        let at = graph.graph.add_node(node);
        let flow =
            Flow { via: Via::Heap, bytes: 9, unique_bytes: None, addresses: None, transfers: None };
        if let Some(before) = before.replace(at) {
            graph.graph.add_edge(before, at, Edge::new(EdgeKind::Data(vec![flow])));
            graph.graph.add_edge(at, before, Edge::new(EdgeKind::Control));
        }
    }
    let json: serde_json::Value =
        serde_json::from_str(&addfg::render::json::render(&graph)).unwrap();
    assert_eq!(json["nodes"].as_array().unwrap().len(), hostile.len());
    for text in [addfg::render::dot::render(&graph), addfg::render::dot::render_for_layout(&graph)]
    {
        match addfg::render::layout::draw(&text, "svg") {
            Ok(svg) => {
                let svg = String::from_utf8(svg).unwrap();
                assert_eq!(svg.matches("class=\"node\"").count(), hostile.len());
                assert!(
                    !svg.contains("<b>bold")
                        && !svg.contains('\u{1b}')
                        && !svg.contains('\u{202e}')
                );
            }
            Err(addfg::render::layout::LayoutError::Missing) => {
                println!("skipped: dot is not installed")
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Graphviz 2.43 gives up on the call instances of the JPEG example unless it ranks them without
/// regard to clusters.
#[test]
fn every_level_of_the_example_is_drawn() {
    if !have("dot") {
        return;
    }
    let scratch = Scratch::new("drawn");
    for name in ["fir", "jpeg"] {
        let db = example(&scratch, name, "pairs");
        for level in
            ["instance", "context", "function", "file", "line", "loop", "block", "image", "thread"]
        {
            let svg = ok(&["graph", db.to_str().unwrap(), "--level", level, "--format", "svg"]);
            assert!(svg.contains("class=\"node\""), "{name}, {level}");
        }
    }
}

#[test]
fn a_large_graph_is_laid_out_in_seconds() {
    if !have("dot") {
        return;
    }
    let scratch = Scratch::new("large");
    let db = scratch.path("large.duckdb");
    fixture_db::large(&db);
    let start = std::time::Instant::now();
    let picture = scratch.path("large.svg");
    ok(&["graph", db.to_str().unwrap(), "-o", picture.to_str().unwrap()]);
    let seconds = start.elapsed().as_secs_f64();
    println!("5,000 functions, 100,000 edges: {seconds:.1} s");
    assert!(seconds < 20.0, "{seconds} s");
    assert!(std::fs::metadata(picture).unwrap().len() < 200_000);
}
