//! `addfg record`: programs with all that they have, run by one command.

use crate::common::{
    Scratch, command, have, ok, open, printed, repository, rows, said, shared, utf8,
};
use crate::{stream, verify, views};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Bytes from one function to another by memory.
fn bytes(db: &Path, writer: &str, reader: &str) -> Vec<String> {
    let sql = format!(
        "SELECT bytes FROM function_dataflow
         WHERE writer = '{writer}' AND reader = '{reader}' AND via <> 'register'"
    );
    rows(db, &sql)
}

/// A program compiled with shared libraries; None, said why, where it cannot be recorded here.
fn program(scratch: &Scratch, name: &str) -> Option<PathBuf> {
    program_with(scratch, name, &[])
}

fn program_with(scratch: &Scratch, name: &str, flags: &[&str]) -> Option<PathBuf> {
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return None;
    }
    let (source, to) = (repository(&format!("tests/programs/{name}.c")), scratch.path(name));
    let mut gcc = Command::new("gcc");
    let made = gcc.args(["-O1", "-g"]).args(flags).arg(source).arg("-o").arg(&to).status();
    assert!(made.expect("gcc").success());
    Some(to)
}

pub fn record(options: &[&str], program: &[&str]) -> Output {
    let arguments = [&["record"], options, &["--"], program].concat();
    // The recorder is compiled by the first.
    let cache = shared("cache", |cache| std::fs::create_dir(cache).expect("folder"));
    command(&arguments).env("XDG_CACHE_HOME", cache).output().expect("addfg runs")
}

#[test]
fn a_process_is_recorded_with_all_that_it_has() {
    let scratch = Scratch::new("record-process");
    let Some(program) = program(&scratch, "process") else { return };
    let text = scratch.write("text", "some words\n".repeat(200));
    let (db, kept) = (scratch.path("p.duckdb"), scratch.path("p.stream"));
    let run = [utf8(&program), utf8(&text)];
    let output = record(&["-o", utf8(&db), "--keep", utf8(&kept)], &run);
    // Its own exit code, and what it prints without the recorder.
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let alone = Command::new(&program).arg(&text).output().expect("it runs");
    assert_eq!(printed(&output), printed(&alone));
    assert!(said(&output).contains("addfg graph"), "{}", said(&output));

    // The file that it maps, memory that is moved, memory that is not what it was.
    assert_eq!(bytes(&db, "<mmap: text>", "sum"), ["1000"]);
    assert_eq!(bytes(&db, "fill", "read_moved"), ["600"]);
    assert_eq!(bytes(&db, "fill_lost", "read_fresh"), [""; 0]);
    assert_eq!(bytes(&db, "<read: text>", "read_filled"), ["400"]);
    assert_eq!(bytes(&db, "fill", "read_filled"), ["200"]);
    assert_eq!(
        rows(
            &db,
            "SELECT count(*) FROM function_call JOIN function_symbol USING (function_id) WHERE name = 'in_child'"
        ),
        ["0"]
    );

    // Images lie where their symbols say: as many as nm has, at one distance.
    let loaded = "SELECT regexp_extract(path, '[^/]*$'), load_seq > 0 FROM image";
    let loaded = rows(&db, loaded);
    assert!(loaded.contains(&"process,false".into()), "{loaded:?}");
    assert!(loaded.contains(&"libm.so.6,true".into()), "{loaded:?}");
    let symbols = Command::new("nm").arg(&program).output().expect("nm");
    let symbols = String::from_utf8(symbols.stdout).expect("UTF-8");
    for name in ["main", "fill", "sum_file", "read_moved"] {
        let line = symbols.lines().find(|l| l.ends_with(&format!(" {name}"))).expect("symbol");
        let address = u64::from_str_radix(&line[..16], 16).expect("address");
        let sql = format!(
            "SELECT s.address - i.bias FROM function_symbol s JOIN image i USING (image_id)
             WHERE s.name = '{name}'"
        );
        assert_eq!(rows(&db, &sql), [address.to_string()], "{name}");
    }

    // What was kept is as another reader reads it, its events too, and makes the same database.
    if let Some(events) = stream::second_reader(&kept) {
        for kind in ["map", "unmap", "protect", "move", "kernel_read", "kernel_write"] {
            assert!(events.iter().any(|e| e.starts_with(&format!("{kind} 0x"))), "{kind}");
        }
    }
    let again = scratch.path("again.duckdb");
    ok(&["build", utf8(&kept), "-o", utf8(&again), "--detail", "full"]);
    let flows =
        "SELECT count(*), sum(hash(f)) FROM (SELECT writer, reader, via, bytes, unique_bytes,
                 transfers FROM function_dataflow) f";
    assert_eq!(rows(&again, flows), rows(&db, flows));

    // Going through the run again knows what the kernel did, too.
    let connection = open(&again);
    let (again_read, first) = (views::replayed(&connection), views::kept(&connection));
    let differ = again_read.iter().zip(&first).find(|(a, b)| a != b);
    assert!(again_read.len() == first.len() && differ.is_none(), "{differ:?}");
    let slice = |at: &str, more: &[&str]| {
        let all = ["slice", utf8(&again), "--at", at, "--group", "--limit", "0"];
        let output = command(&[&all[..], more].concat()).output().expect("addfg runs");
        (printed(&output), said(&output))
    };
    assert!(slice("process.c:38", &[]).0.contains(" fill "));
    assert!(!slice("process.c:45", &[]).0.contains(" fill_lost "));
    let (steps, sources) = slice("process.c:52", &[]);
    assert!(steps.contains(" fill ") && sources.contains("<read: text> (400 B)"), "{sources}");
    let (_, sinks) = slice("process.c:27", &["--forward"]);
    assert!(sinks.contains("goes to <write: stdout>"), "{sinks}");
}

