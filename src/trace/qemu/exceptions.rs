//! Exceptions of ARM's processors in register dumps.
//!
//! Of the M profile the processor itself stores the interrupted registers on the stack and loads them
//! again. Dumps show it by the number in the status register, the stack pointer, and the link
//! register (EXC_RETURN). Of the others the mode in the status register changes at a vector, and the
//! link register of the new mode has the address behind.
//!
//! Sources: ARMv7-M Architecture Reference Manual (DDI 0403), B1.5.6 to B1.5.8; Arm Architecture
//! Reference Manual (DDI 0406), B1.8.3.

use crate::event::{Event, ExceptionEntry, Keeps, KernelAccess, SystemCall};
use crate::trace::exception_log::{Cause, Said, Stacking, Taken};

/// Number of the exception in the status register.
pub const NUMBER: u64 = 0x1ff;
/// From here on the link register says how an exception returns.
const EXC_RETURN: u64 = 0xffff_ff00;
/// Bits of EXC_RETURN: the frame has no floating-point registers; it is on the process stack.
const BASIC_FRAME: u64 = 1 << 4;
const PROCESS_STACK: u64 = 1 << 2;
/// It returns to no handler.
const TO_THREAD: u64 = 1 << 3;
/// Bytes of a frame.
const BASIC: u64 = 32;
const EXTENDED: u64 = 104;
/// How far the stack pointer may be from where a frame is thought to end: the instruction that was
/// interrupted may have moved it.
const SLACK: u64 = 512;
/// Frames of tasks that wait, at most.
const MOST_FRAMES: usize = 4096;

/// What a dump says of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Number of the exception, 0: none.
    pub number: u64,
    pub pc: u64,
    pub sp: u64,
    pub lr: u64,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    address: u64,
    bytes: u64,
}

/// The frames of a CPU of the M profile of which a recorder tells the registers where exceptions begin and
/// end.
#[derive(Default)]
pub struct Frames {
    waiting: Waiting,
}

impl Frames {
    /// The frames of what was told since the last step, behind which the registers are these.
    pub fn fill(&mut self, thread: u32, events: Vec<Event>, now: Stacking) -> Vec<Event> {
        let last = events.len().saturating_sub(1);
        // One that begins where another ends stores no frame.
        let chained = events.len() > 1 && matches!(events[last - 1], Event::ExceptionReturn { .. });
        let mut all = Vec::with_capacity(events.len() + 1);
        for (i, event) in events.into_iter().enumerate() {
            match event {
                Event::ExceptionEntry(mut of) if i == last && !chained && now.lr >= EXC_RETURN => {
                    let bytes = if now.lr & BASIC_FRAME == 0 { EXTENDED } else { BASIC };
                    let on_process_stack = now.lr & PROCESS_STACK != 0;
                    let address = if on_process_stack { now.psp } else { now.sp };
                    let frame = Frame { address, bytes };
                    of.frame = Some(address);
                    of.keeps = if bytes == BASIC { Keeps::Frame } else { Keeps::LongFrame };
                    if now.lr & TO_THREAD != 0 {
                        self.waiting.push(frame);
                    }
                    all.extend([stored(thread, frame), Event::ExceptionEntry(of)]);
                }
                Event::ExceptionReturn { .. } if i == last && now.status & NUMBER == 0 => {
                    all.push(back(thread, Some(self.waiting.take(now.sp))));
                }
                event => all.push(event),
            }
        }
        all
    }
}

/// Frames of what was interrupted outside of exceptions and has not gone on.
#[derive(Default)]
struct Waiting(Vec<Frame>);

impl Waiting {
    fn push(&mut self, frame: Frame) {
        // A frame where another was is another.
        self.0.retain(|waiting| waiting.address != frame.address);
        self.0.push(frame);
        if self.0.len() > MOST_FRAMES {
            self.0.remove(0);
        }
    }

