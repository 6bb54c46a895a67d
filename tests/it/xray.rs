//! LLVM XRay logs: every version, byte order and kind of damage, from logs written here.

use crate::common::xray::{Buffer, FREQUENCY, Op, SLOT, Style};
use crate::common::{self, *};

use std::path::{Path, PathBuf};
use std::slice;

mod llvm;

const CALLS: &str =
    "SELECT c.call_id, s.name, c.instance, c.parent_call_id, c.tail_of_call_id, c.thread_id, c.depth, c.kind, c.ending,
        c.call_time, c.return_time FROM function_call c JOIN function_symbol s USING (function_id) ORDER BY c.call_id";

/// Builds a database of logs; gives it and what the build said.
fn try_build(scratch: &Scratch, logs: &[Vec<u8>], more: &[&str]) -> (i32, String, PathBuf) {
    let write = |(i, log)| scratch.write(&format!("xray-log.{i}"), log);
    let paths: Vec<PathBuf> = logs.iter().enumerate().map(write).collect();
    build_in(scratch, &paths.iter().map(PathBuf::as_path).collect::<Vec<_>>(), more)
}

fn build(scratch: &Scratch, logs: &[Vec<u8>], wanted: i32) -> PathBuf {
    let (code, error, db) = try_build(scratch, logs, &[]);
    assert_eq!(code, wanted, "{error}");
    db
}

/// Codes of the problems met.
fn problems(db: &Path) -> Vec<String> {
    rows(
        db,
        "SELECT code || ' ' || count FROM diagnostic WHERE code <> 'xray-no-map' ORDER BY code",
    )
}

fn styles() -> Vec<Style> {
    let mut all = Vec::new();
    for version in 1..=5 {
        for (big, high) in [(false, false), (true, false), (true, true)] {
            all.push(Style { version, big, high });
        }
    }
    all
}

const V5: Style = Style { version: 5, big: false, high: false };
const V1: Style = Style { version: 1, big: false, high: false };

fn buffer(tid: i32, tsc: u64, ops: Vec<Op>) -> Buffer {
    Buffer { pid: 9, tid, wall: tsc, cpu: 3, tsc, ops }
}

/// Two threads, three buffers, those of the first thread not in order.
fn run() -> Vec<Buffer> {
    use Op::*;
    vec![
        buffer(100, 5000, vec![Exit(3, 5), Exit(1, 95)]),
        buffer(
            100,
            1000,
            vec![
                Enter(1, 0),
                EnterArgs(2, 10, vec![7, u64::MAX]),
                Enter(3, 5),
                Exit(3, 5),
                Exit(2, 10),
                Enter(4, 10),
                Tail(4, 10),
                Enter(3, 5),
                Exit(3, 5),
                Custom(0, b"hi, \x0f".to_vec()),
                Cpu(4, 3000),
                Wrap(4000),
                Enter(3, 1),
            ],
        ),
        buffer(-7, 1012, vec![Enter(1, 0), Exit(1, 100)]),
    ]
}

/// call, function, instance, parent, tail of, thread, depth, kind, ending, entry, exit
const RUN: [&str; 7] = [
    "1,<function 1>,1,,,1,0,root,return,1000,5100",
    "2,<function 2>,1,1,,1,1,call,return,1010,1030",
    "3,<function 1>,2,,,2,0,root,return,1012,1112",
    "4,<function 3>,1,2,,1,2,call,return,1015,1020",
    "5,<function 4>,1,1,,1,1,call,tail,1040,1050",
    "6,<function 3>,2,1,5,1,1,tail,return,1055,1060",
    "7,<function 3>,3,1,,1,1,call,return,4001,5005",
];

fn check_run(db: &Path, version: u16) {
    assert_eq!(rows(db, CALLS), RUN, "version {version}");
    assert_eq!(
        rows(db, "SELECT call_id, ordinal, value FROM call_argument ORDER BY ALL"),
        ["2,0,7", "2,1,18446744073709551615"]
    );
    let events = rows(
        db,
        "SELECT event_no, thread_id, time, kind, type, size, hex(data), call_id FROM trace_event",
    );
    assert_eq!(events, ["11,1,1060,custom,,5,68692C200F,1"]);
    let pid = if version >= 3 { "9" } else { "" };
    let threads = rows(
        db,
        "SELECT thread_id, pid, tid FROM thread JOIN process USING (process_id) ORDER BY 1",
    );
    assert_eq!(threads, [format!("1,{pid},100"), format!("2,{pid},-7")]);
    let cpu = rows(db, "SELECT event_no, cpu FROM call_event WHERE cpu <> 3 ORDER BY 1");
    assert_eq!(cpu, ["13,4"], "the buffer behind says its own");
    let timing = "SELECT function, calls, min, median, p90, p99, max, sum, sum_self, sum_outermost, sum_s FROM call_timing
                  ORDER BY function_id";
    let seconds = |ticks: u64| ticks as f64 / FREQUENCY as f64;
    let expected = [
        // 100 of the second thread; 4100 less 20 + 10 + 5 + 1004.
        format!("<function 1>,2,100,4100,4100,4100,4100,4200,3161,4200,{}", seconds(4200)),
        format!("<function 2>,1,20,20,20,20,20,20,15,20,{}", seconds(20)),
        format!("<function 3>,3,5,5,1004,1004,1004,1014,1014,1014,{}", seconds(1014)),
        format!("<function 4>,1,10,10,10,10,10,10,10,10,{}", seconds(10)),
    ];
    assert_eq!(rows(db, timing), expected);
    assert_eq!(problems(db), [""; 0]);
}

