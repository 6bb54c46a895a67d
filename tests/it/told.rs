//! The recorder for valgrind tells what a program says that it did: tests/programs/told.c, event by event. The header that
//! it writes streams with packs what tests/programs/packed.c says.

use crate::common::{self, Scratch, have, repository, said, seeds, utf8};
use crate::emulators::takes_plugins;
use crate::plugin::plugin;
use crate::stream::{compile, recorder, second_reader};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// Events that belong to a system call.
const MOVED: [&str; 9] = [
    "kernel_read",
    "kernel_write",
    "unmap",
    "move",
    "protect",
    "fresh",
    "share",
    "file_write",
    "exec",
];
const HEAP: [&str; 3] = ["allocate", "free", "reallocate"];
/// A call that fails, before each part of the program and behind the last one.
const BORDER: &str = "syscall 0x5f 0x8 0x7777 0x1234 ";

pub fn run(recorder: &Path, options: &[&str], program: &[&str]) -> Output {
    let mut command = Command::new("valgrind");
    command.env("VALGRIND_LIB", recorder).args(["-q", "--vex-guest-chase=no", "--tool=addfg"]);
    command.args(options).args(program).output().expect("valgrind")
}

/// The program, and the folder that it makes its files in.
fn program(scratch: &Scratch) -> (PathBuf, PathBuf) {
    let (program, folder) = (scratch.path("told"), scratch.path("files"));
    compile("told.c", &["-O1", "-g", "-w", "-static"], &program);
    std::fs::create_dir(&folder).expect("a folder");
    (program, folder)
}

fn kind(line: &str) -> &str {
    line.split(' ').next().unwrap_or("")
}

fn of_kinds<'a>(lines: &[&'a str], kinds: &[&str]) -> Vec<&'a str> {
    lines.iter().copied().filter(|line| kinds.contains(&kind(line))).collect()
}

/// The lines of each system call. Maps without the names of their files.
fn calls(lines: &[&str]) -> Vec<Vec<String>> {
    let mut calls: Vec<Vec<String>> = Vec::new();
    for line in lines {
        let words = line.split(' ').collect::<Vec<_>>();
        match (kind(line), calls.last_mut()) {
            ("syscall", _) => calls.push(vec![(*line).to_owned()]),
            ("map" | "map_of", Some(call)) => call.push(format!("map {}", words[1..5].join(" "))),
            ("syscall_end" | "structures" | "maybe" | "any_order", Some(call)) => {
                call.push((*line).to_owned());
            }
            (other, Some(call)) if MOVED.contains(&other) => call.push((*line).to_owned()),
            _ => (),
        }
    }
    calls
}

/// What was told of a call, as far as the program knows it.
fn comparable(expected: &[String], mut told: Vec<String>) -> [Vec<String>; 2] {
    let is = |what: &str| expected.iter().any(|line| line == what);
    let mut rest = expected.to_vec();
    rest.retain(|line| !["structures", "maybe", "any_order"].contains(&line.as_str()));
    // The core knows the structures of messages.
    if is("structures") {
        told.retain(|line| !(line.starts_with("kernel_write") && line.ends_with(" 0x1")));
    }
    if is("maybe") {
        told.retain(|line| !line.starts_with("kernel_read"));
    }
    if is("any_order") {
        rest.sort();
        told.sort();
    }
    [rest, told]
}

/// The calls that the program says are those of the stream, among others of its library.
fn same_calls(expected: &[&str], told: &[&str]) {
    let mut told = calls(told).into_iter();
    for call in calls(expected) {
        let found = told.find(|other| other[0] == call[0]);
        let found = found.unwrap_or_else(|| panic!("not told: {call:?}"));
        let [expected, found] = comparable(&call, found);
        assert_eq!(found, expected);
    }
}