    /// What waits by one frame has another.
    fn replace(&mut self, old: Frame, new: Frame) {
        let found = self.0.iter_mut().find(|frame| frame.address == old.address);
        found.into_iter().for_each(|frame| *frame = new);
    }

    /// The frame that ends at a stack pointer; one that no exception has stored is that of a task's beginning.
    fn take(&mut self, sp: u64) -> u64 {
        let far = |frame: &Frame| sp.abs_diff(frame.address + frame.bytes);
        let near = self.0.iter().enumerate().min_by_key(|(_, frame)| far(frame));
        match near.filter(|(_, frame)| far(frame) <= SLACK).map(|(i, _)| i) {
            Some(i) => self.0.remove(i).address,
            None => sp.wrapping_sub(BASIC),
        }
    }
}

/// An exception that has not ended: its number, and program counter and stack pointer at its first
/// instruction.
#[derive(Clone, Copy, Debug)]
struct Open {
    number: u64,
    pc: u64,
    sp: u64,
    frame: Frame,
    /// The dump before it.
    before: State,
}

/// The exceptions of a CPU of the M profile.
#[derive(Default)]
pub struct Exceptions {
    before: State,
    /// The newest last.
    open: Vec<Open>,
    waiting: Waiting,
}

impl Exceptions {
    /// What happened between the dump before and this one; `returns`: the instruction in between
    /// may be a return.
    pub fn step(&mut self, thread: u32, now: State, returns: bool) -> Vec<Event> {
        let before = std::mem::replace(&mut self.before, now);
        let top = self.open.last().copied();
        // Another one begins with the frame of the last, before anything of what was interrupted.
        let chained = |top: &Open| now.lr >= EXC_RETURN && now.sp == top.sp && returns;
        if before.number == now.number {
            let again = top.filter(|top| now.number > 0 && chained(top) && now.pc == top.pc);
            return again.map_or(Vec::new(), |top| self.chain(thread, top.frame, now));
        }
        if now.number == 0 {
            return self.return_to_thread(thread, now);
        }
        if let Some(outer) = self.open.iter().rposition(|open| open.number == now.number) {
            let ended = self.open.split_off(outer + 1).into_iter().rev();
            return ended.map(|open| back(thread, Some(open.frame.address))).collect();
        }
        let top = top.filter(|top| top.number == before.number);
        if let Some(top) = top.filter(chained) {
            return self.chain(thread, top.frame, now);
        }
        // One that had begun before the last one, which came before its first instruction.
        if let Some(top) = top.filter(|top| now.lr >= EXC_RETURN && now.sp > top.sp && returns) {
            self.open.pop();
            let frame = frame(top.before, now);
            let before = top.before;
            self.open.push(Open { number: now.number, pc: now.pc, sp: now.sp, frame, before });
            self.waiting.replace(top.frame, frame);
            return vec![back(thread, Some(top.frame.address)), entry(thread, frame, now)];
        }
        let frame = frame(before, now);
        self.open.push(Open { number: now.number, pc: now.pc, sp: now.sp, frame, before });
        if before.number == 0 {
            self.waiting.push(frame);
        }
        vec![stored(thread, frame), entry(thread, frame, now)]
    }

