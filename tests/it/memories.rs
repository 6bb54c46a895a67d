//! Memories and devices by name: from the command line, linker maps and descriptions of chips; the loads and stores
//! of each against a count over the log.

use crate::common::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Ranges that cut words of the example's arrays, and its stack.
const MEMORIES: [(&str, u64, u64); 3] = [
    ("A", 0x40_3020, 0x40_303d),
    ("B", 0x40_303e, 0x40_3047),
    ("STACK", 0x1f_ff00_0000, 0x1f_ff00_0fff),
];

fn options() -> Vec<String> {
    let one =
        |(name, first, last): (&str, u64, u64)| format!("--memory={name}={first:#x}..{last:#x}");
    MEMORIES.map(one).to_vec()
}

/// Loads, loaded bytes, stores, stored bytes, and the addresses.
type Traffic = ([u64; 4], BTreeSet<u64>);

/// By memory and function, as the lines of lackey's log have it.
fn naive(log: &str, db: &Path) -> BTreeMap<(String, String), Traffic> {
    let functions = rows(db, "SELECT name, address, size FROM function_symbol WHERE size > 0");
    let function = |pc: u64| {
        let holds = |row: &&String| {
            let field: Vec<&str> = row.split(',').collect();
            (0..field[2].parse::<u64>().unwrap())
                .contains(&pc.wrapping_sub(field[1].parse().unwrap()))
        };
        functions.iter().find(holds).expect("a function").split(',').next().unwrap().to_owned()
    };
    let (mut found, mut pc) = (BTreeMap::<_, Traffic>::new(), 0);
    for line in log.lines().filter(|line| !line.starts_with("==")) {
        let (kind, place) = line.trim().split_once(' ').expect("a record");
        let (address, size) = place.trim().split_once(',').expect("an address");
        let (address, size) =
            (u64::from_str_radix(address, 16).unwrap(), size.parse::<u64>().unwrap());
        if kind == "I" {
            pc = address;
            continue;
        }
        for (name, first, last) in MEMORIES {
            let bytes: Vec<u64> =
                (address..address + size).filter(|a| (first..=last).contains(a)).collect();
            for is_store in [false, true] {
                if !bytes.is_empty() && (kind == "M" || (kind == "S") == is_store) {
                    let entry = found.entry((name.to_owned(), function(pc))).or_default();
                    entry.0[2 * usize::from(is_store)] += 1;
                    entry.0[2 * usize::from(is_store) + 1] += bytes.len() as u64;
                    entry.1.extend(&bytes);
                }
            }
        }
    }
    found
}

