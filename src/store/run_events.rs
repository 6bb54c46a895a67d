//! Events as bytes of a chunk of the run.

use super::numbers::{ChunkError, Section, put, put_list, put_option, put_text};
use crate::event::{
    Allocation, Event, ExceptionEntry, ImageMap, Keeps, KernelAccess, NamedRange, Process,
    SystemCall, ThreadStart,
};

const KEEPS: [Keeps; 5] = [Keeps::None, Keeps::Link, Keeps::Frame, Keeps::LongFrame, Keeps::Fast];

/// The number of a kind. A new one is behind the others.
fn kind(event: &Event) -> u8 {
    match event {
        Event::ProcessStart => 0,
        Event::Process(_) => 1,
        Event::Gap => 2,
        Event::ThreadStart(_) => 3,
        Event::ThreadEnd { .. } => 4,
        Event::SystemCall(_) => 5,
        Event::ImageMap(_) => 6,
        Event::ImageUnmap { .. } => 7,
        Event::Device(_) => 8,
        Event::MemoryMove { .. } => 9,
        Event::MemoryCopy { .. } => 10,
        Event::MemoryFresh { .. } => 11,
        Event::Fork { .. } => 12,
        Event::Inherit { .. } => 13,
        Event::SignalDelivered { .. } => 14,
        Event::SignalEnded { .. } => 15,
        Event::ExceptionEntry(_) => 16,
        Event::ExceptionReturn { .. } => 17,
        Event::Allocation(_) => 18,
        Event::Free { .. } => 19,
        Event::Reallocation { .. } => 20,
        Event::Marker { .. } => 21,
        Event::Memory(_) => 22,
        Event::StackPointer { above, .. } if above.is_empty() => 23,
        Event::StackPointer { .. } => 24,
    }
}

fn put_name(out: &mut Vec<u8>, name: Option<&str>) {
    put_option(out, name, put_text);
}

/// Adds an event.
pub fn put_event(out: &mut Vec<u8>, event: &Event) {
    out.push(kind(event));
    let mut numbers = |list: &[u64]| list.iter().for_each(|n| put(out, *n));
    match event {
        Event::ProcessStart | Event::Gap => {}
        Event::Process(process) => {
            put_option(out, process.pid, put);
            put_name(out, process.name.as_deref());
        }
        Event::ThreadStart(start) => {
            put(out, start.thread.into());
            put_option(out, start.parent, |out, parent| put(out, parent.into()));
            put_name(out, start.name.as_deref());
        }
        Event::ThreadEnd { thread } | Event::SignalEnded { thread } => numbers(&[(*thread).into()]),
        Event::SystemCall(call) => put_call(out, call),
        Event::ImageMap(map) => {
            numbers(&[map.address, map.bytes, map.offset, map.executable.into()]);
            put_name(out, map.path.as_deref());
        }
        Event::ImageUnmap { address, bytes } | Event::MemoryFresh { address, bytes } => {
            numbers(&[*address, *bytes]);
        }
        Event::Device(range) | Event::Memory(range) => {
            numbers(&[range.address, range.bytes]);
            put_text(out, &range.name);
        }
        Event::MemoryMove { from, to, bytes } | Event::MemoryCopy { from, to, bytes } => {
            numbers(&[*from, *to, *bytes]);
        }
        Event::Fork { pid } => numbers(&[*pid]),
        Event::Inherit { pid, ranges } => {
            numbers(&[*pid]);
            put_list(out, ranges, |out, (address, bytes)| {
                put(out, *address);
                put(out, *bytes);
            });
        }
        Event::SignalDelivered { thread, number } => {
            numbers(&[(*thread).into(), (*number).into()]);
        }
        Event::StackPointer { thread, before, behind, above } => {
            numbers(&[(*thread).into(), *before, *behind]);
            if !above.is_empty() {
                put_list(out, above, |out, (slot, address)| {
                    put(out, slot.wrapping_sub(*behind));
                    put(out, *address);
                });
            }
        }
        Event::ExceptionEntry(entry) => {
            numbers(&[entry.thread.into()]);
            put_option(out, entry.number, |out, number| put(out, number.into()));
            put_option(out, entry.resume, put);
            put_option(out, entry.frame, put);
            let keeps = KEEPS.iter().position(|keeps| *keeps == entry.keeps);
            out.push(keeps.unwrap_or(0) as u8);
        }
        Event::ExceptionReturn { thread, frame } => {
            numbers(&[(*thread).into()]);
            put_option(out, *frame, put);
        }
        Event::Allocation(of) => numbers(&[of.thread.into(), of.address, of.bytes]),
        Event::Free { thread, address } | Event::Reallocation { thread, address } => {
            numbers(&[(*thread).into(), *address]);
        }
        Event::Marker { thread, text } => {
            numbers(&[(*thread).into()]);
            put_text(out, text);
        }
    }
}

