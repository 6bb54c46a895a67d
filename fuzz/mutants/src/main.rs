//! Mutant schemata: rewrites Rust files so that every mutation of an expression or a statement is in
//! the program at once, and `addfg::mutants::on(ID)` tells which one is active.
//!
//!     addfg-mutants ROOT SKIP FILE...
//!
//! ROOT is a copy of the checkout, FILEs are relative to it and rewritten in place; SKIP is a file of
//! ids that are left out, a line each (they do not compile). Prints `id file:line function change`, tabs
//! between. Ids do not depend on SKIP.

mod rewrite;

use std::collections::HashSet;
use std::path::Path;

/// The module that the rewritten program asks. An id is active if `ADDFG_MUTANT` names it; with
/// `ADDFG_MUTANT=reached` the ids that are met go to the end of the file `ADDFG_MUTANTS_REACHED`.
const MODULE: &str = r#"
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
const UNKNOWN: u32 = u32::MAX;
const REACHED: u32 = u32::MAX - 1;
static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
static MET: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];
#[inline(always)]
pub fn on(id: u32) -> bool {
    let active = ACTIVE.load(Relaxed);
    if active >= REACHED { slow(id) } else { active == id }
}
#[cold]
#[inline(never)]
fn slow(id: u32) -> bool {
    if ACTIVE.load(Relaxed) == UNKNOWN {
        let asked = std::env::var("ADDFG_MUTANT").unwrap_or_default();
        let active = if asked == "reached" { REACHED } else { asked.parse().unwrap_or(0) };
        if ACTIVE.swap(active, Relaxed) == UNKNOWN && active == REACHED {
            unsafe { libc::atexit(tell) };
        }
        return on(id);
    }
    MET[id as usize / 64].fetch_or(1 << (id % 64), Relaxed);
    false
}
extern "C" fn tell() {
    use std::io::Write;
    let Some(path) = std::env::var_os("ADDFG_MUTANTS_REACHED") else { return };
    let mut text = String::new();
    for id in 0..MET.len() * 64 {
        if MET[id / 64].load(Relaxed) >> (id % 64) & 1 != 0 {
            text += &format!("{id}\n");
        }
    }
    let file = std::fs::File::options().create(true).append(true).open(path);
    let _ = file.and_then(|mut file| file.write_all(text.as_bytes()));
}
"#;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(root), Some(skip)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: addfg-mutants ROOT SKIP FILE...");
        std::process::exit(2);
    };
    let root = Path::new(&root);
    let read = |path: &Path| {
        std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let skip: HashSet<u32> =
        read(Path::new(&skip)).lines().map(|id| id.parse().expect("an id a line")).collect();
    let mut next = 1;
    for file in arguments {
        let path = root.join(&file);
        let (text, found) = rewrite::rewrite(&read(&path), &mut next, &skip);
        std::fs::write(&path, text).expect("writes the file");
        for site in found {
            println!("{}\t{file}:{}\t{}\t{}", site.id, site.line, site.function, site.change);
        }
    }
    std::fs::write(root.join("src/mutants.rs"), MODULE).expect("writes the module");
    let lib = root.join("src/lib.rs");
    let text = read(&lib);
    if !text.contains("pub mod mutants;") {
        // Inner comments and attributes come first.
        let head = text.lines().take_while(|l| l.starts_with("//!") || l.is_empty()).count();
        let (before, after): (Vec<_>, Vec<_>) =
            text.lines().enumerate().partition(|(at, _)| *at < head);
        let join = |lines: Vec<(usize, &str)>| {
            lines.iter().map(|l| l.1.to_owned() + "\n").collect::<String>()
        };
        let middle =
            "#![allow(warnings, arithmetic_overflow, unconditional_panic, overflowing_literals)]\n";
        let text = format!("{}{middle}{}pub mod mutants;\n", join(before), join(after));
        std::fs::write(lib, text).expect("writes lib.rs");
    }
}
