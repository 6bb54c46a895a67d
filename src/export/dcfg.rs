//! A dynamic control-flow graph and its trace, as `docs/dcfg.md` and Intel's document describe
//! them, of any database that has steps.
//!
//! The run is gone through three times: for the basic blocks, for the edges and what follows what,
//! and for the sequences themselves. What is kept grows with the code, not with the run.

use super::{ExportError, Options};
use crate::replay::control::{immediate_dominators, loops};
use crate::replay::{Code, Piece};
use duckdb::Connection;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Edges of a chunk of the trace: its sequence is kept until it is complete.
const CHUNK: u64 = 1 << 20;
/// Edges that one transition stands for at most.
const LONGEST_STRETCH: usize = 32;
/// Calls that are fetched at a time.
const CALLS: i32 = 1 << 16;
/// Steps that are fetched at a time.
const STEPS: i64 = 1 << 20;

/// Types of edges, as SDE numbers them.
const TYPES: [&str; 26] = [
    "ENTRY",
    "EXIT",
    "CALL",
    "DIRECT_CALL",
    "INDIRECT_CALL",
    "RETURN",
    "CALL_BYPASS",
    "BRANCH",
    "CONDITIONAL_BRANCH",
    "UNCONDITIONAL_BRANCH",
    "DIRECT_BRANCH",
    "INDIRECT_BRANCH",
    "DIRECT_CONDITIONAL_BRANCH",
    "INDIRECT_CONDITIONAL_BRANCH",
    "DIRECT_UNCONDITIONAL_BRANCH",
    "INDIRECT_UNCONDITIONAL_BRANCH",
    "REP",
    "FALL_THROUGH",
    "SYSTEM_CALL",
    "SYSTEM_RETURN",
    "SYSTEM_CALL_BYPASS",
    "CONTEXT_CHANGE",
    "CONTEXT_CHANGE_RETURN",
    "CONTEXT_CHANGE_BYPASS",
    "EXCLUDED_CODE_BYPASS",
    "UNKNOWN",
];
const START: u32 = 0;
const END: u32 = 1;
/// Where control comes from and goes to at a gap of the trace.
const UNKNOWN: u32 = 2;
/// Ids of special nodes; blocks come behind them.
const SPECIALS: u32 = 3;

fn type_of(name: &str) -> u8 {
    TYPES.iter().position(|t| *t == name).unwrap_or(TYPES.len() - 1) as u8
}

/// An edge stays in its routine.
fn is_inside(kind: u8) -> bool {
    crate::trace::dcfg::EdgeKind::of(TYPES[kind as usize]).is_inside()
}

struct Info {
    image: i32,
    class: Class,
    direct: bool,
    line: Option<(i32, i32)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Next,
    Jump,
    Call,
    Syscall,
    Other,
}

/// A basic block: first and last instruction, instructions.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Block {
    first: i32,
    last: i32,
    length: u32,
}

#[derive(Default)]
struct Graph {
    blocks: Vec<Block>,
    block_ids: FxHashMap<Block, u32>,
    /// Source, target, type; ids from 1 are the places in here from 0.
    edges: Vec<(u32, u32, u8)>,
    edge_ids: FxHashMap<(u32, u32, u8), u32>,
    /// By edge and thread.
    counts: Vec<Vec<u64>>,
    /// What followed an edge how often.
    next: FxHashMap<(u32, u32), u64>,
    /// Instructions by thread.
    instructions: Vec<u64>,
}

impl Graph {
    fn block(&mut self, block: Block) -> u32 {
        let new = self.blocks.len() as u32 + SPECIALS;
        let id = *self.block_ids.entry(block).or_insert(new);
        if id == new {
            self.blocks.push(block);
        }
        id
    }
    fn edge(&mut self, edge: (u32, u32, u8)) -> u32 {
        let new = self.edges.len() as u32;
        let id = *self.edge_ids.entry(edge).or_insert(new);
        if id == new {
            self.edges.push(edge);
            self.counts.push(Vec::new());
        }
        id
    }
    fn length(&self, block: u32) -> u64 {
        block.checked_sub(SPECIALS).map_or(0, |b| u64::from(self.blocks[b as usize].length))
    }
}

/// Goes through the run in windows that end where a run of a block ends, so that no block is cut in
/// two.
fn forwards(
    code: &Code,
    connection: &Connection,
    mut take: impl FnMut(&Piece) -> bool,
) -> Result<(), ExportError> {
    let mut statement = connection.prepare(include_str!("../../queries/report/dcfg_window.sql"))?;
    let mut from = code.first;
    while from <= code.last {
        let to: Option<i64> =
            statement.query_row([from, from.saturating_add(STEPS)], |r| r.get(0))?;
        let to = to.map_or(code.last, |next| next - 1);
        let mut stop = false;
        let found = code.flow(connection, (from, to), |p| {
            stop = !take(p);
            !stop
        });
        found.map_err(crate::views::ViewError::from)?;
        if stop {
            break;
        }
        from = to + 1;
    }
    Ok(())
}

/// Where basic blocks begin, by instruction.
struct Leaders {
    leads: Vec<bool>,
    /// Something ended behind it: what follows is another block.
    ends: Vec<bool>,
}

