//! Faults on purpose: builds, exports, pages, recordings, lakes are killed, their disk is full, their files cannot be
//! written or read. What was there before stays as it was, or the new file is there, whole.
//!
//! `ADDFG_FAULTS=N` asks for N faults of each kind instead of a few.

use crate::common::program::Random;
use crate::common::*;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn asked(few: u64) -> u64 {
    std::env::var("ADDFG_FAULTS").ok().and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// A command that makes `out` of what is in a folder.
struct Job {
    name: &'static str,
    arguments: Vec<String>,
    output: PathBuf,
    /// The old output and the new one.
    old: Vec<u8>,
    new: Vec<u8>,
}

/// Whether a database says what it should: the bytes of two builds may differ.
fn same(job: &Job, found: &[u8]) -> bool {
    if job.name != "build" || found.len() < 4096 {
        return found == job.new;
    }
    let copy = job.output.with_extension("look");
    fs::write(&copy, found).expect("writes");
    let steps = rows(&copy, "SELECT count(*) FROM opcode_line");
    let sums = rows(&copy, "SELECT sum(bytes) FROM function_dataflow");
    close_last();
    fs::remove_file(copy).expect("removes");
    steps == ["401"] && sums.len() == 1
}

fn jobs(scratch: &Scratch) -> Vec<Job> {
    let [log, elf] = [repository("examples/fir/fir.log.xz"), repository("examples/fir/fir")];
    let db = scratch.copy(&example("fir", "pairs"), "asked.duckdb");
    let old = fs::read(example("jpeg", "summary")).expect("reads");
    let job = |name, out: &str, old: Vec<u8>, arguments: &[&str]| {
        let output = scratch.path(out);
        let mut arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        arguments.extend(["-o".into(), utf8(&output).into()]);
        fs::write(&output, &old).expect("writes");
        let all: Vec<&str> = arguments.iter().map(String::as_str).collect();
        ok(&all);
        let new = fs::read(&output).expect("reads");
        Job { name, arguments, output, old, new }
    };
    let db = utf8(&db);
    vec![
        job(
            "build",
            "db.duckdb",
            old,
            &["build", utf8(&log), "--elf", utf8(&elf), "--force", "-q"],
        ),
        job(
            "export",
            "out.json",
            b"old".to_vec(),
            &["export", db, "--to", "json", "--force", "-q"],
        ),
        job("sqlite", "out.sqlite", Vec::new(), &["export", db, "--to", "sqlite", "--force", "-q"]),
        job("report", "page.html", b"old".to_vec(), &["report", db]),
        job("graph", "graph.json", b"old".to_vec(), &["graph", db, "--format", "json"]),
    ]
}

impl Job {
    fn command(&self) -> Command {
        fs::write(&self.output, &self.old).expect("writes");
        let all: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let mut command = command(&all);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Old or new, and never a third thing; gives whether it is the new one.
    fn look(&self, how: &str) -> bool {
        let found = fs::read(&self.output).expect("the output is there");
        let kept = found == self.old;
        assert!(kept || same(self, &found), "{}: {how}: {} bytes", self.name, found.len());
        !kept
    }

    /// Unfinished files beside the output.
    fn left(&self) -> Vec<String> {
        let folder = self.output.parent().expect("a folder");
        let names = fs::read_dir(folder).expect("lists").map(|e| e.expect("an entry").file_name());
        let names = names.map(|n| n.to_string_lossy().into_owned());
        names.filter(|n| n.contains(".part")).collect()
    }
}

fn say(what: &str, job: &Job, faults: u64, done: u64) {
    println!("| {what} | {} | {faults} | {} old, {done} new | 0 |", job.name, faults - done);
}

/// SIGKILL at random moments: what is left beside is removed by the next run.
#[test]
fn kills() {
    let scratch = Scratch::new("kills");
    let mut random = Random::new(7);
    for job in jobs(&scratch) {
        let began = Instant::now();
        assert!(job.command().status().expect("runs").success());
        let whole = began.elapsed().as_micros() as u64;
        let (faults, mut done) = (asked(2), 0);
        for _ in 0..faults {
            let mut child = job.command().spawn().expect("runs");
            let moment = random.below(whole * 11 / 10 + 1);
            std::thread::sleep(Duration::from_micros(moment));
            let _ = child.kill();
            let status = child.wait().expect("ends");
            let new = job.look(&format!("killed after {moment} us"));
            done += u64::from(new);
            assert!(!status.success() || new, "{}: {status}", job.name);
        }
        assert!(job.command().status().expect("runs").success());
        assert_eq!(job.left(), [""; 0], "{}", job.name);
        say("SIGKILL at a random moment", &job, faults, done);
    }
}

/// A command that changes something in place or makes a folder, or runs a program.
struct Change<'a> {
    name: &'static str,
    arguments: Vec<&'a str>,
    /// Makes what was there before.
    fresh: Box<dyn Fn() + 'a>,
    /// Whether all is there that was; gives whether what is new is there, too.
    look: Box<dyn Fn() -> bool + 'a>,
}

impl Change<'_> {
    /// Kills it at random moments, and does it again each time.
    fn kill(&self, scratch: &Scratch, random: &mut Random) {
        let Change { name, arguments, fresh, look } = self;
        let start = || {
            let mut command = command(arguments);
            command.stdout(Stdio::null()).stderr(Stdio::null()).env("XDG_CACHE_HOME", &scratch.0);
            command
        };
        // The first one compiles the recorder.
        for _ in 0..2 {
            fresh();
            assert!(start().status().expect("runs").success(), "{name}");
            assert!(look(), "{name}");
        }
        fresh();
        let began = Instant::now();
        assert!(start().status().expect("runs").success());
        let whole = began.elapsed().as_micros() as u64;
        let (faults, mut done) = (asked(2), 0);
        for _ in 0..faults {
            fresh();
            let mut child = start().spawn().expect("runs");
            std::thread::sleep(Duration::from_micros(random.below(whole * 11 / 10 + 1)));
            let _ = child.kill();
            child.wait().expect("ends");
            done += u64::from(look());
            // What was begun can be done again.
            assert!(start().status().expect("runs").success(), "{name}: again");
            assert!(look(), "{name}: again");
        }
        println!(
            "| SIGKILL at a random moment | {name} | {faults} | {} old, {done} new | 0 |",
            faults - done
        );
    }
}

