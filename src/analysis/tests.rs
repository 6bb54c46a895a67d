//! The pass on runs made by hand.

use super::access::SaveRule;
use super::pass::{FrameSlot, Pass, Processor};
use super::*;
use crate::event::{
    BlockDef, BlockStep, Event, InsnDef, KernelAccess, MemShape, RunBatch, RunEnd, SystemCall,
};
use crate::id::InstructionId;
use crate::isa::{ControlFlow, Decoded, Expr, FlowKind, MemOperand, RegAccess};

/// Every 256 bytes of code are a function.
struct Pages;

/// The function that is a stub, in tests that have one.
const STUB: usize = 0xee;

impl CodeMap for Pages {
    fn function_at(&mut self, address: u64) -> FunctionId {
        FunctionId::at((address >> 8) as usize)
    }
    fn entry(&self, function: FunctionId) -> Option<u64> {
        Some((function.index() as u64) << 8)
    }
    fn is_stub(&self, function: FunctionId) -> bool {
        function.index() == STUB
    }
    fn is_through(&self, _: FunctionId) -> bool {
        false
    }
    fn is_kept(&self, _: FunctionId) -> bool {
        false
    }
}

#[derive(Default)]
struct Rows {
    communications: Vec<Communication>,
    flows: Vec<Flow>,
    calls: Vec<Call>,
    saved: Vec<SavedRegister>,
    bytes_in: Vec<Option<u64>>,
}

impl Output for Rows {
    fn communication(&mut self, row: Communication) {
        self.communications.push(row);
    }
    fn call(&mut self, row: Call, bytes_in: Option<u64>) {
        self.calls.push(row);
        self.bytes_in.push(bytes_in);
    }
    fn interval(&mut self, _: Interval) {}
    fn saved_register(&mut self, row: SavedRegister) {
        self.saved.push(row);
    }
    fn flow(&mut self, row: Flow) {
        self.flows.push(row);
    }
    fn folded_call(&mut self, _: FoldedCall) {}
}

fn empty_pass() -> Pass<Pages, Rows> {
    let options = Options {
        saves: SaveRule::Transparent,
        details: Details::Local,
        superblock_after: u32::MAX,
        sums: true,
        any_order: false,
    };
    let processor = Processor {
        fast: Vec::new(),
        given: Vec::new(),
        register_bytes: 64,
        slot: FrameSlot::ReturnSlot { bytes: 8 },
        link: None,
        frame: Vec::new(),
        long: Vec::new(),
    };
    Pass::new(Pages, Rows::default(), options, Vec::new(), processor)
}

/// An instruction of 4 bytes.
fn instruction(kind: FlowKind) -> Decoded {
    let flow = ControlFlow { kind, target: None, conditional: false, repeats: false };
    Decoded { flow, ..Decoded::unknown(4) }
}

/// A pass over instructions of 4 bytes, each a block: (address, what it does to control, whether it
/// stores or loads 8 bytes).
fn pass(code: &[(u64, FlowKind, Option<bool>)]) -> Pass<Pages, Rows> {
    let mut pass = empty_pass();
    for (i, &(address, kind, access)) in (0..).zip(code) {
        let operand = |is_write| MemOperand {
            is_write,
            size: 8,
            address: Expr::Unknown,
            guard: None,
            stack_relative: false,
            control: false,
            data_register: None,
        };
        let memory = access.into_iter().map(operand).collect();
        let decoded = Decoded { memory, ..instruction(kind) };
        pass.add_insn(InsnDef { address, ..InsnDef::default() }, decoded);
        let mem = access.map(|is_write| MemShape { is_write, size: 8, operand: 0 });
        pass.add_block(BlockDef {
            steps: vec![BlockStep { insn: i, executed: true, mem: mem.iter().len() as u16 }],
            mem: mem.into_iter().collect(),
        });
    }
    pass
}

/// The same over instructions of 4 bytes, each a block, with what their operands access.
fn pass_of(mut pass: Pass<Pages, Rows>, code: Vec<(u64, Decoded)>) -> Pass<Pages, Rows> {
    for (insn, (address, decoded)) in (0..).zip(code) {
        let shape = |(operand, m): (u8, &MemOperand)| MemShape {
            is_write: m.is_write,
            size: m.size,
            operand,
        };
        let mem: Vec<MemShape> = (0..).zip(&decoded.memory).map(shape).collect();
        pass.add_insn(InsnDef { address, ..InsnDef::default() }, decoded);
        let steps = vec![BlockStep { insn, executed: true, mem: mem.len() as u16 }];
        pass.add_block(BlockDef { steps, mem });
    }
    pass
}

/// A plain store of a register into the stack, or a plain load.
fn moves(is_write: bool, register: RegSpan) -> Decoded {
    let access = vec![RegAccess { span: register, control: false }];
    let operand = MemOperand {
        stack_relative: true,
        data_register: Some(register),
        ..MemOperand::plain(is_write, register.size.into(), Expr::Unknown)
    };
    let (reads, writes) = if is_write { (access, Vec::new()) } else { (Vec::new(), access) };
    Decoded { reads, writes, memory: vec![operand], ..instruction(FlowKind::Next) }
}

fn system_call(is_write: bool, address: u64, bytes: u64, source: Option<&str>) -> Event {
    let source = source.map(Into::into);
    let accesses = vec![KernelAccess { is_write, address, bytes, source }];
    Event::SystemCall(Box::new(SystemCall { accesses, ..SystemCall::default() }))
}

const STORE: Option<bool> = Some(true);
const LOAD: Option<bool> = Some(false);

/// Two words before what the kernel wrote, one of it: the kernel's write is between step 2 and 3.
#[test]
fn what_the_kernel_wrote_is_read_from_its_source() {
    let mut pass = pass(&[
        (0x100, FlowKind::Next, STORE),
        (0x104, FlowKind::Syscall, None),
        (0x108, FlowKind::Next, LOAD),
    ]);
    pass.push(&RunBatch {
        block: vec![0, 1, 2],
        addresses: vec![0x5000, 0x5000],
        events: vec![(2, system_call(true, 0x5004, 100, Some("<read: words.txt>")))],
        ..RunBatch::default()
    });
    let summary = pass.finish();
    let rows = &pass.output().communications;
    assert_eq!(rows.len(), 2);
    assert!(matches!(rows[0].write, Origin::Step(w) if w.seq == Seq::FIRST));
    assert_eq!((rows[0].address, rows[0].bytes), (0x5000, 4));
    let Origin::Source(Source::Named(source)) = rows[1].write else { panic!("{:?}", rows[1]) };
    assert_eq!(summary.sources.name(source), "<read: words.txt>");
    assert_eq!((rows[1].address, rows[1].bytes), (0x5004, 4));
    let function = FunctionId::at(1);
    let of_kernel: Vec<_> =
        summary.function_flows.iter().filter(|f| f.writer == rows_origin(source)).collect();
    assert_eq!(of_kernel.len(), 1);
    assert_eq!(of_kernel[0].reader, Origin::Step(function));
    let sums = of_kernel[0].sums;
    assert_eq!((sums.bytes, sums.unique, sums.transfers, sums.addresses), (4, 4, 1, 4));
    // The instruction that reads has two edges, one without a writing instruction.
    let reader = InstructionId::at(2);
    let edges = summary.instruction_flows.iter().filter(|f| f.reader == reader);
    assert_eq!(edges.filter(|f| f.writer == rows_origin(source)).count(), 1);
    // Half of the store was overwritten unread; of the kernel's bytes nothing is dead.
    assert_eq!(summary.functions[function.index()].dead_bytes, 4);
}

fn rows_origin<W>(source: origin::SourceId) -> Origin<W> {
    Origin::Source(Source::Named(source))
}

#[test]
fn what_the_kernel_reads_goes_to_its_sink() {
    let mut pass = pass(&[(0x100, FlowKind::Next, STORE), (0x104, FlowKind::Syscall, None)]);
    pass.push(&RunBatch {
        block: vec![0, 1],
        addresses: vec![0x5000],
        events: vec![
            (2, system_call(false, 0x5000, 6, None)),
            (2, system_call(false, 0x5004, 4, None)),
        ],
        ..RunBatch::default()
    });
    let summary = pass.finish();
    assert_eq!(summary.function_flows.len(), 1);
    let flow = summary.function_flows[0];
    let Origin::Source(Source::Named(sink)) = flow.reader else { panic!("{flow:?}") };
    assert_eq!(summary.sources.name(sink), "<kernel>");
    assert_eq!(flow.writer, Origin::Step(FunctionId::at(1)));
    let sums = flow.sums;
    assert_eq!((sums.bytes, sums.unique, sums.transfers, sums.addresses), (10, 10, 2, 8));
    assert_eq!(summary.functions[1].dead_bytes, 0);
    let flows = &pass.output().flows;
    assert_eq!(
        flows.iter().map(|f| (f.reader, f.bytes)).collect::<Vec<_>>(),
        [(None, 6), (None, 4)]
    );
}

/// What a long range costs does not depend on its length, and none goes beyond the last address.
#[test]
fn the_kernel_reads_gigabytes_at_once() {
    let mut pass = pass(&[(0x100, FlowKind::Next, STORE), (0x104, FlowKind::Syscall, None)]);
    let big = |i: u64| system_call(false, (1 << 40) + (i << 31), 1 << 32, None);
    let mut events = vec![
        (2, system_call(true, 1 << 40, 1 << 44, Some("<read: big>"))),
        (2, system_call(false, u64::MAX - 0xfff, 1 << 32, None)),
        (2, system_call(false, 0, 1 << 32, None)),
    ];
    events.extend((0..400).map(|i| (2, big(i))));
    pass.push(&RunBatch {
        block: vec![0, 1],
        addresses: vec![0x5000],
        events,
        ..RunBatch::default()
    });
    let summary = pass.finish();
    let of = |origin: Origin<FunctionId>| {
        let all = summary.function_flows.iter().filter(|f| f.writer == origin);
        all.fold((0, 0), |sum, f| (sum.0 + f.sums.bytes, sum.1 + f.sums.addresses))
    };
    let sources = summary.function_flows.iter().filter_map(|f| match f.writer {
        Origin::Source(Source::Named(id)) => Some(id),
        _ => None,
    });
    let is_big = |id: &origin::SourceId| summary.sources.name(*id) == "<read: big>";
    let source = sources.into_iter().find(is_big).expect("it was read");
    assert_eq!(of(rows_origin(source)), (400 << 32, (399 << 31) + (1 << 32)));
    let step = of(Origin::Step(FunctionId::at(1)));
    assert_eq!(step, (8, 8));
    let all: u64 = summary.function_flows.iter().map(|f| f.sums.bytes).sum();
    assert_eq!(all, (400 << 32) + (1 << 32) + 0x1000);
}

/// An event cuts what would run as one.
#[test]
fn an_event_stands_between_the_runs_of_a_superblock() {
    let mut pass = pass(&[(0x100, FlowKind::Next, STORE), (0x104, FlowKind::Unknown, LOAD)]);
    for _ in 0..3 {
        pass.push(&RunBatch {
            block: vec![0, 1],
            addresses: vec![0x5000, 0x5000],
            events: vec![(1, system_call(true, 0x5000, 8, None))],
            ..RunBatch::default()
        });
    }
    let summary = pass.finish();
    let written: Vec<_> =
        summary.function_flows.iter().filter(|f| matches!(f.writer, Origin::Step(_))).collect();
    assert!(written.is_empty(), "{written:?}");
    assert_eq!(summary.function_flows[0].sums.bytes, 24);
}

/// The calls, as (kind, ending, parent), in the order of their numbers.
fn calls(pass: &mut Pass<Pages, Rows>) -> Vec<(&'static str, &'static str, u32)> {
    let mut calls = pass.output().calls.clone();
    calls.sort_by_key(|c| c.call);
    let row = |c: &Call| (c.kind.name(), c.ending.name(), c.parent.map_or(0, CallId::get));
    calls.iter().map(row).collect()
}