#[test]
fn what_a_program_says_it_does() {
    let scratch = Scratch::new("told");
    let Some(recorder) = recorder() else { return };
    let ((program, folder), stream) = (program(&scratch), scratch.path("a.stream"));
    let to = format!("--stream={}", utf8(&stream));
    let own = ["pool_get=malloc", "pool_put=posix_memalign", "pool_slow=malloc"];
    let own = own.map(|own| format!("--allocator={own}"));
    let options = [&to[..], &own[0], &own[1], &own[2]];
    let output = run(&recorder, &options, &[utf8(&program), utf8(&folder)]);
    assert!(output.status.success(), "{}", said(&output));
    let expected = std::fs::read_to_string(folder.join("expected")).expect("expected");
    let expected: Vec<&str> = expected.lines().map(str::trim_end).collect();
    let Some(events) = second_reader(&stream) else { return };
    let events: Vec<&str> = events.iter().map(|line| line.trim_end()).collect();
    let told: Vec<&[&str]> = events.split(|line| line.starts_with(BORDER)).collect();
    let expected: Vec<&[&str]> = expected.split(|line| line.starts_with("part ")).collect();
    assert_eq!((told.len(), expected.len()), (11, 10));
    for part in (0..5).chain([8]) {
        same_calls(expected[part + 1], told[part + 1]);
    }
    for (part, kinds) in
        [(5, &HEAP[..]), (6, &["thread_start", "kernel_write", "thread_end"]), (7, &["descriptor"])]
    {
        assert_eq!(of_kinds(told[part + 1], kinds), of_kinds(expected[part + 1], kinds), "{part}");
        assert!(!of_kinds(expected[part + 1], kinds).is_empty(), "{part}");
    }
    assert_eq!(of_kinds(told[0], &["stack"]), of_kinds(expected[9], &["stack"]));
    // What it is open on from the beginning.
    let first = of_kinds(told[0], &["process", "descriptor"]);
    assert!(first[0].ends_with("/told") && first[1] == "descriptor 0x0 /dev/null", "{first:?}");
    assert!(
        first[2].starts_with("descriptor 0x1 pipe:")
            && first[3].starts_with("descriptor 0x2 pipe:"),
        "{first:?}"
    );
    let header = std::fs::read(&stream).expect("stream");
    assert_eq!(header[8..16], [1, 0, 62, 0, 64, 1, 0, 0]);
}

