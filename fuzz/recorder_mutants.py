#!/usr/bin/env python3
"""Mutation testing of the recorder for valgrind: says which changes of its C no test finds.

    fuzz/recorder_mutants.py --tests PROGRAM [--work DIR] [--limit SECONDS] [--sample SEED] [--budget SECONDS] [--files FILE...] [--report]

PROGRAM is the compiled integration test (`cargo test --release --test it --no-run` names it). Each mutant is a copy of
recorders/ with one change (operators, conditions, numbers, statements, results), which `ADDFG_RECORDERS` gives to the
tests. Mutants that do not compile, or compile to the same bytes, are not counted.

1. All tests run once with a recorder that notes which of its lines run. Tests that run none or fail are left out.
   DIR/reached keeps the lines that they ran and how long they took.
2. Each mutant is compiled once, the next one while tests run. The script that addfg calls to compile only copies it.
3. It meets the tests that run its line, one by one: those first that have found most (in the same function) for the
   time they take. One that none of them finds survives, also if only the budget of processor time ended. One whose line
   no test runs survives at once. Programs of the tests are compiled once for all.

A test fails, too, where it takes five times as long as it took in 1. What tests find that wait for something is
asked again without the mutant. It goes on where it stopped: what is known of a mutant is a line of DIR/results. Prints
killed and all, with an interval of 95 % for the share, and the survivors. fuzz/recorder_equivalent.txt names those that
change nothing, with the reason; `RULES` are those for many, and --rules lists what they name.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUMS = ["sums.h", "sums_actors.h", "sums_calls.h", "sums_code.h", "sums_flows.h", "sums_memory.h", "sums_numbers.h", "sums_readers.h", "sums_saves.h", "sums_shared.h",
        "sums_stacks.h", "sums_translate.h", "sums_wire.h"]
STREAM = ["addfg_main.c", "allocations.h", "calls.h", "events.h", "files.h", "part.h", "room.h", "written.h"]
FILES = ["valgrind/" + name for name in STREAM + SUMS]
FILES.append("stream/addfg_stream.h")
# Tests that record with valgrind, and those of them that record with something else, or compile recorders themselves.
GUARDS = ["happened::", "sums::", "sums_processes::", "sums_shared::", "record::", "recorder::", "knows::", "stream::", "told::", "system_calls::", "allocations::", "coroutines::"]
LEFT_OUT = ["knows::programs_of_", "recorder::the_recorder_compiles_against_each_valgrind"]
# Tests of a file that do not run the recorder.
OF_FILE = {"stream/addfg_stream.h": ["told::the_header_packs_what_it_is_given"]}
# What tests whose names begin so, which compare a lot, are worth before they have found anything, by the file.
# The first one whose name is in that of the file.
SHARP = {
    "sums_wire": {"sums::answers": 40, "sums::databases_of_random": 10, "sums::a_program_goes_on": 40, "sums::programs_that_find": 20},
    "sums_shared": {"sums_shared::": 60},
    "sums_actors": {"sums::as_many_functions": 60, "sums::few_numbers": 30, "sums::contexts": 20, "sums::deep": 10, "sums::programs_that_find": 60},
    "sums_numbers": {"sums::as_many_functions": 60, "sums::parts_of_a_register": 60, "sums::few_numbers": 30, "sums::contexts_that": 30, "sums::programs_that_find": 60, "sums::random_programs_with_few": 20},
    "sums_memory": {"sums_shared::files": 60, "sums::links_that": 40, "sums::programs_that_find": 60, "sums::what_lies": 20, "sums::random_programs_with_memory": 20,
                    "sums::random_programs_with_stores": 20, "sums::memory_that": 10, "sums::addresses_far": 10, "sums::what_is_left": 10},
    "sums": {"sums::what_is_left": 40, "sums::writes_into": 20, "sums::as_many_functions": 30, "sums::programs_that_find": 60, "sums::databases_of_random": 30, "sums::restores_that": 10, "sums::random_programs": 20, "sums::a_database_of": 20, "sums::a_snapshot_is": 20, "sums::answers": 10,
             "sums::tables": 20, "sums::few_numbers": 20, "sums::parts_of_a_register": 20, "sums::random_programs_with_vectors": 20,
             "sums::random_programs_with_handlers": 15, "sums::large_tables": 10},
    "written": {"system_calls::what_the_kernel": 90, "told::what_a_program_says_it_does": 60},
    "allocations": {"told::allocation_functions": 60, "told::what_a_program_says_it_does": 60},
    "calls": {"told::what_a_program_says_it_does": 60, "system_calls::what_the_kernel": 40, "told::what_becomes": 20, "told::what_waits": 20},
    "files": {"told::what_becomes": 60, "told::what_a_program_says_it_does": 60},
    "": {"told::": 5, "told::what_waits": 20, "told::what_a_program_says_it_does": 30, "told::the_header_packs_what_it_is_given": 90, "stream::random": 10,
         "told::what_becomes": 10, "stream::what_faults": 20, "sums::programs_that_find": 20,
         "recorder::a_part": 5, "recorder::what_random": 5, "sums::random_programs_agree": 10},
}
# What changes nothing: file, function, change (`#2`: the second of this kind in the function), reason. Tabs between.
EQUIVALENT = os.path.join(HERE, "fuzz/recorder_equivalent.txt")
# Rules for what changes nothing, each with the reason: kind of the change, and what the line looks like with the changed
# word between « and ». Numbers become greater by one.
MORE, LESS, ANY = r"\d+: \d+", r"(<=?|>=?): ", r""
RULES = [
    ("memory that is not given back: nothing but memory changes",
     r"left out: (if \([^;]*\) )?(VG_\(free\)\([^;()]*\)|free_table\(.*\));$", r""),
    ("memory that is given back in part: nothing but memory changes", r"\*: \+", r"free_table\(\w+, \w+ «\*» sizeof"),
    ("memory that is not given back: nothing but memory changes",
     r"condition negated: ", r"if \(«(.*)»\) VG_\(free\)\(\1\);"),
    ("where what is read lies in its file is not asked, and what has no data in memory has no place",
     MORE, r"(ONE_BUFFER|VECTOR|MESSAGES?), True, .* «3» }|(NO_DATA|AS_TOLD), False, «0»|Shape other = .*«0»"),
    ("words of 32 bits only",
     ANY, r"(Ity_I32\) value = .*«|IRConst_U32\(\(UInt\)|Iop_32Uto64, address\)|\(ULong\)args\[\d\] << 32).*«"),
    ("more memory is asked for than is used",
     MORE, r"VG_\((m|c|re)alloc\)\([^;]*(?<![-/] )«\d+»|addfg__room\([^;]*(?<![-/] )«\d+»|event_bytes\(.*\+ «10»|\* «10» \+ size"),
    ("an array has one place more than is used",
     # `Parted` is compared whole, with what nothing has been written to.
     MORE, r"^ *(static )?(U?Int|HChar|UChar|ULong|UWord|addfg_u\d+|struct {.*}) (?!function|part)[^=]*\[«\d+»\](\[\d+\])?( = |;|,)"),
    ("tables that are filled in their order grow by another factor, or have another first size, of at least what is needed",
     MORE, r"path_room ?\* «2»|\) \* «2» \+ 4096|\* 2 \+ «(16|4096)»|number \* «2» \+|path_room \* 2 : «4096»|\? b->room \* «2» : b->length|heard_room = length \* «2»"),
    ("tables that are filled in their order grow by another factor",
     r"\*: \+", r"path_room «\*» 2|\) «\*» 2 \+ 4096|number «\*» 2 \+|heard_room = length «\*» 2"),
    ("a table of hashes is larger from the beginning, of a power of two still",
     MORE, r"_room = room \? room \* 2 : («1» << 12|1 << «12»)"),
    ("a table of hashes grows at another share of filled places, and has empty ones still",
     r"(2: 3|\*: \+)", r"(count|used) («\*» 2|\* «2») >= "),
    ("another hash of the same key: the keys themselves are compared",
     r"(\*: \+|>>: <<|<<: >>|\d+: \d+|0x\w+: \d+)",
     r"^ *(ULong|UInt) (h|i) = [^;]*«[^»]*».*(ULL\)|& \()|h = key \* .*«.*& \(|h = key «\*»|h = \(h \^.*«(<<|40|\*)»"),
    ("the smaller or the greater of two: which one does not matter where they are equal",
     LESS, r"(?P<a>\S+( [+*] \S+)*) «[<>]=?» (?P<b>\S+( [+*-] \S+)*) \? ((?P=a)|(?P=b)) : ((?P=a)|(?P=b))\b"
           r"|(?<=\()(?P<c>\S+) «[<>]=?» (?P<d>\S+)\) (?P=c) = (?P=d);"
           r"|(?P<e>\w+) «>» (?P<f>[\w+ ]+) \? (?P=e) - (?P=f) : 0"),
    ("False is 0, and True is 1", r"return (False: 0|True: 1)", r""),
    ("arguments beyond those that a system call takes: the kernel looks at none of them",
     r"0: 1", r"__NR_(madvise|mincore|socket|connect|shmctl|sched_getaffinity), ([^,]+, ){3}(0, )*«0»|__NR_mremap, ([^,]+, ){5}(0, )*«0»"
              r"|__NR_(sendto|recvfrom|mmap), ([^,]+, ){6}(0, )*«0»|_FIXED, -1, 0, (0, )?«0»(, 0)?\)"),
    ("how many arguments are in registers: heeded where words have 32 bits only",
     MORE, r"unsafeIRDirty_0_N\(«\d»|unsafeIRDirty_1_N\(answer, «\d»|call_if\(.*\w, «\d»,"),
]
RULES = [(reason, re.compile(change), re.compile(looks)) for reason, change, looks in RULES]
# Words in names of tests that wait for something: what they find is asked again without the mutant.
WAITS = ["signal", "interrupt", "outlives", "killed", "marker", "waits", "thread", "follow", "famil"]
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
    """(file, line, change, begin, end, new text, function) of each."""
    found = []
    for name in FILES:
        with open(os.path.join(HERE, "recorders", name)) as file:
            text = file.read()
        code = blanked(text)

        def add(begin, end, new, what):
            line = text.count("\n", 0, begin) + 1
            found.append((name, line, what, begin, end, new, functions[begin]))

        inside, functions = [False], []
        depth, function = 0, ""
        for at, c in enumerate(code):
            if c == "{" and depth == 0:
                named = re.search(r"(\w+)\([^{}();]*\)\s*$", code[max(0, at - 500):at])
                function = named.group(1) if named else ""
            depth += (c == "{") - (c == "}")
            inside.append(depth > 0)
            functions.append(function if depth else "")
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


# A recorder that notes which of its blocks run: each process of it, once.
REACHED = r"""
#include "pub_tool_basics.h"
#include "pub_tool_vki.h"
#include "pub_tool_libcfile.h"
extern char __executable_start[];
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void)
{
    static UChar seen[1 << 23];
    UInt offset = (Addr)__builtin_return_address(0) - (Addr)__executable_start;
    Int file;
    if (offset >= sizeof seen || seen[offset]) return;
    seen[offset] = 1;
    file = VG_(fd_open)("FILE", VKI_O_WRONLY | VKI_O_APPEND | VKI_O_CREAT, 0600);
    if (file < 0) return;
    VG_(write)(file, &offset, sizeof offset);
    VG_(close)(file);
}
"""
# Each block is a block of the source, with lines of its own.
REACHING = """#!/bin/sh
case " $* " in *" -c "*) exec gcc "$@" -O0 -g -fsanitize-coverage=trace-pc -include HEADER;; esac
exec gcc "$@"
"""
# Takes the place of a compiler for the programs of tests: gives what it gave the same arguments before.
COMPILER = r"""#!/bin/sh
to= key= next=
for word; do
    if [ "$next" ]; then to=$word next= key="$key -o"
    elif [ "$word" = -o ]; then next=1
    else key="$key $word"; fi
