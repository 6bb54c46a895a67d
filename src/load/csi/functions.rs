//! Described functions: their static control flow with the numbers of its paths.

use super::inputs::{At, DAMAGED, problem};
use crate::diagnostics::Severity;
use crate::id::FunctionId;
use crate::image::{AddressSpace, FunctionRef, demangle};
use crate::load::{BuildError, FunctionNames, Load};
use crate::paths::{BlockKind, Function, Numbering, Path};
use crate::store::StoreError;
use crate::store::table::Table;
use crate::store::tables::{
    PathBlock, PathBlockLine, PathBlockLines, PathBlocks, PathEdge, PathEdges, PathFunction,
    PathFunctions,
};
use crate::trace::csi::frames::Frame;
use crate::trace::csi::metadata::Described;
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// A described function in the database.
pub struct Known {
    pub name: String,
    pub function_id: FunctionId,
    pub function: Function,
    pub numbering: Option<Numbering>,
    first_block: u32,
    first_edge: u32,
    blocks_run: Vec<u64>,
    edges_run: Vec<u64>,
}

impl Known {
    pub fn block_id(&self, block: usize) -> u32 {
        self.first_block + block as u32
    }

    pub fn edge_id(&self, edge: usize) -> u32 {
        self.first_edge + edge as u32
    }

    /// Counts what a path ran.
    pub fn ran(&mut self, path: &Path) {
        path.blocks.iter().for_each(|&b| self.blocks_run[b] += 1);
        path.edges.iter().chain(&path.begin).for_each(|&e| self.edges_run[e] += 1);
    }

    /// Counts an end of the function.
    pub fn left(&mut self) {
        let exit = self.function.blocks.iter().position(|b| b.kind == BlockKind::Exit);
        if let Some(exit) = exit {
            self.blocks_run[exit] += 1;
        }
    }

    /// A block of it is of this source line.
    fn has_line(&self, line: u32) -> bool {
        self.function.blocks.iter().any(|b| b.lines.contains(&Some(line)))
    }
}

/// The described functions of a run.
#[derive(Default)]
pub struct KnownFunctions {
    pub all: Vec<Known>,
    /// By each of their names.
    by_name: BTreeMap<String, Vec<usize>>,
    blocks: u32,
    edges: u32,
}

/// Symbols of the ELF files by each of their names.
pub fn symbols(space: &AddressSpace) -> BTreeMap<&str, Vec<FunctionRef>> {
    let mut found: BTreeMap<&str, Vec<FunctionRef>> = BTreeMap::new();
    for at in space.functions() {
        for name in &space.function(at).names {
            found.entry(name.as_str()).or_default().push(at);
        }
    }
    found
}

/// The symbols that no description has taken yet.
struct Free<'s> {
    space: &'s AddressSpace,
    symbols: BTreeMap<&'s str, Vec<FunctionRef>>,
    used: BTreeSet<FunctionRef>,
}

impl Free<'_> {
    /// Of several static functions of a name the one that begins nearest above the first line.
    fn take(&mut self, d: &Described) -> Option<FunctionRef> {
        let lines = d.function.blocks.iter().flat_map(|b| &b.lines).filter_map(|l| *l);
        let first = lines.filter(|&l| l > 0).min();
        let free = self.symbols.get(d.name.as_str()).into_iter().flatten();
        let distance = |at: &FunctionRef| {
            let line = self.space.line(self.space.entry(*at)).map(|l| l.1);
            let above = line.zip(first).and_then(|(line, first)| first.checked_sub(line));
            above.unwrap_or(u32::MAX)
        };
        let nearest = free.filter(|at| !self.used.contains(*at)).min_by_key(|at| distance(at))?;
        let nearest = *nearest;
        self.used.insert(nearest);
        Some(nearest)
    }
}

impl KnownFunctions {
    /// Numbers the paths of described functions, and fills `path_function` and `path_block_line`.
    pub fn describe(
        described: Vec<At<Described>>,
        names: &mut FunctionNames,
        space: &AddressSpace,
        load: &mut Load,
    ) -> Result<KnownFunctions, BuildError> {
        let mut free = Free { space, symbols: symbols(space), used: BTreeSet::new() };
        let mut functions = Table::<PathFunctions>::new(load.connection);
        let mut lines = Table::<PathBlockLines>::new(load.connection);
        let mut known = KnownFunctions::default();
        for At { position, what: d } in described {
            let id = match free.take(&d) {
                Some(at) => names.symbol(at),
                None => names.another(&d.name),
            };
            let function_id = id;
            let numbering = numbering(&d, &position, load)?;
            functions.push(PathFunction {
                function_id,
                paths: numbering.as_ref().map(Numbering::paths),
                increments: numbering.as_ref().map(|n| n.increments),
                position: &position,
            })?;
            let k = known.add(d, function_id, numbering);
            for (i, block) in k.function.blocks.iter().enumerate() {
                for (&line, position) in block.lines.iter().zip(0..) {
                    lines.push(PathBlockLine { path_block_id: k.block_id(i), position, line })?;
                }
            }
        }
        functions.finish()?;
        lines.finish()?;
        Ok(known)
    }

