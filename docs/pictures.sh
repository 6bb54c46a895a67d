#!/bin/sh
# Makes the pictures of the README from the shipped recordings: docs/pictures.sh [ADDFG]
set -eu
cd "$(dirname "$0")/.."
addfg=${1:-addfg}
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT
"$addfg" build examples/fir/fir.log.xz --elf examples/fir/fir -o "$part/fir.duckdb" --quiet
"$addfg" graph "$part/fir.duckdb" -o docs/images/fir.svg
"$addfg" build examples/jpeg/jpeg.log.xz --elf examples/jpeg/jpeg -o "$part/jpeg.duckdb" --quiet
"$addfg" graph "$part/jpeg.duckdb" -o docs/images/jpeg.svg
"$addfg" graph "$part/jpeg.duckdb" --focus stbi__jpeg_decode_block -o docs/images/jpeg-focus.svg
