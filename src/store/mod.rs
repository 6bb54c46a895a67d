//! The database: schema, columnar writers, and what makes it complete or refused.

pub mod catalog;
pub mod chunk;
mod frame;
pub mod guard;
mod ids;
mod numbers;
pub mod open;
pub mod pieces;
pub mod processes;
pub mod row;
pub mod run_code;
mod run_events;
pub mod run_state;
pub mod source;
pub mod sqlite;
pub mod statement;
pub mod table;
pub mod tables;
pub mod writer;

/// Version of the tables; a database with another one is refused.
pub const SCHEMA_VERSION: u32 = 19;

/// Makes what `queries/report/instance_data.sql` reads of call instances, for those of TEMP TABLE
/// `near`: in statements of their own, because joins that run at once share the memory.
pub const NEAR_FLOWS: &str = concat!(
    "CREATE OR REPLACE TEMP TABLE near_part AS ",
    include_str!("../../queries/report/near_part.sql"),
    "CREATE OR REPLACE TEMP TABLE near_flow AS ",
    include_str!("../../queries/report/near_flow.sql"),
    "CREATE OR REPLACE TEMP TABLE near_read AS ",
    include_str!("../../queries/report/near_read.sql"),
    "DROP TABLE near_flow;",
    "CREATE OR REPLACE TEMP TABLE near_written AS ",
    include_str!("../../queries/report/near_written.sql"),
);

/// Rows of `top_call`: as many call instances as a picture can show.
pub const TOP_CALLS: usize = 256;

/// The schema, in order.
pub const SCHEMA: [&str; 10] = [
    include_str!("../../schema/0_meta.sql"),
    include_str!("../../schema/1_low.sql"),
    include_str!("../../schema/2_middle.sql"),
    include_str!("../../schema/3_high.sql"),
    include_str!("../../schema/4_folded.sql"),
    include_str!("../../schema/5_control.sql"),
    include_str!("../../schema/6_time.sql"),
    include_str!("../../schema/7_dependence.sql"),
    include_str!("../../schema/8_path.sql"),
    include_str!("../../schema/9_answer.sql"),
];

/// For a connection of addfg: what its own statements ask for is there, or is known to be missing. Others get
/// an error from these views where the run is packed.
pub const KNOWS_WHAT_IS_MISSING: &str = "
    CREATE OR REPLACE TEMP VIEW lacks_calls AS SELECT false AS no WHERE false;
    CREATE OR REPLACE TEMP VIEW lacks_system_calls AS SELECT false AS no WHERE false;
    CREATE OR REPLACE TEMP VIEW lacks_steps AS SELECT false AS no WHERE false;
    CREATE OR REPLACE TEMP VIEW lacks_communications AS SELECT false AS no WHERE false;
    CREATE OR REPLACE TEMP VIEW lacks_answers AS SELECT false AS no WHERE false;";

/// Takes that back, for a statement that a person wrote.
pub const SAYS_WHAT_IS_MISSING: &str = "
    DROP VIEW IF EXISTS temp.main.lacks_calls;
    DROP VIEW IF EXISTS temp.main.lacks_system_calls;
    DROP VIEW IF EXISTS temp.main.lacks_steps;
    DROP VIEW IF EXISTS temp.main.lacks_communications;
    DROP VIEW IF EXISTS temp.main.lacks_answers;";

/// An empty database with that schema, compressed: the six hundred statements that make one take
/// longer than the rest of a small build. `tests/it/schema.rs` compares the two, and writes this
/// file anew.
pub const EMPTY: &[u8] = include_bytes!("empty.duckdb.zst");

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    File(#[from] crate::files::FileError),
    #[error("cannot write {path}")]
    Io { path: String, source: std::io::Error },
    #[error("database: {0}")]
    Duckdb(#[from] duckdb::Error),
    #[error("database: {0}")]
    Arrow(#[from] duckdb::arrow::error::ArrowError),
    #[error(
        "a number for {table}.{column} does not fit {type_name}: what the trace says cannot be; record it again"
    )]
    Range { table: &'static str, column: &'static str, type_name: &'static str },
    #[error("cannot fill {table}: {source}")]
    Derive { table: &'static str, source: duckdb::Error },
    #[error(
        "the system gives no more threads: allow more processes (ulimit -u) or addresses (ulimit -v)"
    )]
    Thread { source: std::io::Error },
    #[error("the writer of the database stopped")]
    Stopped,
}
