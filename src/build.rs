//! `addfg build`: from traces and ELF files to a database. Three threads: the reader's, the pass's (the caller's) and the
//! writer's, with batches of columns between them.

use crate::analysis::block::{self, AccessPlace};
use crate::analysis::pass::{FunctionSums, Options as PassOptions, Pass, PlaceCode, Side, Summary};
use crate::analysis::shadow::{Place, SectionRange};
use crate::analysis::{CallKind, CodeMap};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::event::{Carries, Isa, RunBatch, StepBatch};
use crate::image::{self, AddressSpace, FunctionKind, FunctionRef, Image, ImageError, Loaded};
use crate::isa::elaborate::{self, Elaborator};
use crate::isa::{self, Decoded, Decoder};
use crate::store::columns::ColumnOutput;
use crate::store::writer::{Rows, RunRows, Writer};
use crate::store::{SCHEMA_VERSION, StoreError};
use crate::trace::input::Input;
use crate::trace::{self, Context, Sink, TraceError};
use duckdb::{Connection, params};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc;

/// How much a database keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Sums by function and instruction.
    Summary,
    /// And calls, intervals, dataflow between instances.
    Instance,
    /// And the low level, and the communications that cross call instances.
    Pairs,
    /// And those inside one.
    Full,
}

impl Detail {
    pub fn name(self) -> &'static str {
        ["summary", "instance", "pairs", "full"][self as usize]
    }
}

/// An ELF file and the bias it was loaded at, if that is known.
#[derive(Clone, Debug)]
pub struct ElfInput {
    pub path: PathBuf,
    pub bias: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub traces: Vec<PathBuf>,
    pub elfs: Vec<ElfInput>,
    pub output: PathBuf,
    pub format: Option<String>,
    pub layout: Option<String>,
    pub detail: Detail,
    pub literal_saves: bool,
    pub strict: bool,
    pub force: bool,
    /// Bytes of resident memory above which the build ends; 0: three quarters of the machine's.
    pub memory_limit: u64,
    pub jobs: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the trace's addresses ({first:#x} ...) fall in no function of {elf}: is it the program that was recorded? \
         For a position-independent program give the load address: --elf FILE@ADDRESS"
    )]
    WrongElf { first: u64, elf: String },
    #[error("--elf files are for different instruction sets: {0}")]
    MixedElf(String),
    #[error("the log is of an instruction set that the ELF file is not for ({0})")]
    WrongIsa(String),
    #[error("which instruction set is this trace of? Give the program with --elf")]
    NoIsa,
    #[error("{position}: {message}; --strict refuses it")]
    Strict { position: String, message: String },
    #[error(
        "more than {limit_mb} MiB of memory in use after {steps} steps (it grows with the bytes that the program touches and \
         its function pairs): raise --memory-limit, use --detail summary, or record a shorter run"
    )]
    Memory { limit_mb: u64, steps: u64 },
    #[error("interrupted; {0} is as it was")]
    Interrupted(String),
}

impl From<duckdb::Error> for BuildError {
    fn from(e: duckdb::Error) -> Self {
        BuildError::Store(e.into())
    }
}

/// What a build did, for the line that it prints.
#[derive(Clone, Debug)]
pub struct Report {
    pub format: &'static str,
    pub steps: u64,
    pub calls: u64,
    pub functions: usize,
    pub diagnostics: Diagnostics,
}

enum Message {
    Begin(Carries, Option<Isa>),
    Steps(StepBatch),
    Runs(RunBatch),
    Diagnostic(Diagnostic),
    Progress(u64),
    /// The next trace file begins: dictionaries start anew.
    Done(Result<(), TraceError>),
}

struct Channel(mpsc::SyncSender<Message>);

impl Channel {
    fn send(&self, message: Message) -> Result<(), TraceError> {
        self.0.send(message).map_err(|_| TraceError::Stopped)
    }
}

impl Sink for Channel {
    fn begin(&mut self, carries: Carries, isa: Option<Isa>) -> Result<(), TraceError> {
        self.send(Message::Begin(carries, isa))
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.send(Message::Steps(std::mem::take(batch)))
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        self.send(Message::Runs(std::mem::take(batch)))
    }
    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        // If nobody listens any more the next batch says so.
        let _ = self.send(Message::Diagnostic(diagnostic));
    }
    fn progress(&mut self, bytes: u64) {
        let _ = self.send(Message::Progress(bytes));
    }
}

/// A row of `function_symbol` whose number is its id - 1.
enum FunctionRow {
    Symbol(FunctionRef),
    Unknown(Option<usize>),
    KernelHelper,
}

/// Functions by address, numbered in order of first execution.
struct Functions<'a> {
    space: &'a AddressSpace,
    kernel_helpers: bool,
    ids: FxHashMap<FunctionRef, u32>,
    unknown: FxHashMap<Option<usize>, u32>,
    helper: u32,
    rows: Vec<FunctionRow>,
    stub: Vec<bool>,
}

