//! Communications and calls: the pass goes through each chunk again.

use super::rows::{Argument, Error, Function, Give, Rows, Worker, given, lacks_rows};
use super::stored::Stored;
use crate::id::FunctionId;
use crate::load::scan::{ByChunk, OfChunks};
use crate::store::source::{Block, Cells, Column, Kind, Source, all};
use crate::store::table::Batch;
use crate::text::visible;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

pub(super) static COMMUNICATIONS: Function = Function {
    name: "addfg_communications",
    steps: [false, false],
    arguments: 2,
    named: &["first", "last"],
    columns: &[
        given("write_seq", Kind::BigInt),
        given("write_ordinal", Kind::USmallInt),
        given("read_seq", Kind::BigInt),
        given("read_ordinal", Kind::USmallInt),
        given("space", Kind::Varchar),
        given("address", Kind::UBigInt),
        given("bytes", Kind::UInteger),
    ],
    open: open_communications,
};

pub(super) static CALLS: Function = Function {
    name: "addfg_calls_of",
    steps: [false, false],
    arguments: 1,
    named: &[],
    columns: &[
        given("call_id", Kind::Integer),
        given("function_id", Kind::Integer),
        given("instance", Kind::Integer),
        given("parent_call_id", Kind::Integer),
        given("tail_of_call_id", Kind::Integer),
        given("thread_id", Kind::Integer),
        given("depth", Kind::Integer),
        given("kind", Kind::Varchar),
        given("ending", Kind::Varchar),
        given("call_seq", Kind::BigInt),
        given("return_seq", Kind::BigInt),
        given("call_time", Kind::UBigInt),
        given("return_time", Kind::UBigInt),
        given("call_instruction_id", Kind::Integer),
        given("steps_self", Kind::BigInt),
        given("steps_total", Kind::BigInt),
        given("bytes_in", Kind::BigInt),
    ],
    open: open_calls,
};

/// All functions, and the ids of those with a name; None: no name is asked for.
fn functions(source: &dyn Source) -> Result<Vec<(FunctionId, String)>, Error> {
    // What is outside of the program has no steps to give rows of.
    let sql = "SELECT function_id, name FROM function_symbol WHERE kind <> 'pseudo'";
    let found = all(source, sql, &[Kind::Integer, Kind::Varchar])?;
    let mut columns = found.columns.into_iter().map(|column| column.cells);
    let (Some(Cells::Integer(ids)), Some(Cells::Varchar(names))) = (columns.next(), columns.next())
    else {
        return Err("the functions of the run are of another type".into());
    };
    let id = |id: i32| u32::try_from(id).ok().and_then(FunctionId::new);
    let known =
        ids.into_iter().zip(names).filter_map(|(of, name)| Some((id(of)?, name.into_owned())));
    Ok(known.collect())
}

fn named(
    functions: &[(FunctionId, String)],
    arguments: &[Argument],
    at: usize,
) -> Result<Option<BTreeSet<FunctionId>>, Error> {
    let Some(Argument::Function(Some(name))) = arguments.get(at) else { return Ok(None) };
    let ids = functions.iter().filter(|(_, known)| known == name).map(|(id, _)| *id);
    let ids: BTreeSet<FunctionId> = ids.collect();
    if ids.is_empty() {
        let more =
            if name.starts_with('<') { ": `addfg flows` has what comes from outside" } else { "" };
        return Err(format!("no function has the name {}{more}", visible(name)).into());
    }
    Ok(Some(ids))
}

fn list(ids: &BTreeSet<FunctionId>) -> String {
    let ids: Vec<String> = ids.iter().map(|id| id.get().to_string()).collect();
    ids.join(", ")
}

