//! Databases of today's schema that a stranger changed: views and macros that reach for files, generated columns,
//! defaults, rows that say anything. No command ends by a signal or a panic, goes on for ever, or gives the
//! contents of another file; a lake that was made of them is read, too.

use super::mutate::edge;
use super::targets::Corpus;
use crate::common::program::Random;
use crate::common::*;
use duckdb::Connection;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SECRET: &str = "the-contents-of-another-file";

/// Seeds.
pub fn corpus() -> Corpus {
    (0..32_u64).map(|seed| (format!("seed {seed}"), seed.to_le_bytes().to_vec())).collect()
}

/// Commands with `$DB` for the database, `$O` for an output, `$L` for a lake.
const COMMANDS: [&str; 24] = [
    "prepare $DB",
    "slice $DB --at output --depth 4",
    "slice $DB --at output --group",
    "paths $DB",
    "paths $DB main",
    "collect $DB -o $L",
    "collect $DB -o $L --label size=1",
    "sql $L @growth",
    "sql $L 'FROM run'",
    "trend $L --label size",
    "info $DB",
    "calls $DB",
    "calls $DB --tree",
    "flows $DB",
    "graph $DB -o $O.svg",
    "graph $DB --format json",
    "report $DB -o $O.html",
    "export $DB --to json -o $O.json",
    "plan $DB",
    "cut $DB filter",
    "loops $DB",
    "memory $DB",
    "objects $DB",
    "critical $DB",
];

/// Names of functions that addfg's queries call.
const FUNCTIONS: [&str; 16] = [
    "count",
    "sum",
    "coalesce",
    "min",
    "max",
    "hash",
    "lower",
    "concat",
    "list",
    "unnest",
    "array_length",
    "row_number",
    "string_agg",
    "regexp_matches",
    "format",
    "current_database",
];

fn pick<'a>(from: &'a [String], random: &mut Random) -> &'a str {
    &from[random.below(from.len() as u64) as usize]
}

fn strings(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).expect(sql);
    let rows = statement.query_map([], |row| row.get(0)).expect(sql);
    rows.collect::<Result<_, _>>().expect(sql)
}

/// A text that means something somewhere.
fn text(random: &mut Random) -> &'static str {
    let texts = [
        "",
        "../../../etc/passwd",
        "</script><script>x()</script>",
        "\u{1b}[2J",
        "a'b\"c",
        "%s%n",
        "1e999",
        "9",
        "99999999999999999999",
        "NaN",
        "full",
        "pairs",
        "x86_64",
    ];
    texts[random.below(texts.len() as u64) as usize]
}

/// A change of a database; the folder of the secret is `$F`.
fn change(connection: &Connection, random: &mut Random) -> String {
    let views =
        strings(connection, "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL");
    let tables = strings(connection, "SELECT table_name FROM duckdb_tables() ORDER BY ALL");
    let table = pick(&tables, random).to_owned();
    let columns = strings(
        connection,
        &format!(
            "SELECT column_name FROM duckdb_columns() WHERE table_name = '{table}' ORDER BY column_index"
        ),
    );
    let column = pick(&columns, random).to_owned();
    let function = FUNCTIONS[random.below(FUNCTIONS.len() as u64) as usize];
    let read = [
        "(SELECT content FROM read_text('$F/secret'))",
        "(SELECT * FROM read_csv('$F/secret', header = false))",
    ][random.below(2) as usize];
    match random.below(12) {
        0 if !views.is_empty() => {
            let view = pick(&views, random);
            format!("DROP VIEW {view} CASCADE; CREATE VIEW {view} AS SELECT {read} AS x")
        }
        1 => format!(
            "ALTER TABLE {table} RENAME TO other; CREATE VIEW {table} AS SELECT * REPLACE ({read} AS {column}) FROM other"
        ),
        2 => format!("CREATE MACRO {function}(a) AS {read}"),
        3 => format!("CREATE MACRO {function}(a, b) AS {read}"),
        4 => format!(
            "CREATE MACRO {function}() AS TABLE FROM enable_logging(storage = 'file', storage_path = '$F/log')"
        ),
        5 => format!("ALTER TABLE {table} ADD COLUMN more VARCHAR DEFAULT (getenv('HOME'))"),
        6 => format!(
            "CREATE SEQUENCE s; ALTER TABLE {table} ALTER {column} SET DEFAULT nextval('s')"
        ),
        7 => format!(
            "CREATE TABLE other AS FROM {table}; DROP TABLE {table} CASCADE; CREATE TABLE {table} (a INTEGER, {column} VARCHAR GENERATED ALWAYS AS (a || 'x'))"
        ),
        8 => format!("DELETE FROM {table} WHERE rowid % 3 = {}", random.below(3)),
        9 => format!(
            "UPDATE meta SET value = '{}' WHERE rowid % 4 = {}",
            text(random).replace('\'', "''"),
            random.below(4)
        ),
        10 => format!(
            "UPDATE {table} SET {column} = TRY_CAST('{}' AS VARCHAR) WHERE rowid % 5 = {}",
            text(random).replace('\'', "''"),
            random.below(5)
        ),
        _ => {
            let value = edge(random) as i64;
            let value = if random.chance(50) { value } else { value % 1000 };
            format!("UPDATE {table} SET {column} = {value} WHERE rowid % 7 = {}", random.below(7))
        }
    }
}

