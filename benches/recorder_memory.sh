#!/bin/bash
# recorder_memory.sh [DETAIL]: peak memory of `addfg record` and of the recorded program's valgrind over runs of 10^8 and 10^9 steps (TIMES="3 30",
# decodes of one JPEG image; 300 is 10^10), as a Markdown table on standard output. DETAIL is summary unless said.
#
# Needs bash, gcc, libstb-dev, valgrind, pkg-config. ADDFG names a program already built, WORK a folder for the databases.
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
echo "| decodes | steps, M | wall s | addfg MiB | valgrind MiB | database MiB |"
echo "|---|---|---|---|---|---|"
for times in ${TIMES:-3 30}; do
    from=$EPOCHREALTIME
    "$ADDFG" record --force --quiet --detail "$detail" -o m.duckdb -- ./decode image.jpg "$times" > /dev/null &
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
    awk -v t="$times" -v n="$steps" -v a="$from" -v b="$EPOCHREALTIME" -v o="$ours" -v v="$theirs" -v d="$(stat -c %s m.duckdb)" \
        'BEGIN { printf "| %d | %.0f | %.1f | %d | %d | %.1f |\n", t, n / 1e6, b - a, o, v, d / 1048576 }'
done
