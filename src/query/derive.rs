//! The files of `queries/derive` in the order in which each has what it reads.

use duckdb::Connection;

/// A file of `queries/derive`. A line `-- while: SELECT ...` says that it is run again as long as
/// that gives no zero.
pub(super) struct Query {
    sql: &'static str,
}

macro_rules! query {
    ($path:literal) => {
        Query { sql: include_str!(concat!("../../queries/derive/", $path, ".sql")) }
    };
}

impl Query {
    pub(super) fn run(&self, connection: &Connection) -> duckdb::Result<()> {
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

pub(super) fn run_all(connection: &Connection, queries: &[Query]) -> duckdb::Result<()> {
    queries.iter().try_for_each(|query| query.run(connection))
}

/// A way through the run: what is derived before it, of each of its windows, and behind it.
pub(super) struct Walk {
    pub(super) before: &'static [Query],
    pub(super) window: &'static [Query],
    pub(super) behind: &'static [Query],
}

/// Call instances.
pub(super) static CALLS: Walk = Walk {
    before: &[query!("middle/block_part")],
    window: &[query!("middle/transfer")],
    behind: &[
        query!("middle/frame_match"),
        query!("middle/function_call"),
        query!("high/control_flow"),
        query!("high/function_steps"),
        query!("high/call_edge"),
    ],
};

/// Saved registers.
pub(super) static SAVES: Walk = Walk {
    before: &[query!("middle/part_access"), query!("middle/memory_event")],
    window: &[
        query!("middle/part_run"),
        query!("middle/word_access"),
        query!("middle/kernel_word"),
        query!("middle/touched"),
        query!("middle/cleared_word"),
        query!("middle/window_store"),
        query!("middle/byte_read"),
        query!("middle/save_window"),
        query!("middle/save"),
        query!("middle/save_left"),
        query!("middle/moved_word"),
    ],
    behind: &[query!("middle/restore"), query!("middle/touched_region")],
};

/// Communications and their sums.
pub(super) static DATA: Walk = Walk {
    before: &[],
    window: &[
        query!("middle/part_run"),
        query!("middle/word_access"),
        query!("middle/ordinary_access"),
        query!("middle/kernel_word"),
        query!("middle/cleared_word"),
        query!("middle/byte_read"),
        query!("middle/located_read"),
        query!("middle/register_read"),
        query!("middle/communication"),
        query!("high/window_sums"),
        query!("middle/moved_word"),
    ],
    behind: &[query!("high/fed_sums"), query!("high/compact"), query!("high/function_edge")],
};

/// Adds up what the windows of [`DATA`] have given so far.
pub(super) static COMPACT: Query = query!("high/compact");

/// For traces that have entries and exits of functions instead of steps.
pub(super) static EVENTS: [Query; 4] = [
    query!("middle/event_left"),
    query!("middle/event_pair"),
    query!("middle/event_call"),
    query!("high/event_interval"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The first line says what a query gives, then comes what it reads; those of windows say so.
    #[test]
    fn headers() {
        let walks = [&CALLS, &SAVES, &DATA];
        let once = walks.iter().flat_map(|w| w.before.iter().chain(w.behind)).chain(&EVENTS);
        let windows = walks.iter().flat_map(|w| w.window);
        for (query, of_window) in once.map(|q| (q, false)).chain(windows.map(|q| (q, true))) {
            let first = query.sql.lines().next().unwrap_or_default();
            assert!(first.starts_with("-- ") && first.len() > 20, "{first}");
            assert!(query.sql.contains("-- reads: "), "{first}");
            assert_eq!(query.sql.contains("-- each: window\n"), of_window, "{first}");
        }
    }
}
