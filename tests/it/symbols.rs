//! Programs without symbols: what is said of them, and that their graphs are those of the program
//! as it was.

use crate::common::*;
use std::path::Path;
use std::process::Command;

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.code().is_some_and(|c| c < 128), "{command:?}: {output:?}");
}

/// Edges with the addresses of functions instead of their names.
fn edges(db: &Path) -> Vec<String> {
    let end = |f: &str| format!("coalesce({f}.address::VARCHAR, {f}.name)");
    let sql = format!(
        "SELECT {}, {}, via, bytes, unique_bytes, addresses, transfers FROM function_edge e \
         JOIN function_symbol w ON w.function_id = writer_function_id \
         JOIN function_symbol r ON r.function_id = reader_function_id ORDER BY ALL",
        end("w"),
        end("r")
    );
    rows(db, &sql)
}

/// A function without a name is told by what it calls; with debuginfod it has its name.
#[test]
fn nameless_functions_are_told_by_callees_or_debuginfod() {
    if !["gcc", "objcopy", "valgrind", "pkg-config"].iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("nameless");
    let (elf, bare) = (scratch.path("words"), scratch.path("bare"));
    let source = repository("tests/programs/words.c");
    run(Command::new("gcc").args(["-O1", "-g", "-Wl,--build-id", "-o", utf8(&elf), utf8(&source)]));
    run(Command::new("objcopy").args(["-S", utf8(&elf), utf8(&bare)]));
    let debug = scratch.path("its.debug");
    run(Command::new("objcopy").args(["--only-keep-debug", utf8(&elf), utf8(&debug)]));
    let record = |db: &Path, urls: &str| {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new(env!("CARGO_BIN_EXE_addfg"))
            .args(["record", "-q", "--detail", "summary", "-o", utf8(db), "--", utf8(&bare)])
            .env("ADDFG_RECORDERS", repository("recorders"))
            .env("PATH", format!("{}:{path}", scratch.0.display()))
            .env("DEBUGINFOD_URLS", urls)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    let (plain, named) = (scratch.path("plain.duckdb"), scratch.path("named.duckdb"));
    let names = "SELECT name FROM function_symbol WHERE owner = 'program' AND kind = 'function' ORDER BY ALL";
    // As debuginfod-find prints the file that it has fetched for a build id.
    let tool = scratch.write(
        "debuginfod-find",
        format!(
            "#!/bin/sh\nid=$(readelf -n '{}' | sed -n 's/.*Build ID: //p')\n[ \"$1 $2\" = \"debuginfo $id\" ] && echo '{}'\n",
            bare.display(),
            debug.display()
        ),
    );
    run(Command::new("chmod").args(["+x", utf8(&tool)]));
    record(&plain, "");
    assert!(
        rows(&plain, names).iter().all(|name| !name.contains("main")),
        "{:?}",
        rows(&plain, names)
    );
    let text = ok(&["graph", utf8(&plain), "--format", "json", "--top", "1000"]);
    let graph: serde_json::Value = serde_json::from_str(&text).unwrap();
    let told = graph["nodes"].as_array().unwrap().iter().filter(|node| {
        node["name"].as_str().unwrap().contains("bare+0x")
            && node["text"][0].as_str().is_some_and(|text| text.starts_with("calls "))
    });
    assert!(told.count() > 0, "{text}");
    record(&named, "https://debuginfod.invalid");
    assert!(rows(&named, names).contains(&"main".to_owned()), "{:?}", rows(&named, names));
}

#[test]
fn a_stripped_program_has_the_graph_of_its_unwind_table() {
    let tools = ["gcc", "objcopy", "valgrind"];
    if !tools.iter().all(|tool| have(tool)) {
        return;
    }
    let scratch = Scratch::new("symbols");
    let (elf, bare, log) = (scratch.path("fir"), scratch.path("bare"), scratch.path("log"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-g", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector"]);
    gcc.args(["-fcf-protection=none", "-fno-tree-loop-distribute-patterns", "-Wl,--build-id=none"]);
    run(gcc
        .arg("-fasynchronous-unwind-tables")
        .args(["-o", utf8(&elf)])
        .arg(repository("examples/fir/fir.c")));
    run(Command::new("objcopy").args(["-S", utf8(&elf), utf8(&bare)]));
    run(Command::new("valgrind")
        .args(["--vex-guest-chase=no", "--tool=lackey", "--trace-mem=yes"])
        .arg(format!("--log-file={}", log.display()))
        .arg(&elf));
    let whole = scratch.path("whole.duckdb");
    load(&log, &elf, &whole, &[]);
    let (code, said, db) = build_in(&scratch, &[&log], &["--elf", utf8(&bare)]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(edges(&db), edges(&whole));
    let names = "SELECT count(*) FILTER (name SIMILAR TO 'bare\\+0x[0-9a-f]+'), \
                 count(*) FILTER (name LIKE '<unknown%') FROM function_symbol";
    assert_eq!(rows(&db, names), ["7,0"]);
    let noted = "SELECT severity, code, message FROM diagnostic WHERE code LIKE 'functions%'";
    let noted = rows(&db, noted);
    assert!(noted.len() == 1 && noted[0].starts_with("info,functions-without-names,"), "{noted:?}");
    assert!(noted[0].contains("7 of 7 functions of"), "{noted:?}");

    // Without an unwind table nothing is known.
    run(Command::new("objcopy").args(["-R", ".eh_frame", utf8(&bare)]));
    let (_, said, db) = build_in(&scratch, &[&log], &["--elf", utf8(&bare)]);
    assert!(said.contains("its functions are one, <unknown>"), "{said}");
    assert_eq!(rows(&db, "SELECT code FROM diagnostic WHERE code = 'stripped'"), ["stripped"]);

    // With its debug file beside it, it is the program.
    run(Command::new("objcopy")
        .args(["--only-keep-debug", utf8(&elf), "its.debug"])
        .current_dir(&scratch.0));
    run(Command::new("objcopy")
        .args(["-S", "--add-gnu-debuglink=its.debug", utf8(&elf), utf8(&bare)])
        .current_dir(&scratch.0));
    let (_, _, db) = build_in(&scratch, &[&log], &["--elf", utf8(&bare)]);
    let same =
        "SELECT name, symbol, kind, address, size, file_id FROM function_symbol ORDER BY ALL";
    assert_eq!(rows(&db, same), rows(&whole, same));
    assert_eq!(edges(&db), edges(&whole));
}
