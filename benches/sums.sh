#!/bin/bash
# sums.sh [REPETITIONS]: what it costs to sum data flow while a program runs, beside callgrind, as a Markdown table on standard output.
#
# User and system seconds of the program under valgrind, medians of REPETITIONS (3) that run in turn: without a tool, callgrind (no cache
# simulation), addfg's recorder with sums alone without unique bytes and addresses, with all sums, with sums and the stream, with the
# stream alone. addfg's own process, which takes the sums, is not counted there: it decodes each block once. Peak memory in MiB of the
# program under callgrind and with sums alone. Wall seconds of the whole command with its database: sums alone, sums and the stream
# (--summed), a pass over the stream.
#
# Needs bash, gcc, libstb-dev, valgrind, pkg-config and time; bzip2, python3, sqlite3 each for its row. ADDFG names a program already built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repetitions=${1:-3}
ADDFG=${ADDFG:-$here/../target/release/addfg}
[ -x "$ADDFG" ] || { echo "sums.sh: build addfg first, or name it with ADDFG" >&2; exit 2; }
ADDFG=$(realpath "$ADDFG")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# addfg starts `valgrind`: this one is found first, and says what the real one took.
real=$(command -v valgrind)
mkdir timed
cat > timed/valgrind <<SH
#!/bin/bash
[ "\$1" != --version ] || exec "$real" "\$@"
exec "$(command -v time)" -o "$work/took" -f "%U %S %M" "$real" "\$@"
SH
chmod +x timed/valgrind

gcc -g -O1 -w -fno-inline -static -nostdlib -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables \
    -o jpeg "$here/../examples/jpeg/decode.c"
gcc -O2 -w -o encode "$here/../examples/jpeg/encode.c" -lm && ./encode image.jpg 512
gcc -O1 -w -o many "$here/../tests/programs/many.c"
head -c 300000 /dev/urandom | base64 > text
cat > script.py <<'PY'
words = {}
for i in range(20000):
    words[i % 1000] = words.get(i % 1000, 0) + i * i
print(sum(words.values()))
PY
cat > work.py <<'PY'
import json, re
class P:
    def __init__(s, x): s.x = x
    def area(s): return s.x * s.x
    def __lt__(s, o): return s.x < o.x
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
total = 0
for r in range(3):
    ps = sorted(P((i * 7919) % 1009) for i in range(3000))
    d = {str(i): [i, {"a": i * 1.5, "b": "x" * (i % 7)}] for i in range(800)}
    s = json.dumps(d, indent=1)
    json.loads(s)
    total += sum(p.area() for p in ps) + len(re.findall(r'"(\d+)": \[', s)) + fib(15)
print(total)
PY
cat > script.sql <<'SQL'
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) INSERT INTO t SELECT x, hex(x * 7919) FROM c;
CREATE INDEX i ON t(b);
SELECT count(*), sum(length(b)) FROM t WHERE b > '3';
SQL

# Behind a program that ends with another code than 0, time says so in a line before.
cpu() { tail -n 1 took | awk '{ printf "%.2f\n", $1 + $2 }'; }
memory() { tail -n 1 took | awk '{ printf "%.0f\n", $3 / 1024 }'; }
median() { sort -g | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
plain() { PATH="$work/timed:$PATH" valgrind -q "$@" > /dev/null 2>&1 < /dev/null || true; }
ours() { PATH="$work/timed:$PATH" "$(command -v time)" -o whole -f %e "$ADDFG" record -q "$@" > /dev/null 2>&1 < /dev/null || true; }
wall() { tail -n 1 whole; }

row() { # NAME COMMAND...
    local name=$1 kind
    shift
    for kind in none callgrind less sums both stream sums_wall both_wall pass_wall; do : > "$kind"; done
    for _ in $(seq "$repetitions"); do
        plain --tool=none "$@"; cpu >> none
        plain --tool=callgrind --callgrind-out-file=/dev/null "$@"; cpu >> callgrind; callgrind_memory=$(memory)
        ours --force -o run.duckdb --no-steps --no-unique -- "$@"; cpu >> less
        ours --force -o run.duckdb --no-steps -- "$@"; cpu >> sums; sums_memory=$(memory); wall >> sums_wall
        ours --force -o run.duckdb --summed -- "$@"; cpu >> both; wall >> both_wall
        ours --force -o run.duckdb --detail summary -- "$@"; cpu >> stream; wall >> pass_wall
    done
    local line="| $name" base
    base=$(median < callgrind)
    line+=" | $(median < none) | $base"
    for kind in less sums both stream; do line+=$(median < "$kind" | awk -v base="$base" '{ printf " | %.2f (%.2f)", $1, $1 / base }'); done
    line+=" | $callgrind_memory | $sums_memory"
    for kind in sums_wall both_wall pass_wall; do line+=" | $(median < "$kind")"; done
    echo "$line |"
}

echo "| | no tool | callgrind | sums, no unique bytes | sums | sums and stream | stream | MiB callgrind | MiB sums | s --no-steps | s --summed | s pass |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
row "JPEG, 5 decodes" ./jpeg image.jpg 5
row "JPEG, 30 decodes" ./jpeg image.jpg 30
! command -v bzip2 > /dev/null || row bzip2 bzip2 -kc text
python=$(python3 -c 'import sys; print(sys.executable)' 2> /dev/null || true)
[ -z "$python" ] || row "CPython, a loop with a dictionary" "$python" script.py
[ ! -x /usr/bin/python3 ] || [ "$python" -ef /usr/bin/python3 ] || row "CPython of the system, the same" /usr/bin/python3 script.py
[ -z "$python" ] || row "CPython, JSON, classes, sorting" "$python" work.py
! command -v sqlite3 > /dev/null || row SQLite sqlite3 -init script.sql :memory: .quit
row "3,000 functions" ./many
row "ls -l /" ls -l /
