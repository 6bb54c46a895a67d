//! An address is one thing in one process at one time, and another one in another process or later.

use crate::common::{Scratch, have, ok, open, printed, repository, rows, said, skipped, utf8};
use crate::emulated::nothing_comes_from_the_handler;
use crate::record::record;
use crate::views::{kept, replayed};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program of `tests/programs`; None, said why, where it cannot be recorded.
fn compiled(scratch: &Scratch, source: &Path, name: &str, flags: &[&str]) -> Option<PathBuf> {
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return None;
    }
    let to = scratch.path(name);
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-g"]).args(flags).arg("-o").arg(&to).arg(source);
    assert!(gcc.status().expect("gcc").success());
    Some(to)
}

fn program(name: &str) -> PathBuf {
    repository(&format!("tests/programs/{name}.c"))
}

/// Lines of a command, as CSV without the head.
fn lines(arguments: &[&str]) -> Vec<String> {
    let text = ok(&[arguments, &["--limit", "0", "--format", "csv"]].concat());
    text.lines().skip(1).map(str::to_owned).collect()
}

/// What each column of these names has, of all rows.
fn columns(arguments: &[&str], names: &[&str]) -> Vec<Vec<String>> {
    let text = ok(&[arguments, &["--limit", "0", "--format", "json"]].concat());
    let rows: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let field = |row: &Value, name: &&str| match row.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => panic!("{name}: {row}"),
    };
    rows.iter().map(|row| names.iter().map(|name| field(row, name)).collect()).collect()
}

/// Two libraries, one after the other at the same addresses, with the same code in their loops.
#[test]
fn code_of_a_library_is_its_own_where_another_one_was() {
    let scratch = Scratch::new("whose-code");
    let Some(program) = compiled(&scratch, &program("unload"), "unload", &[]) else { return };
    let library = |name: &str, bytes: u32| {
        let source = format!(
            "long table_{name}[{bytes}];\n\
             __attribute__((noinline)) static void fill_{name}(void) {{ for (int i = 0; i < 100; i++) table_{name}[i] = i; }}\n\
             __attribute__((noinline)) static long sum_{name}(void) {{ long s = 0; for (int i = 0; i < 100; i++) s += table_{name}[i]; return s; }}\n\
             int work(int n) {{ fill_{name}(); return sum_{name}() + n; }}\n"
        );
        let source = scratch.write(&format!("{name}.c"), source);
        compiled(&scratch, &source, &format!("{name}.so"), &["-shared", "-fPIC"])
            .expect("gcc is here")
    };
    let (one, two) = (library("one", 100), library("two", 200));
    let run = [&program, &one, Path::new("work"), &two, Path::new("work"), &one, Path::new("work")]
        .map(utf8);
    let sums = "SELECT s.name, p.calls, p.steps_self > 300 FROM function_profile p JOIN function_symbol s USING (function_id)
                WHERE s.name SIMILAR TO '(fill|sum)_(one|two)' ORDER BY 1";
    let data = "SELECT writer, reader, bytes FROM function_dataflow WHERE via = 'global' AND writer SIMILAR TO 'fill_.*' ORDER BY ALL";
    for more in [&[][..], &["--no-steps"], &["--summed"]] {
        let db = scratch.path("p.duckdb");
        let output = record(&[&["--force", "-q", "-o", utf8(&db)], more].concat(), &run);
        assert!(output.status.success(), "{}", said(&output));
        let calls = ["fill_one,2,true", "fill_two,1,true", "sum_one,2,true", "sum_two,1,true"];
        assert_eq!(rows(&db, sums), calls, "{more:?}");
        assert_eq!(rows(&db, data), ["fill_one,sum_one,1600", "fill_two,sum_two,800"], "{more:?}");
    }
    let db = scratch.path("p.duckdb");
    let biases =
        rows(&db, "SELECT count(DISTINCT bias) FROM image WHERE path SIMILAR TO '.*/(one|two).so'");
    if biases != ["1"] {
        return skipped("whose: both libraries have addresses of their own here");
    }
    for (name, transfers) in [("one", 200), ("two", 100)] {
        let (fill, sum) = (format!("fill_{name}"), format!("sum_{name}"));
        let found = columns(&["flows", utf8(&db), &fill, &sum], &["via", "place"]);
        assert_eq!(found.len(), transfers);
        for (i, row) in found.iter().enumerate() {
            assert_eq!(*row, ["global".to_owned(), format!("table_{name}[{}]", i % 100)]);
        }
        let uses = columns(&["objects", utf8(&db), "--functions", &fill], &["object", "writes"]);
        assert_eq!(uses[0], [format!("table_{name}"), transfers.to_string()]);
        let crossing = lines(&["cut", utf8(&db), &fill, "--show", "objects"]);
        assert!(
            crossing.iter().any(|l| l.starts_with(&format!("out,table_{name},"))),
            "{crossing:?}"
        );
    }
    let drawn = ok(&["memory", utf8(&db), "--limit", "0", "--format", "csv"]);
    assert!(drawn.contains("table_one,") && drawn.contains("table_two,"), "{drawn}");
}