fn log() -> String {
    let [log, _] = example_files("fir");
    let output = Command::new("xz").args(["-dc", utf8(&log)]).output().expect("xz");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn traffic_is_that_of_the_log_at_every_detail() {
    let text = log();
    let scratch = Scratch::new("memories");
    let [log, elf] = example_files("fir");
    for detail in ["summary", "instance", "pairs", "full"] {
        let db = scratch.path("fir.duckdb");
        let options = options();
        let mut more = vec!["--detail", detail];
        more.extend(options.iter().map(String::as_str));
        load(&log, &elf, &db, &more);
        let expected: Vec<String> = naive(&text, &db)
            .into_iter()
            .map(|((memory, function), (n, addresses))| {
                let [loads, load_bytes, stores, store_bytes] = n;
                format!(
                    "{memory},memory,{function},1,{loads},{load_bytes},{stores},{store_bytes},{}",
                    addresses.len()
                )
            })
            .collect();
        assert!(expected.len() > 4, "{expected:?}");
        let asked = |query: &str| ok(&["sql", utf8(&db), query, "0", "--format", "csv"]);
        let by_function = asked("@memory_traffic");
        let mut found: Vec<&str> =
            by_function.lines().filter(|line| line.contains(",memory,")).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{detail}");
        // All that the run accessed is somewhere, and no byte twice.
        let sum = |text: &str, column: usize| -> u64 {
            text.lines()
                .skip(1)
                .map(|line| line.split(',').nth(column).unwrap().parse::<u64>().unwrap())
                .sum()
        };
        let records = text.lines().filter(|line| line.starts_with(' '));
        let sizes = |kind: &'static str| -> u64 {
            let of = records
                .clone()
                .filter(|line| line.trim().starts_with([kind.chars().next().unwrap(), 'M']));
            of.map(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap()).sum()
        };
        let by_memory = asked("@memories");
        assert_eq!(
            (sum(&by_function, 5), sum(&by_memory, 6)),
            (sizes("L"), sizes("L")),
            "{by_memory}"
        );
        assert_eq!(
            (sum(&by_function, 7), sum(&by_memory, 8)),
            (sizes("S"), sizes("S")),
            "{by_memory}"
        );
        assert!(by_memory.contains("\nA,memory,0x403020,30,1,"), "{by_memory}");
        assert!(by_memory.contains("\n.rodata,section,0x402000,16,1,"), "{by_memory}");
        // The picture has the same edges.
        let json = ok(&["graph", utf8(&db), "--by-memory", "--min-bytes", "0", "--format", "json"]);
        let graph: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let name = |id: &serde_json::Value| {
            let node =
                graph["nodes"].as_array().unwrap().iter().find(|node| node["id"] == *id).unwrap();
            (node["kind"].as_str().unwrap().to_owned(), node["name"].as_str().unwrap().to_owned())
        };
        let mut drawn = BTreeMap::new();
        for edge in graph["edges"].as_array().unwrap() {
            let (from, to) = (name(&edge["from"]), name(&edge["to"]));
            drawn.insert((from.1, to.1), edge["bytes"].as_u64().unwrap());
            assert!((from.0 == "memory") != (to.0 == "memory"), "{edge}");
        }
        for ((memory, function), (n, _)) in naive(&text, &db) {
            let got =
                |a: &str, b: &str| drawn.get(&(a.to_owned(), b.to_owned())).copied().unwrap_or(0);
            assert_eq!(
                (got(&memory, &function), got(&function, &memory)),
                (n[1], n[3]),
                "{memory} {function}"
            );
        }
    }
}

/// Names change nothing of what the data flow is.
#[test]
fn names_of_memories_change_no_row() {
    let scratch = Scratch::new("memories-same");
    let [log, elf] = example_files("fir");
    let db = scratch.path("fir.duckdb");
    let options = options();
    load(&log, &elf, &db, &options.iter().map(String::as_str).collect::<Vec<_>>());
    let plain = example("fir", "pairs");
    for table in
        ["communication", "function_edge", "function_call", "data_access", "saved_register"]
    {
        let sql = format!("FROM {table} ORDER BY ALL");
        assert_eq!(rows(&db, &sql), rows(&plain, &sql), "{table}");
    }
    let kept = "SELECT path, address, bytes FROM mapping WHERE kind = 'memory' ORDER BY address";
    assert_eq!(rows(&db, kept), ["A,4206624,30", "B,4206654,10", "STACK,137422176256,4096"]);
    ok(&["verify", utf8(&db)]);
}

/// Each access to a memory takes cycles: what moves and how much that gains follows.
#[test]
fn a_plan_prices_memories() {
    let text = log();
    let scratch = Scratch::new("memories-plan");
    let [log, elf] = example_files("fir");
    let db = scratch.path("fir.duckdb");
    let options = options();
    load(&log, &elf, &db, &options.iter().map(String::as_str).collect::<Vec<_>>());
    let gain = |more: &[&str]| -> f64 {
        let fixed =
            ["plan", utf8(&db), "--set", "checksum", "--link", "1000GB/s,0s", "--format", "csv"];
        let text = ok(&[&fixed[..], more].concat());
        text.lines().nth(1).unwrap().split(',').nth(9).unwrap().parse().unwrap()
    };
    let steps = |sql: &str| -> f64 { rows(&db, sql)[0].parse().unwrap() };
    let all = steps("SELECT sum(steps_self) FROM function_profile");
    let own = steps(
        "SELECT steps_self FROM function_profile JOIN function_symbol USING (function_id) WHERE name = 'checksum'",
    );
    let counted = naive(&text, &db);
    let accesses = |memory: &str, of: &str| -> f64 {
        let rows = counted.iter().filter(|((m, f), _)| m == memory && (of.is_empty() || f == of));
        rows.map(|(_, (n, _))| (n[0] + n[2]) as f64).sum()
    };
    // The link costs next to nothing; elsewhere steps take a tenth.
    let expected = |here: f64, elsewhere: f64| {
        let waits = accesses("A", "checksum");
        100.0 * (0.9 * own + waits * (here - elsewhere)) / (all + accesses("A", "") * here)
    };
    assert!(accesses("A", "checksum") > 0.0);
    for (cost, here, elsewhere) in
        [("A=20", 20.0, 20.0), ("A=20,2", 20.0, 2.0), ("A=1.5,0", 1.5, 0.0)]
    {
        let found = gain(&["--memory-cost", cost]);
        assert!(
            (found - expected(here, elsewhere)).abs() < 0.11,
            "{cost}: {found} {}",
            expected(here, elsewhere)
        );
    }
    assert!((gain(&[]) - expected(0.0, 0.0)).abs() < 0.11);
    let known = ["no memory is named DDR: this run accessed", "STACK"];
    refused(&["plan", utf8(&db), "--memory-cost", "DDR=20"], &known);
    refused(&["plan", utf8(&db), "--memory-cost", "A=20", "--parts", "2"], &["--parts"]);
    refused(&["plan", utf8(&db), "--memory-cost", "A=20", "--show", "loops"], &["loops"]);
}