#[test]
fn every_version_and_byte_order_gives_the_same_calls() {
    for style in styles() {
        let scratch = Scratch::new(&format!("xray-{}-{}-{}", style.version, style.big, style.high));
        check_run(&build(&scratch, &[style.log(&run())], 0), style.version);
    }
}

#[test]
fn basic_logs_in_either_byte_order() {
    for (version, big) in [(1, false), (2, true), (3, false), (3, true)] {
        let s = Style { version, big, high: false };
        let scratch = Scratch::new(&format!("xray-basic-{version}-{big}"));
        let mut log = s.header(0);
        log.extend(s.basic(0, 1, 2, 1000, 50, 9));
        log.extend(s.basic(3, 2, 2, 1010, 50, 9));
        log.extend(s.basic_argument(2, 50, 9, 77));
        log.extend(s.basic(0, 1, 0, 1005, 51, 9));
        log.extend(s.basic(1, 2, 2, 1020, 50, 9));
        log.extend(s.basic(2, 1, 0, 1030, 51, 9));
        log.extend(s.basic(1, 1, 2, 1040, 50, 9));
        let expected = [
            "1,<function 1>,1,,,1,0,root,return,1000,1040",
            "2,<function 1>,2,,,2,0,root,tail,1005,1030",
            "3,<function 2>,1,1,,1,1,call,return,1010,1020",
        ];
        let db = build(&scratch, &[log.clone()], 0);
        assert_eq!(rows(&db, CALLS), expected);
        assert_eq!(rows(&db, "SELECT call_id, ordinal, value FROM call_argument"), ["3,0,77"]);
        let pid = if version == 3 { "9" } else { "" };
        assert_eq!(rows(&db, "SELECT pid FROM process"), [pid]);
        // Concatenated, and a record of a kind that there is not, and an end within a record.
        let mut twice = log.clone();
        twice.extend(s.header(0));
        twice.extend(s.basic(0, 5, 2, 2000, 50, 9));
        twice.extend(s.basic(9, 5, 2, 2001, 50, 9));
        twice.extend(s.basic(1, 5, 2, 2010, 50, 9));
        twice.extend([0; 9]);
        let db = build(&scratch, &[twice], 1);
        assert_eq!(rows(&db, CALLS)[..3], expected);
        assert_eq!(rows(&db, CALLS)[3..], ["4,<function 5>,1,,,1,0,root,return,2000,2010"]);
        assert_eq!(problems(&db), ["xray-damaged 1", "xray-record-cut 1"]);
    }
}

#[test]
fn concatenated_logs_and_one_file_a_thread_are_one_run() {
    for style in styles() {
        let scratch =
            Scratch::new(&format!("xray-files-{}-{}-{}", style.version, style.big, style.high));
        let parts: Vec<Vec<u8>> = run().into_iter().map(|b| style.log(&[b])).collect();
        check_run(&build(&scratch, &[parts.concat()], 0), style.version);
        check_run(&build(&scratch, &parts, 0), style.version);
    }
}

/// Logs of two processes of a program, the same thread numbers in both.
#[test]
fn logs_of_two_processes_are_two_processes() {
    use Op::*;
    let scratch = Scratch::new("xray-processes");
    let of = |pid, ops| V5.log(&[Buffer { pid, ..buffer(7, 100, ops) }]);
    let logs = [
        of(9, vec![Enter(1, 0), Enter(2, 5), Exit(2, 5), Exit(1, 5)]),
        of(10, vec![Enter(1, 2), Enter(3, 5), Exit(3, 5), Exit(1, 5)]),
    ];
    let db = build(&scratch, &logs, 0);
    assert_eq!(problems(&db), [""; 0]);
    let calls = "SELECT p.pid, t.tid, s.name, q.name, c.ending FROM function_call c
                 JOIN function_symbol s USING (function_id) JOIN thread t USING (thread_id)
                 JOIN process p USING (process_id) LEFT JOIN function_call o ON o.call_id = c.parent_call_id
                 LEFT JOIN function_symbol q ON q.function_id = o.function_id ORDER BY ALL";
    let wanted = [
        "9,7,<function 1>,,return",
        "9,7,<function 2>,<function 1>,return",
        "10,7,<function 1>,,return",
        "10,7,<function 3>,<function 1>,return",
    ];
    assert_eq!(rows(&db, calls), wanted);
    // Lanes and rows of a timeline are told apart.
    let lanes = ok(&["calls", utf8(&db), "--timeline"]);
    assert!(lanes.contains("process 9") && lanes.contains("process 10"), "{lanes}");
}

