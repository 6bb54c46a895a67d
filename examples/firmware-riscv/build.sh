#!/bin/sh
# build.sh FILE [32|64]: compiles the firmware, with whichever of the compilers there is. The linker's map is FILE.map.
set -e
compiler=riscv64-unknown-elf-gcc
command -v $compiler >/dev/null || compiler=riscv64-linux-gnu-gcc
case "${2:-32}" in
64) machine="-march=rv64imac_zicsr -mabi=lp64" ;;
*) machine="-march=rv32imac_zicsr -mabi=ilp32" ;;
esac
folder=$(dirname "$0")
$compiler -g -O1 -fno-inline ${CFLAGS:-} $machine -mcmodel=medany -ffreestanding -nostdlib -static -fno-pic -no-pie -fno-stack-protector \
    -fno-asynchronous-unwind-tables -Wl,--build-id=none,-Map="$1.map" -T "$folder/memories.ld" "$folder/firmware.c" -o "$1"
