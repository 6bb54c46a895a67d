//! The recorder's program: found compiled in the cache folder, or compiled there.

use super::error::{FOLDER, RecordError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of the recorder for valgrind.
const SOURCES: [&str; 7] = [
    "valgrind/addfg_main.c",
    "valgrind/events.h",
    "valgrind/part.h",
    "valgrind/check.h",
    "valgrind/build.sh",
    "stream/addfg_stream.h",
    "stream/addfg_mark.h",
];

/// A compiled recorder.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// What valgrind takes as `VALGRIND_LIB`.
    pub folder: PathBuf,
}

impl Recorder {
    /// The recorder for the installed valgrind; compiles it if need be.
    ///
    /// # Errors
    /// valgrind or its headers are not installed; the sources are not found; the compiler fails.
    pub fn find() -> Result<Recorder, RecordError> {
        let missing = RecordError::Missing { what: "valgrind", package: "valgrind gcc pkg-config" };
        let version = Command::new("valgrind").arg("--version").output().map_err(|_| missing)?;
        let sources = sources().ok_or(RecordError::NoSources)?;
        let mut hash = DefaultHasher::new();
        version.stdout.hash(&mut hash);
        for file in SOURCES {
            read(&sources.join(file))?.hash(&mut hash);
        }
        let folder = cache().join(format!("recorder-{:016x}", hash.finish()));
        if !folder.exists() {
            compile(&sources.join("valgrind/build.sh"), &folder)?;
        }
        Ok(Recorder { folder })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, RecordError> {
    std::fs::read(path).map_err(|error| RecordError::Io { path: path.display().to_string(), error })
}

/// The folder of the sources: where [`FOLDER`] says, beside the installed program, in the checkout
/// that the program was built in.
fn sources() -> Option<PathBuf> {
    let said = std::env::var_os(FOLDER).map(PathBuf::from);
    let program = std::env::current_exe().ok();
    let installed = program
        .iter()
        .flat_map(|p| p.ancestors().skip(1).take(5))
        .flat_map(|folder| [folder.join("share/addfg/recorders"), folder.join("recorders")]);
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorders");
    said.into_iter()
        .chain(installed)
        .chain([checkout])
        .find(|folder| SOURCES.iter().all(|file| folder.join(file).is_file()))
}

fn cache() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("addfg")
}

/// Compiles into a folder that is there when all is done only.
fn compile(script: &Path, folder: &Path) -> Result<(), RecordError> {
    let io = |error| RecordError::Io { path: folder.display().to_string(), error };
    let part = folder.with_extension(format!("{}.part", std::process::id()));
    std::fs::create_dir_all(&part).map_err(io)?;
    let output = Command::new("sh").arg(script).arg(&part).output().map_err(io)?;
    if !output.status.success() {
        let _ = std::fs::remove_dir_all(&part);
        let text = [output.stdout, output.stderr].concat();
        return Err(RecordError::Compile {
            script: script.display().to_string(),
            output: String::from_utf8_lossy(&text).trim_end().to_owned(),
        });
    }
    match std::fs::rename(&part, folder) {
        // Another one was faster.
        Err(_) if folder.exists() => std::fs::remove_dir_all(&part).map_err(io),
        renamed => renamed.map_err(io),
    }
}
