//! Entries of the procedure linkage table, which have no symbols: found by the code that linkers
//! write there, named after the relocation of the slot that they jump through.

use super::elf::{ElfFile, Symbol, lossy};
use crate::event::Isa;
use goblin::elf::sym::{STT_FUNC, STT_GNU_IFUNC};
use std::collections::HashMap;

/// One entry: `puts@plt`, or `<plt0>`, the part that all share.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stub {
    pub name: String,
    pub address: u64,
    pub size: u64,
}

/// What an entry's code says.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// Jumps through the slot at this address.
    Slot(u64),
    /// Pushes the number of its relocation and jumps to the header (x86; the jump through the slot
    /// is in `.plt.sec`).
    Number(u32),
    Header,
}

/// Sections that linkage tables are in.
pub(super) const SECTIONS: [&str; 5] = [".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt"];

/// The entries of every linkage table.
pub(super) fn stubs(file: &ElfFile, symbols: &[Symbol]) -> Vec<Stub> {
    let tables: Vec<usize> = (0..file.sections.len())
        .filter(|&i| {
            SECTIONS.contains(&file.section_names[i].as_str()) && file.sections[i].is_executable()
        })
        .collect();
    if tables.is_empty() {
        return Vec::new();
    }
    let (slots, jumps) = slots(file, symbols);
    let mut stubs = Vec::new();
    // Names may share their bytes.
    let mut budget = file.data.len() * 8;
    let mut spell = |name: Option<&&[u8]>, ending: &str, at: u64| match name {
        Some(name) if !name.is_empty() && name.len() <= budget => {
            budget -= name.len();
            format!("{}{ending}", lossy(name))
        }
        _ => format!("{at:#x}{ending}"),
    };
    for index in tables {
        let (address, code) = (file.sections[index].sh_addr, file.raw(index));
        let got = [".got.plt", ".got"]
            .iter()
            .find_map(|name| file.section_named(name))
            .map_or(0, |i| file.sections[i].sh_addr);
        for (offset, size, target) in entries(file, address, code, got) {
            let at = address.wrapping_add(offset as u64);
            let name = match target {
                Target::Header => "<plt0>".to_owned(),
                Target::Slot(slot) => spell(slots.get(&slot), "@plt", at),
                Target::Number(number) => spell(jumps.get(number as usize), "@plt.lazy", at),
            };
            stubs.push(Stub { name, address: at, size: size as u64 });
        }
    }
    stubs
}

/// Names by the address of the slot; and in the order of the jump relocations.
fn slots<'a>(file: &'a ElfFile, symbols: &[Symbol<'a>]) -> (HashMap<u64, &'a [u8]>, Vec<&'a [u8]>) {
    let (irelative, jump) = match file.isa {
        Isa::X86_64 => (37, 7),
        Isa::X86 => (42, 7),
        Isa::Arm => (160, 22),
        Isa::Aarch64 => (1032, 1026),
        Isa::Riscv32 | Isa::Riscv64 => (58, 5),
    };
    // The resolver's shown name; the stub runs what it chose.
    let mut resolvers: HashMap<u64, &Symbol<'a>> = HashMap::new();
    for symbol in symbols.iter().filter(|s| matches!(s.kind, STT_FUNC | STT_GNU_IFUNC)) {
        let known = resolvers.entry(symbol.address).or_insert(symbol);
        let rank = |s: &Symbol| s.kind != STT_GNU_IFUNC;
        if (rank(symbol), symbol.preference()) < (rank(known), known.preference()) {
            *known = symbol;
        }
    }
    let (mut slots, mut jumps) = (HashMap::new(), Vec::new());
    for (slot, kind, name, addend) in file.relocations() {
        let name = if kind == irelative {
            let resolver =
                addend.map(|a| a as u64).or_else(|| file.word(slot)).map(|a| file.code_address(a));
            resolver.and_then(|a| resolvers.get(&a)).map_or(&[][..], |s| s.name)
        } else {
            name
        };
        if kind == jump || kind == irelative {
            jumps.push(name);
        }
        if !name.is_empty() {
            slots.insert(slot, name);
        }
    }
    (slots, jumps)
}

/// (offset, size, target) of each entry. Code that is no known pattern makes no entry.
fn entries(file: &ElfFile, address: u64, code: &[u8], got: u64) -> Vec<(usize, usize, Target)> {
    match file.isa {
        Isa::X86_64 | Isa::X86 => x86(address, code, got, file.isa == Isa::X86_64),
        Isa::Arm => arm(address, code, file.big_endian_code()),
        Isa::Aarch64 => aarch64(address, code),
        Isa::Riscv32 | Isa::Riscv64 => riscv(address, code),
    }
}

fn word_at(code: &[u8], at: usize) -> Option<u32> {
    code.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)
}