/// A program that another one became after a fork has its own variables, and allocations.
#[test]
fn memory_is_that_of_its_process() {
    let scratch = Scratch::new("whose-memory");
    let make =
        |fruit: &str| compiled(&scratch, &program("apples"), fruit, &[&format!("-DFRUIT={fruit}")]);
    let (Some(apples), Some(pears)) = (make("apples"), make("pears")) else { return };
    let db = scratch.path("p.duckdb");
    let output = record(&["-q", "--follow", "-o", utf8(&db)], &[utf8(&apples), utf8(&pears)]);
    assert!(output.status.success(), "{}", said(&output));
    for fruit in ["apples", "pears"] {
        let name = |start: &str| format!("{start}_{fruit}");
        let (fill, sum) = (name("fill"), name("sum"));
        let found = columns(&["flows", utf8(&db), &fill, &sum], &["via", "place"]);
        let expected: Vec<[String; 2]> =
            (0..64).map(|i| ["global".to_owned(), format!("{fruit}[{i}]")]).collect();
        assert_eq!(found, expected);
        let allocated =
            columns(&["flows", utf8(&db), &name("grow"), &name("add")], &["via", "place"]);
        assert_eq!(allocated.len(), 100);
        let by = format!("malloc in {}, apples.c:", name("grow"));
        assert!(
            allocated.iter().all(|row| row[0] == "heap" && row[1].starts_with(&by)),
            "{allocated:?}"
        );
        let uses =
            columns(&["objects", utf8(&db), "--functions", &fill], &["object", "written_bytes"]);
        assert_eq!(uses[0], [fruit.to_owned(), "256".to_owned()]);
        let crossing = lines(&["cut", utf8(&db), &fill, "--show", "objects"]);
        assert!(
            crossing.iter().any(|l| l.starts_with(&format!("out,{fruit},,,,256,256,"))),
            "{crossing:?}"
        );
        let sliced = columns(&["slice", utf8(&db), "--at", fruit], &["why", "function"]);
        assert!(sliced.iter().all(|row| row[0] != "criterion" || row[1] == fill), "{sliced:?}");
        assert_eq!(sliced.iter().filter(|row| row[0] == "criterion").count(), 64);
        let traffic = columns(&["memory", utf8(&db)], &["variable", "written_bytes", "dead_bytes"]);
        let own: Vec<_> = traffic.iter().filter(|row| row[0] == fruit).collect();
        assert_eq!(own, [&[fruit.to_owned(), "256".to_owned(), "0".to_owned()]]);
        let queried = columns(&["sql", utf8(&db), "@variables"], &["variable", "writes", "reads"]);
        assert!(
            queried.contains(&vec![fruit.to_owned(), "64".to_owned(), "64".to_owned()]),
            "{queried:?}"
        );
    }
    // Addresses are the first process's, unless another one is named.
    let address = |fruit: &str| {
        rows(
            &db,
            &format!("SELECT printf('0x%x', address + 128) FROM variable WHERE name = '{fruit}'"),
        )
    };
    let of_pears = format!("3:{}", address("pears")[0]);
    let sliced = columns(&["slice", utf8(&db), "--at", &of_pears], &["function"]);
    assert_eq!(sliced[0], ["fill_pears"]);
    let sliced = columns(&["slice", utf8(&db), "--at", &address("apples")[0]], &["function"]);
    assert_eq!(sliced[0], ["fill_apples"]);
}

