//! The little language of `addfg check`: `bytes(a -> b, heap) <= 4 KiB`.
//!
//! ```text
//! rule   = figure "(" [name ["->" name] ["," via]] ")" bound
//! bound  = ("<" | "<=" | "=" | ">=" | ">") number [unit]
//!        | "not above" reference ["+" slack] | "not below" reference ["-" slack]
//! slack  = number "%" | number [unit]
//! reference = a value of a label, or LABEL=VALUE
//! name   = text without "," ")" "->", or "text" in quotes; `glob:` or `re:` before it asks for a pattern
//! ```

use crate::graph::Via;
use crate::text::words;
use std::fmt;

/// `text` as a pattern, if it asks for one: the condition that a name and `file:name` must fulfil.
pub fn pattern(text: &str) -> Option<(&'static str, &str)> {
    let glob = text.strip_prefix("glob:").map(|rest| ("GLOB", rest));
    glob.or_else(|| text.strip_prefix("re:").map(|rest| ("RE", rest)))
}

words! {
    /// What a rule bounds.
    pub enum Figure {
        /// Bytes read through an edge
        Bytes = "bytes",
        /// Distinct (byte, write) pairs per reading instance
        UniqueBytes = "unique_bytes",
        /// Distinct bytes of storage of an edge
        Buffer = "buffer",
        /// Distinct pairs of a write access and a read access
        Transfers = "transfers",
        /// Of an edge of the call graph, or of a function
        Calls = "calls",
        /// Of a function itself; without a name, of the run
        Steps = "steps",
        /// Of a function and all below it
        StepsTotal = "steps_total",
        /// Bytes that a function wrote to memory
        Written = "written_bytes",
        /// Of these, those that nothing read
        Dead = "dead_bytes",
    }
}

words! {
    pub enum Comparison {
        Less = "<",
        AtMost = "<=",
        Equal = "=",
        AtLeast = ">=",
        More = ">",
    }
}

impl Comparison {
    pub fn holds(self, value: i64, limit: i64) -> bool {
        match self {
            Comparison::Less => value < limit,
            Comparison::AtMost => value <= limit,
            Comparison::Equal => value == limit,
            Comparison::AtLeast => value >= limit,
            Comparison::More => value > limit,
        }
    }
}

/// What a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Run,
    Function(String),
    /// From, to, and of data what it goes through.
    Edge(String, String, Option<String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// As it was given.
    pub text: String,
    pub figure: Figure,
    pub subject: Subject,
    pub bound: Bound,
}

/// How much of a reference may be added or taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// Thousandths of a percent.
    Percent(i64),
    Amount(i64),
}

/// What a figure must keep to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    Limit(Comparison, i64),
    /// As compared with other runs: `not above main + 5 %`.
    Reference {
        is_above: bool,
        reference: String,
        slack: Slack,
    },
}

