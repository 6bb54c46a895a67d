//! Files that a trace says are mapped: images are opened and placed, other files are named.

use super::code::Space;
use super::devices;
use super::dictionary::{self, SectionRow};
use super::pass::BuildPass;
use super::placing;
use crate::analysis::place::SectionRange;
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::{ImageMap, Isa, NamedRange};
use crate::image::{AddressSpace, Image, Loaded};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use std::sync::Arc;

/// What images are mapped in.
const PAGE: u64 = 4096;

/// What lies where, as far as the trace was read.
pub struct Maps {
    isa: Isa,
    space: Space,
    /// Images that were given and wait for their mapping.
    waiting: Vec<Image>,
    /// Files that could not be opened or placed.
    given_up: FxHashSet<Box<str>>,
    /// Images by the name that the trace has for them.
    opened: FxHashMap<Box<str>, Arc<Image>>,
    /// The process that is mapped into, counted from 0.
    process: usize,
    /// By image: the process that has it; None: several.
    pub processes: Vec<Option<usize>>,
    /// Images that were given with their places, of whose code the trace has not told yet.
    given: FxHashSet<usize>,
    /// Sections by number.
    pub sections: Vec<SectionRow>,
    pub problems: Vec<Diagnostic>,
}

impl Maps {
    /// `waiting`: images whose place only the trace tells.
    pub fn new(isa: Isa, space: Space, waiting: Vec<Image>) -> Maps {
        let sections = dictionary::sections(&space.borrow());
        let images = space.borrow().images().len();
        Maps {
            isa,
            space,
            waiting,
            given_up: FxHashSet::default(),
            opened: FxHashMap::default(),
            process: 0,
            processes: vec![Some(0); images],
            given: (0..images).collect(),
            sections,
            problems: Vec::new(),
        }
    }

    /// What is mapped from here on is of another process.
    pub fn next_process(&mut self) {
        self.process += 1;
        self.space.borrow_mut().unmap_all();
    }

    /// A file is mapped: gives the sections that lie there from then on.
    pub fn map(&mut self, map: &ImageMap, pass: &mut BuildPass) -> Vec<SectionRange> {
        let Some(path) = map.file() else { return Vec::new() };
        let known = self.space.borrow().image_at(map.address);
        let same = |i: &usize| same_name(&self.space.borrow().images()[*i].image.path, path);
        if let Some(known) = known.filter(same) {
            self.belongs(known);
            return self.given(known, map, path);
        }
        if map.executable && !self.given_up.contains(path) {
            match self.image(map, path) {
                Ok(loaded) => return self.place(loaded, pass),
                Err(problem) => {
                    self.problems.push(problem);
                    self.given_up.insert(path.into());
                }
            }
        } else if !map.executable && map.bytes > 0 {
            return self.file(map, path);
        }
        Vec::new()
    }

