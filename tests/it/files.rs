//! Files that are there, and builds that are ended from outside: what was there before stays, or
//! the new file is whole.

use crate::common::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<_> = names.map(|n| n.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Arguments of a build of the recording of `fir`.
fn build<'a>(log: &'a str, output: &'a str, elf: &'a str) -> [&'a str; 6] {
    ["build", log, "--elf", elf, "-o", output]
}

fn fir() -> [PathBuf; 2] {
    [repository("examples/fir/fir.log.xz"), repository("examples/fir/fir")]
}

#[test]
fn force_replaces_databases_of_addfg_only() {
    let [log, elf] = fir();
    let scratch = Scratch::new("force");
    let kept = scratch.write("kept", "a file of somebody");
    let other = scratch.path("other.duckdb");
    duckdb::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (a INTEGER)").unwrap();
    let own_log = scratch.copy(&log, "own.log.xz");
    let pipe = scratch.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let before = fs::read(&other).unwrap();
    for (output, words) in [
        (&kept, "not a database of addfg"),
        (&other, "not a database of addfg"),
        (&own_log, "not a database of addfg"),
        (&pipe, "device or a pipe"),
        (&scratch.0, "is a folder"),
        (&PathBuf::from("/dev/null"), "device or a pipe"),
    ] {
        let arguments = build(utf8(&own_log), utf8(output), utf8(&elf));
        refused(&[&arguments[..], &["--force"]].concat(), &[words]);
    }
    assert_eq!(fs::read_to_string(&kept).unwrap(), "a file of somebody");
    assert!(fs::read(&other).unwrap() == before);
    assert!(fs::read(&own_log).unwrap() == fs::read(&log).unwrap());
    // Through a link, the file that it leads to.
    let (real, link) =
        (scratch.copy(&example("jpeg", "summary"), "real.duckdb"), scratch.path("link"));
    symlink("real.duckdb", &link).unwrap();
    ok(&[&build(utf8(&log), utf8(&link), utf8(&elf))[..], &["--force"]].concat());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(csv(&real, "SELECT count(*) AS n FROM opcode_line"), "n\n401\n");
    assert_eq!(
        names(&scratch.0),
        ["kept", "link", "other.duckdb", "own.log.xz", "pipe", "real.duckdb"]
    );
}

#[test]
fn no_output_goes_over_a_database() {
    let scratch = Scratch::new("over");
    let db = scratch.copy(&example("fir", "pairs"), "db.duckdb");
    let before = fs::read(&db).unwrap();
    let name = utf8(&db);
    for command in [
        &["graph", name, "-o", name][..],
        &["graph", name, "--format", "json", "-o", name],
        &["report", name, "-o", name],
        &["matrix", name, "-o", name],
        &["memory", name, "-o", name],
        &["calls", name, "--tree", "-o", name],
        &["export", name, "--to", "callgrind", "-o", name, "--force"],
        &["export", name, "--to", "sqlite", "-o", name, "--force"],
        &["export", name, "--to", "csv", "-o", name, "--force"],
    ] {
        let output = addfg(command);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", said(&output));
        assert!(fs::read(&db).unwrap() == before, "{command:?}");
    }
    assert_eq!(names(&scratch.0), ["db.duckdb"]);
}

