//! The vector table of a firmware for ARM's M profile: where the handlers of its exceptions begin.
//!
//! Source: ARMv7-M Architecture Reference Manual (DDI 0403), B1.5.2 and B1.5.3: the first word is the stack pointer
//! after reset, the word of an exception's number is its handler, with the bit that says Thumb.

use super::{Image, Section};

/// Exceptions of the processor, and interrupts at most (ARMv8-M has 480).
const MOST: u32 = 16 + 480;
/// The exception that a program begins with.
const RESET: u32 = 1;

impl Image {
    /// Number and handler (link-time address) of each exception but the reset; none where no section begins with a table
    /// of vectors.
    pub fn vectors(&self) -> Vec<(u32, u64)> {
        let sections = self.sections.iter().filter(|section| self.m_profile && !section.zero);
        sections
            .map(|section| self.vectors_of(section))
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    }

    /// Those of a section that begins with a stack pointer and a function.
    fn vectors_of(&self, section: &Section) -> Vec<(u32, u64)> {
        let word = |number: u32| {
            let offset = 4 * u64::from(number);
            let inside = offset + 4 <= section.size;
            self.file.word(section.address.checked_add(offset)?).filter(|_| inside)
        };
        let handler =
            |number| word(number).filter(|address| address & 1 == 1).map(|address| address & !1);
        let is_code = |address: u64| {
            self.sections.iter().any(|s| {
                s.executable && (s.address..s.address.saturating_add(s.size)).contains(&address)
            })
        };
        let is_stack = |sp: u64| sp != 0 && sp & 3 == 0 && !is_code(sp);
        // Programs without a loader often name no entry.
        let begins =
            |reset: u64| reset == self.entry || self.functions.iter().any(|f| f.address == reset);
        if !word(0).is_some_and(is_stack)
            || !handler(RESET).is_some_and(|at| is_code(at) && begins(at))
        {
            return Vec::new();
        }
        // Reserved numbers have 0; what is no handler is behind the table.
        let words = (RESET + 1..MOST).map_while(|number| Some((number, word(number)?)));
        let entries = words.map_while(|(number, word)| match handler(number) {
            Some(address) if is_code(address) => Some(Some((number, address))),
            _ => (word == 0).then_some(None),
        });
        entries.flatten().collect()
    }
}
