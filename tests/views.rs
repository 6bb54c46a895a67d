//! Views: each against a second way to the same figures.

mod common;
use addfg::graph::{Graph, Level, Selection, load};
use addfg::replay::control::{control_dependences, immediate_dominators, loops};
use addfg::replay::dataflow::{Communication, communications};
use addfg::replay::{Code, critical::critical_path};
use common::*;
use duckdb::Connection;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

fn example(scratch: &Scratch, name: &str, detail: &str) -> PathBuf {
    let db = scratch.path(&format!("{name}-{detail}.duckdb"));
    let (log, elf) = (repository(&format!("examples/{name}/{name}.log.xz")), repository(&format!("examples/{name}/{name}")));
    let arguments = [log.to_str().unwrap(), "--elf", elf.to_str().unwrap(), "-o", db.to_str().unwrap()];
    ok(&[&["build"], &arguments[..], &["--quiet", "--detail", detail]].concat());
    db
}

fn open(db: &Path) -> Connection {
    addfg::store::open::open(db, false).expect("opens")
}

/// Everything, nothing merged or left out.
fn whole(level: Level) -> Selection {
    Selection { level, top: usize::MAX / 8, min_bytes: Some(0), stubs: true, range: Some((1, i64::MAX)), ..Selection::default() }
}

/// (bytes, transfers) on edges and within nodes.
fn sums(graph: &Graph) -> (i64, i64) {
    use addfg::graph::EdgeKind;
    let edges = graph.edges().into_iter().filter_map(|e| if let EdgeKind::Data(f) = &e.2.kind { Some(f.clone()) } else { None });
    let flows: Vec<_> = edges.flatten().chain(graph.graph.node_weights().flat_map(|n| n.local.clone())).collect();
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
        for level in Level::ALL.into_iter().filter(|&l| l != Level::Step || name == "fir") {
            let graph = load(&connection, &whole(level)).unwrap();
            assert_eq!(sums(&graph), expected, "{name}: {}", level.name());
            let steps: i64 = graph.graph.node_weights().filter_map(|n| n.steps_self).sum();
            // Steps without data are not drawn.
            assert!(steps == function.steps || level == Level::Step && steps > 0, "{name}: steps at level {}", level.name());
        }
        // Bottom-up: parts of functions, merged by function, are the graph of functions.
        for level in [Level::Instruction, Level::Block, Level::Line, Level::Loop] {
            let graph = load(&connection, &whole(level)).unwrap();
            assert_eq!(by_function(&graph), by_function(&function), "{name}: {}", level.name());
        }
        let filter = addfg::graph::resolve_function(&connection, if name == "fir" { "fir" } else { "stbi__idct_block" }).unwrap();
        let mixed = load(&connection, &Selection { expand: vec![filter.function_id], ..whole(Level::Function) }).unwrap();
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
    let sql = "SELECT write_seq, coalesce(write_ordinal, 0)::USMALLINT, read_seq, read_ordinal, space = 'register', address, bytes
               FROM communication";
    let mut statement = connection.prepare(sql).unwrap();
    let row = |r: &duckdb::Row| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?, r.get(6)?));
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
    for (program, flags) in [("recursion", "-O2"), ("longjmp", "-O1"), ("structs", "-O0"), ("floats", "-O2"), ("signal", "-O1")] {
        let (elf, log, db) = (scratch.path(program), scratch.path("log"), scratch.path("p.duckdb"));
        if compile("gcc", &format!("{program}.c"), &[flags], &elf) {
            lackey(&elf, &log);
            let path = |p: &Path| p.to_str().unwrap().to_owned();
            ok(&["build", &path(&log), "--elf", &path(&elf), "-o", &path(&db), "--detail", "full", "--force", "--quiet"]);
            let connection = open(&db);
            let (again, first) = (replayed(&connection), kept(&connection));
            let differ = again.iter().zip(&first).find(|(a, b)| a != b);
            assert!(again.len() == first.len() && differ.is_none(), "{program}: {} {} {differ:?}", again.len(), first.len());
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
            let longest = writes.iter().map(|w| depth.get(w).copied().unwrap_or(1)).max().unwrap_or(0);
            depth.insert(read, longest + 1);
        }
        let path = critical_path(&Code::open(&connection).unwrap(), &connection).unwrap();
        assert_eq!(path.length, depth.values().copied().max().unwrap(), "{name}");
        assert_eq!(path.by_function.values().sum::<u64>(), path.length, "{name}: every step of it has a function");
        assert_eq!(path.by_call.values().map(|c| c.1).sum::<u64>(), path.length);
    }
}

