//! A trace format of one's own: `cargo run --release --example format -- LOG ELF` reads a log with
//! the lines `PC OPCODE [R|W ADDRESS SIZE]...`, all in hexadecimal, and says whose data is read.

use addfg::{Error, Format, Header, Step, Steps, Trace};
use std::io::BufRead;

struct Plain;

/// A line; None if it is of another format.
fn parse(line: &str) -> Option<Step> {
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    let mut words = line.split_whitespace();
    let address = hex(words.next()?)?;
    let mut step = Step::new(address);
    // The digits are a number, the bytes lie the other way round in memory; `-` is in the ELF file.
    let digits = words.next()?.trim_start_matches('-');
    let bytes = (0..digits.len() / 2).rev().map(|i| hex(digits.get(2 * i..2 * i + 2)?));
    let bytes: Option<Vec<u8>> = bytes.map(|byte| Some(byte? as u8)).collect();
    step = step.opcode(&bytes?);
    while let Some(kind) = words.next() {
        let (address, size) = (hex(words.next()?)?, hex(words.next()?)? as u32);
        step = match kind {
            "R" => step.reads(address, size),
            "W" => step.writes(address, size),
            _ => return None,
        };
    }
    Some(step)
}

impl Format for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        let text = String::from_utf8_lossy(head);
        text.lines().next().is_some_and(|line| parse(line).is_some())
    }

    fn read(&self, input: &mut dyn BufRead, steps: &mut Steps<'_>) -> Result<(), Error> {
        steps.begin(Header::new().accesses())?;
        for (number, line) in (1..).zip(input.lines()) {
            match parse(&line?) {
                Some(step) => steps.step(&step.line(number))?,
                None => steps.problem(number, "this is not `PC OPCODE [R|W ADDRESS SIZE]...`"),
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let (Some(log), Some(elf)) = (arguments.next(), arguments.next()) else {
        return Err(Error::new("format LOG ELF"));
    };
    let found = Trace::new(log).elf(elf).format(&Plain).flows()?;
    for flow in &found.flows {
        let [from, to] = [flow.writer, flow.reader].map(|at| &found.functions[at].name);
        println!("{from} -> {to}: {} bytes", flow.bytes);
    }
    for problem in &found.problems {
        println!("{}: {} ({} times)", problem.position, problem.message, problem.count);
    }
    Ok(())
}
