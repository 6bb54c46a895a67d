//! Whether the ELF files are of the program that ran: compared are the instructions of the trace
//! with what the files have at their addresses. Formats without instructions compare what they have.

use super::BuildError;
use crate::event::{BlockDef, InsnDef};
use crate::image::{AddressSpace, Image};
use crate::isa::Decoded;

/// Fewer distinct instructions than these prove nothing.
const FEW: u64 = 16;
/// Share of an image's instructions that may differ, in percent: code that changes itself, or that
/// is loaded over other code, does. Of another build of the same program half and more differ.
const DIFFERING: u64 = 20;
/// Share of the instructions of a trace that may lie outside of programs that load nothing, in
/// percent: a boot loader does, and what a program compiles at run time.
const OUTSIDE: u64 = 90;

/// How the instructions of an image fit, each counted once.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    instructions: u64,
    /// Of them those with other bytes or another size than the image has, and those without bytes of
    /// which the image makes no instruction.
    other: u64,
    /// Address of the first of them.
    first: u64,
    /// Executions in blocks, each counted once, of which the trace tells accesses.
    accessing: u64,
    /// Of them those whose instruction, as it is in the image, has none.
    no_access: u64,
}

/// What was compared so far.
#[derive(Debug, Default)]
pub struct Fits {
    images: Vec<Fit>,
    outside: u64,
}

impl Fits {
    fn image(&mut self, image: usize) -> &mut Fit {
        if self.images.len() <= image {
            self.images.resize(image + 1, Fit::default());
        }
        &mut self.images[image]
    }

    /// An instruction as the trace has it, and what was decoded at its address; `here` are the
    /// bytes that its image has there.
    pub fn instruction(
        &mut self,
        image: Option<usize>,
        def: &InsnDef,
        decoded: Option<&Decoded>,
        here: Option<&[u8]>,
    ) {
        let (Some(image), Some(here)) = (image, here) else {
            self.outside += 1;
            return;
        };
        let fit = self.image(image);
        fit.instructions += 1;
        // Of an extension that addfg does not know the bytes say whether it is the same.
        let size = decoded.map_or(def.bytes.len(), |decoded| decoded.size.into());
        let known = def.bytes.len().min(size).min(here.len());
        let same = (decoded.is_some() || known > 0) && def.bytes[..known] == here[..known];
        if !same {
            if fit.other == 0 {
                fit.first = def.address;
            }
            fit.other += 1;
        }
    }

    /// A block of a trace that tells every access.
    pub fn block(&mut self, def: &BlockDef, of: impl Fn(u32) -> Option<(usize, bool)>) {
        for step in def.steps.iter().filter(|step| step.mem > 0) {
            if let Some((image, accesses)) = of(step.insn) {
                let fit = self.image(image);
                fit.accessing += 1;
                fit.no_access += u64::from(!accesses);
            }
        }
    }

    /// Adds what was compared of another input.
    pub fn add(&mut self, other: &Fits) {
        for (image, fit) in other.images.iter().enumerate() {
            let sum = self.image(image);
            if sum.other == 0 {
                sum.first = fit.first;
            }
            sum.instructions += fit.instructions;
            sum.other += fit.other;
            sum.accessing += fit.accessing;
            sum.no_access += fit.no_access;
        }
        self.outside += other.outside;
    }

    /// What the first file that is not of the program that ran lacks.
    pub fn other(&self, space: &AddressSpace) -> Option<String> {
        self.images.iter().zip(space.images()).find_map(|(fit, loaded)| {
            let path = loaded.image.path.display();
            if differs(fit.other, fit.instructions) {
                Some(format!(
                    "{} of {} instructions that ran are not in {path}, the first at {:#x}",
                    fit.other, fit.instructions, fit.first
                ))
            } else if differs(fit.no_access, fit.accessing) {
                Some(format!(
                    "{} of {} instructions that accessed memory do not in {path}",
                    fit.no_access, fit.accessing
                ))
            } else {
                None
            }
        })
    }

    /// An error that says which file is not of the program that ran, and why that is likely.
    pub fn check(&self, space: &AddressSpace) -> Result<(), BuildError> {
        if let Some(what) = self.other(space) {
            return Err(BuildError::OtherElf { what });
        }
        let inside: u64 = self.images.iter().map(|fit| fit.instructions).sum();
        let all = inside + self.outside;
        let given = !space.images().is_empty();
        let alone = given && space.images().iter().all(|loaded| loads_nothing(&loaded.image));
        if alone && self.outside >= FEW && more(self.outside, all, OUTSIDE) {
            let paths = space.images().iter().map(|l| l.image.path.display().to_string());
            let paths = paths.collect::<Vec<_>>().join(", ");
            let outside = self.outside;
            let what = format!(
                "{outside} of {all} instructions that ran lie outside of {paths}, which loads nothing"
            );
            return Err(BuildError::OtherElf { what });
        }
        Ok(())
    }
}

/// Whether so many of what was compared differ that the ELF files are of another program.
pub fn differs(other: u64, compared: u64) -> bool {
    other >= FEW && more(other, compared, DIFFERING)
}

fn more(part: u64, whole: u64, percent: u64) -> bool {
    part.saturating_mul(100) > whole.saturating_mul(percent)
}

/// Whether a program has no libraries, as far as its sections tell.
fn loads_nothing(image: &Image) -> bool {
    let dynamic =
        |name: &str| name == ".dynamic" || name == ".interp" || name.starts_with("segment");
    !image.sections.iter().any(|section| dynamic(&section.name))
}
