//! Random firmware that counts itself, as C.
//!
//! Functions f0, f1, ... call those with smaller numbers, directly, through pointers, as tail calls and in
//! loops; r0 and r1 call each other; tasks and what runs at exceptions call all of them. Each place
//! that calls has a number; a counter is counted before the call (`tests/programs/interrupts/count.h`).

use super::cores::{Core, Family};
use std::fmt::Write;

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        let mut x = self.0;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0 = x;
        x
    }

    pub fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 33) as usize) % n
    }

    pub fn from(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// A place that calls.
#[derive(Clone, Debug)]
pub struct Site {
    pub caller: String,
    pub callee: String,
    /// The compiler may make it a jump.
    pub tail: bool,
}

/// A task, or what runs at an exception.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The C function with its work.
    pub work: String,
    /// Where the processor arrives, and what that jumps to; empty for a task.
    pub chain: Vec<String>,
    /// Who calls `work` once an entry.
    pub caller: Option<String>,
    /// Number of the exception, interrupt or cause.
    pub number: usize,
    priority: usize,
}

impl Context {
    /// The name by which its instances are known: the last of the chain.
    pub fn key(&self) -> &str {
        self.chain.last().map_or("-", String::as_str)
    }
}

pub struct Firmware {
    pub source: String,
    pub flags: Vec<String>,
    pub tasks: usize,
    pub contexts: Vec<Context>,
    pub sites: Vec<Site>,
    /// For `-icount shift=`.
    pub shift: usize,
    /// The compiler makes no tail calls.
    pub no_tails: bool,
    /// Interrupts come by the clock, too; without, each run is the same.
    pub timed: bool,
}

struct Function {
    name: String,
    cost: usize,
    /// It traps: only tasks call it.
    traps: bool,
    arguments: usize,
}

/// Who does what, and what it may do.
#[derive(Clone)]
struct Writer {
    name: String,
    traps: bool,
    /// Instructions, about.
    limit: usize,
    depth: usize,
}

struct Generator<'a> {
    core: &'a Core,
    random: Random,
    functions: Vec<Function>,
    sites: Vec<Site>,
    contexts: Vec<Context>,
    tasks: usize,
    timed: bool,
}

/// A call in C: how often at most, and what one costs.
type Call = (String, usize);