    /// The same where the log says what happened.
    pub fn told(&mut self, thread: u32, now: State, said: &[Said]) -> Vec<Event> {
        let before = std::mem::replace(&mut self.before, now);
        let last = said.len().saturating_sub(1);
        let mut events = Vec::with_capacity(said.len() * 2);
        // Of the exception that has ended just before.
        let mut ended = None;
        for (i, said) in said.iter().enumerate() {
            match said {
                Said::Returned if i == last && now.number == 0 => {
                    events.extend(self.return_to_thread(thread, now));
                }
                Said::Returned => {
                    ended = self.open.pop().map(|open| open.frame);
                    let goes_on = ended.filter(|_| i == last);
                    events.push(back(thread, goes_on.map(|frame| frame.address)));
                }
                Said::Taken(taken) => {
                    let chained = ended.take();
                    let frame = chained.unwrap_or_else(|| match i == last {
                        true => frame(before, now),
                        false => frame_of_unstarted(before, now),
                    });
                    if chained.is_none() {
                        events.push(stored(thread, frame));
                    }
                    if i == 0 && before.number == 0 {
                        self.waiting.push(frame);
                    }
                    let number = u64::from(taken.number);
                    let (pc, sp) = if i == last { (now.pc, now.sp) } else { (0, frame.address) };
                    self.open.push(Open { number, pc, sp, frame, before });
                    if self.open.len() > MOST_FRAMES {
                        self.open.remove(0);
                    }
                    events.push(entry(thread, frame, State { number, ..now }));
                }
            }
        }
        events
    }

    fn chain(&mut self, thread: u32, frame: Frame, now: State) -> Vec<Event> {
        let before = self.open.pop().map_or(now, |top| top.before);
        self.open.push(Open { number: now.number, pc: now.pc, sp: now.sp, frame, before });
        vec![back(thread, None), entry(thread, frame, now)]
    }

    /// No exception is active any more: what goes on is whose frame ends at the stack pointer.
    fn return_to_thread(&mut self, thread: u32, now: State) -> Vec<Event> {
        let ended = std::mem::take(&mut self.open).len().max(1);
        let taken = self.waiting.take(now.sp);
        let mut events = vec![back(thread, None); ended - 1];
        events.push(back(thread, Some(taken)));
        events
    }
}

fn frame(before: State, now: State) -> Frame {
    let bytes = if now.lr & BASIC_FRAME == 0 { EXTENDED } else { BASIC };
    let on_process_stack = now.lr & PROCESS_STACK != 0;
    // The process stack is aligned to 8 bytes; the handler's own begins at the frame.
    let address = if on_process_stack { before.sp.wrapping_sub(bytes) & !7 } else { now.sp };
    Frame { address, bytes }
}

/// The frame of an exception that another one has interrupted before its first instruction: it is next to that of
/// the other one on the main stack, or on the process stack.
fn frame_of_unstarted(before: State, now: State) -> Frame {
    let inner = frame(before, now);
    let above = inner.address.wrapping_add(inner.bytes);
    match before.sp.wrapping_sub(above) {
        EXTENDED..=SLACK => Frame { address: above, bytes: EXTENDED },
        0..=SLACK => Frame { address: above, bytes: BASIC },
        _ => Frame { address: before.sp.wrapping_sub(BASIC) & !7, bytes: BASIC },
    }
}

fn entry(thread: u32, frame: Frame, now: State) -> Event {
    let number = u32::try_from(now.number).ok();
    let keeps = if frame.bytes == BASIC { Keeps::Frame } else { Keeps::LongFrame };
    let (resume, frame) = (None, Some(frame.address));
    Event::ExceptionEntry(ExceptionEntry { thread, number, resume, frame, keeps })
}

fn back(thread: u32, frame: Option<u64>) -> Event {
    Event::ExceptionReturn { thread, frame }
}

/// The processor stores a frame.
fn stored(thread: u32, frame: Frame) -> Event {
    let Frame { address, bytes } = frame;
    let source = Some("<exception frame>".into());
    let accesses = vec![KernelAccess { is_write: true, address, bytes, source }];
    let name = Some(SystemCall::EXCEPTION.into());
    Event::SystemCall(Box::new(SystemCall { thread, name, accesses, ..SystemCall::default() }))
}

