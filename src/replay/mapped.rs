//! What of a process's memory was mapped from what at each time: images, other files, devices.
//!
//! An image that no mapping places lies there all the time. Else it lies there from the mapping on that has its code, until all
//! of it is unmapped. Other files have what is mapped of them, until something else takes it.

use super::error::ReplayError;
use crate::id::ProcessId;
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Changes of what lies where that are remembered at most: a hostile database may have any number.
const MOST: usize = 1 << 24;
/// What is mapped is whole pages.
const PAGE: u64 = 4096;

/// What lies somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// By its index.
    Image(usize),
    /// By the number of its name.
    File(usize),
    Device(usize),
}

/// An image as far as its place goes. All addresses are first and last ones.
pub struct ImagePlace {
    /// None: several processes have it.
    pub process: Option<ProcessId>,
    /// Its file, without folders.
    pub file: String,
    pub range: (u64, u64),
    /// Its first code.
    pub code: Option<u64>,
}

/// Adjacent addresses that changed together.
#[derive(Debug)]
struct Stretch {
    last: u64,
    /// What lies there behind which step, in order.
    since: Vec<(i64, Option<Layer>)>,
}

type Stretches = BTreeMap<u64, Stretch>;

/// What lies somewhere for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lies {
    pub layer: Option<Layer>,
    /// Behind this step, up to the other one.
    pub steps: (i64, i64),
}

/// What lay where in each process.
#[derive(Default)]
pub struct Mapped {
    /// By first address, disjoint. Elsewhere nothing ever lay.
    processes: FxHashMap<ProcessId, Stretches>,
    /// Of processes of which nothing is known but what always lies there.
    others: Stretches,
}

/// Something that changes what lies where, behind a step.
struct Change {
    seq: i64,
    range: (u64, u64),
    what: What,
}

enum What {
    /// A file without folders, and the number of what its bytes are called.
    File(String, usize),
    /// The number of its name.
    Device(usize),
    /// Memory without a file.
    Memory,
    Unmapped,
}

impl Mapped {
    /// `images` in their order; `named` gives the number of a name for bytes that no step wrote.
    pub fn read(
        connection: &Connection,
        images: &[ImagePlace],
        mut named: impl FnMut(String) -> usize,
    ) -> Result<Mapped, ReplayError> {
        let mut changes: BTreeMap<ProcessId, Vec<Change>> = BTreeMap::new();
        let sql = include_str!("../../queries/report/mapped.sql");
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(r) = rows.next()? {
            let (address, bytes): (u64, u64) = (r.get(3)?, r.get(4)?);
            let (kind, name): (String, Option<String>) = (r.get(2)?, r.get(5)?);
            let what = match (&kind[..], name) {
                ("device", Some(name)) => What::Device(named(format!("<device {name}>"))),
                ("map", Some(file)) => {
                    let number = named(format!("<mmap: {file}>"));
                    What::File(file, number)
                }
                ("unmap", _) => What::Unmapped,
                _ => What::Memory,
            };
            let range = (address, address.saturating_add(bytes.saturating_sub(1)));
            changes.entry(r.get(1)?).or_default().push(Change { seq: r.get(0)?, range, what });
        }
        let of = |(process, list): (&ProcessId, &Vec<Change>)| {
            let found = list.iter().filter_map(|change| image_of(images, *process, change));
            found.collect::<Vec<_>>()
        };
        let placed: BTreeSet<usize> = changes.iter().flat_map(of).collect();
        let fixed = |process: Option<ProcessId>| -> Vec<usize> {
            let its = |i: usize| images[i].process.is_none() || images[i].process == process;
            (0..images.len()).filter(|i| !placed.contains(i) && its(*i)).collect()
        };
        let mut left = MOST;
        let mut through = |process: Option<ProcessId>, changes: &[Change]| {
            let run = Run { images, process, fixed: fixed(process) };
            run.stretches(changes, &mut left)
        };
        let mut mapped = Mapped { others: through(None, &[])?, ..Mapped::default() };
        let own = images.iter().filter_map(|image| image.process);
        let processes: BTreeSet<ProcessId> = changes.keys().copied().chain(own).collect();
        for process in processes {
            let of = changes.get(&process).map_or(&[][..], |list| list);
            mapped.processes.insert(process, through(Some(process), of)?);
        }
        Ok(mapped)
    }

