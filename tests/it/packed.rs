//! Below detail `pairs` the run is packed (`run_chunk`), and all commands answer as they do where it has
//! rows.

use crate::common::*;
use std::path::{Path, PathBuf};

/// Commands that go through the run, with their arguments behind the database.
fn asked(middle: i64, most: [&str; 2]) -> Vec<Vec<String>> {
    let at = middle.to_string();
    let words = [
        "instances {F} --format csv",
        "calls --format csv",
        "calls --tree --format csv",
        "flows {G} {F} --limit 0 --format csv",
        "flows {G} {F} --sum --limit 0 --format csv",
        "cut {F} --format csv",
        "cut {F} --callees --format csv",
        "cut {F},{G} --show entries --format csv",
        "cut {F},{G} --show objects --format csv",
        "graph --level instance --format json",
        "graph --level instruction --format json",
        "graph --level line --format json",
        "graph --level context --format json",
        "graph --level step --range 100..140 --format json",
        "graph --group A={F},{G} --format json",
        "graph --format json",
        "graph --all --format json",
        "graph --format flamegraph",
        "matrix --format csv",
        "calls --functions --format csv",
        "export --to callgrind -o -",
        "plan --show loops --format csv",
        "sql @transfers {G} {F} --format csv",
        "sql @steps 100 50 --format csv",
        "verify",
        "loops --format csv",
        "loops --dependences --format csv",
        "critical --format csv",
        "memory --format csv",
        "objects --format csv",
        "slice --at {} --backward --limit 0 --format csv",
        "slice --at {} --forward --limit 0 --format csv",
        "graph --strategy bottom-up --format json",
        "graph --level block --show calls,jumps,data --format json",
        "graph --level loop --format json",
    ];
    let word = |word: &str| {
        // The names of functions may have blanks.
        word.replace("{}", &at).replace("{F}", most[0]).replace("{G}", most[1])
    };
    words.iter().map(|line| line.split(' ').map(word).collect()).collect()
}

/// What a command says: output, or the error of one that cannot be asked of this run.
fn answer(db: &Path, words: &[String]) -> (Option<i32>, String, String) {
    let mut arguments = vec![words[0].as_str(), utf8(db)];
    arguments.extend(words[1..].iter().map(String::as_str));
    let output = addfg(&arguments);
    (output.status.code(), printed(&output), said(&output))
}

/// Compares the answers of two databases of one run.
fn compare(packed: &Path, rows_of: &Path) {
    let kept = |db: &Path| {
        let sql = "SELECT (SELECT count(*) FROM block_run), (SELECT count(*) FROM run_chunk) > 0";
        let row = |r: &duckdb::Row| Ok((r.get::<_, i64>(0)?, r.get::<_, bool>(1)?));
        open(db).query_row(sql, [], row).unwrap()
    };
    assert_eq!(kept(packed), (0, true), "{}", packed.display());
    assert!(!kept(rows_of).1 && kept(rows_of).0 > 0);
    // Stubs are merged in the sums that are stored, too, and data is by context.
    for table in
        ["function_edge_folded", "call_edge_folded", "function_profile_folded", "stack_edge"]
    {
        let sql = format!("SELECT list(t::VARCHAR ORDER BY t::VARCHAR)::VARCHAR FROM {table} t");
        let [x, y] = [packed, rows_of]
            .map(|db| open(db).query_row(&sql, [], |r| r.get::<_, String>(0)).unwrap());
        assert_eq!(x, y, "{table} of {}", packed.display());
    }
    let steps: i64 = rows(rows_of, "SELECT count(*) FROM opcode_line")[0].parse().unwrap();
    // The two that exchange most.
    let sql = "SELECT reader || chr(10) || writer FROM function_dataflow
               WHERE reader NOT LIKE '<%' AND writer NOT LIKE '<%' AND reader <> writer
               GROUP BY ALL ORDER BY sum(bytes) DESC, 1 LIMIT 1";
    let most: String = open(rows_of).query_row(sql, [], |r| r.get(0)).unwrap();
    let (reader, writer) = most.split_once('\n').unwrap();
    let mut answered = 0;
    for words in asked(steps / 2, [reader, writer]) {
        let (a, b) = (answer(packed, &words), answer(rows_of, &words));
        assert!(a.0 == b.0 && a.1 == b.1, "{words:?}\n{}\n{}\n{}\n{}", a.2, b.2, a.1, b.1);
        answered += usize::from(a.0 == Some(0) && a.1.lines().count() > 1);
    }
    assert!(answered >= 18, "{answered} answers");
    same_rows(packed, rows_of);
}

