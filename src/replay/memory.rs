//! What a run does to memory: accesses over address and time, footprint, traffic by variable and
//! region, dead bytes, reuse distance.

use super::dataflow::Observer;
use super::{Code, Piece, Place, Places, ReplayError};
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Parts of the run that are told apart.
const TIMES: i64 = 128;
/// Bytes of memory that are told apart in the picture of accesses: a page.
pub const PAGE: u64 = 4096;
/// Bytes that are fetched together, for the reuse distance: a cache line.
pub const LINE: u64 = 64;

/// Traffic of a variable, or of what of a kind of memory has no name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    /// Written, and overwritten or left without being read. Of the stack this counts return
    /// addresses and saves, so it is 0 there.
    pub dead_bytes: u64,
    /// Distinct bytes.
    pub touched: u64,
    /// Bytes read for the first time since they were written; the rest is read again.
    pub first_read_bytes: u64,
}

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
    /// By variable name, or `(heap)` and the like.
    pub traffic: BTreeMap<String, Traffic>,
    pub moments: Vec<Moment>,
    /// By moment and page: reads and writes.
    pub pages: BTreeMap<(usize, u64), (u64, u64)>,
    /// Accesses to lines by the distinct other lines that were touched since the last access: `[0]`
    /// none, `[k]` from 2^(k-1) to 2^k - 1.
    pub reuse: Vec<u64>,
    /// Lines that were touched for the first time.
    pub cold: u64,
}

const SEEN: u8 = 1;
const UNREAD: u8 = 2;

#[derive(Clone)]
struct Bytes {
    state: [u8; PAGE as usize],
    /// The last moment in which each was touched, plus one.
    moment: [u8; PAGE as usize],
    /// Which traffic the bytes count for, where that is one for the whole page.
    place: Option<u32>,
}

struct Tracker<'a> {
    places: &'a Places,
    profile: Profile,
    first: i64,
    length: i64,
    pages: FxHashMap<u64, Box<Bytes>>,
    traffic: Vec<Traffic>,
    names: FxHashMap<String, u32>,
    order: Order,
    now: usize,
    footprint: u64,
}

/// Distinct lines since a line's last access, after Olken: a Fenwick tree over the times of the
/// last accesses.
struct Order {
    tree: Vec<u32>,
    next: usize,
    last: FxHashMap<u64, usize>,
}

impl Order {
    fn add(&mut self, mut at: usize, delta: i32) {
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add_signed(delta);
            at += at & at.wrapping_neg();
        }
    }

    fn up_to(&self, mut at: usize) -> u32 {
        let mut sum = 0u32;
        while at > 0 {
            sum = sum.wrapping_add(self.tree[at]);
            at &= at - 1;
        }
        sum
    }

    /// Distinct lines since the last access, None: the first.
    fn touch(&mut self, line: u64) -> Option<u32> {
        if self.next + 1 >= self.tree.len() {
            self.renumber();
        }
        self.next += 1;
        let now = self.next;
        let before = self.last.insert(line, now);
        let distance = before.map(|t| {
            let since = self.last.len() as u32 - self.up_to(t);
            self.add(t, -1);
            since
        });
        self.add(now, 1);
        distance
    }

    /// Times of last accesses from 1 without gaps, in a tree with as much room again.
    fn renumber(&mut self) {
        let mut lines: Vec<(usize, u64)> = self.last.iter().map(|(&l, &t)| (t, l)).collect();
        lines.sort_unstable();
        self.tree = vec![0; (4 * lines.len()).max(1 << 16)];
        self.next = lines.len();
        for (i, (_, line)) in lines.into_iter().enumerate() {
            self.last.insert(line, i + 1);
            self.add(i + 1, 1);
        }
    }
}

