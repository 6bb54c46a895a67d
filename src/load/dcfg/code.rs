//! The code of a graph's processes: functions and instructions, and the ids of what is in them.

use crate::event::{Dialect, Isa};
use crate::id::{BlockId, FileId, FunctionId, ImageId, InstructionId, LoopId, ThreadId};
use crate::image::{AddressSpace, FunctionKind, FunctionRef};
use crate::isa::{self, Decoded, Decoder};
use crate::load::Files;
use crate::trace::dcfg::graph::{self, Graph, Node, NodeKind};
use rustc_hash::FxHashMap;

/// Where a function is said to be.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKey {
    /// Of an ELF file, by process.
    Elf(usize, FunctionRef),
    /// Process, image and symbol of the DCFG.
    Symbol(usize, u32, u32),
    /// Code outside of every symbol, by process and image.
    Outside(usize, u32),
}

/// An instruction of an ELF file.
pub struct KnownInstruction {
    pub process: usize,
    pub image: Option<ImageId>,
    pub address: u64,
    pub function: FunctionId,
    pub decoded: Decoded,
    pub executions: u64,
}

/// The code of all processes: functions and instructions, numbered in order of first execution,
/// then of the file.
pub struct Code<'a> {
    pub(super) graph: &'a Graph,
    pub(super) space: &'a AddressSpace,
    /// By process and image: index of the ELF file that it is.
    pub(super) elf: Vec<Vec<Option<usize>>>,
    /// By process: basic-block id of node 0, were it no special one; threads, routines and loops
    /// before it.
    bases: Vec<Bases>,
    decoder: Option<Box<dyn Decoder>>,
    pub(super) functions: Vec<FunctionKey>,
    function_ids: FxHashMap<FunctionKey, FunctionId>,
    pub(super) instructions: Vec<KnownInstruction>,
    instruction_ids: FxHashMap<(usize, u64), InstructionId>,
    /// By process and node: function and whether it is a stub; None: without code, or not asked for
    /// yet.
    of_node: Vec<Vec<Option<(FunctionId, bool)>>>,
    /// By process and node; empty if its instructions are not known.
    pub(super) steps: Vec<Vec<Vec<InstructionId>>>,
    /// Blocks of which the ELF files have other code than the graph says.
    pub mismatches: Vec<(u64, u64)>,
    /// Blocks that were compared with the ELF files.
    pub compared: u64,
}

/// How many there are in the processes before.
#[derive(Clone, Copy, Default)]
struct Bases {
    blocks: usize,
    threads: usize,
    routines: usize,
    loops: usize,
}

