//! Basic ("naive") logs: behind the header records of 32 bytes, of all threads mixed.

use super::problem::{Place, Problem, Problems};
use super::record::{Block, Event, Header, Kind, u16_at, u32_at, u64_at};
use rustc_hash::FxHashMap;

const RECORD: usize = 32;

/// Word of 16 bits that says what a record is: 0 entry or exit, 1 argument.
fn kind_of(record: &[u8], big: bool) -> u16 {
    u16_at(record, big)
}

/// Thread and process of a record; the process is there since version 3.
fn owner(record: &[u8], header: &Header) -> (i32, Option<i32>) {
    let at = if kind_of(record, header.big) == 0 { 16 } else { 8 };
    let word = |at: usize| u32_at(&record[at..], header.big) as i32;
    (word(at), (header.version >= 3).then(|| word(at + 4)))
}

/// Runs of records of one thread, as blocks; gives where it ended: at the end of the bytes or at
/// another header.
pub fn index(
    bytes: &[u8],
    header: &Header,
    file: u32,
    blocks: &mut Vec<Block>,
    problems: &mut Problems,
) -> usize {
    let mut at = header.at + Header::SIZE;
    let mut block: Option<Block> = None;
    // Clock at the last record of each thread: its runs stay in the order of the file.
    let mut last: FxHashMap<(i32, Option<i32>), u64> = FxHashMap::default();
    while let Some(record) = bytes.get(at..at + RECORD) {
        let kind = kind_of(record, header.big);
        // The header of a version 1 log begins like an argument.
        let other = Header::parse(&bytes[at..])
            .filter(|h| !h.fdr && h.big == header.big && (1..=3).contains(&h.version));
        let other = other.is_some_and(|h| h.frequency == header.frequency);
        let good = kind == 0 && record[3] <= 3 || kind == 1 && !other;
        if !good {
            blocks.extend(block.take());
            if other {
                return at;
            }
            let what = if kind == 0 {
                Place::Function(record[3])
            } else {
                Place::Metadata(record[usize::from(header.big)])
            };
            problems.push(Problem::Unknown { file, at, what, bytes: RECORD });
            at += RECORD;
            continue;
        }
        let (tid, pid) = owner(record, header);
        match &mut block {
            Some(block) if (block.tid, block.pid) == (tid, pid) => block.end = at + RECORD,
            _ => {
                blocks.extend(block.take());
                let tsc = if kind == 0 { u64_at(&record[8..], header.big) } else { 0 };
                let last = last.entry((tid, pid)).or_default();
                *last = tsc.max(*last);
                let tsc = *last;
                let (start, end) = (at, at + RECORD);
                let (version, layout) = (header.version, header.layout);
                block = Some(Block {
                    file,
                    start,
                    end,
                    own: start,
                    fork: 0,
                    cut: false,
                    version,
                    layout,
                    pid,
                    tid,
                    wall: (0, 0),
                    tsc,
                });
            }
        }
        at += RECORD;
    }
    blocks.extend(block);
    if at < bytes.len() {
        problems.push(Problem::RecordCut { file, at, bytes: bytes.len() - at });
    }
    bytes.len()
}

/// Appends events from `at` on until `out` has `most` or the block ends; true at the end.
pub fn fill(
    at: &mut usize,
    bytes: &[u8],
    block: &Block,
    out: &mut Vec<Event>,
    most: usize,
) -> bool {
    let big = block.layout.big;
    while out.len() < most && *at < block.end {
        let record = &bytes[*at..*at + RECORD];
        *at += RECORD;
        if *at <= block.own {
            continue;
        }
        if kind_of(record, big) == 1 {
            out.push(Event {
                time: 0,
                value: u64_at(&record[16..], big),
                function: 0,
                cpu: 0,
                kind: Kind::Argument,
            });
            continue;
        }
        let kind = match record[3] {
            0 | 3 => Kind::Enter,
            1 => Kind::Exit,
            _ => Kind::TailExit,
        };
        let time = u64_at(&record[8..], big);
        out.push(Event {
            time,
            value: 0,
            function: u32_at(&record[4..], big),
            cpu: record[2].into(),
            kind,
        });
    }
    *at >= block.end
}
