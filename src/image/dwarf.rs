//! DWARF: lines (addr2line) and variables (gimli). Split DWARF (`.dwo`), type units and what `dwz -m` puts into a file of its own
//! are not followed.

mod fields;

use super::elf::ElfFile;
use super::{Brackets, Dimension, Field, Inlined, Variable, room};
use gimli::{
    AttributeValue, DebugInfoOffset, DwAt, DwLang, DwTag, EndianArcSlice, Reader, RunTimeEndian,
    SectionId, Unit, UnitOffset, constants as dw,
};
use goblin::elf::compression_header::CompressionHeader;
use std::cell::Cell;
use std::collections::HashMap;
use std::io::Read;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, OnceLock};

pub(super) type R = EndianArcSlice<RunTimeEndian>;

/// Types nested deeper than this, or spelled longer, are not spelled; real ones are not, hostile
/// ones are endless.
const MAX_DEPTH: u32 = 32;
const MAX_SPELLING: usize = 1024;
/// Inlined calls within one another that are looked at.
const MOST_FRAMES: usize = 64;
/// Dimensions and parameters looked at, in all.
const MAX_CHILDREN: u64 = 1 << 24;
/// Parts of structures that are kept, in all.
const MAX_PARTS: usize = 1 << 16;
/// No decompressed section is larger than this, in bytes.
const MAX_SECTION: u64 = 1 << 30;

/// The debugging information of a file.
pub(super) struct Debug {
    pub dwarf: Arc<gimli::Dwarf<R>>,
    /// addr2line fills its tables as it is asked, so its context is not `Sync`; images are shared
    /// between threads.
    lines: OnceLock<Option<Mutex<addr2line::Context<R>>>>,
}

impl Debug {
    /// None without DWARF. Parses nothing yet.
    pub fn load(file: &ElfFile) -> Option<Debug> {
        let info = section(file, SectionId::DebugInfo.name());
        if info.as_ref().is_none_or(|s| s.is_empty()) {
            return None;
        }
        let mut info = info;
        let mut dwarf = gimli::Dwarf::load(|id| {
            let data =
                if id == SectionId::DebugInfo { info.take() } else { section(file, id.name()) };
            Ok::<_, gimli::Error>(data.unwrap_or_else(|| R::new(Arc::from([]), endian(file))))
        })
        .ok()?;
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        Some(Debug { dwarf: Arc::new(dwarf), lines: OnceLock::new() })
    }

    fn lines(&self) -> Option<&Mutex<addr2line::Context<R>>> {
        let read = || addr2line::Context::from_arc_dwarf(self.dwarf.clone()).ok().map(Mutex::new);
        self.lines.get_or_init(read).as_ref()
    }

    /// File and line (None where the compiler names no line) of a link-time address.
    pub fn line(&self, address: u64) -> Option<(String, Option<u32>)> {
        let context = self.lines()?.lock().ok()?;
        let location = context.find_location(address).ok()??;
        Some((location.file?.to_owned(), location.line.filter(|&line| line > 0)))
    }

    /// File of the function at a link-time address: not of what is inlined there.
    pub fn function_file(&self, address: u64) -> Option<String> {
        let context = self.lines()?.lock().ok()?;
        let mut frames = context.find_frames(address).skip_all_loads().ok()?;
        let mut file = None;
        // The innermost first.
        for _ in 0..MOST_FRAMES {
            let Some(frame) = frames.next().ok().flatten() else { break };
            file = frame.location.and_then(|location| location.file);
        }
        file.map(str::to_owned)
    }

    /// The inlined calls that a link-time address is in, the outermost first.
    pub fn inlined(&self, address: u64) -> Vec<Inlined> {
        let Some(context) = self.lines().and_then(|lines| lines.lock().ok()) else {
            return Vec::new();
        };
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else {
            return Vec::new();
        };
        let (mut found, mut callee) = (Vec::new(), None);
        // The innermost first; where a frame was called is said by the one around it, and the last is
        // the function itself.
        while let Some(frame) = frames.next().ok().flatten().filter(|_| found.len() < MOST_FRAMES) {
            let (file, line) = frame.location.map_or((None, None), |l| (l.file, l.line));
            let file = file.map(str::to_owned);
            let at = |name| Inlined { name, file, line: line.filter(|&line| line > 0) };
            found.extend(callee.take().map(|callee| at(spelled(callee))));
            callee = Some(frame.function);
        }
        found.reverse();
        found
    }

