//! Query results as text: tables for terminals, CSV, JSON.

use crate::text::visible;
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use duckdb::types::{TimeUnit, Value};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people; characters that act on a terminal are escaped
    Table,
    /// RFC 4180; NULL is an empty field, the empty string is ""
    Csv,
    /// An array of objects; integers of any size are numbers
    Json,
}

/// NULL and lists of values within text.
const NULL: &str = "NULL";

/// JSON as text. serde_json has no integers beyond 64 bits, JSON has.
fn json_text(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Boolean(_)
        | Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Int(_)
        | Value::BigInt(_)
        | Value::HugeInt(_)
        | Value::UHugeInt(_)
        | Value::UTinyInt(_)
        | Value::USmallInt(_)
        | Value::UInt(_)
        | Value::UBigInt(_)
        | Value::Decimal(_) => text(value),
        // JSON knows no infinity: null.
        Value::Float(x) => json!(x).to_string(),
        Value::Double(x) => json!(x).to_string(),
        Value::List(list) | Value::Array(list) => {
            format!("[{}]", list.iter().map(json_text).collect::<Vec<_>>().join(","))
        }
        Value::Struct(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(name, v)| format!("{}:{}", json!(name), json_text(v)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Map(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(k, v)| format!("{}:{}", json!(text(k)), json_text(v)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Union(inner) => json_text(inner),
        other => json!(text(other)).to_string(),
    }
}

fn units_per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Days since 1970 as year, month, day (Howard Hinnant's `civil_from_days`).
fn date(days: i64) -> String {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn clock(unit: TimeUnit, ticks: i64) -> String {
    let per = units_per_second(unit);
    let (seconds, part) = (ticks.div_euclid(per), ticks.rem_euclid(per));
    let digits = per.ilog10() as usize;
    let fraction = if part == 0 { String::new() } else { format!(".{part:0digits$}") };
    format!("{:02}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A value as text; NULL is `NULL`.
pub fn text(value: &Value) -> String {
    let joined = |list: &[Value]| list.iter().map(text).collect::<Vec<_>>().join(", ");
    match value {
        Value::Null => NULL.into(),
        Value::Boolean(b) => b.to_string(),
        Value::TinyInt(n) => n.to_string(),
        Value::SmallInt(n) => n.to_string(),
        Value::Int(n) => n.to_string(),
        Value::BigInt(n) => n.to_string(),
        Value::HugeInt(n) => n.to_string(),
        Value::UHugeInt(n) => n.to_string(),
        Value::UTinyInt(n) => n.to_string(),
        Value::USmallInt(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::UBigInt(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Double(x) => x.to_string(),
        Value::Decimal(d) => d.to_string(),
        Value::Text(s) | Value::Enum(s) => s.clone(),
        Value::Blob(b) | Value::Geometry(b) => b.iter().map(|b| format!("{b:02x}")).collect(),
        Value::Date32(days) => date(i64::from(*days)),
        Value::Time64(unit, ticks) => clock(*unit, *ticks),
        Value::Timestamp(unit, ticks) => {
            let day = units_per_second(*unit).saturating_mul(86_400);
            format!("{} {}", date(ticks.div_euclid(day)), clock(*unit, ticks.rem_euclid(day)))
        }
        Value::Interval { months, days, nanos } => {
            format!("{months} months {days} days {}", clock(TimeUnit::Nanosecond, *nanos))
        }
        Value::List(list) | Value::Array(list) => format!("[{}]", joined(list)),
        Value::Struct(fields) => {
            format!(
                "{{{}}}",
                fields
                    .iter()
                    .map(|(name, v)| format!("{name}: {}", text(v)))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        Value::Map(entries) => {
            format!(
                "{{{}}}",
                entries
                    .iter()
                    .map(|(k, v)| format!("{}: {}", text(k), text(v)))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        Value::Union(inner) => text(inner),
        other => format!("{other:?}"),
    }
}

fn csv_field(field: &str) -> String {
    // An empty string is quoted: an empty field is NULL.
    if field.is_empty() || field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn is_number(value: &Value) -> bool {
    matches!(
        value,
        Value::TinyInt(_)
            | Value::SmallInt(_)
            | Value::Int(_)
            | Value::BigInt(_)
            | Value::HugeInt(_)
            | Value::UHugeInt(_)
            | Value::UTinyInt(_)
            | Value::USmallInt(_)
            | Value::UInt(_)
            | Value::UBigInt(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Decimal(_)
    )
}

/// The style of all reports: a line below the head, none between rows.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

pub fn new_table(names: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(names.iter().map(|n| visible(n).into_owned()));
    table
}

/// Rows as they come, to be written as a table, CSV or JSON.
pub struct Report<'a> {
    names: Vec<String>,
    format: Format,
    out: &'a mut dyn std::io::Write,
    table: Table,
    right: Vec<bool>,
    count: u64,
}

impl<'a> Report<'a> {
    pub fn new(
        names: &[&str],
        format: Format,
        out: &'a mut dyn std::io::Write,
    ) -> anyhow::Result<Report<'a>> {
        match format {
            Format::Table => {}
            Format::Csv => writeln!(
                out,
                "{}",
                names.iter().map(|n| csv_field(n)).collect::<Vec<_>>().join(",")
            )?,
            Format::Json => write!(out, "[")?,
        }
        let table = new_table(names);
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        Ok(Report { right: vec![false; names.len()], names, format, out, table, count: 0 })
    }

    pub fn row(&mut self, values: &[Value]) -> anyhow::Result<()> {
        match self.format {
            Format::Table => {
                let cells = values.iter().zip(&mut self.right).map(|(v, right)| {
                    *right |= is_number(v);
                    let shown = text(v);
                    let shown = visible(&shown);
                    Cell::new(shown).set_alignment(if is_number(v) {
                        CellAlignment::Right
                    } else {
                        CellAlignment::Left
                    })
                });
                self.table.add_row(cells);
            }
            Format::Csv => {
                let field =
                    |v: &Value| if *v == Value::Null { String::new() } else { csv_field(&text(v)) };
                writeln!(self.out, "{}", values.iter().map(field).collect::<Vec<_>>().join(","))?;
            }
            Format::Json => {
                let fields: Vec<_> = self
                    .names
                    .iter()
                    .zip(values)
                    .map(|(n, v)| format!("{}:{}", json!(n), json_text(v)))
                    .collect();
                write!(
                    self.out,
                    "{}\n{{{}}}",
                    if self.count > 0 { "," } else { "" },
                    fields.join(",")
                )?;
            }
        }
        self.count += 1;
        Ok(())
    }

    /// Gives how many rows there were.
    pub fn finish(mut self) -> anyhow::Result<u64> {
        match self.format {
            Format::Table => {
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
            Format::Csv => {}
            Format::Json => writeln!(self.out, "{}]", if self.count > 0 { "\n" } else { "" })?,
        }
        self.out.flush()?;
        Ok(self.count)
    }
}

/// A number that may be unknown.
pub fn number<T: Into<Option<i64>>>(n: T) -> Value {
    n.into().map_or(Value::Null, Value::BigInt)
}

/// Runs a query and writes its rows; gives how many there were.
pub fn query(
    connection: &duckdb::Connection,
    sql: &str,
    params: &[&dyn duckdb::ToSql],
    format: Format,
    out: &mut dyn std::io::Write,
) -> anyhow::Result<u64> {
    query_in(connection, "steps", sql, params, format, out)
}

/// [`query`], with columns of steps named after what the trace has instead
/// ([`crate::query::unit`]).
pub fn query_in(
    connection: &duckdb::Connection,
    unit: &str,
    sql: &str,
    params: &[&dyn duckdb::ToSql],
    format: Format,
    out: &mut dyn std::io::Write,
) -> anyhow::Result<u64> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params)?;
    let mut names: Vec<String> = rows.as_ref().map(|s| s.column_names()).unwrap_or_default();
    if unit != "steps" {
        names.iter_mut().for_each(|name| *name = name.replace("steps", unit));
    }
    let mut report =
        Report::new(&names.iter().map(String::as_str).collect::<Vec<_>>(), format, out)?;
    while let Some(row) = rows.next()? {
        let values = (0..names.len())
            .map(|i| Ok(Value::from(row.get_ref(i)?.to_owned())))
            .collect::<duckdb::Result<Vec<_>>>()?;
        report.row(&values)?;
    }
    report.finish()
}
