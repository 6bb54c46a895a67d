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
    successors: Vec<Successor>,
    /// The blocks that it consists of; empty for a block.
    members: Vec<u32>,
}

/// The joined successor of a unit that came last: mostly it comes again.
#[derive(Clone, Copy)]
struct Favourite {
    block: u32,
    /// Superblock of both.
    joined: u32,
}

impl Favourite {
    /// No block has this number.
    const NONE: Favourite = Favourite { block: u32::MAX, joined: 0 };
}

/// The superblocks of a pass: a trie of the blocks that they consist of.
pub struct Superblocks {
    after: u32,
    /// Units that ran.
    runs: u64,
    blocks: Vec<Node>,
    list: Vec<Node>,
    /// By block.
    block_favourites: Vec<Favourite>,
    /// By superblock.
    favourites: Vec<Favourite>,
    pub prepared: Vec<Prepared>,
    size: usize,
}

impl Superblocks {
    /// `after`: times that a block must follow a (super)block before they are joined.
    pub fn new(after: u32) -> Superblocks {
        Superblocks {
            after,
            runs: 0,
            blocks: Vec::new(),
            list: Vec::new(),
            block_favourites: Vec::new(),
            favourites: Vec::new(),
            prepared: Vec::new(),
            size: 0,
        }
    }

    /// The longest superblock that the runs of `batch` from the `first` to before `end` are.
    /// `alike`: they are of one thread, and none ends with a linked jump.
    #[inline]
    pub fn longest(&mut self, batch: &RunBatch, first: usize, end: usize, alike: bool) -> Match {
        let block = batch.block[first];
        if self.blocks.len() <= block as usize {
            self.blocks.resize_with(block as usize + 1, Node::default);
            self.block_favourites.resize(block as usize + 1, Favourite::NONE);
        }
        let mut found = Match { unit: Unit::Block(block), runs: 1, hot: false };
        self.runs += 1;
        let mut favourite = self.block_favourites[block as usize];
        for at in first + 1..end {
            // A linked jump is a call.
            if !alike
                && (batch.thread.get(at) != batch.thread.get(first)
                    || batch.end.get(at - 1).is_some_and(|e| e.linked))
            {
                break;
            }
            let next = batch.block[at];
            let joined = match favourite.block == next {
                true => favourite.joined,
                false => match self.follow(&mut found, next) {
                    Some(joined) => joined,
                    None => break,
                },
            };
            found.unit = Unit::Superblock(joined);
            found.runs += 1;
            favourite = self.favourites[joined as usize];
        }
        found
    }

    /// The superblock of `found` and the block behind it, if there is one; else it is counted.
    #[inline(never)]
    fn follow(&mut self, found: &mut Match, next: u32) -> Option<u32> {
        let (after, era) = (self.after, (self.runs >> HOT_AMONG) as u32);
        let successors = &mut self.node(found.unit).successors;
        let place = successors.iter().position(|s| s.block == next).unwrap_or(successors.len());
        if place == SUCCESSORS_MAX {
            return None;
        }
        if place == successors.len() {
            successors.push(Successor { block: next, times: 0, era, joined: None });
        }
        let s = &mut successors[place];
        if let Some(joined) = s.joined {
            let favourite = match found.unit {
                Unit::Block(b) => &mut self.block_favourites[b as usize],
                Unit::Superblock(s) => &mut self.favourites[s as usize],
            };
            *favourite = Favourite { block: next, joined };
            return Some(joined);
        }
        if s.era != era {
            (s.era, s.times) = (era, 0);
        }
        s.times = s.times.saturating_add(1);
        found.hot = s.times == after;
        None
    }

    fn node(&mut self, unit: Unit) -> &mut Node {
        match unit {
            Unit::Block(b) => &mut self.blocks[b as usize],
            Unit::Superblock(s) => &mut self.list[s as usize],
        }
    }

    /// The blocks of `unit` and `next` behind them, if they may be joined: control that goes from
    /// `before` to `after` stays in the call instance whatever is on the call stack. `back`: a jump by any register
    /// to another function may go back to it.
    pub fn members(
        &self,
        unit: Unit,
        next: u32,
        (before, after): (&Prepared, &Prepared),
        back: bool,
    ) -> Option<Vec<u32>> {
        let (last, there) = (&before.last, after.first_address);
        if matches!(last.kind, FlowKind::Call | FlowKind::Return | FlowKind::ExceptionReturn) {
            return None;
        }
        let function = |segment: Option<&Segment>| segment.map(|segment| segment.function);
        let leaves = function(before.segments.last()) != function(after.segments.first());
        if back
            && leaves
            && matches!(last.kind, FlowKind::Jump | FlowKind::Unknown)
            && last.target.is_none()
        {
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
            self.size += prepared.all_segments().map(Segment::size).sum::<usize>();
            self.list.push(Node { members, ..Node::default() });
            self.favourites.push(Favourite::NONE);
            self.prepared.push(prepared);
        }
    }

    /// (blocks, superblock) of each.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], &Prepared)> {
        self.list.iter().map(|n| &n.members[..]).zip(&self.prepared)
    }
}