impl Bound {
    /// The comparison with a number that a run must hold; `reference` is the figure of the other runs.
    pub fn limit(&self, reference: Option<f64>) -> Option<(Comparison, i64)> {
        match self {
            Bound::Limit(comparison, limit) => Some((*comparison, *limit)),
            Bound::Reference { is_above, slack, .. } => {
                let value = reference?;
                // Figures are far below 2^53; what is lost above is less than any slack.
                let part = match *slack {
                    Slack::Percent(thousandths) => value * thousandths as f64 / 100_000.0,
                    Slack::Amount(amount) => amount as f64,
                };
                Some(match is_above {
                    true => (Comparison::AtMost, (value + part + 1e-6).floor() as i64),
                    false => (Comparison::AtLeast, (value - part - 1e-6).ceil() as i64),
                })
            }
        }
    }
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}` is not a rule: {why}; write it as 'bytes(a -> b) <= 4 KiB'")]
pub struct RuleError {
    pub rule: String,
    pub why: String,
}

const UNITS: [(&str, i64); 13] = [
    ("", 1),
    ("B", 1),
    ("k", 1000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("bytes", 1),
];

/// The word for what has what, of each figure.
fn takes(figure: Figure) -> &'static str {
    match figure {
        Figure::Bytes | Figure::UniqueBytes | Figure::Buffer | Figure::Transfers => {
            "an edge (writer -> reader)"
        }
        Figure::Calls => "a function or an edge (caller -> callee)",
        Figure::Steps => "a function, or nothing for the whole run",
        Figure::StepsTotal | Figure::Written | Figure::Dead => "a function",
    }
}

/// A whole number with its unit: `4 KiB`, `1.5 k`, `4096`.
fn amount(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let digit = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let end = text.find(|c: char| !digit(c)).unwrap_or(text.len());
    let (digits, unit) = (text[..end].replace('_', ""), text[end..].trim());
    let known = UNITS.iter().find(|(name, _)| *name == unit);
    let (_, factor) = known.ok_or_else(|| {
        let names: Vec<_> = UNITS.iter().map(|u| u.0).filter(|n| !n.is_empty()).collect();
        format!("`{unit}` is not a unit ({})", names.join(", "))
    })?;
    let wrong = || format!("`{text}` is not a whole number");
    let (whole, part) = digits.split_once('.').unwrap_or((&digits, ""));
    let number = format!("{whole}{part}").parse::<i64>().map_err(|_| wrong())?;
    let places = u32::try_from(part.len()).ok().and_then(|n| 10_i64.checked_pow(n));
    let places = places.ok_or_else(wrong)?;
    let product = number.checked_mul(*factor).ok_or_else(|| format!("`{text}` is too large"))?;
    if product % places == 0 { Ok(product / places) } else { Err(wrong()) }
}

/// What stands behind `not above` or `not below`.
fn reference(text: &str, is_above: bool) -> Result<Bound, String> {
    let sign = if is_above { '+' } else { '-' };
    let wrong = || {
        format!(
            "behind `not {}` goes a value of a label, as in `main {sign} 5 %`",
            if is_above { "above" } else { "below" }
        )
    };
    let (reference, slack) = match text.rsplit_once(sign) {
        Some((reference, slack)) if slack.trim().starts_with(|c: char| c.is_ascii_digit()) => {
            (reference.trim(), slack.trim())
        }
        _ => (text.trim(), "0"),
    };
    if reference.is_empty() {
        return Err(wrong());
    }
    let slack = match slack.strip_suffix('%') {
        Some(number) => {
            let percent: f64 = number.trim().parse().map_err(|_| wrong())?;
            if !(0.0..=1e6).contains(&percent) {
                return Err(format!("expected 0 to 1000000 percent, found `{}`", number.trim()));
            }
            Slack::Percent((percent * 1000.0).round() as i64)
        }
        None => Slack::Amount(amount(slack)?),
    };
    Ok(Bound::Reference { is_above, reference: reference.trim_matches('"').to_owned(), slack })
}

/// A text that is being read.
struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    fn skip(&mut self, token: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// A name in quotes, or up to the next of the tokens that can follow one. Parentheses within it
    /// come in pairs, as in `f(int)`.
    fn name(&mut self) -> Result<String, String> {
        self.0 = self.0.trim_start();
        if let Some(rest) = self.0.strip_prefix('"') {
            let (name, rest) = rest.split_once('"').ok_or("a quote is not closed")?;
            self.0 = rest;
            return Ok(name.to_owned());
        }
        let mut depth = 0;
        let mut end = self.0.len();
        let mut skipped = 0;
        for (at, c) in self.0.char_indices() {
            // Signs of an operator's name are no brackets.
            if let Some(rest) = self.0[at..].strip_prefix("operator")
                && at >= skipped
            {
                let signs = rest.find(|c: char| !"<>-=*,!+".contains(c)).unwrap_or(rest.len());
                // `operator->` is a name, `operator -> x` an arrow.
                skipped = at + "operator".len() + signs;
            }
            if at < skipped {
                continue;
            }
            match c {
                '(' | '<' => depth += 1,
                ')' if depth == 0 => {
                    end = at;
                    break;
                }
                '-' if depth == 0 && self.0[at..].starts_with("->") => {
                    end = at;
                    break;
                }
                ')' | '>' => depth -= 1,
                ',' if depth == 0 => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        let (name, rest) = self.0.split_at(end);
        self.0 = rest;
        match name.trim() {
            "" => Err("a name is missing".into()),
            name => Ok(name.to_owned()),
        }
    }

    fn subject(&mut self) -> Result<Subject, String> {
        if self.skip(")") {
            return Ok(Subject::Run);
        }
        let one = self.name()?;
        let subject = if self.skip("->") {
            let two = self.name()?;
            let via = if self.skip(",") { Some(via(&self.name()?)?) } else { None };
            Subject::Edge(one, two, via)
        } else {
            Subject::Function(one)
        };
        if self.skip(")") { Ok(subject) } else { Err("`)` is missing".into()) }
    }
}

/// A place that data goes through, by its name.
fn via(name: &str) -> Result<String, String> {
    let names: Vec<_> = Via::ALL.iter().map(|via| via.name()).collect();
    match names.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(format!("`{name}` is no place that data goes through ({})", names.join(", "))),
    }
}

fn parse(text: &str) -> Result<(Figure, Subject, Bound), String> {
    let (word, rest) = text.split_once('(').ok_or("`(` is missing")?;
    let figure = Figure::parse(word.trim()).ok_or_else(|| {
        let names: Vec<_> = Figure::ALL.iter().map(|f| f.name()).collect();
        format!("`{}` is not a figure ({})", word.trim(), names.join(", "))
    })?;
    let mut reader = Reader(rest);
    let subject = reader.subject()?;
    let fits = match (&subject, figure) {
        (Subject::Run, Figure::Steps) | (Subject::Edge(_, _, None), Figure::Calls) => true,
        (Subject::Run, _) => false,
        (Subject::Function(_), figure) => !takes(figure).starts_with("an edge"),
        (Subject::Edge(..), figure) => takes(figure).starts_with("an edge"),
    };
    if !fits {
        return Err(format!("{} takes {}", figure.name(), takes(figure)));
    }
    if figure == Figure::Buffer
        && matches!(&subject, Subject::Edge(a, b, _) if pattern(a).is_some() || pattern(b).is_some())
    {
        return Err("buffers of several edges do not add up: name one edge".into());
    }
    for (words, is_above) in [("not above", true), ("not below", false)] {
        if reader.skip(words) {
            return Ok((figure, subject, reference(reader.0, is_above)?));
        }
    }
    let longest_first = ["<=", ">=", "==", "<", ">", "="];
    let found = longest_first.iter().find(|token| reader.skip(token));
    let word = found.ok_or("behind `)` goes one of < <= = >= >, `not above` or `not below`")?;
    let comparison = Comparison::parse(if *word == "==" { "=" } else { word });
    let comparison = comparison.unwrap_or(Comparison::Equal);
    Ok((figure, subject, Bound::Limit(comparison, amount(reader.0)?)))
}

impl Rule {
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        let wrong = |why| RuleError { rule: text.trim().to_owned(), why };
        let (figure, subject, bound) = parse(text).map_err(wrong)?;
        Ok(Rule { text: text.trim().to_owned(), figure, subject, bound })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(one: &str, two: &str, via: Option<&str>) -> Subject {
        Subject::Edge(one.into(), two.into(), via.map(str::to_owned))
    }

    #[test]
    fn rules_are_read() {
        let rule = |text: &str| Rule::parse(text).unwrap();
        let first = rule("bytes(a->b) <= 4 KiB");
        assert_eq!(first.subject, edge("a", "b", None));
        assert_eq!(first.bound, Bound::Limit(Comparison::AtMost, 4096));
        assert_eq!(rule("bytes(<input> -> f(int, std::map<a, b>) , heap)<1.5k").subject, {
            edge("<input>", "f(int, std::map<a, b>)", Some("heap"))
        });
        assert_eq!(rule("buffer(\"a -> b\" -> c) = 1_000").subject, edge("a -> b", "c", None));
        assert_eq!(rule("calls(main -> f) > 0").bound, Bound::Limit(Comparison::More, 0));
        assert_eq!(rule("steps() == 7").subject, Subject::Run);
        assert_eq!(
            rule("steps(a.c:f) >= 0.5 GiB").bound,
            Bound::Limit(Comparison::AtLeast, 1 << 29)
        );
        let overloaded = "bytes(f(unsigned char*, int) -> operator<(A, B)) = 1";
        assert_eq!(
            rule(overloaded).subject,
            edge("f(unsigned char*, int)", "operator<(A, B)", None)
        );
        assert_eq!(
            rule("calls(A::operator->() -> B::operator>>(int)) = 1").subject,
            edge("A::operator->()", "B::operator>>(int)", None)
        );
        let limit = |text: &str| rule(text).bound.limit(Some(1000.0));
        assert_eq!(limit("steps(f) not above main + 5 %"), Some((Comparison::AtMost, 1050)));
        assert_eq!(limit("steps(f) not above branch=a-b+7"), Some((Comparison::AtMost, 1007)));
        assert_eq!(limit("steps(f) not below main - 0.5%"), Some((Comparison::AtLeast, 995)));
        assert_eq!(limit("steps(f) not above v1.2"), Some((Comparison::AtMost, 1000)));
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_said() {
        for (text, why) in [
            ("bytes a->b <= 1", "`(` is missing"),
            ("byte(a->b) <= 1", "`byte` is not a figure (bytes, unique_bytes, buffer"),
            ("bytes(a) <= 1", "bytes takes an edge (writer -> reader)"),
            ("steps(a->b) <= 1", "steps takes a function"),
            ("dead_bytes() <= 1", "dead_bytes takes a function"),
            ("bytes(a->) <= 1", "a name is missing"),
            (
                "bytes(a->b, hepa) <= 1",
                "`hepa` is no place that data goes through (register, stack",
            ),
            ("bytes(a->b, Heap) <= 1", "`Heap` is no place"),
            ("bytes(a->\"b) <= 1", "a quote is not closed"),
            ("bytes(a->b) 1", "goes one of < <="),
            ("bytes(a->b) <= 4 KB", "`KB` is not a unit (B, k, M,"),
            ("bytes(a->b) <= 0.3", "`0.3` is not a whole number"),
            ("bytes(a->b) <= -1", "`-1` is not a unit"),
            ("bytes(a->b) <= 9_000_000 TiB", "too large"),
            ("buffer(glob:*->b) <= 1", "do not add up"),
            ("steps(f) not above", "goes a value of a label"),
            ("steps(f) not above main + 5 x%", "goes a value of a label"),
            ("steps(f) not above main + 5 lightyears", "`lightyears` is not a unit"),
            ("calls(a->b, heap) <= 1", "calls takes a function or an edge"),
        ] {
            let said = Rule::parse(text).unwrap_err().to_string();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
