//! What is left when the trace has ended.

use super::contexts::StepContexts;
use super::data::Data;
use super::flows::FlowPlace;
use super::in_context::FlowEnd;
use super::memory::Region;
use super::operations::Machine;
use super::origin::{Origin, Packed, Sources};
use super::pass::Pass;
use super::place::PlaceCode;
use super::segment::Segment;
use super::stubs::MergedSteps;
use super::sums::{Actors, CallEdge, EdgeHint, FunctionSums, Pair, PairSums};
use super::{CodeMap, Output};
use crate::id::{FunctionId, InstructionId, ThreadId};
use rustc_hash::FxHashMap;

/// Data that one function gave another, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionFlow {
    pub writer: Origin<FunctionId>,
    /// A source if the kernel read.
    pub reader: Origin<FunctionId>,
    pub place: PlaceCode,
    pub sums: PairSums,
}

impl FunctionFlow {
    fn new((writer, reader, place, sums): (Packed, Packed, PlaceCode, PairSums)) -> FunctionFlow {
        FunctionFlow { writer: writer.origin(), reader: reader.origin(), place, sums }
    }
}

/// Data that one function gave another, each in a context, by place. Stubs are merged into their callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextFlow {
    pub writer: FlowEnd,
    pub reader: FlowEnd,
    pub place: PlaceCode,
    /// Without addresses.
    pub sums: PairSums,
}

/// Data that one instruction gave another, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionFlow {
    pub writer: Origin<InstructionId>,
    pub reader: InstructionId,
    pub place: PlaceCode,
    pub bytes: u64,
    pub transfers: u64,
}

/// A thread that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSteps {
    pub id: ThreadId,
    pub steps: u64,
}

/// The sums of a run.
pub struct Summary {
    /// By function.
    pub functions: Vec<FunctionSums>,
    pub function_flows: Vec<FunctionFlow>,
    /// None where sums are by function only.
    pub instruction_flows: Vec<InstructionFlow>,
    pub call_edges: Vec<CallEdge>,
    /// Bytes and transfers that have to do with stubs, as those of what they are merged into.
    pub stub_flows: Vec<FunctionFlow>,
    /// Calls by stubs as their callers', and of stubs that nothing called.
    pub stub_calls: Vec<CallEdge>,
    /// Stubs that have been merged, and how many instances of them.
    pub stubs: Vec<FunctionId>,
    pub merged_calls: u64,
    /// By function, where instances of stubs were merged.
    pub merged_steps: FxHashMap<FunctionId, MergedSteps>,
    pub contexts: StepContexts,
    /// Data between functions in their contexts. Empty where not all of the run was gone through.
    pub context_flows: Vec<ContextFlow>,
    /// The touched pages outside of sections.
    pub regions: Vec<Region>,
    /// By region number of a place: whether it is stack.
    pub region_is_stack: Vec<bool>,
    /// By number of [`super::Flow::place`].
    pub flow_places: Vec<FlowPlace>,
    /// Names of sources outside of the program.
    pub sources: Sources,
    pub first_sp: Option<u64>,
    pub steps: u64,
    pub threads: Vec<ThreadSteps>,
    pub calls: u32,
    pub intervals: u32,
    pub signals: u64,
    /// Times that an exception's handler went back to something else than it interrupted.
    pub switches: u64,
    pub pages: usize,
}

impl<O: Output> Machine<O> {
    /// What was never read is dead.
    fn count_unread(&mut self) {
        let sums = &mut self.data.sums;
        self.data.memory.unread(|cell, n| {
            if let Some(writer) = cell.dead_writer() {
                sums.dead(writer, n);
            }
        });
    }

    fn function_flows(&self) -> Vec<FunctionFlow> {
        let all = self.data.sums.all_pairs();
        all.into_iter().filter(|(.., sums)| sums.bytes > 0).map(FunctionFlow::new).collect()
    }

    /// Those that have to do with stubs, as of what these are merged into.
    fn stub_flows(&self) -> Vec<FunctionFlow> {
        let of_sums = self
            .data
            .sums
            .merged_pairs(|f| self.data.stubs.is_stub(f))
            .into_iter()
            .filter(|(.., sums)| sums.bytes > 0);
        self.data.stubs.flows().chain(of_sums).map(FunctionFlow::new).collect()
    }

