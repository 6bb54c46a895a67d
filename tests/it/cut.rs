//! What crosses the border of a set of functions, against a count over every access.

use crate::common::program::{Program, Random};
use crate::common::*;
use addfg::internals::render::rows::RowFormat;
use addfg::internals::replay::crossing::Callees;
use addfg::internals::views::cut::{Shown, choose, cut};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

type Figures = HashMap<String, u64>;

/// Twenty lines over `data_access`: who wrote each byte last, and whether that was inside.
fn counted(db: &Path, names: &[&str], callees: bool) -> Figures {
    let connection = open(db);
    let mut all = Figures::new();
    let mut add = |name: &str, n: bool| *all.entry(name.to_owned()).or_default() += u64::from(n);
    let (mut entry, mut ends) = (vec![0], vec![(0, 0)]);
    // A stub belongs to its caller, whatever it replaced.
    let sql = "SELECT name, coalesce(CASE WHEN s.kind <> 'stub' THEN tail_of_call_id END, parent_call_id, 0), s.kind = 'stub', call_seq, return_seq
               FROM function_call c JOIN function_symbol s USING (function_id) ORDER BY call_id";
    each(&connection, sql, |r| {
        let from = entry[r.get::<_, usize>(1).unwrap()];
        let follows = from > 0 && (callees || r.get(2).unwrap());
        let is_member = follows || names.contains(&r.get::<_, String>(0).unwrap().as_str());
        add("entries", is_member && from == 0);
        ends.push((r.get::<_, i64>(3).unwrap(), r.get::<_, i64>(4).unwrap()));
        ends[from].1 = ends[from].1.max(if is_member { ends[ends.len() - 1].1 } else { 0 });
        entry.push(if !is_member {
            0
        } else if from > 0 {
            from
        } else {
            ends.len() - 1
        });
    });
    let sql = "SELECT seq, is_write, is_control, space, a.thread_id, address, size, call_id, a.ordinal, value FROM data_access a
               ASOF JOIN control_flow f ON a.thread_id = f.thread_id AND a.seq >= f.start_seq ORDER BY seq, a.ordinal";
    let (mut writers, mut once, mut sent) = (HashMap::new(), HashSet::new(), HashMap::new());
    each(&connection, sql, |r| {
        let (seq, is_write, is_control): (i64, bool, bool) =
            (r.get(0).unwrap(), r.get(1).unwrap(), r.get(2).unwrap());
        let (space, size, call): (String, u64, usize) =
            (r.get(3).unwrap(), r.get(6).unwrap(), r.get(7).unwrap());
        let (is_register, thread): (bool, i32) = (space == "register", r.get(4).unwrap());
        let reader = entry[call];
        for byte in 0..if is_control && (is_register || !is_write) { 0 } else { size } {
            let cell = (is_register.then_some(thread), r.get::<_, u64>(5).unwrap() + byte);
            let (wrote, writer, given) = writers.get(&cell).copied().unwrap_or((0, 0, None));
            let value: Option<u64> = r.get(9).unwrap();
            let value = value.filter(|_| size <= 8).map(|value| value.to_le_bytes()[byte as usize]);
            let mut again = |way: &str| {
                let value = value.or(given);
                sent.insert((way.to_owned(), cell), value).flatten() == value && value.is_some()
            };
            if is_write {
                writers.insert(cell, (seq, reader, value));
            } else if reader > 0 && writer == 0 {
                add("bytes_in", true);
                add("unique_bytes_in", once.insert((Some(reader), cell, Some(wrote))));
                let is_new = once.insert((None, cell, Some(wrote)));
                add("new_bytes_in", is_new);
                add("resent_bytes_in", is_new && again("in"));
                add("addresses_in", once.insert((None, cell, None)));
                add("bytes_in_while_inside", wrote >= ends[reader].0);
            } else if reader == 0 && writer > 0 {
                add("bytes_out", true);
                let is_new = once.insert((Some(0), cell, Some(wrote)));
                add("unique_bytes_out", is_new);
                add("resent_bytes_out", is_new && again("out"));
                add("addresses_out", once.insert((Some(0), cell, None)));
                add("bytes_out_while_inside", seq <= ends[writer].1);
            } else if reader != writer {
                add("bytes_kept", true);
            }
        }
    });
    all
}

