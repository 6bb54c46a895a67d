//! Which bytes of vector registers an instruction takes, and which it changes.
//!
//! Three rules give it for every instruction: a *merge* changes a part of its first source and
//! hands on the rest (scalars, insertions, blends); a *selection* takes the bytes that an immediate
//! names ([`super::selection`]); all others take the same bytes of each element, as [`TABLE`] says,
//! and by default all of them.

use super::view::{View, is_written};
use crate::event::RegSpan;
use crate::registers::x86::{bytes_of, span};
use iced_x86::{EncodingKind, OpKind};

/// Bytes of a register: from which on, and how many.
pub type Piece = (u16, u16);

/// Bytes of a source, whatever the immediate is.
#[derive(Clone, Copy)]
pub enum Taken {
    Whole,
    Low(u16),
    /// Of every so many bytes: from which on, and how many.
    Each(u16, u16, u16),
}
use Taken::{Each, Low, Whole};

/// The low byte of each element: indexes and counts that wrap around.
const INDEX: [Taken; 9] = {
    let mut all = [Whole; 9];
    (all[2], all[4], all[8]) = (Each(2, 0, 1), Each(4, 0, 1), Each(8, 0, 1));
    all
};
/// The byte with the sign of each element.
const SIGN: [Taken; 9] = {
    let mut all = [Whole; 9];
    (all[2], all[4], all[8]) = (Each(2, 1, 1), Each(4, 3, 1), Each(8, 7, 1));
    all
};
const LOW_HALF: Taken = Each(16, 0, 8);
const HIGH_HALF: Taken = Each(16, 8, 8);

