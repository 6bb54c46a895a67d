//! What descriptors are open on, by names that a person can follow through all processes of a run.

use rustc_hash::FxHashMap;

/// Names of the first three descriptors while they are open on what the run began with.
const STANDARD: [&str; 3] = ["stdin", "stdout", "stderr"];

/// What all processes of a run have in common.
#[derive(Default)]
pub struct Names {
    /// What the first three were open on when the run began.
    standard: [Option<Box<str>>; 3],
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

    /// A descriptor is open on this from now on.
    pub fn open(&mut self, descriptor: u64, on: Box<str>) {
        if let Some(standard) = place(descriptor) {
            self.names.standard[standard].get_or_insert_with(|| on.clone());
        }
        self.names.number(&on);
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
        let Some(on) = on else { return format!("descriptor {descriptor}") };
        match self.names.numbered.get(on) {
            Some(name) => name.to_string(),
            None => on.rsplit('/').next().unwrap_or(on).to_owned(),
        }
    }
}

impl Names {
    /// Counts `pipe:[4711]` if it is new.
    fn number(&mut self, on: &str) {
        let Some((kind, _)) = on.split_once(":[").filter(|_| on.ends_with(']')) else { return };
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
        // A child that reads from the pipe, and writes where its parent did.
        let mut child = Descriptors::new(shell.into_names());
        for (descriptor, on) in [(0, "pipe:[99]"), (1, "pipe:[7]"), (2, "pipe:[100]")] {
            child.open(descriptor, on.into());
        }
        assert_eq!([0, 1, 2].map(|d| child.name(d)), ["pipe 1", "stdout", "pipe 2"]);
    }
}
