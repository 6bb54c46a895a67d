//! Functions that are shown as one: `--group NAME=FUNCTION,...`.

use super::{ViewError, cut};
use crate::graph::FunctionNames;
use crate::id::FunctionId;
use duckdb::Connection;
use std::collections::BTreeMap;

/// By function the group that it is in. Each group by its name and the words for its functions, as
/// [`cut::choose`] takes them; a function is in the last group that names it.
pub fn by_function(
    connection: &Connection,
    groups: &[(String, Vec<String>)],
) -> Result<BTreeMap<FunctionId, String>, ViewError> {
    let mut of = BTreeMap::new();
    for (group, words) in groups {
        of.extend(cut::choose(connection, words)?.into_iter().map(|id| (id, group.clone())));
    }
    Ok(of)
}

/// By the name of a function, that of the group it is in.
#[derive(Clone, Debug, Default)]
pub struct Grouped(BTreeMap<String, String>);

/// What GCC adds to the names of parts and copies of a function.
const PARTS: [&str; 4] = [".part.", ".isra.", ".constprop.", ".cold"];

impl Grouped {
    /// Each group by its name and the words for its functions, as [`cut::choose`] takes them. A
    /// function is in the last group that names it.
    pub fn read(
        connection: &Connection,
        groups: &[(String, Vec<String>)],
    ) -> Result<Grouped, ViewError> {
        let mut of = BTreeMap::new();
        if groups.is_empty() {
            return Ok(Grouped(of));
        }
        let names = FunctionNames::read(connection)?;
        for (group, words) in groups {
            for id in cut::choose(connection, words)? {
                let name = names.name(id);
                let end = PARTS.iter().filter_map(|part| name.find(part)).min();
                of.insert(name[..end.unwrap_or(name.len())].to_owned(), group.clone());
                of.insert(name.to_owned(), group.clone());
            }
        }
        Ok(Grouped(of))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The group of a function, else the function.
    pub fn name(&self, function: String) -> String {
        self.0.get(&function).cloned().unwrap_or(function)
    }
}
