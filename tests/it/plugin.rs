//! The plugin for QEMU: its streams have the dataflow of QEMU's text logs, on every instruction
//! set, and threads that the logs do not tell apart.

use crate::common::{self, *};
use crate::emulators::takes_plugins;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiler, emulator, flags.
type Target = (&'static str, &'static str, &'static [&'static str]);

const TARGETS: [Target; 5] = [
    ("gcc", "qemu-x86_64", &[]),
    ("arm-linux-gnueabi-gcc", "qemu-arm", &["-marm"]),
    ("arm-linux-gnueabi-gcc", "qemu-arm", &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp"]),
    ("aarch64-linux-gnu-gcc", "qemu-aarch64", &[]),
    ("riscv64-linux-gnu-gcc", "qemu-riscv64", &["-msmall-data-limit=0"]),
];

/// The plugin, compiled once; None, said why, where it cannot be.
pub fn plugin() -> Option<PathBuf> {
    if !have("gcc") {
        return None;
    }
    let to = shared("plugin", |to| {
        // As addfg itself: sources of another folder.
        let named = std::env::var_os("ADDFG_RECORDERS").map(PathBuf::from);
        let script = named.unwrap_or_else(|| repository("recorders")).join("qemu/build.sh");
        let output = Command::new(script).arg(to).output().expect("sh");
        assert!(output.status.success(), "{}", said(&output));
    });
    Some(to.join("libaddfg.so"))
}

/// Records a run; false, said why, where QEMU was built without plugins.
fn record(emulator: &str, plugin: &Path, elf: &Path, stream: &Path) -> bool {
    let argument = format!("{},stream={}", utf8(plugin), utf8(stream));
    // A processor without SVE, of which the decoder has no model.
    let processor: &[&str] =
        if emulator.ends_with("qemu-aarch64") { &["-cpu", "cortex-a72"] } else { &[] };
    let mut qemu = Command::new(emulator);
    // As `addfg record --qemu` does: without `dc zva`, of which QEMU does not tell.
    qemu.env("GLIBC_TUNABLES", "glibc.cpu.name=emag");
    let output = qemu.args(processor).args(["-plugin", &argument]).arg(elf).output().unwrap();
    let without = said(&output).contains("unknown option");
    if without {
        skipped(&format!("the plugin: {emulator} was built without plugins"));
    }
    // The program may end with any code of its own.
    assert!(without || output.status.code().is_some_and(|c| c < 128), "{}", said(&output));
    !without
}

fn load(trace: &Path, elf: &Path, scratch: &Scratch) -> PathBuf {
    let db = scratch.path("a.duckdb");
    common::load(trace, elf, &db, &[]);
    assert!(rows(&db, "SELECT * FROM diagnostic WHERE severity = 'error'").is_empty());
    db
}

const CALLS: &str = "SELECT caller, callee, kind, calls, steps FROM call_graph ORDER BY ALL";
/// Registers and stacks are the compiler's, not the program's.
const DATA: &str = "SELECT writer, reader, via, bytes, transfers FROM function_dataflow
                    WHERE via IN ('global', 'constant') ORDER BY ALL";

#[test]
fn streams_have_the_graph_of_text_logs() {
    let scratch = Scratch::new("plugin");
    let Some(plugin) = plugin() else { return };
    let (elf, log, stream) = (scratch.path("app"), scratch.path("log"), scratch.path("stream"));
    for (compiler, emulator, flags) in TARGETS {
        if !have(emulator)
            || !compile(compiler, "bare.c", &[&BARE[..], flags].concat(), &elf)
            || !record(emulator, &plugin, &elf, &stream)
        {
            continue;
        }
        qemu(emulator, &elf, &log);
        let graph = |trace| {
            let db = load(trace, &elf, &scratch);
            (rows(&db, CALLS), rows(&db, DATA))
        };
        let found = graph(&stream);
        assert!(found.0.len() > 3 && found.1.len() >= 4, "{found:?}");
        assert_eq!(found, graph(&log), "{emulator} {flags:?}");
    }
}

#[test]
fn threads_have_numbers_and_their_bytes_one_producer() {
    let scratch = Scratch::new("plugin-threads");
    let Some(plugin) = plugin() else { return };
    let (elf, stream) = (scratch.path("app"), scratch.path("stream"));
    for (compiler, emulator, flags) in TARGETS {
        let flags = [&["-O2", "-static", "-pthread"], flags].concat();
        if !have(emulator)
            || !compile(compiler, "turns.c", &flags, &elf)
            || !record(emulator, &plugin, &elf, &stream)
        {
            continue;
        }
        let db = load(&stream, &elf, &scratch);
        assert_eq!(rows(&db, "SELECT count(*) FROM thread"), ["13"], "{emulator}");
        // Each read but the first of each cell has what the same function wrote.
        let own = "SELECT writer, bytes, unique_bytes FROM function_dataflow
                   WHERE writer = reader AND writer IN ('add', 'work') AND via = 'global'
                   ORDER BY ALL";
        let (add, work) = (4 * (3 * 4 * 200 - 1), 4 * (3 * 4 * 20000 - 4));
        let expected = [format!("add,{add},{add}"), format!("work,{work},{work}")];
        assert_eq!(rows(&db, own), expected, "{emulator}");
        let printed = "SELECT sum(bytes) FROM system_call_access WHERE source = '<write: stdout>'";
        assert_eq!(rows(&db, printed), ["9"], "{emulator}");
    }
}

/// What is added to memory, or exchanged with it, at once, is loaded once: QEMU compares what is there when it stores.
#[test]
fn an_atomic_operation_loads_once() {
    let scratch = Scratch::new("plugin-locked");
    let Some(plugin) = plugin() else { return };
    let (elf, stream) = (scratch.path("app"), scratch.path("stream"));
    let armv7: [&[&str]; 2] = [
        &["-marm", "-march=armv7-a", "-mfloat-abi=softfp"],
        &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp"],
    ];
    let [arm, thumb] = armv7.map(|flags| ("arm-linux-gnueabi-gcc", "qemu-arm", flags));
    let inline: &[&str] = &["-mno-outline-atomics"];
    let arm64 = ("aarch64-linux-gnu-gcc", "qemu-aarch64", inline);
    for (compiler, emulator, flags) in [TARGETS[0], arm, thumb, arm64, TARGETS[4]] {
        if !have(emulator)
            || !compile(compiler, "locked.c", &[&["-O1"], flags].concat(), &elf)
            || !record(emulator, &plugin, &elf, &stream)
        {
            continue;
        }
        let db = load(&stream, &elf, &scratch);
        let sql = "SELECT writer = 'work', sum(bytes) FROM function_dataflow
                   WHERE reader = 'work' AND via = 'global' GROUP BY ALL ORDER BY ALL";
        let own = 3 * 4 * 1000 - 4;
        assert_eq!(
            rows(&db, sql),
            ["false,4".to_owned(), format!("true,{own}")],
            "{emulator} {flags:?}"
        );
    }
}

/// However often a function returns by a jump, at every detail.
#[test]
fn a_jump_by_any_register_may_be_a_return() {
    let scratch = Scratch::new("plugin-jumps");
    let Some(plugin) = plugin() else { return };
    let (elf, stream) = (scratch.path("app"), scratch.path("stream"));
    let old: [&[&str]; 4] = [
        &["-mthumb", "-march=armv4t", "-mthumb-interwork"],
        &["-mthumb", "-march=armv5t"],
        &["-marm", "-march=armv4"],
        &["-marm", "-march=armv4t"],
    ];
    let old = old.map(|flags| ("arm-linux-gnueabi-gcc", "qemu-arm", flags));
    let targets = TARGETS[1..].iter().chain(&old).flat_map(|t| ["-O0", "-Os"].map(|o| (t, o)));
    for ((compiler, emulator, flags), optimised) in targets {
        if !have(emulator)
            || !compile(compiler, "returns_by_jump.c", &[&[optimised], *flags].concat(), &elf)
            || !record(emulator, &plugin, &elf, &stream)
        {
            continue;
        }
        let db = scratch.path("a.duckdb");
        for detail in ["summary", "full"] {
            common::load(&stream, &elf, &db, &["--detail", detail]);
            let sql =
                "SELECT name, calls FROM function_profile JOIN function_symbol USING (function_id)
                       WHERE name IN ('main', 'twice', 'back', 'chosen') ORDER BY name";
            let expected = ["back,2375", "chosen,1000", "main,1", "twice,1125"];
            assert_eq!(rows(&db, sql), expected, "{emulator} {flags:?} {optimised} {detail}");
        }
        let verified = ok(&["verify", utf8(&db)]);
        assert!(!verified.contains("DIFFERENT"), "{flags:?}: {verified}");
    }
}

/// What a program loads is what was stored there before or what the kernel was told to have written, byte by byte, as the plugin
/// itself compares; of ARM, what its kernel exchanges for a program (the C library's locks) as well.
#[test]
fn what_is_loaded_was_stored_or_told() {
    let scratch = Scratch::new("plugin-check");
    let Some(plugin) = plugin() else { return };
    let (elf, stream) = (scratch.path("app"), scratch.path("stream"));
    let option = format!("{},stream={},check=yes", utf8(&plugin), utf8(&stream));
    for (compiler, emulator, flags) in TARGETS {
        if !have(emulator) || !takes_plugins(emulator) {
            continue;
        }
        for program in ["signal.c", "atomics.c", "shares.c", "longjmp.c"] {
            let flags = [&["-O1", "-w", "-static", "-pthread"], flags].concat();
            if !compile(compiler, program, &flags, &elf) {
                continue;
            }
            let mut qemu = Command::new(emulator);
            qemu.env("GLIBC_TUNABLES", "glibc.cpu.name=emag").args(["-plugin", &option]).arg(&elf);
            let output = qemu.output().expect("QEMU runs");
            let said = said(&output);
            assert!(output.status.code().is_some_and(|c| c < 128), "{emulator} {program}: {said}");
            let loads =
                said.split("check: ").last().and_then(|end| end.split_once(" loads, 0 differ"));
            let loads = loads.and_then(|(n, _)| n.parse::<u64>().ok());
            assert!(loads > Some(1000), "{emulator} {flags:?} {program}: {said}");
        }
    }
}

/// The recording is no descriptor of the program, which may close all that are open and write its own files.
#[test]
fn a_program_has_its_descriptors_for_itself() {
    let scratch = Scratch::new("plugin-closes");
    let (elf, db, file) = (scratch.path("app"), scratch.path("db"), scratch.path("file"));
    let emulator = "qemu-x86_64";
    if !have(emulator) || !takes_plugins(emulator) || !compile("gcc", "closes.c", &["-O1"], &elf) {
        return;
    }
    let output = command(&["record", "-o", utf8(&db), "--qemu", emulator, "--", utf8(&elf)])
        .arg(&file)
        .env("XDG_CACHE_HOME", scratch.path("cache"))
        .output()
        .expect("addfg runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(printed(&output), "3 4\n");
    assert_eq!(std::fs::read(&file).expect("file"), b"hello\n");
    let steps =
        rows(&db, "SELECT count(*) FROM call_graph WHERE callee = 'main' AND steps > 1000000");
    assert_eq!(steps, ["1"]);
}

/// As under valgrind, a program is recorded until it becomes another one; an `exec` that fails is nothing.
#[test]
fn a_program_that_becomes_another_one_is_recorded_until_then() {
    let scratch = Scratch::new("plugin-becomes");
    let (elf, db) = (scratch.path("app"), scratch.path("db"));
    let emulator = "qemu-x86_64";
    if !have(emulator) || !takes_plugins(emulator) || !compile("gcc", "becomes.c", &["-O1"], &elf) {
        return;
    }
    let output = command(&["record", "-o", utf8(&db), "--qemu", emulator, "--", utf8(&elf)])
        .env("XDG_CACHE_HOME", scratch.path("cache"))
        .output()
        .expect("addfg runs");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_eq!(printed(&output), "another\n");
    assert_eq!(rows(&db, "SELECT code FROM diagnostic"), ["exec"]);
    assert_eq!(rows(&db, "SELECT calls FROM call_graph WHERE callee = 'work'"), ["2"]);
}

/// Each time is a step with its accesses, also where QEMU goes round within a block (9.2 and later).
#[test]
fn instructions_that_repeat_themselves_are_told_each_time() {
    let scratch = Scratch::new("plugin-repeated");
    let Some(plugin) = plugin() else { return };
    let (elf, stream) = (scratch.path("app"), scratch.path("stream"));
    if !have("qemu-x86_64")
        || !compile("gcc", "repeated.c", &["-O1"], &elf)
        || !record("qemu-x86_64", &plugin, &elf, &stream)
    {
        return;
    }
    let db = load(&stream, &elf, &scratch);
    let own = "SELECT writer, reader, bytes FROM function_dataflow WHERE via = 'global'
               AND writer IN ('fill', 'copy', 'copy_words') ORDER BY bytes DESC";
    let expected = ["fill,copy,9000", "copy,copy_words,8000", "copy_words,look,7000"];
    assert_eq!(rows(&db, own), expected);
    let steps =
        "SELECT callee FROM call_graph WHERE (callee = 'fill' AND steps BETWEEN 9000 AND 9010)
                 OR (callee = 'copy_words' AND steps BETWEEN 1000 AND 1010) ORDER BY ALL";
    assert_eq!(rows(&db, steps), ["copy_words", "fill"]);
}

/// One command for a program of another processor: the bytes that this one's have.
#[test]
fn a_program_of_another_processor_is_recorded_by_one_command() {
    let scratch = Scratch::new("plugin-record");
    let text = scratch.write("text", "some words\n".repeat(4));
    for (compiler, emulator, _) in &TARGETS[..2] {
        let (elf, db) = (scratch.path("app"), scratch.path(emulator));
        if !have("gcc") || !have(emulator) || !compile(compiler, "words.c", &["-O1"], &elf) {
            continue;
        }
        let output = command(&["record", "-o", utf8(&db), "--qemu", emulator, "--", utf8(&elf)])
            .arg(&text)
            .env("XDG_CACHE_HOME", scratch.path("cache"))
            .output()
            .expect("addfg runs");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert_eq!(printed(&output), "8\n", "{emulator}");
        // A log of QEMU's does not tell what system calls read and write.
        if !takes_plugins(emulator) {
            continue;
        }
        let outside = "SELECT writer, reader, bytes FROM function_dataflow
                       WHERE writer = '<read: text>' OR reader = '<write: stdout>' ORDER BY ALL";
        assert_eq!(rows(&db, outside), ["<read: text>,count,44", "show,<write: stdout>,2"]);
    }
}

/// A whole machine: calls, exceptions and bytes of QEMU's text log. The processor's own stores at an
/// exception are in that alone.
#[test]
fn a_firmware_has_the_graph_of_its_text_log() {
    let scratch = Scratch::new("plugin-firmware");
    let (elf, log, db) = (scratch.path("fw"), scratch.path("log"), scratch.path("fw.duckdb"));
    if !have("gcc")
        || !have("qemu-system-arm")
        || !compile("arm-linux-gnueabi-gcc", "firmware.c", &FIRMWARE, &elf)
    {
        return;
    }
    let machine = ["-M", "lm3s6965evb", "-nographic", "-semihosting"];
    let emulator = format!("qemu-system-arm {} -kernel", machine.join(" "));
    let output = command(&["record", "-o", utf8(&db), "--elf", utf8(&elf), "--qemu", &emulator])
        .args(["--", utf8(&elf)])
        .env("XDG_CACHE_HOME", scratch.path("cache"))
        .output()
        .expect("addfg runs");
    if said(&output).contains("unknown option") || said(&output).contains("invalid option") {
        skipped("record --qemu: qemu-system-arm was built without plugins");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let mut qemu = Command::new("qemu-system-arm");
    let help = Command::new("qemu-system-arm").arg("-h").output().expect("QEMU runs");
    let new = printed(&help).contains("one-insn-per-tb");
    let single: &[&str] =
        if new { &["-accel", "tcg,one-insn-per-tb=on"] } else { &["-singlestep"] };
    qemu.args(machine).args(single).args(["-d", "nochain,cpu,in_asm", "-D"]).arg(&log);
    assert!(qemu.arg("-kernel").arg(&elf).output().expect("QEMU runs").status.success());
    let text = load(&log, &elf, &scratch);
    let data = "SELECT writer, reader, via, bytes, unique_bytes, transfers FROM function_dataflow
                WHERE writer <> '<exception frame>' ORDER BY ALL";
    assert_eq!(rows(&db, CALLS).len(), 4);
    assert_eq!(rows(&db, CALLS), rows(&text, CALLS));
    assert_eq!(rows(&db, data), rows(&text, data));
}

/// Programs that count their own calls and bytes, compiled in some of many ways: the rest is for `fuzz/counted.py` alone.
#[test]
fn programs_that_count_themselves_are_counted_alike() {
    if !have("python3") || !have("qemu-x86_64") || !takes_plugins("qemu-x86_64") {
        return;
    }
    let script = repository("fuzz/counted.py");
    let output = Command::new("python3")
        .arg(script)
        .args([env!("CARGO_BIN_EXE_addfg"), "40..42"])
        .output()
        .expect("python3");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.strip_prefix("skipped: ")).for_each(skipped);
    assert!(output.status.success(), "{text}{}", said(&output));
}
