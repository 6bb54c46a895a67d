//! What the recorders for valgrind and for QEMU tell of system calls is what the kernel reads and writes, or QEMU in its place, which
//! tests/programs/kernel.c shows.

use crate::common::{self, Scratch, have, repository, rows, said, skipped, utf8};
use crate::plugin::plugin;
use crate::stream::{compile, recorder};
use crate::told::run;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

/// What the kernel shows of a call by tests/programs/kernel.c.
#[derive(Default)]
struct Shown {
    name: String,
    /// Bytes that were changed, and that stood there to be read; by turn.
    turns: Vec<[BTreeSet<u64>; 2]>,
    /// Things that stood there in the first turn: their first and last bytes.
    given: Vec<(u64, u64)>,
}

fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits.trim_start_matches("0x"), 16).expect("a number")
}

fn shown(text: &str) -> BTreeMap<u64, Shown> {
    let mut calls: BTreeMap<u64, Shown> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("call ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let call = calls.entry(words[1].parse().expect("a number")).or_default();
        call.name = words[2].to_owned();
        let mut turn: [BTreeSet<u64>; 2] = Default::default();
        for word in &words[5..] {
            let given = word.starts_with('=');
            let (first, last) = word.trim_start_matches('=').split_once('-').expect("a range");
            let (first, last) = (hex(first), hex(last));
            turn[usize::from(given)].extend(first..=last);
            if given && call.turns.is_empty() {
                call.given.push((first, last));
            }
        }
        call.turns.push(turn);
    }
    calls
}

/// Bytes that the kernel read and wrote, as was told, in the call behind each mark; by number and turn. None is read that
/// the same call has written: what is read was there before. `getpgid`, `sigreturn`: the numbers of these calls.
fn told_of_calls(
    events: &str,
    getpgid: u64,
    sigreturn: u64,
) -> BTreeMap<u64, Vec<[BTreeSet<u64>; 2]>> {
    let mut told: BTreeMap<u64, Vec<[BTreeSet<u64>; 2]>> = BTreeMap::new();
    let (mut marked, mut inside) = (None, None);
    // A signal that comes when a call begins has it begin again behind the handler.
    let (mut signalled, mut call) = (false, String::new());
    for event in events.lines().filter_map(|line| line.strip_prefix("# ")) {
        let words: Vec<&str> = event.split_whitespace().collect();
        match words[0] {
            "signal" => signalled = true,
            "syscall" if hex(words[1]) == sigreturn || signalled && words[1] == call => (),
            "syscall" => {
                inside = marked.take();
                signalled = false;
                words[1].clone_into(&mut call);
                if let Some(number) = inside {
                    told.entry(number).or_default().push(Default::default());
                }
                if hex(words[1]) == getpgid && hex(words[3]) >> 16 == 0x7a00 {
                    marked = Some(hex(words[3]) - 0x7a00_0000);
                }
            }
            "kernel_read" | "kernel_write" => {
                let turns = inside.and_then(|number| told.get_mut(&number));
                if let Some(turn) = turns.and_then(|turns| turns.last_mut()) {
                    let (first, bytes) = (hex(words[1]), hex(words[2]));
                    let own = words[0] == "kernel_read"
                        && turn[1].range(first..first + bytes).count() > 0;
                    assert!(!own, "call {call} reads what it wrote: {event}");
                    turn[usize::from(words[0] == "kernel_write")].extend(first..first + bytes);
                }
            }
            _ => (),
        }
    }
    told
}

