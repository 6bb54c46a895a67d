#!/bin/sh
# Makes a lake of runs of grow.c: inputs of ten sizes, two versions of the program, five runs of each. The lake is named by the first word.
# usage: make.sh LAKE [REPEATS]      ADDFG=... is the addfg to use, SIZES=... the sizes, COLLECT=--with-steps keeps the runs themselves
set -eu
here=$(dirname "$0")
lake=${1:?usage: make.sh LAKE [REPEATS]}
repeats=${2:-5}
addfg=${ADDFG:-addfg}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sizes=${SIZES:-"16 24 32 48 64 96 128 192 256 384"}
for version in 1 2; do
    gcc -g -O2 -DVERSION=$version -o "$scratch/grow-$version" "$here/grow.c"
    for size in $sizes; do
        # The planted edge: one input takes another way.
        input=$size
        [ "$size" = 128 ] && input="!$size"
        repeat=1
        while [ "$repeat" -le "$repeats" ]; do
            db=$scratch/grow.duckdb
            rm -f "$db"
            "$addfg" record --quiet --detail summary -o "$db" -- "$scratch/grow-$version" "$input" >/dev/null
            # shellcheck disable=SC2086
            "$addfg" collect --quiet ${COLLECT:-} --program grow "$db" -o "$lake" --label "size=$size,input=$input,version=$version,repeat=$repeat"
            repeat=$((repeat + 1))
        done
    done
done