pub fn base_name(path: &str) -> &str {
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
        let isa: Option<(Isa, Dialect)> =
            space.images().first().map(|l| (l.image.isa, l.image.dialect));
        let mut before = Bases::default();
        let mut bases = Vec::new();
        for p in &graph.processes {
            bases.push(before);
            before.blocks += p.nodes.len() - graph.specials.len();
            before.threads += p.threads();
            before.routines += p.routines.len();
            before.loops += p.loops.len();
        }
        Code {
            graph,
            space,
            elf,
            bases,
            decoder: isa.map(|(isa, dialect)| isa::decoder(isa, dialect)),
            functions: Vec::new(),
            function_ids: FxHashMap::default(),
            instructions: Vec::new(),
            instruction_ids: FxHashMap::default(),
            of_node: graph.processes.iter().map(|p| vec![None; p.nodes.len()]).collect(),
            steps: graph.processes.iter().map(|p| vec![Vec::new(); p.nodes.len()]).collect(),
            mismatches: Vec::new(),
            compared: 0,
        }
    }

    /// `basic_block_id` of a node; all processes share the special ones.
    pub fn block_id(&self, process: usize, node: u32) -> BlockId {
        let node = node as usize;
        let special = node < self.graph.specials.len();
        BlockId::at(node + if special { 0 } else { self.bases[process].blocks })
    }

    pub fn thread_id(&self, process: usize, thread: usize) -> ThreadId {
        ThreadId::at(self.bases[process].threads + thread)
    }

    /// `routine_id`
    pub fn routine_id(&self, process: usize, routine: usize) -> u32 {
        (self.bases[process].routines + routine) as u32 + 1
    }

    pub fn loop_id(&self, process: usize, index: u32) -> LoopId {
        LoopId::at(self.bases[process].loops + index as usize)
    }

    /// `image_id`: the ELF files come first.
    pub fn image_id(&self, process: usize, image: u32) -> ImageId {
        let image = image as usize;
        if let Some(elf) = self.elf[process][image] {
            return ImageId::at(elf);
        }
        let before = self.elf[..process].iter().map(Vec::len).sum::<usize>() + image;
        let unmatched = self.elf.iter().flatten().take(before).filter(|e| e.is_none()).count();
        ImageId::at(self.space.images().len() + unmatched)
    }

    /// Function of a node's code; None for one without code.
    pub fn function_of(&self, process: usize, node: u32) -> Option<FunctionId> {
        Some(self.of_node[process][node as usize]?.0)
    }

    /// Whether a node is code of a stub.
    pub fn is_stub(&self, process: usize, node: u32) -> bool {
        self.of_node[process][node as usize].is_some_and(|f| f.1)
    }

    /// Instructions of a node; empty if they are not known.
    pub fn steps(&self, process: usize, node: u32) -> &[InstructionId] {
        &self.steps[process][node as usize]
    }

    fn key(&self, process: usize, node: &Node) -> FunctionKey {
        let image = &self.graph.processes[process].images[node.image as usize];
        let elf = self.elf[process][node.image as usize];
        let function = self.space.function_at(node.address).filter(|at| Some(at.image) == elf);
        let symbol = image
            .symbol_at(node.address)
            .filter(|_| elf.is_none_or(|e| self.space.images()[e].image.stripped));
        let unnamed = |at| self.space.function(at).kind == FunctionKind::Unnamed;
        match (function, symbol) {
            (Some(at), symbol) if symbol.is_none() || !unnamed(at) => FunctionKey::Elf(process, at),
            (_, Some(symbol)) => FunctionKey::Symbol(process, node.image, symbol as u32),
            (_, None) => FunctionKey::Outside(process, node.image),
        }
    }

    /// Function of a block's code and whether it is a stub.
    #[inline]
    pub fn function(&mut self, process: usize, node: u32) -> (FunctionId, bool) {
        match self.of_node[process][node as usize] {
            Some(known) => known,
            None => self.meet(process, node),
        }
    }

    fn meet(&mut self, process: usize, node: u32) -> (FunctionId, bool) {
        let key = self.key(process, &self.graph.processes[process].nodes[node as usize]);
        let next = FunctionId::at(self.functions.len());
        let id = *self.function_ids.entry(key).or_insert(next);
        if id == next {
            self.functions.push(key);
        }
        let stub = matches!(key, FunctionKey::Elf(_, at) if self.space.function(at).kind == FunctionKind::Stub);
        self.of_node[process][node as usize] = Some((id, stub));
        self.decode(process, node, id);
        (id, stub)
    }

    /// Numbers the node's instructions, if an ELF file has its code and it is as long as the graph
    /// says.
    fn decode(&mut self, process: usize, node: u32, function: FunctionId) {
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
        self.compared += 1;
        let length = at.wrapping_sub(n.address);
        if found.len() as u64 != n.instructions || (n.size > 0 && length != n.size) {
            self.mismatches.push((n.id, n.address));
            return;
        }
        let image = elf.map(ImageId::at);
        let mut ids = Vec::with_capacity(found.len());
        for (address, decoded) in found {
            let next = InstructionId::at(self.instructions.len());
            let id = *self.instruction_ids.entry((process, address)).or_insert(next);
            if id == next {
                let executions = 0;
                self.instructions.push(KnownInstruction {
                    process,
                    image,
                    address,
                    function,
                    decoded,
                    executions,
                });
            }
            let executions = &mut self.instructions[id.index()].executions;
            *executions = graph::sum([*executions, n.entered]);
            ids.push(id);
        }
        self.steps[process][node as usize] = ids;
    }

    /// What has not run is numbered too.
    pub fn complete(&mut self) {
        for (p, process) in self.graph.processes.iter().enumerate() {
            for (n, node) in process.nodes.iter().enumerate() {
                if node.kind == NodeKind::Block {
                    self.function(p, n as u32);
                }
            }
        }
    }

    pub fn has_instructions(&self) -> bool {
        !self.instructions.is_empty()
    }

    /// File and line of an address: of the ELF file, else of the graph's own source data.
    pub fn line(
        &self,
        process: usize,
        image: u32,
        address: u64,
        files: &mut Files,
    ) -> (Option<FileId>, Option<u32>) {
        let of_elf = self.elf[process][image as usize].and_then(|_| self.space.line(address));
        if let Some((file, line)) = of_elf {
            return (Some(files.id(&file)), Some(line));
        }
        match self.graph.processes[process].images[image as usize].line_at(address) {
            Some((file, line)) => {
                (Some(files.id(&self.graph.files[file as usize])), Some(line).filter(|&l| l > 0))
            }
            None => (None, None),
        }
    }
}
