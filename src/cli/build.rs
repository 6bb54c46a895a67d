use super::layouts;
use super::options::{self, OwnAllocator, Saves};
use super::prepare;
use super::say::say;
use crate::diagnostics::Severity;
use crate::event::NamedRange;
use crate::load::live::NOT_EXACT;
use crate::load::{Detail, ElfInput, Options, Progressed, Report};
use crate::ranges;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Loads traces and ELF files into a new database
#[derive(clap::Args)]
pub struct Args {
    /// Trace files of one run; - is standard input
    ///
    /// Compressed files (gzip, bzip2, xz, zstd) are recognised by content.
    #[arg(required = true)]
    traces: Vec<PathBuf>,
    /// Database to make [default: the first trace's name with .duckdb, in the working directory]
    #[arg(short, long, value_name = "DB")]
    output: Option<PathBuf>,
    /// Format of the traces, of `addfg formats` [default: recognised by content]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Layout of the traces' lines: a file, or a name of `addfg formats layout`
    ///
    /// docs/layout.md says how to write one.
    #[arg(long, value_name = "FILE|NAME")]
    layout: Option<PathBuf>,
    /// Refuse a damaged trace instead of loading the readable part
    #[arg(long, hide_short_help = true)]
    strict: bool,
    /// Threads that parse [default: the machine's cores less one]
    #[arg(long, value_name = "N", value_parser = options::threads, hide_short_help = true)]
    jobs: Option<usize>,
    /// Do not keep the packed run: the database is smaller, and commands that need steps or calls of which
    /// there are no rows refuse
    #[arg(long)]
    no_steps: bool,
    #[command(flatten)]
    how: How,
}

/// What builds from files and from running programs have in common.
#[derive(clap::Args)]
pub struct How {
    /// Program or library that ran; @ADDRESS is where it was loaded
    ///
    /// The address is the hexadecimal bias: the load address minus the link address.
    #[arg(long, value_name = "FILE[@ADDRESS]", value_parser = options::elf, display_order = 0)]
    pub elf: Vec<ElfInput>,
    /// What to keep as rows: summary, instance, pairs, full
    ///
    /// summary has sums by function and calling context. instance adds sums by instruction, calls and data
    /// between calls. pairs adds every step, access and communication between calls. full adds
    /// communication inside calls. Default: summary, and pairs for runs of up to 5 million steps. At every
    /// detail the run itself is there, packed, and commands answer of it; `addfg rows` makes rows later.
    #[arg(long, value_name = "DETAIL", hide_possible_values = true)]
    pub detail: Option<Detail>,
    /// Whether saved and restored registers keep their producer (transparent) or are data (literal)
    #[arg(long, value_name = "HOW", default_value = "transparent", hide_short_help = true)]
    pub saves: Saves,
    /// Copying functions: copied bytes keep their producer
    ///
    /// memcpy also means glibc's variants of it.
    #[arg(long, value_name = "FUNCTION,...")]
    pub through: Vec<String>,
    /// NAME allocates like FUNCTION: pool_get=malloc, pool_put=free
    ///
    /// `addfg objects` and `memory` then have its allocations.
    #[arg(long, value_name = "NAME=FUNCTION", value_parser = options::own_allocator, hide_short_help = true)]
    pub allocator: Vec<OwnAllocator>,
    /// Addresses of a device: uart=0x9000000+0x1000
    ///
    /// A range is FIRST+SIZE or FIRST..LAST. Stores go to the device, loads come from it. Default: devices
    /// that the recorder reports, and the address map of ARM's M profile.
    #[arg(long, value_name = "NAME=RANGE", value_parser = ranges::device, hide_short_help = true)]
    pub device: Vec<NamedRange>,
    /// Devices of a chip, from its CMSIS-SVD file
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub svd: Vec<PathBuf>,
    /// Addresses of a memory: TCM=0x20000000+64K
    ///
    /// A range is FIRST+SIZE or FIRST..LAST. `addfg sql DB @memory_traffic` and `addfg graph --by-memory`
    /// have the loads and stores of each memory.
    #[arg(long, value_name = "NAME=RANGE", value_parser = ranges::memory, hide_short_help = true)]
    pub memory: Vec<NamedRange>,
    /// Memories of a linker's map (GNU ld, armlink, TI) or script; --memory has precedence
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub memory_map: Vec<PathBuf>,
    /// Store the answers of loops, memory, objects and critical, as `addfg prepare` does
    #[arg(long, hide_short_help = true)]
    pub prepare: bool,
    /// Accept ELF files that do not fit the trace
    #[arg(long, hide_short_help = true)]
    pub force_elf: bool,
    /// Replace an existing database
    #[arg(long)]
    pub force: bool,
    /// Memory limit of the build in MiB [default: three quarters of the available memory]
    #[arg(long, value_name = "MIB", hide_short_help = true)]
    pub memory_limit: Option<u64>,
    /// Print only errors
    #[arg(short, long)]
    pub quiet: bool,
}

