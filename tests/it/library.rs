//! Queries that have a name: all are listed, and run on what they say that they need.

use crate::common::*;
use addfg::internals::views::library::{self, Kind, Query};

/// Words for the parameters that have no default, of the JPEG example.
fn words(query: &Query) -> Vec<&'static str> {
    let needed = query.parameters.iter().filter(|p| p.default.is_none());
    let word = |kind| match kind {
        Kind::Function => "stbi__jpeg_decode_block",
        Kind::Step => "1000",
        Kind::Address => "0x406110",
        Kind::Count => "5",
        Kind::Whose => "all",
        Kind::Name | Kind::Text | Kind::Number => "function_call",
    };
    needed.map(|p| word(p.kind)).collect()
}

/// Those of which the example has nothing to show.
const NONE: [&str; 4] = ["inlined", "recursion", "system_calls", "undecoded"];

#[test]
fn all_queries_run_or_say_what_they_need() {
    for detail in ["sums", "summary", "instance", "pairs", "full"] {
        let db = example("jpeg", detail);
        let connection = open(&db);
        for query in library::all() {
            let given: Vec<String> = words(&query).iter().map(|w| (*w).to_owned()).collect();
            let kept = detail != "sums" || query.needs == addfg::internals::load::Detail::Summary;
            let mut out = Vec::new();
            let format = addfg::internals::render::rows::RowFormat::Csv;
            match query.listing(&connection, &given) {
                Ok(listing) => {
                    assert!(kept, "@{} runs with detail {detail}", query.name);
                    let rows = listing.write(&connection, format, &mut out);
                    let rows = rows.unwrap_or_else(|e| panic!("@{}: {e}", query.name));
                    assert_eq!(rows == 0, NONE.contains(&query.name), "@{}", query.name);
                }
                Err(error) => {
                    let said = error.to_string();
                    assert!(!kept && said.contains("--no-steps"), "@{}: {said}", query.name);
                }
            }
        }
    }
}

#[test]
fn the_list_names_all() {
    let (db, folder) = (example("jpeg", "pairs"), repository("queries/library"));
    let listed = ok(&["sql", utf8(&db), "--list", "--format", "csv"]);
    let mut files = 0;
    for file in std::fs::read_dir(folder).expect("the library") {
        let name = file.expect("a file").file_name().into_string().expect("UTF-8");
        let name = name.strip_suffix(".sql").expect("only queries");
        assert!(listed.contains(&format!(",@{name},")), "{name} is not in {listed}");
        files += 1;
    }
    assert_eq!(files, listed.lines().count() - 1, "{listed}");
    for query in library::all() {
        let told = [query.about, query.theme, query.none];
        assert!(told.iter().all(|text| !text.is_empty()), "@{} tells too little", query.name);
    }
}

#[test]
fn a_query_takes_its_parameters() {
    let db = example("jpeg", "pairs");
    let run = |more: &[&str]| ok(&[&["sql", utf8(&db)], more, &["--format", "csv"]].concat());
    assert_eq!(run(&["@hot_functions", "3"]).lines().count(), 4);
    assert!(run(&["@hot_functions", "0"]).lines().count() > 40);
    let calls = run(&["@calls_of", "stbi__jpeg_decode_block", "1"]);
    assert!(calls.contains("\nstbi__jpeg_decode_block#7,775,"), "{calls}");
    let steps = run(&["@steps", "1000", "2"]);
    assert!(steps.contains("\n1000,0x") && steps.contains("\n1001,0x"), "{steps}");
    let output = addfg(&["sql", utf8(&db), "@system_calls"]);
    assert!(said(&output).contains("no rows: the trace tells of no system calls"));
}

#[test]
fn a_wrong_call_of_a_query_says_how_it_is_called() {
    let db = example("jpeg", "pairs");
    let refused = |more: &[&str], words: &[&str]| {
        refused(&[&["sql", utf8(&db)], more].concat(), words);
    };
    refused(&["@nonsense"], &["no query @nonsense", "hot_functions"]);
    refused(
        &["@calls_of"],
        &["<function> is missing", "addfg sql DB @calls_of <function> [rows=20]"],
    );
    refused(&["@calls_of", "stbi__jpeg_decode"], &["stbi__jpeg_decode_block"]);
    refused(&["@steps", "x"], &["expected step, found `x`"]);
    refused(&["@hot_edges", "5", "all", "6"], &["`6` is one too many"]);
    refused(&["@hot_edges", "5", "mine"], &["expected program or all, found `mine`"]);
    // Without its @ a query is no SQL: what was meant is said.
    refused(&["hot_functions"], &["`hot_functions` is not SQL", "@hot_functions"]);
    refused(&["calls_of", "main"], &["only a query @NAME", "@calls_of main` asks the query"]);
    refused(&["hot_functions 3"], &["is not SQL", "@hot_functions 3` asks the query"]);
    refused(&["hotfunctions"], &["is not SQL", "there is a query @hot_functions"]);
    refused(&["function_profil"], &["is not SQL", "there is a table function_profile"]);
    refused(&["@hot_function"], &["there is no query @hot_function; there is @hot_functions"]);
    refused(&["function_call"], &["`function_call` is not SQL", "'FROM function_call'"]);
    refused(&["SELECT * FROM Hot_Functions"], &["is a query, no table", "@hot_functions"]);
    // In one argument it is the same query.
    let one = ok(&["sql", utf8(&db), "@hot_edges 3  all", "--format", "csv"]);
    assert_eq!(one, ok(&["sql", utf8(&db), "@hot_edges", "3", "all", "--format", "csv"]));
    refused(&["@hot_edges", "--write"], &["leave out --write"]);
    refused(&["SELECT 1", "2"], &["only a query @NAME has parameters"]);
}

#[test]
fn an_export_to_sqlite_answers_but_for_steps() {
    let db = example_sqlite("jpeg");
    let edges = ok(&["sql", utf8(&db), "@hot_edges", "--format", "csv"]);
    assert_eq!(
        edges,
        ok(&["sql", utf8(&example("jpeg", "pairs")), "@hot_edges", "--format", "csv"])
    );
    refused(&["sql", utf8(&db), "@steps", "1"], &["an export to SQLite leaves them out"]);
}
