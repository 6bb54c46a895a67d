#!/bin/sh
# Compiles fir.c and records it with valgrind's lackey: fir and fir.log in this folder.
set -eu
cd "$(dirname "$0")"
gcc -g -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables \
    -fno-tree-loop-distribute-patterns -ffile-prefix-map="$PWD"=. -Wl,--build-id=none -o fir fir.c
valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file=fir.log ./fir || test $? -lt 128
