//! What control did between two steps of a thread: rules 1 to 5 of "Control transfers" in
//! `docs/semantics.md`. Rule 6, the tails, is the stack's.

use super::block::Last;
use super::stack::{CallKind, Frame, Stack, Token, Transfer};
use crate::id::FunctionId;
use crate::isa::FlowKind;

/// The step before, as far as the next one depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Previous {
    pub last: Last,
    /// Address of the slot that holds the return address that it stored or loaded, or the stack
    /// pointer behind it.
    pub slot: Option<u64>,
    /// The link register holds the address behind it.
    pub linked: bool,
    /// The instruction set has a link register: a jump by any register may be a return.
    pub links: bool,
    /// The instance on top began with a call, and control was nowhere else since.
    pub called: bool,
}

impl Previous {
    /// Whether it returns to somewhere in its caller, a function, and may have computed where.
    pub fn returns_into_caller<P>(&self, to: FunctionId, frames: &[Frame<End, P>]) -> bool {
        let Previous { last, slot, links, called, .. } = self;
        let same = |s: Option<u64>| s.is_none() || slot.is_none() || s == *slot;
        *links
            && *called
            && last.executed
            && last.kind == FlowKind::Return
            && matches!(frames, [.., caller, top] if caller.function == to
                && matches!(top.token, End::Return { slot, .. } if same(slot)))
    }
}

/// By what the pass recognises the end of an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Nothing ends it: a root.
    #[default]
    Never,
    /// A return to `address`, with `slot` as in [`Previous`] before the call.
    Return { address: u64, slot: Option<u64> },
    /// Going on where the instance below was interrupted: at the step that was its last, if that
    /// failed, or at one of its successors.
    Resume([u64; 3]),
    /// The return from the exception that it is the handler of, of which the trace tells.
    Exception,
}

/// Where control goes to at the end of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Back {
    Return(u64),
    Resume(u64),
}

impl Token for End {
    type Key = Back;

    #[inline]
    fn keys(&self) -> [Option<Back>; 3] {
        match *self {
            End::Never | End::Exception => [None; 3],
            End::Return { address, .. } => [Some(Back::Return(address)), None, None],
            End::Resume([a, b, c]) => [
                Some(Back::Resume(a)),
                (b != a).then_some(Back::Resume(b)),
                (c != a && c != b).then_some(Back::Resume(c)),
            ],
        }
    }
}

impl End {
    /// Where the frame ends, upwards: the slot of its return address or the stack pointer at its
    /// first step.
    #[inline]
    pub fn frame_top(&self) -> Option<u64> {
        match self {
            End::Return { slot, .. } => *slot,
            End::Never | End::Resume(_) | End::Exception => None,
        }
    }
}

/// Depth of the newest live instance of `function` that a jump which may go anywhere can go back to: `longjmp`, or who
/// unwinds for an exception. Its frame and that of what it called lie on both sides of the stack pointer, if all three
/// are known.
pub fn unwinds_to<P>(
    previous: &Previous,
    function: FunctionId,
    frames: &[Frame<End, P>],
) -> Option<usize> {
    let Previous { last, slot, links, .. } = *previous;
    // On x86 a slot, of which only returns tell.
    let stack = slot.filter(|_| links || last.kind == FlowKind::Return);
    let within = |pair: &[Frame<End, P>]| {
        let [own, called] = [0, 1].map(|i| pair[i].token.frame_top());
        called.zip(stack).is_none_or(|(called, stack)| called <= stack)
            && own.zip(stack).is_none_or(|(own, stack)| stack < own || links && stack == own)
    };
    let live = frames.windows(2).enumerate().rev();
    // What an exception of the processor has interrupted goes on when its handler ends.
    let mut live = live.take_while(|(_, pair)| pair[1].token != End::Exception);
    let found = live.find(|(_, pair)| pair[0].function == function && within(pair));
    found.map(|(depth, _)| depth)
}

