//! Places that ask for heap allocations, by name.

use super::{ViewError, report};
use crate::graph::FunctionNames;
use crate::id::{FunctionId, InstructionId};
use crate::replay::Code;
use crate::replay::allocations::{Allocations, Site};
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// Instructions that ask for allocations, by what stands for them: the first instruction of each line
/// of a function stands for the line; what has no line is told apart by the instruction.
pub struct Sites {
    /// By instruction: the one that stands for it.
    pub representative: Vec<InstructionId>,
    functions: FunctionNames,
    /// Functions that are allocation functions by request.
    more: BTreeSet<FunctionId>,
    /// By instruction: its function, file:line.
    lines: BTreeMap<InstructionId, (Option<FunctionId>, String)>,
}

impl Sites {
    /// `more`: functions that are allocation functions by request.
    pub fn read(
        connection: &Connection,
        code: &Code,
        more: BTreeSet<FunctionId>,
    ) -> Result<Sites, ViewError> {
        let (mut lines, mut first) = (BTreeMap::new(), BTreeMap::new());
        let mut representative: Vec<InstructionId> =
            (0..code.instructions()).map(InstructionId::at).collect();
        let mut statement = connection.prepare(report!("instruction_texts"))?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let (id, line): (InstructionId, String) = (r.get(0)?, r.get(2)?);
            let function = code.instruction(id).function;
            let mut site = id;
            if !line.is_empty() {
                site = *first.entry((function, line.clone())).or_insert(id);
            }
            if let Some(slot) = representative.get_mut(id.index()) {
                *slot = site;
            }
            if site == id {
                lines.insert(id, (function, line));
            }
        }
        let functions = FunctionNames::read(connection)?;
        Ok(Sites { representative, functions, more, lines })
    }

    /// Function and file:line of a call, the line empty where it is not known; None: the call is
    /// not in the trace.
    pub fn place(&self, site: Site) -> Option<(&str, &str)> {
        let (function, line) = self.lines.get(&site.instruction?)?;
        Some((self.functions.name(*function), line))
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
