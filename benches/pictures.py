#!/usr/bin/env python3
"""pictures.py: how well the overview of databases can be read, as a Markdown table on standard output.

    benches/pictures.py ADDFG DB...

Counts in the SVG: lines that cross, labels that a line goes through, the height in pixels of the smallest name where the picture is fitted to a window of
1600 x 1000, and the seconds that `addfg graph` took, by the clock and of the processor (with Graphviz, on all cores). Needs Graphviz. Goals: under 5 crossings, no label hit, names of 9 pixels or more, under 2 s.
"""
import re
import resource
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as tree
from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
PIECES = 12


def curve(path):
    """Points of an SVG path that begins with M and goes on with cubic curves."""
    numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", path)]
    given = list(zip(numbers[::2], numbers[1::2]))
    points = []
    for i in range(0, len(given) - 3, 3):
        p = given[i : i + 4]
        for k in range(PIECES + 1):
            t = k / PIECES
            w = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3]
            points.append(tuple(sum(a * q[c] for a, q in zip(w, p)) for c in (0, 1)))
    return points


def cross(a, b):
    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return any(
        side(s, t, u) * side(s, t, v) < 0 and side(u, v, s) * side(u, v, t) < 0
        for s, t in zip(a, a[1:])
        for u, v in zip(b, b[1:])
    )


def extent(text):
    """Where a label begins, its base line, and its width: about half the height is the width of a character. Spaces before it are not seen."""
    shown, size = "".join(text.itertext()), float(text.get("font-size", 14))
    before = len(shown) - len(shown.lstrip())
    return float(text.get("x")) + 0.28 * size * before, float(text.get("y")), 0.52 * size * len(shown.strip())


def measure(svg):
    root = tree.fromstring(svg)
    width, height = (float(n) for n in root.get("viewBox").split()[2:])
    scale = min(1600 / width, 1000 / height)
    lines, boxes, sizes = [], 0, []
    for group in root.iter(SVG + "g"):
        texts = group.findall(".//" + SVG + "text")
        if group.get("class") == "edge":
            path = group.find(".//" + SVG + "path")
            labels = [extent(t) for t in texts]
            lines.append((curve(path.get("d")), labels))
        elif group.get("class") == "node":
            boxes += 1
            bold = [t for t in texts if t.get("font-weight") == "bold" and "%" not in "".join(t.itertext())]
            sizes += [scale * float(t.get("font-size", 14)) for t in bold]
    crossings = sum(cross(a, b) for i, (a, _) in enumerate(lines) for b, _ in lines[i + 1 :])
    hits = 0
    for i, (_, labels) in enumerate(lines):
        for x, y, wide in labels:
            others = [points for k, (points, _) in enumerate(lines) if k != i]
            hits += any(x < p < x + wide and y - 8 < q < y for points in others for p, q in points)
    return boxes, len(lines), crossings, hits, min(sizes, default=0), f"{width:.0f}x{height:.0f}"


def processor():
    """Seconds that the programs run so far took of the processor."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    addfg, databases = sys.argv[1], sys.argv[2:]
    print("| program | boxes | lines | crossings | labels hit | smallest name, px | size, pt | s | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for database in databases:
            picture = Path(folder) / "picture.svg"
            start, before = time.monotonic(), processor()
            subprocess.run([addfg, "graph", database, "-o", picture], check=True, stderr=subprocess.DEVNULL)
            seconds = time.monotonic() - start
            boxes, lines, crossings, hits, name, size = measure(picture.read_text())
            print(f"| {Path(database).stem} | {boxes} | {lines} | {crossings} | {hits} | {name:.1f} | {size} | {seconds:.1f} | {processor() - before:.1f} |")


if __name__ == "__main__":
    main()
