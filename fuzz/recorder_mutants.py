#!/usr/bin/env python3
"""Mutation testing of the recorder for valgrind: says which changes of its C no test finds.

    fuzz/recorder_mutants.py --tests PROGRAM [--work DIR] [--limit SECONDS] [--sample] [--report]

PROGRAM is the compiled integration test (`cargo test --release --test it --no-run` names it). Each mutant is a copy of
recorders/ with one change (operators, conditions, numbers, statements, results), which `ADDFG_RECORDERS` gives to the tests. Mutants that
do not compile, or compile to the same bytes, are not counted. It goes on where it stopped: what is known of a
mutant is a line of DIR/results. Prints killed and all, and the survivors.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUMS = ["sums.h", "sums_calls.h", "sums_code.h", "sums_flows.h", "sums_memory.h", "sums_readers.h", "sums_saves.h", "sums_translate.h",
        "sums_wire.h"]
FILES = ["valgrind/" + name for name in ["addfg_main.c", "allocations.h", "calls.h", "events.h", "files.h", "part.h", *SUMS]]
FILES.append("stream/addfg_stream.h")
# Tests that record with valgrind.
GUARDS = ["happened::", "sums::", "record::", "recorder::", "knows::"]
OPERATORS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "+",
             "&": "|", "|": "&", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|="}


def blanked(text):
    """The text with comments, strings and preprocessor lines blanked, of the same length."""
    blank = lambda found: re.sub(r"[^\n]", " ", found.group())
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])*\'', blank, text)
    return re.sub(r"^#(.*\\\n)*.*$", blank, text, flags=re.M)


def closing(text, at):
    """The place of the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return None


def mutants():
    """(file, line, change, begin, end, new text) of each."""
    found = []
    for name in FILES:
        with open(os.path.join(HERE, "recorders", name)) as file:
            text = file.read()
        code = blanked(text)

        def add(begin, end, new, what):
            line = text.count("\n", 0, begin) + 1
            found.append((name, line, what, begin, end, new))

        inside = [False]
        depth = 0
        for c in code:
            depth += (c == "{") - (c == "}")
            inside.append(depth > 0)
        for m in re.finditer(r" (==|!=|<=|>=|<<|>>|&&|\|\||\+=|-=|\|=|&=|<|>|\+|-|\*|&|\|) ", code):
            if inside[m.start()]:
                old = m.group(1)
                add(m.start(1), m.end(1), OPERATORS[old], f"{old}: {OPERATORS[old]}")
        for m in re.finditer(r"\b(if|while) \(", code):
            end = closing(code, m.end() - 1)
            if end and inside[m.start()]:
                add(m.end(), end, f"!({text[m.end():end]})", f"condition negated: {text[m.end():end]}")
        for m in re.finditer(r"(?<![\w.])(0x[0-9a-fA-F]+|0|[1-9]\d*)(?![\w.])", code):
            if inside[m.start()]:
                add(m.start(), m.end(), str(int(m.group(), 0) + 1), f"{m.group()}: {int(m.group(), 0) + 1}")
        # A statement on one line: an assignment or a call.
        for m in re.finditer(r"(?<=[;{})]) *\n? +([A-Za-z_(*][^;{}\n]*;)", code):
            statement = m.group(1)
            declares = re.match(r"(return|break|continue|goto|else|do|typedef|static|const|struct|(\w+ \*?)+\w+(\[\w*\])*( =|;|,))", statement)
            if inside[m.start(1)] and not declares and re.search(r"[=(]|\+\+|--", statement):
                add(m.start(1), m.end(1), ";", f"left out: {statement}")
        for m in re.finditer(r"\breturn ([^;\n]+);", code):
            for value in ("0", "1"):
                if m.group(1) != value:
                    add(m.start(1), m.end(1), value, f"return {m.group(1)}: {value}")
    return found


