//! What of a database is to be shown.

use super::level::{Inside, Level};
use super::model::Via;
use crate::id::FunctionId;
use crate::text::words;
use std::collections::BTreeSet;

words! {
    /// Edges of a graph.
    #[derive(PartialOrd, Ord)]
    pub enum Show {
        Data = "data",
        Calls = "calls",
        /// Control dependences: recorded ones, or those in parts of functions.
        Control = "control",
        /// Executed control flow, in parts of functions.
        Jumps = "jumps",
        /// Mark what loops carry from one iteration to a later one, in parts of functions.
        Carried = "carried",
    }
}

words! {
    /// What happens to PLT stubs and the like.
    #[derive(Default)]
    pub enum Stubs {
        /// Merged into their callers.
        #[default]
        Fold = "fold",
        /// Nodes like others.
        Show = "show",
    }
}

words! {
    /// Where data edges between functions come from.
    #[derive(Default)]
    pub enum Strategy {
        /// What the build summed up.
        #[default]
        TopDown = "top-down",
        /// The graph of all steps, made now and merged up.
        BottomUp = "bottom-up",
    }
}

/// What a graph is drawn around.
#[derive(Clone, Copy, Debug)]
pub struct Focus {
    pub function_id: FunctionId,
    /// One call instance of it; None: all.
    pub instance: Option<i32>,
    /// Edges from it to the farthest node.
    pub depth: u32,
}

/// What to show.
#[derive(Clone, Debug)]
pub struct Selection {
    pub level: Level,
    pub show: BTreeSet<Show>,
    /// Functions to show the inside of, and as what.
    pub expand: Vec<FunctionId>,
    pub inside: Inside,
    /// Functions to put together, by name.
    pub groups: Vec<(String, Vec<FunctionId>)>,
    /// At step level: first and last step, inclusive.
    pub range: Option<(i64, i64)>,
    /// Only data through these; empty: all.
    pub via: Vec<Via>,
    pub focus: Option<Focus>,
    /// Nodes at most, beside the node of the others and the largest pseudo-functions.
    pub top: usize,
    /// Data edges with fewer bytes are left out; None: the smallest, so that no more than two a
    /// node remain.
    pub min_bytes: Option<i64>,
    pub stubs: Stubs,
    pub strategy: Strategy,
}

impl Default for Selection {
    /// Functions with calls and data.
    fn default() -> Selection {
        Selection {
            level: Level::Function,
            show: [Show::Data, Show::Calls].into(),
            expand: Vec::new(),
            inside: Inside::Line,
            groups: Vec::new(),
            range: None,
            via: Vec::new(),
            focus: None,
            top: 24,
            min_bytes: None,
            stubs: Stubs::Fold,
            strategy: Strategy::TopDown,
        }
    }
}

impl Selection {
    pub fn shows(&self, what: Show) -> bool {
        self.show.contains(&what)
    }

    /// Whether data through this is to be shown.
    pub fn wants(&self, via: Via) -> bool {
        self.via.is_empty() || self.via.contains(&via)
    }

    /// Whether nodes are parts of functions.
    pub fn has_parts(&self) -> bool {
        self.level.inside().is_some() || self.expands()
    }

    /// Whether inlined functions are nodes.
    pub fn has_inlined(&self) -> bool {
        self.level == Level::Inlined || self.expands() && self.inside == Inside::Inlined
    }

    /// Whether nodes are functions, some of them shown as their parts.
    pub fn expands(&self) -> bool {
        self.level == Level::Function && !self.expand.is_empty()
    }

    /// Whether nodes are whole functions, or files and images made of them.
    pub fn has_functions(&self) -> bool {
        matches!(self.level, Level::Function | Level::File | Level::Image) && self.expand.is_empty()
    }
}
