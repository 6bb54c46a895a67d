use super::database::Database;
use super::say::say;
use super::{output, prompt};
use crate::files;
use crate::lake::{self, Labels, Lake, is_lake, questions};
use crate::render::rows::{RowFormat, RowWriter};
use crate::scan::{self, Beside};
use crate::store::SCHEMA;
use crate::store::catalog::own_macros;
use crate::store::guard;
use crate::store::open::{Mode, Opening, Reach, Trust, open_as};
use crate::store::statement::{Gives, Parser};
use crate::text::{nearest, visible};
use crate::views::library;
use crate::views::listing::Listing;
use crate::views::rows;
use crate::views::start_up::StartUp;
use duckdb::Connection;
use duckdb::types::Value;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs ad-hoc SQL (DuckDB's) on a database, read-only unless --write
///
/// Without --write and --files it changes nothing: not the database, and no other file. Queries that
/// are asked most often have names: `--list` shows them, `@NAME` runs one, with its parameters behind
/// it. `@tables` lists the tables, `@columns TABLE` says what its columns mean, and what NULL means;
/// docs/schema.md has them all. `steps(1, 99)`, `accesses(1, 99)`, `communications('F', 'G')` and `calls_of('F')`
/// read runs of any length. Without a query, at a terminal, it asks at a prompt. Of a lake that `addfg
/// collect` made it asks questions across runs: docs/reach.md.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// The query, or @NAME of one of --list [default: from -f, else at a prompt, else from standard input]
    query: Option<String>,
    /// Parameters of the query @NAME, as --list shows them
    parameters: Vec<String>,
    /// List the queries that have a name: by theme, with parameters and what they answer
    #[arg(long, conflicts_with_all = ["query", "parameters", "file", "write", "files"])]
    list: bool,
    /// File with the query
    #[arg(short, long, conflicts_with = "query")]
    file: Option<PathBuf>,
    /// Allow changes to the database, whose tables are then as stored: `addfg rows` makes rows of a packed run
    #[arg(long)]
    write: bool,
    /// Let the query read and write other files (COPY, ATTACH, read_csv, ...)
    #[arg(long)]
    files: bool,
    /// Maximum rows of a query @NAME; 0: all
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[arg(long, default_value = "table")]
    format: RowFormat,
}

impl Args {
    /// Whether it asks at a prompt: without a query, at a terminal.
    pub fn is_prompt(&self) -> bool {
        let given = self.query.is_some() || self.file.is_some() || self.list;
        !given && std::io::stdin().is_terminal()
    }
}

impl Args {
    /// `'@NAME PARAMETER ...'` in one argument is what `@NAME PARAMETER ...` is.
    fn split_name(&mut self) {
        let Some(query) = self.query.as_deref().filter(|query| query.starts_with('@')) else {
            return;
        };
        let mut words = query.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter();
        self.query = words.next();
        drop(self.parameters.splice(..0, words));
    }
}

