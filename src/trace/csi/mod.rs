//! CSI path tracing: the control flow of functions numbered after Ball and Larus, from the section
//! `.debug_PT` of a program, an object file or a text, and dumps of frames with the numbers of the
//! paths that they had run.

use super::input::{Input, Locator};
use super::{Format, Loaded, TableFormat, TraceError};
use crate::analysis::paths::{BlockKind, Function, Numbering, Path, Position};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::event::Carries;
use crate::image::unwind::Core;
use crate::image::{self, AddressSpace, FunctionRef, demangle};
use crate::load::{BuildError, FunctionNames, Load};
use duckdb::{Connection, params};
use frames::Frame;
use std::collections::{BTreeMap, BTreeSet};

mod core;
mod frames;
pub mod metadata;

/// Section with the descriptions.
const SECTION: &str = ".debug_PT";
/// Bytes of an input at most.
const LIMIT: usize = 1 << 30;
/// Blocks of executed paths that are written at most, of a hostile dump: a number stands for as
/// many as its function has.
const BLOCKS: usize = 1 << 24;
/// Frames of a stack at most: a runaway recursion.
const FRAMES: usize = 1 << 20;

const DAMAGED: &str = "copy or record it again; what could be read is in the database";

pub struct Csi;

impl Format for Csi {
    fn name(&self) -> &'static str {
        "csi"
    }
    fn about(&self) -> &'static str {
        "CSI path tracing: .debug_PT of a program, object file or text; dumps of frames with their path arrays; core files"
    }
    fn record(&self) -> &'static str {
        "csi-cc --trace=pt program.c; run it; addfg build core --elf program, or a dump of its frames by gdb (docs/csi.md)"
    }
    fn carries(&self) -> Carries {
        Carries { calls: true, paths: true, ..Carries::default() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        head.starts_with(b"\x7fELF") || metadata::sniff(head) || frames::sniff(head)
    }
    fn help(&self) -> &'static str {
        "Descriptions (.debug_PT), a line each:\n\
         \x20   #                            then the name of a function, then its blocks:\n\
         \x20   id|ENTRY|line|-1|line        -1: here the number of a finished path is stored; NULL: no lines; id|EXIT: the end\n\
         \x20   $                            then its edges:\n\
         \x20   a->b|increment$weight        ~> for an edge that ends a path and begins another: the numbers are those of the next path\n\
         Frames, innermost first, ? for what is missing:\n\
         \x20   ~~function:line:file:slot:{path, path, ...}:current:{calls}:{blocks}\n\
         An empty line, or one of something else, separates stacks. A core file (x86-64) gives them itself: its stacks are followed with\n\
         the unwinding tables of the files given with --elf, the arrays are found by their DWARF names.\n\
         The section is taken from the programs given with --elf, too. Numbers are checked: the paths of each block must be numbered\n\
         without gap, and what the program counts must come to the number of the path; a function where they do not is loaded without\n\
         its paths. `addfg paths` lists and draws what was run."
    }
}

/// What was read of one file.
enum Part {
    Descriptions(Vec<u8>),
    Frames(Vec<u8>),
    Core(Vec<core::Stack>),
}

/// A described function in the database.
struct Known {
    name: String,
    function_id: i32,
    function: Function,
    numbering: Option<Numbering>,
    first_block: i32,
    first_edge: i32,
    blocks_run: Vec<i64>,
    edges_run: Vec<i64>,
}

struct Build<'a, 'l, 's> {
    load: &'a mut Load<'l>,
    space: &'s AddressSpace,
    names: FunctionNames<'s>,
    known: Vec<Known>,
    frames: i32,
    calls: i32,
    paths: i32,
    instances: BTreeMap<i32, i32>,
    edges: BTreeMap<(Option<i32>, i32, &'static str), i64>,
    /// Described functions by each of their names.
    by_name: BTreeMap<String, Vec<usize>>,
    /// Blocks of paths that may still be written.
    budget: usize,
}

