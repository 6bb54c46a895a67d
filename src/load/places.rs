//! What places are when the trace has ended: their `via`, and who wrote what no step wrote.

use super::dictionary::SectionRow;
use super::names::FunctionNames;
use crate::analysis::pass::{PlaceCode, Side, Summary};
use crate::analysis::shadow::Place;
use crate::id::FunctionId;
use std::collections::{BTreeMap, BTreeSet};

/// A place and the side of the first stack pointer on which nobody wrote.
type Unwritten = (PlaceCode, bool);

pub struct Places<'a> {
    sections: &'a [SectionRow],
    summary: &'a Summary,
    pseudo: BTreeMap<Unwritten, FunctionId>,
}

impl<'a> Places<'a> {
    /// Adds the pseudo-functions of bytes that were read to the functions.
    pub fn new(
        sections: &'a [SectionRow],
        summary: &'a Summary,
        names: &mut FunctionNames,
    ) -> Self {
        let mut places = Places { sections, summary, pseudo: BTreeMap::new() };
        let pairs = summary.pairs.iter().filter_map(|&(side, _, place, _)| match side {
            Side::None { above } => Some((place, above)),
            Side::Function(_) => None,
        });
        let flows =
            summary.flow_places.iter().filter_map(|p| p.nobody.map(|above| (p.place, above)));
        let wanted: BTreeSet<Unwritten> = pairs.chain(flows).collect();
        for (place, above) in wanted {
            let name = places.pseudo_name(place, above, names);
            places.pseudo.insert((place, above), names.pseudo(name));
        }
        places
    }

    fn pseudo_name(&self, place: PlaceCode, above: bool, names: &FunctionNames) -> String {
        match place.place() {
            None => "<initial registers>".into(),
            Some(Place::Section(s)) => {
                let section = &self.sections[s as usize];
                if names.space().images().len() == 1 {
                    format!("<image {}>", section.name)
                } else {
                    format!("<{} {}>", names.image_name(section.image), section.name)
                }
            }
            Some(Place::Region(r)) => match (self.summary.region_is_stack[r as usize], above) {
                (true, true) => "<stack start>".into(),
                (true, false) => "<uninitialised>".into(),
                _ => "<input>".into(),
            },
        }
    }

    /// The word for `via`.
    pub fn via(&self, place: PlaceCode) -> &'static str {
        match place.place() {
            None => "register",
            Some(Place::Section(s)) if self.sections[s as usize].writable => "global",
            Some(Place::Section(_)) => "constant",
            Some(Place::Region(r)) if self.summary.region_is_stack[r as usize] => "stack",
            Some(Place::Region(_)) => "heap",
        }
    }

    /// Who wrote what no step wrote.
    pub fn pseudo(&self, place: PlaceCode, above: bool) -> Option<FunctionId> {
        self.pseudo.get(&(place, above)).copied()
    }

    /// The function, or who wrote what no step wrote.
    pub fn writer(&self, side: Side, place: PlaceCode) -> Option<FunctionId> {
        match side {
            Side::Function(f) => FunctionId::new(f),
            Side::None { above } => self.pseudo(place, above),
        }
    }
}