/// The buffers of a program that forked are in its log and in its child's.
#[test]
fn what_a_forked_program_had_written_is_counted_once() {
    use Op::*;
    let style = styles().pop().unwrap();
    let before = vec![Enter(1, 0), Enter(2, 10), Exit(2, 10), Enter(2, 10), Exit(2, 10)];
    let with = |more: &[Op]| buffer(5, 100, [&before, more].concat());
    let (parent, child) =
        (with(&[Enter(3, 5), Exit(3, 5), Exit(1, 5)]), with(&[Enter(4, 7), Exit(4, 7)]));
    let scratch = Scratch::new("xray-fork");
    let (code, error, db) =
        try_build(&scratch, &[style.log(slice::from_ref(&parent)), style.log(&[child])], &[]);
    assert_eq!(code, 0, "{error}");
    let calls = rows(
        &db,
        "SELECT p.pid, s.name, count(*) FROM function_call c JOIN function_symbol s USING (function_id)
         JOIN thread t USING (thread_id) JOIN process p USING (process_id) GROUP BY ALL ORDER BY ALL",
    );
    let wanted = ["9,<function 1>,1", "9,<function 2>,2", "9,<function 3>,1", ",<function 4>,1"];
    let mut wanted = wanted.map(str::to_owned);
    wanted.sort();
    let mut calls = calls;
    calls.sort();
    assert_eq!(calls, wanted);
    assert!(problems(&db).iter().any(|p| p.contains("xray-fork")), "{:?}", problems(&db));
    // A file that is given twice is one.
    let log = style.log(&[parent]);
    let (code, _, db) = try_build(&scratch, &[log.clone(), log], &[]);
    assert_eq!((code, rows(&db, "SELECT count(*) FROM function_call")), (0, vec!["4".to_owned()]));
}

#[test]
fn logs_are_read_compressed_and_from_a_pipe() {
    let scratch = Scratch::new("xray-zstd");
    let log = V5.log(&run());
    let packed = zstd::stream::encode_all(&log[..], 3).unwrap();
    check_run(&build(&scratch, slice::from_ref(&packed), 0), 5);
    let (code, error, db) = try_build(&scratch, &[packed[..packed.len() - 5].to_vec()], &[]);
    let told = || problems(&db).iter().any(|p| p.starts_with("damaged-input"));
    assert!(code == 2 || code == 1 && told(), "{code}: {error}");
    for bytes in [&log, &packed] {
        let db = scratch.path("piped.duckdb");
        let output = piped(&["build", "-", "-o", utf8(&db), "--force"], bytes);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        check_run(&db, 5);
    }
}

#[test]
fn typed_events_stand_in_their_own_table() {
    use Op::*;
    for style in styles().into_iter().filter(|s| s.version >= 2) {
        let scratch =
            Scratch::new(&format!("xray-typed-{}-{}-{}", style.version, style.big, style.high));
        let ops = vec![
            Typed(4, 9, b"before".to_vec()),
            Enter(1, 10),
            Typed(0, 500, b"".to_vec()),
            Exit(1, 6),
        ];
        let db = build(&scratch, &[style.log(&[buffer(1, 100, ops)])], 0);
        // Differences count from the event in version 5 only.
        let base = if style.version >= 5 { 114 } else { 110 };
        let events = rows(
            &db,
            "SELECT time, kind, type, data::VARCHAR, call_id FROM trace_event ORDER BY event_no",
        );
        assert_eq!(events, ["104,typed,9,before,".to_owned(), format!("{base},typed,500,\"\",1")]);
        assert_eq!(
            rows(&db, "SELECT call_time, return_time FROM function_call"),
            [format!("{base},{}", base + 6)]
        );
    }
}

#[test]
fn what_the_runtime_of_version_5_loses_behind_typed_events_is_said() {
    use Op::*;
    let scratch = Scratch::new("xray-typed-cut");
    let ops = vec![Enter(1, 1), Typed(1, 2, b"data".to_vec()), Exit(1, 1), Enter(2, 1), Exit(2, 4)];
    let mut log =
        V5.log(&[buffer(1, 100, ops.clone()), buffer(2, 200, vec![Enter(1, 0), Exit(1, 1)])]);
    // The buffer counts 16 bytes less and has 16 bytes less: two records; then half a record.
    let start = 32 + 16;
    let size = u64::from_le_bytes(log[33..41].try_into().unwrap()) as usize;
    for cut in [16, 20] {
        log[33..41].copy_from_slice(&((size - cut) as u64).to_le_bytes());
        let mut short = log.clone();
        short.drain(start + size - cut..start + size);
        let db = build(&scratch, &[short], 0);
        let expected: &[&str] = if cut == 16 {
            &["xray-open 0"; 0]
        } else {
            &["xray-open 1", "xray-typed-event-cut 1"]
        };
        let ends = rows(&db, CALLS);
        assert_eq!(ends.len(), 2, "{ends:?}");
        assert_eq!(problems(&db), expected, "{ends:?}");
    }
}

