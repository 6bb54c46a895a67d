//! What is fuzzed: each reader, the loader of ELF and DWARF, layouts, decoders with their
//! expressions, SQL arguments, the packed low level, whole builds, databases of strangers.

use crate::common::{example, repository};
use addfg::internals::diagnostics::Diagnostic;
use addfg::internals::event::{Carries, Isa, RunBatch, StepBatch};
use addfg::internals::image::{Image, unwind};
use addfg::internals::isa;
use addfg::internals::ranges::{linker, svd};
use addfg::internals::render::rows::RowFormat;
use addfg::internals::replay::slice::{Bounds, Criterion, backward};
use addfg::internals::replay::writers::communications;
use addfg::internals::replay::{Code, Places, places};
use addfg::internals::store::open::{Opening, Trust, open_as};
use addfg::internals::trace::input::Input;
use addfg::internals::trace::layout::shipped;
use addfg::internals::trace::stream::{HEADER, PIECE_HEADER, piece_length};
use addfg::internals::trace::{
    Context, Listener, STEP_FORMATS, Sink, StepFormat, TraceError, csi, dcfg, formats, wet, xray,
};
use addfg::internals::views::listing::Listing;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Inputs with their names.
pub type Corpus = Vec<(String, Vec<u8>)>;

pub struct Target {
    pub name: &'static str,
    pub corpus: fn() -> Corpus,
    /// Takes an input that came of the one with this name.
    pub run: fn(&str, &[u8]),
    /// Its share of the inputs, in thousandths: the fast ones have more.
    pub share: u64,
}

impl Target {
    /// Inputs where nobody asks for many.
    pub fn least(&self) -> u64 {
        if self.share < 20 { 4 } else { 1 }
    }
}

macro_rules! steps {
    ($name:literal, $share:literal) => {
        Target {
            name: $name,
            corpus: || files($name, |name| !name.ends_with(".toml")),
            run: |name, input| read(step_format($name), name, input, None),
            share: $share,
        }
    };
}

/// A map of GNU ld, of TI's linker, of armlink, and a linker script.
const MAPS: [(&str, &str); 4] = [
    (
        "gnu",
        "Name Origin Length\nROM 0x80000000 0x00010000 xr\nTCM 0x80100000 0x4000\n*default* 0x0 0xffffffff\n",
    ),
    (
        "ti",
        "MEMORY CONFIGURATION\n------ ----\n  FLASH 00000000 00040000 00002b4e\n  SRAM 20000000 00008000 0\n\nSEGMENT ALLOCATION MAP\n",
    ),
    (
        "armlink",
        "  Execution Region ER (Exec base: 0x08000000, Load base: 0x0, Size: 0x12, Max: 0x80000, ABSOLUTE)\n",
    ),
    (
        "script",
        "MEMORY { ROM (rx) : ORIGIN = 0x80000000, LENGTH = 64K\n TCM : org = 1M, len = 2M }\n",
    ),
];

/// Peripherals with derivation, an array and two blocks.
const CHIP: &str = "<device><peripherals><peripheral derivedFrom='B%s'><name>A</name><baseAddress>0x4000</baseAddress></peripheral>\
    <peripheral><dim>3</dim><dimIncrement>0x1000</dimIncrement><dimIndex>A-C</dimIndex><name>B%s</name><baseAddress>0</baseAddress>\
    <addressBlock><offset>0</offset><size>0x400</size></addressBlock><addressBlock><offset>0x800</offset><size>#101</size></addressBlock>\
    </peripheral></peripherals></device>";

pub const TARGETS: &[Target] = &[
    steps!("lackey", 20),
    steps!("qemu", 20),
    steps!("execlog", 70),
    steps!("giano", 20),
    steps!("tarmac", 20),
    steps!("spike", 20),
    steps!("gem5", 20),
    steps!("layout", 10),
    Target {
        name: "stream",
        corpus: || files("stream", |_| true),
        run: |name, input| read(step_format("stream"), name, &summed(input), None),
        share: 90,
    },
    Target {
        name: "linker map",
        corpus: || MAPS.map(|(name, text)| (name.to_owned(), text.into())).to_vec(),
        run: |_, input| drop(linker::memories(&String::from_utf8_lossy(input))),
        share: 10,
    },
    Target {
        name: "chip description",
        corpus: || vec![("svd".to_owned(), CHIP.into())],
        run: |_, input| drop(svd::described(&String::from_utf8_lossy(input))),
        share: 10,
    },
    Target { name: "layout file", corpus: layouts, run: layout, share: 40 },
    Target { name: "csi", corpus: || files("csi", |_| true), run: csi, share: 120 },
    Target {
        name: "dcfg",
        corpus: || files("dcfg", |n| n.contains("dcfg")),
        run: graph,
        share: 90,
    },
    Target {
        name: "dcfg trace",
        corpus: || files("dcfg", |n| n.contains("trace")),
        run: trace,
        share: 20,
    },
    Target { name: "wet", corpus: || files("wet", |_| true), run: wet, share: 90 },
    Target { name: "xray", corpus: || files("xray", |_| true), run: xray, share: 140 },
    Target { name: "elf and dwarf", corpus: elves, run: elf, share: 150 },
    Target { name: "decoders", corpus: || files("elf", |_| true), run: decode, share: 18 },
    Target { name: "sql", corpus: queries, run: sql, share: 10 },
    Target { name: "packed low level", corpus: blobs, run: packed, share: 1 },
    Target {
        name: "whole builds",
        corpus: super::whole::corpus,
        run: super::whole::run,
        share: 10,
    },
    Target {
        name: "databases of strangers",
        corpus: super::strangers::corpus,
        run: super::strangers::run,
        share: 1,
    },
];

