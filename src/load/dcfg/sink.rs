//! Where the rows of a walk go, and what goes on from thread to thread.

use crate::analysis::stack::{Call, Ended, Interval, Numbers};
use crate::id::{FunctionId, InstructionId, LoopId, ThreadId};
use crate::load::sums::{CallEdgeKey, Profile, Sums};
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

/// Numbers that go on over all threads and processes, and sums.
#[derive(Default)]
pub struct Counters {
    pub numbers: Numbers,
    pub steps: u64,
    functions: FxHashMap<FunctionId, Profile>,
    /// Calls and their steps.
    call_edges: FxHashMap<CallEdgeKey, (u64, u64)>,
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
        *sums.steps_self.get_or_insert(0) += row.steps_self;
        *sums.steps_total.get_or_insert(0) += if ended.outermost { row.steps_total } else { 0 };
        let edge = self.call_edges.entry((ended.caller, row.function, row.kind)).or_default();
        edge.0 += 1;
        edge.1 += row.steps_total;
    }

    /// What was added up.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for (&edge, &(calls, steps)) in &self.call_edges {
            sums.call(edge, calls, Some(steps));
        }
        for (&function, profile) in &self.functions {
            *sums.profile(function) = *profile;
        }
        sums
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
