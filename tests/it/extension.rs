//! DuckDB's extension of addfg in several releases of DuckDB: ADDFG_EXTENSION names it (`extension/build.sh` makes it),
//! and `.ci/python.sh` has the releases.

use crate::common::*;
use crate::python::python;
use std::path::PathBuf;
use std::process::Command;

#[test]
fn the_extension_gives_what_the_views_have() {
    let Some(extension) = std::env::var_os("ADDFG_EXTENSION").map(PathBuf::from) else {
        return skipped("DuckDB's extension of addfg: ADDFG_EXTENSION names it");
    };
    let Some(python) = python("duckdb") else { return };
    let scratch = Scratch::new("extension");
    let prepared = scratch.copy(&example("jpeg", "summary"), "prepared.duckdb");
    ok(&["prepare", utf8(&prepared), "--quiet"]);
    let releases = python.ancestors().nth(2).map(|environment| environment.join("duckdb"));
    let mut releases: Vec<PathBuf> = releases
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .map_or_else(Vec::new, |found| found.flatten().map(|entry| entry.path()).collect());
    // That of the environment itself.
    releases.push(PathBuf::new());
    for release in releases {
        let output = Command::new(&python)
            .env("PYTHONPATH", &release)
            .arg(repository("tests/python/extension.py"))
            .args([&extension, &example("jpeg", "summary"), &prepared, &example("jpeg", "rows")])
            .output()
            .expect("python runs");
        assert!(
            output.status.success(),
            "{}: {}{}",
            release.display(),
            printed(&output),
            said(&output)
        );
    }
}