/// What a model of pages says of the events of a run of tests/programs/mappings.c, which said `files`.
fn agrees_with_the_model(scratch: &Scratch, files: &[u8], kernel: &str, stream: &Path, of: &str) {
    let files = scratch.write("names", files);
    if !have("python3") {
        return;
    }
    let script = repository("recorders/stream/dump.py");
    let events = Command::new("python3").arg(script).arg(stream).arg("--events").output();
    let events = String::from_utf8_lossy(&events.expect("python3").stdout).replace("# ", "");
    let events = scratch.write("events", events);
    let mut model = Command::new("python3");
    model.arg(repository("tests/programs/mappings.py")).arg(&files).arg(kernel);
    let events = std::fs::File::open(events).expect("events");
    let output = model.stdin(events).output().expect("python3");
    assert!(output.status.success(), "{of}: {}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let counts: Vec<u32> = text.split_whitespace().map(|n| n.parse().expect("n")).collect();
    assert!(counts.len() == 5 && counts.iter().all(|n| *n > 20), "{of}: {counts:?}");
}

/// Files that are mapped, moved, cut and written to at random: what is told of them is what a model of pages says
/// (`tests/programs/mappings.py`), and what the program finds there.
#[test]
fn what_becomes_of_files_in_memory() {
    let scratch = Scratch::new("told-mappings");
    let Some(recorder) = recorder() else { return };
    let [program, folder, stream] =
        ["mappings", "files", "a.stream"].map(|name| scratch.path(name));
    compile("mappings.c", &["-O1", "-g", "-w", "-static"], &program);
    std::fs::create_dir(&folder).expect("a folder");
    let to = format!("--stream={}", utf8(&stream));
    for seed in seeds(4) {
        let output =
            run(&recorder, &[&to], &[utf8(&program), utf8(&folder), &(seed + 1).to_string()]);
        assert!(output.status.success(), "{}", said(&output));
        let of = format!("seed {seed}");
        agrees_with_the_model(&scratch, &output.stdout, "linux", &stream, &of);
    }
}

/// Under QEMU, too, on each instruction set.
#[test]
fn what_becomes_of_files_in_memory_under_qemu() {
    let scratch = Scratch::new("told-mappings-qemu");
    let Some(plugin) = plugin() else { return };
    for (compiler, emulator) in [
        ("gcc", "qemu-x86_64"),
        ("i686-linux-gnu-gcc", "qemu-i386"),
        ("arm-linux-gnueabi-gcc", "qemu-arm"),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
    ] {
        let (program, folder, stream) =
            (scratch.path("mappings"), scratch.path(emulator), scratch.path("a.stream"));
        let flags = ["-O1", "-g", "-w", "-static", "-D_FILE_OFFSET_BITS=64"];
        if !have(emulator)
            || !takes_plugins(emulator)
            || !common::compile(compiler, "mappings.c", &flags, &program)
        {
            continue;
        }
        std::fs::create_dir(&folder).expect("a folder");
        let option = format!("{},stream={}", utf8(&plugin), utf8(&stream));
        for seed in seeds(2) {
            let mut qemu = Command::new(emulator);
            qemu.args(["-plugin", &option]).args([&program, &folder]).arg((seed + 1).to_string());
            let output = qemu.output().expect("QEMU runs");
            assert!(output.status.success(), "{emulator}: {}", said(&output));
            let of = format!("{emulator}, seed {seed}");
            agrees_with_the_model(&scratch, &output.stdout, "qemu", &stream, &of);
        }
    }
}

/// Each process has its stream; what the kernel writes in a child before it runs is in the child's.
#[test]
fn what_children_say_they_do() {
    let scratch = Scratch::new("told-children");
    let Some(recorder) = recorder() else { return };
    let (program, folder) = program(&scratch);
    let each = format!("--stream-each={}", utf8(&scratch.path("a.stream")));
    let options = [&each, "--trace-children=yes"];
    let output = run(&recorder, &options, &[utf8(&program), "children", utf8(&folder)]);
    assert!(output.status.success(), "{}", said(&output));
    let expected = std::fs::read_to_string(folder.join("expected")).expect("expected");
    let mut streams = Vec::new();
    for number in 1..=3 {
        let Some(events) = second_reader(&scratch.path(&format!("a.stream.{number}"))) else {
            return;
        };
        streams.push(events.iter().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>());
    }
    let part = |stream: &[String], kinds: &[&str]| {
        let kinds = |line: &&String| kinds.contains(&kind(line));
        stream.iter().filter(kinds).cloned().collect::<Vec<_>>().join("\n")
    };
    // The parent knows its children's numbers, these their parent's.
    assert_eq!(part(&streams[0], &["fork"]), lines(&expected, "fork"));
    assert_eq!(
        part(&streams[1], &["inherit", "kernel_write", "syscall"]),
        lines(&expected, "first:")
    );
    assert_eq!(
        part(&streams[2], &["inherit", "kernel_write", "syscall"]),
        lines(&expected, "second:")
    );
    // The code is mapped before a child runs, where the parent has it.
    let maps = |stream: &[String]| {
        let of_map = |line: &&String| kind(line) == "map" && line.contains(" 0x5 ");
        stream.iter().filter(of_map).cloned().collect::<BTreeSet<_>>()
    };
    let text = maps(&streams[0]).into_iter().filter(|line| line.ends_with("/told"));
    let missing: Vec<_> = text.filter(|line| !maps(&streams[1]).contains(line)).collect();
    assert_eq!(missing, [""; 0]);
}

/// A child's threads are counted anew, however many there were and whichever forked; each of them ends once.
#[test]
fn threads_of_children_have_their_own_numbers() {
    let scratch = Scratch::new("told-forked");
    let Some(recorder) = recorder() else { return };
    let program = scratch.path("forked_threads");
    compile("forked_threads.c", &["-O1", "-w", "-pthread", "-static"], &program);
    let each = format!("--stream-each={}", utf8(&scratch.path("a.stream")));
    let output = run(&recorder, &[&each, "--trace-children=yes"], &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    for (number, all) in [(1, 2), (2, 41)] {
        let Some(events) = second_reader(&scratch.path(&format!("a.stream.{number}"))) else {
            return;
        };
        let events: Vec<&str> = events.iter().map(|line| line.trim_end()).collect();
        // A child's first thread was there already.
        let first = if number == 1 { 1 } else { 2 };
        let begun = (first..=all).map(|n| format!("thread_start {n:#x} {:#x}", u8::from(n > 1)));
        assert_eq!(of_kinds(&events, &["thread_start"]), begun.collect::<Vec<_>>());
        let mut ended = of_kinds(&events, &["thread_end"]);
        ended.sort_unstable();
        let mut expected: Vec<_> = (1..=all).map(|n| format!("thread_end {n:#x}")).collect();
        expected.sort_unstable();
        assert_eq!(ended, expected);
    }
}

/// Threads that wait when another one ends the program end without what they waited for, and what no file has has no name.
#[test]
fn what_waits_ends_with_the_program() {
    let scratch = Scratch::new("told-left");
    let Some(recorder) = recorder() else { return };
    let (program, stream) = (scratch.path("left"), scratch.path("a.stream"));
    compile("left.c", &["-O1", "-w", "-pthread", "-static"], &program);
    let output = run(&recorder, &[&format!("--stream={}", utf8(&stream))], &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    let Some(events) = second_reader(&stream) else { return };
    let events: Vec<&str> = events.iter().map(|line| line.trim_end()).collect();
    let files = |from: std::ops::Range<usize>| {
        let of = |line: &&&str| (3..8).any(|fd| line.starts_with(&format!("descriptor {fd:#x}")));
        events[from]
            .iter()
            .filter(of)
            .map(|line| line.get(..20).unwrap_or(line))
            .collect::<Vec<_>>()
    };
    let reads = events.iter().position(|line| line.starts_with("syscall 0x0 ")).expect("a read");
    // What whoever runs it has left is closed, which is told; of what never was nothing is.
    let (left, mut named) = (files(0..reads), files(reads..events.len()));
    named.retain(|line| line.len() > 14 || !left.iter().any(|open| open.starts_with(line)));
    assert_eq!(named, ["descriptor 0x3 pipe:", "descriptor 0x4 pipe:"]);
    // Each is told by whom it was begun.
    let begun: Vec<&str> =
        events.iter().copied().filter(|line| kind(line) == "thread_start").collect();
    assert_eq!(begun, ["thread_start 0x1 0x0", "thread_start 0x2 0x1", "thread_start 0x3 0x1"]);
    let ends =
        events.iter().rposition(|line| line.starts_with("syscall 0xe7")).expect("exit_group");
    let words = |line: &&str| {
        line.split(' ')
            .filter(|word| word.len() < 6 || !word.starts_with("0x"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let behind: Vec<String> = events[ends + 1..].iter().map(words).collect();
    let thread = |n: u32| {
        [format!("thread {n:#x}"), "kernel_write 0x4".to_owned(), format!("thread_end {n:#x}")]
    };
    let main = ["thread 0x1", "syscall_end 0x0 0x0", "thread_end 0x1"].map(str::to_owned);
    // Which of those that waited ends first nobody knows.
    let either = [[2, 3], [3, 2]].map(|[a, b]| [thread(a), thread(b), main.clone()].concat());
    assert!(either.iter().any(|all| behind.starts_with(all)), "{behind:?}");
}

/// Each name of an allocation function has its arguments, and names that are like one have none
/// (`tests/programs/allocators.s` has behind each call what is told of it).
#[test]
fn allocation_functions_have_their_arguments() {
    let scratch = Scratch::new("told-allocators");
    let Some(recorder) = recorder() else { return };
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let (program, stream) = (scratch.path("allocators"), scratch.path("a.stream"));
    compile("allocators.s", &["-nostdlib", "-static", "-no-pie"], &program);
    let options = [&format!("--stream={}", utf8(&stream)), "--allocator=pool_take=realloc"];
    let output = run(&recorder, &options, &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    let source = std::fs::read_to_string(repository("tests/programs/allocators.s"));
    let source = source.expect("a program");
    let expected: Vec<&str> =
        source.lines().filter_map(|line| Some(line.split_once("#= ")?.1)).collect();
    let Some(events) = second_reader(&stream) else { return };
    let events: Vec<&str> = events.iter().map(|line| line.trim_end()).collect();
    assert_eq!(of_kinds(&events, &HEAP), expected);
    assert!(expected.len() > 40);
}

/// What a call that waits may have written is told when it returns: with `--check` that is no difference. What nobody tells is
/// one, also while a call waits that writes elsewhere, or only reads there (`tests/programs/awaited.c`).
#[test]
fn what_a_call_that_waits_writes_is_no_difference() {
    let scratch = Scratch::new("told-awaited");
    let Some(recorder) = recorder() else { return };
    let program = scratch.path("awaited");
    compile("awaited.c", &["-O1", "-g", "-w", "-pthread", "-static"], &program);
    for (mode, differ) in [("0", 0), ("1", 1), ("2", 1)] {
        let options = ["--check=yes", "--stream=/dev/null"];
        let output = run(&recorder, &options, &[utf8(&program), mode]);
        if output.status.code() == Some(77) {
            println!("skipped: a process cannot write its own memory here");
            continue;
        }
        assert!(output.status.success(), "{mode}: {}", said(&output));
        let says = format!("loads, {differ} differ");
        assert!(said(&output).contains(&says), "{mode}: {}", said(&output));
    }
}

/// Lines that begin with a word, without it unless it is their kind.
fn lines(text: &str, word: &str) -> String {
    let of = text.lines().filter(|line| line.starts_with(word));
    let without =
        |line: &str| line.trim_start_matches("first: ").trim_start_matches("second: ").to_owned();
    of.map(without).collect::<Vec<_>>().join("\n")
}

/// Its help names each option that docs/stream.md or addfg uses.
#[test]
fn the_recorder_says_its_options() {
    let Some(recorder) = recorder() else { return };
    let output = run(&recorder, &["--help"], &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    for option in [
        "--stream=",
        "--stream-fd=",
        "--stream-each=",
        "--sums-fd=",
        "--stepless=",
        "--unique=",
        "--snapshots=",
        "--said=",
        "--allocator=",
        "--check=",
        "--from=",
        "--until=",
        "--marked=",
    ] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(option)), "{option}: {text}");
    }
    for wrong in ["--allocator=mine=nothing", "--allocator=mine", "--snapshot=yes"] {
        let output = run(&recorder, &[wrong], &["true"]);
        assert!(!output.status.success(), "{wrong}: {}", said(&output));
    }
}

/// A program that waits may be killed there: what it did is in the file by then, however it waits.
#[test]
fn what_was_done_is_written_before_a_program_waits() {
    let scratch = Scratch::new("told-waits");
    let Some(recorder) = recorder() else { return };
    if !have("python3") || !Path::new("/usr/include/valgrind/valgrind.h").exists() {
        println!("skipped: python3 or valgrind/valgrind.h is missing");
        return;
    }
    let program = scratch.path("waits");
    compile("waits.c", &["-O1", "-g", "-w", "-static"], &program);
    for which in 0..10 {
        let stream = scratch.path("a.stream");
        let mut command = Command::new("valgrind");
        command.env("VALGRIND_LIB", &recorder).args(["-q", "--vex-guest-chase=no", "--tool=addfg"]);
        command.arg(format!("--stream={}", utf8(&stream))).arg(&program).arg(which.to_string());
        command.stdout(std::process::Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("valgrind");
        let mut said = [0];
        child.stdout.as_mut().expect("a pipe").read_exact(&mut said).expect("what it says");
        let marked = || {
            let script = repository("recorders/stream/dump.py");
            let read = Command::new("python3").arg(script).arg(&stream).output().expect("python3");
            String::from_utf8_lossy(&read.stdout).contains("# marker 0x4d")
        };
        // It is on its way there: that takes no time.
        let there = (0..20).any(|_| {
            std::thread::sleep(Duration::from_millis(25));
            marked()
        });
        let group = format!("-{}", child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        child.wait().expect("it ends");
        assert!(there, "{which}");
    }
}

/// Where nobody takes the stream any more the program goes on, and gets no signal that is not its own.
#[test]
fn a_stream_that_nobody_takes_ends() {
    let scratch = Scratch::new("told-nobody");
    let Some(recorder) = recorder() else { return };
    let program = scratch.path("waits");
    compile("waits.c", &["-O1", "-g", "-w", "-static"], &program);
    let valgrind = "valgrind -q --vex-guest-chase=no --tool=addfg";
    let ends = [
        format!(
            "{{ {valgrind} --stream-fd=3 {} 99 3>&1 >/dev/null 2>said; echo $? >code; }} | head -c 100000 >/dev/null",
            utf8(&program)
        ),
        format!("{valgrind} --stream=/dev/full {} 99 2>said; echo $? >code", utf8(&program)),
    ];
    for end in ends {
        let mut shell = Command::new("sh");
        shell.env("VALGRIND_LIB", &recorder).current_dir(&scratch.0).args(["-c", &end]);
        assert!(shell.status().is_ok_and(|status| status.success()));
        let read = |name: &str| std::fs::read_to_string(scratch.path(name)).expect("written");
        let ended = "cannot be written any more: the recording ends here";
        assert_eq!(read("said").matches(ended).count(), 1, "{end}: {}", read("said"));
        assert_eq!(read("code"), "0\n", "{end}");
    }
    let output = run(&recorder, &["--stream=/nowhere/a.stream"], &["true"]);
    assert!(
        !output.status.success() && said(&output).contains("cannot be written"),
        "{}",
        said(&output)
    );
}

/// What valgrind says goes to the file that is named, which nothing else is.
#[test]
fn what_the_recorder_says_is_where_it_is_wanted() {
    let scratch = Scratch::new("told-said");
    let Some(recorder) = recorder() else { return };
    let (log, stream) =
        (scratch.write("log", "before\n"), format!("--stream={}", utf8(&scratch.path("a.stream"))));
    let to = format!("--said={}", utf8(&log));
    let output = run(&recorder, &[&stream, &to, "--from=nothing"], &["true"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
    let text = std::fs::read_to_string(&log).expect("log");
    assert!(text.starts_with("before\n") && text.contains("nothing was not called"), "{text}");
    let output = run(&recorder, &[&stream, "--marked=yes"], &["true"]);
    assert!(
        said(&output).contains("made no ADDFG_BEGIN: nothing is recorded"),
        "{}",
        said(&output)
    );
    // One more than there is room for.
    let own: Vec<String> = (0..65).map(|n| format!("--allocator=own{n}=malloc")).collect();
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let most = run(&recorder, &[&[&stream[..]], &own[..64]].concat(), &["true"]);
    assert!(most.status.success(), "{}", said(&most));
    let more = run(&recorder, &[&[&stream[..]], &own[..]].concat(), &["true"]);
    assert!(!more.status.success() && said(&more).contains("one too many"), "{}", said(&more));
}

/// All options are taken, also those that say what is so anyway; without a name the stream has its own.
#[test]
fn each_option_is_taken() {
    let scratch = Scratch::new("told-options");
    let Some(recorder) = recorder() else { return };
    let log = scratch.write("log", "");
    let said_there = format!("--said={}", utf8(&log));
    let options = [
        "--stream-fd=-1",
        "--sums-fd=-1",
        "--stepless=no",
        "--unique=no",
        "--snapshots=no",
        &said_there,
        "--check=no",
    ];
    let part = ["--allocator=mine=malloc", "--until=nothing", "--marked=no"];
    let mut valgrind = Command::new("valgrind");
    valgrind.env("VALGRIND_LIB", &recorder).args(["-q", "--vex-guest-chase=no", "--tool=addfg"]);
    let output = valgrind.args(options).args(part).arg("true").current_dir(&scratch.0).output();
    let output = output.expect("valgrind");
    assert!(output.status.success(), "{}", said(&output));
    let Some(events) = second_reader(&scratch.path("addfg.stream")) else { return };
    assert_eq!(events.last().map(|line| line.trim_end()), Some("end 0"));
}

/// A child that outlives its parent does not hold the parent's stream: who reads that comes to its end.
#[test]
fn a_child_does_not_hold_the_stream() {
    let scratch = Scratch::new("told-outlived");
    let Some(recorder) = recorder() else { return };
    let program = scratch.path("waits");
    compile("waits.c", &["-O1", "-g", "-w", "-static"], &program);
    let valgrind = "valgrind -q --vex-guest-chase=no --tool=addfg --stream-fd=3";
    let line = format!("{valgrind} {} 98 3>&1 >/dev/null 2>&1 | cat >a.stream", utf8(&program));
    let began = std::time::Instant::now();
    let mut shell = Command::new("sh");
    shell.env("VALGRIND_LIB", &recorder).current_dir(&scratch.0).args(["-c", &line]);
    assert!(shell.status().is_ok_and(|status| status.success()));
    // The child sleeps for a minute.
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    assert!(second_reader(&scratch.path("a.stream")).is_none_or(|events| events.len() > 5));
}

/// Random blocks, paths, runs and events, in more pieces than after which a reader can begin anew.
#[test]
fn the_header_packs_what_it_is_given() {
    if !have("gcc") || !have("python3") {
        return;
    }
    let scratch = Scratch::new("told-packed");
    let [program, stream] = ["packed", "a.stream"].map(|name| scratch.path(name));
    let named = std::env::var_os("ADDFG_RECORDERS").map(PathBuf::from);
    let header = named.unwrap_or_else(|| repository("recorders")).join("stream");
    let asked = Command::new("gcc").arg("-print-file-name=libasan.so").output().expect("gcc");
    let checks = if asked.stdout.contains(&b'/') { "-fsanitize=address" } else { "-g" };
    compile("packed.c", &["-O1", "-g", "-w", checks, "-I", utf8(&header)], &program);
    for seed in ["1", "2", "3"] {
        let output = Command::new(&program)
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .args([utf8(&stream), seed])
            .output()
            .expect("packed");
        assert!(output.status.success(), "{}", said(&output));
        let script = repository("recorders/stream/dump.py");
        let read = Command::new("python3").arg(script).arg(&stream).output().expect("python3");
        let [expected, found] =
            [&output.stdout, &read.stdout].map(|text| String::from_utf8_lossy(text).into_owned());
        let differs = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
        assert_eq!((differs, expected.len()), (None, found.len()), "{}", said(&read));
        pieces(&std::fs::read(&stream).expect("a stream"));
    }
}

/// Heads of streams and pieces as docs/stream.md has them: steps before each, and where a reader can begin.
fn pieces(bytes: &[u8]) {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let (mut at, mut steps, mut records) = (0, 0, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"addfg") {
            assert_eq!(bytes[at..at + 16], *b"addfg\r\n\x1a\x01\0\x3e\0\x40\0\0\0");
            (at, steps, records) = (at + 16, 0, 0);
            continue;
        }
        let is_records = bytes[at + 8] == 2;
        assert_eq!(bytes[at + 9], u8::from(is_records && records % 64 == 0), "piece {records}");
        assert_eq!((bytes[at + 10], bytes[at + 11], number(at + 16)), (0, 0, steps));
        steps += number(at + 24);
        records += u32::from(is_records);
        at += 32 + (number(at + 12) as u32) as usize;
    }
}
