//! Logs of lackey in which valgrind went on past branches are told from those in which it did not.

use crate::common::*;

/// Exits that valgrind decides when it translates are not in its count.
#[test]
fn exits_of_constants_raise_no_alarm() {
    let flags = ["-nostdlib", "-static"];
    let Some([elf, log]) = recording("decided.s", "gcc", &flags) else {
        return skipped("exits of constants: needs valgrind and gcc");
    };
    let scratch = Scratch::new("decided");
    let (code, said) = build(&scratch.path("decided.duckdb"), &[&log], &["--elf", utf8(&elf)]);
    assert_eq!(code, 0, "{said}");
}

/// A branch that was passed over still is found: more jumps are listed than were counted.
#[test]
fn fewer_exits_than_jumps_are_said() {
    let [log, elf] = example_files("fir");
    let scratch = Scratch::new("chased");
    let text = String::from_utf8(
        std::process::Command::new("xz").args(["-dc", utf8(&log)]).output().unwrap().stdout,
    )
    .unwrap();
    let total = text.lines().skip_while(|l| !l.contains("Jccs")).nth(1).expect("a count of exits");
    let (before, count) = total.split_once("total:").unwrap();
    let fewer: u64 = count.trim().replace(',', "").parse::<u64>().unwrap() - 1;
    let changed = text.replace(total, &format!("{before}total:  {fewer}"));
    let log = scratch.write("fir.log", changed);
    let (code, said) = build(&scratch.path("fir.duckdb"), &[&log], &["--elf", utf8(&elf)]);
    assert!(code == 1 && said.contains("conditional jumps are listed"), "{said}");
}
