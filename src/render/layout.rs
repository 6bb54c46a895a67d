//! Pictures: Graphviz's `dot` program lays out and draws.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Edges of a graph that is given to Graphviz at most.
pub const MOST: usize = 5000;
/// Seconds that a layout may take.
const PATIENCE: u64 = 60;

#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error(
        "`dot` was not found: install Graphviz (Debian: apt-get install graphviz), or use --format dot"
    )]
    Missing,
    #[error("dot: {0}")]
    Io(#[from] std::io::Error),
    #[error("dot failed: {0}")]
    Failed(String),
    #[error(
        "dot did not finish within {0} seconds: ask for fewer nodes (--top) or edges (--min-bytes)"
    )]
    Slow(u64),
}

/// Draws DOT text as `format` (svg, png, pdf). Graphviz 2.43 fails to rank some graphs with
/// clusters ("trouble in init_rank"): those are ranked without regard to them.
pub fn draw(dot: &str, format: &str) -> Result<Vec<u8>, LayoutError> {
    match run(dot, format, &[]) {
        Err(LayoutError::Failed(_)) => run(dot, format, &["-Gnewrank=true"]),
        drawn => drawn,
    }
}

/// [`draw`] with options of `dot`'s.
pub fn draw_with(dot: &str, format: &str, more: &[&str]) -> Result<Vec<u8>, LayoutError> {
    run(dot, format, more)
}

fn run(dot: &str, format: &str, more: &[&str]) -> Result<Vec<u8>, LayoutError> {
    let dot = dot.to_owned();
    let child = Command::new("dot")
        .arg(format!("-T{format}"))
        .args(more)
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
    let feed =
        std::thread::spawn(move || stdin.as_mut().map_or(Ok(()), |s| s.write_all(dot.as_bytes())));
    let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.map_or(Ok(0), |mut p| p.read_to_end(&mut bytes)).map(|_| bytes)
        })
    };
    let picture = read(child.stdout.take().map(|p| Box::new(p) as _));
    let errors = read(child.stderr.take().map(|p| Box::new(p) as _));
    let end = Instant::now() + Duration::from_secs(PATIENCE);
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() > end => {
                child.kill()?;
                child.wait()?;
                return Err(LayoutError::Slow(PATIENCE));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let _ = feed.join();
    let text = |bytes: std::thread::Result<std::io::Result<Vec<u8>>>| {
        bytes.unwrap_or_else(|_| Ok(Vec::new()))
    };
    let (picture, errors) = (text(picture.join())?, text(errors.join())?);
    if !status.success() {
        return Err(LayoutError::Failed(String::from_utf8_lossy(&errors).trim().to_owned()));
    }
    Ok(picture)
}
