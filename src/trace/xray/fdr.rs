//! Flight data recorder logs: the records of their buffers.

use super::kind::{
    CALL_ARGUMENT, CUSTOM_EVENT, END_OF_BUFFER, METADATA, NEW_BUFFER, NEW_CPU, PID, TSC_WRAP,
    TYPED_EVENT, WALL_TIME,
};
use super::problem::{Place, Problem, Problems};
use super::record::{Block, Event, Kind, Layout, u16_at, u32_at, u64_at};

/// What a record of 16 bytes says.
enum Found {
    /// What changes the clock, or is known already.
    Nothing,
    Event(Event),
    /// With so many bytes of data behind it.
    Data(Event, usize),
    /// The buffer ends.
    End,
    /// The data are not all there.
    Cut,
    /// There is no such record.
    Unknown(Place),
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
                if self.at > block.own {
                    out.push(Event { time: self.tsc, value: 0, function, cpu: self.cpu, kind });
                }
                continue;
            }
            let Some(record) = rest.get(..METADATA) else { return self.cut(block, problems) };
            let kind = block.layout.kind(first).unwrap_or(u8::MAX);
            let at_most = rest.len() - METADATA;
            match self.metadata::<BIG>(kind, record, at_most, block.version) {
                Found::Nothing => {}
                Found::Event(event) => {
                    if self.at + METADATA > block.own {
                        out.push(event);
                    }
                }
                Found::Data(event, length) => {
                    if self.at + METADATA + length > block.own {
                        out.push(event);
                    }
                    self.at += length;
                }
                Found::End => {
                    self.at = block.end;
                    return true;
                }
                Found::Cut => return self.cut(block, problems),
                Found::Unknown(what) => return self.unknown(block, what, problems),
            }
            self.at += METADATA;
        }
        false
    }

    /// What a record of 16 bytes says; at most `left` bytes of data are behind it.
    fn metadata<const BIG: bool>(
        &mut self,
        kind: u8,
        record: &[u8],
        left: usize,
        version: u16,
    ) -> Found {
        match kind {
            CALL_ARGUMENT => {
                let (value, kind) = (u64_at(&record[1..], BIG), Kind::Argument);
                let (time, cpu) = (self.tsc, self.cpu);
                return Found::Event(Event { time, value, function: 0, cpu, kind });
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
                let Ok(length) = usize::try_from(data.cast_signed()) else {
                    return Found::Unknown(Place::Length(data.cast_signed()));
                };
                self.typed |= kind == TYPED_EVENT;
                if length > left {
                    return Found::Cut;
                }
                let time = if version >= 5 {
                    let delta = u32_at(&record[5..], BIG).cast_signed();
                    self.tsc = self.tsc.wrapping_add_signed(i64::from(delta));
                    self.tsc
                } else {
                    u64_at(&record[5..], BIG)
                };
                if kind == CUSTOM_EVENT && version == 4 {
                    self.cpu = u16_at(&record[13..], BIG);
                }
                let (value, kind) = (self.at as u64, Kind::Data);
                return Found::Data(
                    Event { time, value, function: data, cpu: self.cpu, kind },
                    length,
                );
            }
            NEW_BUFFER | WALL_TIME | PID => {}
            END_OF_BUFFER => return Found::End,
            other => return Found::Unknown(Place::Metadata(other)),
        }
        Found::Nothing
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
pub fn data(
    bytes: &[u8],
    block_layout: Layout,
    version: u16,
    at: usize,
    length: usize,
) -> (Option<u16>, &[u8]) {
    let record = &bytes[at..at + METADATA];
    let typed = block_layout.kind(record[0]) == Some(TYPED_EVENT);
    let place = if version >= 5 { 9 } else { 13 };
    let kind = typed.then(|| u16_at(&record[place..], block_layout.big));
    (kind, &bytes[at + METADATA..at + METADATA + length])
}