/// Each table and view has the same rows, once they are made of the packed run.
fn same_rows(packed: &Path, rows_of: &Path) {
    let (a, b) = (open(packed), open(rows_of));
    addfg::internals::views::rows::ensure(&a, addfg::internals::load::Detail::Pairs).unwrap();
    let sql = "SELECT table_name FROM duckdb_tables() WHERE NOT temporary
               UNION SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1";
    let mut statement = b.prepare(sql).unwrap();
    let names = statement.query_map([], |r| r.get::<_, String>(0)).unwrap();
    let mut compared = 0;
    for name in names.map(Result::unwrap) {
        // The packed run itself; and numbers of kinds in the order in which they were met.
        let own = [
            "run_chunk",
            "run_piece",
            "run_state",
            "run_code",
            "meta",
            "communication_row",
            "communication_kind",
        ];
        if own.contains(&name.as_str()) {
            continue;
        }
        let sum =
            format!("SELECT count(*), coalesce(sum(hash(t::VARCHAR)), 0)::VARCHAR FROM {name} t");
        let [x, y] = [&a, &b].map(|db| {
            let row = |r: &duckdb::Row| Ok((r.get::<_, i64>(0)?, r.get::<_, String>(1)?));
            db.query_row(&sum, [], row).unwrap_or_else(|e| panic!("{name}: {e}"))
        });
        assert_eq!(x, y, "{name} of {} and {}", packed.display(), rows_of.display());
        compared += usize::from(x.0 > 0);
    }
    assert!(compared > 30, "{compared} tables and views");
}

/// Databases of a recording: packed in chunks of so many steps, and with rows.
pub fn in_chunks(scratch: &Scratch, name: &str, stream: &Path, steps: u64) -> (PathBuf, PathBuf) {
    use addfg::internals::load::{Detail, Options, load};
    let made = |detail: Detail| {
        let output = scratch.path(&format!("{name}-{}.duckdb", detail.name()));
        let options = Options {
            traces: vec![stream.to_owned()],
            detail: Some(detail),
            steps: detail < Detail::Pairs,
            chunk_steps: Some(steps),
            ..Options::new(output.clone())
        };
        load(&options, &mut |_| false).unwrap();
        output
    };
    (made(Detail::Summary), made(Detail::Pairs))
}

/// Rows of chunks that are gone through alone are those of the whole run, in whatever order and however
/// many at once; gives how many chunks there are.
pub fn same_parts(packed: &Path, rows_of: &Path) -> usize {
    use addfg::internals::load::packed::Wanted;
    use addfg::internals::load::{Detail, parts::Parts, states};
    states::make(&addfg::internals::store::open::open(packed, true).unwrap()).unwrap();
    assert!(states::are_made(&open(packed)).unwrap());
    let wanted = Wanted::all(Detail::Pairs);
    let b = open(rows_of);
    let mut count = 0;
    for at_once in [true, false] {
        let a = open(packed);
        let Some(parts) = Parts::open(&a, &wanted).unwrap() else { return 0 };
        count = parts.chunks().len();
        if at_once {
            parts.ensure(&a, &wanted, 0..count).unwrap();
        } else {
            (0..count).rev().for_each(|at| assert!(parts.ensure(&a, &wanted, [at]).unwrap()));
        }
        assert!(!parts.ensure(&a, &wanted, 0..count).unwrap());
        for name in [
            "function_call",
            "control_flow",
            "saved_register",
            "folded_call",
            "communication",
            "block_run",
            "thread_event",
            "system_call",
            "system_call_access",
            "mapping",
            "allocation",
            "signal_event",
            "marker",
        ] {
            let all = format!("SELECT t::VARCHAR FROM {name} t ORDER BY 1");
            let rows = |db: &duckdb::Connection| {
                let mut statement = db.prepare(&all).unwrap();
                let rows = statement.query_map([], |r| r.get::<_, String>(0)).unwrap();
                rows.map(Result::unwrap).collect::<Vec<_>>()
            };
            let (x, y) = (rows(&a), rows(&b));
            let differ = x.iter().zip(&y).find(|(x, y)| x != y);
            assert!(
                x.len() == y.len() && differ.is_none(),
                "{name} of {}, {at_once}: {} and {}, {differ:?}",
                packed.display(),
                x.len(),
                y.len()
            );
        }
    }
    count
}

