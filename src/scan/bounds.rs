//! The steps that a statement wants of what a table function gives, by DuckDB's plan of it.
//!
//! DuckDB hands no condition to a table function. Its optimizer brings each as near to what it is on as it
//! can, so that conditions on the rows of a scan stand right above it, also those that come from a join or
//! stand in a view. A bound that is found holds for all rows that the statement wants: conditions that are
//! not understood only leave more.

use serde_json::Value;

/// First and last step, both inclusive.
pub type Bounds = (u64, u64);

const ALL: Bounds = (0, u64::MAX);

/// The steps that all scans of a function want together, by one of its columns; None: there is no scan of it
/// in the plan, or one wants all steps.
pub fn of_plan(plan: &Value, function: &str, column: &str) -> Option<Bounds> {
    let mut found = None;
    look(plan, (&function.to_uppercase(), column), ALL, &mut found);
    found.filter(|bounds| *bounds != ALL)
}

/// `within`: what the conditions right above leave.
fn look(node: &Value, of: (&str, &str), within: Bounds, found: &mut Option<Bounds>) {
    if let Value::Array(all) = node {
        return all.iter().for_each(|node| look(node, of, within, found));
    }
    let name = node["name"].as_str().unwrap_or_default().trim();
    if name == of.0 {
        *found =
            Some(found.map_or(within, |(first, last)| (first.min(within.0), last.max(within.1))));
    }
    let within = match (name, &node["extra_info"]["Expression"]) {
        ("FILTER", Value::String(text)) => both(within, condition(text, of.1)),
        ("FILTER", Value::Array(all)) => all
            .iter()
            .filter_map(Value::as_str)
            .fold(within, |w, text| both(w, condition(text, of.1))),
        _ => ALL,
    };
    for child in node["children"].as_array().into_iter().flatten() {
        look(child, of, within, found);
    }
}

fn both(a: Bounds, b: Bounds) -> Bounds {
    (a.0.max(b.0), a.1.min(b.1))
}

/// The steps that a condition leaves.
fn condition(text: &str, column: &str) -> Bounds {
    let inner = without_parentheses(text);
    if let Some(parts) = split(inner, " OR ") {
        let parts = parts.iter().map(|part| condition(part, column));
        return parts.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or(ALL);
    }
    if let Some(bounds) = comparison(inner, column) {
        return bounds;
    }
    let parts = split(inner, " AND ").unwrap_or_default();
    parts.iter().map(|part| condition(part, column)).fold(ALL, both)
}

/// `column BETWEEN 1 AND 2`, `column >= 1` and the like.
fn comparison(text: &str, column: &str) -> Option<Bounds> {
    let rest = text.strip_prefix(column)?.strip_prefix(' ')?;
    let (operator, value) = rest.split_once(' ')?;
    if operator == "BETWEEN" {
        let (first, last) = value.split_once(" AND ")?;
        return Some((number(first)?, number(last)?));
    }
    let value = number(value)?;
    match operator {
        "=" => Some((value, value)),
        // A step less or more does not matter.
        ">" | ">=" => Some((value, ALL.1)),
        "<" | "<=" => Some((ALL.0, value)),
        _ => None,
    }
}

/// A number as it is; steps begin with 1, so that no bound is less than 0.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix('-') {
        Some(digits) => digits.parse::<u64>().ok().map(|_| 0),
        None => text.parse().ok(),
    }
}

/// What stands in a pair of parentheses that is around all of it.
fn without_parentheses(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) else {
        return text;
    };
    // `(a) AND (b)` begins and ends with others.
    if places(inner).is_some_and(|mut depths| depths.all(|(_, _, depth)| depth >= 0)) {
        inner
    } else {
        text
    }
}

