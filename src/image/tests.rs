//! Programs compiled here, compared with what readelf, objdump, addr2line, gdb and valgrind say of
//! them; each is skipped, and says so, where its tool is missing.

use super::*;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::Command;
use std::sync::LazyLock;

mod debug_files;
mod mapping;

const MAIN: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct point { int x, y; };
unsigned char quant[64];
struct point *origin, corner = { 1, 2 };
const char label[5] = "abcd";
static int counter = 3;
int matrix[3][4] = { { 1 } };
char *const phrases[2] = { "a", "b" };
void (*handler)(int, const char *);
int (*rows)[4] = matrix;
__thread int mine = 4;
volatile short ticks;
enum colour { RED, BLUE } paint = BLUE;
typedef struct point points[2];
points pair = { { 3, 4 } };
static int helper(int x) { return x * 3 + counter++; }
int (*keep)(int) = helper;
__attribute__((cold, noinline)) void complain(int x) { printf("no %d\n", x); }
__attribute__((noinline)) int checked(int x)
{
    static int calls;
    calls++;
    if (x > 1000) {
        complain(x);
        complain(x + calls);
        exit(1);
    }
    return keep(x) + quant[x & 63] + mine;
}
int alias_one(int) __attribute__((alias("checked")));
int _alias(int) __attribute__((weak, alias("checked")));
int other(int);
int main(int argc, char **argv)
{
    char buffer[99];
    memset(buffer, argc, sizeof buffer);
    memcpy(quant, buffer, 64);
    ticks++;
    printf("%p\n", (void *)main);
    return (checked(argc) + other(argc)) * 0 + (strlen(argv[0]) == 0);
}
"#;

const OTHER: &str = r#"
static int counter = 7;
static int helper(int x) { return x - counter++; }
int (*keep2)(int) = helper;
int other(int x) { static int calls; return keep2(x) + calls++; }
asm(".text\n.globl bare\nbare: nop\nnop\n.globl sized\n.type sized, %function\nsized: nop\nnop\nnop\nnop\n"
    ".type inner, %function\ninner: nop\n.size inner, .-inner\nlabel_in: nop\n.size sized, .-sized\n");
"#;

/// A folder that vanishes.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("addfg-image-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Says what is skipped, past the harness, which keeps what `println!` writes.
fn skipped(command: &Command, why: &str) {
    let name = command.get_program();
    let _ = writeln!(std::io::stderr(), "skipped: {}: {}", name.display(), why.trim_end());
}

/// Output of a command; None, with the reason printed, if it is not there or fails.
fn run(command: &mut Command) -> Option<String> {
    match command.output() {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => {
            skipped(command, &String::from_utf8_lossy(&output.stderr));
            None
        }
        Err(error) => {
            skipped(command, &error.to_string());
            None
        }
    }
}

/// Compiles the two files above.
fn compile(folder: &Folder, compiler: &str, flags: &[&str]) -> Option<PathBuf> {
    let program = folder.0.join("program");
    std::fs::write(folder.0.join("main.c"), MAIN).unwrap();
    std::fs::write(folder.0.join("other.c"), OTHER).unwrap();
    run(Command::new(compiler)
        .args(flags)
        .args(["-o", "program", "main.c", "other.c"])
        .current_dir(&folder.0))?;
    Some(program)
}

#[derive(Clone, Debug)]
struct Row {
    address: u64,
    size: u64,
    kind: String,
    absolute: bool,
    name: String,
    unit: Option<usize>,
}

/// The symbol table as readelf prints it.
fn readelf(path: &Path, arm: bool) -> Option<Vec<Row>> {
    let text = run(Command::new("readelf").arg("-sW").arg(path))?;
    let text = text.split("'.symtab'").nth(1)?;
    let mut rows = Vec::new();
    let mut unit = 0;
    for line in text.lines() {
        // binutils 2.44 has a column more where there is something to say: `[VARIANT_PCS]`.
        let words: Vec<&str> = line.split_whitespace().filter(|w| !w.starts_with('[')).collect();
        let [number, value, size, kind, bind, _, section, name, ..] = words[..] else { continue };
        if !number.ends_with(':') || number == "Num:" || section == "UND" {
            continue;
        }
        if kind == "FILE" {
            unit += 1;
            continue;
        }
        let value = u64::from_str_radix(value, 16).unwrap();
        rows.push(Row {
            address: if arm && kind != "OBJECT" { value & !1 } else { value },
            size: size
                .strip_prefix("0x")
                .map_or_else(|| size.parse().unwrap(), |s| u64::from_str_radix(s, 16).unwrap()),
            kind: kind.to_owned(),
            absolute: section == "ABS",
            name: name.to_owned(),
            unit: (bind == "LOCAL").then_some(unit),
        });
    }
    Some(rows)
}

