//! The sums of a recorder for the database of the stream that it wrote beside them.

use super::super::dictionary::SectionRow;
use super::super::names::FunctionNames;
use super::planner::{PlaceName, Planner};
use super::rows::Rows;
use super::summary::{Known, merged, summary};
use crate::analysis::Summary;
use crate::diagnostics::Diagnostic;
use crate::image::{AddressSpace, Loaded};
use std::ffi::OsString;

/// Where an image lay: the name of its file, and its load bias.
type ImageAt = (Option<OsString>, u64);

fn image_at(loaded: &Loaded) -> ImageAt {
    (loaded.image.path.file_name().map(OsString::from), loaded.bias)
}

/// What a recorder has added up of a whole run, with what its numbers mean.
pub struct RunSums {
    rows: Rows,
    functions: FunctionNames,
    images: Vec<ImageAt>,
    places: Vec<PlaceName>,
    sources: Vec<String>,
}

impl RunSums {
    pub fn new(planner: Planner, rows: Rows) -> RunSums {
        let images = planner.space.borrow().images().iter().map(image_at).collect();
        let Planner { functions, places, sources, .. } = planner;
        RunSums { rows, functions: functions.names, images, places, sources }
    }

    /// What of them is not as a pass would have it.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        merged(self.rows.several())
    }

    /// In the numbers of a database that has these functions and sections. `noted` is what a pass has noted of the run.
    ///
    /// # Errors
    /// Why they are not those of the run.
    pub fn of_database(
        &self,
        space: &AddressSpace,
        names: &FunctionNames,
        sections: &[SectionRow],
        noted: Summary,
    ) -> Result<Summary, String> {
        if let Some(problem) = self.rows.problems.first() {
            return Err(problem.clone());
        }
        if !self.rows.is_whole {
            return Err("the program was killed".to_owned());
        }
        let own: Vec<ImageAt> = space.images().iter().map(image_at).collect();
        let images = self.images.iter().map(|image| own.iter().position(|known| known == image));
        let images: Vec<Option<usize>> = images.collect();
        let image = |at: usize| images.get(at).copied().flatten();
        let place = |place: &PlaceName| {
            let of = match place.image {
                Some(at) => Some(image(at)?),
                None => None,
            };
            PlaceName { image: of, name: place.name.clone(), ..*place }.code(sections)
        };
        let known = Known {
            functions: names.counterparts(&self.functions, image),
            function_count: names.len(),
            places: self.places.iter().map(place).collect(),
            sources: self.sources.clone(),
            ..Known::default()
        };
        let sums = summary(&known, &self.rows);
        if known.lacks.get() || sums.steps != noted.steps {
            return Err("they are not of what was recorded".to_owned());
        }
        let Summary { regions, first_sp, threads, signals, switches, pages, .. } = noted;
        Ok(Summary { regions, first_sp, threads, signals, switches, pages, ..sums })
    }
}
