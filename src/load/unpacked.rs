//! A packed run as the pass takes it: chunks as batches, with what the code of the run says at the
//! events between them.

use super::pass::processor;
use crate::analysis::pass::Pass;
use crate::analysis::place::SectionRange;
use crate::analysis::{self, CodeMap, Output};
use crate::event::{Event, RunBatch, RunEnd};
use crate::id::FunctionId;
use crate::store::chunk::{ChunkError, Runs};
use crate::store::run_code::{FunctionTraits, RunCode};
use std::collections::BTreeSet;
use std::ops::Range;

/// Functions as the code has them.
pub(super) struct Known {
    functions: Vec<FunctionTraits>,
    /// Of each instruction, in the order in which the pass is told of them.
    of_instructions: std::vec::IntoIter<FunctionId>,
    inside: BTreeSet<FunctionId>,
}

impl CodeMap for Known {
    fn function_at(&mut self, _: u64) -> FunctionId {
        // It is asked once for each instruction.
        self.of_instructions.next().unwrap_or(FunctionId::FIRST)
    }
    fn entry(&self, function: FunctionId) -> Option<u64> {
        self.functions[function.index()].entry
    }
    fn is_stub(&self, function: FunctionId) -> bool {
        self.functions[function.index()].stub
    }
    fn is_through(&self, function: FunctionId) -> bool {
        self.functions[function.index()].through
    }
    fn is_kept(&self, function: FunctionId) -> bool {
        self.inside.contains(&function)
    }
}

/// What the events so far have used up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Of the sections of mappings.
    pub mapped: usize,
    /// Of the processes.
    pub processes: usize,
}

/// A pass that a run is gone through with again.
pub(super) struct Replayed<O> {
    pub pass: Pass<Known, O>,
    sections: Vec<SectionRange>,
    placed: Vec<Vec<SectionRange>>,
    first_stack_pointers: Vec<Option<u64>>,
    first_threads: Vec<u32>,
    threads: usize,
    pub used: Used,
}

impl<O: Output> Replayed<O> {
    /// `threads`: how many the run has; `inside`: see [`CodeMap::is_kept`]; `later`: blocks are
    /// prepared when they run.
    pub fn new(
        mut code: RunCode,
        threads: usize,
        options: analysis::Options,
        inside: &BTreeSet<FunctionId>,
        output: O,
        later: bool,
    ) -> Self {
        let known = Known {
            functions: std::mem::take(&mut code.functions),
            of_instructions: code.insns.iter().map(|i| i.function).collect::<Vec<_>>().into_iter(),
            inside: inside.clone(),
        };
        let sections = code.sections;
        let processor = processor(code.isa);
        let mut pass = Pass::new(known, output, options, sections.clone(), processor);
        if !inside.is_empty() {
            pass.kept().only_inside();
        }
        code.insns.into_iter().for_each(|insn| pass.add_insn(insn.def, insn.decoded));
        for block in code.blocks {
            if later {
                pass.add_block_later(block);
            } else {
                pass.add_block(block);
            }
        }
        let mut replayed = Replayed {
            pass,
            sections,
            placed: code.placed,
            first_stack_pointers: code.first_stack_pointers,
            first_threads: code.first_threads,
            threads,
            used: Used::default(),
        };
        replayed.begin_process();
        replayed
    }

    fn begin_process(&mut self) {
        let found = self.first_stack_pointers.get(self.used.processes).copied().flatten();
        self.used.processes += 1;
        self.pass.set_first_stack_pointer(found);
    }

    /// All sections so far.
    pub fn sections(&self, used: Used) -> Vec<SectionRange> {
        let placed = self.placed.iter().take(used.mapped).flatten();
        self.sections.iter().chain(placed).cloned().collect()
    }

