//! Rows as tables for terminals, as CSV, as JSON.

use super::value::{is_number, json_text, text};
use crate::graph::{distinct_name, short_name};
use crate::text::{visible, visible_but, words};
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use duckdb::types::Value;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Result, Write};

words! {
    /// How rows are written.
    #[derive(Default)]
    pub enum RowFormat {
        /// For people; characters that act on a terminal are escaped
        #[default]
        Table = "table",
        /// RFC 4180; NULL is an empty field, the empty string is ""; characters that act on a
        /// terminal are escaped but for tabs and line feeds
        Csv = "csv",
        /// The same, where no text is a formula: one that begins with `=`, `+`, `-` or `@` has a
        /// `'` before it
        Spreadsheet = "spreadsheet",
        /// An array of objects; integers of any size are numbers
        Json = "json",
    }
}

/// A field of CSV. The csv crate quotes by what is in a field, so that it cannot tell the empty
/// string, which is quoted here, from NULL, which is nothing.
fn csv_field(field: &str) -> String {
    let field = visible_but(field, &['\n', '\t']);
    if field.is_empty() || field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into_owned()
    }
}

/// A text in CSV.
fn csv_text(text: &str, format: RowFormat) -> String {
    if format == RowFormat::Spreadsheet && text.starts_with(['=', '+', '-', '@']) {
        return csv_field(&format!("'{text}"));
    }
    csv_field(text)
}

fn csv_value(value: &Value, format: RowFormat) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(text) => csv_text(text, format),
        value => csv_field(&text(value)),
    }
}

/// The style of all tables: a line below the head, none between rows.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

pub fn new_table(names: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(names.iter().map(|n| visible(n).into_owned()));
    table
}

/// Columns that have the name of a function.
const FUNCTIONS: &[&str] = &[
    "function",
    "writer",
    "reader",
    "caller",
    "callee",
    "set",
    "call",
    "deepest_call",
    "writer_function",
    "reader_function",
    // What a comparison is of, and objects, which are named by who allocated them.
    "one",
    "two",
    "object",
];

/// A function's name as a table shows it, or an object's: `(malloc by FUNCTION list.c:12)`, `{vtable(CLASS)}`.
fn short(name: &str) -> String {
    let by = || {
        let (allocator, rest) = name.strip_prefix('(')?.strip_suffix(')')?.split_once(" by ")?;
        let (function, place) = rest.rsplit_once(' ')?;
        Some(match function.strip_suffix(" instruction") {
            Some(function) => {
                format!("({allocator} by {} instruction {place})", short_name(function))
            }
            None => format!("({allocator} by {} {place})", short_name(function)),
        })
    };
    let made = || {
        let (what, class) = name.strip_prefix('{')?.strip_suffix(")}")?.split_once('(')?;
        Some(format!("{{{what}({})}}", short_name(class)))
    };
    // What GCC makes of a function in C, `f.constprop.0`, is not the function `f`, which may be there, too.
    let clone = || {
        let made = [".isra.", ".part.", ".constprop."].iter().any(|word| name.contains(word));
        (made && !name.contains(['(', ':'])).then(|| name.to_owned())
    };
    by().or_else(made).or_else(clone).unwrap_or_else(|| short_name(name))
}

/// By whole name the one that a table shows: no two functions of it are shown by one.
pub fn shown_names(whole: BTreeSet<String>) -> BTreeMap<String, String> {
    let mut shown: BTreeMap<String, String> = whole
        .into_iter()
        .map(|name| {
            let short = short(&name);
            (name, short)
        })
        .collect();
    for more in [distinct_name, str::to_owned] as [fn(&str) -> String; 2] {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        shown.values().for_each(|name| *times.entry(name.clone()).or_default() += 1);
        for (whole, name) in &mut shown {
            if times[name] > 1 {
                *name = more(whole);
            }
        }
    }
    shown
}

/// Rows as they come.
pub struct RowWriter<'a> {
    names: Vec<String>,
    format: RowFormat,
    out: &'a mut dyn Write,
    table: Table,
    /// Of a table: its rows, which are written at the end.
    rows: Vec<Vec<Value>>,
    /// Columns of functions' names, which tables have shortened.
    shortened: Vec<usize>,
    /// Columns that have a number.
    right: Vec<bool>,
    count: u64,
}

