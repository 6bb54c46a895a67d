//! Integer expressions over register values: addresses, conditions and guards.
//!
//! All arithmetic is on 64 bits and wraps. The constructors simplify, so that equal values mostly
//! have equal expressions and constants are seen as such.

use crate::event::RegSpan;

/// An integer expression over the register values before the instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    Const(u64),
    Reg(RegSpan),
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// The low bits (their number first) of the operand, zero extended.
    ZeroExtend(u8, Box<Expr>),
    /// The low bits (their number first) of the operand, sign extended.
    SignExtend(u8, Box<Expr>),
    /// Not computable from registers.
    Unknown,
}

/// Operators on two 64-bit values; comparisons give 1 or 0, those that begin with `S` are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Sar,
    Eq,
    Ne,
    Lt,
    Le,
    Slt,
    Sle,
}

use Operator::*;

/// Expressions above this many nodes are given up: nothing that an address needs is that large.
const MAX_NODES: usize = 48;

impl Expr {
    /// The value of the expression, where `registers` gives the value of a span of at most 8 bytes
    /// (little end first), None if it is unknown. None if the value depends on something unknown.
    pub fn eval(&self, registers: &impl Fn(RegSpan) -> Option<u64>) -> Option<u64> {
        Some(match self {
            Expr::Const(value) => *value,
            Expr::Reg(span) => registers(*span)?,
            Expr::Binary(op, left, right) => {
                op.apply(left.eval(registers)?, right.eval(registers)?)
            }
            Expr::ZeroExtend(bits, operand) => low_bits(operand.eval(registers)?, *bits),
            Expr::SignExtend(bits, operand) => sign_extended(operand.eval(registers)?, *bits),
            Expr::Unknown => return None,
        })
    }

    /// `self op other` with the obvious simplifications: constants fold and stand right, sums with
    /// constants are flat, and what is unknown makes all unknown but for a known zero.
    pub fn binary(self, op: Operator, other: Expr) -> Expr {
        if let (Expr::Const(a), Expr::Const(b)) = (&self, &other) {
            return Expr::Const(op.apply(*a, *b));
        }
        if matches!(op, And | Mul) && (self == Expr::Const(0) || other == Expr::Const(0)) {
            return Expr::Const(0);
        }
        if self == Expr::Unknown || other == Expr::Unknown {
            return Expr::Unknown;
        }
        if self == other {
            match op {
                Sub | Xor | Ne | Lt | Slt => return Expr::Const(0),
                Eq | Le | Sle => return Expr::Const(1),
                And | Or => return self,
                _ => {}
            }
        }
        let (left, right) = match (op, self, other) {
            (Add | Mul | And | Or | Xor, a @ Expr::Const(_), b) => (b, a),
            (_, a, b) => (a, b),
        };
        match (op, right) {
            (Sub, Expr::Const(c)) => join(Add, left, Expr::Const(c.wrapping_neg())),
            (op, right) => join(op, left, right),
        }
    }

    /// A sum.
    pub fn plus(self, other: Expr) -> Expr {
        self.binary(Add, other)
    }

    /// The sum with a constant.
    pub fn offset(self, by: u64) -> Expr {
        self.binary(Add, Expr::Const(by))
    }

    /// The low `bits` bits, zero extended.
    pub fn truncate(self, bits: u32) -> Expr {
        let (Ok(width @ 0..64), limit) = (u8::try_from(bits), mask(bits)) else { return self };
        match self {
            Expr::Const(c) => Expr::Const(c & limit),
            Expr::Unknown => Expr::Unknown,
            Expr::Reg(r) if u32::from(r.size) * 8 <= bits => Expr::Reg(r),
            Expr::ZeroExtend(b, operand) if b <= width => Expr::ZeroExtend(b, operand),
            Expr::ZeroExtend(b, operand) | Expr::SignExtend(b, operand) if b >= width => {
                operand.truncate(bits)
            }
            Expr::Binary(Eq | Ne | Lt | Le | Slt | Sle, ..) => self,
            Expr::Binary(And, _, ref right) if matches!(**right, Expr::Const(c) if c <= limit) => {
                self
            }
            other => Expr::ZeroExtend(width, Box::new(other)),
        }
    }

    /// The low `bits` bits, sign extended.
    pub fn sign_extend(self, bits: u32) -> Expr {
        match (u8::try_from(bits), self) {
            (Ok(width @ 0..64), Expr::Const(c)) => Expr::Const(sign_extended(c, width)),
            (_, Expr::Unknown) => Expr::Unknown,
            (Ok(width @ 0..64), other) => Expr::SignExtend(width, Box::new(other.low(bits))),
            (_, other) => other,
        }
    }

    /// The expression without an extension that does not matter to the low `bits` bits.
    pub fn low(self, bits: u32) -> Expr {
        match self {
            Expr::ZeroExtend(b, operand) | Expr::SignExtend(b, operand) if u32::from(b) >= bits => {
                operand.low(bits)
            }
            other => other,
        }
    }

    /// 1 if the expression is 0, else 0.
    pub fn negate(self) -> Expr {
        match self {
            Expr::Binary(Eq, a, b) if *b == Expr::Const(0) && a.is_truth() => *a,
            Expr::Binary(Eq, a, b) => Expr::Binary(Ne, a, b),
            Expr::Binary(Ne, a, b) => Expr::Binary(Eq, a, b),
            other => other.binary(Eq, Expr::Const(0)),
        }
    }

    /// 0 if the expression is 0, else 1.
    pub fn truth(self) -> Expr {
        if self.is_truth() { self } else { self.binary(Ne, Expr::Const(0)) }
    }

