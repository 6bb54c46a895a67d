//! addfg's own recordings: executed paths of blocks and the addresses that their accesses touched,
//! packed into checked pieces ([`piece`]), with events between them. docs/stream.md describes the
//! format to the byte.
//!
//! Definitions become blocks once ([`paths`]); a record is then a byte or two and a number for each
//! address.

mod bytes;
mod columns;
mod descriptors;
mod events;
mod notes;
mod owners;
mod paths;
mod piece;
mod shared;
mod sources;
mod told;
mod writer;

pub use descriptors::without_state;
pub use events::name as call_name;
pub use notes::name as register_name;
pub use piece::{HEADER, PIECE_HEADER, piece_length};
pub use sources::KernelSources;
pub use writer::Writer;

use super::input::{Input, Locator};
use super::{Context, Format, Sink, StepFormat, TraceError};
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{Carries, Event, Isa, RunBatch};
use bytes::Bad;
use events::Said;
use paths::Decoder;
use piece::{Header, Piece, PieceKind, Pieces, Trouble};

pub struct Stream;

/// What is said of a recording of which a part is gone.
const LOST: &str = "what was read up to here is in the database; record again to have the rest";

impl Format for Stream {
    fn name(&self) -> &'static str {
        "stream"
    }
    fn about(&self) -> &'static str {
        "addfg's recorder for valgrind (recorders/valgrind): instructions and accesses of all threads, packed"
    }
    fn record(&self) -> &'static str {
        "recorders/valgrind/build.sh DIR && VALGRIND_LIB=DIR valgrind --vex-guest-chase=no --tool=addfg --stream=app.stream ./app"
    }
    fn carries(&self) -> Carries {
        Carries {
            steps: true,
            opcodes: true,
            accesses: true,
            threads: true,
            kernel_stores: true,
            mappings: true,
            ..Carries::default()
        }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        head.starts_with(&piece::MAGIC)
    }
    fn help(&self) -> &'static str {
        "A binary format, described in docs/stream.md: half a byte an instruction where lackey writes seventeen. It holds the\n\
         instructions themselves, so that code which no ELF file has is decoded, too, and tells threads apart.\n\
         recorders/stream/addfg_stream.h writes it: one C header for other recorders and simulators.\n\
         Each piece has a checksum: of a file that was cut or damaged, what stands before the damage is loaded."
    }
}

impl StepFormat for Stream {
    fn read(&self, input: Input, _: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let name = input.name().to_owned();
        let locator = input.locator();
        let (header, pieces) = Pieces::open(input)?;
        let isa = isa(&header, &name)?;
        let (all_stores, kernel) = (header.tells_all, header.whole_machine);
        let converted = header.carries.is_some();
        let carries = header.carries.unwrap_or_else(|| self.carries());
        let carries = Carries { all_stores, kernel, ..carries };
        sink.begin(carries, Some(isa))?;
        let decoder = Decoder::new(isa, converted);
        let mut reader = Reader { locator, sink, decoder, consumed: 0, several: false, lost: None };
        reader.pieces(pieces)?;
        if reader.decoder.steps() > 0 {
            return Ok(());
        }
        let (position, message) = match reader.lost {
            Some((at, message)) => {
                (at, format!("{message}, and no instruction stands before that"))
            }
            None => (HEADER as u64, "no instruction was recorded".to_owned()),
        };
        Err(TraceError::WithoutSteps { name, position: format!("byte {position}"), message })
    }
}

/// Instruction set by ELF's `e_machine`.
fn isa(header: &Header, name: &str) -> Result<Isa, TraceError> {
    match (header.machine, header.bits) {
        (3, 32) => Ok(Isa::X86),
        (40, 32) => Ok(Isa::Arm),
        (62, 64) => Ok(Isa::X86_64),
        (183, 64) => Ok(Isa::Aarch64),
        (243, 32) => Ok(Isa::Riscv32),
        (243, 64) => Ok(Isa::Riscv64),
        (machine, bits) => Err(TraceError::Malformed {
            name: name.to_owned(),
            position: "byte 10".into(),
            message: format!(
                "recorded on machine {machine} of {bits} bits, which addfg does not decode"
            ),
            remedy: "x86, Arm and RISC-V are decoded".into(),
        }),
    }
}

