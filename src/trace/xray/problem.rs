//! What may be wrong with a log.

use crate::diagnostics::{Diagnostic, Severity};

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
    /// The same records are in a file before.
    Repeated {
        file: u32,
        at: usize,
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
            | Problem::Repeated { file, at, .. }
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
                format!("the {bytes} bytes at the end are not a whole record"),
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
            Problem::Repeated { bytes, .. } => (
                Severity::Info,
                "xray-fork",
                format!("{bytes} bytes stand in a file before, too, and were read once"),
                "none, if the program forked; else give each file once",
            ),
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
