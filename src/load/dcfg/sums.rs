//! Sums by function and by pair of functions, where no trace says who called whom when: from the
//! counts of blocks and edges.

use super::code::Code;
use crate::analysis::CallKind;
use crate::load::sums::Sums;
use crate::trace::dcfg::graph::{Edge, EdgeKind, NodeKind, sum};

/// The sums, and all calls.
pub fn of_graph(code: &Code) -> (Sums, u64) {
    let (mut sums, mut calls) = (Sums::default(), 0u64);
    for (p, process) in code.graph.processes.iter().enumerate() {
        let counted = !process.edges.is_empty();
        for (i, n) in process.nodes.iter().enumerate().filter(|(_, n)| n.kind == NodeKind::Block) {
            let executions = if counted { n.entered } else { n.count.unwrap_or(0) };
            if let Some(function) = code.function_of(p, i as u32) {
                let own = &mut sums.profile(function).steps_self;
                let more = executions.saturating_mul(n.instructions);
                *own = Some(sum([own.unwrap_or(0), more]));
            }
        }
        let added = process.edges.iter().map(|e| add(&mut sums, code, p, e));
        calls = sum(added.chain([calls]));
    }
    (sums, calls)
}

/// Adds the calls that an edge stands for; gives their number.
fn add(sums: &mut Sums, code: &Code, process: usize, e: &Edge) -> u64 {
    let count = sum(e.counts.iter().copied());
    let caller = code.function_of(process, e.source);
    let Some(callee) = code.function_of(process, e.target).filter(|_| count > 0) else { return 0 };
    let kind = match e.kind {
        EdgeKind::Call if code.is_stub(process, e.target) => CallKind::Stub,
        EdgeKind::Call => CallKind::Call,
        EdgeKind::Entry => CallKind::Root,
        EdgeKind::Trap => CallKind::Signal,
        kind if kind.is_inside() && caller.is_some_and(|c| c != callee) => CallKind::Tail,
        _ => return 0,
    };
    sums.call((caller.filter(|_| kind != CallKind::Root), callee, kind), count, None);
    let calls = &mut sums.profile(callee).calls;
    *calls = sum([*calls, count]);
    count
}
