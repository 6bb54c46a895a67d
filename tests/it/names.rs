//! What is the program's is told by its image and its source, never by a name: programs whose functions,
//! namespaces and libraries have unlucky names give the answers of those with lucky ones.

use crate::common::*;
use crate::record::record;
use addfg::internals::graph::{BoxRole, Facts, Folding, Overview};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How `tests/programs/names.c` is compiled.
#[derive(Clone, Copy)]
struct Made {
    compiler: &'static str,
    /// Of the four stages.
    names: [&'static str; 4],
    /// C++ namespace.
    space: Option<&'static str>,
    /// The library that the stages are in: `.so` is linked dynamically, `.a` statically.
    library: Option<&'static str>,
    flags: &'static [&'static str],
}

const LUCKY: [&str; 4] = ["fill", "spread", "arrange", "digest"];
const UNLUCKY: [[&str; 4]; 2] =
    [["init", "main_loop", "free_list", "memcpy_fast"], ["read", "write", "send", "start"]];
const PLAIN: Made =
    Made { compiler: "gcc", names: LUCKY, space: None, library: None, flags: &["-g"] };
const CXX: Made = Made { compiler: "g++", space: Some("stages"), ..PLAIN };
const SHARED: Made = Made { library: Some("libstages.so"), ..PLAIN };
const ARCHIVE: Made = Made { library: Some("libstages.a"), flags: &[], ..PLAIN };
// Without debugging information, and the C library in the same file.
const STATIC: Made = Made { flags: &["-static"], ..PLAIN };
const STATIC_CXX: Made = Made { flags: &["-static"], ..CXX };
const STATIC_ARCHIVE: Made = Made { flags: &["-static"], ..ARCHIVE };
const SHARED_CXX: Made = Made { library: Some("libstages.so"), flags: &[], ..CXX };
const STATIC_ARCHIVE_CXX: Made = Made { library: Some("libstages.a"), flags: &["-static"], ..CXX };

/// Lucky programs, and the unlucky ones that are to be like them.
const PROGRAMS: [(Made, &[Made]); 9] = [
    (
        PLAIN,
        &[
            Made { names: ["init", "free_list", "init_x", "send"], ..PLAIN },
            Made { names: ["read", "write", "start", "memcpy_fast"], ..PLAIN },
            Made { names: ["init_table", "clone_x", "exit_x", "main_loop"], ..PLAIN },
            Made { names: ["clone", "start_thread", "call_init", "fini"], ..PLAIN },
            Made { names: ["fread_all", "brk", "tcache_fill", "overflow"], flags: &[], ..PLAIN },
        ],
    ),
    (
        CXX,
        &[
            Made { space: Some("core"), names: ["init", "exit_x", "start", "write"], ..CXX },
            Made { space: Some("alloc"), flags: &[], ..CXX },
            Made { space: Some("stdx"), flags: &[], ..CXX },
        ],
    ),
    (
        SHARED,
        &[
            Made { library: Some("librtmp.so.1"), names: UNLUCKY[1], ..SHARED },
            Made { library: Some("libc-client.so.2007"), names: UNLUCKY[0], flags: &[], ..SHARED },
        ],
    ),
    (
        SHARED_CXX,
        &[
            Made { library: Some("librtmp.so.1"), space: Some("core"), ..SHARED_CXX },
            Made { names: UNLUCKY[1], space: Some("std_"), ..SHARED_CXX },
        ],
    ),
    (
        ARCHIVE,
        &[
            Made { library: Some("librtmp.a"), names: UNLUCKY[0], ..ARCHIVE },
            Made { library: Some("libc-client.a"), names: UNLUCKY[1], ..ARCHIVE },
        ],
    ),
    (
        STATIC,
        &[
            Made { names: ["init_x", "free_list", "memcpy_fast", "start_x"], ..STATIC },
            Made { names: UNLUCKY[0], ..STATIC },
            Made { names: UNLUCKY[1], ..STATIC },
            Made { names: ["clone", "start_thread", "call_init", "sysmalloc"], ..STATIC },
            Made { names: ["_IO_fill_x", "_dl_spread_x", "__libc_x", "_nl_digest_x"], ..STATIC },
        ],
    ),
    (
        STATIC_CXX,
        &[
            Made { names: UNLUCKY[0], space: Some("core"), ..STATIC_CXX },
            Made { names: UNLUCKY[1], space: Some("std_"), ..STATIC_CXX },
        ],
    ),
    (
        STATIC_ARCHIVE,
        &[
            Made { library: Some("librtmp.a"), names: UNLUCKY[0], ..STATIC_ARCHIVE },
            Made { library: Some("libc-client.a"), names: UNLUCKY[1], ..STATIC_ARCHIVE },
        ],
    ),
    (
        STATIC_ARCHIVE_CXX,
        &[
            Made { library: Some("librtmp.a"), space: Some("alloc"), ..STATIC_ARCHIVE_CXX },
            Made { names: UNLUCKY[1], space: Some("stdx"), ..STATIC_ARCHIVE_CXX },
        ],
    ),
];

