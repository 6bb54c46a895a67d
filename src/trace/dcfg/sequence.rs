//! From edge-id sequences to edges: string dictionary, repeats, modified Base64, transition table
//! (document, sections 3.4, 3.5, 3.7).

use rustc_hash::FxHashMap;
use std::io::Read;
use std::rc::Rc;

/// Dictionary references and repeats inside one another.
const DEEPEST: usize = 1 << 10;
/// Characters of a repeated sub-sequence that stands in no dictionary: it has to be kept while it
/// is repeated.
const LONGEST_REPEAT: usize = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum SequenceError {
    #[error("the sequence ends after {decoded} of {wanted} edges")]
    Short { decoded: u64, wanted: u64 },
    #[error("no transition from edge {0}")]
    NoTransition(u64),
    #[error("no transition from edge {0} has the code that follows")]
    NoCode(u64),
    #[error("character `{0}` in a sequence")]
    Character(char),
    #[error("a repeat without its end, or its number of times is not a number")]
    Repeat,
    #[error("a repeat of more than {LONGEST_REPEAT} characters")]
    LongRepeat,
    #[error("`<{0}>` is not in the string dictionary")]
    Key(String),
    #[error("`<{0}>` of the string dictionary contains itself")]
    Circular(String),
    #[error("dictionary references and repeats are nested deeper than {DEEPEST}")]
    Deep,
    #[error("it unfolds to more edges than addfg decodes of a file of this size")]
    Unfolds,
    #[error(transparent)]
    Read(#[from] std::io::Error),
}

/// What may still be decoded. A few characters can unfold to any number of edges, so that there
/// must be a bound.
#[derive(Clone, Copy, Debug)]
pub struct Budget(pub u64);

impl Budget {
    fn spend(&mut self, n: u64) -> Result<(), SequenceError> {
        self.0 = self.0.checked_sub(n).ok_or(SequenceError::Unfolds)?;
        Ok(())
    }
}

/// Substrings by key.
#[derive(Default)]
pub struct StringDictionary {
    by_key: FxHashMap<Vec<u8>, usize>,
    values: Vec<Rc<[u8]>>,
}

impl StringDictionary {
    pub fn insert(&mut self, key: String, value: String) {
        self.by_key.insert(key.into_bytes(), self.values.len());
        self.values.push(value.into_bytes().into());
    }
}

/// 6 bits by character; the document has `-` in one place and `.` in another as the last one,
/// writers have `/` and `_` too.
const fn base64() -> [u8; 256] {
    let mut values = [NONE; 256];
    let mut i = 0;
    while i < 26 {
        values[b'A' as usize + i] = i as u8;
        values[b'a' as usize + i] = 26 + i as u8;
        if i < 10 {
            values[b'0' as usize + i] = 52 + i as u8;
        }
        i += 1;
    }
    values[b'+' as usize] = 62;
    values[b'-' as usize] = 63;
    values[b'.' as usize] = 63;
    values[b'/' as usize] = 63;
    values[b'_' as usize] = 63;
    values
}
const NONE: u8 = u8::MAX;
static BASE64: [u8; 256] = base64();

/// Text that is being unfolded.
struct Frame {
    text: Rc<[u8]>,
    start: usize,
    at: usize,
    end: usize,
    /// Times to go through it again.
    left: u64,
    /// Entry of the dictionary.
    key: Option<usize>,
}

/// The 6-bit values of a sequence, unfolded as they are asked for.
struct Symbols<'d, R> {
    source: R,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    dictionary: &'d StringDictionary,
    frames: Vec<Frame>,
}