/// The fixtures of a format, which are small and ours.
pub fn files(format: &str, wanted: impl Fn(&str) -> bool) -> Corpus {
    let folder = repository("tests/formats").join(format);
    let mut all: Corpus = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.file_name().expect("a name").to_string_lossy().into_owned(), path))
        .filter(|(name, _)| wanted(name))
        .map(|(name, path)| (name, std::fs::read(path).expect("reads")))
        .collect();
    all.sort();
    all
}

/// Takes everything and keeps nothing.
struct Nobody;

impl Listener for Nobody {
    fn diagnostic(&mut self, _: Diagnostic) {}
    fn progress(&mut self, _: u64) {}
    fn memory(&self) -> u64 {
        1 << 30
    }
}

impl Sink for Nobody {
    fn begin(&mut self, _: Carries, _: Option<Isa>) -> Result<(), TraceError> {
        Ok(())
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        *batch = StepBatch::default();
        Ok(())
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        *batch = RunBatch::default();
        Ok(())
    }
}

fn step_format(name: &str) -> &'static dyn StepFormat {
    *STEP_FORMATS.iter().find(|f| f.name() == name).expect("a format")
}

fn layout_of(name: &str) -> String {
    let stem = name.trim_end_matches(".log").split_once('-').map_or("columns", |(_, stem)| stem);
    match shipped::named(stem) {
        Some(shipped) => shipped.text.to_owned(),
        None => std::fs::read_to_string(repository(&format!("tests/formats/layout/{stem}.toml")))
            .expect("reads"),
    }
}

fn read(format: &dyn StepFormat, name: &str, input: &[u8], layout: Option<&str>) {
    let isa = match format.name() {
        "execlog" | "giano" => Some(Isa::Arm),
        "layout" | "gem5" => Some(Isa::Riscv64),
        _ => None,
    };
    let known = (format.name() == "layout" && layout.is_none()).then(|| layout_of(name));
    let context = Context { isa, layout: layout.or(known.as_deref()), jobs: 1 };
    if let Ok(input) = Input::from_bytes(name, input) {
        let _ = formats().filter(|format| format.sniff(input.head())).count();
        let _ = format.read(input, &context, &mut Nobody);
    }
}

