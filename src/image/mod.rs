//! ELF (goblin) and DWARF (gimli, addr2line): functions, sections, variables, lines.
//!
//! [`Image`] is one file, addresses as linked. [`AddressSpace`] is what was loaded where, addresses
//! at run time.

use crate::event::{Dialect, Isa};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

mod attributes;
mod bias;
mod bounds;
mod debug_file;
mod dwarf;
mod elf;
mod functions;
mod owner;
mod plt;
mod ranges;
mod room;
mod space;
#[cfg(test)]
mod tests;
pub mod unwind;
mod variables;
mod vectors;
mod xray;

pub use bias::guess_bias;
pub use functions::demangle;
pub use owner::Owner;
pub use room::bound;
pub use space::{AddressSpace, FunctionRef, Loaded, Mapped};
pub use xray::SledKind;

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    Function,
    /// PLT stub, veneer, IFUNC resolver.
    Stub,
    /// It has no symbol: its bounds are those of an entry of `.eh_frame`, its name is the file's
    /// and its place there (`libc.so.6+0x27410`).
    Unnamed,
}

/// A code symbol after the rules of "Functions and symbols": ranges do not overlap, aliases are
/// one, `X.cold` is part of X.
#[derive(Clone, Debug)]
pub struct Function {
    /// As shown: demangled, the chosen alias; without the `(file)` that tells equal names apart.
    pub name: String,
    /// All names, mangled as in the symbol table, without versions.
    pub names: Vec<String>,
    pub kind: FunctionKind,
    /// Source or object file from DWARF or STT_FILE.
    pub file: Option<String>,
    /// Entry, link-time address.
    pub address: u64,
    /// Ranges of link-time addresses that belong to it, sorted, half open (more than one with cold
    /// parts).
    pub ranges: Vec<(u64, u64)>,
}

#[derive(Clone, Debug)]
pub struct Section {
    pub name: String,
    /// Link-time address and size in bytes; only sections that are loaded (SHF_ALLOC).
    pub address: u64,
    pub size: u64,
    pub writable: bool,
    pub executable: bool,
    pub tls: bool,
    /// SHT_NOBITS
    pub zero: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Variable {
    pub name: String,
    /// C type name from DWARF (`unsigned char[64]`), if known.
    pub type_name: Option<String>,
    pub address: u64,
    pub size: u64,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// If it is an array: its dimensions, in the order in which indices are written.
    pub dimensions: Vec<Dimension>,
    pub brackets: Brackets,
    /// If it is a structure, or an array of them: its parts, of an array those of an innermost
    /// element, by their beginnings.
    pub fields: Vec<Field>,
}

/// A dimension of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dimension {
    /// The least index.
    pub first: i64,
    /// How many there are; 0: not said.
    pub length: u64,
    /// Bytes from one to the next.
    pub stride: u64,
}

/// How a language writes indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Brackets {
    /// `a[1][2]`
    #[default]
    Square,
    /// `a(1,2)`
    Round,
}

impl Brackets {
    pub fn text(self) -> &'static str {
        match self {
            Brackets::Square => "[]",
            Brackets::Round => "()",
        }
    }
}

/// A part of a structure that is none itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// `position.x`, of an array `[].position.x`; what shares bytes with `|` between.
    pub name: String,
    /// Bytes before it.
    pub start: u64,
    pub size: u64,
}

/// A call that the compiler replaced by the body of what it calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inlined {
    /// The function that was inlined, as the linker would name it ([`demangle`]).
    pub name: String,
    /// Where the call is written, if that is known.
    pub file: Option<String>,
    pub line: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("cannot read {path}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path} is not an ELF file that can be read: {message}")]
    NotElf { path: PathBuf, message: String },
    #[error("{path}: instruction set with ELF machine number {machine} is not supported")]
    Machine { path: PathBuf, machine: u16 },
    #[error(
        "{path}: unpacked, its debugging sections are {mib} MiB, and of the memory limit {left} MiB are left: raise --memory-limit, or give the file without them (objcopy --strip-debug)"
    )]
    Memory { path: PathBuf, mib: u64, left: u64 },
}

