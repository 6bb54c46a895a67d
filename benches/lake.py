"""A lake of synthetic runs, and how long its questions take.

    lake.py make LAKE RUNS      10,000 rows a run: 5,000 edges, 2,000 calls, 1,000 functions, 2,000 lines
    lake.py pack LAKE RUNS      the same as one pack alone, without a file for each run
    lake.py ask LAKE [ADDFG]    each question once as a process of its own, after one that fills the system's cache
    lake.py steps LAKE READER   who wrote the bytes that a function read, in which runs (collected with their steps): on one machine,
                                and on Spark with two workers; whether both give the same rows, and the lake's sums

Needs pyarrow, numpy and duckdb; steps also pandas, pyspark, and the program (ADDFG, or in PATH).
"""

import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

EDGES, CALLS, FUNCTIONS, LINES = 5000, 2000, 1000, 2000
SIZES = [2**n for n in range(6, 16)]


def template():
    """The rows that all runs have, without their figures: columns by table."""
    import numpy
    import pyarrow as pa

    random = numpy.random.default_rng(1)

    def keys(n):
        return random.integers(1, 2**62, n)

    def names(numbers):
        return pa.array([f"function_{i}" for i in numbers]).dictionary_encode()

    def files(numbers):
        return pa.array([f"file_{i % 50}.c" for i in numbers]).dictionary_encode()

    writer, reader = random.integers(0, FUNCTIONS, (2, EDGES))
    caller, callee = random.integers(0, FUNCTIONS, (2, CALLS))
    every, lines = numpy.arange(FUNCTIONS), numpy.arange(LINES)
    via = pa.array([["register", "stack", "heap", "global"][i % 4] for i in range(EDGES)]).dictionary_encode()
    code = pa.array([f"{i:032x}" for i in every])
    return {
        "edge": {"edge_key": keys(EDGES), "writer": names(writer), "writer_file": files(writer), "reader": names(reader), "reader_file": files(reader), "via": via},
        "call": {"call_key": keys(CALLS), "caller": names(caller), "caller_file": files(caller), "callee": names(callee), "callee_file": files(callee)},
        "function": {"function_key": keys(FUNCTIONS), "function": names(every), "file": files(every), "image": pa.array(["p"] * FUNCTIONS), "kind": pa.array(["function"] * FUNCTIONS), "code_hash": code, "code_bytes": every + 16},
        "line": {"line_key": keys(LINES), "file": files(lines), "line": lines.astype("int32"), "function": names(lines // 2), "code_hash": pa.array([f"{i:032x}" for i in lines])},
    }


FIGURES = {
    "edge": ["bytes", "unique_bytes", "addresses", "transfers"],
    "call": ["calls", "steps"],
    "function": ["calls", "steps_self", "steps_total", "written_bytes", "dead_bytes"],
    "line": ["instructions", "steps"],
}


def begin(lake):
    root = Path(lake)
    (root / "_runs").mkdir(parents=True)
    (root / "_schema.json").write_text('{"lake": 1, "tables": {}, "views": {}}')
    return root


def manifest(number, counts):
    run = "r" + hashlib.md5(str(number).encode()).hexdigest()[:15]
    size, version = SIZES[number % 10], number // 10 % 2 + 1
    labels = {"size": str(size), "version": str(version), "repeat": str(number // 20)}
    told = {"database": f"d{number}", "schema_version": "6", "addfg_version": "0", "detail": "summary", "steps": size}
    return {"lake": 1, "program": "p", "run": run, **told, "labels": labels, "tables": counts}


def shape():
    """Of each row of each table, how its figures grow and where they begin."""
    import numpy

    random = numpy.random.default_rng(2)
    rows = template()
    grows = {name: random.choice([0.0, 1.0, 1.0, 1.1, 2.0], len(columns[next(iter(columns))])) for name, columns in rows.items()}
    base = {name: random.integers(10, 10000, len(exponents)) for name, exponents in grows.items()}
    return rows, grows, base, {name: len(exponents) for name, exponents in base.items()}


def make(lake, runs):
    import numpy
    import pyarrow as pa
    import pyarrow.parquet as pq

    root, random = begin(lake), numpy.random.default_rng(3)
    rows, grows, base, counts = shape()
    for number in range(runs):
        told = manifest(number, counts)
        run, size, version = told["run"], told["steps"], told["labels"]["version"]
        for name, columns in rows.items():
            count = counts[name]
            # Noise of a percent; a tenth of all grow by a quarter in version 2.
            values = base[name] * size ** grows[name] * random.uniform(0.995, 1.005, count)
            values = (values * numpy.where((numpy.arange(count) % 10 == 0) & (version == "2"), 1.25, 1)).astype("int64")
            table = {"run_id": numpy.full(count, int(run[1:], 16)), **columns}
            table |= {figure: values // (place + 1) for place, figure in enumerate(FIGURES[name])}
            folder = root / name / "program=p" / f"run={run}"
            folder.mkdir(parents=True)
            pq.write_table(pa.table(table), folder / "part-0.parquet", compression="zstd", compression_level=1)
        (root / "_runs" / f"p.{run}.json").write_text(json.dumps(told))


def pack(lake, runs):
    import duckdb
    import pyarrow as pa

    folder = begin(lake) / "_packed" / "synthetic"
    rows, grows, base, counts = shape()
    told = [manifest(number, counts) for number in range(runs)]
    run = pa.table({  # noqa: F841: DuckDB finds it by its name
        "place": list(range(runs)), "run_id": [int(m["run"][1:], 16) for m in told], "size": [m["steps"] for m in told],
        "version": [m["labels"]["version"] for m in told],
    })
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    for name, columns in rows.items():
        row = pa.table({"place": list(range(counts[name])), **columns, "grow": grows[name], "base": base[name]})
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM row ORDER BY {next(iter(columns))}")
        target = folder / name / "program=p"
        target.mkdir(parents=True)
        listed = ", ".join(f"t.{column}" for column in columns)
        figures = ", ".join(f"CAST(value // {place} AS BIGINT) AS {figure}" for place, figure in enumerate(FIGURES[name], 1))
        connection.execute(f"""
            COPY (SELECT run_id, {listed}, {figures}
                  FROM (SELECT r.run_id, t.*, CAST(t.base * pow(r.size, t.grow) * (0.995 + 0.01 * random())
                               * CASE WHEN t.place % 10 = 0 AND r.version = '2' THEN 1.25 ELSE 1 END AS BIGINT) AS value
                        FROM range({counts[name]} * {runs}) g(i) JOIN {name} t ON t.rowid = i // {runs}
                        JOIN run r ON r.place = i % {runs}) t)
            TO '{target}/part-0.parquet' (FORMAT parquet, COMPRESSION zstd)""")
    view = (Path(__file__).parents[1] / "queries/lake/views/thing.sql").read_text().replace("program, ", "")
    connection.execute("CREATE TABLE loop (loop_key BIGINT, function VARCHAR, file VARCHAR, number INTEGER)")
    (folder / "thing" / "program=p").mkdir(parents=True)
    connection.execute(f"COPY ({view}) TO '{folder}/thing/program=p/part-0.parquet' (FORMAT parquet)")
    (folder / "runs.json").write_text(json.dumps(told))


QUESTIONS = [
    ["labels"], ["hot"], ["growth"], ["growth", "size", "bytes"], ["history", "function_1", "-"], ["only_some", "size"], ["range", "size"],
    ["changed", "version", "1", "2"], ["changed", "version", "1", "2", "steps"], ["regressed", "version", "1", "2"],
    ["code_changed", "version", "1", "2"], ["lines_changed", "version", "1", "2"],
]


def ask(lake, addfg):
    for question in [QUESTIONS[0], *QUESTIONS]:
        begun, used = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run([addfg, "sql", lake, "@" + question[0], *question[1:], "--format", "csv"], capture_output=True, text=True)
        long, after = time.time() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        print(f"{' '.join(question)}: {long:.2f} s, {processor:.2f} s of processors, {len(ran.stdout.splitlines()) - 1} rows {ran.stderr.strip()[:200]}", flush=True)


def steps(lake, reader):
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
    import addfg
    from addfg.spark import SparkLake
    from pyspark.sql import SparkSession

    command, opened = ("flows", "glob:*", reader, "--limit", "0"), addfg.open(lake)
    begun = time.time()
    one = opened.each(*command)
    long = time.time() - begun
    found = one[one.writer_function != reader].groupby(["run", "writer_function"]).bytes.sum()
    sums = opened.sql(
        "SELECT printf('r%015x', run_id) AS run, writer, sum(bytes)::BIGINT AS bytes FROM edge"
        " WHERE reader = ? AND writer <> ? AND NOT starts_with(writer, '<') AND bytes > 0 GROUP BY ALL", [reader, reader])
    equal = {(r.run, r.writer): int(r.bytes) for r in sums.itertuples()} == {key: int(n) for key, n in found.items()}
    print(f"one machine: {len(opened.runs)} runs, {len(one)} rows, {long:.1f} s; sums {'equal' if equal else 'DIFFER'}", flush=True)
    spark = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.driver.bindAddress", "127.0.0.1")
    spark = spark.config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate()
    begun = time.time()
    rows = SparkLake(spark, lake).each(*command).collect()
    long = time.time() - begun
    whole = one.astype(object).where(one.notna(), None).itertuples(index=False, name=None)
    equal = sorted(map(repr, map(tuple, rows))) == sorted(map(repr, whole))
    print(f"Spark, two workers: {len(rows)} rows, {long:.1f} s; rows {'equal' if equal else 'DIFFER'}", flush=True)
    spark.stop()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", lake, runs]:
            make(lake, int(runs))
        case ["pack", lake, runs]:
            pack(lake, int(runs))
        case ["ask", lake, *addfg]:
            ask(lake, addfg[0] if addfg else "addfg")
        case ["steps", lake, reader]:
            steps(lake, reader)
        case _:
            sys.exit(__doc__)
