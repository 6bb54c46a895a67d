//! What the kernel's accesses are named by, as the events of a stream tell it.

use super::bytes::Bytes;
use super::descriptors::Names;
use super::events::{Common, Events};
use crate::event::{Event, Isa, Process};

/// What is told of system calls and descriptors, up to now.
pub struct KernelSources {
    events: Events,
    process: Process,
}

impl KernelSources {
    pub fn new(isa: Isa) -> KernelSources {
        KernelSources { events: Events::new(isa, Common::default()), process: Process::default() }
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

    /// What it has in common with other processes: is to be where events are taken.
    pub fn names(&mut self) -> &mut Names {
        self.events.names()
    }

    /// The process, as far as it is known.
    pub fn process(&self) -> &Process {
        &self.process
    }
}
