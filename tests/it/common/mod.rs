//! What the tests share.

pub mod ask;
pub mod browser;
pub mod databases;
pub mod fixture_db;
pub mod program;
pub mod run;
pub mod stream;
pub mod tools;
mod watchdog;
pub mod xray;

pub use ask::*;
pub use databases::*;
pub use run::*;
pub use tools::*;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of its own for a test, removed when dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        watchdog::watch();
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("addfg-test-{process}-{number}-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("temporary folder");
        Scratch(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, contents).expect("writes");
        path
    }

    /// A copy of a shared database, to be changed.
    pub fn copy(&self, database: &Path, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::copy(database, &path).expect("copies");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        close_last();
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A path as an argument.
pub fn utf8(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Snapshots of what logs gave stand beside the logs.
pub fn beside_formats() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(repository("tests/formats/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}