/// An exception of the other profiles' 32-bit state that was taken between two dumps: by their
/// status registers, program counters, and the link register of the second.
pub fn vector(before: (u64, u64), now: (u64, u64), lr: u64) -> Option<Taken> {
    let ((psr, pc), (new_psr, new_pc)) = (before, now);
    let (mode, new_mode) = (psr & 0x1f, new_psr & 0x1f);
    // Instructions that change the mode go on with the next one.
    if mode == new_mode || (1..=4).contains(&new_pc.wrapping_sub(pc)) {
        return None;
    }
    let thumb = psr & 1 << 5 != 0;
    let (number, cause, behind) = match (new_mode, new_pc & 0x1f) {
        (0x1b, 0x04) => (1, Cause::Fault, if thumb { 2 } else { 4 }),
        (0x13, 0x08) => (2, Cause::Asked, 0),
        (0x17, 0x0c) => (3, Cause::Other, 4),
        (0x17, 0x10) => (4, Cause::Fault, 8),
        (0x12, 0x18) => (5, Cause::Interrupt, 4),
        (0x11, 0x1c) => (6, Cause::Interrupt, 4),
        _ => return None,
    };
    let resume = Some(lr.wrapping_sub(behind) & 0xffff_ffff);
    let keeps = if new_mode == 0x11 { Keeps::Fast } else { Keeps::Link };
    Some(Taken { cause, number, resume, keeps })
}

