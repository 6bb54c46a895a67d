//! The value that a p-code operation on data gives.

use super::effects::ByteValue;
use super::op::{PcodeOp, Varnode};
use super::values::{Value, Values, number_of};
use crate::isa::expr::{Expr, Operator, mask};
use libsla::{BoolOp, IntOp, IntSign, OpCode};

/// An op with the values of its operands.
struct Operation<'a> {
    values: &'a Values<'a>,
    op: &'a PcodeOp,
    out: Varnode,
}

/// What `op` gives its output `out`.
pub fn compute(values: &Values, op: &PcodeOp, out: Varnode) -> Value {
    let operation = Operation { values, op, out };
    let same = op.ins.len() == 2 && op.ins[0] == op.ins[1];
    match op.code {
        OpCode::Copy => operation.copy(),
        OpCode::Subpiece => operation.subpiece(),
        OpCode::Piece => operation.piece(),
        OpCode::Int(IntOp::Extension(IntSign::Unsigned)) => operation.zero_extension(),
        OpCode::Int(IntOp::Extension(IntSign::Signed)) if out.size <= 8 => {
            operation.sign_extension()
        }
        OpCode::Int(IntOp::Bitwise(BoolOp::Xor) | IntOp::Subtract) if same => Value {
            number: operation.narrow(Expr::Const(0)),
            bytes: vec![ByteValue::Zero; out.size as usize],
        },
        _ if out.size > 8 || op.ins.iter().any(|v| v.size > 8) => Value::unknown(),
        OpCode::Int(int) => Value { number: operation.integer(int), bytes: Vec::new() },
        OpCode::Bool(truth) => Value { number: operation.truth(truth), bytes: Vec::new() },
        _ => Value::unknown(),
    }
}

impl Operation<'_> {
    fn argument(&self, n: usize) -> Expr {
        self.op.ins.get(n).map_or(Expr::Unknown, |v| self.values.number(*v))
    }

    /// The argument sign extended to 64 bits, for what depends on the sign.
    fn signed(&self, n: usize) -> Expr {
        self.argument(n).sign_extend(self.op.ins.get(n).map_or(64, |v| v.bits()))
    }

    /// `left op right`, of which only the low bits matter.
    fn modular(&self, op: Operator, left: Expr, right: Expr) -> Expr {
        let bits = self.out.bits();
        left.low(bits).binary(op, right).truncate(bits)
    }

    fn plain(&self, op: Operator) -> Expr {
        self.argument(0).binary(op, self.argument(1))
    }

    /// Numbers of outputs wider than 8 bytes are not known.
    fn narrow(&self, number: Expr) -> Expr {
        if self.out.size <= 8 { number } else { Expr::Unknown }
    }

    fn copy(&self) -> Value {
        let Some(v) = self.op.ins.first() else { return Value::unknown() };
        Value { number: self.values.number(*v), bytes: self.values.bytes(*v) }
    }

    fn subpiece(&self) -> Value {
        let (Some(v), Some(skip)) = (self.op.ins.first(), self.op.ins.get(1)) else {
            return Value::unknown();
        };
        let skipped = usize::try_from(skip.at).unwrap_or(usize::MAX);
        let bytes = self.values.bytes(*v).into_iter().skip(skipped);
        let bytes: Vec<ByteValue> = bytes.take(self.out.size as usize).collect();
        let number = if v.size <= 8 {
            let shift = Expr::Const(8 * skip.at.min(8));
            self.argument(0).binary(Operator::Shr, shift).truncate(self.out.bits())
        } else if self.out.size <= 8 {
            number_of(&bytes)
        } else {
            Expr::Unknown
        };
        Value { number, bytes }
    }

    fn piece(&self) -> Value {
        let (Some(high), Some(low)) = (self.op.ins.first(), self.op.ins.get(1)) else {
            return Value::unknown();
        };
        let mut bytes = self.values.bytes(*low);
        bytes.extend(self.values.bytes(*high));
        let shift = Expr::Const(low.bits().into());
        let number =
            self.argument(0).binary(Operator::Shl, shift).binary(Operator::Or, self.argument(1));
        Value { number: self.narrow(number), bytes }
    }

    fn zero_extension(&self) -> Value {
        let Some(v) = self.op.ins.first() else { return Value::unknown() };
        let mut bytes = self.values.bytes(*v);
        bytes.resize(self.out.size as usize, ByteValue::Zero);
        Value { number: self.narrow(self.argument(0)), bytes }
    }

    /// Of a loaded value the low bytes are those that were loaded.
    fn sign_extension(&self) -> Value {
        let number = self.integer(IntOp::Extension(IntSign::Signed));
        let bytes = self.op.ins.first().map_or_else(Vec::new, |v| self.values.bytes(*v));
        let loaded = bytes.iter().all(|byte| matches!(byte, ByteValue::Load(..)));
        Value { number, bytes: if loaded { bytes } else { Vec::new() } }
    }

    fn integer(&self, op: IntOp) -> Expr {
        use Operator::*;
        let bits = self.out.bits();
        let low = |n: usize| self.argument(n).low(bits);
        match op {
            IntOp::Add => self.modular(Add, low(0), low(1)),
            IntOp::Subtract => self.modular(Sub, low(0), low(1)),
            IntOp::Multiply => self.modular(Mul, low(0), low(1)),
            IntOp::Negate => self.modular(Sub, Expr::Const(0), low(0)),
            IntOp::Bitwise(BoolOp::Negate) => self.argument(0).binary(Xor, Expr::Const(mask(bits))),
            IntOp::Bitwise(BoolOp::And) => self.plain(And),
            IntOp::Bitwise(BoolOp::Or) => self.plain(Or),
            IntOp::Bitwise(BoolOp::Xor) => self.plain(Xor),
            // Shifts by the width or more shift everything out, in p-code as in `Operator`.
            IntOp::ShiftLeft => self.modular(Shl, low(0), self.argument(1)),
            IntOp::ShiftRight(IntSign::Unsigned) => self.plain(Shr),
            IntOp::ShiftRight(IntSign::Signed) => match self.argument(1) {
                Expr::Const(c) => self.signed(0).binary(Sar, Expr::Const(c.min(63))).truncate(bits),
                _ => Expr::Unknown,
            },
            IntOp::Extension(IntSign::Signed) => self.signed(0).truncate(bits),
            IntOp::Equal => self.plain(Eq),
            IntOp::NotEqual => self.plain(Ne),
            IntOp::LessThan(IntSign::Unsigned) => self.plain(Lt),
            IntOp::LessThanOrEqual(IntSign::Unsigned) => self.plain(Le),
            IntOp::LessThan(IntSign::Signed) => self.signed(0).binary(Slt, self.signed(1)),
            IntOp::LessThanOrEqual(IntSign::Signed) => self.signed(0).binary(Sle, self.signed(1)),
            _ => Expr::Unknown,
        }
    }

    fn truth(&self, op: BoolOp) -> Expr {
        match op {
            BoolOp::Negate => self.argument(0).negate(),
            BoolOp::And => self.plain(Operator::And),
            BoolOp::Or => self.plain(Operator::Or),
            BoolOp::Xor => self.plain(Operator::Xor),
        }
    }
}
