#!/bin/sh
# Makes addfg.duckdb_extension, for any program with DuckDB 1.2 or later on this kind of machine: extension/build.sh [FOLDER]
#
# It goes to FOLDER, or extension/target. DuckDB reads the last 512 bytes of the file: what it is for, and a signature, which has none here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/target}
mkdir -p "$folder"
target=${CARGO_TARGET_DIR:-$here/target}
cargo build --release --locked --quiet --manifest-path "$here/Cargo.toml" --target-dir "$target"
case $(uname -m) in
    x86_64) platform=linux_amd64 ;;
    aarch64) platform=linux_arm64 ;;
    *) platform=$(uname -s | tr '[:upper:]' '[:lower:]')_$(uname -m) ;;
esac
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/Cargo.toml" | head -n 1)
# In 32 bytes.
field() { printf '%s' "$1" && head -c $((32 - ${#1})) /dev/zero; }
{
    cat "$target/release/libaddfg_extension.so"
    field '' && field '' && field ''
    field C_STRUCT      # how it calls DuckDB: through a table of functions
    field "v$version"
    field v1.2.0        # the least version of that table: INTERFACE of src/lib.rs
    field "$platform"
    field 4             # of these fields
    head -c 256 /dev/zero
} > "$folder/addfg.duckdb_extension"