impl Made {
    fn make(&self, scratch: &Scratch, name: &str) -> PathBuf {
        let source = repository("tests/programs/names.c");
        let mut flags = vec!["-O1".to_owned(), "-x".into()];
        flags.push(if self.compiler == "g++" { "c++" } else { "c" }.into());
        flags.extend(self.flags.iter().map(|&flag| flag.to_owned()));
        flags
            .extend(["A", "B", "C", "D"].iter().zip(self.names).map(|(a, b)| format!("-D{a}={b}")));
        flags.extend(self.space.map(|space| format!("-DSPACE={space}")));
        let gcc = |more: &[&str]| {
            let made = Command::new(self.compiler).args(&flags).args(more).status();
            assert!(made.expect("a compiler").success());
        };
        let to = scratch.path(name);
        match self.library {
            None => gcc(&[utf8(&source), "-o", utf8(&to)]),
            Some(library) if library.ends_with(".a") => {
                let (library, object) = (scratch.path(library), scratch.path("stages.o"));
                gcc(&["-DPART=1", "-c", utf8(&source), "-o", utf8(&object)]);
                let _ = std::fs::remove_file(&library);
                let ar = Command::new("ar").args(["rc", utf8(&library), utf8(&object)]).status();
                assert!(ar.expect("ar").success());
                gcc(&["-DPART=2", utf8(&source), "-o", utf8(&to), "-xnone", utf8(&library)]);
            }
            Some(library) => {
                let library = scratch.path(library);
                gcc(&["-DPART=1", "-shared", "-fPIC", utf8(&source), "-o", utf8(&library)]);
                gcc(&["-DPART=2", utf8(&source), "-o", utf8(&to), "-xnone", utf8(&library)]);
            }
        }
        to
    }

    /// A name of a box with that of a stage as its letter.
    fn letter(&self, name: &str) -> String {
        let last = name.rsplit("::").next().unwrap_or(name);
        match self.names.iter().position(|&stage| stage == last) {
            Some(at) => ["A", "B", "C", "D"][at].to_owned(),
            None => name.to_owned(),
        }
    }

    /// Boxes with their shares of the steps, and arrows between them with their bytes.
    fn picture(&self, of: &Overview) -> BTreeSet<String> {
        let name = |i: usize| {
            let part = &of.parts[i];
            format!("{:?} {}", part.role, self.letter(&part.name))
        };
        let share = |steps: i64| steps * 20 / of.steps;
        let boxes =
            (0..of.parts.len()).map(|i| format!("{} {}/20", name(i), share(of.parts[i].steps)));
        // How much main reads of constants depends on the length of names.
        let exact = |i: usize| of.parts[i].role == BoxRole::Function && of.parts[i].name != "main";
        let lines = of.lines.iter().map(|l| match exact(l.from) && exact(l.to) {
            true => format!("{} -> {}: {}", name(l.from), name(l.to), l.there),
            false => format!("{} -> {}", name(l.from), name(l.to)),
        });
        boxes.chain(lines).collect()
    }
}

fn overview(db: &Path) -> Overview {
    let db = open(db);
    let facts = Facts::find(&db).expect("facts");
    Folding::read(&db, facts).expect("folding").expect("steps").overview()
}

fn can_record() -> bool {
    ["valgrind", "gcc", "g++", "pkg-config"].iter().all(|tool| have(tool))
}

