//! What the recorder sums while a program runs is what the pass makes of the recording of the same run: each row of
//! function_profile, call_edge, stack_profile, function_dataflow, stack_edge and thread.

use crate::common::{
    Scratch, addfg, command, have, make, ok, repository, said, seeds, skipped, utf8,
};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::Duration;

/// A program of tests/programs; None, said why, where it cannot be recorded here.
pub fn program(scratch: &Scratch, name: &str) -> Option<PathBuf> {
    let runs_here = cfg!(target_arch = "x86_64") && have("valgrind") && have("pkg-config");
    let compiler = if name.ends_with(".cc") { "g++" } else { "gcc" };
    if !runs_here || !have(compiler) {
        return None;
    }
    let (source, to) = (repository(&format!("tests/programs/{name}")), scratch.path("program"));
    let mut compile = Command::new(compiler);
    compile
        .args(["-O1", "-g", "-w", "-pthread"])
        .arg(source)
        .arg("-o")
        .arg(&to)
        .args(["-ldl", "-lm"]);
    assert!(compile.status().expect("compiler").success(), "{name}");
    Some(to)
}

/// Records with sums, and compares.
pub fn compared(scratch: &Scratch, run: &[&str]) -> Output {
    compared_with(scratch, run, &[], "")
}

/// With more options of addfg's and of valgrind's.
pub fn compared_with(scratch: &Scratch, run: &[&str], more: &[&str], options: &str) -> Output {
    let (db, sums) = (scratch.path("run.duckdb"), scratch.path("sums"));
    let to = ["--force", "-o", utf8(&db), "--sums", utf8(&sums), "--check-sums"];
    let all = [&["record", "-q", "--detail", "summary"], &to[..], more, &["--"], run].concat();
    // Some programs make files where they are run.
    command(&all)
        .env("VALGRIND_OPTS", options)
        .current_dir(&scratch.0)
        .output()
        .expect("addfg runs")
}

/// Lines that say that something differs, or is not exact.
pub fn differences(output: &Output) -> Vec<String> {
    let is_equal = |line: &&str| line.contains(", 0 differ;");
    said(output).lines().filter(|line| !is_equal(line)).map(str::to_owned).collect()
}

/// How many tables were compared.
pub fn tables(output: &Output) -> usize {
    said(output).lines().filter(|line| line.contains(" rows equal")).count()
}

/// All of them; those without `stack_edge`, where several contexts count as one.
const ALL: usize = 6;
const WITHOUT_CONTEXTS: usize = ALL - 1;

fn agrees(name: &str, arguments: &[&str]) {
    let scratch = Scratch::new("sums");
    let Some(program) = program(&scratch, name) else { return };
    let run = [&[utf8(&program)], arguments].concat();
    let output = compared(&scratch, &run);
    assert_eq!(differences(&output), [""; 0], "{name}");
    assert_eq!(tables(&output), ALL, "{name}: {}", said(&output));
}

/// Descriptors are open on other files all the time: what the kernel reads and writes has the names of then.
#[test]
fn what_the_kernel_takes_has_the_names_of_files_that_come_and_go() {
    for seed in seeds(2) {
        for how in ["-", "t", "a", "ta"] {
            agrees("reopened.c", &[seed.to_string().as_str(), how]);
        }
    }
}

/// A program that becomes another one is not what was asked for: sums that said nothing passed for those of that.
#[test]
fn what_is_not_followed_is_said_as_by_a_build() {
    let scratch = Scratch::new("sums-said");
    let Some(tree) = program(&scratch, "tree.c") else { return };
    let other = Scratch::new("sums-mapped");
    let Some(mapped) = program(&other, "mapped_code.c") else { return };
    let codes = "('exec', 'vfork', 'io-uring', 'image-not-loaded')";
    let sql = format!("SELECT code, message FROM diagnostic WHERE code IN {codes} ORDER BY ALL");
    let said_of = |run: &[&str], more: &[&str]| {
        let db = scratch.path("said.duckdb");
        let all = [&["record", "--force", "-q", "-o", utf8(&db)], more, &["--"], run].concat();
        let output = command(&all).current_dir(&scratch.0).output().expect("addfg runs");
        assert_ne!(output.status.code(), Some(2), "{run:?}: {}", said(&output));
        rows(&db, &sql)
    };
    let mut all = Vec::new();
    let programs = [
        &["env", "true"][..],
        // It fails once, and then does not.
        &["env", "PATH=/nowhere:/usr/bin:/bin", "true"],
        &["sh", "-c", "exec /nowhere"],
        &[utf8(&tree)],
        &[utf8(&mapped)],
    ];
    for run in programs {
        let of_build = said_of(run, &[]);
        assert_eq!(said_of(run, &["--no-steps"]), of_build, "{run:?}");
        all.extend(of_build);
    }
    let times = |code: &str| all.iter().filter(|row| row.starts_with(code)).count();
    let found = ["exec,", "vfork,", "image-not-loaded,"].map(times);
    assert_eq!(found, [2, 1, 1], "{all:?}");
    // All of them are recorded then.
    assert_eq!(said_of(&["env", "true"], &["--no-steps", "--follow"]), [""; 0]);
}

/// Saves and restores of registers at each depth of a recursion.
#[test]
fn recursion_agrees() {
    agrees("recursion.c", &[]);
}

#[test]
fn tail_calls_and_jumps_out_of_functions_agree() {
    agrees("tail.c", &[]);
    agrees("longjmp.c", &[]);
}

/// Vectors, x87 registers of ten bytes, parts of registers.
#[test]
fn parts_of_registers_agree() {
    agrees("floats.c", &[]);
    agrees("strings.c", &[]);
}

#[test]
fn threads_agree() {
    agrees("threads.c", &[]);
    agrees("two_threads.c", &[]);
    agrees("ended.c", &[]);
}

#[test]
fn handlers_of_signals_agree() {
    agrees("signal.c", &[]);
    // Some come behind an indirect jump, which may go anywhere.
    agrees("timer.c", &[]);
}

#[test]
fn stacks_of_their_own_agree() {
    agrees("coroutines.c", &[]);
}

/// What a forked child does is nobody's: it does not say anything where its parent's sums go.
#[test]
fn children_leave_the_sums_of_their_parent() {
    agrees("inherited.c", &[]);
}

/// A process that becomes another program has sent its sums before. Where that does not come about it goes on.
#[test]
fn a_program_that_becomes_another_one_agrees() {
    agrees("family.c", &[]);
    agrees("execs.c", &[]);
    agrees("execs.c", &["exit 3"]);
    // How the other one ends is not how this one did.
    agrees("execs.c", &["kill -SEGV $$"]);
}

/// Unwinding leaves functions without a return.
#[test]
fn exceptions_agree() {
    agrees("exceptions.cc", &[]);
}

#[test]
fn code_that_comes_and_goes_agrees() {
    agrees("jit.c", &[]);
    agrees("unload.c", &[]);
}

/// A load that remembers a file meets another one at the same address.
#[test]
fn files_at_one_address_agree() {
    agrees("two_files.c", &[]);
}

/// What lies between the sections of an image is the file's, of which all was mapped first; and a write is one transfer
/// to the kernel, wherever its bytes lie.
#[test]
fn what_lies_at_the_borders_of_places_agrees() {
    agrees("places.c", &[]);
}