impl Tracker<'_> {
    fn name(&mut self, address: u64) -> u32 {
        let name = match self.places.variable(address) {
            Some(v) => self.places.variables()[v].name.clone(),
            None => format!("({})", self.places.at(false, address).0),
        };
        let next = self.traffic.len() as u32;
        let at = *self.names.entry(name).or_insert(next);
        if at == next {
            self.traffic.push(Traffic::default());
        }
        at
    }

    fn access(&mut self, is_write: bool, address: u64, bytes: u32) {
        let moment = self.now;
        let at = self.name_of(address);
        let traffic = &mut self.traffic[at as usize];
        if is_write {
            traffic.writes += 1;
            traffic.written_bytes += u64::from(bytes);
            self.profile.moments[moment].writes += 1;
        } else {
            traffic.reads += 1;
            traffic.read_bytes += u64::from(bytes);
            self.profile.moments[moment].reads += 1;
        }
        let page = self.profile.pages.entry((moment, address / PAGE)).or_default();
        *(if is_write { &mut page.1 } else { &mut page.0 }) += 1;
        for i in 0..u64::from(bytes) {
            let a = address.wrapping_add(i);
            let page = self.page(a);
            let slot = (a % PAGE) as usize;
            let state = page.state[slot];
            let fresh = page.moment[slot] != moment as u8 + 1;
            page.moment[slot] = moment as u8 + 1;
            page.state[slot] = match is_write {
                true => SEEN | UNREAD,
                false => SEEN | (state & UNREAD),
            };
            self.profile.moments[moment].touched += u64::from(fresh);
            self.footprint += u64::from(state & SEEN == 0);
            let traffic = &mut self.traffic[at as usize];
            traffic.touched += u64::from(state & SEEN == 0);
            traffic.dead_bytes += u64::from(is_write && state & UNREAD != 0);
        }
        let (first, last) =
            (address / LINE, address.wrapping_add(u64::from(bytes.max(1)) - 1) / LINE);
        for line in [first, last].into_iter().take(if first == last { 1 } else { 2 }) {
            match self.order.touch(line) {
                None => self.profile.cold += 1,
                Some(distance) => {
                    let class = (u32::BITS - distance.leading_zeros()) as usize;
                    if self.profile.reuse.len() <= class {
                        self.profile.reuse.resize(class + 1, 0);
                    }
                    self.profile.reuse[class] += 1;
                }
            }
        }
    }

    fn page(&mut self, address: u64) -> &mut Bytes {
        self.pages.entry(address / PAGE).or_insert_with(|| {
            Box::new(Bytes { state: [0; PAGE as usize], moment: [0; PAGE as usize], place: None })
        })
    }

    /// [`Tracker::name`], remembered for pages of one kind.
    fn name_of(&mut self, address: u64) -> u32 {
        if let Some(place) = self.page(address).place {
            return place;
        }
        let place = self.name(address);
        if self.places.is_uniform(address / PAGE * PAGE, PAGE) {
            self.page(address).place = Some(place);
        }
        place
    }
}

impl Observer for Tracker<'_> {
    fn piece(&mut self, piece: &Piece) {
        for step in piece.first_step..piece.end_step {
            self.now =
                (((piece.seq(step) - self.first) / self.length).clamp(0, TIMES - 1)) as usize;
            let moment = &mut self.profile.moments[self.now];
            if moment.first_seq == 0 {
                moment.first_seq = piece.seq(step);
            }
            for access in piece.block.accesses_of(step) {
                if let Place::Memory(index) = access.place
                    && let Some(&address) = piece.address.get(index as usize)
                {
                    self.access(access.is_write, address, access.size);
                    if !access.is_write && !access.is_control {
                        self.read(address, access.size);
                    }
                }
            }
            let footprint = self.footprint;
            self.profile.moments[self.now].footprint = footprint;
        }
    }
}

impl Tracker<'_> {
    /// A read that uses the bytes.
    fn read(&mut self, address: u64, bytes: u32) {
        let at = self.name_of(address);
        for i in 0..u64::from(bytes) {
            let a = address.wrapping_add(i);
            let state = &mut self.page(a).state[(a % PAGE) as usize];
            let first = *state & UNREAD != 0;
            *state &= !UNREAD;
            self.traffic[at as usize].first_read_bytes += u64::from(first);
        }
    }
}

/// Goes through the run once. Accesses of returns and calls count as accesses, too.
pub fn profile(
    code: &Code,
    connection: &Connection,
    places: &Places,
) -> Result<Profile, ReplayError> {
    let length = ((code.last - code.first) / TIMES + 1).max(1);
    let count = ((code.last - code.first) / length + 1) as usize;
    let mut tracker = Tracker {
        places,
        profile: Profile { moments: vec![Moment::default(); count.max(1)], ..Profile::default() },
        first: code.first,
        length,
        pages: FxHashMap::default(),
        traffic: Vec::new(),
        names: FxHashMap::default(),
        order: Order { tree: Vec::new(), next: 0, last: FxHashMap::default() },
        now: 0,
        footprint: 0,
    };
    code.forwards(connection, (code.first, code.last), |piece| {
        tracker.piece(piece);
        true
    })?;
    // What was written last and not read.
    let mut left: Vec<(u64, u64)> = Vec::new();
    for (&page, bytes) in &tracker.pages {
        left.extend(
            bytes
                .state
                .iter()
                .enumerate()
                .filter(|(_, s)| **s & UNREAD != 0)
                .map(|(i, _)| (page, i as u64)),
        );
    }
    for (page, i) in left {
        let at = tracker.name_of(page * PAGE + i);
        tracker.traffic[at as usize].dead_bytes += 1;
    }
    let (names, traffic) = (&tracker.names, &tracker.traffic);
    let mut profile = tracker.profile;
    for (name, &at) in names {
        let mut sum = traffic[at as usize].clone();
        if name == "(stack)" {
            sum.dead_bytes = 0;
        }
        profile.traffic.insert(name.clone(), sum);
    }
    Ok(profile)
}
