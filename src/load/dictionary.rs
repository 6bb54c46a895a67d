//! Tables that every build fills, whatever its traces carry: properties, inputs, images, source
//! files, problems.

use super::{BuildError, Options};
use crate::analysis::shadow::SectionRange;
use crate::diagnostics::Diagnostics;
use crate::event::Carries;
use crate::image::{AddressSpace, Loaded};
use crate::store::SCHEMA_VERSION;
use crate::trace::input::Input;
use duckdb::{Connection, params};
use std::collections::BTreeMap;

/// A trace file as `input` describes it.
pub struct TraceFile {
    pub path: String,
    pub format: &'static str,
    /// Bytes as read, None for a pipe.
    pub size: Option<u64>,
    pub hash: Option<u64>,
}

impl TraceFile {
    pub fn of(input: &Input, format: &'static str) -> TraceFile {
        TraceFile {
            path: input.name().to_owned(),
            format,
            size: input.size(),
            hash: input.fingerprint(),
        }
    }
}

/// Source files, numbered from 1 as they are asked for.
#[derive(Default)]
pub struct Files {
    ids: BTreeMap<String, i32>,
    order: Vec<String>,
}

impl Files {
    pub fn id(&mut self, path: &str) -> i32 {
        if let Some(&id) = self.ids.get(path) {
            return id;
        }
        self.order.push(path.to_owned());
        let id = self.order.len() as i32;
        self.ids.insert(path.to_owned(), id);
        id
    }

    pub fn write(&self, connection: &Connection) -> Result<(), BuildError> {
        let mut table = connection.appender("source_file")?;
        for (i, path) in self.order.iter().enumerate() {
            table.append_row(params![i as i32 + 1, path])?;
        }
        Ok(table.flush()?)
    }
}

/// Options of the build that change what a database contains, as `input.options` has them.
fn describe(options: &Options) -> String {
    let saves = if options.literal_saves { "literal" } else { "transparent" };
    if options.through.is_empty() {
        format!("saves={saves}")
    } else {
        format!("saves={saves} through={}", options.through.join(","))
    }
}

/// `meta`: what is always there, and `more`.
pub fn meta(
    connection: &Connection,
    options: &Options,
    more: &[(&str, Option<String>)],
) -> Result<(), BuildError> {
    let mut table = connection.appender("meta")?;
    let always = [
        ("schema_version", Some(SCHEMA_VERSION.to_string())),
        ("addfg_version", Some(env!("CARGO_PKG_VERSION").to_string())),
        ("detail", Some(options.detail.name().to_string())),
        ("saves", Some(if options.literal_saves { "literal" } else { "transparent" }.to_string())),
        ("through", (!options.through.is_empty()).then(|| options.through.join(","))),
    ];
    for (key, value) in always.iter().chain(more) {
        table.append_row(params![key, value])?;
    }
    Ok(table.flush()?)
}

/// `input`: the traces, then the ELF files.
pub fn inputs(
    connection: &Connection,
    options: &Options,
    traces: &[TraceFile],
    carries: Carries,
    space: &AddressSpace,
) -> Result<(), BuildError> {
    let mut table = connection.appender("input")?;
    let mut number = 0;
    for trace in traces {
        number += 1;
        table.append_row(params![
            number,
            "trace",
            trace.path,
            trace.format,
            trace.size,
            trace.hash.map(|h| format!("{h:016x}")),
            describe(options),
            carries.calls,
            carries.accesses || carries.registers,
            // What a log of instructions lacks of registers comes from decoding them.
            carries.steps,
            carries.registers,
            carries.time,
            carries.threads,
            carries.kernel_stores,
            carries.dependences,
            carries.paths
        ])?;
    }
    for Loaded { image, bias } in space.images() {
        number += 1;
        let size = std::fs::metadata(&image.path).ok().map(|m| m.len());
        let (path, none) = (image.path.display().to_string(), None::<bool>);
        let hash = None::<String>;
        let bias = format!("bias={bias:#x}");
        table.append_row(params![
            number, "elf", path, "elf", size, hash, bias, none, none, none, none, none, none, none,
            none, none
        ])?;
    }
    Ok(table.flush()?)
}

pub fn diagnostics(connection: &Connection, diagnostics: &Diagnostics) -> Result<(), BuildError> {
    let mut table = connection.appender("diagnostic")?;
    for row in diagnostics.rows() {
        let d = &row.first;
        table.append_row(params![
            d.severity.name(),
            d.code,
            d.message,
            row.count as i64,
            d.position,
            d.remedy
        ])?;
    }
    Ok(table.flush()?)
}

/// An image section at run time.
pub struct SectionRow {
    pub image: usize,
    pub name: String,
    pub first: u64,
    pub last: u64,
    pub writable: bool,
    pub executable: bool,
}

/// Sections of all images, by address, disjoint.
pub fn sections(space: &AddressSpace) -> Vec<SectionRow> {
    let mut rows: Vec<SectionRow> = Vec::new();
    for (image, Loaded { image: elf, bias }) in space.images().iter().enumerate() {
        for s in elf.sections.iter().filter(|s| s.size > 0 && !(s.tls && s.zero)) {
            let first = s.address.wrapping_add(*bias);
            let Some(last) = first.checked_add(s.size - 1) else { continue };
            rows.push(SectionRow {
                image,
                name: s.name.clone(),
                first,
                last,
                writable: s.writable,
                executable: s.executable,
            });
        }
    }
    rows.sort_by_key(|s| (s.first, s.last));
    let mut clipped: Vec<SectionRow> = Vec::new();
    for mut row in rows {
        if let Some(before) = clipped.last() {
            if row.last <= before.last {
                continue;
            }
            row.first = row.first.max(before.last + 1);
        }
        clipped.push(row);
    }
    clipped
}

/// The sections as the pass asks for them.
pub fn ranges(rows: &[SectionRow]) -> Vec<SectionRange> {
    let first = |is: &dyn Fn(&SectionRow) -> bool| rows.iter().position(is).unwrap_or(0) as u32;
    rows.iter()
        .map(|s| SectionRange {
            first: s.first,
            last: s.last,
            name: first(&|o| o.name == s.name && o.image == s.image && o.writable == s.writable),
            via: first(&|o| o.writable == s.writable),
        })
        .collect()
}

/// `image`, `variable` and `section`.
pub fn images(
    connection: &Connection,
    space: &AddressSpace,
    sections: &[SectionRow],
    files: &mut Files,
) -> Result<(), BuildError> {
    let mut image = connection.appender("image")?;
    let mut variable = connection.appender("variable")?;
    let mut number = 0;
    for (i, Loaded { image: elf, bias }) in space.images().iter().enumerate() {
        let i = i as i32 + 1;
        image.append_row(params![
            i,
            1,
            elf.path.display().to_string(),
            bias,
            elf.stripped,
            None::<i64>,
            None::<i64>
        ])?;
        for v in &elf.variables {
            number += 1;
            let file = v.file.as_deref().map(|f| files.id(f));
            let line = v.line.map(|l| l as i32);
            let address = v.address.wrapping_add(*bias);
            variable.append_row(params![
                number,
                v.name,
                v.type_name,
                i,
                file,
                line,
                address,
                v.size
            ])?;
        }
    }
    image.flush()?;
    variable.flush()?;
    let mut table = connection.appender("section")?;
    for (i, s) in sections.iter().enumerate() {
        let size = (s.last - s.first).saturating_add(1);
        table.append_row(params![
            i as i32 + 1,
            s.image as i32 + 1,
            s.name,
            s.first,
            size,
            s.writable,
            s.executable
        ])?;
    }
    Ok(table.flush()?)
}
