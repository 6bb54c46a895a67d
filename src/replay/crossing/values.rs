//! Values of what crosses anew: which bytes are what was sent last of them.
//!
//! What a byte holds is told by the step that reads it, where that is memory, else by the step that wrote it. Those steps
//! are looked up for many communications at a time, so that the run is not gone through byte by byte.

use super::super::bytes::ByteMap;
use super::super::code::{BlockAccess, Code, Place as AccessPlace};
use super::super::error::ReplayError;
use super::super::window::Piece;
use super::exchange::{Crossed, Direction, Exchange, Place};
use super::members::EntryNumber;
use crate::id::{ProcessId, ThreadId};
use duckdb::Connection;
use rustc_hash::FxHashMap;

/// Bytes of a [`Sent`]: values of more are not kept.
const WORD: usize = 8;
/// How many wait at most to be looked up, but for those of one window.
const MOST: usize = 1 << 19;
/// Steps that are gone through rather than asked for anew.
const GAP: i64 = 1 << 17;

/// Adjacent bytes that cross in a version that has not crossed before.
struct Sent {
    direction: Direction,
    entry: EntryNumber,
    place: Place,
    address: u64,
    bytes: usize,
    read_seq: i64,
    version: i64,
    /// By byte, None: the trace does not tell.
    values: [Option<u8>; WORD],
}

/// What crossed last of a byte: 0 nothing, else the value and one, [`UNKNOWN`] where that is not known.
type Last = u16;
const UNKNOWN: Last = 257;

#[derive(Default)]
struct Side {
    memory: FxHashMap<ProcessId, ByteMap<Last, 256>>,
    registers: FxHashMap<ThreadId, ByteMap<Last, 64>>,
}

pub(super) struct Values<'a> {
    connection: &'a Connection,
    code: Code,
    /// Whether a byte holds what the step that is its last writer wrote: not where copies hand writers on.
    trusts_writes: bool,
    waiting: Vec<Sent>,
    sides: [Side; 2],
    /// Bytes that crossed anew, and those of them whose values are not known.
    pub(super) bytes: u64,
    pub(super) unknown: u64,
}

