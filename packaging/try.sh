#!/bin/sh
# Tries a tarball and a Debian package of packaging/package.sh in a root of its own, which has Debian's packages and nothing of this machine:
# packaging/try.sh FOLDER [RELEASE]. RELEASE is a code name (bookworm, trixie); without it, this machine's own. Needs root and apt, with whose
# sources; some 120 MB are fetched. packaging/try.sh --suite RELEASE [COMMAND] runs the tests there, or COMMAND: see packaging/suite.sh.
set -eu
if [ "${1:-}" = --suite ]; then
    shift
    exec "$(dirname "$0")/suite.sh" "$@"
fi
folder=$(cd "$1" && pwd)
release=${2:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)}
work=$(mktemp -d)
root=$work/root
end() {
    umount "$root/proc" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT
"$(dirname "$0")/root.sh" "$release" "$root" bash coreutils dash grep sed gzip tar findutils bzip2 man-db libc-bin diffutils \
    libstdc++6 valgrind gcc libc6-dev pkg-config graphviz qemu-user
for package in "$folder"/addfg_*.deb; do
    dpkg-deb -x "$package" "$root"
done
mkdir -p "$root/opt"
tar -C "$root/opt" -xzf "$folder"/addfg-*-linux.tar.gz
mkdir -p "$root/proc" "$root/dev" "$root/root" "$root/tmp"
# A program for another processor, static, so that any release's emulator runs it.
if command -v arm-linux-gnueabi-gcc >/dev/null; then
    arm-linux-gnueabi-gcc -O1 -static -o "$root/opt/words-arm" "$(dirname "$0")/../examples/words/words.c"
fi
mount -t proc proc "$root/proc"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/urandom" c 1 9
ln -s /proc/self/fd "$root/dev/fd"
# What the packages do when they are installed.
chroot "$root" ldconfig
chroot "$root" dot -c
for program in /usr/bin/addfg "/$(cd "$root" && ls -d opt/addfg-*/bin/addfg)"; do
    echo "== $program"
    chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin /bin/sh -ec '
        cd "$(mktemp -d)"
        program=$1
        examples=${program%/bin/addfg}/share/doc/addfg/examples
        "$program" build "$examples/jpeg/jpeg.log.xz" --elf "$examples/jpeg/jpeg"
        "$program" graph jpeg.duckdb -o jpeg.svg
        "$program" sql jpeg.duckdb @hot_functions 3
        "$program" record -- bzip2 -k -c jpeg.svg >jpeg.bz2
        "$program" graph bzip2.duckdb -o bzip2.svg
        grep -q "of the steps" jpeg.svg && grep -q stdout bzip2.svg
        if [ -x /opt/words-arm ]; then
            "$program" record --qemu qemu-arm -- /opt/words-arm jpeg.svg
            "$program" sql words-arm.duckdb @hot_functions 3
            "$program" graph words-arm.duckdb -o words-arm.svg
            grep -q main words-arm.svg
        fi
        man -l "${program%/bin/addfg}/share/man/man1/addfg-record.1.gz" | head -n 4
    ' sh "$program"
done
