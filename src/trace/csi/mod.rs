//! CSI path tracing: the control flow of functions numbered after Ball and Larus, from the section
//! `.debug_PT` of a program, an object file or a text, and dumps of frames with the numbers of the
//! paths that they had run.

pub mod frames;
pub mod metadata;

use super::Format;
use crate::event::Carries;

/// Section with the descriptions.
pub const SECTION: &str = ".debug_PT";

pub struct Csi;

impl Format for Csi {
    fn name(&self) -> &'static str {
        "csi"
    }
    fn about(&self) -> &'static str {
        "CSI path tracing: .debug_PT of a program, object file or text; dumps of frames with their path arrays; core files"
    }
    fn record(&self) -> &'static str {
        "csi-cc --trace=pt program.c; run it; addfg build core --elf program, or a dump of its frames by gdb (docs/csi.md)"
    }
    fn carries(&self) -> Carries {
        Carries { calls: true, paths: true, ..Carries::default() }
    }
    fn sniff(&self, head: &[u8]) -> bool {
        head.starts_with(b"\x7fELF") || metadata::sniff(head) || frames::sniff(head)
    }
    fn help(&self) -> &'static str {
        "Descriptions (.debug_PT), a line each:\n\
         \x20   #                            then the name of a function, then its blocks:\n\
         \x20   id|ENTRY|line|-1|line        -1: here the number of a finished path is stored; NULL: no lines; id|EXIT: the end\n\
         \x20   $                            then its edges:\n\
         \x20   a->b|increment$weight        ~> for an edge that ends a path and begins another: the numbers are those of the next path\n\
         Frames, innermost first, ? for what is missing:\n\
         \x20   ~~function:line:file:slot:{path, path, ...}:current:{calls}:{blocks}\n\
         An empty line, or one of something else, separates stacks. A core file (x86-64) gives them itself: its stacks are followed with\n\
         the unwinding tables of the files given with --elf, the arrays are found by their DWARF names.\n\
         The section is taken from the programs given with --elf, too. Numbers are checked: the paths of each block must be numbered\n\
         without gap, and what the program counts must come to the number of the path; a function where they do not is loaded without\n\
         its paths. `addfg paths` lists and draws what was run."
    }
}
