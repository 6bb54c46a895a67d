//! What places are when the trace has ended: their `via`, and who wrote what no step wrote.

use super::dictionary::SectionRow;
use crate::analysis::Summary;
use crate::analysis::origin::{Origin, Source, StackSide};
use crate::analysis::place::{Place, PlaceCode};
use crate::analysis::summary::FunctionFlow;
use crate::id::FunctionId;
use crate::image::AddressSpace;
use crate::store::run_code::SectionName;
use std::collections::{BTreeMap, BTreeSet};

/// A place and who wrote there, or read, if it was no step.
type Outside = (PlaceCode, Source);

/// What bytes of memory that no step wrote come from, outside of sections and stacks.
pub fn unwritten(all_stores: bool) -> &'static str {
    if all_stores { "<uninitialised>" } else { "<input>" }
}

/// What each section stands for, in the order of their numbers.
pub fn section_names(space: &AddressSpace, sections: &[SectionRow]) -> Vec<SectionName> {
    let pseudo = |section: &SectionRow| match section.image {
        None => section.name.clone(),
        Some(_) if space.images().len() == 1 => format!("<image {}>", section.name),
        Some(image) => format!("<{} {}>", space.image_name(image), section.name),
    };
    sections.iter().map(|s| SectionName { pseudo: pseudo(s), via: s.via }).collect()
}

pub struct Places<'a> {
    sections: &'a [SectionName],
    summary: &'a Summary,
    pseudo: BTreeMap<Outside, FunctionId>,
    unwritten: &'a str,
}

impl<'a> Places<'a> {
    /// `pseudo` gives the pseudo-function of a name: of bytes that were read, or that were read by
    /// none of the functions.
    pub fn new(
        sections: &'a [SectionName],
        summary: &'a Summary,
        unwritten: &'a str,
        mut pseudo: impl FnMut(String) -> FunctionId,
    ) -> Self {
        let mut places = Places { sections, summary, pseudo: BTreeMap::new(), unwritten };
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
            places.pseudo.insert((place, source), pseudo(name));
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
            Place::Section(s) => self.sections[s as usize].pseudo.clone(),
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
