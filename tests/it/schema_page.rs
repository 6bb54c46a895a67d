//! docs/schema.md is made of the catalog of an empty database and of the statements of `schema/`.

use crate::common::*;
use addfg::internals::store::{SCHEMA, writer};
use duckdb::{AccessMode, Config, Connection};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// After a change of `schema/`, this writes the page anew.
const WRITE: &str = "ADDFG_WRITE_EMPTY=1 cargo test --release --test it schema";

/// The parts of the page, one for each file of `schema/`.
const LEVELS: [&str; SCHEMA.len()] = [
    "The database",
    "Low level",
    "Middle level",
    "High level",
    "High level, stubs merged and the largest calls",
    "Control flow and loops (of `dcfg` and `csi`, or found)",
    "Calls with times (of `xray`)",
    "Dependences of instances (of `wet`)",
    "Paths (of `csi`)",
    "Answers that take the whole run (`addfg prepare`)",
];

/// How tables join: table, its column, the table that the column leads to, that one's column.
const JOINS: [[&str; 4]; 23] = [
    ["thread", "process_id", "process", "process_id"],
    ["block_run", "block_id", "block_step", "block_id"],
    ["block_run", "block_id", "block_access", "block_id"],
    ["opcode_line", "instruction_id", "instruction", "instruction_id"],
    ["opcode_line", "thread_id", "thread", "thread_id"],
    ["data_access", "seq", "opcode_line", "seq"],
    ["instruction", "function_id", "function_symbol", "function_id"],
    ["instruction", "file_id", "source_file", "file_id"],
    ["inlined_instruction", "instruction_id", "instruction", "instruction_id"],
    ["inlined_instruction", "inlined_call_id", "inlined_call", "inlined_call_id"],
    ["function_symbol", "image_id", "image", "image_id"],
    ["function_symbol", "file_id", "source_file", "file_id"],
    ["system_call_access", "system_call_id", "system_call", "system_call_id"],
    ["system_call", "seq", "opcode_line", "seq"],
    ["communication", "read_seq", "opcode_line", "seq"],
    ["communication", "write_seq", "opcode_line", "seq"],
    ["function_call", "function_id", "function_symbol", "function_id"],
    ["function_call", "parent_call_id", "function_call", "call_id"],
    ["control_flow", "call_id", "function_call", "call_id"],
    ["dataflow", "reader_call_id", "function_call", "call_id"],
    ["function_dataflow", "reader_function_id", "function_symbol", "function_id"],
    ["flat_profile", "function_id", "function_symbol", "function_id"],
    ["instruction_edge", "reader_instruction_id", "instruction", "instruction_id"],
];

const HEAD: &str = "\
<!-- Made by tests/it/schema_page.rs from schema/*.sql; a change is made there. -->
# The database

