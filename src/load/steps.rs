//! From steps to tables: three threads - the reader's, the pass's (the caller's) and the writer's,
//! with batches of columns between them.

use super::dictionary::{self, TraceFile};
use super::finish::End;
use super::front::Front;
use super::functions::{self, FunctionRow, Functions};
use super::{BuildError, Detail, Options, Report};
use crate::analysis::pass::{Options as PassOptions, Pass};
use crate::analysis::superblock;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::event::{Carries, Isa, RunBatch, StepBatch};
use crate::image::{self, AddressSpace, Image, Loaded};
use crate::isa;
use crate::store::StoreError;
use crate::store::columns::ColumnOutput;
use crate::store::writer::{Rows, Writer};
use crate::trace::input::Input;
use crate::trace::{Context, Listener, Sink, StepFormat, TraceError};
use std::rc::Rc;
use std::sync::mpsc;

enum Message {
    Begin(Carries, Option<Isa>),
    Steps(StepBatch),
    Runs(RunBatch),
    Diagnostic(Diagnostic),
    Progress(u64),
    /// The next trace file begins: dictionaries start anew.
    Done(Result<(), TraceError>),
}

struct Channel(mpsc::SyncSender<Message>);

impl Channel {
    fn send(&self, message: Message) -> Result<(), TraceError> {
        self.0.send(message).map_err(|_| TraceError::Stopped)
    }
}

impl Sink for Channel {
    fn begin(&mut self, carries: Carries, isa: Option<Isa>) -> Result<(), TraceError> {
        self.send(Message::Begin(carries, isa))
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.send(Message::Steps(std::mem::take(batch)))
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        self.send(Message::Runs(std::mem::take(batch)))
    }
}

impl Listener for Channel {
    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        // If nobody listens any more the next batch says so.
        let _ = self.send(Message::Diagnostic(diagnostic));
    }
    fn progress(&mut self, bytes: u64) {
        let _ = self.send(Message::Progress(bytes));
    }
}
pub type ThePass<'a> = Pass<
    Functions<'a>,
    ColumnOutput<
        Box<dyn FnMut(crate::store::columns::Table, Vec<duckdb::arrow::array::ArrayRef>) + 'a>,
    >,
>;

