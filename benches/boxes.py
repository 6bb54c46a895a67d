#!/usr/bin/env python3
"""boxes.py: whether the overview of real programs is the same at `summary` and at `pairs`, and true, as a Markdown table on standard output.

    benches/boxes.py [--addfg ADDFG] [--work FOLDER] [--most MILLIONS] [PROGRAM...]

Each program runs once under the recorder; its recording is built at both details. Then the pictures' boxes are compared, and their arrows with what single
calls read of one another (`function_call` and `dataflow` at `pairs`), counted here by a rule of four lines: a call is in the box of its nearest caller that has one.

- "other boxes": functions, inputs and outputs that only one of the two pictures has. Helpers (dashed) are no boxes: the legend says why they are there.
- "untrue at summary": arrows between boxes whose bytes no call of one has read of the other, or not as many; of outputs those that another function wrote.
- "untrue at pairs": arrows whose bytes are others than those of the calls. With more than two million calls that picture is of sums, too, and held to
  the rule of `summary`.

What is not installed is skipped and said, and so is what runs longer than MILLIONS of steps (60). FOLDER keeps recordings and databases. Status 1: something differs.
"""
import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from array import array
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEXT = HERE.parent / "LICENSE-APACHE"


def tool(name):
    """The program itself, not a shell script in its place."""
    for folder in os.environ.get("PATH", "").split(os.pathsep) + ["/usr/bin", "/bin"]:
        path = Path(folder) / name
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
            return str(path)
    return None


