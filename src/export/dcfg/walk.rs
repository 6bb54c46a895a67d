//! The run along its calls: each step from one block to the next is an edge with a type.

use super::super::error::ExportError;
use super::blocks::{Class, Executed, Leaders, forwards};
use super::edge_type::EdgeType;
use super::graph::{Block, END, Edge, SPECIALS, START, UNKNOWN};
use crate::id::{CallId, InstructionId};
use crate::replay::{Code, Piece};
use duckdb::Connection;

/// Calls that are fetched at a time.
const CALLS: i32 = 1 << 16;

/// A call instance that is open.
struct OpenCall {
    call: i32,
    signal: bool,
    /// Block that called.
    from: u32,
}

/// Where a thread is.
#[derive(Default)]
struct Position {
    stack: Vec<OpenCall>,
    /// The block before, and its last instruction.
    before: Option<(u32, InstructionId)>,
    last_seq: i64,
    /// Instructions up to the block before.
    steps: u64,
}

/// What is gone through.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub code: &'a Code,
    pub executed: &'a [Executed],
    pub leaders: &'a Leaders,
    pub connection: &'a Connection,
    /// How many there are.
    pub threads: usize,
    /// Steps are numbered by thread, so that what is missing shows.
    pub by_thread: bool,
}

/// Goes through it.
struct Walk<'a> {
    run: Run<'a>,
    threads: Vec<Position>,
    /// Call instances that have not begun yet, the next one last.
    calls: Vec<(i32, String, Option<i32>)>,
    next_call: i32,
}

/// What a walk meets, thread by thread.
pub enum Event {
    Edge {
        thread: usize,
        edge: Edge,
    },
    /// A thread's first edge, or the first behind a gap, comes next, behind so many instructions.
    Begin {
        thread: usize,
        preceding: u64,
    },
}

