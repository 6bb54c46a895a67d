//! WET traces: the example of the format's page, every shape of a line, every kind of damage, and
//! all commands on such a database.

use crate::common::*;
use addfg::internals::trace::formats;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// The lines that the format's page prints of its example, as a trace.
const PAGE: &str = "3
1873 2 8048210 foo1.c main 4
SIZE 0
SIZE 0
NO VALUES
2113 2 8048225 foo1.c main 6
SIZE 0
SIZE 0
NO VALUES
2118 2 8048242 foo1.c main 8
SIZE 1
    0:1873 0
SIZE 1
    0:2113 0
VALUES 1
    0:2
";
const PAGE_HISTORY: &str = "0x8048242#0 --> 0x8048210#0\n0x8048242#0 --> 0x8048225#0\n";

fn fixture(name: &str) -> PathBuf {
    repository("tests/formats/wet").join(name)
}

/// Edges of a graph as `from to kind`, by name.
fn edges(db: &Path, more: &[&str]) -> Vec<String> {
    let mut arguments = vec!["graph", utf8(db), "--format", "json"];
    arguments.extend(more);
    let graph: serde_json::Value = serde_json::from_str(&ok(&arguments)).unwrap();
    let name = |id: &serde_json::Value| {
        let node = graph["nodes"].as_array().unwrap().iter().find(|n| n["id"] == *id).unwrap();
        node["name"].as_str().unwrap().to_owned()
    };
    let list = graph["edges"].as_array().unwrap();
    list.iter()
        .map(|e| {
            format!("{} -> {} {}", name(&e["from"]), name(&e["to"]), e["kind"].as_str().unwrap())
        })
        .collect()
}

const DEPENDENCES: &str =
    "SELECT d.kind, d.port, printf('%x', r.address), r.line, d.read_instance, printf('%x', w.address), w.line,
    d.write_instance FROM dependence d JOIN instruction w ON w.instruction_id = d.write_instruction_id
    JOIN instruction r ON r.instruction_id = d.read_instruction_id ORDER BY ALL";

#[test]
fn the_example_comes_out_as_its_page_explains_it() {
    let scratch = Scratch::new("wet-page");
    let whole = scratch.write("foo1.wet", PAGE);
    let history = scratch.write("foo1.history", PAGE_HISTORY);
    let mut sources = vec![(whole.clone(), history.clone())];
    // The same lines, as the file with the page has them.
    let spec = |kind: &str| elsewhere(&format!("wet/foo1-from-spec.{kind}.wet"));
    sources.extend(spec("comprehensive").zip(spec("limited")));
    for (whole, history) in sources {
        // Statement 8 is control dependent upon statement 4 and data dependent upon statement 6; it
        // computed 2.
        let (code, error, db) = build_in(&scratch, &[&whole], &[]);
        assert_eq!(code, 0, "{error}");
        assert_eq!(
            rows(&db, DEPENDENCES),
            ["control,0,8048242,8,0,8048210,4,0", "data,1,8048242,8,0,8048225,6,0"]
        );
        let values = "SELECT printf('%x', address), n.number, instance, value FROM instruction_value JOIN instruction USING (instruction_id)
                      JOIN instruction_number n USING (instruction_id)";
        assert_eq!(rows(&db, values), ["8048242,2118,0,2"]);
        let statements =
            "SELECT function, file, line, instructions, executions FROM statement ORDER BY ALL";
        assert_eq!(
            rows(&db, statements),
            ["main,foo1.c,4,1,1", "main,foo1.c,6,1,1", "main,foo1.c,8,1,1"]
        );
        let ports = "SELECT port, kind, dependences FROM use_port JOIN instruction_number USING (instruction_id) WHERE number = 2118 ORDER BY 1";
        assert_eq!(rows(&db, ports), ["0,control,1", "1,data,1"]);
        assert_eq!(
            edges(&db, &["--level", "line"]),
            ["foo1.c:4 -> foo1.c:8 control", "foo1.c:6 -> foo1.c:8 data"]
        );
        let at = |a: &str, line: u32| format!("0x{a}, foo1.c:{line}");
        let (a, b, c) = (at("8048210", 4), at("8048225", 6), at("8048242", 8));
        assert_eq!(
            edges(&db, &["--level", "instruction"]),
            [format!("{a} -> {c} control"), format!("{b} -> {c} data")]
        );
        assert_eq!(
            edges(&db, &["--level", "line", "--show", "data"]),
            ["foo1.c:6 -> foo1.c:8 data"]
        );
        // One function: what goes on inside it is local.
        let dot = ok(&["graph", utf8(&db)]);
        assert!(dot.contains("local 1 dependence<") && dot.contains("count dependences"), "{dot}");
        // The history has the same two dependences and does not say which is which.
        let (code, error, db) = build_in(&scratch, &[&history], &[]);
        assert_eq!(code, 0, "{error}");
        assert!(error.contains("of 2 dependences") && error.contains("--elf"), "{error}");
        assert_eq!(rows(&db, DEPENDENCES), [",,8048242,,0,8048210,,0", ",,8048242,,0,8048225,,0"]);
        assert_eq!(
            edges(&db, &["--level", "instruction"]),
            ["0x8048210 -> 0x8048242 data", "0x8048225 -> 0x8048242 data"]
        );
        // Together the one says what the other leaves open, and nothing counts twice.
        for traces in [[&whole, &history], [&history, &whole]] {
            let (code, error, db) = build_in(&scratch, &traces.map(PathBuf::as_path), &[]);
            assert_eq!((code, error.contains("warning")), (0, false), "{error}");
            assert_eq!(
                rows(&db, DEPENDENCES),
                ["control,0,8048242,8,0,8048210,4,0", "data,1,8048242,8,0,8048225,6,0"]
            );
        }
    }
}