    /// What lies at these addresses when a step accesses them; None: not all of them are of one thing.
    pub fn at(&self, process: ProcessId, seq: i64, (first, last): (u64, u64)) -> Option<Lies> {
        let of = self.processes.get(&process).unwrap_or(&self.others);
        let Some((_, stretch)) = of.range(..=first).next_back().filter(|(_, s)| first <= s.last)
        else {
            let next = of.range(first..).next();
            let free = next.is_none_or(|(next, _)| last < *next);
            return free.then_some(Lies { layer: None, steps: (i64::MIN, i64::MAX) });
        };
        let behind = stretch.since.partition_point(|(from, _)| *from < seq);
        let until = stretch.since.get(behind).map_or(i64::MAX, |(from, _)| *from);
        let since = behind.checked_sub(1).and_then(|i| stretch.since.get(i)).copied();
        let (from, layer) = since.unwrap_or((i64::MIN, None));
        (last <= stretch.last).then_some(Lies { layer, steps: (from, until) })
    }

    pub fn processes(&self) -> impl Iterator<Item = ProcessId> {
        self.processes.keys().copied()
    }

    /// The processes that have an image at some time, in order.
    pub fn processes_of(&self, image: usize) -> BTreeSet<ProcessId> {
        let has = |of: &Stretches| {
            let mut since = of.values().flat_map(|stretch| &stretch.since);
            since.any(|(_, layer)| *layer == Some(Layer::Image(image)))
        };
        self.processes.iter().filter(|(_, of)| has(of)).map(|(process, _)| *process).collect()
    }
}

/// The image whose code a mapping has.
fn image_of(images: &[ImagePlace], process: ProcessId, change: &Change) -> Option<usize> {
    let What::File(file, _) = &change.what else { return None };
    images.iter().rposition(|image| {
        image.file == *file
            && image.process.is_none_or(|own| own == process)
            && image.code.is_some_and(|code| (change.range.0..=change.range.1).contains(&code))
    })
}

/// A process whose mappings are gone through.
struct Run<'a> {
    images: &'a [ImagePlace],
    process: Option<ProcessId>,
    /// Images that always lie there. One that was given before another has its addresses.
    fixed: Vec<usize>,
}