/// SIGKILL at random moments while a database is prepared, a run collected, a program recorded.
#[test]
fn kills_while_something_is_changed() {
    let scratch = Scratch::new("kills-changed");
    let [db, lake, made] = ["p.duckdb", "lake", "r.duckdb"].map(|name| scratch.path(name));
    let source = example("fir", "pairs");
    let (fir, jpeg) = (example("fir", "instance"), example("jpeg", "instance"));
    let old = fs::read(example("jpeg", "summary")).expect("reads");
    let count = |db: &Path, sql: &str| {
        let rows = rows(db, sql);
        close_last();
        rows
    };
    let runs =
        |lake: &Path| ok(&["sql", utf8(lake), "SELECT count(*) AS n FROM run", "--format", "csv"]);
    let mut all = vec![
        Change {
            name: "prepare",
            arguments: vec!["prepare", utf8(&db)],
            fresh: Box::new(|| {
                fs::copy(&source, &db).expect("copies");
            }),
            look: Box::new(|| {
                assert_eq!(count(&db, "SELECT count(*) FROM opcode_line"), ["401"]);
                let prepared =
                    count(&db, "SELECT count(*) FROM meta WHERE key = 'prepared'") == ["1"];
                let loops = count(&db, "SELECT count(*) > 0 FROM executed_loop") == ["true"];
                assert!(loops || !prepared, "prepared, and no loops");
                prepared
            }),
        },
        Change {
            name: "collect",
            arguments: vec!["collect", utf8(&jpeg), "-o", utf8(&lake)],
            fresh: Box::new(|| {
                let _ = fs::remove_dir_all(&lake);
                ok(&["collect", utf8(&fir), "-o", utf8(&lake)]);
            }),
            look: Box::new(|| {
                let there = runs(&lake);
                assert!(there == "n\n1\n" || there == "n\n2\n", "{there}");
                there == "n\n2\n"
            }),
        },
    ];
    if have("valgrind") && have("gcc") && have("pkg-config") {
        all.push(Change {
            name: "record",
            arguments: vec![
                "record",
                "--force",
                "--detail",
                "summary",
                "-q",
                "-o",
                utf8(&made),
                "--",
                "true",
            ],
            fresh: Box::new(|| fs::write(&made, &old).expect("writes")),
            look: Box::new(|| {
                let found = fs::read(&made).expect("it is there");
                let new = found != old;
                assert!(
                    !new || count(&made, "SELECT count(*) > 10 FROM function_symbol") == ["true"]
                );
                new
            }),
        });
    }
    let mut random = Random::new(11);
    all.iter().for_each(|change| change.kill(&scratch, &mut random));
}

