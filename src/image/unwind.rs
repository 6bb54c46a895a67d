//! Stopped programs: core files, the frames of their stacks (`.eh_frame`, `.debug_frame`), and
//! local variables of a frame. x86-64.

use super::dwarf::{self, R};
use super::elf::ElfFile;
use super::{Image, ImageError};
use gimli::{
    AttributeValue, BaseAddresses, CfaRule, DebugFrame, EhFrame, Encoding, EvaluationResult,
    Expression, Location, Reader, Register, RegisterRule, UnwindContext, UnwindSection,
    constants as dw,
};
use goblin::elf::program_header::{PT_LOAD, PT_NOTE, ProgramHeader};
use std::path::Path;
use std::sync::Arc;

/// DWARF numbers of the x86-64 registers: 0 to 15, and the return address.
const RBP: u16 = 6;
const RSP: u16 = 7;
const RETURN: u16 = 16;
/// Places of the DWARF registers 0 to 16 in `user_regs_struct`.
const PLACE: [usize; 17] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16];
/// Where `user_regs_struct` begins in a `prstatus` note.
const REGISTERS: usize = 112;
const NT_PRSTATUS: u32 = 1;
const NT_AUXV: u32 = 6;
const NT_FILE: u32 = 0x4649_4c45;
const AT_ENTRY: u64 = 9;
/// Frames that are looked for at most.
pub const DEEPEST: usize = 10_000;

/// Register values by DWARF number; the return address is the place in the code.
pub type Registers = [Option<u64>; 17];

/// A file that was mapped: first address, offset in the file, name.
type Mapping = (u64, u64, String);

/// A core file.
pub struct Core {
    file: ElfFile,
    memory: Vec<ProgramHeader>,
    /// Registers of each thread, the one that was stopped first.
    pub threads: Vec<Registers>,
    mappings: Vec<Mapping>,
    entry: Option<u64>,
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

impl Core {
    /// Whether a file is a core file, by its first bytes.
    pub fn is(head: &[u8]) -> bool {
        head.starts_with(b"\x7fELF") && head.get(16..18) == Some(&[4, 0])
    }

    /// Reads a core file of an x86-64 program; what is damaged in it is missing.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Core, ImageError> {
        let file = ElfFile::any(path, Arc::from(bytes))?;
        if file.isa != crate::event::Isa::X86_64 {
            return Err(ImageError::NotElf {
                path: path.to_owned(),
                message: "core files are read of x86-64 programs only".into(),
            });
        }
        let count = usize::from(file.header.e_phnum);
        let offset = usize::try_from(file.header.e_phoff).unwrap_or(usize::MAX);
        let headers =
            ProgramHeader::parse(&file.data, offset, count.min(file.data.len() / 56), file.ctx)
                .unwrap_or_default();
        let mut core = Core {
            memory: Vec::new(),
            threads: Vec::new(),
            mappings: Vec::new(),
            entry: None,
            file,
        };
        for header in &headers {
            if header.p_type == PT_NOTE {
                let data = core.file.data.clone();
                core.notes(super::elf::slice(&data, header.p_offset, header.p_filesz));
            }
        }
        core.memory =
            headers.into_iter().filter(|h| h.p_type == PT_LOAD && h.p_filesz > 0).collect();
        core.memory.sort_by_key(|h| h.p_vaddr);
        Ok(core)
    }

    fn notes(&mut self, mut notes: &[u8]) {
        let padded = |n: u32| (n as usize).saturating_add(3) & !3;
        while let (Some(name), Some(size), Some(kind)) =
            (half(notes, 0), half(notes, 4), half(notes, 8))
        {
            let from = 12usize.saturating_add(padded(name));
            let Some(content) = notes.get(from..from.saturating_add(size as usize)) else { return };
            match kind {
                NT_PRSTATUS => {
                    let register = |i: usize| word(content, REGISTERS + 8 * i);
                    self.threads.push(PLACE.map(register));
                }
                NT_AUXV => {
                    let pair =
                        content.chunks_exact(16).find(|pair| word(pair, 0) == Some(AT_ENTRY));
                    self.entry = pair.and_then(|pair| word(pair, 8)).or(self.entry);
                }
                NT_FILE => self.files(content),
                _ => {}
            }
            let Some(rest) = notes.get(from.saturating_add(padded(size))..) else { return };
            notes = rest;
        }
    }

    fn files(&mut self, content: &[u8]) {
        let (Some(count), Some(page)) = (word(content, 0), word(content, 8)) else { return };
        let count = count.min(content.len() as u64 / 24) as usize;
        let names = content.get(16 + 24 * count..).unwrap_or_default().split(|&b| b == 0);
        for (i, name) in (0..count).zip(names) {
            if let (Some(start), Some(offset)) =
                (word(content, 16 + 24 * i), word(content, 32 + 24 * i))
            {
                self.mappings.push((
                    start,
                    offset.saturating_mul(page),
                    String::from_utf8_lossy(name).into_owned(),
                ));
            }
        }
    }

