//! Where functions begin and end that have no symbol: the entries of the unwind table.

use super::elf::{ElfFile, Symbol};
use super::plt::{self, Stub};
use super::ranges::{self, Range};
use super::{Function, FunctionKind, dwarf, functions};
use std::path::Path;

/// Bytes between functions that are no filling, nor data of the code before.
const GAP: u64 = 256;

/// The functions of a file, sorted by entry: those with a symbol, stubs, and what the unwind table
/// lists beside. `complete`: `symbols` are a symbol table, not only what is exported.
pub(super) fn functions(
    path: &Path,
    file: &ElfFile,
    symbols: &[Symbol],
    stubs: Vec<Stub>,
    complete: bool,
) -> Vec<Function> {
    let mut bounds = if complete { Vec::new() } else { listed(file) };
    let mut functions = functions::functions(file, symbols, stubs, &bounds);
    if complete && leave_gaps(file, &functions) {
        bounds = listed(file);
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    add_unnamed(file, &name, &bounds, &mut functions);
    functions
}

/// Ranges of code that `.eh_frame` lists, link-time addresses, owner: number of the entry. A
/// function has an entry, and each part of it that the compiler put elsewhere.
fn listed(file: &ElfFile) -> Vec<Range> {
    use gimli::UnwindSection;
    let address = |name| file.section_named(name).map_or(0, |i| file.sections[i].sh_addr);
    let Some(data) = dwarf::section(file, ".eh_frame") else { return Vec::new() };
    let mut frames = gimli::EhFrame::from(data);
    frames.set_address_size(if file.ctx.container.is_big() { 8 } else { 4 });
    let bases = gimli::BaseAddresses::default()
        .set_eh_frame(address(".eh_frame"))
        .set_text(address(".text"))
        .set_got(address(".got"));
    let mut found: Vec<Range> = Vec::new();
    let mut entries = frames.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        if let gimli::CieOrFde::Fde(partial) = entry
            && let Ok(fde) = partial.parse(gimli::EhFrame::cie_from_offset)
        {
            let start = fde.initial_address();
            let end = start.saturating_add(fde.len());
            // Entries of handlers' returns begin one byte early, for look-ups of calls.
            let early = u64::from(fde.is_signal_trampoline());
            found.push((start.saturating_add(early), end, found.len() as u32));
        }
    }
    ranges::flatten(&found)
}

/// The sections of code but linkage tables.
fn code(file: &ElfFile) -> impl Iterator<Item = Range> + '_ {
    let sections = file.sections.iter().zip(&file.section_names);
    sections
        .filter(|(s, name)| {
            s.is_alloc() && s.is_executable() && !plt::SECTIONS.contains(&name.as_str())
        })
        .map(|(s, _)| (s.sh_addr, s.sh_addr.saturating_add(s.sh_size), 0))
}

fn covered(functions: &[Function]) -> Vec<Range> {
    let all = functions.iter().flat_map(|f| &f.ranges);
    let mut all: Vec<Range> = all.map(|&(start, end)| (start, end, 0)).collect();
    all.sort_unstable();
    all
}

/// Whether there is more code outside of every function than fills the place between two.
pub(super) fn leave_gaps(file: &ElfFile, functions: &[Function]) -> bool {
    let covered = covered(functions);
    code(file).any(|(start, end, _)| {
        let first = covered.partition_point(|r| r.1 <= start);
        let inside = covered[first..].iter().take_while(|r| r.0 < end);
        let mut at = start;
        for &(from, to, _) in inside {
            if from.saturating_sub(at) >= GAP {
                return true;
            }
            at = to;
        }
        end.saturating_sub(at) >= GAP
    })
}

/// Adds a function for each entry that begins outside of every function and holds the beginning of
/// none: those in which one begins later list the filling before it.
fn add_unnamed(file: &ElfFile, image: &str, bounds: &[Range], functions: &mut Vec<Function>) {
    let code = ranges::flatten(&code(file).collect::<Vec<_>>());
    let covered = covered(functions);
    let free = |start: u64, end: u64| {
        let next = covered.partition_point(|r| r.1 <= start);
        covered.get(next).is_none_or(|r| end <= r.0)
    };
    let free = bounds
        .iter()
        .filter(|&&(start, end, _)| free(start, end) && ranges::find(&code, start).is_some());
    let unnamed = free.map(|&(start, end, _)| Function {
        name: format!("{image}+{start:#x}"),
        names: Vec::new(),
        kind: FunctionKind::Unnamed,
        file: None,
        address: start,
        ranges: vec![(start, end)],
    });
    functions.extend(unnamed);
    functions.sort_by_key(|f| f.address);
}
