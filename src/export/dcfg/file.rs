//! `run.dcfg.json`: images with their blocks and routines, and the edges.

use super::super::error::ExportError;
use super::super::rows::each;
use super::edge_type::EdgeType;
use super::graph::{Block, FlowGraph, SPECIALS, index, number};
use super::routines::{Routine, routines};
use super::walk::Run;
use crate::id::InstructionId;
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

/// First address, address of the last instruction, address behind it.
fn ends(run: Run, block: &Block) -> (u64, u64, u64) {
    let (first, last) = (run.code.instruction(block.first), run.code.instruction(block.last));
    (first.address, last.address, last.address.wrapping_add(last.size.into()))
}

impl Dictionary {
    fn read(run: Run, graph: &FlowGraph) -> Result<Dictionary, ExportError> {
        let mut images: Vec<Image> = Vec::new();
        let sql = include_str!("../../../queries/report/dcfg_images.sql");
        each::<ExportError>(run.connection, sql, &[], |r| {
            let (first, last): (u64, u64) = (r.get(2)?, r.get(3)?);
            let load_address = first & !0xfff;
            let size = (last - load_address).saturating_add(1);
            images.push(Image { id: r.get(0)?, path: r.get(1)?, load_address, size });
            Ok(())
        })?;
        let mut found = Dictionary { images, files: Vec::new(), symbols: BTreeMap::new() };
        let of = found.image_of(run);
        let outside: Vec<_> =
            graph.blocks.iter().filter(|b| of(b) == 0).map(|b| ends(run, b)).collect();
        if let (Some(first), Some(last)) =
            (outside.iter().map(|e| e.0).min(), outside.iter().map(|e| e.2).max())
        {
            let load_address = first & !0xfff;
            let size = last.wrapping_sub(load_address);
            found.images.push(Image { id: 0, path: "[unknown]".into(), load_address, size });
        }
        let sql = "SELECT file_id, path FROM source_file ORDER BY file_id";
        each::<ExportError>(run.connection, sql, &[], |r| {
            found.files.push((r.get(0)?, r.get(1)?));
            Ok(())
        })?;
        let sql = include_str!("../../../queries/report/dcfg_symbols.sql");
        each::<ExportError>(run.connection, sql, &[], |r| {
            let symbol = (r.get(1)?, r.get(2)?, r.get(3)?);
            found.symbols.entry(r.get(0)?).or_default().push(symbol);
            Ok(())
        })?;
        Ok(found)
    }

    /// The image of a block, 0 if it is in none.
    fn image_of<'a>(&self, run: Run<'a>) -> impl Fn(&Block) -> i32 + use<'a> {
        let known: HashSet<i32> = self.images.iter().map(|i| i.id).collect();
        move |b| {
            let image = run.executed[b.first.index()].image;
            if known.contains(&image) { image } else { 0 }
        }
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
    run: Run,
    graph: &FlowGraph,
    pid: i64,
) -> Result<(), ExportError> {
    let dictionary = Dictionary::read(run, graph)?;
    write_names(out, &dictionary)?;
    let total: u64 = graph.instructions.iter().sum();
    write!(
        out,
        "\"PROCESSES\": [[\"PROCESS_ID\", \"PROCESS_DATA\"],\n[{pid}, {{\"INSTR_COUNT\": {total},\n"
    )?;
    writeln!(out, "\"INSTR_COUNT_PER_THREAD\": [{}],", list(&graph.instructions))?;
    write!(out, "\"IMAGES\": [[\"IMAGE_ID\", \"LOAD_ADDR\", \"SIZE\", \"IMAGE_DATA\"]")?;
    let of = dictionary.image_of(run);
    let mut home = vec![None; index(SPECIALS)];
    home.extend(graph.blocks.iter().map(|b| {
        let function = run.code.instruction(b.first).function;
        Some((of(b), function))
    }));
    let routines = routines(graph, home);
    for image in &dictionary.images {
        write_image(out, run, &dictionary, image)?;
        write_blocks(out, run, graph, image, &of)?;
        write_routines(out, &routines, image)?;
    }
    write!(
        out,
        "],\n\"EDGES\": [[\"EDGE_ID\", \"SOURCE_NODE_ID\", \"TARGET_NODE_ID\", \"EDGE_TYPE_ID\", \"COUNT_PER_THREAD\"]"
    )?;
    for (i, ((source, target, kind), counts)) in graph.edges.iter().zip(&graph.counts).enumerate() {
        let mut counts = counts.clone();
        counts.resize(run.threads, 0);
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
    run: Run,
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
    write_lines(out, run, image)
}

fn write_blocks(
    out: &mut impl Write,
    run: Run,
    graph: &FlowGraph,
    image: &Image,
    image_of: &dyn Fn(&Block) -> i32,
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
    for (i, b) in graph.blocks.iter().enumerate().filter(|(_, b)| image_of(b) == image.id) {
        let (first, last, end) = ends(run, b);
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
fn write_lines(out: &mut impl Write, run: Run, image: &Image) -> Result<(), ExportError> {
    let mut found: Vec<(u64, u64, (i32, i32))> = Vec::new();
    for (i, executed) in run.executed.iter().enumerate().filter(|(_, e)| e.image == image.id) {
        if let Some(line) = executed.line {
            let instruction = run.code.instruction(InstructionId::at(i));
            found.push((instruction.address, instruction.size.into(), line));
        }
    }
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
