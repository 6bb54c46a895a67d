//! What immediates select of vectors: shuffles, insertions, extractions, blends, products of some
//! elements.

use super::shape::{Merge, Piece};
use super::view::View;
use iced_x86::OpKind;

/// Bytes of a lane: most instructions on longer vectors do the same in each lane.
const LANE: u16 = 16;

impl View<'_> {
    fn immediate(&self) -> u16 {
        self.insn.immediate8().into()
    }

    fn has_immediate(&self) -> bool {
        (0..self.insn.op_count()).any(|n| matches!(self.insn.op_kind(n), OpKind::Immediate8))
    }

    /// What is taken of source `number`, which has `width` bytes; None if no immediate selects.
    pub fn selected(&self, number: usize, width: u16) -> Option<Vec<Piece>> {
        if !self.has_immediate() || width < LANE {
            return None;
        }
        if let Some(pieces) = self.across_lanes(number, width) {
            return Some(pieces);
        }
        let mut pieces = Vec::new();
        for lane in 0..width / LANE {
            let of_lane = self.in_lane(lane, number)?;
            pieces.extend(of_lane.into_iter().map(|(at, size)| (LANE * lane + at, size)));
        }
        Some(pieces)
    }

    /// What is taken of a lane of source `number`.
    fn in_lane(&self, lane: u16, number: usize) -> Option<Vec<Piece>> {
        let imm = self.immediate();
        let second = number == 1;
        let nth = u16::from(second);
        let selected = |size: u16, base: u16| {
            (0..4).map(move |n| (base + (imm >> (2 * n) & 3) * size, size)).collect::<Vec<_>>()
        };
        let half = |bit: u16| (8 * (imm >> bit & 1), 8);
        Some(match self.name.as_str() {
            "Pshufd" | "Permilps" => selected(4, 0),
            "Pshuflw" => [selected(2, 0), vec![(8, 8)]].concat(),
            "Pshufhw" => [selected(2, 8), vec![(0, 8)]].concat(),
            "Permilpd" => vec![half(2 * lane), half(2 * lane + 1)],
            "Shufps" => {
                let selectors = imm >> (4 * nth);
                vec![((selectors & 3) * 4, 4), ((selectors >> 2 & 3) * 4, 4)]
            }
            "Shufpd" => vec![half(2 * lane + nth)],
            "Pslldq" => range(0, LANE.saturating_sub(imm)),
            "Psrldq" => range(imm, LANE),
            "Palignr" if second => range(imm, LANE),
            "Palignr" => range(imm.saturating_sub(LANE), imm.min(LANE)),
            "Pclmulqdq" => vec![half(4 * nth)],
            // The low bits say where the sum goes, the high ones of which products it is.
            "Dpps" => elements(4, if imm & 15 == 0 { 0 } else { imm >> 4 }),
            "Dppd" => elements(8, if imm & 3 == 0 { 0 } else { imm >> 4 & 3 }),
            "Mpsadbw" => {
                let control = imm >> (3 * (lane & 1));
                if second { vec![(4 * (control & 3), 4)] } else { vec![(control & 4, 11)] }
            }
            "Dbpsadbw" if second => selected(4, 0),
            _ => return None,
        })
    }

    /// What is taken of source `number` where lanes do not matter.
    fn across_lanes(&self, number: usize, width: u16) -> Option<Vec<Piece>> {
        let imm = self.immediate();
        let name = self.name.as_str();
        let lanes = width / LANE;
        let piece = |at: u16, size: u16| vec![(at % width, size)];
        Some(match name {
            "Pextrb" => piece(imm % 16, 1),
            "Pextrw" => piece(imm % 8 * 2, 2),
            "Pextrd" | "Extractps" => piece(imm % 4 * 4, 4),
            "Pextrq" => piece(imm % 2 * 8, 8),
            "Extractf128" | "Extracti128" | "Extractf32x4" | "Extracti32x4" | "Extractf64x2"
            | "Extracti64x2" => piece(imm % lanes * LANE, LANE),
            "Extractf32x8" | "Extracti32x8" | "Extractf64x4" | "Extracti64x4" => {
                piece(imm % 2 * 32, 32)
            }
            "Permq" | "Permpd" => {
                let of_block =
                    |block: u16| (0..4).map(move |n| (32 * block + 8 * (imm >> (2 * n) & 3), 8));
                (0..width / 32).flat_map(of_block).collect()
            }
            "Perm2f128" | "Perm2i128" => {
                let controls = [imm & 15, imm >> 4 & 15].into_iter().filter(|c| c & 8 == 0);
                let of_source = controls.filter(|c| usize::from(c >> 1 & 1) == number);
                of_source.map(|c| (LANE * (c & 1), LANE)).collect()
            }
            "Shuff32x4" | "Shuff64x2" | "Shufi32x4" | "Shufi64x2" => {
                let bits = lanes / 2;
                let of_source =
                    (0..bits).map(|n| imm >> (bits * (n + if number == 1 { bits } else { 0 })));
                of_source.map(|c| (LANE * (c & (lanes - 1)), LANE)).collect()
            }
            "Alignd" | "Alignq" => {
                let size = self.element_bytes();
                let at = imm % (width / size) * size;
                if number == 1 { range(at, width) } else { range(0, at) }
            }
            "Pternlogd" | "Pternlogq" => {
                // The bits of the table at which only the source differs.
                let shift = 4 >> number;
                let depends = (0..8).any(|n| (imm >> n ^ imm >> (n | shift)) & 1 == 1);
                if depends { vec![(0, width)] } else { Vec::new() }
            }
            _ => return None,
        })
    }

    /// Insertions of elements and lanes, and blends.
    pub fn insertion(&self) -> Option<Merge> {
        if !self.has_immediate() {
            return None;
        }
        let width = self.vector(0)?.size;
        let imm = self.immediate();
        let whole = |result: Piece| Self::replaces(vec![result], vec![(0, result.1)]);
        let blend = |result: Vec<Piece>| Self::replaces(result.clone(), result);
        let lanes = width / LANE;
        Some(match self.name.as_str() {
            "Pinsrb" => whole((imm % 16, 1)),
            "Pinsrw" => whole((imm % 8 * 2, 2)),
            "Pinsrd" => whole((imm % 4 * 4, 4)),
            "Pinsrq" => whole((imm % 2 * 8, 8)),
            "Insertps" => self.insertps(),
            "Insertf128" | "Inserti128" | "Insertf32x4" | "Inserti32x4" | "Insertf64x2"
            | "Inserti64x2" => whole((imm % lanes * LANE, LANE)),
            "Insertf32x8" | "Inserti32x8" | "Insertf64x4" | "Inserti64x4" => {
                whole((imm % 2 * 32, 32))
            }
            "Blendps" => {
                blend((0..lanes).flat_map(|n| moved(elements(4, imm >> (4 * n) & 15), n)).collect())
            }
            "Blendpd" => {
                blend((0..lanes).flat_map(|n| moved(elements(8, imm >> (2 * n) & 3), n)).collect())
            }
            "Pblendw" => blend((0..lanes).flat_map(|n| moved(elements(2, imm), n)).collect()),
            "Pblendd" => {
                blend((0..lanes).flat_map(|n| moved(elements(4, imm >> (4 * n) & 15), n)).collect())
            }
            _ => return None,
        })
    }

    /// One element is inserted, others are zeroed; what is inserted may be zeroed, too.
    fn insertps(&self) -> Merge {
        let imm = self.immediate();
        let (from, to) = (imm >> 6 & 3, imm >> 4 & 3);
        let taken = if imm >> to & 1 == 1 { Vec::new() } else { vec![(4 * from, 4)] };
        Self::replaces(elements(4, imm & 15 | 1 << to), taken)
    }
}

/// The elements of `size` bytes whose bits are set.
fn elements(size: u16, bits: u16) -> Vec<Piece> {
    (0..LANE / size).filter(|n| bits >> n & 1 == 1).map(|n| (n * size, size)).collect()
}

/// The same in lane `lane`.
fn moved(pieces: Vec<Piece>, lane: u16) -> impl Iterator<Item = Piece> {
    pieces.into_iter().map(move |(at, size)| (LANE * lane + at, size))
}

/// The bytes from `from` to `to`, none if there are none.
fn range(from: u16, to: u16) -> Vec<Piece> {
    if from < to { vec![(from, to - from)] } else { Vec::new() }
}
