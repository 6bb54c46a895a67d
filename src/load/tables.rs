//! From formats that carry calls, communications or control flow themselves to tables.

use super::derived::{Budget, derived_within};
use super::dictionary::{self, Files, TraceFile};
use super::elf_check;
use super::limit::Limit;
use super::{BuildError, Detail, Options, Progressed, Report};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::event::Carries;
use crate::id::ProcessId;
use crate::image::{self, AddressSpace, Image};
use crate::store::writer::Writer;
use crate::trace::input::{Input, Witness};
use crate::trace::{Format, Listener};
use duckdb::Connection;
use std::sync::Arc;

/// A format whose records are calls, communications or control flow, and what fills the tables from
/// them.
pub trait TableLoader: Format {
    /// Loads all files of a run. Bad input is a [`Diagnostic`]; an error is for an input of which
    /// nothing can be loaded.
    fn load(&self, inputs: Vec<Input>, load: &mut Load) -> Result<Filled, BuildError>;
}

/// What a [`TableLoader`] loaded.
#[derive(Debug, Default)]
pub struct Filled {
    /// What these files carry.
    pub carries: Carries,
    /// Steps, calls and functions, for the line that the build prints.
    pub steps: u64,
    pub calls: u64,
    pub functions: usize,
    /// More rows for `meta`.
    pub meta: Vec<(&'static str, Option<String>)>,
}

/// What a [`TableLoader`] works with. It fills `process`, `thread`, `function_symbol`,
/// `function_name` and whatever of the levels its files carry; the other dictionaries and what is
/// derived for views are filled for it.
pub struct Load<'a> {
    /// In a transaction, with every table of `schema/` made and empty.
    pub connection: &'a Connection,
    /// The ELF files given, at the addresses given; one that is position-independent and has none
    /// is at 0 (see [`Load::place`]).
    pub space: Arc<AddressSpace>,
    /// By image: its address was given.
    placed: Vec<bool>,
    pub detail: Detail,
    pub files: Files,
    limit: Limit,
    strict: bool,
    force_elf: bool,
    output: String,
    consumed: u64,
    total: u64,
    diagnostics: Diagnostics,
    /// What ends the build, met where no error can be given.
    failed: Option<BuildError>,
    progress: &'a mut dyn FnMut(Progressed) -> bool,
}

impl Load<'_> {
    /// An error if a reader told of something that ends the build.
    pub fn check(&mut self) -> Result<(), BuildError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Notes a problem; an error if it is severe and `--strict` was given.
    pub fn problem(&mut self, diagnostic: Diagnostic) -> Result<(), BuildError> {
        self.problems(diagnostic, 1)
    }

    /// Notes `count` problems of a kind, of which this is the first.
    pub fn problems(&mut self, first: Diagnostic, count: u64) -> Result<(), BuildError> {
        if self.strict && first.severity == Severity::Error {
            let Diagnostic { position, message, .. } = first;
            return Err(BuildError::Strict { position, message });
        }
        self.diagnostics.add_counted(first, count);
        Ok(())
    }

    /// Notes problems that were gathered elsewhere.
    pub fn all_problems(&mut self, found: &Diagnostics) -> Result<(), BuildError> {
        found.rows().try_for_each(|row| self.problems(row.first.clone(), row.count))
    }

    /// An error if so many of what was compared with the ELF files differ from them that these are
    /// of another program; `what` says what differs.
    pub fn compare_elf(
        &self,
        other: u64,
        compared: u64,
        what: impl FnOnce() -> String,
    ) -> Result<(), BuildError> {
        if self.force_elf || !elf_check::differs(other, compared) {
            return Ok(());
        }
        Err(BuildError::OtherElf { what: what() })
    }

    /// Puts position-independent images whose address was not given where `bias` says that the
    /// trace has them.
    pub fn place(&mut self, bias: impl Fn(&Image) -> Option<u64>) {
        let space = std::mem::replace(&mut self.space, Arc::new(AddressSpace::new(Vec::new())));
        // Who keeps the old one keeps it.
        let Some(space) = Arc::into_inner(space) else { return };
        let mut images = space.into_images();
        for (loaded, _) in
            images.iter_mut().zip(&self.placed).filter(|(l, placed)| l.image.pie && !**placed)
        {
            loaded.bias = bias(&loaded.image).unwrap_or(0);
        }
        self.space = Arc::new(AddressSpace::new(images));
    }
}