def compiled(folder):
    """The recorder of a folder as bytes of its code; None if it does not compile."""
    with tempfile.TemporaryDirectory() as out:
        made = subprocess.run(["sh", os.path.join(folder, "valgrind/build.sh"), out], capture_output=True)
        if made.returncode:
            return None
        name = next(name for name in os.listdir(out) if name.startswith("addfg-"))
        with open(os.path.join(out, name), "rb") as file:
            return file.read()


class Guards:
    """The tests, asked one by one: first those that have found most for the time that they take."""

    def __init__(self, program, folder, work):
        self.program = program
        self.environment = {**os.environ, "ADDFG_RECORDERS": folder, "ADDFG_SEEDS": "2"}
        self.cache = os.path.join(work, "cache")
        listed = subprocess.run([program, "--list", *GUARDS], cwd=HERE, capture_output=True, text=True).stdout
        self.tests = [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]
        self.found = dict.fromkeys(self.tests, 0)
        shutil.rmtree(self.cache, ignore_errors=True)
        ran = {test: self.run(test) for test in self.tests}
        failing = [test for test, (failed, _) in ran.items() if failed]
        if failing:
            sys.exit(f"without a mutant these fail: {' '.join(failing)}")
        self.takes = {test: takes for test, (_, takes) in ran.items()}

    def run(self, test):
        """Whether it fails, and how long it takes."""
        begun = time.monotonic()
        command = ["timeout", "-k", "5", "120", self.program, "-q", "--exact", test]
        environment = {**self.environment, "XDG_CACHE_HOME": self.cache}
        failed = subprocess.run(command, cwd=HERE, env=environment, capture_output=True).returncode != 0
        return failed, time.monotonic() - begun

    def first_that_fails(self):
        shutil.rmtree(self.cache, ignore_errors=True)
        for test in sorted(self.tests, key=lambda test: -(self.found[test] + 1) / self.takes[test]):
            if self.run(test)[0]:
                self.found[test] += 1
                return test
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", help="the compiled integration test")
    parser.add_argument("--work", default=os.path.join(HERE, "target/recorder-mutants"))
    parser.add_argument("--limit", type=float, default=1e9, help="stop after so many seconds")
    parser.add_argument("--sample", action="store_true", help="in a random order, the same each time")
    parser.add_argument("--report", action="store_true", help="say what is known, and try nothing")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    all_mutants, path, known = mutants(), os.path.join(options.work, "results"), {}
    if os.path.exists(path):
        with open(path) as file:
            known = dict(line.rstrip("\n").split("\t") for line in file)
    name = lambda m: f"{m[0]}:{m[1]} {m[2]} @{m[3]}"
    if not options.report:
        ends, order = time.monotonic() + options.limit, list(all_mutants)
        if options.sample:
            random.Random(1).shuffle(order)
        folder = os.path.join(options.work, "recorders")
        whole = guards = None
        for mutant in order:
            if name(mutant) in known or time.monotonic() > ends:
                continue
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(os.path.join(HERE, "recorders"), folder)
            whole = whole or compiled(folder)
            guards = guards or Guards(options.tests, folder, options.work)
            file, _, _, begin, end, new = mutant
            with open(os.path.join(folder, file), "r+") as source:
                text = source.read()
                source.seek(0)
                source.truncate()
                source.write(text[:begin] + new + text[end:])
            code = compiled(folder)
            if code is None or code == whole:
                result = "not compiled" if code is None else "the same code"
            else:
                test = guards.first_that_fails()
                result = f"killed {test}" if test else "survived"
            known[name(mutant)] = result
            with open(path, "a") as file:
                file.write(f"{name(mutant)}\t{result}\n")
    counted = {name(m): known[name(m)] for m in all_mutants if name(m) in known}
    counted = {n: r for n, r in counted.items() if r not in ("not compiled", "the same code")}
    for n, r in counted.items():
        if r == "survived":
            print(f"survived\t{n}")
    killed = sum(r.startswith("killed") for r in counted.values())
    print(f"killed {killed} of {len(counted)} tried, of {len(all_mutants)} (with those that do not compile or change no code)")


if __name__ == "__main__":
    main()
