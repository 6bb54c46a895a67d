//! Values of DuckDB's types as text and as JSON.

use chrono::NaiveDate;
use duckdb::types::{TimeUnit, Value};
use serde_json::json;

/// NULL and lists of values within text.
const NULL: &str = "NULL";

/// JSON as text. serde_json has no integers beyond 64 bits, JSON has.
pub fn json_text(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Boolean(_) | Value::Decimal(_) => text(value),
        // JSON knows no infinity: null.
        Value::Float(x) => json!(x).to_string(),
        Value::Double(x) => json!(x).to_string(),
        value if is_number(value) => text(value),
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

/// Days since 1970; as a number where they are beyond chrono's quarter of a million years.
fn date(days: i64) -> String {
    let date = i32::try_from(days).ok().and_then(NaiveDate::from_epoch_days);
    date.map_or_else(|| format!("{days} days since 1970"), |d| d.format("%Y-%m-%d").to_string())
}

/// `HH:MM:SS`, of any number of hours, with as many digits behind it as the unit has.
fn clock(unit: TimeUnit, ticks: i64) -> String {
    let per = units_per_second(unit);
    let (seconds, part) = (ticks.div_euclid(per), ticks.rem_euclid(per));
    let digits = per.to_string().len() - 1;
    let fraction = if part == 0 { String::new() } else { format!(".{part:0digits$}") };
    format!("{:02}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A value as text; NULL is `NULL`.
pub fn text(value: &Value) -> String {
    let joined = |list: &[Value]| list.iter().map(text).collect::<Vec<_>>().join(", ");
    let fields = |list: Vec<(String, &Value)>| {
        let list: Vec<_> = list.into_iter().map(|(k, v)| format!("{k}: {}", text(v))).collect();
        format!("{{{}}}", list.join(", "))
    };
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
        Value::Struct(list) => fields(list.iter().map(|(k, v)| (k.clone(), v)).collect()),
        Value::Map(list) => fields(list.iter().map(|(k, v)| (text(k), v)).collect()),
        Value::Union(inner) => text(inner),
        other => format!("{other:?}"),
    }
}

pub fn is_number(value: &Value) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |unit, ticks| text(&Value::Timestamp(unit, ticks));
        assert_eq!(at(TimeUnit::Second, -1), "1969-12-31 23:59:59");
        assert_eq!(at(TimeUnit::Microsecond, 1_709_251_198_500_000), "2024-02-29 23:59:58.500000");
        assert_eq!(text(&Value::Date32(-719_528)), "0000-01-01");
        assert_eq!(text(&Value::Date32(i32::MAX)), "2147483647 days since 1970");
        assert_eq!(text(&Value::Time64(TimeUnit::Microsecond, 1)), "00:00:00.000001");
        let long = Value::Interval { months: 1, days: 2, nanos: 90_061_000_000_001 };
        assert_eq!(text(&long), "1 months 2 days 25:01:01.000000001");
    }
}
