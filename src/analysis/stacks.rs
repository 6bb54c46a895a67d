//! Stacks between which a thread goes to and fro by itself (coroutines, goroutines, fibers), and the calls that wait on them: what
//! [`super::moves`] works with.

use super::activation::Calls;
use super::contexts::Live;
use super::stack::{Frame, Transfer};
use super::transfer::{Back, End, Previous};
use crate::id::FunctionId;
use crate::isa::FlowKind;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How far the first frame of a thread's own stack may reach above the slot of what it called.
const FIRST_FRAME: u64 = 8192;

/// A stack on which calls wait.
pub struct Waiting {
    pub calls: Calls,
    pub contexts: Vec<Live>,
    /// Its highest address, as far as is known.
    pub base: u64,
    /// Where what was called from it ran then, if that was elsewhere: the stack pointer that it left, and the highest address.
    pub elsewhere: Option<(u64, u64)>,
    /// Of all that have waited.
    pub number: u64,
}

/// Where control goes on on a stack that was copied meanwhile.
#[derive(Clone, Copy)]
pub struct Copied<'a> {
    /// The address, and its function.
    pub there: (u64, FunctionId),
    /// Where the return address of what was called there would stand.
    pub slot: u64,
    /// Return addresses that stand on the stack, each with where.
    pub above: &'a [(u64, u64)],
}

impl Copied<'_> {
    /// How many of these are of a stack, if its instance at `depth` goes on.
    pub fn fits(&self, calls: &Calls, depth: usize) -> usize {
        let frames = calls.frames();
        let own = |frame: &Frame<End, _>| match frame.token {
            End::Return { address, slot: Some(slot) } => Some((slot, address)),
            _ => None,
        };
        let Some((called, _)) = frames.get(depth + 1).and_then(own) else { return 0 };
        let by = self.slot.wrapping_sub(called);
        let stands =
            |(slot, address): &(u64, u64)| self.above.contains(&(slot.wrapping_add(by), *address));
        frames[..=depth].iter().filter_map(own).filter(stands).count()
    }

    /// How much of a stack from `left` to `base` stands there, and the depth of the instance that goes on; None: the innermost call
    /// on the stack itself does not return there, or nothing does.
    pub fn of(&self, calls: &Calls, (left, base): (u64, u64)) -> Option<(usize, usize)> {
        let frames = calls.frames();
        let slot = |frame: &Frame<End, _>| frame.token.frame_top();
        let is_own = |frame| slot(frame).is_some_and(|slot| (left..=base).contains(&slot));
        let called = frames.iter().rposition(is_own)?;
        let goes_on = called.checked_sub(1)?;
        let End::Return { address, .. } = frames[called].token else { return None };
        let is_there = (address, frames[goes_on].function) == self.there;
        let fits = if is_there { self.fits(calls, goes_on) } else { 0 };
        (fits > 0).then_some((fits, goes_on))
    }
}

/// Stacks of all threads that wait.
#[derive(Default)]
pub struct Waits {
    /// By the stack pointer that each has left.
    pub all: BTreeMap<u64, Waiting>,
    /// Those whose calls were elsewhere, by the stack pointer there and their numbers.
    elsewhere: BTreeMap<(u64, u64), u64>,
    /// How many there have been.
    count: u64,
}

impl Waits {
    /// The one with an address: what it left, and whether that is where its calls were elsewhere.
    pub fn of(&self, address: u64) -> Option<(u64, bool)> {
        let own = self.all.range(..=address).next_back();
        if let Some((left, _)) = own.filter(|(_, of)| address <= of.base) {
            return Some((*left, false));
        }
        let low = self.elsewhere.range(..=(address, u64::MAX)).next_back();
        let (_, left) = low.filter(|(_, left)| {
            let of = self.all.get(left).and_then(|of| of.elsewhere);
            of.is_some_and(|(_, high)| address <= high)
        })?;
        Some((*left, true))
    }

    /// The one that was copied while it waited to where control goes on: on it most of what stands there was found, of equals the
    /// one that has waited longest. Gives how much, its stack pointer, and the depth of the instance that goes on.
    pub fn copied(&self, to: Copied) -> Option<(usize, u64, usize)> {
        let all = self.all.iter().filter_map(|(&left, of)| {
            let (fits, depth) = to.of(&of.calls, (left, of.base))?;
            Some(((fits, Reverse(of.number)), left, depth))
        });
        all.max().map(|((fits, _), left, depth)| (fits, left, depth))
    }

    /// A stack waits; gives what waited there before.
    pub fn insert(&mut self, left: u64, of: Waiting) -> Option<Waiting> {
        let before = self.remove(left);
        self.count += 1;
        if let Some((low, _)) = of.elsewhere {
            self.elsewhere.insert((low, self.count), left);
        }
        self.all.insert(left, Waiting { number: self.count, ..of });
        before
    }

