//! What crosses the border of a set of functions: what it reads of what was written outside, and
//! what outside reads of what it wrote, by entry into the set. `addfg cut` shows it.
//!
//! Communications inside one call instance never cross it, so that the stored communications
//! between instances are all that there is to look at. They come in the order of their reads, and a
//! byte is never read in an older version than before: to know which byte was read in which version
//! already, the last version is enough. Where the trace has values, those of new versions are compared.

mod along;
mod calls;
mod exchange;
mod members;
mod nodes;
mod outside;
mod row;
mod rows;
mod values;

pub use along::Along;
pub use calls::Exchanged;
pub use exchange::{Crossing, Direction, Exchange, Object, Partner, Sum};
pub use members::{Callees, Calls, Entry, Members, Rule};
pub use nodes::{NodeNumber, Nodes, between};
pub use outside::Unwritten;
pub use rows::{Stored, beside};

use super::bytes::ByteMap;
use super::error::ReplayError;
use super::places::{ByPage, Places, When};
use crate::id::{FunctionId, ProcessId, ThreadId};
use duckdb::Connection;
use exchange::{Crossed, Place};
use members::{Ends, EntryNumber, Span};
use row::{Kind, Row};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use values::Values;

/// What was last read of a byte: in which version, by which entry, and who wrote or read it.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// Number of the writing step; below 0 for what no step wrote; 0: not read yet.
    version: i64,
    entry: EntryNumber,
    partner: u32,
}

/// Bytes of a buffer that stand together.
#[derive(Clone, Copy, Default)]
struct Granule {
    first: u64,
    last: u64,
    sum: Sum,
}

/// Bytes that a granule has, and that may lie between two bytes of one buffer.
const GRANULE: u64 = 16;

/// One way of crossing. `PAGE` bytes of memory share an allocation.
#[derive(Default)]
struct Side<const PAGE: usize> {
    memory: FxHashMap<ProcessId, ByteMap<Mark, PAGE>>,
    registers: FxHashMap<ThreadId, ByteMap<Mark, 64>>,
    /// Versions that entries which are not back yet have read before another entry read the byte.
    before: FxHashMap<(EntryNumber, Place, u64), i64>,
    /// Partners of bytes that have had several.
    several: FxHashSet<(u32, Place, u64)>,
    flows: FxHashMap<(u32, u32), Sum>,
    variables: FxHashMap<u32, Sum>,
    buffers: FxHashMap<(u32, ProcessId, u64), Granule>,
    addresses: u64,
}

/// What bytes of a communication are: read in this version by this entry for the first time, by any
/// entry, and at all.
#[derive(Clone, Copy, Default)]
struct News {
    unique: u64,
    new: u64,
    addresses: u64,
    of_partner: u64,
}

impl<const PAGE: usize> Side<PAGE> {
    /// `sent` is told of each byte that crosses in a version that has not crossed before.
    fn look(&mut self, members: &Members, c: &Crossed, mut sent: impl FnMut(u64)) -> News {
        let Side { memory, registers, before, several, .. } = self;
        let mut news = News::default();
        let mut address = c.address;
        let mut take = |mark: &mut Mark| {
            let at = address;
            address = address.wrapping_add(1);
            let fresh = mark.version == 0;
            news.addresses += u64::from(fresh);
            if fresh {
                news.of_partner += 1;
            } else if mark.partner != c.partner {
                several.insert((mark.partner, c.place, at));
                news.of_partner += u64::from(several.insert((c.partner, c.place, at)));
            }
            let newer = mark.version != c.version;
            news.new += u64::from(newer);
            if newer {
                sent(at);
            }
            let mut unique = newer;
            if !newer && mark.entry != c.entry {
                unique = before.get(&(c.entry, c.place, at)) != Some(&c.version);
            }
            if mark.entry != c.entry
                && mark.entry > 0
                && members.entry(mark.entry).last >= c.read_seq
            {
                before.insert((mark.entry, c.place, at), mark.version);
            }
            news.unique += u64::from(unique);
            *mark = Mark { version: c.version, entry: c.entry, partner: c.partner };
        };
        match c.place {
            Place::Memory(process) => {
                memory.entry(process).or_default().visit(c.address, c.bytes, &mut take);
            }
            Place::Register(thread) => {
                registers.entry(thread).or_default().visit(c.address, c.bytes, &mut take);
            }
        }
        self.addresses += news.addresses;
        news
    }

