//! What memory holds that no step wrote: who wrote it last, and how often that changed.

use super::super::error::ReplayError;
use super::super::places::{Places, REGISTER, When};
use crate::id::ProcessId;
use duckdb::{Connection, params};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Something that gave bytes new contents behind a step.
struct Event {
    seq: i64,
    process: ProcessId,
    first: u64,
    last: u64,
    contents: Contents,
}

/// What bytes hold that no step wrote.
#[derive(Clone, Copy)]
enum Contents {
    /// What comes from the kernel, by the number of its name; None: nobody has written what is there.
    Of(Option<usize>),
    /// What was at this address.
    Moved { from: u64 },
}

/// Bytes that one change made what they are.
#[derive(Clone, Copy)]
struct Range {
    last: u64,
    /// Number of the event, from 1.
    number: usize,
    source: Option<usize>,
}

/// Adjacent bytes that no step wrote, from one source.
pub struct UnwrittenPart<'a> {
    /// Of the change that made them what they are; 0: none did.
    pub number: usize,
    /// Of the pseudo-function that stands for the source.
    pub name: &'a str,
    pub address: u64,
    pub bytes: u64,
}

/// The latest change of each range, in the order of the run.
#[derive(Default)]
pub struct Unwritten {
    events: Vec<Event>,
    done: usize,
    sources: Vec<String>,
    /// Those that are files, of which sections of images are not.
    files: FxHashSet<usize>,
    /// By process and first byte.
    ranges: FxHashMap<ProcessId, BTreeMap<u64, Range>>,
}

/// All of a range is of one change from here on.
fn set(ranges: &mut BTreeMap<u64, Range>, first: u64, range: Range) {
    for (at, of) in over(ranges, first, range.last) {
        ranges.remove(&at);
        if at < first {
            ranges.insert(at, Range { last: first - 1, ..of });
        }
        if of.last > range.last {
            ranges.insert(range.last + 1, of);
        }
    }
    ranges.insert(first, range);
}

/// Ranges that have some of these bytes.
fn over(ranges: &BTreeMap<u64, Range>, first: u64, last: u64) -> Vec<(u64, Range)> {
    let before = ranges.range(..=last).rev();
    before.take_while(|(_, of)| of.last >= first).map(|(at, of)| (*at, *of)).collect()
}

impl Unwritten {
    pub fn read(connection: &Connection) -> Result<Unwritten, ReplayError> {
        let mut unwritten = Unwritten::default();
        let mut files: FxHashMap<(i64, ProcessId, u64), usize> = FxHashMap::default();
        let sql = include_str!("../../../queries/report/replay_files.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let (seq, process, first): (i64, ProcessId, u64) = (r.get(0)?, r.get(1)?, r.get(2)?);
            let source = unwritten.source(r.get(4)?);
            unwritten.files.insert(source);
            files.insert((seq, process, first), source);
            if seq == 0 {
                let last = first.saturating_add(r.get::<_, u64>(3)?.saturating_sub(1));
                let contents = Contents::Of(Some(source));
                unwritten.events.push(Event { seq, process, first, last, contents });
            }
        }
        let sql = include_str!("../../../queries/report/replay_outside.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query(params![i64::MIN, i64::MAX])?;
        while let Some(r) = rows.next()? {
            let (kind, mut first, bytes): (String, u64, u64) = (r.get(2)?, r.get(3)?, r.get(4)?);
            let mut contents = Contents::Of(None);
            match &kind[..] {
                "read" => continue,
                "write" => contents = Contents::Of(Some(unwritten.source(r.get(6)?))),
                "move" | "copy" => {
                    contents = Contents::Moved { from: first };
                    first = r.get(5)?;
                }
                _ => {}
            }
            let mut last = first.saturating_add(bytes.saturating_sub(1));
            if kind == "gap" {
                (first, last) = (0, u64::MAX);
            }
            let (seq, process) = (r.get(0)?, r.get(1)?);
            if kind == "map" {
                contents = Contents::Of(files.get(&(seq, process, first)).copied());
            }
            unwritten.events.push(Event { seq, process, first, last, contents });
        }
        Ok(unwritten)
    }

    fn source(&mut self, name: String) -> usize {
        self.sources.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.sources.push(name);
            self.sources.len() - 1
        })
    }

    /// What happened behind the steps before this one.
    pub fn go_to(&mut self, seq: i64) {
        while let Some(event) = self.events.get(self.done).filter(|event| event.seq < seq) {
            self.done += 1;
            let (ranges, number) = (self.ranges.entry(event.process).or_default(), self.done);
            let &Event { first, last, contents, .. } = event;
            let moved = match contents {
                Contents::Of(source) => {
                    set(ranges, first, Range { last, number, source });
                    continue;
                }
                Contents::Moved { from } => over(ranges, from, from.saturating_add(last - first))
                    .into_iter()
                    .map(move |(at, of)| {
                        (at.max(from) - from, of.last.saturating_sub(from), of.source)
                    }),
            };
            set(ranges, first, Range { last, number, source: None });
            for (offset, end, source) in moved {
                let last = first.saturating_add(end).min(last);
                set(ranges, first + offset, Range { last, number, source });
            }
        }
    }

    /// Whether one change made all of these bytes what they are, or none did.
    fn is_uniform(&self, process: ProcessId, address: u64, bytes: u64) -> bool {
        let last = address.saturating_add(bytes.saturating_sub(1));
        self.ranges.get(&process).is_none_or(|ranges| {
            let begins = ranges.range(..=last).next_back();
            begins.is_none_or(|(&at, of)| of.last < address || (at <= address && last <= of.last))
        })
    }

    /// Bytes of memory that a step reads (None: of a register) and that no step wrote, by what they come from: a read may
    /// go across the border of a section, or of what the stack had when the program began.
    pub fn parts<'a>(
        &'a self,
        places: &'a Places,
        moment: Option<When>,
        (address, bytes): (u64, u64),
    ) -> Vec<UnwrittenPart<'a>> {
        let together = moment.is_none_or(|moment| {
            places.is_uniform(moment, address, bytes)
                && self.is_uniform(moment.process, address, bytes)
        });
        let (pieces, step) = if together { (1, bytes) } else { (bytes, 1) };
        let mut parts: Vec<UnwrittenPart> = Vec::new();
        for offset in 0..pieces {
            let at = address.wrapping_add(offset);
            let (number, source) = moment.map_or((0, None), |moment| self.at(moment.process, at));
            let what = moment.map_or(REGISTER, |moment| places.at(moment, at));
            let is_section = matches!(what.via, "global" | "constant");
            let name = match source.filter(|source| !(is_section && self.files.contains(source))) {
                Some(source) => self.sources[source].as_str(),
                None => places.name(what.unwritten),
            };
            match parts.last_mut() {
                Some(last) if (last.number, last.name) == (number, name) => last.bytes += step,
                _ => parts.push(UnwrittenPart { number, name, address: at, bytes: step }),
            }
        }
        parts
    }

    /// The number of the change that made a byte what it is (0: none did), and its source.
    fn at(&self, process: ProcessId, address: u64) -> (usize, Option<usize>) {
        let found = self.ranges.get(&process).and_then(|ranges| {
            ranges.range(..=address).next_back().filter(|(_, of)| of.last >= address)
        });
        found.map_or((0, None), |(_, of)| (of.number, of.source))
    }
}
