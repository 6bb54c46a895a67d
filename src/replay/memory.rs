//! What a run does to memory: accesses over address and time, footprint, traffic by variable and
//! region, dead bytes, reuse distance.
//!
//! Accesses are those of the log: what returns and calls do, and saves and restores of registers,
//! counts as well.

use super::bytes::ByteMap;
use super::code::{BlockAccess, Code};
use super::error::ReplayError;
use super::outside::{Outside, Outsides};
use super::places::{ByPage, Places, When};
use super::reuse::Order;
use super::usage::{Traffic, Usage, Use};
use super::window::{Piece, Way};
use super::written::{WriteFinder, Written};
use crate::id::ProcessId;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

pub use super::usage::PAGE;

/// Parts of the run that are told apart, at most 255.
const TIMES: i64 = 128;
/// Bytes that are fetched together, for the reuse distance: a cache line.
pub const LINE: u64 = 64;

/// A part of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub first_seq: i64,
    pub reads: u64,
    pub writes: u64,
    /// Distinct bytes touched in it.
    pub touched: u64,
    /// Distinct bytes touched up to its end.
    pub footprint: u64,
}

#[derive(Debug, Default)]
pub struct Profile {
    /// By variable name, or `(heap)` and the like. Of the stack dead bytes would be return
    /// addresses and saves, so they are 0 there.
    pub traffic: BTreeMap<String, Traffic>,
    pub moments: Vec<Moment>,
    /// By moment and page: reads and writes.
    pub pages: BTreeMap<(usize, u64), (u64, u64)>,
    /// Accesses to lines by the distinct other lines that were touched since the last access: `[0]`
    /// none, `[k]` from 2^(k-1) to 2^k - 1.
    pub reuse: Vec<u64>,
    /// Lines that were touched for the first time.
    pub cold: u64,
    pub written: Written,
}

struct Tracker<'a> {
    places: &'a Places,
    /// The process and the step that are looked at. Of bytes and lines, each process has its own.
    at: When,
    profile: Profile,
    first: i64,
    /// Steps of a moment.
    length: i64,
    usage: Usage,
    /// The last moment in which each byte was touched, plus one.
    touched: ByteMap<u8, { PAGE as usize }>,
    traffic: Vec<Traffic>,
    /// Where in `traffic` what has a name is.
    names: FxHashMap<String, usize>,
    named: ByPage<usize>,
    order: Order,
    now: usize,
    footprint: u64,
    written: WriteFinder,
}

