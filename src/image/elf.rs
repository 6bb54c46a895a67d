//! The file's headers, sections, segments and symbols. goblin reads the records; bounds are checked
//! here, because a damaged file should still give what can be read of it.

use super::ImageError;
use super::attributes;
use super::ranges::{self, Range};
use crate::event::Isa;
use goblin::container::Ctx;
use goblin::elf::section_header::{
    SHF_COMPRESSED, SHF_TLS, SHN_ABS, SHN_COMMON, SHN_UNDEF, SHT_DYNSYM, SHT_GNU_VERSYM,
    SHT_NOBITS, SHT_REL, SHT_RELA, SHT_SYMTAB,
};
use goblin::elf::{
    Elf, Header, ProgramHeader, RelocSection, SectionHeader, Sym, Symtab, header, program_header,
    sym,
};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Flag of `e_flags` on ARM: data are big-endian, code is little-endian.
const EF_ARM_BE8: u32 = 0x0080_0000;

/// Build attributes.
const SHT_ARM_ATTRIBUTES: u32 = 0x7000_0003;
const SHT_RISCV_ATTRIBUTES: u32 = 0x7000_0003;

/// Longest symbol name that is read, in bytes.
const MAX_NAME: usize = 1 << 16;

/// An ELF file in memory, with its headers.
pub(super) struct ElfFile {
    pub data: Arc<[u8]>,
    pub ctx: Ctx,
    pub header: Header,
    pub isa: Isa,
    /// PT_LOAD, sorted by address.
    pub segments: Vec<ProgramHeader>,
    pub sections: Vec<SectionHeader>,
    pub section_names: Vec<String>,
    /// Loaded sections by address, owner: index.
    places: Vec<Range>,
}

/// A defined symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol<'a> {
    pub name: &'a [u8],
    /// Without the Thumb bit.
    pub address: u64,
    pub size: u64,
    /// STT_*
    pub kind: u8,
    /// STB_*
    pub bind: u8,
    /// Header index of its section; None if it is absolute or the index is not a section.
    pub section: Option<usize>,
    /// Which STT_FILE symbol stands before it, counted from 1; 0 for global symbols and where there
    /// is none.
    pub unit: u32,
    /// Name of that STT_FILE symbol.
    pub file: Option<&'a [u8]>,
    /// An older version, which only programs linked long ago mean by the name.
    pub superseded: bool,
}

impl Symbol<'_> {
    /// Order in which aliases are preferred: names of today before superseded ones, global before
    /// weak before local, then fewest leading underscores, then byte order.
    pub fn preference(&self) -> (bool, u8, usize, &[u8]) {
        let bind = match self.bind {
            sym::STB_WEAK => 1,
            sym::STB_LOCAL => 2,
            _ => 0,
        };
        let underscores = self.name.iter().take_while(|&&c| c == b'_').count();
        (self.superseded, bind, underscores, self.name)
    }
}

fn not_elf(path: &Path, message: impl Into<String>) -> ImageError {
    ImageError::NotElf { path: path.to_owned(), message: message.into() }
}

