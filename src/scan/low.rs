//! Steps and accesses: what the runs of a chunk are, by what the blocks are.

use super::rows::{Argument, Error, Function, Give, Rows, Worker, given, is_packed, keeps_steps};
use super::stored::Stored;
use crate::store::chunk::{ChunkError, Runs, unpack};
use crate::store::pieces;
use crate::store::source::{Block, Cells, Column, Kind, Source, all};
use std::borrow::Cow;
use std::ops::Range;

pub(super) static STEPS: Function = Function {
    name: "addfg_steps",
    steps: [true, true],
    arguments: 2,
    named: &[],
    columns: &[
        given("seq", Kind::BigInt),
        given("thread_id", Kind::Integer),
        given("time", Kind::UBigInt),
        given("instruction_id", Kind::Integer),
        given("executed", Kind::Boolean),
    ],
    open: open_steps,
};

pub(super) static ACCESSES: Function = Function {
    name: "addfg_accesses",
    steps: [true, true],
    arguments: 2,
    named: &[],
    columns: &[
        given("seq", Kind::BigInt),
        given("ordinal", Kind::USmallInt),
        given("is_write", Kind::Boolean),
        given("space", Kind::Varchar),
        given("address", Kind::UBigInt),
        given("size", Kind::UInteger),
        given("value", Kind::UBigInt),
        given("is_control", Kind::Boolean),
        given("is_stack_relative", Kind::Boolean),
        given("data_register", Kind::UInteger),
        given("thread_id", Kind::Integer),
    ],
    open: open_accesses,
};

fn open_steps(source: &dyn Source, arguments: &[Argument]) -> Result<Option<Box<dyn Rows>>, Error> {
    let sql =
        "SELECT block_id, step, instruction_id, executed FROM block_step ORDER BY block_id, step";
    let kinds = [Kind::Integer, Kind::Integer, Kind::Integer, Kind::Boolean];
    open(source, arguments, &STEPS, ("FROM steps(?, ?)", sql, &kinds))
}

fn open_accesses(
    source: &dyn Source,
    arguments: &[Argument],
) -> Result<Option<Box<dyn Rows>>, Error> {
    let sql = "SELECT block_id, step, ordinal, is_write, space = 'memory', register_address, memory_index, value_index,
                      size, is_control, is_stack_relative, data_register
               FROM block_access ORDER BY block_id, step, ordinal";
    let kinds = [
        Kind::Integer,
        Kind::Integer,
        Kind::USmallInt,
        Kind::Boolean,
        Kind::Boolean,
        Kind::UInteger,
        Kind::Integer,
        Kind::Integer,
        Kind::UInteger,
        Kind::Boolean,
        Kind::Boolean,
        Kind::UInteger,
    ];
    open(source, arguments, &ACCESSES, ("FROM accesses(?, ?)", sql, &kinds))
}

fn open(
    source: &dyn Source,
    arguments: &[Argument],
    function: &'static Function,
    (stored, sql, kinds): (&str, &str, &[Kind]),
) -> Result<Option<Box<dyn Rows>>, Error> {
    let bound = |at: usize| match arguments.get(at) {
        Some(Argument::Step(step)) => *step,
        _ => None,
    };
    let (first, last) = (bound(0).unwrap_or(1), bound(1).unwrap_or(i64::MAX.cast_unsigned()));
    if !is_packed(source)? {
        keeps_steps(source)?;
        let rows = Stored::by_steps(source, function.columns, stored, first, last)?;
        return Ok(Some(Box::new(rows)));
    }
    let found = all(
        source,
        "SELECT first_seq, last_seq FROM run_chunk ORDER BY first_seq",
        &[Kind::UBigInt, Kind::UBigInt],
    )?;
    let [Cells::UBigInt(firsts), Cells::UBigInt(lasts)] =
        &found.columns.iter().map(|c| c.cells.clone()).collect::<Vec<_>>()[..]
    else {
        return Err("the chunks of the run are of another type".into());
    };
    let chunks = firsts.iter().zip(lasts).filter(|(from, to)| **from <= last && **to >= first);
    let chunks = chunks.map(|(from, _)| *from).collect();
    let blocks = Blocks::new(all(source, sql, kinds)?)?;
    Ok(Some(Box::new(Low { chunks, first, last, blocks, function })))
}