/// Runs a command; it must end by itself, in time.
fn runs(command: &str, folder: &Path) {
    let words: Vec<String> =
        command.split_whitespace().map(|word| word.replace('\'', "").replace('~', " ")).collect();
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let file = |path| Stdio::from(std::fs::File::create(path).expect("a file"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_addfg"))
        .args(&words)
        .args(
            ["--trust"]
                .into_iter()
                .filter(|_| !command.contains("/lake ") && !command.ends_with("/lake")),
        )
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(file(&out))
        .stderr(file(&err))
        .spawn()
        .expect("addfg runs");
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("waits") {
            break status;
        }
        if began.elapsed() > Duration::from_secs(300) {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{command}: it does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let said = std::fs::read(&err).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    assert!(status.code().is_some_and(|code| code <= 2), "{command}: {status}: {said}");
    assert!(!said.contains("panicked") && !said.contains("defect"), "{command}: {said}");
    let printed = std::fs::read(&out).unwrap_or_default();
    assert!(!said.contains(SECRET), "{command}: it says the secret");
    assert!(
        memchr::memmem::find(&printed, SECRET.as_bytes()).is_none(),
        "{command}: it prints the secret"
    );
}

/// A database, changed, and some commands on it.
pub fn run(_: &str, input: &[u8]) {
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut random = Random::new(hash);
    let scratch = Scratch::new("strangers");
    scratch.write("secret", SECRET);
    let folder = utf8(&scratch.0).to_owned();
    let detail = ["pairs", "rows", "instance", "summary"][random.below(4) as usize];
    let db = scratch.copy(&example("fir", detail), "fir.duckdb");
    {
        let connection = Connection::open(&db).expect("opens");
        for _ in 0..=random.below(3) {
            let sql = change(&connection, &mut random).replace("$F", &folder);
            let _ = connection.execute_batch(&sql);
        }
        let _ = connection.close();
    }
    for _ in 0..4 {
        let command = COMMANDS[random.below(COMMANDS.len() as u64) as usize];
        let command = command.replace("'FROM run'", "FROM~run");
        let command = command.replace("$DB", utf8(&db)).replace("$L", &format!("{folder}/lake"));
        runs(&command.replace("$O", &format!("{folder}/out")), &scratch.0);
    }
    assert!(!scratch.path("log").exists(), "a log was written");
    for name in ["out.html", "out.svg", "out.json"] {
        let bytes = std::fs::read(scratch.path(name)).unwrap_or_default();
        assert!(memchr::memmem::find(&bytes, SECRET.as_bytes()).is_none(), "{name} has the secret");
    }
}
