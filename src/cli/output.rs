//! Where reports go.

use crate::files;
use crate::store::open::no_databases;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Writes a report to a file, or to standard output where there is none or its name is -.
pub fn write_output(path: Option<&Path>, text: &[u8]) -> anyhow::Result<ExitCode> {
    match path.filter(|p| p.as_os_str() != "-") {
        Some(path) => {
            files::write(path, text, no_databases)?;
        }
        None => {
            let mut out = std::io::stdout().lock();
            out.write_all(text)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
