//! Why an input cannot be read.

use crate::diagnostics::{Diagnostic, Severity};

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("cannot read {name}")]
    Io { name: String, source: std::io::Error },
    #[error(
        "{name}: not a trace in any format that addfg knows ({seen}); `addfg formats` lists them, --format NAME forces one"
    )]
    UnknownFormat { name: String, seen: String },
    #[error("{name}: looks like a log of {about}; add --layout {layout}")]
    NeedsLayout { name: String, layout: &'static str, about: &'static str },
    #[error("{name}: empty file; nothing was recorded")]
    Empty { name: String },
    #[error(
        "{name} changed while it was read (it had {before} bytes and has {after}): let its writer end, and build again"
    )]
    Changed { name: String, before: u64, after: u64 },
    #[error("{name}:{position}: {message}; {remedy}")]
    Malformed { name: String, position: String, message: String, remedy: String },
    #[error(
        "{name}:{position}: {message}; record again; of a part (--from, --marked) see whether the program gets there"
    )]
    WithoutSteps { name: String, position: String, message: String },
    /// A format that is not addfg's own cannot read it.
    #[error("{name}: {message}")]
    Own { name: String, message: String },
    /// The receiving side ended; its own error says why.
    #[error("the build was stopped")]
    Stopped,
}

impl TraceError {
    /// For an error that [`super::input::Input::chunks`] gave after good chunks: the diagnostic
    /// that says what was lost, so that the reader can keep what it has. Errors that are no damage
    /// of the input come back.
    pub fn into_damage(self) -> Result<Diagnostic, TraceError> {
        let (message, position) = match self {
            TraceError::Malformed { name, position, message, .. } => {
                (format!("{message}; what follows was lost"), format!("{name}: {position}"))
            }
            TraceError::Io { name, source } => (format!("{source}; what follows was lost"), name),
            other => return Err(other),
        };
        let remedy = "copy or record the file again; what was read up to here is in the database";
        Ok(Diagnostic {
            severity: Severity::Error,
            code: "damaged-input",
            message,
            position,
            remedy,
        })
    }
}
