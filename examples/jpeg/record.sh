#!/bin/sh
# record.sh [SIZE [TIMES]]: compiles the decoder (stb_image, Debian's libstb-dev), makes an image of SIZE x SIZE pixels and records
# its decompression with valgrind's lackey: jpeg and jpeg.log in this folder. jpeg.stream is the same run recorded by
# `addfg record -o jpeg.duckdb --keep jpeg.stream --allocator stbi__malloc=malloc -- ./jpeg image.jpg`.
set -eu
cd "$(dirname "$0")"
gcc -O2 -w -o encode encode.c -lm
gcc -g -O1 -w -fno-inline -static -nostdlib -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables \
    -ffunction-sections -Wl,--gc-sections -ffile-prefix-map="$PWD"=. -Wl,--build-id=none -o jpeg decode.c
./encode image.jpg "${1:-32}"
valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file=jpeg.log ./jpeg image.jpg "${2:-1}"
