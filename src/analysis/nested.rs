//! Instances that save, give back, read and expose the same few registers, whole and in part, deep inside one another,
//! in random order: far more than compilers make of it. The list of bytes of [`super::random`] says what is right.

use super::Details;
use super::access::SaveRule;
use super::random::{
    Code, FUNCTIONS, Insn, Place, Random, Run, SP, accesses, given, list_agrees, operand, options,
    plain, same, seeds, ways_agree,
};
use crate::event::{Event, RegSpan};
use crate::isa::{Decoded, FlowKind, MemOperand};

/// Bytes of a frame; what lies in it overlaps.
const FRAME: u64 = 40;
/// Where the first of them is, by the numbers of [`Place::Own`].
const FIRST: u64 = 24;

/// Parts of registers: few, so that the same ones are met again and again.
fn parts(random: &mut Random) -> Vec<RegSpan> {
    let list = [(0, 8), (0, 4), (4, 4), (0, 2), (2, 2), (1, 1), (2, 4), (16, 8), (16, 4)];
    let vector = [(128, 16), (128, 8), (136, 8), (132, 4), (130, 8)];
    let list = if random.chance(20) { &vector[..] } else { &list };
    let one = |random: &mut Random| {
        let (offset, size) = list[random.below(list.len() as u64) as usize];
        RegSpan { offset, size }
    };
    (0..2 + random.below(3)).map(|_| one(random)).collect()
}

/// What a function does with them.
struct Kept<'a> {
    parts: &'a [RegSpan],
    /// Each with its place in the frame.
    places: Vec<(RegSpan, u64)>,
    /// In a hundred instructions.
    writes: u64,
}

impl Kept<'_> {
    fn new<'a>(parts: &'a [RegSpan], writes: u64, random: &mut Random) -> Kept<'a> {
        let one = |random: &mut Random| {
            let span = parts[random.below(parts.len() as u64) as usize];
            let most = FRAME - u64::from(span.size);
            // Mostly of whole words.
            let mask = if random.chance(75) { !3 } else { !0 };
            (span, FIRST + (random.below(most + 1) & mask))
        };
        let places = (0..2 + random.below(3)).map(|_| one(random)).collect();
        Kept { parts, places, writes }
    }

    fn instruction(&self, random: &mut Random) -> (Decoded, Place) {
        let (span, place) = self.places[random.below(self.places.len() as u64) as usize];
        let part = self.parts[random.below(self.parts.len() as u64) as usize];
        let elsewhere = random.chance(8);
        let moved = |is_write| vec![operand(is_write, span.size.into(), true, Some(span))];
        let at = |offset| if elsewhere { Place::Any(offset) } else { Place::Own(offset) };
        let next = plain(FlowKind::Next);
        if random.chance(self.writes) {
            return (Decoded { writes: accesses(vec![part]), ..next }, Place::Data);
        }
        let whole = accesses(vec![span]);
        match random.below(100) {
            0..35 => (Decoded { reads: whole, memory: moved(true), ..next }, at(place)),
            35..60 => (Decoded { writes: whole, memory: moved(false), ..next }, at(place)),
            60..80 => (Decoded { reads: accesses(vec![part]), ..next }, Place::Data),
            kind => {
                let size = [1, 2, 4, 8][random.below(4) as usize];
                let offset = FIRST + random.below(FRAME - u64::from(size) + 1);
                let memory = vec![operand(kind >= 94, size, true, None)];
                let place = if random.chance(40) { Place::Any(offset) } else { Place::Own(offset) };
                (Decoded { memory, ..next }, place)
            }
        }
    }
}

/// The end of a block.
fn last(kind: FlowKind) -> (Decoded, Vec<Place>) {
    let mut end = plain(kind);
    let (is_call, is_return) = (kind == FlowKind::Call, kind == FlowKind::Return);
    if !is_call && !is_return {
        return (end, Vec::new());
    }
    end.memory = vec![MemOperand { control: is_return, ..operand(is_call, 8, true, None) }];
    (end.reads, end.writes) = (accesses(vec![SP]), accesses(vec![SP]));
    (end, vec![if is_call { Place::Push } else { Place::Pop }])
}