fn put_call(out: &mut Vec<u8>, call: &SystemCall) {
    put(out, call.thread.into());
    put_option(out, call.number, |out, number| put(out, number.cast_unsigned()));
    put_name(out, call.name.as_deref());
    put_option(out, call.result, put);
    put_list(out, &call.accesses, |out, access| {
        out.push(access.is_write.into());
        put(out, access.address);
        put(out, access.bytes);
        put_name(out, access.source.as_deref());
    });
}

/// Reads an event.
pub fn event(from: &mut Section) -> Result<Event, ChunkError> {
    let kind = from.byte()?;
    Ok(match kind {
        0 => Event::ProcessStart,
        1 => {
            let (pid, name) = (from.option(Section::number)?, from.option(Section::text)?);
            Event::Process(Box::new(Process { pid, name }))
        }
        2 => Event::Gap,
        3 => {
            let (thread, parent) = (from.id()?, from.option(Section::id)?);
            Event::ThreadStart(ThreadStart { thread, parent, name: from.option(Section::text)? })
        }
        4 => Event::ThreadEnd { thread: from.id()? },
        5 => Event::SystemCall(Box::new(call(from)?)),
        6 => Event::ImageMap(Box::new(ImageMap {
            address: from.number()?,
            bytes: from.number()?,
            offset: from.number()?,
            executable: from.flag()?,
            path: from.option(Section::text)?,
        })),
        7 => Event::ImageUnmap { address: from.number()?, bytes: from.number()? },
        8 => Event::Device(Box::new(range(from)?)),
        9 => Event::MemoryMove { from: from.number()?, to: from.number()?, bytes: from.number()? },
        10 => Event::MemoryCopy { from: from.number()?, to: from.number()?, bytes: from.number()? },
        11 => Event::MemoryFresh { address: from.number()?, bytes: from.number()? },
        12 => Event::Fork { pid: from.number()? },
        13 => {
            let pid = from.number()?;
            let ranges = from.list(|from| Ok((from.number()?, from.number()?)))?;
            Event::Inherit { pid, ranges: ranges.into() }
        }
        14 => Event::SignalDelivered { thread: from.id()?, number: from.id()? },
        15 => Event::SignalEnded { thread: from.id()? },
        16 => {
            let (thread, number) = (from.id()?, from.option(Section::id)?);
            let (resume, frame) = (from.option(Section::number)?, from.option(Section::number)?);
            let keeps = KEEPS.get(usize::from(from.byte()?)).copied();
            let keeps = keeps.ok_or(ChunkError::Damaged("what an exception keeps"))?;
            Event::ExceptionEntry(ExceptionEntry { thread, number, resume, frame, keeps })
        }
        17 => Event::ExceptionReturn { thread: from.id()?, frame: from.option(Section::number)? },
        18 => {
            let (thread, address, bytes) = (from.id()?, from.number()?, from.number()?);
            Event::Allocation(Allocation { thread, address, bytes })
        }
        19 => Event::Free { thread: from.id()?, address: from.number()? },
        20 => Event::Reallocation { thread: from.id()?, address: from.number()? },
        21 => Event::Marker { thread: from.id()?, text: from.text()? },
        22 => Event::Memory(Box::new(range(from)?)),
        23 => {
            let (thread, before, behind) = (from.id()?, from.number()?, from.number()?);
            Event::StackPointer { thread, before, behind, above: Box::default() }
        }
        24 => {
            let (thread, before, behind) = (from.id()?, from.number()?, from.number()?);
            let above = from.list(|from| {
                let slot = behind.wrapping_add(from.number()?);
                Ok((slot, from.number()?))
            })?;
            Event::StackPointer { thread, before, behind, above: above.into() }
        }
        _ => return Err(ChunkError::Damaged("an unknown event")),
    })
}

fn range(from: &mut Section) -> Result<NamedRange, ChunkError> {
    Ok(NamedRange { address: from.number()?, bytes: from.number()?, name: from.text()? })
}

fn call(from: &mut Section) -> Result<SystemCall, ChunkError> {
    Ok(SystemCall {
        thread: from.id()?,
        number: from.option(Section::number)?.map(u64::cast_signed),
        name: from.option(Section::text)?,
        result: from.option(Section::number)?,
        accesses: from.list(|from| {
            Ok(KernelAccess {
                is_write: from.flag()?,
                address: from.number()?,
                bytes: from.number()?,
                source: from.option(Section::text)?,
            })
        })?,
    })
}
