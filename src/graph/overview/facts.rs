//! What the overview reads: functions with what rules say of each.

use super::hidden;
use crate::graph::model::{NodeId, Via};
use crate::graph::rows::{CallRow, DataRow, Numbers, calls, data, report};
use crate::graph::selection::Selection;
use crate::id::FunctionId;
use crate::image::Owner;
use crate::query::each;
use crate::text::file_name;
use duckdb::Connection;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Functions that may become boxes.
const CANDIDATES: usize = 64;
/// Steps a call below which a function is a helper.
const SMALL: i64 = 60;

/// Handlers that are boxes whatever they weigh.
const HANDLERS: usize = 8;
/// Whether the trace tells of system calls: what the hardware does is none.
const SYSTEM_CALLS: &str = "SELECT EXISTS (FROM system_call WHERE name IS NULL OR name NOT IN ('device', 'exception entry'))";

/// What a function does with files, where system calls do not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    Plain,
    Reads,
    Writes,
}

#[derive(Clone, Debug)]
pub struct Weighed {
    pub id: FunctionId,
    pub name: String,
    pub kind: String,
    pub image: Option<String>,
    image_id: Option<i32>,
    /// Its source file, else its image.
    pub file: Option<String>,
    /// Whose code it is.
    owner: Option<Owner>,
    pub calls: i64,
    pub steps: i64,
    total: i64,
    pub role: FileUse,
    /// Whether signals or exceptions begin it: a box of its own, for nobody has called it.
    pub handler: bool,
    /// Whether it may be a box.
    pub candidate: bool,
}

impl Weighed {
    /// Whether it may be a box, and is no reader or writer of files, which become one place.
    pub fn is_plain_candidate(&self) -> bool {
        self.candidate && self.role == FileUse::Plain
    }

    /// Whether it is of a run-time system or the dynamic linker.
    pub fn is_system(&self) -> bool {
        matches!(self.owner, Some(Owner::Runtime | Owner::Linker))
    }

    pub fn is_linker(&self) -> bool {
        self.owner == Some(Owner::Linker)
    }

    /// Whether it is start-up's, or so common that no picture is of it.
    fn is_never_kept(&self) -> bool {
        self.owner == Some(Owner::Linker) || self.is_system() && hidden::never_kept(&self.name)
    }

    /// Whether it reads or writes files for whoever calls it.
    fn moves_files(&self) -> bool {
        self.is_system() && (hidden::reads_files(&self.name) || hidden::writes_files(&self.name))
    }
}

pub struct Functions {
    pub list: Vec<Weighed>,
    pub at: HashMap<i64, usize>,
    pub steps: i64,
    /// Whether the recording names files by its system calls.
    pub system_calls: bool,
    /// Bytes that system calls moved, by where from or to.
    pub moved: BTreeMap<Outside, i64>,
    pub calls: Vec<CallRow>,
    pub data: Vec<DataRow>,
    /// Where the program as its author knows it begins.
    pub main: Option<usize>,
}

impl Functions {
    pub fn read(connection: &Connection) -> duckdb::Result<Functions> {
        let mut list = Vec::new();
        each(connection, report!("overview_functions"), &[], |r| {
            list.push(Weighed {
                id: r.get(0)?,
                name: r.get(1)?,
                kind: r.get(2)?,
                image: r.get(3)?,
                image_id: r.get(4)?,
                calls: r.get(5)?,
                steps: r.get(6)?,
                total: r.get(7)?,
                file: r.get(8)?,
                owner: r.get::<_, Option<String>>(9)?.and_then(|word| Owner::parse(&word)),
                role: FileUse::Plain,
                handler: r.get(10)?,
                candidate: false,
            });
            Ok(())
        })?;
        let at = (0..).zip(&list).map(|(i, f): (_, &Weighed)| (i64::from(f.id.get()), i)).collect();
        let steps = list.iter().map(|f| f.steps).sum();
        let system_calls = connection.query_row(SYSTEM_CALLS, [], |r| r.get(0))?;
        let calls = calls(connection, report!("graph_calls"), &[], Numbers::Functions)?;
        let all = Selection::default();
        let data = data(connection, report!("graph_data"), &[], Numbers::Functions, &all)?;
        let mut moved = BTreeMap::new();
        each(connection, report!("overview_moved"), &[], |r| {
            let (name, is_write, bytes): (String, bool, i64) = (r.get(0)?, r.get(1)?, r.get(2)?);
            let outside = if is_write { source_of(&name, true) } else { sink_of(&name) };
            outside.into_iter().for_each(|outside| *moved.entry(outside).or_default() += bytes);
            Ok(())
        })?;
        let mut found = Functions { list, at, steps, system_calls, moved, calls, data, main: None };
        found.find_roles();
        found.main = found.find_main();
        found.find_handlers();
        Ok(found)
    }

