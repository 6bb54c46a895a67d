//! From the JPEG recording's database to each view, without starting a process (`end_to_end.sh`
//! does that).

use crate::inputs::DATABASE;
use addfg::internals::graph::{Level, Selection, Strategy, Stubs, load};
use addfg::internals::replay::critical::Weight;
use addfg::internals::replay::slice::Bounds;
use addfg::internals::store::open::open;
use addfg::internals::views;
use addfg::internals::views::slice::{Along, Direction};
use divan::Bencher;
use duckdb::Connection;
use std::collections::BTreeSet;

fn database() -> Connection {
    open(&DATABASE, false).expect("database")
}

/// Opening a database, which every command does.
#[divan::bench]
fn open_database() -> Connection {
    database()
}

#[divan::bench(args = Level::ALL.iter().map(|level| level.name()), sample_count = 10, sample_size = 1)]
fn graph(bencher: Bencher, level: &str) {
    let connection = database();
    let level = Level::parse(level).expect("a level");
    let range = (level == Level::Step).then_some((1, 1000));
    let selection = Selection { level, range, ..Selection::default() };
    bencher.bench_local(|| load(&connection, &selection).expect("graph"));
}

#[divan::bench(sample_count = 3, sample_size = 1)]
fn graph_bottom_up(bencher: Bencher) {
    let connection = database();
    let selection = Selection { strategy: Strategy::BottomUp, ..Selection::default() };
    bencher.bench_local(|| load(&connection, &selection).expect("graph"));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn calls(bencher: Bencher) {
    let connection = database();
    bencher.bench_local(|| views::calls::tree(&connection, 0.0, Stubs::Fold).expect("tree"));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn timeline(bencher: Bencher) {
    let connection = database();
    bencher.bench_local(|| views::calls::timeline(&connection).expect("timeline"));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn matrix(bencher: Bencher) {
    let connection = database();
    bencher.bench_local(|| {
        views::matrix::matrix(&connection, 24, &Default::default()).expect("matrix")
    });
}

#[divan::bench(args = [false, true], sample_count = 5, sample_size = 1)]
fn loops(bencher: Bencher, carried: bool) {
    let connection = database();
    bencher.bench_local(|| {
        views::loops::loops(&connection, &BTreeSet::new(), carried).expect("loops")
    });
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn memory(bencher: Bencher) {
    let connection = database();
    bencher.bench_local(|| views::memory::memory(&connection).expect("memory"));
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn critical(bencher: Bencher) {
    let connection = database();
    bencher.bench_local(|| {
        views::critical::critical(&connection, Weight::Steps).expect("critical path")
    });
}

/// Backwards from the last step, as far as it goes.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn slice(bencher: Bencher) {
    let connection = database();
    let last: i64 = connection
        .query_row("SELECT max(end_seq) FROM control_flow", [], |row| row.get(0))
        .expect("steps");
    let bounds = Bounds { depth: u32::MAX, limit: 1000, far: i64::MAX };
    bencher.bench_local(|| {
        views::slice::slice(
            &connection,
            &last.to_string(),
            Direction::Backward,
            Along::Data,
            bounds,
        )
        .expect("slice")
    });
}
