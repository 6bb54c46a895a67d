//! Lets the binary find the DuckDB library that it was linked with.

fn main() {
    println!("cargo:rerun-if-env-changed=DUCKDB_LIB_DIR");
    if std::env::var_os("CARGO_FEATURE_BUNDLED").is_none()
        && let Ok(folder) = std::env::var("DUCKDB_LIB_DIR")
    {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
