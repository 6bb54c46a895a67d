//! The recorders' programs: found compiled in the cache folder, or compiled there.

use super::emulator::Emulator;
use super::error::{FOLDER, RecordError};
use super::own_folder;
use super::program::{self, Program};
use crate::files;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources of all recorders, as they were when the program was compiled: names and contents.
const SOURCES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/recorders.rs"));

/// Folders of a recorder's sources, that with the script that compiles them first.
type Folders = [&'static str; 2];

const VALGRIND: Folders = ["valgrind", "stream"];
const QEMU: Folders = ["qemu", "stream"];

/// A file of them, and what is in it.
type Source = (&'static str, Cow<'static, [u8]>);

/// A compiled recorder.
#[derive(Clone, Debug)]
pub enum Recorder {
    Valgrind {
        /// What valgrind takes as `VALGRIND_LIB`.
        folder: PathBuf,
    },
    Qemu {
        /// None: the emulator takes none, and its log of registers is read.
        plugin: Option<PathBuf>,
        emulator: Emulator,
    },
}

/// What is lost, and said, where QEMU takes no plugins.
const BY_LOG: &str = "takes no plugins (Debian 13's qemu-user is linked statically): its log is read instead, which takes some thirty \
     times as long, and tells neither what system calls read and write nor where libraries are, so link the program \
     statically; a QEMU that was built with plugins tells all";

impl Recorder {
    /// The recorder for the installed valgrind and a program; compiles it if need be.
    ///
    /// # Errors
    /// valgrind or its headers are not installed; the sources are not found; the compiler fails; the
    /// program is for another processor.
    pub fn valgrind(program: &OsStr) -> Result<Recorder, RecordError> {
        refuse_foreign(program)?;
        let version = version("valgrind", "valgrind gcc pkg-config")?;
        Ok(Recorder::Valgrind { folder: compiled(VALGRIND, &version)? })
    }

    /// The plugin for an emulator of QEMU; compiles it if need be. `emulator`: its name or path, with
    /// arguments between blanks; `program`: the one that it is to run.
    ///
    /// # Errors
    /// It is not installed, or the program's libraries are not; the sources are not found; the
    /// compiler fails.
    pub fn qemu(emulator: &str, program: Option<&OsStr>) -> Result<Recorder, RecordError> {
        let mut emulator = Emulator::new(emulator, program.map(Path::new))?;
        if program.is_none() && !emulator.whole_machine {
            return Err(RecordError::NoProgram { emulator: emulator.words[0].clone() });
        }
        if !emulator.has_plugins() {
            emulator.notes.push(format!("{} {BY_LOG}", emulator.words[0]));
            return Ok(Recorder::Qemu { plugin: None, emulator });
        }
        let plugin = compiled(QEMU, emulator.version.as_bytes())?.join("libaddfg.so");
        Ok(Recorder::Qemu { plugin: Some(plugin), emulator })
    }

    /// What a user should know of how it runs.
    pub fn notes(&self) -> &[String] {
        match self {
            Recorder::Valgrind { .. } => &[],
            Recorder::Qemu { emulator, .. } => &emulator.notes,
        }
    }

    /// The ELF files that the recording itself does not tell of: those that a whole machine runs,
    /// and the program of which there is but a log.
    pub fn images(&self, command: &[OsString]) -> Vec<PathBuf> {
        match self {
            Recorder::Valgrind { .. } => Vec::new(),
            Recorder::Qemu { emulator, .. } if emulator.whole_machine => {
                let own = emulator.words[1..].iter().map(OsStr::new);
                program::named(own.chain(command.iter().map(OsString::as_os_str)))
            }
            Recorder::Qemu { plugin: Some(_), .. } => Vec::new(),
            Recorder::Qemu { plugin: None, .. } => {
                program::named(command.iter().take(1).map(OsString::as_os_str))
            }
        }
    }
}

/// An error if a program is for another processor than this one: valgrind's own message does not
/// say what would run it.
fn refuse_foreign(word: &OsStr) -> Result<(), RecordError> {
    let path = program::found(word);
    let Some(program) = Program::of(&path) else { return Ok(()) };
    let name = word.to_string_lossy().into_owned();
    let Some(processor) = program.processor else {
        return Err(RecordError::Processor { program: name, machine: program.machine() });
    };
    if processor.is_host() {
        return Ok(());
    }
    let emulator = match program.libraries() {
        Ok(Some(folder)) => format!("\"{} -L {}\"", processor.emulator, folder.display()),
        _ => processor.emulator.to_owned(),
    };
    Err(RecordError::Foreign { program: name, processor: processor.name, emulator })
}

/// What a program says of itself; Debian has it in `package`.
fn version(program: &str, package: &'static str) -> Result<Vec<u8>, RecordError> {
    let output = Command::new(program).arg("--version").output();
    let missing = |_| RecordError::Missing { what: program.to_owned(), package };
    Ok(output.map_err(missing)?.stdout)
}

/// The folder with what the sources are compiled to for this version of their host. It is one that
/// nobody else could have put anything into: in the cache folder, or one for this run only.
fn compiled(folders: Folders, version: &[u8]) -> Result<PathBuf, RecordError> {
    let sources = sources(folders)?;
    let mut hash = DefaultHasher::new();
    (version, &sources).hash(&mut hash);
    let name = format!("recorder-{:016x}", hash.finish());
    let Some(folder) = own_folder::cache().map(|cache| cache.join(&name)) else {
        let folder = private()?;
        compile(&sources, &folder)?;
        return Ok(folder);
    };
    let there = fs::symlink_metadata(&folder).is_ok();
    if there && !own_folder::is_closed(&folder) {
        // Whatever is there was made by somebody else, or is open to somebody.
        let folder = private()?;
        compile(&sources, &folder)?;
        return Ok(folder);
    }
    if !there || !own_folder::is_whole(&folder) {
        if there {
            let io = |error| RecordError::Io { path: folder.display().to_string(), error };
            fs::remove_dir_all(&folder).map_err(io)?;
        }
        compile(&sources, &folder)?;
    }
    Ok(folder)
}

/// A name in a folder of this process that is this user's alone.
fn private() -> Result<PathBuf, RecordError> {
    files::private().map_err(|error| RecordError::Io { path: "the temporary folder".into(), error })
}

/// Those that are in the program, or those of the folder that [`FOLDER`] names.
fn sources(folders: Folders) -> Result<Vec<Source>, RecordError> {
    let of_these = |name: &str| folders.iter().any(|folder| name.starts_with(folder));
    let own = SOURCES.iter().filter(|(name, _)| of_these(name));
    let Some(said) = std::env::var_os(FOLDER).filter(|said| !said.is_empty()) else {
        return Ok(own.map(|(name, bytes)| (*name, Cow::Borrowed(*bytes))).collect());
    };
    let read = |name: &'static str| {
        let path = Path::new(&said).join(name);
        let bytes = fs::read(&path)
            .map_err(|error| RecordError::Sources { path: path.display().to_string(), error })?;
        Ok((name, Cow::Owned(bytes)))
    };
    own.map(|(name, _)| read(name)).collect()
}

