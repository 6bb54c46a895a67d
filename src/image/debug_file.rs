//! What distributions split off their programs: debug files with symbols and DWARF, and the
//! symbols of `.gnu_debugdata`.

use super::elf::{ElfFile, Symbol};
use goblin::elf::note::{NT_GNU_BUILD_ID, NoteDataIterator};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where debug files of installed programs are.
pub(super) const ROOT: &str = "/usr/lib/debug";
/// No table of symbols that is packed into a program is larger, in bytes.
const MAX_MINI: u64 = 1 << 28;

pub(super) struct DebugFile {
    pub path: PathBuf,
    pub elf: ElfFile,
    /// It is among those of the system, not beside the program.
    pub installed: bool,
}

/// The debug file of a program that lacks symbols or DWARF: by the name that it tells, beside
/// it, in `.debug` and under `root`, then under `root` by its build id, then by debuginfod, as gdb looks
/// for them. Only one of the same build is taken.
pub(super) fn find(path: &Path, file: &ElfFile, root: &Path) -> Option<DebugFile> {
    if file.has_symtab() && has_dwarf(file) {
        return None;
    }
    let (id, link) = (build_id(file), link(file));
    let mut places: Vec<(PathBuf, bool)> = Vec::new();
    if let Some((name, _)) = &link {
        let real = std::fs::canonicalize(path).unwrap_or_default();
        for folder in [path.parent(), real.parent()].into_iter().flatten() {
            places.push((folder.join(name), false));
            places.push((folder.join(".debug").join(name), false));
            if let Ok(below) = folder.strip_prefix("/") {
                places.push((root.join(below).join(name), true));
            }
        }
    }
    if let Some([first, rest @ ..]) = id.filter(|id| id.len() > 1) {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        places.push((root.join(format!(".build-id/{first:02x}/{rest}.debug")), true));
    }
    let mut others = places.into_iter().filter(|(place, _)| place != path);
    let found = others.find_map(|(path, installed)| {
        let elf = ElfFile::open(&path).ok()?;
        let same = match (id, build_id(&elf)) {
            (Some(own), Some(its)) => own == its,
            _ => link.as_ref().is_some_and(|&(_, sum)| crc32fast::hash(&elf.data) == sum),
        };
        (same && elf.isa == file.isa).then_some(DebugFile { path, elf, installed })
    });
    found.or_else(|| {
        let path = fetched(id?)?;
        let elf = ElfFile::open(&path).ok()?;
        let same = build_id(&elf) == id && elf.isa == file.isa;
        same.then_some(DebugFile { path, elf, installed: true })
    })
}

/// What `debuginfod-find` has, or fetches from the servers that the person named in `DEBUGINFOD_URLS`.
fn fetched(id: &[u8]) -> Option<PathBuf> {
    std::env::var_os("DEBUGINFOD_URLS").filter(|urls| !urls.is_empty())?;
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut find = Command::new("debuginfod-find");
    let output = find.args(["debuginfo", &id]).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let path = PathBuf::from(text.lines().last()?);
    (output.status.success() && path.is_absolute()).then_some(path)
}

fn has_dwarf(file: &ElfFile) -> bool {
    [".debug_info", ".zdebug_info"].iter().any(|name| file.section_named(name).is_some())
}

fn build_id(file: &ElfFile) -> Option<&[u8]> {
    let data = file.raw(file.section_named(".note.gnu.build-id")?);
    let mut notes = NoteDataIterator { data, size: data.len(), offset: 0, ctx: (4, file.ctx) };
    let note = notes.find_map(|n| n.ok().filter(|n| n.n_type == NT_GNU_BUILD_ID))?;
    Some(note.desc)
}

/// `.gnu_debuglink`: the name of the debug file, without a folder, and its CRC-32.
fn link(file: &ElfFile) -> Option<(String, u32)> {
    let data = file.raw(file.section_named(".gnu_debuglink")?);
    let end = memchr::memchr(0, data)?;
    let name =
        std::str::from_utf8(&data[..end]).ok().filter(|n| !n.is_empty() && !n.contains('/'))?;
    let sum: [u8; 4] = data.get((end + 1).next_multiple_of(4)..)?.get(..4)?.try_into().ok()?;
    let sum = if file.big_endian() { u32::from_be_bytes(sum) } else { u32::from_le_bytes(sum) };
    Some((name.to_owned(), sum))
}

/// The file in `.gnu_debugdata` (MiniDebugInfo): a symbol table, packed by xz, of the functions
/// that are not exported. None where there is a whole symbol table.
pub(super) fn mini(file: &ElfFile, debug: Option<&ElfFile>) -> Option<ElfFile> {
    if file.has_symtab() || debug.is_some_and(ElfFile::has_symtab) {
        return None;
    }
    let packed = file.raw(file.section_named(".gnu_debugdata")?);
    let mut data = Vec::new();
    liblzma::bufread::XzDecoder::new(packed).take(MAX_MINI).read_to_end(&mut data).ok()?;
    let mini = ElfFile::any(Path::new(".gnu_debugdata"), data.into()).ok()?;
    (mini.isa == file.isa).then_some(mini)
}

/// The symbols of a file and of what was split off it, and whether they are a whole symbol table.
/// Their sections are those of `file`.
pub(super) fn symbols<'a>(
    file: &'a ElfFile,
    debug: Option<&'a ElfFile>,
    mini: Option<&'a ElfFile>,
) -> (Vec<Symbol<'a>>, bool) {
    // What was split off has names of files, too, where `strip -g` left functions.
    if let Some(debug) = debug.filter(|d| d.has_symtab()) {
        return (moved(debug, file), true);
    }
    if file.has_symtab() {
        return (file.symbols(), true);
    }
    let mut symbols = file.symbols();
    symbols.extend(mini.into_iter().flat_map(|mini| moved(mini, file)));
    (symbols, false)
}

/// The symbols of `from`, whose sections have other numbers than in `file`.
fn moved<'a>(from: &'a ElfFile, file: &ElfFile) -> Vec<Symbol<'a>> {
    let same = |index: usize| {
        let (section, name) = (&from.sections[index], &from.section_names[index]);
        let all = file.sections.iter().zip(&file.section_names);
        all.enumerate()
            .find(|(_, (s, n))| s.sh_addr == section.sh_addr && s.is_alloc() && *n == name)
            .map(|(number, _)| number)
    };
    let numbers: Vec<Option<usize>> = (0..from.sections.len()).map(same).collect();
    let mut symbols = from.symbols();
    for symbol in &mut symbols {
        symbol.section = symbol.section.and_then(|number| numbers[number]);
    }
    symbols
}
