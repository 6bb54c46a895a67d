//! Pictures: Graphviz's `dot` program lays out and draws.

use std::io::Write;
use std::process::{Command, Stdio};

#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("`dot` was not found: install Graphviz (Debian: apt-get install graphviz), or use --format dot")]
    Missing,
    #[error("dot: {0}")]
    Io(#[from] std::io::Error),
    #[error("dot failed: {0}")]
    Failed(String),
}

/// Draws DOT text as `format` (svg, png, pdf).
pub fn draw(dot: String, format: &str) -> Result<Vec<u8>, LayoutError> {
    let child = Command::new("dot")
        .arg(format!("-T{format}"))
        // PDF files tell when they were made.
        .env("SOURCE_DATE_EPOCH", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(LayoutError::Missing),
        Err(e) => return Err(e.into()),
    };
    let mut stdin = child.stdin.take();
    // Beside the reading, so that neither side waits for the other with a full pipe.
    let feed = std::thread::spawn(move || stdin.as_mut().map_or(Ok(()), |s| s.write_all(dot.as_bytes())));
    let output = child.wait_with_output()?;
    let _ = feed.join();
    if !output.status.success() {
        return Err(LayoutError::Failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(output.stdout)
}
