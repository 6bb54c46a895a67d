//! Who wrote a byte.
//!
//! One word for it everywhere: [`Origin`]. Where memory counts it is packed into 32 bits by
//! [`Packed`], and nowhere else.

use crate::id::{ActorId, CallId, FunctionId, InstructionId};
use rustc_hash::FxHashMap;

/// Who wrote a byte last: a step, known by its access, instruction, call instance or function, or a
/// source outside of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin<W> {
    Step(W),
    Source(Source),
}

/// A writer that is no step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Nothing wrote it since the trace began. Where it lies tells what it held: see "Writers of
    /// bytes that no step wrote" in `docs/semantics.md`.
    Initial(StackSide),
    /// The kernel or a device, by the number of its name ([`Sources`]).
    Named(SourceId),
}

/// On which side of the first stack pointer an unwritten byte outside of the sections lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StackSide {
    /// Below, or not known, or nothing that a stack has.
    Below,
    /// At it or above: arguments and environment, if the region is a stack.
    Above,
}

/// A name among [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(u32);

/// The names of sources and sinks outside of the program: `<kernel>`, `<read: words.txt>`.
#[derive(Clone, Debug)]
pub struct Sources {
    names: Vec<Box<str>>,
    index: FxHashMap<Box<str>, SourceId>,
}

impl Default for Sources {
    fn default() -> Sources {
        let mut sources = Sources { names: Vec::new(), index: FxHashMap::default() };
        // Of all numbers the pass looks for this one: it is the same in the whole run and in a part of it.
        let number = sources.number(Some(Sources::FRAME));
        debug_assert_eq!(number, Sources::OF_FRAMES);
        sources
    }
}

impl Sources {
    /// What the processor stores in a frame at an exception.
    pub const FRAME: &str = "<exception frame>";
    /// Its number.
    pub const OF_FRAMES: SourceId = SourceId(0);
    /// What is not named better.
    pub const KERNEL: &str = "<kernel>";
    /// What a process had when it began, and nothing more is known of.
    pub const INHERITED: &str = "<inherited>";
    /// If a trace has more names than these, all others are [`Sources::KERNEL`].
    const MOST: usize = 1 << 16;

    /// The number of a name; None is [`Sources::KERNEL`].
    pub fn number(&mut self, name: Option<&str>) -> SourceId {
        let name = name.unwrap_or(Sources::KERNEL);
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        if self.names.len() >= Sources::MOST && name != Sources::KERNEL {
            return self.number(None);
        }
        let new = SourceId(self.names.len() as u32);
        self.names.push(name.into());
        self.index.insert(name.into(), new);
        new
    }

    pub fn name(&self, source: SourceId) -> &str {
        &self.names[source.0 as usize]
    }
}

/// A number of 31 bits that stands for a writer.
pub trait Writer: Copy {
    fn number(self) -> u32;
    fn of(number: u32) -> Option<Self>;
}

macro_rules! writers {
    ($($id:ty),+) => {$(
        impl Writer for $id {
            #[inline]
            fn number(self) -> u32 {
                self.get()
            }
            #[inline]
            fn of(number: u32) -> Option<Self> {
                <$id>::new(number)
            }
        }
    )+};
}

writers!(ActorId, CallId, FunctionId, InstructionId);

/// An [`Origin`] in 32 bits: an id as it is, sources above all ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Packed(u32);

impl Packed {
    const SOURCE: u32 = 1 << 31;
    /// Where there is nothing to say.
    pub const NONE: Packed = Packed(0);
    pub const BELOW: Packed = Packed(Packed::SOURCE);
    pub const ABOVE: Packed = Packed(Packed::SOURCE + 1);
    const NAMED: u32 = Packed::SOURCE + 2;

    #[inline]
    pub fn step(writer: impl Writer) -> Packed {
        Packed(writer.number())
    }

    /// The number of an id.
    #[inline]
    pub fn raw(number: u32) -> Packed {
        Packed(number)
    }

    /// What [`Packed::raw`] makes it of.
    #[inline]
    pub fn number(self) -> u32 {
        self.0
    }

    #[inline]
    pub fn named(source: SourceId) -> Packed {
        Packed(Packed::NAMED + source.0)
    }

    #[inline]
    pub fn initial(side: StackSide) -> Packed {
        match side {
            StackSide::Below => Packed::BELOW,
            StackSide::Above => Packed::ABOVE,
        }
    }

    #[inline]
    pub fn is_step(self) -> bool {
        self.0 < Packed::SOURCE
    }

    /// Nothing wrote it.
    #[inline]
    pub fn is_initial(self) -> bool {
        self == Packed::BELOW || self == Packed::ABOVE
    }

    #[inline]
    pub fn source(self) -> Option<Source> {
        match self {
            Packed::BELOW => Some(Source::Initial(StackSide::Below)),
            Packed::ABOVE => Some(Source::Initial(StackSide::Above)),
            Packed(n) if n >= Packed::NAMED => Some(Source::Named(SourceId(n - Packed::NAMED))),
            _ => None,
        }
    }

    /// None only for 0, which nothing packs.
    #[inline]
    pub fn writer<W: Writer>(self) -> Option<W> {
        if self.is_step() { W::of(self.0) } else { None }
    }

    /// What was packed as an origin of this kind.
    pub fn origin<W: Writer>(self) -> Origin<W> {
        match (self.source(), self.writer()) {
            (Some(source), _) => Origin::Source(source),
            (None, Some(writer)) => Origin::Step(writer),
            (None, None) => Origin::Source(Source::Initial(StackSide::Below)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_and_back() {
        let mut sources = Sources::default();
        let read = sources.number(Some("<read: words.txt>"));
        let kernel = sources.number(None);
        assert_eq!(sources.number(Some("<read: words.txt>")), read);
        assert_eq!(sources.name(kernel), "<kernel>");
        for origin in [
            Origin::Step(CallId::at(41)),
            Origin::Source(Source::Initial(StackSide::Below)),
            Origin::Source(Source::Initial(StackSide::Above)),
            Origin::Source(Source::Named(read)),
            Origin::Source(Source::Named(kernel)),
        ] {
            let packed = match origin {
                Origin::Step(call) => Packed::step(call),
                Origin::Source(Source::Initial(side)) => Packed::initial(side),
                Origin::Source(Source::Named(source)) => Packed::named(source),
            };
            assert_eq!(packed.origin::<CallId>(), origin);
            assert_eq!(packed.is_step(), matches!(origin, Origin::Step(_)));
        }
    }

    /// Names beyond the most are the kernel's.
    #[test]
    fn there_are_so_many_names() {
        let mut sources = Sources::default();
        let name = |i: usize| format!("<read: {i}>");
        let first = sources.number(Some(&name(0)));
        for i in 1..Sources::MOST {
            sources.number(Some(&name(i)));
        }
        let kernel = sources.number(Some("<one more>"));
        assert_eq!((sources.number(None), sources.number(Some("<another>"))), (kernel, kernel));
        assert_eq!(sources.number(Some(&name(0))), first);
        assert_eq!((sources.name(kernel), sources.name(first)), (Sources::KERNEL, "<read: 0>"));
        assert_eq!(Packed::raw(77).number(), 77);
    }
}
