//! Many runs in continuous integration: rules mean what they say, chance is not reported as a change,
//! planted regressions are found, and reports are what their readers take.

use crate::common::*;
use addfg::internals::lake::compare::{self, Changed, Wish};
use addfg::internals::lake::{Labels, Lake};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn can_record() -> bool {
    ["valgrind", "pkg-config", "gcc", "g++"].iter().all(|tool| have(tool))
}

/// A program of `tests/programs`, compiled in the scratch folder.
fn compiled(scratch: &Scratch, source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let program = scratch.path(name);
    let compiler = if source.ends_with(".cc") { "g++" } else { "gcc" };
    let source = repository(&format!("tests/programs/{source}"));
    let words = [&["-g", "-O1", "-o", utf8(&program), utf8(&source)], flags].concat();
    assert!(Command::new(compiler).args(words).status().expect("compiles").success());
    program
}

fn recorded(scratch: &Scratch, program: &Path, name: &str) -> PathBuf {
    let db = scratch.path(name);
    ok(&["record", "--quiet", "--detail", "summary", "-o", utf8(&db), "--", utf8(program)]);
    db
}

fn collected(lake: &Path, db: &Path, label: &str) {
    ok(&["collect", "-q", utf8(db), "-o", utf8(lake), "--program", "p", "--label", label]);
}

fn csv_of(arguments: &[&str]) -> Vec<Vec<String>> {
    let words = [arguments, &["--format", "csv"]].concat();
    printed(&addfg(&words)).lines().skip(1).map(values).collect()
}

/// The values of a line of CSV.
fn values(line: &str) -> Vec<String> {
    let (mut all, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            _ => all.last_mut().expect("one value").push(letter),
        }
    }
    all
}

/// Item 1: signatures are names, also in rules, histories and sets; patterns are asked for.
#[test]
fn signatures_are_names_and_patterns_are_asked_for() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("lake-names");
    let program = compiled(&scratch, "overloads.cc", "overloads", &[]);
    let db = recorded(&scratch, &program, "overloads.duckdb");
    let lake = scratch.path("lake");
    collected(&lake, &db, "commit=a");
    let value = |rule: &str| {
        let words = ["check", utf8(&db), "--max", rule, "--format", "json"];
        let rows: Value = serde_json::from_str(&printed(&addfg(&words))).expect(rule);
        rows[0]["worst"].as_i64().expect(rule)
    };
    for (rule, bytes) in [
        ("bytes(\"f(unsigned char*, int)\" -> same, heap) <= 1", 4096),
        ("bytes(f(unsigned char*, int) -> same(unsigned char*, int), heap) <= 1", 4096),
        ("bytes(overloads.cc:f(unsigned char*, int) -> overloads.cc:same, heap) <= 1", 4096),
        ("bytes(f(unsigned char*, int) -> f(unsigned char*, int, int), heap) <= 1", 100),
        ("bytes(\"glob:f(*\" -> glob:*, heap) <= 1", 4196),
        ("bytes(\"re:^f\\(\" -> same, heap) <= 1", 4096),
    ] {
        assert_eq!(value(rule), bytes, "{rule}");
    }
    let steps = |name: &str| {
        let sql = format!("SELECT steps_self FROM function WHERE function = '{name}'");
        csv_of(&["sql", utf8(&lake), &sql])[0][0].parse::<i64>().unwrap()
    };
    assert_eq!(value("steps(f(unsigned char*, int)) <= 1"), steps("f(unsigned char*, int)"));
    refused(
        &["check", utf8(&db), "--max", "steps(f) <= 1"],
        &["several functions `f`", "int, int)"],
    );
    refused(&["check", utf8(&db), "--max", "steps(sam*) <= 1"], &["no function `sam*`", "glob:"]);
    // A history by the base name, and a set whose signature has a comma.
    let history =
        csv_of(&["trend", utf8(&lake), "f(unsigned char*, int) -> same", "--label", "commit"]);
    assert!(
        history.iter().any(|row| row[3] == "heap" && row[9].parse() == Ok(4096.0)),
        "{history:?}"
    );
    let asked =
        csv_of(&["sql", utf8(&lake), "@history", "overloads.cc:same", "-", "commit", "steps"]);
    assert!(!asked.is_empty(), "{asked:?}");
    assert!(asked.iter().all(|row| row.iter().any(|v| v.starts_with("same("))), "{asked:?}");
    refused(
        &["sql", utf8(&lake), "@history", "sane", "-", "commit"],
        &["no function `sane`", "same"],
    );
    let pairs = scratch.path("pairs.duckdb");
    ok(&["record", "-q", "--detail", "pairs", "-o", utf8(&pairs), "--", utf8(&program)]);
    let cut = |set: &str| ok(&["cut", utf8(&pairs), set, "--show", "figures", "--format", "csv"]);
    assert_eq!(
        cut("f(unsigned char*, int),same"),
        cut("overloads.cc:f(unsigned char*, int),re:^same")
    );
    refused(&["cut", utf8(&pairs), "sam*"], &["sam*", "glob:"]);
}