impl<'a> Functions<'a> {
    fn new(space: &'a AddressSpace, kernel_helpers: bool) -> Self {
        Functions {
            space,
            kernel_helpers,
            ids: FxHashMap::default(),
            unknown: FxHashMap::default(),
            helper: 0,
            rows: Vec::new(),
            stub: vec![false],
        }
    }
    fn add(&mut self, row: FunctionRow, stub: bool) -> u32 {
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
}

type ThePass<'a> =
    Pass<Functions<'a>, ColumnOutput<Box<dyn FnMut(crate::store::columns::Table, Vec<duckdb::arrow::array::ArrayRef>) + 'a>>>;

/// Builds a database. `progress` is told of the bytes consumed and, first, of the bytes there are (0: unknown); it returns true to
/// interrupt.
pub fn build(options: &Options, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<Report, BuildError> {
    // Refuse before any work.
    if options.output.exists() && !options.force {
        return Err(StoreError::Exists { path: options.output.display().to_string() }.into());
    }
    let mut images = Vec::new();
    for elf in &options.elfs {
        images.push((Image::open(&elf.path)?, elf.bias));
    }
    let isa = images.first().map(|(i, _)| i.isa);
    if let Some((other, _)) = images.iter().find(|(i, _)| Some(i.isa) != isa) {
        return Err(BuildError::MixedElf(other.path.display().to_string()));
    }
    let mut inputs = Vec::new();
    for path in &options.traces {
        let input = Input::open(path)?;
        let format = trace::detect(&input, options.format.as_deref())?;
        inputs.push((input, format));
    }
    let format = inputs.first().map_or("", |(_, f)| f.name());
    let total = inputs.iter().map(|(i, _)| i.size()).sum::<Option<u64>>().unwrap_or(0);
    let described: Vec<_> = inputs.iter().map(|(i, f)| (i.name().to_owned(), f.name(), i.size(), i.fingerprint())).collect();
    let (big_endian, jobs) = (images.first().is_some_and(|(i, _)| i.big_endian), options.jobs.max(1));
    let layout = options.layout.clone();

    let (sender, receiver) = mpsc::sync_channel(4);
    let reader = std::thread::spawn(move || {
        let mut channel = Channel(sender);
        for (input, format) in inputs {
            let context = Context { isa, big_endian, code: &|_| None, layout: layout.as_deref(), jobs };
            let result = format.read(input, &context, &mut channel);
            let stop = result.is_err();
            if channel.send(Message::Done(result)).is_err() || stop {
                return;
            }
        }
    });
    let result = Builder::run(options, images, isa, format, described, total, receiver, progress);
    // The receiver is gone: a reader that still runs ends at its next batch.
    let _ = reader.join();
    result
}

/// Tables that have stubs merged into their callers, in the order in which each has what it reads.
pub const FOLDED: [(&str, &str); 4] = [
    ("folded_call", include_str!("../queries/derive/middle/folded_call.sql")),
    ("function_profile_folded", include_str!("../queries/derive/high/function_profile_folded.sql")),
    ("function_edge_folded", include_str!("../queries/derive/high/function_edge_folded.sql")),
    ("call_edge_folded", include_str!("../queries/derive/high/call_edge_folded.sql")),
];

struct Builder;

impl Builder {
    #[allow(clippy::too_many_arguments)]
    fn run(
        options: &Options,
        images: Vec<(Image, Option<u64>)>,
        isa: Option<Isa>,
        format: &'static str,
        described: Vec<(String, &'static str, Option<u64>, Option<u64>)>,
        total: u64,
        receiver: mpsc::Receiver<Message>,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Report, BuildError> {
        let mut diagnostics = Diagnostics::default();
        let mut carries = Carries::default();
        // A position-independent image waits until enough of the trace is known to place it.
        let mut early: Vec<Message> = Vec::new();
        let mut addresses: Vec<u64> = Vec::new();
        let mut messages = receiver.into_iter();
        let mut isa = isa;
        let guess = images.iter().any(|(i, b)| i.pie && b.is_none());
        for message in messages.by_ref() {
            match &message {
                Message::Begin(c, i) => {
                    carries = *c;
                    if let (Some(a), Some(b)) = (isa, i)
                        && a != *b
                    {
                        return Err(BuildError::WrongIsa(format!("{b:?} against {a:?}")));
                    }
                    isa = isa.or(*i);
                }
                Message::Runs(b) => addresses.extend(b.new_insns.iter().map(|i| i.address)),
                Message::Steps(b) => addresses.extend(b.new_insns.iter().map(|i| i.address)),
                _ => {}
            }
            let ends = matches!(message, Message::Done(_));
            early.push(message);
            if ends || (!guess && !addresses.is_empty()) || addresses.len() > 20_000 {
                break;
            }
        }
        let mut loaded = Vec::new();
        for (image, bias) in images {
            let found = bias.or_else(|| if image.pie { image::guess_bias(&image, &addresses) } else { Some(0) });
            if found.is_none() {
                diagnostics.add(Diagnostic {
                    severity: Severity::Warning,
                    code: "bias-unknown",
                    message: format!("where {} was loaded could not be found out", image.path.display()),
                    position: String::new(),
                    remedy: "give its load address: --elf FILE@ADDRESS",
                });
            }
            if image.stripped {
                diagnostics.add(Diagnostic {
                    severity: Severity::Warning,
                    code: "stripped",
                    message: format!("{} has no symbol table: its functions are one, <unknown>", image.path.display()),
                    position: String::new(),
                    remedy: "give the file as it was before strip",
                });
            }
            loaded.push(Loaded { image, bias: found.unwrap_or(0) });
        }
        let space = Rc::new(AddressSpace::new(loaded));
        let isa = isa.ok_or(BuildError::NoIsa)?;

        let sections = sections(&space);
        let ranges = sections.iter().map(|s| SectionRange { first: s.first, last: s.last }).collect();
        let mut writer = Writer::create(&options.output, options.force)?;
        let rows = writer.sender().ok_or(StoreError::Stopped)?;
        let rows2 = rows.clone();
        // A failed send means that the writer has ended: its error is taken when it is joined.
        let send: Box<dyn FnMut(_, _)> = Box::new(move |table, columns| {
            let _ = rows2.send(Rows::Batch(table, columns));
        });
        let registers = isa::registers(isa);
        let sp_tokens = registers.link.is_some();
        let pass_options = PassOptions {
            literal_saves: options.literal_saves,
            communications: options.detail >= Detail::Pairs,
            local_communications: options.detail >= Detail::Full,
            instances: options.detail >= Detail::Instance,
        };
        let functions = Functions::new(&space, isa == Isa::Arm);
        let mut pass: ThePass = Pass::new(functions, ColumnOutput::new(send), pass_options, ranges, registers.size, sp_tokens);
        let mut front = Front::new(isa, space.clone());
        let mut consumed = 0;
        let limit = if options.memory_limit > 0 { options.memory_limit } else { machine_memory() / 4 * 3 };
        for message in early.into_iter().chain(messages) {
            match message {
                Message::Begin(c, _) => carries = c,
                Message::Diagnostic(d) => {
                    if options.strict && d.severity == Severity::Error {
                        return Err(BuildError::Strict { position: d.position, message: d.message });
                    }
                    diagnostics.add(d);
                }
                Message::Progress(bytes) => {
                    consumed += bytes;
                    if progress(consumed, total) {
                        return Err(BuildError::Interrupted(options.output.display().to_string()));
                    }
                }
                Message::Done(result) => {
                    result?;
                    front.end_of_input(&mut pass, options.detail >= Detail::Pairs, &rows);
                }
                Message::Steps(mut batch) => {
                    front.steps(&mut batch, carries, &mut pass, options.detail >= Detail::Pairs, &rows);
                }
                Message::Runs(batch) => {
                    front.runs(batch, &mut pass, options.detail >= Detail::Pairs, &rows);
                    if resident_memory() > limit {
                        return Err(BuildError::Memory { limit_mb: limit >> 20, steps: pass.next_seq() - 1 });
                    }
                }
            }
        }
        for (d, count) in front.diagnostics() {
            diagnostics.add_counted(d, count);
        }
        let summary = pass.finish();
        let counts = pass.block_counts();
        pass.output.finish();
        if !space.images().is_empty() && !pass.code.rows.iter().any(|r| matches!(r, FunctionRow::Symbol(_))) {
            let stripped = space.images().iter().all(|i| i.image.stripped);
            let inside = pass.insns.iter().any(|i| space.image_at(i.def.address).is_some());
            if !(stripped && inside) {
                let elf = space.images().iter().map(|i| i.image.path.display().to_string()).collect::<Vec<_>>().join(", ");
                return Err(BuildError::WrongElf { first: pass.insns.first().map_or(0, |i| i.def.address), elf });
            }
        }
        // All senders go, so that the writer ends.
        let Pass { code, insns, defs, output, .. } = pass;
        drop(output);
        drop(rows);
        let connection = writer.join()?;
        let end = End {
            connection: &connection,
            options,
            space: &space,
            sections: &sections,
            code: &code,
            insns: &insns,
            defs: &defs,
            counts: &counts,
            summary: &summary,
            isa,
            low: options.detail >= Detail::Pairs,
        };
        end.write(&described, carries, &diagnostics)?;
        writer.commit(connection)?;
        Ok(Report { format, steps: summary.steps, calls: summary.calls as u64, functions: code.rows.len(), diagnostics })
    }
}

/// An image section at run time.
struct SectionRow {
    image: usize,
    name: String,
    first: u64,
    last: u64,
    writable: bool,
    executable: bool,
}

/// Sections of all images, by address, disjoint.
fn sections(space: &AddressSpace) -> Vec<SectionRow> {
    let mut rows: Vec<SectionRow> = Vec::new();
    for (image, Loaded { image: elf, bias }) in space.images().iter().enumerate() {
        for s in elf.sections.iter().filter(|s| s.size > 0 && !(s.tls && s.zero)) {
            let first = s.address.wrapping_add(*bias);
            let Some(last) = first.checked_add(s.size - 1) else { continue };
            rows.push(SectionRow { image, name: s.name.clone(), first, last, writable: s.writable, executable: s.executable });
        }
    }
    rows.sort_by_key(|s| (s.first, s.last));
    let mut clipped: Vec<SectionRow> = Vec::new();
    for mut row in rows {
        if let Some(before) = clipped.last() {
            if row.last <= before.last {
                continue;
            }
            row.first = row.first.max(before.last + 1);
        }
        clipped.push(row);
    }
    clipped
}

fn machine_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text.lines().find_map(|l| l.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(u64::MAX, |k| k * 1024)
}

/// Resident bytes of this process; 0 where the system does not tell.
fn resident_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|p| p.parse::<u64>().ok()).map_or(0, |pages| pages * 4096)
}

/// Between the readers and the pass: decodes instructions, turns steps into runs, numbers the dictionaries of several inputs as
/// one.
struct Front {
    isa: Isa,
    space: Rc<AddressSpace>,
    big_endian: bool,
    decoder: Box<dyn Decoder>,
    elaborator: Option<Elaborator>,
    /// Where the ids of the current input's dictionaries begin among the pass's.
    insn_base: u32,
    block_base: u32,
    undecoded: u64,
    first_undecoded: u64,
    problems: Vec<(Diagnostic, u64)>,
}

impl Front {
    fn new(isa: Isa, space: Rc<AddressSpace>) -> Self {
        let big_endian = space.images().first().is_some_and(|i| i.image.big_endian_code);
        Front {
            isa,
            space,
            big_endian,
            decoder: isa::decoder(isa, big_endian),
            elaborator: None,
            insn_base: 0,
            block_base: 0,
            undecoded: 0,
            first_undecoded: 0,
            problems: Vec::new(),
        }
    }

    fn runs(&mut self, mut batch: RunBatch, pass: &mut ThePass, low: bool, rows: &mpsc::SyncSender<Rows>) {
        for def in std::mem::take(&mut batch.new_insns) {
            let space = &self.space;
            let code = |a: u64| space.bytes(a).map(|b| b[..b.len().min(16)].to_vec());
            let (resolved, decoded) = elaborate::resolve(&def, self.isa, &mut *self.decoder, &code);
            match decoded.filter(|d| def.size == 0 || d.size == def.size) {
                Some(decoded) => pass.add_insn(resolved, decoded),
                None => {
                    if self.undecoded == 0 {
                        self.first_undecoded = def.address;
                    }
                    self.undecoded += 1;
                    let unknown = Decoded::unknown(def.size.max(1));
                    pass.add_insn(def, unknown);
                }
            }
        }
        for mut def in std::mem::take(&mut batch.new_blocks) {
            for step in &mut def.steps {
                step.insn += self.insn_base;
            }
            pass.add_block(def);
        }
        if self.block_base > 0 {
            batch.block.iter_mut().for_each(|b| *b += self.block_base);
        }
        let start = pass.next_seq();
        pass.push(&batch);
        if low && !batch.block.is_empty() {
            // A failed send means that the writer has ended: its error is taken when it is joined.
            let _ = rows.send(Rows::Runs(run_rows(batch, pass, start)));
        }
    }

    fn steps(&mut self, batch: &mut StepBatch, carries: Carries, pass: &mut ThePass, low: bool, rows: &mpsc::SyncSender<Rows>) {
        let (isa, big_endian, space) = (self.isa, self.big_endian, self.space.clone());
        let elaborator = self.elaborator.get_or_insert_with(|| {
            let code = move |a: u64| space.bytes(a).map(|b| b[..b.len().min(16)].to_vec());
            Elaborator::new(isa, big_endian, carries, Box::new(code))
        });
        // Where the log does not say which code is Thumb, the ELF's mapping symbols do.
        if isa == Isa::Arm && !carries.thumb {
            for def in &mut batch.new_insns {
                def.thumb = self.space.thumb(def.address).unwrap_or(def.thumb);
            }
        }
        let mut out = RunBatch::default();
        elaborator.push(batch, &mut out);
        self.runs(out, pass, low, rows);
    }

    /// The trace file has ended: the next one has dictionaries of its own.
    fn end_of_input(&mut self, pass: &mut ThePass, low: bool, rows: &mpsc::SyncSender<Rows>) {
        if let Some(mut elaborator) = self.elaborator.take() {
            let mut out = RunBatch::default();
            elaborator.finish(&mut out);
            for problem in elaborator.diagnostics() {
                let mut first = problem.first.clone();
                first.position.clear();
                self.problems.push((first, problem.count));
            }
            self.runs(out, pass, low, rows);
        }
        self.insn_base = pass.insns.len() as u32;
        self.block_base = pass.blocks.len() as u32;
    }

    fn diagnostics(&self) -> Vec<(Diagnostic, u64)> {
        let mut list = self.problems.clone();
        if self.undecoded > 0 {
            let undecoded = Diagnostic {
                severity: Severity::Warning,
                code: "undecoded",
                message: format!(
                    "{} distinct instructions could not be decoded: their register accesses and calls are unknown",
                    self.undecoded
                ),
                position: format!("address {:#x}", self.first_undecoded),
                remedy: "give every ELF file that was loaded with --elf; link statically to need only one",
            };
            list.push((undecoded, self.undecoded));
        }
        list
    }
}

fn run_rows(batch: RunBatch, pass: &ThePass, start: u64) -> RunRows {
    let runs = batch.block.len();
    let mut rows = RunRows {
        start_seq: Vec::with_capacity(runs),
        thread: Vec::with_capacity(runs),
        block: Vec::with_capacity(runs),
        address_end: Vec::with_capacity(runs),
        ..RunRows::default()
    };
    let (mut seq, mut address, mut time, mut register) = (start, 0usize, 0usize, 0usize);
    let with_values = !batch.values.is_empty() || !batch.register_values.is_empty();
    for (i, &b) in batch.block.iter().enumerate() {
        let block = &pass.blocks[b as usize];
        rows.start_seq.push(seq as i64);
        rows.thread.push(batch.thread.get(i).map_or(1, |t| *t as i32 + 1));
        rows.block.push(b as i32 + 1);
        let first = address;
        address += block.mem as usize;
        rows.address_end.push(address as i32);
        if with_values {
            // Memory values first, then those of the register writes: `value_index` of block_access counts so.
            rows.values.extend((first..address).map(|m| batch.values.get(m).copied().flatten()));
            let n = pass.register_values(b);
            rows.values.extend((register..register + n).map(|r| batch.register_values.get(r).copied().flatten()));
            register += n;
            rows.value_end.push(rows.values.len() as i32);
        }
        if !batch.time.is_empty() {
            time += block.steps as usize;
            rows.time_end.push(time as i32);
        }
        if let Some(end) = batch.end.get(i) {
            rows.sp.push(end.sp);
            rows.linked.push(end.linked);
        }
        seq += block.steps as u64;
    }
    rows.addresses = batch.addresses;
    rows.time = batch.time;
    rows
}

/// What is written when the trace has ended.
struct End<'a> {
    connection: &'a Connection,
    options: &'a Options,
    space: &'a AddressSpace,
    sections: &'a [SectionRow],
    code: &'a Functions<'a>,
    insns: &'a [crate::analysis::pass::Insn],
    defs: &'a [crate::event::BlockDef],
    counts: &'a [u64],
    summary: &'a Summary,
    isa: Isa,
    low: bool,
}

fn id(n: u32) -> Option<i32> {
    (n != 0).then_some(n as i32)
}

impl End<'_> {
    fn write(
        &self,
        traces: &[(String, &'static str, Option<u64>, Option<u64>)],
        carries: Carries,
        diagnostics: &Diagnostics,
    ) -> Result<(), BuildError> {
        self.meta(traces, carries, diagnostics)?;
        let mut files: BTreeMap<String, i32> = BTreeMap::new();
        let mut file_order: Vec<String> = Vec::new();
        let mut file_id = |path: &str| -> i32 {
            *files.entry(path.to_owned()).or_insert_with(|| {
                file_order.push(path.to_owned());
                file_order.len() as i32
            })
        };
        self.instructions(&mut file_id)?;
        let pseudo = self.functions(&mut file_id)?;
        self.images(&mut file_id)?;
        let mut appender = self.connection.appender("source_file")?;
        for (i, path) in file_order.iter().enumerate() {
            appender.append_row(params![i as i32 + 1, path])?;
        }
        appender.flush()?;
        if self.low {
            self.blocks()?;
        }
        self.high(&pseudo)?;
        Ok(())
    }

    fn meta(
        &self,
        traces: &[(String, &'static str, Option<u64>, Option<u64>)],
        carries: Carries,
        diagnostics: &Diagnostics,
    ) -> Result<(), BuildError> {
        let s = self.summary;
        let longest = self.defs.iter().map(|d| d.steps.len()).max().unwrap_or(0);
        let saves = if self.options.literal_saves { "literal" } else { "transparent" };
        let mut meta = self.connection.appender("meta")?;
        for (key, value) in [
            ("schema_version", Some(SCHEMA_VERSION.to_string())),
            ("addfg_version", Some(env!("CARGO_PKG_VERSION").to_string())),
            ("detail", Some(self.options.detail.name().to_string())),
            ("isa", Some(format!("{:?}", self.isa).to_lowercase())),
            ("saves", Some(saves.to_string())),
            ("steps", Some(s.steps.to_string())),
            ("longest_block", Some(longest.to_string())),
            ("first_stack_pointer", s.first_sp.map(|a| a.to_string())),
        ] {
            meta.append_row(params![key, value])?;
        }
        meta.flush()?;
        let mut input = self.connection.appender("input")?;
        let mut number = 0;
        for (path, format, size, hash) in traces {
            number += 1;
            let c = carries;
            input.append_row(params![
                number,
                "trace",
                path,
                format,
                size,
                hash.map(|h| format!("{h:016x}")),
                format!("saves={saves}"),
                c.calls,
                c.accesses || c.registers,
                true,
                c.registers,
                c.time,
                c.threads,
                c.kernel_stores
            ])?;
        }
        for Loaded { image, bias } in self.space.images() {
            number += 1;
            let size = std::fs::metadata(&image.path).ok().map(|m| m.len());
            let none: Option<bool> = None;
            input.append_row(params![
                number,
                "elf",
                image.path.display().to_string(),
                "elf",
                size,
                None::<String>,
                format!("bias={bias:#x}"),
                none,
                none,
                none,
                none,
                none,
                none,
                none
            ])?;
        }
        input.flush()?;
        let mut table = self.connection.appender("diagnostic")?;
        for row in diagnostics.rows() {
            let d = &row.first;
            table.append_row(params![d.severity.name(), d.code, d.message, row.count as i64, d.position, d.remedy])?;
        }
        table.flush()?;
        let mut process = self.connection.appender("process")?;
        process.append_row(params![1, None::<i64>, None::<String>])?;
        process.flush()?;
        let mut thread = self.connection.appender("thread")?;
        for &(t, steps) in &s.threads {
            thread.append_row(params![t as i32 + 1, 1, None::<i64>, steps as i64])?;
        }
        thread.flush()?;
        let mut register = self.connection.appender("register")?;
        for r in &isa::registers(self.isa).all {
            register.append_row(params![r.span.offset as u32, r.name, r.span.size as u32, r.control])?;
        }
        register.flush()?;
        Ok(())
    }

    fn instructions(&self, file_id: &mut impl FnMut(&str) -> i32) -> Result<(), BuildError> {
        let mut executions = vec![0u64; self.insns.len()];
        for (def, &count) in self.defs.iter().zip(self.counts) {
            for step in &def.steps {
                executions[step.insn as usize] += count;
            }
        }
        let mut table = self.connection.appender("instruction")?;
        for (i, insn) in self.insns.iter().enumerate() {
            let (def, decoded) = (&insn.def, &insn.decoded);
            let image = self.space.image_at(def.address).map(|i| i as i32 + 1);
            let line = self.space.line(def.address);
            let file = line.as_ref().map(|(f, _)| file_id(f));
            let bytes: Option<&[u8]> = if def.bytes.is_empty() {
                self.space.bytes(def.address).map(|b| &b[..b.len().min(decoded.size as usize)])
            } else {
                Some(&def.bytes)
            };
            let text = if decoded.text.is_empty() { def.text.as_deref() } else { Some(decoded.text.as_str()) };
            table.append_row(params![
                i as i32 + 1,
                1,
                image,
                def.address,
                bytes,
                text,
                decoded.size,
                insn.function as i32,
                file,
                line.map(|(_, l)| l as i32),
                decoded.flow.kind.name(),
                decoded.flow.target,
                decoded.flow.conditional,
                decoded.flow.repeats,
                executions[i] as i64
            ])?;
        }
        table.flush()?;
        Ok(())
    }

    /// Executed functions, then pseudo-functions, then the other symbols; gives the ids of the pseudo-functions.
    fn functions(&self, file_id: &mut impl FnMut(&str) -> i32) -> Result<BTreeMap<(PlaceCode, bool), i32>, BuildError> {
        let mut table = self.connection.appender("function_symbol")?;
        let mut names = self.connection.appender("function_name")?;
        let mut symbol = |number: i32, at: FunctionRef, file_id: &mut dyn FnMut(&str) -> i32| -> Result<(), BuildError> {
            let f = self.space.function(at);
            let size: u64 = f.ranges.iter().map(|(a, b)| b - a).sum();
            let kind = if f.kind == FunctionKind::Stub { "stub" } else { "function" };
            let file = f.file.as_deref().map(file_id);
            let entry = self.space.entry(at);
            table.append_row(params![
                number,
                self.space.display_name(at),
                f.names.first(),
                kind,
                at.image as i32 + 1,
                file,
                entry,
                size
            ])?;
            for name in &f.names {
                names.append_row(params![number, name])?;
            }
            Ok(())
        };
        let mut rest: Vec<(i32, String, &str, Option<i32>)> = Vec::new();
        let mut number = 0;
        let single = self.space.images().len() == 1;
        let base = |image: usize| {
            let path = &self.space.images()[image].image.path;
            path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
        };
        for row in &self.code.rows {
            number += 1;
            match row {
                FunctionRow::Symbol(at) => symbol(number, *at, file_id)?,
                FunctionRow::Unknown(Some(image)) => {
                    rest.push((number, format!("<unknown {}>", base(*image)), "unknown", Some(*image as i32 + 1)));
                }
                FunctionRow::Unknown(None) => rest.push((number, "<unknown>".into(), "unknown", None)),
                FunctionRow::KernelHelper => rest.push((number, "<kernel helper>".into(), "kernel helper", None)),
            }
        }
        // Pseudo-functions: writers of bytes that no step wrote, those that were read.
        let mut pseudo = BTreeMap::new();
        let mut by_name: BTreeMap<String, i32> = BTreeMap::new();
        let wanted: BTreeSet<(PlaceCode, bool)> = self
            .summary
            .pairs
            .iter()
            .filter_map(|&(side, _, place, _)| if let Side::None { above } = side { Some((place, above)) } else { None })
            .collect();
        for (place, above) in wanted {
            let name = match place.place() {
                None => "<initial registers>".to_string(),
                Some(Place::Section(s)) => {
                    let section = &self.sections[s as usize];
                    if single {
                        format!("<image {}>", section.name)
                    } else {
                        format!("<{} {}>", base(section.image), section.name)
                    }
                }
                Some(Place::Region(r)) => match (self.summary.region_is_stack[r as usize], above) {
                    (true, true) => "<stack start>".into(),
                    (true, false) => "<uninitialised>".into(),
                    _ => "<input>".into(),
                },
            };
            let id = *by_name.entry(name.clone()).or_insert_with(|| {
                number += 1;
                rest.push((number, name, "pseudo", None));
                number
            });
            pseudo.insert((place, above), id);
        }
        let executed: FxHashSet<FunctionRef> =
            self.code.rows.iter().filter_map(|r| if let FunctionRow::Symbol(at) = r { Some(*at) } else { None }).collect();
        for at in self.space.functions().filter(|at| !executed.contains(at)) {
            number += 1;
            symbol(number, at, file_id)?;
        }
        table.flush()?;
        names.flush()?;
        for (number, name, kind, image) in rest {
            table.append_row(params![number, name, None::<String>, kind, image, None::<i32>, None::<u64>, None::<u64>])?;
        }
        table.flush()?;
        Ok(pseudo)
    }

    fn images(&self, file_id: &mut impl FnMut(&str) -> i32) -> Result<(), BuildError> {
        let mut image = self.connection.appender("image")?;
        let mut variable = self.connection.appender("variable")?;
        let mut number = 0;
        for (i, Loaded { image: elf, bias }) in self.space.images().iter().enumerate() {
            let i = i as i32 + 1;
            image.append_row(params![i, 1, elf.path.display().to_string(), bias, elf.stripped, None::<i64>, None::<i64>])?;
            for v in &elf.variables {
                number += 1;
                let file = v.file.as_deref().map(&mut *file_id);
                let line = v.line.map(|l| l as i32);
                variable.append_row(params![
                    number,
                    v.name,
                    v.type_name,
                    i,
                    file,
                    line,
                    v.address.wrapping_add(*bias),
                    v.size
                ])?;
            }
        }
        image.flush()?;
        variable.flush()?;
        let mut section = self.connection.appender("section")?;
        for (i, s) in self.sections.iter().enumerate() {
            let size = (s.last - s.first).saturating_add(1);
            section.append_row(params![i as i32 + 1, s.image as i32 + 1, s.name, s.first, size, s.writable, s.executable])?;
        }
        section.flush()?;
        let mut region = self.connection.appender("region")?;
        for &(first, last, stack) in &self.summary.regions {
            region.append_row(params![first, last, if stack { "stack" } else { "heap" }])?;
        }
        region.flush()?;
        Ok(())
    }

    fn blocks(&self) -> Result<(), BuildError> {
        let mut steps = self.connection.appender("block_step")?;
        let mut table = self.connection.appender("block_access")?;
        for (b, def) in self.defs.iter().enumerate() {
            let b = b as i32 + 1;
            for (i, step) in def.steps.iter().enumerate() {
                steps.append_row(params![b, i as i32, step.insn as i32 + 1, step.executed])?;
            }
            let mut list = Vec::new();
            block::accesses(def, |i| &self.insns[i as usize].decoded, |a| list.push(a));
            let mem = def.mem.len() as i32;
            for a in list {
                let (space, register, memory, value) = match a.place {
                    AccessPlace::Register(offset) => ("register", Some(offset as u32), None, a.value.map(|v| mem + v as i32)),
                    AccessPlace::Memory(m) => ("memory", None, Some(m as i32), Some(m as i32)),
                };
                let data = a.data_register.map(|r| r.offset as u32);
                table.append_row(params![
                    b,
                    a.step as i32,
                    a.ordinal,
                    a.is_write,
                    space,
                    register,
                    memory,
                    value,
                    a.size,
                    a.is_control,
                    a.stack_relative,
                    data
                ])?;
            }
        }
        steps.flush()?;
        table.flush()?;
        Ok(())
    }

    fn via(&self, place: PlaceCode) -> &'static str {
        match place.place() {
            None => "register",
            Some(Place::Section(s)) if self.sections[s as usize].writable => "global",
            Some(Place::Section(_)) => "constant",
            Some(Place::Region(r)) if self.summary.region_is_stack[r as usize] => "stack",
            Some(Place::Region(_)) => "heap",
        }
    }

    fn high(&self, pseudo: &BTreeMap<(PlaceCode, bool), i32>) -> Result<(), BuildError> {
        let s = self.summary;
        let side = |side: Side, place: PlaceCode| match side {
            Side::Function(f) => f as i32,
            Side::None { above } => pseudo.get(&(place, above)).copied().unwrap_or(0),
        };
        let mut edges: BTreeMap<(i32, i32, &str), [u64; 4]> = BTreeMap::new();
        for &(writer, reader, place, sums) in &s.pairs {
            let edge = edges.entry((side(writer, place), reader as i32, self.via(place))).or_default();
            for (sum, n) in edge.iter_mut().zip([sums.bytes, sums.unique, sums.addresses, sums.transfers]) {
                *sum += n;
            }
        }
        let mut table = self.connection.appender("function_edge")?;
        for ((w, r, via), [bytes, unique, addresses, transfers]) in edges {
            table.append_row(params![w, r, via, bytes as i64, unique as i64, addresses as i64, transfers as i64])?;
        }
        table.flush()?;
        let mut edges: BTreeMap<(Option<i32>, i32, i32, &str), [u64; 2]> = BTreeMap::new();
        for &(writer, above, reader, place, bytes, transfers) in &s.insn_edges {
            let (insn, function) = if writer == crate::analysis::pass::NO_INSN {
                (None, side(Side::None { above }, place))
            } else {
                (Some(writer as i32 + 1), self.insns[writer as usize].function as i32)
            };
            let edge = edges.entry((insn, reader as i32 + 1, function, self.via(place))).or_default();
            edge[0] += bytes;
            edge[1] += transfers;
        }
        let mut table = self.connection.appender("instruction_edge")?;
        for ((w, r, f, via), [bytes, transfers]) in edges {
            table.append_row(params![w, r, f, via, bytes as i64, transfers as i64])?;
        }
        table.flush()?;
        let mut edges: Vec<(u32, u32, CallKind, u64, u64)> = s.call_edges.clone();
        edges.sort_unstable();
        let mut table = self.connection.appender("call_edge")?;
        for (caller, callee, kind, calls, steps) in edges {
            table.append_row(params![id(caller), callee as i32, kind.name(), calls as i64, steps as i64])?;
        }
        table.flush()?;
        let mut table = self.connection.appender("function_profile")?;
        for (f, sums) in s.functions.iter().enumerate().filter(|(_, s)| s.calls > 0) {
            let FunctionSums { calls, steps_self, steps_total, written_bytes, dead_bytes } = *sums;
            let n = |x: u64| x as i64;
            table.append_row(params![f as i32, n(calls), n(steps_self), n(steps_total), n(dead_bytes), n(written_bytes)])?;
        }
        table.flush()?;
        if self.options.detail >= Detail::Instance {
            self.connection.execute_batch(
                "CREATE TEMP TABLE place_via (place UINTEGER, via VARCHAR);
                 CREATE TEMP TABLE nobody (place UINTEGER, above BOOLEAN, function_id INTEGER);",
            )?;
            let mut via = self.connection.appender("place_via")?;
            let mut seen = BTreeSet::new();
            for &(_, _, place, _) in &s.pairs {
                if seen.insert(place) {
                    via.append_row(params![place.0, self.via(place)])?;
                }
            }
            via.flush()?;
            let mut nobody = self.connection.appender("nobody")?;
            for (&(place, above), &function) in pseudo {
                nobody.append_row(params![place.0, above, function])?;
            }
            nobody.flush()?;
            self.connection.execute_batch(
                "INSERT INTO dataflow
                 SELECT f.writer, f.reader, coalesce(f.writer_function, n.function_id) AS writer_function, f.reader_function,
                        v.via, sum(f.bytes), sum(f.unique_bytes), sum(f.transfers)
                 FROM flow_part f JOIN place_via v USING (place)
                 LEFT JOIN nobody n ON f.writer IS NULL AND n.place = f.place AND n.above = f.above
                 GROUP BY ALL ORDER BY f.reader, f.writer, writer_function, v.via;
                 DROP TABLE flow_part; DROP TABLE place_via; DROP TABLE nobody;",
            )?;
        }
        for (table, sql) in FOLDED {
            self.connection.execute_batch(&format!("INSERT INTO {table} {sql}"))?;
        }
        Ok(())
    }
}