#[test]
fn maps_and_options_name_memories_and_what_is_wrong_is_said() {
    let scratch = Scratch::new("memories-map");
    let [log, elf] = example_files("fir");
    let db = scratch.path("fir.duckdb");
    let map = scratch.write(
        "fir.map",
        "Memory Configuration\n\nName Origin Length Attributes\nROM 0x00402000 0x00001000 r\n\
         RAM 0x00403000 0x00001000 rw\n*default* 0x0 0xffffffffffffffff\n",
    );
    load(&log, &elf, &db, &["--memory-map", utf8(&map), "--memory", "TCM=0x403040+0x20"]);
    let kept =
        "SELECT path, address - 4194304, bytes FROM mapping WHERE kind = 'memory' ORDER BY address";
    assert_eq!(
        rows(&db, kept),
        ["ROM,8192,4096", "RAM,12288,64", "TCM,12352,32", "RAM,12384,4000"]
    );
    let list = ok(&["sql", utf8(&db), "@memories", "--format", "csv"]);
    let names: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names, ["ROM", "RAM", "TCM", "stack"], "{list}");
    // A piece on either side of another memory is one memory.
    assert!(list.contains("\nRAM,memory,0x403000,4064,"), "{list}");
    let log = utf8(&log);
    for (more, part) in [
        (vec!["--memory", "A=0x0+4", "--memory", "B=0x3..0x3"], "overlap at 0x3"),
        (vec!["--device", "A=0x0+4", "--device", "B=0x3+1"], "overlap at 0x3"),
        (vec!["--memory", "A=4..3"], "is empty"),
        (vec!["--memory", "A=0xz+1"], "invalid number `0xz`"),
        (vec!["--memory-map", utf8(&elf)], "expected a map"),
        (vec!["--memory-map", "/nothing"], "/nothing: No such file"),
        (vec!["--svd", utf8(&map)], "fir.map: "),
    ] {
        refused(&[&["build", log, "-o", utf8(&db), "--force"], &more[..]].concat(), &[part]);
    }
}

/// A firmware of ARM's M profile with a description of its chip: named peripherals, and the address map for the rest
/// of their pages. The program sets the three registers of the timer (0xe000e010, 14, 18), once each.
#[test]
fn peripherals_of_a_chip_are_devices() {
    let scratch = Scratch::new("memories-svd");
    let data = |name: &str| repository("tests/data/qemu-system").join(name);
    let db = scratch.path("fw.duckdb");
    let devices = "SELECT writer, reader, bytes FROM function_dataflow WHERE reader LIKE '<device%' ORDER BY ALL";
    load(&data("fw.log.xz"), &data("fw.elf"), &db, &[]);
    assert_eq!(rows(&db, devices), ["main,<device system control>,12"]);
    let svd = scratch.write(
        "chip.svd",
        "<device><peripherals><peripheral derivedFrom='TIMER'><name>SYST</name><baseAddress>0xE000E010</baseAddress></peripheral>
         <peripheral><name>TIMER</name><baseAddress>0x40005000</baseAddress><addressBlock><offset>0</offset><size>8</size></addressBlock>
         </peripheral></peripherals></device>",
    );
    let named = ["main,<device SYST>,8", "main,<device system control>,4"];
    load(&data("fw.log.xz"), &data("fw.elf"), &db, &["--svd", utf8(&svd)]);
    assert_eq!(rows(&db, devices), named);
    let list = ok(&["sql", utf8(&db), "@memories", "--format", "csv"]);
    assert!(list.contains("\nSYST,device,0xe000e010,8,1,0,0,2,8,8\n"), "{list}");
    assert!(list.contains(",device,0xe000e000,4088,1,0,0,1,4,4\n"), "{list}");
    ok(&["verify", utf8(&db)]);
    // An option has precedence.
    load(
        &data("fw.log.xz"),
        &data("fw.elf"),
        &db,
        &["--svd", utf8(&svd), "--device", "LOAD=0xe000e014..0xe000e017"],
    );
    let named = ["main,<device LOAD>,4", "main,<device SYST>,4", "main,<device system control>,4"];
    assert_eq!(rows(&db, devices), named);
}

