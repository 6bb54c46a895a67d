//! From symbols to functions, by the rules of "Functions and symbols".

use super::elf::{ElfFile, Symbol, contains, lossy};
use super::plt::Stub;
use super::ranges::{self, Range};
use super::{Function, FunctionKind};
use crate::event::Isa;
use goblin::elf::sym::{STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// Marks of ARM, AArch64 and RISC-V that say what follows is code or data: `$a`, `$x.foo`, `$d.0`,
/// `$xrv64i2p1`.
fn is_mapping(name: &[u8]) -> bool {
    match name {
        [b'$', b'a' | b't' | b'd' | b'x', rest @ ..] => {
            rest.is_empty() || rest[0] == b'.' || rest.starts_with(b"rv")
        }
        _ => false,
    }
}

/// `X` for a compiler's split-off part `X.cold`, `X.cold.0`.
fn cold_base(name: &[u8]) -> Option<&[u8]> {
    let at = memchr::memmem::find(name, b".cold").filter(|&at| at > 0)?;
    matches!(name.get(at + 5), None | Some(b'.')).then_some(&name[..at])
}

/// `X.part` for `X.part.0`, `X` for `X.part` and so on: the compilers' suffixes for clones, one
/// after the other.
fn without_suffix(name: &[u8]) -> Option<&[u8]> {
    memchr::memrchr(b'.', name).filter(|&at| at > 0).map(|at| &name[..at])
}

/// Code that a linker puts between a call and its target (GNU ld, gold and lld).
fn is_veneer(name: &[u8]) -> bool {
    let glue: [&[u8]; 4] = [b"_veneer", b"_from_arm", b"_from_thumb", b"_change_to_arm"];
    let thunk: [&[u8]; 3] = [b"__ARMv", b"__Thumbv", b"__AArch64"];
    name.starts_with(b"__") && glue.iter().any(|end| name.ends_with(end))
        || thunk.iter().any(|start| name.starts_with(start))
            && memchr::memmem::find(name, b"Thunk_").is_some()
}

/// Symbols that are code, after the rules for those without type and without size, with the ranges
/// that they claim. An unsized one claims no entry of a linkage table.
fn candidates<'a>(
    file: &ElfFile,
    symbols: &[Symbol<'a>],
    stubs: &[Stub],
    bounds: &[Range],
) -> Vec<(Symbol<'a>, u64)> {
    let is_function = |s: &Symbol| matches!(s.kind, STT_FUNC | STT_GNU_IFUNC);
    let extent = |s: &Symbol| (s.address, s.address.saturating_add(s.size), 0);
    let executable = |s: &Symbol| {
        s.section
            .and_then(|n| file.sections.get(n))
            .is_some_and(|h| h.is_alloc() && h.is_executable() && contains(h, s.address))
    };
    let mut code: Vec<Symbol> =
        symbols.iter().copied().filter(|s| is_function(s) && !is_mapping(s.name)).collect();
    let sized = ranges::flatten(&code.iter().map(extent).collect::<Vec<_>>());
    code.extend(symbols.iter().copied().filter_map(|mut s| {
        s.address = file.code_address(s.address);
        (s.kind == STT_NOTYPE
            && !is_mapping(s.name)
            && executable(&s)
            && ranges::find(&sized, s.address).is_none())
        .then_some(s)
    }));
    let sized = ranges::flatten(&code.iter().map(extent).collect::<Vec<_>>());
    code.retain(|s| s.size > 0 || ranges::find(&sized, s.address).is_none());
    let entries = |s: &Stub| (s.address, s.address.saturating_add(s.size), 0);
    let entries = ranges::flatten(&stubs.iter().map(entries).collect::<Vec<_>>());
    code.retain(|s| s.size > 0 || ranges::find(&entries, s.address).is_none());
    let mut starts: Vec<u64> = code.iter().map(|s| s.address).collect();
    starts.extend(stubs.iter().map(|s| s.address).chain(bounds.iter().map(|b| b.0)));
    starts.sort_unstable();
    starts.dedup();
    code.into_iter()
        .filter_map(|s| {
            if s.size > 0 {
                return Some((s, s.address.saturating_add(s.size)));
            }
            let own =
                s.section.filter(|&n| file.sections.get(n).is_some_and(|h| contains(h, s.address)));
            let section = &file.sections[own.or_else(|| file.section_at(s.address))?];
            let end = section.sh_addr.saturating_add(section.sh_size);
            let end = ranges::find(bounds, s.address).map_or(end, |b| b.1.min(end));
            let next = starts.get(starts.partition_point(|&start| start <= s.address));
            Some((s, next.map_or(end, |&next| next.min(end))))
        })
        .collect()
}

/// Index of the symbol that a cold part belongs to: of the same STT_FILE, else a global one, else
/// the nearest in the table.
fn owner(
    part: usize,
    code: &[(Symbol, u64)],
    by_name: &HashMap<&[u8], Vec<usize>>,
) -> Option<usize> {
    let mut name = cold_base(code[part].0.name)?;
    let found = loop {
        match by_name.get(name) {
            Some(found) => break found,
            None => name = without_suffix(name)?,
        }
    };
    let unit = code[part].0.unit;
    let rank = |&i: &usize| {
        let s = &code[i].0;
        let local = s.bind == goblin::elf::sym::STB_LOCAL;
        (if local && s.unit == unit { 0 } else { 1 + u8::from(local) }, i.abs_diff(part))
    };
    // The nearest on both sides and, since they stand behind all others, global ones: a hostile
    // table has millions of a name.
    let middle = found.partition_point(|&i| i < part);
    let near = &found[middle.saturating_sub(64)..found.len().min(middle + 64)];
    near.iter().chain(&found[found.len().saturating_sub(64)..]).copied().min_by_key(rank)
}

/// The functions of a file, sorted by entry. `stubs` are the entries of its procedure linkage
/// table. Where not every function has a symbol, `bounds` say where those without a size end at
/// the latest.
pub(super) fn functions(
    file: &ElfFile,
    symbols: &[Symbol],
    stubs: Vec<Stub>,
    bounds: &[Range],
) -> Vec<Function> {
    let code = candidates(file, symbols, &stubs, bounds);
    let mut by_name: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (i, (symbol, _)) in code.iter().enumerate() {
        by_name.entry(symbol.name).or_default().push(i);
    }
    // Names by entry; the ranges of cold parts go to the entry of their function.
    let mut names: BTreeMap<u64, Vec<Symbol>> = BTreeMap::new();
    let mut claims = Vec::with_capacity(code.len() + stubs.len());
    for (i, &(symbol, end)) in code.iter().enumerate() {
        match owner(i, &code, &by_name) {
            Some(of) => claims.push((symbol.address, end, code[of].0.address)),
            None => {
                claims.push((symbol.address, end, symbol.address));
                names.entry(symbol.address).or_default().push(symbol);
            }
        }
    }
    let mut functions: Vec<Function> = Vec::with_capacity(names.len() + stubs.len());
    let mut number: HashMap<u64, u32> = HashMap::with_capacity(names.len());
    for (address, mut aliases) in names {
        aliases.sort_by(|a, b| a.preference().cmp(&b.preference()));
        let Some(shown) = aliases.first() else { continue };
        let stub = is_veneer(shown.name) || aliases.iter().any(|s| s.kind == STT_GNU_IFUNC);
        let mut all: Vec<String> = Vec::with_capacity(aliases.len());
        for alias in &aliases {
            let name = lossy(alias.name);
            if !all.contains(&name) {
                all.push(name);
            }
            // A hostile table gives one address to every symbol.
            if all.len() >= 256 {
                break;
            }
        }
        number.insert(address, functions.len() as u32);
        functions.push(Function {
            name: demangle(&all[0]),
            names: all,
            kind: if stub { FunctionKind::Stub } else { FunctionKind::Function },
            file: aliases.iter().find_map(|s| s.file).map(lossy),
            address,
            ranges: Vec::new(),
        });
    }
    let mut ranges: Vec<Range> = claims
        .iter()
        .filter_map(|&(start, end, entry)| Some((start, end, *number.get(&entry)?)))
        .collect();
    let symbols_end = functions.len();
    let covered = ranges::flatten(&ranges);
    for stub in stubs {
        // A symbol of the linker's own knows better.
        if ranges::find(&covered, stub.address).is_some() {
            continue;
        }
        ranges.push((stub.address, stub.address.saturating_add(stub.size), functions.len() as u32));
        functions.push(Function {
            name: demangle_stub(&stub.name),
            names: vec![stub.name],
            kind: FunctionKind::Stub,
            file: None,
            address: stub.address,
            ranges: Vec::new(),
        });
    }
    let flat = if functions.len() > symbols_end { ranges::flatten(&ranges) } else { covered };
    for (start, end, owner) in flat {
        functions[owner as usize].ranges.push((start, end));
    }
    functions.retain(|f| !f.ranges.is_empty());
    functions.sort_by_key(|f| f.address);
    functions
}

/// `puts@plt` of a mangled name.
fn demangle_stub(name: &str) -> String {
    match name.split_once("@plt") {
        Some((symbol, rest)) => format!("{}@plt{rest}", demangle(symbol)),
        None => name.to_owned(),
    }
}

/// The name as people write it: C++ and Rust demangled, without the version of a default symbol
/// (`memcpy@@GLIBC_2.14`).
pub fn demangle(name: &str) -> String {
    let name = name.split_once("@@").map_or(name, |(name, _)| name);
    // What a demangler writes can be exponential in what it reads.
    let mut out = Bounded { text: String::new(), left: name.len() * 64 + 1024 };
    if let Ok(rust) = rustc_demangle::try_demangle(name)
        && write!(out, "{rust:#}").is_ok()
        && !out.text.is_empty()
    {
        return out.text;
    }
    if name.starts_with("_Z") {
        out.text.clear();
        let options = cpp_demangle::DemangleOptions::new();
        if let Ok(symbol) = cpp_demangle::BorrowedSymbol::new(name.as_bytes())
            && symbol.structured_demangle(&mut out, &options).is_ok()
            && !out.text.is_empty()
        {
            return out.text;
        }
    }
    name.to_owned()
}

/// Text that refuses to grow beyond a length.
struct Bounded {
    text: String,
    left: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        self.left = self.left.checked_sub(s.len()).ok_or(std::fmt::Error)?;
        self.text.push_str(s);
        Ok(())
    }
}

/// Whether mapping symbols say that the code at an address is Thumb.
pub(super) fn thumb_ranges(file: &ElfFile, symbols: &[Symbol]) -> Vec<(u64, bool)> {
    if file.isa != Isa::Arm {
        return Vec::new();
    }
    let mut marks: Vec<(u64, bool)> = symbols
        .iter()
        .filter(|s| is_mapping(s.name) && matches!(s.name[1], b'a' | b't'))
        .map(|s| (s.address, s.name[1] == b't'))
        .collect();
    marks.sort_unstable();
    marks.dedup_by_key(|m| m.0);
    marks
}
