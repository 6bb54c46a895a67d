//! Exceptions of ARM's M profile: the processor itself stores the interrupted registers on the
//! stack and loads them again. Dumps show it by the number in the status register, the stack
//! pointer, and the link register (EXC_RETURN).
//!
//! Source: ARMv7-M Architecture Reference Manual, B1.5.6 to B1.5.8.

use crate::event::{Event, KernelAccess, SystemCall};

/// Number of the exception in the status register.
pub const NUMBER: u64 = 0x1ff;
/// Bits of EXC_RETURN: the frame has no floating-point registers; it is on the process stack.
const BASIC_FRAME: u64 = 1 << 4;
const PROCESS_STACK: u64 = 1 << 2;
/// Bytes of a frame.
const BASIC: u64 = 32;
const EXTENDED: u64 = 104;

/// What a dump says of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Number of the exception, 0: none.
    pub number: u64,
    pub sp: u64,
    pub lr: u64,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    address: u64,
    bytes: u64,
    /// Stack pointer at the handler's first instruction.
    sp: u64,
}

/// The exceptions of a CPU that have not ended.
#[derive(Default)]
pub struct Exceptions {
    before: State,
    frames: Vec<Frame>,
}

impl Exceptions {
    /// What happened between the dump before and this one.
    pub fn step(&mut self, thread: u32, now: State) -> Vec<Event> {
        let before = std::mem::replace(&mut self.before, now);
        if before.number == now.number {
            return Vec::new();
        }
        let ended = Event::SignalEnded { thread };
        let number = u32::try_from(now.number).unwrap_or(u32::MAX);
        let delivered = Event::SignalDelivered { thread, number };
        match self.frames.last() {
            // The next one begins where the last has ended, with its frame.
            Some(frame) if now.number != 0 && frame.sp == now.sp => vec![ended, delivered],
            Some(&frame) if now.sp > frame.sp || now.number == 0 => {
                self.frames.pop();
                vec![access(thread, "exception return", frame, false), ended]
            }
            _ => {
                let frame = frame(before, now);
                self.frames.push(frame);
                vec![access(thread, "exception entry", frame, true), delivered]
            }
        }
    }
}

fn frame(before: State, now: State) -> Frame {
    let bytes = if now.lr & BASIC_FRAME == 0 { EXTENDED } else { BASIC };
    let on_process_stack = now.lr & PROCESS_STACK != 0;
    // The process stack is aligned to 8 bytes; the handler's own begins at the frame.
    let address = if on_process_stack { before.sp.wrapping_sub(bytes) & !7 } else { now.sp };
    Frame { address, bytes, sp: now.sp }
}

fn access(thread: u32, name: &str, frame: Frame, is_write: bool) -> Event {
    let Frame { address, bytes, .. } = frame;
    let source = Some("<exception frame>".into());
    let accesses = vec![KernelAccess { is_write, address, bytes, source }];
    let name = Some(name.into());
    Event::SystemCall(Box::new(SystemCall { thread, name, accesses, ..SystemCall::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of the exception, stack pointer, link register; then what is told.
    fn told(states: &[(u64, u64, u64)]) -> Vec<String> {
        let mut exceptions = Exceptions::default();
        let mut events = Vec::new();
        for &(number, sp, lr) in states {
            for event in exceptions.step(0, State { number, sp, lr }) {
                events.push(match event {
                    Event::SignalDelivered { number, .. } => format!("{number}"),
                    Event::SignalEnded { .. } => "end".into(),
                    Event::SystemCall(call) => {
                        let a = &call.accesses[0];
                        format!("{}{:x}+{}", if a.is_write { "W" } else { "R" }, a.address, a.bytes)
                    }
                    other => panic!("{other:?}"),
                });
            }
        }
        events
    }

    #[test]
    fn entry_and_return_on_the_main_stack() {
        let states = [(0, 0x1000, 0), (15, 0xfe0, 0xffff_fff9), (15, 0xfd8, 5), (0, 0x1000, 0)];
        assert_eq!(told(&states), ["Wfe0+32", "15", "Rfe0+32", "end"]);
    }

    #[test]
    fn nested_and_chained() {
        let states = [
            (0, 0x1000, 0),
            (15, 0xfe0, 0xffff_fff9),
            (16, 0xfc0, 0xffff_fff1),
            (15, 0xfe0, 0xffff_fff9),
            (17, 0xfe0, 0xffff_fff9),
            (0, 0x1000, 0),
        ];
        let expected =
            ["Wfe0+32", "15", "Wfc0+32", "16", "Rfc0+32", "end", "end", "17", "Rfe0+32", "end"];
        assert_eq!(told(&states), expected);
    }

    #[test]
    fn a_frame_with_floating_point_registers_on_the_process_stack() {
        let states = [(0, 0x2004, 0), (11, 0x1000, 0xffff_ffed), (0, 0x2004, 0)];
        assert_eq!(told(&states), ["W1f98+104", "11", "R1f98+104", "end"]);
    }
}
