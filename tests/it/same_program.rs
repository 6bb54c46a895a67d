//! The same programs for four instruction sets, by every recorder and in the log of every simulator at hand: one call
//! graph of their functions, and the same bytes from function to function through memory. What must come out is
//! counted by hand, in each program's first lines (tests/programs/same).
//!
//! Compared is memory, not registers, and only what goes from one function to another: what a function keeps on its
//! own stack is the compiler's to say. Where one instruction set passes in registers what another one passes on the
//! stack, the program says so (`abi:`), and that flow may be any. `ADDFG_PROGRAMS=all` adds the same programs with a
//! C library.

use crate::common::*;
use crate::emulators::takes_plugins;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program's first lines say must come out.
#[derive(Default)]
struct Expected {
    /// Its own functions.
    functions: Vec<String>,
    /// `CALLER CALLEE TIMES`
    calls: Vec<String>,
    /// `WRITER READER VIA BYTES`
    flows: Vec<String>,
    /// `WRITER READER VIA` that instruction sets decide.
    abi: Vec<String>,
}

impl Expected {
    fn of(source: &Path) -> Expected {
        let mut expected = Expected::default();
        for line in std::fs::read_to_string(source).expect("a program").lines() {
            let line = line.trim_start_matches(" * ");
            if let Some(calls) = line.strip_prefix("calls: ") {
                expected.calls.extend(calls.split(", ").map(str::to_owned));
            } else if let Some(flow) = line.strip_prefix("flow: ") {
                expected.flows.push(flow.to_owned());
            } else if let Some(abi) = line.strip_prefix("abi: ") {
                expected.abi.extend(abi.split(" -- ").next().map(|flow| format!("{flow} ")));
            }
        }
        let words = expected.calls.iter().flat_map(|call| call.split(' ').take(2));
        expected.functions = words.map(str::to_owned).collect();
        expected.functions.sort();
        expected.functions.dedup();
        expected.calls.sort();
        expected.flows.sort();
        assert!(expected.calls.len() > 2 && expected.flows.len() > 2, "{}", source.display());
        expected
    }

    /// Compares a database with it.
    fn check(&self, db: &Path, what: &str) {
        let own = format!("('{}')", self.functions.join("','"));
        let calls = format!(
            "SELECT caller || ' ' || callee || ' ' || sum(calls) FROM call_graph
             WHERE caller IN {own} AND callee IN {own} GROUP BY caller, callee ORDER BY 1"
        );
        assert_eq!(rows(db, &calls), self.calls, "calls: {what}");
        let flows = format!(
            "SELECT writer || ' ' || reader || ' ' || via || ' ' || sum(bytes) FROM function_dataflow
             WHERE writer IN {own} AND reader IN {own} AND writer <> reader AND via <> 'register'
             GROUP BY writer, reader, via ORDER BY 1"
        );
        let decided = |flow: &String| self.abi.iter().any(|abi| flow.starts_with(abi));
        let mut found = rows(db, &flows);
        found.retain(|flow| !decided(flow));
        assert_eq!(found, self.flows, "flows: {what}");
    }
}

/// A processor: its name, compiler, emulator, flags for a program of its own.
struct Processor {
    name: &'static str,
    compiler: &'static str,
    emulator: &'static str,
    flags: &'static [&'static str],
    /// Simulators of it that simulators.py knows, and the layout that reads their logs.
    simulators: &'static [(&'static str, Option<&'static str>)],
    /// An emulator of a whole machine, and flags of a program for it.
    machine: &'static [&'static str],
    bare: &'static [&'static str],
}