impl Generator<'_> {
    fn site(&mut self, caller: &str, callee: &str, tail: bool) -> usize {
        self.sites.push(Site { caller: caller.into(), callee: callee.into(), tail });
        self.sites.len() - 1
    }

    fn arguments(&mut self, count: usize) -> String {
        let more = ["x + 1", "x ^ 3", "x >> 2", "7", "x * 3", "x", "x + 5"];
        (1..count).fold("x".to_owned(), |all, i| format!("{all}, {}", more[i % 7]))
    }

    /// Functions that this one may call, within the limit.
    fn callees(&self, who: &Writer) -> Vec<usize> {
        let all = 0..self.functions.len();
        all.filter(|&f| {
            self.functions[f].cost <= who.limit && (who.traps || !self.functions[f].traps)
        })
        .collect()
    }

    /// A call as an expression, counted.
    fn call(&mut self, who: &Writer, tail: bool) -> Option<Call> {
        let callees = self.callees(who);
        if callees.is_empty() {
            return None;
        }
        let plain: Vec<usize> =
            callees.iter().copied().filter(|&f| self.functions[f].arguments == 1).collect();
        if plain.len() > 1 && self.random.chance(25) {
            // Through a pointer.
            let four: Vec<usize> = (0..4).map(|_| *self.random.of(&plain)).collect();
            let first = self.sites.len();
            for &f in &four {
                let callee = self.functions[f].name.clone();
                self.site(&who.name, &callee, tail);
            }
            let names: Vec<_> = four.iter().map(|&f| self.functions[f].name.as_str()).collect();
            let cost = four.iter().map(|&f| self.functions[f].cost).max().unwrap_or(0);
            let text = format!(
                "({{ static Function *const volatile to[4] = {{ {} }}; unsigned k = x & 3; COUNT({first} + k); to[k]; }})(x)",
                names.join(", ")
            );
            return Some((text, cost + 12));
        }
        let f = *self.random.of(&callees);
        let (name, cost, count) =
            (self.functions[f].name.clone(), self.functions[f].cost, self.functions[f].arguments);
        let site = self.site(&who.name, &name, tail);
        let (mut arguments, mut cost) = (self.arguments(count), cost + 8);
        if name.starts_with('r') {
            let depth = self.random.from(1, 5);
            cost *= depth + 1;
            arguments = format!("x, {depth}");
        }
        Some((format!("(COUNT({site}), {name}({arguments}))"), cost))
    }

    /// Raises another one, or this one again; or waits for it, with interrupts masked.
    fn raise(&mut self, waits: bool) -> String {
        let able: Vec<usize> = (0..self.contexts.len())
            .filter(|&c| match self.core.family {
                Family::M => matches!(self.contexts[c].number, 2 | 14..),
                Family::A32 | Family::A64 => (1..16).contains(&self.contexts[c].number),
                Family::RiscV => matches!(self.contexts[c].number, 3 | 7),
            })
            .filter(|&c| !self.contexts[c].chain.is_empty())
            .filter(|&c| !waits || self.core.family != Family::M || self.contexts[c].number != 2)
            .collect();
        let c = *self.random.of(&able);
        let number = self.contexts[c].number;
        let stir = self.core.family == Family::M && self.core.main_profile && number >= 16;
        let by = if stir && self.random.chance(30) { "pend_by_stir" } else { "pend" };
        if waits {
            return format!("if (take({c})) MASKED({by}({number}); WFI(););");
        }
        format!("if (take({c})) {by}({number});")
    }

    fn traps(&self) -> &'static [&'static str] {
        match self.core.family {
            Family::M | Family::A32 => &["SVC", "SVC", "UDF", "FAULT"],
            Family::A64 | Family::RiscV => &["SVC", "SVC", "BRK", "UDF", "FAULT"],
        }
    }

    fn masked(&mut self, who: &Writer) -> Call {
        let inner = Writer {
            traps: false,
            limit: who.limit.saturating_sub(20),
            depth: who.depth + 1,
            ..who.clone()
        };
        let count = self.random.from(1, 4);
        let (body, cost) = self.statements(&inner, count);
        let kind = self.random.below(3);
        let text = match (self.core.family, kind) {
            (Family::M, 0) if self.core.main_profile => {
                let level = 32 * self.random.from(1, 7);
                format!("MASKED_BELOW({level}, {body});")
            }
            (Family::M, 1) if self.core.main_profile && who.traps => {
                format!("MASKED_FAULTS({body});")
            }
            (Family::A32 | Family::A64, 0) => {
                let level = 16 * self.random.from(1, 14);
                format!("MASKED_BELOW({level}, {body});")
            }
            (Family::RiscV, 0) => {
                format!("MASKED_BELOW({}, {body});", self.random.of(&[8, 128, 136]))
            }
            _ => format!("MASKED({body});"),
        };
        (text, cost + 20)
    }

    fn statement(&mut self, who: &Writer) -> Call {
        let nested = who.depth < 2;
        match self.random.below(100) {
            0..8 => ("x = x * 1664525u + 1013904223u;".into(), 3),
            8..16 => {
                let n = self.random.from(2, 8);
                (format!("for (unsigned i = 0; i < {n}; i++) data[i & 15] += x ^ i;"), 8 * n)
            }
            16..22 => {
                let n = self.random.from(2, 6);
                let text = format!(
                    "{{ volatile unsigned own[{n}]; for (unsigned i = 0; i < {n}; i++) own[i] = x + i; x ^= own[x % 2]; }}"
                );
                (text, 6 * n)
            }
            22..42 => match self.call(who, false) {
                Some((call, cost)) => (format!("x += {call};"), cost),
                None => ("x ^= x >> 3;".into(), 2),
            },
            42..52 => match self.call(who, false) {
                Some((call, cost)) => {
                    let bit = self.random.below(5);
                    (format!("if (x >> {bit} & 1) x ^= {call}; else x += 3;"), cost)
                }
                None => ("x += x << 5;".into(), 2),
            },
            52..58 => {
                let n = self.random.from(2, 4);
                match self.call(&Writer { limit: who.limit / n, ..who.clone() }, false) {
                    Some((call, cost)) => {
                        (format!("for (unsigned n = 0; n < {n}; n++) x += {call};"), n * (cost + 4))
                    }
                    None => ("x -= 9;".into(), 1),
                }
            }
            58..76 => (self.raise(false), 25),
            76..84 if who.traps => (format!("TRAPPED(); {}();", self.random.of(self.traps())), 60),
            84..90 if nested => self.masked(who),
            90..94 if self.core.floats => {
                ("floats[active] = floats[active] * 1.5f + (float)(x & 7);".into(), 12)
            }
            94..96 if who.traps => ("timer_again();".into(), 20),
            96..98 if who.traps && self.timed => ("sleep_till_timer();".into(), 30),
            98..100 if who.traps => (self.raise(true), 30),
            _ => ("x ^= random_number();".into(), 10),
        }
    }

    fn statements(&mut self, who: &Writer, count: usize) -> (String, usize) {
        let (mut text, mut spent) = (String::new(), 0);
        for _ in 0..count {
            let rest = Writer { limit: who.limit.saturating_sub(spent), ..who.clone() };
            let (statement, cost) = self.statement(&rest);
            spent += cost;
            let indent = "    ".repeat(who.depth + 1);
            let _ = write!(text, "\n{indent}{statement}");
        }
        (text, spent)
    }

    fn function(&mut self, number: usize, out: &mut String) {
        let traps = self.random.chance(25);
        let arguments = if self.random.chance(20) { self.random.from(2, 7) } else { 1 };
        let name = format!("f{number}");
        let limit = self.random.from(30, 400);
        let who = Writer { name: name.clone(), traps, limit, depth: 0 };
        let count = if number < 2 { 1 } else { self.random.from(1, 5) };
        let (body, mut cost) = self.statements(&who, count);
        let last = match self.call(&who, true).filter(|_| self.random.chance(50)) {
            Some((call, more)) => {
                cost += more;
                format!("return {call};")
            }
            None => "return x;".to_owned(),
        };
        let parameters =
            (1..arguments).fold("unsigned x".to_owned(), |all, i| format!("{all}, unsigned a{i}"));
        let uses = (1..arguments).fold(String::new(), |all, i| format!("{all} x += a{i};"));
        let _ =
            writeln!(out, "NAMED unsigned {name}({parameters})\n{{{uses}{body}\n    {last}\n}}\n");
        self.functions.push(Function { name, cost: cost + 10, traps, arguments });
    }

    /// Two that call each other, and one that calls itself.
    fn recursion(&mut self, out: &mut String) {
        let tail = self.random.chance(50);
        let sites = [
            self.site("r0", "r1", tail),
            self.site("r1", "r0", false),
            self.site("r2", "r2", false),
        ];
        let (before, after) = if tail { ("return ", "") } else { ("x += ", "") };
        let leaf = Writer { name: "r2".into(), traps: false, limit: 60, depth: 0 };
        let (body, cost) = self.statements(&leaf, 1);
        let _ = writeln!(
            out,
            "NAMED unsigned r1(unsigned x, unsigned depth);\n\
             NAMED unsigned r0(unsigned x, unsigned depth)\n{{\n    if (depth) {{\n        COUNT({});\n        {before}r1(x + depth, depth - 1);{after}\n    }}\n    return x;\n}}\n\n\
             NAMED unsigned r1(unsigned x, unsigned depth)\n{{\n    x ^= depth;\n    if (depth) x += (COUNT({}), r0(x, depth - 1));\n    __asm__ volatile(\"\" : \"+r\"(x));\n    return x;\n}}\n\n\
             NAMED unsigned r2(unsigned x, unsigned depth)\n{{{body}\n    if (depth) x += (COUNT({}), r2(x, depth - 1));\n    __asm__ volatile(\"\" : \"+r\"(x));\n    return x;\n}}\n",
            sites[0], sites[1], sites[2]
        );
        for (name, cost) in [("r0", 20), ("r1", 20), ("r2", 20 + cost)] {
            self.functions.push(Function { name: name.into(), cost, traps: false, arguments: 2 });
        }
    }

    fn work(&mut self, context: usize, limit: usize) -> String {
        let name = self.contexts[context].work.clone();
        let who = Writer { name, traps: false, limit, depth: 0 };
        let count = self.random.from(0, 4);
        self.statements(&who, count).0
    }
}

