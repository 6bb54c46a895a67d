//! Queries that have a name: what is asked first, for `addfg sql DB @NAME`.

use super::ViewError;
use super::listing::{Listing, id, limit};
use crate::graph::resolve_whole;
use crate::load::Detail;
use crate::store::open::why_no_steps;
use crate::text::{nearest, visible, words};
use duckdb::Connection;
use duckdb::types::Value;

macro_rules! library {
    ($($name:literal),+ $(,)?) => {
        /// Name and text of each, by theme.
        const TEXTS: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../queries/library/", $name, ".sql")))),+
        ];
    };
}
library!(
    "hot_functions",
    "hot_lines",
    "inlined",
    "hot_calls",
    "recursion",
    "hot_edges",
    "traffic",
    "line_edges",
    "writers_of",
    "readers_of",
    "data_for",
    "inputs",
    "globals",
    "variables",
    "dead_writes",
    "memories",
    "memory_traffic",
    "range_traffic",
    "calls_of",
    "transfers",
    "system_calls",
    "undecoded",
    "unexecuted",
    "steps",
    "accesses_of",
    "tables",
    "columns",
);

words! {
    /// What the word of a parameter is.
    pub enum Kind {
        /// A function as other commands take it
        Function = "function",
        /// Rows at most, 0 for all
        Count = "count",
        /// A step number
        Step = "step",
        /// An address, with or without 0x
        Address = "address",
        /// A table or view; of a lake, a function
        Name = "name",
        /// `program` (without start-up, end and the dynamic linker), or `all`
        Whose = "program or all",
        /// Any text
        Text = "value",
        /// A number
        Number = "number",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    pub kind: Kind,
    pub default: Option<&'static str>,
    /// In words.
    pub about: &'static str,
}

/// A query of `queries/library`.
#[derive(Debug)]
pub struct Query {
    pub name: &'static str,
    /// What it answers.
    pub about: &'static str,
    pub theme: &'static str,
    /// The least detail that a database must have for it.
    pub needs: Detail,
    pub parameters: Vec<Parameter>,
    /// What it means if there are no rows.
    pub none: &'static str,
    /// Its text, with `$1`, `$2`, ... for the parameters.
    pub sql: &'static str,
}

/// A `-- param` line: `NAME KIND [= DEFAULT]: in words`.
fn parameter(line: &'static str) -> Option<Parameter> {
    let (head, about) = line.split_once(": ")?;
    let (head, default) = match head.split_once(" = ") {
        Some((head, default)) => (head, Some(default)),
        None => (head, None),
    };
    let (name, kind) = head.split_once(' ')?;
    Some(Parameter { name, kind: Kind::parse(kind)?, default, about })
}

/// A query with what it says of itself; None if that cannot be read.
pub fn query(name: &'static str, sql: &'static str) -> Option<Query> {
    let mut lines = sql.lines().map_while(|line| line.strip_prefix("-- "));
    let about = lines.next()?;
    let mut found = Query {
        name,
        about,
        theme: "",
        needs: Detail::Summary,
        parameters: Vec::new(),
        none: "",
        sql,
    };
    for line in lines {
        match line.split_once(": ")? {
            ("theme", theme) => found.theme = theme,
            ("needs", detail) => found.needs = Detail::parse(detail)?,
            ("none", none) => found.none = none,
            ("reads", _) => {}
            _ => found.parameters.push(parameter(line.strip_prefix("param ")?)?),
        }
    }
    Some(found)
}

/// All, by theme.
pub fn all() -> Vec<Query> {
    TEXTS.iter().filter_map(|(name, sql)| query(name, sql)).collect()
}

/// The one of this name.
pub fn find(name: &str) -> Result<Query, ViewError> {
    let missing = || {
        let names: Vec<_> = TEXTS.iter().map(|(name, _)| *name).collect();
        no_query(name, &names)
    };
    all().into_iter().find(|query| query.name == name).ok_or_else(missing)
}

/// The error of a name that no query has, with the one that it almost is, else all.
pub fn no_query(name: &str, known: &[&str]) -> ViewError {
    let known = match nearest(name, known) {
        Some(almost) => format!("there is @{almost}"),
        None => format!("there are {}", known.join(", ")),
    };
    ViewError::NoQuery { name: visible(name).into_owned(), known }
}

impl Query {
    /// How its parameters are given: `<function> [rows=20]`.
    pub fn usage(&self) -> String {
        let one = |p: &Parameter| match p.default {
            Some(default) => format!("[{}={default}]", p.name),
            None => format!("<{}>", p.name),
        };
        self.parameters.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// The query with these words for its parameters, of a database that keeps what it asks for.
    pub fn listing(&self, connection: &Connection, given: &[String]) -> Result<Listing, ViewError> {
        self.check(connection)?;
        Ok(self.with(self.meaning(given, |kind, word| value(connection, kind, word))?))
    }

    /// The statement and the values of its parameters, which these words mean, of a database that
    /// keeps what it asks for.
    pub fn asked(
        &self,
        connection: &Connection,
        given: &[String],
    ) -> Result<(&'static str, Vec<Value>), ViewError> {
        self.check(connection)?;
        let values = self.meaning(given, |kind, word| value(connection, kind, word))?;
        Ok((self.sql.trim_end().trim_end_matches(';'), values))
    }

    /// Where what is asked for is the program only: the words that ask for all.
    pub fn wider(&self, given: &[String]) -> Option<String> {
        let whose = self.parameters.iter().position(|p| p.kind == Kind::Whose)?;
        if given.get(whose).is_some_and(|word| word != "program") {
            return None;
        }
        let before = self.parameters[..whose].iter().enumerate();
        let before = before
            .map(|(i, p)| given.get(i).map(String::as_str).or(p.default).unwrap_or_default())
            .map(|word| format!("{} ", visible(word)));
        Some(format!("@{} {}all", self.name, before.collect::<String>()))
    }

    /// The query with these values for its parameters.
    pub fn with(&self, values: Vec<Value>) -> Listing {
        Listing::new(self.sql.trim_end().trim_end_matches(';'), values).short_names()
    }

    /// What these words mean where no parameter asks the database.
    pub fn values(&self, given: &[String]) -> Result<Vec<Value>, ViewError> {
        self.meaning(given, |kind, word| Ok(plain(kind, word)))
    }

    fn meaning(
        &self,
        given: &[String],
        value: impl Fn(Kind, &str) -> Result<Option<Value>, ViewError>,
    ) -> Result<Vec<Value>, ViewError> {
        let wrong = |text: String| ViewError::Parameters {
            usage: format!("@{} {}", self.name, self.usage()),
            text,
        };
        if let Some(more) = given.get(self.parameters.len()) {
            return Err(wrong(format!("`{}` is one too many", visible(more))));
        }
        let mut values = Vec::new();
        for (i, parameter) in self.parameters.iter().enumerate() {
            let word = given.get(i).map(String::as_str).or(parameter.default);
            let word = word.ok_or_else(|| wrong(format!("<{}> is missing", parameter.name)))?;
            let value = value(parameter.kind, word)?;
            values.push(value.ok_or_else(|| {
                wrong(format!("expected {}, found `{}`", parameter.kind.name(), visible(word)))
            })?);
        }
        Ok(values)
    }

    /// Refuses a database whose detail leaves out what it reads.
    fn check(&self, connection: &Connection) -> Result<(), ViewError> {
        if super::rows::needs_none(connection, self.sql)? {
            return Ok(());
        }
        super::rows::ensure(connection, self.needs)?;
        let sql = "SELECT max(value) FILTER (key = 'detail'), count(*) FILTER (key = 'low_level') > 0 FROM meta";
        let (detail, exported): (Option<String>, bool) =
            connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
        let kept = detail.as_deref().and_then(Detail::parse);
        let query = self.name;
        if self.needs == Detail::Pairs && (exported || kept < Some(self.needs)) {
            return Err(ViewError::QuerySteps { query, why: why_no_steps(connection)? });
        }
        if kept < Some(self.needs) {
            let (detail, needs) = (detail.unwrap_or_default(), self.needs.name());
            return Err(ViewError::QueryNeeds { query, detail, needs });
        }
        Ok(())
    }
}

/// Sees to it that steps and accesses are there as rows, as `@memory_traffic` needs them.
///
/// # Errors
/// Where the database does not keep them, or the trace has none.
pub fn ensure_traffic(connection: &Connection) -> Result<(), ViewError> {
    find("memory_traffic")?.check(connection)?;
    super::needs::require(connection, super::needs::Need::Runs)
}

/// What a word means; None if it is none of this kind.
fn value(connection: &Connection, kind: Kind, word: &str) -> Result<Option<Value>, ViewError> {
    Ok(match kind {
        Kind::Function => Some(id(resolve_whole(connection, word)?.function_id)),
        other => plain(other, word),
    })
}

/// What a word means that no database is asked for; None if it is none of this kind.
pub fn plain(kind: Kind, word: &str) -> Option<Value> {
    match kind {
        Kind::Function => None,
        Kind::Count => word.parse().ok().map(|rows| Value::BigInt(limit(rows))),
        Kind::Whose => ["program", "all"].contains(&word).then(|| Value::Text(word.to_owned())),
        Kind::Name | Kind::Text => Some(Value::Text(word.to_owned())),
        Kind::Number => word.parse().ok().filter(|n: &f64| n.is_finite()).map(Value::Double),
        Kind::Step => word.parse().ok().filter(|step| *step > 0).map(Value::BigInt),
        Kind::Address => {
            let digits = word.strip_prefix("0x").or(word.strip_prefix("0X")).unwrap_or(word);
            u64::from_str_radix(digits, 16).ok().map(Value::UBigInt)
        }
    }
}