impl Leaders {
    fn find(code: &Code, connection: &Connection) -> Result<Leaders, ExportError> {
        let mut seen: FxHashSet<(i32, u32, u32)> = FxHashSet::default();
        let ids = code.instruction_ids();
        let mut leaders = Leaders { leads: vec![false; ids], ends: vec![false; ids] };
        forwards(code, connection, |p| {
            if seen.insert((p.block_id, p.first_step as u32, p.end_step as u32)) {
                let run = &p.block.instructions[p.first_step..p.end_step];
                leaders.leads[run[0] as usize] = true;
                leaders.ends[run[run.len() - 1] as usize] = true;
            }
            true
        })?;
        for (i, ends) in leaders.ends.iter_mut().enumerate() {
            *ends |= code.instruction(i as i32).transfers;
        }
        Ok(leaders)
    }

    /// Cuts a piece into basic blocks: gives the places behind them.
    fn cut(&self, run: &[i32], mut take: impl FnMut(&[i32])) {
        let mut from = 0;
        for i in 1..=run.len() {
            if i == run.len()
                || self.ends[run[i - 1] as usize]
                || self.leads[run[i] as usize]
                || run[i] == run[i - 1]
            {
                take(&run[from..i]);
                from = i;
            }
        }
    }
}

struct Frame {
    call: i32,
    signal: bool,
    /// Block that called.
    from: u32,
}

#[derive(Default)]
struct Thread {
    stack: Vec<Frame>,
    /// The block before, and its last instruction.
    before: Option<(u32, i32)>,
    last_seq: i64,
    /// Instructions up to the block before.
    steps: u64,
}

/// Goes through the run and names each edge.
struct Walk<'a> {
    code: &'a Code,
    info: &'a [Info],
    leaders: &'a Leaders,
    connection: &'a Connection,
    threads: Vec<Thread>,
    /// Call instances that have not begun yet, the next one last.
    calls: Vec<(i32, String, Option<i32>)>,
    next_call: i32,
    /// Steps are numbered by thread, so that what is missing shows.
    by_thread: bool,
}

/// What a walk meets, thread by thread.
enum Event {
    Edge {
        thread: usize,
        edge: (u32, u32, u8),
    },
    /// A thread's first edge, or the first behind a gap, comes next, behind so many instructions.
    Begin {
        thread: usize,
        preceding: u64,
    },
}

impl<'a> Walk<'a> {
    fn new(
        code: &'a Code,
        info: &'a [Info],
        leaders: &'a Leaders,
        connection: &'a Connection,
        threads: usize,
        by_thread: bool,
    ) -> Self {
        let mut all = Vec::new();
        all.resize_with(threads, Thread::default);
        Walk {
            code,
            info,
            leaders,
            connection,
            threads: all,
            calls: Vec::new(),
            next_call: 1,
            by_thread,
        }
    }

    /// The row of a call instance that begins. They begin in the order of their numbers, but those
    /// of threads after one another where steps are numbered by thread.
    fn call(&mut self, call: i32) -> Result<(String, Option<i32>), ExportError> {
        if self.by_thread {
            self.calls.clear();
            self.next_call = call;
        }
        loop {
            while let Some((id, kind, tail_of)) = self.calls.pop() {
                if id == call {
                    return Ok((kind, tail_of));
                }
            }
            let last = self.next_call.saturating_add(if self.by_thread { 0 } else { CALLS - 1 });
            let mut statement = self
                .connection
                .prepare_cached(include_str!("../../queries/report/dcfg_calls.sql"))?;
            let mut rows = statement.query([self.next_call, last])?;
            while let Some(r) = rows.next()? {
                self.calls.push((r.get(0)?, r.get(1)?, r.get(2)?));
            }
            self.calls.reverse();
            if self.calls.is_empty() {
                return Ok(("call".into(), None));
            }
            self.next_call = last.saturating_add(1);
        }
    }

