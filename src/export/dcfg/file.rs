//! `run.dcfg.json`: images with their blocks and routines, and the edges.

use super::super::error::ExportError;
use super::super::rows::each;
use super::blocks::Executed;
use super::edge_type::EdgeType;
use super::graph::{Block, FlowGraph, SPECIALS, index, number};
use super::output::Output;
use super::routines::{Routine, routines};
use super::walk::Run;
use crate::id::{FunctionId, InstructionId};
use duckdb::Connection;
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;

struct Image {
    id: i32,
    path: String,
    load_address: u64,
    size: u64,
}

/// A symbol's name, address and size.
type Symbol = (String, u64, u64);

/// What the file tells beside the graph.
struct Dictionary {
    /// The last one, with id 0, is for code that is in none, if there is any.
    images: Vec<Image>,
    files: Vec<(i32, String)>,
    /// By image.
    symbols: BTreeMap<i32, Vec<Symbol>>,
}

/// Where a block is.
pub struct Place {
    /// 0: in none.
    pub image: i32,
    pub function: Option<FunctionId>,
    /// First address, address of the last instruction, address behind it.
    pub first: u64,
    pub last: u64,
    pub end: u64,
}

/// An instruction with its line.
struct Line {
    image: i32,
    address: u64,
    size: u64,
    /// File and line.
    line: (i32, i32),
}

/// What of a graph's code is known.
#[derive(Default)]
pub struct Described {
    /// By block.
    pub places: Vec<Place>,
    lines: Vec<Line>,
}

impl Described {
    pub fn of_run(run: Run, graph: &FlowGraph) -> Described {
        let place = |b: &Block| {
            let (first, last) = (run.code.instruction(b.first), run.code.instruction(b.last));
            Place {
                image: run.executed[b.first.index()].image,
                function: first.function,
                first: first.address,
                last: last.address,
                end: last.address.wrapping_add(last.size.into()),
            }
        };
        let line = |(i, executed): (usize, &Executed)| {
            let instruction = run.code.instruction(InstructionId::at(i));
            let (address, size) = (instruction.address, instruction.size.into());
            Some(Line { image: executed.image, address, size, line: executed.line? })
        };
        let lines = run.executed.iter().enumerate().filter_map(line).collect();
        Described { places: graph.blocks.iter().map(place).collect(), lines }
    }
}

impl Dictionary {
    fn read(connection: &Connection, described: &Described) -> Result<Dictionary, ExportError> {
        let mut images: Vec<Image> = Vec::new();
        let sql = include_str!("../../../queries/report/dcfg_images.sql");
        each::<ExportError>(connection, sql, &[], |r| {
            let (first, last): (u64, u64) = (r.get(2)?, r.get(3)?);
            let load_address = first & !0xfff;
            let size = (last - load_address).saturating_add(1);
            images.push(Image { id: r.get(0)?, path: r.get(1)?, load_address, size });
            Ok(())
        })?;
        let mut found = Dictionary { images, files: Vec::new(), symbols: BTreeMap::new() };
        let of = found.image_of();
        let outside: Vec<&Place> = described.places.iter().filter(|p| of(p) == 0).collect();
        if let (Some(first), Some(last)) =
            (outside.iter().map(|p| p.first).min(), outside.iter().map(|p| p.end).max())
        {
            let load_address = first & !0xfff;
            let size = last.wrapping_sub(load_address);
            found.images.push(Image { id: 0, path: "[unknown]".into(), load_address, size });
        }
        let sql = "SELECT file_id, path FROM source_file ORDER BY file_id";
        each::<ExportError>(connection, sql, &[], |r| {
            found.files.push((r.get(0)?, r.get(1)?));
            Ok(())
        })?;
        let sql = include_str!("../../../queries/report/dcfg_symbols.sql");
        each::<ExportError>(connection, sql, &[], |r| {
            let symbol = (r.get(1)?, r.get(2)?, r.get(3)?);
            found.symbols.entry(r.get(0)?).or_default().push(symbol);
            Ok(())
        })?;
        Ok(found)
    }

