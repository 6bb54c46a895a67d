//! What was loaded where: look-ups by run-time address.

use super::ranges::{self, Range};
use super::{Brackets, Dimension, Function, Image, Inlined, Owner, Section, Variable};
use crate::event::Dialect;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// An image and the difference between its run-time and its link-time addresses (modulo 2^64). One
/// image may be loaded several times: its functions are those of the first.
pub struct Loaded {
    pub image: Arc<Image>,
    pub bias: u64,
}

/// A function of an [`AddressSpace`]: index of the image and of the function in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionRef {
    pub image: usize,
    pub function: usize,
}

/// The images of a process. Where segments of two of those that it begins with overlap, the one given first has
/// the addresses, and what lies between segments is of the first, too; one that is mapped later takes all from its
/// first segment to its last.
///
/// All addresses are run-time addresses; look-ups are binary searches.
#[derive(Default)]
pub struct AddressSpace {
    images: Vec<Loaded>,
    mapped: Mapped,
    function_refs: Vec<FunctionRef>,
    /// By image: where its functions, sections and variables begin among the references.
    first_refs: Vec<[u32; 3]>,
    /// Made when first asked for.
    names: OnceLock<HashMap<FunctionRef, String>>,
    /// (image, section)
    section_refs: Vec<(usize, usize)>,
    /// (image, variable)
    variable_refs: Vec<(usize, usize)>,
}

/// What of the images lies where in a process.
#[derive(Default)]
pub struct Mapped {
    /// Of the whole images, owner: image.
    extents: Vec<Range>,
    /// Owner: index into `function_refs`.
    functions: Vec<Range>,
    /// Owner: index into `section_refs`.
    sections: Vec<Range>,
    /// Owner: index into `variable_refs`.
    variables: Vec<Range>,
}

impl Mapped {
    fn all(&mut self) -> [&mut Vec<Range>; 4] {
        [&mut self.extents, &mut self.functions, &mut self.sections, &mut self.variables]
    }
}

impl AddressSpace {
    pub fn new(images: Vec<Loaded>) -> AddressSpace {
        let mut space = AddressSpace::default();
        // A firmware's code and data lie far apart: another one may lie between them. So segments count first.
        let mut taken: Vec<(u64, u64)> = Vec::new();
        let mut own: Vec<Vec<(u64, u64)>> = Vec::new();
        for Loaded { image, bias } in &images {
            let mut segments = Vec::new();
            // One by one: those of a damaged file may overlap.
            for (start, end) in image.segments() {
                let free = outside(&taken, shifted(start, end, *bias));
                taken.extend(&free);
                segments.extend(free);
            }
            own.push(segments);
        }
        for (Loaded { image, bias }, own) in images.iter().zip(&mut own) {
            let (start, end) = image.load_range;
            let between = outside(&taken, shifted(start, end, *bias));
            taken.extend(&between);
            own.extend(between);
        }
        for (loaded, own) in images.into_iter().zip(own) {
            space.add(loaded, &own);
        }
        space.sort();
        space
    }

    /// Maps one more image: it has all of its addresses from now on.
    pub fn map(&mut self, loaded: Loaded) {
        let own = self.clear(&loaded);
        self.add(loaded, &own);
        self.sort();
        self.names = OnceLock::new();
    }

    /// An image is mapped again where it was: it has all of its addresses from now on.
    pub fn map_again(&mut self, index: usize) {
        let loaded = &self.images[index];
        let loaded = Loaded { image: loaded.image.clone(), bias: loaded.bias };
        let own = self.clear(&loaded);
        self.claim(&loaded, index, &own);
        self.sort();
    }

    /// Nothing of an image is there any more.
    pub fn unmap(&mut self, index: usize) {
        let Loaded { image, bias } = &self.images[index];
        let own = shifted(image.load_range.0, image.load_range.1, *bias);
        self.mapped.extents.retain(|range| range.2 as usize != index);
        // One image at two places has its functions once.
        let first = self.first_refs[index][0];
        let functions = first..first + image.functions.len() as u32;
        self.mapped.functions.retain(|&(start, _, owner)| {
            !functions.contains(&owner) || !own.iter().any(|o| (o.0..o.1).contains(&start))
        });
        let sections = &self.section_refs;
        self.mapped.sections.retain(|range| sections[range.2 as usize].0 != index);
        let variables = &self.variable_refs;
        self.mapped.variables.retain(|range| variables[range.2 as usize].0 != index);
    }