#[test]
fn pictures_do_not_depend_on_names() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("names");
    let input = scratch.write("numbers", (0..5000u32).map(|n| (n * n) as u8).collect::<Vec<_>>());
    for (group, (lucky, unlucky)) in PROGRAMS.iter().enumerate() {
        let draw = |number: usize, made: &Made| -> [BTreeSet<String>; 2] {
            let program = made.make(&scratch, &format!("p{group}{number}"));
            let path = |end: &str| scratch.path(&format!("p{group}{number}.{end}"));
            let (stream, summary, pairs) = (path("stream"), path("summary"), path("pairs"));
            let options = ["-q", "--detail", "summary", "--keep", utf8(&stream)];
            let options = [&options[..], &["-o", utf8(&summary)]].concat();
            let output = record(&options, &[utf8(&program), utf8(&input)]);
            assert!(output.status.success(), "{}", said(&output));
            ok(&["build", "-q", utf8(&stream), "-o", utf8(&pairs)]);
            [summary, pairs].map(|db| made.picture(&overview(&db)))
        };
        let expected = draw(0, lucky);
        for picture in &expected {
            for stage in ["A", "B", "C", "D"] {
                let begin = format!("Function {stage} ");
                let found = picture.iter().any(|line| line.starts_with(&begin));
                assert!(found, "{group} {stage}: {picture:#?}");
            }
            assert!(picture.contains("Source numbers -> Function A"), "{group}: {picture:#?}");
        }
        for (i, made) in unlucky.iter().enumerate() {
            let found = draw(i + 1, made);
            assert_eq!(expected, found, "{:?} {:?} {:?}", made.names, made.space, made.library);
        }
    }
}

/// Functions of a C library that is linked statically and has no sources are its own by their place, whatever
/// they are called; the program's are the program's.
#[test]
fn a_static_c_library_is_known_by_its_place() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("static");
    let input = scratch.write("numbers", vec![7u8; 5000]);
    for (i, made) in [STATIC, STATIC_CXX, STATIC_ARCHIVE].into_iter().enumerate() {
        let made = Made { names: UNLUCKY[1], ..made };
        let program = made.make(&scratch, &format!("static{i}"));
        let db = scratch.path(&format!("static{i}.duckdb"));
        let options = ["-q", "--detail", "summary", "-o", utf8(&db)];
        let output = record(&options, &[utf8(&program), utf8(&input)]);
        assert!(output.status.success(), "{}", said(&output));
        let own = "SELECT name FROM function_symbol JOIN function_profile USING (function_id)
                   WHERE owner = 'program' AND kind = 'function' ORDER BY name";
        let name = |stage: &str| match made.space {
            Some(space) => format!("{space}::{stage}"),
            None => stage.to_owned(),
        };
        let bare = |name: String| {
            // CSV quotes names with commas.
            let name = name.trim_start_matches('"');
            name.split(['(', ' ']).next().unwrap_or_default().to_owned()
        };
        let of_program: BTreeSet<String> = rows(&db, own).into_iter().map(bare).collect();
        let mut expected: BTreeSet<String> = made.names.iter().map(|stage| name(stage)).collect();
        expected.insert("main".to_owned());
        assert_eq!(of_program, expected);
    }
}

