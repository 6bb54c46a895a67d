//! Events of streams that were converted: what a log tells that no recorder has to say.

use super::bytes::{Bad, Bytes, put, put_option, put_text};
use crate::event::{Event, ExceptionEntry, Keeps, KernelAccess, SystemCall};

/// Kinds by their numbers in docs/stream.md.
pub const CALLED: u8 = 30;
pub const EXCEPTION: u8 = 31;
pub const EXCEPTION_RETURN: u8 = 32;
pub const COPY: u8 = 33;

const KEEPS: [Keeps; 5] = [Keeps::None, Keeps::Link, Keeps::Frame, Keeps::LongFrame, Keeps::Fast];

/// Kernel accesses of a call at most.
const MOST: u64 = 1 << 24;

/// The kind and payload of an event, if it is one of these.
pub fn write(event: &Event) -> Option<(u8, Vec<u8>)> {
    let mut out = Vec::new();
    let kind = match event {
        Event::SystemCall(call) => {
            put_call(&mut out, call);
            CALLED
        }
        Event::ExceptionEntry(entry) => {
            put(&mut out, entry.thread.into());
            put_option(&mut out, entry.number, |out, number| put(out, number.into()));
            put_option(&mut out, entry.resume, put);
            put_option(&mut out, entry.frame, put);
            let keeps = KEEPS.iter().position(|keeps| *keeps == entry.keeps);
            out.push(keeps.unwrap_or(0) as u8);
            EXCEPTION
        }
        Event::ExceptionReturn { thread, frame } => {
            put(&mut out, (*thread).into());
            put_option(&mut out, *frame, put);
            EXCEPTION_RETURN
        }
        Event::MemoryCopy { from, to, bytes } => {
            [from, to, bytes].into_iter().for_each(|n| put(&mut out, *n));
            COPY
        }
        _ => return None,
    };
    Some((kind, out))
}

fn put_call(out: &mut Vec<u8>, call: &SystemCall) {
    put(out, call.thread.into());
    put_option(out, call.number, |out, number| put(out, number.cast_unsigned()));
    put_option(out, call.name.as_deref(), put_text);
    put_option(out, call.result, put);
    put(out, call.accesses.len() as u64);
    for access in &call.accesses {
        out.push(access.is_write.into());
        put(out, access.address);
        put(out, access.bytes);
        put_option(out, access.source.as_deref(), put_text);
    }
}

/// The event of a kind, if it is one of these.
pub fn read(kind: u8, from: &mut Bytes) -> Result<Option<Event>, Bad> {
    Ok(Some(match kind {
        CALLED => Event::SystemCall(Box::new(call(from)?)),
        EXCEPTION => {
            let (thread, number) = (from.number32()?, from.option(Bytes::number32)?);
            let (resume, frame) = (from.option(Bytes::number)?, from.option(Bytes::number)?);
            let keeps = *KEEPS.get(usize::from(from.byte()?)).ok_or(Bad::Word)?;
            Event::ExceptionEntry(ExceptionEntry { thread, number, resume, frame, keeps })
        }
        EXCEPTION_RETURN => {
            Event::ExceptionReturn { thread: from.number32()?, frame: from.option(Bytes::number)? }
        }
        COPY => {
            Event::MemoryCopy { from: from.number()?, to: from.number()?, bytes: from.number()? }
        }
        _ => return Ok(None),
    }))
}

fn call(from: &mut Bytes) -> Result<SystemCall, Bad> {
    let mut call = SystemCall {
        thread: from.number32()?,
        number: from.option(Bytes::number)?.map(u64::cast_signed),
        name: from.option(Bytes::text)?,
        result: from.option(Bytes::number)?,
        accesses: Vec::new(),
    };
    for _ in 0..from.up_to(MOST, Bad::Access)? {
        let access = KernelAccess {
            is_write: from.byte()? != 0,
            address: from.number()?,
            bytes: from.up_to(1 << 32, Bad::Access)?,
            source: from.option(Bytes::text)?,
        };
        call.accesses.push(access);
    }
    Ok(call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let source = Some("<read: a>".into());
        let access = KernelAccess { is_write: true, address: u64::MAX, bytes: 4, source };
        let call = SystemCall {
            thread: 3,
            number: Some(-1),
            name: Some("read".into()),
            result: None,
            accesses: vec![
                access.clone(),
                KernelAccess { source: None, is_write: false, ..access },
            ],
        };
        let entry = ExceptionEntry {
            thread: 0,
            number: Some(7),
            resume: None,
            frame: Some(16),
            keeps: Keeps::LongFrame,
        };
        for event in [
            Event::SystemCall(Box::new(call)),
            Event::ExceptionEntry(entry),
            Event::ExceptionReturn { thread: 5, frame: Some(0) },
            Event::MemoryCopy { from: 1, to: 2, bytes: 3 },
        ] {
            let (kind, payload) = write(&event).unwrap();
            assert_eq!(read(kind, &mut Bytes(&payload)), Ok(Some(event)));
            for cut in 0..payload.len() {
                assert!(read(kind, &mut Bytes(&payload[..cut])).is_err());
            }
        }
        assert_eq!(write(&Event::Gap), None);
    }
}
