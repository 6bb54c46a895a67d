//! Which tables are compared: what is stored, what the SQL gives.

/// A table with the rows that are stored and those that the SQL of `queries/derive` gives, in
/// columns of the same types.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) stored: &'static str,
    pub(super) derived: String,
}

impl Table {
    fn new(name: &'static str, stored: &'static str, derived: &str) -> Table {
        Table { name, stored, derived: derived.to_owned() }
    }
}

/// Tables of a trace with steps that are derived from its call stacks and saved registers alone.
pub(super) fn of_calls() -> Vec<Table> {
    vec![
        Table::new("saved_register", "SELECT * FROM saved_register", "SELECT * FROM derived_save"),
        Table::new(
            "control_flow",
            "SELECT interval_id, thread_id, call_id, function_id, start_seq, end_seq FROM control_flow",
            "SELECT interval_id::INTEGER, thread_id, call_id, function_id, start_seq, end_seq
             FROM derived_control_flow",
        ),
        Table::new("call_edge", "SELECT * FROM call_edge", "SELECT * FROM derived_call_edge"),
    ]
}

/// Tables in which the pass has merged stubs into their callers.
pub(super) fn of_stubs() -> impl Iterator<Item = Table> {
    crate::load::FOLDED.into_iter().map(|(name, sql)| {
        let stored = match name {
            "folded_call_row" => "SELECT * FROM folded_call",
            "function_edge_folded" => "SELECT * FROM function_edge_folded",
            "function_profile_folded" => "SELECT * FROM function_profile_folded",
            _ => "SELECT * FROM call_edge_folded",
        };
        let sql = sql.trim_end().trim_end_matches(';');
        if name == "function_edge_folded" {
            return Table::new(name, stored, &with_kernel(sql));
        }
        Table::new(name.strip_suffix("_row").unwrap_or(name), stored, sql)
    })
}

/// Edges with stubs merged, made of those between instances, and what the kernel reads of what stubs wrote: that is of no
/// instance.
fn with_kernel(edges: &str) -> String {
    format!(
        "SELECT writer_function_id, reader_function_id, via, sum(bytes)::BIGINT AS bytes,
                CASE WHEN NOT bool_or(merged) THEN any_value(unique_bytes) END AS unique_bytes,
                CASE WHEN NOT bool_or(merged) THEN any_value(addresses) END AS addresses, sum(transfers)::BIGINT AS transfers
         FROM (SELECT *, false AS merged FROM ({edges})
               UNION ALL
               SELECT w.into_function_id, f.reader_function_id, f.via, f.bytes, NULL, NULL, f.transfers, true
               FROM flow_part f JOIN folded_call w ON w.call_id = f.writer_call_id WHERE f.reader_call_id < 0)
         GROUP BY writer_function_id, reader_function_id, via"
    )
}

/// Data by context, whose sums by function are those with stubs merged.
pub(super) fn of_contexts() -> Table {
    Table::new(
        "stack_edge",
        "SELECT writer_function_id, reader_function_id, via, sum(bytes)::BIGINT AS bytes, sum(transfers)::BIGINT AS transfers
         FROM stack_edge GROUP BY ALL",
        "SELECT writer_function_id, reader_function_id, via, bytes, transfers FROM function_edge_folded",
    )
}

/// Communications of a window.
pub(super) fn communication() -> Table {
    Table::new(
        "communication",
        "SELECT * FROM communication
         WHERE read_seq >= getvariable('lo') AND read_seq < getvariable('hi')",
        "SELECT * FROM derived_communication",
    )
}

/// Tables of a trace with steps that are sums over its windows.
pub(super) fn of_windows() -> Vec<Table> {
    vec![
        Table::new(
            "function_call",
            "SELECT call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_seq,
                    return_seq, call_instruction_id, steps_self, steps_total, bytes_in FROM function_call",
            "SELECT call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_seq,
                    return_seq, call_instruction_id, steps_self, steps_total,
                    CASE WHEN EXISTS (FROM block_access) THEN coalesce(b.bytes, 0)::BIGINT END
             FROM derived_call JOIN derived_steps USING (call_id)
             LEFT JOIN (SELECT reader_call_id AS call_id, sum(bytes) AS bytes FROM flow_part
                        WHERE writer_call_id IS DISTINCT FROM reader_call_id GROUP BY ALL) b USING (call_id)",
        ),
        Table::new(
            "dataflow",
            "SELECT writer_call_id, reader_call_id, writer_function_id, reader_function_id, via, bytes, unique_bytes, transfers
             FROM dataflow",
            "SELECT * FROM flow_part WHERE reader_call_id > 0",
        ),
        Table::new(
            "function_edge",
            "SELECT * FROM function_edge",
            "SELECT * FROM derived_function_edge",
        ),
        Table::new(
            "instruction_edge",
            "SELECT * FROM instruction_edge",
            "SELECT * FROM instruction_part",
        ),
    ]
}

/// Tables of a trace with entries and exits.
pub(super) fn of_events() -> Vec<Table> {
    let times =
        |name: &str| crate::load::xray::TIMES.iter().find(|t| t.0 == name).map_or("", |t| t.1);
    vec![
        Table::new(
            "function_call",
            "SELECT call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_time,
                    return_time FROM function_call",
            "SELECT call_id, function_id, instance, parent_call_id, tail_of_call_id, thread_id, depth, kind, ending, call_time,
                    return_time FROM derived_event_call",
        ),
        Table::new(
            "call_record",
            "SELECT call_id, call_event, return_event, ticks, ticks_self FROM call_record",
            "SELECT call_id, call_event, return_event, ticks, ticks_self FROM derived_event_call",
        ),
        Table::new(
            "call_stack",
            "SELECT r.call_id, k.function_id, k.parent_stack_id, k.depth, k.nested
             FROM call_record r JOIN call_stack k USING (stack_id)",
            "SELECT c.call_id, c.function_id, p.stack_id, c.depth, c.nested
             FROM derived_event_call c LEFT JOIN call_record p ON p.call_id = c.parent_call_id WHERE c.kind <> 'gap'",
        ),
        Table::new(
            "control_flow",
            "SELECT interval_id, thread_id, call_id, function_id, start_time, end_time FROM control_flow",
            "SELECT * FROM derived_event_interval",
        ),
        Table::new(
            "call_edge",
            "SELECT caller_function_id, callee_function_id, kind, calls FROM call_edge",
            "SELECT p.function_id, c.function_id, c.kind, count(*) FROM derived_event_call c
             LEFT JOIN derived_event_call p ON p.call_id = c.parent_call_id GROUP BY ALL",
        ),
        Table::new(
            "function_profile",
            "SELECT function_id, calls FROM function_profile",
            "SELECT function_id, count(*) FROM derived_event_call GROUP BY ALL",
        ),
        Table::new(
            "stack_ticks",
            "SELECT stack_id, ticks, sum(calls), sum(ticks_self) FROM stack_ticks GROUP BY ALL",
            "SELECT r.stack_id, c.ticks, count(*), sum(c.ticks_self) FROM derived_event_call c JOIN call_record r USING (call_id)
             WHERE c.kind <> 'gap' GROUP BY ALL",
        ),
        Table::new("stack_time", "SELECT * FROM stack_time", times("stack_time")),
        Table::new("function_time", "SELECT * FROM function_time", times("function_time")),
    ]
}
