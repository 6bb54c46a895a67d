//! Dumps of instructions that did not run: QEMU dumps the registers when a block begins, then an
//! interrupt, or something that it has to do itself, may keep the block from it. The dump comes
//! again when the block does.

use crate::event::{Isa, StepBatch};

/// Steps that are held back at most until it is known whether an instruction ran.
const LONGEST: usize = 1 << 16;
/// How far the stack pointer may be below what it was at the interrupt when the handler is over.
const BELOW: u64 = 64;
/// And how far it is from another task's.
const NEAR: u64 = 1 << 12;

/// Registers of a dump as far as it matters: all values, as a hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Image {
    pub hash: u64,
    pub pc: u64,
    pub sp: u64,
    /// Interrupts can be taken; or the M profile's number of the exception.
    pub level: u64,
}

/// An instruction whose block an interrupt may have prevented.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Its row in the batch.
    row: usize,
    image: Image,
    /// The frame with its registers, which is taken back when it goes on.
    frame: Option<u64>,
}

/// The instructions of a CPU of which it is not known yet whether they ran.
#[derive(Default)]
pub struct Prevented {
    held: Vec<Held>,
    /// Where it was not found out.
    pub unknown: u64,
}

impl Prevented {
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The instruction in this row, which was dumped like this, may not have run.
    pub fn hold(&mut self, row: usize, image: Image, frame: Option<u64>) {
        self.held.push(Held { row, image, frame });
    }

    /// The next dump, before which the processor took a frame back: the row of an instruction that did
    /// not run, if this shows it.
    pub fn look(&mut self, now: Image, frame: Option<u64>) -> Option<usize> {
        let goes_on = |held: &Held| held.frame.is_none() || held.frame == frame;
        // The handler has restored all: what was dumped then is dumped again.
        let again = self.held.iter().rposition(|held| held.image == now && goes_on(held));
        let row = again.map(|i| self.held.remove(i).row);
        // Where it is over and the dump is another one, the instruction ran before it.
        self.held.retain(|held| {
            let near = now.sp.wrapping_sub(held.image.sp).wrapping_add(BELOW) < NEAR;
            let over = held.frame.is_some() || held.image.level == now.level && near;
            !(goes_on(held) && over)
        });
        row
    }

    /// A row was taken out of the batch.
    pub fn removed(&mut self, row: usize) {
        self.held.iter_mut().filter(|held| held.row > row).for_each(|held| held.row -= 1);
    }

    /// First row that is to stay in the batch. What waits too long is taken as run.
    pub fn first(&mut self, rows: usize) -> Option<usize> {
        let before = self.held.len();
        self.held.retain(|held| rows - held.row < LONGEST);
        self.unknown += (before - self.held.len()) as u64;
        self.held.iter().map(|held| held.row).min()
    }

    /// So many rows before are not there any more.
    pub fn shift(&mut self, rows: usize) {
        self.held.iter_mut().for_each(|held| held.row -= rows.min(held.row));
    }

    /// The rows are not there any more.
    pub fn forget(&mut self) {
        self.unknown += self.held.len() as u64;
        self.held.clear();
    }
}

/// Takes a row out of a batch: what its dump said is said by the next one.
pub fn remove(batch: &mut StepBatch, row: usize) {
    batch.insn.remove(row);
    batch.thread.remove(row);
    batch.condition.remove(row);
    batch.access_end.remove(row);
    batch.register_end.remove(row);
    for (at, _) in &mut batch.events {
        *at -= u32::from(*at as usize > row);
    }
}

/// Whether the instruction may be followed by itself with nothing changed: it branches to itself.
pub fn is_self_branch(isa: Isa, thumb: bool, code: &[u8]) -> bool {
    let word = code.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
    match (isa, code.len()) {
        (Isa::Arm, 2) => word & 0xf0ff == 0xd0fe || word == 0xe7fe,
        (Isa::Arm, 4) if thumb => word == 0xbffe_f7ff || word & 0xf83f_ffff == 0x803f_f43f,
        (Isa::Arm, 4) => word & 0x0fff_ffff == 0x0aff_fffe,
        (Isa::Aarch64, 4) => {
            word == 0x1400_0000
                || word & 0xffff_fff0 == 0x5400_0000
                || word & 0x7eff_ffe0 == 0x3400_0000
                || word & 0x7e07_ffe0 == 0x3600_0000
        }
        (Isa::Riscv32 | Isa::Riscv64, 4) => {
            word & 0xffff_f07f == 0x6f || word & 0xfe00_0fff == 0x63
        }
        (Isa::Riscv32 | Isa::Riscv64, 2) => word == 0xa001 || word & 0xdc7f == 0xc001,
        (Isa::X86 | Isa::X86_64, 2) => word & 0xfff0 == 0xfe70 || word == 0xfeeb,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_to_themselves() {
        let all: [(Isa, bool, &[u8]); 8] = [
            (Isa::Arm, true, &[0xfe, 0xe7]),
            (Isa::Arm, true, &[0xfe, 0xd1]),
            (Isa::Arm, false, &[0xfe, 0xff, 0xff, 0xea]),
            (Isa::Arm, true, &[0xff, 0xf7, 0xfe, 0xbf]),
            (Isa::Aarch64, false, &[0, 0, 0, 0x14]),
            (Isa::Aarch64, false, &[5, 0, 0, 0xb5]),
            (Isa::Riscv64, false, &[0x6f, 0, 0, 0]),
            (Isa::Riscv64, false, &[1, 0xa0]),
        ];
        for (isa, thumb, code) in all {
            assert!(is_self_branch(isa, thumb, code), "{isa:?} {code:x?}");
        }
        assert!(!is_self_branch(Isa::Aarch64, false, &[1, 0, 0, 0x14]));
        assert!(!is_self_branch(Isa::Arm, true, &[0x70, 0x47]));
    }

    #[test]
    fn what_is_dumped_again_did_not_run() {
        let image = |hash, pc| Image { hash, pc, sp: 0x1000, level: 0 };
        let inside = Image { hash: 9, pc: 0x40, sp: 0xfe0, level: 15 };
        let mut prevented = Prevented::default();
        prevented.hold(3, image(1, 0x100), None);
        assert_eq!(prevented.look(inside, None), None);
        assert_eq!(prevented.look(image(1, 0x100), None), Some(3));
        prevented.hold(5, image(1, 0x100), None);
        assert_eq!(prevented.look(inside, None), None);
        assert_eq!(prevented.look(image(2, 0x102), None), None);
        assert!(prevented.is_empty());
        // Another task runs, whose stack is near.
        prevented.hold(7, image(1, 0x100), Some(0xfe0));
        assert_eq!(prevented.look(image(3, 0x200), Some(0x11e0)), None);
        assert_eq!(prevented.look(image(1, 0x100), Some(0xfe0)), Some(7));
    }
}