/// A return from an exception goes to where it was interrupted, whatever the instruction is.
#[test]
fn a_return_that_matches_no_frame_ends_the_signal_interrupted_there() {
    for back in [FlowKind::ExceptionReturn, FlowKind::Return, FlowKind::Syscall] {
        let mut pass = pass(&[
            (0x100, FlowKind::Next, None),
            (0x104, FlowKind::Next, None),
            (0x204, back, None),
        ]);
        // Interrupted behind the first instruction, and at the second one, which is tried again.
        pass.push(&RunBatch { block: vec![0, 2, 1, 2, 1], ..RunBatch::default() });
        pass.finish();
        let signal = ("signal", "return", 1);
        let found = calls(&mut pass);
        assert_eq!(found, [("root", "open", 0), signal, signal], "{back:?}");
    }
}

/// What neither returns nor jumps is no return, wherever control is behind it.
#[test]
fn a_plain_step_does_not_return() {
    let mut pass = pass(&[
        (0x100, FlowKind::Call, None),
        (0x104, FlowKind::Next, None),
        (0x200, FlowKind::Next, None),
    ]);
    pass.push(&RunBatch { block: vec![0, 2, 1], ..RunBatch::default() });
    pass.finish();
    let found = calls(&mut pass);
    assert_eq!(found, [("root", "open", 0), ("call", "open", 1), ("signal", "open", 2)]);
}

/// A jump through a register may return where the return address is in one.
#[test]
fn a_jump_through_a_register_may_return() {
    for (has_link, kind) in
        [(true, FlowKind::Jump), (true, FlowKind::Next), (false, FlowKind::Jump)]
    {
        let empty = if has_link { pass_with(Details::Local, 64, Vec::new()) } else { empty_pass() };
        let code = [(0x100, FlowKind::Call), (0x104, FlowKind::Next), (0x200, kind)];
        let code = code.map(|(address, kind)| (address, instruction(kind)));
        let mut pass = pass_of(empty, code.into());
        pass.push(&RunBatch { block: vec![0, 2, 1], ..RunBatch::default() });
        pass.finish();
        let found: Vec<_> = calls(&mut pass).iter().map(|call| call.1).collect();
        let returns = has_link && kind == FlowKind::Jump;
        assert_eq!(found[1] == "return", returns, "{has_link} {kind:?} {found:?}");
    }
}

/// A return to a live frame is no end of a signal.
#[test]
fn a_return_to_a_frame_comes_first() {
    let mut pass = pass(&[
        (0x100, FlowKind::Call, None),
        (0x104, FlowKind::Next, None),
        (0x200, FlowKind::Next, None),
        (0x300, FlowKind::Return, None),
    ]);
    // The callee is interrupted, and the handler returns to the caller.
    pass.push(&RunBatch { block: vec![0, 2, 3, 1], ..RunBatch::default() });
    pass.finish();
    let found = calls(&mut pass);
    assert_eq!(found, [("root", "open", 0), ("call", "return", 1), ("signal", "unwound", 2)]);
}

/// A register is read as a whole that a step wrote as a whole and another, in the same block, in
/// part: two writes, two transfers.
#[test]
fn one_write_on_both_sides_of_another_is_one_transfer() {
    let mut pass = empty_pass();
    let access = |offset, size| RegAccess { span: RegSpan { offset, size }, control: false };
    let (whole, part) = (vec![access(8, 4)], vec![access(9, 1)]);
    let next = || instruction(FlowKind::Next);
    let code = [
        Decoded { writes: whole.clone(), ..next() },
        Decoded { writes: part, ..next() },
        Decoded { reads: whole, ..next() },
    ];
    for (i, decoded) in (0..).zip(code) {
        pass.add_insn(InsnDef { address: 0x100 + 4 * i, ..InsnDef::default() }, decoded);
    }
    let step = |insn| BlockStep { insn, executed: true, mem: 0 };
    pass.add_block(BlockDef { steps: vec![step(0)], mem: Vec::new() });
    pass.add_block(BlockDef { steps: vec![step(1), step(2)], mem: Vec::new() });
    for _ in 0..3 {
        pass.push(&RunBatch { block: vec![0, 1], ..RunBatch::default() });
    }
    let summary = pass.finish();
    let sums = summary.function_flows[0].sums;
    assert_eq!((sums.bytes, sums.transfers), (12, 6));
    let of = |writer| {
        let edges = summary.instruction_flows.iter();
        let writer = Origin::Step(InstructionId::at(writer));
        let sums = edges.filter(|e| e.writer == writer).map(|e| (e.bytes, e.transfers));
        sums.collect::<Vec<_>>()
    };
    assert_eq!((of(0), of(1)), (vec![(9, 3)], vec![(3, 3)]));
}

/// A loop that spills what it was given keeps no more saves than there is room in its frame,
/// whether it overwrites them or reads them otherwise.
#[test]
fn saves_that_can_not_be_restored_any_more_are_dropped() {
    for read_otherwise in [false, true] {
        let mut pass = empty_pass();
        let register = RegSpan { offset: 8, size: 8 };
        let access = RegAccess { span: register, control: false };
        let operand = |is_write| MemOperand {
            is_write,
            size: 8,
            address: Expr::Unknown,
            guard: None,
            stack_relative: true,
            control: false,
            data_register: is_write.then_some(register),
        };
        let code = [
            (0x100, instruction(FlowKind::Call)),
            (0x200, Decoded { writes: vec![access], ..instruction(FlowKind::Return) }),
            (
                0x104,
                Decoded {
                    reads: vec![access],
                    memory: vec![operand(true)],
                    ..instruction(FlowKind::Next)
                },
            ),
            (0x108, Decoded { memory: vec![operand(false)], ..instruction(FlowKind::Next) }),
            (0x10c, instruction(FlowKind::Jump)),
        ];
        for (i, (address, decoded)) in (0..).zip(code) {
            let is_write = decoded.memory.first().map(|o| o.is_write);
            pass.add_insn(InsnDef { address, ..InsnDef::default() }, decoded);
            let mem = is_write.map(|is_write| MemShape { is_write, size: 8, operand: 0 });
            pass.add_block(BlockDef {
                steps: vec![BlockStep { insn: i, executed: true, mem: mem.iter().len() as u16 }],
                mem: mem.into_iter().collect(),
            });
        }
        for round in 0..100u64 {
            // In turn at two places.
            let place = 0x5000 + round % 2 * 8;
            let block = if read_otherwise { vec![0, 1, 2, 3, 4] } else { vec![0, 1, 2, 4] };
            let addresses = if read_otherwise { vec![place, place] } else { vec![place] };
            pass.push(&RunBatch { block, addresses, ..RunBatch::default() });
        }
        let saves = &pass.machine.data.saves;
        let live = saves.list.len() - saves.free.len();
        assert_eq!((live, saves.by_store.len()), if read_otherwise { (0, 0) } else { (2, 2) });
        assert!(saves.list.len() <= 3, "{}", saves.list.len());
        pass.finish();
        let saved = pass.output().saved.iter();
        let exposed = saved.filter(|s| s.exposed.is_some()).count();
        assert_eq!(
            (pass.output().saved.len(), exposed),
            (100, if read_otherwise { 100 } else { 0 })
        );
    }
}

/// A handler stores the register of one task and loads that of another: each task has what it wrote itself,
/// and who looks at what was stored, too. Which one goes on, the loads tell.
#[test]
fn a_switch_of_tasks_moves_registers_that_keep_their_writers() {
    let mut pass = empty_pass();
    let register = RegSpan { offset: 8, size: 8 };
    let access = RegAccess { span: register, control: false };
    let operand = |is_write, data_register| MemOperand {
        is_write,
        size: 8,
        address: Expr::Unknown,
        guard: None,
        stack_relative: false,
        control: false,
        data_register,
    };
    let next = || instruction(FlowKind::Next);
    let store = vec![operand(true, Some(register))];
    let load = vec![operand(false, Some(register))];
    let code = [
        (0x100, Decoded { writes: vec![access], ..next() }),
        (0x104, next()),
        (0x108, Decoded { reads: vec![access], ..next() }),
        (0x200, Decoded { reads: vec![access], memory: store, ..next() }),
        (0x204, Decoded { writes: vec![access], memory: load, ..next() }),
        (0x208, instruction(FlowKind::ExceptionReturn)),
        (0x300, Decoded { writes: vec![access], ..next() }),
        // A call by a register, of which it is not known where it goes.
        (0x304, instruction(FlowKind::Call)),
        (0x400, Decoded { reads: vec![access], ..next() }),
        (0x10c, Decoded { memory: vec![operand(false, None)], ..next() }),
    ];
    for (i, (address, decoded)) in (0..).zip(code) {
        let is_write = decoded.memory.first().map(|o| o.is_write);
        pass.add_insn(InsnDef { address, ..InsnDef::default() }, decoded);
        let mem = is_write.map(|is_write| MemShape { is_write, size: 8, operand: 0 });
        pass.add_block(BlockDef {
            steps: vec![BlockStep { insn: i, executed: true, mem: mem.iter().len() as u16 }],
            mem: mem.into_iter().collect(),
        });
    }
    let handler = [3, 4, 5];
    let block =
        [&[0, 1][..], &handler, &[6, 7], &handler, &[2], &handler, &[8], &handler, &[9]].concat();
    let (one, other) = (0x5000, 0x6000);
    let entry = Event::ExceptionEntry(crate::event::ExceptionEntry::default());
    let back = Event::ExceptionReturn { thread: 0, frame: None };
    let at = [(2, 5), (7, 10), (11, 14), (15, 18)];
    let events = at.iter().flat_map(|&(i, j)| [(i, entry.clone()), (j, back.clone())]);
    pass.push(&RunBatch {
        block,
        addresses: vec![one, other, other, one, one, other, other, one, one],
        events: events.collect(),
        ..RunBatch::default()
    });
    let summary = pass.finish();
    let of_step = |origin: Origin<AccessRef>| match origin {
        Origin::Step(write) => write.seq.get(),
        Origin::Source(_) => 0,
    };
    let rows = pass.output().communications.iter();
    let found: Vec<_> = rows.map(|row| (of_step(row.write), row.read.seq.get())).collect();
    // The first load finds what nobody has stored.
    assert_eq!(found, [(0, 4), (1, 11), (6, 15), (1, 19)]);
    let kinds = calls(&mut pass);
    assert_eq!(kinds.iter().filter(|(kind, ..)| *kind == "root").count(), 2, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|(kind, ..)| *kind == "call").count(), 1, "{kinds:?}");
    assert_eq!(summary.signals, 4);
    let saved: Vec<u32> = pass.output().saved.iter().map(|row| row.restores).collect();
    assert_eq!(saved.iter().sum::<u32>(), 3, "{saved:?}");
}

/// What stays in a register from one run to the next is the thread's: also where only the last run of a batch is of
/// another thread.
#[test]
fn the_last_run_may_be_of_another_thread() {
    let access = |offset| RegAccess { span: RegSpan { offset, size: 8 }, control: false };
    for superblock_after in [1, u32::MAX] {
        let options = Options {
            saves: SaveRule::Literal,
            details: Details::Sums,
            superblock_after,
            sums: true,
            any_order: false,
        };
        let processor = Processor {
            fast: Vec::new(),
            given: Vec::new(),
            register_bytes: 64,
            slot: FrameSlot::ReturnSlot { bytes: 8 },
            link: None,
            frame: Vec::new(),
            long: Vec::new(),
        };
        let mut pass = Pass::new(Pages, Rows::default(), options, Vec::new(), processor);
        let next = || instruction(FlowKind::Next);
        let code = [
            Decoded { writes: vec![access(8)], ..next() },
            Decoded { reads: vec![access(8)], ..next() },
        ];
        for (i, decoded) in (0..).zip(code) {
            pass.add_insn(InsnDef { address: 0x100 + 4 * i, ..InsnDef::default() }, decoded);
            let step = BlockStep { insn: i as u32, executed: true, mem: 0 };
            pass.add_block(BlockDef { steps: vec![step], mem: Vec::new() });
        }
        let mut push = |thread: Vec<u32>| {
            pass.push(&RunBatch { block: vec![0, 1], thread, ..RunBatch::default() });
        };
        (0..5).for_each(|_| push(vec![0, 0]));
        push(vec![0, 1]);
        let summary = pass.finish();
        let bytes = |written: bool| {
            let flows = summary.function_flows.iter();
            let here = flows.filter(|f| matches!(f.writer, Origin::Step(_)) == written);
            here.map(|f| f.sums.bytes).sum::<u64>()
        };
        assert_eq!((bytes(true), bytes(false)), (40, 8));
        let steps: Vec<u64> = summary.threads.iter().map(|t| t.steps).collect();
        assert_eq!(steps, [11, 1]);
    }
}

