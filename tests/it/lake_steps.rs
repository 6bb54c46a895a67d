//! Runs in a lake with their steps: what was collected comes back, and every run answers as its database does.

use crate::common::*;
use duckdb::Connection;
use std::fs;
use std::path::{Path, PathBuf};

fn collect(lake: &Path, db: &Path, label: &str) -> String {
    let words = ["collect", utf8(db), "-o", utf8(lake), "--with-steps", "--label", label];
    let said = said(&addfg(&words));
    let name = said.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    assert!(said.contains("collected: ") && name.starts_with('r'), "{said}");
    name
}

/// A run of many chunks, as a database that keeps it packed.
fn in_chunks(scratch: &Scratch) -> PathBuf {
    use addfg::internals::load::{Detail, Options, load};
    let folder = scratch.path("run");
    fs::create_dir(&folder).unwrap();
    crate::guard::record_kernel(&folder, 7, 1500, 1);
    let output = folder.join("chunks.duckdb");
    let options = crate::guard::options(&folder, Detail::Summary, false);
    let options = Options { output: output.clone(), chunk_steps: Some(40), steps: true, ..options };
    load(&options, &mut |_| false).unwrap();
    output
}

/// Tables of the database `first` whose rows the other one does not have.
fn different(first: &Path, second: &Path) -> Vec<String> {
    let connection = Connection::open_in_memory().unwrap();
    for (db, name) in [(first, "a"), (second, "b")] {
        let attach = format!("ATTACH '{}' AS {name} (READ_ONLY)", utf8(db));
        connection.execute_batch(&attach).unwrap();
    }
    let sql = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'a' ORDER BY ALL";
    let mut statement = connection.prepare(sql).unwrap();
    let names = statement.query_map([], |r| r.get::<_, String>(0)).unwrap();
    let names: Vec<String> = names.map(Result::unwrap).collect();
    assert!(names.len() > 50, "{names:?}");
    let differ = |name: &String| {
        let of = |db: &str| format!("(SELECT * FROM {db}.\"{name}\")");
        let (a, b) = (of("a"), of("b"));
        let sql =
            format!("SELECT count(*) FROM (({a} EXCEPT ALL {b}) UNION ALL ({b} EXCEPT ALL {a}))");
        connection.query_row(&sql, [], |r| r.get::<_, i64>(0)).unwrap() > 0
    };
    names.into_iter().filter(differ).collect()
}

#[test]
fn a_run_comes_back_as_it_was() {
    let scratch = Scratch::new("lake-steps-back");
    let (lake, back) = (scratch.path("lake"), scratch.path("back.duckdb"));
    let chunks = in_chunks(&scratch);
    let take = |run: &str| {
        ok(&["take", utf8(&lake), "--run", run, "-o", utf8(&back), "--force"]);
        back.as_path()
    };
    // What was not known of the chunks yet is: nothing else.
    assert_eq!(different(&chunks, take(&collect(&lake, &chunks, "n=1"))), ["run_state"]);
    let chunk_rows = "SELECT count(*) FROM run_chunk";
    assert!(rows(&back, chunk_rows)[0].parse::<u32>().unwrap() > 20);
    for words in [
        &["instances", "glob:*"][..],
        &["flows", "glob:*", "glob:*", "--limit", "0"],
        &["cut", "glob:*1"],
        &["slice", "--at", "800"],
        &["loops"],
        &["verify"],
    ] {
        let answer = |db: &Path| printed(&addfg(&[&words[..1], &[utf8(db)], &words[1..]].concat()));
        assert_eq!(answer(&back), answer(&chunks), "{words:?}");
    }
    // Of more detail, the rows are what is left out: what `summary` has is there.
    let (rows_of, sums) = (example("fir", "pairs"), example("fir", "summary"));
    let found = different(&sums, take(&collect(&lake, &rows_of, "n=2")));
    let known = ["input", "meta", "run_state"];
    assert!(found.iter().all(|table| known.contains(&table.as_str())), "{found:?}");
    assert!(ok(&["verify", utf8(&back)]).contains("equal"));
    let listed = |db: &Path| ok(&["flows", utf8(db), "glob:*", "glob:*", "--limit", "0"]);
    assert_eq!(listed(&back), listed(&rows_of));
    // A database that is there stays.
    let all = ["take", utf8(&lake), "-o", utf8(&back)];
    refused(&all, &["--force"]);
    refused(&[&all[..], &["--force"]].concat(), &["2 runs are meant", "--run or --where"]);
    refused(&["take", utf8(&lake), "--run", "r1", "-o", "x"], &["no run r1"]);
}

