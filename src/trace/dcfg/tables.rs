//! From a graph, and a walk through its trace, to tables.

use super::graph::{EdgeKind, Graph, Node, NodeKind, Process};
use super::walk::{Counters, Take};
use crate::analysis::{Call, Interval, LoopInstance, Output};
use crate::event::Isa;
use crate::image::{AddressSpace, FunctionKind, FunctionRef};
use crate::isa::{self, Decoded, Decoder};
use crate::load::{BuildError, Files};
use crate::store::columns::{self, ColumnOutput, Table};
use duckdb::arrow::array::{ArrayRef, Int32Array, Int64Array};
use duckdb::{Connection, params};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Columns of `block_run` that a trace of edges fills.
pub const RUN_COLUMNS: [&str; 3] = ["start_seq", "thread_id", "block_id"];

/// Their rows.
#[derive(Default)]
struct Runs {
    start_seq: Vec<i64>,
    thread: Vec<i32>,
    block: Vec<i32>,
}

/// Where a function is said to be.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FunctionKey {
    Elf(FunctionRef),
    /// Process, image and symbol of the DCFG.
    Symbol(u32, u32, u32),
    /// Code outside of every symbol, by process and image.
    Outside(u32, u32),
}

struct Instruction {
    process: u32,
    image: Option<i32>,
    address: u64,
    function: u32,
    decoded: Decoded,
    executions: u64,
}

/// The code of all processes: functions and instructions, numbered in order of first execution,
/// then of the file.
pub struct Code<'a> {
    graph: &'a Graph,
    space: &'a AddressSpace,
    /// By process and image: index of the ELF file that it is.
    elf: Vec<Vec<Option<usize>>>,
    /// By process: basic-block id of node 0, were it no special one; threads before it.
    block_base: Vec<i32>,
    pub thread_base: Vec<i32>,
    decoder: Option<Box<dyn Decoder>>,
    functions: Vec<FunctionKey>,
    function_ids: FxHashMap<FunctionKey, u32>,
    instructions: Vec<Instruction>,
    instruction_ids: FxHashMap<(u32, u64), u32>,
    /// By process and node: function and whether it is a stub; function 0: not asked for yet.
    of_node: Vec<Vec<(u32, bool)>>,
    /// By process and node: instruction ids from 1; empty if they are not known.
    steps: Vec<Vec<Vec<u32>>>,
    /// Blocks of which the ELF files have other code than the graph says.
    pub mismatches: Vec<(u64, u64)>,
}

fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// By process and image: the ELF file that it is. By file name; a single file is the image that
/// holds most of what ran.
pub fn match_elfs(graph: &Graph, space: &AddressSpace) -> Vec<Vec<Option<usize>>> {
    let names: Vec<String> = space
        .images()
        .iter()
        .map(|l| {
            l.image.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
        })
        .collect();
    let mut found: Vec<Vec<Option<usize>>> = Vec::new();
    for process in &graph.processes {
        let of = |path: &Option<String>| {
            names.iter().position(|n| path.as_deref().is_some_and(|p| base_name(p) == n))
        };
        found.push(process.images.iter().map(|i| of(&i.path)).collect());
    }
    if names.len() == 1 && found.iter().flatten().all(Option::is_none) {
        for (process, found) in graph.processes.iter().zip(&mut found) {
            let mut ran = vec![0u64; process.images.len()];
            for n in process.nodes.iter().filter(|n| n.kind == NodeKind::Block) {
                ran[n.image as usize] = ran[n.image as usize]
                    .saturating_add(n.entered.saturating_mul(n.instructions).max(1));
            }
            if let Some(most) = (0..ran.len()).max_by_key(|&i| (ran[i], std::cmp::Reverse(i)))
                && ran[most] > 0
            {
                found[most] = Some(0);
            }
        }
    }
    found
}

