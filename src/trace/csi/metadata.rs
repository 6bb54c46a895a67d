//! The text of a section `.debug_PT`: the control flow of each instrumented function with the
//! numbers of its edges.

use crate::paths::{Block, BlockKind, Edge, Function};
use crate::trace::number::source_line;
use rustc_hash::FxHashMap;

/// One function's description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    pub name: String,
    pub function: Function,
    /// Byte in the section with which it begins.
    pub offset: u64,
}

/// Something that is not as the grammar has it; data were lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub offset: u64,
    pub code: &'static str,
    pub message: String,
}

enum State {
    /// Before the first function, or behind one that ended.
    Start,
    /// Behind `#`.
    Name,
    Blocks,
    Edges,
}

struct Parser {
    state: State,
    current: Described,
    numbers: FxHashMap<u64, usize>,
    found: Vec<Described>,
    damage: Vec<Damage>,
}

fn decimal(text: &str) -> Option<u64> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

/// `id|ENTRY|line|-1|line`, `id|EXIT`, `id|NULL`
pub(super) fn block(text: &str) -> Option<Block> {
    let mut fields = text.split('|');
    let mut block = Block { number: decimal(fields.next()?)?, ..Block::default() };
    let mut any = false;
    for (at, field) in fields.enumerate() {
        any = true;
        match field {
            "ENTRY" if at == 0 => block.kind = BlockKind::Entry,
            "EXIT" if at == 0 => block.kind = BlockKind::Exit,
            "NULL" => {}
            "-1" => block.lines.push(None),
            line => block.lines.push(Some(decimal(line).and_then(|_| source_line(line))?)),
        }
    }
    (any && (block.kind != BlockKind::Exit || block.lines.is_empty())).then_some(block)
}

/// `a->b|increment$weight` or `a~>b|increment$weight`: (source, target, restarts, increment,
/// weight).
fn edge(text: &str) -> Option<(u64, u64, bool, u64, u64)> {
    let (ends, numbers) = text.split_once('|')?;
    let (restarts, (source, target)) = match ends.split_once("->") {
        Some(ends) => (false, ends),
        None => (true, ends.split_once("~>")?),
    };
    let (increment, weight) = numbers.split_once('$')?;
    Some((decimal(source)?, decimal(target)?, restarts, decimal(increment)?, decimal(weight)?))
}

impl Parser {
    fn damage(&mut self, offset: u64, code: &'static str, message: String) {
        self.damage.push(Damage { offset, code, message });
    }

    fn malformed(&mut self, offset: u64, text: &str, wanted: &str) {
        let shown: String = text.chars().take(60).collect();
        self.damage(
            offset,
            "malformed-line",
            format!("`{}` is not a {wanted}", shown.escape_debug()),
        );
    }

    /// The end of a function.
    fn close(&mut self, offset: u64) {
        match self.state {
            State::Start => return,
            State::Name => {
                self.damage(offset, "short-function", "a function without a name".into());
            }
            State::Blocks => {
                let message = format!(
                    "the description of {} ends before its edges",
                    self.current.name.escape_debug()
                );
                self.damage(offset, "short-function", message);
            }
            State::Edges => {}
        }
        if !matches!(self.state, State::Name) {
            self.found.push(std::mem::take(&mut self.current));
        }
        self.numbers.clear();
        self.state = State::Start;
    }

    fn token(&mut self, offset: u64, text: &str) {
        if text == "#" {
            self.close(offset);
            self.current = Described { offset, ..Described::default() };
            self.state = State::Name;
            return;
        }
        match self.state {
            State::Start => self.malformed(offset, text, "beginning of a function"),
            State::Name => {
                self.current.name = text.to_owned();
                self.state = State::Blocks;
            }
            State::Blocks if text == "$" => self.state = State::Edges,
            State::Blocks => match block(text) {
                None => self.malformed(offset, text, "block"),
                Some(block) => {
                    if self.numbers.contains_key(&block.number) {
                        let message = format!(
                            "block {} of {} is there twice",
                            block.number,
                            self.current.name.escape_debug()
                        );
                        return self.damage(offset, "double-block", message);
                    }
                    self.numbers.insert(block.number, self.current.function.blocks.len());
                    self.current.function.blocks.push(block);
                }
            },
            State::Edges => match edge(text) {
                None => self.malformed(offset, text, "edge"),
                Some((source, target, restarts, increment, weight)) => {
                    let (Some(&from), Some(&to)) =
                        (self.numbers.get(&source), self.numbers.get(&target))
                    else {
                        let message = format!(
                            "the edge {} of {} is between blocks that are not there",
                            text, self.current.name
                        );
                        return self.damage(
                            offset,
                            "unknown-block",
                            message.escape_debug().to_string(),
                        );
                    };
                    self.current.function.edges.push(Edge {
                        source: from,
                        target: to,
                        restarts,
                        increment,
                        weight,
                    });
                }
            },
        }
    }
}

