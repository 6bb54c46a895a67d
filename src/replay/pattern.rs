//! What may be done with a loop, by the dataflow between its instructions.
//!
//! Instructions that depend on one another in a circle through earlier iterations are a
//! *recurrence*. One that only counts, from nothing that the loop computes, can be computed from the
//! number of the iteration; one that only gathers with one operation that may be done in any order
//! is a reduction. What is left orders the iterations.

use super::dependences::LoopDependences;
use super::extreme::{Circle, is_choice, mnemonic, operands as operands_of};
use crate::id::InstructionId;
use crate::text::words;
use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;
use std::collections::{BTreeMap, BTreeSet};

words! {
    /// How the iterations of a loop can be run.
    pub enum Pattern {
        /// In any order, at once.
        Independent = "independent",
        /// So, too, if each has an accumulator of its own, which are put together at the end.
        Reduction = "reduction",
        /// In stages: each iteration's behind that of the one before.
        Pipeline = "pipeline",
        /// One after the other.
        Serial = "serial",
    }
}

/// A pattern with what makes it that.
#[derive(Clone, Debug)]
pub struct Finding {
    pub pattern: Pattern,
    /// Of a reduction.
    pub operations: BTreeSet<String>,
    /// The least iterations between two that depend on one another; so many can run at once.
    pub distance: Option<usize>,
    /// Parts of the loop, each a stage at most, and those of them that are recurrences.
    pub stages: usize,
    pub recurrences: usize,
}

/// Instructions that move a value, by the begin of their names.
const MOVES: [&str; 13] =
    ["mov", "vmov", "cltq", "cdqe", "cltd", "cqto", "ldr", "str", "ld", "lw", "sd", "sw", "mv"];
/// Instructions that count.
const COUNTS: [&str; 10] =
    ["add", "sub", "inc", "dec", "lea", "c.add", "padd", "vpadd", "psub", "vpsub"];
/// Instructions that compare: what they find is a flag, which orders nothing by itself.
const COMPARES: [&str; 7] = ["cmp", "test", "ucomi", "comi", "tst", "cmn", "j"];
/// Operations that may be done in any order, with their names.
const GATHERS: &[(&str, &str)] = &[
    ("add", "add"),
    ("sub", "add"),
    ("inc", "add"),
    ("dec", "add"),
    ("padd", "add"),
    ("vadd", "add"),
    ("fadd", "add"),
    ("imul", "multiply"),
    ("mul", "multiply"),
    ("pmul", "multiply"),
    ("vmul", "multiply"),
    ("fmul", "multiply"),
    ("and", "and"),
    ("pand", "and"),
    ("or", "or"),
    ("por", "or"),
    ("xor", "xor"),
    ("pxor", "xor"),
    ("eor", "xor"),
    ("vpadd", "add"),
    ("psub", "add"),
    ("vpsub", "add"),
    ("vsub", "add"),
    ("vfmadd231", "add"),
    ("vfnmadd231", "add"),
    ("vpmul", "multiply"),
    ("vpand", "and"),
    ("vand", "and"),
    ("vpor", "or"),
    ("vor", "or"),
    ("vpxor", "xor"),
    ("vxor", "xor"),
    ("max", "maximum"),
    ("vmax", "maximum"),
    ("pmax", "maximum"),
    ("vpmax", "maximum"),
    ("smax", "maximum"),
    ("umax", "maximum"),
    ("fmax", "maximum"),
    ("min", "minimum"),
    ("vmin", "minimum"),
    ("pmin", "minimum"),
    ("vpmin", "minimum"),
    ("smin", "minimum"),
    ("umin", "minimum"),
    ("fmin", "minimum"),
];

fn is_one(text: &str, names: &[&str]) -> bool {
    names.iter().any(|name| mnemonic(text).starts_with(name))
}