/// One ELF file with what was found in it, addresses as linked (add the bias of the loaded image).
pub struct Image {
    pub path: PathBuf,
    pub isa: Isa,
    /// Byte order of data.
    pub big_endian: bool,
    /// The byte order of instructions differs from that of data on ARM (BE8) and big-endian AArch64.
    pub dialect: Dialect,
    /// Made for processors of ARM's M profile.
    pub m_profile: bool,
    /// Where a program for RISC-V calls Spike's host: the symbol `tohost`.
    pub tohost: Option<u64>,
    /// ET_DYN: loaded at a bias that the trace has to tell.
    pub pie: bool,
    /// Without the Thumb bit.
    pub entry: u64,
    /// Sorted by entry; their ranges are disjoint.
    pub functions: Vec<Function>,
    /// In the order of the file; of a file without section headers its segments, named `segment0`
    /// and so on.
    pub sections: Vec<Section>,
    /// Sorted by address, one for each address; they may lie inside one another.
    pub variables: Vec<Variable>,
    /// No symbol table, neither its own nor that of a debug file: names are those of exported
    /// functions and of `.gnu_debugdata`, if there are any.
    pub stripped: bool,
    /// The separate file that symbols or DWARF are from.
    pub debug_file: Option<PathBuf>,
    /// Lowest and highest link-time address of PT_LOAD, half open.
    pub load_range: (u64, u64),
    file: elf::ElfFile,
    dwarf: Option<dwarf::Debug>,
    late: Option<LateDwarf>,
    linked: OnceLock<owner::Linked>,
    /// Where ARM code begins (false) and Thumb code (true).
    thumb: Vec<(u64, bool)>,
}

/// DWARF of an installed debug file. That of a C library takes longer to unpack than most programs
/// to run: it is read when a line is asked for, and describes no variables.
struct LateDwarf {
    file: elf::ElfFile,
    read: OnceLock<Option<dwarf::Debug>>,
}

impl LateDwarf {
    fn new(debug: debug_file::DebugFile) -> LateDwarf {
        LateDwarf { file: debug.elf, read: OnceLock::new() }
    }

    fn get(&self) -> Option<&dwarf::Debug> {
        self.read.get_or_init(|| dwarf::Debug::load(&self.file)).as_ref()
    }
}

/// An error if the sections of a file say that they are larger than what may be taken.
fn within_room(path: &Path, file: &elf::ElfFile) -> Result<(), ImageError> {
    let (size, left) = (dwarf::unpacked(file), room::left());
    if size <= left {
        return Ok(());
    }
    Err(ImageError::Memory { path: path.to_owned(), mib: size >> 20, left: left >> 20 })
}

impl Image {
    /// Reads the file, and its debug file where symbols or DWARF were split off. What is damaged
    /// in it is missing in the result; only a file that is no program, or one for another
    /// processor, is an error.
    pub fn open(path: &Path) -> Result<Image, ImageError> {
        Image::open_with(path, Path::new(debug_file::ROOT))
    }

    /// The same with debug files under another folder than the system's.
    pub fn open_with(path: &Path, debug_root: &Path) -> Result<Image, ImageError> {
        let file = elf::ElfFile::open(path)?;
        within_room(path, &file)?;
        let debug = debug_file::find(path, &file, debug_root);
        // Those of the system are left out where they are too large.
        if let Some(debug) = debug.as_ref().filter(|debug| !debug.installed) {
            within_room(&debug.path, &debug.elf)?;
        }
        Ok(Image::new(path, file, debug))
    }

    /// The image of a file's contents, or of an image that is no file, as the vdso; `path` is the
    /// name that it has. No debug files are looked for.
    pub fn parse(path: &Path, contents: &[u8]) -> Result<Image, ImageError> {
        Ok(Image::new(path, elf::ElfFile::parse(path, contents.into())?, None))
    }

    fn new(path: &Path, file: elf::ElfFile, split: Option<debug_file::DebugFile>) -> Image {
        let debug_elf = split.as_ref().map(|debug| &debug.elf);
        let mini = debug_file::mini(&file, debug_elf);
        let (symbols, complete) = debug_file::symbols(&file, debug_elf, mini.as_ref());
        // What DWARF says in an object file waits for relocations.
        let linked = Some(()).filter(|()| file.header.e_type != goblin::elf::header::ET_REL);
        let beside = split.as_ref().filter(|debug| !debug.installed);
        let debug = linked
            .and_then(|()| dwarf::Debug::load(&file).or_else(|| dwarf::Debug::load(&beside?.elf)))
            .and_then(|dwarf| Some((dwarf.variables()?, dwarf)));
        let (described, dwarf) =
            debug.map_or((Vec::new(), None), |(variables, dwarf)| (variables, Some(dwarf)));
        let stubs = plt::stubs(&file, &symbols);
        let mut functions = bounds::functions(path, &file, &symbols, stubs, complete);
        if let Some(dwarf) = &dwarf {
            for function in functions.iter_mut().filter(|f| !f.name.contains("@plt")) {
                let path = dwarf.function_file(function.address);
                function.file = path.or(function.file.take());
            }
        }
        let sections = sections(&file);
        let variables = variables::variables(&file, &symbols, described);
        let thumb = functions::thumb_ranges(&file, &symbols);
        let riscv = matches!(file.isa, Isa::Riscv32 | Isa::Riscv64);
        let tohost = symbols.iter().find(|symbol| riscv && symbol.name == b"tohost");
        let tohost = tohost.map(|symbol| symbol.address);
        drop(symbols);
        let start = file.segments.first().map_or(0, |s| s.p_vaddr);
        let end =
            file.segments.iter().map(|s| s.p_vaddr.saturating_add(s.p_memsz)).max().unwrap_or(0);
        Image {
            path: path.to_owned(),
            isa: file.isa,
            big_endian: file.big_endian(),
            dialect: Dialect { big_endian: file.big_endian_code(), zcmp: file.has_zcmp() },
            m_profile: file.is_m_profile(),
            tohost,
            pie: file.header.e_type == goblin::elf::header::ET_DYN,
            entry: file.code_address(file.header.e_entry),
            functions,
            sections,
            variables,
            stripped: !complete,
            debug_file: split.as_ref().map(|debug| debug.path.clone()),
            load_range: (start, end),
            file,
            dwarf,
            late: split.filter(|debug| debug.installed).map(LateDwarf::new),
            linked: OnceLock::new(),
            thumb,
        }
    }

