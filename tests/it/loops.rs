//! Loops whose pattern and dependences are known from their source.

use crate::common::*;
use std::path::{Path, PathBuf};

/// Pattern, distance, private storage of the loop of each function of `tests/programs/kernels.c`.
const KERNELS: [(&str, &str, &str, &str); 24] = [
    ("scale", "independent", "", ""),
    ("total", "reduction (add)", "", ""),
    ("parity", "reduction (xor)", "", ""),
    ("product", "reduction (multiply)", "", ""),
    ("mask", "reduction (and)", "", ""),
    ("mean", "reduction (add)", "", ""),
    ("prefix", "serial", "1", ""),
    ("stencil", "independent", "", ""),
    ("smooth", "serial", "1", ""),
    ("fourth", "serial", "4", ""),
    ("chase", "serial", "1", ""),
    ("histogram", "reduction (add)", "", ""),
    ("random_numbers", "serial", "1", ""),
    ("fibonacci", "serial", "1", ""),
    ("gather", "independent", "", ""),
    ("reverse", "independent", "", ""),
    ("fill", "independent", "", ""),
    ("stages", "pipeline", "1", ""),
    ("reused", "independent", "", "t"),
    ("recurrence", "pipeline", "1", ""),
    ("largest", "reduction (maximum)", "", ""),
    ("smallest", "reduction (minimum)", "", ""),
    ("highest", "reduction (maximum)", "", ""),
    // The last of some: no order but that of the loop finds it.
    ("chosen", "serial", "1", ""),
];

fn kernels(scratch: &Scratch, level: &str) -> Option<PathBuf> {
    let flags = [level, "-g", "-fno-tree-vectorize"];
    let [elf, log] = recording("kernels.c", "gcc", &flags)?;
    let db = scratch.path("kernels.duckdb");
    load(&log, &elf, &db, &[]);
    Some(db)
}

fn fields(text: &str) -> Vec<Vec<String>> {
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn list(db: &Path, more: &[&str]) -> Vec<Vec<String>> {
    let all = ["loops", utf8(db), "--limit", "0", "--format", "csv"];
    fields(&ok(&[&all[..], more].concat()))
}

#[test]
fn kernels_have_the_patterns_of_their_source() {
    let scratch = Scratch::new("loops-kernels");
    let Some(db) = kernels(&scratch, "-O1") else { return };
    let found = list(&db, &[]);
    let mut wrong = Vec::new();
    for (function, pattern, distance, private) in KERNELS {
        let loops: Vec<_> = found.iter().filter(|row| row[0] == function).collect();
        assert_eq!(loops.len(), 1, "{function}: {loops:?}");
        let seen = [&loops[0][10], &loops[0][11], &loops[0][12]];
        if seen != [pattern, distance, private] {
            wrong.push(format!("{function}: {seen:?}, not {pattern} {distance} {private}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // An instruction that repeats itself is no loop.
    let repeats = rows(
        &db,
        "SELECT max(executions) FROM instruction JOIN function_symbol f USING (function_id) WHERE f.name = 'cleared' AND text LIKE 'rep%'",
    );
    // And the look that finds nothing left to do.
    assert_eq!(repeats, ["25"], "rep stos of 24 bytes");
    assert!(found.iter().all(|row| row[0] != "cleared"), "{found:?}");
}

/// A counter of eight numbers at a time is a counter, and their maximum one.
#[test]
fn vectors_count_and_gather_as_scalars_do() {
    let scratch = Scratch::new("loops-vectors");
    let Some([elf, log]) = recording("vectors.c", "gcc", &["-O3", "-g", "-mavx2"]) else { return };
    let db = scratch.path("vectors.duckdb");
    load(&log, &elf, &db, &[]);
    let vectors = rows(
        &db,
        "SELECT DISTINCT f.name FROM instruction JOIN function_symbol f USING (function_id)
         WHERE text LIKE 'v%ymm%' OR text LIKE 'v%xmm%'",
    );
    let found = list(&db, &[]);
    for (function, pattern) in [
        ("count", "independent"),
        ("scale", "independent"),
        ("total", "reduction (add)"),
        ("parity", "reduction (xor)"),
        ("largest", "reduction (maximum)"),
        ("smallest", "reduction (minimum)"),
    ] {
        assert!(vectors.contains(&function.to_owned()), "{function} has vectors: {vectors:?}");
        let first = found.iter().find(|row| row[0] == function).expect(function);
        assert_eq!(first[10], pattern, "{function}: {first:?}");
    }
}

/// The greatest and the least of numbers are reductions of the right name at every width, however compilers
/// write them: conditional moves, masks of comparisons, blends, saturating differences. What is chosen by a
/// comparison of something else is none.
#[test]
fn extremes_are_reductions_at_every_width() {
    let scratch = Scratch::new("loops-extremes");
    let mut wrong = Vec::new();
    for compiler in ["gcc", "clang-19"].into_iter().filter(|compiler| have(compiler)) {
        for flags in [&["-O1"][..], &["-O2"], &["-O3"], &["-O3", "-msse4.2"], &["-O3", "-mavx2"]] {
            let flags = [flags, &["-g"]].concat();
            let Some([elf, log]) = recording("extremes.c", compiler, &flags) else { return };
            let db = scratch.path("extremes.duckdb");
            load(&log, &elf, &db, &[]);
            let found = list(&db, &[]);
            let named = |row: &&Vec<String>| row[0].split('_').next().unwrap_or("").to_owned();
            let mut seen = 0;
            for row in
                found.iter().filter(|row| ["max", "min", "other"].contains(&named(row).as_str()))
            {
                let fits = match named(&row).as_str() {
                    "max" => row[10] == "reduction (maximum)",
                    "min" => row[10] == "reduction (minimum)",
                    _ => !row[10].starts_with("reduction"),
                };
                seen += 1;
                if !fits {
                    wrong.push(format!("{compiler} {flags:?} {}: {}", row[0], row[10]));
                }
            }
            // clang unrolls some whole.
            assert!(seen >= 12, "{compiler} {flags:?}: {seen}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn dependences_have_their_storage_and_distance() {
    let scratch = Scratch::new("loops-dependences");
    let Some(db) = kernels(&scratch, "-O1") else { return };
    let of = |function: &str| {
        let mut rows = list(&db, &["--dependences", "--functions", function]);
        rows.retain(|row| !row[3].starts_with('r') && !row[3].starts_with('e'));
        rows.iter().map(|row| row[2..].join(",")).collect::<Vec<_>>()
    };
    // 20 iterations of which 16 read what the fourth before them wrote.
    assert_eq!(of("fourth"), ["read after write,c,4,4,16,64"]);
    // 23 iterations: each but the first reads what the one before wrote.
    assert_eq!(of("smooth"), ["read after write,c,1,1,22,88"]);
    assert_eq!(of("fibonacci"), ["read after write,wide,1,2,41,328"]);
    // Four words, written by each of 24 iterations and read before the next writes them.
    assert_eq!(of("reused"), ["write after read,t,1,1,92,368", "write after write,t,1,1,92,368"]);
    assert_eq!(of("scale"), [""; 0]);
}

/// The rows of the inverse transform are as independent as its columns: `o += out_stride` adds what
/// each iteration loads anew from a slot that stays as it is.
#[test]
fn iterations_of_the_inverse_transform_are_independent() {
    let db = example("jpeg", "pairs");
    let arguments = ["loops", utf8(&db), "--function", "stbi__idct_block", "--format", "csv"];
    let text = ok(&arguments);
    assert_eq!(text.matches(",independent,").count(), 2, "{text}");
}