/// A linked jump is a call, also where every run of a batch ends with one.
#[test]
fn linked_jumps_are_calls() {
    for superblock_after in [1, u32::MAX] {
        let options = Options {
            saves: SaveRule::Literal,
            details: Details::Instances,
            superblock_after,
            sums: true,
            any_order: false,
        };
        let link = RegSpan { offset: 56, size: 8 };
        let processor = Processor {
            fast: Vec::new(),
            given: Vec::new(),
            register_bytes: 64,
            slot: FrameSlot::StackPointer,
            link: Some(link),
            frame: Vec::new(),
            long: Vec::new(),
        };
        let mut pass = Pass::new(Pages, Rows::default(), options, Vec::new(), processor);
        let code = [0x100, 0x200].map(|address| (address, instruction(FlowKind::Jump)));
        for (i, (address, decoded)) in (0..).zip(code) {
            pass.add_insn(InsnDef { address, ..InsnDef::default() }, decoded);
            let step = BlockStep { insn: i, executed: true, mem: 0 };
            pass.add_block(BlockDef { steps: vec![step], mem: Vec::new() });
        }
        let end = RunEnd { sp: Some(0x7000), linked: true, destination: None };
        for _ in 0..4 {
            pass.push(&RunBatch { block: vec![0, 1], end: vec![end; 2], ..RunBatch::default() });
        }
        pass.finish();
        let found = calls(&mut pass);
        assert_eq!(found.iter().filter(|(kind, ..)| *kind == "call").count(), 7, "{found:?}");
    }
}

/// Where there is a link register, a function may return by a jump to what is in any register: however often it does.
#[test]
fn jumps_by_registers_are_returns_again_and_again() {
    for superblock_after in [1, u32::MAX] {
        let mut pass = pass_with(Details::Instances, 64, Vec::new());
        pass.superblocks = superblock::Superblocks::new(superblock_after);
        let code = [
            (0x100, FlowKind::Call),
            (0x104, FlowKind::Jump),
            (0x200, FlowKind::Next),
            (0x204, FlowKind::Jump),
        ];
        let code = code.map(|(address, kind)| (address, instruction(kind)));
        let mut pass = pass_of(pass, code.into());
        let end = RunEnd { sp: Some(0x7000), linked: false, destination: None };
        let (block, end) = ([0, 2, 3, 1].repeat(8), vec![end; 32]);
        pass.push(&RunBatch { block, end, ..RunBatch::default() });
        pass.finish();
        let found = calls(&mut pass);
        let returns = found.iter().filter(|found| (found.0, found.1) == ("call", "return"));
        assert_eq!((returns.count(), found.len()), (8, 9), "{superblock_after}: {found:?}");
    }
}

/// Where a call is the last instruction of a function, the entry of the next one is its return address: a jump there
/// is a tail call, and elsewhere it is a return.
#[test]
fn a_jump_to_an_entry_is_no_return() {
    for (at, expected) in [(0x1fc, ("call", "tail")), (0x1f8, ("call", "return"))] {
        let to = at + 4;
        let code = [(at, FlowKind::Call), (0x300, FlowKind::Jump), (to, FlowKind::Next)];
        let code = code.map(|(address, kind)| (address, instruction(kind)));
        let mut pass = pass_of(pass_with(Details::Instances, 64, Vec::new()), code.to_vec());
        let end = vec![RunEnd { sp: None, linked: false, destination: None }; 3];
        pass.push(&RunBatch { block: vec![0, 1, 2], end, ..RunBatch::default() });
        pass.finish();
        let found = calls(&mut pass);
        assert_eq!((found[1].0, found[1].1), expected, "{to:x}: {found:?}");
    }
}

/// With a link register, what was called may return to elsewhere in its caller (ARM's helpers for `switch`): not to
/// another function, not where its frame is still there. One that is over by then, or that has called somebody itself,
/// is unwound.
#[test]
fn where_in_its_caller_it_returns_to_may_be_computed() {
    let code = [
        (0x100, FlowKind::Call),
        (0x104, FlowKind::Next),
        (0x108, FlowKind::Jump),
        (0x200, FlowKind::Call),
        (0x204, FlowKind::Return),
        (0x300, FlowKind::Return),
        (0x400, FlowKind::Next),
    ];
    let code = code.map(|(address, kind)| (address, instruction(kind)));
    // Blocks, the stack pointer behind the last but one, and how the last call ended.
    for (blocks, sp, expected) in [
        (&[0, 5, 2][..], 0x7000, ("call", "return")),
        (&[0, 5, 1], 0x7000, ("call", "return")),
        (&[0, 5, 2], 0x7008, ("call", "unwound")),
        (&[0, 5, 2], 0x6ff8, ("call", "tail")),
        (&[0, 5, 6], 0x7000, ("call", "tail")),
        (&[0, 3, 5, 4, 2], 0x7000, ("call", "unwound")),
        (&[0, 4, 2], 0x7000, ("call", "return")),
    ] {
        let mut pass = pass_of(pass_with(Details::Instances, 64, Vec::new()), code.to_vec());
        let end = |sp| RunEnd { sp: Some(sp), linked: false, destination: None };
        let mut ends = vec![end(0x7000); blocks.len()];
        ends[blocks.len() - 2] = end(sp);
        pass.push(&RunBatch { block: blocks.to_vec(), end: ends, ..RunBatch::default() });
        pass.finish();
        let found = calls(&mut pass);
        assert_eq!((found[1].0, found[1].1), expected, "{blocks:?} {sp:x}: {found:?}");
    }
}

/// The same where an interrupt comes before it is there: what goes on is no other task.
#[test]
fn where_in_its_caller_it_returns_to_may_be_computed_before_an_interrupt() {
    let code = [
        (0x100, FlowKind::Call),
        (0x108, FlowKind::Next),
        (0x200, FlowKind::Return),
        (0x300, FlowKind::Call),
        (0x304, FlowKind::Return),
        (0x400, FlowKind::Return),
        (0x500, FlowKind::Next),
    ];
    let code = code.map(|(address, kind)| (address, instruction(kind)));
    for (there, expected) in [(1, vec!["return", "return", "return"]), (6, vec!["open"])] {
        let mut pass = pass_of(pass_with(Details::Instances, 64, Vec::new()), code.to_vec());
        let back = Event::ExceptionReturn { thread: 0, frame: None };
        let events = vec![(2, entry(None, crate::event::Keeps::None)), (5, back)];
        let block = vec![0, 2, 3, 5, 4, there];
        let ends = vec![RunEnd::default(); block.len()];
        pass.push(&RunBatch { block, end: ends, events, ..RunBatch::default() });
        pass.finish();
        let found = calls(&mut pass);
        // The root, what it called, the handler and what that called; another root for another task.
        let own = found.iter().skip(1).take(expected.len()).map(|found| found.1);
        assert!(own.eq(expected.iter().copied()), "{there}: {found:?}");
        assert_eq!(found.len(), if there == 1 { 4 } else { 5 }, "{found:?}");
    }
}

/// A jump that may go anywhere goes on in a live function (`longjmp`, exceptions), unless it gets to its entry, or the
/// stack pointer is not in its frame.
#[test]
fn a_jump_goes_back_to_a_live_function() {
    let code = [
        (0x100, FlowKind::Call),
        (0x108, FlowKind::Call),
        (0x200, FlowKind::Call),
        (0x300, FlowKind::Jump),
        (0x400, FlowKind::Next),
    ];
    let code = code.map(|(address, kind)| (address, instruction(kind)));
    let unwound = vec!["open", "unwound", "unwound"];
    // The last block, the stack pointers behind the calls and the jump, and how instances end in the order of their numbers.
    for (there, stack, expected) in [
        (1, [0x7000, 0x6ff0, 0x7000], unwound.clone()),
        (1, [0x7000, 0x6ff0, 0x6ff8], vec!["open", "open", "tail", "open"]),
        (0, [0x7000, 0x6ff0, 0x7000], vec!["open", "open", "tail", "open"]),
        (4, [0x7000, 0x6ff0, 0x7000], vec!["open", "open", "tail", "open"]),
    ] {
        for superblock_after in [1, u32::MAX] {
            let mut pass = pass_with(Details::Instances, 64, Vec::new());
            pass.superblocks = superblock::Superblocks::new(superblock_after);
            let mut pass = pass_of(pass, code.to_vec());
            let end = |sp| RunEnd { sp: Some(sp), linked: false, destination: None };
            let ends = [stack[0], stack[1], stack[2], stack[0]].map(end);
            let block = vec![0, 2, 3, there];
            pass.push(&RunBatch { block, end: ends.into(), ..RunBatch::default() });
            pass.finish();
            let found: Vec<_> = calls(&mut pass).iter().map(|found| found.1).collect();
            assert_eq!(found, expected, "{there} {stack:x?}");
        }
    }
}

/// The same again and again, where no register may hold a return address: what follows the jump is no part of its block.
#[test]
fn a_jump_goes_back_again_and_again() {
    for superblock_after in [1, u32::MAX] {
        let mut pass = empty_pass();
        pass.superblocks = superblock::Superblocks::new(superblock_after);
        let code = [
            (0x100, FlowKind::Call),
            (0x108, FlowKind::Call),
            (0x200, FlowKind::Call),
            (0x300, FlowKind::Jump),
        ];
        let code = code.map(|(address, kind)| (address, instruction(kind)));
        // Communications inside an instance keep blocks apart: rows between instances do not.
        pass.machine.data.options.details = Details::Instances;
        let mut pass = pass_of(pass, code.into());
        let block = [vec![0], [2, 3, 1].repeat(8)].concat();
        pass.push(&RunBatch { block, ..RunBatch::default() });
        pass.finish();
        let found = calls(&mut pass);
        let unwound = found.iter().filter(|found| (found.0, found.1) == ("call", "unwound"));
        assert_eq!((unwound.count(), found.len()), (16, 17), "{superblock_after}: {found:?}");
    }
}

/// Code of `main` (pages 1), of what switches stacks (2), and of a coroutine (3) with what it calls (4), on a processor with a link
/// register. Runs: a block, its stack pointer behind it, and where that was moved from before the next run.
fn with_stacks(
    runs: &[(u32, u64, Option<u64>)],
    threads: &[u32],
) -> Vec<(&'static str, &'static str, u32)> {
    let code = [
        (0x100, FlowKind::Call),
        (0x104, FlowKind::Jump),
        (0x200, FlowKind::Jump),
        (0x300, FlowKind::Call),
        (0x304, FlowKind::Call),
        (0x308, FlowKind::Return),
        (0x400, FlowKind::Call),
        (0x404, FlowKind::Return),
    ];
    let code = code.map(|(address, kind)| (address, instruction(kind)));
    let mut pass = pass_of(pass_with(Details::Instances, 64, Vec::new()), code.to_vec());
    let mut batch = RunBatch::default();
    for (at, &(block, sp, moved)) in runs.iter().enumerate() {
        batch.block.push(block);
        batch.thread.push(threads.get(at).copied().unwrap_or(0));
        batch.end.push(RunEnd { sp: Some(sp), linked: false, destination: None });
        if let Some(before) = moved {
            let thread = batch.thread[at];
            batch.events.push((
                at as u32 + 1,
                Event::StackPointer { thread, before, behind: sp, above: Box::default() },
            ));
        }
    }
    pass.push(&batch);
    pass.finish();
    calls(&mut pass)
}

/// A coroutine goes on where it was, in the calls that waited, and so does who had begun it.
#[test]
fn calls_wait_on_their_stacks() {
    let (main, co) = (0x7000, 0x9000);
    let runs = [
        (0, main, None),
        // It begins.
        (2, co, Some(main)),
        (3, co - 16, None),
        (6, co - 32, None),
        // Back to `main` behind its call, and again to what the coroutine had called.
        (2, main, Some(co - 32)),
        (1, main, None),
        (0, main, None),
        (2, co - 32, Some(main)),
        (7, co - 16, None),
        (4, co - 16, None),
        (7, co - 16, None),
        (5, co, None),
    ];
    let found = with_stacks(&runs, &[]);
    let expected = [
        ("root", "open", 0),
        ("call", "return", 1),
        ("root", "open", 0),
        ("call", "return", 3),
        ("call", "return", 4),
        ("call", "open", 1),
        ("call", "return", 3),
    ];
    assert_eq!(found, expected);
}

