#!/bin/sh
# Makes DuckDB's library available to cargo: an installed one (DUCKDB_LIB_DIR, pkg-config), else the prebuilt one from npm, put into
# a cache folder. Writes .cargo/config.toml (ignored by git), after which plain cargo commands work. Runs in seconds.
set -eu
cd "$(dirname "$0")"
version=1.5.6-r.1
if [ -z "${DUCKDB_LIB_DIR:-}" ] && pkg-config --exists duckdb 2>/dev/null; then
    DUCKDB_LIB_DIR=$(pkg-config --variable=libdir duckdb)
fi
if [ -z "${DUCKDB_LIB_DIR:-}" ]; then
    case $(uname -sm) in
        "Linux x86_64") package=@duckdb/node-bindings-linux-x64 library=libduckdb.so ;;
        "Linux aarch64") package=@duckdb/node-bindings-linux-arm64 library=libduckdb.so ;;
        "Darwin arm64") package=@duckdb/node-bindings-darwin-arm64 library=libduckdb.dylib ;;
        *) echo "setup.sh: no prebuilt DuckDB for $(uname -sm): use cargo build --features bundled" >&2; exit 2 ;;
    esac
    DUCKDB_LIB_DIR=${XDG_CACHE_HOME:-$HOME/.cache}/addfg/duckdb-$version
    if [ ! -f "$DUCKDB_LIB_DIR/$library" ]; then
        command -v npm >/dev/null || { echo "setup.sh: npm is needed to get DuckDB, or set DUCKDB_LIB_DIR" >&2; exit 2; }
        # npm checks the package against the registry's hash; the last step is a rename, so that a library found later is whole.
        mkdir -p "$DUCKDB_LIB_DIR"
        part=$(mktemp -d "$DUCKDB_LIB_DIR/part.XXXXXX")
        trap 'rm -rf "$part"' EXIT
        (cd "$part" && npm pack --loglevel=error "$package@$version" >/dev/null && tar xzf ./*.tgz) ||
            { echo "setup.sh: cannot get $package@$version; set DUCKDB_LIB_DIR to an installed libduckdb 1.5" >&2; exit 2; }
        mv "$part/package/$library" "$DUCKDB_LIB_DIR/$library"
    fi
fi
if ! ls "$DUCKDB_LIB_DIR"/libduckdb.* >/dev/null 2>&1; then
    echo "setup.sh: no libduckdb in $DUCKDB_LIB_DIR" >&2
    exit 2
fi
mkdir -p .cargo
cat > .cargo/config.toml <<END
# Written by setup.sh.
[env]
DUCKDB_LIB_DIR = "$DUCKDB_LIB_DIR"
LD_LIBRARY_PATH = "$DUCKDB_LIB_DIR"
END
echo "DuckDB: $DUCKDB_LIB_DIR"
