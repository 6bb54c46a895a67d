//! Functions by address, as the pass asks for them.

use crate::analysis::CodeMap;
use crate::image::{AddressSpace, FunctionKind, FunctionRef};
use rustc_hash::{FxHashMap, FxHashSet};

/// A row of `function_symbol` whose number is its id - 1.
pub enum FunctionRow {
    Symbol(FunctionRef),
    Unknown(Option<usize>),
    KernelHelper,
}

/// Functions by address, numbered in order of first execution.
pub struct Functions<'a> {
    space: &'a AddressSpace,
    kernel_helpers: bool,
    ids: FxHashMap<FunctionRef, u32>,
    unknown: FxHashMap<Option<usize>, u32>,
    helper: u32,
    pub rows: Vec<FunctionRow>,
    stub: Vec<bool>,
    /// Copying functions that keep producers, as symbols and by id.
    through: FxHashSet<FunctionRef>,
    is_through: Vec<bool>,
}

impl<'a> Functions<'a> {
    pub fn new(
        space: &'a AddressSpace,
        kernel_helpers: bool,
        through: FxHashSet<FunctionRef>,
    ) -> Self {
        Functions {
            space,
            kernel_helpers,
            ids: FxHashMap::default(),
            unknown: FxHashMap::default(),
            helper: 0,
            rows: Vec::new(),
            stub: vec![false],
            through,
            is_through: vec![false],
        }
    }
    fn add(&mut self, row: FunctionRow, stub: bool) -> u32 {
        self.is_through.push(matches!(&row, FunctionRow::Symbol(at) if self.through.contains(at)));
        self.rows.push(row);
        self.stub.push(stub);
        self.rows.len() as u32
    }
}

impl CodeMap for Functions<'_> {
    fn function_at(&mut self, address: u64) -> u32 {
        if let Some(at) = self.space.function_at(address) {
            if let Some(&id) = self.ids.get(&at) {
                return id;
            }
            let stub = self.space.function(at).kind == FunctionKind::Stub;
            let id = self.add(FunctionRow::Symbol(at), stub);
            self.ids.insert(at, id);
            return id;
        }
        if self.kernel_helpers && (0xffff_0f00..=0xffff_ffff).contains(&address) {
            if self.helper == 0 {
                self.helper = self.add(FunctionRow::KernelHelper, false);
            }
            return self.helper;
        }
        let image = self.space.image_at(address);
        if let Some(&id) = self.unknown.get(&image) {
            return id;
        }
        let id = self.add(FunctionRow::Unknown(image), false);
        self.unknown.insert(image, id);
        id
    }
    fn is_stub(&self, function: u32) -> bool {
        self.stub[function as usize]
    }
    fn is_through(&self, function: u32) -> bool {
        self.is_through[function as usize]
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