/// The rows behind this were counted by hand: of 15 iterations of fir's loop that are not the first, each reads rbx twice, rbp twice
/// (8 bytes each) and r12d (4) as the one before left them: 36 bytes. checksum: 7 x (rdx twice, ecx); filter: 4 x rbx three times.
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
    let graph = load(&open(&db), &Selection { control: true, ..whole(Level::Loop) }).unwrap();
    let carried: i64 = graph.graph.node_weights().map(|n| n.carried).sum::<i64>() + graph.edges().iter().map(|e| e.2.carried).sum::<i64>();
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

    /// Natural loops of back edges, by dominators; where the graph is irreducible, those at least that are not marked so.
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
    let line = |mark: &str| format!("planted.c:{}", 1 + source.lines().position(|l| l.contains(mark)).unwrap());
    for flags in ["-O0", "-O1", "-O2"] {
        let Some(db) = record(&scratch, "planted", &[flags]) else { return };
        let lines = |arguments: &[&str]| -> BTreeSet<String> {
            let text = ok(&[&["slice", &db, "--group", "--limit", "0", "--format", "csv"], arguments].concat());
            text.lines().filter_map(|l| l.rsplit(',').next()).map(str::to_owned).collect()
        };
        // What main returns depends on the table through a branch only.
        let (symptom, decides, planted, innocent) = (line("symptom"), line("decides"), line("planted */"), line("innocent"));
        let slice = lines(&["--at", &decides, "--control"]);
        assert!(slice.contains(&planted) && !slice.contains(&innocent), "{flags}: {slice:?}");
        let with_control = lines(&["--at", &symptom, "--control"]);
        assert!(with_control.contains(&planted), "{flags}: {with_control:?}");
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
                let text = ok(&["slice", db.to_str().unwrap(), "--at", &at.to_string(), way, "--limit", "0", "--format", "csv"]);
                let found: BTreeSet<i64> = text.lines().skip(1).map(|l| l.split(',').next().unwrap().parse().unwrap()).collect();
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
    assert!(there.contains("function,checksum,,,53,24583,grown\n") && there.contains("data,produce,fir,global,80,,gone\n"), "{there}");
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
        let sum: i64 = text.lines().skip(1).flat_map(|l| l.split(',').skip(1).map(|n| n.parse::<i64>().unwrap()).collect::<Vec<_>>()).sum();
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
    let field = |name: &str| tree.as_array().unwrap().iter().map(|r| r[name].as_i64().unwrap()).sum::<i64>();
    let expected = rows(&db, "SELECT (SELECT max(value) FROM meta WHERE key = 'steps'), (SELECT count(*) FROM function_call)");
    assert_eq!(format!("{},{}", field("steps_self"), field("calls")), expected[0]);
    insta::assert_snapshot!("call_tree", ok(&["calls", db.to_str().unwrap(), "--tree", "--min", "5"]));
}