/// The text of a stream's events.
fn events(stream: &Path) -> String {
    let script = repository("recorders/stream/dump.py");
    let output =
        Command::new("python3").arg(script).arg(stream).arg("--events").output().expect("python3");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Where what was told of a call's writes is other than what the program saw. `but`: calls that are not looked at.
fn wrong_writes(
    text: &str,
    shown: &BTreeMap<u64, Shown>,
    told: &BTreeMap<u64, Vec<[BTreeSet<u64>; 2]>>,
    but: &[&str],
) -> Vec<String> {
    let place: Vec<u64> =
        text.lines().take(1).flat_map(|l| l.split(' ').skip(1).take(2).map(hex)).collect();
    let (arena, size) = (place[0], place[1]);
    let mut wrong = Vec::new();
    for (number, call) in shown.iter().filter(|(_, call)| !but.contains(&&call.name[..])) {
        let changed: BTreeSet<u64> = call.turns.iter().flat_map(|turn| turn[0].clone()).collect();
        for (k, [now, given]) in call.turns.iter().enumerate() {
            let written = &told[number][k][1];
            let missing = now.difference(written).count();
            // Frames of signals lie elsewhere.
            let more = written
                .range(arena..arena + size)
                .filter(|byte| !changed.contains(byte) && !given.contains(byte))
                .count();
            if missing + more > 0 {
                wrong.push(format!(
                    "{} {k}: {missing} bytes are not told, {more} too many",
                    call.name
                ));
            }
        }
    }
    wrong
}

/// Where what was told of a call's reads is other than what it fails without, and of how many that is known. `reads`: what the
/// program said of it; an emulator that has no such call reads nothing.
fn wrong_reads(
    reads: &str,
    shown: &BTreeMap<u64, Shown>,
    told: &BTreeMap<u64, Vec<[BTreeSet<u64>; 2]>>,
    but: &[&str],
) -> (Vec<String>, usize) {
    let numbers: BTreeMap<&str, u64> =
        shown.iter().map(|(number, call)| (&call.name[..], *number)).collect();
    let (mut wrong, mut measured) = (Vec::new(), 0);
    for line in reads.lines().filter(|line| line.starts_with("reads ")) {
        let words: Vec<&str> = line.split([' ', ':']).collect();
        let number = |k: usize| words[k].parse::<u64>().expect("a number");
        if but.contains(&words[2]) || line.ends_with(ENOSYS) {
            continue;
        }
        measured += 1;
        let call = numbers[words[2]];
        let (first, last) = shown[&call].given[number(3) as usize];
        let read: Vec<u64> =
            told[&call][0][0].range(first..=last).map(|byte| byte - first).collect();
        // -1: however much there is, the call fails.
        let needed = words[4].parse::<i64>().expect("a number").max(0).cast_unsigned();
        if !read.iter().copied().eq(0..needed) {
            wrong.push(format!("{line}, told {}", read.len()));
        }
    }
    (wrong, measured)
}

/// Where what was told is other than what the program saw of writes when it was recorded, and of reads when it was not; and of
/// how many reads that is known.
fn wrong(
    [recorded, native]: [&Output; 2],
    told: &BTreeMap<u64, Vec<[BTreeSet<u64>; 2]>>,
    writes_but: &[&str],
    reads_but: &[&str],
) -> (Vec<String>, usize) {
    let text = String::from_utf8_lossy(&recorded.stdout);
    let shown = shown(&text);
    assert!(shown.len() > 350, "{}", shown.len());
    let mut wrong = wrong_writes(&text, &shown, told, writes_but);
    let reads = String::from_utf8_lossy(&native.stdout);
    let (of_reads, measured) = wrong_reads(&reads, &shown, told, reads_but);
    wrong.extend(of_reads);
    (wrong, measured)
}

/// The result of a call that the system does not have.
const ENOSYS: &str = ": -38";

/// Of failed calls the texts are told, as far as they go; what is read depends on an option, or is a structure that
/// tells of data, or never read (a word that others wait for), or data of which less is enough, or a call fails always.
const READ_OTHERWISE: [&str; 11] = [
    "setsockopt_long",
    "in_sigaltstack",
    "renameat",
    "linkat",
    "in_futex_wake",
    "in_futex_requeue",
    "writev",
    "in_write",
    "in_sendfile",
    "settimeofday_bad",
    "bpf_bad",
];

/// Names of one length: the program says how much of them is read.
fn folder(scratch: &Scratch, name: &str) -> String {
    let folder = scratch.path(name);
    std::fs::create_dir(&folder).expect("a folder");
    utf8(&folder).to_owned()
}

/// What a call writes is what was changed, and no more, and what it reads is what it fails without: the kernel itself
/// shows it, of some 385 calls.
#[test]
fn what_the_kernel_reads_and_writes() {
    // Valgrind does these itself, and leaves the structure's padding out; what is read asynchronously arrives where the
    // program learns of it.
    const OTHERWISE: [&str; 4] = ["sigaltstack", "io_submit", "io_getevents", "io_getevents_time"];
    let scratch = Scratch::new("told-kernel");
    let Some(recorder) = recorder() else { return };
    if !cfg!(target_arch = "x86_64") || !have("python3") {
        return;
    }
    let (program, stream) = (scratch.path("kernel"), scratch.path("a.stream"));
    compile("kernel.c", &["-O1", "-g", "-w", "-static", "-fno-builtin"], &program);
    let mut native = Command::new(&program);
    let native =
        native.args([&folder(&scratch, "native")[..], "reads"]).output().expect("the program");
    if native.status.code() == Some(77) {
        return println!("no sockets here");
    }
    let to = format!("--stream={}", utf8(&stream));
    let output = run(&recorder, &[&to], &[utf8(&program), &folder(&scratch, "record")]);
    assert!(output.status.success(), "{}", said(&output));
    let told = told_of_calls(&events(&stream), 0x79, 0xf);
    let (wrong, measured) = wrong([&output, &native], &told, &OTHERWISE, &READ_OTHERWISE);
    assert!(measured > 90, "{measured}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// QEMU stands in for the kernel, on each instruction set.
#[test]
fn what_qemu_reads_and_writes() {
    // Compiler, emulator, its arguments, numbers of getpgid and rt_sigreturn.
    type Target = (&'static str, &'static str, &'static [&'static str], u64, u64);
    const TARGETS: [Target; 5] = [
        ("gcc", "qemu-x86_64", &[], 0x79, 0xf),
        ("i686-linux-gnu-gcc", "qemu-i386", &[], 132, 173),
        ("arm-linux-gnueabi-gcc", "qemu-arm", &[], 132, 173),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64", &["-cpu", "cortex-a72"], 155, 139),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64", &[], 155, 139),
    ];
    // It writes one byte of an option of which less than four are asked for, and four of this structure.
    const OTHERWISE: [&str; 2] = ["getsockopt_small", "tcgeta"];
    // It wants 16 bytes of any name, refuses sets that are not whole words before it looks, reads half of an interface, and goes on
    // without a time that is not there. A lock of 32 bits is too short. It takes no settings of a queue, wherever they are.
    const READ: [&str; 7] = [
        "set_name",
        "sched_setaffinity_5",
        "in_ifindex",
        "in_nanosleep",
        "ofd_setlk",
        "in_ofd_getlk",
        "msg_set",
    ];
    // It reads behind these itself, and ends where nothing is.
    const WITHOUT: [&str; 2] = ["connect_abstract", "msgsnd"];
    let scratch = Scratch::new("told-qemu");
    let Some(plugin) = plugin() else { return };
    if !have("python3") {
        return;
    }
    let but = [&READ_OTHERWISE[..], &READ].concat();
    for (compiler, emulator, arguments, getpgid, sigreturn) in TARGETS {
        let (program, stream) = (scratch.path("kernel"), scratch.path("stream"));
        let flags = ["-O1", "-g", "-w", "-static", "-fno-builtin"];
        if !have(emulator) || !common::compile(compiler, "kernel.c", &flags, &program) {
            continue;
        }
        let run = |plugin: &[&str], of: &str, what: &[&str]| {
            let mut qemu = Command::new(emulator);
            qemu.env("GLIBC_TUNABLES", "glibc.cpu.name=emag").args(arguments).args(plugin);
            qemu.arg(&program).arg(folder(&scratch, &format!("{of}-{emulator}"))).args(what);
            qemu.output().expect("QEMU runs")
        };
        let option = format!("{},stream={}", utf8(&plugin), utf8(&stream));
        let output = run(&["-plugin", &option], "record", &["calls"]);
        if said(&output).contains("unknown option") {
            skipped(&format!("the plugin: {emulator} was built without plugins"));
            continue;
        }
        if output.status.code() == Some(77) {
            return println!("no sockets here");
        }
        assert!(output.status.success(), "{emulator}: {}", said(&output));
        let native = run(&[], "native", &[&["reads"], &WITHOUT[..]].concat());
        assert!(native.status.success(), "{emulator}: {}", said(&native));
        let told = told_of_calls(&events(&stream), getpgid, sigreturn);
        let (wrong, measured) = wrong([&output, &native], &told, &OTHERWISE, &but);
        assert!(measured > 80, "{measured}");
        assert!(wrong.is_empty(), "{emulator}: {wrong:#?}");
    }
}

/// A call without a rule is said, once of each, and what it changed is found by comparison.
#[test]
fn an_unknown_call_is_said() {
    let scratch = Scratch::new("told-unknown");
    let (program, stream, db) =
        (scratch.path("program"), scratch.path("a.stream"), scratch.path("a.duckdb"));
    if !have("gcc") || !have("qemu-x86_64") || !cfg!(target_arch = "x86_64") {
        return;
    }
    // The recorder without what it knows of two calls.
    for folder in ["qemu", "stream"] {
        let from = repository("recorders").join(folder);
        let to = scratch.path(folder);
        std::fs::create_dir(&to).expect("a folder");
        for file in std::fs::read_dir(from).expect("sources").flatten() {
            std::fs::copy(file.path(), to.join(file.file_name())).expect("a copy");
        }
    }
    let table = scratch.path("stream").join("system_calls.def");
    let text = std::fs::read_to_string(&table).expect("the table");
    let is_left_out = |line: &&str| {
        !line.starts_with("CALL(getcpu,") && !line.contains("(prctl, 0, 0xffffffff, 16,")
    };
    let less: Vec<&str> = text.lines().filter(is_left_out).collect();
    assert_eq!(less.len() + 2, text.lines().count());
    std::fs::write(&table, less.join("\n")).expect("the table");
    let output = Command::new(scratch.path("qemu").join("build.sh"))
        .arg(scratch.path("plugin"))
        .output()
        .expect("sh");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
    let source = scratch.write(
        "program.c",
        "#include <sys/prctl.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n
         char name[16]; int cpu = -1;
         int main(void) {
             for (int i = 0; i < 3; i++) syscall(SYS_getcpu, &cpu, 0, 0), prctl(PR_GET_NAME, name);
             return cpu < 0 || !name[0];
         }",
    );
    let mut compiler = Command::new("gcc");
    compiler.args(["-O1", "-g", "-static", "-o"]).arg(&program).arg(source);
    assert!(compiler.output().expect("gcc").status.success());
    let option = format!("{}/libaddfg.so,stream={}", utf8(&scratch.path("plugin")), utf8(&stream));
    let output = Command::new("qemu-x86_64")
        .args(["-plugin", &option])
        .arg(&program)
        .output()
        .expect("QEMU");
    if said(&output).contains("unknown option") {
        return skipped("the plugin: qemu-x86_64 was built without plugins");
    }
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    common::load(&stream, &program, &db, &[]);
    let problems =
        "SELECT severity, count, message FROM diagnostic WHERE code = 'recorder-warning'";
    let found = rows(&db, problems);
    assert!(
        found.len() == 1 && found[0].starts_with("warning,2,unknown system call 309: "),
        "{found:?}"
    );
    // The name is that of the emulator; the processor's number was -1.
    let bytes = "SELECT source, sum(bytes) FROM system_call_access
                 WHERE is_write AND source IN ('<prctl>', '<getcpu>') GROUP BY 1 ORDER BY 1";
    let found = rows(&db, bytes);
    let of = |row: &str| row.rsplit(',').next().and_then(|n| n.parse::<u64>().ok());
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(of(&found[0]) >= Some(3) && of(&found[1]) >= Some(7), "{found:?}");
}
