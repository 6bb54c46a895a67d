//! Which dataflow a loop carries from one iteration to a later one.

use super::code::Code;
use super::control::ControlFlow;
use super::error::ReplayError;
use super::nest::Nests;
use super::resolve::Step;
use super::writers::{Communication, Observer, observe};
use crate::id::InstructionId;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Bytes that go from one iteration of a loop to a later one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CarriedBytes {
    pub memory: i64,
    pub register: i64,
}

/// By writing instruction, reading instruction and loop.
pub type Carried = BTreeMap<(InstructionId, InstructionId, usize), CarriedBytes>;

struct Carrier<'a> {
    nests: Nests<'a>,
    sums: FxHashMap<(InstructionId, InstructionId, usize), CarriedBytes>,
}

impl Observer for Carrier<'_> {
    fn begin(&mut self, step: &Step) {
        self.nests.begin(step);
    }

    fn communication(&mut self, c: &Communication) {
        let Some(write) = c.write else { return };
        let Some(found) = self.nests.since(write.access.seq).last() else { return };
        if found.is_earlier(write.access.seq) && write.access.thread == c.read.thread {
            let pair = (write.access.instruction, c.read.instruction, found.number);
            let sum = self.sums.entry(pair).or_default();
            let register = c.bytes.first.space.is_register();
            *(if register { &mut sum.register } else { &mut sum.memory }) +=
                i64::from(c.bytes.size);
        }
    }
}

/// Dataflow from one iteration of a loop to a later one: the write lies after the loop was entered
/// and before the iteration of the read began. At most one loop carries a communication; writes and
/// reads of functions called in the loop count.
pub fn carried(
    code: &Code,
    connection: &Connection,
    flow: &ControlFlow,
) -> Result<Carried, ReplayError> {
    let nests = Nests::new(code, flow, |_| true).with_all_callers(connection)?;
    let mut carrier = Carrier { nests, sums: FxHashMap::default() };
    observe(code, connection, code.last, &mut carrier)?;
    Ok(carrier.sums.into_iter().collect())
}
