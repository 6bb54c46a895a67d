#!/bin/bash
# end_to_end.sh [SIZE [REPETITIONS]]: what a build costs and how the cost grows, as Markdown tables on standard output.
#
# Records the decompression of a JPEG image of SIZE x SIZE pixels (256) once, 4 and 16 times over in one process, so that the trace
# grows and what the program touches does not; builds each at each detail; asks the databases for views; reads a register log of
# QEMU; lets valgrind write to a file and into a build's pipe. What is compared runs in turn, REPETITIONS times (3), and medians are
# given. Times are the processor's (user and system, all threads) unless called wall.
#
# Needs bash, cargo, gcc, libstb-dev, valgrind, GNU time; arm-linux-gnueabi-gcc and qemu-arm for QEMU's part. PARTS="growth views qemu
# pipe" says what to measure, FACTORS="1 4 16" how long the traces are, ADDFG and READ name programs already built, WORK a folder that
# keeps the recordings (at SIZE 256 up to 1.8 GB each).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
size=${1:-256}
repetitions=${2:-3}
parts=${PARTS:-growth views qemu pipe}
factors=${FACTORS:-1 4 16}
if [ -n "${WORK:-}" ]; then
    mkdir -p "$WORK"
else
    WORK=$(mktemp -d)
    trap 'rm -rf "$WORK"' EXIT
fi
cd "$WORK"
: > measured.tsv

has() {
    command -v "$1" > /dev/null || { echo "skipped: $2: $1 is not installed" >&2; return 1; }
}
wanted() {
    case " $parts " in *" $1 "*) ;; *) return 1 ;; esac
}

has gcc everything && has valgrind everything && has cargo everything || exit 2
[ -x /usr/bin/time ] || { echo "skipped: everything: /usr/bin/time (GNU time) is not installed" >&2; exit 2; }
if [ -z "${ADDFG:-}" ] || [ -z "${READ:-}" ]; then
    cargo build --release --quiet --manifest-path "$here/../Cargo.toml" --bin addfg --example read
    target=${CARGO_TARGET_DIR:-$here/../target}/release
    ADDFG=$target/addfg
    READ=$target/examples/read
fi
rustc --edition 2024 -O -o parse_only "$here/parse_only.rs"

