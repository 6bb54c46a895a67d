//! Tools that tests run where they are installed. What is skipped is said, past the harness, which
//! keeps what tests print.

use super::{repository, shared};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

/// Tool, Debian's package, what is tested with it.
pub const TOOLS: [(&str, &str, &str); 37] = [
    ("valgrind", "valgrind", "recordings by lackey; counts of callgrind"),
    ("callgrind_annotate", "valgrind", "exports for callgrind"),
    ("pkg-config", "pkg-config", "the recorder for valgrind"),
    ("strace", "strace", "bytes of system calls of recorded programs"),
    ("bzip2", "bzip2", "the README's first commands"),
    ("gcc", "gcc", "programs that are recorded"),
    ("g++", "g++", "programs that are recorded"),
    ("clang-19", "clang-19", "programs that are recorded; XRay"),
    ("clang++-19", "clang-19", "programs that are recorded"),
    ("llvm-xray-19", "llvm-19", "XRay logs against LLVM's reader"),
    ("objdump", "binutils", "the oracle's instructions"),
    ("readelf", "binutils", "the oracle's sections"),
    ("objcopy", "binutils", "CSI descriptions in programs"),
    ("gdb", "gdb", "core files of CSI programs"),
    ("qemu-x86_64", "qemu-user", "recordings on x86-64"),
    ("qemu-i386", "qemu-user", "recordings on x86 of 32 bits"),
    ("qemu-arm", "qemu-user", "recordings on ARM and Thumb"),
    ("qemu-aarch64", "qemu-user", "recordings on AArch64"),
    ("qemu-riscv64", "qemu-user", "recordings on RISC-V"),
    ("qemu-system-arm", "qemu-system-arm", "recordings of a whole machine"),
    ("qemu-system-aarch64", "qemu-system-arm", "recordings of a whole machine of AArch64"),
    ("qemu-system-riscv32", "qemu-system-misc", "recordings of a whole machine of RISC-V"),
    ("qemu-system-riscv64", "qemu-system-misc", "recordings of a whole machine of RISC-V"),
    ("i686-linux-gnu-gcc", "gcc-i686-linux-gnu", "programs for x86 of 32 bits"),
    ("arm-linux-gnueabi-gcc", "gcc-arm-linux-gnueabi", "programs for ARM and Thumb"),
    ("arm-linux-gnueabi-g++", "g++-arm-linux-gnueabi", "C++ programs for ARM"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu", "programs for AArch64"),
    ("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu", "programs for RISC-V"),
    ("dot", "graphviz", "pictures"),
    ("java", "default-jre-headless", "Spark"),
    ("gnuplot", "gnuplot-nox", "pictures of memory"),
    ("chromium", "chromium", "the page of the report in a browser"),
    ("python3", "python3", "exports in other programs"),
    ("go", "golang-go", "Go programs that are recorded"),
    ("rustc", "", "Rust programs that are recorded"),
    ("script", "bsdutils", "what is shown at a terminal"),
    ("timeout", "coreutils", "core files of CSI programs"),
];

/// Seeds of this run: as many as the test has time for, or what the environment says.
pub fn seeds(few: u64) -> Vec<u64> {
    let Ok(said) = std::env::var("ADDFG_SEEDS") else { return (0..few).collect() };
    let number = |text: &str| text.parse::<u64>().expect("ADDFG_SEEDS: a number or A..B");
    match said.split_once("..") {
        Some((from, to)) => (number(from)..number(to)).collect(),
        None => (0..number(&said)).collect(),
    }
}

/// Says once what is not tested and why.
pub fn skipped(what: &str) {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut said = SAID.lock().expect("no panic within");
    if !said.iter().any(|s| s == what) {
        said.push(what.to_owned());
        // The harness keeps what `println!` writes, not what is written so.
        let _ = writeln!(std::io::stderr(), "skipped: {what}");
    }
}

/// Whether a tool runs, without a word.
pub fn installed(tool: &str) -> bool {
    static FOUND: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().expect("no panic within");
    let runs = || Command::new(tool).arg("--version").output().is_ok();
    *found.entry(tool.to_owned()).or_insert_with(runs)
}

/// Whether a tool is installed; says what is skipped if not.
pub fn have(tool: &str) -> bool {
    let (_, package, what) = TOOLS.iter().find(|t| t.0 == tool).expect("a tool of the list");
    let found = installed(tool);
    if !found {
        skipped(&format!("{what}: {tool} is not installed (package {package})"));
    }
    found
}

/// A file of `../shared/data`, which is not part of the repository; says what is skipped if it is
/// not there.
pub fn elsewhere(name: &str) -> Option<PathBuf> {
    let path = repository("../shared/data").join(name);
    if !path.exists() {
        skipped(&format!("genuine files of others: no ../shared/data/{name}"));
    }
    path.exists().then_some(path)
}

/// Roots of other releases' packages (packaging/root.sh), by `ADDFG_ROOTS`; says what is skipped if
/// there are none.
pub fn roots() -> Vec<PathBuf> {
    let named = std::env::var_os("ADDFG_ROOTS").unwrap_or_default();
    let roots: Vec<_> = std::env::split_paths(&named).filter(|root| root.is_dir()).collect();
    if roots.is_empty() {
        skipped(
            "valgrind and QEMU of other releases: ADDFG_ROOTS names none (packaging/root.sh makes one)",
        );
    }
    roots
}

/// Flags for a program without a C library.
pub const BARE: [&str; 8] = [
    "-O1",
    "-nostdlib",
    "-fno-pie",
    "-no-pie",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-ffreestanding",
    "-fno-tree-loop-distribute-patterns",
];

/// Flags for tests/programs/firmware.c: code at 0, data in the memory of a Cortex-M3.
pub const FIRMWARE: [&str; 14] = [
    BARE[0],
    BARE[1],
    BARE[2],
    BARE[3],
    BARE[4],
    BARE[5],
    BARE[6],
    BARE[7],
    "-mcpu=cortex-m3",
    "-mthumb",
    "-mfloat-abi=soft",
    "-fno-unwind-tables",
    "-Wl,--section-start=.vectors=0,-Ttext=0x100,-Tdata=0x20000000,-Tbss=0x20001000",
    "-Wl,-e,reset,--build-id=none",
];

/// Compiles a program of tests/programs statically; false where that is not possible.
pub fn compile(compiler: &str, program: &str, flags: &[&str], output: &Path) -> bool {
    have(compiler) && {
        let source = repository(&format!("tests/programs/{program}"));
        make(compiler, &source, &[&["-static"], flags].concat(), output);
        true
    }
}

/// Compiles a file.
pub fn make(compiler: &str, source: &Path, flags: &[&str], output: &Path) {
    let ran = Command::new(compiler)
        .current_dir(repository(""))
        .arg("-g")
        .args(flags)
        .arg("-o")
        .arg(output)
        .arg(source)
        .args((compiler != "rustc" && !flags.contains(&"-nostdlib")).then_some("-lm"))
        .output()
        .expect("compiler runs");
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{compiler} {flags:?} {}: {error}", source.display());
}

/// Records a program with lackey.
pub fn lackey(program: &Path, log: &Path) {
    let ran = Command::new("valgrind")
        .args(["--vex-guest-chase=no", "--tool=lackey", "--trace-mem=yes"])
        .arg(format!("--log-file={}", log.display()))
        .arg(program)
        .output();
    ran.expect("valgrind runs");
}

/// A program of tests/programs, compiled statically and recorded with lackey by the first test that
/// asks for it: program and log.
pub fn recording(source: &str, compiler: &str, flags: &[&str]) -> Option<[PathBuf; 2]> {
    if !have("valgrind") || !have(compiler) {
        return None;
    }
    let name = format!("{source}-{compiler}{}", flags.concat()).replace('/', "_");
    let elf = shared(&name, |elf| {
        let source = repository(&format!("tests/programs/{source}"));
        let rust = ["-C", "target-feature=+crt-static", "-C", "relocation-model=static"];
        let fixed = if compiler == "rustc" { &rust[..] } else { &["-static"] };
        make(compiler, &source, &[fixed, flags].concat(), elf);
    });
    let log = shared(&format!("{name}.log"), |log| lackey(&elf, log));
    Some([elf, log])
}

/// Runs a program in QEMU with a log of its registers, an instruction a block.
pub fn qemu(emulator: &str, elf: &Path, log: &Path) -> Output {
    let help = Command::new(emulator).arg("-h").output().expect("qemu runs");
    let new = String::from_utf8_lossy(&help.stdout).contains("one-insn-per-tb");
    // A processor without SVE, of which the decoder has no model.
    let processor: &[&str] =
        if emulator.ends_with("qemu-aarch64") { &["-cpu", "cortex-a72"] } else { &[] };
    Command::new(emulator)
        .args(processor)
        .arg(if new { "-one-insn-per-tb" } else { "-singlestep" })
        .args(["-d", "nochain,cpu,in_asm", "-D"])
        .arg(log)
        .arg(elf)
        .output()
        .expect("qemu runs")
}