/// Reads a section. Lines may end with CR LF, the sections of object files may be padded with NUL,
/// and all may stand on one line, as in the documentation of the format.
pub fn parse(section: &[u8]) -> (Vec<Described>, Vec<Damage>) {
    let mut parser = Parser {
        state: State::Start,
        current: Described::default(),
        numbers: FxHashMap::default(),
        found: Vec::new(),
        damage: Vec::new(),
    };
    let mut offset = 0u64;
    for line in section.split_inclusive(|&b| b == b'\n') {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        let whole = matches!(parser.state, State::Name) && text != "#";
        if whole && !text.is_empty() {
            parser.token(offset, text);
        } else {
            for token in
                text.split(|c: char| c.is_whitespace() || c == '\0').filter(|t| !t.is_empty())
            {
                parser.token(offset, token);
            }
        }
        offset += line.len() as u64;
    }
    parser.close(offset);
    (parser.found, parser.damage)
}

/// Whether the first lines are of such a text.
pub fn sniff(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(8192)]);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\0');
    let Some(rest) = text.strip_prefix('#').filter(|r| r.starts_with(char::is_whitespace)) else {
        return false;
    };
    let mut words = rest
        .trim_start_matches([' ', '\t', '\r'])
        .split('\n')
        .map(str::trim)
        .filter(|w| !w.is_empty());
    if rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n') {
        // A line each: the name, which may hold blanks, then a block.
        words.next().is_some() && words.next().is_some_and(|w| block(w).is_some())
    } else {
        let mut words = rest.split_whitespace();
        words.next().is_some() && words.next().is_some_and(|w| block(w).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOP: &str = "#\nrand\n1|EXIT\n0|ENTRY|5|5|-1|5\n$\n0->1|0$0\n#\nmain\n3|EXIT\n2|ENTRY|9\n4|NULL\n6|-1|20\n$\n2->4|0$0\n4->6|2$2\n6->3|0$0\n4~>4|3$3\n";

    #[test]
    fn one_text_in_all_its_shapes() {
        let (functions, damage) = parse(LOOP.as_bytes());
        assert!(damage.is_empty());
        assert_eq!(functions.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["rand", "main"]);
        assert_eq!(functions[1].function.blocks[3].lines, [None, Some(20)]);
        assert_eq!(
            functions[1].function.edges[3],
            Edge { source: 2, target: 2, restarts: true, increment: 3, weight: 3 }
        );
        let plain = |functions: Vec<Described>| {
            functions.into_iter().map(|d| (d.name, d.function)).collect::<Vec<_>>()
        };
        let wanted = plain(functions);
        let padded = LOOP.replace("#\nmain", "\0\0\0#\nmain");
        for text in [
            LOOP.replace('\n', "\r\n"),
            LOOP.replace('\n', " "),
            LOOP.replace("\n", "\n\n"),
            padded,
        ] {
            assert!(sniff(text.as_bytes()), "{text:?}");
            let (functions, damage) = parse(text.as_bytes());
            assert!(damage.is_empty(), "{text:?}: {damage:?}");
            assert_eq!(plain(functions), wanted, "{text:?}");
        }
        let (functions, damage) = parse(b"#\n-[Foo bar: baz]\n0|ENTRY|NULL\n1|EXIT\n$\n0->1|0$0\n");
        assert!(damage.is_empty() && functions[0].name == "-[Foo bar: baz]");
    }

    #[test]
    fn each_kind_of_damage_has_a_name() {
        let codes = |from: &str, to: &str| {
            let text = LOOP.replacen(from, to, 1);
            assert_ne!(text, LOOP, "{from:?}");
            parse(text.as_bytes()).1.into_iter().map(|d| d.code).collect::<Vec<_>>()
        };
        for (from, to, code) in [
            ("1|EXIT", "1|EXIT|4", "malformed-line"),
            ("1|EXIT", "1", "malformed-line"),
            ("5|-1", "x|-1", "malformed-line"),
            ("|9", "|99999999999", "malformed-line"),
            ("0|ENTRY", "1|ENTRY", "double-block"),
            ("0->1|0$0", "0->1|-1$0", "malformed-line"),
            ("0->1|0$0", "0=>1|0$0", "malformed-line"),
            ("0->1|0$0", "0->7|0$0", "unknown-block"),
            ("$\n0->1|0$0\n", "", "short-function"),
            ("#\nrand", "rand", "malformed-line"),
            ("#\nrand", "#\n#\nrand", "short-function"),
        ] {
            assert!(codes(from, to).contains(&code), "{from:?} to {to:?}: {:?}", codes(from, to));
        }
    }
}