#[test]
fn memory_that_is_mapped_again_moves_or_is_dropped_agrees() {
    agrees("mapped.c", &[]);
}

/// An option of the recorder: numbers for functions in contexts.
fn few(numbers: u32) -> String {
    format!("--sums-numbers={numbers}")
}

/// Numbers of contexts that have left nothing are given to others.
#[test]
fn few_numbers_are_enough() {
    let programs = [
        ("recursion.c", 300),
        ("threads.c", 300),
        ("exceptions.cc", 500),
        ("coroutines.c", 300),
        ("signal.c", 300),
    ];
    for (name, numbers) in programs {
        let scratch = Scratch::new("sums-few");
        let Some(program) = program(&scratch, name) else { return };
        let output = compared_with(&scratch, &[utf8(&program)], &[], &few(numbers));
        assert_eq!(differences(&output), [""; 0], "{name}");
        assert_eq!(tables(&output), ALL, "{name}: {}", said(&output));
        let contexts = format!("SELECT count(*) > {numbers} FROM call_stack");
        assert_eq!(rows(&scratch.path("run.duckdb"), &contexts), ["true"], "{name}");
    }
}

/// Where contexts have left too much they count as one, which is said; functions are told apart.
#[test]
fn contexts_that_have_no_number_are_their_functions() {
    let scratch = Scratch::new("sums-merged");
    let Some(program) = program(&scratch, "containers.cc") else { return };
    let run = [utf8(&program)];
    let output = compared_with(&scratch, &run, &[], &few(250));
    assert_eq!(differences(&output), [""; 0]);
    assert_eq!(tables(&output), WITHOUT_CONTEXTS, "{}", said(&output));
    let db = scratch.path("alone.duckdb");
    let all = ["record", "-q", "--no-steps", "-o", utf8(&db), "--", run[0]];
    let output = command(&all).env("VALGRIND_OPTS", few(250)).output();
    assert!(output.expect("addfg runs").status.success());
    let merged = "SELECT count(*) FROM diagnostic WHERE code = 'contexts-merged'";
    assert_eq!(rows(&db, merged), ["1"]);
    // No flow is lost.
    let bytes = "SELECT (SELECT sum(bytes) FROM stack_edge) - (SELECT sum(bytes) FROM function_edge_folded)";
    assert_eq!(rows(&db, bytes), ["0"]);
}

/// As many functions as there are numbers are told apart, also where what one has left is only in a register, a part of one,
/// on the stack of another or around what was stored into it (`tests/programs/numbers.s`). One more is said.
#[test]
fn as_many_functions_as_there_are_numbers_agree() {
    let scratch = Scratch::new("sums-numbers");
    if !makes_wild() {
        return;
    }
    let source = std::fs::read_to_string(repository("tests/programs/numbers.s"));
    let source = source.expect("a program");
    for (all, tables_compared) in [(14, ALL), (15, WITHOUT_CONTEXTS)] {
        let program = scratch.path("numbers");
        assemble(&scratch.write("numbers.s", format!(".set ALL, {all}\n{source}")), &program);
        let output = compared_with(&scratch, &[utf8(&program)], &[], &few(16));
        let mut differ = differences(&output);
        let says = |line: &String| line.contains(" 1 functions beyond the 14,334");
        assert_eq!(differ.iter().any(says), all > 14, "{}", said(&output));
        differ.retain(|line| !says(line));
        assert_eq!(differ, [""; 0], "{all}");
        assert_eq!(tables(&output), tables_compared, "{all}: {}", said(&output));
    }
}

/// Functions that have left something, beyond those that there are numbers for.
#[test]
fn too_many_functions_are_said() {
    let scratch = Scratch::new("sums-full");
    let Some(program) = program(&scratch, "recursion.c") else { return };
    let output = compared_with(&scratch, &[utf8(&program)], &[], &few(60));
    assert!(said(&output).contains("that there is room for"), "{}", said(&output));
    assert!(!output.status.success());
}