    /// Name of the file that was mapped at an address.
    pub fn mapped(&self, address: u64) -> Option<&str> {
        self.mappings.iter().filter(|m| m.0 <= address).max_by_key(|m| m.0).map(|m| m.2.as_str())
    }

    /// Run-time minus link-time address of a file.
    pub fn bias(&self, image: &Image) -> u64 {
        if !image.pie {
            return 0;
        }
        let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        // A library may be given by a link to it.
        let real = std::fs::canonicalize(&image.path).unwrap_or_default();
        let names = [base(&image.path.to_string_lossy()), base(&real.to_string_lossy())];
        let first = self
            .mappings
            .iter()
            .filter(|m| m.1 == 0 && names.contains(&base(&m.2)))
            .map(|m| m.0)
            .min();
        match (first, self.entry) {
            (Some(start), _) => start.wrapping_sub(image.load_range.0 & !0xfff),
            (None, Some(entry)) => entry.wrapping_sub(image.entry),
            (None, None) => 0,
        }
    }

    /// Bytes of memory that the file has, to the end of their segment.
    fn bytes(&self, address: u64) -> Option<&[u8]> {
        let after = self.memory.partition_point(|h| h.p_vaddr <= address);
        let header = &self.memory[after.checked_sub(1)?];
        let inside = address - header.p_vaddr;
        super::elf::slice(&self.file.data, header.p_offset, header.p_filesz)
            .get(usize::try_from(inside).ok()?..)
    }
}

/// A frame of a stack.
pub struct StackFrame {
    /// Index of the image that holds its code, None if none was given.
    pub image: Option<usize>,
    /// Address of the code that it stands at, for look-ups: of a caller the call, not what follows
    /// it. Link-time where `image` is.
    pub address: u64,
    registers: Registers,
    cfa: Option<u64>,
    bias: u64,
}

/// A stopped program with the files that it was made of.
pub struct Stopped<'a> {
    pub core: &'a Core,
    images: Vec<(&'a Image, u64)>,
}

