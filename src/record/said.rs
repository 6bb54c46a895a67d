//! What valgrind says while it records: beside the program's own standard error, and without what does
//! not matter to a recording.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd};

/// Messages that a person reads at most; the rest is counted.
const MOST: usize = 100;
/// Bytes of them that are read.
const READ: u64 = 1 << 20;

/// A file in memory, which all recorded processes add to.
pub struct Said(File);

impl Said {
    /// None: there is no such file on this system.
    pub fn new() -> Option<Said> {
        memory_file().map(Said)
    }

    /// A name by which other processes open it: they inherit nothing.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// The messages that matter; `quiet`: only those that explain a failure.
    pub fn lines(mut self, quiet: bool) -> Vec<String> {
        let mut text = Vec::new();
        // What cannot be read is not said.
        let _ = self.0.rewind().and_then(|()| self.0.take(READ).read_to_end(&mut text));
        let mut lines = matter(&String::from_utf8_lossy(&text), quiet);
        let more = lines.len().saturating_sub(MOST);
        lines.truncate(MOST);
        if more > 0 {
            lines.push(format!("valgrind: {more} more lines"));
        }
        lines
    }
}

/// A file that is nowhere but in memory, and that no other program inherits.
pub fn memory_file() -> Option<File> {
    // SAFETY: the name ends with 0, and the descriptor that comes is nobody else's.
    unsafe {
        let descriptor = libc::memfd_create(c"addfg-log".as_ptr(), libc::MFD_CLOEXEC);
        (descriptor >= 0).then(|| File::from_raw_fd(descriptor))
    }
}

/// Who a line is of, as far as it decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of an error, or by addfg's recorder.
    Error,
    /// Something was not done as the program asked.
    Warning,
    /// Of the reader of debugging information, or what only checkers of memory need.
    Noise,
}

fn kind(line: &str) -> Kind {
    let said = text(line);
    if line.starts_with("###") {
        Kind::Noise
    } else if line.starts_with("--") {
        // "unhandled amd64-linux syscall: 333"; what valgrind's authors ask for stands below.
        if said.contains("unhandled") && !said.to_ascii_lowercase().contains("dwarf") {
            Kind::Warning
        } else {
            Kind::Noise
        }
    } else if said.starts_with("Warning: client switching stacks") {
        Kind::Noise
    } else if said.starts_with("Warning: ") {
        Kind::Warning
    } else {
        Kind::Error
    }
}

/// A line without the process that it is of.
fn text(line: &str) -> &str {
    let rest = line.trim_start_matches(['=', '-']);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.trim_start_matches(['=', '-']).strip_prefix(' ').unwrap_or(rest)
}

/// The lines that matter. What is indented belongs to the line before.
fn matter(said: &str, quiet: bool) -> Vec<String> {
    let mut of = Kind::Noise;
    let wanted = |line: &&str| {
        let marked = line.starts_with("==") || line.starts_with("--");
        if !(marked && text(line).starts_with("  ")) {
            of = kind(line);
        }
        match of {
            Kind::Error => true,
            Kind::Warning => !quiet,
            Kind::Noise => false,
        }
    };
    let lines: Vec<&str> = said.lines().filter(wanted).collect();
    let blank = |line: &&&str| text(line).trim_matches(['=', '-', ' ']).is_empty();
    let begin = lines.iter().take_while(blank).count();
    lines[begin..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
### unhandled dwarf2 abbrev form code 0x25
--12-- Warning: DWARF2 CFI reader: unhandled DW_OP_ opcode 0x18
--12-- WARNING: Serious error when reading debug info
--12-- When reading debug info from /usr/lib/x:
--12-- Can't make sense of .data section mapping
--12-- WARNING: unhandled amd64-linux syscall: 333
--12-- You may be able to write your own handler.
==12== Warning: client switching stacks?  SP change: 0x1ffeffff --> 0x4a6b
==12==          to suppress, use: --max-stackframe=137 or greater
==12== Warning: invalid file descriptor 1024 in syscall open()
==12== 
==12== Process terminating with default action of signal 11 (SIGSEGV)
==12==  Access not within mapped region at address 0x0
==12==    at 0x1091C9: main (in /tmp/m)
==12== addfg: x cannot be written any more: the recording ends here
valgrind: the 'impossible' happened
";

    #[test]
    fn only_what_explains_a_failure_is_said_quietly() {
        let quiet = matter(SAID, true);
        assert_eq!(quiet.len(), 5, "{quiet:#?}");
        assert!(quiet[0].contains("Process terminating"), "{quiet:#?}");
        assert!(quiet[4].starts_with("valgrind: "), "{quiet:#?}");
    }

    #[test]
    fn what_was_not_done_is_a_warning() {
        let all = matter(SAID, false);
        let warnings: Vec<&String> = all.iter().take(2).collect();
        assert!(warnings[0].contains("syscall: 333"), "{all:#?}");
        assert!(warnings[1].contains("descriptor 1024"), "{all:#?}");
        assert!(all[2..].iter().all(|line| !line.contains("arning")), "{all:#?}");
        assert_eq!(matter("", false), [""; 0]);
    }
}