/// Files, memory and threads that come and go, with what system calls do: the SQL gives the same.
#[test]
fn what_is_recorded_is_verified() {
    let scratch = Scratch::new("record-verified");
    let text = scratch.write("text", "some words\n".repeat(400));
    for (name, flags) in
        [("process", &[][..]), ("remap", &[]), ("threads", &["-pthread"]), ("signal", &[])]
    {
        let Some(program) = program_with(&scratch, name, flags) else { return };
        let db = scratch.path(&format!("{name}.duckdb"));
        let output = record(&["-o", utf8(&db)], &[utf8(&program), utf8(&text)]);
        assert!(db.exists(), "{name}: {}", said(&output));
        verify::equal(name, &db);
    }
}

/// A file's bytes are the file's until other memory takes their place.
#[test]
fn memory_in_the_place_of_a_file_is_its_own() {
    let scratch = Scratch::new("record-remap");
    let Some(program) = program(&scratch, "remap") else { return };
    let text = scratch.write("text", "some words\n".repeat(400));
    let db = scratch.path("r.duckdb");
    let output = record(&["-o", utf8(&db), "--detail", "summary"], &[utf8(&program), utf8(&text)]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let sql = "SELECT reader, writer, via, bytes FROM function_dataflow
               WHERE reader LIKE 'of_%' AND via IN ('heap', 'global', 'constant') ORDER BY ALL";
    let expected = [
        "of_cover,<input>,heap,4096",
        "of_file,<mmap: text>,global,4096",
        "of_memory,<input>,heap,4096",
        "of_memory,fill,heap,4096",
    ];
    assert_eq!(rows(&db, sql), expected);
}

#[test]
fn a_killed_program_leaves_a_good_database() {
    let scratch = Scratch::new("record-killed");
    let Some(program) = program(&scratch, "process") else { return };
    let text = scratch.write("text", "some words\n".repeat(200));
    let db = scratch.path("p.duckdb");
    let run = [utf8(&program), utf8(&text), "kill"];
    let output = record(&["-o", utf8(&db)], &run);
    assert_eq!(output.status.code(), Some(128 + 9), "{}", said(&output));
    assert_eq!(bytes(&db, "fill", "read_moved"), ["600"]);
    // It is not replaced without being told to, and the program does not run for nothing.
    let output = record(&["-o", utf8(&db)], &run);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--force") && printed(&output).is_empty(), "{}", said(&output));
}

#[test]
fn a_program_that_is_not_there_leaves_nothing() {
    let scratch = Scratch::new("record-nothing");
    if program(&scratch, "process").is_none() {
        return;
    }
    let db = scratch.path("p.duckdb");
    let output = record(&["-o", utf8(&db)], &[utf8(&scratch.path("no-such-program"))]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("it was not run") && !db.exists(), "{}", said(&output));
    if have("qemu-x86_64") {
        let output = record(&["-o", utf8(&db), "--qemu", "qemu-x86_64"], &["sort"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains("sort: no such file") && !db.exists(), "{}", said(&output));
    }
}

#[test]
fn an_exec_ends_what_is_recorded_of_one_process() {
    let scratch = Scratch::new("record-exec");
    let Some(program) = program(&scratch, "family") else { return };
    let db = scratch.path("p.duckdb");
    let output = record(&["-o", utf8(&db)], &[utf8(&program)]);
    // The program that it became goes on, and gives its exit code.
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert_eq!(printed(&output), "160 100\nagain\n");
    assert!(said(&output).contains("by exec") && said(&output).contains("--follow"));
    assert_eq!(bytes(&db, "fill", "sum"), ["100"]);
    assert_eq!(rows(&db, "SELECT count(*) FROM process"), ["1"]);
}

#[test]
fn a_tree_of_processes_is_one_database() {
    let scratch = Scratch::new("record-follow");
    let Some(program) = program(&scratch, "family") else { return };
    let (db, kept) = (scratch.path("p.duckdb"), scratch.path("p.stream"));
    let options = ["--follow", "-o", utf8(&db), "--keep", utf8(&kept)];
    let output = record(&options, &[utf8(&program)]);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert_eq!(printed(&output), "160 100\nagain\n");
    // The parent, its child, what the parent became; each has a thread and steps.
    let processes = "SELECT count(*), count(DISTINCT pid) FROM process";
    assert_eq!(rows(&db, processes), ["3,2"]);
    let steps = "SELECT process_id, count(*) FROM thread WHERE steps > 0 GROUP BY ALL ORDER BY 1";
    assert_eq!(rows(&db, steps), ["1,1", "2,1", "3,1"]);
    // Memory is each process's own: what the parent filled has no writer in the child.
    assert_eq!(bytes(&db, "fill", "sum"), ["100"]);
    assert_eq!(bytes(&db, "fill_in_child", "sum"), ["60"]);
    assert_eq!(bytes(&db, "main", "<write: pipe 1>"), ["4"]);
    assert_eq!(bytes(&db, "<read: pipe 1>", "main"), ["4"]);
    // A function that several processes run is one.
    let mains = "SELECT count(*), count(DISTINCT function_id) FROM function_call
                 JOIN function_symbol USING (function_id) WHERE name = 'main'";
    assert_eq!(rows(&db, mains), ["3,1"]);
    let drawn = ok(&["graph", utf8(&db), "--level", "thread", "--format", "json", "-o", "-"]);
    assert!(drawn.contains("process family "), "{drawn}");
    let again = scratch.path("again.duckdb");
    ok(&["build", utf8(&kept), "-o", utf8(&again)]);
    let calls = "SELECT count(*), sum(hash(c)) FROM (SELECT call_id, function_id, thread_id,
                 parent_call_id, kind, ending, call_seq, return_seq FROM function_call) c";
    assert_eq!(rows(&again, calls), rows(&db, calls));
}

#[test]
fn a_pipeline_of_a_shell_is_followed() {
    let scratch = Scratch::new("record-shell");
    if program(&scratch, "family").is_none() {
        return;
    }
    let db = scratch.path("p.duckdb");
    let run = ["sh", "-c", "printf abcdef | cat; exit 5"];
    let options = ["--follow", "--detail", "summary", "-o", utf8(&db)];
    let output = record(&options, &run);
    assert_eq!((output.status.code(), printed(&output).as_str()), (Some(5), "abcdef"));
    let flows = "SELECT coalesce(sum(bytes), 0) FROM function_dataflow WHERE reader = ";
    assert_eq!(rows(&db, &format!("{flows} '<write: pipe 1>'")), ["6"]);
    assert_eq!(rows(&db, &format!("{flows} '<write: stdout>'")), ["6"]);
    assert!(rows(&db, "SELECT name FROM process").iter().any(|name| name.ends_with("/cat")));
}
