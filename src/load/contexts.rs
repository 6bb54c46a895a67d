//! `call_stack`, `stack_profile` and `start_up` of a trace with steps.

use super::folded::added;
use super::places::Places;
use crate::analysis::contexts::{Contexts, StackSteps};
use crate::analysis::{ContextFlow, Summary};
use crate::id::{FunctionId, StackId};
use crate::image::Owner;
use crate::store::StoreError;
use crate::store::table::fill;
use crate::store::tables::{CallStack, StackEdge, StackProfile, StartUp};
use duckdb::Connection;
use std::collections::BTreeMap;

/// `owners`: by function, whose code it is.
pub fn write(
    connection: &Connection,
    contexts: &Contexts<StackSteps>,
    owners: &[Option<Owner>],
) -> Result<(), StoreError> {
    fill(connection, start_up(contexts, owners))?;
    let stacks = contexts.iter().map(|(stack_id, context)| CallStack {
        stack_id,
        parent_stack_id: context.parent,
        function_id: context.function,
        depth: context.depth,
        nested: is_nested(contexts, stack_id),
    });
    fill(connection, stacks)?;
    let mut total: Vec<u64> = contexts.iter().map(|(_, c)| c.figures.steps_self).collect();
    // Callees come behind their callers.
    let parents: Vec<_> = contexts.iter().map(|(_, c)| c.parent.map(StackId::index)).collect();
    for (i, parent) in parents.iter().enumerate().rev() {
        if let Some(parent) = *parent {
            total[parent] += total[i];
        }
    }
    let profiles = contexts.iter().zip(total).map(|((stack_id, context), steps_total)| {
        let StackSteps { calls, steps_self } = context.figures;
        StackProfile { stack_id, calls, steps_self, steps_total }
    });
    fill(connection, profiles)
}

/// Fills `stack_edge`; `unique`: unique bytes were counted.
pub fn edges(
    connection: &Connection,
    (summary, unique): (&Summary, bool),
    places: &Places,
) -> Result<(), StoreError> {
    let edge = |flow: &ContextFlow| {
        let &ContextFlow { writer: (writer, from), reader: (reader, to), place, sums } = flow;
        let (writer, reader) = (places.function(writer, place)?, places.function(reader, place)?);
        let sums = [sums.bytes, sums.unique, sums.transfers];
        Some(((from, to, writer, reader, places.via(place)), sums))
    };
    let edges = added(summary.context_flows.iter().filter_map(edge).collect());
    let rows = edges.into_iter().map(|((from, to, writer, reader, via), sums)| StackEdge {
        writer_stack_id: from,
        reader_stack_id: to,
        writer_function_id: writer,
        reader_function_id: reader,
        via,
        bytes: sums[0],
        unique_bytes: unique.then_some(sums[1]),
        transfers: sums[2],
    });
    fill(connection, rows)
}

/// Functions with steps outside of the program itself: in chains without a function of it, and all of the
/// dynamic linker's. None where no function of the program ran: then nothing tells the two apart.
fn start_up(contexts: &Contexts<StackSteps>, owners: &[Option<Owner>]) -> Vec<StartUp> {
    let owner = |f: FunctionId| owners.get(f.index()).copied().flatten();
    let mut within: Vec<bool> = Vec::new();
    // By function: steps there, and all.
    let mut steps: BTreeMap<FunctionId, (u64, u64)> = BTreeMap::new();
    for (_, context) in contexts.iter() {
        let of = owner(context.function);
        // Callers come before what they call.
        let called = context.parent.is_some_and(|parent| within[parent.index()]);
        within.push(called || of == Some(Owner::Program));
        let is_within = within.last() == Some(&true) && of != Some(Owner::Linker);
        let sums = steps.entry(context.function).or_default();
        sums.0 += if is_within { 0 } else { context.figures.steps_self };
        sums.1 += context.figures.steps_self;
    }
    if !within.contains(&true) {
        return Vec::new();
    }
    let row = |(function_id, (steps, all)): (FunctionId, (u64, u64))| {
        (steps > 0).then_some(StartUp { function_id, steps, entirely: steps == all })
    };
    steps.into_iter().filter_map(row).collect()
}

/// Whether the last function of a chain is further out, too.
fn is_nested(contexts: &Contexts<StackSteps>, stack: StackId) -> bool {
    let function = contexts.get(stack).function;
    let mut above = contexts.get(stack).parent;
    while let Some(id) = above {
        let context = contexts.get(id);
        if context.function == function {
            return true;
        }
        above = context.parent;
    }
    false
}
