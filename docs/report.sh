#!/bin/sh
# Makes the pictures of docs/report.md from the shipped recording, with Chromium: docs/report.sh [ADDFG]
set -eu
cd "$(dirname "$0")/.."
addfg=${1:-addfg}
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT
"$addfg" build examples/jpeg/jpeg.log.xz --elf examples/jpeg/jpeg -o "$part/jpeg.duckdb" --quiet
set -- --source examples/jpeg
[ ! -d /usr/include/stb ] || set -- "$@" --source /usr/include
"$addfg" build examples/jpeg/jpeg.log.xz --elf examples/jpeg/jpeg -o "$part/literal.duckdb" --saves literal --quiet
"$addfg" report "$part/jpeg.duckdb" -o "$part/jpeg.html" "$@"
"$addfg" report "$part/literal.duckdb" --against "$part/jpeg.duckdb" -o "$part/changes.html" "$@"

# The number of a function.
number() {
    "$addfg" sql "$part/jpeg.duckdb" "SELECT function_id FROM function_symbol WHERE name = '$1'" --format csv | tail -n 1
}

# shoot NAME HASH [PAGE]: fewer colours make a small file where ImageMagick is installed.
shoot() {
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1400,860 --run-all-compositor-stages-before-draw --virtual-time-budget=30000 \
        --screenshot="$part/shot.png" "file://$part/${3:-jpeg}.html#$2" >/dev/null 2>&1
    if command -v convert >/dev/null; then
        convert "$part/shot.png" -strip -dither None -colors 128 "PNG8:docs/images/report-$1.png"
    else
        cp "$part/shot.png" "docs/images/report-$1.png"
    fi
}
shoot overview "view=overview&theme=light"
shoot open "view=overview&box=2&theme=light"
shoot graph "view=graph&theme=light"
shoot focus "view=graph&function=$(number stbi__jpeg_decode_block)&theme=dark"
shoot tree "view=tree&theme=light"
shoot flame "view=flame&function=$(number stbi__jpeg_decode_block)&theme=light"
shoot matrix "view=matrix&theme=light"
shoot timeline "view=timeline&theme=light"
shoot loops "view=loops&theme=light"
shoot memory "view=memory&theme=light"
shoot objects "view=objects&theme=light"
shoot changes "view=changes&theme=light" changes
shoot source "view=source&function=$(number stbi__idct_block)&theme=light"
shoot tables "view=tables&theme=dark"
