//! What is recorded is what happened: system calls of threads that wait, memory that the kernel takes
//! back or that is at two addresses, descriptors whose numbers are used again, calls that do less than
//! they are asked for. The programs say themselves who wrote what they read.

use crate::common::{Scratch, addfg, command, have, ok, repository, rows, said, shared, utf8};
use crate::record::record;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of tests/programs; None, said why, where it cannot be recorded here.
fn program(scratch: &Scratch, name: &str) -> Option<PathBuf> {
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return None;
    }
    let (source, to) = (repository(&format!("tests/programs/{name}.c")), scratch.path(name));
    let mut gcc = Command::new("gcc");
    let made = gcc.args(["-O1", "-g", "-pthread"]).arg(source).arg("-o").arg(&to).status();
    assert!(made.expect("gcc").success());
    Some(to)
}

/// Records a program that ends well; gives its database and what was said.
fn recorded(scratch: &Scratch, options: &[&str], run: &[&str]) -> (PathBuf, String) {
    let db = scratch.path("run.duckdb");
    let all = [&["--force", "-o", utf8(&db)], options].concat();
    let output = record(&all, run);
    assert!(output.status.success(), "{run:?}: {}", said(&output));
    (db, said(&output))
}

/// Who wrote the bytes of memory that a function read, other than its own: `writer,bytes`.
fn read_by(db: &Path, reader: &str) -> Vec<String> {
    let sql = format!(
        "SELECT writer, sum(bytes) FROM function_dataflow
         WHERE reader = '{reader}' AND writer <> reader AND via <> 'register'
           AND writer NOT LIKE '%.bss>' AND writer NOT LIKE '%.data>' AND NOT regexp_matches(writer, '^(use|read)_')
         GROUP BY ALL ORDER BY writer"
    );
    rows(db, &sql)
}

/// Bytes that a sink outside of the program took.
fn taken(db: &Path, sink: &str) -> Vec<String> {
    rows(db, &format!("SELECT sum(bytes) FROM function_dataflow WHERE reader = '{sink}'"))
}

#[test]
fn a_system_call_that_waits_has_its_own_result_and_bytes() {
    let scratch = Scratch::new("happened-blocked");
    let Some(program) = program(&scratch, "blocked") else { return };
    let text = scratch.write("text.txt", "0123456789".repeat(80));
    let (db, _) = recorded(&scratch, &["--detail", "pairs"], &[utf8(&program), utf8(&text)]);
    for (reader, from) in [
        ("use_piped", "<read: pipe 1>,8"),
        ("use_received", "<recv: socket 1>,8"),
        ("use_polled", "<read: pipe 2>,8"),
        ("use_waited", "<read: pipe 3>,8"),
        ("use_file", "<read: text.txt>,3200"),
    ] {
        assert_eq!(read_by(&db, reader), [from], "{reader}");
    }
    let results = "SELECT name, result, count(*) FROM system_call
                   WHERE name IN ('read', 'recvfrom', 'pread64', 'clock_nanosleep', 'poll', 'epoll_wait')
                     AND NOT (name = 'read' AND result > 100) AND NOT (name = 'pread64' AND result > 100)
                   GROUP BY ALL ORDER BY ALL";
    let expected = [
        "clock_nanosleep,0,8",
        "epoll_wait,1,1",
        "poll,1,1",
        "pread64,8,400",
        "read,8,3",
        "recvfrom,8,1",
    ];
    assert_eq!(rows(&db, results), expected);
}

