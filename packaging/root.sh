#!/bin/sh
# Makes a root of a Debian release's packages, with what they need: packaging/root.sh RELEASE FOLDER PACKAGE...
#
# RELEASE is a code name (bookworm, trixie). Needs apt, with whose sources of this machine's Debian, and Debian's keys. Nothing is configured:
# the packages' files are there, their scripts have not run.
set -eu
release=$1 root=$2
shift 2
own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$root" "$work/lists/partial" "$work/cache/archives/partial" "$work/parts"
: > "$work/status"
: > "$work/sources.list"
# Sources of others do not have this release.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$file" ] || continue
    case $file in
    *.sources) grep -q "^Suites:.* $own\b" "$file" && sed "s/\b$own\b/$release/g" "$file" > "$work/parts/${file##*/}" ;;
    *.list) sed -n "/^deb .* $own\(-updates\|-security\)\? /s/ $own/ $release/p" "$file" > "$work/parts/${file##*/}" ;;
    esac || true
done
apt() {
    apt-get -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts="$work/parts" -o Dir::State::lists="$work/lists" \
        -o Dir::Cache="$work/cache" -o Dir::State::status="$work/status" -o APT::Sandbox::User=root "$@"
}
apt update
apt -y --no-install-recommends --download-only install "$@" >/dev/null
for package in "$work"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$root"
done
# Where a release has these folders in /usr only, base-files would link them.
for folder in bin sbin lib lib64; do
    [ -e "$root/$folder" ] || [ ! -d "$root/usr/$folder" ] || ln -s "usr/$folder" "$root/$folder"
done