struct Reader<'a> {
    locator: Locator,
    sink: &'a mut dyn Sink,
    decoder: Decoder,
    consumed: u64,
    /// There is more than one process.
    several: bool,
    /// The first damage: where, and what it is.
    lost: Option<(u64, String)>,
}

/// What is said of memory that others may write to.
fn shared_memory(whose: &str) -> String {
    format!("memory is shared with others ({whose}): what they wrote is not known")
}

/// How a stream was left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// At a piece that is no end.
    Open,
    /// Behind its end, or at a damage that was told.
    Ended,
}

/// The process became another program, which is not recorded.
fn became(program: &str, position: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Info,
        code: "exec",
        message: format!("the process became another program by exec: {program}"),
        position,
        remedy: "`addfg record --follow` records that, too",
    }
}

/// So many calls of io_uring, of which nothing is known.
fn rings(calls: u64) -> Option<Diagnostic> {
    (calls > 0).then(|| Diagnostic {
        severity: Severity::Error,
        code: "io-uring",
        message: format!("{calls} calls of io_uring: what they moved is not known"),
        position: String::new(),
        remedy: "record the program without io_uring, if it can do without",
    })
}

/// So many processes that were to share their parents' memory.
fn vforks(calls: u64) -> Option<Diagnostic> {
    (calls > 0).then(|| Diagnostic {
        severity: Severity::Info,
        code: "vfork",
        message: format!("{calls} times vfork ran as fork: the child had memory of its own"),
        position: String::new(),
        remedy: "what it was to leave in its parent's memory is not there",
    })
}

