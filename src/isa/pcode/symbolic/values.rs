//! What storage holds while the p-code of an instruction runs: a value per byte, and numbers made
//! of such bytes.

use super::effects::ByteValue;
use super::op::{Space, Varnode};
use crate::event::RegSpan;
use crate::isa::expr::{Expr, Operator, mask};
use crate::isa::pcode::register_map::{RegisterMap, ShownAs};
use rustc_hash::{FxHashMap, FxHashSet};

/// A register span from here on stands for the value of a load, its offset less this being the
/// number; such spans never leave the evaluation.
pub const LOADS: u16 = 0x8000;

/// One byte of a definition.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StoredByte {
    definition: usize,
    index: u64,
}

/// What an op gave its output.
pub struct Value {
    /// Of up to 8 bytes, zero extended.
    pub number: Expr,
    /// Byte by byte; those that are left out are [`ByteValue::Other`].
    pub bytes: Vec<ByteValue>,
}

impl Value {
    pub fn unknown() -> Value {
        Value { number: Expr::Unknown, bytes: Vec::new() }
    }

    /// The value that load number `load` gives.
    pub fn of_load(load: u16, size: u32) -> Value {
        let bytes = (0..size).map(|i| ByteValue::Load(load, u8::try_from(i).unwrap_or(u8::MAX)));
        let number = if size <= 8 { load_leaf(load).truncate(8 * size) } else { Expr::Unknown };
        Value { number, bytes: bytes.collect() }
    }

    /// Whether it is one constant.
    pub fn is_constant(&self) -> bool {
        matches!(self.number, Expr::Const(_))
            || !self.bytes.is_empty() && self.bytes.iter().all(|b| *b == ByteValue::Zero)
    }
}

fn load_leaf(load: u16) -> Expr {
    Expr::Reg(RegSpan { offset: LOADS + load, size: 8 })
}

/// What was written so far.
pub type Storage = FxHashMap<(Space, u64), StoredByte>;

struct Definition {
    value: Value,
    size: u32,
}

pub struct Values<'a> {
    pub map: &'a RegisterMap,
    definitions: Vec<Definition>,
    pub storage: Storage,
}