This page is for users who write SQL. Common questions have names: `addfg sql DB --list` shows the queries, and
`addfg sql DB @hot_functions` runs one ([views.md](views.md#sql)). For all others, these are the tables and views.

Some tables hold ids only. Ask the view that has names:

| table | view |
|---|---|
| `function_profile` | `flat_profile` |
| `function_edge` | `function_dataflow` |
| `call_edge` | `call_graph` |
| `dataflow_row` | `dataflow` |
| `communication_row` | `communication` |
| `block_run`, `block_step`, `block_access` | `opcode_line`, `data_access` |
| others `..._row` | their names without it |

- A column `..._id` is the id of another table. Ids are dense from 1. NULL means none, or unknown.
- `seq` numbers the steps (executed instructions) of the whole run from 1; `..._seq` is such a number. A call has the
  steps `call_seq` to `return_seq`, including those of its callees.
- Addresses are numbers: `printf('0x%x', address)` shows one in hex, and `address = '0x4010'` compares.
- Bytes that no step wrote come from pseudo-functions: `kind = 'pseudo'` in `function_symbol`, names such as `<input>`.
- `--detail` decides which tables have rows. `summary`: functions, instructions, calls and dataflow by function.
  `instance`: single calls, the dataflow between them, dataflow by instruction. `pairs`: steps, accesses,
  communications. `full`: also communications inside a call. The other tables are empty. Without it a run of up to
  5 M steps has the rows of `pairs`, a longer one those of `summary`; `addfg rows` makes the others. Until then their
  views end a statement with an error, in any program that opens the file (DuckDB 1.3 or later).
- `FROM steps(1000, 1020)` and `FROM accesses(1000, 1020)` read only this part of the run. In `addfg sql`, and in DuckDB
  with addfg's extension, they do so for packed runs, too ([views.md](views.md#sql)).

## How they join
";

struct Column {
    name: String,
    kind: String,
    comment: String,
}

type Columns = BTreeMap<String, Vec<Column>>;

fn open(path: &Path) -> Connection {
    let config = Config::default().access_mode(AccessMode::ReadOnly).expect("a setting");
    Connection::open_with_flags(path, config).expect("opens")
}

fn texts(connection: &Connection, sql: &str, name: &str) -> Vec<[String; 3]> {
    let mut statement = connection.prepare(sql).expect(sql);
    let text =
        |r: &duckdb::Row, i: usize| r.get::<_, Option<String>>(i).map(Option::unwrap_or_default);
    let rows = statement.query_map([name], |r| Ok([text(r, 0)?, text(r, 1)?, text(r, 2)?]));
    rows.expect(sql).map(|r| r.expect(sql)).collect()
}

/// The columns of every table and view. To ask for one is as dear as to ask for all.
fn all_columns(connection: &Connection) -> Columns {
    let sql = "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() WHERE NOT internal
               ORDER BY table_name, column_index";
    let mut statement = connection.prepare(sql).expect(sql);
    let mut rows = statement.query([]).expect(sql);
    let mut all = Columns::new();
    while let Some(row) = rows.next().expect(sql) {
        let text = |i| row.get::<_, Option<String>>(i).expect(sql).unwrap_or_default();
        let column = Column { name: text(1), kind: text(2), comment: text(3) };
        all.entry(text(0)).or_default().push(column);
    }
    all
}

/// What the statement of a view takes its columns from: the names of tables in it.
fn sources(sql: &str) -> Vec<String> {
    let words = sql.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned);
    words.collect()
}

/// What columns of views say that no table has so.
const SAYS: [(&str, &str); 22] = [
    ("no", "Never has a value: to ask is the error"),
    ("seq", "Number of the step, from 1"),
    ("write_seq", "Step of the write, NULL: no step wrote the bytes"),
    ("read_seq", "Step of the read"),
    ("address", "Memory: address of the first byte; register space: byte offset"),
    ("value", "Value that was read or written, if the trace has values"),
    ("time", "Clock, NULL if the trace has none"),
    ("space", "memory or register"),
    ("function", "Name of the function"),
    ("writer", "Name of the function that wrote the bytes"),
    ("reader", "Name of the function that read them"),
    (
        "bytes_in",
        "Bytes that it read and did not write itself, each read counted; NULL where the trace has no data",
    ),
    (
        "bytes_out",
        "Bytes that it wrote and other functions or the kernel read, each read counted; NULL where the trace has no data",
    ),
    ("caller", "Name of the function that called, NULL for roots"),
    ("callee", "Name of the function that was called"),
    ("file", "Path of the source file"),
    ("path", "Path of the source file"),
    ("name", "The path without folders"),
    ("steps", "Steps of its instructions"),
    ("instructions", "Executed instructions of the line"),
    ("block", "Number of the block"),
    ("line_position", "Place of the line in the block"),
];

/// What a view's column says: its own comment, else that of the table that it comes from.
fn comment(all: &Columns, view: &str, column: &Column, sql: &str) -> String {
    if !column.comment.is_empty() || !sql.starts_with("CREATE VIEW") {
        return column.comment.clone();
    }
    let rows = format!("{view}_row");
    if sql.contains(&format!("* FROM {rows} ")) {
        return all[&rows]
            .iter()
            .find(|c| c.name == column.name)
            .map_or("", |c| &c.comment)
            .to_owned();
    }
    if let Some((_, says)) = SAYS.iter().find(|(name, _)| *name == column.name) {
        return (*says).to_owned();
    }
    let name = column.name.strip_suffix("_s").unwrap_or(&column.name);
    let same = |table: &String| {
        let same = |c: &&Column| c.name == name && !c.comment.is_empty();
        all.get(table)?.iter().find(same).map(|c| c.comment.clone())
    };
    sources(sql).iter().find_map(same).unwrap_or_default()
}

/// What a number counts, by the name of its column.
fn unit(table: &str, column: &Column) -> &'static str {
    let name = column.name.as_str();
    let number = ["INT", "DOUBLE"].iter().any(|part| column.kind.contains(part));
    let ends =
        |ends: &[&str]| ends.iter().any(|end| name == *end || name.ends_with(&format!("_{end}")));
    match name {
        _ if !number => "",
        _ if ends(&["id", "number", "ordinal", "position", "instance", "index", "no"]) => "",
        "count" | "executions" | "entries" | "iterations" | "calls" | "restores" => "times",
        "instructions" | "transfers" => "",
        _ if ends(&["seq"]) => "step number",
        _ if name == "steps" || name.starts_with("steps_") || name == "write_back" => "steps",
        _ if ends(&["bytes", "size", "bias"])
            || name.starts_with("bytes_")
            || name == "addresses" =>
        {
            "bytes"
        }
        _ if ends(&["address"]) || name == "sp" || name == "target" => "address",
        _ if table.ends_with("_timing") && ends(&["s"]) => "seconds",
        _ if table.ends_with("_timing") || table.ends_with("_time") && name != "depth" => "ticks",
        _ if ends(&["time"]) || name.starts_with("ticks") => "ticks",
        _ => "",
    }
}

