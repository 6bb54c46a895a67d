"""All questions of queries/lake on DuckDB and on Spark with two workers: the same rows; then the example's build of several recordings on
those workers, twice. usage: spark.py LAKE ADDFG NEW-LAKE"""

import math
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession  # noqa: E402

import addfg  # noqa: E402
from addfg.spark import SparkLake  # noqa: E402

#: What is asked where a parameter has no default, by its name.
WORDS = {"one": "fill", "two": "add_up", "label": "version", "before": "1", "after": "2"}


def session():
    return (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .appName("addfg")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def plain(value):
    """A value as both engines have it: whole numbers, numbers to 9 digits, texts, None."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    if isinstance(value, str):
        return value
    return int(number) if number == int(number) and abs(number) < 2**53 else float(f"{number:.9g}")


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-3)
    return a == b


def building(spark, program, lake):
    """Builds two recordings and one that is none on the workers, then all again: the first time two are built, then none."""
    examples = Path(__file__).parents[2] / "examples"
    sys.path.insert(0, str(examples / "lake"))
    import build_on_spark

    spark.sparkContext.addPyFile(str(examples / "lake" / "build_on_spark.py"))
    jobs = [{"trace": str(examples / n / f"{n}.log.xz"), "elf": str(examples / n / n), "input": n} for n in ("fir", "jpeg")]
    jobs.append({"trace": str(examples / "fir" / "fir.c"), "elf": jobs[0]["elf"], "input": "bad"})
    failed = 0
    for expected in (["built", "built", "failed"], ["skipped", "skipped", "failed"]):
        begun = time.time()
        results = build_on_spark.run(spark, lake, jobs, program)
        runs = len(addfg.open(lake).runs)
        print(f"building: {[what for _, what, _ in results]}, {runs} runs, {time.time() - begun:.1f} s", flush=True)
        failed += [what for _, what, _ in results] != expected or runs != 2
        if failed:
            print(results)
    return failed


def steps(lake, on_spark, program):
    """Questions to the steps of the runs: rows of Spark's workers, of whole runs and of parts, are those of one machine."""
    os.environ["ADDFG"] = program
    failed = 0
    for command, part in [
        (("flows", "glob:*", "main", "--limit", "0"), None),
        (("flows", "glob:*", "glob:*i*", "--limit", "0"), 20_000),
        (("instances", "main"), None),
        (("sql", "SELECT name, address FROM function_symbol"), None),
        (("flows", "glob:<*", "nobody,main", "--limit", "1"), None),
    ]:
        begun = time.time()
        try:
            one = lake.each(*command)
        except RuntimeError as error:
            one = str(error)
        middle = time.time()
        try:
            frame = on_spark.each(*command, part=part, program=program)
            two = sorted(tuple(map(plain, row)) for row in frame.collect())
        except RuntimeError as error:
            two = str(error)
        ended = time.time()
        if isinstance(one, str) or isinstance(two, str):
            equal = isinstance(one, str) and isinstance(two, str) and one.split(": ")[-1] == two.split(": ")[-1]
        else:
            names = list(one.columns)
            one = sorted(tuple(map(plain, row)) for row in one.astype(object).where(one.notna(), None).itertuples(index=False, name=None))
            equal = len(one) > 0 and names == frame.columns and one == two
        print(f"each {command} by {part}: {len(two)} rows, one machine {middle - begun:.2f} s, Spark {ended - middle:.1f} s{'' if equal else ': DIFFER'}", flush=True)
        failed += not equal
    return failed


def main():
    path = sys.argv[1]
    lake = addfg.open(path)
    begun = time.time()
    spark = session()
    on_spark = SparkLake(spark, path)
    print(f"session with {len(lake.files.runs)} runs: {time.time() - begun:.1f} s", flush=True)
    failed = 0
    for name, query in addfg.lake_queries().items():
        given = {p.name: WORDS[p.name] for p in query.parameters if p.default is None}
        if name == "history":
            given["two"] = "add_up"
        begun = time.time()
        one = lake.connection.execute(query.sql, query.values((), given))
        names, one = [column[0] for column in one.description], one.fetchall()
        middle = time.time()
        frame = on_spark.ask(name, **given)
        two = [tuple(row) for row in frame.collect()]
        ended = time.time()
        rows = [[tuple(map(plain, row)) for row in rows] for rows in (one, two)]
        equal = names == frame.columns and len(one) == len(two)
        equal = equal and all(same(a, b) for x, y in zip(*rows) for a, b in zip(x, y))
        print(f"{name}: {len(one)} rows, DuckDB {middle - begun:.2f} s, Spark {ended - middle:.1f} s{'' if equal else ': DIFFER'}", flush=True)
        if not equal:
            failed += 1
            for x, y in zip(*rows):
                if not all(same(a, b) for a, b in zip(x, y)):
                    print(" ", x, "\n ", y)
                    break
            print(len(one), len(two), names, frame.columns)
    failed += steps(lake, on_spark, sys.argv[2])
    failed += building(spark, *sys.argv[2:])
    # Spark's own end tells of what it stops: nothing that matters here.
    sys.stdout.flush()
    spark.stop()
    sys.exit(1 if failed else 0)


main()
