//! Blocks that often run one after the other within a call instance, joined: what one of them
//! leaves in a register for the next is then counted once and multiplied, like what stays inside a
//! block. (Superblocks, after Hwu et al., The Superblock, 1993; here they are no more than blocks
//! of several straight pieces, and change no result.)

use super::block::Prepared;
use super::segment::Segment;
use crate::event::RunBatch;
use crate::isa::FlowKind;

/// Times that a block must follow a (super)block before they are joined, usually.
pub const HOT: u32 = 32;
/// Among so many runs of units, as a power of two. What is rarer pays for no superblock, and a long
/// trace would make one of it in the end.
const HOT_AMONG: u32 = 18;
/// Steps of a superblock at most.
const STEPS_MAX: u32 = 128;
/// Operations and inner communications of all superblocks at most, which bounds their memory.
const SIZE_MAX: usize = 1 << 18;
/// Successors of a (super)block that are counted at most.
const SUCCESSORS_MAX: usize = 8;

/// What runs: a block, or several as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Block(u32),
    Superblock(u32),
}

/// Runs of a batch that are taken as one.
pub struct Match {
    pub unit: Unit,
    pub runs: usize,
    /// What follows has now done so often enough to be joined.
    pub hot: bool,
}

struct Successor {
    block: u32,
    times: u32,
    /// When they were counted.
    era: u32,
    /// Superblock of both.
    joined: Option<u32>,
}

#[derive(Default)]
struct Node {
    /// The joined successor that came last, and the superblock of both: mostly it comes again.
    favourite: Option<(u32, u32)>,
    successors: Vec<Successor>,
    /// The blocks that it consists of; empty for a block.
    members: Vec<u32>,
}

/// The superblocks of a pass: a trie of the blocks that they consist of.
pub struct Superblocks {
    after: u32,
    /// Units that ran.
    runs: u64,
    blocks: Vec<Node>,
    list: Vec<Node>,
    pub prepared: Vec<Prepared>,
    size: usize,
}

impl Superblocks {
    /// `after`: times that a block must follow a (super)block before they are joined.
    pub fn new(after: u32) -> Superblocks {
        let (blocks, list, prepared) = (Vec::new(), Vec::new(), Vec::new());
        Superblocks { after, runs: 0, blocks, list, prepared, size: 0 }
    }

    /// The longest superblock that the runs of `batch` from the `first` to before `end` are.
    #[inline]
    pub fn longest(&mut self, batch: &RunBatch, first: usize, end: usize) -> Match {
        let block = batch.block[first];
        if self.blocks.len() <= block as usize {
            self.blocks.resize_with(block as usize + 1, Node::default);
        }
        let mut found = Match { unit: Unit::Block(block), runs: 1, hot: false };
        let thread = batch.thread.get(first);
        self.runs += 1;
        let era = (self.runs >> HOT_AMONG) as u32;
        while first + found.runs < end {
            let at = first + found.runs;
            let next = batch.block[at];
            // A linked jump is a call.
            if batch.thread.get(at) != thread || batch.end.get(at - 1).is_some_and(|e| e.linked) {
                break;
            }
            let node = self.node(found.unit);
            if let Some((block, joined)) = node.favourite
                && block == next
            {
                found.unit = Unit::Superblock(joined);
                found.runs += 1;
                continue;
            }
            let successors = &mut node.successors;
            let place = successors.iter().position(|s| s.block == next).unwrap_or(successors.len());
            if place == SUCCESSORS_MAX {
                break;
            }
            if place == successors.len() {
                successors.push(Successor { block: next, times: 0, era, joined: None });
            }
            let s = &mut successors[place];
            let Some(joined) = s.joined else {
                if s.era != era {
                    (s.era, s.times) = (era, 0);
                }
                s.times = s.times.saturating_add(1);
                found.hot = s.times == self.after;
                break;
            };
            node.favourite = Some((next, joined));
            found.unit = Unit::Superblock(joined);
            found.runs += 1;
        }
        found
    }

    fn node(&mut self, unit: Unit) -> &mut Node {
        match unit {
            Unit::Block(b) => &mut self.blocks[b as usize],
            Unit::Superblock(s) => &mut self.list[s as usize],
        }
    }

    /// The blocks of `unit` and `next` behind them, if they may be joined: control that goes from
    /// `before` to `after` stays in the call instance whatever is on the call stack.
    pub fn members(
        &self,
        unit: Unit,
        next: u32,
        before: &Prepared,
        after: &Prepared,
    ) -> Option<Vec<u32>> {
        let (last, there) = (&before.last, after.first_address);
        if matches!(last.kind, FlowKind::Call | FlowKind::Return | FlowKind::ExceptionReturn) {
            return None;
        }
        let fits = before.steps + after.steps <= STEPS_MAX && self.size < SIZE_MAX;
        if !(last.jumps_to(there) || last.falls_to(there)) || !fits {
            return None;
        }
        let mut members = match unit {
            Unit::Block(b) => vec![b],
            Unit::Superblock(s) => self.list[s as usize].members.clone(),
        };
        members.push(next);
        Some(members)
    }

    /// Joins `unit` and the last of `members`.
    pub fn join(&mut self, unit: Unit, members: Vec<u32>, prepared: Prepared) {
        let (new, next) = (self.list.len() as u32, members.last().copied());
        if let Some(s) = self.node(unit).successors.iter_mut().find(|s| Some(s.block) == next) {
            s.joined = Some(new);
            let size = prepared.all_segments().map(Segment::size);
            self.size += size.sum::<usize>();
            self.list.push(Node { members, ..Node::default() });
            self.prepared.push(prepared);
        }
    }

    /// (blocks, superblock) of each.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], &Prepared)> {
        self.list.iter().map(|n| &n.members[..]).zip(&self.prepared)
    }
}
