//! What processes begin with: memory as it was when their parents made them.

use super::memory::{PAGE, Version};
use super::shadow::Cell;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A page as a list of versions, in the order of addresses.
type Page = Arc<[Version]>;

/// The memory of processes that have been made and have not begun.
#[derive(Default)]
pub struct Forks {
    /// By the process's number.
    waiting: FxHashMap<u64, Vec<Page>>,
    /// The pages that were kept last, by number: most are the same when the next process is made.
    last: FxHashMap<u64, Page>,
}

impl Forks {
    /// Keeps what a process is to begin with. `versions`: of all memory, those of a page one behind
    /// the other.
    pub fn keep(&mut self, pid: u64, versions: Vec<Version>) {
        let mut last = FxHashMap::default();
        let same_page = |a: &Version, b: &Version| a.0 / PAGE == b.0 / PAGE;
        let pages = versions.chunk_by(same_page).map(|versions| {
            let (number, joined) = (versions[0].0 / PAGE, joined(versions));
            let known = self.last.get(&number).filter(|page| ***page == *joined);
            let page: Page = known.cloned().unwrap_or_else(|| joined.into());
            last.insert(number, page.clone());
            page
        });
        self.waiting.insert(pid, pages.collect());
        self.last = last;
    }

    /// No process is to begin.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What a process begins with; None if nobody has said that it makes it.
    pub fn take(&mut self, pid: u64) -> Option<Vec<Version>> {
        let pages = self.waiting.remove(&pid)?;
        Some(pages.iter().flat_map(|page| page.iter().copied()).collect())
    }
}

/// Versions without what only the process itself may ask, adjacent ones of one write joined.
fn joined(versions: &[Version]) -> Vec<Version> {
    let mut joined: Vec<Version> = Vec::new();
    for &(address, bytes, cell) in versions {
        let cell = Cell { actor: cell.actor & !Cell::SAVE, pair: 0, ..cell.unread() };
        match joined.last_mut() {
            Some((from, n, of)) if *from + *n == address && *of == cell => *n += bytes,
            _ => joined.push((address, bytes, cell)),
        }
    }
    joined
}
