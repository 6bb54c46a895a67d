//! Where an image is, by what the kernel and the loader mapped of it.

use super::{Folder, compile, run};
use crate::image::Image;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Prints where it is mapped, then where its `main` is.
const TELLS: &str = r#"
#include <stdio.h>
int written[3000] = { 1 };
int main(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int c;
    while ((c = getc(maps)) != EOF)
        putchar(c);
    printf("%p\n", (void *)main);
    return written[0] - 1;
}
"#;

/// (address, offset, whether it is executable) of each mapping, by file.
fn mappings(maps: &str) -> BTreeMap<&str, Vec<(u64, u64, bool)>> {
    let mut files: BTreeMap<&str, Vec<(u64, u64, bool)>> = BTreeMap::new();
    let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
    for line in maps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [range, rights, offset, _, _, path] = words[..]
            && path.starts_with('/')
        {
            let (start, _) = range.split_once('-').unwrap();
            let executable = rights.contains('x');
            files.entry(path).or_default().push((hex(start), hex(offset), executable));
        }
    }
    files
}

/// (offset, address, bytes in the file, whether it is executable) of each PT_LOAD as readelf prints them.
fn loads(path: &Path) -> Option<Vec<(u64, u64, u64, bool)>> {
    let text = run(Command::new("readelf").arg("-lW").arg(path))?;
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
    let rows = text.lines().filter_map(|line| line.trim_start().strip_prefix("LOAD"));
    Some(
        rows.map(|row| {
            let words: Vec<&str> = row.split_whitespace().collect();
            (hex(words[0]), hex(words[1]), hex(words[3]), words[5..].contains(&"E"))
        })
        .collect(),
    )
}

/// Every mapping of the program, of the C library and of ld.so as the kernel shows them.
#[test]
fn every_mapping_of_a_running_program_gives_its_bias() {
    let layouts: [(&str, &[&str]); 9] = [
        ("lld", &["-fuse-ld=lld"]),
        ("mold", &["-fuse-ld=mold"]),
        ("pie", &["-pie", "-fPIE"]),
        ("fixed", &["-no-pie"]),
        ("moved", &["-no-pie", "-Wl,-Ttext-segment=0x7f0000"]),
        ("pages", &["-Wl,-z,max-page-size=65536"]),
        ("together", &["-Wl,-z,noseparate-code"]),
        ("gold", &["-fuse-ld=gold"]),
        ("static", &["-static-pie"]),
    ];
    for (name, flags) in layouts {
        let folder = Folder::new(&format!("mapping-{name}"));
        std::fs::write(folder.0.join("tells.c"), TELLS).unwrap();
        let program = folder.0.join("program");
        let mut gcc = Command::new("gcc");
        gcc.args(flags).args(["-o", "program", "tells.c"]).current_dir(&folder.0);
        if run(&mut gcc).is_none() {
            continue;
        }
        let Some(text) = run(&mut Command::new(&program)) else { continue };
        let main_at = text.lines().last().unwrap().trim_start_matches("0x");
        let main_at = u64::from_str_radix(main_at, 16).unwrap();
        let mut compared = 0;
        for (path, mapped) in mappings(&text) {
            let Ok(image) = Image::open(Path::new(path)) else { continue };
            let bias_at = |(address, offset, executable): (u64, u64, bool)| {
                image.bias_of_mapping(address, offset, executable)
            };
            let bias = bias_at(mapped[0]);
            let main = image.functions.iter().find(|f| f.name == "main");
            if path.ends_with("/program") {
                assert_eq!(bias, Some(main_at - main.unwrap().address), "{name}");
                assert_eq!(bias == Some(0), !image.pie, "{name}");
            }
            for &(address, offset, executable) in &mapped {
                // Where data of two segments share a page of the file, its first mapping is the one meant.
                let first = mapped.iter().all(|m| m.1 != offset || m.0 >= address);
                if executable || first {
                    let found = bias_at((address, offset, executable));
                    assert_eq!(found, bias, "{name}: {path} {address:#x} {offset:#x}");
                    compared += 1;
                }
            }
            let (start, offset, executable) = mapped[0];
            assert_eq!(bias_at((start + 0x800, offset, executable)), None);
            assert_eq!(bias_at((start, 1 << 40, executable)), None, "not in the file");
        }
        assert!(compared >= 3, "{name}: {compared}");
    }
}

/// On systems with larger pages, mappings begin further before their segment.
#[test]
fn segments_are_found_with_the_pages_of_every_system() {
    let layouts: [(&str, &[&str]); 3] = [
        ("gcc", &["-Wl,-z,max-page-size=65536"]),
        ("aarch64-linux-gnu-gcc", &[]),
        ("riscv64-linux-gnu-gcc", &["-Wl,-z,max-page-size=65536"]),
    ];
    for (compiler, flags) in layouts {
        let folder = Folder::new(&format!("pages-{compiler}"));
        let Some(path) = compile(&folder, compiler, flags) else { continue };
        let Some(loads) = loads(&path) else { continue };
        let image = Image::open(&path).unwrap();
        assert!(image.pie && loads.len() >= 2);
        let bias = 0x7f55_5000_0000;
        for page in [4 << 10, 16 << 10, 64 << 10] {
            for (i, &(offset, address, bytes, executable)) in loads.iter().enumerate() {
                let begins = offset / page * page;
                let shared =
                    |l: &(u64, u64, u64, bool)| l.0 / page * page <= begins && begins < l.0 + l.2;
                if bytes == 0 || loads[..i].iter().any(|l| l.3 == executable && shared(l)) {
                    continue;
                }
                let at = bias + address / page * page;
                let found = image.bias_of_mapping(at, begins, executable);
                assert_eq!(found, Some(bias), "{compiler} {page} {offset:#x}");
            }
        }
    }
}