#[test]
fn the_memory_profile_against_sql() {
    let scratch = Scratch::new("memory");
    for name in ["fir", "jpeg"] {
        let db = example(&scratch, name, "pairs");
        let text = ok(&["memory", db.to_str().unwrap(), "--format", "json"]);
        let table: serde_json::Value = serde_json::from_str(&text).unwrap();
        let field = |name: &str| table.as_array().unwrap().iter().map(|r| r[name].as_i64().unwrap_or(0)).sum::<i64>();
        let found = ["reads", "read_bytes", "writes", "written_bytes", "distinct_bytes"].map(field).map(|n| n.to_string()).join(",");
        let sql = "SELECT count(*) FILTER (NOT is_write), sum(size) FILTER (NOT is_write), count(*) FILTER (is_write),
                          sum(size) FILTER (is_write), (SELECT count(DISTINCT address + o) FROM data_access, unnest(range(size::BIGINT)::UBIGINT[]) t(o)
                                                        WHERE space = 'memory')
                   FROM data_access WHERE space = 'memory'";
        assert_eq!(found, rows(&db, sql)[0], "{name}");
    }
    // Reuse distances, naively: distinct other lines between two accesses to a line.
    let db = example(&scratch, "fir", "instance");
    assert_eq!(addfg(&["memory", db.to_str().unwrap()]).status.code(), Some(2), "no steps are kept");
    let db = scratch.path("fir-pairs.duckdb");
    let lines = rows(&db, "SELECT address // 64, (address + size - 1) // 64 FROM data_access WHERE space = 'memory' ORDER BY seq, ordinal");
    let mut touched: Vec<u64> = Vec::new();
    for line in lines {
        let (a, b) = line.split_once(',').unwrap();
        touched.extend([a, b].iter().take(if a == b { 1 } else { 2 }).map(|n| n.parse::<u64>().unwrap()));
    }
    let mut expected = BTreeMap::new();
    for (i, line) in touched.iter().enumerate() {
        let class = match touched[..i].iter().rposition(|l| l == line) {
            None => "first access".to_owned(),
            Some(before) => match touched[before + 1..i].iter().collect::<BTreeSet<_>>().len() as u32 {
                n @ 0..=1 => n.to_string(),
                n => {
                    let low = 1u32 << n.ilog2();
                    format!("{low}-{}", 2 * low - 1)
                }
            },
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
    let output = std::process::Command::new("gnuplot").arg("memory.gp").current_dir(&folder).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
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
    assert!(error.contains("fir.dot instead of a picture") && error.contains("install Graphviz"), "{error}");
    assert!(std::fs::read_to_string(scratch.path("fir.dot")).unwrap().starts_with("digraph"));
}

#[test]
fn sources_stay_however_few_nodes_are_drawn() {
    let scratch = Scratch::new("top");
    let connection = open(&example(&scratch, "jpeg", "instance"));
    let graph = load(&connection, &Selection { top: 3, ..Selection::default() }).unwrap();
    assert!(graph.graph.node_weights().any(|n| n.name == "<input>"));
    let full = load(&connection, &whole(Level::Function)).unwrap();
    let few = load(&connection, &Selection { top: 3, min_bytes: Some(0), ..Selection::default() }).unwrap();
    assert_eq!(sums(&few), sums(&full));
}

#[test]
fn groups_are_sums_of_their_functions() {
    let scratch = Scratch::new("groups");
    let db = example(&scratch, "fir", "instance");
    let graph = ok(&["graph", db.to_str().unwrap(), "--group", "core=fir,multiply", "--format", "json", "--min-bytes", "0"]);
    let graph: serde_json::Value = serde_json::from_str(&graph).unwrap();
    let id = |name: &str| graph["nodes"].as_array().unwrap().iter().find(|n| n["name"] == name).unwrap()["id"].clone();
    let edge = |a: &str, b: &str| {
        let (a, b) = (id(a), id(b));
        let found = graph["edges"].as_array().unwrap().iter().find(|e| e["from"] == a && e["to"] == b && e["kind"] == "data");
        found.unwrap()["bytes"].as_i64().unwrap()
    };
    assert_eq!((edge("produce", "core"), edge("filter", "core"), edge("core", "filter")), (80, 40, 20));
    let core = graph["nodes"].as_array().unwrap().iter().find(|n| n["name"] == "core").unwrap().clone();
    // fir to itself 1100, fir to multiply 160 and back 80, multiply to itself 80.
    assert_eq!(core["local_bytes"], 1100 + 160 + 80 + 80);
}
