//! What builds may take of memory, whatever their inputs say.

use crate::common::xray::{Buffer, Op, Style};
use crate::common::*;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Output;

/// Runs the program in an address space of so many MiB.
fn within(mib: u64, arguments: &[&str]) -> Output {
    let mut command = command(arguments);
    // SAFETY: setrlimit may be called between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: mib << 20, rlim_max: mib << 20 };
            libc::setrlimit(libc::RLIMIT_AS, &limit);
            Ok(())
        });
    }
    command.output().expect("addfg runs")
}

fn compressed(path: &Path, pieces: impl Iterator<Item = Vec<u8>>) {
    use std::io::Write;
    let file = std::fs::File::create(path).unwrap();
    let mut packed = zstd::Encoder::new(file, 3).unwrap();
    pieces.for_each(|piece| packed.write_all(&piece).unwrap());
    packed.finish().unwrap();
}

/// Small files that become large, or that claim to: each took 4 to 12 GB.
#[test]
fn four_gib_of_addresses_are_enough() {
    let scratch = Scratch::new("bombs");
    let megabyte = |text: &str| text.repeat((1 << 20) / text.len()).into_bytes();
    let objects =
        std::iter::once(b"{\"MAJOR_VERSION\":1,\"MINOR_VERSION\":0,\"PROCESSES\":[{}".to_vec())
            .chain((0..60).map(|_| megabyte(",{\"a\":1}")));
    compressed(&scratch.path("objects.zst"), objects);
    let zeros =
        |head: Vec<u8>, mib| std::iter::once(head).chain((0..mib).map(|_| vec![0; 1 << 20]));
    let style = Style { version: 5, big: false, high: false };
    compressed(&scratch.path("xray.zst"), zeros(style.header(1), 1800));
    let line = b"==1== Lackey, an example Valgrind tool\nI  04000000,3\n".to_vec();
    compressed(&scratch.path("line.zst"), zeros(line, 200));
    for name in ["objects.zst", "xray.zst", "line.zst"] {
        let (input, db) = (scratch.path(name), scratch.path("db"));
        let elf = repository("examples/fir/fir");
        let arguments = ["build", utf8(&input), "--elf", utf8(&elf), "-o", utf8(&db)];
        let output = within(4096, &arguments);
        let said = said(&output);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{name}: {:?} {said}", output.status);
        assert!(!said.contains("want of memory") && !said.contains("panic"), "{name}: {said}");
        let _ = std::fs::remove_file(db);
    }
}

#[test]
fn the_address_space_is_a_limit() {
    let scratch = Scratch::new("addresses");
    let (log, elf) = (repository("examples/jpeg/jpeg.log.xz"), repository("examples/jpeg/jpeg"));
    let db = scratch.path("db");
    let arguments = ["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&db)];
    let output = within(4096, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    std::fs::remove_file(&db).unwrap();
    // Memory is looked at now and then: so short a build may end before that, which is no mistake.
    let output = within(400, &arguments);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 2)), "{:?} {}", output.status, said(&output));
    assert_eq!(db.exists(), code == Some(0));
}

/// It failed in the 38 MiB that DuckDB was given.
#[test]
fn a_log_of_many_functions_is_loaded() {
    let scratch = Scratch::new("many-functions");
    let style = Style { version: 5, big: false, high: false };
    let functions = 1..400_001;
    let ops = functions.flat_map(|f| [Op::Enter(f, 1), Op::Exit(f, 1)]).collect();
    let buffer = Buffer { pid: 1, tid: 1, wall: 0, cpu: 0, tsc: 1, ops };
    let log = scratch.write("log.xray", style.log(&[buffer]));
    let db = scratch.path("db");
    let output = addfg(&["build", utf8(&log), "-o", utf8(&db)]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
    assert_eq!(csv(&db, "SELECT count(*) AS n FROM function_symbol"), "n\n400000\n");
}

/// An ELF file of some hundred KB with a section of 900 MiB took 1.9 GB.
#[test]
fn sections_are_unpacked_within_the_limit() {
    let scratch = Scratch::new("sections");
    if !have("gcc") || !have("objcopy") {
        return;
    }
    let source = scratch.write("a.c", "int main(void) { return 0; }\n");
    let (plain, packed) = (scratch.path("plain"), scratch.path("packed"));
    let mut gcc = std::process::Command::new("gcc");
    let made = gcc.arg("-g").arg(&source).arg("-o").arg(&plain);
    assert!(made.status().expect("gcc runs").success());
    // GNU's older way, which objcopy takes as it is: a name with a z, and the size before the bytes.
    let zeros = scratch.path("zeros");
    let mut bytes = b"ZLIB".to_vec();
    bytes.extend((400_u64 << 20).to_be_bytes());
    let mut zlib = flate2::write::ZlibEncoder::new(bytes, flate2::Compression::fast());
    for _ in 0..400 {
        std::io::Write::write_all(&mut zlib, &[0; 1 << 20]).unwrap();
    }
    std::fs::write(&zeros, zlib.finish().unwrap()).unwrap();
    let section = format!("--add-section=.zdebug_str={}", zeros.display());
    let mut objcopy = std::process::Command::new("objcopy");
    objcopy.args(["--remove-section=.debug_str", &section]).arg(&plain).arg(&packed);
    assert!(objcopy.status().expect("objcopy runs").success());
    assert!(packed.metadata().unwrap().len() < 4 << 20);
    let log = repository("examples/fir/fir.log.xz");
    let db = scratch.path("db");
    let build = ["build", utf8(&log), "--elf", utf8(&packed), "-o", utf8(&db), "--memory-limit"];
    let words = ["packed", "400 MiB", "raise --memory-limit", "objcopy --strip-debug"];
    refused(&[&build[..], &["300"]].concat(), &words);
    // With room for it once, and not twice: what is wrong then is the program.
    let output = within(1000, &[&build[..], &["900"]].concat());
    assert!(
        !said(&output).contains("debugging sections") && !said(&output).contains("want of memory"),
        "{}",
        said(&output)
    );
}

#[test]
fn no_threads_are_no_number_of_threads() {
    let scratch = Scratch::new("jobs");
    let log = repository("examples/fir/fir.log.xz");
    let db = scratch.path("db");
    for jobs in ["0", "5000", "-1", "x"] {
        let jobs = format!("--jobs={jobs}");
        let words = ["--jobs"];
        refused(&["build", utf8(&log), "-o", utf8(&db), &jobs], &words);
    }
}