/// Start-up, end and the dynamic linker are in no list that a person asks for of the program, and what
/// is left out is said.
#[test]
fn start_up_is_left_out_and_said() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("start-up");
    let program = PLAIN.make(&scratch, "plain");
    let input = scratch.write("numbers", vec![7u8; 5000]);
    let db = scratch.path("plain.duckdb");
    let output = record(&["-q", "-o", utf8(&db)], &[utf8(&program), utf8(&input)]);
    assert!(output.status.success(), "{}", said(&output));
    let system = ["_dl_relocate_object", "__GI___tunables_init", "_dl_lookup_symbol_x", "_start"];
    let of_linker: Vec<String> =
        rows(&db, "SELECT name FROM function_symbol WHERE owner = 'linker'");
    for command in [
        &["sql", utf8(&db), "@hot_functions", "0"][..],
        &["sql", utf8(&db), "@dead_writes", "0"],
        &["sql", utf8(&db), "@hot_calls", "0"],
        &["loops", utf8(&db), "--limit", "0"],
        &["plan", utf8(&db), "--least", "0.01", "--limit", "0"],
    ] {
        let output = addfg(&[command, &["--format", "csv"]].concat());
        let (text, told) = (printed(&output), said(&output));
        assert!(output.status.success(), "{told}");
        // Of calls what is called: who calls main is start-up's.
        let column = usize::from(command[2] == "@hot_calls") + usize::from(command[0] == "plan");
        let listed: BTreeSet<&str> =
            text.lines().skip(1).filter_map(|line| line.split(',').nth(column)).collect();
        let names = of_linker.iter().map(String::as_str).chain(system);
        let left: Vec<&str> = names.filter(|name| listed.contains(name)).collect();
        assert!(left.is_empty(), "{command:?}: {left:?}");
        assert!(told.contains("% of the steps are left out"), "{command:?}: {told}");
        let all = match command[0] {
            "sql" => [command, &["all"]].concat(),
            _ => [command, &["--start-up"]].concat(),
        };
        let output = addfg(&[&all[..], &["--format", "csv"]].concat());
        assert!(printed(&output).contains("_dl_relocate_object"), "{all:?}: {}", printed(&output));
        assert!(!said(&output).contains("left out"), "{all:?}: {}", said(&output));
    }
    // As much as the picture leaves out, but for what of it functions of the program use, too.
    let share = rows(
        &db,
        "SELECT round(100.0 * sum(steps) FILTER (entirely) / (SELECT sum(steps_self) FROM function_profile), 1),
                round(100.0 * sum(steps) / (SELECT sum(steps_self) FROM function_profile), 1) FROM start_up",
    );
    let [least, most] =
        share[0].split(',').map(|n| n.parse::<f64>().unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("{share:?}")
    };
    let drawn = overview(&db);
    let drawn = 100.0 * drawn.start_up as f64 / drawn.steps as f64;
    assert!(least > 1.0 && least <= most, "{share:?}");
    assert!((drawn - most).abs() < 1.0, "the picture leaves out {drawn} %, lists {share:?}");
}

/// Where sums do not tell for whom a function that several call works, it is drawn by itself or not at
/// all: nobody is said to have written what others wrote.
#[test]
fn sums_by_function_give_nobody_the_bytes_of_others() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("shared");
    let program = scratch.path("shared");
    let flags = ["-O1", "-g", "-fno-builtin", "-o", utf8(&program)];
    let source = repository("tests/programs/shared.c");
    assert!(Command::new("gcc").args(flags).arg(source).status().expect("gcc").success());
    // By context, who read what of whom.
    let mut known: BTreeSet<(String, String)> = BTreeSet::new();
    let mut boxes = Vec::new();
    for detail in ["pairs", "summary"] {
        let db = scratch.path(&format!("{detail}.duckdb"));
        let output = record(&["-q", "--detail", detail, "-o", utf8(&db)], &[utf8(&program)]);
        assert!(output.status.success() || output.status.code() == Some(1), "{}", said(&output));
        if detail == "summary" {
            change(&db, "DELETE FROM stack_edge");
        }
        let drawn = overview(&db);
        let ends =
            |from: usize, to: usize| (drawn.parts[from].name.clone(), drawn.parts[to].name.clone());
        let mut lines = BTreeSet::new();
        for line in &drawn.lines {
            lines.extend((line.there > 0.0).then(|| ends(line.from, line.to)));
            lines.extend((line.back > 0.0).then(|| ends(line.to, line.from)));
        }
        let functions = drawn.parts.iter().filter(|p| p.role == BoxRole::Function);
        boxes.push(functions.map(|p| (p.name.clone(), p.steps)).collect::<BTreeSet<_>>());
        if detail == "pairs" {
            assert!(lines.contains(&("early".into(), "late".into())), "{lines:?}");
            assert!(drawn.parts.iter().all(|p| p.role != BoxRole::Helper), "{:?}", drawn.parts);
            known = lines;
            continue;
        }
        // Both copy with memcpy: what it wrote is its own.
        let of_helpers =
            |name: &str| drawn.parts.iter().any(|p| p.name == name && p.role == BoxRole::Helper);
        let told: Vec<_> = lines.iter().filter(|(a, b)| !of_helpers(a) && !of_helpers(b)).collect();
        assert!(told.iter().all(|pair| known.contains(pair)), "{told:?} beside {known:?}");
        assert!(drawn.parts.iter().any(|p| p.role == BoxRole::Helper), "{:?}", drawn.parts);
    }
    assert_eq!(boxes[0], boxes[1], "the same boxes with the same steps");
}