/// What stands once for each block: rows in the order of the blocks.
struct Blocks {
    rows: Block,
    /// Where those of each block begin, with one more at the end.
    at: Vec<usize>,
}

impl Blocks {
    fn new(rows: Block) -> Result<Blocks, Error> {
        let Some(Cells::Integer(of)) = rows.columns.first().map(|column| &column.cells) else {
            return Err("the blocks of the run are of another type".into());
        };
        let mut at = vec![0];
        for (row, block) in of.iter().enumerate() {
            // Ids are dense from 1.
            let block = usize::try_from(*block).unwrap_or(0);
            if block < at.len() - 1 || block > of.len() + at.len() {
                return Err("the blocks of the run are not in order".into());
            }
            while at.len() <= block {
                at.push(row);
            }
            at[block] = row + 1;
        }
        Ok(Blocks { rows, at })
    }

    /// Its rows.
    fn of(&self, block: u32) -> Range<usize> {
        let block = block as usize;
        match (self.at.get(block), self.at.get(block + 1)) {
            (Some(from), Some(to)) => *from..*to,
            _ => 0..0,
        }
    }

    fn cells<'a, T>(&'a self, at: usize, of: impl Fn(&'a Cells) -> Option<&'a Vec<T>>) -> &'a [T] {
        self.rows.columns.get(at).and_then(|column| of(&column.cells)).map_or(&[], |list| list)
    }

    fn integers(&self, at: usize) -> &[i32] {
        self.cells(at, |cells| if let Cells::Integer(list) = cells { Some(list) } else { None })
    }

    fn flags(&self, at: usize) -> &[bool] {
        self.cells(at, |cells| if let Cells::Boolean(list) = cells { Some(list) } else { None })
    }

    fn words(&self, at: usize) -> &[u32] {
        self.cells(at, |cells| if let Cells::UInteger(list) = cells { Some(list) } else { None })
    }

    fn shorts(&self, at: usize) -> &[u16] {
        self.cells(at, |cells| if let Cells::USmallInt(list) = cells { Some(list) } else { None })
    }

    fn is_null(&self, at: usize, row: usize) -> bool {
        self.rows.columns.get(at).is_none_or(|column| column.is_null(row))
    }
}

struct Low {
    /// First steps.
    chunks: Vec<u64>,
    first: u64,
    last: u64,
    blocks: Blocks,
    function: &'static Function,
}

impl Low {
    /// Whether a run has the steps, and the addresses, of its block.
    fn fits(&self, runs: &Runs, run: usize, rows: Range<usize>) -> bool {
        let integers = |at: usize| self.blocks.integers(at).get(rows.clone()).unwrap_or(&[]);
        if self.function.name == STEPS.name {
            let (next, all) = (runs.start.get(run + 1), integers(1));
            let all_fit = |next: &u64| next - runs.start[run] == all.len() as u64;
            return !all.is_empty() && next.is_none_or(all_fit);
        }
        let is_memory = self.blocks.flags(4).get(rows.clone()).unwrap_or(&[]);
        let accesses = is_memory.iter().filter(|is_memory| **is_memory).count();
        runs.addresses(run).len() == accesses
    }
}

impl Rows for Low {
    fn parts(&self) -> usize {
        self.chunks.len()
    }

    fn worker(&self, _: usize) -> Box<dyn Worker + '_> {
        Box::new(Chunks(self))
    }
}

/// Rows that are given at once, at least.
const ROWS: usize = 1 << 15;

struct Chunks<'a>(&'a Low);

impl Worker for Chunks<'_> {
    fn part(
        &mut self,
        source: &dyn Source,
        part: usize,
        wanted: &[usize],
        give: Give,
    ) -> Result<(), Error> {
        let Low { chunks, first, last, blocks, .. } = self.0;
        let of = chunks[part];
        let damaged = |e: ChunkError| format!("the chunk of step {of} is damaged: {e}");
        let runs = unpack(&pieces::chunk(source, of)?).map_err(damaged)?;
        // Rows as places: of a run, and of what its block has.
        let mut rows: Vec<(u32, u32)> = Vec::new();
        let steps = blocks.integers(1);
        for run in 0..runs.start.len() {
            let (start, all) = (runs.start[run], blocks.of(runs.block[run]));
            if !self.0.fits(&runs, run, all.clone()) {
                return Err(
                    damaged(ChunkError::Damaged("a run that its block does not fit")).into()
                );
            }
            let whole = all.end > all.start
                && start + steps[all.start] as u64 >= *first
                && start + steps[all.end - 1] as u64 <= *last;
            let is_in = |row: &u32| {
                let seq = start + steps[*row as usize] as u64;
                (*first..=*last).contains(&seq)
            };
            let places = (all.start as u32..all.end as u32).filter(|row| whole || is_in(row));
            rows.extend(places.map(|row| (run as u32, row)));
            if rows.len() >= ROWS {
                if !give(self.block(&runs, &rows, wanted)) {
                    return Ok(());
                }
                rows.clear();
            }
        }
        if !rows.is_empty() {
            give(self.block(&runs, &rows, wanted));
        }
        Ok(())
    }
}

