//! Changes to an input that keep most of its structure: numbers of texts, integers of binary files,
//! pieces and lines.

use crate::common::program::Random;

/// Numbers at which things go wrong.
const EDGES: [u64; 14] = [
    0,
    1,
    7,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Words that formats have.
const WORDS: [&[u8]; 12] =
    [b"\n", b"\r\n", b"\0", b",", b"[", b"]", b"{", b"}", b"\"", b"0x", b"-1", b"\xff\xfe\x80"];

/// Bytes of a mutated input at most.
const LONGEST: usize = 256 << 10;

pub fn mutate(input: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(6) {
        if bytes.is_empty() {
            break;
        }
        change(&mut bytes, other, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

/// A place in so many bytes; near the begin, where headers are, more often.
fn place(length: usize, random: &mut Random) -> usize {
    let within = if random.chance(40) { length.min(64) } else { length };
    random.below(within.max(1) as u64) as usize
}

fn piece(length: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = place(length, random);
    let most = (length - start).min(if random.chance(80) { 32 } else { length });
    start..start + random.below(most as u64 + 1) as usize
}

pub fn edge(random: &mut Random) -> u64 {
    let edge = EDGES[random.below(EDGES.len() as u64) as usize];
    if random.chance(30) { edge.wrapping_add(random.below(9)).wrapping_sub(4) } else { edge }
}

fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = place(bytes.len(), random);
    match random.below(11) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => integer(bytes, at, random),
        3 => number(bytes, at, random),
        4 => drop(bytes.drain(piece(bytes.len(), random))),
        5 => {
            let copy = bytes[piece(bytes.len(), random)].to_vec();
            bytes.splice(at..at, copy);
        }
        6 => {
            let copy = other[piece(other.len(), random)].to_vec();
            bytes.splice(at..at, copy);
        }
        7 => {
            let word = WORDS[random.below(WORDS.len() as u64) as usize];
            bytes.splice(at..at, word.iter().copied());
        }
        8 => lines(bytes, at, random),
        9 => {
            let range = piece(bytes.len(), random);
            let byte = random.next() as u8;
            bytes[range].fill(byte);
        }
        _ => bytes.truncate(at),
    }
}

/// An integer of 1, 2, 4 or 8 bytes, either end first.
fn integer(bytes: &mut [u8], at: usize, random: &mut Random) {
    let size = (1 << random.below(4)).min(bytes.len() - at);
    let value = edge(random);
    let (little, big) = (value.to_le_bytes(), value.to_be_bytes());
    let new = if random.chance(70) { &little[..size] } else { &big[8 - size..] };
    bytes[at..at + size].copy_from_slice(new);
}

/// The next number of a text.
fn number(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit) else { return };
    let start = at + start;
    let length = bytes[start..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let value = edge(random);
    let new = match random.below(4) {
        0 => format!("{value}"),
        1 => format!("{value:x}"),
        2 => format!("{value:016x}"),
        _ => format!("-{value}"),
    };
    bytes.splice(start..start + length, new.into_bytes());
}

/// Takes out, doubles or moves a line.
fn lines(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let start = bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
    let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n + 1);
    let line: Vec<u8> = match random.below(2) {
        0 => bytes.drain(start..end).collect(),
        _ => bytes[start..end].to_vec(),
    };
    if random.chance(70) && !bytes.is_empty() {
        let to = place(bytes.len(), random);
        bytes.splice(to..to, line);
    }
}