const PROCESSORS: [Processor; 5] = [
    Processor {
        name: "x86-64",
        compiler: "gcc",
        emulator: "qemu-x86_64",
        flags: &[],
        simulators: &[],
        machine: &[],
        bare: &[],
    },
    Processor {
        name: "arm",
        compiler: "arm-linux-gnueabi-gcc",
        emulator: "qemu-arm",
        flags: &["-marm"],
        simulators: &[("tarmac", None)],
        machine: &["qemu-system-arm", "-M", "virt", "-cpu", "cortex-a15", "-semihosting"],
        bare: &["-Wl,-Ttext=0x40010000"],
    },
    Processor {
        name: "thumb",
        compiler: "arm-linux-gnueabi-gcc",
        emulator: "qemu-arm",
        flags: &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp", "-mfpu=vfpv3"],
        simulators: &[],
        machine: &[],
        bare: &[],
    },
    Processor {
        name: "aarch64",
        compiler: "aarch64-linux-gnu-gcc",
        emulator: "qemu-aarch64",
        flags: &[],
        simulators: &[("tarmac", None)],
        machine: &["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53", "-semihosting"],
        // Without a table of pages memory must be accessed where it is aligned.
        bare: &["-Wl,-Ttext=0x40080000", "-mstrict-align"],
    },
    Processor {
        name: "riscv64",
        compiler: "riscv64-linux-gnu-gcc",
        emulator: "qemu-riscv64",
        flags: &[],
        simulators: &[
            ("spike", None),
            ("gem5", None),
            ("sail", Some("sail")),
            ("renode", Some("renode")),
            ("dynamorio", Some("dynamorio")),
        ],
        machine: &["qemu-system-riscv64", "-M", "virt", "-bios", "none"],
        bare: &["-Wl,-Ttext=0x80000000", "-mcmodel=medany"],
    },
];

/// One program, and where its recordings go.
struct Comparison {
    scratch: Scratch,
    source: PathBuf,
    expected: Expected,
    /// Databases that were compared.
    compared: usize,
}

impl Comparison {
    fn of(program: &str) -> Comparison {
        let source = repository(&format!("tests/programs/same/{program}.c"));
        let expected = Expected::of(&source);
        let scratch = Scratch::new(&format!("same-{program}"));
        Comparison { scratch, source, expected, compared: 0 }
    }

    fn compile(&self, compiler: &str, flags: &[&str], name: &str) -> PathBuf {
        let elf = self.scratch.path(name);
        let fixed = ["-static", "-Wl,--build-id=none"];
        // The library of floating point behind the program.
        let mut gcc = Command::new(compiler);
        gcc.arg("-g").args(fixed).args(flags).arg("-o").arg(&elf).arg(&self.source);
        let output = gcc.arg("-lgcc").output().expect("the compiler runs");
        assert!(output.status.success(), "{compiler} {flags:?}: {}", said(&output));
        elf
    }

    fn check(&mut self, db: &Path, what: &str) {
        let what = format!("{} {what}", self.source.file_stem().expect("a name").display());
        self.expected.check(db, &what);
        self.compared += 1;
    }

    fn load(&mut self, log: &Path, elf: &Path, layout: Option<&str>, what: &str) {
        let db = self.scratch.path("log.duckdb");
        let layout: Vec<&str> = layout.into_iter().flat_map(|l| ["--layout", l]).collect();
        load(log, elf, &db, &[&["--detail", "summary"][..], &layout].concat());
        self.check(&db, what);
    }

    /// `addfg record` with these options.
    fn record(&mut self, options: &[&str], elf: &Path, what: &str) {
        let db = self.scratch.path("record.duckdb");
        let cache = shared("cache", |cache| std::fs::create_dir(cache).expect("folder"));
        let fixed = ["record", "--force", "--detail", "summary", "-o", utf8(&db)];
        let output = command(&[&fixed[..], options, &["--", utf8(elf)]].concat())
            .env("XDG_CACHE_HOME", cache)
            .output()
            .expect("addfg runs");
        let code = rows(&db, "SELECT count(*) FROM diagnostic WHERE severity = 'error'");
        assert_eq!(code, ["0"], "{what}: {}", said(&output));
        self.check(&db, what);
    }