fn open_communications(
    source: &dyn Source,
    arguments: &[Argument],
) -> Result<Option<Box<dyn Rows>>, Error> {
    let functions = functions(source)?;
    let [writers, readers] = [named(&functions, arguments, 0)?, named(&functions, arguments, 1)?];
    let step = |at: usize| match arguments.get(at) {
        Some(Argument::Step(step)) => *step,
        _ => None,
    };
    let most = i64::MAX.cast_unsigned();
    let reads = (step(2).unwrap_or(0).min(most), step(3).unwrap_or(most).min(most));
    if !lacks_rows(source, true)? {
        let end = |of: &Option<BTreeSet<FunctionId>>, seq: &str| {
            of.as_ref().map_or(String::new(), |ids| {
                format!(
                    " AND {seq} IN (SELECT seq FROM opcode_line JOIN instruction USING (instruction_id)
                                    WHERE function_id IN ({}))",
                    list(ids)
                )
            })
        };
        let from = format!(
            "FROM communication WHERE read_seq BETWEEN {} AND {}{}{}",
            reads.0,
            reads.1,
            end(&writers, "write_seq"),
            end(&readers, "read_seq")
        );
        return Ok(Some(Box::new(Stored::whole(COMMUNICATIONS.columns, from))));
    }
    let only_written = writers.is_some();
    let any = || functions.iter().map(|(id, _)| *id).collect();
    let ends = match (writers, readers) {
        (None, None) => None,
        (writers, readers) => Some((writers.unwrap_or_else(any), readers.unwrap_or_else(any))),
    };
    let chunks = ByChunk::communications(source, ends, reads)?;
    let of = |chunks| Middle { chunks, what: What::Communications { only_written, reads } };
    Ok(chunks.map(|chunks| Box::new(of(chunks)) as Box<dyn Rows>))
}

fn open_calls(source: &dyn Source, arguments: &[Argument]) -> Result<Option<Box<dyn Rows>>, Error> {
    let of = named(&functions(source)?, arguments, 0)?;
    if !lacks_rows(source, false)? {
        let of = of.map_or(String::new(), |ids| format!(" WHERE function_id IN ({})", list(&ids)));
        return Ok(Some(Box::new(Stored::whole(CALLS.columns, format!("FROM function_call{of}")))));
    }
    let chunks = ByChunk::calls(source, of.as_ref())?;
    let of = |chunks| Middle { chunks, what: What::Calls { of } };
    Ok(chunks.map(|chunks| Box::new(of(chunks)) as Box<dyn Rows>))
}

enum What {
    Communications {
        /// Of bytes that some step wrote only.
        only_written: bool,
        /// First and last step that reads.
        reads: (u64, u64),
    },
    Calls {
        of: Option<BTreeSet<FunctionId>>,
    },
}

/// The first part is what is known beside the chunks.
struct Middle {
    chunks: ByChunk,
    what: What,
}

impl Rows for Middle {
    fn parts(&self) -> usize {
        1 + self.chunks.chunks()
    }

    fn worker(&self, number: usize) -> Box<dyn Worker + '_> {
        Box::new(Pass { of: self, number, worker: None, kinds: HashMap::new() })
    }
}

/// What is the same in many communications.
#[derive(Clone, Copy)]
struct Shape {
    read_ordinal: u16,
    write_ordinal: Option<u16>,
    is_register: bool,
    bytes: u32,
}

struct Pass<'a> {
    of: &'a Middle,
    number: usize,
    worker: Option<OfChunks<'a>>,
    kinds: HashMap<i32, Shape>,
}

impl Worker for Pass<'_> {
    fn part(
        &mut self,
        source: &dyn Source,
        part: usize,
        wanted: &[usize],
        give: Give,
    ) -> Result<(), Error> {
        let batches = match part.checked_sub(1) {
            None => self.of.chunks.begun(),
            Some(chunk) => {
                let worker = self.worker.get_or_insert_with(|| self.of.chunks.worker(self.number));
                worker.rows(source, chunk)?
            }
        };
        match &self.of.what {
            What::Communications { only_written, reads } => {
                self.communications(batches, (*only_written, *reads), wanted, give)
            }
            What::Calls { of } => calls(batches, of.as_ref(), wanted, give),
        }
    }
}

