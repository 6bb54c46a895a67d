//! Flight data recorder logs: where their buffers are, and the records in them.
//!
//! The header is 32 bytes; behind it stand buffers, each the work of one thread. Version 1 gives
//! every buffer the same size and says in the buffer where its records end; later versions begin a
//! buffer with the count of its bytes. Records of 8 bytes are entries and exits, those of 16 bytes
//! tell the rest, user data stands between them. Nothing is aligned.

use super::problem::{Place, Problem, Problems};
use super::record::{Block, Event, Header, Kind, Layout, u16_at, u32_at, u64_at};

/// Kinds of the 16-byte records.
pub const NEW_BUFFER: u8 = 0;
const END_OF_BUFFER: u8 = 1;
const NEW_CPU: u8 = 2;
const TSC_WRAP: u8 = 3;
const WALL_TIME: u8 = 4;
const CUSTOM_EVENT: u8 = 5;
const CALL_ARGUMENT: u8 = 6;
pub const EXTENTS: u8 = 7;
const TYPED_EVENT: u8 = 8;
const PID: u8 = 9;

/// Bytes of the records that are not entries and exits.
const METADATA: usize = 16;

/// Where the buffers of a log are, from behind its header to the end of the bytes or the header of
/// a log behind it, whose position is given.
pub fn index(
    bytes: &[u8],
    header: &Header,
    file: u32,
    blocks: &mut Vec<Block>,
    problems: &mut Problems,
) -> usize {
    if header.version == 1 {
        slots(bytes, header, file, blocks, problems)
    } else {
        counted(bytes, header, file, blocks, problems)
    }
}

/// Whether the header of another log of the same recording begins here.
fn is_header(bytes: &[u8], at: usize, header: &Header) -> bool {
    let Some(other) = Header::parse(&bytes[at..]) else { return false };
    let alike = other.fdr && other.big == header.big && (1..=5).contains(&other.version);
    // The first bytes of a version 1 log could be those of a buffer of thread 256: it has more
    // after them that a header lacks.
    alike && other.frequency == header.frequency && !begins_buffer(bytes, at, header.layout)
}

/// Whether a thread's number and the time of day stand here, as at the begin of every buffer.
fn begins_buffer(bytes: &[u8], at: usize, layout: Layout) -> bool {
    bytes.get(at) == Some(&layout.byte(NEW_BUFFER))
        && bytes.get(at + METADATA) == Some(&layout.byte(WALL_TIME))
}

fn begins_counted(bytes: &[u8], at: usize, layout: Layout) -> bool {
    bytes.get(at) == Some(&layout.byte(EXTENTS)) && begins_buffer(bytes, at + METADATA, layout)
}

