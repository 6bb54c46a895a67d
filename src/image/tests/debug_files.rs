//! Names of stripped programs: debug files, exported symbols, `.gnu_debugdata` and the unwind
//! table, against the program before it was stripped.

use super::{Folder, compile, readelf, run, skipped};
use crate::image::{AddressSpace, Function, FunctionKind, Image, Loaded};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where no debug files are.
const NOWHERE: &str = "/nonexistent";

fn bare(path: &Path) -> Image {
    Image::open_with(path, Path::new(NOWHERE)).unwrap()
}

fn objcopy(folder: &Folder, arguments: &[&str]) -> Option<()> {
    run(Command::new("objcopy").args(arguments).current_dir(&folder.0)).map(drop)
}

/// What is the same of a program and of what was made of it: its functions, where variables are,
/// lines.
fn named(image: &Image) -> impl PartialEq + std::fmt::Debug {
    let functions = image.functions.iter();
    let functions =
        functions.map(|f| (f.name.clone(), f.names.clone(), f.kind, f.address, f.ranges.clone()));
    let variables = image.variables.iter().map(|v| (v.address, v.size));
    let lines = image.functions.iter().map(|f| image.line(f.address));
    (functions.collect::<Vec<_>>(), variables.collect::<Vec<_>>(), lines.collect::<Vec<_>>())
}

/// What DWARF says of them.
fn described(image: &Image) -> impl PartialEq + std::fmt::Debug {
    let files: Vec<_> = image.functions.iter().map(|f| f.file.clone()).collect();
    let variables = image.variables.iter();
    let variables =
        variables.map(|v| (v.name.clone(), v.type_name.clone(), v.file.clone(), v.line));
    (files, variables.collect::<Vec<_>>())
}

fn copy(from: &Path, to: PathBuf) -> PathBuf {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(from, &to).unwrap();
    to
}

/// A program with its debug file, named by build id or by checksum; a file of another build is
/// left.
#[test]
fn a_debug_file_gives_what_was_split_off() {
    for id in ["--build-id=sha1", "--build-id=none"] {
        let folder = Folder::new(&format!("split{id}"));
        let Some(path) = compile(&folder, "gcc", &["-O2", "-g", &format!("-Wl,{id}")]) else {
            return;
        };
        let whole = Image::open(&path).unwrap();
        let split =
            objcopy(&folder, &["--only-keep-debug", "program", "its.debug"]).and_then(|()| {
                let link = ["-S", "--add-gnu-debuglink=its.debug", "program", "stripped"];
                objcopy(&folder, &link)
            });
        if split.is_none() {
            return;
        }
        let (stripped, debug) = (folder.0.join("stripped"), folder.0.join("debug"));
        std::fs::rename(folder.0.join("its.debug"), &debug).unwrap();
        let root = folder.0.join("root");
        let image = Image::open_with(&stripped, &root).unwrap();
        assert!(image.stripped && image.debug_file.is_none());

        let beside = std::fs::canonicalize(&folder.0).unwrap();
        let mut places = vec![
            folder.0.join("its.debug"),
            folder.0.join(".debug/its.debug"),
            root.join(beside.strip_prefix("/").unwrap()).join("its.debug"),
        ];
        let notes = run(Command::new("readelf").arg("-n").arg(&path)).unwrap_or_default();
        if let Some((_, id)) = notes.split_once("Build ID: ") {
            let id = id.lines().next().unwrap();
            places.push(root.join(format!(".build-id/{}/{}.debug", &id[..2], &id[2..])));
        }
        assert_eq!(places.len(), if id.ends_with("none") { 3 } else { 4 });
        for place in places {
            let place = copy(&debug, place);
            let image = Image::open_with(&stripped, &root).unwrap();
            assert_eq!(image.debug_file.as_ref(), Some(&place));
            assert!(!image.stripped);
            assert_eq!(named(&image), named(&whole), "{}", place.display());
            if !place.starts_with(&root) {
                assert_eq!(described(&image), described(&whole), "{}", place.display());
            }
            let main = whole.functions.iter().find(|f| f.name == "main").unwrap().address;
            assert_eq!(image.bytes(main), whole.bytes(main), "code is the program's own");
            std::fs::remove_file(place).unwrap();
        }

        // Another build, or damage.
        let place = folder.0.join("its.debug");
        let mut bytes = std::fs::read(&debug).unwrap();
        bytes.push(0);
        std::fs::write(&place, bytes).unwrap();
        let known = id != "--build-id=none";
        assert_eq!(Image::open_with(&stripped, &root).unwrap().stripped, !known);
        if compile(&folder, "gcc", &["-O1", "-g", &format!("-Wl,{id}")]).is_some()
            && objcopy(&folder, &["--only-keep-debug", "program", "its.debug"]).is_some()
        {
            assert!(Image::open_with(&stripped, &root).unwrap().stripped);
        }
    }
}

