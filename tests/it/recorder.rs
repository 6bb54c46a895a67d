//! The recorder for valgrind held to what others say of the same run: memory itself, callgrind,
//! strace; parts of a run, and libraries that come and go.

use crate::common::{Scratch, have, ok, repository, roots, rows, said, utf8};
use crate::stream::{compile, recorder};
use crate::views::callgrind::{Names, read_callgrind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs a program under the recorder; gives its stream.
fn record(recorder: &Path, options: &[&str], program: &[&str]) -> (PathBuf, Output) {
    // Beside the program.
    let stream = PathBuf::from(format!("{}.stream", program[0]));
    let mut command = Command::new("valgrind");
    command.env("VALGRIND_LIB", recorder).args(["-q", "--vex-guest-chase=no", "--tool=addfg"]);
    command.arg(format!("--stream={}", utf8(&stream))).args(options).args(program);
    (stream, command.output().expect("valgrind"))
}

fn build(stream: &Path, more: &[&str]) -> PathBuf {
    let db = stream.with_extension("duckdb");
    ok(&[&["build", utf8(stream), "--force", "-o", utf8(&db)], more].concat());
    db
}

/// Every byte that is loaded is what was last stored there or delivered by the kernel: nothing
/// else changes memory than what the stream tells. Programs of tests/programs, their flags, and how they end.
fn all_that_is_loaded_was_stored_or_delivered(programs: &[(&str, &[&str], i32)]) {
    let Some(recorder) = recorder() else { return };
    let scratch = Scratch::new(&format!("recorder-check-{}", programs[0].0));
    let text = scratch.write("text", "some words\n".repeat(200));
    for (source, flags, exit) in programs {
        let program = scratch.path("program");
        compile(source, flags, &program);
        let run = [utf8(&program), utf8(&text)];
        let (_, output) = record(&recorder, &["--check=yes"], &run);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("loads, 0 differ"), "{source}: {said}");
        assert!(*exit == 0 || output.status.code() == Some(*exit), "{source}: {:?}", output.status);
    }
}

#[test]
fn what_processes_load_was_stored_or_delivered() {
    all_that_is_loaded_was_stored_or_delivered(&[
        ("process.c", &["-O1"], 3),
        ("two_threads.c", &["-O1", "-pthread"], 0),
        ("signal.c", &["-O1"], 0),
        ("recorded.c", &["-O3", "-mavx2"], 0),
        ("atomics.c", &["-O1", "-pthread"], 0),
        ("family.c", &["-O1"], 4),
    ]);
}

