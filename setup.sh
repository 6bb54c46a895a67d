#!/bin/sh
# Prepares a checkout: installs what is missing where it may (Debian and its relatives, as root), else says it in one line, and makes
# DuckDB's library available to cargo: an installed one (DUCKDB_LIB_DIR, pkg-config), else the prebuilt one from npm, put into a cache
# folder. Writes .cargo/config.toml (ignored by git), after which plain cargo commands work. Runs in seconds where nothing is missing.
# With --tests, all that the tests use, too; a test whose tool cannot be had says that it is skipped.
set -eu
cd "$(dirname "$0")"
version=1.5.6-r.1
tests="make xz-utils binutils bsdutils bzip2 coreutils python3 python3-venv default-jre-headless strace gdb libstb-dev qemu-user
    qemu-system-arm qemu-system-misc golang-go
    gcc-arm-linux-gnueabi g++-arm-linux-gnueabi libc6-dev-armel-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    gcc-riscv64-linux-gnu libc6-dev-riscv64-cross gcc-i686-linux-gnu libc6-dev-i386-cross clang-19 llvm-19 libclang-rt-19-dev lld mold gfortran gnuplot-nox chromium"

# Tool, Debian's package, what needs it.
list="gcc gcc compile
g++ g++ compile
valgrind valgrind record
pkg-config pkg-config record
dot graphviz pictures"
if [ -z "${DUCKDB_LIB_DIR:-}" ] && ! pkg-config --exists duckdb 2>/dev/null &&
    ! ls "${XDG_CACHE_HOME:-$HOME/.cache}/addfg/duckdb-$version"/libduckdb.* >/dev/null 2>&1; then
    list="$list
npm npm compile"
fi

# Packages of the list whose tools are not there; with an argument, what they are for.
missing() {
    echo "$list" | while read -r tool package what; do
        command -v "$tool" >/dev/null 2>&1 || echo "$package${1:+ (to $what)}"
    done
}

packages=$(missing | tr '\n' ' ')
if [ "${1:-}" = --tests ]; then
    for package in $tests; do
        dpkg -s "$package" >/dev/null 2>&1 || packages="$packages $package"
    done
fi
if [ -n "${packages# }" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup.sh: installs $(echo $packages)"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    # One by one if all at once fails: what cannot be had is said, the rest is there.
    # shellcheck disable=SC2086
    apt-get install -y -qq $packages >/dev/null 2>&1 || for package in $packages; do
        apt-get install -y -qq "$package" >/dev/null 2>&1 || echo "setup.sh: cannot install $package"
    done
fi
if [ "${1:-}" = --tests ]; then
    # What Python and Spark need, outside of the checkout: under a minute.
    .ci/python.sh || echo "setup.sh: no Python packages (tests that need them are skipped)" >&2
fi
left=$(missing say | sed 's/(to pictures)/(for pictures)/' | paste -sd, - | sed 's/,/, /g')
if [ -n "$left" ]; then
    echo "setup.sh: missing: $left; apt install $(missing | paste -sd' ' -)" >&2
fi
command -v cargo >/dev/null 2>&1 || [ -x "$HOME/.cargo/bin/cargo" ] ||
    echo "setup.sh: missing: Rust 1.89 or later; https://rustup.rs has it" >&2

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
