//! The critical path: the longest chain of steps each of which reads what the one before wrote.

use super::cell::Bytes;
use super::code::Code;
use super::error::ReplayError;
use super::resolve::Step;
use super::writers::{Communication, Observer, observe};
use crate::id::{CallId, FunctionId, InstructionId};
use crate::text::words;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Longest runs for which the path itself is found: four bytes of memory a step.
const LIMIT: i64 = 1 << 30;

words! {
    /// What a step adds to the length of a chain.
    #[derive(Default)]
    pub enum Weight {
        /// One; a string instruction with all its repetitions one
        #[default]
        Steps = "steps",
        /// The bytes that it reads of what steps wrote
        Bytes = "bytes",
    }
}

#[derive(Debug, Default)]
pub struct CriticalPath {
    /// Steps of the run; the repetitions of a string instruction are one.
    pub steps: i64,
    /// Steps, or bytes, of the path.
    pub length: u64,
    /// What of the length is by function, and by call instance with its function; empty where the run
    /// is too long to keep them.
    pub by_function: BTreeMap<Option<FunctionId>, u64>,
    pub by_call: BTreeMap<CallId, (Option<FunctionId>, u64)>,
}

/// In `back`: the step is on the path.
const MARKED: u32 = u32::MAX;
/// In `back`: it goes on with what the step before it did, as the same instruction (`rep movs`).
const REPETITION: u32 = u32::MAX - 1;

/// What each step adds, in a byte: more is rare.
#[derive(Default)]
struct Weights {
    small: Vec<u8>,
    /// Those of [`u8::MAX`] and more, by place.
    large: FxHashMap<usize, u32>,
}

impl Weights {
    fn put(&mut self, place: usize, weight: u32) {
        self.small.resize(place, 0);
        self.small.push(u8::try_from(weight).unwrap_or(u8::MAX));
        if weight >= u8::MAX.into() {
            self.large.insert(place, weight);
        }
    }

    fn get(&self, place: usize) -> u32 {
        let small = self.small.get(place).copied().unwrap_or(0);
        if small < u8::MAX { small.into() } else { self.large.get(&place).copied().unwrap_or(0) }
    }
}

struct Longest<'a> {
    code: &'a Code,
    weight: Weight,
    first: i64,
    /// The step before, and the current one.
    before: Option<(i64, InstructionId)>,
    now: Option<(i64, InstructionId)>,
    /// Bytes that the current step reads of what steps wrote.
    bytes: u32,
    /// By step, where bytes are weighed.
    weights: Weights,
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

impl Observer for Longest<'_> {
    fn begin(&mut self, step: &Step) {
        self.before = self.now.replace((step.seq, step.instruction));
        self.bytes = 0;
    }

    fn communication(&mut self, c: &Communication) {
        let Some(write) = c.write else { return };
        self.bytes = self.bytes.saturating_add(c.bytes.size);
        if write.tag > self.deepest.0 {
            self.deepest = (write.tag, c.read.seq - write.access.seq);
        }
    }

    fn write(&mut self, _: Bytes) -> u32 {
        self.length()
    }

    fn end(&mut self, step: &Step) -> bool {
        let length = self.length();
        if length > self.best.0 {
            self.best = (length, step.seq);
        }
        if self.keeps {
            self.back.resize(self.place(step.seq), 0);
            let back = u32::try_from(self.deepest.1).unwrap_or(0);
            self.back.push(if self.goes_on() { REPETITION } else { back });
            if self.weight == Weight::Bytes {
                self.weights.put(self.place(step.seq), self.bytes);
            }
        }
        self.deepest = (0, 0);
        self.steps += i64::from(!self.repeats());
        true
    }
}

impl Longest<'_> {
    /// Whether the current step is another repetition of the instruction before it: what comes twice in
    /// a row without a jump.
    fn repeats(&self) -> bool {
        self.now.zip(self.before).is_some_and(|(now, before)| {
            now.1 == before.1 && now.0 == before.0 + 1 && !self.code.instruction(now.1).transfers
        })
    }

    /// Whether the chain goes from the repetition before to the current one.
    fn goes_on(&self) -> bool {
        self.weight == Weight::Steps && self.deepest.1 == 1 && self.repeats()
    }

    /// Of the longest chain that ends with the current step.
    fn length(&self) -> u32 {
        self.deepest.0.saturating_add(match self.weight {
            Weight::Steps => u32::from(!self.goes_on()),
            Weight::Bytes => self.bytes,
        })
    }

    /// Where a step stands in `back`.
    fn place(&self, seq: i64) -> usize {
        usize::try_from(seq - self.first).unwrap_or(0)
    }

    /// Marks the steps of the path in place.
    fn mark(&mut self) {
        let mut at = self.place(self.best.1);
        while let Some(step) = self.back.get_mut(at) {
            let distance = match *step {
                REPETITION => 1,
                distance => {
                    *step = MARKED;
                    distance as usize
                }
            };
            if distance == 0 || distance > at {
                break;
            }
            at -= distance;
        }
    }
}

/// Finds the longest chain: once through the run, and once back along the chain for what its steps
/// are.
pub fn critical_path(
    code: &Code,
    connection: &Connection,
    weight: Weight,
) -> Result<CriticalPath, ReplayError> {
    let mut longest = Longest {
        code,
        weight,
        first: code.first,
        before: None,
        now: None,
        bytes: 0,
        weights: Weights::default(),
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
            let weight = match weight {
                Weight::Steps => 1,
                Weight::Bytes => longest.weights.get(longest.place(seq)).into(),
            };
            *path.by_function.entry(function).or_default() += weight;
            if let Some(call) = piece.call {
                path.by_call.entry(call).or_insert((function, 0)).1 += weight;
            }
        }
        Ok(true)
    })?;
    Ok(path)
}
