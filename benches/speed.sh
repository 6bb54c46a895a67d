#!/bin/bash
# speed.sh [PART...]: the tables of docs/speed.md, one script after the other, as Markdown on standard output; hours for all. Parts: stages growth
# zoo recorder memory views traffic extremes simulators.
#
# Needs what the scripts need, and cargo. ADDFG names a program already built, WORK a folder for recordings and databases (20 GB).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ADDFG=${ADDFG:-$here/../target/release/addfg}
export ADDFG
[ -x "$ADDFG" ] || { echo "speed.sh: build addfg first, or name it with ADDFG" >&2; exit 2; }
work=${WORK:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT

stages() { (cd "$here/.." && cargo bench); }
growth() { "$here/end_to_end.sh" 128; }
zoo() { "$here/zoo.sh"; }
recorder() { DETAILS="summary instance pairs" "$here/recorder.sh"; }
memory() {
    TIMES="3 30 300" "$here/recorder_memory.sh" summary
    "$here/recorder_memory.sh" instance
    LOOPS=20000 "$here/recorder_memory.sh" pairs
}
# JPEG and CPython over 10^8 and 10^9 steps.
views() {
    local jpeg="$here/../examples/jpeg" python
    cd "$work"
    gcc -O2 -w -o encode "$jpeg/encode.c" -lm
    ./encode image.jpg 512
    gcc -g -O1 -w -static -nostdlib -fno-stack-protector -fno-asynchronous-unwind-tables -ffunction-sections -Wl,--gc-sections \
        -o decode "$jpeg/decode.c"
    for times in 3 30; do "$ADDFG" record --force --quiet --detail instance -o "JPEG-$times.duckdb" -- ./decode image.jpg $times > out.txt; done
    "$here/views.sh" JPEG-3.duckdb JPEG-30.duckdb
    rm -f JPEG-*.duckdb
    command -v python3 > /dev/null || return 0
    python=$(python3 -c "import sys; print(sys.executable)")
    cat > script.py <<'PY'
import sys
words = {}
for i in range(int(sys.argv[1])):
    word = "w%d" % (i * 7919 % 5003)
    words[word] = words.get(word, 0) + i
print(sum(v for v in words.values() if v % 3))
PY
    for loops in 20000 200000; do
        "$ADDFG" record --force --quiet --detail instance -o "CPython-$loops.duckdb" -- "$python" -S script.py $loops > out.txt
    done
    "$here/views.sh" CPython-20000.duckdb CPython-200000.duckdb
    rm -f CPython-*.duckdb
}
traffic() { "$here/traffic.sh"; }
extremes() { "$here/extremes.sh"; }
simulators() { "$here/simulators.sh"; }

[ $# -gt 0 ] || set -- stages growth zoo recorder memory views traffic extremes simulators
for part in "$@"; do
    case $part in stages | growth | zoo | recorder | memory | views | traffic | extremes | simulators) ;; *) echo "speed.sh: no part $part" >&2; exit 2 ;; esac
    echo "## $part"
    ("$part")
    echo
done
