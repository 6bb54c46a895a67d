//! The exceptions of a thread that are open, and the tasks that wait: what [`super::exceptions`] works
//! with.

use super::activation::Calls;
use super::contexts::Live;
use super::shadow::{AccessId, Cell, Registers};
use super::transfer::{Back, Previous, resumes, unwinds_to};
use crate::event::{ExceptionEntry, RegSpan};
use crate::id::{CallId, FunctionId};
use crate::isa::FlowKind;

/// What was interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    pub previous: Option<Previous>,
    /// The handler that was interrupted, if it had begun; None: it is none that was.
    pub handler: Handler,
    /// Where it is to go on, and the frame of its registers, as far as the trace tells.
    pub resume: Option<u64>,
    pub frame: Option<u64>,
    /// Registers that the processor gives back.
    pub kept: Vec<Kept>,
    /// Number of the exception, over all threads.
    pub number: u64,
    /// Number of the exception that has interrupted what is in the registers now.
    pub task: u64,
    /// Its handler has put that there.
    pub restored: bool,
    /// The pieces of a register that its handler has saved since, and the versions in them.
    pub saved: Vec<(RegSpan, AccessId)>,
}

/// Bytes of a register as they were when the processor kept them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Place in the frame, in words.
    pub word: u64,
    pub span: RegSpan,
    pub cell: Cell,
    pub readers: Vec<u32>,
    /// Store of the live save of this version.
    pub pending: AccessId,
}

impl Kept {
    pub fn forget_readers(&mut self) {
        self.cell = self.cell.unread();
        self.readers.clear();
    }
}

/// What runs in a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handler {
    /// No exception's handler.
    #[default]
    None,
    /// One that is to begin with the next step.
    Next,
    /// Depth of its call instance, and the first one there: jumps to other functions replace it.
    Begun(usize, CallId),
}

/// A task that waits.
pub struct Task {
    pub calls: Calls,
    pub contexts: Vec<Live>,
    pub open: Vec<Interrupted>,
    pub interrupted: Interrupted,
}

impl Task {
    /// Whether it may go on there.
    pub fn fits(&mut self, there: (u64, Option<FunctionId>)) -> Fit {
        self.interrupted.goes_on(there, usize::MAX, &mut self.calls)
    }
}

/// The exceptions of a thread that are open, and its tasks that wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels<T = Task> {
    /// What each has interrupted, the oldest first.
    pub open: Vec<Interrupted>,
    pub handler: Handler,
    /// Depth of the oldest handler that has ended since the last step.
    pub ended: Option<usize>,
    /// What goes on with the next step.
    pub resumed: Option<Interrupted>,
    /// The frame that the processor took back for it.
    pub frame: Option<u64>,
    /// A kernel has ended the handler, of a signal, which the trace does not show: it keeps all registers.
    pub by_kernel: bool,
    pub waiting: Vec<T>,
    /// What has gone on last, as it was interrupted: another task may wait at the same place.
    pub taken_for: Option<Interrupted>,
    /// Times that control went to another task, or out of a handler like out of any function.
    pub irregular: u64,
}

impl<T> Default for Levels<T> {
    fn default() -> Levels<T> {
        Levels {
            open: Vec::new(),
            handler: Handler::None,
            ended: None,
            resumed: None,
            frame: None,
            by_kernel: false,
            waiting: Vec::new(),
            taken_for: None,
            irregular: 0,
        }
    }
}

impl<T> Levels<T> {
    /// The next step is to be seen to by [`Machine::change_level`].
    #[inline]
    pub fn is_changed(&self) -> bool {
        self.resumed.is_some() || self.ended.is_some()
    }

    /// A handler begins with the next step.
    #[inline]
    pub fn enters(&self) -> bool {
        self.handler == Handler::Next
    }

    /// The same with other tasks.
    pub fn with<U>(&self, waiting: Vec<U>) -> Levels<U> {
        let Levels { open, handler, ended, resumed, frame, by_kernel, taken_for, .. } = self;
        Levels {
            open: open.clone(),
            handler: *handler,
            ended: *ended,
            resumed: resumed.clone(),
            frame: *frame,
            by_kernel: *by_kernel,
            waiting,
            taken_for: taken_for.clone(),
            irregular: 0,
        }
    }
}

