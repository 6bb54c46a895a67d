#!/bin/bash
# views.sh DB...: wall seconds and peak MiB of each view of docs/views.md that needs no single steps, a process of its own each, on databases of one
# program whose runs are longer and longer, as a Markdown table on standard output; the last column is the last database's time by the first's.
#
# Databases are built with `--detail instance`; the slowest hot function of each is asked for where a view wants one. Each view runs twice, the
# better counts. Needs bash, GNU time. ADDFG names a program already built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ADDFG=${ADDFG:-$here/../target/release/addfg}
[ -x "$ADDFG" ] && [ $# -gt 0 ] || { echo "views.sh: want databases, and addfg built, or named with ADDFG" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

views=(
    "overview|graph -o $work/out.svg"
    "graph of functions|graph --format dot"
    "graph of files|graph --format dot --level file"
    "graph of lines|graph --format dot --level line"
    "graph of instructions|graph --format dot --level instruction"
    "graph of calls|graph --format dot --level instance"
    "graph of contexts|graph --format dot --level context"
    "what is around a function|graph --format dot --focus FUNCTION"
    "flame graph|graph --format flamegraph -o $work/flame.svg"
    "calls|calls"
    "call tree|calls --tree"
    "instances of a function|instances FUNCTION"
    "matrix|matrix"
    "plan|plan"
    "report|report -o $work/out.html"
    "callgrind's format|export --to callgrind -o $work/out.callgrind"
    "folded stacks|export --to folded -o $work/out.folded"
    "info|info"
    "@hot_functions|sql @hot_functions"
    "@hot_edges|sql @hot_edges"
    "@hot_lines|sql @hot_lines"
    "@hot_calls|sql @hot_calls"
    "@recursion|sql @recursion"
)

echo "| view |$(for db in "$@"; do echo -n " $(basename "$db" .duckdb): s | MiB |"; done) last by first |"
echo "|---|$(for db in "$@"; do echo -n "---|---|"; done)---|"
for view in "${views[@]}"; do
    echo -n "| ${view%%|*} |"
    first='' last=''
    for db in "$@"; do
        # The name may have blanks.
        function=$("$ADDFG" sql "$db" --format csv "SELECT '@' || printf('%x', address) FROM function_profile JOIN function_symbol USING (function_id)
            WHERE address IS NOT NULL ORDER BY steps_self DESC LIMIT 1" | tail -1 | tr -d "\r" || true)
        read -ra words <<< "${view#*|}"
        command=()
        for word in "${words[@]}"; do command+=("${word/#FUNCTION/$function}"); done
        # The database stands behind the command's name, what is asked of it behind that.
        command=("${command[0]}" "$db" "${command[@]:1}")
        best=''
        for _ in 1 2; do
            if /usr/bin/time -q -o "$work/time" -f '%e %M' timeout 600 "$ADDFG" "${command[@]}" > "$work/text" 2> "$work/errors" < /dev/null; then
                best=$(awk -v b="${best:-1e9 0}" '{ split(b, x, " "); if ($1 < x[1]) print; else print b }' "$work/time")
            fi
            rm -f "$work"/out.* "$work/flame.svg"
        done
        if [ -n "$best" ]; then
            awk -v b="$best" 'BEGIN { split(b, x, " "); printf " %.2f | %d |", x[1], x[2] / 1024 }'
            first=${first:-${best% *}} last=${best% *}
        else
            echo -n " - | - |"
            echo "views.sh: ${command[*]}: $(head -1 "$work/errors")" >&2
        fi
    done
    [ -n "$first" ] && awk -v a="$first" -v b="$last" 'BEGIN { printf " %.1f |\n", b / a }' || echo " - |"
done
