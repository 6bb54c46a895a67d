//! Values, times and ends of runs: an event behind the runs of a piece has them, each thing in a list of
//! its own. A number is told by its difference from that of the same place in the path's last run.

use super::bytes::{Bad, Bytes, put, zigzag};
use crate::event::{RunBatch, RunEnd};

/// Which lists there are.
const MEMORY: u64 = 1;
const REGISTERS: u64 = 2;
const TIMES: u64 = 4;
const ENDS: u64 = 8;

/// In a byte of a run's end.
const LINKED: u8 = 1;
const NEW_SP: u8 = 2;
const NEW_DESTINATION: u8 = 4;

/// How many there are of each thing in a run of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub steps: usize,
    pub accesses: usize,
    pub register_values: usize,
}

/// What the last run of a path had.
#[derive(Clone, Debug, Default)]
struct Last {
    memory: Vec<u64>,
    registers: Vec<u64>,
    /// Differences of times.
    times: Vec<u64>,
    end: RunEnd,
    known: [u64; 2],
}

/// What the runs of a piece are told by.
#[derive(Debug, Default)]
pub struct Columns {
    paths: Vec<Last>,
    time: u64,
}

/// What is written of a piece so far.
#[derive(Debug, Default)]
pub struct Lists {
    flags: u64,
    lists: [Vec<u8>; 4],
}

impl Lists {
    pub fn len(&self) -> usize {
        self.lists.iter().map(Vec::len).sum()
    }

    /// The event's payload; nothing if the runs have none of it.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let Lists { flags, lists } = std::mem::take(self);
        (flags != 0).then(|| {
            let mut payload = Vec::new();
            put(&mut payload, flags);
            for list in lists {
                put(&mut payload, list.len() as u64);
                payload.extend(list);
            }
            payload
        })
    }
}

/// The values of a run, as far as a batch has any.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    pub memory: &'a [Option<u64>],
    pub registers: &'a [Option<u64>],
    pub times: &'a [u64],
    pub end: Option<RunEnd>,
}

impl Columns {
    /// Nothing is known any more.
    pub fn forget(&mut self) {
        self.paths.clear();
        self.time = 0;
    }

    fn last(&mut self, path: u32) -> (&mut Last, &mut u64) {
        let path = path as usize;
        if self.paths.len() <= path {
            self.paths.resize_with(path + 1, Last::default);
        }
        (&mut self.paths[path], &mut self.time)
    }

    /// Adds a run.
    pub fn write(&mut self, path: u32, values: &Values, out: &mut Lists) {
        let (last, time) = self.last(path);
        let [memory, registers, times, ends] = &mut out.lists;
        for (list, values, last, flag) in [
            (memory, values.memory, &mut last.memory, MEMORY),
            (registers, values.registers, &mut last.registers, REGISTERS),
        ] {
            if !values.is_empty() {
                out.flags |= flag;
            }
            for (i, value) in values.iter().enumerate() {
                put_value(list, place(last, i), *value);
            }
        }
        for (i, &now) in values.times.iter().enumerate() {
            let last = place(&mut last.times, i);
            out.flags |= TIMES;
            let step = now.wrapping_sub(*time);
            put(times, zigzag(step.wrapping_sub(*last)));
            (*time, *last) = (now, step);
        }
        if let Some(end) = values.end {
            out.flags |= ENDS;
            let (sp, destination) =
                (end.sp != last.end.sp, end.destination != last.end.destination);
            let bit = |is: bool, bit: u8| if is { bit } else { 0 };
            ends.push(
                bit(end.linked, LINKED) | bit(sp, NEW_SP) | bit(destination, NEW_DESTINATION),
            );
            if sp {
                put_value(ends, &mut last.known[0], end.sp);
            }
            if destination {
                put_value(ends, &mut last.known[1], end.destination);
            }
            last.end = end;
        }
    }

