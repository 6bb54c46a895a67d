//! Rows as tables for terminals, as CSV, as JSON.

use super::value::{is_number, json_text, text};
use crate::text::{visible, words};
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use duckdb::types::Value;
use serde_json::json;
use std::io::{Result, Write};

words! {
    /// How rows are written.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RowFormat {
        /// For people; characters that act on a terminal are escaped
        #[default]
        Table = "table",
        /// RFC 4180; NULL is an empty field, the empty string is ""
        Csv = "csv",
        /// An array of objects; integers of any size are numbers
        Json = "json",
    }
}

/// A field of CSV. The csv crate quotes by what is in a field, so that it cannot tell the empty
/// string, which is quoted here, from NULL, which is nothing.
fn csv_field(field: &str) -> String {
    if field.is_empty() || field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
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

/// Rows as they come.
pub struct RowWriter<'a> {
    names: Vec<String>,
    format: RowFormat,
    out: &'a mut dyn Write,
    table: Table,
    /// Columns that have a number.
    right: Vec<bool>,
    count: u64,
}

impl<'a> RowWriter<'a> {
    pub fn new(names: &[&str], format: RowFormat, out: &'a mut dyn Write) -> Result<RowWriter<'a>> {
        match format {
            RowFormat::Table => {}
            RowFormat::Csv => {
                let names: Vec<_> = names.iter().map(|n| csv_field(n)).collect();
                writeln!(out, "{}", names.join(","))?;
            }
            RowFormat::Json => write!(out, "[")?,
        }
        let table = new_table(names);
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        Ok(RowWriter { right: vec![false; names.len()], names, format, out, table, count: 0 })
    }

    pub fn row(&mut self, values: &[Value]) -> Result<()> {
        match self.format {
            RowFormat::Table => {
                let cells = values.iter().zip(&mut self.right).map(|(v, right)| {
                    *right |= is_number(v);
                    let side =
                        if is_number(v) { CellAlignment::Right } else { CellAlignment::Left };
                    Cell::new(visible(&text(v))).set_alignment(side)
                });
                self.table.add_row(cells);
            }
            RowFormat::Csv => {
                let field =
                    |v: &Value| if *v == Value::Null { String::new() } else { csv_field(&text(v)) };
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
            RowFormat::Csv => {}
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