    /// Globals and statics with a fixed address, in the order of the file. None if the file's units
    /// share line tables again and again, which only hostile ones do, and which takes for ever to
    /// read.
    pub fn variables(&self) -> Option<Vec<Variable>> {
        let mut units = Vec::new();
        let mut budget = gimli::Section::reader(&self.dwarf.debug_line).len().saturating_mul(64);
        let mut headers = self.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Some(offset) = header.debug_info_offset() else { continue };
            if let Ok(unit) = self.dwarf.unit(header) {
                let table = unit
                    .line_program
                    .as_ref()
                    .map_or(0, |program| program.header().header_length());
                budget = budget.checked_sub(table)?;
                units.push((offset.0, unit));
            }
        }
        let mut types = Types {
            dwarf: &self.dwarf,
            units: &units,
            known: HashMap::new(),
            fuel: Cell::new(MAX_CHILDREN),
            parts: Cell::new(MAX_PARTS),
        };
        let mut variables = Vec::new();
        let mut files = HashMap::new();
        for index in 0..units.len() {
            // A damaged unit gives what stands before the damage.
            let _ = unit_variables(&mut types, index, &mut files, &mut variables);
        }
        Some(variables)
    }
}

fn spelled(name: Option<addr2line::FunctionName<R>>) -> String {
    let raw = name.as_ref().and_then(|name| name.raw_name().ok());
    raw.map_or_else(|| "(unnamed)".to_owned(), |raw| raw.into_owned())
}

fn endian(file: &ElfFile) -> RunTimeEndian {
    if file.big_endian() { RunTimeEndian::Big } else { RunTimeEndian::Little }
}

/// Contents of a section that is not loaded, decompressed.
pub(super) fn contents(file: &ElfFile, name: &str) -> Option<Vec<u8>> {
    use gimli::Reader;
    let section = section(file, name)?;
    section.to_slice().ok().map(|bytes| bytes.into_owned())
}

/// A section that is packed: its bytes, how, and what it says of its size.
struct Packed<'a> {
    bytes: &'a [u8],
    kind: u32,
    size: u64,
}

/// None where a section is not packed, or its header is damaged.
fn packed(file: &ElfFile, index: usize) -> Option<Packed<'_>> {
    let raw = file.raw(index);
    if file.is_compressed(index) {
        let header = CompressionHeader::parse(raw, 0, file.ctx).ok()?;
        let bytes = raw.get(CompressionHeader::size(file.ctx)..)?;
        return Some(Packed { bytes, kind: header.ch_type, size: header.ch_size });
    }
    // GNU's older way: `.zdebug_info` with a header of its own.
    let named = file.section_names.get(index).is_some_and(|name| name.starts_with(".z"));
    let (size, bytes) = raw.strip_prefix(b"ZLIB").filter(|_| named)?.split_first_chunk()?;
    let kind = goblin::elf::compression_header::ELFCOMPRESS_ZLIB;
    Some(Packed { bytes, kind, size: u64::from_be_bytes(*size) })
}

/// Bytes of all packed debugging sections when they are unpacked, as they say. What is beyond the
/// bound is never unpacked and does not count.
pub(super) fn unpacked(file: &ElfFile) -> u64 {
    let debug =
        |name: &str| [".debug_", ".zdebug_", ".eh_frame"].iter().any(|d| name.starts_with(d));
    let all = file.section_names.iter().enumerate().filter(|(_, name)| debug(name));
    let sizes = all.filter_map(|(index, _)| packed(file, index)).map(|packed| packed.size);
    sizes.filter(|size| *size <= MAX_SECTION).fold(0, u64::saturating_add)
}

/// A debugging section, decompressed; shares the file's bytes where it is not compressed.
pub(super) fn section(file: &ElfFile, name: &str) -> Option<R> {
    let Some(index) = file.section_named(name) else {
        let index = file.section_named(&format!(".z{}", name.strip_prefix('.')?))?;
        return Some(R::new(inflate(packed(file, index)?)?, endian(file)));
    };
    if file.is_compressed(index) {
        return Some(R::new(inflate(packed(file, index)?)?, endian(file)));
    }
    let raw = file.raw(index);
    let start = raw.as_ptr() as usize - file.data.as_ptr() as usize;
    let whole = R::new(file.data.clone(), endian(file));
    Some(if raw.is_empty() { whole.range(0..0) } else { whole.range(start..start + raw.len()) })
}

