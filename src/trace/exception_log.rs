//! What QEMU says of exceptions with `-d int`, line by line: that one is taken, where it is to go on,
//! and that a handler has returned. Of QEMU's log, and of the lines that addfg's plugin hands on.
//!
//! Source: QEMU, `target/arm/helper.c`, `target/arm/m_helper.c`, `target/arm/helper-a64.c`,
//! `target/riscv/cpu_helper.c`.

use super::number::{decimal_front, hex_digits};
use crate::event::{Event, ExceptionEntry, Keeps};

/// What an exception says of the instruction before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Something else than the program: the instruction was done, or has not begun.
    Interrupt,
    /// The instruction asked for it.
    Asked,
    /// The instruction could not be done.
    Fault,
    /// Not said, or the next instruction could not be fetched.
    Other,
}

/// An exception that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub cause: Cause,
    pub number: u32,
    /// Address of the instruction that is to be next when the handler is done.
    pub resume: Option<u64>,
    pub keeps: Keeps,
}

/// What the lines since the last step of a CPU say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    Taken(Taken),
    Returned,
}

/// The lines of one CPU since its last step.
#[derive(Default)]
pub struct ExceptionLog {
    /// One of which more may be said.
    begun: Option<Taken>,
    said: Vec<Said>,
    /// Registers of ARM's M profile behind it, which the recorder's plugin reads where QEMU lets it.
    registers: Option<Stacking>,
}

/// Registers that say where the processor keeps what it interrupts (ARM's M profile).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stacking {
    pub status: u64,
    pub sp: u64,
    pub psp: u64,
    pub lr: u64,
}

/// The beginning of lines that go on with what an exception is.
const MORE: &[u8] = b"...";

/// Number of the CPU that a line is of, if it says so.
pub fn cpu(line: &[u8]) -> Option<u32> {
    let after = |words: &[u8]| {
        let at = memchr::memmem::find(line, words)? + words.len();
        u32::try_from(decimal_front(&line[at..]).0).ok()
    };
    if line.starts_with(b"Taking exception ") {
        after(b" on CPU ")
    } else if line.starts_with(RISCV) {
        after(b"hart:")
    } else {
        None
    }
}

const RISCV: &[u8] = b"riscv_cpu_do_interrupt: ";

/// Whether a line is of what this module reads, or goes with it.
pub fn is_of_exceptions(line: &[u8]) -> bool {
    let others: [&[u8]; 7] = [
        MORE,
        b"Taking exception ",
        b"Exception return",
        b"AArch32 mode switch ",
        b"Loaded reset SP ",
        b"riscv_",
        b"M profile ",
    ];
    others.iter().any(|start| line.starts_with(start))
}

impl ExceptionLog {
    /// Takes a line.
    pub fn line(&mut self, line: &[u8]) {
        let line = line.trim_ascii_end();
        if let Some(rest) = line.strip_prefix(b"Taking exception ") {
            self.end();
            let number = decimal_front(rest).0 as u32;
            let says = |word: &[u8]| memchr::memmem::find(rest, word).is_some();
            // Of an M profile's return the lines behind say what it does.
            if says(b"[QEMU v7M exception exit]") || says(b"[Semihosting call]") {
                return;
            }
            let cause = match () {
                () if says(b"[IRQ]") || says(b"[FIQ]") || says(b"[Virtual") => Cause::Interrupt,
                () if says(b"[SVC]") || says(b"[Hypervisor Call]") || says(b"[Secure Monitor") => {
                    Cause::Asked
                }
                () if says(b"[Undefined Instruction]") || says(b"[Data Abort]") => Cause::Fault,
                () => Cause::Other,
            };
            let keeps = if says(b"[FIQ]") { Keeps::Fast } else { Keeps::None };
            self.begun = Some(Taken { cause, number, resume: None, keeps });
        } else if let Some(more) = line.strip_prefix(MORE) {
            self.more(more);
        } else if let Some(rest) = line.strip_prefix(RISCV) {
            self.end();
            let field = |name: &[u8]| {
                let at = memchr::memmem::find(rest, name)? + name.len();
                let digits = &rest[at..];
                let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
                let end = digits.iter().take_while(|b| b.is_ascii_hexdigit()).count();
                hex_digits(&digits[..end])
            };
            let number = field(b"cause:").unwrap_or(0) as u32 & 0xffff;
            let cause = match number {
                _ if field(b"async:") == Some(1) => Cause::Interrupt,
                3 | 8..=11 => Cause::Asked,
                1 | 12 | 20 => Cause::Other,
                _ => Cause::Fault,
            };
            let (resume, keeps) = (field(b"epc:"), Keeps::None);
            self.said.push(Said::Taken(Taken { cause, number, resume, keeps }));
        } else if line.starts_with(b"Exception return from ") {
            self.end();
            self.said.push(Said::Returned);
        }
    }

    fn more(&mut self, more: &[u8]) {
        let number = |words: &[u8]| {
            let at = memchr::memmem::find(more, words)? + words.len();
            Some(decimal_front(&more[at..]).0 as u32)
        };
        if let Some(values) = more.strip_prefix(b"registers ") {
            let field = |name: &[u8]| {
                let digits = &values[memchr::memmem::find(values, name)? + name.len()..];
                hex_digits(&digits[..digits.iter().take_while(|b| b.is_ascii_hexdigit()).count()])
            };
            self.registers = (|| {
                let (status, sp) = (field(b"xpsr=")?, field(b" sp=")?);
                Some(Stacking { status, sp, psp: field(b" psp=")?, lr: field(b" lr=")? })
            })();
        } else if more.starts_with(b"handling as semihosting")
            || more.starts_with(b"handled as PSCI")
            // A call of a secure gateway, whose code the other state may not fetch, and the way back.
            || more.starts_with(b"really ")
        {
            self.begun = None;
        } else if let Some(digits) = more.strip_prefix(b"with ELR 0x") {
            if let Some(begun) = &mut self.begun {
                let end = digits.iter().take_while(|b| b.is_ascii_hexdigit()).count();
                begun.resume = hex_digits(&digits[..end]);
            }
        } else if more.starts_with(b"taking pending ") {
            let cause = self.begun.take().map_or(Cause::Interrupt, |begun| begun.cause);
            let number = number(b" exception ").unwrap_or(0);
            let keeps = Keeps::LongFrame;
            self.said.push(Said::Taken(Taken { cause, number, resume: None, keeps }));
        } else if more.starts_with(b"successful exception return")
            || more.starts_with(b"tailchaining to pending")
            || memchr::memmem::find(more, b"failed exception return").is_some()
        {
            self.begun = None;
            self.said.push(Said::Returned);
        }
    }