impl Chunks<'_> {
    fn block(&self, runs: &Runs, rows: &[(u32, u32)], wanted: &[usize]) -> Block {
        let Low { function, .. } = self.0;
        let column = |at: &usize| match function.columns[*at].name {
            "seq" => {
                let steps = self.0.blocks.integers(1);
                Column::big_int(each(rows, |run, row| {
                    runs.start[run] as i64 + i64::from(steps[row])
                }))
            }
            "thread_id" => Column::integer(each(rows, |run, _| runs.thread[run] as i32 + 1)),
            name if function.name == STEPS.name => self.of_step(name, runs, rows),
            name => self.of_access(name, runs, rows),
        };
        Block { rows: rows.len(), columns: wanted.iter().map(column).collect() }
    }

    fn of_step(&self, name: &str, runs: &Runs, rows: &[(u32, u32)]) -> Column {
        let blocks = &self.0.blocks;
        match name {
            "time" => {
                let steps = blocks.integers(1);
                maybe(rows, |run, row| runs.times(run).get(steps[row] as usize).copied())
            }
            "instruction_id" => of_row(rows, blocks.integers(2), Column::integer),
            _ => of_row(rows, blocks.flags(3), Column::boolean),
        }
    }

    fn of_access(&self, name: &str, runs: &Runs, rows: &[(u32, u32)]) -> Column {
        let blocks = &self.0.blocks;
        let is_memory = blocks.flags(4);
        match name {
            "ordinal" => of_row(rows, blocks.shorts(2), Column::u_small_int),
            "is_write" => of_row(rows, blocks.flags(3), Column::boolean),
            "space" => {
                let text = |memory| Cow::Borrowed(if memory { "memory" } else { "register" });
                Column::varchar(each(rows, |_, row| text(is_memory[row])))
            }
            "address" => {
                let (registers, places) = (blocks.words(5), blocks.integers(6));
                maybe(rows, |run, row| match is_memory[row] {
                    true => runs.addresses(run).get(places[row] as usize).copied(),
                    false => Some(registers[row].into()),
                })
            }
            "size" => of_row(rows, blocks.words(8), Column::u_integer),
            "value" => {
                let places = blocks.integers(7);
                let known = |row| !blocks.is_null(7, row);
                let value =
                    |run, row: usize| runs.values(run).get(places[row] as usize).copied().flatten();
                maybe(rows, |run, row| if known(row) { value(run, row) } else { None })
            }
            "is_control" => of_row(rows, blocks.flags(9), Column::boolean),
            "is_stack_relative" => of_row(rows, blocks.flags(10), Column::boolean),
            _ => {
                let mut column = of_row(rows, blocks.words(11), Column::u_integer);
                column.null = each(rows, |_, row| blocks.is_null(11, row));
                column
            }
        }
    }
}

fn each<T>(rows: &[(u32, u32)], of: impl Fn(usize, usize) -> T) -> Vec<T> {
    rows.iter().map(|&(run, row)| of(run as usize, row as usize)).collect()
}

fn of_row<T: Copy>(rows: &[(u32, u32)], cells: &[T], column: fn(Vec<T>) -> Column) -> Column {
    column(each(rows, |_, row| cells[row]))
}

fn maybe(rows: &[(u32, u32)], of: impl Fn(usize, usize) -> Option<u64>) -> Column {
    let cells = each(rows, &of);
    let mut column = Column::u_big_int(cells.iter().map(|cell| cell.unwrap_or(0)).collect());
    if cells.iter().any(Option::is_none) {
        column.null = cells.iter().map(Option::is_none).collect();
    }
    column
}