impl<'a> Stopped<'a> {
    /// `images`: with their biases, as [`Core::bias`] gives them.
    pub fn new(core: &'a Core, images: impl Iterator<Item = (&'a Image, u64)>) -> Stopped<'a> {
        Stopped { core, images: images.collect() }
    }

    /// Memory: of the core file, else of the files that it leaves out.
    pub fn word(&self, address: u64) -> Option<u64> {
        if let Some(value) = self.core.bytes(address).and_then(|b| word(b, 0)) {
            return Some(value);
        }
        self.images
            .iter()
            .find_map(|(image, bias)| word(image.bytes(address.wrapping_sub(*bias))?, 0))
    }

    fn image_at(&self, address: u64) -> Option<usize> {
        let inside = |(image, bias): &(&Image, u64)| {
            let at = address.wrapping_sub(*bias);
            image.load_range.0 <= at && at < image.load_range.1
        };
        self.images.iter().position(inside)
    }

    /// Frames of a thread, innermost first, and whether the last one is the outermost.
    pub fn frames(&self, thread: &Registers) -> (Vec<StackFrame>, bool) {
        let mut found: Vec<StackFrame> = Vec::new();
        let mut registers = *thread;
        let mut exact = true;
        while let Some(pc) = registers[RETURN as usize].filter(|&pc| pc != 0) {
            let lookup = if exact { pc } else { pc.wrapping_sub(1) };
            let image = self.image_at(lookup);
            let bias = image.map_or(0, |i| self.images[i].1);
            let address = lookup.wrapping_sub(bias);
            found.push(StackFrame { image, address, registers, cfa: None, bias });
            let Some(image) = image.filter(|_| found.len() < DEEPEST) else {
                return (found, false);
            };
            let Some(step) = self.step(self.images[image].0, address, bias, &registers) else {
                return (found, false);
            };
            if let Some(frame) = found.last_mut() {
                frame.cfa = Some(step.cfa);
            }
            let Some(caller) = step.caller else { return (found, true) };
            // A stack grows down: callers are above.
            if caller[RSP as usize] <= registers[RSP as usize] && !step.signal {
                return (found, false);
            }
            (registers, exact) = (caller, step.signal);
        }
        (found, true)
    }

    fn step(&self, image: &Image, address: u64, bias: u64, registers: &Registers) -> Option<Step> {
        let at =
            |name| image.file.section_named(name).map_or(0, |i| image.file.sections[i].sh_addr);
        let bases = BaseAddresses::default()
            .set_eh_frame(at(".eh_frame"))
            .set_text(at(".text"))
            .set_got(at(".got"));
        let run = |expression: Expression<R>, initial| {
            let encoding = Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };
            self.evaluate(
                expression,
                encoding,
                initial,
                &Known { registers, cfa: None, base: None, bias },
            )
        };
        let mut eh = dwarf::section(&image.file, ".eh_frame").map(EhFrame::from);
        let mut debug = dwarf::section(&image.file, ".debug_frame").map(DebugFrame::from);
        eh.iter_mut().for_each(|f| f.set_address_size(8));
        debug.iter_mut().for_each(|f| f.set_address_size(8));
        eh.and_then(|frames| self.row(&frames, &bases, address, registers, &run)).or_else(|| {
            debug.and_then(|frames| self.row(&frames, &bases, address, registers, &run))
        })
    }

    fn row<S: UnwindSection<R>>(
        &self,
        frames: &S,
        bases: &BaseAddresses,
        address: u64,
        registers: &Registers,
        run: &dyn Fn(Expression<R>, Option<u64>) -> Option<Value>,
    ) -> Option<Step> {
        let fde = frames.fde_for_address(bases, address, S::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(frames, bases, &mut context, address).ok()?;
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                (*registers.get(register.0 as usize)?)?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(expression) => {
                run(expression.get(frames).ok()?, None)?.address()?
            }
        };
        let mut caller = *registers;
        caller[RSP as usize] = Some(cfa);
        let mut outermost = false;
        for number in 0..17u16 {
            let Some(rule) = row.register(Register(number)) else { continue };
            let slot = &mut caller[number as usize];
            match rule {
                RegisterRule::Undefined => {
                    outermost |= number == RETURN;
                    *slot = None;
                }
                RegisterRule::SameValue => {}
                RegisterRule::Offset(n) => *slot = self.word(cfa.wrapping_add_signed(n)),
                RegisterRule::ValOffset(n) => *slot = Some(cfa.wrapping_add_signed(n)),
                RegisterRule::Register(other) => {
                    *slot = registers.get(other.0 as usize).copied().flatten();
                }
                RegisterRule::Expression(e) => {
                    *slot = run(e.get(frames).ok()?, Some(cfa))
                        .and_then(Value::address)
                        .and_then(|a| self.word(a));
                }
                RegisterRule::ValExpression(e) => {
                    *slot = run(e.get(frames).ok()?, Some(cfa)).and_then(Value::address);
                }
                _ => *slot = None,
            }
        }
        Some(Step {
            cfa,
            caller: (!outermost).then_some(caller),
            signal: fde.is_signal_trampoline(),
        })
    }

    fn evaluate(
        &self,
        expression: Expression<R>,
        encoding: Encoding,
        initial: Option<u64>,
        known: &Known,
    ) -> Option<Value> {
        let mut run = expression.evaluation(encoding);
        run.set_max_iterations(10_000);
        if let Some(value) = initial {
            run.set_initial_value(value);
        }
        let mut state = run.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresMemory { address, size: 8, space: None, .. } => {
                    run.resume_with_memory(gimli::Value::Generic(self.word(address)?))
                }
                EvaluationResult::RequiresRegister { register, .. } => run.resume_with_register(
                    gimli::Value::Generic((*known.registers.get(register.0 as usize)?)?),
                ),
                EvaluationResult::RequiresFrameBase => run.resume_with_frame_base(known.base?),
                EvaluationResult::RequiresCallFrameCfa => {
                    run.resume_with_call_frame_cfa(known.cfa?)
                }
                EvaluationResult::RequiresRelocatedAddress(a) => {
                    run.resume_with_relocated_address(a.wrapping_add(known.bias))
                }
                _ => return None,
            }
            .ok()?;
        }
        match run.as_result() {
            [piece] => match piece.location {
                Location::Address { address } => Some(Value::Address(address)),
                Location::Register { register } => Some(Value::Register(register)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Address of a local variable in a frame.
    pub fn locate(&self, frame: &StackFrame, variable: &Local) -> Option<u64> {
        let run = |e: &Expression<R>, base| {
            let StackFrame { registers, cfa, bias, .. } = frame;
            let known = Known { registers, cfa: *cfa, base, bias: *bias };
            self.evaluate(e.clone(), variable.encoding, None, &known)
        };
        let base = variable.frame_base.as_ref().and_then(|e| match run(e, None)? {
            Value::Address(address) => Some(address),
            Value::Register(register) => {
                frame.registers.get(register.0 as usize).copied().flatten()
            }
        });
        match run(&variable.location, base.or(frame.registers[RBP as usize]))? {
            Value::Address(address) => Some(address),
            Value::Register(_) => None,
        }
    }
}

/// What an expression may ask for.
struct Known<'a> {
    registers: &'a Registers,
    cfa: Option<u64>,
    /// The frame base.
    base: Option<u64>,
    /// Added to link-time addresses.
    bias: u64,
}

/// What an expression gives.
#[derive(Clone, Copy)]
enum Value {
    Address(u64),
    Register(Register),
}

impl Value {
    fn address(self) -> Option<u64> {
        match self {
            Value::Address(address) => Some(address),
            Value::Register(_) => None,
        }
    }
}

struct Step {
    cfa: u64,
    /// None: this frame is the outermost.
    caller: Option<Registers>,
    signal: bool,
}

/// A local variable with a place on the stack.
pub struct Local {
    pub name: String,
    /// Elements, if it is an array.
    pub elements: Option<u64>,
    /// Link-time addresses of the function that has it, half open.
    ranges: Vec<(u64, u64)>,
    location: Expression<R>,
    frame_base: Option<Expression<R>>,
    encoding: Encoding,
}

impl Local {
    pub fn is_at(&self, address: u64) -> bool {
        self.ranges.iter().any(|r| r.0 <= address && address < r.1)
    }
}

impl Image {
    /// Local variables whose names begin so, of all functions.
    pub fn locals(&self, prefix: &str) -> Vec<Local> {
        let mut found = Vec::new();
        if let Some(debug) = self.debug() {
            let mut headers = debug.dwarf.units();
            while let Ok(Some(header)) = headers.next() {
                if let Ok(unit) = debug.dwarf.unit(header) {
                    // A damaged unit gives what stands before the damage.
                    let _ = unit_locals(&debug.dwarf, &unit, prefix, &mut found);
                }
            }
        }
        found
    }
}

fn unit_locals(
    dwarf: &gimli::Dwarf<R>,
    unit: &gimli::Unit<R>,
    prefix: &str,
    found: &mut Vec<Local>,
) -> Result<(), gimli::Error> {
    type Function = (isize, Vec<(u64, u64)>, Option<Expression<R>>);
    let mut functions: Vec<Function> = Vec::new();
    let mut cursor = unit.entries();
    while let Some(entry) = cursor.next_dfs()? {
        let depth = entry.depth();
        while functions.last().is_some_and(|f| f.0 >= depth) {
            functions.pop();
        }
        if entry.tag() == dw::DW_TAG_subprogram {
            let mut ranges = Vec::new();
            let mut list = dwarf.die_ranges(unit, entry)?;
            while let Some(range) = list.next()? {
                ranges.push((range.begin, range.end));
            }
            let base = match entry.attr_value(dw::DW_AT_frame_base) {
                Some(AttributeValue::Exprloc(e)) => Some(e),
                _ => None,
            };
            functions.push((depth, ranges, base));
        }
        if entry.tag() != dw::DW_TAG_variable {
            continue;
        }
        let (Some(function), Some(name), Some(AttributeValue::Exprloc(location))) = (
            functions.last(),
            entry.attr_value(dw::DW_AT_name),
            entry.attr_value(dw::DW_AT_location),
        ) else {
            continue;
        };
        let name = dwarf.attr_string(unit, name)?.to_string_lossy()?.into_owned();
        if !name.starts_with(prefix) {
            continue;
        }
        let elements = match entry.attr_value(dw::DW_AT_type) {
            Some(AttributeValue::UnitRef(offset)) => elements(unit, offset),
            _ => None,
        };
        let (ranges, frame_base) = (function.1.clone(), function.2.clone());
        found.push(Local {
            name,
            elements,
            ranges,
            location,
            frame_base,
            encoding: unit.encoding(),
        });
    }
    Ok(())
}

/// Elements of an array type, qualifiers looked through.
fn elements(unit: &gimli::Unit<R>, mut offset: gimli::UnitOffset) -> Option<u64> {
    for _ in 0..16 {
        let mut tree = unit.entries_tree(Some(offset)).ok()?;
        let root = tree.root().ok()?;
        if root.entry().tag() != dw::DW_TAG_array_type {
            let Some(AttributeValue::UnitRef(next)) = root.entry().attr_value(dw::DW_AT_type)
            else {
                return None;
            };
            offset = next;
            continue;
        }
        let mut children = root.children();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            if entry.tag() == dw::DW_TAG_subrange_type {
                let number = |name| entry.attr_value(name).and_then(|v| v.udata_value());
                return number(dw::DW_AT_count)
                    .or_else(|| number(dw::DW_AT_upper_bound)?.checked_add(1));
            }
        }
        return None;
    }
    None
}
