//! What is written when a trace of steps has ended: dictionaries and sums.

use super::contexts;
use super::derived::{self, Budget};
use super::dictionary::{self, Files, Loading, SectionRow, TraceFile};
use super::folded::{self, Edge, added};
use super::front::ProcessPart;
use super::inlined::InlinedSites;
use super::instructions::{self, Listed};
use super::limit::Limit;
use super::names::FunctionNames;
use super::places::{self, Places};
use super::sums::Sums;
use super::{BuildError, Options};
use crate::analysis::access::{self, AccessPlace, Insn};
use crate::analysis::origin::Origin;
use crate::analysis::place::SectionRange;
use crate::analysis::summary::{FunctionFlow, InstructionFlow};
use crate::analysis::{self, CallEdge, Summary};
use crate::diagnostics::Diagnostics;
use crate::event::{BlockDef, Isa};
use crate::id::{BlockId, FunctionId, ImageId, InstructionId, ProcessId};
use crate::image::AddressSpace;
use crate::isa;
use crate::store::StoreError;
use crate::store::run_code::{FunctionTraits, RunCode, SectionName};
use crate::store::table::{Destination, Table, fill};
use crate::store::tables;
use crate::store::tables::{
    BlockAccess, BlockAccesses, BlockStep, BlockSteps, FunctionEdge, InstructionEdge, Process,
    Region, Register, Thread,
};
use duckdb::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

/// Where rows go, and what they are made of.
pub struct End<'a> {
    pub connection: &'a Connection,
    pub options: &'a Options,
    pub space: &'a AddressSpace,
    pub sections: &'a [SectionRow],
    /// When each image was mapped, by its index, if the trace told.
    pub mapped: &'a FxHashMap<usize, Loading>,
    /// Processes, and the numbers that the trace has for threads.
    pub processes: &'a [ProcessPart],
    pub logged_threads: &'a [u32],
    /// By image: the process that has it; None: several.
    pub image_processes: &'a [Option<usize>],
    /// By instruction: the image that it is of.
    pub insn_images: &'a [Option<usize>],
    /// Instructions, which several processes may have in common, and how often each was executed.
    pub insns: &'a [&'a Insn],
    pub executions: &'a [u64],
    pub longest_block: usize,
    /// Blocks, if the run is kept.
    pub defs: &'a [BlockDef],
    pub summary: &'a Summary,
    pub isa: Isa,
    /// The log tells threads apart.
    pub threads: bool,
    /// The run is kept.
    pub low: bool,
    /// Whether it is known which bytes were written for nothing.
    pub dead: bool,
    /// Whether unique bytes and addresses were counted.
    pub unique: bool,
    /// What is beside it in chunks, if it is kept so.
    pub packed: Option<Packed>,
}

/// What a pass over the chunks is to be told, beside the code.
pub struct Packed {
    /// Sections that were there from the start.
    pub first_sections: usize,
    /// Sections of each mapping and device.
    pub placed: Vec<Vec<SectionRange>>,
    /// By process.
    pub first_stack_pointers: Vec<Option<u64>>,
    /// By function.
    pub functions: Vec<FunctionTraits>,
}

/// All of the traces tell of all that anybody stores.
fn all_stores(traces: &[TraceFile]) -> bool {
    traces.iter().all(|trace| trace.carries.all_stores)
}

/// How often each of so many instructions was executed, by what each block was.
pub fn executions(insns: usize, defs: &[BlockDef], counts: &[u64]) -> Vec<u64> {
    let mut executions = vec![0; insns];
    for (def, &count) in defs.iter().zip(counts) {
        for step in &def.steps {
            executions[step.insn as usize] += count;
        }
    }
    executions
}

/// Instructions of the longest block.
pub fn longest(defs: &[BlockDef]) -> usize {
    defs.iter().map(|def| def.steps.len()).max().unwrap_or(0)
}

