//! Whether several inputs are of one run: by the processes that they tell of, else by their code.
//!
//! Parts of one run have processes that are kin: the same program, the same number (`exec`), or one
//! began the other. A log that tells of no process may be a piece of the one before; then both have
//! the same instruction where they have one at the same address.

use super::BuildError;
use super::elf_check::{self, Fits};
use crate::analysis::access::Insn;
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::Event;
use crate::image::AddressSpace;
use crate::trace::ProcessClaim;
use rustc_hash::FxHashMap;
use std::path::Path;

/// What an input tells of itself.
#[derive(Default)]
struct Part {
    processes: Vec<ProcessClaim>,
    /// Processes that its own began, and how many began so.
    begun: Vec<u64>,
    inherit: usize,
    /// How many instructions the inputs up to its end have.
    instructions: usize,
    fits: Fits,
}

/// The inputs in their order.
#[derive(Default)]
pub struct Parts {
    ended: Vec<Part>,
    open: Part,
}

impl Parts {
    /// Of the input that is open now.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Process(process) => self.open.processes.push(ProcessClaim {
                pid: process.pid,
                program: process.name.clone(),
                parent: None,
            }),
            Event::Fork { pid } => self.open.begun.push(*pid),
            Event::Inherit { .. } => self.open.inherit += 1,
            _ => {}
        }
    }

    /// Whether the open input is of another process than those before it.
    pub fn begins_process(&self, events: &[(u32, Event)]) -> bool {
        let Some(last) = self.ended.last().and_then(|part| part.processes.last()) else {
            return false;
        };
        let named = events.iter().find_map(|(_, event)| match event {
            Event::Process(process) => Some(process),
            _ => None,
        });
        self.open.processes.is_empty()
            && named.is_some_and(|p| (p.pid, &p.name) != (last.pid, &last.program))
    }

    /// The open input has ended; all inputs so far have so many instructions.
    pub fn end(&mut self, instructions: usize, fits: Fits) {
        let part = std::mem::take(&mut self.open);
        self.ended.push(Part { instructions, fits, ..part });
    }

    /// Says that processes were begun of which the inputs have nothing.
    pub fn missing(&self) -> Option<(Diagnostic, u64)> {
        let all = || self.ended.iter().chain([&self.open]);
        let begun: usize = all().map(|part| part.begun.len()).sum();
        let missing = begun.saturating_sub(all().map(|part| part.inherit).sum());
        let diagnostic = Diagnostic {
            severity: Severity::Warning,
            code: "processes-missing",
            message: format!(
                "{missing} of {begun} processes that were begun are not in the recording"
            ),
            position: String::new(),
            remedy: "they may write no files (another user, `chroot`, a limit), or ended at once; give all streams of a recording",
        };
        (missing > 0).then_some((diagnostic, 1))
    }

    /// What was compared of all inputs.
    pub fn fits(&self) -> Fits {
        let mut sum = Fits::default();
        self.ended.iter().for_each(|part| sum.add(&part.fits));
        sum
    }

    /// An error if not all inputs are of one run. `names` and `claims` are by input.
    pub fn check(
        &self,
        names: &[&str],
        claims: &[(usize, ProcessClaim)],
        insns: &[Insn],
        space: &AddressSpace,
    ) -> Result<(), BuildError> {
        if self.ended.len() < 2 {
            return Ok(());
        }
        let mut told: Vec<Vec<&ProcessClaim>> =
            self.ended.iter().map(|part| part.processes.iter().collect()).collect();
        for (input, claim) in claims {
            told[*input].push(claim);
        }
        self.kin(names, &told)?;
        self.images(names, space)?;
        self.code(names, &told, insns)
    }

    /// An error if the processes of two inputs have nothing to do with each other.
    fn kin(&self, names: &[&str], told: &[Vec<&ProcessClaim>]) -> Result<(), BuildError> {
        let mut group: Vec<usize> = (0..told.len()).collect();
        let related = |a: usize, b: usize| {
            let began = |a: usize, b: usize| {
                let begun =
                    |p: &&ProcessClaim| p.pid.is_some_and(|n| self.ended[a].begun.contains(&n));
                told[b].iter().any(begun)
            };
            let same = |p: &&ProcessClaim| told[b].iter().any(|other| p.is_kin(other));
            began(a, b) || began(b, a) || told[a].iter().any(same)
        };
        for a in 0..told.len() {
            for b in a + 1..told.len() {
                if group[a] != group[b] && related(a, b) {
                    let (from, to) = (group[b], group[a]);
                    group.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
                }
            }
        }
        let mut knowing = (0..told.len()).filter(|&input| !told[input].is_empty());
        let Some(first) = knowing.next() else { return Ok(()) };
        match knowing.find(|&input| group[input] != group[first]) {
            None => Ok(()),
            Some(other) => {
                let of = |input: usize| format!("{} is of {}", names[input], told[input][0]);
                Err(BuildError::OtherRun { first: of(first), other: of(other) })
            }
        }
    }

    /// An error if the ELF files are of the program of some inputs, and not of others.
    fn images(&self, names: &[&str], space: &AddressSpace) -> Result<(), BuildError> {
        let found: Vec<_> = self.ended.iter().map(|part| part.fits.other(space)).collect();
        let Some(first) = found.iter().position(Option::is_none) else { return Ok(()) };
        match found.iter().zip(names).find_map(|(what, name)| Some((what.as_ref()?, name))) {
            None => Ok(()),
            Some((what, name)) => Err(BuildError::OtherRun {
                first: format!("{} is of the ELF files' program", names[first]),
                other: format!("{name} is not: {what}"),
            }),
        }
    }

    /// An error if an input that tells of no process has other instructions than those before it, at
    /// the same addresses.
    fn code(
        &self,
        names: &[&str],
        told: &[Vec<&ProcessClaim>],
        insns: &[Insn],
    ) -> Result<(), BuildError> {
        let mut known: FxHashMap<u64, (&Insn, usize)> = FxHashMap::default();
        let mut begin = 0;
        for (input, part) in self.ended.iter().enumerate() {
            let (mut compared, mut differing, mut with) = (0, 0, 0);
            for insn in &insns[begin..part.instructions] {
                let (before, of) = *known.entry(insn.def.address).or_insert((insn, input));
                if of < input && (told[of].is_empty() || told[input].is_empty()) {
                    compared += 1;
                    if !same_code(before, insn) {
                        (differing, with) = (differing + 1, of);
                    }
                }
            }
            if elf_check::differs(differing, compared) {
                let other = names[input];
                return Err(BuildError::OtherRun {
                    first: format!("{} and {other} are of different code", names[with]),
                    other: format!(
                        "{differing} of {compared} addresses that both execute have other instructions"
                    ),
                });
            }
            begin = part.instructions;
        }
        Ok(())
    }
}

/// As far as both logs tell.
fn same_code(a: &Insn, b: &Insn) -> bool {
    let known = a.def.bytes.len().min(b.def.bytes.len());
    let sizes = [a.def.size, b.def.size];
    (sizes.contains(&0) || sizes[0] == sizes[1]) && a.def.bytes[..known] == b.def.bytes[..known]
}

impl ProcessClaim {
    fn is_kin(&self, other: &ProcessClaim) -> bool {
        let same = |a: Option<u64>, b: Option<u64>| a.is_some() && a == b;
        let name = |p: &ProcessClaim| {
            let name = Path::new(p.program.as_deref()?).file_name();
            name.map(std::ffi::OsStr::to_owned)
        };
        same(self.pid, other.pid)
            || same(self.pid, other.parent)
            || same(self.parent, other.pid)
            || name(self).is_some_and(|own| Some(own) == name(other))
    }
}

impl std::fmt::Display for ProcessClaim {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.program.as_deref().unwrap_or("a program without a name"))?;
        self.pid.map_or(Ok(()), |pid| write!(f, " (process {pid})"))
    }
}
