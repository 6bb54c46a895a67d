//! Codes of what may follow each edge, and bits as the format writes them.

use super::graph::{FlowGraph, index};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Edges that one transition stands for at most.
pub const LONGEST_STRETCH: usize = 32;

/// What may follow each edge.
pub struct Codes {
    /// By edge and the edge behind it: bits, number of bits, and the edges that follow without a
    /// choice.
    pub code: FxHashMap<(u32, u32), (u32, u8)>,
    /// By edge: the only one that follows it.
    pub only: Vec<Option<u32>>,
    /// Rows of the transition table, by edge.
    pub rows: BTreeMap<u32, Vec<(String, Vec<u32>)>>,
}

impl Codes {
    pub fn new(graph: &FlowGraph) -> Codes {
        let mut following: BTreeMap<u32, Vec<(u64, u32)>> = BTreeMap::new();
        for (&(edge, next), &count) in &graph.next {
            following.entry(edge).or_default().push((count, next));
        }
        let mut only = vec![None; graph.edges.len()];
        for (&edge, next) in &mut following {
            next.sort_unstable();
            if let [(_, single)] = next[..] {
                only[index(edge)] = Some(single);
            }
        }
        let mut codes = Codes { code: FxHashMap::default(), only, rows: BTreeMap::new() };
        for (&edge, next) in &following {
            for (i, bits) in prefix_code(next).into_iter().enumerate() {
                let next = next[i].1;
                codes.code.insert((edge, next), bits);
                let text = (0..bits.1)
                    .rev()
                    .map(|b| if bits.0 >> b & 1 == 1 { '1' } else { '0' })
                    .collect();
                let mut stretch = vec![next];
                while let Some(&Some(behind)) = stretch.last().map(|&e| &codes.only[index(e)])
                    && stretch.len() < LONGEST_STRETCH
                {
                    stretch.push(behind);
                }
                codes.rows.entry(edge).or_default().push((text, stretch));
            }
        }
        codes
    }
}

/// A prefix code for counts (Huffman): bits and their number for each. One alone needs no bit; if a
/// code would be longer than the format's 32 bits, all are as long as their number needs.
fn prefix_code(counts: &[(u64, u32)]) -> Vec<(u32, u8)> {
    let n = counts.len();
    let mut lengths = vec![0u32; n];
    let mut parent = vec![usize::MAX; 2 * n.max(1) - 1];
    let mut heap: BinaryHeap<_> =
        counts.iter().enumerate().map(|(i, c)| Reverse((c.0, i))).collect();
    let mut new = n;
    while heap.len() > 1 {
        let (Some(Reverse(a)), Some(Reverse(b))) = (heap.pop(), heap.pop()) else {
            break;
        };
        (parent[a.1], parent[b.1]) = (new, new);
        heap.push(Reverse((a.0.saturating_add(b.0), new)));
        new += 1;
    }
    for (i, length) in lengths.iter_mut().enumerate() {
        let mut at = i;
        while parent[at] != usize::MAX {
            *length += 1;
            at = parent[at];
        }
    }
    if lengths.iter().any(|&l| l > 32) {
        lengths.fill((n as u64).next_power_of_two().trailing_zeros());
    }
    // Canonical: shorter codes first.
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| (lengths[i], i));
    let (mut code, mut length) = (0u64, 0);
    let mut codes = vec![(0, 0); n];
    for i in order {
        code <<= lengths[i] - length;
        length = lengths[i];
        codes[i] = (code as u32, length as u8);
        code += 1;
    }
    codes
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

/// Bits as characters; a character that is repeated often is written once.
#[derive(Default)]
pub struct Bits {
    text: Vec<u8>,
    bits: u64,
    count: u32,
    /// How often the last character stands there.
    same: usize,
}

impl Bits {
    pub fn push(&mut self, (code, length): (u32, u8)) {
        self.bits = self.bits << length | u64::from(code);
        self.count += u32::from(length);
        while self.count >= 6 {
            self.count -= 6;
            self.character((self.bits >> self.count & 63) as usize);
        }
        self.bits &= (1 << self.count) - 1;
    }

    fn character(&mut self, value: usize) {
        let byte = BASE64[value];
        if self.same > 0 && self.text.last() == Some(&byte) {
            self.same += 1;
        } else {
            self.fold();
            self.same = 1;
        }
        self.text.push(byte);
    }

    fn fold(&mut self) {
        if self.same >= 12 {
            let byte = self.text[self.text.len() - 1];
            self.text.truncate(self.text.len() - self.same);
            self.text.extend(format!("({}*{})", self.same, byte as char).bytes());
        }
        self.same = 0;
    }

    pub fn finish(&mut self) -> Vec<u8> {
        if self.count > 0 {
            let value = (self.bits << (6 - self.count) & 63) as usize;
            self.character(value);
        }
        self.fold();
        std::mem::take(self).text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_codes() {
        let of = |counts: &[u64]| {
            let counts: Vec<_> = counts.iter().enumerate().map(|(i, &c)| (c, i as u32)).collect();
            prefix_code(&counts)
        };
        assert_eq!(of(&[7]), [(0, 0)]);
        let lengths = |codes: Vec<(u32, u8)>| codes.iter().map(|c| c.1).collect::<Vec<_>>();
        assert_eq!(lengths(of(&[1, 1, 2, 4])), [3, 3, 2, 1]);
        // Counts whose best code would be longer than 32 bits.
        let fibonacci: Vec<u64> = (0..40)
            .scan((1, 1), |s, _| {
                let f = s.0;
                *s = (s.1, s.0 + s.1);
                Some(f)
            })
            .collect();
        assert_eq!(lengths(of(&fibonacci)), [6; 40]);
    }

    #[test]
    fn bits_as_characters() {
        let mut bits = Bits::default();
        // The document's example: 000010111110 is "C+".
        bits.push((0b0000_1011_1110, 12));
        assert_eq!(bits.finish(), b"C+");
        let mut bits = Bits::default();
        for _ in 0..100 {
            bits.push((1, 1));
        }
        assert_eq!(bits.finish(), b"(16*-)8");
        assert_eq!(Bits::default().finish(), b"");
    }
}
