//! `addfg build`: from traces and ELF files to a database.

pub mod alone;
mod calls;
mod code;
mod contexts;
mod convert;
pub mod crossings;
mod csi;
mod dcfg;
mod derived;
mod devices;
mod dictionary;
mod elf_check;
mod error;
mod events;
mod exceptions;
mod finish;
mod folded;
mod front;
pub mod glance;
pub mod handed;
pub mod history;
mod inlined;
pub mod instructions;
mod intake;
mod limit;
mod links;
pub mod live;
mod maps;
mod names;
mod one_run;
mod options;
pub mod packed;
pub mod parts;
mod pass;
mod places;
mod placing;
mod reader;
pub mod rows;
mod runs;
pub mod scan;
pub mod states;
mod steps;
mod summed;
pub mod sums;
mod suspicions;
pub mod symbols;
mod tables;
pub mod turns;
mod unpacked;
mod wet;
pub mod xray;

use crate::files::{self, Kind};
use crate::image::{self, Image, ImageError};
use crate::store::{StoreError, writer};
use crate::trace::input::Input;
use crate::trace::{self, Found, StepFormat, TraceError};
use rustc_hash::FxHashMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

pub use convert::{To, convert};
pub use derived::{FOLDED, derived};
pub use dictionary::Files;
pub use error::BuildError;
pub use limit::Limit;
pub use names::FunctionNames;
pub use options::{Detail, ElfInput, Options, Progressed, ROWS_STEPS, Report};
pub use steps::WaitForSums;
pub use summed::{Summed, SummedFunction};
pub use tables::{Load, TableLoader};

/// What fills the tables from the records of each of [`trace::TABLE_FORMATS`].
static TABLE_LOADERS: &[&dyn TableLoader] =
    &[&trace::csi::Csi, &trace::dcfg::Dcfg, &trace::wet::Wet, &trace::xray::Xray];

/// Builds a database of the options' traces. `progress` returns true to interrupt.
pub fn load(
    options: &Options,
    progress: &mut dyn FnMut(Progressed) -> bool,
) -> Result<Report, BuildError> {
    // Refuse before any work.
    refuse_existing(options)?;
    refuse_twice(&options.traces)?;
    let inputs = options.traces.iter().map(|path| Input::open(path));
    load_inputs(options, inputs.collect::<Result<_, _>>()?, progress)
}

/// An error if one file is given twice, under whatever names: its steps would count twice.
fn refuse_twice(traces: &[PathBuf]) -> Result<(), BuildError> {
    let mut known = FxHashMap::default();
    for path in traces {
        let Ok(found) = path.metadata() else { continue };
        if !found.is_file() {
            continue;
        }
        if let Some(first) = known.insert((found.dev(), found.ino()), path) {
            return Err(BuildError::Twice(first.display().to_string(), path.display().to_string()));
        }
    }
    Ok(())
}

/// An error if something is there that is not to be replaced.
pub fn refuse_existing(options: &Options) -> Result<(), BuildError> {
    let rule = writer::rule(options.force);
    Ok(files::check(&options.output, Kind::File, rule).map_err(StoreError::from)?)
}

/// Builds a database of these traces.
pub fn load_inputs(
    options: &Options,
    inputs: Vec<Input>,
    progress: &mut dyn FnMut(Progressed) -> bool,
) -> Result<Report, BuildError> {
    load_recorded(options, inputs, progress, None)
}

/// The same, where a recorder adds up data flow itself. `sums` waits for that, and is asked at the end of a run of more than
/// [`ROWS_STEPS`] steps if the options name no detail.
///
/// # Errors
/// [`BuildError::RecorderSums`]: those are not exact. Then the traces have to be gone through.
pub fn load_recorded(
    options: &Options,
    inputs: Vec<Input>,
    progress: &mut dyn FnMut(Progressed) -> bool,
    sums: Option<WaitForSums>,
) -> Result<Report, BuildError> {
    match sorted(options, inputs)? {
        (images, Sorted::Steps(stepped)) => steps::build(options, images, stepped, progress, sums),
        (images, Sorted::Tables(inputs, loader)) => {
            let detail = options.detail.or(Some(Detail::Pairs));
            let options = &Options { detail, ..options.clone() };
            tables::build(options, images, inputs, loader, progress)
        }
    }
}

