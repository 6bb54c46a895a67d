//! The whole graph of functions, with nothing left out, in the formats of `addfg graph` that
//! programs read.

use super::error::ExportError;
use super::options::Options;
use crate::graph::{Selection, load};
use crate::render;
use duckdb::Connection;
use std::io::Write;

fn whole(connection: &Connection) -> Result<crate::graph::Graph, ExportError> {
    Ok(load(
        connection,
        &Selection { top: usize::MAX, min_bytes: Some(0), ..Selection::default() },
    )?)
}

pub fn json(connection: &Connection, _: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    Ok(out.write_all(render::json::render(&whole(connection)?).as_bytes())?)
}

pub fn graphml(
    connection: &Connection,
    _: &Options,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    Ok(out.write_all(render::graphml::render(&whole(connection)?).as_bytes())?)
}

pub fn dot(connection: &Connection, _: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let text = render::dot::render(&whole(connection)?);
    // Graphviz 2.43 fails to rank some graphs of this size with clusters ("trouble in init_rank").
    Ok(out.write_all(text.replacen("{\n", "{\n    newrank=true\n", 1).as_bytes())?)
}