impl Pass<'_> {
    fn communications(
        &mut self,
        batches: Vec<Batch>,
        of: (bool, (u64, u64)),
        wanted: &[usize],
        give: Give,
    ) -> Result<(), Error> {
        // Kinds stand behind the rows that have them.
        let (kinds, others): (Vec<Batch>, Vec<Batch>) =
            batches.into_iter().partition(|batch| batch.table() == "communication_kind");
        for batch in kinds {
            self.kinds(batch.block(&[
                "kind_id",
                "read_ordinal",
                "write_ordinal",
                "is_register",
                "bytes",
            ])?)?;
        }
        for batch in others {
            if batch.table() != "communication_row" {
                continue;
            }
            let block = batch.block(&["read_seq", "write_back", "kind_id", "address"])?;
            if !give(self.with_kinds(&block, of, wanted)?) {
                break;
            }
        }
        Ok(())
    }

    fn kinds(&mut self, block: Block) -> Result<(), Error> {
        let Ok([ids, reads, writes, registers, bytes]) = <[Column; 5]>::try_from(block.columns)
        else {
            return Err(OTHER.into());
        };
        let (
            Cells::Integer(ids),
            Cells::USmallInt(reads),
            Cells::USmallInt(ordinals),
            Cells::Boolean(registers),
            Cells::UInteger(bytes),
        ) = (ids.cells, reads.cells, &writes.cells, registers.cells, bytes.cells)
        else {
            return Err(OTHER.into());
        };
        for (row, id) in ids.into_iter().enumerate() {
            let shape = Shape {
                read_ordinal: reads[row],
                write_ordinal: (!writes.is_null(row)).then(|| ordinals[row]),
                is_register: registers[row],
                bytes: bytes[row],
            };
            self.kinds.insert(id, shape);
        }
        Ok(())
    }

    fn with_kinds(
        &self,
        block: &Block,
        (only_written, (first, last)): (bool, (u64, u64)),
        wanted: &[usize],
    ) -> Result<Block, Error> {
        let [reads, back, kinds, addresses] = &block.columns[..] else { return Err(OTHER.into()) };
        let (
            Cells::BigInt(reads),
            Cells::BigInt(backs),
            Cells::Integer(kinds),
            Cells::UBigInt(addresses),
        ) = (&reads.cells, &back.cells, &kinds.cells, &addresses.cells)
        else {
            return Err(OTHER.into());
        };
        let is_wanted = |row: &usize| {
            (first..=last).contains(&reads[*row].cast_unsigned())
                && (!only_written || !back.is_null(*row))
        };
        let rows: Vec<usize> = (0..block.rows).filter(is_wanted).collect();
        let shapes: Option<Vec<Shape>> =
            rows.iter().map(|row| self.kinds.get(&kinds[*row]).copied()).collect();
        let shapes = shapes.ok_or(OTHER)?;
        let column = |at: &usize| match COMMUNICATIONS.columns[*at].name {
            "write_seq" => {
                let cells = rows.iter().map(|row| reads[*row].wrapping_sub(backs[*row])).collect();
                let null = rows.iter().map(|row| back.is_null(*row)).collect();
                Column { null, ..Column::big_int(cells) }
            }
            "write_ordinal" => {
                let cells = shapes.iter().map(|shape| shape.write_ordinal.unwrap_or(0)).collect();
                let null = shapes.iter().map(|shape| shape.write_ordinal.is_none()).collect();
                Column { null, ..Column::u_small_int(cells) }
            }
            "read_seq" => Column::big_int(rows.iter().map(|row| reads[*row]).collect()),
            "read_ordinal" => {
                Column::u_small_int(shapes.iter().map(|shape| shape.read_ordinal).collect())
            }
            "space" => {
                let text = |shape: &Shape| if shape.is_register { "register" } else { "memory" };
                Column::varchar(shapes.iter().map(|shape| Cow::Borrowed(text(shape))).collect())
            }
            "address" => Column::u_big_int(rows.iter().map(|row| addresses[*row]).collect()),
            _ => Column::u_integer(shapes.iter().map(|shape| shape.bytes).collect()),
        };
        Ok(Block { rows: rows.len(), columns: wanted.iter().map(column).collect() })
    }
}

const OTHER: &str = "rows of the run are of another type";

fn calls(
    batches: Vec<Batch>,
    of: Option<&BTreeSet<FunctionId>>,
    wanted: &[usize],
    give: Give,
) -> Result<(), Error> {
    let names: Vec<&str> = CALLS.columns.iter().map(|column| column.name).collect();
    for batch in batches.into_iter().filter(|batch| batch.table() == "function_call_row") {
        let block = batch.block(&names)?;
        let Some(Cells::Integer(functions)) = block.columns.get(1).map(|c| &c.cells) else {
            return Err(OTHER.into());
        };
        let id = |row: &usize| u32::try_from(functions[*row]).ok().and_then(FunctionId::new);
        let is_wanted =
            |row: &usize| of.is_none_or(|of| id(row).is_some_and(|id| of.contains(&id)));
        let rows: Vec<usize> = (0..block.rows).filter(is_wanted).collect();
        let columns = wanted.iter().map(|at| block.columns[*at].of_rows(&rows)).collect();
        if !give(Block { rows: rows.len(), columns }) {
            break;
        }
    }
    Ok(())
}