fn inflate(packed: Packed) -> Option<Arc<[u8]>> {
    const ZSTD: u32 = 2;
    if packed.size > MAX_SECTION.min(room::left()) {
        return None;
    }
    let size = usize::try_from(packed.size).ok()?;
    match packed.kind {
        goblin::elf::compression_header::ELFCOMPRESS_ZLIB => {
            read(flate2::read::ZlibDecoder::new(packed.bytes), size)
        }
        ZSTD => read(zstd::stream::read::Decoder::with_buffer(packed.bytes).ok()?, size),
        _ => None,
    }
}

/// So many bytes, or as many as there are, in the memory that they stay in: a list that grows, and a
/// copy of it, would take three times as much. Memory that is never written is never taken.
fn read(mut from: impl Read, size: usize) -> Option<Arc<[u8]>> {
    let mut data = Arc::<[u8]>::new_uninit_slice(size);
    let room = Arc::get_mut(&mut data)?;
    let mut filled = 0;
    while filled < size {
        let end = size.min(filled + (1 << 16));
        let part = room.get_mut(filled..end)?;
        part.fill(MaybeUninit::new(0));
        // SAFETY: all of it has just been given a value.
        let part = unsafe { &mut *(part as *mut [MaybeUninit<u8>] as *mut [u8]) };
        match from.read(part).ok()? {
            0 => break,
            n => filled += n,
        }
    }
    let filled_all = filled == size;
    if filled_all {
        // SAFETY: each byte was given a value before it was read into.
        return Some(unsafe { data.assume_init() });
    }
    // SAFETY: as above, up to there.
    let short = unsafe { &*(room.get(..filled)? as *const [MaybeUninit<u8>] as *const [u8]) };
    Some(short.into())
}

/// What a variable's entry says, its declaration's entry included.
#[derive(Default)]
struct Entry {
    name: Option<String>,
    type_of: Option<(usize, UnitOffset)>,
    /// By its number in a unit.
    file: Option<(usize, u64)>,
    line: Option<u32>,
    address: Option<u64>,
}

fn unit_variables(
    types: &mut Types,
    index: usize,
    files: &mut HashMap<(usize, u64), Option<String>>,
    variables: &mut Vec<Variable>,
) -> Result<(), gimli::Error> {
    let unit = &types.units[index].1;
    let mut cursor = unit.header.entries_raw(&unit.abbreviations, None)?;
    while !cursor.is_empty() {
        let offset = cursor.next_offset();
        let Some(abbreviation) = cursor.read_abbreviation()? else { continue };
        let is_variable = abbreviation.tag() == dw::DW_TAG_variable
            && abbreviation.attributes().iter().any(|a| a.name() == dw::DW_AT_location);
        cursor.skip_attributes(abbreviation.attributes())?;
        if !is_variable {
            continue;
        }
        let mut entry = Entry::default();
        if types.describe(index, offset, &mut entry, 0).is_none() {
            continue;
        }
        let (Some(address), Some(name)) = (entry.address, entry.name) else { continue };
        let shape =
            entry.type_of.map(|(unit, offset)| types.shape(unit, offset)).unwrap_or_default();
        let file = entry.file.and_then(|(unit, number)| {
            let read = || file_name(types.dwarf, &types.units[unit].1, number);
            files.entry((unit, number)).or_insert_with(read).clone()
        });
        variables.push(Variable {
            name,
            type_name: shape.name,
            address,
            size: shape.size.unwrap_or(0),
            file,
            line: entry.line,
            dimensions: shape.dimensions,
            brackets: shape.brackets,
            fields: types.paid(shape.fields),
        });
    }
    Ok(())
}

/// Path of a file of a unit's line table, joined as addr2line joins it.
fn file_name(dwarf: &gimli::Dwarf<R>, unit: &Unit<R>, number: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(number)?;
    let text =
        |value| Some(dwarf.attr_string(unit, value).ok()?.to_string_lossy().ok()?.into_owned());
    let mut path = std::path::PathBuf::new();
    if let Some(directory) = &unit.comp_dir {
        path.push(directory.to_string_lossy().ok()?.as_ref());
    }
    if file.directory_index() != 0
        && let Some(directory) = file.directory(header)
    {
        path.push(text(directory)?);
    }
    path.push(text(file.path_name())?);
    Some(path.to_string_lossy().into_owned())
}

