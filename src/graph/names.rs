//! Names and places of functions.

use super::rows::report;
use crate::id::FunctionId;
use crate::query::each;
use duckdb::Connection;
use std::collections::BTreeMap;

/// A function as it is shown; hostile text.
#[derive(Clone, Debug, Default)]
pub struct FunctionName {
    pub name: String,
    /// Source file.
    pub file: Option<String>,
    pub image: Option<String>,
}

/// All functions of a database.
#[derive(Clone, Debug, Default)]
pub struct FunctionNames(BTreeMap<FunctionId, FunctionName>);

impl FunctionNames {
    pub fn read(connection: &Connection) -> duckdb::Result<FunctionNames> {
        let mut names = BTreeMap::new();
        each(connection, report!("function_names"), &[], |r| {
            let name = FunctionName { name: r.get(1)?, file: r.get(2)?, image: r.get(3)? };
            names.insert(r.get(0)?, name);
            Ok(())
        })?;
        Ok(FunctionNames(names))
    }

    /// The name of a function; `?` for one that is not known.
    pub fn name(&self, id: impl Into<Option<FunctionId>>) -> &str {
        id.into().and_then(|id| self.0.get(&id)).map_or("?", |f| &f.name)
    }

    pub fn get(&self, id: FunctionId) -> Option<&FunctionName> {
        self.0.get(&id)
    }

    /// In the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = (FunctionId, &FunctionName)> {
        self.0.iter().map(|(&id, name)| (id, name))
    }
}
