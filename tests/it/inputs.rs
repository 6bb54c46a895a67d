//! Broken, wrong and hostile inputs: a clear message, the right exit code, no half-made database.

use crate::common::xray::{Buffer, Op, Style};
use crate::common::{self, *};
use std::path::Path;

fn fir_log() -> Vec<u8> {
    let mut text = Vec::new();
    let file = std::fs::File::open(repository("examples/fir/fir.log.xz")).unwrap();
    std::io::Read::read_to_end(&mut liblzma::read::XzDecoder::new(file), &mut text).unwrap();
    text
}

/// Builds from a log with these bytes; gives exit code and standard error.
fn build(folder: &Scratch, name: &str, log: &[u8], elf: &Path, more: &[&str]) -> (i32, String) {
    let path = folder.write(name, log);
    common::build(&folder.path("out.duckdb"), &[&path], &[&["--elf", utf8(elf)], more].concat())
}

fn files(folder: &Scratch) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn refused_inputs_leave_nothing() {
    let folder = Scratch::new("refused");
    let elf = repository("examples/fir/fir");
    let garbage: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect();
    for (name, log, words) in [
        ("empty.log", &b""[..], &["empty.log", "empty file"][..]),
        (
            "garbage.log",
            &garbage[..],
            &["garbage.log", "not a trace in any format", "addfg formats"],
        ),
        (
            "text.log",
            b"Dear reader,\nthis is not a trace.\n",
            &["text.log", "Dear reader", "addfg formats"],
        ),
        ("banner.log", b"==1== Lackey\n==1== done\n", &["banner.log"]),
    ] {
        let (code, error) = build(&folder, name, log, &elf, &[]);
        assert_eq!(code, 2, "{name}: {error}");
        for word in words {
            assert!(error.contains(word), "{name}: {error}");
        }
        assert_eq!(files(&folder), [name], "nothing half-made");
        std::fs::remove_file(folder.path(name)).unwrap();
    }
}

#[test]
fn wrong_elf_is_refused() {
    let folder = Scratch::new("wrong-elf");
    let log = String::from_utf8(fir_log()).unwrap().replace("I  0040", "I  0990");
    let (code, error) =
        build(&folder, "fir.log", log.as_bytes(), &repository("examples/fir/fir"), &[]);
    assert_eq!(code, 2, "{error}");
    assert!(
        error.contains("fall in no function of") && error.contains("--elf FILE@ADDRESS"),
        "{error}"
    );
    assert_eq!(files(&folder), ["fir.log"]);
    let (code, error) =
        build(&folder, "fir.log", &fir_log(), &repository("examples/fir/fir.c"), &[]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("fir.c is not an ELF file"), "{error}");
}

/// It was built with exit code 0, all its instructions but a few undecoded.
#[test]
fn an_elf_of_another_program_or_build_is_refused() {
    let folder = Scratch::new("other-elf");
    let example = |name: &str| repository(&format!("examples/{name}"));
    let output = folder.path("out.duckdb");
    // The same program with its code a byte further.
    let mut other = std::fs::read(example("fir/fir")).unwrap();
    other[0x1000..0x110d].rotate_right(1);
    let other = folder.write("other-fir", other);
    for (log, elf, words) in [
        ("jpeg/jpeg.log.xz", example("fir/fir"), "are not in"),
        ("fir/fir.log.xz", example("jpeg/jpeg"), "are not in"),
        ("fir/fir.log.xz", other, "are not in"),
    ] {
        let log = example(log);
        let arguments = ["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&output)];
        refused(&arguments, &[words, "another build", "--force-elf"]);
        assert!(!output.exists());
        let forced = addfg(&[&arguments[..], &["--force-elf", "--detail", "summary"]].concat());
        assert_eq!(forced.status.code(), Some(1), "{}", said(&forced));
        std::fs::remove_file(&output).unwrap();
    }
}

/// Formats that have no instructions compare what they have.
#[test]
fn an_elf_of_another_build_is_refused_by_graphs_and_numbers() {
    let folder = Scratch::new("other-elf-tables");
    let (dcfg, output) = (folder.path("dcfg"), folder.path("out.duckdb"));
    ok(&["export", utf8(&example("jpeg", "pairs")), "--to", "dcfg", "-o", utf8(&dcfg)]);
    let mut other = std::fs::read(repository("examples/jpeg/jpeg")).unwrap();
    let half = other.len() / 2;
    other[0x1000..half].rotate_right(1);
    let other = folder.write("jpeg", other);
    let graph = dcfg.join("run.dcfg.json");
    let mut logs = vec![(graph, other, "blocks have other instructions")];
    if have("objcopy") {
        // A map of two functions: places count from where they stand.
        let entry = |at: i64, function: i64| {
            let mut entry = [0_u8; 32];
            entry[..8].copy_from_slice(&(function - at).to_le_bytes());
            entry[8..16].copy_from_slice(&(function - at - 8).to_le_bytes());
            entry[18] = 2;
            entry
        };
        let map = folder.write("map", [entry(0, 0x40_1000), entry(32, 0x40_1010)].concat());
        let elf = folder.path("with-map");
        let section = format!("xray_instr_map={}", map.display());
        let fir = repository("examples/fir/fir");
        let run = std::process::Command::new("objcopy")
            .args(["--add-section", &section, utf8(&fir), utf8(&elf)])
            .status();
        assert!(run.unwrap().success());
        let ops = (1..41).flat_map(|f| [Op::Enter(f, 1), Op::Exit(f, 1)]).collect();
        let buffer = Buffer { pid: 1, tid: 1, wall: 0, cpu: 0, tsc: 1, ops };
        let log =
            folder.write("log.xray", Style { version: 5, big: false, high: false }.log(&[buffer]));
        logs.push((log, elf, "38 of 40 functions that ran are not in"));
    }
    for (log, elf, words) in logs {
        let arguments = ["build", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&output)];
        refused(&arguments, &[words, "another build", "--force-elf"]);
        let forced = addfg(&[&arguments[..], &["--force-elf"]].concat());
        assert!(matches!(forced.status.code(), Some(0 | 1)), "{}", said(&forced));
        std::fs::remove_file(&output).unwrap();
    }
}

