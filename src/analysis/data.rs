//! The state that accesses change: of a thread, and of all threads together.

use super::access::SaveRule;
pub use super::activation::{Activation, Calls};
use super::by_context::ByContext;
use super::calls::CallSet;
use super::contexts::{Live, StepContexts};
use super::flows::HandOut;
use super::forks::Forks;
use super::levels::{Kept, Levels};
use super::memory::Memory;
use super::origin::Sources;
use super::outlived::Switches;
use super::place::SectionRange;
use super::read_part::ReadScratch;
use super::recorded_range::RecordedRange;
use super::register_window::{RegisterWindow, Writers};
use super::saves::Saves;
use super::shadow::Registers;
use super::stack::{Numbers, Stack};
use super::stacks::Running;
use super::stubs::Stubs;
use super::sums::{Mark, Sums};
use super::transfer::Previous;
use super::{Details, Options, Output};
use crate::id::ThreadId;
use std::collections::VecDeque;

/// A thread: its registers and call stack.
pub struct Thread {
    pub calls: Calls,
    /// The context of each live instance.
    pub contexts: Vec<Live>,
    pub registers: Registers,
    /// What the registers do not have yet.
    pub recent: RegisterWindow,
    /// By whom, where more than sums of functions is asked.
    pub writers: Box<Writers>,
    /// Where addresses of its registers are marked.
    pub mark: Mark,
    pub previous: Option<Previous>,
    pub levels: Levels,
    /// Registers as they were when signals were delivered whose handlers have not ended, with the numbers of these, the oldest first.
    pub signals: VecDeque<(u64, Vec<Kept>)>,
    pub running: Running,
    pub steps: u64,
}

impl Thread {
    pub fn new(id: ThreadId, register_bytes: usize) -> Thread {
        Thread {
            calls: Stack::new(id),
            contexts: Vec::new(),
            registers: Registers::new(register_bytes),
            recent: RegisterWindow::default(),
            writers: Box::default(),
            mark: Mark::registers(id.index()),
            previous: None,
            levels: Levels::default(),
            signals: VecDeque::new(),
            running: Running::default(),
            steps: 0,
        }
    }
}

/// What all threads share.
pub struct Data<O> {
    pub options: Options,
    pub output: O,
    pub numbers: Numbers,
    pub memory: Memory,
    pub sums: Sums,
    pub hand_out: HandOut,
    pub stubs: Stubs,
    pub contexts: StepContexts,
    pub by_context: ByContext,
    pub kept: RecordedRange,
    pub saves: Saves,
    /// What handlers saved for other instances of theirs.
    pub switches: Switches,
    /// Instances that have ended.
    pub ended: CallSet,
    /// Names of what is outside of the program.
    pub sources: Sources,
    /// What processes begin with.
    pub forks: Forks,
    /// Writes of the kernel so far.
    pub kernel_writes: u64,
    /// First stack pointer of the process's first thread.
    pub first_sp: Option<u64>,
    /// Of the first process, once there is another.
    pub trace_first_sp: Option<u64>,
    pub scratch: ReadScratch,
    /// Versions of registers that were recent.
    recent_versions: u64,
}

impl<O: Output> Data<O> {
    pub fn new(output: O, options: Options, sections: Vec<SectionRange>) -> Data<O> {
        Data {
            options,
            output,
            numbers: Numbers::default(),
            memory: Memory::new(sections),
            sums: Sums::new(options.actors(), options.sums),
            hand_out: HandOut::default(),
            stubs: Stubs::default(),
            contexts: StepContexts::default(),
            by_context: if options.gives_instances() && options.sums {
                ByContext::begin()
            } else {
                ByContext::default()
            },
            kept: RecordedRange::default(),
            saves: Saves::default(),
            switches: Switches::default(),
            ended: CallSet::default(),
            sources: Sources::default(),
            forks: Forks::default(),
            kernel_writes: 0,
            first_sp: None,
            trace_first_sp: None,
            scratch: ReadScratch::default(),
            recent_versions: 0,
        }
    }

    /// The thread's registers are to be what they are: something else than the instance on top needs
    /// them.
    #[inline]
    pub fn settle(&mut self, thread: &mut Thread) {
        let Thread { calls, contexts, registers, recent, writers, .. } = thread;
        let Some(top) = calls.top().filter(|_| !recent.is_empty()) else { return };
        if self.options.gives_instances() {
            recent.settle_by(registers, top.call, writers);
        } else {
            let actor = contexts.last().map_or(top.function, |live| live.actor);
            let writer = (top.call, actor.into());
            recent.settle(registers, writer, &mut self.recent_versions);
        }
    }

    #[inline]
    pub fn saves_are_literal(&self) -> bool {
        self.options.saves == SaveRule::Literal
    }

    #[inline]
    pub fn gives_local(&self) -> bool {
        self.options.details == Details::Local
    }

    /// All reads of the segment that runs give rows.
    #[inline]
    pub fn gives_all(&self) -> bool {
        self.gives_local() && self.kept.now()
    }
}