/// What tables hold of a trace, for a snapshot.
fn contents(db: &Path) -> String {
    let mut out = String::new();
    for (name, sql) in [
        (
            "functions",
            "SELECT s.name, f.path, p.steps_self FROM function_profile p JOIN function_symbol s USING (function_id) LEFT JOIN source_file f USING (file_id) ORDER BY s.function_id",
        ),
        (
            "instructions",
            "SELECT instruction_id, n.number, printf('%x', address) AS address, line, executions FROM instruction LEFT JOIN instruction_number n USING (instruction_id) ORDER BY 1",
        ),
        (
            "dependences",
            "SELECT kind, port, write_instruction_id AS writer, write_instance, read_instruction_id AS reader, read_instance FROM dependence ORDER BY ALL",
        ),
        (
            "values",
            "SELECT instruction_id, instance, value, wide_value FROM instruction_value ORDER BY 1, 2",
        ),
        (
            "between functions",
            "SELECT writer, reader, transfers FROM function_dataflow ORDER BY ALL",
        ),
        (
            "problems",
            "SELECT severity, code, count, regexp_replace(first_position, '.*/', '') AS place, message FROM diagnostic ORDER BY code",
        ),
    ] {
        out += &format!("{name}\n{}\n", csv(db, sql));
    }
    out
}

#[test]
fn every_fixture_and_what_it_gave() {
    let scratch = Scratch::new("wet-fixtures");
    let settings = beside_formats();
    for name in [
        "good-comprehensive",
        "good-limited",
        "good-loose",
        "truncated-comprehensive",
        "truncated-limited",
        "damaged-comprehensive",
        "damaged-limited",
    ] {
        let path = fixture(&format!("{name}.wet"));
        let head = std::fs::read(&path).unwrap();
        for head in
            [head.clone(), String::from_utf8(head).unwrap().replace('\n', "\r\n").into_bytes()]
        {
            let found: Vec<_> = formats().filter(|f| f.sniff(&head)).map(|f| f.name()).collect();
            assert_eq!(found, ["wet"], "{name}");
        }
        let (code, error, db) = build_in(&scratch, &[&path], &[]);
        assert_eq!(code, i32::from(!name.starts_with("good")), "{name}: {error}");
        settings.bind(|| insta::assert_snapshot!(format!("wet-{name}"), contents(&db)));
        let (code, error, _) = build_in(&scratch, &[&path], &["--strict"]);
        assert_eq!(code, if name.starts_with("good") { 0 } else { 2 }, "{name}: {error}");
    }
}

