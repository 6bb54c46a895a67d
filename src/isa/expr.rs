//! Evaluation of [`Expr`]: addresses, conditions and guards from register values.

use super::{Expr, Op};
use crate::event::RegSpan;

impl Expr {
    /// The value of the expression, where `registers` gives the value of a span of at most 8 bytes
    /// (little end first), None if it is unknown. None if the value depends on something unknown.
    pub fn eval(&self, registers: &impl Fn(RegSpan) -> Option<u64>) -> Option<u64> {
        Some(match self {
            Expr::Const(value) => *value,
            Expr::Reg(span) => registers(*span)?,
            Expr::Bin(op, left, right) => op.apply(left.eval(registers)?, right.eval(registers)?),
            Expr::Extend(signed, bits, operand) => extend(*signed, *bits, operand.eval(registers)?),
            Expr::Unknown => return None,
        })
    }

    /// A sum; constants fold, so that a sum with 0 is the other operand.
    #[allow(clippy::should_implement_trait)]
    pub fn add(self, other: Expr) -> Expr {
        match (self, other) {
            (Expr::Const(a), Expr::Const(b)) => Expr::Const(a.wrapping_add(b)),
            (a, Expr::Const(0)) | (Expr::Const(0), a) => a,
            (a, b) => Expr::Bin(Op::Add, Box::new(a), Box::new(b)),
        }
    }

    /// Whether the expression reads any byte of `span`.
    pub fn reads(&self, span: RegSpan) -> bool {
        match self {
            Expr::Reg(read) => {
                read.offset < span.offset + span.size && span.offset < read.offset + read.size
            }
            Expr::Bin(_, left, right) => left.reads(span) || right.reads(span),
            Expr::Extend(_, _, operand) => operand.reads(span),
            Expr::Const(_) | Expr::Unknown => false,
        }
    }
}

impl Op {
    /// The operator on 64-bit values; shifts by 64 or more shift everything out.
    pub fn apply(self, a: u64, b: u64) -> u64 {
        match self {
            Op::Add => a.wrapping_add(b),
            Op::Sub => a.wrapping_sub(b),
            Op::Mul => a.wrapping_mul(b),
            Op::And => a & b,
            Op::Or => a | b,
            Op::Xor => a ^ b,
            Op::Shl => {
                if b < 64 {
                    a << b
                } else {
                    0
                }
            }
            Op::Shr => {
                if b < 64 {
                    a >> b
                } else {
                    0
                }
            }
            Op::Sar => ((a as i64) >> b.min(63)) as u64,
            Op::Eq => u64::from(a == b),
            Op::Ne => u64::from(a != b),
            Op::Lt => u64::from(a < b),
            Op::Le => u64::from(a <= b),
            Op::Slt => u64::from((a as i64) < b as i64),
            Op::Sle => u64::from(a as i64 <= b as i64),
        }
    }
}

fn extend(signed: bool, bits: u8, value: u64) -> u64 {
    if bits >= 64 {
        return value;
    }
    if bits == 0 {
        return 0;
    }
    let unused = 64 - u32::from(bits);
    if signed { (((value << unused) as i64) >> unused) as u64 } else { (value << unused) >> unused }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_registers_make_the_value_unknown_and_arithmetic_wraps() {
        let r = RegSpan { offset: 8, size: 8 };
        let sum = Expr::Reg(r).add(Expr::Const(u64::MAX));
        assert_eq!(sum.eval(&|_| Some(5)), Some(4));
        assert_eq!(sum.eval(&|_| None), None);
        assert!(
            sum.reads(RegSpan { offset: 9, size: 1 })
                && !sum.reads(RegSpan { offset: 16, size: 1 })
        );
        assert_eq!(
            Expr::Extend(true, 8, Box::new(Expr::Const(0x80))).eval(&|_| None),
            Some((-128i64) as u64)
        );
        assert_eq!(
            Expr::Extend(false, 8, Box::new(Expr::Const(0x180))).eval(&|_| None),
            Some(0x80)
        );
        assert_eq!(Op::Shl.apply(1, 64), 0);
        assert_eq!(Op::Sar.apply(1 << 63, 200), u64::MAX);
        assert_eq!((Op::Slt.apply(u64::MAX, 0), Op::Lt.apply(u64::MAX, 0)), (1, 0));
    }
}