/// Whether an instruction adds a register to itself, or takes it from itself, or the like: what it gives is
/// no number that was there and something else.
fn takes_twice(text: &str) -> bool {
    let operands = text.split_once(char::is_whitespace).map_or("", |(_, operands)| operands);
    if mnemonic(text).starts_with("lea") {
        let inside = operands.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        let mut parts = inside.map_or("", |(inside, _)| inside).split(',').map(str::trim);
        return parts.next().is_some_and(|base| parts.next() == Some(base));
    }
    let computes = |(name, operation): &(&str, &str)| {
        mnemonic(text).starts_with(name) && matches!(*operation, "add" | "multiply")
    };
    if !is_one(text, &COUNTS) && !GATHERS.iter().any(computes) {
        return false;
    }
    match operands_of(text)[..] {
        [one, other] => one == other,
        // What a product is added to is taken, too: of a sum of squares only the square is taken twice.
        [first, second, sum] if mnemonic(text).starts_with("vf") => first == sum || second == sum,
        // Where registers are marked, the result is the last of them, else the first.
        [first, second, third, ..] => second == if text.contains('%') { first } else { third },
        _ => false,
    }
}

/// A recurrence is one of these.
enum Recurrence {
    Counter,
    /// And the comparisons that it makes to gather.
    Reduction(&'static str, BTreeSet<InstructionId>),
    Other,
}

struct Graph<'a> {
    found: &'a LoopDependences,
    writers: BTreeMap<InstructionId, Vec<InstructionId>>,
    text: &'a dyn Fn(InstructionId) -> String,
}

impl Graph<'_> {
    /// Whether an instruction of a circle moves or counts, and reads no memory but the circle's.
    fn counts(
        &self,
        instruction: InstructionId,
        inside: &dyn Fn(&InstructionId, &InstructionId) -> bool,
    ) -> bool {
        let text = (self.text)(instruction);
        let is_lea = mnemonic(&text).starts_with("lea");
        // An index that is scaled multiplies, and so does an operand that is shifted.
        let scales: &[&str] =
            if is_lea { &[",2)", ",4)", ",8)"] } else { &["lsl", "lsr", "asr", "ror", "xtw #"] };
        let multiplies = scales.iter().any(|scale| text.contains(scale));
        // A slot of the frame that the circle does not write has one value, and so has a constant.
        let slot = ["(%rsp)", "(%rbp)", "(%rip)"].iter().any(|at| text.contains(at));
        let touches_memory = text.contains(['(', '[']) && !is_lea && !slot;
        let to = self.found.readers(instruction).map(|reader| (instruction, reader));
        let from = self.writers.get(&instruction).into_iter().flatten().map(|w| (*w, instruction));
        let own = to.chain(from).any(|(w, r)| {
            inside(&w, &r) && self.found.edges.get(&(w, r)).is_some_and(|edge| edge.memory)
        });
        let fits = is_one(&text, &MOVES) || is_one(&text, &COUNTS);
        fits && !multiplies && (!touches_memory || own)
    }

    /// Whether an instruction gives the same value in every iteration: it moves what was in a
    /// register or in a slot of the frame before the loop began.
    fn is_the_same(&self, instruction: &InstructionId) -> bool {
        let text = (self.text)(*instruction);
        let slot = text.contains("(%rsp)") || text.contains("(%rbp)");
        let is_fed = self.writers.contains_key(instruction);
        is_one(&text, &MOVES) && !is_fed && (slot || !text.contains(['(', '[']))
    }

    /// Whether a move of a whole vector takes, with the number that a scalar operation gives, what a load left
    /// behind it in the vector.
    fn is_left(&self, load: InstructionId, reader: InstructionId) -> bool {
        let scalar = |i: &InstructionId| {
            let text = (self.text)(*i);
            mnemonic(&text).ends_with("ss") || mnemonic(&text).ends_with("sd")
        };
        let writes = |a: InstructionId, b: InstructionId| self.found.edges.contains_key(&(a, b));
        let mut between = self.found.readers(load);
        is_one(&(self.text)(reader), &["movap", "vmovap"])
            && scalar(&load)
            && between.any(|i| scalar(&i) && writes(i, reader))
    }

    /// What a circle of instructions is; `counters` are those found before.
    fn recurrence(
        &self,
        part: &BTreeSet<InstructionId>,
        counters: &BTreeSet<InstructionId>,
    ) -> Recurrence {
        let inside = |w: &InstructionId, r: &InstructionId| part.contains(w) && part.contains(r);
        if part.iter().any(|i| takes_twice(&(self.text)(*i))) {
            return Recurrence::Other;
        }
        let mut from = part.iter().flat_map(|w| self.found.from(*w));
        if from.any(|(r, edge)| part.contains(&r) && edge.memory && edge.moves) {
            return Recurrence::Other;
        }
        let mut into = part.iter().filter_map(|r| self.writers.get(r)).flatten();
        let inputs =
            into.any(|w| !part.contains(w) && !counters.contains(w) && !self.is_the_same(w));
        let counts = || part.iter().all(|i| self.counts(*i, &inside));
        let any_counts = || part.iter().any(|i| is_one(&(self.text)(*i), &COUNTS));
        if !inputs && counts() && any_counts() {
            return Recurrence::Counter;
        }
        let Some((operation, comparisons)) = self.gathered(part) else { return Recurrence::Other };
        let own = |r: &InstructionId| part.contains(r) || comparisons.contains(r);
        match part.iter().all(|w| self.found.readers(*w).all(|r| own(&r))) {
            true => Recurrence::Reduction(operation, comparisons),
            false => Recurrence::Other,
        }
    }

    /// The one operation by which a circle gathers, beside moves, and the comparisons that it makes for
    /// that.
    fn gathered(
        &self,
        part: &BTreeSet<InstructionId>,
    ) -> Option<(&'static str, BTreeSet<InstructionId>)> {
        let circle = Circle { found: self.found, writers: &self.writers, text: self.text, part };
        if let Some(operation) = circle.of_vectors() {
            return Some((operation, BTreeSet::new()));
        }
        // A circle may have thousands of instructions, of which most say that it does not gather: they are
        // asked before those that take a look at the dataflow.
        let (mut operations, mut choices) = (BTreeSet::new(), Vec::new());
        for i in part {
            let text = (self.text)(*i);
            if is_one(&text, &MOVES) {
                continue;
            }
            if is_choice(&text) {
                choices.push(*i);
                continue;
            }
            let operation = GATHERS.iter().find(|(name, _)| mnemonic(&text).starts_with(name));
            operations.insert(operation?.1);
        }
        let mut comparisons = BTreeSet::new();
        for i in choices {
            if operations.len() > 1 {
                break;
            }
            let (operation, own) = circle.of_move(i)?;
            operations.insert(operation);
            comparisons.extend(own);
        }
        match operations.into_iter().collect::<Vec<_>>()[..] {
            [operation] => Some((operation, comparisons)),
            _ => None,
        }
    }
}

