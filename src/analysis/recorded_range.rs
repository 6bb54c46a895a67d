//! Inside which functions steps and communications are kept, where it is not everywhere.

use crate::id::FunctionId;

/// Where steps and communications are kept.
#[derive(Debug)]
pub struct RecordedRange {
    /// Functions that are asked for and have code so far; None: everywhere.
    inside: Option<Vec<FunctionId>>,
    /// The segment that runs is of it.
    now: bool,
    /// By run of the batch that was pushed last: whether some of it is kept. Empty where all is.
    runs: Vec<bool>,
}

impl Default for RecordedRange {
    fn default() -> RecordedRange {
        RecordedRange { inside: None, now: true, runs: Vec::new() }
    }
}

impl RecordedRange {
    /// Keeps only what runs while an instance of one of some functions is alive in its thread:
    /// those of which [`CodeMap::is_kept`](super::CodeMap::is_kept) holds.
    pub fn only_inside(&mut self) {
        self.inside = Some(Vec::new());
    }

    /// A function has an instruction.
    pub fn add(&mut self, function: FunctionId, is_kept: bool) {
        if let Some(functions) = &mut self.inside
            && is_kept
            && !functions.contains(&function)
        {
            functions.push(function);
        }
    }

    #[inline]
    pub fn is_everywhere(&self) -> bool {
        self.inside.is_none()
    }

    /// The segment that runs is of what is kept.
    #[inline]
    pub fn now(&self) -> bool {
        self.now
    }

    /// A segment begins in a thread with so many live instances of a function. Gives whether it is
    /// of what is kept.
    pub fn segment(&mut self, live: impl Fn(FunctionId) -> u32) -> bool {
        let inside = |functions: &Vec<FunctionId>| functions.iter().any(|f| live(*f) > 0);
        self.now = self.inside.as_ref().is_none_or(inside);
        self.now
    }

    /// A batch begins.
    pub fn begin(&mut self) {
        self.runs.clear();
    }

    /// So many runs of the batch have been run as one.
    pub fn add_runs(&mut self, runs: usize, kept: bool) {
        if !self.is_everywhere() {
            self.runs.extend(std::iter::repeat_n(kept, runs));
        }
    }

    /// By run of the batch that was pushed last: whether some of it is kept. Empty where all is.
    pub fn runs(&self) -> &[bool] {
        &self.runs
    }
}