    fn buffer(&mut self, via: u32, process: ProcessId, c: &Crossed, sum: Sum) {
        let last = c.address.saturating_add(c.bytes.max(1) - 1);
        let granule = self.buffers.entry((via, process, c.address / GRANULE)).or_insert(Granule {
            first: c.address,
            last,
            sum: Sum::default(),
        });
        granule.first = granule.first.min(c.address);
        granule.last = granule.last.max(last);
        granule.sum.add(sum);
    }
}

/// Bytes that no step wrote, from one source.
struct UnwrittenBytes {
    version: i64,
    partner: u32,
    /// The first one's address, and how many.
    bytes: (u64, u64),
}

struct Finder<'a> {
    places: &'a Places,
    processes: FxHashMap<ThreadId, ProcessId>,
    unwritten: Unwritten,
    /// Of each entry so far.
    entries: Vec<Exchange>,
    sides: [Side<256>; 2],
    partners: Vec<Partner>,
    partner_numbers: FxHashMap<Partner, u32>,
    function_numbers: FxHashMap<FunctionId, u32>,
    vias: Vec<String>,
    /// By address: the number of its via, and of its variable.
    known: ByPage<(u32, Option<u32>)>,
    /// None: the traces have none.
    values: Option<Values<'a>>,
    /// Functions of steps before what is looked at.
    before: Rc<FxHashMap<u64, FunctionId>>,
}

impl<'a> Finder<'a> {
    fn new(
        connection: &Connection,
        places: &'a Places,
        values: Option<Values<'a>>,
    ) -> Result<Finder<'a>, ReplayError> {
        let mut finder = Finder {
            places,
            processes: FxHashMap::default(),
            unwritten: Unwritten::read(connection)?,
            entries: Vec::new(),
            sides: [Side::default(), Side::default()],
            partners: Vec::new(),
            partner_numbers: FxHashMap::default(),
            function_numbers: FxHashMap::default(),
            vias: Vec::new(),
            known: ByPage::default(),
            values,
            before: Rc::default(),
        };
        let mut statement = connection.prepare("SELECT thread_id, process_id FROM thread")?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            finder.processes.insert(r.get(0)?, r.get(1)?);
        }
        Ok(finder)
    }
}