/// The pattern of a loop; `text` is an instruction as it is disassembled.
pub fn pattern(found: &LoopDependences, text: &dyn Fn(InstructionId) -> String) -> Finding {
    let mut all = DiGraphMap::<InstructionId, ()>::new();
    for &(writer, reader) in found.edges.keys() {
        all.add_edge(writer, reader, ());
    }
    let graph = Graph { found, writers: found.writers(), text };
    // Sources of the dataflow first: what counters feed is known when it is looked at.
    let mut parts: Vec<BTreeSet<InstructionId>> =
        kosaraju_scc(&all).into_iter().map(BTreeSet::from_iter).collect();
    parts.reverse();
    let mut of: BTreeMap<InstructionId, usize> = BTreeMap::new();
    for (number, part) in parts.iter().enumerate() {
        of.extend(part.iter().map(|i| (*i, number)));
    }
    // Parts that hand something on to a later iteration of their own.
    let carried = found.edges.iter().filter(|(_, edge)| edge.most > 0);
    let carried: BTreeSet<usize> = carried
        .filter_map(|((w, r), _)| of.get(w).filter(|part| of.get(r) == Some(part)).copied())
        .collect();
    let (mut counters, mut operations) = (BTreeSet::new(), BTreeSet::new());
    let (mut serial, mut gathering) = (BTreeSet::new(), BTreeSet::new());
    let mut comparisons = BTreeSet::new();
    for number in carried {
        let part = &parts[number];
        match graph.recurrence(part, &counters) {
            Recurrence::Counter => counters.extend(part),
            Recurrence::Reduction(operation, compared) => {
                comparisons.extend(compared);
                operations.insert(operation.to_owned());
                gathering.insert(number);
            }
            Recurrence::Other => {
                serial.insert(number);
            }
        }
    }
    let leaves_a_reduction = |w: &InstructionId, r: &InstructionId| {
        of.get(r).is_some_and(|n| gathering.contains(n)) && graph.is_left(*w, *r)
    };
    // What is carried from one part to another, but for counters, which each iteration has itself.
    let across = |(w, r): &(InstructionId, InstructionId)| {
        of.get(w) != of.get(r)
            && !counters.contains(w)
            && !comparisons.contains(r)
            && !leaves_a_reduction(w, r)
    };
    let crosses = found.edges.iter().any(|(pair, edge)| edge.most > 0 && across(pair));
    let ordering = found.edges.iter().filter(|((w, r), edge)| {
        let inside = of.get(w) == of.get(r) && of.get(w).is_some_and(|n| serial.contains(n));
        edge.most > 0 && (inside || across(&(*w, *r)))
    });
    let distance = ordering.map(|(_, edge)| edge.least).min();
    let work = |part: &BTreeSet<InstructionId>| {
        part.iter().all(|i| !counters.contains(i) && !is_one(&text(*i), &COMPARES))
    };
    let stages = parts.iter().filter(|part| work(part)).count();
    let instructions: usize = parts.iter().filter(|p| work(p)).map(BTreeSet::len).sum();
    let in_order: usize = serial.iter().map(|&number| parts[number].len()).sum();
    let pattern = if serial.is_empty() && !crosses {
        if gathering.is_empty() { Pattern::Independent } else { Pattern::Reduction }
    } else if 2 * in_order >= instructions {
        Pattern::Serial
    } else {
        Pattern::Pipeline
    };
    let recurrences = serial.len() + gathering.len();
    Finding { pattern, operations, distance, stages, recurrences }
}