/// A build that waits for more of its log, which comes through a pipe. Whoever has it waits for its end.
#[allow(clippy::zombie_processes)]
fn waiting(scratch: &Scratch, output: &str) -> Child {
    let [_, elf] = fir();
    let mut command = command(&build("-", output, utf8(&elf)));
    // What a shell runs in the background ignores interrupts, and so do we, as children of it.
    let defaults = || {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: allowed between fork and exec.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: see above; nothing is allocated.
    unsafe { command.pre_exec(defaults) };
    let mut child =
        command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("addfg runs");
    let log = lackey_log();
    use std::io::Write;
    child.stdin.as_mut().unwrap().write_all(&log[..log.len() / 2]).unwrap();
    // A head of 64 KiB is waited for.
    child.stdin.as_mut().unwrap().write_all(&b"==1== \n".repeat(3_000_000)).unwrap();
    let begun = || names(&scratch.0).iter().any(|name| name.ends_with(".part"));
    for _ in 0..1000 {
        if begun() {
            return child;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no build began");
}

fn lackey_log() -> Vec<u8> {
    let packed = fs::read(&fir()[0]).unwrap();
    let mut log = Vec::new();
    std::io::Read::read_to_end(&mut liblzma::read::XzDecoder::new(&packed[..]), &mut log).unwrap();
    log
}

#[test]
fn signals_leave_nothing() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let scratch = Scratch::new("signal");
        let mut child = waiting(&scratch, utf8(&scratch.path("db")));
        // SAFETY: a child that has not been waited for.
        unsafe { libc::kill(child.id().try_into().unwrap(), signal) };
        // To wait closes its input, and the end of the log would be a race with the signal.
        let input = child.stdin.take();
        let output = child.wait().unwrap();
        drop(input);
        assert_eq!(output.code(), Some(128 + signal));
        assert_eq!(names(&scratch.0), [""; 0]);
    }
}

#[test]
fn the_next_build_removes_what_a_killed_one_left() {
    let [log, elf] = fir();
    let scratch = Scratch::new("killed");
    let db = scratch.path("db");
    let mut child = waiting(&scratch, utf8(&db));
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert!(names(&scratch.0)[0].ends_with(".part"));
    ok(&build(utf8(&log), utf8(&db), utf8(&elf)));
    assert_eq!(names(&scratch.0), ["db"]);
}

#[test]
fn of_four_builds_into_one_file_one_wins() {
    let [log, elf] = fir();
    let scratch = Scratch::new("four");
    let db = scratch.path("db");
    let spawn = |_| {
        let mut command = command(&build(utf8(&log), utf8(&db), utf8(&elf)));
        command.stderr(Stdio::piped()).spawn().expect("addfg runs")
    };
    let children: Vec<Child> = (0..4).map(spawn).collect();
    let ended = children.into_iter().map(|child| child.wait_with_output().unwrap());
    let (won, lost): (Vec<_>, Vec<_>) = ended.partition(|output| output.status.success());
    assert_eq!(won.len(), 1);
    for output in lost {
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains("exists; --force replaces it"), "{}", said(&output));
    }
    assert_eq!(names(&scratch.0), ["db"]);
    assert_eq!(csv(&db, "SELECT count(*) AS n FROM opcode_line"), "n\n401\n");
}

/// A log that becomes shorter under a build (it was SIGBUS), and one that is written again.
#[test]
fn a_log_that_changes_while_it_is_read_is_refused() {
    let [_, elf] = fir();
    let scratch = Scratch::new("changes");
    let plain = lackey_log();
    // Long enough to be changed meanwhile.
    let long = [&plain[..], &plain.repeat(6_000)].concat();
    for shorter in [true, false] {
        let log = scratch.write("log", &long);
        let db = scratch.path("db");
        let mut command = command(&build(utf8(&log), utf8(&db), utf8(&elf)));
        let child = command.stderr(Stdio::piped()).spawn().expect("addfg runs");
        while !names(&scratch.0).iter().any(|name| name.ends_with(".part")) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if shorter {
            fs::OpenOptions::new().write(true).open(&log).unwrap().set_len(4096).unwrap();
        } else {
            use std::io::Write;
            fs::OpenOptions::new().append(true).open(&log).unwrap().write_all(b"\n").unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let words = if shorter { "shorter" } else { "changed while it was read" };
        assert_eq!(output.status.code(), Some(2), "{:?} {}", output.status, said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
        assert_eq!(names(&scratch.0), ["log"]);
    }
}

#[test]
fn hostile_names_do_not_act_on_the_terminal() {
    let scratch = Scratch::new("names");
    let name = "x\u{1b}[2J\naddfg: all is well\u{7}";
    let path = scratch.path(name);
    for command in [
        &["build", utf8(&path)][..],
        &["info", utf8(&path)],
        &["graph", utf8(&path)],
        &["graph", utf8(&example("fir", "pairs")), "--focus", name],
        &["report", utf8(&example("fir", "pairs")), "--source", name],
    ] {
        let error = said(&addfg(command));
        let bad = |c: char| c.is_control() && c != '\n';
        assert!(!error.contains(bad), "{error:?}");
        assert_eq!(error.lines().filter(|line| line.starts_with("addfg:")).count(), 1, "{error:?}");
    }
}

#[test]
fn full_standard_error_is_no_panic() {
    let [log, elf] = fir();
    let scratch = Scratch::new("stderr");
    let db = scratch.path("db");
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = |arguments: &[&str]| command(arguments).stderr(full()).status().unwrap().code();
    assert_eq!(run(&build(utf8(&log), utf8(&db), utf8(&elf))), Some(0));
    assert_eq!(run(&build(utf8(&log), utf8(&db), utf8(&elf))), Some(2));
    assert_eq!(run(&["flows", utf8(&db), "produce", "fir", "--limit", "1"]), Some(0));
}

/// What is longer than the process may write is an error of writing, not the end of the process.
#[test]
fn a_limit_of_file_sizes_leaves_the_old_file() {
    let scratch = Scratch::new("fsize");
    let db = scratch.copy(&example("fir", "pairs"), "db");
    let page = scratch.write("page.html", "old");
    let mut command = command(&["report", utf8(&db), "-o", utf8(&page)]);
    // SAFETY: setrlimit may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 10_000, rlim_max: 10_000 };
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
            Ok(())
        });
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{:?}", output.status);
    assert!(said(&output).contains("cannot write"), "{}", said(&output));
    assert_eq!(fs::read_to_string(&page).unwrap(), "old");
    assert_eq!(names(&scratch.0), ["db", "page.html"]);
}