impl End<'_> {
    /// Fills all that is left. Gives the number of functions that ran.
    pub fn write(
        &self,
        mut names: FunctionNames,
        traces: &[TraceFile],
        diagnostics: &Diagnostics,
    ) -> Result<usize, BuildError> {
        let s = self.summary;
        let more = [
            ("isa", Some(format!("{:?}", self.isa).to_lowercase())),
            ("steps", Some(s.steps.to_string())),
            ("longest_block", Some(self.longest_block.to_string())),
            ("first_stack_pointer", s.first_sp.map(|a| a.to_string())),
            ("first_stack_pointers", self.first_stack_pointers_of_all()),
            ("unwritten", Some(places::unwritten(all_stores(traces)).to_owned())),
            ("task_switches", Some(s.switches).filter(|n| *n > 0).map(|n| n.to_string())),
            (
                "contexts_left_out",
                Some(s.contexts.left_out()).filter(|n| *n > 0).map(|n| n.to_string()),
            ),
        ];
        dictionary::meta(self.connection, self.options, &more)?;
        dictionary::inputs(self.connection, self.options, traces, self.space)?;
        dictionary::diagnostics(self.connection, diagnostics)?;
        self.machine()?;
        let mut files = Files::default();
        self.instructions(&mut files)?;
        let functions = names.len();
        let section_names = places::section_names(self.space, self.sections);
        let unwritten = places::unwritten(all_stores(traces));
        let places = Places::new(&section_names, s, unwritten, |name| names.pseudo(name));
        let owners = names.write(self.space, self.connection, &mut files)?;
        let loads = |image: usize| {
            let process = self.image_processes.get(image).copied().flatten();
            (process.map(ProcessId::at), self.mapped.get(&image).copied())
        };
        dictionary::images(self.connection, self.space, loads, self.sections, &mut files)?;
        files.write(self.connection)?;
        if self.low {
            self.blocks()?;
        }
        if let Some(packed) = &self.packed {
            self.run_code(packed, &section_names)?;
        }
        let edges = self.function_edges(&places)?;
        folded_edges(self.connection.into(), (s, self.unique), edges, &places)?;
        let function = |insn: InstructionId| self.insns[insn.index()].function;
        instruction_edges(self.connection.into(), s, &places, function)?;
        self.sums()?;
        contexts::write(self.connection, s.contexts.contexts(), &owners)?;
        contexts::edges(self.connection, (s, self.unique), &places)?;
        places_of(self.connection.into(), s, &places)?;
        let limit = Limit::new(self.options.memory_limit).bytes();
        let budget = Budget::of_pass((s.calls.into(), s.merged_calls), limit);
        derived::whole_flows(self.connection, budget)?;
        derived::derived_of_pass(self.connection, budget)?;
        Ok(functions)
    }

    /// Where the steps of several processes are kept: those of each, with commas between them.
    fn first_stack_pointers_of_all(&self) -> Option<String> {
        let of = |sp: &Option<u64>| sp.map_or(String::new(), |sp| sp.to_string());
        let all: Vec<String> = self.packed.as_ref()?.first_stack_pointers.iter().map(of).collect();
        (all.len() > 1).then(|| all.join(","))
    }

    /// Processes, threads, registers, regions of memory.
    fn machine(&self) -> Result<(), StoreError> {
        let s = self.summary;
        let processes = self.processes.iter().enumerate().map(|(i, p)| Process {
            process_id: ProcessId::at(i),
            pid: p.named.pid,
            name: p.named.name.as_deref(),
        });
        fill(self.connection, processes)?;
        let logged = if self.threads { self.logged_threads } else { &[] };
        let threads = s.threads.iter().map(|t| Thread {
            thread_id: t.id,
            process_id: self.process_of(|p| p.first_thread, t.id.index()),
            tid: logged.get(t.id.index()).map(|n| i64::from(*n)),
            steps: Some(t.steps),
        });
        fill(self.connection, threads)?;
        let registers = isa::registers(self.isa);
        let registers = registers.all.iter().map(|r| Register {
            address: u32::from(r.span.offset),
            name: &r.name,
            size: u32::from(r.span.size),
            is_control: r.control,
        });
        fill(self.connection, registers)?;
        let regions = s.regions.iter().map(|r: &analysis::Region| Region {
            first_address: r.first,
            last_address: r.last,
            via: if r.is_stack { "stack" } else { "heap" },
        });
        fill(self.connection, regions)
    }

    /// The process that has the thread or instruction at this index.
    fn process_of(&self, first: impl Fn(&ProcessPart) -> usize, index: usize) -> ProcessId {
        let after = self.processes.partition_point(|p| first(p) <= index);
        ProcessId::at(after.saturating_sub(1))
    }

    fn instructions(&self, files: &mut Files) -> Result<(), StoreError> {
        let mut inlined = InlinedSites::default();
        let listed =
            self.insns.iter().enumerate().zip(self.executions).map(|((i, insn), &executions)| {
                let (def, decoded) = (&insn.def, &insn.decoded);
                // What lay there when it ran, which need not be what lies there at the end.
                let image = self.insn_images.get(i).copied().flatten();
                let loaded = image.map(|image| &self.space.images()[image]);
                let line = loaded.and_then(|at| at.image.line(def.address.wrapping_sub(at.bias)));
                if let Some(at) = loaded {
                    let calls = at.image.inlined(def.address.wrapping_sub(at.bias));
                    inlined.add(InstructionId::at(i), insn.function, calls);
                }
                let decoded_text = Some(decoded.text.as_str()).filter(|t| !t.is_empty());
                let in_image = |size: u8| {
                    self.space.bytes(def.address).map(|b| &b[..b.len().min(usize::from(size))])
                };
                Listed {
                    process: self.process_of(|p| p.first_instruction, i),
                    image: image.map(ImageId::at),
                    address: def.address,
                    opcode: if def.bytes.is_empty() {
                        in_image(decoded.size)
                    } else {
                        Some(&def.bytes)
                    },
                    text: decoded_text.or(def.text.as_deref()),
                    decoded: Some(decoded),
                    function: insn.function,
                    file: line.as_ref().map(|(f, _)| files.id(f)),
                    line: line.map(|(_, l)| l),
                    executions,
                }
            });
        instructions::write(self.connection, listed)?;
        inlined.write(self.connection, files)
    }

    /// What the blocks of the low level are.
    fn blocks(&self) -> Result<(), StoreError> {
        let mut steps = Table::<BlockSteps>::new(self.connection);
        let mut accesses = Table::<BlockAccesses>::new(self.connection);
        for (b, def) in self.defs.iter().enumerate() {
            let block_id = BlockId::at(b);
            for (step, s) in (0u32..).zip(&def.steps) {
                let instruction_id = InstructionId::at(s.insn as usize);
                steps.push(BlockStep { block_id, step, instruction_id, executed: s.executed })?;
            }
            let mut pushed = Ok(());
            let memory = def.mem.len() as u32;
            access::accesses(
                def,
                |i| &self.insns[i as usize].decoded,
                |a| {
                    if pushed.is_ok() {
                        pushed = accesses.push(access_row(block_id, memory, &a));
                    }
                },
            );
            pushed?;
        }
        steps.finish()?;
        accesses.finish()
    }

    /// Fills `function_edge`, and gives its rows.
    fn function_edges(&self, places: &Places) -> Result<Vec<Edge>, StoreError> {
        let edges = edges(&self.summary.function_flows, places);
        let rows = edges.iter().map(|&((writer, reader, via), sums)| FunctionEdge {
            writer_function_id: writer,
            reader_function_id: reader,
            via: Some(via),
            bytes: Some(sums[0]),
            unique_bytes: self.unique.then_some(sums[1]),
            addresses: self.unique.then_some(sums[2]),
            transfers: Some(sums[3]),
        });
        fill(self.connection, rows)?;
        Ok(edges)
    }

    /// What the pass is to know to go through the chunks of the run again.
    fn run_code(&self, packed: &Packed, names: &[SectionName]) -> Result<(), StoreError> {
        let first = dictionary::ranges(&self.sections[..packed.first_sections], 0);
        let first_threads = self.processes.iter().skip(1).map(|p| p.first_thread as u32);
        let code = RunCode {
            isa: self.isa,
            sections: first,
            placed: packed.placed.clone(),
            names: names.to_vec(),
            first_stack_pointers: packed.first_stack_pointers.clone(),
            first_threads: first_threads.collect(),
            functions: packed.functions.clone(),
            insns: self.insns.iter().copied().cloned().collect(),
            blocks: self.defs.to_vec(),
        };
        let path = "run_code".to_owned();
        let data = code.pack().map_err(|source| StoreError::Io { path, source })?;
        fill(self.connection, [tables::RunCode { data: &data }])
    }

    fn sums(&self) -> Result<(), StoreError> {
        let mut sums = Sums::default();
        for &CallEdge { caller, callee, kind, calls, steps } in &self.summary.call_edges {
            sums.call((caller, callee, kind), calls, Some(steps));
        }
        for (f, of) in self.summary.functions.iter().enumerate().filter(|(_, f)| f.calls > 0) {
            let profile = sums.profile(FunctionId::at(f));
            profile.calls = of.calls;
            profile.steps_self = Some(of.steps_self);
            profile.steps_total = Some(of.steps_total);
            profile.written_bytes = Some(of.written_bytes);
            profile.dead_bytes = self.dead.then_some(of.dead_bytes);
        }
        sums.write(self.connection)
    }
}

