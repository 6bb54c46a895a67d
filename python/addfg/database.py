"""The database of one run."""

from pathlib import Path

import duckdb

from . import graphs
from .queries import Asks, library_queries


class Database(Asks):
    """What `addfg build` or `addfg record` made, opened for reading. Named queries are methods."""

    def __init__(self, path):
        if not Path(path).is_file():
            raise FileNotFoundError(f"{path}: no such database; addfg build makes one")
        self.connection = duckdb.connect(str(path), read_only=True)

    def _queries(self):
        return library_queries()

    def sql(self, text, values=()):
        """The rows of a query as a DataFrame."""
        return self.connection.execute(text, list(values)).df()

    def ask(self, name, *given, **named):
        """The rows of a named query, as `addfg sql DB @NAME` gives them."""
        query = library_queries()[name]
        return self.sql(query.sql, query.values(given, named, self._function))

    def _function(self, name):
        found = self.sql("SELECT function_id FROM function_symbol WHERE name = ?", [name])
        if len(found) != 1:
            near = self.sql(
                "SELECT name FROM function_symbol ORDER BY jaro_winkler_similarity(name, ?) DESC, name LIMIT 3", [name]
            )
            raise KeyError(f"no function {name}; near it are {', '.join(near.name)}")
        return int(found.function_id[0])

    def graph(self):
        """Functions with their steps, data (bytes by via) and calls, as a networkx MultiDiGraph."""
        functions = self.sql(
            "SELECT f.name AS function, f.kind, p.calls, p.steps_self AS steps FROM function_profile_folded p"
            " JOIN function_symbol f USING (function_id) ORDER BY p.function_id"
        )
        data = self.sql(
            "SELECT w.name AS writer, r.name AS reader, e.via, e.bytes FROM function_edge_folded e"
            " JOIN function_symbol w ON w.function_id = e.writer_function_id"
            " JOIN function_symbol r ON r.function_id = e.reader_function_id ORDER BY ALL"
        )
        calls = self.sql(
            "SELECT c.name AS caller, f.name AS callee, sum(e.calls)::BIGINT AS calls FROM call_edge_folded e"
            " JOIN function_symbol c ON c.function_id = e.caller_function_id"
            " JOIN function_symbol f ON f.function_id = e.callee_function_id GROUP BY ALL ORDER BY ALL"
        )
        return graphs.graph(functions, data, calls)
