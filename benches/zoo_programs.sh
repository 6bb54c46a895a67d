#!/bin/bash
# zoo_programs.sh: compile_NAME makes the program NAME in the working directory, and its script NAME.script if it takes one. For zoo.sh and boxes.py.
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
    # Debian's static library has modules whose libraries python3-config does not name.
    for more in "" "-lexpat -lz"; do
        gcc -O2 -g -static -o cpython cpython.c $(python3-config --includes) $(python3-config --embed --ldflags) $(python3-config --embed --libs) $more && return
    done
    return 1
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