impl<'a> Code<'a> {
    pub fn new(
        graph: &'a Graph,
        space: &'a AddressSpace,
        elf: Vec<Vec<Option<usize>>>,
    ) -> Code<'a> {
        let isa: Option<(Isa, bool)> =
            space.images().first().map(|l| (l.image.isa, l.image.big_endian_code));
        let specials = graph.specials.len() as i32;
        let (mut block_base, mut thread_base) = (Vec::new(), Vec::new());
        let (mut blocks, mut threads) = (0, 0);
        for p in &graph.processes {
            block_base.push(blocks);
            thread_base.push(threads);
            blocks += p.nodes.len() as i32 - specials;
            threads += p.threads() as i32;
        }
        Code {
            graph,
            space,
            elf,
            block_base,
            thread_base,
            decoder: isa.map(|(isa, big)| isa::decoder(isa, big)),
            functions: Vec::new(),
            function_ids: FxHashMap::default(),
            instructions: Vec::new(),
            instruction_ids: FxHashMap::default(),
            of_node: graph.processes.iter().map(|p| vec![(0, false); p.nodes.len()]).collect(),
            steps: graph.processes.iter().map(|p| vec![Vec::new(); p.nodes.len()]).collect(),
            mismatches: Vec::new(),
        }
    }

    /// `basic_block_id` of a node; all processes share the special ones.
    pub fn block_id(&self, process: usize, node: u32) -> i32 {
        if (node as usize) < self.graph.specials.len() {
            node as i32 + 1
        } else {
            self.block_base[process] + node as i32 + 1
        }
    }

    /// `image_id`: the ELF files come first.
    fn image_id(&self, process: usize, image: u32) -> i32 {
        match self.elf[process][image as usize] {
            Some(elf) => elf as i32 + 1,
            None => {
                let before: usize =
                    self.elf[..process].iter().map(Vec::len).sum::<usize>() + image as usize;
                let unmatched =
                    self.elf.iter().flatten().take(before).filter(|e| e.is_none()).count();
                (self.space.images().len() + unmatched) as i32 + 1
            }
        }
    }

    fn key(&self, process: usize, node: &Node) -> FunctionKey {
        let image = &self.graph.processes[process].images[node.image as usize];
        let elf = self.elf[process][node.image as usize];
        if let Some(at) = self.space.function_at(node.address).filter(|at| Some(at.image) == elf) {
            return FunctionKey::Elf(at);
        }
        match image
            .symbol_at(node.address)
            .filter(|_| elf.is_none_or(|e| self.space.images()[e].image.stripped))
        {
            Some(symbol) => FunctionKey::Symbol(process as u32, node.image, symbol as u32),
            None => FunctionKey::Outside(process as u32, node.image),
        }
    }

    /// Function of a node's code and whether it is a stub; 0 for a node without code.
    pub fn function(&mut self, process: usize, node: u32) -> (u32, bool) {
        let known = self.of_node[process][node as usize];
        if known.0 > 0 {
            return known;
        }
        let n = &self.graph.processes[process].nodes[node as usize];
        if n.kind != NodeKind::Block {
            return (0, false);
        }
        let key = self.key(process, n);
        let next = self.functions.len() as u32 + 1;
        let id = *self.function_ids.entry(key).or_insert(next);
        if id == next {
            self.functions.push(key);
        }
        let stub = matches!(key, FunctionKey::Elf(at) if self.space.function(at).kind == FunctionKind::Stub);
        self.of_node[process][node as usize] = (id, stub);
        self.decode(process, node, id);
        (id, stub)
    }

    /// Numbers the node's instructions, if an ELF file has its code and it is as long as the graph
    /// says.
    fn decode(&mut self, process: usize, node: u32, function: u32) {
        let n = &self.graph.processes[process].nodes[node as usize];
        let elf = self.elf[process][n.image as usize];
        if elf.is_none() || self.space.image_at(n.address) != elf || n.instructions > 1 << 16 {
            return;
        }
        let Some(decoder) = &mut self.decoder else { return };
        let mut found: Vec<(u64, Decoded)> = Vec::new();
        let mut at = n.address;
        for _ in 0..n.instructions {
            let decoded = self
                .space
                .bytes(at)
                .and_then(|b| decoder.decode(at, b, self.space.thumb(at).unwrap_or(false)));
            let Some(decoded) = decoded.filter(|d| d.size > 0) else { break };
            let size = u64::from(decoded.size);
            found.push((at, decoded));
            at = at.wrapping_add(size);
        }
        let length = at.wrapping_sub(n.address);
        if found.len() as u64 != n.instructions || (n.size > 0 && length != n.size) {
            self.mismatches.push((n.id, n.address));
            return;
        }
        let image = elf.map(|e| e as i32 + 1);
        let mut ids = Vec::with_capacity(found.len());
        for (address, decoded) in found {
            let next = self.instructions.len() as u32 + 1;
            let id = *self.instruction_ids.entry((process as u32, address)).or_insert(next);
            if id == next {
                self.instructions.push(Instruction {
                    process: process as u32,
                    image,
                    address,
                    function,
                    decoded,
                    executions: 0,
                });
            }
            let executions = &mut self.instructions[id as usize - 1].executions;
            *executions = executions.saturating_add(n.entered);
            ids.push(id);
        }
        self.steps[process][node as usize] = ids;
    }

    /// What has not run is numbered too.
    pub fn complete(&mut self) {
        for p in 0..self.graph.processes.len() {
            for n in 0..self.graph.processes[p].nodes.len() as u32 {
                self.function(p, n);
            }
        }
    }

    pub fn function_count(&self) -> usize {
        self.functions.len()
    }

    pub fn has_instructions(&self) -> bool {
        !self.instructions.is_empty()
    }

    /// File and line of an address: of the ELF file, else of the graph's own source data.
    fn line(
        &self,
        process: usize,
        image: u32,
        address: u64,
        files: &mut Files,
    ) -> (Option<i32>, Option<i32>) {
        let of_elf = self.elf[process][image as usize].and_then(|_| self.space.line(address));
        if let Some((file, line)) = of_elf {
            return (Some(files.id(&file).column()), Some(line as i32));
        }
        match self.graph.processes[process].images[image as usize].line_at(address) {
            Some((file, line)) => (
                Some(files.id(&self.graph.files[file as usize]).column()),
                (line > 0).then_some(line as i32),
            ),
            None => (None, None),
        }
    }

    fn image_name(&self, process: u32, image: u32) -> String {
        let image = &self.graph.processes[process as usize].images[image as usize];
        image
            .path
            .as_deref()
            .map_or_else(|| format!("image {}", image.id), |p| base_name(p).to_owned())
    }

    pub fn write_functions(
        &self,
        connection: &Connection,
        files: &mut Files,
    ) -> Result<(), BuildError> {
        let mut table = connection.appender("function_symbol")?;
        let mut names = connection.appender("function_name")?;
        let mut used: FxHashSet<String> = FxHashSet::default();
        for (i, key) in self.functions.iter().enumerate() {
            let number = i as i32 + 1;
            let none = || (None::<i32>, None::<u64>, None::<u64>);
            let (name, symbol, kind, image, (file, address, size)) = match *key {
                FunctionKey::Elf(at) => {
                    let f = self.space.function(at);
                    for name in &f.names {
                        names.append_row(params![number, name])?;
                    }
                    let size: u64 = f.ranges.iter().map(|(a, b)| b - a).sum();
                    let kind = if f.kind == FunctionKind::Stub { "stub" } else { "function" };
                    let file = f.file.as_deref().map(|f| files.id(f).column());
                    let place = (file, Some(self.space.entry(at)), Some(size));
                    (
                        self.space.display_name(at).to_owned(),
                        f.names.first().cloned(),
                        kind,
                        Some(at.image as i32 + 1),
                        place,
                    )
                }
                FunctionKey::Symbol(p, image, symbol) => {
                    let (address, size, name) = &self.graph.processes[p as usize].images
                        [image as usize]
                        .symbols[symbol as usize];
                    names.append_row(params![number, name])?;
                    let (file, _) = self.line(p as usize, image, *address, files);
                    let place = (file, Some(*address), Some(*size));
                    let image = Some(self.image_id(p as usize, image));
                    (name.clone(), Some(name.clone()), "function", image, place)
                }
                FunctionKey::Outside(p, image) => {
                    let name = format!("<unknown {}>", self.image_name(p, image));
                    (name, None, "unknown", Some(self.image_id(p as usize, image)), none())
                }
            };
            let mut shown = name.clone();
            if used.contains(&shown)
                && let FunctionKey::Symbol(p, image, _) | FunctionKey::Outside(p, image) = *key
            {
                shown = format!("{name} ({})", self.image_name(p, image));
            }
            if used.contains(&shown) {
                shown = format!("{name} ({:#x})", address.unwrap_or(u64::from(number as u32)));
            }
            while !used.insert(shown.clone()) {
                shown.push('\'');
            }
            table.append_row(params![number, shown, symbol, kind, image, file, address, size])?;
        }
        table.flush()?;
        Ok(names.flush()?)
    }

    /// `image` rows of images that are no ELF file given, and `process`.
    pub fn write_processes(&self, connection: &Connection) -> Result<(), BuildError> {
        let mut process = connection.appender("process")?;
        let mut table = connection.appender("image")?;
        for (p, of) in self.graph.processes.iter().enumerate() {
            process.append_row(params![p as i32 + 1, of.pid as i64, None::<String>])?;
            for (i, image) in
                of.images.iter().enumerate().filter(|(i, _)| self.elf[p][*i].is_none())
            {
                let path = image.path.clone().unwrap_or_else(|| format!("image {}", image.id));
                let (id, none) = (self.image_id(p, i as u32), None::<i64>);
                table.append_row(params![
                    id,
                    p as i32 + 1,
                    path,
                    image.load_address,
                    None::<bool>,
                    none,
                    none
                ])?;
            }
        }
        process.flush()?;
        Ok(table.flush()?)
    }

    pub fn write_instructions(
        &self,
        connection: &Connection,
        files: &mut Files,
        low: bool,
    ) -> Result<usize, BuildError> {
        let mut table = connection.appender("instruction")?;
        for (i, insn) in self.instructions.iter().enumerate() {
            let d = &insn.decoded;
            let bytes = self.space.bytes(insn.address).map(|b| &b[..b.len().min(d.size as usize)]);
            let line = self.space.line(insn.address);
            let file = line.as_ref().map(|(f, _)| files.id(f));
            table.append_row(params![
                i as i32 + 1,
                insn.process as i32 + 1,
                insn.image,
                insn.address,
                bytes,
                d.text,
                d.size,
                insn.function as i32,
                file,
                line.map(|(_, l)| l as i32),
                d.flow.kind.name(),
                d.flow.target,
                d.flow.conditional,
                d.flow.repeats,
                insn.executions as i64
            ])?;
        }
        table.flush()?;
        let mut longest = 0;
        if low {
            let mut table = connection.appender("block_step")?;
            for (p, nodes) in self.steps.iter().enumerate() {
                for (n, steps) in nodes.iter().enumerate() {
                    longest = longest.max(steps.len());
                    for (step, &id) in steps.iter().enumerate() {
                        table.append_row(params![
                            self.block_id(p, n as u32),
                            step as i32,
                            id as i32,
                            true
                        ])?;
                    }
                }
            }
            table.flush()?;
        }
        Ok(longest)
    }

    /// Static control flow: `basic_block`, `cfg_edge`, `routine`, `loop` and what belongs to them.
    pub fn write_graph(
        &self,
        connection: &Connection,
        files: &mut Files,
        low: bool,
    ) -> Result<(), BuildError> {
        let mut table = connection.appender("basic_block")?;
        for (p, process) in self.graph.processes.iter().enumerate() {
            for (i, n) in process.nodes.iter().enumerate() {
                if i < self.graph.specials.len() && p > 0 {
                    continue;
                }
                let id = self.block_id(p, i as u32);
                let owner = (i >= self.graph.specials.len()).then_some(p as i32 + 1);
                if n.kind != NodeKind::Block {
                    let (int, long) = (None::<i32>, None::<u64>);
                    table.append_row(params![
                        id,
                        n.kind.name(),
                        n.id,
                        owner,
                        int,
                        int,
                        long,
                        long,
                        None::<i64>,
                        long,
                        int,
                        int,
                        None::<i64>,
                        int
                    ])?;
                    continue;
                }
                let (file, line) = self.line(p, n.image, n.address, files);
                let executions = if process.edges.is_empty() { n.count } else { Some(n.entered) };
                table.append_row(params![
                    id,
                    n.kind.name(),
                    n.id,
                    owner,
                    self.image_id(p, n.image),
                    self.of_node[p][i].0 as i32,
                    n.address,
                    (n.size > 0).then_some(n.size),
                    n.instructions as i64,
                    n.last_address,
                    file,
                    line,
                    executions.map(|e| e as i64),
                    (low && !self.steps[p][i].is_empty()).then_some(id)
                ])?;
            }
        }
        table.flush()?;
        self.write_edges(connection)?;
        self.write_routines(connection)
    }

    fn write_edges(&self, connection: &Connection) -> Result<(), BuildError> {
        let mut table = connection.appender("cfg_edge")?;
        let mut threads = connection.appender("cfg_edge_thread")?;
        let mut number = 0;
        for (p, process) in self.graph.processes.iter().enumerate() {
            for e in &process.edges {
                number += 1;
                let total = e.counts.iter().fold(0u64, |a, &b| a.saturating_add(b));
                let (source, target) = (self.block_id(p, e.source), self.block_id(p, e.target));
                let name = &self.graph.types[e.type_name as usize];
                let count = (!e.counts.is_empty()).then_some(total as i64);
                table.append_row(params![
                    number,
                    e.id,
                    p as i32 + 1,
                    source,
                    target,
                    e.kind.name(),
                    name,
                    count
                ])?;
                for (t, &count) in
                    e.counts.iter().enumerate().take(1 << 16).filter(|(_, c)| **c > 0)
                {
                    threads.append_row(params![
                        number,
                        self.thread_base[p] + t as i32 + 1,
                        count as i64
                    ])?;
                }
            }
        }
        table.flush()?;
        Ok(threads.flush()?)
    }

    fn write_routines(&self, connection: &Connection) -> Result<(), BuildError> {
        let mut table = connection.appender("routine")?;
        let mut blocks = connection.appender("routine_block")?;
        let mut loops = connection.appender("loop")?;
        let mut loop_blocks = connection.appender("loop_block")?;
        let (mut routine_base, mut loop_base) = (0, 0);
        for (p, process) in self.graph.processes.iter().enumerate() {
            let mut entering: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
            for (i, e) in process.edges.iter().enumerate() {
                entering.entry(e.target).or_default().push(i);
            }
            let into =
                |node: u32| entering.get(&node).into_iter().flatten().map(|&i| &process.edges[i]);
            let total = |counts: &[u64]| counts.iter().fold(0u64, |a, &b| a.saturating_add(b));
            for (i, r) in process.routines.iter().enumerate() {
                let id = routine_base + i as i32 + 1;
                let members: FxHashSet<u32> = r.nodes.iter().map(|n| n.0).collect();
                let enters = into(r.entry).filter(|e| {
                    let comes_back = matches!(
                        e.kind,
                        EdgeKind::Return | EdgeKind::TrapReturn | EdgeKind::Bypass
                    );
                    !comes_back && (!members.contains(&e.source) || !e.kind.is_inside())
                });
                let entries: u64 = enters.map(|e| total(&e.counts)).fold(0, u64::saturating_add);
                let function = self.of_node[p][r.entry as usize].0 as i32;
                let entries = (!process.edges.is_empty()).then_some(entries as i64);
                let image = self.image_id(p, r.image);
                table.append_row(params![
                    id,
                    p as i32 + 1,
                    image,
                    function,
                    self.block_id(p, r.entry),
                    entries
                ])?;
                let exits: FxHashSet<u32> = r.exits.iter().copied().collect();
                for &(node, dominator) in &r.nodes {
                    let dominator = dominator.map(|d| self.block_id(p, d));
                    blocks.append_row(params![
                        id,
                        self.block_id(p, node),
                        dominator,
                        exits.contains(&node)
                    ])?;
                }
            }
            for (i, l) in process.loops.iter().enumerate() {
                let id = loop_base + i as i32 + 1;
                let inside = |node: u32| l.nodes.binary_search(&node).is_ok();
                // A return to the header comes from a call in the loop if only blocks of the loop
                // are said to call there.
                let called_inside = {
                    let mut over = into(l.header).filter(|e| e.kind == EdgeKind::Bypass).peekable();
                    over.peek().is_some() && over.all(|e| inside(e.source))
                };
                let goes_on = |e: &&super::graph::Edge| match e.kind {
                    EdgeKind::Return | EdgeKind::TrapReturn => called_inside,
                    kind => kind.is_inside() && inside(e.source),
                };
                let back: u64 = into(l.header)
                    .filter(goes_on)
                    .map(|e| total(&e.counts))
                    .fold(0, u64::saturating_add);
                let iterations = process.nodes[l.header as usize].entered;
                let of = |&n: &u32| {
                    process.nodes[n as usize]
                        .entered
                        .saturating_mul(process.nodes[n as usize].instructions)
                };
                let steps = l.nodes.iter().map(of).fold(0, u64::saturating_add);
                let known = |n: u64| (!process.edges.is_empty()).then_some(n as i64);
                loops.append_row(params![
                    id,
                    routine_base + l.routine as i32 + 1,
                    self.of_node[p][l.header as usize].0 as i32,
                    self.block_id(p, l.header),
                    l.parent.map(|o| loop_base + o as i32 + 1),
                    l.depth as i32,
                    known(iterations.saturating_sub(back)),
                    known(iterations),
                    known(steps)
                ])?;
                for &node in &l.nodes {
                    loop_blocks.append_row(params![
                        id,
                        self.block_id(p, node),
                        l.back_edge_sources.contains(&node)
                    ])?;
                }
            }
            routine_base += process.routines.len() as i32;
            loop_base += process.loops.len() as i32;
        }
        table.flush()?;
        blocks.flush()?;
        loops.flush()?;
        Ok(loop_blocks.flush()?)
    }

    /// Sums by function from the counts of blocks and edges, where no trace says who called whom
    /// when.
    pub fn static_sums(&self) -> StaticSums {
        let mut sums = StaticSums::default();
        for (p, process) in self.graph.processes.iter().enumerate() {
            let of = |node: u32| self.of_node[p][node as usize];
            for (i, n) in
                process.nodes.iter().enumerate().filter(|(_, n)| n.kind == NodeKind::Block)
            {
                let executions =
                    if process.edges.is_empty() { n.count.unwrap_or(0) } else { n.entered };
                let f = sums.functions.entry(of(i as u32).0).or_default();
                f.1 = f.1.saturating_add(executions.saturating_mul(n.instructions));
            }
            for e in &process.edges {
                let ((caller, _), (callee, stub)) = (of(e.source), of(e.target));
                let count = e.counts.iter().fold(0u64, |a, &b| a.saturating_add(b));
                let kind = match e.kind {
                    _ if count == 0 || callee == 0 => continue,
                    EdgeKind::Call if stub => "stub",
                    EdgeKind::Call => "call",
                    EdgeKind::Entry => "root",
                    EdgeKind::Trap => "signal",
                    kind if kind.is_inside() && caller != callee && caller > 0 => "tail",
                    _ => continue,
                };
                let caller = (kind != "root").then_some(caller as i32);
                let edge = sums.calls.entry((caller, callee as i32, kind)).or_default();
                *edge = edge.saturating_add(count);
                let f = sums.functions.entry(callee).or_default();
                f.0 = f.0.saturating_add(count);
            }
        }
        sums
    }
}