#[test]
fn each_kind_of_damage_is_named_with_its_place() {
    let scratch = Scratch::new("wet-damage");
    let good = std::fs::read_to_string(fixture("good-comprehensive.wet")).unwrap();
    for (from, to, code, line) in [
        ("7\n10 1", "8\n10 1", "lost-blocks", 65),
        ("7\n10 1", "6\n10 1", "more-blocks", 65),
        ("7\n10 1", "10 1", "no-count", 1),
        ("    1:13 0\n", "", "short-list", 12),
        ("    1:13 0\n", "", "entry-order", 10),
        ("    1:13 0\n", "    1=13 0\n", "malformed-line", 10),
        ("    1:13 0\n", "    1:13 -1\n", "malformed-line", 10),
        ("    1:13 0\n", "    1:13 99999999999999999999\n", "malformed-line", 10),
        ("    0:4\n", "    0:4g\n", "malformed-line", 33),
        ("20 2 401100", "20 2 40110x", "malformed-line", 47),
        ("VALUES 1\n    0:0\n", "", "short-block", 5),
        ("10 1 401000", "10 2 401000", "port-count", 5),
        ("10 1 401000", "10 0 401000", "port-count", 3),
        ("VALUES 1\n    0:0\n", "VALUES 1\n    0:0\nSIZE 0\n", "stray-line", 7),
        ("VALUES 1\n    0:0\n", "VALUES 1\n    0:0\nNO VALUES\n", "stray-line", 7),
        ("SIZE 1\n    0:21 0\n", "    0:21 0\nSIZE 0\n", "stray-line", 3),
        ("12 3 401008", "11 3 401008", "double-block", 19),
        ("0:12 2", "0:77 2", "unknown-instruction", 65),
    ] {
        assert!(good.contains(from), "{from:?}");
        let path = scratch.write("damaged.wet", good.replacen(from, to, 1));
        let (exit, error, db) = build_in(&scratch, &[&path], &[]);
        let found = rows(&db, "SELECT code, first_position FROM diagnostic");
        let place = format!("{code},{}:{line}", path.display());
        assert!(found.contains(&place), "{from:?} to {to:?}: {found:?}, not {place}");
        let warned = matches!(code, "more-blocks" | "no-count");
        assert_eq!(exit, i32::from(!warned), "{from:?} to {to:?}: {error}");
        // What is not damaged is there.
        assert_eq!(
            rows(&db, "SELECT count(*) FROM instruction WHERE address = 4198696")[0],
            "1",
            "{from:?}"
        );
    }
    // Nothing but damage is refused, as is a second run.
    let path = scratch.write("nothing.wet", "Dear reader,\n");
    let (exit, error, _) = build_in(&scratch, &[&path], &["--format", "wet"]);
    assert!(exit == 2 && error.contains("addfg formats wet"), "{error}");
    let whole = fixture("good-comprehensive.wet");
    let second = scratch.copy(&whole, "second.wet");
    let (exit, error, _) = build_in(&scratch, &[&whole, &second], &[]);
    assert!(exit == 2 && error.contains("build a database of each"), "{error}");
}

