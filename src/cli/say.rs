//! What is said on standard error beside the report. Where nobody can hear it, the work goes on.

macro_rules! say {
    ($($argument:tt)+) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($argument)+);
    }};
}
pub(crate) use say;
