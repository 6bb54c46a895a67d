//! An overview: boxes from top to bottom, and the lines between them.

use crate::graph::model::Via;
use crate::id::FunctionId;

/// What a box is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxRole {
    Function,
    /// A source file, or an image: all of its functions.
    File,
    /// Where data comes from.
    Source,
    /// Where it goes to.
    Sink,
    /// Constants and initial data.
    Constants,
}

#[derive(Clone, Debug)]
pub struct OverviewBox {
    pub role: BoxRole,
    /// The function, or one of the file.
    pub function: Option<FunctionId>,
    /// Short; hostile text.
    pub name: String,
    /// As the database has it; hostile text.
    pub full: String,
    /// Of a source or sink: bytes that system calls read from it or wrote to it, where they are known.
    pub moved: Option<i64>,
    pub steps: i64,
    pub calls: i64,
    /// Functions that are counted with it, and the dozen with the most steps by name; hostile text.
    pub helpers: usize,
    pub largest: Vec<(String, i64)>,
}

/// What goes between two parts.
#[derive(Clone, Debug)]
pub struct OverviewLine {
    pub from: usize,
    pub to: usize,
    /// Bytes there and back by what they go through; none: calls.
    pub there: f64,
    pub back: f64,
    pub via: Option<Via>,
    /// Of a line of calls.
    pub calls: i64,
}

impl OverviewLine {
    /// Whether its bytes were shared out among several boxes: what the kernel reads is known by function
    /// only. Bytes that are counted are whole numbers.
    pub fn is_estimate(&self) -> bool {
        [self.there, self.back].iter().any(|bytes| (bytes - bytes.round()).abs() > 1e-6)
    }
}

/// A picture of the whole run.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    pub program: String,
    /// From top to bottom.
    pub parts: Vec<OverviewBox>,
    pub lines: Vec<OverviewLine>,
    pub steps: i64,
    /// Of the run: functions that ran.
    pub functions: usize,
    /// Steps of start-up and of the dynamic linker, in no box.
    pub start_up: i64,
    /// What is no box is counted with the function that calls it most, not call by call.
    pub by_functions: bool,
    /// Share of the bytes between boxes that is drawn.
    pub drawn: f64,
    pub problems: Vec<String>,
}