/// The entry of the function at an address: the rules of "Functions and symbols", word by word.
struct Model {
    /// Range and entry of the function that has it.
    claims: Vec<(u64, u64, u64)>,
}

impl Model {
    fn new(image: &Image, rows: &[Row]) -> Model {
        let mapping = |n: &str| {
            ["$a", "$t", "$d", "$x"]
                .iter()
                .any(|m| n == *m || n.starts_with(&format!("{m}.")) || n.starts_with("$xrv"))
        };
        let section = |a: u64| {
            image.sections.iter().find(|s| s.executable && s.address <= a && a < s.address + s.size)
        };
        let function = |r: &Row| r.kind == "FUNC" || r.kind == "IFUNC";
        let covers = |r: &&Row, a: u64| r.size > 0 && r.address <= a && a < r.address + r.size;
        let functions: Vec<&Row> = rows.iter().filter(|r| function(r)).collect();
        let untyped = rows.iter().filter(|r| {
            r.kind == "NOTYPE" && !r.absolute && !mapping(&r.name) && section(r.address).is_some()
        });
        let untyped = untyped.filter(|r| !functions.iter().any(|f| covers(f, r.address)));
        let all: Vec<&Row> = functions.iter().copied().chain(untyped).collect();
        let code: Vec<&Row> = all
            .iter()
            .copied()
            .filter(|r| r.size > 0 || !all.iter().any(|s| covers(s, r.address)))
            .collect();
        let mut claims = Vec::new();
        for row in &code {
            let next = code
                .iter()
                .map(|r| r.address)
                .filter(|&a| a > row.address)
                .min()
                .unwrap_or(u64::MAX);
            let end = match row.size {
                0 => section(row.address).map_or(row.address, |s| next.min(s.address + s.size)),
                size => row.address + size,
            };
            let whole = row
                .name
                .split_once(".cold")
                .map(|(whole, _)| code.iter().filter(|r| r.name == whole).collect::<Vec<_>>());
            let whole = whole.unwrap_or_default();
            let owner = whole
                .iter()
                .find(|r| r.unit == row.unit)
                .or_else(|| whole.iter().find(|r| r.unit.is_none()))
                .or(whole.first());
            claims.push((row.address, end, owner.map_or(row.address, |r| r.address)));
        }
        Model { claims }
    }

    fn entry(&self, address: u64) -> Option<u64> {
        let holding = self.claims.iter().filter(|c| c.0 <= address && address < c.1);
        holding.min_by_key(|c| (c.1 - c.0, Reverse(c.0), c.2)).map(|c| c.2)
    }
}

fn is_plt(image: &Image, address: u64) -> bool {
    let mut plt = image.sections.iter().filter(|s| s.name.starts_with(".plt") || s.name == ".iplt");
    plt.any(|s| s.address <= address && address < s.address + s.size)
}

