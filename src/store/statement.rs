//! What a typed statement would do, told before it runs.
//!
//! A database that is opened for reading only is not safe from a query: DuckDB lets `COPY` write
//! the file that it reads, its log and its spill folder, whatever may be reached beside. So each
//! statement must be one that is known to read, and what is not known is refused. DuckDB's own
//! parser says what a statement is: a text that fits between `COPY (` and `) TO` is a query and
//! nothing else. What a query calls is what its plan says, for views and macros hide it.

use duckdb::types::Value;
use duckdb::{Connection, ffi, params_from_iter};
use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr;

#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    #[error("{0}")]
    Syntax(String),
    #[error("there is no query: give one, a file with -f, or a pipe")]
    Nothing,
    #[error(
        "{0} is not run by what only reads: --write allows changes of the database, --files of other files"
    )]
    Refused(String),
    #[error("the database is opened read-only: --write allows changes")]
    ReadOnly,
    #[error("`{0}` threads cannot be had: set 1 to {MOST_THREADS}")]
    Threads(String),
    #[error("DuckDB's parser cannot be had")]
    NoParser,
    #[error(transparent)]
    Duckdb(#[from] duckdb::Error),
}

/// DuckDB's parser, in a database of its own that is empty and reaches nothing.
pub struct Parser {
    database: ffi::duckdb_database,
    connection: ffi::duckdb_connection,
}

impl Parser {
    pub fn new() -> Result<Parser, StatementError> {
        let mut parser = Parser { database: ptr::null_mut(), connection: ptr::null_mut() };
        let mut config: ffi::duckdb_config = ptr::null_mut();
        // SAFETY: every pointer is to a variable that lives as long as the call, or to a text that
        // ends in a zero byte; what is made is destroyed once, here or by `drop`.
        let failed = unsafe {
            let mut failed = ffi::duckdb_create_config(&mut config) != ffi::DuckDBSuccess;
            for (name, value) in [(c"threads", c"1"), (c"enable_external_access", c"false")] {
                failed |= ffi::duckdb_set_config(config, name.as_ptr(), value.as_ptr())
                    != ffi::DuckDBSuccess;
            }
            let (nowhere, unsaid) = (ptr::null(), ptr::null_mut());
            failed = failed
                || ffi::duckdb_open_ext(nowhere, &mut parser.database, config, unsaid)
                    != ffi::DuckDBSuccess
                || ffi::duckdb_connect(parser.database, &mut parser.connection)
                    != ffi::DuckDBSuccess;
            ffi::duckdb_destroy_config(&mut config);
            failed
        };
        if failed { Err(StatementError::NoParser) } else { Ok(parser) }
    }

    /// Statements of a text; what the parser says if it is none. One that stands for several is
    /// counted as those.
    fn count(&self, text: &str) -> Result<u64, StatementError> {
        let text = CString::new(text)
            .map_err(|_| StatementError::Syntax("a query has no zero byte".to_owned()))?;
        let mut found: ffi::duckdb_extracted_statements = ptr::null_mut();
        // SAFETY: as above; the message belongs to what was found, and is copied before that goes.
        unsafe {
            let count = ffi::duckdb_extract_statements(self.connection, text.as_ptr(), &mut found);
            let said = ffi::duckdb_extract_statements_error(found);
            let error = (count == 0 && !said.is_null())
                .then(|| CStr::from_ptr(said).to_string_lossy().into_owned())
                .filter(|error| !error.is_empty());
            ffi::duckdb_destroy_extracted(&mut found);
            error.map_or(Ok(count), |error| Err(StatementError::Syntax(error)))
        }
    }