impl Levels {
    /// No exception is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// An exception is taken.
    pub fn enter(
        &mut self,
        entry: &ExceptionEntry,
        previous: Option<Previous>,
        kept: Vec<Kept>,
        number: u64,
    ) {
        // What had just been returned to has not run: it is what this one interrupts, too.
        let before = self.resumed.take();
        // What is known of the registers behind the step is the handler's.
        let previous = previous.or(before.as_ref().and_then(|b| b.previous));
        let previous = previous.map(|p| Previous { slot: None, linked: false, ..p });
        let of =
            before.as_ref().map_or((number, number, false), |b| (b.number, b.task, b.restored));
        let (number, task, restored) = of;
        // It may lie in the frame of another task, to which the handler before was to go back.
        let frame = before.as_ref().and_then(|b| b.frame).or(entry.frame);
        self.open.push(Interrupted {
            previous,
            handler: self.handler,
            resume: entry.resume.or(before.and_then(|b| b.resume)),
            frame,
            kept,
            number,
            task,
            restored,
            saved: Vec::new(),
        });
        self.handler = Handler::Next;
    }

    /// The innermost handler has ended, if there is one.
    pub fn leave(&mut self, frame: Option<u64>, previous: &mut Option<Previous>) {
        let Some(interrupted) = self.open.pop() else { return };
        if let Handler::Begun(depth, _) = self.handler {
            self.ended = Some(depth);
        }
        self.handler = interrupted.handler;
        self.frame = frame;
        self.by_kernel = match self.resumed {
            Some(_) => self.by_kernel,
            None => previous.as_ref().is_some_and(|p| p.last.kind == FlowKind::Syscall),
        };
        // Behind the handler's last step the stack pointer is as behind the step that was interrupted.
        let slot = previous.as_ref().and_then(|last| last.slot);
        *previous = interrupted.previous.map(|p| Previous { slot, ..p });
        self.resumed = Some(interrupted);
    }

    /// Whether what was interrupted goes on there, where a frame was taken back, and not another task.
    pub fn goes_on(
        &mut self,
        interrupted: &Interrupted,
        frame: Option<u64>,
        there: (u64, Option<FunctionId>),
        calls: &mut Calls,
    ) -> bool {
        if let (Some(taken), Some(stored)) = (frame, interrupted.frame) {
            return taken == stored;
        }
        // Handlers that have ended are still on top of what they interrupted.
        let depth = self.ended.unwrap_or(usize::MAX);
        let own = interrupted.goes_on(there, depth, calls);
        let mut others = || self.waiting.iter_mut().any(|task| task.fits(there) == Fit::Exact);
        match interrupted.restored && !self.by_kernel {
            true => interrupted.task == interrupted.number && own > Fit::No,
            false => own == Fit::Exact || own > Fit::No && !others(),
        }
    }

    /// A step has been arrived at: handlers that control has left like any function are no more.
    pub fn arrived(&mut self, calls: &Calls) {
        if self.handler == Handler::Next
            && let Some(top) = calls.top()
        {
            self.handler = Handler::Begun(calls.frames().len() - 1, top.call);
        }
        while let Handler::Begun(depth, _) = self.handler
            && depth >= calls.frames().len()
            && let Some(interrupted) = self.open.pop()
        {
            self.handler = interrupted.handler;
            self.irregular += 1;
        }
    }

    /// What is not known any more.
    pub fn forget(&mut self) {
        let irregular = self.irregular;
        *self = Levels { irregular, ..Levels::default() };
    }
}

/// Whether what was interrupted may go on at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    No,
    /// Its last step goes to where the trace does not say.
    Possible,
    Exact,
}

impl Interrupted {
    /// The handler has restored registers that were saved at this exception.
    pub fn take(&mut self, number: u64) {
        (self.task, self.restored) = (number, true);
        self.saved.clear();
    }

    /// The handler has ended: where it has saved registers and has others there, which nobody has saved, they
    /// are a new task's. `number`: to be that of its beginning.
    pub fn settle(&mut self, registers: &mut Registers, number: u64) {
        let mut is_there = true;
        for (span, version) in self.saved.drain(..) {
            registers.visit(span, |_, _, _, cell| is_there &= cell.write == version);
        }
        if !is_there {
            (self.task, self.restored) = (number, true);
        }
    }