    /// The type of an edge within a call instance.
    fn inside(&self, from: i32, to: i32) -> &'static str {
        let (a, b) = (self.code.instruction(from), self.code.instruction(to));
        let info = &self.info[from as usize];
        if from == to && !a.transfers {
            return "REP";
        }
        let falls = a.address.wrapping_add(a.size.into()) == b.address;
        match info.class {
            Class::Syscall if falls => "SYSTEM_CALL_BYPASS",
            Class::Jump if falls && a.conditional => "FALL_THROUGH",
            Class::Next | Class::Other if falls => "FALL_THROUGH",
            Class::Jump | Class::Call => match (info.direct, a.conditional) {
                (true, true) => "DIRECT_CONDITIONAL_BRANCH",
                (true, false) => "DIRECT_UNCONDITIONAL_BRANCH",
                (false, true) => "INDIRECT_CONDITIONAL_BRANCH",
                (false, false) => "INDIRECT_UNCONDITIONAL_BRANCH",
            },
            Class::Other => "INDIRECT_UNCONDITIONAL_BRANCH",
            Class::Next | Class::Syscall => "UNKNOWN",
        }
    }

    /// What the first block of a piece does to the call stack, as the type of the edge to it.
    /// Bypasses go to `bypass`.
    fn arrive(
        &mut self,
        t: usize,
        call: i32,
        first: i32,
        node: u32,
        bypass: &mut impl FnMut((u32, u32, u8)),
    ) -> Result<&'static str, ExportError> {
        let from = self.threads[t].before;
        let top = self.threads[t].stack.last().map(|f| f.call);
        if top == Some(call) {
            return Ok(from.map_or("UNKNOWN", |(_, last)| self.inside(last, first)));
        }
        let mut back = |stack: &mut Vec<Frame>, to: i32| {
            let mut popped = None;
            while stack.last().is_some_and(|f| f.call != to) {
                popped = stack.pop();
            }
            let Some(frame) = popped else { return "UNKNOWN" };
            if frame.from >= SPECIALS {
                let kind = if frame.signal { "CONTEXT_CHANGE_BYPASS" } else { "CALL_BYPASS" };
                bypass((frame.from, node, type_of(kind)));
            }
            if frame.signal { "CONTEXT_CHANGE_RETURN" } else { "RETURN" }
        };
        if self.threads[t].stack.iter().any(|f| f.call == call) {
            return Ok(back(&mut self.threads[t].stack, call));
        }
        let (kind, tail_of) = self.call(call)?;
        let thread = &mut self.threads[t];
        let source = from.map_or(START, |f| f.0);
        match (kind.as_str(), tail_of) {
            ("tail", Some(before)) => {
                // The instance that it replaces is on top, or is returned to first.
                let returned = (thread.stack.last().map(|f| f.call) != Some(before))
                    .then(|| back(&mut thread.stack, before));
                if let Some(frame) = thread.stack.last_mut() {
                    frame.call = call;
                }
                match (returned, from) {
                    (Some(kind), _) => Ok(kind),
                    (None, Some((_, last))) => Ok(self.inside(last, first)),
                    (None, None) => Ok("UNKNOWN"),
                }
            }
            ("signal", _) => {
                thread.stack.push(Frame { call, signal: true, from: source });
                Ok("CONTEXT_CHANGE")
            }
            ("root" | "gap", _) => {
                thread.stack.clear();
                thread.stack.push(Frame { call, signal: false, from: START });
                Ok(if kind == "root" { "ENTRY" } else { "UNKNOWN" })
            }
            _ => {
                thread.stack.push(Frame { call, signal: false, from: source });
                let direct = from.is_some_and(|(_, last)| self.info[last as usize].direct);
                Ok(if direct { "DIRECT_CALL" } else { "INDIRECT_CALL" })
            }
        }
    }

    fn piece(
        &mut self,
        p: &Piece,
        block: &mut impl FnMut(Block) -> u32,
        take: &mut impl FnMut(Event),
        bypass: &mut impl FnMut((u32, u32, u8)),
    ) -> Result<(), ExportError> {
        let t = p.thread.max(1) as usize - 1;
        if t >= self.threads.len() {
            self.threads.resize_with(t + 1, Thread::default);
        }
        let run = &p.block.instructions[p.first_step..p.end_step];
        let start = p.seq(p.first_step);
        let mut blocks: Vec<Block> = Vec::new();
        self.leaders.cut(run, |b| {
            blocks.push(Block { first: b[0], last: b[b.len() - 1], length: b.len() as u32 })
        });
        for (i, b) in blocks.iter().enumerate() {
            let node = block(*b);
            let kind = if i > 0 {
                self.inside(blocks[i - 1].last, b.first)
            } else {
                let missing = if self.by_thread {
                    (start - self.threads[t].last_seq - 1).max(0) as u64
                } else {
                    0
                };
                let kind = self.arrive(t, p.call, b.first, node, bypass)?;
                let thread = &mut self.threads[t];
                let lost = if missing > 0 { thread.before.take() } else { None };
                if let Some((source, _)) = lost {
                    take(Event::Edge { thread: t, edge: (source, UNKNOWN, type_of("UNKNOWN")) });
                }
                if thread.before.is_none() {
                    thread.steps += missing;
                    take(Event::Begin { thread: t, preceding: thread.steps });
                }
                kind
            };
            let thread = &mut self.threads[t];
            let (source, kind) = match thread.before {
                Some((source, _)) => (source, kind),
                None if kind == "ENTRY" => (START, kind),
                None => (UNKNOWN, "UNKNOWN"),
            };
            take(Event::Edge { thread: t, edge: (source, node, type_of(kind)) });
            thread.before = Some((node, b.last));
            thread.steps += u64::from(b.length);
        }
        self.threads[t].last_seq = p.seq(p.end_step - 1);
        Ok(())
    }

    /// Goes through the whole run.
    fn run(
        mut self,
        mut block: impl FnMut(Block) -> u32,
        mut take: impl FnMut(Event),
        mut bypass: impl FnMut((u32, u32, u8)),
    ) -> Result<(), ExportError> {
        let mut failed = None;
        let (code, connection) = (self.code, self.connection);
        forwards(code, connection, |p| {
            let done = self.piece(p, &mut block, &mut take, &mut bypass);
            failed = done.err();
            failed.is_none()
        })?;
        if let Some(e) = failed {
            return Err(e);
        }
        for (t, thread) in self.threads.iter().enumerate() {
            if let Some((node, _)) = thread.before {
                take(Event::Edge { thread: t, edge: (node, END, type_of("EXIT")) });
            }
        }
        Ok(())
    }
}

/// Codes of what may follow each edge.
struct Codes {
    /// By edge and the edge behind it: bits, number of bits, and the edges that follow without a
    /// choice.
    code: FxHashMap<(u32, u32), (u32, u8)>,
    /// By edge: the only one that follows it.
    only: Vec<Option<u32>>,
    /// Rows of the transition table, by edge.
    rows: BTreeMap<u32, Vec<(String, Vec<u32>)>>,
}