/// What control did from `previous` to the step at `address` of `function`, where a call is of
/// `kind`. `entry`: of the function, if it is known.
pub fn classify<P: Default>(
    previous: &Previous,
    (address, function): (u64, FunctionId),
    entry: impl FnOnce() -> Option<u64>,
    kind: CallKind,
    stack: &mut Stack<End, P>,
) -> Transfer<End> {
    let Previous { last, slot, linked, links, .. } = previous;
    // The newest open signal that was interrupted there.
    let resumed = |stack: &mut Stack<End, P>| stack.newest(Back::Resume(address), |_| true);
    // 1
    if last.falls_to(address) {
        return Transfer::None;
    }
    // 2
    let calls = last.kind == FlowKind::Call || (last.kind == FlowKind::Jump && *linked);
    if last.executed && calls {
        let token = End::Return { address: last.next, slot: *slot };
        return Transfer::Call { kind, token, site: Some(last.insn) };
    }
    // 3
    let elsewhere = |stack: &Stack<End, P>| stack.top().is_some_and(|top| top.function != function);
    // Where a call is the last instruction of a function, as one of `exit` is, its return address is the entry of the next
    // one: a jump there is a tail call.
    let mut entry = Some(entry);
    let mut known = None;
    let mut is_entry = || {
        let entry = *known.get_or_insert_with(|| entry.take().and_then(|entry| entry()));
        entry.map(|entry| entry == address)
    };
    let may_return = *links && last.kind == FlowKind::Jump && last.target.is_none();
    if previous.returns_into_caller(function, stack.frames()) {
        return Transfer::Return { depth: stack.frames().len() - 1 };
    }
    let same = |s: Option<u64>| s.is_none() || slot.is_none() || s == *slot;
    if last.executed
        && (last.kind.returns() || may_return && elsewhere(stack) && is_entry() != Some(true))
    {
        let found = stack.newest(Back::Return(address), |frame| same(frame.token.frame_top()));
        if let Some(depth) = found {
            return Transfer::Return { depth };
        }
        if last.kind.returns()
            && let Some(depth) = resumed(stack)
        {
            return Transfer::Return { depth };
        }
    }
    // 4
    if last.jumps_to(address) {
        let anywhere = last.target.is_none() && last.kind != FlowKind::ExceptionReturn;
        if anywhere
            && elsewhere(stack)
            && stack.live(function) > 0
            && is_entry() == Some(false)
            && let Some(depth) = unwinds_to(previous, function, stack.frames())
        {
            return Transfer::Unwind { depth };
        }
        return Transfer::None;
    }
    // 5
    match resumed(stack) {
        Some(depth) => Transfer::Return { depth },
        None => Transfer::Signal { token: End::Resume(resumes(last)) },
    }
}

/// Where control may go on that was taken away behind a step: at its successors, or at the step
/// itself, if it is to be tried again.
pub fn resumes(last: &Last) -> [u64; 3] {
    let leaves = last.executed && last.kind != FlowKind::Next;
    match last.target.filter(|_| leaves) {
        Some(target) if last.conditional => [last.address, last.next, target],
        Some(target) => [last.address, target, target],
        None => [last.address, last.next, last.next],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::InstructionId;

    fn last(kind: FlowKind, conditional: bool, executed: bool) -> Last {
        Last {
            address: 0x100,
            next: 0x104,
            kind,
            target: Some(0x140),
            conditional,
            repeats: false,
            executed,
            insn: InstructionId::FIRST,
            slot: None,
        }
    }

    /// Whoever interrupts a jump goes back to one of its successors, or to the jump.
    #[test]
    fn what_is_interrupted_goes_on_at_a_successor() {
        for (conditional, executed, expected) in [
            (true, true, &[0x100, 0x104, 0x140][..]),
            (false, true, &[0x100, 0x140]),
            (false, false, &[0x100, 0x104]),
        ] {
            let token = End::Resume(resumes(&last(FlowKind::Jump, conditional, executed)));
            let keys: Vec<_> = token.keys().into_iter().flatten().collect();
            let expected: Vec<_> = expected.iter().map(|at| Back::Resume(*at)).collect();
            assert_eq!(keys, expected, "{conditional} {executed}");
        }
    }
}
