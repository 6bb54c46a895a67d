//! Communications between sets of functions: the rows of their pairs put together, in the order of
//! the reads.

use crate::common::*;
use addfg::internals::render::rows::RowFormat;
use addfg::internals::views::flows::{
    End, Ends, communications, dependences, has_dependences, sums,
};
use duckdb::Connection;
use std::path::Path;

/// The rows from FROM to TO as JSON, each with the names of its functions first; None: what a
/// function reads of its own is not kept singly.
fn listed(
    connection: &Connection,
    (from, to): (&str, &str),
    groups: &[(String, Vec<String>)],
    sum: bool,
) -> Option<Vec<serde_json::Value>> {
    let end = |text| End::find(connection, text, groups).unwrap();
    let ends = Ends::new(end(from), end(to)).unwrap();
    let listing = if sum {
        sums(connection, &ends, i64::MAX).unwrap()
    } else if has_dependences(connection).unwrap() {
        dependences(connection, &ends, i64::MAX).unwrap()
    } else {
        match communications(connection, &ends, i64::MAX) {
            Ok(found) => found.listing,
            Err(addfg::internals::views::ViewError::NoneInside { .. }) => return None,
            Err(error) => panic!("{error}"),
        }
    };
    let mut text = Vec::new();
    listing.write(connection, RowFormat::Json, &mut text).unwrap();
    Some(serde_json::from_slice(&text).unwrap())
}

/// The rows of a set are those of its pairs; gives how many there are singly and summed.
fn agree(db: &Path, from: &[&str], to: &[&str]) -> [usize; 2] {
    let connection = addfg::internals::store::open::open(db, false).unwrap();
    let groups = [(
        "the writers".to_owned(),
        from.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
    )];
    [false, true].map(|sum| {
        let mut expected = Vec::new();
        for (writer, reader) in from.iter().flat_map(|w| to.iter().map(move |r| (*w, *r))) {
            for mut row in listed(&connection, (writer, reader), &[], sum).unwrap_or_default() {
                let fields = row.as_object_mut().unwrap();
                // One function to one: nothing more than before.
                assert!(!fields.contains_key("writer_function"), "{fields:?}");
                fields.insert("writer_function".to_owned(), writer.into());
                fields.insert("reader_function".to_owned(), reader.into());
                expected.push(row.to_string());
            }
        }
        let found = listed(&connection, ("the writers", &to.join(",")), &groups, sum).unwrap();
        let number = |row: &serde_json::Value, name: &str| row[name].as_i64();
        if sum {
            let key = |row| number(row, "bytes").or(number(row, "count")).unwrap();
            assert!(found.is_sorted_by(|a, b| key(a) >= key(b)), "the largest first");
        } else {
            assert!(found.is_sorted_by_key(|row| number(row, "read_seq")), "in order of reads");
        }
        let mut found: Vec<String> = found.iter().map(ToString::to_string).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{from:?} to {to:?}, sum {sum}");
        found.len()
    })
}

#[test]
fn sets_have_the_rows_of_their_pairs() {
    let ends = "SELECT writer FROM function_dataflow UNION SELECT reader FROM function_dataflow ORDER BY 1";
    for detail in ["rows", "pairs", "full"] {
        let db = example("fir", detail);
        let names = rows(&db, ends);
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let readers: Vec<&str> =
            all.iter().copied().filter(|name| !name.starts_with('<')).collect();
        assert!(readers.len() > 4 && readers.len() < all.len(), "{all:?}");
        let [single, sum] = agree(&db, &all, &readers);
        assert!(single > 100 && sum > 20, "{single}, {sum}");
        // In all as many bytes as the function level says, from there to there.
        let own = if detail == "rows" { "WHERE writer <> reader" } else { "" };
        let bytes = rows(&db, &format!("SELECT sum(bytes) FROM function_dataflow {own}"));
        let listed = ok(&[
            "flows",
            utf8(&db),
            &all.join(","),
            &readers.join(","),
            "--limit",
            "0",
            "--format",
            "json",
        ]);
        let listed: Vec<serde_json::Value> = serde_json::from_str(&listed).unwrap();
        let sum: u64 = listed.iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
        assert_eq!([sum.to_string()], bytes[..]);
    }
    let jpeg = example("jpeg", "pairs");
    let sets = [
        &["stbi__jpeg_decode_block", "stbi__idct_block", "stbi__get8", "<input>", "main"][..],
        &[
            "stbi__idct_block",
            "stbi__clamp",
            "stbi__get8",
            "stbi__extend_receive",
            "stbi__grow_buffer_unsafe",
        ],
    ];
    let [single, sum] = agree(&jpeg, sets[0], sets[1]);
    assert!(single > 1000 && sum > 50, "{single}, {sum}");
    // Dependences instead of communications.
    let scratch = Scratch::new("flows-wet");
    let trace = repository("tests/formats/wet/good-comprehensive.wet");
    let (_, _, wet) = build_in(&scratch, &[&trace], &[]);
    let [single, sum] = agree(&wet, &["fill(int *, int)", "main", "sum"], &["main", "sum"]);
    assert!(single > 5 && sum > 2, "{single}, {sum}");
}

