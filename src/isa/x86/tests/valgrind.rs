//! What the decoder says of the memory that a program touches, against what valgrind saw.

use crate::event::Isa;
use crate::isa::Decoder;
use crate::isa::x86::X86;

/// Bytes of a static ELF at an address.
fn elf_code(path: &std::path::Path) -> impl Fn(u64) -> Option<Vec<u8>> + use<> {
    let bytes = std::fs::read(path).unwrap();
    let segments: Vec<(u64, Vec<u8>)> = goblin::elf::Elf::parse(&bytes)
        .unwrap()
        .program_headers
        .iter()
        .filter(|h| h.p_type == goblin::elf::program_header::PT_LOAD)
        .map(|h| (h.p_vaddr, bytes[h.file_range()].to_vec()))
        .collect();
    move |address| {
        let (start, data) =
            segments.iter().find(|(s, d)| (*s..*s + d.len() as u64).contains(&address))?;
        let at = (address - start) as usize;
        Some(data[at..data.len().min(at + 16)].to_vec())
    }
}

const PROGRAM: &str = r#"
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <math.h>
    struct point { double x, y; char name[24]; };
    static int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
    static double norm(struct point p) { return sqrt(p.x * p.x + p.y * p.y); }
    static long double mix(long double a, long double b) { return a * b + a / b; }
    int main(int argc, char **argv) {
        int v[40]; char s[200], t[200]; unsigned long long acc = 0; _Atomic int lock = 0;
        for (int i = 0; i < 40; i++) v[i] = (i * 7919) % 101;
        qsort(v, 40, sizeof *v, cmp);
        memset(s, 'a', 150); s[150] = 0; memcpy(t, s, 151); strcat(t, "tail");
        acc += strlen(t) + strcmp(s, t) + (memchr(t, 'l', 160) != 0) + (strstr(t, "tai") - t);
        struct point p = {3 + argc, 4, "abc"}; struct point *q = malloc(sizeof p); *q = p;
        acc += (unsigned long long)(norm(*q) + mix(acc, 3.5L) + strtod("12.75e1", 0));
        lock += 3; __atomic_fetch_add(&lock, 2, __ATOMIC_SEQ_CST); __atomic_exchange_n(&lock, 4, __ATOMIC_SEQ_CST);
        float f = 1.5f; for (int i = 1; i < 20; i++) { f = f * i / (i + 0.5f); acc ^= (unsigned)f; acc = acc * 31 + (acc >> 60); }
        __asm__ volatile("mov %1,%%rdi; lea 20(%1),%%rsi; mov $33,%%ecx; rep movsb; mov %1,%%rdi; mov $4,%%ecx; rep stosq;"
            "mov %1,%%rdi; mov %2,%%rsi; mov $9,%%ecx; repe cmpsb; push %%rax; popq 8(%1); pushq 8(%1); pop %%rax; mov $70,%%eax; bts %%rax,(%1)"
            : "+m"(acc) : "r"(s), "r"(t) : "rdi", "rsi", "rcx", "rax", "memory", "cc");
        printf("%llu %d %.3f %s\n", acc, (int)lock, (double)f, t + 140);
        return 0;
    }
"#;

/// The accesses of a line of lackey's log.
fn lackey_accesses(line: &str) -> Vec<(bool, u32)> {
    let size = line.rsplit(',').next().and_then(|s| s.parse().ok()).unwrap_or(0);
    match line.as_bytes()[1] {
        b'L' => vec![(false, size)],
        b'S' => vec![(true, size)],
        b'M' => vec![(false, size), (true, size)],
        _ => Vec::new(),
    }
}

/// Says what is skipped, past the harness, which keeps what `eprintln!` writes.
pub fn skipped(why: &str) {
    let line = format!("skipped: the x86 decoder against {why}\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
}

/// What the decoder says against what valgrind saw, step by step, with the differences that are
/// valgrind's own taken out.
#[test]
fn memory_agrees_with_valgrind() {
    let have = |tool: &str| {
        std::process::Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success())
    };
    if !have("gcc") || !have("valgrind") {
        skipped("valgrind: needs gcc and valgrind");
        return;
    }
    let dir = std::env::temp_dir().join(format!("addfg-x86-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("p.c"), PROGRAM).unwrap();
    let (mut steps, mut differences) = (0u64, std::collections::BTreeMap::<String, u64>::new());
    for level in [&["-O0"][..], &["-O2"], &["-O3", "-mavx2", "-mfma"]] {
        let run = |program: &str, args: &[&str]| {
            std::process::Command::new(program)
                .args(args)
                .current_dir(&dir)
                .output()
                .is_ok_and(|o| o.status.success())
        };
        if !run("gcc", &[level, &["-static", "-no-pie", "p.c", "-o", "p", "-lm"]].concat()) {
            skipped("valgrind: gcc cannot link a static program here");
            return;
        }
        let trace =
            ["--vex-guest-chase=no", "--tool=lackey", "--trace-mem=yes", "--log-file=p.log", "./p"];
        if !run("valgrind", &trace) {
            skipped(&format!("valgrind: it cannot run a program made with {level:?}"));
            continue;
        }
        let code = elf_code(&dir.join("p"));
        let log = std::fs::read_to_string(dir.join("p.log")).unwrap();
        let mut decoder = X86::new(Isa::X86_64);
        let mut known = std::collections::HashMap::new();
        let mut lines = log.lines().filter(|l| !l.starts_with("==") && l.len() > 3).peekable();
        while let Some(line) = lines.next() {
            if !line.starts_with("I  ") {
                continue;
            }
            let address = u64::from_str_radix(line[3..].split(',').next().unwrap(), 16).unwrap();
            let mut seen = Vec::new();
            while let Some(data) = lines.next_if(|l| !l.starts_with("I  ")) {
                seen.extend(lackey_accesses(data));
            }
            let d = known
                .entry(address)
                .or_insert_with(|| code(address).and_then(|b| decoder.decode(address, &b, false)));
            let Some(d) = d else { continue };
            steps += 1;
            let guarded = d.condition.is_some();
            let expected: Vec<(bool, u32)> =
                d.memory.iter().map(|m| (m.is_write, m.size)).collect();
            if expected == seen || guarded && seen.is_empty() {
                continue;
            }
            let kind = if d.text.starts_with("bt") {
                "bit tests go through single bytes"
            } else if seen.len() == 3 && seen[1..] == expected {
                "locked: one load more"
            } else if matches!(expected[..], [(false, _)]) && seen.is_empty() {
                "load of a value that nobody uses is optimised away"
            } else {
                "?"
            };
            let mnemonic = d.text.split(' ').next().unwrap();
            *differences
                .entry(format!("{kind}: {mnemonic} {expected:?} valgrind {seen:?}"))
                .or_default() += 1;
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
    let total: u64 = differences.values().sum();
    eprintln!("{steps} steps, {total} differ: {differences:#?}");
    assert!(steps == 0 || steps > 100_000);
    assert!(!differences.keys().any(|k| k.starts_with('?')));
}