#[cfg(test)]
mod tests {
    use super::super::dependences::{LoopDependences, LoopEdge};
    use super::{Pattern, pattern, takes_twice};
    use crate::id::InstructionId;
    use std::time::{Duration, Instant};

    /// What is added to itself is doubled, which no iteration can begin with.
    #[test]
    fn a_number_and_itself_are_no_count() {
        for (text, expected) in [
            ("add    %eax,%eax", true),
            ("add    %ebx,%eax", false),
            ("add    $1,%eax", false),
            ("lea    (%rax,%rax),%eax", true),
            ("lea    1(%rax,%rax,1),%eax", true),
            ("lea    1(%rax,%rbx),%eax", false),
            ("imul   %eax,%eax", true),
            ("and    %eax,%eax", false),
            ("vaddsd %xmm0,%xmm0,%xmm1", true),
            ("vaddsd %xmm2,%xmm0,%xmm0", false),
            ("vfmadd231sd %xmm1,%xmm1,%xmm0", false),
            ("vfmadd231sd %xmm1,%xmm0,%xmm0", true),
            ("add r0,r0,r0", true),
            ("adds r0,r0,#0x1", false),
            ("add a0,a0,a1", false),
            ("mul a0,a1,a1", true),
        ] {
            assert_eq!(takes_twice(text), expected, "{text}");
        }
        let (first, second) = (InstructionId::at(0), InstructionId::at(1));
        let carried = LoopEdge { least: 1, most: 1, ..LoopEdge::default() };
        for (name, expected) in [
            ("add.w r0,r0,r0, lsl #0x1", Pattern::Serial),
            ("add.w r0,r0,r1, lsl #0x1", Pattern::Reduction),
            ("add r0,r0", Pattern::Serial),
            ("add.w r0,r0,#0x2", Pattern::Independent),
        ] {
            let mut found = LoopDependences::default();
            found.edges.insert((first, second), LoopEdge::default());
            found.edges.insert((second, first), carried);
            let text =
                |id: InstructionId| if id == first { name } else { "adds r0,#0x1" }.to_owned();
            assert_eq!(pattern(&found, &text).pattern, expected, "{name}");
        }
    }

    /// An interpreter's loop: a circle of thousands of moves, each with a choice beside it.
    #[test]
    fn a_circle_of_thousands_of_choices_is_quick() {
        let (count, carried) = (6000, LoopEdge { least: 1, most: 1, ..LoopEdge::default() });
        let mut found = LoopDependences::default();
        for i in 0..count {
            let [here, next, choice] = [i, (i + 1) % count, count + i].map(InstructionId::at);
            for pair in [(here, next), (here, choice), (choice, next)] {
                found.edges.insert(pair, carried);
            }
        }
        let text = |id: InstructionId| match id.index() {
            i if i >= count => "cmovl  %eax,%ebx".to_owned(),
            0 => "shl    $2,%eax".to_owned(),
            _ => "mov    %eax,%ebx".to_owned(),
        };
        let begun = Instant::now();
        let finding = pattern(&found, &text);
        assert_eq!((finding.pattern, finding.recurrences), (Pattern::Serial, 1));
        // Each choice by itself would go along all moves.
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}
