//! Lakes: collected once and whole, the same packed or not, and answers across runs that are right.

use crate::common::program::Random;
use crate::common::*;
use addfg::internals::lake::{self, Labels, Lake, questions};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|e| e.expect("entry").path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else {
            found.insert(entry);
        }
    }
    found
}

fn collect(lake: &Path, label: &str) -> String {
    let (fir, jpeg) = (example("fir", "instance"), example("jpeg", "instance"));
    let arguments = ["collect", utf8(&fir), utf8(&jpeg), "-o", utf8(lake), "--label", label];
    said(&addfg(&arguments))
}

fn rows_of(lake: &Path, sql: &str) -> String {
    ok(&["sql", utf8(lake), sql, "--format", "csv"])
}

#[test]
fn a_run_is_there_once_and_whole() {
    let scratch = Scratch::new("lake-once");
    let lake = scratch.path("lake");
    assert!(collect(&lake, "input=a").contains("collected: fir r"));
    let before = files(&lake);
    assert!(collect(&lake, "input=a").contains("was there: fir r"));
    assert_eq!(files(&lake), before);
    collect(&lake, "input=b");
    assert_eq!(rows_of(&lake, "SELECT count(*) FROM run"), "count_star()\n4\n");
    // Nothing is lost or changed on the way.
    let fir = example("fir", "instance");
    let sum = "SELECT sum(bytes)::BIGINT AS bytes, count(*) AS n FROM";
    let there = ok(&["sql", utf8(&fir), &format!("{sum} function_edge_folded"), "--format", "csv"]);
    let filter = "edge JOIN label USING (run_id) WHERE edge.program = 'fir' AND value = 'a'";
    assert_eq!(rows_of(&lake, &format!("{sum} {filter}")), there);
}

#[test]
fn what_is_no_lake_or_no_run_is_refused() {
    let scratch = Scratch::new("lake-refused");
    let lake = scratch.path("lake");
    let fir = example("fir", "instance");
    let folder = scratch.path("full");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("precious"), "").unwrap();
    refused(&["collect", utf8(&fir), "-o", utf8(&folder)], &["exists but is not a lake"]);
    refused(&["trend", utf8(&folder)], &["is not a lake: `addfg collect DB"]);
    refused(&["collect", utf8(&fir), "-o", utf8(&lake), "--label", "a b=1"], &["is not a label"]);
    refused(&["collect", utf8(&fir), "-o", utf8(&lake), "--label", "a=1,a=2"], &["given twice"]);
    refused(&["collect", utf8(&fir), "-o", utf8(&lake), "--program", "../x"], &["is not a name"]);
    assert!(!lake.exists());
    let newer = scratch.path("newer.duckdb");
    fs::copy(&fir, &newer).unwrap();
    change(&newer, "UPDATE meta SET value = '99' WHERE key = 'schema_version'");
    refused(&["collect", utf8(&newer), "-o", utf8(&lake)], &["made by a newer addfg"]);
    assert_eq!(rows_of(&lake, "SELECT count(*) FROM run"), "count_star()\n0\n");
    ok(&["collect", utf8(&fir), "-o", utf8(&lake), "--label", "size=1"]);
    refused(
        &["trend", utf8(&lake), "--where", "size=2"],
        &["no run of the lake has size=2", "size (1)"],
    );
    refused(&["sql", utf8(&lake), "@nonsense"], &["no query @nonsense", "growth"]);
    refused(&["sql", utf8(&lake), "@growth", "size", "x"], &["`x` is not a measure: all, steps"]);
    refused(&["sql", utf8(&lake), "SELECT * FROM '/etc/passwd'"], &["does not exist"]);
    fs::write(lake.join("_schema.json"), "{\"lake\": 3}").unwrap();
    refused(&["collect", utf8(&fir), "-o", utf8(&lake)], &["lake version 3", "newer addfg"]);
    fs::write(lake.join("_schema.json"), "{\"lake\": 1}").unwrap();
    refused(&["trend", utf8(&lake)], &["lake version 1", "collect the databases again"]);
}

