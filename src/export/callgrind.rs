//! Callgrind's profile format: steps by source line and calls with inclusive steps. (Valgrind
//! manual, "Callgrind Format Specification".)
//!
//! Every function has the file of its symbol (`fl`), lines inlined from others are under `fi`. A
//! recursive call has the steps of what it called like any other, as Callgrind writes it.

use super::calls::{self, Unit};
use super::error::ExportError;
use super::options::Options;
use super::rows::each;
use crate::graph::Stubs;
use crate::text::visible;
use duckdb::Connection;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;

macro_rules! report {
    ($name:literal) => {
        include_str!(concat!("../../queries/report/", $name, ".sql"))
    };
}

/// Names are written out where they come first, later only their numbers.
#[derive(Default)]
struct Known(HashSet<i32>);

impl Known {
    fn name(&mut self, id: i32, name: &str) -> String {
        if self.0.insert(id) {
            let name = visible(name);
            // An empty name would be none.
            format!("({id}) {}", if name.trim().is_empty() { "???" } else { name.trim() })
        } else {
            format!("({id})")
        }
    }
}

struct Function {
    name: String,
    file: Option<i32>,
    image: Option<i32>,
}

#[derive(Default)]
struct Lines {
    /// File, line, cost.
    own: Vec<(Option<i32>, i64, i64)>,
    /// Callee, file and line of the call, calls, cost.
    calls: Vec<(i32, Option<i32>, i64, i64, i64)>,
}

/// Number of the file of what has none; ids of files begin at 1.
const NO_FILE: i32 = 0;

fn functions(connection: &Connection) -> Result<BTreeMap<i32, Function>, ExportError> {
    let mut functions: BTreeMap<i32, Function> = BTreeMap::new();
    each::<ExportError>(
        connection,
        "SELECT function_id, name, file_id, image_id FROM function_symbol",
        &[],
        |r| {
            functions
                .insert(r.get(0)?, Function { name: r.get(1)?, file: r.get(2)?, image: r.get(3)? });
            Ok(())
        },
    )?;
    Ok(functions)
}

/// Lines of each function with what they cost and call, and the cost of all.
fn lines(
    connection: &Connection,
    own: &str,
    edges: &str,
) -> Result<(BTreeMap<i32, Lines>, i64), ExportError> {
    let mut lines: BTreeMap<i32, Lines> = BTreeMap::new();
    let mut total = 0i64;
    each::<ExportError>(connection, own, &[], |r| {
        let cost: i64 = r.get(3)?;
        total += cost;
        lines.entry(r.get(0)?).or_default().own.push((r.get(1)?, r.get(2)?, cost));
        Ok(())
    })?;
    each::<ExportError>(connection, edges, &[], |r| {
        lines.entry(r.get(0)?).or_default().calls.push((
            r.get(1)?,
            r.get(2)?,
            r.get(3)?,
            r.get(4)?,
            r.get(5)?,
        ));
        Ok(())
    })?;
    Ok((lines, total))
}

pub fn write(connection: &Connection, _: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let sql = "SELECT (SELECT count(steps_self) > 0 FROM function_profile), (SELECT count(*) > 0 FROM function_call)";
    let (steps, instances): (bool, bool) =
        connection.query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?)))?;
    let (own, edges, event) = if steps {
        (
            report!("export_steps"),
            if instances { report!("export_call_lines") } else { report!("export_call_edges") },
            "Ir",
        )
    } else {
        let unit = calls::prepare(connection, "callgrind", Stubs::Show)?;
        debug_assert_eq!(unit, Unit::Ticks);
        (report!("export_timed_functions"), report!("export_timed_edges"), "Ticks")
    };
    let functions = functions(connection)?;
    let dictionary = |sql: &str| -> Result<BTreeMap<i32, String>, ExportError> {
        let mut names = BTreeMap::new();
        each::<ExportError>(connection, sql, &[], |r| {
            names.insert(r.get(0)?, r.get(1)?);
            Ok(())
        })?;
        Ok(names)
    };
    let files = dictionary("SELECT file_id, path FROM source_file")?;
    let images = dictionary("SELECT image_id, path FROM image")?;
    let (lines, total) = lines(connection, own, edges)?;
    let mut first_line: BTreeMap<i32, i64> = BTreeMap::new();
    for (&id, list) in &lines {
        let file = functions.get(&id).and_then(|f| f.file);
        let line = list.own.iter().filter(|o| o.0 == file && o.1 > 0).map(|o| o.1).min();
        first_line.insert(id, line.unwrap_or(0));
    }
    let program: Option<String> = connection
        .query_row("SELECT path FROM input WHERE role = 'elf' ORDER BY input_id LIMIT 1", [], |r| {
            r.get(0)
        })
        .unwrap_or_default();
    writeln!(out, "# callgrind format\nversion: 1\ncreator: addfg-{}", env!("CARGO_PKG_VERSION"))?;
    if let Some(program) = program {
        writeln!(out, "cmd: {}", visible(&program))?;
    }
    writeln!(out, "positions: line\nevents: {event}\nsummary: {total}")?;
    let (mut known_files, mut known_functions, mut known_images) =
        (Known::default(), Known::default(), Known::default());
    let mut file = |id: Option<i32>| {
        let id = id.unwrap_or(NO_FILE);
        known_files.name(id, files.get(&id).map_or("???", String::as_str))
    };
    let mut image = |id: Option<i32>| {
        let id = id.unwrap_or(0);
        known_images.name(id, images.get(&id).map_or("???", String::as_str))
    };
    for (id, mut list) in lines {
        let Some(function) = functions.get(&id) else { continue };
        writeln!(out, "\nob={}\nfl={}", image(function.image), file(function.file))?;
        writeln!(out, "fn={}", known_functions.name(id, &function.name))?;
        // Its own file first.
        let mut at = function.file;
        list.own.sort_by_key(|o| (o.0.is_some() && o.0 != function.file, o.0, o.1));
        list.calls.sort_by_key(|c| (c.1.is_some() && c.1 != function.file, c.1, c.2, c.0));
        for (of, line, cost) in list.own {
            let of = of.or(function.file);
            if of != at {
                writeln!(out, "{}={}", if of == function.file { "fe" } else { "fi" }, file(of))?;
                at = of;
            }
            writeln!(out, "{line} {cost}")?;
        }
        for (callee, of, line, calls, cost) in list.calls {
            let Some(called) = functions.get(&callee) else { continue };
            let of = of.or(function.file);
            if of != at {
                writeln!(out, "{}={}", if of == function.file { "fe" } else { "fi" }, file(of))?;
                at = of;
            }
            writeln!(out, "cob={}\ncfi={}", image(called.image), file(called.file))?;
            writeln!(out, "cfn={}", known_functions.name(callee, &called.name))?;
            let line = if line > 0 { line } else { first_line.get(&id).copied().unwrap_or(0) };
            writeln!(
                out,
                "calls={calls} {}\n{line} {cost}",
                first_line.get(&callee).copied().unwrap_or(0)
            )?;
        }
    }
    writeln!(out, "\ntotals: {total}")?;
    Ok(())
}