/// SIGKILL where a run begins its output, writes it, has it written, and gives it its name: what
/// was not reached does not pass. That it is killed while it reads is in `tests/it/files.rs`.
#[test]
fn kills_at_each_phase() {
    let scratch = Scratch::new("phases");
    let Some(shim) = shim(&scratch) else { return };
    for job in jobs(&scratch) {
        for phase in ["open", "write", "sync", "rename", "renamed"] {
            let mut command = job.command();
            command.env("LD_PRELOAD", &shim).env("ADDFG_FAIL_PATH", ".part");
            let status = command.env("ADDFG_KILL_AT", phase).status().expect("runs");
            assert_eq!(status.signal(), Some(libc::SIGKILL), "{}: {phase}: {status}", job.name);
            let new = job.look(&format!("killed at {phase}"));
            assert_eq!(new, phase == "renamed", "{}: {phase}", job.name);
            say(&format!("SIGKILL at `{phase}`"), &job, 1, u64::from(new));
        }
        assert!(job.command().status().expect("runs").success());
        assert_eq!(job.left(), [""; 0], "{}", job.name);
    }
}

/// The shim that makes a file system fail; None, with a word why, without a C compiler.
fn shim(scratch: &Scratch) -> Option<PathBuf> {
    if !have("gcc") {
        return None;
    }
    let (source, shim) = (repository("fuzz/fail.c"), scratch.path("fail.so"));
    let mut compiler = Command::new("gcc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(source).arg("-ldl");
    assert!(compiler.status().expect("gcc runs").success());
    Some(shim)
}

/// Runs a job with a fault; gives whether it was met, and whether the new file is there.
fn faulty(job: &Job, shim: &Path, path: &str, fault: &[(&str, String)]) -> (bool, bool) {
    let mut command = job.command();
    command.env("LD_PRELOAD", shim).env("ADDFG_FAIL_PATH", path);
    command.envs(fault.iter().map(|(name, value)| (*name, value)));
    let output = command.output().expect("runs");
    let how = format!("{fault:?}: {:?} {}", output.status, said(&output));
    assert!(output.status.signal().is_none(), "{}: {how}", job.name);
    assert!(!said(&output).contains("panicked"), "{}: {how}", job.name);
    let new = job.look(&how);
    match output.status.code() {
        Some(0) => assert!(new, "{}: {how}", job.name),
        Some(2) => {
            assert!(!new, "{}: {how}", job.name);
            assert!(said(&output).contains("addfg: "), "{}: {how}", job.name);
        }
        // A log that cannot be read to its end loads up to there.
        Some(1) if job.name == "build" => {}
        _ => panic!("{}: {how}", job.name),
    }
    assert_eq!(job.left(), [""; 0], "{}: {how}", job.name);
    (!output.status.success(), new)
}

#[test]
fn full_disks() {
    let scratch = Scratch::new("full");
    let Some(shim) = shim(&scratch) else { return };
    let full = libc::ENOSPC.to_string();
    for job in jobs(&scratch) {
        let (faults, mut done) = (asked(2), 0);
        for n in 1..=faults {
            let bytes = 1 + job.new.len() as u64 * n / (faults + 1);
            let fault =
                [("ADDFG_FAIL_BYTES", bytes.to_string()), ("ADDFG_FAIL_ERROR", full.clone())];
            done += u64::from(faulty(&job, &shim, ".part", &fault).1);
        }
        say("full disk, of a size up to the file's", &job, faults, done);
    }
}

#[test]
fn errors_of_writing_and_reading() {
    let scratch = Scratch::new("io-errors");
    let Some(shim) = shim(&scratch) else { return };
    let error = libc::EIO.to_string();
    for job in jobs(&scratch) {
        for (what, path) in
            [("EIO from the Nth write on", ".part"), ("EIO from the Nth read on", "asked.duckdb")]
        {
            let reads = path != ".part";
            if reads && job.name == "build" {
                continue;
            }
            let (faults, mut done, mut at) = (asked(2), 0, 1);
            for _ in 0..faults {
                let mut fault =
                    vec![("ADDFG_FAIL_AT", at.to_string()), ("ADDFG_FAIL_ERROR", error.clone())];
                if reads {
                    fault.push(("ADDFG_FAIL_READS", "1".into()));
                }
                let (met, new) = faulty(&job, &shim, path, &fault);
                done += u64::from(new);
                // Behind the last call it begins again.
                at = if met { at + 1 } else { 1 };
            }
            say(what, &job, faults, done);
        }
    }
}
