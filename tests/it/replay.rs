//! Saved registers when a run is gone through again: several restores of one save, several saves
//! and restores in one step.

use super::common::program::{Program, Random};
use super::common::*;
use super::views::{Kept, kept, replayed};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// An argument that is spilled once and reloaded twice.
const SPILLED: &str = "# giano 1 isa=x86_64 values=after accesses=yes
1 1000 bf07000000 \"mov edi, 7\" rsp=7000
2 1005 e8f60f0000 \"call 2000\" rsp=6ff8 [M:W 6ff8 8]
3 2000 4883ec18 \"sub rsp, 24\" rsp=6fe0
4 2004 48897c2408 \"mov [rsp+8], rdi\" rsp=6fe0 [M:W 6fe8 8]
5 2009 31ff \"xor edi, edi\" rsp=6fe0
6 200b 488b7c2408 \"mov rdi, [rsp+8]\" rsp=6fe0 [M:R 6fe8 8]
7 2010 4889f8 \"mov rax, rdi\" rsp=6fe0
8 2013 31ff \"xor edi, edi\" rsp=6fe0
9 2015 488b7c2408 \"mov rdi, [rsp+8]\" rsp=6fe0 [M:R 6fe8 8]
10 201a 4889f9 \"mov rcx, rdi\" rsp=6fe0
11 201d 4883c418 \"add rsp, 24\" rsp=6ff8
12 2021 c3 \"ret\" rsp=7000 [M:R 6ff8 8]
13 100a 90 \"nop\" rsp=7000
";

/// Two registers saved by one instruction and restored by another one that returns.
const POPPED: &str = "# giano 1 isa=arm values=after accesses=yes
1 1000 e3a04001 \"mov r4, #1\" sp=7000 pc=1000
2 1004 e3a05002 \"mov r5, #2\" sp=7000 pc=1004
3 1008 eb0003fc \"bl 2000\" sp=7000 lr=100c pc=1008
4 2000 e92d4030 \"push {r4, r5, lr}\" sp=6ff4 pc=2000 [M:W 6ff4 4] [M:W 6ff8 4] [M:W 6ffc 4]
5 2004 e3a04009 \"mov r4, #9\" sp=6ff4 pc=2004
6 2008 e3a05009 \"mov r5, #9\" sp=6ff4 pc=2008
7 200c e8bd8030 \"pop {r4, r5, pc}\" sp=7000 pc=200c [M:R 6ff4 4] [M:R 6ff8 4] [M:R 6ffc 4]
8 100c e0840005 \"add r0, r4, r5\" sp=7000 pc=100c
";

fn build(scratch: &Scratch, name: &str, log: &str) -> PathBuf {
    let (path, db) =
        (scratch.path(&format!("{name}.log")), scratch.path(&format!("{name}.duckdb")));
    std::fs::write(&path, log).unwrap();
    let (path, out) = (path.to_str().unwrap(), db.to_str().unwrap());
    // Tests change the rows.
    ok(&["build", path, "-o", out, "--force", "--quiet", "--detail", "full", "--no-steps"]);
    db
}

fn open(db: &Path) -> duckdb::Connection {
    addfg::internals::store::open::open(db, false).unwrap()
}