/// Entries of 16 bytes, of 8 where a jump and two bytes of filling are all.
fn x86(address: u64, code: &[u8], got: u64, wide: bool) -> Vec<(usize, usize, Target)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at + 8 <= code.len() {
        let entry = &code[at..code.len().min(at + 16)];
        // endbr64 or endbr32, then perhaps bnd
        let skip = if entry.starts_with(&[0xf3, 0x0f, 0x1e]) { 4 } else { 0 };
        let bnd = usize::from(entry.get(skip) == Some(&0xf2));
        let body = &entry[skip + bnd..];
        let after = address.wrapping_add((at + skip + bnd + 6) as u64);
        let operand = word_at(body, 2).unwrap_or(0);
        let relative = after.wrapping_add(operand as i32 as u64);
        let target = match body {
            [0xff, 0x35, ..] if at == 0 => Some(Target::Header),
            [0xff, 0xb3, ..] if at == 0 && !wide => Some(Target::Header),
            [0xff, 0x25, ..] if wide => Some(Target::Slot(relative)),
            [0xff, 0x25, ..] => Some(Target::Slot(operand.into())),
            [0xff, 0xa3, ..] if !wide => {
                Some(Target::Slot(u64::from((got as u32).wrapping_add(operand))))
            }
            [0x68, ..] => word_at(body, 1).map(|n| Target::Number(if wide { n } else { n / 8 })),
            _ => None,
        };
        let short = skip == 0 && matches!(body, [0xff, 0x25 | 0xa3, _, _, _, _, 0x66, 0x90, ..]);
        let size = if short { 8 } else { 16 }.min(code.len() - at);
        found.extend(target.map(|target| (at, size, target)));
        at += size;
    }
    found
}

/// `add ip, pc, #a; add ip, ip, #b; ldr pc, [ip, #c]!`, for far slots with a third `add`, for Thumb
/// callers after `bx pc` and filling.
fn arm(address: u64, code: &[u8], big_endian: bool) -> Vec<(usize, usize, Target)> {
    let word = |at: usize| word_at(code, at).map(|w| if big_endian { w.swap_bytes() } else { w });
    let immediate = |w: u32| (w & 0xff).rotate_right((w >> 8 & 15) * 2);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = word(at) {
        if at == 0 && first == 0xe52d_e004 {
            // Four instructions and a word.
            found.push((0, 20.min(code.len()), Target::Header));
            at = 20;
            continue;
        }
        let start = at;
        // `bx pc`, then `nop` or a branch to itself
        if (if big_endian { first >> 16 } else { first & 0xffff }) == 0x4778 {
            at += 4;
        }
        let mut value = 0u32;
        let entry = at;
        while let Some(w) = word(at) {
            at += 4;
            match w & 0xffff_f000 {
                0xe28f_c000 if at == entry + 4 => {
                    value =
                        (address as u32).wrapping_add(entry as u32 + 8).wrapping_add(immediate(w));
                    continue;
                }
                0xe28c_c000 if at > entry + 4 => {
                    value = value.wrapping_add(immediate(w));
                    continue;
                }
                0xe5bc_f000 if at > entry + 4 => {
                    found.push((
                        start,
                        at - start,
                        Target::Slot(value.wrapping_add(w & 0xfff).into()),
                    ));
                }
                _ => at = at.max(start + 4),
            }
            break;
        }
        if at == start {
            break;
        }
    }
    found
}

/// `adrp x16; ldr x17, [x16, #lo]; add x16; br x17`, with `bti c` before and filling behind.
fn aarch64(address: u64, code: &[u8]) -> Vec<(usize, usize, Target)> {
    const BTI_C: u32 = 0xd503_245f;
    const NOP: u32 = 0xd503_201f;
    let mut found: Vec<(usize, usize, Target)> = Vec::new();
    let mut at = 0;
    while let Some(first) = word_at(code, at) {
        let start = at;
        let header = if first == BTI_C { word_at(code, at + 4) } else { Some(first) };
        if at == 0 && header == Some(0xa9bf_7bf0) {
            found.push((0, 32.min(code.len()), Target::Header));
            at = 32;
            continue;
        }
        let entry = if first == BTI_C { at + 4 } else { at };
        let (Some(adrp), Some(ldr)) = (word_at(code, entry), word_at(code, entry + 4)) else {
            break;
        };
        at += 4;
        // `ldr w17` in ILP32 programs
        let scale = match ldr & 0xffc0_03ff {
            0xf940_0211 => 8,
            0xb940_0211 => 4,
            _ => continue,
        };
        if adrp & 0x9f00_001f != 0x9000_0010 {
            continue;
        }
        let pages = (((adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3) << 11) as i32 >> 11;
        let page = (address.wrapping_add(entry as u64) & !0xfff)
            .wrapping_add((i64::from(pages) << 12) as u64);
        let slot = page.wrapping_add(u64::from(ldr >> 10 & 0xfff) * scale);
        at = entry + 16;
        while word_at(code, at) == Some(NOP) {
            at += 4;
        }
        at = at.min(code.len());
        found.push((start, at - start, Target::Slot(slot)));
    }
    found
}

/// A header of 32 bytes, then `auipc t3; l[wd] t3, lo(t3); jalr t1, t3; nop`.
fn riscv(address: u64, code: &[u8]) -> Vec<(usize, usize, Target)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let (Some(auipc), Some(load)) = (word_at(code, at), word_at(code, at + 4)) {
        if at == 0 && auipc & 0xfff == 0x397 {
            found.push((0, 32.min(code.len()), Target::Header));
            at = 32;
            continue;
        }
        if auipc & 0xfff == 0xe17 && load & 0xf_efff == 0xe_2e03 {
            let high = (auipc & 0xffff_f000) as i32 as i64;
            let low = i64::from(load as i32 >> 20);
            let slot = address.wrapping_add(at as u64).wrapping_add((high + low) as u64);
            found.push((at, 16.min(code.len() - at), Target::Slot(slot)));
        }
        at += 16;
    }
    found
}
