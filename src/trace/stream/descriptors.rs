//! What descriptors are open on, by names that a person can follow through all processes of a run.

use rustc_hash::{FxHashMap, FxHashSet};

/// Names of the first three descriptors while they are open on what the run began with.
const STANDARD: [&str; 3] = ["stdin", "stdout", "stderr"];

/// The folder of what the kernel tells a process of itself.
const ITSELF: &str = "/proc/self/";

/// What all processes of a run have in common.
#[derive(Default)]
pub struct Names {
    /// What the first three were open on when the run began.
    standard: [Option<Box<str>>; 3],
    /// Files by the last part of their paths, the first of each: others have more of theirs.
    short: FxHashMap<Box<str>, Box<str>>,
    taken: FxHashSet<Box<str>>,
    /// Pipes, sockets and the like have numbers of the system (`pipe:[4711]`): here those are
    /// counted from 1 as they appear, by kind, so that they are the same in every run.
    numbered: FxHashMap<Box<str>, Box<str>>,
    counts: FxHashMap<Box<str>, u32>,
}

/// The descriptors of a process.
pub struct Descriptors {
    names: Names,
    open: FxHashMap<u64, Box<str>>,
}

impl Descriptors {
    pub fn new(names: Names) -> Descriptors {
        Descriptors { names, open: FxHashMap::default() }
    }

    pub fn into_names(self) -> Names {
        self.names
    }

    /// What it has in common with the processes that are told of between its own events.
    pub fn names(&mut self) -> &mut Names {
        &mut self.names
    }

    /// A descriptor is open on this from now on, as the system names it; on nothing if that is empty.
    pub fn open(&mut self, descriptor: u64, on: Box<str>) {
        if let Some(standard) = place(descriptor) {
            self.names.standard[standard].get_or_insert_with(|| on.clone());
        }
        if on.is_empty() {
            self.open.insert(descriptor, on);
            return;
        }
        let on: Box<str> = without_state(&on).into();
        self.names.number(&on);
        self.names.shorten(&on);
        self.open.insert(descriptor, on);
    }

    /// `stdin`, the name of a file without its folder, `pipe 1`.
    pub fn name(&self, descriptor: u64) -> String {
        let on = self.open.get(&descriptor);
        if let Some(standard) = place(descriptor)
            && (on.is_none() || on == self.names.standard[standard].as_ref())
        {
            return STANDARD[standard].to_owned();
        }
        let Some(on) = on.filter(|on| !on.is_empty()) else {
            return format!("descriptor {descriptor}");
        };
        match self.names.numbered.get(on).or_else(|| self.names.short.get(on)) {
            Some(name) => name.to_string(),
            None => last(on, 1).to_owned(),
        }
    }
}

/// A path as it was before its file was deleted.
pub fn without_state(on: &str) -> &str {
    on.strip_suffix(" (deleted)").unwrap_or(on)
}

/// A path below the folder that the kernel has for this process, without its number.
pub fn of_itself(on: Box<str>, process: u64) -> Box<str> {
    match on.strip_prefix(&format!("/proc/{process}/")) {
        Some(rest) => format!("{ITSELF}{rest}").into(),
        None => on,
    }
}

/// The last parts of a path.
fn last(path: &str, parts: usize) -> &str {
    let start = path.rmatch_indices('/').nth(parts - 1).map_or(0, |(at, _)| at + 1);
    &path[start..]
}

impl Names {
    /// The shortest end of a path that no other path has.
    fn shorten(&mut self, on: &str) {
        // `anon_inode:[eventfd]` and `anon_inode:inotify` are all alike.
        if let Some(kind) = on.strip_prefix("anon_inode:") {
            let kind = kind.trim_matches(['[', ']']);
            self.numbered.insert(on.into(), kind.into());
            return;
        }
        if !on.starts_with('/') || self.short.contains_key(on) {
            return;
        }
        // `maps` alone does not say that it is no file of the program's.
        if on.starts_with(ITSELF) {
            self.short.insert(on.into(), on.into());
            return;
        }
        let parts = on.matches('/').count();
        let mut ends = (1..=parts).map(|n| last(on, n));
        let name = ends.find(|name| !self.taken.contains(*name)).unwrap_or(on);
        self.taken.insert(name.into());
        self.short.insert(on.into(), name.into());
    }

    /// Counts `pipe:[4711]` if it is new.
    fn number(&mut self, on: &str) {
        let Some((kind, _)) = on.split_once(":[").filter(|_| on.ends_with(']')) else { return };
        if kind == "anon_inode" {
            return;
        }
        if self.numbered.contains_key(on) || self.standard.iter().flatten().any(|s| **s == *on) {
            return;
        }
        let count = self.counts.entry(kind.into()).or_default();
        *count += 1;
        self.numbered.insert(on.into(), format!("{kind} {count}").into());
    }
}

fn place(descriptor: u64) -> Option<usize> {
    usize::try_from(descriptor).ok().filter(|&d| d < STANDARD.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_through_processes() {
        let mut shell = Descriptors::new(Names::default());
        let began = [(0, "/dev/null"), (1, "pipe:[7]"), (2, "/dev/null")];
        for (descriptor, on) in began.into_iter().chain([(3, "pipe:[99]"), (4, "/a/b")]) {
            shell.open(descriptor, on.into());
        }
        let names = [0, 1, 2, 3, 4, 5].map(|d| shell.name(d));
        assert_eq!(names, ["stdin", "stdout", "stderr", "pipe 1", "b", "descriptor 5"]);
        shell.open(6, of_itself("/proc/17/maps".into(), 17));
        shell.open(7, of_itself("/proc/170/maps".into(), 17));
        assert_eq!([6, 7].map(|d| shell.name(d)), ["/proc/self/maps", "maps"]);
        // A child that reads from the pipe, and writes where its parent did.
        let mut child = Descriptors::new(shell.into_names());
        for (descriptor, on) in [(0, "pipe:[99]"), (1, "pipe:[7]"), (2, "pipe:[100]")] {
            child.open(descriptor, on.into());
        }
        assert_eq!([0, 1, 2].map(|d| child.name(d)), ["pipe 1", "stdout", "pipe 2"]);
    }
}
