//! The sums of a run without a database: who called whom, and whose data each function read.

use super::finish;
use super::folded::{self, Edge};
use super::intake::Progress;
use super::names::FunctionNames;
use super::options::{Detail, Options};
use super::places::{self, Places};
use super::steps::{self, Passed};
use super::{BuildError, Images};
use crate::analysis::CallEdge;
use crate::diagnostics::Diagnostics;
use crate::id::FunctionId;
use crate::image::AddressSpace;
use crate::trace::StepFormat;
use crate::trace::input::{Input, Witness};
use rustc_hash::FxHashSet;
use std::sync::mpsc;

/// A function that ran, or stands for who wrote or read outside of the program.
pub struct SummedFunction {
    pub name: String,
    pub file: Option<String>,
    pub is_pseudo: bool,
    pub calls: u64,
    pub steps_self: u64,
    pub steps_total: u64,
}

/// Sums of a run, stubs merged into their callers.
pub struct Summed {
    pub steps: u64,
    /// In the order of ids.
    pub functions: Vec<SummedFunction>,
    /// Each with whether its unique bytes and addresses are known.
    pub flows: Vec<(Edge, bool)>,
    pub calls: Vec<CallEdge>,
    pub diagnostics: Diagnostics,
}

/// Goes over the traces once.
pub fn sum(
    options: &Options,
    images: Images,
    inputs: Vec<(Input, &'static dyn StepFormat)>,
    progress: Progress,
) -> Result<Summed, BuildError> {
    let options = Options { detail: Detail::Summary, steps: false, ..options.clone() };
    // Nobody takes rows.
    let passed = steps::pass(&options, images, inputs, progress, || Ok(mpsc::sync_channel(1).0))?;
    passed.witnesses.iter().try_for_each(Witness::check)?;
    Ok(summed(passed))
}

fn summed(passed: Passed) -> Summed {
    let Passed { space, summary, front, traces, code, .. } = passed;
    let space = space.borrow();
    let mut names = code.names;
    let section_names = places::section_names(&space, &front.maps.sections);
    let all_stores = traces.iter().all(|trace| trace.carries.all_stores);
    let unwritten = places::unwritten(all_stores);
    let places = Places::new(&section_names, &summary, unwritten, |name| names.pseudo(name));
    let stubs: FxHashSet<FunctionId> = summary.stubs.iter().copied().collect();
    let all = finish::edges(&summary.function_flows, &places);
    let flows = folded::merge_edges(&stubs, all, finish::edges(&summary.stub_flows, &places));
    let calls = folded::merge_calls(&stubs, &summary.call_edges, &summary.stub_calls);
    let functions = (0..names.len()).map(|i| {
        let sums = summary.functions.get(i);
        let (calls, own, total) =
            sums.map_or((0, 0, 0), |s| (s.calls, s.steps_self, s.steps_total));
        function(&names, &space, FunctionId::at(i), [calls, own, total])
    });
    Summed {
        steps: summary.steps,
        functions: functions.collect(),
        flows,
        calls,
        diagnostics: passed.diagnostics,
    }
}

fn function(
    names: &FunctionNames,
    space: &AddressSpace,
    id: FunctionId,
    [calls, steps_self, steps_total]: [u64; 3],
) -> SummedFunction {
    let (name, file, is_pseudo) = names.described(space, id);
    SummedFunction { name, file, is_pseudo, calls, steps_self, steps_total }
}
