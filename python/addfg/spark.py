"""A lake on Apache Spark: the same queries, from the same files.

    from pyspark.sql import SparkSession
    import addfg.spark
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    lake = addfg.spark.SparkLake(spark, "lake/")
    lake.growth(label="size").show()
"""

import re

from . import steps
from .lake import LABEL, RUN, Files
from .queries import Asks, folder, lake_queries

#: Types of what JSON has.
TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}


def _schema(columns):
    """DuckDB's names of types as Spark has them."""
    return columns.replace("VARCHAR", "STRING")


def _types(rows):
    """Columns of rows with their types; what is of several types, or of none, is text."""
    found = {}
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, set()).update(() if value is None else (type(value),))
    numbers = {name: kinds - {int} if kinds == {int, float} else kinds for name, kinds in found.items()}
    return {name: TYPES.get(next(iter(kinds)), "STRING") if len(kinds) == 1 else "STRING" for name, kinds in numbers.items()}


def _doer(ask, types):
    """What a worker does with its tasks."""

    def do(batches):
        import json

        import pyarrow

        kinds = {"BOOLEAN": pyarrow.bool_(), "BIGINT": pyarrow.int64(), "DOUBLE": pyarrow.float64(), "STRING": pyarrow.string()}
        schema = pyarrow.schema([(name, kinds[kind]) for name, kind in types.items()])

        def cell(name, value):
            return json.dumps(value) if types[name] == "STRING" and not isinstance(value, str | None) else value

        for batch in batches:
            for task in batch.to_pylist():
                rows = ask([*task["choosing"], "--jobs", "1"], task["more"])[0]
                if rows and list(rows[0]) != list(types):
                    raise RuntimeError(f"{task['choosing'][-1]} answers with other columns ({list(rows[0])}) than the runs before it ({list(types)})")
                for first in range(0, len(rows), 8192):
                    part = [{name: cell(name, row.get(name)) for name in types} for row in rows[first : first + 8192]]
                    yield pyarrow.RecordBatch.from_pylist(part, schema)

    return do


class SparkLake(Asks):
    """The runs of a lake as temporary views of a session. Named queries are methods that give Spark's DataFrames.

    `url` is the lake's folder as the workers see it (s3a://..., hdfs://...), where that is not `path`, by which the driver reads
    the lists of runs.
    """

    def __init__(self, spark, path, url=None, **labels):
        self.spark, self.files = spark, Files(path, labels)
        self._at = (str(self.files.root), (url or str(self.files.root)).rstrip("/"))
        self._view("run", spark.createDataFrame(self.files.run_rows(), _schema(RUN)))
        self._view("label", spark.createDataFrame(self.files.label_rows(), _schema(LABEL)))
        tables = {name: table for name, table in folder("lake/collect").items() if name != "named"}
        views = folder("lake/views")
        things = self._packed(views["thing"])
        for name, table in tables.items():
            self._view(name, self._loose(table))
        loose = spark.sql(views["thing"].sql)
        every = loose.union(things) if things is not None else loose
        keys = [name for name in every.columns if name != "start_up"]
        self._view("thing", every.groupBy(*keys).agg({"start_up": "min"}).withColumnRenamed("min(start_up)", "start_up"))
        for name, table in tables.items():
            packed = self._packed(table)
            if packed is not None:
                if self.files.is_part:
                    packed = packed.join(spark.table("run").select("run_id"), "run_id", "left_semi")
                self._view(name, self._loose(table).unionByName(packed.select(*self._loose(table).columns)))
        self._view("measure", spark.sql(views["measure"].sql))

    def _queries(self):
        return lake_queries()

    @staticmethod
    def _view(name, frame):
        frame.createOrReplaceTempView(name)

    def _columns(self, table, run=True):
        own = [f"`{name}` {_schema(kind)}" for name, kind, _ in table.columns if name != "program"]
        return ["program STRING", *(["run_id BIGINT"] if run else []), *own]

    def _parquet(self, table, base, files, run=True):
        columns = self._columns(table, run)
        # What is said of types is not guessed: Spark would make numbers of folders' names.
        schema = ", ".join([*columns[1:], columns[0], "run STRING"])
        files = [file.replace(self._at[0], self._at[1], 1) for file in files]
        read = self.spark.read.schema(schema).option("basePath", base.replace(self._at[0], self._at[1], 1))
        return read.parquet(*files).select(*(column.split(" ")[0] for column in columns))

    def _loose(self, table):
        files = self.files.loose_files(table.name)
        if not files:
            return self.spark.createDataFrame([], ", ".join(self._columns(table)))
        return self._parquet(table, str(self.files.root / table.name), files)

    def _packed(self, table):
        frames = [self._parquet(table, base, files, table.name != "thing") for base, files in self.files.packed_files(table.name)]
        found = None
        for frame in frames:
            found = frame if found is None else found.union(frame)
        if found is not None and table.name == "thing":
            found = found.select(*(name for name, _, _ in table.columns))
        return found

    def sql(self, text, values=()):
        """A query with `$1`, `$2`, ... for the values: the one thing that Spark writes otherwise."""
        named = {f"p{place}": value for place, value in enumerate(values, 1)}
        return self.spark.sql(re.sub(r"\$(\d+)", r":p\1", text), args=named)

    def each(self, *command, part=None, program=None):
        """What a command says of each run that was collected with its steps, as `Lake.each` gives it: a task for each run, or for
        each `part` steps of one. The workers see the lake as a folder, and have the program (ADDFG, or PATH; `program`). A run that
        has no answer is an error."""
        ask = steps.asker(self._at[1], command, program or steps.program())
        tasks = steps.tasks(self.files, command, part)
        types = {"program": "STRING", "run": "STRING"}
        here = steps.asker(self._at[0], command, steps.program())
        for choosing, more in tasks:
            # The rows of the first task that has some tell the columns.
            if rows := here(choosing, more)[0]:
                types = _types(rows)
                break
        frame = self.spark.createDataFrame(tasks, "choosing ARRAY<STRING>, more ARRAY<STRING>").repartition(max(len(tasks), 1))
        return frame.mapInArrow(_doer(ask, types), ", ".join(f"`{name}` {kind}" for name, kind in types.items()))

    def ask(self, name, *given, **named):
        """The rows of a question."""
        query = lake_queries()[name]
        return self.sql(query.sql, query.values(given, named))
