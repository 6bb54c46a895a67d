"""A lake: many runs in one folder, as `addfg collect` lays them out (docs/reach.md)."""

import difflib
import json
import re
import warnings
from collections import defaultdict
from pathlib import Path

import duckdb
import pandas

from . import graphs, steps
from .queries import Asks, folder, lake_queries

#: The newest layout that this package reads.
VERSION = 2
REPEAT = "repeat"


class LakeError(Exception):
    """A folder that is not a lake, or one of a newer addfg."""


def _json(path):
    return json.loads(Path(path).read_text())


def _base(name):
    """A function's name without namespaces, template arguments and parameters."""
    if "operator" in name:
        return name
    plain = re.sub(r" \([^()]*\)$", "", name)
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", "", plain)) != plain:
        plain = shorter
    return re.split(r"::| ", plain.replace(" const", "").strip())[-1] or name


def run_id(name):
    """The number that rows have for a run of this name."""
    return int(name[1:], 16)


def others(runs):
    """For each label of the runs of a program, the others that runs are compared by: those that do not follow from it."""
    names = sorted({name for labels in runs for name in labels})

    def follows(label, name):
        seen = {}
        return all(seen.setdefault(labels[label], labels.get(name)) == labels.get(name) for labels in runs if label in labels)

    return {a: [b for b in names if b not in (a, REPEAT) and not follows(a, b)] for a in names}


def differing(recordings):
    """The keys in which the runs of a program were recorded differently: what differs in them is not compared."""
    keys = sorted({key for recording in recordings for key in recording})
    return [key for key in keys if any(recording.get(key) != recordings[0].get(key) for recording in recordings)]


def _described(values, names):
    return ", ".join(f"{name}={values[name]}" for name in names if name in values)


def _number(value):
    try:
        number = float(value)
    except ValueError:
        return None
    return number if abs(number) != float("inf") and number == number else None


class Files:
    """The runs of a lake that have some labels, and the files of their tables. What engines are given."""

    def __init__(self, path, wanted):
        self.root, self.wanted = Path(path), wanted
        if not (self.root / "_schema.json").is_file():
            raise LakeError(f"{path} is not a lake; addfg collect DB -o {path} makes one")
        self.schema = _json(self.root / "_schema.json")
        if self.schema["lake"] != VERSION:
            raise LakeError(f"{path} has lake version {self.schema['lake']}, this package reads {VERSION}")
        packs = [(p.parent, _json(p)) for p in sorted(self.root.glob("_packed/*/runs.json"))]
        packs.sort(key=lambda pack: -len(pack[1]))
        self.packs, seen = [], set()
        for place, runs in packs:
            names = {(m["program"], m["run"]) for m in runs}
            if not names & seen:
                seen |= names
                self.packs.append((place, runs))
        loose = [p for p in sorted(self.root.glob("_runs/*.json")) if tuple(p.name[:-5].rsplit(".", 1)) not in seen]
        loose = [_json(p) for p in loose]

        def has(run):
            return all((run["program"] if k == "program" else run["labels"].get(k)) == str(v) for k, v in wanted.items())

        self.loose = [run for run in loose if has(run)]
        self.is_part = any(not has(run) for _, runs in self.packs for run in runs)
        self.packs = [(place, [run for run in runs if has(run)]) for place, runs in self.packs]
        self.packs = [pack for pack in self.packs if pack[1]]
        self.runs = self.loose + [run for _, runs in self.packs for run in runs]
        if wanted and not self.runs:
            raise LakeError(f"no run of {path} has {wanted}")

    def loose_files(self, table):
        """Of the runs that have no pack."""
        runs = [run for run in self.loose if run["tables"].get(table)]
        return [str(self.root / table / f"program={r['program']}" / f"run={r['run']}" / "part-0.parquet") for r in runs]

    def packed_files(self, table):
        """By pack: its folder and files."""
        found = []
        for place, runs in self.packs:
            programs = {r["program"] for r in runs if table == "thing" or r["tables"].get(table)}
            files = [str(place / table / f"program={p}" / "part-0.parquet") for p in sorted(programs)]
            if files:
                found.append((str(place / table), files))
        return found

    def names(self):
        """All labels."""
        return sorted({name for run in self.runs for name in run["labels"]})

    def values(self, label):
        """The values of a label."""
        return {run["labels"][label] for run in self.runs if label in run["labels"]}

    def contexts(self, label, value):
        """What the runs of a value are compared by: program and the other labels."""
        ids = {run_id(run["run"]) for run in self.runs if run["labels"].get(label) == value}
        return {(row[0], row[5]) for row in self.label_rows() if row[1] in ids and row[2] == label}

    def run_rows(self):
        keys = ["database", "schema_version", "addfg_version", "detail", "steps"]
        more = [(_described(r["recording"], sorted(r["recording"])), r["collected"]) for r in self.runs]
        return [(r["program"], run_id(r["run"]), r["run"], *(r[k] for k in keys), *m) for r, m in zip(self.runs, more)]

    def label_rows(self):
        by_program = defaultdict(list)
        for run in self.runs:
            by_program[run["program"]].append(run)
        rest = {program: others([run["labels"] for run in runs]) for program, runs in by_program.items()}
        recorded = {program: differing([run["recording"] for run in runs]) for program, runs in by_program.items()}
        rows = []
        for run in self.runs:
            for name, value in sorted(run["labels"].items()):
                names = rest[run["program"]][name]
                parts = [_described(run["labels"], names), _described(run["recording"], recorded[run["program"]])]
                text = ", ".join(part for part in parts if part)
                rows.append((run["program"], run_id(run["run"]), name, value, _number(value), text))
        return rows