/// More names of what the kernel writes than cells tell apart: it is said, and no byte is lost.
#[test]
fn too_many_files_are_said() {
    let scratch = Scratch::new("sums-files");
    let Some(program) = program(&scratch, "many_files.c") else { return };
    let db = scratch.path("run.duckdb");
    let to = ["record", "-q", "--no-steps", "-o", utf8(&db), "--", utf8(&program)];
    let output = command(&to).current_dir(&scratch.0).output().expect("addfg runs");
    assert!(said(&output).contains("that there is room for"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(1));
    let read = "SELECT sum(bytes), count(*) > 100 FROM function_dataflow WHERE reader = 'add' AND writer LIKE '%file-%'";
    assert_eq!(rows(&db, read), ["35200,true"]);
}

/// Memory does not grow with the run where stores go into the middle of older ones, each time at other places: some MB
/// more where links of what is overwritten stay.
#[test]
fn links_that_are_overwritten_are_free_again() {
    let scratch = Scratch::new("sums-links");
    let Some(program) = program(&scratch, "links.c") else { return };
    let output = compared(&scratch, &[utf8(&program), "9"]);
    assert_eq!(differences(&output), [""; 0]);
    let db = scratch.path("run.duckdb");
    let kilobytes = |rounds| -> u64 {
        let record = ["record", "-q", "--no-steps", "--force", "-o", utf8(&db), "--"];
        ok(&[&record[..], &[utf8(&program), rounds]].concat()).trim().parse().expect("KB")
    };
    let (few, many) = (kilobytes("3"), kilobytes("100"));
    assert!(many < few + 4000, "{few} KB, then {many}");
}

/// What docs/sums.md says that is not exact, in random programs.
const NOT_EXACT: [&str; 3] = [
    "conditional stores of registers",
    "stores into the middle of what",
    "writes into the middle of a vector",
];

/// A random program with more of what programs do: `tests/programs/wild.py` has the words.
pub fn wild(scratch: &Scratch, seed: u64, more: &[&str]) -> PathBuf {
    wild_of(scratch, seed, 16, more)
}

/// With functions of so many operations at most.
fn wild_of(scratch: &Scratch, seed: u64, operations: u32, more: &[&str]) -> PathBuf {
    let [source, program] = ["wild.s", "wild"].map(|name| scratch.path(name));
    let mut python = Command::new("python3");
    python
        .arg(repository("tests/programs/wild.py"))
        .args([&seed.to_string(), &operations.to_string()])
        .args(more);
    std::fs::write(&source, python.output().expect("python3").stdout).expect("written");
    assemble(&source, &program);
    program
}

/// Makes a program of assembly alone.
fn assemble(source: &Path, program: &Path) {
    let mut gcc = Command::new("gcc");
    gcc.args(["-nostdlib", "-static", "-no-pie", "-o"]).arg(program).arg(source);
    assert!(gcc.status().expect("gcc").success(), "{}", source.display());
}

pub fn makes_wild() -> bool {
    cfg!(target_arch = "x86_64")
        && ["valgrind", "pkg-config", "gcc", "python3"].into_iter().all(have)
}

/// The sums of random programs are those of the pass; `options`: valgrind's.
fn random(few: u64, more: &[&str], options: &str) {
    let scratch = Scratch::new(&format!("sums-random-{}", more.join("-")));
    if !makes_wild() {
        return;
    }
    let seeds = seeds(few);
    let mut exact = 0;
    for seed in &seeds {
        let program = wild(&scratch, *seed, more);
        let output = compared_with(&scratch, &[utf8(&program)], &[], options);
        if !NOT_EXACT.iter().any(|what| said(&output).contains(what)) {
            assert_eq!(differences(&output), [""; 0], "seed {seed}");
            assert!(output.status.success(), "seed {seed}: {}", said(&output));
            exact += 1;
        }
    }
    assert!(2 * exact >= seeds.len(), "{exact} of {}", seeds.len());
}

/// A random program of so many operations, its words, an option of valgrind's, and the tables.
struct Fixed(u64, u32, &'static [&'static str], &'static str, usize);

/// Programs that were chosen because they find the most mutants of the recorder (fuzz/recorder_mutants.py) in the time that
/// they take: all of them are summed exactly.
const FIXED: &[Fixed] = &[
    Fixed(30, 24, &["wide"], "", ALL),
    Fixed(1, 16, &["signals", "jumps"], "", ALL),
    Fixed(3, 16, &["threads", "memory"], "--sums-numbers=40", ALL),
    Fixed(20, 30, &["wide", "jumps"], "--sums-numbers=25", WITHOUT_CONTEXTS),
    Fixed(31, 24, &["wide", "memory"], "--snapshots=yes", ALL),
    Fixed(20, 40, &["wide"], "", ALL),
    Fixed(21, 12, &["wide", "threads", "crowd"], "", ALL),
    Fixed(21, 16, &["wide", "memory", "signals"], "--sums-numbers=24", WITHOUT_CONTEXTS),
    Fixed(22, 50, &[], "", ALL),
    Fixed(34, 20, &["wide", "jumps", "signals", "memory"], "", ALL),
    Fixed(33, 24, &["wide", "memory"], "--sums-numbers=24", WITHOUT_CONTEXTS),
    Fixed(35, 24, &["wide"], "--sums-numbers=30", WITHOUT_CONTEXTS),
    Fixed(2, 16, &["threads", "memory", "signals", "jumps", "marks"], "--snapshots=yes", ALL),
    Fixed(146, 16, &[], "", ALL),
];

/// Programs of each kind that `tests/programs/wild.py` makes.
const OF_EACH_KIND: &[Fixed] = &[
    Fixed(302, 50, &["stubs"], "", ALL),
    Fixed(301, 30, &["stubs"], "--sums-numbers=30", WITHOUT_CONTEXTS),
    Fixed(305, 50, &["stubs"], "", ALL),
    Fixed(303, 30, &["high", "tight"], "", ALL),
    Fixed(304, 50, &["high", "tight"], "--sums-numbers=30", ALL),
    Fixed(303, 50, &["high", "fed", "tight"], "--sums-numbers=24", ALL),
    Fixed(307, 16, &["high", "fed", "tight"], "", ALL),
    Fixed(301, 30, &["high", "memory", "signals", "jumps", "tight"], "", ALL),
    Fixed(
        306,
        16,
        &["high", "memory", "signals", "jumps", "tight"],
        "--sums-numbers=24",
        WITHOUT_CONTEXTS,
    ),
    Fixed(302, 30, &["threads", "tight", "memory"], "", ALL),
    Fixed(303, 50, &["threads", "tight", "memory"], "--sums-numbers=24", WITHOUT_CONTEXTS),
    Fixed(302, 50, &["tight", "memory"], "", ALL),
    Fixed(306, 16, &["tight", "memory"], "--sums-numbers=24", WITHOUT_CONTEXTS),
    Fixed(305, 50, &["tight", "memory"], "", ALL),
    Fixed(303, 30, &["fed"], "", ALL),
    Fixed(303, 50, &["fed", "marks"], "--snapshots=yes", ALL),
    Fixed(3, 50, &["fed"], "", ALL),
    Fixed(304, 30, &["fed"], "--sums-numbers=30", ALL),
    Fixed(305, 50, &["fed"], "", ALL),
    Fixed(305, 16, &["fed", "marks"], "--snapshots=yes", ALL),
    Fixed(308, 30, &["stubs", "fed"], "", ALL),
    Fixed(304, 30, &["fed", "tight"], "", ALL),
    Fixed(304, 16, &["fed", "wide"], "", ALL),
    Fixed(305, 50, &["stubs", "fed", "jumps"], "", ALL),
    Fixed(302, 16, &["threads", "peek"], "", ALL),
    Fixed(317, 24, &["threads", "peek"], "", ALL),
    Fixed(307, 50, &["tight", "wide"], "", ALL),
    Fixed(302, 16, &["tight", "wide"], "--sums-numbers=40", WITHOUT_CONTEXTS),
    Fixed(304, 50, &["tight", "wide"], "", ALL),
    Fixed(
        302,
        30,
        &["stubs", "memory", "tight", "signals", "jumps", "marks"],
        "--snapshots=yes",
        ALL,
    ),
    Fixed(
        303,
        50,
        &["stubs", "memory", "tight", "signals", "jumps", "marks"],
        "--snapshots=yes",
        ALL,
    ),
];

fn agree(scratch: &Scratch, programs: &[Fixed]) {
    if !makes_wild() {
        return;
    }
    for Fixed(seed, operations, words, option, compared) in programs {
        let program = wild_of(scratch, *seed, *operations, words);
        let output = compared_with(scratch, &[utf8(&program)], &[], option);
        let what = format!("seed {seed}, {words:?} {option}");
        let mut differ = differences(&output);
        // It may count otherwise, but does not here.
        let splits = |line: &String| line.contains(NOT_EXACT[2]);
        let success = output.status.success() || differ.iter().any(splits);
        differ.retain(|line| !splits(line));
        assert_eq!(differ, [""; 0], "{what}");
        assert!(success, "{what}: {}", said(&output));
        // Where a timer or a thread comes is not the same everywhere.
        let may_merge =
            option.contains("numbers") && words.iter().any(|w| ["signals", "threads"].contains(w));
        let all = if may_merge { WITHOUT_CONTEXTS..=ALL } else { *compared..=*compared };
        assert!(all.contains(&tables(&output)), "{what}: {}", said(&output));
    }
}

/// Registers of which a part is another write's (`tests/programs/parted.s` says what is left of each): in each of three
/// rounds a reader takes so many bytes by so many transfers.
#[test]
fn what_is_left_of_a_write_is_one_transfer() {
    let scratch = Scratch::new("sums-parted");
    if !makes_wild() {
        return;
    }
    let program = scratch.path("parted");
    assemble(&repository("tests/programs/parted.s"), &program);
    let output = compared(&scratch, &[utf8(&program)]);
    assert_eq!(differences(&output), [""; 0]);
    assert!(output.status.success(), "{}", said(&output));
    let sums = std::fs::read_to_string(scratch.path("sums")).expect("sums");
    for (writer, reader, bytes, transfers, addresses) in [
        ("w1", "r1", 15, 1, 15),
        ("w2", "r2", 31, 1, 31),
        ("w3", "r3", 15, 2, 15),
        ("w4", "r4", 80, 9, 80),
        ("w5", "r5", 4, 2, 4),
        ("w6", "r6", 32, 2, 32),
        ("w7", "r7", 32, 2, 32),
        ("w8", "r8", 32, 2, 32),
        ("w9", "r9", 32, 2, 32),
        ("w10", "r10", 32, 2, 32),
        ("w11", "r11", 10, 8, 2),
        ("w12", "r12", 10, 8, 4),
        ("w13", "r13", 1, 1, 1),
        ("<initial registers>", "r13", 15, 1, 15),
        ("w14", "r14", 8, 1, 8),
        ("w15", "r15", 8, 1, 8),
    ] {
        let row = format!(
            "flow\t{writer}\t{reader}\tregister\t{}\t{}\t{}\t{addresses}",
            3 * bytes,
            3 * bytes,
            3 * transfers
        );
        assert!(sums.lines().any(|line| line == row), "{row}\n{sums}");
    }
}

/// What is left of a vector on both sides of eight bytes counts twice, which is said; registers of 16 bytes have no middle.
#[test]
fn writes_into_the_middle_of_a_vector_are_said() {
    let scratch = Scratch::new("sums-split");
    if !makes_wild() {
        return;
    }
    let source = std::fs::read_to_string(repository("tests/programs/split.s")).expect("a program");
    let splits = "movhps area, %xmm3";
    for write in [splits, "movlps area, %xmm3", "vmovhps area, %xmm3, %xmm3"] {
        let text = source.replace(splits, write);
        let program = scratch.path("split");
        assemble(&scratch.write("split.s", text), &program);
        let output = compared(&scratch, &[utf8(&program)]);
        let said_so = said(&output).contains("1 writes into the middle of a vector");
        assert_eq!(said_so, write == splits, "{write}: {}", said(&output));
        assert!(said_so || differences(&output).is_empty(), "{write}: {}", said(&output));
    }
}

#[test]
fn programs_that_find_most_agree() {
    agree(&Scratch::new("sums-fixed"), FIXED);
}

/// Calls through linkage tables, stores into each other, restores that are read at once, addresses far above.
#[test]
fn programs_that_find_others_agree() {
    agree(&Scratch::new("sums-kinds"), OF_EACH_KIND);
}

/// Programs as no compiler makes them (`tests/programs/wild.py`): parts of registers, stores that overlap, saves that
/// are read otherwise or restored in parts.
#[test]
fn random_programs_agree() {
    random(12, &[], "");
}

/// Threads end, and others get their numbers and stacks; each reads what others wrote, and have read.
#[test]
fn random_programs_with_threads_agree() {
    random(10, &["threads"], "");
}

/// Handlers begin anywhere, and within each other; functions are left by jumps.
#[test]
fn random_programs_with_signals_and_jumps_agree() {
    random(10, &["signals", "jumps"], "");
}

/// Handlers return to where the signal came, as to a caller: no call of the system ends them.
#[test]
fn random_programs_with_handlers_that_return_agree() {
    random(5, &["signals", "plain"], "");
    random(3, &["signals", "plain", "jumps", "memory"], &few(40));
}

/// Memory is mapped again, moved, taken back, is a file's, and the kernel writes into it.
#[test]
fn random_programs_with_memory_that_comes_and_goes_agree() {
    random(10, &["memory"], "");
    random(4, &["memory", "index"], "");
}

/// What is called through a linkage table is called by a stub, which may look for it first.
#[test]
fn random_programs_with_linkage_tables_agree() {
    random(6, &["stubs"], "");
}

/// Stores of all sizes go into the middle of each other.
#[test]
fn random_programs_with_stores_into_each_other_agree() {
    random(6, &["tight"], "");
}

/// Parts of vectors are written anew in the same straight code, so that one write is left in pieces.
#[test]
fn random_programs_with_vectors_in_pieces_agree() {
    random(6, &["around"], "");
}

/// That the sums are looked at changes nothing.
#[test]
fn random_programs_with_snapshots_agree() {
    random(6, &["marks", "threads", "memory"], "--snapshots=yes");
    random(4, &["marks", "signals", "jumps"], "--snapshots=yes");
}

/// Numbers of contexts and functions are given back while threads run, handlers begin and memory goes.
#[test]
fn random_programs_with_few_numbers_agree() {
    random(6, &["threads", "memory"], &few(40));
    random(6, &["signals", "jumps"], &few(40));
}

/// Records a program through `tests/programs/in_pieces.py`, which says how often the sums were asked for, and came.
fn in_pieces(scratch: &Scratch, program: &Path, what: &[(&str, &str)]) -> (Output, [u32; 2]) {
    let (folder, log) = (scratch.path("bin"), scratch.path("log"));
    if !folder.exists() {
        std::fs::create_dir(&folder).expect("a folder");
        let script = repository("tests/programs/in_pieces.py");
        std::os::unix::fs::symlink(script, folder.join("valgrind")).expect("a link");
    }
    let path = format!("{}:{}", utf8(&folder), std::env::var("PATH").expect("PATH"));
    let (db, sums) = (scratch.path("run.duckdb"), scratch.path("sums"));
    let to = ["--force", "-o", utf8(&db), "--sums", utf8(&sums), "--check-sums"];
    let all = [&["record", "-q", "--detail", "summary"], &to[..], &["--", utf8(program)]];
    let mut addfg = command(&all.concat());
    addfg.env("PATH", &path).env("IN_PIECES", &log).envs(what.iter().copied());
    let output = addfg.output().expect("addfg runs");
    let log = std::fs::read_to_string(&log).expect("what it did");
    let numbers = log.split(' ').map(|n| n.parse().expect("a number")).collect::<Vec<u32>>();
    (output, [numbers[0], numbers[1]])
}

/// Answers come in pieces, and what asks for the sums stands before and behind them (`tests/programs/in_pieces.py`):
/// each is answered, and changes nothing.
#[test]
fn answers_that_come_in_pieces_agree() {
    let scratch = Scratch::new("sums-pieces");
    if !makes_wild() {
        return;
    }
    for seed in seeds(4) {
        let program = wild(&scratch, seed, &["threads", "memory"]);
        let (output, [asked, answered]) =
            in_pieces(&scratch, &program, &[("IN_PIECES_SEED", &seed.to_string())]);
        if !NOT_EXACT.iter().any(|what| said(&output).contains(what)) {
            assert_eq!(differences(&output), [""; 0], "seed {seed}");
            assert!(output.status.success(), "seed {seed}: {}", said(&output));
        }
        assert!(asked > 5 && asked == answered, "seed {seed}: {asked} {answered}");
    }
}

/// addfg is gone before an answer, behind it, in the middle of it, or before the last rows: the program goes on as it
/// would, and it is said once.
#[test]
fn a_program_goes_on_when_nobody_takes_its_sums() {
    let scratch = Scratch::new("sums-gone");
    if !makes_wild() {
        return;
    }
    let program = wild(&scratch, 2, &[]);
    let steps = "SELECT sum(steps_self), count(*) FROM function_profile";
    let mut all = Vec::new();
    for last in ["0", "0.04", "1", "1.01", "5", "5.9", "20.5", "9999"] {
        let (output, _) = in_pieces(&scratch, &program, &[("IN_PIECES_LAST", last)]);
        let gone = said(&output).matches("nobody takes the sums any more").count();
        assert_eq!(gone, usize::from(last != "9999"), "{last}: {}", said(&output));
        // The stream has all of it.
        all.push(rows(&scratch.path("run.duckdb"), steps));
    }
    all.dedup();
    assert_eq!(all.len(), 1, "{all:?}");
    // Of a program with more rows than fit into the socket.
    let (output, _) = in_pieces(&scratch, Path::new("/bin/ls"), &[("IN_PIECES_LAST", "rows")]);
    let gone = said(&output).matches("nobody takes the sums any more").count();
    assert_eq!(gone, 1, "{}", said(&output));
}

/// Contexts that are deeper than are kept are those above them.
#[test]
fn deep_contexts_agree() {
    agrees("contexts.c", &["2"]);
}

/// More contexts than are kept: those that the pass keeps, and as many calls are said to count as their callers'.
#[test]
fn contexts_beyond_those_that_are_kept_are_said() {
    let scratch = Scratch::new("sums-contexts");
    let Some(program) = program(&scratch, "contexts.c") else { return };
    let of = |how: &[&str], db: &Path| {
        let to = [&["record", "-o", utf8(db)], how, &["--", utf8(&program), "6"]].concat();
        let output = command(&to).output().expect("addfg runs");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let line = |line: &&str| line.contains("calls count as their callers' in call trees");
        let told = said(&output).lines().find(line).map(str::to_owned);
        let kept = "SELECT count(*), max(depth), sum(calls), sum(steps_self), md5(string_agg(calls || ' ' || steps_self,
                    ',' ORDER BY calls, steps_self)) FROM stack_profile JOIN call_stack USING (stack_id)";
        (told, rows(db, kept), rows(db, "FROM meta WHERE key = 'contexts_left_out'"))
    };
    let passed = of(&["--detail", "summary"], &scratch.path("passed.duckdb"));
    let (told, kept, _) = &passed;
    assert!(told.is_some() && kept[0].starts_with("262144,999,"), "{passed:?}");
    assert_eq!(of(&["--no-steps"], &scratch.path("sums.duckdb")), passed);
}

