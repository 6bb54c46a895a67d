//! The basic blocks of a control-flow graph that was recorded without its program: there are no
//! instructions, but blocks have places in their images, and edges have counts.

use super::error::GraphError;
use super::model::{Node, NodeId, NodeKind};
use super::rows::{CallRow, LevelRows, report};
use super::selection::{Selection, Show};
use crate::id::FunctionId;
use crate::query::each;
use crate::text::human_count;
use duckdb::Connection;

/// A basic block.
struct Block {
    number: u32,
    function_id: FunctionId,
    function: String,
    image: Option<String>,
    bias: Option<u64>,
    address: u64,
    file: Option<String>,
    line: Option<i32>,
    instructions: Option<i64>,
    executions: Option<i64>,
}

impl Block {
    /// `image+0x16, file:line`: what an address is depends on where the image was loaded.
    fn name(&self) -> String {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let place = match (&self.image, self.bias) {
            (Some(image), Some(bias)) if self.address >= bias => {
                format!("{}+{:#x}", last(image), self.address - bias)
            }
            _ => format!("{:#x}", self.address),
        };
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{place}, {}:{line}", last(file)),
            _ => place,
        }
    }

    fn node(self) -> Node {
        let name = self.name();
        let text = self.instructions.map(|n| match n {
            1 => "1 instruction".to_owned(),
            n => format!("{} instructions", human_count(n)),
        });
        let steps = self.executions.zip(self.instructions);
        Node {
            id: NodeId::Listed(self.number),
            name,
            kind: NodeKind::Block,
            text: text.into_iter().collect(),
            function: Some(self.function),
            steps_self: steps.map(|(n, of)| n.saturating_mul(of)),
            members: 1,
            ..Node::default()
        }
    }
}

/// Reads the blocks that ran, with the edges between them.
pub fn read(connection: &Connection, selection: &Selection) -> Result<LevelRows, GraphError> {
    let mut rows = LevelRows::default();
    let focus = selection.focus.map(|f| f.function_id);
    each(connection, report!("recorded_blocks"), &[], |r| {
        let block = Block {
            number: r.get(0)?,
            function_id: r.get(1)?,
            function: r.get(2)?,
            image: r.get(3)?,
            bias: r.get(4)?,
            address: r.get(5)?,
            file: r.get(6)?,
            line: r.get(7)?,
            instructions: r.get(8)?,
            executions: r.get(9)?,
        };
        if block.executions != Some(0) {
            let id = NodeId::Listed(block.number);
            if focus == Some(block.function_id) {
                rows.focus.push(id);
            }
            rows.nodes.insert(id, block.node());
        }
        Ok(())
    })?;
    each(connection, report!("recorded_jumps"), &[], |r| {
        let (a, b) = (NodeId::Listed(r.get(0)?), NodeId::Listed(r.get(1)?));
        let (is_call, count): (bool, i64) = (r.get(2)?, r.get(3)?);
        if count == 0 || !rows.nodes.contains_key(&a) || !rows.nodes.contains_key(&b) {
            return Ok(());
        }
        if is_call && selection.shows(Show::Calls) {
            rows.calls.push(CallRow { caller: a, callee: b, calls: count, steps: None });
        } else if !is_call && selection.shows(Show::Jumps) {
            rows.jumps.push((a, b, count));
        }
        Ok(())
    })?;
    Ok(rows)
}