    /// The statements of a text, each on its own. The first that ends before a semicolon is one: a
    /// semicolon within a text or a comment ends nothing that can be parsed. What is run is what
    /// comes of this, piece by piece, so that a wrong cut could only be an error.
    pub fn pieces<'a>(&self, text: &'a str) -> Result<Vec<&'a str>, StatementError> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        loop {
            let mut ends = rest.match_indices(';').map(|(at, _)| at);
            let end = ends.find(|at| self.ends(rest, *at));
            let piece = &rest[..end.unwrap_or(rest.len())];
            if self.count(piece)? > 0 {
                pieces.push(piece);
            }
            match end {
                Some(end) => rest = &rest[end + 1..],
                None => break,
            }
        }
        if pieces.is_empty() { Err(StatementError::Nothing) } else { Ok(pieces) }
    }

    /// Whether a statement ends before the semicolon there. In a comment to the end of the line one
    /// may stand where a statement could end, but then the statements of both sides are more than
    /// those of the whole, or none.
    fn ends(&self, text: &str, at: usize) -> bool {
        let Ok(before) = self.count(&text[..at]) else { return false };
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        !line.contains("--")
            || matches!((self.count(&text[at + 1..]), self.count(text)),
                (Ok(after), Ok(all)) if before + after == all)
    }

    /// Whether a text is a query. It is a statement on its own, so that its parentheses and quotes
    /// are in pairs, and it stands where only a query can.
    fn is_query(&self, text: &str) -> bool {
        self.count(text).is_ok_and(|n| n > 0)
            && self.count(&format!("COPY (\n{text}\n) TO 'x'")).is_ok_and(|n| n > 0)
    }

    /// What one statement is.
    fn class<'a>(&self, text: &'a str) -> Class<'a> {
        let text = trimmed(text);
        let (word, rest) = first_word(text);
        let query = |text: &'a str| match self.is_query(text) {
            true => Class::Planned(text.into()),
            false => Class::Other,
        };
        match word.as_str() {
            "EXPLAIN" => query(explained(rest, |text| self.is_query(text))),
            "DESCRIBE" | "DESC" | "SHOW" | "SUMMARIZE" if is_name(rest) => Class::Harmless,
            "DESCRIBE" | "DESC" | "SHOW" | "SUMMARIZE" => query(rest),
            "SET" => self.setting(rest),
            "RESET" => match first_word(rest) {
                (word, name) if word == "VARIABLE" && is_name(name) => Class::Harmless,
                (_, "") if OWN_SETTINGS.contains(&rest.trim().to_lowercase().as_str()) => {
                    Class::Harmless
                }
                _ => Class::Other,
            },
            "PRAGMA" if is_asking(rest) => Class::Harmless,
            "CREATE" if is_made_of_rows(rest) => match first_word(object(rest)).0.as_str() {
                "TABLE" => Class::Planned(text.into()),
                _ => Class::Harmless,
            },
            "UPDATE" if first_word(rest).0 == "EXTENSIONS" => Class::Other,
            "INSERT" | "UPDATE" | "DELETE" | "MERGE" => Class::Planned(text.into()),
            // Of what is only read DuckDB refuses them; tables of the session may be changed.
            "DROP" | "ALTER" | "TRUNCATE" | "COMMENT" | "BEGIN" | "START" | "COMMIT" | "END"
            | "ROLLBACK" | "ABORT" | "USE" => Class::Harmless,
            "COPY" if is_to_standard_output(rest) => Class::Output,
            // Making its columns takes statements of their own, which EXPLAIN would run.
            "PIVOT" | "PIVOT_WIDER" if self.is_query(text) && !calls_by_name(rest) => {
                Class::Harmless
            }
            _ => query(text),
        }
    }

    /// `SET` of what may be set: what addfg's own queries set, to values that a machine has, and
    /// variables.
    fn setting<'a>(&self, rest: &'a str) -> Class<'a> {
        let (word, behind) = first_word(rest);
        if word == "VARIABLE" {
            let value = assigned(first_word(behind).1).map(|value| format!("SELECT {value}"));
            return match value {
                Some(value) if self.is_query(&value) => Class::Planned(value.into()),
                _ => Class::Other,
            };
        }
        let scoped = ["SESSION", "LOCAL", "GLOBAL"].contains(&word.as_str());
        let (name, behind) = if scoped { first_word(behind) } else { (word, behind) };
        let name = name.to_lowercase();
        let plain = |c: char| c.is_ascii_alphanumeric() || "._%' ".contains(c);
        match assigned(behind).map(str::trim).filter(|value| value.chars().all(plain)) {
            Some(value) if name == "threads" => {
                let threads = value.trim_matches('\'').parse::<u32>();
                if threads.is_ok_and(|n| (1..=MOST_THREADS).contains(&n)) {
                    Class::Harmless
                } else {
                    Class::Other
                }
            }
            Some(_) if OWN_SETTINGS.contains(&name.as_str()) => Class::Harmless,
            _ => Class::Other,
        }
    }

    /// Whether a statement only reads, so that it may be run as it is; gives what comes of it.
    pub fn check(&self, connection: &Connection, text: &str) -> Result<Gives, StatementError> {
        self.check_with(connection, text, &[])
    }

    /// The same of a statement with values for its `?`.
    pub fn check_with(
        &self,
        connection: &Connection,
        text: &str,
        values: &[Value],
    ) -> Result<Gives, StatementError> {
        match self.class(text) {
            Class::Harmless => Ok(Gives::Rows),
            Class::Output => Ok(Gives::Nothing),
            Class::Planned(planned) => {
                check_plan(connection, &planned, values).map(|()| Gives::Rows)
            }
            Class::Other => {
                let word = first_word(trimmed(text)).0;
                let named = if word.is_empty() { "the statement".to_owned() } else { word };
                Err(StatementError::Refused(named))
            }
        }
    }

    /// DuckDB's plan of a statement that [`check_with`](Self::check_with) takes; None: it has none.
    pub fn plan(
        &self,
        connection: &Connection,
        text: &str,
        values: &[Value],
    ) -> Option<serde_json::Value> {
        let Class::Planned(planned) = self.class(text) else { return None };
        serde_json::from_str(&plan(connection, &planned, values).ok()?).ok()
    }

    /// Whether a statement that may be run makes, fills or removes tables of its own connection.
    pub fn changes(&self, connection: &Connection, text: &str, values: &[Value]) -> bool {
        const WORDS: [&str; 3] = ["CREATE", "DROP", "ALTER"];
        // What else does so may stand behind WITH.
        const STEPS: [&str; 5] = ["delete", "insert", "update", "merge_into", "batch_insert"];
        if WORDS.contains(&first_word(trimmed(text)).0.as_str()) {
            return true;
        }
        let Class::Planned(planned) = self.class(text) else { return false };
        let plan = plan(connection, &planned, values).unwrap_or_default().to_lowercase();
        STEPS.iter().any(|step| plan.contains(&format!("\"name\": \"{step}")))
    }

    /// Whether a statement that may do all asks for no more threads than a machine has: DuckDB would begin
    /// them one by one, without end.
    pub fn affordable(&self, text: &str) -> Result<(), StatementError> {
        let (word, rest) = first_word(trimmed(text));
        if word != "SET" && word != "PRAGMA" {
            return Ok(());
        }
        let (scope, behind) = first_word(rest);
        let scoped = ["SESSION", "LOCAL", "GLOBAL"].contains(&scope.as_str());
        let (name, behind) = if scoped { first_word(behind) } else { (scope, behind) };
        if !["THREADS", "WORKER_THREADS", "EXTERNAL_THREADS"].contains(&name.as_str()) {
            return Ok(());
        }
        let value = assigned(behind).unwrap_or(behind).trim().trim_matches('\'').trim();
        match value.parse::<u32>() {
            Ok(1..=MOST_THREADS) => Ok(()),
            _ => Err(StatementError::Threads(value.to_owned())),
        }
    }

    /// Whether a statement that may write other files leaves the database alone: no text in it
    /// names the database, its log or its spill folder.
    pub fn spares(&self, database: &Path, text: &str) -> Result<(), StatementError> {
        let word = first_word(trimmed(text)).0;
        if self.is_query(text) && !calls_by_name(text) {
            return Ok(());
        }
        // Between quotes of any kind, and those of an escape.
        let named = text.split(['\'', '"', '$']).any(|part| is_of(database, Path::new(part)));
        if named {
            Err(StatementError::Refused(format!("{word} into the database")))
        } else {
            Ok(())
        }
    }
}

