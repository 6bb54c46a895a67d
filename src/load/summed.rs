//! The sums of a run without a database: who called whom, and whose data each function read.

use super::error::BuildError;
use super::finish;
use super::folded::Edge;
use super::intake::Progress;
use super::options::{Detail, Options};
use super::places::{self, Places};
use super::steps::{self, Passed};
use crate::analysis::CallEdge;
use crate::diagnostics::Diagnostics;
use crate::id::FunctionId;
use crate::image::Image;
use crate::trace::StepFormat;
use crate::trace::input::{Input, Witness};
use std::sync::mpsc;

/// A function that ran, or stands for who wrote or read outside of the program.
pub struct SummedFunction {
    pub name: String,
    pub file: Option<String>,
    /// PLT stub, veneer or IFUNC resolver.
    pub is_stub: bool,
    pub is_pseudo: bool,
    pub calls: u64,
    pub steps_self: u64,
    pub steps_total: u64,
}

/// Sums of a run.
pub struct Summed {
    pub steps: u64,
    /// In the order of ids.
    pub functions: Vec<SummedFunction>,
    pub flows: Vec<Edge>,
    pub calls: Vec<CallEdge>,
    pub diagnostics: Diagnostics,
}

/// Goes over the traces once.
pub fn sum(
    options: &Options,
    images: Vec<(Image, Option<u64>)>,
    inputs: Vec<(Input, &'static dyn StepFormat)>,
    progress: Progress,
) -> Result<Summed, BuildError> {
    let options = Options { detail: Some(Detail::Summary), steps: false, ..options.clone() };
    // Nobody takes rows.
    let rows = || Ok(mpsc::sync_channel(1).0);
    let passed = steps::pass(&options, images, inputs, progress, rows, None)?;
    passed.witnesses.iter().try_for_each(Witness::check)?;
    Ok(summed(passed))
}

fn summed(passed: Passed) -> Summed {
    let Passed { space, summary, front, traces, code, .. } = passed;
    let space = space.borrow();
    let traits = code.traits();
    let mut names = code.names;
    let section_names = places::section_names(&space, &front.maps.sections);
    let all_stores = traces.iter().all(|trace| trace.carries.all_stores);
    let unwritten = places::unwritten(all_stores);
    let places = Places::new(&section_names, &summary, unwritten, |name| names.pseudo(name));
    let flows = finish::edges(&summary.function_flows, &places);
    let functions = (0..names.len()).map(|i| {
        let (name, file, is_pseudo) = names.described(&space, FunctionId::at(i));
        let sums = summary.functions.get(i).copied().unwrap_or_default();
        SummedFunction {
            name,
            file,
            is_stub: traits.get(i).is_some_and(|of| of.stub),
            is_pseudo,
            calls: sums.calls,
            steps_self: sums.steps_self,
            steps_total: sums.steps_total,
        }
    });
    Summed {
        steps: summary.steps,
        functions: functions.collect(),
        flows,
        calls: summary.call_edges,
        diagnostics: passed.diagnostics,
    }
}