#[derive(Default)]
pub struct StaticSums {
    /// By function: times entered, steps.
    pub functions: BTreeMap<u32, (u64, u64)>,
    /// By caller, callee and kind.
    pub calls: BTreeMap<(Option<i32>, i32, &'static str), u64>,
}

/// `call_edge` and `function_profile` of a trace.
pub fn write_counters(connection: &Connection, counters: &Counters) -> Result<(), BuildError> {
    let mut table = connection.appender("call_edge")?;
    let edges: BTreeMap<_, _> = counters.call_edges.iter().collect();
    for ((caller, callee, kind), (calls, steps)) in edges {
        let caller = (*caller > 0).then_some(*caller as i32);
        table.append_row(params![
            caller,
            *callee as i32,
            kind.name(),
            *calls as i64,
            *steps as i64
        ])?;
    }
    table.flush()?;
    let mut table = connection.appender("function_profile")?;
    for (f, &(calls, own, total)) in counters.functions.iter().enumerate().filter(|(_, s)| s.0 > 0)
    {
        let none = None::<i64>;
        table.append_row(params![f as i32, calls as i64, own as i64, total as i64, none, none])?;
    }
    Ok(table.flush()?)
}

/// The same of a graph without trace.
pub fn write_static(connection: &Connection, sums: &StaticSums) -> Result<(), BuildError> {
    let mut table = connection.appender("call_edge")?;
    for (&(caller, callee, kind), &count) in &sums.calls {
        table.append_row(params![caller, callee, kind, count as i64, None::<i64>])?;
    }
    table.flush()?;
    let mut table = connection.appender("function_profile")?;
    for (&f, &(calls, own)) in sums.functions.iter().filter(|(f, _)| **f > 0) {
        let none = None::<i64>;
        table.append_row(params![f as i32, calls as i64, own as i64, none, none, none])?;
    }
    Ok(table.flush()?)
}

/// What takes the rows of a walk.
pub struct Rows<'c, 'a, F> {
    pub code: &'c mut Code<'a>,
    pub process: usize,
    pub output: ColumnOutput<F>,
    pub send: F,
    runs: Runs,
    /// Call instances and intervals are kept; runs of blocks and iterations.
    pub middle: bool,
    pub low: bool,
}

impl<'c, 'a, F: FnMut(Table, Vec<ArrayRef>)> Rows<'c, 'a, F> {
    pub fn new(
        code: &'c mut Code<'a>,
        output: ColumnOutput<F>,
        send: F,
        middle: bool,
        low: bool,
    ) -> Self {
        Rows { code, process: 0, output, send, runs: Runs::default(), middle, low }
    }

