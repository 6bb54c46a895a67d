//! Places that ask for heap allocations, by name.

use super::{ViewError, report};
use crate::graph::{FunctionNames, resolve_whole};
use crate::id::{FunctionId, InstructionId};
use crate::replay::Code;
use crate::replay::allocations::{Allocations, Allocator, Site, named};
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// Functions of the program that do what allocation functions do.
pub type Own = Vec<(FunctionId, &'static Allocator)>;

/// The functions that names mean, each with what it does.
pub fn own(
    connection: &Connection,
    named: &[(&str, &'static Allocator)],
) -> Result<Own, ViewError> {
    let resolve =
        |&(name, what): &(&str, _)| Ok((resolve_whole(connection, name)?.function_id, what));
    named.iter().map(resolve).collect()
}

/// Instructions that ask for allocations, by what stands for them: the first instruction of each line
/// of a function stands for the line; what has no line is told apart by the instruction. All of a group
/// of functions is one place.
pub struct Sites {
    /// By instruction: the one that stands for it.
    pub representative: Vec<InstructionId>,
    functions: FunctionNames,
    /// Functions that are allocation functions by request.
    more: BTreeSet<FunctionId>,
    /// By instruction: its function or the name of its group, file:line.
    lines: BTreeMap<InstructionId, (Asks, String)>,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Asks {
    Function(Option<FunctionId>),
    Group(String),
}

impl Sites {
    /// `more`: functions that are allocation functions by request, beside those that the recording or
    /// the build was told of. `groups`: by function that of it.
    pub fn read(
        connection: &Connection,
        code: &Code,
        more: &Own,
        groups: &BTreeMap<FunctionId, String>,
    ) -> Result<Sites, ViewError> {
        let (mut lines, mut first) = (BTreeMap::new(), BTreeMap::new());
        let mut representative: Vec<InstructionId> =
            (0..code.instructions()).map(InstructionId::at).collect();
        let mut statement = connection.prepare(report!("instruction_texts"))?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let (id, mut line): (InstructionId, String) = (r.get(0)?, r.get(2)?);
            let function = code.instruction(id).function;
            let who = match function.and_then(|function| groups.get(&function)) {
                Some(group) => {
                    line.clear();
                    Asks::Group(group.clone())
                }
                None => Asks::Function(function),
            };
            let mut site = id;
            if !line.is_empty() || matches!(who, Asks::Group(_)) {
                site = *first.entry((who.clone(), line.clone())).or_insert(id);
            }
            if let Some(slot) = representative.get_mut(id.index()) {
                *slot = site;
            }
            if site == id {
                lines.insert(id, (who, line));
            }
        }
        let functions = FunctionNames::read(connection)?;
        let more = more.iter().chain(&named(connection)?).map(|own| own.0).collect();
        Ok(Sites { representative, functions, more, lines })
    }

    /// Function or group, and file:line of a call, the line empty where it is not known or of a group;
    /// None: the call is not in the trace.
    pub fn place(&self, site: Site) -> Option<(&str, &str)> {
        let (who, line) = self.lines.get(&site.instruction?)?;
        let name = match who {
            Asks::Function(function) => self.functions.name(*function),
            Asks::Group(name) => name,
        };
        Some((name, line))
    }

    /// The name of its allocation function.
    pub fn allocator(&self, found: &Allocations, site: Site) -> &str {
        let plain = site.allocator.filter(|id| !self.more.contains(id));
        match plain.and_then(|id| found.functions.get(&id)) {
            Some(allocator) => allocator.name,
            None => self.functions.name(site.allocator),
        }
    }
}
