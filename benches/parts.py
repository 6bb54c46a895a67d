#!/usr/bin/env python3
"""Times questions about parts of long runs, as a Markdown table on standard output.

    benches/parts.py [--decodes N] [--bytes N] [--rounds N] [--only NAME,...] [--questions WORD,...]

Records programs at detail summary: the JPEG decoder of examples/ that decodes N times, bzip2 that compresses N bytes, CPython
that does a loop N times. Each question is asked of a cold, a middle and a hot function (some 0.001 % and 1 % of the steps, and
the most), and slices at three places. Each time has the share of the run's chunks that were read; 200 % are all chunks, twice.
The first question of a run prepares it, and has a column of its own. callgrind's time for the same program is the reference.

Needs gcc, libstb-dev and valgrind; bzip2 and python3 each for its rows. ADDFG names a program already built.
"""

import argparse
import csv
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ADDFG = os.path.abspath(os.environ.get("ADDFG", os.path.join(HERE, "target/release/addfg")))
SCRIPT = """
words = {}
for i in range(%d):
    words[i %% 1000] = words.get(i %% 1000, 0) + i * i
print(sum(words.values()))
"""


def run(command, **more):
    """What a command prints, and how long it takes."""
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, **more)
    took = time.monotonic() - begun
    if done.returncode > 1:
        sys.exit(f"{' '.join(command)}: {done.stderr.decode()}")
    return done.stdout, took


def asked(words, chunks):
    """How long a question takes, and the share of the chunks that it reads."""
    begun = time.monotonic()
    done = subprocess.run([ADDFG, *words], capture_output=True, text=True, env={**os.environ, "ADDFG_COUNT_CHUNKS": "1"})
    took = time.monotonic() - begun
    if done.returncode > 1:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    read = int(re.search(r"chunks read: (\d+)", done.stderr)[1])
    return f"{took:.1f} s, {100 * read / chunks:.0f} %"


def rows(db, sql):
    text = run([ADDFG, "sql", db, sql, "--format", "csv"])[0].decode()
    return list(csv.reader(io.StringIO(text)))[1:]


def programs(options):
    """Name and command of each."""
    if shutil.which("gcc"):
        flags = "-g -O1 -w -fno-inline -static -nostdlib -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables"
        run(["gcc", *flags.split(), "-o", "jpeg", os.path.join(HERE, "examples/jpeg/decode.c")])
        run(["gcc", "-O2", "-w", "-o", "encode", os.path.join(HERE, "examples/jpeg/encode.c"), "-lm"])
        run(["./encode", "image.jpg", "512"])
        yield "jpeg", ["./jpeg", "image.jpg", str(options.decodes)]
    if shutil.which("bzip2"):
        with open("text", "wb") as file:
            file.write(os.urandom(options.bytes // 2).hex().encode())
        yield "bzip2", ["bzip2", "-kc", "text"]
    with open("script.py", "w") as file:
        file.write(SCRIPT % options.rounds)
    yield "cpython", [os.path.realpath(sys.executable), "script.py"]


def functions(db):
    """A cold, a middle and a hot function, each with the one that gives it most."""
    all_rows = rows(db, """
        SELECT s.name, p.steps_self, p.steps_self / sum(p.steps_self) OVER () AS share
        FROM function_profile p JOIN function_symbol s USING (function_id)
        WHERE s.kind <> 'stub' AND p.calls > 0 AND p.steps_self > 0 AND (SELECT count(*) FROM function_symbol t WHERE t.name = s.name) = 1
        ORDER BY p.steps_self DESC, s.name""")
    nearest = lambda share: min(all_rows, key=lambda row: abs(float(row[2]) - share))
    for kind, row in (("cold", nearest(1e-5)), ("middle", nearest(1e-2)), ("hot", all_rows[0])):
        giver = rows(db, f"""SELECT writer FROM function_dataflow WHERE reader = '{row[0].replace("'", "''")}' AND writer <> reader
                             AND writer NOT LIKE '<%' GROUP BY writer ORDER BY sum(bytes) DESC, writer LIMIT 1""")
        yield kind, row[0], giver[0][0] if giver else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decodes", type=int, default=27)
    parser.add_argument("--bytes", type=int, default=2000000)
    parser.add_argument("--rounds", type=int, default=1200000)
    parser.add_argument("--only", type=lambda text: text.split(","), help="names of programs")
    parser.add_argument("--questions", type=lambda text: text.split(","), help="first words of questions: the others are left out")
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    print("| program | steps, M | callgrind | record | database | first question | question | cold | middle | hot |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    try:
        for name, command in programs(options):
            if not options.only or name in options.only:
                measure(name, command, options.questions)
    finally:
        shutil.rmtree(folder)


def measure(name, command, questions):
    db = f"{name}.duckdb"
    callgrind = run(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command])[1]
    record = run([ADDFG, "record", "-q", "--detail", "summary", "-o", db, "--", *command])[1]
    steps, chunks = (int(cell) for cell in rows(db, "SELECT max(last_seq), count(*) FROM run_chunk")[0])
    before = os.path.getsize(db)
    chosen = list(functions(db))
    first = run([ADDFG, "instances", db, chosen[0][1], "--limit", "5"])[1]
    size = f"{before / 1e6:.0f} MB, then {os.path.getsize(db) / 1e6:.0f}"
    known = [name, f"{steps / 1e6:.0f}", f"{callgrind:.1f} s", f"{record:.1f} s", size, f"{first:.1f} s"]

    def row(question, commands):
        if questions and question.strip("`").split()[0] not in questions:
            return
        took = [asked(words, chunks) if words else "" for words in commands]
        print("| " + " | ".join([*known, question, *took]) + " |", flush=True)
        known[:] = [""] * len(known)

    row("`flows`", [["flows", db, giver, name, "--limit", "100"] if giver else None for _, name, giver in chosen])
    row("`cut`", [["cut", db, name] for _, name, _ in chosen])
    row("`cut --callees`", [["cut", db, name, "--callees"] for _, name, _ in chosen])
    row("`plan --exact`", [["plan", db, "--exact"], None, None])
    row("`instances`", [["instances", db, name, "--limit", "100"] for _, name, _ in chosen])
    row("`objects --functions`", [["objects", db, "--functions", name] for _, name, _ in chosen])
    row("`loops --functions`", [["loops", db, "--functions", name] for _, name, _ in chosen])
    places = [str(steps * tenth // 10) for tenth in (1, 5, 9)]
    row("`slice` at 10, 50, 90 %", [["slice", db, "--at", place, "--limit", "50"] for place in places])


if __name__ == "__main__":
    main()