/// The headline of a plan is of all that moves as one set.
#[test]
fn a_plan_counts_what_its_sets_share_once() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("plan-shared");
    let program = scratch.path("shared");
    let source = repository("tests/programs/shared.c");
    let flags = ["-O1", "-g", "-o", utf8(&program)];
    assert!(Command::new("gcc").args(flags).arg(source).status().expect("gcc").success());
    let db = scratch.path("shared.duckdb");
    let output = record(&["-q", "-o", utf8(&db)], &[utf8(&program)]);
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", said(&output));
    let free = ["--link", "1000GB/s,0ns", "--code", "100"];
    let plan = |more: &[&str]| printed(&addfg(&[&["plan", utf8(&db)][..], &free, more].concat()));
    let text = plan(&[]);
    let headline = text.lines().next().unwrap_or_default().to_owned();
    let figures = |line: &str| -> Vec<f64> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let before = |(i, _): (usize, &&str)| words[i - 1].parse::<f64>().ok();
        words.iter().enumerate().filter(|(_, word)| **word == "%").filter_map(before).collect()
    };
    let [steps, gain] = figures(&headline)[..] else { panic!("{headline}") };
    let csv = plan(&["--format", "csv", "--limit", "0"]);
    let moved: Vec<Vec<&str>> =
        csv.lines().filter(|l| l.starts_with("yes,")).map(|l| l.split(',').collect()).collect();
    let sum: f64 = moved.iter().map(|row| row[5].parse::<f64>().expect("a share")).sum();
    assert!(moved.len() > 1 && sum > 110.0, "the sets share what they call: {csv}");
    assert!(steps <= 100.0 && gain <= 100.0, "{headline}");
    let names: Vec<&str> = moved.iter().map(|row| row[1]).collect();
    let whole = plan(&["--set", &names.join(",")]);
    assert_eq!(
        figures(whole.lines().next().unwrap_or_default()),
        [steps, gain],
        "{headline}\n{whole}"
    );
}

/// The last name of a C++ function is enough, and tables show it short.
#[test]
fn the_last_name_of_a_function_is_enough() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("words");
    let program = scratch.path("words");
    let source = repository("tests/programs/words.cpp");
    let flags = ["-O1", "-g", "-o", utf8(&program)];
    assert!(Command::new("g++").args(flags).arg(source).status().expect("g++").success());
    let db = scratch.path("words.duckdb");
    let output = record(&["-q", "-o", utf8(&db)], &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    let db = utf8(&db);
    let whole = rows(
        Path::new(db),
        "SELECT name FROM function_symbol WHERE name LIKE 'words::count[abi:cxx11](%'",
    );
    assert_eq!(whole.len(), 1, "{whole:?}");
    for name in ["count", "words::count"] {
        let by_last = ok(&["sql", db, "@readers_of", name, "--format", "csv"]);
        assert!(by_last.contains("main,"), "{by_last}");
        let written = ok(&["sql", db, "@calls_of", name, "--format", "csv"]);
        assert!(written.contains("words::count[abi:cxx11]("), "{written}");
        ok(&["graph", db, "--focus", name, "--format", "dot"]);
        ok(&["flows", db, name, "main", "--sum"]);
        ok(&["instances", db, name]);
        ok(&["loops", db, "--function", name]);
        ok(&["objects", db, "--functions", name]);
        ok(&["cut", db, name]);
        ok(&["plan", db, "--set", name]);
    }
    ok(&["sql", db, "@calls_of", "Table::add"]);
    // A name of several is refused with their list, one of none with what is like it.
    refused(
        &["sql", db, "@calls_of", "string"],
        &["`string` may be any of", "std::string::string("],
    );
    refused(&["sql", db, "@calls_of", "coun"], &["no function is named `coun`", "words::count"]);
    let table = ok(&["sql", db, "@hot_functions", "0"]);
    let row = table.lines().find(|line| line.contains("words::count")).unwrap_or("none");
    assert!(row.starts_with(" words::count ") && !row.contains("abi:"), "{row}");
    let csv = ok(&["sql", db, "@hot_functions", "0", "--format", "csv"]);
    assert!(csv.contains("words::count[abi:cxx11]("), "{csv}");
    for table in
        [ok(&["diff", db, db, "--all", "--limit", "0"]), ok(&["objects", db, "--limit", "0"])]
    {
        // What the compiler makes for classes of `char` and `wchar_t` would have one short name.
        let made = |line: &&str| line.contains("{v") || line.contains("typeinfo for");
        let is_long = |line: &&str| line.contains("std::allocator<") && !made(line);
        let long: Vec<&str> = table.lines().filter(is_long).collect();
        assert!(long.is_empty() && table.contains("words::count"), "{long:#?}");
    }
}