/// Says what a file is that is no ELF, from its first bytes.
fn describe(head: &[u8]) -> String {
    if head.is_empty() {
        return "it is empty".into();
    }
    let known: [(&[u8], &str); 11] = [
        (b"\x7fELF", "the ELF header is cut off"),
        (b"!<arch>", "an archive of object files; link it into a program"),
        (b"MZ", "a Windows program"),
        (b"\xfe\xed\xfa", "a macOS program"),
        (b"\xcf\xfa\xed\xfe", "a macOS program"),
        (b"#!", "a script; give the program that runs it"),
        (b"\x1f\x8b", "compressed with gzip; unpack it first"),
        (b"BZh", "compressed with bzip2; unpack it first"),
        (b"\xfd7zXZ", "compressed with xz; unpack it first"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"),
        (b"S0", "an S-record file; give the ELF that it was made from"),
    ];
    let start: String =
        head.iter().take(12).flat_map(|&c| std::ascii::escape_default(c)).map(char::from).collect();
    if let Some((_, what)) = known.iter().find(|(magic, _)| head.starts_with(magic)) {
        return format!("starts with '{start}': {what}");
    }
    let text = head.iter().all(|&c| c >= 0x20 || matches!(c, b'\n' | b'\r' | b'\t'));
    let what = if text {
        "looks like a text log; traces are given without --elf"
    } else {
        "not the ELF magic number"
    };
    format!("starts with '{start}': {what}")
}

impl ElfFile {
    /// Reads the whole file: a mapping would change, or fault, when the program is linked again
    /// during a long build.
    pub fn open(path: &Path) -> Result<ElfFile, ImageError> {
        let io = |source| ImageError::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(io)?;
        let mut data = Vec::new();
        // The head first, so that a trace of many gigabytes given by mistake is refused at once.
        file.by_ref().take(64).read_to_end(&mut data).map_err(io)?;
        if data.len() < 52 || !data.starts_with(header::ELFMAG) {
            return Err(not_elf(path, describe(&data)));
        }
        file.read_to_end(&mut data).map_err(io)?;
        ElfFile::parse(path, data.into())
    }

    pub fn parse(path: &Path, data: Arc<[u8]>) -> Result<ElfFile, ImageError> {
        if !data.starts_with(header::ELFMAG) {
            return Err(not_elf(path, describe(&data[..data.len().min(64)])));
        }
        let header = Elf::parse_header(&data)
            .map_err(|e| not_elf(path, format!("its header is damaged ({e})")))?;
        match header.e_type {
            header::ET_EXEC | header::ET_DYN => ElfFile::any(path, data),
            header::ET_REL => match ElfFile::any(path, data)? {
                // Its functions have numbers instead.
                file if file.section_named(super::xray::MAP).is_some() => Ok(file),
                _ => Err(not_elf(
                    path,
                    "a relocatable object file (.o) has no addresses yet; link it",
                )),
            },
            header::ET_CORE => Err(not_elf(path, "a core dump; give the program that made it")),
            other => Err(not_elf(path, format!("ELF type {other} is not a program or library"))),
        }
    }

    /// An ELF file of any type, for its sections and segments.
    pub fn any(path: &Path, data: Arc<[u8]>) -> Result<ElfFile, ImageError> {
        let header = Elf::parse_header(&data)
            .map_err(|e| not_elf(path, format!("its header is damaged ({e})")))?;
        let (Ok(container), Ok(endian)) = (header.container(), header.endianness()) else {
            return Err(not_elf(path, "its header names no known class or byte order"));
        };
        let wide = container.is_big();
        let isa = match (header.e_machine, wide) {
            (header::EM_X86_64, _) => Isa::X86_64,
            (header::EM_386, false) => Isa::X86,
            (header::EM_ARM, false) => Isa::Arm,
            (header::EM_AARCH64, _) => Isa::Aarch64,
            (header::EM_RISCV, false) => Isa::Riscv32,
            (header::EM_RISCV, true) => Isa::Riscv64,
            (machine, _) => return Err(ImageError::Machine { path: path.to_owned(), machine }),
        };
        let ctx = Ctx::new(container, endian);
        let offset = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        // Tables that do not fit into the file are read as far as they go.
        let fits = |start: u64, size: usize, count: u64| {
            count.min((data.len() as u64).saturating_sub(start) / size as u64) as usize
        };
        let count = fits(header.e_phoff, ProgramHeader::size(ctx), header.e_phnum.into());
        let mut segments =
            ProgramHeader::parse(&data, offset(header.e_phoff), count, ctx).unwrap_or_default();
        segments.retain(|s| s.p_type == program_header::PT_LOAD && s.p_memsz > 0);
        segments.sort_by_key(|s| s.p_vaddr);
        // A count of 0 stands for more sections than fit 16 bits; goblin takes it from the first
        // header.
        let count = fits(header.e_shoff, SectionHeader::size(ctx), header.e_shnum.into());
        let mut sections = match count {
            0 if header.e_shnum > 0 => Vec::new(),
            _ => {
                SectionHeader::parse(&data, offset(header.e_shoff), count, ctx).unwrap_or_default()
            }
        };
        if header.e_type == header::ET_REL {
            segments = lay_out(&mut sections);
        }
        let loaded = |s: &SectionHeader| {
            // The addresses of `.tbss` are those of the sections behind it.
            let is_tbss = s.sh_type == SHT_NOBITS && s.sh_flags & u64::from(SHF_TLS) != 0;
            s.is_alloc() && !is_tbss
        };
        let places = sections.iter().enumerate().filter(|(_, s)| loaded(s));
        let places: Vec<Range> = places
            .map(|(i, s)| (s.sh_addr, s.sh_addr.saturating_add(s.sh_size), i as u32))
            .collect();
        let places = ranges::flatten(&places);
        let mut file = ElfFile {
            data,
            ctx,
            header,
            isa,
            segments,
            sections,
            section_names: Vec::new(),
            places,
        };
        let index = match file.header.e_shstrndx as usize {
            0xffff => file.sections.first().map_or(0, |s| s.sh_link as usize),
            index => index,
        };
        let names: Vec<_> =
            file.sections.iter().map(|s| lossy(file.string(index, s.sh_name, 256))).collect();
        file.section_names = names;
        Ok(file)
    }

    pub fn big_endian(&self) -> bool {
        !self.ctx.is_little_endian()
    }

    pub fn big_endian_code(&self) -> bool {
        match self.isa {
            Isa::Arm => self.big_endian() && self.header.e_flags & EF_ARM_BE8 == 0,
            _ => false,
        }
    }

    /// Made for ARM's M profile, as the build attributes say.
    pub fn is_m_profile(&self) -> bool {
        let of_arm = |s: &SectionHeader| s.sh_type == SHT_ARM_ATTRIBUTES;
        let found = self.sections.iter().position(of_arm).filter(|_| self.isa == Isa::Arm);
        let profile = |i| attributes::profile(self.raw(i), self.big_endian());
        found.is_some_and(|i| profile(i) == Ok(Some(b'M')))
    }

    /// Made for processors with RISC-V's Zcmp or Zcmt, as the build attributes say: a list of extensions.
    pub fn has_zcmp(&self) -> bool {
        let riscv = matches!(self.isa, Isa::Riscv32 | Isa::Riscv64);
        let of_riscv = |s: &SectionHeader| s.sh_type == SHT_RISCV_ATTRIBUTES;
        let found = self.sections.iter().position(of_riscv).filter(|_| riscv);
        let names =
            |word: &[u8]| found.is_some_and(|i| memchr::memmem::find(self.raw(i), word).is_some());
        names(b"_zcmp") || names(b"_zcmt")
    }

    /// The symbol value of code without the bit that says Thumb.
    pub fn code_address(&self, value: u64) -> u64 {
        if self.isa == Isa::Arm { value & !1 } else { value }
    }

    /// A section's contents as they are in the file (possibly cut off, possibly compressed).
    pub fn raw(&self, index: usize) -> &[u8] {
        let Some(section) = self.sections.get(index).filter(|s| s.sh_type != SHT_NOBITS) else {
            return &[];
        };
        slice(&self.data, section.sh_offset, section.sh_size)
    }

    pub fn section_named(&self, name: &str) -> Option<usize> {
        self.section_names.iter().position(|n| n == name)
    }

    pub fn is_compressed(&self, index: usize) -> bool {
        self.sections.get(index).is_some_and(|s| s.sh_flags & u64::from(SHF_COMPRESSED) != 0)
    }

    /// The bytes of a string in string table `section`, without its end mark, `most` at most:
    /// strings may share their bytes, and a hostile table shares megabytes between millions of
    /// them.
    fn string(&self, section: usize, offset: usize, most: usize) -> &[u8] {
        let rest = self.raw(section).get(offset..).unwrap_or_default();
        let rest = &rest[..rest.len().min(most)];
        &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]
    }

    /// Bytes of the file at a link-time address, to the end of the segment's part in the file.
    pub fn bytes(&self, address: u64) -> Option<&[u8]> {
        let after = self.segments.partition_point(|s| s.p_vaddr <= address);
        let segment = &self.segments[after.checked_sub(1)?];
        let bytes = slice(&self.data, segment.p_offset, segment.p_filesz.min(segment.p_memsz));
        bytes.get(usize::try_from(address - segment.p_vaddr).ok()?..).filter(|b| !b.is_empty())
    }

    /// A number of the program's word size at a link-time address.
    pub fn word(&self, address: u64) -> Option<u64> {
        let wide = self.ctx.container.is_big();
        let bytes = self.bytes(address)?.get(..if wide { 8 } else { 4 })?;
        let mut word = [0; 8];
        if self.big_endian() {
            word[8 - bytes.len()..].copy_from_slice(bytes);
            Some(u64::from_be_bytes(word))
        } else {
            word[..bytes.len()].copy_from_slice(bytes);
            Some(u64::from_le_bytes(word))
        }
    }

    /// The section that is loaded and holds the address.
    pub fn section_at(&self, address: u64) -> Option<usize> {
        Some(ranges::find(&self.places, address)?.2 as usize)
    }

    /// Whether there is a `.symtab`.
    pub fn has_symtab(&self) -> bool {
        self.sections.iter().any(|s| s.sh_type == SHT_SYMTAB && s.sh_size > 0)
    }

    /// Whether the entry of `.dynsym` (section `table`) is a superseded version: `.gnu.version`
    /// hides it from linkers.
    fn superseded(&self, table: usize) -> impl Fn(usize) -> bool + '_ {
        let versions =
            |s: &SectionHeader| s.sh_type == SHT_GNU_VERSYM && s.sh_link as usize == table;
        let versions = self.sections.iter().position(versions).map_or(&[][..], |i| self.raw(i));
        move |entry| {
            let high = 2 * entry + usize::from(!self.big_endian());
            versions.get(high).is_some_and(|high| high & 0x80 != 0)
        }
    }

    fn symtab(&self, index: usize) -> Symtab<'_> {
        let Some(section) = self.sections.get(index) else { return Symtab::default() };
        let size = Sym::size(self.ctx.container);
        let count = self.raw(index).len() / size;
        Symtab::parse(&self.data, section.sh_offset as usize, count, self.ctx).unwrap_or_default()
    }

    /// The defined symbols of `.symtab`, in a stripped file those of `.dynsym`, in their order.
    pub fn symbols(&self) -> Vec<Symbol<'_>> {
        let table = |kind| self.sections.iter().position(|s| s.sh_type == kind && s.sh_size > 0);
        let Some(index) = table(SHT_SYMTAB).or_else(|| table(SHT_DYNSYM)) else {
            return Vec::new();
        };
        let strings = self.sections[index].sh_link as usize;
        let superseded = self.superseded(index);
        let mut budget = self.data.len() * 8;
        let (mut unit, mut file) = (0, None);
        let mut symbols = Vec::new();
        for (entry, symbol) in self.symtab(index).iter().enumerate() {
            let name = self.string(strings, symbol.st_name, MAX_NAME);
            if name.len() > budget {
                break;
            }
            budget -= name.len();
            let local = symbol.st_bind() == sym::STB_LOCAL;
            if symbol.st_type() == sym::STT_FILE {
                unit += 1;
                file = Some(name).filter(|n| !n.is_empty());
                continue;
            }
            let number = symbol.st_shndx as u32;
            if number == SHN_UNDEF || number == SHN_COMMON || name.is_empty() {
                continue;
            }
            let code = matches!(symbol.st_type(), sym::STT_FUNC | sym::STT_GNU_IFUNC);
            let value = self.value(&symbol);
            let address = if code { self.code_address(value) } else { value };
            let section = match number {
                SHN_ABS => None,
                // More sections than fit the field: found by address.
                0xffff => self.section_at(address),
                number => Some(number as usize).filter(|&n| n < self.sections.len()),
            };
            let (name, old) = unversioned(name);
            symbols.push(Symbol {
                name,
                address,
                size: symbol.st_size,
                kind: symbol.st_type(),
                bind: symbol.st_bind(),
                section,
                unit: if local { unit } else { 0 },
                file: file.filter(|_| local),
                superseded: old || superseded(entry),
            });
        }
        symbols
    }

    /// A symbol's address: that of an object file counts from its section.
    fn value(&self, symbol: &Sym) -> u64 {
        let section =
            self.sections.get(symbol.st_shndx).filter(|_| self.header.e_type == header::ET_REL);
        symbol.st_value.wrapping_add(section.map_or(0, |s| s.sh_addr))
    }

    /// The sections of relocations that apply, with their records.
    fn relocation_sections(
        &self,
        applies: impl Fn(&SectionHeader) -> bool,
    ) -> impl Iterator<Item = (&SectionHeader, RelocSection<'_>)> {
        self.sections.iter().enumerate().filter_map(move |(index, section)| {
            let with_addend = section.sh_type == SHT_RELA;
            if !with_addend && section.sh_type != SHT_REL || !applies(section) {
                return None;
            }
            let (from, size) = (section.sh_offset as usize, self.raw(index).len());
            let records = RelocSection::parse(&self.data, from, size, with_addend, self.ctx);
            Some((section, records.ok()?))
        })
    }

    /// Words of a section that relocations set, by address: where they point to. In an object file
    /// those of the section's own relocations, else the dynamic ones.
    pub fn targets(&self, index: usize) -> std::collections::BTreeMap<u64, u64> {
        let mut all = std::collections::BTreeMap::new();
        let Some(of) = self.sections.get(index) else { return all };
        let object = self.header.e_type == header::ET_REL;
        let applies = |section: &SectionHeader| {
            if object { section.sh_info as usize == index } else { section.is_alloc() }
        };
        for (section, records) in self.relocation_sections(applies) {
            let table = self.symtab(section.sh_link as usize);
            for record in &records {
                let address =
                    if object { of.sh_addr.wrapping_add(record.r_offset) } else { record.r_offset };
                if !contains(of, address) {
                    continue;
                }
                let symbol = if record.r_sym == 0 { None } else { table.get(record.r_sym) };
                let addend =
                    record.r_addend.map_or_else(|| self.word(address).unwrap_or(0), |a| a as u64);
                all.insert(address, symbol.map_or(0, |s| self.value(&s)).wrapping_add(addend));
            }
        }
        all
    }

    /// Every dynamic relocation: (address of the slot, type, name of its symbol, addend if it is in
    /// the record).
    pub fn relocations(&self) -> Vec<(u64, u32, &[u8], Option<i64>)> {
        let mut all = Vec::new();
        for (section, records) in self.relocation_sections(SectionHeader::is_alloc) {
            let table = self.symtab(section.sh_link as usize);
            let strings =
                self.sections.get(section.sh_link as usize).map_or(0, |s| s.sh_link as usize);
            for record in &records {
                let symbol = if record.r_sym == 0 { None } else { table.get(record.r_sym) };
                let name = symbol.map_or(&[][..], |s| self.string(strings, s.st_name, 4096));
                all.push((record.r_offset, record.r_type, name, record.r_addend));
            }
        }
        all
    }
}