/// Fills the tables of edges between functions and of calls with stubs merged into their callers;
/// `all` are the edges of all functions; `unique`: unique bytes and addresses were counted.
pub(super) fn folded_edges(
    into: Destination,
    (summary, unique): (&Summary, bool),
    all: Vec<Edge>,
    places: &Places,
) -> Result<(), StoreError> {
    let stubs: FxHashSet<FunctionId> = summary.stubs.iter().copied().collect();
    folded::function_edges(into, (&stubs, unique), all, edges(&summary.stub_flows, places))?;
    folded::call_edges(into, &stubs, &summary.call_edges, &summary.stub_calls)?;
    folded::profiles(into, &summary.functions, &summary.merged_steps)
}

/// Fills `instruction_edge_row`; `function` gives that of an instruction.
pub(super) fn instruction_edges(
    into: Destination,
    summary: &Summary,
    places: &Places,
    function: impl Fn(InstructionId) -> FunctionId,
) -> Result<(), StoreError> {
    let edge = |flow: &InstructionFlow| {
        let &InstructionFlow { writer, reader, place, bytes, transfers } = flow;
        let (insn, function) = match writer {
            Origin::Step(writer) => (Some(writer), function(writer)),
            Origin::Source(source) => (None, places.pseudo(place, source)?),
        };
        Some(((insn, reader, function, places.via(place)), [bytes, transfers]))
    };
    let edges = added(summary.instruction_flows.iter().filter_map(edge).collect());
    let rows = edges.into_iter().map(|((writer, reader, function, via), sums)| InstructionEdge {
        writer_instruction_id: writer,
        reader_instruction_id: reader,
        writer_function_id: function,
        via: Some(via),
        bytes: Some(sums[0]),
        transfers: sums[1],
    });
    fill(into, rows)
}