impl Codes {
    fn new(graph: &Graph) -> Codes {
        let mut following: BTreeMap<u32, Vec<(u64, u32)>> = BTreeMap::new();
        for (&(edge, next), &count) in &graph.next {
            following.entry(edge).or_default().push((count, next));
        }
        let mut only = vec![None; graph.edges.len()];
        for (&edge, next) in &mut following {
            next.sort_unstable();
            if let [(_, single)] = next[..] {
                only[edge as usize] = Some(single);
            }
        }
        let mut codes = Codes { code: FxHashMap::default(), only, rows: BTreeMap::new() };
        for (&edge, next) in &following {
            for (i, bits) in prefix_code(next).into_iter().enumerate() {
                let next = next[i].1;
                codes.code.insert((edge, next), bits);
                let text = (0..bits.1)
                    .rev()
                    .map(|b| if bits.0 >> b & 1 == 1 { '1' } else { '0' })
                    .collect();
                let mut stretch = vec![next];
                while let Some(&Some(behind)) = stretch.last().map(|&e| &codes.only[e as usize])
                    && stretch.len() < LONGEST_STRETCH
                {
                    stretch.push(behind);
                }
                codes.rows.entry(edge).or_default().push((text, stretch));
            }
        }
        codes
    }
}

/// A prefix code for counts (Huffman): bits and their number for each. One alone needs no bit; if a
/// code would be longer than the format's 32 bits, all are as long as their number needs.
fn prefix_code(counts: &[(u64, u32)]) -> Vec<(u32, u8)> {
    let n = counts.len();
    let mut lengths = vec![0u32; n];
    let mut parent = vec![usize::MAX; 2 * n.max(1) - 1];
    let mut heap: BinaryHeap<_> =
        counts.iter().enumerate().map(|(i, c)| std::cmp::Reverse((c.0, i))).collect();
    let mut new = n;
    while heap.len() > 1 {
        let (Some(std::cmp::Reverse(a)), Some(std::cmp::Reverse(b))) = (heap.pop(), heap.pop())
        else {
            break;
        };
        (parent[a.1], parent[b.1]) = (new, new);
        heap.push(std::cmp::Reverse((a.0.saturating_add(b.0), new)));
        new += 1;
    }
    for (i, length) in lengths.iter_mut().enumerate() {
        let mut at = i;
        while parent[at] != usize::MAX {
            *length += 1;
            at = parent[at];
        }
    }
    if lengths.iter().any(|&l| l > 32) {
        lengths.fill((n as u64).next_power_of_two().trailing_zeros());
    }
    // Canonical: shorter codes first.
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| (lengths[i], i));
    let (mut code, mut length) = (0u64, 0);
    let mut codes = vec![(0, 0); n];
    for i in order {
        code <<= lengths[i] - length;
        length = lengths[i];
        codes[i] = (code as u32, length as u8);
        code += 1;
    }
    codes
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

/// Bits as characters; a character that is repeated often is written once.
#[derive(Default)]
struct Bits {
    text: Vec<u8>,
    bits: u64,
    count: u32,
    /// How often the last character stands there.
    same: usize,
}

impl Bits {
    fn push(&mut self, (code, length): (u32, u8)) {
        self.bits = self.bits << length | u64::from(code);
        self.count += u32::from(length);
        while self.count >= 6 {
            self.count -= 6;
            self.character((self.bits >> self.count & 63) as usize);
        }
        self.bits &= (1 << self.count) - 1;
    }

    fn character(&mut self, value: usize) {
        let byte = BASE64[value];
        if self.same > 0 && self.text.last() == Some(&byte) {
            self.same += 1;
        } else {
            self.fold();
            self.same = 1;
        }
        self.text.push(byte);
    }

    fn fold(&mut self) {
        if self.same >= 12 {
            let byte = self.text[self.text.len() - 1];
            self.text.truncate(self.text.len() - self.same);
            self.text.extend(format!("({}*{})", self.same, byte as char).bytes());
        }
        self.same = 0;
    }

    fn finish(&mut self) -> Vec<u8> {
        if self.count > 0 {
            let value = (self.bits << (6 - self.count) & 63) as usize;
            self.character(value);
        }
        self.fold();
        std::mem::take(self).text
    }
}

