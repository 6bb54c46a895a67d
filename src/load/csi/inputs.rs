//! What the files of a run have: descriptions of functions, and stacks of stopped frames.

use super::core;
use crate::diagnostics::{Diagnostic, Severity};
use crate::image;
use crate::image::unwind::Core;
use crate::load::{BuildError, Load};
use crate::trace::csi::SECTION;
use crate::trace::csi::frames::{self, Frame};
use crate::trace::csi::metadata::{self, Described};
use crate::trace::input::{Input, Locator};
use crate::trace::{Listener, TraceError};
use std::path::Path;

/// Bytes of an input at most.
const LIMIT: usize = 1 << 30;
/// Frames of a stack at most: a runaway recursion.
const FRAMES: usize = 1 << 20;

/// Remedy for damage.
pub const DAMAGED: &str = "copy or record it again; what could be read is in the database";

/// Something with the place where it stands.
pub struct At<T> {
    pub position: String,
    pub what: T,
}

/// What all files of a run have.
#[derive(Default)]
pub struct Inputs {
    pub functions: Vec<At<Described>>,
    /// Innermost frame first.
    pub stacks: Vec<Vec<At<Frame>>>,
    /// Texts of descriptions that were read.
    sections: Vec<Vec<u8>>,
}

pub fn problem(
    severity: Severity,
    code: &'static str,
    message: String,
    position: String,
    remedy: &'static str,
) -> Diagnostic {
    Diagnostic { severity, code, message, position, remedy }
}

fn malformed(name: &str, message: &str, remedy: &str) -> TraceError {
    TraceError::Malformed {
        name: name.to_owned(),
        position: "byte 0".into(),
        message: message.into(),
        remedy: remedy.into(),
    }
}

/// Positions in a file, or in a section of one.
struct Places {
    name: String,
    locator: Option<Locator>,
}

impl Places {
    fn at(&self, offset: u64) -> String {
        match &self.locator {
            Some(locator) => locator.at(offset),
            None => format!("{}: byte {offset}", self.name),
        }
    }
}

impl Inputs {
    /// Reads all files, and the programs' own sections.
    pub fn read(inputs: Vec<Input>, load: &mut Load) -> Result<Inputs, BuildError> {
        let mut all = Inputs::default();
        for input in inputs {
            all.file(input, load)?;
        }
        let space = load.space.clone();
        for loaded in space.images() {
            // But not twice the same.
            if let Some(section) = loaded.image.contents(SECTION)
                && !all.sections.contains(&section)
            {
                let name = format!("{}({SECTION})", loaded.image.path.display());
                all.descriptions(section, &Places { name, locator: None }, load)?;
            }
        }
        Ok(all)
    }

    fn file(&mut self, input: Input, load: &mut Load) -> Result<(), BuildError> {
        let (name, locator) = (input.name().to_owned(), input.locator());
        let left = usize::try_from((load.memory() / 2).max(1 << 20)).unwrap_or(usize::MAX);
        let limit = if input.is_mapped() { LIMIT } else { LIMIT.min(left) };
        let (chunk, damage) = input.whole(limit)?;
        if let Some(damage) = damage {
            load.problem(damage.into_damage()?)?;
        }
        if Core::is(&chunk) {
            self.core(&chunk, &name, load)?;
        } else if chunk.starts_with(b"\x7fELF") {
            let section = image::contents(Path::new(&name), &chunk, SECTION)?.ok_or_else(|| {
                let message = format!("an ELF file without a section {SECTION}");
                malformed(
                    &name,
                    &message,
                    "a program is given with --elf beside its trace; csi-cc --trace=pt makes one with that section",
                )
            })?;
            let name = format!("{name}({SECTION})");
            self.descriptions(section, &Places { name, locator: None }, load)?;
        } else {
            let places = Places { name, locator: Some(locator) };
            if frames::sniff(&chunk) {
                self.dump(&chunk, &places, load)?;
            } else {
                self.descriptions(chunk.to_vec(), &places, load)?;
            }
        }
        load.progress(chunk.consumed);
        load.check()
    }

    fn descriptions(
        &mut self,
        text: Vec<u8>,
        places: &Places,
        load: &mut Load,
    ) -> Result<(), BuildError> {
        let (found, damage) = metadata::parse(&text);
        if found.is_empty() {
            return Err(TraceError::Malformed {
                name: places.name.clone(),
                position: "1".into(),
                message: "no description of a function".into(),
                remedy: "`addfg formats csi` describes them".into(),
            }
            .into());
        }
        for d in damage {
            let at = places.at(d.offset);
            load.problem(problem(Severity::Error, d.code, d.message, at, DAMAGED))?;
        }
        let at = |what: Described| At { position: places.at(what.offset), what };
        self.functions.extend(found.into_iter().map(at));
        self.sections.push(text);
        Ok(())
    }

    /// A core file: its stacks are followed with the unwinding tables of the programs given.
    fn core(&mut self, file: &[u8], name: &str, load: &mut Load) -> Result<(), BuildError> {
        if load.space.images().is_empty() {
            let message = "a core file without the program that left it";
            let remedy =
                "give the program with --elf, and libraries whose functions called it back";
            return Err(malformed(name, message, remedy).into());
        }
        let core = Core::parse(Path::new(name), file)?;
        load.place(|image| Some(core.bias(image)));
        let stacks = core::stacks(&core, &load.space);
        if stacks.is_empty() {
            let message = "a core file without registers of a thread";
            let remedy = "it was cut off; gdb's generate-core-file writes one of a stopped program";
            return Err(malformed(name, message, remedy).into());
        }
        for (stack, thread) in stacks.into_iter().zip(1..) {
            let place = |depth: usize| format!("{name}: thread {thread} frame {depth}");
            if let Some(lost) = stack.lost {
                let message =
                    format!("the stack of thread {thread} cannot be followed beyond {lost}");
                let remedy = "give that library with --elf, too; what called it is missing";
                let at = place(stack.frames.len().saturating_sub(1));
                load.problem(problem(Severity::Warning, "stack-end", message, at, remedy))?;
            }
            let frames = stack.frames.into_iter().enumerate();
            self.stacks
                .push(frames.map(|(depth, what)| At { position: place(depth), what }).collect());
        }
        Ok(())
    }

    /// A dump of frames.
    fn dump(&mut self, text: &[u8], places: &Places, load: &mut Load) -> Result<(), BuildError> {
        let (found, damaged) = frames::parse(text);
        for offset in damaged {
            let message = "a line that begins like a frame but is not a frame".into();
            let at = places.at(offset);
            load.problem(problem(Severity::Error, "malformed-line", message, at, DAMAGED))?;
        }
        for mut stack in found {
            if stack.len() > FRAMES {
                let message =
                    format!("a stack of {} frames; the innermost {FRAMES} are kept", stack.len());
                let at = places.at(stack[0].offset);
                load.problem(problem(Severity::Error, "long-stack", message, at, "none"))?;
                stack.truncate(FRAMES);
            }
            let at = |what: Frame| At { position: places.at(what.offset), what };
            self.stacks.push(stack.into_iter().map(at).collect());
        }
        Ok(())
    }
}
