//! What the kernel's accesses are named by, as the events of a stream tell it.

use super::bytes::Bytes;
use super::events::{Common, Events};
use crate::event::Isa;

/// What is told of system calls and descriptors, up to now.
pub struct KernelSources(Events);

impl KernelSources {
    pub fn new(isa: Isa) -> KernelSources {
        KernelSources(Events::new(isa, Common::default()))
    }

    /// An event of a stream. False: it is not as the format has it.
    pub fn event(&mut self, kind: u8, payload: &[u8]) -> bool {
        self.0.take(kind, Bytes(payload), &mut |_| ()).is_ok()
    }

    /// What the thread's open system call reads from or writes to; `structure`: of what is no data of it.
    pub fn name(&self, structure: bool) -> Box<str> {
        self.0.source(structure).unwrap_or_else(|| "<kernel>".into())
    }
}