impl<R: Read> Symbols<'_, R> {
    #[inline]
    fn byte(&mut self) -> Result<Option<u8>, SequenceError> {
        if self.at == self.end {
            self.at = 0;
            self.end = self.source.read(&mut self.buffer)?;
            if self.end == 0 {
                return Ok(None);
            }
        }
        self.at += 1;
        Ok(Some(self.buffer[self.at - 1]))
    }

    #[inline]
    fn next(&mut self, budget: &mut Budget) -> Result<Option<u8>, SequenceError> {
        if self.frames.is_empty() && self.at < self.end {
            let value = BASE64[self.buffer[self.at] as usize];
            if value != NONE {
                self.at += 1;
                return Ok(Some(value));
            }
        }
        self.unfold(budget)
    }

    fn unfold(&mut self, budget: &mut Budget) -> Result<Option<u8>, SequenceError> {
        loop {
            let byte = match self.frames.last_mut() {
                Some(f) if f.at < f.end => {
                    f.at += 1;
                    f.text[f.at - 1]
                }
                Some(f) => {
                    budget.spend(1)?;
                    if f.left > 0 {
                        f.left -= 1;
                        f.at = f.start;
                    } else {
                        self.frames.pop();
                    }
                    continue;
                }
                None => match self.byte()? {
                    Some(byte) => byte,
                    None => return Ok(None),
                },
            };
            match byte {
                b'(' => self.repeat(budget)?,
                b'<' => self.reference(budget)?,
                b' ' | b'\n' | b'\r' | b'\t' => {}
                _ => match BASE64[byte as usize] {
                    NONE => return Err(SequenceError::Character(byte as char)),
                    value => return Ok(Some(value)),
                },
            }
        }
    }

    /// The next byte of where we are, which must not end here.
    fn inside(&mut self) -> Result<u8, SequenceError> {
        match self.frames.last_mut() {
            Some(f) if f.at < f.end => {
                f.at += 1;
                Ok(f.text[f.at - 1])
            }
            Some(_) => Err(SequenceError::Repeat),
            None => self.byte()?.ok_or(SequenceError::Repeat),
        }
    }

    fn repeat(&mut self, budget: &mut Budget) -> Result<(), SequenceError> {
        let mut times: Option<u64> = None;
        loop {
            match self.inside()? {
                d @ b'0'..=b'9' => {
                    let digit = u64::from(d - b'0');
                    times = Some(
                        times
                            .unwrap_or(0)
                            .checked_mul(10)
                            .and_then(|t| t.checked_add(digit))
                            .ok_or(SequenceError::Unfolds)?,
                    );
                }
                b'*' => break,
                _ => return Err(SequenceError::Repeat),
            }
        }
        let times = times.ok_or(SequenceError::Repeat)?;
        let mut depth = 1;
        let mut nested = |byte: u8| {
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            depth == 0
        };
        let (text, start, end) = match self.frames.last_mut() {
            Some(f) => {
                let length = f.text[f.at..f.end]
                    .iter()
                    .position(|&b| nested(b))
                    .ok_or(SequenceError::Repeat)?;
                let start = f.at;
                f.at += length + 1;
                (f.text.clone(), start, start + length)
            }
            None => {
                let mut text = Vec::new();
                loop {
                    let byte = self.byte()?.ok_or(SequenceError::Repeat)?;
                    if nested(byte) {
                        break;
                    }
                    if text.len() == LONGEST_REPEAT {
                        return Err(SequenceError::LongRepeat);
                    }
                    text.push(byte);
                }
                let end = text.len();
                (text.into(), 0, end)
            }
        };
        budget.spend((end - start) as u64 + 1)?;
        if times > 0 {
            self.push(Frame { text, start, at: start, end, left: times - 1, key: None })?;
        }
        Ok(())
    }

    fn reference(&mut self, budget: &mut Budget) -> Result<(), SequenceError> {
        let mut key = Vec::new();
        loop {
            match self
                .inside()
                .map_err(|_| SequenceError::Key(String::from_utf8_lossy(&key).into_owned()))?
            {
                b'>' => break,
                byte if key.len() < 1 << 10 => key.push(byte),
                _ => return Err(SequenceError::Key(String::from_utf8_lossy(&key).into_owned())),
            }
        }
        budget.spend(1)?;
        let Some(&number) = self.dictionary.by_key.get(&key) else {
            return Err(SequenceError::Key(String::from_utf8_lossy(&key).into_owned()));
        };
        if self.frames.iter().any(|f| f.key == Some(number)) {
            return Err(SequenceError::Circular(String::from_utf8_lossy(&key).into_owned()));
        }
        let text = self.dictionary.values[number].clone();
        let end = text.len();
        self.push(Frame { text, start: 0, at: 0, end, left: 0, key: Some(number) })
    }

    fn push(&mut self, frame: Frame) -> Result<(), SequenceError> {
        if self.frames.len() == DEEPEST {
            return Err(SequenceError::Deep);
        }
        self.frames.push(frame);
        Ok(())
    }
}

