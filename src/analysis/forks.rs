//! What processes begin with: memory as it was when their parents made them, and what the thread had that did.

use super::memory::{PAGE, PageWords, Version};
use super::shadow::{Cell, WORD};
use super::thread_state::{FrameState, SaveState, ThreadState};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// A page as a list of versions, in the order of addresses.
type Page = Arc<[Version]>;

/// What a thread had when it made a process: live instances with their saves, registers, where it stood. No
/// handlers of signals and exceptions, and no stacks but the one that it ran on.
pub type ForkedThread = Box<ThreadState>;

/// What a process begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forked {
    pub pid: u64,
    pub memory: Vec<Version>,
    pub thread: Option<ForkedThread>,
}

/// Memory, and what the thread had.
type Waiting = (Vec<Page>, Option<ForkedThread>);

/// The memory of processes that have been made and have not begun.
#[derive(Default)]
pub struct Forks {
    /// By the process's number, which may be used again: in the order in which they begin.
    waiting: FxHashMap<u64, VecDeque<Waiting>>,
    /// The pages that were kept last, by number: most are the same when the next process is made.
    last: FxHashMap<u64, Page>,
    /// What the next step's thread goes on with: the process has begun, and no step of it.
    pub begins: Option<ForkedThread>,
}

impl Forks {
    /// Keeps what a process is to begin with. `versions`: of all memory, those of a page one behind
    /// the other.
    pub fn keep(&mut self, pid: u64, versions: Vec<Version>, thread: Option<ForkedThread>) {
        let mut last = FxHashMap::default();
        let same_page = |a: &Version, b: &Version| a.0 / PAGE == b.0 / PAGE;
        let pages = versions.chunk_by(same_page).map(|versions| {
            let (number, joined) = (versions[0].0 / PAGE, joined(versions));
            let known = self.last.get(&number).filter(|page| ***page == *joined);
            let page: Page = known.cloned().unwrap_or_else(|| joined.into());
            last.insert(number, page.clone());
            page
        });
        self.waiting.entry(pid).or_default().push_back((pages.collect(), thread));
        self.last = last;
    }

    /// Goes on with what is known of these processes.
    pub fn resumed(known: &[Forked], begins: Option<&ForkedThread>) -> Forks {
        let mut forks = Forks { begins: begins.cloned(), ..Forks::default() };
        for Forked { pid, memory, thread } in known {
            forks.keep(*pid, memory.clone(), thread.clone());
        }
        forks
    }

    /// The live instances that some processes begin with.
    pub fn frames<'a>(&'a self, pids: &'a [u64]) -> impl Iterator<Item = &'a FrameState> {
        let waiting = pids.iter().filter_map(|pid| self.waiting.get(pid)).flatten();
        let waiting = waiting.filter_map(|(_, thread)| thread.as_ref());
        waiting.chain(&self.begins).flat_map(|thread| &thread.frames)
    }

    /// Their saves.
    pub fn saves<'a>(&'a self, pids: &'a [u64]) -> impl Iterator<Item = &'a SaveState> {
        self.frames(pids).flat_map(|frame| &frame.saves)
    }

    /// Of what some processes begin with: these words, see [`Memory::known`](super::memory::Memory::known).
    pub fn known(&self, pids: &[u64], pages: Option<&[(u64, PageWords)]>) -> Vec<Forked> {
        let of = |pid: u64| {
            let waiting = self.waiting.get(&pid).into_iter().flatten();
            waiting.map(move |(kept, thread)| {
                let versions = kept.iter().flat_map(|page| page.iter());
                let memory = match pages {
                    None => versions.copied().collect(),
                    Some(pages) => versions.flat_map(|version| within(version, pages)).collect(),
                };
                Forked { pid, memory, thread: thread.clone() }
            })
        };
        let mut pids = pids.to_vec();
        pids.sort_unstable();
        pids.dedup();
        pids.into_iter().flat_map(of).collect()
    }

    /// What a process begins with; None if nobody has said that it makes it.
    pub fn take(&mut self, pid: u64) -> Option<(Vec<Version>, Option<ForkedThread>)> {
        let (pages, thread) = self.waiting.get_mut(&pid)?.pop_front()?;
        Some((pages.iter().flat_map(|page| page.iter().copied()).collect(), thread))
    }
}