/// The handler of a signal ends with a system call. What it has stored elsewhere may not be in the registers again, as
/// where an exception was caught in it: that is no other task. Where the processor returns it is.
#[test]
fn a_handler_that_a_kernel_ends_switches_no_task() {
    let register = RegSpan { offset: 16, size: 8 };
    for (last, roots) in [(FlowKind::Syscall, 1), (FlowKind::ExceptionReturn, 2)] {
        let mut store = moves(true, register);
        store.memory[0].stack_relative = false;
        let code = vec![
            (0x100, moves(false, register)),
            (0x104, instruction(FlowKind::Next)),
            (0x200, store),
            (0x204, moves(false, register)),
            (0x208, instruction(last)),
        ];
        let mut pass = pass_of(pass_with(Details::Instances, 64, Vec::new()), code);
        let back = Event::ExceptionReturn { thread: 0, frame: None };
        let events = vec![(1, entry(None, crate::event::Keeps::None)), (4, back)];
        let (block, addresses) = (vec![0, 2, 3, 4, 1], vec![0x6000, 0x9000, 0x6100]);
        let end = vec![RunEnd::default(); block.len()];
        pass.push(&RunBatch { block, addresses, end, events, ..RunBatch::default() });
        pass.finish();
        let found = calls(&mut pass);
        let is_root = |found: &&(&str, &str, u32)| found.0 == "root";
        assert_eq!(found.iter().filter(is_root).count(), roots, "{last:?}: {found:?}");
    }
}

/// An exception may be the first that a trace tells of a thread.
#[test]
fn an_exception_comes_before_the_first_step() {
    let mut pass = pass(&[(0x100, FlowKind::Next, None), (0x204, FlowKind::ExceptionReturn, None)]);
    let entry = |thread| {
        Event::ExceptionEntry(crate::event::ExceptionEntry {
            thread,
            ..crate::event::ExceptionEntry::default()
        })
    };
    pass.push(&RunBatch {
        block: vec![1, 0],
        events: vec![(0, entry(0)), (1, Event::ExceptionReturn { thread: 0, frame: None })],
        ..RunBatch::default()
    });
    pass.finish();
    let found = calls(&mut pass);
    assert_eq!(found.iter().filter(|(kind, ..)| *kind == "signal").count(), 1, "{found:?}");
}

/// Of threads that made no step a trace may tell, too.
#[test]
fn a_thread_without_steps_returns_from_no_exception() {
    let mut pass = pass(&[(0x100, FlowKind::Next, None), (0x104, FlowKind::Next, None)]);
    let events = [0, 1, 2].map(|thread| (1, Event::ExceptionReturn { thread, frame: None }));
    pass.push(&RunBatch { block: vec![0, 1], events: events.into(), ..RunBatch::default() });
    pass.finish();
    assert_eq!(calls(&mut pass), [("root", "open", 0)]);
}

/// A process begins with no memory, from the first address on.
#[test]
fn another_process_knows_nothing_of_memory() {
    for address in [0, 1 << 63, u64::MAX - 15] {
        let mut pass = pass(&[(0x100, FlowKind::Next, STORE), (0x104, FlowKind::Next, LOAD)]);
        for event in [Event::ProcessStart, Event::Gap] {
            pass.push(&RunBatch {
                block: vec![0, 1],
                addresses: vec![address, address],
                events: vec![(1, event)],
                ..RunBatch::default()
            });
        }
        let summary = pass.finish();
        let written = summary.function_flows.iter().filter(|f| matches!(f.writer, Origin::Step(_)));
        assert_eq!(written.count(), 0, "{address:x}");
    }
}

/// The stack pointer before the first access to the stack: above what a push stores, which writes a register of control
/// that holds an address.
#[test]
fn the_first_stack_pointer_is_above_what_is_pushed() {
    for (size, expected) in [(8, 0x7008), (4, 0x7008), (2, 0x7000)] {
        let mut pass = empty_pass();
        let sp = RegAccess { span: RegSpan { offset: 32, size }, control: true };
        let operand =
            MemOperand { stack_relative: true, ..MemOperand::plain(true, 8, Expr::Unknown) };
        let push =
            Decoded { memory: vec![operand], writes: vec![sp], ..instruction(FlowKind::Next) };
        pass.add_insn(InsnDef { address: 0x100, ..InsnDef::default() }, push);
        let step = BlockStep { insn: 0, executed: true, mem: 1 };
        let mem = vec![MemShape { is_write: true, size: 8, operand: 0 }];
        pass.add_block(BlockDef { steps: vec![step], mem });
        let batch = RunBatch { block: vec![0], addresses: vec![0x7000], ..RunBatch::default() };
        assert!(pass.find_first_sp(&batch));
        assert_eq!(pass.first_stack_pointer(), Some(expected));
        pass.set_first_stack_pointer(None);
        pass.push(&batch);
        assert_eq!(pass.finish().first_sp, None);
    }
}

/// What a handler has stored in the processor's frame is in the register again when it has ended, with who stored it.
#[test]
fn what_a_handler_stores_in_the_frame_goes_back_to_the_register() {
    for own_store in [true, false] {
        let register = RegSpan { offset: 8, size: 8 };
        let access = RegAccess { span: register, control: false };
        let options = Options {
            saves: SaveRule::Transparent,
            details: Details::Local,
            superblock_after: u32::MAX,
            sums: true,
            any_order: false,
        };
        let halves = [(2, RegSpan { offset: 8, size: 4 }), (3, RegSpan { offset: 12, size: 4 })];
        let processor = Processor {
            fast: Vec::new(),
            given: Vec::new(),
            register_bytes: 64,
            slot: FrameSlot::StackPointer,
            link: None,
            frame: halves.into(),
            long: Vec::new(),
        };
        let mut pass = Pass::new(Pages, Rows::default(), options, Vec::new(), processor);
        let next = || instruction(FlowKind::Next);
        let store = Decoded { memory: vec![MemOperand::plain(true, 8, Expr::Unknown)], ..next() };
        let code = [
            (0x100, Decoded { writes: vec![access], ..next() }),
            (0x200, store),
            (0x204, instruction(FlowKind::ExceptionReturn)),
            (0x104, Decoded { reads: vec![access], ..next() }),
        ];
        for (i, (address, decoded)) in (0..).zip(code) {
            let mem = decoded.memory.first().map(|o| MemShape {
                is_write: o.is_write,
                size: 8,
                operand: 0,
            });
            pass.add_insn(InsnDef { address, ..InsnDef::default() }, decoded);
            pass.add_block(BlockDef {
                steps: vec![BlockStep { insn: i, executed: true, mem: mem.iter().len() as u16 }],
                mem: mem.into_iter().collect(),
            });
        }
        let frame = 0x7000;
        let entry = crate::event::ExceptionEntry {
            frame: Some(frame),
            keeps: crate::event::Keeps::Frame,
            ..crate::event::ExceptionEntry::default()
        };
        let kept = system_call(true, frame, 32, Some("<exception frame>"));
        pass.push(&RunBatch {
            block: vec![0, 1, 2, 3],
            // Where the register lies in the frame, or elsewhere.
            addresses: vec![if own_store { frame + 8 } else { 0x9000 }],
            events: vec![
                (1, kept),
                (1, Event::ExceptionEntry(entry)),
                (3, Event::ExceptionReturn { thread: 0, frame: Some(frame) }),
            ],
            ..RunBatch::default()
        });
        let summary = pass.finish();
        let writer = if own_store { 1 } else { 0 };
        let rows = &pass.output().communications;
        let [row] = &rows[..] else { panic!("{rows:?}") };
        let Origin::Step(write) = row.write else { panic!("{row:?}") };
        assert_eq!((write.seq.get(), row.read.seq.get(), row.bytes), (1 + writer, 4, 8));
        let flow = summary.instruction_flows.iter().find(|f| f.reader == InstructionId::at(3));
        let flow = flow.expect("it was read");
        assert_eq!(flow.writer, Origin::Step(InstructionId::at(writer as usize)));
        assert_eq!((flow.bytes, flow.transfers), (8, 1));
    }
}

/// Code that had ended goes on: what the handler's last step would have gone to is run.
#[test]
fn a_handler_that_had_ended_goes_on() {
    let mut pass = pass(&[
        (0x100, FlowKind::Next, None),
        (0x200, FlowKind::Next, None),
        (0x104, FlowKind::Next, None),
        (0x204, FlowKind::Next, None),
    ]);
    pass.push(&RunBatch { block: vec![0, 1, 2, 3], ..RunBatch::default() });
    pass.finish();
    let found = &pass.interleaving;
    assert_eq!((found.resumed, found.woken, found.first), (1, 0, Seq::new(4)));
    // A handler that returns does not go on there: the same address begins another signal.
    let mut pass = self::pass(&[
        (0x100, FlowKind::Next, None),
        (0x200, FlowKind::Return, None),
        (0x104, FlowKind::Next, None),
        (0x204, FlowKind::Next, None),
    ]);
    pass.push(&RunBatch { block: vec![0, 1, 2, 3], ..RunBatch::default() });
    pass.finish();
    assert_eq!((pass.interleaving.resumed, pass.interleaving.first), (0, None));
    // Behind a system call a thread that waited goes on.
    let mut pass = self::pass(&[
        (0x100, FlowKind::Syscall, None),
        (0x200, FlowKind::Next, None),
        (0x104, FlowKind::Next, None),
        (0x300, FlowKind::Next, None),
    ]);
    pass.push(&RunBatch { block: vec![1, 2], ..RunBatch::default() });
    pass.finish();
    assert_eq!((pass.interleaving.resumed, pass.interleaving.woken), (0, 1));
}

/// What a save stored stands elsewhere, too: it is exposed there when the place where it stood is overwritten.
#[test]
fn a_copy_of_a_save_exposes_it() {
    for copied in [true, false] {
        let mut pass = empty_pass();
        let register = RegSpan { offset: 8, size: 8 };
        let access = RegAccess { span: register, control: false };
        let operand = |is_write, data_register| MemOperand {
            data_register,
            stack_relative: true,
            ..MemOperand::plain(is_write, 8, Expr::Unknown)
        };
        let next = || instruction(FlowKind::Next);
        let code = [
            (0x100, Decoded { writes: vec![access], ..instruction(FlowKind::Call) }),
            (
                0x200,
                Decoded {
                    reads: vec![access],
                    memory: vec![operand(true, Some(register))],
                    ..next()
                },
            ),
            (0x204, Decoded { memory: vec![operand(true, None)], ..next() }),
            (0x208, Decoded { memory: vec![operand(false, None)], ..next() }),
        ];
        for (i, (address, decoded)) in (0..).zip(code) {
            let mem = decoded.memory.first().map(|o| MemShape {
                is_write: o.is_write,
                size: 8,
                operand: 0,
            });
            pass.add_insn(InsnDef { address, ..InsnDef::default() }, decoded);
            pass.add_block(BlockDef {
                steps: vec![BlockStep { insn: i, executed: true, mem: mem.iter().len() as u16 }],
                mem: mem.into_iter().collect(),
            });
        }
        let copy = Event::MemoryCopy { from: 0x5000, to: 0x9000, bytes: 0x1000 };
        pass.push(&RunBatch {
            block: vec![0, 1, 2, 3],
            addresses: vec![0x5000, 0x5000, 0x9000],
            events: if copied { vec![(2, copy)] } else { Vec::new() },
            ..RunBatch::default()
        });
        pass.finish();
        let saved = &pass.output().saved;
        let [save] = &saved[..] else { panic!("{saved:?}") };
        assert_eq!(save.exposed, if copied { Seq::new(4) } else { None });
    }
}