#[test]
fn each_run_is_asked() {
    let scratch = Scratch::new("lake-steps-each");
    let lake = scratch.path("lake");
    let databases = [example("fir", "pairs"), example("jpeg", "pairs"), example("fir", "summary")];
    let mut runs = Vec::new();
    for (db, label) in databases.iter().zip(["size=8,run=a", "size=16", "size=8,run=b"]) {
        runs.push((db, label, collect(&lake, db, label)));
    }
    runs.sort_by_key(|(db, _, run)| (utf8(db).contains("jpeg"), run.clone()));
    for words in [
        &["flows", "glob:*", "main", "--limit", "0"][..],
        &["sql", "SELECT name, NULL AS n, size FROM function_symbol ORDER BY ALL LIMIT 5"],
        &["sql", "@hot_functions", "3"],
        &["instances", "main"],
    ] {
        let json = |arguments: &[&str]| -> Vec<serde_json::Value> {
            serde_json::from_str(&ok(arguments)).unwrap()
        };
        let asked = ["each", utf8(&lake), "--format", "json", "--"];
        let found = json(&[&asked[..], words].concat());
        let mut expected = Vec::new();
        for (db, label, run) in &runs {
            let answer = [&words[..1], &[utf8(db)], &words[1..], &["--format", "json"]].concat();
            for row in json(&answer) {
                let mut all = row.as_object().unwrap().clone();
                let program = if utf8(db).contains("jpeg") { "jpeg" } else { "fir" };
                let label = |name: &str| {
                    let value = label.split(',').find_map(|l| l.strip_prefix(&format!("{name}=")));
                    value.map_or(serde_json::Value::Null, Into::into)
                };
                // A label that has the name of a column has another one.
                let size = if all.contains_key("size") { "label_size" } else { "size" };
                all.insert(size.to_owned(), label("size"));
                all.insert("label_run".to_owned(), label("run"));
                all.insert("program".to_owned(), program.into());
                all.insert("run".to_owned(), run.as_str().into());
                expected.push(serde_json::Value::Object(all));
            }
        }
        assert!(found.len() >= 3, "{words:?}");
        assert_eq!(found, expected, "{words:?}");
        for jobs in ["1", "3"] {
            let again = ["each", utf8(&lake), "--format", "json", "--jobs", jobs, "--"];
            assert_eq!(json(&[&again[..], words].concat()), found);
        }
    }
    // Runs are chosen, and those that cannot answer are said.
    let count = |more: &[&str]| {
        let sql = ["--", "sql", "SELECT 1 AS one"];
        ok(&[&["each", utf8(&lake), "--format", "csv"], more, &sql].concat()).lines().count() - 1
    };
    assert_eq!(
        [count(&[]), count(&["--where", "size=8"]), count(&["--run", &runs[1].2])],
        [3, 2, 1]
    );
    let output = addfg(&["each", utf8(&lake), "--", "instances", "stbi__idct_block"]);
    assert_eq!(output.status.code(), Some(1));
    let (text, said) = (printed(&output), said(&output));
    assert!(text.contains(" jpeg ") && !text.contains(" fir "), "{text}");
    assert!(said.contains("and 1 more: no function is named `stbi__idct_block`"), "{said}");
    for (words, why) in [
        (&["info"][..], "gives no rows of one database; these do: calls, critical"),
        (&["sql", "FROM meta", "--format", "csv"], "--format stands before --"),
        (&["instances", "nonsense"], "no function is named"),
        (&["sql", "FROM nonsense"], "nonsense"),
    ] {
        refused(&[&["each", utf8(&lake), "--"], words].concat(), &[why]);
    }
}

