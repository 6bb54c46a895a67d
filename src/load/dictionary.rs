//! Tables that every build fills, whatever its traces carry: properties, inputs, images, source
//! files, problems.

use super::Options;
use crate::analysis::place::SectionRange;
use crate::diagnostics::Diagnostics;
use crate::event::{Carries, NamedRange};
use crate::id::{FileId, ImageId, ProcessId, SectionId};
use crate::image::{AddressSpace, Loaded};
use crate::store::table::{Table, fill};
use crate::store::tables::{
    Diagnostic, Image, Images, Input as InputRow, Meta, Section, SourceFile, Variable,
    VariableDimension, VariableDimensions, VariableField, VariableFields, Variables,
};
use crate::store::{SCHEMA_VERSION, StoreError};
use crate::trace::input::Input;
use duckdb::Connection;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// A trace file as `input` describes it.
pub struct TraceFile {
    pub path: String,
    pub format: &'static str,
    /// Bytes as read, None for a pipe.
    pub size: Option<u64>,
    /// Of its contents, in hexadecimal.
    pub hash: Option<String>,
    pub carries: Carries,
}

impl TraceFile {
    pub fn of(input: &Input, format: &'static str) -> TraceFile {
        TraceFile {
            path: input.name().to_owned(),
            format,
            size: input.size(),
            hash: input.fingerprint().map(|h| format!("{h:016x}")),
            carries: Carries::default(),
        }
    }
}

/// Source files, numbered from 1 as they are asked for.
#[derive(Default)]
pub struct Files {
    ids: BTreeMap<String, FileId>,
    order: Vec<String>,
}

impl Files {
    pub fn id(&mut self, path: &str) -> FileId {
        if let Some(&id) = self.ids.get(path) {
            return id;
        }
        let id = FileId::at(self.order.len());
        self.order.push(path.to_owned());
        self.ids.insert(path.to_owned(), id);
        id
    }

    pub fn write(&self, connection: &Connection) -> Result<(), StoreError> {
        let rows = self.order.iter().enumerate();
        fill(connection, rows.map(|(i, path)| SourceFile { file_id: FileId::at(i), path }))
    }
}

/// Devices and memories that are listed with the options; a chip has a hundred.
const LISTED: usize = 8;

/// Options of the build that change what a database contains, as `input.options` has them.
fn describe(options: &Options) -> String {
    let saves = if options.literal_saves { "literal" } else { "transparent" };
    let through = &options.through;
    let through = (!through.is_empty()).then(|| format!(" through={}", through.join(",")));
    let places = |kind: &'static str, ranges: &[NamedRange]| -> String {
        let one = |r: &NamedRange| format!(" {kind}={}={:#x}+{:#x}", r.name, r.address, r.bytes);
        match ranges.len() {
            ..=LISTED => ranges.iter().map(one).collect(),
            more => format!(" {kind}={more} ranges (table mapping)"),
        }
    };
    let devices = places("device", &options.devices) + &places("memory", &options.memories);
    format!("saves={saves}{}", through.into_iter().chain([devices]).collect::<String>())
}

/// `meta`: what is always there, and `more`.
pub fn meta(
    connection: &Connection,
    options: &Options,
    more: &[(&str, Option<String>)],
) -> Result<(), StoreError> {
    let always = [
        ("schema_version", Some(SCHEMA_VERSION.to_string())),
        ("addfg_version", Some(env!("CARGO_PKG_VERSION").to_string())),
        ("detail", Some(options.detail().name().to_string())),
        ("saves", Some(if options.literal_saves { "literal" } else { "transparent" }.to_string())),
        ("through", (!options.through.is_empty()).then(|| options.through.join(","))),
    ];
    // Names may have commas.
    let allocators = (!options.allocators.is_empty())
        .then(|| ("allocators", Some(options.allocators.join("\n"))));
    let rows = always.iter().chain(&allocators).chain(more);
    fill(connection, rows.map(|(key, value)| Meta { key, value: value.as_deref() }))
}

