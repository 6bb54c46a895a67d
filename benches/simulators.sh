#!/bin/bash
# simulators.sh [SIZE [REPETITIONS]]: lines per second of simulators' logs, as a Markdown table on standard output.
#
# Compiles a JPEG decoder with a C library for RISC-V and AArch64, runs it in QEMU on an image of SIZE x SIZE pixels (16), writes the
# run as each simulator would (tests/formats/simulators.py), and repeats the log until it has LOG_LINES lines (5000000). Compared in turn,
# REPETITIONS times (3), medians: wc -l, a count of words by mawk, xz -dc of the log, the reader alone in one thread, a build
# at detail summary. CPU is of all threads; wall depends on what else runs.
#
# Needs bash, cargo, gcc, libstb-dev, python3, mawk, xz, GNU time, cross compilers and QEMU. FORMATS says which, ADDFG and READ name
# programs already built, WORK a folder that keeps the logs (5 GB). XZ=no leaves xz out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
size=${1:-16}
repetitions=${2:-3}
lines=${LOG_LINES:-5000000}
formats=${FORMATS:-spike commits tarmac gem5 sail renode dynamorio}
if [ -n "${WORK:-}" ]; then
    mkdir -p "$WORK"
else
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
fi
cd "$WORK"
: > measured.tsv
for tool in gcc python3 mawk xz /usr/bin/time; do
    command -v "$tool" > /dev/null || { echo "skipped: everything: $tool is not installed" >&2; exit 2; }
done
if [ -z "${ADDFG:-}" ] || [ -z "${READ:-}" ]; then
    cargo build --release --quiet --manifest-path "$here/../Cargo.toml" --bin addfg --example read
    target=${CARGO_TARGET_DIR:-$here/../target}/release
    ADDFG=$target/addfg
    READ=$target/examples/read
fi

# measure NAME COMMAND...: notes wall and processor's seconds, all threads.
measure() {
    local name=$1
    shift
    /usr/bin/time -q -o time.txt -f '%e %U %S' "$@" > out.txt 2> err.txt || [ $? = 1 ] || { cat err.txt >&2; return 1; }
    echo "$name"$'\t'"$(awk '{ printf "%s\t%.2f", $1, $2 + $3 }' time.txt)" >> measured.tsv
}
# median NAME COLUMN
median() {
    awk -F '\t' -v name="$1" -v column="$2" '$1 == name { print $(column + 1) }' measured.tsv | sort -g |
        awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2; else print "-" }'
}
per_second() {
    awk "BEGIN { if ($2 > 0) printf \"%.1f\", $1 / $2 / 1e6; else printf \"-\" }"
}

# qemu PROCESSOR COMPILER EMULATOR...: the program and QEMU's log of it.
qemu() {
    local processor=$1 compiler=$2
    shift 2
    [ -e "$processor.log" ] && return
    command -v "$compiler" > /dev/null && command -v "$1" > /dev/null || { echo "skipped: $processor: $compiler or $1 is not installed" >&2; return 1; }
    cat > decode.c << 'END'
#define STBI_ONLY_JPEG
#define STBI_NO_SIMD
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
int main(int argc, char **argv)
{
    int width, height, channels;
    return argc < 2 || !stbi_load(argv[1], &width, &height, &channels, 3);
}
END
    [ -x encode ] || gcc -O2 -w -o encode "$here/../examples/jpeg/encode.c" -lm
    ./encode image.jpg "$size"
    "$compiler" -g -O1 -w -fno-inline -static -idirafter /usr/include -o "$processor" decode.c -lm
    local one=-singlestep
    "$1" -h | grep -q one-insn-per-tb && one=-one-insn-per-tb
    # Without `dc zva`, of which no line tells.
    GLIBC_TUNABLES=glibc.cpu.name=emag "$@" $one -d nochain,cpu,fpu,in_asm -D "$processor.part" "./$processor" image.jpg
    mv "$processor.part" "$processor.log"
}
processor() {
    [ "$1" = tarmac ] && echo aarch64 || echo riscv64
}
# once FORMAT: one run as the simulator's log.
once() {
    [ -e "once.$1" ] && return
    case $1 in
    tarmac)
        qemu aarch64 aarch64-linux-gnu-gcc qemu-aarch64 -cpu cortex-a72 || return 1
        python3 "$here/../tests/formats/simulators.py" tarmac aarch64.log part.tarmac
        mv part.tarmac once.tarmac
        ;;
    commits)
        once spike && grep '^core *0: 0 0x' once.spike > once.commits
        ;;
    *)
        qemu riscv64 riscv64-linux-gnu-gcc qemu-riscv64 || return 1
        python3 "$here/../tests/formats/simulators.py" spike,gem5,sail,renode,dynamorio riscv64.log part
        for name in spike gem5 sail renode dynamorio; do mv "part.$name" "once.$name"; done
        ;;
    esac
}
# log FORMAT: a log of so many lines.
log() {
    [ -e "$1.txt" ] && return
    once "$1" || return 1
    local times=$((lines / $(wc -l < "once.$1") + 1))
    for ((i = 0; i < times; i++)); do cat "once.$1"; done > "$1.part"
    mv "$1.part" "$1.txt"
    [ "${XZ:-yes}" = no ] || xz -1 -k -f "$1.txt"
}

echo "Machine: $(nproc) cores, $(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo); $(uname -sr). JPEG of $size x $size pixels; medians of $repetitions runs in turn."
echo
echo "| log | M lines | MB | steps a line | wc -l: CPU s | mawk: CPU s | xz -dc: CPU s | reader: CPU s | M lines/s | build: CPU s | wall s | M lines/s of wall | database MB | of the log |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
for format in $formats; do
    log "$format" || continue
    elf=$(processor "$format")
    layout=()
    case $format in sail | renode | dynamorio) layout=(--layout "$format") ;; esac
    for ((run = 0; run < repetitions; run++)); do
        measure "$format wc" wc -l "$format.txt"
        measure "$format mawk" mawk '{ n += NF } END { print n }' "$format.txt"
        [ "${XZ:-yes}" = no ] || measure "$format xz" xz -dc "$format.txt.xz"
        measure "$format read" "$READ" "$format.txt" "$elf" "${layout[@]:1}"
        steps=$(sed -n 's/.*: \([0-9]*\) steps.*/\1/p' out.txt)
        measure "$format build" "$ADDFG" build "$format.txt" --elf "$elf" --detail summary -o "$format.duckdb" --force "${layout[@]}"
    done
    n=$(wc -l < "$format.txt") bytes=$(stat -c %s "$format.txt") database=$(stat -c %s "$format.duckdb")
    read=$(median "$format read" 2)
    wall=$(median "$format build" 1)
    echo "| $format | $(per_second "$n" 1) | $(per_second "$bytes" 1) | $(awk "BEGIN { printf \"%.2f\", $steps / $n }") |" \
        "$(median "$format wc" 2) | $(median "$format mawk" 2) | $(median "$format xz" 2) | $read | $(per_second "$n" "$read") |" \
        "$(median "$format build" 2) | $wall | $(per_second "$n" "$wall") | $(per_second "$database" 1) |" \
        "$(awk "BEGIN { printf \"%.4f\", $database / $bytes }") |"
done
