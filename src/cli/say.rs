//! What is said on standard error beside the report. Where nobody can hear it, the work goes on.

use crate::text::visible;
use std::fmt::Arguments;
use std::io::Write;

/// Says a line. Names of files and words of inputs may be hostile: characters that act on a
/// terminal are escaped, and further lines are indented, so that none passes for one of ours.
pub fn line(text: Arguments) {
    let text = text.to_string();
    let lines: Vec<_> = text.trim_end().split('\n').map(visible).collect();
    let _ = writeln!(std::io::stderr(), "{}", lines.join("\n    "));
}

macro_rules! say {
    ($($argument:tt)+) => { $crate::cli::say::line(format_args!($($argument)+)) };
}
pub(crate) use say;