/// `input`: the traces, then the ELF files.
pub fn inputs(
    connection: &Connection,
    options: &Options,
    traces: &[TraceFile],
    space: &AddressSpace,
) -> Result<(), StoreError> {
    let mut table = Table::new(connection);
    for (input_id, trace) in (1..).zip(traces) {
        table.push(trace_row(input_id, trace, &describe(options)))?;
    }
    for (input_id, Loaded { image, bias }) in (traces.len() as u32 + 1..).zip(space.images()) {
        let path = image.path.display().to_string();
        table.push(InputRow {
            role: "elf",
            path: Some(&path),
            format: Some("elf"),
            size: std::fs::metadata(&image.path).ok().map(|m| m.len()),
            options: Some(&format!("bias={bias:#x}")),
            ..file_row(input_id)
        })?;
    }
    table.finish()
}

fn trace_row<'a>(input_id: u32, trace: &'a TraceFile, options: &'a str) -> InputRow<'a> {
    let carries = trace.carries;
    InputRow {
        path: Some(&trace.path),
        format: Some(trace.format),
        size: trace.size,
        hash: trace.hash.as_deref(),
        options: Some(options),
        carries_calls: Some(carries.calls),
        carries_accesses: Some(carries.accesses || carries.registers),
        // What a log of instructions lacks of registers comes from decoding them.
        carries_registers: Some(carries.steps),
        carries_values: Some(carries.registers),
        carries_time: Some(carries.time),
        carries_threads: Some(carries.threads),
        carries_kernel_stores: Some(carries.kernel_stores),
        carries_dependences: Some(carries.dependences),
        carries_paths: Some(carries.paths),
        ..file_row(input_id)
    }
}

/// An input of which nothing is said.
fn file_row(input_id: u32) -> InputRow<'static> {
    InputRow {
        input_id,
        role: "trace",
        path: None,
        format: None,
        size: None,
        hash: None,
        options: None,
        carries_calls: None,
        carries_accesses: None,
        carries_registers: None,
        carries_values: None,
        carries_time: None,
        carries_threads: None,
        carries_kernel_stores: None,
        carries_dependences: None,
        carries_paths: None,
    }
}

pub fn diagnostics(connection: &Connection, diagnostics: &Diagnostics) -> Result<(), StoreError> {
    let rows = diagnostics.rows().map(|row| Diagnostic {
        severity: row.first.severity.name(),
        code: row.first.code,
        message: &row.first.message,
        count: row.count,
        first_position: Some(&row.first.position),
        remedy: Some(row.first.remedy),
    });
    fill(connection, rows)
}

/// When an image was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// Steps before it was mapped.
    pub load: u64,
    /// Steps before it was unmapped and not mapped again.
    pub unload: Option<u64>,
}

/// A section at run time.
pub struct SectionRow {
    /// None: of a file that is mapped and no image.
    pub image: Option<usize>,
    pub name: String,
    pub first: u64,
    pub last: u64,
    /// What it is to dataflow: `global`, `constant` or `mmio`.
    pub via: &'static str,
    pub executable: bool,
}

/// Sections of all images, by address, disjoint.
pub fn sections(space: &AddressSpace) -> Vec<SectionRow> {
    let mut rows: Vec<SectionRow> = Vec::new();
    for (image, loaded) in space.images().iter().enumerate() {
        rows.extend(of_image(image, loaded));
    }
    disjoint(rows)
}

/// Sections of one image, by address, disjoint.
pub fn image_sections(space: &AddressSpace, image: usize) -> Vec<SectionRow> {
    disjoint(of_image(image, &space.images()[image]).collect())
}

