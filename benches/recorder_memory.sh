#!/bin/bash
# recorder_memory.sh [DETAIL]: peak memory of `addfg record` and of the recorded program's valgrind over runs of 10^8 and 10^9 steps, as a Markdown table
# on standard output. DETAIL is summary unless said.
#
# JPEG decodes one image TIMES times ("3 30"; 300 is 10^10 steps), CPython runs a script of LOOPS rounds ("20000 200000"; 2300000 is 10^10). A shell
# starts PROCESSES ("60") processes one after the other, which `--no-steps --follow` sums; an empty list leaves it out. Needs bash, gcc, libstb-dev, valgrind, pkg-config; python3 for its rows. ADDFG names a program already built, WORK a folder
# for the databases, which are removed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
detail=${1:-summary}
ADDFG=${ADDFG:-$here/../target/release/addfg}
[ -x "$ADDFG" ] || { echo "recorder_memory.sh: build addfg first, or name it with ADDFG" >&2; exit 2; }
work=${WORK:-$(mktemp -d)}
mkdir -p "$work"
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT
jpeg="$here/../examples/jpeg"
cd "$work"
gcc -O2 -w -o encode "$jpeg/encode.c" -lm
./encode image.jpg 512
gcc -g -O1 -w -static -nostdlib -fno-stack-protector -fno-asynchronous-unwind-tables -ffunction-sections -Wl,--gc-sections \
    -o decode "$jpeg/decode.c"

# Highest resident MiB of a process, as far as it was seen alive.
peak() { awk '/VmHWM/ { printf "%d", $2 / 1024 }' "/proc/$1/status" 2> /dev/null || true; }
cat > script.py <<'PY'
import sys
words = {}
for i in range(int(sys.argv[1])):
    word = "w%d" % (i * 7919 % 5003)
    words[word] = words.get(word, 0) + i
print(sum(v for v in words.values() if v % 3))
PY
runs=()
for times in ${TIMES-3 30}; do runs+=("JPEG, $times times|./decode image.jpg $times"); done
if command -v python3 > /dev/null; then
    # Not what stands before it in the path and starts it.
    python=$(python3 -c "import sys; print(sys.executable)")
    for loops in ${LOOPS-20000 200000}; do runs+=("CPython, $loops rounds|$python -S script.py $loops"); done
fi
for processes in ${PROCESSES-60}; do runs+=("shell, $processes processes, \`--no-steps --follow\`|sh processes.sh $processes"); done
cat > processes.sh <<'SH'
i=0
while [ $i -lt "$1" ]; do /bin/true; i=$((i + 1)); done
SH
echo "| program | steps, M | wall s | addfg MiB | valgrind MiB | database MiB |"
echo "|---|---|---|---|---|---|"
for run in "${runs[@]}"; do
    read -ra command <<< "${run#*|}"
    from=$EPOCHREALTIME
    options=(--detail "$detail")
    [ "${command[0]}" != sh ] || options=(--no-steps --follow)
    "$ADDFG" record --force --quiet "${options[@]}" -o m.duckdb -- "${command[@]}" > /dev/null &
    addfg=$! ours=0 theirs=0
    while kill -0 "$addfg" 2> /dev/null; do
        for process in $(cat "/proc/$addfg/task/"*/children 2> /dev/null || true); do
            now=$(peak "$process")
            [ "${now:-0}" -le "$theirs" ] || theirs=$now
        done
        now=$(peak "$addfg")
        [ "${now:-0}" -le "$ours" ] || ours=$now
        sleep 0.05
    done
    wait "$addfg" || true
    steps=$("$ADDFG" sql m.duckdb --format csv "SELECT value FROM meta WHERE key = 'steps'" | tail -1)
    awk -v t="${run%%|*}" -v n="$steps" -v a="$from" -v b="$EPOCHREALTIME" -v o="$ours" -v v="$theirs" -v d="$(stat -c %s m.duckdb)" \
        'BEGIN { printf "| %s | %.0f | %.1f | %d | %d | %.1f |\n", t, n / 1e6, b - a, o, v, d / 1048576 }'
    rm -f m.duckdb
done
