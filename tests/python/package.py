"""The package and the program give the same rows. usage: package.py LAKE DB ADDFG"""

import csv
import io
import os
import subprocess
import sys

import pandas

import addfg

WORDS = {"one": "main", "label": "version", "before": "1", "after": "2", "function": "stbi__jpeg_decode_block", "first": "1000", "table": "function_call"}


def printed(program, path, name, words):
    command = [program, "sql", path, "@" + name, *words, "--format", "csv"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(csv.reader(io.StringIO(ran.stdout)))


def cell(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def told(text):
    try:
        return f"{float(text):.6g}" if "." in text or "e" in text else text
    except ValueError:
        return text


def compare(asks, queries, path, program):
    for name, query in queries.items():
        needed = [p for p in query.parameters if p.default is None]
        words = [WORDS.get(p.name, {"function": "stbi__jpeg_decode_block", "step": "1000", "address": "0x406110", "name": "function_call"}.get(p.kind, "1")) for p in needed]
        values = query.values(words, {}, getattr(asks, "_function", None))
        rows = asks.connection.execute(query.sql, asks.meant(query, values) if hasattr(asks, "meant") else values)
        names, rows = [column[0] for column in rows.description], rows.fetchall()
        first, *others = printed(program, path, name, words)
        assert first == names, (name, first, names)
        assert len(rows) == len(others), (name, len(rows), len(others))
        if name in ("tables", "columns"):
            continue
        for mine, theirs in zip(rows, others):
            # A whole number as a float is written without its point.
            for a, b in zip(map(cell, mine), map(told, theirs)):
                same = a == b or b == "" or a.removesuffix(".0") == b or a.lower() == b
                assert same, (name, mine, theirs)
        print(f"{name}: {len(rows)} rows")


def steps(lake, part, program):
    """What `addfg each` says is what the package gives, and adds up to the sums that were collected."""
    os.environ["ADDFG"] = program
    found = lake.each("flows", "glob:*", "main", "--limit", "0")
    ran = subprocess.run([program, "each", str(lake.files.root), "--format", "csv", "--", "flows", "glob:*", "main", "--limit", "0"], capture_output=True, text=True, check=True)
    first, *others = list(csv.reader(io.StringIO(ran.stdout)))
    assert list(found.columns) == first and len(found) == len(others) > 4, (found.columns, first, len(found), len(others))
    for mine, theirs in zip(found.itertuples(index=False, name=None), others):
        assert ["" if cell is pandas.NA else str(cell) for cell in mine] == theirs, (mine, theirs)
    # Who wrote the bytes that main read, in which runs.
    written = found[found.writer_function != "main"].groupby(["run", "writer_function"]).bytes.sum()
    sums = lake.sql("SELECT 'r' || lpad(printf('%x', run_id), 15, '0') AS run, writer, sum(bytes)::BIGINT AS n FROM edge WHERE reader = 'main' AND writer <> 'main' AND writer NOT LIKE '<%' AND bytes > 0 GROUP BY ALL")
    assert len(sums) > 3 and {(r.run, r.writer): int(r.n) for r in sums.itertuples()} == {k: int(v) for k, v in written.items()}, (sums, written)
    assert len(lake.each("sql", "SELECT 1 AS one", jobs=1)) == 4 and len(part.each("sql", "SELECT 1 AS one")) == 2
    for command in [("nonsense",), ("sql", "FROM nonsense")]:
        try:
            lake.each(*command)
        except RuntimeError as error:
            assert "nonsense" in str(error)
            continue
        raise AssertionError(command)


def main():
    path, db, program = sys.argv[1:]
    lake, run = addfg.open(path), addfg.open(db)
    compare(lake, addfg.lake_queries(), path, program)
    compare(run, addfg.library_queries(), db, program)
    # A part of the runs: the other rows are not seen.
    part = addfg.open(path, version=1)
    assert len(part.runs) == 2 and len(lake.runs) == 4
    assert int(part.sql("SELECT count(DISTINCT run_id) AS n FROM edge").n[0]) == 2
    steps(lake, part, program)
    graph = run.graph()
    total = sum(edge.get("bytes", 0) for _, _, edge in graph.edges(data=True))
    assert total == int(run.sql("SELECT sum(bytes)::BIGINT AS n FROM function_edge_folded").n[0])
    assert addfg.graphs.flows(graph).number_of_edges() > 10
    if os.environ.get("ADDFG_EXTENSION"):
        assert list(run.steps_between(1, 5).seq) == [1, 2, 3, 4, 5]
        assert len(run.accesses_between(1, 5)) == len(run.sql("FROM accesses(1, 5)"))
        assert len(run.communications()) == run.sql("SELECT count(*) AS n FROM communication").n[0]
        assert len(run.function_calls("main")) == 1
    else:
        try:
            run.steps_between(1, 5)
        except RuntimeError as error:
            assert "ADDFG_EXTENSION" in str(error), error
    for wrong, error in [
        (lambda: run.hot_edges(1, "all", 2), TypeError), (lambda: run.hot_edges(1, "some"), ValueError), (lambda: lake.growth(measure="byte"), ValueError), (lambda: lake.nonsense, AttributeError),
        (lambda: run.writers_of("nonsense"), KeyError), (lambda: lake.changed("version"), TypeError), (lambda: addfg.open("no.duckdb"), FileNotFoundError),
        (lambda: addfg.open(path, version=7), addfg.LakeError),
        (lambda: lake.history("nonsense"), KeyError), (lambda: lake.history("main", "-", "size", "bytes"), KeyError), (lambda: lake.changed("version", "1", "1"), addfg.LakeError), (lambda: lake.changed("version", "1", "v9"), KeyError), (lambda: lake.growth(label="sise"), KeyError),
    ]:
        try:
            wrong()
        except error:
            continue
        raise AssertionError(error)


main()
