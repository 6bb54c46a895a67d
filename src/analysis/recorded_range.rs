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
    /// Where nothing is kept, calls only are followed. None: all that is done there is.
    followed: Option<Followed>,
}

/// Whether the last segment of each thread was of what is kept.
#[derive(Debug)]
struct Followed {
    of_threads: Vec<bool>,
    /// How many were.
    count: usize,
    /// Something is kept of a stack that waits.
    waits: bool,
}

impl Followed {
    /// Whether something is kept of some thread, of which one runs a segment.
    #[inline]
    fn segment(&mut self, thread: usize, kept: bool) -> bool {
        if self.of_threads.len() <= thread {
            self.of_threads.resize(thread + 1, false);
        }
        let before = std::mem::replace(&mut self.of_threads[thread], kept);
        self.count = self.count + usize::from(kept) - usize::from(before);
        self.count > 0 || self.waits
    }
}

impl Default for RecordedRange {
    fn default() -> RecordedRange {
        RecordedRange { inside: None, now: true, runs: Vec::new(), followed: None }
    }
}

impl RecordedRange {
    /// Keeps only what runs while an instance of one of some functions is alive in its thread:
    /// those of which [`CodeMap::is_kept`](super::CodeMap::is_kept) holds.
    pub fn only_inside(&mut self) {
        self.inside = Some(Vec::new());
    }

    /// Keeps what runs while such an instance is alive in any thread, or on a stack that waits. Of all else, calls and events only are
    /// followed: what is read later of what was written then has an older writer, or none. `kept`: by thread,
    /// whether one is alive.
    pub fn calls_only_outside(&mut self, kept: Vec<bool>) {
        self.inside.get_or_insert_default();
        let count = kept.iter().filter(|kept| **kept).count();
        self.followed = Some(Followed { of_threads: kept, count, waits: false });
    }

    /// Says whether such an instance is alive on a stack that waits; `kept` is asked where that matters.
    pub fn note_waiting(&mut self, kept: impl FnOnce(&RecordedRange) -> bool) {
        if self.followed.is_some() {
            let waits = kept(self);
            self.followed.iter_mut().for_each(|followed| followed.waits = waits);
        }
    }

    /// All that runs is followed.
    pub fn follow_all(&mut self) {
        self.followed = None;
    }

    /// Whether one of the functions is alive in a thread with so many live instances of each.
    pub fn is_inside(&self, live: impl Fn(FunctionId) -> u32) -> bool {
        self.inside.as_ref().is_none_or(|functions| functions.iter().any(|f| live(*f) > 0))
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
    pub fn segment(&mut self, thread: usize, live: impl Fn(FunctionId) -> u32) -> bool {
        self.now = self.is_inside(live);
        if let Some(followed) = &mut self.followed {
            self.now = followed.segment(thread, self.now);
        }
        self.now
    }

    /// What the segment that runs does is followed.
    #[inline]
    pub fn follows(&self) -> bool {
        self.now || self.followed.is_none()
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