/// The name without its version, and whether that is a superseded one: `memcpy@@GLIBC_2.14` is
/// the `memcpy` of today, `memcpy@GLIBC_2.2.5` is not. What has other characters behind its last `@` is a
/// name of a language that has such.
fn unversioned(name: &[u8]) -> (&[u8], bool) {
    let Some(at) = memchr::memrchr(b'@', name) else { return (name, false) };
    let (bare, version) = (&name[..at], &name[at + 1..]);
    let is_version = |c: &u8| c.is_ascii_alphanumeric() || b"_.-+".contains(c);
    let (bare, superseded) = match bare.strip_suffix(b"@") {
        Some(bare) => (bare, false),
        None => (bare, true),
    };
    if bare.is_empty() || version.is_empty() || !version.iter().all(is_version) {
        return (name, false);
    }
    (bare, superseded)
}

/// Gives the loaded sections of an object file addresses, one behind the other from 4096 on; the
/// segments that this makes.
fn lay_out(sections: &mut [SectionHeader]) -> Vec<ProgramHeader> {
    let mut next = 4096u64;
    let mut segments = Vec::new();
    for section in sections.iter_mut().filter(|s| s.is_alloc()) {
        let align = section.sh_addralign.clamp(1, 4096).next_power_of_two();
        section.sh_addr = next.next_multiple_of(align);
        let end = section.sh_addr.saturating_add(section.sh_size);
        if end > 1 << 40 {
            // Sizes that no file has.
            section.sh_size = 0;
            continue;
        }
        next = end;
        let in_file = if section.sh_type == SHT_NOBITS { 0 } else { section.sh_size };
        if section.sh_size > 0 {
            segments.push(ProgramHeader {
                p_type: program_header::PT_LOAD,
                p_flags: 0,
                p_offset: section.sh_offset,
                p_vaddr: section.sh_addr,
                p_paddr: section.sh_addr,
                p_filesz: in_file,
                p_memsz: section.sh_size,
                p_align: align,
            });
        }
    }
    segments
}

/// Whether the section's addresses hold `address`.
pub(super) fn contains(section: &SectionHeader, address: u64) -> bool {
    address >= section.sh_addr && address - section.sh_addr < section.sh_size
}

pub(super) fn slice(data: &[u8], offset: u64, size: u64) -> &[u8] {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(data.len());
    let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX)).min(data.len());
    &data[start..end]
}

pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::unversioned;

    #[test]
    fn versions_are_no_part_of_a_name() {
        for (name, bare, superseded) in [
            ("memcpy@@GLIBC_2.14", "memcpy", false),
            ("memcpy@GLIBC_2.2.5", "memcpy", true),
            ("foo@V1", "foo", true),
            ("*Foo@Bar#baz<Int32>:Int32", "*Foo@Bar#baz<Int32>:Int32", false),
            ("*Foo@Bar#baz:Int32@@V2", "*Foo@Bar#baz:Int32", false),
            ("@x", "@x", false),
            ("x@", "x@", false),
            ("plain", "plain", false),
        ] {
            assert_eq!(unversioned(name.as_bytes()), (bare.as_bytes(), superseded), "{name}");
        }
    }
}
