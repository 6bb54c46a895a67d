//! The accesses of a block in the order in which a run makes them, and what segments are cut by.

use crate::event::{BlockDef, InsnDef, MemShape, RegSpan};
use crate::id::FunctionId;
use crate::isa::Decoded;

/// An executed instruction.
#[derive(Clone, Debug)]
pub struct Insn {
    pub def: InsnDef,
    pub decoded: Decoded,
    pub function: FunctionId,
    /// Of a copying function (`--through`).
    pub copies: bool,
}

/// What of an access is read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Whole,
    /// The first bytes: the next read goes on with the access.
    First,
    /// It goes on with the access of the read before.
    More,
}

/// What a store of a register that another instance wrote is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveRule {
    /// It may be a save, and a load a restore: see "Saved registers" in `docs/semantics.md`.
    Transparent,
    /// A store like any other (`--saves literal`).
    Literal,
}

/// An access of a block's template, as the table `block_access` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub step: u32,
    pub ordinal: u16,
    pub is_write: bool,
    pub place: AccessPlace,
    pub size: u32,
    pub is_control: bool,
    pub stack_relative: bool,
    /// See `docs/semantics.md`.
    pub data_register: Option<RegSpan>,
    /// Index among the run's values, for register writes.
    pub value: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPlace {
    Register(u16),
    /// Index among the run's addresses.
    Memory(u32),
}

/// Gives each logged access without an operand the next free operand of the decoder with the same
/// direction, one of the same size first.
pub fn match_operands(decoded: &Decoded, shapes: &mut [MemShape]) {
    let mut used = 0u64;
    for shape in shapes.iter().filter(|s| s.operand != MemShape::NO_OPERAND) {
        used |= 1 << (shape.operand & 63);
    }
    for shape in shapes.iter_mut().filter(|s| s.operand == MemShape::NO_OPERAND) {
        let free = |&(i, o): &(usize, &crate::isa::MemOperand)| {
            o.is_write == shape.is_write && used & (1 << i) == 0
        };
        let candidates = || decoded.memory.iter().enumerate().take(64).filter(free);
        let found =
            candidates().find(|(_, o)| o.size == shape.size).or_else(|| candidates().next());
        if let Some((i, _)) = found {
            used |= 1 << i;
            shape.operand = i as u8;
        }
    }
}

/// Lists the accesses of a block in order. `decoded(i)` describes instruction i of the dictionary.
pub fn accesses<'a>(
    def: &BlockDef,
    decoded: impl Fn(u32) -> &'a Decoded,
    mut f: impl FnMut(Access),
) {
    let mut mem = 0u32;
    let mut value = 0u32;
    for (index, step) in def.steps.iter().enumerate() {
        let insn = decoded(step.insn);
        let mut ordinal = 0u16;
        let mut give = |access: Access| {
            f(Access { step: index as u32, ordinal, ..access });
            ordinal += 1;
        };
        let register = |span: RegSpan, control: bool, is_write: bool, value: Option<u32>| Access {
            step: 0,
            ordinal: 0,
            is_write,
            place: AccessPlace::Register(span.offset),
            size: span.size as u32,
            is_control: control,
            stack_relative: false,
            data_register: None,
            value,
        };
        for read in &insn.reads {
            if step.executed || read.control {
                give(register(read.span, read.control, false, None));
            }
        }
        for _ in 0..step.mem {
            let shape = def.mem[mem as usize];
            let operand = insn.memory.get(shape.operand as usize);
            give(Access {
                step: 0,
                ordinal: 0,
                is_write: shape.is_write,
                place: AccessPlace::Memory(mem),
                size: shape.size,
                is_control: operand.is_some_and(|o| o.control),
                stack_relative: operand.is_some_and(|o| o.stack_relative),
                data_register: operand.and_then(|o| o.data_register).filter(|r| {
                    r.size as u32 == shape.size
                        && operand.is_some_and(|o| o.is_write == shape.is_write)
                }),
                value: None,
            });
            mem += 1;
        }
        if step.executed {
            for write in &insn.writes {
                let slot = (write.span.size <= 8).then_some(value);
                value += slot.is_some() as u32;
                give(register(write.span, write.control, true, slot));
            }
        }
    }
}