/// More rows, pairs, contexts and readers than tables begin with.
#[test]
fn tables_that_grow_agree() {
    agrees("many.c", &["6000"]);
}

/// Tables of more than 2 MiB, which lie elsewhere.
#[test]
fn large_tables_agree() {
    agrees("large.c", &[]);
}

/// More patterns of writers than a table of them has room for, of functions whose numbers are given back meanwhile; and a
/// stack that is looked at from the frame pointer only.
#[test]
fn parts_of_a_register_by_many_functions_agree() {
    let scratch = Scratch::new("sums-mosaic");
    if !makes_wild() {
        return;
    }
    let program = scratch.path("mosaic");
    assemble(&repository("tests/programs/mosaic.c"), &program);
    for (options, all) in [("", ALL), (&few(60), WITHOUT_CONTEXTS), (&few(100), WITHOUT_CONTEXTS)] {
        let output = compared_with(&scratch, &[utf8(&program)], &[], options);
        assert_eq!(differences(&output), [""; 0], "{options}");
        assert_eq!(tables(&output), all, "{options}: {}", said(&output));
    }
}

/// What cannot be summed exactly is said, and the command fails.
#[test]
fn what_is_not_exact_is_said() {
    let scratch = Scratch::new("sums-fault");
    let Some(program) = program(&scratch, "fault.c") else { return };
    let output = compared(&scratch, &[utf8(&program)]);
    let said = differences(&output).join("\n");
    assert!(said.contains("the sums are not exact:") && said.contains("faults"), "{said}");
    assert!(!output.status.success());
}

