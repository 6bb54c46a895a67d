//! The critical path: the longest chain of steps each of which reads what the one before wrote.

use super::dataflow::{Communication, Observer, Write, replay};
use super::{Code, ReplayError};
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
    pub by_function: BTreeMap<i32, u64>,
    pub by_call: BTreeMap<i32, (i32, u64)>,
    /// Instructions of the path's last steps, newest first: seq, instruction.
    pub end: Vec<(i64, i32)>,
}

struct Longest {
    first: i64,
    /// Length of the longest chain that the current step's reads continue, and how far back its
    /// last step is.
    deepest: (u32, i64),
    /// By step: how far back the step before it on its chain is; 0: it begins one.
    back: Vec<u32>,
    keeps: bool,
    best: (u32, i64),
    steps: i64,
}

impl Observer for Longest {
    fn communication(&mut self, c: &Communication) {
        if let Some(w) = c.write
            && w.tag > self.deepest.0
        {
            self.deepest = (w.tag, c.read.seq - w.seq);
        }
    }
    fn write(&mut self, _: &Write, _: i32, _: bool, _: u64, _: u32) -> u32 {
        self.deepest.0.saturating_add(1)
    }
    fn step(&mut self, seq: i64, _: i32, _: i32) -> bool {
        let length = self.deepest.0.saturating_add(1);
        if length > self.best.0 {
            self.best = (length, seq);
        }
        if self.keeps {
            self.back.resize((seq - self.first) as usize, 0);
            self.back.push(u32::try_from(self.deepest.1).unwrap_or(0));
        }
        self.deepest = (0, 0);
        self.steps += 1;
        true
    }
}

/// How many of the path's last steps are kept.
const SHOWN: usize = 1000;

pub fn critical_path(code: &Code, connection: &Connection) -> Result<CriticalPath, ReplayError> {
    let keeps = code.last - code.first < LIMIT;
    let mut longest = Longest {
        first: code.first,
        deepest: (0, 0),
        back: Vec::new(),
        keeps,
        best: (0, 0),
        steps: 0,
    };
    replay(code, connection, code.last, &mut longest)?;
    let mut path = CriticalPath {
        steps: longest.steps,
        length: longest.best.0.into(),
        ..CriticalPath::default()
    };
    if !keeps || longest.best.0 == 0 {
        return Ok(path);
    }
    // Marks the steps of the path in place, then asks the run what they are.
    let mut at = longest.best.1 - code.first;
    let back = &mut longest.back;
    loop {
        let Some(step) = back.get_mut(at as usize) else { break };
        let distance = i64::from(std::mem::replace(step, u32::MAX));
        if distance == 0 || distance > at {
            break;
        }
        at -= distance;
    }
    code.backwards(connection, (code.first, longest.best.1), |piece| {
        for step in (piece.first_step..piece.end_step).rev() {
            let seq = piece.seq(step);
            if back.get((seq - code.first) as usize) == Some(&u32::MAX) {
                let instruction = piece.block.instructions[step];
                let function = code.instruction(instruction).function;
                *path.by_function.entry(function).or_default() += 1;
                path.by_call.entry(piece.call).or_insert((function, 0)).1 += 1;
                if path.end.len() < SHOWN {
                    path.end.push((seq, instruction));
                }
            }
        }
        true
    })?;
    Ok(path)
}