    /// The image of a block, 0 if it is in none.
    fn image_of(&self) -> impl Fn(&Place) -> i32 + use<> {
        let known: HashSet<i32> = self.images.iter().map(|i| i.id).collect();
        move |place| if known.contains(&place.image) { place.image } else { 0 }
    }

    /// Images have their names among those of the source files, behind them.
    fn name_of(&self, image: &Image) -> i32 {
        i32::try_from(self.files.len()).unwrap_or(i32::MAX - 1).saturating_add(image.id + 1)
    }
}

fn list(counts: &[u64]) -> String {
    counts.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// Writes the graph of a process.
pub fn write(
    out: &mut impl Write,
    to: &Output,
    graph: &FlowGraph,
    described: &Described,
) -> Result<(), ExportError> {
    let (dictionary, pid) = (Dictionary::read(to.connection, described)?, to.pid);
    write_names(out, &dictionary)?;
    let total: u64 = graph.instructions.iter().sum();
    write!(
        out,
        "\"PROCESSES\": [[\"PROCESS_ID\", \"PROCESS_DATA\"],\n[{pid}, {{\"INSTR_COUNT\": {total},\n"
    )?;
    writeln!(out, "\"INSTR_COUNT_PER_THREAD\": [{}],", list(&graph.instructions))?;
    write!(out, "\"IMAGES\": [[\"IMAGE_ID\", \"LOAD_ADDR\", \"SIZE\", \"IMAGE_DATA\"]")?;
    let of = dictionary.image_of();
    let mut home = vec![None; index(SPECIALS)];
    home.extend(described.places.iter().map(|p| Some((of(p), p.function))));
    let routines = routines(graph, home);
    for image in &dictionary.images {
        write_image(out, described, &dictionary, image)?;
        write_blocks(out, graph, described, image, &of)?;
        write_routines(out, &routines, image)?;
    }
    write!(
        out,
        "],\n\"EDGES\": [[\"EDGE_ID\", \"SOURCE_NODE_ID\", \"TARGET_NODE_ID\", \"EDGE_TYPE_ID\", \"COUNT_PER_THREAD\"]"
    )?;
    for (i, ((source, target, kind), counts)) in graph.edges.iter().zip(&graph.counts).enumerate() {
        let mut counts = counts.clone();
        counts.resize(to.threads, 0);
        let (source, target, counts) = (source + 1, target + 1, list(&counts));
        write!(out, ",\n[{}, {source}, {target}, {}, [{counts}]]", i + 1, kind.number())?;
    }
    Ok(writeln!(out, "]}}]]}}")?)
}

/// Names of files and images, of types of edges and of special nodes.
fn write_names(out: &mut impl Write, dictionary: &Dictionary) -> Result<(), ExportError> {
    write!(
        out,
        "{{\"MAJOR_VERSION\": 1, \"MINOR_VERSION\": 0,\n\"FILE_NAMES\": [[\"FILE_NAME_ID\", \"FILE_NAME\"]"
    )?;
    let files = dictionary.files.iter().map(|f| (f.0.max(1), &f.1));
    let images = dictionary.images.iter().map(|i| (dictionary.name_of(i), &i.path));
    for (id, name) in files.chain(images) {
        write!(out, ",\n[{id}, {}]", json!(name))?;
    }
    write!(out, "],\n\"EDGE_TYPES\": [[\"EDGE_TYPE_ID\", \"EDGE_TYPE\"]")?;
    for kind in EdgeType::ALL {
        write!(out, ", [{}, \"{}\"]", kind.number(), kind.name())?;
    }
    Ok(write!(
        out,
        "],\n\"SPECIAL_NODES\": [[\"NODE_ID\", \"NODE_NAME\"], [1, \"START\"], [2, \"END\"], [3, \"UNKNOWN\"]],\n"
    )?)
}

/// An image with its symbols and source lines.
fn write_image(
    out: &mut impl Write,
    described: &Described,
    dictionary: &Dictionary,
    image: &Image,
) -> Result<(), ExportError> {
    let (base, name) = (image.load_address, dictionary.name_of(image));
    write!(out, ",\n[{}, \"{base:#x}\", {}, {{\"FILE_NAME_ID\": {name}", image.id, image.size)?;
    if let Some(symbols) = dictionary.symbols.get(&image.id) {
        write!(out, ",\n\"SYMBOLS\": [[\"NAME\", \"ADDR_OFFSET\", \"SIZE\"]")?;
        for (name, address, size) in symbols {
            let offset = address.wrapping_sub(base);
            write!(out, ",\n[{}, \"{offset:#x}\", {size}]", json!(name))?;
        }
        write!(out, "]")?;
    }
    write_lines(out, described, image)
}

fn write_blocks(
    out: &mut impl Write,
    graph: &FlowGraph,
    described: &Described,
    image: &Image,
    image_of: &dyn Fn(&Place) -> i32,
) -> Result<(), ExportError> {
    let mut executions = vec![0u64; graph.blocks.len()];
    for (edge, counts) in graph.edges.iter().zip(&graph.counts) {
        if let Some(b) = edge.1.checked_sub(SPECIALS) {
            executions[index(b)] += counts.iter().sum::<u64>();
        }
    }
    write!(
        out,
        ",\n\"BASIC_BLOCKS\": [[\"NODE_ID\", \"ADDR_OFFSET\", \"SIZE\", \"NUM_INSTRS\", \"LAST_INSTR_OFFSET\", \"COUNT\"]"
    )?;
    let blocks = graph.blocks.iter().zip(&described.places).enumerate();
    for (i, (b, place)) in blocks.filter(|(_, (_, place))| image_of(place) == image.id) {
        let &Place { first, last, end, .. } = place;
        let (id, offset) = (number(i) + SPECIALS + 1, first.wrapping_sub(image.load_address));
        let (size, last) = (end.wrapping_sub(first), last.wrapping_sub(first));
        let (length, count) = (b.length, executions[i]);
        write!(out, ",\n[{id}, \"{offset:#x}\", {size}, {length}, {last}, {count}]")?;
    }
    Ok(writeln!(out, "],")?)
}

fn write_routines(
    out: &mut impl Write,
    routines: &[Routine],
    image: &Image,
) -> Result<(), ExportError> {
    write!(out, "\"ROUTINES\": [[\"ENTRY_NODE_ID\", \"EXIT_NODE_IDS\", \"NODES\", \"LOOPS\"]")?;
    for r in routines.iter().filter(|r| r.image == image.id) {
        r.write(out)?;
    }
    Ok(write!(out, "]}}]")?)
}

/// Source lines of the executed instructions: a row for each stretch of one line.
fn write_lines(
    out: &mut impl Write,
    described: &Described,
    image: &Image,
) -> Result<(), ExportError> {
    let here = described.lines.iter().filter(|l| l.image == image.id);
    let mut found: Vec<(u64, u64, (i32, i32))> =
        here.map(|l| (l.address, l.size, l.line)).collect();
    if found.is_empty() {
        return Ok(());
    }
    found.sort_unstable();
    found.dedup_by_key(|f| f.0);
    write!(
        out,
        ",\n\"SOURCE_DATA\": [[\"FILE_NAME_ID\", \"LINE_NUM\", \"ADDR_OFFSET\", \"SIZE\", \"NUM_INSTRS\"]"
    )?;
    let mut at = 0;
    while at < found.len() {
        let (start, size, line) = found[at];
        let (mut end, mut count) = (start.wrapping_add(size), 1);
        while let Some(&(address, size, next)) = found.get(at + count)
            && address == end
            && next == line
        {
            end = end.wrapping_add(size);
            count += 1;
        }
        let (offset, size) = (start.wrapping_sub(image.load_address), end.wrapping_sub(start));
        write!(out, ",\n[{}, {}, \"{offset:#x}\", {size}, {count}]", line.0, line.1)?;
        at += count;
    }
    Ok(write!(out, "]")?)
}
