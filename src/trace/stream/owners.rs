//! Whose code lies where: two files may have the same bytes at the same address one after the other.

use crate::event::ImageMap;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A file's code at a place, by number. Code of no file has the first.
pub type Owner = u32;

/// The files whose code is mapped.
#[derive(Default)]
pub struct Owners {
    /// By path, first address and offset. A file that is mapped again where it was has its number again.
    numbers: FxHashMap<(Box<str>, u64, u64), Owner>,
    /// By first address: the address behind the last byte, and whose it is. Disjoint.
    mapped: BTreeMap<u64, (u64, Owner)>,
}

impl Owners {
    pub fn map(&mut self, map: &ImageMap) {
        self.cut(map.address, map.bytes);
        let Some(path) = map.file().filter(|_| map.executable) else { return };
        let next = self.numbers.len() as Owner + 1;
        let key = (path.into(), map.address, map.offset);
        let owner = *self.numbers.entry(key).or_insert(next);
        self.mapped.insert(map.address, (map.address.saturating_add(map.bytes), owner));
    }

    /// Something else lies there, or nothing.
    pub fn cut(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        while let Some((&from, &(to, owner))) = self.mapped.range(..end).next_back()
            && to > address
        {
            self.mapped.remove(&from);
            if to > end {
                self.mapped.insert(end, (to, owner));
            }
            if from < address {
                self.mapped.insert(from, (address, owner));
            }
        }
    }

    pub fn at(&self, address: u64) -> Owner {
        let below = self.mapped.range(..=address).next_back();
        below.filter(|(_, (end, _))| address < *end).map_or(0, |(_, (_, owner))| *owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(path: &str, address: u64, bytes: u64) -> ImageMap {
        ImageMap { address, bytes, offset: 0, executable: true, path: Some(path.into()) }
    }

    #[test]
    fn code_has_its_owner_as_long_as_it_lies_there() {
        let mut owners = Owners::default();
        owners.map(&code("/a", 0x1000, 0x3000));
        let a = owners.at(0x1000);
        owners.map(&code("/b", 0x2000, 0x1000));
        let b = owners.at(0x2000);
        assert!(a != 0 && b != 0 && a != b);
        assert_eq!(
            [0xfff, 0x1fff, 0x2fff, 0x3000, 0x3fff, 0x4000].map(|x| owners.at(x)),
            [0, a, b, a, a, 0]
        );
        owners.cut(0x1800, 0x2000);
        assert_eq!([0x17ff, 0x1800, 0x37ff, 0x3800].map(|x| owners.at(x)), [a, 0, 0, a]);
        owners.cut(0, u64::MAX);
        assert_eq!(owners.at(0x1000), 0);
        // Data lies nowhere; the same file there again is the same owner.
        owners.map(&ImageMap { executable: false, ..code("/c", 0x1000, 0x1000) });
        assert_eq!(owners.at(0x1000), 0);
        owners.map(&code("/a", 0x1000, 0x3000));
        assert_eq!(owners.at(0x1000), a);
    }
}
