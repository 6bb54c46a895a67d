//! Tests over the registry of trace formats: names, detection, and for each format a good, a
//! truncated and a damaged log whose lines are echoed above the rows that they gave.
//! `tests/formats/<format>/{good,truncated,damaged}*.log`; record.sh makes those of tools.

use crate::common::{beside_formats, elsewhere};
use addfg::internals::diagnostics::Diagnostic;
use addfg::internals::event::{
    BlockDef, Carries, Condition, InsnDef, Isa, LoggedAccess, RegSpan, RegUse, RunBatch, StepBatch,
};
use addfg::internals::isa::registers;
use addfg::internals::trace::input::Input;
use addfg::internals::trace::layout::shipped;
use addfg::internals::trace::{
    Context, Listener, STEP_FORMATS, Sink, StepFormat, TABLE_FORMATS, TraceError, detect, formats,
};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Formats without lines to echo: each has a test of its own.
const BINARY: [&str; 1] = ["stream"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

/// (format, name, bytes) of every fixture, sorted.
fn fixtures() -> Vec<(&'static dyn StepFormat, String, Vec<u8>)> {
    let mut all = Vec::new();
    for format in STEP_FORMATS.iter().filter(|f| !BINARY.contains(&f.name())) {
        let folder = folder().join(format.name());
        let files =
            std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut names: Vec<String> =
            files.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        for name in names.into_iter().filter(|n| n.ends_with(".log")) {
            let bytes = std::fs::read(folder.join(&name)).unwrap();
            all.push((*format, name, bytes));
        }
    }
    all
}

/// What a fixture needs beside its text: the instruction set of an ELF, a layout file.
fn setting(format: &str, name: &str) -> (Option<Isa>, Option<String>) {
    match format {
        "execlog" | "giano" => (Some(Isa::Arm), None),
        "gem5" => (Some(Isa::Riscv64), None),
        "layout" => {
            let stem = name.trim_end_matches(".log").split_once('-').map_or("", |(_, stem)| stem);
            // Those that come with addfg have no file there.
            let text = match shipped::named(stem) {
                Some(shipped) => shipped.text.to_owned(),
                None => {
                    std::fs::read_to_string(folder().join(format!("layout/{stem}.toml"))).unwrap()
                }
            };
            (Some(Isa::Riscv64), Some(text))
        }
        _ => (None, None),
    }
}

/// Gathers what a reader gives as text, one entry a step or diagnostic.
#[derive(Default)]
struct Gather {
    isa: Option<Isa>,
    insns: Vec<InsnDef>,
    blocks: Vec<BlockDef>,
    begun: String,
    steps: Vec<String>,
    diagnostics: Vec<String>,
}

impl Gather {
    fn span(&self, span: RegSpan) -> String {
        let file = registers(self.isa.unwrap_or(Isa::X86_64));
        let Some(register) = file.at(span.offset) else { return format!("@{}", span.offset) };
        if register.span == span {
            register.name.clone()
        } else {
            format!("{}+{}:{}", register.name, span.offset - register.span.offset, span.size)
        }
    }

    fn insn(&self, id: u32) -> String {
        let Some(def) = self.insns.get(id as usize) else { return format!("undefined {id}") };
        let bytes: String = def.bytes.iter().map(|b| format!("{b:02x}")).collect();
        let mut text =
            format!("{:#x} {}", def.address, if bytes.is_empty() { "-" } else { &bytes });
        if def.size > 0 && def.size as usize != def.bytes.len() {
            write!(text, " size {}", def.size).unwrap();
        }
        if def.thumb {
            text += " thumb";
        }
        if let Some(t) = &def.text {
            write!(text, " `{t}`").unwrap();
        }
        if let Some(flags) = &def.log_registers {
            let flags: Vec<_> = flags
                .iter()
                .map(|(span, usage)| {
                    let usage = match usage {
                        RegUse::Read => "r",
                        RegUse::Write => "w",
                        RegUse::ReadWrite => "rw",
                    };
                    format!("{}:{usage}", self.span(*span))
                })
                .collect();
            write!(text, " flags[{}]", flags.join(" ")).unwrap();
        }
        text
    }
}

fn access(a: &LoggedAccess) -> String {
    let value = a.value.map_or(String::new(), |v| format!("={v:#x}"));
    format!(" {}{:#x}+{}{value}", if a.is_write { "W" } else { "R" }, a.address, a.size)
}

impl Sink for Gather {
    fn begin(&mut self, c: Carries, isa: Option<Isa>) -> Result<(), TraceError> {
        assert!(self.begun.is_empty(), "begin comes once");
        self.isa = isa.or(self.isa);
        let words = [
            ("opcodes", c.opcodes),
            ("accesses", c.accesses),
            ("registers", c.registers),
            ("before", c.registers_before),
            ("values", c.values),
            ("time", c.time),
            ("threads", c.threads),
            ("thumb", c.thumb),
        ];
        let carried: Vec<_> = words.iter().filter(|w| w.1).map(|w| w.0).collect();
        self.begun = format!("begin {isa:?}: {}", carried.join(" "));
        Ok(())
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.insns.append(&mut batch.new_insns);
        let (mut a, mut r) = (0, 0);
        assert_eq!(
            [
                batch.thread.len(),
                batch.condition.len(),
                batch.access_end.len(),
                batch.register_end.len()
            ],
            [batch.len(); 4]
        );
        assert!(batch.time.is_empty() || batch.time.len() == batch.len());
        for i in 0..batch.len() {
            let mut text = self.insn(batch.insn[i]);
            if let Some(time) = batch.time.get(i) {
                text = format!("t{time} {text}");
            }
            if batch.thread[i] != 0 {
                text = format!("thread {} {text}", batch.thread[i]);
            }
            if batch.condition[i] != Condition::Unknown {
                write!(text, " {:?}", batch.condition[i]).unwrap();
            }
            for x in &batch.accesses[a..batch.access_end[i] as usize] {
                text += &access(x);
            }
            a = batch.access_end[i] as usize;
            for (span, value) in &batch.registers[r..batch.register_end[i] as usize] {
                write!(text, " {}={value:x}", self.span(*span)).unwrap();
            }
            r = batch.register_end[i] as usize;
            self.steps.push(text);
        }
        batch.clear();
        Ok(())
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        self.insns.append(&mut batch.new_insns);
        self.blocks.append(&mut batch.new_blocks);
        let mut address = batch.addresses.iter();
        for &id in &batch.block {
            let block = &self.blocks[id as usize];
            let mut mem = block.mem.iter();
            for step in &block.steps {
                let mut text = self.insn(step.insn);
                for shape in mem.by_ref().take(step.mem.into()) {
                    let address = *address.next().unwrap();
                    text += &access(&LoggedAccess {
                        address,
                        size: shape.size,
                        is_write: shape.is_write,
                        value: None,
                    });
                }
                self.steps.push(text);
            }
        }
        *batch = RunBatch::default();
        Ok(())
    }
}

impl Listener for Gather {
    fn diagnostic(&mut self, d: Diagnostic) {
        self.diagnostics
            .push(format!("{:?} {} at {}: {}", d.severity, d.code, d.position, d.message));
    }
    fn progress(&mut self, _: u64) {}
}

fn read(format: &dyn StepFormat, name: &str, bytes: &[u8]) -> (Gather, Result<(), TraceError>) {
    let (isa, layout) = setting(format.name(), name);
    let mut gather = Gather { isa, ..Gather::default() };
    let context = Context { isa, layout: layout.as_deref(), jobs: 2 };
    let result =
        Input::from_bytes(name, bytes).and_then(|input| format.read(input, &context, &mut gather));
    (gather, result)
}

#[test]
fn names_differ_and_every_format_says_what_it_is() {
    for (i, format) in formats().enumerate() {
        assert!(formats().take(i).all(|other| other.name() != format.name()), "{}", format.name());
        assert!(
            !format.about().is_empty() && !format.record().is_empty() && !format.help().is_empty(),
            "{}",
            format.name()
        );
    }
    for format in STEP_FORMATS.iter().filter(|f| !BINARY.contains(&f.name())) {
        for kind in ["good", "truncated", "damaged"] {
            let found = fixtures()
                .iter()
                .any(|(f, name, _)| f.name() == format.name() && name.starts_with(kind));
            assert!(found, "{} has no {kind} fixture", format.name());
        }
    }
}

#[test]
fn every_fixture_is_recognised_by_its_own_format_and_by_no_other() {
    for (format, name, bytes) in fixtures() {
        for (variant, bytes) in [
            ("", bytes.clone()),
            (" with CR LF", String::from_utf8(bytes.clone()).unwrap().replace('\n', "\r\n").into()),
        ] {
            let input = Input::from_bytes(&name, &bytes).unwrap();
            let yes: Vec<_> =
                formats().filter(|f| f.sniff(input.head())).map(|f| f.name()).collect();
            // A layout describes what nobody knows: it must be given. The example of patterns is of
            // gem5, which has a reader.
            let wanted: &[&str] = match format.name() {
                "layout" if name.ends_with("pattern.log") => &["gem5"],
                "layout" => &[],
                own => &[own],
            };
            assert_eq!(yes, wanted, "{}/{name}{variant}", format.name());
            assert_eq!(
                detect(&input, Some(format.name())).ok().map(|f| f.format().name()),
                Some(format.name())
            );
        }
    }
}

/// What formats that fill tables make of their fixtures is in a test of their own
/// (tests/<format>.rs), where the fixtures may be, too.
#[test]
fn fixtures_of_table_formats_are_recognised_by_no_other() {
    for format in TABLE_FORMATS {
        let Ok(files) = std::fs::read_dir(folder().join(format.name())) else {
            println!("skipped: {} keeps its fixtures in its own test", format.name());
            continue;
        };
        let mut kinds = [0; 3];
        for path in files.map(|f| f.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let Some(kind) =
                ["good", "truncated", "damaged"].iter().position(|k| name.starts_with(k))
            else {
                continue;
            };
            kinds[kind] += 1;
            let input = Input::open(&path).unwrap();
            let yes: Vec<_> =
                formats().filter(|f| f.sniff(input.head())).map(|f| f.name()).collect();
            assert_eq!(yes, [format.name()], "{name}");
            assert_eq!(detect(&input, None).ok().map(|f| f.format().name()), Some(format.name()));
        }
        assert!(
            kinds.iter().all(|&n| n > 0),
            "{} lacks a good, truncated or damaged fixture: {kinds:?}",
            format.name()
        );
    }
}

#[test]
fn other_text_is_no_trace() {
    for text in [
        "Dear reader,\nthis is not a trace.\n",
        "time,pc,value\n1,2,3\n4,5,6\n",
        "{\"MAJOR_VERSION\": 1}\n",
        "core   0: >>>>  main\ncore   0: 0x80000000 (0x00000297\n",
        "0 clk cpu0 R r1 00000000\n0 clk cpu0 R r0 00000000\n",
        "1: system.cpu: Invoke: a fault\n2: system.cpu: T0 : 0x10 @f : nop\n",
        "R00=12\n",
        "# a comment\n",
        "\n\n\n",
        "1 2 3\n",
    ] {
        let yes: Vec<_> =
            formats().filter(|f| f.sniff(text.as_bytes())).map(|f| f.name()).collect();
        assert!(yes.is_empty(), "{text:?} is taken for {yes:?}");
    }
}

/// The lines of a log, each above what it gave. A row belongs to the first line with which reading
/// up to its end gives it.
fn echo(format: &dyn StepFormat, name: &str, bytes: &[u8]) -> String {
    let (full, result) = read(format, name, bytes);
    let mut out = format!("{}\n", full.begun);
    let mut shown = 0;
    let mut end = 0;
    for line in bytes.split_inclusive(|&b| b == b'\n') {
        end += line.len();
        writeln!(out, "| {}", String::from_utf8_lossy(line).trim_end()).unwrap();
        let (part, _) = read(format, name, &bytes[..end]);
        if full.steps.starts_with(&part.steps) {
            for step in full.steps.get(shown..part.steps.len()).unwrap_or_default() {
                writeln!(out, "    {step}").unwrap();
            }
            shown = shown.max(part.steps.len());
        }
    }
    assert_eq!(shown, full.steps.len());
    for diagnostic in full.diagnostics {
        writeln!(out, "diagnostic: {diagnostic}").unwrap();
    }
    if let Err(error) = result {
        writeln!(out, "error: {error}").unwrap();
    }
    out
}

#[test]
fn every_line_of_a_fixture_with_what_it_gave() {
    let settings = beside_formats();
    for (format, name, bytes) in fixtures() {
        let text = echo(format, &name, &bytes);
        settings.bind(|| {
            insta::assert_snapshot!(
                format!("{}-{}", format.name(), name.trim_end_matches(".log")),
                text
            );
        });
        let (gather, result) = read(format, &name, &bytes);
        assert!(result.is_ok(), "{}/{name}: {result:?}", format.name());
        let lost = gather.diagnostics.iter().any(|d| d.starts_with("Error"));
        assert_eq!(
            lost,
            !name.starts_with("good"),
            "{}/{name}: {:?}",
            format.name(),
            gather.diagnostics
        );
        assert!(!gather.steps.is_empty());
    }
}

#[test]
fn nothing_that_parses_is_an_error_with_a_place() {
    for format in STEP_FORMATS {
        let fixture = fixtures().into_iter().find(|(f, ..)| f.name() == format.name());
        let name = fixture.map_or(String::new(), |f| f.1);
        let (_, result) = read(*format, &name, b"Dear reader,\nthis is not a trace.\n");
        assert!(
            matches!(result, Err(TraceError::Malformed { .. })),
            "{}: {result:?}",
            format.name()
        );
    }
}

#[test]
fn a_layout_of_the_documentation_is_the_tested_one() {
    let page = std::fs::read_to_string(folder().join("../../docs/layout.md")).unwrap();
    for name in ["columns", "pattern"] {
        let layout = std::fs::read_to_string(folder().join(format!("layout/{name}.toml"))).unwrap();
        assert!(page.contains(&layout), "docs/layout.md has not {name}.toml");
    }
}

#[test]
fn layouts_read_genuine_logs() {
    let Some(layout) = STEP_FORMATS.iter().find(|f| f.name() == "layout") else { return };
    for (file, name, isa, steps) in [
        ("cv32e40p-tracer.log", "columns", Isa::Riscv32, 5),
        ("gem5-exec-riscv.log", "pattern", Isa::Riscv64, 24),
    ] {
        let Some(path) = elsewhere(&format!("sim-excerpts/{file}")) else { continue };
        let bytes = std::fs::read(path).unwrap();
        let text = std::fs::read_to_string(folder().join(format!("layout/{name}.toml"))).unwrap();
        let context = Context { isa: Some(isa), layout: Some(&text), jobs: 1 };
        let mut gather = Gather { isa: Some(isa), ..Gather::default() };
        layout.read(Input::from_bytes(file, &bytes).unwrap(), &context, &mut gather).unwrap();
        assert!(gather.steps.len() >= steps, "{file}: {:#?}", gather.steps);
        // Five lines of a log need not have what every item of the layout is for.
        let told = gather.diagnostics.iter().filter(|d| !d.contains("Info item-unused"));
        assert_eq!(told.collect::<Vec<_>>(), [""; 0], "{file}");
        assert!(gather.steps.iter().any(|s| s.contains(" W0x")), "{file}");
        println!("{file}: {:#?}", gather.steps);
    }
}

/// A fixture with some bytes changed, lines taken out, doubled or swapped, and the end cut off.
fn mutate(bytes: &[u8], changes: &[(u16, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for &(place, kind, byte) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = place as usize * 7919 % bytes.len();
        match kind % 8 {
            0 => bytes[at] = byte,
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, byte),
            3 => bytes.truncate(at),
            4 => bytes[at] = b"\n\0 ,[]\"=:0xf-{"[byte as usize % 14],
            5 => {
                let end = bytes[at..]
                    .iter()
                    .position(|&b| b == b'\n')
                    .map_or(bytes.len(), |e| at + e + 1);
                bytes.drain(at..end);
            }
            6 => {
                let end = (at + byte as usize).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let end = (at + 20).min(bytes.len());
                bytes[at..end].fill(b"f90 "[byte as usize % 4]);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_fixtures_never_panic(changes in prop::collection::vec(any::<(u16, u8, u8)>(), 1..12), which in any::<prop::sample::Index>()) {
        let all = fixtures();
        let (format, name, bytes) = &all[which.index(all.len())];
        let bytes = mutate(bytes, &changes);
        if let Ok(input) = Input::from_bytes(name, &bytes) {
            for format in formats() {
                let _ = format.sniff(input.head());
            }
            let _ = read(*format, name, &bytes);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for format in STEP_FORMATS {
            let _ = format.sniff(&bytes);
            let name = if format.name() == "layout" { "good-pattern.log" } else { "random" };
            let _ = read(*format, name, &bytes);
        }
    }

    #[test]
    fn every_reader_reads_every_fixture_without_panic(which in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()) {
        let all = fixtures();
        let (_, _, bytes) = &all[which.index(all.len())];
        for format in STEP_FORMATS {
            let name = if format.name() == "layout" { "good-columns.log" } else { "x" };
            let _ = read(*format, name, &bytes[..cut.index(bytes.len()) + 1]);
        }
    }
}
