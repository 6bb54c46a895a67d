//! Where the records of each thread stand.

use super::problem::{Problem, Problems};
use super::record::{Block, Header};
use super::{buffers, naive};
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes that two buffers have in common if one is a copy of the other: more than what says whose
/// they are.
const LEAST: usize = 64;

/// Copies of a buffer that are looked at.
const FORKS: usize = 16;

/// The threads of several files: their blocks in order and, for each thread, which of them are its.
pub struct Index {
    pub headers: Vec<(u32, Header)>,
    pub blocks: Vec<Block>,
    pub threads: Vec<Range<usize>>,
    pub problems: Problems,
}

impl Index {
    /// Finds the buffers. A file that begins with no header is left out.
    pub fn new(files: &[&[u8]]) -> Index {
        let mut index = Index {
            headers: Vec::new(),
            blocks: Vec::new(),
            threads: Vec::new(),
            problems: Problems::default(),
        };
        for (file, bytes) in files.iter().enumerate() {
            let file = file as u32;
            let mut at = 0;
            while let Some(mut header) = bytes.get(at..).and_then(Header::parse) {
                header.at = at;
                let most = if header.fdr { 5 } else { 3 };
                if header.version > most {
                    index.problems.push(Problem::Version { file, at, version: header.version });
                    break;
                }
                index.headers.push((file, header));
                let read = if header.fdr { buffers::index } else { naive::index };
                at = read(bytes, &header, file, &mut index.blocks, &mut index.problems);
            }
        }
        // Buffers stand in a file in the order in which they were handed back, not in that of their
        // times.
        let blocks = &mut index.blocks;
        let owner = |b: &Block| (b.pid, b.tid, b.fork);
        repeated(files, blocks, &mut index.problems);
        blocks.sort_by_key(|b| (owner(b), b.tsc, b.wall, b.file, b.start));
        let mut start = 0;
        while start < blocks.len() {
            let end =
                start + blocks[start..].partition_point(|b| owner(b) == owner(&blocks[start]));
            index.threads.push(start..end);
            start = end;
        }
        // Of the threads that begin at one time the one whose number is lower comes first.
        let mut order: BTreeMap<(u64, usize), Range<usize>> = BTreeMap::new();
        for (number, range) in index.threads.drain(..).enumerate() {
            order.insert((blocks[range.start].tsc, number), range);
        }
        index.threads = order.into_values().collect();
        index
    }
}

/// Buffers that a program had when it forked are in its file and in that of its child. What both
/// have is read once; what the child wrote behind it is of a thread of its own.
fn repeated(files: &[&[u8]], blocks: &mut Vec<Block>, problems: &mut Problems) {
    if files.len() < 2 {
        return;
    }
    blocks.sort_by_key(|b| (b.pid, b.tid, b.tsc, b.wall, b.file, b.start));
    let of = |b: &Block| &files[b.file as usize][b.start..b.end];
    // The same clock at the begin: of one thread there is one such buffer.
    let begins = |b: &Block| (b.pid, b.tid, b.tsc, b.wall);
    let (mut keep, mut first) = (vec![true; blocks.len()], 0);
    for at in 1..blocks.len() {
        let block = blocks[at];
        if begins(&block) != begins(&blocks[first]) {
            first = at;
        }
        let same = |other: &Block| {
            let pairs = of(&block).iter().zip(of(other));
            pairs.take_while(|(a, b)| a == b).count()
        };
        let others = blocks[first..at].iter().rev().take(FORKS);
        let others = others.filter(|other| other.file < block.file);
        let common = others.map(same).max().unwrap_or(0);
        if common < LEAST {
            continue;
        }
        problems.push(Problem::Repeated { file: block.file, at: block.start, bytes: common });
        keep[at] = block.start + common < block.end;
        (blocks[at].own, blocks[at].fork) = (block.start + common, block.file);
    }
    let mut keep = keep.into_iter();
    blocks.retain(|_| keep.next().unwrap_or(true));
}