/// A segment reads more than once what it restores of several writers: that is said, and the program goes on.
#[test]
fn restores_that_are_read_in_parts_are_said() {
    let scratch = Scratch::new("sums-restored");
    if !makes_wild() {
        return;
    }
    let program = wild_of(&scratch, 4, 50, &["fed"]);
    let output = compared(&scratch, &[utf8(&program)]);
    assert!(said(&output).contains("reads of restored ones"), "{}", said(&output));
    // Functions, calls and contexts.
    assert!(said(&output).matches(", 0 differ;").count() >= 3, "{}", said(&output));
}

/// Where the system gives no room for the areas of the sums, that is said.
#[test]
fn too_little_room_is_said() {
    if !makes_wild() {
        return;
    }
    let scratch = Scratch::new("sums-room");
    let db = scratch.path("run.duckdb");
    let all = command(&["record", "-q", "--no-steps", "--force", "-o", utf8(&db), "--", "true"]);
    for gigabytes in [1_000_u64, 6_000, 13_000, 15_000, 15_420, 15_550, 15_680] {
        let mut limited = Command::new("sh");
        limited.arg("-c").arg(format!("ulimit -v {} && exec \"$0\" \"$@\"", gigabytes << 20));
        let output = limited.arg(all.get_program()).args(all.get_args()).output().expect("sh");
        let room = said(&output).contains("there is no room for the sums");
        assert!(room && !output.status.success(), "{gigabytes}: {}", said(&output));
    }
}

/// Memory far above what else there is, as Go has its heap; a fault at any address says where it was, as it does without
/// a recorder.
#[test]
fn addresses_far_above_agree_and_fault_where_they_are() {
    agrees("high.c", &[]);
    let scratch = Scratch::new("sums-high");
    let Some(program) = program(&scratch, "high.c") else { return };
    let alone = std::process::Command::new(&program).arg("x").output().expect("it runs");
    let db = scratch.path("run.duckdb");
    let to = ["record", "-q", "--no-steps", "-o", utf8(&db), "--", utf8(&program), "x"];
    let output = command(&to).output().expect("addfg runs");
    assert_eq!(output.stdout, alone.stdout, "{}", said(&output));
    assert!(said(&output).contains(" 6 faults, at which"), "{}", said(&output));
}

/// Each kind of fault is one; other signals are none.
#[test]
fn faults_of_each_kind_are_counted() {
    let scratch = Scratch::new("sums-faults");
    let Some(program) = program(&scratch, "faults.c") else { return };
    let db = scratch.path("run.duckdb");
    let to = ["record", "-q", "--no-steps", "-o", utf8(&db), "--", utf8(&program)];
    let output = command(&to).output().expect("addfg runs");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(" 5 faults, at which"), "{}", said(&output));
}

/// A fault that ends the program is said, and its exit code stays; another signal that ends it is none.
#[test]
fn a_fault_that_ends_the_program_is_said() {
    let scratch = Scratch::new("sums-fatal");
    let Some(program) = program(&scratch, "fatal.c") else { return };
    let db = scratch.path("run.duckdb");
    let faults =
        [("11", "SIGSEGV"), ("7", "SIGBUS"), ("8", "SIGFPE"), ("4", "SIGILL"), ("5", "SIGTRAP")];
    for (number, name) in faults.into_iter().chain([("15", "SIGTERM"), ("6", "SIGABRT")]) {
        let to = ["record", "--no-steps", "--force", "-o", utf8(&db), "--", utf8(&program), number];
        let output = command(&to).output().expect("addfg runs");
        let said = said(&output);
        let is_fault = faults.iter().any(|(fault, _)| *fault == number);
        let code = 128 + number.parse::<i32>().expect("a number");
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        let wanted = format!("not exact: {name} ended the program");
        assert_eq!(said.contains(&wanted), is_fault, "{name}: {said}");
        let problems = "SELECT count(*) FROM diagnostic WHERE code = 'sums-not-exact'";
        assert_eq!(rows(&db, problems), [u8::from(is_fault).to_string()], "{name}");
    }
}

