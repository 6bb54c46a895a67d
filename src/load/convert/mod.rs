//! `addfg convert`: a log as a stream, or as a Giano-style log. The log is read and elaborated as a build
//! does it; what comes out is written instead of analysed.

mod giano;

use super::code::Space;
use super::intake::{Intake, Progress, Records};
use super::placing;
use super::reader::{Reader, Reading};
use super::{BuildError, Options, Report};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::event::{Carries, InsnDef, Isa, RunBatch, StepBatch};
use crate::image::{AddressSpace, Image};
use crate::isa::elaborate::Elaborator;
use crate::isa::resolve::{resolve, undecoded};
use crate::isa::{self, Decoded, Decoder};
use crate::trace::input::Input;
use crate::trace::stream::{self, Stream};
use crate::trace::{self, Claim, Format, Found, StepFormat};
use giano::GianoWriter;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// What a log is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    Stream,
    Giano,
}

/// Writes a log in another format. Of the options, those count that say how the log is read.
///
/// # Errors
/// The reader's; the log is already a stream, or its records are not steps; the output cannot be written.
pub fn convert(
    options: &Options,
    to: To,
    out: &mut dyn Write,
    progress: Progress,
) -> Result<Report, BuildError> {
    let [path] = &options.traces[..] else { return Err(BuildError::OneInput) };
    let input = Input::open(path)?;
    let name = input.name().to_owned();
    let format = match trace::detect(&input, options.format.as_deref())? {
        Found::Steps(format) => format,
        Found::Tables(format) => return Err(BuildError::NoSteps(name, format.name())),
    };
    if to == To::Stream && format.name() == Stream.name() {
        return Err(BuildError::IsStream(name));
    }
    let images = options.elfs.iter().map(|elf| Ok((Image::open(&elf.path)?, elf.bias)));
    let images = images.collect::<Result<Vec<_>, BuildError>>()?;
    steps(options, (input, format), images, to, out, progress)
}