    pub fn remove(&mut self, left: u64) -> Option<Waiting> {
        let of = self.all.remove(&left)?;
        if let Some((low, _)) = of.elsewhere {
            self.elsewhere.remove(&(low, of.number));
        }
        Some(of)
    }
}

/// The stack on which a thread runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    /// The stack pointer before and behind a move, since the last transfer that it may have to do with.
    pub moved: Option<(u64, u64)>,
    /// Return addresses above it, each with where it stands.
    pub above: Vec<(u64, u64)>,
    /// Its highest address; None: it is the thread's own.
    pub base: Option<u64>,
    /// Its stack pointer while what it called runs elsewhere.
    pub away: Option<u64>,
    /// Times that the thread went to another one.
    pub switches: u64,
}

impl Running {
    /// The stack pointer has moved.
    pub fn moves(&mut self, (before, behind): (u64, u64), above: &[(u64, u64)]) {
        let before = self.moved.map_or(before, |(first, _)| first);
        self.moved = Some((before, behind));
        self.above.clear();
        self.above.extend_from_slice(above);
    }

    #[inline]
    pub fn has_moved(&self) -> bool {
        self.moved.is_some()
    }

    /// The thread has been on another stack than its own, or what it called has.
    #[inline]
    pub fn was_elsewhere(&self) -> bool {
        self.base.is_some() || self.away.is_some()
    }

    /// A return took its address from a slot. `ends`: a call.
    pub fn returns(&mut self, slot: u64, ends: bool, calls: &Calls) {
        if let Some(away) = self.away
            && (away..=self.base(calls, away)).contains(&slot)
        {
            self.away = None;
        }
        // If it ends none, the stack has begun in the midst of its calls.
        if !ends && self.away.is_none() {
            self.base = self.base.map(|base| base.max(slot));
        }
    }

    /// Its highest address, as far as is known; `calls`: of it.
    pub fn base(&self, calls: &Calls, pointer: u64) -> u64 {
        let outermost = || calls.frames().iter().find_map(|frame| frame.token.frame_top());
        let own = || outermost().unwrap_or(pointer).saturating_add(FIRST_FRAME);
        self.base.unwrap_or_else(own)
    }
}

/// Where control goes on in calls: in the instance of which the return address was there, or in the newest one of the function
/// whose frame the stack pointer is in.
pub fn goes_on(
    calls: &mut Calls,
    last: &Previous,
    (address, function): (u64, FunctionId),
    entry: Option<u64>,
    pointer: u64,
) -> Option<Transfer<End>> {
    if last.last.kind == FlowKind::Return || last.links {
        let is = |frame: &Frame<End, _>| frame.token.frame_top() == Some(pointer);
        if let Some(depth) = calls.newest(Back::Return(address), is) {
            return Some(Transfer::Return { depth });
        }
    }
    if entry == Some(address) {
        return None;
    }
    let frames = calls.frames();
    let top = |depth: usize| frames.get(depth).and_then(|frame| frame.token.frame_top());
    let holds = |depth: &usize| {
        frames[*depth].function == function
            && top(*depth).is_none_or(|own| pointer < own)
            && top(*depth + 1).is_none_or(|called| called <= pointer)
    };
    let depth = (0..frames.len()).rev().find(holds)?;
    Some(if depth + 1 == frames.len() { Transfer::None } else { Transfer::Unwind { depth } })
}

/// The highest address of the stack on which the innermost calls run, which is not the one between two addresses.
pub fn highest_elsewhere(calls: &Calls, (low, base): (u64, u64), pointer: u64) -> u64 {
    let mut highest = pointer;
    for frame in calls.frames().iter().rev() {
        // Outwards they are higher.
        match frame.token.frame_top() {
            Some(top) if !(low..=base).contains(&top) && top >= highest => highest = top,
            _ => break,
        }
    }
    highest
}

/// A stack was copied elsewhere, and goes on there in the instance at `depth`, where the slot of what that had called would be:
/// all that lay there is as far from where it was.
pub fn relocate(
    calls: &mut Calls,
    (low, base): (u64, u64),
    depth: usize,
    slot: u64,
) -> Option<u64> {
    let by = slot.wrapping_sub(calls.frames().get(depth + 1)?.token.frame_top()?);
    for depth in 0..calls.frames().len() {
        if let End::Return { slot: Some(slot), .. } = &mut calls.frame_mut(depth).token
            && (low..=base).contains(slot)
        {
            *slot = slot.wrapping_add(by);
        }
    }
    Some(by)
}
