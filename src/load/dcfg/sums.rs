//! Sums by function and by pair of functions: `call_edge` and `function_profile`.

use super::code::Code;
use super::take::{Counters, EdgeSums, FunctionSums};
use crate::analysis::CallKind;
use crate::id::FunctionId;
use crate::store::StoreError;
use crate::store::table;
use crate::store::tables::{CallEdge, FunctionProfile};
use crate::trace::dcfg::graph::{Edge, EdgeKind, NodeKind};
use duckdb::Connection;
use std::collections::BTreeMap;

/// From the counts of blocks and edges, where no trace says who called whom when.
#[derive(Default)]
pub struct StaticSums {
    functions: BTreeMap<FunctionId, FunctionSums>,
    calls: BTreeMap<(Option<FunctionId>, FunctionId, CallKind), u64>,
}

impl StaticSums {
    pub fn of(code: &Code) -> StaticSums {
        let mut sums = StaticSums::default();
        for (p, process) in code.graph.processes.iter().enumerate() {
            for (i, n) in
                process.nodes.iter().enumerate().filter(|(_, n)| n.kind == NodeKind::Block)
            {
                let executions =
                    if process.edges.is_empty() { n.count.unwrap_or(0) } else { n.entered };
                if let Some(function) = code.function_of(p, i as u32) {
                    let own = &mut sums.functions.entry(function).or_default().steps_self;
                    *own = own.saturating_add(executions.saturating_mul(n.instructions));
                }
            }
            process.edges.iter().for_each(|e| sums.add(code, p, e));
        }
        sums
    }

    fn add(&mut self, code: &Code, process: usize, e: &Edge) {
        let count = e.counts.iter().fold(0u64, |a, &b| a.saturating_add(b));
        let caller = code.function_of(process, e.source);
        let Some(callee) = code.function_of(process, e.target).filter(|_| count > 0) else {
            return;
        };
        let kind = match e.kind {
            EdgeKind::Call if code.is_stub(process, e.target) => CallKind::Stub,
            EdgeKind::Call => CallKind::Call,
            EdgeKind::Entry => CallKind::Root,
            EdgeKind::Trap => CallKind::Signal,
            kind if kind.is_inside() && caller.is_some_and(|c| c != callee) => CallKind::Tail,
            _ => return,
        };
        let caller = caller.filter(|_| kind != CallKind::Root);
        let edge = self.calls.entry((caller, callee, kind)).or_default();
        *edge = edge.saturating_add(count);
        let calls = &mut self.functions.entry(callee).or_default().calls;
        *calls = calls.saturating_add(count);
    }

    /// All calls.
    pub fn calls(&self) -> u64 {
        self.calls.values().fold(0u64, |a, &b| a.saturating_add(b))
    }

    pub fn write(&self, connection: &Connection) -> Result<(), StoreError> {
        let edges = self.calls.iter().map(|(&(caller, callee, kind), &calls)| CallEdge {
            caller_function_id: caller,
            callee_function_id: callee,
            kind,
            calls,
            steps: None,
        });
        table::fill(connection, edges)?;
        let profile = self.functions.iter().map(|(&function, sums)| FunctionProfile {
            steps_total: None,
            ..profile(function, sums)
        });
        table::fill(connection, profile)
    }
}

fn profile(function_id: FunctionId, sums: &FunctionSums) -> FunctionProfile {
    FunctionProfile {
        function_id,
        calls: Some(sums.calls),
        steps_self: Some(sums.steps_self),
        steps_total: Some(sums.steps_total),
        dead_bytes: None,
        written_bytes: None,
    }
}

/// The sums of a trace.
pub fn write(connection: &Connection, counters: &Counters) -> Result<(), StoreError> {
    let edges: BTreeMap<_, EdgeSums> = counters.call_edges.iter().map(|(&k, &v)| (k, v)).collect();
    let edges = edges.into_iter().map(|((caller, callee, kind), sums)| CallEdge {
        caller_function_id: caller,
        callee_function_id: callee,
        kind,
        calls: sums.calls,
        steps: Some(sums.steps),
    });
    table::fill(connection, edges)?;
    let functions: BTreeMap<_, _> = counters.functions.iter().collect();
    table::fill(connection, functions.into_iter().map(|(&function, sums)| profile(function, sums)))
}
