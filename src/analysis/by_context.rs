//! Data by calling context: who reads what of whom, each end as the chain of calls that led to it. Of
//! functions that everybody calls, such as `memcpy` and `malloc`, this says for whom they work.
//!
//! Where actors are functions, an instance reads and writes as its function in its context; else the
//! flows of each instance are added up by the contexts of both ends when they are handed out. The chains are
//! those of [`super::contexts::StepContexts::straight`].

use super::flows::Flows;
use super::origin::Packed;
use super::place::PlaceCode;
use super::sums::PairSums;
use crate::id::{CallId, FunctionId};
use rustc_hash::FxHashMap;

/// Where actors are instructions: the flows between instances, by the actors that these are.
#[derive(Default)]
pub struct ByContext {
    /// By instance; None where not all of the run is gone through.
    actors: Option<Vec<FunctionId>>,
    flows: FxHashMap<(Packed, Packed, PlaceCode), PairSums>,
}

impl ByContext {
    /// All instances are told of.
    pub fn begin() -> ByContext {
        ByContext { actors: Some(Vec::new()), flows: FxHashMap::default() }
    }

    /// Whether anybody asks.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.actors.is_some()
    }

    /// The next instance begins.
    #[inline]
    pub fn add(&mut self, call: CallId, actor: FunctionId) {
        if let Some(actors) = &mut self.actors {
            debug_assert_eq!(actors.len(), call.index(), "instances are numbered from 0");
            actors.push(actor);
        }
    }

    /// What an instance is.
    #[inline]
    pub fn actor(&self, call: CallId) -> Option<FunctionId> {
        self.actors.as_ref()?.get(call.index()).copied()
    }

    /// What an instance has read is handed out.
    pub fn read(&mut self, reader: CallId, flows: &Flows) {
        let Some(reader) = self.actor(reader).map(Packed::step) else { return };
        for flow in flows.entries() {
            let of_step = flow.step().and_then(|(call, _)| self.actor(call));
            let writer = of_step.map_or(flow.function, Packed::step);
            let sums = self.flows.entry((writer, reader, flow.place)).or_default();
            sums.bytes += flow.bytes;
            sums.unique += flow.unique;
            sums.transfers += flow.transfers;
        }
    }

    /// The kernel has read, as `sink`, what an instance or a source wrote.
    pub fn read_by_kernel(
        &mut self,
        (writer, function, sink): (Packed, Packed, Packed),
        place: PlaceCode,
        (bytes, transfers): (u64, u64),
    ) {
        if self.is_asked() {
            let of_step = writer.writer().and_then(|call| self.actor(call));
            let writer = of_step.map_or(function, Packed::step);
            let sums = self.flows.entry((writer, sink, place)).or_default();
            sums.bytes += bytes;
            sums.unique += bytes;
            sums.transfers += transfers;
        }
    }

    pub fn flows(&self) -> impl Iterator<Item = (Packed, Packed, PlaceCode, PairSums)> + '_ {
        self.flows.iter().map(|(&(writer, reader, place), &sums)| (writer, reader, place, sums))
    }
}
