//! RISC-V's Zcmp and Zcmt: pushes and pops of registers, moves of two, and jumps by a table, which have the codes of loads and
//! stores of doubles. What a processor has is what the ELF file says, or the log.
//!
//! Source: The RISC-V Instruction Set Manual, Volume I, "Zc*".

use super::decoded::{ControlFlow, Decoded, FlowKind, MemOperand};
use super::expr::Expr;
use crate::event::{InsnDef, Isa, RegSpan, RegUse};
use crate::registers::{Registers, registers};

/// What a log says of an instruction is that it is one of these: by its text, or by registers that were written which are none
/// for floating point.
pub fn is_told(def: &InsnDef, isa: Isa) -> bool {
    let is_integer = |span: &RegSpan| {
        let file = registers(isa);
        ["f0", "ft0"].iter().find_map(|name| file.lookup(name)).is_none_or(|f| *span < f)
    };
    let writes = |(span, usage): &(RegSpan, RegUse)| *usage != RegUse::Read && is_integer(span);
    half(&def.bytes).is_some_and(is_one)
        && (def.text.as_deref().is_some_and(|text| text.starts_with("cm."))
            || def.log_registers.as_ref().is_some_and(|flags| flags.iter().any(writes)))
}

fn half(bytes: &[u8]) -> Option<u32> {
    let &[low, high, ..] = bytes else { return None };
    Some(u32::from(low) | u32::from(high) << 8)
}

/// Whether the code is that of a store of a double at the stack pointer, too.
fn is_one(code: u32) -> bool {
    code & 0xe003 == 0xa002
}

/// The instruction; None if it is none of these.
pub fn decode(isa: Isa, address: u64, bytes: &[u8]) -> Option<Decoded> {
    matches!(isa, Isa::Riscv32 | Isa::Riscv64).then_some(())?;
    let code = half(bytes).filter(|code| is_one(*code))?;
    let word: u32 = if isa == Isa::Riscv32 { 4 } else { 8 };
    let file = registers(isa);
    let mut decoded = match code >> 8 & 0x1f {
        0x18 => List::of(code, word)?.push(file),
        0x1a => List::of(code, word)?.pop(file, "cm.pop", ControlFlow::plain(FlowKind::Next)),
        0x1c => List::of(code, word)?.pop(file, "cm.popretz", ControlFlow::plain(FlowKind::Return)),
        0x1e => List::of(code, word)?.pop(file, "cm.popret", ControlFlow::plain(FlowKind::Return)),
        0x0c..=0x0f => moves(file, code)?,
        0x00..=0x03 => by_table(file, code, address),
        _ => return None,
    };
    for list in [&mut decoded.reads, &mut decoded.writes] {
        list.sort_unstable_by_key(|access| access.span);
    }
    Some(decoded)
}

/// The name of a saved register by its number.
fn saved(number: u32) -> String {
    format!("s{number}")
}

/// Registers that are pushed or popped.
struct List {
    /// Their names, from the lowest address on.
    names: Vec<String>,
    /// Bytes of a register.
    word: u32,
    /// Bytes that the stack pointer moves by.
    by: u32,
}

impl List {
    fn of(code: u32, word: u32) -> Option<List> {
        // 4: ra; 5: and s0; up to 14: s0 to s9; 15: s0 to s11.
        let list = code >> 4 & 15;
        let saves = if list == 15 { 12 } else { list.checked_sub(4)? };
        let names: Vec<String> =
            std::iter::once("ra".to_owned()).chain((0..saves).map(saved)).collect();
        let by = ((saves + 1) * word).next_multiple_of(16) + 16 * (code >> 2 & 3);
        Some(List { names, word, by })
    }

    /// The accesses, as they are made: from the highest address down. `above`: the first byte behind them, from the stack pointer on.
    fn memory(&self, file: &Registers, is_write: bool, above: u32) -> Option<Vec<MemOperand>> {
        let sp = file.lookup("sp")?;
        let bits = 8 * self.word;
        let operands = (1..).zip(self.names.iter().rev()).map(|(behind, name)| {
            let at = u64::from(above).wrapping_sub(u64::from(behind * self.word));
            Some(MemOperand {
                stack_relative: true,
                data_register: Some(file.lookup(name)?),
                ..MemOperand::plain(is_write, self.word, Expr::Reg(sp).offset(at).truncate(bits))
            })
        });
        operands.collect()
    }

    fn text(&self, name: &str, sign: &str) -> String {
        let registers = match &self.names[1..] {
            [] => "ra".to_owned(),
            [one] => format!("ra, {one}"),
            [first, .., last] => format!("ra, {first}-{last}"),
        };
        format!("{name} {{{registers}}}, {sign}{}", self.by)
    }

    fn push(&self, file: &Registers) -> Decoded {
        let sp = file.lookup("sp").map(|sp| file.access(sp));
        let data = self.names.iter().filter_map(|name| Some(file.access(file.lookup(name)?)));
        Decoded {
            text: self.text("cm.push", "-"),
            flow: ControlFlow::plain(FlowKind::Next),
            reads: data.chain(sp).collect(),
            writes: sp.into_iter().collect(),
            memory: self.memory(file, true, 0).unwrap_or_default(),
            ..Decoded::unknown(2)
        }
    }