/// Writes `run.dcfg.json` and `run.trace.json` into the folder.
pub fn write(connection: &Connection, _: &Options, folder: &Path) -> Result<(), ExportError> {
    let code = Code::open(connection).map_err(crate::views::ViewError::from)?;
    let (pid, threads, by_thread) =
        connection.query_row(include_str!("../../queries/report/dcfg_process.sql"), [], |r| {
            Ok((r.get::<_, i64>(0)?, r.get::<_, i32>(1)?.max(1) as usize, r.get::<_, bool>(2)?))
        })?;
    let mut info: Vec<Info> = Vec::new();
    super::each(
        connection,
        include_str!("../../queries/report/dcfg_instructions.sql"),
        &[],
        |r| {
            let class = match r.get::<_, String>(2)?.as_str() {
                "next" => Class::Next,
                "jump" => Class::Jump,
                "call" => Class::Call,
                "syscall" => Class::Syscall,
                _ => Class::Other,
            };
            let line: (Option<i32>, Option<i32>) = (r.get(4)?, r.get(5)?);
            let id: i32 = r.get(0)?;
            while info.len() <= id.max(0) as usize && info.len() < code.instruction_ids().max(1) {
                info.push(Info { image: 0, class: Class::Other, direct: false, line: None });
            }
            if let Some(place) = info.get_mut(id.max(0) as usize) {
                *place =
                    Info { image: r.get(1)?, class, direct: r.get(3)?, line: line.0.zip(line.1) };
            }
            Ok::<_, ExportError>(())
        },
    )?;
    info.resize_with(code.instruction_ids(), || Info {
        image: 0,
        class: Class::Other,
        direct: false,
        line: None,
    });
    let leaders = Leaders::find(&code, connection)?;
    let walk = || Walk::new(&code, &info, &leaders, connection, threads, by_thread);

    let graph =
        std::cell::RefCell::new(Graph { instructions: vec![0; threads], ..Graph::default() });
    let mut before: Vec<Option<u32>> = vec![None; threads];
    let take = |event: Event| match event {
        Event::Begin { thread, .. } => before[thread] = None,
        Event::Edge { thread, edge } => {
            let mut g = graph.borrow_mut();
            let id = g.edge(edge);
            let counts = &mut g.counts[id as usize];
            if counts.len() <= thread {
                counts.resize(thread + 1, 0);
            }
            counts[thread] += 1;
            let length = g.length(edge.0);
            g.instructions[thread] += length;
            if let Some(before) = before[thread].replace(id) {
                *g.next.entry((before, id)).or_default() += 1;
            }
        }
    };
    let mut bypasses = BTreeSet::new();
    walk().run(
        |b| graph.borrow_mut().block(b),
        take,
        |bypass| {
            bypasses.insert(bypass);
        },
    )?;
    let mut graph = graph.into_inner();
    for bypass in bypasses {
        graph.edge(bypass);
    }
    let codes = Codes::new(&graph);
    let name = folder.join("run.dcfg.json");
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |source| ExportError::File { path, source }
    };
    let mut out = BufWriter::new(File::create(&name).map_err(failed(&name))?);
    write_graph(&mut out, connection, &code, &info, &graph, pid, threads)?;
    out.flush()?;
    let name = folder.join("run.trace.json");
    let mut out = BufWriter::new(File::create(&name).map_err(failed(&name))?);
    write_trace(&mut out, &graph, &codes, pid, threads, walk)?;
    Ok(out.flush()?)
}

fn write_trace<'a>(
    out: &mut impl Write,
    graph: &Graph,
    codes: &Codes,
    pid: i64,
    threads: usize,
    walk: impl Fn() -> Walk<'a>,
) -> Result<(), ExportError> {
    write!(out, "{{\"MAJOR_VERSION\": 1, \"MINOR_VERSION\": 0, \"PROCESSES\": [\n")?;
    write!(
        out,
        "[\"PROCESS_ID\", \"STRING_DICTIONARY\", \"TRANSITION_TABLE\", \"THREAD_DATA\"],\n[{pid}, {{}},\n"
    )?;
    write!(out, "[[\"CURRENT_EDGE_ID\", \"TRANSITION_CODE\", \"NEXT_EDGE_IDS\"]")?;
    for (edge, rows) in &codes.rows {
        for (code, next) in rows {
            let next: Vec<String> = next.iter().map(|e| (e + 1).to_string()).collect();
            write!(out, ",\n[{}, \"{code}\", [{}]]", edge + 1, next.join(", "))?;
        }
    }
    write!(out, "],\n[[\"THREAD_ID\", \"TRACE_DATA\"]")?;
    for thread in 0..threads {
        write!(
            out,
            ",\n[{thread}, [[\"PRECEDING_INSTR_COUNT\", \"INSTR_COUNT\", \"EDGE_COUNT\", "
        )?;
        write!(out, "\"FIRST_EDGE_ID\", \"EDGE_ID_SEQUENCE\"]")?;
        let mut chunk = Chunk::default();
        let mut failed = None;
        let take = |event: Event| {
            let done = match event {
                Event::Begin { thread: t, preceding } if t == thread => chunk.begin(out, preceding),
                Event::Edge { thread: t, edge } if t == thread => {
                    chunk.edge(out, graph, codes, edge)
                }
                _ => Ok(()),
            };
            if let Err(e) = done {
                failed.get_or_insert(e);
            }
        };
        let block = |b: Block| graph.block_ids.get(&b).copied().unwrap_or(END);
        walk().run(block, take, |_| {})?;
        if let Some(e) = failed {
            return Err(e.into());
        }
        chunk.finish(out)?;
        write!(out, "]]")?;
    }
    Ok(write!(out, "]]]}}\n")?)
}

/// A row of the trace data that is being made.
#[derive(Default)]
struct Chunk {
    preceding: u64,
    instructions: u64,
    edges: u64,
    first: u32,
    last: u32,
    /// Edges to come that the code before has said already: how many of the stretch are left.
    stretch: usize,
    bits: Bits,
}

impl Chunk {
    /// What is known of the thread goes on behind `preceding` instructions.
    fn begin(&mut self, out: &mut impl Write, preceding: u64) -> std::io::Result<()> {
        self.finish(out)?;
        self.preceding = preceding;
        Ok(())
    }

    fn edge(
        &mut self,
        out: &mut impl Write,
        graph: &Graph,
        codes: &Codes,
        edge: (u32, u32, u8),
    ) -> std::io::Result<()> {
        let Some(&id) = graph.edge_ids.get(&edge) else { return Ok(()) };
        if self.edges == CHUNK {
            let preceding = self.preceding + self.instructions;
            self.begin(out, preceding)?;
        }
        if self.edges == 0 {
            self.first = id;
            self.stretch = 0;
        } else if self.stretch > 0 {
            self.stretch -= 1;
        } else {
            if let Some(&code) = codes.code.get(&(self.last, id)) {
                self.bits.push(code);
            }
            let mut at = id;
            while let Some(behind) = codes.only[at as usize]
                && self.stretch + 1 < LONGEST_STRETCH
            {
                self.stretch += 1;
                at = behind;
            }
        }
        self.edges += 1;
        self.instructions += graph.length(edge.0);
        self.last = id;
        Ok(())
    }