/// Item 2: the same code at another address is the same code, and names have no addresses.
#[test]
fn code_is_the_same_wherever_it_is_loaded() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("lake-code");
    let lake = scratch.path("lake");
    // The second is loaded elsewhere: a larger text segment stands before it.
    let plain = compiled(&scratch, "overloads.cc", "plain", &[]);
    let moved = compiled(
        &scratch,
        "overloads.cc",
        "moved",
        &["-Wl,-z,max-page-size=0x200000", "-Wl,-Ttext=0x600000"],
    );
    for (version, program) in [("1", &plain), ("2", &moved)] {
        let db = recorded(&scratch, program, &format!("{version}.duckdb"));
        collected(&lake, &db, &format!("version={version}"));
    }
    let changed = csv_of(&["sql", utf8(&lake), "@code_changed", "version", "1", "2", "0", "all"]);
    // What runs of the dynamic linker depends on sizes, and code is what ran: the program's is the same.
    let own = |row: &&Vec<String>| row[3] == "other code" && row[2].ends_with("overloads.cc");
    let other: Vec<_> = changed.iter().filter(own).collect();
    assert!(other.is_empty(), "{other:?}");
    let names = "SELECT function FROM function WHERE function LIKE '%@0x%'";
    assert_eq!(csv_of(&["sql", utf8(&lake), names]), Vec::<Vec<String>>::new());
    let lines = csv_of(&["sql", utf8(&lake), "@lines_changed", "version", "1", "2", "0"]);
    assert!(lines.is_empty(), "{lines:?}");
}

/// Sides of runs as the lists of a lake have them: labels in place of those there.
fn relabelled(lake: &Path, sides: &[&str]) {
    let mut lists: Vec<_> =
        fs::read_dir(lake.join("_runs")).unwrap().map(|e| e.unwrap().path()).collect();
    lists.sort();
    for (i, (path, side)) in lists.iter().zip(sides).enumerate() {
        let mut list: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        list["labels"] = json!({ "side": side, "repeat": i.to_string() });
        fs::write(path, list.to_string()).unwrap();
    }
}

fn compared(lake: &Path) -> Vec<Changed> {
    let wish = Wish {
        label: "side".into(),
        before: "a".into(),
        after: "b".into(),
        measure: "all".into(),
        least: 0.0,
        start_up: true,
        rate: 5.0,
    };
    compare::changed(&Lake::open(lake, &Labels::new()).unwrap(), &wish).unwrap()
}

/// Item 5: of all ways to part eight runs of one program into four and four, at most 5 % report
/// anything; of two and two none is certain, and the command says how many runs it needs.
#[test]
fn chance_is_reported_as_rarely_as_stated() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("lake-noise");
    let lake = scratch.path("lake");
    let program = compiled(&scratch, "random_order.c", "random_order", &[]);
    for i in 0..8 {
        let db = recorded(&scratch, &program, &format!("{i}.duckdb"));
        collected(&lake, &db, &format!("side=a,repeat={i}"));
    }
    let (mut splits, mut reporting) = (0, 0);
    for chosen in 0..256_u32 {
        if chosen.count_ones() == 4 {
            let sides: Vec<_> =
                (0..8).map(|i| if chosen >> i & 1 == 1 { "b" } else { "a" }).collect();
            relabelled(&lake, &sides);
            splits += 1;
            reporting += u32::from(compared(&lake).iter().any(|row| row.is_certain));
        }
    }
    assert_eq!(splits, 70);
    assert!(f64::from(reporting) <= 0.05 * f64::from(splits), "{reporting} of {splits} splits");
    let lists = fs::read_dir(lake.join("_runs")).unwrap().map(|e| e.unwrap().path());
    let mut lists: Vec<_> = lists.collect();
    lists.sort();
    lists[4..].iter().for_each(|path| fs::remove_file(path).unwrap());
    relabelled(&lake, &["a", "a", "b", "b"]);
    assert!(compared(&lake).iter().all(|row| !row.is_certain));
    // With changes of less than a per cent, as above.
    let output = addfg(&["diff", utf8(&lake), "--by", "side=a..b", "--start-up", "--least", "0"]);
    if !compared(&lake).is_empty() {
        assert!(said(&output).contains("cannot tell these"), "{}", said(&output));
    }
    apart(&lake, &lists[..4]);
}

