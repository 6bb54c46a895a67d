//! Whose code a function is: the program's, a run-time system's, or the dynamic linker's.
//!
//! The image decides, then the source file. A name is asked only for code without a source file in
//! an image that has a run-time system linked into it, and then only names that the C and C++
//! standards keep from programs, or that the C library itself defines.

use super::{Function, FunctionKind, Image};
use crate::text::{file_name, words};
use std::collections::BTreeSet;

words! {
    /// Whose code a function is.
    pub enum Owner {
        /// The program's, or a library's that it uses
        Program = "program",
        /// The C, C++ or Rust run-time system's
        Runtime = "runtime",
        /// The dynamic linker's
        Linker = "linker",
    }
}

/// Libraries of run-time systems, without what stands behind `.so` or the version.
const RUNTIME: &[&str] = &[
    "libc",
    "libm",
    "libmvec",
    "libpthread",
    "libdl",
    "librt",
    "libutil",
    "libresolv",
    "libgcc_s",
    "libstdc++",
    "libc++",
    "libc++abi",
    "libunwind",
];

/// Folders of the sources of compilers' libraries, and of what their headers put into programs.
const COMPILERS: &[&str] = &["/include/c++/", "/libstdc++-v3/", "/libgcc/"];

/// Folders of the sources of C libraries that firmware links, from the start or not.
const FIRMWARE_LIBC: &[&str] = &["/newlib/libc/", "/newlib/libm/", "/picolibc/"];

/// Folders of the sources of other C libraries.
const LIBC: &[&str] = &["/glibc-", "/glibc/", "/musl-"];

/// As glibc's own build has them.
const LIBC_RELATIVE: &[&str] =
    &["../sysdeps/", "../csu/", "./csu/", "./malloc/", "./libio/", "./string/", "./nptl/"];

/// What compilers and linkers add to every file: `crt1.o`, `crti.o`, `crtbegin.o`.
const START: &[&str] = &[
    "_start",
    "_init",
    "_fini",
    "_dl_relocate_static_pie",
    "__do_global_dtors_aux",
    "__do_global_ctors_aux",
    "__libc_csu_init",
    "__libc_csu_fini",
    "__gmon_start__",
    "call_weak_fn",
    "frame_dummy",
    "register_tm_clones",
    "deregister_tm_clones",
];

/// A C library that is linked into a program has one of these.
const LINKED_LIBC: &[&str] =
    &["__libc_start_main", "__libc_start_main_impl", "__libc_init_array", "__libc_setup_tls"];

/// glibc as a static library has this one; its objects are the last of a program, as linkers put them in
/// the order of the command line.
const STATIC_GLIBC: &str = "__libc_setup_tls";

/// Begins of names that only the objects of glibc, libgcc and libstdc++ have: no header puts them into a
/// program's.
const OF_LIBRARIES: &[&str] =
    &["__libc_", "_IO_", "_nl_", "_dl_", "_Unwind_", "__cxa_", "__gxx_personality"];

