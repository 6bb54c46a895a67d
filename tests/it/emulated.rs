//! What the plugin for QEMU finds out itself, on each instruction set: what a signal puts onto the stack of its handler, and
//! memory that lies at several addresses.

use crate::common::{Scratch, command, compile, have, ok, said, utf8};
use std::path::Path;
use std::process::Output;

/// Compilers and their options, and emulators.
const TARGETS: [(&str, &[&str], &str); 6] = [
    ("gcc", &[], "qemu-x86_64"),
    ("i686-linux-gnu-gcc", &[], "qemu-i386"),
    ("arm-linux-gnueabi-gcc", &["-marm"], "qemu-arm"),
    ("arm-linux-gnueabi-gcc", &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp"], "qemu-arm"),
    ("aarch64-linux-gnu-gcc", &[], "qemu-aarch64"),
    ("riscv64-linux-gnu-gcc", &[], "qemu-riscv64"),
];

/// Records a program on each instruction set that can be; `check` gets what that is, how it ended, and its database.
fn on_each(name: &str, check: impl Fn(&str, &Output, &Path)) {
    for (compiler, options, emulator) in TARGETS {
        let scratch = Scratch::new(name);
        let (program, db) = (scratch.path("program"), scratch.path("run.duckdb"));
        let flags = [&["-O1", "-g", "-w", "-static"], options].concat();
        let source = format!("{name}.c");
        if !have("gcc") || !have(emulator) || !compile(compiler, &source, &flags, &program) {
            continue;
        }
        let all = ["record", "-q", "--qemu", emulator, "-o", utf8(&db), "--", utf8(&program)];
        let output = command(&all).output().expect("addfg runs");
        if !said(&output).contains("without plugins") {
            check(&format!("{emulator} {options:?}"), &output, &db);
        }
    }
}

/// The program finds itself which bytes that is; all of them are the kernel's, on each instruction set.
#[test]
fn what_a_signal_writes_is_the_kernels() {
    on_each("frames", |target, output, db| {
        let counted: i64 =
            String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        let number = |what: &str| -> i64 {
            let text = ok(&["sql", utf8(db), &format!("SELECT {what}"), "--format", "csv"]);
            text.lines().nth(1).expect("a row").parse().expect("a number")
        };
        let of = |writer: &str| {
            number(&format!(
                "coalesce(sum(bytes), 0)::BIGINT FROM function_dataflow
                 WHERE reader = 'read_changed' AND writer = '{writer}' AND via <> 'register'"
            ))
        };
        // A few are what the handler itself has on that stack.
        let own = 64;
        let kernels = of("<kernel>");
        assert_eq!(of("fill"), 0, "{target}");
        assert!(kernels > 400 && counted - kernels <= own, "{target}: {kernels} of {counted}");
        let told = number("count(*) FROM signal_event WHERE kind = 'delivered'");
        assert_eq!(told, 6, "{target}");
        let lost = number("count(*) FROM diagnostic WHERE code = 'recorder-warning'");
        assert_eq!(lost, 0, "{target}");
    });
}

/// A handler changes registers, and what it interrupts has its own again: no value of it is the handler's, and no
/// slice goes there.
#[test]
fn a_signal_leaves_registers_as_they_were() {
    on_each("clobbers", |target, output, db| {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n", "{target}");
        nothing_comes_from_the_handler(target, db);
    });
}

/// Of `tests/programs/clobbers.c`, whose handler was called five times or more.
pub fn nothing_comes_from_the_handler(target: &str, db: &Path) {
    let number = |what: &str| -> i64 {
        let text = ok(&["sql", utf8(db), &format!("SELECT {what}"), "--format", "csv"]);
        text.lines().nth(1).expect("a row").parse().expect("a number")
    };
    let calls = "calls FROM function_profile JOIN function_symbol USING (function_id)";
    assert!(number(&format!("{calls} WHERE name = 'count'")) >= 5, "{target}");
    let flows = "count(*) FROM function_dataflow WHERE writer IN ('count', 'tick')
                 AND reader IN ('chain', 'scaled')";
    assert_eq!(number(flows), 0, "{target}");
    let given = "count(*) FROM function_dataflow WHERE writer IN ('chain', 'scaled', 'main') AND reader = 'tick'";
    assert_eq!(number(given), 0, "{target}");
    let backward = ["slice", utf8(db), "--at", "result", "--group", "--limit", "0"];
    let slice = ok(&[&backward[..], &["--format", "csv"]].concat());
    assert!(slice.contains(",chain,") && slice.contains(",main,"), "{target}: {slice}");
    assert!(!slice.contains(",count,") && !slice.contains(",tick,"), "{target}: {slice}");
    let loops = ok(&["loops", utf8(db), "--functions", "chain", "--dependences"]);
    assert!(loops.contains("read after write") && !loops.contains("ticks"), "{target}: {loops}");
}

/// What is written at one address, or to the file, is read at another one.
#[test]
fn shared_memory_has_its_writers() {
    const READ: [(&str, i64); 7] = [
        ("file", 200),
        ("moved", 80),
        ("nameless", 80),
        ("parts", 50),
        ("placed", 60),
        ("segment", 270),
        ("written", 60),
    ];
    on_each("shares", |target, output, db| {
        if output.status.code() == Some(77) {
            return println!("no segments of System V here");
        }
        assert_eq!(output.status.code(), Some(0), "{target}: {}", said(output));
        let sql = "SELECT writer, reader, bytes FROM function_dataflow
            WHERE reader LIKE 'read!_%' ESCAPE '!' AND via NOT IN ('register', 'constant')
            AND writer NOT LIKE 'read!_%' ESCAPE '!' AND writer <> '<image .bss>' ORDER BY ALL";
        let text = ok(&["sql", utf8(db), sql, "--format", "csv"]);
        let row = |(name, bytes): &(&str, i64)| format!("write_{name},read_{name},{bytes}");
        let expected: Vec<String> = READ.iter().map(row).collect();
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), expected, "{target}");
    });
}
