"""The named queries: a file of `queries/lake` or `queries/library` each, with what it says of itself."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

_INSTALLED = Path(__file__).parent / "queries"
#: In a checkout, the files that addfg itself is made of.
FOLDER = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[2] / "queries"
#: For a count of 0: all. What Spark takes for LIMIT at most.
ALL = 2**31 - 1
MEASURES = ("all", "steps", "calls", "bytes", "buffer", "iterations", "steps_total", "written_bytes", "dead_bytes", "unique_bytes")
#: Of one run: what start-up, end and the dynamic linker do is left out, or not.
WHOSE = ("program", "all")


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str
    default: str | None
    about: str


@dataclass(frozen=True)
class Query:
    name: str
    about: str
    sql: str
    parameters: tuple[Parameter, ...] = ()
    reads: tuple[str, ...] = ()
    #: What an empty answer means.
    none: str = ""
    #: Columns with type and meaning, of what makes a table or view.
    columns: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)

    def values(self, given, named, function=None):
        """The values of `$1`, `$2`, ... for what a caller gave; `function` finds the id of a function."""
        if len(given) > len(self.parameters):
            raise TypeError(f"{self.name}{self.usage()} takes {len(self.parameters)} values, not {len(given)}")
        known = [p.name for p in self.parameters]
        for word in named:
            if word not in known[len(given):]:
                raise TypeError(f"{self.name}{self.usage()} has no other parameter {word}")
        values = []
        for place, parameter in enumerate(self.parameters):
            value = given[place] if place < len(given) else named.get(parameter.name, parameter.default)
            if value is None:
                raise TypeError(f"{self.name}{self.usage()}: {parameter.name} is missing")
            values.append(self._value(parameter, value, function))
        return values

    def _value(self, parameter, value, function):
        if parameter.name == "measure" and value not in MEASURES:
            raise ValueError(f"{value!r} is not a measure: {', '.join(MEASURES)}")
        match parameter.kind:
            case "count":
                return int(value) or ALL
            case "step":
                return int(value)
            case "number":
                return float(value)
            case "address":
                return value if isinstance(value, int) else int(str(value), 16)
            case "function":
                return function(str(value))
            case "program or all" if value not in WHOSE:
                raise ValueError(f"{value!r} is neither {' nor '.join(WHOSE)}")
            case _:
                return str(value)

    def usage(self):
        return "(" + ", ".join(p.name if p.default is None else f"{p.name}={p.default!r}" for p in self.parameters) + ")"


def _read(path):
    text = path.read_text()
    lines = [line[3:] for line in re.match(r"(?:-- .*\n)*", text)[0].splitlines()]
    parameters, reads, none, columns = [], (), "", []
    for line in lines[1:]:
        key, _, rest = line.partition(" ")
        if key == "param":
            head, _, about = rest.partition(": ")
            head, _, default = head.partition(" = ")
            name, _, kind = head.partition(" ")
            parameters.append(Parameter(name, kind, default or None, about))
        elif key == "none:":
            none = rest
        elif key == "reads:":
            reads = tuple(rest.split(", "))
        elif key == "column":
            head, _, about = rest.partition(": ")
            columns.append((*head.split(" "), about))
    sql = text.rstrip().rstrip(";")
    return Query(path.stem, lines[0], sql, tuple(parameters), reads, none, tuple(columns))


@cache
def folder(name):
    """The queries of a folder by name."""
    return {path.stem: _read(path) for path in sorted((FOLDER / name).glob("*.sql"))}


def lake_queries():
    """The questions across runs."""
    return folder("lake")


def library_queries():
    """The questions to one run."""
    return folder("library")


class Asks:
    """Each of `_queries()` as a method that gives a DataFrame."""

    def __getattr__(self, name):
        query = None if name.startswith("_") else self._queries().get(name)
        if query is None:
            raise AttributeError(f"no query {name}; there are {', '.join(self._queries())}")

        def ask(*given, **named):
            return self.ask(name, *given, **named)

        ask.__name__, ask.__doc__ = name, f"{name}{query.usage()}\n\n{query.about}\n\n" + "\n".join(
            f"{p.name}: {p.about}" for p in query.parameters
        )
        return ask

    def __dir__(self):
        return [*super().__dir__(), *self._queries()]
