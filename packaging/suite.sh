#!/bin/sh
# Runs a command in a clone of this checkout, in a root of a Debian release that has Rust, git, a shell and nothing else: packaging/suite.sh RELEASE [COMMAND].
#
# RELEASE is a code name (bookworm, trixie); COMMAND is for a shell, by default the README's second one, all tests:
#   packaging/suite.sh trixie
#   packaging/suite.sh trixie './setup.sh --tests && cargo test --release --test it emulators::'
#   packaging/suite.sh bookworm './setup.sh && cargo install --path . --locked && addfg build examples/jpeg/jpeg.log.xz --elf examples/jpeg/jpeg'
#
# The root is new each time, and gone at the end; what cargo compiled there stays in ADDFG_SUITE (~/.cache/addfg/suite-RELEASE), and the next run goes on
# with it. Rust is this machine's, seen read-only but for the registry's cache; apt, npm and pip have this machine's settings. The clone has what is committed.
# Needs root, mmdebstrap and a machine that can reach Debian's mirror; 3 to 12 GB of disk, and for all tests an hour on two cores.
set -eu
[ $# -gt 0 ] || { sed -n 's/^# \{0,1\}//p' "$0" | sed 1d >&2; exit 2; }
release=$1
command=${2:-./setup.sh --tests && cargo test --release}
here=$(cd "$(dirname "$0")/.." && pwd)
for tool in mmdebstrap unshare git; do
    command -v "$tool" >/dev/null || { echo "suite.sh: missing: $tool; apt install mmdebstrap util-linux git" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "suite.sh: only root can make a root" >&2; exit 2; }
kept=${ADDFG_SUITE:-$HOME/.cache/addfg/suite-$release}
mkdir -p "$kept/target"
work=$(mktemp -d "$kept/root.XXXXXX")
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 143' TERM INT

# This machine's sources, of that release.
own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$file" ] || continue
    case $file in
    *.sources) ! grep -q "^Suites:.* $own\b" "$file" || { sed "s/\b$own\b/$release/g" "$file"; echo; } ;;
    *.list) sed -n "/^deb .* $own\(-updates\|-security\)\? /s/ $own/ $release/p" "$file" ;;
    esac
done > "$work/sources"
mmdebstrap --quiet --mode=root --variant=apt --include=git,ca-certificates "$release" "$root" - < "$work/sources" ||
    { echo "suite.sh: cannot make a root of $release" >&2; exit 2; }
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
cp -rL /etc/ssl/certs/. "$root/etc/ssl/certs/" 2>/dev/null || true
git clone -q --no-hardlinks "$here" "$root/opt/addfg"

# Mounts are of a namespace of its own: they end with it, and so does whatever was left running.
cat > "$work/within" <<'END'
set -eu
root=$1 kept=$2
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys" 2>/dev/null || true
mount -t tmpfs tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    : > "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm" "$root/dev/pts" && mount -t tmpfs tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" && ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for name in stdin:0 stdout:1 stderr:2; do ln -s "/proc/self/fd/${name#*:}" "$root/dev/${name%:*}"; done
for file in "$HOME/.npmrc" "$HOME/.config/pip" /etc/pip.conf; do
    [ -e "$file" ] || continue
    case $file in "$HOME"/*) at=$root/home/${file#"$HOME"/} ;; *) at=$root$file ;; esac
    if [ -d "$file" ]; then mkdir -p "$at"; else mkdir -p "$(dirname "$at")" && : > "$at"; fi
    mount --bind -o ro "$file" "$at"
done
for folder in .cargo .rustup; do
    mkdir -p "$root/home/$folder" && mount --bind -o ro "$HOME/$folder" "$root/home/$folder"
done
[ ! -d "$HOME/.cargo/registry" ] || mount --bind "$HOME/.cargo/registry" "$root/home/.cargo/registry"
mkdir -p "$root/home/.cache/addfg/target" && mount --bind "$kept/target" "$root/home/.cache/addfg/target"
# Programs that `cargo install` makes do not go to this machine's.
exec chroot "$root" /usr/bin/env HOME=/home PATH=/home/installed/bin:/home/.cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CARGO_INSTALL_ROOT=/home/installed CARGO_TARGET_DIR=/home/.cache/addfg/target SHELL=/bin/sh bash -euc 'cd /opt/addfg; eval "$1"' bash "$3"
END
echo "suite.sh: Debian $(cat "$root/etc/debian_version"): $command"
unshare --mount --propagation private --pid --fork sh "$work/within" "$root" "$kept" "$command"
