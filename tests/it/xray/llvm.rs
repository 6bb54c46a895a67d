//! clang's own logs and LLVM's samples against llvm-xray.

use super::problems;
use crate::common::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const LLVM: &str = "llvm-xray-19";

/// A file of LLVM's own tests, or what clang's runtime wrote.
fn xray(name: &str) -> Option<PathBuf> {
    elsewhere(&format!("xray/{name}"))
}

fn llvm(arguments: &[&str]) -> Option<String> {
    let output = Command::new(LLVM).args(arguments).output().expect("llvm-xray runs");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Fields of llvm-xray's one-line YAML maps.
fn fields(line: &str) -> BTreeMap<String, String> {
    let inner = line.trim().trim_start_matches("- {").trim_end_matches('}');
    let mut fields = BTreeMap::new();
    let mut rest = inner.trim();
    while let Some((key, after)) = rest.split_once(": ") {
        let end = match after.as_bytes().first() {
            Some(b'[') => after.find(']').map(|e| e + 1),
            Some(q @ (b'\'' | b'"')) => {
                let q = *q as char;
                after[1..].find(&format!("{q}, ")).map(|e| e + 2).or(Some(after.len()))
            }
            _ => after.find(", "),
        };
        let end = end.unwrap_or(after.len());
        fields.insert(key.trim().to_owned(), after[..end].trim().to_owned());
        rest = after[end..].trim_start_matches(',').trim_start();
    }
    fields
}

/// Bytes of a quoted text of YAML: in double quotes a backslash stands before `x00` and single
/// letters.
fn data_length(quoted: &str) -> usize {
    let inner = &quoted[1..quoted.len() - 1];
    let (mut length, mut rest) = (0, inner.as_bytes());
    while let [first, after @ ..] = rest {
        let escaped = quoted.starts_with('"') && *first == b'\\';
        rest = match after {
            [b'x', _, _, after @ ..] if escaped => after,
            [_, after @ ..] if escaped => after,
            _ => after,
        };
        length += 1;
    }
    length
}

/// Every record that `llvm-xray convert` gives is in the database, and nothing else.
fn same_records(log: &Path, db: &Path) -> usize {
    let yaml = llvm(&["convert", "-f", "yaml", log.to_str().unwrap()]).expect("llvm-xray converts");
    let mut theirs: Vec<String> = Vec::new();
    for line in yaml.lines().filter(|l| l.contains("- { type:")) {
        let f = fields(line);
        let kind = match f["kind"].as_str() {
            "function-enter" | "function-enter-arg" => "enter",
            "function-exit" => "exit",
            "function-tail-exit" => "tail exit",
            "custom-event" | "typed-event" => "data",
            other => panic!("{other}"),
        };
        let function = if kind == "data" { "" } else { f["func-id"].as_str() };
        let arguments = f.get("args").map_or(String::new(), |a| {
            a.trim_matches(['[', ']']).replace(' ', "").replace(',', " ")
        });
        let size = if kind == "data" { data_length(&f["data"]).to_string() } else { String::new() };
        theirs.push(format!(
            "{},{},{},{kind},{function},{},{size}",
            f["thread"],
            f["tsc"],
            f["cpu"],
            arguments.trim()
        ));
    }
    let sql = "SELECT t.tid, e.time, e.cpu, e.kind, n.number, coalesce(a.list, ''), '' FROM call_event e JOIN thread t USING (thread_id)
               JOIN (SELECT function_id, min(number) AS number FROM trace_function GROUP BY ALL) n USING (function_id)
               LEFT JOIN call_record r ON r.call_event = e.event_no
               LEFT JOIN (SELECT call_id, string_agg(value, ' ' ORDER BY ordinal) AS list FROM call_argument GROUP BY ALL) a
                    ON a.call_id = r.call_id
               UNION ALL
               SELECT t.tid, e.time, e.cpu, 'data', NULL, '', e.size::VARCHAR FROM trace_event e JOIN thread t USING (thread_id)";
    let mut ours: Vec<String> = rows(db, sql).into_iter().map(|r| r.replace("\"\"", "")).collect();
    theirs.sort();
    ours.sort();
    assert_eq!(ours, theirs, "{}", log.display());
    theirs.len()
}

/// What `llvm-xray account` says: number, count, then the figures as numbers of seconds (or ticks).
fn account(
    log: &Path,
    map: Option<&Path>,
    more: &[&str],
) -> Option<Vec<(u32, u64, Vec<f64>, String)>> {
    let mut arguments = vec!["account", log.to_str().unwrap(), "-f", "csv"];
    arguments.extend(map.iter().flat_map(|m| ["-m", m.to_str().unwrap()]));
    arguments.extend(more);
    let text = llvm(&arguments)?;
    let row = |line: &str| {
        let parts: Vec<&str> = line.splitn(9, ',').collect();
        let name =
            parts[8].rsplit_once(",\"").map_or(parts[8], |n| n.1).trim_matches('"').to_owned();
        (
            parts[0].parse().unwrap(),
            parts[1].parse().unwrap(),
            parts[2..8].iter().map(|p| p.parse().unwrap()).collect(),
            name,
        )
    };
    Some(text.lines().skip(1).map(row).collect())
}

/// The database's figures are llvm-xray's.
fn same_figures(log: &Path, map: Option<&Path>, db: &Path) -> usize {
    // llvm-xray account takes records in the order of the file and drops those before the first
    // one's time: sorted first.
    let sorted = db.with_extension("yaml");
    let text = llvm(&["convert", "-f", "yaml", log.to_str().unwrap()]).expect("llvm-xray converts");
    // It reads text of version 1 only, which differs in nothing.
    let (version, rest) = text
        .split_once("version:")
        .and_then(|(head, rest)| Some((head, rest.split_once('\n')?.1)))
        .unwrap();
    std::fs::write(&sorted, format!("{version}version: 1\n{rest}")).unwrap();
    let theirs = account(&sorted, map, &[])
        .or_else(|| account(&sorted, map, &["-k", "-d"]))
        .expect("llvm-xray accounts");
    if let Some(unsorted) = account(log, map, &[]) {
        assert_eq!(unsorted, theirs, "{}", log.display());
    }
    let sql = "SELECT n.number, t.calls, coalesce(t.min_s, t.min), coalesce(t.median_s, t.median), coalesce(t.p90_s, t.p90),
                      coalesce(t.p99_s, t.p99), coalesce(t.max_s, t.max), coalesce(t.sum_s, t.sum), t.function
               FROM call_timing t JOIN trace_function n USING (function_id) WHERE t.calls > 0 ORDER BY n.number";
    let ours = rows(db, sql);
    assert_eq!(ours.len(), theirs.len(), "{}: {ours:?} {theirs:?}", log.display());
    for (ours, (number, count, figures, name)) in ours.iter().zip(&theirs) {
        let parts: Vec<&str> = ours.splitn(9, ',').collect();
        assert_eq!(
            (parts[0], parts[1]),
            (number.to_string().as_str(), count.to_string().as_str()),
            "{}",
            log.display()
        );
        for (ours, theirs) in parts[2..8].iter().zip(figures) {
            // llvm-xray prints seven digits.
            let ours: f64 = ours.parse().unwrap();
            assert!(
                (ours - theirs).abs() <= theirs.abs() * 1e-6,
                "{}: {ours} {theirs}",
                log.display()
            );
        }
        if map.is_some() {
            assert_eq!(parts[8].trim_matches('"'), name, "{}", log.display());
        }
    }
    ours.len()
}

/// Builds from a file on disk.
fn build_file(scratch: &Scratch, log: &Path, elf: Option<&Path>) -> PathBuf {
    let more: Vec<&str> = elf.iter().flat_map(|e| ["--elf", utf8(e)]).collect();
    let (code, error, db) = build_in(scratch, &[log], &more);
    assert!(matches!(code, 0 | 1), "{code}: {error}");
    db
}

#[test]
fn llvms_own_samples_are_as_llvm_xray_has_them() {
    if !have(LLVM) {
        return;
    }
    let scratch = Scratch::new("xray-llvm");
    for (log, elf) in [
        ("nt.v1zero-nocustom.xray", Some("nt.elf")),
        ("nt.v2.xray", Some("nt.elf")),
        ("nt.v3.xray", Some("nt.elf")),
        ("nt.v4.xray", Some("nt.elf")),
        ("nt.v5.xray", Some("nt.elf")),
        ("fdr-log-version-1.xray", None),
        ("fdr-log-version-3.xray", None),
        ("basic-log-version-3.xray", None),
    ] {
        let (Some(path), elf) = (xray(log), elf.and_then(xray)) else { return };
        let db = build_file(&scratch, &path, elf.as_deref());
        let records = same_records(&path, &db);
        let functions = same_figures(&path, elf.as_deref(), &db);
        assert!(ok(&["verify", utf8(&db)]).contains("equal"));
        println!("{log}: {records} records, {functions} functions");
    }
}

#[test]
fn what_llvm_xray_gives_up_on_loads() {
    let scratch = Scratch::new("xray-hard");
    // Version 1 with junk behind the end of the buffer: 1 entry of #3 with an argument, 1 exit.
    if let Some(log) = xray("fdr-log-arg1.xray") {
        let db = build_file(&scratch, &log, None);
        // By hand: a wrap to 0x42e4caec93d08c, an entry 0xc4a behind it with argument 1, an exit
        // 0xcc3e later.
        let base = 0x0042_e4ca_ec93_d08cu64;
        let expected =
            [format!("enter,1,{}", base + 0xc4a), format!("exit,1,{}", base + 0xc4a + 0xcc3e)];
        let sql = "SELECT kind, number, time FROM call_event JOIN trace_function USING (function_id) ORDER BY event_no";
        assert_eq!(rows(&db, sql), expected);
        assert_eq!(rows(&db, "SELECT value FROM call_argument"), ["1"]);
        assert_eq!(rows(&db, "SELECT calls, sum FROM call_timing"), [format!("1,{}", 0xcc3e)]);
    }
    // A program with sleds of typed events: llvm-xray refuses its map.
    if let (Some(log), Some(elf)) = (xray("evt5.v5.xray"), xray("evt.elf")) {
        let db = build_file(&scratch, &log, Some(&elf));
        let names = rows(
            &db,
            "SELECT number, name FROM trace_function JOIN function_symbol USING (function_id) ORDER BY 1",
        );
        println!("{names:?} {:?}", problems(&db));
        assert!(names.iter().any(|n| n.contains("leaf(int)")), "{names:?}");
        if have(LLVM) {
            same_records(&log, &db);
            same_figures(&log, None, &db);
        }
    }
}

/// A threaded program that records itself.
const RECORDED: &str = r#"
#include <pthread.h>
#include <stdlib.h>
extern int __xray_log_select_mode(const char *), __xray_log_init_mode(const char *, const char *), __xray_patch(void),
    __xray_log_finalize(void), __xray_log_flushLog(void);
#define NI __attribute__((xray_never_instrument))
#define NOINLINE __attribute__((noinline))
NI __attribute__((constructor)) static void on(void) {
    __xray_log_select_mode(MODE); __xray_log_init_mode(MODE, OPTIONS); __xray_patch(); }
NI __attribute__((destructor)) static void off(void) { __xray_log_finalize(); __xray_log_flushLog(); }
NOINLINE int leaf(int x) { __asm__ volatile(""); return x * 3 + 1; }
NOINLINE __attribute__((xray_log_args(1))) int args(int x) { return leaf(x) + leaf(x + 1); }
NOINLINE int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
NOINLINE int tail(int n) { __asm__ volatile(""); return leaf(n); }
NOINLINE void *work(void *p) {
    volatile long s = 0;
    for (int i = 0; i < (int)(long)p; i++) s += args(i) + fact(i % 7) + tail(i);
    return 0;
}
int main(int c, char **v) {
    pthread_t p[4];
    for (int i = 0; i < 4; i++) pthread_create(p + i, 0, work, (void *)(long)(atoi(v[1]) + i));
    for (int i = 0; i < 4; i++) pthread_join(p[i], 0);
    work((void *)3);
    return 0;
}
"#;

#[test]
fn fresh_logs_of_clang_are_as_llvm_xray_has_them() {
    if !have(LLVM) || !have("clang-19") {
        return;
    }
    let scratch = Scratch::new("xray-fresh");
    let source = scratch.path("prog.c");
    std::fs::write(&source, RECORDED).unwrap();
    for (mode, options, pie) in [
        ("xray-fdr", "func_duration_threshold_us=0", true),
        ("xray-fdr", "func_duration_threshold_us=0", false),
        // Buffers so small that each thread fills several, and so few that they are lost.
        ("xray-fdr", "func_duration_threshold_us=0:buffer_size=4096:buffer_max=400", true),
        ("xray-fdr", "func_duration_threshold_us=0:buffer_size=4096:buffer_max=3", true),
        ("xray-fdr", "func_duration_threshold_us=1", true),
        ("xray-basic", "func_duration_threshold_us=0", true),
    ] {
        let folder = scratch.path("run");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let program = scratch.path("prog");
        let output = Command::new("clang-19")
            .args([
                "-g",
                "-O1",
                "-fxray-instrument",
                "-fxray-instruction-threshold=1",
                if pie { "-pie" } else { "-no-pie" },
            ])
            .args([format!("-DMODE=\"{mode}\""), format!("-DOPTIONS=\"{options}\"")])
            .args(["-o".as_ref(), program.as_os_str(), source.as_os_str(), "-lpthread".as_ref()])
            .output()
            .unwrap();
        if !output.status.success() {
            skipped(&format!("XRay: clang-19 cannot link its programs: {}", said(&output)));
            return;
        }
        let run = Command::new(&program).arg("150").current_dir(&folder).output().unwrap();
        assert!(run.status.success());
        let logs: Vec<PathBuf> =
            std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        let [log] = &logs[..] else { panic!("{mode} {options}: {logs:?}") };
        let db = build_file(&scratch, log, Some(&program));
        let (records, functions) = (same_records(log, &db), same_figures(log, Some(&program), &db));
        let verified = addfg(&["verify", utf8(&db)]);
        assert!(verified.status.success(), "{}", printed(&verified));
        println!(
            "{mode} {options} {pie}: {records} records, {functions} functions, {:?}",
            problems(&db)
        );
    }
}

#[test]
fn instrumentation_maps_are_as_llvm_xray_extracts_them() {
    if !have(LLVM) {
        return;
    }
    let scratch = Scratch::new("xray-maps");
    let mut files: Vec<PathBuf> =
        ["nt.elf", "elf64-example.bin", "elf64-pie.bin"].iter().filter_map(|f| xray(f)).collect();
    files.extend(compiled(&scratch));
    for file in files {
        let image = addfg::internals::image::Image::open(&file).unwrap();
        let yaml = llvm(&["extract", "--symbolize=false", file.to_str().unwrap()]);
        let Some(yaml) = yaml else {
            println!(
                "llvm-xray cannot read {}: {} sleds",
                file.display(),
                image.xray_sleds().len()
            );
            continue;
        };
        let theirs: Vec<String> = yaml
            .lines()
            .filter(|l| l.contains("- { id:"))
            .map(|l| {
                let f = fields(l);
                format!(
                    "{} {} {}",
                    f["id"],
                    f["kind"],
                    f.get("version").map_or("0", String::as_str)
                )
            })
            .collect();
        let ours: Vec<String> = image
            .xray_sleds()
            .iter()
            .map(|s| {
                use addfg::internals::image::SledKind::*;
                let kind = match s.kind {
                    Enter => "function-enter",
                    Exit => "function-exit",
                    Tail => "tail-exit",
                    LogArgs => "log-args-enter",
                    CustomEvent => "custom-event",
                    TypedEvent => "typed-event",
                    Other(_) => "other",
                };
                format!("{} {kind} {}", s.number, s.version)
            })
            .collect();
        if image.relocatable() {
            // llvm-xray reads the first of the sections; each function has its own.
            assert!(
                !theirs.is_empty() && ours.starts_with(&theirs),
                "{}: {ours:?} {theirs:?}",
                file.display()
            );
        } else {
            assert_eq!(ours, theirs, "{}", file.display());
        }
        let addresses = |key: &str| -> Vec<u64> {
            let hex =
                |l: &str| u64::from_str_radix(fields(l)[key].trim_start_matches("0x"), 16).unwrap();
            yaml.lines().filter(|l| l.contains("- { id:")).map(hex).collect()
        };
        if !image.relocatable() {
            assert_eq!(
                image.xray_sleds().iter().map(|s| s.address).collect::<Vec<_>>(),
                addresses("address"),
                "{}",
                file.display()
            );
            assert_eq!(
                image.xray_sleds().iter().map(|s| s.function).collect::<Vec<_>>(),
                addresses("function"),
                "{}",
                file.display()
            );
        }
        println!("{}: {} sleds", file.display(), ours.len());
    }
}

const PROGRAM: &str = "
__attribute__((noinline)) int leaf(int x) { __asm__ volatile(\"\"); return x * 3 + 1; }
__attribute__((noinline, xray_log_args(1))) int args(int x) { return leaf(x) + leaf(x + 1); }
__attribute__((noinline)) int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
__attribute__((noinline)) int tail(int n) { __asm__ volatile(\"\"); return leaf(n); }
__attribute__((noinline)) int work(int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += args(i) + fact(i % 7) + tail(i);
    return s;
}
";

/// Object files of several processors and kinds.
fn compiled(scratch: &Scratch) -> Vec<PathBuf> {
    if !have("clang-19") {
        return Vec::new();
    }
    let source = scratch.path("map.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let mut files = Vec::new();
    for target in ["x86_64-linux-gnu", "aarch64-linux-gnu", "armv7-linux-gnueabihf"] {
        let object = scratch.path(&format!("{target}.o"));
        let target = format!("--target={target}");
        let flags =
            ["-O1", "-c", "-fxray-instrument", "-fxray-instruction-threshold=1", "-ffreestanding"];
        let status = Command::new("clang-19")
            .arg(target)
            .args(flags)
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .status();
        assert!(status.unwrap().success());
        files.push(object);
    }
    files
}

#[test]
fn functions_of_object_files_have_their_names() {
    let scratch = Scratch::new("xray-objects");
    for file in compiled(&scratch) {
        let image = addfg::internals::image::Image::open(&file).unwrap();
        assert!(image.relocatable());
        let name = |address: u64| {
            image.functions.iter().find(|f| f.address == address).map(|f| f.name.as_str())
        };
        let names: Vec<_> =
            image.xray_functions().iter().map(|&a| name(a).unwrap_or("?")).collect();
        assert_eq!(names, ["leaf", "args", "fact", "tail", "work"], "{}", file.display());
    }
}
