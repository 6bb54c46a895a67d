//! In which contexts two values of a label can be compared, and why they cannot.

use super::error::LakeError;
use super::label::{Labels, REPEAT};
use super::manifest::Manifest;
use super::open::Lake;
use std::collections::{BTreeMap, BTreeSet};

/// Refuses a label that no run has.
pub fn known_label(lake: &Lake, label: &str) -> Result<(), LakeError> {
    if lake.runs().any(|run| run.labels.contains_key(label)) {
        return Ok(());
    }
    Err(LakeError::NoLabel { name: label.to_owned(), known: lake.known() })
}

/// The contexts in which two values of a label are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Runs of the two sides in each context that both have.
    pub runs: Vec<(usize, usize)>,
    /// Contexts of one side only.
    pub left_out: Vec<String>,
}

/// Refuses labels and values that no run has, and sides that have no context in common.
pub fn coverage(
    lake: &Lake,
    label: &str,
    before: &str,
    after: &str,
) -> Result<Coverage, LakeError> {
    known_label(lake, label)?;
    let values: BTreeSet<&str> =
        lake.runs().filter_map(|run| run.labels.get(label)).map(String::as_str).collect();
    for value in [before, after] {
        if !values.contains(value) {
            let few: Vec<_> = values.iter().take(12).copied().collect();
            let known =
                format!("{}{}", few.join(", "), if values.len() > 12 { ", ..." } else { "" });
            let (label, value) = (label.to_owned(), value.to_owned());
            return Err(LakeError::NoValue { label, value, known });
        }
    }
    if before == after {
        return Err(LakeError::SameSide { label: label.to_owned(), value: after.to_owned() });
    }
    let contexts = lake.contexts();
    let mut found: BTreeMap<(&str, String), (usize, usize)> = BTreeMap::new();
    for run in lake.runs() {
        let value = run.labels.get(label).map(String::as_str);
        let sides = (usize::from(value == Some(before)), usize::from(value == Some(after)));
        if sides != (0, 0) {
            let cell = found.entry((&run.program, contexts.rest(run, label))).or_default();
            *cell = (cell.0 + sides.0, cell.1 + sides.1);
        }
    }
    let is_common = |runs: &(usize, usize)| runs.0 > 0 && runs.1 > 0;
    let runs: Vec<(usize, usize)> = found.values().copied().filter(is_common).collect();
    if runs.is_empty() {
        let why = why_apart(lake, label, before, after);
        let [label, before, after] = [label, before, after].map(str::to_owned);
        return Err(LakeError::NoContext { label, before, after, why });
    }
    let left_out = found.iter().filter(|(_, runs)| !is_common(runs));
    let left_out = left_out.map(|((_, rest), runs)| {
        let side = if runs.0 > 0 { before } else { after };
        format!("{} (only {side})", if rest.is_empty() { "no other label" } else { rest.as_str() })
    });
    Ok(Coverage { runs, left_out: left_out.collect() })
}

/// Refuses a label that has one value, or two values of which no context has both: a history needs
/// runs that differ in the label only.
pub fn history(lake: &Lake, label: &str) -> Result<(), LakeError> {
    known_label(lake, label)?;
    let contexts = lake.contexts();
    let mut found: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    let mut values = BTreeSet::new();
    for run in lake.runs() {
        if let Some(value) = run.labels.get(label) {
            values.insert(value.as_str());
            found.entry((&run.program, contexts.rest(run, label))).or_default().insert(value);
        }
    }
    if found.values().any(|values| values.len() > 1) {
        return Ok(());
    }
    let mut values = values.into_iter();
    let (label_of, before) = (label.to_owned(), values.next().unwrap_or_default());
    let Some(after) = values.next() else {
        return Err(LakeError::OneValue { label: label_of, value: before.to_owned() });
    };
    let why = why_apart(lake, label, before, after);
    let [before, after] = [before, after].map(str::to_owned);
    Err(LakeError::NoContext { label: label_of, before, after, why })
}

/// Why the runs of two values have no context in common.
fn why_apart(lake: &Lake, label: &str, before: &str, after: &str) -> String {
    let side = |wanted: &str| -> Vec<&Manifest> {
        lake.runs().filter(|run| run.labels.get(label).is_some_and(|v| v == wanted)).collect()
    };
    let (first, second) = (side(before), side(after));
    let programs = |runs: &[&Manifest]| -> BTreeSet<String> {
        runs.iter().map(|run| run.program.clone()).collect()
    };
    if programs(&first).is_disjoint(&programs(&second)) {
        let list = |runs: &[&Manifest]| programs(runs).into_iter().collect::<Vec<_>>().join(", ");
        return format!("they are of different programs ({} and {})", list(&first), list(&second));
    }
    let mut found = Vec::new();
    for (what, of) in [
        ("the label", (|run: &Manifest| run.labels.clone()) as fn(&Manifest) -> Labels),
        ("how they were recorded:", |run| run.recording.clone()),
    ] {
        let names: BTreeSet<String> =
            first.iter().chain(&second).flat_map(|run| of(run).into_keys()).collect();
        for name in names.iter().filter(|name| *name != label && *name != REPEAT) {
            let values = |runs: &[&Manifest]| -> BTreeSet<String> {
                runs.iter().map(|run| of(run).get(name).cloned().unwrap_or_default()).collect()
            };
            let (one, two) = (values(&first), values(&second));
            if !one.is_disjoint(&two) {
                continue;
            }
            let show = |values: &BTreeSet<String>| {
                let few: Vec<_> = values.iter().take(3).cloned().collect();
                format!("{}{}", few.join(", "), if values.len() > 3 { ", ..." } else { "" })
            };
            let text = format!("{what} {name} differs ({} and {})", show(&one), show(&two));
            found.push(match follows_but(lake, label, name) {
                Some(but) if what == "the label" => format!("{text}; {but}"),
                _ => text,
            });
        }
    }
    match found.is_empty() {
        true => "no combination of their other labels is on both sides".into(),
        false => found.join("; "),
    }
}

/// Where a label would follow from another one but for a few runs: which value has several.
fn follows_but(lake: &Lake, label: &str, name: &str) -> Option<String> {
    let mut values: BTreeMap<&String, BTreeMap<Option<&String>, &Manifest>> = BTreeMap::new();
    for run in lake.runs() {
        if let Some(value) = run.labels.get(label) {
            values.entry(value).or_default().insert(run.labels.get(name), run);
        }
    }
    let (value, several) = values.iter().find(|(_, found)| found.len() > 1)?;
    let list: Vec<_> = several
        .iter()
        .take(3)
        .map(|(text, run)| format!("{} in {}", text.map_or("none", |t| t.as_str()), run.run.text()))
        .collect();
    Some(format!("it does not follow from {label}, as {label}={value} has {}", list.join(", ")))
}