    /// What a pseudo-function that data comes from stands for: not what was mapped of the program's own files.
    pub fn source(&self, name: &str) -> Option<Outside> {
        let own =
            |file: &str| self.list.iter().any(|f| f.image.as_deref().map(file_name) == Some(file));
        let mapped = name.strip_prefix("<mmap: ").and_then(|name| name.strip_suffix('>'));
        if mapped.is_some_and(own) { None } else { source_of(name, self.system_calls) }
    }

    /// Functions that ran.
    pub fn ran(&self) -> usize {
        let ran = |f: &&Weighed| f.kind != "pseudo" && f.kind != "stub" && f.calls > 0;
        self.list.iter().filter(ran).count()
    }

    pub fn index(&self, id: NodeId) -> Option<usize> {
        let NodeId::Function(id) = id else { return None };
        self.at.get(&i64::from(id.get())).copied()
    }

    /// Of the functions that signals and exceptions begin, those with the most steps.
    fn find_handlers(&mut self) {
        let own = |f: &Weighed| f.handler && f.kind == "function" && !f.is_never_kept();
        let mut list: Vec<usize> =
            (0..self.list.len()).filter(|&i| own(&self.list[i]) && self.main != Some(i)).collect();
        list.sort_by_key(|&i| (-self.list[i].steps, i));
        list.truncate(HANDLERS);
        self.list.iter_mut().for_each(|f| f.handler = false);
        list.into_iter().for_each(|i| self.list[i].handler = true);
    }

    fn find_roles(&mut self) {
        if self.system_calls {
            return;
        }
        for f in self.list.iter_mut().filter(|f| f.kind == "function" && f.is_system()) {
            if hidden::reads_files(&f.name) {
                f.role = FileUse::Reads;
            } else if hidden::writes_files(&f.name) {
                f.role = FileUse::Writes;
            }
        }
    }

    /// `main`; of Rust the one that the C function `main` leads to.
    fn find_main(&self) -> Option<usize> {
        let named = |f: &Weighed| f.name == "main" && f.kind == "function";
        let c = self.list.iter().position(named).or_else(|| self.called_as_main())?;
        let rust = |f: &Weighed| {
            f.name.ends_with("::main") && f.calls > 0 && f.image == self.list[c].image
        };
        let runs = self.list.iter().any(|f| f.name.contains("lang_start"));
        let own = if runs { self.list.iter().position(rust) } else { None };
        Some(own.unwrap_or(c))
    }

    /// The function that the C library calls as `main`, where the program has no symbols.
    fn called_as_main(&self) -> Option<usize> {
        let own = |i: &usize| self.list[*i].owner == Some(Owner::Program);
        let calls = self.calls.iter().filter_map(|row| {
            let caller = &self.list[self.index(row.caller)?];
            let calls = caller.name == "__libc_start_call_main" && caller.is_system();
            self.index(row.callee).filter(own).filter(|_| calls)
        });
        calls.min()
    }

    /// The file of the program: where `main` is, else the first that is no run-time system's.
    pub fn program(&self) -> Option<&str> {
        let main = self.main.map(|m| &self.list[m]).filter(|f| f.image.is_some());
        let first = || {
            let own = |f: &&Weighed| f.image.is_some() && f.owner == Some(Owner::Program);
            self.list.iter().filter(own).min_by_key(|f| f.image_id)
        };
        main.or_else(first).and_then(|f| f.image.as_deref())
    }

    /// Callers of each function, what calls a stub counted as calling what the stub calls.
    fn callers(&self) -> BTreeMap<usize, BTreeSet<usize>> {
        let mut direct: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for row in &self.calls {
            if let (Some(a), Some(b)) = (self.index(row.caller), self.index(row.callee))
                && a != b
            {
                direct.entry(b).or_default().insert(a);
            }
        }
        let through = |callers: &BTreeSet<usize>| -> BTreeSet<usize> {
            let stub = |i: usize| self.list[i].kind == "stub";
            let behind = callers.iter().filter(|&&c| stub(c)).filter_map(|c| direct.get(c));
            callers.iter().copied().filter(|&c| !stub(c)).chain(behind.flatten().copied()).collect()
        };
        direct.iter().map(|(&f, callers)| (f, through(callers))).collect()
    }

    /// The share of the traffic of each function.
    fn traffic(&self) -> BTreeMap<usize, f64> {
        let mut found: BTreeMap<usize, f64> = BTreeMap::new();
        let mut total = 0.0;
        for row in self.data.iter().filter(|row| row.writer != row.reader) {
            let bytes = weight(row.flow.via, bytes_of(row));
            total += bytes;
            for i in [row.writer, row.reader].into_iter().filter_map(|end| self.index(end)) {
                *found.entry(i).or_default() += bytes;
            }
        }
        found.values_mut().for_each(|share| *share /= f64::max(total, 1.0));
        found
    }

