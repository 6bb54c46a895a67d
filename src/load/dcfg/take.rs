//! Where the rows of a walk go, and what goes on from thread to thread.

use crate::analysis::CallKind;
use crate::analysis::stack::{Call, Ended, Interval, Numbers};
use crate::id::{FunctionId, InstructionId, LoopId, ThreadId};
use crate::store::tables::LoopInstance;
use rustc_hash::FxHashMap;

/// What the walk must know of code, and where its rows go.
pub trait Take {
    /// Function of a node's code, and whether it is a stub. Called at each node's first execution
    /// in this order.
    fn function(&mut self, node: u32) -> (FunctionId, bool);
    /// The node's last instruction.
    fn last_instruction(&mut self, node: u32) -> Option<InstructionId>;
    /// Id of a loop of the process.
    fn loop_id(&self, index: u32) -> LoopId;
    fn call(&mut self, row: Call);
    fn interval(&mut self, row: Interval);
    fn run(&mut self, thread: ThreadId, seq: u64, node: u32);
    fn loop_instance(&mut self, row: LoopInstance);
    /// A header's step in the loop instance of this number.
    fn iteration(&mut self, loop_instance: u32, iteration: u64, seq: u64);
}

/// A function's calls and steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct FunctionSums {
    pub calls: u64,
    pub steps_self: u64,
    /// With those of callees, of outermost instances only.
    pub steps_total: u64,
}

/// Calls of one function by another, and their steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeSums {
    pub calls: u64,
    pub steps: u64,
}

/// Numbers that go on over all threads and processes, and sums.
#[derive(Default)]
pub struct Counters {
    pub numbers: Numbers,
    pub steps: u64,
    pub functions: FxHashMap<FunctionId, FunctionSums>,
    /// By caller, callee and kind.
    pub call_edges: FxHashMap<(Option<FunctionId>, FunctionId, CallKind), EdgeSums>,
    loop_instances: u32,
    /// Instances of each loop so far.
    instances_of_loop: FxHashMap<LoopId, u32>,
}

impl Counters {
    /// Adds a call that has ended.
    pub fn add(&mut self, ended: &Ended) {
        let row = &ended.row;
        let sums = self.functions.entry(row.function).or_default();
        sums.calls += 1;
        sums.steps_self += row.steps_self;
        if ended.outermost {
            sums.steps_total += row.steps_total;
        }
        let edge = self.call_edges.entry((ended.caller, row.function, row.kind)).or_default();
        edge.calls += 1;
        edge.steps += row.steps_total;
    }

    /// A new instance of a loop: its number among all instances of loops, and among those of this
    /// loop.
    pub fn loop_instance(&mut self, of: LoopId) -> (u32, u32) {
        self.loop_instances += 1;
        let count = self.instances_of_loop.entry(of).or_default();
        *count += 1;
        (self.loop_instances, *count)
    }
}