#[test]
fn a_lake_says_what_its_columns_are() {
    let scratch = Scratch::new("lake-columns");
    let lake = scratch.path("lake");
    collect(&lake, "input=a");
    let text = fs::read_to_string(lake.join("_schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    for table in lake::collected() {
        let columns = schema["tables"][table.name]["columns"].as_object().unwrap();
        assert!(!table.comment.is_empty() && table.columns.iter().all(|c| !c.comment.is_empty()));
        let described =
            format!("SELECT column_name, column_type FROM (DESCRIBE \"{}\")", table.name);
        let found = rows_of(&lake, &format!("{described} WHERE column_name <> 'program'"));
        let found: BTreeSet<String> = found.lines().skip(1).map(str::to_owned).collect();
        let told = columns.iter().map(|(n, c)| format!("{n},{}", c["type"].as_str().unwrap()));
        assert_eq!(found, told.collect::<BTreeSet<_>>(), "{}", table.name);
    }
    let told = &schema["tables"]["run_part"]["columns"];
    let columns: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(columns, ["data", "first_seq", "part", "piece", "run_id"]);
    for view in lake::views() {
        let described = format!("SELECT column_name, column_type FROM (DESCRIBE {})", view.name);
        let found = rows_of(&lake, &described);
        let told = view.columns.iter().map(|c| format!("{},{}", c.name, c.type_name));
        assert!(found.lines().skip(1).map(str::to_owned).eq(told), "{}: {found}", view.name);
    }
}

/// All questions with their answers, `size` for labels that have no default.
fn answers(path: &Path) -> Vec<(String, String)> {
    let lake = Lake::open(path, &Labels::new()).unwrap();
    let mut found = Vec::new();
    for question in questions::all() {
        let word = |name: &str| match name {
            "one" => "main",
            "label" => "version",
            "before" => "1",
            _ => "2",
        };
        let needed = question.parameters.iter().filter(|p| p.default.is_none());
        let given: Vec<String> = needed.map(|p| word(p.name).to_owned()).collect();
        let (connection, listing) = questions::ask(&lake, &question, &given).unwrap();
        let mut out = Vec::new();
        let format = addfg::internals::render::rows::RowFormat::Csv;
        let written = listing.write(&connection, format, &mut out);
        written.unwrap_or_else(|e| panic!("@{}: {e}", question.name));
        found.push((question.name.to_owned(), String::from_utf8(out).unwrap()));
    }
    found
}

#[test]
fn all_questions_run_and_are_listed() {
    let scratch = Scratch::new("lake-questions");
    let path = scratch.path("lake");
    collect(&path, "size=1,version=1,input=a");
    collect(&path, "size=2,version=2,input=b");
    let listed = ok(&["sql", utf8(&path), "--list", "--format", "csv"]);
    let questions = fs::read_dir(repository("queries/lake")).unwrap();
    let mut count = 0;
    for file in questions.map(|f| f.unwrap().file_name().into_string().unwrap()) {
        if let Some(name) = file.strip_suffix(".sql") {
            assert!(listed.contains(&format!(",@{name},")), "{name} is not in {listed}");
            count += 1;
        }
    }
    assert_eq!(count, listed.lines().count() - 1);
    let loose = answers(&path);
    ok(&["collect", "--compact", utf8(&path)]);
    assert_eq!(answers(&path), loose);
    // One more run beside the pack, then both packed; and again, when there is nothing to pack.
    collect(&path, "size=1,version=1,input=a,repeat=2");
    let mixed = answers(&path);
    assert!(
        said(&addfg(&["collect", "--compact", utf8(&path)])).contains("packed 2 runs; 2 packs")
    );
    assert_eq!(answers(&path), mixed);
    assert!(said(&addfg(&["collect", "--compact", utf8(&path)])).contains("packed 0 runs"));
    // A part of the runs of a pack.
    let wanted = Labels::from([("input".to_owned(), "a".to_owned())]);
    let lake = Lake::open(&path, &wanted).unwrap();
    let connection = lake.database("edge").unwrap();
    let ids: i64 =
        connection.query_row("SELECT count(DISTINCT run_id) FROM edge", [], |r| r.get(0)).unwrap();
    // Of each program, and its repetition.
    assert_eq!(ids, 4);
}

/// How often a collection is killed: ADDFG_KILLS, or a few.
fn kills() -> u32 {
    std::env::var("ADDFG_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(6)
}

#[test]
fn killed_at_any_time_a_lake_opens_and_is_right() {
    let scratch = Scratch::new("lake-killed");
    let (lake, whole) = (scratch.path("lake"), scratch.path("whole"));
    let (fir, jpeg) = (example("fir", "instance"), example("jpeg", "instance"));
    let command_of = |lake: &Path, label: &str| {
        command(&["collect", utf8(&fir), utf8(&jpeg), "-o", utf8(lake), "--label", label])
    };
    // How long it takes where nothing kills it.
    let begun = std::time::Instant::now();
    assert!(command_of(&whole, "repeat=0").output().unwrap().status.success());
    let long = begun.elapsed();
    let mut random = Random::new(1);
    for i in 0..kills() {
        let label = format!("repeat={i}");
        let mut child =
            command_of(&lake, &label).stderr(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(
            long.mul_f64(f64::from(u32::try_from(random.below(1000)).unwrap()) / 900.0),
        );
        let _ = child.kill();
        child.wait().unwrap();
        if lake::is_lake(&lake) {
            // Each run that is there has all its rows.
            for run in Lake::open(&lake, &Labels::new()).unwrap().runs() {
                for (table, rows) in &run.tables {
                    let sql =
                        format!("SELECT count(*) FROM \"{table}\" WHERE run_id = {}", run.run.id());
                    assert_eq!(rows_of(&lake, &sql), format!("count_star()\n{rows}\n"), "{table}");
                }
            }
        }
    }
    for i in 0..kills() {
        for lake in [&lake, &whole] {
            assert!(command_of(lake, &format!("repeat={i}")).output().unwrap().status.success());
        }
    }
    let inside = |lake: &Path| -> BTreeSet<PathBuf> {
        files(lake).iter().map(|f| f.strip_prefix(lake).unwrap().to_owned()).collect()
    };
    // Whatever was killed left nothing once another one ended.
    assert_eq!(inside(&lake), inside(&whole));
    let sums = "SELECT sum(run_id % 1000003)::BIGINT, sum(bytes)::BIGINT, count(*) FROM edge";
    assert_eq!(rows_of(&lake, sums), rows_of(&whole, sums));
}

#[test]
fn rules_hold_or_say_by_how_much_they_do_not() {
    let fir = example("fir", "instance");
    let scratch = Scratch::new("lake-check");
    let lake = scratch.path("lake");
    collect(&lake, "input=a");
    let bytes = rows_of(
        &lake,
        "SELECT sum(bytes)::BIGINT AS b FROM edge WHERE writer = 'produce' AND reader = 'fir'",
    );
    let bytes: i64 = bytes.lines().nth(1).unwrap().parse().unwrap();
    let holds = format!("bytes(produce -> fir) <= {bytes}");
    let broken = format!("bytes(produce->fir) < {bytes} B");
    let checked = |path: &Path, rule: &str| {
        let output = addfg(&["check", utf8(path), "--max", rule, "--format", "csv"]);
        (output.status.code(), printed(&output))
    };
    for path in [&fir, &lake] {
        let which: &[&str] = if path == &fir { &[] } else { &["--where", "program=fir"] };
        let run = |rule: &str| {
            let words = [&["check", utf8(path), "--max", rule, "--format", "csv"], which].concat();
            let output = addfg(&words);
            (output.status.code(), printed(&output))
        };
        let (code, text) = run(&holds);
        assert!(code == Some(0) && text.contains(&format!("yes,{bytes},1,0,r")), "{text}");
        let (code, text) = run(&broken);
        assert!(code == Some(1) && text.contains(&format!("no,{bytes},1,1,r")), "{text}");
        assert_eq!(run("steps() = 401").0, Some(0));
        assert_eq!(run("bytes(glob:*->fir) >= 1").0, Some(0));
        assert_eq!(run("calls(filter->fir) = 5").0, Some(0));
        assert_eq!(run("bytes(fir->produce) = 0").0, Some(0));
    }
    // In a lake every run must keep it: that of the JPEG decoder does not.
    assert_eq!(checked(&lake, "steps() = 401").0, Some(1));
    refused(
        &["check", utf8(&fir), "--max", "steps(fri) < 1"],
        &["`fri`", "near it are `filter`, `fir`"],
    );
    refused(&["check", utf8(&fir), "--max", "steps(fir) < 1 lightyear"], &["is not a unit"]);
    refused(&["check", utf8(&fir)], &["there is no rule"]);
    let rules = scratch.path("rules");
    fs::write(&rules, format!("# a budget\n{holds}\n\nsteps() <= 1k # all\n")).unwrap();
    let output = ok(&["check", utf8(&fir), "-f", utf8(&rules), "--format", "csv"]);
    assert_eq!(output.lines().count(), 3);
}

#[test]
fn many_runs_are_compared_with_many() {
    let scratch = Scratch::new("lake-diff");
    let (fir, jpeg) = (example("fir", "instance"), example("jpeg", "instance"));
    let same = addfg(&["diff", utf8(&fir), utf8(&fir), "--to", utf8(&fir)]);
    assert!(said(&same).contains("no rows: nothing changed beyond noise"), "{}", said(&same));
    let differ = ok(&["diff", utf8(&fir), "--to", utf8(&jpeg), "--format", "csv", "--limit", "3"]);
    assert!(differ.contains("\nsteps,stbi__"), "{differ}");
    let picture = scratch.path("diff.dot");
    ok(&["diff", utf8(&fir), "--to", utf8(&jpeg), "-o", utf8(&picture)]);
    assert!(fs::read_to_string(&picture).unwrap().contains("stbi__"));
    refused(&["diff", utf8(&fir), utf8(&fir), utf8(&fir)], &["--to stands before"]);
    refused(&["diff", utf8(&fir)], &["required"]);
}

/// Each planted thing of examples/lake is found by one command.
#[test]
fn what_was_planted_is_found() {
    if !["valgrind", "pkg-config", "gcc"].iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("lake-planted");
    let lake = scratch.path("lake");
    let made = std::process::Command::new("sh")
        .args([utf8(&repository("examples/lake/make.sh")), utf8(&lake), "1"])
        .env("ADDFG", env!("CARGO_BIN_EXE_addfg"))
        .env("ADDFG_RECORDERS", repository("recorders"))
        .env("SIZES", "24 64 128 384")
        .output()
        .expect("sh runs");
    assert!(made.status.success(), "{}", said(&made));
    let growth = ok(&[
        "trend",
        utf8(&lake),
        "--measure",
        "steps",
        "--where",
        "version=1",
        "--format",
        "csv",
    ]);
    for (kernel, expected) in [("add_up", "n"), ("merge_sort", "n log n"), ("count_pairs", "n^2")] {
        let row =
            growth.lines().find(|l| l.starts_with(&format!("steps,{kernel},"))).expect(kernel);
        assert_eq!(row.split(',').nth(10), Some(expected), "{row}");
    }
    let changed = ok(&["diff", utf8(&lake), "--by", "version=1..2", "--format", "csv"]);
    let steps = changed.lines().find(|l| l.starts_with("steps,")).expect("a function that grew");
    assert!(steps.starts_with("steps,add_up,\"\",\"\",4,4,0,1,"), "{changed}");
    assert!(changed.contains("\nbytes,fill,add_up,heap,"), "{changed}");
    let only = ok(&["sql", utf8(&lake), "@only_some", "--format", "csv"]);
    assert!(only.contains("\nbytes,mirror,add_up,heap,1,4,!128,!128,"), "{only}");
    let picture = scratch.path("growth.svg");
    ok(&["trend", utf8(&lake), "--where", "version=1", "-o", utf8(&picture)]);
    assert!(fs::read_to_string(&picture).unwrap().contains("steps count_pairs: n^2"));
}

/// What is wrong with a lake, or with a database, is said by name; what can be done is done.
#[test]
fn broken_files_are_named() {
    let scratch = Scratch::new("lake-broken");
    let lake = scratch.path("lake");
    let (fir, jpeg) = (example("fir", "instance"), example("jpeg", "instance"));
    collect(&lake, "input=a");
    let again = || addfg(&["collect", utf8(&fir), "-o", utf8(&lake), "--label", "input=a"]);
    assert_eq!(again().status.code(), Some(0));
    // A database among others, and alone.
    let bad = scratch.write("bad.duckdb", &fs::read(&jpeg).unwrap()[..20_000]);
    let one = ["collect", utf8(&bad), utf8(&fir), "-o", utf8(&lake), "--label", "input=b"];
    let output = addfg(&one);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("bad.duckdb") && said(&output).contains("collected: fir"));
    refused(&["collect", utf8(&bad), "-o", utf8(&lake)], &["bad.duckdb"]);
    // A table of a run that is there already, of another run, and a list.
    let all = files(&lake);
    let tables = all.iter().filter(|file| file.extension().is_some_and(|e| e == "parquet"));
    let tables: Vec<_> = tables.collect();
    let lists: Vec<_> = all.iter().filter(|file| utf8(file).contains("_runs/")).collect();
    for (file, bytes) in [
        (tables[0], &b"PAR1"[..]),
        (tables[tables.len() - 1], b""),
        (lists[0], b"{\"lake\": 1"),
        (lists[lists.len() - 1], b"{}"),
    ] {
        let before = fs::read(file).unwrap();
        fs::write(file, bytes).unwrap();
        let output = again();
        assert_eq!(output.status.code(), Some(1), "{file:?}: {}", said(&output));
        assert!(said(&output).contains(utf8(file)), "{file:?}: {}", said(&output));
        fs::write(file, before).unwrap();
    }
    // Whoever reads a table of which nothing is left, or a part, is told which list to remove.
    let edge = tables.iter().find(|file| utf8(file).contains("/edge/")).expect("edges");
    let before = fs::read(edge).unwrap();
    for bytes in [&b""[..], b"PAR1", &before[..before.len() / 2]] {
        fs::write(edge, bytes).unwrap();
        for command in [
            &["trend", utf8(&lake), "--label", "input"][..],
            &["sql", utf8(&lake), "FROM edge"],
            &["sql", utf8(&lake), "@growth", "input"],
            &["collect", "--compact", utf8(&lake)],
        ] {
            let error = refused(command, &[utf8(edge), "/_runs/", "collect the run again"]);
            let list = lists.iter().any(|list| error.contains(utf8(list)));
            assert!(list, "{command:?}, {} bytes: {error}", bytes.len());
        }
    }
    fs::write(edge, before).unwrap();
    fs::remove_file(tables[1]).unwrap();
    assert!(said(&again()).contains(utf8(tables[1])));
}

/// The list of a lake's tables is not mended as that of a run is.
#[test]
fn a_lake_without_a_version_is_told_as_that() {
    let scratch = Scratch::new("lake-version");
    let lake = scratch.path("lake");
    collect(&lake, "input=a");
    for text in ["{}", "", "{\"lake\": 0}", "{\"lake\": \"1\"}", "{\"lake\": -1}", "[1]", "42"] {
        fs::write(lake.join("_schema.json"), text).unwrap();
        for command in [
            &["collect", utf8(&example("fir", "instance")), "-o", utf8(&lake)][..],
            &["trend", utf8(&lake)],
            &["sql", utf8(&lake), "FROM run"],
            &["collect", "--compact", utf8(&lake)],
        ] {
            let error = refused(command, &["_schema.json", "put it back from a copy"]);
            assert!(!error.contains("newer") && !error.contains("remove it"), "{text}: {error}");
        }
    }
}