#[test]
fn entries_and_exits_that_fit_to_nothing() {
    use Op::*;
    let scratch = Scratch::new("xray-fits");
    let ops = vec![
        // Nobody entered 9; 8 has left before 7 does; the exits of 3 and 2 are lost; 5 stays; 1 is
        // recursive.
        Exit(9, 0),
        Enter(1, 10),
        Enter(2, 10),
        Enter(3, 10),
        Exit(1, 10),
        Exit(2, 10),
        Enter(1, 10),
        Enter(1, 10),
        Exit(1, 10),
        Exit(8, 5),
        Enter(5, 10),
    ];
    let db = build(&scratch, &[V5.log(&[buffer(1, 100, ops)])], 0);
    let expected = [
        "1,<function 9>,1,,,1,0,gap,return,,100",
        "2,<function 1>,1,,,1,0,root,return,110,140",
        "3,<function 2>,1,2,,1,1,call,unwound,120,140",
        "4,<function 3>,1,3,,1,2,call,unwound,130,140",
        "5,<function 2>,2,,,1,0,gap,return,,150",
        "6,<function 1>,2,,,1,0,root,open,160,",
        "7,<function 1>,3,6,,1,1,call,return,170,180",
        "8,<function 8>,1,,,1,0,gap,return,,185",
        "9,<function 5>,1,6,,1,1,call,open,195,",
    ];
    assert_eq!(rows(&db, CALLS), expected);
    assert_eq!(problems(&db), ["xray-gap 3", "xray-open 2", "xray-unwound 2"]);
    let graph = rows(&db, "SELECT caller, callee, kind, calls FROM call_graph ORDER BY ALL");
    let edges = [
        "<function 1>,<function 1>,call,1",
        "<function 1>,<function 2>,call,1",
        "<function 1>,<function 5>,call,1",
        "<function 2>,<function 3>,call,1",
        ",<function 1>,root,2",
        ",<function 2>,gap,1",
        ",<function 8>,gap,1",
        ",<function 9>,gap,1",
    ];
    assert_eq!(graph, edges);
    // The recursive call counts once; what is open has no duration.
    let timing = rows(
        &db,
        "SELECT calls, sum, sum_self, sum_outermost FROM call_timing WHERE function = '<function 1>'",
    );
    assert_eq!(timing, ["2,40,20,30"]);
    // Shares of the run count it to the last event of its thread, its own and all.
    let functions = ok(&["calls", utf8(&db), "--functions", "--format", "csv"]);
    let ticks = functions.lines().find_map(|l| l.strip_prefix("<function 1>,3,45,"));
    assert!(ticks.is_some_and(|rest| rest.contains(",65,")), "{functions}");
    assert!(ok(&["verify", utf8(&db)]).contains("function_call"));
}

#[test]
fn a_chain_of_tail_calls_by_either_reading_of_the_document() {
    use Op::*;
    for (second, chained) in [(2, false), (1, true)] {
        let scratch = Scratch::new(&format!("xray-chain-{second}"));
        let ops = vec![
            Enter(9, 0),
            Enter(1, 1),
            Tail(1, 1),
            Enter(2, 1),
            Tail(second, 1),
            Enter(3, 1),
            Exit(3, 1),
            Exit(9, 1),
        ];
        let db = build(&scratch, &[V5.log(&[buffer(1, 100, ops)])], 0);
        let expected = [
            "1,<function 9>,1,,,1,0,root,return,100,107",
            "2,<function 1>,1,1,,1,1,call,tail,101,102",
            "3,<function 2>,1,1,2,1,1,tail,tail,103,104",
            "4,<function 3>,1,1,3,1,1,tail,return,105,106",
        ];
        assert_eq!(rows(&db, CALLS), expected);
        assert_eq!(problems(&db).len(), usize::from(chained));
    }
}