fn problem(
    severity: Severity,
    code: &'static str,
    message: String,
    position: String,
    remedy: &'static str,
) -> Diagnostic {
    Diagnostic { severity, code, message, position, remedy }
}

/// Symbols of the ELF files by each of their names.
fn symbols(space: &AddressSpace) -> BTreeMap<&str, Vec<FunctionRef>> {
    let mut found: BTreeMap<&str, Vec<FunctionRef>> = BTreeMap::new();
    for at in space.functions() {
        for name in &space.function(at).names {
            found.entry(name.as_str()).or_default().push(at);
        }
    }
    found
}

impl TableFormat for Csi {
    fn load(&self, inputs: Vec<Input>, load: &mut Load) -> Result<Loaded, BuildError> {
        let parts = parts(inputs, load)?;
        let space = load.space.clone();
        fill(parts, &space, load)
    }
}

/// Name, positions and contents of each file.
type Parts = Vec<(String, Option<Locator>, Part)>;

fn parts(inputs: Vec<Input>, load: &mut Load) -> Result<Parts, BuildError> {
    let mut parts: Parts = Vec::new();
    for input in inputs {
        let (name, locator) = (input.name().to_owned(), input.locator());
        let (chunk, damage) = input.whole(LIMIT)?;
        if let Some(damage) = damage {
            let damage = damage.into_damage()?;
            load.problem(damage)?;
        }
        if Core::is(&chunk) {
            if load.space.images().is_empty() {
                return Err(TraceError::Malformed {
                    name,
                    position: "byte 0".into(),
                    message: "a core file without the program that left it".into(),
                    remedy:
                        "give the program with --elf, and libraries whose functions called it back"
                            .into(),
                }
                .into());
            }
            let core = Core::parse(std::path::Path::new(&name), &chunk)?;
            load.place(|image| Some(core.bias(image)));
            let stacks = core::stacks(&core, &load.space);
            if stacks.is_empty() {
                return Err(TraceError::Malformed {
                    name,
                    position: "byte 0".into(),
                    message: "a core file without registers of a thread".into(),
                    remedy:
                        "it was cut off; gdb's generate-core-file writes one of a stopped program"
                            .into(),
                }
                .into());
            }
            parts.push((name, None, Part::Core(stacks)));
        } else if chunk.starts_with(b"\x7fELF") {
            let section = image::contents(std::path::Path::new(&name), &chunk, SECTION)?;
            let Some(section) = section else {
                return Err(TraceError::Malformed {
                    name,
                    position: "byte 0".into(),
                    message: format!("an ELF file without a section {SECTION}"),
                    remedy: "a program is given with --elf beside its trace; csi-cc --trace=pt makes one with that section"
                        .into(),
                }
                .into());
            };
            parts.push((format!("{name}({SECTION})"), None, Part::Descriptions(section)));
        } else if frames::sniff(&chunk) {
            parts.push((name, Some(locator), Part::Frames(chunk.to_vec())));
        } else {
            parts.push((name, Some(locator), Part::Descriptions(chunk.to_vec())));
        }
        load.progress(chunk.consumed)?;
    }
    // The programs' own sections, but not twice the same.
    for loaded in load.space.images() {
        if let Some(section) = loaded.image.contents(SECTION)
            && !parts
                .iter()
                .any(|(_, _, p)| matches!(p, Part::Descriptions(other) if *other == section))
        {
            parts.push((
                format!("{}({SECTION})", loaded.image.path.display()),
                None,
                Part::Descriptions(section),
            ));
        }
    }
    Ok(parts)
}

