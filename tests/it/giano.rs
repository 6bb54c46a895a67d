//! One run in all the ways that a Giano log can tell it: values before the instructions or after them, with flags and without, with
//! accesses and without. What an access is to the dataflow is the decoder's to say, so all give the tables of QEMU's log, from which
//! they are converted.

use crate::common::*;
use addfg::internals::diagnostics::Diagnostic;
use addfg::internals::event::{Carries, InsnDef, Isa, RegSpan, RunBatch, StepBatch};
use addfg::internals::isa::registers;
use addfg::internals::trace::input::Input;
use addfg::internals::trace::qemu::Qemu;
use addfg::internals::trace::{Context, Listener, Sink, StepFormat, TraceError};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// A step of QEMU's log, with the bytes of all registers before it; None: not known.
struct Step {
    insn: usize,
    before: Vec<Option<u8>>,
}

/// What the reader of QEMU's logs gives.
#[derive(Default)]
struct Run {
    isa: Option<Isa>,
    insns: Vec<InsnDef>,
    steps: Vec<Step>,
    bytes: Vec<Option<u8>>,
}

impl Listener for Run {
    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        panic!("{diagnostic:?}");
    }
    fn progress(&mut self, _: u64) {}
}

impl Sink for Run {
    fn begin(&mut self, carries: Carries, isa: Option<Isa>) -> Result<(), TraceError> {
        assert!(carries.registers && carries.registers_before);
        self.isa = isa;
        self.bytes = vec![None; registers(isa.unwrap()).size];
        Ok(())
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.insns.append(&mut batch.new_insns);
        let mut from = 0;
        for (insn, end) in batch.insn.iter().zip(&batch.register_end) {
            for (span, value) in &batch.registers[from..*end as usize] {
                for (byte, value) in span.bytes().zip(value.to_le_bytes()) {
                    self.bytes[usize::from(byte)] = Some(value);
                }
            }
            from = *end as usize;
            self.steps.push(Step { insn: *insn as usize, before: self.bytes.clone() });
        }
        batch.clear();
        Ok(())
    }
    fn runs(&mut self, _: &mut RunBatch) -> Result<(), TraceError> {
        unreachable!("QEMU's logs have steps");
    }
}

/// What a line has beside its registers' values.
#[derive(Clone, Copy, PartialEq)]
struct Form {
    before: bool,
    flags: bool,
    accesses: bool,
}

/// Registers and memory that each step touches, as lines have them.
#[derive(Default)]
struct Touched {
    /// Offsets of full registers.
    read: BTreeSet<u16>,
    written: BTreeSet<u16>,
    memory: String,
}

impl Run {
    fn of(log: &Path) -> Run {
        let mut run = Run::default();
        let context = Context { isa: None, layout: None, jobs: 1 };
        let input = Input::open(log).expect("opens");
        Qemu.read(input, &context, &mut run).expect("a log of QEMU's");
        run
    }