/// What nobody wrote is the stack's start from the first stack pointer on, byte by byte of words.
#[test]
fn the_kernel_reads_both_sides_of_the_first_stack_pointer() {
    let mut pass = pass(&[(0x100, FlowKind::Syscall, None)]);
    pass.set_first_stack_pointer(Some(0x7008));
    pass.push(&RunBatch {
        block: vec![0],
        events: vec![(1, system_call(false, 0x7000, 0x14, None))],
        ..RunBatch::default()
    });
    let summary = pass.finish();
    let bytes = |side| {
        let of = Origin::Source(Source::Initial(side));
        let flows = summary.function_flows.iter().filter(|f| f.writer == of);
        flows.map(|f| f.sums.bytes).sum::<u64>()
    };
    assert_eq!((bytes(StackSide::Below), bytes(StackSide::Above)), (8, 12));
}

/// An instance that reads what more instances wrote than are kept at a time: flows are handed out in parts, and nothing
/// is lost.
#[test]
fn flows_of_very_many_writers_are_parts() {
    const WRITERS: u64 = 70_000;
    let stub = 0x100 * STUB as u64;
    let mut pass = pass(&[
        (0x100, FlowKind::Call, None),
        (stub, FlowKind::Next, STORE),
        (stub + 4, FlowKind::Return, None),
        (0x104, FlowKind::Jump, None),
        (0x108, FlowKind::Jump, LOAD),
    ]);
    let (mut block, mut addresses) = (Vec::new(), Vec::new());
    for i in 0..WRITERS {
        block.extend([0, 1, 2, 3]);
        addresses.push(0x10_0000 + 8 * i);
    }
    block.extend((0..WRITERS).map(|_| 4));
    addresses.extend_from_within(..);
    pass.push(&RunBatch { block, addresses, ..RunBatch::default() });
    let summary = pass.finish();
    let (writer, reader) = (Origin::Step(FunctionId::at(STUB)), Origin::Step(FunctionId::at(1)));
    let sums: Vec<_> = summary.function_flows.iter().filter(|f| f.writer == writer).collect();
    let [flow] = &sums[..] else { panic!("{sums:?}") };
    let all = 8 * WRITERS;
    assert_eq!(flow.reader, reader);
    let sums = flow.sums;
    assert_eq!((sums.bytes, sums.unique, sums.transfers, sums.addresses), (all, all, WRITERS, all));
    // The writers are instances of a stub: merged, their caller wrote.
    let merged = summary.stub_flows.iter().filter(|f| f.reader == reader && f.writer == reader);
    assert_eq!(merged.map(|f| f.sums.bytes).sum::<u64>(), all);
    let rows = &pass.output().flows;
    assert!(rows.iter().all(|row| row.part) && rows.len() >= WRITERS as usize);
    assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), all);
    let root = pass.output().calls.iter().position(|call| call.parent.is_none()).expect("a root");
    assert_eq!(pass.output().bytes_in[root], Some(all));
}

/// A register is saved, a part of it again, and restored: who reads it then has read what the save of the part reads
/// when it is exposed.
#[test]
fn a_save_of_a_part_knows_what_is_read_after_a_restore() {
    let register = RegSpan { offset: 8, size: 8 };
    let half = RegSpan { size: 4, ..register };
    let access = || vec![RegAccess { span: register, control: false }];
    let next = || instruction(FlowKind::Next);
    let code = vec![
        (0x100, Decoded { writes: access(), ..instruction(FlowKind::Call) }),
        (0x200, moves(true, register)),
        (0x204, moves(true, half)),
        (0x208, Decoded { writes: access(), ..next() }),
        (0x20c, moves(false, register)),
        (0x210, Decoded { reads: access(), ..next() }),
        (0x214, Decoded { memory: vec![MemOperand::plain(false, 4, Expr::Unknown)], ..next() }),
    ];
    let mut pass = pass_of(empty_pass(), code);
    pass.push(&RunBatch {
        block: (0..7).collect(),
        addresses: vec![0x5000, 0x5008, 0x5000, 0x5008],
        ..RunBatch::default()
    });
    let summary = pass.finish();
    let (writer, reader) = (Origin::Step(FunctionId::at(1)), Origin::Step(FunctionId::at(2)));
    let flows = summary.function_flows.iter();
    let flow = flows.clone().find(|f| (f.writer, f.reader) == (writer, reader)).expect("it reads");
    // Eight bytes are read, and four of them again by the save.
    assert_eq!((flow.sums.bytes, flow.sums.unique, flow.sums.transfers), (12, 8, 2));
    let mut saved = pass.output().saved.clone();
    saved.sort_by_key(|save| save.save);
    let found = saved.iter().map(|save| (save.restores, save.exposed));
    assert_eq!(found.collect::<Vec<_>>(), [(1, None), (0, Seq::new(7))]);
}

/// An access that a trace tells without its operand is that of the decoder's, with its register.
#[test]
fn accesses_without_an_operand_are_matched() {
    let register = RegSpan { offset: 8, size: 8 };
    let mut pass = empty_pass();
    for (insn, is_write) in [(0, true), (1, false)] {
        let address = 0x100 + 4 * u64::from(insn);
        pass.add_insn(InsnDef { address, ..InsnDef::default() }, moves(is_write, register));
        let mem = vec![MemShape { is_write, size: 8, operand: MemShape::NO_OPERAND }];
        pass.add_block(BlockDef { steps: vec![BlockStep { insn, executed: true, mem: 1 }], mem });
    }
    pass.push(&RunBatch {
        block: vec![0, 1],
        addresses: vec![0x5000, 0x5000],
        ..RunBatch::default()
    });
    pass.finish();
    let restores: Vec<_> = pass.output().saved.iter().map(|save| save.restores).collect();
    assert_eq!(restores, [1]);
}

/// A pass over what processors with a link register have, of any details.
fn pass_with(
    details: Details,
    register_bytes: usize,
    frame: Vec<(u64, RegSpan)>,
) -> Pass<Pages, Rows> {
    let options = super::random::options(SaveRule::Transparent, details, u32::MAX);
    let processor = Processor {
        fast: frame.clone(),
        given: Vec::new(),
        register_bytes,
        slot: FrameSlot::StackPointer,
        link: Some(RegSpan { offset: 48, size: 8 }),
        frame,
        long: Vec::new(),
    };
    Pass::new(Pages, Rows::default(), options, Vec::new(), processor)
}

const ALL_DETAILS: [Details; 4] =
    [Details::Sums, Details::Instances, Details::Crossing, Details::Local];

fn writes(register: RegSpan) -> Decoded {
    let writes = vec![RegAccess { span: register, control: false }];
    Decoded { writes, ..instruction(FlowKind::Next) }
}

fn reads(register: RegSpan) -> Decoded {
    let reads = vec![RegAccess { span: register, control: false }];
    Decoded { reads, ..instruction(FlowKind::Next) }
}

fn entry(frame: Option<u64>, keeps: crate::event::Keeps) -> Event {
    let entry = crate::event::ExceptionEntry::default();
    Event::ExceptionEntry(crate::event::ExceptionEntry { frame, keeps, ..entry })
}

fn sums_between(
    summary: &summary::Summary,
    writer: usize,
    reader: usize,
) -> Option<sums::PairSums> {
    let pair = (Origin::Step(FunctionId::at(writer)), Origin::Step(FunctionId::at(reader)));
    let mut flows = summary.function_flows.iter();
    flows.find(|f| (f.writer, f.reader) == pair).map(|f| f.sums)
}

/// What a handler has saved for others is read where a handler loads another value than was stored, and restored where
/// it loads the same one, though the same instruction has read it before.
#[test]
fn a_load_of_another_value_is_no_restore() {
    use crate::event::Keeps;
    let register = RegSpan { offset: 8, size: 8 };
    let elsewhere = |is_write| {
        let mut decoded = moves(is_write, register);
        decoded.memory[0].stack_relative = false;
        decoded
    };
    for details in ALL_DETAILS {
        let code = vec![
            (0x100, writes(register)),
            (0x104, instruction(FlowKind::Jump)),
            (0x200, elsewhere(true)),
            (0x204, instruction(FlowKind::ExceptionReturn)),
            (0x300, elsewhere(false)),
            (0x304, instruction(FlowKind::ExceptionReturn)),
        ];
        let mut pass = pass_of(pass_with(details, 64, Vec::new()), code);
        let back = Event::ExceptionReturn { thread: 0, frame: None };
        let at = [(2, 4), (5, 7), (8, 10)];
        let events = at
            .iter()
            .flat_map(|&(from, to)| [(from, entry(None, Keeps::None)), (to, back.clone())]);
        pass.push(&RunBatch {
            block: vec![0, 1, 2, 3, 1, 4, 5, 1, 4, 5, 1],
            addresses: vec![0x5000; 3],
            values: vec![Some(5), Some(6), Some(5)],
            events: events.collect(),
            ..RunBatch::default()
        });
        let summary = pass.finish();
        let sums = sums_between(&summary, 1, 3).expect("it is read once");
        assert_eq!((sums.bytes, sums.unique, sums.transfers), (8, 8, 1), "{details:?}");
    }
}

/// Each write of the kernel is one of its own, whatever the processor writes between them: the link register, and the
/// registers of a task that begins.
#[test]
fn writes_of_the_kernel_are_told_apart() {
    use crate::event::Keeps;
    for words in 1..4 {
        let frame =
            (0..words).map(|i| (i, RegSpan { offset: 8 + 4 * i as u16, size: 4 })).collect();
        let load = MemOperand::plain(false, 24, Expr::Unknown);
        let code = vec![
            (0x100, instruction(FlowKind::Next)),
            (0x200, instruction(FlowKind::ExceptionReturn)),
            (0x300, instruction(FlowKind::Next)),
            (0x304, Decoded { memory: vec![load], ..instruction(FlowKind::Next) }),
        ];
        let mut pass = pass_of(pass_with(Details::Local, 64, frame), code);
        let write = |address| system_call(true, address, 8, None);
        pass.push(&RunBatch {
            block: vec![0, 1, 2, 3],
            addresses: vec![0x5000],
            events: vec![
                (1, write(0x5000)),
                (1, entry(Some(0x7000), Keeps::Frame)),
                (1, write(0x5008)),
                // Another task, which nobody knows.
                (2, Event::ExceptionReturn { thread: 0, frame: Some(0x7100) }),
                (3, write(0x5010)),
            ],
            ..RunBatch::default()
        });
        let summary = pass.finish();
        let reader = Origin::Step(FunctionId::at(3));
        let flows = summary.function_flows.iter().filter(|f| f.reader == reader);
        let sums: Vec<_> = flows.map(|f| (f.sums.bytes, f.sums.transfers)).collect();
        assert_eq!(sums, [(24, 3)], "{words}");
    }
}

