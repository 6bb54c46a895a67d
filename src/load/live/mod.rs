//! The other side of a recorder that sums data flow while the program runs (docs/sums.md): tells it what the code does that
//! it translates, and takes the sums at the end and whenever they are asked for.

mod asked;
mod beside;
mod database;
mod line;
mod message;
mod planner;
mod processes;
mod rows;
mod summary;
mod wires;

use super::{BuildError, Options, Report};
use crate::event::Isa;
pub use asked::{Asked, Purpose};
pub use beside::RunSums;
pub use database::NOT_EXACT;
use line::{Line, living};
use message::{Answer, Kind, Numbers, Wire};
use planner::Planner;
use processes::{Merge, Part};
use rows::Rows;
pub use rows::{FlowEnd, FlowSums, FunctionSums, LiveSums};
use rustc_hash::FxHashMap;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use wires::Wires;

/// A database that is made of the sums alone.
#[derive(Clone)]
pub struct Database {
    pub options: Options,
    /// What the run is called there.
    pub name: String,
    /// Unique bytes and addresses are counted.
    pub unique: bool,
}

impl Database {
    /// The database of a snapshot, counted from 1: `app.duckdb` has `app.1.duckdb`.
    pub fn snapshot(&self, number: u32) -> PathBuf {
        let output = &self.options.output;
        let name = Path::new(output.file_stem().unwrap_or_default());
        let mut name = name.as_os_str().to_owned();
        name.push(format!(".{number}"));
        if let Some(extension) = output.extension() {
            name.push(".");
            name.push(extension);
        }
        output.with_file_name(name)
    }

    fn write(
        &self,
        to: &Path,
        planner: &Planner,
        sums: (&Rows, &[Part]),
    ) -> Result<Report, BuildError> {
        let mut options = self.options.clone();
        options.output = to.to_owned();
        database::write(&options, &self.name, planner, sums, self.unique)
    }
}

/// What is told while the program runs.
pub enum Told<'a> {
    /// The sums as they are.
    Look(&'a LiveSums),
    /// A snapshot was written there, or could not be.
    Snapshot(&'a Path, Result<Report, BuildError>),
}

/// What is given of the sums at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Whether they are exact.
    Nothing,
    /// Rows with names.
    Named,
    /// And data between chains of functions.
    ByContext,
    /// What goes into the database of the stream.
    Run,
}

/// What a recorder has added up.
pub struct Taken {
    pub sums: LiveSums,
    pub run: Option<RunSums>,
}

/// What becomes of the sums.
pub struct Wanted {
    /// None: they are given only.
    pub database: Option<Database>,
    pub asked: Arc<Asked>,
    pub given: Given,
    pub told: Box<dyn FnMut(Told) + Send>,
}

/// What the recorder does not see: that a fault ended the program.
fn fatal_fault(status: ExitStatus) -> Option<String> {
    let name = match status.signal()? {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        _ => return None,
    };
    Some(format!("{name} ended the program: what was not run of its last block is counted"))
}

/// Answers a recorder until it has said all, or is gone. Gives the sums, if it sent them. `ended` tells how the
/// program did; nobody tells it if that is not known.
///
/// # Errors
/// It is not understood, or cannot be answered.
pub fn serve(
    isa: Isa,
    stream: UnixStream,
    wanted: Wanted,
    ended: &Receiver<ExitStatus>,
) -> io::Result<Taken> {
    let (mut server, mut sums, mut payload) =
        (Server::new(isa, wanted), Sums::default(), Vec::new());
    if let Some(mut line) = living(Line::new(stream))? {
        server.wanted.asked.listens(line.clone());
        let mut wire = Wire::new(line.clone());
        while let Some(kind) = living(message::read(&mut wire, &mut payload))?.flatten() {
            server.take(&mut sums, kind, &payload, &mut line)?;
            if sums.rows.is_whole {
                break;
            }
        }
    }
    let rows = sums.end(&server.planner, 0, ended.recv().ok());
    let part = [Part::of(&server.planner, 0, &rows)];
    Ok(server.finish(rows, &part))
}

/// Answers the recorders of a tree of processes, which connect to `listener`, until `alive` is closed and all of them
/// are gone.
///
/// # Errors
/// As [`serve`].
pub fn serve_all(
    isa: Isa,
    listener: UnixListener,
    alive: UnixStream,
    wanted: Wanted,
    ended: &Receiver<ExitStatus>,
) -> io::Result<Taken> {
    let (mut server, mut merge) = (Server::new(isa, wanted), Merge::default());
    server.planner = server.planner.of_several();
    let mut wires = Wires::new(listener, alive);
    // By wire: its process, and its sums.
    let mut told: FxHashMap<usize, (Option<usize>, Sums)> = FxHashMap::default();
    let (mut processes, mut first) = (0, None);
    let mut payload = Vec::new();
    while let Some((wire, kind)) = wires.read(&mut payload)? {
        let (process, sums) = told.entry(wire).or_default();
        match (kind, *process) {
            (Some(Kind::Begin), None) => {
                let mut numbers = Numbers(&payload);
                let (parent, segments) = (numbers.four()? as usize, numbers.four()? as usize);
                let parent = Some((parent, segments)).filter(|_| parent < processes);
                if processes > 0 {
                    server.planner.begin_process(parent);
                }
                *process = Some(processes);
                server.answer.four(processes as u32);
                living(server.answer.send(wires.line(wire)))?;
                processes += 1;
            }
            (Some(kind), Some(process)) => {
                server.planner.enter(process);
                server.take(sums, kind, &payload, wires.line(wire))?;
            }
            (Some(_), None) => return Err(message::bad()),
            (None, _) => {
                let Some((Some(process), sums)) = told.remove(&wire) else { continue };
                let rows = sums.end(&server.planner, process, None);
                server.planner.end_process(process);
                match process {
                    // How it ended is known when all have.
                    0 => first = Some(rows),
                    _ => merge.add(&server.planner, process, &rows),
                }
            }
        }
    }
    let mut rows = first.unwrap_or_default();
    rows.problems.extend(ended.recv().ok().and_then(fatal_fault));
    merge.add(&server.planner, 0, &rows);
    let (rows, parts) = merge.finish(processes.max(1));
    Ok(server.finish(rows, &parts))
}

