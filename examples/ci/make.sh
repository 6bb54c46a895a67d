#!/bin/sh
# Makes a lake of 42 runs of blend.cc: 3 versions, 6 sizes, 2 compilers, and one odd input of each version and compiler.
# usage: make.sh LAKE              the 42 runs
#        make.sh LAKE unchanged    20 repeats of version 1, 10 of them labelled version=1, 10 version=1b
# ADDFG=... is the addfg to use, CLANG=... the second compiler, SIZES=... the sizes
set -eu
here=$(dirname "$0")
lake=${1:?usage: make.sh LAKE [unchanged]}
addfg=${ADDFG:-addfg}
clang=${CLANG:-clang++}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sizes=${SIZES:-"256 512 1024 2048 4096 8192"}

# run BINARY INPUT LABELS
run() {
    db=$scratch/blend.duckdb
    rm -f "$db"
    "$addfg" record --quiet --detail summary -o "$db" -- "$1" "$2" >/dev/null
    "$addfg" collect --quiet --program blend "$db" -o "$lake" --label "$3"
}

if [ "${2:-}" = unchanged ]; then
    g++ -g -O1 -DVERSION=1 -o "$scratch/blend" "$here/blend.cc"
    for version in 1 1b; do
        for repeat in 1 2 3 4 5 6 7 8 9 10; do
            run "$scratch/blend" 1024 "version=$version,compiler=gcc,size=1024,input=plain,repeat=$version-$repeat"
        done
    done
    exit
fi
for version in 1 2 3; do
    for compiler in gcc clang; do
        [ "$compiler" = gcc ] && cxx=g++ || cxx=$clang
        program=$scratch/blend-$version-$compiler
        "$cxx" -g -O1 -DVERSION=$version -o "$program" "$here/blend.cc"
        for size in $sizes; do
            run "$program" "$size" "version=$version,compiler=$compiler,size=$size,input=plain"
        done
        run "$program" "!1024" "version=$version,compiler=$compiler,size=1024,input=odd"
    done
done