    /// Nothing is there: another process begins.
    pub fn unmap_all(&mut self) {
        self.mapped = Mapped::default();
    }

    /// Another process is looked at, where these lie; gives what lies in the one before.
    pub fn swap(&mut self, mapped: Mapped) -> Mapped {
        std::mem::replace(&mut self.mapped, mapped)
    }

    /// Takes an image's addresses from all others.
    fn clear(&mut self, loaded: &Loaded) -> Vec<(u64, u64)> {
        let (start, end) = loaded.image.load_range;
        let own = shifted(start, end, loaded.bias);
        for ranges in self.mapped.all() {
            let left = ranges.iter().flat_map(|&(from, to, owner)| {
                outside(&own, vec![(from, to)]).into_iter().map(move |(from, to)| (from, to, owner))
            });
            *ranges = left.collect();
        }
        own
    }

    /// Adds an image, and its ranges as far as they are its own.
    fn add(&mut self, loaded: Loaded, own: &[(u64, u64)]) {
        let index = self.images.len();
        let known = self.images.iter().position(|i| Arc::ptr_eq(&i.image, &loaded.image));
        let functions = match known {
            Some(known) => self.first_refs[known][0],
            None => {
                let of = |function| FunctionRef { image: index, function };
                let first = self.function_refs.len() as u32;
                self.function_refs.extend((0..loaded.image.functions.len()).map(of));
                first
            }
        };
        let (sections, variables) = (self.section_refs.len(), self.variable_refs.len());
        self.section_refs.extend((0..loaded.image.sections.len()).map(|section| (index, section)));
        self.variable_refs.extend((0..loaded.image.variables.len()).map(|v| (index, v)));
        self.first_refs.push([functions, sections as u32, variables as u32]);
        self.claim(&loaded, index, own);
        self.images.push(loaded);
    }

    /// Adds the ranges of an image, as far as they are its own.
    fn claim(&mut self, Loaded { image, bias }: &Loaded, index: usize, own: &[(u64, u64)]) {
        let [functions, sections, variables] = self.first_refs[index];
        self.mapped.extents.extend(own.iter().map(|&(start, end)| (start, end, index as u32)));
        self.mapped.extents.sort_unstable();
        let add = |into: &mut Vec<Range>, found: Vec<Range>| {
            for (start, end, owner) in found {
                for (start, end) in shifted(start, end, *bias) {
                    into.extend(clip(own, start, end).map(|(start, end)| (start, end, owner)));
                }
            }
        };
        let mut code = Vec::new();
        for (owner, f) in (functions..).zip(&image.functions) {
            code.extend(f.ranges.iter().map(|&(start, end)| (start, end, owner)));
        }
        add(&mut self.mapped.functions, code);
        // The addresses of .tbss are those of the sections behind it: it is no memory of its own.
        let of_sections = (sections..).zip(&image.sections).filter(|(_, s)| !(s.tls && s.zero));
        let of_sections: Vec<Range> = of_sections
            .map(|(owner, s)| (s.address, s.address.saturating_add(s.size), owner))
            .collect();
        add(&mut self.mapped.sections, ranges::flatten(&of_sections));
        let of_variables: Vec<Range> = (variables..)
            .zip(&image.variables)
            .map(|(owner, v)| (v.address, v.address.saturating_add(v.size), owner))
            .collect();
        add(&mut self.mapped.variables, ranges::flatten(&of_variables));
    }

    fn sort(&mut self) {
        self.mapped.functions.sort_unstable();
        self.mapped.sections.sort_unstable();
        self.mapped.variables.sort_unstable();
    }

    pub fn images(&self) -> &[Loaded] {
        &self.images
    }

    /// What the first image says of its code, and whether that is for ARM's M profile.
    pub fn of_first(&self) -> (Dialect, bool) {
        let first = self.images.first().map(|of| (of.image.dialect, of.image.m_profile));
        first.unwrap_or_default()
    }

    /// Where a program calls Spike's host.
    pub fn tohost(&self) -> Option<u64> {
        self.images.iter().find_map(|of| Some(of.image.tohost?.wrapping_add(of.bias)))
    }

