#!/usr/bin/env python3
"""Compares what statements say of a long run by its chunks and of the same run with rows, and times them, as a Markdown table.

    benches/statements.py PACKED.duckdb ROWS.duckdb

ROWS is a copy of PACKED of which `addfg rows` has made the rows. Ends with 1 where answers differ. ADDFG names a program already built.
"""

import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ADDFG = os.path.abspath(os.environ.get("ADDFG", os.path.join(HERE, "target/release/addfg")))
STATEMENTS = [
    "SELECT space, is_write, count(*), sum(size) FROM data_access GROUP BY ALL ORDER BY ALL",
    "SELECT size, count(*) FROM data_access WHERE space = 'memory' AND NOT is_control GROUP BY 1 ORDER BY 1",
    "SELECT address // 4096 AS page, count(*) FROM data_access WHERE space = 'memory' AND is_write GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20",
    "SELECT count(*), min(seq), max(seq) FROM data_access WHERE space = 'memory' AND address BETWEEN 4214784 AND 4218880",
    "SELECT instruction_id, count(*) FROM opcode_line GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "SELECT * FROM data_access WHERE seq BETWEEN 500000000 AND 500000020 ORDER BY seq, ordinal",
    "SELECT space, count(*), sum(bytes) FROM communication GROUP BY ALL ORDER BY 1",
    "SELECT bytes, count(*) FROM communication GROUP BY 1 ORDER BY 1",
    "SELECT (read_seq - write_seq) // 1000000, count(*), sum(bytes) FROM communication WHERE space = 'memory' GROUP BY 1 ORDER BY 1 LIMIT 40",
    "SELECT address, count(*) FROM communication WHERE read_seq BETWEEN 400000000 AND 420000000 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "SELECT function_id, kind, count(*), sum(steps_self), max(depth) FROM function_call GROUP BY ALL ORDER BY ALL",
    "SELECT i.function_id, count(*) FROM steps(400000000, 450000000) JOIN instruction i USING (instruction_id) GROUP BY 1 ORDER BY 2 DESC, 1",
]


def answer(database, statement):
    begun = time.monotonic()
    done = subprocess.run([ADDFG, "sql", database, statement, "--format", "csv"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{database}: {statement}: {done.stderr}")
    return done.stdout, time.monotonic() - begun


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print("| statement | by chunks | with rows | |\n|---|---|---|---|")
    differ = 0
    for statement in STATEMENTS:
        (packed, chunks), (rows, taken) = (answer(database, statement) for database in sys.argv[1:])
        differ += packed != rows
        print(f"| `{statement}` | {chunks:.1f} | {taken:.1f} | {'same' if packed == rows else 'DIFFERENT'} |", flush=True)
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