/// Damages a log of three buffers; gives the functions whose calls are whole, and the problems.
fn damaged(
    name: &str,
    style: Style,
    damage: impl FnOnce(&mut Vec<u8>),
) -> (Vec<String>, Vec<String>) {
    use Op::*;
    let scratch = Scratch::new(&format!("xray-damage-{name}-{}", style.version));
    let one = |tid: i32| {
        buffer(
            tid,
            100 * tid as u64,
            vec![
                Enter(tid as u32, 1),
                Exit(tid as u32, 9),
                Enter(tid as u32 + 10, 1),
                Exit(tid as u32 + 10, 5),
            ],
        )
    };
    let mut log = style.log(&[one(1), one(2), one(3)]);
    damage(&mut log);
    let (strict, refusal, _) = try_build(&scratch, &[log.clone()], &["--strict"]);
    let (code, error, db) = try_build(&scratch, &[log], &[]);
    let lost = !rows(&db, "SELECT 1 FROM diagnostic WHERE severity = 'error'").is_empty();
    assert_eq!(code, i32::from(lost), "{error}");
    assert_eq!(strict, if lost { 2 } else { 0 }, "{refusal}");
    let whole = rows(
        &db,
        "SELECT name FROM function_call JOIN function_symbol USING (function_id) WHERE ending = 'return' ORDER BY call_id",
    );
    (
        whole
            .iter()
            .map(|n| n.trim_start_matches("<function ").trim_end_matches('>').to_owned())
            .collect(),
        problems(&db),
    )
}

/// Bytes of a buffer in [`damaged`]: its extents, four records that say whose it is, four of
/// functions.
const SIZE: usize = 16 + 4 * 16 + 4 * 8;

/// Events of a log and codes of what is wrong with it, read without a database.
fn events(log: &[u8]) -> (Vec<addfg::internals::trace::xray::Event>, Vec<&'static str>) {
    let mut index = addfg::internals::trace::xray::Index::new(&[log]);
    let mut problems = std::mem::take(&mut index.problems);
    let mut all = Vec::new();
    addfg::internals::trace::xray::merge(
        &[log],
        &index.blocks,
        &index.threads,
        &mut problems,
        &mut |_| true,
        |_, _, event| all.push(*event),
    );
    let codes = problems.diagnostics(&["log".to_owned()]).map(|(d, _)| d.code).collect();
    (all, codes)
}

#[test]
fn a_file_cut_off_anywhere_gives_the_records_before() {
    use Op::*;
    let ops = |n: u32| vec![Enter(n, 1), Exit(n, 9), Enter(n + 10, 1), Exit(n + 10, 5)];
    for style in styles().into_iter().filter(|s| s.version >= 2) {
        let log = style.log(&[1, 2, 3].map(|n| buffer(n, 100 * n as u64, ops(n as u32))));
        let size = (log.len() - 32) / 3;
        for length in 32..log.len() {
            let (events, problems) = events(&log[..length]);
            let in_buffer = |have: usize| have.saturating_sub(size - 4 * 8) / 8;
            let expected: usize =
                (0..3).map(|b| in_buffer((length - 32).saturating_sub(b * size).min(size))).sum();
            assert_eq!(events.len(), expected, "{style:?} {length} bytes: {problems:?}");
            assert_eq!(
                problems.is_empty(),
                (length - 32).is_multiple_of(size),
                "{style:?} {length} bytes: {problems:?}"
            );
        }
    }
}

#[test]
fn no_damage_makes_the_reader_panic_or_give_more_than_there_is() {
    for style in styles() {
        let log = style.log(&run());
        let mut random = program::Random::new(
            u64::from(style.version) * 4 + u64::from(style.big) * 2 + u64::from(style.high),
        );
        for _ in 0..2000 {
            let mut bad = log.clone();
            for _ in 0..1 + random.below(6) {
                let at = random.below(bad.len() as u64) as usize;
                match random.below(4) {
                    0 => bad[at] = random.next() as u8,
                    1 => drop(bad.remove(at)),
                    2 => bad.insert(at, [0, 1, 0x0f, 0x80, 0xff][random.below(5) as usize]),
                    _ => bad.truncate(at.max(40)),
                }
            }
            let (events, _) = events(&bad);
            assert!(events.len() <= bad.len() / 8);
        }
    }
}

/// How fast logs are decoded: `cargo test --release --test it xray::rate -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn rate() {
    use Op::*;
    let one: Vec<Op> = (0..1000u32)
        .flat_map(|i| [Enter(1 + i % 7, 30), Enter(8, 20), Exit(8, 50), Exit(1 + i % 7, 10)])
        .collect();
    let buffers: Vec<Buffer> =
        (0..15_000).map(|n| buffer(1 + n % 4, 1000 * 110 * n as u64, one.clone())).collect();
    let log = V5.log(&buffers);
    let cpu = || {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        fields.get(11).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0) / 100.0
    };
    let (begin, from) = (std::time::Instant::now(), cpu());
    let mut index = addfg::internals::trace::xray::Index::new(&[&log]);
    let mut problems = std::mem::take(&mut index.problems);
    let mut count = 0u64;
    addfg::internals::trace::xray::merge(
        &[&log],
        &index.blocks,
        &index.threads,
        &mut problems,
        &mut |_| true,
        |_, _, event| {
            count += u64::from(event.function > 0);
        },
    );
    let (wall, used) = (begin.elapsed().as_secs_f64(), cpu() - from);
    let rate = |seconds: f64| count as f64 / seconds / 1e6;
    println!(
        "{count} records: {wall:.2} s, {:.1} M/s; {used:.2} s of a processor, {:.1} M/s",
        rate(wall),
        rate(used)
    );
    assert_eq!(count, 60_000_000);
}

