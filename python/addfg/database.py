"""The database of one run."""

import os
import shutil
from pathlib import Path

import duckdb

from . import graphs
from .queries import Asks, library_queries


def extension():
    """DuckDB's extension of addfg: ADDFG_EXTENSION names it, or it is where packages put it beside the program. None: neither."""
    program = shutil.which(os.environ.get("ADDFG", "addfg"))
    beside = Path(program).resolve().parent.parent / "lib/addfg/addfg.duckdb_extension" if program else None
    for path in (os.environ.get("ADDFG_EXTENSION"), beside):
        if path and Path(path).is_file():
            return Path(path)
    return None


# Connections with the extension, by file, with what the file was then. The extension keeps the file open, and DuckDB before 2.0.1 waits
# for ever where such a file is opened again.
_open = {}


def connect(path):
    """A connection that reads, with the extension where it is there and DuckDB takes it: it has no signature of DuckDB's makers."""
    loaded = extension()
    if loaded:
        name, status = os.path.realpath(path), os.stat(path)
        state = status.st_ino, status.st_mtime_ns
        if name in _open:
            connection, before = _open[name]
            if before != state:
                raise RuntimeError(f"{path} has changed since it was opened: begin a new process")
            return connection.cursor()
        try:
            connection = duckdb.connect(path, read_only=True, config={"allow_unsigned_extensions": "true"})
            connection.load_extension(str(loaded))
            _open[name] = connection, state
            return connection.cursor()
        except duckdb.Error:
            # The file is open with other settings already, or the extension is of another machine.
            pass
    return duckdb.connect(path, read_only=True)


class Database(Asks):
    """What `addfg build` or `addfg record` made, opened for reading. Named queries are methods."""

    def __init__(self, path):
        if not Path(path).is_file():
            raise FileNotFoundError(f"{path}: no such database; addfg build makes one")
        self.connection = connect(str(path))

    def _by_chunks(self, function, *values):
        try:
            return self.sql(f"FROM {function}({', '.join('?' * len(values))})", values)
        except duckdb.CatalogException as error:
            raise RuntimeError("addfg.duckdb_extension is not loaded: ADDFG_EXTENSION names it, extension/build.sh makes it") from error

    def steps_between(self, first=None, last=None):
        """Steps of a run of any length, as `opcode_line` has them."""
        return self._by_chunks("addfg_steps", first, last)

    def accesses_between(self, first=None, last=None):
        """Accesses of these steps, as `data_access` has them."""
        return self._by_chunks("addfg_accesses", first, last)

    def communications(self, writer=None, reader=None):
        """What one function reads of another one, as `communication` has it; None: any."""
        return self._by_chunks("addfg_communications", writer, reader)

    def function_calls(self, function=None):
        """Calls of a function, as `function_call` has them; None: all."""
        return self._by_chunks("addfg_calls_of", function)

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