/// What instructions take of their sources, in order (the destination is the first where it is
/// one); sources that are not there are taken whole.
const TABLE: &[(&str, &[Taken])] = &[
    // Even elements.
    ("Pmuludq Pmuldq", &[Each(8, 0, 4), Each(8, 0, 4)]),
    ("Movsldup", &[Each(8, 0, 4)]),
    ("Movshdup", &[Each(8, 4, 4)]),
    ("Movddup", &[LOW_HALF]),
    // Stores of the upper half.
    ("Movhps Movhpd", &[HIGH_HALF]),
    // Halves of lanes.
    ("Unpcklps Unpcklpd Punpcklbw Punpcklwd Punpckldq Punpcklqdq", &[LOW_HALF, LOW_HALF]),
    ("Unpckhps Unpckhpd Punpckhbw Punpckhwd Punpckhdq Punpckhqdq", &[HIGH_HALF, HIGH_HALF]),
    // Parts of elements.
    ("Pmovwb", &[Each(2, 0, 1)]),
    ("Pmovdb", &[Each(4, 0, 1)]),
    ("Pmovdw", &[Each(4, 0, 2)]),
    ("Pmovqb", &[Each(8, 0, 1)]),
    ("Pmovqw", &[Each(8, 0, 2)]),
    ("Pmovqd", &[Each(8, 0, 4)]),
    ("Pmadd52luq Pmadd52huq", &[Whole, Each(8, 0, 7), Each(8, 0, 7)]),
    // All of what could be stored narrower.
    ("Cvtps2ph Compressps Compresspd Pcompressb Pcompressw Pcompressd Pcompressq", &[Whole]),
    ("Pmovswb Pmovsdb Pmovsdw Pmovsqb Pmovsqw Pmovsqd", &[Whole]),
    ("Pmovuswb Pmovusdb Pmovusdw Pmovusqb Pmovusqw Pmovusqd", &[Whole]),
    // One element for all.
    ("Pbroadcastb", &[Low(1)]),
    ("Pbroadcastw", &[Low(2)]),
    ("Broadcastss Pbroadcastd", &[Low(4)]),
    ("Broadcastsd Pbroadcastq Broadcastf32x2 Broadcasti32x2", &[Low(8)]),
    // Counts that are one for all elements.
    ("Psllw Pslld Psllq Psrlw Psrld Psrlq Psraw Psrad Psraq", &[Whole, Low(8)]),
    // Indexes and counts of each element.
    ("Permilps", &[Whole, INDEX[4]]),
    ("Permilpd", &[Whole, INDEX[8]]),
    ("Permw", &[INDEX[2], Whole]),
    ("Permd Permps", &[INDEX[4], Whole]),
    ("Permq Permpd", &[INDEX[8], Whole]),
    ("Permi2w", &[INDEX[2], Whole, Whole]),
    ("Permi2d Permi2ps", &[INDEX[4], Whole, Whole]),
    ("Permi2q Permi2pd", &[INDEX[8], Whole, Whole]),
    ("Permt2w", &[Whole, INDEX[2], Whole]),
    ("Permt2d Permt2ps", &[Whole, INDEX[4], Whole]),
    ("Permt2q Permt2pd", &[Whole, INDEX[8], Whole]),
    ("Prolvd Prorvd", &[Whole, INDEX[4]]),
    ("Prolvq Prorvq", &[Whole, INDEX[8]]),
    ("Pshldvw Pshrdvw", &[Whole, Whole, INDEX[2]]),
    ("Pshldvd Pshrdvd", &[Whole, Whole, INDEX[4]]),
    ("Pshldvq Pshrdvq", &[Whole, Whole, INDEX[8]]),
    // Signs.
    ("Movmskps Pmovd2m", &[SIGN[4]]),
    ("Movmskpd Pmovq2m", &[SIGN[8]]),
    ("Pmovw2m", &[SIGN[2]]),
    ("Testps", &[SIGN[4], SIGN[4]]),
    ("Testpd", &[SIGN[8], SIGN[8]]),
    ("Blendvps", &[Whole, Whole, SIGN[4]]),
    ("Blendvpd", &[Whole, Whole, SIGN[8]]),
    // Scalars that are compared, tested or converted.
    ("Comiss Ucomiss", &[Low(4), Low(4)]),
    ("Comisd Ucomisd", &[Low(8), Low(8)]),
    ("Comish Ucomish", &[Low(2), Low(2)]),
    ("Fpclassss Cvtss2si Cvttss2si Cvtss2usi Cvttss2usi", &[Low(4)]),
    ("Fpclasssd Cvtsd2si Cvttsd2si Cvtsd2usi Cvttsd2usi", &[Low(8)]),
    ("Fpclasssh Cvtsh2si Cvttsh2si Cvtsh2usi Cvttsh2usi", &[Low(2)]),
    // Cryptography.
    ("Aeskeygenassist", &[Each(8, 4, 4)]),
    ("Sha1nexte", &[Each(16, 12, 4), Whole]),
    ("Sha1msg1 Sha256msg2", &[Whole, Each(16, 8, 8)]),
    ("Sha1msg2", &[Whole, Low(12)]),
    ("Sha256msg1", &[Whole, Low(4)]),
    ("Sha256rnds2", &[Whole, Whole, Low(8)]),
    ("Fixupimmpd", &[Whole, Whole, Each(8, 0, 4)]),
    // Bit fields of the lower half.
    ("Extrq", &[Low(8), Low(2)]),
    ("Insertq", &[Low(8), Low(10)]),
];

/// Scalar operations of one source; the first source of their VEX forms only gives the rest.
const UNARY_SCALARS: [&str; 11] = [
    "Mov", "Cvt", "Sqrt", "Rcp", "Rsqrt", "Round", "Getexp", "Getmant", "Reduce", "Rndscale",
    "Rcp28",
];

/// A part of the first source that an instruction replaces.
pub struct Merge {
    /// The bytes that change.
    pub result: Vec<Piece>,
    /// They come from the first source, too.
    pub combines: bool,
    /// What is taken of the last source, and of one between.
    pub last: Vec<Piece>,
    pub between: Vec<Piece>,
    /// The first source of the bytes that stay, among the sources.
    pub base: usize,
}

/// Bytes of vector operands.
#[derive(Default)]
pub struct Vectors {
    pub reads: Vec<RegSpan>,
    pub writes: Vec<RegSpan>,
}

