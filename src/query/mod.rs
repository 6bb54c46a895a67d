//! Loads, orders and runs the SQL of `queries/derive`: the definition of what the streaming pass computes.

use duckdb::Connection;

/// A file of `queries/derive`. A line `-- while: SELECT ...` says that it is run again as long as that gives no zero.
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
    let detail: String = connection.query_row("SELECT value FROM meta WHERE key = 'detail'", [], |r| r.get(0))?;
    if !matches!(detail.as_str(), "pairs" | "full") {
        return Ok(Some(format!("detail {detail} keeps no low level: build with --detail pairs")));
    }
    let sql = "SELECT count(*) > 0 FROM meta WHERE key = ?";
    if connection.query_row(sql, [crate::store::sqlite::LEFT_OUT_KEY], |r| r.get(0))? {
        return Ok(Some(format!("no low level to derive from: {}", crate::store::open::steps_remedy(connection))));
    }
    let through: Option<String> = connection.query_row("SELECT max(value) FROM meta WHERE key = 'through'", [], |r| r.get(0))?;
    if let Some(through) = through {
        return Ok(Some(format!("built with --through {through}, which the SQL does not know: build without it")));
    }
    let steps: i64 = connection.query_row("SELECT count(*) FROM block_run", [], |r| r.get(0))?;
    if steps == 0 {
        return Ok(Some("the trace has no steps: what is in the tables comes from it as it is".into()));
    }
    Ok(None)
}

/// Recomputes the derived levels in temporary tables and compares them as multisets.
pub fn verify(connection: &Connection) -> duckdb::Result<Vec<Verdict>> {
    for query in &DERIVE {
        query.run(connection)?;
    }
    let full: bool = connection.query_row("SELECT value = 'full' FROM meta WHERE key = 'detail'", [], |r| r.get(0))?;
    // Detail pairs keeps what crosses call instances.
    let crossing = "JOIN step_call rc ON rc.seq = c.read_seq LEFT JOIN step_call wc ON wc.seq = c.write_seq
                    WHERE wc.call_id IS DISTINCT FROM rc.call_id";
    let communication = format!("SELECT c.* FROM derived_communication c {}", if full { "" } else { crossing });
    let tables: [(&'static str, &str, String); 8] = [
        (
            "function_call",
            "SELECT call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_seq,
                    return_seq, call_instruction_id, steps_self, steps_total FROM function_call",
            "SELECT call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_seq,
                    return_seq, call_instruction_id, steps_self, steps_total FROM derived_call JOIN derived_steps USING (call_id)"
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
    let mut verdicts = Vec::new();
    for (table, stored, derived) in tables {
        let count = |sql: String| connection.query_row(&sql, [], |r| r.get::<_, i64>(0));
        let all = count(format!("SELECT count(*) FROM ({stored})"))?;
        let extra = count(format!("SELECT count(*) FROM (({stored}) EXCEPT ALL ({derived}))"))?;
        let missing = count(format!("SELECT count(*) FROM (({derived}) EXCEPT ALL ({stored}))"))?;
        let mut examples = Vec::new();
        for (word, a, b) in [("only stored", stored, derived.as_str()), ("only derived", derived.as_str(), stored)] {
            let sql = format!("SELECT t::VARCHAR FROM (({a}) EXCEPT ALL ({b}) ORDER BY ALL LIMIT 3) t");
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

#[cfg(test)]
mod tests {
    /// The first line says what a query gives, then comes what it reads.
    #[test]
    fn headers() {
        for query in &super::DERIVE {
            let mut lines = query.sql.lines();
            assert!(lines.next().is_some_and(|l| l.starts_with("-- ") && l.len() > 20), "{}", query.name);
            assert!(query.sql.contains("-- reads: "), "{}", query.name);
        }
    }
}
