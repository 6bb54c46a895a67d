//! Functions by address, as the pass asks for them.

use super::BuildError;
use super::names::FunctionNames;
use crate::analysis::CodeMap;
use crate::id::FunctionId;
use crate::image::{AddressSpace, FunctionKind, FunctionRef};
use crate::store::run_code::FunctionTraits;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::rc::Rc;

/// Where Linux puts helpers into every process of an ARM.
const KERNEL_HELPERS: std::ops::RangeInclusive<u64> = 0xffff_0f00..=0xffff_ffff;

/// The images of the process, which may become more while the trace is read.
pub type Space = Rc<RefCell<AddressSpace>>;

/// Functions by address, numbered in order of first execution.
pub struct Functions {
    pub names: FunctionNames,
    pub space: Space,
    kernel_helpers: bool,
    pub through: Named,
    /// By id.
    traits: Vec<FunctionTraits>,
}

impl Functions {
    pub fn new(space: Space, kernel_helpers: bool, through: Named) -> Self {
        let names = FunctionNames::default();
        Functions { names, space, kernel_helpers, through, traits: Vec::new() }
    }

    /// What the pass asked of each function, by id.
    pub fn traits(&self) -> Vec<FunctionTraits> {
        self.traits.clone()
    }
}

impl CodeMap for Functions {
    fn function_at(&mut self, address: u64) -> FunctionId {
        let space = self.space.borrow();
        let mut kind = FunctionTraits { stub: false, through: false, entry: None };
        let id = if let Some(at) = space.function_at(address) {
            kind.stub = space.function(at).kind == FunctionKind::Stub;
            kind.entry = Some(space.entry(at));
            kind.through = self.through.functions.contains(&at);
            self.names.symbol(at)
        } else if self.kernel_helpers && KERNEL_HELPERS.contains(&address) {
            self.names.kernel_helper()
        } else {
            self.names.unknown(space.image_at(address))
        };
        if id.index() == self.traits.len() {
            self.traits.push(kind);
        }
        id
    }
    fn entry(&self, function: FunctionId) -> Option<u64> {
        self.traits[function.index()].entry
    }
    fn is_stub(&self, function: FunctionId) -> bool {
        self.traits[function.index()].stub
    }
    fn is_through(&self, function: FunctionId) -> bool {
        self.traits[function.index()].through
    }
    /// A build goes through all of the run.
    fn is_kept(&self, _: FunctionId) -> bool {
        true
    }
}

/// The functions that the names of an option mean: by any of their names, and glibc's variants of a
/// name (`__memcpy_avx_unaligned` of `memcpy`).
#[derive(Default)]
pub struct Named {
    option: &'static str,
    /// Names that no image had a function for.
    missing: Vec<String>,
    wanted: Vec<String>,
    functions: FxHashSet<FunctionRef>,
}

impl Named {
    pub fn new(option: &'static str, names: &[String]) -> Named {
        let functions = FxHashSet::default();
        Named { option, missing: names.to_vec(), wanted: names.to_vec(), functions }
    }

    /// Looks among the functions of the images from this one on.
    pub fn look(&mut self, space: &AddressSpace, first_image: usize) {
        for name in &self.wanted {
            let before = self.functions.len();
            let variant = format!("__{name}_");
            let new = space.functions().filter(|at| at.image >= first_image);
            self.functions.extend(new.filter(|&at| {
                let all = &space.function(at).names;
                space.display_name(at) == name
                    || all.iter().any(|n| n == name || n.starts_with(&variant))
            }));
            if self.functions.len() > before {
                self.missing.retain(|missing| missing != name);
            }
        }
    }

    /// An error if a name meant none.
    pub fn check(&self) -> Result<(), BuildError> {
        let missing = |name: &String| BuildError::NoFunction(self.option, name.clone());
        self.missing.first().map_or(Ok(()), |name| Err(missing(name)))
    }
}