/// Names of the C library that programs may not define as long as they use it.
const C_LIBRARY: &[&str] = &[
    "abort",
    "aligned_alloc",
    "atexit",
    "bcmp",
    "bcopy",
    "brk",
    "bsearch",
    "bzero",
    "calloc",
    "call_fini",
    "call_init",
    "cancel_handler",
    "cfree",
    "clearerr",
    "clone",
    "clone3",
    "close",
    "exit",
    "fclose",
    "feof",
    "ferror",
    "fflush",
    "fgetc",
    "fgets",
    "fopen",
    "fopen64",
    "fprintf",
    "fputc",
    "fputs",
    "fread",
    "fread_unlocked",
    "free",
    "freopen",
    "fscanf",
    "fseek",
    "fseeko",
    "fstat",
    "ftell",
    "fwrite",
    "fwrite_unlocked",
    "getc",
    "getc_unlocked",
    "getchar",
    "getdelim",
    "getenv",
    "getline",
    "gets",
    "isalpha",
    "isdigit",
    "isspace",
    "isupper",
    "longjmp",
    "lseek",
    "madvise",
    "malloc",
    "malloc_consolidate",
    "malloc_usable_size",
    "memalign",
    "memccpy",
    "memchr",
    "memcmp",
    "memcpy",
    "memmem",
    "memmove",
    "mempcpy",
    "memrchr",
    "memset",
    "mmap",
    "mmap64",
    "mprotect",
    "mremap",
    "munmap",
    "open",
    "open64",
    "perror",
    "posix_memalign",
    "pread",
    "pread64",
    "printf",
    "ptmalloc_init",
    "putc",
    "putc_unlocked",
    "putchar",
    "puts",
    "pwrite",
    "pwrite64",
    "qsort",
    "qsort_r",
    "raise",
    "rawmemchr",
    "read",
    "readv",
    "realloc",
    "reallocarray",
    "recv",
    "recvfrom",
    "recvmsg",
    "rewind",
    "sbrk",
    "scanf",
    "send",
    "sendmsg",
    "sendto",
    "setbuf",
    "setjmp",
    "setlocale",
    "setvbuf",
    "siglongjmp",
    "sigsetjmp",
    "snprintf",
    "sprintf",
    "sscanf",
    "start_thread",
    "stpcpy",
    "stpncpy",
    "strcasecmp",
    "strcat",
    "strchr",
    "strchrnul",
    "strcmp",
    "strcoll",
    "strcpy",
    "strcspn",
    "strdup",
    "strerror",
    "strlen",
    "strncasecmp",
    "strncat",
    "strncmp",
    "strncpy",
    "strndup",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strspn",
    "strstr",
    "strtod",
    "strtok",
    "strtok_r",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "sysmalloc",
    "systrim",
    "tcache_init",
    "tolower",
    "toupper",
    "ungetc",
    "unlink_chunk",
    "vfprintf",
    "vprintf",
    "vsnprintf",
    "vsprintf",
    "wmemset",
    "write",
    "writev",
];

/// Whether a file is `libc.so.6`, `libc-2.31.so` or `libc.musl-x86_64.so.1` for `libc`: not `libcaca`,
/// and not `libc-client.so`.
fn is_library(file: &str, name: &str) -> bool {
    let Some(rest) = file.strip_prefix(name) else { return false };
    let version = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    rest == ".so"
        || rest == ".a"
        || rest.strip_prefix(".so.").is_some_and(version)
        || rest.starts_with(".musl-")
        || rest.strip_prefix('-').is_some_and(version)
}

fn is_linker(file: &str) -> bool {
    ["ld-linux", "ld-musl-", "ld64.so"].iter().any(|begin| file.starts_with(begin))
        || is_library(file, "ld")
}

impl Owner {
    /// What a file says of all code in it; None: other things decide.
    pub fn of_file(path: &str) -> Option<Owner> {
        let file = file_name(path);
        if is_linker(file) {
            return Some(Owner::Linker);
        }
        let vdso =
            file == "[vdso]" || file.starts_with("linux-vdso") || file.starts_with("linux-gate");
        (vdso || RUNTIME.iter().any(|name| is_library(file, name))).then_some(Owner::Runtime)
    }
}

/// Whether a source file is of a run-time system, as far as folders tell: `main`'s folder has a name of
/// its own. `libc`: a C library may be there.
fn is_runtime_source(path: &str, main: Option<&str>, libc: bool) -> bool {
    let is_mains = |folder: &str| main.is_some_and(|main| main.starts_with(folder));
    let within = |folders: &[&str]| {
        folders.iter().any(|folder| {
            let Some(at) = path.find(folder) else { return false };
            let behind = at + folder.trim_end_matches('/').len();
            let end = path[behind..].find('/').map_or(path.len(), |end| behind + end + 1);
            !is_mains(&path[..end])
        })
    };
    let relative = || {
        let begin = LIBC_RELATIVE.iter().find(|begin| path.starts_with(**begin));
        begin
            .and_then(|begin| begin.split('/').next())
            .is_some_and(|up| !is_mains(&format!("{up}/")))
    };
    path.contains("/rustc/") && path.contains("/library/")
        || within(COMPILERS)
        || within(FIRMWARE_LIBC)
        || libc && (within(LIBC) || relative())
}

