//! A database that was built before, and questions to it.

use super::{Error, Graph, Selection};
use crate::render::value;
use crate::scan::{self, Beside};
use crate::store::catalog::own_macros;
use crate::store::open::{Opening, open_as};
use crate::store::statement::{Gives, Parser};
use crate::views::{library, rows};
use duckdb::{Connection, ToSql, params_from_iter, types};
use std::path::Path;

/// A database that [`Trace::build`](super::Trace::build) or `addfg build` made. It is only read.
///
/// `docs/schema.md` has its tables, `docs/questions.md` queries to begin with.
pub struct Database {
    pub(super) connection: Connection,
    /// Table functions of it.
    _beside: Beside,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Not known, or not there.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number of any width.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// Text, and whatever is none of the others (times, lists), as text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// What a query gave.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, each with a value for each column.
    pub rows: Vec<Vec<Value>>,
}

impl Database {
    /// Opens a database to be read: one of this version's schema, without views of others. An export
    /// to SQLite is one, too.
    ///
    /// # Errors
    /// It is not there, no database, or another addfg's.
    pub fn open(path: impl AsRef<Path>) -> Result<Database, Error> {
        let connection = open_as(path.as_ref(), Opening::READ).map_err(Error::of)?;
        own_macros(&connection).map_err(Error::of)?;
        let beside = scan::functions(&connection).map_err(Error::of)?;
        Ok(Database { connection, _beside: beside })
    }

    /// Asks an SQL query (DuckDB's), with values for its `?`. Of a run that is kept packed, the rows
    /// that it names are made first.
    ///
    /// # Errors
    /// More than one statement, or one that changes anything; what DuckDB says of it; a run too long
    /// to make its rows for one query.
    pub fn query(&self, sql: &str, values: &[Value]) -> Result<Rows, Error> {
        let parser = Parser::new().map_err(Error::of)?;
        let pieces = parser.pieces(sql).map_err(Error::of)?;
        let [statement] = pieces[..] else {
            return Err(Error::new(format!("{} statements: ask one query", pieces.len())));
        };
        rows::ensure_named(&self.connection, sql).map_err(Error::of)?;
        let values: Vec<_> = values.iter().map(Value::stored).collect();
        let gives = parser.check_with(&self.connection, statement, &values).map_err(Error::of)?;
        // Rows that were made of a packed run are not to be changed, either.
        if gives != Gives::Rows || parser.changes(&self.connection, statement, &values) {
            return Err(Error::new("the statement changes something: the database is only read"));
        }
        let plan = parser.plan(&self.connection, statement, &values);
        let run = || scan::within(&self.connection, plan.as_ref(), || self.rows(statement, values));
        rows::typed(&self.connection, run).map_err(Error::of)
    }

    /// Asks one of the queries that have a name (`addfg sql DB --list`), with words for its
    /// parameters: `("readers_of", &["decode"])`.
    ///
    /// # Errors
    /// No query has this name; a parameter is missing or means nothing; the database keeps less than
    /// the query needs.
    pub fn named(&self, name: &str, words: &[&str]) -> Result<Rows, Error> {
        let query = library::find(name).map_err(Error::of)?;
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let (sql, values) = query.asked(&self.connection, &words).map_err(Error::of)?;
        self.rows(sql, values).map_err(Error::of)
    }

    /// The graph of a level of the database, so small that a person can read it.
    ///
    /// # Errors
    /// The selection names a function that is not there, or a level that the database does not keep.
    pub fn graph(&self, selection: &Selection) -> Result<Graph, Error> {
        Graph::of(&self.connection, selection)
    }

    fn rows(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = impl ToSql>,
    ) -> duckdb::Result<Rows> {
        let mut statement = self.connection.prepare(sql)?;
        let mut found = statement.query(params_from_iter(values))?;
        let columns = found.as_ref().map(|s| s.column_names()).unwrap_or_default();
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let value = |i| Ok(Value::of(row.get_ref(i)?.to_owned()));
            rows.push((0..columns.len()).map(value).collect::<duckdb::Result<_>>()?);
        }
        Ok(Rows { columns, rows })
    }
}

impl Value {
    fn of(value: types::Value) -> Value {
        match value {
            types::Value::Null => Value::Null,
            types::Value::Boolean(is) => Value::Boolean(is),
            types::Value::TinyInt(n) => Value::Integer(n.into()),
            types::Value::SmallInt(n) => Value::Integer(n.into()),
            types::Value::Int(n) => Value::Integer(n.into()),
            types::Value::BigInt(n) => Value::Integer(n.into()),
            types::Value::HugeInt(n) => Value::Integer(n),
            types::Value::UTinyInt(n) => Value::Integer(n.into()),
            types::Value::USmallInt(n) => Value::Integer(n.into()),
            types::Value::UInt(n) => Value::Integer(n.into()),
            types::Value::UBigInt(n) => Value::Integer(n.into()),
            types::Value::Float(x) => Value::Float(x.into()),
            types::Value::Double(x) => Value::Float(x),
            types::Value::Text(text) => Value::Text(text),
            types::Value::Blob(bytes) => Value::Bytes(bytes),
            other => Value::Text(value::text(&other)),
        }
    }

    fn stored(&self) -> types::Value {
        match self {
            Value::Null => types::Value::Null,
            Value::Boolean(is) => types::Value::Boolean(*is),
            Value::Integer(n) => {
                i64::try_from(*n).map_or(types::Value::HugeInt(*n), types::Value::BigInt)
            }
            Value::Float(x) => types::Value::Double(*x),
            Value::Text(text) => types::Value::Text(text.clone()),
            Value::Bytes(bytes) => types::Value::Blob(bytes.clone()),
        }
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Integer(n.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}
