"""Builds databases of many recordings on a Spark cluster and collects them in a lake.

    spark-submit build_on_spark.py LAKE JOBS.csv [--addfg PATH] [--detail summary]

JOBS.csv has a recording a line, with the columns `trace`, `elf` and one for each label: `trace,elf,size,commit`. The lake and the
recordings are on a file system that all workers see; each worker has addfg. What is in the lake already is skipped, so the job can be
started again after any failure, and a task that Spark repeats does no harm: a run's name is the hash of what it holds. A recording that
cannot be built fails for itself; it is listed at the end, and the exit code is 1.
"""

import argparse
import csv
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def job_labels(job):
    return {name: value for name, value in job.items() if name not in ("trace", "elf") and value}


def fingerprint(trace, elf, labels):
    """What makes a job the same job: files by path and size, and the labels."""
    size = Path(trace).stat().st_size if Path(trace).exists() else -1
    return json.dumps([trace, size, elf, sorted(labels.items())])


def build(job, lake, addfg, detail):
    """Builds and collects one recording in a folder of its own; gives what went wrong, or nothing."""
    labels = job_labels(job)
    done = Path(lake) / "_jobs"
    done.mkdir(parents=True, exist_ok=True)
    key = fingerprint(job["trace"], job["elf"], labels)
    marker = done / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
    if marker.exists():
        return "skipped", ""
    with tempfile.TemporaryDirectory() as scratch:
        db = f"{scratch}/{Path(job['trace']).name.split('.')[0]}.duckdb"
        words = ",".join(f"{name}={value}" for name, value in labels.items())
        commands = [
            [addfg, "build", job["trace"], *(["--elf", job["elf"]] if job["elf"] else []), "--detail", detail, "-o", db],
            [addfg, "collect", db, "-o", lake, *(["--label", words] if words else [])],
        ]
        for command in commands:
            ran = subprocess.run(command, capture_output=True, text=True)
            # 1 is done, with problems that the database tells of.
            if ran.returncode > 1:
                return "failed", ran.stderr.strip()[-500:]
        # Last, and by rename: a job without it is done again, which changes nothing.
        part = marker.with_suffix(f".{Path(scratch).name}")
        part.write_text(key)
        part.rename(marker)
    return "built", ""


def run(spark, lake, jobs, addfg="addfg", detail="summary"):
    """What became of each job: its trace, `built`, `skipped` or `failed`, and why."""
    lake = str(Path(lake).absolute())
    # A job a task: the longest decides, and what fails is repeated alone.
    rows = spark.sparkContext.parallelize(jobs, max(1, len(jobs)))
    return rows.map(lambda job: (job["trace"], *build(job, lake, addfg, detail))).collect()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lake")
    parser.add_argument("jobs")
    parser.add_argument("--addfg", default="addfg")
    parser.add_argument("--detail", default="summary")
    args = parser.parse_args()
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("addfg build").getOrCreate()
    with open(args.jobs, newline="") as file:
        results = run(spark, args.lake, list(csv.DictReader(file)), args.addfg, args.detail)
    counts = {what: sum(1 for _, w, _ in results if w == what) for what in ("built", "skipped", "failed")}
    print(f"{counts['built']} built, {counts['skipped']} there before, {counts['failed']} failed")
    for trace, what, why in results:
        if what == "failed":
            print(f"{trace}: {why}", file=sys.stderr)
    spark.stop()
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
