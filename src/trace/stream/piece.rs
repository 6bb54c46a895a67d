//! The pieces of a stream: each with its kind, its length and a checksum.

use crate::event::Carries;
use crate::trace::TraceError;
use crate::trace::input::{Chunks, Input};
use std::io::{self, Write};

pub const MAGIC: [u8; 8] = *b"addfg\r\n\x1a";
const VERSION: u16 = 1;
/// Of streams that were converted from a log.
const CONVERTED: u16 = 2;
/// Bit of the header's flags.
const TELLS_ALL: u8 = 1;
const WHOLE_MACHINE: u8 = 2;
const PIECE_MAGIC: [u8; 4] = *b"ADFG";
pub const HEADER: usize = 16;
pub const PIECE_HEADER: usize = 32;
/// Bytes of a piece at most: recorders write a megabyte or two.
const LONGEST: usize = 256 << 20;
/// Bytes that are asked of the input at a time.
const BLOCK: usize = 1 << 20;

/// Bytes of a piece, its header among them.
pub fn piece_length(header: &[u8; PIECE_HEADER]) -> u64 {
    let payload = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    PIECE_HEADER as u64 + u64::from(payload)
}

/// What the file begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// ELF's `e_machine`.
    pub machine: u16,
    pub bits: u8,
    /// From the first step on the stream tells of all that anybody but an instruction writes.
    pub tells_all: bool,
    /// The code that system calls enter is recorded, too.
    pub whole_machine: bool,
    /// What the log has that this was converted from.
    pub carries: Option<Carries>,
}

type Flag = fn(&mut Carries) -> &mut bool;

/// The bits by which a converted stream says what its log has.
const CARRIES: [Flag; 12] = [
    |c| &mut c.opcodes,
    |c| &mut c.accesses,
    |c| &mut c.registers,
    |c| &mut c.registers_before,
    |c| &mut c.written_values,
    |c| &mut c.values,
    |c| &mut c.time,
    |c| &mut c.threads,
    |c| &mut c.thumb,
    |c| &mut c.kernel_stores,
    |c| &mut c.mappings,
    |c| &mut c.decided,
];

/// Writes what a stream begins with.
pub fn put_header(out: &mut impl Write, header: &Header) -> io::Result<()> {
    let version = if header.carries.is_some() { CONVERTED } else { VERSION };
    let mut carries = header.carries.unwrap_or_default();
    let bits = CARRIES
        .iter()
        .enumerate()
        .map(|(bit, of)| u16::from(*of(&mut carries)) << bit)
        .sum::<u16>();
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    let flags = flag(header.tells_all, TELLS_ALL) | flag(header.whole_machine, WHOLE_MACHINE);
    out.write_all(&MAGIC)?;
    out.write_all(&version.to_le_bytes())?;
    out.write_all(&header.machine.to_le_bytes())?;
    out.write_all(&[header.bits, flags])?;
    out.write_all(&bits.to_le_bytes())
}

/// Writes a piece from which reading can begin; `steps`: before it, and in it.
pub fn put_piece(
    out: &mut impl Write,
    kind: PieceKind,
    steps: [u64; 2],
    payload: &[u8],
) -> io::Result<()> {
    let kind = match kind {
        PieceKind::Definitions => 1,
        PieceKind::Records => 2,
        PieceKind::End | PieceKind::Header(_) => 3,
    };
    let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
    let mut head = vec![kind, 1, 0, 0];
    head.extend(length.to_le_bytes());
    steps.iter().for_each(|steps| head.extend(steps.to_le_bytes()));
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head);
    sum.update(payload);
    out.write_all(&PIECE_MAGIC)?;
    out.write_all(&sum.finalize().to_le_bytes())?;
    out.write_all(&head)?;
    out.write_all(payload)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    Definitions,
    Records,
    End,
    /// Another stream begins behind this one.
    Header(Header),
}

pub struct Piece {
    pub kind: PieceKind,
    /// What is predicted begins anew with it.
    pub resets: bool,
    pub payload: Vec<u8>,
    /// Where it begins, bytes from the beginning of the stream.
    pub offset: u64,
    /// As [`crate::trace::input::Chunk::consumed`], behind it.
    pub consumed: u64,
}

/// Why a piece cannot be read.
#[derive(Debug)]
pub enum Trouble {
    Input(TraceError),
    Damaged {
        offset: u64,
        message: String,
        /// The next piece can be found, and what this one held is not needed for it.
        resumes: bool,
    },
    /// The file ends within a piece.
    Cut {
        offset: u64,
    },
}

/// The pieces of a stream, in order.
pub struct Pieces {
    chunks: Chunks,
    /// Bytes that no piece has taken yet, from `at` on.
    buffer: Vec<u8>,
    at: usize,
    /// Where `buffer` begins in the stream.
    offset: u64,
    consumed: u64,
    ended: bool,
}

