//! Random firmware that counts itself (`interrupts/generate.rs`, `tests/programs/interrupts`): calls,
//! handlers and whom they interrupted are what it counted in the same run, by the plugin and by
//! QEMU's text log.
//!
//! `ADDFG_SEEDS=1000` or `ADDFG_SEEDS=200..300` runs other seeds than the few of each test run;
//! `ADDFG_CORES=m0,rv32` only these, `ADDFG_WAYS=plugin,log,int,free` these ways of recording (`WAYS`). What the
//! first seed that fails was made of is kept, and named.

mod cores;
mod generate;

use crate::common::{
    Scratch, addfg, build_in, command, have, open, repository, rows, said, seeds, skipped, utf8,
};
use crate::views::{kept, replayed};
use cores::{CORES, Core, Family};
use generate::{Context, Firmware, generate};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is the same for all firmware. Loops stay loops: no calls of memset.
const ALWAYS: [&str; 14] = [
    "-g",
    "-static",
    "-nostdlib",
    "-ffreestanding",
    "-fno-pie",
    "-no-pie",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-fno-tree-loop-distribute-patterns",
    "-msmall-data-limit=0",
    "-Wl,--build-id=none",
    "-Wl,--no-warn-rwx-segments",
    "-w",
];

/// How a run is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// `addfg record --qemu`.
    Plugin,
    /// QEMU's text log.
    Log,
    /// With its lines for interrupts and blocks.
    Int,
    /// The first two by a clock that counts instructions: the same run each time.
    CountedPlugin,
    CountedLog,
}

const WAYS: [(&str, Way); 5] = [
    ("plugin", Way::Plugin),
    ("log", Way::Log),
    ("int", Way::Int),
    ("counted-plugin", Way::CountedPlugin),
    ("counted-log", Way::CountedLog),
];

impl Way {
    fn is_plugin(self) -> bool {
        matches!(self, Way::Plugin | Way::CountedPlugin)
    }

    fn is_log(self) -> bool {
        matches!(self, Way::Log | Way::CountedLog)
    }

    fn is_counted(self) -> bool {
        matches!(self, Way::CountedPlugin | Way::CountedLog)
    }

    /// Nanoseconds of an instruction, about: what the timer's intervals are multiplied by.
    fn scale(self, firmware: &Firmware) -> usize {
        let instruction = match self {
            Way::Plugin => 150,
            Way::Log => 15_000,
            Way::Int => 20_000,
            // A timer whose interval is shorter than its handler would leave nothing else to do: with such a
            // clock that is for ever, in QEMU alone, too.
            Way::CountedPlugin | Way::CountedLog => 4 << firmware.shift,
        };
        instruction >> firmware.shift
    }
}

fn listed(variable: &str) -> Option<Vec<String>> {
    Some(std::env::var(variable).ok()?.split(',').map(str::to_owned).collect())
}

/// Compiles it: the ELF file beside its source, and the command.
fn compile(core: &Core, firmware: &Firmware, scale: usize, folder: &Path) -> (PathBuf, String) {
    let (source, elf) = (folder.join("fw.c"), folder.join(format!("fw-{scale}.elf")));
    std::fs::write(&source, &firmware.source).expect("writes");
    let programs = repository("tests/programs/interrupts");
    let always =
        ALWAYS.iter().filter(|flag| core.family == Family::RiscV || !flag.contains("small"));
    let entry = if core.family == Family::M { "reset" } else { "_start" };
    let mut compiler = Command::new(core.compiler);
    compiler.args(always).args(core.flags).args(&firmware.flags);
    compiler.arg(format!(
        "-Wl,-e,{entry},--defsym=CODE={:#x},--defsym=DATA={:#x}",
        core.code, core.data
    ));
    compiler
        .arg(format!("-T{}", utf8(&programs.join("firmware.ld"))))
        .arg(format!("-I{}", utf8(&programs)));
    compiler.arg(format!("-DSCALE={scale}")).arg(&source).arg("-o").arg(&elf);
    let output = compiler.output().expect("the compiler runs");
    let shown = format!("{compiler:?}").replace('"', "");
    assert!(output.status.success(), "{shown}\n{}", said(&output));
    (elf, shown)
}

