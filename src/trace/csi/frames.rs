//! Dumps of frames as scripts for gdb write them:
//! `~~function:line:file:slot:{paths}:current:{calls}:{blocks}`, innermost frame first, `?` for
//! what is missing.

use crate::trace::number::source_line;

/// A frame of a stopped program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub function: String,
    pub line: Option<u32>,
    pub file: Option<String>,
    /// Slot of the array that the next finished path goes to.
    pub next_slot: Option<i64>,
    /// Numbers of finished paths, as the array has them.
    pub slots: Option<Vec<i64>>,
    /// Counted of the path under way.
    pub current: Option<i64>,
    pub calls: Option<String>,
    pub blocks: Option<String>,
    /// Byte with which the line begins.
    pub offset: u64,
}

impl Frame {
    /// Finished paths, oldest first, and whether earlier ones are lost. The last slot is -1 until a
    /// path goes there; other slots from the next on hold junk until then. None: there is no array,
    /// or the slot is none of it.
    pub fn history(&self) -> Option<(Vec<i64>, bool)> {
        let (slots, next) = (self.slots.as_ref()?, usize::try_from(self.next_slot?).ok()?);
        let last = slots.last()?;
        if next >= slots.len() {
            return None;
        }
        Some(if *last == -1 {
            (slots[..next].to_vec(), false)
        } else {
            ([&slots[next..], &slots[..next]].concat(), true)
        })
    }
}

fn unknown(text: &str) -> Option<&str> {
    (text != "?").then_some(text)
}

/// Takes `:{...}` or `:?` off the end.
fn list(text: &str) -> Option<(&str, Option<&str>)> {
    match text.strip_suffix('}') {
        Some(inside) => {
            let at = inside.rfind(":{")?;
            Some((&text[..at], Some(&inside[at + 2..])))
        }
        None => Some((text.strip_suffix(":?")?, None)),
    }
}

/// Takes `:number` or `:?` off the end.
fn number(text: &str) -> Option<(&str, Option<i64>)> {
    let (before, last) = text.rsplit_once(':')?;
    Some((
        before,
        match unknown(last) {
            Some(n) => Some(n.trim().parse().ok()?),
            None => None,
        },
    ))
}

/// A line that begins with `~~`; None if it is none of a dump.
pub fn frame(line: &str, offset: u64) -> Option<Frame> {
    let text = line.strip_prefix("~~")?;
    let (text, blocks) = list(text)?;
    let (text, calls) = list(text)?;
    let (text, current) = number(text)?;
    let (text, slots) = list(text)?;
    let (text, next_slot) = number(text)?;
    let slots = match slots {
        Some(slots) => {
            Some(slots.split(',').map(|n| n.trim().parse().ok()).collect::<Option<Vec<i64>>>()?)
        }
        None => None,
    };
    // A function may be written with `::`, a file with `:`: the line is the first field that is
    // one.
    let mut at = 0;
    let (function, line, file) = loop {
        let colon = at + text[at..].find(':')?;
        let rest = &text[colon + 1..];
        let (field, file) = rest.split_once(':')?;
        if field == "?" || (!field.is_empty() && field.bytes().all(|b| b.is_ascii_digit())) {
            break (&text[..colon], field, file);
        }
        at = colon + 1;
    };
    if function.is_empty() {
        return None;
    }
    let line = match unknown(line) {
        // gdb has line 0 where it knows none.
        Some(n) => Some(source_line(n)?).filter(|&n| n > 0),
        None => None,
    };
    Some(Frame {
        function: function.to_owned(),
        line,
        file: unknown(file).map(str::to_owned),
        next_slot,
        slots,
        current,
        calls: calls.map(str::to_owned),
        blocks: blocks.map(str::to_owned),
        offset,
    })
}

/// Stacks of a dump, each innermost frame first, and the offsets of lines that begin like a frame
/// and are none. Anything else between frames, an empty line too, separates stacks.
pub fn parse(text: &[u8]) -> (Vec<Vec<Frame>>, Vec<u64>) {
    let (mut stacks, mut damaged): (Vec<Vec<Frame>>, _) = (Vec::new(), Vec::new());
    let mut offset = 0u64;
    let mut open = false;
    for line in text.split_inclusive(|&b| b == b'\n') {
        let shown = String::from_utf8_lossy(line);
        let shown = shown.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if shown.starts_with("~~") {
            match frame(shown, offset) {
                Some(frame) if open => {
                    stacks.last_mut().into_iter().for_each(|s| s.push(frame.clone()));
                }
                Some(frame) => {
                    stacks.push(vec![frame]);
                    open = true;
                }
                None => damaged.push(offset),
            }
        } else {
            open = false;
        }
        offset += line.len() as u64;
    }
    (stacks, damaged)
}

/// Whether there is a frame among the first lines.
pub fn sniff(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(16384)]);
    text.lines().map(str::trim).any(|l| l.starts_with("~~") && frame(l, 0).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_dump() {
        let f = frame("~~ns::f<a::b>:20:/home/a:b/c.c:2:{4, 5, -1}:0:{1, 0}:?", 7).unwrap();
        assert_eq!(
            (f.function.as_str(), f.line, f.file.as_deref()),
            ("ns::f<a::b>", Some(20), Some("/home/a:b/c.c"))
        );
        assert_eq!(
            (f.next_slot, f.slots.as_deref(), f.current),
            (Some(2), Some(&[4, 5, -1][..]), Some(0))
        );
        assert_eq!((f.calls.as_deref(), f.blocks, f.offset), (Some("1, 0"), None, 7));
        assert_eq!(f.slots.as_ref().map(Vec::len), Some(3));
        assert_eq!(frame("~~raise:0:?:?:?:?:?:?", 0).unwrap().line, None);
        let f = frame("~~printf:?:?:?:?:?:?:?", 0).unwrap();
        assert_eq!(f, Frame { function: "printf".into(), ..Frame::default() });
        for text in [
            "~~",
            "~~f",
            "~~f:1:c.c:2:{1}:0:?",
            "~~f:1:c.c:2:{x}:0:?:?",
            "~~:1:c.c:2:{1}:0:?:?",
            "~~f:a:c.c:2:{1}:0:?:?",
            "~~f:1:c.c:2:1}:0:?:?",
        ] {
            assert_eq!(frame(text, 0), None, "{text}");
        }
    }

    #[test]
    fn what_of_the_array_is_history() {
        let history = |slots: &[i64], next| {
            Frame { slots: Some(slots.to_vec()), next_slot: Some(next), ..Frame::default() }
                .history()
        };
        assert_eq!(history(&[7, 8, 99, -1], 2), Some((vec![7, 8], false)));
        assert_eq!(history(&[99, 98, 97, -1], 0), Some((vec![], false)));
        assert_eq!(history(&[5, 6, 7, 8], 0), Some((vec![5, 6, 7, 8], true)));
        assert_eq!(history(&[9, 6, 7, 8], 1), Some((vec![6, 7, 8, 9], true)));
        for (slots, next) in [(&[1, 2][..], 2), (&[1, 2], -1), (&[], 0)] {
            assert_eq!(history(slots, next), None);
        }
    }
}
