//! From steps to tables: three threads - the reader's, the pass's (the caller's) and the writer's,
//! with batches of columns between them.

use super::code::{Functions, Named, Space};
use super::derived::{self, Budget};
use super::dictionary::{self, Loading, SectionRow, TraceFile};
use super::events::EventRows;
use super::finish::{End, Packed, executions, longest};
use super::front::{Front, GivenRanges, Target};
use super::intake::{Intake, Progress, Records};
use super::limit::{self, Limit};
use super::live::RunSums;
use super::packed::{self, Wanted};
use super::pass::{BuildPass, Send, processor};
use super::placing;
use super::reader::{Reader, Reading};
use super::rows::PassRows;
use super::runs::{PackedRuns, RunRows};
use super::suspicions;
use super::{BuildError, Detail, Options, Report};
use crate::analysis::access::Insn;
use crate::analysis::pass::Pass;
use crate::analysis::place::SectionRange;
use crate::analysis::{self, Summary};
use crate::diagnostics::{Counted, Diagnostics};
use crate::event::{BlockDef, Isa};
use crate::image::{AddressSpace, Image};
use crate::store::StoreError;
use crate::store::table::Batch;
use crate::store::writer::Writer;
use crate::trace::input::{Input, Witness};
use crate::trace::{ProcessClaim, StepFormat};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;

/// Waits for what the recorder of the traces has added up, and gives it if there is something.
pub type WaitForSums<'a> = &'a mut dyn FnMut() -> Option<RunSums>;

