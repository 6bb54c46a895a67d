//! `addfg record`: programs with all that they have, run by one command.

use crate::common::{
    Scratch, build, command, have, make, ok, open, printed, repository, rows, said, shared,
    skipped, utf8,
};
use crate::emulators::takes_plugins;
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

/// Who starts addfg may ignore signals, SIGCHLD among them: it learns how the program ended nevertheless, and the
/// program finds them as it would alone. Valgrind's programs have SIGCHLD's default.
#[test]
fn signals_are_those_of_who_started_addfg() {
    let scratch = Scratch::new("record-signals");
    let Some(program) = program(&scratch, "ignored") else { return };
    for (ignored, blocked) in
        [("CHLD", ""), ("XFSZ", "USR1,USR2"), ("CHLD,XFSZ,USR2", "PIPE"), ("PIPE", "USR1")]
    {
        let begun = |words: &[&str]| {
            let mut env = Command::new("env");
            env.args(["--default-signal=PIPE", &format!("--ignore-signal={ignored}")]);
            if !blocked.is_empty() {
                env.arg(format!("--block-signal={blocked}"));
            }
            env.args(words).output().expect("env")
        };
        let alone = begun(&[utf8(&program)]);
        if !alone.status.success() {
            return skipped("env of coreutils before 8.31");
        }
        assert_eq!(printed(&alone).matches(" ignored").count(), ignored.split(',').count());
        let held = blocked.split_terminator(',').count();
        assert_eq!(printed(&alone).matches(" blocked").count(), held);
        let (db, addfg) = (scratch.path("p.duckdb"), env!("CARGO_BIN_EXE_addfg"));
        let recorded =
            begun(&[addfg, "record", "-q", "--force", "-o", utf8(&db), "--", utf8(&program)]);
        assert!(recorded.status.success(), "{ignored}: {}", said(&recorded));
        let given = printed(&alone).replace("CHLD ignored", "CHLD not");
        assert_eq!(printed(&recorded), given, "{ignored}");
    }
}

/// A link to the file that ran has another name than the one that was mapped.
#[test]
fn a_program_may_be_given_by_a_link_to_it() {
    for flags in ["-no-pie", "-pie"] {
        let scratch = Scratch::new("record-link");
        let Some(program) = program_with(&scratch, "recursion", &[flags]) else { return };
        let (kept, link) = (scratch.path("p.stream"), scratch.path("link"));
        record(
            &["-q", "-o", utf8(&scratch.path("p.duckdb")), "--keep", utf8(&kept)],
            &[utf8(&program)],
        );
        std::os::unix::fs::symlink(&program, &link).expect("link");
        let [named, linked] =
            [(&program, "named.duckdb"), (&link, "linked.duckdb")].map(|(elf, db)| {
                let db = scratch.path(db);
                ok(&["build", "-q", utf8(&kept), "--elf", utf8(elf), "-o", utf8(&db)]);
                rows(&db, "SELECT symbol, kind, address FROM function_symbol WHERE address IS NOT NULL ORDER BY ALL")
            });
        assert!(named.len() > 100, "{named:?}");
        assert_eq!(named, linked, "{flags}");
    }
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
    for (name, flags) in [("process", &[][..]), ("remap", &[]), ("threads", &["-pthread"])] {
        let Some(program) = program_with(&scratch, name, flags) else { return };
        let db = scratch.path(&format!("{name}.duckdb"));
        let output = record(&["-o", utf8(&db)], &[utf8(&program), utf8(&text)]);
        assert!(db.exists(), "{name}: {}", said(&output));
        verify::equal(name, &db);
    }
}

