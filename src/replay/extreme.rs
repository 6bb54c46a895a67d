//! Maximum and minimum as compilers write them: a comparison that decides which of its two values is kept,
//! by a conditional move, or in vectors by masks, blends and saturating differences.

use super::dependences::LoopDependences;
use crate::id::InstructionId;
use std::collections::{BTreeMap, BTreeSet};

/// What a conditional move keeps if it moves on "less" what was compared with what it keeps.
const LESS: [&str; 8] =
    ["cmovl", "cmovle", "cmovb", "cmovbe", "cmovng", "cmovnge", "cmovna", "cmovs"];
const GREATER: [&str; 8] =
    ["cmovg", "cmovge", "cmova", "cmovae", "cmovnl", "cmovnle", "cmovnb", "cmovns"];
/// Moves are followed so far.
const FAR: usize = 12;

/// Masks of masks are followed so far.
const DEEPEST_MASK: usize = 6;

const MAXIMUM: &str = "maximum";
const MINIMUM: &str = "minimum";

/// The name of an instruction without prefixes.
pub fn mnemonic(text: &str) -> &str {
    let words = text.split_whitespace();
    words.into_iter().find(|word| !matches!(*word, "lock" | "rep" | "notrack")).unwrap_or("")
}

/// Whether an instruction may choose between two values: a conditional move on less or greater.
pub fn is_choice(text: &str) -> bool {
    LESS.contains(&mnemonic(text)) || GREATER.contains(&mnemonic(text))
}

/// The operands of an instruction in AT&T's order: what it writes is the last.
pub fn operands(text: &str) -> Vec<&str> {
    let name = mnemonic(text);
    let Some(at) = text.find(name) else { return Vec::new() };
    let (mut found, mut begin, mut depth) = (Vec::new(), 0, 0);
    let list = &text[at + name.len()..];
    for (i, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(list[begin..i].trim());
                begin = i + 1;
            }
            _ => {}
        }
    }
    found.push(list[begin..].trim());
    found
}

/// A register by a name that is the same for all of its widths.
fn register(operand: &str) -> String {
    let name = operand.trim_start_matches('%');
    let vector = ["xmm", "ymm", "zmm"].iter().find_map(|begin| name.strip_prefix(begin));
    if let Some(number) = vector {
        return format!("v{number}");
    }
    if name.starts_with('r') && name[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return name.trim_end_matches(['b', 'w', 'd']).to_owned();
    }
    let short = name.trim_start_matches(['r', 'e']);
    match short {
        "al" | "ah" | "ax" => "a".into(),
        "bl" | "bh" | "bx" => "b".into(),
        "cl" | "ch" | "cx" => "c".into(),
        "dl" | "dh" | "dx" => "d".into(),
        "sil" | "si" => "si".into(),
        "dil" | "di" => "di".into(),
        other => other.to_owned(),
    }
}

/// Where a value comes from, moves followed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Root {
    /// The same in every iteration.
    Constant,
    /// Displacement and registers.
    Memory(i64, String),
    Of(InstructionId),
}

/// A loop's dataflow, and a circle in it.
pub struct Circle<'a> {
    pub found: &'a LoopDependences,
    /// [`LoopDependences::writers`]
    pub writers: &'a BTreeMap<InstructionId, Vec<InstructionId>>,
    pub text: &'a dyn Fn(InstructionId) -> String,
    pub part: &'a BTreeSet<InstructionId>,
}