# note NAME VALUE...: a measured row: wall and processor's seconds, MiB, or what else the name stands for.
note() {
    (IFS=$'\t'; echo "$*") >> measured.tsv
}
# measure NAME COMMAND...: runs a command; notes wall seconds, processor's seconds, peak resident MiB.
measure() {
    local name=$1
    shift
    /usr/bin/time -q -o time.txt -f '%e %U %S %M' "$@" > out.txt 2> err.txt || { cat err.txt >&2; return 1; }
    note "$name" $(awk '{ printf "%s %.2f %.1f", $1, $2 + $3, $4 / 1024 }' time.txt)
}
# median NAME COLUMN: of all rows of that name.
median() {
    awk -F '\t' -v name="$1" -v column="$2" '$1 == name { print $(column + 1) }' measured.tsv | sort -g |
        awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
# calc FORMAT EXPRESSION: a number, or - where something is missing.
calc() {
    awk "BEGIN { printf \"$1\", $2 }" 2> /dev/null || printf -- -
}
megabytes() {
    calc %.1f "$(stat -c %s "$1") / 1e6"
}
WALL=1 CPU=2 RSS=3

# jpeg and image.jpg: what record.sh of the example makes, with another image.
program() {
    [ -x jpeg ] && [ -e "image-$size.jpg" ] && return
    gcc -O2 -w -o encode "$here/../examples/jpeg/encode.c" -lm
    gcc -g -O1 -w -fno-inline -static -nostdlib -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables \
        -ffunction-sections -Wl,--gc-sections -o jpeg "$here/../examples/jpeg/decode.c"
    ./encode "image-$size.jpg" "$size"
}
lackey() {
    valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes "$@" > /dev/null 2>&1
}
record() {
    local log=jpeg-$size-$1.log
    [ -e "$log" ] || { lackey --log-file="$log.part" ./jpeg "image-$size.jpg" "$1" && mv "$log.part" "$log"; }
}

echo "Machine: $(nproc) cores, $(awk -F ': ' '/^model name/ { print $2; exit }' /proc/cpuinfo), $(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo); $(uname -sr). JPEG of $size x $size pixels; medians of $repetitions runs in turn."
program

if wanted growth || wanted views; then
    for factor in $factors; do record "$factor"; done
fi

if wanted growth; then
    for ((run = 0; run < repetitions; run++)); do
        for factor in $factors; do
            log=jpeg-$size-$factor.log
            note "P $factor" "$(./parse_only "$log")"
            for detail in summary instance pairs full; do
                # 16 times the communications inside instances is more than what most disks are for.
                [ "$detail" = full ] && [ "$factor" -gt 4 ] && continue
                measure "$detail $factor" "$ADDFG" build "$log" --elf jpeg --detail "$detail" -o "jpeg-$detail-$size-$factor.duckdb" --force
                steps=$(sed -n 's/.*: \([0-9]*\) steps.*/\1/p' err.txt)
                note "steps $factor" "$steps"
            done
        done
    done
    echo
    echo "| trace | detail | records | log MB | P s | CPU s | CPU in P | wall in P | M records/s of CPU | peak RSS MiB | database MB | bytes per log byte |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for factor in $factors; do
        log=jpeg-$size-$factor.log
        records=$(wc -l < "$log")
        p=$(median "P $factor" 1)
        for detail in summary instance pairs full; do
            database=jpeg-$detail-$size-$factor.duckdb
            cpu=$(median "$detail $factor" $CPU)
            [ -n "$cpu" ] || continue
            wall=$(median "$detail $factor" $WALL)
            echo "| ${factor}x | $detail | $records | $(megabytes "$log") | $p | $cpu | $(calc %.2f "$cpu / $p") |" \
                "$(calc %.2f "$wall / $p") | $(calc %.1f "$records / $cpu / 1e6") | $(median "$detail $factor" $RSS) |" \
                "$(megabytes "$database") | $(calc %.4f "$(stat -c %s "$database") / $(stat -c %s "$log")") |"
        done
    done
    first=${factors%% *}
    last=${factors##* }
    echo
    echo "| detail | CPU per record at ${last}x against ${first}x | peak RSS at ${last}x against ${first}x |"
    echo "|---|---|---|"
    for detail in summary instance pairs; do
        a=$(median "$detail $first" $CPU) b=$(median "$detail $last" $CPU)
        n=$(wc -l < "jpeg-$size-$first.log") m=$(wc -l < "jpeg-$size-$last.log")
        echo "| $detail | $(calc %.3f "$b / $m / ($a / $n)") |" \
            "$(calc %.3f "$(median "$detail $last" $RSS) / $(median "$detail $first" $RSS)") |"
    done
fi

if wanted views; then
    for factor in $factors; do
        database=jpeg-pairs-$size-$factor.duckdb
        [ -e "$database" ] || "$ADDFG" build "jpeg-$size-$factor.log" --elf jpeg -o "$database" --quiet
        summary=jpeg-summary-$size-$factor.duckdb
        [ -e "$summary" ] || "$ADDFG" build "jpeg-$size-$factor.log" --elf jpeg --detail summary -o "$summary" --quiet
    done
    # A view's name, and its command without the database.
    views=(
        "graph of functions|graph --format dot"
        "the same, bottom-up|graph --format dot --strategy bottom-up"
        "graph of instructions|graph --format dot --level instruction"
        "graph of lines|graph --format dot --level line"
        "graph of calls|graph --format dot --level instance"
        "graph of contexts|graph --format dot --level context"
        "call tree|calls"
        "matrix|matrix"
        "loops|loops"
        "memory profile|memory"
        "critical path|critical"
        "info|info"
    )
    for ((run = 0; run < repetitions; run++)); do
        for factor in $factors; do
            measure "graph of summary $factor" "$ADDFG" graph --format dot "jpeg-summary-$size-$factor.duckdb"
            for view in "${views[@]}"; do
                command=(${view#*|})
                measure "${view%%|*} $factor" "$ADDFG" "${command[@]}" "jpeg-pairs-$size-$factor.duckdb" || echo "failed: $view" >&2
            done
        done
    done
    echo
    echo "| view (a process of its own) |$(for f in $factors; do echo -n " CPU s at ${f}x | MiB at ${f}x |"; done)"
    echo "|---|$(for f in $factors; do echo -n "---|---|"; done)"
    for name in "graph of summary" "${views[@]%%|*}"; do
        echo "| $name |$(for f in $factors; do echo -n " $(median "$name $f" $CPU) | $(median "$name $f" $RSS) |"; done)"
    done
    echo
    for factor in $factors; do
        top=$(median "graph of functions $factor" $CPU) bottom=$(median "the same, bottom-up $factor" $CPU)
        echo "${factor}x: bottom-up takes $(calc %.1f "$bottom / $top") times the time of top-down and" \
            "$(calc %.1f "$(median "the same, bottom-up $factor" $RSS) / $(median "graph of functions $factor" $RSS)") times the memory."
    done
fi

if wanted qemu && has arm-linux-gnueabi-gcc "the register log" && has qemu-arm "the register log"; then
    # The decoder with a C library, because that of the example calls x86's kernel.
    cat > arm.c << 'END'
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
    [ -x arm ] || arm-linux-gnueabi-gcc -g -O1 -w -fno-inline -static -idirafter /usr/include -o arm arm.c -lm
    ./encode image-128.jpg 128
    [ -e arm.log ] || { qemu-arm -singlestep -d nochain,cpu,in_asm -D arm.log.part ./arm image-128.jpg && mv arm.log.part arm.log; }
    for ((run = 0; run < repetitions; run++)); do
        measure "wc" wc -l arm.log
        measure "read" "$READ" arm.log
        for detail in summary instance pairs; do
            measure "qemu $detail" "$ADDFG" build arm.log --elf arm --detail "$detail" -o arm.duckdb --force
            steps=$(sed -n 's/.*: \([0-9]*\) steps.*/\1/p' err.txt)
        done
    done
    bytes=$(stat -c %s arm.log)
    wc=$(median wc $CPU)
    echo
    echo "QEMU's register log: $steps steps, $(megabytes arm.log) MB, $(calc %.0f "$bytes / $steps") bytes a step."
    echo
    echo "| | CPU s | wall s | MB/s of CPU | MB/s of wall | wall against wc -l | peak RSS MiB |"
    echo "|---|---|---|---|---|---|---|"
    for name in wc read "qemu summary" "qemu instance" "qemu pairs"; do
        cpu=$(median "$name" $CPU) wall=$(median "$name" $WALL)
        echo "| $name | $cpu | $wall | $(calc %.0f "$bytes / $cpu / 1e6") | $(calc %.0f "$bytes / $wall / 1e6") |" \
            "$(calc %.1f "$wall / $(median wc $WALL)") | $(median "$name" $RSS) |"
    done
fi

if wanted pipe; then
    rm -f pipe && mkfifo pipe
    for ((run = 0; run < repetitions; run++)); do
        for detail in summary pairs; do
            measure "to file" valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file=file.log ./jpeg "image-$size.jpg"
            "$ADDFG" build - --elf jpeg --detail "$detail" -o pipe.duckdb --force --quiet < pipe &
            measure "to $detail" valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file=pipe ./jpeg "image-$size.jpg"
            wait $!
        done
        measure "to cat" bash -c "cat pipe > /dev/null & exec valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file=pipe ./jpeg image-$size.jpg"
    done
    echo
    echo "| valgrind writes its log | wall s | CPU s of valgrind | wall against a file |"
    echo "|---|---|---|---|"
    for name in "to file" "to cat" "to summary" "to pairs"; do
        wall=$(median "$name" $WALL)
        echo "| $name | $wall | $(median "$name" $CPU) | $(calc %.3f "$wall / $(median "to file" $WALL)") |"
    done
fi
