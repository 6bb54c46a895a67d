#!/bin/bash
# sums.sh FIRST LAST [PROGRAM ACTIONS]: holds the recorder's sums of random programs (tests/programs/wild.py, these seeds, words and few
# numbers in turn) against what the pass makes of the recording of the same run. With PROGRAM, as in aliases, it is that one of
# tests/programs, which gets the seed and how many actions. Prints what differs, and how many were compared; ends with 1 where some differ.
#
# Needs gcc, python3, valgrind. ADDFG names a program already built.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
ADDFG=$(realpath "${ADDFG:-$here/target/release/addfg}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
words=("" "threads" "signals jumps" "memory" "wide" "wide threads" "wide memory signals" "threads signals jumps memory marks" "wide crowd threads" "stubs tight fed")
[ $# -lt 4 ] || gcc -g -O1 -w -o given "$here/tests/programs/$3.c" || exit 2
exact=0 inexact=0 differ=0 late=0
for seed in $(seq "$1" "$2"); do
    more="" numbers=""
    if [ $# -ge 4 ]; then run=(./given "$seed" "$4"); else
        run=(./wild) more=${words[$((seed % ${#words[@]}))]}
        # shellcheck disable=SC2086 # Words are several.
        python3 "$here/tests/programs/wild.py" "$seed" $((12 + seed % 3 * 12)) $more > wild.s
        gcc -nostdlib -static -no-pie -I "$here/recorders/stream" -o wild wild.s || exit 2
        [ $((seed % 4)) = 0 ] && numbers=--sums-numbers=$((24 + seed * 7 % 40))
    fi
    # What the program itself prints is not to be read.
    VALGRIND_OPTS=$numbers timeout 60 "$ADDFG" record -q --detail summary --force -o run.duckdb --sums sums --check-sums -- "${run[@]}" > /dev/null 2> said
    code=$?
    if grep -aq "not exact" said; then inexact=$((inexact + 1)); continue; fi
    if [ $code = 124 ]; then late=$((late + 1)); continue; fi
    exact=$((exact + 1))
    if ! grep -aq " 0 differ;" said || grep -a "differ;" said | grep -aqv " 0 differ;"; then
        differ=$((differ + 1))
        echo "seed $seed ($more) $numbers:"
        grep -a "differ;" said | grep -av " 0 differ;" || tail -n 3 said
    fi
done
echo "$exact compared, $differ differ; $inexact said to be inexact, $late too long"
[ "$differ" = 0 ]