fn check_functions(path: &Path) {
    let image = Image::open(path).unwrap();
    let Some(rows) = readelf(path, image.isa == Isa::Arm) else { return };
    let model = Model::new(&image, &rows);
    let mut edges: BTreeSet<u64> =
        model.claims.iter().flat_map(|c| [c.0, c.1, c.0.midpoint(c.1)]).collect();
    edges.extend(edges.clone().iter().map(|e| e.wrapping_sub(1)));
    let space = AddressSpace::new(vec![Loaded {
        image: Image::open(path).unwrap().into(),
        bias: 0x1000_0000,
    }]);
    let mut compared = 0;
    for address in edges {
        if is_plt(&image, address) {
            continue;
        }
        let found = space.function_at(address.wrapping_add(0x1000_0000));
        assert_eq!(
            found.map(|f| space.function(f).address),
            model.entry(address),
            "{} at {address:#x}",
            path.display()
        );
        compared += 1;
    }
    assert!(compared > 3);
    for function in image.functions.iter().filter(|f| !is_plt(&image, f.address)) {
        let mut expected: BTreeSet<&str> = rows
            .iter()
            .filter(|r| {
                r.address == function.address
                    && (r.kind == "FUNC" || r.kind == "IFUNC" || r.kind == "NOTYPE")
            })
            .map(|r| r.name.as_str())
            .filter(|n| !n.starts_with('$') && !n.contains(".cold"))
            .collect();
        // Untyped and unsized names of a place where something better stands are dropped.
        let names: BTreeSet<&str> = function.names.iter().map(String::as_str).collect();
        expected.retain(|n| {
            names.contains(n)
                || rows.iter().any(|r| r.name == **n && r.address == function.address && r.size > 0)
        });
        assert_eq!(names, expected, "{}", path.display());
    }
    let shown: BTreeSet<&str> = space.functions().map(|f| space.display_name(f)).collect();
    assert_eq!(shown.len(), image.functions.len(), "shown names are unique");
}

/// Entries of the linkage table against objdump's labels.
fn check_plt(path: &Path, objdump: &str) {
    let image = Image::open(path).unwrap();
    let Some(text) = run(Command::new(objdump).arg("-d").arg(path)) else { return };
    let labels = text.lines().filter_map(|line| line.strip_suffix("@plt>:")?.split_once(" <"));
    for (address, name) in labels {
        let address = u64::from_str_radix(address, 16).unwrap();
        let stub = image
            .functions
            .iter()
            .find(|f| f.ranges.iter().any(|r| r.0 <= address && address < r.1));
        let stub = stub.unwrap_or_else(|| panic!("{}: {name} at {address:#x}", path.display()));
        // objdump names static IFUNC entries by any alias, or by the address of the resolver.
        let resolver = name
            .strip_prefix("*ABS*+0x")
            .and_then(|h| h.split('@').next().and_then(|h| u64::from_str_radix(h, 16).ok()));
        let resolver = resolver
            .and_then(|a| image.functions.iter().find(|f| f.address == a))
            .map(|f| f.name.clone());
        assert_eq!(
            stub.name,
            format!("{}@plt", resolver.as_deref().unwrap_or(name)),
            "{}",
            path.display()
        );
        assert_eq!(stub.kind, FunctionKind::Stub);
        assert_eq!(stub.address, address);
    }
    let plt0 = image.functions.iter().filter(|f| f.name == "<plt0>").count();
    assert!(plt0 <= 1);
}

/// Lines against binutils' addr2line, over every fourth address of the program's own functions.
fn check_lines(path: &Path, addr2line: &str) {
    let image = Image::open(path).unwrap();
    let own = ["main", "checked", "alias_one", "helper", "other", "complain"];
    let functions = image.functions.iter().filter(|f| own.contains(&f.name.as_str()));
    let addresses: Vec<u64> = functions
        .flat_map(|f| &f.ranges)
        .flat_map(|&(start, end)| (start..end).step_by(4))
        .collect();
    assert!(addresses.len() > 20);
    let Some(text) = run(Command::new(addr2line)
        .arg("-e")
        .arg(path)
        .args(addresses.iter().map(|a| format!("{a:#x}"))))
    else {
        return;
    };
    for (address, expected) in addresses.iter().zip(text.lines()) {
        let expected = expected.split(" (disc").next().unwrap();
        let found =
            image.line(*address).map_or("??:?".into(), |(file, line)| format!("{file}:{line}"));
        let same = |text: &str| text.rsplit('/').next().unwrap_or_default().replace(":0", ":?");
        // A row without a line: binutils tells the file.
        assert!(
            same(&found) == same(expected) || expected.ends_with('?') && found == "??:?",
            "{address:#x}: {found} {expected}"
        );
    }
}