/// Item 3: one run whose date does not follow from its commit parts all runs; that is said.
fn apart(lake: &Path, lists: &[PathBuf]) {
    let label = |i: usize, labels: Value| {
        let mut list: Value = serde_json::from_slice(&fs::read(&lists[i]).unwrap()).unwrap();
        list["labels"] = labels;
        fs::write(&lists[i], list.to_string()).unwrap();
    };
    for (i, (commit, date)) in [("a", "1"), ("a", "1"), ("b", "2"), ("b", "2")].iter().enumerate() {
        label(i, json!({ "commit": commit, "date": date, "repeat": i.to_string() }));
    }
    let diff = ["diff", utf8(lake), "--by", "commit=a..b"];
    let trend = ["trend", utf8(lake), "--label", "commit", "--change-points"];
    ok(&diff);
    ok(&trend);
    label(3, json!({ "commit": "b", "date": "3", "repeat": "3" }));
    refused(&diff, &["cannot be compared", "date", "does not follow from commit"]);
    refused(&trend, &["cannot be compared", "date", "does not follow from commit"]);
    (0..4).for_each(|i| label(i, json!({ "commit": "a", "repeat": i.to_string() })));
    refused(&trend, &["all runs have commit=a"]);
}

/// 20 repeats of one build: no command of docs/reach.md reports anything.
#[test]
fn unchanged_code_reports_nothing() {
    let scratch = Scratch::new("lake-unchanged");
    let Some(lake) = made(&scratch, &["unchanged"]) else { return };
    let lake = utf8(&lake);
    assert_eq!(csv_of(&["sql", lake, "SELECT count(*) FROM run"])[0][0], "20");
    for words in [
        &["diff", lake, "--by", "version=1..1b", "--limit", "0", "--start-up"][..],
        &["diff", lake, "--by", "version=1..1b", "--limit", "0", "--exact"],
        &["sql", lake, "@changed", "version", "1", "1b"],
        &["sql", lake, "@code_changed", "version", "1", "1b"],
        &["sql", lake, "@lines_changed", "version", "1", "1b"],
        &["sql", lake, "@variables_changed", "version", "1", "1b"],
        &["sql", lake, "@only_some", "version"],
        &["trend", lake, "--label", "version", "--change-points"],
        &["trend", lake, "--label", "repeat", "--change-points"],
    ] {
        assert_eq!(csv_of(words), Vec::<Vec<String>>::new(), "{words:?}");
    }
    ok(&["check", lake, "--max", "steps(mix) not above version=1"]);
    ok(&["diff", lake, "--by", "version=1..1b", "--fail-on", "1"]);
}

/// The lake of examples/ci, of two sizes; None where a tool is missing.
fn planted(scratch: &Scratch) -> Option<PathBuf> {
    made(scratch, &[])
}

/// A lake as examples/ci/make.sh makes it.
fn made(scratch: &Scratch, more: &[&str]) -> Option<PathBuf> {
    let clang = ["clang++", "clang++-19", "clang++-18"].into_iter().find(|name| installed(name))?;
    if !can_record() {
        return None;
    }
    let lake = scratch.path("lake");
    let made = Command::new("sh")
        .args([utf8(&repository("examples/ci/make.sh")), utf8(&lake)])
        .args(more)
        .env("ADDFG", env!("CARGO_BIN_EXE_addfg"))
        .env("ADDFG_RECORDERS", repository("recorders"))
        .env("CLANG", clang)
        .output()
        .expect("sh runs");
    assert!(made.status.success(), "{}", said(&made));
    Some(lake)
}

