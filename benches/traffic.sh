#!/bin/bash
# traffic.sh: what a build at `summary` moves between the caches and memory, and what that alone would take, as a Markdown table on standard output.
#
# Cachegrind runs `addfg build` of short recordings with a last cache of LL (32 MiB, 16 ways): its misses, 64 bytes each, by access of the recorded
# program to memory, which lackey counts. A loop in C measures what this machine reads of memory, in order and each address from the one before.
# "Limit" is the larger of both figures' shares for all accesses: no pass with these tables is faster.
#
# Needs bash, gcc, valgrind, pkg-config, libstb-dev; bzip2 and python3 each for its row. Minutes: cachegrind is slow. ADDFG names a program already
# built. LL is in bytes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ADDFG=${ADDFG:-$here/../target/release/addfg}
[ -x "$ADDFG" ] || { echo "traffic.sh: build addfg first, or name it with ADDFG" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$here/../recorders/valgrind/build.sh" "$work/recorder" > "$work/build.txt" 2>&1 || { cat "$work/build.txt" >&2; exit 2; }
cd "$work"

cat > memory.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
int main(void)
{
    uint64_t n = 1u << 25, sum = 0, at = 0;
    uint64_t *next = malloc(n * 8);
    for (uint64_t i = 0; i < n; i++) next[i] = i;
    // One cycle through all (Sattolo).
    for (uint64_t i = n - 1; i > 0; i--) {
        uint64_t j = ((uint64_t)rand() << 31 ^ rand()) % i, t = next[i];
        next[i] = next[j]; next[j] = t;
    }
    double best = 1e9, from;
    for (int k = 0; k < 5; k++) {
        from = now();
        for (uint64_t i = 0; i < n; i++) sum += next[i];
        if (now() - from < best) best = now() - from;
    }
    from = now();
    for (int k = 0; k < 5000000; k++) at = next[at];
    printf("%.2f %.1f %llu\n", n * 8 / best / 1e9, (now() - from) / 5e6 * 1e9, (unsigned long long)((sum ^ at) & 1));
}
C
gcc -O2 -o memory memory.c
read -r bandwidth latency _ < <(./memory)

head -c 40000 /dev/urandom | base64 > text
echo 'print(sum(hash("w%d" % (i % 77)) & 1 for i in range(3000)))' > script.py
jpeg="$here/../examples/jpeg"
programs=()
if gcc -O2 -w -o encode "$jpeg/encode.c" -lm && ./encode image.jpg 256 &&
    gcc -g -O1 -w -static -nostdlib -fno-stack-protector -fno-asynchronous-unwind-tables -ffunction-sections -Wl,--gc-sections \
        -o decode "$jpeg/decode.c"; then
    programs+=("JPEG, 256 x 256|./decode image.jpg 1")
fi
if command -v bzip2 > /dev/null; then programs+=("bzip2 of 54 kB|bzip2 -kfc text"); fi
if command -v python3 > /dev/null; then
    programs+=("CPython|$(python3 -c "import sys; print(sys.executable)") -S script.py")
fi

echo "Memory of this machine: $bandwidth GB/s in order, $latency ns for an address that the one before tells."
echo
echo "| program | steps, M | accesses to memory, M | misses, M | bytes an access | limit: in order, s | one by one, s | build: wall s |"
echo "|---|---|---|---|---|---|---|---|"
for program in "${programs[@]}"; do
    name=${program%%|*}
    command=${program#*|}
    # shellcheck disable=SC2086
    VALGRIND_LIB="$work/recorder" valgrind -q --vex-guest-chase=no --tool=addfg --stream=app.stream $command > out.txt 2> err.txt < /dev/null
    # shellcheck disable=SC2086
    valgrind --tool=lackey --basic-counts=no --detailed-counts=yes $command > out.txt 2> lackey.txt < /dev/null
    accesses=$(awk '$2 == "I8" || $2 == "I16" || $2 == "I32" || $2 == "I64" || $2 == "F32" || $2 == "F64" || $2 == "F128" || $2 == "V128" || $2 == "V256" {
        gsub(",", ""); n += $3 + $4 } END { print n }' lackey.txt)
    from=$EPOCHREALTIME
    "$ADDFG" build app.stream --detail summary --force --quiet -o app.duckdb
    wall=$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
    steps=$("$ADDFG" sql app.duckdb --format csv "SELECT value FROM meta WHERE key = 'steps'" | tail -1)
    valgrind --tool=cachegrind --cache-sim=yes --LL="${LL:-33554432},16,64" --cachegrind-out-file=cache.out \
        "$ADDFG" build app.stream --detail summary --force --quiet -o app.duckdb 2> cache.txt
    misses=$(awk '/LLd misses/ { gsub(",", ""); print $4 }' cache.txt)
    awk -v name="$name" -v n="$steps" -v a="$accesses" -v m="$misses" -v g="$bandwidth" -v l="$latency" -v w="$wall" 'BEGIN {
        printf "| %s | %.1f | %.1f | %.2f | %.1f | %.2f | %.2f | %.2f |\n", name, n / 1e6, a / 1e6, m / 1e6, m * 64 / a, m * 64 / g / 1e9, m * l / 1e9, w }'
done
