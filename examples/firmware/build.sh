#!/bin/sh
# build.sh FILE: compiles the firmware, with whichever of the two compilers there is.
set -e
compiler=arm-none-eabi-gcc
command -v $compiler >/dev/null || compiler=arm-linux-gnueabi-gcc
$compiler -g -O1 -fno-inline -mcpu=cortex-m3 -mthumb -mfloat-abi=soft -ffreestanding -nostdlib -static -fno-pie -no-pie -fno-unwind-tables \
    -fno-asynchronous-unwind-tables -Wl,--section-start=.vectors=0,-Ttext=0x100,-Tdata=0x20000000,-Tbss=0x20001000 \
    -Wl,-e,reset,--build-id=none "$(dirname "$0")/firmware.c" -o "$1"