#[test]
fn ends_are_functions_patterns_files_and_groups() {
    let db = example("fir", "pairs");
    let flows = |arguments: &[&str]| {
        let all = [&["flows", utf8(&db)], arguments].concat();
        ok(&[&all[..], &["--limit", "0", "--format", "csv"]].concat())
    };
    let list = flows(&["produce,filter", "fir,multiply"]);
    assert!(list.starts_with("writer_function,reader_function,write_seq,"), "{list}");
    for same in [
        &["glob:f?lter,glob:prod*", "fir,multiply", "--group", "unused=main"][..],
        &["makes", "uses", "--group", "makes=produce,filter", "--group", "uses=fir,multiply"],
        &["makes,filter", "fir.c:fir, glob:mult?ply", "--group", "makes=produce"],
        // A group is meant before the function of its name.
        &["main", "fir,multiply", "--group", "main=produce", "--group", "main=filter"],
    ] {
        assert_eq!(flows(same), list);
    }
    // Of one function in a group it is the same as of that one.
    let one = flows(&["produce", "fir"]);
    assert_eq!(flows(&["makes", "fir", "--group", "makes=produce"]), one);
    assert!(one.starts_with("write_seq,"), "{one}");
    // What --sum was called, and is still.
    let sum = flows(&["produce", "fir", "--sum"]);
    assert_eq!(ok(&["flows", utf8(&db), "produce", "fir", "--format", "csv", "--group"]), sum);
    assert_eq!(flows(&["produce", "fir", "--group"]), sum);
    // All functions of the file, each to each.
    let bare = example("fir", "rows");
    let output = addfg(&["flows", utf8(&bare), "fir.c", "fir.c", "--limit", "0"]);
    let error = said(&output);
    assert!(
        output.status.success() && error.contains("not listed: ") && error.contains("--sum"),
        "{error}"
    );
    let own = "SELECT count(DISTINCT writer), sum(bytes) FROM function_dataflow JOIN function_symbol s ON s.name = writer
               JOIN source_name f USING (file_id) WHERE writer = reader AND f.name = 'fir.c'";
    let own = rows(&db, own).join("");
    let (functions, _) = own.split_once(',').unwrap();
    assert!(error.contains(&format!("both sets ({functions})")), "{own}: {error}");
    // Without an overlap nothing is left out.
    let output = addfg(&["flows", utf8(&db), "produce,filter", "fir,multiply"]);
    assert!(said(&output).is_empty(), "{}", said(&output));
    let refuse = |arguments: &[&str], word| {
        refused(&[&["flows", utf8(&db)], arguments].concat(), &[word]);
    };
    let own = ["fir", "fir", "--limit", "0"];
    let of = |detail: &str| ok(&[&["flows", utf8(&example("fir", detail))], &own[..]].concat());
    assert_eq!(of("pairs"), of("full"));
    refused(&["flows", utf8(&bare), "fir", "fir"], &["--detail full"]);
    refuse(&["produce", "fir,multiply", "--instance", "1"], "one function only");
    refuse(&["produce", "glob:f*#2"], "one function only");
    refuse(&["produce", "uses#1", "--group", "uses=fir,multiply"], "one function only");
    refuse(&["produce", "fir#99"], "fir");
    refuse(&["produce#1", "fir"], "a call of the writing function");
    refuse(&["produce", "fir#1", "--sum"], "over all calls");
    refuse(&["produce", "fir", "--group", "uses"], "NAME=FUNCTION,...");
    refuse(&["produce", "nothing*"], "nothing*");
    refuse(&["produce", "uses", "--group", "uses="], "no function");
}