/// Words that are read for nothing are read: by the steps, and by the sums.
#[test]
fn a_load_that_nobody_needs_is_recorded() {
    let scratch = Scratch::new("record-forgets");
    let Some(program) = program(&scratch, "forgets") else { return };
    let (db, sums) = (scratch.path("db"), scratch.path("sums"));
    let options = ["-o", utf8(&db), "--sums", utf8(&sums), "--check-sums"];
    let output = record(&options, &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(bytes(&db, "<forgets .bss>", "look"), ["12"]);
    assert_eq!(bytes(&db, "main", "look"), ["4"]);
}

/// What is added to memory, or exchanged with it, at once, is loaded once, as the processor does it.
#[test]
fn a_locked_instruction_loads_once() {
    let scratch = Scratch::new("record-locked");
    let Some(program) = program(&scratch, "locked") else { return };
    let (db, sums) = (scratch.path("db"), scratch.path("sums"));
    let options = ["-o", utf8(&db), "--sums", utf8(&sums), "--check-sums"];
    let output = record(&options, &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    // The first finds what nobody has written.
    assert_eq!(bytes(&db, "work", "work"), [(3 * 4 * 1000 - 4).to_string()]);
    assert_eq!(bytes(&db, "<locked .bss>", "work"), ["4"]);
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
        "of_cover,<uninitialised>,heap,4096",
        "of_file,<mmap: text>,global,4096",
        "of_memory,<uninitialised>,heap,4096",
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
    // Memory is each process's own: what the child filled is so in the child, and the rest of it as its
    // parent left it.
    assert_eq!(bytes(&db, "fill", "sum"), ["140"]);
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

/// A program that runs until it is ended, and what is recorded of it meanwhile.
fn endless(scratch: &Scratch) -> Option<PathBuf> {
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return None;
    }
    let source = scratch.write(
        "endless.c",
        "#include <stdio.h>\n#include <time.h>\nvolatile long sum;\nstatic void work(void) { for (int i = 0; i < 20000; i++) sum += i; }\n\
         int main(void) { time_t end = time(0) + 30; puts(\"begun\"); fflush(stdout); while (time(0) < end && !fopen(\"enough\", \"r\")) work();\n\
         FILE *f = fopen(\"ended\", \"w\"); fputs(\"whole\", f); fclose(f); return 0; }\n",
    );
    let to = scratch.path("endless");
    let mut gcc = Command::new("gcc");
    let made = gcc.args(["-O1", "-g", "-static"]).arg(source).arg("-o").arg(&to);
    made.status().expect("gcc runs").success().then_some(to)
}

/// `addfg record` of it with these options, in a group of its own; it has begun.
fn begun(scratch: &Scratch, options: &[&str], program: &Path) -> std::process::Child {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    let cache = shared("cache", |cache| std::fs::create_dir(cache).expect("folder"));
    let mut command = command(&[&["record"], options, &["--", utf8(program)]].concat());
    command.env("XDG_CACHE_HOME", cache).current_dir(&scratch.0).process_group(0);
    // What a shell runs in the background ignores interrupts, and so do we, as children of it.
    let default = || {
        // SAFETY: allowed between fork and exec.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: see above; nothing is allocated.
    unsafe { command.pre_exec(default) };
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("addfg runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).expect("it says so");
    assert_eq!(line, "begun\n");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    child
}

fn signal(group: i64, signal: i32) {
    // SAFETY: it takes numbers; the group is of a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(i32::try_from(group).unwrap(), signal) }, 0);
}

/// An interrupt, of addfg alone or of all that the terminal has in front, ends a program under QEMU as one
/// under valgrind: with its code, and a recording that has an end.
#[test]
fn an_interrupt_ends_the_recording() {
    let scratch = Scratch::new("record-interrupt");
    let Some(program) = endless(&scratch) else { return };
    let qemu = ["--qemu", "qemu-x86_64"];
    for (name, options) in [("valgrind", &[][..]), ("qemu", &qemu)] {
        if name == "qemu" && !have("qemu-x86_64") {
            continue;
        }
        for to in [-1, 1] {
            let db = scratch.path(&format!("{name}{to}.duckdb"));
            let child = begun(&scratch, &[&["-o", utf8(&db)], options].concat(), &program);
            signal(to * i64::from(child.id()), libc::SIGINT);
            let output = child.wait_with_output().expect("it ends");
            let text = said(&output);
            assert_eq!(output.status.code(), Some(128 + libc::SIGINT), "{name} {to}: {text}");
            assert!(!text.contains("cut") && !text.contains("error"), "{name} {to}: {text}");
            let steps = rows(&db, "SELECT sum(steps)::BIGINT > 100000 FROM thread");
            assert_eq!(steps, ["true"], "{name} {to}: {text}");
            assert!(!scratch.path("ended").exists(), "{name} {to}: {text}");
        }
    }
}

/// `kill -9` of addfg: the program goes on, under valgrind and under QEMU, and what came until then can be
/// built, whether the recording was to be kept or not.
#[test]
fn a_program_outlives_addfg() {
    let scratch = Scratch::new("record-outlives");
    let Some(program) = endless(&scratch) else { return };
    outlives(&scratch, "valgrind", &[], &program);
    if have("qemu-x86_64") && takes_plugins("qemu-x86_64") {
        outlives(&scratch, "qemu", &["--qemu", "qemu-x86_64"], &program);
    }
}

/// Where no database can be made of it, the recording is left, and can be built.
#[test]
fn a_recording_without_a_database_is_left() {
    if !have("valgrind") || !have("gcc") {
        return skipped("a recording without a database: needs valgrind and gcc");
    }
    let scratch = Scratch::new("record-left");
    let (source, program) = (scratch.path("loop.c"), scratch.path("loop"));
    let text = "volatile unsigned a[4096]; int main(void) {
        unsigned s = 7;
        for (int i = 0; i < 900000; i++) { s = s * 1103515245 + 12345; a[s >> 20] += s; }
        return 0; }";
    std::fs::write(&source, text).unwrap();
    make("gcc", &source, &["-O1"], &program);
    let db = scratch.path("run.duckdb");
    let failed = record(&["--memory-limit", "1", "-o", utf8(&db)], &[utf8(&program)]);
    assert_eq!(failed.status.code(), Some(2), "{}", said(&failed));
    let names = std::fs::read_dir(&scratch.0).unwrap().map(|e| e.unwrap().path());
    let left: Vec<PathBuf> = names.filter(|path| utf8(path).ends_with(".part")).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(said(&failed).contains(utf8(&left[0])), "{}", said(&failed));
    assert!(!db.exists());
    let (code, text) = build(&db, &[&left[0]], &["--detail", "summary"]);
    assert_eq!(code, 0, "{text}");
    let steps: u64 = rows(&db, "SELECT max(last_seq) FROM run_chunk")[0].parse().unwrap();
    assert!(steps > 900_000 * 5, "{steps}");
}

fn outlives(scratch: &Scratch, name: &str, options: &[&str], program: &Path) {
    let (db, kept) = (scratch.path(&format!("{name}.duckdb")), scratch.path(&format!("{name}.s")));
    let keep = ["--keep", utf8(&kept)];
    for more in [&keep[..], &[]] {
        let mut child = begun(scratch, &[&["-o", utf8(&db)], options, more].concat(), program);
        signal(i64::from(child.id()), libc::SIGKILL);
        child.wait().expect("it is gone");
        std::thread::sleep(std::time::Duration::from_millis(1500));
        assert!(!scratch.path("ended").exists(), "{name}");
        scratch.write("enough", "");
        let ended = || std::fs::read(scratch.path("ended")).is_ok_and(|text| text == b"whole");
        for _ in 0..500 {
            if ended() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(ended(), "{name}: the program was ended");
        for file in ["enough", "ended"] {
            std::fs::remove_file(scratch.path(file)).unwrap();
        }
    }
    // The next recording of both names leaves them, and says of what nobody asked to keep.
    let short = record(&["-o", utf8(&db), keep[0], keep[1]], &["true"]);
    assert_eq!(short.status.code(), Some(0), "{}", said(&short));
    let names = std::fs::read_dir(&scratch.0).unwrap().map(|e| e.unwrap().path());
    let mut parts: Vec<PathBuf> = names
        .filter(|path| utf8(path).contains(&format!("/{name}.")) && utf8(path).ends_with(".part"))
        .collect();
    parts.sort();
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert!(utf8(&parts[0]).contains(".duckdb.stream."), "{parts:?}");
    assert!(said(&short).contains(utf8(&parts[0])), "{}", said(&short));
    for part in parts {
        let built = scratch.path("built");
        let output = command(&["build", utf8(&part), "-o", utf8(&built)]).output().unwrap();
        // It was cut.
        assert_eq!(output.status.code(), Some(1), "{name}: {}", said(&output));
        assert_eq!(rows(&built, "SELECT sum(steps)::BIGINT > 100000 FROM thread"), ["true"]);
        std::fs::remove_file(built).unwrap();
        std::fs::remove_file(part).unwrap();
    }
}

/// Beside the database is nothing when it is there.
#[test]
fn what_is_received_goes_when_the_database_is_there() {
    let scratch = Scratch::new("record-meanwhile");
    let Some(program) = program(&scratch, "process") else { return };
    let text = scratch.write("text", "some words\n".repeat(200));
    let folder = scratch.path("folder");
    std::fs::create_dir(&folder).unwrap();
    let db = folder.join("p.duckdb");
    let left = || {
        let names = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    let output = record(&["-o", utf8(&db)], &[utf8(&program), utf8(&text)]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_eq!(left(), ["p.duckdb"]);
}

/// Arguments may be passwords.
#[test]
fn arguments_are_kept_on_demand() {
    let scratch = Scratch::new("record-arguments");
    let Some(program) = program(&scratch, "process") else { return };
    let text = scratch.write("text", "some words\n".repeat(200));
    let (plain, kept) = (scratch.path("plain.duckdb"), scratch.path("kept.duckdb"));
    let run = [utf8(&program), utf8(&text), "--password=hunter2"];
    let stream = scratch.path("s");
    record(&["-o", utf8(&plain), "--keep", utf8(&stream)], &run);
    let options = ["-o", utf8(&kept), "--keep-arguments"];
    record(&options, &run);
    let paths = "SELECT path FROM input WHERE role = 'trace'";
    assert_eq!(rows(&plain, paths), [utf8(&program)]);
    assert!(rows(&kept, paths)[0].ends_with("text --password=hunter2"));
    let page = scratch.path("page.html");
    ok(&["report", utf8(&plain), "-o", utf8(&page)]);
    for file in [&plain, &stream, &page] {
        let bytes = std::fs::read(file).unwrap();
        assert!(memchr::memmem::find(&bytes, b"hunter2").is_none(), "{file:?}");
    }
}

/// A script of the user's that starts valgrind lies beside none of its files: the recorder has them all the same.
#[test]
fn the_recorder_has_its_parts_where_a_script_starts_valgrind() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("record-script");
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return;
    }
    let (folder, cache) = (scratch.path("bin"), scratch.path("cache"));
    [&folder, &cache].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let path = std::env::var("PATH").unwrap();
    let script = folder.join("valgrind");
    std::fs::write(&script, format!("#!/bin/sh\nPATH='{path}'\nexec valgrind \"$@\"\n")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = command(&["record", "-o", "run.duckdb", "--quiet", "--", "true"]);
    command.env("PATH", format!("{}:{path}", utf8(&folder))).env("XDG_CACHE_HOME", &cache);
    command.env_remove("ADDFG_RECORDERS").current_dir(&scratch.0);
    let output = command.output().expect("addfg runs");
    assert_eq!((output.status.code(), said(&output)), (Some(0), String::new()));
    let recorder = std::fs::read_dir(cache.join("addfg")).unwrap().next().unwrap().unwrap().path();
    let mut parts = std::fs::read_dir(recorder).unwrap().map(|part| part.unwrap().file_name());
    assert!(parts.any(|part| part.to_str().unwrap().starts_with("vgpreload_core")));
}

/// A folder that others can write, or that is somebody else's, is no place for programs; nor is one
/// beside the program, or one by a relative name.
#[test]
fn the_recorder_comes_from_a_folder_of_ones_own() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new("record-cache");
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return;
    }
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let run = |variables: &[(&str, &Path)], db: &str| {
        let db = scratch.path(db);
        let mut command = command(&["record", "-o", utf8(&db), "--quiet", "--", "true"]);
        command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env_remove("ADDFG_RECORDERS");
        command.env("TMPDIR", scratch.path("tmp")).current_dir(&scratch.0);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let output = command.output().expect("addfg runs");
        assert_eq!(output.status.code(), Some(0), "{variables:?}: {}", said(&output));
    };
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let (tmp, own) = (scratch.path("tmp"), scratch.path("own"));
    [&tmp, &own].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    mode(&tmp, 0o1777);
    // The user's own: it is kept, and closed to others.
    run(&[("XDG_CACHE_HOME", &own)], "own.db");
    let recorder = own.join("addfg").join(&names(&own.join("addfg"))[0]);
    for folder in [own.join("addfg"), recorder.clone()] {
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
    // It is made again where a part of it went, or is no longer what it was.
    let mut parts = names(&recorder);
    parts.sort_by_key(|part| (!part.starts_with("addfg"), part.clone()));
    let preloaded = parts.iter().position(|part| part.starts_with("vgpreload_core")).unwrap();
    for part in [&parts[0], &parts[preloaded]] {
        let path = recorder.join(part);
        let size = path.metadata().unwrap().len();
        std::fs::remove_file(&path).unwrap();
        if part.starts_with("addfg") {
            std::fs::write(&path, "").unwrap();
        }
        run(&[("XDG_CACHE_HOME", &own)], &format!("{part}.db"));
        assert_eq!(path.metadata().unwrap().len(), size, "{part}");
    }
    // What somebody put there instead says that it ran.
    let planted = |at: &Path| {
        let folder = at.join(recorder.file_name().unwrap());
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("#!/bin/sh\ntouch {}/ran\nexit 0\n", scratch.0.display());
        let mut sealed: Vec<_> =
            parts.iter().map(|part| format!("{} {part}\n", text.len())).collect();
        sealed.retain(|line| !line.ends_with(" parts\n"));
        sealed.sort();
        for part in &parts {
            let to = folder.join(part);
            std::fs::write(&to, if part == "parts" { sealed.concat() } else { text.clone() })
                .unwrap();
            mode(&to, 0o755);
        }
        folder
    };
    let ran = scratch.path("ran");
    for (i, open) in [0o777, 0o775, 0o702].into_iter().enumerate() {
        for (j, which) in ["", "addfg", "recorder"].into_iter().enumerate() {
            // Each bit at one place, and all at each: every run compiles.
            if open != 0o777 && i != j {
                continue;
            }
            let cache = scratch.path(&format!("cache{i}{j}"));
            let folder = planted(&cache.join("addfg"));
            mode(&cache, 0o700);
            mode(&cache.join("addfg"), 0o700);
            mode(&folder, 0o700);
            match which {
                "" => mode(&cache, open),
                "addfg" => mode(&cache.join("addfg"), open),
                _ => mode(&folder, open),
            }
            run(&[("XDG_CACHE_HOME", &cache)], &format!("{i}{j}.db"));
            assert!(!ran.exists(), "{open:o} {which}");
        }
    }
    // Without a home, in the temporary folder; by a relative name, here.
    planted(&tmp.join("addfg"));
    run(&[], "none.db");
    planted(&scratch.path("relative/addfg"));
    run(&[("XDG_CACHE_HOME", Path::new("relative"))], "relative.db");
    let home = scratch.path("home");
    std::fs::create_dir(&home).unwrap();
    let variables = [("XDG_CACHE_HOME", Path::new("relative")), ("HOME", &*home)];
    run(&variables, "home.db");
    assert!(!ran.exists());
    assert!(home.join(".cache/addfg").is_dir());
    // What was made for one run only is gone.
    assert_eq!(names(&tmp), ["addfg"]);
    // SAFETY: it gives a number.
    if unsafe { libc::geteuid() } == 0 {
        let cache = scratch.path("of-nobody");
        let folder = planted(&cache.join("addfg"));
        let program =
            |path: &Path| std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
        program(&folder);
        mode(&folder, 0o700);
        run(&[("XDG_CACHE_HOME", &cache)], "nobody.db");
        program(&cache);
        run(&[("XDG_CACHE_HOME", &cache)], "nobodys.db");
        assert!(!ran.exists());
    }
}

/// Standard error is the program's: what valgrind says of its own goes elsewhere, and the program has
/// no descriptor more.
#[test]
fn what_valgrind_says_is_not_the_programs() {
    let scratch = Scratch::new("record-said");
    let Some(program) = program(&scratch, "odd_frame") else { return };
    let (program, db) = (utf8(&program), scratch.path("odd.duckdb"));
    let valgrind = Command::new("valgrind").args(["-q", "--tool=none", program]).output();
    let alone = said(&valgrind.expect("valgrind runs"));
    assert!(alone.contains("DWARF2"), "valgrind understands the frame: {alone}");
    let quiet = ["-q", "--force", "-o", utf8(&db)];
    assert_eq!(said(&record(&quiet, &[program])), "own 3\n");
    let follow = [&quiet[..], &["--follow"]].concat();
    assert_eq!(said(&record(&follow, &[program, "child"])), "own 3\nown 3\n");
    let loud = said(&record(&quiet[1..], &[program]));
    assert!(loud.starts_with("own 3\n") && !loud.contains("DWARF2"), "{loud}");
    // What explains a failure is said.
    let failed = record(&quiet, &[program, "child", "signal"]);
    let said = said(&failed);
    assert!(said.contains("Process terminating") && !said.contains("DWARF2"), "{said}");
    assert_eq!(failed.status.code(), Some(128 + 11));
}

/// A file that nobody can write to through memory is shared with nobody: the C library of each process
/// maps one (gconv-modules.cache).
#[test]
fn a_file_that_is_only_read_is_not_shared() {
    let scratch = Scratch::new("record-read-only");
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return;
    }
    let source = scratch.write(
        "maps.c",
        "#include <fcntl.h>
         #include <stdlib.h>
         #include <sys/mman.h>
         #include <sys/wait.h>
         #include <unistd.h>
         int main(int arguments, char **argument) {
             int writes = arguments > 2, fd = open(argument[1], writes ? O_RDWR : O_RDONLY), status;
             char *at = mmap(0, 4096, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
             char *own = malloc(1 << 20);
             own[5] = at[3];
             pid_t child = fork();
             if (child == 0) _exit(at[1] + own[5] == 0);
             waitpid(child, &status, 0);
             return at[2] == 0;
         }",
    );
    let program = scratch.path("maps");
    make("gcc", &source, &["-O1"], &program);
    let text = scratch.write("text", "some words\n".repeat(500));
    let db = scratch.path("db");
    let options = ["-q", "--force", "--follow", "-o", utf8(&db)];
    let read = record(&options, &[utf8(&program), utf8(&text)]);
    assert_eq!((read.status.code(), said(&read)), (Some(0), String::new()));
    let written = record(&options, &[utf8(&program), utf8(&text), "writes"]);
    assert_eq!(written.status.code(), Some(1), "{}", said(&written));
    assert!(said(&written).contains("memory is shared with others"), "{}", said(&written));
}
