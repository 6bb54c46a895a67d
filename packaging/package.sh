#!/bin/sh
# Makes a tarball and, where dpkg-deb is, a Debian package of addfg with all that it needs at run time: packaging/package.sh [FOLDER]
#
# Both hold bin/addfg, lib/addfg/libduckdb.so, DuckDB's extension of addfg, manual pages, completions for bash, zsh and fish, the sources of the recorders (they are
# compiled on the machine that records), the documentation and the examples. Run ./setup.sh first. They go to target/package or FOLDER.
#
# With `rustup component add llvm-tools` the program is compiled twice: counters in the first one tell the compiler which ways are taken most, over
# recordings of the examples and, where valgrind is, of programs that nearly every machine has. Without it, it is compiled once, and the script says so.
set -eu
folder=$(mkdir -p "${1:-$(dirname "$0")/../target/package}" && cd "${1:-$(dirname "$0")/../target/package}" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
library=$(sed -n 's/^DUCKDB_LIB_DIR = "\(.*\)"/\1/p' .cargo/config.toml)/libduckdb.so
machine=$(uname -m)
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT

target=${CARGO_TARGET_DIR:-target}
host=$(rustc -vV | sed -n 's/^host: //p')
profdata=$(rustc --print target-libdir)/../bin/llvm-profdata
# compile FOLDER FLAGS: for a target that is named, so that programs of the build itself have no flags.
compile() {
    ADDFG_PACKAGE=1 RUSTFLAGS="${RUSTFLAGS:-} $2" CARGO_TARGET_DIR=$1 cargo build --profile dist --target "$host" --locked --bin addfg
}
# Builds, views and recordings, at each detail.
run() {
    export LLVM_PROFILE_FILE="$part/counts/%p.profraw" LD_LIBRARY_PATH="${library%/*}"
    for detail in summary instance pairs; do
        "$1" build examples/jpeg/jpeg.log.xz --elf examples/jpeg/jpeg --detail $detail -o "$part/jpeg.duckdb" --force --quiet || return
        "$1" graph "$part/jpeg.duckdb" -o "$part/jpeg.dot" || return
        "$1" report "$part/jpeg.duckdb" -o "$part/jpeg.html" || return
        for line in 'awk BEGIN{for(i=0;i<30000;i++)n[i%997]=n[i%997]i;print(length(n))}' 'sort README.md' 'bzip2 -kc Cargo.lock' 'gzip -c Cargo.lock' \
            'python3 -S -c print(sum(len(str(i))for(i)in(range(20000))))'; do
            # shellcheck disable=SC2086
            "$1" record --detail $detail -o "$part/run.duckdb" --force --quiet -- $line >/dev/null || true
        done
    done
}
flags=
if [ -x "$profdata" ]; then
    compile "$target/counted" "-Cprofile-generate=$part/counts"
    run "$target/counted/$host/dist/addfg" 2>"$part/errors" || { cat "$part/errors" >&2; exit 2; }
    "$profdata" merge -o "$part/counts.profdata" "$part/counts"
    flags=-Cprofile-use=$part/counts.profdata
else
    echo "no llvm-profdata (rustup component add llvm-tools): compiled without a profile" >&2
fi
compile "$target" "$flags"

name=addfg-$version-$machine-linux
root=$part/$name
share=$root/share
docs=$share/doc/addfg
mkdir -p "$root/bin" "$root/lib/addfg" "$share/man/man1" "$share/addfg/recorders" "$docs/examples" \
    "$share/bash-completion/completions" "$share/zsh/vendor-completions" "$share/fish/vendor_completions.d"
install -m 755 "$target/$host/dist/addfg" "$root/bin/addfg"
install -m 644 "$library" "$root/lib/addfg/libduckdb.so"
CARGO_TARGET_DIR=$target/extension extension/build.sh "$root/lib/addfg"
strip --strip-unneeded "$root/bin/addfg" "$root/lib/addfg/libduckdb.so"
addfg=$root/bin/addfg
"$addfg" man "$share/man/man1"
gzip -9n "$share"/man/man1/*.1
"$addfg" completions bash > "$share/bash-completion/completions/addfg"
"$addfg" completions zsh > "$share/zsh/vendor-completions/_addfg"
"$addfg" completions fish > "$share/fish/vendor_completions.d/addfg.fish"
cp -r recorders/valgrind recorders/qemu recorders/stream "$share/addfg/recorders"
cp -r README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE docs "$docs"
cp -r examples/fir examples/jpeg examples/words "$docs/examples"
{
    cat packaging/copyright
    echo "Crates that are part of the program, with their licences:"
    cargo tree --locked --edges normal --prefix none --format '{p}: {l}' | sed 's/ (.*)//; s/ (\*)$//' | sort -u
} > "$docs/copyright"
tar -C "$part" --owner=0 --group=0 -czf "$folder/$name.tar.gz" "$name"
echo "$folder/$name.tar.gz"

command -v dpkg-deb >/dev/null || { echo "no dpkg-deb: no Debian package" >&2; exit 0; }
deb=$part/deb
mkdir -p "$deb/DEBIAN" "$deb/debian"
cp -r "$root" "$deb/usr"
depends="libc6, libgcc-s1, libstdc++6"
if command -v dpkg-shlibdeps >/dev/null; then
    printf 'Source: addfg\n\nPackage: addfg\nArchitecture: any\n' > "$deb/debian/control"
    depends=$(cd "$deb" && dpkg-shlibdeps -O --ignore-missing-info -lusr/lib/addfg usr/bin/addfg usr/lib/addfg/libduckdb.so 2>/dev/null |
        sed 's/^shlibs:Depends=//')
fi
rm -r "$deb/debian"
architecture=$(dpkg --print-architecture)
cat > "$deb/DEBIAN/control" <<END
Package: addfg
Version: $version
Architecture: $architecture
Maintainer: the addfg developers <addfg@localhost>
Installed-Size: $(du -sk "$deb/usr" | cut -f1)
Depends: $depends
Recommends: valgrind, gcc, pkg-config, graphviz
Suggests: qemu-user
Section: devel
Priority: optional
Description: Shows how data flows through a program that ran
 addfg records a run, or reads what another tool recorded, into a DuckDB
 database, and says which function made the bytes that another one uses, how
 many, and through which memory or register: with pictures, an HTML page and SQL.
END
dpkg-deb --root-owner-group --build "$deb" "$folder/addfg_${version}_$architecture.deb" >/dev/null
echo "$folder/addfg_${version}_$architecture.deb"