/// Memory is no file's any more.
#[test]
fn memory_is_that_of_its_time() {
    let scratch = Scratch::new("whose-time");
    let Some(remapped) = compiled(&scratch, &program("remapped"), "remapped", &[]) else { return };
    let db = scratch.path("p.duckdb");
    let output = record(&["-q", "-o", utf8(&db)], &[utf8(&remapped)]);
    assert!(output.status.success(), "{}", said(&output));
    let found = columns(&["flows", utf8(&db), "fill", "sum"], &["via", "bytes"]);
    assert_eq!(found, vec![["heap", "1"]; 64]);
    let read = columns(&["flows", utf8(&db), "<mmap: remapped>", "read_file"], &["via", "bytes"]);
    assert_eq!(read, vec![["global", "1"]; 64]);
    let uses = |function| {
        columns(&["objects", utf8(&db), "--functions", function], &["object", "reads", "writes"])
    };
    assert_eq!(uses("read_file")[0], ["(global)", "64", "0"]);
    let heap = |row: &[String]| !row[0].starts_with("(global)") && !row[0].starts_with("(stack)");
    let written: Vec<_> = uses("fill").into_iter().filter(|row| heap(row)).collect();
    assert_eq!(written.len(), 1, "{written:?}");
    assert_eq!(written[0][1..], ["0", "64"]);
    let crossing =
        columns(&["cut", utf8(&db), "fill", "--show", "flows"], &["function", "via", "bytes"]);
    assert!(crossing.contains(&["sum", "heap", "64"].map(str::to_owned).into()), "{crossing:?}");
}

/// Bytes that a file, the kernel or a device has given anew are not of who wrote there before, and what the kernel does not
/// write is. The program counts what it reads.
#[test]
fn memory_that_was_taken_away_has_no_writer() {
    let scratch = Scratch::new("whose-gone");
    let Some(gone) = compiled(&scratch, &program("gone"), "gone", &["-pthread"]) else { return };
    let sums = "SELECT w.reader[6:], sum(bytes) FILTER (writer LIKE 'fill_%' OR writer = '<process_vm_writev>' OR writer LIKE '<write: %')
                FROM function_dataflow w WHERE reader LIKE 'take_%' AND via <> 'register' GROUP BY ALL ORDER BY 1";
    for (i, more) in [&[][..], &["--no-steps"], &["--summed"]].into_iter().enumerate() {
        let (db, files) = (scratch.path("p.duckdb"), scratch.path(&format!("files{i}")));
        std::fs::create_dir(&files).expect("a folder");
        let options = [&["--force", "-q", "-o", utf8(&db)], more].concat();
        let output = record(&options, &[utf8(&gone), utf8(&files)]);
        assert!(output.status.success(), "{}", said(&output));
        let mut counted: Vec<String> = printed(&output)
            .lines()
            .map(|line| line.replace(' ', ",").replace(",0", ","))
            .collect();
        counted.sort();
        assert!(counted.len() >= 9 && counted.contains(&"kept,100".to_owned()), "{counted:?}");
        assert_eq!(rows(&db, sums), counted, "{more:?}");
    }
}

/// What a fork wipes nobody has written in the new process. The program counts what it reads.
#[test]
fn memory_that_a_fork_wipes_has_no_writer() {
    let scratch = Scratch::new("whose-wiped");
    let Some(wiped) = compiled(&scratch, &program("wiped"), "wiped", &[]) else { return };
    let sums = "SELECT reader[6:], coalesce(sum(bytes) FILTER (writer = 'fill'), 0)
                FROM function_dataflow WHERE reader LIKE 'take_%' AND via <> 'register' GROUP BY ALL ORDER BY 1";
    for more in [&[][..], &["--no-steps"]] {
        let db = scratch.path("p.duckdb");
        let options = [&["--force", "-q", "--follow", "-o", utf8(&db)], more].concat();
        let output = record(&options, &[utf8(&wiped)]);
        assert!(output.status.success(), "{}", said(&output));
        let text = printed(&output);
        let mut counted: Vec<String> = text.lines().map(|line| line.replace(' ', ",")).collect();
        counted.sort();
        for known in ["grandchild,0", "half,4096", "kept,5000", "parent,5000"] {
            assert!(counted.contains(&known.to_owned()), "{counted:?}");
        }
        assert_eq!(rows(&db, sums), counted, "{more:?}");
    }
}

/// By the steps, by all of them gone through again, and by the sums.
#[test]
fn a_signal_leaves_registers_as_they_were() {
    let scratch = Scratch::new("whose-registers");
    let Some(program) = compiled(&scratch, &program("clobbers"), "clobbers", &[]) else { return };
    let (db, sums) = (scratch.path("run.duckdb"), scratch.path("sums.duckdb"));
    let options = ["-o", utf8(&db), "--sums", utf8(&sums), "--check-sums", "--detail", "full"];
    let output = record(&options, &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    nothing_comes_from_the_handler("valgrind", &db);
    let connection = open(&db);
    let (again, first) = (replayed(&connection), kept(&connection));
    let differ = again.iter().zip(&first).find(|(a, b)| a != b);
    assert!(again.len() == first.len() && differ.is_none(), "{differ:?}");
    assert!(ok(&["verify", utf8(&db)]).starts_with("not applicable"));
}
