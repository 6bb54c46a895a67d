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

compile_bzip2() {
    cat > bzip2.c << 'END'
#include <bzlib.h>
#include <stdlib.h>
/* Compresses and decompresses 60,000 bytes. */
int main(void) {
    unsigned n = 60000, m = 2 * n, k = n, s = 1;
    char *in = malloc(n), *out = malloc(m), *back = malloc(n);
    for (unsigned i = 0; i < n; i++) {
        s = s * 1103515245 + 12345;
        in[i] = (s >> 16) % 7 ? "the quick brown fox "[i % 20] : 'a' + (s >> 20) % 26;
    }
    return BZ2_bzBuffToBuffCompress(out, &m, in, n, 9, 0, 30) || BZ2_bzBuffToBuffDecompress(back, &k, out, m, 0, 0);
}
END
    gcc -O2 -g -static -o bzip2 bzip2.c -lbz2
}
compile_lua() {
    cat > lua.c << 'END'
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
int main(int argc, char **argv) {
    lua_State *state = luaL_newstate();
    luaL_openlibs(state);
    return argc < 2 || luaL_dofile(state, argv[1]);
}
END
    cat > lua.script << 'END'
local t = {} for i = 1, 3000 do t[i] = (i * 7919) % 3001 end table.sort(t)
local s = {} for w in ("the quick brown fox jumps over the lazy dog "):rep(40):gmatch("%a+") do s[w] = (s[w] or 0) + 1 end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(t[1], s.the, fib(18), string.format("%5.2f", math.sin(1)))
END
    gcc -O2 -g -static -o lua lua.c -llua5.4 -lm -ldl
}
compile_sqlite() {
    cat > sqlite.c << 'END'
#include <sqlite3.h>
#include <stddef.h>
int main(void) {
    sqlite3 *db;
    return sqlite3_open(":memory:", &db) || sqlite3_exec(db,
        "create table t(a integer primary key, b text, c real);"
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)"
        " insert into t select i, 'x' || (i * 7919 % 1000), i * 0.5 from n;"
        "create index tb on t(b);"
        "select b, count(*), sum(c) from t group by b order by 2 desc, 1 limit 5;"
        "select count(*) from t x join t y on x.b = y.b where x.a < y.a;", NULL, NULL, NULL);
}
END
    gcc -O2 -g -static -o sqlite sqlite.c -lsqlite3 -lm -ldl -lpthread
}
compile_cpython() {
    printf '#include <Python.h>\nint main(int argc, char **argv) { return Py_BytesMain(argc, argv); }\n' > cpython.c
    cat > cpython.script << 'END'
d = {}
for i in range(3000):
    d.setdefault("k%d" % (i * 7919 % 101), []).append(i)
print(sorted((len(v), k) for k, v in d.items())[:3], sum(x * x for x in range(2000)))
END
    gcc -O2 -g -static -o cpython cpython.c $(python3-config --includes) $(python3-config --embed --ldflags) $(python3-config --embed --libs)
}
compile_cpp() {
    cat > cpp.cc << 'END'
#include <iostream>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
static int deep(int n) {
    if (n == 0) throw std::runtime_error("deep");
    return deep(n - 1) + 1;
}
int main() {
    std::string text;
    for (int i = 0; i < 150; i++) text += "name" + std::to_string(i) + "=" + std::to_string(i * i) + ";";
    std::regex pattern("([a-z]+[0-9]+)=([0-9]+);");
    std::map<std::string, long> values;
    for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i) values[(*i)[1]] = std::stol((*i)[2]);
    int caught = 0;
    for (int i = 0; i < 20; i++) try { deep(i); } catch (std::exception &) { caught++; }
    std::cout << values.size() << " " << caught << "\n";
}
END
    g++ -O2 -g -static -o cpp cpp.cc
}
compile_rust() {
    cat > rust.rs << 'END'
use std::collections::{BTreeMap, HashMap};
fn main() {
    let mut values: HashMap<String, Vec<u32>> = HashMap::new();
    for i in 0..4000u32 {
        values.entry(format!("k{}", i * 7919 % 997)).or_default().push(i);
    }
    let mut sizes: BTreeMap<usize, Vec<&String>> = BTreeMap::new();
    for (key, v) in &values {
        sizes.entry(v.len()).or_default().push(key);
    }
    let lines: Vec<String> = sizes.iter().map(|(n, keys)| format!("{n}: {}", keys.len())).collect();
    println!("{}", lines.join(", "));
}
END
    rustc -O -g -C target-feature=+crt-static -o rust rust.rs
}

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
