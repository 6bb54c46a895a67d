//! Random programs (`program.rs`) as recordings of addfg's own (docs/stream.md), with what the kernel does.

use super::program::{MEMORY, Random, Step};
use std::collections::HashMap;

pub fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub fn difference(out: &mut Vec<u8>, to: u64, from: u64) {
    let signed = to.wrapping_sub(from) as i64;
    varint(out, (signed << 1 ^ signed >> 63) as u64);
}

pub fn piece(out: &mut Vec<u8>, kind: u8, steps: (usize, usize), payload: &[u8]) {
    // Nothing is predicted from the piece before.
    let mut rest = vec![kind, 1, 0, 0];
    rest.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
    rest.extend((steps.0 as u64).to_le_bytes());
    rest.extend((steps.1 as u64).to_le_bytes());
    rest.extend(payload);
    out.extend(b"ADFG");
    out.extend(crc32fast::hash(&rest).to_le_bytes());
    out.extend(rest);
}

/// An event with its payload.
pub fn event(out: &mut Vec<u8>, kind: u8, numbers: &[u64], text: Option<&str>) {
    let mut payload = Vec::new();
    numbers.iter().for_each(|n| varint(&mut payload, *n));
    if let Some(text) = text {
        varint(&mut payload, text.len() as u64);
        payload.extend(text.as_bytes());
    }
    out.extend([1, kind]);
    varint(out, payload.len() as u64);
    out.extend(payload);
}

/// Records that stand behind steps: (number of the step, records).
pub type Events = Vec<(usize, Vec<u8>)>;

/// What the kernel may do at the system calls of a run.
pub fn kernel(steps: &[Step], random: &mut Random) -> Events {
    let calls = steps.iter().enumerate().filter(|(_, step)| step.code == [0x0f, 0x05]);
    let mut events = Events::new();
    let mut opened = false;
    for (at, step) in calls {
        let mut out = Vec::new();
        if !opened {
            event(&mut out, 10, &[3], Some("some.txt"));
            opened = true;
        }
        let memory = |random: &mut Random| MEMORY[random.below(2) as usize] + random.below(64);
        let (buffer, bytes) = match random.below(4) {
            0 => (step.sp - 40, random.below(80)),
            _ => (memory(random), random.below(60)),
        };
        let page = (MEMORY[1] & !0xfff) + 0x1000 * random.below(2);
        let (number, inner): (u64, &[(u8, &[u64], Option<&str>)]) = match random.below(9) {
            0..3 => (0, &[(8, &[buffer, bytes], None)]),
            3 => (0, &[(8, &[buffer, bytes], None), (8, &[buffer + 3, 9], None)]),
            4 | 5 => (1, &[(7, &[buffer, bytes], None)]),
            6 => (9, &[(4, &[page, 0x1000, 6, 0], Some(""))]),
            7 => (11, &[(5, &[page, 0x1000], None)]),
            _ => (28, &[(24, &[page, 0x1000], None)]),
        };
        event(&mut out, 6, &[number, 3, 3, buffer, bytes], None);
        for (kind, numbers, text) in inner {
            event(&mut out, *kind, numbers, *text);
        }
        event(&mut out, 9, &[0, bytes], None);
        events.push((at, out));
    }
    events
}

/// A recording with a block for each instruction.
pub fn stream(steps: &[Step], events: &[(usize, Vec<u8>)]) -> Vec<u8> {
    let mut out = b"addfg\r\n\x1a\x01\0\x3e\0\x40\0\0\0".to_vec();
    let (mut definitions, mut records) = (Vec::new(), Vec::new());
    // Each with its number and the fields of its last run.
    let mut paths: HashMap<u64, (u64, Vec<u64>)> = HashMap::new();
    let (mut thread, mut events) = (0, events.iter().peekable());
    for (at, step) in steps.iter().enumerate() {
        let next = paths.len() as u64;
        let (path, fields) = paths.entry(step.pc).or_insert_with(|| {
            definitions.extend([1, 1, 0x80 | step.code.len() as u8]);
            difference(&mut definitions, step.pc, 0);
            definitions.extend(&step.code);
            definitions.push(step.accesses.len() as u8);
            for a in &step.accesses {
                definitions.extend([0, u8::from(a.is_write), a.size as u8]);
            }
            definitions.push(2);
            varint(&mut definitions, next);
            definitions.extend([1, step.accesses.len() as u8]);
            (next, vec![0; step.accesses.len()])
        });
        if step.thread + 1 != thread {
            thread = step.thread + 1;
            records.extend([1, 1, 1, thread as u8]);
        }
        varint(&mut records, *path + 3);
        for (access, last) in step.accesses.iter().zip(fields) {
            difference(&mut records, access.address, *last);
            *last = access.address;
        }
        if let Some((_, event)) = events.next_if(|event| event.0 == at) {
            records.extend(event);
        }
    }
    let mut end = Vec::new();
    varint(&mut end, 0);
    varint(&mut end, steps.len() as u64);
    piece(&mut out, 1, (0, 0), &definitions);
    piece(&mut out, 2, (0, steps.len()), &records);
    piece(&mut out, 3, (steps.len(), 0), &end);
    out
}