/// Programs of tests/programs that end well by themselves.
fn zoo(programs: &[&'static str]) {
    let of = |source: &&'static str| (*source, &["-O1", "-w", "-pthread"][..], 0);
    all_that_is_loaded_was_stored_or_delivered(&programs.iter().map(of).collect::<Vec<_>>());
}

#[test]
fn what_programs_with_heaps_load_was_stored_or_delivered() {
    zoo(&[
        "allocations.c",
        "copies.c",
        "ended.c",
        "fields.c",
        "jit.c",
        "objects.c",
        "resend.c",
        "thread_tree.c",
    ]);
}

#[test]
fn what_programs_with_loops_load_was_stored_or_delivered() {
    zoo(&[
        "allocator.c",
        "coroutines.c",
        "heap.c",
        "kernels.c",
        "pointers.c",
        "selfmodify.c",
        "turns.c",
    ]);
}

#[test]
fn what_programs_that_jump_load_was_stored_or_delivered() {
    zoo(&["cold.c", "deep.c", "inlined.c", "longjmp.c", "recursion.c", "strings.c", "unload.c"]);
}

#[test]
fn what_programs_with_stacks_load_was_stored_or_delivered() {
    zoo(&[
        "conditional.c",
        "fault.c",
        "interpreter.c",
        "many.c",
        "remap.c",
        "structs.c",
        "words.c",
    ]);
}

/// Programs as no compiler makes them (`tests/programs/wild.py`).
#[test]
fn what_random_programs_load_was_stored_or_delivered() {
    let scratch = Scratch::new("recorder-wild");
    let Some(recorder) = recorder() else { return };
    if !crate::sums::makes_wild() {
        return;
    }
    for seed in crate::common::seeds(8) {
        let more = [&["threads", "memory"][..], &["jumps", "memory"], &["wide", "memory"]];
        let more = more[seed as usize % 3];
        let program = crate::sums::wild(&scratch, seed, more);
        let (stream, output) = record(&recorder, &["--check=yes"], &[utf8(&program)]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("loads, 0 differ"), "seed {seed}: {said}");
        assert!(crate::stream::second_reader(&stream).is_some_and(|events| events.len() > 10));
    }
}

/// (callgrind's, ours) by what is counted.
type Counts<K> = BTreeMap<K, (i64, i64)>;

/// Functions that jump to others, or begin or end in the middle: callgrind counts what a function
/// jumps to for it, and does not see the ends of threads.
fn equal<K: Ord + std::fmt::Debug>(what: &str, counts: &Counts<K>, least: usize) {
    let same = counts.values().filter(|(theirs, ours)| theirs == ours).count();
    let differ: Vec<_> = counts.iter().filter(|(_, (theirs, ours))| theirs != ours).collect();
    println!("{what}: {same} of {} are equal; {differ:?}", counts.len());
    assert!(same >= least && differ.is_empty(), "{what}: {differ:?}");
}

#[test]
fn call_trees_of_threads_are_callgrinds() {
    let scratch = Scratch::new("recorder-callgrind");
    let Some(recorder) = recorder() else { return };
    let program = scratch.path("threads");
    compile("thread_tree.c", &["-O1", "-g", "-static", "-pthread"], &program);
    let (stream, _) = record(&recorder, &[], &[utf8(&program)]);
    let db = build(&stream, &["--elf", utf8(&program), "--detail", "instance"]);
    let out = scratch.path("callgrind.out");
    let ran = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes", "--compress-strings=no"])
        .args(["--compress-pos=no", "--dump-instr=yes", "--dump-line=no"])
        .arg(format!("--callgrind-out-file={}", utf8(&out)))
        .arg(&program)
        .output();
    assert!(ran.is_ok_and(|o| o.status.success()));
    let names = Names::new(&db);
    let own = "'work', 'outer', 'inner', 'leaf', 'main', 'again'";
    for thread in 1..=3 {
        let text = std::fs::read_to_string(scratch.path(&format!("callgrind.out-{thread:02}")));
        let theirs = read_callgrind(&text.expect("a file for each thread"));
        let (mut inclusive, mut calls) = (Counts::default(), Counts::default());
        for (name, steps) in &theirs.inclusive {
            inclusive.entry(names.of(name)).or_insert((0, 0)).0 += steps;
        }
        for ((from, to), n) in &theirs.calls {
            calls.entry((names.of(from), names.of(to))).or_insert((0, 0)).0 += n;
        }
        let sql = format!(
            "SELECT name, sum(steps_total) FROM function_call JOIN function_symbol
             USING (function_id) JOIN thread USING (thread_id)
             WHERE tid = {thread} AND name IN ({own}) GROUP BY name"
        );
        for row in rows(&db, &sql) {
            let (name, steps) = row.split_once(',').expect("two columns");
            inclusive.entry(name.into()).or_insert((0, 0)).1 += steps.parse::<i64>().expect("n");
        }
        let sql = format!(
            "SELECT a.name, b.name, count(*) FROM function_call c
             JOIN function_call p ON p.call_id = c.parent_call_id
             JOIN function_symbol a ON a.function_id = p.function_id
             JOIN function_symbol b ON b.function_id = c.function_id
             JOIN thread t ON t.thread_id = c.thread_id
             WHERE t.tid = {thread} AND a.name IN ({own}) AND b.name IN ({own})
             GROUP BY ALL"
        );
        for row in rows(&db, &sql) {
            let [from, to, n] = row.split(',').collect::<Vec<_>>()[..] else { panic!("{row}") };
            let key = (from.to_owned(), to.to_owned());
            calls.entry(key).or_insert((0, 0)).1 += n.parse::<i64>().expect("n");
        }
        let of_program = |name: &str| own.contains(&format!("'{name}'"));
        inclusive.retain(|name, _| of_program(name) && name != "main");
        calls.retain(|(from, to), _| of_program(from) && of_program(to));
        let least = if thread == 1 { 1 } else { 4 };
        equal(&format!("inclusive steps of thread {thread}"), &inclusive, least);
        equal(&format!("calls of thread {thread}"), &calls, least - 1);
    }
}

/// Bytes that `read` and `write` gave, by call.
#[test]
fn bytes_of_system_calls_are_straces() {
    let scratch = Scratch::new("recorder-strace");
    if !have("strace") {
        return;
    }
    let Some(recorder) = recorder() else { return };
    let program = scratch.path("words");
    compile("words.c", &["-O1", "-g", "-static"], &program);
    let text = scratch.write("text", "how many words are these\n".repeat(3000));
    let log = scratch.path("strace.log");
    let ran = Command::new("strace")
        .args(["-e", "trace=read,write", "-o", utf8(&log), utf8(&program), utf8(&text)])
        .output();
    if !ran.is_ok_and(|output| output.status.success()) {
        println!("skipped: strace may not trace here");
        return;
    }
    let mut theirs: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in std::fs::read_to_string(&log).expect("log").lines() {
        let call = line.split('(').next().unwrap_or("");
        let result = line.rsplit("= ").next().and_then(|n| n.trim().parse::<u64>().ok());
        if let Some(result) = result.filter(|_| call == "read" || call == "write") {
            let sums = theirs.entry(call.into()).or_default();
            *sums = (sums.0 + 1, sums.1 + result);
        }
    }
    let (stream, _) = record(&recorder, &[], &[utf8(&program), utf8(&text)]);
    let db = build(&stream, &["--elf", utf8(&program)]);
    let sql = "SELECT s.name, count(*), sum(result), sum(a.bytes) FROM system_call s
               JOIN (SELECT system_call_id, sum(bytes) AS bytes FROM system_call_access
                     GROUP BY system_call_id
                     UNION ALL SELECT system_call_id, 0 FROM system_call WHERE result = 0) a
               USING (system_call_id) WHERE s.name IN ('read', 'write') GROUP BY ALL ORDER BY 1";
    let theirs: Vec<String> =
        theirs.iter().map(|(call, (n, bytes))| format!("{call},{n},{bytes},{bytes}")).collect();
    assert!(theirs.len() == 2, "{theirs:?}");
    assert_eq!(rows(&db, sql), theirs);
}

/// A part of a run: from a function, until another one returns, between marks.
#[test]
fn parts_of_a_run() {
    let scratch = Scratch::new("recorder-parts");
    let Some(recorder) = recorder() else { return };
    if !Path::new("/usr/include/valgrind/valgrind.h").exists() {
        println!("skipped: valgrind/valgrind.h is not where it mostly is");
        return;
    }
    let program = scratch.path("parts");
    compile("parts.c", &["-O1", "-g", "-static"], &program);
    let part = |options: &[&str]| {
        let (stream, output) = record(&recorder, options, &[utf8(&program)]);
        // The program is what it is.
        assert_eq!(output.status.code(), Some(64), "{output:?}");
        build(&stream, &["--elf", utf8(&program)])
    };
    let calls = "SELECT name, count(*), min_by(c.kind, call_id) FROM function_call c
                 JOIN function_symbol USING (function_id) GROUP BY name ORDER BY name";
    let global = "SELECT writer, reader, bytes FROM function_dataflow WHERE via = 'global'
                  ORDER BY ALL";
    // One call, with the one in it. Nobody has written what it reads.
    let db = part(&["--from=decode", "--until=decode"]);
    assert_eq!(rows(&db, calls), ["decode,2,root", "look,128,call"]);
    assert_eq!(rows(&db, global), ["<image .bss>,look,128"]);
    // Until another one returns: what was between has its caller.
    let db = part(&["--from=decode", "--until=show"]);
    let expected = ["decode,2,root", "look,128,call", "main,1,tail", "show,1,call"];
    assert_eq!(rows(&db, calls), expected);
    let flows = rows(&db, global);
    assert!(flows.contains(&"decode,show,64".into()), "{flows:?}");
    // Twice; what was between the marks of the first part has no part in the second.
    let db = part(&["--marked=yes"]);
    let expected = ["decode,1,call", "look,64,call", "main,2,root", "show,1,call"];
    assert_eq!(rows(&db, calls), expected);
    let flows = rows(&db, global);
    assert!(flows.contains(&"<image .bss>,show,68".into()), "{flows:?}");
    assert!(!flows.iter().any(|flow| flow.starts_with("decode,")), "{flows:?}");
    assert_eq!(rows(&db, "SELECT text FROM marker"), ["7"]);
    // A C++ function by its name alone, and not another one whose name begins so.
    let db = part(&["--from=work", "--until=work"]);
    assert_eq!(rows(&db, calls), ["work(int),1,root"]);
    // A function that is not called.
    let (_, output) = record(&recorder, &["--from=nothing"], &[utf8(&program)]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("nothing was not called"), "{said}");
}

/// Lines of a stream as dump.py has them.
fn dumped(stream: &Path) -> Vec<String> {
    let script = repository("recorders/stream/dump.py");
    let output = Command::new("python3").arg(script).arg(stream).output().expect("python3");
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Address and size of a step's line.
fn step(line: &str) -> Option<(u64, u64)> {
    let (at, size) = line.strip_prefix("I  ")?.split_once(',')?;
    Some((u64::from_str_radix(at, 16).ok()?, size.parse().ok()?))
}

/// The steps of a part are those of the whole run, from the function's first one to where its call returns.
#[test]
fn a_part_is_a_piece_of_the_run() {
    let scratch = Scratch::new("recorder-piece");
    let Some(recorder) = recorder() else { return };
    if !have("python3")
        || !have("readelf")
        || !Path::new("/usr/include/valgrind/valgrind.h").exists()
    {
        println!("skipped: python3, readelf or valgrind/valgrind.h is missing");
        return;
    }
    let program = scratch.path("parts");
    compile("parts.c", &["-O1", "-g", "-static"], &program);
    let run = |options: &[&str]| {
        let (stream, output) = record(&recorder, options, &[utf8(&program)]);
        assert_eq!(output.status.code(), Some(64), "{output:?}");
        let flags = std::fs::read(&stream).expect("stream")[13];
        (dumped(&stream), flags)
    };
    let (all, flags) = run(&[]);
    assert_eq!(flags, 1);
    let of_steps = |lines: &[String]| -> Vec<String> {
        lines.iter().filter(|line| !line.starts_with('#')).cloned().collect()
    };
    let all = of_steps(&all);
    let symbols = Command::new("readelf").arg("-sW").arg(&program).output().expect("readelf");
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    let entry = |name: &str| {
        let line = symbols.lines().find(|line| line.ends_with(&format!(" {name}")));
        let text = line.expect("a symbol").split_whitespace().nth(1).expect("an address");
        let address = u64::from_str_radix(text, 16).expect("an address");
        all.iter().position(|line| step(line).is_some_and(|(at, _)| at == address)).expect("a call")
    };
    // Behind the call that is at a function's entry.
    let returned = |entry: usize| {
        let (at, size) = all[..entry].iter().rev().find_map(|line| step(line)).expect("a call");
        let behind =
            all[entry..].iter().position(|line| step(line).is_some_and(|(to, _)| to == at + size));
        entry + behind.expect("a return")
    };
    let (decode, show) = (entry("decode"), entry("show"));
    for (options, from, to) in [
        (&["--from=decode", "--until=decode"][..], decode, returned(decode)),
        (&["--from=decode", "--until=show"], decode, returned(show)),
        (&["--until=decode"], 0, returned(decode)),
        (&["--from=show"], show, all.len()),
    ] {
        let (lines, flags) = run(options);
        let part = of_steps(&lines);
        let differs = part.iter().zip(&all[from..to]).position(|(a, b)| a != b);
        assert_eq!((differs, part.len()), (None, to - from), "{options:?}");
        assert_eq!(flags, u8::from(from == 0), "{options:?}");
        // Before it and behind it nothing but what the part needs.
        let first = lines.iter().position(|line| step(line).is_some()).expect("steps");
        let last = lines.iter().rposition(|line| !line.starts_with('#')).expect("steps");
        let outside = lines[..first].iter().chain(&lines[last + 1..]);
        let other = |line: &&String| {
            let kind = line.split(' ').nth(1).unwrap_or("");
            ["syscall", "kernel_read", "kernel_write", "allocate", "free", "marker", "gap"]
                .contains(&kind)
        };
        // The stack pointer before the first instruction: a call has just put where it returns to there.
        let stacks: Vec<_> =
            lines.iter().filter_map(|line| line.strip_prefix("# stack 0x")).collect();
        assert_eq!(stacks.len(), 1, "{options:?}");
        if from > 0 {
            assert_eq!(all[from - 1], format!(" S {},8", stacks[0].trim_end()), "{options:?}");
        }
        let others: Vec<_> = outside.filter(other).collect();
        let until = options.iter().any(|option| option.starts_with("--until"));
        assert!(!until || others.is_empty(), "{options:?}: {others:?}");
    }
    // Between marks, twice.
    let (lines, flags) = run(&["--marked=yes"]);
    let mut parts = lines.split(|line| line == "# gap").map(of_steps);
    let (first, second) = (parts.next().expect("a part"), parts.next().expect("a second one"));
    assert!(parts.next().is_none() && flags == 0);
    for (part, name) in [(first, "decode"), (second, "show")] {
        let begin = all.windows(part.len()).position(|piece| piece == part);
        let begin = begin.unwrap_or_else(|| panic!("{name}: no piece of the run"));
        let calls: Vec<_> = [decode, show].map(|entry| step(&all[entry])).into_iter().collect();
        let of = |n: usize| part.iter().filter(|line| step(line) == calls[n]).count();
        assert_eq!([of(0), of(1)], if name == "decode" { [1, 0] } else { [0, 1] }, "{name}");
        assert!(begin > returned(decode), "{name}");
    }
    let markers: Vec<_> = lines.iter().filter(|line| line.starts_with("# marker")).collect();
    assert_eq!(markers, ["# marker 0x7"]);
}

/// Code that was unloaded keeps its names when another library takes its place.
#[test]
fn a_library_takes_the_place_of_another() {
    let scratch = Scratch::new("recorder-unload");
    let Some(recorder) = recorder() else { return };
    let library = |name: &str, more: &str| {
        let source = format!("{more}int {name}(int n) {{ return n + 1; }}\n");
        let source = scratch.write(&format!("{name}.c"), source);
        let to = scratch.path(&format!("{name}.so"));
        let flags = ["-shared", "-fPIC", "-g", "-O1", "-o", utf8(&to), utf8(&source)];
        assert!(Command::new("gcc").args(flags).status().is_ok_and(|s| s.success()));
        to
    };
    // The second has other code where the first has its function.
    let first = library("first", "");
    let second = library("second", "int before(int n) { return n * 3; }\n");
    let program = scratch.path("unload");
    compile("unload.c", &["-O1", "-g"], &program);
    let run = [utf8(&program), utf8(&first), "first", utf8(&second), "second"];
    let (stream, output) = record(&recorder, &[], &run);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "6\n");
    let db = build(&stream, &[]);
    let ran = "SELECT s.name, i.path LIKE '%' || s.name || '.so', p.steps_self > 1
               FROM function_profile p JOIN function_symbol s USING (function_id)
               JOIN image i USING (image_id) WHERE s.name IN ('first', 'second', 'before')
               ORDER BY 1";
    assert_eq!(rows(&db, ran), ["first,true,true", "second,true,true"]);
    let lines = "SELECT DISTINCT regexp_extract(f.path, '[^/]*$') FROM instruction n
                 JOIN image i USING (image_id) JOIN source_file f USING (file_id)
                 WHERE i.path LIKE '%/first.so' OR i.path LIKE '%/second.so' ORDER BY 1";
    assert_eq!(rows(&db, lines), ["first.c", "second.c"]);
    let images = "SELECT i.bias = j.bias, i.unload_seq <= j.load_seq, j.unload_seq > j.load_seq
                  FROM image i, image j WHERE i.path LIKE '%/first.so' AND j.path LIKE '%/second.so'";
    assert_eq!(rows(&db, images), ["true,true,true"]);
}

/// The sources are those of one recorder, whatever release of valgrind they are compiled against: the
/// one of this machine, and those of other releases' packages.
#[test]
fn the_recorder_compiles_against_each_valgrind() {
    if !have("valgrind") || !have("gcc") || !have("pkg-config") {
        return;
    }
    let scratch = Scratch::new("recorder-releases");
    let compile = |name: &str, description: Option<String>| {
        let to = scratch.path(name);
        let mut build = Command::new(repository("recorders/valgrind/build.sh"));
        if let Some(text) = description {
            let folder = scratch.path(&format!("{name}-pkgconfig"));
            std::fs::create_dir(&folder).expect("folder");
            std::fs::write(folder.join("valgrind.pc"), text).expect("writes");
            build.env("PKG_CONFIG_LIBDIR", folder);
        }
        let output = build.arg(&to).output().expect("sh");
        assert!(output.status.success() && output.stderr.is_empty(), "{name}: {}", said(&output));
        let made = std::fs::read_dir(to).expect("folder").map(|e| e.unwrap().file_name());
        let made: Vec<_> = made.map(|name| name.into_string().expect("UTF-8")).collect();
        assert!(made.iter().any(|name| name.starts_with("addfg-")), "{name}: {made:?}");
    };
    compile("installed", None);
    for (number, root) in roots().iter().enumerate() {
        let libraries = std::fs::read_dir(root.join("usr/lib")).expect("folder");
        let descriptions = libraries.map(|e| e.unwrap().path().join("pkgconfig/valgrind.pc"));
        for path in descriptions.filter(|path| path.exists()) {
            let text = std::fs::read_to_string(&path).expect("reads");
            let prefix = format!("prefix={}", root.join("usr").display());
            let moved = text.replace("prefix=/usr\n", &format!("{prefix}\n"));
            assert!(moved.contains(&prefix), "{text}");
            compile(&format!("release-{number}"), Some(moved));
        }
    }
}
