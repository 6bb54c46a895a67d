//! Text for people: sizes, counts, words, and names that are hostile until shown otherwise.

/// An enum whose variants have a word each, the same in options, outputs and tables: `ALL`, `name`
/// and `parse`.
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$doc])* $variant),+
        }

        impl $name {
            /// In the order in which they are listed.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }

            /// What a word means.
            #[allow(dead_code, reason = "not all words are read back")]
            pub fn parse(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.name() == word)
            }
        }
    };
}
pub(crate) use words;

/// The parts of a list of names with commas between them: those in the brackets of a signature or of
/// template arguments, and that of `operator,`, stand in a name.
pub fn list(text: &str) -> Vec<String> {
    let (mut found, mut from, mut depth, mut skipped) = (Vec::new(), 0, 0_i32, 0);
    for (at, c) in text.char_indices() {
        if at >= skipped
            && let Some(rest) = text[at..].strip_prefix("operator")
        {
            // Signs of an operator's name are no brackets.
            let signs = rest.find(|c: char| !"<>-=,".contains(c)).unwrap_or(rest.len());
            skipped = at + "operator".len() + signs;
        }
        match c {
            _ if at < skipped => {}
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if text[..at].ends_with('-') => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth <= 0 => {
                found.push(text[from..at].trim().to_owned());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[from..].trim().to_owned());
    found.retain(|name| !name.is_empty());
    found
}

/// The same of several lists.
pub fn lists(words: &[String]) -> Vec<String> {
    words.iter().flat_map(|word| list(word)).collect()
}

/// Bytes: `512 B`, `3.2 KiB`.
pub fn human_bytes(bytes: i64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    // From here on, one decimal would show 1024.0 of the smaller unit.
    while value >= 1023.95 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// Counts: `999`, `1.2 k`, `3.4 M`.
pub fn human_count(count: i64) -> String {
    match count {
        ..1000 => count.to_string(),
        1000..999_950 => format!("{:.1} k", count as f64 / 1e3),
        999_950..999_950_000 => format!("{:.1} M", count as f64 / 1e6),
        _ => format!("{:.1} G", count as f64 / 1e9),
    }
}

/// A part of a whole: `12.3 %`, `<0.1 %`; nothing where there is no whole.
pub fn percent(part: i64, whole: i64) -> Option<String> {
    let share = (whole > 0).then(|| 100.0 * part as f64 / whole as f64)?;
    Some(if share >= 0.1 || part == 0 { format!("{share:.1} %") } else { "<0.1 %".into() })
}

/// From one number to another, in percent with one decimal; None where there was nothing.
pub fn growth(before: i64, after: i64) -> Option<f64> {
    let by = 100.0 * (after as f64 - before as f64) / before as f64;
    (before != 0).then(|| (10.0 * by).round() / 10.0)
}

/// Whether a character does something to a terminal or a text layout instead of showing itself:
/// controls, the line and paragraph separators, marks and overrides of the writing direction, what
/// XML forbids.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A path without its folders.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The text with such characters written as escapes (`\n`, `\u{1b}`).
pub fn visible(text: &str) -> std::borrow::Cow<'_, str> {
    visible_but(text, &[])
}

/// [`visible`], where some of such characters stay.
pub fn visible_but<'a>(text: &'a str, kept: &[char]) -> std::borrow::Cow<'a, str> {
    let escaped = |c: char| acts(c) && !kept.contains(&c);
    if !text.chars().any(escaped) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if escaped(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.into()
}

/// Characters of a text in a picture at most. Graphviz takes no string of 16 KiB, and a character
/// may become six bytes.
const DRAWN: usize = 2000;

/// A text as pictures have it, before their own escapes.
pub fn drawn(text: &str) -> String {
    shorten(&visible(text), DRAWN)
}

/// Of known names the one that a word almost is: with other underscores, or with a letter more, less or
/// wrong.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.replace('_', "").to_lowercase();
    let word = plain(word);
    let is_near = |name: &&&str| {
        let name = plain(name);
        let begin = name.bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
        let end = name.bytes().rev().zip(word.bytes().rev()).take_while(|(a, b)| a == b).count();
        let longer = name.len().max(word.len());
        longer > 3 && begin + end + 1 >= longer
    };
    known.iter().find(is_near).copied()
}

/// At most `limit` characters; what is cut out of the middle is one ellipsis.
pub fn shorten(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let head = limit * 2 / 3;
    let tail = limit.saturating_sub(head + 1);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(count - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts_change_units_where_they_would_overflow_their_digits() {
        let bytes = [0, 1023, 1024, 1_048_524, 1_048_525, i64::MAX].map(human_bytes);
        assert_eq!(bytes, ["0 B", "1023 B", "1.0 KiB", "1023.9 KiB", "1.0 MiB", "8192.0 PiB"]);
        let counts = [999, 1000, 999_949, 999_950, 1_000_000_000].map(human_count);
        assert_eq!(counts, ["999", "1.0 k", "999.9 k", "1.0 M", "1.0 G"]);
        assert_eq!(
            [percent(1, 8), percent(1, 10_000), percent(0, 5), percent(1, 0)]
                .map(|p| p.unwrap_or_default()),
            ["12.5 %", "<0.1 %", "0.0 %", ""]
        );
    }

    #[test]
    fn commas_of_signatures_do_not_split_lists() {
        let text = "f(int*, int), g<a, b>::h, A::operator<(B, C),x.c:f,, A::operator->(int, int), operator,(A, B)";
        let found = [
            "f(int*, int)",
            "g<a, b>::h",
            "A::operator<(B, C)",
            "x.c:f",
            "A::operator->(int, int)",
            "operator,(A, B)",
        ];
        assert_eq!(list(text), found);
    }

    #[test]
    fn names_in_pictures_have_an_end() {
        for name in ["&".repeat(20_000), "\u{1b}".repeat(20_000), "x\u{10000}".repeat(20_000)] {
            let shown = drawn(&name);
            assert_eq!(shown.chars().count(), DRAWN);
            assert!(shown.replace('&', "&quot;").len() < 1 << 14 && shown.contains('…'));
        }
        assert_eq!(drawn("main"), "main");
    }

    #[test]
    fn nothing_acts_on_the_terminal() {
        assert_eq!(visible("a\x1b[31m\n\u{202e}é"), "a\\u{1b}[31m\\n\\u{202e}é");
        assert_eq!(shorten("abcdefghij", 7), "abcd…ij");
        assert_eq!(shorten("äöü", 3), "äöü");
    }
}
