//! JSON as DCFG uses it: integers as numbers or C-style strings, tables with a header row
//! (document, section 1.2).

use serde_json::Value;

/// Numbers with leading zeros, which the document's own example of a version has and JSON has not,
/// with these zeros as blanks. Gives whether there were any.
pub fn mend_numbers(text: &mut [u8]) -> bool {
    let (mut string, mut before, mut mended) = (false, b' ', false);
    let mut i = 0;
    while i < text.len() {
        let byte = text[i];
        match byte {
            b'\\' if string => i += 1,
            b'"' => string = !string,
            b'0' if !string
                && !matches!(before, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E') =>
            {
                while text[i] == b'0' && text.get(i + 1).is_some_and(u8::is_ascii_digit) {
                    text[i] = b' ';
                    mended = true;
                    i += 1;
                }
            }
            _ => {}
        }
        before = byte;
        i += 1;
    }
    mended
}

/// What is left of a document that ends too early or is damaged: everything before the last comma
/// between elements of an array, with what is open there closed. None if there is no such comma.
pub fn mend_end(text: &[u8]) -> Option<Vec<u8>> {
    let (mut open, mut string) = (Vec::new(), false);
    let mut good: Option<(usize, Vec<u8>)> = None;
    let mut i = 0;
    while i < text.len() {
        match text[i] {
            b'\\' if string => i += 1,
            b'"' => string = !string,
            _ if string => {}
            b'[' => open.push(b']'),
            b'{' => open.push(b'}'),
            close @ (b']' | b'}') if open.pop() != Some(close) => {
                break;
            }
            b',' if open.last() == Some(&b']') => match &mut good {
                Some((at, then)) if *then == open => *at = i,
                good => *good = Some((i, open.clone())),
            },
            _ => {}
        }
        i += 1;
    }
    let (at, open) = good?;
    let mut mended = text[..at].to_vec();
    mended.extend(open.iter().rev());
    Some(mended)
}

/// An integer: a number, or a string of one with `0x` before hexadecimal digits. None for anything
/// else, negative ones included.
pub fn integer(value: &Value) -> Option<u64> {
    match value {
        Value::Number(n) => n.as_u64().or_else(|| {
            let float = n.as_f64()?;
            (float >= 0.0 && float.fract() == 0.0 && float < 9e15).then_some(float as u64)
        }),
        Value::String(s) => parse_integer(s),
        _ => None,
    }
}

/// The same from the text of a number or string.
pub fn parse_integer(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A table: columns are found by the header, rows may be shorter than it.
pub struct Table<'a> {
    rows: &'a [Value],
    columns: Vec<Option<usize>>,
}

impl<'a> Table<'a> {
    /// The columns `names` of a table; None if there is no table or it has no header. The error
    /// says what is wrong: no table, or a header without one of the first `required` columns.
    pub fn new(
        value: Option<&'a Value>,
        names: &[&str],
        required: usize,
    ) -> Result<Option<Table<'a>>, String> {
        let rows = match value {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(rows)) => rows,
            Some(_) => return Err("is not a table".into()),
        };
        let Some(header) = rows.first() else { return Ok(None) };
        let Value::Array(header) = header else { return Err("has no header row".into()) };
        let place =
            |name: &&str| header.iter().position(|h| h.as_str().is_some_and(|h| h.trim() == *name));
        let columns: Vec<_> = names.iter().map(place).collect();
        match columns.iter().take(required).position(Option::is_none) {
            Some(missing) => Err(format!("has no column {}", names[missing])),
            None => Ok(Some(Table { rows: &rows[1..], columns })),
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'a, '_>> {
        self.rows.iter().map(|cells| Row { cells, columns: &self.columns })
    }
}

/// A row of a [`Table`], whose columns have the numbers that they had in the call of
/// [`Table::new`].
pub struct Row<'a, 't> {
    cells: &'a Value,
    columns: &'t [Option<usize>],
}

impl<'a> Row<'a, '_> {
    pub fn cell(&self, column: usize) -> Option<&'a Value> {
        self.cells.as_array()?.get(self.columns[column]?)
    }
    pub fn integer(&self, column: usize) -> Option<u64> {
        integer(self.cell(column)?)
    }
    pub fn string(&self, column: usize) -> Option<&'a str> {
        self.cell(column)?.as_str()
    }
    /// The integers of an array; what is none of them is left out.
    pub fn integers(&self, column: usize) -> Vec<u64> {
        self.cell(column)
            .and_then(Value::as_array)
            .map(|a| a.iter().filter_map(integer).collect())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros() {
        let mut text =
            br#"{"A" : 04, "B\"": [00, 0, 100, 0.5, 1.05, -0, "007"], "C": 0010}"#.to_vec();
        assert!(mend_numbers(&mut text));
        let value: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["A"], 4);
        assert_eq!(value["B\""].to_string(), r#"[0,0,100,0.5,1.05,-0.0,"007"]"#);
        assert_eq!(value["C"], 10);
        assert!(!mend_numbers(&mut br#"{"A": 4}"#.to_vec()));
    }

    #[test]
    fn cut_documents() {
        let whole = br#"{"A": [[1, "x,]"], [2, {"B": [3, 4]}]], "C": 5}"#;
        for end in 0..whole.len() {
            if let Some(mended) = mend_end(&whole[..end]) {
                serde_json::from_slice::<Value>(&mended).unwrap_or_else(|e| panic!("{end}: {e}"));
            }
        }
        let mended = mend_end(&whole[..whole.len() - 12]).unwrap();
        assert_eq!(mended, br#"{"A": [[1, "x,]"], [2, {"B": [3]}]]}"#);
        assert_eq!(mend_end(b"{\"A\": 1, "), None);
    }

    #[test]
    fn integers() {
        let of = |s: &str| integer(&serde_json::from_str(s).unwrap());
        assert_eq!(of("12"), Some(12));
        assert_eq!(of("18446744073709551615"), Some(u64::MAX));
        assert_eq!(of("\"0xFFFFFFFFFFFFFFFF\""), Some(u64::MAX));
        assert_eq!(of("\" 77 \""), Some(77));
        assert_eq!(of("2e3"), Some(2000));
        for wrong in ["-1", "1.5", "\"\"", "\"0x\"", "null", "[1]", "\"1 2\""] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn columns_by_header() {
        let value: Value =
            serde_json::from_str(r#"[["B ", "X", "A"], [1, 2, 3], [4], 5]"#).unwrap();
        let table = Table::new(Some(&value), &["A", "B", "C"], 2).unwrap().unwrap();
        let rows: Vec<_> =
            table.rows().map(|r| (r.integer(0), r.integer(1), r.integer(2))).collect();
        assert_eq!(rows, [(Some(3), Some(1), None), (None, Some(4), None), (None, None, None)]);
        assert!(Table::new(Some(&value), &["C"], 1).is_err());
        assert!(Table::new(Some(&Value::Array(Vec::new())), &["C"], 1).unwrap().is_none());
    }
}