impl Circle<'_> {
    fn name(&self, instruction: InstructionId) -> String {
        mnemonic(&(self.text)(instruction)).trim_start_matches('v').to_owned()
    }

    fn is(&self, instruction: InstructionId, begins: &[&str]) -> bool {
        let name = self.name(instruction);
        begins.iter().any(|begin| name.starts_with(begin))
    }

    fn moves(&self, instruction: InstructionId) -> bool {
        self.is(instruction, &["mov", "pshufd"])
    }

    /// Comparisons of what an instruction gives, moved or not.
    fn comparisons(&self, of: InstructionId) -> BTreeSet<InstructionId> {
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut list = vec![of];
        while let Some(next) = list.pop() {
            for reader in self.found.readers(next) {
                if self.is(reader, &["cmp"]) {
                    found.insert(reader);
                } else if self.part.contains(&reader) && self.moves(reader) && seen.insert(reader) {
                    list.push(reader);
                }
            }
        }
        found
    }

    /// What a conditional move gathers: what it keeps is compared with what it moves, and less or greater
    /// decides. Its comparisons. None: it is another choice.
    pub fn of_move(
        &self,
        instruction: InstructionId,
    ) -> Option<(&'static str, BTreeSet<InstructionId>)> {
        let text = (self.text)(instruction);
        let name = mnemonic(&text);
        let moves_less = LESS.contains(&name);
        if !moves_less && !GREATER.contains(&name) {
            return None;
        }
        let [moved, kept] = operands(&text)[..] else { return None };
        let comparisons = self.comparisons(instruction);
        // AT&T: `cmp b,a` is a - b. What is kept may be either.
        let compared = (self.text)(*comparisons.first()?);
        let [second, first] = operands(&compared)[..] else { return None };
        let compares = *comparisons.first()?;
        let same = |of: &str, other: &str| {
            let (a, b) =
                (self.root(compares, of, false, 0), self.root(instruction, other, false, 0));
            register(of) == register(other)
                || a.zip(b).is_some_and(|(a, b)| a != Root::Constant && self.same(&a, &b))
        };
        let keeps_first = same(first, kept) && same(second, moved);
        let keeps_second = same(second, kept) && same(first, moved);
        if !keeps_first && !keeps_second {
            return None;
        }
        let operation = if moves_less == keeps_first { MAXIMUM } else { MINIMUM };
        Some((operation, comparisons))
    }

    /// What a circle of vector instructions gathers, if it is made of choices between what was compared and
    /// of moves only. None: it is something else.
    pub fn of_vectors(&self) -> Option<&'static str> {
        let mut operations = BTreeSet::new();
        for &i in self.part {
            if self.moves(i) || self.is(i, &["pcmp", "pand", "psubus"]) || self.is_biased(i) {
                continue;
            }
            let found = if self.is(i, &["por"]) {
                // Of comparisons: a part of the mask.
                if self.compared(&Root::Of(i)).is_some() {
                    continue;
                }
                self.by_masks(i)
            } else if self.is(i, &["pblendv", "blendv"]) {
                self.by_blend(i)
            } else if self.is(i, &["padd", "psub"]) {
                self.by_difference(i)
            } else {
                None
            };
            operations.insert(found?);
        }
        match operations.into_iter().collect::<Vec<_>>()[..] {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Whether an instruction adds a constant, as before a comparison of numbers without signs.
    fn is_biased(&self, instruction: InstructionId) -> bool {
        self.is(instruction, &["psub", "padd", "pxor"])
            && !self.is(instruction, &["psubus"])
            && self.unbiased(instruction).is_some()
    }

    /// The operand that a constant is added to.
    fn unbiased(&self, instruction: InstructionId) -> Option<String> {
        let text = (self.text)(instruction);
        let list = operands(&text);
        let read = if list.len() == 3 { &list[..2] } else { &list[..] };
        let [a, b] = read else { return None };
        let constant = |operand: &str| {
            operand.contains("(%rip)")
                || !operand.contains('(') && self.writers(instruction, operand).is_empty()
        };
        match (constant(a), constant(b)) {
            (true, false) => Some((*b).to_owned()),
            (false, true) => Some((*a).to_owned()),
            _ => None,
        }
    }

    /// Who wrote an operand of an instruction.
    fn writers(&self, reader: InstructionId, operand: &str) -> Vec<InstructionId> {
        let wanted = register(operand);
        let into = self.writers.get(&reader).into_iter().flatten().copied();
        let writes = |w: &InstructionId| {
            let text = (self.text)(*w);
            operands(&text).last().is_some_and(|to| !to.contains('(') && register(to) == wanted)
        };
        into.filter(writes).collect()
    }

    fn root(
        &self,
        reader: InstructionId,
        operand: &str,
        biased: bool,
        depth: usize,
    ) -> Option<Root> {
        if operand.contains("(%rip)") {
            return Some(Root::Constant);
        }
        if let Some((displacement, registers)) = operand.split_once('(') {
            let (sign, digits) = match displacement.strip_prefix('-') {
                Some(digits) => (-1, digits),
                None => (1, displacement),
            };
            let hex = digits.trim_start_matches("0x");
            let number = if hex.is_empty() { 0 } else { i64::from_str_radix(hex, 16).ok()? };
            return Some(Root::Memory(sign * number, registers.to_owned()));
        }
        let mut roots = Vec::new();
        for writer in self.writers(reader, operand) {
            roots.push(self.origin(writer, biased, depth)?);
        }
        let first = roots.first().cloned().unwrap_or(Root::Constant);
        roots.iter().all(|root| *root == first).then_some(first)
    }

    /// What an instruction gives, moves followed, and with `biased` sums with constants.
    fn origin(&self, writer: InstructionId, biased: bool, depth: usize) -> Option<Root> {
        if depth > FAR {
            return None;
        }
        let text = (self.text)(writer);
        if self.moves(writer) {
            let list = operands(&text);
            let from = list.get(list.len().checked_sub(2)?)?;
            return self.root(writer, from, biased, depth + 1);
        }
        match self.unbiased(writer).filter(|_| biased && self.is_biased(writer)) {
            Some(operand) => self.root(writer, &operand, biased, depth + 1),
            None => Some(Root::Of(writer)),
        }
    }

    /// Whether two values are one. A pointer may have been moved on between two loads.
    fn same(&self, a: &Root, b: &Root) -> bool {
        let (Root::Memory(here, registers), Root::Memory(there, others)) = (a, b) else {
            return a == b;
        };
        if registers != others {
            return false;
        }
        let base = register(registers.trim_end_matches(')').split(',').next().unwrap_or_default());
        let moved = format!("${:#x}", (here - there).abs());
        let steps = |i: &InstructionId| {
            let text = (self.text)(*i);
            let list = operands(&text);
            self.is(*i, &["add", "sub"])
                && list.len() == 2
                && list[0] == moved
                && register(list[1]) == base
        };
        here == there || self.found.edges.keys().any(|(w, _)| steps(w))
    }

    /// Of a mask: the values of which the greater one makes it true, and the other one.
    fn compared(&self, mask: &Root) -> Option<(Root, Root)> {
        self.compared_within(mask, 0)
    }

    fn compared_within(&self, mask: &Root, depth: usize) -> Option<(Root, Root)> {
        let Root::Of(i) = mask else { return None };
        // A circle may lead back to where it began.
        if depth > DEEPEST_MASK {
            return None;
        }
        let text = (self.text)(*i);
        let list = operands(&text);
        let (second, first) = (list.first()?, list.get(1)?);
        let root = |operand: &str| self.root(*i, operand, true, 0);
        if self.is(*i, &["pcmpgt"]) {
            return Some((root(first)?, root(second)?));
        }
        if self.is(*i, &["pcmpeq"]) {
            let (a, b) = (root(first)?, root(second)?);
            // No difference is left of what is not greater.
            let Some(Root::Of(d)) =
                [&a, &b].into_iter().find(|r| matches!(r, Root::Of(d) if self.is(*d, &["psubus"])))
            else {
                return Some((a, b));
            };
            let (less, greater) = self.difference(*d)?;
            return Some((greater, less));
        }
        if self.is(*i, &["por", "pand"]) && !self.is(*i, &["pandn"]) {
            let (a, b) = (root(first)?, root(second)?);
            let (ga, la) = self.compared_within(&a, depth + 1)?;
            let (gb, lb) = self.compared_within(&b, depth + 1)?;
            let straight = self.same(&ga, &gb) && self.same(&la, &lb);
            let equal = |root: &Root| matches!(root, Root::Of(i) if self.is(*i, &["pcmpeq"]));
            // Of equal ones the order says nothing.
            let turned = self.same(&ga, &lb) && self.same(&la, &gb);
            return match (equal(&a), equal(&b)) {
                (true, _) if straight || turned => Some((gb, lb)),
                _ if straight || turned && equal(&b) => Some((ga, la)),
                _ => None,
            };
        }
        None
    }

    /// Of a saturating difference: what is subtracted from, and what is subtracted.
    fn difference(&self, i: InstructionId) -> Option<(Root, Root)> {
        let text = (self.text)(i);
        let list = operands(&text);
        Some((self.root(i, list.get(1)?, false, 0)?, self.root(i, list.first()?, false, 0)?))
    }

    fn choice(&self, mask: &Root, chosen: &Root, other: &Root) -> Option<&'static str> {
        let (greater, less) = self.compared(mask)?;
        let is = |a: &Root, b: &Root| self.same(chosen, a) && self.same(other, b);
        if is(&greater, &less) {
            Some(MAXIMUM)
        } else if is(&less, &greater) {
            Some(MINIMUM)
        } else {
            None
        }
    }

    /// `(mask & chosen) | (~mask & other)`.
    fn by_masks(&self, i: InstructionId) -> Option<&'static str> {
        let text = (self.text)(i);
        let list = operands(&text);
        let sides = [self.root(i, list.first()?, false, 0)?, self.root(i, list.get(1)?, false, 0)?];
        let side = |inverted: bool| {
            sides.iter().find_map(|side| match side {
                Root::Of(i) if self.is(*i, &["pandn"]) == inverted && self.is(*i, &["pand"]) => {
                    Some(*i)
                }
                _ => None,
            })
        };
        let (taken, left) = (side(false)?, side(true)?);
        let of = |i: InstructionId, operand: usize| {
            let text = (self.text)(i);
            self.root(i, operands(&text).get(operand)?, false, 0)
        };
        // `pandn b,a` is ~a & b.
        let (mask, other) = (of(left, 1)?, of(left, 0)?);
        let both = [of(taken, 0)?, of(taken, 1)?];
        let at = both.iter().position(|root| *root == mask)?;
        self.choice(&mask, &both[1 - at], &other)
    }

    /// `vpblendvb mask,b,a,to` is b where the mask is true; `pblendvb b,a`, with the mask in xmm0.
    fn by_blend(&self, i: InstructionId) -> Option<&'static str> {
        let text = (self.text)(i);
        let list = operands(&text);
        let (mask, chosen, other) = match list[..] {
            [mask, b, a, _] => (mask, b, a),
            [mask, b, a] => (mask, b, a),
            [b, a] => ("%xmm0", b, a),
            _ => return None,
        };
        let root = |operand: &str| self.root(i, operand, false, 0);
        self.choice(&root(mask)?, &root(chosen)?, &root(other)?)
    }

    /// `b + (a - b)` is the greater one and `a - (a - b)` the less, where differences end at zero.
    fn by_difference(&self, i: InstructionId) -> Option<&'static str> {
        let text = (self.text)(i);
        let list = operands(&text);
        let sides = [self.root(i, list.get(1)?, false, 0)?, self.root(i, list.first()?, false, 0)?];
        let is_difference = |root: &Root| matches!(root, Root::Of(d) if self.is(*d, &["psubus"]));
        let at = sides.iter().position(is_difference)?;
        let Root::Of(d) = sides[at] else { return None };
        let (from, by) = self.difference(d)?;
        match self.is(i, &["padd"]) {
            true => self.same(&sides[1 - at], &by).then_some(MAXIMUM),
            false => (at == 1 && self.same(&sides[0], &from)).then_some(MINIMUM),
        }
    }
}