    /// Link-time addresses of what is loaded, in the file's order.
    pub fn segments(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let segments = self.file.segments.iter();
        segments.map(|s| (s.p_vaddr, s.p_vaddr.saturating_add(s.p_memsz)))
    }

    /// Contents of a section by name, whether it is loaded or not, decompressed; None where there
    /// is none.
    pub fn contents(&self, section: &str) -> Option<Vec<u8>> {
        dwarf::contents(&self.file, section)
    }

    /// Bytes of the file's contents at a link-time address, to the end of their segment; None
    /// outside of file-backed segments.
    pub fn bytes(&self, address: u64) -> Option<&[u8]> {
        self.file.bytes(address)
    }

    /// Source file and line of a link-time address; None where DWARF has none. The first look-up in
    /// a compilation unit reads its line table, later ones are binary searches under a lock that
    /// nobody else holds in a single-threaded caller.
    pub fn line(&self, address: u64) -> Option<(String, u32)> {
        let (file, line) = self.debug()?.line(address)?;
        Some((file, line?))
    }

    /// The inlined calls that the code at a link-time address is of, the outermost first; none where
    /// it is of its function itself, or DWARF says nothing.
    pub fn inlined(&self, address: u64) -> Vec<Inlined> {
        self.debug().map_or_else(Vec::new, |debug| debug.inlined(address))
    }

    fn debug(&self) -> Option<&dwarf::Debug> {
        self.dwarf.as_ref().or_else(|| self.late.as_ref()?.get())
    }

    /// Whose code one of its functions is.
    pub fn owner(&self, function: &Function) -> Owner {
        self.linked.get_or_init(|| owner::Linked::of(self)).owner(function)
    }

    /// Whether there is more code outside of every function than fills gaps between them.
    pub fn has_code_outside_functions(&self) -> bool {
        bounds::leave_gaps(&self.file, &self.functions)
    }

    /// An object file with addresses of our own making.
    pub fn relocatable(&self) -> bool {
        self.file.header.e_type == goblin::elf::header::ET_REL
    }

    /// Whether the code at a link-time address is Thumb, as the file's mapping symbols say; None
    /// where there are none.
    pub fn thumb(&self, address: u64) -> Option<bool> {
        let after = self.thumb.partition_point(|m| m.0 <= address);
        Some(self.thumb[after.checked_sub(1)?].1)
    }
}

/// Contents of a section of any ELF file, an object file included; `path` is for messages.
pub fn contents(path: &Path, file: &[u8], section: &str) -> Result<Option<Vec<u8>>, ImageError> {
    Ok(dwarf::contents(&elf::ElfFile::any(path, file.into())?, section))
}

/// Sections that are loaded; segments where a file has no section headers.
fn sections(file: &elf::ElfFile) -> Vec<Section> {
    use goblin::elf::section_header::{SHF_TLS, SHT_NOBITS};
    let mut sections: Vec<Section> = file
        .sections
        .iter()
        .zip(&file.section_names)
        .filter(|(header, _)| header.is_alloc() && header.sh_size > 0)
        .map(|(header, name)| Section {
            name: name.clone(),
            address: header.sh_addr,
            size: header.sh_size,
            writable: header.is_writable(),
            executable: header.is_executable(),
            tls: header.sh_flags & u64::from(SHF_TLS) != 0,
            zero: header.sh_type == SHT_NOBITS,
        })
        .collect();
    if sections.is_empty() {
        sections.extend(file.segments.iter().enumerate().map(|(i, segment)| Section {
            name: format!("segment{i}"),
            address: segment.p_vaddr,
            size: segment.p_memsz,
            writable: segment.is_write(),
            executable: segment.is_executable(),
            tls: false,
            zero: segment.p_filesz == 0,
        }));
    }
    sections
}
