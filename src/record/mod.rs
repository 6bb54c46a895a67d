//! `addfg record`: runs a program under addfg's recorder and hands its stream on while it runs.
//!
//! The recorders, a Valgrind tool and a plugin for QEMU, have a licence of their own (`recorders`);
//! their sources are in the program as data, are compiled on this machine when first needed
//! ([`recorder`]) and coupled by the stream only.

mod emulator;
mod error;
mod family;
mod inherited;
mod own_folder;
mod pipe;
mod program;
pub mod recorder;
mod said;
mod stream_copy;

use crate::event::Isa;
use crate::load::live::{self, Given, Taken, Wanted};
use crate::trace::TraceError;
use crate::trace::input::Input;
use emulator::Emulator;
pub use error::RecordError;
use family::{Family, Folder, Waiter};
pub use inherited::take_signals;
use recorder::Recorder;
use said::{Said, memory_file};
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeWriter, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use stream_copy::Keeper;
pub use stream_copy::{Kept, abandoned};

/// Which processes are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processes {
    /// The one that is started, up to an `exec`.
    First,
    /// And all that come of it.
    All,
}

impl Processes {
    /// What several processes write into; they are waited for from now on.
    fn folder(self) -> io::Result<Option<Folder>> {
        match self {
            Processes::First => Ok(None),
            Processes::All => family::adopt().and_then(|()| Folder::new()).map(Some),
        }
    }
}

/// The part of the run that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// From the first call of a function (None: the beginning) until the first call of another one
    /// in the part has returned (None: the end).
    Calls { from: Option<String>, until: Option<String> },
    /// What the program marks (`recorders/stream/addfg_mark.h`).
    Marked,
}

impl Part {
    fn options(&self) -> Vec<String> {
        let option = |name, function: &Option<String>| {
            function.as_ref().map(|function| format!("--{name}={function}"))
        };
        match self {
            Part::Calls { from, until } => {
                option("from", from).into_iter().chain(option("until", until)).collect()
            }
            Part::Marked => vec!["--marked=yes".into()],
        }
    }
}

/// QEMU does not tell a plugin what `dc zva` clears, with which glibc's memset does: this asks for one
/// that stores.
const TUNABLES: &str = "GLIBC_TUNABLES";
const WITHOUT_ZVA: &str = "glibc.cpu.name=emag";

/// Whether the recorder adds up data flow while the program runs (docs/sums.md); valgrind's only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    No,
    /// Beside its stream, for the database of the stream.
    Beside,
    /// Beside its stream, to be told as text and to be compared.
    Compared,
    /// The stream has no steps.
    Only,
}

/// What is to be recorded, and how.
pub struct Plan {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// What the database calls it.
    pub name: String,
    pub processes: Processes,
    pub part: Part,
    /// Allocation functions of the program's own, as NAME=FUNCTION.
    pub allocators: Vec<String>,
    /// Whether the database may have the program's arguments, which may be secrets; else it has the
    /// name of the program only.
    pub keep_arguments: bool,
    /// Where the recording is kept, for good or until the database is there; None: nowhere.
    pub keep: Option<Kept>,
    /// What the recorder adds up itself.
    pub sums: Sums,
    /// It does not count unique bytes and addresses.
    pub no_unique: bool,
    /// It sends the sums at each marker of the program, too.
    pub at_markers: bool,
}

/// A program that is being recorded.
pub struct Recording {
    child: Child,
    /// How it ended, if its children are waited for as well.
    ended: Option<mpsc::Receiver<ExitStatus>>,
    keeper: Option<Keeper>,
    /// None: the recorder has no messages of its own, or they go to standard error.
    said: Option<Said>,
    sums: Option<Taker>,
    /// How it did, if it was waited for.
    status: Option<ExitStatus>,
}

/// How a recorded program ended.
pub struct Finished {
    pub status: ExitStatus,
    /// What the recorder said.
    pub said: Vec<String>,
    /// What the recorder has added up, if it was to.
    pub sums: Option<io::Result<Taken>>,
    /// The stream, kept because there is no database of it.
    pub left: Option<PathBuf>,
}

