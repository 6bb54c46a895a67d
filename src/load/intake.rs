//! What comes from the reader's thread, without what is not for the pass: progress, problems,
//! what the files carry, and the limits that end a build.

use super::limit::Limit;
use super::reader::{Message, Reader};
use super::{BuildError, Options, Progressed};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::event::{Carries, Isa, RunBatch, StepBatch};
use crate::trace::{Claim, ProcessClaim};

/// Records for the pass.
pub enum Records {
    Steps(StepBatch),
    Runs(RunBatch),
    /// The end of an input.
    End,
}

/// Told how far the build is; true to interrupt.
pub type Progress<'a> = &'a mut dyn FnMut(Progressed) -> bool;

pub struct Intake<'a> {
    reader: Reader,
    options: &'a Options,
    limit: Limit,
    progress: Progress<'a>,
    consumed: u64,
    /// Bytes that there are, 0: unknown.
    total: u64,
    /// Steps that were read, for the person.
    pub steps: u64,
    /// The instruction set, of the ELF files or, without any, of the first input that tells.
    pub isa: Option<Isa>,
    elf: bool,
    /// By input, as far as they have begun.
    pub carries: Vec<Carries>,
    /// Inputs that have ended.
    ended: usize,
    /// Conditional exits that the recorder counted, for each input that tells.
    pub conditional_exits: Vec<u64>,
    /// Processes that inputs name in their heads, with the input's index.
    pub processes: Vec<(usize, ProcessClaim)>,
    pub diagnostics: Diagnostics,
}

impl<'a> Intake<'a> {
    /// `isa` is that of the ELF files.
    pub fn new(
        reader: Reader,
        options: &'a Options,
        isa: Option<Isa>,
        total: u64,
        progress: Progress<'a>,
    ) -> Self {
        Intake {
            reader,
            options,
            limit: Limit::new(options.memory_limit),
            progress,
            consumed: 0,
            total,
            steps: 0,
            isa,
            elf: isa.is_some(),
            carries: Vec::new(),
            ended: 0,
            conditional_exits: Vec::new(),
            processes: Vec::new(),
            diagnostics: Diagnostics::default(),
        }
    }

    /// What the input of the records last given carries.
    pub fn carries(&self) -> Carries {
        self.carries.last().copied().unwrap_or_default()
    }

    /// The next records; None when every input was read to its end.
    ///
    /// # Errors
    /// The reader's; more memory in use than allowed; the person interrupts; a problem that
    /// `--strict` refuses.
    pub fn next(&mut self) -> Result<Option<Records>, BuildError> {
        while let Some(message) = self.reader.next()? {
            let records = match message {
                Message::Begin(carries, isa) => {
                    self.begin(carries, isa)?;
                    continue;
                }
                Message::Diagnostic(diagnostic) => {
                    self.problem(diagnostic)?;
                    continue;
                }
                Message::Progress(bytes) => {
                    self.advance(bytes)?;
                    continue;
                }
                Message::Claim(Claim::ConditionalExits(exits)) => {
                    self.conditional_exits.push(exits);
                    continue;
                }
                Message::Claim(Claim::Process(process)) => {
                    self.processes.push((self.ended, process));
                    continue;
                }
                Message::Steps(batch) => {
                    self.steps += batch.len() as u64;
                    Records::Steps(batch)
                }
                Message::Runs(batch) => Records::Runs(batch),
                Message::End => {
                    self.ended += 1;
                    self.carries.resize(self.ended, Carries::default());
                    Records::End
                }
            };
            let (steps, bytes) = (self.steps, self.consumed);
            // Runs do not say how many steps they are.
            self.limit.check(|| match steps {
                0 => format!("{bytes} bytes"),
                steps => format!("{steps} steps"),
            })?;
            return Ok(Some(records));
        }
        Ok(None)
    }

    fn begin(&mut self, carries: Carries, isa: Option<Isa>) -> Result<(), BuildError> {
        self.carries.push(carries);
        match (self.isa, isa) {
            (Some(known), Some(logged)) if known != logged => {
                let (known, logged) = (format!("{known:?}"), format!("{logged:?}"));
                Err(if self.elf {
                    BuildError::WrongIsa(format!("{logged} against {known}"))
                } else {
                    BuildError::MixedIsa(known, logged)
                })
            }
            _ => {
                self.isa = self.isa.or(isa);
                Ok(())
            }
        }
    }

    fn problem(&mut self, diagnostic: Diagnostic) -> Result<(), BuildError> {
        if self.options.strict && diagnostic.severity == Severity::Error {
            let Diagnostic { position, message, .. } = diagnostic;
            return Err(BuildError::Strict { position, message });
        }
        self.diagnostics.add(diagnostic);
        Ok(())
    }

    fn advance(&mut self, bytes: u64) -> Result<(), BuildError> {
        self.consumed += bytes;
        let (bytes, total, steps) = (self.consumed, self.total, self.steps);
        if (self.progress)(Progressed { bytes, total, steps }) {
            return Err(BuildError::Interrupted(self.options.output.display().to_string()));
        }
        Ok(())
    }
}