/// The next place from `from` on where a buffer or another log begins; the end of the bytes if
/// there is none.
fn resume(bytes: &[u8], from: usize, header: &Header) -> usize {
    let layout = header.layout;
    let first = layout.byte(if header.version == 1 { NEW_BUFFER } else { EXTENTS });
    let version = if header.big { 0 } else { header.version as u8 };
    let mut at = from;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(first, version, rest)) {
        at += found;
        let begins = match header.version {
            1 => {
                begins_buffer(bytes, at, layout)
                    && bytes.get(at + 2 * METADATA) == Some(&layout.byte(NEW_CPU))
            }
            _ => begins_counted(bytes, at, layout),
        };
        if begins || is_header(bytes, at, header) {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// The first byte that is not zero.
fn behind_zeros(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|&b| b != 0).map_or(bytes.len(), |n| from + n)
}

/// Whether zeros stand here, up to the end of the bytes or as many as no record has.
fn is_padding(bytes: &[u8], at: usize) -> bool {
    bytes[at..bytes.len().min(at + METADATA)].iter().all(|&b| b == 0)
}

/// Buffers of version 1: of one size, or, where the header has something else in that field, one
/// behind the other.
fn slots(
    bytes: &[u8],
    header: &Header,
    file: u32,
    blocks: &mut Vec<Block>,
    problems: &mut Problems,
) -> usize {
    let start = header.at + Header::SIZE;
    let mut at = start;
    let size = usize::try_from(header.buffer_size).unwrap_or(usize::MAX);
    let second = start.saturating_add(size);
    // The first version of the runtime wrote a time of day into the field.
    let fixed = size >= 3 * METADATA
        && (second == bytes.len()
            || second < bytes.len()
                && (begins_buffer(bytes, second, header.layout)
                    || is_header(bytes, second, header)));
    while at < bytes.len() {
        if is_header(bytes, at, header) {
            return at;
        }
        if bytes[at] != header.layout.byte(NEW_BUFFER) {
            let next = resume(bytes, at, header);
            if behind_zeros(&bytes[..next], at) < next {
                problems.push(Problem::Skipped { file, at, bytes: next - at });
            }
            at = next;
            continue;
        }
        let end = if fixed {
            at.saturating_add(size).min(bytes.len())
        } else {
            resume(bytes, at + METADATA, header)
        };
        push(bytes, header, file, at, end, end == bytes.len(), blocks, problems);
        at = end;
    }
    at
}

/// Buffers with the count of their bytes before them.
fn counted(
    bytes: &[u8],
    header: &Header,
    file: u32,
    blocks: &mut Vec<Block>,
    problems: &mut Problems,
) -> usize {
    let layout = header.layout;
    let mut at = header.at + Header::SIZE;
    while at < bytes.len() {
        if bytes[at] == layout.byte(EXTENTS) && bytes.len() - at >= METADATA {
            let begin = at + METADATA;
            let count = usize::try_from(u64_at(&bytes[at + 1..], header.big)).unwrap_or(usize::MAX);
            let mut end = begin.saturating_add(count);
            let mut cut = false;
            if end > bytes.len() {
                // The file ends within the buffer, or the count is damaged and others stand behind.
                end = resume(bytes, begin, header);
                cut = true;
                problems.push(Problem::BufferCut {
                    file,
                    at,
                    lost: (count - (end - begin)) as u64,
                    end: end == bytes.len(),
                });
            } else if !(end == bytes.len()
                || begins_counted(bytes, end, layout)
                || is_padding(bytes, end)
                || is_header(bytes, end, header))
            {
                // Nothing that belongs there stands behind the buffer: its count may be too high or
                // too low.
                let inner = resume(&bytes[..end], begin, header);
                if inner < end {
                    problems.push(Problem::BufferCut { file, at, lost: 0, end: false });
                    end = inner;
                }
            }
            push(bytes, header, file, begin, end, cut, blocks, problems);
            at = end;
        } else if is_header(bytes, at, header) {
            return at;
        } else if is_padding(bytes, at) {
            at = behind_zeros(bytes, at);
        } else if begins_buffer(bytes, at, layout) {
            // A buffer whose count is lost goes up to the next one.
            let end = resume(bytes, at + METADATA, header);
            problems.push(Problem::NoExtents { file, at });
            push(bytes, header, file, at, end, true, blocks, problems);
            at = end;
        } else {
            let next = resume(bytes, at, header);
            problems.push(Problem::Skipped { file, at, bytes: next - at });
            at = next;
        }
    }
    at
}

/// Notes a buffer with what its first records say.
#[allow(clippy::too_many_arguments)]
fn push(
    bytes: &[u8],
    header: &Header,
    file: u32,
    start: usize,
    end: usize,
    cut: bool,
    blocks: &mut Vec<Block>,
    problems: &mut Problems,
) {
    if start == end {
        return;
    }
    let layout = header.layout;
    let mut block = Block {
        file,
        start,
        end,
        cut,
        version: header.version,
        layout,
        pid: None,
        tid: 0,
        wall: (0, 0),
        tsc: 0,
    };
    let mut tid = None;
    let mut at = start;
    while end - at >= METADATA {
        let record = &bytes[at..at + METADATA];
        match layout.kind(record[0]) {
            Some(NEW_BUFFER) if tid.is_none() => {
                tid = Some(u32_at(&record[1..], header.big) as i32)
            }
            Some(WALL_TIME) => {
                block.wall = (u64_at(&record[1..], header.big), u32_at(&record[9..], header.big))
            }
            Some(PID) => block.pid = Some(u32_at(&record[1..], header.big) as i32),
            Some(NEW_CPU) => block.tsc = u64_at(&record[3..], header.big),
            Some(TSC_WRAP) => block.tsc = u64_at(&record[1..], header.big),
            _ => break,
        }
        at += METADATA;
    }
    match tid {
        Some(tid) => {
            block.tid = tid;
            blocks.push(block);
        }
        None => problems.push(Problem::NoThread { file, at: start, bytes: end - start }),
    }
}

/// Reads the records of a buffer.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    at: usize,
    tsc: u64,
    cpu: u16,
    /// A record said what time it is.
    clock: bool,
    typed: bool,
}

impl Cursor {
    pub fn new(block: &Block) -> Cursor {
        Cursor { at: block.start, ..Cursor::default() }
    }

    /// Appends events until `out` has `most` or the buffer ends; true at the end.
    pub fn fill(
        &mut self,
        bytes: &[u8],
        block: &Block,
        out: &mut Vec<Event>,
        most: usize,
        problems: &mut Problems,
    ) -> bool {
        match (block.layout.big, block.layout.high_bits) {
            (false, _) => self.records::<false, false>(bytes, block, out, most, problems),
            (true, false) => self.records::<true, false>(bytes, block, out, most, problems),
            (true, true) => self.records::<true, true>(bytes, block, out, most, problems),
        }
    }

