//! The functions of an XRay log: numbers of the instrumentation map.

use crate::diagnostics::{Diagnostic, Severity};
use crate::id::FunctionId;
use crate::image::AddressSpace;
use crate::load::{BuildError, FunctionNames, Load};
use crate::store::table;
use crate::store::tables::TraceFunction;
use rustc_hash::FxHashMap;

/// An image with an instrumentation map.
struct Map {
    image: usize,
    /// Run-time addresses of the functions, by number - 1.
    functions: Vec<u64>,
}

/// Functions by their numbers in the log, in order of first appearance.
pub struct Functions<'a> {
    space: &'a AddressSpace,
    maps: Vec<Map>,
    names: FunctionNames,
    /// Ids of small numbers, None: not met yet.
    low: Vec<Option<FunctionId>>,
    high: FxHashMap<u32, FunctionId>,
    numbers: Vec<TraceFunction>,
    /// Functions that are in no map.
    unmapped: u64,
    /// Of them those whose number is one of the program, not of a library.
    outside: u64,
}

/// Numbers below are looked up without hashing.
const LOW: u32 = 1 << 16;

/// Functions of shared libraries have the library's number in the bits from this one on.
const LIBRARY: u32 = 24;

impl<'a> Functions<'a> {
    pub fn new(space: &'a AddressSpace) -> Functions<'a> {
        let maps = space.images().iter().enumerate().map(|(image, l)| {
            let addresses = l.image.xray_functions();
            Map { image, functions: addresses.iter().map(|a| a.wrapping_add(l.bias)).collect() }
        });
        Functions {
            space,
            maps: maps.filter(|map| !map.functions.is_empty()).collect(),
            names: FunctionNames::default(),
            low: Vec::new(),
            high: FxHashMap::default(),
            numbers: Vec::new(),
            unmapped: 0,
            outside: 0,
        }
    }

    /// The function with a number in the log.
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
        let id = match self.mapped(number) {
            Some((image, address)) => match self.space.function_at(address) {
                // The map may name a function more than once.
                Some(at) => self.names.symbol(at),
                None => self.names.place(image, address),
            },
            None => {
                self.unmapped += 1;
                self.outside += u64::from(number >> LIBRARY == 0);
                self.names.number(number)
            }
        };
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

    /// Image and run-time address of a number.
    fn mapped(&self, number: u32) -> Option<(usize, u64)> {
        let of = |map: u32, number: u32| {
            let map = self.maps.get(map as usize)?;
            Some((map.image, *map.functions.get(number.checked_sub(1)? as usize)?))
        };
        let library = number >> LIBRARY;
        of(0, number).or_else(|| of(library, number & ((1 << LIBRARY) - 1)).filter(|_| library > 0))
    }

    /// Fills `function_symbol`, `function_name` and `trace_function`; gives how many were met.
    pub fn write(&self, load: &mut Load) -> Result<usize, BuildError> {
        self.names.write(self.space, load.connection, &mut load.files)?;
        table::fill(load.connection, self.numbers.iter().copied())?;
        if self.maps.is_empty() && !self.names.is_empty() {
            let (message, remedy) = if self.space.images().is_empty() {
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
        } else if self.unmapped > 0 {
            let all = self.numbers.iter().filter(|f| f.number >> LIBRARY == 0).count() as u64;
            let outside = self.outside;
            load.compare_elf(outside, all, || {
                format!("{outside} of {all} functions that ran are not in the program's instrumentation map")
            })?;
            let message = format!(
                "{} functions of the log are not in the program's instrumentation map",
                self.unmapped
            );
            let remedy = "give the program and libraries that were recorded with --elf";
            load.problem(warning("xray-unknown-function", message, remedy))?;
        }
        Ok(self.names.len())
    }
}

/// A problem of the whole log.
pub fn warning(code: &'static str, message: String, remedy: &'static str) -> Diagnostic {
    Diagnostic { severity: Severity::Warning, code, message, position: String::new(), remedy }
}
