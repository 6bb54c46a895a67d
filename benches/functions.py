#!/usr/bin/env python3
"""What DuckDB's extension of addfg takes for runs of any length, as a Markdown table.

usage: functions.py EXTENSION DB...

Each DB is one that a question about parts of the run was asked of, or `addfg prepare`d. Needs the Python package duckdb. Functions are those at the top,
in the middle and at the end of the list by own steps, of those that read what others wrote. Processor time is that of all threads.
"""

import sys
import time

import duckdb

RANGE = 150_000_000


def row(connection, name, query):
    wall, cpu = time.time(), time.process_time()
    rows = connection.execute(query).fetchone()[0]
    wall, cpu = time.time() - wall, time.process_time() - cpu
    print(f"| {name} | {rows:,} | {wall:.2f} | {cpu:.2f} | {rows / cpu / 1e6:.1f} |", flush=True)


def main():
    extension, *files = sys.argv[1:]
    for file in files:
        connection = duckdb.connect(file, read_only=True, config={"allow_unsigned_extensions": "true"})
        connection.load_extension(extension)
        (steps,) = connection.execute("SELECT max(last_seq) FROM run_chunk").fetchone()
        print(f"\n{file.rsplit('/', 1)[-1]}, {steps:,} steps\n\n| | rows | s | CPU s | M rows/CPU s |\n|---|---|---|---|---|")
        last = min(steps, RANGE)
        row(connection, "steps", f"SELECT count(*), sum(instruction_id) FROM addfg_steps(1, {last})")
        row(connection, "sizes of accesses", f"SELECT count(*), sum(size) FROM addfg_accesses(1, {last})")
        row(connection, "addresses of accesses", f"SELECT count(*), max(address) FROM addfg_accesses(1, {last})")
        row(connection, "space of accesses", f"SELECT count(*), max(space) FROM addfg_accesses(1, {last})")
        middle = steps // 2
        row(connection, "1,000 steps in the middle", f"SELECT count(*), sum(instruction_id) FROM addfg_steps({middle}, {middle + 999})")
        names = connection.execute(
            "SELECT f.name FROM function_profile p JOIN function_symbol f USING (function_id) WHERE f.kind <> 'pseudo' AND EXISTS"
            " (FROM function_edge e WHERE e.reader_function_id = f.function_id AND e.writer_function_id <> f.function_id) ORDER BY p.steps_self, f.name"
        ).fetchall()
        for place, what in ((-1, "hottest"), (len(names) // 2, "middle"), (0, "coldest")):
            name = names[place][0].replace("'", "''")
            row(connection, f"what the {what} function reads", f"SELECT count(*), sum(bytes) FROM addfg_communications(NULL, '{name}')")
            row(connection, f"calls of the {what} function", f"SELECT count(*), max(steps_total) FROM addfg_calls_of('{name}')")


main()
