//! How fast a log is read: `cargo run --release --example read -- LOG [ELF [LAYOUT]]` reads it with
//! one thread, keeps nothing, and prints steps, bytes, the processor's seconds and what that makes
//! per second. Formats that do not tell their instruction set need the ELF file; LAYOUT is the name
//! of one that comes with addfg.

use addfg::internals::diagnostics::Diagnostic;
use addfg::internals::event::{Carries, Isa, RunBatch, StepBatch};
use addfg::internals::image::Image;
use addfg::internals::trace::input::Input;
use addfg::internals::trace::layout::shipped;
use addfg::internals::trace::{Context, Found, Listener, Sink, TraceError, detect};
use anyhow::Context as _;
use std::path::Path;

/// Counts.
#[derive(Default)]
struct Count {
    steps: u64,
    registers: u64,
    /// Steps of each block.
    blocks: Vec<u64>,
}

impl Sink for Count {
    fn begin(&mut self, _: Carries, _: Option<Isa>) -> Result<(), TraceError> {
        Ok(())
    }
    fn steps(&mut self, batch: &mut StepBatch) -> Result<(), TraceError> {
        self.steps += batch.len() as u64;
        self.registers += batch.registers.len() as u64;
        batch.clear();
        Ok(())
    }
    fn runs(&mut self, batch: &mut RunBatch) -> Result<(), TraceError> {
        let batch = std::mem::take(batch);
        self.blocks.extend(batch.new_blocks.iter().map(|b| b.steps.len() as u64));
        self.steps += batch.block.iter().map(|&b| self.blocks[b as usize]).sum::<u64>();
        Ok(())
    }
}

impl Listener for Count {
    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        eprintln!("{}: {}", diagnostic.position, diagnostic.message);
    }
    fn progress(&mut self, _: u64) {}
}

/// Seconds that the threads of this process have had of the processor, in hundredths, from Linux's
/// accounting.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name: user and system time are the 12th and 13th.
    let words = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    words.skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(log) = arguments.next() else { anyhow::bail!("read LOG [ELF [LAYOUT]]") };
    let isa = arguments
        .next()
        .map(|elf| Image::open(Path::new(&elf)))
        .transpose()?
        .map(|image| image.isa);
    let input = Input::open(Path::new(&log))?;
    let layout = arguments.next();
    let layout = layout.map(|name| shipped::named(&name).context("no such layout")).transpose()?;
    let Found::Steps(format) = detect(&input, layout.map(|_| "layout"))? else {
        anyhow::bail!("{log}: not a log of steps")
    };
    let bytes = std::fs::metadata(&log)?.len() as f64 / 1e6;
    let mut count = Count::default();
    let before = processor();
    let context = Context { isa, layout: layout.map(|l| l.text), jobs: 1 };
    format.read(input, &context, &mut count)?;
    let seconds = processor() - before;
    let (name, steps, speed) = (format.name(), count.steps, bytes / seconds);
    let registers = count.registers;
    println!(
        "{name}: {steps} steps, {registers} register values, {bytes:.0} MB in {seconds:.3} s: {speed:.0} MB/s"
    );
    Ok(())
}
