#!/bin/sh
# Records the fixtures of tests/formats anew from tiny.c: gcc for each instruction set, qemu-user (one instruction a block), valgrind.
set -e
cd "$(dirname "$0")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
flags="-O1 -nostdlib -static -fno-pie -no-pie -fno-stack-protector -fno-asynchronous-unwind-tables -ffreestanding -fno-inline
       -Wl,-e,entry -Wl,--build-id=none"
record() { # name, compiler, emulator, more flags
    name=$1 compiler=$2 emulator=$3
    shift 3
    $compiler $flags "$@" tiny.c -o "$folder/$name"
    $emulator -singlestep -d nochain,cpu,in_asm -D "$folder/$name.log" "$folder/$name"
    # The addresses of QEMU's own tables and stacks are the same from run to run; a dozen steps are enough.
    awk '/^IN:/ { n++ } n <= 12' "$folder/$name.log" | sed '$d' >"qemu/good-$name.log"
}
mkdir -p qemu lackey
record arm arm-linux-gnueabi-gcc qemu-arm -marm
record thumb arm-linux-gnueabi-gcc qemu-arm -mthumb -march=armv7-a -mfloat-abi=softfp
record aarch64 aarch64-linux-gnu-gcc qemu-aarch64
record riscv64 riscv64-linux-gnu-gcc qemu-riscv64
record x86_64 gcc qemu-x86_64
record i386 gcc qemu-i386 -m32
valgrind --vex-guest-chase=no --tool=lackey --trace-mem=yes --log-file="$folder/lackey.log" "$folder/x86_64"
sed 's/==[0-9]*==/==1==/; s/'"$(echo "$folder" | sed 's/\//\\\//g')"'/./' "$folder/lackey.log" >lackey/good.log
mkdir -p elf
for name in arm riscv64 x86_64; do
    cp "$folder/$name" elf/
done
# Logs of simulators, of the same runs.
python3 simulators.py "$folder/aarch64.log" "$folder/riscv64.log"
