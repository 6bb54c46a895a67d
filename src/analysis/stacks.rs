//! Stacks between which a thread goes to and fro by itself (coroutines, goroutines, fibers), and the calls that wait on them: what
//! [`super::moves`] works with.

use super::activation::Calls;
use super::contexts::Live;
use super::stack::{Frame, Transfer};
use super::transfer::{Back, End, Previous};
use crate::id::FunctionId;
use crate::isa::FlowKind;
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
#[derive(Default)]
pub struct Running {
    /// The stack pointer before and behind a move, since the last transfer that it may have to do with.
    pub moved: Option<(u64, u64)>,
    /// Its highest address; None: it is the thread's own.
    pub base: Option<u64>,
    /// Its stack pointer while what it called runs elsewhere.
    pub away: Option<u64>,
    /// Times that the thread went to another one.
    pub switches: u64,
}

impl Running {
    /// The stack pointer has moved.
    pub fn moves(&mut self, before: u64, behind: u64) {
        let before = self.moved.map_or(before, |(first, _)| first);
        self.moved = Some((before, behind));
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