impl Drop for Parser {
    fn drop(&mut self) {
        // SAFETY: both are null or were made by `new`.
        unsafe {
            ffi::duckdb_disconnect(&mut self.connection);
            ffi::duckdb_close(&mut self.database);
        }
    }
}

/// What comes of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    Rows,
    /// It writes to standard output itself.
    Nothing,
}

/// What may be done with a statement.
enum Class<'a> {
    Harmless,
    Output,
    /// It reads if what this text calls does: its plan tells.
    Planned(std::borrow::Cow<'a, str>),
    Other,
}

/// Settings of addfg's own queries ([`super::open`]), which change how long a query takes.
const OWN_SETTINGS: [&str; 4] =
    ["threads", "memory_limit", "preserve_insertion_order", "asof_loop_join_threshold"];

/// More are no help, and a hundred thousand cannot be had.
const MOST_THREADS: u32 = 256;

/// What a plan must not have: functions that change the session beyond the query, which log into
/// files, among them, and what writes.
const CHANGING: [&str; 16] = [
    "enable_logging",
    "disable_logging",
    "truncate_duckdb_logs",
    "enable_profiling",
    "disable_profiling",
    "enable_peg_parser",
    "disable_peg_parser",
    "checkpoint",
    "force_checkpoint",
    "copy_to_file",
    "batch_copy_to_file",
    "copy_database",
    "export",
    "attach",
    "load",
    "set",
];

