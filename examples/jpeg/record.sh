#!/bin/sh
# record.sh [SIZE [TIMES]]: compiles the decoder (stb_image, Debian's libstb-dev), makes an image of SIZE x SIZE pixels and records
# its decompression with valgrind's lackey: jpeg and jpeg.log in this folder.
set -eu
cd "$(dirname "$0")"
size=${1:-24}
gcc -O2 -o encode encode.c -lm
gcc -g -O1 -static -Wl,--gc-sections -o jpeg decode.c -lm
objcopy --compress-debug-sections jpeg
./encode image.jpg "$size"
valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file=jpeg.log ./jpeg image.jpg "${2:-1}"