def shell(script):
    subprocess.run(["bash", "-ec", script], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def inputs():
    """Small files that all programs work on."""
    text = TEXT.read_text()
    Path("text.txt").write_text(text)
    words = re.findall(r"\w+", text)
    Path("small.txt").write_text("".join(f"{word} {i * 7919 % 1000}\n" for i, word in enumerate(words)))
    Path("values.json").write_text(json.dumps([{"name": word, "value": i} for i, word in enumerate(words[:400])]))
    Path("small.c").write_text("int f(int a, int b) { int s = 0; for (int i = a; i < b; i++) s += i * a; return s; }\nint main(void) { return f(1, 9); }\n")
    Path("count.py").write_text("d = {}\nfor word in open('small.txt').read().split():\n    d[word] = d.get(word, 0) + 1\nprint(sorted(d.items())[:9])\n")
    if tool("git") and not Path("tree/.git").exists():
        who = "-c user.name=a -c user.email=a@example.org"
        commits = "".join(f"head -n {n} ../text.txt >a; git add a; git {who} commit -qm 'The first {n} lines'; " for n in range(10, 200, 30))
        shell(f"mkdir -p tree; cd tree; git init -q .; {commits}")
    for name, unpacked in [("gzip", "text.gz"), ("bzip2", "text.bz2"), ("xz", "text.xz")]:
        if tool(name):
            shell(f"{name} -c text.txt >{unpacked}")


def compiler_proper():
    gcc = tool("gcc")
    found = gcc and subprocess.run([gcc, "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()
    return found if found and Path(found).is_file() else None


def jvm():
    """The launcher behind the links of alternatives."""
    java = tool("java")
    return java and str(Path(java).resolve())


def of_system():
    """Programs of the system: name, the program, its arguments."""
    return [
        ("git", tool("git"), ["--no-pager", "-C", "tree", "log", "-p"]),
        ("cc1", compiler_proper(), ["-quiet", "small.c", "-O1", "-o", "small.s"]),
        ("perl", tool("perl"), ["-ne", "$n{lc $_}++ for /\\w+/g; END { print join(' ', map { \"$_ $n{$_}\" } (sort keys %n)[0..9]), \"\\n\" }", "text.txt"]),
        ("gdb", tool("gdb"), ["--batch", "-nx", "-ex", "print 1"]),
        ("xz", tool("xz"), ["-T2", "--block-size=20KiB", "-1", "-k", "-c", "small.txt"]),
        ("unxz", tool("xz"), ["-d", "-c", "text.xz"]),
        ("gzip", tool("gzip"), ["-k", "-c", "text.txt"]),
        ("gunzip", tool("gzip"), ["-d", "-c", "text.gz"]),
        ("bzip2", tool("bzip2"), ["-k", "-c", "text.txt"]),
        ("bunzip2", tool("bzip2"), ["-d", "-c", "text.bz2"]),
        ("zstd", tool("zstd"), ["-q", "-9", "-c", "text.txt"]),
        ("sort", tool("sort"), ["-k2n", "small.txt"]),
        ("grep", tool("grep"), ["-c", "-i", "license[a-z]*", "text.txt"]),
        ("mawk", tool("mawk"), ["{ s[$1] += $2 } END { for (k in s) print k, s[k] }", "small.txt"]),
        ("sed", tool("sed"), ["s/a\\(.\\)/b\\1/g", "text.txt"]),
        ("tar", tool("tar"), ["-cf", "out.tar", "text.txt", "small.txt"]),
        ("jq", tool("jq"), ["map(select(.value % 3 == 0)) | length", "values.json"]),
        ("sqlite3", tool("sqlite3"), [":memory:", "create table t(a,b);", "with recursive n(i) as (select 1 union all select i + 1 from n where i < 800) insert into t select i * 7919 % 1000, 'x' || i from n;", "select sum(a) from t where b > 'x5' group by a % 7;"]),
        ("openssl", tool("openssl"), ["dgst", "-sha256", "text.txt"]),
        ("python3", tool("python3"), ["-S", "-E", "-B", "count.py"]),
        ("node", tool("node"), ["-e", "console.log([3, 1, 2].sort().map(x => x * 2).join(' '))"]),
        ("java", jvm(), ["-Xshare:auto", "-version"]),
        ("bc", tool("bc"), ["-q", "sum.bc"]),
        ("diff", tool("diff"), ["small.txt", "text.txt"]),
        ("find", tool("find"), ["tree", "-name", "*a*"]),
        ("sha256sum", tool("sha256sum"), ["text.txt"]),
        ("wc", tool("wc"), ["text.txt"]),
        ("make", tool("make"), ["-n", "-f", "rules.mk"]),
    ]


def of_ours():
    """The programs that `pictures.py` is for: those of zoo.sh, and examples."""
    examples = HERE.parent / "examples"
    tests = HERE.parent / "tests/programs"
    zoo = f"set -- none; . '{HERE}/zoo_programs.sh'; "
    return [
        ("bzip2-library", zoo + "compile_bzip2; mv bzip2 bzip2-library", []),
        ("lua", zoo + "compile_lua", ["lua.script"]),
        ("sqlite-library", zoo + "compile_sqlite; mv sqlite sqlite-library", []),
        ("cpython", zoo + "compile_cpython", ["cpython.script"]),
        ("cpp", zoo + "compile_cpp", []),
        ("rust", zoo + "compile_rust", []),
        ("words", f"gcc -g -O1 -fno-inline -o words '{examples}/words/words.c'", ["text.txt"]),
        ("shared", f"gcc -g -O1 -fno-builtin -o shared '{tests}/shared.c'", []),
        ("containers", f"g++ -g -O1 -o containers '{tests}/containers.cc'", []),
        ("structs", f"gcc -g -O1 -o structs '{tests}/structs.c'", []),
    ]


class Database:
    def __init__(self, addfg, path):
        self.addfg, self.path = addfg, path

    def rows(self, query):
        """Rows as they come: those of all calls of a long run would fill the memory."""
        command = [self.addfg, "sql", self.path, query, "--format", "csv"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as answer:
            rows = csv.reader(answer.stdout)
            next(rows, None)
            yield from rows
        if answer.returncode != 0:
            raise subprocess.CalledProcessError(answer.returncode, command)

    def overview(self):
        answer = subprocess.run([self.addfg, "graph", self.path, "--format", "json"], check=True, capture_output=True, text=True).stdout
        return json.loads(answer)


def boxes(overview):
    return {(node["kind"], node["full_name"], node["steps"]) for node in overview["nodes"] if node["kind"] != "helper"}


def arrows(overview):
    """Bytes from one box to another, by their kinds and names."""
    names = [(node["kind"], node["full_name"]) for node in overview["nodes"]]
    found = {}
    for edge in overview["edges"]:
        if edge["kind"] == "data":
            ends = names[edge["from"]], names[edge["to"]]
            for bytes_, ends in ((edge["bytes"], ends), (edge["bytes_back"], ends[::-1])):
                if bytes_:
                    found[ends] = bytes_
    return found


class Calls:
    """What single calls read of one another, by box: the truth that pictures are held to."""

    def __init__(self, database, overview):
        functions = {int(i): (name, kind) for i, name, kind in database.rows("SELECT function_id, name, kind FROM function_symbol")}
        name_of = {i: name for i, (name, _) in functions.items()}
        drawn = {node["full_name"] for node in overview["nodes"] if node["kind"] == "function"}
        handlers = {int(r[0]) for r in database.rows("SELECT DISTINCT callee_function_id FROM call_edge WHERE kind = 'signal'")}
        called = "SELECT callee FROM call_graph WHERE caller = '__libc_start_call_main' AND callee IN (SELECT name FROM function_symbol WHERE owner = 'program')"
        main = next((name for name in ["main", *(row[0] for row in database.rows(called))] if name in drawn), None)
        # By number of the call; 0 is of none. Names are numbers, too: a long run has millions of calls.
        names = [None, *sorted(set(name_of.values()))]
        number = {name: i for i, name in enumerate(names)}
        box, function, self.places = array("i", [0]), array("i", [0]), defaultdict(set)
        rows = database.rows("SELECT call_id, function_id, coalesce(parent_call_id, 0), kind = 'signal', thread_id FROM function_call ORDER BY call_id")
        for call, f, parent, signal, thread in rows:
            call, f, parent = int(call), int(f), int(parent)
            for one in (box, function):
                one.extend([0] * (call + 1 - len(one)))
            function[call] = number[name_of[f]]
            # Threads begin in main, the first one in start-up.
            above = box[parent] if parent else (number[main] if thread != "1" else 0)
            above = 0 if signal == "true" and f in handlers and name_of[f] in drawn else above
            box[call] = number[name_of[f]] if name_of[f] in drawn else above
            self.places[name_of[f]].add(names[box[call]])
        self.between = defaultdict(int)
        ends = lambda call: {("function", names[box[call]]), ("helper", names[function[call]])}
        rows = database.rows(
            "SELECT coalesce(writer_call_id, 0), coalesce(p.function_id, 0), reader_call_id, coalesce(unique_bytes, bytes) "
            "FROM dataflow_row d JOIN place p USING (place_id)"
        )
        for writer, source, reader, bytes_ in rows:
            writer, source, reader, bytes_ = int(writer), int(source), int(reader), int(bytes_)
            # A flow counts for the boxes at its ends, and for the functions themselves, which helpers are.
            froms = ends(writer) if writer else {("source", name_of.get(source))}
            for a in froms:
                for b in ends(reader):
                    self.between[a, b] += bytes_
        # From so many calls on the picture goes by sums (MANY_CALLS in src/graph/overview).
        self.are_many = len(function) - 1 > 2_000_000
        self.sinks = defaultdict(int)
        for writer, reader, bytes_ in database.rows("SELECT writer, reader, sum(coalesce(unique_bytes, bytes)) FROM function_dataflow GROUP BY ALL"):
            self.sinks[writer, reader] += int(bytes_)

    def bytes(self, a, b):
        """Bytes from a box to another; None: places of several files, and constants."""
        if a[0] == "constants" or any(re.search(r", \d+ more$", name) for kind, name in (a, b) if kind in ("source", "sink")):
            return None
        if b[0] == "sink":
            # What a system call took is known by function: it is the box's where its function worked for no other.
            is_it = re.compile(r"<(?:write|pwrite|send)\w*(?:: (?:.*/)?%s)?>$" % re.escape(b[1]))
            every = [(writer, n) for (writer, to), n in self.sinks.items() if is_it.match(to)]
            if a[0] == "helper":
                return sum(n for writer, n in every if writer == a[1])
            return sum(n for writer, n in every if self.places[writer] == {a[1]})
        if a[0] == "source":
            is_it = re.compile(r"<(?:read|pread64|readv|recv|recvfrom|recvmsg|mmap)(?:: (?:.*/)?%s)?>$" % re.escape(a[1]))
            every = [n for (k, n), to in self.between if k == "source" and n and to == b and is_it.match(n)]
            return sum(self.between[("source", n), b] for n in every)
        return self.between.get((a, b), 0)


def untrue(calls, overview, exactly):
    """Arrows that single calls do not bear out."""
    found = []
    for (a, b), bytes_ in sorted(arrows(overview).items()):
        truth = calls.bytes(a, b)
        if truth is not None and (bytes_ != truth if exactly else bytes_ > truth):
            found.append(f"{a[1]} -> {b[1]}: {bytes_} B, by calls {truth}")
    return found


def measure(addfg, name, program, arguments, most):
    recording, summary, pairs = (f"{name}.{end}" for end in ("stream", "summary.duckdb", "pairs.duckdb"))
    if not Path(recording).exists():
        command = [addfg, "record", "-q", "--detail", "summary", "--force", "--keep", recording, "-o", summary, "--", program, *arguments]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=Path(f"{name}.said").open("w"))
    else:
        subprocess.run([addfg, "build", "-q", "--force", recording, "--detail", "summary", "-o", summary], stderr=subprocess.DEVNULL)
    steps = int(list(Database(addfg, summary).rows("SELECT coalesce(sum(steps_self), 0) FROM function_profile"))[0][0])
    if steps > most * 1e6:
        return f"{steps / 1e6:.0f} M steps are more than {most} M"
    subprocess.run([addfg, "build", "-q", "--force", recording, "--detail", "pairs", "-o", pairs], stderr=subprocess.DEVNULL)
    first, second = Database(addfg, summary).overview(), Database(addfg, pairs).overview()
    calls = Calls(Database(addfg, pairs), second)
    apart = sorted(boxes(first) ^ boxes(second))
    wrong = untrue(calls, first, False), untrue(calls, second, not calls.are_many)
    helpers = [sum(node["kind"] == "helper" for node in o["nodes"]) for o in (first, second)]
    print(
        f"| {name} | {steps / 1e6:.1f} | {len(boxes(second))} | {len(apart)} | {helpers[0]}, {helpers[1]} | {len(arrows(first))}, {len(arrows(second))} "
        f"| {len(wrong[0])} | {len(wrong[1])} |",
        flush=True,
    )
    for kind, rest in (("only one has", apart), ("untrue at summary", wrong[0]), ("untrue at pairs", wrong[1])):
        for one in rest:
            print(f"{name}: {kind}: {one}", file=sys.stderr, flush=True)
    return bool(apart or wrong[0] or wrong[1])


def main():
    arguments = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    arguments.add_argument("--addfg", default="addfg")
    arguments.add_argument("--work")
    arguments.add_argument("--most", type=float, default=60)
    arguments.add_argument("program", nargs="*")
    given = arguments.parse_args()
    addfg = shutil.which(given.addfg) or sys.exit(f"no program `{given.addfg}`: name it with --addfg")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(given.work or folder)
        work.mkdir(parents=True, exist_ok=True)
        os.chdir(work)
        inputs()
        Path("sum.bc").write_text("s = 0\nfor (i = 1; i < 300; i++) s += i ^ 9 / 7\ns\nquit\n")
        Path("rules.mk").write_text("all: a b\na: c\n\techo a\nb: c\n\techo b\nc:\n\techo c\n")
        print("| program | M steps | boxes | other boxes | helpers | arrows | untrue at summary | untrue at pairs |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        differ = False
        everything = [(n, p, a, None) for n, p, a in of_system()] + [(n, f"./{n}", a, made) for n, made, a in of_ours()]
        for name, program, more, made in everything:
            if given.program and name not in given.program:
                continue
            if made and not Path(program).exists():
                try:
                    shell(made)
                except subprocess.CalledProcessError:
                    print(f"skipped: {name}: cannot be compiled here", file=sys.stderr, flush=True)
                    continue
            if program is None:
                print(f"skipped: {name}: not installed", file=sys.stderr, flush=True)
                continue
            answer = measure(addfg, name, program, more, given.most)
            if isinstance(answer, str):
                print(f"skipped: {name}: {answer}", file=sys.stderr, flush=True)
            else:
                differ |= answer
    sys.exit(int(differ))


if __name__ == "__main__":
    main()