/// Whether a text could call one of those by its name, or by a name that it makes.
fn calls_by_name(text: &str) -> bool {
    let text = text.to_lowercase();
    let makes = ["query", "execute"];
    CHANGING[..9].iter().chain(&makes).any(|name| text.contains(name))
}

/// Pragmas that tell something.
const ASKING: [&str; 14] = [
    "version",
    "database_list",
    "database_size",
    "show",
    "show_tables",
    "show_tables_expanded",
    "show_databases",
    "collations",
    "functions",
    "platform",
    "user_agent",
    "extension_versions",
    "table_info",
    "storage_info",
];

/// Without the blanks and comments before it.
fn trimmed(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let after = match rest {
            line if line.starts_with("--") => line.find(['\n', '\r']).map(|end| &line[end..]),
            block if block.starts_with("/*") => behind_comment(block),
            _ => return rest.trim_end(),
        };
        rest = after.unwrap_or("").trim_start();
    }
}

/// What follows a comment, which may have others in it; None if it does not end.
fn behind_comment(text: &str) -> Option<&str> {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return text.get(at..);
        }
    }
    None
}

/// The first word in capitals, and what follows the blanks behind it.
fn first_word(text: &str) -> (String, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    (text[..end].to_ascii_uppercase(), text[end..].trim_start())
}

/// Whether a text is nothing but a name, with those of its schema and database.
fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "_.\" ".contains(c))
}

/// What an EXPLAIN explains: options of plain words between it and the query are left out.
fn explained(rest: &str, is_query: impl Fn(&str) -> bool) -> &str {
    if is_query(rest) {
        return rest;
    }
    if let Some((options, behind)) = rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
        let plain = |c: char| c.is_ascii_alphabetic() || "_, ".contains(c);
        return if options.chars().all(plain) { behind.trim_start() } else { rest };
    }
    match first_word(rest) {
        (word, behind) if ["ANALYZE", "ANALYSE", "VERBOSE"].contains(&word.as_str()) => behind,
        _ => rest,
    }
}

/// What is given by `= VALUE` or `TO VALUE`.
fn assigned(text: &str) -> Option<&str> {
    text.strip_prefix('=').or_else(|| match first_word(text) {
        (word, behind) if word == "TO" => Some(behind),
        _ => None,
    })
}

/// Whether a pragma tells something, and is given a plain name at most.
fn is_asking(rest: &str) -> bool {
    let (name, behind) = first_word(rest);
    let given = behind.strip_prefix('(').and_then(|b| b.trim_end().strip_suffix(')'));
    let plain = |c: char| c.is_alphanumeric() || "_.' ".contains(c);
    ASKING.contains(&name.to_lowercase().as_str())
        && (behind.is_empty() || given.is_some_and(|g| g.chars().all(plain)))
}

/// What a CREATE makes: the words from its kind on.
fn object(rest: &str) -> &str {
    let mut rest = rest;
    loop {
        match first_word(rest) {
            (word, behind)
                if ["OR", "REPLACE", "TEMP", "TEMPORARY", "RECURSIVE", "UNIQUE"]
                    .contains(&word.as_str()) =>
            {
                rest = behind;
            }
            _ => return rest,
        }
    }
}