/// A task that one processor has left goes on on another one: no call begins anew there.
#[test]
fn a_task_goes_on_in_another_thread() {
    use crate::event::{ExceptionEntry, Keeps};
    let code = vec![
        (0x100, instruction(FlowKind::Call)),
        (0x200, instruction(FlowKind::Next)),
        (0x204, instruction(FlowKind::Return)),
        (0x104, instruction(FlowKind::Next)),
        (0x300, instruction(FlowKind::Next)),
        (0x304, instruction(FlowKind::ExceptionReturn)),
        (0x400, instruction(FlowKind::Next)),
        (0x500, instruction(FlowKind::Next)),
    ];
    let frame = vec![(0, RegSpan { offset: 8, size: 4 })];
    let mut pass = pass_of(pass_with(Details::Local, 64, frame), code);
    let taken = |thread, frame| {
        let frame = Some(frame);
        let entry = ExceptionEntry { thread, frame, keeps: Keeps::Frame, ..Default::default() };
        Event::ExceptionEntry(entry)
    };
    let back = |thread, frame| Event::ExceptionReturn { thread, frame: Some(frame) };
    pass.push(&RunBatch {
        block: vec![0, 1, 4, 5, 6, 7, 4, 5, 2, 3],
        thread: vec![0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
        events: vec![
            (2, taken(0, 0x7000)),
            (4, back(0, 0x7100)),
            (6, taken(1, 0x7200)),
            (8, back(1, 0x7000)),
        ],
        ..RunBatch::default()
    });
    let summary = pass.finish();
    let calls: Vec<u64> = summary.functions.iter().map(|f| f.calls).collect();
    assert_eq!(calls[1..6], [1, 1, 2, 1, 1]);
    let steps: Vec<u64> = summary.threads.iter().map(|t| t.steps).collect();
    assert_eq!(steps, [5, 5]);
}

/// What a fast interrupt has of its own is neither of what it interrupts, nor left to it.
#[test]
fn a_fast_interrupt_has_registers_of_its_own() {
    use crate::event::Keeps;
    let register = RegSpan { offset: 8, size: 4 };
    for (keeps, banked) in [(Keeps::Fast, true), (Keeps::Link, false)] {
        let code = vec![
            (0x100, writes(register)),
            (0x200, reads(register)),
            (0x204, writes(register)),
            (0x208, instruction(FlowKind::ExceptionReturn)),
            (0x104, reads(register)),
        ];
        let mut pass = pass_of(pass_with(Details::Local, 64, vec![(0, register)]), code);
        let back = Event::ExceptionReturn { thread: 0, frame: None };
        pass.push(&RunBatch {
            block: vec![0, 1, 2, 3, 4],
            events: vec![(1, entry(None, keeps)), (4, back)],
            ..RunBatch::default()
        });
        let summary = pass.finish();
        let bytes = |writer, reader| sums_between(&summary, writer, reader).map(|sums| sums.bytes);
        let found = [bytes(1, 1), bytes(1, 2), bytes(2, 1)];
        let expected = if banked { [Some(4), None, None] } else { [None, Some(4), Some(4)] };
        assert_eq!(found, expected, "{keeps:?}");
    }
}

/// A byte of a register that a handler stores in the frame goes back to that byte.
#[test]
fn what_a_handler_stores_in_the_frame_is_of_a_byte() {
    use crate::event::Keeps;
    let (register, byte) = (RegSpan { offset: 8, size: 4 }, RegSpan { offset: 9, size: 1 });
    let store = MemOperand::plain(true, 1, Expr::Unknown);
    let code = vec![
        (0x100, writes(register)),
        (0x104, writes(byte)),
        (0x200, Decoded { memory: vec![store], ..instruction(FlowKind::Next) }),
        (0x204, instruction(FlowKind::ExceptionReturn)),
        (0x108, reads(register)),
    ];
    let mut pass = pass_of(pass_with(Details::Local, 64, vec![(2, register)]), code);
    pass.push(&RunBatch {
        block: vec![0, 1, 2, 3, 4],
        addresses: vec![0x7009],
        events: vec![
            (2, system_call(true, 0x7000, 32, Some("<exception frame>"))),
            (2, entry(Some(0x7000), Keeps::Frame)),
            (4, Event::ExceptionReturn { thread: 0, frame: Some(0x7000) }),
        ],
        ..RunBatch::default()
    });
    let summary = pass.finish();
    let row = |row: &Communication| match row.write {
        Origin::Step(write) => (write.seq.get(), row.address, row.bytes),
        Origin::Source(_) => (0, row.address, row.bytes),
    };
    let found: Vec<_> = pass.output().communications.iter().map(row).collect();
    assert_eq!(found, [(1, 8, 1), (3, 9, 1), (1, 10, 2)]);
    // Nobody had read it in the register.
    let sums = sums_between(&summary, 2, 1).expect("it is read");
    assert_eq!((sums.bytes, sums.unique, sums.transfers), (1, 1, 1));
}

/// What lies on both sides of the registers that are kept as recent is written after what was recent of it.
#[test]
fn a_register_may_reach_beyond_what_is_recent() {
    for details in ALL_DETAILS {
        let last = RegSpan { offset: 120, size: 8 };
        let wide = RegSpan { size: 16, ..last };
        let mut pass = pass_with(details, 160, Vec::new());
        for (i, decoded) in (0..).zip([
            writes(last),
            writes(RegSpan { offset: 0, size: 8 }),
            writes(wide),
            reads(last),
        ]) {
            pass.add_insn(InsnDef { address: 0x100 + 4 * i, ..InsnDef::default() }, decoded);
        }
        for insns in [&[0][..], &[1, 2], &[3]] {
            let step = |insn: &u32| BlockStep { insn: *insn, executed: true, mem: 0 };
            pass.add_block(BlockDef { steps: insns.iter().map(step).collect(), mem: Vec::new() });
        }
        pass.push(&RunBatch { block: vec![0, 1, 2], ..RunBatch::default() });
        let summary = pass.finish();
        let sums = sums_between(&summary, 1, 1).expect("it is read");
        assert_eq!((sums.bytes, sums.unique, sums.transfers), (8, 8, 1), "{details:?}");
        if details > Details::Sums {
            let flows: Vec<_> = summary.instruction_flows.iter().map(|f| f.writer).collect();
            assert_eq!(flows, [Origin::Step(InstructionId::at(2))], "{details:?}");
        }
    }
}

/// A step that was interrupted is tried again behind the handler: that is no transfer of control.
#[test]
fn a_step_that_failed_is_tried_again() {
    use crate::event::Keeps;
    let code = vec![
        (0x100, instruction(FlowKind::Next)),
        (0x200, instruction(FlowKind::ExceptionReturn)),
        (0x104, instruction(FlowKind::Next)),
    ];
    let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code);
    let back = Event::ExceptionReturn { thread: 0, frame: None };
    pass.push(&RunBatch {
        block: vec![0, 1, 0, 2],
        events: vec![(1, entry(None, Keeps::None)), (2, back)],
        ..RunBatch::default()
    });
    let summary = pass.finish();
    assert_eq!(summary.signals, 1);
    assert_eq!(calls(&mut pass), [("root", "open", 0), ("signal", "return", 1)]);
}

/// What a handler has saved for others is read by a function that is no handler's, whether or not it has saved the same
/// register itself.
#[test]
fn only_handlers_restore_what_others_saved() {
    use crate::event::Keeps;
    let register = RegSpan { offset: 8, size: 8 };
    let mut store = moves(true, register);
    store.memory[0].stack_relative = false;
    for (details, saves) in ALL_DETAILS.into_iter().flat_map(|d| [(d, false), (d, true)]) {
        let code = vec![
            (0x100, writes(register)),
            (0x104, instruction(FlowKind::Call)),
            (0x200, store.clone()),
            (0x204, instruction(FlowKind::ExceptionReturn)),
            (0x300, moves(true, register)),
            (0x304, moves(false, register)),
        ];
        let mut pass = pass_of(pass_with(details, 64, Vec::new()), code);
        let back = Event::ExceptionReturn { thread: 0, frame: None };
        let (block, addresses) = match saves {
            true => (vec![0, 2, 3, 1, 4, 5], vec![0x5000, 0x6ff0, 0x5000]),
            false => (vec![0, 2, 3, 1, 5], vec![0x5000, 0x5000]),
        };
        let end = RunEnd { sp: Some(0x7000), linked: false, destination: None };
        pass.push(&RunBatch {
            end: vec![end; block.len()],
            block,
            addresses,
            events: vec![(1, entry(None, Keeps::None)), (3, back)],
            ..RunBatch::default()
        });
        let summary = pass.finish();
        let sums = sums_between(&summary, 1, 3).expect("it is read");
        assert_eq!((sums.bytes, sums.transfers), (8, 1), "{details:?} {saves}");
    }
}

/// Where a return loads its address is stack, though nobody has stored there.
#[test]
fn a_return_touches_the_stack() {
    for details in ALL_DETAILS {
        let load = MemOperand::plain(false, 8, Expr::Unknown);
        let load = MemOperand { stack_relative: true, control: true, ..load };
        let code = vec![
            (0x100, Decoded { memory: vec![load], ..instruction(FlowKind::Return) }),
            (0x200, instruction(FlowKind::Next)),
        ];
        let mut pass = pass_of(pass_with(details, 64, Vec::new()), code);
        pass.push(&RunBatch { block: vec![0, 1], addresses: vec![0x7008], ..RunBatch::default() });
        let summary = pass.finish();
        let regions: Vec<_> = summary.regions.iter().map(|r| (r.first, r.is_stack)).collect();
        assert_eq!(regions, [(0x7000, true)], "{details:?}");
        assert!(summary.function_flows.is_empty());
    }
}

/// A save lies in the 8 MiB below the frame top; where that is not known, it is stack relative.
#[test]
fn a_save_lies_in_the_frame() {
    const TOP: u64 = 0x7000_0000;
    let register = RegSpan { offset: 8, size: 8 };
    for (sp, address, stack_relative, is_save) in [
        (Some(TOP), TOP - 8, false, true),
        (Some(TOP), TOP - 7, true, false),
        (Some(TOP), TOP, true, false),
        (Some(TOP), TOP - (8 << 20), false, true),
        (Some(TOP), TOP - (8 << 20) - 1, true, false),
        (None, 0x5000, true, true),
        (None, 0x5000, false, false),
    ] {
        let mut store = moves(true, register);
        store.memory[0].stack_relative = stack_relative;
        let call = Decoded { writes: writes(register).writes, ..instruction(FlowKind::Call) };
        let code = vec![(0x100, call), (0x200, store)];
        let mut pass = pass_of(pass_with(Details::Instances, 64, Vec::new()), code);
        pass.push(&RunBatch {
            block: vec![0, 1],
            addresses: vec![address],
            end: vec![RunEnd { sp, linked: false, destination: None }; 2],
            ..RunBatch::default()
        });
        pass.finish();
        let case = (sp, address, stack_relative);
        assert_eq!(pass.output().saved.len(), usize::from(is_save), "{case:x?}");
    }
}

/// What processes begin with is what their parent had when it made them, though the parent writes on; of a process that
/// nobody is known to have made, all that may be written is inherited.
#[test]
fn a_process_begins_with_what_its_parent_had() {
    for (pid, expected) in [(7, (Some(1), 8)), (8, (None, 8))] {
        let mut pass = pass(&[(0x100, FlowKind::Jump, STORE), (0x104, FlowKind::Jump, LOAD)]);
        let ranges = Box::new([(0x5000, 0x1000)]);
        pass.push(&RunBatch {
            block: vec![0, 0],
            addresses: vec![0x5000, 0x5000],
            events: vec![(1, Event::Fork { pid: 7 })],
            ..RunBatch::default()
        });
        pass.next_process(1);
        pass.push(&RunBatch {
            block: vec![1],
            thread: vec![1],
            addresses: vec![0x5000],
            events: vec![(0, Event::ProcessStart), (0, Event::Inherit { pid, ranges })],
            ..RunBatch::default()
        });
        let summary = pass.finish();
        let row = |row: &Communication| match row.write {
            Origin::Step(write) => (Some(write.seq.get()), row.bytes),
            Origin::Source(Source::Named(id)) => {
                assert_eq!(summary.sources.name(id), origin::Sources::INHERITED);
                (None, row.bytes)
            }
            other => panic!("{other:?}"),
        };
        let found: Vec<_> = pass.output().communications.iter().map(row).collect();
        assert_eq!(found, [expected]);
        // Nobody has read what the parent itself has.
        assert_eq!(summary.functions[1].dead_bytes, 16);
    }
}

/// Two tasks are interrupted at the same place, and nothing tells which goes on: the return does, which only one of them
/// can have made.
#[test]
fn a_return_tells_which_task_went_on() {
    use crate::event::Keeps;
    let code = vec![
        (0x100, instruction(FlowKind::Call)),
        (0x104, instruction(FlowKind::Jump)),
        (0x200, instruction(FlowKind::Call)),
        (0x204, instruction(FlowKind::Jump)),
        (0x300, instruction(FlowKind::Next)),
        (0x304, instruction(FlowKind::Return)),
        (0x400, instruction(FlowKind::ExceptionReturn)),
    ];
    let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code);
    let exception = |at| {
        let back = Event::ExceptionReturn { thread: 0, frame: None };
        [(at, entry(None, Keeps::None)), (at + 1, back)]
    };
    pass.push(&RunBatch {
        // The first task calls, the second one does; the first goes on where both are; then the second.
        block: vec![0, 4, 6, 2, 4, 6, 5, 1, 6, 5, 3],
        events: [2, 5, 8].into_iter().flat_map(exception).collect(),
        ..RunBatch::default()
    });
    let summary = pass.finish();
    let found = calls(&mut pass);
    let tasks: Vec<_> = found.into_iter().filter(|(kind, ..)| *kind != "signal").collect();
    let root = ("root", "open", 0);
    assert_eq!(tasks, [root, ("call", "return", 1), root, ("call", "return", 4)]);
    // Each task's steps are in its own context.
    let contexts = summary.contexts.contexts();
    let mut steps: Vec<_> = contexts
        .iter()
        .filter(|(_, c)| c.function != FunctionId::at(4))
        .map(|(_, c)| {
            let caller = c.parent.map(|parent| contexts.get(parent).function.index());
            (c.function.index(), caller, c.figures.calls, c.figures.steps_self)
        })
        .collect();
    steps.sort_unstable();
    assert_eq!(steps, [(1, None, 1, 2), (2, None, 1, 2), (3, Some(1), 1, 1), (3, Some(2), 1, 3)]);
    // Between two of its intervals another task ran.
    assert!(summary.switches > 0);
}

