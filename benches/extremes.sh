#!/bin/bash
# extremes.sh: many calls, calls nested deep, and QEMU by its text log and by the plugin, as Markdown tables on standard output.
#
# TREE (36; 20 takes a second) is the n of tree(n), whose calls grow as Fibonacci's numbers; it builds at `instance` within LIMIT MiB (1024). NESTED
# (10000000) calls are nested in a thread with a stack of 1 GiB, at `summary`. SIZE (320) is that of the image that is decoded for ARM.
#
# Needs bash, gcc, valgrind, pkg-config, GNU time; libstb-dev, arm-linux-gnueabi-gcc and qemu-arm for the second table. ADDFG names a program already
# built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ADDFG=${ADDFG:-$here/../target/release/addfg}
[ -x "$ADDFG" ] || { echo "extremes.sh: build addfg first, or name it with ADDFG" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat > tree.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static unsigned table[64];
__attribute__((noinline)) unsigned leaf(unsigned n) { return table[n & 63] += n; }
__attribute__((noinline)) unsigned tree(unsigned n) { return n < 2 ? leaf(n) : tree(n - 1) + tree(n - 2); }
int main(int arguments, char **argument) { printf("%u\n", tree(atoi(argument[1]))); }
C
cat > nested.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int depth;
__attribute__((noinline)) static long down(long n) { return n ? down(n - 1) * 3 + n : 1; }
static void *run(void *x) { printf("%ld\n", down(depth)); return x; }
int main(int arguments, char **argument)
{
    pthread_attr_t attributes;
    pthread_t thread;
    depth = atoi(argument[1]);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1ul << 30);
    return pthread_create(&thread, &attributes, run, 0) || pthread_join(thread, 0);
}
C
gcc -O1 -g -fno-optimize-sibling-calls -o tree tree.c
gcc -O1 -g -pthread -o nested nested.c

# measure NAME DETAIL OPTIONS... -- COMMAND: a row of a recording with its build.
measure() {
    local name=$1 detail=$2
    shift 2
    command time -f "%e %U %M" -o time.txt "$ADDFG" record --force --quiet --detail "$detail" -o x.duckdb "$@" > out.txt
    local sql="SELECT (SELECT value FROM meta WHERE key = 'steps'), (SELECT sum(calls) FROM function_profile)"
    "$ADDFG" sql x.duckdb --format csv "$sql" | tail -1 | tr ',' ' ' | cat - time.txt | tr '\n' ' ' |
        awk -v name="$name" -v detail="$detail" -v size="$(stat -c %s x.duckdb)" \
            '{ printf "| %s | %s | %.1f | %.1f | %.1f | %.1f | %d | %.0f |\n", name, detail, $1 / 1e6, $2 / 1e6, $3, $4, $5 / 1024, size / 1048576 }'
}
echo "| run | detail | steps, M | calls, M | wall s | CPU s | MiB | database MiB |"
echo "|---|---|---|---|---|---|---|---|"
measure "tree(${TREE:-36})" instance --memory-limit "${LIMIT:-1024}" -- ./tree "${TREE:-36}"
measure "${NESTED:-10000000} nested" summary -- ./nested "${NESTED:-10000000}"

for tool in arm-linux-gnueabi-gcc qemu-arm; do
    command -v $tool > /dev/null || { echo "skipped: QEMU: $tool is not installed" >&2; exit 0; }
done
cat > arm.c <<'C'
#define STBI_ONLY_JPEG
#define STBI_NO_SIMD
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
int main(int argc, char **argv)
{
    int width, height, channels;
    return argc < 2 || !stbi_load(argv[1], &width, &height, &channels, 3);
}
C
arm-linux-gnueabi-gcc -g -O1 -w -fno-inline -static -idirafter /usr/include -o arm arm.c -lm
gcc -O2 -w -o encode "$here/../examples/jpeg/encode.c" -lm
./encode image.jpg "${SIZE:-320}"
single=-singlestep
qemu-arm -h | grep -q one-insn-per-tb && single=-one-insn-per-tb
from=$EPOCHREALTIME
qemu-arm $single -d nochain,cpu,in_asm -D arm.log ./arm image.jpg
"$ADDFG" build --quiet --force --detail summary -o t.duckdb arm.log --elf arm
log=$EPOCHREALTIME
"$ADDFG" record --quiet --force --detail summary -o p.duckdb --qemu qemu-arm -- ./arm image.jpg
plugin=$EPOCHREALTIME
steps=$("$ADDFG" sql p.duckdb --format csv "SELECT value FROM meta WHERE key = 'steps'" | tail -1)
echo
echo "| from run to summary | steps, M | text log s | plugin s | times |"
echo "|---|---|---|---|---|"
awk -v n="$steps" -v a="$from" -v b="$log" -v c="$plugin" \
    'BEGIN { printf "| JPEG for ARM | %.1f | %.1f | %.1f | %.0f |\n", n / 1e6, b - a, c - b, (b - a) / (c - b) }'
