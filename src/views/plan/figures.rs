//! Figures as cells of a table.

use duckdb::types::Value;

/// A figure of which fractions say nothing.
pub fn whole(n: f64) -> Value {
    // Figures are not below 0, and what is above 2^64 is as good as that.
    Value::UBigInt(n.round() as u64)
}

/// A figure to one place behind the point.
pub fn tenths(n: f64) -> Value {
    Value::Double((n * 10.0).round() / 10.0)
}
