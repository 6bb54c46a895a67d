//! Words of the command line that stand for values of the library: read once, as what they mean.

use super::say::say;
use crate::export::{self, EXPORTS, Export};
use crate::graph::{Inside, Level, Show, Strategy, Stubs, Via};
use crate::lake::questions::Measure;
use crate::lake::{Label, LakeError};
use crate::load::{Detail, ElfInput};
use crate::render::rows::RowFormat;
use crate::render::{self, RENDERERS, Renderer};
use crate::replay::allocations::{Allocator, allocator};
use crate::replay::critical::Weight;
use crate::views::cut::Shown;
use crate::views::plan::Told;
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;

macro_rules! options {
    ($($option:ty),+ $(,)?) => {$(
        impl ValueEnum for $option {
            fn value_variants<'a>() -> &'a [Self] {
                Self::ALL
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(PossibleValue::new(self.name()))
            }
        }
    )+};
}

options!(Level, Inside, Show, Via, Stubs, Strategy, Shown, Told, Weight, Measure);

impl ValueEnum for RowFormat {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let about = match self {
            RowFormat::Table => "For people; characters that act on a terminal are escaped",
            RowFormat::Csv => "RFC 4180; NULL is an empty field, the empty string is \"\"",
            RowFormat::Spreadsheet => "CSV where a text that begins with = + - @ has a ' before it",
            RowFormat::Json => "An array of objects; integers of any size are numbers",
        };
        Some(PossibleValue::new(self.name()).help(about))
    }
}

impl ValueEnum for Detail {
    fn value_variants<'a>() -> &'a [Self] {
        &[Detail::Summary, Detail::Instance, Detail::Pairs, Detail::Full]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

/// Whether registers that a function saves and restores keep their producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Saves {
    Transparent,
    Literal,
}

/// The formats of `addfg graph`.
pub fn renderers() -> impl TypedValueParser<Value = &'static Renderer> {
    named(RENDERERS.iter().map(|r| r.name).collect())
}

/// Those that any graph can be written in.
pub fn graph_renderers() -> impl TypedValueParser<Value = &'static Renderer> {
    named(render::of_graphs().collect())
}

fn named(names: Vec<&'static str>) -> impl TypedValueParser<Value = &'static Renderer> {
    PossibleValuesParser::new(names).try_map(|name| render::renderer(&name).ok_or("no such format"))
}

/// The formats of `addfg export`.
pub fn exports() -> impl TypedValueParser<Value = &'static Export> {
    let names = EXPORTS.iter().map(|e| PossibleValue::new(e.name).help(e.about));
    PossibleValuesParser::new(names).try_map(|name| export::find(&name).ok_or("no such format"))
}

/// `NAME=VALUE`: what is known of a run.
pub fn label(text: &str) -> Result<Label, LakeError> {
    Label::parse(text)
}

/// Functions that become one node.
#[derive(Clone, Debug)]
pub struct Group {
    pub name: String,
    pub functions: Vec<String>,
}

/// Names and words of groups.
pub fn words(groups: &[Group]) -> Vec<(String, Vec<String>)> {
    groups.iter().map(|group| (group.name.clone(), group.functions.clone())).collect()
}

/// `NAME=FUNCTION,...`
pub fn group(text: &str) -> Result<Group, &'static str> {
    let (name, list) =
        text.split_once('=').ok_or("it names no functions: write NAME=FUNCTION,...")?;
    Ok(Group { name: name.to_owned(), functions: crate::text::list(list) })
}

/// Threads: none do nothing, and no machine has more than some thousands.
pub fn threads(text: &str) -> Result<usize, String> {
    const MOST: usize = 4096;
    match text.parse::<usize>() {
        Ok(number @ 1..=MOST) => Ok(number),
        _ => Err(format!("expected 1 to {MOST} [default: the machine's cores less one]")),
    }
}

/// `FIRST..LAST`, both inclusive.
pub fn range(text: &str) -> Result<(i64, i64), String> {
    let (first, last) = text.split_once("..").ok_or("write FIRST..LAST, as in 100..180")?;
    let number = |t: &str| t.trim().parse::<i64>().map_err(|e| format!("`{t}`: {e}"));
    let (first, last) = (number(first)?, number(last)?);
    if first <= last { Ok((first, last)) } else { Err(format!("{first} is behind {last}")) }
}

/// A function of the program that allocates, and what it is like.
#[derive(Clone, Debug)]
pub struct OwnAllocator {
    pub name: String,
    pub like: &'static Allocator,
}

impl OwnAllocator {
    /// As it is written on the command line.
    pub fn text(&self) -> String {
        format!("{}={}", self.name, self.like.name)
    }
}

/// What the library wants to know of them.
pub fn allocators(own: &[OwnAllocator]) -> Vec<(&str, &'static Allocator)> {
    own.iter().map(|own| (own.name.as_str(), own.like)).collect()
}

/// Says how many calls of allocation functions are in no figure.
pub fn say_unknown(calls: u64) {
    if calls > 0 {
        say!(
            "addfg: {calls} calls of allocation functions left out: the trace does not tell their arguments or results"
        );
    }
}

/// `NAME=FUNCTION`
pub fn own_allocator(text: &str) -> Result<OwnAllocator, String> {
    let (name, what) =
        text.rsplit_once('=').ok_or("write it as NAME=FUNCTION, as in pool_get=malloc")?;
    let like = allocator(what).ok_or_else(|| {
        format!("`{what}` is not an allocation function such as malloc, calloc, realloc, free")
    })?;
    Ok(OwnAllocator { name: name.to_owned(), like })
}

/// `FILE[@ADDRESS]`: an ELF and its bias; a file that has an @ in its name is one.
pub fn elf(text: &str) -> Result<ElfInput, String> {
    let path = PathBuf::from(text);
    match text.rsplit_once('@') {
        Some((file, address)) if !path.exists() => {
            let bias = u64::from_str_radix(address.trim_start_matches("0x"), 16).map_err(|_| {
                format!("invalid address `{address}`: expected hexadecimal, like 0x401000")
            })?;
            Ok(ElfInput { path: file.into(), bias: Some(bias) })
        }
        _ => Ok(ElfInput { path, bias: None }),
    }
}
