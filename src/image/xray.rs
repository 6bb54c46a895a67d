//! The instrumentation map of LLVM XRay: section `xray_instr_map`, an entry for each place where
//! the compiler left room for a call of the runtime (a sled), and `xray_fn_idx`, which says where
//! the sleds of each function are.
//!
//! An entry is two words (address of the sled, of its function), then bytes: kind, always, version;
//! 32 bytes in a 64-bit file, 16 in a 32-bit one. Since version 2 both words count from where they
//! stand. The number of a function is that of its entry in `xray_fn_idx`, from 1; where there is
//! none, functions count as their sleds follow.

use super::Image;
use std::collections::BTreeMap;

pub(super) const MAP: &str = "xray_instr_map";
const INDEX: &str = "xray_fn_idx";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SledKind {
    Enter,
    Exit,
    Tail,
    LogArgs,
    CustomEvent,
    TypedEvent,
    Other(u8),
}

/// An entry of the map, addresses as linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sled {
    /// Number of its function, from 1.
    pub number: u32,
    pub address: u64,
    pub function: u64,
    pub kind: SledKind,
    pub always: bool,
    pub version: u8,
}

impl Image {
    /// The entries of the instrumentation map in their order; none if the program has no map.
    pub fn xray_sleds(&self) -> Vec<Sled> {
        // An object file has a section for each function.
        let maps: Vec<usize> =
            (0..self.file.sections.len()).filter(|&i| self.file.section_names[i] == MAP).collect();
        let mut sleds: Vec<Sled> = maps.iter().flat_map(|&map| self.entries(map)).collect();
        if !(maps.len() == 1 && self.number_by_index(&mut sleds, maps[0])) {
            let mut number = 0;
            let mut last = None;
            for sled in &mut sleds {
                number += u32::from(last != Some(sled.function));
                last = Some(sled.function);
                sled.number = number;
            }
        }
        sleds
    }

    /// Link-time addresses of the instrumented functions, by number - 1.
    pub fn xray_functions(&self) -> Vec<u64> {
        let mut functions = Vec::new();
        for sled in self.xray_sleds() {
            let at = sled.number as usize;
            if functions.len() < at {
                functions.resize(at, sled.function);
            }
        }
        functions
    }

    fn word_size(&self) -> usize {
        if self.file.ctx.container.is_big() { 8 } else { 4 }
    }

    fn number(&self, bytes: &[u8]) -> u64 {
        let fold = |all: u64, &byte: &u8| all << 8 | u64::from(byte);
        if self.big_endian { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
    }

    /// Addresses of 32-bit programs wrap around at 2^32.
    fn narrow(&self, address: u64) -> u64 {
        if self.word_size() == 4 { address & 0xffff_ffff } else { address }
    }

    fn entries(&self, index: usize) -> Vec<Sled> {
        let word = self.word_size();
        let size = 4 * word;
        let start = self.file.sections[index].sh_addr;
        let targets = self.file.targets(index);
        let list = self.file.raw(index).chunks_exact(size).enumerate();
        list.map(|(i, entry)| {
            let at = start.wrapping_add((i * size) as u64);
            let (kind, always, version) =
                (entry[2 * word], entry[2 * word + 1] != 0, entry[2 * word + 2]);
            let target = |part: usize| {
                let place = at.wrapping_add(part as u64);
                let base = if version >= 2 { place } else { 0 };
                // What a relocation sets is known already, counted from wherever.
                let value = || base.wrapping_add(self.number(&entry[part..part + word]));
                self.narrow(targets.get(&place).copied().unwrap_or_else(value))
            };
            let kind = match kind {
                0 => SledKind::Enter,
                1 => SledKind::Exit,
                2 => SledKind::Tail,
                3 => SledKind::LogArgs,
                4 => SledKind::CustomEvent,
                5 => SledKind::TypedEvent,
                other => SledKind::Other(other),
            };
            Sled {
                number: 0,
                address: target(0),
                function: self.file.code_address(target(word)),
                kind,
                always,
                version,
            }
        })
        .collect()
    }

    /// Numbers the sleds as `xray_fn_idx` says; false if that is missing or does not fit.
    fn number_by_index(&self, sleds: &mut [Sled], map: usize) -> bool {
        let Some(index) = self.file.section_named(INDEX) else { return false };
        let word = self.word_size();
        let header = &self.file.sections[index];
        let first = self.file.sections[map].sh_addr;
        let targets: BTreeMap<u64, u64> = self.file.targets(index);
        let size = 4 * word as u64;
        // Sleds of an entry: begin and end as addresses, or the begin counted from where it stands
        // and how many.
        let sled_at = |address: u64| {
            let offset = self.narrow(address.wrapping_sub(first));
            (offset.is_multiple_of(size) && offset / size <= sleds.len() as u64)
                .then_some((offset / size) as usize)
        };
        let mut found = vec![0; sleds.len()];
        for (i, entry) in self.file.raw(index).chunks_exact(2 * word).enumerate() {
            let at = header.sh_addr.wrapping_add((2 * word * i) as u64);
            let (a, b) = (self.number(&entry[..word]), self.number(&entry[word..]));
            let set = |at: u64| targets.get(&at).copied();
            let relative = sled_at(set(at).unwrap_or(at.wrapping_add(a)));
            let counted = relative
                .and_then(|begin| Some((begin, begin.checked_add(usize::try_from(b).ok()?)?)));
            let absolute =
                || sled_at(set(at).unwrap_or(a)).zip(sled_at(set(at + word as u64).unwrap_or(b)));
            let fits = |&(begin, end): &(usize, usize)| begin < end && end <= sleds.len();
            let Some((begin, end)) = counted.filter(fits).or_else(|| absolute().filter(fits))
            else {
                return false;
            };
            found[begin..end].fill(i as u32 + 1);
        }
        // A sled that belongs to no function: the index is not of this map.
        if sleds.is_empty() || found.contains(&0) {
            return false;
        }
        for (sled, number) in sleds.iter_mut().zip(found) {
            sled.number = number;
        }
        true
    }
}
