//! From rows to a database, and from a graph to a file.

use crate::inputs::{DATABASE, SCRATCH};
use addfg::internals::analysis::origin::Origin;
use addfg::internals::analysis::{Communication, Output};
use addfg::internals::graph::{Selection, load};
use addfg::internals::id::{AccessRef, BlockId, Seq, ThreadId};
use addfg::internals::load::rows::PassRows;
use addfg::internals::render::{Made, RENDERERS, renderer};
use addfg::internals::store::open::open;
use addfg::internals::store::table::{Batch, Stream};
use addfg::internals::store::tables::{BlockRun, BlockRuns};
use addfg::internals::store::writer::Writer;
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};

/// Rows that a benchmark writes.
const ROWS: u64 = 1 << 20;

fn written(write: impl FnOnce(std::sync::mpsc::SyncSender<Batch>)) {
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
            let mut stream = Stream::<BlockRuns>::default();
            for row in 0..ROWS {
                let address: [u64; 3] =
                    std::array::from_fn(|a| 0x1000_0000 + a as u64 * 0x10_0000 + row * 4);
                let full = stream.push(BlockRun {
                    start_seq: 8 * row + 1,
                    thread_id: ThreadId::FIRST,
                    block_id: BlockId::at(row as usize % 100),
                    address: Some(&address),
                    value: None,
                    time: None,
                    sp: None,
                    linked: None,
                });
                full.into_iter().for_each(|batch| rows.send(batch).expect("the writer runs"));
            }
            stream.rest().into_iter().for_each(|batch| rows.send(batch).expect("the writer runs"));
        });
    });
}

#[divan::bench(sample_count = 8, sample_size = 1)]
fn database_communications(bencher: Bencher) {
    bencher.counter(ItemsCount::new(ROWS)).bench(|| {
        written(|rows| {
            let mut output =
                PassRows::new(|batch| rows.send(batch).expect("the writer runs"), 0..=u64::MAX);
            for row in 1..=ROWS {
                let access = |seq| AccessRef { seq: Seq::new(seq).expect("from 1"), ordinal: 0 };
                let (read, write) = (access(8 * row + 50), access(8 * row + 50 - row % 50));
                let write = Origin::Step(write);
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