/// Items 3, 4, 6 and 7 with the 42 runs of examples/ci.
#[test]
fn planted_regressions_are_found_and_reported() {
    let scratch = Scratch::new("lake-ci");
    let Some(lake) = planted(&scratch) else { return };
    let lake = utf8(&lake);
    assert_eq!(csv_of(&["sql", lake, "SELECT count(*) FROM run"])[0][0], "42");
    // Copied twice, by one function.
    let copied =
        csv_of(&["diff", lake, "--by", "version=1..2", "--measure", "bytes", "--limit", "0"]);
    let heap = copied.iter().find(|row| row[3] == "heap").expect("a row");
    assert!(
        heap[1].starts_with("blend::keep") && heap[1] == heap[2] && heap[15] == "true",
        "{heap:?}"
    );
    assert_eq!((&heap[4][..], &heap[5][..], &heap[13][..]), ("14", "14", "yes"));
    let others: Vec<_> =
        copied.iter().filter(|row| !row[1].contains("keep") && !row[2].contains("keep")).collect();
    assert!(others.is_empty(), "{others:?}");
    // The table is built for each block.
    let calls =
        csv_of(&["diff", lake, "--by", "version=2..3", "--measure", "calls", "--limit", "0"]);
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert!(calls[0][2].starts_with("blend::build_table"), "{calls:?}");
    // A change under one of two compilers.
    let code = csv_of(&["sql", lake, "@code_changed", "version", "1", "3"]);
    let mix = code.iter().find(|row| row[1].starts_with("blend::mix")).expect("mix changed");
    assert!(mix[4] == "7" && mix[5] == "14" && mix[6].contains("compiler=clang"), "{mix:?}");
    let steps =
        csv_of(&["diff", lake, "--by", "version=1..3", "--measure", "steps", "--limit", "0"]);
    let mix = steps.iter().find(|row| row[1].starts_with("blend::mix")).expect("mix grew");
    assert!(mix[5] == "7" && mix[14].contains("compiler=clang") && mix[13] == "yes", "{mix:?}");
    // An input that takes data another way.
    let odd = csv_of(&["sql", lake, "@only_some", "input"]);
    assert!(
        odd.iter().any(|row| row[1].starts_with("blend::unpack") && row[3] == "heap"),
        "{odd:?}"
    );
    assert!(
        odd.iter()
            .filter(|row| row[6] == "odd")
            .all(|row| row[1].contains("unpack") || row[2].contains("unpack")),
        "{odd:?}"
    );
    // Which of the versions.
    let points = csv_of(&[
        "trend",
        lake,
        "main -> build_table",
        "--label",
        "version",
        "--change-points",
        "--measure",
        "calls",
    ]);
    assert!(
        points.len() == 14 && points.iter().all(|row| row[5] == "2" && row[6] == "3"),
        "{points:?}"
    );
    // Least and most over sizes, within a version and compiler.
    let range = csv_of(&["sql", lake, "@range", "size", "steps", "0"]);
    let mix: Vec<_> = range
        .iter()
        .filter(|row| row[2].starts_with("blend::mix") && row[5].contains("plain"))
        .collect();
    assert!(
        mix.len() == 6 && mix.iter().all(|row| row[0] == "blend" && row[11] == "8192"),
        "{mix:?}"
    );
    reports(&scratch, lake);
    mistakes(lake);
    histories(lake);
}

