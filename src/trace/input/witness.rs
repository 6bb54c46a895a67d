//! Whether a file is still what it was when it was opened.

use crate::trace::error::TraceError;
use std::fs::File;
use std::io;
use std::time::SystemTime;

/// An open file as it was. Another file under its name does not matter: this one is read.
pub struct Witness {
    name: String,
    file: File,
    size: u64,
    modified: SystemTime,
}

impl Witness {
    pub(super) fn new(name: &str, file: File) -> io::Result<Witness> {
        let found = file.metadata()?;
        Ok(Witness { name: name.to_owned(), size: found.len(), modified: found.modified()?, file })
    }

    /// An error if the file was written since.
    pub fn check(&self) -> Result<(), TraceError> {
        let failed = |source| TraceError::Io { name: self.name.clone(), source };
        let found = self.file.metadata().map_err(failed)?;
        if found.len() == self.size && found.modified().map_err(failed)? == self.modified {
            return Ok(());
        }
        Err(TraceError::Changed { name: self.name.clone(), before: self.size, after: found.len() })
    }
}
