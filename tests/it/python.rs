//! The Python package, the notebook and Spark on a lake that addfg made. The Python that has what they need is that of
//! `.ci/python.sh`, or ADDFG_PYTHON.

use crate::common::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A Python that can import a module; None is said.
pub fn python(module: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let path = std::env::var_os("ADDFG_PYTHON")
        .map_or_else(|| home.join(".cache/addfg/python/bin/python"), PathBuf::from);
    let imported = Command::new(&path).args(["-c", &format!("import {module}")]).output();
    if imported.is_ok_and(|output| output.status.success()) {
        return Some(path);
    }
    skipped(&format!("a Python with {module} (.ci/python.sh makes one)"));
    None
}

/// A lake of two versions of a program and several sizes, made of two examples: what matters here is
/// that all see the same.
fn lake(scratch: &Scratch) -> PathBuf {
    let lake = scratch.path("lake");
    let (fir, jpeg) = (example("fir", "instance"), example("jpeg", "instance"));
    for (i, (db, version)) in [(&fir, 1), (&jpeg, 2), (&fir, 2), (&jpeg, 1)].iter().enumerate() {
        // Both versions have each input.
        let input = i % 2;
        let label = format!("size={},input=i{input},version={version},repeat=1", 8 << input);
        let words = ["collect", utf8(db), "-o", utf8(&lake), "--with-steps", "--program", "p"];
        ok(&[&words[..], &["--label", &label]].concat());
    }
    lake
}

fn run(python: &Path, script: &str, words: &[&str]) -> Output {
    let package = repository("python");
    let mut command = Command::new(python);
    command.arg(repository(script)).args(words).env("PYTHONPATH", package);
    command.output().expect("python runs")
}

#[test]
fn the_package_answers_as_the_program_does() {
    let Some(python) = python("duckdb, pandas, networkx") else { return };
    let scratch = Scratch::new("python-package");
    let lake = lake(&scratch);
    ok(&["collect", "--compact", utf8(&lake)]);
    let db = example("jpeg", "pairs");
    let output = run(
        &python,
        "tests/python/package.py",
        &[utf8(&lake), utf8(&db), env!("CARGO_BIN_EXE_addfg")],
    );
    assert!(output.status.success(), "{}{}", printed(&output), said(&output));
}

#[test]
fn the_notebook_runs() {
    let Some(python) = python("nbclient, ipykernel, matplotlib") else { return };
    if !have("dot") {
        return;
    }
    let scratch = Scratch::new("python-notebook");
    let lake = lake(&scratch);
    let made = scratch.path("runs.ipynb");
    let output = Command::new(&python)
        .args([
            repository("tests/python/notebook.py"),
            repository("examples/lake/runs.ipynb"),
            made,
        ])
        .env("PYTHONPATH", repository("python"))
        .env("ADDFG_LAKE", &lake)
        .env("ADDFG_DB", example("jpeg", "pairs"))
        .output()
        .expect("python runs");
    let text = printed(&output);
    assert!(output.status.success(), "{text}{}", said(&output));
    assert!(text.contains("image/png") && text.contains("image/svg+xml"), "{text}");
}

#[test]
fn spark_answers_as_duckdb_does() {
    if !have("java") {
        return;
    }
    let Some(python) = python("pyspark") else { return };
    let scratch = Scratch::new("python-spark");
    let lake = lake(&scratch);
    let built = scratch.path("built");
    let words = [utf8(&lake), env!("CARGO_BIN_EXE_addfg"), utf8(&built)];
    let output = run(&python, "tests/python/spark.py", &words);
    assert!(output.status.success(), "{}{}", printed(&output), said(&output));
}
