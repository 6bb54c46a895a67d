//! addfg's own recordings: executed paths of blocks and the addresses that their accesses touched,
//! packed into checked pieces ([`piece`]), with events between them. docs/stream.md describes the
//! format to the byte.
//!
//! Definitions become blocks once ([`paths`]); a record is then a byte or two and a number for each
//! address.

mod bytes;
mod events;
mod paths;
mod piece;

use super::input::{Input, Locator};
use super::{Context, Format, Sink, StepFormat, TraceError};
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{Carries, Isa, RunBatch};
use bytes::Bad;
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
        sink.begin(self.carries(), Some(isa))?;
        let mut reader = Reader { locator, sink, decoder: Decoder::new(isa), consumed: 0 };
        let ended = reader.pieces(pieces)?;
        if reader.decoder.runs() == 0 {
            return Err(TraceError::Malformed {
                name,
                position: "byte 16".into(),
                message: "no instruction in it".into(),
                remedy: format!("record with `{}`", self.record()),
            });
        }
        if !ended {
            let steps = reader.decoder.steps();
            let message = format!("the recording has no end: it was cut after {steps} steps");
            reader.problem("truncated", message, reader.consumed);
        }
        Ok(())
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
}

impl Reader<'_> {
    /// Reads all pieces; whether it is said what the last one was: the end, or damage.
    fn pieces(&mut self, pieces: Pieces) -> Result<bool, TraceError> {
        let mut batch = RunBatch::default();
        let ended = self.each_piece(pieces, &mut batch);
        // Events may stand behind the last run.
        self.sink.runs(&mut batch)?;
        ended
    }

    fn each_piece(&mut self, pieces: Pieces, batch: &mut RunBatch) -> Result<bool, TraceError> {
        let mut skipping = false;
        for piece in pieces {
            let piece = match piece {
                Ok(piece) => piece,
                Err(Trouble::Input(error)) => {
                    self.sink.diagnostic(error.into_damage()?);
                    return Ok(true);
                }
                Err(Trouble::Damaged { offset, message, resumes }) => {
                    self.problem("damaged-piece", message, offset);
                    if !resumes {
                        return Ok(true);
                    }
                    skipping = true;
                    continue;
                }
                Err(Trouble::Cut { offset }) => {
                    let message = "the recording ends within a piece".to_owned();
                    self.problem("truncated", message, offset);
                    return Ok(true);
                }
            };
            skipping &= !piece.resets;
            batch.position = piece.offset;
            match piece.kind {
                PieceKind::End => return Ok(true),
                // What is predicted is not known before it begins anew.
                PieceKind::Records if skipping => {}
                PieceKind::Records | PieceKind::Definitions => {
                    if let Err(bad) = self.decode(&piece, batch) {
                        self.problem("damaged-piece", bad.to_string(), piece.offset);
                        return Ok(true);
                    }
                }
            }
            self.sink.progress(piece.consumed.saturating_sub(self.consumed));
            self.consumed = piece.consumed;
            if !batch.block.is_empty() {
                self.sink.runs(batch)?;
            }
        }
        Ok(false)
    }

    fn decode(&mut self, piece: &Piece, batch: &mut RunBatch) -> Result<(), Bad> {
        match piece.kind {
            PieceKind::Definitions => self.decoder.definitions(&piece.payload),
            _ => self.decoder.records(&piece.payload, piece.resets, batch),
        }
    }

    fn problem(&mut self, code: &'static str, message: String, offset: u64) {
        self.sink.diagnostic(Diagnostic {
            severity: Severity::Error,
            code,
            message,
            position: self.locator.at(offset),
            remedy: LOST,
        });
    }
}