    /// Whether the value is 0 or 1 by its form.
    fn is_truth(&self) -> bool {
        matches!(self, Expr::Binary(Eq | Ne | Lt | Le | Slt | Sle, ..))
            || matches!(self, Expr::Binary(And, _, right) if **right == Expr::Const(1))
    }

    /// The registers that the expression reads, in the order of the text.
    pub fn registers(&self) -> Vec<RegSpan> {
        let mut found = Vec::new();
        self.each_register(&mut |span| found.push(span));
        found
    }

    /// Whether the expression reads any byte of `span`.
    pub fn reads(&self, span: RegSpan) -> bool {
        let mut any = false;
        self.each_register(&mut |read| any |= read.overlaps(span));
        any
    }

    fn each_register(&self, visit: &mut impl FnMut(RegSpan)) {
        match self {
            Expr::Reg(span) => visit(*span),
            Expr::Binary(_, left, right) => {
                left.each_register(visit);
                right.each_register(visit);
            }
            Expr::ZeroExtend(_, operand) | Expr::SignExtend(_, operand) => {
                operand.each_register(visit);
            }
            Expr::Const(_) | Expr::Unknown => {}
        }
    }

    fn nodes(&self) -> usize {
        match self {
            Expr::Binary(_, left, right) => 1 + left.nodes() + right.nodes(),
            Expr::ZeroExtend(_, operand) | Expr::SignExtend(_, operand) => 1 + operand.nodes(),
            _ => 1,
        }
    }
}

/// A node for operands in their places; see [`Expr::binary`].
fn join(op: Operator, left: Expr, right: Expr) -> Expr {
    match (op, left, right) {
        (Add | Or | Xor | Shl | Shr | Sar, left, Expr::Const(0)) => left,
        (Mul, left, Expr::Const(1)) => left,
        (And, left, Expr::Const(u64::MAX)) => left,
        (Add, Expr::Binary(Add, term, inner), Expr::Const(c)) => match *inner {
            Expr::Const(d) => term.offset(c.wrapping_add(d)),
            inner => node(Add, Expr::Binary(Add, term, Box::new(inner)), Expr::Const(c)),
        },
        (op, left, right) => node(op, left, right),
    }
}

fn node(op: Operator, left: Expr, right: Expr) -> Expr {
    let made = Expr::Binary(op, Box::new(left), Box::new(right));
    if made.nodes() > MAX_NODES { Expr::Unknown } else { made }
}

impl Operator {
    /// The operator on 64-bit values; shifts by 64 or more shift everything out.
    pub fn apply(self, a: u64, b: u64) -> u64 {
        let (signed, other) = (a.cast_signed(), b.cast_signed());
        let distance = u32::try_from(b).unwrap_or(u32::MAX);
        match self {
            Add => a.wrapping_add(b),
            Sub => a.wrapping_sub(b),
            Mul => a.wrapping_mul(b),
            And => a & b,
            Or => a | b,
            Xor => a ^ b,
            Shl => a.checked_shl(distance).unwrap_or(0),
            Shr => a.checked_shr(distance).unwrap_or(0),
            Sar => (signed >> distance.min(63)).cast_unsigned(),
            Eq => u64::from(a == b),
            Ne => u64::from(a != b),
            Lt => u64::from(a < b),
            Le => u64::from(a <= b),
            Slt => u64::from(signed < other),
            Sle => u64::from(signed <= other),
        }
    }
}

/// A number of `bits` ones; all 64 from 64 on.
pub fn mask(bits: u32) -> u64 {
    1u64.checked_shl(bits).map_or(u64::MAX, |above| above - 1)
}

fn low_bits(value: u64, bits: u8) -> u64 {
    value & mask(bits.into())
}

fn sign_extended(value: u64, bits: u8) -> u64 {
    match bits {
        0 => 0,
        1..64 => ((value << (64 - bits)).cast_signed() >> (64 - bits)).cast_unsigned(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_registers_make_the_value_unknown_and_arithmetic_wraps() {
        let r = RegSpan { offset: 8, size: 8 };
        let sum = Expr::Reg(r).offset(u64::MAX);
        assert_eq!(sum.eval(&|_| Some(5)), Some(4));
        assert_eq!(sum.eval(&|_| None), None);
        assert!(sum.reads(RegSpan { offset: 9, size: 1 }));
        assert!(!sum.reads(RegSpan { offset: 16, size: 1 }));
        let byte = |c| Box::new(Expr::Const(c));
        assert_eq!(Expr::SignExtend(8, byte(0x80)).eval(&|_| None), Some(u64::MAX - 127));
        assert_eq!(Expr::ZeroExtend(8, byte(0x180)).eval(&|_| None), Some(0x80));
        assert_eq!(Shl.apply(1, 64), 0);
        assert_eq!(Sar.apply(1 << 63, 200), u64::MAX);
        assert_eq!((Slt.apply(u64::MAX, 0), Lt.apply(u64::MAX, 0)), (1, 0));
    }

    #[test]
    fn constants_fold_and_stand_right() {
        let r = Expr::Reg(RegSpan { offset: 0, size: 8 });
        assert_eq!(Expr::Const(4).plus(r.clone()).offset(3), r.clone().offset(7));
        assert_eq!(r.clone().binary(Sub, Expr::Const(1)).offset(1), r);
        assert_eq!(r.clone().binary(Xor, r.clone()), Expr::Const(0));
        assert_eq!(Expr::Unknown.binary(And, Expr::Const(0)), Expr::Const(0));
        assert_eq!(
            r.clone().binary(Eq, Expr::Const(3)).negate().negate().eval(&|_| Some(3)),
            Some(1)
        );
        assert_eq!(r.sign_extend(32).truncate(16).eval(&|_| Some(0x1_8000)), Some(0x8000));
    }
}