/// Compiles into a folder that is there when all is done only.
fn compile(sources: &[Source], folder: &Path) -> Result<(), RecordError> {
    let io = |error| RecordError::Io { path: folder.display().to_string(), error };
    let from = private()?;
    for (name, bytes) in sources {
        let path = from.join(name);
        make_folder(path.parent().unwrap_or(&from)).map_err(io)?;
        fs::write(&path, bytes).map_err(io)?;
    }
    let script = sources.iter().map(|(name, _)| *name).find(|name| name.ends_with("build.sh"));
    let script = from.join(script.unwrap_or_default());
    let part = folder.with_extension(format!("{}.part", files::process_name()));
    make_folder(&part).map_err(io)?;
    let output = Command::new("sh").arg(&script).arg(&part).output().map_err(io)?;
    let _ = fs::remove_dir_all(&from);
    if !output.status.success() {
        let _ = fs::remove_dir_all(&part);
        let text = [output.stdout, output.stderr].concat();
        return Err(RecordError::Compile {
            script: script.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            output: String::from_utf8_lossy(&text).trim_end().to_owned(),
        });
    }
    own_folder::seal(&part).map_err(io)?;
    match fs::rename(&part, folder) {
        // Another one was faster.
        Err(_) if folder.exists() => fs::remove_dir_all(&part).map_err(io),
        renamed => renamed.map_err(io),
    }
}

/// Makes a folder of this user alone, and those that it is in.
fn make_folder(path: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_all_sources() {
        for name in
            ["valgrind/build.sh", "valgrind/addfg_main.c", "qemu/build.sh", "stream/addfg_stream.h"]
        {
            let found = SOURCES.iter().find(|(source, _)| *source == name);
            assert!(found.is_some_and(|(_, bytes)| !bytes.is_empty()), "{name}");
        }
    }
}