/// Whether what is made lies in a database, and is no secret.
fn is_made_of_rows(rest: &str) -> bool {
    let kinds = ["TABLE", "VIEW", "MACRO", "FUNCTION", "TYPE", "SEQUENCE", "SCHEMA", "INDEX"];
    kinds.contains(&first_word(object(rest)).0.as_str())
}

/// Whether a COPY ends with `TO '/dev/stdout'` and options of plain words. It must have nothing in
/// which these could be part of a longer text.
fn is_to_standard_output(rest: &str) -> bool {
    if rest.contains(['\\', '$', '"']) || rest.contains("--") || rest.contains("/*") {
        return false;
    }
    let mut rest = rest.trim_end();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_, ".contains(c);
    if let Some((before, options)) = rest.strip_suffix(')').and_then(|r| r.rsplit_once('('))
        && options.chars().all(plain)
    {
        rest = before.trim_end();
    }
    let before = rest.strip_suffix("'/dev/stdout'").map(str::trim_end);
    before.is_some_and(|before| {
        let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        word.eq_ignore_ascii_case("to")
    })
}

/// Whether a path is the database, or what DuckDB keeps beside it.
fn is_of(database: &Path, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |a: &Path, b: &Path| match (a.metadata(), b.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    };
    let folder = |path: &Path| match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => ".".into(),
    };
    let name = database.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.ancestors().filter(|path| !path.as_os_str().is_empty()).any(|path| {
        let of_it = path.file_name().is_some_and(|other| {
            let other = other.to_string_lossy();
            let behind = other.strip_prefix(&*name);
            behind.is_some_and(|b| b.is_empty() || b.starts_with(".wal") || b == ".tmp")
        });
        same(path, database) || of_it && same(&folder(path), &folder(database))
    })
}

/// The plan of a statement, as JSON.
fn plan(connection: &Connection, text: &str, values: &[Value]) -> duckdb::Result<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN (FORMAT json) {text}"))?;
    statement.query_row(params_from_iter(values), |row| row.get(1))
}

/// Whether nothing in the plan of a statement does more than read. To plan is not to run.
fn check_plan(connection: &Connection, text: &str, values: &[Value]) -> Result<(), StatementError> {
    let plan = match plan(connection, text, values) {
        Ok(plan) => plan,
        // The same error in the words of the statement itself, which is bound and not run.
        Err(error) => {
            connection.prepare(text)?;
            let is_kept = error.to_string().contains("read-only");
            return Err(if is_kept { StatementError::ReadOnly } else { error.into() });
        }
    };
    // A depth that the reader of JSON refuses, or no plan: then only that no name stands in it.
    let named = match serde_json::from_str(&plan) {
        Ok(tree) => changing(&tree),
        Err(_) => CHANGING.iter().copied().find(|name| plan.to_lowercase().contains(name)),
    };
    named.map_or(Ok(()), |name| Err(StatementError::Refused(name.to_owned())))
}

