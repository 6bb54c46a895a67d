//! What the end-to-end tests share.
#![allow(dead_code)]

pub mod browser;
pub mod fixture_db;
pub mod program;
pub mod xray;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of its own for a test, removed when dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("addfg-test-{process}-{number}-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("temporary folder");
        Scratch(folder)
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs the program.
pub fn addfg(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_addfg")).args(arguments).output().expect("addfg runs")
}

/// Runs the program and expects exit code 0; gives what it printed.
pub fn ok(arguments: &[&str]) -> String {
    let output = addfg(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "addfg {arguments:?}: {:?}: {error}{printed}",
        output.status.code()
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Whether a tool is installed; says what is skipped if not.
pub fn have(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        println!("skipped: {tool} is not installed");
    }
    found
}

/// The rows of a query as CSV without the header.
pub fn rows(database: &Path, sql: &str) -> Vec<String> {
    let text = ok(&["sql", database.to_str().expect("UTF-8"), sql, "--format", "csv"]);
    text.lines().skip(1).map(str::to_owned).collect()
}

/// Flags for a program without a C library.
pub const BARE: [&str; 8] = [
    "-O1",
    "-nostdlib",
    "-fno-pie",
    "-no-pie",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-ffreestanding",
    "-fno-tree-loop-distribute-patterns",
];

/// Compiles a program of tests/programs statically; None where that is not possible.
pub fn compile(compiler: &str, program: &str, flags: &[&str], output: &Path) -> bool {
    if !have(compiler) {
        return false;
    }
    let source = repository(&format!("tests/programs/{program}"));
    let status = Command::new(compiler)
        .args(["-g", "-static"])
        .args(flags)
        .arg("-o")
        .arg(output)
        .arg(source)
        .arg("-lm")
        .status();
    assert!(status.expect("compiler runs").success(), "{compiler} {program}");
    true
}

/// Records a program with lackey.
pub fn lackey(program: &Path, log: &Path) {
    let status = Command::new("valgrind")
        .args(["--vex-guest-chase=no", "--tool=lackey", "--trace-mem=yes"])
        .arg(format!("--log-file={}", log.display()))
        .arg(program)
        .output();
    status.expect("valgrind runs");
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
    addfg::graph::prepare_merged(connection, addfg::graph::Stubs::Fold).unwrap();
    connection
        .execute_batch(&format!(
            "CREATE OR REPLACE TEMP TABLE largest AS {};
             CREATE OR REPLACE TEMP TABLE near AS SELECT call_id::BIGINT AS node, 0 AS distance FROM largest
                 UNION ALL SELECT -function_id, 0 FROM function_symbol WHERE kind = 'pseudo';",
            report!("instance_top")
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
