//! `call_stack` and `stack_profile` of a trace with steps.

use crate::analysis::contexts::{Contexts, StackSteps};
use crate::id::StackId;
use crate::store::StoreError;
use crate::store::table::fill;
use crate::store::tables::{CallStack, StackProfile};
use duckdb::Connection;

pub fn write(connection: &Connection, contexts: &Contexts<StackSteps>) -> Result<(), StoreError> {
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