impl<'a> Values<'a> {
    pub fn new(map: &'a RegisterMap) -> Values<'a> {
        Values { map, definitions: Vec::new(), storage: Storage::default() }
    }

    /// What a byte of a register holds before the instruction.
    pub fn initial_byte(&self, at: u64) -> ByteValue {
        match self.map.at(at).map(|m| (m, m.shown)) {
            Some((m, ShownAs::Bytes(_))) => m.byte(at).map_or(ByteValue::Other, ByteValue::Initial),
            Some((_, ShownAs::Zero)) => ByteValue::Zero,
            _ => ByteValue::Other,
        }
    }

    fn byte(&self, (space, at): (Space, u64)) -> ByteValue {
        match self.storage.get(&(space, at)) {
            Some(stored) => self.stored(*stored),
            None if space == Space::Register => self.initial_byte(at),
            None => ByteValue::Other,
        }
    }

    fn stored(&self, byte: StoredByte) -> ByteValue {
        let bytes = &self.definitions[byte.definition].value.bytes;
        usize::try_from(byte.index)
            .ok()
            .and_then(|i| bytes.get(i))
            .copied()
            .unwrap_or(ByteValue::Other)
    }

    pub fn bytes(&self, v: Varnode) -> Vec<ByteValue> {
        match v.space {
            Space::Const => (0..v.size).map(|i| constant_byte(v.at, i)).collect(),
            _ => v.places().map(|place| self.byte(place)).collect(),
        }
    }

    /// Value of a varnode of up to 8 bytes, zero extended.
    pub fn number(&self, v: Varnode) -> Expr {
        if v.space == Space::Const {
            return Expr::Const(v.at & mask(v.bits()));
        }
        if v.size == 0 || v.size > 8 {
            return Expr::Unknown;
        }
        self.of_definition(v).or_else(|| self.flag(v)).unwrap_or_else(|| number_of(&self.bytes(v)))
    }

    /// The number where all bytes are of one definition, in order.
    fn of_definition(&self, v: Varnode) -> Option<Expr> {
        let first = *self.storage.get(&(v.space, v.at))?;
        let in_order = v
            .places()
            .zip(first.index..)
            .all(|(place, index)| self.storage.get(&place) == Some(&StoredByte { index, ..first }));
        let definition = &self.definitions[first.definition];
        let number = &definition.value.number;
        if !in_order || definition.size > 8 || *number == Expr::Unknown {
            return None;
        }
        let shifted = number.clone().binary(Operator::Shr, Expr::Const(8 * first.index));
        Some(if definition.size == v.size { shifted } else { shifted.truncate(v.bits()) })
    }

    /// The number of a flag that was not written yet.
    fn flag(&self, v: Varnode) -> Option<Expr> {
        if v.space != Space::Register || v.size != 1 || self.storage.contains_key(&(v.space, v.at))
        {
            return None;
        }
        match self.map.at(v.at)?.shown {
            ShownAs::Bit(span, bit) => Some(flag_bit(span, bit)),
            _ => None,
        }
    }

    /// Stores a value in `out`.
    pub fn define(&mut self, out: Varnode, value: Value) {
        let Value { number, mut bytes } = value;
        bytes.resize(out.size as usize, ByteValue::Other);
        if let Expr::Const(c) = number {
            for (i, byte) in (0..).zip(&mut bytes) {
                if constant_byte(c, i) == ByteValue::Zero {
                    *byte = ByteValue::Zero;
                }
            }
        }
        let definition = self.definitions.len();
        self.definitions.push(Definition { value: Value { number, bytes }, size: out.size });
        for (place, index) in out.places().zip(0..) {
            self.storage.insert(place, StoredByte { definition, index });
        }
    }

    /// Forgets what was stored in `out`.
    pub fn forget(&mut self, out: Varnode) {
        for place in out.places() {
            self.storage.remove(&place);
        }
    }

    /// Joins what another way through the p-code stored: where they differ, nothing is known.
    pub fn join(&mut self, other: &Storage) {
        let places: FxHashSet<_> = self.storage.keys().chain(other.keys()).copied().collect();
        for place in places {
            if self.storage.get(&place) != other.get(&place) {
                let definition = self.definitions.len();
                self.definitions.push(Definition {
                    value: Value { number: Expr::Unknown, bytes: vec![ByteValue::Other] },
                    size: 1,
                });
                self.storage.insert(place, StoredByte { definition, index: 0 });
            }
        }
    }

    /// What the bytes of registers hold that were written: place, value, and the constant that the
    /// register was given if this is its first byte.
    pub fn registers(&self) -> impl Iterator<Item = (u64, ByteValue, Option<u64>)> {
        self.storage.iter().filter(|((space, _), _)| *space == Space::Register).map(
            |((_, at), byte)| {
                let number = &self.definitions[byte.definition].value.number;
                let constant = match number {
                    Expr::Const(c) if byte.index == 0 => Some(*c),
                    _ => None,
                };
                (*at, self.stored(*byte), constant)
            },
        )
    }
}

/// Bit `bit` of a register of flags.
pub fn flag_bit(span: RegSpan, bit: u8) -> Expr {
    Expr::Reg(span)
        .binary(Operator::Shr, Expr::Const(bit.into()))
        .binary(Operator::And, Expr::Const(1))
}

/// Byte `index` of a constant: only zeros are told.
fn constant_byte(constant: u64, index: u32) -> ByteValue {
    match constant.checked_shr(8 * index).unwrap_or(0) & 0xff {
        0 => ByteValue::Zero,
        _ => ByteValue::Other,
    }
}

/// A number from bytes: runs of registers, loads and zeros, little end first.
pub fn number_of(bytes: &[ByteValue]) -> Expr {
    let mut total = Expr::Const(0);
    let mut rest = bytes;
    let mut shift = 0;
    while let Some(first) = rest.first() {
        let (length, part) = match *first {
            ByteValue::Zero => (1, Expr::Const(0)),
            ByteValue::Other => return Expr::Unknown,
            ByteValue::Initial(offset) => {
                let follows = |(i, b): &(u16, &ByteValue)| **b == ByteValue::Initial(offset + i);
                let size = (0..).zip(rest).take_while(follows).map(|(i, _)| i + 1).last();
                let span = RegSpan { offset, size: size.unwrap_or(1) };
                (usize::from(span.size), Expr::Reg(span))
            }
            ByteValue::Load(load, byte) => {
                let follows =
                    |(i, b): &(u8, &ByteValue)| **b == ByteValue::Load(load, byte.wrapping_add(*i));
                let length = (0..).zip(rest).take_while(follows).count();
                let shifted =
                    load_leaf(load).binary(Operator::Shr, Expr::Const(8 * u64::from(byte)));
                (length, shifted.truncate(u32::try_from(8 * length).unwrap_or(u32::MAX)))
            }
        };
        if part != Expr::Const(0) {
            total = part.binary(Operator::Shl, Expr::Const(shift)).binary(Operator::Or, total);
        }
        shift += 8 * length as u64;
        rest = &rest[length..];
    }
    total
}