/// What the page holds of memory and objects.
#[test]
fn the_page_has_the_same_memory() {
    let [packed, rows_of] = ["instance", "rows"].map(|detail| {
        let page =
            addfg::internals::report::data(&open(&example("jpeg", detail)), &Default::default());
        let page = page.unwrap();
        [page["memory"].clone(), page["objects"].clone(), page["loops"].clone()]
    });
    assert!(packed[1]["all"].as_u64() > Some(5), "{}", packed[1]);
    assert_eq!(packed, rows_of);
}

#[test]
fn the_examples_answer_packed_as_they_do_with_rows() {
    for name in ["fir", "jpeg"] {
        for detail in ["summary", "instance"] {
            compare(&example(name, detail), &example(name, "rows"));
        }
    }
}

/// Values of registers, a clock and several threads or tasks are in the chunks, too.
#[test]
fn what_logs_tell_of_each_step_is_kept() {
    let scratch = Scratch::new("packed-logs");
    let mut compared = 0;
    let logs = [
        "giano/good-after.log",
        "giano/good-before.log",
        "qemu/good-arm.log",
        "qemu/good-riscv64.log",
        "qemu/good-x86_64.log",
        "execlog/good.log",
    ];
    for log in logs {
        let path = repository("tests/formats").join(log);
        let made = |detail: &str| -> Option<PathBuf> {
            let db = scratch.path(&format!("{}-{detail}.duckdb", log.replace('/', "-")));
            let (code, _) = build(&db, &[&path], &kept(detail));
            (code != 2).then_some(db)
        };
        if let (Some(packed), Some(rows_of)) = (made("instance"), made("rows")) {
            let moments = |db: &Path| {
                let connection = open(db);
                let code =
                    addfg::internals::replay::code::Code::open(&connection).unwrap().with_values();
                let mut all = Vec::new();
                let range = (0, i64::MAX);
                code.forwards(&connection, range, |piece| {
                    all.push(format!(
                        "{} {:?} {:?} {:?} {:?} {:?}",
                        piece.start_seq,
                        piece.thread,
                        piece.call,
                        piece.block_id,
                        piece.address,
                        piece.value
                    ));
                    Ok(true)
                })
                .unwrap();
                all
            };
            assert_eq!(moments(&packed), moments(&rows_of), "{log}");
            same_rows(&made("summary").unwrap(), &rows_of);
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared} logs");
}

/// Threads, system calls, files and moved memory.
#[test]
fn recorded_programs_answer_packed_as_they_do_with_rows() {
    if !have("valgrind") || !have("gcc") {
        return skipped("recorded programs, packed: needs valgrind and gcc");
    }
    let scratch = Scratch::new("packed-recorded");
    let programs = [
        ("threads.c", "gcc", &["-pthread"][..]),
        ("remap.c", "gcc", &[]),
        ("signal.c", "gcc", &[]),
        ("exceptions.cc", "g++", &[]),
        ("mix.rs", "rustc", &[]),
    ];
    for (source, compiler, flags) in programs {
        if !have(compiler) {
            skipped(&format!("{source}, packed: needs {compiler}"));
            continue;
        }

        let program = scratch.path(source.split('.').next().unwrap());
        let path = repository(&format!("tests/programs/{source}"));
        let optimised: &[&str] = if compiler == "rustc" { &["-g", "-O"] } else { &["-g", "-O1"] };
        make(compiler, &path, &[optimised, flags].concat(), &program);
        let (stream, first) = (scratch.path("run.stream"), scratch.path("first.duckdb"));
        let record =
            ["record", "--force", "-q", "--detail", "instance", "--keep", utf8(&stream), "-o"];
        let output = addfg(&[&record[..], &[utf8(&first), "--", utf8(&program)]].concat());
        assert_ne!(output.status.code(), Some(2), "{}", said(&output));
        let made = |detail: &str| {
            let db = scratch.path(&format!("{source}-{detail}.duckdb"));
            build(&db, &[&stream], &kept(detail));
            db
        };
        let (packed, rows_of) = (made("summary"), made("rows"));
        // All questions take a minute a program: of some, they are asked of the chunks that they touch.
        let is_by_parts = ["threads.c", "mix.rs"].contains(&source);
        if !is_by_parts {
            compare(&packed, &rows_of);
        }
        assert!(same_parts(&packed, &rows_of) > 0, "{source}");
        if is_by_parts {
            compare(&packed, &rows_of);
        }
    }
}

/// Calls that wait on stacks of their own, and go on in other threads: chunks have states there, too. The bytes that a function takes
/// and gives are what the program says.
#[test]
fn coroutines_answer_packed_as_they_do_with_rows() {
    let scratch = Scratch::new("packed-coroutines");
    if !have("valgrind") || !have("gcc") {
        return skipped("coroutines, packed: needs valgrind and gcc");
    }
    for source in ["coroutines.c", "handed.c"] {
        let (program, stream) = (scratch.path("program"), scratch.path("run.stream"));
        compile("gcc", source, &["-g", "-O1", "-static", "-pthread"], &program);
        let first = scratch.path("first.duckdb");
        let record = ["record", "-q", "--force", "--keep", utf8(&stream), "-o", utf8(&first), "--"];
        let output = addfg(&[&record[..], &[utf8(&program)]].concat());
        assert!(output.status.success(), "{}", said(&output));
        let (packed, rows_of) = in_chunks(&scratch, source, &stream, 1000);
        assert!(same_parts(&packed, &rows_of) > 20, "{source}");
        let names =
            ["first", "second", "give", "hand", "produce", "twice", "take", "rounds", "main"];
        for name in names {
            for question in [
                &["instances", name, "--limit", "0"][..],
                &["cut", name],
                &["cut", name, "--callees"],
                &["loops", "--functions", name, "--limit", "0", "--dependences"],
                &["flows", name, "give", "--sum"],
                &["objects", "--functions", name],
            ] {
                same_answer(&packed, &rows_of, question);
            }
            // A number each way in memory, 120 times.
            let row = match name {
                "give" => "out,twice,global,960,",
                "hand" => "out,take,global,960,",
                "twice" => "in,give,global,960,",
                "take" => "in,hand,global,960,",
                _ => continue,
            };
            for db in [&packed, &rows_of].into_iter().filter(|_| source == "handed.c") {
                let flows = ok(&["cut", utf8(db), name, "--show", "flows", "--format", "csv"]);
                assert!(flows.lines().any(|line| line.starts_with(row)), "{name}: {flows}");
            }
        }
    }
}

/// What a function calls by way of stubs is of the set that it is in: so are the reads of the stubs.
#[test]
fn a_set_takes_in_what_its_stubs_read() {
    if !have("valgrind") || !have("gcc") {
        return skipped("stubs, packed: needs valgrind and gcc");
    }
    let scratch = Scratch::new("packed-stubs");
    let program = scratch.path("plt");
    make("gcc", &repository("tests/programs/plt.c"), &["-g", "-O1"], &program);
    let (stream, first) = (scratch.path("run.stream"), scratch.path("first.duckdb"));
    let record = ["record", "--force", "-q", "--keep", utf8(&stream), "-o", utf8(&first), "--"];
    let output = addfg(&[&record[..], &[utf8(&program)]].concat());
    assert_ne!(output.status.code(), Some(2), "{}", said(&output));
    let said_of = |detail: &str| {
        let db = scratch.path(&format!("{detail}.duckdb"));
        build(&db, &[&stream], &kept(detail));
        ok(&["cut", utf8(&db), "spread", "--format", "csv"])
    };
    let rows_of = said_of("rows");
    assert_eq!(said_of("summary"), rows_of);
}

/// Damage is named with its place, and a chunk that is missing is no other run.
#[test]
fn a_damaged_chunk_is_an_error() {
    let scratch = Scratch::new("packed-damaged");
    let db = scratch.copy(&example("fir", "instance"), "fir.duckdb");
    change(&db, "UPDATE run_piece SET data = data[1:20]");
    refused(&["loops", utf8(&db)], &["run_chunk at step 1"]);
}

/// Rows that are made in the database are those that a build makes, and a part of them loses none of
/// the answers.
#[test]
fn rows_are_made_in_the_database() {
    let scratch = Scratch::new("packed-rows");
    let (db, pairs) =
        (scratch.copy(&example("jpeg", "summary"), "jpeg.duckdb"), example("jpeg", "rows"));
    let ask = "SELECT count(*), sum(bytes), sum(hash(read_seq)) FROM communication";
    let flows =
        ["flows", utf8(&db), "stbi__jpeg_huff_decode", "stbi__jpeg_decode_block", "--limit", "0"];
    let whole = ok(&[&["flows", utf8(&pairs)], &flows[2..]].concat());
    assert!(whole.lines().count() > 100);
    assert_eq!(ok(&flows), whole);
    ok(&["rows", utf8(&db), "-q", "--range", "1000..2000"]);
    let reads = "SELECT count(*) FROM communication WHERE read_seq BETWEEN 1000 AND 2000";
    let here = "SELECT count(*), min(read_seq) >= 1000, max(read_seq) <= 2000 FROM communication";
    assert_eq!(rows(&db, here)[0], format!("{},true,true", rows(&pairs, reads)[0]));
    // Of what is not kept as rows the packed run tells.
    assert_eq!(ok(&flows), whole);
    ok(&["rows", utf8(&db), "-q", "--functions", "stbi__jpeg_decode_block"]);
    assert_eq!(ok(&flows), whole);
    ok(&["rows", utf8(&db), "-q"]);
    assert_eq!(rows(&db, ask), rows(&pairs, ask));
    for middle in ["function_call", "control_flow", "dataflow", "opcode_line", "data_access"] {
        let sql = format!("SELECT count(*), sum(hash(t::VARCHAR))::VARCHAR FROM {middle} t");
        assert_eq!(rows(&db, &sql), rows(&pairs, &sql), "{middle}");
    }
    assert!(ok(&["verify", utf8(&db)]).contains("equal"));
    refused(&["rows", utf8(&example("fir", "sums"))], &["--no-steps"]);
    refused(&["rows", utf8(&example("fir", "rows"))], &["no packed run"]);
    // Of one that has more, all is made again.
    let full = scratch.copy(&example("fir", "full"), "full.duckdb");
    let before = rows(&full, ask);
    ok(&["rows", utf8(&full), "-q"]);
    assert_eq!(rows(&full, ask), before);
}

/// Queries of the library that read the rows of a run end with an error where it has none, in any DuckDB.
#[test]
fn queries_of_rows_are_refused_where_there_are_none() {
    let scratch = Scratch::new("packed-refused");
    // As any program opens it: addfg's own connections make the rows.
    let db = duckdb::Connection::open(scratch.copy(&example("jpeg", "summary"), "jpeg.duckdb"))
        .expect("a database");
    let folder = repository("queries/library");
    let mut refused = 0;
    for entry in std::fs::read_dir(&folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a query");
        if path.extension().is_none_or(|e| e != "sql") || !text.contains("FROM block_run") {
            continue;
        }
        let mut statement = db.prepare(&text).expect("a statement");
        let given = vec![1_000_000u64; statement.parameter_count()];
        let rows = statement
            .query(duckdb::params_from_iter(given))
            .map(|mut rows| rows.next().map(|_| ()));
        let error = rows.and_then(|next| next).expect_err(&path.display().to_string()).to_string();
        assert!(error.contains("packed"), "{}: {error}", path.display());
        refused += 1;
    }
    assert!(refused >= 5, "{refused}");
}

/// Without steps nothing is packed, and what needs them says so.
#[test]
fn a_build_without_steps_says_so() {
    let db = example("fir", "sums");
    let sql = "SELECT (SELECT count(*) FROM run_chunk) + (SELECT count(*) FROM run_code) + (SELECT count(*) FROM block_step)";
    assert_eq!(rows(&db, sql), ["0"]);
    for words in ["loops", "slice --at 5", "flows main main", "cut main", "instances main"] {
        let mut arguments: Vec<&str> = words.split(' ').collect();
        arguments.insert(1, utf8(&db));
        refused(&arguments, &[]);
    }
}

/// Loops that are left in all ways, in short chunks: what iterations do to one another goes from chunk to chunk, and what is
/// known of a read in a later one.
#[test]
fn loops_of_chunks_are_those_of_rows() {
    use addfg::internals::load::states;
    if !have("valgrind") || !have("g++") {
        return skipped("loops of chunks: needs valgrind and g++");
    }
    let scratch = Scratch::new("packed-loops");
    let (program, stream) = (scratch.path("left_loops"), scratch.path("run.stream"));
    let source = repository("tests/programs/left_loops.cc");
    make("g++", &source, &["-g", "-O1", "-pthread"], &program);
    let first = scratch.path("first.duckdb");
    let record = ["record", "-q", "--detail", "summary", "--keep", utf8(&stream), "-o"];
    let output = addfg(&[&record[..], &[utf8(&first), "--", utf8(&program)]].concat());
    assert_ne!(output.status.code(), Some(2), "{}", said(&output));
    let (packed, rows_of) = in_chunks(&scratch, "run", &stream, 4000);
    states::make(&addfg::internals::store::open::open(&packed, true).unwrap()).unwrap();
    let mut carried = 0;
    for name in ["recurse", "jumping", "thrower", "handler", "signals", "worker", "rounds"] {
        for more in [&[][..], &["--dependences"]] {
            let words = [&["loops", "--functions", name, "--limit", "0"][..], more].concat();
            same_answer(&packed, &rows_of, &words);
            let asked: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            carried += if more.is_empty() { 0 } else { answer(&packed, &asked).1.lines().count() };
        }
    }
    assert!(carried > 40, "{carried} dependences");
    same_answer(&packed, &rows_of, &["loops", "--functions", "rounds", "--quick"]);
}

/// Random programs, with the kernel's work and several threads, and all rules of saved registers.
#[test]
fn random_programs_have_the_same_rows() {
    use addfg::internals::load::{Detail, load};
    let scratch = Scratch::new("packed-random");
    let (mut chunks, mut passed_over, mut calls_with_flows) = (0, 0, 0);
    for seed in seeds(3) {
        let (steps, threads) = (400 + 700 * (seed as usize % 3), 1 + seed as usize % 3);
        let folder = scratch.path(&seed.to_string());
        std::fs::create_dir(&folder).unwrap();
        match seed % 2 {
            0 => crate::guard::record_kernel(&folder, seed, steps, threads),
            _ => drop(crate::guard::record(&folder, seed, steps, threads)),
        }
        let made = |detail: Detail| {
            let options = crate::guard::options(&folder, detail, seed % 3 == 2);
            let output = folder.join(detail.name());
            let steps = detail < Detail::Pairs;
            load(
                &addfg::internals::load::Options { output: output.clone(), steps, ..options },
                &mut |_| false,
            )
            .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            output
        };
        let rows_of = made(Detail::Pairs);
        for detail in [Detail::Summary, Detail::Instance] {
            let packed = made(detail);
            same_rows(&packed, &rows_of);
            same_memory(&packed, &rows_of);
            let of_run = same_parts(&packed, &rows_of);
            // With what is kept beside the chunks.
            same_memory(&packed, &rows_of);
            chunks += of_run;
            // Each takes hundreds of commands, and the runs are packed alike.
            if detail == Detail::Summary {
                same_answers_of_parts(&packed, &rows_of);
                same_plans(&packed, &rows_of);
                same_slices(&packed, &rows_of);
                calls_with_flows += same_flows_of_calls(&packed, &rows_of);
            }
            passed_over += passed_over_by_questions(&packed, of_run);
        }
    }
    assert!(chunks > 50, "{chunks} chunks");
    assert!(passed_over > 15, "{passed_over} chunks were not touched");
    assert!(calls_with_flows > 20, "{calls_with_flows} calls");
}

/// What single calls read, of the chunks that these are in; gives how many were asked for.
fn same_flows_of_calls(packed: &Path, rows_of: &Path) -> usize {
    let sql = "SELECT DISTINCT w.name AS writer, r.name AS reader, c.instance AS number
               FROM dataflow d JOIN function_call c ON c.call_id = d.reader_call_id
               JOIN function_symbol w ON w.function_id = d.writer_function_id
               JOIN function_symbol r ON r.function_id = d.reader_function_id
               WHERE w.function_id <> r.function_id";
    let sql =
        format!("SELECT * FROM ({sql}) ORDER BY hash(writer, reader, number), 1, 2, 3 LIMIT 8");
    let calls = rows(rows_of, &sql);
    for call in &calls {
        let [writer, reader, number] = call.split(',').collect::<Vec<_>>()[..] else {
            panic!("{call}");
        };
        let reader = format!("{reader}#{number}");
        same_answer(packed, rows_of, &["flows", writer, &reader, "--limit", "0"]);
        let part = ["flows", writer, &reader, "--limit", "0", "--range", "100..1000"];
        same_answer(packed, rows_of, &part);
        // How many there are beyond the limit is not counted.
        let first =
            ["flows", writer, &reader, "--limit", "2", "--format", "csv"].map(str::to_owned);
        assert_eq!(answer(packed, &first).1, answer(rows_of, &first).1, "{call}");
    }
    calls.len()
}

/// Questions about each function, answered from the chunks that they touch.
fn same_answers_of_parts(packed: &Path, rows_of: &Path) {
    for function in functions(rows_of) {
        let name = function.as_str();
        let questions = [
            &["instances", name, "--limit", "0"][..],
            &["cut", name, "--show", "figures"],
            &["cut", name, "--show", "flows"],
            &["cut", name, "--show", "objects"],
            &["cut", name, "--show", "entries"],
            &["cut", name, "--callees", "--show", "figures"],
            &["cut", name, "--callees", "--show", "flows"],
            &["cut", name, "--callees", "--show", "entries"],
            &["loops", "--functions", name, "--limit", "0"],
            &["loops", "--functions", name, "--limit", "0", "--dependences"],
        ];
        for words in questions {
            same_answer(packed, rows_of, words);
        }
    }
}

/// Slices from steps, from bytes that somebody wrote once, and from some that nobody did.
fn same_slices(packed: &Path, rows_of: &Path) {
    let sql = "SELECT '0x' || lower(to_hex(address)) FROM communication WHERE space = 'memory'
               GROUP BY address ORDER BY max(read_seq), hash(address) LIMIT 6";
    let last: u64 = rows(rows_of, "SELECT max(return_seq) FROM function_call")[0].parse().unwrap();
    let steps = (1..5).map(|n| (last * n / 5).to_string());
    for at in rows(rows_of, sql).into_iter().chain(steps).chain(["0x7".to_owned()]) {
        for way in ["--backward", "--forward"] {
            same_answer(packed, rows_of, &["slice", "--at", &at, way, "--limit", "0"]);
            same_answer(packed, rows_of, &["slice", "--at", &at, way, "--group"]);
        }
    }
}

/// Sets that are counted all at once, from the chunks.
fn same_plans(packed: &Path, rows_of: &Path) {
    let words = ["plan", "--exact", "--start-up", "--least", "0", "--code", "100", "--limit", "0"];
    same_answer(packed, rows_of, &words);
}

/// What needs the events of a run, and no calls.
fn same_memory(packed: &Path, rows_of: &Path) {
    for show in ["traffic", "time", "reuse"] {
        same_answer(packed, rows_of, &["memory", "--show", show]);
    }
}

pub fn same_answer(packed: &Path, rows_of: &Path, words: &[&str]) {
    let words: Vec<String> =
        words.iter().chain(&["--format", "csv"]).map(|word| word.to_string()).collect();
    let (a, b) = (answer(packed, &words), answer(rows_of, &words));
    assert!(a == b, "{words:?} of {}\n{a:?}\n{b:?}", packed.display());
}

/// Functions that ran, by their ids.
fn functions(db: &Path) -> Vec<String> {
    rows(
        db,
        "SELECT name FROM function_profile JOIN function_symbol USING (function_id)
         WHERE steps_self > 0 ORDER BY steps_self, name LIMIT 12",
    )
}

/// Chunks that questions about a function do not touch, of all functions.
fn passed_over_by_questions(packed: &Path, chunks: usize) -> usize {
    use addfg::internals::replay::crossing::{Along, Callees, Rule};
    use addfg::internals::views::cut::choose;
    let untouched = functions(packed).into_iter().map(|name| {
        let db = open(packed);
        let set = choose(&db, &[name]).unwrap();
        let rule = [Rule::Set(&set, Callees::Outside)];
        let along = Along::open(&db, &rule).unwrap();
        along.map_or(0, |along| chunks - along.chunks())
    });
    untouched.sum()
}

/// The first question about parts of a long run stores what each of them needs of before it, once. A
/// database that cannot be written answers, too.
#[test]
fn the_first_question_prepares_the_parts() {
    use addfg::internals::load::{Detail, Options, load};
    let scratch = Scratch::new("packed-first");
    let folder = scratch.path("run");
    std::fs::create_dir(&folder).unwrap();
    crate::guard::record_kernel(&folder, 3, 1500, 1);
    let made = |name: &str, detail: Detail| {
        let options = crate::guard::options(&folder, detail, false);
        let output = folder.join(name);
        let options = Options {
            output: output.clone(),
            chunk_steps: Some(40),
            steps: detail < Detail::Pairs,
            ..options
        };
        load(&options, &mut |_| false).unwrap();
        output
    };
    let rows_of = made("rows", Detail::Pairs);
    let most = functions(&rows_of).pop().unwrap();
    for command in ["instances", "cut", "flows", "slice", "loops"] {
        let packed = made("packed", Detail::Summary);
        let words: &[&str] = match command {
            "flows" => &[&most, &most],
            "slice" => &["--at", "800"],
            "loops" => &["--functions", &most],
            _ => &[&most],
        };
        let words = [&[command], words, &["--format", "csv"]].concat();
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let (first, second) = (answer(&packed, &words), answer(&packed, &words));
        let expected = answer(&rows_of, &words);
        assert_eq!((&first.0, &first.1), (&second.0, &second.1), "{words:?}");
        if command != "flows" {
            assert_eq!(first.1, expected.1, "{words:?}");
        }
        let once = "prepared for questions about parts of the run, once (";
        assert!(first.2.contains(once), "{}", first.2);
        assert!(!second.2.contains(once), "{}", second.2);
    }
    // Somebody has it open.
    let packed = made("packed", Detail::Summary);
    let words: Vec<String> =
        ["instances", &most, "--format", "csv"].into_iter().map(str::to_owned).collect();
    let config = duckdb::Config::default().access_mode(duckdb::AccessMode::ReadOnly).unwrap();
    let reader = duckdb::Connection::open_with_flags(&packed, config).unwrap();
    let (code, printed, said) = answer(&packed, &words);
    drop(reader);
    assert_eq!((code, printed), (Some(0), answer(&rows_of, &words).1), "{said}");
    assert!(said.contains("this question takes the whole run"), "{said}");
}
