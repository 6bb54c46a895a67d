//! `inlined_call` and `inlined_instruction`: the one place that writes them.

use super::dictionary::Files;
use crate::id::{FunctionId, InlinedCallId, InstructionId};
use crate::image::{Inlined, demangle};
use crate::store::StoreError;
use crate::store::table::{Table, fill};
use crate::store::tables::{InlinedCall, InlinedCalls, InlinedInstruction};
use duckdb::Connection;
use rustc_hash::FxHashMap;

/// An inlined call, and the function or inlined call that it is within.
#[derive(PartialEq, Eq, Hash)]
struct InlinedSite {
    function: FunctionId,
    parent: Option<InlinedCallId>,
    call: Inlined,
}

/// Inlined calls as they are met, instruction by instruction.
#[derive(Default)]
pub struct InlinedSites {
    ids: FxHashMap<InlinedSite, InlinedCallId>,
    innermost: Vec<(InstructionId, InlinedCallId)>,
}

impl InlinedSites {
    /// `calls`: what an instruction of a function is in, the outermost first.
    pub fn add(&mut self, instruction: InstructionId, function: FunctionId, calls: Vec<Inlined>) {
        let mut innermost = None;
        for call in calls {
            let next = InlinedCallId::at(self.ids.len());
            let site = InlinedSite { function, parent: innermost, call };
            innermost = Some(*self.ids.entry(site).or_insert(next));
        }
        self.innermost.extend(innermost.map(|call| (instruction, call)));
    }

    pub fn write(self, connection: &Connection, files: &mut Files) -> Result<(), StoreError> {
        let mut sites: Vec<(InlinedCallId, InlinedSite)> =
            self.ids.into_iter().map(|(site, id)| (id, site)).collect();
        sites.sort_unstable_by_key(|site| site.0);
        let mut table = Table::<InlinedCalls>::new(connection);
        for (inlined_call_id, InlinedSite { function, parent, call }) in &sites {
            table.push(InlinedCall {
                inlined_call_id: *inlined_call_id,
                name: &demangle(&call.name),
                function_id: *function,
                parent_inlined_call_id: *parent,
                file_id: call.file.as_deref().map(|file| files.id(file)),
                line: call.line,
            })?;
        }
        table.finish()?;
        let row = |(instruction_id, inlined_call_id)| InlinedInstruction {
            instruction_id,
            inlined_call_id,
        };
        fill(connection, self.innermost.into_iter().map(row))
    }
}
