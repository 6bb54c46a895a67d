//! `addfg record --qemu`: what the command line names, what the emulator can, and what is said where something is not known.

use crate::common::*;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Records; the plugin is compiled by the first.
fn record(db: &Path, options: &[&str], program: &[&str]) -> Output {
    let cache = shared("cache", |cache| std::fs::create_dir(cache).expect("folder"));
    let all = [&["record", "--force", "-o", utf8(db)], options, &["--"], program].concat();
    command(&all).env("XDG_CACHE_HOME", cache).output().expect("addfg runs")
}

/// Whether the emulator takes plugins; says what is skipped if not.
pub fn takes_plugins(emulator: &str) -> bool {
    // Without its options.
    let name = emulator.split_whitespace().next().unwrap_or_default();
    let help = std::process::Command::new(name).arg("-h").output().expect("QEMU runs");
    let takes = printed(&help).contains("-plugin");
    if !takes {
        skipped(&format!("record --qemu: {emulator} was built without plugins"));
    }
    takes
}

fn problems(db: &Path) -> Vec<String> {
    rows(db, "SELECT severity, code FROM diagnostic ORDER BY code")
}

const CALLS: &str = "SELECT caller, callee, kind, calls, steps FROM call_graph ORDER BY ALL";

#[test]
fn the_elf_file_of_a_machine_is_one_that_the_command_line_names() {
    let scratch = Scratch::new("emulators-firmware");
    let (elf, db) = (scratch.path("fw.elf"), scratch.path("fw.duckdb"));
    if !have("gcc")
        || !have("qemu-system-arm")
        || !takes_plugins("qemu-system-arm")
        || !compile("arm-linux-gnueabi-gcc", "firmware.c", &FIRMWARE, &elf)
    {
        return;
    }
    let machine = "qemu-system-arm -M lm3s6965evb -nographic -semihosting";
    let (path, raw) = (utf8(&elf), scratch.path("fw.bin"));
    let of_kernel = format!("{machine} -kernel");
    let output = record(&db, &["--elf", path, "--qemu", &of_kernel], &[path]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let expected = rows(&db, CALLS);
    assert!(expected.iter().any(|row| row.contains("produce")), "{expected:?}");
    let within = format!("{machine} -kernel {path}");
    let loader = format!("loader,file={path}");
    let device = format!("{machine} -device {loader}");
    for (qemu, words) in [
        (&of_kernel[..], &[path][..]),
        (&within, &[]),
        (&within, &["-serial", "null"]),
        (machine, &["-kernel", path]),
        (machine, &["-device", &loader]),
        (&device, &["-serial", "null"]),
    ] {
        let output = record(&db, &["--qemu", qemu], words);
        assert_eq!(output.status.code(), Some(0), "{qemu} {words:?}: {}", said(&output));
        assert_eq!(rows(&db, CALLS), expected, "{qemu} {words:?}");
        let named = rows(&db, "SELECT path FROM input WHERE role <> 'elf'");
        assert_eq!(named, [path], "{qemu} {words:?}");
    }
    // Nothing to name functions by.
    if !installed("arm-linux-gnueabi-objcopy") {
        return;
    }
    let copied = std::process::Command::new("arm-linux-gnueabi-objcopy")
        .args(["-O", "binary", path, utf8(&raw)])
        .status();
    assert!(copied.expect("objcopy").success());
    let output = record(&db, &["--qemu", &of_kernel], &[utf8(&raw)]);
    assert!(said(&output).contains("--elf FILE"), "{}", said(&output));
    assert_eq!(problems(&db), ["warning,nameless-run"]);
    assert!(ok(&["info", utf8(&db)]).contains("nameless-run"));
}

#[test]
fn a_program_for_another_processor_is_named_what_runs_it() {
    let scratch = Scratch::new("emulators-foreign");
    let (elf, db) = (scratch.path("app"), scratch.path("app.duckdb"));
    let text = scratch.write("text", "some words\n");
    for (compiler, emulator, libraries) in [
        ("arm-linux-gnueabi-gcc", "qemu-arm", "/usr/arm-linux-gnueabi"),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64", "/usr/riscv64-linux-gnu"),
    ] {
        if !have(compiler) {
            continue;
        }
        let source = repository("tests/programs/words.c");
        for (flags, words) in [
            (&["-static"][..], emulator.to_owned()),
            (&[], format!("\"{emulator} -L {libraries}\"")),
        ] {
            make(compiler, &source, &[&["-O1"], flags].concat(), &elf);
            let output = record(&db, &[], &[utf8(&elf), utf8(&text)]);
            assert_eq!(output.status.code(), Some(2), "{}", said(&output));
            let expected = format!("addfg record --qemu {words} -- {}", utf8(&elf));
            assert!(said(&output).contains(&expected), "{}", said(&output));
            if !have(emulator) || !takes_plugins(emulator) {
                continue;
            }
            // The libraries are found where they are installed.
            let output = record(&db, &["--qemu", emulator], &[utf8(&elf), utf8(&text)]);
            assert_eq!(printed(&output), "2\n", "{emulator} {flags:?}: {}", said(&output));
            let outside = "SELECT writer, reader, bytes FROM function_dataflow
                           WHERE writer = '<read: text>' ORDER BY ALL";
            assert_eq!(rows(&db, outside), ["<read: text>,count,11"], "{emulator} {flags:?}");
        }
    }
}

/// A processor that addfg knows all instructions of, unless another one is asked for.
#[test]
fn vector_instructions_whose_accesses_are_not_told_are_said() {
    let scratch = Scratch::new("emulators-vectors");
    let (elf, db) = (scratch.path("app"), scratch.path("app.duckdb"));
    let sve = "
        .arch armv8-a+sve
        .globl _start
        _start: adrp x1, buf
                add x1, x1, :lo12:buf
                mrs x2, id_aa64pfr0_el1
                tst x2, #0xf00000000
                b.eq end
                ptrue p0.b
                STORE
        end:    ldr x2, [x1]
                mov x8, #93
                mov x0, #0
                svc #0
        .data
        .balign 64
        buf:    .space 512";
    let riscv = "
        .option arch, +v
        .globl _start
        _start: la a1, buf
                li a2, 8
                vsetvli t0, a2, e8, m1, ta, ma
                STORE
                ld a2, (a1)
                li a7, 93
                li a0, 0
                ecall
        .data
        .balign 64
        buf:    .space 512";
    for (compiler, emulator, source, store, with) in [
        ("aarch64-linux-gnu-gcc", "qemu-aarch64", sve, "st1b {z0.b}, p0, [x1]", "max"),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64", sve, "ld1b {z0.b}, p0/z, [x1]", "max"),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64", sve, "st1d {z0.d}, p0, [x1, #1, mul vl]", "max"),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64", riscv, "vse8.v v1, (a1)", "rv64,v=true"),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64", riscv, "vlse8.v v1, (a1), a2", "rv64,v=true"),
    ] {
        if !have(compiler) || !have(emulator) || !takes_plugins(emulator) {
            continue;
        }
        let file = scratch.write("app.s", source.replace("STORE", store) + "\n");
        let arch: &[&str] = if emulator == "qemu-riscv64" { &["-march=rv64gc"] } else { &[] };
        make(compiler, &file, &[arch, &["-static", "-nostdlib"]].concat(), &elf);
        let insisted = format!("{emulator} -cpu {with}");
        let output = record(&db, &["--qemu", &insisted, "--detail", "full"], &[utf8(&elf)]);
        assert_eq!(output.status.code(), Some(1), "{store}: {}", said(&output));
        assert!(said(&output).contains("record on a processor without"), "{}", said(&output));
        // What QEMU told of it is there, or it is said that nothing is.
        let mnemonic = store.split(' ').next().unwrap();
        let sql = format!(
            "SELECT count(*) FROM accesses(0, 100) JOIN steps(0, 100) s USING (seq)
             JOIN instruction i USING (instruction_id) WHERE space = 'memory' AND i.text LIKE '{mnemonic}%'"
        );
        let told = rows(&db, &sql) != ["0"];
        let lost = problems(&db).contains(&"error,memory-unmodelled".to_owned());
        assert!(told != lost, "{store}: {:?}", problems(&db));
        if emulator == "qemu-aarch64" {
            let output = record(&db, &["--qemu", emulator], &[utf8(&elf)]);
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            assert!(said(&output).contains("without SVE"), "{}", said(&output));
            assert_eq!(problems(&db), [""; 0]);
        }
    }
}