/// Bit of a register in the masks (several registers may share one).
pub fn mask(span: RegSpan) -> u64 {
    1 << ((span.offset / 4) & 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::event::BlockStep;
    use crate::isa::{Expr, RegAccess};

    /// A run has a value for each register that is written, if that is no wider than a value, and its step is executed.
    #[test]
    fn register_writes_are_numbered_as_their_values() {
        let write = |offset, size| RegAccess { span: RegSpan { offset, size }, control: false };
        let writes = vec![write(0, 8), write(16, 16), write(32, 1)];
        let decoded = Decoded { writes, ..Decoded::unknown(4) };
        let step = |executed| BlockStep { insn: 0, executed, mem: 0 };
        let def = BlockDef { steps: vec![step(true), step(false), step(true)], mem: Vec::new() };
        let mut found = Vec::new();
        accesses(&def, |_| &decoded, |a| found.push((a.step, a.ordinal, a.value)));
        let of =
            |step, first| [(step, 0, Some(first)), (step, 1, None), (step, 2, Some(first + 1))];
        assert_eq!(found, [of(0, 0), of(2, 2)].concat());
    }

    #[test]
    fn each_register_has_a_bit() {
        let bits = |offset| mask(RegSpan { offset, size: 4 }).count_ones();
        assert!((0..1000).all(|offset| bits(offset) == 1));
    }

    fn shape(is_write: bool, size: u32) -> MemShape {
        MemShape { is_write, size, operand: MemShape::NO_OPERAND }
    }

    /// Operands that each of some accesses gets: of a decoder's (writes, size), by the accesses' own and what they
    /// are known to be of.
    fn matched(operands: &[(bool, u32)], accesses: &[(bool, u32, Option<u8>)]) -> Vec<Option<u8>> {
        let memory = operands
            .iter()
            .map(|&(is_write, size)| crate::isa::MemOperand::plain(is_write, size, Expr::Unknown));
        let decoded = Decoded { memory: memory.collect(), ..Decoded::unknown(4) };
        let mut shapes: Vec<MemShape> = accesses
            .iter()
            .map(|&(is_write, size, known)| match known {
                Some(operand) => MemShape { is_write, size, operand },
                None => shape(is_write, size),
            })
            .collect();
        match_operands(&decoded, &mut shapes);
        let operand = |s: &MemShape| (s.operand != MemShape::NO_OPERAND).then_some(s.operand);
        shapes.iter().map(operand).collect()
    }

    #[test]
    fn an_access_gets_a_free_operand_of_its_direction_and_size_first() {
        let (load, store) = (false, true);
        // Direction, then size, then order.
        let operands = [(load, 4), (store, 4), (load, 8), (load, 8), (store, 8)];
        let found = matched(&operands, &[(load, 8, None), (store, 8, None), (load, 8, None)]);
        assert_eq!(found, [Some(2), Some(4), Some(3)]);
        let found = matched(&operands, &[(load, 2, None), (load, 2, None), (store, 2, None)]);
        assert_eq!(found, [Some(0), Some(2), Some(1)]);
        // What is known of another one is not free, and there may be none left.
        let known = [(load, 8, Some(2)), (load, 8, None), (load, 8, None), (load, 8, None)];
        assert_eq!(matched(&operands, &known), [Some(2), Some(3), Some(0), None]);
        let both = [(load, 4, Some(0)), (store, 4, Some(1)), (load, 4, None), (store, 4, None)];
        assert_eq!(matched(&operands, &both), [Some(0), Some(1), Some(2), Some(4)]);
        // The last of many.
        let many = [(load, 8); 64];
        let known: Vec<_> = (0..63).map(|i| (load, 8, Some(i))).chain([(load, 8, None)]).collect();
        assert_eq!(matched(&many, &known)[63], Some(63));
        let all: Vec<_> = (0..64).map(|i| (load, 8, Some(i))).chain([(load, 8, None)]).collect();
        assert_eq!(matched(&[(load, 8); 65], &all)[64], None);
        // There is room for so many.
        let last = [&[(store, 8); 64][..], &[(load, 8)]].concat();
        assert_eq!(matched(&last, &[(load, 8, None)]), [None]);
    }

    /// The register that an operand fills or stores is that of an access of its size and direction only.
    #[test]
    fn a_data_register_is_as_long_as_the_access() {
        let register = RegSpan { offset: 8, size: 8 };
        let operand = crate::isa::MemOperand {
            data_register: Some(register),
            ..crate::isa::MemOperand::plain(false, 8, Expr::Unknown)
        };
        let decoded = Decoded { memory: vec![operand], ..Decoded::unknown(4) };
        let found = |is_write, size| {
            let step = crate::event::BlockStep { insn: 0, executed: true, mem: 1 };
            let mem = vec![MemShape { is_write, size, operand: 0 }];
            let mut list = Vec::new();
            accesses(&BlockDef { steps: vec![step], mem }, |_| &decoded, |a| list.push(a));
            list[0].data_register
        };
        assert_eq!(found(false, 8), Some(register));
        assert_eq!([found(false, 4), found(true, 8), found(true, 4)], [None; 3]);
    }
}