/// LLD leaves such symbols in `.iplt`.
#[test]
fn unsized_symbols_leave_the_entries_of_linkage_tables_alone() {
    let folder = Folder::new("unsized-plt");
    let flags = ["-O1", "-no-pie", "-fcf-protection=none", "-Wl,-z,lazy"];
    let Some(path) = compile(&folder, "gcc", &flags) else { return };
    let stubs = |path: &Path| {
        let functions = Image::open(path).unwrap().functions;
        let stubs = functions.into_iter().filter(|f| f.kind == FunctionKind::Stub);
        stubs.map(|f| (f.name, f.ranges)).collect::<Vec<_>>()
    };
    let before = stubs(&path);
    assert!(before.len() >= 3, "{before:?}");
    let mut add = Command::new("objcopy");
    add.args(["--add-symbol", "covers=.plt:0x10,function,global"]).arg(&path);
    if run(&mut add).is_some() {
        assert_eq!(stubs(&path), before);
    }
}

#[test]
fn functions_lines_and_linkage_tables_are_those_of_binutils() {
    let native: [(&str, &[&str]); 6] = [
        ("pie", &["-O2", "-g"]),
        ("static", &["-O2", "-g", "-static"]),
        ("ibt", &["-O2", "-g", "-fcf-protection", "-Wl,-z,ibtplt", "-no-pie"]),
        ("now", &["-O1", "-g", "-Wl,-z,now", "-gz"]),
        ("dwarf4", &["-O0", "-gdwarf-4", "-Wl,--compress-debug-sections=zlib-gnu"]),
        ("static-pie", &["-O3", "-g", "-static-pie"]),
    ];
    for (name, flags) in native {
        let folder = Folder::new(name);
        let Some(path) = compile(&folder, "gcc", flags) else { continue };
        check_functions(&path);
        check_plt(&path, "objdump");
        check_lines(&path, "addr2line");
    }
    for target in ["arm-linux-gnueabi", "aarch64-linux-gnu", "riscv64-linux-gnu"] {
        let modes: [(&str, &[&str]); 3] = [
            ("dynamic", &["-O2", "-g"]),
            ("static", &["-O2", "-g", "-static"]),
            ("thumb", &["-O2", "-g", "-mthumb", "-march=armv7-a"]),
        ];
        for (mode, flags) in modes {
            if mode == "thumb" && !target.starts_with("arm") {
                continue;
            }
            let folder = Folder::new(&format!("{target}-{mode}"));
            let Some(path) = compile(&folder, &format!("{target}-gcc"), flags) else { continue };
            check_functions(&path);
            check_plt(&path, &format!("{target}-objdump"));
            check_lines(&path, &format!("{target}-addr2line"));
            if mode == "thumb" {
                let image = Image::open(&path).unwrap();
                let main = image.functions.iter().find(|f| f.name == "main").unwrap();
                assert_eq!((main.address & 1, image.thumb(main.address)), (0, Some(true)));
            }
        }
    }
}

#[test]
fn cold_parts_aliases_and_statics_of_one_name() {
    let folder = Folder::new("names");
    let Some(path) = compile(&folder, "gcc", &["-O2", "-g", "-freorder-blocks-and-partition"])
    else {
        return;
    };
    let space =
        AddressSpace::new(vec![Loaded { image: Image::open(&path).unwrap().into(), bias: 0 }]);
    let image = &space.images()[0].image;
    let checked = image.functions.iter().find(|f| f.name == "alias_one").unwrap();
    assert_eq!(checked.names, ["alias_one", "checked", "_alias"]);
    assert_eq!(checked.ranges.len(), 2, "checked.cold is a part of it");
    assert!(image.functions.iter().all(|f| !f.name.contains(".cold")));
    let shown: BTreeSet<&str> = space.functions().map(|f| space.display_name(f)).collect();
    assert!(
        shown.contains("helper (main.c)")
            && shown.contains("helper (other.c)")
            && shown.contains("main")
    );
    let at = |name: &str| {
        image.functions.iter().find(|f| f.name == name).map(|f| f.ranges.clone()).unwrap()
    };
    // `sized` is unsized-typed `bare`'s successor; `inner` lies in `sized` and is the smaller.
    assert_eq!(at("bare")[0].1 - at("bare")[0].0, 2);
    assert_eq!(at("sized").iter().map(|r| r.1 - r.0).collect::<Vec<_>>(), [4, 1]);
    assert_eq!(at("inner").iter().map(|r| r.1 - r.0).collect::<Vec<_>>(), [1]);
}

