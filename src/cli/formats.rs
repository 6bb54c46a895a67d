use super::output::write_output;
use super::{layouts, options, trying};
use crate::image::Image;
use crate::load::ElfInput;
use crate::trace::formats;
use crate::trace::layout::shipped::SHIPPED;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Lines that are shown at most: each is read with all before it.
const MOST_LINES: usize = 500;

/// Lists the trace formats, or describes one
#[derive(clap::Args)]
pub struct Args {
    /// Format to describe
    #[arg(conflicts_with = "log")]
    name: Option<String>,
    /// Show what each of the first lines of a log becomes
    #[arg(long = "try", value_name = "LOG")]
    log: Option<PathBuf>,
    /// With --try: format of the log [default: seen by content]
    #[arg(long, value_name = "NAME", requires = "log")]
    format: Option<String>,
    /// With --try: layout of the log, a file or a name
    #[arg(long, value_name = "FILE|NAME", requires = "log")]
    layout: Option<PathBuf>,
    /// With --try: the program, for formats that do not tell their instruction set
    #[arg(long, value_name = "FILE", value_parser = options::elf, requires = "log")]
    elf: Option<ElfInput>,
    /// With --try: number of lines
    #[arg(long, value_name = "N", default_value_t = 50)]
    lines: usize,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(log) = &args.log {
        let (format, layout) = layouts::resolve(args.format, args.layout.as_deref())?;
        let isa = args.elf.map(|elf| Image::open(&elf.path)).transpose()?.map(|image| image.isa);
        let asked = trying::Asked {
            log,
            format: format.as_deref(),
            layout: layout.as_deref(),
            isa,
            lines: args.lines.min(MOST_LINES),
        };
        return write_output(None, trying::text(&asked)?.as_bytes());
    }
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
            if f.name() == "layout" {
                writeln!(text, "\nLayouts that come with addfg, for --layout NAME:")?;
                for shipped in SHIPPED {
                    writeln!(text, "    {:10} {}", shipped.name, shipped.about)?;
                }
            }
        }
    }
    write_output(None, text.as_bytes())
}