/// A code of the transition table that cannot be told from another one.
#[derive(Debug, PartialEq, Eq)]
pub enum CodeError {
    /// Characters other than 0 and 1, or more than 32 of them.
    Characters,
    NoEdges,
    /// Another code of the same edge begins with it, or is its beginning: padded with zeros they
    /// may be equal (section 3.5).
    Ambiguous,
}

/// The transition table as one binary tree per edge.
#[derive(Default)]
pub struct Transitions {
    /// By edge: a tree node, [`LEAF`] and a number of `next`, or [`NOTHING`].
    root: Vec<u32>,
    children: Vec<[u32; 2]>,
    /// Where the edges of a leaf begin in `edges`, with one more at the end.
    next: Vec<u32>,
    edges: Vec<u32>,
}

const LEAF: u32 = 1 << 31;
const NOTHING: u32 = u32::MAX;

impl Transitions {
    /// After `current`, `code` stands for `next`.
    pub fn insert(&mut self, current: u32, code: &str, next: &[u32]) -> Result<(), CodeError> {
        if code.len() > 32 || code.bytes().any(|b| b != b'0' && b != b'1') {
            return Err(CodeError::Characters);
        }
        if next.is_empty() {
            return Err(CodeError::NoEdges);
        }
        if self.root.len() <= current as usize {
            self.root.resize(current as usize + 1, NOTHING);
        }
        // Looked up first, so that an ambiguous code leaves no branches.
        let mut at = self.root[current as usize];
        for bit in code.bytes() {
            match at {
                NOTHING => break,
                leaf if leaf & LEAF != 0 => return Err(CodeError::Ambiguous),
                node => at = self.children[node as usize][usize::from(bit - b'0')],
            }
        }
        if at != NOTHING {
            return Err(CodeError::Ambiguous);
        }
        if self.next.is_empty() {
            self.next.push(0);
        }
        let leaf = LEAF | (self.next.len() as u32 - 1);
        self.edges.extend_from_slice(next);
        self.next.push(self.edges.len() as u32);
        let mut place: Option<(u32, usize)> = None;
        for bit in code.bytes() {
            let node = match place {
                None => self.root[current as usize],
                Some((node, side)) => self.children[node as usize][side],
            };
            let node = if node == NOTHING {
                self.children.push([NOTHING; 2]);
                let new = self.children.len() as u32 - 1;
                self.set(current, place, new);
                new
            } else {
                node
            };
            place = Some((node, usize::from(bit - b'0')));
        }
        self.set(current, place, leaf);
        Ok(())
    }

    fn set(&mut self, current: u32, place: Option<(u32, usize)>, value: u32) {
        match place {
            None => self.root[current as usize] = value,
            Some((node, side)) => self.children[node as usize][side] = value,
        }
    }

    fn edges(&self, leaf: u32) -> &[u32] {
        let leaf = (leaf & !LEAF) as usize;
        &self.edges[self.next[leaf] as usize..self.next[leaf + 1] as usize]
    }
}

/// What is told of a sequence beside its characters. The number of edges alone says where it ends,
/// for codes may have no bits.
#[derive(Clone, Copy, Debug)]
pub struct Edges {
    pub first: u32,
    pub count: u64,
}

