"""A lake on Apache Spark: the same queries, from the same files.

    from pyspark.sql import SparkSession
    import addfg.spark
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    lake = addfg.spark.SparkLake(spark, "lake/")
    lake.growth(label="size").show()
"""

import re

from .lake import LABEL, RUN, Files
from .queries import Asks, folder, lake_queries


def _schema(columns):
    """DuckDB's names of types as Spark has them."""
    return columns.replace("VARCHAR", "STRING")


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

    def ask(self, name, *given, **named):
        """The rows of a question."""
        query = lake_queries()[name]
        return self.sql(query.sql, query.values(given, named))
