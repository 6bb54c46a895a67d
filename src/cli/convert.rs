use super::build::{progress_bar, say_problems};
use super::layouts;
use super::options;
use super::say::say;
use crate::diagnostics::Severity;
use crate::files::{self, Kind, Output};
use crate::load::{ElfInput, Options, To, convert};
use crate::store::open::no_databases;
use anyhow::Context;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Converts a log to addfg's stream, or to a Giano-style log
///
/// A stream is far smaller than the log, contains the code, and gives the same database. An output name
/// that ends with .zst or .gz is compressed.
#[derive(clap::Args)]
pub struct Args {
    /// Log to convert; - is standard input
    log: PathBuf,
    /// File to make: NAME.stream, NAME.stream.zst, or NAME.giano
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Format of the output: stream, giano [default: giano for names with .giano, else stream]
    #[arg(long, value_name = "FORMAT", value_parser = to)]
    to: Option<To>,
    /// Program or library that ran; @ADDRESS is where it was loaded
    #[arg(long, value_name = "FILE[@ADDRESS]", value_parser = options::elf)]
    elf: Vec<ElfInput>,
    /// Format of the log, of `addfg formats` [default: recognised by content]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Layout of the log's lines: a file, or a name of `addfg formats layout`
    #[arg(long, value_name = "FILE|NAME")]
    layout: Option<PathBuf>,
    /// Refuse a damaged log instead of converting the readable part
    #[arg(long)]
    strict: bool,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

fn to(word: &str) -> Result<To, String> {
    match word {
        "stream" => Ok(To::Stream),
        "giano" => Ok(To::Giano),
        _ => Err("expected stream or giano".into()),
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let name = args.output.to_string_lossy().into_owned();
    let file = args.output.file_name().unwrap_or_default().to_string_lossy();
    let giano = file.contains(".giano");
    let to = args.to.unwrap_or(if giano { To::Giano } else { To::Stream });
    let (format, layout) = layouts::resolve(args.format, args.layout.as_deref())?;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let options = Options {
        traces: vec![args.log],
        elfs: args.elf,
        format,
        layout,
        strict: args.strict,
        jobs: cores.saturating_sub(1).max(1),
        ..Options::new(args.output.clone())
    };
    let rule = if args.force { no_databases } else { files::nothing };
    let output = Output::begin(&args.output, Kind::File, rule)?;
    let bar = progress_bar(args.quiet);
    let report = {
        let file = File::create(output.part()).with_context(|| name.clone())?;
        let mut file = Packed::new(BufWriter::new(file), &args.output)?;
        let report = convert(&options, to, &mut file, &mut |so_far| {
            bar.set_length(so_far.total.max(so_far.bytes));
            bar.set_position(so_far.bytes);
            false
        })?;
        file.finish().with_context(|| name.clone())?;
        report
    };
    bar.finish_and_clear();
    output.finish()?;
    say_problems(&report, args.quiet);
    if !args.quiet {
        let bytes = std::fs::metadata(&args.output).map_or(0, |of| of.len());
        say!("addfg: {name}: {} steps in {bytes} bytes ({})", report.steps, report.format);
    }
    let lost = report.diagnostics.worst() == Some(Severity::Error);
    Ok(if lost { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// A file, compressed as its name says.
enum Packed {
    Plain(BufWriter<File>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
}

impl Packed {
    fn new(file: BufWriter<File>, path: &Path) -> std::io::Result<Packed> {
        Ok(match path.extension().and_then(|ending| ending.to_str()) {
            Some("zst") => Packed::Zstd(zstd::Encoder::new(file, 9)?),
            Some("gz") => {
                Packed::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            _ => Packed::Plain(file),
        })
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            Packed::Plain(file) => file,
            Packed::Zstd(encoder) => encoder.finish()?,
            Packed::Gzip(encoder) => encoder.finish()?,
        }
        .flush()
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Packed::Plain(file) => file.write(bytes),
            Packed::Zstd(encoder) => encoder.write(bytes),
            Packed::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Packed::Plain(file) => file.flush(),
            Packed::Zstd(encoder) => encoder.flush(),
            Packed::Gzip(encoder) => encoder.flush(),
        }
    }
}