/// What the firmware counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    entries: Vec<u64>,
    site: Vec<Vec<u64>>,
    nest: Vec<Vec<u64>>,
    first: Vec<Vec<u64>>,
    traps: Vec<u64>,
}

/// Reads `counts` of `count.h`.
fn counts(file: &Path, firmware: &Firmware) -> Result<Counts, String> {
    let bytes = std::fs::read(file).map_err(|e| format!("the firmware left no counts: {e}"))?;
    let mut words =
        bytes.chunks_exact(4).map(|b| u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])));
    let magic = words.next();
    if magic != Some(0x636f_756e) {
        return Err(format!("the firmware went wrong: {magic:x?}"));
    }
    let contexts = firmware.contexts.len();
    let mut row = |n: usize| -> Vec<u64> { (0..n).map_while(|_| words.next()).collect() };
    let counts = Counts {
        site: (0..contexts).map(|_| row(firmware.sites.len())).collect(),
        entries: row(contexts),
        nest: (0..contexts).map(|_| row(contexts)).collect(),
        first: (0..contexts).map(|_| row(contexts)).collect(),
        traps: row(contexts),
    };
    if counts.traps.len() == contexts { Ok(counts) } else { Err("counts were cut short".into()) }
}

/// A row of `function_call`.
struct Row {
    name: String,
    kind: String,
    ending: String,
    parent: usize,
    tail_of: usize,
    own: u64,
    total: u64,
}

fn calls(db: &Path) -> Vec<Row> {
    let sql = "SELECT coalesce(parent_call_id, 0), coalesce(tail_of_call_id, 0), c.kind, ending,
               steps_self, steps_total, f.name FROM function_call c
               JOIN function_symbol f USING (function_id) ORDER BY call_id";
    let number = |text: &str| text.parse().expect("a number");
    let row = |row: String| {
        let parts: Vec<_> = row.splitn(7, ',').collect();
        // Both tables of AArch64, for either stack pointer, are one.
        let name = parts[6].trim_end_matches("_0").trim_end_matches("_x").to_owned();
        Row {
            parent: number(parts[0]),
            tail_of: number(parts[1]),
            kind: parts[2].into(),
            ending: parts[3].into(),
            own: number(parts[4]) as u64,
            total: number(parts[5]) as u64,
            name,
        }
    };
    rows(db, sql).into_iter().map(row).collect()
}

