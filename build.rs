//! Lets the program find the DuckDB library that it was linked with: in a package beside it, else where it was found.

fn main() {
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