/// What a process has sent.
#[derive(Default)]
struct Sums {
    rows: Rows,
    /// Those before an `exec`, until something is said behind it: then it failed.
    before_exec: Option<Rows>,
}

impl Sums {
    /// Nothing comes any more of the process with this number; `status`: how the program ended.
    fn end(self, planner: &Planner, process: usize, status: Option<ExitStatus>) -> Rows {
        let mut rows = self.rows;
        match self.before_exec {
            Some(until) => rows = Rows { is_whole: true, ..until },
            None => rows.problems.extend(status.and_then(fatal_fault)),
        }
        rows.problems.extend(planner.processes[process].kernel.shared_memory());
        rows
    }
}

/// What is known of all processes.
struct Server {
    planner: Planner,
    answer: Answer,
    wanted: Wanted,
    snapshots: u32,
}

impl Server {
    fn new(isa: Isa, wanted: Wanted) -> Server {
        Server { planner: Planner::new(isa), answer: Answer::default(), wanted, snapshots: 0 }
    }

    /// Takes a message of the process that is told of, and answers it.
    fn take(
        &mut self,
        sums: &mut Sums,
        kind: Kind,
        payload: &[u8],
        line: &mut Line,
    ) -> io::Result<()> {
        let (planner, answer) = (&mut self.planner, &mut self.answer);
        let mut numbers = Numbers(payload);
        let rows = &mut sums.rows;
        sums.before_exec = None;
        match kind {
            Kind::Map => planner.map(numbers, answer)?,
            Kind::Code => planner.code(numbers, answer)?,
            Kind::Unmap => planner.unmap(numbers)?,
            Kind::Event => planner.event(numbers)?,
            Kind::Source => planner.source(numbers, answer)?,
            Kind::Rows => rows.add(numbers)?,
            Kind::Problem => rows.problems.push(String::from_utf8_lossy(payload).into_owned()),
            Kind::Snapshot => {
                let mut rows = std::mem::take(rows);
                match Why::of(numbers.four()?)? {
                    Why::Exec => sums.before_exec = Some(rows),
                    why => {
                        rows.problems.extend(planner.processes[0].kernel.shared_memory());
                        self.snapshot(&rows, why);
                    }
                }
            }
            Kind::End => rows.is_whole = true,
            Kind::Begin => return Err(message::bad()),
        }
        if matches!(kind, Kind::Map | Kind::Code | Kind::Source) {
            living(self.wanted.asked.answer(&mut self.answer, line))?;
        }
        Ok(())
    }

    /// The sums as they are have come: for whom was asked for them, or for a marker of the program.
    fn snapshot(&mut self, rows: &Rows, why: Why) {
        let (planner, wanted) = (&self.planner, &mut self.wanted);
        let purpose = match why {
            Why::Asked => wanted.asked.next(),
            Why::Marker => Some(Purpose::Database),
            Why::Exec => None,
        };
        match (purpose, &wanted.database) {
            (Some(Purpose::Look), _) => (wanted.told)(Told::Look(&rows.looked_at(planner))),
            (Some(Purpose::Database), Some(database)) => {
                self.snapshots += 1;
                let to = database.snapshot(self.snapshots);
                let written = database.write(&to, planner, (rows, &[Part::of(planner, 0, rows)]));
                (wanted.told)(Told::Snapshot(&to, written));
            }
            _ => {}
        }
    }

    /// Gives what is wanted of the sums. `parts`: what is of each process alone.
    fn finish(self, rows: Rows, parts: &[Part]) -> Taken {
        let Server { planner, wanted, .. } = self;
        let mut sums = match wanted.given {
            Given::Nothing | Given::Run => LiveSums::default(),
            given => rows.named(&planner, given == Given::ByContext),
        };
        sums.problems.clone_from(&rows.problems);
        sums.is_whole = rows.is_whole;
        sums.processes = parts.len();
        sums.no_unique = wanted.database.as_ref().is_some_and(|database| !database.unique);
        let database = wanted.database.filter(|_| sums.is_whole);
        sums.report = database.map(|to| to.write(&to.options.output, &planner, (&rows, parts)));
        let run = (wanted.given == Given::Run).then(|| RunSums::new(planner, rows));
        Taken { sums, run }
    }
}

/// Why the recorder sends the sums while the program goes on.
#[derive(Clone, Copy)]
enum Why {
    Asked,
    Marker,
    Exec,
}

impl Why {
    fn of(number: u32) -> io::Result<Why> {
        match number {
            0 => Ok(Why::Asked),
            1 => Ok(Why::Marker),
            2 => Ok(Why::Exec),
            _ => Err(message::bad()),
        }
    }
}
