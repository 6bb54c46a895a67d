"""Data flow as networkx graphs, and pictures of them."""

import subprocess

import networkx

COLOURS = {"register": "#0969da", "stack": "#bf8700", "heap": "#1a7f37", "global": "#8250df", "constant": "#57606a"}


def graph(functions, data, calls):
    """Nodes with `steps`, edges with `kind` data (`via`, `bytes`) or call (`calls`)."""
    made = networkx.MultiDiGraph()
    for row in functions.itertuples():
        made.add_node(row.function, steps=None if row.steps != row.steps else int(row.steps))
    for row in data.itertuples():
        made.add_edge(row.writer, row.reader, kind="data", via=row.via, bytes=int(row.bytes))
    for row in calls.itertuples():
        made.add_edge(row.caller, row.callee, kind="call", calls=int(row.calls))
    return made


def flows(made):
    """The data between different functions alone: a DiGraph with `bytes` over all kinds of storage."""
    flat = networkx.DiGraph()
    for writer, reader, edge in made.edges(data=True):
        if edge["kind"] == "data" and writer != reader:
            before = flat.edges[writer, reader]["bytes"] if flat.has_edge(writer, reader) else 0
            flat.add_edge(writer, reader, bytes=before + edge["bytes"])
    return flat


class Picture(str):
    """SVG that a notebook shows."""

    def _repr_svg_(self):
        return str(self)


def _quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def picture(made, edges=20):
    """The largest flows of a graph, drawn by Graphviz's `dot`."""
    largest = sorted(
        ((edge["bytes"], writer, reader, edge["via"]) for writer, reader, edge in made.edges(data=True)
         if edge["kind"] == "data" and writer != reader),
        key=lambda e: (-e[0], e[1:]),
    )[:edges]
    top = max((size for size, *_ in largest), default=1)
    lines = ["digraph {", "node [shape=box, fontname=Helvetica, fontsize=11]; edge [fontname=Helvetica, fontsize=9];"]
    for name in sorted({end for _, writer, reader, _ in largest for end in (writer, reader)}):
        steps = made.nodes[name].get("steps")
        label = name if not steps else f"{name}\n{steps:,} steps"
        lines.append(f"{_quoted(name)} [label={_quoted(label)}];".replace("\n", "\\n"))
    for size, writer, reader, via in largest:
        width, colour = 0.5 + 3.5 * size / top, COLOURS.get(via, "#000000")
        lines.append(f'{_quoted(writer)} -> {_quoted(reader)} [label="{size:,}", color="{colour}", penwidth={width:.2f}];')
    text = "\n".join([*lines, "}"])
    return Picture(subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True).stdout)