impl Recording {
    /// Starts a program under the recorder: it has this process's standard input, output, and
    /// signals of the terminal. Gives its stream, too.
    pub fn start(recorder: &Recorder, plan: Plan) -> Result<(Recording, Input), RecordError> {
        let program = plan.name.clone();
        let start = |error| RecordError::Start { program: program.clone(), error };
        let (stream, writer) = pipe::wide().map_err(start)?;
        let folder = plan.processes.folder().map_err(start)?;
        let said = matches!(recorder, Recorder::Valgrind { .. }).then(Said::new).flatten();
        let ends =
            Ends { stream: Some(&writer), each: folder.as_ref(), said: said.as_ref(), sums: None };
        let spawned = recorder.spawn_with(&plan, ends, unasked(plan.sums));
        let Spawned { child, sums, alive } = spawned.map_err(start)?;
        drop(writer);
        let mut recording =
            Recording { child, ended: None, keeper: None, said, sums, status: None };
        let stream: Box<dyn Read + Send> = match folder {
            None => Box::new(stream),
            Some(folder) => Box::new(Family::new(stream, folder, recording.waiter(alive))),
        };
        let words = plan.command.iter().map(|word| word.to_string_lossy());
        let name = match plan.keep_arguments {
            true => words.collect::<Vec<_>>().join(" "),
            false => plan.name,
        };
        let input = match plan.keep {
            None => Input::from_reader(&name, stream),
            Some(kept) => {
                let (stream, keeper) = kept.copy(stream)?;
                recording.keeper = Some(keeper);
                Input::from_reader(&name, Box::new(stream))
            }
        };
        match input {
            Ok(input) => Ok((recording, input)),
            // It ended before the first instruction: its own message says why.
            Err(TraceError::Empty { .. }) => {
                let Finished { status, said, .. } = recording.finish(true, true)?;
                let why = [vec![format!("it was not run ({status})")], said].concat().join("\n");
                Err(start(io::Error::other(why)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Starts a program that is to be summed only.
    pub fn start_sums(
        recorder: &Recorder,
        plan: &Plan,
        wanted: Wanted,
    ) -> Result<Recording, RecordError> {
        let start = |error| RecordError::Start { program: plan.name.clone(), error };
        let folder = plan.processes.folder().map_err(start)?;
        let said = Said::new();
        let ends = Ends { stream: None, each: folder.as_ref(), said: said.as_ref(), sums: None };
        let spawned = recorder.spawn_with(plan, ends, wanted);
        let Spawned { child, sums, alive } = spawned.map_err(start)?;
        let mut recording =
            Recording { child, ended: None, keeper: None, said, sums, status: None };
        if let Some(folder) = folder {
            let mut waiter = recording.waiter(alive);
            let wait = move || {
                // Without it the sums end with the first process; an error is the end of it, too.
                let _ = waiter.wait();
                drop(folder);
            };
            std::thread::Builder::new().spawn(wait).map_err(start)?;
        }
        Ok(recording)
    }

    /// Who waits for all processes, and tells how this one ended.
    fn waiter(&mut self, alive: Option<UnixStream>) -> Waiter {
        let (ended, receiver) = mpsc::channel();
        self.ended = Some(receiver);
        Waiter { root: self.child.id(), ended, alive }
    }

    /// Waits for the program to end.
    fn wait(&mut self) -> Result<ExitStatus, RecordError> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let failed = |error| RecordError::Io { path: "the recording".into(), error };
        let ended = self.ended.take().and_then(|ended| ended.recv().ok());
        let status = ended.map_or_else(|| self.child.wait(), Ok).map_err(failed)?;
        self.status = Some(status);
        Ok(status)
    }

    /// Waits for the program to end, and gives what the recorder has added up, if it was to.
    pub fn sums(&mut self) -> Result<Option<Taken>, RecordError> {
        let status = self.wait()?;
        let failed = |error| RecordError::Io { path: "what the recorder adds up".into(), error };
        let taken = self.sums.take().map(|sums| sums.finish(status));
        taken.transpose().map_err(failed)
    }

    /// Waits for the program to end. Gives what the recorder said, too; `quiet`: only what explains a
    /// failure. `made`: whether there is a database of the stream.
    pub fn finish(mut self, quiet: bool, made: bool) -> Result<Finished, RecordError> {
        let kept = self.keeper.take().map_or(Ok(None), |keeper| keeper.finish(made));
        let status = self.wait()?;
        let left = kept?;
        let said = self.said.take().map_or_else(Vec::new, |said| said.lines(quiet));
        let sums = self.sums.take().map(|sums| sums.finish(status));
        Ok(Finished { status, said, sums, left })
    }

    /// The process that was started.
    pub fn program(&self) -> u32 {
        self.child.id()
    }
}

/// What a recorder writes to beside its stream.
#[derive(Clone, Copy)]
struct Ends<'a> {
    /// None: nobody reads the stream.
    stream: Option<&'a PipeWriter>,
    /// What other processes have.
    each: Option<&'a Folder>,
    /// What it says itself.
    said: Option<&'a Said>,
    /// It asks there what code does, and sends its sums. With other processes each of them connects in their folder.
    sums: Option<&'a UnixStream>,
}

/// A recorder that runs.
struct Spawned {
    child: Child,
    sums: Option<Taker>,
    /// To be closed when no process is left that could send sums.
    alive: Option<UnixStream>,
}

/// What is to be done where a socket cannot have its path.
fn too_long(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidInput => io::Error::other(
            "the path of the temporary folder is too long for a socket; set TMPDIR to a shorter one",
        ),
        _ => error,
    }
}

/// The sums are given at the end only.
fn unasked(sums: Sums) -> Wanted {
    let given = if sums == Sums::Compared { Given::ByContext } else { Given::Run };
    Wanted { database: None, asked: Arc::default(), given, told: Box::new(|_| ()) }
}

/// The thread that takes the sums, and waits for how the program ended.
struct Taker {
    thread: JoinHandle<io::Result<Taken>>,
    ended: mpsc::Sender<ExitStatus>,
}

impl Taker {
    fn finish(self, status: ExitStatus) -> io::Result<Taken> {
        // If it has failed nobody hears it.
        let _ = self.ended.send(status);
        let stopped = || io::Error::other("the thread that takes the sums stopped");
        self.thread.join().unwrap_or_else(|_| Err(stopped()))
    }
}

impl Recorder {
    /// Runs a command, and takes its sums if the plan asks for them.
    fn spawn_with(&self, plan: &Plan, ends: Ends, wanted: Wanted) -> io::Result<Spawned> {
        let (ended, status) = mpsc::channel();
        let thread = std::thread::Builder::new();
        let (child, thread, alive) = match (plan.sums, ends.each) {
            (Sums::No, _) => {
                let child = self.spawn(plan, ends)?;
                return Ok(Spawned { child, sums: None, alive: None });
            }
            (_, None) => {
                let (own, other) = UnixStream::pair()?;
                let child = self.spawn(plan, Ends { sums: Some(&other), ..ends })?;
                // The recorder has the other one now: when that ends, so does what is read here.
                let serve = move || live::serve(Isa::X86_64, own, wanted, &status);
                (child, thread.spawn(serve)?, None)
            }
            (_, Some(folder)) => {
                let listener = UnixListener::bind(folder.sums()).map_err(too_long)?;
                let (alive, seen) = UnixStream::pair()?;
                let child = self.spawn(plan, ends)?;
                let serve = move || live::serve_all(Isa::X86_64, listener, seen, wanted, &status);
                (child, thread.spawn(serve)?, Some(alive))
            }
        };
        Ok(Spawned { child, sums: Some(Taker { thread, ended }), alive })
    }

    /// Runs a command under the recorder.
    fn spawn(&self, plan: &Plan, ends: Ends) -> io::Result<Child> {
        let Ends { stream, each, said, sums } = ends;
        let asked = sums.map(AsRawFd::as_raw_fd);
        let descriptor = stream.map(AsRawFd::as_raw_fd);
        let mut inherited = None;
        let mut command = match self {
            Recorder::Valgrind { folder } => {
                let mut valgrind = Command::new("valgrind");
                valgrind
                    .env("VALGRIND_LIB", folder)
                    .args(["-q", "--tool=addfg", "--vex-guest-chase=no"])
                    // A debugger's pipes are in the way of processes that may write no files, and programs of more threads
                    // than valgrind's 500 are no mistake. Only what is followed has a stream of its own.
                    .args(["--vgdb=no", "--max-threads=2000", "--trace-children=no"])
                    .arg(match descriptor {
                        Some(descriptor) => format!("--stream-fd={descriptor}"),
                        None => "--stream=/dev/null".to_owned(),
                    })
                    .args(said.map(|said| format!("--said={}", said.path())))
                    .args(asked.map(|asked| format!("--sums-fd={asked}")))
                    .args((plan.sums == Sums::Only).then_some("--stepless=yes"))
                    .args(plan.no_unique.then_some("--unique=no"))
                    .args(plan.at_markers.then_some("--snapshots=yes"))
                    .args(plan.part.options())
                    .args(plan.allocators.iter().map(|text| format!("--allocator={text}")));
                if let Some(folder) = each {
                    let option = |name: &str, path: PathBuf| {
                        let mut option = OsString::from(name);
                        option.push(path);
                        option
                    };
                    valgrind
                        .arg("--trace-children=yes")
                        .args(stream.map(|_| option("--stream-each=", folder.prefix())))
                        .args((plan.sums != Sums::No).then(|| option("--sums-at=", folder.sums())));
                }
                valgrind.arg("--");
                valgrind
            }
            Recorder::Qemu { plugin, emulator } => {
                // Some versions end without a word.
                let program = plan.command.first().map(Path::new);
                let last = emulator.words.last().map_or("", String::as_str);
                let named = !emulator.whole_machine || ["-kernel", "-bios"].contains(&last);
                let missing = |p: &Path| !p.to_string_lossy().starts_with('-') && !p.is_file();
                if named && program.is_some_and(missing) {
                    let said = "no such file; QEMU does not look for programs in the PATH";
                    return Err(io::Error::new(io::ErrorKind::NotFound, said));
                }
                let descriptor = descriptor.ok_or(io::ErrorKind::Unsupported)?;
                match plugin {
                    Some(plugin) => {
                        // What QEMU says of exceptions, unless its log is asked for something else.
                        let logs = |word: &String| word == "-d" || word == "-D";
                        let wanted = emulator.whole_machine && !emulator.words.iter().any(logs);
                        inherited = wanted.then(memory_file).flatten();
                        let log = inherited.as_ref().map(AsRawFd::as_raw_fd);
                        with_plugin(plugin, emulator, descriptor, log)
                    }
                    None => with_log(emulator, descriptor),
                }
            }
        };
        command.args(&plan.command);
        let log = inherited.as_ref().map(AsRawFd::as_raw_fd);
        // SAFETY: fcntl may be called between fork and exec; the descriptors are open there.
        unsafe {
            command.pre_exec(move || {
                for descriptor in [descriptor, log, asked].into_iter().flatten() {
                    if libc::fcntl(descriptor, libc::F_SETFD, 0) == -1 {
                        return Err(io::Error::last_os_error());
                    }
                }
                inherited::give_back_signals();
                Ok(())
            });
        }
        command.spawn()
    }
}

/// QEMU with the plugin, which writes its stream into the descriptor, and reads from `log` what QEMU
/// says of exceptions.
fn with_plugin(
    plugin: &Path,
    emulator: &Emulator,
    descriptor: RawFd,
    log: Option<RawFd>,
) -> Command {
    let name = &emulator.words[0];
    let mut qemu = Command::new(name);
    let mut option = plugin.as_os_str().to_owned();
    option.push(format!(",stream=/dev/fd/{descriptor}"));
    if name.contains("qemu-aarch64") && std::env::var_os(TUNABLES).is_none() {
        qemu.env(TUNABLES, WITHOUT_ZVA);
    }
    // Before the C library: what QEMU does when a signal ends the program passes by its
    // plugins (addfg_qemu.c, kill). The program does not see it.
    let is_word = |c: &u8| !b" :\t\n".contains(c);
    if !emulator.whole_machine && plugin.as_os_str().as_bytes().iter().all(is_word) {
        let mut first = plugin.as_os_str().to_owned();
        let mut kept = OsString::from("LD_PRELOAD=");
        let before = std::env::var_os("LD_PRELOAD").filter(|before| !before.is_empty());
        match before {
            Some(before) => {
                first.push(":");
                first.push(&before);
                kept.push(before);
                qemu.arg("-E").arg(kept);
            }
            None => {
                qemu.args(["-U", "LD_PRELOAD"]);
            }
        }
        qemu.env("LD_PRELOAD", first);
    }
    if let Some(log) = log {
        option.push(format!(",log={log}"));
        qemu.args(["-d", "int", "-D", &format!("/dev/fd/{log}")]);
    }
    qemu.arg("-plugin").arg(option).args(&emulator.words[1..]);
    qemu
}

/// QEMU that writes its log of registers and instructions into the descriptor; with `exec` it says
/// whose each dump is.
fn with_log(emulator: &Emulator, descriptor: RawFd) -> Command {
    let mut qemu = Command::new(&emulator.words[0]);
    qemu.args(emulator.log_arguments())
        .args(["-d", "nochain,cpu,in_asm,exec,int", "-D"])
        .arg(format!("/proc/self/fd/{descriptor}"))
        .args(&emulator.words[1..]);
    qemu
}

/// What a shell would have as exit code: the program's own, or 128 and the signal that ended it.
pub fn exit_code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}

/// The database that a recorded program has if no other is asked for: `./app` -> `app.duckdb`.
pub fn default_output(program: &OsStr) -> PathBuf {
    let name = Path::new(program).file_name();
    let mut name = name.map_or_else(|| "recording".into(), OsString::from);
    name.push(".duckdb");
    name.into()
}
