//! What the kernel's accesses are named by, as the events of a stream tell it.

use super::bytes::Bytes;
use super::descriptors::Names;
use super::events::{Common, Events};
use super::shared::{Files, Shared};
use crate::diagnostics::Diagnostic;
use crate::event::{Event, Isa, Process};

/// What is told of system calls and descriptors, up to now.
pub struct KernelSources {
    events: Events,
    process: Process,
}

impl KernelSources {
    /// Of the process with this number.
    pub fn new(isa: Isa, process: u32) -> KernelSources {
        let common = Common { shared: Shared::of_process(process), ..Common::default() };
        KernelSources { events: Events::new(isa, common), process: Process::default() }
    }

    /// An event of a stream; `tell` gets what it completes. False: it is not as the format has it.
    pub fn event(&mut self, kind: u8, payload: &[u8], mut tell: impl FnMut(Event)) -> bool {
        let process = &mut self.process;
        let tell = &mut |event| {
            if let Event::Process(of) = &event {
                *process = (**of).clone();
            }
            tell(event);
        };
        self.events.take(kind, Bytes(payload), tell).is_ok()
    }

    /// What the thread's open system call reads from or writes to; `structure`: of what is no data of it.
    pub fn name(&self, structure: bool) -> Box<str> {
        self.events.source(structure).unwrap_or_else(|| "<kernel>".into())
    }

    /// Whether that is the name of all accesses of this call, and the argument of the call that it depends on while
    /// descriptors are open on what they are.
    pub fn depends(&self, structure: bool) -> Option<Option<usize>> {
        self.events.depends(structure)
    }

    /// Takes what it has in common with other processes, which is to be where events are taken.
    pub fn take_common(&mut self) -> (Names, Files) {
        let names = std::mem::take(self.events.names());
        (names, std::mem::take(&mut self.events.shared.files))
    }

    /// Goes on with what another process had in common with this one.
    pub fn put_common(&mut self, (names, files): (Names, Files)) {
        *self.events.names() = names;
        self.events.shared.files = files;
    }

    /// What is said of the run's processes beside that: what they did that is not followed.
    pub fn said<'a>(all: impl Iterator<Item = &'a Self> + Clone) -> Vec<Diagnostic> {
        let unknown = all.clone().map(|of| &of.events.unknown);
        let rings = super::rings(unknown.clone().map(|of| of.rings).sum());
        let vforks = super::vforks(unknown.map(|of| of.vforks).sum());
        // Of several, the others were recorded, too.
        let only = all.clone().next().filter(|_| all.count() == 1);
        let exec = only.and_then(|of| of.events.exec()).map(|to| super::became(to, String::new()));
        rings.into_iter().chain(vforks).chain(exec).collect()
    }

    /// That others may write to its memory, if so.
    pub fn shared_memory(&self) -> Option<String> {
        let by_several = self.events.shared.by_several.as_deref();
        by_several.or(self.events.unknown.memory.as_deref()).map(super::shared_memory)
    }

    /// The process, as far as it is known.
    pub fn process(&self) -> &Process {
        &self.process
    }
}