    fn context_flows(&self) -> Vec<ContextFlow> {
        let Data { sums, by_context, options, .. } = &self.data;
        let of_sums = (!options.gives_instances()).then(|| sums.pairs_in_contexts());
        let all = of_sums.into_iter().flatten().chain(by_context.flows());
        let flow = |(writer, reader, place, sums): Pair| {
            let [writer, reader] = [writer, reader].map(|end| self.data.sums.in_contexts.end(end));
            ContextFlow { writer, reader, place, sums: PairSums { addresses: 0, ..sums } }
        };
        all.filter(|(.., sums)| sums.bytes > 0).map(flow).collect()
    }

    fn instruction_flows(&mut self) -> Vec<InstructionFlow> {
        let edges = self.data.sums.take_instruction_edges();
        edges
            .map(|e| InstructionFlow {
                writer: e.writer.origin(),
                reader: InstructionId::at(e.reader.index()),
                place: e.place,
                bytes: e.bytes,
                transfers: e.transfers,
            })
            .collect()
    }
}

impl<C: CodeMap, O: Output> Pass<C, O> {
    /// Ends what is alive and gives the sums.
    pub fn finish(&mut self) -> Summary {
        self.machine.end();
        self.count_segments();
        let machine = &mut self.machine;
        machine.count_unread();
        machine.data.sums.close();
        let data = &mut machine.data;
        let regions = data.memory.ranges();
        let numbers = 0..data.memory.regions.len() as u32;
        let region_is_stack = numbers.map(|r| data.memory.regions.is_stack(r)).collect();
        Summary {
            function_flows: machine.function_flows(),
            instruction_flows: machine.instruction_flows(),
            call_edges: machine.data.sums.call_edges(),
            stub_flows: machine.stub_flows(),
            stub_calls: machine.data.stubs.calls(),
            stubs: machine.data.stubs.merged(),
            merged_calls: machine.data.stubs.merged_calls,
            merged_steps: machine.data.stubs.merged_steps(),
            context_flows: machine.context_flows(),
            contexts: std::mem::take(&mut machine.data.contexts),
            functions: std::mem::take(&mut machine.data.sums.functions),
            regions,
            region_is_stack,
            flow_places: std::mem::take(&mut machine.data.hand_out.places),
            sources: std::mem::take(&mut machine.data.sources),
            first_sp: machine.data.trace_first_sp.or(machine.data.first_sp),
            steps: self.seq - 1,
            threads: machine
                .threads
                .iter()
                .map(|t| ThreadSteps { id: t.calls.thread(), steps: t.steps })
                .collect(),
            calls: machine.data.numbers.calls(),
            intervals: machine.data.numbers.intervals(),
            signals: self.signals,
            switches: machine.data.switches.outlived
                + machine
                    .threads
                    .iter()
                    .map(|t| t.levels.irregular + t.running.switches)
                    .sum::<u64>(),
            pages: machine.data.memory.page_count(),
        }
    }

    /// Adds what was counted once for each segment, as often as the segment ran.
    fn count_segments(&mut self) {
        let actors = self.machine.data.options.actors();
        let sums = &mut self.machine.data.sums;
        let blocks = self.blocks.iter().chain(&self.superblocks.prepared);
        for segment in blocks.flat_map(|b| b.all_segments()).flat_map(Segment::each) {
            if actors == Actors::Functions {
                segment.add_to(sums);
                continue;
            }
            segment.add_met(sums);
            for s in &segment.statics {
                let (hint, writer) = (&mut EdgeHint::default(), Packed::step(s.writer));
                let edge = sums.edge(hint, writer, s.reader, PlaceCode::REGISTER);
                let bytes = u64::from(s.register.size) * segment.count;
                sums.add(edge, bytes, 0, u64::from(s.first) * segment.count);
            }
        }
    }

    /// Executions of each block.
    pub fn block_counts(&self) -> Vec<u64> {
        let blocks = self.blocks.iter().enumerate();
        let mut counts: Vec<u64> = blocks.map(|(i, b)| b.count() + self.noted_runs(i)).collect();
        for (members, superblock) in self.superblocks.iter() {
            members.iter().for_each(|&m| counts[m as usize] += superblock.count());
        }
        counts
    }
}