/// Decodes a sequence and gives its edges to `emit` one after the other. Gives whether characters
/// are left behind.
pub fn decode<R: Read>(
    source: R,
    dictionary: &StringDictionary,
    transitions: &Transitions,
    Edges { first, count }: Edges,
    budget: &mut Budget,
    edge_id: impl Fn(u32) -> u64,
    mut emit: impl FnMut(u32),
) -> Result<bool, SequenceError> {
    let mut symbols =
        Symbols { source, buffer: vec![0; 1 << 13], at: 0, end: 0, dictionary, frames: Vec::new() };
    let (mut bits, mut left) = (0u8, 0u32);
    let mut current = first;
    let mut decoded = 0;
    if count > 0 {
        emit(first);
        decoded = 1;
    }
    while decoded < count {
        let mut at = transitions.root.get(current as usize).copied().unwrap_or(NOTHING);
        if at == NOTHING {
            return Err(SequenceError::NoTransition(edge_id(current)));
        }
        while at & LEAF == 0 {
            if left == 0 {
                bits =
                    symbols.next(budget)?.ok_or(SequenceError::Short { decoded, wanted: count })?;
                left = 6;
            }
            left -= 1;
            at = transitions.children[at as usize][usize::from(bits >> left & 1)];
        }
        if at == NOTHING {
            return Err(SequenceError::NoCode(edge_id(current)));
        }
        let next = transitions.edges(at);
        budget.spend(next.len() as u64)?;
        for &edge in next {
            // The count may end inside of a code's edges.
            if decoded == count {
                break;
            }
            emit(edge);
            decoded += 1;
            current = edge;
        }
    }
    // Whatever stands behind the last edge is left over.
    match symbols.next(budget) {
        Ok(more) => Ok(more.is_some()),
        Err(SequenceError::Read(e)) => Err(e.into()),
        Err(_) => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfolded(text: &str, dictionary: &[(&str, &str)]) -> Result<String, SequenceError> {
        let mut words = StringDictionary::default();
        for (key, value) in dictionary {
            words.insert(key.to_string(), value.to_string());
        }
        let source = text.as_bytes();
        let mut symbols = Symbols {
            source,
            buffer: vec![0; 3],
            at: 0,
            end: 0,
            dictionary: &words,
            frames: Vec::new(),
        };
        let mut budget = Budget(1 << 24);
        let mut found = String::new();
        while let Some(value) = symbols.next(&mut budget)? {
            let character = (0..128u8).find(|&c| BASE64[c as usize] == value).unwrap_or(b'?');
            found.push(character as char);
        }
        Ok(found)
    }

    /// The examples of sections 3.7.1.2 and 3.7.1.3 (without the blanks of their typesetting, which
    /// are skipped).
    #[test]
    fn documented_strings() {
        assert_eq!(unfolded("A (4*BC) D", &[]).unwrap(), "ABCBCBCBCD");
        assert_eq!(unfolded("123(2*(6*a)b)456", &[]).unwrap(), "123aaaaaabaaaaaab456");
        let a = ("a", "bks2hD7kB+KDk87(6*AB)Aw3ABD9");
        let b = ("b", "KkDk123(2*(3*a))45690D<a>7Fjdkpm");
        let word = "bks2hD7kB+KDk87ABABABABABABAw3ABD9";
        assert_eq!(unfolded("A<a>B", &[a, b]).unwrap(), format!("A{word}B"));
        assert_eq!(unfolded("(2*A<a>B)", &[a, b]).unwrap(), format!("A{word}BA{word}B"));
        assert_eq!(
            unfolded("A<b>B", &[a, b]).unwrap(),
            format!("AKkDk123aaaaaa45690D{word}7FjdkpmB")
        );
    }

    #[test]
    fn last_character() {
        for last in ["-", ".", "/", "_"] {
            assert_eq!(unfolded(last, &[]).unwrap(), "-");
        }
    }

    #[test]
    fn broken_strings() {
        let word = [("a", "x<b>"), ("b", "(3*<a>)"), ("deep", "(2*(2*(2*A)))")];
        for (text, kind) in [
            ("A(4*B", "Repeat"),
            ("A(*B)", "Repeat"),
            ("A(4B)", "Repeat"),
            ("A(4", "Repeat"),
            ("A)", "Character"),
            ("A>", "Character"),
            ("A*", "Character"),
            ("A<zz>", "Key"),
            ("A<a", "Key"),
            ("A<a>", "Circular"),
            ("(99999999999999999999*A)", "Unfolds"),
            ("(999999999999*)", "Unfolds"),
            ("(999999999999*(0*AAAA))", "Unfolds"),
            ("A\u{e9}", "Character"),
        ] {
            let error = unfolded(text, &word).unwrap_err();
            assert!(format!("{error:?}").starts_with(kind), "{text}: {error:?}");
        }
        let nest = format!("{}A{}", "(1*".repeat(2000), ")".repeat(2000));
        assert!(matches!(unfolded(&nest, &[]), Err(SequenceError::Deep)));
    }

    /// The examples of section 3.5: 123, then "110" gives 125, 542, 549; then "0" gives 124 and,
    /// without a bit, 456.
    #[test]
    fn documented_transitions() {
        let mut t = Transitions::default();
        for (from, code, next) in [
            (123, "0", &[124][..]),
            (123, "1", &[125]),
            (124, "", &[456]),
            (125, "0", &[543]),
            (125, "10", &[542, 549]),
            (125, "11", &[540, 541]),
        ] {
            t.insert(from, code, next).unwrap();
        }
        let words = StringDictionary::default();
        let run = |text: &str, count: u64| {
            let mut found = Vec::new();
            let mut budget = Budget(1000);
            let edges = Edges { first: 123, count };
            let more = decode(text.as_bytes(), &words, &t, edges, &mut budget, u64::from, |e| {
                found.push(e);
            });
            more.map(|more| (found, more))
        };
        // 110000
        assert_eq!(run("w", 4).unwrap(), (vec![123, 125, 542, 549], false));
        // The count cuts within a code's edges.
        assert_eq!(run("w", 3).unwrap(), (vec![123, 125, 542], false));
        assert_eq!(run("A", 3).unwrap(), (vec![123, 124, 456], false));
        assert_eq!(run("AA", 3).unwrap(), (vec![123, 124, 456], true));
        assert_eq!(run("", 1).unwrap(), (vec![123], false));
        assert_eq!(run("", 0).unwrap(), (vec![], false));
        assert!(matches!(run("", 2), Err(SequenceError::Short { decoded: 1, wanted: 2 })));
        assert!(matches!(run("A", 9), Err(SequenceError::NoTransition(456))));
    }

    #[test]
    fn ambiguous_codes() {
        let mut t = Transitions::default();
        t.insert(1, "01", &[2]).unwrap();
        for (code, error) in [
            ("01", CodeError::Ambiguous),
            // Padded with zeros, "0" is "00...": but a "01" cannot be told from it when one bit is
            // read.
            ("0", CodeError::Ambiguous),
            ("", CodeError::Ambiguous),
            ("010", CodeError::Ambiguous),
            ("2", CodeError::Characters),
            ("000000000000000000000000000000000", CodeError::Characters),
        ] {
            assert_eq!(t.insert(1, code, &[3]), Err(error), "{code}");
        }
        assert_eq!(t.insert(1, "1", &[]), Err(CodeError::NoEdges));
        t.insert(1, "00", &[3]).unwrap();
        t.insert(1, "1", &[4]).unwrap();
    }

    /// Edges that follow one another without a bit, for ever.
    #[test]
    fn endless_sequences_end() {
        let mut t = Transitions::default();
        t.insert(1, "", &[1]).unwrap();
        let words = StringDictionary::default();
        let mut budget = Budget(10_000);
        let mut edges = 0;
        let endless = Edges { first: 1, count: u64::MAX };
        let end = decode(&b""[..], &words, &t, endless, &mut budget, u64::from, |_| edges += 1);
        assert!(matches!(end, Err(SequenceError::Unfolds)) && edges <= 10_001, "{edges}");
    }
}