/// The text has all four kinds of rows, with names.
#[test]
fn sums_are_written_as_text() {
    let scratch = Scratch::new("sums-text");
    let Some(program) = program(&scratch, "recursion.c") else { return };
    let (db, sums) = (scratch.path("run.duckdb"), scratch.path("sums"));
    let to = ["-o", utf8(&db), "--sums", utf8(&sums), "--", utf8(&program)];
    ok(&[&["record", "-q", "--detail", "summary"], &to[..]].concat());
    let text = std::fs::read_to_string(&sums).expect("sums");
    for kind in ["flow", "function", "call", "context"] {
        let of_main = |line: &&str| line.starts_with(kind) && line.contains("main");
        assert!(text.lines().any(|line| of_main(&line)), "{kind}");
    }
    assert!(!text.contains("problem\t"), "{text:.200}");
}

// ---- databases of the sums alone ----

/// Records without steps into a database; gives it.
fn summed(scratch: &Scratch, name: &str, more: &[&str], run: &[&str]) -> PathBuf {
    let db = scratch.path(name);
    let to = ["record", "-q", "--no-steps", "-o", utf8(&db)];
    let output = command(&[&to, more, &["--"], run].concat()).output().expect("addfg runs");
    assert!(output.status.success(), "{}", said(&output));
    db
}

/// Rows of a query, as text.
pub fn rows(db: &Path, sql: &str) -> Vec<String> {
    let text = ok(&["sql", utf8(db), sql, "--format", "csv"]);
    text.lines().skip(1).map(str::to_owned).collect()
}

/// What both databases are to have the same rows of. Functions, images and contexts have other numbers. The linker looks for
/// the letters of a path that has the number of the process: how many differ is another number in each run.
pub const SAME: &[&str] = &[
    "SELECT writer, reader, via, bytes, unique_bytes, transfers, addresses FROM function_dataflow
     WHERE reader NOT LIKE 'strcspn%' ORDER BY ALL",
    "SELECT f.name, p.* EXCLUDE (function_id, dead_bytes) FROM function_profile p JOIN function_symbol f USING (function_id)
     ORDER BY ALL",
    "SELECT coalesce(f.name, ''), g.name, e.kind, e.calls, e.steps FROM call_edge e
     LEFT JOIN function_symbol f ON f.function_id = e.caller_function_id
     JOIN function_symbol g ON g.function_id = e.callee_function_id ORDER BY ALL",
    "SELECT coalesce(f.name, ''), g.name, e.kind, e.calls, e.steps FROM call_edge_folded e
     LEFT JOIN function_symbol f ON f.function_id = e.caller_function_id
     JOIN function_symbol g ON g.function_id = e.callee_function_id ORDER BY ALL",
    "SELECT f.name, g.name, e.via, e.bytes, e.unique_bytes, e.addresses, e.transfers FROM function_edge_folded e
     JOIN function_symbol f ON f.function_id = e.writer_function_id
     JOIN function_symbol g ON g.function_id = e.reader_function_id
     WHERE g.name NOT LIKE 'strcspn%' ORDER BY ALL",
    "SELECT f.name, p.* EXCLUDE (function_id) FROM function_profile_folded p JOIN function_symbol f USING (function_id) ORDER BY ALL",
    "WITH RECURSIVE chain AS (
         SELECT s.stack_id, f.name FROM call_stack s JOIN function_symbol f USING (function_id) WHERE s.parent_stack_id IS NULL
         UNION ALL
         SELECT s.stack_id, chain.name || ';' || f.name FROM call_stack s JOIN function_symbol f USING (function_id)
         JOIN chain ON chain.stack_id = s.parent_stack_id)
     SELECT w.name, r.name, f.name, g.name, e.via, e.bytes, e.unique_bytes, e.transfers
     FROM stack_edge e JOIN function_symbol f ON f.function_id = e.writer_function_id
     JOIN function_symbol g ON g.function_id = e.reader_function_id
     LEFT JOIN chain w ON w.stack_id = e.writer_stack_id LEFT JOIN chain r ON r.stack_id = e.reader_stack_id
     WHERE g.name NOT LIKE 'strcspn%' ORDER BY ALL",
    "SELECT f.name, s.depth, s.nested, p.calls, p.steps_self, p.steps_total FROM call_stack s JOIN stack_profile p USING (stack_id)
     JOIN function_symbol f USING (function_id) ORDER BY ALL",
    "SELECT f.name, s.steps, s.entirely FROM start_up s JOIN function_symbol f USING (function_id) ORDER BY ALL",
    "SELECT i.address, i.text, f.name, i.line, i.class, i.executions FROM instruction i JOIN function_symbol f USING (function_id)
     ORDER BY ALL",
    "SELECT name, symbol, kind, address, size, owner FROM function_symbol ORDER BY ALL",
    "SELECT path, bias, stripped FROM image ORDER BY ALL",
    "SELECT i.path, s.name, s.address, s.size, s.writable, s.executable FROM section s JOIN image i USING (image_id) ORDER BY ALL",
    "SELECT c.name, f.name, c.line FROM inlined_call c JOIN function_symbol f USING (function_id) ORDER BY ALL",
    "SELECT thread_id, process_id, tid, steps FROM thread ORDER BY ALL",
    "SELECT process_id, name FROM process",
    "SELECT * EXCLUDE (result) FROM system_call ORDER BY ALL",
    "SELECT * FROM system_call_access ORDER BY ALL",
    "SELECT key, value FROM meta WHERE key NOT IN ('longest_block', 'first_stack_pointers') ORDER BY ALL",
    "SELECT name, address, size FROM register ORDER BY ALL",
    "SELECT name, type_name, address, size FROM variable ORDER BY ALL",
];

fn same_databases(name: &str) {
    let scratch = Scratch::new("sums-database");
    let Some(program) = program(&scratch, name) else { return };
    same_rows(&scratch, &program, name, &[], SAME.iter().copied());
}

/// Of a program that does the same in each run.
pub fn same_rows<'a>(
    scratch: &Scratch,
    program: &Path,
    name: &str,
    more: &[&str],
    all: impl Iterator<Item = &'a str>,
) {
    let stream = scratch.path("stream.duckdb");
    let to = ["record", "-q", "--detail", "summary", "--force", "-o", utf8(&stream)];
    command(&[&to[..], more, &["--", utf8(program)]].concat()).output().expect("addfg runs");
    let options = [&["--force"], more].concat();
    let sums = summed(scratch, "sums.duckdb", &options, &[utf8(program)]);
    for sql in all {
        let [stream, sums] = [&stream, &sums].map(|db| rows(db, sql));
        assert!(!stream.is_empty() || sql.contains("inlined"), "{name}: no rows: {sql}");
        let differs: Vec<_> = stream.iter().zip(&sums).filter(|(a, b)| a != b).take(5).collect();
        assert_eq!((stream.len(), &differs[..]), (sums.len(), &[][..]), "{name}: {sql}");
    }
}