/// A stream whose checksums are right, for most inputs: what is behind them is to be met.
pub fn summed(input: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    if bytes.len().is_multiple_of(8) {
        return bytes;
    }
    let mut at = HEADER;
    while let Some(header) = bytes.get(at..at + PIECE_HEADER) {
        let length = piece_length(header.try_into().expect("a header"));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let end = at.saturating_add(length).min(bytes.len());
        let sum = crc32fast::hash(&bytes[at + 8..end]);
        bytes[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        at = end;
    }
    bytes
}

fn layouts() -> Corpus {
    let own = shipped::SHIPPED.iter().map(|s| (format!("{}.toml", s.name), s.text.into()));
    files("layout", |name| name.ends_with(".toml")).into_iter().chain(own).collect()
}

fn layout(name: &str, input: &[u8]) {
    let log = format!("good-{}.log", name.trim_end_matches(".toml"));
    static LOGS: OnceLock<Corpus> = OnceLock::new();
    let logs = LOGS.get_or_init(|| files("layout", |name| name.starts_with("good")));
    let text = logs.iter().find(|(name, _)| *name == log).map_or(&[][..], |(_, text)| text);
    read(step_format("layout"), &log, text, Some(&String::from_utf8_lossy(input)));
}

fn csi(_: &str, input: &[u8]) {
    let (frames, _) = csi::frames::parse(input);
    frames.iter().flatten().for_each(|frame| drop(frame.history()));
    let _ = csi::metadata::parse(input);
}

fn graph(name: &str, input: &[u8]) {
    if let Ok(input) = Input::from_bytes(name, input) {
        let _ = dcfg::read_graph(input, &mut Nobody);
    }
}

fn trace(name: &str, input: &[u8]) {
    static GRAPH: OnceLock<Arc<dcfg::graph::Graph>> = OnceLock::new();
    let graph = GRAPH.get_or_init(|| {
        let input = Input::open(&repository("tests/formats/dcfg/good.dcfg.json")).expect("opens");
        Arc::new(dcfg::read_graph(input, &mut Nobody).expect("a graph"))
    });
    if let Ok(input) = Input::from_bytes(name, input) {
        let mut records = dcfg::trace::Records::start(input, graph.clone()).expect("a thread");
        while records.next(&mut Nobody).is_some() {}
        records.finish();
    }
}

impl wet::Visitor for Nobody {
    type Error = TraceError;
    fn instruction(&mut self, _: &wet::StaticInstruction, at: wet::At) -> Result<(), TraceError> {
        let _ = at.to_string();
        Ok(())
    }
    fn dependence(&mut self, _: u64, _: i64, _: wet::NumberedExecution) -> Result<(), TraceError> {
        Ok(())
    }
    fn port(&mut self, _: u64, _: u64) -> Result<(), TraceError> {
        Ok(())
    }
    fn value(&mut self, _: i64, _: wet::Value) -> Result<(), TraceError> {
        Ok(())
    }
    fn depended_on(&mut self, _: wet::NumberedExecution) -> Result<(), TraceError> {
        Ok(())
    }
    fn history(
        &mut self,
        _: wet::Execution,
        _: wet::Execution,
        _: wet::At,
    ) -> Result<(), TraceError> {
        Ok(())
    }
}

fn wet(name: &str, input: &[u8]) {
    let Ok(input) = Input::from_bytes(name, input) else { return };
    let _ = if wet::is_history(&input) {
        wet::read_history(input, &mut Nobody)
    } else {
        wet::read_comprehensive(input, &mut Nobody)
    };
}

fn xray(_: &str, input: &[u8]) {
    let files = [input];
    let mut index = xray::Index::new(&files);
    let mut problems = std::mem::take(&mut index.problems);
    let mut left = 1_000_000_u64;
    let mut progress = |bytes: u64| {
        left = left.saturating_sub(bytes);
        left > 0
    };
    xray::merge(&files, &index.blocks, &index.threads, &mut problems, &mut progress, |_, _, _| {});
    let _ = problems.diagnostics(&["log".to_owned()]).count();
}

fn elves() -> Corpus {
    let mut all = files("elf", |_| true);
    all.push(("fir".into(), std::fs::read(repository("examples/fir/fir")).expect("reads")));
    all
}

fn elf(name: &str, input: &[u8]) {
    if let Ok(image) = Image::parse(Path::new(name), input) {
        for function in image.functions.iter().take(200) {
            let _ = image.line(function.address);
            let _ = image.bytes(function.address);
            let _ = image.thumb(function.address);
        }
        let _ = image.has_code_outside_functions();
    }
    let _ = unwind::Core::parse(Path::new(name), input);
}

/// Every byte as the begin of an instruction of each instruction set, and what its expressions give.
fn decode(_: &str, input: &[u8]) {
    thread_local! {
        static DECODERS: Vec<std::cell::RefCell<Box<dyn isa::Decoder>>> =
            [Isa::X86_64, Isa::X86, Isa::Arm, Isa::Aarch64, Isa::Riscv32, Isa::Riscv64]
                .into_iter()
                .map(|isa| std::cell::RefCell::new(isa::decoder(isa, Default::default())))
                .collect();
    }
    let at = input.len() / 2;
    let bytes = &input[at..(at + 16).min(input.len())];
    DECODERS.with(|decoders| {
        let decoder = &decoders[input.len() % decoders.len()];
        let thumb = input.first().is_some_and(|byte| byte % 2 == 1);
        let decoded = decoder.borrow_mut().decode(0x1000, bytes, thumb);
        if let Some(decoded) = &decoded {
            let expressions = decoded.memory.iter().map(|m| &m.address).chain(&decoded.condition);
            expressions.for_each(|e| {
                let _ = e
                    .eval(&|span| Some(u64::from(span.offset).wrapping_mul(0x0123_4567_89ab_cdef)));
            });
        }
    });
}

fn queries() -> Corpus {
    let folder = repository("queries/report");
    let mut all: Corpus = std::fs::read_dir(folder)
        .expect("queries")
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.display().to_string(), std::fs::read(path).expect("reads")))
        .collect();
    all.sort();
    all
}

