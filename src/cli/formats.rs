use super::output::write_output;
use crate::trace::formats;
use std::fmt::Write;
use std::process::ExitCode;

/// Lists the trace formats, or describes one
#[derive(clap::Args)]
pub struct Args {
    /// Format to describe
    name: Option<String>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    match args.name {
        None => {
            for f in formats() {
                writeln!(text, "{:10} {}\n{:10} record: {}", f.name(), f.about(), "", f.record())?;
            }
        }
        Some(name) => {
            let Some(f) = formats().find(|f| f.name() == name) else {
                let known: Vec<_> = formats().map(|f| f.name()).collect();
                anyhow::bail!("no format is named `{name}`; there are {}", known.join(", "));
            };
            writeln!(
                text,
                "{}: {}\n\nRecord:  {}\n\n{}",
                f.name(),
                f.about(),
                f.record(),
                f.help()
            )?;
        }
    }
    write_output(None, text.as_bytes())
}