/// Rules against a reference, exit codes, and what reports hold.
fn reports(scratch: &Scratch, lake: &str) {
    let file = |name: &str| scratch.path(name);
    let (junit, sarif, comment) = (file("a.xml"), file("a.sarif"), file("a.md"));
    let root = repository("");
    let output = addfg(&[
        "check",
        lake,
        "-f",
        utf8(&repository("examples/ci/rules.txt")),
        "--format",
        "json",
        "--junit",
        utf8(&junit),
        "--sarif",
        utf8(&sarif),
        "--markdown",
        utf8(&comment),
        "--source-root",
        utf8(&root),
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let rows: Value = serde_json::from_str(&printed(&output)).unwrap();
    let holds: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| row["holds"].as_bool().unwrap()).collect();
    // Only the newest version is looked at: 3 copies once again.
    assert_eq!(holds, [true, true, false, true, false], "{rows:#}");
    assert_eq!(rows[0]["runs"], 14);
    assert!(rows[2]["next_worst"].as_str().unwrap().matches(" in r").count() == 2, "{rows:#}");
    well_formed(&fs::read_to_string(&junit).unwrap(), 5, 2);
    valid_sarif(
        &serde_json::from_slice(&fs::read(&sarif).unwrap()).unwrap(),
        "examples/ci/blend.cc",
    );
    let text = fs::read_to_string(&comment).unwrap();
    assert!(text.starts_with("### ❌ 2 of 5 rules are broken"), "{text}");
    let all = addfg(&[
        "check",
        lake,
        "--max",
        "bytes(keep -> keep, heap) <= 17 k",
        "--format",
        "json",
        "--all-runs",
    ]);
    assert_eq!(all.status.code(), Some(0), "{}{}", printed(&all), said(&all));
    let by = ["diff", lake, "--by", "version=1..3", "--measure", "calls"];
    let fails = [
        &by[..],
        &[
            "--fail-on",
            "5 %",
            "--junit",
            utf8(&junit),
            "--sarif",
            utf8(&sarif),
            "--markdown",
            utf8(&comment),
            "--source-root",
            utf8(&root),
            "--annotate",
        ],
    ]
    .concat();
    let output = addfg(&fails);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let annotated = printed(&output);
    assert!(annotated.starts_with("::error file=examples/ci/blend.cc,line="), "{annotated}");
    well_formed(&fs::read_to_string(&junit).unwrap(), 1, 1);
    valid_sarif(
        &serde_json::from_slice(&fs::read(&sarif).unwrap()).unwrap(),
        "examples/ci/blend.cc",
    );
    assert_eq!(addfg(&[&by[..], &["--fail-on", "100000000"]].concat()).status.code(), Some(0));
}

/// Elements close in order, and the suite counts its cases.
fn well_formed(xml: &str, tests: usize, failures: usize) {
    let mut open: Vec<&str> = Vec::new();
    for tag in xml.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "{xml}"),
            None if tag.ends_with('/') || tag.starts_with('?') => {}
            None => open.push(tag.split(' ').next().unwrap()),
        }
    }
    assert!(open.is_empty(), "{xml}");
    let counts = (xml.matches("<testcase ").count(), xml.matches("<failure ").count());
    assert_eq!(counts, (tests, failures), "{xml}");
    assert!(xml.contains(&format!("tests=\"{tests}\" failures=\"{failures}\"")));
    // Ant's schema: these attributes, and these elements in this order.
    let suite = xml.split("<testsuite ").nth(1).and_then(|rest| rest.split('>').next()).unwrap();
    for name in
        ["name", "package", "id", "hostname", "timestamp", "tests", "failures", "errors", "time"]
    {
        assert!(format!(" {suite}").contains(&format!(" {name}=\"")), "{name}: {suite}");
    }
    let at = |element: &str| xml.find(element).unwrap_or_else(|| panic!("{element}: {xml}"));
    assert!(xml.contains("<testsuites>") && at("<properties/>") < at("<testcase "));
    assert!(xml.rfind("<testcase ").unwrap() < at("<system-out"));
    assert!(at("<system-out") < at("<system-err/>"));
}

/// What SARIF 2.1.0 requires of the properties that are written.
fn valid_sarif(sarif: &Value, file: &str) {
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    assert!(run["tool"]["driver"]["name"].is_string());
    let rules: Vec<_> =
        run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|r| &r["id"]).collect();
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        assert!(
            rules.contains(&&result["ruleId"])
                && !result["message"]["text"].as_str().unwrap().is_empty()
        );
        assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        for place in result["locations"].as_array().unwrap() {
            let place = &place["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], file);
            assert!(place["region"]["startLine"].as_i64().unwrap() >= 1);
        }
    }
}

