//! The command line: one file a command, its arguments and what it runs.

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

mod build;
mod calls;
mod check;
mod ci;
mod collect;
mod convert;
mod critical;
mod cut;
mod database;
mod diff;
mod diff_runs;
mod each;
mod export;
mod flows;
mod formats;
mod graph;
mod info;
mod instances;
mod layouts;
mod loops;
mod man;
mod matrix;
mod memory;
mod no_rows;
mod objects;
mod options;
mod output;
mod pager;
mod paths;
mod pictures;
mod plan;
mod prepare;
mod prompt;
mod record;
mod report;
mod rows;
mod say;
mod screen;
mod signals;
mod slice;
mod sql;
mod sums;
mod take;
mod trend;
mod trying;
mod verify;

/// Aggregated dynamic data flow graphs from execution traces.
///
/// `addfg build trace.log --elf app` loads a recorded run into a DuckDB database; the other
/// commands ask it which function consumed which function's data, how much, and through what. Exit
/// codes: 0 clean, 1 done with data lost or problems met, 2 refused or failed.
#[derive(Parser)]
#[command(name = "addfg", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Build(build::Args),
    Record(record::Args),
    Convert(convert::Args),
    Info(info::Args),
    Sql(sql::Args),
    Graph(graph::Args),
    Flows(flows::Args),
    Cut(cut::Args),
    Plan(plan::Args),
    Slice(slice::Args),
    Calls(calls::Args),
    Instances(instances::Args),
    Loops(loops::Args),
    Matrix(matrix::Args),
    Memory(memory::Args),
    Objects(objects::Args),
    Critical(critical::Args),
    Prepare(prepare::Args),
    Rows(rows::Args),
    Paths(paths::Args),
    Diff(diff::Args),
    Collect(collect::Args),
    Each(each::Args),
    Take(take::Args),
    Trend(trend::Args),
    Check(check::Args),
    Export(export::Args),
    Report(report::Args),
    Verify(verify::Args),
    Formats(formats::Args),
    /// Prints a completion script for a shell
    Completions {
        shell: clap_complete::Shell,
    },
    Man(man::Args),
}

pub fn main() -> anyhow::Result<ExitCode> {
    let command = Cli::parse().command;
    signals::make_faults_errors();
    if !matches!(command, Command::Record(_)) {
        signals::end_on_signals();
    }
    if command.is_read() {
        pager::begin();
    }
    rows::show_progress();
    let ended = run(command);
    pager::end();
    // For benches/parts.py.
    if std::env::var_os("ADDFG_COUNT_CHUNKS").is_some() {
        say::say!("chunks read: {}", crate::store::pieces::read());
    }
    ended
}

impl Command {
    /// Whether a person reads what it prints.
    fn is_read(&self) -> bool {
        match self {
            Command::Sql(args) => !args.is_prompt(),
            Command::Info(_) | Command::Flows(_) | Command::Slice(_) | Command::Calls(_) => true,
            Command::Instances(_) | Command::Loops(_) | Command::Matrix(_) => true,
            Command::Memory(_) | Command::Critical(_) | Command::Paths(_) => true,
            Command::Trend(_) | Command::Check(_) | Command::Each(_) => true,
            Command::Diff(_) | Command::Cut(_) | Command::Plan(_) => true,
            Command::Objects(_) | Command::Formats(_) => true,
            _ => false,
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Build(args) => build::run(args),
        Command::Record(args) => record::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Info(args) => info::run(args),
        Command::Sql(args) => sql::run(args),
        Command::Graph(args) => graph::run(args),
        Command::Flows(args) => flows::run(args),
        Command::Cut(args) => cut::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Slice(args) => slice::run(args),
        Command::Calls(args) => calls::run(args),
        Command::Instances(args) => instances::run(args),
        Command::Loops(args) => loops::run(args),
        Command::Matrix(args) => matrix::run(args),
        Command::Memory(args) => memory::run(args),
        Command::Objects(args) => objects::run(args),
        Command::Critical(args) => critical::run(args),
        Command::Prepare(args) => prepare::run(args),
        Command::Rows(args) => rows::run(args),
        Command::Paths(args) => paths::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Collect(args) => collect::run(args),
        Command::Each(args) => each::run(args),
        Command::Take(args) => take::run(args),
        Command::Trend(args) => trend::run(args),
        Command::Check(args) => check::run(args),
        Command::Export(args) => export::run(args),
        Command::Report(args) => report::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Formats(args) => formats::run(args),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "addfg", &mut text);
            output::write_output(None, &text)
        }
        Command::Man(args) => man::run(args, Cli::command()),
    }
}

/// Says an error with its causes on standard error.
pub fn say_error(error: &anyhow::Error) {
    say::say!("addfg: {}", crate::store::open::explained(error.as_ref()));
}

/// Whether an error is that nobody reads standard output any more: no error.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |e: &std::io::Error| e.kind() == std::io::ErrorKind::BrokenPipe;
    let is_closed = |e: &(dyn std::error::Error + 'static)| {
        // DuckDB, which writes to it by its name, has no other way to tell.
        let text = e.to_string();
        let told = text.contains("/dev/stdout") && text.contains("Broken pipe");
        told || e.downcast_ref::<std::io::Error>().is_some_and(closed)
    };
    output::is_closed() || error.chain().any(is_closed)
}