#[test]
fn damage_of_every_kind_is_said_and_loses_little() {
    let all = ["1", "11", "2", "12", "3", "13"].map(str::to_owned);
    let others = ["1", "11", "3", "13"].map(str::to_owned);
    let second = 32 + SIZE;
    // Junk between buffers; zeros are none.
    let (whole, problems) = damaged("junk", V5, |log| drop(log.splice(second..second, [0x33; 21])));
    assert_eq!((whole, problems), (all.to_vec(), vec!["xray-no-buffer 1".into()]));
    let (whole, problems) = damaged("zeros", V5, |log| drop(log.splice(second..second, [0; 40])));
    assert_eq!((whole, problems), (all.to_vec(), vec![]));
    // A buffer that says it is longer than the file, or that it ends within the next one.
    let (whole, problems) = damaged("long", V5, |log| log[second + 1..second + 9].fill(0x7f));
    assert_eq!((whole, problems), (all.to_vec(), vec!["xray-buffer-size 1".into()]));
    let (whole, problems) = damaged("longer", V5, |log| log[second + 1] += 40);
    assert_eq!((whole, problems), (all.to_vec(), vec!["xray-buffer-size 1".into()]));
    // One that says it is shorter.
    let (whole, problems) = damaged("short", V5, |log| log[second + 1] -= 16);
    let expected = ["1", "11", "2", "3", "13"].map(str::to_owned).to_vec();
    assert_eq!((whole, problems), (expected, vec!["xray-no-buffer 1".into()]));
    // The record that says how long it is is gone.
    let (whole, problems) = damaged("no-extents", V5, |log| drop(log.drain(second..second + 16)));
    assert_eq!((whole, problems), (all.to_vec(), vec!["xray-no-extents 1".into()]));
    // Whose it is is not known.
    let (whole, problems) = damaged("no-thread", V5, |log| log[second + 16] = 0x09);
    assert_eq!((whole, problems), (others.to_vec(), vec!["xray-no-thread 1".into()]));
    // What time it is is not known.
    let (whole, problems) = damaged("no-clock", V5, |log| log[second + 64] = 0x01);
    assert_eq!((whole, problems), (others.to_vec(), vec!["xray-no-clock 4".into()]));
    // Records that there are not.
    let (whole, problems) = damaged("function", V5, |log| log[second + 80 + 16] |= 0x0e);
    assert_eq!(
        (whole, problems),
        (["1", "11", "2", "3", "13"].map(str::to_owned).to_vec(), vec!["xray-damaged 1".into()])
    );
    let (whole, problems) = damaged("metadata", V5, |log| log[second + 80] = 0xff);
    assert_eq!((whole, problems), (others.to_vec(), vec!["xray-damaged 1".into()]));
    // An event that is longer than its buffer, and one of less than no bytes.
    let event = |size: i32| {
        move |log: &mut Vec<u8>| {
            log[second + 80] = 0x0b;
            log[second + 81..second + 85].copy_from_slice(&size.to_le_bytes());
        }
    };
    let (whole, problems) = damaged("event", V5, event(1000));
    assert_eq!((whole, problems), (others.to_vec(), vec!["xray-record-cut 1".into()]));
    let (whole, problems) = damaged("event-negative", V5, event(-1));
    assert_eq!((whole, problems), (others.to_vec(), vec!["xray-damaged 1".into()]));
    // A header of a version that is to come, behind the first.
    let (whole, problems) = damaged("version", V5, |log| {
        let next = Style { version: 6, ..V5 }.header(1);
        log.splice(second..second, next);
    });
    assert_eq!((whole, problems), (all.to_vec(), vec!["xray-no-buffer 1".into()]));
}

#[test]
fn buffers_of_version_1_are_found_by_their_size_or_by_what_begins_them() {
    let all = ["1", "11", "2", "12", "3", "13"].map(str::to_owned);
    // The first version of the runtime wrote a time of day for the size of a buffer.
    for size in [1_489_000_000u64, 7, 0] {
        let (whole, problems) =
            damaged("timespec", V1, |log| log[16..24].copy_from_slice(&size.to_le_bytes()));
        assert_eq!((whole, problems), (all.to_vec(), vec![]), "{size}");
    }
    // The record that ends the first buffer is overwritten.
    let (whole, problems) = damaged("no-end", V1, |log| log[32 + 48 + 32..32 + SLOT].fill(0xff));
    assert_eq!((whole, problems), (all.to_vec(), vec!["xray-damaged 1".into()]));
    // The last buffer is cut off, behind its end or before.
    let (whole, problems) = damaged("tail", V1, |log| log.truncate(32 + 2 * SLOT + 200));
    assert_eq!((whole, problems), (all.to_vec(), vec![]));
    let (whole, problems) = damaged("cut", V1, |log| log.truncate(32 + 2 * SLOT + 48 + 16));
    assert_eq!((whole, problems), (all[..5].to_vec(), vec!["xray-buffer-cut 1".into()]));
}

