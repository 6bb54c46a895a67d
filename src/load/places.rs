//! What places are when the trace has ended: their `via`, and who wrote what no step wrote.

use super::dictionary::SectionRow;
use super::names::FunctionNames;
use crate::analysis::Summary;
use crate::analysis::origin::{Origin, Source, StackSide};
use crate::analysis::place::{Place, PlaceCode};
use crate::analysis::summary::FunctionFlow;
use crate::id::FunctionId;
use crate::image::AddressSpace;
use std::collections::{BTreeMap, BTreeSet};

/// A place and who wrote there, or read, if it was no step.
type Outside = (PlaceCode, Source);

/// What bytes of memory that no step wrote come from, outside of sections and stacks.
pub fn unwritten(all_stores: bool) -> &'static str {
    if all_stores { "<uninitialised>" } else { "<input>" }
}

pub struct Places<'a> {
    space: &'a AddressSpace,
    sections: &'a [SectionRow],
    summary: &'a Summary,
    pseudo: BTreeMap<Outside, FunctionId>,
    unwritten: &'static str,
}

impl<'a> Places<'a> {
    /// Adds the pseudo-functions of bytes that were read, or that were read by none of the
    /// functions, to these.
    pub fn new(
        space: &'a AddressSpace,
        sections: &'a [SectionRow],
        summary: &'a Summary,
        names: &mut FunctionNames,
        all_stores: bool,
    ) -> Self {
        let pseudo = BTreeMap::new();
        let mut places =
            Places { space, sections, summary, pseudo, unwritten: unwritten(all_stores) };
        let ends = |f: &FunctionFlow| [(f.place, f.writer), (f.place, f.reader)];
        let of_functions = summary.function_flows.iter().flat_map(ends);
        let of_functions = of_functions.filter_map(|(place, end)| match end {
            Origin::Source(source) => Some((place, source)),
            Origin::Step(_) => None,
        });
        let of_places = summary.flow_places.iter().filter_map(|p| Some((p.place, p.source?)));
        let wanted: BTreeSet<Outside> = of_functions.chain(of_places).collect();
        for (place, source) in wanted {
            let name = places.name(place, source);
            places.pseudo.insert((place, source), names.pseudo(name));
        }
        places
    }

    /// Name of the pseudo-function that a source is for the bytes of a place.
    fn name(&self, place: PlaceCode, source: Source) -> String {
        let side = match source {
            Source::Named(source) => return self.summary.sources.name(source).to_owned(),
            Source::Initial(side) => side,
        };
        match place.place() {
            Place::Register => "<initial registers>".into(),
            Place::Section(s) => {
                let section = &self.sections[s as usize];
                match section.image {
                    None => section.name.clone(),
                    Some(_) if self.space.images().len() == 1 => {
                        format!("<image {}>", section.name)
                    }
                    Some(image) => format!("<{} {}>", self.space.image_name(image), section.name),
                }
            }
            Place::Region(r) if !self.summary.region_is_stack[r as usize] => self.unwritten.into(),
            Place::Region(_) => match side {
                StackSide::Above => "<stack start>".into(),
                StackSide::Below => "<uninitialised>".into(),
            },
        }
    }

    /// The word for `via`.
    pub fn via(&self, place: PlaceCode) -> &'static str {
        match place.place() {
            Place::Register => "register",
            Place::Section(s) => self.sections[s as usize].via,
            Place::Region(r) if self.summary.region_is_stack[r as usize] => "stack",
            Place::Region(_) => "heap",
        }
    }

    /// The pseudo-function of a source.
    pub fn pseudo(&self, place: PlaceCode, source: Source) -> Option<FunctionId> {
        self.pseudo.get(&(place, source)).copied()
    }

    /// The function, or the pseudo-function.
    pub fn function(&self, origin: Origin<FunctionId>, place: PlaceCode) -> Option<FunctionId> {
        match origin {
            Origin::Step(function) => Some(function),
            Origin::Source(source) => self.pseudo(place, source),
        }
    }
}