pub fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    if args.list {
        return list(&args);
    }
    args.split_name();
    let named = args.query.as_deref().is_some_and(|query| query.starts_with('@'));
    if let Some(word) = args.parameters.first().filter(|_| !named) {
        let words = args.query.iter().chain(&args.parameters).map(String::as_str);
        let meant = meant(&args.database.db, &words.collect::<Vec<_>>().join(" "));
        let meant = meant.map_or(String::new(), |meant| format!("; {meant}"));
        anyhow::bail!("`{}`: only a query @NAME has parameters{meant}", visible(word));
    }
    anyhow::ensure!(
        !named || !args.write && !args.files,
        "a query of the library reads only the database: leave out --write and --files"
    );
    anyhow::ensure!(
        named || args.limit.is_none(),
        "--limit is for a query @NAME; in others write LIMIT"
    );
    if args.is_prompt() {
        let guard = guard(&args, prompt::history_folder().as_deref());
        let (connection, _beside) = connect(&args, guard.as_deref())?;
        let typed = Typed::new(&args)?;
        prompt::run(&connection, |text| match text.strip_prefix('@') {
            Some("") => list(&args).map(drop),
            Some(named) => {
                let mut words = named.split_whitespace().map(str::to_owned);
                let name = words.next().unwrap_or_default();
                let parameters: Vec<String> = words.collect();
                match is_lake(&args.database.db) {
                    true => question(&args, &name, &parameters),
                    false => library_query(&connection, &name, parameters, args.format),
                }
            }
            None => typed.run(&connection, text, args.format),
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = args.query.as_deref().and_then(|query| query.strip_prefix('@')) {
        let is_lake = is_lake(&args.database.db);
        let query = if is_lake { questions::find(name)? } else { library::find(name)? };
        let mut parameters = args.parameters.clone();
        if let Some(limit) = args.limit {
            let place = query.parameters.iter().position(|p| p.name == "rows");
            anyhow::ensure!(
                place == Some(parameters.len()),
                "@{name}: --limit stands for [rows=20]"
            );
            parameters.push(limit.to_string());
        }
        if is_lake {
            question(&args, name, &parameters)?;
            return Ok(ExitCode::SUCCESS);
        }
        let db = args.database.open_silently()?;
        if args.database.trust() == Trust::Schema {
            own_macros(&db)?;
        }
        let _beside = scan::functions(&db)?;
        library_query(&db, name, parameters, args.format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let sql = text(&args)?;
    if let Some(meant) = meant(&args.database.db, sql.trim().trim_end_matches(';')) {
        anyhow::bail!("`{}` is not SQL: {meant}", visible(sql.trim()));
    }
    let guard = guard(&args, None);
    let (connection, _beside) = match is_lake(&args.database.db) && !args.write && !args.files {
        true => (Lake::open(&args.database.db, &Labels::new())?.database(&sql)?, None),
        false => connect(&args, guard.as_deref())?,
    };
    Typed::new(&args)?
        .run(&connection, &sql, args.format)
        .map_err(|e| no_table(&args.database.db, e))?;
    Ok(ExitCode::SUCCESS)
}

/// An error of SQL; if it lacks a table that is the name of a query, says so.
fn no_table(db: &Path, error: anyhow::Error) -> anyhow::Error {
    let text = error.to_string();
    let lacks = || {
        let (_, behind) = text.split_once(" with name ")?;
        let name = behind.split_once(" does not exist")?.0.to_lowercase();
        let queries = if is_lake(db) { questions::all() } else { library::all() };
        queries.into_iter().find(|query| query.name == name)
    };
    match lacks() {
        Some(query) => anyhow::anyhow!(
            "{} is a query, no table: `addfg sql {} @{0} {}`",
            query.name,
            db.display(),
            query.usage()
        ),
        None => error,
    }
}

/// Has the kernel forbid this process all writing, where only reading was asked for and the kernel
/// can; gives the folder that queries spill into then, which had to be made before.
fn guard(args: &Args, history: Option<&Path>) -> Option<PathBuf> {
    if args.write || args.files {
        return None;
    }
    let db = &args.database.db;
    let spill = match is_lake(db) {
        true => lake::spill(db),
        false => {
            let mut name = db.clone().into_os_string();
            name.push(format!(".{}.tmp", files::process_name()));
            name.into()
        }
    };
    // In a folder that cannot be written nothing is spilled, and SQLite's is a temporary one.
    let spill = match files::make_private(&spill) {
        Ok(()) => Some(spill),
        Err(_) => None,
    };
    let temporary = files::private().ok().and_then(|name| name.parent().map(Path::to_owned));
    if let Some(folder) = &temporary {
        let _ = tempfile::env::override_temp_dir(folder);
    }
    let folders = [spill.as_deref(), temporary.as_deref(), history];
    guard::write_only_in(&folders.into_iter().flatten().collect::<Vec<_>>());
    spill
}

/// Runs what a person types.
struct Typed<'a> {
    parser: Parser,
    args: &'a Args,
}

impl Typed<'_> {
    fn new(args: &Args) -> anyhow::Result<Typed<'_>> {
        Ok(Typed { parser: Parser::new()?, args })
    }

    /// Runs the statements of a text one after the other, each only if it may be; shows what the
    /// last one gives.
    fn run(&self, connection: &Connection, text: &str, format: RowFormat) -> anyhow::Result<()> {
        let pieces = self.parser.pieces(text)?;
        if is_lake(&self.args.database.db) {
            return self.run_pieces(connection, (text, &pieces), format);
        }
        // A change is one of the file's own tables, not of rows that go with the connection.
        if !self.args.write {
            rows::ensure_named(connection, text)?;
        }
        rows::typed(connection, || self.run_pieces(connection, (text, &pieces), format))
    }

    fn run_pieces(
        &self,
        connection: &Connection,
        (text, pieces): (&str, &[&str]),
        format: RowFormat,
    ) -> anyhow::Result<()> {
        let parser = &self.parser;
        pieces.iter().try_for_each(|piece| parser.affordable(piece))?;
        if self.args.write {
            return rows(connection, text, format);
        }
        for (i, piece) in pieces.iter().enumerate() {
            let gives = match self.args.files {
                true => parser.spares(&self.args.database.db, piece).map(|()| Gives::Rows)?,
                false => parser.check(connection, piece)?,
            };
            let shows = i + 1 == pieces.len() && gives == Gives::Rows;
            let plan = parser.plan(connection, piece, &[]);
            scan::within(connection, plan.as_ref(), || match shows {
                true => rows(connection, piece, format),
                false => Ok(connection.execute_batch(piece)?),
            })?;
        }
        Ok(())
    }
}

/// Asks a question of a lake; without rows, says what that means.
fn question(args: &Args, name: &str, parameters: &[String]) -> anyhow::Result<()> {
    let lake = Lake::open(&args.database.db, &Labels::new())?;
    let question = questions::find(name)?;
    let (connection, listing) = questions::ask(&lake, &question, parameters)?;
    let mut out = std::io::BufWriter::new(output::stdout());
    let rows = listing.write(&connection, args.format, &mut out)?;
    if rows == 0 {
        say!("addfg: no rows: {}", question.none);
    }
    let place = question.parameters.iter().position(|p| p.name == "rows");
    let limit = place.and_then(|i| {
        parameters.get(i).map(String::as_str).or(question.parameters[i].default)?.parse().ok()
    });
    if limit.is_some_and(|limit| limit > 0 && rows >= limit) {
        say!("addfg: the list is cut: rows=0 lists all");
    }
    Ok(())
}

/// What words that are no SQL were meant to be: a query that has a name, with its parameters, or a table.
fn meant(db: &Path, text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let first = words.next()?;
    if !first.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let queries = if is_lake(db) { questions::all() } else { library::all() };
    let name = first.to_lowercase();
    let query = queries.iter().find(|query| query.name == name);
    let rest: Vec<&str> = words.collect();
    if query.is_some_and(|query| rest.len() <= query.parameters.len()) {
        let rest: String = rest.iter().map(|word| format!(" {}", visible(word))).collect();
        let db = db.display();
        return Some(format!("`addfg sql {db} @{name}{rest}` asks the query of this name"));
    }
    if !rest.is_empty() {
        return None;
    }
    if tables().any(|table| table == name) {
        let db = db.display();
        return Some(format!("`addfg sql {db} 'FROM {name}'` lists the rows of this table"));
    }
    let known: Vec<&str> = queries.iter().map(|query| query.name).chain(tables()).collect();
    let almost = nearest(&name, &known)?;
    let is_query = queries.iter().any(|query| query.name == almost);
    let (before, kind) = if is_query { ("@", "query") } else { ("", "table") };
    Some(format!("there is a {kind} {before}{almost}"))
}

/// Tables and views that every database has.
fn tables() -> impl Iterator<Item = &'static str> {
    let makes = SCHEMA.iter().flat_map(|text| text.lines());
    makes.filter_map(|line| {
        let makes = ["CREATE TABLE ", "CREATE VIEW "];
        let named = makes.iter().find_map(|make| line.strip_prefix(make));
        named?.split([' ', '(']).next()
    })
}