done
kept=KEPT/$(printf %s "NAME $PWD $key" | sha1sum | cut -c1-40)
case "$key" in *addfg-test-*|*.part*) exec COMPILER "$@";; esac
[ "$to" ] || exec COMPILER "$@"
[ -e "$kept" ] || { COMPILER "$@" && cp "$to" "$kept.$$" && mv "$kept.$$" "$kept"; exit; }
cp "$kept" "$to"
"""
# Takes the place of a recorder's build.sh: copies what was compiled.
COPY = """#!/bin/sh
# FOLDER
mkdir -p "$1" && cp -P FOLDER/* "$1/"
"""


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o700)


def compiled(folder, out, compiler="gcc"):
    """Compiles the recorder of a folder, and puts a script there that copies it; gives it as bytes, or None."""
    shutil.rmtree(out, ignore_errors=True)
    script = os.path.join(folder, "valgrind/build.sh")
    # The same code is the same bytes, wherever it lies.
    compiler += f" -ffile-prefix-map={folder}=."
    made = subprocess.run(["sh", script, out], capture_output=True, env={**os.environ, "CC": compiler})
    if made.returncode:
        return None
    write(script, COPY.replace("FOLDER", out))
    name = next(name for name in os.listdir(out) if name.startswith("addfg-"))
    with open(os.path.join(out, name), "rb") as file:
        return file.read()


class Recorders:
    """Copies of recorders/ with one change each, compiled."""

    def __init__(self, work):
        self.work = work

    def make(self, name, change=None, compiler="gcc"):
        """The folder that `ADDFG_RECORDERS` names, and the recorder's bytes; None if it does not compile."""
        folder = os.path.join(self.work, name)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(os.path.join(HERE, "recorders"), folder)
        if change:
            file, _, _, begin, end, new, _ = change
            with open(os.path.join(folder, file), "r+") as source:
                text = source.read()
                source.seek(0)
                source.truncate()
                source.write(text[:begin] + new + text[end:])
        return folder, compiled(folder, folder + ".compiled", compiler)

    def drop(self, name):
        for folder in (name, name + ".compiled"):
            shutil.rmtree(os.path.join(self.work, folder), ignore_errors=True)


class Guards:
    """The tests, asked one by one: first those that have found most for the time that they take."""

    def __init__(self, program, recorders, whole):
        self.program, self.whole, work = program, whole, recorders.work
        self.cache, self.scratch = os.path.join(work, "cache"), os.path.join(work, "scratch")
        for name in ("gcc", "g++"):
            text = COMPILER.replace("COMPILER", shutil.which(name)).replace("NAME", name)
            write(os.path.join(work, "bin", name), text.replace("KEPT", os.path.join(work, "kept")))
        os.makedirs(os.path.join(work, "kept"), exist_ok=True)
        path = os.environ["PATH"]
        self.environment = {**os.environ, "XDG_CACHE_HOME": self.cache, "TMPDIR": self.scratch,
                            "PATH": os.path.join(work, "bin") + os.pathsep + path}
        self.found = collections.Counter()
        self.known = self.reach(recorders, os.path.join(work, "reached"))

    def reach(self, recorders, path):
        """By test: processor time, and the lines that it runs; all lines that have code."""
        known, all_lines = {}, []
        if os.path.exists(path):
            with open(path) as file:
                known, all_lines = json.load(file)
        listed = subprocess.run([self.program, "--list", *GUARDS], cwd=HERE, capture_output=True, text=True).stdout
        tests = [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]
        tests = [test for test in tests if not any(test.startswith(left_out) for left_out in LEFT_OUT)]
        log, header = os.path.join(recorders.work, "ran"), os.path.join(recorders.work, "reached.h")
        compiler = os.path.join(recorders.work, "reaching.sh")
        write(header, REACHED.replace("FILE", log))
        write(compiler, REACHING.replace("HEADER", header))
        folder = None
        for test in tests:
            if test in known:
                continue
            if not folder:
                folder, code = recorders.make("reaching", None, compiler)
                if code is None:
                    sys.exit("the recorder that notes what it runs does not compile")
                blocks = self.blocks(folder + ".compiled")
                all_lines = sorted({line for lines in blocks.values() for line in lines})
                number = {line: i for i, line in enumerate(all_lines)}
            if os.path.exists(log):
                os.remove(log)
            failed, takes = self.run(test, folder, 120)
            ran = set()
            if failed:
                print(f"left out: {test} fails without a mutant", flush=True)
            elif os.path.exists(log):
                with open(log, "rb") as file:
                    offsets = set(memoryview(file.read()).cast("I"))
                ran = {number[line] for offset in offsets for line in blocks.get(offset, ())}
            known[test] = takes, sorted(ran)
            with open(path, "w") as file:
                json.dump((known, all_lines), file)
        alone = {test for tests in OF_FILE.values() for test in tests}
        self.all_lines = set(all_lines)
        return {test: (takes, {all_lines[line] for line in ran}) for test, (takes, ran) in known.items()
                if (ran or test in alone) and test in tests}

    def blocks(self, folder):
        """The lines of each block of a recorder, by the offset behind the call that notes it."""
        name = next(name for name in os.listdir(folder) if name.startswith("addfg-"))
        path, found = os.path.join(folder, name), collections.defaultdict(set)
        listed = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        begin = next(int(row.split()[0], 16) for row in listed.splitlines() if row.endswith(" __executable_start"))
        listed = subprocess.run(["objdump", "-dlw", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
        line = block = None
        called = False
        for row in listed.splitlines():
            if source := re.match(r".*/\./.*?((valgrind|stream)/[^/:]+:\d+)", row):
                line = source.group(1)
            elif re.match(r"/.*:\d+", row):
                line = None
            elif row.endswith(">:"):
                line = block = None
            elif instruction := re.match(r" +([0-9a-f]+):\s", row):
                if called:
                    block = int(instruction.group(1), 16) - begin
                called = "<__sanitizer_cov_trace_pc>" in row
                if block is not None and line and not called:
                    found[block].add(line)
        return dict(found)

    def run(self, test, folder, seconds):
        """Whether it fails, and how long it takes of the processor."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.makedirs(self.scratch)
        # The machine may have other work.
        limits = ["prlimit", f"--cpu={int(seconds)}", f"--fsize={2 << 30}"]
        limits += ["timeout", "-k", "5", str(int(20 + 2 * seconds))]
        before = os.times()
        command = [*limits, self.program, "-q", "--exact", test]
        environment = {**self.environment, "ADDFG_RECORDERS": folder}
        if test.startswith("knows::"):
            environment["ADDFG_SEEDS"] = "2"
        # What a test that fails has left is ended, too.
        program = subprocess.Popen(command, cwd=HERE, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        failed = program.wait() != 0
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        after = os.times()
        return failed, after.children_user + after.children_system - before.children_user - before.children_system

    def first_that_fails(self, mutant, folder, budget):
        """The test that finds it, and all processor time."""
        function, all_took = mutant[-1], 0
        line = self.line(mutant)
        here = [test for test, (_, lines) in self.known.items() if line in lines]
        here += OF_FILE.get(mutant[0], [])
        of = next(of for part, of in SHARP.items() if part in mutant[0])
        sharp = lambda test: max((worth for name, worth in of.items() if test.startswith(name)), default=0)
        worth = lambda test: (1 + sharp(test) + self.found[test] + 20 * self.found[function, test]) / (0.5 + self.known[test][0])
        for test in sorted(here, key=worth, reverse=True):
            if all_took > budget:
                break
            seconds = 5 + 5 * self.known[test][0]
            failed, took = self.run(test, folder, seconds)
            all_took += took
            if failed and any(word in test for word in WAITS) and self.run(test, self.whole, seconds)[0]:
                print(f"{test} fails without a mutant, too", flush=True)
                failed = False
            if failed:
                self.found[test] += 1
                self.found[function, test] += 1
                return test, all_took
        return None, all_took

    def line(self, mutant):
        """The line of a mutant; that before where it has no code of its own, as within an expression of several lines."""
        file, line = mutant[0], mutant[1]
        while line and f"{file}:{line}" not in self.all_lines:
            line -= 1
        return f"{file}:{line}"


def name(m):
    # A condition may have several lines; a line of DIR/results is one mutant.
    return f"{m[0]}:{m[1]} {' '.join(m[2].split(chr(10)))} @{m[3]}"


def rule(m, texts={}):
    """Why a mutant changes nothing by a rule; None: by none."""
    file, _, change, begin, end, _, _ = m
    if file not in texts:
        with open(os.path.join(HERE, "recorders", file)) as source:
            texts[file] = source.read()
    text = texts[file]
    line = text[text.rfind("\n", 0, begin) + 1:begin] + "«" + text[begin:end] + "»" + text[end:text.find("\n", end)]
    return next((reason for reason, of, looks in RULES if of.match(change) and looks.search(line)), None)


def equivalent(all_mutants):
    """Those that change nothing."""
    said = set()
    with open(EQUIVALENT) as file:
        for line in file:
            if not line.startswith("#"):
                said.add(tuple(line.rstrip("\n").split("\t")[:3]))
    seen, found, used = collections.Counter(), set(), set()
    for m in all_mutants:
        file, change, function = os.path.basename(m[0]), m[2], m[-1]
        seen[file, function, change] += 1
        number = seen[file, function, change]
        keys = {(file, function, change), (file, function, f"{change} #{number}")} & said
        if keys or rule(m):
            found.add(m)
        used |= keys
    for key in said - used:
        if key[0] in {os.path.basename(m[0]) for m in all_mutants}:
            print("no such mutant", *key, sep="\t")
    return found


def interval(killed, tried):
    """The share in percent, and Wilson's interval of 95 %."""
    z, share = 1.96, killed / tried
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried)) / (1 + z * z / tried)
    return f"{100 * share:.1f} % ({100 * (middle - half):.1f} to {100 * (middle + half):.1f} %)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", help="the compiled integration test")
    parser.add_argument("--work", default=os.path.join(HERE, "target/recorder-mutants"))
    parser.add_argument("--limit", type=float, default=1e9, help="stop after so many seconds")
    parser.add_argument("--sample", type=int, metavar="SEED", help="in a random order, of this number")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds of processor time for a mutant")
    parser.add_argument("--files", nargs="+", help="of these only, as in valgrind/calls.h")
    parser.add_argument("--report", action="store_true", help="say what is known, and try nothing")
    parser.add_argument("--rules", action="store_true", help="list what changes nothing by a rule, and try nothing")
    options = parser.parse_args()
    if options.rules:
        for m in mutants():
            reason = rule(m)
            if reason:
                print(f"{m[0]}:{m[1]} {m[-1]} {m[2]}\t{reason}")
        return
    options.work = os.path.abspath(options.work)
    os.makedirs(options.work, exist_ok=True)
    all_mutants, path, known = mutants(), os.path.join(options.work, "results"), {}
    if options.files:
        all_mutants = [m for m in all_mutants if m[0] in options.files]
    same = equivalent(all_mutants)
    if os.path.exists(path):
        with open(path) as file:
            known = dict(line.rstrip("\n").split("\t") for line in file)
    if not options.report:
        ends, order = time.monotonic() + options.limit, list(all_mutants)
        if options.sample is not None:
            random.Random(options.sample).shuffle(order)
        order = [mutant for mutant in order if name(mutant) not in known and mutant not in same]
        recorders = Recorders(options.work)
        whole, whole_code = recorders.make("whole")
        guards = Guards(options.tests, recorders, whole)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            made = pool.submit(recorders.make, "mutant-0", order[0]) if order else None
            for number, mutant in enumerate(order):
                if time.monotonic() > ends:
                    break
                folder, code = made.result()
                if number + 1 < len(order):
                    made = pool.submit(recorders.make, f"mutant-{number + 1}", order[number + 1])
                if code is None or code == whole_code:
                    result = "not compiled" if code is None else "the same code"
                else:
                    test, took = guards.first_that_fails(mutant, folder, options.budget)
                    result = f"killed {test} {took:.1f}" if test else f"survived {took:.1f}"
                recorders.drop(f"mutant-{number}")
                shutil.rmtree(guards.cache, ignore_errors=True)
                known[name(mutant)] = result
                with open(path, "a") as file:
                    file.write(f"{name(mutant)}\t{result}\n")
    tried = {m: known[name(m)] for m in all_mutants if name(m) in known}
    counted = {m: r for m, r in tried.items() if r not in ("not compiled", "the same code")}
    killed = [m for m, r in counted.items() if r.startswith("killed")]
    for m in killed:
        if m in same:
            print(f"killed, and said to change nothing\t{name(m)}")
    left = [m for m in counted if m not in killed and m not in same]
    for m in left:
        print(f"survived\t{name(m)} {m[-1]}")
    others = len(tried) - len(counted)
    print(f"{len(tried)} of {len(all_mutants)} were taken; {others} do not compile or change no code; "
          f"{len(counted) - len(killed) - len(left)} change nothing, as fuzz/recorder_equivalent.txt says")
    all_that_count = len(killed) + len(left)
    print(f"killed {len(killed)} of {all_that_count}: {interval(len(killed), all_that_count) if all_that_count else ''}")


if __name__ == "__main__":
    main()