    /// An image lies there, with nothing of it elsewhere.
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        unmapped(&self.space.borrow(), address, bytes).next().is_some()
    }

    /// Nothing lies there any more.
    pub fn unmap(&mut self, address: u64, bytes: u64) {
        let gone: Vec<usize> = unmapped(&self.space.borrow(), address, bytes).collect();
        gone.into_iter().for_each(|image| self.space.borrow_mut().unmap(image));
    }

    /// What is mapped of an image that was given, until its code is: as if it had not been given, but
    /// that its sections are there from the beginning.
    fn given(&mut self, image: usize, map: &ImageMap, path: &str) -> Vec<SectionRange> {
        if !self.given.contains(&image) {
            return Vec::new();
        }
        if map.executable {
            self.given.remove(&image);
            return Vec::new();
        }
        let mut sections = self.file(map, path);
        sections.extend(self.image_sections(image));
        sections
    }

    /// The sections of an image have their addresses from now on.
    fn image_sections(&mut self, image: usize) -> Vec<SectionRange> {
        let from = self.sections.len();
        self.sections.extend(dictionary::image_sections(&self.space.borrow(), image));
        dictionary::ranges(&self.sections, from)
    }

    /// The process has the image, too.
    fn belongs(&mut self, image: usize) {
        let of = &mut self.processes[image];
        *of = of.filter(|process| *process == self.process);
    }

    /// The image of an executable mapping.
    fn image(&mut self, map: &ImageMap, path: &str) -> Result<Loaded, Diagnostic> {
        let image = match self.opened.get(path) {
            Some(image) => image.clone(),
            None => {
                let image = Arc::new(self.open(map, path)?);
                self.opened.insert(path.into(), image.clone());
                image
            }
        };
        match image.bias_of_mapping(map.address, map.offset, map.executable) {
            Some(bias) => Ok(Loaded { image, bias }),
            None => Err(other_file(map, path)),
        }
    }

    fn open(&mut self, map: &ImageMap, path: &str) -> Result<Image, Diagnostic> {
        let given = self.waiting.iter().position(|image| same_name(&image.path, path));
        let image = match given {
            Some(i) => self.waiting.swap_remove(i),
            None => return open(self.isa, map, path),
        };
        if image.isa != self.isa {
            return Err(other_code(map, path));
        }
        self.problems.extend(placing::nameless(&image));
        Ok(image)
    }

    fn place(&mut self, loaded: Loaded, pass: &mut BuildPass) -> Vec<SectionRange> {
        let place = |of: &Loaded| Arc::ptr_eq(&of.image, &loaded.image) && of.bias == loaded.bias;
        let known = self.space.borrow().images().iter().position(place);
        let first = known.unwrap_or(self.space.borrow().images().len());
        if known.is_some() {
            self.space.borrow_mut().map_again(first);
            self.belongs(first);
        } else {
            self.space.borrow_mut().map(loaded);
            self.processes.push(Some(self.process));
        }
        let space = self.space.borrow();
        pass.code.through.look(&space, first);
        drop(space);
        self.image_sections(first)
    }

    /// A file that is no image: its bytes are named by it.
    fn file(&mut self, map: &ImageMap, path: &str) -> Vec<SectionRange> {
        let from = self.sections.len();
        let last = map.address.saturating_add(map.bytes - 1);
        let file = path.rsplit('/').next().unwrap_or(path);
        self.sections.push(SectionRow {
            image: None,
            name: format!("<mmap: {file}>"),
            first: map.address,
            last,
            via: "global",
            executable: false,
        });
        dictionary::ranges(&self.sections, from)
    }

    /// A device lies there from now on.
    pub fn device(&mut self, device: &NamedRange) -> Vec<SectionRange> {
        let from = self.sections.len();
        if let Some(more) = device.bytes.checked_sub(1) {
            self.sections.push(SectionRow {
                image: None,
                name: devices::source(&device.name),
                first: device.address,
                last: device.address.saturating_add(more),
                via: "mmio",
                executable: false,
            });
        }
        dictionary::ranges(&self.sections, from)
    }

    /// Images that were given and that the trace does not have.
    pub fn unmapped(&mut self) -> Vec<Image> {
        std::mem::take(&mut self.waiting)
    }
}

/// The image that a mapping is of: the last that was placed so.
pub fn mapped(space: &AddressSpace, map: &ImageMap) -> Option<usize> {
    let path = map.path.as_deref()?;
    let holds = |of: &Loaded| {
        let (start, end) = of.image.load_range;
        (start..end).contains(&map.address.wrapping_sub(of.bias)) && same_name(&of.image.path, path)
    };
    space.images().iter().rposition(holds)
}

/// The images of which all is unmapped. The loader unmaps parts of one while it places it.
pub fn unmapped(
    space: &AddressSpace,
    address: u64,
    bytes: u64,
) -> impl Iterator<Item = usize> + '_ {
    let whole = move |of: &Loaded| {
        let (start, end) = of.image.load_range;
        let first = start.wrapping_add(of.bias).checked_sub(address);
        first.is_some_and(|first| {
            first < PAGE && bytes.checked_sub(first).is_some_and(|left| left >= end - start)
        })
    };
    let images = space.images().iter().enumerate();
    images.filter(move |(_, of)| whole(of)).map(|(image, _)| image)
}

/// Whether two paths end in the same file name: folders may be those of another machine.
fn same_name(given: &Path, mapped: &str) -> bool {
    let name = Path::new(mapped).file_name();
    let is = |path: &Path| path.file_name().is_some() && path.file_name() == name;
    // It may be given by a link to it.
    is(given) || given.canonicalize().is_ok_and(|file| is(&file))
}

/// The file of a mapping.
pub fn open(isa: Isa, map: &ImageMap, path: &str) -> Result<Image, Diagnostic> {
    // A trace may name what never ends, or waits.
    if Path::new(path).metadata().is_ok_and(|m| !m.is_file()) {
        return Err(unreadable(map, format!("{path} is not a file")));
    }
    let image = Image::open(Path::new(path)).map_err(|e| unreadable(map, e.to_string()))?;
    if image.isa == isa { Ok(image) } else { Err(other_code(map, path)) }
}

fn other_code(map: &ImageMap, path: &str) -> Diagnostic {
    unreadable(map, format!("{path} has code of another instruction set than the trace"))
}

pub fn other_file(map: &ImageMap, path: &str) -> Diagnostic {
    unreadable(map, format!("{path} is not the file that was mapped"))
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
