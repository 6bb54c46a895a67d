#!/bin/bash
# zoo.sh [PROGRAM...]: programs that people know, recorded with lackey, built at detail `pairs`, verified: a Markdown table on standard output.
#
# bzip2, Lua, SQLite, CPython as libraries of the system, linked statically with a few lines of ours; a C++ and a Rust program. Nothing is
# fetched: what is not installed is skipped and said. Times are the processor's (user and system, all threads) but for wall; memory is the
# peak of the resident set; both are of whole processes.
#
# Needs bash, cargo, valgrind, zstd, GNU time, gcc; libbz2-dev, liblua5.4-dev, libsqlite3-dev, g++, rustc, a static libpython3 with python3-config.
# ADDFG names a program already built, WORK a folder that keeps the recordings (80 MB) and databases (2 GB), LIMIT `verify`'s memory in MiB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
all=(bzip2 lua sqlite cpython cpp rust)
[ $# -gt 0 ] && all=("$@")
if [ -n "${WORK:-}" ]; then
    mkdir -p "$WORK"
else
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
fi
cd "$WORK"

for tool in cargo valgrind zstd gcc; do
    command -v "$tool" > /dev/null || { echo "skipped: everything: $tool is not installed" >&2; exit 2; }
done
[ -x /usr/bin/time ] || { echo "skipped: everything: /usr/bin/time (GNU time) is not installed" >&2; exit 2; }
if [ -z "${ADDFG:-}" ]; then
    cargo build --release --quiet --manifest-path "$here/../Cargo.toml" --bin addfg
    ADDFG=${CARGO_TARGET_DIR:-$here/../target}/release/addfg
fi

. "$here/zoo_programs.sh"

# record NAME: its log, compressed on the way.
record() {
    local script=()
    [ -e "$1.script" ] && script=("$1.script")
    rm -f pipe && mkfifo pipe
    zstd -q -1 -f -o "$1.log.part" < pipe &
    valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file=pipe "./$1" "${script[@]}" > "$1.out" 2>&1
    wait $!
    mv "$1.log.part" "$1.log.zst"
}
# measure COMMAND...: sets cpu, wall (s), memory (MiB).
measure() {
    /usr/bin/time -q -o time.txt -f '%e %U %S %M' "$@" > out.txt 2> err.txt || { cat out.txt err.txt >&2; return 1; }
    read -r wall cpu memory < <(awk '{ printf "%.0f %.1f %.0f\n", $1, $2 + $3, $4 / 1024 }' time.txt)
}

echo "| program | steps | calls | build: CPU s | MiB | verify: CPU s | wall s | us of CPU a step | MiB | tables equal |"
echo "|---|---|---|---|---|---|---|---|---|---|"
for name in "${all[@]}"; do
    if [ ! -e "$name.log.zst" ]; then
        "compile_$name" 2> compile.txt || { echo "skipped: $name: $(head -n 1 compile.txt)" >&2; continue; }
        record "$name"
    fi
    measure "$ADDFG" build "$name.log.zst" --elf "$name" -o "$name.duckdb" --force || { echo "failed: $name: build" >&2; continue; }
    counts=$(sed -n 's/.*: \([0-9]*\) steps, \([0-9]*\) calls.*/\1 | \2/p' err.txt)
    build="$cpu | $memory"
    measure "$ADDFG" verify --memory-limit "${LIMIT:-640}" "$name.duckdb" || echo "failed: $name: verify" >&2
    each=$(awk -v cpu="$cpu" -v steps="${counts%% *}" 'BEGIN { printf "%.1f", cpu / steps * 1e6 }')
    echo "| $name | $counts | $build | $cpu | $wall | $each | $memory | $(grep -c ' equal ' out.txt) |"
done
