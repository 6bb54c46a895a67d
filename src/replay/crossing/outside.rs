//! What memory holds that no step wrote: who wrote it last, and how often that changed.

use super::super::error::ReplayError;
use crate::id::ProcessId;
use duckdb::{Connection, params};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Something that gave bytes new contents behind a step.
struct Event {
    seq: i64,
    process: ProcessId,
    first: u64,
    last: u64,
    /// The kernel's name for where they come from; None: nobody has written what is there.
    source: Option<usize>,
}

/// The latest change of each range, in the order of the run.
#[derive(Default)]
pub struct Unwritten {
    events: Vec<Event>,
    done: usize,
    pub sources: Vec<String>,
    /// By process and first byte: last byte, number of the event from 1.
    ranges: FxHashMap<ProcessId, BTreeMap<u64, (u64, usize)>>,
}

impl Unwritten {
    pub fn read(connection: &Connection) -> Result<Unwritten, ReplayError> {
        let mut unwritten = Unwritten::default();
        let sql = include_str!("../../../queries/report/replay_outside.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query(params![i64::MIN, i64::MAX])?;
        while let Some(r) = rows.next()? {
            let (kind, bytes): (String, u64) = (r.get(2)?, r.get(4)?);
            let mut first: u64 = r.get(3)?;
            let mut source = None;
            let mut last = first.saturating_add(bytes.saturating_sub(1));
            match &kind[..] {
                "read" => continue,
                "write" => source = Some(unwritten.source(r.get(6)?)),
                "gap" => (first, last) = (0, u64::MAX),
                "move" => {
                    first = r.get(5)?;
                    last = first.saturating_add(bytes.saturating_sub(1));
                }
                _ => {}
            }
            unwritten.events.push(Event {
                seq: r.get(0)?,
                process: r.get(1)?,
                first,
                last,
                source,
            });
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
            let ranges = self.ranges.entry(event.process).or_default();
            let (first, last) = (event.first, event.last);
            let over: Vec<(u64, (u64, usize))> = ranges
                .range(..=last)
                .rev()
                .take_while(|(_, (end, _))| *end >= first)
                .map(|(&at, &range)| (at, range))
                .collect();
            for (at, (end, number)) in over {
                ranges.remove(&at);
                if at < first {
                    ranges.insert(at, (first - 1, number));
                }
                if end > last {
                    ranges.insert(last + 1, (end, number));
                }
            }
            ranges.insert(first, (last, self.done));
        }
    }

    /// The number of the change that made a byte what it is (0: none did), and its source.
    pub fn at(&self, process: ProcessId, address: u64) -> (usize, Option<usize>) {
        let found = self.ranges.get(&process).and_then(|ranges| {
            ranges.range(..=address).next_back().filter(|(_, (last, _))| *last >= address)
        });
        found.map_or((0, None), |(_, &(_, number))| (number, self.events[number - 1].source))
    }
}
