//! Options that change nothing about an answer, or names that mean nothing in it, are refused: an answer to another question than was
//! asked is worse than none.

use crate::common::{
    Scratch, addfg, build_in, change, example, example_files, ok, printed, refused, said, utf8,
};
use std::path::Path;

fn fir() -> String {
    utf8(&example("fir", "pairs")).to_owned()
}

#[test]
fn a_call_is_refused_where_all_calls_are_meant() {
    let db = fir();
    let all = ["all calls of `multiply`", "call 2", "leave out #2"];
    for words in [
        &["calls", &db, "multiply#2"][..],
        &["sql", &db, "@writers_of", "multiply#2"],
        &["sql", &db, "@calls_of", "multiply#2"],
        &["graph", &db, "--expand", "multiply#2"],
    ] {
        refused(words, &all);
    }
    for level in ["line", "instruction", "block", "loop", "inlined", "context"] {
        let words = ["graph", &db, "--level", level, "--focus", "multiply#2"];
        refused(&words, &["level", level, "all calls of a function", "#N"]);
    }
    for level in ["function", "instance", "step"] {
        ok(&["graph", &db, "--level", level, "--focus", "multiply#2", "--format", "json"]);
    }
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let db = fir();
    refused(&["graph", &db, "--range", "1..10"], &["--range", "--level step"]);
    refused(&["graph", &db, "--level", "line", "--range", "1..10"], &["--range", "--level step"]);
    let step = ["graph", &db, "--level", "step", "--range", "1..10", "--focus", "fir"];
    refused(&step, &["--range", "without --focus"]);
    for option in
        [&["--top", "3"][..], &["--via", "heap"], &["--min-bytes", "4"], &["--show", "calls"]]
    {
        refused(
            &[&["graph", &db, "--format", "flamegraph"], option].concat(),
            &["flame graph", "--top"],
        );
    }
    for option in [
        &["--set", "multiply"][..],
        &["--keep", "multiply"],
        &["--code", "1"],
        &["--least", "1"],
        &[&db],
    ] {
        refused(
            &[&["plan", &db, "--parts", "2"], option].concat(),
            &["changes nothing about --parts"],
        );
    }
    refused(&["plan", &db, "--parts", "2", "--show", "sets"], &["--show sets"]);
    refused(&["plan", &db, "--slack", "3"], &["--slack"]);
    refused(&["plan", &db, "--top", "3"], &["--top", "without -o"]);
    refused(&["plan", &db, "--show", "loops", "--code", "1"], &["--code", "--show loops"]);
    refused(&["plan", &db, "--set", "multiply", "--keep", "multiply"], &["--set", "--keep"]);
    for option in [
        &["--measure", "calls"][..],
        &["--least", "50"],
        &["--rate", "1"],
        &["--start-up"],
        &["--across-recordings"],
    ] {
        refused(&[&["diff", &db, &db], option].concat(), &["compare many runs", "--by or --to"]);
    }
    refused(
        &["export", &db, "--to", "sqlite", "--tables", "meta"],
        &["--tables", "csv and parquet"],
    );
    refused(&["export", &db, "--to", "json", "--arrows", "5"], &["--arrows", "chrome"]);
    for words in [
        &["calls", &db, "--timeline", "--format", "csv"][..],
        &["calls", &db, "--timeline", "--limit", "3"],
        &["calls", &db, "--functions", "--least", "50"],
        &["calls", &db, "--functions", "--by-stack"],
    ] {
        let output = addfg(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(said(&output).contains("cannot be used with"), "{words:?}: {}", said(&output));
    }
}

#[test]
fn the_name_of_a_file_says_what_is_in_it() {
    let (db, scratch) = (fir(), Scratch::new("unused-endings"));
    let file = |name: &str| utf8(&scratch.path(name)).to_owned();
    for words in [
        &["matrix", &db, "-o", &file("m.png")][..],
        &["memory", &db, "-o", &file("m.pdf")],
        &["memory", &db, "--show", "functions", "-o", &file("m.svg")],
        &["memory", &db, "--show", "allocations", "-o", &file("m.svg")],
        &["calls", &db, "-o", &file("c.svg")],
        &["calls", &db, "--tree", "-o", &file("c.dot")],
    ] {
        refused(words, &["written as rows", "FILE.csv or FILE.json"]);
    }
    refused(&["calls", &db, "--timeline", "-o", &file("c.png")], &["drawn as SVG"]);
    assert!(std::fs::read_dir(scratch.path("")).expect("folder").next().is_none());
    for words in [
        &["matrix"][..],
        &["memory"],
        &["memory", "--show", "time"],
        &["calls"],
        &["calls", "--tree"],
    ] {
        let run = |more: &[&str]| ok(&[&words[..1], &[&db], &words[1..], more].concat());
        for format in ["csv", "json"] {
            let to = file(&format!("rows.{format}"));
            run(&["-o", &to]);
            let written = std::fs::read_to_string(&to).expect("a file");
            assert_eq!(written, run(&["--format", format]), "{words:?}");
        }
    }
    for words in [&["matrix"][..], &["memory"], &["calls", "--timeline"]] {
        let to = file("picture.svg");
        ok(&[&words[..1], &[&db], &words[1..], &["-o", &to]].concat());
        assert!(std::fs::read_to_string(&to).expect("a file").contains("<svg"), "{words:?}");
    }
}

/// Shares are of the whole run, however few rows are asked for.
#[test]
fn the_tree_of_calls_ends_where_it_is_asked_to() {
    let db = fir();
    let whole = ok(&["calls", &db, "--tree", "--least", "0"]);
    let output = addfg(&["calls", &db, "--tree", "--least", "0", "--limit", "2"]);
    let first = printed(&output);
    assert!(whole.starts_with(&first) && first.lines().count() == 3, "{first}");
    assert!(said(&output).contains("the first 2 of"), "{}", said(&output));
    let csv = ok(&["calls", &db, "--tree", "--least", "0", "--limit", "2", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 3);
}

/// A database that keeps no steps says so, to every statement that asks for them.
#[test]
fn a_database_of_sums_has_no_empty_tables() {
    let scratch = Scratch::new("unused-sums");
    let [log, elf] = example_files("fir");
    let more = ["--elf", utf8(&elf), "--detail", "summary", "--no-steps"];
    let (_, _, db) = build_in(&scratch, &[&log], &more);
    let db = utf8(&db);
    for from in [
        "function_call",
        "dataflow",
        "communication",
        "opcode_line",
        "data_access",
        "steps(1, 9)",
        "accesses(1, 9)",
        "calls_of('fir')",
        "communications('fir', 'multiply')",
    ] {
        refused(
            &["sql", db, &format!("SELECT count(*) FROM {from}")],
            &["sums only", "--no-steps"],
        );
    }
    for from in ["system_call", "function_profile", "function_edge", "instruction", "block_step"] {
        ok(&["sql", db, &format!("SELECT count(*) FROM {from}")]);
    }
    // Another program, too, gets an error.
    let plain = duckdb::Connection::open(db).expect("a database");
    let count = |from: &str| {
        plain.query_row(&format!("SELECT count(*) FROM {from}"), [], |r| r.get::<_, i64>(0))
    };
    for from in ["function_call", "communication", "opcode_line"] {
        let error = count(from).expect_err(from).to_string();
        assert!(error.contains("sums only"), "{error}");
    }
    assert_eq!(count("system_call"), Ok(0));
}

/// What takes the whole run, and was not found yet, is no empty table of an export.
#[test]
fn what_was_not_found_is_not_exported() {
    let scratch = Scratch::new("unused-export");
    let db = scratch.copy(&example("fir", "pairs"), "fir.duckdb");
    let folder = scratch.path("csv");
    let export = ["export", utf8(&db), "--to", "csv", "-o", utf8(&folder)];
    let output = addfg(&export);
    assert!(said(&output).contains("left out: critical_call"), "{}", said(&output));
    let has = |folder: &Path, name: &str| folder.join(format!("{name}.csv")).exists();
    assert!(has(&folder, "function_profile") && !has(&folder, "object_use"));
    let one = scratch.path("one");
    let one = [&export[..4], &["-o", utf8(&one), "--tables", "object_use"]].concat();
    refused(&one, &["object_use cannot be exported", "addfg prepare"]);
    ok(&["prepare", utf8(&db)]);
    let prepared = scratch.path("prepared");
    let output = addfg(&["export", utf8(&db), "--to", "csv", "-o", utf8(&prepared)]);
    assert!(!said(&output).contains("left out"), "{}", said(&output));
    assert!(has(&prepared, "object_use"));
}

/// Everything that was read and written is in the whole graph, however many files it was; in a picture it is not.
#[test]
fn the_whole_graph_has_all_sources_and_sinks() {
    let scratch = Scratch::new("unused-whole");
    let db = scratch.copy(&example("fir", "pairs"), "fir.duckdb");
    change(
        &db,
        "INSERT INTO function_symbol
             SELECT s.* REPLACE (1000 + i AS function_id, 'in' || i || '.txt' AS name)
             FROM (FROM function_symbol WHERE kind = 'pseudo' LIMIT 1) s, range(10, 30) t(i);
         INSERT INTO function_edge
             SELECT e.* REPLACE (1000 + i AS writer_function_id) FROM (FROM function_edge LIMIT 1) e, range(10, 30) t(i)",
    );
    let files = |text: &str| (10..30).filter(|i| text.contains(&format!("in{i}.txt"))).count();
    for to in ["json", "graphml", "dot"] {
        assert_eq!(files(&ok(&["export", utf8(&db), "--to", to, "-o", "-"])), 20, "{to}");
    }
    assert!(files(&ok(&["graph", utf8(&db), "--all", "--format", "json"])) <= 6);
    assert_eq!(
        files(&ok(&[
            "graph",
            utf8(&db),
            "--all",
            "--top",
            "0",
            "--min-bytes",
            "0",
            "--format",
            "json"
        ])),
        20
    );
}

#[test]
fn limits_and_formats_of_rows_are_refused_where_there_are_none() {
    let db = fir();
    for (words, why) in [
        (&["memory", &db, "--show", "time", "--limit", "3"][..], "--limit changes nothing"),
        (&["memory", &db, "--show", "reuse", "--limit", "3"], "--limit changes nothing"),
        (&["memory", &db, "-o", "never.svg", "--limit", "3"], "a picture has all"),
        (&["memory", &db, "-o", "never.svg", "--format", "csv"], "a picture has all"),
        (&["cut", &db, "multiply", "--show", "figures", "--limit", "3"], "--limit changes nothing"),
        (&["cut", &db, "multiply", "--format", "csv", "--limit", "3"], "--limit changes nothing"),
        (
            &["slice", &db, "--at", "1", "--picture", "dot", "--format", "csv"],
            "cannot be used with",
        ),
        (&["slice", &db, "--at", "1", "--picture", "dot", "--limit", "3"], "cannot be used with"),
    ] {
        refused(words, &[why]);
    }
}

#[test]
fn an_answer_without_rows_says_why() {
    let db = utf8(&example("jpeg", "pairs")).to_owned();
    let never = ok(&["sql", &db, NEVER_RAN, "--format", "csv"]);
    let never = never.lines().nth(1).expect("a function that does not run");
    let block = "stbi__idct_block";
    let did_not_run = format!("addfg: no rows: {never} did not run");
    for (words, why) in [
        (&["flows", &db, block, never][..], &did_not_run[..]),
        (&["flows", &db, never, block], &did_not_run),
        (&["flows", &db, never, block, "--sum"], &did_not_run),
        (
            &["flows", &db, block, "read_file"],
            "no instruction of read_file read what stbi__idct_block wrote",
        ),
        (&["instances", &db, never], &did_not_run),
        (&["calls", &db, never], &did_not_run),
        (&["loops", &db, "--functions", never], &did_not_run),
        (&["slice", &db, "--at", "0x1"], "no step wrote what 0x1 names"),
        (&["slice", &db, "--at", "0x1", "--forward"], "no step reads what 0x1 names"),
    ] {
        let output = addfg(words);
        assert!(said(&output).contains(why), "{words:?}: {}", said(&output));
        assert!(output.status.success(), "{words:?}");
    }
    let output = addfg(&["flows", &db, block, block, "--sum"]);
    assert!(!said(&output).contains("no rows"), "{}", said(&output));
}

const NEVER_RAN: &str = "SELECT name FROM function_symbol s WHERE kind <> 'pseudo'
    AND NOT EXISTS (FROM function_profile p WHERE p.function_id = s.function_id) AND name LIKE 'stbi%' ORDER BY 1";