/// A row of `objects --functions F` is of F.
#[test]
fn objects_of_a_function_are_its_rows() {
    let db = example("jpeg", "pairs");
    let one = [
        "objects",
        utf8(&db),
        "--functions",
        "stbi__idct_block",
        "--limit",
        "0",
        "--format",
        "csv",
    ];
    for more in [&[][..], &["--fields"]] {
        let text = ok(&[&one[..], more].concat());
        let at = text.lines().next().unwrap().split(',').position(|c| c == "function").unwrap();
        let of: BTreeSet<&str> =
            text.lines().skip(1).map(|l| l.split(',').nth(at).unwrap()).collect();
        assert_eq!(of, BTreeSet::from(["stbi__idct_block"]), "{text}");
    }
}

/// Two builds of a program are compared though their files have other names.
#[test]
fn the_program_of_two_builds_is_one() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("builds");
    let input = scratch.write("numbers", vec![7u8; 5000]);
    let db = |name: &str| {
        let program = PLAIN.make(&scratch, name);
        let db = scratch.path(&format!("{name}.duckdb"));
        let output = record(&["-q", "-o", utf8(&db)], &[utf8(&program), utf8(&input)]);
        assert!(output.status.success(), "{}", said(&output));
        db
    };
    let (old, new) = (db("app-1.0"), db("app-2.0"));
    let text = ok(&["diff", utf8(&old), utf8(&new), "--format", "csv", "--limit", "0", "--all"]);
    let apart: Vec<&str> = text.lines().filter(|l| l.contains("app-1.0")).collect();
    assert!(apart.is_empty(), "{apart:#?}");
    let sections: Vec<&str> = text.lines().filter(|l| l.starts_with("data,<image .")).collect();
    assert!(!sections.is_empty(), "{text}");
    // Nor are functions that each image has told apart by their addresses.
    assert!(!text.contains("(@0x"), "{text}");
    for line in
        sections.iter().chain(&text.lines().filter(|l| l.contains("(app-2.0)")).collect::<Vec<_>>())
    {
        assert!(!line.contains(",gone,") && !line.contains(",added,"), "{line}");
    }
}

/// What system calls moved is told at every detail.
#[test]
fn system_calls_are_told_at_summary() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("calls-summary");
    let program = PLAIN.make(&scratch, "plain");
    let input = scratch.write("numbers", vec![7u8; 5000]);
    for detail in ["summary", "instance"] {
        let db = scratch.path(&format!("{detail}.duckdb"));
        let options = ["-q", "--detail", detail, "-o", utf8(&db)];
        let output = record(&options, &[utf8(&program), utf8(&input)]);
        assert!(output.status.success(), "{}", said(&output));
        let calls = ok(&["sql", utf8(&db), "@system_calls", "0", "--format", "csv"]);
        let read = calls.lines().find(|l| l.starts_with("read,<read: numbers>,")).unwrap_or("none");
        let bytes: u64 = read.split(',').nth(3).and_then(|n| n.parse().ok()).unwrap_or(0);
        assert!((4096..=5000).contains(&bytes), "{calls}");
    }
}

/// Two programs, recorded by two tools, are not taken for one run.
#[test]
fn recordings_of_two_tools_are_no_run() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("two-tools");
    let program = PLAIN.make(&scratch, "plain");
    let input = scratch.write("numbers", vec![7u8; 5000]);
    let (db, stream) = (scratch.path("one.duckdb"), scratch.path("one.stream"));
    let options = ["-q", "-o", utf8(&db), "--keep", utf8(&stream)];
    let output = record(&options, &[utf8(&program), utf8(&input)]);
    assert!(output.status.success(), "{}", said(&output));
    let log = repository("examples/fir/fir.log.xz");
    let both = scratch.path("both.duckdb");
    for order in [[utf8(&log), utf8(&stream)], [utf8(&stream), utf8(&log)]] {
        refused(
            &[&["build"][..], &order, &["-o", utf8(&both), "-q"]].concat(),
            &["lackey", "stream", "not traces of the same run", "build a database of each"],
        );
    }
    assert!(!both.exists());
}

