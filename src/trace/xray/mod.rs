//! LLVM XRay: logs of function entries and exits, in flight data recorder mode (versions 1 to 5)
//! and basic mode, either byte order.
//!
//! [`fdr`] and [`naive`] find the buffers of a file and read their records, [`merge`] puts the
//! threads' events into the order of their times, [`calls`] makes call instances of them, [`load`]
//! writes the tables. Sources: LLVM's document of the format and, where files of its runtimes
//! differ from that, the files.

pub mod calls;
mod fdr;
mod load;
mod merge;
mod naive;

use crate::diagnostics::{Diagnostic, Severity};
use crate::event::Carries;
use crate::load::{BuildError, Load};
use crate::trace::input::Input;
use crate::trace::{Format, Loaded, TableFormat};
use std::collections::BTreeMap;
use std::ops::Range;

pub use load::TIMES;
pub use merge::merge;

pub struct Xray;

impl Format for Xray {
    fn name(&self) -> &'static str {
        "xray"
    }
    fn about(&self) -> &'static str {
        "LLVM XRay, flight data recorder (versions 1 to 5) and basic mode: calls with their times, arguments, events; no steps, no data"
    }
    fn record(&self) -> &'static str {
        "clang -fxray-instrument app.c -o app; XRAY_OPTIONS='patch_premain=true xray_mode=xray-basic' ./app (more in docs/xray.md)"
    }
    fn carries(&self) -> Carries {
        Carries { calls: true, time: true, threads: true, ..Carries::default() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        let Some(header) = Header::parse(head) else { return false };
        let Some(&first) = head.get(Header::SIZE) else { return header.version <= 5 };
        if header.fdr {
            [fdr::NEW_BUFFER, fdr::EXTENTS].iter().any(|&kind| header.layout.byte(kind) == first)
        } else {
            let record = head.get(Header::SIZE..Header::SIZE + 4);
            header.version <= 3
                && record.is_some_and(|r| {
                    r[usize::from(!header.big)] == 0 && r[usize::from(header.big)] <= 1 && r[3] <= 3
                })
        }
    }
    fn help(&self) -> &'static str {
        "A binary log that the XRay runtime of clang writes (xray-log.*). Give the program with --elf for the names of functions: the log has\n\
         their numbers in the instrumentation map, its section xray_instr_map. Several files of a run (one a thread, or one behind the\n\
         other) are given together. Times are ticks of the processor's counter; seconds follow from the frequency in the header. What the\n\
         log lacks is: everything but calls. See docs/xray.md."
    }
}

impl TableFormat for Xray {
    fn load(&self, inputs: Vec<Input>, load: &mut Load) -> Result<Loaded, BuildError> {
        load::load(inputs, load)
    }
}

/// How records are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub big: bool,
    /// The first bit field is the highest.
    pub high_bits: bool,
    pub naive: bool,
}

/// What stands before the records.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Where it stands in the file.
    pub at: usize,
    pub version: u16,
    /// Flight data recorder, else basic mode.
    pub fdr: bool,
    pub big: bool,
    pub layout: Layout,
    /// Ticks a second; 0: unknown.
    pub frequency: u64,
    pub buffer_size: u64,
}

impl Header {
    pub const SIZE: usize = 32;

    /// The header at the begin of `bytes`; None if that is none.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let head = bytes.get(..Header::SIZE)?;
        let word = |at: usize| (u16::from(head[at + 1]) << 8) | u16::from(head[at]);
        let good = |version: u16, kind: u16| (1..=255).contains(&version) && kind <= 1;
        let (version, kind, big) = match (word(0), word(2)) {
            (version, kind) if good(version, kind) => (version, kind, false),
            (version, kind) if good(version.swap_bytes(), kind.swap_bytes()) => {
                (version.swap_bytes(), kind.swap_bytes(), true)
            }
            _ => return None,
        };
        let high_bits =
            big && kind == 1 && bytes.get(Header::SIZE).is_some_and(|first| first & 0x80 != 0);
        let layout = Layout { big, high_bits, naive: kind == 0 };
        let (frequency, buffer_size) =
            (fdr::u64_at(&head[8..], big), fdr::u64_at(&head[16..], big));
        Some(Header { at: 0, version, fdr: kind == 1, big, layout, frequency, buffer_size })
    }
}