/// Whether an instruction is a return from an exception, which may go to an address like a vector's.
///
/// Source: Arm Architecture Reference Manual (DDI 0406), B9.3.
pub fn is_return(code: &[u8], thumb: bool) -> bool {
    let &[a, b, c, d] = code else { return false };
    let word = u32::from_le_bytes([a, b, c, d]);
    if thumb {
        let (first, second) = (word & 0xffff, word >> 16);
        // SUBS PC, LR (ERET is one, too); RFE.
        return first == 0xf3de && second >> 8 == 0x8f || matches!(first & 0xffd0, 0xe810 | 0xe990);
    }
    // LDM with the program counter and ^; what computes it with S; ERET; RFE.
    let conditional = word >> 28 != 0xf;
    conditional && word & 0x0e50_8000 == 0x0850_8000
        || conditional && word & 0x0c10_f000 == 0x0010_f000 && word & 0x0180_0000 != 0x0100_0000
        || word & 0x0fff_ffff == 0x0160_006e
        || word & 0xfe50_0000 == 0xf810_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of the exception, program counter, stack pointer, link register; then what is told.
    fn told(states: &[(u64, u64, u64, u64)]) -> Vec<String> {
        let mut exceptions = Exceptions::default();
        let mut events = Vec::new();
        for &(number, pc, sp, lr) in states {
            for event in exceptions.step(0, State { number, pc, sp, lr }, true) {
                events.push(match event {
                    Event::ExceptionEntry(ExceptionEntry { number, frame, .. }) => {
                        format!("{}@{:x}", number.unwrap(), frame.unwrap())
                    }
                    Event::ExceptionReturn { frame: Some(frame), .. } => format!("back {frame:x}"),
                    Event::ExceptionReturn { .. } => "back".into(),
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
        let states = [
            (0, 8, 0x1000, 0),
            (15, 0x40, 0xfe0, 0xffff_fff9),
            (15, 0x42, 0xfd8, 5),
            (0, 8, 0x1000, 0),
        ];
        assert_eq!(told(&states), ["Wfe0+32", "15@fe0", "back fe0"]);
    }

    #[test]
    fn frames_by_registers() {
        let entry = |number| Event::ExceptionEntry(ExceptionEntry { number, ..Default::default() });
        let mut frames = Frames::default();
        let mut told = |events: Vec<Event>, (status, sp, psp, lr): (u64, u64, u64, u64)| {
            let events = frames.fill(0, events, Stacking { status, sp, psp, lr });
            let frame = |event: &Event| match event {
                Event::ExceptionEntry(entry) => Some(entry.frame),
                Event::ExceptionReturn { frame, .. } => Some(*frame),
                _ => None,
            };
            events.iter().filter_map(frame).collect::<Vec<_>>()
        };
        let on_process = (14, 0x1000, 0x1fe0, 0xffff_fffd);
        assert_eq!(told(vec![entry(Some(14))], on_process), [Some(0x1fe0)]);
        // Within it, with floating-point registers, on the main stack; a task begins; the first goes on.
        assert_eq!(told(vec![entry(Some(15))], (15, 0xf90, 0, 0xffff_ffe1)), [Some(0xf90)]);
        assert_eq!(told(vec![back(0, None)], (14, 0x1000, 0x1fe0, 0)), [None]);
        assert_eq!(told(vec![back(0, None)], (0, 0x3000, 0x3000, 0)), [Some(0x2fe0)]);
        assert_eq!(told(vec![entry(Some(14))], (14, 0x1000, 0x2fd8, 0xffff_fffd)), [Some(0x2fd8)]);
        assert_eq!(
            told(vec![back(0, None), entry(Some(15))], (15, 0x1000, 0x1fe0, 0xffff_fffd)),
            [None, None]
        );
        assert_eq!(told(vec![back(0, None)], (0, 0x2004, 0x2004, 0)), [Some(0x1fe0)]);
    }

    #[test]
    fn nested_and_chained() {
        let states = [
            (0, 8, 0x1000, 0),
            (15, 0x40, 0xfe0, 0xffff_fff9),
            (16, 0x60, 0xfc0, 0xffff_fff1),
            (15, 0x42, 0xfe0, 0xffff_fff9),
            (17, 0x80, 0xfe0, 0xffff_fff9),
            (17, 0x80, 0xfe0, 0xffff_fff9),
            (0, 8, 0x1000, 0),
        ];
        let expected = [
            "Wfe0+32", "15@fe0", "Wfc0+32", "16@fc0", "back fc0", "back", "17@fe0", "back",
            "17@fe0", "back fe0",
        ];
        assert_eq!(told(&states), expected);
    }

    /// One that comes before the first instruction of another: the other one begins when it ends.
    #[test]
    fn one_before_the_first_instruction_of_another() {
        let thread = (0, 8, 0x1000, 0);
        let states = [
            thread,
            (15, 0x40, 0xfc0, 0xffff_fff1),
            (15, 0x42, 0xfb8, 0),
            (6, 0x60, 0xfe0, 0xffff_fff9),
            thread,
        ];
        let expected = ["Wfc0+32", "15@fc0", "back fc0", "6@fe0", "back fe0"];
        assert_eq!(told(&states), expected);
        // A task, whose frame is on its own stack.
        let task = (0, 8, 0x3000, 0);
        let states = [
            task,
            (15, 0x40, 0xfe0, 0xffff_fff1),
            (15, 0x42, 0xfd8, 0),
            (6, 0x60, 0x1000, 0xffff_fffd),
            task,
        ];
        let expected = ["Wfe0+32", "15@fe0", "back fe0", "6@2fe0", "back 2fe0"];
        assert_eq!(told(&states), expected);
    }

    #[test]
    fn what_the_log_says_of_handlers_without_steps() {
        let taken = |number| {
            let (cause, resume, keeps) = (Cause::Interrupt, None, Keeps::LongFrame);
            Said::Taken(Taken { cause, number, resume, keeps })
        };
        let mut exceptions = Exceptions::default();
        let mut told = |(number, pc, sp, lr): (u64, u64, u64, u64), said: &[Said]| {
            let state = State { number, pc, sp, lr };
            let events = match said {
                [] => exceptions.step(0, state, true),
                said => exceptions.told(0, state, said),
            };
            let shown = events.iter().filter_map(|event| match event {
                Event::ExceptionEntry(entry) => {
                    Some(format!("{}@{:x}", entry.number?, entry.frame?))
                }
                Event::ExceptionReturn { frame, .. } => {
                    Some(frame.map_or("back".into(), |frame| format!("back {frame:x}")))
                }
                _ => None,
            });
            shown.collect::<Vec<_>>().join(" ")
        };
        let thread = (0, 8, 0x1000, 0);
        let usage = (6, 0x60, 0xfe0, 0xffff_fff9);
        assert_eq!(told(thread, &[]), "");
        let inner = (15, 0x40, 0xfc0, 0xffff_fff1);
        assert_eq!(told(inner, &[taken(6), taken(15)]), "6@fe0 15@fc0");
        assert_eq!(told(usage, &[Said::Returned]), "back fc0");
        // A chain, whose second part is interrupted before its first instruction.
        let inner = (17, 0x80, 0xfc0, 0xffff_fff1);
        assert_eq!(told(inner, &[Said::Returned, taken(16), taken(17)]), "back 16@fe0 17@fc0");
        assert_eq!(told((16, 0x70, 0xfe0, 0xffff_fff9), &[Said::Returned]), "back fc0");
        assert_eq!(told(thread, &[Said::Returned]), "back fe0");
    }

    #[test]
    fn a_frame_with_floating_point_registers_on_the_process_stack() {
        let states = [(0, 8, 0x2004, 0), (11, 0x40, 0x1000, 0xffff_ffed), (0, 8, 0x2004, 0)];
        assert_eq!(told(&states), ["W1f98+104", "11@1f98", "back 1f98"]);
    }

    #[test]
    fn tasks_have_frames_of_their_own() {
        let states = [
            (0, 8, 0x2000, 0),
            (14, 0x40, 0x1000, 0xffff_fffd),
            // The first step of a task, whose frame a program has made.
            (0, 0x100, 0x3000, 0),
            (14, 0x40, 0x1000, 0xffff_fffd),
            (0, 8, 0x2000, 0),
        ];
        let expected = ["W1fe0+32", "14@1fe0", "back 2fe0", "W2fe0+32", "14@2fe0", "back 1fe0"];
        assert_eq!(told(&states), expected);
    }

    #[test]
    fn returns_of_the_other_profiles() {
        let arm = |word: u32| is_return(&word.to_le_bytes(), false);
        let thumb = |a: u16, b: u16| is_return(&[a.to_le_bytes(), b.to_le_bytes()].concat(), true);
        // ldm sp!, {..., pc}^; movs pc, lr; subs pc, lr, #4; eret; rfeia sp!
        for word in [0xe8fd_900f, 0xe1b0_f00e, 0xe25e_f004, 0xe160_006e, 0xf8bd_0a00] {
            assert!(arm(word), "{word:x}");
        }
        // pop {pc}; mov pc, lr; cmp r5, r3; tst; ldr pc, [r1]; bx lr; umull; svc
        for word in [
            0xe8bd_8010,
            0xe1a0_f00e,
            0xe155_0003,
            0xe110_0001,
            0xe591_f000,
            0xe12f_ff1e,
            0xe081_0392,
            0xef00_0000,
        ] {
            assert!(!arm(word), "{word:x}");
        }
        assert!(thumb(0xf3de, 0x8f04) && thumb(0xe99d, 0xc000) && !thumb(0xe8bd, 0x8010));
    }

    #[test]
    fn vectors_of_the_other_profiles() {
        let (svc, irq) = (0x6000_0153, 0x6000_01d2);
        let taken = vector((svc, 0x8004), (irq, 0x18), 0x800c);
        let (cause, keeps) = (Cause::Interrupt, Keeps::Link);
        let expected = Taken { cause, number: 5, resume: Some(0x8008), keeps };
        assert_eq!(taken, Some(expected));
        let taken = vector((svc, 0x8004), (0x6000_01d1, 0x1c), 0x800c).unwrap();
        assert_eq!((taken.number, taken.keeps), (6, Keeps::Fast));
        // `cps` at an address like a vector's.
        assert_eq!(vector((svc, 0x8014), (irq, 0x8018), 0), None);
        assert_eq!(vector((irq, 0x18), (irq, 0x40), 0), None);
    }
}