/// Builds a database from traces whose records are steps or runs.
pub fn build(
    options: &Options,
    images: Vec<(Image, Option<u64>)>,
    inputs: Vec<(Input, &'static dyn StepFormat)>,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Report, BuildError> {
    let isa = images.first().map(|(i, _)| i.isa);
    let total = inputs.iter().map(|(i, _)| i.size()).sum::<Option<u64>>().unwrap_or(0);
    let traces: Vec<_> = inputs.iter().map(|(i, f)| TraceFile::of(i, f.name())).collect();
    let jobs = options.jobs.max(1);
    let layout = options.layout.clone();
    let (sender, receiver) = mpsc::sync_channel(4);
    let reader = std::thread::Builder::new().name("reader".into()).spawn(move || {
        let mut channel = Channel(sender);
        for (input, format) in inputs {
            let context = Context { isa, layout: layout.as_deref(), jobs };
            let result = format.read(input, &context, &mut channel);
            let stop = result.is_err();
            if channel.send(Message::Done(result)).is_err() || stop {
                return;
            }
        }
    });
    let reader = reader.map_err(|source| StoreError::Io { path: "a thread".into(), source })?;
    let result = run(options, images, isa, &traces, total, receiver, progress);
    // The receiver is gone: a reader that still runs ends at its next batch.
    let _ = reader.join();
    result
}

fn run(
    options: &Options,
    images: Vec<(Image, Option<u64>)>,
    isa: Option<Isa>,
    traces: &[TraceFile],
    total: u64,
    receiver: mpsc::Receiver<Message>,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Report, BuildError> {
    let mut diagnostics = Diagnostics::default();
    let mut carries = Carries::default();
    // A position-independent image waits until enough of the trace is known to place it.
    let mut early: Vec<Message> = Vec::new();
    let mut addresses: Vec<u64> = Vec::new();
    let mut messages = receiver.into_iter();
    let mut isa = isa;
    let guess = images.iter().any(|(i, b)| i.pie && b.is_none());
    for message in messages.by_ref() {
        match &message {
            Message::Begin(c, i) => {
                carries = *c;
                if let (Some(a), Some(b)) = (isa, i)
                    && a != *b
                {
                    return Err(BuildError::WrongIsa(format!("{b:?} against {a:?}")));
                }
                isa = isa.or(*i);
            }
            Message::Runs(b) => addresses.extend(b.new_insns.iter().map(|i| i.address)),
            Message::Steps(b) => addresses.extend(b.new_insns.iter().map(|i| i.address)),
            _ => {}
        }
        let ends = matches!(message, Message::Done(_));
        early.push(message);
        if ends || (!guess && !addresses.is_empty()) || addresses.len() > 20_000 {
            break;
        }
    }
    let mut loaded = Vec::new();
    for (image, bias) in images {
        let found = bias
            .or_else(|| if image.pie { image::guess_bias(&image, &addresses) } else { Some(0) });
        if found.is_none() {
            diagnostics.add(Diagnostic {
                severity: Severity::Warning,
                code: "bias-unknown",
                message: format!(
                    "where {} was loaded could not be found out",
                    image.path.display()
                ),
                position: String::new(),
                remedy: "give its load address: --elf FILE@ADDRESS",
            });
        }
        if image.stripped {
            diagnostics.add(Diagnostic {
                severity: Severity::Warning,
                code: "stripped",
                message: format!(
                    "{} has no symbol table: its functions are one, <unknown>",
                    image.path.display()
                ),
                position: String::new(),
                remedy: "give the file as it was before strip",
            });
        }
        loaded.push(Loaded { image, bias: found.unwrap_or(0) });
    }
    let space = Rc::new(AddressSpace::new(loaded));
    let isa = isa.ok_or(BuildError::NoIsa)?;

    let sections = dictionary::sections(&space);
    let ranges = dictionary::ranges(&sections);
    let mut writer = Writer::create(&options.output, options.force)?;
    let rows = writer.sender().ok_or(StoreError::Stopped)?;
    let rows2 = rows.clone();
    // A failed send means that the writer has ended: its error is taken when it is joined.
    let send: Box<dyn FnMut(_, _)> = Box::new(move |table, columns| {
        let _ = rows2.send(Rows::Batch(table, columns));
    });
    let registers = isa::registers(isa);
    let sp_tokens = registers.link.is_some();
    let pass_options = PassOptions {
        literal_saves: options.literal_saves,
        communications: options.detail >= Detail::Pairs,
        local_communications: options.detail >= Detail::Full,
        instances: options.detail >= Detail::Instance,
        mutation: options.mutation,
        superblock_after: options.superblock_after.unwrap_or(superblock::HOT),
    };
    let through = functions::through(&space, &options.through).map_err(BuildError::Through)?;
    let functions = Functions::new(&space, isa == Isa::Arm, through);
    let mut pass: ThePass = Pass::new(
        functions,
        ColumnOutput::new(send),
        pass_options,
        ranges,
        registers.size,
        sp_tokens,
    );
    let mut front = Front::new(isa, space.clone());
    let mut consumed = 0;
    let limit =
        if options.memory_limit > 0 { options.memory_limit } else { machine_memory() / 4 * 3 };
    for message in early.into_iter().chain(messages) {
        match message {
            Message::Begin(c, _) => carries = c,
            Message::Diagnostic(d) => {
                if options.strict && d.severity == Severity::Error {
                    return Err(BuildError::Strict { position: d.position, message: d.message });
                }
                diagnostics.add(d);
            }
            Message::Progress(bytes) => {
                consumed += bytes;
                if progress(consumed, total) {
                    return Err(BuildError::Interrupted(options.output.display().to_string()));
                }
            }
            Message::Done(result) => {
                result?;
                front.end_of_input(&mut pass, options.detail >= Detail::Pairs, &rows);
            }
            Message::Steps(mut batch) => {
                front.steps(&mut batch, carries, &mut pass, options.detail >= Detail::Pairs, &rows);
            }
            Message::Runs(batch) => {
                front.runs(batch, &mut pass, options.detail >= Detail::Pairs, &rows);
                if resident_memory() > limit {
                    return Err(BuildError::Memory {
                        limit_mb: limit >> 20,
                        steps: pass.next_seq() - 1,
                    });
                }
            }
        }
    }
    front.release(&mut pass, options.detail >= Detail::Pairs, &rows);
    for (d, count) in front.diagnostics() {
        diagnostics.add_counted(d, count);
    }
    let summary = pass.finish();
    let counts = pass.block_counts();
    pass.output.finish();
    if !space.images().is_empty()
        && !pass.code.rows.iter().any(|r| matches!(r, FunctionRow::Symbol(_)))
    {
        let stripped = space.images().iter().all(|i| i.image.stripped);
        let inside = pass.insns.iter().any(|i| space.image_at(i.def.address).is_some());
        if !(stripped && inside) {
            let elf = space
                .images()
                .iter()
                .map(|i| i.image.path.display().to_string())
                .collect::<Vec<_>>()
                .join(", ");
            return Err(BuildError::WrongElf {
                first: pass.insns.first().map_or(0, |i| i.def.address),
                elf,
            });
        }
    }
    // All senders go, so that the writer ends.
    let Pass { code, insns, defs, output, .. } = pass;
    drop(output);
    drop(rows);
    let connection = writer.join()?;
    let end = End {
        connection: &connection,
        options,
        space: &space,
        sections: &sections,
        code: &code,
        insns: &insns,
        defs: &defs,
        counts: &counts,
        summary: &summary,
        isa,
        low: options.detail >= Detail::Pairs,
    };
    end.write(traces, carries, &diagnostics)?;
    writer.commit(connection)?;
    let format = traces.first().map_or("", |t| t.format);
    Ok(Report {
        format,
        steps: summary.steps,
        calls: summary.calls as u64,
        functions: code.rows.len(),
        diagnostics,
    })
}

fn machine_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text
        .lines()
        .find_map(|l| l.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(u64::MAX, |k| k * 1024)
}

/// Resident bytes of this process; 0 where the system does not tell.
fn resident_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace()
        .nth(1)
        .and_then(|p| p.parse::<u64>().ok())
        .map_or(0, |pages| pages * 4096)
}