#[test]
fn a_clock_that_goes_back_keeps_the_order_of_records() {
    use Op::*;
    let scratch = Scratch::new("xray-back");
    let ops = vec![Enter(1, 0), Enter(2, 10), Cpu(5, 50), Exit(2, 1), Exit(1, 1)];
    let db = build(&scratch, &[V5.log(&[buffer(1, 100, ops)])], 0);
    let expected =
        ["1,<function 1>,1,,,1,0,root,return,100,52", "2,<function 2>,1,1,,1,1,call,return,110,51"];
    assert_eq!(rows(&db, CALLS), expected);
    assert_eq!(problems(&db), ["xray-clock-back 1"]);
    assert_eq!(rows(&db, "SELECT calls, sum FROM call_timing"), ["0,0", "0,0"]);
}

#[test]
fn what_is_no_log_of_a_known_version_is_refused() {
    let scratch = Scratch::new("xray-refused");
    let (code, error, _) = try_build(&scratch, &[Style { version: 6, ..V5 }.log(&run())], &[]);
    assert_eq!(code, 2, "{error}");
    let (code, error, _) = try_build(&scratch, &[b"no log".to_vec()], &["--format", "xray"]);
    assert!(code == 2 && error.contains("no header of an XRay log"), "{code}: {error}");
    // Headers and nothing else: each begins an empty log.
    for style in styles() {
        let (all, problems) = events(&style.header(1).repeat(3));
        assert!(all.is_empty() && problems.is_empty(), "{style:?} {problems:?}");
    }
    // A log without buffers is one in which nothing was recorded.
    let db = build(&scratch, &[V5.header(1)], 0);
    assert_eq!(rows(&db, CALLS), [""; 0]);
}

#[test]
fn less_detail_keeps_the_sums() {
    let scratch = Scratch::new("xray-detail");
    let mut seen = Vec::new();
    for detail in ["summary", "instance", "pairs", "full"] {
        let (code, error, db) = try_build(&scratch, &[V5.log(&run())], &["--detail", detail]);
        assert_eq!(code, 0, "{error}");
        let count = |table: &str| rows(&db, &format!("SELECT count(*) FROM {table}")).concat();
        let counts =
            ["function_call", "call_record", "control_flow", "call_event"].map(count).join(" ");
        let sums = [
            rows(&db, "FROM call_timing ORDER BY ALL"),
            rows(&db, "FROM stack_timing ORDER BY ALL"),
            rows(&db, "FROM call_graph ORDER BY ALL"),
        ];
        seen.push((counts, sums));
    }
    assert_eq!(
        seen.iter().map(|s| s.0.as_str()).collect::<Vec<_>>(),
        ["0 0 0 0", "7 7 12 0", "7 7 12 14", "7 7 12 14"]
    );
    assert!(seen.iter().all(|s| s.1 == seen[0].1 && s.1.iter().all(|r| !r.is_empty())));
}

#[test]
fn verify_derives_the_calls_from_the_records() {
    let scratch = Scratch::new("xray-verify");
    let db = build(&scratch, &[V5.log(&run())], 0);
    let text = ok(&["verify", utf8(&db)]);
    for table in ["function_call", "call_record", "call_edge", "function_time", "stack_time"] {
        assert!(text.lines().any(|l| l.starts_with(table) && l.contains("equal")), "{text}");
    }
    // It sees every kind of difference.
    for change in [
        "UPDATE function_call_row SET return_time = return_time + 1 WHERE call_id = 4",
        "UPDATE function_call_row SET tail_of_call_id = NULL WHERE call_id = 6",
        "UPDATE function_call_row SET parent_call_id = 1 WHERE call_id = 4",
        "UPDATE call_record SET ticks_self = 1 WHERE call_id = 1",
        "UPDATE call_stack SET function_id = 1 WHERE stack_id = 2",
        "UPDATE call_edge SET calls = calls + 1 WHERE callee_function_id = 3",
        "UPDATE function_time SET p90 = p90 + 1 WHERE function_id = 3",
        "UPDATE call_event_row SET kind = 2 WHERE event_no = 5",
    ] {
        let copy = scratch.copy(&db, "changed.duckdb");
        common::change(&copy, change);
        let output = addfg(&["verify", utf8(&copy)]);
        assert_eq!(output.status.code(), Some(1), "{change}: {}", printed(&output));
    }
}