    /// No more lines say what one is.
    fn end(&mut self) {
        self.said.extend(self.begun.take().map(Said::Taken));
    }

    /// What was said since the last time.
    pub fn take(&mut self) -> std::vec::Drain<'_, Said> {
        self.end();
        self.said.drain(..)
    }

    /// Registers behind what was said since the last time.
    pub fn take_registers(&mut self) -> Option<Stacking> {
        self.registers.take()
    }

    pub fn is_empty(&self) -> bool {
        self.begun.is_none() && self.said.is_empty()
    }
}

impl Said {
    /// As an event of a thread.
    pub fn event(self, thread: u32) -> Event {
        match self {
            Said::Taken(Taken { number, resume, keeps, .. }) => {
                let number = Some(number);
                Event::ExceptionEntry(ExceptionEntry { thread, number, resume, frame: None, keeps })
            }
            Said::Returned => Event::ExceptionReturn { thread, frame: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &str) -> Vec<Said> {
        let mut log = ExceptionLog::default();
        for line in lines.lines() {
            assert!(is_of_exceptions(line.as_bytes()), "{line}");
            log.line(line.as_bytes());
        }
        log.take().collect()
    }

    fn taken(cause: Cause, number: u32, resume: Option<u64>) -> Said {
        let m_profile = resume.is_none();
        let keeps = if m_profile { Keeps::LongFrame } else { Keeps::None };
        Said::Taken(Taken { cause, number, resume, keeps })
    }

    #[test]
    fn the_m_profile_chains_and_returns() {
        let lines = "Taking exception 5 [IRQ] on CPU 0\n\
                     ...taking pending nonsecure exception 15\n\
                     ...loading from element 15 of non-secure vector table at 0x3c\n\
                     ...loaded new PC 0x41";
        assert_eq!(said(lines), [taken(Cause::Interrupt, 15, None)]);
        let lines = "Taking exception 8 [QEMU v7M exception exit] on CPU 0\n\
                     Exception return: magic PC fffffff9 previous exception 15\n\
                     ...tailchaining to pending exception\n\
                     ...taking pending nonsecure exception 15";
        assert_eq!(said(lines), [Said::Returned, taken(Cause::Interrupt, 15, None)]);
        let lines = "Taking exception 8 [QEMU v7M exception exit] on CPU 0\n\
                     Exception return: magic PC fffffff9 previous exception 15\n\
                     ...successful exception return";
        assert_eq!(said(lines), [Said::Returned]);
        assert_eq!(
            said("Taking exception 2 [SVC] on CPU 0\n...taking pending nonsecure exception 11"),
            [taken(Cause::Asked, 11, None)]
        );
    }

    #[test]
    fn a_profile_and_riscv_say_where_it_goes_on() {
        let lines = "Taking exception 5 [IRQ] on CPU 0\n...from EL1 to EL1\n...with ESR 0x0/0x0\n\
                     ...with ELR 0x40080024\n...to EL1 PC 0x40081280 PSTATE 0x3c5\n\
                     Exception return from AArch64 EL1 to AArch64 EL1 PC 0x40080024";
        let expected = [taken(Cause::Interrupt, 5, Some(0x4008_0024)), Said::Returned];
        assert_eq!(said(lines), expected);
        let lines = "riscv_cpu_do_interrupt: hart:0, async:1, cause:0000000000000007, \
                     epc:0x0000000080000036, tval:0x0000000000000000, desc=m_timer";
        assert_eq!(said(lines), [taken(Cause::Interrupt, 7, Some(0x8000_0036))]);
        assert_eq!(cpu(lines.as_bytes()), Some(0));
    }

    #[test]
    fn registers_that_the_plugin_has_read() {
        let mut log = ExceptionLog::default();
        log.line(b"...registers xpsr=4100000b sp=20001e18 psp=20003598 lr=ffffffed");
        let expected =
            Stacking { status: 0x4100_000b, sp: 0x2000_1e18, psp: 0x2000_3598, lr: 0xffff_ffed };
        assert_eq!(log.take_registers(), Some(expected));
        assert_eq!(log.take_registers(), None);
        log.line(b"...registers xpsr=1 sp= psp=2 lr=3");
        assert!(log.take_registers().is_none() && log.is_empty());
    }

    #[test]
    fn what_qemu_does_itself_is_none() {
        let lines = "Taking exception 16 [Semihosting call] on CPU 0\n...from EL1 to EL1\n\
                     ...handling as semihosting call 0x18\n\
                     Taking exception 7 [Breakpoint] on CPU 0\n...handling as semihosting call 0x4\n\
                     Taking exception 3 [Prefetch Abort] on CPU 0\n\
                     ...really an SG instruction at 0x10010000, executing it\n\
                     Taking exception 8 [QEMU v7M exception exit] on CPU 0\n...really v7M secure function return";
        assert_eq!(said(lines), []);
    }
}
