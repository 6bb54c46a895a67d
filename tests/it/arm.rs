//! What ARM instructions do to memory, end to end: assembled, recorded by QEMU, loaded; the
//! accesses by hand.

use crate::common::*;

/// The accesses to the buffer by the function of `tests/programs/arm.s`, in order: `W4 +8` writes
/// four bytes at offset 8.
fn accesses(name: &str) -> Option<Vec<String>> {
    let scratch = Scratch::new(&format!("arm-{name}"));
    let (elf, log, db) = (scratch.path("arm"), scratch.path("log"), scratch.path("db"));
    let compiler = "arm-linux-gnueabi-gcc";
    if !have(compiler) || !have("qemu-arm") {
        return None;
    }
    let source = repository("tests/programs/arm.s");
    make(compiler, &source, &["-nostdlib", "-static", "-marm"], &elf);
    assert!(qemu("qemu-arm", &elf, &log).status.success());
    load(&log, &elf, &db, &["--detail", "full"]);
    let text = ok(&["verify", utf8(&db)]);
    assert!(!text.contains("DIFFERENT"), "{text}");
    let sql = format!(
        "SELECT (CASE WHEN a.is_write THEN 'W' ELSE 'R' END) || a.size || ' +' || (a.address - v.address)
         FROM data_access a JOIN opcode_line o USING (seq) JOIN instruction i USING (instruction_id)
         JOIN function_symbol s USING (function_id), variable v
         WHERE v.name = 'buffer' AND a.space = 'memory' AND a.address BETWEEN v.address AND v.address + 31
           AND s.name IN ({name}) ORDER BY a.seq, a.ordinal"
    );
    let found = rows(&db, &sql);
    println!("{name}: {found:?}");
    Some(found)
}

#[test]
fn conditional_stores() {
    let Some(found) = accesses("'conditional'") else { return };
    assert_eq!(found, ["W4 +4", "R4 +4"]);
}

#[test]
fn load_and_store_multiple() {
    let Some(found) = accesses("'multiple'") else { return };
    assert_eq!(found, ["W4 +0", "W4 +4", "W4 +8", "W4 +12", "R4 +0", "R4 +4", "R4 +8", "R4 +12"]);
}

#[test]
fn failed_store_exclusive() {
    let Some(found) = accesses("'exclusive'") else { return };
    assert_eq!(found, ["R4 +0", "W4 +0", "R4 +0"]);
}

#[test]
fn write_back() {
    let Some(found) = accesses("'write_back'") else { return };
    assert_eq!(found, ["W4 +4", "R4 +4", "W1 +11"]);
}

#[test]
fn kernel_helpers() {
    let Some(found) = accesses("'helpers', '<kernel helper>'") else { return };
    // The helper reads the word, finds what was expected and writes; the function reads it.
    assert_eq!(found, ["R4 +0", "W4 +0", "R4 +0"]);
}
