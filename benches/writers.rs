//! From rows to a database, and from a graph to a file.

use crate::inputs::{DATABASE, SCRATCH};
use addfg::analysis::{Communication, Output};
use addfg::graph::{Selection, load};
use addfg::render::{Made, RENDERERS, renderer};
use addfg::store::columns::ColumnOutput;
use addfg::store::open::open;
use addfg::store::writer::{Rows, RunRows, Writer};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};

/// Rows that a benchmark writes.
const ROWS: u64 = 1 << 20;
/// Runs that come in a batch.
const RUNS: u64 = 1 << 16;

fn written(write: impl FnOnce(std::sync::mpsc::SyncSender<Rows>)) {
    let mut writer = Writer::create(&SCRATCH.join("written.duckdb"), true).expect("a new database");
    write(writer.sender().expect("a sender"));
    let connection = writer.join().expect("rows are written");
    writer.commit(connection).expect("a complete database");
}

/// The cost of a database without rows, which the other two contain.
#[divan::bench(sample_count = 8, sample_size = 1)]
fn database_empty() {
    written(|_| ());
}

/// Straight runs with three addresses each.
#[divan::bench(sample_count = 8, sample_size = 1)]
fn database_runs(bencher: Bencher) {
    bencher.counter(ItemsCount::new(ROWS)).bench(|| {
        written(|rows| {
            for first in (0..ROWS).step_by(RUNS as usize) {
                let runs = RunRows {
                    start_seq: (first..first + RUNS).map(|r| 8 * r as i64 + 1).collect(),
                    thread: vec![1; RUNS as usize],
                    block: (0..RUNS as i32).map(|r| r % 100 + 1).collect(),
                    addresses: (0..3 * RUNS)
                        .map(|a| 0x1000_0000 + a % 3 * 0x10_0000 + a / 3 * 4)
                        .collect(),
                    address_end: (1..=RUNS as i32).map(|r| 3 * r).collect(),
                    ..RunRows::default()
                };
                rows.send(Rows::Runs(runs)).expect("the writer runs");
            }
        });
    });
}

#[divan::bench(sample_count = 8, sample_size = 1)]
fn database_communications(bencher: Bencher) {
    bencher.counter(ItemsCount::new(ROWS)).bench(|| {
        written(|rows| {
            let mut output = ColumnOutput::new(|table, columns| {
                rows.send(Rows::Batch(table, columns)).expect("the writer runs")
            });
            for row in 1..=ROWS {
                let (read, write) = (8 * row << 16, (8 * row - row % 50) << 16);
                let address = 0x1000_0000 + row % 4096 * 4;
                output.communication(Communication {
                    write,
                    read,
                    is_register: row % 4 == 0,
                    address,
                    bytes: 4,
                });
            }
            output.finish();
        });
    });
}

fn texts() -> impl Iterator<Item = &'static str> {
    RENDERERS.iter().filter(|r| matches!(r.made, Made::Text(_))).map(|r| r.name)
}

/// The graph of all functions as text.
#[divan::bench(args = texts())]
fn render(bencher: Bencher, name: &str) {
    let connection = open(&DATABASE, false).expect("database");
    let all = Selection { top: usize::MAX, min_bytes: Some(0), ..Selection::default() };
    let graph = load(&connection, &all).expect("graph");
    let Some(Made::Text(text)) = renderer(name).map(|r| &r.made) else { return };
    bencher.counter(BytesCount::new(text(&graph).len())).bench(|| text(&graph));
}
