//! The library as other programs use it, and its examples.

use crate::common::*;
use addfg::{
    Database, Detail, EdgeKind, Error, Format, Header, InstructionSet, Level, Selection, Step,
    Steps, Trace, Value, Via,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::BufRead;
use std::path::Path;
use std::process::Command;

/// An example program, which `cargo test` has built.
fn example_program(name: &str, arguments: &[&Path]) -> String {
    let beside = Path::new(env!("CARGO_BIN_EXE_addfg")).with_file_name("examples");
    let output = Command::new(beside.join(name)).args(arguments).output().expect("runs");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The first rows that only one of two lists has.
fn differ(one: &[String], other: &[String]) -> Vec<String> {
    let only = |a: &[String], b: &[String], mark: char| {
        let rows = a.iter().filter(|row| !b.contains(row));
        rows.take(5).map(|row| format!("{mark} {row}")).collect::<Vec<_>>()
    };
    [only(one, other, '+'), only(other, one, '-')].concat()
}

/// Sums as a database has them and as the library gives them.
fn agree(log: &Path, elf: &Path, db: &Path) {
    let found = Trace::new(log).elf(elf).flows().expect("sums");
    let name = |at: usize| found.functions[at].name.as_str();
    let flows = found.flows.iter().map(|f| {
        let via = format!("{:?}", f.via).to_lowercase();
        let (from, to) = (name(f.writer), name(f.reader));
        format!("{from},{to},{via},{},{},{},{}", f.bytes, f.unique_bytes, f.addresses, f.transfers)
    });
    let mut flows: Vec<String> = flows.collect();
    let calls = found.calls.iter().map(|c| {
        let caller = c.caller.map_or("NULL", name);
        format!("{caller},{},{},{}", name(c.callee), c.calls, c.steps)
    });
    let mut calls: Vec<String> = calls.collect();
    let database = Database::open(db).expect("opens");
    let cell = |value: &Value| match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(n) => n.to_string(),
        Value::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    let stored = |sql: &str| -> Vec<String> {
        let rows = database.query(sql, &[]).expect("a query").rows;
        let text = |row: &Vec<Value>| row.iter().map(cell).collect::<Vec<_>>().join(",");
        let mut rows: Vec<String> = rows.iter().map(text).collect();
        rows.sort();
        rows
    };
    flows.sort();
    calls.sort();
    let of_flows = "SELECT w.name, r.name, via, bytes, unique_bytes, addresses, transfers
                    FROM function_edge
                    JOIN function_symbol w ON w.function_id = writer_function_id
                    JOIN function_symbol r ON r.function_id = reader_function_id";
    let of_calls = "SELECT c.name, f.name, calls, steps FROM call_edge
                    LEFT JOIN function_symbol c ON c.function_id = caller_function_id
                    JOIN function_symbol f ON f.function_id = callee_function_id";
    assert_eq!(differ(&flows, &stored(of_flows)), [""; 0], "{}", log.display());
    // Kinds of calls are apart in the database.
    assert_eq!(differ(&calls, &stored(of_calls)), [""; 0], "{}", log.display());
    let profiles = "SELECT name, calls, steps_self, steps_total FROM function_profile
                    JOIN function_symbol USING (function_id)";
    let ran = found.functions.iter().filter(|f| f.calls > 0);
    let mut own: Vec<String> =
        ran.map(|f| format!("{},{},{},{}", f.name, f.calls, f.steps_self, f.steps_total)).collect();
    own.sort();
    assert_eq!(differ(&own, &stored(profiles)), [""; 0], "{}", log.display());
    let steps = database.query("SELECT value FROM meta WHERE key = 'steps'", &[]).unwrap();
    assert_eq!(steps.rows[0][0], Value::Text(found.steps.to_string()));
}

#[test]
fn sums_without_a_database_are_those_of_one() {
    for name in ["fir", "jpeg"] {
        let [log, elf] = example_files(name);
        agree(&log, &elf, &example(name, "summary"));
    }
    let Some([elf, log]) = recording("strings.c", "gcc", &["-O1"]) else { return };
    let scratch = Scratch::new("api-sums");
    let db = scratch.path("strings.duckdb");
    Trace::new(&log).elf(&elf).detail(Detail::Summary).build(&db).expect("builds");
    agree(&log, &elf, &db);
}

#[test]
fn every_instruction_is_read() {
    let [log, elf] = example_files("fir");
    let db = example("fir", "pairs");
    let (mut steps, mut bytes) = (0, [0, 0]);
    let read = Trace::new(&log).elf(&elf).read(|step| {
        steps += 1;
        assert_eq!(step.number, steps);
        for access in step.accesses {
            bytes[usize::from(access.is_write)] += u64::from(access.bytes);
        }
        Ok(())
    });
    assert!(read.expect("reads").is_empty());
    let sql = "SELECT (SELECT value FROM meta WHERE key = 'steps'),
                      sum(size) FILTER (NOT is_write), sum(size) FILTER (is_write)
               FROM data_access WHERE space = 'memory'";
    assert_eq!(rows(&db, sql), [format!("{steps},{},{}", bytes[0], bytes[1])]);
    let stopped = Trace::new(&log).read(|step| match step.number {
        10 => Err(Error::new("enough")),
        _ => Ok(()),
    });
    assert_eq!(stopped.unwrap_err().to_string(), "enough");
}

/// The log of a format that `examples/format.rs` reads, from what the library reads of a trace.
fn plain(log: &Path, elf: &Path) -> String {
    let mut text = String::new();
    let read = Trace::new(log).elf(elf).read(|step| {
        write!(text, "{:x} -", step.address).unwrap();
        for access in step.accesses {
            let kind = if access.is_write { 'W' } else { 'R' };
            write!(text, " {kind} {:x} {:x}", access.address, access.bytes).unwrap();
        }
        text.push('\n');
        Ok(())
    });
    read.expect("reads");
    text
}

#[test]
fn the_examples_run() {
    let beside = Path::new(env!("CARGO_BIN_EXE_addfg")).with_file_name("examples");
    if !["flows", "question", "format"].iter().all(|name| beside.join(name).exists()) {
        return skipped("the library's examples: `cargo build --release --examples` makes them");
    }
    let scratch = Scratch::new("api-examples");
    let [log, elf] = example_files("fir");
    let flows = example_program("flows", &[&log, &elf]);
    assert!(flows.contains("401 steps") && flows.contains("80 bytes  produce -> fir"), "{flows}");
    let db = scratch.path("fir.duckdb");
    for first in [true, false] {
        let said = example_program("question", &[&log, &elf, &db]);
        assert_eq!(said.contains("401 steps of format lackey"), first, "{said}");
        assert!(said.contains(r#"[Text("fir"), Integer(5)"#), "{said}");
    }
    // A format of one's own gives what the trace gives that it was made of.
    let own = scratch.write("plain.log", plain(&log, &elf));
    let found = Trace::new(&log).elf(&elf).flows().expect("sums");
    let mut lines: Vec<String> = found
        .flows
        .iter()
        .map(|f| {
            let [from, to] = [f.writer, f.reader].map(|at| &found.functions[at].name);
            format!("{from} -> {to}: {} bytes", f.bytes)
        })
        .collect();
    let said = example_program("format", &[&own, &elf]);
    let mut said: Vec<&str> = said.lines().collect();
    lines.sort();
    said.sort();
    assert_eq!(said, lines);
    let damaged = std::fs::read_to_string(&own).unwrap() + "4010 zz\nthis\n";
    let own = scratch.write("damaged.log", damaged);
    let said = example_program("format", &[&own, &elf]);
    let last = said.lines().last().unwrap();
    assert!(last.contains("damaged.log:402: this is not") && last.ends_with("(2 times)"), "{last}");
}

/// Lines that are numbers: each an address of an ARM `mov r0, r0` with a value of `sp`.
struct Numbers {
    header: Option<Header>,
    fails_at: u64,
}

impl Format for Numbers {
    fn name(&self) -> &'static str {
        "numbers"
    }
    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(b"numbers\n")
    }
    fn read(&self, input: &mut dyn BufRead, steps: &mut Steps<'_>) -> Result<(), Error> {
        if let Some(header) = self.header {
            steps.begin(header)?;
        }
        for (number, line) in (1..).zip(input.lines()).skip(1) {
            let Ok(address) = line?.parse() else {
                steps.problem(number, "no number");
                continue;
            };
            if number == self.fails_at {
                return Err(Error::new("the format gave up"));
            }
            let step = Step::new(address).line(number).opcode(&[0, 0, 0xa0, 0xe1]);
            steps.step(&step.register("sp", 0x1000).register("nonsense", 1))?;
        }
        Ok(())
    }
}

#[test]
fn a_format_of_ones_own_fails_as_any_other() {
    let arm = Some(Header::new().instruction_set(InstructionSet::Arm).registers_before());
    static GOOD: std::sync::OnceLock<Numbers> = std::sync::OnceLock::new();
    let good: &'static Numbers = GOOD.get_or_init(|| Numbers { header: arm, fails_at: 0 });
    let read = |text: &str, format: &'static Numbers| {
        let input = std::io::Cursor::new(text.to_owned().into_bytes());
        Trace::from_reader("log", input).format(format).flows()
    };
    let found = read("numbers\n32768\n32772\nx\n32776\ny\n", good).expect("reads");
    assert_eq!(found.steps, 3);
    let problems: Vec<_> = found.problems.iter().map(|p| (p.code, &*p.position, p.count)).collect();
    let named = ("nameless-run", "", 1);
    assert_eq!(problems, [named, ("unread-line", "log:2", 5)], "{:?}", found.problems);
    let empty = read("numbers\nx\n", good).unwrap_err().to_string();
    assert_eq!(empty, "log: no instruction in it; record again");
    for (header, fails_at, text) in [
        (None, 0, "log: a step before Steps::begin"),
        (Some(Header::new()), 0, "the trace does not tell its instruction set"),
        (arm, 2, "the format gave up"),
    ] {
        let format: &'static Numbers = Box::leak(Box::new(Numbers { header, fails_at }));
        let error = read("numbers\n32768\n", format).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    // Formats of addfg's go on to be known beside it.
    let [log, elf] = example_files("fir");
    assert_eq!(Trace::new(&log).elf(&elf).format(good).flows().expect("lackey").steps, 401);
}

#[test]
fn a_database_is_asked_and_drawn() {
    let database = Database::open(example("jpeg", "summary")).expect("opens");
    let one = database.query("SELECT ?, ?, NULL, 1.5::DOUBLE, [1, 2]", &[7.into(), "x".into()]);
    let one = one.expect("values");
    let x = Value::Text("x".into());
    let list = Value::Text("[1, 2]".into());
    assert_eq!(one.rows, [vec![7.into(), x, Value::Null, Value::Float(1.5), list]]);
    // Rows that are kept packed are made.
    let calls = database.query("SELECT count(*) FROM function_call", &[]).expect("calls");
    assert_ne!(calls.rows[0][0], Value::Integer(0));
    for (sql, text) in [
        ("DELETE FROM meta", "read"),
        ("DROP TABLE meta", "read"),
        ("CREATE TEMP TABLE x AS SELECT 1", "read"),
        ("COPY meta TO '/tmp/x.csv'", ""),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELEC 1", "syntax error"),
    ] {
        let error = database.query(sql, &[]).expect_err(sql).to_string();
        assert!(error.contains(text), "{sql}: {error}");
    }
    let named = database.named("hot_functions", &["3"]).expect("a query with a name");
    assert_eq!(named.rows.len(), 3);
    assert!(database.named("hot_function", &[]).unwrap_err().to_string().contains("hot_functions"));
    let graph = database.graph(&Selection::default().top(5)).expect("a graph");
    let nodes: Vec<_> = graph.nodes().collect();
    assert!(!graph.left_out().is_empty() && graph.to_dot().starts_with("digraph"));
    let mut bytes: BTreeMap<&str, i64> = BTreeMap::new();
    for edge in graph.edges() {
        if let EdgeKind::Data { bytes: n, via: Via::Stack, .. } = edge.kind {
            *bytes.entry(nodes[edge.to].name).or_default() += n;
        }
    }
    assert!(bytes.values().sum::<i64>() > 0);
    let json: serde_json::Value = serde_json::from_str(&graph.to_json()).expect("JSON");
    assert_eq!(json["nodes"].as_array().map(Vec::len), Some(nodes.len()));
    let around = Selection::new(Level::Instance).focus("main#1", 1);
    assert!(database.graph(&around).expect("calls").nodes().any(|n| n.name == "main#1"));
    let none = database.graph(&Selection::default().focus("no_such_function", 1)).unwrap_err();
    assert!(none.to_string().contains("no_such_function"), "{none}");
    assert!(Database::open("/no/such.duckdb").is_err());
}

#[test]
fn a_build_can_be_interrupted_and_replaces_nothing() {
    let scratch = Scratch::new("api-build");
    let [log, elf] = example_files("fir");
    let db = scratch.path("fir.duckdb");
    let stopped = Trace::new(&log).elf(&elf).progress(|_| true).build(&db);
    assert!(stopped.unwrap_err().to_string().contains("interrupted"));
    assert!(!db.exists());
    let built = Trace::new(&log).elf(&elf).detail(Detail::Summary).build(&db).expect("builds");
    assert_eq!((built.format, built.steps), ("lackey", 401));
    assert!(Trace::new(&log).elf(&elf).build(&db).is_err());
}

/// A database that is dropped is closed, whatever was asked of it: another process may write it.
#[test]
fn a_dropped_database_is_closed() {
    let scratch = Scratch::new("api-closed");
    let file = scratch.copy(&example("fir", "summary"), "fir.duckdb");
    for question in ["FROM communications(NULL, 'fir')", "SELECT count(*) FROM steps(1, 9)"] {
        let database = Database::open(&file).expect("opens");
        assert!(!database.query(question, &[]).expect("answers").rows.is_empty(), "{question}");
        drop(database);
        ok(&["prepare", utf8(&file), "--quiet"]);
    }
}