impl Tracker<'_> {
    /// Where in `traffic` an address counts.
    fn name(&mut self, address: u64) -> usize {
        let (places, names, traffic) = (self.places, &mut self.names, &mut self.traffic);
        self.named.find(places, self.at, address, |at| {
            let name = match at.variable {
                Some(v) => places.variables()[v].name.clone(),
                None => format!("({})", at.via),
            };
            *names.entry(name).or_insert_with(|| {
                traffic.push(Traffic::default());
                traffic.len() - 1
            })
        })
    }

    fn access(&mut self, access: &BlockAccess, address: u64) {
        let how = match (access.is_write, access.is_control) {
            (true, _) => Use::Write,
            (false, true) => Use::Control,
            (false, false) => Use::Read,
        };
        let bytes = u64::from(access.size);
        let at = self.name(address);
        let traffic = &mut self.traffic[at];
        let before = traffic.touched;
        self.usage.access(how, address, bytes, traffic);
        self.footprint += traffic.touched - before;
        let moment = &mut self.profile.moments[self.now];
        let page = self.profile.pages.entry((self.now, address / PAGE)).or_default();
        let (all, here) = if access.is_write {
            (&mut moment.writes, &mut page.1)
        } else {
            (&mut moment.reads, &mut page.0)
        };
        *all += 1;
        *here += 1;
        // There are fewer than 256 moments.
        let now = (self.now + 1) as u8;
        self.touched.visit(address, bytes, |last| {
            moment.touched += u64::from(*last != now);
            *last = now;
        });
        let (first, last) = (address / LINE, address.wrapping_add(bytes.max(1) - 1) / LINE);
        self.line(first);
        if last != first {
            self.line(last);
        }
    }

    /// An access to a line.
    fn line(&mut self, line: u64) {
        let Some(distance) = self.order.touch(line) else {
            self.profile.cold += 1;
            return;
        };
        let class = (u32::BITS - distance.leading_zeros()) as usize;
        if self.profile.reuse.len() <= class {
            self.profile.reuse.resize(class + 1, 0);
        }
        self.profile.reuse[class] += 1;
    }

    fn outside(&mut self, seq: i64, outside: &Outside) {
        self.written.outside(seq, outside);
        for address in self.usage.outside(outside) {
            let at = self.name(address);
            self.traffic[at].dead_bytes += 1;
        }
    }

    /// What follows is of this process: the steps of the one before are done.
    fn go_to(&mut self, process: ProcessId) {
        if process != self.at.process {
            self.left();
            self.usage = Usage::default();
            self.touched = ByteMap::default();
            self.order = Order::default();
            self.at.process = process;
        }
    }

    /// What was written last and not read is dead.
    fn left(&mut self) {
        let left: Vec<u64> = self.usage.unread().collect();
        for address in left {
            let at = self.name(address);
            self.traffic[at].dead_bytes += 1;
        }
    }

    fn piece(&mut self, piece: &Piece) {
        for step in piece.steps() {
            self.at.seq = piece.seq(step);
            let moment = ((piece.seq(step) - self.first) / self.length).clamp(0, TIMES - 1);
            self.now = usize::try_from(moment).unwrap_or(0);
            let moment = &mut self.profile.moments[self.now];
            if moment.first_seq == 0 {
                moment.first_seq = piece.seq(step);
            }
            for access in piece.block.accesses_of(step) {
                if let Some(address) = access.address(piece.address) {
                    if access.is_write {
                        self.written.write(piece.seq(step), address, access.size.into());
                    }
                    self.access(access, address);
                }
            }
            self.profile.moments[self.now].footprint = self.footprint;
        }
    }

    fn finish(mut self) -> Profile {
        self.left();
        self.profile.written = self.written.finish();
        for (name, at) in self.names {
            let mut sum = self.traffic[at];
            if name == "(stack)" {
                sum.dead_bytes = 0;
            }
            self.profile.traffic.insert(name, sum);
        }
        self.profile
    }
}

/// Goes through the run once.
pub fn profile(
    code: &Code,
    connection: &Connection,
    places: &Places,
) -> Result<Profile, ReplayError> {
    let length = ((code.last - code.first) / TIMES + 1).max(1);
    let count = usize::try_from((code.last - code.first) / length + 1).unwrap_or(1).max(1);
    let mut tracker = Tracker {
        places,
        at: When { process: ProcessId::FIRST, seq: code.first },
        profile: Profile { moments: vec![Moment::default(); count], ..Profile::default() },
        first: code.first,
        length,
        usage: Usage::default(),
        touched: ByteMap::default(),
        traffic: Vec::new(),
        names: FxHashMap::default(),
        named: ByPage::default(),
        order: Order::default(),
        now: 0,
        footprint: 0,
        written: WriteFinder::new(code.first),
    };
    let mut outsides = Outsides::new(code, connection, Way::Forwards);
    code.forwards(connection, (code.first, code.last), |piece| {
        tracker.go_to(code.process(piece.thread));
        tracker.piece(piece);
        outsides.cover(piece)?;
        let last = piece.end_step - 1;
        let behind = outsides.behind(piece, last);
        behind.iter().for_each(|outside| {
            tracker.go_to(outside.process);
            tracker.outside(piece.seq(last), outside);
        });
        Ok(true)
    })?;
    Ok(tracker.finish())
}
