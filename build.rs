//! Lets the program find the DuckDB library that it was linked with: in a package beside it, else where it was found. Puts the
//! recorders' sources into it.

use std::path::{Path, PathBuf};

/// The files of a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Writes a list of the recorders' sources with what is in them: the program compiles these and no others.
fn embed_recorders() {
    let root =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("recorders");
    println!("cargo:rerun-if-changed=recorders");
    let mut text = String::from("&[\n");
    for folder in ["valgrind", "qemu", "stream"] {
        for path in files(&root.join(folder)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{folder}/{name}");
            // Of the tree that is compiled: trees that share a target folder share this list.
            text.push_str(&format!(
                "    ({name:?}, include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?}))),\n",
                format!("/recorders/{name}")
            ));
        }
    }
    text.push_str("]\n");
    let to = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("recorders.rs");
    std::fs::write(to, text).expect("the folder of what is built can be written");
}

fn main() {
    embed_recorders();
    println!("cargo:rerun-if-env-changed=DUCKDB_LIB_DIR");
    println!("cargo:rerun-if-env-changed=ADDFG_PACKAGE");
    if std::env::var_os("CARGO_FEATURE_BUNDLED").is_some() {
        return;
    }
    for folder in ["$ORIGIN/../lib/addfg", "$ORIGIN"] {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
    // What leaves this machine does not name its folders.
    if std::env::var_os("ADDFG_PACKAGE").is_none()
        && let Ok(folder) = std::env::var("DUCKDB_LIB_DIR")
    {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