    /// The images again, to put them elsewhere.
    pub fn into_images(self) -> Vec<Loaded> {
        self.images
    }

    /// The file name of an image.
    pub fn image_name(&self, image: usize) -> String {
        let path = &self.images[image].image.path;
        path.file_name()
            .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
    }

    /// Index of the image whose segments span the address.
    pub fn image_at(&self, address: u64) -> Option<usize> {
        Some(ranges::find(&self.mapped.extents, address)?.2 as usize)
    }

    /// The function whose ranges hold the address; None outside of every symbol.
    pub fn function_at(&self, address: u64) -> Option<FunctionRef> {
        Some(self.function_refs[ranges::find(&self.mapped.functions, address)?.2 as usize])
    }

    /// Every function, image by image in the order of their entries.
    pub fn functions(&self) -> impl Iterator<Item = FunctionRef> + '_ {
        self.function_refs.iter().copied()
    }

    pub fn function(&self, at: FunctionRef) -> &Function {
        &self.images[at.image].image.functions[at.function]
    }

    /// Whose code a function is.
    pub fn owner(&self, at: FunctionRef) -> Owner {
        self.images[at.image].image.owner(self.function(at))
    }

    /// Whose code it is that an image has outside of its functions.
    pub fn image_owner(&self, image: usize) -> Owner {
        let path = self.images[image].image.path.to_string_lossy();
        Owner::of_file(&path).unwrap_or(Owner::Program)
    }

    /// Run-time address of a function's entry.
    pub fn entry(&self, at: FunctionRef) -> u64 {
        self.function(at).address.wrapping_add(self.images[at.image].bias)
    }

    /// The function's name as shown, which no other function of the process has: `name`, `name
    /// (file)`, and where that is not enough with more of the path, the image, or the address.
    pub fn display_name(&self, at: FunctionRef) -> &str {
        &self.names.get_or_init(|| self.unique_names())[&at]
    }

    /// Index of the image and its section at the address.
    pub fn section_at(&self, address: u64) -> Option<(usize, &Section)> {
        let (image, section) =
            self.section_refs[ranges::find(&self.mapped.sections, address)?.2 as usize];
        Some((image, &self.images[image].image.sections[section]))
    }

    /// The variable at the address (the innermost, where one lies in another) and the offset into
    /// it, in bytes.
    pub fn variable_at(&self, address: u64) -> Option<(&Variable, u64)> {
        let (image, variable) =
            self.variable_refs[ranges::find(&self.mapped.variables, address)?.2 as usize];
        let Loaded { image, bias } = &self.images[image];
        let variable = &image.variables[variable];
        Some((variable, address.wrapping_sub(*bias).wrapping_sub(variable.address)))
    }

    /// Code or initial data at the address, to the end of the segment's part in the file.
    pub fn bytes(&self, address: u64) -> Option<&[u8]> {
        let Loaded { image, bias } = &self.images[self.image_at(address)?];
        image.bytes(address.wrapping_sub(*bias))
    }

    /// Whether the code at the address is Thumb, as mapping symbols say.
    pub fn thumb(&self, address: u64) -> Option<bool> {
        let Loaded { image, bias } = &self.images[self.image_at(address)?];
        image.thumb(address.wrapping_sub(*bias))
    }

    /// Source file and line at the address.
    pub fn line(&self, address: u64) -> Option<(String, u32)> {
        let Loaded { image, bias } = &self.images[self.image_at(address)?];
        image.line(address.wrapping_sub(*bias))
    }

    /// The inlined calls that the code at the address is of ([`super::Image::inlined`]).
    pub fn inlined(&self, address: u64) -> Vec<Inlined> {
        let Some(image) = self.image_at(address) else { return Vec::new() };
        let Loaded { image, bias } = &self.images[image];
        image.inlined(address.wrapping_sub(*bias))
    }

    fn unique_names(&self) -> HashMap<FunctionRef, String> {
        let mut names: HashMap<FunctionRef, String> =
            HashMap::with_capacity(self.function_refs.len());
        let mut taken: HashSet<String> = HashSet::new();
        let mut open: Vec<FunctionRef> = self.function_refs.clone();
        for level in 0..5 {
            let candidates: Vec<String> =
                open.iter().map(|&at| self.qualified(at, level)).collect();
            let mut count: HashMap<&str, u32> = HashMap::with_capacity(open.len());
            for name in &candidates {
                *count.entry(name).or_default() += 1;
            }
            let unique: Vec<bool> = candidates
                .iter()
                .map(|name| count[name.as_str()] == 1 && !taken.contains(name))
                .collect();
            let mut left = Vec::new();
            for ((at, name), unique) in open.iter().zip(candidates).zip(unique) {
                if unique {
                    taken.insert(name.clone());
                    names.insert(*at, name);
                } else {
                    left.push(*at);
                }
            }
            open = left;
        }
        // Only if a symbol is named like an address, or two images lie at one.
        for at in open {
            let base = self.qualified(at, 4);
            let name = (2u64..)
                .map(|n| format!("{base} #{n}"))
                .find(|name| !taken.contains(name))
                .unwrap_or(base);
            taken.insert(name.clone());
            names.insert(at, name);
        }
        names
    }

    /// The name with a more and more exact place behind it.
    fn qualified(&self, at: FunctionRef, level: u32) -> String {
        let function = self.function(at);
        let image = base(&self.images[at.image].image.path.to_string_lossy()).to_owned();
        let file = function.file.as_deref();
        match level {
            0 => function.name.clone(),
            1 => format!("{} ({})", function.name, file.map_or(image, |f| base(f).to_owned())),
            2 => format!("{} ({})", function.name, file.map_or(image, |f| f.to_owned())),
            // Of a file that is compiled into several images.
            3 => format!("{} ({image})", function.name),
            _ => format!("{} (@{:#x})", function.name, self.entry(at)),
        }
    }
}

