//! Query results as text: tables for terminals, CSV, JSON.

use duckdb::types::{TimeUnit, Value, ValueRef};
use serde_json::json;

use crate::text::visible;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Table,
    Csv,
    Json,
}

fn json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Boolean(b) => json!(b),
        Value::TinyInt(n) => json!(n),
        Value::SmallInt(n) => json!(n),
        Value::Int(n) => json!(n),
        Value::BigInt(n) => json!(n),
        Value::UTinyInt(n) => json!(n),
        Value::USmallInt(n) => json!(n),
        Value::UInt(n) => json!(n),
        Value::UBigInt(n) => json!(n),
        Value::HugeInt(n) => i64::try_from(*n).map_or_else(|_| json!(n.to_string()), |n| json!(n)),
        Value::Float(x) => json!(x),
        Value::Double(x) => json!(x),
        Value::List(list) | Value::Array(list) => list.iter().map(json_value).collect(),
        other => json!(text(other)),
    }
}

/// A value as text; NULL is empty.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Boolean(b) => b.to_string(),
        Value::TinyInt(n) => n.to_string(),
        Value::SmallInt(n) => n.to_string(),
        Value::Int(n) => n.to_string(),
        Value::BigInt(n) => n.to_string(),
        Value::HugeInt(n) => n.to_string(),
        Value::UTinyInt(n) => n.to_string(),
        Value::USmallInt(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::UBigInt(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Double(x) => x.to_string(),
        Value::Text(s) | Value::Enum(s) => s.clone(),
        Value::Blob(b) => b.iter().map(|b| format!("{b:02x}")).collect(),
        Value::Timestamp(TimeUnit::Microsecond, n) => n.to_string(),
        Value::List(list) | Value::Array(list) => {
            let items: Vec<_> = list.iter().map(|v| if *v == Value::Null { "NULL".into() } else { text(v) }).collect();
            format!("[{}]", items.join(", "))
        }
        other => format!("{other:?}"),
    }
}

fn csv_field(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}

/// Runs a query and writes its rows.
pub fn query(
    connection: &duckdb::Connection,
    sql: &str,
    params: &[&dyn duckdb::ToSql],
    format: Format,
    out: &mut dyn std::io::Write,
) -> anyhow::Result<u64> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params)?;
    let names: Vec<String> = rows.as_ref().map(|s| s.column_names()).unwrap_or_default();
    let mut table = comfy_table::Table::new();
    let mut count = 0;
    match format {
        Format::Table => {
            table.load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY);
            table.set_header(names.iter().map(|n| visible(n)));
        }
        Format::Csv => writeln!(out, "{}", names.iter().map(|n| csv_field(n)).collect::<Vec<_>>().join(","))?,
        Format::Json => write!(out, "[")?,
    }
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(names.len());
        for i in 0..names.len() {
            let value: ValueRef = row.get_ref(i)?;
            values.push(value.to_owned());
        }
        match format {
            Format::Table => {
                let cell = |v: &Value| {
                    let number = !matches!(v, Value::Text(_) | Value::Blob(_) | Value::Boolean(_) | Value::Enum(_));
                    let right = if number { comfy_table::CellAlignment::Right } else { comfy_table::CellAlignment::Left };
                    comfy_table::Cell::new(visible(&text(v))).set_alignment(right)
                };
                table.add_row(values.iter().map(cell));
            }
            Format::Csv => writeln!(out, "{}", values.iter().map(|v| csv_field(&text(v))).collect::<Vec<_>>().join(","))?,
            Format::Json => {
                let object: serde_json::Map<_, _> = names.iter().cloned().zip(values.iter().map(json_value)).collect();
                write!(out, "{}\n  {}", if count > 0 { "," } else { "" }, serde_json::Value::Object(object))?;
            }
        }
        count += 1;
    }
    match format {
        Format::Table => writeln!(out, "{table}")?,
        Format::Csv => {}
        Format::Json => writeln!(out, "\n]")?,
    }
    out.flush()?;
    Ok(count)
}