    /// Programs of their own, without a library.
    fn processor(&mut self, processor: &Processor) {
        let Processor { name, compiler, emulator, .. } = *processor;
        if !have(compiler) {
            return;
        }
        let elf = self.compile(compiler, &[&BARE[..], processor.flags].concat(), name);
        if compiler == "gcc" && have("valgrind") {
            self.record(&[], &elf, "valgrind");
            let log = self.scratch.path("lackey");
            lackey(&elf, &log);
            self.load(&log, &elf, None, "lackey");
        }
        if have(emulator) {
            let log = self.scratch.path("qemu");
            qemu(emulator, &elf, &log);
            self.load(&log, &elf, None, &format!("{name}, QEMU's log"));
            if takes_plugins(emulator) {
                self.record(&["--qemu", emulator], &elf, &format!("{name}, QEMU's plugin"));
            }
            self.simulators(processor, &elf);
        }
        if let Some(machine) = processor.machine.first().filter(|machine| have(machine)) {
            let flags = [&BARE[..], processor.flags, processor.bare, &["-DMACHINE"]].concat();
            let elf = self.compile(compiler, &flags, "machine");
            let words = [processor.machine, &["-nographic"]].concat();
            let log = self.scratch.path("machine.log");
            let mut qemu = Command::new(machine);
            qemu.args(&words[1..]).args(one_instruction(machine));
            qemu.args(["-d", "nochain,cpu,in_asm,int,exec", "-D"]).arg(&log);
            let output = qemu.arg("-kernel").arg(&elf).output().expect("QEMU runs");
            assert!(output.status.code().is_some(), "{}", said(&output));
            self.load(&log, &elf, None, &format!("{machine}, log"));
            if takes_plugins(machine) {
                let words = format!("{} -kernel", words.join(" "));
                self.record(&["--qemu", &words], &elf, &format!("{machine}, plugin"));
            }
        }
    }

    /// Logs as simulators write them, made of QEMU's.
    fn simulators(&mut self, processor: &Processor, elf: &Path) {
        let Processor { name, emulator, .. } = *processor;
        if processor.simulators.is_empty() || !have("python3") {
            return;
        }
        let log = self.scratch.path("qemu-fpu");
        let model: &[&str] = if emulator == "qemu-aarch64" { &["-cpu", "cortex-a72"] } else { &[] };
        let mut qemu = Command::new(emulator);
        qemu.args(model).args(one_instruction(emulator)).args(["-d", "nochain,cpu,fpu,in_asm"]);
        qemu.arg("-D").arg(&log).arg(elf).output().expect("QEMU runs");
        for (simulator, layout) in processor.simulators {
            let to = self.scratch.path(simulator);
            let output = Command::new("python3")
                .arg(repository("tests/formats/simulators.py"))
                .args([simulator, utf8(&log), utf8(&to)])
                .output()
                .expect("python3 runs");
            assert!(output.status.success(), "{name} {simulator}: {}", said(&output));
            self.load(&to, elf, *layout, &format!("{name}, {simulator}"));
            if *simulator == "spike" {
                // `--log-commits` alone.
                let text = std::fs::read_to_string(&to).expect("a log");
                let commits = text.lines().filter(|line| line.starts_with("core   0: 0 "));
                let commits: String = commits.flat_map(|line| [line, "\n"]).collect();
                let to = self.scratch.write("commits", &commits);
                self.load(&to, elf, None, "spike, commits");
            }
        }
    }

    /// The same source as an ordinary program with a C library.
    fn hosted(&mut self, processor: &Processor) {
        let Processor { name, compiler, emulator, .. } = *processor;
        if !have(compiler) {
            return;
        }
        let flags = [&["-O1", "-DHOSTED"], processor.flags].concat();
        let elf = self.compile(compiler, &flags, &format!("{name}-hosted"));
        if compiler == "gcc" && have("valgrind") {
            self.record(&[], &elf, "valgrind, hosted");
        }
        if have(emulator) && takes_plugins(emulator) {
            self.record(&["--qemu", emulator], &elf, &format!("{name}, plugin, hosted"));
        }
    }
}

/// An option for an instruction a block, by an emulator's version.
fn one_instruction(emulator: &str) -> &'static [&'static str] {
    let help = Command::new(emulator).arg("-h").output().expect("QEMU runs");
    match printed(&help) {
        help if !help.contains("one-insn-per-tb") => &["-singlestep"],
        _ if emulator.starts_with("qemu-system") => &["-accel", "tcg,one-insn-per-tb=on"],
        _ => &["-one-insn-per-tb"],
    }
}

fn compare(program: &str) {
    let mut comparison = Comparison::of(program);
    for processor in &PROCESSORS {
        comparison.processor(processor);
        if std::env::var("ADDFG_PROGRAMS").is_ok_and(|programs| programs == "all") {
            comparison.hosted(processor);
        }
    }
    println!("{program}: {} databases are alike", comparison.compared);
}

#[test]
fn buffers() {
    compare("buffers");
}

#[test]
fn tree() {
    compare("tree");
}

#[test]
fn callbacks() {
    compare("callbacks");
}

#[test]
fn text() {
    compare("text");
}

#[test]
fn numbers() {
    compare("numbers");
}
