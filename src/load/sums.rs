//! `call_edge` and `function_profile`: the one place that writes them.

use crate::analysis::CallKind;
use crate::id::FunctionId;
use crate::store::StoreError;
use crate::store::table::fill;
use crate::store::tables::{CallEdge, FunctionProfile};
use duckdb::Connection;
use std::collections::BTreeMap;

/// Caller, callee and how it was called.
pub type CallEdgeKey = (Option<FunctionId>, FunctionId, CallKind);

/// Calls of a pair of functions.
#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    calls: u64,
    /// None where the trace has no steps.
    steps: Option<u64>,
}

/// What is added up by function and by pair of functions. What a trace does not tell stays None.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    edges: BTreeMap<CallEdgeKey, Edge>,
    profiles: BTreeMap<FunctionId, Profile>,
}

/// Sums of a function's instances.
#[derive(Clone, Copy, Debug, Default)]
pub struct Profile {
    pub calls: u64,
    /// Steps, without and with those of what it called.
    pub steps_self: Option<u64>,
    pub steps_total: Option<u64>,
    /// Bytes that it wrote, and those of them that nobody read.
    pub written_bytes: Option<u64>,
    pub dead_bytes: Option<u64>,
}

impl Sums {
    /// Counts calls of an edge, with the steps of the instances if there are steps.
    pub fn call(&mut self, edge: CallEdgeKey, calls: u64, steps: Option<u64>) {
        let edge = self.edges.entry(edge).or_default();
        edge.calls = edge.calls.saturating_add(calls);
        if let Some(more) = steps {
            edge.steps = Some(edge.steps.unwrap_or(0).saturating_add(more));
        }
    }

    pub fn profile(&mut self, function: FunctionId) -> &mut Profile {
        self.profiles.entry(function).or_default()
    }

    /// Fills `call_edge` and `function_profile`.
    pub fn write(&self, connection: &Connection) -> Result<(), StoreError> {
        let edges = self.edges.iter().map(|(&(caller, callee, kind), edge)| CallEdge {
            caller_function_id: caller,
            callee_function_id: callee,
            kind,
            calls: edge.calls,
            steps: edge.steps,
        });
        fill(connection, edges)?;
        let profiles = self.profiles.iter().map(|(&function_id, p)| FunctionProfile {
            function_id,
            calls: Some(p.calls),
            steps_self: p.steps_self,
            steps_total: p.steps_total,
            dead_bytes: p.dead_bytes,
            written_bytes: p.written_bytes,
        });
        fill(connection, profiles)
    }
}
