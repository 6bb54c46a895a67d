//! The loops that every reader runs in: over chunks, over lines, over chunks that are parsed in
//! parallel. They report progress, and damage of the input behind what could be read of it.

use super::error::TraceError;
use super::input::{Chunk, Input};
use super::reader::Listener;
use std::collections::BTreeMap;
use std::sync::{Mutex, mpsc};

/// Bytes that [`each_line`] takes at a time.
const CHUNK: usize = 1 << 20;

/// A line of a text, without its end and blanks around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub text: &'a [u8],
    /// From 1.
    pub number: u64,
    /// Offset of its first byte, blanks included.
    pub offset: u64,
    /// False for the last line of an input that does not end with a newline: its last digits may be
    /// missing.
    pub whole: bool,
}

/// The lines of a text that are not blank.
pub struct Lines<'a> {
    rest: &'a [u8],
    number: u64,
    offset: u64,
}

impl<'a> Lines<'a> {
    pub fn of(text: &'a [u8]) -> Lines<'a> {
        Lines { rest: text, number: 0, offset: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;
    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', self.rest);
            let (line, after) = self.rest.split_at(end.map_or(self.rest.len(), |end| end + 1));
            let offset = self.offset;
            self.rest = after;
            self.number += 1;
            self.offset += line.len() as u64;
            let text = line.trim_ascii();
            if !text.is_empty() {
                return Some(Line { text, number: self.number, offset, whole: end.is_some() });
            }
        }
        None
    }
}

/// Calls `each` for every chunk of about `target` bytes (see [`Input::chunks`]).
pub fn each_chunk<S: Listener + ?Sized, E: From<TraceError>>(
    input: Input,
    target: usize,
    sink: &mut S,
    mut each: impl FnMut(&Chunk, &mut S) -> Result<(), E>,
) -> Result<(), E> {
    let mut consumed = 0;
    for chunk in input.chunks(target) {
        match chunk {
            Ok(chunk) => {
                each(&chunk, sink)?;
                sink.progress(chunk.consumed - consumed);
                consumed = chunk.consumed;
            }
            Err(error) => sink.diagnostic(error.into_damage()?),
        }
    }
    Ok(())
}

/// Calls `each` for every line that is not blank.
pub fn each_line<S: Listener + ?Sized, E: From<TraceError>>(
    input: Input,
    sink: &mut S,
    mut each: impl FnMut(Line, &mut S) -> Result<(), E>,
) -> Result<(), E> {
    let mut number = 0;
    each_chunk(input, CHUNK, sink, |chunk, sink| {
        let mut lines = Lines { rest: chunk, number, offset: chunk.offset };
        for line in lines.by_ref() {
            each(line, sink)?;
        }
        number = lines.number;
        Ok(())
    })
}

/// How [`each_parsed`] cuts its input, and by how many threads it is parsed.
#[derive(Clone, Copy, Debug)]
pub struct Parsers {
    pub jobs: usize,
    /// Bytes of a chunk, about.
    pub target: usize,
}

/// Parses chunks in parallel, and calls `each` for what they gave in their order.
pub fn each_parsed<S: Listener + ?Sized, T: Send>(
    input: Input,
    parsers: Parsers,
    sink: &mut S,
    parse: impl Fn(&Chunk) -> T + Sync,
    mut each: impl FnMut(T, &mut S) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let name = input.name().to_owned();
    let jobs = parsers.jobs.max(1);
    let chunks = Mutex::new(input.chunks(parsers.target).enumerate());
    let next = || chunks.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(jobs);
        for _ in 0..jobs {
            let (sender, next, parse) = (sender.clone(), &next, &parse);
            let work = move || {
                while let Some((index, chunk)) = next() {
                    let parsed = chunk.map(|chunk| (parse(&chunk), chunk.consumed));
                    let ends = parsed.is_err();
                    if sender.send((index, parsed)).is_err() || ends {
                        break;
                    }
                }
            };
            let thread = std::thread::Builder::new().name("parser".into());
            thread
                .spawn_scoped(scope, work)
                .map_err(|source| TraceError::Io { name: name.clone(), source })?;
        }
        drop(sender);
        let (mut early, mut wanted, mut consumed) = (BTreeMap::new(), 0, 0);
        for (index, parsed) in receiver {
            early.insert(index, parsed);
            while let Some(parsed) = early.remove(&wanted) {
                wanted += 1;
                match parsed {
                    Ok((parsed, end)) => {
                        each(parsed, sink)?;
                        sink.progress(end - consumed);
                        consumed = end;
                    }
                    Err(error) => sink.diagnostic(error.into_damage()?),
                }
            }
        }
        Ok(())
    })
}