#[test]
fn memory_that_is_taken_back_has_no_writer_and_shared_memory_one() {
    let scratch = Scratch::new("happened-taken-back");
    let Some(program) = program(&scratch, "taken_back") else { return };
    for detail in ["summary", "pairs"] {
        let (db, _) = recorded(&scratch, &["--detail", detail], &[utf8(&program)]);
        for (reader, from) in [
            ("dontneed", "<uninitialised>,100"),
            ("free", "<uninitialised>,100"),
            ("fixed", "<uninitialised>,100"),
            ("protected", "write_protected,100"),
            ("shrunk", "<uninitialised>,100"),
            ("moved", "write_moved,100"),
            ("broken", "<uninitialised>,8192"),
            ("alias", "write_alias,100"),
            ("truncated", "<mmap: memfd:two>,100"),
            ("pwritten", "write_pwritten,64"),
            ("punched", "<mmap: memfd:two>,100"),
            ("copied", "write_copied,100"),
            ("again", "write_again,100"),
            ("private", "<mmap: memfd:two>,100"),
            ("segment", "write_segment,100"),
        ] {
            assert_eq!(read_by(&db, &format!("read_{reader}")), [from], "{detail}: {reader}");
        }
        // One load, whose bytes lie at the end and at the beginning of a file.
        assert_eq!(read_by(&db, "across"), ["write_ring,8"], "{detail}");
    }
}