#[test]
fn variables_are_those_of_gdb() {
    for flags in [&["-O2", "-g"][..], &["-O0", "-gdwarf-4", "-no-pie"], &["-g", "-static"]] {
        let folder = Folder::new(&format!("variables{}", flags.len() + flags[0].len() * 8));
        let Some(path) = compile(&folder, "gcc", flags) else { return };
        let image = Image::open(&path).unwrap();
        let find = |name: &str| {
            image.variables.iter().find(|v| v.name == name).unwrap_or_else(|| panic!("{name}"))
        };
        let spelled = [
            ("quant", "unsigned char[64]"),
            ("origin", "struct point *"),
            ("corner", "struct point"),
            ("label", "const char[5]"),
            ("matrix", "int[3][4]"),
            ("phrases", "char *const[2]"),
            ("handler", "void (*)(int, const char *)"),
            ("rows", "int (*)[4]"),
            ("keep", "int (*)(int)"),
            ("ticks", "volatile short int"),
            ("paint", "enum colour"),
            ("pair", "points"),
        ];
        for (name, spelling) in spelled {
            assert_eq!(find(name).type_name.as_deref(), Some(spelling));
        }
        assert!(image.variables.iter().all(|v| v.name != "mine"), "thread-local");
        assert_eq!(image.variables.iter().filter(|v| v.name == "counter").count(), 2);
        assert_eq!(image.variables.iter().filter(|v| v.name == "calls").count(), 2);
        assert_eq!(find("quant").line, Some(6));
        assert_eq!(find("quant").part(63), "quant[63]");
        assert_eq!(find("matrix").part(4 * 6 + 1), "matrix[1][2]+1");
        assert_eq!(find("pair").part(12), "pair[1]+4");
        assert_eq!(find("corner").part(4), "corner+4");

        let mut gdb = Command::new("gdb");
        gdb.args(["-batch", "-nx"]).arg(&path);
        for (name, _) in spelled {
            gdb.args(["-ex", &format!("whatis {name}")]).args([
                "-ex",
                &format!("output/x (unsigned long)&{name}"),
                "-ex",
                "echo \\n",
            ]);
            gdb.args(["-ex", &format!("output sizeof({name})"), "-ex", "echo \\n"]);
        }
        let Some(text) = run(&mut gdb) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), spelled.len() * 3, "{text}");
        for ((name, spelling), said) in spelled.iter().zip(lines.chunks(3)) {
            let dense = |s: &str| s.replace(' ', "").replace("shortint", "short");
            assert_eq!(dense(said[0]), dense(&format!("type = {spelling}")));
            assert_eq!(said[1], format!("{:#x}", find(name).address));
            assert_eq!(said[2], find(name).size.to_string());
        }
    }
}

/// A program of one source; None where the compiler is missing.
fn variables(name: &str, compiler: &str, flags: &[&str], source: &str) -> Option<Vec<Variable>> {
    let folder = Folder::new(name);
    let (file, text) = source.split_once('\n').unwrap();
    std::fs::write(folder.0.join(file), text).unwrap();
    let mut command = Command::new(compiler);
    command.args(flags).args(["-o", "program", file]).current_dir(&folder.0);
    run(&mut command)?;
    Some(Image::open(&folder.0.join("program")).unwrap().variables)
}

fn named<'a>(all: &'a [Variable], name: &str) -> &'a Variable {
    let has = |v: &&Variable| v.name == name || v.name.ends_with(&format!("_{name}"));
    all.iter().find(has).unwrap_or_else(|| panic!("{name}: {all:?}"))
}

