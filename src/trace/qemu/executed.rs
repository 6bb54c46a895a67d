//! `-d exec` alone, one instruction a block: the address of each instruction, and nothing else.

use super::reader::Announced;
use crate::event::{Carries, Isa};
use crate::trace::error::TraceError;
use crate::trace::input::{Input, Place};
use crate::trace::lines::{Line, each_line};
use crate::trace::number::hex_digits;
use crate::trace::problems::{FOREIGN_LINES, Problems, excerpt, good_lines};
use crate::trace::reader::{Context, Sink};
use crate::trace::record::{Lists, Record, Steps, TOO_MANY_CPUS};

/// Bits of a block's flags with the instructions that it may have at most.
const COUNT: u64 = 0x1ff;
/// Behind the line of a block that did not run.
const STOPPED: &[u8] = b"Stopped execution of TB chain ";
const REMEDY: &str =
    "record with -singlestep (-one-insn-per-tb in newer versions) and -d nochain,exec,cpu,in_asm";

/// CPU and address, if a block of one instruction is executed.
fn executed(line: &[u8]) -> Option<(u32, u64, bool)> {
    let announced = Announced::parse(line)?;
    let end = memchr::memchr(b']', line)?;
    let flags = line[..end].rsplit(|&b| b == b'/').next().and_then(hex_digits)?;
    Some((announced.index, announced.pc?, flags & COUNT == 1))
}

fn is_quiet(line: &[u8]) -> bool {
    line.starts_with(STOPPED) || line.starts_with(b"Linking TBs ")
}

/// Whether a log is of this kind: no registers and no listings in it.
pub fn sniff(head: &[u8]) -> bool {
    good_lines(head, |line| executed(line).is_some() || is_quiet(line))
}

fn carries() -> Carries {
    Carries { steps: true, threads: true, ..Carries::default() }
}

pub fn read(input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
    let mut problems = Problems::new(input.locator());
    let Some(isa) = context.isa else {
        let message = "the log does not tell its instruction set";
        return Err(problems.malformed(1, message, "give the program with --elf"));
    };
    sink.begin(carries(), None)?;
    let mut reader = Reader { isa, steps: Steps::new(isa, false, false, false), last: None };
    each_line(input, sink, |line, sink| reader.line(&line, &mut problems, sink))?;
    reader.push(sink)?;
    if reader.steps.count == 0 {
        return Err(problems.malformed(1, "no instruction in it", REMEDY));
    }
    reader.steps.finish(sink)
}

struct Reader {
    isa: Isa,
    steps: Steps,
    /// The last step, which the next line may take back.
    last: Option<Record<'static>>,
}

impl Reader {
    fn line(
        &mut self,
        line: &Line,
        problems: &mut Problems,
        sink: &mut dyn Sink,
    ) -> Result<(), TraceError> {
        if line.text.starts_with(STOPPED) {
            self.last = None;
            return Ok(());
        }
        let Some((cpu, pc, single)) = executed(line.text).filter(|_| line.whole) else {
            if !line.whole {
                problems.line(sink, line, "no line of QEMU's -d exec");
            } else if !is_quiet(line.text) {
                problems.add(sink, FOREIGN_LINES, Place::Line(line.number), || {
                    format!("lines of something else: `{}`", excerpt(line.text))
                });
            }
            return Ok(());
        };
        if !single {
            let message = "a block of several instructions, which the log does not list";
            return Err(problems.malformed(line.number, message, REMEDY));
        }
        self.push(sink)?;
        if !self.steps.admits(cpu) {
            problems.add(sink, TOO_MANY_CPUS, Place::Line(line.number), || {
                format!("CPU {cpu} is one too many; its lines were left out")
            });
            return Ok(());
        }
        let wide = matches!(self.isa, Isa::X86_64 | Isa::Aarch64 | Isa::Riscv64);
        let pc = if wide { pc } else { pc & u64::from(u32::MAX) };
        self.last = Some(Record { line: line.number, cpu, pc, ..Record::default() });
        Ok(())
    }

    fn push(&mut self, sink: &mut dyn Sink) -> Result<(), TraceError> {
        match self.last.take() {
            Some(record) => self.steps.push(&record, &mut Lists::default(), sink),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::qemu::Qemu;
    use crate::trace::qemu::tests::{Collect, only};

    const LINES: &str = "Trace 0: 0x7f7d58000100 [0000000000000000/0000000000010258/00207600/00000201] \n\
        Trace 0: 0x7f7d58000240 [0000000000000000/000000000001025c/00207600/00000201] main\n\
        Stopped execution of TB chain before 0x7f7d58000240 [000000000001025c] main\n\
        Trace 1: 0x7f7d58000240 [0000000000000000/000000000001025c/00207600/00000201] main\n";

    #[test]
    fn addresses_are_steps() {
        assert_eq!(only(LINES.as_bytes()), "qemu");
        let read = |text: &str, isa| Collect::read(&Qemu, text.as_bytes(), isa);
        let c = read(LINES, Some(Isa::Riscv64)).unwrap();
        let steps: Vec<_> = c.steps.iter().map(|s| (s.thread, c.defs[s.insn].address)).collect();
        assert_eq!((steps, c.codes()), (vec![(0, 0x10258), (1, 0x1025c)], vec![]));
        assert!(read(LINES, None).is_err());
        let several = LINES.replace("/00000201] main\nStopped", "/00000200] main\nStopped");
        assert!(read(&several, Some(Isa::Riscv64)).is_err());
        let cut = &LINES[..LINES.len() - 9];
        assert_eq!(read(cut, Some(Isa::Riscv64)).unwrap().codes(), ["truncated"]);
    }
}
