#!/bin/sh
# Makes a tarball and, where dpkg-deb is, a Debian package of addfg with all that it needs at run time: packaging/package.sh [FOLDER]
#
# Both hold bin/addfg, lib/addfg/libduckdb.so, manual pages, completions for bash, zsh and fish, the sources of the recorders (they are
# compiled on the machine that records), the documentation and the examples. Run ./setup.sh first. They go to target/package or FOLDER.
set -eu
folder=$(mkdir -p "${1:-$(dirname "$0")/../target/package}" && cd "${1:-$(dirname "$0")/../target/package}" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
library=$(sed -n 's/^DUCKDB_LIB_DIR = "\(.*\)"/\1/p' .cargo/config.toml)/libduckdb.so
machine=$(uname -m)
ADDFG_PACKAGE=1 cargo build --release --locked --bin addfg
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT

name=addfg-$version-$machine-linux
root=$part/$name
share=$root/share
docs=$share/doc/addfg
mkdir -p "$root/bin" "$root/lib/addfg" "$share/man/man1" "$share/addfg/recorders" "$docs/examples" \
    "$share/bash-completion/completions" "$share/zsh/vendor-completions" "$share/fish/vendor_completions.d"
install -m 755 "${CARGO_TARGET_DIR:-target}/release/addfg" "$root/bin/addfg"
install -m 644 "$library" "$root/lib/addfg/libduckdb.so"
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
