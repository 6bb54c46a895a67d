//! `function_symbol` and `function_name`: the one place that writes them.

use super::dictionary::Files;
use crate::id::{FunctionId, ImageId};
use crate::image::{AddressSpace, FunctionKind, FunctionRef, Owner};
use crate::store::StoreError;
use crate::store::table::Table;
use crate::store::tables::{FunctionName, FunctionNameRows, FunctionSymbol, FunctionSymbols};
use duckdb::Connection;
use std::borrow::Cow;

/// What a function is; the word in `function_symbol.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    Function,
    /// PLT stub, veneer, IFUNC resolver.
    Stub,
    /// Code outside every symbol.
    Unknown,
    /// Code that the kernel puts into a process.
    KernelHelper,
    /// Wrote bytes that no step wrote.
    Pseudo,
}

impl SymbolKind {
    pub fn name(self) -> &'static str {
        match self {
            SymbolKind::Function => "function",
            SymbolKind::Stub => "stub",
            SymbolKind::Unknown => "unknown",
            SymbolKind::KernelHelper => "kernel helper",
            SymbolKind::Pseudo => "pseudo",
        }
    }
}

/// A function to be listed.
pub struct Symbol<'a> {
    /// The name under which it is shown: no other function's.
    pub shown: Cow<'a, str>,
    pub kind: SymbolKind,
    /// Its names in the symbol table, or in the trace; the first is the usual one.
    pub names: Vec<&'a str>,
    pub image: Option<ImageId>,
    /// Source file.
    pub file: Option<&'a str>,
    /// Whose code it is; None: nobody's, as that of a pseudo-function.
    pub owner: Option<Owner>,
    /// Run-time address of its entry.
    pub address: Option<u64>,
    /// Bytes.
    pub size: Option<u64>,
}

impl<'a> Symbol<'a> {
    /// A function of an ELF file.
    pub fn of(space: &'a AddressSpace, at: FunctionRef) -> Symbol<'a> {
        let f = space.function(at);
        let stub = f.kind == FunctionKind::Stub;
        Symbol {
            shown: space.display_name(at).into(),
            kind: if stub { SymbolKind::Stub } else { SymbolKind::Function },
            names: f.names.iter().map(String::as_str).collect(),
            image: Some(ImageId::at(at.image)),
            file: f.file.as_deref(),
            owner: Some(space.owner(at)),
            address: Some(space.entry(at)),
            size: Some(f.ranges.iter().map(|(first, end)| end - first).sum()),
        }
    }

    /// A function of which there is but what it is called.
    pub fn made_up(shown: impl Into<Cow<'a, str>>, kind: SymbolKind) -> Symbol<'a> {
        Symbol {
            shown: shown.into(),
            kind,
            names: Vec::new(),
            image: None,
            file: None,
            owner: matches!(kind, SymbolKind::Function | SymbolKind::Unknown)
                .then_some(Owner::Program),
            address: None,
            size: None,
        }
    }
}

/// Lists functions with ids in their order, from 1. Gives whose code each is.
pub fn write<'a>(
    connection: &Connection,
    files: &mut Files,
    symbols: impl IntoIterator<Item = Symbol<'a>>,
) -> Result<Vec<Option<Owner>>, StoreError> {
    let mut table = Table::<FunctionSymbols>::new(connection);
    let mut names = Table::<FunctionNameRows>::new(connection);
    let mut owners = Vec::new();
    for symbol in symbols {
        let function_id = FunctionId::at(owners.len());
        owners.push(symbol.owner);
        table.push(FunctionSymbol {
            function_id,
            name: &symbol.shown,
            symbol: symbol.names.first().copied(),
            kind: symbol.kind.name(),
            image_id: symbol.image,
            file_id: symbol.file.map(|f| files.id(f)),
            address: symbol.address,
            size: symbol.size,
            owner: symbol.owner.map(Owner::name),
        })?;
        symbol.names.iter().try_for_each(|name| names.push(FunctionName { function_id, name }))?;
    }
    table.finish()?;
    names.finish()?;
    Ok(owners)
}
