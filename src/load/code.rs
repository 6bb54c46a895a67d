//! Functions by address, as the pass asks for them.

use super::names::FunctionNames;
use crate::analysis::CodeMap;
use crate::id::FunctionId;
use crate::image::{AddressSpace, FunctionKind, FunctionRef};
use rustc_hash::FxHashSet;

/// Where Linux puts helpers into every process of an ARM.
const KERNEL_HELPERS: std::ops::RangeInclusive<u64> = 0xffff_0f00..=0xffff_ffff;

/// What the pass asks of a function.
#[derive(Clone, Copy)]
struct Trait {
    stub: bool,
    /// It copies: bytes keep their producers.
    through: bool,
}

/// Functions by address, numbered in order of first execution.
pub struct Functions<'a> {
    pub names: FunctionNames<'a>,
    kernel_helpers: bool,
    /// Copying functions that keep producers.
    through: FxHashSet<FunctionRef>,
    traits: Vec<Trait>,
}

impl<'a> Functions<'a> {
    pub fn new(
        space: &'a AddressSpace,
        kernel_helpers: bool,
        through: FxHashSet<FunctionRef>,
    ) -> Self {
        let names = FunctionNames::new(space);
        Functions { names, kernel_helpers, through, traits: Vec::new() }
    }
}

impl CodeMap for Functions<'_> {
    fn function_at(&mut self, address: u64) -> FunctionId {
        let space = self.names.space();
        let mut kind = Trait { stub: false, through: false };
        let id = if let Some(at) = space.function_at(address) {
            kind.stub = space.function(at).kind == FunctionKind::Stub;
            kind.through = self.through.contains(&at);
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
    fn is_stub(&self, function: FunctionId) -> bool {
        self.traits[function.index()].stub
    }
    fn is_through(&self, function: FunctionId) -> bool {
        self.traits[function.index()].through
    }
}

/// The functions that the names of `--through` mean: by any of their names, and glibc's variants of
/// a name (`__memcpy_avx_unaligned` of `memcpy`). The name that means none is the error.
pub fn through(space: &AddressSpace, names: &[String]) -> Result<FxHashSet<FunctionRef>, String> {
    let mut found = FxHashSet::default();
    for name in names {
        let before = found.len();
        let variant = format!("__{name}_");
        found.extend(space.functions().filter(|&at| {
            let all = &space.function(at).names;
            space.display_name(at) == name
                || all.iter().any(|n| n == name || n.starts_with(&variant))
        }));
        if found.len() == before {
            return Err(name.clone());
        }
    }
    Ok(found)
}