/// The source file of the function in which a program begins, in any of the languages that name one.
fn source_of_main(image: &Image) -> Option<&str> {
    let is_main = |f: &&Function| {
        ["main", "main.main", "MAIN__"].contains(&&*f.name) || f.name.ends_with("::main")
    };
    let path = |f: &'_ Function| f.file.as_ref().is_some_and(|path| path.contains('/'));
    image.functions.iter().filter(is_main).find(|f| path(f))?.file.as_deref()
}

/// Whether a name of the symbol table is in namespace `std` or `__gnu_cxx`. A namespace of a program,
/// `stdx`, `core`, has its length before it.
fn is_std_cxx(symbol: &str) -> bool {
    let Some(rest) = symbol.strip_prefix("_Z") else { return false };
    // Guards, tables and thunks; then what is nested, with the qualifiers of its `this`.
    let rest =
        rest.strip_prefix('N').map_or(rest, |n| n.trim_start_matches(['r', 'V', 'K', 'R', 'O']));
    ["St", "Sa", "Ss", "Sb", "Si", "So", "Sd", "9__gnu_cxx", "10__cxxabiv1"]
        .iter()
        .any(|begin| rest.starts_with(begin))
        // operator new and delete.
        || ["nw", "na", "dl", "da"].iter().any(|op| rest.strip_prefix(op).is_some_and(|r| r.starts_with(['m', 'j', 'P'])))
}