#[test]
fn every_command_says_what_an_xray_log_has_or_lacks() {
    let scratch = Scratch::new("xray-commands");
    let db = build(&scratch, &[V5.log(&run())], 0);
    let db = utf8(&db);
    let info = ok(&["info", db]);
    assert!(
        info.contains("the traces carry: time, threads, calls") && info.contains("no dataflow"),
        "{info}"
    );
    let graph = ok(&["graph", db, "--show", "calls"]);
    assert!(graph.contains("function 4") && graph.contains("->"), "{graph}");
    assert!(ok(&["graph", db]).contains("No data: this trace (xray) has no accesses"));
    let times = ok(&["calls", db, "--times"]);
    assert!(times.lines().count() == 6 && times.contains("p99_s"), "{times}");
    assert!(ok(&["calls", db, "--times=ticks"]).contains("p99_ticks"));
    let stacks = ok(&["calls", db, "--times", "--by-stack"]);
    assert!(stacks.contains("<function 1> > <function 2> > <function 3>"), "{stacks}");
    let tree = ok(&["calls", db, "--tree", "--least", "0"]);
    assert!(tree.contains("100.0 %") && tree.lines().count() == 6, "{tree}");
    let timeline = ok(&["calls", db, "--timeline"]);
    for said in ["ticks (2.05 µs), callers above", ">thread 100<", ">thread -7<", ", thread -7"] {
        assert!(timeline.contains(said), "{said}: {timeline}");
    }
    for command in [
        &["calls", db][..],
        &["calls", db, "--functions"],
        &["calls", db, "<function 3>"],
        &["instances", db, "<function 3>"],
        &["graph", db, "--level", "thread"],
        &["graph", db, "--level", "context"],
        &["graph", db, "--level", "file"],
        &["graph", db, "--focus", "<function 3>"],
        &["graph", db, "--focus", "<function 3>#2"],
        &["graph", db, "--level", "line"],
        &["graph", db, "--level", "step"],
        &["graph", db, "--strategy", "bottom-up"],
        &["flows", db, "<function 1>", "<function 2>"],
        &["slice", db, "--at", "1"],
        &["loops", db],
        &["matrix", db],
        &["memory", db],
        &["critical", db],
        &["diff", db, db],
    ] {
        let output = addfg(command);
        let text = printed(&output) + &said(&output);
        assert!(!text.contains("panicked") && !text.contains("database:"), "{command:?}: {text}");
        assert!(!text.trim().is_empty(), "{command:?} says nothing");
        println!("{command:?} {:?}\n{text}", output.status.code());
    }
}

/// The logs of tests/formats/xray, as written here: they are files so that other programs and
/// readers of the tree have them.
fn fixtures() -> Vec<(&'static str, Vec<u8>)> {
    let basic = Style { version: 3, ..V5 };
    let mut log = basic.header(0);
    log.extend(basic.basic(3, 2, 2, 1010, 50, 9));
    log.extend(basic.basic_argument(2, 50, 9, 77));
    log.extend(basic.basic(1, 2, 2, 1020, 50, 9));
    let whole = V5.log(&run());
    let mut damaged = whole.clone();
    damaged[32 + 16 + 64] = 0xff;
    let high = Style { version: 4, big: true, high: true };
    vec![
        ("good-fdr5", whole.clone()),
        ("good-fdr4-big", high.log(&run())),
        ("good-basic3", log),
        ("truncated-fdr5", whole[..whole.len() - 13].to_vec()),
        ("damaged-fdr5", damaged),
    ]
}

#[test]
fn fixtures_are_recognised_and_give_what_their_snapshots_say() {
    let settings = beside_formats();
    for (name, bytes) in fixtures() {
        let path = repository(&format!("tests/formats/xray/{name}.xray"));
        if !path.exists() {
            std::fs::write(&path, &bytes).unwrap();
            panic!("wrote {}: run again", path.display());
        }
        assert!(std::fs::read(&path).unwrap() == bytes, "{name} is not as written here");
        let input = addfg::internals::trace::input::Input::open(&path).unwrap();
        let yes: Vec<_> = addfg::internals::trace::formats()
            .filter(|f| f.sniff(input.head()))
            .map(|f| f.name())
            .collect();
        assert_eq!(yes, ["xray"], "{name}");
        let mut text = String::new();
        for (i, line) in bytes.chunks(16).enumerate() {
            let hex: Vec<String> = line.iter().map(|b| format!("{b:02x}")).collect();
            text += &format!("| {:04x} {}\n", i * 16, hex.join(" "));
        }
        let (events, problems) = events(&bytes);
        for e in events {
            text += &format!(
                "{:?} function {} time {} cpu {} value {:#x}\n",
                e.kind, e.function, e.time, e.cpu, e.value
            );
        }
        text += &format!("problems: {}\n", problems.join(" "));
        assert_eq!(problems.is_empty(), name.starts_with("good"));
        settings.bind(|| insta::assert_snapshot!(format!("xray-{name}"), text));
    }
}
