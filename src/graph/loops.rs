//! Where a loop is, by its source lines.

use crate::id::InstructionId;
use crate::replay::control::{ControlFlow, ExecutedLoop};

/// Source file and line of an instruction.
pub type FileLine<'a> = (&'a str, Option<i32>);

/// `file:first-last` of a loop with the loops in it: lines of the file that its header is of. None
/// where the header has none. `line`: of an instruction.
pub fn loop_lines<'a>(
    flow: &ControlFlow,
    of: &ExecutedLoop,
    line: impl Fn(InstructionId) -> Option<FileLine<'a>>,
) -> Option<String> {
    let header = *flow.blocks.get(of.header)?.instructions.first()?;
    let (file, _) = line(header)?;
    let instructions = of.blocks.iter().flat_map(|&b| &flow.blocks[b].instructions);
    let lines: Vec<i32> =
        instructions.filter_map(|&i| line(i)).filter(|l| l.0 == file).filter_map(|l| l.1).collect();
    let (first, last) = (lines.iter().min()?, lines.iter().max()?);
    Some(if first == last { format!("{file}:{first}") } else { format!("{file}:{first}-{last}") })
}