#[test]
fn an_elf_file_names_functions_and_tells_kinds_apart() {
    let scratch = Scratch::new("wet-elf");
    let elf = repository("tests/data/demo/demo-rv64.elf");
    let elf = utf8(&elf);
    let [whole, history] = ["comprehensive", "limited"]
        .map(|kind| repository(&format!("tests/data/wet/demo-rv64.{kind}.wet")));
    let (code, error, db) = build_in(&scratch, &[&whole], &["--elf", elf]);
    assert_eq!((code, error.contains("warning")), (0, false), "{error}");
    // Every dependence and value of the file, counted here by other means.
    let file = std::fs::read_to_string(&whole).unwrap();
    let entries = |fields: usize| {
        file.lines()
            .filter(|l| l.starts_with(' ') && l.split_whitespace().count() == fields)
            .count()
    };
    assert_eq!(rows(&db, "SELECT count(*) FROM dependence"), [entries(2).to_string()]);
    assert_eq!(rows(&db, "SELECT count(*) FROM instruction_value"), [entries(1).to_string()]);
    assert_eq!(
        rows(&db, "SELECT count(*) FROM instruction WHERE text IS NULL OR size IS NULL"),
        ["0"]
    );
    let kinds = "SELECT kind, printf('%x', r.address), read_instance, printf('%x', w.address), write_instance
                 FROM dependence JOIN instruction r ON r.instruction_id = read_instruction_id
                 JOIN instruction w ON w.instruction_id = write_instruction_id";
    let truth = rows(&db, kinds);
    // Of the history alone, what a jump or a plain instruction gives is told; never wrongly.
    let (code, error, db) = build_in(&scratch, &[&history], &["--elf", elf]);
    assert_eq!(code, 0, "{error}");
    let told = rows(&db, &format!("{kinds} WHERE kind IS NOT NULL"));
    let wrong: Vec<_> = told.iter().filter(|row| !truth.contains(row)).collect();
    println!("{} of {} dependences told apart", told.len(), truth.len());
    assert!(told.len() * 2 > truth.len() && wrong.is_empty(), "{wrong:?}");
    // The history is the whole run here: nothing new.
    let (code, error, db) = build_in(&scratch, &[&whole, &history], &[]);
    assert_eq!((code, error.contains("warning")), (0, false), "{error}");
    assert_eq!(rows(&db, "SELECT count(*) FROM dependence"), [truth.len().to_string()]);
    // Another program is refused; other names and lines are said.
    let other = repository("examples/fir/fir");
    let (code, error, _) = build_in(&scratch, &[&whole], &["--elf", other.to_str().unwrap()]);
    assert!(code == 2 && error.contains("fall in no function"), "{code}: {error}");
    let path = scratch.write("other.wet", file.replace(" demo.c main ", " demo.c mine "));
    let (code, error, _) = build_in(&scratch, &[&path], &["--elf", elf]);
    assert!(code == 0 && error.contains("is in mine, the ELF file in main"), "{code}: {error}");
    // Another build, its lines moved, is refused.
    let moved = file.lines().map(|line| match line.rsplit_once(' ') {
        Some((head, line)) if head.contains(" demo.c ") => {
            format!("{head} {}\n", line.parse::<u32>().expect("a line") + 1)
        }
        _ => format!("{line}\n"),
    });
    let path = scratch.write("moved.wet", moved.collect::<String>());
    let (code, error, _) = build_in(&scratch, &[&path], &["--elf", elf]);
    assert!(
        code == 2 && error.contains("of other lines") && error.contains("--force-elf"),
        "{error}"
    );
    let (code, error, _) = build_in(&scratch, &[&path], &["--elf", elf, "--force-elf"]);
    assert_eq!(code, 0, "{error}");
}

