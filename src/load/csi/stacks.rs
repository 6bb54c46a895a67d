//! Stacks of frames: calls that have not returned, and the paths that each has run.

use super::functions::{Known, KnownFunctions, symbols};
use super::inputs::{At, DAMAGED, problem};
use crate::analysis::stack::{Call, CallKind, Ending, Point};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::id::{CallId, FunctionId, ProcessId, ThreadId};
use crate::image::{AddressSpace, FunctionRef};
use crate::load::sums::Sums;
use crate::load::{BuildError, FunctionNames, Load, calls};
use crate::paths::{End, Numbering, Path, Position};
use crate::store::StoreError;
use crate::store::table::Table;
use crate::store::tables::{
    ExecutedPath, ExecutedPathBlock, ExecutedPathBlocks, ExecutedPaths, FunctionCall,
    FunctionCalls, PathFrame, PathFrames, Thread, Threads,
};
use crate::trace::csi::frames::Frame;
use std::collections::BTreeMap;

/// Blocks of executed paths that are written at most, of a hostile dump: a number stands for as
/// many as its function has.
const BLOCKS: usize = 1 << 24;

/// The rows that stacks fill.
struct Rows<'c> {
    threads: Table<'c, Threads>,
    calls: Table<'c, FunctionCalls>,
    frames: Table<'c, PathFrames>,
    paths: Table<'c, ExecutedPaths>,
    blocks: Table<'c, ExecutedPathBlocks>,
}

/// What is counted over all stacks.
#[derive(Default)]
pub struct Counted {
    pub calls: u32,
    pub sums: Sums,
    paths: u32,
}

/// Goes through the stacks.
pub struct Stacks<'b, 's, 'l> {
    pub load: &'b mut Load<'l>,
    pub space: &'s AddressSpace,
    pub names: &'b mut FunctionNames,
    pub known: &'b mut KnownFunctions,
}

/// An instance on the stack.
#[derive(Clone, Copy)]
struct Live {
    call: CallId,
    function: FunctionId,
}

impl Stacks<'_, '_, '_> {
    /// Fills the tables; every frame is a call that is open.
    pub fn fill(mut self, stacks: &[Vec<At<Frame>>]) -> Result<Counted, BuildError> {
        let connection = self.load.connection;
        let mut rows = Rows {
            threads: Table::new(connection),
            calls: Table::new(connection),
            frames: Table::new(connection),
            paths: Table::new(connection),
            blocks: Table::new(connection),
        };
        let mut counted = Counted::default();
        let mut budget = BLOCKS;
        let symbols = symbols(self.space);
        for (i, stack) in stacks.iter().enumerate() {
            let thread = ThreadId::at(i);
            let process_id = ProcessId::FIRST;
            rows.threads.push(Thread { thread_id: thread, process_id, tid: None, steps: None })?;
            let mut parent: Option<Live> = None;
            for (frame, depth) in stack.iter().rev().zip(0..) {
                let known = self.known.find(frame, self.load)?;
                let function = match known {
                    Some(known) => self.known.all[known].function_id,
                    None => self.function(&frame.what, &symbols),
                };
                let call = counted.call(thread, depth, parent, function);
                let live = Live { call: call.call_id, function };
                rows.calls.push(call)?;
                self.frame(frame, live, &mut rows)?;
                let history = frame.what.history();
                if let (Some(known), Some((numbers, wrapped))) = (known, history) {
                    let mut executed = Executed {
                        known: &mut self.known.all[known],
                        frame: counted.calls,
                        position: &frame.position,
                        wrapped,
                        problems: Diagnostics::default(),
                        paths: &mut counted.paths,
                        budget: &mut budget,
                        rows: &mut rows,
                    };
                    executed.fill(&frame.what, &numbers)?;
                    self.load.all_problems(&executed.problems)?;
                }
                parent = Some(live);
            }
        }
        rows.finish()?;
        if counted.calls > 0 && self.known.all.is_empty() {
            let message =
                "frames without descriptions of their functions: paths are numbers only".into();
            let remedy = "give the program with --elf, or its section .debug_PT beside the dump";
            let (code, at) = ("no-descriptions", String::new());
            self.load.problem(problem(Severity::Error, code, message, at, remedy))?;
        }
        Ok(counted)
    }

    /// The function of a frame that has no description.
    fn function(
        &mut self,
        frame: &Frame,
        symbols: &BTreeMap<&str, Vec<FunctionRef>>,
    ) -> FunctionId {
        match symbols.get(frame.function.as_str()).map(Vec::as_slice) {
            Some([one]) => self.names.symbol(*one),
            _ => self.names.named(&frame.function, frame.file.as_deref()),
        }
    }

    fn frame(&mut self, at: &At<Frame>, live: Live, rows: &mut Rows) -> Result<(), BuildError> {
        let frame = &at.what;
        let history = frame.history();
        rows.frames.push(PathFrame {
            frame_id: live.call.get(),
            call_id: live.call,
            function_id: live.function,
            file_id: frame.file.as_deref().map(|f| self.load.files.id(f)),
            line: frame.line,
            slots: frame.slots.as_ref().map(|s| s.len() as u32),
            next_slot: frame.next_slot,
            wrapped: history.as_ref().map(|h| h.1),
            current_path: frame.current,
            calls_covered: frame.calls.as_deref(),
            blocks_covered: frame.blocks.as_deref(),
        })?;
        if frame.slots.is_some() && history.is_none() {
            let slot = frame.next_slot.map_or("?".into(), |n| n.to_string());
            let message = format!("slot {slot} is not in the path array");
            let at = at.position.clone();
            self.load.problem(problem(Severity::Error, "path-slot", message, at, DAMAGED))?;
        }
        Ok(())
    }
}