impl<'a> Walk<'a> {
    fn new(run: Run<'a>) -> Walk<'a> {
        let mut threads = Vec::new();
        threads.resize_with(run.threads, Position::default);
        Walk { run, threads, calls: Vec::new(), next_call: 1 }
    }

    /// The row of a call instance that begins. They begin in the order of their numbers, but those
    /// of threads after one another where steps are numbered by thread.
    fn call(&mut self, call: i32) -> Result<(String, Option<i32>), ExportError> {
        if self.run.by_thread {
            self.calls.clear();
            self.next_call = call;
        }
        loop {
            while let Some((id, kind, tail_of)) = self.calls.pop() {
                if id == call {
                    return Ok((kind, tail_of));
                }
            }
            let last =
                self.next_call.saturating_add(if self.run.by_thread { 0 } else { CALLS - 1 });
            let mut statement = self
                .run
                .connection
                .prepare_cached(include_str!("../../../queries/report/dcfg_calls.sql"))?;
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
    fn inside(&self, from: InstructionId, to: InstructionId) -> EdgeType {
        let (a, b) = (self.run.code.instruction(from), self.run.code.instruction(to));
        let info = &self.run.executed[from.index()];
        if from == to && !a.transfers {
            return EdgeType::Rep;
        }
        let falls = a.address.wrapping_add(a.size.into()) == b.address;
        match info.class {
            Class::Syscall if falls => EdgeType::SystemCallBypass,
            Class::Jump if falls && a.conditional => EdgeType::FallThrough,
            Class::Next | Class::Other if falls => EdgeType::FallThrough,
            Class::Jump | Class::Call => match (info.direct, a.conditional) {
                (true, true) => EdgeType::DirectConditionalBranch,
                (true, false) => EdgeType::DirectUnconditionalBranch,
                (false, true) => EdgeType::IndirectConditionalBranch,
                (false, false) => EdgeType::IndirectUnconditionalBranch,
            },
            Class::Other => EdgeType::IndirectUnconditionalBranch,
            Class::Next | Class::Syscall => EdgeType::Unknown,
        }
    }

    /// What the first block of a piece does to the call stack, as the type of the edge to it.
    /// Bypasses go to `bypass`.
    fn arrive(
        &mut self,
        t: usize,
        call: i32,
        first: InstructionId,
        node: u32,
        bypass: &mut impl FnMut(Edge),
    ) -> Result<EdgeType, ExportError> {
        let from = self.threads[t].before;
        let top = self.threads[t].stack.last().map(|f| f.call);
        if top == Some(call) {
            return Ok(from.map_or(EdgeType::Unknown, |(_, last)| self.inside(last, first)));
        }
        let mut back = |stack: &mut Vec<OpenCall>, to: i32| {
            let mut popped = None;
            while stack.last().is_some_and(|f| f.call != to) {
                popped = stack.pop();
            }
            let Some(frame) = popped else { return EdgeType::Unknown };
            if frame.from >= SPECIALS {
                let kind =
                    if frame.signal { EdgeType::ContextChangeBypass } else { EdgeType::CallBypass };
                bypass((frame.from, node, kind));
            }
            if frame.signal { EdgeType::ContextChangeReturn } else { EdgeType::Return }
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
                    (None, None) => Ok(EdgeType::Unknown),
                }
            }
            ("signal", _) => {
                thread.stack.push(OpenCall { call, signal: true, from: source });
                Ok(EdgeType::ContextChange)
            }
            ("root" | "gap" | "fork", _) => {
                thread.stack.clear();
                thread.stack.push(OpenCall { call, signal: false, from: START });
                Ok(match kind.as_str() {
                    "gap" => EdgeType::Unknown,
                    // What was called in the process before comes back in this one.
                    "fork" if from.is_some() => EdgeType::Return,
                    _ => EdgeType::Entry,
                })
            }
            _ => {
                thread.stack.push(OpenCall { call, signal: false, from: source });
                let direct = from.is_some_and(|(_, last)| self.run.executed[last.index()].direct);
                Ok(if direct { EdgeType::DirectCall } else { EdgeType::IndirectCall })
            }
        }
    }

    fn piece(
        &mut self,
        p: &Piece,
        block: &mut impl FnMut(Block) -> u32,
        take: &mut impl FnMut(Event),
        bypass: &mut impl FnMut(Edge),
    ) -> Result<(), ExportError> {
        let t = p.thread.index();
        if t >= self.threads.len() {
            self.threads.resize_with(t + 1, Position::default);
        }
        let run = p.instructions();
        let start = p.seq(p.first_step);
        let mut blocks: Vec<Block> = Vec::new();
        self.run.leaders.cut(run, |b| {
            blocks.push(Block { first: b[0], last: b[b.len() - 1], length: b.len() as u32 });
        });
        for (i, b) in blocks.iter().enumerate() {
            let node = block(*b);
            let kind = if i > 0 {
                self.inside(blocks[i - 1].last, b.first)
            } else {
                let missing = if self.run.by_thread {
                    (start - self.threads[t].last_seq - 1).max(0) as u64
                } else {
                    0
                };
                let kind =
                    self.arrive(t, p.call.map_or(0, CallId::column), b.first, node, bypass)?;
                let thread = &mut self.threads[t];
                let lost = if missing > 0 { thread.before.take() } else { None };
                if let Some((source, _)) = lost {
                    take(Event::Edge { thread: t, edge: (source, UNKNOWN, EdgeType::Unknown) });
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
                None if kind == EdgeType::Entry => (START, kind),
                None => (UNKNOWN, EdgeType::Unknown),
            };
            take(Event::Edge { thread: t, edge: (source, node, kind) });
            thread.before = Some((node, b.last));
            thread.steps += u64::from(b.length);
        }
        self.threads[t].last_seq = p.seq(p.end_step - 1);
        Ok(())
    }
}

impl Run<'_> {
    /// Goes through the whole run.
    pub fn walk(
        self,
        mut block: impl FnMut(Block) -> u32,
        mut take: impl FnMut(Event),
        mut bypass: impl FnMut(Edge),
    ) -> Result<(), ExportError> {
        let mut walk = Walk::new(self);
        let mut failed = None;
        forwards(self.code, self.connection, |p| {
            let done = walk.piece(p, &mut block, &mut take, &mut bypass);
            failed = done.err();
            failed.is_none()
        })?;
        if let Some(e) = failed {
            return Err(e);
        }
        for (t, thread) in walk.threads.iter().enumerate() {
            if let Some((node, _)) = thread.before {
                take(Event::Edge { thread: t, edge: (node, END, EdgeType::Exit) });
            }
        }
        Ok(())
    }
}
