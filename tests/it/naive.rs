//! Memory dataflow against the simplest model there is: a map from byte to the function that wrote
//! it last.

use crate::common::*;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

fn read_log(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    if path.extension().is_some_and(|e| e == "xz") {
        liblzma::read::XzDecoder::new(file).read_to_string(&mut text).unwrap();
    } else {
        std::io::BufReader::new(file).read_to_string(&mut text).unwrap();
    }
    text
}

/// Bytes by (writer, reader); a byte that nothing wrote has no writer and is left out, as is what a
/// return reads.
fn naive(log: &str, function: &HashMap<u64, (String, bool)>) -> BTreeMap<(String, String), u64> {
    let mut writer: HashMap<u64, &str> = HashMap::new();
    let mut sums = BTreeMap::new();
    let mut current = ("", false);
    for line in log.lines().filter(|l| !l.starts_with("==")) {
        let (kind, rest) = line.split_at(3);
        let (address, size) = rest.split_once(',').unwrap();
        let (address, size) =
            (u64::from_str_radix(address, 16).unwrap(), size.parse::<u64>().unwrap());
        if kind.starts_with('I') {
            let (name, returns) = &function[&address];
            current = (name, *returns);
            continue;
        }
        for byte in address..address + size {
            if (kind.contains('L') || kind.contains('M'))
                && !current.1
                && let Some(w) = writer.get(&byte)
            {
                *sums.entry((w.to_string(), current.0.to_string())).or_default() += 1;
            }
            if kind.contains('S') || kind.contains('M') {
                writer.insert(byte, current.0);
            }
        }
    }
    sums
}

fn compare(name: &str, log: &Path, elf: &Path, ways: &[&str]) {
    let scratch = Scratch::new(&format!("naive-{name}"));
    let text = read_log(log);
    for &saves in ways {
        let db = scratch.path("a.duckdb");
        load(log, elf, &db, &["--saves", saves]);
        let sql = "SELECT i.address, i.class = 'return', s.name FROM instruction i JOIN function_symbol s USING (function_id)";
        let mut functions = HashMap::new();
        for row in rows(&db, sql) {
            let mut parts = row.splitn(3, ',');
            let address = parts.next().unwrap().parse::<u64>().unwrap();
            let returns = parts.next().unwrap() == "true";
            functions
                .insert(address, (parts.next().unwrap().trim_matches('"').to_owned(), returns));
        }
        let mut expected = naive(&text, &functions);
        if saves == "transparent" {
            // A restore is no read: what is saved and restored is the only difference.
            let sql = "SELECT sum(s.bytes * s.restores), f.name FROM saved_register s JOIN function_call c USING (call_id)
                       JOIN function_symbol f USING (function_id) GROUP BY f.name";
            for row in rows(&db, sql) {
                let (bytes, name) = row.split_once(',').unwrap();
                let key = (name.trim_matches('"').to_owned(), name.trim_matches('"').to_owned());
                let bytes = bytes.parse::<u64>().unwrap();
                if bytes > 0 {
                    let left =
                        expected.get_mut(&key).expect("a restore reads what its function wrote");
                    *left -= bytes;
                    if *left == 0 {
                        expected.remove(&key);
                    }
                }
            }
        }
        let sql = "SELECT sum(d.bytes), d.writer || '\t' || d.reader FROM function_dataflow d
                   JOIN function_symbol w ON w.function_id = d.writer_function_id
                   WHERE d.via <> 'register' AND w.kind <> 'pseudo' GROUP BY d.writer, d.reader";
        let mut found = BTreeMap::new();
        for row in rows(&db, sql) {
            let (bytes, names) = row.split_once(',').unwrap();
            let (w, r) = names.trim_matches('"').split_once('\t').unwrap();
            found.insert((w.to_owned(), r.to_owned()), bytes.parse::<u64>().unwrap());
        }
        assert_eq!(found.len(), expected.len(), "{name} {saves}: number of pairs");
        for (pair, bytes) in &expected {
            assert_eq!(found.get(pair), Some(bytes), "{name} {saves}: {pair:?}");
        }
        let odd = rows(
            &db,
            "SELECT ending, kind, count(*) FROM function_call WHERE ending = 'unwound' GROUP BY ALL",
        );
        if name != "longjmp" {
            assert!(odd.is_empty(), "{name}: {odd:?}");
        }
        println!("{name} ({saves}): {} pairs equal", expected.len());
    }
}

#[test]
fn shipped_examples() {
    for name in ["fir", "jpeg"] {
        let [log, elf] = example_files(name);
        compare(name, &log, &elf, &["literal", "transparent"]);
    }
}

/// With literal saves the oracle has compared all of these, to the instance, but two.
#[test]
fn recorded_programs() {
    if !have("valgrind") || !have("gcc") {
        return;
    }
    for (program, flags) in [
        ("recursion", &["-O0"][..]),
        ("recursion", &["-O2"]),
        ("longjmp", &["-O1"]),
        ("pointers", &["-O1"]),
        ("tail", &["-O2"]),
        ("cold", &["-O2"]),
        ("strings", &["-O2"]),
        ("structs", &["-O0"]),
        ("structs", &["-O2"]),
        ("floats", &["-O2"]),
        ("atomics", &["-O1"]),
        ("conditional", &["-O2"]),
        ("signal", &["-O1"]),
        ("signal", &["-O2"]),
    ] {
        if let Some([elf, log]) = recording(&format!("{program}.c"), "gcc", flags) {
            let of_the_oracle = !matches!(program, "floats" | "atomics");
            let ways = ["transparent", "literal"];
            compare(program, &log, &elf, if of_the_oracle { &ways[..1] } else { &ways });
        }
    }
}
