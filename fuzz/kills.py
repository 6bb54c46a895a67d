#!/usr/bin/env python3
"""kills.py: kills addfg at random moments and looks at what is left, as a Markdown table on standard output.

    fuzz/kills.py ADDFG [--kills N] [--work FOLDER] [--seed N]

Commands in turn: record, build, build over an old database, prepare, collect, export (to SQLite, Parquet, callgrind), report. Each is killed by SIGKILL after a
random part of the time that it takes. Then:

- a file that the command makes is not there, or is whole: it has the rows or bytes of one that was made undisturbed;
- what it was to replace is there as it was, or the new one is;
- the recorded program has ended by itself and printed all that it prints, and what was received of it is a database by `addfg build`;
- the same command works the next time, and nothing else is left in the folder.

Status 1: something was lost. Needs gcc, valgrind, pkg-config.
"""
import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Loss(Exception):
    pass


class Trial:
    """One command: how it is begun, and what is looked at behind a kill."""

    def __init__(self, addfg, work):
        self.addfg, self.work = addfg, work
        self.folder = work / "trial"
        self.stdout = None

    def ask(self, *words, fails=False):
        ran = subprocess.run([self.addfg, *map(str, words)], cwd=self.folder, capture_output=True, text=True)
        if ran.returncode not in (0, 1) and not fails:
            raise Loss(f"addfg {' '.join(map(str, words))}: status {ran.returncode}: {ran.stderr.strip()[-300:]}")
        return ran.stdout

    def begin(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()

    def left(self):
        return {path.name for path in self.folder.iterdir()}

    def words(self):
        raise NotImplementedError

    def state(self):
        """What the output is: `none`, or something that is compared."""
        raise NotImplementedError

    def run(self):
        return subprocess.run([self.addfg, *map(str, self.words())], cwd=self.folder, stdout=self.stdout or subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def killed(self, after):
        """Whether it was still under way when it was killed."""
        child = subprocess.Popen([self.addfg, *map(str, self.words())], cwd=self.folder, stdout=self.stdout or subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(after)
            return False
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
            return True

    # States that may be found.
    allowed = ()

    def check(self):
        state = self.state()
        if state not in self.allowed:
            raise Loss(f"{type(self).__name__}: found {str(state)[:200]}")

    def reference(self):
        self.begin()
        begun = time.monotonic()
        if self.run().returncode not in (0, 1):
            raise SystemExit(f"kills.py: {self.words()} does not work")
        self.takes = time.monotonic() - begun
        self.whole, self.files = self.state(), self.left()
        self.allowed = ("none", self.whole)

    def once(self, random_):
        self.begin()
        under_way = self.killed(random_.uniform(0, 1.05 * self.takes))
        self.check()
        if self.run_again().returncode not in (0, 1):
            raise Loss(f"{type(self).__name__}: it does not work the next time")
        if self.state() != self.whole:
            raise Loss(f"{type(self).__name__}: it gives something else the next time")
        if self.left() != self.files:
            raise Loss(f"{type(self).__name__}: left: {sorted(self.left() ^ self.files)}")
        return under_way

    def run_again(self):
        return self.run()


FIGURES = "SELECT (SELECT count(*) FROM function_call), (SELECT sum(bytes) FROM function_dataflow), (SELECT count(*) FROM data_access)"


class Build(Trial):
    def words(self):
        return ["build", self.work / "jpeg.log.xz", "--elf", ROOT / "examples/jpeg/jpeg", "-o", "out.duckdb", "-q", "--force"]

    def state(self):
        return self.ask("sql", "out.duckdb", FIGURES, "--format", "csv") if (self.folder / "out.duckdb").exists() else "none"


class BuildOver(Build):
    def begin(self):
        super().begin()
        shutil.copy(self.work / "fir.duckdb", self.folder / "out.duckdb")

    def reference(self):
        self.begin()
        self.old = self.state()
        super().reference()
        self.allowed = (self.old, self.whole)


class Prepare(Trial):
    def begin(self):
        super().begin()
        shutil.copy(self.work / "jpeg.duckdb", self.folder / "out.duckdb")

    def words(self):
        return ["prepare", "out.duckdb"]

    def state(self):
        return self.ask("sql", "out.duckdb", FIGURES, "--format", "csv") + self.ask("loops", "out.duckdb", "--format", "csv")

    def reference(self):
        super().reference()
        self.allowed = (self.whole,)


class Collect(Trial):
    def words(self):
        return ["collect", self.work / "jpeg.duckdb", "-o", "lake", "--label", "size=1", "-q"]

    def state(self):
        if not (self.folder / "lake/_schema.json").exists():
            return "none"
        return self.ask("sql", "lake", "SELECT count(*), sum(bytes), (SELECT count(*) FROM call), (SELECT count(*) FROM line) FROM edge", "--format", "csv")

    def reference(self):
        super().reference()
        empty = self.work / "trial/lake/_runs"
        for path in empty.iterdir():
            path.unlink()
        self.allowed = ("none", self.whole, self.state())


class Export(Trial):
    to, name = "sqlite", "out.sqlite"

    def words(self):
        return ["export", self.work / "jpeg.duckdb", "--to", self.to, "-o", self.name, "--force"]

    def state(self):
        path = self.folder / self.name
        if not path.exists():
            return "none"
        if self.to == "sqlite":
            return self.ask("sql", self.name, "SELECT count(*), sum(bytes) FROM function_edge", "--format", "csv")
        if path.is_dir():
            # Sizes are not the same each time.
            rows = f"SELECT file_name, num_rows FROM parquet_file_metadata('{self.name}/*.parquet') ORDER BY ALL"
            return self.ask("sql", self.work / "jpeg.duckdb", rows, "--files", "--format", "csv")
        return hashlib.sha256(path.read_bytes()).hexdigest()


class ExportParquet(Export):
    to, name = "parquet", "tables"


class ExportCallgrind(Export):
    to, name = "callgrind", "callgrind.out"


class Report(Trial):
    def words(self):
        return ["report", self.work / "jpeg.duckdb", "-o", "page.html"]

    def state(self):
        path = self.folder / "page.html"
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "none"


class Record(Trial):
    """The program goes on; what came of it is a database by `build`."""

    def words(self):
        return ["record", "-q", "-o", "out.duckdb", "--force", "--detail", "summary", "--", self.work / "words", self.work / "text.txt"]

    def state(self):
        return "whole" if (self.folder / "out.duckdb").exists() and int(self.ask("sql", "out.duckdb", "SELECT sum(steps)::BIGINT AS n FROM thread", "--format", "csv").split()[-1]) > 100000 else "none"

    def killed(self, after):
        printed = self.work / "printed"
        printed.write_text("")
        with printed.open("w") as self.stdout:
            under_way = super().killed(after)
        self.stdout = None
        # Began: the program prints everything, alone.
        parts = [name for name in self.left() if name.endswith(".part") and ".stream." in name]
        wanted = (self.work / "expected").read_text()
        for _ in range(600):
            if printed.read_text() == wanted or not self.alive():
                break
            time.sleep(0.1)
        text = printed.read_text()
        if text not in ("", wanted) or (parts and not text and self.began(parts)):
            raise Loss(f"Record: the program printed {len(text)} of {len(wanted)} bytes")
        for name in parts:
            built = subprocess.run([self.addfg, "build", name, "-o", "part.duckdb", "-q", "--force"], cwd=self.folder, capture_output=True, text=True)
            if built.returncode not in (0, 1) and not any(text in built.stderr for text in ("after 0 steps", "empty file")):
                raise Loss(f"Record: what was received cannot be built: {built.stderr.strip()[-300:]}")
            (self.folder / "part.duckdb").unlink(missing_ok=True)
            (self.folder / name).unlink()
        return under_way

    def began(self, parts):
        """Whether more came than the head of a stream: then the program was running."""
        return any((self.folder / name).stat().st_size > 100_000 for name in parts)

    def alive(self):
        word = str(self.work / "words").encode()
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and word in (entry / "cmdline").read_bytes() and entry.name != str(os.getpid()):
                    return True
            except OSError:
                pass
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("addfg")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    work = (arguments.work or Path(tempfile.mkdtemp())).resolve()
    work.mkdir(parents=True, exist_ok=True)
    addfg = str(Path(arguments.addfg).resolve())
    shutil.copy(ROOT / "examples/jpeg/jpeg.log.xz", work)
    for name in ["jpeg", "fir"]:
        log = ROOT / f"examples/{name}/{name}.log.xz"
        subprocess.run([addfg, "build", log, "--elf", log.with_name(name), "-o", work / f"{name}.duckdb", "-q", "--force"], check=True)
    subprocess.run(["gcc", "-g", "-O1", "-fno-inline", ROOT / "examples/words/words.c", "-o", work / "words"], check=True)
    (work / "text.txt").write_text((ROOT / "LICENSE-APACHE").read_text() * 3)
    expected = subprocess.run([work / "words", work / "text.txt"], capture_output=True, check=True).stdout
    (work / "expected").write_bytes(expected)

    trials = [trial(addfg, work) for trial in (Record, Build, BuildOver, Prepare, Collect, Export, ExportParquet, ExportCallgrind, Report)]
    for trial in trials:
        trial.reference()
    random_ = random.Random(arguments.seed)
    counts = {type(trial).__name__: [0, 0, 0] for trial in trials}
    for i in range(arguments.kills):
        trial = trials[i % len(trials)]
        count = counts[type(trial).__name__]
        count[0] += 1
        try:
            count[1] += trial.once(random_)
        except Loss as loss:
            count[2] += 1
            print(f"kill {i}: {loss}", file=sys.stderr, flush=True)
    print("| command | kills | while it was under way | lost |\n|---|---|---|---|")
    for name, count in counts.items():
        print(f"| {name} | {count[0]} | {count[1]} | {count[2]} |")
    sys.exit(1 if any(count[2] for count in counts.values()) else 0)


main()
