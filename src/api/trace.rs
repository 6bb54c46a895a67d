//! A recorded run, and what can be made of it.

use super::format::Own;
use super::problem::{Problem, problems};
use super::{Error, Flows, Format};
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::event::{BlockDef, Carries, Condition, InsnDef, Isa, RunBatch, StepBatch};
use crate::image::Image;
use crate::load::{self, Detail, ElfInput, Options, Progressed};
use crate::trace::input::Input;
use crate::trace::{Context, Found, Listener, Sink, TraceError};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

type Told<'a> = Box<dyn FnMut(Progressed) -> bool + 'a>;

/// A recorded run: one file, or several of the same run, with the program's ELF files.
///
/// Options are set first; [`Trace::flows`], [`Trace::build`] and [`Trace::read`] go over it once.
///
/// ```no_run
/// let flows = addfg::Trace::new("app.stream").elf("app").flows()?;
/// # Ok::<(), addfg::Error>(())
/// ```
pub struct Trace<'a> {
    files: Vec<PathBuf>,
    readers: Vec<(String, Box<dyn Read + Send>)>,
    options: Options,
    progress: Told<'a>,
}

/// What a build has made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Built {
    /// The word for the trace's format.
    pub format: &'static str,
    /// Executed instructions.
    pub steps: u64,
    /// Functions that ran.
    pub functions: usize,
    /// What was lost or not understood.
    pub problems: Vec<Problem>,
}

/// An executed instruction, as [`Trace::read`] gives it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Executed<'a> {
    /// Its place in the trace, from 1.
    pub number: u64,
    /// Thread or processor as the trace numbers them.
    pub thread: u32,
    /// Address at run time.
    pub address: u64,
    /// Its bytes in memory order; empty where the trace has none.
    pub opcode: &'a [u8],
    /// Disassembly, where the trace has it.
    pub text: Option<&'a str>,
    /// False if its condition did not hold, as far as the trace says.
    pub is_executed: bool,
    /// Memory accesses that the trace tells of.
    pub accesses: &'a [Access],
}

/// A memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Access {
    /// Address of its first byte.
    pub address: u64,
    /// Size; 0 where the trace does not say.
    pub bytes: u32,
    /// A store, else a load.
    pub is_write: bool,
    /// What was loaded or stored, where the trace has it.
    pub value: Option<u64>,
}

impl<'a> Trace<'a> {
    /// A trace in a file, which may be compressed (xz, zstd, gzip, bzip2).
    pub fn new(path: impl Into<PathBuf>) -> Trace<'a> {
        Trace::of(vec![path.into()], Vec::new())
    }

    /// A trace from any source of bytes, which may be compressed; `name` is for messages.
    pub fn from_reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Trace<'a> {
        Trace::of(Vec::new(), vec![(name.into(), Box::new(reader))])
    }

    fn of(files: Vec<PathBuf>, readers: Vec<(String, Box<dyn Read + Send>)>) -> Trace<'a> {
        let options = Options::new(PathBuf::new());
        Trace { files, readers, options, progress: Box::new(|_| false) }
    }

    /// A further file of the same run.
    pub fn and(mut self, path: impl Into<PathBuf>) -> Self {
        self.files.push(path.into());
        self
    }

    /// The program, or one of its libraries: functions, variables and lines are its.
    pub fn elf(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.elfs.push(ElfInput { path: path.into(), bias: None });
        self
    }

    /// The same of a file that was loaded at an address which the trace does not tell: `bias` is
    /// what is added to the addresses in the file.
    pub fn elf_at(mut self, path: impl Into<PathBuf>, bias: u64) -> Self {
        self.options.elfs.push(ElfInput { path: path.into(), bias: Some(bias) });
        self
    }

    /// A format of your own, which is asked before addfg's. It stays in memory until the program
    /// ends.
    pub fn format(mut self, format: &'static dyn Format) -> Self {
        self.options.formats.push(Box::leak(Box::new(Own(format))));
        self
    }

    /// How much [`Trace::build`] keeps as rows; without this those of [`Detail::Summary`], and of a run of up to
    /// five million steps those of [`Detail::Pairs`].
    pub fn detail(mut self, detail: Detail) -> Self {
        self.options.detail = Some(detail);
        self
    }

    /// Bytes of memory that may be in use; without this three quarters of what is free.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.options.memory_limit = bytes;
        self
    }

    /// Calls this now and then; the work ends, without a result, when it returns true.
    pub fn progress(mut self, told: impl FnMut(Progressed) -> bool + 'a) -> Self {
        self.progress = Box::new(told);
        self
    }

    fn inputs(&mut self) -> Result<Vec<Input>, Error> {
        let files = self.files.iter().map(|path| Input::open(path));
        let readers = self.readers.drain(..).map(|(name, r)| Input::from_reader(&name, r));
        files.chain(readers).collect::<Result<_, _>>().map_err(Error::of)
    }

    /// Adds the run up, in memory that grows with the bytes and the pairs of functions that it
    /// touches, not with its length.
    ///
    /// # Errors
    /// A file cannot be read, is in no known format or of another run than the ELF files; the trace
    /// has no executed instructions; the memory limit.
    pub fn flows(mut self) -> Result<Flows, Error> {
        let inputs = self.inputs()?;
        let summed = load::sum(&self.options, inputs, &mut self.progress).map_err(Error::of)?;
        Ok(Flows::of(summed))
    }

    /// Builds a database, as `addfg build` does: a file that is not there yet.
    ///
    /// # Errors
    /// As of [`Trace::flows`]; something is at `output`; the disk is full. Nothing is left then.
    pub fn build(mut self, output: impl AsRef<Path>) -> Result<Built, Error> {
        self.options.output = output.as_ref().to_owned();
        load::refuse_existing(&self.options).map_err(Error::of)?;
        let inputs = self.inputs()?;
        let report =
            load::load_inputs(&self.options, inputs, &mut self.progress).map_err(Error::of)?;
        Ok(Built {
            format: report.format,
            steps: report.steps,
            functions: report.functions,
            problems: problems(&report.diagnostics),
        })
    }

    /// Calls `each` for every executed instruction, in the order of the trace; gives what was lost or
    /// not understood. What instructions do beside the accesses that the trace has is not looked at.
    ///
    /// # Errors
    /// As of [`Trace::flows`], and those of `each`, which end it.
    pub fn read(
        mut self,
        each: impl FnMut(&Executed) -> Result<(), Error>,
    ) -> Result<Vec<Problem>, Error> {
        let elf = self.options.elfs.first().map(|elf| Image::open(&elf.path)).transpose();
        let isa = elf.map_err(Error::of)?.map(|image| image.isa);
        let mut told = Each { each, known: Known::default(), failed: None };
        for input in self.inputs()? {
            let format = match load::format_of(&self.options, &input).map_err(Error::of)? {
                Found::Steps(format) => format,
                Found::Tables(format) => {
                    let message = format!("format {} has no executed instructions", format.name());
                    return Err(Error::new(message));
                }
            };
            // Each input has dictionaries of its own.
            (told.known.insns, told.known.blocks) = (Vec::new(), Vec::new());
            let done = format.read(input, &Context { isa, layout: None, jobs: 1 }, &mut told);
            if let Some(error) = told.failed {
                return Err(error);
            }
            done.map_err(Error::of)?;
        }
        Ok(problems(&told.known.diagnostics))
    }
}