fn of_image(image: usize, loaded: &Loaded) -> impl Iterator<Item = SectionRow> {
    let Loaded { image: elf, bias } = loaded;
    elf.sections.iter().filter(|s| s.size > 0 && !(s.tls && s.zero)).filter_map(move |s| {
        let first = s.address.wrapping_add(*bias);
        let last = first.checked_add(s.size - 1)?;
        Some(SectionRow {
            image: Some(image),
            name: s.name.clone(),
            first,
            last,
            via: if s.writable { "global" } else { "constant" },
            executable: s.executable,
        })
    })
}

/// Where two overlap, the one that begins first has the addresses.
fn disjoint(mut rows: Vec<SectionRow>) -> Vec<SectionRow> {
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

/// The sections from number `from` on as the pass asks for them.
pub fn ranges(rows: &[SectionRow], from: usize) -> Vec<SectionRange> {
    let first = |is: &dyn Fn(&SectionRow) -> bool| rows.iter().position(is).unwrap_or(0) as u32;
    rows[from..]
        .iter()
        .map(|s| SectionRange {
            first: s.first,
            last: s.last,
            name: first(&|o| o.name == s.name && o.image == s.image && o.via == s.via),
            via: first(&|o| o.via == s.via),
            of_file: s.image.is_none() && s.via != "mmio",
        })
        .collect()
}

/// `image`, `variable` and `section`.
///
/// `loads`: by image, the process that has it (None: several) and when it was mapped, where that is
/// known.
pub fn images(
    connection: &Connection,
    space: &AddressSpace,
    loads: impl Fn(usize) -> (Option<ProcessId>, Option<Loading>),
    sections: &[SectionRow],
    files: &mut Files,
) -> Result<(), StoreError> {
    let mut images = Table::<Images>::new(connection);
    let mut variables = Table::<Variables>::new(connection);
    let mut dimensions = Table::<VariableDimensions>::new(connection);
    let mut fields = Table::<VariableFields>::new(connection);
    let mut variable_ids = 1..;
    for (i, Loaded { image: elf, bias }) in space.images().iter().enumerate() {
        let image_id = ImageId::at(i);
        let (process_id, loading) = loads(i);
        images.push(Image {
            image_id,
            process_id,
            path: &elf.path.display().to_string(),
            bias: Some(*bias),
            stripped: Some(elf.stripped),
            load_seq: loading.map(|l| l.load),
            unload_seq: loading.and_then(|l| l.unload),
        })?;
        for (v, variable_id) in elf.variables.iter().zip(&mut variable_ids) {
            variables.push(Variable {
                variable_id,
                name: &v.name,
                type_name: v.type_name.as_deref(),
                image_id: Some(image_id),
                file_id: v.file.as_deref().map(|f| files.id(f)),
                line: v.line,
                address: v.address.wrapping_add(*bias),
                size: v.size,
            })?;
            for (dimension, position) in v.dimensions.iter().zip(1..) {
                dimensions.push(VariableDimension {
                    variable_id,
                    position,
                    first: dimension.first,
                    length: dimension.length,
                    stride: dimension.stride,
                    brackets: v.brackets.text(),
                })?;
            }
            let stride = v.element_size();
            for field in &v.fields {
                fields.push(VariableField {
                    variable_id,
                    name: &field.name,
                    start: field.start,
                    size: field.size,
                    stride,
                })?;
            }
        }
    }
    images.finish()?;
    variables.finish()?;
    dimensions.finish()?;
    fields.finish()?;
    // An image that is mapped again has its sections once.
    let mut seen = FxHashSet::default();
    let once = sections.iter().enumerate().filter(|(_, s)| seen.insert((s.image, s.first, s.last)));
    let rows = once.filter_map(|(i, s)| {
        Some(Section {
            section_id: SectionId::at(i),
            image_id: ImageId::at(s.image?),
            name: &s.name,
            address: s.first,
            size: (s.last - s.first).saturating_add(1),
            writable: s.via == "global",
            executable: s.executable,
        })
    });
    fill(connection, rows)
}
