#!/bin/bash
# recorder.sh [REPETITIONS]: what recording costs beside callgrind and lackey, as a Markdown table on standard output.
#
# Wall seconds of whole processes, medians of REPETITIONS (3) that run in turn: the program alone, under valgrind without a tool, under
# callgrind (no cache simulation), under addfg's recorder into a file, and `addfg record` with its build at --detail summary and instance.
# Bytes a step of the stream, and of it behind zstd -1. lackey runs once, and only with LACKEY=1: it takes minutes.
#
# Needs bash, gcc, libstb-dev, valgrind, pkg-config; zstd for its column; bzip2, python3, lua5.4, sqlite3 each for its row. ADDFG names a program
# already built, WORK a folder for the recordings.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repetitions=${1:-3}
ADDFG=${ADDFG:-$here/../target/release/addfg}
[ -x "$ADDFG" ] || { echo "recorder.sh: build addfg first, or name it with ADDFG" >&2; exit 2; }
work=${WORK:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
"$here/../recorders/valgrind/build.sh" "$work/recorder" > "$work/build.txt" 2>&1 || { cat "$work/build.txt" >&2; exit 2; }
tool() { command -v "$1" > /dev/null || { echo "skipped: $2: $1 is not installed" >&2; return 1; }; }

cd "$work"
head -c 300000 /dev/urandom | base64 > text
cat > script.py <<'PY'
words = {}
for i in range(200000):
    word = "w%d" % (i * 7919 % 5003)
    words[word] = words.get(word, 0) + i
print(sum(v for v in words.values() if v % 3))
PY
cat > script.lua <<'LUA'
local t, s = {}, 0
for i = 1, 400000 do t[i % 5003] = (t[i % 5003] or 0) + i end
for _, v in pairs(t) do s = s + v % 3 end
print(s)
LUA
cat > script.sql <<'SQL'
CREATE TABLE t(a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) INSERT INTO t SELECT i * 7919 % 5003, 'row' || i FROM n;
CREATE INDEX x ON t(a);
SELECT sum(length(b)) FROM t WHERE a BETWEEN 100 AND 2000;
SQL
jpeg="$here/../examples/jpeg"
if gcc -O2 -w -o encode "$jpeg/encode.c" -lm && ./encode image.jpg 512 &&
    gcc -g -O1 -w -static -nostdlib -fno-stack-protector -fno-asynchronous-unwind-tables -ffunction-sections -Wl,--gc-sections \
        -o decode "$jpeg/decode.c"; then
    programs=("JPEG, 512 x 512, 30 times|./decode image.jpg 30")
else
    programs=()
fi
tool bzip2 bzip2 && programs+=("bzip2 of 400 kB|bzip2 -kfc text")
# Not what stands before it in the path and starts it.
tool python3 CPython && programs+=("CPython|$(python3 -c "import sys; print(sys.executable)") -S script.py")
tool lua5.4 Lua && programs+=("Lua|lua5.4 script.lua")
tool sqlite3 SQLite && programs+=("SQLite|sqlite3 :memory: -init script.sql .quit")

seconds() {
    local from=$EPOCHREALTIME
    "$@" < /dev/null > out.txt 2> err.txt || true
    awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'
}
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
valgrind="valgrind -q --vex-guest-chase=no"
echo "| program | steps, M | native | none | callgrind | recorder | of callgrind | + summary | + instance | B/step | zstd | lackey |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
for program in "${programs[@]}"; do
    name=${program%%|*}
    command=${program#*|}
    rm -f times.*
    for _ in $(seq "$repetitions"); do
        # shellcheck disable=SC2086
        {
            seconds $command >> times.native
            seconds $valgrind --tool=none $command >> times.none
            seconds $valgrind --tool=callgrind --callgrind-out-file=callgrind.out $command >> times.callgrind
            VALGRIND_LIB="$work/recorder" seconds $valgrind --tool=addfg --stream=run.stream $command >> times.recorder
            seconds "$ADDFG" record --force --detail summary -o s.duckdb -- $command >> times.summary
            seconds "$ADDFG" record --force --detail instance -o i.duckdb -- $command >> times.instance
        }
    done
    steps=$("$ADDFG" sql s.duckdb --format csv "SELECT value FROM meta WHERE key = 'steps'" | tail -1)
    bytes=$(stat -c %s run.stream)
    packed=-
    if tool zstd zstd; then packed=$(zstd -1 -q -c run.stream | wc -c | awk -v n="$steps" '{ printf "%.2f", $1 / n }'); fi
    lackey=-
    # shellcheck disable=SC2086
    if [ -n "${LACKEY:-}" ]; then
        lackey=$(seconds $valgrind --tool=lackey --trace-mem=yes --log-file=/dev/null $command | awk '{ printf "%.1f", $1 }')
    fi
    at() { median < "times.$1"; }
    awk -v name="$name" -v steps="$steps" -v native="$(at native)" -v none="$(at none)" -v callgrind="$(at callgrind)" \
        -v recorder="$(at recorder)" -v summary="$(at summary)" -v instance="$(at instance)" -v bytes="$bytes" -v packed="$packed" -v lackey="$lackey" \
        'BEGIN { printf "| %s | %.1f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %s | %s |\n", name, steps / 1e6, native, none,
                 callgrind, recorder, recorder / callgrind, summary, instance, bytes / steps, packed, lackey }'
done