/// Builds a database from traces whose records are steps or runs. `sums` are those of a run of which only sums are kept.
pub fn build(
    options: &Options,
    images: Vec<(Image, Option<u64>)>,
    inputs: Vec<(Input, &'static dyn StepFormat)>,
    progress: Progress,
    sums: Option<WaitForSums>,
) -> Result<Report, BuildError> {
    let mut writer = None;
    // Only when it is known that there is something to write.
    let rows = || {
        let made = writer.insert(Writer::create(&options.output, options.force)?);
        Ok(made.sender().ok_or(StoreError::Stopped)?)
    };
    let passed = pass(options, images, inputs, progress, rows, sums)?;
    let mut writer = writer.ok_or(StoreError::Stopped)?;
    // With the pass all senders went, so that the writer ends.
    let connection = writer.join()?;
    limit::give_back();
    let Passed { isa, space, front, code, insns, defs, counts, summary, .. } = &passed;
    let packed = options.steps.then(|| Packed {
        first_sections: passed.first_sections,
        placed: passed.placed.clone(),
        first_stack_pointers: passed.first_stack_pointers.clone(),
        functions: code.traits(),
    });
    let end = End {
        connection: &connection,
        options,
        space: &space.borrow(),
        sections: &front.maps.sections,
        mapped: &passed.mapped,
        processes: &front.processes,
        logged_threads: front.threads(),
        image_processes: &front.maps.processes,
        insn_images: &front.images,
        insns: &insns.iter().collect::<Vec<_>>(),
        executions: &executions(insns.len(), defs, counts),
        longest_block: longest(defs),
        defs,
        summary,
        isa: *isa,
        threads: passed.threads,
        low: passed.low,
        dead: !passed.noted,
        unique: true,
        packed,
    };
    let functions = end.write(code.names.clone(), &passed.traces, &passed.diagnostics)?;
    passed.witnesses.iter().try_for_each(Witness::check)?;
    writer.commit_with(connection, |connection| {
        if !options.makes_rows(summary.steps) {
            return Ok(());
        }
        let limit = Limit::new(options.memory_limit);
        derived::room(connection, Budget::of_calls(summary.calls.into(), limit.bytes()))?;
        packed::stored(connection, &Wanted::all(Detail::Pairs), limit)
    })?;
    Ok(Report {
        format: passed.traces.first().map_or("", |t| t.format),
        steps: summary.steps,
        calls: u64::from(summary.calls),
        functions,
        diagnostics: passed.diagnostics.clone(),
    })
}

/// What a pass over whole traces has found.
pub(super) struct Passed {
    pub isa: Isa,
    pub space: Space,
    pub front: Front,
    pub traces: Vec<TraceFile>,
    pub diagnostics: Diagnostics,
    pub code: Functions,
    pub insns: Vec<Insn>,
    pub defs: Vec<BlockDef>,
    /// Executions of each block.
    pub counts: Vec<u64>,
    pub summary: Summary,
    /// See [`Packed`].
    first_sections: usize,
    placed: Vec<Vec<SectionRange>>,
    first_stack_pointers: Vec<Option<u64>>,
    /// When each image was mapped, by its index, if the trace told.
    mapped: FxHashMap<usize, Loading>,
    /// The log tells threads apart.
    threads: bool,
    /// The run is kept.
    low: bool,
    /// The sums are the recorder's.
    noted: bool,
    pub witnesses: Vec<Witness>,
}

/// Goes over the traces once. Rows go to what `rows` gives, which is asked for when the traces have
/// been found to be of these programs; nobody needs to take them. `sums`: the recorder's, which are asked for at the end
/// of a run of which rows are not made.
pub(super) fn pass(
    options: &Options,
    images: Vec<(Image, Option<u64>)>,
    mut inputs: Vec<(Input, &'static dyn StepFormat)>,
    progress: Progress,
    rows: impl FnOnce() -> Result<mpsc::SyncSender<Batch>, BuildError>,
    mut sums: Option<WaitForSums>,
) -> Result<Passed, BuildError> {
    let witnesses: Vec<_> = inputs.iter_mut().filter_map(|(i, _)| i.witness()).collect();
    let isa = images.first().map(|(image, _)| image.isa);
    let total = inputs.iter().map(|(i, _)| i.size()).sum::<Option<u64>>().unwrap_or(0);
    let mut traces: Vec<_> = inputs.iter().map(|(i, f)| TraceFile::of(i, f.name())).collect();
    let reading = Reading { isa, layout: options.layout.clone(), jobs: options.jobs.max(1) };
    let reader = Reader::spawn(inputs, reading)?;
    let mut intake = Intake::new(reader, options, isa, total, progress);
    let placed = placing::place(images, &mut intake)?;
    let space: Space = Rc::new(RefCell::new(AddressSpace::new(placed.images)));
    let isa = intake.isa.ok_or(BuildError::NoIsa)?;
    let mut through = Named::new("--through", &options.through);
    through.look(&space.borrow(), 0);
    if !intake.carries().mappings {
        through.check()?;
    }
    let rows = rows()?;
    let given =
        GivenRanges { devices: options.devices.clone(), memories: options.memories.clone() };
    let mut front = Front::new(isa, space.clone(), placed.waiting, given);
    let functions = Functions::new(space.clone(), isa == Isa::Arm, through);
    let first_sections = front.maps.sections.len();
    let mut target = target(options, functions, &front.maps.sections, isa, rows)?;
    for records in placed.early {
        take(records, &mut front, &mut target, &mut intake);
    }
    while let Some(records) = intake.next()? {
        take(records, &mut front, &mut target, &mut intake);
        target.noting |= sums.is_some() && !options.makes_rows(target.pass.next_seq() - 1);
    }
    front.release(&mut target);
    for image in front.maps.unmapped() {
        intake.diagnostics.add(placing::unknown_bias(&image));
    }
    for (diagnostic, count) in front.diagnostics() {
        intake.diagnostics.add_counted(diagnostic, count);
    }
    traces.iter_mut().zip(&intake.carries).for_each(|(trace, carries)| trace.carries = *carries);
    let Target { mut pass, rows, packed, events, mapped, placed, mut first_stack_pointers, noting } =
        target;
    first_stack_pointers.push(pass.first_stack_pointer());
    let low = rows.is_some() || packed.is_some();
    let mut summary = pass.finish();
    if let Some(wait) = sums.as_mut().filter(|_| noting) {
        let sums = wait().ok_or(BuildError::RecorderSums("there are none".to_owned()))?;
        sums.diagnostic().into_iter().for_each(|d| intake.diagnostics.add(d));
        let (space, sections) = (space.borrow(), &front.maps.sections);
        let whole = |of| sums.of_database(&space, &pass.code.names, sections, of);
        summary = whole(summary).map_err(BuildError::RecorderSums)?;
    }
    let counts = pass.block_counts();
    pass.output().finish();
    packed.map_or(Ok(()), PackedRuns::finish)?;
    rows.into_iter().for_each(RunRows::finish);
    let left_out = summary.contexts.left_out();
    if left_out > 0 && options.detail() == Detail::Summary && !options.makes_rows(summary.steps) {
        intake.diagnostics.add(suspicions::contexts(left_out));
    }
    events.finish();
    suspect_runs(&pass, &counts, &mut intake, &traces);
    let (code, insns, defs) = pass.into_code();
    code.through.check()?;
    let passed = Passed {
        isa,
        space,
        front,
        diagnostics: intake.diagnostics,
        code,
        insns,
        defs,
        counts,
        summary,
        first_sections,
        placed,
        first_stack_pointers,
        mapped,
        threads: intake.carries.iter().any(|c| c.threads),
        low,
        noted: noting,
        witnesses,
        traces,
    };
    passed.checked(options, &intake.processes)
}

/// Says what is suspicious in how often blocks ran.
fn suspect_runs(pass: &BuildPass, counts: &[u64], intake: &mut Intake, traces: &[TraceFile]) {
    let (insns, defs) = (&pass.insns, &pass.defs);
    let mut found = Vec::new();
    if intake.conditional_exits.len() == traces.len() {
        let exits = intake.conditional_exits.iter().sum();
        found.extend(suspicions::chased(exits, insns, defs, counts));
    }
    found.extend(suspicions::renamed(insns, defs, counts));
    if !intake.carries.iter().any(|carries| carries.threads) {
        found.extend(suspicions::interleaved(&pass.interleaving));
    }
    found.into_iter().for_each(|diagnostic| intake.diagnostics.add(diagnostic));
}

impl Passed {
    /// An error if the traces are not of one run of these programs; says what is suspicious in the
    /// code.
    fn checked(
        mut self,
        options: &Options,
        processes: &[(usize, ProcessClaim)],
    ) -> Result<Passed, BuildError> {
        let Passed { space, front, code, insns, defs, counts, summary, .. } = &self;
        let space = space.borrow();
        if !options.force_elf {
            fits(code, &space, insns.iter().map(|i| i.def.address))?;
            let names: Vec<&str> = self.traces.iter().map(|trace| trace.path.as_str()).collect();
            front.parts.check(&names, processes, insns, &space)?;
            front.parts.fits().check(&space)?;
        }
        let mut found = Vec::new();
        if !front.elaborated {
            found.extend(suspicions::unmodelled(insns, defs, counts));
        }
        let nameless = suspicions::nameless(insns, defs, counts, &code.names);
        found.extend(nameless.map(|first| Counted { first, count: 1 }));
        found.extend(suspicions::inclusive(summary, |f| code.names.of_symbol(&space, f)));
        drop(space);
        for Counted { first, count } in found {
            self.diagnostics.add_counted(first, count);
        }
        Ok(self)
    }
}

fn take<'a>(records: Records, front: &mut Front, target: &mut Target<'a>, intake: &mut Intake) {
    front.kernel |= intake.carries().kernel;
    front.decided = intake.carries().decided;
    front.elaborated |= front.decided;
    match records {
        Records::Steps(mut batch) => front.steps(&mut batch, intake.carries(), target),
        Records::Runs(batch) => {
            front.runs(batch, target);
            intake.steps = target.pass.next_seq() - 1;
        }
        Records::End => front.end_of_input(target),
    }
}

/// The pass, with what its rows go to.
fn target<'a>(
    options: &Options,
    functions: Functions,
    sections: &[SectionRow],
    isa: Isa,
    rows: mpsc::SyncSender<Batch>,
) -> Result<Target<'a>, StoreError> {
    let usual = packed::options(options.literal_saves, options.detail());
    let superblock_after = options.superblock_after.unwrap_or(usual.superblock_after);
    let pass_options = analysis::Options { superblock_after, ..usual };
    // A failed send means that the writer has ended: its error is taken when it is joined.
    let send = |rows: mpsc::SyncSender<Batch>| -> Send<'a> {
        Box::new(move |batch| {
            let _ = rows.send(batch);
        })
    };
    let packed =
        options.steps.then(|| PackedRuns::begin(rows.clone(), options.chunk_steps)).transpose()?;
    let kept = options.detail() >= Detail::Pairs;
    let kept = kept.then(|| RunRows::new(send(rows.clone()), 0..=u64::MAX));
    let events = EventRows::new(send(rows.clone()), options.detail() >= Detail::Instance);
    let pass = Pass::new(
        functions,
        PassRows::new(send(rows), 0..=u64::MAX),
        pass_options,
        dictionary::ranges(sections, 0),
        processor(isa),
    );
    Ok(Target::new(pass, (kept, packed), events))
}

/// An error if images were given and none of the executed instructions is in a function of them.
fn fits(
    code: &Functions,
    space: &AddressSpace,
    mut addresses: impl Iterator<Item = u64> + Clone,
) -> Result<(), BuildError> {
    if space.images().is_empty() || !code.names.without_symbols() {
        return Ok(());
    }
    let stripped = space.images().iter().all(|i| i.image.stripped);
    if stripped && addresses.clone().any(|a| space.image_at(a).is_some()) {
        return Ok(());
    }
    let paths = space.images().iter().map(|i| i.image.path.display().to_string());
    Err(BuildError::WrongElf {
        first: addresses.next().unwrap_or(0),
        elf: paths.collect::<Vec<_>>().join(", "),
    })
}