    /// A chunk, cut where processes begin; `push` is to push each part of it.
    pub fn chunk(
        &mut self,
        mut runs: Runs,
        push: &mut dyn FnMut(&mut Pass<Known, O>, &RunBatch),
    ) -> Result<(), ChunkError> {
        let mut events = std::mem::take(&mut runs.events).into_iter().peekable();
        let (all, mut from) = (runs.start.len(), 0);
        loop {
            let (mut here, mut to) = (Vec::new(), all);
            while let Some((at, event)) = events.peek() {
                if *event == Event::ProcessStart {
                    if *at > from || !here.is_empty() {
                        to = *at;
                        break;
                    }
                    // There are as many as processes but the first.
                    let first = self.first_threads.get(self.used.processes - 1).copied();
                    self.pass.next_process(first.unwrap_or(0));
                    self.begin_process();
                }
                here.extend(events.next().map(|(at, event)| ((at - from) as u32, event)));
            }
            let is_all = from == 0 && to == all && events.peek().is_none();
            let batch = self.batch(&mut runs, (from..to, is_all), here)?;
            for (_, event) in &batch.events {
                if matches!(event, Event::ImageMap(_) | Event::Device(_)) {
                    let sections = self.placed.get(self.used.mapped).cloned().unwrap_or_default();
                    self.used.mapped += 1;
                    self.pass.place_when_mapped(sections);
                }
            }
            push(&mut self.pass, &batch);
            from = to;
            if from == all && events.peek().is_none() {
                return Ok(());
            }
        }
    }

    /// Some runs of a chunk as the pass takes them; `is_all`: nobody needs the chunk any more.
    fn batch(
        &mut self,
        runs: &mut Runs,
        (range, is_all): (Range<usize>, bool),
        events: Vec<(u32, Event)>,
    ) -> Result<RunBatch, ChunkError> {
        // The pass makes the threads of these; of other events, a thread may have no steps.
        let begins = |event: &Event| match event {
            Event::ExceptionEntry(entry) => (entry.thread as usize) < self.threads,
            _ => true,
        };
        let mut known = events.iter().all(|(_, event)| begins(event));
        known &= runs.thread[range.clone()].iter().all(|t| (*t as usize) < self.threads);
        if !known {
            return Err(ChunkError::Damaged("a thread that the run does not have"));
        }
        let time = runs.times_of(range.clone()).to_vec();
        let mut batch = RunBatch { time, events, ..RunBatch::default() };
        for run in range.clone() {
            self.pass.need(runs.block[run]);
            let block = self.pass.blocks.get(runs.block[run] as usize);
            let block = block.ok_or(ChunkError::Damaged("a block that the code does not have"))?;
            let (memory, steps) = (block.mem as usize, block.steps as usize);
            let next = runs.start.get(run + 1).copied();
            let steps_fit = next.is_none_or(|next| next - runs.start[run] == steps as u64);
            let times = runs.times(run).len();
            if runs.addresses(run).len() != memory || !steps_fit || (times > 0 && times != steps) {
                return Err(ChunkError::Damaged("a run that its block does not fit"));
            }
            if runs.has_values() {
                let (values, all) = (runs.values(run), memory + block.register_values);
                let of = |i: usize| values.get(i).copied().flatten();
                batch.values.extend((0..memory).map(of));
                batch.register_values.extend((memory..all).map(of));
            }
        }
        let ends = runs.ends().get(range.clone()).unwrap_or_default();
        if ends.iter().any(|(sp, linked)| sp.is_some() || linked.is_some()) {
            let end = |&(sp, linked): &(Option<u64>, Option<bool>)| RunEnd {
                sp,
                linked: linked == Some(true),
                destination: None,
            };
            batch.end = ends.iter().map(end).collect();
        }
        if is_all {
            batch.block = std::mem::take(&mut runs.block);
            batch.thread = std::mem::take(&mut runs.thread);
            batch.addresses = std::mem::take(&mut runs.address);
        } else {
            batch.block = runs.block[range.clone()].to_vec();
            batch.thread = runs.thread[range.clone()].to_vec();
            let addresses = runs.address_at[range.start]..runs.address_at[range.end];
            batch.addresses = runs.address[addresses].to_vec();
        }
        Ok(batch)
    }
}
