//! The accesses of one step: computed from register values, or taken from the log.

use super::dictionary::KnownInstruction;
use super::problems::{
    OTHER_DIRECTION, ProblemCounts, ProblemKind, TOO_MANY_ACCESSES, UNKNOWN_ADDRESS,
    UNKNOWN_CONDITION, UNKNOWN_SIZE,
};
use super::register_values::RegisterValues;
use super::run::OpenRun;
use crate::event::{Condition, LoggedAccess, MemShape, RegSpan};
use crate::isa::decoded::MemOperand;

/// Accesses of a step that are kept: ordinals have 16 bits, and registers come before and behind.
const MOST_ACCESSES: usize = 65_000;
/// Operands of an instruction that logged accesses are matched with.
const MOST_OPERANDS: usize = 64;

/// The step that is being begun.
pub struct StepAccesses<'a> {
    pub known: &'a KnownInstruction,
    /// Before the step.
    pub registers: &'a RegisterValues,
    /// The trace has values of accesses.
    pub values: bool,
    /// Bytes of an access of which nothing is known.
    pub natural_size: u32,
    /// The bits that addresses have.
    pub address_mask: u64,
    pub run: &'a mut OpenRun,
    pub problems: &'a mut ProblemCounts,
}

impl StepAccesses<'_> {
    /// Whether the instruction's condition held; `accesses`: the log has them.
    pub fn executed(
        &mut self,
        condition: Condition,
        logged: &[LoggedAccess],
        accesses: bool,
    ) -> bool {
        match condition {
            Condition::Held => return true,
            Condition::Failed => return false,
            Condition::Unknown if !logged.is_empty() => return true,
            Condition::Unknown => {}
        }
        let decoded = &self.known.decoded;
        let Some(expression) = &decoded.condition else { return true };
        if let Some(value) = expression.eval(&|span| self.registers.get(span)) {
            return value != 0;
        }
        if let Some(happened) = self.known.happened {
            return happened;
        }
        if accesses && !decoded.memory.is_empty() {
            return false;
        }
        self.problem(UNKNOWN_CONDITION, |known| {
            format!("cannot tell whether the condition of {known} held; taken as if it did")
        });
        true
    }

    fn access(&mut self, address: u64, shape: MemShape, value: Option<u64>) {
        self.run.push_access(shape, address & self.address_mask);
        if self.values {
            let stored =
                || self.known.data_register(&shape).and_then(|span| self.registers.get(span));
            let value = if shape.is_write { value.or_else(stored) } else { value };
            self.run.values.push(value);
        }
    }

    /// Computes the accesses from the register values.
    pub fn compute(&mut self) {
        for (number, operand) in (0..MemShape::NO_OPERAND).zip(&self.known.decoded.memory) {
            let value_of = |span| self.registers.get(span);
            if operand.guard.as_ref().is_some_and(|g| g.eval(&value_of) == Some(0)) {
                continue;
            }
            match operand.address.eval(&value_of) {
                Some(address) if operand.size > 0 => {
                    let MemOperand { is_write, size, .. } = *operand;
                    self.access(address, MemShape { is_write, size, operand: number }, None);
                }
                _ => self.problem(UNKNOWN_ADDRESS, |known| {
                    format!("cannot compute what {known} accesses; left out")
                }),
            }
        }
    }

    /// Takes the accesses of the log. An operand may be logged in adjacent pieces, which become one
    /// access again.
    pub fn take(&mut self, logged: &[LoggedAccess]) {
        let operands = &self.known.decoded.memory;
        let mut matching = Matching::new(&operands[..operands.len().min(MOST_OPERANDS)], logged);
        let mut rest = &logged[..logged.len().min(MOST_ACCESSES)];
        if rest.len() < logged.len() {
            let left_out = logged.len() - rest.len();
            self.problem(TOO_MANY_ACCESSES, |known| {
                format!("the log has {} accesses of {known}; {left_out} left out", logged.len())
            });
        }
        while let Some(first) = rest.first() {
            let Match { operand, count, size } = matching.next(rest);
            let size = if size > 0 { size } else { self.unknown_size() };
            if matching.only_other(first.is_write) {
                self.problem(OTHER_DIRECTION, |known| {
                    let (says, does) =
                        if first.is_write { ("stores", "loads") } else { ("loads", "stores") };
                    format!(
                        "the log says that {known} {says}, which only {does}; taken from the log"
                    )
                });
            }
            let shape = |n: Option<usize>, is_write, size| {
                let number = n.and_then(|n| u8::try_from(n).ok());
                MemShape { is_write, size, operand: number.unwrap_or(MemShape::NO_OPERAND) }
            };
            let beside = operand.map_or_else(Vec::new, |n| matching.beside(n, first));
            let (before, behind): (Vec<_>, Vec<_>) =
                beside.into_iter().partition(|(n, _)| first.is_write && !operands[*n].is_write);
            for (n, at) in before {
                self.access(at, shape(Some(n), false, operands[n].size), None);
            }
            let value = if count == 1 { first.value } else { None };
            self.access(first.address, shape(operand, first.is_write, size), value);
            for (n, at) in behind {
                let MemOperand { is_write, size, .. } = operands[n];
                self.access(at, shape(Some(n), is_write, size), None);
            }
            rest = &rest[usize::try_from(count).unwrap_or(1)..];
        }
    }

    fn unknown_size(&mut self) -> u32 {
        let natural = self.natural_size;
        self.problem(UNKNOWN_SIZE, |known| {
            format!(
                "the log has an access without size that {known} is not known to make; taken as \
                 {natural} bytes"
            )
        });
        natural
    }

    /// Counts an instruction of which the decoder does not know all; `accesses`: the log has them.
    pub fn unmodelled(&mut self, accesses: bool) {
        let Some(gap) = self.known.decoded.unmodelled else { return };
        if gap.memory && !accesses {
            self.problem(ProblemKind::lost("memory-unmodelled", gap.remedy), |known| {
                format!("what {known} loads or stores is not known; left out")
            });
        } else if self.known.def.log_registers.is_none() {
            self.problem(ProblemKind::lost("registers-unmodelled", gap.remedy), |known| {
                format!("not all registers of {known} are known; they are left out")
            });
        }
    }

    fn problem(&mut self, kind: ProblemKind, message: impl FnOnce(&str) -> String) {
        let KnownInstruction { decoded, def, .. } = self.known;
        let address = def.address;
        self.problems.add(kind, format_args!("address {address:#x}"), || {
            message(&format!("`{}`", decoded.text))
        });
    }
}

