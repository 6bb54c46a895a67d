//! From descriptions of paths and stopped frames to tables.

mod core;
mod functions;
mod inputs;
mod stacks;

use super::tables::{Filled, Load, TableLoader};
use super::{BuildError, FunctionNames};
use crate::event::Carries;
use crate::id::ProcessId;
use crate::image::AddressSpace;
use crate::store::table;
use crate::store::tables::Process;
use crate::trace::csi::Csi;
use crate::trace::input::Input;
use functions::KnownFunctions;
use inputs::Inputs;
use stacks::Stacks;

impl TableLoader for Csi {
    fn load(&self, inputs: Vec<Input>, load: &mut Load) -> Result<Filled, BuildError> {
        let inputs = Inputs::read(inputs, load)?;
        let space = load.space.clone();
        fill(inputs, &space, load)
    }
}

/// Fills the tables.
fn fill(inputs: Inputs, space: &AddressSpace, load: &mut Load) -> Result<Filled, BuildError> {
    let connection = load.connection;
    let names = &mut FunctionNames::default();
    let known = &mut KnownFunctions::describe(inputs.functions, names, space, load)?;
    table::fill(connection, [Process { process_id: ProcessId::FIRST, pid: None, name: None }])?;
    let counted = Stacks { load, space, names, known }.fill(&inputs.stacks)?;
    known.write(connection, counted.calls > 0)?;
    counted.sums.write(connection)?;
    names.write(space, connection, &mut load.files)?;
    // What all formats with static control flow have.
    for (table, sql) in [
        ("basic_block", include_str!("../../../queries/derive/middle/path_basic_block.sql")),
        ("cfg_edge", include_str!("../../../queries/derive/middle/path_cfg_edge.sql")),
    ] {
        connection.execute_batch(&format!("INSERT INTO {table} {sql}"))?;
    }
    let functions = known.all.len();
    Ok(Filled {
        carries: Carries { calls: !inputs.stacks.is_empty(), paths: true, ..Carries::default() },
        steps: 0,
        calls: counted.calls.into(),
        functions,
        meta: vec![("path_functions", Some(functions.to_string()))],
    })
}