/// Counts by what they are of: `what`, and a text.
type Table = BTreeMap<(&'static str, String), i64>;

fn count(table: &mut Table, what: &'static str, of: String, n: u64) {
    if n > 0 {
        *table.entry((what, of)).or_default() += n as i64;
    }
}

/// What addfg must say, by the firmware's own counts.
fn expected(firmware: &Firmware, counts: &Counts) -> Table {
    let mut table = Table::new();
    let contexts = &firmware.contexts;
    for (c, context) in contexts.iter().enumerate() {
        for (s, site) in firmware.sites.iter().enumerate() {
            let of = format!("{}: {} -> {}", context.key(), site.caller, site.callee);
            count(&mut table, "call", of, counts.site[c][s]);
        }
        if context.chain.is_empty() {
            count(&mut table, "task", context.work.clone(), 1);
            continue;
        }
        let key = context.key();
        count(&mut table, "handler", key.to_owned(), counts.entries[c]);
        count(&mut table, "vector", format!("{} for {key}", context.chain[0]), counts.entries[c]);
        if let Some(caller) = &context.caller {
            count(
                &mut table,
                "call",
                format!("{key}: {caller} -> {}", context.work),
                counts.entries[c],
            );
        }
        for (o, outer) in contexts.iter().enumerate() {
            count(&mut table, "nesting", format!("{key} in {}", outer.key()), counts.nest[o][c]);
        }
    }
    table
}

/// The same of a database.
struct Found {
    table: Table,
    /// Calls that were jumps, by (context, caller, callee).
    tails: Table,
    /// What is wrong whatever was counted.
    wrong: Table,
}

fn found(firmware: &Firmware, db: &Path) -> Found {
    let (mut table, mut tails, mut wrong) = (Table::new(), Table::new(), Table::new());
    let all = calls(db);
    let contexts = &firmware.contexts;
    let handlers = || contexts.iter().filter(|c| !c.chain.is_empty());
    // A table of jumps is nobody's handler.
    let shared = ["vectors", "trap_vectors", "vector_irq", "vector_sync"];
    let known: BTreeMap<&str, &str> = handlers()
        .flat_map(|c| c.chain.iter().map(|name| (name.as_str(), c.key())))
        .filter(|(name, key)| name == key || !shared.contains(name))
        .collect();
    let counted: BTreeSet<&str> = firmware
        .sites
        .iter()
        .map(|site| site.callee.as_str())
        .chain(handlers().filter(|c| c.caller.is_some()).map(|c| c.work.as_str()))
        .collect();
    let tasks: BTreeSet<&str> =
        contexts.iter().filter(|c| c.chain.is_empty()).map(|c| c.work.as_str()).collect();
    let row = |call: usize| call.checked_sub(1).map(|i| &all[i]);
    let within = |call: &Row| {
        let mut at = row(call.parent);
        while let Some(above) = at {
            if let Some(key) = known.get(above.name.as_str()) {
                return *key;
            }
            at = row(above.parent);
        }
        "-"
    };
    let mut next = vec![0; all.len() + 1];
    for (i, call) in all.iter().enumerate() {
        next[call.tail_of] = i + 1;
    }
    next[0] = 0;
    let steps: u64 = all.iter().map(|call| call.own).sum();
    for (i, call) in all.iter().enumerate() {
        if call.total > steps {
            count(&mut wrong, "more steps than the run", call.name.clone(), 1);
        }
        if call.kind == "signal" {
            // Where the processor arrived, what that jumped to, the last of them.
            let mut chain = vec![call];
            let mut at = i + 1;
            while next[at] != 0 {
                at = next[at];
                chain.push(&all[at - 1]);
            }
            let Some(key) = chain.iter().find_map(|c| known.get(c.name.as_str())) else {
                count(&mut wrong, "signal of no handler", call.name.clone(), 1);
                continue;
            };
            count(&mut table, "handler", (*key).to_owned(), 1);
            count(&mut table, "vector", format!("{} for {key}", call.name), 1);
            count(&mut table, "nesting", format!("{key} in {}", within(call)), 1);
            let ending = &chain[chain.len() - 1].ending;
            if ending != "return" {
                count(&mut wrong, "ending of a handler", format!("{key} {ending}"), 1);
            }
            continue;
        }
        if tasks.contains(call.name.as_str()) {
            count(&mut table, "task", call.name.clone(), 1);
        }
        if known.get(call.name.as_str()) == Some(&call.name.as_str())
            && (call.kind != "tail" || call.tail_of == 0)
        {
            count(&mut wrong, "handler is not a signal", format!("{} {}", call.name, call.kind), 1);
        }
        if counted.contains(call.name.as_str()) {
            let of = if call.kind == "tail" { call.tail_of } else { call.parent };
            let caller = row(of).map_or("-", |c| c.name.as_str());
            let edge = format!("{}: {caller} -> {}", within(call), call.name);
            match call.kind.as_str() {
                "tail" => count(&mut tails, "call", edge.clone(), 1),
                "call" => {}
                kind => count(&mut wrong, "kind of a call", format!("{edge} {kind}"), 1),
            }
            count(&mut table, "call", edge, 1);
            if !["return", "tail"].contains(&call.ending.as_str()) {
                count(&mut wrong, "ending of a call", format!("{} {}", call.name, call.ending), 1);
            }
        }
    }
    let sql = "SELECT code, message FROM diagnostic WHERE severity <> 'info'";
    for said in rows(db, sql) {
        count(&mut wrong, "said", said, 1);
    }
    registers(contexts, db, &mut wrong);
    Found { table, tails, wrong }
}

/// A handler leaves the registers of what it interrupted as they were; the one that switches tasks
/// saves and restores them. Nor does one task have those of another.
fn registers(contexts: &[Context], db: &Path, wrong: &mut Table) {
    let handlers: BTreeSet<&str> = contexts
        .iter()
        .filter(|c| !c.chain.is_empty())
        .flat_map(|c| c.chain.iter().map(String::as_str))
        .collect();
    let tasks: BTreeSet<&str> =
        contexts.iter().filter(|c| c.chain.is_empty()).map(|c| c.work.as_str()).collect();
    // Code of the M0 saves and restores high registers by way of low ones: two moves more, which are data.
    let asked = "SELECT r.text, count(*) FROM instruction_edge e JOIN instruction r ON r.instruction_id = reader_instruction_id
                 WHERE via = 'register' AND regexp_matches(r.text, '^(svc|swi|ecall)')
                 AND NOT regexp_matches(r.text, '0x(123456|ab)$') GROUP BY ALL";
    for row in rows(db, asked) {
        count(wrong, "registers of a system call", row, 1);
    }
    let sql = "SELECT wf.name, rf.name, sum(bytes)::BIGINT FROM instruction_edge e
               JOIN instruction w ON w.instruction_id = writer_instruction_id
               JOIN instruction r ON r.instruction_id = reader_instruction_id
               JOIN function_symbol wf ON wf.function_id = w.function_id
               JOIN function_symbol rf ON rf.function_id = r.function_id
               WHERE via = 'register' AND NOT regexp_matches(w.text, '^mov r(8|9|1[01]),')
               AND NOT regexp_matches(r.text, '^mov (r[4-7]|lr),r(8|9|1[01])$') GROUP BY ALL";
    for row in rows(db, sql) {
        let parts: Vec<_> = row.split(',').collect();
        let (writer, reader, bytes) = (parts[0], parts[1], parts[2].parse::<u64>().unwrap_or(0));
        let both = tasks.contains(writer) && tasks.contains(reader);
        if tasks.contains(writer) && handlers.contains(reader)
            || handlers.contains(writer) && tasks.contains(reader)
            || both && writer != reader
        {
            count(wrong, "register bytes", format!("{writer} -> {reader}"), bytes);
        }
    }
}

/// Lines for what is not the same.
fn differences(firmware: &Firmware, counts: &Counts, db: &Path) -> Vec<String> {
    let (expected, found) = (expected(firmware, counts), found(firmware, db));
    // Whether one interrupted another before that one had executed anything, steps do not tell.
    let unsure: u64 = counts.first.iter().flatten().sum();
    let mut lines = Vec::new();
    let all: BTreeSet<_> = expected.keys().chain(found.table.keys()).collect();
    for of in all {
        let n = |table: &Table| table.get(of).copied().unwrap_or(0);
        let (known, said) = (n(&expected), n(&found.table));
        let slack = if of.0 == "nesting" { unsure as i64 } else { 0 };
        if (known - said).abs() > slack {
            lines.push(format!("{}: {}: the firmware counted {known}, addfg {said}", of.0, of.1));
        }
    }
    let mut jumps = Table::new();
    for (c, context) in firmware.contexts.iter().enumerate() {
        for (s, site) in
            firmware.sites.iter().enumerate().filter(|(_, site)| site.tail && !firmware.no_tails)
        {
            let of = format!("{}: {} -> {}", context.key(), site.caller, site.callee);
            count(&mut jumps, "call", of, counts.site[c][s]);
        }
    }
    for (of, said) in &found.tails {
        let most = jumps.get(of).copied().unwrap_or(0);
        if *said > most {
            lines.push(format!("tail: {}: at most {most}, addfg {said}", of.1));
        }
    }
    for ((what, of), n) in &found.wrong {
        lines.push(format!("{what}: {of}: {n}"));
    }
    lines
}

/// What QEMU's own lines say: exceptions by their numbers, blocks (of one instruction) by function and
/// address.
#[derive(Default)]
struct Told {
    exceptions: BTreeMap<String, u64>,
    blocks: BTreeMap<String, BTreeMap<u64, i64>>,
}

impl Told {
    fn read(core: &Core, log: &Path) -> Told {
        let mut told = Told::default();
        let text = String::from_utf8_lossy(&std::fs::read(log).expect("the log")).into_owned();
        for line in text.lines() {
            if let Some(exception) = exception(core, line) {
                *told.exceptions.entry(exception).or_default() += 1;
            }
            // `Trace 0: 0x7f.. [flags/address/..] name`; `Stopped execution of TB chain before 0x7f.. [address] name`.
            let stopped = line.starts_with("Stopped execution of TB chain before");
            if !stopped && !line.starts_with("Trace ") {
                continue;
            }
            let Some((_, rest)) = line.split_once('[') else { continue };
            let Some((place, name)) = rest.split_once("] ") else { continue };
            let place = place.split('/').nth(usize::from(place.contains('/'))).unwrap_or("");
            let address = u64::from_str_radix(place, 16).expect("an address");
            let blocks = told.blocks.entry(name.to_owned()).or_default();
            *blocks.entry(address).or_default() += if stopped { -1 } else { 1 };
        }
        told
    }

    /// How often a function was entered: its first address is its lowest.
    fn entered(&self, name: &str) -> u64 {
        let first = self.blocks.get(name).and_then(|blocks| blocks.first_key_value());
        first.map_or(0, |(_, times)| *times as u64)
    }

    fn steps(&self) -> i64 {
        self.blocks.values().flat_map(BTreeMap::values).sum()
    }
}

fn exception(core: &Core, line: &str) -> Option<String> {
    let word = |rest: &str| rest.split([' ', ',']).next().unwrap_or("").to_owned();
    match core.family {
        Family::M => line.strip_prefix("...loading from element ").map(word),
        Family::A32 | Family::A64 => line.strip_prefix("Taking exception ").map(word),
        Family::RiscV => {
            let (kind, rest) = line.split_once("async:")?.1.split_once(", cause:")?;
            let cause = word(rest.trim_start_matches('0'));
            Some(format!("{} {cause}", if kind == "1" { "interrupt" } else { "trap" }))
        }
    }
}

/// Whether the firmware counted what QEMU says.
fn is_right(core: &Core, firmware: &Firmware, counts: &Counts, told: &Told) -> Vec<String> {
    let (mut counted, mut lines) = (BTreeMap::<String, u64>::new(), Vec::new());
    for (c, context) in firmware.contexts.iter().enumerate().skip(firmware.tasks) {
        let number = context.number.to_string();
        let kinds: &[&str] = match (core.family, context.work.as_str()) {
            (Family::M, _) => &[number.as_str()],
            (Family::RiscV, "on_timer") => &["interrupt 7"],
            (Family::RiscV, "on_software") => &["interrupt 3"],
            (Family::RiscV, _) => &["trap b", "trap 3", "trap 2", "trap 5"],
            (_, "on_svc") => &["2"],
            (_, "on_abort") => &["4"],
            // Of AArch64: `brk` is 7, what is loaded from nowhere 4.
            (Family::A64, "on_undefined") => &["1", "7", "4"],
            (_, "on_undefined") => &["1"],
            _ => &["5"],
        };
        *counted.entry(kinds.join(" or ")).or_default() += counts.entries[c];
    }
    for (kinds, n) in &counted {
        let said = kinds.split(" or ").filter_map(|kind| told.exceptions.get(kind)).sum::<u64>();
        if said != *n {
            lines.push(format!("exceptions {kinds}: the firmware counted {n}, QEMU {said}"));
        }
    }
    let mut calls = BTreeMap::<&str, u64>::new();
    for (s, site) in firmware.sites.iter().enumerate() {
        let n = counts.site.iter().map(|sites| sites[s]).sum::<u64>();
        *calls.entry(site.callee.as_str()).or_default() += n;
    }
    for (name, n) in calls {
        let said = told.entered(name);
        if said != n {
            lines.push(format!("calls of {name}: the firmware counted {n}, QEMU {said}"));
        }
    }
    lines
}

/// A run that was recorded: what differs, and the command.
fn run(
    core: &Core,
    firmware: &Firmware,
    elf: &Path,
    way: Way,
    folder: &Path,
) -> Option<(Vec<String>, Vec<String>, Vec<String>)> {
    let of_way = folder.join(format!("{way:?}").to_lowercase());
    let _ = std::fs::create_dir_all(&of_way);
    let (db, log, file) = (of_way.join("fw.duckdb"), of_way.join("log"), of_way.join("counts"));
    let _ = std::fs::remove_file(&file);
    let mut machine: Vec<String> = core.machine.iter().map(|&option| option.to_owned()).collect();
    machine.extend(
        ["-display", "none", "-serial", "none", "-monitor", "none", "-semihosting"]
            .map(str::to_owned),
    );
    if way.is_counted() {
        machine.extend(["-icount".to_owned(), format!("shift={}", firmware.shift)]);
    }
    let mut shown = Vec::new();
    let mut show = |command: &Command| shown.push(format!("{command:?}").replace('"', ""));
    // With all rows, where they are compared.
    let detail = if way == Way::Plugin { "full" } else { "instance" };
    let detail = ["--detail", detail, "-o", utf8(&db), "--elf", utf8(elf)];
    let output = if way.is_plugin() {
        let emulator = format!("{} {} -kernel", core.emulator, machine.join(" "));
        let mut record = Command::new("timeout");
        record
            .arg("120")
            .arg(command(&[]).get_program())
            .arg("record")
            .args(detail)
            .args(["--qemu", &emulator, "--", utf8(elf)])
            .current_dir(&of_way);
        show(&record);
        record.output().expect("addfg runs")
    } else {
        let mut qemu = Command::new("timeout");
        qemu.args(["60", core.emulator]).args(&machine);
        if is_new(core) {
            qemu.args(["-accel", "tcg,one-insn-per-tb=on"]);
        } else {
            qemu.arg("-singlestep");
        }
        let items =
            if way == Way::Int { "nochain,cpu,in_asm,int,exec" } else { "nochain,cpu,in_asm" };
        qemu.args(["-d", items, "-D"]).arg(&log).arg("-kernel").arg(elf).current_dir(&of_way);
        show(&qemu);
        let ran = qemu.output().expect("QEMU runs");
        if !ran.status.success() {
            return Some((
                vec![format!("QEMU: {:?} {}", ran.status, said(&ran))],
                Vec::new(),
                shown,
            ));
        }
        let mut build = command(&["build", utf8(&log)]);
        build.args(detail);
        show(&build);
        build.output().expect("addfg runs")
    };
    let words = said(&output);
    if words.contains("unknown option") || words.contains("invalid option") {
        skipped(&format!("record --qemu: {} was built without plugins", core.emulator));
        return None;
    }
    let counts = match counts(&file, firmware) {
        Ok(counts) => counts,
        Err(error) => return Some((vec![format!("{error}: {words}")], Vec::new(), shown)),
    };
    let mut lines = Vec::new();
    if !output.status.success() {
        lines.push(format!("addfg: exit code {:?}: {}", output.status.code(), words.trim()));
    }
    if output.status.code().is_none_or(|code| code > 1) {
        return Some((lines, Vec::new(), shown));
    }
    if way == Way::Int {
        let told = Told::read(core, &log);
        lines.extend(is_right(core, firmware, &counts, &told));
        // An instruction that faults may be a step or none.
        let faults = counts.traps.iter().sum::<u64>() as i64;
        let steps = rows(&db, "SELECT sum(steps_self) FROM function_call");
        let steps: i64 = steps[0].parse().expect("a number");
        if !(told.steps() - faults..=told.steps()).contains(&steps) {
            let (said, least) = (told.steps(), told.steps() - faults);
            lines.push(format!("steps: QEMU executed {least} to {said}, addfg {steps}"));
        }
    }
    // Of a task that never goes on such a log does not tell whether its last instruction ran.
    let honest = |line: &String| !(way.is_log() && line.starts_with("said: interrupted-steps"));
    lines.extend(differences(firmware, &counts, &db).into_iter().filter(honest));
    if way == Way::Plugin {
        lines.extend(gone_through_again(&db));
    }
    let steps = &rows(&db, "SELECT sum(steps_self) FROM function_call")[0];
    let sums = "SELECT caller || ' ' || callee || ' ' || kind, calls FROM call_graph WHERE kind <> 'signal' ORDER BY ALL";
    let mut same = vec![steps.clone(), counts.traps.iter().sum::<u64>().to_string()];
    same.extend(rows(&db, sums));
    same.push(format!("{counts:?}"));
    Some((lines, same, shown))
}

/// What slices and loops go along has the writers that the first pass found, whatever exceptions and tasks did to
/// registers.
fn gone_through_again(db: &Path) -> Option<String> {
    let connection = open(db);
    let (again, first) = (replayed(&connection), kept(&connection));
    let differ = again.iter().zip(&first).find(|(a, b)| a != b);
    let (found, expected) = (again.len(), first.len());
    (found != expected || differ.is_some())
        .then(|| format!("again: {found} communications of {expected}, {differ:?}"))
}

fn is_new(core: &Core) -> bool {
    let help = Command::new(core.emulator).arg("-h").output().expect("QEMU runs");
    String::from_utf8_lossy(&help.stdout).contains("one-insn-per-tb")
}

/// All seeds of a core; fails if anything differs.
fn all(name: &str, few: u64, ways: &[Way]) {
    let core = CORES.iter().find(|core| core.name == name).expect("a core");
    if listed("ADDFG_CORES").is_some_and(|cores| !cores.iter().any(|c| c == name)) {
        return;
    }
    let chosen = listed("ADDFG_WAYS");
    let ways: Vec<Way> = match &chosen {
        Some(names) => {
            WAYS.iter().filter(|way| names.iter().any(|n| n == way.0)).map(|way| way.1).collect()
        }
        None => ways.to_vec(),
    };
    if !have("gcc") || !have(core.compiler) || !have(core.emulator) || !have("timeout") {
        return;
    }
    let seeds = seeds(few);
    let (mut failed, mut ran) = (Vec::new(), BTreeMap::new());
    let (mut handlers, mut nested) = (0, 0);
    for seed in seeds {
        let scratch = Scratch::new(&format!("interrupts-{name}-{seed}"));
        let firmware = generate(core, seed);
        let (mut lines, mut commands, mut files) =
            (Vec::new(), Vec::new(), vec!["fw.c".to_owned()]);
        let mut recorded: Vec<(Way, Vec<String>)> = Vec::new();
        for &way in &ways {
            let scale = way.scale(&firmware);
            let (elf, compiled) = compile(core, &firmware, scale, &scratch.0);
            commands.push(compiled);
            files.push(format!("fw-{scale}.elf"));
            let Some((differ, same, shown)) = run(core, &firmware, &elf, way, &scratch.0) else {
                continue;
            };
            commands.extend(shown);
            let (runs, equal) = ran.entry(way).or_insert((0, 0));
            *runs += 1;
            *equal += usize::from(differ.is_empty());
            lines.extend(differ.into_iter().map(|line| format!("  {way:?}: {line}")));
            if !firmware.timed && !same.is_empty() {
                recorded.push((way, same));
            }
            let file = scratch.path(&format!("{way:?}").to_lowercase()).join("counts");
            if let Ok(counts) = counts(&file, &firmware) {
                handlers += counts.entries.iter().sum::<u64>();
                nested += counts.nest.iter().skip(firmware.tasks).flatten().sum::<u64>();
            }
        }
        // The same run, recorded by each way.
        for pair in recorded.windows(2) {
            let ((one, first), (other, second)) = (&pair[0], &pair[1]);
            // Where blocks end, interrupts that software raises come later.
            if first.last() != second.last() {
                continue;
            }
            let differ = |a: &[String], b: &[String]| {
                a.iter().filter(|row| !b.contains(row)).cloned().collect::<Vec<_>>().join("; ")
            };
            // An instruction that faults may be a step or none.
            let number = |text: &String| text.parse::<i64>().expect("a number");
            let steps = (number(&first[0]) - number(&second[0])).abs();
            if first[1..] != second[1..] || steps > number(&first[1]) {
                lines.push(format!("  {one:?} has {}", differ(first, second)));
                lines.push(format!("  {other:?} has {}", differ(second, first)));
            }
        }
        if lines.is_empty() {
            continue;
        }
        println!("{name}, seed {seed}:\n{}", lines.join("\n"));
        if failed.is_empty() {
            let kept =
                Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("interrupts-{name}-{seed}"));
            let _ = std::fs::create_dir_all(&kept);
            for file in files {
                let _ = std::fs::copy(scratch.path(&file), kept.join(file));
            }
            println!("kept: {}/fw.c\n{}", utf8(&kept), commands.join("\n"));
        }
        failed.push(seed);
    }
    println!("{name}: {handlers} interrupts, {nested} of them nested; (runs, equal): {ran:?}");
    assert!(failed.is_empty(), "{name}: seeds {failed:?}");
}