/// Only DWARF is elsewhere.
#[test]
fn lines_come_from_a_debug_file_where_symbols_were_left() {
    let folder = Folder::new("lines-only");
    let Some(path) = compile(&folder, "gcc", &["-O2", "-g"]) else { return };
    let whole = Image::open(&path).unwrap();
    let made = objcopy(&folder, &["--only-keep-debug", "program", "its.debug"]).and_then(|()| {
        objcopy(&folder, &["-g", "--add-gnu-debuglink=its.debug", "program", "lean"])
    });
    if made.is_some() {
        let lean = bare(&folder.0.join("lean"));
        assert_eq!((named(&lean), described(&lean)), (named(&whole), described(&whole)));
    }
}

const LIBRARY: &str = r#"
#include <stdio.h>
static __attribute__((noinline)) int inner(int x) { printf("%d\n", x); return x * 3; }
static __attribute__((noinline, cold)) void complain(int x) { printf("no %d\n", x); }
int exported(int x) { if (x > 5) complain(x); return inner(x) + inner(x + 1); }
int _exported(int) __attribute__((alias("exported")));
int first(int x) { return inner(x) - 1; }
int second(int x) { return inner(x) - 2; }
int third(int x) { return inner(x) - 3; }
__asm__(".symver first, versioned@OLD\n.symver second, versioned@@NEW\n"
        ".symver third, replaced@OLD\n");
"#;

/// A library with two versions of a function, whole and stripped.
fn library(folder: &Folder) -> Option<(PathBuf, PathBuf)> {
    std::fs::write(folder.0.join("library.c"), LIBRARY).unwrap();
    std::fs::write(
        folder.0.join("versions"),
        "OLD { global: exported; _exported; third; versioned; replaced; local: *; };\n\
         NEW { global: versioned; } OLD;\n",
    )
    .unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-shared", "-fPIC", "-Wl,--version-script=versions", "-o", "libit.so"])
        .arg("library.c");
    run(gcc.current_dir(&folder.0))?;
    std::fs::create_dir(folder.0.join("bare")).unwrap();
    objcopy(folder, &["-S", "libit.so", "bare/libit.so"])?;
    Some((folder.0.join("libit.so"), folder.0.join("bare/libit.so")))
}

fn of<'a>(image: &'a Image, name: &str) -> &'a Function {
    let mut found = image.functions.iter().filter(|f| f.name == name);
    found.next().unwrap_or_else(|| panic!("{name} in {:?}", image.functions))
}

#[test]
fn a_stripped_library_has_what_it_exports_and_bounds() {
    let folder = Folder::new("exports");
    let Some((path, stripped)) = library(&folder) else { return };
    let (whole, image) = (bare(&path), bare(&stripped));
    assert!(image.stripped && !whole.stripped);
    assert!(!image.has_code_outside_functions());
    assert_eq!(of(&image, "exported").names, ["exported", "_exported"]);
    // The version of today has the name; what else the old one is called is shown first.
    let (new, old) = (of(&whole, "versioned"), of(&whole, "first"));
    assert_eq!((&new.names[1], &old.names[1]), (&"second".to_owned(), &"versioned".to_owned()));
    let versions = image.functions.iter().filter(|f| f.name == "versioned");
    assert_eq!(
        versions.map(|f| f.address).collect::<BTreeSet<_>>(),
        BTreeSet::from([old.address, new.address])
    );
    assert_eq!(of(&image, "third").names, ["third", "replaced"]);
    // Every other function of the compiler's has its bounds.
    for name in ["inner", "complain"] {
        let expected = of(&whole, name);
        let place = format!("libit.so+{:#x}", expected.address);
        let found = of(&image, &place);
        assert_eq!((found.kind, &found.ranges), (FunctionKind::Unnamed, &expected.ranges));
        assert!(found.names.is_empty());
    }
    assert_eq!(
        image.functions.iter().filter(|f| f.kind == FunctionKind::Stub).count(),
        whole.functions.iter().filter(|f| f.kind == FunctionKind::Stub).count(),
        "the linkage table's entries are its own"
    );
}