#[test]
fn every_command_says_what_it_can() {
    let scratch = Scratch::new("wet-commands");
    let (_, _, db) = build_in(&scratch, &[&fixture("good-comprehensive.wet")], &[]);
    let db = utf8(&db);
    for (arguments, words) in [
        (&["info"][..], &["dependences between instances", "values", "no calls and instances"][..]),
        (&["graph"], &["sum", "main", "fill"]),
        (&["graph", "--level", "file"], &["sum.c"]),
        (&["graph", "--level", "image"], &["no image"]),
        (&["graph", "--level", "line", "--focus", "sum"], &["sum.c:4"]),
        (&["graph", "--expand", "sum"], &["sum.c:5"]),
        (&["graph", "--strategy", "top-down"], &["digraph"]),
        (&["flows", "fill", "sum"], &["data", "0x401100", "0x401008", "0x5"]),
        (&["flows", "fill", "sum", "--sum"], &["data", "3"]),
        (&["matrix"], &["fill"]),
        (&["verify"], &["not applicable", "no steps"]),
        (&["sql", "FROM statement"], &["sum.c"]),
        // 22 depends on 12#2, that on 12#1 and 20#2, and so on to 10#0: the data that the sum was
        // made of, and nothing else.
        (
            &["slice", "--at", "my main.c:21#0"],
            &["criterion", "0x401100", "0x401000", "0xf", "0x9", "0x4"],
        ),
        (&["slice", "--at", "0x401008#1", "--control"], &["control", "0x40100c"]),
        (&["slice", "--at", "0x401100#1", "--forward"], &["0x401128", "sum.c:5"]),
    ] {
        let mut all = vec![arguments[0], db];
        all.extend(&arguments[1..]);
        let text = ok(&all);
        for word in words {
            assert!(text.contains(word), "{arguments:?}: {word:?} is not in {text}");
        }
    }
    let recorder = ["addfg record -- ./app"];
    for arguments in [
        &["graph", "--level", "block"][..],
        &["graph", "--level", "loop"],
        &["graph", "--level", "step", "--range", "1..2"],
        &["graph", "--level", "instance"],
        &["graph", "--level", "context"],
        &["graph", "--level", "thread"],
        &["graph", "--level", "line", "--show", "jumps"],
        &["loops"],
        &["calls"],
        &["calls", "--tree"],
        &["calls", "--timeline"],
        &["instances", "sum"],
        &["memory"],
        &["memory", "--show", "functions"],
        &["critical"],
        &["graph", "--strategy", "bottom-up"],
    ] {
        let mut all = vec![arguments[0], db];
        all.extend(&arguments[1..]);
        refused(&all, &recorder);
    }
    let slice = |more: &[&str]| {
        let mut all = vec!["slice", db, "--format", "csv"];
        all.extend(more);
        ok(&all)
            .lines()
            .skip(1)
            .map(|l| l.split(',').nth(3).unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    // The last instance of line 21 depends on none; its first on all three rounds.
    assert_eq!(slice(&["--at", "my main.c:21#1"]), ["0x401128"]);
    assert_eq!(slice(&["--at", "my main.c:21#0"]).len(), 8);
    assert_eq!(slice(&["--at", "my main.c:21#0", "--depth", "1"]), ["0x401128", "0x401008"]);
    refused(&["slice", db, "--at", "7"], &["0xADDRESS or FILE:LINE"]);
    // Two runs.
    let before = std::fs::read_to_string(fixture("good-comprehensive.wet")).unwrap();
    let other = scratch.path("other.duckdb");
    let changed = scratch.write(
        "changed.wet",
        before.replace(
            "SIZE 3\n    0:20 0\n    1:20 1\n    2:20 2\n",
            "SIZE 2\n    0:20 0\n    1:20 1\n",
        ),
    );
    assert_eq!(build(&other, &[&changed], &[]).0, 0);
    let diff = ok(&["diff", db, utf8(&other)]);
    assert!(diff.contains("dependence") && diff.contains("shrunk"), "{diff}");
    // Sums alone.
    let (code, error, small) =
        build_in(&scratch, &[&fixture("good-comprehensive.wet")], &["--detail", "summary"]);
    assert_eq!(code, 0, "{error}");
    assert_eq!(
        rows(
            &small,
            "SELECT (SELECT count(*) FROM dependence), (SELECT count(*) > 0 FROM dependence_edge)"
        ),
        ["0,true"]
    );
    assert!(edges(&small, &["--level", "line"]).iter().any(|e| e.ends_with("control")));
}

#[test]
fn hostile_traces_are_loaded_or_refused() {
    let scratch = Scratch::new("wet-hostile");
    let good = std::fs::read_to_string(fixture("good-comprehensive.wet")).unwrap();
    for hostile in [
        good.replace("SIZE 4", "SIZE 18446744073709551615"),
        good.replace("3:13 2", "18446744073709551615:13 2"),
        good.replace("3:13 2", "3:13 9223372036854775807"),
        good.replace("10 1 401000", "18446744073709551615 18446744073709551615 ffffffffffffffff"),
        good.replace("sum.c sum 3", "sum.c \u{1b}[31m\u{202e}<b>\"; DROP TABLE dependence 3"),
        good.replace("2:f", &format!("2:{}", "f".repeat(10_000))),
        format!("1\n1 1 0\n{}", "SIZE 0\n".repeat(70_000)),
    ] {
        let path = scratch.write("hostile.wet", &hostile);
        let (code, error, db) = build_in(&scratch, &[&path], &[]);
        assert!((0..=1).contains(&code), "{code}: {error}");
        assert!(!error.contains("panicked"), "{error}");
        let dot = ok(&["graph", utf8(&db), "--level", "line"]);
        assert!(!dot.contains('\u{1b}'));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_fixtures_never_panic(which in 0usize..3, changes in prop::collection::vec(any::<(u16, u8, u8)>(), 1..8)) {
        let scratch = Scratch::new("wet-mutated");
        let mut bytes = std::fs::read(fixture(["good-comprehensive.wet", "good-limited.wet", "good-loose.wet"][which])).unwrap();
        for (place, kind, byte) in changes {
            let at = place as usize % bytes.len();
            match kind % 4 {
                0 => bytes[at] = b"0123456789abcdef:# \n->SZ"[byte as usize % 24],
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, byte),
                _ => {
                    let end = bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |e| at + e + 1);
                    bytes.drain(at..end);
                    bytes.push(b'\n');
                }
            }
        }
        let path = scratch.write("mutated.wet", &bytes);
        let (code, error, _) = build_in(&scratch, &[&path], &["--format", "wet"]);
        prop_assert!((0..=2).contains(&code) && !error.contains("panicked"), "{}: {}", code, error);
    }
}
