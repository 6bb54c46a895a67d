//! The functions of an XRay log: numbers of the instrumentation map.

use crate::diagnostics::{Diagnostic, Severity};
use crate::id::FunctionId;
use crate::image::{AddressSpace, FunctionKind, FunctionRef};
use crate::load::{BuildError, Load};
use crate::store::table;
use crate::store::tables::TraceFunction;
use duckdb::params;
use rustc_hash::FxHashMap;

/// What an entry in the instrumentation map is.
enum Target {
    Symbol(FunctionRef),
    /// Run-time address outside of every symbol.
    Address(usize, u64),
    /// Not in the map.
    Number(u32),
}

/// Functions by their numbers in the log, in order of first appearance.
pub struct Names<'a> {
    space: &'a AddressSpace,
    /// Images with an instrumentation map: run-time addresses of the functions, by number - 1.
    maps: Vec<(usize, Vec<u64>)>,
    /// Ids of small numbers, None: not met yet.
    low: Vec<Option<FunctionId>>,
    high: FxHashMap<u32, FunctionId>,
    by_symbol: FxHashMap<FunctionRef, FunctionId>,
    targets: Vec<Target>,
    numbers: Vec<TraceFunction>,
}

/// Numbers below are looked up without hashing.
const LOW: u32 = 1 << 16;

impl<'a> Names<'a> {
    pub fn new(space: &'a AddressSpace) -> Names<'a> {
        let images = space.images().iter().enumerate();
        let maps = images.map(|(i, l)| {
            (
                i,
                l.image
                    .xray_functions()
                    .iter()
                    .map(|a| a.wrapping_add(l.bias))
                    .collect::<Vec<u64>>(),
            )
        });
        Names {
            space,
            maps: maps.filter(|(_, functions)| !functions.is_empty()).collect(),
            low: Vec::new(),
            high: FxHashMap::default(),
            by_symbol: FxHashMap::default(),
            targets: Vec::new(),
            numbers: Vec::new(),
        }
    }

    #[inline]
    pub fn id(&mut self, number: u32) -> FunctionId {
        let known = if number < LOW {
            self.low.get(number as usize).copied().flatten()
        } else {
            self.high.get(&number).copied()
        };
        known.unwrap_or_else(|| self.meet(number))
    }

    fn meet(&mut self, number: u32) -> FunctionId {
        let target = self.target(number);
        let next = FunctionId::at(self.targets.len());
        let id = match target {
            // The map may name a function more than once.
            Target::Symbol(at) => *self.by_symbol.entry(at).or_insert(next),
            _ => next,
        };
        if id == next {
            self.targets.push(target);
        }
        self.numbers.push(TraceFunction { function_id: id, number });
        if number < LOW {
            if self.low.len() <= number as usize {
                self.low.resize(number as usize + 1, None);
            }
            self.low[number as usize] = Some(id);
        } else {
            self.high.insert(number, id);
        }
        id
    }

    fn target(&self, number: u32) -> Target {
        let of = |map: usize, number: u32| {
            let (image, functions) = self.maps.get(map)?;
            Some((*image, *functions.get(number.checked_sub(1)? as usize)?))
        };
        // Functions of shared libraries have the library's number in the bits from 24 on.
        match of(0, number).or_else(|| {
            of((number >> 24) as usize, number & 0xff_ffff).filter(|_| number >> 24 > 0)
        }) {
            Some((image, address)) => match self.space.function_at(address) {
                Some(at) => Target::Symbol(at),
                None => Target::Address(image, address),
            },
            None => Target::Number(number),
        }
    }

    /// Fills `function_symbol`, `function_name` and `trace_function`.
    pub fn write(&self, load: &mut Load) -> Result<usize, BuildError> {
        let space = self.space;
        let connection = load.connection;
        let mut table = connection.appender("function_symbol")?;
        let mut names = connection.appender("function_name")?;
        let rest =
            space.functions().filter(|at| !self.by_symbol.contains_key(at)).map(Target::Symbol);
        let rest: Vec<Target> = rest.collect();
        let mut unknown = 0;
        for (i, target) in self.targets.iter().chain(&rest).enumerate() {
            let id = i as i32 + 1;
            match *target {
                Target::Symbol(at) => {
                    let f = space.function(at);
                    let size: u64 = f.ranges.iter().map(|(a, b)| b - a).sum();
                    let kind = if f.kind == FunctionKind::Stub { "stub" } else { "function" };
                    let file = f.file.as_deref().map(|f| load.files.id(f));
                    let (name, image) = (space.display_name(at), at.image as i32 + 1);
                    table.append_row(params![
                        id,
                        name,
                        f.names.first(),
                        kind,
                        image,
                        file,
                        space.entry(at),
                        size
                    ])?;
                    for name in &f.names {
                        names.append_row(params![id, name])?;
                    }
                }
                Target::Address(image, address) => {
                    let path = &space.images()[image].image.path;
                    let base = path.file_name().map_or_else(
                        || path.display().to_string(),
                        |n| n.to_string_lossy().into_owned(),
                    );
                    let name = format!("<unknown {base} @{address:#x}>");
                    let none = None::<String>;
                    table.append_row(params![
                        id,
                        name,
                        none,
                        "unknown",
                        image as i32 + 1,
                        None::<i32>,
                        address,
                        None::<u64>
                    ])?;
                }
                Target::Number(number) => {
                    unknown += 1;
                    let name = format!("<function {number}>");
                    let none = None::<String>;
                    table.append_row(params![
                        id,
                        name,
                        none,
                        "unknown",
                        None::<i32>,
                        None::<i32>,
                        None::<u64>,
                        None::<u64>
                    ])?;
                }
            }
        }
        table.flush()?;
        names.flush()?;
        table::fill(connection, self.numbers.iter().copied())?;
        if self.maps.is_empty() && !self.targets.is_empty() {
            let (message, remedy) = if space.images().is_empty() {
                (
                    "functions have numbers only: no program was given",
                    "give the program that was recorded with --elf",
                )
            } else {
                (
                    "functions have numbers only: the program has no XRay instrumentation map",
                    "give the program as it was recorded, compiled with -fxray-instrument, not stripped of section xray_instr_map",
                )
            };
            load.problem(warning("xray-no-map", message.into(), remedy))?;
        } else if unknown > 0 {
            let message = format!(
                "{unknown} functions of the log are not in the program's instrumentation map"
            );
            load.problem(warning(
                "xray-unknown-function",
                message,
                "give the program and libraries that were recorded with --elf",
            ))?;
        }
        Ok(self.targets.len())
    }
}

/// A problem of the whole log.
pub fn warning(code: &'static str, message: String, remedy: &'static str) -> Diagnostic {
    Diagnostic { severity: Severity::Warning, code, message, position: String::new(), remedy }
}
