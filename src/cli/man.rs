use std::path::PathBuf;
use std::process::ExitCode;

/// Writes the manual pages, one a command, into a folder: for packages
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// Folder, which must exist
    folder: PathBuf,
}

pub fn run(args: Args, command: clap::Command) -> anyhow::Result<ExitCode> {
    let written = clap_mangen::generate_to(command.disable_help_subcommand(true), &args.folder);
    written.map_err(|e| anyhow::anyhow!("{}: {e}", args.folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
