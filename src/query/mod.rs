//! Loads, orders and runs the SQL of `queries/derive`: the definition of what the streaming pass
//! computes.

use duckdb::{Connection, Row, ToSql};

/// A file of `queries/derive`. A line `-- while: SELECT ...` says that it is run again as long as
/// that gives no zero.
pub struct Query {
    pub name: &'static str,
    pub sql: &'static str,
}

macro_rules! query {
    ($path:literal) => {
        Query { name: $path, sql: include_str!(concat!("../../queries/derive/", $path, ".sql")) }
    };
}

impl Query {
    fn run(&self, connection: &Connection) -> duckdb::Result<()> {
        let again = self.sql.lines().find_map(|l| l.strip_prefix("-- while: "));
        loop {
            connection.execute_batch(self.sql)?;
            let Some(again) = again else { return Ok(()) };
            if connection.query_row(again, [], |r| r.get::<_, i64>(0))? == 0 {
                return Ok(());
            }
        }
    }
}

/// In the order in which each has what it reads.
pub static DERIVE: [Query; 15] = [
    query!("middle/transfer"),
    query!("middle/frame_match"),
    query!("middle/function_call"),
    query!("middle/byte_read"),
    query!("middle/save_candidate"),
    query!("middle/save"),
    query!("middle/restore"),
    query!("middle/communication"),
    query!("high/control_flow"),
    query!("high/located_read"),
    query!("high/dataflow"),
    query!("high/function_edge"),
    query!("high/instruction_edge"),
    query!("high/function_steps"),
    query!("high/call_edge"),
];

/// The same for traces that have entries and exits of functions instead of steps.
pub static DERIVE_EVENTS: [Query; 4] = [
    query!("middle/event_left"),
    query!("middle/event_pair"),
    query!("middle/event_call"),
    query!("high/event_interval"),
];

/// Calls whose entry or exit is missing, at most: each takes `middle/event_pair` once more.
const MOST_MISFITS: i64 = 2000;

/// One table of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub table: &'static str,
    /// Rows that both have, rows that only the database has, rows that only the SQL gives.
    pub equal: i64,
    pub extra: i64,
    pub missing: i64,
    /// A few rows that differ.
    pub examples: Vec<String>,
}

impl Verdict {
    pub fn holds(&self) -> bool {
        self.extra == 0 && self.missing == 0
    }
}

/// Why a database leaves nothing to verify.
pub fn not_applicable(connection: &Connection) -> duckdb::Result<Option<String>> {
    let detail: String =
        connection.query_row("SELECT value FROM meta WHERE key = 'detail'", [], |r| r.get(0))?;
    if !matches!(detail.as_str(), "pairs" | "full") {
        return Ok(Some(format!("detail {detail} keeps no low level: build with --detail pairs")));
    }
    let sql = "SELECT count(*) > 0 FROM meta WHERE key = ?";
    if connection.query_row(sql, [crate::store::sqlite::LEFT_OUT_KEY], |r| r.get(0))? {
        return Ok(Some(format!(
            "no low level to derive from: {}",
            crate::store::open::why_no_steps(connection)?
        )));
    }
    let through: Option<String> =
        connection
            .query_row("SELECT max(value) FROM meta WHERE key = 'through'", [], |r| r.get(0))?;
    if let Some(through) = through {
        return Ok(Some(format!(
            "built with --through {through}, which the SQL does not know: build without it"
        )));
    }
    let kernel = "SELECT count(*) > 0 FROM system_call_access";
    if connection.query_row(kernel, [], |r| r.get(0))? {
        return Ok(Some(
            "the trace has what system calls read and wrote, which the SQL does not know".into(),
        ));
    }
    if has_events(connection)? {
        let chained = "SELECT count(*) FROM diagnostic WHERE code = 'xray-chained'";
        if connection.query_row(chained, [], |r| r.get::<_, i64>(0))? > 0 {
            return Ok(Some(
                "its tail exits name the first function of a chain of tail calls, which the SQL does not know".into(),
            ));
        }
        let misfits = "SELECT count(*) FROM function_call WHERE kind = 'gap' OR ending = 'unwound'";
        let misfits: i64 = connection.query_row(misfits, [], |r| r.get(0))?;
        return Ok((misfits > MOST_MISFITS).then(|| {
            format!("{misfits} calls lack an entry or exit; the SQL takes {MOST_MISFITS} at most: record with larger buffers")
        }));
    }
    let steps: i64 = connection.query_row("SELECT count(*) FROM block_run", [], |r| r.get(0))?;
    if steps == 0 {
        return Ok(Some(
            "the trace has no steps: what is in the tables comes from it as it is".into(),
        ));
    }
    // Only DCFG has blocks whose instructions are not known, and steps that each thread counts for
    // itself.
    let known =
        "SELECT count(*) FROM block_run WHERE block_id NOT IN (SELECT block_id FROM block_step)";
    let dcfg = "SELECT count(*) > 0 FROM meta WHERE key = 'dcfg_version'";
    if !connection.query_row(dcfg, [], |r| r.get(0))? {
        return Ok(None);
    }
    if connection.query_row(known, [], |r| r.get::<_, i64>(0))? > 0 {
        return Ok(Some(
            "steps are known by block only, and the SQL needs instructions: give the program, --elf FILE".into(),
        ));
    }
    let threads = "SELECT count(DISTINCT thread_id) FROM block_run";
    Ok((connection.query_row(threads, [], |r| r.get::<_, i64>(0))? > 1)
        .then(|| "each thread counts its own steps, and the SQL needs one order of all".into()))
}