    fn hand_out(&mut self) {
        let Runs { start_seq, thread, block } = std::mem::take(&mut self.runs);
        if !start_seq.is_empty() {
            let columns: Vec<ArrayRef> = vec![
                Arc::new(Int64Array::from(start_seq)),
                Arc::new(Int32Array::from(thread)),
                Arc::new(Int32Array::from(block)),
            ];
            (self.send)(Table::BlockRun, columns);
        }
    }

    pub fn finish(&mut self) {
        self.hand_out();
        self.output.finish();
    }
}

impl<F: FnMut(Table, Vec<ArrayRef>)> Take for Rows<'_, '_, F> {
    #[inline]
    fn function(&mut self, node: u32) -> (u32, bool) {
        let known = self.code.of_node[self.process][node as usize];
        if known.0 > 0 { known } else { self.code.function(self.process, node) }
    }

    fn last_instruction(&mut self, node: u32) -> Option<u32> {
        // Rows count instructions from 0.
        self.code.steps[self.process][node as usize].last().map(|i| i - 1)
    }

    fn call(&mut self, row: Call) {
        if self.middle {
            self.output.call(row, None);
        }
    }

    fn interval(&mut self, row: Interval) {
        if self.middle {
            self.output.interval(row);
        }
    }

    #[inline]
    fn run(&mut self, thread: u32, seq: u64, node: u32) {
        if self.low {
            self.runs.start_seq.push(seq as i64);
            self.runs.thread.push(thread as i32 + 1);
            self.runs.block.push(self.code.block_id(self.process, node));
            if self.runs.start_seq.len() == columns::BATCH {
                self.hand_out();
            }
        }
    }

    fn loop_instance(&mut self, row: LoopInstance) {
        if self.middle {
            self.output.loop_instance(row);
        }
    }

    fn iteration(&mut self, loop_instance: u32, iteration: u64, seq: u64) {
        if self.low {
            self.output.loop_iteration(loop_instance, iteration, seq);
        }
    }
}

/// By node: the one that a bypass edge leads to.
pub fn bypasses(process: &Process) -> FxHashMap<u32, u32> {
    process
        .edges
        .iter()
        .filter(|e| e.kind == EdgeKind::Bypass)
        .map(|e| (e.source, e.target))
        .collect()
}
