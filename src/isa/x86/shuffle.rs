//! Shuffles: which bytes of their sources they take.

use super::vector::{Part, Vector};
use super::view::View;
use crate::event::RegSpan;
use crate::registers::x86::span;
use iced_x86::OpKind;

/// Bytes of a lane of 16: offset and size.
type Piece = (u16, u16);

/// Bytes of a lane.
const LANE: u16 = 16;

impl View<'_> {
    /// Bytes of an operand of a shuffle; None if it is none.
    pub fn shuffle(&self, vector: Vector) -> Option<Part> {
        if self.insn.has_op_mask() || vector.full.size < LANE {
            return None;
        }
        if let Some(halves) = self.lane_moves(vector) {
            let read = halves.into_iter().filter_map(|n| vector.part(LANE * n, LANE)).collect();
            return Some(Part { read, write: vec![vector.full] });
        }
        let unary = self.is_unary_shuffle();
        let first = if vector.legacy && !unary { 0 } else { 1 };
        let second = vector.operand.checked_sub(first)? == 1;
        let last_source = first + u32::from(!unary);
        if vector.operand > last_source {
            return None;
        }
        let mut pieces = Vec::new();
        for lane in 0..vector.full.size / LANE {
            let of_lane = if unary { self.unary() } else { self.binary(lane, second) };
            let base = vector.full.offset + LANE * lane;
            pieces.extend(of_lane?.into_iter().map(|(at, size)| span(base + at, size)));
        }
        // What a legacy blend does not replace stays.
        if self.is_blend() && vector.legacy && vector.operand == 0 {
            let kept = |s: &RegSpan| pieces.iter().any(|p| p.contains(*s));
            let words = (0..8).map(|n| span(vector.full.offset + 2 * n, 2));
            let write = words.filter(|s| !kept(s)).collect();
            return Some(Part { read: Vec::new(), write });
        }
        Some(Part { read: pieces, write: vec![vector.full] })
    }

    fn immediate(&self) -> u16 {
        self.insn.immediate8().into()
    }

    fn is_unary_shuffle(&self) -> bool {
        let by_immediate =
            (0..self.insn.op_count()).any(|n| matches!(self.insn.op_kind(n), OpKind::Immediate8));
        match self.name.as_str() {
            "Pshufd" | "Pshuflw" | "Pshufhw" | "Movsldup" | "Movshdup" => true,
            "Permilps" => by_immediate,
            _ => false,
        }
    }

    fn is_blend(&self) -> bool {
        matches!(self.name.as_str(), "Blendps" | "Blendpd" | "Pblendw" | "Pblendd")
    }

    /// What a shuffle of one source takes of a lane.
    fn unary(&self) -> Option<Vec<Piece>> {
        let imm = self.immediate();
        let selected =
            |size: u16, base: u16| (0..4).map(move |n| (base + (imm >> (2 * n) & 3) * size, size));
        Some(match self.name.as_str() {
            "Pshufd" | "Permilps" => selected(4, 0).collect(),
            "Pshuflw" => selected(2, 0).chain([(8, 8)]).collect(),
            "Pshufhw" => selected(2, 8).chain([(0, 8)]).collect(),
            "Movsldup" => vec![(0, 4), (8, 4)],
            "Movshdup" => vec![(4, 4), (12, 4)],
            _ => return None,
        })
    }

    /// What a shuffle takes of a lane of its first or second source.
    fn binary(&self, lane: u16, second: bool) -> Option<Vec<Piece>> {
        let (imm, number) = (self.immediate(), u16::from(second));
        let name = self.name.as_str();
        let blended = |size: u16, base: u16| {
            let count = LANE / size;
            let taken = (0..count).filter(move |n| imm >> (base + n) & 1 == number);
            taken.map(move |n| (n * size, size)).collect::<Vec<_>>()
        };
        Some(match name {
            "Unpcklps" | "Unpcklpd" => vec![(0, 8)],
            "Unpckhps" | "Unpckhpd" => vec![(8, 8)],
            _ if name.starts_with("Punpckl") => vec![(0, 8)],
            _ if name.starts_with("Punpckh") => vec![(8, 8)],
            "Shufps" => {
                let selectors = imm >> (4 * number);
                vec![((selectors & 3) * 4, 4), ((selectors >> 2 & 3) * 4, 4)]
            }
            "Shufpd" => vec![((imm >> (2 * lane + number) & 1) * 8, 8)],
            "Pslldq" if !second => rest_of_lane(0, LANE.saturating_sub(imm)),
            "Psrldq" if !second => rest_of_lane(imm, LANE),
            "Palignr" if second => rest_of_lane(imm, LANE),
            "Palignr" => rest_of_lane(imm.saturating_sub(LANE), imm.min(LANE)),
            "Blendps" | "Pblendd" => blended(4, 4 * lane),
            "Blendpd" => blended(8, 2 * lane),
            "Pblendw" => blended(2, 0),
            _ => return None,
        })
    }

    /// For moves of whole lanes: which of the operand's lanes are taken.
    fn lane_moves(&self, vector: Vector) -> Option<Vec<u16>> {
        let imm = self.immediate();
        let chosen = imm & 1;
        match (self.name.as_str(), vector.operand) {
            ("Extractf128" | "Extracti128", 1) => Some(vec![chosen]),
            ("Insertf128" | "Inserti128", 1) => Some(vec![1 - chosen]),
            ("Perm2f128" | "Perm2i128", source @ 1..=2) => {
                let controls = [imm & 15, imm >> 4 & 15].into_iter().filter(|c| c & 8 == 0);
                let of_source = controls.filter(|c| u32::from(c >> 1 & 1) + 1 == source);
                Some(of_source.map(|c| c & 1).collect())
            }
            _ => None,
        }
    }
}

/// The bytes from `from` to `to`, none if there are none.
fn rest_of_lane(from: u16, to: u16) -> Vec<Piece> {
    if from < to { vec![(from, to - from)] } else { Vec::new() }
}
