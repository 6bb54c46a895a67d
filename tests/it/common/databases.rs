//! Databases: how they are built, and those of the examples, which are built once for each detail.

use super::{Scratch, addfg, fixture_db, ok, repository, said, shared_folder, utf8};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

/// The log and the program of an example.
pub fn example_files(name: &str) -> [PathBuf; 2] {
    let folder = repository("examples").join(name);
    [folder.join(format!("{name}.log.xz")), folder.join(name)]
}

/// `addfg build` of these traces: exit code and what it said.
pub fn build(db: &Path, traces: &[&Path], more: &[&str]) -> (i32, String) {
    let mut arguments = vec!["build", "-o", utf8(db)];
    arguments.extend(traces.iter().map(|t| utf8(t)));
    arguments.extend(more);
    let output = addfg(&arguments);
    (output.status.code().unwrap_or(-1), said(&output))
}

/// [`build`] into a scratch folder, over what was there; gives the database, too.
pub fn build_in(scratch: &Scratch, traces: &[&Path], more: &[&str]) -> (i32, String, PathBuf) {
    let db = scratch.path("out.duckdb");
    let (code, error) = build(&db, traces, &[&["--force"], more].concat());
    (code, error, db)
}

/// Builds with a program, over what was there, and expects exit code 0.
pub fn load(log: &Path, elf: &Path, db: &Path, more: &[&str]) {
    let fixed = ["build", utf8(log), "--elf", utf8(elf), "-o", utf8(db), "--force", "--quiet"];
    ok(&[&fixed[..], more].concat());
}

/// A file that tests only read, made by the first that asks for it.
pub fn shared(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    static MADE: Mutex<BTreeMap<String, Arc<OnceLock<()>>>> = Mutex::new(BTreeMap::new());
    let path = shared_folder().join(name);
    let once = MADE.lock().expect("no panic within").entry(name.to_owned()).or_default().clone();
    once.get_or_init(|| make(&path));
    path
}

/// The options of a detail, or of `sums`, which is `summary` without the packed run, and of `rows`, which is
/// `pairs` without it.
pub fn kept(detail: &str) -> Vec<&str> {
    match detail {
        "sums" => vec!["--detail", "summary", "--no-steps"],
        "rows" => vec!["--detail", "pairs", "--no-steps"],
        detail => vec!["--detail", detail],
    }
}

/// The database of an example, see [`kept`]. It is shared: a test that changes it copies it.
pub fn example(name: &str, detail: &str) -> PathBuf {
    shared(&format!("{name}-{detail}.duckdb"), |db| {
        let [log, elf] = example_files(name);
        load(&log, &elf, db, &kept(detail));
    })
}

/// An example as SQLite.
pub fn example_sqlite(name: &str) -> PathBuf {
    shared(&format!("{name}.sqlite"), |sqlite| to_sqlite(&example(name, "pairs"), sqlite))
}

pub fn to_sqlite(db: &Path, sqlite: &Path) {
    ok(&["export", utf8(db), "--to", "sqlite", "-o", utf8(sqlite), "--quiet", "--force"]);
}

/// [`fixture_db::small`].
pub fn small() -> PathBuf {
    shared("small.duckdb", fixture_db::small)
}

/// [`fixture_db::large`].
pub fn large() -> PathBuf {
    shared("large.duckdb", fixture_db::large)
}

/// Changes a database by SQL, in a process of its own.
pub fn change(db: &Path, sql: &str) {
    ok(&["sql", utf8(db), sql, "--write"]);
}

