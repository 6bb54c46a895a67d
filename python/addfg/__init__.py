"""Databases and lakes of addfg in Python.

    import addfg
    db = addfg.open("jpeg.duckdb")          # a run
    db.hot_edges(rows=5)                    # addfg sql jpeg.duckdb @hot_edges 5, as a DataFrame
    db.graph()                              # data flow and calls, as a networkx graph
    lake = addfg.open("lake/")              # many runs, which addfg collect made
    lake.growth(label="size")               # addfg sql lake @growth size
    lake.sql("SELECT * FROM edge LIMIT 3")
"""

from pathlib import Path

from .database import Database
from .lake import Lake, LakeError
from .queries import Query, lake_queries, library_queries

__all__ = ["Database", "Lake", "LakeError", "Query", "lake_queries", "library_queries", "open"]


def open(path, **labels):  # noqa: A001: as addfg.open it is clear
    """A lake where `path` is a folder that `addfg collect` made, else a database. `labels` choose runs of a lake."""
    return Lake(path, **labels) if (Path(path) / "_schema.json").is_file() else Database(path)