/// Whether a name of the symbol table is Rust's, and of its standard library.
fn is_std_rust(symbol: &str, shown: &str) -> bool {
    let hash = |s: &str| {
        let hash = s.strip_suffix('E').and_then(|s| s.rsplit_once("17h")).map(|(_, hash)| hash);
        hash.is_some_and(|h| h.len() == 16 && h.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let rust = symbol.starts_with("_R") || symbol.starts_with("_ZN") && hash(symbol);
    let allocator =
        ["__rust_", "__rdl_", "__rg_", "rust_begin_unwind", "rust_panic", "rust_eh_personality"];
    let name = shown.trim_start_matches(['<', '&']);
    rust && ["std::", "core::", "alloc::"].iter().any(|crate_| name.starts_with(crate_))
        || allocator.iter().any(|begin| symbol.starts_with(begin))
}

/// What an image says of the code in it that has no source file.
#[derive(Clone, Debug)]
pub(super) struct Linked {
    of_file: Option<Owner>,
    /// The source file of `main`.
    main: Option<String>,
    /// It is started by a C library.
    hosted: bool,
    /// A C library is linked into it.
    libc: bool,
    /// Where it begins, if it is a program.
    entry: Option<u64>,
    /// Of a program with glibc in it: where its code begins, where that of the libraries, and where both end.
    parts: Option<(u64, u64, u64)>,
    /// Then, object files of the libraries by their names in the symbol table, which no object of the program has:
    /// linkers put code for start and end, and cold code, of all objects before the others'.
    objects: BTreeSet<String>,
}

/// Names of object files that have code in the second part and none in the first.
fn objects(image: &Image, (start, libraries, end): (u64, u64, u64)) -> BTreeSet<String> {
    let of = |part: std::ops::Range<u64>| -> BTreeSet<String> {
        let within = image.functions.iter().filter(|f| part.contains(&f.address));
        within.filter_map(|f| f.file.clone()).filter(|name| !name.contains('/')).collect()
    };
    &of(libraries..end) - &of(start..libraries)
}

/// Where the code of a program with glibc in it begins, behind `_start`, which is the first object's, and
/// where that of the run-time libraries, which are the last. None where libraries stand before the program.
fn parts(image: &Image) -> Option<(u64, u64, u64)> {
    let plain = || image.functions.iter().filter(|f| f.kind == FunctionKind::Function);
    let find = |name: &str| plain().find(|f| f.names.iter().any(|n| n == name));
    find(STATIC_GLIBC)?;
    let start = find("_start")?.address;
    let last = |s: &super::Section| s.address.saturating_add(s.size);
    let within = |s: &&super::Section| (s.address..last(s)).contains(&start);
    let end = image.sections.iter().find(within).map(last)?;
    let of_library = |name: &String| {
        !START.contains(&name.as_str()) && OF_LIBRARIES.iter().any(|begin| name.starts_with(begin))
    };
    let behind = || plain().filter(|f| (start.saturating_add(1)..end).contains(&f.address));
    let own = |f: &&Function| {
        let source = f.file.as_deref().filter(|path| path.contains('/'));
        source.is_some_and(|path| !is_runtime_source(path, None, true))
            || f.names.iter().any(|n| n == "main")
    };
    // Before the last one that is known to be the program's, a name that looks like a library's is the program's, too.
    let last_own = behind().filter(own).map(|f| f.address).max().unwrap_or(start);
    let first = behind().find(|f| f.address > last_own && f.names.iter().any(of_library))?;
    // Its object may begin with others (`call_fini`), whose names the symbol table has behind the same file's.
    let same = |f: &&Function| f.address > last_own && f.file.is_some() && f.file == first.file;
    let libraries = behind().find(same).map_or(first.address, |f| f.address.min(first.address));
    // The program is not before the libraries.
    let starts = |f: &Function| f.names.iter().any(|name| LINKED_LIBC.contains(&name.as_str()));
    let mixed = behind().any(|f| f.address < libraries && starts(f));
    (!mixed).then_some((start, libraries, end))
}

impl Linked {
    pub(super) fn of(image: &Image) -> Linked {
        let has = |names: &[&str]| {
            let plain = image.functions.iter().filter(|f| f.kind == FunctionKind::Function);
            plain.flat_map(|f| &f.names).any(|name| names.contains(&name.as_str()))
        };
        let libc = has(LINKED_LIBC);
        let interpreted = image.sections.iter().any(|s| s.name == ".interp");
        let hosted = libc || interpreted || has(&["frame_dummy", "deregister_tm_clones"]);
        let parts = parts(image);
        Linked {
            of_file: Owner::of_file(&image.path.to_string_lossy()),
            main: source_of_main(image).map(str::to_owned),
            hosted,
            libc,
            entry: Some(image.entry).filter(|entry| *entry != 0 && (libc || interpreted)),
            parts,
            objects: parts.map_or_else(BTreeSet::new, |parts| objects(image, parts)),
        }
    }

    pub(super) fn owner(&self, f: &Function) -> Owner {
        if let Some(owner) = self.of_file {
            return owner;
        }
        // What compilers make to call the constructors of a file: its caller is start-up, its callees are
        // the program's or not.
        let made = ["_GLOBAL__sub_", "_Z41__static_initialization_and_destruction_0"];
        if f.names.iter().any(|name| made.iter().any(|begin| name.starts_with(begin))) {
            return Owner::Runtime;
        }
        // What is no path comes from the symbol table, and says no more than a name.
        if let Some(path) = f.file.as_deref().filter(|path| path.contains('/')) {
            let starts = || f.names.iter().any(|name| START.contains(&name.as_str()));
            let libc = self.libc || self.hosted && starts();
            let of_libraries = || {
                self.parts.is_some_and(|(_, libraries, end)| (libraries..end).contains(&f.address))
            };
            return match is_runtime_source(path, self.main.as_deref(), libc) || of_libraries() {
                true => Owner::Runtime,
                false => Owner::Program,
            };
        }
        let reserved = |name: &str| {
            name.starts_with("__")
                || name.starts_with("_dl_")
                || name.starts_with("_nl_")
                || name.strip_prefix('_').is_some_and(|n| {
                    n.starts_with(|c: char| c.is_ascii_uppercase())
                        && !name.starts_with("_Z")
                        && !name.starts_with("_R")
                })
                || ["_int_", "_exit", "_tunable"].iter().any(|begin| name.starts_with(begin))
        };
        let is_own = match self.parts {
            Some((_, libraries, end)) if (libraries..end).contains(&f.address) => {
                return Owner::Runtime;
            }
            Some((start, libraries, _)) if (start..libraries).contains(&f.address) => true,
            Some(_) if f.file.as_ref().is_some_and(|name| self.objects.contains(name)) => {
                return Owner::Runtime;
            }
            _ => false,
        };
        let of_libc = |bare: &str| !is_own && (reserved(bare) || C_LIBRARY.contains(&bare));
        let named = f.names.iter().any(|name| {
            // `malloc.part.0`
            let bare = name.split('.').next().unwrap_or(name);
            self.hosted && START.contains(&bare)
                || self.libc && of_libc(bare)
                || is_std_cxx(name)
                || is_std_rust(name, &f.name)
        });
        let begins = f.kind == FunctionKind::Unnamed && self.entry == Some(f.address);
        if named || begins { Owner::Runtime } else { Owner::Program }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_run_time_system_by_its_whole_name() {
        for (path, owner) in [
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", Some(Owner::Runtime)),
            ("/lib/libc-2.31.so", Some(Owner::Runtime)),
            ("/lib/libc.musl-x86_64.so.1", Some(Owner::Runtime)),
            ("/usr/lib/libstdc++.so.6.0.30", Some(Owner::Runtime)),
            ("[vdso]", Some(Owner::Runtime)),
            ("/lib64/ld-linux-x86-64.so.2", Some(Owner::Linker)),
            ("/lib/ld-2.31.so", Some(Owner::Linker)),
            ("/lib/ld-musl-x86_64.so.1", Some(Owner::Linker)),
            ("/usr/lib/librtmp.so.1", None),
            ("/usr/lib/libc-client.so.2007e", None),
            ("/usr/lib/libcaca.so.0", None),
            ("/usr/lib/libmpfr.so.6", None),
            ("/usr/lib/libdlib.so.19", None),
            ("/usr/lib/libresolvconf.so", None),
            ("/home/a/ld", None),
            ("/home/a/vdso-test", None),
        ] {
            assert_eq!(Owner::of_file(path), owner, "{path}");
        }
    }

    fn function(name: &str, file: Option<&str>) -> Function {
        Function {
            name: super::super::demangle(name),
            names: vec![name.to_owned()],
            kind: FunctionKind::Function,
            file: file.map(str::to_owned),
            address: 16,
            ranges: vec![(16, 32)],
        }
    }

    #[test]
    fn a_bare_name_decides_nothing() {
        let dynamic = Linked {
            of_file: None,
            main: None,
            hosted: true,
            libc: false,
            entry: Some(4096),
            parts: None,
            objects: BTreeSet::new(),
        };
        let linked = Linked { libc: true, ..dynamic.clone() };
        let unlucky = [
            "init",
            "init_table",
            "free_list",
            "clone_x",
            "start_x",
            "exit_x",
            "main_loop",
            "memcpy_fast",
            "_ZN4core4stepEPji",
            "_ZN5alloc4stepEv",
            "_ZN4stdx4sortEPi",
            "_ZN6std_v24sortEPi",
        ];
        for name in unlucky {
            for image in [&dynamic, &linked] {
                assert_eq!(image.owner(&function(name, None)), Owner::Program, "{name}");
            }
        }
        // With a source file of its own, any name is the program's.
        for name in ["read", "write", "send", "malloc", "memcpy", "exit", "_start", "__helper"] {
            let own = function(name, Some("/home/a/src/x.c"));
            assert_eq!(linked.owner(&own), Owner::Program, "{name}");
        }
        // Nor where it lies before the libraries of its image; what lies behind is theirs.
        let objects = BTreeSet::from(["unwind-dw2-fde-dip.o".to_owned()]);
        let placed = Linked { parts: Some((8, 64, 128)), objects, ..linked.clone() };
        for name in
            ["read", "send", "start_thread", "main_loop", "_dl_x", "__libc_x", "_IO_x", "_Table"]
        {
            assert_eq!(placed.owner(&function(name, None)), Owner::Program, "{name}");
            let behind = Function { address: 64, ..function(name, None) };
            assert_eq!(placed.owner(&behind), Owner::Runtime, "{name}");
        }
        // Code for the end, and cold code, is before both; its object file tells whose it is.
        for (file, owner) in [
            (Some("unwind-dw2-fde-dip.o"), Owner::Runtime),
            (Some("tree.c"), Owner::Program),
            (None, Owner::Program),
        ] {
            let early = Function { address: 4, ..function("btree_destroy", file) };
            assert_eq!(placed.owner(&early), owner, "{file:?}");
        }
        for name in ["read", "write", "send", "malloc", "memcpy"] {
            assert_eq!(dynamic.owner(&function(name, None)), Owner::Program, "{name}");
        }
    }

    #[test]
    fn a_run_time_system_in_the_file_of_the_program_is_known() {
        let linked = Linked {
            of_file: None,
            main: None,
            hosted: true,
            libc: true,
            entry: None,
            parts: None,
            objects: BTreeSet::new(),
        };
        for name in [
            "__memcpy_avx_unaligned_erms",
            "_int_free",
            "__libc_start_main_impl",
            "_IO_fread",
            "_dl_fixup",
            "_start",
            "malloc",
            "frame_dummy",
            "_ZSt4sortIPiEvT_S1_",
            "_ZNSs6appendEPKc",
            "_ZNKSt6vectorIiSaIiEE4sizeEv",
            "_Znwm",
            "_ZN4core3fmt5write17h0123456789abcdefE",
        ] {
            assert_eq!(linked.owner(&function(name, None)), Owner::Runtime, "{name}");
        }
        for file in [
            "/usr/include/c++/12/bits/stl_algo.h",
            "/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/fmt/mod.rs",
            "/build/glibc-6V9RKT/glibc-2.36/csu/../csu/libc-start.c",
            "/src/musl-1.2.3/src/string/memcpy.c",
            "./string/memcpy.c",
        ] {
            assert_eq!(linked.owner(&function("any", Some(file))), Owner::Runtime, "{file}");
        }
    }

    #[test]
    fn folders_with_names_of_libraries_are_the_programs() {
        let dynamic = Linked {
            of_file: None,
            main: None,
            hosted: true,
            libc: false,
            entry: None,
            parts: None,
            objects: BTreeSet::new(),
        };
        // No C library is in the file.
        for file in ["/home/a/musl-demo/a.c", "/home/a/glibc-tests/x/a.c", "./string/a.c"] {
            assert_eq!(dynamic.owner(&function("any", Some(file))), Owner::Program, "{file}");
        }
        let start = function("_start", Some("../sysdeps/x86_64/start.S"));
        assert_eq!(dynamic.owner(&start), Owner::Runtime);
        for (main, file, owner) in [
            ("/home/a/musl-demo/main.c", "/home/a/musl-demo/src/a.c", Owner::Program),
            ("/home/a/musl-demo/main.c", "/src/musl-1.2.3/src/string/memcpy.c", Owner::Runtime),
            ("/home/a/libgcc/main.c", "/home/a/libgcc/sub/a.c", Owner::Program),
            ("/home/a/libgcc/main.c", "/build/gcc/libgcc/unwind.c", Owner::Runtime),
            ("./main.c", "./string/a.c", Owner::Program),
            ("./main.c", "../sysdeps/x86_64/memcpy.S", Owner::Runtime),
            ("/home/a/main.c", "./string/memcpy.c", Owner::Runtime),
            ("/home/a/picolibc/main.c", "/home/a/picolibc/a.c", Owner::Program),
        ] {
            let linked = Linked { main: Some(main.to_owned()), libc: true, ..dynamic.clone() };
            assert_eq!(linked.owner(&function("any", Some(file))), owner, "{main} {file}");
        }
    }
}