/// A firmware; the same for the same core and seed.
pub fn generate(core: &Core, seed: u64) -> Firmware {
    let mut random =
        Random::new(seed.wrapping_mul(64) + core.name.bytes().map(u64::from).sum::<u64>());
    let level = *random.of(&["-O0", "-O1", "-O2", "-O2", "-O3", "-Os", "-Os"]);
    let mut flags: Vec<String> = vec![level.into()];
    let mut no_tails = level == "-O0" || level == "-O1";
    for (flag, percent) in [
        ("-fno-optimize-sibling-calls", 15),
        ("-fomit-frame-pointer", 20),
        ("-fno-omit-frame-pointer", 20),
        ("-falign-functions=16", 20),
        ("-fno-shrink-wrap", 10),
        ("-fno-reorder-blocks", 10),
    ] {
        if random.chance(percent) {
            flags.push(flag.into());
            no_tails |= flag.contains("sibling");
        }
    }
    let shift = random.from(3, 6);
    let timed = random.chance(75);
    let mut g = Generator {
        core,
        random,
        functions: Vec::new(),
        sites: Vec::new(),
        contexts: Vec::new(),
        tasks: 1,
        timed,
    };
    let source = match core.family {
        Family::M => m::generate(&mut g, seed, shift),
        _ => rest::generate(&mut g, seed, shift),
    };
    let Generator { tasks, contexts, sites, .. } = g;
    Firmware { source, flags, tasks, contexts, sites, shift, no_tails, timed }
}