/// The first step of a plan that does more than read.
fn changing(tree: &serde_json::Value) -> Option<&'static str> {
    match tree {
        serde_json::Value::Array(all) => all.iter().find_map(changing),
        serde_json::Value::Object(step) => {
            let name = step.get("name").and_then(|name| name.as_str()).unwrap_or_default();
            let name = name.trim().to_lowercase();
            let own = CHANGING.into_iter().find(|changing| *changing == name);
            own.or_else(|| step.get("children").and_then(changing))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_its_statements_end() {
        let parser = Parser::new().unwrap();
        for (text, pieces) in [
            ("SELECT 1", &["SELECT 1"][..]),
            (" ; SELECT ';' ; ;SELECT 2 -- ; no\n, 3;", &[" SELECT ';' ", "SELECT 2 -- ; no\n, 3"]),
            ("SELECT $$;$$; SELECT \"a;b\" FROM t", &["SELECT $$;$$", " SELECT \"a;b\" FROM t"]),
            ("SELECT 1 /* ; /* ; */ */ + 1", &["SELECT 1 /* ; /* ; */ */ + 1"]),
        ] {
            assert_eq!(parser.pieces(text).unwrap_or_default(), pieces, "{text}");
        }
        assert!(matches!(parser.pieces(" ;-- nothing\n;"), Err(StatementError::Nothing)));
        assert!(matches!(parser.pieces("SELEC 1"), Err(StatementError::Syntax(_))));
    }

    #[test]
    fn what_is_no_query_is_not_taken_for_one() {
        let parser = Parser::new().unwrap();
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (a INTEGER)").unwrap();
        let reads = |text: &str| parser.check(&connection, text).is_ok();
        for text in [
            "SELECT 1",
            "/* a */ -- b\n (FROM t)",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            "FROM t",
            "VALUES (1)",
            "TABLE t",
            "EXPLAIN ANALYZE FROM t",
            "EXPLAIN (FORMAT json) FROM t",
            "EXPLAIN (FROM t)",
            "DESCRIBE t",
            "DESCRIBE SELECT 1",
            "SUMMARIZE FROM t",
            "SHOW TABLES",
            "SET threads = 4",
            "SET SESSION memory_limit TO '1GB'",
            "SET VARIABLE a = (SELECT max(a) FROM t)",
            "RESET threads",
            "PRAGMA table_info('t')",
            "CREATE TEMP TABLE u AS FROM t",
            "PIVOT t ON a USING count(*)",
            "COPY (SELECT 1) TO '/dev/stdout' (FORMAT csv)",
            "SELECT 'enable_logging', 'COPY t TO ''x'''",
        ] {
            assert!(reads(text), "{text}: {:?}", parser.check(&connection, text));
        }
        for text in [
            "COPY t TO 'x'",
            "/* /* */ SELECT */ COPY t TO 'x'",
            "-- SELECT\rCOPY t TO 'x'",
            "COPY t TO 'x' -- TO '/dev/stdout'",
            "COPY t TO E'x TO \\'/dev/stdout'",
            "EXPLAIN ANALYZE COPY t TO 'x'",
            "EXPLAIN (ANALYZE) COPY t TO 'x'",
            "PREPARE p AS COPY t TO 'x'",
            "EXECUTE p",
            "FROM enable_logging()",
            "SELECT 1 FROM query('FROM enable_' || 'logging()')",
            "SET VARIABLE a = (SELECT 1 FROM enable_logging())",
            "SUMMARIZE FROM enable_logging()",
            "CREATE TEMP TABLE u AS FROM enable_logging()",
            "PIVOT query('FROM enable_logging()') ON Success",
            "CALL enable_logging()",
            "SET threads = 100000",
            "SET threads = 100 * 1000",
            "SET temp_directory = 'x'",
            "PRAGMA temp_directory = 'x'",
            "PRAGMA enable_profiling = 'json'",
            "PRAGMA import_database('x')",
            "CREATE SECRET s (TYPE http)",
            "CREATE OR REPLACE PERSISTENT SECRET s (TYPE http)",
            "UPDATE EXTENSIONS",
            "ATTACH 'x'",
            "DETACH x",
            "INSTALL httpfs",
            "LOAD 'x'",
            "EXPORT DATABASE 'x'",
            "IMPORT DATABASE 'x'",
            "COPY FROM DATABASE memory TO other",
            "CHECKPOINT",
            "VACUUM",
        ] {
            assert!(!reads(text), "{text}");
        }
    }

    /// All functions of this DuckDB that change the session by their names, not only those that were
    /// thought of.
    #[test]
    fn functions_that_change_the_session_are_refused() {
        let parser = Parser::new().unwrap();
        let connection = Connection::open_in_memory().unwrap();
        let sql = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'table'
                   AND regexp_matches(function_name, '^(enable|disable|set|reset|truncate|force|checkpoint|load|attach|install|write|export)')";
        let mut statement = connection.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let names: Vec<String> = names.map(Result::unwrap).collect();
        assert!(names.len() >= 9, "{names:?}");
        for name in names {
            assert!(CHANGING.contains(&name.as_str()), "{name}");
            for text in
                [format!("FROM {name}()"), format!("SELECT (SELECT count(*) FROM {name}())")]
            {
                let refused = parser.check(&connection, &text);
                assert!(matches!(refused, Err(StatementError::Refused(_))), "{text}: {refused:?}");
            }
        }
    }
}
