//! What is not tested here for want of a tool.

use crate::common::*;
use std::io::Write;

/// Says at a glance what is missing, and fails for it where `ADDFG_TOOLS=all` asks for every tool.
/// What `./setup.sh --tests` installs is what the list names.
#[test]
fn tools() {
    let script = std::fs::read_to_string(repository("setup.sh")).unwrap();
    for (tool, package, _) in TOOLS.iter().filter(|t| !t.1.is_empty()) {
        let mut words = script.split(|c: char| c == '"' || c.is_whitespace());
        let named = words.any(|word| word == *package);
        assert!(named, "setup.sh does not install {package}, which has {tool}");
    }
    let missing: Vec<_> = TOOLS.iter().filter(|t| !installed(t.0)).collect();
    for (tool, _, what) in &missing {
        // The harness keeps what `println!` writes, not what is written so.
        let _ = writeln!(std::io::stderr(), "not installed: {tool}; not tested with it: {what}");
    }
    let all = std::env::var_os("ADDFG_TOOLS").is_some_and(|wanted| wanted == "all");
    assert!(!all || missing.is_empty(), "{missing:?}");
}