    fn isa_name(&self) -> &'static str {
        match self.isa.unwrap() {
            Isa::X86_64 => "x86_64",
            Isa::X86 => "x86",
            Isa::Arm => "arm",
            Isa::Aarch64 => "aarch64",
            Isa::Riscv32 => "riscv32",
            Isa::Riscv64 => "riscv64",
            other => unreachable!("{other:?}"),
        }
    }

    /// Digits of a full register; None where not all of it is known.
    fn digits(bytes: &[Option<u8>], span: RegSpan) -> Option<String> {
        let range = usize::from(span.offset)..usize::from(span.end());
        let known: Option<Vec<u8>> = bytes[range].iter().rev().copied().collect();
        Some(known?.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// What a simulator would flag, which knows of no dataflow: each register that the database of
    /// QEMU's log has as touched, each that the instruction's text names (as read, whatever becomes
    /// of it), the link register wherever control goes through it, and each whose value changed.
    fn touched(&self, db: &Path) -> Vec<Touched> {
        let file = registers(self.isa.unwrap());
        let full = |offset: u16| file.at(offset).expect("a register").span.offset;
        let mut all: Vec<Touched> = self.steps.iter().map(|_| Touched::default()).collect();
        let sql = "SELECT seq, is_write, space, address, size FROM accesses(0, 1000000000) ORDER BY seq, ordinal";
        for row in rows(db, sql) {
            let words: Vec<&str> = row.split(',').collect();
            let [seq, is_write, space, address, size] = words[..] else { panic!("{row}") };
            let touched = &mut all[seq.parse::<usize>().unwrap() - 1];
            let address: u64 = address.parse().unwrap();
            match (space, is_write == "true") {
                ("memory", write) => {
                    let kind = if write { 'W' } else { 'R' };
                    write!(touched.memory, " [M:{kind} {address:x} {size}]").unwrap();
                }
                (_, true) => _ = touched.written.insert(full(address as u16)),
                (_, false) => _ = touched.read.insert(full(address as u16)),
            }
        }
        let texts = "SELECT seq, text FROM steps(0, 1000000000) JOIN instruction USING (instruction_id) ORDER BY seq";
        for row in rows(db, texts) {
            let (seq, text) = row.split_once(',').unwrap();
            let (text, touched) =
                (text.to_lowercase(), &mut all[seq.parse::<usize>().unwrap() - 1]);
            let names = text.split(|c: char| !c.is_ascii_alphanumeric()).skip(1);
            touched.read.extend(names.filter_map(|name| file.lookup(name)).map(|s| full(s.offset)));
            // A `ret` does not say where it goes.
            let returns = text.trim() == "ret" || text.starts_with("ret ");
            touched.read.extend(file.link.filter(|_| returns).map(|link| link.offset));
        }
        for (steps, touched) in self.steps.windows(2).zip(&mut all) {
            let pc = file.pc.expect("a program counter").offset;
            for register in &file.all {
                let span = register.span;
                let [before, after] = [0, 1].map(|i| Run::digits(&steps[i].before, span));
                if span.offset != pc && before != after {
                    touched.written.insert(span.offset);
                }
            }
        }
        all
    }

    fn log(&self, form: Form, touched: &[Touched]) -> String {
        let (isa, file) = (self.isa.unwrap(), registers(self.isa.unwrap()));
        let values = if form.before { "before" } else { "after" };
        let mut log = format!("# giano 1 isa={} values={values}\n", self.isa_name());
        for (i, step) in self.steps.iter().enumerate() {
            let insn = &self.insns[step.insn];
            // Processors print numbers, x86 bytes, Thumb two halves.
            let mut code = insn.bytes.clone();
            match isa {
                Isa::X86 | Isa::X86_64 => {}
                Isa::Arm if insn.thumb => code.chunks_mut(2).for_each(<[u8]>::reverse),
                _ => code.reverse(),
            }
            let code: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
            let code = if code.is_empty() { "-" } else { &code };
            write!(log, "{i} {:x} {code} \"\"", insn.address).unwrap();
            let next = self.steps.get(i + 1).unwrap_or(step);
            let bytes = if form.before { &step.before } else { &next.before };
            for register in &file.all {
                let Some(digits) = Run::digits(bytes, register.span) else { continue };
                write!(log, " {}={digits}", register.name).unwrap();
                let offset = register.span.offset;
                let read = touched[i].read.contains(&offset);
                let written = touched[i].written.contains(&offset);
                log += match (form.flags, read, written) {
                    (true, true, true) => "[RW]",
                    (true, true, false) => "[R]",
                    (true, false, true) => "[W]",
                    _ => "",
                };
            }
            if form.accesses {
                log += &touched[i].memory;
            }
            log.push('\n');
        }
        log
    }
}

const TABLES: [&str; 3] = [
    "SELECT * EXCLUDE (unique_bytes), unique_bytes FROM function_dataflow ORDER BY ALL",
    "SELECT caller, callee, kind, calls, steps FROM call_graph ORDER BY ALL",
    "SELECT count(*), sum(bytes) FROM communication",
];

fn tables(db: &Path) -> [Vec<String>; 3] {
    TABLES.map(|sql| rows(db, sql))
}

/// Lines that one list has and the other has not.
fn differences(found: &[String], expected: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    found.iter().for_each(|row| *counts.entry(row).or_default() += 1);
    expected.iter().for_each(|row| *counts.entry(row).or_default() -= 1);
    counts.iter().filter(|(_, n)| **n != 0).map(|(row, n)| format!("{n:+} {row}")).collect()
}

/// Compiler, its flags, emulator.
const TARGETS: [(&str, &[&str], &str); 7] = [
    ("gcc", &[], "qemu-x86_64"),
    ("gcc", &["-m32"], "qemu-i386"),
    ("arm-linux-gnueabi-gcc", &["-marm", "-march=armv7-a"], "qemu-arm"),
    ("arm-linux-gnueabi-gcc", &["-marm", "-march=armv4t"], "qemu-arm"),
    ("arm-linux-gnueabi-gcc", &["-mthumb", "-march=armv7-a", "-mfloat-abi=softfp"], "qemu-arm"),
    ("aarch64-linux-gnu-gcc", &[], "qemu-aarch64"),
    ("riscv64-linux-gnu-gcc", &["-msmall-data-limit=0"], "qemu-riscv64"),
];

const FORMS: [Form; 5] = [
    Form { before: true, flags: false, accesses: false },
    Form { before: false, flags: false, accesses: false },
    Form { before: true, flags: true, accesses: false },
    Form { before: false, flags: true, accesses: false },
    Form { before: true, flags: true, accesses: true },
];

/// Compares the tables of a run in all forms.
fn check(scratch: &Scratch, elf: &Path, emulator: &str, what: &str) {
    let (log, db) = (scratch.path("log"), scratch.path("db.duckdb"));
    qemu(emulator, elf, &log);
    let more = ["--detail", "pairs"];
    load(&log, elf, &db, &more);
    let expected = tables(&db);
    assert!(expected.iter().all(|table| !table.is_empty()), "{what}: {expected:?}");
    let run = Run::of(&log);
    let touched = run.touched(&db);
    for form in FORMS {
        let text = run.log(form, &touched);
        let giano = scratch.write("giano.log", &text);
        load(&giano, elf, &db, &more);
        let found = tables(&db);
        let Form { before, flags, accesses } = form;
        for ((found, expected), sql) in found.iter().zip(&expected).zip(TABLES) {
            let differ = differences(found, expected);
            assert!(
                differ.is_empty(),
                "{what}, before: {before}, flags: {flags}, accesses: {accesses}: {sql}: {} of {} rows differ:\n{}",
                differ.len(),
                expected.len(),
                differ[..differ.len().min(12)].join("\n")
            );
        }
    }
}

#[test]
fn a_run_has_the_same_tables_in_all_forms_on_all_instruction_sets() {
    let scratch = Scratch::new("giano-forms");
    for (compiler, flags, emulator) in TARGETS {
        for level in ["-O0", "-O2"] {
            let elf = scratch.path("app");
            let flags = [&BARE[..], &[level], flags].concat();
            // Debian has no headers for 32 bits without libc6-dev-i386, which this does not need.
            if have(emulator) && compile(compiler, "bare.c", &flags, &elf) {
                check(&scratch, &elf, emulator, &format!("{emulator} {flags:?}"));
            }
        }
    }
}

/// Programs with their C library: idioms, saves, conditional and repeated instructions, system calls.
#[test]
fn a_program_with_its_library_has_the_same_tables_in_all_forms() {
    let scratch = Scratch::new("giano-library");
    for (compiler, flags, emulator) in TARGETS {
        let (elf, flags) = (scratch.path("app"), [&["-O1", "-w"], flags].concat());
        // No library of 32 bits.
        if !flags.contains(&"-m32") && have(emulator) && compile(compiler, "fields.c", &flags, &elf)
        {
            check(&scratch, &elf, emulator, &format!("{emulator} {flags:?}"));
        }
    }
}

/// Three lines in which nothing flows, and their relatives: what a return reads is control.
#[test]
fn the_link_register_of_a_return_is_no_data() {
    let scratch = Scratch::new("giano-return");
    let lines: [(&str, &[&str]); 8] = [
        (
            "arm",
            &[
                "8000 eb000000 \"bl\" lr=8004[W]",
                "8008 e12fff1e \"bx lr\" lr=8004[R]",
                "8004 eafffffe \"b .\" lr=8004",
            ],
        ),
        (
            "arm",
            &[
                "8000 eb000000 \"bl\" lr=8004[W] pc=8000[RW]",
                "8008 e1a0f00e \"mov pc, lr\" lr=8004[R] pc=8008[W]",
                "8004 eafffffe \"b .\" lr=8004",
            ],
        ),
        // Saved and given back.
        (
            "arm",
            &[
                "8000 eb000000 \"bl\" lr=8004[W] sp=9000",
                "8008 e52de004 \"push {lr}\" lr=8004[R] sp=8ffc[RW]",
                "800c e49df004 \"pop {pc}\" lr=8004 sp=9000[RW] pc=8004[W]",
                "8004 eafffffe \"b .\" lr=8004 sp=9000",
            ],
        ),
        (
            "arm",
            &[
                "8000 f000f802 \"bl\" lr=8005[W] cpsr=30",
                "8008 4770 \"bx lr\" lr=8005[R] cpsr=30",
                "8004 e7fe \"b .\" lr=8005 cpsr=30",
            ],
        ),
        (
            "aarch64",
            &[
                "8000 94000002 \"bl\" x30=8004[W]",
                "8008 d65f03c0 \"ret\" x30=8004[R]",
                "8004 14000000 \"b .\" x30=8004",
            ],
        ),
        (
            "riscv64",
            &[
                "8000 008000ef \"jal ra, 8\" ra=8004[W]",
                "8008 00008067 \"ret\" ra=8004[R]",
                "8004 0000006f \"j .\" ra=8004",
            ],
        ),
        (
            "riscv32",
            &[
                "8000 2021 \"jal 8\" ra=8002[W]",
                "8008 8082 \"ret\" ra=8002[R]",
                "8002 a001 \"j .\" ra=8002",
            ],
        ),
        // What gives the same for all values reads nothing.
        (
            "x86_64",
            &[
                "8000 bb01000000 \"mov\" rbx=1[W] rsp=9000",
                "8005 e803000000 \"call\" rbx=1 rsp=8ff8[RW]",
                "800d 31db \"xor\" rbx=0[RW] rsp=8ff8",
                "800f c3 \"ret\" rbx=0 rsp=9000[RW]",
                "800a ebfe \"jmp .\" rbx=0 rsp=9000",
            ],
        ),
    ];
    for (isa, lines) in lines {
        let numbered = (1..).zip(lines).map(|(time, line)| format!("{time} {line}\n"));
        let text = format!("# giano 1 isa={isa} values=after\n{}", numbered.collect::<String>());
        let log = scratch.write("log", text);
        let (_, error, db) = build_in(&scratch, &[&log], &["--detail", "pairs"]);
        let calls = "SELECT count(*) FROM function_call WHERE kind = 'call'";
        assert_eq!(rows(&db, calls), ["1"], "{isa}: {lines:?}: {error}");
        let data =
            "SELECT writer, reader, via, bytes FROM function_dataflow WHERE writer = '<unknown>'";
        assert_eq!(rows(&db, data), [""; 0], "{isa}: {lines:?}");
    }
}

/// Whether a conditional instruction was executed is seen from the flags where the log has not the
/// register that its condition is about.
#[test]
fn flags_say_whether_a_conditional_instruction_was_executed() {
    let scratch = Scratch::new("giano-condition");
    let executed = |middle: &str| {
        let text = format!(
            "# giano 1 isa=arm values=after\n1 8000 e3a00005 \"mov r0, #5\" r0=5[W] r1=0\n2 8004 {middle}\n3 8008 e1a02000 \"mov r2, r0\" r0=5[R] r1=0\n"
        );
        let log = scratch.write("log", text);
        let (code, error, db) = build_in(&scratch, &[&log], &["--detail", "pairs"]);
        assert_eq!((code, error.contains("condition-unknown")), (0, false), "{middle}: {error}");
        rows(&db, "SELECT executed FROM steps(2, 2)").concat() == "true"
    };
    assert!(!executed("03a00006 \"moveq r0, #6\" r0=5 r1=0"));
    assert!(executed("03a00005 \"moveq r0, #5\" r0=5[W] r1=0"));
    assert!(executed("01500001 \"cmpeq r0, r1\" r0=5[R] r1=0[R]"));
    assert!(!executed("01500001 \"cmpeq r0, r1\" r0=5 r1=0"));
}

/// Of an instruction that the decoder does not know, the flags say all there is: its registers count.
#[test]
fn flags_of_an_unknown_instruction_count() {
    let scratch = Scratch::new("giano-unknown");
    // In SVE: sel z0.b, p0, z1.b, z2.b, of which the log flags x0 and x1, which it does not touch.
    let text = "# giano 1 isa=aarch64 values=after\n1 8000 d28000a1 \"mov x1, #5\" x0=0 x1=5[W]\n\
                2 8004 0522c020 \"sel\" x0=5[W] x1=5[R]\n3 8008 d28000a0 \"mov x0, #5\" x0=5[W] x1=5\n";
    let log = scratch.write("log", text);
    let (_, error, db) = build_in(&scratch, &[&log], &["--detail", "pairs"]);
    let of_it = "SELECT is_write, address // 8 FROM accesses(2, 2) WHERE space = 'register' AND address < 16 ORDER BY ALL";
    assert_eq!(rows(&db, of_it), ["false,1", "true,0"], "{error}");
}
