#!/usr/bin/env python3
"""Mutation testing of the pass (src/analysis): says which changes of it no test finds.

    fuzz/mutants.py [--work DIR] [--files PATH...] [--guards NAMES] [--jobs N] [--limit SECONDS] [--only ID,...]

1. Copies the checkout to DIR/tree and rewrites it (fuzz/mutants): all mutants are in one program, and ADDFG_MUTANT
   chooses one. Those that do not compile are left out.
2. Compiles it once, into DIR/target. The room `analysis` with its tests is a package of its own there (guard `unit`),
   for it needs little else: twenty seconds. Other guards take all of addfg.
3. Runs the guards without a mutant: they must pass. Notes which mutants each of them reaches.
4. Runs each mutant against what reaches it, until something fails or takes too long. One that nothing reaches survives.
   Tests of a module are asked together, random runs one by one: those first that have found most, and most in the
   same function, for the time they take.

It goes on where it stopped: what is known of a mutant is a line of DIR/results. At the end, and with --report, it
prints the table of docs/reliability.md, and each survivor with its place and change. DIR is target/mutants if nothing is said; a new DIR begins again.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What the rewriter cannot change sensibly: tests, and hints to the processor, which change no result.
LEFT_OUT = ("tests.rs", "random.rs", "wild.rs", "resumed.rs", "ranges.rs", "tasks.rs", "nested.rs",
            "prefetch.rs")
# Guards, the quick ones first: name, test program, arguments.
GUARDS = [
    ("unit", "unit", ["analysis::"]),
    ("sql", "guard", ["--ignored", "--exact", "guard::guard"]),
    ("naive", "it", ["naive::shipped_examples"]),
    ("property", "it", ["property::", "fir::", "registers::", "through::", "part::"]),
    ("programs", "it", ["oracle::", "naive::", "happened::", "record::", "allocations::", "interrupts::"]),
]
# Random runs of the guard `unit` are asked one by one: test, seeds.
RANDOM = [("analysis::wild::wild_runs_give_what_they_gave", 40),
          ("analysis::random::every_way_gives_what_a_list_of_bytes_says", 12),
          ("analysis::resumed::a_part_alone_gives_the_rows_of_the_whole", 8),
          ("analysis::ranges::long_ranges_are_as_all_their_bytes", 40),
          ("analysis::tasks::tasks_are_as_threads", 12),
          ("analysis::nested::saves_inside_of_saves_are_those_of_a_list_of_bytes", 120)]
# Tests of the guard `unit` that take long: each is asked by itself. All others of a module are asked together.
SLOW = ["analysis::tests::flows_of_very_many_writers_are_parts", "analysis::memory::tests::whole_pages_are_unfilled",
        "analysis::nested::saves_behind_one_that_ends_may_be_of_other_parts",
        "analysis::memory::tests::what_is_known_is_what_was_written",
        "analysis::contexts::tests::deep_and_many_contexts_are_their_callers",
        "analysis::forks::tests::what_was_kept_is_what_a_process_begins_with",
        "analysis::register_window::tests::recent_registers_are_what_a_list_of_bytes_says"]
# Rows of the report: files that work together. All others are a row, and there is one of all.
GROUPS = [("repeated_reads.rs",), ("fast_path.rs",), ("register_window.rs",), ("segment.rs",), ("superblock.rs",),
          ("shadow.rs",), ("memory.rs", "filled.rs", "place.rs"), ("sums.rs", "flows.rs"), ("saves.rs", "restores.rs"),
          ("state.rs", "live_in.rs"), ("levels.rs", "exceptions.rs", "switches.rs", "outlived.rs")]
OTHERS, ALL = ("the other files",), ("all",)
# What changes no result, by file and reason: fuzz/equivalent.txt.
EQUIVALENT = os.path.join(HERE, "fuzz/equivalent.txt")

# The room that is tested with what it needs of the others, as a package.
UNIT_MANIFEST = """[package]
name = "unit"
version = "0.1.0"
edition = "2024"
[lib]
path = "lib.rs"
[dependencies]
libc = "0.2"
rustc-hash = "2"
[profile.release]
opt-level = 1
overflow-checks = false
debug-assertions = true
debug = false
[workspace]
"""
UNIT = """#![allow(warnings, arithmetic_overflow, unconditional_panic, overflowing_literals)]
#[macro_use]
#[path = "TREE/src/text.rs"] pub mod text;
#[path = "TREE/src/id.rs"] pub mod id;
#[path = "TREE/src/event.rs"] pub mod event;
pub mod registers {
    #[path = "TREE/src/registers/file.rs"] mod file;
    pub use file::{RegAccess, Register, Registers};
}
pub mod isa {
    #[path = "TREE/src/isa/decoded.rs"] pub mod decoded;
    #[path = "TREE/src/isa/expr.rs"] pub mod expr;
    pub use decoded::{ControlFlow, Decoded, Decoder, FlowKind, MemOperand, Moved, RegAccess, Unmodelled};
    pub use expr::{Expr, Operator};
}
#[path = "TREE/src/analysis/mod.rs"] pub mod analysis;
#[path = "TREE/src/mutants.rs"] pub mod mutants;
"""

# The first guard as a program of its own, which is compiled sooner than all tests together.
GUARD = """#[allow(dead_code)]
mod common {
    #[path = "../it/common/program.rs"]
    pub mod program;
    #[path = "../it/common/stream.rs"]
    pub mod stream;
}
#[path = "it/guard.rs"]
mod guard;
"""


def say(text):
    print(text, flush=True)


class Work:
    def __init__(self, options):
        self.root = options.work
        self.tree = os.path.join(self.root, "tree")
        self.target = options.target or os.path.join(self.root, "target")
        self.options = options
        self.guards = [g for g in GUARDS if g[0] in options.guards.split(",")]
        os.makedirs(self.root, exist_ok=True)

    def path(self, name):
        return os.path.join(self.root, name)

    def environment(self, **more):
        profile = {"CARGO_TARGET_DIR": self.target, "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1"}
        return {**os.environ, **profile, **more}

    # ---- the program with all mutants ----

    def sources(self):
        if self.options.files:
            return self.options.files
        folder = os.path.join(HERE, "src/analysis")
        return sorted("src/analysis/" + n for n in os.listdir(folder) if n.endswith(".rs") and n not in LEFT_OUT)

    def rewrite(self, skip):
        shutil.rmtree(self.tree, ignore_errors=True)
        names = subprocess.run(["git", "ls-files", "-z"], cwd=HERE, capture_output=True, check=True).stdout
        for name in names.decode().split("\0"):
            source = os.path.join(HERE, name)
            if name and os.path.isfile(source):
                to = os.path.join(self.tree, name)
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy2(source, to)
        for name in (".cargo", "Cargo.lock"):
            source, to = os.path.join(HERE, name), os.path.join(self.tree, name)
            if os.path.isdir(source):
                shutil.copytree(source, to, dirs_exist_ok=True)
            elif os.path.exists(source):
                shutil.copy2(source, to)
        with open(self.path("skip"), "w") as file:
            file.writelines(f"{id}\n" for id in sorted(skip))
        tool = ["cargo", "run", "-q", "--manifest-path", os.path.join(HERE, "fuzz/mutants/Cargo.toml"), "--"]
        made = subprocess.run(tool + [self.tree, self.path("skip"), *self.sources()], capture_output=True, text=True,
                              env={**os.environ, "CARGO_TARGET_DIR": self.path("tool")})
        if made.returncode:
            sys.exit(made.stderr)
        with open(self.path("list"), "w") as file:
            file.write(made.stdout)
        # The folder is on the way of paths in the file.
        os.makedirs(os.path.join(self.tree, "tests/common"), exist_ok=True)
        with open(os.path.join(self.tree, "tests/guard.rs"), "w") as file:
            file.write(GUARD)

    def compile(self, name):
        """Compiles a test program; gives its path, and the mutants that are in the way."""
        command = ["cargo", "test", "--release", "--no-run", "--message-format=json"]
        folder = self.tree
        if name == "unit":
            command.append("--lib")
            folder = self.path("unit")
            os.makedirs(folder, exist_ok=True)
            for file, text in (("Cargo.toml", UNIT_MANIFEST), ("lib.rs", UNIT.replace("TREE", self.tree))):
                with open(os.path.join(folder, file), "w") as to:
                    to.write(text)
        else:
            command += ["--test", name]
        made = subprocess.run(command, cwd=folder, env=self.environment(), stdout=subprocess.PIPE, text=True)
        program, bad, other = None, set(), []
        for line in made.stdout.splitlines():
            message = json.loads(line) if line.startswith("{") else {}
            if message.get("executable") and message["target"]["name"] == name:
                program = message["executable"]
            message = message.get("message")
            if message and message["level"] == "error" and message["spans"]:
                found = self.mutant_of(folder, message["spans"])
                bad.add(found) if found else other.append(message["rendered"][:2000])
        if made.returncode and not bad:
            sys.exit("\n".join(other) or "it does not compile")
        return program, bad

    def mutant_of(self, folder, spans):
        """The mutant whose text an error is in: that which is asked for last before it."""
        for span in sorted(spans, key=lambda span: not span["is_primary"]):
            with open(os.path.join(folder, span["file_name"]), encoding="utf-8") as file:
                line = file.read().splitlines()[span["line_start"] - 1]
            found = re.findall(r"mutants :: on \((\d+)u32\)", line[: span["column_start"] + 30])
            if found:
                return int(found[-1])
        return None

    def build(self):
        wanted = {g[1] for g in self.guards}
        programs, skip = {}, set()
        if os.path.exists(self.path("skip")):
            with open(self.path("skip")) as file:
                skip = {int(line) for line in file}
        if os.path.exists(self.path("programs")):
            with open(self.path("programs")) as file:
                programs = json.load(file)
        self.programs = programs
        while not programs:
            self.rewrite(skip)
            program, bad = self.compile("unit")
            if not bad:
                programs["unit"] = program
            skip |= bad
            say(f"{len(skip)} mutants do not compile")
        for name in wanted - programs.keys():
            programs[name], bad = self.compile(name)
            if bad:
                sys.exit(f"these do not compile: {bad}")
        with open(self.path("programs"), "w") as file:
            json.dump(programs, file)
        return programs

    # ---- the guards ----

    def cases(self):
        """What is asked of a mutant: (name, guard, test program, arguments, seed)."""
        for name, program, arguments in self.guards:
            if name != "unit":
                yield name, name, program, arguments, None
                continue
            listed = subprocess.run([self.programs[program], "--list", *arguments], capture_output=True, text=True).stdout
            tests = [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]
            parts = collections.defaultdict(list)
            for test in sorted(set(tests) - {test for test, _ in RANDOM}):
                parts[test if test in SLOW else test.rsplit("::", 1)[0]].append(test)
            for part, tests in parts.items():
                yield part, name, program, ["--exact", *tests], None
            for test, seeds in RANDOM:
                for seed in range(seeds):
                    yield f"{test.split('::')[1]} {seed}", name, program, ["--exact", test], seed

    def run(self, programs, case, mutant, seconds, **more):
        """Whether a case passes, and how long it took of the processor."""
        name, _, program, arguments, seed = case
        scratch = self.path(f"scratch-{threading.get_ident()}")
        shutil.rmtree(scratch, ignore_errors=True)
        os.makedirs(scratch)
        environment = self.environment(ADDFG_MUTANT=str(mutant), ADDFG_GUARD=self.path("expected"), TMPDIR=scratch,
                                       RUST_BACKTRACE="0", LD_LIBRARY_PATH=os.environ.get("LD_LIBRARY_PATH", ""), **more)
        if seed is not None:
            environment["ADDFG_RANDOM"] = f"{seed}..{seed + 1}"
        # The machine may have other work.
        memory = 2 << 30 if program == "unit" else 8 << 30
        limits = ["prlimit", f"--as={memory}", f"--cpu={seconds}", "timeout", "-k", "5", str(20 * seconds)]
        limited = [*limits, programs[program], "-q", "--test-threads", "1", *arguments]
        before = os.times()
        with open(self.path(f"output-{name.split()[0]}"), "w") as output:
            code = subprocess.run(limited, cwd=self.tree, env=environment, stdout=output, stderr=output).returncode
        after = os.times()
        shutil.rmtree(scratch, ignore_errors=True)
        return code, after.children_user + after.children_system - before.children_user - before.children_system

    def reached(self, programs):
        """By case: which mutants it reaches, and how long it takes."""
        found, path = {}, self.path("reached")
        if os.path.exists(path):
            with open(path) as file:
                found = {name: case for name, case in map(json.loads, file)}
        for case in self.cases():
            name = case[0]
            if name in found:
                continue
            if name == "sql" and not os.path.exists(self.path("expected")):
                if self.run(programs, case, 0, 1200)[0]:
                    sys.exit(f"{name} fails without a mutant: see {self.path('output-sql')}")
            new = self.path("reached.new")
            if os.path.exists(new):
                os.remove(new)
            code, took = self.run(programs, case, "reached", 1800, ADDFG_MUTANTS_REACHED=new)
            if code:
                sys.exit(f"{name} fails without a mutant: see {self.path('output-' + name.split()[0])}")
            ids = []
            if os.path.exists(new):
                with open(new) as file:
                    ids = sorted({int(line) for line in file})
            found[name] = {"took": took, "ids": ids}
            with open(path, "a") as file:
                file.write(json.dumps([name, found[name]]) + "\n")
        return {name: (case["took"], set(case["ids"])) for name, case in found.items()}

    def mutants(self):
        with open(self.path("list")) as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        return {int(row[0]): row[1:] for row in rows}

    def known(self):
        known = {}
        if os.path.exists(self.path("results")):
            with open(self.path("results")) as file:
                for line in file:
                    id, result = line.split(maxsplit=1)
                    known[int(id)] = result.strip()
        return known

    def test(self, programs):
        mutants, known, reached = self.mutants(), self.known(), self.reached(programs)
        cases, names = list(self.cases()), [g[0] for g in self.guards]
        equivalent = self.equivalent()

        # A survivor is asked again where there are guards that it has not met.
        def met(id):
            result = known.get(id, "")
            return set(names) if result.startswith("killed") else set(result.split()[1:])
        # What was not tried comes first.
        order = lambda id: (id in known, hash((id, 1)) if self.options.sample else id)
        wanted = [id for id in sorted(mutants, key=order)
                  if (not self.options.only or id in self.options.only)
                  and (not self.options.in_files or re.split("[/:]", mutants[id][0])[-2] in self.options.in_files) and set(names) - met(id) and id not in equivalent]
        lock, ends = threading.Lock(), time.monotonic() + (self.options.limit or 1e9)
        results = open(self.path("results"), "a")
        found = collections.Counter()

        def has_found(id, case):
            found[case] += 1
            found[mutants[id][1], case] += 1
        for id, result in known.items():
            if result.startswith("killed"):
                has_found(id, result.split(" by ")[1])

        def one(id):
            if time.monotonic() > ends:
                return
            result, before, all_took = None, met(id), 0
            here = [case for case in cases if case[1] not in before and id in reached[case[0]][1]]
            place, function = mutants[id][:2]
            own = "analysis::" + place.split(":")[0].split("/")[-1].removesuffix(".rs") + "::"
            def worth(case):
                of_function = found[function, case[0]] + case[0].startswith(own)
                return (1 + found[case[0]] + 50 * of_function) / (0.02 + reached[case[0]][0])
            here.sort(key=worth, reverse=True)
            # What some runs of a test do not find, more of them find less.
            runs, less = collections.Counter(), {}
            for case in here:
                less[case[0]] = 1 + runs[case[3][-1]] / 4
                runs[case[3][-1]] += 1
            here.sort(key=lambda case: (names.index(case[1]), -worth(case) / less[case[0]]))
            for case in here:
                if self.options.patience and all_took > self.options.patience:
                    # It is asked again where there is more time.
                    result = "survived " + " ".join(sorted(before))
                    break
                code, took = self.run(programs, case, id, int(1 + 8 * reached[case[0]][0]))
                all_took += took
                if code:
                    how = "time" if code in (124, 137, -9, -24) else "crash" if code < 0 or code > 128 else "test"
                    result = f"killed {case[1]} {how} {all_took:.2f} by {case[0]}"
                    has_found(id, case[0])
                    break
            result = result or "survived " + " ".join(sorted(before | set(names)))
            with lock:
                known[id] = result
                results.write(f"{id} {result}\n")
                results.flush()

        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            list(pool.map(one, wanted))

    def equivalent(self):
        """Those that change no result, by id: their reasons."""
        rules = []
        if os.path.exists(EQUIVALENT):
            with open(EQUIVALENT) as file:
                rules = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
        found, unused, kinds = {}, [], collections.defaultdict(list)
        for id, (place, function, change) in self.mutants().items():
            kinds[place.split(":")[0].split("/")[-1], function, change].append(id)
        for file, function, change, reason in rules:
            change, _, number = change.partition(" #")
            ids = kinds[file, function, change][int(number or 1) - 1:][:1]
            found.update({id: reason for id in ids})
            if not ids:
                unused.append(f"{file} {function} {change}")
        for rule in unused:
            say(f"no mutant is that any more: {rule}")
        return found

    def report(self):
        mutants, known, equivalent = self.mutants(), self.known(), self.equivalent()
        groups = {file: files for files in GROUPS for file in files}
        by_group = collections.defaultdict(collections.Counter)
        for id, (place, *_) in mutants.items():
            result = known.get(id, "untried").split()[0]
            result = "equivalent" if id in equivalent and result != "killed" else result
            for group in (groups.get(place.split(":")[0].split("/")[-1], OTHERS), ALL):
                by_group[group][result] += 1
        def name(file):
            return f"`{file}`" if file.endswith(".rs") else file
        # The table of docs/reliability.md.
        say(f"| `fuzz/mutants.py --guards {self.options.guards}` | killed | survived | change nothing | not tried | "
            "killed of those that change something |")
        say("|---|---|---|---|---|---|")
        for group in (*GROUPS, OTHERS, ALL):
            counts = by_group[group]
            tried = counts["killed"] + counts["survived"]
            share = f"{100 * counts['killed'] / tried:.1f} %" if tried else ""
            columns = [str(counts[column]) for column in ("killed", "survived", "equivalent", "untried")]
            say("| " + " | ".join([", ".join(name(file) for file in group), *columns, share]) + " |")
        for id, (place, function, change) in mutants.items():
            if id not in equivalent and known.get(id, "killed").startswith("survived"):
                say(f"survived\t{id}\t{place}\t{function}\t{change}")
        say(f"{len(mutants)} mutants compile")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", default=os.path.join(HERE, "target/mutants"), help="folder for everything")
    parser.add_argument("--target", help="where cargo compiles to [default: WORK/target]")
    parser.add_argument("--files", nargs="*", help="sources to mutate [default: src/analysis]")
    parser.add_argument("--guards", default="unit,sql,property", help="of: " + ", ".join(g[0] for g in GUARDS))
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--limit", type=float, help="stop after so many seconds")
    parser.add_argument("--patience", type=float, help="seconds of the processor for a mutant, about")
    parser.add_argument("--only", type=lambda text: {int(id) for id in text.split(",")}, help="ids of mutants")
    parser.add_argument("--in-files", type=lambda text: text.split(","), help="only mutants of these files: repeated_reads.rs,fast_path.rs")
    parser.add_argument("--sample", action="store_true", help="in an order that is like a random one")
    parser.add_argument("--report", action="store_true", help="say what is known, and try nothing")
    options = parser.parse_args()
    work = Work(options)
    if not options.report:
        work.test(work.build())
    work.report()


if __name__ == "__main__":
    main()
