#!/usr/bin/env python3
"""overview.py ADDFG RECORDING...: the arrows of the overview against single calls, and what data by context costs.

Builds each recording at summary (no steps) and at pairs. An arrow between two functions must have the bytes that calls
exchange, each call in the box of its nearest caller that has one; counted here from function_call and dataflow. Prints
Markdown; exit code 1 if one differs. Boxes of threads that the program began hang below main: give programs of one
thread. Needs DuckDB's Python package.
"""
import json
import os
import subprocess
import sys
import tempfile

import duckdb


def differing(addfg, summary, pairs):
    """Arrows between functions, and how many of them calls do not say."""
    drawn = json.loads(subprocess.run([addfg, "graph", summary, "--format", "json"], check=True, stdout=subprocess.PIPE).stdout)
    nodes = {node["id"]: node for node in drawn["nodes"] if node["kind"] == "function"}
    db = duckdb.connect(pairs, read_only=True)
    names = {}
    for function, name in db.execute("SELECT function_id, name FROM function_symbol WHERE kind <> 'pseudo'").fetchall():
        names.setdefault(name, []).append(function)
    box_of = {f: node["id"] for node in nodes.values() for f in names[node["full_name"]]}
    box = [None]
    for function, parent in db.execute("SELECT function_id, coalesce(parent_call_id, 0) FROM function_call ORDER BY call_id").fetchall():
        box.append(box_of.get(function, box[parent]))
    known = {}
    for writer, reader, amount in db.execute("SELECT writer_call_id, reader_call_id, sum(unique_bytes) FROM dataflow WHERE writer_call_id IS NOT NULL GROUP BY ALL").fetchall():
        ends = (box[writer], box[reader])
        known[ends] = known.get(ends, 0) + amount
    arrows = wrong = 0
    for edge in drawn["edges"]:
        if edge["kind"] == "data" and edge["from"] in nodes and edge["to"] in nodes:
            for ends, amount in [((edge["from"], edge["to"]), edge["bytes"]), ((edge["to"], edge["from"]), edge["bytes_back"])]:
                arrows, wrong = arrows + 1, wrong + (known.get(ends, 0) != amount)
    return arrows, wrong


def main():
    addfg, recordings = sys.argv[1], sys.argv[2:]
    print("| recording | contexts | rows of `stack_edge` | sums, CPU s | MB | arrows | that differ |\n|---|---|---|---|---|---|---|")
    failed = False
    for recording in recordings:
        with tempfile.TemporaryDirectory() as work:
            summary, pairs = (os.path.join(work, name) for name in ("summary.duckdb", "pairs.duckdb"))
            before = sum(os.times()[2:4])
            subprocess.run([addfg, "build", "-q", "--detail", "summary", "--no-steps", "-o", summary, recording], check=False)
            cpu = sum(os.times()[2:4]) - before
            subprocess.run([addfg, "build", "-q", "--detail", "pairs", "--no-steps", "-o", pairs, recording], check=False)
            count = duckdb.connect(summary, read_only=True).execute("SELECT (SELECT count(*) FROM call_stack), count(*) FROM stack_edge").fetchone()
            arrows, wrong = differing(addfg, summary, pairs)
            failed |= wrong > 0
            print(f"| {os.path.basename(recording)} | {count[0]:,} | {count[1]:,} | {cpu:.1f} | {os.path.getsize(summary) / 1e6:.1f} | {arrows} | {wrong} |", flush=True)
    sys.exit(failed)


main()