    /// Whether it may go on there, in a function if that is known. `depth`: of the handler, if it is among the calls.
    pub fn goes_on(
        &self,
        (there, function): (u64, Option<FunctionId>),
        depth: usize,
        calls: &mut Calls,
    ) -> Fit {
        let Some(previous) = self.previous else { return Fit::Possible };
        let last = previous.last;
        let exact = |fits: bool| if fits { Fit::Exact } else { Fit::No };
        if let Some(resume) = self.resume {
            // The handler of a system call, a trap or a fault may pass over it.
            let passed =
                matches!(last.kind, FlowKind::Syscall | FlowKind::Trap | FlowKind::Unknown)
                    || resume == last.address;
            return exact(there & !1 == resume & !1 || passed && last.falls_to(there));
        }
        if resumes(&last).contains(&there) {
            return Fit::Exact;
        }
        let indirect = last.executed && last.target.is_none();
        match last.kind {
            FlowKind::Return if indirect => {
                let frames = &calls.frames()[..depth.min(calls.frames().len())];
                let unknown = Previous { slot: None, ..previous };
                let possible = calls.frames().len() < 2
                    || function.is_none_or(|function| {
                        unknown.returns_into_caller(function, frames)
                            || unwinds_to(&unknown, function, frames).is_some()
                    });
                exact(calls.newest(Back::Return(there), |_| true).is_some()).max(if possible {
                    Fit::Possible
                } else {
                    Fit::No
                })
            }
            FlowKind::Jump | FlowKind::Call if indirect => Fit::Possible,
            FlowKind::ExceptionReturn | FlowKind::Unknown => Fit::Possible,
            _ => Fit::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was interrupted goes on where the trace says, whichever bit tells the instruction set.
    #[test]
    fn an_interrupted_step_goes_on_where_it_is_told() {
        use super::super::block::Last;
        let last = |kind| Last {
            address: 0x100,
            next: 0x104,
            kind,
            target: None,
            conditional: false,
            repeats: false,
            executed: true,
            insn: crate::id::InstructionId::FIRST,
            slot: None,
        };
        let previous = |kind| Previous {
            last: last(kind),
            slot: None,
            linked: false,
            links: false,
            called: false,
        };
        let fit = |kind, resume, there| {
            let interrupted =
                Interrupted { previous: Some(previous(kind)), resume, ..Interrupted::default() };
            let there = (there, Some(FunctionId::FIRST));
            interrupted.goes_on(there, usize::MAX, &mut Calls::new(crate::id::ThreadId::FIRST))
        };
        for (resume, there, expected) in [
            (0x102, 0x102, Fit::Exact),
            (0x103, 0x102, Fit::Exact),
            (0x102, 0x103, Fit::Exact),
            (0x102, 0x100, Fit::No),
            (0x100, 0x102, Fit::No),
            // A fault, whose handler may pass over the step.
            (0x100, 0x104, Fit::Exact),
            (0x104, 0x108, Fit::No),
        ] {
            assert_eq!(fit(FlowKind::Next, Some(resume), there), expected, "{resume:x} {there:x}");
        }
        // The handler of a system call may pass over it.
        assert_eq!(fit(FlowKind::Syscall, Some(0x100), 0x104), Fit::Exact);
        assert_eq!(fit(FlowKind::Syscall, Some(0x100), 0x108), Fit::No);
        // If it is not told: at the step itself or behind it, or anywhere if that is not known.
        for (there, expected) in [(0x100, Fit::Exact), (0x104, Fit::Exact), (0x108, Fit::No)] {
            assert_eq!(fit(FlowKind::Next, None, there), expected, "{there:x}");
        }
        assert_eq!(fit(FlowKind::Jump, None, 0x108), Fit::Possible);
        assert_eq!(fit(FlowKind::Unknown, None, 0x108), Fit::Possible);
        assert_eq!(fit(FlowKind::Return, None, 0x108), Fit::Possible);
        let nothing = Interrupted::default();
        assert_eq!(
            nothing.goes_on(
                (0x100, Some(FunctionId::FIRST)),
                usize::MAX,
                &mut Calls::new(crate::id::ThreadId::FIRST)
            ),
            Fit::Possible
        );
    }
}