    fn records<const BIG: bool, const HIGH: bool>(
        &mut self,
        bytes: &[u8],
        block: &Block,
        out: &mut Vec<Event>,
        most: usize,
        problems: &mut Problems,
    ) -> bool {
        let bytes = &bytes[..block.end];
        while out.len() < most {
            let rest = &bytes[self.at..];
            let Some(&first) = rest.first() else {
                if block.version == 1 && block.cut {
                    problems.push(Problem::BufferCut {
                        file: block.file,
                        at: block.start,
                        lost: 0,
                        end: true,
                    });
                }
                return true;
            };
            if first & if HIGH { 0x80 } else { 1 } == 0 {
                let Some(record) = rest.get(..8) else { return self.cut(block, problems) };
                let (word, delta) = (u32_at(record, BIG), u32_at(&record[4..], BIG));
                let (kind, function) = if HIGH {
                    (word >> 28 & 7, word & 0x0fff_ffff)
                } else {
                    (word >> 1 & 7, word >> 4)
                };
                let kind = match kind {
                    0 | 3 => Kind::Enter,
                    1 => Kind::Exit,
                    2 => Kind::TailExit,
                    other => return self.unknown(block, Place::Function(other as u8), problems),
                };
                self.at += 8;
                if !self.clock {
                    problems.push(Problem::NoClock { file: block.file, at: self.at - 8 });
                    continue;
                }
                self.tsc = self.tsc.wrapping_add(u64::from(delta));
                out.push(Event { time: self.tsc, value: 0, function, cpu: self.cpu, kind });
                continue;
            }
            let Some(record) = rest.get(..METADATA) else { return self.cut(block, problems) };
            let kind = block.layout.kind(first).unwrap_or(u8::MAX);
            let mut size = METADATA;
            match kind {
                CALL_ARGUMENT => {
                    let value = u64_at(&record[1..], BIG);
                    out.push(Event {
                        time: self.tsc,
                        value,
                        function: 0,
                        cpu: self.cpu,
                        kind: Kind::Argument,
                    });
                }
                NEW_CPU => {
                    self.cpu = u16_at(&record[1..], BIG);
                    self.tsc = u64_at(&record[3..], BIG);
                    self.clock = true;
                }
                TSC_WRAP => {
                    self.tsc = u64_at(&record[1..], BIG);
                    self.clock = true;
                }
                CUSTOM_EVENT | TYPED_EVENT => {
                    let data = u32_at(&record[1..], BIG);
                    let length = match usize::try_from(data as i32) {
                        Ok(length) => length,
                        Err(_) => return self.unknown(block, Place::Length(data as i32), problems),
                    };
                    self.typed |= kind == TYPED_EVENT;
                    if length > rest.len() - METADATA {
                        return self.cut(block, problems);
                    }
                    size += length;
                    let time = if block.version >= 5 {
                        let delta = u32_at(&record[5..], BIG) as i32;
                        self.tsc = self.tsc.wrapping_add_signed(i64::from(delta));
                        self.tsc
                    } else {
                        u64_at(&record[5..], BIG)
                    };
                    if kind == CUSTOM_EVENT && block.version == 4 {
                        self.cpu = u16_at(&record[13..], BIG);
                    }
                    out.push(Event {
                        time,
                        value: self.at as u64,
                        function: data,
                        cpu: self.cpu,
                        kind: Kind::Data,
                    });
                }
                NEW_BUFFER | WALL_TIME | PID => {}
                END_OF_BUFFER => {
                    self.at = block.end;
                    return true;
                }
                other => return self.unknown(block, Place::Metadata(other), problems),
            }
            self.at += size;
        }
        false
    }

    /// A record goes beyond the buffer's end.
    fn cut(&mut self, block: &Block, problems: &mut Problems) -> bool {
        let lost = block.end - self.at;
        if block.cut {
            // Said already, where the buffer was found.
            if block.version == 1 {
                problems.push(Problem::BufferCut {
                    file: block.file,
                    at: block.start,
                    lost: 0,
                    end: true,
                });
            }
        } else if self.typed && block.version >= 5 {
            problems.push(Problem::TypedCut { file: block.file, at: self.at });
        } else {
            problems.push(Problem::RecordCut { file: block.file, at: self.at, bytes: lost });
        }
        self.at = block.end;
        true
    }

    /// A record that there is not: what follows cannot be told apart.
    fn unknown(&mut self, block: &Block, what: Place, problems: &mut Problems) -> bool {
        problems.push(Problem::Unknown {
            file: block.file,
            at: self.at,
            what,
            bytes: block.end - self.at,
        });
        self.at = block.end;
        true
    }
}

/// Type and bytes of a custom (None) or typed event whose record stands at `at`.
pub fn data<'a>(
    bytes: &'a [u8],
    block_layout: Layout,
    version: u16,
    at: usize,
    length: usize,
) -> (Option<u16>, &'a [u8]) {
    let record = &bytes[at..at + METADATA];
    let typed = block_layout.kind(record[0]) == Some(TYPED_EVENT);
    let place = if version >= 5 { 9 } else { 13 };
    let kind = typed.then(|| u16_at(&record[place..], block_layout.big));
    (kind, &bytes[at + METADATA..at + METADATA + length])
}
