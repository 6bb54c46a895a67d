"""Questions to the steps of runs, which `addfg collect --with-steps` put into a lake.

The program `addfg` answers. What it says is the same wherever it runs, so a cluster can share the work: a task is a run, or a
part of one.
"""

import os

#: Commands that take `--range FIRST..LAST`, so that a run can be asked in parts.
IN_PARTS = ("flows",)


def program():
    """The program: ADDFG names it, else it is that of PATH."""
    return os.environ.get("ADDFG", "addfg")


def choosing(files):
    """Words that choose the runs with the labels that were asked for."""
    return [word for name, value in files.wanted.items() for word in ("--where", f"{name}={value}")]


def tasks(files, command, part=None):
    """Words that choose the run of each task, and what a command has more for it: a task is a run, or at most `part` steps."""
    if part is not None and command[0] not in IN_PARTS:
        raise ValueError(f"{command[0]} is about whole runs; in parts: {', '.join(IN_PARTS)}")
    found = []
    for run in sorted(files.runs, key=lambda r: (r["program"], r["run"])):
        steps = run["steps"] or 0
        firsts = range(1, steps + 1, part) if part and steps > part else [None]
        found += [([*choosing(files), "--run", run["run"]], [] if first is None else ["--range", f"{first}..{first + part - 1}"]) for first in firsts]
    return found


def asker(root, command, program):
    """A function of words that choose runs and of what the command has more: rows as dicts, and what was said beside them. It
    needs nothing of this package, so that workers need not have it."""

    def ask(words, more=()):
        import json
        import subprocess

        line = [program, "each", str(root), *words, "--format", "json", "--", *map(str, command), *more]
        try:
            done = subprocess.run(line, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise RuntimeError(f"there is no program {program}: ADDFG names it, or PATH has its folder") from error
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout), done.stderr.strip()

    return ask