/// A build whose process is in another container has a number that means another process here, or
/// none: its file is not taken for one of a process that is no more.
#[test]
fn an_unfinished_file_of_another_container_stays() {
    let [log, elf] = fir();
    let scratch = Scratch::new("container");
    let db = scratch.path("db");
    let there = |arguments: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child"]).args(arguments);
        unshare.stdin(Stdio::piped()).stderr(Stdio::null()).stdout(Stdio::null());
        unshare
    };
    if !there(&["true"]).status().is_ok_and(|status| status.success()) {
        return skipped("a build in another container: unshare --pid is not allowed");
    }
    let build_there = build("-", utf8(&db), utf8(&elf));
    let program = [env!("CARGO_BIN_EXE_addfg")];
    let mut child = there(&[&program[..], &build_there].concat()).spawn().expect("it runs");
    use std::io::Write;
    let log_there = lackey_log();
    child.stdin.as_mut().unwrap().write_all(&log_there).unwrap();
    // A head of 64 KiB is waited for.
    child.stdin.as_mut().unwrap().write_all(&b"==1== \n".repeat(300_000)).unwrap();
    let unfinished = || names(&scratch.0).into_iter().find(|name| name.ends_with(".part"));
    while unfinished().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let part = unfinished().unwrap();
    ok(&build(utf8(&log), utf8(&db), utf8(&elf)));
    assert!(names(&scratch.0).contains(&part), "{:?}", names(&scratch.0));
    // Two are there, so the first says that it was late; by the same rule as between processes here.
    drop(child.stdin.take());
    assert!(!child.wait().unwrap().success());
    assert_eq!(names(&scratch.0), ["db"]);
}

/// Where a folder is missing that is what is said.
#[test]
fn a_folder_that_is_not_there_is_named() {
    let [log, elf] = fir();
    let scratch = Scratch::new("nodir");
    let db = example("fir", "pairs");
    let (file, folder) = (scratch.path("no/dir/x"), scratch.path("no/dir"));
    let words = ["there is no folder", utf8(&folder), "make it first"];
    for command in [
        &build(utf8(&log), utf8(&file), utf8(&elf))[..],
        &["graph", utf8(&db), "-o", utf8(&file)],
        &["report", utf8(&db), "-o", utf8(&file)],
        &["matrix", utf8(&db), "-o", utf8(&file)],
    ] {
        refused(command, &words);
    }
    assert_eq!(names(&scratch.0), [""; 0]);
}

/// Who stops to read what any command prints has seen enough: it ends clean and says nothing.
#[test]
fn a_closed_pipe_is_no_error() {
    let scratch = Scratch::new("closed");
    let db = example("fir", "pairs");
    let lake = scratch.path("lake");
    ok(&["collect", utf8(&db), "-o", utf8(&lake), "--label", "size=1"]);
    let name = utf8(&db);
    for arguments in [
        &["objects", name, "--limit", "0"][..],
        &["objects", name, "--format", "csv"],
        &["objects", name, "--format", "json"],
        &["info", name],
        &["sql", name, "FROM instruction", "--format", "csv"],
        &["sql", name, "@tables"],
        &["sql", name, "--list"],
        &["sql", name, "COPY instruction TO '/dev/stdout'"],
        &["graph", name],
        &["flows", name, "produce", "fir"],
        &["cut", name, "fir"],
        &["cut", name, "fir", "--format", "csv"],
        &["plan", name],
        &["slice", name, "--at", "10"],
        &["calls", name],
        &["calls", name, "--tree"],
        &["instances", name, "fir"],
        &["loops", name],
        &["matrix", name],
        &["memory", name],
        &["critical", name],
        &["diff", name, name],
        &["export", name, "--to", "callgrind", "-o", "-"],
        &["export", name, "--to", "json", "-o", "-"],
        &["export", name, "--to", "pprof", "-o", "-"],
        &["export", name, "--to", "callgrind", "-o", "/dev/stdout", "--force"],
        &["verify", name],
        &["trend", utf8(&lake), "--measure", "steps"],
        &["sql", utf8(&lake), "FROM run"],
        &["formats"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
    ] {
        // The reading end is closed before anything is written.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = command(arguments);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().expect("addfg runs");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(!said.to_lowercase().contains("pipe"), "{arguments:?}: {said}");
    }
}
