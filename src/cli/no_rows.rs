//! Why an answer has no rows: on standard error, as the answer itself is one.

use super::say::say;
use crate::id::FunctionId;
use crate::text::visible;
use crate::views::never_ran;
use duckdb::Connection;
use std::fmt::Display;

/// Says that none of the functions ran, if it is so of one of the sets, else what `otherwise` says.
pub fn say_why<'a>(
    connection: &Connection,
    sets: impl IntoIterator<Item = &'a [FunctionId]>,
    otherwise: impl Display,
) -> anyhow::Result<()> {
    for functions in sets {
        let names = never_ran(connection, functions)?;
        if names.is_empty() || names.len() < functions.len() {
            continue;
        }
        let shown: Vec<_> = names.iter().take(5).map(|name| visible(name)).collect();
        let more = if names.len() > shown.len() { ", ..." } else { "" };
        say!("addfg: no rows: {}{more} did not run; `addfg info` lists what did", shown.join(", "));
        return Ok(());
    }
    say!("addfg: no rows: {otherwise}");
    Ok(())
}
