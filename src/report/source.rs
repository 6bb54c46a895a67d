//! Source lines with their traffic, and their text where a folder is given.
//!
//! Paths come from the ELF, so they are hostile: only files within the folders that the person
//! named are read, and only the lines around executed ones go into the page.

use super::functions::{Functions, text};
use super::options::{Options, ReportError};
use crate::graph::Facts;
use crate::id::FunctionId;
use crate::load::packed::is_packed;
use crate::query::each;
use crate::text::visible;
use duckdb::Connection;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Lines of text before and after an executed one.
const AROUND: i64 = 4;
/// Larger files are none that people wrote.
const FILE: u64 = 16 << 20;
/// Text in the page, in bytes.
const TEXT: usize = 2 << 20;
/// Characters of a line.
const WIDTH: usize = 240;

/// Files with executed lines (line, function, steps, bytes read, bytes written; null: not known) and text around
/// them (line, text); and flows between lines: places of writer and reader in the order of all
/// lines, or -1 - place of the function, or null; bytes; and their instructions.
pub(super) fn source(
    connection: &Connection,
    functions: &Functions,
    options: &Options,
    (notes, missing): (&mut Vec<String>, &mut Vec<Value>),
) -> Result<Value, ReportError> {
    struct File {
        path: String,
        lines: Vec<(i64, Value)>,
    }
    let mut files: Vec<File> = Vec::new();
    let mut last = None;
    let mut place: HashMap<(i32, i32), usize> = HashMap::new();
    let mut left_out = 0;
    let is_known = !Facts::find(connection)?.only_functions;
    each(connection, include_str!("../../queries/report/html_lines.sql"), &[], |r| {
        let (file, path, line): (i32, String, i32) = (r.get(0)?, r.get(1)?, r.get(2)?);
        if place.len() == options.lines {
            left_out += 1;
            return Ok(());
        }
        if last != Some(file) {
            last = Some(file);
            files.push(File { path, lines: Vec::new() });
        }
        let function = functions.at(r.get(3)?);
        let (steps, read, written): (i64, i64, i64) = (r.get(5)?, r.get(6)?, r.get(7)?);
        let [read, written] = [read, written].map(|bytes| is_known.then_some(bytes));
        place.insert((file, line), place.len());
        if let Some(file) = files.last_mut() {
            file.lines.push((line.into(), json!([line, function, steps, read, written])));
        }
        Ok(())
    })?;
    if left_out > 0 {
        notes
            .push(format!("Left out: {left_out} source lines behind the first {}.", options.lines));
    }
    if files.is_empty() {
        return Ok(Value::Null);
    }
    if !is_known {
        let how = if is_packed(connection)? {
            "; addfg sql DB @line_edges goes through the run for them"
        } else {
            ""
        };
        missing.push(json!([
            ["source"],
            format!(
                "The bytes of source lines are not known: this database sums data by function{how}."
            )
        ]));
    }
    let mut flows: Vec<Value> = Vec::new();
    let mut gone = 0;
    each(connection, include_str!("../../queries/report/html_line_data.sql"), &[], |r| {
        if flows.len() == options.lines {
            gone += 1;
            return Ok(());
        }
        let end = |file: usize| -> duckdb::Result<Value> {
            let line = r.get::<_, Option<i32>>(file)?.zip(r.get::<_, Option<i32>>(file + 1)?);
            if let Some(at) = line.and_then(|l| place.get(&l)) {
                return Ok((*at).into());
            }
            let function = r.get::<_, Option<FunctionId>>(file + 2)?.and_then(|f| functions.at(f));
            Ok(function.map_or(Value::Null, |f| (-1 - f as i64).into()))
        };
        flows.push(json!([end(0)?, end(3)?, r.get::<_, i64>(6)?]));
        Ok(())
    })?;
    if gone > 0 {
        notes.push(format!("Left out: the {gone} smallest flows between source lines."));
    }
    let mut room = TEXT;
    let mut without = 0;
    let mut out = Vec::new();
    for file in &files {
        let wanted: Vec<i64> = file.lines.iter().map(|l| l.0).collect();
        let found = find(&file.path, &options.sources)
            .map(|f| around(&f, &wanted, &mut room))
            .unwrap_or_default();
        without += usize::from(found.is_empty());
        let lines: Vec<&Value> = file.lines.iter().map(|l| &l.1).collect();
        out.push(json!({ "path": text(Some(file.path.clone())), "lines": lines, "text": found }));
    }
    if without > 0 {
        let how = if options.sources.is_empty() {
            "addfg report --source DIR shows it"
        } else {
            "not found in the folders of --source"
        };
        notes.push(format!(
            "{without} of {} source files are without their text: {how}.",
            files.len()
        ));
    }
    let code = code(connection, &place, options.lines, notes)?;
    Ok(json!({ "files": out, "flows": flows, "code": code }))
}

/// Instructions that ran: place of their line, address, text, executions.
fn code(
    connection: &Connection,
    place: &HashMap<(i32, i32), usize>,
    most: usize,
    notes: &mut Vec<String>,
) -> Result<Vec<Value>, ReportError> {
    let (mut found, mut left_out) = (Vec::new(), 0);
    each(connection, include_str!("../../queries/report/html_code.sql"), &[], |r| {
        let Some(at) = place.get(&(r.get(0)?, r.get(1)?)) else { return Ok(()) };
        if found.len() == most {
            left_out += 1;
            return Ok(());
        }
        found.push(json!([at, r.get::<_, String>(2)?, text(r.get(3)?), r.get::<_, i64>(4)?]));
        Ok(())
    })?;
    if left_out > 0 {
        notes.push(format!("Left out: {left_out} instructions behind the first {most}."));
    }
    Ok(found)
}

/// The file that a path of the ELF means, within one of the folders: the longest tail of the path
/// that is there.
fn find(path: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let parts: Vec<_> = Path::new(path)
        .components()
        .filter_map(|c| match c {
            Component::Normal(part) => Some(part),
            _ => None,
        })
        .collect();
    for skip in 0..parts.len() {
        for folder in folders {
            let tail: PathBuf = parts[skip..].iter().collect();
            // Links may lead out of the folder.
            let (Ok(file), Ok(folder)) = (folder.join(tail).canonicalize(), folder.canonicalize())
            else {
                continue;
            };
            if file.starts_with(&folder)
                && file.metadata().is_ok_and(|m| m.is_file() && m.len() <= FILE)
            {
                return Some(file);
            }
        }
    }
    None
}

/// Numbers and text of the lines around the wanted ones.
fn around(file: &Path, wanted: &[i64], room: &mut usize) -> Vec<Value> {
    let Ok(content) = std::fs::read(file) else { return Vec::new() };
    let content = String::from_utf8_lossy(&content);
    let mut found = Vec::new();
    let mut next = 0;
    for (number, line) in (1i64..).zip(content.lines()) {
        while wanted.get(next).is_some_and(|&w| w + AROUND < number) {
            next += 1;
        }
        let Some(&near) = wanted.get(next) else { break };
        if number < near - AROUND {
            continue;
        }
        let line = line.replace('\t', "    ");
        let line = visible(line.trim_end());
        let line: String = line.chars().take(WIDTH).collect();
        if *room < line.len() {
            break;
        }
        *room -= line.len();
        found.push(json!([number, line]));
    }
    found
}