/// Fills the tables.
fn fill(parts: Parts, space: &AddressSpace, load: &mut Load) -> Result<Loaded, BuildError> {
    let names = FunctionNames::new(space);
    let (known, edges, instances) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let by_name = BTreeMap::new();
    let mut build = Build {
        load,
        space,
        names,
        known,
        frames: 0,
        calls: 0,
        paths: 0,
        instances,
        edges,
        by_name,
        budget: BLOCKS,
    };
    let mut described = Vec::new();
    let mut stacks = Vec::new();
    for (name, locator, part) in parts {
        let at = |offset| {
            locator.as_ref().map_or_else(|| format!("{name}: byte {offset}"), |l| l.at(offset))
        };
        match part {
            Part::Descriptions(text) => {
                let (found, damage) = metadata::parse(&text);
                if found.is_empty() {
                    return Err(TraceError::Malformed {
                        name: name.clone(),
                        position: "1".into(),
                        message: "no description of a function".into(),
                        remedy: "`addfg formats csi` describes them".into(),
                    }
                    .into());
                }
                for d in damage {
                    build.load.problem(problem(
                        Severity::Error,
                        d.code,
                        d.message,
                        at(d.offset),
                        DAMAGED,
                    ))?;
                }
                described.extend(found.into_iter().map(|d| (at(d.offset), d)));
            }
            Part::Core(threads) => {
                for (thread, stack) in threads.into_iter().enumerate() {
                    let place =
                        |depth: usize| format!("{name}: thread {} frame {depth}", thread + 1);
                    if let Some(lost) = stack.lost {
                        let message = format!(
                            "the stack of thread {} cannot be followed beyond {lost}",
                            thread + 1
                        );
                        let remedy = "give that library with --elf, too; what called it is missing";
                        let at = place(stack.frames.len().saturating_sub(1));
                        build.load.problem(problem(
                            Severity::Warning,
                            "stack-end",
                            message,
                            at,
                            remedy,
                        ))?;
                    }
                    let positions = (0..stack.frames.len()).map(place).collect();
                    stacks.push((stack.frames, positions));
                }
            }
            Part::Frames(text) => {
                let (found, damaged) = frames::parse(&text);
                for offset in damaged {
                    let message = "a line that begins like a frame and is none".into();
                    build.load.problem(problem(
                        Severity::Error,
                        "malformed-line",
                        message,
                        at(offset),
                        DAMAGED,
                    ))?;
                }
                for mut stack in found {
                    if stack.len() > FRAMES {
                        let message = format!(
                            "a stack of {} frames; the innermost {FRAMES} are kept",
                            stack.len()
                        );
                        build.load.problem(problem(
                            Severity::Error,
                            "long-stack",
                            message,
                            at(stack[0].offset),
                            "none",
                        ))?;
                        stack.truncate(FRAMES);
                    }
                    let positions: Vec<String> = stack.iter().map(|f| at(f.offset)).collect();
                    stacks.push((stack, positions));
                }
            }
        }
    }
    build.describe(described)?;
    build.frames(&stacks)?;
    build.finish()?;
    let carries = Carries { calls: !stacks.is_empty(), paths: true, ..Carries::default() };
    let (calls, functions) = (build.calls as u64, build.known.len());
    Ok(Loaded {
        carries,
        steps: 0,
        calls,
        functions,
        meta: vec![("path_functions", Some(functions.to_string()))],
    })
}