/// Names that the statements of a file define, in order: kind and name.
fn defined(schema: &str) -> Vec<(&str, &str)> {
    schema
        .lines()
        .filter_map(|line| line.strip_prefix("CREATE "))
        .filter_map(|rest| {
            let (kind, rest) = rest.split_once(' ')?;
            Some((kind, rest.split([' ', '(']).next()?))
        })
        .collect()
}

/// Text in lines of 117 characters at most.
fn wrapped(text: &str) -> String {
    let (mut out, mut width) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        let fits = width == 0 || width + 1 + length <= 117;
        out.push_str(if width == 0 {
            ""
        } else if fits {
            " "
        } else {
            "\n"
        });
        out.push_str(word);
        width = if width > 0 && fits { width + 1 + length } else { length };
    }
    out
}

fn part(connection: &Connection, all: &Columns, level: &str, schema: &str, page: &mut String) {
    let about = schema.lines().map_while(|line| line.strip_prefix("-- "));
    writeln!(page, "\n## {level}\n{}", wrapped(&about.collect::<Vec<_>>().join(" "))).unwrap();
    for (kind, name) in defined(schema) {
        // The rows of a view that adds nothing to them.
        if kind == "MACRO" || schema.contains(&format!("SELECT * FROM {name} ")) {
            continue;
        }
        let sql = "SELECT comment, sql, '' FROM duckdb_tables() WHERE table_name = $1
                   UNION ALL SELECT comment, sql, '' FROM duckdb_views() WHERE view_name = $1";
        let [about, sql, _] = texts(connection, sql, name).remove(0);
        let about = wrapped(&format!("{}: {about}.", kind.to_lowercase()));
        writeln!(page, "\n### {name}\n{about}\n").unwrap();
        writeln!(page, "| column | type | unit | |\n|---|---|---|---|").unwrap();
        for column in &all[name] {
            let says = comment(all, name, column, &sql).replace('|', "\\|").replace('<', "&lt;");
            assert!(!says.is_empty(), "{name}.{} says nothing", column.name);
            let (unit, kind) = (unit(name, column), &column.kind);
            writeln!(page, "| `{}` | {kind} | {unit} | {says} |", column.name).unwrap();
        }
    }
}

fn page(connection: &Connection) -> String {
    let all = all_columns(connection);
    let mut page = HEAD.to_owned();
    page.push_str("\n```mermaid\nflowchart LR\n");
    for [from, column, to, key] in JOINS {
        for (table, column) in [(from, column), (to, key)] {
            let there = all[table].iter().any(|c| c.name == column);
            assert!(there, "there is no {table}.{column}");
        }
        let label = if column == key { column.to_owned() } else { format!("{column} = {key}") };
        writeln!(page, "    {from} -- \"{label}\" --> {to}").unwrap();
    }
    page.push_str("```\n");
    for (level, schema) in LEVELS.iter().zip(SCHEMA) {
        part(connection, &all, level, schema, &mut page);
    }
    page
}

#[test]
fn the_page_of_the_schema_is_current() {
    let scratch = Scratch::new("schema-page");
    let made = scratch.path("made.duckdb");
    writer::make_empty(&made).expect("an empty database");
    let (page, kept) = (page(&open(&made)), repository("docs/schema.md"));
    if std::env::var_os("ADDFG_WRITE_EMPTY").is_some() {
        std::fs::write(kept, page).expect("writes");
        return;
    }
    let told = "docs/schema.md is of another schema";
    assert!(std::fs::read_to_string(kept).unwrap_or_default() == page, "{told}: {WRITE}");
    assert!(page.lines().filter(|line| line.starts_with("### ")).count() > 70);
}