impl Variable {
    /// Bytes of an innermost element, if it is an array.
    pub fn element_size(&self) -> Option<u64> {
        self.dimensions.iter().map(|d| d.stride).min()
    }

    /// Name of the part of the variable at an offset: `quant[64]`, `matrix[1][2]`, `table(2,1)`,
    /// `head+8`, `head`.
    pub fn part(&self, offset: u64) -> String {
        let mut order: Vec<usize> = (0..self.dimensions.len()).collect();
        // Outwards the last ones of Fortran.
        order.sort_by_key(|&k| std::cmp::Reverse(self.dimensions[k].stride));
        let (mut rest, mut indices) = (offset, vec![0; order.len()]);
        for k in order {
            let Dimension { first, stride, .. } = self.dimensions[k];
            let stride = stride.max(1);
            indices[k] = i128::from(first) + i128::from(rest / stride);
            rest %= stride;
        }
        let indices: Vec<String> = indices.iter().map(i128::to_string).collect();
        let indices = match self.brackets {
            _ if indices.is_empty() => String::new(),
            Brackets::Square => indices.iter().map(|index| format!("[{index}]")).collect(),
            Brackets::Round => format!("({})", indices.join(",")),
        };
        let more = if rest > 0 { format!("+{rest}") } else { String::new() };
        format!("{}{indices}{more}", self.name)
    }
}

fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The range moved by the bias: two where it wraps around the end of the address space.
fn shifted(start: u64, end: u64, bias: u64) -> Vec<(u64, u64)> {
    if start >= end {
        return Vec::new();
    }
    let (from, last) = (start.wrapping_add(bias), (end - 1).wrapping_add(bias));
    if from <= last {
        vec![(from, last.saturating_add(1))]
    } else {
        vec![(from, u64::MAX), (0, last + 1)]
    }
}

/// What of `ranges` lies in none of `taken` (sorted, disjoint).
fn without(taken: &[Range], ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut own = Vec::new();
    for (mut start, end) in ranges {
        for &(from, to, _) in taken {
            if from < end && to > start {
                if from > start {
                    own.push((start, from));
                }
                start = to;
            }
        }
        if start < end {
            own.push((start, end));
        }
    }
    own
}

/// What of `ranges` lies in none of `taken`, in any order.
fn outside(taken: &[(u64, u64)], ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut taken: Vec<Range> = taken.iter().map(|&(start, end)| (start, end, 0)).collect();
    taken.sort_unstable();
    without(&taken, ranges)
}

fn clip(own: &[(u64, u64)], start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
    own.iter()
        .map(move |&(from, to)| (start.max(from), end.min(to)))
        .filter(|(start, end)| start < end)
}