/// The sums of these traces, without a database.
pub fn sum(
    options: &Options,
    inputs: Vec<Input>,
    progress: &mut dyn FnMut(Progressed) -> bool,
) -> Result<Summed, BuildError> {
    match sorted(options, inputs)? {
        (images, Sorted::Steps(stepped)) => summed::sum(options, images, stepped, progress),
        (_, Sorted::Tables(_, loader)) => Err(BuildError::NoSums(loader.name())),
    }
}

/// The format of an input: one of the options', else the one that recognises it.
pub fn format_of(options: &Options, input: &Input) -> Result<Found, TraceError> {
    match options.formats.iter().find(|format| format.sniff(input.head())) {
        Some(format) => Ok(Found::Steps(*format)),
        None => trace::detect(input, options.format.as_deref()),
    }
}

/// Inputs of one format.
enum Sorted {
    Steps(Vec<(Input, &'static dyn StepFormat)>),
    Tables(Vec<Input>, &'static dyn TableLoader),
}

/// Opens the ELF files, and finds the format of the inputs.
fn sorted(
    options: &Options,
    inputs: Vec<Input>,
) -> Result<(Vec<(Image, Option<u64>)>, Sorted), BuildError> {
    let limit = limit::Limit::new(options.memory_limit);
    image::bound(move || limit.left());
    let mut images = Vec::new();
    for elf in &options.elfs {
        images.push((Image::open(&elf.path)?, elf.bias));
    }
    let isa = images.first().map(|(i, _)| i.isa);
    if let Some((other, _)) = images.iter().find(|(i, _)| Some(i.isa) != isa) {
        return Err(BuildError::MixedElf(other.path.display().to_string()));
    }
    let (mut stepped, mut tabled) = (Vec::new(), Vec::new());
    for input in inputs {
        match format_of(options, &input)? {
            Found::Steps(format) => stepped.push((input, format)),
            Found::Tables(format) => tabled.push((input, format)),
        }
    }
    // One run is recorded by one tool.
    if let Some((first, other)) =
        stepped.first().zip(stepped.iter().find(|(_, f)| f.name() != stepped[0].1.name()))
    {
        return Err(mixed([&first.0, &other.0], [first.1.name(), other.1.name()]));
    }
    let Some(&(ref table, format)) = tabled.first() else {
        if let Some((object, _)) = images.iter().find(|(image, _)| image.relocatable()) {
            let message = "a relocatable object file (.o) has no addresses yet; link it".into();
            return Err(ImageError::NotElf { path: object.path.clone(), message }.into());
        }
        return Ok((images, Sorted::Steps(stepped)));
    };
    let steps = stepped.iter().map(|(input, f)| (input, f.name()));
    let tables = tabled.iter().map(|(input, f)| (input, f.name()));
    if let Some((other, name)) = steps.chain(tables).find(|(_, name)| *name != format.name()) {
        return Err(mixed([table, other], [format.name(), name]));
    }
    let Some(loader) = TABLE_LOADERS.iter().find(|l| l.name() == format.name()) else {
        return Err(BuildError::NoLoader(format.name()));
    };
    let inputs = tabled.into_iter().map(|(input, _)| input).collect();
    Ok((images, Sorted::Tables(inputs, *loader)))
}

/// Two inputs of different formats.
fn mixed(inputs: [&Input; 2], formats: [&str; 2]) -> BuildError {
    let [first, other] = [0, 1].map(|i| format!("{} ({})", inputs[i].name(), formats[i]));
    BuildError::MixedFormats(first, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_of_tables_has_a_loader() {
        let names = |formats: &mut dyn Iterator<Item = &'static str>| formats.collect::<Vec<_>>();
        assert_eq!(
            names(&mut TABLE_LOADERS.iter().map(|f| f.name())),
            names(&mut trace::TABLE_FORMATS.iter().map(|f| f.name()))
        );
    }
}
