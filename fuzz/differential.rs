//! One random program, written in each text format that can say it: equal databases.

use crate::common::program::{Program, Random};
use crate::common::*;
use std::path::Path;

/// What a database says of the run, without how it was recorded.
fn contents(db: &Path) -> Vec<Vec<String>> {
    [
        "SELECT writer, reader, via, bytes, unique_bytes, addresses, transfers FROM function_dataflow ORDER BY ALL",
        "SELECT caller, callee, kind, calls, steps FROM call_graph ORDER BY ALL",
        "SELECT call_id, instance, parent_call_id, kind, ending, call_seq, return_seq, call_time FROM function_call ORDER BY ALL",
        "SELECT seq, ordinal, is_write, space, address, size FROM data_access ORDER BY ALL",
    ]
    .map(|sql| rows(db, sql))
    .into()
}

const LAYOUT: &str = r#"
isa = "x86_64"
values = "after"
columns = ["time", "cpu", "pc", "opcode", "items"]

[[item]]
kind = "register"
pattern = "{name}={value}"

[[item]]
kind = "load"
pattern = "R:{address}/{size:dec}"

[[item]]
kind = "store"
pattern = "W:{address}/{size:dec}"
"#;

/// A log of Giano's as one that the layout describes.
fn as_layout(giano: &str) -> String {
    let lines = giano.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut line = line.replace(" \"\"", "");
            for kind in ["R", "W"] {
                line = line.replace(&format!("[M:{kind} "), &format!("{kind}:"));
            }
            let words = line.split(' ').collect::<Vec<_>>();
            // `W:7000 8]` is one word of the layout.
            let mut out = String::new();
            for word in words {
                match word.strip_suffix(']') {
                    Some(size) => out.push_str(&format!("/{size}")),
                    None if out.is_empty() => out.push_str(word),
                    None => out.push_str(&format!(" {word}")),
                }
            }
            out + "\n"
        })
        .collect()
}

#[test]
fn a_program_in_two_formats_has_one_database() {
    let runs = std::env::var("ADDFG_FUZZ").ok().and_then(|n| n.parse::<u64>().ok());
    for seed in 0..runs.map_or(3, |n| (n / 10_000).max(3)) {
        let scratch = Scratch::new("differential");
        let mut random = Random::new(seed);
        let program = Program::new(&mut random);
        let (log, steps) = program.run(&mut random, 400, 2);
        assert!(!steps.is_empty());
        let elf = scratch.write("elf", program.elf());
        let layout = scratch.write("layout.toml", LAYOUT);
        let (giano, other) =
            (scratch.write("a.log", &log), scratch.write("b.log", as_layout(&log)));
        let (one, two) = (scratch.path("one.duckdb"), scratch.path("two.duckdb"));
        let build = |log: &Path, db: &Path, more: &[&str]| {
            let all = ["build", utf8(log), "--elf", utf8(&elf), "-o", utf8(db), "-q"];
            ok(&[&all[..], more].concat());
        };
        build(&giano, &one, &[]);
        build(&other, &two, &["--layout", utf8(&layout)]);
        let (one, two) = (contents(&one), contents(&two));
        assert!(one.iter().all(|rows| !rows.is_empty()));
        assert_eq!(one, two, "seed {seed}");
    }
}
