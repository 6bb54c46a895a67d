//! Files that a trace says are mapped: images are opened and placed, other files are named.

use super::code::Space;
use super::dictionary::{self, SectionRow};
use super::pass::BuildPass;
use super::placing;
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{ImageMap, Isa};
use crate::image::{Image, Loaded};
use rustc_hash::FxHashSet;
use std::path::Path;

/// What lies where, as far as the trace was read.
pub struct Maps {
    isa: Isa,
    space: Space,
    /// Images that were given and wait for their mapping.
    waiting: Vec<Image>,
    /// Files that could not be opened or placed.
    given_up: FxHashSet<Box<str>>,
    /// Sections by number.
    pub sections: Vec<SectionRow>,
    pub problems: Vec<Diagnostic>,
}

impl Maps {
    /// `waiting`: images whose place only the trace tells.
    pub fn new(isa: Isa, space: Space, waiting: Vec<Image>) -> Maps {
        let sections = dictionary::sections(&space.borrow());
        let given_up = FxHashSet::default();
        Maps { isa, space, waiting, given_up, sections, problems: Vec::new() }
    }

    /// A file is mapped before the next step of the pass.
    pub fn map(&mut self, map: &ImageMap, pass: &mut BuildPass) {
        let Some(path) = map.path.as_deref().filter(|path| is_file(path)) else { return };
        let known = self.space.borrow().image_at(map.address);
        if known.is_some_and(|i| same_name(&self.space.borrow().images()[i].image.path, path)) {
            return;
        }
        if map.executable && !self.given_up.contains(path) {
            match self.image(map, path) {
                Ok(Some(loaded)) => self.place(loaded, pass),
                Ok(None) => {}
                Err(problem) => {
                    self.problems.push(problem);
                    self.given_up.insert(path.into());
                }
            }
        } else if !map.executable && map.bytes > 0 {
            self.file(map, path, pass);
        }
    }

    /// The image of an executable mapping; None if the file is no image.
    fn image(&mut self, map: &ImageMap, path: &str) -> Result<Option<Loaded>, Diagnostic> {
        let given = self.waiting.iter().position(|image| same_name(&image.path, path));
        let image = match given {
            Some(i) => self.waiting.swap_remove(i),
            // A trace may name what never ends, or waits.
            None if Path::new(path).metadata().is_ok_and(|m| !m.is_file()) => {
                return Err(unreadable(map, format!("{path} is no file")));
            }
            None => Image::open(Path::new(path)).map_err(|e| unreadable(map, e.to_string()))?,
        };
        if image.isa != self.isa {
            let message = format!("{path} has code of another instruction set than the trace");
            return Err(unreadable(map, message));
        }
        match image.bias_of_mapping(map.address, map.offset) {
            Some(bias) => Ok(Some(Loaded { image, bias })),
            None => Err(unreadable(map, format!("{path} is not the file that was mapped"))),
        }
    }

    fn place(&mut self, loaded: Loaded, pass: &mut BuildPass) {
        self.problems.extend(placing::nameless(&loaded.image));
        let first = {
            let mut space = self.space.borrow_mut();
            space.map(loaded);
            space.images().len() - 1
        };
        let space = self.space.borrow();
        pass.code.through.look(&space, first);
        let from = self.sections.len();
        self.sections.extend(dictionary::image_sections(&space, first));
        pass.add_sections(dictionary::ranges(&self.sections, from));
    }

    /// A file that is no image: its bytes are named by it.
    fn file(&mut self, map: &ImageMap, path: &str, pass: &mut BuildPass) {
        let from = self.sections.len();
        let last = map.address.saturating_add(map.bytes - 1);
        let file = path.rsplit('/').next().unwrap_or(path);
        self.sections.push(SectionRow {
            image: None,
            name: format!("<mmap: {file}>"),
            first: map.address,
            last,
            // Of memory that may change, as far as `via` tells.
            writable: true,
            executable: false,
        });
        pass.add_sections(dictionary::ranges(&self.sections, from));
    }

    /// Images that were given and that the trace does not have.
    pub fn unmapped(&mut self) -> Vec<Image> {
        std::mem::take(&mut self.waiting)
    }
}

/// Whether a mapping's name is that of a file, and not of what the kernel or a device puts there.
fn is_file(path: &str) -> bool {
    path.starts_with('/') && !path.starts_with("/dev/") && !path.starts_with("/SYSV")
}

/// Whether two paths end in the same file name: folders may be those of another machine.
fn same_name(given: &Path, mapped: &str) -> bool {
    given.file_name().is_some_and(|name| Path::new(mapped).file_name() == Some(name))
}

fn unreadable(map: &ImageMap, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        code: "image-not-loaded",
        message: format!("the image mapped at {:#x} is not known: {message}", map.address),
        position: String::new(),
        remedy: "give the file as it was recorded: --elf FILE",
    }
}