/// What all have: the head of the source, which is known at the end.
fn head(g: &mut Generator, seed: u64, defines: &str, header: &str) -> String {
    let (contexts, sites) = (g.contexts.len(), g.sites.len());
    let row = |g: &mut Generator, context: usize| {
        let most = if context < g.tasks { 12 } else { 3 };
        let all: Vec<_> = (0..contexts).map(|_| g.random.from(0, most).to_string()).collect();
        format!("{{ {} }}", all.join(", "))
    };
    let budgets: Vec<_> = (0..contexts).map(|context| row(g, context)).collect();
    let floats = if g.core.floats { "static volatile float floats[CONTEXTS];\n" } else { "" };
    format!(
        "/* {} {seed} */\n#define CONTEXTS {contexts}\n#define SITES {sites}\n#define SEED {seed}\n#define TASKS {}\n\
         #define FLOATS {}\n#define BUDGETS {{ {} }}\n{defines}{}#include \"{header}\"\n\n{floats}\
         typedef unsigned Function(unsigned);\n",
        g.core.name,
        g.tasks,
        u8::from(g.core.floats),
        budgets.join(", "),
        g.core.board,
    )
}

/// The timer fires so often, after random times.
fn timer(g: &mut Generator, shift: usize) -> String {
    let ticks = |instructions: usize| (instructions << shift) / g.core.tick as usize;
    let left = if g.timed { g.random.from(10, 50) } else { 0 };
    let low = ticks(g.random.from(10, 150)).max(2);
    let span = ticks(*g.random.of(&[31, 127, 511, 1023, 2047])).next_power_of_two() - 1;
    format!(
        "static volatile unsigned timer_left = {left};\n\
         INLINE unsigned interval(void) {{ return ({low} + (random_number() & {span})) * SCALE; }}\n\
         INLINE void timer_again(void)\n{{\n    MASKED(if (timer_left) timer(interval()););\n}}\n\
         static volatile unsigned timer_count, sleeping[CONTEXTS];\n\
         INLINE void timer_fired(void)\n{{\n    timer_count++;\n    if (timer_left) timer_left--;\n\
         \x20   unsigned sleeps = 0;\n    for (unsigned i = 0; i < TASKS; i++) sleeps |= sleeping[i];\n\
         \x20   if (timer_left || sleeps) timer(interval());\n    else timer_off();\n}}\n\
         INLINE void sleep_till_timer(void)\n{{\n    unsigned own = active, seen = timer_count;\n    sleeping[own] = 1;\n\
         \x20   if (!timer_left) timer(interval());\n    while (timer_count == seen) WFI();\n    sleeping[own] = 0;\n}}\n"
    )
}

fn functions(g: &mut Generator) -> String {
    let mut out = String::new();
    let count = g.random.from(4, 10);
    for number in 0..count {
        if number == 2 {
            g.recursion(&mut out);
        }
        g.function(number, &mut out);
    }
    out
}

/// The loop of a task.
fn rounds(g: &mut Generator, task: usize, limit: usize) -> String {
    let name = g.contexts[task].work.clone();
    let who = Writer { name, traps: true, limit, depth: 0 };
    let (count, rounds) =
        (g.random.from(4, 8), if g.tasks > 1 { g.random.from(4, 9) } else { g.random.from(6, 16) });
    let (mut body, _) = g.statements(&who, count);
    if g.timed && g.random.chance(40) {
        body += "\n    sleep_till_timer();";
    }
    if g.random.chance(40) {
        let _ = write!(body, "\n    {}", g.raise(true));
    }
    for trap in g.traps() {
        if g.random.chance(30) {
            let _ = write!(body, "\n    TRAPPED(); {trap}();");
        }
    }
    format!(
        "    for (unsigned round = 0; round < {rounds}; round++) {{{}\n    }}\n",
        body.replace('\n', "\n    ")
    )
}

#[path = "generate_m.rs"]
mod m;
#[path = "generate_rest.rs"]
mod rest;