/// Records of one thread that stand together.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub file: u32,
    pub start: usize,
    /// Exclusive.
    pub end: usize,
    /// The file ends before the block does.
    pub cut: bool,
    pub version: u16,
    pub layout: Layout,
    pub pid: Option<i32>,
    pub tid: i32,
    /// Time of day at its begin, seconds and microseconds of the system's monotonic clock.
    pub wall: (u64, u32),
    /// Clock at its begin.
    pub tsc: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Enter,
    Exit,
    TailExit,
    /// An argument of the entry before.
    Argument,
    /// A custom or typed event.
    Data,
}

#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub time: u64,
    /// Of an argument its value, of data where its record stands in the file.
    pub value: u64,
    /// Number in the instrumentation map; of data its bytes.
    pub function: u32,
    pub cpu: u16,
    pub kind: Kind,
}

/// A record that there cannot be.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Function(u8),
    Metadata(u8),
    Length(i32),
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug)]
pub enum Problem {
    /// Bytes between buffers that are none.
    Skipped {
        file: u32,
        at: usize,
        bytes: usize,
    },
    /// A buffer has fewer bytes than it says.
    BufferCut {
        file: u32,
        at: usize,
        lost: u64,
        end: bool,
    },
    NoExtents {
        file: u32,
        at: usize,
    },
    NoThread {
        file: u32,
        at: usize,
        bytes: usize,
    },
    NoClock {
        file: u32,
        at: usize,
    },
    RecordCut {
        file: u32,
        at: usize,
        bytes: usize,
    },
    /// The runtime of version 5 does not count its records of typed events.
    TypedCut {
        file: u32,
        at: usize,
    },
    Unknown {
        file: u32,
        at: usize,
        what: Place,
        bytes: usize,
    },
    Version {
        file: u32,
        at: usize,
        version: u16,
    },
}

/// Problems by kind: the first of each, and how many there are.
#[derive(Clone, Debug, Default)]
pub struct Problems(Vec<(Problem, u64)>);

impl Problems {
    pub fn push(&mut self, problem: Problem) {
        let kind = |p: &Problem| {
            (std::mem::discriminant(p), matches!(p, Problem::BufferCut { end: true, .. }))
        };
        match self.0.iter_mut().find(|(first, _)| kind(first) == kind(&problem)) {
            Some((_, count)) => *count += 1,
            None => self.0.push((problem, 1)),
        }
    }

    /// With their numbers; `names` are the files'.
    pub fn diagnostics<'a>(
        &'a self,
        names: &'a [String],
    ) -> impl Iterator<Item = (Diagnostic, u64)> + 'a {
        self.0.iter().map(|&(problem, count)| (problem.diagnostic(names), count))
    }
}

