//! Goes through a DCFG-trace, thread by thread.

use super::rows::Rows;
use super::sink::Counters;
use super::walk::{self, Walk};
use crate::diagnostics::{Diagnostic, Severity};
use crate::load::{BuildError, Load};
use crate::store::StoreError;
use crate::trace::dcfg::graph::Graph;
use crate::trace::dcfg::notes::{LEFT_OUT, RULE};
use crate::trace::dcfg::trace::{Record, Records};
use crate::trace::input::Input;
use std::sync::Arc;

/// Steps of the threads that were in a trace, by process and thread.
pub struct Seen(Vec<Vec<Option<u64>>>);

impl Seen {
    pub fn new(graph: &Graph) -> Seen {
        Seen(graph.processes.iter().map(|p| vec![None; p.threads()]).collect())
    }

    /// None if the thread was in no trace.
    pub fn steps(&self, process: usize, thread: usize) -> Option<u64> {
        self.0[process][thread]
    }
}

/// A trace file, and what the walk through it fills.
pub struct TraceFile<'w, 'c, 'a> {
    pub graph: &'w Arc<Graph>,
    pub rows: &'w mut Rows<'c, 'a>,
    pub counters: &'w mut Counters,
    pub seen: &'w mut Seen,
}

/// A thread in a file, for messages.
struct Place<'n> {
    name: &'n str,
    pid: u64,
    thread: u64,
}

impl Place<'_> {
    fn problem(
        &self,
        severity: Severity,
        code: &'static str,
        message: String,
        remedy: &'static str,
    ) -> Diagnostic {
        let position = format!("{}: process {}, thread {}", self.name, self.pid, self.thread);
        Diagnostic { severity, code, message, position, remedy }
    }
}

impl TraceFile<'_, '_, '_> {
    pub fn walk(&mut self, input: Input, load: &mut Load) -> Result<(), BuildError> {
        let name = input.name().to_owned();
        let mut records = Records::start(input, self.graph.clone())
            .map_err(|source| StoreError::Thread { source })?;
        let result = self.threads(&mut records, &name, load);
        records.finish();
        result
    }

    fn threads(
        &mut self,
        records: &mut Records,
        name: &str,
        load: &mut Load,
    ) -> Result<(), BuildError> {
        let mut next = records.next(load);
        while let Some(record) = next {
            load.check()?;
            next = match record {
                Record::Thread(process, thread) => {
                    let pid = self.graph.processes[process].pid;
                    let place = Place { name, pid, thread };
                    self.thread(process, &place, records, load)?
                }
                // What a chunk tells belongs to a thread that was left out.
                _ => records.next(load),
            };
        }
        Ok(())
    }

    /// One thread; gives the record behind it.
    fn thread(
        &mut self,
        p: usize,
        place: &Place,
        records: &mut Records,
        load: &mut Load,
    ) -> Result<Option<Record>, BuildError> {
        let known = usize::try_from(place.thread).ok().filter(|&t| t < self.seen.0[p].len());
        let refused = match known.map(|t| self.seen.0[p][t]) {
            None => {
                Some(format!("the DCFG has no thread {}: its trace was left out", place.thread))
            }
            Some(Some(_)) => Some("a second trace of this thread was left out".to_owned()),
            Some(None) => None,
        };
        let (Some(t), None) = (known, &refused) else {
            let message = refused.unwrap_or_default();
            load.problem(place.problem(Severity::Error, "dcfg-thread", message, LEFT_OUT))?;
            return Ok(records.next(load));
        };
        self.rows.process = p;
        let process = &self.graph.processes[p];
        let bypass = walk::bypasses(process);
        let id = self.rows.code.thread_id(p, t);
        let mut walk = Walk::new(process, id, self.counters, &bypass, self.rows);
        let (steps, next) = chunks(&mut walk, place, records, load)?;
        walk.finish();
        let jumps = walk.jumps;
        self.rows.check()?;
        if jumps > 0 {
            let message = format!("{jumps} edges do not begin where the one before ends");
            load.problem(place.problem(Severity::Warning, "dcfg-jump", message, RULE))?;
        }
        if let Some(&all) = process.instructions_per_thread.get(t)
            && steps < all
        {
            let message = format!("the trace has {steps} of the {all} instructions of this thread");
            let remedy = "nothing, if only a part was recorded";
            load.problem(place.problem(Severity::Info, "dcfg-part", message, remedy))?;
        }
        self.seen.0[p][t] = Some(steps);
        Ok(next)
    }
}

/// The chunks of a thread; gives their steps and the record behind them.
fn chunks(
    walk: &mut Walk<Rows>,
    place: &Place,
    records: &mut Records,
    load: &mut Load,
) -> Result<(u64, Option<Record>), BuildError> {
    let (mut skip, mut steps) = (false, 0);
    let (mut begin, mut wanted) = (0, 0);
    while let Some(record) = records.next(load) {
        load.check()?;
        match record {
            Record::Thread(..) => return Ok((steps, Some(record))),
            Record::Chunk { preceding, instructions, edges } => {
                skip = preceding < walk.steps();
                if skip {
                    let message = format!(
                        "a chunk of {edges} edges begins at {preceding} instructions, behind {}: it was left out",
                        walk.steps()
                    );
                    load.problem(place.problem(
                        Severity::Error,
                        "dcfg-chunk-order",
                        message,
                        LEFT_OUT,
                    ))?;
                } else if preceding > walk.steps() {
                    let lost = preceding - walk.steps();
                    let message = format!(
                        "{lost} instructions before instruction {preceding} are not in the trace"
                    );
                    let remedy = "calls that are open there begin anew, of kind gap";
                    load.problem(place.problem(Severity::Info, "dcfg-gap", message, remedy))?;
                    walk.gap(preceding);
                }
                (begin, wanted) = (walk.steps(), instructions);
            }
            Record::Edges(edges) if !skip => edges.into_iter().for_each(|e| walk.edge(e)),
            Record::End(whole) if !skip => {
                let counted = walk.steps() - begin;
                steps += counted;
                if whole && counted != wanted {
                    let message =
                        format!("a chunk of {wanted} instructions has blocks with {counted}");
                    load.problem(place.problem(
                        Severity::Warning,
                        "dcfg-chunk-count",
                        message,
                        RULE,
                    ))?;
                }
            }
            Record::Edges(_) | Record::End(_) => {}
        }
    }
    Ok((steps, None))
}