/// Each core has its own test, so that they run side by side: a seed every time, by the ways that people
/// record; more by `ADDFG_SEEDS` and `ADDFG_WAYS` (docs/reliability.md has what they give).
macro_rules! cores {
    ($($test:ident: $name:expr),*) => {
        $(#[test]
        fn $test() {
            all($name, 1, &[Way::Plugin, Way::Int, Way::Log]);
        })*
    };
}

cores! {
    firmware_of_a_cortex_m0: "m0",
    firmware_of_a_cortex_m3: "m3",
    firmware_of_another_cortex_m3: "m3-lm3s",
    firmware_of_a_cortex_m4_with_floats: "m4f",
    firmware_of_a_cortex_m7: "m7",
    firmware_of_a_cortex_m33: "m33",
    firmware_of_a_cortex_a9: "a9",
    firmware_of_a_cortex_a9_in_thumb: "a9-thumb",
    firmware_of_a_cortex_a15: "a15",
    firmware_of_a_cortex_a15_in_thumb: "a15-thumb",
    firmware_of_a_cortex_a53: "a53",
    firmware_of_riscv64: "rv64",
    firmware_of_riscv64_with_short_instructions: "rv64-c",
    firmware_of_riscv32: "rv32"
}

/// The vector table of a firmware, as its source has it.
#[test]
fn the_vector_table_names_exceptions() {
    let elf = repository("tests/data/qemu-system/fw.elf");
    let image = addfg::internals::image::Image::open(&elf).expect("an ELF");
    let handler =
        |name: &str| image.functions.iter().find(|f| f.name == name).expect("a handler").address;
    let (default, systick) = (handler("Default"), handler("SysTick_Handler"));
    let mut expected: Vec<(u32, u64)> =
        [2, 3, 4, 5, 6, 11, 12, 14].map(|number| (number, default)).to_vec();
    expected.push((15, systick));
    assert_eq!(image.vectors(), expected);
    // Other processors have none.
    for other in ["smp.elf", "v.elf", "a.elf"] {
        let path = repository("tests/data/qemu-system").join(other);
        assert!(addfg::internals::image::Image::open(&path).expect("an ELF").vectors().is_empty());
    }
}

/// A log that does not tell of exceptions: those that are found have the number of the vector whose handler begins.
#[test]
fn exceptions_that_are_found_have_the_number_of_their_vector() {
    let scratch = Scratch::new("vectors");
    let data = |name: &str| repository("tests/data/qemu-system").join(name);
    let (log, elf) = (data("fw.log.xz"), data("fw.elf"));
    let giano = scratch.path("fw.giano");
    addfg(&["convert", utf8(&log), "--elf", utf8(&elf), "-o", utf8(&giano), "--quiet"]);
    let (_, _, db) = build_in(&scratch, &[&giano], &["--elf", utf8(&elf)]);
    let began = "SELECT DISTINCT e.number, f.name FROM signal_event e
        JOIN opcode_line o ON o.seq = e.seq + 1 JOIN instruction USING (instruction_id) JOIN function_symbol f USING (function_id)
        WHERE e.kind = 'entry' AND (e.number IS NOT NULL OR f.name = 'SysTick_Handler') ORDER BY ALL";
    assert_eq!(rows(&db, began), ["15,SysTick_Handler"]);
}