/// What stubs of a linkage table do is their callers'.
#[test]
fn databases_of_random_programs_with_stubs_are_those_of_their_recordings() {
    let scratch = Scratch::new("sums-stubs");
    if !makes_wild() {
        return;
    }
    for (seed, words) in
        [(3, &["still", "stubs", "tight"][..]), (4, &["still", "stubs", "memory", "jumps"])]
    {
        let program = wild_of(&scratch, seed, 30, words);
        let merged = SAME.iter().copied().filter(|sql| {
            ["_folded", "call_edge e", "stack_edge", "thread", "i.executions"]
                .iter()
                .any(|of| sql.contains(of))
        });
        same_rows(&scratch, &program, &format!("seed {seed}"), &[], merged);
    }
}

#[test]
fn a_database_of_sums_is_that_of_the_recording() {
    same_databases("recursion.c");
    same_databases("unload.c");
}

/// Records with sums beside the stream. Gives the database, one that a pass makes of the stream, and what was said.
fn beside(scratch: &Scratch, program: &Path, arguments: &[&str]) -> ([PathBuf; 2], String) {
    let [summed, passed, stream] =
        ["summed.duckdb", "passed.duckdb", "stream"].map(|n| scratch.path(n));
    let to = ["record", "-q", "--summed", "--keep", utf8(&stream), "-o", utf8(&summed), "--"];
    let run = [&to[..], &[utf8(program)], arguments].concat();
    let output = command(&run).output().expect("addfg runs");
    let elf = ["--elf", utf8(program)];
    let to = ["build", "-q", utf8(&stream), "--detail", "summary", "-o", utf8(&passed)];
    ok(&[&to[..], &elf].concat());
    ([summed, passed], said(&output))
}

/// The sums that the recorder has beside its stream are those of a pass over it, and so is all else.
#[test]
fn sums_beside_the_stream_are_those_of_the_stream() {
    let more = [
        "SELECT first_address, last_address, via FROM region ORDER BY ALL",
        "SELECT count(*), sum(last_seq) FROM run_chunk",
        "SELECT load_seq, unload_seq FROM image ORDER BY ALL",
    ];
    let scratch = Scratch::new("sums-beside");
    let Some(program) = program(&scratch, "long.c") else { return };
    let (both, told) = beside(&scratch, &program, &[]);
    assert_eq!(told.lines().filter(|line| line.starts_with("addfg")).count(), 0, "{told}");
    let same = |sql: &str| {
        let [summed, passed] = both.each_ref().map(|db| rows(db, sql));
        let differs: Vec<_> = summed.iter().zip(&passed).filter(|(a, b)| a != b).take(5).collect();
        assert_eq!((summed.len(), &differs[..]), (passed.len(), &[][..]), "{sql}");
    };
    SAME.iter().chain(&more).for_each(|sql| same(sql));
    // A question that goes through the run counts them.
    let known = "SELECT count(dead_bytes) FROM function_profile";
    assert_eq!(rows(&both[0], known), ["0"]);
    ok(&["instances", utf8(&both[0]), "main"]);
    same(
        "SELECT f.name, p.dead_bytes FROM function_profile p JOIN function_symbol f USING (function_id) ORDER BY ALL",
    );
}

/// Of sums that are not exact the database is made by a pass.
#[test]
fn sums_beside_the_stream_that_are_not_exact_are_not_taken() {
    let scratch = Scratch::new("sums-beside-fault");
    let Some(program) = program(&scratch, "long.c") else { return };
    let (both, told) = beside(&scratch, &program, &["fault"]);
    assert!(told.contains("the recording is gone through"), "{told}");
    let profile = "SELECT f.name, p.* EXCLUDE (function_id) FROM function_profile p JOIN function_symbol f USING (function_id)
         ORDER BY ALL";
    let [summed, passed] = both.each_ref().map(|db| rows(db, profile));
    assert_eq!(summed, passed);
    assert!(!summed.is_empty());
}

/// What sums do not tell is NULL, and never 0.
#[test]
fn what_sums_lack_is_null() {
    let scratch = Scratch::new("sums-null");
    let Some(program) = program(&scratch, "recursion.c") else { return };
    let run = [utf8(&program)];
    let sums = summed(&scratch, "all.duckdb", &[], &run);
    assert_eq!(rows(&sums, "SELECT count(dead_bytes) FROM function_profile"), ["0"]);
    let sums = summed(&scratch, "less.duckdb", &["--no-unique"], &run);
    let counts =
        "SELECT count(bytes) > 0, count(unique_bytes), count(addresses) FROM function_dataflow";
    assert_eq!(rows(&sums, counts), ["true,0,0"]);
}

/// Commands that need no steps work; the others say what is missing.
#[test]
fn commands_work_on_databases_of_sums() {
    let scratch = Scratch::new("sums-commands");
    let Some(program) = program(&scratch, "recursion.c") else { return };
    let sums = summed(&scratch, "sums.duckdb", &[], &[utf8(&program)]);
    let (db, svg, page) = (utf8(&sums), scratch.path("g.dot"), scratch.path("page.html"));
    ok(&["graph", db, "-o", utf8(&svg)]);
    ok(&["report", db, "-o", utf8(&page)]);
    ok(&["plan", db]);
    ok(&["info", db]);
    assert!(ok(&["sql", db, "@hot_functions"]).contains("main"));
    ok(&["diff", db, db]);
    let output = command(&["loops", db]).output().expect("addfg runs");
    let refused = said(&output).contains("--no-steps") && !output.status.success();
    assert!(refused, "{}", said(&output));
    // What is not known is no answer.
    for question in [
        &["sql", db, "@dead_writes"][..],
        &["graph", db, "--level", "line", "--show", "calls"],
        &["graph", db, "--expand", "main"],
    ] {
        let output = command(question).output().expect("addfg runs");
        let text = said(&output);
        assert!(text.contains("without --no-steps") && !output.status.success(), "{text}");
    }
    let how = |name: &str, more: &[&str]| {
        let dot = scratch.path(&format!("{name}.dot"));
        let sums = summed(&scratch, name, more, &[utf8(&program)]);
        ok(&["graph", utf8(&sums), "-o", utf8(&dot)]);
        std::fs::read_to_string(&dot).expect("a graph").contains("(each once per call)")
    };
    assert!(how("unique.duckdb", &[]) && !how("each.duckdb", &["--no-unique"]));
}

/// An option that would have no effect is refused.
#[test]
fn what_needs_steps_is_refused_without() {
    for option in [&["--saves", "literal"][..], &["--detail", "pairs"], &["--prepare"]] {
        let all = [&["record", "--no-steps"], option, &["--", "true"]].concat();
        let output = command(&all).output().expect("addfg runs");
        let refused = said(&output).contains("cannot be used with") && !output.status.success();
        assert!(refused, "{option:?}: {}", said(&output));
    }
}

// ---- snapshots ----

fn steps(db: &Path) -> u64 {
    rows(db, "SELECT sum(steps_self) FROM function_profile")[0].parse().expect("a number")
}