/// "a number for path_frame.line does not fit INTEGER" ended the build.
#[test]
fn a_line_beyond_all_columns_loses_a_record_only() {
    let folder = Scratch::new("lines");
    let number = "2147483648";
    for (name, from, to) in [
        ("csi/good.frames", "main:20:", "main:2147483648:"),
        ("csi/good.debug_PT", "|13\n", "|2147483648\n"),
        ("wet/good-comprehensive.wet", " sum.c sum 3", " sum.c sum 2147483648"),
    ] {
        let text = std::fs::read_to_string(repository("tests/formats").join(name)).unwrap();
        let damaged = text.replacen(from, to, 1);
        assert!(damaged.contains(number), "{name}");
        let (log, db) = (folder.write("log", damaged), folder.path("out.duckdb"));
        let output = addfg(&["build", utf8(&log), "-o", utf8(&db), "--force"]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {}", said(&output));
    }
}

/// They ended in "Error code 1: Unknown error code".
#[test]
fn messages_of_duckdb_say_what_to_do() {
    let folder = Scratch::new("duckdb-says");
    let db = folder.copy(&example("fir", "pairs"), "db.duckdb");
    let mut bytes = std::fs::read(&db).unwrap();
    bytes[80_000..240_000].fill(0);
    let damaged = folder.write("damaged.duckdb", &bytes);
    let cut = folder.write("cut.duckdb", &bytes[..70_000]);
    for (arguments, words) in [
        (&["sql", utf8(&db), "SELEC 1"][..], "syntax error"),
        (&["sql", utf8(&db), "FROM nothing"], "does not exist"),
        (&["sql", utf8(&db), " ; "], "there is no query"),
        (&["info", utf8(&damaged)], "build it again"),
        (&["graph", utf8(&cut)], "build it again"),
    ] {
        let said = refused(arguments, &[words]);
        assert!(!said.contains("Error code"), "{said}");
    }
}

#[test]
fn truncated_and_damaged_logs_load_up_to_the_damage() {
    let folder = Scratch::new("damaged");
    let elf = repository("examples/fir/fir");
    let log = fir_log();
    let (code, error) = build(&folder, "cut.log", &log[..log.len() / 2 + 3], &elf, &[]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("cut.log:") && error.contains("ends within a line"), "{error}");
    let steps: i64 =
        rows(&folder.path("out.duckdb"), "SELECT count(*) FROM opcode_line")[0].parse().unwrap();
    assert!((150..300).contains(&steps), "{steps}");
    let (code, error) =
        build(&folder, "cut.log", &log[..log.len() / 2 + 3], &elf, &["--force", "--strict"]);
    assert_eq!(code, 2, "{error}");
    assert!(folder.path("out.duckdb").exists(), "a refused build leaves the old database");
    let after: i64 =
        rows(&folder.path("out.duckdb"), "SELECT count(*) FROM opcode_line")[0].parse().unwrap();
    assert_eq!(after, steps);

    let lines: Vec<&[u8]> = log.split_inclusive(|&b| b == b'\n').collect();
    let mut bad = lines[..60].concat();
    bad.extend(b"I  zzz,4\n S 12,\nwhat\n");
    bad.extend(lines[60..].concat());
    let (code, error) = build(&folder, "bad.log", &bad, &elf, &["--force"]);
    assert_eq!(code, 1, "{error}");
    assert!(error.contains("bad.log:61:") && error.contains("(3 times)"), "{error}");
    let steps = rows(&folder.path("out.duckdb"), "SELECT count(*) FROM opcode_line");
    assert_eq!(steps, ["401"]);
    let row = rows(&folder.path("out.duckdb"), "SELECT severity, code, count FROM diagnostic");
    assert_eq!(row, ["error,malformed-line,3"]);
}

#[test]
fn an_existing_database_is_not_overwritten() {
    let folder = Scratch::new("exists");
    std::fs::write(folder.path("out.duckdb"), "mine").unwrap();
    let (code, error) = build(&folder, "fir.log", &fir_log(), &repository("examples/fir/fir"), &[]);
    assert_eq!(code, 2);
    assert!(error.contains("--force"), "{error}");
    assert_eq!(std::fs::read(folder.path("out.duckdb")).unwrap(), b"mine");
    let none = "neither a DuckDB nor a SQLite database";
    refused(&["info", utf8(&folder.path("out.duckdb"))], &[none]);
}

/// Compression, the number of jobs and line ends have no influence on what is in the database.
#[test]
fn the_same_contents_however_it_is_read() {
    let folder = Scratch::new("same");
    let elf = repository("examples/jpeg/jpeg");
    let packed = repository("examples/jpeg/jpeg.log.xz");
    let mut text = Vec::new();
    let file = std::fs::File::open(&packed).unwrap();
    std::io::Read::read_to_end(&mut liblzma::read::XzDecoder::new(file), &mut text).unwrap();
    let crlf = String::from_utf8(text.clone()).unwrap().replace('\n', "\r\n");
    std::fs::write(folder.path("plain.log"), &text).unwrap();
    std::fs::write(folder.path("crlf.log"), crlf).unwrap();
    let mut contents = Vec::new();
    for (log, jobs) in [
        (packed, "1"),
        (folder.path("plain.log"), "1"),
        (folder.path("plain.log"), "3"),
        (folder.path("crlf.log"), "2"),
    ] {
        let db = folder.path("a.duckdb");
        load(&log, &elf, &db, &["--jobs", jobs]);
        let mut all = Vec::new();
        for table in [
            "block_run",
            "block_step",
            "block_access",
            "instruction",
            "function_symbol",
            "function_call",
            "communication_row",
            "communication_kind",
            "saved_register",
            "control_flow",
            "dataflow",
            "function_edge",
            "instruction_edge",
            "call_edge",
            "function_profile",
            "region",
            "variable",
            "section",
        ] {
            let sql = format!(
                "SELECT '{table}', count(*), bit_xor(hash(t::VARCHAR)), sum(hash(t::VARCHAR)) FROM {table} t"
            );
            all.extend(rows(&db, &sql));
        }
        contents.push(all);
    }
    for other in &contents[1..] {
        assert_eq!(&contents[0], other);
    }
}

#[test]
fn formats_are_listed_and_other_files_refused() {
    assert!(ok(&["formats"]).contains("lackey"));
    let none = "neither a DuckDB nor a SQLite database";
    refused(&["graph", utf8(&repository("Cargo.toml"))], &[none]);
}

/// Of a layout: a register that is written without its value is unknown then, and what an item is
/// not asked to be where its `when` does not hold is told, as is an access in the wrong direction.
#[test]
fn a_layout_that_does_not_fit_is_told() {
    let scratch = Scratch::new("layout-told");
    let begin = "isa = \"arm\"\npattern = \"{pc} {opcode} {text} : {items}\"\n";
    let layout = scratch.write(
        "values.toml",
        format!("{begin}[[item]]\nkind = \"write\"\npattern = \"{{name}}={{value}}\"\n"),
    );
    let log = scratch.write(
        "values.log",
        "8000 e3a00a09 mov : r0=00009000\n8004 e3a01005 mov : r1=00000005\n8008 e5801000 str : -\n\
         800c e3a00a0a mov : -\n8010 e5801000 str : -\n8014 e3a00a0a mov : r0=0000a000\n8018 e5801000 str : -\n",
    );
    let built = |log: &Path, layout: &Path| {
        build_in(&scratch, &[log], &["--detail", "full", "--layout", utf8(layout)])
    };
    let stores =
        "SELECT seq, is_write, address FROM data_access WHERE space = 'memory' ORDER BY seq";
    let (code, error, db) = built(&log, &layout);
    assert!(code == 1 && error.contains("cannot compute what `str r1,[r0,"), "{code}: {error}");
    assert_eq!(rows(&db, stores), ["3,true,36864", "7,true,40960"]);

    let layout = scratch.write(
        "when.toml",
        format!(
            "{begin}[[item]]\nkind = \"store\"\npattern = \"A={{address}}\"\nsize = 4\nwhen = {{ text = [\"str\", \"l\"] }}\n\
             [[item]]\nkind = \"load\"\npattern = \"L={{address}}\"\nsize = 4\n"
        ),
    );
    let log = scratch.write(
        "when.log",
        "8000 e5801000 str : A=9000\n8004 e5902000 ldr : A=9000\n8008 e5903000 pld : A=9000\n",
    );
    let (_, error, db) = built(&log, &layout);
    assert!(
        error.contains("says that `ldr r2,[r0") && error.contains("which only loads"),
        "{error}"
    );
    assert!(error.contains("`A=9000` fits only items whose `when` does not hold"), "{error}");
    let unused = rows(&db, "SELECT severity, message FROM diagnostic WHERE code = 'item-unused'");
    assert_eq!(unused, ["info,[[item]] 2 of the layout file fits nothing in the log"]);
}
