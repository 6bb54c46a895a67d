//! What the recorder for valgrind tells of system calls is what the kernel reads and writes, which
//! tests/programs/kernel.c shows.

use crate::common::{Scratch, have, repository, said, utf8};
use crate::stream::{compile, recorder};
use crate::told::run;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

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
/// the same call has written: what is read was there before.
fn told_of_calls(events: &str) -> BTreeMap<u64, Vec<[BTreeSet<u64>; 2]>> {
    let mut told: BTreeMap<u64, Vec<[BTreeSet<u64>; 2]>> = BTreeMap::new();
    let (mut marked, mut inside) = (None, None);
    // A signal that comes when a call begins has it begin again behind the handler.
    let (mut signalled, mut call) = (false, String::new());
    for event in events.lines().filter_map(|line| line.strip_prefix("# ")) {
        let words: Vec<&str> = event.split_whitespace().collect();
        match words[0] {
            "signal" => signalled = true,
            "syscall" if words[1] == "0xf" || signalled && words[1] == call => (),
            "syscall" => {
                inside = marked.take();
                signalled = false;
                words[1].clone_into(&mut call);
                if let Some(number) = inside {
                    told.entry(number).or_default().push(Default::default());
                }
                if words[1] == "0x79" && hex(words[3]) >> 16 == 0x7a00 {
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

/// What a call writes is what was changed, and no more, and what it reads is what it fails without: the kernel itself
/// shows it, of some 385 calls.
#[test]
fn what_the_kernel_reads_and_writes() {
    // Valgrind does these itself, and leaves the structure's padding out; what is read asynchronously arrives where the
    // program learns of it.
    const OTHERWISE: [&str; 4] = ["sigaltstack", "io_submit", "io_getevents", "io_getevents_time"];
    // Of failed calls the texts are told, as far as they go; what is read depends on an option, or is a structure that
    // tells of data, or never read (a word that others wait for), or data of which less is enough, or a call fails always.
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
    let scratch = Scratch::new("told-kernel");
    let Some(recorder) = recorder() else { return };
    if !cfg!(target_arch = "x86_64") || !have("python3") {
        return;
    }
    let (program, stream) = (scratch.path("kernel"), scratch.path("a.stream"));
    compile("kernel.c", &["-O1", "-g", "-w", "-static", "-fno-builtin"], &program);
    // Names of one length: the program says how much of them is read.
    let folder = |name: &str| {
        let folder = scratch.path(name);
        std::fs::create_dir(&folder).expect("a folder");
        folder
    };
    let mut native = Command::new(&program);
    let native = native.args([utf8(&folder("native")), "reads"]).output().expect("the program");
    if native.status.code() == Some(77) {
        return println!("no sockets here");
    }
    let to = format!("--stream={}", utf8(&stream));
    let output = run(&recorder, &[&to], &[utf8(&program), utf8(&folder("record"))]);
    assert!(output.status.success(), "{}", said(&output));
    let script = repository("recorders/stream/dump.py");
    let events =
        Command::new("python3").arg(script).arg(&stream).arg("--events").output().expect("python3");
    let told = told_of_calls(&String::from_utf8_lossy(&events.stdout));
    let shown = shown(&String::from_utf8_lossy(&output.stdout));
    assert!(shown.len() > 350, "{}", shown.len());
    let text = String::from_utf8_lossy(&output.stdout);
    let place: Vec<u64> =
        text.lines().take(1).flat_map(|l| l.split(' ').skip(1).take(2).map(hex)).collect();
    let (arena, size) = (place[0], place[1]);
    let mut wrong = Vec::new();
    for (number, call) in shown.iter().filter(|(_, call)| !OTHERWISE.contains(&&call.name[..])) {
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
    let numbers: BTreeMap<&str, u64> =
        shown.iter().map(|(number, call)| (&call.name[..], *number)).collect();
    let mut measured = 0;
    for line in
        String::from_utf8_lossy(&native.stdout).lines().filter(|line| line.starts_with("reads "))
    {
        let words: Vec<&str> = line.split([' ', ':']).collect();
        let number = |k: usize| words[k].parse::<u64>().expect("a number");
        if READ_OTHERWISE.contains(&words[2]) {
            continue;
        }
        measured += 1;
        let call = numbers[words[2]];
        let (first, last) = shown[&call].given[number(3) as usize];
        let read: Vec<u64> =
            told[&call][0][0].range(first..=last).map(|byte| byte - first).collect();
        if !read.iter().copied().eq(0..number(4)) {
            wrong.push(format!("{line}, told {}", read.len()));
        }
    }
    assert!(measured > 90, "{measured}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