/// A thread that is no box is counted with `main`, and what it reads is drawn.
#[test]
fn what_a_thread_reads_is_an_input() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("reader");
    let program = scratch.path("reader");
    let source = repository("tests/programs/reader.c");
    let flags = ["-O1", "-g", "-pthread", "-o", utf8(&program)];
    assert!(Command::new("gcc").args(flags).arg(source).status().expect("gcc").success());
    let input = scratch.write("key.song", vec![3u8; 64]);
    for detail in ["summary", "pairs"] {
        let db = scratch.path(&format!("{detail}.duckdb"));
        let options = ["-q", "--detail", detail, "-o", utf8(&db)];
        let output = record(&options, &[utf8(&program), utf8(&input)]);
        assert!(output.status.success(), "{}", said(&output));
        let drawn = overview(&db);
        let names: Vec<&str> = drawn.parts.iter().map(|p| p.name.as_str()).collect();
        assert!(!names.contains(&"reader"), "it has too few steps to be a box: {names:?}");
        let source = names.iter().position(|name| *name == "key.song");
        let source = source.unwrap_or_else(|| panic!("{detail}: no input in {names:?}"));
        let main = names.iter().position(|name| *name == "main").expect("main");
        let reads = drawn.lines.iter().any(|l| (l.from, l.to) == (source, main) && l.there == 64.0);
        assert!(reads, "{detail}: {names:?} {:?}", drawn.lines);
        let all: i64 = drawn.parts.iter().map(|p| p.steps).sum();
        assert_eq!(all + drawn.start_up, drawn.steps, "{detail}");
    }
}

/// Tables have names that fit, and tell those apart that are short the same; what programs read is whole.
#[test]
fn tables_have_short_names() {
    if !can_record() {
        return;
    }
    let scratch = Scratch::new("short-names");
    let source = scratch.write(
        "long.cc",
        "#include <map>
         #include <string>
         #include <vector>
         using Table = std::map<std::string, std::vector<std::pair<std::string, std::map<int, std::string>>>>;
         namespace store {
         static unsigned places[1000];
         __attribute__((noinline)) void keep(Table const &, unsigned n) { for (auto &p : places) p += n; }
         __attribute__((noinline)) unsigned keep(std::vector<Table> const &, unsigned n) {
             for (auto p : places) n += p;
             return n;
         }
         __attribute__((noinline)) unsigned total(Table const &table, std::vector<Table> const &all, unsigned n) {
             keep(table, n);
             return keep(all, n);
         }
         }
         int main() {
             Table table;
             std::vector<Table> all;
             unsigned n = 1;
             for (int i = 0; i < 20; i++) n = store::total(table, all, n);
             return n == 0;
         }",
    );
    let program = scratch.path("long");
    let made =
        Command::new("g++").args(["-O1", "-g", "-o", utf8(&program), utf8(&source)]).status();
    assert!(made.expect("g++").success());
    let db = scratch.path("long.duckdb");
    let output = record(&["-q", "-o", utf8(&db)], &[utf8(&program)]);
    assert!(output.status.success(), "{}", said(&output));
    let db = utf8(&db);
    let longest = |text: &str, word: &str| {
        let lines = text.lines().filter(|line| line.contains(word));
        lines.map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let calls = ["calls", db, "--limit", "0"];
    let functions = ["calls", db, "--functions", "--limit", "0"];
    let flows = ["flows", db, "glob:store::*", "glob:store::*", "--sum"];
    for (view, word) in [
        (&["info", db][..], "store::keep"),
        (&functions, "store::total"),
        (&calls, "store::total"),
        (&flows, "store::keep"),
        (&["plan", db, "--parts", "2"], "store::keep"),
    ] {
        let text = printed(&addfg(view));
        let length = longest(&text, word);
        assert!(0 < length && length < 400, "{view:?}: {length}: {text}");
        let whole = "store::total(std::map";
        assert!(!text.contains(whole), "{view:?}: {text}");
    }
    // Two functions by one short name are two names.
    let text = ok(&functions);
    let named: BTreeSet<&str> = text
        .lines()
        .filter(|line| line.contains("store::keep"))
        .map(|line| line.split("  ").next().unwrap())
        .collect();
    assert_eq!(named.len(), 2, "{text}");
    let whole = ok(&[&functions[..], &["--format", "csv"]].concat());
    assert!(longest(&whole, "store::total") > 400, "{whole}");
}
