#!/bin/sh
# build.sh FOLDER: compiles the plugin into FOLDER/libaddfg.so.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
${CC:-gcc} -O2 -std=gnu11 -Wall -shared -fPIC -fvisibility=hidden -I"$here/../stream" -o "$1/libaddfg.so" "$here/addfg_qemu.c" -lpthread