/// What the cost of a call is counted in. Where it is ticks, the connection has from here on
/// temporary views that put them into the place of steps, so that reports need not tell the two
/// apart.
pub fn unit(connection: &Connection) -> duckdb::Result<&'static str> {
    let ticks: bool =
        connection.query_row("SELECT EXISTS (FROM function_time)", [], |r| r.get(0))?;
    if !ticks {
        return Ok("steps");
    }
    let sql = "SELECT NOT EXISTS (FROM duckdb_views() WHERE temporary AND view_name = 'edge_ticks'), current_database()";
    let (first, name): (bool, String) =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    if first {
        let name = format!("\"{}\"", name.replace('"', "\"\""));
        connection
            .execute_batch(&include_str!("../../queries/report/ticks.sql").replace("$db", &name))?;
    }
    Ok("ticks")
}

/// Whether the low level is entries and exits of functions.
fn has_events(connection: &Connection) -> duckdb::Result<bool> {
    connection.query_row("SELECT EXISTS (FROM call_event_row)", [], |r| r.get(0))
}

/// Tables of a trace with entries and exits: what is stored, what the SQL gives.
fn event_tables() -> Vec<(&'static str, &'static str, String)> {
    let times = |name: &str| {
        crate::load::xray::TIMES.iter().find(|t| t.0 == name).map_or("", |t| t.1).to_owned()
    };
    vec![
        (
            "function_call",
            "SELECT call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_time,
                    return_time FROM function_call",
            "SELECT call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_time,
                    return_time FROM derived_event_call"
                .into(),
        ),
        (
            "call_record",
            "SELECT call_id, call_event, return_event, ticks, ticks_self FROM call_record",
            "SELECT call_id, call_event, return_event, ticks, ticks_self FROM derived_event_call".into(),
        ),
        (
            "call_stack",
            "SELECT r.call_id, k.function_id, k.parent_stack_id, k.depth, k.nested
             FROM call_record r JOIN call_stack k USING (stack_id)",
            "SELECT c.call_id, c.function_id, p.stack_id, c.depth, c.nested
             FROM derived_event_call c LEFT JOIN call_record p ON p.call_id = c.parent_call_id WHERE c.kind <> 'gap'"
                .into(),
        ),
        (
            "control_flow",
            "SELECT interval_id, thread_id, call_id, function_id, start_time, end_time FROM control_flow",
            "SELECT * FROM derived_event_interval".into(),
        ),
        (
            "call_edge",
            "SELECT caller_function_id, callee_function_id, kind, calls FROM call_edge",
            "SELECT p.function_id, c.function_id, c.kind, count(*) FROM derived_event_call c
             LEFT JOIN derived_event_call p ON p.call_id = c.parent_call_id GROUP BY ALL"
                .into(),
        ),
        (
            "function_profile",
            "SELECT function_id, calls FROM function_profile",
            "SELECT function_id, count(*) FROM derived_event_call GROUP BY ALL".into(),
        ),
        (
            "stack_ticks",
            "SELECT stack_id, ticks, sum(calls), sum(ticks_self) FROM stack_ticks GROUP BY ALL",
            "SELECT r.stack_id, c.ticks, count(*), sum(c.ticks_self) FROM derived_event_call c JOIN call_record r USING (call_id)
             WHERE c.kind <> 'gap' GROUP BY ALL"
                .into(),
        ),
        ("stack_time", "SELECT * FROM stack_time", times("stack_time")),
        ("function_time", "SELECT * FROM function_time", times("function_time")),
    ]
}