impl<'a> RowWriter<'a> {
    pub fn new(names: &[&str], format: RowFormat, out: &'a mut dyn Write) -> Result<RowWriter<'a>> {
        match format {
            RowFormat::Table => {}
            RowFormat::Csv | RowFormat::Spreadsheet => {
                let names: Vec<_> = names.iter().map(|n| csv_text(n, format)).collect();
                writeln!(out, "{}", names.join(","))?;
            }
            RowFormat::Json => write!(out, "[")?,
        }
        let table = new_table(names);
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let (right, rows, shortened) = (vec![false; names.len()], Vec::new(), Vec::new());
        Ok(RowWriter { right, rows, shortened, names, format, out, table, count: 0 })
    }

    /// A table has short names of functions, as pictures do: those of C++ have hundreds of characters.
    /// What is read by programs has them whole.
    pub fn short_names(mut self) -> Self {
        let is_function = |name: &&String| FUNCTIONS.contains(&name.as_str());
        let columns = self.names.iter().enumerate().filter(|(_, name)| is_function(name));
        self.shortened = columns.map(|(i, _)| i).collect();
        self
    }

    fn shown(&self) -> BTreeMap<String, String> {
        let cells = self.rows.iter().flat_map(|row| self.shortened.iter().map(|&i| &row[i]));
        shown_names(cells.filter(|cell| matches!(cell, Value::Text(_))).map(text).collect())
    }

    fn fill_table(&mut self) {
        let shown = self.shown();
        for row in &self.rows {
            let cells = row.iter().enumerate().map(|(i, value)| {
                let side =
                    if is_number(value) { CellAlignment::Right } else { CellAlignment::Left };
                let whole = text(value);
                let name = shown.get(&whole).filter(|_| self.shortened.contains(&i));
                Cell::new(visible(name.unwrap_or(&whole))).set_alignment(side)
            });
            self.table.add_row(cells);
        }
    }

    pub fn row(&mut self, values: &[Value]) -> Result<()> {
        match self.format {
            RowFormat::Table => {
                for (value, right) in values.iter().zip(&mut self.right) {
                    *right |= is_number(value);
                }
                self.rows.push(values.to_vec());
            }
            RowFormat::Csv | RowFormat::Spreadsheet => {
                let field = |v: &Value| csv_value(v, self.format);
                writeln!(self.out, "{}", values.iter().map(field).collect::<Vec<_>>().join(","))?;
            }
            RowFormat::Json => {
                let fields = self.names.iter().zip(values);
                let fields: Vec<_> =
                    fields.map(|(n, v)| format!("{}:{}", json!(n), json_text(v))).collect();
                let comma = if self.count > 0 { "," } else { "" };
                write!(self.out, "{comma}\n{{{}}}", fields.join(","))?;
            }
        }
        self.count += 1;
        Ok(())
    }

    /// Gives how many rows there were.
    pub fn finish(mut self) -> Result<u64> {
        match self.format {
            RowFormat::Table => {
                self.fill_table();
                for (column, right) in self.table.column_iter_mut().zip(self.right) {
                    if right {
                        column.set_cell_alignment(CellAlignment::Right);
                    }
                }
                let text = self.table.to_string();
                for line in text.lines() {
                    writeln!(self.out, "{}", line.trim_end())?;
                }
            }
            RowFormat::Csv | RowFormat::Spreadsheet => {}
            RowFormat::Json => writeln!(self.out, "{}]", if self.count > 0 { "\n" } else { "" })?,
        }
        self.out.flush()?;
        Ok(self.count)
    }
}

/// A number that may be unknown.
pub fn number<T: Into<Option<i64>>>(n: T) -> Value {
    n.into().map_or(Value::Null, Value::BigInt)
}

/// A text that may be unknown.
pub fn word<T: Into<Option<String>>>(text: T) -> Value {
    text.into().map_or(Value::Null, Value::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str, format: RowFormat) -> String {
        let mut out = Vec::new();
        let mut rows = RowWriter::new(&["=n"], format, &mut out).unwrap();
        let minus = Value::BigInt(-1);
        rows.row(&[Value::Text(value.into()), minus, Value::Null]).unwrap();
        rows.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_does_nothing_to_a_terminal_and_spreadsheets_compute_nothing() {
        let csv = |value: &str| written(value, RowFormat::Csv);
        assert_eq!(csv("\u{1b}[2J\r\u{202e}x"), "=n\n\\u{1b}[2J\\r\\u{202e}x,-1,\n");
        assert_eq!(csv("a\tb\nc"), "=n\n\"a\tb\nc\",-1,\n");
        assert_eq!(csv("=1+1"), "=n\n=1+1,-1,\n");
        let spreadsheet = |value: &str| written(value, RowFormat::Spreadsheet);
        for hostile in ["=cmd|x!A1", "+1", "-1", "@sum"] {
            assert_eq!(spreadsheet(hostile), format!("'=n\n'{hostile},-1,\n"));
        }
        assert_eq!(spreadsheet("a=b"), "'=n\na=b,-1,\n");
        assert_eq!(spreadsheet(""), "'=n\n\"\",-1,\n");
    }
}