fn steps(
    options: &Options,
    (input, format): (Input, &'static dyn StepFormat),
    images: Vec<(Image, Option<u64>)>,
    to: To,
    out: &mut dyn Write,
    progress: Progress,
) -> Result<Report, BuildError> {
    let isa = images.first().map(|(image, _)| image.isa);
    let total = input.size().unwrap_or(0);
    let reading = Reading { isa, layout: options.layout.clone(), jobs: options.jobs.max(1) };
    let reader = Reader::spawn(vec![(input, format)], reading)?;
    let mut intake = Intake::new(reader, options, isa, total, progress);
    let placed = placing::place(images, &mut intake)?;
    let space: Space = Rc::new(RefCell::new(AddressSpace::new(placed.images)));
    let isa = intake.isa.ok_or(BuildError::NoIsa)?;
    // Runs are what the log has; steps are elaborated.
    let decided = placed.early.iter().any(|records| matches!(records, Records::Steps(_)));
    let carries = Carries { decided, ..intake.carries() };
    let mut converter = Converter::new(isa, space, carries, to, out)?;
    for records in placed.early {
        converter.take(records)?;
    }
    while let Some(records) = intake.next()? {
        converter.take(records)?;
    }
    let mut diagnostics = std::mem::take(&mut intake.diagnostics);
    converter.problems(&mut diagnostics);
    let mut claims: Vec<Claim> =
        intake.conditional_exits.iter().map(|exits| Claim::ConditionalExits(*exits)).collect();
    claims.extend(intake.processes.iter().map(|(_, process)| Claim::Process(process.clone())));
    let steps = converter.finish(&claims, &mut diagnostics)?;
    Ok(Report { format: format.name(), steps, calls: 0, functions: 0, diagnostics })
}

/// Where runs are written to.
enum Target<'a> {
    Stream(Box<stream::Writer<&'a mut dyn Write>>),
    Giano(Box<GianoWriter<&'a mut dyn Write>>),
}

struct Converter<'a> {
    isa: Isa,
    space: Space,
    carries: Carries,
    decoder: Box<dyn Decoder>,
    elaborator: Option<Elaborator>,
    /// How many values of registers an executed instruction has in its runs.
    register_values: Vec<usize>,
    target: Target<'a>,
    problems: Vec<(Diagnostic, u64)>,
}

impl<'a> Converter<'a> {
    fn new(
        isa: Isa,
        space: Space,
        carries: Carries,
        to: To,
        out: &'a mut dyn Write,
    ) -> Result<Converter<'a>, BuildError> {
        let (dialect, m_profile) = space.borrow().of_first();
        let kernel = carries.kernel || m_profile;
        let target = match to {
            To::Stream => {
                let writer = stream::Writer::begin(out, isa, carries);
                Target::Stream(Box::new(writer.map_err(written_badly)?))
            }
            To::Giano => {
                let writer = GianoWriter::begin(out, isa, carries);
                Target::Giano(Box::new(writer.map_err(written_badly)?))
            }
        };
        Ok(Converter {
            isa,
            space,
            carries: Carries { kernel, ..carries },
            decoder: isa::decoder(isa, dialect),
            elaborator: None,
            register_values: Vec::new(),
            target,
            problems: Vec::new(),
        })
    }

    fn take(&mut self, records: Records) -> Result<(), BuildError> {
        match records {
            Records::Steps(batch) => self.steps(batch),
            Records::Runs(batch) => self.runs(batch),
            Records::End => match self.elaborator.take() {
                None => Ok(()),
                Some(mut elaborator) => {
                    let mut out = RunBatch::default();
                    elaborator.finish(&mut out);
                    let counted = elaborator.diagnostics();
                    self.problems.extend(counted.map(|of| (of.first.clone(), of.count)));
                    self.runs(out)
                }
            },
        }
    }

    fn steps(&mut self, mut batch: StepBatch) -> Result<(), BuildError> {
        let (isa, space, carries) = (self.isa, self.space.clone(), self.carries);
        let (dialect, _) = space.borrow().of_first();
        let code = {
            let space = space.clone();
            move |a: u64| space.borrow().bytes(a).map(|b| b[..b.len().min(16)].to_vec())
        };
        let tohost = space.borrow().tohost();
        let elaborator = self.elaborator.get_or_insert_with(|| {
            Elaborator::new(isa, dialect, carries, Box::new(code)).with_tohost(tohost)
        });
        if isa == Isa::Arm && !carries.thumb {
            for def in &mut batch.new_insns {
                def.thumb = space.borrow().thumb(def.address).unwrap_or(def.thumb);
            }
        }
        let mut out = RunBatch::default();
        elaborator.push(&mut batch, &mut out);
        self.runs(out)
    }

    fn runs(&mut self, mut batch: RunBatch) -> Result<(), BuildError> {
        for def in std::mem::take(&mut batch.new_insns) {
            let (def, decoded) = self.decode(def);
            let values = decoded.writes.iter().filter(|write| write.span.size <= 8).count();
            self.register_values.push(values);
            match &mut self.target {
                Target::Stream(writer) => writer.instruction(def),
                Target::Giano(writer) => writer.instruction(def, decoded),
            }
        }
        for def in std::mem::take(&mut batch.new_blocks) {
            let executed = def.steps.iter().filter(|step| step.executed);
            let of = |step: &crate::event::BlockStep| self.register_values.get(step.insn as usize);
            let values = executed.filter_map(of).sum();
            match &mut self.target {
                Target::Stream(writer) => writer.block(&def, values),
                Target::Giano(writer) => writer.block(def),
            }
        }
        let written = match &mut self.target {
            Target::Stream(writer) => writer.runs(&batch),
            Target::Giano(writer) => writer.runs(&batch),
        };
        written.map_err(written_badly)
    }

    /// An instruction as it is decoded, with the code of the ELF file where the log has none.
    fn decode(&mut self, mut def: InsnDef) -> (InsnDef, Decoded) {
        let space = self.space.borrow();
        let code = |a: u64| space.bytes(a).map(|b| b[..b.len().min(16)].to_vec());
        let (resolved, decoded) =
            resolve(&def, self.isa, &mut *self.decoder, &code, self.carries.kernel);
        let decoded = decoded.filter(|d| def.size == 0 || d.size == def.size);
        let Some(decoded) = decoded else {
            let size = def.size.max(1);
            let unknown = undecoded(&def, size, self.isa);
            return (def, unknown);
        };
        if def.bytes.is_empty() && !resolved.bytes.is_empty() {
            (def.bytes, def.size) = (resolved.bytes, resolved.size);
        }
        (def, decoded)
    }

    fn problems(&mut self, diagnostics: &mut Diagnostics) {
        for (problem, count) in self.problems.drain(..) {
            diagnostics.add_counted(problem, count);
        }
    }

    /// Ends the output; gives the number of steps.
    fn finish(self, claims: &[Claim], diagnostics: &mut Diagnostics) -> Result<u64, BuildError> {
        let (ended, lost) = match self.target {
            Target::Stream(mut writer) => {
                claims.iter().for_each(|claim| writer.claim(claim));
                for row in diagnostics.rows() {
                    let Diagnostic { severity, message, code, .. } = &row.first;
                    let text = format!("{code}: {message} ({} times)", row.count);
                    writer.problem(*severity as u64, &text);
                }
                let lost = writer.lost;
                (writer.end().map(|(_, steps)| steps), lost)
            }
            Target::Giano(writer) => {
                let lost = writer.lost;
                (writer.end(), lost)
            }
        };
        if lost > 0 {
            diagnostics.add_counted(lost_events(), lost);
        }
        ended.map_err(written_badly)
    }
}

/// What the output has no place for.
fn lost_events() -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        code: "not-converted",
        message: "events of the log have no place in the output: they were left out".into(),
        position: String::new(),
        remedy: "docs/convert.md says which; build from the log itself where they matter",
    }
}

fn written_badly(source: io::Error) -> BuildError {
    BuildError::Output(source)
}