/// The words of a version that are among these.
fn within(&(address, len, cell): &Version, pages: &[(u64, PageWords)]) -> Vec<Version> {
    let mut found: Vec<Version> = Vec::new();
    let end = address.saturating_add(len);
    let pages =
        &pages[pages.partition_point(|(page, _)| (*page + 1).saturating_mul(PAGE) <= address)..];
    for (page, words) in pages.iter().take_while(|(page, _)| page * PAGE < end) {
        let base = page * PAGE;
        let is_wanted = |word: &u64| words[*word as usize / 64] >> (word % 64) & 1 != 0;
        for word in (0..PAGE / WORD).filter(is_wanted) {
            let at = base + word * WORD;
            let (from, to) = (at.max(address), at.saturating_add(WORD).min(end));
            match found.last_mut() {
                _ if from >= to => {}
                Some((first, n, _)) if *first + *n == from => *n += to - from,
                _ => found.push((from, to - from, cell)),
            }
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each process begins with the versions that its parent had, byte by byte, whatever pages others share with it.
    #[test]
    fn what_was_kept_is_what_a_process_begins_with() {
        let mut below = crate::analysis::random::below(1);
        let bytes = |list: &[Version]| -> Vec<(u64, u64)> {
            let each = |v: &Version| (v.0..v.0 + v.1).map(|at| (at, v.2.write)).collect::<Vec<_>>();
            list.iter().flat_map(each).collect()
        };
        for _ in 0..50 {
            let (mut forks, mut versions): (Forks, Vec<Version>) = Default::default();
            let mut kept = Vec::new();
            for pid in 0..4 {
                // Some versions change from one process to the next.
                if pid == 0 || below(2) == 0 {
                    versions.clear();
                    for page in 3..6 {
                        let mut at = page * PAGE;
                        while at < (page + 1) * PAGE {
                            let n = (1 + below(1500)).min((page + 1) * PAGE - at);
                            if below(3) > 0 {
                                let actor = Cell::SLOT | if below(2) == 0 { Cell::SAVE } else { 0 };
                                let cell = Cell {
                                    write: 1 + below(3),
                                    actor,
                                    reader: 5,
                                    pair: 7,
                                    ..Cell::EMPTY
                                };
                                versions.push((at, n, cell));
                            }
                            at += n;
                        }
                    }
                }
                forks.keep(pid, versions.clone(), None);
                kept.push(bytes(&versions));
            }
            // Of some words.
            let mut words = |_| std::array::from_fn(|_| below(u64::MAX));
            let pages: Vec<(u64, PageWords)> = (2..5).map(|page| (page, words(page))).collect();
            let is_wanted = |(at, _): &&(u64, u64)| {
                let (page, word) = (at / PAGE, at % PAGE / WORD);
                let words = pages.iter().find(|(number, _)| *number == page);
                words.is_some_and(|(_, words)| words[word as usize / 64] >> (word % 64) & 1 != 0)
            };
            let all: Vec<u64> = (0..5).collect();
            let known = forks.known(&all, Some(&pages));
            assert_eq!(known.len(), kept.len());
            for (Forked { pid, memory: found, .. }, expected) in known.iter().zip(&kept) {
                let expected: Vec<_> = expected.iter().filter(is_wanted).copied().collect();
                assert_eq!(bytes(found), expected, "process {pid}");
            }
            assert_eq!(bytes(&forks.known(&[3], None)[0].memory), kept[3]);
            let mut resumed = Forks::resumed(&known, None);
            assert_eq!(resumed.take(2).map(|of| bytes(&of.0)), Some(bytes(&known[2].memory)));
            for (pid, expected) in (0..).zip(kept) {
                let (found, _) = forks.take(pid).expect("it was kept");
                assert_eq!(bytes(&found), expected);
                let plain = |c: &Cell| (c.actor, c.reader, c.pair) == (Cell::SLOT, 0, 0);
                assert!(found.iter().all(|(.., cell)| plain(cell)));
                assert!(forks.take(pid).is_none());
            }
        }
    }
}
