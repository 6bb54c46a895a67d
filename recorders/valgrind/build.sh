#!/bin/sh
# build.sh FOLDER: compiles the recorder against the installed valgrind package into FOLDER.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
variable() { pkg-config --variable="$1" valgrind; }
pkg-config --exists valgrind || { echo "valgrind's headers are not installed (Debian: apt-get install valgrind)" >&2; exit 2; }
include=$(variable includedir) libraries=$(variable libdir)/valgrind
arch=$(variable arch) os=$(variable os) platform=$(variable platform) load=$(variable valt_load_address)
under=$(echo "$platform" | tr - _)
mkdir -p "$out"
${CC:-gcc} -O2 -std=gnu99 -Wall -fno-pie -fno-stack-protector -fno-strict-aliasing -fno-builtin -fomit-frame-pointer \
    -I"$include" -I"$here/../stream" "-DVGA_$arch=1" "-DVGO_$os=1" "-DVGP_$under=1" "-DVGPV_${under}_vanilla=1" \
    -c "$here/addfg_main.c" -o "$out/addfg_main.o"
${CC:-gcc} -O2 -static -no-pie -nodefaultlibs -nostartfiles -u _start "-Wl,-Ttext-segment=$load" -Wl,--build-id=none \
    -o "$out/addfg-$platform" "$out/addfg_main.o" "$libraries/libcoregrind-$platform.a" "$libraries/libvex-$platform.a" \
    -lgcc "$libraries/libgcc-sup-$platform.a"
rm "$out/addfg_main.o"
# Dynamic programs load this one; the XML files are asked for by debuggers. They are copied: those of
# another version of the package are not for this program.
# The `valgrind` that is found first may be somebody's script, so the package says where it is, too.
for folder in "$(dirname "$(command -v valgrind)")/../libexec/valgrind" "$(variable prefix)/libexec/valgrind" "$libraries"; do
    for file in "$folder"/vgpreload_core-*.so "$folder"/*.xml "$folder"/default.supp; do
        [ ! -e "$file" ] || cp -f "$file" "$out/"
    done
done
set -- "$out"/vgpreload_core-*.so
[ -e "$1" ] || { echo "valgrind's vgpreload_core-*.so is not where its package should have it" >&2; exit 2; }