/// Whether the view of the `top` largest call instances is the same from what is kept for it as
/// from all call instances.
pub fn top_agrees(connection: &duckdb::Connection, top: usize) {
    let query =
        |sql: &'static str| sql.trim_end().trim_end_matches(';').replace("$1", &top.to_string());
    macro_rules! report {
        ($name:literal) => {
            query(include_str!(concat!("../../../queries/report/", $name, ".sql")))
        };
    }
    addfg::internals::graph::prepare_merged(connection, addfg::internals::graph::Stubs::Fold)
        .unwrap();
    connection
        .execute_batch(&format!(
            "CREATE OR REPLACE TEMP TABLE largest AS {};
             CREATE OR REPLACE TEMP TABLE near AS SELECT call_id::BIGINT AS node, 0 AS distance FROM largest
                 UNION ALL SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo';
             {}",
            report!("instance_top"),
            addfg::internals::store::NEAR_FLOWS,
        ))
        .unwrap();
    let kept =
        format!("SELECT call_id, share FROM top_call ORDER BY share DESC, call_id LIMIT {top}");
    let nodes = "SELECT * EXCLUDE (share) FROM top_call WHERE call_id IN (SELECT node FROM near)"
        .to_owned();
    for (a, b) in [
        ("FROM largest".to_owned(), kept),
        (report!("instance_self"), nodes),
        (report!("instance_calls"), report!("top_calls")),
    ] {
        let sql = format!(
            "SELECT count(*) FROM ((FROM ({a}) EXCEPT ALL FROM ({b})) UNION ALL (FROM ({b}) EXCEPT ALL FROM ({a})))"
        );
        let different: i64 = connection.query_row(&sql, [], |r| r.get(0)).unwrap();
        assert_eq!(different, 0, "top {top}: {a}");
    }
    // Where stubs were merged unique bytes are unknown: one way sees other ones merged than the
    // other.
    let sql = format!(
        "SELECT count(*) FROM ({}) a FULL JOIN ({}) b USING (writer, reader, via)
         WHERE (a.bytes, a.transfers) IS DISTINCT FROM (b.bytes, b.transfers)
            OR a.unique_bytes <> b.unique_bytes",
        report!("instance_data"),
        report!("top_data")
    );
    let different: i64 = connection.query_row(&sql, [], |r| r.get(0)).unwrap();
    assert_eq!(different, 0, "top {top}: data");
}

/// The calling contexts that the build stored are those of all call instances: written down here by
/// their chains, as plainly as can be.
pub fn contexts_agree(connection: &duckdb::Connection) {
    use addfg::internals::graph::{Stubs, prepare_merged, stored_contexts};
    use std::collections::{BTreeMap, HashMap};
    prepare_merged(connection, Stubs::Fold).unwrap();
    let sql = include_str!("../../../queries/report/call_rows.sql");
    let mut statement = connection.prepare(sql).unwrap();
    let mut calls = statement.query([]).unwrap();
    let mut chains: HashMap<i64, Vec<i64>> = HashMap::new();
    let mut walked: BTreeMap<Vec<i64>, (i64, i64)> = BTreeMap::new();
    while let Some(r) = calls.next().unwrap() {
        let caller: Option<i64> = r.get(2).unwrap();
        let mut chain = caller.map(|c| chains[&c].clone()).unwrap_or_default();
        chain.push(r.get(1).unwrap());
        chain.truncate(1000);
        let figures = walked.entry(chain.clone()).or_default();
        *figures = (figures.0 + 1, figures.1 + r.get::<_, Option<i64>>(4).unwrap().unwrap_or(0));
        chains.insert(r.get(0).unwrap(), chain);
    }
    let list = stored_contexts(connection).unwrap().expect("contexts are stored");
    let chain = |mut at: usize| {
        let mut chain = vec![i64::from(list[at].function_id.column())];
        while let Some(parent) = list[at].parent {
            chain.insert(0, i64::from(list[parent].function_id.column()));
            at = parent;
        }
        chain
    };
    let figures = |i: usize| (chain(i), (list[i].calls, list[i].steps_self));
    let stored: BTreeMap<_, _> = (0..list.len()).map(figures).collect();
    assert_eq!(stored.len(), list.len());
    assert_eq!(stored, walked);
}
