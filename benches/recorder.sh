#!/bin/bash
# recorder.sh [REPETITIONS]: what recording and building cost beside callgrind and lackey, as Markdown tables on standard output.
#
# Wall seconds of whole processes, medians of REPETITIONS (3) that run in turn: the program alone, under valgrind without a tool, under
# callgrind (no cache simulation), under addfg's recorder into a file, and `addfg record` with its build at each of DETAILS (summary and
# instance), with how many times callgrind's that is. Bytes a step of the stream, and of it behind zstd -1. lackey runs once, and only
# with LACKEY=1: it takes minutes. The second table: `addfg build` of the recorded stream on one processor and on all, CPU and wall.
#
# Needs bash, gcc, libstb-dev, valgrind, pkg-config; zstd for its column; bzip2, python3, lua5.4, sqlite3 each for its row. ADDFG names a program
# already built, WORK a folder for the recordings, PROGRAMS a pattern of those to run, BYTES the size of what
# bzip2 compresses, DECODES how often JPEG decodes its image; BUILDS=no leaves the second table out.
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
bytes=${BYTES:-400000}
decodes=${DECODES:-30}
head -c $((bytes * 3 / 4)) /dev/urandom | base64 > text
cat > script.py <<'PY'
words = {}
for i in range(20000):
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
    programs=("JPEG, 512 x 512, $decodes times|./decode image.jpg $decodes")
else
    programs=()
fi
tool bzip2 bzip2 && programs+=("bzip2 of $((bytes / 1000)) kB|bzip2 -kfc text")
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
gcc -O1 -g -w -o many "$here/../tests/programs/many.c" && programs+=("3,000 functions|./many 1000000")

valgrind="valgrind -q --vex-guest-chase=no"
read -ra details <<< "${DETAILS:-summary instance}"
programs_asked=()
for program in "${programs[@]}"; do
    [[ ${program%%|*} =~ ${PROGRAMS:-.} ]] && programs_asked+=("$program")
done

echo "| program | steps, M | native | none | callgrind | recorder | of callgrind |$(printf ' + %s | of callgrind |' "${details[@]}") B/step | zstd | lackey |"
echo "|---|---|---|---|---|---|---|$(printf -- '---|---|%.0s' "${details[@]}")---|---|---|"
for program in "${programs_asked[@]}"; do
    name=${program%%|*}
    command=${program#*|}
    rm -f times.*
    for _ in $(seq "$repetitions"); do
        # shellcheck disable=SC2086
        {
            seconds $command >> times.native
            seconds $valgrind --tool=none $command >> times.none
            seconds $valgrind --tool=callgrind --callgrind-out-file=callgrind.out $command >> times.callgrind
            VALGRIND_LIB="$work/recorder" seconds $valgrind --tool=addfg --stream="${name%% *}.stream" $command >> times.recorder
            for detail in "${details[@]}"; do
                seconds "$ADDFG" record --force --detail "$detail" -o run.duckdb -- $command >> "times.$detail"
            done
        }
    done
    steps=$("$ADDFG" sql run.duckdb --format csv "SELECT value FROM meta WHERE key = 'steps'" | tail -1)
    rm -f run.duckdb
    stream=${name%% *}.stream
    packed=-
    if tool zstd zstd; then packed=$(zstd -1 -q -c "$stream" | wc -c | awk -v n="$steps" '{ printf "%.2f", $1 / n }'); fi
    lackey=-
    # shellcheck disable=SC2086
    if [ -n "${LACKEY:-}" ]; then
        lackey=$(seconds $valgrind --tool=lackey --trace-mem=yes --log-file=/dev/null $command | awk '{ printf "%.1f", $1 }')
    fi
    callgrind=$(median < times.callgrind)
    of() { median < "times.$1" | awk -v c="$callgrind" '{ printf " %.2f | %.2f |", $1, $1 / c }'; }
    printf '| %s | %.1f |' "$name" "$(awk -v n="$steps" 'BEGIN { print n / 1e6 }')"
    printf ' %.2f |' "$(median < times.native)" "$(median < times.none)" "$callgrind"
    for what in recorder "${details[@]}"; do of "$what"; done
    awk -v b="$(stat -c %s "$stream")" -v n="$steps" -v z="$packed" -v l="$lackey" 'BEGIN { printf " %.2f | %s | %s |\n", b / n, z, l }'
done

[ "${BUILDS:-yes}" = no ] && exit 0
# wall and CPU seconds of a command
both() { { TIMEFORMAT='%R %U %S'; time "$@" > out.txt 2> err.txt; } 2>&1 | awk '{ printf " %.2f | %.2f |", $1, $2 + $3 }'; }
echo
echo "| program | detail | one processor: wall | CPU | all: wall | CPU |"
echo "|---|---|---|---|---|---|"
for program in "${programs_asked[@]}"; do
    name=${program%%|*}
    for detail in "${details[@]}"; do
        build=("$ADDFG" build "${name%% *}.stream" --force --detail "$detail" -o run.duckdb)
        echo "| $name | $detail |$(both taskset -c 0 "${build[@]}")$(both "${build[@]}")"
        rm -f run.duckdb
    done
done