/// What the kernel takes back is so in the SQL and where the run is gone through again.
#[test]
fn what_is_taken_back_is_verified() {
    let scratch = Scratch::new("happened-verified");
    for (name, same) in [("trimmed", true), ("taken_back", false)] {
        let Some(program) = program(&scratch, name) else { return };
        let (db, _) = recorded(&scratch, &[], &[utf8(&program)]);
        let output = addfg(&["verify", utf8(&db)]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let applies = !text.contains("not applicable");
        assert!(
            output.status.success() && applies == same && !text.contains("DIFFERENT"),
            "{text}"
        );
    }
}

#[test]
fn what_a_call_moved_is_what_it_returned_by_the_name_of_its_file() {
    let scratch = Scratch::new("happened-moved");
    let Some(program) = program(&scratch, "moved") else { return };
    let (text, to) = (scratch.write("text.txt", "hello, world\n"), scratch.path("to.txt"));
    let run = [utf8(&program), utf8(&text), utf8(&to)];
    let (db, _) = recorded(&scratch, &["--detail", "pairs"], &run);
    for (sink, bytes) in [
        ("<write: text.txt>", "NULL"),
        ("<write: memfd:mem>", "10"),
        ("<write: eventfd>", "8"),
        ("<write: pipe 1>", "4096"),
        ("<write: to.txt>", "39"),
        ("<write: descriptor 99>", "NULL"),
        ("<send: socket 1>", "23"),
    ] {
        let found = taken(&db, sink);
        assert!(found == [bytes] || (bytes == "NULL" && found == [""]), "{sink}: {found:?}");
    }
    let given =
        "SELECT source, sum(bytes) FROM system_call_access JOIN system_call USING (system_call_id)
                 WHERE is_write AND regexp_matches(source, '^<(read|recv|getrandom)')
                   AND NOT regexp_matches(source, '(ld.so.cache|libc)') AND system_call_id > (
                     SELECT min(system_call_id) FROM system_call WHERE name = 'memfd_create') - 3
                 GROUP BY ALL ORDER BY ALL";
    let given = rows(&db, given);
    for expected in [
        "<getrandom>,33",
        "<read: text.txt>,5",
        "<read: timerfd>,8",
        "<read: to.txt>,53",
        "<recv: socket 2>,23",
    ] {
        assert!(given.iter().any(|row| row == expected), "{expected}: {given:?}");
    }
    // Ten bytes came, the buffer is of two hundred: two are left of the messages before.
    let from = read_by(&db, "use");
    assert!(from.contains(&"<recv: socket 2>,12".to_owned()), "{from:?}");
}

#[test]
fn an_instruction_that_valgrind_cannot_decode_loses_nothing() {
    let scratch = Scratch::new("happened-undecodable");
    let Some(program) = program(&scratch, "undecodable") else { return };
    let (db, _) = recorded(&scratch, &["--detail", "pairs"], &[utf8(&program)]);
    let calls = "SELECT name, count(*) FROM function_call JOIN function_symbol USING (function_id)
                 WHERE name IN ('work', 'on_signal') GROUP BY name ORDER BY name";
    assert_eq!(rows(&db, calls), ["on_signal,1", "work,1"]);
}

/// A recording is right up to its last whole piece, wherever it is cut.
#[test]
fn a_recording_that_is_cut_says_so() {
    let scratch = Scratch::new("happened-cut");
    let Some(program) = program(&scratch, "inherited") else { return };
    let kept = scratch.path("kept.stream");
    recorded(&scratch, &["--keep", utf8(&kept), "--detail", "summary"], &[utf8(&program)]);
    let bytes = std::fs::read(&kept).expect("a stream");
    let (cut, db) = (scratch.path("cut.stream"), scratch.path("cut.duckdb"));
    for length in [17, 60, bytes.len() / 3, bytes.len() - 5] {
        std::fs::write(&cut, &bytes[..length]).expect("a file");
        let output = addfg(&["build", utf8(&cut), "--force", "-o", utf8(&db)]);
        let text = said(&output);
        let code = output.status.code();
        assert!(matches!(code, Some(1 | 2)) && text.contains("cut.stream"), "{length}: {text}");
        assert!(!text.contains("build.sh") && text.contains("within a piece"), "{length}: {text}");
    }
}

#[test]
fn a_child_of_fork_has_the_memory_of_its_parent() {
    let scratch = Scratch::new("happened-inherited");
    let Some(program) = program(&scratch, "inherited") else { return };
    let (db, _) = recorded(&scratch, &["--follow"], &[utf8(&program)]);
    // 200 bytes for each child, of fill; 50 more for the second, of the same. What nobody wrote: the rest,
    // and what each adds to.
    assert_eq!(read_by(&db, "in_child"), ["fill,450"]);
    let unwritten = "SELECT writer, bytes FROM function_dataflow WHERE reader = 'in_child' AND writer LIKE '%.bss>'
                     AND via = 'global' ORDER BY bytes DESC";
    assert_eq!(rows(&db, unwritten)[0], "<inherited .bss>,158");

    // A child alone: nobody knows who wrote.
    let folder = crate::stream::recorder().expect("it was compiled");
    let each = scratch.path("each");
    let status = Command::new("valgrind")
        .env("VALGRIND_LIB", folder)
        .args(["-q", "--vex-guest-chase=no", "--tool=addfg", "--trace-children=yes"])
        .arg(format!("--stream-each={}", utf8(&each)))
        .arg(&program)
        .status();
    assert!(status.expect("valgrind").success());
    let (child, alone) = (format!("{}.2", utf8(&each)), scratch.path("alone.duckdb"));
    ok(&["build", &child, "--force", "-o", utf8(&alone), "--detail", "summary"]);
    let sql = "SELECT writer, sum(bytes) FROM function_dataflow WHERE reader = 'in_child' AND writer LIKE '<%'
               AND via = 'global' GROUP BY ALL";
    let found = rows(&alone, sql);
    assert!(found.len() == 1 && found[0].starts_with("<inherited>,"), "{found:?}");
}

#[test]
fn what_nobody_wrote_has_a_name_and_a_range_is_a_range() {
    let scratch = Scratch::new("happened-fresh");
    let Some(program) = program(&scratch, "fresh") else { return };
    let large = scratch.path("large.bin");
    let size = 1 << 30;
    std::fs::File::create(&large).and_then(|file| file.set_len(size)).expect("a file");
    let (size, run) = (size.to_string(), [utf8(&program), utf8(&large)]);
    // Six bytes a byte would be 6 GiB.
    let options = ["--detail", "summary", "--memory-limit", "700"];
    let (db, _) = recorded(&scratch, &options, &[&run[..], &[&size]].concat());
    let of_use = rows(
        &db,
        "SELECT writer, sum(bytes) FROM function_dataflow WHERE reader = 'use' AND writer LIKE '<un%' GROUP BY ALL",
    );
    assert_eq!(of_use, ["<uninitialised>,30"]);
    assert!(read_by(&db, "use_large").contains(&"<read: large.bin>,3".to_owned()));
    assert_eq!(taken(&db, "<write: null>"), [size]);
    let input = "SELECT count(*) FROM function_dataflow WHERE writer = '<input>'";
    assert_eq!(rows(&db, input), ["0"]);
}

/// Who hunts a wrong value sees where the memory came from that nobody wrote.
#[test]
fn flows_say_where_unwritten_memory_was_allocated() {
    let scratch = Scratch::new("happened-allocated");
    let Some(program) = program(&scratch, "fresh") else { return };
    let input = scratch.write("input", "x".repeat(1000));
    let (db, _) = recorded(&scratch, &[], &[utf8(&program), utf8(&input), "1000"]);
    let flows = ok(&["flows", utf8(&db), "<uninitialised>", "use", "--limit", "0"]);
    for place in ["malloc in main, fresh.c:26 +0 ", "malloc in main, fresh.c:26 +19 "] {
        assert!(flows.contains(place), "{place}: {flows}");
    }
}

/// Memory that others change, and rings that the kernel empties by itself: said wherever it is shown.
#[test]
fn what_the_recorder_cannot_know_is_said() {
    let scratch = Scratch::new("happened-unknown");
    for (name, word) in [("shared_with_child", "shared-memory"), ("ring", "io-uring")] {
        let Some(program) = program(&scratch, name) else { return };
        let db = scratch.path("unknown.duckdb");
        let cache = shared("cache", |cache| std::fs::create_dir(cache).expect("folder"));
        let all = ["record", "--force", "-o", utf8(&db), "--", utf8(&program)];
        let output = command(&all).env("XDG_CACHE_HOME", cache).output().expect("addfg runs");
        if output.status.code() == Some(77) {
            println!("skipped: no io_uring here");
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{name}: {}", said(&output));
        assert!(ok(&["info", utf8(&db)]).contains(word), "{name}");
        let picture = ok(&["graph", utf8(&db), "--format", "dot"]);
        assert!(picture.contains("not known"), "{name}: {picture}");
    }
}

/// A process that can write no recording is told of.
#[test]
fn processes_that_are_not_recorded_are_said() {
    let scratch = Scratch::new("happened-missing");
    if !have("valgrind") || !have("gcc") {
        return;
    }
    let db = scratch.path("p.duckdb");
    let said_of = |script: &str| {
        let options = ["--force", "--follow", "-o", utf8(&db)];
        let output = record(&options, &["sh", "-c", script]);
        assert!(db.is_file(), "{}", said(&output));
        said(&output)
    };
    let all = said_of("(exit 0); exit 0");
    assert!(!all.contains("are not in the recording"), "{all}");
    let none = said_of("ulimit -f 0; (exit 0); exit 0");
    assert!(none.contains("1 of 1 processes that were begun are not in the recording"), "{none}");
}

/// What was not run, or not recorded, leaves nothing that could be gone on with.
#[test]
fn nothing_is_left_of_what_was_not_recorded() {
    let scratch = Scratch::new("happened-nothing");
    if !have("valgrind") || !have("gcc") {
        return;
    }
    let folder = scratch.path("made");
    std::fs::create_dir(&folder).expect("a folder");
    let db = folder.join("p.duckdb");
    for (options, run, why) in [
        (&["--no-steps"][..], "./not-there", "it was not run"),
        (&[], "./not-there", "it was not run"),
        (&["--from", "not_there"], "true", "no instruction was recorded"),
    ] {
        let output = record(&[&["-o", utf8(&db)], options].concat(), &[run]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let said = said(&output);
        assert!(said.contains(why) && !said.contains("goes on"), "{said}");
        assert!(!said.contains("was killed"), "{said}");
        let left: Vec<_> = std::fs::read_dir(&folder).expect("a folder").collect();
        assert!(left.is_empty(), "{options:?}: {left:?}");
    }
}
