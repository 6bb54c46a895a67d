//! Which processor a program is for, what it needs to run elsewhere, and which programs the words of
//! a command line name.

use goblin::elf::{Elf, header};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What is read of a file to know its program header: more than any linker puts before it.
const HEAD: u64 = 1 << 20;

/// A processor that programs are recorded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// `e_machine` of its programs.
    machine: u16,
    wide: bool,
    pub name: &'static str,
    /// QEMU's emulator of one program.
    pub emulator: &'static str,
    /// What Rust calls it.
    host: &'static str,
    /// Debian's folders in `/usr` with its libraries, and the package of each.
    libraries: &'static [(&'static str, &'static str)],
}

const PROCESSORS: [Processor; 6] = [
    Processor {
        machine: header::EM_X86_64,
        wide: true,
        name: "x86-64",
        emulator: "qemu-x86_64",
        host: "x86_64",
        libraries: &[("x86_64-linux-gnu", "libc6-amd64-cross")],
    },
    Processor {
        machine: header::EM_386,
        wide: false,
        name: "x86 of 32 bits",
        emulator: "qemu-i386",
        host: "x86",
        libraries: &[("i686-linux-gnu", "libc6-i386-cross")],
    },
    Processor {
        machine: header::EM_ARM,
        wide: false,
        name: "ARM",
        emulator: "qemu-arm",
        host: "arm",
        libraries: &[
            ("arm-linux-gnueabi", "libc6-armel-cross"),
            ("arm-linux-gnueabihf", "libc6-armhf-cross"),
        ],
    },
    Processor {
        machine: header::EM_AARCH64,
        wide: true,
        name: "AArch64",
        emulator: "qemu-aarch64",
        host: "aarch64",
        libraries: &[("aarch64-linux-gnu", "libc6-arm64-cross")],
    },
    Processor {
        machine: header::EM_RISCV,
        wide: true,
        name: "RISC-V of 64 bits",
        emulator: "qemu-riscv64",
        host: "riscv64",
        libraries: &[("riscv64-linux-gnu", "libc6-riscv64-cross")],
    },
    Processor {
        machine: header::EM_RISCV,
        wide: false,
        name: "RISC-V of 32 bits",
        emulator: "qemu-riscv32",
        host: "riscv32",
        libraries: &[("riscv32-linux-gnu", "the C library for riscv32")],
    },
];

impl Processor {
    pub fn is_host(self) -> bool {
        self.host == std::env::consts::ARCH
    }
}

/// What an ELF file says of how it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    machine: u16,
    /// None: one that is not recorded.
    pub processor: Option<Processor>,
    /// The dynamic linker; None: the program is static.
    pub interpreter: Option<String>,
}

impl Program {
    /// None if it is no ELF file.
    pub fn of(path: &Path) -> Option<Program> {
        let mut bytes = Vec::new();
        let file = File::open(path).ok().filter(|f| f.metadata().is_ok_and(|m| m.is_file()))?;
        file.take(HEAD).read_to_end(&mut bytes).ok()?;
        let head = Elf::parse_header(&bytes).ok()?;
        let wide = head.e_ident[header::EI_CLASS] == header::ELFCLASS64;
        let little = head.e_ident[header::EI_DATA] == header::ELFDATA2LSB;
        let same = |p: &&Processor| p.machine == head.e_machine && p.wide == wide && little;
        Some(Program {
            machine: head.e_machine,
            processor: PROCESSORS.iter().find(same).copied(),
            interpreter: interpreter(&bytes, head),
        })
    }

    /// `e_machine` of the file.
    pub fn machine(&self) -> u16 {
        self.machine
    }

    /// The folder with the libraries of a program for another processor; None if it needs none, or
    /// finds them as they are.
    ///
    /// # Errors
    /// The package that has them, if they are not installed.
    pub fn libraries(&self) -> Result<Option<PathBuf>, &'static str> {
        let (Some(interpreter), Some(processor)) = (&self.interpreter, self.processor) else {
            return Ok(None);
        };
        if Path::new(interpreter).exists() {
            return Ok(None);
        }
        let inside = interpreter.trim_start_matches('/');
        let folder = |name: &str| Path::new("/usr").join(name);
        let found = processor.libraries.iter().map(|(name, _)| folder(name));
        let hard_float = interpreter.contains("armhf");
        let mut package = processor.libraries.iter().map(|(_, package)| *package);
        match found.into_iter().find(|folder| folder.join(inside).exists()) {
            Some(folder) => Ok(Some(folder)),
            None if hard_float => Err(package.next_back().unwrap_or_default()),
            None => Err(package.next().unwrap_or_default()),
        }
    }
}

fn interpreter(bytes: &[u8], head: header::Header) -> Option<String> {
    let class = goblin::container::Ctx::new(head.container().ok()?, head.endianness().ok()?);
    let (at, count) = (usize::try_from(head.e_phoff).ok()?, head.e_phnum.into());
    let all = goblin::elf::ProgramHeader::parse(bytes, at, count, class).ok()?;
    let named = all.iter().find(|p| p.p_type == goblin::elf::program_header::PT_INTERP)?;
    let text = bytes.get(named.file_range())?.split(|&b| b == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// The program that a shell would run for this word.
pub fn found(word: &OsStr) -> PathBuf {
    let path = Path::new(word);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let named = || std::env::split_paths(&folders).map(|f| f.join(path)).find(|p| p.is_file());
    if word.as_bytes().contains(&b'/') { path.into() } else { named().unwrap_or(path.into()) }
}

/// The ELF files that the words of a machine's command line name, as `fw.elf` or within a list of
/// properties (`loader,file=fw.elf`): those for the processor of the first.
pub fn named<'a>(words: impl Iterator<Item = &'a OsStr>) -> Vec<PathBuf> {
    let parts = words.flat_map(|word| {
        let values = word.as_bytes().split(|&b| b == b',').map(|part| {
            let value = part.iter().position(|&b| b == b'=').map_or(part, |at| &part[at + 1..]);
            OsStr::from_bytes(value)
        });
        std::iter::once(word).chain(values).map(OsString::from).collect::<Vec<_>>()
    });
    let mut list: Vec<(PathBuf, u16)> = Vec::new();
    for part in parts {
        let path = PathBuf::from(part);
        let new = list.iter().all(|(known, _)| *known != path);
        if let Some(program) = Program::of(&path).filter(|_| new) {
            list.push((path, program.machine));
        }
    }
    let first = list.first().map(|(_, machine)| *machine);
    list.into_iter().filter(|(_, machine)| Some(*machine) == first).map(|(path, _)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_elf_files() {
        let own = std::env::current_exe().unwrap();
        let own = own.to_str().unwrap();
        let list = |words: &[String]| named(words.iter().map(OsStr::new));
        assert_eq!(list(&["-kernel".into(), own.into(), "-nographic".into()]), [Path::new(own)]);
        assert_eq!(list(&[format!("loader,file={own},cpu-num=0")]), [Path::new(own)]);
        assert_eq!(list(&[format!("loader,cpu-num=0,file={own}"), own.into()]).len(), 1);
        assert!(list(&["-kernel".into(), "Cargo.toml".into(), "src".into()]).is_empty());
        let program = Program::of(Path::new(own)).unwrap();
        assert!(program.processor.is_some_and(Processor::is_host), "{program:?}");
        assert_eq!(program.libraries(), Ok(None));
    }
}