/// Elements by the indices that the source has, at the places that gdb has (`p &a(2,1)`).
#[test]
fn arrays_of_fortran_are_those_of_gdb() {
    const SOURCE: &str = "shapes.f90
module shapes
  implicit none
  real(8) :: a(2,3) = 0, b(0:3), c(-2:2,2) = 0
  complex :: z(2)
  type inner
    integer :: k(2,2)
    real :: w
  end type
  type outer
    type(inner) :: in(3)
    integer :: n
  end type
  type(outer) :: o(2)
end module
program p
  use shapes
  a(2,1) = 1; b(0) = 1; c(-1,2) = 1; z(2) = 1; o(2)%n = 1
  print *, a(2,1) + b(0) + c(-1,2) + real(z(2)) + o(2)%n
end program
";
    let Some(all) = variables("fortran", "gfortran", &["-g", "-O0"], SOURCE) else { return };
    for (name, kind, offset, part) in [
        ("a", "real(kind=8) (2,3)", 8, "(2,1)"),
        ("a", "real(kind=8) (2,3)", 16, "(1,2)"),
        ("b", "real(kind=8) (0:3)", 24, "(3)"),
        ("c", "real(kind=8) (-2:2,2)", 48, "(-1,2)"),
        ("z", "complex(kind=4) (2)", 12, "(2)+4"),
        ("o", "outer (2)", 64 + 60, "(2)+60"),
    ] {
        let variable = named(&all, name);
        assert_eq!(variable.type_name.as_deref(), Some(kind));
        assert!(
            variable.part(offset).ends_with(&format!("{name}{part}")),
            "{}",
            variable.part(offset)
        );
    }
    let fields = &named(&all, "o").fields;
    let names: Vec<(&str, u64)> = fields.iter().map(|f| (&*f.name, f.start)).collect();
    let inner = |at| [("[].in[].k", at), ("[].in[].w", at + 16)];
    assert_eq!(names, [&inner(0)[..], &inner(20), &inner(40), &[("[].n", 60)]].concat());
}

/// Where members lie may be said by an expression, and be known to the object alone.
#[test]
fn members_lie_where_gdb_has_them() {
    const C: &str = "d.c
struct pt { int x, y, z; } p;
int main(int n, char **v) { p.y = n; return p.y; }
";
    if let Some(all) = variables("dwarf-2", "gcc", &["-gdwarf-2", "-gstrict-dwarf", "-O0"], C) {
        let names: Vec<_> = named(&all, "p").fields.iter().map(|f| (&*f.name, f.start)).collect();
        assert_eq!(names, [("x", 0), ("y", 4), ("z", 8)]);
    }
    const VIRTUAL: &str = "v.cc
struct base { int b1, b2; };
struct left : virtual base { int l; };
left object;
int main(int n, char **) { object.l = n; object.b2 = n; return object.l; }
";
    if let Some(all) = variables("virtual", "g++", &["-g", "-O0"], VIRTUAL) {
        let fields = &named(&all, "object").fields;
        assert!(fields.iter().any(|f| f.name == "l" && f.start == 8), "{fields:?}");
        assert!(
            fields.iter().all(|f| !f.name.contains("b1") && !f.name.contains("b2")),
            "{fields:?}"
        );
    }
}

/// A variable without bytes has none of the one that has its address, and link-time optimization leaves types as they are.
#[test]
fn variables_keep_their_names_and_types() {
    // In C++ it would have a byte.
    const EMPTY: &str = "e.c
struct lock {} total_lock = {};
int total = 0, other = 3;
int main(int n, char **v) { total = n; return total + other; }
";
    for compiler in ["gcc", "clang-19"] {
        let Some(all) = variables(&format!("empty-{compiler}"), compiler, &["-g", "-O0"], EMPTY)
        else {
            continue;
        };
        assert_eq!(
            (named(&all, "total").type_name.as_deref(), named(&all, "total").size),
            (Some("int"), 4)
        );
        assert!(all.iter().all(|v| v.name != "total_lock"), "{compiler}");
    }
    let flags = ["-O1", "-g", "-flto", "-ffat-lto-objects"];
    const OPTIMIZED: &str = "l.c
struct pt { int x, y; } table[4];
int main(int n, char **v) { static int calls; calls += n; table[n & 3].y = calls; return table[calls & 3].y; }
";
    if let Some(all) = variables("lto", "gcc", &flags, OPTIMIZED) {
        assert_eq!(named(&all, "table").type_name.as_deref(), Some("struct pt[4]"));
        assert_eq!(named(&all, "table").part(28), "table[3]+4");
        assert_eq!(named(&all, "table").fields.len(), 2);
        assert!(named(&all, "calls").file.as_ref().is_some_and(|file| file.ends_with("l.c")));
    }
}