/// Memory for DuckDB, in bytes, where tables are filled from others: what grows with the input.
const POOL: std::ops::RangeInclusive<u64> = 64 << 20..=1 << 30;

impl Listener for Load<'_> {
    fn memory(&self) -> u64 {
        self.limit.left()
    }

    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        if let Err(error) = self.problem(diagnostic) {
            self.failed.get_or_insert(error);
        }
    }

    fn progress(&mut self, bytes: u64) {
        self.consumed += bytes;
        let (bytes, total) = (self.consumed, self.total);
        if (self.progress)(Progressed { bytes, total, steps: 0 }) {
            self.failed.get_or_insert(BuildError::Interrupted(self.output.clone()));
        }
        if let Err(error) = self.limit.check(|| format!("{} bytes", self.consumed)) {
            self.failed.get_or_insert(error);
        }
    }
}

pub fn build(
    options: &Options,
    images: Vec<(Image, Option<u64>)>,
    mut inputs: Vec<Input>,
    format: &'static dyn TableLoader,
    progress: &mut dyn FnMut(Progressed) -> bool,
) -> Result<Report, BuildError> {
    let witnesses: Vec<_> = inputs.iter_mut().filter_map(Input::witness).collect();
    let mut traces: Vec<_> = inputs.iter().map(|i| TraceFile::of(i, format.name())).collect();
    let total = inputs.iter().map(Input::size).sum::<Option<u64>>().unwrap_or(0);
    let placed = images.iter().map(|(_, bias)| bias.is_some()).collect();
    let images = images
        .into_iter()
        .map(|(image, bias)| image::Loaded { image: image.into(), bias: bias.unwrap_or(0) })
        .collect();
    let mut writer = Writer::create(&options.output, options.force)?;
    // Nothing is sent: these formats append for themselves.
    let connection = writer.join()?;
    let limit = Limit::new(options.memory_limit);
    let pool = (limit.bytes() / 4).clamp(*POOL.start(), *POOL.end());
    connection.execute_batch(&format!("SET memory_limit = '{pool}B'"))?;
    let mut load = Load {
        connection: &connection,
        space: Arc::new(AddressSpace::new(images)),
        placed,
        detail: options.detail(),
        files: Files::default(),
        limit,
        strict: options.strict,
        force_elf: options.force_elf,
        output: options.output.display().to_string(),
        consumed: 0,
        total,
        diagnostics: Diagnostics::default(),
        failed: None,
        progress,
    };
    let loaded = format.load(inputs, &mut load)?;
    // A format may tell nothing of small files.
    load.progress(0);
    load.check()?;
    let Load { mut files, diagnostics, space, .. } = load;
    dictionary::meta(&connection, options, &loaded.meta)?;
    traces.iter_mut().for_each(|t| t.carries = loaded.carries);
    dictionary::inputs(&connection, options, &traces, &space)?;
    dictionary::diagnostics(&connection, &diagnostics)?;
    let (sections, loads) = (dictionary::sections(&space), |_| (Some(ProcessId::FIRST), None));
    dictionary::images(&connection, &space, loads, &sections, &mut files)?;
    files.write(&connection)?;
    derived_within(&connection, Budget::of_calls(loaded.calls, limit.bytes()))?;
    witnesses.iter().try_for_each(Witness::check)?;
    writer.commit(connection)?;
    let Filled { steps, calls, functions, .. } = loaded;
    Ok(Report { format: format.name(), steps, calls, functions, diagnostics })
}