/// Spelling and layout of a type.
#[derive(Clone, Default)]
struct Shape {
    name: Option<String>,
    size: Option<u64>,
    dimensions: Vec<Dimension>,
    brackets: Brackets,
    fields: Vec<Field>,
}

/// Types of all units.
struct Types<'a> {
    dwarf: &'a gimli::Dwarf<R>,
    /// Sorted by offset in `.debug_info`.
    units: &'a [(usize, Unit<R>)],
    known: HashMap<(usize, UnitOffset), Shape>,
    /// Children of types that may still be visited.
    fuel: Cell<u64>,
    /// Parts of variables that may still be kept.
    parts: Cell<usize>,
}

type Die = gimli::DebuggingInformationEntry<R>;

impl<'a> Types<'a> {
    fn burn(&self) -> Option<()> {
        self.fuel.set(self.fuel.get().checked_sub(1)?);
        Some(())
    }

    fn die(&self, unit: usize, offset: UnitOffset) -> Option<Die> {
        let unit = &self.units.get(unit)?.1;
        unit.header.entry(&unit.abbreviations, offset).ok()
    }

    /// The entry that an attribute refers to, in its own unit or another.
    fn refers(&self, unit: usize, die: &Die, attribute: DwAt) -> Option<(usize, UnitOffset)> {
        match die.attr_value(attribute)? {
            AttributeValue::UnitRef(offset) => Some((unit, offset)),
            AttributeValue::DebugInfoRef(DebugInfoOffset(at)) => {
                let unit = self.units.partition_point(|u| u.0 <= at).checked_sub(1)?;
                Some((unit, DebugInfoOffset(at).to_unit_offset(&self.units[unit].1.header)?))
            }
            _ => None,
        }
    }