/// Fills `place`.
pub(super) fn places_of(
    into: Destination,
    summary: &Summary,
    places: &Places,
) -> Result<(), StoreError> {
    let rows = (1u32..).zip(&summary.flow_places).map(|(place_id, at)| tables::Place {
        place_id,
        via: places.via(at.place),
        function_id: at.source.and_then(|source| places.pseudo(at.place, source)),
    });
    fill(into, rows)
}

/// Dataflow between functions by via.
pub(super) fn edges(flows: &[FunctionFlow], places: &Places) -> Vec<Edge> {
    let edge = |flow: &FunctionFlow| {
        let &FunctionFlow { writer, reader, place, sums } = flow;
        let writer = places.function(writer, place)?;
        let reader = places.function(reader, place)?;
        let sums = [sums.bytes, sums.unique, sums.addresses, sums.transfers];
        Some(((writer, reader, places.via(place)), sums))
    };
    added(flows.iter().filter_map(edge).collect())
}

/// A row of `block_access`. Values of register writes stand behind those of `memory` accesses.
fn access_row(block_id: BlockId, memory: u32, a: &access::Access) -> BlockAccess<'static> {
    let (space, register_address, memory_index, value_index) = match a.place {
        AccessPlace::Register(offset) => {
            ("register", Some(u32::from(offset)), None, a.value.map(|v| memory + v))
        }
        AccessPlace::Memory(m) => ("memory", None, Some(m), Some(m)),
    };
    BlockAccess {
        block_id,
        step: a.step,
        ordinal: a.ordinal,
        is_write: a.is_write,
        space,
        register_address,
        memory_index,
        value_index,
        size: a.size,
        is_control: a.is_control,
        is_stack_relative: a.stack_relative,
        data_register: a.data_register.map(|r| u32::from(r.offset)),
    }
}
