//! What is found of the heap.

use super::functions::Allocator;
use crate::id::{FunctionId, InstructionId};
use crate::replay::usage::{Traffic, Volume};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// An allocation, ended or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// From 1, in the order in which they were given.
    pub number: u64,
    pub address: u64,
    /// Bytes asked for.
    pub bytes: u64,
    pub site: Site,
    /// Last step of the call that gave it.
    pub allocated: i64,
    /// First step of the call that took it back; None: never, or unseen.
    pub freed: Option<i64>,
    /// Bytes that a reallocation takes along die where they end.
    pub traffic: Traffic,
    pub first_use: Option<i64>,
    pub last_use: Option<i64>,
}

/// Where allocations are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// What stands for the instruction that calls; None: not in the trace.
    pub instruction: Option<InstructionId>,
    /// The allocation function.
    pub allocator: Option<FunctionId>,
}

/// All allocations of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub count: u64,
    pub bytes: u64,
    pub live: u64,
    /// The most bytes that lived at a time.
    pub peak: u64,
    pub traffic: Traffic,
    /// Steps that they lived, all together; those that were never freed to the end of the run.
    pub steps: i64,
}

impl Sum {
    pub(super) fn begin(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.live = self.live.saturating_add(bytes);
        self.peak = self.peak.max(self.live);
    }

    /// `last`: the last step of the run.
    pub(super) fn end(&mut self, allocation: &Allocation, last: i64) {
        self.live = self.live.saturating_sub(allocation.bytes);
        let lived = allocation.freed.unwrap_or(last).saturating_sub(allocation.allocated);
        self.steps = self.steps.saturating_add(lived);
        self.traffic.add(&allocation.traffic);
    }
}

#[derive(Debug, Default)]
pub struct Allocations {
    pub sites: BTreeMap<Site, Sum>,
    /// The first ones, in the order in which they were given.
    pub each: Vec<Allocation>,
    pub count: u64,
    /// Accesses to the heap by what runs within calls of allocation functions.
    pub allocator: Volume,
    /// Other accesses to the heap beside live allocations.
    pub elsewhere: Volume,
    pub functions: FxHashMap<FunctionId, &'static Allocator>,
    /// Outermost calls of them.
    pub calls: u64,
    /// Calls whose arguments or results the trace does not tell.
    pub unknown: u64,
    /// Allocations that overlap a later one: nobody was seen to take them back.
    pub overlapped: u64,
}