/// Item 3: what cannot be compared is said, and is no success.
fn mistakes(lake: &str) {
    let by = |by: &str, words: &[&str]| refused(&["diff", lake, "--by", by], words);
    by("versoin=1..2", &["no label `versoin`", "version (1, 2, 3)"]);
    by("version=1..4", &["no run has version=4", "1, 2, 3"]);
    by("version=2..2", &["both sides are version=2"]);
    refused(&["sql", lake, "@regressed", "version", "2", "2"], &["both sides are version=2"]);
}

/// Each measure of a history is the figure that the tables have, and nothing else.
fn histories(lake: &str) {
    let keep = ("keep", "-");
    let own = ("keep", "keep");
    for (measure, (one, two), sql) in [
        ("steps", keep, "SELECT sum(steps_self) FROM function WHERE function"),
        ("steps_total", keep, "SELECT sum(steps_total) FROM function WHERE function"),
        ("written_bytes", keep, "SELECT sum(written_bytes) FROM function WHERE function"),
        ("dead_bytes", keep, "SELECT sum(dead_bytes) FROM function WHERE function"),
        ("calls", ("main", "keep"), "SELECT sum(calls) FROM call WHERE caller = 'main' AND callee"),
        ("bytes", own, "SELECT sum(bytes) FROM edge WHERE writer = reader AND reader"),
        (
            "unique_bytes",
            own,
            "SELECT sum(unique_bytes) FROM edge WHERE writer = reader AND reader",
        ),
        ("buffer", own, "SELECT sum(addresses) FROM edge WHERE writer = reader AND reader"),
    ] {
        let found = csv_of(&["sql", lake, "@history", one, two, "size", measure]);
        assert!(found.iter().all(|row| row[0] == measure), "{measure}: {found:?}");
        // Each run has a row: least, mean and most are one.
        let sum: f64 = found.iter().map(|row| row[9].parse::<f64>().unwrap()).sum();
        let listed = csv_of(&["sql", lake, &format!("{sql} LIKE 'blend::keep(%'")]);
        assert_eq!(sum, listed[0][0].parse::<f64>().unwrap(), "{measure}");
        let trend = csv_of(&["trend", lake, &thing(one, two), "--measure", measure]);
        assert_eq!(trend, found, "{measure}");
    }
    let all = csv_of(&["sql", lake, "@history", "keep", "-", "size"]);
    assert!(!all.is_empty() && all.iter().all(|row| row[0] == "steps"), "{all:?}");
    let none = addfg(&["trend", lake, "keep", "--measure", "bytes"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(said(&none).contains("are of a call or an edge"), "{}", said(&none));
}

fn thing(one: &str, two: &str) -> String {
    if two == "-" { one.to_owned() } else { format!("{one} -> {two}") }
}

/// Item 7: figures that grow by a law are named by it.
#[test]
fn growth_laws_are_named() {
    let laws = [
        ("stbi__malloc", "n^3", "N * N * N"),
        ("allocate", "n^2", "N * N"),
        ("checksum", "n^1.5", "round(N ** 1.5)"),
        ("stbi__clamp", "n log n", "round(N * log2(N))"),
        ("stbi__rewind", "n", "7 * N"),
        ("stbi__get8", "sqrt(n)", "round(1000 * sqrt(N))"),
        ("main", "log n", "round(1000 * log2(N))"),
    ];
    let scratch = Scratch::new("lake-growth");
    let lake = scratch.path("lake");
    for size in [16, 64, 256, 1024, 4096] {
        let db = scratch.copy(&example("jpeg", "summary"), "sized.duckdb");
        let cases: String = laws
            .iter()
            .map(|(name, _, law)| {
                let law = law.replace('N', &format!("{size}::BIGINT"));
                format!(" WHEN '{name}' THEN ({law})::BIGINT")
            })
            .collect();
        change(
            &db,
            &format!(
                "UPDATE function_profile_folded f SET steps_self = CASE s.name{cases} ELSE steps_self END
                 FROM function_symbol s WHERE s.function_id = f.function_id"
            ),
        );
        collected(&lake, &db, &format!("size={size}"));
    }
    let found = csv_of(&["trend", utf8(&lake), "--measure", "steps", "--limit", "0"]);
    for (name, law, _) in laws {
        let row = found.iter().find(|row| row[1] == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(row[10], law, "{row:?}");
    }
}
