//! The critical path: the longest chain of steps each of which reads what the one before wrote.

use super::cell::Bytes;
use super::code::Code;
use super::error::ReplayError;
use super::resolve::Step;
use super::writers::{Communication, Observer, observe};
use crate::id::{CallId, FunctionId, InstructionId};
use duckdb::Connection;
use std::collections::BTreeMap;

/// Longest runs for which the path itself is found: four bytes of memory a step.
const LIMIT: i64 = 1 << 30;

#[derive(Debug, Default)]
pub struct CriticalPath {
    /// Steps of the run, and on the path.
    pub steps: i64,
    pub length: u64,
    /// Steps on the path by function, and by call instance with its function; empty where the run
    /// is too long to keep them.
    pub by_function: BTreeMap<Option<FunctionId>, u64>,
    pub by_call: BTreeMap<CallId, (Option<FunctionId>, u64)>,
    /// Instructions of the path's last steps, newest first.
    pub end: Vec<(i64, InstructionId)>,
}

/// In `back`: the step is on the path.
const MARKED: u32 = u32::MAX;

struct Longest {
    first: i64,
    /// Length of the longest chain that the current step's reads continue, and how far back its
    /// last step is.
    deepest: (u32, i64),
    /// By step: how far back the step before it on its chain is; 0: it begins one.
    back: Vec<u32>,
    keeps: bool,
    /// Length of the longest chain of all, and its last step.
    best: (u32, i64),
    steps: i64,
}

impl Observer for Longest {
    fn communication(&mut self, c: &Communication) {
        if let Some(write) = c.write
            && write.tag > self.deepest.0
        {
            self.deepest = (write.tag, c.read.seq - write.access.seq);
        }
    }

    fn write(&mut self, _: Bytes) -> u32 {
        self.deepest.0.saturating_add(1)
    }

    fn end(&mut self, step: &Step) -> bool {
        let length = self.deepest.0.saturating_add(1);
        if length > self.best.0 {
            self.best = (length, step.seq);
        }
        if self.keeps {
            self.back.resize(self.place(step.seq), 0);
            self.back.push(u32::try_from(self.deepest.1).unwrap_or(0));
        }
        self.deepest = (0, 0);
        self.steps += 1;
        true
    }
}

impl Longest {
    /// Where a step stands in `back`.
    fn place(&self, seq: i64) -> usize {
        usize::try_from(seq - self.first).unwrap_or(0)
    }

    /// Marks the steps of the path in place.
    fn mark(&mut self) {
        let mut at = self.place(self.best.1);
        while let Some(step) = self.back.get_mut(at) {
            let distance = std::mem::replace(step, MARKED) as usize;
            if distance == 0 || distance > at {
                break;
            }
            at -= distance;
        }
    }
}

/// How many of the path's last steps are kept.
const SHOWN: usize = 1000;

/// Finds the longest chain: once through the run, and once back along the chain for what its steps
/// are.
pub fn critical_path(code: &Code, connection: &Connection) -> Result<CriticalPath, ReplayError> {
    let mut longest = Longest {
        first: code.first,
        deepest: (0, 0),
        back: Vec::new(),
        keeps: code.last - code.first < LIMIT,
        best: (0, 0),
        steps: 0,
    };
    observe(code, connection, code.last, &mut longest)?;
    let length = longest.best.0.into();
    let mut path = CriticalPath { steps: longest.steps, length, ..CriticalPath::default() };
    if !longest.keeps || length == 0 {
        return Ok(path);
    }
    longest.mark();
    code.backwards(connection, (code.first, longest.best.1), |piece| {
        for step in piece.steps().rev() {
            let seq = piece.seq(step);
            if longest.back.get(longest.place(seq)) != Some(&MARKED) {
                continue;
            }
            let instruction = piece.block.instructions[step];
            let function = code.instruction(instruction).function;
            *path.by_function.entry(function).or_default() += 1;
            if let Some(call) = piece.call {
                path.by_call.entry(call).or_insert((function, 0)).1 += 1;
            }
            if path.end.len() < SHOWN {
                path.end.push((seq, instruction));
            }
        }
        Ok(true)
    })?;
    Ok(path)
}
