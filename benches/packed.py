#!/usr/bin/env python3
"""packed.py ADDFG TRACE [--elf FILE]...: what a packed run costs, and whether it answers as rows do.

Builds a database with --detail summary --no-steps, one with --detail summary, and one with --detail pairs --no-steps of the
same trace; asks the second and the third the same questions and compares the answers; makes rows of the second with
`addfg rows` and compares each table. Prints Markdown. Exit code 1 if anything differs. WORK names a folder that keeps
the databases. Times are of the processor (user and system) and of the clock.
"""
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time

# {F} reads most of {G}; {C} is the function with the fewest calls among those that read data of others.
QUESTIONS = [
    "flows {G} {F} --limit 1000", "flows {G} {F} --sum", "flows glob:* {C} --limit 0", "cut {F}", "cut {C}",
    "instances {C}", "instances {F}", "slice --at {10} --backward", "slice --at {50} --backward",
    "slice --at {90} --backward", "slice --at {50} --forward", "objects", "loops", "memory", "critical",
    "calls --tree", "graph --level instance", "graph --level block", "graph --level line",
]


def run(command, out=None):
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode == 2 and out is None:
        sys.exit(f"{command}: {done.stderr.decode()}")
    return done, cpu, time.time() - began


def rows(addfg, db, sql):
    text = run([addfg, "sql", db, sql, "--format", "csv"])[0].stdout.decode()
    return [line.split(",") for line in text.splitlines()[1:]]


def main():
    addfg, trace, more = sys.argv[1], sys.argv[2], sys.argv[3:]
    work = os.environ.get("WORK") or tempfile.mkdtemp()
    name = os.path.basename(trace).split(".")[0]
    paths = {kind: os.path.join(work, f"{name}-{kind}.duckdb") for kind in ("sums", "packed", "pairs")}
    options = {"sums": ["--detail", "summary", "--no-steps"], "packed": ["--detail", "summary"], "pairs": ["--detail", "pairs", "--no-steps"]}
    steps = 0
    print(f"### {name}\n\n| database | MB | B/step | CPU s | wall s |\n|---|---|---|---|---|")
    for kind, path in paths.items():
        _, cpu, wall = run([addfg, "build", trace, "--force", "-q", "-o", path, *options[kind], *more])
        if kind == "sums":
            steps = int(rows(addfg, path, "SELECT value FROM meta WHERE key = 'steps'")[0][0])
        size = os.path.getsize(path)
        print(f"| {kind} | {size / 1e6:.1f} | {size / steps:.3f} | {cpu:.1f} | {wall:.1f} |", flush=True)
    chunks = rows(addfg, paths["packed"], "SELECT sum(octet_length(data)), count(DISTINCT first_seq) FROM run_piece")[0]
    code = rows(addfg, paths["packed"], "SELECT octet_length(data) FROM run_code")[0]
    print(f"\n{steps:,} steps; {chunks[1]} chunks of {int(chunks[0]) / steps:.3f} B/step; code {int(code[0]) / 1e3:.0f} KB\n")
    sql = """SELECT reader, writer FROM function_dataflow WHERE reader NOT LIKE '<%' AND writer NOT LIKE '<%'
             AND reader <> writer GROUP BY ALL ORDER BY sum(bytes) DESC, reader, writer LIMIT 1"""
    reader, writer = rows(addfg, paths["pairs"], sql)[0]
    sql = """SELECT f.name FROM function_profile p JOIN function_symbol f USING (function_id)
             JOIN function_dataflow d ON d.reader = f.name AND d.writer <> f.name
             GROUP BY ALL ORDER BY min(p.calls), f.name LIMIT 1"""
    cold = rows(addfg, paths["pairs"], sql)[0][0]
    word = {"{F}": reader, "{G}": writer, "{C}": cold, **{f"{{{n}}}": str(steps * n // 100) for n in (10, 50, 90)}}
    print("| question | packed: CPU s | wall s | rows: CPU s | wall s | answers |\n|---|---|---|---|---|---|")
    differ = 0
    for question in QUESTIONS:
        words = question.split()
        words = [words[0], None, *(word.get(w, w) for w in words[1:])]
        told = []
        for kind in ("packed", "pairs"):
            words[1] = paths[kind]
            told.append(run([addfg, *words], out=True))
        (a, *x), (b, *y) = told
        same = a.stdout == b.stdout and a.returncode == b.returncode
        differ += not same
        verdict = f"equal, {len(a.stdout)} B" if same else f"DIFFERENT: {hashlib.sha1(a.stdout).hexdigest()[:8]} {a.stderr[:200]!r} {b.stderr[:200]!r}"
        print(f"| `{question}` | {x[0]:.1f} | {x[1]:.1f} | {y[0]:.1f} | {y[1]:.1f} | {verdict} |", flush=True)
    _, cpu, wall = run([addfg, "rows", paths["packed"], "-q"])
    print(f"\n`addfg rows`: {cpu:.1f} s of CPU, {wall:.1f} s, {os.path.getsize(paths['packed']) / 1e6:.1f} MB\n")
    tables = rows(addfg, paths["pairs"], """SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views()
                                            WHERE NOT internal ORDER BY 1""")
    own = {"run_chunk", "run_piece", "run_state", "run_code", "meta", "communication_row", "communication_kind"}
    compared = 0
    for (table,) in tables:
        if table in own:
            continue
        # Columns one by one: a row as text would take minutes for a hundred million rows.
        sql = f"SELECT count(*), coalesce(sum(hash(COLUMNS(*))), 0) FROM {table}"
        a, b = (run([addfg, "sql", paths[kind], sql, "--format", "csv"], out=True)[0].stdout for kind in ("packed", "pairs"))
        if a != b:
            differ += 1
            print(f"DIFFERENT: {table}\n{a}\n{b}")
        compared += 1
    print(f"{compared} tables and views compared, {differ} differences")
    sys.exit(differ > 0)


main()
