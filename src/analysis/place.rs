//! Where bytes lie, as far as `via` needs to know: registers, a section of an image, or a region of
//! touched pages that are adjacent.

/// The part of `via` that is known while streaming.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Register,
    /// Number of an image section.
    Section(u32),
    /// Number of a region, as it was known then.
    Region(u32),
}

/// A [`Place`] in 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceCode(u32);

impl PlaceCode {
    pub const REGISTER: PlaceCode = PlaceCode(0);
    const REGION: u32 = 1 << 30;

    #[inline]
    pub fn of(place: Place) -> PlaceCode {
        match place {
            Place::Register => PlaceCode::REGISTER,
            Place::Section(s) => PlaceCode(1 + s),
            Place::Region(r) => PlaceCode(PlaceCode::REGION + r),
        }
    }

    #[inline]
    pub fn place(self) -> Place {
        match self.0 {
            0 => Place::Register,
            c if c >= PlaceCode::REGION => Place::Region(c - PlaceCode::REGION),
            c => Place::Section(c - 1),
        }
    }

    #[inline]
    pub fn is_region(self) -> bool {
        self.0 >= PlaceCode::REGION
    }
}

/// An image section at its run-time address.
#[derive(Clone, Debug)]
pub struct SectionRange {
    pub first: u64,
    /// Inclusive, so that a section may end at the top of the address space.
    pub last: u64,
    /// Index of the first section of the same name, which stands for all of them: they are one
    /// pseudo-function.
    pub name: u32,
    /// Index of the first section of the same `via`.
    pub via: u32,
    /// All of a file that is mapped, and of no image.
    pub of_file: bool,
}

/// Regions of adjacent touched pages, joined as they grow.
#[derive(Default)]
pub struct Regions {
    parent: Vec<u32>,
    /// How often a region that had been found before became part of another.
    epoch: u32,
    /// Any access to it was stack relative; true of a root if true of any member.
    stack: Vec<bool>,
}

impl Regions {
    pub fn add(&mut self) -> u32 {
        self.parent.push(self.parent.len() as u32);
        self.stack.push(false);
        self.parent.len() as u32 - 1
    }

    #[inline]
    pub fn find(&mut self, mut r: u32) -> u32 {
        while self.parent[r as usize] != r {
            let up = self.parent[self.parent[r as usize] as usize];
            self.parent[r as usize] = up;
            r = up;
        }
        r
    }

    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            let (keep, gone) = (a.min(b), a.max(b));
            // The newest has only just been added.
            self.epoch += u32::from(gone as usize + 1 < self.parent.len());
            self.parent[gone as usize] = keep;
            self.stack[keep as usize] |= self.stack[gone as usize];
        }
    }

    /// While it is the same, what [`Regions::find`] gave is so still.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    pub fn mark_stack(&mut self, r: u32) {
        let r = self.find(r);
        self.stack[r as usize] = true;
    }

    pub fn is_stack(&mut self, r: u32) -> bool {
        let r = self.find(r);
        self.stack[r as usize]
    }

    /// Numbers given out.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was joined is one region, which is stack if any of it was.
    #[test]
    fn joined_regions_are_one() {
        let mut regions = Regions::default();
        assert!(regions.is_empty());
        let list: Vec<u32> = (0..6).map(|_| regions.add()).collect();
        assert!(!regions.is_empty() && regions.len() == 6);
        let before = regions.epoch();
        // The newest one has not been found by anybody.
        regions.join(list[5], list[4]);
        assert_eq!(regions.epoch(), before);
        for (a, b) in [(0, 2), (1, 3)] {
            let before = regions.epoch();
            regions.join(list[a], list[b]);
            assert_ne!(regions.epoch(), before);
        }
        regions.mark_stack(list[3]);
        assert_eq!(list.iter().map(|r| regions.find(*r)).collect::<Vec<_>>(), [0, 1, 0, 1, 4, 4]);
        let stack =
            |regions: &mut Regions| list.iter().map(|r| regions.is_stack(*r)).collect::<Vec<_>>();
        assert_eq!(stack(&mut regions), [false, true, false, true, false, false]);
        regions.join(list[2], list[3]);
        assert_eq!(stack(&mut regions), [true, true, true, true, false, false]);
        let before = regions.epoch();
        regions.join(list[0], list[3]);
        assert_eq!((regions.epoch(), regions.find(list[3])), (before, 0));
        // Also where the one that is gone is nearly the newest.
        regions.join(list[1], list[4]);
        assert_eq!(regions.find(list[4]), 0);
        assert_ne!(regions.epoch(), before);
    }
}
