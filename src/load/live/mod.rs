//! The other side of a recorder that sums data flow while the program runs (docs/sums.md): tells it what the code does that
//! it translates, and takes the sums at the end and whenever they are asked for.

mod asked;
mod beside;
mod database;
mod message;
mod planner;
mod rows;
mod summary;

use super::{BuildError, Options, Report};
use crate::event::Isa;
pub use asked::{Asked, Purpose};
pub use beside::RunSums;
use message::{Answer, Kind, Numbers, Wire};
use planner::Planner;
use rows::Rows;
pub use rows::{FlowEnd, FlowSums, FunctionSums, LiveSums};
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

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

    fn write(&self, to: &Path, planner: &Planner, rows: &Rows) -> Result<Report, BuildError> {
        let mut options = self.options.clone();
        options.output = to.to_owned();
        database::write(&options, &self.name, planner, rows, self.unique)
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
    mut stream: UnixStream,
    mut wanted: Wanted,
    ended: &Receiver<ExitStatus>,
) -> io::Result<Taken> {
    let mut wire = Wire::new(stream.try_clone()?);
    let (mut planner, mut answer) = (Planner::new(isa), Answer::default());
    let (mut rows, mut payload, mut snapshots) = (Rows::default(), Vec::new(), 0);
    // Those before an `exec`, until something is said behind it: then it failed.
    let mut before_exec = None;
    while let Some(kind) = living(message::read(&mut wire, &mut payload))?.flatten() {
        let mut numbers = Numbers(&payload);
        before_exec = None;
        match kind {
            Kind::Map => planner.map(numbers, &mut answer)?,
            Kind::Code => planner.code(numbers, &mut answer)?,
            Kind::Unmap => planner.unmap(numbers)?,
            Kind::Event => planner.event(numbers)?,
            Kind::Source => planner.source(numbers, &mut answer)?,
            Kind::Rows => rows.add(numbers)?,
            Kind::Problem => rows.problems.push(String::from_utf8_lossy(&payload).into_owned()),
            Kind::Snapshot => {
                let rows = std::mem::take(&mut rows);
                match Why::of(numbers.four()?)? {
                    Why::Exec => before_exec = Some(rows),
                    why => snapshot(&mut wanted, &planner, &rows, why, &mut snapshots),
                }
            }
            Kind::End => {
                rows.is_whole = true;
                break;
            }
        }
        if matches!(kind, Kind::Map | Kind::Code | Kind::Source) {
            living(wanted.asked.answer(&mut answer, &mut stream))?;
        }
    }
    let status = ended.recv().ok();
    match before_exec {
        Some(until) => rows = Rows { is_whole: true, ..until },
        None => rows.problems.extend(status.and_then(fatal_fault)),
    }
    let mut sums = match wanted.given {
        Given::Nothing | Given::Run => LiveSums::default(),
        given => rows.named(&planner, given == Given::ByContext),
    };
    sums.problems.clone_from(&rows.problems);
    sums.is_whole = rows.is_whole;
    sums.no_unique = wanted.database.as_ref().is_some_and(|database| !database.unique);
    let database = wanted.database.filter(|_| sums.is_whole);
    sums.report = database.map(|to| to.write(&to.options.output, &planner, &rows));
    let run = (wanted.given == Given::Run).then(|| RunSums::new(planner, rows));
    Ok(Taken { sums, run })
}

/// None: the recorder was killed, which is no error of ours.
fn living<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => Ok(None),
        Err(error) => Err(error),
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

/// The sums as they are have come: for whom was asked for them, or for a marker of the program.
fn snapshot(wanted: &mut Wanted, planner: &Planner, rows: &Rows, why: Why, snapshots: &mut u32) {
    let purpose = match why {
        Why::Asked => wanted.asked.next(),
        Why::Marker => Some(Purpose::Database),
        Why::Exec => None,
    };
    match (purpose, &wanted.database) {
        (Some(Purpose::Look), _) => (wanted.told)(Told::Look(&rows.looked_at(planner))),
        (Some(Purpose::Database), Some(database)) => {
            *snapshots += 1;
            let to = database.snapshot(*snapshots);
            (wanted.told)(Told::Snapshot(&to, database.write(&to, planner, rows)));
        }
        _ => {}
    }
}