impl Run<'_> {
    /// The pages of an image.
    fn pages(&self, image: usize) -> (u64, u64) {
        let (first, last) = self.images[image].range;
        (first / PAGE * PAGE, last | (PAGE - 1))
    }

    fn image(&self, change: &Change) -> Option<usize> {
        image_of(self.images, self.process?, change)
    }

    /// What a change puts somewhere.
    fn put(&self, change: &Change) -> Option<((u64, u64), Layer)> {
        match change.what {
            What::File(_, name) => Some(match self.image(change) {
                Some(image) => (self.pages(image), Layer::Image(image)),
                None => (change.range, Layer::File(name)),
            }),
            What::Device(name) => Some((change.range, Layer::Device(name))),
            What::Memory | What::Unmapped => None,
        }
    }

    /// Addresses that something is put at, disjoint and in order.
    fn touched(&self, changes: &[Change]) -> Vec<(u64, u64)> {
        let fixed = self.fixed.iter().map(|image| self.images[*image].range);
        let mut all: Vec<_> = changes.iter().filter_map(|c| Some(self.put(c)?.0)).collect();
        all.extend(fixed);
        all.sort_unstable();
        let mut touched: Vec<(u64, u64)> = Vec::new();
        for (first, last) in all {
            match touched.last_mut() {
                Some(before) if first <= before.1 => before.1 = before.1.max(last),
                _ => touched.push((first, last)),
            }
        }
        touched
    }

    fn stretches(&self, changes: &[Change], left: &mut usize) -> Result<Stretches, ReplayError> {
        let touched = self.touched(changes);
        let is_touched = |(first, last): (u64, u64)| {
            touched.get(touched.partition_point(|t| t.1 < first)).is_some_and(|t| t.0 <= last)
        };
        let changes: Vec<&Change> = changes.iter().filter(|c| is_touched(c.range)).collect();
        let put = changes.iter().filter_map(|change| Some(self.put(change)?.0));
        let own = changes.iter().map(|change| change.range);
        let fixed = self.fixed.iter().map(|image| self.images[*image].range);
        let mut borders = BTreeSet::new();
        for (first, last) in put.chain(own).chain(fixed) {
            borders.insert(first);
            borders.extend(last.checked_add(1));
        }
        let ends = borders.iter().skip(1).map(|next| next - 1).chain([u64::MAX]);
        let stretch = |(first, last)| (first, Stretch { last, since: Vec::new() });
        let mut stretches: Stretches = borders.iter().copied().zip(ends).map(stretch).collect();
        for &image in self.fixed.iter().rev() {
            let (first, last) = self.images[image].range;
            for (_, stretch) in stretches.range_mut(first..=last) {
                stretch.since = vec![(i64::MIN, Some(Layer::Image(image)))];
            }
        }
        for change in changes {
            let (range, layer) = match self.put(change) {
                Some((_, Layer::File(_))) if self.is_of_image(&stretches, change) => continue,
                Some((range, layer)) => (range, Some(layer)),
                None => (change.range, None),
            };
            for (_, stretch) in stretches.range_mut(range.0..=range.1) {
                let now = stretch.since.last().and_then(|(_, layer)| *layer);
                let of_file = matches!(now, Some(Layer::File(_)));
                if now == layer || (matches!(change.what, What::Memory) && !of_file) {
                    continue;
                }
                stretch.since.retain(|(seq, _)| *seq < change.seq);
                stretch.since.push((change.seq, layer));
                *left = left.checked_sub(1).ok_or(ReplayError::Mappings)?;
            }
        }
        stretches.retain(|_, stretch| !stretch.since.is_empty());
        Ok(stretches)
    }

    /// Whether what is mapped of a file is an image that lies there already.
    fn is_of_image(&self, stretches: &Stretches, change: &Change) -> bool {
        let What::File(file, _) = &change.what else { return false };
        let lies = stretches.get(&change.range.0).and_then(|stretch| stretch.since.last());
        lies.is_some_and(|(_, layer)| match layer {
            Some(Layer::Image(image)) => {
                self.fixed.contains(image) || self.images[*image].file == *file
            }
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ProcessId = ProcessId::FIRST;

    fn image(file: &str, range: (u64, u64), process: Option<ProcessId>) -> ImagePlace {
        ImagePlace { process, file: file.into(), range, code: Some(range.0 + 0x100) }
    }

    /// Kind, process, step before it, address, bytes, and path or where it is moved to.
    type Row<'a> = (&'a str, i32, Option<i64>, u64, u64, &'a str);

    fn mapped(images: &[ImagePlace], rows: &[Row]) -> Result<(Mapped, Vec<String>), ReplayError> {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(
            "CREATE TABLE mapping_row (seq BIGINT, process_id INTEGER, kind VARCHAR, address UBIGINT, bytes UBIGINT,
                                       to_address UBIGINT, path VARCHAR)",
        )?;
        for &(kind, process, seq, address, bytes, more) in rows {
            let to = more.parse::<u64>().ok();
            let path = Some(more).filter(|more| to.is_none() && !more.is_empty());
            connection.execute(
                "INSERT INTO mapping_row VALUES (?, ?, ?, ?, ?, ?, ?)",
                duckdb::params![seq, process, kind, address, bytes, to, path],
            )?;
        }
        let mut names: Vec<String> = Vec::new();
        let mapped = Mapped::read(&connection, images, |name| {
            names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        })?;
        Ok((mapped, names))
    }

    fn at(mapped: &Mapped, process: i32, seq: i64, address: u64) -> Option<Layer> {
        let process = ProcessId::from_column(process).expect("a process");
        mapped.at(process, seq, (address, address)).expect("one byte is one thing").layer
    }

    #[test]
    fn what_is_mapped_nowhere_lies_there_all_the_time() {
        let images = [image("a", (0x1000, 0x1fff), None), image("b", (0x1800, 0x2fff), None)];
        let (all, _) = mapped(&images, &[]).expect("readable");
        for process in 1..3 {
            assert_eq!(at(&all, process, 1, 0x1800), Some(Layer::Image(0)));
            assert_eq!(at(&all, process, 1, 0x2000), Some(Layer::Image(1)));
            assert_eq!(at(&all, process, 1, 0x3000), None);
        }
        assert_eq!(all.at(A, 1, (0x1ff0, 0x2010)), None);
        let steps = (i64::MIN, i64::MAX);
        let lies = Lies { layer: Some(Layer::Image(1)), steps };
        assert_eq!(all.at(A, 7, (0x2000, 0x2fff)), Some(lies));
        assert_eq!(all.at(A, 7, (0x3000, u64::MAX)), Some(Lies { layer: None, steps }));
        assert_eq!(all.at(A, 7, (0, 0x1000)), None);
    }

    #[test]
    fn images_and_files_take_each_others_places() {
        let images = [image("a", (0x1040, 0x2fff), None), image("b", (0x1040, 0x1fff), None)];
        let (all, names) = mapped(
            &images,
            &[
                // The whole file, its code, its data; memory for what is zero.
                ("map", 1, None, 0x1000, 0x2000, "/lib/a"),
                ("map", 1, None, 0x1000, 0x1000, "/lib/a"),
                ("map", 1, None, 0x2000, 0x1000, "/lib/a"),
                ("map", 1, Some(3), 0x2800, 0x800, ""),
                ("unmap", 1, Some(10), 0x1000, 0x2000, ""),
                ("map", 1, Some(20), 0x1000, 0x1000, "/lib/b"),
                ("unmap", 1, Some(30), 0x1000, 0x1000, ""),
                ("map", 1, Some(40), 0x1000, 0x1000, "/data"),
                ("map", 1, Some(50), 0x1000, 0x800, ""),
                ("move", 1, Some(60), 0x1000, 0x1000, "65536"),
                ("map", 2, Some(70), 0x1000, 0x1000, "/lib/b"),
                ("map", 2, Some(70), 0x2000, 0x1000, "/dev/null"),
                ("device", 2, Some(70), 0x4000, 0x10, "uart"),
            ],
        )
        .expect("readable");
        assert_eq!(names, ["<mmap: a>", "<mmap: b>", "<mmap: data>", "<device uart>"]);
        let [a, b] = [0, 1].map(|i| Some(Layer::Image(i)));
        let data = Some(Layer::File(2));
        let steps = [1, 3, 4, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51, 60, 61, 100];
        let low = steps.map(|seq| at(&all, 1, seq, 0x1040));
        let n = None;
        assert_eq!(low, [a, a, a, a, n, n, b, b, n, n, data, data, n, n, n, n]);
        let high = steps.map(|seq| at(&all, 1, seq, 0x1900));
        assert_eq!(high, [a, a, a, a, n, n, b, b, n, n, data, data, data, data, n, n]);
        let zero = steps.map(|seq| at(&all, 1, seq, 0x2900));
        assert_eq!(zero, [a, a, a, a, n, n, n, n, n, n, n, n, n, n, n, n]);
        assert_eq!(at(&all, 1, 100, 0x10000), None);
        let other = [0x1040, 0x2000, 0x4000, 0x4010].map(|address| at(&all, 2, 71, address));
        assert_eq!(other, [b, n, Some(Layer::Device(3)), n]);
        assert_eq!(
            [0, 1].map(|image| all.processes_of(image).first().copied()),
            [Some(A), Some(A)]
        );
        let lies = all.at(A, 25, (0x1100, 0x1200)).map(|lies| lies.steps);
        assert_eq!(lies, Some((20, 30)));
    }

    /// A file that is given by another name than it was mapped by lies where it was given.
    #[test]
    fn what_was_given_comes_before_what_is_mapped() {
        let images = [image("link", (0x1000, 0x2fff), None)];
        let rows = [
            ("map", 1, None, 0x1000, 0x1000, "/bin/app"),
            ("map", 1, None, 0x3000, 0x1000, "/bin/app"),
        ];
        let (all, _) = mapped(&images, &rows).expect("readable");
        assert_eq!(at(&all, 1, 1, 0x1000), Some(Layer::Image(0)));
        assert_eq!(at(&all, 1, 1, 0x3000), Some(Layer::File(0)));
    }
}