/// The slot of a call is where it stores, in whichever order the log has its accesses.
#[test]
fn a_call_by_a_word_of_the_stack_has_its_own_slot() {
    for store_first in [true, false] {
        let operand = |is_write| MemOperand {
            stack_relative: true,
            ..MemOperand::plain(is_write, 8, Expr::Unknown)
        };
        let mut memory = vec![operand(true), operand(false)];
        let mut addresses = vec![0x7000, 0x7020];
        if !store_first {
            memory.reverse();
            addresses.reverse();
        }
        let code = vec![(0x100, Decoded { memory, ..instruction(FlowKind::Call) })];
        let mut pass = pass_of(empty_pass(), code);
        pass.push(&RunBatch { block: vec![0], addresses, ..RunBatch::default() });
        let previous = pass.machine.threads[0].previous.expect("a step");
        assert_eq!(previous.slot, Some(0x7000));
    }
}

/// The first stack pointer is looked for among the first 2^20 steps, and not further.
#[test]
fn the_first_stack_pointer_is_among_the_first_steps() {
    const STEPS: u32 = 1 << 10;
    for (before, expected) in [(STEPS - 1, Some(0x7000)), (STEPS, None)] {
        let mut pass = empty_pass();
        let load =
            MemOperand { stack_relative: true, ..MemOperand::plain(false, 8, Expr::Unknown) };
        let next = || instruction(FlowKind::Next);
        pass.add_insn(InsnDef { address: 0x100, ..InsnDef::default() }, next());
        let decoded = Decoded { memory: vec![load], ..next() };
        pass.add_insn(InsnDef { address: 0x104, ..InsnDef::default() }, decoded);
        let step = |insn| BlockStep { insn, executed: true, mem: insn as u16 };
        let nothing = |n| (0..n).map(|_| step(0)).collect::<Vec<_>>();
        pass.add_block(BlockDef { steps: nothing(STEPS), mem: Vec::new() });
        let steps = [nothing(before), vec![step(1)]].concat();
        let mem = vec![MemShape { is_write: false, size: 8, operand: 0 }];
        pass.add_block(BlockDef { steps, mem });
        let runs = |n, last| [vec![0; n], last].concat();
        let batch = |block, addresses| RunBatch { block, addresses, ..RunBatch::default() };
        assert!(!pass.find_first_sp(&batch(runs(1000, Vec::new()), Vec::new())));
        assert!(pass.find_first_sp(&batch(runs(23, vec![1]), vec![0x7000])));
        assert_eq!(pass.first_stack_pointer(), expected, "{before}");
        // Nor does anything that comes later matter.
        assert!(pass.find_first_sp(&batch(vec![1], vec![0x9000])));
        assert_eq!(pass.first_stack_pointer(), expected, "{before}");
    }
}

/// A save of which any byte is overwritten is not restored: the load reads it.
#[test]
fn a_save_that_is_overwritten_in_part_is_exposed() {
    for size in [2, 4, 8] {
        for byte in 0..u64::from(size) {
            let register = RegSpan { offset: 8, size };
            let store = MemOperand::plain(true, 1, Expr::Unknown);
            let code = vec![
                (0x100, Decoded { writes: writes(register).writes, ..instruction(FlowKind::Call) }),
                (0x200, moves(true, register)),
                (0x204, Decoded { memory: vec![store], ..instruction(FlowKind::Next) }),
                (0x208, moves(false, register)),
            ];
            let mut pass = pass_of(empty_pass(), code);
            pass.push(&RunBatch {
                block: (0..4).collect(),
                addresses: vec![0x5000, 0x5000 + byte, 0x5000],
                ..RunBatch::default()
            });
            pass.finish();
            let saved = &pass.output().saved;
            let [save] = &saved[..] else { panic!("{saved:?}") };
            assert_eq!((save.restores, save.exposed), (0, Seq::new(4)), "{size} {byte}");
        }
    }
}

/// A block may have more steps than the quick way of a store can tell: it reads what it stores all the same.
#[test]
fn a_store_far_inside_of_a_block_reads_its_register() {
    let register = RegSpan { offset: 8, size: 8 };
    for details in ALL_DETAILS {
        let mut pass = pass_with(details, 64, Vec::new());
        let insns = [writes(register), instruction(FlowKind::Next), moves(true, register)];
        for (i, decoded) in (0..).zip(insns) {
            pass.add_insn(InsnDef { address: 0x100 + 4 * i, ..InsnDef::default() }, decoded);
        }
        let step = |insn| BlockStep { insn, executed: true, mem: u16::from(insn == 2) };
        pass.add_block(BlockDef { steps: vec![step(0)], mem: Vec::new() });
        let steps = [vec![step(1); 1 << 16], vec![step(2)]].concat();
        let mem = vec![MemShape { is_write: true, size: 8, operand: 0 }];
        pass.add_block(BlockDef { steps, mem });
        pass.push(&RunBatch { block: vec![0, 1], addresses: vec![0x5000], ..RunBatch::default() });
        let summary = pass.finish();
        let sums = sums_between(&summary, 1, 1).expect("it is read");
        assert_eq!((sums.bytes, sums.unique, sums.transfers), (8, 8, 1), "{details:?}");
        if details > Details::Sums {
            let flows = summary.instruction_flows.iter().map(|f| (f.writer, f.reader, f.bytes));
            let expected = (Origin::Step(InstructionId::at(0)), InstructionId::at(2), 8);
            assert_eq!(flows.collect::<Vec<_>>(), [expected], "{details:?}");
        }
    }
}

/// A handler that has given back itself what it saved goes back to what it interrupted, though another task waits just
/// where that goes on; if that can not go on there, it is another task.
#[test]
fn a_handler_that_restores_what_it_saved_goes_back() {
    let register = RegSpan { offset: 8, size: 8 };
    let code = |elsewhere: fn(bool, RegSpan) -> Decoded| {
        vec![
            (0x100, writes(register)),
            (0x104, instruction(FlowKind::Jump)),
            (0x110, instruction(FlowKind::Next)),
            (0x114, instruction(FlowKind::Next)),
            (0x200, instruction(FlowKind::Jump)),
            (0x300, instruction(FlowKind::ExceptionReturn)),
            (0x400, elsewhere(true, register)),
            (0x404, writes(register)),
            (0x408, elsewhere(false, register)),
            (0x40c, instruction(FlowKind::ExceptionReturn)),
            (0x500, instruction(FlowKind::Next)),
        ]
    };
    // The first task; the second, which waits behind 0x110; the first again, which jumps to 0x114.
    let run = |elsewhere| {
        let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code(elsewhere));
        pass.push(&RunBatch {
            block: vec![0, 5, 4, 2, 5, 1, 6, 7, 8, 9, 3],
            addresses: vec![0x5000, 0x5000],
            events: exceptions(&[(1, 2), (4, 5), (6, 10)]),
            ..RunBatch::default()
        });
        pass.finish();
        tasks(&mut pass)
    };
    assert_eq!(run(moves_elsewhere), [(1, "root", 3), (2, "root", 1), (1, "tail", 1)]);
    // What it has kept in its frame tells nothing of tasks.
    assert_eq!(run(moves), [(1, "root", 2), (2, "root", 1), (1, "tail", 2)]);
    // It can not go on in another function.
    let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code(moves_elsewhere));
    pass.push(&RunBatch {
        block: vec![0, 6, 7, 8, 9, 10],
        addresses: vec![0x5000, 0x5000],
        events: exceptions(&[(1, 5)]),
        ..RunBatch::default()
    });
    pass.finish();
    assert_eq!(tasks(&mut pass), [(1, "root", 1), (5, "root", 1)]);
}

/// However many functions there are, each call is of its own.
#[test]
fn calls_of_very_many_functions_are_told_apart() {
    const FUNCTIONS: u64 = 1100;
    let mut code = vec![(0x100, FlowKind::Call, None), (0x104, FlowKind::Jump, None)];
    code.extend((0..FUNCTIONS).map(|f| (0x10_0000 + 0x100 * f, FlowKind::Return, None)));
    let mut pass = pass(&code);
    let block = (0..3 * FUNCTIONS as u32).flat_map(|i| [0, 2 + i % FUNCTIONS as u32, 1]);
    pass.push(&RunBatch { block: block.collect(), ..RunBatch::default() });
    let summary = pass.finish();
    let called = summary.call_edges.iter().filter(|edge| edge.caller.is_some());
    let calls: Vec<_> = called.map(|edge| (edge.calls, edge.steps)).collect();
    assert_eq!(calls, vec![(3, 3); FUNCTIONS as usize]);
}

/// Calls that are no handlers', in the order of their numbers: function, kind, steps.
fn tasks(pass: &mut Pass<Pages, Rows>) -> Vec<(usize, &'static str, u64)> {
    let mut calls = pass.output().calls.clone();
    calls.retain(|call| call.kind != stack::CallKind::Signal);
    calls.sort_by_key(|c| c.call);
    calls.iter().map(|c| (c.function.index(), c.kind.name(), c.steps_self)).collect()
}

/// Exceptions of which the trace tells no more than that: they begin and end before these runs.
fn exceptions(at: &[(u32, u32)]) -> Vec<(u32, Event)> {
    let back = Event::ExceptionReturn { thread: 0, frame: None };
    let both =
        |&(i, j): &(u32, u32)| [(i, entry(None, crate::event::Keeps::None)), (j, back.clone())];
    at.iter().flat_map(both).collect()
}

/// The same as [`moves`], of memory that is no stack.
fn moves_elsewhere(is_write: bool, register: RegSpan) -> Decoded {
    let mut decoded = moves(is_write, register);
    decoded.memory[0].stack_relative = false;
    decoded
}

/// What a handler keeps in its own frame and does not give back is a result: it makes no new task.
#[test]
fn a_handler_may_change_what_it_keeps_in_its_frame() {
    let register = RegSpan { offset: 8, size: 8 };
    let code = vec![
        (0x100, writes(register)),
        (0x300, moves(true, register)),
        (0x304, writes(register)),
        (0x308, instruction(FlowKind::ExceptionReturn)),
        (0x104, instruction(FlowKind::Next)),
    ];
    let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code);
    pass.push(&RunBatch {
        block: vec![0, 1, 2, 3, 4],
        addresses: vec![0x6ff0],
        events: exceptions(&[(1, 4)]),
        ..RunBatch::default()
    });
    pass.finish();
    assert_eq!(tasks(&mut pass), [(1, "root", 2)]);
}

/// Where a handler has stored registers and all of them are others, another task begins; of a handler that has changed
/// some, what it interrupted goes on.
#[test]
fn a_new_task_has_other_registers() {
    let (one, other) = (RegSpan { offset: 8, size: 8 }, RegSpan { offset: 16, size: 8 });
    let code = || {
        vec![
            (0x100, writes(one)),
            (0x104, writes(other)),
            (0x300, moves_elsewhere(true, one)),
            (0x304, moves_elsewhere(true, other)),
            (0x308, writes(one)),
            (0x30c, writes(other)),
            (0x310, instruction(FlowKind::ExceptionReturn)),
            (0x108, instruction(FlowKind::Next)),
        ]
    };
    for (block, expected) in [
        (vec![0, 1, 2, 3, 4, 6, 7], vec![(1, "root", 3)]),
        (vec![0, 1, 2, 3, 4, 5, 6, 7], vec![(1, "root", 2), (1, "root", 1)]),
    ] {
        let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code());
        pass.push(&RunBatch {
            events: exceptions(&[(2, block.len() as u32 - 1)]),
            block,
            addresses: vec![0x5000, 0x5008],
            ..RunBatch::default()
        });
        pass.finish();
        assert_eq!(tasks(&mut pass), expected);
    }
}