/// An emulator that takes no plugins, as that of Debian 13: one behind a script that does not know the
/// option.
fn without_plugins(scratch: &Scratch, emulator: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh
         for word; do
             case $word in
             -plugin) echo \"qemu: unknown option 'plugin'\" >&2; exit 1 ;;
             -h) {emulator} -h | grep -v plugin; exit ;;
             esac
         done
         exec {emulator} \"$@\"
        "
    );
    std::fs::create_dir_all(scratch.path("bin")).expect("folder");
    let path = scratch.write(&format!("bin/{emulator}"), script);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
    path
}

#[test]
fn an_emulator_without_plugins_is_recorded_by_its_log() {
    let scratch = Scratch::new("emulators-log");
    let (elf, log, db) = (scratch.path("app"), scratch.path("log"), scratch.path("app.duckdb"));
    for (compiler, emulator, flags) in [
        ("arm-linux-gnueabi-gcc", "qemu-arm", &["-marm"][..]),
        ("arm-linux-gnueabi-gcc", "qemu-arm", &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp"]),
        ("aarch64-linux-gnu-gcc", "qemu-aarch64", &[]),
        ("riscv64-linux-gnu-gcc", "qemu-riscv64", &["-msmall-data-limit=0"]),
    ] {
        if !have(emulator) || !compile(compiler, "bare.c", &[&BARE[..], flags].concat(), &elf) {
            continue;
        }
        let data = "SELECT writer, reader, via, bytes FROM function_dataflow ORDER BY ALL";
        qemu(emulator, &elf, &log);
        load(&log, &elf, &db, &[]);
        let expected = (rows(&db, CALLS), rows(&db, data));
        let genuine = roots().into_iter().map(|root| root.join("usr/bin").join(emulator));
        let genuine = genuine.filter(|path| path.exists() && !takes_plugins(utf8(path)));
        for poor in genuine.chain([without_plugins(&scratch, emulator)]) {
            let output = record(&db, &["--qemu", utf8(&poor)], &[utf8(&elf)]);
            // The program's own exit code.
            assert_eq!(output.status.code(), Some(40), "{poor:?}: {}", said(&output));
            assert!(said(&output).contains("takes no plugins"), "{}", said(&output));
            assert_eq!((rows(&db, CALLS), rows(&db, data)), expected, "{poor:?} {flags:?}");
        }
    }
}

/// A whole machine by its log, too, with the ELF file of the command line.
#[test]
fn a_machine_without_plugins_is_recorded_by_its_log() {
    let scratch = Scratch::new("emulators-machine-log");
    let (elf, db) = (scratch.path("fw.elf"), scratch.path("fw.duckdb"));
    if !have("qemu-system-arm") || !compile("arm-linux-gnueabi-gcc", "firmware.c", &FIRMWARE, &elf)
    {
        return;
    }
    let poor = without_plugins(&scratch, "qemu-system-arm");
    let machine = format!("{} -M lm3s6965evb -nographic -semihosting -kernel", utf8(&poor));
    let output = record(&db, &["--qemu", &machine], &[utf8(&elf)]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let calls = "SELECT callee, calls FROM call_graph WHERE callee IN ('produce', 'consume', 'svc') ORDER BY ALL";
    assert_eq!(rows(&db, calls), ["consume,5", "produce,5", "svc,5"]);
}
