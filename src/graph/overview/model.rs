//! An overview: boxes from top to bottom, and the lines between them.

use crate::graph::model::Via;
use crate::id::FunctionId;
use crate::text::words;

words! {
    /// What a box is.
    pub enum BoxRole {
        Function = "function",
        /// A source file, or an image: all of its functions.
        File = "file",
        /// A function that several boxes call: its data is known, but not which of them it is for; its
        /// steps are those of its callers. Where single calls are known, only of what system calls took.
        Helper = "helper",
        /// Where data comes from.
        Source = "source",
        /// Where it goes to.
        Sink = "sink",
        /// Constants and initial data.
        Constants = "constants",
    }
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
    /// Share of the bytes to and from functions that several boxes call, and that are not drawn: sums by
    /// function do not tell for which of them they are. Some of it stays within one box.
    pub unattributed: f64,
    /// Share of the bytes between boxes that is drawn.
    pub drawn: f64,
    /// Bytes count each time that they are read: how often once per call is not known.
    pub each_time: bool,
    pub problems: Vec<String>,
}
