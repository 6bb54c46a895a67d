//! The tables that Rust writes: one row struct each, with its columns, the only place that knows
//! their order.
//!
//! A row is filled by name, `Option` is NULL, ids are those of [`crate::id`]:
//!
//! ```ignore
//! let mut calls = Table::<FunctionCalls>::new(connection);   // store::table
//! calls.push(FunctionCall { call_id, function_id, kind: CallKind::Call, .. })?;
//! calls.finish()?;                                            // what is not finished is not written
//! ```
//!
//! [`Table`](super::table::Table) appends full batches to DuckDB as they come. Where another thread
//! writes, [`Stream`](super::table::Stream) hands out full [`Batch`](super::table::Batch)es for a
//! channel, and [`Tables`](super::table::Tables) at its other end appends them:
//!
//! ```ignore
//! if let Some(batch) = stream.push(row) { send(batch) }       // while rows come
//! if let Some(batch) = stream.rest() { send(batch) }          // at the end
//! tables.append(batch)?;                                      // the writer's thread
//! ```
//!
//! Columns that are NULL throughout are not given to DuckDB at all, which costs a fraction. A
//! number that does not fit its column (a count of 2^63) is an error of the build, never another
//! number.
//!
//! To add a column: the file in `schema/`, the row here, and the compiler names every place that
//! makes such a row. What SQL fills (`INSERT INTO ... SELECT` of `queries/derive` and of the views'
//! tables) has no row here. `tests::rows_are_those_of_the_schema` compares the two.

#[cfg(test)]
use super::row::Description;

mod answer;
mod control;
mod dependence;
mod high;
mod low;
mod meta;
mod middle;
mod path;
mod time;

pub use answer::*;
pub use control::*;
pub use dependence::*;
pub use high::*;
pub use low::*;
pub use meta::*;
pub use middle::*;
pub use path::*;
pub use time::*;

/// Every table that has rows here.
#[cfg(test)]
pub fn all() -> impl Iterator<Item = Description> {
    [
        meta::TABLES,
        low::TABLES,
        middle::TABLES,
        high::TABLES,
        control::TABLES,
        time::TABLES,
        dependence::TABLES,
        path::TABLES,
        answer::TABLES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::SCHEMA;
    use duckdb::Connection;
    use std::collections::BTreeMap;

    /// Filled by `INSERT INTO ... SELECT` of whole rows.
    const BY_SQL: [&str; 9] = [
        "call_edge_folded",
        "dependence",
        "dependence_edge",
        "function_edge_folded",
        "function_time",
        "stack_time",
        "top_call_row",
        "top_call_edge_row",
        "top_dataflow_row",
    ];

    #[test]
    fn rows_are_those_of_the_schema() {
        let connection = Connection::open_in_memory().unwrap();
        SCHEMA.iter().for_each(|sql| connection.execute_batch(sql).unwrap());
        let mut statement = connection
            .prepare(
                "SELECT c.table_name, column_name, data_type, is_nullable FROM duckdb_columns() c \
                 JOIN duckdb_tables() t USING (table_oid) ORDER BY table_oid, column_index",
            )
            .unwrap();
        let mut schema: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let [table, name, type_name]: [String; 3] = [0, 1, 2].map(|i| row.get(i).unwrap());
            let not_null = if row.get(3).unwrap() { "" } else { " NOT NULL" };
            schema.entry(table).or_default().push(format!("{name} {type_name}{not_null}"));
        }
        assert!(schema.len() > 50);
        for table in BY_SQL {
            assert!(schema.remove(table).is_some(), "{table} is not in the schema");
        }
        let rows: BTreeMap<String, Vec<String>> = all()
            .map(|t| (t.table.into(), t.columns.iter().map(ToString::to_string).collect()))
            .collect();
        for (table, columns) in &rows {
            assert_eq!(Some(columns), schema.get(table), "{table}");
        }
        let without: Vec<&String> = schema.keys().filter(|t| !rows.contains_key(*t)).collect();
        assert!(without.is_empty(), "no rows for {without:?}");
    }
}