fn sql(_: &str, input: &[u8]) {
    thread_local! {
        // Never closed: when a thread ends, what DuckDB keeps by thread is gone before this is.
        static DATABASE: ManuallyDrop<duckdb::Connection> = {
            let opening = Opening { trust: Trust::Schema, ..Opening::READ };
            ManuallyDrop::new(open_as(&example("fir", "pairs"), opening).expect("opens"))
        };
    }
    DATABASE.with(|connection| {
        // A query may be endless by right: rows are looked at as far as this takes them.
        let mut out = Few(1 << 16);
        let sql = String::from_utf8_lossy(input);
        let _ = Listing::new(&sql, []).write(connection, RowFormat::Csv, &mut out);
    });
}

/// Takes some bytes.
struct Few(usize);

impl std::io::Write for Few {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Random numbers for the columns of the packed low level.
fn blobs() -> Corpus {
    let numbers = |n: u8| (0..64).map(|i: u8| i.wrapping_mul(n)).collect();
    (1..8).map(|n| (format!("numbers {n}"), numbers(n))).collect()
}

/// Tables of the packed low level with their columns, one open database of them.
struct Packed {
    connection: duckdb::Connection,
    tables: Vec<(String, Vec<String>)>,
    places: Places,
}

impl Packed {
    fn open() -> Packed {
        let connection = duckdb::Connection::open_in_memory().expect("a database");
        let from = example("fir", "rows").display().to_string().replace('\'', "''");
        let copy = format!(
            "ATTACH '{from}' AS f (READ_ONLY); COPY FROM DATABASE f TO memory; DETACH f; SET threads = 1;"
        );
        connection.execute_batch(&copy).expect("a copy");
        let tables =
            ["block_run", "block_step", "block_access", "control_flow_row", "saved_register_row"];
        let columns = |table| {
            let sql =
                format!("SELECT column_name FROM duckdb_columns() WHERE table_name = '{table}'");
            let mut statement = connection.prepare(&sql).expect("columns");
            let names = statement.query_map([], |row| row.get(0)).expect("columns");
            names.collect::<Result<_, _>>().expect("names")
        };
        let tables: Vec<(String, Vec<String>)> =
            tables.map(|table| (table.to_owned(), columns(table))).into();
        // What cannot be changed is no test, nor are rows that a packed run stands before.
        for (table, columns) in &tables {
            let same = format!("UPDATE {table} SET {0} = {0}", columns[0]);
            assert!(connection.execute(&same, []).expect("a table") > 0, "{table}");
        }
        let packed = "SELECT count(*) FROM run_chunk";
        assert_eq!(connection.query_row(packed, [], |r| r.get(0)), Ok(0_i64));
        let places = places(&connection).expect("a map of memory");
        Packed { connection, tables, places }
    }

    /// Changes up to four columns of a table, goes through the run both ways, and takes it back.
    fn run(&self, input: &[u8]) {
        let batch = |sql: &str| self.connection.execute_batch(sql);
        batch("BEGIN").expect("a transaction");
        let table = usize::from(input.first().copied().unwrap_or(0)) % self.tables.len();
        let (table, columns) = &self.tables[table];
        for change in input.get(1..).unwrap_or_default().chunks_exact(10).take(4) {
            let column = &columns[usize::from(change[0]) % columns.len()];
            let value = i64::from_le_bytes(change[2..10].try_into().expect("eight bytes"));
            let value = if change[1] % 3 == 0 { value } else { value % 1000 };
            // What does not fit the column's type is no change, and ends the transaction.
            let row = change[1] % 7;
            let list = ["address", "value"].contains(&column.as_str()) && table == "block_run";
            let value = if list { format!("[{value}]") } else { value.to_string() };
            let sql = format!("UPDATE {table} SET {column} = {value} WHERE rowid % 7 = {row}");
            if batch(&sql).is_err() {
                break;
            }
        }
        if let Ok(code) = Code::open(&self.connection) {
            let code = code.with_values();
            let mut bytes = 0_u64;
            let _ = communications(&code, &self.connection, |c| bytes += u64::from(c.bytes.size));
            let last = Criterion::Step(code.last);
            let bounds = Bounds { depth: u32::MAX, limit: 1000, far: 1 << 12 };
            let places = &self.places;
            let _ = backward(&code, &self.connection, places, &last, None, bounds);
        }
        batch("ROLLBACK").expect("the old rows");
    }
}

/// Rows of the packed low level that say something else, and going through them again.
fn packed(_: &str, input: &[u8]) {
    thread_local! {
        // As the database of `sql`.
        static PACKED: ManuallyDrop<Packed> = ManuallyDrop::new(Packed::open());
    }
    PACKED.with(|packed| packed.run(input));
}