    fn add(
        &mut self,
        d: Described,
        function_id: FunctionId,
        numbering: Option<Numbering>,
    ) -> &Known {
        let (blocks, edges) = (d.function.blocks.len(), d.function.edges.len());
        // As in the symbol table, as people write it, and without parameters.
        let plain = demangle(&d.name);
        let bare = plain.split('(').next().unwrap_or_default().to_owned();
        for name in BTreeSet::from([d.name.clone(), plain, bare]) {
            self.by_name.entry(name).or_default().push(self.all.len());
        }
        let number = self.all.len();
        self.all.push(Known {
            name: d.name,
            function_id,
            function: d.function,
            numbering,
            first_block: self.blocks + 1,
            first_edge: self.edges + 1,
            blocks_run: vec![0; blocks],
            edges_run: vec![0; edges],
        });
        self.blocks += blocks as u32;
        self.edges += edges as u32;
        &self.all[number]
    }

    /// The description of the function of a frame.
    pub fn find(&self, at: &At<Frame>, load: &mut Load) -> Result<Option<usize>, BuildError> {
        let frame = &at.what;
        let has_line = |&i: &usize| frame.line.is_some_and(|l| self.all[i].has_line(l));
        let mut found = self.by_name.get(&frame.function).cloned().unwrap_or_default();
        if found.len() > 1 && found.iter().any(has_line) {
            found.retain(has_line);
        }
        if found.len() > 1 {
            let message = format!(
                "{} functions are named {} and have this line; the first is taken",
                found.len(),
                frame.function.escape_debug()
            );
            let remedy = "give each static function a name of its own, or a dump with lines";
            let (code, at) = ("ambiguous-function", at.position.clone());
            load.problem(problem(Severity::Warning, code, message, at, remedy))?;
        }
        Ok(found.first().copied())
    }

    /// `path_block` and `path_edge`; `ran`: what ran is known.
    pub fn write(&self, connection: &Connection, ran: bool) -> Result<(), StoreError> {
        let mut blocks = Table::<PathBlocks>::new(connection);
        let mut edges = Table::<PathEdges>::new(connection);
        for k in &self.all {
            for (i, block) in k.function.blocks.iter().enumerate() {
                blocks.push(PathBlock {
                    path_block_id: k.block_id(i),
                    function_id: k.function_id,
                    number: block.number,
                    kind: match block.kind {
                        BlockKind::Entry => "entry",
                        BlockKind::Exit => "exit",
                        BlockKind::Plain => "block",
                    },
                    executions: ran.then_some(k.blocks_run[i]),
                })?;
            }
            for (i, edge) in k.function.edges.iter().enumerate() {
                let numbering = k.numbering.as_ref();
                let restarts = numbering.filter(|_| edge.restarts);
                let end = restarts.and_then(|n| n.end(&k.function, i));
                edges.push(PathEdge {
                    path_edge_id: k.edge_id(i),
                    function_id: k.function_id,
                    source_block_id: k.block_id(edge.source),
                    target_block_id: k.block_id(edge.target),
                    restarts: edge.restarts,
                    increment: edge.increment,
                    weight: edge.weight,
                    path_weight: numbering.and_then(|n| n.weight(&k.function, i)),
                    end_weight: end.map(|e| e.0),
                    end_increment: end.and_then(|e| e.1),
                    executions: ran.then_some(k.edges_run[i]),
                })?;
            }
        }
        blocks.finish()?;
        edges.finish()
    }
}

/// The numbers of a function's paths, if its description comes to some.
fn numbering(
    d: &Described,
    position: &str,
    load: &mut Load,
) -> Result<Option<Numbering>, BuildError> {
    let name = d.name.escape_debug();
    let at = position.to_owned();
    match Numbering::of(&d.function) {
        Ok(numbering) => {
            if !numbering.increments {
                let message =
                    format!("{name}: its increments do not come to the numbers of its paths");
                let remedy = "finished paths are told; of those under way nothing is known";
                load.problem(problem(Severity::Error, "path-increments", message, at, remedy))?;
            }
            Ok(Some(numbering))
        }
        Err(error) => {
            let message = format!("{name}: {error}; it is loaded without its paths");
            load.problem(problem(Severity::Error, "path-numbering", message, at, DAMAGED))?;
            Ok(None)
        }
    }
}