    fn finish(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        if self.edges > 0 {
            write!(
                out,
                ",\n[{}, {}, {}, {}, \"",
                self.preceding,
                self.instructions,
                self.edges,
                self.first + 1
            )?;
            out.write_all(&self.bits.finish())?;
            write!(out, "\"]")?;
        }
        *self = Chunk::default();
        Ok(())
    }
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Image {
    id: i32,
    path: String,
    load_address: u64,
    size: u64,
}

fn write_graph(
    out: &mut impl Write,
    connection: &Connection,
    code: &Code,
    info: &[Info],
    graph: &Graph,
    pid: i64,
    threads: usize,
) -> Result<(), ExportError> {
    // Images, and one for code that is in none.
    let mut images: Vec<Image> = Vec::new();
    super::each(connection, include_str!("../../queries/report/dcfg_images.sql"), &[], |r| {
        let (first, last): (u64, u64) = (r.get(2)?, r.get(3)?);
        let load_address = first & !0xfff;
        images.push(Image {
            id: r.get(0)?,
            path: r.get(1)?,
            load_address,
            size: (last - load_address).saturating_add(1),
        });
        Ok::<_, ExportError>(())
    })?;
    let known: FxHashSet<i32> = images.iter().map(|i| i.id).collect();
    let image_of =
        |b: &Block| Some(info[b.first as usize].image).filter(|i| known.contains(i)).unwrap_or(0);
    let ends = |b: &Block| {
        let (first, last) = (code.instruction(b.first), code.instruction(b.last));
        (first.address, last.address, last.address.wrapping_add(last.size.into()))
    };
    let outside: Vec<_> =
        graph.blocks.iter().filter(|b| image_of(b) == 0).map(|b| ends(b)).collect();
    if let (Some(first), Some(last)) =
        (outside.iter().map(|e| e.0).min(), outside.iter().map(|e| e.2).max())
    {
        let load_address = first & !0xfff;
        images.push(Image {
            id: 0,
            path: "[unknown]".into(),
            load_address,
            size: last.wrapping_sub(load_address),
        });
    }
    let mut files: Vec<(i32, String)> = Vec::new();
    super::each(connection, "SELECT file_id, path FROM source_file ORDER BY file_id", &[], |r| {
        files.push((r.get(0)?, r.get(1)?));
        Ok::<_, ExportError>(())
    })?;
    let mut symbols: BTreeMap<i32, Vec<(String, u64, u64)>> = BTreeMap::new();
    super::each(connection, include_str!("../../queries/report/dcfg_symbols.sql"), &[], |r| {
        symbols.entry(r.get(0)?).or_default().push((r.get(1)?, r.get(2)?, r.get(3)?));
        Ok::<_, ExportError>(())
    })?;
    let image_name = |image: &Image| files.len() as i32 + image.id + 1;
    let file_name = |id: i32| id.max(1);

    write!(
        out,
        "{{\"MAJOR_VERSION\": 1, \"MINOR_VERSION\": 0,\n\"FILE_NAMES\": [[\"FILE_NAME_ID\", \"FILE_NAME\"]"
    )?;
    let names = files
        .iter()
        .map(|f| (file_name(f.0), &f.1))
        .chain(images.iter().map(|i| (image_name(i), &i.path)));
    for (id, name) in names {
        write!(out, ",\n[{id}, {}]", quoted(name))?;
    }
    write!(out, "],\n\"EDGE_TYPES\": [[\"EDGE_TYPE_ID\", \"EDGE_TYPE\"]")?;
    for (i, name) in TYPES.iter().enumerate() {
        write!(out, ", [{}, \"{name}\"]", i + 1)?;
    }
    write!(
        out,
        "],\n\"SPECIAL_NODES\": [[\"NODE_ID\", \"NODE_NAME\"], [1, \"START\"], [2, \"END\"], [3, \"UNKNOWN\"]],\n"
    )?;
    let list = |counts: &[u64]| counts.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let total: u64 = graph.instructions.iter().sum();
    write!(
        out,
        "\"PROCESSES\": [[\"PROCESS_ID\", \"PROCESS_DATA\"],\n[{pid}, {{\"INSTR_COUNT\": {total},\n"
    )?;
    write!(out, "\"INSTR_COUNT_PER_THREAD\": [{}],\n", list(&graph.instructions))?;
    write!(out, "\"IMAGES\": [[\"IMAGE_ID\", \"LOAD_ADDR\", \"SIZE\", \"IMAGE_DATA\"]")?;
    let mut executions = vec![0u64; graph.blocks.len()];
    for (edge, counts) in graph.edges.iter().zip(&graph.counts) {
        if let Some(b) = edge.1.checked_sub(SPECIALS) {
            executions[b as usize] += counts.iter().sum::<u64>();
        }
    }
    let routines = routines(code, graph, &image_of);
    for image in &images {
        let base = image.load_address;
        write!(
            out,
            ",\n[{}, \"{base:#x}\", {}, {{\"FILE_NAME_ID\": {}",
            image.id,
            image.size,
            image_name(image)
        )?;
        if let Some(symbols) = symbols.get(&image.id) {
            write!(out, ",\n\"SYMBOLS\": [[\"NAME\", \"ADDR_OFFSET\", \"SIZE\"]")?;
            for (name, address, size) in symbols {
                write!(
                    out,
                    ",\n[{}, \"{:#x}\", {size}]",
                    quoted(name),
                    address.wrapping_sub(base)
                )?;
            }
            write!(out, "]")?;
        }
        write_lines(out, code, info, image)?;
        write!(
            out,
            ",\n\"BASIC_BLOCKS\": [[\"NODE_ID\", \"ADDR_OFFSET\", \"SIZE\", \"NUM_INSTRS\", \"LAST_INSTR_OFFSET\", \"COUNT\"]"
        )?;
        for (i, b) in graph.blocks.iter().enumerate().filter(|(_, b)| image_of(b) == image.id) {
            let (first, last, end) = ends(b);
            let id = i as u32 + SPECIALS + 1;
            write!(
                out,
                ",\n[{id}, \"{:#x}\", {}, {}, ",
                first.wrapping_sub(base),
                end.wrapping_sub(first),
                b.length
            )?;
            write!(out, "{}, {}]", last.wrapping_sub(first), executions[i])?;
        }
        write!(
            out,
            "],\n\"ROUTINES\": [[\"ENTRY_NODE_ID\", \"EXIT_NODE_IDS\", \"NODES\", \"LOOPS\"]"
        )?;
        for r in routines.iter().filter(|r| r.image == image.id) {
            r.write(out)?;
        }
        write!(out, "]}}]")?;
    }
    write!(
        out,
        "],\n\"EDGES\": [[\"EDGE_ID\", \"SOURCE_NODE_ID\", \"TARGET_NODE_ID\", \"EDGE_TYPE_ID\", \"COUNT_PER_THREAD\"]"
    )?;
    for (i, ((source, target, kind), counts)) in graph.edges.iter().zip(&graph.counts).enumerate() {
        let mut counts = counts.clone();
        counts.resize(threads, 0);
        write!(
            out,
            ",\n[{}, {}, {}, {}, [{}]]",
            i + 1,
            source + 1,
            target + 1,
            kind + 1,
            list(&counts)
        )?;
    }
    Ok(write!(out, "]}}]]}}\n")?)
}

/// Source lines of the executed instructions: a row for each stretch of one line.
fn write_lines(
    out: &mut impl Write,
    code: &Code,
    info: &[Info],
    image: &Image,
) -> Result<(), ExportError> {
    let mut found: Vec<(u64, u64, (i32, i32))> = Vec::new();
    for (i, info) in info.iter().enumerate().filter(|(_, f)| f.image == image.id) {
        if let Some(line) = info.line {
            let insn = code.instruction(i as i32);
            found.push((insn.address, insn.size.into(), line));
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    found.sort_unstable();
    found.dedup_by_key(|f| f.0);
    write!(
        out,
        ",\n\"SOURCE_DATA\": [[\"FILE_NAME_ID\", \"LINE_NUM\", \"ADDR_OFFSET\", \"SIZE\", \"NUM_INSTRS\"]"
    )?;
    let mut at = 0;
    while at < found.len() {
        let (start, size, line) = found[at];
        let (mut end, mut count) = (start.wrapping_add(size), 1);
        while let Some(&(address, size, next)) = found.get(at + count)
            && address == end
            && next == line
        {
            end = end.wrapping_add(size);
            count += 1;
        }
        let offset = start.wrapping_sub(image.load_address);
        write!(
            out,
            ",\n[{}, {}, \"{offset:#x}\", {}, {count}]",
            line.0,
            line.1,
            end.wrapping_sub(start)
        )?;
        at += count;
    }
    Ok(write!(out, "]")?)
}

/// Part of the graph with a single entry (document, section 2.14).
struct Routine {
    image: i32,
    entry: u32,
    exits: Vec<u32>,
    /// Node and immediate dominator.
    nodes: Vec<(u32, u32)>,
    /// Header, sources of back edges, nodes, header of the loop around it.
    loops: Vec<(u32, Vec<u32>, Vec<u32>, Option<u32>)>,
}

impl Routine {
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let list = |nodes: &[u32]| {
            nodes.iter().map(|n| (n + 1).to_string()).collect::<Vec<_>>().join(", ")
        };
        write!(
            out,
            ",\n[{}, [{}], [[\"NODE_ID\", \"IDOM_NODE_ID\"]",
            self.entry + 1,
            list(&self.exits)
        )?;
        for (node, dominator) in &self.nodes {
            write!(out, ", [{}, {}]", node + 1, dominator + 1)?;
        }
        write!(out, "]")?;
        if !self.loops.is_empty() {
            write!(
                out,
                ",\n[[\"LOOP_HEAD_NODE_ID\", \"LOOP_BACK_EDGE_SOURCE_NODE_IDS\", \"LOOP_NODE_IDS\", "
            )?;
            write!(out, "\"PARENT_LOOP_HEAD_NODE_ID\"]")?;
            for (header, back, nodes, parent) in &self.loops {
                write!(out, ", [{}, [{}], [{}]", header + 1, list(back), list(nodes))?;
                match parent {
                    Some(parent) => write!(out, ", {}]", parent + 1)?,
                    None => write!(out, "]")?,
                }
            }
            write!(out, "]")?;
        }
        write!(out, "]")
    }
}

fn routines(code: &Code, graph: &Graph, image_of: &dyn Fn(&Block) -> i32) -> Vec<Routine> {
    let nodes = graph.blocks.len() + SPECIALS as usize;
    // A routine lies in one function of one image.
    let home = |n: u32| {
        let block = n.checked_sub(SPECIALS).map(|b| &graph.blocks[b as usize]);
        block.map(|b| (image_of(b), code.instruction(b.first).function))
    };
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    let mut entries: BTreeSet<u32> = BTreeSet::new();
    let mut leaves = vec![false; nodes];
    for &(source, target, kind) in &graph.edges {
        if is_inside(kind) && home(source).is_some() && home(source) == home(target) {
            next[source as usize].push(target);
            before[target as usize].push(source);
        } else if !TYPES[kind as usize].ends_with("BYPASS") {
            let kind = TYPES[kind as usize];
            let comes_back = kind.ends_with("RETURN");
            if !comes_back && home(target).is_some() {
                entries.insert(target);
            }
            leaves[source as usize] |= !kind.ends_with("CALL") && kind != "CONTEXT_CHANGE";
        }
    }
    let mut owner: Vec<Option<u32>> = vec![None; nodes];
    loop {
        owner.fill(None);
        for &entry in &entries {
            owner[entry as usize] = Some(entry);
        }
        let claim = |entry: u32, owner: &mut Vec<Option<u32>>| {
            let mut stack = vec![entry];
            while let Some(n) = stack.pop() {
                for &m in &next[n as usize] {
                    if owner[m as usize].is_none() {
                        owner[m as usize] = Some(entry);
                        stack.push(m);
                    }
                }
            }
        };
        entries.iter().for_each(|&e| claim(e, &mut owner));
        // Nodes that nothing leads to within their function, such as those behind an unwinding.
        for n in SPECIALS..nodes as u32 {
            if owner[n as usize].is_none() {
                owner[n as usize] = Some(n);
                entries.insert(n);
                claim(n, &mut owner);
            }
        }
        // A node that another routine leads to is an entry of its own.
        let new: Vec<u32> = (SPECIALS..nodes as u32)
            .filter(|&n| {
                owner[n as usize] != Some(n)
                    && before[n as usize].iter().any(|&b| owner[b as usize] != owner[n as usize])
            })
            .collect();
        if new.is_empty() {
            break;
        }
        entries.extend(new);
    }
    let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for n in SPECIALS..nodes as u32 {
        if let Some(entry) = owner[n as usize] {
            members.entry(entry).or_default().push(n);
        }
    }
    members
        .into_iter()
        .map(|(entry, members)| {
            routine(entry, &members, &next, &leaves, &owner, home(entry).map_or(0, |h| h.0))
        })
        .collect()
}

fn routine(
    entry: u32,
    members: &[u32],
    next: &[Vec<u32>],
    leaves: &[bool],
    owner: &[Option<u32>],
    image: i32,
) -> Routine {
    let place: FxHashMap<u32, usize> = members.iter().enumerate().map(|(i, &n)| (n, i)).collect();
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut exits = Vec::new();
    for (i, &n) in members.iter().enumerate() {
        edges.extend(next[n as usize].iter().filter_map(|m| Some((i, *place.get(m)?))));
        if leaves[n as usize] || next[n as usize].iter().any(|&m| owner[m as usize] != Some(entry))
        {
            exits.push(n);
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let root = place.get(&entry).copied().unwrap_or(0);
    let dominators = immediate_dominators(members.len(), &edges, root);
    let nodes = members
        .iter()
        .enumerate()
        .map(|(i, &n)| (n, dominators[i].map_or(entry, |d| members[d])))
        .collect();
    let found = loops(members.len(), &edges, root);
    let mut rows = Vec::new();
    for l in found.iter().filter(|l| !l.irreducible) {
        let back = l
            .body
            .iter()
            .filter(|&&b| edges.binary_search(&(b, l.header)).is_ok())
            .map(|&b| members[b])
            .collect();
        let mut parent = l.parent;
        while let Some(p) = parent
            && found[p].irreducible
        {
            parent = found[p].parent;
        }
        let body = l.body.iter().map(|&b| members[b]).collect();
        rows.push((members[l.header], back, body, parent.map(|p| members[found[p].header])));
    }
    Routine { image, entry, exits, nodes, loops: rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_codes() {
        let of = |counts: &[u64]| {
            let counts: Vec<_> = counts.iter().enumerate().map(|(i, &c)| (c, i as u32)).collect();
            prefix_code(&counts)
        };
        assert_eq!(of(&[7]), [(0, 0)]);
        let lengths = |codes: Vec<(u32, u8)>| codes.iter().map(|c| c.1).collect::<Vec<_>>();
        assert_eq!(lengths(of(&[1, 1, 2, 4])), [3, 3, 2, 1]);
        // Counts whose best code would be longer than 32 bits.
        let fibonacci: Vec<u64> = (0..40)
            .scan((1, 1), |s, _| {
                let f = s.0;
                *s = (s.1, s.0 + s.1);
                Some(f)
            })
            .collect();
        assert_eq!(lengths(of(&fibonacci)), [6; 40]);
    }

    #[test]
    fn bits_as_characters() {
        let mut bits = Bits::default();
        // The document's example: 000010111110 is "C+".
        bits.push((0b0000_1011_1110, 12));
        assert_eq!(bits.finish(), b"C+");
        let mut bits = Bits::default();
        for _ in 0..100 {
            bits.push((1, 1));
        }
        assert_eq!(bits.finish(), b"(16*-)8");
        assert_eq!(Bits::default().finish(), b"");
    }
}
