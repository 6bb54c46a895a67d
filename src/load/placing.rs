//! Where images lie: a position-independent one is placed when enough of the trace is known.

use super::BuildError;
use super::intake::{Intake, Records};
use crate::diagnostics::{Diagnostic, Severity};
use crate::image::{self, FunctionKind, Image, Loaded};

/// Addresses of instructions that are enough to place an image by.
const ENOUGH: usize = 20_000;

/// Bytes of records that wait before a guess is tried with fewer; each try doubles them. Code that
/// loops has few instructions.
const WAITING: usize = 64 << 20;

/// Images at their addresses, and what was read of the trace to find them.
pub struct Placed {
    pub images: Vec<Loaded>,
    /// Images whose place the trace is going to tell.
    pub waiting: Vec<Image>,
    pub early: Vec<Records>,
}

/// Places images; reads as much of the trace as it takes.
pub fn place(images: Vec<(Image, Option<u64>)>, intake: &mut Intake) -> Result<Placed, BuildError> {
    let guess = images.iter().any(|(image, bias)| image.pie && bias.is_none());
    let mut early = Vec::new();
    let mut addresses: Vec<u64> = Vec::new();
    let (mut waiting, mut most) = (0, WAITING);
    while let Some(records) = intake.next()? {
        let new = match &records {
            Records::Runs(batch) => &batch.new_insns[..],
            Records::Steps(batch) => &batch.new_insns[..],
            Records::End => &[],
        };
        addresses.extend(new.iter().map(|i| i.address));
        let ends = matches!(records, Records::End);
        early.push(records);
        let told = intake.carries().mappings;
        if ends || told || (!guess && !addresses.is_empty()) || addresses.len() > ENOUGH {
            break;
        }
        waiting += early.last().map_or(0, size);
        if waiting > most {
            if images
                .iter()
                .all(|(image, bias)| bias.or_else(|| guess_at(image, &addresses)).is_some())
            {
                break;
            }
            most *= 2;
        }
    }
    let (mut loaded, mut waiting) = (Vec::new(), Vec::new());
    for (image, bias) in images {
        if intake.carries().mappings && image.pie && bias.is_none() {
            waiting.push(image);
            continue;
        }
        let found = bias.or_else(|| guess_at(&image, &addresses));
        if found.is_none() {
            intake.diagnostics.add(unknown_bias(&image));
        }
        if let Some(nameless) = nameless(&image) {
            intake.diagnostics.add(nameless);
        }
        loaded.push(Loaded { image: image.into(), bias: found.unwrap_or(0) });
    }
    Ok(Placed { images: loaded, waiting, early })
}

fn guess_at(image: &Image, addresses: &[u64]) -> Option<u64> {
    if image.pie { image::guess_bias(image, addresses) } else { Some(0) }
}

/// Bytes that records take, about.
fn size(records: &Records) -> usize {
    match records {
        Records::Runs(batch) => 8 * batch.addresses.len() + 8 * batch.block.len(),
        Records::Steps(batch) => {
            32 * batch.len() + 24 * batch.accesses.len() + 16 * batch.registers.len()
        }
        Records::End => 0,
    }
}

pub fn unknown_bias(image: &Image) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        code: "bias-unknown",
        message: format!("where {} was loaded could not be found out", image.path.display()),
        position: String::new(),
        remedy: "give its load address: --elf FILE@ADDRESS",
    }
}

/// What is to be said of functions without names.
pub fn nameless(image: &Image) -> Option<Diagnostic> {
    if !image.stripped {
        return None;
    }
    let path = image.path.display();
    let unnamed = image.functions.iter().filter(|f| f.kind == FunctionKind::Unnamed).count();
    let unknown = image.has_code_outside_functions();
    let (severity, code, message) = match (unknown, unnamed, image.functions.len()) {
        (false, 0, _) => return None,
        (false, unnamed, all) => (
            Severity::Info,
            "functions-without-names",
            format!("{unnamed} of {all} functions of {path} have no names: bounds from .eh_frame"),
        ),
        (true, 0, 0) => (
            Severity::Warning,
            "stripped",
            format!("{path} has no symbol table: its functions are one, <unknown>"),
        ),
        (true, _, known) => (
            Severity::Warning,
            "stripped",
            format!(
                "{path} has no symbol table: all but {known} of its functions are one, <unknown>"
            ),
        ),
    };
    Some(Diagnostic {
        severity,
        code,
        message,
        position: String::new(),
        remedy: "install its debug symbols, or give the file as it was before strip",
    })
}
