//! Variables: data symbols of the ELF merged with what DWARF says of globals and statics.

use super::Variable;
use super::elf::{ElfFile, Symbol, lossy};
use super::functions::demangle;
use goblin::elf::section_header::SHF_TLS;
use goblin::elf::sym::STT_OBJECT;
use std::collections::BTreeMap;

/// Variables at static addresses, sorted by address, one for each address. Thread-local ones have
/// no static address.
pub(super) fn variables(
    file: &ElfFile,
    symbols: &[Symbol],
    described: Vec<Variable>,
) -> Vec<Variable> {
    let in_data = |address: u64| {
        file.section_at(address)
            .is_some_and(|i| file.sections[i].sh_flags & u64::from(SHF_TLS) == 0)
    };
    let mut found: BTreeMap<u64, (Option<Symbol>, Variable)> = BTreeMap::new();
    for &symbol in
        symbols.iter().filter(|s| s.kind == STT_OBJECT && s.size > 0 && s.section.is_some())
    {
        let fresh = || Variable { address: symbol.address, ..Variable::default() };
        let (shown, variable) = found.entry(symbol.address).or_insert_with(|| (None, fresh()));
        variable.size = variable.size.max(symbol.size);
        if shown.is_none_or(|s| symbol.preference() < s.preference()) {
            *shown = Some(symbol);
        }
    }
    for (shown, variable) in found.values_mut() {
        if let Some(symbol) = shown {
            variable.name = demangle(&lossy(symbol.name));
            variable.file = symbol.file.map(lossy);
        }
    }
    for described in described {
        if described.address == 0 || !in_data(described.address) {
            continue;
        }
        let (_, variable) =
            found.entry(described.address).or_insert_with(|| (None, Variable::default()));
        if variable.type_name.is_some() {
            continue;
        }
        // What has no bytes has none of what the symbol has there.
        let shown = variable.name.rsplit("::").next().unwrap_or_default();
        if described.size == 0 && !shown.is_empty() && shown != described.name {
            continue;
        }
        let mangled = variable.name.contains("::");
        let size = if variable.size > 0 { variable.size } else { described.size };
        let name =
            if mangled { std::mem::take(&mut variable.name) } else { described.name.clone() };
        let file = described.file.clone().or_else(|| variable.file.take());
        *variable = Variable { name, size, file, ..described };
        // `extern int table[];` says nothing of the length, the symbol does.
        if let Some(outermost) = variable.dimensions.iter_mut().find(|d| d.length == 0) {
            outermost.length = variable.size.checked_div(outermost.stride).unwrap_or(0);
        }
    }
    found
        .into_values()
        .map(|(_, variable)| variable)
        .filter(|v| v.size > 0 && !v.name.is_empty())
        .collect()
}
