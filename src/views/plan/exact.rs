//! What would be sent if a set of functions ran elsewhere, counted by going through the run.

use super::candidate::Candidate;
use super::cost::CostModel;
use super::run::{Function, Run};
use crate::id::FunctionId;
use crate::replay::crossing::{Callees, Direction, Partner};
use crate::views::ViewError;
use crate::views::cut::{Cut, several};
use duckdb::Connection;
use std::collections::BTreeSet;

/// Counts the entries of sets, and what crosses their borders, instead of estimating it: each set with
/// what it calls, to any depth. All sets in one pass.
///
/// # Errors
/// Where the database has no steps, or is damaged.
pub fn count(
    connection: &Connection,
    run: &Run,
    sets: &mut [Candidate],
    model: &CostModel,
) -> Result<(), ViewError> {
    let ids = run.function_ids();
    let functions = |set: &Candidate| -> BTreeSet<FunctionId> {
        set.members.iter().filter_map(|at| ids.get(*at).copied()).collect()
    };
    let functions: Vec<_> = sets.iter().map(functions).collect();
    let cuts = several(connection, &functions, Callees::Inside, false)?;
    for (set, cut) in sets.iter_mut().zip(&cuts) {
        counted(run, set, cut);
        set.price(model);
    }
    Ok(())
}

/// Puts what was counted in the place of what was estimated. Steps are exact already, where the run is
/// known by calling context.
fn counted(run: &Run, set: &mut Candidate, cut: &Cut) {
    let (members, crossing) = (cut.members(), cut.crossing());
    set.entries = members.entries.len() as f64;
    let ran = members.functions.iter().filter_map(|id| run.index(*id));
    set.instructions = ran.map(|at| run.functions[at].instructions).sum();
    // The kernel reads in no step: what it takes is in the sums only.
    (set.bytes_in, set.bytes_out) = (0.0, set.to_kernel);
    (set.tables, set.kernel) = (0.0, set.to_kernel);
    for ((direction, partner, via), sum) in &crossing.flows {
        let unique = sum.unique_bytes as f64;
        let source = match partner {
            Partner::Source(name) => Some(Function::source(name)),
            Partner::Function(_) => None,
        };
        match direction {
            Direction::Out => set.bytes_out += unique,
            Direction::In
                if via == "constant" || source.as_ref().is_some_and(Function::is_image) =>
            {
                set.tables += unique.min(sum.addresses as f64);
            }
            Direction::In => set.bytes_in += unique,
        }
        if source.is_some_and(|source| source.is_kernel()) {
            set.kernel += unique;
        }
    }
    set.bytes_in += set.tables;
}