    /// Marks what may be a box.
    pub fn choose(&mut self) {
        let data = self.traffic();
        let callers = self.callers();
        let none = BTreeSet::new();
        let mut below: BTreeMap<usize, i64> = BTreeMap::new();
        for row in &self.calls {
            if let (Some(a), Some(b)) = (self.index(row.caller), self.index(row.callee))
                && self.list[b].is_system()
                && hidden::allocates(&self.list[b].name)
            {
                *below.entry(a).or_default() += row.steps.unwrap_or(0);
            }
        }
        let share = |n: i64| if self.steps > 0 { n as f64 / self.steps as f64 } else { 0.0 };
        let mut weighed = Vec::new();
        for (i, f) in self.list.iter().enumerate() {
            let by = callers.get(&i).unwrap_or(&none);
            let fits = matches!(f.kind.as_str(), "function" | "unknown")
                && !f.is_never_kept()
                && !f.name.starts_with("<unknown")
                && (f.name != "main" || self.main == Some(i))
                && !f.moves_files()
                && below.get(&i).copied().unwrap_or(0) * 2 <= f.total.max(1);
            let of_program = |&c: &usize| !self.list[c].is_system();
            let library = f.is_system() && !by.iter().any(of_program);
            let small = f.steps < SMALL * f.calls.max(1)
                && (by.len() >= 3 || share(f.steps) < 0.05)
                && self.main != Some(i)
                // What is called a few times is no helper, it leads on.
                && f.calls > 8;
            let weight =
                share(f.steps).max(data.get(&i).copied().unwrap_or(0.0)).max(0.05 * share(f.total));
            let weight = if self.main == Some(i) { 2.0 } else { weight };
            if f.role == FileUse::Plain && fits && !library && !small {
                weighed.push((weight, i));
            }
        }
        weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for &(_, i) in weighed.iter().take(CANDIDATES) {
            self.list[i].candidate = true;
        }
        self.list.iter_mut().for_each(|f| f.candidate |= f.handler || f.role != FileUse::Plain);
    }
}

/// Where bytes that no step wrote come from, or go to, as a box.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outside {
    Input(String),
    Output(String),
    Constants,
}

/// What a byte in a register or of a constant counts against others.
const LITTLE: f64 = 0.25;

/// Bytes as boxes are weighed by them.
pub fn weight(via: Via, bytes: f64) -> f64 {
    if matches!(via, Via::Register | Via::Constant) { bytes * LITTLE } else { bytes }
}

/// Each written byte once per reading call.
pub fn bytes_of(row: &DataRow) -> f64 {
    row.flow.unique_bytes.unwrap_or(row.flow.bytes) as f64
}

/// `<read: /etc/passwd>`: the call, or what else it is, and the file.
fn pseudo(name: &str) -> Option<(&str, &str)> {
    let inner = name.strip_prefix('<')?.strip_suffix('>')?;
    Some(inner.split_once(": ").unwrap_or((inner, "")))
}

/// What a pseudo-function that data comes from stands for; None for what no picture needs.
fn source_of(name: &str, system_calls: bool) -> Option<Outside> {
    let (call, file) = pseudo(name)?;
    let base = file_name(file);
    if call.starts_with("device ") {
        return Some(Outside::Input(call.to_owned()));
    }
    if ["read", "pread64", "readv", "recv", "recvfrom", "recvmsg", "mmap"].contains(&call) {
        let code = is_library(base)
            || ["/etc/ld.so.", "/proc/self/", "/sys/devices/system/cpu/", "/usr/share/locale/"]
                .iter()
                .any(|begin| file.starts_with(begin))
            || call == "mmap" && is_locale(base);
        let named = if base.is_empty() { call } else { base };
        return (!code).then(|| Outside::Input(named.to_owned()));
    }
    let constant = [" .rodata", " .data", " .text"].iter().any(|section| name.contains(section));
    match call {
        "input" => (!system_calls).then(|| Outside::Input("input".into())),
        _ => constant.then_some(Outside::Constants),
    }
}

/// `libz.so`, `libz.so.1.2`: what the dynamic linker reads.
fn is_library(file: &str) -> bool {
    let version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    file.split_once(".so").is_some_and(|(_, rest)| version(rest))
}

/// Files that the C library maps for the user's language.
fn is_locale(file: &str) -> bool {
    let begins = ["LC_", "SYS_LC_", "locale-archive", "gconv-modules"];
    begins.iter().any(|begin| file.starts_with(begin))
}

/// What a pseudo-function that data goes to stands for.
pub fn sink_of(name: &str) -> Option<Outside> {
    let (call, file) = pseudo(name)?;
    let named = if file.is_empty() { "output" } else { file_name(file) };
    if call.starts_with("device ") {
        return Some(Outside::Output(call.to_owned()));
    }
    let writes = ["write", "pwrite", "send"].iter().any(|begin| call.starts_with(begin));
    writes.then(|| Outside::Output(named.to_owned()))
}