fn code(random: &mut Random) -> Code {
    let mut code = Code {
        insns: Vec::new(),
        blocks: Vec::new(),
        functions: Vec::new(),
        has_stub: false,
        ..Code::new(random)
    };
    code.setting.frame = FRAME;
    let (parts, writes) = (parts(random), [3, 8, 15][random.below(3) as usize]);
    for f in 0..FUNCTIONS as u64 {
        let (kept, first) = (Kept::new(&parts, writes, random), code.blocks.len());
        let mut at = 0x100 * (f + 1);
        const BLOCKS: u64 = 9;
        for b in 0..BLOCKS {
            let mut list: Vec<(Decoded, Vec<Place>)> = Vec::new();
            for _ in 0..1 + random.below(4) {
                let (decoded, place) = kept.instruction(random);
                let places = decoded.memory.iter().map(|_| place).collect();
                list.push((decoded, places));
            }
            list.push(last(match random.below(10) {
                _ if b + 1 == BLOCKS => FlowKind::Return,
                0..4 => FlowKind::Call,
                4..8 => FlowKind::Jump,
                8 => FlowKind::Syscall,
                _ => FlowKind::Next,
            }));
            let mut block = Vec::new();
            for (decoded, places) in list {
                block.push(code.insns.len() as u32);
                code.insns.push(Insn { address: at, decoded, places });
                at += 4;
            }
            code.blocks.push(block);
        }
        code.functions.push(first..code.blocks.len());
    }
    code
}

/// Parts of frames stand elsewhere, too, from wherever they begin; loads find them there.
fn copy_frames(code: &Code, random: &mut Random, run: &mut Run) {
    let mut to = 0x9_0000;
    let mut events = std::mem::take(&mut run.events).into_iter().peekable();
    for at in 1..run.block.len() {
        while let Some(event) = events.next_if(|(before, _)| *before as usize <= at) {
            run.events.push(event);
        }
        if random.chance(12) {
            to += 0x1000;
            let (from, bytes) = (run.sp[at - 1] + random.below(24), 1 + random.below(20));
            let copy = Event::MemoryCopy { from, to: to + random.below(4), bytes };
            run.events.push((at as u32, copy));
        }
        let places = code.blocks[run.block[at] as usize].iter().flat_map(|insn| {
            let Insn { decoded, places, .. } = &code.insns[*insn as usize];
            decoded.memory.iter().zip(places)
        });
        for (address, (m, place)) in run.addresses[at].iter_mut().zip(places) {
            let is_plain = !m.is_write && m.data_register.is_none();
            if is_plain && matches!(place, Place::Any(_)) && random.chance(40) {
                *address = to + random.below(24);
            }
        }
    }
    run.events.extend(events);
}

fn check(seed: u64) {
    let random = &mut Random(seed.wrapping_mul(0xe703_7ed1_a0b4_28db) | 1);
    let code = code(random);
    let (threads, kernel) = (1 + (seed % 2) as usize, seed % 3 == 1);
    let mut run = Run::with_values(&code, random, 250, threads, kernel, seed % 4 == 3);
    if seed % 5 > 1 {
        copy_frames(&code, random, &mut run);
    }
    let (case, saves) = (format!("nested {seed}"), SaveRule::Transparent);
    let found = if seed.is_multiple_of(8) {
        ways_agree(&case, &code, &run, saves)
    } else {
        let found = |details, after| given(&code, &run, options(saves, details, after), 1000);
        let (local, sums) = (found(Details::Local, u32::MAX), found(Details::Sums, 1));
        same(&case, "flows", &sums.flows, &local.flows);
        local
    };
    list_agrees(&case, &code, &run, saves, &found);
}

#[test]
fn saves_inside_of_saves_are_those_of_a_list_of_bytes() {
    seeds(120).for_each(check);
}

/// A save ends before those behind it, which have some bytes of its register, and others: whose saves know then what is
/// read of them?
#[test]
fn saves_behind_one_that_ends_may_be_of_other_parts() {
    [592, 1899].into_iter().for_each(check);
}