impl Problem {
    /// In words; `names` are the files'.
    fn diagnostic(self, names: &[String]) -> Diagnostic {
        let (file, at) = match self {
            Problem::Skipped { file, at, .. }
            | Problem::BufferCut { file, at, .. }
            | Problem::NoExtents { file, at }
            | Problem::NoThread { file, at, .. }
            | Problem::NoClock { file, at }
            | Problem::RecordCut { file, at, .. }
            | Problem::TypedCut { file, at }
            | Problem::Unknown { file, at, .. }
            | Problem::Version { file, at, .. } => (file, at),
        };
        let error = Severity::Error;
        let rest = "copy the file again, or record again; what stands in other buffers is loaded";
        let (severity, code, message, remedy) = match self {
            Problem::Skipped { bytes, .. } => (
                error,
                "xray-no-buffer",
                format!("{bytes} bytes where a buffer should begin were skipped"),
                rest,
            ),
            Problem::BufferCut { lost, end: true, .. } if lost > 0 => (
                error,
                "xray-buffer-cut",
                format!("the file ends {lost} bytes before this buffer does"),
                rest,
            ),
            Problem::BufferCut { end: true, .. } => {
                (error, "xray-buffer-cut", "the file ends before this buffer does".into(), rest)
            }
            Problem::BufferCut { .. } => (
                error,
                "xray-buffer-size",
                "another buffer begins before the end that this one says it has".into(),
                rest,
            ),
            Problem::NoExtents { .. } => (
                Severity::Warning,
                "xray-no-extents",
                "a buffer without the record that says how long it is was read up to the next one"
                    .into(),
                "",
            ),
            Problem::NoThread { bytes, .. } => (
                error,
                "xray-no-thread",
                format!("a buffer of {bytes} bytes does not say whose it is and was skipped"),
                rest,
            ),
            Problem::NoClock { .. } => (
                error,
                "xray-no-clock",
                "an entry or exit before the first record that says what time it is was skipped"
                    .into(),
                rest,
            ),
            Problem::RecordCut { bytes, .. } => (
                error,
                "xray-record-cut",
                format!("the {bytes} bytes at the end are no whole record"),
                rest,
            ),
            Problem::TypedCut { .. } => (
                Severity::Warning,
                "xray-typed-event-cut",
                "the end of a buffer with typed events is not in the file".into(),
                "the runtime leaves out 16 bytes for each typed event of a buffer: record without typed events",
            ),
            Problem::Unknown { what, bytes, .. } => {
                let what = match what {
                    Place::Function(kind) => format!("an entry or exit of kind {kind}"),
                    Place::Metadata(kind) => format!("a record of kind {kind}"),
                    Place::Length(length) => format!("an event of {length} bytes"),
                };
                (
                    error,
                    "xray-damaged",
                    format!(
                        "{what}, which there is not; the {bytes} bytes from here on were skipped"
                    ),
                    rest,
                )
            }
            Problem::Version { version, .. } => (
                error,
                "xray-version",
                format!("version {version} is not known; the rest of the file was skipped"),
                "use a newer addfg",
            ),
        };
        let name = names.get(file as usize).map_or("", String::as_str);
        Diagnostic { severity, code, message, position: format!("{name}: byte {at}"), remedy }
    }
}

/// The threads of several files: their blocks in order and, for each thread, which of them are its.
pub struct Index {
    pub headers: Vec<(u32, Header)>,
    pub blocks: Vec<Block>,
    pub threads: Vec<Range<usize>>,
    pub problems: Problems,
}

impl Index {
    /// Finds the buffers. A file that begins with no header is left out.
    pub fn new(files: &[&[u8]]) -> Index {
        let mut index = Index {
            headers: Vec::new(),
            blocks: Vec::new(),
            threads: Vec::new(),
            problems: Problems::default(),
        };
        for (file, bytes) in files.iter().enumerate() {
            let file = file as u32;
            let mut at = 0;
            while let Some(mut header) = bytes.get(at..).and_then(Header::parse) {
                header.at = at;
                let most = if header.fdr { 5 } else { 3 };
                if header.version > most {
                    index.problems.push(Problem::Version { file, at, version: header.version });
                    break;
                }
                index.headers.push((file, header));
                let read = if header.fdr { fdr::index } else { naive::index };
                at = read(bytes, &header, file, &mut index.blocks, &mut index.problems);
            }
        }
        // Buffers stand in a file in the order in which they were handed back, not in that of their
        // times.
        let blocks = &mut index.blocks;
        let owner = |b: &Block| (b.pid, b.tid);
        blocks.sort_by_key(|b| (owner(b), b.tsc, b.wall, b.file, b.start));
        let mut start = 0;
        while start < blocks.len() {
            let end =
                start + blocks[start..].partition_point(|b| owner(b) == owner(&blocks[start]));
            index.threads.push(start..end);
            start = end;
        }
        // Of the threads that begin at one time the one whose number is lower comes first.
        let mut order: BTreeMap<(u64, usize), Range<usize>> = BTreeMap::new();
        for (number, range) in index.threads.drain(..).enumerate() {
            order.insert((blocks[range.start].tsc, number), range);
        }
        index.threads = order.into_values().collect();
        index
    }
}