/// Steps of a slice.
fn slice(db: &Path, at: i64, way: &str) -> BTreeSet<i64> {
    let (db, at) = (db.to_str().unwrap(), at.to_string());
    let text = ok(&["slice", db, "--at", &at, way, "--limit", "0", "--format", "csv"]);
    text.lines().skip(1).map(|l| l.split(',').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn an_argument_that_is_reloaded_twice_keeps_its_producer() {
    let scratch = Scratch::new("reloaded");
    let db = build(&scratch, "spilled", SPILLED);
    let restores = rows(&db, "SELECT save_seq, restores, restore_seq FROM saved_register");
    assert_eq!(restores, ["4,2,9"]);
    for use_of_it in [7, 10] {
        assert_eq!(slice(&db, use_of_it, "--backward"), BTreeSet::from([1, use_of_it]));
    }
    assert_eq!(slice(&db, 1, "--forward"), BTreeSet::from([1, 7, 10]));
    assert_eq!(replayed(&open(&db)), kept(&open(&db)));
}

#[test]
fn one_step_restores_several_registers() {
    let scratch = Scratch::new("popped");
    let db = build(&scratch, "popped", POPPED);
    let sql = "SELECT save_seq, restores, restore_seq FROM saved_register WHERE restores > 0";
    assert_eq!(rows(&db, sql), ["4,1,7", "4,1,7"]);
    assert_eq!(slice(&db, 8, "--backward"), BTreeSet::from([1, 2, 8]));
    assert_eq!(slice(&db, 2, "--forward"), BTreeSet::from([2, 8]));
    assert_eq!(replayed(&open(&db)), kept(&open(&db)));
}

/// Steps that communications connect with one, in one direction.
fn closure(start: i64, next: &BTreeMap<i64, Vec<i64>>) -> BTreeSet<i64> {
    let (mut seen, mut stack) = (BTreeSet::from([start]), vec![start]);
    while let Some(n) = stack.pop() {
        stack.extend(next.get(&n).into_iter().flatten().filter(|&&m| seen.insert(m)));
    }
    seen
}

/// Random programs save and unwind as they like.
#[test]
fn slices_of_random_programs_are_closures() {
    let scratch = Scratch::new("slices-random");
    for seed in 1..6 {
        let mut random = Random::new(seed);
        let program = Program::new(&mut random);
        let (log, _) = program.run(&mut random, 4000, 2);
        let db = build(&scratch, "random", &log);
        let connection = open(&db);
        let stored: Vec<Kept> = kept(&connection);
        assert_eq!(replayed(&connection), stored, "seed {seed}");
        let (mut sources, mut sinks) = (BTreeMap::new(), BTreeMap::new());
        for (write, _, read, ..) in stored {
            if let Some(write) = write {
                sources.entry(read).or_insert_with(Vec::new).push(write);
                sinks.entry(write).or_insert_with(Vec::new).push(read);
            }
        }
        let last = *sources.keys().last().unwrap();
        for at in [last, last / 2, last / 3] {
            assert_eq!(slice(&db, at, "--backward"), closure(at, &sources), "seed {seed}, {at}");
            assert_eq!(slice(&db, at, "--forward"), closure(at, &sinks), "seed {seed}, {at}");
        }
    }
}

/// Gaps between runs are not gone through window by window.
#[test]
fn steps_far_out_are_reached_at_once() {
    let scratch = Scratch::new("far");
    let db = scratch.copy(&example("fir", "rows"), "db.duckdb");
    let far = 1_i64 << 60;
    let connection = duckdb::Connection::open(&db).unwrap();
    // The last runs and reads, once more and far out; the one before them is in the middle.
    for (table, seq) in [("block_run", "start_seq"), ("communication_row", "read_seq")] {
        let copy = format!(
            "INSERT INTO {table} (SELECT * REPLACE ({seq} + {far} AS {seq}) FROM {table} ORDER BY {seq} DESC LIMIT 1)"
        );
        connection.execute_batch(&copy).unwrap();
    }
    connection
        .execute_batch("UPDATE function_call_row SET return_seq = return_seq * 1000000000000")
        .unwrap();
    connection.close().unwrap();
    let last = rows(&db, "SELECT max(seq) FROM opcode_line")[0].clone();
    assert!(last.parse::<i64>().unwrap() >= far);
    let pair = rows(&db, "SELECT writer, reader FROM function_dataflow ORDER BY ALL LIMIT 1");
    let (writer, reader) = pair[0].split_once(',').unwrap();
    let (ended, end) = std::sync::mpsc::channel();
    let commands: Vec<Vec<String>> = vec![
        vec!["memory".into(), utf8(&db).into()],
        vec!["slice".into(), utf8(&db).into(), "--at".into(), last, "--backward".into()],
        vec!["slice".into(), utf8(&db).into(), "--at".into(), "1".into(), "--forward".into()],
        vec!["flows".into(), utf8(&db).into(), writer.into(), reader.into()],
    ];
    std::thread::spawn(move || {
        for command in commands {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            ended.send((addfg(&words).status.code(), command)).unwrap();
        }
    });
    for _ in 0..4 {
        let (code, command) = end.recv_timeout(std::time::Duration::from_secs(20)).expect("ends");
        assert!(matches!(code, Some(0 | 1)), "{command:?}: {code:?}");
    }
}

/// To keep something of each byte of an access that claims 4 GB took 220 GB, and as much a list of
/// threads of which one claims to be the last that there can be.
#[test]
fn numbers_that_no_run_has_are_damage() {
    let scratch = Scratch::new("large-numbers");
    let db = build(&scratch, "spilled", SPILLED);
    let original = std::fs::read(&db).unwrap();
    for (change, words) in [
        ("UPDATE saved_register_row SET bytes = 4294967295", "an access of 4294967295 bytes"),
        ("UPDATE block_access SET size = 4294967295", "an access of 4294967295 bytes"),
        // 400 of these took eight minutes.
        ("UPDATE block_access SET size = 11052192", "an access of 11052192 bytes"),
        ("UPDATE block_run SET thread_id = 2147483647", "thread 2147483647 is not there"),
        ("UPDATE thread SET process_id = 2147483647", "process 2147483647 is not there"),
    ] {
        std::fs::write(&db, &original).unwrap();
        let connection = duckdb::Connection::open(&db).unwrap();
        connection.execute_batch(change).unwrap();
        connection.close().unwrap();
        let slice = ["slice", utf8(&db), "--at", "10", "--backward"];
        refused(&slice, &[words]);
    }
}
