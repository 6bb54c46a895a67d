//! Shared memory is the same memory at all addresses: the recorder's sums are what the pass makes of the recording of the
//! same run.

use crate::common::{Scratch, said, utf8};
use crate::sums::{compared, compared_with, differences, program, tables};

/// Tables that are compared.
const ALL: usize = 6;

fn agrees(name: &str, arguments: &[&str]) {
    let scratch = Scratch::new("sums-shared");
    let Some(program) = program(&scratch, name) else { return };
    let output = compared(&scratch, &[&[utf8(&program)], arguments].concat());
    assert_eq!(differences(&output), [""; 0], "{name} {arguments:?}");
    assert_eq!(tables(&output), ALL, "{name} {arguments:?}: {}", said(&output));
}

/// Two addresses, other ones later, files that are cut, punched and written to, segments, rings, and what is only read.
#[test]
fn shared_memory_agrees() {
    agrees("taken_back.c", &[]);
    agrees("shares.c", &[]);
    agrees("mapped.c", &[]);
}

/// Files are mapped, moved, cut and written to at random, by system calls alone.
#[test]
fn random_mappings_agree() {
    for seed in ["11", "12", "13"] {
        agrees("mappings.c", &[".", seed]);
    }
}

/// Stores and loads of all sizes through several mappings at random, and calls that move data there. Transfers are not
/// compared: what two calls wrote to a file of one store counts as two.
#[test]
fn random_accesses_through_several_mappings_have_the_same_bytes() {
    let scratch = Scratch::new("sums-aliases");
    let Some(program) = program(&scratch, "aliases.c") else { return };
    for seed in ["1", "2", "3", "112", "119", "326"] {
        let output = compared(&scratch, &[utf8(&program), seed, "4000"]);
        let text = said(&output);
        assert_eq!(tables(&output), ALL, "seed {seed}: {text}");
        assert!(!text.contains("not exact"), "seed {seed}: {text}");
        for (line, apart) in
            text.lines().filter_map(|line| Some((line, line.split_once("apart by ")?.1)))
        {
            let figures = apart.split(", ").filter(|figure| !figure.starts_with("transfers "));
            for figure in figures {
                assert!(figure.ends_with(" 0"), "seed {seed}: {line}");
            }
        }
    }
}

/// Memory that is gone gives its place to other memory, which has addresses of its own.
#[test]
fn memory_that_comes_and_goes_agrees() {
    agrees("passing.c", &["400"]);
}

/// Memory at two addresses that are known as one is said.
#[test]
fn memory_that_has_no_place_is_said() {
    let scratch = Scratch::new("sums-places");
    let Some(program) = program(&scratch, "high.c") else { return };
    for (word, is_said) in [("apart", true), ("0", false)] {
        let text = said(&compared(&scratch, &[utf8(&program), word]));
        let says = text.contains("addresses that others 2 TiB away are taken for");
        assert_eq!(says, is_said, "{word}: {text}");
    }
}

/// A file has room up to 256 GiB, and that much exactly; beyond, that is said.
#[test]
fn a_file_has_room_up_to_a_border() {
    let scratch = Scratch::new("sums-border");
    let Some(program) = program(&scratch, "passing.c") else { return };
    for (far, is_said) in [((1_u64 << 38) - 4096, false), (1 << 38, true), (1 << 40, true)] {
        let output = compared(&scratch, &[utf8(&program), "far", &far.to_string()]);
        let text = said(&output);
        let says = text.contains("mappings of shared memory that there is no room for");
        assert_eq!(says, is_said, "{far}: {text}");
        assert!(is_said || differences(&output).is_empty(), "{far}: {text}");
        assert_eq!(tables(&output), ALL, "{far}: {text}");
    }
}

/// What others may write is said. In the child is what its parent had written.
#[test]
fn memory_of_a_family_is_said_and_agrees() {
    let scratch = Scratch::new("sums-family");
    let Some(program) = program(&scratch, "shared_family.c") else { return };
    for more in [&[][..], &["--follow"]] {
        let output = compared_with(&scratch, &[utf8(&program)], more, "");
        let text = said(&output);
        assert!(text.contains("not exact: memory is shared with others"), "{more:?}: {text}");
        let differ = |line: &&str| line.contains("differ;") && !line.contains(", 0 differ;");
        assert_eq!(text.lines().find(differ), None, "{more:?}: {text}");
        assert_eq!(tables(&output), ALL, "{more:?}: {text}");
    }
}

/// Scenes of files that are mapped here and there, in pieces, moved and written to (`tests/programs/homes.c`), also where
/// numbers of functions are looked for in what they left.
#[test]
fn files_that_are_mapped_here_and_there_agree() {
    let scratch = Scratch::new("sums-homes");
    let Some(program) = program(&scratch, "homes.c") else { return };
    for options in ["", "--sums-numbers=150"] {
        let output = compared_with(&scratch, &[utf8(&program)], &[], options);
        assert_eq!(differences(&output), [""; 0], "{options}");
        assert!(tables(&output) >= ALL - 1, "{options}: {}", said(&output));
    }
}

/// A file that grows keeps its numbers up to a multiple of its first bytes. Beyond that it counts anew, which is said.
#[test]
fn a_file_that_grows_counts_anew() {
    let scratch = Scratch::new("sums-grows");
    let Some(program) = program(&scratch, "homes.c") else { return };
    let says = "mappings of shared memory that there is no room for";
    for (first, then, is_said) in [("5", "32", false), ("5", "33", true), ("1", "16", false)] {
        let output = compared(&scratch, &[utf8(&program), "grows", first, then]);
        let text = said(&output);
        assert_eq!(text.contains(says), is_said, "{first} {then}: {text}");
        assert_eq!(text.contains("not exact"), is_said, "{first} {then}: {text}");
        assert_eq!(tables(&output), ALL, "{first} {then}: {text}");
        let differ = |line: &&str| line.contains("differ;") && !line.contains(", 0 differ;");
        assert_eq!(text.lines().find(differ), None, "{first} {then}");
    }
}

/// What was written to a file is known when it is mapped again behind thousands of others; what nobody wrote to gives its place.
#[test]
fn thousands_of_files_agree() {
    agrees("homes.c", &["many", "17000"]);
}

/// A child has what its parent wrote to a large file, wherever it was mapped, and each has what it writes itself.
#[test]
fn large_files_of_a_family_agree() {
    let scratch = Scratch::new("sums-large-family");
    let Some(program) = program(&scratch, "homes.c") else { return };
    for more in [&[][..], &["--follow"]] {
        let output = compared_with(&scratch, &[utf8(&program), "family"], more, "");
        let text = said(&output);
        assert!(text.contains("not exact: memory is shared with others"), "{more:?}: {text}");
        let differ = |line: &&str| line.contains("differ;") && !line.contains(", 0 differ;");
        assert_eq!(text.lines().find(differ), None, "{more:?}: {text}");
        assert_eq!(tables(&output), ALL, "{more:?}: {text}");
    }
    // Each of two children reads at one address the thirty bytes that it wrote at another one.
    let sums = std::fs::read_to_string(scratch.path("sums")).expect("sums");
    let row = "flow\twrite_child\tread_child\tglobal\t60\t60\t60\t";
    assert!(sums.lines().any(|line| line.starts_with(row)), "{sums}");
}
