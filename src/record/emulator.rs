//! The emulator of `--qemu`: what it can, and what is added to its arguments where the user did not
//! say it.

use super::error::RecordError;
use super::program::Program;
use std::path::Path;
use std::process::Command;

/// Their accesses are made by code of QEMU's that plugins are not told of, and the decoder does not
/// know them either (`isa::pcode::unmodelled`).
const WITHOUT_SVE: &str = "max,sve=off,sme=off";
/// Before 7.1 there was no SME.
const WITHOUT_OLD_SVE: &str = "max,sve=off";
const WITHOUT_VECTORS: &str = "max,v=false";
/// The version that has SME.
const SME: [u32; 2] = [7, 1];

/// An emulator, and its arguments.
#[derive(Clone, Debug)]
pub struct Emulator {
    /// Its name or path first.
    pub words: Vec<String>,
    /// It runs a whole machine, rather than one program.
    pub whole_machine: bool,
    /// What it says of itself.
    pub version: String,
    /// What it says of its options.
    help: String,
    /// What was added to the arguments, and why.
    pub notes: Vec<String>,
}

impl Emulator {
    /// `text`: its name or path, with arguments between blanks; `program`: what it is to run.
    ///
    /// # Errors
    /// It is not installed; the program's libraries are not.
    pub fn new(text: &str, program: Option<&Path>) -> Result<Emulator, RecordError> {
        let words: Vec<String> = text.split_whitespace().map(String::from).collect();
        let name = words.first().map_or("", String::as_str);
        let whole_machine = name.contains("qemu-system");
        let package = if whole_machine { "qemu-system gcc" } else { "qemu-user gcc" };
        let says = |option: &str| {
            let missing = |_| RecordError::Missing { what: name.to_owned(), package };
            let output = Command::new(name).arg(option).output().map_err(missing)?;
            Ok::<_, RecordError>(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let (version, help) = (says("--version")?, says("-h")?);
        let notes = Vec::new();
        let mut emulator = Emulator { words, whole_machine, version, help, notes };
        if !whole_machine {
            emulator.add_processor();
            program.map_or(Ok(()), |program| emulator.add_libraries(program))?;
        }
        Ok(emulator)
    }

    /// Whether it takes plugins: those of some distributions are linked statically, and cannot.
    pub fn has_plugins(&self) -> bool {
        self.help.contains("-plugin")
    }

    /// Arguments by which it translates one instruction at a time, and logs each.
    pub fn log_arguments(&self) -> &'static [&'static str] {
        match (self.help.contains("one-insn-per-tb"), self.whole_machine) {
            (true, false) => &["-one-insn-per-tb"],
            (true, true) => &["-accel", "tcg,one-insn-per-tb=on"],
            (false, _) => &["-singlestep"],
        }
    }

    fn is_said(&self, option: &str, variable: &str) -> bool {
        self.words.iter().any(|word| word == option) || std::env::var_os(variable).is_some()
    }

    /// Major and minor number of the version.
    fn number(&self) -> [u32; 2] {
        let words = self.version.split_whitespace().skip_while(|word| *word != "version");
        let mut numbers = words.skip(1).flat_map(|word| word.split('.')).map(|n| n.parse().ok());
        [(); 2].map(|()| numbers.next().flatten().unwrap_or(0))
    }

    /// A processor without the instructions that addfg does not know.
    fn add_processor(&mut self) {
        let name = Path::new(&self.words[0]).file_name().unwrap_or_default().to_string_lossy();
        if self.is_said("-cpu", "QEMU_CPU") {
            return;
        }
        // The second is Debian's name for it.
        let aarch64 = ["qemu-aarch64", "qemu-arm64"].iter().any(|start| name.starts_with(start));
        let (processor, without) = if aarch64 {
            (if self.number() < SME { WITHOUT_OLD_SVE } else { WITHOUT_SVE }, "SVE and SME")
        } else if name.starts_with("qemu-riscv") && self.has_processor("max") {
            (WITHOUT_VECTORS, "V")
        } else {
            return;
        };
        self.words.extend(["-cpu".into(), processor.into()]);
        self.notes.push(format!(
            "QEMU runs with -cpu {processor}: without {without}, of whose instructions addfg does not know what they access"
        ));
    }

    fn has_processor(&self, name: &str) -> bool {
        let output = Command::new(&self.words[0]).args(["-cpu", "help"]).output();
        output.is_ok_and(|o| {
            String::from_utf8_lossy(&o.stdout).split_whitespace().any(|word| word == name)
        })
    }

    /// Where the libraries of a program for another processor are.
    fn add_libraries(&mut self, path: &Path) -> Result<(), RecordError> {
        let Some(program) = Program::of(path).filter(|_| !self.is_said("-L", "QEMU_LD_PREFIX"))
        else {
            return Ok(());
        };
        match program.libraries() {
            Ok(Some(folder)) => {
                let folder = folder.display().to_string();
                self.notes.push(format!("QEMU runs with -L {folder}: the program's libraries"));
                self.words.extend(["-L".into(), folder]);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(package) => Err(RecordError::Libraries {
                program: path.display().to_string(),
                interpreter: program.interpreter.unwrap_or_default(),
                package,
            }),
        }
    }
}