/// valgrind places the program itself, and main prints where it is.
#[test]
fn bias_is_found_in_a_real_trace() {
    let folder = Folder::new("bias");
    let Some(path) = compile(&folder, "gcc", &["-O1", "-g"]) else { return };
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=lackey", "--trace-mem=yes", "--log-file=log", "./program"])
        .current_dir(&folder.0);
    let Some(printed) = run(&mut valgrind) else { return };
    let main_at = u64::from_str_radix(printed.trim().trim_start_matches("0x"), 16).unwrap();
    let image = Image::open(&path).unwrap();
    let main = image.functions.iter().find(|f| f.name == "main").unwrap();
    let log = std::fs::read_to_string(folder.0.join("log")).unwrap();
    let executed: Vec<u64> = log
        .lines()
        .filter_map(|line| {
            u64::from_str_radix(line.strip_prefix("I  ")?.split(',').next()?, 16).ok()
        })
        .collect();
    let bias = main_at.wrapping_sub(main.address);
    assert_eq!(guess_bias(&image, &executed), Some(bias));

    // The same without its symbols, from the unwind table; and the C library's.
    let bare = folder.0.join("bare");
    if run(Command::new("strip").arg("-o").arg(&bare).arg(&path)).is_some() {
        let bare = Image::open(&bare).unwrap();
        assert!(bare.stripped && bare.functions.iter().all(|f| f.kind != FunctionKind::Function));
        assert_eq!(guess_bias(&bare, &executed), Some(bias));
    }
    // Without the program's own part nothing is claimed.
    let foreign: Vec<u64> =
        executed.iter().copied().filter(|a| a.wrapping_sub(bias) >= image.load_range.1).collect();
    assert_eq!(guess_bias(&image, &foreign), None);
    let (start, end) = main.ranges[0];
    assert_eq!(
        guess_bias(&image, &(start..end).map(|a| a + bias).collect::<Vec<_>>()),
        Some(bias),
        "main alone"
    );
    assert_eq!(guess_bias(&image, &[]), None);
}