    fn text(&self, unit: usize, die: &Die, attribute: DwAt) -> Option<String> {
        let value = die.attr_value(attribute)?;
        let text = self.dwarf.attr_string(&self.units[unit].1, value).ok()?;
        let length = text.len().min(MAX_SPELLING);
        let mut text = text;
        text.truncate(length).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    fn number(&self, die: &Die, attribute: DwAt) -> Option<u64> {
        die.attr_value(attribute)?.udata_value()
    }

    /// Collects what a variable's entry says, then what the entry that it completes says. None if
    /// it has no fixed address.
    fn describe(
        &self,
        unit: usize,
        offset: UnitOffset,
        entry: &mut Entry,
        depth: u32,
    ) -> Option<()> {
        let die = self.die(unit, offset)?;
        if depth == 0 {
            let AttributeValue::Exprloc(location) = die.attr_value(dw::DW_AT_location)? else {
                return None;
            };
            let home = &self.units[unit].1;
            let mut operations = location.operations(home.encoding());
            let address = match operations.next().ok()?? {
                gimli::Operation::Address { address } => address,
                gimli::Operation::AddressIndex { index } => self.dwarf.address(home, index).ok()?,
                _ => return None,
            };
            // A computation that goes on is no plain address (thread-local variables, for one).
            if operations.next().ok()?.is_some() {
                return None;
            }
            entry.address = Some(address);
        }
        entry.name = entry
            .name
            .take()
            .or_else(|| self.text(unit, &die, dw::DW_AT_name).filter(|n| !n.is_empty()));
        entry.type_of = self.refers(unit, &die, dw::DW_AT_type).or(entry.type_of);
        if entry.line.is_none() {
            entry.line = self
                .number(&die, dw::DW_AT_decl_line)
                .and_then(|n| n.try_into().ok())
                .filter(|&n| n > 0);
            entry.file = match die.attr_value(dw::DW_AT_decl_file) {
                Some(AttributeValue::FileIndex(number)) => Some((unit, number)),
                _ => None,
            }
            .or(entry.file);
        }
        if depth < 4 {
            for attribute in [dw::DW_AT_specification, dw::DW_AT_abstract_origin] {
                // With link-time optimization the unit that the source was is another one.
                if let Some((home, offset)) = self.refers(unit, &die, attribute) {
                    let inner = entry.type_of;
                    let _ = self.describe(home, offset, entry, depth + 1);
                    // The definition's type is complete where the declaration's need not be.
                    entry.type_of = inner.or(entry.type_of);
                }
            }
        }
        Some(())
    }

    fn shape(&mut self, unit: usize, offset: UnitOffset) -> Shape {
        if let Some(known) = self.known.get(&(unit, offset)) {
            return known.clone();
        }
        let mut fuel = 256;
        let dimensions = self.dimensions(unit, offset).unwrap_or_default();
        let brackets = if self.is_fortran(unit) { Brackets::Round } else { Brackets::Square };
        let shape = Shape {
            name: self
                .spell(Some((unit, offset)), String::new(), MAX_DEPTH, &mut fuel)
                .filter(|n| n.len() <= MAX_SPELLING),
            size: self.size(unit, offset, MAX_DEPTH),
            dimensions,
            brackets,
            fields: self.fields(unit, offset),
        };
        self.known.insert((unit, offset), shape.clone());
        shape
    }

    /// Follows typedefs and qualifiers.
    fn plain(&self, mut unit: usize, mut offset: UnitOffset) -> Option<(usize, UnitOffset, Die)> {
        for _ in 0..MAX_DEPTH {
            let die = self.die(unit, offset)?;
            if !is_qualifier(die.tag()) && die.tag() != dw::DW_TAG_typedef {
                return Some((unit, offset, die));
            }
            (unit, offset) = self.refers(unit, &die, dw::DW_AT_type)?;
        }
        None
    }

    /// First index and length of the dimensions of an array type (0: not said).
    fn subranges(&self, unit: usize, offset: UnitOffset) -> Option<Vec<(i64, u64)>> {
        let home = &self.units[unit].1;
        let mut tree = home.header.entries_tree(&home.abbreviations, Some(offset)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut ranges = Vec::new();
        let least = self.least_index(unit);
        while let Some(child) = children.next().ok()? {
            self.burn()?;
            let die = child.entry();
            if die.tag() != dw::DW_TAG_subrange_type || ranges.len() >= 16 {
                continue;
            }
            let bound = |attribute| {
                let value = die.attr_value(attribute)?;
                let small = value.udata_value().and_then(|n| i64::try_from(n).ok());
                small.or_else(|| value.sdata_value())
            };
            let first = bound(dw::DW_AT_lower_bound).unwrap_or(least);
            let last = die.attr_value(dw::DW_AT_upper_bound).and_then(|value| {
                let wide = value.udata_value().map(i128::from);
                wide.or_else(|| value.sdata_value().map(i128::from))
            });
            let between = last.and_then(|last| u64::try_from(last + 1 - i128::from(first)).ok());
            let count = self.number(die, dw::DW_AT_count).or(between);
            ranges.push((first, count.unwrap_or(0)));
        }
        Some(ranges)
    }

    /// Dimensions, over arrays of arrays too.
    fn dimensions(&self, unit: usize, offset: UnitOffset) -> Option<Vec<Dimension>> {
        let (mut unit, mut offset, mut die) = self.plain(unit, offset)?;
        let mut arrays = Vec::new();
        while die.tag() == dw::DW_TAG_array_type && arrays.len() < 16 {
            arrays.push((self.subranges(unit, offset)?, self.is_column_major(unit, &die)));
            let (element_unit, element) = self.refers(unit, &die, dw::DW_AT_type)?;
            (unit, offset, die) = self.plain(element_unit, element)?;
        }
        let mut stride = self.size(unit, offset, MAX_DEPTH).filter(|&size| size > 0)?;
        // The innermost first.
        let mut all: Vec<Dimension> = Vec::new();
        for (ranges, column_major) in arrays.iter().rev() {
            let mut own = vec![Dimension::default(); ranges.len()];
            for k in 0..ranges.len() {
                let k = if *column_major { k } else { ranges.len() - 1 - k };
                let (first, length) = ranges[k];
                own[k] = Dimension { first, length, stride };
                stride = stride.checked_mul(length.max(1))?;
            }
            own.append(&mut all);
            all = own;
        }
        all.truncate(16);
        Some(all)
    }

    fn is_column_major(&self, unit: usize, array: &Die) -> bool {
        match array.attr_value(dw::DW_AT_ordering) {
            Some(AttributeValue::Ordering(order)) => order == dw::DW_ORD_col_major,
            _ => self.is_fortran(unit),
        }
    }

    fn size(&self, unit: usize, offset: UnitOffset, depth: u32) -> Option<u64> {
        let (unit, offset, die) = self.plain(unit, offset)?;
        if let Some(size) = self.number(&die, dw::DW_AT_byte_size) {
            return Some(size);
        }
        match die.tag() {
            dw::DW_TAG_array_type => {
                let (element_unit, element) = self.refers(unit, &die, dw::DW_AT_type)?;
                let size = self.size(element_unit, element, depth.checked_sub(1)?)?;
                self.subranges(unit, offset)?
                    .iter()
                    .try_fold(size, |product, &(_, n)| product.checked_mul(n))
            }
            dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_rvalue_reference_type => {
                Some(self.units[unit].1.header.encoding().address_size.into())
            }
            _ => None,
        }
    }

    fn language(&self, unit: usize) -> Option<DwLang> {
        let home = &self.units[unit].1;
        let die = self.die(unit, home.header.root_offset())?;
        match die.attr_value(dw::DW_AT_language)? {
            AttributeValue::Language(language) => Some(language),
            _ => None,
        }
    }

    /// Where indices begin, unless an array says something else.
    fn least_index(&self, unit: usize) -> i64 {
        self.language(unit).and_then(DwLang::default_lower_bound).map_or(0, |least| least as i64)
    }

    fn is_fortran(&self, unit: usize) -> bool {
        const FORTRAN: [DwLang; 6] = [
            dw::DW_LANG_Fortran77,
            dw::DW_LANG_Fortran90,
            dw::DW_LANG_Fortran95,
            dw::DW_LANG_Fortran03,
            dw::DW_LANG_Fortran08,
            dw::DW_LANG_Fortran18,
        ];
        self.language(unit).is_some_and(|language| FORTRAN.contains(&language))
    }

    fn is_c(&self, unit: usize) -> bool {
        const C: [DwLang; 6] = [
            dw::DW_LANG_C,
            dw::DW_LANG_C89,
            dw::DW_LANG_C99,
            dw::DW_LANG_C11,
            dw::DW_LANG_C17,
            dw::DW_LANG_ObjC,
        ];
        self.language(unit).is_some_and(|language| C.contains(&language))
    }

    /// The type as C declares something of it, with `inner` in the place of the name: `char *[3]`,
    /// `int (*)[4]`, `void (*)(int)`. `fuel` bounds the entries visited, since parameters branch.
    fn spell(
        &self,
        at: Option<(usize, UnitOffset)>,
        inner: String,
        depth: u32,
        fuel: &mut u32,
    ) -> Option<String> {
        *fuel = fuel.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        if inner.len() > MAX_SPELLING {
            return None;
        }
        let Some((unit, offset)) = at else { return Some(join("void".into(), &inner)) };
        let die = self.die(unit, offset)?;
        let next = self.refers(unit, &die, dw::DW_AT_type);
        let pointer = match die.tag() {
            dw::DW_TAG_pointer_type => "*",
            dw::DW_TAG_reference_type => "&",
            dw::DW_TAG_rvalue_reference_type => "&&",
            _ => "",
        };
        if !pointer.is_empty() {
            let mut inner = format!("{pointer}{inner}");
            let target = self.tag(next);
            if matches!(target, Some(dw::DW_TAG_array_type | dw::DW_TAG_subroutine_type)) {
                inner = format!("({inner})");
            }
            return self.spell(next, inner, depth, fuel);
        }
        let named = || self.text(unit, &die, dw::DW_AT_name);
        let keyword = |word: &str| match named() {
            Some(name) if self.is_c(unit) => format!("{word} {name}"),
            Some(name) => name,
            None => format!("{word} {{...}}"),
        };
        let base = match die.tag() {
            tag if is_qualifier(tag) => return self.spell_qualified(tag, next, inner, depth, fuel),
            dw::DW_TAG_array_type => {
                let ranges = self.spelled_ranges(unit, offset)?;
                return self.spell(next, inner + &ranges, depth, fuel);
            }
            dw::DW_TAG_subroutine_type => {
                let mut parameters = self.spell_parameters(unit, offset, depth, fuel)?;
                if parameters.is_empty() && die.has_attr(dw::DW_AT_prototyped) {
                    parameters.push("void".into());
                }
                let inner = format!("{inner}({})", parameters.join(", "));
                return self.spell(next, inner, depth, fuel);
            }
            dw::DW_TAG_structure_type => keyword("struct"),
            dw::DW_TAG_class_type => keyword("class"),
            dw::DW_TAG_union_type => keyword("union"),
            dw::DW_TAG_enumeration_type => keyword("enum"),
            _ => named()?,
        };
        Some(join(base, &inner))
    }

    /// `[2][3]`, `[5..10]`, of Fortran `(2,3)`, `(-2:2,2)`; without a length nothing, `*` in Fortran.
    fn spelled_ranges(&self, unit: usize, offset: UnitOffset) -> Option<String> {
        let ranges = self.subranges(unit, offset)?;
        let least = self.least_index(unit);
        let fortran = self.is_fortran(unit);
        let spelled = ranges.iter().map(|&(first, length)| {
            let last = i128::from(first) + i128::from(length) - 1;
            match (length, fortran) {
                (0, true) => "*".to_owned(),
                (0, false) => String::new(),
                (n, _) if first == least => n.to_string(),
                (_, true) => format!("{first}:{last}"),
                (_, false) => format!("{first}..{last}"),
            }
        });
        let spelled: Vec<String> = spelled.collect();
        Some(match fortran {
            true => format!("({})", spelled.join(",")),
            false => spelled.iter().map(|one| format!("[{one}]")).collect(),
        })
    }

    fn tag(&self, at: Option<(usize, UnitOffset)>) -> Option<DwTag> {
        at.and_then(|(unit, offset)| self.die(unit, offset)).map(|die| die.tag())
    }

    /// A type with a qualifier, whose word stands right of a pointer and left of anything
    /// else.
    fn spell_qualified(
        &self,
        qualifier: DwTag,
        at: Option<(usize, UnitOffset)>,
        inner: String,
        depth: u32,
        fuel: &mut u32,
    ) -> Option<String> {
        let word = match qualifier {
            dw::DW_TAG_const_type => "const",
            dw::DW_TAG_volatile_type => "volatile",
            dw::DW_TAG_restrict_type => "restrict",
            _ => "_Atomic",
        };
        // GCC qualifies an array beside its elements, which C does not spell.
        let (mut target, mut through_array) = (at, false);
        for _ in 0..MAX_DEPTH {
            match target.and_then(|(unit, offset)| Some((unit, self.die(unit, offset)?))) {
                Some((_, below)) if through_array && below.tag() == qualifier => {
                    return self.spell(at, inner, depth, fuel);
                }
                Some((unit, below)) if is_qualifier(below.tag()) => {
                    target = self.refers(unit, &below, dw::DW_AT_type);
                }
                Some((unit, below)) if below.tag() == dw::DW_TAG_array_type => {
                    target = self.refers(unit, &below, dw::DW_AT_type);
                    through_array = true;
                }
                _ => break,
            }
        }
        if self.tag(target) == Some(dw::DW_TAG_pointer_type) && !through_array {
            self.spell(at, join(word.into(), &inner), depth, fuel)
        } else {
            Some(format!("{word} {}", self.spell(at, inner, depth, fuel)?))
        }
    }

    fn spell_parameters(
        &self,
        unit: usize,
        offset: UnitOffset,
        depth: u32,
        fuel: &mut u32,
    ) -> Option<Vec<String>> {
        let home = &self.units[unit].1;
        let mut tree = home.header.entries_tree(&home.abbreviations, Some(offset)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut parameters = Vec::new();
        while let Some(child) = children.next().ok()? {
            self.burn()?;
            match child.entry().tag() {
                dw::DW_TAG_formal_parameter => {
                    let at = self.refers(unit, child.entry(), dw::DW_AT_type);
                    parameters.push(self.spell(at, String::new(), depth, fuel)?);
                }
                dw::DW_TAG_unspecified_parameters => parameters.push("...".into()),
                _ => {}
            }
        }
        Some(parameters)
    }
}

fn is_qualifier(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type
    )
}

fn join(base: String, inner: &str) -> String {
    match inner.as_bytes().first() {
        None => base,
        Some(b'[') => base + inner,
        _ => format!("{base} {inner}"),
    }
}
