//! What a node of a graph is: the levels from steps to images.

use crate::text::words;

words! {
    /// What a node of the graph is.
    #[non_exhaustive]
    pub enum Level {
        /// Executed instruction, once for each time: part of the run.
        Step = "step",
        /// Instruction of the code, for all its executions
        Instruction = "instruction",
        /// Basic block of the executed control flow.
        Block = "block",
        /// Source line of one function.
        Line = "line",
        /// Innermost loop, or what of a function is in none.
        Loop = "loop",
        /// Function that the compiler inlined, where it is part of one; or what of that is its own.
        Inlined = "inlined",
        /// Call instance (`main#1`).
        Instance = "instance",
        /// Chain of functions from the root.
        Context = "context",
        /// Function, for all its calls
        Function = "function",
        /// Source file; functions without one are grouped by image.
        File = "file",
        /// ELF file
        Image = "image",
        /// Thread of a process
        Thread = "thread",
    }
}

impl Level {
    /// What one node is, in words.
    pub fn word(self) -> &'static str {
        match self {
            Level::Line => "source line",
            Level::Inlined => "inlined function",
            Level::Instance => "call instance",
            Level::Context => "calling context",
            _ => self.name(),
        }
    }

    /// What a node of this level that stands for several is made of.
    pub fn member(self) -> &'static str {
        match self {
            Level::Instance | Level::Context => "call",
            Level::File | Level::Image | Level::Function => "function",
            _ => self.word(),
        }
    }

    /// The part of a function that a node is, if it is one.
    pub fn inside(self) -> Option<Inside> {
        Some(match self {
            Level::Instruction => Inside::Instruction,
            Level::Block => Inside::Block,
            Level::Line => Inside::Line,
            Level::Loop => Inside::Loop,
            Level::Inlined => Inside::Inlined,
            _ => return None,
        })
    }
}

words! {
    /// What a part of a function is.
    pub enum Inside {
        Instruction = "instruction",
        Block = "block",
        Line = "line",
        Loop = "loop",
        Inlined = "inlined",
    }
}