impl Pieces {
    pub fn open(input: Input) -> Result<(Header, Pieces), TraceError> {
        let malformed = |message: String, remedy: &str| TraceError::Malformed {
            name: input.name().to_owned(),
            position: "byte 0".into(),
            message,
            remedy: remedy.into(),
        };
        let head = match input.head().first_chunk::<HEADER>() {
            Some(head) if head.starts_with(&MAGIC) => head,
            _ => {
                return Err(malformed(
                    "it has no header of a stream".into(),
                    "`addfg formats stream` says what makes one",
                ));
            }
        };
        let header = header(head)
            .map_err(|message| malformed(message, "use the addfg that the recorder came with"))?;
        let mut pieces = Pieces {
            chunks: input.blocks(BLOCK),
            buffer: Vec::new(),
            at: 0,
            offset: 0,
            consumed: 0,
            ended: false,
        };
        if let Err(Trouble::Input(error)) = pieces.bytes(HEADER) {
            return Err(error);
        }
        Ok((header, pieces))
    }

    /// Makes at least `length` bytes available, unless the input ends before.
    fn fill(&mut self, length: usize) -> Result<(), Trouble> {
        while self.buffer.len() - self.at < length {
            if self.at > 0 {
                self.buffer.drain(..self.at);
                self.offset += self.at as u64;
                self.at = 0;
            }
            match self.chunks.next() {
                None => break,
                Some(chunk) => {
                    let chunk = chunk.map_err(Trouble::Input)?;
                    self.consumed = chunk.consumed;
                    self.buffer.extend_from_slice(&chunk);
                }
            }
        }
        Ok(())
    }

    /// The next `length` bytes; None where the input has no more at all.
    fn bytes(&mut self, length: usize) -> Result<Option<&[u8]>, Trouble> {
        self.fill(length)?;
        let there = self.buffer.len() - self.at;
        if there == 0 {
            return Ok(None);
        }
        if there < length {
            return Err(Trouble::Cut { offset: self.place() });
        }
        self.at += length;
        Ok(Some(&self.buffer[self.at - length..self.at]))
    }

    fn place(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// The header of the next process's stream, if it begins here.
    fn next_header(&mut self, offset: u64) -> Result<Option<Piece>, Trouble> {
        self.fill(HEADER)?;
        if !self.buffer[self.at..].starts_with(&MAGIC) {
            return Ok(None);
        }
        let Some(Some(head)) = self.bytes(HEADER)?.map(|b| b.first_chunk()) else {
            return Ok(None);
        };
        let damaged = |message| Trouble::Damaged { offset, message, resumes: false };
        let kind = PieceKind::Header(header(head).map_err(damaged)?);
        let payload = Vec::new();
        Ok(Some(Piece { kind, resets: true, payload, offset, consumed: self.consumed }))
    }

    fn piece(&mut self) -> Result<Option<Piece>, Trouble> {
        let offset = self.place();
        if let Some(header) = self.next_header(offset)? {
            return Ok(Some(header));
        }
        let Some(head) = self.bytes(PIECE_HEADER)? else { return Ok(None) };
        let mut header = [0; PIECE_HEADER];
        header.copy_from_slice(head);
        let damaged =
            |message: &str, resumes| Trouble::Damaged { offset, message: message.into(), resumes };
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let length = usize::try_from(word(12)).unwrap_or(usize::MAX);
        if header[..4] != PIECE_MAGIC || length > LONGEST {
            return Err(damaged("no piece begins here", false));
        }
        let payload = match self.bytes(length) {
            Ok(payload) => payload.map_or(Vec::new(), <[u8]>::to_vec),
            Err(Trouble::Cut { .. }) => return Err(Trouble::Cut { offset }),
            Err(trouble) => return Err(trouble),
        };
        if payload.len() < length {
            return Err(Trouble::Cut { offset });
        }
        let mut sum = crc32fast::Hasher::new();
        sum.update(&header[8..]);
        sum.update(&payload);
        let kind = match header[8] {
            1 => PieceKind::Definitions,
            2 => PieceKind::Records,
            3 => PieceKind::End,
            _ => return Err(damaged("a piece of an unknown kind", false)),
        };
        if sum.finalize() != word(4) {
            return Err(damaged("the checksum of a piece is wrong", kind == PieceKind::Records));
        }
        Ok(Some(Piece {
            kind,
            resets: header[9] & 1 != 0,
            payload,
            offset,
            consumed: self.consumed,
        }))
    }
}

/// What a stream's first bytes say; an error if this reader is too old for it.
fn header(head: &[u8; HEADER]) -> Result<Header, String> {
    let number = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    let version = number(8);
    if ![VERSION, CONVERTED].contains(&version) {
        return Err(format!(
            "version {version} of the format; this addfg reads version {CONVERTED}"
        ));
    }
    let mut carries = Carries { steps: true, ..Carries::default() };
    for (bit, of) in CARRIES.iter().enumerate() {
        *of(&mut carries) = number(14) >> bit & 1 == 1;
    }
    Ok(Header {
        machine: number(10),
        bits: head[12],
        tells_all: head[13] & TELLS_ALL != 0,
        whole_machine: head[13] & WHOLE_MACHINE != 0,
        carries: (version == CONVERTED).then_some(carries),
    })
}

impl Iterator for Pieces {
    type Item = Result<Piece, Trouble>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let piece = self.piece().transpose();
        self.ended = !matches!(piece, Some(Ok(_) | Err(Trouble::Damaged { resumes: true, .. })));
        piece
    }
}
