use super::build::{How, say_problems};
use super::options::OwnAllocator;
use super::prepare;
use super::say::say;
use super::signals;
use super::sums;
use crate::diagnostics::Severity;
use crate::load::live::Database;
use crate::load::{self, BuildError, Detail, ElfInput, Progressed, WaitForSums};
use crate::record::recorder::Recorder;
use crate::record::{self, Finished, Kept, Part, Plan, Processes, Recording, Sums};
use crate::trace::TraceError;
use crate::trace::input::Input;
use anyhow::Context;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::fs::File;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Options that mean nothing, or something else, where sums are all that is recorded.
const NEEDS_STEPS: [&str; 16] = [
    "summed",
    "check_sums",
    "keep",
    "from",
    "until",
    "marked",
    "qemu",
    "elf",
    "detail",
    "saves",
    "through",
    "device",
    "svd",
    "memory",
    "memory_map",
    "prepare",
];

/// Options that mean nothing where the recorder adds up data flow itself.
const NEEDS_PASS: [&str; 13] = [
    "sums", "follow", "from", "until", "marked", "qemu", "elf", "detail", "saves", "through",
    "device", "svd", "memory",
];

/// Runs a program under addfg's recorder and builds its database meanwhile
///
/// The program has this terminal: its input, output, signals and exit code are its own. Whatever
/// ended it, what it did until then is in the database.
#[derive(clap::Args)]
pub struct Args {
    /// Database to make [default: the program's name with .duckdb, in the working directory]
    #[arg(short, long, value_name = "DB")]
    output: Option<PathBuf>,
    /// Keep the recording: `addfg build FILE` makes other databases of it
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Record child processes, too (fork, exec), in one database
    #[arg(long)]
    follow: bool,
    /// Record from the first call of this function
    #[arg(long, value_name = "FUNCTION")]
    from: Option<String>,
    /// Record until the first recorded call of this function returns
    #[arg(long, value_name = "FUNCTION")]
    until: Option<String>,
    /// Record what the program marks with ADDFG_BEGIN() and ADDFG_END()
    ///
    /// recorders/stream/addfg_mark.h defines them.
    #[arg(long, conflicts_with_all = ["from", "until"], hide_short_help = true)]
    marked: bool,
    /// Run it in this emulator: qemu-arm, "qemu-aarch64 -cpu cortex-a72"
    ///
    /// For programs of other processors, and for firmware: "qemu-system-arm -M mps2-an385 -kernel". The ELF
    /// files of a firmware are those of the command line (-kernel, -bios, -device loader,file=FILE).
    #[arg(long, value_name = "EMULATOR", conflicts_with_all = ["follow", "from", "until", "marked", "allocator"])]
    qemu: Option<String>,
    /// Keep the program's arguments in the database
    ///
    /// They are in `input.path`, and in pages of the database. By default only the program's name is
    /// kept, because arguments may be passwords.
    #[arg(long, hide_short_help = true)]
    keep_arguments: bool,
    /// Add up data flow while the program runs, and write the sums into this file as text
    ///
    /// docs/sums.md describes its lines. Without --no-steps the database is made of the recording as usual.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "until", "marked", "qemu"], hide_short_help = true)]
    sums: Option<PathBuf>,
    /// Add up data flow while the program runs, and record no steps
    ///
    /// The database has detail summary. Memory does not grow with the length of the run. `kill -USR1` of addfg writes a
    /// snapshot: of app.duckdb it is app.1.duckdb, app.2.duckdb and so on.
    #[arg(long, conflicts_with_all = NEEDS_STEPS)]
    no_steps: bool,
    /// Add up data flow while the program runs, and record its steps, too
    ///
    /// The database of a run of more than 5 million steps is then made without going through the recording: sooner
    /// where three processors are free, or the run is long. It does not tell which bytes were written for nothing.
    #[arg(long, conflicts_with_all = NEEDS_PASS, conflicts_with = "memory_map", hide_short_help = true)]
    summed: bool,
    /// With --no-steps: leave out unique bytes and addresses, a third to a half of the time
    #[arg(long, requires = "no_steps", hide_short_help = true)]
    no_unique: bool,
    /// With --no-steps: write a snapshot at each ADDFG_MARK() of the program
    #[arg(long, requires = "no_steps", conflicts_with = "follow", hide_short_help = true)]
    at_markers: bool,
    /// With --no-steps: show the hottest functions and edges every second, on a terminal
    #[arg(long, requires = "no_steps", conflicts_with = "follow")]
    live: bool,
    /// With --sums: compare each row with the database of the same run; exit code 1 if one differs
    #[arg(long, requires = "sums", hide_short_help = true)]
    check_sums: bool,
    #[command(flatten)]
    how: How,
    /// The program and its arguments
    #[arg(required_unless_present = "qemu", last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (quiet, prepares) = (args.how.quiet, args.how.prepare);
    let asked = args.no_steps.then(|| sums::asked_by_signal(args.follow));
    let first = args.command.first().map(OsString::as_os_str);
    let recorder = match &args.qemu {
        Some(emulator) => Recorder::qemu(emulator, first)?,
        None => Recorder::valgrind(first.unwrap_or_default())?,
    };
    if !quiet {
        recorder.notes().iter().for_each(|note| say!("addfg: {note}"));
    }
    let images = recorder.images(&args.command);
    // Of a whole machine the first word may be any option's.
    let name = images.first().map(|image| image.as_os_str()).or(first).unwrap_or_default();
    let name = name.to_owned();
    let output = args.output.unwrap_or_else(|| record::default_output(&name));
    let allocators = args.how.allocator.iter().map(OwnAllocator::text).collect();
    let mut options = args.how.options(output.clone())?;
    // Those that are given are others, or say where one of these lies.
    let file = |path: &std::path::Path| std::fs::canonicalize(path).ok();
    let is_given = |path: &PathBuf| options.elfs.iter().any(|elf| file(&elf.path) == file(path));
    let own: Vec<PathBuf> = images.into_iter().filter(|path| !is_given(path)).collect();
    options.elfs.splice(0..0, own.into_iter().map(|path| ElfInput { path, bias: None }));
    load::refuse_existing(&options)?;
    for left in record::abandoned(&output) {
        say!(
            "addfg: {0}: recorded by an addfg that was killed; `addfg build {0} -o DB` makes a database of it, else remove it",
            left.display()
        );
    }
    let plan = Plan {
        command: args.command,
        name: name.to_string_lossy().into_owned(),
        processes: if args.follow { Processes::All } else { Processes::First },
        part: if args.marked {
            Part::Marked
        } else {
            Part::Calls { from: args.from, until: args.until }
        },
        allocators,
        keep_arguments: args.keep_arguments,
        keep: match &args.keep {
            Some(path) => Some(Kept::asked(path, options.force)?),
            None if args.no_steps => None,
            None => Some(Kept::meanwhile(&output)?),
        },
        sums: match args.sums {
            _ if args.no_steps => Sums::Only,
            Some(_) => Sums::Compared,
            None if args.summed => Sums::Beside,
            None => Sums::No,
        },
        no_unique: args.no_unique,
        at_markers: args.at_markers,
    };
    if let Some(asked) = asked {
        options.detail = Some(Detail::Summary);
        let name = match plan.keep_arguments {
            true => words(&plan.command),
            false => plan.name.clone(),
        };
        let only = sums::Only {
            database: Database { options, name, unique: !args.no_unique },
            text: args.sums.as_deref(),
            quiet,
            live: args.live,
            asked,
        };
        return sums::only(&recorder, &plan, only);
    }
    let (mut recording, input) = Recording::start(&recorder, plan)?;
    signals::hand_on(recording.program());
    let (began, mut bytes) = (Instant::now(), 0);
    let bar = bar(quiet);
    let mut progress = |so_far: Progressed| {
        bytes = so_far.bytes;
        bar.set_message(pace(so_far.steps, bytes, began.elapsed()));
        false
    };
    let mut wait = || recording.sums().ok().flatten()?.run;
    let sums: Option<WaitForSums> = if args.summed { Some(&mut wait) } else { None };
    let name = input.name().to_owned();
    let mut built = load::load_recorded(&options, vec![input], &mut progress, sums);
    // What has no steps makes no database later either.
    let nothing = matches!(&built, Err(BuildError::Trace(TraceError::WithoutSteps { .. })));
    let Finished { status, said, sums, mut left } =
        recording.finish(quiet, built.is_ok() || nothing)?;
    said.iter().for_each(|line| say!("{line}"));
    if let (Err(BuildError::RecorderSums(why)), Some(kept)) =
        (&built, args.keep.as_ref().or(left.as_ref()))
    {
        say!("addfg: the recorder's sums are not exact ({why}): the recording is gone through");
        let file = File::open(kept).with_context(|| kept.display().to_string())?;
        let input = Input::from_reader(&name, Box::new(file))?;
        built = load::load_inputs(&options, vec![input], &mut progress);
        if built.is_ok()
            && let Some(done) = left.take()
        {
            // It may stay: it is said at the next recording, then.
            let _ = std::fs::remove_file(done);
        }
    }
    bar.finish_and_clear();
    if let Some(left) = left {
        let (left, db) = (left.display(), output.display());
        say!(
            "addfg: what was recorded is in {left}: `addfg build {left} -o {db}` goes on from there"
        );
    }
    let report = built?;
    let mut differs = false;
    if let (Some(path), Some(taken)) = (&args.sums, sums) {
        let sums = taken.context("what the recorder adds up")?.sums;
        sums::write(path, &sums)?;
        sums::say_inexact(&sums);
        differs = args.check_sums && sums::check(&output, &sums)?;
    }
    if prepares {
        prepare::prepare(&output)?;
    }
    say_problems(&report, quiet);
    if !quiet {
        say!(
            "addfg: {}: {}, {} calls of {} functions; see them: addfg graph {0} -o {}",
            output.display(),
            pace(report.steps, bytes, began.elapsed()),
            report.calls,
            report.functions,
            output.with_extension("svg").display()
        );
    }
    let code = record::exit_code(status);
    let lost = report.diagnostics.worst() == Some(Severity::Error);
    Ok(if (lost || differs) && code == 0 { ExitCode::from(1) } else { ExitCode::from(code) })
}

/// A command line, for a person.
fn words(command: &[OsString]) -> String {
    command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Steps, steps a second, bytes of the recording.
fn pace(steps: u64, bytes: u64, time: Duration) -> String {
    let rate = steps as f64 / 1e6 / time.as_secs_f64().max(1e-3);
    let seconds = time.as_secs_f64();
    format!("{steps} steps in {seconds:.1} s ({rate:.1} M/s, {})", HumanBytes(bytes))
}

/// Shows how far the recording is, if a person looks and the program does not write there.
fn bar(quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() || std::io::stdout().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg}");
    let bar = ProgressBar::new_spinner();
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}
