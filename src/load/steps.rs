//! From steps to tables: three threads - the reader's, the pass's (the caller's) and the writer's,
//! with batches of columns between them.

use super::code::{Functions, Named, Space};
use super::dictionary::{self, SectionRow, TraceFile};
use super::events::EventRows;
use super::finish::{End, Packed};
use super::front::{Front, Target};
use super::intake::{Intake, Progress, Records};
use super::limit;
use super::pass::Send;
use super::placing;
use super::reader::{Reader, Reading};
use super::rows::PassRows;
use super::runs::{PackedRuns, RunRows};
use super::suspicions;
use super::{BuildError, Detail, Options, Report};
use crate::analysis::access::SaveRule;
use crate::analysis::pass::{FrameSlot, Pass, Processor};
use crate::analysis::{self, Details, superblock};
use crate::diagnostics::Counted;
use crate::event::{Isa, Keeps};
use crate::image::{AddressSpace, Image};
use crate::isa;
use crate::store::StoreError;
use crate::store::table::Batch;
use crate::store::writer::Writer;
use crate::trace::StepFormat;
use crate::trace::input::{Input, Witness};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;

/// Builds a database from traces whose records are steps or runs.
pub fn build(
    options: &Options,
    images: Vec<(Image, Option<u64>)>,
    mut inputs: Vec<(Input, &'static dyn StepFormat)>,
    progress: Progress,
) -> Result<Report, BuildError> {
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
    let named = [("--through", &options.through), ("--pairs-in", &options.part.inside)];
    let mut named = named.map(|(option, names)| Named::new(option, names));
    named.iter_mut().for_each(|functions| functions.look(&space.borrow(), 0));
    if !intake.carries().mappings {
        named.iter().try_for_each(Named::check)?;
    }
    let mut writer = Writer::create(&options.output, options.force)?;
    let rows = writer.sender().ok_or(StoreError::Stopped)?;
    let mut front = Front::new(isa, space.clone(), placed.waiting, options.devices.clone());
    let functions = Functions::new(space.clone(), isa == Isa::Arm, named);
    let first_sections = front.maps.sections.len();
    let mut target = target(options, functions, &front.maps.sections, isa, rows)?;
    for records in placed.early {
        take(records, &mut front, &mut target, &mut intake);
    }
    while let Some(records) = intake.next()? {
        take(records, &mut front, &mut target, &mut intake);
    }
    front.release(&mut target);
    for image in front.maps.unmapped() {
        intake.diagnostics.add(placing::unknown_bias(&image));
    }
    for (diagnostic, count) in front.diagnostics() {
        intake.diagnostics.add_counted(diagnostic, count);
    }
    traces.iter_mut().zip(&intake.carries).for_each(|(trace, carries)| trace.carries = *carries);
    let Target { mut pass, rows, packed, events, mapped, placed, mut first_stack_pointers } =
        target;
    first_stack_pointers.push(pass.first_stack_pointer());
    let low = rows.is_some() || packed.is_some();
    let summary = pass.finish();
    let counts = pass.block_counts();
    pass.output().finish();
    packed.map_or(Ok(()), PackedRuns::finish)?;
    if let Some(kept) = rows.map(RunRows::finish).filter(|_| options.part.option().is_some()) {
        intake.diagnostics.add(suspicions::part(kept, summary.steps, packs(options)));
    }
    let left_out = summary.contexts.left_out();
    if left_out > 0 && options.detail == Detail::Summary {
        intake.diagnostics.add(suspicions::contexts(left_out));
    }
    events.finish();
    if intake.conditional_exits.len() == traces.len() {
        let exits = intake.conditional_exits.iter().sum();
        let chased = suspicions::chased(exits, &pass.insns, &pass.defs, &counts);
        chased.into_iter().for_each(|d| intake.diagnostics.add(d));
    }
    let renamed = suspicions::renamed(&pass.insns, &pass.defs, &counts);
    renamed.into_iter().for_each(|d| intake.diagnostics.add(d));
    if !intake.carries.iter().any(|carries| carries.threads) {
        let interleaved = suspicions::interleaved(&pass.interleaving);
        interleaved.into_iter().for_each(|d| intake.diagnostics.add(d));
    }
    // With it all senders go, so that the writer ends.
    let (code, insns, defs) = pass.into_code();
    code.through.check()?;
    code.kept.check()?;
    let space = space.borrow();
    if !options.force_elf {
        fits(&code, &space, insns.iter().map(|i| i.def.address))?;
        let names: Vec<&str> = traces.iter().map(|trace| trace.path.as_str()).collect();
        front.parts.check(&names, &intake.processes, &insns, &space)?;
        front.parts.fits().check(&space)?;
    }
    if !front.elaborated {
        for Counted { first, count } in suspicions::unmodelled(&insns, &defs, &counts) {
            intake.diagnostics.add_counted(first, count);
        }
    }
    let nameless = suspicions::nameless(&insns, &defs, &counts, &code.names);
    nameless.into_iter().for_each(|d| intake.diagnostics.add(d));
    let inclusive = suspicions::inclusive(&summary, |f| code.names.of_symbol(&space, f));
    inclusive.into_iter().for_each(|c| intake.diagnostics.add_counted(c.first, c.count));
    let connection = writer.join()?;
    limit::give_back();
    let with_threads = intake.carries.iter().any(|c| c.threads);
    let functions = code.traits();
    let packed = packs(options).then_some(Packed {
        first_sections,
        placed,
        first_stack_pointers,
        functions,
    });
    let end = End {
        connection: &connection,
        options,
        space: &space,
        sections: &front.maps.sections,
        mapped: &mapped,
        processes: &front.processes,
        logged_threads: front.threads(),
        image_processes: &front.maps.processes,
        insn_images: &front.images,
        insns: &insns,
        defs: &defs,
        counts: &counts,
        summary: &summary,
        isa,
        threads: with_threads,
        low,
        dead: true,
        unique: true,
        packed,
    };
    let functions = end.write(code.names, &traces, &intake.diagnostics)?;
    witnesses.iter().try_for_each(Witness::check)?;
    writer.commit(connection)?;
    Ok(Report {
        format: traces.first().map_or("", |t| t.format),
        steps: summary.steps,
        calls: u64::from(summary.calls),
        functions,
        diagnostics: intake.diagnostics,
    })
}

fn take<'a>(records: Records, front: &mut Front, target: &mut Target<'a>, intake: &mut Intake) {
    front.kernel |= intake.carries().kernel;
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
    let pass_options = analysis::Options {
        saves: if options.literal_saves { SaveRule::Literal } else { SaveRule::Transparent },
        details: match options.detail {
            Detail::Summary => Details::Sums,
            Detail::Instance => Details::Instances,
            Detail::Pairs => Details::Crossing,
            Detail::Full => Details::Local,
        },
        superblock_after: options.superblock_after.unwrap_or(superblock::HOT),
    };
    // A failed send means that the writer has ended: its error is taken when it is joined.
    let send = |rows: mpsc::SyncSender<Batch>| -> Send<'a> {
        Box::new(move |batch| {
            let _ = rows.send(batch);
        })
    };
    let steps = options.part.steps.clone().unwrap_or(0..=u64::MAX);
    let packed =
        packs(options).then(|| PackedRuns::begin(rows.clone(), options.chunk_steps)).transpose()?;
    let kept = options.detail >= Detail::Pairs;
    let kept = kept.then(|| RunRows::new(send(rows.clone()), steps.clone()));
    let events = EventRows::new(send(rows.clone()), options.detail >= Detail::Instance);
    let mut pass = Pass::new(
        functions,
        PassRows::new(send(rows), steps),
        pass_options,
        dictionary::ranges(sections, 0),
        processor(isa),
    );
    if !options.part.inside.is_empty() {
        pass.kept().only_inside();
    }
    Ok(Target::new(pass, (kept, packed), events))
}

/// Whether the run is kept in chunks: where not all of it has rows.
fn packs(options: &Options) -> bool {
    let all = options.detail >= Detail::Pairs && options.part.option().is_none();
    options.steps && !all
}

/// What the pass has to know of a processor.
pub(super) fn processor(isa: Isa) -> Processor {
    let registers = isa::registers(isa);
    let slot = match registers.link {
        Some(_) => FrameSlot::StackPointer,
        None => FrameSlot::ReturnSlot,
    };
    let spans = |keeps: Keeps| {
        let words = (0..).zip(keeps.registers());
        words.filter_map(|(word, name)| Some((word, registers.lookup(name)?))).collect()
    };
    let (link, frame) = (registers.lookup("lr"), spans(Keeps::Frame));
    Processor { register_bytes: registers.size, slot, link, frame, long: spans(Keeps::LongFrame) }
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
