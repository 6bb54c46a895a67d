//! Where the records of each thread stand.

use super::problem::{Problem, Problems};
use super::record::{Block, Header};
use super::{buffers, naive};
use std::collections::BTreeMap;
use std::ops::Range;

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
        let owner = |b: &Block| (b.pid, b.tid);
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
