//! Why something could not be done.

use std::fmt;

/// Why something could not be done, in one sentence with its remedy.
///
/// What went wrong below (a file that cannot be read, a statement that DuckDB refuses) is its
/// [`source`](std::error::Error::source).
pub struct Error(Box<dyn std::error::Error + Send + Sync>);

impl Error {
    /// An error of your own: of a [`Format`](super::Format) that cannot read its input.
    pub fn new(message: impl Into<String>) -> Error {
        Error(message.into().into())
    }

    pub(super) fn of(error: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error(Box::new(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// As `main` shows it: the sentence, and what went wrong below.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error(Box::new(error))
    }
}