impl Values<'_> {
    /// None where the traces have no values.
    pub(super) fn read(connection: &Connection) -> Result<Option<Values<'_>>, ReplayError> {
        let sql = include_str!("../../../queries/report/cut_values.sql");
        let (has_values, copies): (bool, bool) =
            connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
        let code = Code::open_steps(connection)?.with_values();
        if !has_values && !code.chunks_have_values(connection)? {
            return Ok(None);
        }
        Ok(Some(Values {
            connection,
            code,
            trusts_writes: !copies,
            waiting: Vec::new(),
            sides: [Side::default(), Side::default()],
            bytes: 0,
            unknown: 0,
        }))
    }

    /// A byte crosses in a version that has not crossed before.
    pub(super) fn byte(&mut self, direction: Direction, c: &Crossed, address: u64) {
        let Crossed { read_seq, version, entry, place, .. } = *c;
        if let Some(last) = self.waiting.last_mut() {
            let same = (last.direction, last.entry, last.place, last.read_seq, last.version)
                == (direction, entry, place, read_seq, version);
            if same && last.bytes < WORD && last.address.wrapping_add(last.bytes as u64) == address
            {
                last.bytes += 1;
                return;
            }
        }
        let (bytes, values) = (1, [None; WORD]);
        self.waiting.push(Sent {
            direction,
            entry,
            place,
            address,
            bytes,
            read_seq,
            version,
            values,
        });
    }

    /// Whether it is time to look up what waits.
    pub(super) fn are_many(&self) -> bool {
        self.waiting.len() >= MOST
    }

    /// Looks up what waits and adds what was sent again to its entries.
    pub(super) fn settle(&mut self, entries: &mut [Exchange]) -> Result<(), ReplayError> {
        let mut waiting = std::mem::take(&mut self.waiting);
        self.look_up(&mut waiting)?;
        for sent in waiting.drain(..) {
            let side = &mut self.sides[sent.direction as usize];
            let (mut values, mut again, mut unknown) = (sent.values.iter(), 0, 0);
            let mut take = |last: &mut Last| {
                let value = values.next().copied().flatten();
                let now = value.map_or(UNKNOWN, |value| Last::from(value) + 1);
                again += u64::from(now != UNKNOWN && now == *last);
                unknown += u64::from(now == UNKNOWN);
                *last = now;
            };
            let bytes = sent.bytes as u64;
            match sent.place {
                Place::Memory(process) => {
                    side.memory.entry(process).or_default().visit(sent.address, bytes, &mut take);
                }
                Place::Register(thread) => {
                    side.registers.entry(thread).or_default().visit(sent.address, bytes, &mut take);
                }
            }
            self.bytes += bytes;
            self.unknown += unknown;
            let entry = &mut entries[sent.entry as usize - 1];
            *entry.resent(sent.direction).get_or_insert(0) += again;
        }
        self.waiting = waiting;
        Ok(())
    }

    fn look_up(&self, waiting: &mut [Sent]) -> Result<(), ReplayError> {
        let mut steps: Vec<(i64, usize)> = Vec::new();
        for (i, sent) in waiting.iter().enumerate() {
            if let Place::Memory(_) = sent.place {
                steps.push((sent.read_seq, i));
            }
            if self.trusts_writes && sent.version > 0 {
                steps.push((sent.version, i));
            }
        }
        steps.sort_unstable();
        for near in steps.chunk_by(|a, b| b.0.saturating_sub(a.0) <= GAP) {
            let (Some(first), Some(last)) = (near.first(), near.last()) else { continue };
            let mut at = 0;
            self.code.forwards(self.connection, (first.0, last.0), |piece| {
                let (begin, end) = (piece.seq(piece.first_step), piece.seq(piece.end_step));
                while let Some(&(seq, i)) = near.get(at).filter(|step| step.0 < end) {
                    if seq >= begin {
                        waiting[i].told(piece, seq);
                    }
                    at += 1;
                }
                Ok(at < near.len())
            })?;
        }
        Ok(())
    }
}

impl Sent {
    /// What the accesses of a step tell of the bytes: as the one that reads them, or that wrote them.
    fn told(&mut self, piece: &Piece, seq: i64) {
        // The step is one of the piece.
        let step = (seq - piece.start_seq) as usize;
        let begin = |access: &BlockAccess| match (access.place, self.place) {
            (AccessPlace::Memory(_), Place::Memory(_)) => access.address(piece.address),
            (AccessPlace::Register(at), Place::Register(thread)) => {
                (piece.thread == thread).then_some(at.into())
            }
            _ => None,
        };
        // Which of the bytes of an access this one is.
        let within = |access: &BlockAccess, cell: u64| {
            let at = cell.wrapping_sub(begin(access)?);
            (at < access.size.into()).then_some(at as usize)
        };
        let value = |access: &BlockAccess, cell: u64| {
            let word = (*piece.value.get(access.value? as usize)?)?;
            (access.size as usize <= WORD).then_some(word.to_le_bytes()[within(access, cell)?])
        };
        let mut found = self.values;
        for (i, slot) in found[..self.bytes].iter_mut().enumerate() {
            let cell = self.address.wrapping_add(i as u64);
            let accesses = piece.block.accesses_of(step).iter();
            let mut accesses = accesses.filter(|access| within(access, cell).is_some());
            let access = if seq == self.read_seq {
                // What the step writes before it reads is another version.
                accesses.next().filter(|access| !access.is_write)
            } else {
                accesses.rfind(|access| access.is_write)
            };
            *slot = access.and_then(|access| value(access, cell)).or(*slot);
        }
        self.values = found;
    }
}