/// What is known of the trace so far.
#[derive(Default)]
struct Known {
    insns: Vec<InsnDef>,
    blocks: Vec<Rc<BlockDef>>,
    steps: u64,
    diagnostics: Diagnostics,
}

/// Hands on what a reader gives, instruction after instruction.
struct Each<F> {
    each: F,
    known: Known,
    failed: Option<Error>,
}

impl<F: FnMut(&Executed) -> Result<(), Error>> Each<F> {
    fn give(
        &mut self,
        insn: u32,
        thread: u32,
        is_executed: bool,
        accesses: &[Access],
    ) -> Result<(), TraceError> {
        self.known.steps += 1;
        let Some(def) = self.known.insns.get(insn as usize) else { return Ok(()) };
        let executed = Executed {
            number: self.known.steps,
            thread,
            address: def.address,
            opcode: &def.bytes,
            text: def.text.as_deref(),
            is_executed,
            accesses,
        };
        (self.each)(&executed).map_err(|error| {
            self.failed = Some(error);
            TraceError::Stopped
        })
    }
}

impl<F: FnMut(&Executed) -> Result<(), Error>> Sink for Each<F> {
    fn begin(&mut self, _: Carries, _: Option<Isa>) -> Result<(), TraceError> {
        Ok(())
    }

    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        let batch = std::mem::take(batch);
        self.known.insns.extend(batch.new_insns);
        let (mut first, mut accesses) = (0, Vec::new());
        for (i, &insn) in batch.insn.iter().enumerate() {
            let end = batch.access_end[i] as usize;
            accesses.clear();
            accesses.extend(batch.accesses[first..end].iter().map(|a| Access {
                address: a.address,
                bytes: a.size,
                is_write: a.is_write,
                value: a.value,
            }));
            first = end;
            let ran = batch.condition[i] != Condition::Failed;
            self.give(insn, batch.thread.get(i).copied().unwrap_or(0), ran, &accesses)?;
        }
        Ok(())
    }

    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        let batch = std::mem::take(batch);
        self.known.insns.extend(batch.new_insns);
        self.known.blocks.extend(batch.new_blocks.into_iter().map(Rc::new));
        let (mut next, mut accesses) = (0, Vec::new());
        for (run, &block) in batch.block.iter().enumerate() {
            let thread = batch.thread.get(run).copied().unwrap_or(0);
            let def = self.known.blocks[block as usize].clone();
            let mut shapes = def.mem.iter();
            for step in &def.steps {
                accesses.clear();
                for shape in shapes.by_ref().take(usize::from(step.mem)) {
                    accesses.push(Access {
                        address: batch.addresses[next],
                        bytes: shape.size,
                        is_write: shape.is_write,
                        value: batch.values.get(next).copied().flatten(),
                    });
                    next += 1;
                }
                self.give(step.insn, thread, step.executed, &accesses)?;
            }
        }
        Ok(())
    }
}

impl<F> Listener for Each<F> {
    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        self.known.diagnostics.add(diagnostic);
    }
    fn progress(&mut self, _: u64) {}
}