    fn pop(&self, file: &Registers, name: &str, flow: ControlFlow) -> Decoded {
        let sp = file.lookup("sp").map(|sp| file.access(sp));
        let zero = (name == "cm.popretz").then_some("a0");
        let data = self.names.iter().map(String::as_str).chain(zero);
        let data = data.filter_map(|name| Some(file.access(file.lookup(name)?)));
        Decoded {
            text: self.text(name, ""),
            flow,
            reads: sp.into_iter().collect(),
            writes: data.chain(sp).collect(),
            memory: self.memory(file, false, self.by).unwrap_or_default(),
            ..Decoded::unknown(2)
        }
    }
}

/// `cm.mvsa01` and `cm.mva01s`: two registers of s0 to s7 and the first two arguments.
fn moves(file: &Registers, code: u32) -> Option<Decoded> {
    let pair = [saved(code >> 7 & 7), saved(code >> 2 & 7)];
    let arguments = ["a0".to_owned(), "a1".to_owned()];
    let (name, from, to) = match code >> 5 & 3 {
        1 if pair[0] != pair[1] => ("cm.mvsa01", &arguments, &pair),
        3 => ("cm.mva01s", &pair, &arguments),
        _ => return None,
    };
    let accesses = |names: &[String; 2]| {
        let mut found: Vec<_> =
            names.iter().filter_map(|name| Some(file.access(file.lookup(name)?))).collect();
        found.dedup();
        found
    };
    Some(Decoded {
        text: format!("{name} {}, {}", pair[0], pair[1]),
        flow: ControlFlow::plain(FlowKind::Next),
        reads: accesses(from),
        writes: accesses(to),
        ..Decoded::unknown(2)
    })
}

/// `cm.jt` and `cm.jalt`: where they go is in a table, which is code.
fn by_table(file: &Registers, code: u32, address: u64) -> Decoded {
    let index = code >> 2 & 0xff;
    let links = index >= 32;
    let link = if links { file.lookup("ra") } else { None };
    Decoded {
        text: format!("{} {index}", if links { "cm.jalt" } else { "cm.jt" }),
        flow: ControlFlow::plain(if links { FlowKind::Call } else { FlowKind::Jump }),
        writes: link.map(|link| file.access(link)).into_iter().collect(),
        link: link.map(|_| address.wrapping_add(2)),
        ..Decoded::unknown(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(isa: Isa, code: u32) -> Option<(String, Vec<u64>, FlowKind)> {
        let decoded = decode(isa, 0x1000, &code.to_le_bytes()[..2])?;
        let at = |m: &MemOperand| m.address.eval(&|_| Some(0x2000)).unwrap();
        let memory = decoded.memory.iter().map(at).collect();
        Some((decoded.text, memory, decoded.flow.kind))
    }

    #[test]
    fn lists_of_registers_lie_as_the_manual_says() {
        let list = |n: u32, more: u32| n << 4 | more << 2;
        for (isa, code, text, memory, flow) in [
            (Isa::Riscv32, 0xb802 | list(4, 0), "cm.push {ra}, -16", &[0x1ffc][..], FlowKind::Next),
            (
                Isa::Riscv32,
                0xb802 | list(6, 0),
                "cm.push {ra, s0-s1}, -16",
                &[0x1ffc, 0x1ff8, 0x1ff4],
                FlowKind::Next,
            ),
            (
                Isa::Riscv64,
                0xba02 | list(5, 2),
                "cm.pop {ra, s0}, 48",
                &[0x2028, 0x2020],
                FlowKind::Next,
            ),
            (
                Isa::Riscv32,
                0xbe02 | list(5, 1),
                "cm.popret {ra, s0}, 32",
                &[0x201c, 0x2018],
                FlowKind::Return,
            ),
            (Isa::Riscv32, 0xbc02 | list(4, 0), "cm.popretz {ra}, 16", &[0x200c], FlowKind::Return),
            (Isa::Riscv32, 0xac22 | 1 << 7, "cm.mvsa01 s1, s0", &[], FlowKind::Next),
            (Isa::Riscv64, 0xac62 | 2 << 7 | 3 << 2, "cm.mva01s s2, s3", &[], FlowKind::Next),
            (Isa::Riscv32, 0xa002 | 5 << 2, "cm.jt 5", &[], FlowKind::Jump),
            (Isa::Riscv32, 0xa002 | 40 << 2, "cm.jalt 40", &[], FlowKind::Call),
        ] {
            let found = shown(isa, code).unwrap();
            assert_eq!(found, (text.to_owned(), memory.to_vec(), flow));
        }
        // All thirteen, in the rooms that they have.
        assert_eq!(
            shown(Isa::Riscv32, 0xb802 | list(15, 3)).unwrap().0,
            "cm.push {ra, s0-s11}, -112"
        );
        assert_eq!(
            shown(Isa::Riscv64, 0xb802 | list(15, 0)).unwrap().0,
            "cm.push {ra, s0-s11}, -112"
        );
        assert_eq!(shown(Isa::Riscv32, 0xb802 | list(3, 0)), None);
        assert_eq!(shown(Isa::Riscv32, 0xac22), None);
    }
}