/// What a logged access is.
struct Match {
    /// The operand that makes it.
    operand: Option<usize>,
    /// Logged accesses that it consists of.
    count: i64,
    /// In bytes, 0 if not known.
    size: u32,
}

/// Which operands the logged accesses of a step belong to.
struct Matching<'a> {
    operands: &'a [MemOperand],
    logged: &'a [LoggedAccess],
    /// Operands that are taken, as bits.
    used: u64,
    /// Logged accesses more than operands, of reads and writes.
    surplus: [i64; 2],
    /// Whether the log has any.
    logs: [bool; 2],
}

/// How far the address of an operand is behind that of another one, if that does not depend on registers.
fn distance(from: &MemOperand, to: &MemOperand) -> Option<u64> {
    let with = |salt: u64| {
        let register = |span: RegSpan| {
            let number = (u64::from(span.offset) << 8 | u64::from(span.size)) ^ salt;
            // What a register can hold, and far from where an address begins anew.
            let bits = 8 * u32::from(span.size.clamp(1, 8)) - 2;
            Some(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits))
        };
        Some(to.address.eval(&register)?.wrapping_sub(from.address.eval(&register)?))
    };
    with(0).filter(|distance| with(0x5555) == Some(*distance))
}

impl<'a> Matching<'a> {
    fn new(operands: &'a [MemOperand], logged: &'a [LoggedAccess]) -> Matching<'a> {
        let mut surplus = [0; 2];
        for access in logged {
            surplus[usize::from(access.is_write)] += 1;
        }
        for operand in operands {
            surplus[usize::from(operand.is_write)] -= 1;
        }
        let logs = [false, true].map(|is| logged.iter().any(|access| access.is_write == is));
        Matching { operands, logged, used: 0, surplus, logs }
    }

    /// The operand that begins where an access begins which is logged without its size, if there are fewer of those than operands: the
    /// lowest access is that of the lowest operand, whatever their order.
    fn where_it_begins(&self, first: &LoggedAccess) -> Option<usize> {
        let is_write = first.is_write;
        if first.size > 0 || self.surplus[usize::from(is_write)] >= 0 {
            return None;
        }
        let addresses = self.logged.iter().filter(|l| l.is_write == is_write).map(|l| l.address);
        let behind = first.address.wrapping_sub(addresses.min()?) as i64;
        let operands = self.operands.iter().enumerate().filter(|(_, o)| o.is_write == is_write);
        let from = operands.clone().next()?.1;
        let offsets = operands.map(|(n, o)| Some((n, distance(from, o)? as i64)));
        let offsets: Vec<(usize, i64)> = offsets.collect::<Option<_>>()?;
        let lowest = offsets.iter().map(|(_, offset)| *offset).min()?;
        let begins = |(n, offset): &&(usize, i64)| {
            offset.wrapping_sub(lowest) == behind && self.used & (1 << n) == 0
        };
        offsets.iter().find(begins).map(|(n, _)| *n)
    }

    /// Operands that an access of operand `n` which is logged without its size stands for, too, with their addresses. A pair of registers
    /// is one access of some logs, and so are the load and the store of an atomic operation. (gem5's `ldp_uop`, `ldr2_uop` and
    /// `amoadd_w[l]`, QEMU's execlog since 8.1.)
    fn beside(&mut self, n: usize, first: &LoggedAccess) -> Vec<(usize, u64)> {
        let mut found = Vec::new();
        let operands = self.operands;
        let own = &operands[n];
        if first.size > 0 || own.size == 0 {
            return found;
        }
        let direction = usize::from(first.is_write);
        // The next access that is logged is another one's.
        let next = self.logged.iter().filter(|l| l.is_write == first.is_write);
        let next = next.map(|l| l.address.wrapping_sub(first.address)).filter(|&by| by > 0).min();
        let mut reach = u64::from(own.size);
        while self.surplus[direction] < 0 && next.is_none_or(|next| reach < next) {
            let goes_on = |m: &usize| {
                let other: &MemOperand = &operands[*m];
                self.is_free(*m)
                    && other.is_write == own.is_write
                    && other.guard.is_none()
                    && own.guard.is_none()
                    && distance(own, other) == Some(reach)
            };
            let Some(m) = (0..operands.len()).find(goes_on) else { break };
            self.used |= 1 << m;
            found.push((m, first.address.wrapping_add(reach)));
            self.surplus[direction] += 1;
            reach += u64::from(operands[m].size);
        }
        for (m, other) in operands.iter().enumerate() {
            let is_same = self.is_free(m)
                && other.is_write != own.is_write
                && other.guard.is_none()
                && own.guard.is_none()
                && !self.logs[usize::from(other.is_write)]
                && other.size == own.size
                && distance(own, other) == Some(0);
            if is_same {
                self.used |= 1 << m;
                found.push((m, first.address));
            }
        }
        found
    }

    /// Whether the instruction is known to access memory, but only in the other direction.
    fn only_other(&self, is_write: bool) -> bool {
        !self.operands.is_empty() && self.operands.iter().all(|o| o.is_write != is_write)
    }

    fn is_free(&self, n: usize) -> bool {
        self.used & (1 << n) == 0
    }

    /// Operands for an access in the direction of `first` that are not taken.
    fn free(&self, first: &LoggedAccess) -> impl Iterator<Item = usize> + use<'_> {
        let (is_write, used) = (first.is_write, self.used);
        let free = move |n: &usize| {
            let operand: &MemOperand = &self.operands[*n];
            operand.is_write == is_write && used & (1 << n) == 0
        };
        (0..self.operands.len()).filter(free)
    }

    /// What the first of `logged` is, with those behind it that belong to it.
    fn next(&mut self, logged: &[LoggedAccess]) -> Match {
        let Some(first) = logged.first() else { return Match { operand: None, count: 0, size: 0 } };
        let operands = self.operands;
        let found = match self.where_it_begins(first).or_else(|| self.free(first).next()) {
            None => Match { operand: None, count: 1, size: first.size },
            Some(n) if operands[n].size == 0 => {
                Match { operand: Some(n), count: 1, size: first.size }
            }
            Some(n) => match self.pieces(n, logged) {
                pieces if first.size == 0 || first.size < operands[n].size && pieces.count > 1 => {
                    pieces
                }
                _ => {
                    let same = self.free(first).find(|&m| operands[m].size == first.size);
                    Match { operand: Some(same.unwrap_or(n)), count: 1, size: first.size }
                }
            },
        };
        if let Some(n) = found.operand
            && operands[n].size > 0
        {
            self.used |= 1 << n;
        }
        self.surplus[usize::from(first.is_write)] -= found.count - 1;
        found
    }

    /// The accesses that operand `n` consists of, beginning with the first of `logged`: each goes
    /// on where the one before ends, as far as the operand reaches. Where the log has no sizes, no
    /// more are taken than there are too many.
    fn pieces(&self, n: usize, logged: &[LoggedAccess]) -> Match {
        let [first, others @ ..] = logged else {
            return Match { operand: Some(n), count: 0, size: 0 };
        };
        let size = u64::from(self.operands[n].size);
        let surplus = self.surplus[usize::from(first.is_write)];
        let (mut count, mut reach, mut previous) = (1, first.size, 0);
        for access in others {
            let at = access.address.wrapping_sub(first.address);
            let fits = if first.size > 0 {
                let end = at.checked_add(access.size.into());
                access.size > 0 && at == u64::from(reach) && end.is_some_and(|end| end <= size)
            } else {
                count <= surplus && at > previous && at < size
            };
            if access.is_write != first.is_write || !fits {
                break;
            }
            previous = at;
            reach = u32::try_from(at).unwrap_or(u32::MAX).saturating_add(access.size);
            count += 1;
        }
        let size = if first.size > 0 { reach } else { self.operands[n].size };
        Match { operand: Some(n), count, size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::expr::Expr;

    const BASE: RegSpan = RegSpan { offset: 8, size: 8 };

    fn operand(is_write: bool, size: u32, behind: u64) -> MemOperand {
        MemOperand::plain(is_write, size, Expr::Reg(BASE).offset(behind))
    }

    fn logged(is_write: bool, address: u64, size: u32) -> LoggedAccess {
        LoggedAccess { address, size, is_write, value: None }
    }

    /// What each logged access stands for: its operand, and those beside it.
    fn matched(
        operands: &[MemOperand],
        list: &[LoggedAccess],
    ) -> Vec<(Option<usize>, Vec<(usize, u64)>)> {
        let mut matching = Matching::new(operands, list);
        let mut rest = list;
        let mut found = Vec::new();
        while let Some(first) = rest.first() {
            let Match { operand, count, .. } = matching.next(rest);
            found.push((operand, operand.map_or_else(Vec::new, |n| matching.beside(n, first))));
            rest = &rest[count as usize..];
        }
        found
    }

    /// Some logs have one access for a pair of registers, and for an atomic operation.
    #[test]
    fn an_access_without_size_stands_for_all_that_it_is() {
        let pair = [operand(true, 8, 0), operand(true, 8, 8)];
        assert_eq!(matched(&pair, &[logged(true, 0x1000, 0)]), [(Some(0), vec![(1, 0x1008)])]);
        let both = [logged(true, 0x1000, 0), logged(true, 0x1008, 0)];
        assert_eq!(matched(&pair, &both), [(Some(0), vec![]), (Some(1), vec![])]);
        assert_eq!(matched(&pair, &[logged(true, 0x1000, 8)]), [(Some(0), vec![])]);
        let far = [operand(true, 8, 0), operand(true, 8, 16)];
        assert_eq!(matched(&far, &[logged(true, 0x1000, 0)]), [(Some(0), vec![])]);
        let atomic = [operand(false, 4, 0), operand(true, 4, 0)];
        assert_eq!(matched(&atomic, &[logged(false, 0x1000, 0)]), [(Some(0), vec![(1, 0x1000)])]);
        assert_eq!(matched(&atomic, &[logged(true, 0x1000, 0)]), [(Some(1), vec![(0, 0x1000)])]);
        let both = [logged(false, 0x1000, 0), logged(true, 0x1000, 0)];
        assert_eq!(matched(&atomic, &both), [(Some(0), vec![]), (Some(1), vec![])]);
        // Two registers at a time, in any order of the operands.
        let words =
            |offsets: &[u64]| offsets.iter().map(|by| operand(false, 4, *by)).collect::<Vec<_>>();
        let two = [logged(false, 0x1000, 0), logged(false, 0x1008, 0)];
        for offsets in [[0, 4, 8, 12], [12, 8, 4, 0], [8, 12, 0, 4]] {
            let of = |by: u64| offsets.iter().position(|o| *o == by).unwrap();
            let pairs =
                [(Some(of(0)), vec![(of(4), 0x1004)]), (Some(of(8)), vec![(of(12), 0x100c)])];
            assert_eq!(matched(&words(&offsets), &two), pairs);
            let backwards = [two[1], two[0]];
            let pairs = [pairs[1].clone(), pairs[0].clone()];
            assert_eq!(matched(&words(&offsets), &backwards), pairs);
        }
        let odd = [(Some(2), vec![(1, 0x1004)]), (Some(0), vec![])];
        assert_eq!(matched(&words(&[8, 4, 0]), &two), odd);
        // The first address of ARM's `ldm` is the register itself, the others have 32 bits.
        let base = RegSpan { offset: 8, size: 4 };
        let address = |by: u64| match by {
            0 => Expr::Reg(base),
            _ => Expr::Reg(base).offset(by).truncate(32),
        };
        let pair = [0, 4].map(|by| MemOperand::plain(false, 4, address(by)));
        assert_eq!(matched(&pair, &[two[0]]), [(Some(0), vec![(1, 0x1004)])]);
        // What may not happen did not, as far as the log says.
        let guard = Some(Expr::Reg(BASE));
        let compared = [operand(false, 4, 0), MemOperand { guard, ..operand(true, 4, 0) }];
        assert_eq!(matched(&compared, &[logged(false, 0x1000, 0)]), [(Some(0), vec![])]);
    }
}
