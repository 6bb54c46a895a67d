//! SQL at a prompt, with history and completion.

use super::output;
use super::say::say;
use crate::views::library;
use duckdb::Connection;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper};
use std::io::Write;
use std::path::PathBuf;

const HELP: &str = "SQL ends with ; and may have several lines. @NAME runs a query of the library (.list), with its parameters behind it.
.tables   tables and views       .columns TABLE   columns of one, with what they mean
.list     queries with a name    .quit            ends (Ctrl-D, too)";

const KEYWORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "LIMIT",
    "JOIN",
    "USING",
    "LEFT JOIN",
    "count(*)",
    "sum(",
    "DESC",
    "DISTINCT",
    "IS NULL",
    "DESCRIBE",
];

/// What words are completed to.
struct Words(Vec<String>);

impl Completer for Words {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let part = |c: char| c.is_alphanumeric() || "_@.".contains(c);
        let begin = line[..at].rfind(|c| !part(c)).map_or(0, |i| i + 1);
        let word = line[begin..at].to_lowercase();
        let fits = |w: &&String| !word.is_empty() && w.to_lowercase().starts_with(&word);
        Ok((begin, self.0.iter().filter(fits).cloned().collect()))
    }
}

impl Validator for Words {
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let text = context.input().trim();
        let plain = text.is_empty() || matches!(text, "quit" | "exit" | "help");
        let whole = plain || text.starts_with(['@', '.']) || text.ends_with(';');
        Ok(if whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Helper for Words {}

/// Tables, views, macros, columns, queries with a name, some of SQL.
fn words(connection: &Connection) -> duckdb::Result<Words> {
    let sql = "SELECT DISTINCT unnest([table_name, column_name]) AS word FROM duckdb_columns() WHERE NOT internal ORDER BY word";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |r| r.get(0))?.collect::<duckdb::Result<Vec<String>>>()?;
    let queries = library::all().into_iter().map(|query| format!("@{}", query.name));
    let others = [".tables", ".columns", ".list", ".help", ".quit", "steps(", "accesses("];
    let fixed = others.iter().chain(KEYWORDS).map(|word| (*word).to_owned());
    Ok(Words(names.into_iter().chain(queries).chain(fixed).collect()))
}

/// The folder that keeps what was typed; it is made where there is none.
pub fn history_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|h| h.join(".local/state")))?;
    let folder = state.join("addfg");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder)
}

/// Asks until the end. `answer` writes what a query gives, `@NAME ...` included; an error is said, and
/// the next line is asked for.
pub fn run(
    connection: &Connection,
    mut answer: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut editor: Editor<Words, FileHistory> = Editor::new()?;
    editor.set_helper(Some(words(connection)?));
    let history = history_folder().map(|folder| folder.join("sql_history"));
    if let Some(file) = &history {
        let _ = editor.load_history(file);
    }
    let mut out = output::stdout();
    writeln!(out, "SQL (DuckDB's) ends with ;   .help helps   Tab completes   Ctrl-D ends")?;
    loop {
        let line = match editor.readline("addfg> ") {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        };
        let text = line.trim().trim_end_matches(';').trim();
        if text.is_empty() {
            continue;
        }
        editor.add_history_entry(line.trim())?;
        let mut words = text.split_whitespace();
        let ran = match (words.next().unwrap_or_default(), words.next()) {
            (".quit" | ".exit" | "quit" | "exit", None) => break,
            (".help" | "help", None) => writeln!(out, "{HELP}").map_err(Into::into),
            (".list", None) => answer("@"),
            (".tables", None) => answer("@tables"),
            (".columns", Some(table)) => answer(&format!("@columns {table}")),
            (word, _) if word.starts_with('.') => {
                Err(anyhow::anyhow!("`{word}` is not a command: .help lists them"))
            }
            _ => answer(text),
        };
        if let Err(error) = ran {
            say!("addfg: {}", crate::store::open::explained(error.as_ref()));
        }
    }
    if let Some(file) = &history {
        let _ = editor.save_history(file);
    }
    Ok(())
}