impl Build<'_, '_, '_> {
    /// Fills the tables of control flow.
    fn describe(
        &mut self,
        described: Vec<(String, metadata::Described)>,
    ) -> Result<(), BuildError> {
        let connection = self.load.connection;
        let symbols = symbols(self.space);
        let mut used = BTreeSet::new();
        let mut functions = connection.appender("path_function")?;
        let mut lines = connection.appender("path_block_line")?;
        let (mut blocks, mut edges) = (0, 0);
        for (position, d) in described {
            let least = d
                .function
                .blocks
                .iter()
                .flat_map(|b| &b.lines)
                .filter_map(|l| *l)
                .filter(|&l| l > 0)
                .min();
            // Of several static functions of a name the one that begins nearest above the first
            // line.
            let free =
                symbols.get(d.name.as_str()).into_iter().flatten().filter(|at| !used.contains(*at));
            let distance = |at: &FunctionRef| {
                let line = self.space.line(self.space.entry(*at)).map(|l| l.1);
                line.zip(least)
                    .and_then(|(line, least)| least.checked_sub(line))
                    .unwrap_or(u32::MAX)
            };
            let function_id = match free.min_by_key(|at| distance(at)) {
                Some(&at) => {
                    used.insert(at);
                    self.names.symbol(at).column()
                }
                None => self.names.another(&d.name).column(),
            };
            let numbering = match Numbering::of(&d.function) {
                Ok(numbering) => Some(numbering),
                Err(error) => {
                    let message = format!(
                        "{}: {error}; it is loaded without its paths",
                        d.name.escape_debug()
                    );
                    self.load.problem(problem(
                        Severity::Error,
                        "path-numbering",
                        message,
                        position.clone(),
                        DAMAGED,
                    ))?;
                    None
                }
            };
            let increments = numbering.as_ref().map(|n| n.increments);
            if increments == Some(false) {
                let message = format!(
                    "{}: its increments do not come to the numbers of its paths",
                    d.name.escape_debug()
                );
                let remedy = "finished paths are told; of those under way nothing is known";
                self.load.problem(problem(
                    Severity::Error,
                    "path-increments",
                    message,
                    position.clone(),
                    remedy,
                ))?;
            }
            functions.append_row(params![
                function_id,
                numbering.as_ref().map(Numbering::paths),
                increments,
                position
            ])?;
            for (i, block) in d.function.blocks.iter().enumerate() {
                for (at, line) in block.lines.iter().enumerate() {
                    lines.append_row(params![blocks + i as i32 + 1, at as i32, line])?;
                }
            }
            let known = Known {
                name: d.name,
                function_id,
                numbering,
                first_block: blocks + 1,
                first_edge: edges + 1,
                blocks_run: vec![0; d.function.blocks.len()],
                edges_run: vec![0; d.function.edges.len()],
                function: d.function,
            };
            blocks += known.function.blocks.len() as i32;
            edges += known.function.edges.len() as i32;
            // As in the symbol table, as people write it, and without parameters.
            let plain = demangle(&known.name);
            let bare = plain.split('(').next().unwrap_or_default().to_owned();
            for name in BTreeSet::from([known.name.clone(), plain, bare]) {
                self.by_name.entry(name).or_default().push(self.known.len());
            }
            self.known.push(known);
        }
        functions.flush()?;
        Ok(lines.flush()?)
    }

    /// The description of the function of a frame.
    fn find(&mut self, frame: &Frame, position: &str) -> Result<Option<usize>, BuildError> {
        let name = frame.function.as_str();
        let has_line = |k: &Known| {
            frame.line.is_some_and(|l| k.function.blocks.iter().any(|b| b.lines.contains(&Some(l))))
        };
        let mut found: Vec<usize> = self.by_name.get(name).cloned().unwrap_or_default();
        if found.len() > 1 && found.iter().any(|&i| has_line(&self.known[i])) {
            found.retain(|&i| has_line(&self.known[i]));
        }
        if found.len() > 1 {
            let message = format!(
                "{} functions are named {} and have this line; the first is taken",
                found.len(),
                name.escape_debug()
            );
            let remedy = "give each static function a name of its own, or a dump with lines";
            self.load.problem(problem(
                Severity::Warning,
                "ambiguous-function",
                message,
                position.to_owned(),
                remedy,
            ))?;
        }
        Ok(found.first().copied())
    }

    fn frames(&mut self, stacks: &[(Vec<Frame>, Vec<String>)]) -> Result<(), BuildError> {
        let connection = self.load.connection;
        connection.execute_batch("INSERT INTO process VALUES (1, NULL, NULL)")?;
        let mut threads = connection.appender("thread")?;
        let mut calls = connection.appender("function_call")?;
        let mut rows = connection.appender("path_frame")?;
        let mut paths = connection.appender("executed_path")?;
        let mut path_blocks = connection.appender("executed_path_block")?;
        let symbols = symbols(self.space);
        for (thread, (stack, positions)) in stacks.iter().enumerate() {
            let thread = thread as i32 + 1;
            threads.append_row(params![thread, 1, None::<i64>, None::<i64>])?;
            let mut parent: Option<(i32, i32)> = None;
            for (depth, (frame, position)) in
                stack.iter().rev().zip(positions.iter().rev()).enumerate()
            {
                let known = self.find(frame, position)?;
                let function_id = match known {
                    Some(known) => self.known[known].function_id,
                    None => match symbols.get(frame.function.as_str()).map(Vec::as_slice) {
                        Some([one]) => self.names.symbol(*one).column(),
                        _ => self.names.named(&frame.function, frame.file.as_deref()).column(),
                    },
                };
                let instance = self.instances.entry(function_id).or_default();
                *instance += 1;
                self.calls += 1;
                let kind = if parent.is_some() { "call" } else { "root" };
                *self.edges.entry((parent.map(|p| p.1), function_id, kind)).or_default() += 1;
                let (none, no_time) = (None::<i64>, None::<u64>);
                calls.append_row(params![
                    self.calls,
                    function_id,
                    *instance,
                    parent.map(|p| p.0),
                    None::<i32>,
                    thread,
                    depth as i32,
                    kind,
                    "open",
                    none,
                    none,
                    no_time,
                    no_time,
                    None::<i32>,
                    none,
                    none,
                    none
                ])?;
                parent = Some((self.calls, function_id));
                self.frames += 1;
                let history = frame.history();
                let file = frame.file.as_deref().map(|f| self.load.files.id(f));
                rows.append_row(params![
                    self.frames,
                    self.calls,
                    function_id,
                    file,
                    frame.line,
                    frame.slots.as_ref().map(|s| s.len() as i32),
                    frame.next_slot,
                    history.as_ref().map(|h| h.1),
                    frame.current,
                    frame.calls,
                    frame.blocks
                ])?;
                if frame.slots.is_some() && history.is_none() {
                    let message = format!(
                        "slot {} is none of the path array",
                        frame.next_slot.map_or("?".into(), |n| n.to_string())
                    );
                    self.load.problem(problem(
                        Severity::Error,
                        "path-slot",
                        message,
                        position.clone(),
                        DAMAGED,
                    ))?;
                }
                if let (Some(known), Some((numbers, wrapped))) = (known, history) {
                    self.executed(
                        known,
                        frame,
                        numbers,
                        wrapped,
                        position,
                        &mut paths,
                        &mut path_blocks,
                    )?;
                }
            }
        }
        threads.flush()?;
        calls.flush()?;
        rows.flush()?;
        paths.flush()?;
        path_blocks.flush()?;
        if self.frames > 0 && self.known.is_empty() {
            let message =
                "frames without descriptions of their functions: paths are numbers only".into();
            let remedy = "give the program with --elf, or its section .debug_PT beside the dump";
            self.load.problem(problem(
                Severity::Error,
                "no-descriptions",
                message,
                String::new(),
                remedy,
            ))?;
        }
        Ok(())
    }

    /// The paths of a frame.
    #[allow(clippy::too_many_arguments)]
    fn executed(
        &mut self,
        known: usize,
        frame: &Frame,
        numbers: Vec<i64>,
        wrapped: bool,
        position: &str,
        paths: &mut duckdb::Appender,
        blocks: &mut duckdb::Appender,
    ) -> Result<(), BuildError> {
        let frame_id = self.frames;
        let mut damage = Diagnostics::default();
        let mut say = |severity, code, message, remedy| {
            damage.add(problem(severity, code, message, position.to_owned(), remedy))
        };
        let k = &mut self.known[known];
        let (first_block, first_edge) = (k.first_block, k.first_edge);
        let edge_id = |e: Option<usize>| e.map(|e| first_edge + e as i32);
        let mut id = self.paths;
        let mut add = |ordinal: usize,
                       state: &str,
                       alternatives: usize,
                       number: i64,
                       path: Option<&Path>,
                       list: &[usize]| {
            id += 1;
            let end = path.and_then(|p| match p.end {
                crate::analysis::paths::End::Edge(e) => Some(e),
                _ => None,
            });
            let at_exit = path.map(|p| p.end == crate::analysis::paths::End::Exit);
            let begin = edge_id(path.and_then(|p| p.begin));
            let (ordinal, alternatives) = (ordinal as i32, alternatives as i32);
            paths.append_row(params![
                id,
                frame_id,
                ordinal,
                state,
                alternatives,
                number,
                begin,
                edge_id(end),
                at_exit
            ])?;
            for (at, &b) in list.iter().enumerate() {
                blocks.append_row(params![id, at as i32, first_block + b as i32])?;
            }
            Ok::<(), duckdb::Error>(())
        };
        let Some(numbering) = &k.numbering else {
            for (i, &number) in numbers.iter().enumerate() {
                add(i + 1, "finished", 1, number, None, &[])?;
            }
            self.paths = id;
            return Ok(());
        };
        let function = &k.function;
        // Whether a path can follow what ran before it.
        let follows = |path: &Path, before: Option<&Path>, begun: bool| match (
            path.begin,
            before.map(|b| (b.end, b.blocks.last())),
        ) {
            (None, None) => begun,
            (Some(_), None) => !begun,
            (Some(e), Some((crate::analysis::paths::End::Edge(_), Some(&last)))) => {
                function.edges[e].source == last
            }
            _ => false,
        };
        let mut last: Option<Path> = None;
        let mut sure = true;
        for (i, &number) in numbers.iter().enumerate() {
            let path = u64::try_from(number).ok().and_then(|n| numbering.path(function, n));
            let Some(path) = path else {
                let message = format!(
                    "{} has no path {number}; its paths are 0 to {}",
                    k.name.escape_debug(),
                    numbering.paths() - 1
                );
                let remedy = "give the program that was dumped; the number is in the database";
                say(Severity::Error, "path-number", message, remedy);
                add(i + 1, "finished", 1, number, None, &[])?;
                (last, sure) = (None, false);
                continue;
            };
            if sure && !follows(&path, last.as_ref(), !wrapped) {
                let message = format!(
                    "path {number} of {} cannot follow what is recorded before it",
                    k.name.escape_debug()
                );
                let remedy =
                    "give the program that was dumped; the paths are in the database as they are";
                say(Severity::Warning, "path-order", message, remedy);
            }
            let list = if path.blocks.len() <= self.budget { path.blocks.as_slice() } else { &[] };
            self.budget -= list.len();
            if list.is_empty() {
                let message = format!(
                    "the paths have more than {BLOCKS} blocks: further ones are numbers only"
                );
                say(Severity::Error, "path-budget", message, "dump fewer frames");
            }
            add(i + 1, "finished", 1, number, Some(&path), list)?;
            path.blocks.iter().for_each(|&b| k.blocks_run[b] += 1);
            path.edges.iter().chain(&path.begin).for_each(|&e| k.edges_run[e] += 1);
            if path.end == crate::analysis::paths::End::Exit
                && let Some(exit) = function.blocks.iter().position(|b| b.kind == BlockKind::Exit)
            {
                k.blocks_run[exit] += 1;
            }
            (last, sure) = (Some(path), true);
        }
        if let (Some(line), Some(Ok(counted))) = (frame.line, frame.current.map(u64::try_from)) {
            let mut found = numbering.positions(function, line, counted, last.as_ref());
            let fits = |p: &Position| match p {
                Position::Open(path) => !sure || follows(path, last.as_ref(), !wrapped),
                Position::Finished(_) => true,
            };
            if found.iter().any(fits) {
                found.retain(fits);
            } else if !found.is_empty() {
                let message = format!(
                    "the path under way of {} cannot follow the last one recorded",
                    k.name.escape_debug()
                );
                let remedy =
                    "give the program that was dumped; the paths are in the database as they are";
                say(Severity::Warning, "path-order", message, remedy);
            }
            let count = found.len();
            if count == 0 && numbering.increments {
                let message = format!(
                    "no path of {} is at line {line} with {counted} counted",
                    k.name.escape_debug()
                );
                let remedy = "a line that no block lists, or code that was moved: build with less optimisation";
                say(Severity::Info, "path-position", message, remedy);
            }
            for position in &found {
                match position {
                    Position::Open(path) => add(
                        numbers.len() + 1,
                        "open",
                        count,
                        counted as i64,
                        Some(path),
                        &path.blocks,
                    )?,
                    Position::Finished(at) => {
                        let block = last.as_ref().and_then(|p| p.blocks.get(*at)).copied();
                        add(
                            numbers.len() + 1,
                            "behind",
                            count,
                            counted as i64,
                            None,
                            block.as_slice(),
                        )?;
                    }
                }
            }
            if let [Position::Open(path)] = &found[..] {
                path.blocks.iter().for_each(|&b| k.blocks_run[b] += 1);
                path.edges.iter().chain(&path.begin).for_each(|&e| k.edges_run[e] += 1);
            }
        }
        self.paths = id;
        self.load.all_problems(&damage)
    }

    fn finish(&mut self) -> Result<(), BuildError> {
        let connection: &Connection = self.load.connection;
        let ran = self.frames > 0;
        let mut blocks = connection.appender("path_block")?;
        let mut edges = connection.appender("path_edge")?;
        for k in &self.known {
            for (i, block) in k.function.blocks.iter().enumerate() {
                let kind = match block.kind {
                    BlockKind::Entry => "entry",
                    BlockKind::Exit => "exit",
                    BlockKind::Plain => "block",
                };
                let executions = ran.then_some(k.blocks_run[i]);
                blocks.append_row(params![
                    k.first_block + i as i32,
                    k.function_id,
                    block.number,
                    kind,
                    executions
                ])?;
            }
            for (i, edge) in k.function.edges.iter().enumerate() {
                let weight = k.numbering.as_ref().and_then(|n| n.weight(&k.function, i));
                let end = k
                    .numbering
                    .as_ref()
                    .filter(|_| edge.restarts)
                    .and_then(|n| n.end(&k.function, i));
                edges.append_row(params![
                    k.first_edge + i as i32,
                    k.function_id,
                    k.first_block + edge.source as i32,
                    k.first_block + edge.target as i32,
                    edge.restarts,
                    edge.increment,
                    edge.weight,
                    weight,
                    end.map(|e| e.0),
                    end.and_then(|e| e.1),
                    ran.then_some(k.edges_run[i])
                ])?;
            }
        }
        blocks.flush()?;
        edges.flush()?;
        let none = None::<i64>;
        let mut table = connection.appender("call_edge")?;
        for ((caller, callee, kind), calls) in &self.edges {
            table.append_row(params![caller, callee, kind, calls, none])?;
        }
        table.flush()?;
        let mut table = connection.appender("function_profile")?;
        for (function, calls) in &self.instances {
            table.append_row(params![function, i64::from(*calls), none, none, none, none])?;
        }
        table.flush()?;
        self.names.write(connection, &mut self.load.files)?;
        // What all formats with static control flow have.
        for (table, sql) in [
            ("basic_block", include_str!("../../../queries/derive/middle/path_basic_block.sql")),
            ("cfg_edge", include_str!("../../../queries/derive/middle/path_cfg_edge.sql")),
        ] {
            connection.execute_batch(&format!("INSERT INTO {table} {sql}"))?;
        }
        Ok(())
    }
}
