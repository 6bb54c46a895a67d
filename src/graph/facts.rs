//! What a database has of what graphs are made of.

use super::rows::report;
use crate::query::each;
use duckdb::Connection;

#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Call instances; at detail summary there are none.
    pub instances: bool,
    /// Times of calls in the place of steps.
    pub ticks: bool,
    /// Recorded control dependences.
    pub control: bool,
    /// Data edges that count dependences, not bytes.
    pub dependences: bool,
    /// Paths inside functions.
    pub paths: bool,
    /// A recorded control-flow graph of code, without its instructions.
    pub only_blocks: bool,
    /// Data edges between functions only, not between their instructions: detail summary.
    pub only_functions: bool,
    /// Functions that are stubs.
    pub stubs: bool,
}

impl Facts {
    /// Finds them with one query: each of its own took as long as all do.
    pub fn find(connection: &Connection) -> duckdb::Result<Facts> {
        let mut facts = Facts::default();
        each(connection, report!("graph_facts"), &[], |r| {
            match r.get_ref(0)?.as_str().unwrap_or_default() {
                "instances" => facts.instances = true,
                "ticks" => facts.ticks = true,
                "control" => facts.control = true,
                "dependences" => facts.dependences = true,
                "paths" => facts.paths = true,
                "only_blocks" => facts.only_blocks = true,
                "only_functions" => facts.only_functions = true,
                "stubs" => facts.stubs = true,
                _ => {}
            }
            Ok(())
        })?;
        Ok(facts)
    }
}