#[test]
fn steps_come_later_stay_in_packed_lakes_and_are_mended() {
    let scratch = Scratch::new("lake-steps-later");
    let lake = scratch.path("lake");
    let db = example("fir", "pairs");
    let words = ["collect", utf8(&db), "-o", utf8(&lake), "--label", "n=1"];
    ok(&words);
    let ask = ["each", utf8(&lake), "--", "sql", "SELECT 1 AS one"];
    refused(&ask, &["none of 1 runs has its steps; addfg collect --with-steps puts them there"]);
    ok(&["collect", "--compact", utf8(&lake)]);
    let with = || said(&addfg(&[&words[..], &["--with-steps"]].concat()));
    assert!(with().contains("collected: fir"));
    assert!(with().contains("was there: fir"));
    ok(&ask);
    // Another one without.
    ok(&[&words[..5], &["n=2"]].concat());
    let output = addfg(&ask);
    assert!(said(&output).contains("not asked: 1 runs without their steps"), "{}", said(&output));
    // A file that is damaged is made again.
    let folder = fs::read_dir(lake.join("run_part/program=fir")).unwrap().next().unwrap().unwrap();
    let file = folder.path().join("part-0.parquet");
    let whole = fs::read(&file).unwrap();
    for bytes in [&whole[..whole.len() / 2], b"", b"PAR1PAR1"] {
        fs::write(&file, bytes).unwrap();
        let output = addfg(&words);
        assert!(said(&output).contains("run_part"), "{}", said(&output));
        assert!(with().contains("collected: fir"));
        ok(&ask);
    }
    // One that looks whole is an error, and the others answer.
    let looks_whole = [&b"PAR1"[..], &[7; 5000], b"PAR1"].concat();
    fs::write(&file, looks_whole).unwrap();
    ok(&[&words[..5], &["n=3", "--with-steps"]].concat());
    let output = addfg(&ask);
    let (code, said) = (output.status.code(), said(&output));
    assert_eq!((code, printed(&output).lines().count()), (Some(1), 3), "{said}");
    assert!(said.contains("run_part/program=fir"), "{said}");
    // So are tables whose list was removed, as the message tells.
    let edges = fs::read_dir(lake.join("edge/program=fir")).unwrap().next().unwrap().unwrap();
    let run = edges.file_name().into_string().unwrap().replace("run=", "");
    let list = lake.join(format!("_runs/fir.{run}.json"));
    let told: serde_json::Value = serde_json::from_slice(&fs::read(&list).unwrap()).unwrap();
    fs::write(edges.path().join("part-0.parquet"), b"PAR1").unwrap();
    fs::remove_file(&list).unwrap();
    let label = format!("n={}", told["labels"]["n"].as_str().unwrap());
    ok(&[&words[..5], &[&label]].concat());
    let counted =
        ok(&["sql", utf8(&lake), "SELECT count(DISTINCT run_id) FROM edge", "--format", "csv"]);
    assert_eq!(counted.lines().nth(1), Some("3"));
}

#[test]
fn runs_without_steps_are_refused() {
    let scratch = Scratch::new("lake-steps-none");
    let lake = scratch.path("lake");
    for (db, why) in [
        (example("fir", "sums"), "--no-steps"),
        (example_sqlite("fir"), "holds no steps for --with-steps"),
    ] {
        refused(&["collect", utf8(&db), "-o", utf8(&lake), "--with-steps"], &[why]);
        assert_eq!(fs::read_dir(lake.join("_runs")).unwrap().count(), 0);
    }
}

#[test]
fn parts_of_a_run_have_its_communications() {
    let scratch = Scratch::new("lake-steps-range");
    for db in [in_chunks(&scratch), example("fir", "pairs"), example("jpeg", "full")] {
        // With and without what each chunk needs of before it.
        for prepared in [false, true] {
            let copy = scratch.path("copy.duckdb");
            fs::copy(&db, &copy).unwrap();
            if prepared {
                ok(&["prepare", "-q", utf8(&copy)]);
            }
            let last: i64 = rows(&copy, "SELECT sum(steps) FROM thread")[0].parse().unwrap();
            let flows = |more: &[&str]| {
                let words = ["flows", utf8(&copy), "glob:*", "glob:*", "--format", "csv"];
                let text = ok(&[&words[..], more].concat());
                text.lines().skip(1).map(str::to_owned).collect::<Vec<String>>()
            };
            let whole = flows(&["--limit", "0"]);
            let ends = [0, last / 5, last / 5 + 1, last / 2, last * 9 / 10, i64::MAX];
            let mut parts = Vec::new();
            for pair in ends.windows(2) {
                let range = format!("{}..{}", pair[0] + i64::from(pair[0] > 0), pair[1]);
                let part = flows(&["--range", &range, "--limit", "0"]);
                let some = flows(&["--range", &range, "--limit", "2"]);
                assert_eq!(some, part[..part.len().min(2)], "{range}");
                parts.extend(part);
            }
            assert!(whole.len() > 50, "{}", whole.len());
            assert!(parts == whole, "{}: {} and {}", db.display(), parts.len(), whole.len());
        }
    }
    let fir = example("fir", "pairs");
    refused(&["flows", utf8(&fir), "main", "main", "--range", "5..1"], &["5 is behind 1"]);
}