RUN = "program VARCHAR, run_id BIGINT, run VARCHAR, database VARCHAR, schema_version VARCHAR, addfg_version VARCHAR, detail VARCHAR, steps BIGINT, recording VARCHAR, collected BIGINT"
LABEL = "program VARCHAR, run_id BIGINT, label VARCHAR, value VARCHAR, number DOUBLE, rest VARCHAR"


class Lake(Asks):
    """The runs of a lake, or those with some labels: `Lake("lake", version=2)`. Named queries are methods."""

    def __init__(self, path, **labels):
        self.files = Files(path, labels)
        self.connection = duckdb.connect()
        self._rows("run", RUN, self.files.run_rows())
        self._rows("label", LABEL, self.files.label_rows())
        for name, table in folder("lake/collect").items():
            if name != "named":
                self.connection.execute(f'CREATE VIEW "{name}" AS {self._source(table)}')
        views = folder("lake/views")
        self.connection.execute(f"CREATE VIEW measure AS {views['measure'].sql}")
        self._things(views["thing"])

    def _queries(self):
        return lake_queries()

    def _rows(self, name, columns, rows):
        self.connection.execute(f"CREATE TABLE {name} ({columns})")
        names = [column.split(" ")[0] for column in columns.split(", ")]
        frame = pandas.DataFrame(rows, columns=names, dtype=object)  # noqa: F841: DuckDB finds it by its name
        if rows:
            self.connection.execute(f"INSERT INTO {name} SELECT * FROM frame")

    @staticmethod
    def _read(files):
        texts = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        return f"read_parquet([{texts}], hive_partitioning = true, hive_types = {{'program': VARCHAR}}, hive_types_autocast = false)"

    def _source(self, table, packs=True):
        columns = ", ".join(["program", "run_id"] + [f'"{name}"' for name, _, _ in table.columns])
        packed = [f for _, files in self.files.packed_files(table.name) for f in files] if packs else []
        parts = [f"SELECT {columns} FROM {self._read(f)}" for f in (self.files.loose_files(table.name), packed) if f]
        if not parts:
            typed = ", ".join(f'CAST(NULL AS {t}) AS "{name}"' for name, t, _ in table.columns)
            return f"SELECT CAST(NULL AS VARCHAR) AS program, CAST(NULL AS BIGINT) AS run_id, {typed} WHERE false"
        text = " UNION ALL ".join(parts)
        return f"SELECT * FROM ({text}) WHERE run_id IN (SELECT run_id FROM run)" if self.files.is_part else text

    def _things(self, view):
        self.connection.execute("CREATE SCHEMA loose; SET schema = 'loose'")
        for name in view.reads:
            self.connection.execute(f'CREATE VIEW "{name}" AS {self._source(folder("lake/collect")[name], packs=False)}')
        files = [f for _, files in self.files.packed_files("thing") for f in files]
        columns = ", ".join(name for name, _, _ in view.columns)
        packed = f" UNION ALL SELECT {columns} FROM {self._read(files)}" if files else ""
        every = f"SELECT * EXCLUDE (start_up), min(start_up) AS start_up FROM (SELECT * FROM ({view.sql}){packed}) GROUP BY ALL"
        self.connection.execute(f"CREATE VIEW main.thing AS {every}; SET schema = 'main'")

    @property
    def runs(self):
        """The runs with their labels, a row each."""
        rows = [{"program": r["program"], "run": r["run"], "steps": r["steps"], **r["labels"]} for r in self.files.runs]
        return pandas.DataFrame(rows)

    def sql(self, text, values=()):
        """The rows of a query as a DataFrame."""
        return self.connection.execute(text, list(values)).df()

    def each(self, *command, jobs=None):
        """What a command says of each run that was collected with its steps, as `addfg each LAKE -- COMMAND` gives it:
        `lake.each("flows", "fill", "add_up", "--limit", "0")`. Needs the program (ADDFG, or PATH)."""
        words = steps.choosing(self.files) + ([] if jobs is None else ["--jobs", str(jobs)])
        rows, said = steps.asker(self.files.root, command, steps.program())(words)
        if said:
            warnings.warn(said, stacklevel=2)
        return pandas.DataFrame(rows).convert_dtypes()

    def ask(self, name, *given, **named):
        """The rows of a question, as `addfg sql LAKE @NAME` gives them."""
        query = lake_queries()[name]
        values = query.values(given, named)
        rows = self.sql(query.sql, self.meant(query, values))
        if name == "history" and rows.empty and self.files.runs:
            raise KeyError(f"no run has {values[3]} of {values[0]}" + (f" -> {values[1]}" if values[1] != "-" else "") + ": " + query.none)
        return rows

    def meant(self, query, values):
        """The values with the names of functions as the lake has them. Labels, values and names that no run has raise KeyError."""
        place = {p.name: i for i, p in enumerate(query.parameters)}
        if "label" in place and self.files.runs:
            label = values[place["label"]]
            known = self.files.values(label)
            if not known:
                raise KeyError(f"no run has the label {label}; there are {', '.join(self.files.names())}")
            for side in ("before", "after"):
                if side in place and values[place[side]] not in known:
                    raise KeyError(f"no run has {label}={values[place[side]]}; there are {', '.join(sorted(known))}")
            if "before" in place:
                if values[place["before"]] == values[place["after"]]:
                    raise LakeError(f"both sides are {label}={values[place['after']]}: name two values of {label}")
                sides = [self.files.contexts(label, values[place[side]]) for side in ("before", "after")]
                if not sides[0] & sides[1]:
                    before, after = (values[place[side]] for side in ("before", "after"))
                    raise LakeError(f"runs of {label}={before} and of {label}={after} have no other labels in common")
        found = list(values)
        for parameter, i in place.items():
            if query.parameters[i].kind == "name" and values[i] != "-" and not str(values[i]).startswith("loop "):
                found[i] = self._function(str(values[i]))
        return found

    def _function(self, name):
        """As `history` takes it: FILE:NAME, or the name of several files' functions."""
        found = self._found(name)
        return f"{found[0][1]}:{found[0][0]}" if len(found) == 1 and found[0][1] else found[0][0]

    def _found(self, name):
        """A function by its name, FILE:NAME, or the only one that has the name without namespaces and parameters: (name, file)."""
        functions = self.sql(
            "SELECT DISTINCT * FROM (SELECT function AS name, file FROM function UNION ALL SELECT writer, writer_file FROM edge"
            " UNION ALL SELECT reader, reader_file FROM edge UNION ALL SELECT caller, caller_file FROM call UNION ALL SELECT callee,"
            " callee_file FROM call) WHERE name <> '' ORDER BY ALL"
        )
        every = list(functions.itertuples(index=False, name=None))
        found = [f for f in every if name in (f[0], f"{f[1]}:{f[0]}" if f[1] else f[0])]
        if not found:
            found = [f for f in every if name in (_base(f[0]), f"{f[1]}:{_base(f[0])}")]
        if not found:
            near = difflib.get_close_matches(name, [f[0] for f in every], 3, 0.4)
            raise KeyError(f"no function {name}; near it are {', '.join(near)}")
        if len({f[0] for f in found}) > 1:
            raise KeyError(f"several functions {name}: {', '.join(f[0] for f in found[:8])}")
        return found

    def graph(self):
        """The mean over the runs, as a networkx MultiDiGraph."""
        functions = self.sql(
            "SELECT function, avg(steps_self)::BIGINT AS steps FROM function GROUP BY ALL ORDER BY ALL"
        )
        data = self.sql(
            "SELECT writer, reader, via, avg(bytes)::BIGINT AS bytes FROM edge WHERE bytes IS NOT NULL GROUP BY ALL ORDER BY ALL"
        )
        calls = self.sql("SELECT caller, callee, avg(calls)::BIGINT AS calls FROM call WHERE caller <> '' GROUP BY ALL ORDER BY ALL")
        return graphs.graph(functions, data, calls)

    def plot(self, thing=None, label="size", measure="all", rows=8, axes=None):
        """The figures that grow most, or those of a function or an edge (`plot("f")`, `plot("f -> g")`), as points on two
        logarithmic scales; needs matplotlib."""
        from matplotlib import pyplot, ticker

        growth = self.ask("growth", label=label, measure=measure, rows=0 if thing else rows)
        if thing:
            one, _, two = (word.strip() for word in str(thing).partition(" -> "))
            one, two = self._found(one)[0][0], self._found(two)[0][0] if two else ""
            growth = growth[(growth.one == one) & (growth.two == two)]
            if growth.empty:
                raise KeyError(f"{thing} has no figures that change with {label}")
        axes = axes or pyplot.figure(figsize=(9, 5)).gca()
        for row in growth.itertuples():
            points = self.ask("history", row.one, row.two or "-", label, row.measure)
            points = points[(points.via == row.via) & (points.labels == row.labels)]
            name = f"{row.one} → {row.two}" if row.two else row.one
            words = ", ".join(word for word in (name, row.via, row.labels) if word)
            axes.plot(points.number, points["mean"], marker="o", label=f"{row.measure} {words}: {row.growth}")
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel="figure")
        # Between powers of ten the numbers would stand in each other's way.
        axes.xaxis.set_minor_formatter(ticker.NullFormatter())
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.02, 1))
        axes.figure.tight_layout()
        return axes
