//! What ends a build before its end leaves nothing, in every format and wherever it is.

use crate::common::*;
use addfg::internals::load::{BuildError, ElfInput, Options, load};
use std::path::{Path, PathBuf};

fn fixture(path: &str) -> PathBuf {
    repository(&format!("tests/formats/{path}"))
}

/// Options of a build of one of the fixtures.
fn options(scratch: &Scratch, trace: &str) -> Options {
    let mut options = Options::new(scratch.path("db"));
    options.traces = vec![fixture(trace)];
    let elf = |name| vec![ElfInput { path: fixture(&format!("elf/{name}")), bias: None }];
    match trace.split('/').next() {
        Some("lackey") => options.elfs = elf("x86_64"),
        Some("execlog" | "giano") => options.elfs = elf("arm"),
        Some("layout") => {
            let text = std::fs::read_to_string(fixture("layout/columns.toml")).unwrap();
            options.layout = Some(text);
            options.format = Some("layout".into());
            options.elfs = elf("riscv64");
        }
        _ => {}
    }
    options
}

const GOOD: [&str; 9] = [
    "lackey/good.log",
    "qemu/good-x86_64.log",
    "execlog/good.log",
    "giano/good-after.log",
    "layout/good-columns.log",
    "csi/good.debug_PT",
    "dcfg/good.dcfg.json",
    "wet/good-comprehensive.wet",
    "xray/good-fdr5.xray",
];

fn left_nothing(scratch: &Scratch) {
    let files: Vec<PathBuf> = std::fs::read_dir(scratch.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("db")))
        .collect();
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn every_format_keeps_to_the_memory_limit() {
    for trace in GOOD {
        let scratch = Scratch::new("limit");
        let mut options = options(&scratch, trace);
        options.memory_limit = 1 << 20;
        let result = load(&options, &mut |_| false);
        assert!(matches!(result, Err(BuildError::Memory { .. })), "{trace}: {result:?}");
        left_nothing(&scratch);
        options.memory_limit = 0;
        load(&options, &mut |_| false).unwrap_or_else(|e| panic!("{trace}: {e}"));
    }
}

#[test]
fn every_format_can_be_interrupted() {
    for trace in GOOD {
        let scratch = Scratch::new("interrupt");
        let result = load(&options(&scratch, trace), &mut |_| true);
        assert!(matches!(result, Err(BuildError::Interrupted(_))), "{trace}: {result:?}");
        left_nothing(&scratch);
    }
}

/// A copy of a program that says that it is position-independent.
fn position_independent(elf: &Path, scratch: &Scratch) -> PathBuf {
    const E_TYPE: usize = 16;
    let mut bytes = std::fs::read(elf).unwrap();
    assert_eq!(bytes[E_TYPE], 2, "ET_EXEC");
    bytes[E_TYPE] = 3;
    scratch.write("pie", bytes)
}

#[test]
fn a_program_that_waits_to_be_placed_is_bounded_too() {
    let scratch = Scratch::new("placing");
    let path = position_independent(&fixture("elf/x86_64"), &scratch);
    let mut options = options(&scratch, "lackey/good.log");
    options.elfs = vec![ElfInput { path, bias: None }];
    let result = load(&options, &mut |_| true);
    assert!(matches!(result, Err(BuildError::Interrupted(_))), "{result:?}");
    options.memory_limit = 1 << 20;
    let result = load(&options, &mut |_| false);
    assert!(matches!(result, Err(BuildError::Memory { .. })), "{result:?}");
    left_nothing(&scratch);
}

/// Two logs of different instruction sets are no run: the second was decoded as the first.
#[test]
fn inputs_of_two_instruction_sets_are_refused() {
    let scratch = Scratch::new("two-isas");
    let mut options = options(&scratch, "qemu/good-x86_64.log");
    options.traces.push(fixture("qemu/good-riscv64.log"));
    let result = load(&options, &mut |_| false);
    assert!(matches!(result, Err(BuildError::MixedIsa(..))), "{result:?}");
    left_nothing(&scratch);
}