impl Rows<'_> {
    fn finish(self) -> Result<(), StoreError> {
        self.threads.finish()?;
        self.calls.finish()?;
        self.frames.finish()?;
        self.paths.finish()?;
        self.blocks.finish()
    }
}

impl Counted {
    /// A call that is open, by the instance below it.
    fn call(
        &mut self,
        thread: ThreadId,
        depth: u32,
        parent: Option<Live>,
        function: FunctionId,
    ) -> FunctionCall {
        self.calls += 1;
        let kind = if parent.is_some() { CallKind::Call } else { CallKind::Root };
        self.sums.call((parent.map(|p| p.function), function, kind), 1, None);
        let profile = self.sums.profile(function);
        profile.calls += 1;
        calls::without_steps(&Call {
            call: CallId::at(self.calls as usize - 1),
            function,
            instance: profile.calls as u32,
            parent: parent.map(|p| p.call),
            tail_of: None,
            thread,
            depth,
            kind,
            ending: Ending::Open,
            begin: Point::default(),
            end: Point::default(),
            site: None,
            steps_self: 0,
            steps_total: 0,
        })
    }
}

/// The paths of a frame.
struct Executed<'e, 'c> {
    known: &'e mut Known,
    frame: u32,
    position: &'e str,
    /// Earlier paths are lost.
    wrapped: bool,
    problems: Diagnostics,
    paths: &'e mut u32,
    /// Blocks of paths that may still be written.
    budget: &'e mut usize,
    rows: &'e mut Rows<'c>,
}

/// What may be said of an executed path.
struct Said<'p> {
    ordinal: usize,
    state: &'static str,
    alternatives: usize,
    number: i64,
    path: Option<&'p Path>,
    blocks: &'p [usize],
}

/// The last finished path, and whether what comes next must follow it.
struct Last {
    path: Option<Path>,
    sure: bool,
}

impl Executed<'_, '_> {
    fn say(
        &mut self,
        severity: Severity,
        code: &'static str,
        message: String,
        remedy: &'static str,
    ) {
        let position = self.position.to_owned();
        self.problems.add(Diagnostic { severity, code, message, position, remedy });
    }

    /// `numbers`: of the finished paths, oldest first.
    fn fill(&mut self, frame: &Frame, numbers: &[i64]) -> Result<(), StoreError> {
        let Some(numbering) = self.known.numbering.take() else {
            for (i, &number) in numbers.iter().enumerate() {
                self.unknown(i + 1, number)?;
            }
            return Ok(());
        };
        let result = self.numbered(frame, numbers, &numbering);
        self.known.numbering = Some(numbering);
        result
    }

    fn numbered(
        &mut self,
        frame: &Frame,
        numbers: &[i64],
        numbering: &Numbering,
    ) -> Result<(), StoreError> {
        let mut last = Last { path: None, sure: true };
        for (i, &number) in numbers.iter().enumerate() {
            self.finished(i + 1, number, numbering, &mut last)?;
        }
        if let (Some(line), Some(Ok(counted))) = (frame.line, frame.current.map(u64::try_from)) {
            let here = (line, counted);
            self.under_way(numbers.len() + 1, here, numbering, &last)?;
        }
        Ok(())
    }