/// Recomputes the derived levels in temporary tables and compares them as multisets.
pub fn verify(connection: &Connection) -> duckdb::Result<Vec<Verdict>> {
    if has_events(connection)? {
        for query in &DERIVE_EVENTS {
            query.run(connection)?;
        }
        return compare(connection, event_tables());
    }
    for query in &DERIVE {
        query.run(connection)?;
    }
    let full: bool =
        connection
            .query_row("SELECT value = 'full' FROM meta WHERE key = 'detail'", [], |r| r.get(0))?;
    // Detail pairs keeps what crosses call instances.
    let crossing =
        "JOIN step_call rc ON rc.seq = c.read_seq LEFT JOIN step_call wc ON wc.seq = c.write_seq
                    WHERE wc.call_id IS DISTINCT FROM rc.call_id";
    let communication =
        format!("SELECT c.* FROM derived_communication c {}", if full { "" } else { crossing });
    let tables: Vec<(&'static str, &'static str, String)> = vec![
        (
            "function_call",
            "SELECT call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_seq,
                    return_seq, call_instruction_id, steps_self, steps_total, bytes_in FROM function_call",
            "SELECT call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_seq,
                    return_seq, call_instruction_id, steps_self, steps_total,
                    CASE WHEN EXISTS (FROM block_access) THEN coalesce(b.bytes, 0)::BIGINT END
             FROM derived_call JOIN derived_steps USING (call_id)
             LEFT JOIN (SELECT reader_call_id AS call_id, sum(bytes) AS bytes FROM derived_dataflow
                        WHERE writer_call_id IS DISTINCT FROM reader_call_id GROUP BY ALL) b USING (call_id)"
                .into(),
        ),
        ("saved_register", "SELECT * FROM saved_register", "SELECT * FROM derived_save".into()),
        ("communication", "SELECT * FROM communication", communication),
        (
            "control_flow",
            "SELECT interval_id, thread_id, call_id, function_id, start_seq, end_seq FROM control_flow",
            "SELECT * FROM derived_control_flow".into(),
        ),
        ("dataflow", "SELECT * FROM dataflow", "SELECT * FROM derived_dataflow".into()),
        ("function_edge", "SELECT * FROM function_edge", "SELECT * FROM derived_function_edge".into()),
        ("instruction_edge", "SELECT * FROM instruction_edge", "SELECT * FROM derived_instruction_edge".into()),
        ("call_edge", "SELECT * FROM call_edge", "SELECT * FROM derived_call_edge".into()),
    ];
    compare(connection, tables)
}

fn compare(
    connection: &Connection,
    tables: Vec<(&'static str, &'static str, String)>,
) -> duckdb::Result<Vec<Verdict>> {
    let mut verdicts = Vec::new();
    for (table, stored, derived) in tables {
        let count = |sql: String| connection.query_row(&sql, [], |r| r.get::<_, i64>(0));
        let all = count(format!("SELECT count(*) FROM ({stored})"))?;
        let extra = count(format!("SELECT count(*) FROM (({stored}) EXCEPT ALL ({derived}))"))?;
        let missing = count(format!("SELECT count(*) FROM (({derived}) EXCEPT ALL ({stored}))"))?;
        let mut examples = Vec::new();
        for (word, a, b) in
            [("only stored", stored, derived.as_str()), ("only derived", derived.as_str(), stored)]
        {
            let sql =
                format!("SELECT t::VARCHAR FROM (({a}) EXCEPT ALL ({b}) ORDER BY ALL LIMIT 3) t");
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map([], |r| r.get::<_, String>(0))?;
            for row in rows {
                examples.push(format!("{word}: {}", row?));
            }
        }
        verdicts.push(Verdict { table, equal: all - extra, extra, missing, examples });
    }
    Ok(verdicts)
}

/// A query's rows, each given to `take`.
pub fn each(
    connection: &Connection,
    sql: &str,
    params: &[&dyn ToSql],
    mut take: impl FnMut(&Row) -> duckdb::Result<()>,
) -> duckdb::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    /// The first line says what a query gives, then comes what it reads.
    #[test]
    fn headers() {
        for query in super::DERIVE.iter().chain(&super::DERIVE_EVENTS) {
            let mut lines = query.sql.lines();
            assert!(
                lines.next().is_some_and(|l| l.starts_with("-- ") && l.len() > 20),
                "{}",
                query.name
            );
            assert!(query.sql.contains("-- reads: "), "{}", query.name);
        }
    }
}