impl Reader<'_> {
    /// Reads all pieces.
    fn pieces(&mut self, pieces: Pieces) -> Result<(), TraceError> {
        let mut batch = RunBatch::default();
        let left = self.each_piece(pieces, &mut batch);
        // Events may stand behind the last run.
        self.sink.runs(&mut batch)?;
        self.end(left?);
        self.unknown();
        Ok(())
    }

    /// Says what the recorder could not follow.
    fn unknown(&mut self) {
        let (unknown, by_several) = self.decoder.unknown();
        let memory = by_several.or(unknown.memory.as_deref()).map(|whose| Diagnostic {
            severity: Severity::Error,
            code: "shared-memory",
            message: shared_memory(whose),
            position: String::new(),
            remedy: "bytes that they wrote have the writer that they had before",
        });
        let clears = unknown.clears.then(|| Diagnostic {
            severity: Severity::Error,
            code: "cleared-memory",
            message: "`dc zva` was executed, and what it cleared was not told".to_owned(),
            position: String::new(),
            remedy: "bytes that it cleared have the writer that they had before; glibc's memset does without with GLIBC_TUNABLES=glibc.cpu.name=emag",
        });
        rings(unknown.rings)
            .into_iter()
            .chain(memory)
            .chain(vforks(unknown.vforks))
            .chain(clears)
            .for_each(|said| self.sink.diagnostic(said));
    }

    fn each_piece(&mut self, pieces: Pieces, batch: &mut RunBatch) -> Result<Left, TraceError> {
        let (mut skipping, mut left) = (false, Left::Open);
        for piece in pieces {
            let piece = match piece {
                Ok(piece) => piece,
                // Behind an end there may be anything.
                Err(_) if left == Left::Ended => return Ok(left),
                Err(Trouble::Input(error)) => {
                    self.sink.diagnostic(error.into_damage()?);
                    return Ok(Left::Ended);
                }
                Err(Trouble::Damaged { offset, message, resumes }) => {
                    self.problem("damaged-piece", message, offset);
                    if !resumes {
                        return Ok(Left::Ended);
                    }
                    skipping = true;
                    continue;
                }
                Err(Trouble::Cut { offset }) => {
                    let message = "the recording ends within a piece".to_owned();
                    self.problem("truncated", message, offset);
                    return Ok(Left::Ended);
                }
            };
            skipping &= !piece.resets;
            match piece.kind {
                PieceKind::End => left = Left::Ended,
                PieceKind::Header(header) => {
                    self.several = true;
                    self.end(std::mem::replace(&mut left, Left::Open));
                    self.next_process(&header, batch)?;
                }
                _ if left == Left::Ended => return Ok(left),
                // What is predicted is not known before it begins anew.
                PieceKind::Records if skipping => {}
                PieceKind::Records | PieceKind::Definitions => {
                    batch.position = piece.offset;
                    let decoded = self.decode(&piece, batch);
                    self.decoder.said().into_iter().for_each(|said| self.say(said));
                    if let Err(bad) = decoded {
                        self.problem("damaged-piece", bad.to_string(), piece.offset);
                        return Ok(Left::Ended);
                    }
                }
            }
            self.sink.progress(piece.consumed.saturating_sub(self.consumed));
            self.consumed = piece.consumed;
            if !batch.block.is_empty() {
                self.sink.runs(batch)?;
            }
        }
        Ok(left)
    }

    /// Another stream begins: what was gathered of the one before goes on first.
    fn next_process(&mut self, header: &Header, batch: &mut RunBatch) -> Result<(), TraceError> {
        self.sink.runs(batch)?;
        let isa = isa(header, "the recording")?;
        let (converted, new) = (header.carries.is_some(), Decoder::new(isa, false));
        self.decoder = std::mem::replace(&mut self.decoder, new).next(isa, converted);
        batch.events.push((0, Event::ProcessStart));
        Ok(())
    }

    /// Says how a process's stream ended, if not by its end.
    fn end(&mut self, left: Left) {
        if left == Left::Ended || (self.several && self.decoder.exec().is_some()) {
            return;
        }
        if let Some(program) = self.decoder.exec() {
            self.sink.diagnostic(became(program, self.locator.at(self.consumed)));
            return;
        }
        let steps = self.decoder.steps();
        if self.several {
            self.sink.diagnostic(Diagnostic {
                severity: Severity::Warning,
                code: "truncated",
                message: format!("a process was killed: its recording was cut after {steps} steps"),
                position: self.locator.at(self.consumed),
                remedy: LOST,
            });
            return;
        }
        let message = format!("the recording has no end: it was cut after {steps} steps");
        self.problem("truncated", message, self.consumed);
    }

    fn decode(&mut self, piece: &Piece, batch: &mut RunBatch) -> Result<(), Bad> {
        match piece.kind {
            PieceKind::Definitions => self.decoder.definitions(&piece.payload),
            _ => self.decoder.records(&piece.payload, piece.resets, batch),
        }
    }

    /// Hands on what the stream says beside the run.
    fn say(&mut self, said: Said) {
        match said {
            Said::Claim(claim) => self.sink.claim(claim),
            Said::Problem(severity, text) => {
                let converted = self.decoder.is_converted();
                let code = match (severity, converted) {
                    (Severity::Info, false) => "recorder",
                    (Severity::Warning, false) => "recorder-warning",
                    (Severity::Error, false) => "recorder-error",
                    (Severity::Info, true) => "converted",
                    (Severity::Warning, true) => "converted-warning",
                    (Severity::Error, true) => "converted-error",
                };
                let (message, remedy) = match converted {
                    false => (
                        text.into(),
                        "the recorder said it: bytes that this names may have another writer, or none",
                    ),
                    true => (
                        format!("the log that this was converted from: {text}"),
                        "`addfg convert` said what to do",
                    ),
                };
                let position = String::new();
                self.sink.diagnostic(Diagnostic { severity, code, message, position, remedy });
            }
        }
    }

    fn problem(&mut self, code: &'static str, message: String, offset: u64) {
        self.lost.get_or_insert_with(|| (offset, message.clone()));
        self.sink.diagnostic(Diagnostic {
            severity: Severity::Error,
            code,
            message,
            position: self.locator.at(offset),
            remedy: LOST,
        });
    }
}
