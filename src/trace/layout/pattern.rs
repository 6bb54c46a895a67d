//! Patterns: text with named fields.

/// Fields with a meaning; others are numbered behind them in order of appearance.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Ignored,
    Time,
    Cpu,
    Pc,
    Opcode,
    Text,
    Mode,
    Micro,
    Items,
    Name,
    Value,
    Address,
    Size,
    Number,
}

/// Names of [`Field`]s, in their order.
const FIELDS: [&str; 14] = [
    "_", "time", "cpu", "pc", "opcode", "text", "mode", "micro", "items", "name", "value",
    "address", "size", "number",
];

pub enum Piece {
    /// One or more blanks; at the end of the text also none.
    Blanks,
    Literal(Vec<u8>),
    /// Index into the captures.
    Field(usize),
}

/// Text to match, cut into pieces. A field ends at the first place where all pieces up to the next
/// field fit.
pub struct Pattern(Vec<Piece>);

/// What a field of a line says; None where it does not stand.
pub type Captures<'a> = [Option<&'a [u8]>];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Hexadecimal,
    Decimal,
    /// Decimal with a fraction, in thousandths.
    Thousandths,
}

/// All fields of a layout: those with a meaning, then others.
pub struct Fields {
    names: Vec<String>,
    /// Of each field's numbers, where the layout says.
    bases: Vec<Option<Base>>,
}

impl Fields {
    pub fn new() -> Fields {
        let names = FIELDS.map(str::to_owned).to_vec();
        Fields { bases: vec![None; names.len()], names }
    }

    /// Without those that have a meaning: fields are numbered as they appear.
    #[cfg(test)]
    pub fn empty() -> Fields {
        Fields { names: Vec::new(), bases: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn name(field: Field) -> &'static str {
        FIELDS[field as usize]
    }

    pub fn base(&self, field: Field) -> Option<Base> {
        self.bases[field as usize]
    }

    /// Fields without a meaning of which the layout says that they are numbers.
    pub fn typed(&self) -> Vec<(usize, Base)> {
        let own = self.bases.iter().enumerate().skip(FIELDS.len());
        own.filter_map(|(field, base)| base.map(|base| (field, base))).collect()
    }

    /// Number of a field, `name` or `name:hex` or `name:dec`.
    pub fn index(&mut self, text: &str) -> Result<usize, String> {
        let (name, base) =
            text.split_once(':').map_or((text, None), |(name, base)| (name, Some(base)));
        let name = if name.is_empty() { FIELDS[Field::Ignored as usize] } else { name };
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(format!("`{{{text}}}` is not a field"));
        }
        let base = match base {
            None => None,
            Some("hex") => Some(Base::Hexadecimal),
            Some("dec") => Some(Base::Decimal),
            Some("milli") => Some(Base::Thousandths),
            Some(other) => {
                return Err(format!("`{other}` in `{{{text}}}`; it may be hex or dec or milli"));
            }
        };
        let index = self.names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.bases.push(None);
            self.names.len() - 1
        });
        self.bases[index] = base.or(self.bases[index]);
        Ok(index)
    }
}

/// Where [`Pattern::matches`] must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// At the end of the text.
    Whole,
    /// Anywhere; every field is one word.
    Words,
}

impl Pattern {
    pub fn parse(text: &str, fields: &mut Fields) -> Result<Pattern, String> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut literal = Vec::new();
        let mut rest = text;
        let flush = |literal: &mut Vec<u8>, pieces: &mut Vec<Piece>| {
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(literal)));
            }
        };
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '{' | '}' if rest.starts_with(c) => {
                    literal.extend([c as u8]);
                    rest = &rest[1..];
                }
                '}' => {
                    return Err(format!(
                        "`}}` without `{{` in pattern `{text}`; a brace of the log is written twice"
                    ));
                }
                '{' => {
                    flush(&mut literal, &mut pieces);
                    let end = rest
                        .find('}')
                        .ok_or_else(|| format!("`{{` without `}}` in pattern `{text}`"))?;
                    if matches!(pieces.last(), Some(Piece::Field(_))) {
                        return Err(format!(
                            "two fields with nothing between them in pattern `{text}`"
                        ));
                    }
                    pieces.push(Piece::Field(fields.index(&rest[..end])?));
                    rest = &rest[end + 1..];
                }
                ' ' | '\t' => {
                    flush(&mut literal, &mut pieces);
                    if !matches!(pieces.last(), Some(Piece::Blanks)) {
                        pieces.push(Piece::Blanks);
                    }
                }
                c => literal.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        flush(&mut literal, &mut pieces);
        if pieces.is_empty() { Err("an empty pattern".into()) } else { Ok(Pattern(pieces)) }
    }

    /// Whether the field is one of the pattern.
    pub fn has(&self, field: Field) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Field(f) if *f == field as usize))
    }

    /// Matches at the start of `text` and fills `captures`; gives the length matched.
    pub fn matches<'a>(
        &self,
        text: &'a [u8],
        reach: Reach,
        captures: &mut Captures<'a>,
    ) -> Option<usize> {
        let mut at = 0;
        let mut index = 0;
        while index < self.0.len() {
            let Piece::Field(field) = self.0[index] else {
                at += fits(&self.0[index], &text[at..])?;
                index += 1;
                continue;
            };
            let after = &self.0[index + 1..];
            let next = after.iter().position(|p| matches!(p, Piece::Field(_)));
            let separators = &after[..next.unwrap_or(after.len())];
            // The end of the pattern must be that of the text.
            let ends = next.is_none() && reach == Reach::Whole;
            let (value, end) = value(&text[at..], separators, reach, ends)?;
            captures[field] = Some(value);
            at += end;
            index += 1 + separators.len();
        }
        (reach == Reach::Words || at == text.len()).then_some(at)
    }
}

/// The value of a field at the start of `text`, up to the first place where all `separators` fit,
/// and where they end.
fn value<'a>(
    text: &'a [u8],
    separators: &[Piece],
    reach: Reach,
    ends: bool,
) -> Option<(&'a [u8], usize)> {
    let separator = |b: &u8| b.is_ascii_whitespace() || *b == b',';
    let limit = match reach {
        Reach::Whole => text.len(),
        Reach::Words => text.iter().position(separator).unwrap_or(text.len()),
    };
    let mut length = 0;
    while length <= text.len() {
        length += match separators.first() {
            None => limit - length,
            // No farther than a field may reach, lest long lines take quadratic time.
            Some(Piece::Literal(literal)) => {
                let to = text.len().min(limit + literal.len());
                memchr::memmem::find(text.get(length..to)?, literal)?
            }
            Some(_) => {
                let blank = text[length..].iter().position(u8::is_ascii_whitespace);
                blank.unwrap_or(text.len() - length)
            }
        };
        if length > limit {
            return None;
        }
        let mut end = length;
        let fitting = separators.iter().all(|piece| {
            let fit = fits(piece, &text[end..]);
            end += fit.unwrap_or(0);
            fit.is_some()
        });
        if fitting && (!ends || end == text.len()) {
            return Some((text[..length].trim_ascii(), end));
        }
        length += 1;
    }
    None
}

/// Length of a piece that is no field at the start of `text`.
fn fits(piece: &Piece, text: &[u8]) -> Option<usize> {
    match piece {
        Piece::Literal(literal) => text.starts_with(literal).then_some(literal.len()),
        Piece::Blanks => {
            let blanks = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
            (blanks > 0 || text.is_empty()).then_some(blanks)
        }
        Piece::Field(_) => None,
    }
}
