//! The recorders' programs: found compiled in the cache folder, or compiled there.

use super::error::{FOLDER, RecordError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of a recorder, the script that compiles them first.
type Sources = &'static [&'static str];

const VALGRIND: Sources = &[
    "valgrind/build.sh",
    "valgrind/addfg_main.c",
    "valgrind/events.h",
    "valgrind/files.h",
    "valgrind/calls.h",
    "valgrind/part.h",
    "valgrind/check.h",
    "valgrind/allocations.h",
    "stream/addfg_stream.h",
    "stream/addfg_mark.h",
];
const QEMU: Sources =
    &["qemu/build.sh", "qemu/addfg_qemu.c", "qemu/plugin_api.h", "stream/addfg_stream.h"];

/// A compiled recorder.
#[derive(Clone, Debug)]
pub enum Recorder {
    Valgrind {
        /// What valgrind takes as `VALGRIND_LIB`.
        folder: PathBuf,
    },
    Qemu {
        plugin: PathBuf,
        /// The emulator and its arguments.
        emulator: Vec<String>,
    },
}

impl Recorder {
    /// The recorder for the installed valgrind; compiles it if need be.
    ///
    /// # Errors
    /// valgrind or its headers are not installed; the sources are not found; the compiler fails.
    pub fn valgrind() -> Result<Recorder, RecordError> {
        let version = version("valgrind", "valgrind gcc pkg-config")?;
        Ok(Recorder::Valgrind { folder: compiled(VALGRIND, &version)? })
    }

    /// The plugin for an emulator of QEMU; compiles it if need be. `emulator`: its name or path, with
    /// arguments between blanks.
    ///
    /// # Errors
    /// It is not installed; the sources are not found; the compiler fails.
    pub fn qemu(emulator: &str) -> Result<Recorder, RecordError> {
        let emulator: Vec<String> = emulator.split_whitespace().map(String::from).collect();
        let name = emulator.first().map_or("", String::as_str);
        let package =
            if name.contains("qemu-system") { "qemu-system gcc" } else { "qemu-user gcc" };
        let version = version(name, package)?;
        let plugin = compiled(QEMU, &version)?.join("libaddfg.so");
        Ok(Recorder::Qemu { plugin, emulator })
    }
}

/// What a program says of itself; Debian has it in `package`.
fn version(program: &str, package: &'static str) -> Result<Vec<u8>, RecordError> {
    let output = Command::new(program).arg("--version").output();
    let missing = |_| RecordError::Missing { what: program.to_owned(), package };
    Ok(output.map_err(missing)?.stdout)
}

/// The folder with what the sources are compiled to for this version of their host.
fn compiled(files: Sources, version: &[u8]) -> Result<PathBuf, RecordError> {
    let sources = sources(files).ok_or(RecordError::NoSources)?;
    let mut hash = DefaultHasher::new();
    version.hash(&mut hash);
    for file in files {
        read(&sources.join(file))?.hash(&mut hash);
    }
    let folder = cache().join(format!("recorder-{:016x}", hash.finish()));
    if !folder.exists() {
        compile(&sources.join(files[0]), &folder)?;
    }
    Ok(folder)
}

fn read(path: &Path) -> Result<Vec<u8>, RecordError> {
    std::fs::read(path).map_err(|error| RecordError::Io { path: path.display().to_string(), error })
}

/// The folder of the sources: where [`FOLDER`] says, beside the installed program, in the checkout
/// that the program was built in.
fn sources(files: Sources) -> Option<PathBuf> {
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
        .find(|folder| files.iter().all(|file| folder.join(file).is_file()))
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