impl How {
    /// Devices and memories that have names.
    fn ranges(&self) -> anyhow::Result<(Vec<NamedRange>, Vec<NamedRange>)> {
        ranges::refuse_overlap("--device", &self.device)?;
        ranges::refuse_overlap("--memory", &self.memory)?;
        let (mut devices, mut memories) = (Vec::new(), Vec::new());
        for path in &self.svd {
            let found = ranges::svd::read(path)?;
            if !self.quiet {
                let said = found.left_out.iter();
                said.for_each(|what| say!("addfg: {}: left out: {what}", path.display()));
            }
            devices = ranges::over(&devices, &found.devices);
        }
        for path in &self.memory_map {
            memories = ranges::over(&memories, &ranges::linker::read(path)?);
        }
        Ok((ranges::over(&self.device, &devices), ranges::over(&self.memory, &memories)))
    }

    /// The options of a build into this database.
    ///
    /// # Errors
    /// Where devices or memories overlap, or a file of them is not understood.
    pub fn options(self, output: PathBuf) -> anyhow::Result<Options> {
        let (devices, memories) = self.ranges()?;
        Ok(Options {
            elfs: self.elf,
            detail: self.detail,
            literal_saves: self.saves == Saves::Literal,
            through: crate::text::lists(&self.through),
            devices,
            memories,
            allocators: self.allocator.iter().map(OwnAllocator::text).collect(),
            force: self.force,
            force_elf: self.force_elf,
            memory_limit: self.memory_limit.unwrap_or(0) << 20,
            ..Options::new(output)
        })
    }
}

/// `dir/app.log.gz` -> `app.duckdb`.
fn default_output(trace: &std::path::Path) -> PathBuf {
    let mut name =
        trace.file_name().map_or_else(|| "stdin".into(), |n| n.to_string_lossy().into_owned());
    if name == "-" {
        name = "stdin".into();
    }
    for suffix in [".gz", ".bz2", ".xz", ".zst"] {
        name = name.strip_suffix(suffix).unwrap_or(&name).to_owned();
    }
    PathBuf::from(name).with_extension("duckdb")
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let output = args.output.clone().unwrap_or_else(|| default_output(&args.traces[0]));
    anyhow::ensure!(
        output.as_os_str() != "-",
        "a database is not a stream: name a file with -o, or leave it out"
    );
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (quiet, prepares) = (args.how.quiet, args.how.prepare);
    let (format, layout) = layouts::resolve(args.format, args.layout.as_deref())?;
    let given = args.how.options(output.clone())?;
    let (devices, memories) = layouts::ranges(layout.as_deref());
    let options = Options {
        traces: args.traces,
        format,
        strict: args.strict,
        steps: !args.no_steps,
        jobs: args.jobs.unwrap_or(cores.saturating_sub(1)).max(1),
        devices: ranges::over(&given.devices, &devices),
        memories: ranges::over(&given.memories, &memories),
        layout,
        ..given
    };
    let bar = progress_bar(quiet);
    let report = crate::load::load(&options, &mut |so_far| {
        advance(&bar, so_far);
        false
    });
    bar.finish_and_clear();
    let report = report?;
    if prepares {
        prepare::prepare(&output)?;
    }
    say_problems(&report, quiet);
    if !quiet {
        say!(
            "addfg: {}: {}{} calls of {} functions ({})",
            output.display(),
            if report.steps > 0 { format!("{} steps, ", report.steps) } else { String::new() },
            report.calls,
            report.functions,
            report.format
        );
    }
    let lost = report.diagnostics.worst() == Some(Severity::Error);
    Ok(if lost { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Shows how far a build is, if a person looks.
pub fn progress_bar(quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
    let bar = ProgressBar::new(0);
    bar.set_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar
}

/// What was read so far: of how much, where that is known, and of a pipe how much, and how many steps.
fn advance(bar: &ProgressBar, so_far: Progressed) {
    if so_far.total > 0 {
        bar.set_length(so_far.total.max(so_far.bytes));
        bar.set_position(so_far.bytes);
        return;
    }
    if bar.length().is_some() {
        let style = ProgressStyle::with_template("{spinner} {bytes} read, {bytes_per_sec}{msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.unset_length();
    }
    bar.set_position(so_far.bytes);
    if so_far.steps > 0 {
        let steps = i64::try_from(so_far.steps).unwrap_or(i64::MAX);
        bar.set_message(format!(", {} steps", crate::text::human_count(steps)));
    }
}

/// Says what was met; only errors if `quiet`.
pub fn say_problems(report: &Report, quiet: bool) {
    for row in report.diagnostics.rows() {
        let d = &row.first;
        // Each problem of a recorder's sums is said already.
        if (quiet && d.severity != Severity::Error) || d.code == NOT_EXACT {
            continue;
        }
        let at = if d.position.is_empty() { String::new() } else { format!("{}: ", d.position) };
        let times = if row.count > 1 { format!(" ({} times)", row.count) } else { String::new() };
        say!(
            "addfg: {}: {at}{}{times}; {}",
            d.severity.name(),
            crate::text::visible(&d.message),
            d.remedy
        );
    }
}