    /// Adds to a batch what an event has of these runs.
    pub fn read(
        &mut self,
        payload: &mut Bytes,
        runs: &[(u32, Shape)],
        out: &mut RunBatch,
    ) -> Result<(), Bad> {
        let flags = payload.number()?;
        let mut list = || -> Result<Bytes, Bad> {
            let length = payload.number()?;
            Ok(Bytes(payload.take(length)?))
        };
        let [mut memory, mut registers, mut times, mut ends] = [list()?, list()?, list()?, list()?];
        for &(path, shape) in runs {
            let (last, time) = self.last(path);
            if flags & MEMORY != 0 {
                for i in 0..shape.accesses {
                    out.values.push(value(&mut memory, place(&mut last.memory, i))?);
                }
            }
            if flags & REGISTERS != 0 {
                for i in 0..shape.register_values {
                    let last = place(&mut last.registers, i);
                    out.register_values.push(value(&mut registers, last)?);
                }
            }
            if flags & TIMES != 0 {
                for i in 0..shape.steps {
                    let last = place(&mut last.times, i);
                    *last = last.wrapping_add(times.difference()?);
                    *time = time.wrapping_add(*last);
                    out.time.push(*time);
                }
            }
            if flags & ENDS != 0 {
                let says = ends.byte()?;
                last.end.linked = says & LINKED != 0;
                if says & NEW_SP != 0 {
                    last.end.sp = value(&mut ends, &mut last.known[0])?;
                }
                if says & NEW_DESTINATION != 0 {
                    last.end.destination = value(&mut ends, &mut last.known[1])?;
                }
                out.end.push(last.end);
            }
        }
        Ok(())
    }
}

/// A place of a list, which grows with what is really there.
fn place(list: &mut Vec<u64>, place: usize) -> &mut u64 {
    if list.len() <= place {
        list.resize(place + 1, 0);
    }
    &mut list[place]
}

/// 0: as before; 1: not known; 2: the number itself follows; else the difference and 2.
fn put_value(out: &mut Vec<u8>, last: &mut u64, value: Option<u64>) {
    let Some(value) = value else { return out.push(1) };
    let difference = zigzag(value.wrapping_sub(*last));
    *last = value;
    match difference {
        0 => out.push(0),
        small if small < 1 << 63 => put(out, small + 2),
        _ => {
            out.push(2);
            put(out, value);
        }
    }
}

fn value(from: &mut Bytes, last: &mut u64) -> Result<Option<u64>, Bad> {
    match from.number()? {
        0 => {}
        1 => return Ok(None),
        2 => *last = from.number()?,
        n => {
            let n = n - 2;
            *last = last.wrapping_add((n >> 1) ^ (n & 1).wrapping_neg());
        }
    }
    Ok(Some(*last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let shape = Shape { steps: 2, accesses: 2, register_values: 3 };
        let ends = [None, Some(8), Some(u64::MAX)];
        let numbers = [0, 1, 5, u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 62];
        let (mut columns, mut lists, mut expected) = Default::default();
        let mut runs = Vec::new();
        for (i, &n) in numbers.iter().cycle().take(40).enumerate() {
            let end = RunEnd { sp: ends[i % 3], linked: i % 2 == 0, destination: ends[i / 5 % 3] };
            let memory = [Some(n), if i % 3 == 0 { None } else { Some(n ^ 5) }];
            let registers = [Some(7), None, Some(n.wrapping_mul(i as u64))];
            let times = [n, n.wrapping_add(3)];
            let path = (i % 4) as u32;
            let values =
                Values { memory: &memory, registers: &registers, times: &times, end: Some(end) };
            Columns::write(&mut columns, path, &values, &mut lists);
            runs.push((path, shape));
            let expected: &mut RunBatch = &mut expected;
            expected.values.extend(memory);
            expected.register_values.extend(registers);
            expected.time.extend(times);
            expected.end.push(end);
        }
        let payload = Lists::take(&mut lists).unwrap();
        let mut out = RunBatch::default();
        Columns::default().read(&mut Bytes(&payload), &runs, &mut out).unwrap();
        assert_eq!(out.values, expected.values);
        assert_eq!(out.register_values, expected.register_values);
        assert_eq!((out.time, out.end), (expected.time, expected.end));
        for cut in 0..payload.len() {
            let mut out = RunBatch::default();
            assert!(Columns::default().read(&mut Bytes(&payload[..cut]), &runs, &mut out).is_err());
        }
    }
}