/// Two processors: each has its own loads and stores.
#[test]
fn each_processor_has_its_traffic() {
    let scratch = Scratch::new("memories-smp");
    let data = |name: &str| repository("tests/data/qemu-system").join(name);
    let db = scratch.path("smp.duckdb");
    load(&data("smp.log.xz"), &data("smp.elf"), &db, &["--memory", "LOW=0..0x7fffffffffffffff"]);
    let list = ok(&["sql", utf8(&db), "@memories", "--format", "csv"]);
    let mut found: Vec<Vec<&str>> =
        list.lines().skip(1).map(|line| line.split(',').collect()).collect();
    found.retain(|row| row[1] == "memory");
    let counted = rows(
        &db,
        "SELECT o.thread_id, count(*) FILTER (NOT is_write), coalesce(sum(size) FILTER (NOT is_write), 0), count(*) FILTER (is_write),
                coalesce(sum(size) FILTER (is_write), 0)
         FROM data_access a JOIN opcode_line o USING (seq) WHERE space = 'memory' GROUP BY ALL ORDER BY ALL",
    );
    let found: Vec<String> = found.iter().map(|row| row[4..9].join(",")).collect();
    assert!(counted.len() > 1, "{counted:?}");
    assert_eq!(found, counted, "{list}");
}

/// A layout may name devices and memories; what is given on the command line lies over them.
#[test]
fn a_layout_names_memories() {
    let scratch = Scratch::new("memories-layout");
    let layout = std::fs::read_to_string(repository("tests/formats/layout/pattern.toml"));
    let layout = layout.expect("the layout");
    let log = repository("tests/formats/layout/good-pattern.log");
    let elf = repository("tests/formats/elf/riscv64");
    let build = |name: &str, more: &str, options: &[&str]| {
        let layout = scratch.write(&format!("{name}.toml"), format!("{more}\n{layout}"));
        let db = scratch.path(&format!("{name}.duckdb"));
        let base =
            ["build", utf8(&log), "--elf", utf8(&elf), "--layout", utf8(&layout), "-o", utf8(&db)];
        let output = addfg(&[&base[..], options].concat());
        (said(&output), db)
    };
    let asked = |db: &Path| ok(&["sql", utf8(db), "@memories", "0", "--format", "csv"]);
    let given = ["--memory", "LOW=0x4000800000+2K", "--device", "top=0x4000800848+8"];
    let (_, by_options) = build("options", "", &given);
    let words = "memory = [\"LOW=0x4000800000+2K\"]\ndevice = [\"top=0x4000800848+8\"]";
    let (_, by_layout) = build("layout", words, &[]);
    let all = asked(&by_options);
    assert!(all.contains("top,device"), "{all}");
    assert_eq!(asked(&by_layout), all);
    let (_, over) = build("over", words, &["--memory", "HIGH=0x4000800840+8"]);
    assert!(asked(&over).contains("HIGH,memory"), "{}", asked(&over));
    // Wrong ranges are told with their place.
    for (wrong, expected) in [
        ("memory = [\"LOW=5\"]", "layout file:1: `LOW=5`"),
        ("memory = [\"A=0+8\", \"B=4+8\"]", "overlap at 0x4"),
    ] {
        let (text, db) = build("wrong", wrong, &[]);
        assert!(text.contains(expected) && !db.exists(), "{text}");
    }
}