impl Finder<'_> {
    fn partner(&mut self, partner: Partner) -> u32 {
        let next = self.partners.len() as u32;
        let number = *self.partner_numbers.entry(partner.clone()).or_insert(next);
        if number == next {
            self.partners.push(partner);
        }
        number
    }

    fn function(&mut self, function: Option<FunctionId>) -> u32 {
        let Some(id) = function else { return self.partner(Partner::Source("?".into())) };
        if let Some(&number) = self.function_numbers.get(&id) {
            return number;
        }
        let number = self.partner(Partner::Function(id));
        self.function_numbers.insert(id, number);
        number
    }

    /// Via and variable of memory.
    fn storage(&mut self, moment: When, address: u64) -> (u32, Option<u32>) {
        let vias = &mut self.vias;
        self.known.find(self.places, moment, address, |at| {
            let number = vias.iter().position(|known| known == at.via).unwrap_or_else(|| {
                vias.push(at.via.to_owned());
                vias.len() - 1
            });
            // There are fewer than 2^32 of each: both are lists in memory.
            (number as u32, at.variable.map(|variable| variable as u32))
        })
    }

    /// The storage of a read.
    fn place(&self, is_register: bool, reader: &Span) -> Place {
        if is_register {
            return Place::Register(reader.thread);
        }
        let process = self.processes.get(&reader.thread).copied();
        Place::Memory(process.unwrap_or(ProcessId::FIRST))
    }

    /// The function of a step outside of the set.
    fn writer(&mut self, seq: i64, known: Option<FunctionId>) -> u32 {
        let before = || self.before.get(&u64::try_from(seq).ok()?).copied();
        let function = known.or_else(before);
        self.function(function)
    }

    /// One that crosses, with its reader and the entry of its writer, or what is known of its function.
    fn row(
        &mut self,
        members: &Members,
        row: Row,
        reader: &Span,
        (writing, writer): (EntryNumber, Option<FunctionId>),
    ) {
        let reading = reader.entry;
        let Kind { is_register, bytes } = row.kind;
        if reading > 0 && writing > 0 {
            self.entries[reading as usize - 1].kept += bytes;
            return;
        }
        let place = self.place(is_register, reader);
        let (direction, entry) =
            if reading > 0 { (Direction::In, reading) } else { (Direction::Out, writing) };
        let crossed = |version: i64, partner: u32, (address, bytes): (u64, u64)| Crossed {
            read_seq: row.read_seq,
            version,
            entry,
            partner,
            place,
            address,
            bytes,
        };
        let (version, partner) = match (direction, row.write_seq) {
            (Direction::Out, _) => (row.write_seq.unwrap_or(0), self.function(reader.function)),
            (_, Some(seq)) => (seq, self.writer(seq, writer)),
            (_, None) => {
                for part in self.unwritten_parts(place, row, bytes) {
                    self.add(members, direction, &crossed(part.version, part.partner, part.bytes));
                }
                return;
            }
        };
        self.add(members, direction, &crossed(version, partner, (row.address, bytes)));
    }

    /// Bytes of a read that no step wrote, by what they come from.
    fn unwritten_parts(&mut self, place: Place, row: Row, bytes: u64) -> Vec<UnwrittenBytes> {
        let moment = match place {
            Place::Register(_) => None,
            Place::Memory(process) => Some(When { process, seq: row.read_seq }),
        };
        let parts = self.unwritten.parts(self.places, moment, (row.address, bytes));
        let parts: Vec<_> = parts
            .into_iter()
            .map(|part| {
                let partner = Partner::Source(part.name.to_owned());
                (-1 - part.number as i64, partner, (part.address, part.bytes))
            })
            .collect();
        let with_number = |(version, partner, bytes)| UnwrittenBytes {
            version,
            partner: self.partner(partner),
            bytes,
        };
        parts.into_iter().map(with_number).collect()
    }

    fn add(&mut self, members: &Members, direction: Direction, c: &Crossed) {
        let (first, last) = (members.entry(c.entry).first, members.entry(c.entry).last);
        let exchange = &mut self.entries[c.entry as usize - 1];
        let side = &mut self.sides[direction as usize];
        let news = match &mut self.values {
            Some(values) => side.look(members, c, |at| values.byte(direction, c, at)),
            None => side.look(members, c, |_| ()),
        };
        let unique = match direction {
            Direction::In => {
                exchange.bytes_in += c.bytes;
                exchange.unique_in += news.unique;
                exchange.new_in += news.new;
                exchange.came_back += if c.version >= first { c.bytes } else { 0 };
                news.unique
            }
            Direction::Out => {
                exchange.bytes_out += c.bytes;
                exchange.unique_out += news.new;
                exchange.went_out += if c.read_seq <= last { c.bytes } else { 0 };
                news.new
            }
        };
        let sum = Sum { bytes: c.bytes, unique_bytes: unique, addresses: news.addresses };
        let of_partner = Sum { addresses: news.of_partner, ..sum };
        match c.place {
            Place::Register(_) => {
                let side = &mut self.sides[direction as usize];
                side.variables.entry(u32::MAX).or_default().add(sum);
                side.flows.entry((c.partner, u32::MAX)).or_default().add(of_partner);
            }
            Place::Memory(process) => {
                let moment = When { process, seq: c.read_seq };
                let (via, variable) = self.storage(moment, c.address);
                let side = &mut self.sides[direction as usize];
                side.flows.entry((c.partner, via)).or_default().add(of_partner);
                match variable {
                    Some(variable) => side.variables.entry(variable).or_default().add(sum),
                    None => side.buffer(via, process, c, sum),
                }
            }
        }
    }

    /// Communications of a window, in the order of their reads.
    fn window(&mut self, members: &Members, rows: &[Row]) -> Result<(), ReplayError> {
        self.count_entries(members);
        let mut reader: Option<(i64, Option<Span>)> = None;
        for &row in rows {
            let span = match reader {
                Some((seq, span)) if seq == row.read_seq => span,
                _ => {
                    self.unwritten.go_to(row.read_seq);
                    members.span(row.read_seq).copied()
                }
            };
            reader = Some((row.read_seq, span));
            let writer = row.write_seq.map_or((0, None), |seq| members.writer(seq));
            if let Some(span) = span.filter(|span| span.entry != writer.0) {
                self.row(members, row, &span, writer);
            }
        }
        self.look_up_values()
    }

    /// The same of a part of the run.
    fn part(&mut self, members: &Members, rows: &[Row], ends: &Ends) -> Result<(), ReplayError> {
        self.count_entries(members);
        members.crossing(rows, ends, |row, reader, writer| {
            self.unwritten.go_to(row.read_seq);
            self.row(members, *row, reader, writer);
        });
        self.look_up_values()
    }

    /// Each entry has its figures, whether anything crosses or not.
    fn count_entries(&mut self, members: &Members) {
        let resent = self.values.is_some().then_some(0);
        let none = Exchange { resent_in: resent, resent_out: resent, ..Exchange::default() };
        self.entries.resize(members.entries.len(), none);
    }

    fn look_up_values(&mut self) -> Result<(), ReplayError> {
        match &mut self.values {
            Some(values) if values.are_many() => values.settle(&mut self.entries),
            _ => Ok(()),
        }
    }

    fn finish(mut self) -> Result<Crossing, ReplayError> {
        if let Some(values) = &mut self.values {
            values.settle(&mut self.entries)?;
        }
        let Finder { places, sides, partners, vias, entries, values, .. } = self;
        let via = |number: u32| vias.get(number as usize).map_or("register", String::as_str);
        let mut crossing = Crossing {
            entries,
            addresses_in: sides[0].addresses,
            addresses_out: sides[1].addresses,
            valued: values.map(|values| (values.bytes, values.unknown)),
            ..Crossing::default()
        };
        for (direction, side) in [Direction::In, Direction::Out].into_iter().zip(sides) {
            for ((partner, number), sum) in side.flows {
                let key = (direction, partners[partner as usize].clone(), via(number).to_owned());
                crossing.flows.insert(key, sum);
            }
            for (variable, sum) in side.variables {
                let object = match places.variables().get(variable as usize) {
                    Some(variable) => Object::Variable(variable.name.clone()),
                    None => Object::Registers,
                };
                crossing.objects.entry((direction, object)).or_default().add(sum);
            }
            let mut granules: Vec<_> = side.buffers.into_iter().collect();
            granules.sort_unstable_by_key(|(key, granule)| (key.0, key.1, granule.first));
            let joined = granules.chunk_by(|((a, p, _), x), ((b, q, _), y)| {
                (a, p) == (b, q) && y.first <= x.last.saturating_add(GRANULE)
            });
            for buffer in joined {
                let mut sum = Sum::default();
                buffer.iter().for_each(|(_, granule)| sum.add(granule.sum));
                let last = buffer.iter().map(|(_, granule)| granule.last).max().unwrap_or(0);
                let ((number, ..), Granule { first, .. }) = buffer[0];
                let object = Object::Buffer { via: via(number).to_owned(), first, last };
                crossing.objects.entry((direction, object)).or_default().add(sum);
            }
        }
        Ok(crossing)
    }
}

/// Goes through the stored communications once.
///
/// # Errors
/// Where the database is damaged.
pub fn crossing(
    connection: &Connection,
    members: &Members,
    places: &Places,
    stored: Stored,
) -> Result<Crossing, ReplayError> {
    let mut finder = Finder::new(connection, places, Values::read(connection)?)?;
    finder.count_entries(members);
    stored.windows(members, |rows| finder.window(members, rows))?;
    finder.finish()
}
