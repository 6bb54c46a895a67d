//! Which runs a rule looks at: the newest of each context, and of a reference the newest there.

use super::label::{HISTORY, Labels, REPEAT, described, others};
use super::manifest::Manifest;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The labels that say which state of the program a run is of: those given, else those of
/// [`HISTORY`].
pub fn over(given: &[String]) -> Vec<&str> {
    match given {
        [] => HISTORY.to_vec(),
        given => given.iter().map(String::as_str).collect(),
    }
}

/// By program, the labels that make a context: neither those of `over`, nor what follows from one of
/// them, nor `repeat`.
fn contexts<'a>(runs: &[&'a Manifest], over: &[&str]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut by_program: BTreeMap<&str, Vec<&Labels>> = BTreeMap::new();
    for run in runs {
        by_program.entry(&run.program).or_default().push(&run.labels);
    }
    let names = |labels: &Vec<&'a Labels>| {
        let others = others(labels);
        let stays = |name: &&str| {
            *name != REPEAT
                && over
                    .iter()
                    .all(|o| others.get(*o).is_none_or(|kept| kept.iter().any(|k| k == name)))
                && !over.contains(name)
        };
        others.keys().copied().filter(stays).collect()
    };
    by_program.iter().map(|(program, labels)| (*program, names(labels))).collect()
}

/// Which of two runs is older: by `date` or `time` where both have it, else by when it was collected.
fn age(a: &Manifest, b: &Manifest) -> Ordering {
    let dated = ["date", "time"].iter().find_map(|name| {
        let (a, b) = (a.labels.get(*name)?, b.labels.get(*name)?);
        let numbers = super::label::number(a).zip(super::label::number(b));
        Some(numbers.map_or_else(|| a.cmp(b), |(a, b)| a.total_cmp(&b)))
    });
    let dated = dated.unwrap_or(Ordering::Equal);
    dated.then(a.collected.cmp(&b.collected)).then(a.run.cmp(&b.run))
}

/// Runs by context (program, and its labels as a text): of each context those of its newest state, with
/// all their repeats.
pub fn newest<'a>(
    runs: &[&'a Manifest],
    over: &[&str],
) -> BTreeMap<(String, String), Vec<&'a Manifest>> {
    let mut found = by_context(runs, over);
    for runs in found.values_mut() {
        let Some(last) = runs.iter().copied().max_by(|a, b| age(a, b)) else { continue };
        let state = described(&last.labels, over);
        runs.retain(|run| described(&run.labels, over) == state);
    }
    found
}

/// All runs by context.
pub fn by_context<'a>(
    runs: &[&'a Manifest],
    over: &[&str],
) -> BTreeMap<(String, String), Vec<&'a Manifest>> {
    let names = contexts(runs, over);
    let mut found: BTreeMap<(String, String), Vec<&Manifest>> = BTreeMap::new();
    for run in runs {
        let context = described(&run.labels, &names[run.program.as_str()]);
        found.entry((run.program.clone(), context)).or_default().push(run);
    }
    found
}

/// The labels that have a value.
pub fn labels_with(runs: &[&Manifest], value: &str) -> BTreeSet<String> {
    let labels = runs.iter().flat_map(|run| &run.labels);
    labels.filter(|(_, v)| *v == value).map(|(name, _)| name.clone()).collect()
}
