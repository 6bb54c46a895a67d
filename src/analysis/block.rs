//! What is known of a block before it runs: how it ends, and the segments that it consists of.

use super::access::{Access, AccessPlace, Insn, SaveRule, accesses};
use super::segment::{self, Purpose, Segment};
use crate::event::{BlockDef, InsnDef};
use crate::id::InstructionId;
use crate::isa::FlowKind;

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    pub address: u64,
    pub next: u64,
    pub kind: FlowKind,
    pub target: Option<u64>,
    pub conditional: bool,
    pub repeats: bool,
    pub executed: bool,
    pub insn: InstructionId,
    /// Address index of the return-address slot that a call stores or a return loads.
    pub slot: Option<u32>,
}

impl Last {
    fn new(def: &BlockDef, insns: &[Insn], list: &[Access]) -> Last {
        let step = def.steps[def.steps.len() - 1];
        let Insn { def: InsnDef { address, .. }, decoded, .. } = &insns[step.insn as usize];
        let flow = decoded.flow;
        let is_slot = |a: &&Access| match flow.kind {
            FlowKind::Call => a.is_write && a.stack_relative,
            FlowKind::Return => !a.is_write && a.is_control,
            _ => false,
        };
        let here = list.iter().rev().take_while(|a| a.step as usize + 1 == def.steps.len());
        let memory = |a: &Access| match a.place {
            AccessPlace::Memory(m) => Some(m),
            AccessPlace::Register(_) => None,
        };
        Last {
            address: *address,
            next: address.wrapping_add(u64::from(decoded.size)),
            kind: flow.kind,
            target: flow.target,
            conditional: flow.conditional,
            repeats: flow.repeats,
            executed: step.executed,
            insn: InstructionId::at(step.insn as usize),
            slot: here.filter(is_slot).find_map(memory),
        }
    }

    /// Control that goes from here to `there` only falls through, or runs the instruction again.
    #[inline]
    pub fn falls_to(&self, there: u64) -> bool {
        there == self.next || (self.repeats && there == self.address)
    }

    /// Control may go from here to `there` without anything unexpected.
    #[inline]
    pub fn jumps_to(&self, there: u64) -> bool {
        match self.kind {
            FlowKind::Jump | FlowKind::Call | FlowKind::Return | FlowKind::ExceptionReturn => {
                self.executed && self.target.is_none_or(|a| a == there)
            }
            FlowKind::Unknown => true,
            FlowKind::Next | FlowKind::Syscall | FlowKind::Trap => false,
        }
    }
}

/// A block ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub steps: u32,
    pub mem: u32,
    /// Register writes of 8 bytes or less: values that each run has, where the trace has any.
    pub register_values: usize,
    pub first_address: u64,
    pub segments: Vec<Segment>,
    /// Cut after each load that may be a restore and feeds reads in its segment; empty if there is
    /// none.
    careful: Vec<Segment>,
    /// Registers of those loads.
    hazard_mask: u64,
    /// The block itself may save such a register before.
    always_careful: bool,
    pub last: Last,
}

impl Prepared {
    /// Of a block that has not run yet.
    pub fn later() -> Prepared {
        Prepared {
            steps: 0,
            mem: 0,
            register_values: 0,
            first_address: 0,
            segments: Vec::new(),
            careful: Vec::new(),
            hazard_mask: 0,
            always_careful: false,
            last: Last {
                address: 0,
                next: 0,
                kind: FlowKind::Unknown,
                target: None,
                conditional: false,
                repeats: false,
                executed: false,
                insn: InstructionId::FIRST,
                slot: None,
            },
        }
    }

    /// `insns`: the dictionary of instructions.
    pub fn new(def: &BlockDef, insns: &[Insn], purpose: Purpose) -> Prepared {
        let mut list = Vec::new();
        accesses(def, |i| &insns[i as usize].decoded, |a| list.push(a));
        let segments = segment::cut(def, insns, &list, segment::Cut::AtFunctions, purpose);
        let hazard_mask = match purpose.saves {
            SaveRule::Literal => 0,
            SaveRule::Transparent => segments.iter().fold(0, |m, s| m | s.hazard_mask),
        };
        let save_mask = segments.iter().fold(0, |m, s| m | s.save_mask);
        let careful = match hazard_mask {
            0 => Vec::new(),
            _ => segment::cut(def, insns, &list, segment::Cut::AtRestores, purpose),
        };
        Prepared {
            steps: def.steps.len() as u32,
            mem: def.mem.len() as u32,
            register_values: list.iter().filter(|a| a.value.is_some()).count(),
            first_address: insns[def.steps[0].insn as usize].def.address,
            careful,
            segments,
            hazard_mask,
            always_careful: hazard_mask & save_mask != 0,
            last: Last::new(def, insns, &list),
        }
    }

    /// The segments to run, where the instance has live saves of these registers.
    #[inline]
    pub fn segments_for(&mut self, saved: u64) -> &mut [Segment] {
        let careful =
            self.hazard_mask != 0 && (self.always_careful || self.hazard_mask & saved != 0);
        if careful { &mut self.careful } else { &mut self.segments }
    }

    /// The segments of both cuts.
    pub fn all_segments(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().chain(&self.careful)
    }

    /// How often it ran.
    pub fn count(&self) -> u64 {
        self.segments.first().into_iter().chain(self.careful.first()).map(Segment::runs).sum()
    }
}