/// A handler that has given back what it stored goes back to what it interrupted, whatever it writes then.
#[test]
fn a_handler_may_change_what_it_has_given_back() {
    let register = RegSpan { offset: 8, size: 8 };
    let code = vec![
        (0x100, writes(register)),
        (0x300, moves_elsewhere(true, register)),
        (0x304, moves_elsewhere(false, register)),
        (0x308, writes(register)),
        (0x30c, instruction(FlowKind::ExceptionReturn)),
        (0x104, instruction(FlowKind::Next)),
    ];
    let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code);
    pass.push(&RunBatch {
        block: (0..6).collect(),
        addresses: vec![0x5000, 0x5000],
        events: exceptions(&[(1, 5)]),
        ..RunBatch::default()
    });
    pass.finish();
    assert_eq!(tasks(&mut pass), [(1, "root", 2)]);
}

/// A save knows of each byte of the longest registers whether it was read before.
#[test]
fn every_byte_of_a_wide_register_is_unique_once() {
    let register = RegSpan { offset: 128, size: 64 };
    for byte in [128, 129, 190, 191] {
        for details in ALL_DETAILS {
            let load = MemOperand::plain(false, 64, Expr::Unknown);
            let code = vec![
                (0x100, Decoded { writes: writes(register).writes, ..instruction(FlowKind::Call) }),
                (0x200, moves(true, register)),
                (0x204, reads(RegSpan { offset: byte, size: 1 })),
                (0x208, Decoded { memory: vec![load], ..instruction(FlowKind::Next) }),
            ];
            let mut pass = pass_of(pass_with(details, 192, Vec::new()), code);
            pass.push(&RunBatch {
                block: (0..4).collect(),
                addresses: vec![0x5000, 0x5000],
                ..RunBatch::default()
            });
            let summary = pass.finish();
            let sums = sums_between(&summary, 1, 2).expect("it is read");
            let case = (byte, details);
            assert_eq!((sums.bytes, sums.unique, sums.transfers), (65, 64, 2), "{case:?}");
        }
    }
}

/// The state of a pass behind the last run.
fn state_behind(pass: &mut Pass<Pages, Rows>) -> state::State {
    pass.state(&mut live_in::LiveIn::default(), std::iter::empty()).expect("a state")
}

/// Exceptions of a process are open no more where the next one begins.
#[test]
fn a_process_begins_without_exceptions() {
    use crate::event::Keeps;
    let mut pass = pass(&[
        (0x100, FlowKind::Next, None),
        (0x300, FlowKind::Next, None),
        (0x200, FlowKind::Next, None),
    ]);
    pass.push(&RunBatch {
        block: vec![0, 1],
        events: vec![(1, entry(None, Keeps::None))],
        ..RunBatch::default()
    });
    let open = |state: &state::State| -> Vec<usize> {
        state.threads.iter().map(|thread| thread.levels.open.len()).collect()
    };
    assert_eq!(open(&state_behind(&mut pass)), [1]);
    pass.next_process(1);
    pass.push(&RunBatch {
        block: vec![2],
        thread: vec![1],
        events: vec![(0, Event::ProcessStart)],
        ..RunBatch::default()
    });
    assert_eq!(open(&state_behind(&mut pass)), [0, 0]);
}

/// A state has what handlers have saved for others: here of a handler that control has left like a function.
#[test]
fn a_state_has_the_saves_that_outlive_their_handlers() {
    let register = RegSpan { offset: 8, size: 8 };
    let code = vec![
        (0x100, Decoded { writes: writes(register).writes, ..instruction(FlowKind::Call) }),
        (0x200, instruction(FlowKind::Next)),
        (0x300, moves_elsewhere(true, register)),
        (0x304, instruction(FlowKind::Return)),
        (0x104, instruction(FlowKind::Next)),
    ];
    for saves in [true, false] {
        let code = code.clone();
        let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code);
        pass.push(&RunBatch {
            block: if saves { vec![0, 1, 2, 3, 4] } else { vec![0, 1, 3, 4] },
            addresses: if saves { vec![0x5000] } else { Vec::new() },
            events: vec![(2, entry(None, crate::event::Keeps::None))],
            ..RunBatch::default()
        });
        let left = state_behind(&mut pass).left;
        let left: Vec<_> = left.iter().map(|of| (of.store.address, of.store.register)).collect();
        assert_eq!(left, if saves { vec![(0x5000, register)] } else { Vec::new() });
        pass.finish();
        let ends = [("root", "open", 0), ("call", "return", 1), ("signal", "unwound", 2)];
        assert_eq!(calls(&mut pass), ends);
    }
}

/// That a handler has read a register is not that what it interrupted has.
#[test]
fn an_interrupted_instance_reads_for_itself() {
    let register = RegSpan { offset: 8, size: 8 };
    for details in ALL_DETAILS {
        let load = MemOperand::plain(false, 8, Expr::Unknown);
        let code = vec![
            (0x100, Decoded { writes: writes(register).writes, ..instruction(FlowKind::Call) }),
            (0x200, moves(true, register)),
            (0x300, reads(register)),
            (0x304, instruction(FlowKind::ExceptionReturn)),
            (0x204, reads(register)),
            (0x208, Decoded { memory: vec![load], ..instruction(FlowKind::Next) }),
        ];
        let mut pass = pass_of(pass_with(details, 64, Vec::new()), code);
        pass.push(&RunBatch {
            block: (0..6).collect(),
            addresses: vec![0x6ff0, 0x6ff0],
            events: exceptions(&[(2, 4)]),
            ..RunBatch::default()
        });
        let summary = pass.finish();
        // Its read, and that of the save, which is exposed.
        let sums = sums_between(&summary, 1, 2).expect("it is read");
        assert_eq!((sums.bytes, sums.unique, sums.transfers), (16, 8, 2), "{details:?}");
        let sums = sums_between(&summary, 1, 3).expect("the handler reads");
        assert_eq!((sums.bytes, sums.unique, sums.transfers), (8, 8, 1), "{details:?}");
    }
}

/// What a handler keeps in its frame is the interrupted task's where another one goes on, else it is the handler's.
#[test]
fn a_handler_leaves_its_frame_to_the_next_task() {
    use crate::event::Keeps;
    let register = RegSpan { offset: 8, size: 8 };
    for (frame, next, writer) in [(0x7100, 3, 1), (0x7000, 4, 2)] {
        let load = || MemOperand::plain(false, 8, Expr::Unknown);
        let loads = || Decoded { memory: vec![load()], ..instruction(FlowKind::Next) };
        let code = vec![
            (0x100, writes(register)),
            (0x300, moves(true, register)),
            (0x304, instruction(FlowKind::ExceptionReturn)),
            (0x400, loads()),
            (0x104, loads()),
        ];
        let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code);
        pass.push(&RunBatch {
            block: vec![0, 1, 2, next],
            addresses: vec![0x6ff0, 0x6ff0],
            events: vec![
                (1, entry(Some(0x7000), Keeps::None)),
                (3, Event::ExceptionReturn { thread: 0, frame: Some(frame) }),
            ],
            ..RunBatch::default()
        });
        pass.finish();
        assert_eq!(read_by(&pass, 4), [(writer, 8)]);
    }
}

/// Writers of what a step has read, with their bytes: 0 for what nobody wrote.
fn read_by(pass: &Pass<Pages, Rows>, step: u64) -> Vec<(u64, u32)> {
    let writer = |origin: Origin<AccessRef>| match origin {
        Origin::Step(write) => write.seq.get(),
        Origin::Source(_) => 0,
    };
    let rows = pass.machine.data.output.communications.iter();
    let rows = rows.filter(|row| row.read.seq.get() == step);
    rows.map(|row| (writer(row.write), row.bytes)).collect()
}

/// A handler has given back what it stored and goes to where that can not go on, but another task waits: that goes on.
#[test]
fn a_task_that_waits_goes_on_where_the_other_can_not() {
    let register = RegSpan { offset: 8, size: 8 };
    let code = vec![
        (0x100, writes(register)),
        (0x104, instruction(FlowKind::Next)),
        (0x110, instruction(FlowKind::Next)),
        (0x114, instruction(FlowKind::Next)),
        (0x200, instruction(FlowKind::Jump)),
        (0x300, instruction(FlowKind::ExceptionReturn)),
        (0x400, moves_elsewhere(true, register)),
        (0x404, writes(register)),
        (0x408, moves_elsewhere(false, register)),
        (0x40c, instruction(FlowKind::ExceptionReturn)),
    ];
    let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code);
    pass.push(&RunBatch {
        // The first task; the second, which waits behind 0x110; the first, which is to go on at 0x108.
        block: vec![0, 5, 4, 2, 5, 1, 6, 7, 8, 9, 3],
        addresses: vec![0x5000, 0x5000],
        events: exceptions(&[(1, 2), (4, 5), (6, 10)]),
        ..RunBatch::default()
    });
    pass.finish();
    assert_eq!(tasks(&mut pass), [(1, "root", 2), (2, "root", 1), (1, "tail", 2)]);
}

/// What handlers store for tasks is given back if nobody has written there, not a byte: neither the handler itself
/// nor somebody after it. Else the load reads what it finds.
#[test]
fn what_is_kept_for_a_task_is_whole_or_read() {
    let register = RegSpan { offset: 8, size: 8 };
    let poke = MemOperand::plain(true, 1, Expr::Unknown);
    let pokes = || Decoded { memory: vec![poke.clone()], ..instruction(FlowKind::Next) };
    let code = || {
        vec![
            (0x100, writes(register)),
            (0x104, reads(register)),
            (0x300, moves_elsewhere(true, register)),
            (0x304, pokes()),
            (0x308, writes(register)),
            (0x30c, moves_elsewhere(false, register)),
            (0x310, instruction(FlowKind::ExceptionReturn)),
            (0x500, instruction(FlowKind::Next)),
            (0x504, pokes()),
            (0x508, instruction(FlowKind::Next)),
        ]
    };
    let (one, other) = (0x5000, 0x6000);
    for (by_handler, by_task) in [(false, false), (true, false), (false, true)] {
        for byte in 0..8 {
            let (mut block, mut addresses) = (vec![0, 2], vec![one]);
            if by_handler {
                block.push(3);
                addresses.push(one + byte);
            }
            block.extend([5, 6, 7]);
            addresses.push(other);
            let first = (1, block.len() as u32 - 1);
            if by_task {
                block.push(8);
                addresses.push(one + byte);
            }
            let second = block.len() as u32;
            // It writes the register before it loads that of the first task.
            block.extend([2, 4, 5, 6, 1]);
            addresses.extend([other, one]);
            let mut pass = pass_of(pass_with(Details::Local, 64, Vec::new()), code());
            pass.push(&RunBatch {
                events: exceptions(&[first, (second, second + 4)]),
                block,
                addresses,
                ..RunBatch::default()
            });
            pass.finish();
            // Runs are steps, which are numbered from 1.
            let (load, last) = (u64::from(second) + 3, u64::from(second) + 5);
            let case = (by_handler, by_task, byte);
            let (poked, rest) = match (by_handler, by_task) {
                (true, _) => (3, 2),
                (_, true) => (second.into(), 1),
                _ => {
                    assert_eq!(read_by(&pass, load), [], "{case:?}");
                    assert_eq!(read_by(&pass, last), [(1, 8)], "{case:?}");
                    assert_eq!(tasks(&mut pass)[0], (1, "root", 2));
                    continue;
                }
            };
            let parts = [(rest, byte as u32), (poked, 1), (rest, 7 - byte as u32)];
            let parts: Vec<_> = parts.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
            assert_eq!(read_by(&pass, load), parts, "{case:?}");
            assert_eq!(read_by(&pass, last), [(load, 8)], "{case:?}");
        }
    }
}