    fn row(&mut self, said: Said) -> Result<(), StoreError> {
        *self.paths += 1;
        let executed_path_id = *self.paths;
        let end = said.path.and_then(|p| match p.end {
            End::Edge(e) => Some(self.known.edge_id(e)),
            _ => None,
        });
        self.rows.paths.push(ExecutedPath {
            executed_path_id,
            frame_id: self.frame,
            ordinal: said.ordinal as u32,
            state: said.state,
            alternatives: said.alternatives as u32,
            number: Some(said.number),
            begin_edge_id: said.path.and_then(|p| p.begin).map(|e| self.known.edge_id(e)),
            end_edge_id: end,
            ends_at_exit: said.path.map(|p| p.end == End::Exit),
        })?;
        for (&block, position) in said.blocks.iter().zip(0..) {
            let path_block_id = self.known.block_id(block);
            self.rows.blocks.push(ExecutedPathBlock {
                executed_path_id,
                position,
                path_block_id,
            })?;
        }
        Ok(())
    }

    /// A finished path of which only the number is known.
    fn unknown(&mut self, ordinal: usize, number: i64) -> Result<(), StoreError> {
        let (state, alternatives, path) = ("finished", 1, None);
        self.row(Said { ordinal, state, alternatives, number, path, blocks: &[] })
    }

    /// Whether a path can follow what ran before it.
    fn follows(&self, path: &Path, before: Option<&Path>) -> bool {
        match (path.begin, before.map(|b| (b.end, b.blocks.last()))) {
            (None, None) => !self.wrapped,
            (Some(_), None) => self.wrapped,
            (Some(e), Some((End::Edge(_), Some(&last)))) => {
                self.known.function.edges[e].source == last
            }
            _ => false,
        }
    }

    fn finished(
        &mut self,
        ordinal: usize,
        number: i64,
        numbering: &Numbering,
        last: &mut Last,
    ) -> Result<(), StoreError> {
        let name = self.known.name.escape_debug().to_string();
        let path = u64::try_from(number).ok();
        let path = path.and_then(|n| numbering.path(&self.known.function, n));
        let Some(path) = path else {
            let most = numbering.paths() - 1;
            let message = format!("{name} has no path {number}; its paths are 0 to {most}");
            let remedy = "give the program that was dumped; the number is in the database";
            self.say(Severity::Error, "path-number", message, remedy);
            *last = Last { path: None, sure: false };
            return self.unknown(ordinal, number);
        };
        if last.sure && !self.follows(&path, last.path.as_ref()) {
            let message =
                format!("path {number} of {name} cannot follow what is recorded before it");
            self.out_of_order(message);
        }
        let blocks: &[usize] = if path.blocks.len() <= *self.budget { &path.blocks } else { &[] };
        *self.budget -= blocks.len();
        if blocks.is_empty() {
            let message =
                format!("the paths have more than {BLOCKS} blocks: further ones are numbers only");
            self.say(Severity::Error, "path-budget", message, "dump fewer frames");
        }
        let (state, alternatives, shown) = ("finished", 1, Some(&path));
        self.row(Said { ordinal, state, alternatives, number, path: shown, blocks })?;
        self.known.ran(&path);
        if path.end == End::Exit {
            self.known.left();
        }
        *last = Last { path: Some(path), sure: true };
        Ok(())
    }

    fn out_of_order(&mut self, message: String) {
        let remedy = "give the program that was dumped; the paths are in the database as they are";
        self.say(Severity::Warning, "path-order", message, remedy);
    }

    /// The path that was under way, at a line with a number counted.
    fn under_way(
        &mut self,
        ordinal: usize,
        (line, counted): (u32, u64),
        numbering: &Numbering,
        last: &Last,
    ) -> Result<(), StoreError> {
        let name = self.known.name.escape_debug().to_string();
        let before = last.path.as_ref();
        let mut found = numbering.positions(&self.known.function, line, counted, before);
        let fits = |p: &Position| match p {
            Position::Open(path) => !last.sure || self.follows(path, before),
            Position::Finished(_) => true,
        };
        if found.iter().any(fits) {
            found.retain(fits);
        } else if !found.is_empty() {
            let message =
                format!("the path under way of {name} cannot follow the last one recorded");
            self.out_of_order(message);
        }
        let alternatives = found.len();
        if alternatives == 0 && numbering.increments {
            let message = format!("no path of {name} is at line {line} with {counted} counted");
            let remedy =
                "a line that no block lists, or code that was moved: build with less optimisation";
            self.say(Severity::Info, "path-position", message, remedy);
        }
        let number = counted as i64;
        for position in &found {
            let block;
            let (state, path, blocks) = match position {
                Position::Open(path) => ("open", Some(path), path.blocks.as_slice()),
                Position::Finished(at) => {
                    block = before.and_then(|p| p.blocks.get(*at)).copied();
                    ("behind", None, block.as_slice())
                }
            };
            self.row(Said { ordinal, state, alternatives, number, path, blocks })?;
        }
        if let [Position::Open(path)] = &found[..] {
            self.known.ran(path);
        }
        Ok(())
    }
}