fn each(connection: &duckdb::Connection, sql: &str, mut take: impl FnMut(&duckdb::Row)) {
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        take(row);
    }
}

fn open(db: &Path) -> duckdb::Connection {
    addfg::internals::store::open::open(db, false).unwrap()
}

/// A part of what `cut` says, as CSV.
fn said_of(db: &Path, names: &[&str], callees: bool, shown: Shown) -> String {
    let connection = open(db);
    let words: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let callees = if callees { Callees::Inside } else { Callees::Outside };
    let found = cut(&connection, &choose(&connection, &words).unwrap(), callees).unwrap();
    let mut out = Vec::new();
    found.write(shown, usize::MAX, RowFormat::Csv, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn figures(text: &str) -> Figures {
    let fields = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    fields.filter_map(|f| Some((f[0].to_owned(), f[1].parse().ok()?))).collect()
}

/// Gives what was counted.
fn agree(db: &Path, names: &[&str], callees: bool) -> Figures {
    let text = said_of(db, names, callees, Shown::Figures);
    let (found, mut expected) = (figures(&text), counted(db, names, callees));
    if rows(db, "SELECT count(value) > 0 FROM block_run") == ["false"] {
        // Of values nothing is known.
        expected.retain(|name, _| !name.starts_with("resent"));
        assert!(!found.keys().any(|name| name.starts_with("resent")), "{text}");
    }
    for (name, n) in &expected {
        assert_eq!(found.get(name), Some(n), "{names:?} {callees}: {name}: {text}");
    }
    // What is not in the count is 0.
    let rest = ["bytes_kept", "bytes_in_while_inside", "bytes_out", "bytes_in"];
    for name in rest.iter().filter(|name| !expected.contains_key(**name)) {
        assert_eq!(found[*name], 0, "{names:?} {callees}: {name}");
    }
    assert_eq!(found["unchanged_bytes_in"], found["unique_bytes_in"] - found["new_bytes_in"]);
    // Functions, storage and entries each add up to the whole.
    for shown in [Shown::Flows, Shown::Objects] {
        let list = said_of(db, names, callees, shown);
        let bytes = |way: &str, column: usize| -> u64 {
            let fields = list.lines().map(|line| line.split(',').collect::<Vec<_>>());
            fields
                .filter(|f| f[0] == way)
                .map(|f| f[f.len() - column].parse::<u64>().unwrap())
                .sum()
        };
        for way in ["in", "out"] {
            assert_eq!(bytes(way, 3), found[&format!("bytes_{way}")], "{names:?}: {list}");
            assert_eq!(bytes(way, 2), found[&format!("unique_bytes_{way}")], "{names:?}: {list}");
            if shown == Shown::Objects {
                assert_eq!(bytes(way, 1), found[&format!("addresses_{way}")], "{names:?}: {list}");
            }
        }
    }
    let entries = said_of(db, names, callees, Shown::Entries);
    assert_eq!(entries.lines().count() as u64 - 1, found["entries"]);
    expected
}

/// The log with values of memory that are 0 or 1 byte by byte, so that many are written again; of some
/// accesses it does not tell.
fn with_values(log: &str, random: &mut Random) -> String {
    let (mut memory, mut text) = (HashMap::new(), String::new());
    for line in log.lines() {
        let mut words = line.split(" [M:");
        text += words.next().unwrap();
        for word in words {
            let fields: Vec<&str> = word.trim_end_matches(']').split(' ').collect();
            let address = u64::from_str_radix(fields[1], 16).unwrap();
            let bytes: Vec<u64> = (address..address + fields[2].parse::<u64>().unwrap()).collect();
            let value = bytes.iter().rev().fold(0, |value: u128, byte| {
                let byte = memory.entry(*byte).or_insert(0u8);
                *byte = if fields[0] == "W" { random.below(2) as u8 } else { *byte };
                value << 8 | u128::from(*byte)
            });
            let told = if random.chance(90) { format!(" {value:x}") } else { String::new() };
            text += &format!(" [M:{}{told}]", fields.join(" "));
        }
        text.push('\n');
    }
    text
}

#[test]
fn random_programs_are_cut_as_counted() {
    let scratch = Scratch::new("cut-random");
    let (elf, log, db) = (scratch.path("elf"), scratch.path("log"), scratch.path("db"));
    for seed in 1..6 {
        let mut random = Random::new(seed);
        let program = Program::new(&mut random);
        std::fs::write(&elf, program.elf()).unwrap();
        let text = program.run(&mut random, 3000, 1 + seed as usize % 3).0;
        // Every other with values.
        let text = if seed % 2 == 0 { with_values(&text, &mut random) } else { text };
        std::fs::write(&log, text).unwrap();
        let build = ["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db), "--force", "-q"];
        ok(&[&build[..], &["--saves", "literal"]].concat());
        for names in [&["alpha"][..], &["beta", "delta"], &["main"], &["gamma", "handler"]] {
            let ran = names.iter().any(|name| {
                let sql = format!("SELECT calls FROM flat_profile WHERE function = '{name}'");
                !rows(&db, &sql).is_empty()
            });
            for callees in [false, true].into_iter().filter(|_| ran) {
                agree(&db, names, callees);
            }
        }
    }
}

#[test]
fn a_jpeg_decoder_is_cut_as_counted() {
    let scratch = Scratch::new("cut-jpeg");
    let db = scratch.path("db.duckdb");
    let [log, elf] = example_files("jpeg");
    load(&log, &elf, &db, &["--saves", "literal"]);
    for names in
        [&["stbi__idct_block"][..], &["stbi__jpeg_huff_decode", "stbi__grow_buffer_unsafe"]]
    {
        for callees in [false, true] {
            agree(&db, names, callees);
        }
    }
}

/// 4 rounds of 16 bytes in and 4 out, each written anew; `tests/programs/resend.c` says which have the
/// values that they had.
#[test]
fn bytes_sent_again_are_those_of_the_source() {
    let scratch = Scratch::new("cut-resend");
    let mut done = Vec::new();
    for (name, compiler, emulator, options) in [
        ("x86-64", "gcc", "qemu-x86_64", &[][..]),
        ("arm", "arm-linux-gnueabi-gcc", "qemu-arm", &["-marm"]),
        ("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64", &[]),
        ("riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64", &[]),
    ] {
        let (elf, log, db) = (scratch.path(name), scratch.path("log"), scratch.path("db"));
        if !have(emulator) || !compile(compiler, "resend.c", &[&["-O1"], options].concat(), &elf) {
            continue;
        }
        assert!(qemu(emulator, &elf, &log).status.success());
        load(&log, &elf, &db, &["--saves", "literal"]);
        let counted = agree(&db, &["work"], false);
        // 12 bytes in three rounds, and the payload of the second; of the results the second is the same,
        // of the others all but the lowest byte.
        assert_eq!(counted["resent_bytes_in"], 3 * 12 + 4, "{name}: {counted:?}");
        assert_eq!(counted["resent_bytes_out"], 4 + 3 + 3, "{name}: {counted:?}");
        assert!(counted["new_bytes_in"] >= 64, "{name}: {counted:?}");
        // Registers cross here, too.
        agree(&db, &["fill"], false);
        agree(&db, &["main"], true);
        done.push(name);
    }
    println!("equal on {done:?}");
}

#[test]
fn odd_sets_have_clear_answers() {
    let db = example("jpeg", "pairs");
    let db = utf8(&db);
    refused(&["cut", db, "no_such_function"], &["no_such_function"]);
    refused(&["cut", db, "no_such_*"], &["no_such_*"]);
    refused(&["cut", db, ","], &["the set has no function"]);
    refused(&["cut", db, "main#1"], &["not single calls"]);
    refused(&["cut", utf8(&example("jpeg", "sums")), "main"], &["--no-steps"]);
    let whole = addfg(&["cut", db, "main", "--callees"]);
    assert!(
        said(&whole).contains("nothing of the run calls") || printed(&whole).contains("1 entries")
    );
    let pattern = ok(&["cut", db, "glob:stbi__idct*", "--show", "figures", "--format", "csv"]);
    assert_eq!(pattern, ok(&["cut", db, "stbi__idct_block", "--format", "csv"]));
    let file = ok(&["cut", db, "stb_image.h", "--format", "json"]);
    assert!(file.contains("\"figure\":\"entries\""), "{file}");
    let text = ok(&["cut", db, "stbi__idct_block", "--callees"]);
    for word in ["callees included", "unique_bytes_in", "stbi__jpeg_decode_block", "(stack)"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}

/// A function of the set is called again by what it called outside.
#[test]
fn recursion_from_outside_is_told() {
    let scratch = Scratch::new("cut-recursion");
    let (elf, log, db) = (scratch.path("elf"), scratch.path("log"), scratch.path("db"));
    let mut told = 0;
    for seed in 1..4 {
        let mut random = Random::new(seed);
        let program = Program::new(&mut random);
        std::fs::write(&elf, program.elf()).unwrap();
        std::fs::write(&log, program.run(&mut random, 3000, 1).0).unwrap();
        load(&log, &elf, &db, &[]);
        let mut stacks: Vec<Vec<String>> = vec![Vec::new()];
        let mut nested: HashMap<String, u64> = HashMap::new();
        let sql = "SELECT name, coalesce(CASE WHEN s.kind <> 'stub' THEN tail_of_call_id END, parent_call_id, 0), s.kind = 'stub'
                   FROM function_call c JOIN function_symbol s USING (function_id) ORDER BY call_id";
        each(&open(&db), sql, |r| {
            let name: String = r.get(0).unwrap();
            let mut stack = stacks[r.get::<_, usize>(1).unwrap()].clone();
            // A stub is part of what calls it.
            if !r.get::<_, bool>(2).unwrap() {
                if stack.last() != Some(&name) && stack.contains(&name) {
                    *nested.entry(name.clone()).or_default() += 1;
                }
                stack.push(name);
            }
            stacks.push(stack);
        });
        for (name, n) in nested.iter().filter(|(name, _)| !name.contains("veneer")) {
            let output = addfg(&["cut", utf8(&db), name]);
            let words = format!("{n} entries came from what the set calls outside");
            assert!(said(&output).contains(&words), "{name}: {words}: {}", said(&output));
            assert!(!said(&addfg(&["cut", utf8(&db), name, "--callees"])).contains("came from"));
            told += 1;
        }
    }
    assert!(told > 0);
}

/// The recording of `addfg record` among the examples, built as docs/questions.md says.
fn recorded() -> PathBuf {
    shared("recorded.duckdb", |db| {
        let [stream, elf] =
            ["jpeg.stream.xz", "jpeg"].map(|name| repository("examples/jpeg").join(name));
        load(&stream, &elf, db, &["--allocator", "stbi__malloc=malloc"]);
    })
}

/// Commands of docs/questions.md run, and say what stands there.
#[test]
fn questions_have_the_answers_that_are_written() {
    let text = std::fs::read_to_string(repository("docs/questions.md")).unwrap();
    let code = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let mut questions = 0;
    for line in text.lines().filter(|line| line.contains("| `addfg ")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let command = code(cells[1]).concat();
        let path = |word: &str| match word.strip_suffix(".duckdb") {
            Some("recorded") => utf8(&recorded()).to_owned(),
            Some(name) => utf8(&example(name, "pairs")).to_owned(),
            None => word.to_owned(),
        };
        let words: Vec<String> = command.split(' ').skip(1).map(path).collect();
        let printed = ok(&words.iter().map(String::as_str).collect::<Vec<_>>());
        for word in code(cells[2]).iter().filter(|word| !word.starts_with("--")) {
            assert!(printed.contains(word), "{command}: {word} is not in {printed}");
        }
        questions += 1;
    }
    assert_eq!(questions, 22);
}

/// What no step wrote has the name that graphs and flows give it: of a program with libraries, by image.
#[test]
fn sources_have_the_names_of_the_graph() {
    if !have("valgrind") || !have("gcc") {
        return skipped("names of sources: needs valgrind and gcc");
    }
    let scratch = Scratch::new("cut-sources");
    let (program, db) = (scratch.path("plt"), scratch.path("plt.duckdb"));
    make("gcc", &repository("tests/programs/plt.c"), &["-g", "-O1"], &program);
    let output =
        addfg(&["record", "-q", "--detail", "pairs", "-o", utf8(&db), "--", utf8(&program)]);
    assert_ne!(output.status.code(), Some(2), "{}", said(&output));
    // Those that read what the kernel read, and of most sources.
    let readers = rows(
        &db,
        "SELECT reader FROM function_dataflow WHERE writer LIKE '<%' AND reader NOT LIKE '<%'
           AND (SELECT count(*) FROM function_symbol WHERE name = reader) = 1
         GROUP BY reader ORDER BY bool_or(writer LIKE '<read: %') DESC, count(DISTINCT writer) DESC, reader LIMIT 5",
    );
    let listed = |words: &[&str]| -> Vec<serde_json::Value> {
        let json = ok(&[words, &["--limit", "0", "--format", "json"]].concat());
        serde_json::from_str(&json).unwrap()
    };
    let (mut compared, mut kernel) = (0, 0);
    for reader in readers {
        let expected: BTreeMap<String, u64> = rows(
            &db,
            &format!(
                "SELECT writer || chr(9) || sum(bytes)::UBIGINT FROM function_dataflow
                 WHERE reader = '{reader}' AND writer LIKE '<%' GROUP BY writer"
            ),
        )
        .iter()
        .map(|row| {
            row.split_once('\t').map(|(name, n)| (name.to_owned(), n.parse().unwrap())).unwrap()
        })
        .collect();
        let mut found = BTreeMap::new();
        for row in listed(&["cut", utf8(&db), &reader, "--show", "flows"]) {
            let source = row["function"].as_str().unwrap();
            if row["direction"] == "in" && source.starts_with('<') {
                *found.entry(source.to_owned()).or_default() += row["bytes"].as_u64().unwrap();
            }
        }
        assert_eq!(found, expected, "{reader}");
        for (source, bytes) in &expected {
            let rows = listed(&["flows", utf8(&db), source, &reader]);
            let sum: u64 = rows.iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
            assert_eq!(sum, *bytes, "{source} -> {reader}");
        }
        compared += found.len();
        kernel += found.keys().filter(|source| source.starts_with("<read: ")).count();
    }
    assert!(compared > 5 && kernel > 0, "{compared} sources, {kernel} of read");
    // What the kernel reads is in no list, and that is said.
    let sql = "SELECT writer FROM function_dataflow WHERE reader = '<openat>' AND writer <> reader LIMIT 1";
    let writer = rows(&db, sql).pop().unwrap();
    let output = addfg(&["flows", utf8(&db), &writer, "<openat>"]);
    assert!(said(&output).contains("that the kernel read"), "{}", said(&output));
}