/// The parts of a text between words that stand in no parentheses and quotes; None: there are none.
fn split<'a>(text: &'a str, word: &str) -> Option<Vec<&'a str>> {
    let mut begin = 0;
    let mut parts = Vec::new();
    for (at, c, depth) in places(text)? {
        if c == ' ' && depth == 0 && at >= begin && text[at..].starts_with(word) {
            parts.push(&text[begin..at]);
            begin = at + word.len();
        }
    }
    parts.push(&text[begin..]);
    (parts.len() > 1).then_some(parts)
}

/// The characters outside of quotes, each with its place and how many parentheses are open behind it. A quote in quotes
/// stands twice, and so ends and begins. None: some quotes do not end.
fn places(text: &str) -> Option<impl Iterator<Item = (usize, char, i32)>> {
    let (mut found, mut quote, mut depth) = (Vec::new(), None, 0);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => continue,
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            _ => {}
        }
        found.push((at, c, depth));
    }
    quote.is_none().then(|| found.into_iter())
}

#[cfg(test)]
mod tests {
    use super::{ALL, Bounds, condition, of_plan};
    use serde_json::json;

    const END: u64 = u64::MAX;

    #[test]
    fn conditions_leave_steps() {
        let of = |text: &str| condition(text, "seq");
        for (text, bounds) in [
            ("(seq = 9)", (9, 9)),
            ("(seq BETWEEN 500 AND 600)", (500, 600)),
            ("((seq = 5) OR (seq = 7) OR (seq = 900))", (5, 900)),
            ("((thread_id = 1) AND (seq >= 3) AND (seq < 90))", (3, 90)),
            ("(((seq BETWEEN 1 AND 5) AND (thread_id = 2)) OR (seq = 20))", (1, 20)),
            ("((seq > 5) AND ((seq < 9) OR (thread_id = 3)))", (5, END)),
            ("((seq BETWEEN 4 AND 8) AND (space = 'it''s) AND (seq = 5'))", (4, 8)),
            ("((space = ') OR (seq = 1') AND (seq = 70))", (70, 70)),
            ("((\"a) AND (seq\" = 5) AND (seq = 6))", (6, 6)),
            ("(seq > -4)", (0, END)),
            ("(seq < -4)", (0, 0)),
        ] {
            assert_eq!(of(text), bounds, "{text}");
        }
        for text in [
            "",
            "(seq = 5",
            "(CAST(seq AS DOUBLE) < 1000.0)",
            "((seq // 10) = 3)",
            "(-(seq) > -8)",
            "((seq = 5) OR (thread_id = 1))",
            "(NOT (seq = 5))",
            "(seq != 5)",
            "(read_seq = 5)",
            "(seq = thread_id)",
            "(seq IN (1, 2))",
            "(seq BETWEEN 5.5 AND 7.0)",
            "(5 = seq)",
            "(space = 'a' AND (seq = 5)",
        ] {
            assert_eq!(of(text), ALL, "{text}");
        }
    }

    #[test]
    fn all_scans_of_a_function_count() {
        let scan = |name: &str| json!({"name": name, "children": [], "extra_info": {}});
        let filter = |text: &str, of| json!({"name": "FILTER", "children": [of], "extra_info": {"Expression": text}});
        let join = |a, b| json!({"name": "HASH_JOIN", "children": [a, b], "extra_info": {}});
        let of = |plan: &serde_json::Value| of_plan(plan, "addfg_steps", "seq");
        let steps = || scan("ADDFG_STEPS ");
        let one = |text: &str| filter(text, steps());
        assert_eq!(of(&json!([one("(seq = 3)")])), Some::<Bounds>((3, 3)));
        assert_eq!(of(&json!([filter("(seq < 9)", one("(seq > 3)"))])), Some((3, 9)));
        assert_eq!(of(&join(one("(seq = 3)"), one("(seq = 7)"))), Some((3, 7)));
        assert_eq!(of(&join(one("(seq = 3)"), steps())), None);
        assert_eq!(of(&filter("(seq = 3)", join(steps(), scan("ADDFG_ACCESSES")))), None);
        assert_eq!(of(&filter("(seq = 3)", scan("ADDFG_ACCESSES"))), None);
    }
}
