#!/bin/sh
# Makes the pictures of README.md and docs: [BZIP2_SOURCE=FOLDER] docs/pictures.sh [ADDFG]
set -eu
cd "$(dirname "$0")/.."
addfg=${1:-addfg}
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT
images=docs/images
for example in fir jpeg; do
    "$addfg" build examples/$example/$example.log.xz --elf examples/$example/$example -o "$part/$example.duckdb" --quiet
done
"$addfg" build examples/jpeg/jpeg.log.xz --elf examples/jpeg/jpeg -o "$part/literal.duckdb" --saves literal --quiet
fir=$part/fir.duckdb
jpeg=$part/jpeg.duckdb

# Recorded programs: needs valgrind
if command -v valgrind >/dev/null; then
    cp LICENSE-APACHE "$part/text.txt"
    gcc -g -O1 -fno-inline -ffile-prefix-map="$PWD"=. -o "$part/words" examples/words/words.c
    (cd "$part" && "$addfg" record --quiet -o words.duckdb -- ./words text.txt >/dev/null)
    "$addfg" graph "$part/words.duckdb" -o $images/words.svg

    # Two snapshots of a run
    gcc -g -O1 -fno-inline -ffile-prefix-map="$PWD"=. -I recorders/stream -o "$part/marked" examples/words/marked.c
    (cd "$part" && "$addfg" record --quiet --no-steps --at-markers -o marked.duckdb -- ./marked text.txt >/dev/null)
    "$addfg" graph "$part/marked.2.duckdb" -o $images/snapshot.svg
    "$addfg" diff "$part/marked.1.duckdb" "$part/marked.2.duckdb" -o $images/phase.svg

    # A JPEG decoder with a picture large enough that its tables are nothing: needs libstb-dev
    if [ -e /usr/include/stb/stb_image.h ]; then
        (cd "$part" && gcc -O2 -w -o encode "$OLDPWD/examples/jpeg/encode.c" -lm && ./encode image.jpg 512)
        gcc -g -O1 -w -static -nostdlib -fno-stack-protector -fno-asynchronous-unwind-tables -ffunction-sections -Wl,--gc-sections \
            -ffile-prefix-map="$PWD"=. -o "$part/decode" examples/jpeg/decode.c
        (cd "$part" && "$addfg" record --quiet --detail summary -o decode.duckdb -- ./decode image.jpg 1 >/dev/null)
        "$addfg" plan "$part/decode.duckdb" -o $images/plan.svg
    fi

    # bzip2 with its symbols, from the sources in the folder BZIP2_SOURCE (apt-get source bzip2)
    if [ -n "${BZIP2_SOURCE:-}" ]; then
        (cd "$BZIP2_SOURCE" && gcc -g -O2 -D_FILE_OFFSET_BITS=64 -ffile-prefix-map="$PWD"=. -o "$part/bzip2" \
            blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c bzip2.c)
        (cd "$part" && "$addfg" record --quiet -- ./bzip2 -k -c text.txt >/dev/null)
        "$addfg" graph "$part/bzip2.duckdb" -o $images/bzip2.svg
    fi
fi

"$addfg" graph "$fir" --all -o $images/fir.svg
"$addfg" graph "$jpeg" -o $images/jpeg.svg
"$addfg" graph "$jpeg" --focus stbi__jpeg_decode_block -o $images/jpeg-focus.svg

# A firmware: needs a compiler for ARM and QEMU
if command -v qemu-system-arm >/dev/null && examples/firmware/build.sh "$part/fw.elf" 2>/dev/null; then
    (cd "$part" && "$addfg" record --quiet --detail pairs -o fw.duckdb --elf fw.elf \
        --qemu "qemu-system-arm -M mps2-an385 -display none -monitor none -serial stdio -semihosting -kernel" \
        -- fw.elf <"$OLDPWD/examples/firmware/numbers.txt" >/dev/null)
    "$addfg" graph "$part/fw.duckdb" -o $images/firmware.svg
fi

# Its memories: needs a compiler for RISC-V and QEMU
if command -v qemu-system-riscv32 >/dev/null && CFLAGS="-ffile-prefix-map=$PWD=." examples/firmware-riscv/build.sh "$part/rv.elf" 32 2>/dev/null; then
    (cd "$part" && "$addfg" record --quiet -o rv.duckdb --device uart=0x10000000+0x100 --memory-map rv.elf.map \
        --qemu "qemu-system-riscv32 -M virt -bios none -display none -monitor none -serial stdio -kernel" \
        -- rv.elf <"$OLDPWD/examples/firmware-riscv/samples.txt" >/dev/null)
    "$addfg" graph "$part/rv.duckdb" --by-memory -o $images/firmware-memories.svg
fi

# Traces of dependences, path tracing
"$addfg" build tests/formats/wet/good-comprehensive.wet -o "$part/wet.duckdb" --quiet
"$addfg" build tests/formats/csi/good.frames tests/formats/csi/good.debug_PT -o "$part/csi.duckdb" --quiet
"$addfg" graph "$part/wet.duckdb" --level line -o $images/wet-line.svg
"$addfg" paths "$part/csi.duckdb" main -o $images/csi-paths.svg

# Levels
"$addfg" graph "$fir" --level step --focus fir#2 --top 60 -o $images/fir-step.svg
"$addfg" graph "$fir" --level instruction --focus checksum -o $images/fir-instruction.svg
"$addfg" graph "$fir" --level block --show data,calls,jumps,control --focus fir -o $images/fir-block.svg
"$addfg" graph "$fir" --level line --show data,calls,control,carried -o $images/fir-line.svg
"$addfg" graph "$jpeg" --level loop --show data --top 10 -o $images/jpeg-loop.svg
"$addfg" graph "$fir" --level instance --focus fir#2 -o $images/fir-instance.svg
"$addfg" graph "$jpeg" --level context --focus stbi__get8 -o $images/jpeg-context.svg
"$addfg" graph "$jpeg" --level file -o $images/jpeg-file.svg
"$addfg" graph "$fir" --expand fir --show data,calls,carried -o $images/fir-expand.svg

# One call of a function against all
"$addfg" graph "$jpeg" --focus 'stbi__process_marker#1' -o $images/jpeg-call.svg

# Others
"$addfg" slice "$fir" --at output --depth 5 -o $images/fir-slice.svg
"$addfg" diff "$jpeg" "$part/literal.duckdb" --top 10 -o $images/diff.svg
"$addfg" calls "$jpeg" --timeline -o $images/jpeg-timeline.svg
"$addfg" matrix "$jpeg" -o $images/jpeg-matrix.svg
"$addfg" memory "$jpeg" -o $images/jpeg-memory.svg
"$addfg" graph "$jpeg" --group 'huffman=stbi__jpeg_decode_block,stbi__grow_buffer_unsafe,stbi__get8,stbi__jpeg_huff_decode,stbi__extend_receive' \
    --group 'idct=stbi__idct_block,stbi__clamp' --group 'colour=stbi__resample_row_hv_2,stbi__YCbCr_to_RGB_row' --top 8 --show data \
    -o $images/jpeg-group.svg