/// What ran between two snapshots is their difference.
#[test]
fn a_marker_takes_a_snapshot() {
    let scratch = Scratch::new("sums-marker");
    let Some(program) = program(&scratch, "phases.c") else { return };
    let end = summed(&scratch, "run.duckdb", &["--at-markers"], &[utf8(&program)]);
    let mark = scratch.path("run.1.duckdb");
    let calls = |db: &Path| {
        rows(db, "SELECT f.name, p.calls FROM function_profile p JOIN function_symbol f USING (function_id)
        WHERE f.name IN ('fill', 'add', 'main') ORDER BY 1")
    };
    assert_eq!(calls(&mark), ["fill,1", "main,1"]);
    assert_eq!(calls(&end), ["add,1", "fill,1", "main,1"]);
    let flow = "SELECT bytes, unique_bytes, transfers, addresses FROM function_dataflow WHERE writer = 'fill' AND reader = 'add'";
    assert!(rows(&mark, flow).is_empty());
    assert_eq!(rows(&end, flow), ["256,256,64,256"]);
    assert!(steps(&mark) < steps(&end));
    assert!(ok(&["diff", utf8(&mark), utf8(&end)]).contains("add"));
    // One that cannot be written is lost.
    let again = scratch.path("again.duckdb");
    std::fs::write(scratch.path("again.1.duckdb"), "mine").expect("a file");
    let to = ["record", "-q", "--no-steps", "--at-markers", "-o", utf8(&again), "--"];
    let output = command(&[&to[..], &[utf8(&program)]].concat()).output().expect("addfg runs");
    assert!(said(&output).contains("no snapshot"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(1));
    // That it was looked at changes nothing.
    let plain = summed(&scratch, "plain.duckdb", &[], &[utf8(&program)]);
    for sql in SAME {
        assert_eq!(rows(&end, sql), rows(&plain, sql), "{sql}");
    }
}

/// A snapshot in the middle of calls is what the program had done: that it ends there adds the two steps that end it.
#[test]
fn a_snapshot_is_the_run_up_to_there() {
    let scratch = Scratch::new("sums-stop");
    if !makes_wild() {
        return;
    }
    let seeds = seeds(8);
    let mut stopped = 0;
    for seed in &seeds {
        let more = [&["stop", "signals"][..], &["stop", "threads"]][*seed as usize % 2];
        let program = wild(&scratch, *seed, more);
        let (db, mark) = (scratch.path("run.duckdb"), scratch.path("run.1.duckdb"));
        let _ = std::fs::remove_file(&mark);
        let to = [
            "record",
            "-q",
            "--no-steps",
            "--at-markers",
            "--force",
            "-o",
            utf8(&db),
            "--",
            utf8(&program),
        ];
        command(&to).output().expect("addfg runs");
        if !mark.exists() {
            continue;
        }
        stopped += 1;
        for sql in [
            "SELECT writer, reader, via, bytes, unique_bytes, transfers, addresses FROM function_dataflow
             WHERE writer <> 'stop' AND reader <> 'stop' ORDER BY ALL",
            "SELECT f.name, p.calls, p.steps_self, p.written_bytes FROM function_profile p
             JOIN function_symbol f USING (function_id) WHERE f.name <> 'stop' ORDER BY ALL",
            "SELECT f.name, s.depth, p.calls, p.steps_self FROM call_stack s JOIN stack_profile p USING (stack_id)
             JOIN function_symbol f USING (function_id) WHERE f.name <> 'stop' ORDER BY ALL",
            "SELECT coalesce(f.name, ''), g.name, e.kind, e.calls FROM call_edge e
             LEFT JOIN function_symbol f ON f.function_id = e.caller_function_id
             JOIN function_symbol g ON g.function_id = e.callee_function_id ORDER BY ALL",
        ] {
            let [then, end] = [&mark, &db].map(|db| rows(db, sql));
            let differs = then.iter().zip(&end).find(|(a, b)| a != b);
            assert_eq!((differs, then.len()), (None, end.len()), "seed {seed}: {sql}");
        }
        // Those that have not returned have the last steps, too.
        for (sql, all) in [
            (
                "SELECT f.name, p.steps_total FROM function_profile p JOIN function_symbol f USING (function_id) ORDER BY ALL",
                false,
            ),
            (
                "SELECT coalesce(f.name, ''), g.name || e.kind, e.steps FROM call_edge e
              LEFT JOIN function_symbol f ON f.function_id = e.caller_function_id
              JOIN function_symbol g ON g.function_id = e.callee_function_id ORDER BY ALL",
                false,
            ),
            ("SELECT tid, steps FROM thread ORDER BY ALL", true),
        ] {
            let number = |row: &String| {
                row.rsplit(',').next().and_then(|n| n.parse::<u64>().ok()).expect("a number")
            };
            let [then, end] = [&mark, &db].map(|db| rows(db, sql));
            let more: Vec<u64> =
                end.iter().zip(&then).map(|(b, a)| number(b) - number(a)).collect();
            assert!(
                more.iter().all(|n| [0, 3].contains(n)) && more.contains(&3),
                "seed {seed}: {sql}: {more:?}"
            );
            assert!(!all || more.iter().sum::<u64>() == 3, "seed {seed}: {more:?}");
        }
    }
    assert!(2 * stopped >= seeds.len(), "{stopped} of {}", seeds.len());
}

fn child_of(process: u32) -> Option<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let children = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("children")).ok()
    };
    tasks
        .filter_map(children)
        .flat_map(|text| {
            text.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<u32>>()
        })
        .next()
}

fn kill(process: u32, signal: &str) {
    let pid = process.to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
}

/// Waits until something is there.
fn wait_for(addfg: &mut Child, what: impl Fn() -> bool) {
    for _ in 0..1200 {
        if what() {
            return;
        }
        assert!(addfg.try_wait().expect("a process").is_none(), "addfg ended");
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("waited for two minutes");
}

/// A run that is killed leaves its snapshots.
#[test]
fn a_signal_takes_a_snapshot() {
    let scratch = Scratch::new("sums-signal");
    let Some(program) = program(&scratch, "phases.c") else { return };
    let db = scratch.path("run.duckdb");
    let to =
        ["record", "--no-steps", "-o", utf8(&db), "--at-markers", "--", utf8(&program), "wait"];
    let mut addfg = command(&to).stderr(std::process::Stdio::piped()).spawn().expect("addfg runs");
    // The marker says that it runs.
    wait_for(&mut addfg, || scratch.path("run.1.duckdb").exists());
    kill(addfg.id(), "-USR1");
    wait_for(&mut addfg, || scratch.path("run.2.duckdb").exists());
    // In the middle of one, too.
    kill(addfg.id(), "-USR1");
    kill(child_of(addfg.id()).expect("valgrind"), "-KILL");
    let output = addfg.wait_with_output().expect("addfg ends");
    assert_eq!(output.status.code(), Some(137));
    assert!(said(&output).contains("run.2.duckdb: a snapshot"), "{}", said(&output));
    assert!(said(&output).contains("has not sent all of its sums"), "{}", said(&output));
    assert!(!db.exists());
    let [first, second] = ["run.1.duckdb", "run.2.duckdb"].map(|name| steps(&scratch.path(name)));
    assert!(first < second, "{first} {second}");
}

/// The memory that sums reserve is not made real by a program that locks its own.
#[test]
fn memory_that_is_reserved_is_not_locked() {
    if !have("valgrind") || !have("gcc") || !cfg!(target_arch = "x86_64") {
        return skipped("locked memory: needs valgrind, gcc and x86-64");
    }
    let scratch = Scratch::new("sums-locked");
    let (program, db) = (scratch.path("lock_all"), scratch.path("lock_all.duckdb"));
    make("gcc", &repository("tests/programs/lock_all.c"), &["-O1", "-g"], &program);
    let output = addfg(&["record", "-q", "--no-steps", "-o", utf8(&db), "--", utf8(&program)]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}