/// The query that is given, or stands in a file or on standard input.
fn text(args: &Args) -> anyhow::Result<String> {
    let sql = match (&args.query, &args.file) {
        (Some(query), _) => query.clone(),
        (None, Some(file)) => {
            std::fs::read_to_string(file).map_err(|e| anyhow::anyhow!("{}: {e}", file.display()))?
        }
        (None, None) => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    let blank = |c: char| c == ';' || c.is_whitespace();
    anyhow::ensure!(
        !sql.chars().all(blank),
        "there is no query: give one, a file with -f, or a pipe"
    );
    Ok(sql)
}

fn connect(args: &Args, spill: Option<&Path>) -> anyhow::Result<(Connection, Option<Beside>)> {
    if is_lake(&args.database.db) {
        anyhow::ensure!(
            !args.write && !args.files,
            "a lake is only read: leave out --write and --files"
        );
        let tables = lake::collected().into_iter().chain(lake::views());
        let names: Vec<&str> = tables.map(|t| t.name).collect();
        let lake = Lake::open(&args.database.db, &Labels::new())?;
        return Ok((lake.database(&names.join(" "))?, None));
    }
    let opening = Opening {
        mode: if args.write { Mode::Write } else { Mode::Read },
        trust: args.database.trust(),
        reach: if args.files { Reach::Everything } else { Reach::Output },
        spill,
    };
    let connection = open_as(&args.database.db, opening)?;
    if opening.trust == Trust::Schema {
        own_macros(&connection)?;
    }
    let beside = scan::functions(&connection)?;
    Ok((connection, Some(beside)))
}

fn rows(connection: &Connection, sql: &str, format: RowFormat) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(output::stdout());
    Listing::new(sql, []).write(connection, format, &mut out)?;
    Ok(())
}

/// Runs a query of the library; without rows, says what that means.
fn library_query(
    connection: &Connection,
    name: &str,
    parameters: Vec<String>,
    format: RowFormat,
) -> anyhow::Result<()> {
    let query = library::find(name)?;
    let listing = query.listing(connection, &parameters)?;
    let mut out = std::io::BufWriter::new(output::stdout());
    if listing.write(connection, format, &mut out)? == 0 {
        say!("addfg: no rows: {}", query.none);
    }
    if let Some(how) = query.wider(&parameters) {
        StartUp::read(connection)?
            .left_out(&how)
            .into_iter()
            .for_each(|text| say!("addfg: {text}"));
    }
    Ok(())
}

/// The library, that of lakes for a lake: a line a query.
fn list(args: &Args) -> anyhow::Result<ExitCode> {
    let mut out = std::io::BufWriter::new(output::stdout());
    let columns = ["theme", "query", "parameters", "detail", "answers"];
    let mut rows = RowWriter::new(&columns, args.format, &mut out)?;
    let all = if is_lake(&args.database.db) { questions::all() } else { library::all() };
    for query in all {
        let name = format!("@{}", query.name);
        let cells = [query.theme, &name, &query.usage(), query.needs.name(), query.about];
        rows.row(&cells.map(|cell| Value::Text(cell.to_owned())))?;
    }
    rows.finish()?;
    Ok(ExitCode::SUCCESS)
}