/// Fedora's way: the symbols that are not exported, packed into the program.
#[test]
fn packed_symbols_name_what_is_not_exported() {
    let folder = Folder::new("packed");
    let Some((path, stripped)) = library(&folder) else { return };
    std::fs::write(folder.0.join("keep"), "inner\ncomplain\nexported.cold\n").unwrap();
    let mini = ["-S", "--keep-symbols=keep", "-R", ".comment", "its.debug", "mini"];
    let made = objcopy(&folder, &["--only-keep-debug", "libit.so", "its.debug"])
        .and_then(|()| objcopy(&folder, &mini))
        .and_then(|()| run(Command::new("xz").arg("mini").current_dir(&folder.0)))
        .and_then(|_| {
            objcopy(
                &folder,
                &["--add-section", ".gnu_debugdata=mini.xz", "bare/libit.so", "packed"],
            )
        });
    if made.is_none() {
        return;
    }
    let (whole, image) = (bare(&path), bare(&folder.0.join("packed")));
    assert!(image.stripped, "it has no symbol table");
    for name in ["inner", "complain", "exported"] {
        assert_eq!(of(&image, name).ranges, of(&whole, name).ranges, "{name}");
    }
    let unnamed = image.functions.iter().filter(|f| f.kind == FunctionKind::Unnamed);
    assert_eq!(unnamed.map(|f| &f.name).collect::<Vec<_>>(), [] as [&str; 0]);
    // What is damaged is missing.
    let mut bytes = std::fs::read(folder.0.join("packed")).unwrap();
    let at = bytes.windows(6).position(|w| w == b"\xfd7zXZ\0").unwrap();
    bytes[at + 40] ^= 0xff;
    let broken = Image::parse(Path::new("packed"), &bytes).unwrap();
    assert_eq!(broken.functions.len(), bare(&stripped).functions.len());
}

/// The C library of this system, with its debug file where that is installed; every entry of its
/// unwind table where it is not.
#[test]
fn the_c_library_is_named() {
    let text = run(Command::new("gcc").arg("-print-file-name=libc.so.6")).unwrap_or_default();
    let path = Path::new(text.trim());
    if !path.is_absolute() {
        return;
    }
    let image = bare(path);
    let unnamed = |f: &&Function| f.kind == FunctionKind::Unnamed;
    assert!(image.stripped && image.functions.iter().filter(unnamed).count() > 100);
    let at = |image: Image| AddressSpace::new(vec![Loaded { image: image.into(), bias: 0 }]);
    let space = at(image);
    let image = &space.images()[0].image;
    let frames = Command::new("readelf").arg("--debug-dump=frames").arg(path).output();
    let frames =
        frames.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let mut compared = 0;
    for (start, end) in frames.lines().filter_map(|l| l.split_once(" pc=")?.1.split_once("..")) {
        let [start, end] = [start, end].map(|h| u64::from_str_radix(h, 16).unwrap());
        let middle = start.midpoint(end);
        if super::is_plt(image, middle) {
            continue;
        }
        let found = space.function_at(middle).map(|f| space.function(f));
        let found = found.unwrap_or_else(|| panic!("{start:#x}"));
        if unnamed(&found) {
            assert!(found.address.abs_diff(start) <= 1 && found.ranges[0].1 == end, "{start:#x}");
            let base = path.file_name().unwrap().to_string_lossy();
            assert_eq!(found.name, format!("{base}+{:#x}", found.address));
        }
        compared += 1;
    }
    assert!(compared > 1000 || frames.is_empty());

    let image = Image::open(path).unwrap();
    let Some(debug) = image.debug_file.clone() else {
        return skipped(&Command::new("libc6-dbg"), "no debug file of the C library");
    };
    assert!(!image.stripped);
    let rows = readelf(&debug, false).unwrap();
    let space = at(image);
    let mut compared = 0;
    for row in rows.iter().filter(|r| r.kind == "FUNC" && r.size > 0 && !r.name.contains(".cold")) {
        let found = space.function_at(row.address).map(|f| space.function(f)).unwrap();
        let name = row.name.split('@').next().unwrap();
        assert!(found.address == row.address && found.names.iter().any(|n| n == name), "{row:?}");
        compared += 1;
    }
    assert!(compared > 3000);
    let malloc = space.images()[0].image.functions.iter().find(|f| f.name == "malloc").unwrap();
    assert!(space.images()[0].image.line(malloc.address).unwrap().0.ends_with("malloc.c"));
}

/// The vdso of this process.
#[test]
fn the_vdso_is_an_image_of_bytes() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let Some(range) = maps.lines().find(|l| l.ends_with("[vdso]")) else { return };
    let (start, end) = range.split_once(' ').unwrap().0.split_once('-').unwrap();
    let [start, end] = [start, end].map(|h| u64::from_str_radix(h, 16).unwrap());
    let mut bytes = vec![0; usize::try_from(end - start).unwrap()];
    let memory = std::fs::File::open("/proc/self/mem").unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&memory, &mut bytes, start).unwrap();
    let image = Image::parse(Path::new("[vdso]"), &bytes).unwrap();
    assert_eq!(image.bias_of_mapping(start, 0, true), Some(start));
    if image.isa == crate::event::Isa::X86_64 {
        let names = &of(&image, "__vdso_clock_gettime").names;
        assert_eq!(names, &["__vdso_clock_gettime", "clock_gettime"]);
    }
    assert!(image.functions.iter().any(|f| f.name.starts_with("[vdso]+")));
}
