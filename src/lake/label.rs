//! What a person says of a run: `input=big`, `commit=abc`, `size=4096`.

use super::error::LakeError;
use std::collections::{BTreeMap, BTreeSet};

/// The label that tells repetitions of the same run apart. It is never a difference between them.
pub const REPEAT: &str = "repeat";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    pub name: String,
    pub value: String,
}

impl Label {
    /// `NAME=VALUE`.
    pub fn parse(text: &str) -> Result<Label, LakeError> {
        let word = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match text.split_once('=') {
            Some((name, value)) if word(name) && !value.chars().any(char::is_control) => {
                Ok(Label { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err(LakeError::Label { text: text.to_owned() }),
        }
    }
}

/// Labels by name.
pub type Labels = BTreeMap<String, String>;

/// Labels as a set; each name once.
pub fn labels(list: &[Label]) -> Result<Labels, LakeError> {
    let mut labels = Labels::new();
    for label in list {
        if labels.insert(label.name.clone(), label.value.clone()).is_some() {
            return Err(LakeError::LabelTwice { name: label.name.clone() });
        }
    }
    Ok(labels)
}

/// The number that a value is, if it is one.
pub fn number(value: &str) -> Option<f64> {
    value.parse().ok().filter(|n: &f64| n.is_finite())
}

/// For each label of the runs of a program, the other labels that runs must have in common to be
/// compared: all but those that follow from it (each of its values comes with one of theirs) and
/// [`REPEAT`].
pub fn others<'a>(runs: &[&'a Labels]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let names: BTreeSet<&str> = runs.iter().flat_map(|l| l.keys().map(String::as_str)).collect();
    let follows = |from: &str, name: &str| {
        let mut seen: BTreeMap<&str, Option<&String>> = BTreeMap::new();
        runs.iter().all(|labels| match labels.get(from) {
            Some(value) => *seen.entry(value).or_insert(labels.get(name)) == labels.get(name),
            None => true,
        })
    };
    let other = |from: &&'a str| {
        let kept = names.iter().filter(|n| *n != from && **n != REPEAT && !follows(from, n));
        (*from, kept.copied().collect())
    };
    names.iter().map(other).collect()
}

/// Labels that say which state of the program a run is of, not what it was run with.
pub const HISTORY: [&str; 6] = ["commit", "version", "revision", "date", "time", "build"];

/// What runs must have in common to be compared by a label: some of their labels, and of how they
/// were recorded what differs among them.
pub fn context(labels: &Labels, names: &[&str], recording: &Labels, differing: &[&str]) -> String {
    let recorded = described(recording, differing);
    [described(labels, names), recorded]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The keys in which some texts by key differ.
pub fn differing<'a>(all: &[&'a Labels]) -> Vec<&'a str> {
    let keys: BTreeSet<&str> = all.iter().flat_map(|one| one.keys().map(String::as_str)).collect();
    let differs = |key: &&str| all.iter().any(|one| one.get(*key) != all[0].get(*key));
    keys.into_iter().filter(differs).collect()
}

/// The values of some labels as a text: `input=big, version=2`.
pub fn described(labels: &Labels, names: &[&str]) -> String {
    let one = |name: &&str| labels.get(*name).map(|value| format!("{name}={value}"));
    names.iter().filter_map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Labels {
        labels(&text.split(',').map(|l| Label::parse(l).unwrap()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn labels_have_names_and_values() {
        for wrong in ["", "a", "=b", "1=b", "a b=c", "a=\u{1b}[2J"] {
            assert!(Label::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Label::parse("a=b=c").unwrap().value, "b=c");
        let twice = ["a=1", "a=2"].map(|l| Label::parse(l).unwrap());
        assert!(matches!(labels(&twice), Err(LakeError::LabelTwice { .. })));
        assert_eq!(
            ["1e3", "-2", "inf", "big", ""].map(number),
            [Some(1e3), Some(-2.0), None, None, None]
        );
    }

    #[test]
    fn what_follows_from_a_label_is_no_other_label() {
        let runs = [
            run("size=1,input=a,commit=x,repeat=1"),
            run("size=1,input=a,commit=y,repeat=2"),
            run("size=2,input=b,commit=x"),
            run("size=2,input=b,commit=y"),
        ];
        let others = others(&runs.iter().collect::<Vec<_>>());
        assert_eq!(others["size"], ["commit"]);
        assert_eq!(others["commit"], ["input", "size"]);
        assert_eq!(described(&runs[0], &others["commit"]), "input=a, size=1");
    }
}
