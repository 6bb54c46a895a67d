//! The pass as builds use it.

use super::code::Functions;
use super::rows::PassRows;
use crate::analysis::pass::{FrameSlot, Pass, Processor};
use crate::event::{Isa, Keeps};
use crate::isa::{self, system_call::handler_names};
use crate::store::table::Batch;

/// Sends to the writer's thread. That it has ended is seen when it is joined.
pub type Send<'a> = Box<dyn FnMut(Batch) + 'a>;

/// The pass as builds use it.
pub type BuildPass<'a> = Pass<Functions, PassRows<Send<'a>>>;

/// What the pass has to know of a processor.
pub(super) fn processor(isa: Isa) -> Processor {
    let registers = isa::registers(isa);
    let slot = match registers.link {
        Some(_) => FrameSlot::StackPointer,
        None => FrameSlot::ReturnSlot { bytes: if isa == Isa::X86 { 4 } else { 8 } },
    };
    let spans = |keeps: Keeps| {
        let words = (0..).zip(keeps.registers());
        words.filter_map(|(word, name)| Some((word, registers.lookup(name)?))).collect()
    };
    let (link, frame, long) =
        (registers.lookup("lr"), spans(Keeps::Frame), spans(Keeps::LongFrame));
    let fast = if isa == Isa::Arm { spans(Keeps::Fast) } else { Vec::new() };
    let given = handler_names(isa).iter().filter_map(|name| registers.lookup(name)).collect();
    Processor { register_bytes: registers.size, slot, link, frame, long, fast, given }
}