impl Taken {
    /// In a register of `width` bytes.
    pub fn pieces(self, width: u16) -> Vec<Piece> {
        match self {
            Whole => vec![(0, width)],
            Low(size) => vec![(0, size.min(width))],
            Each(every, at, size) => (0..width / every).map(|n| (every * n + at, size)).collect(),
        }
    }
}

/// `pieces` of the register that begins at `offset`.
fn spans(register: RegSpan, pieces: &[Piece]) -> impl Iterator<Item = RegSpan> {
    let inside = pieces.iter().filter(move |(at, size)| at + size <= register.size);
    inside.map(move |(at, size)| span(register.offset + at, *size))
}

/// What of `width` bytes is not in `pieces`.
fn others(pieces: &[Piece], width: u16) -> Vec<Piece> {
    let mut sorted = pieces.to_vec();
    sorted.sort_unstable();
    let mut out = Vec::new();
    let mut from = 0;
    for (at, size) in sorted.into_iter().chain([(width, 0)]) {
        if from < at {
            out.push((from, at - from));
        }
        from = from.max(at + size);
    }
    out
}

impl View<'_> {
    /// What is read and written of the vector registers that are operands.
    pub fn vectors(&self) -> Vectors {
        let sources = self.sources();
        let mut vectors = match self.merge(&sources) {
            Some(merge) => self.merged(&sources, &merge),
            None => self.computed(&sources),
        };
        // The mask of a gather is cleared.
        let more = (1..self.insn.op_count()).filter(|n| is_written(self.info.op_access(*n)));
        vectors.writes.extend(more.filter_map(|n| self.vector(n)).map(|v| self.filled(v, 0)));
        vectors
    }

    /// The bytes of an operand if it is a vector register.
    pub fn vector(&self, operand: u32) -> Option<RegSpan> {
        let register = self.insn.op_register(operand);
        let vector = self.is_register(operand) && register.is_vector_register();
        bytes_of(register).filter(|_| vector)
    }

    /// The operands that are sources: all but immediates, the first only if it is read for more
    /// than what a mask leaves.
    fn sources(&self) -> Vec<u32> {
        let register_or_memory =
            |n: &u32| matches!(self.insn.op_kind(*n), OpKind::Register | OpKind::Memory);
        // iced leaves out that bits of the destination stay.
        let first = if self.reads_first || self.name == "Insertq" { 0 } else { 1 };
        (first..self.insn.op_count()).filter(register_or_memory).collect()
    }

    /// The destination of an operation on vectors, if it is a vector.
    fn destination(&self) -> Option<RegSpan> {
        self.vector(0).filter(|_| is_written(self.info.op0_access()))
    }

    /// Whether the encoding leaves the upper part of the destination alone.
    fn is_legacy(&self) -> bool {
        self.insn.encoding() == EncodingKind::Legacy
    }

    /// All of the destination comes out of the operation.
    fn computed(&self, sources: &[u32]) -> Vectors {
        let mut vectors = Vectors::default();
        for (number, operand) in sources.iter().enumerate() {
            if let Some(register) = self.vector(*operand) {
                let taken = self.taken(sources, number, register.size);
                vectors.reads.extend(spans(register, &taken));
            }
        }
        if let Some(destination) = self.destination() {
            // What is masked off stays; results that are narrower than their register fill its low
            // part.
            if self.insn.has_op_mask() && self.insn.merging_masking() && !self.blends_by_mask() {
                let elements = self.elements(destination.size).saturating_mul(self.element_bytes());
                vectors.reads.push(span(destination.offset, elements.min(destination.size)));
            }
            vectors.writes.push(self.filled(destination, 0));
        }
        vectors
    }

    /// Its mask says which source an element comes from.
    fn blends_by_mask(&self) -> bool {
        self.name.starts_with("Blendm") || self.name.starts_with("Pblendm")
    }

    /// The destination from byte `from` on with what the encoding zeroes behind it.
    fn filled(&self, destination: RegSpan, from: u16) -> RegSpan {
        let end = if self.is_legacy() { destination.size } else { 64 };
        span(destination.offset + from, end - from)
    }

    /// What is taken of source `number`, which has `width` bytes.
    pub fn taken(&self, sources: &[u32], number: usize, width: u16) -> Vec<Piece> {
        if let Some(selected) = self.selected(number, width) {
            return selected;
        }
        let masked = self.insn.has_op_mask() && self.insn.merging_masking();
        if self.blends_by_mask() && number == 0 && !masked {
            return Vec::new();
        }
        let mut rows = TABLE.iter().filter(|(names, _)| names.split(' ').any(|n| n == self.name));
        let loads = (1..self.insn.op_count()).any(|n| self.insn.op_kind(n) == OpKind::Memory);
        let memory = if loads { 0 } else { self.memory_bytes() };
        match rows.next() {
            Some((_, taken)) => taken.get(number).copied().unwrap_or(Whole),
            // A comparison of scalars into a mask.
            None if self.is_scalar() && sources.len() > 1 => Low(self.element_bytes()),
            // The operand that could be in memory is the last one: as much of it is read as would
            // be loaded.
            None if number + 1 == sources.len() && (1..width).contains(&memory) => Low(memory),
            None => Whole,
        }
        .pieces(width)
    }

    /// A part of the destination comes out of the operation, or is inserted.
    fn merged(&self, sources: &[u32], merge: &Merge) -> Vectors {
        let mut vectors = Vectors::default();
        let Some(destination) = self.destination() else { return vectors };
        let masked = self.insn.has_op_mask();
        let base = sources.get(merge.base).and_then(|n| self.vector(*n)).unwrap_or(destination);
        let kept = others(&merge.result, destination.size);
        for (number, operand) in sources.iter().enumerate() {
            let Some(register) = self.vector(*operand) else { continue };
            let taken = match number {
                _ if number == merge.base && !merge.combines => continue,
                _ if number == merge.base => &merge.result,
                _ if number + 1 == sources.len() => &merge.last,
                _ => &merge.between,
            };
            vectors.reads.extend(spans(register, taken));
        }
        // A mask of several elements may leave any of the destination's.
        let of_elements = masked && !self.is_scalar();
        if of_elements || base.offset != destination.offset {
            match merge.combines {
                true => vectors.reads.push(base),
                false => vectors.reads.extend(spans(base, &kept)),
            }
            vectors.writes.push(self.filled(destination, 0));
        } else {
            vectors.writes.extend(spans(destination, &merge.result));
            vectors
                .writes
                .extend(Some(self.filled(destination, destination.size)).filter(|s| s.size > 0));
        }
        if masked && self.insn.merging_masking() {
            let lasts =
                if of_elements { vec![(0, destination.size)] } else { merge.result.clone() };
            vectors.reads.extend(spans(destination, &lasts));
        }
        vectors
    }

    /// What the instruction replaces of its first source; None if it gives a whole result.
    fn merge(&self, sources: &[u32]) -> Option<Merge> {
        self.destination().filter(|_| sources.len() > 1)?;
        self.half().or_else(|| self.scalar()).or_else(|| self.insertion())
    }

    /// A merge that replaces bytes by those of another source.
    pub fn replaces(result: Vec<Piece>, last: Vec<Piece>) -> Merge {
        Merge { result, combines: false, last, between: Vec::new(), base: 0 }
    }

    /// Moves of one half of a register.
    fn half(&self) -> Option<Merge> {
        let (low, high) = ((0, 8), (8, 8));
        let (to, from) = match self.name.as_str() {
            "Movhps" | "Movhpd" | "Movlhps" => (high, low),
            "Movlps" | "Movlpd" => (low, low),
            "Movhlps" => (low, high),
            _ => return None,
        };
        Some(Self::replaces(vec![to], vec![from]))
    }

    /// Operations on the lowest element.
    fn scalar(&self) -> Option<Merge> {
        if !self.is_scalar() {
            return None;
        }
        let name = self.name.as_str();
        // Complex numbers are two of 16 bits.
        let size = match name {
            _ if name.ends_with("csh") || name.ends_with("ss") => 4,
            _ if name.ends_with("sh") => 2,
            _ => 8,
        };
        let taken = match name {
            // Its table is the same for both sizes.
            "Fixupimmsd" => 4,
            "Cvtsd2ss" | "Cvtsd2sh" => 8,
            "Cvtss2sd" | "Cvtss2sh" => 4,
            "Cvtsh2ss" | "Cvtsh2sd" => 2,
            _ => size,
        };
        let unary = UNARY_SCALARS.iter().any(|start| name.starts_with(start));
        let decided = self.decided();
        Some(Merge {
            result: vec![(0, size)],
            combines: !unary && !decided,
            last: if decided { Vec::new() } else { vec![(0, taken)] },
            between: vec![(0, size)],
            // The destination is a source of these, but the second gives the rest.
            base: usize::from(name.starts_with("Fixupimm") || name.ends_with("maddcsh")),
        })
    }

    /// Whether it computes the lowest element of a vector.
    pub fn is_scalar(&self) -> bool {
        let name = self.name.as_str();
        // Of legacy instructions `push` ends so, too.
        if name.ends_with("sh") {
            return self.insn.encoding() == EncodingKind::EVEX;
        }
        let ends = name.ends_with("ss") || name.ends_with("sd");
        let moves = matches!(name, "Movss" | "Movsd");
        let one = !self.insn.memory_size().is_packed() && matches!(self.memory_bytes(), 2 | 4 | 8);
        ends && (moves || one && !name.starts_with("Broadcast"))
    }

    /// Bytes that the instruction would access in memory, were that operand there.
    fn memory_bytes(&self) -> u16 {
        u16::try_from(self.insn.memory_size().size()).unwrap_or(0)
    }

    /// Bytes of the mask registers that are read: as many bits as there are elements.
    pub fn mask_bytes(&self) -> u16 {
        let name = self.name.as_str();
        let size = |letter: Option<char>| match letter {
            Some('b') => 1,
            Some('w') => 2,
            Some('q') => 8,
            _ => 4,
        };
        let mut letters = name.chars().rev();
        if name.starts_with("Kunpck") {
            return size(letters.nth(1));
        } else if name.starts_with('K') {
            return size(letters.next());
        } else if name.starts_with("Pbroadcastm") {
            return if name == "Pbroadcastmb2q" { 1 } else { 2 };
        }
        let vector = (0..self.insn.op_count()).find_map(|n| self.vector(n));
        self.elements(vector.map_or(64, |v| v.size)).div_ceil(8).clamp(1, 8)
    }

    /// How many elements the operation has, on a vector of `width` bytes.
    fn elements(&self, width: u16) -> u16 {
        let name = self.name.as_str();
        let narrows = name.starts_with("Pmov") && !name.starts_with("Pmovm2");
        let converts = name.starts_with("Cvt") && !name.starts_with("Cvtne2");
        if self.is_scalar() || name.starts_with("Fpclasss") {
            1
        } else if narrows || converts {
            // As many as the operand that could be in memory has.
            u16::try_from(self.insn.memory_size().element_count()).unwrap_or(64)
        } else {
            width / self.element_bytes()
        }
    }

    /// Bytes of an element of the result, by the name.
    pub fn element_bytes(&self) -> u16 {
        let name = self.name.as_str();
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        let letter = match name {
            "Palignr" => Some('b'),
            "Movddup" | "Pmuldq" | "Pmuludq" => Some('q'),
            // `punpcklbw` has elements of one byte.
            _ if name.starts_with("Punpck") => name.chars().nth(7),
            _ if ends(&["ps", "ss", "32", "32x2", "32x4", "32x8", "2dq", "2udq"]) => Some('d'),
            _ if ends(&["64", "64x2", "64x4"]) || ends(&["pd", "sd"]) && !name.starts_with('P') => {
                Some('q')
            }
            _ if ends(&["Permpd", "Permilpd", "2pd"]) => Some('q'),
            _ if ends(&["16", "ph", "sh"]) => Some('w'),
            _ if ends(&["u8"]) => Some('b'),
            _ => name.chars().last(),
        };
        match letter {
            Some('b') => 1,
            Some('w') => 2,
            Some('q') => 8,
            _ => 4,
        }
    }
}