#[test]
fn what_is_no_program_is_refused_with_its_kind() {
    let path = Path::new("file");
    let says = |contents: &[u8]| {
        Image::parse(path, contents).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(
        says(b"==12345== Lackey, an example")
            .contains("starts with '==12345== La': looks like a text log")
    );
    assert!(says(b"\x1f\x8b\x08\0\0\0").contains("gzip"));
    assert!(says(b"\0\0\0\0").contains("not the ELF magic number"));
    assert!(says(b"").contains("empty"));
    assert!(says(b"\x7fELF\x02\x01\x01").contains("damaged"));
    let mut header = [0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    header[16] = 2;
    header[18] = 8;
    assert!(says(&header).contains("machine number 8 is not supported"));
    header[18] = 62;
    header[16] = 1;
    assert!(says(&header).contains("relocatable"));
    header[16] = 2;
    assert_eq!(says(&header), "");
    assert!(
        Image::open(Path::new("/nonexistent"))
            .err()
            .unwrap()
            .to_string()
            .starts_with("cannot read /nonexistent")
    );
}

#[test]
fn names_are_made_unique_and_kept_in_their_place() {
    let function = |name: &str, file: Option<&str>, address| Function {
        name: name.into(),
        names: vec![name.into()],
        kind: FunctionKind::Function,
        file: file.map(str::to_owned),
        address,
        ranges: vec![(address, address + 4)],
    };
    let mut header = [0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (header[16], header[18]) = (2, 62);
    let mut first = Image::parse(Path::new("bin/one"), &header).unwrap();
    first.load_range = (0, 0x100);
    first.functions = vec![
        function("f", Some("a/x.c"), 0),
        function("f", Some("b/x.c"), 4),
        function("f", Some("y.c"), 8),
        function("g", None, 12),
        function("h", Some("z.c"), 16),
        function("h", Some("z.c"), 20),
        function("f (y.c)", None, 24),
    ];
    let mut second = Image::parse(Path::new("bin/two"), &header).unwrap();
    second.load_range = (0, 0x100);
    second.functions = vec![function("g", None, 0), function("late", None, 0x90)];
    // The second overlaps the first's end.
    let space = AddressSpace::new(vec![
        Loaded { image: first.into(), bias: 0 },
        Loaded { image: second.into(), bias: 0xf0 },
    ]);
    let name = |address| space.function_at(address).map(|f| space.display_name(f));
    assert_eq!(name(0), Some("f (a/x.c)"));
    assert_eq!(name(5), Some("f (b/x.c)"));
    assert_eq!(name(8), Some("f (one)"), "a symbol has the name that it would have");
    assert_eq!(name(24), Some("f (y.c)"));
    assert_eq!(name(12), Some("g (one)"));
    assert_eq!(name(16), Some("h (@0x10)"));
    assert_eq!(name(0xf0), None, "of the second image, but the address is the first's");
    assert_eq!(name(0x180), Some("late"));
    assert_eq!(
        (space.image_at(0xff), space.image_at(0x100), space.image_at(0x1f0)),
        (Some(0), Some(1), None)
    );
}

/// A small program with everything in it, for breaking.
static SMALL: LazyLock<Option<Vec<u8>>> = LazyLock::new(|| {
    let folder = Folder::new("small");
    let path = compile(&folder, "gcc", &["-O2", "-g"])?;
    std::fs::read(path).ok()
});

/// Asks everything of a file that may be broken.
fn exercise(contents: &[u8]) {
    let Ok(image) = Image::parse(Path::new("broken"), contents) else { return };
    let mut addresses: BTreeMap<u64, ()> =
        [0, 1, u64::MAX, 1 << 63, image.entry].map(|a| (a, ())).into();
    addresses.extend(image.functions.iter().map(|f| (f.address, ())).take(100));
    addresses.extend(image.sections.iter().map(|s| (s.address, ())).take(100));
    let addresses: Vec<u64> = addresses.into_keys().collect();
    let _ = guess_bias(&image, &addresses);
    for &address in &addresses {
        let _ = (image.bytes(address), image.line(address), image.thumb(address));
    }
    let space =
        AddressSpace::new(vec![Loaded { image: image.into(), bias: 0xffff_ffff_ffff_f000 }]);
    for &address in &addresses {
        let address = address.wrapping_sub(4096);
        let _ = (space.section_at(address), space.bytes(address), space.line(address));
        let _ = space.variable_at(address).map(|(variable, offset)| variable.part(offset));
        let _ = space.function_at(address).map(|f| space.display_name(f).len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// No broken file makes anything panic.
    #[test]
    fn broken_files_do_not_panic(
        length in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        hits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..4u8, prop::sample::select(vec![0u64, 1, u64::MAX, 1 << 63, 0x7fff_ffff, 8, 0xff00, u64::MAX - 7]), 1..9usize),
            0..12,
        ),
    ) {
        let Some(small) = &*SMALL else { return Ok(()) };
        let mut contents = small.clone();
        let sections = u64::from_le_bytes(small[40..48].try_into().unwrap()) as usize;
        for (at, part, value, size) in hits {
            // Headers, section headers and the bytes between are hit alike; whole fields and single
            // bytes.
            let at = match part {
                0 => at.index(64 + 56 * 13),
                1 => sections + at.index(small.len() - sections),
                2 => at.index(small.len() / 8) * 8,
                _ => at.index(small.len()),
            };
            for (byte, value) in contents[at..].iter_mut().zip(value.to_le_bytes()).take(size) {
                *byte = value;
            }
        }
        if let Some(length) = length {
            contents.truncate(length.index(contents.len()));
        }
        exercise(&contents);
    }
}

/// Small programs for five processors, and files of other tools' tests where the project's shared
/// data are.
#[test]
fn programs_of_every_processor_open() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = 0;
    let folders = ["tests/data", "../shared/data"].map(|f| std::fs::read_dir(repository.join(f)));
    for folder in folders.into_iter().flatten().flatten().flatten() {
        for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let path = file.path();
            if matches!(path.extension().and_then(|e| e.to_str()), Some("elf" | "bin"))
                && std::fs::read(&path).is_ok_and(|b| b.starts_with(b"\x7fELF"))
            {
                check_functions(&path);
                found += 1;
            }
        }
    }
    assert!(found >= 8, "{found} programs");
}
