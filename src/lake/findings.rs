//! What a check or a comparison found, for continuous integration: JUnit, Markdown for a pull request,
//! SARIF and annotations at source lines.

use crate::text::{shorten, visible};
use serde_json::{Value, json};
use std::path::Path;
use std::time::SystemTime;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule, or the figure that changed.
    pub name: String,
    /// Kind of the finding, a word: `rule`, `steps`, `bytes`, ...
    pub kind: String,
    /// Whether it is as wanted.
    pub holds: bool,
    /// A failure, not only a notice.
    pub is_failure: bool,
    /// In a sentence.
    pub message: String,
    pub before: String,
    pub after: String,
    pub change: String,
    /// Source file as the ELF has it, and line.
    pub place: Option<(String, i64)>,
}

/// A report with its findings.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub title: String,
    /// Sentences above the findings.
    pub notes: Vec<String>,
    /// Heads of the columns for `before`, `after` and `change`.
    pub columns: [&'static str; 3],
    pub findings: Vec<Finding>,
}

impl Report {
    fn failures(&self) -> usize {
        self.findings.iter().filter(|f| f.is_failure).count()
    }

    /// Paths below a folder are told from there: those that a repository knows.
    pub fn below(mut self, root: &Path) -> Report {
        for finding in &mut self.findings {
            if let Some((path, _)) = &mut finding.place
                && let Ok(rest) = Path::new(path.as_str()).strip_prefix(root)
            {
                *path = rest.display().to_string();
            }
        }
        self
    }
}

/// Text in XML; characters that XML has no place for are escaped as on a terminal.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

/// JUnit's XML: a test case per finding. It fits the schema of Ant's JUnit task, which is the
/// strictest, and that of Jenkins; the suite's output has what neither holds nor fails.
pub fn junit(report: &Report) -> String {
    let (tests, failures) = (report.findings.len(), report.failures());
    let (title, now) =
        (xml(&report.title), chrono::DateTime::<chrono::Utc>::from(SystemTime::now()));
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{title}\" package=\"addfg\" id=\"0\" hostname=\"localhost\" \
         timestamp=\"{}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" time=\"0\">\n    <properties/>\n",
        now.format("%Y-%m-%dT%H:%M:%S")
    );
    let mut notices = String::new();
    for finding in &report.findings {
        let (kind, message) = (xml(&finding.kind), xml(&finding.message));
        let name = xml(&finding.name);
        out.push_str(&format!(
            "    <testcase classname=\"addfg.{kind}\" name=\"{name}\" time=\"0\""
        ));
        match finding.is_failure {
            true => out.push_str(&format!(
                ">\n      <failure message=\"{message}\" type=\"{kind}\">{message}</failure>\n    </testcase>\n"
            )),
            false => out.push_str("/>\n"),
        }
        if !finding.is_failure && !finding.holds {
            notices.push_str(&format!("{message}\n"));
        }
    }
    out.push_str(&format!(
        "    <system-out>{notices}</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>\n"
    ));
    out
}

/// A cell of a table in Markdown: nothing in it is markup.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\n' => out.push(' '),
            '@' | '#' => out.push_str(&format!("&#{};", u32::from(c))),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '~' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Rows that stand in a comment before the others are folded.
const OPEN: usize = 10;

/// A comment of a pull request.
pub fn markdown(report: &Report) -> String {
    let failures = report.failures();
    let sign = if failures > 0 { "❌" } else { "✅" };
    let mut out = format!("### {sign} {}\n\n", cell(&report.title));
    for note in &report.notes {
        out.push_str(&format!("{}\n\n", cell(note)));
    }
    if report.findings.is_empty() {
        return out;
    }
    let [before, after, change] = report.columns;
    let head =
        format!("| | what | {before} | {after} | {change} | where |\n|---|---|--:|--:|--:|---|\n");
    let mut rows: Vec<&Finding> = report.findings.iter().collect();
    rows.sort_by_key(|finding| (!finding.is_failure, finding.holds));
    let row = |f: &&Finding| {
        let sign = match (f.is_failure, f.holds) {
            (true, _) => "❌",
            (false, true) => "✅",
            (false, false) => "ℹ️",
        };
        let place = f.place.as_ref().map_or(String::new(), |(path, line)| format!("{path}:{line}"));
        let cells =
            [&shorten(&f.name, 160), &f.before, &f.after, &f.change, &place].map(|text| cell(text));
        format!("| {sign} | {} |\n", cells.join(" | "))
    };
    out.push_str(&head);
    out.extend(rows.iter().take(OPEN).map(row));
    if rows.len() > OPEN {
        let more = rows.len() - OPEN;
        out.push_str(&format!("\n<details><summary>{more} more</summary>\n\n{head}"));
        // A comment may have 65,536 characters.
        let mut left = 0;
        for one in rows.iter().skip(OPEN).map(row) {
            if out.len() + one.len() < 60_000 { out.push_str(&one) } else { left += 1 }
        }
        out.push_str("\n</details>\n");
        if left > 0 {
            out.push_str(&format!("\n{left} rows are left out.\n"));
        }
    }
    out
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-~+,".contains(&b);
    let one = |b: u8| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") };
    let path: String = path.bytes().map(one).collect();
    if path.starts_with('/') { format!("file://{path}") } else { path }
}

/// SARIF 2.1.0: a result for each finding that is not as wanted.
pub fn sarif(report: &Report) -> String {
    let mut kinds: Vec<&str> = report.findings.iter().map(|f| f.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let rule = |kind: &&str| {
        let text = if *kind == "rule" {
            "A figure keeps to its rule".to_owned()
        } else {
            format!("{kind} do not grow beyond noise")
        };
        json!({"id": kind, "name": kind, "shortDescription": {"text": text}})
    };
    let result = |f: &Finding| {
        let mut result = json!({
            "ruleId": f.kind,
            "level": if f.is_failure { "error" } else { "note" },
            "message": {"text": visible(&f.message)},
            "partialFingerprints": {"addfg/v1": f.name},
        });
        if let Some((path, line)) = &f.place {
            result["locations"] = json!([{"physicalLocation": {
                "artifactLocation": {"uri": uri(path)}, "region": {"startLine": (*line).max(1)}}}]);
        }
        result
    };
    let results: Vec<Value> = report.findings.iter().filter(|f| !f.holds).map(result).collect();
    let sarif = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "addfg",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": kinds.iter().map(rule).collect::<Vec<_>>(),
            }},
            "results": results,
        }],
    });
    format!("{sarif:#}\n")
}

/// Lines that GitHub shows at the source lines they name.
pub fn annotations(report: &Report) -> String {
    let value = |text: &str| text.replace('%', "%25").replace(['\r', '\n'], " ");
    let property = |text: &str| value(text).replace(':', "%3A").replace(',', "%2C");
    let one = |f: &Finding| {
        let level = if f.is_failure { "error" } else { "notice" };
        let place = f.place.as_ref().map_or(String::new(), |(path, line)| {
            format!("file={},line={},", property(path), (*line).max(1))
        });
        let title = property(&visible(&shorten(&f.name, 100)));
        format!("::{level} {place}title={title}::{}\n", value(&visible(&f.message)))
    };
    report.findings.iter().filter(|f| !f.holds).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let finding = |name: &str, holds: bool| Finding {
            name: name.into(),
            kind: "steps".into(),
            holds,
            is_failure: !holds,
            message: format!("{name}: 50 % more"),
            before: "1".into(),
            after: "2".into(),
            change: "+100 %".into(),
            place: Some(("/src/a b.c".into(), 7)),
        };
        let findings = vec![finding("f(int*, A<B>)|`x`", false), finding("g", true)];
        Report { title: "t".into(), columns: ["a", "b", "c"], findings, ..Report::default() }
    }

    #[test]
    fn names_are_no_markup() {
        let report = report().below(Path::new("/src"));
        let xml = junit(&report);
        assert!(
            xml.contains("tests=\"2\" failures=\"1\"") && xml.contains("f(int*, A&lt;B&gt;)|`x`")
        );
        let text = markdown(&report);
        assert!(
            text.contains("| ❌ | f(int\\*, A&lt;B&gt;)\\|\\`x\\` | 1 | 2 | +100 % | a b.c:7 |"),
            "{text}"
        );
        assert_eq!(
            annotations(&report),
            "::error file=a b.c,line=7,title=f(int*%2C A<B>)|`x`::f(int*, A<B>)|`x`: 50 %25 more\n"
        );
        let sarif: Value = serde_json::from_str(&sarif(&report)).unwrap();
        let results = sarif["runs"][0]["results"].as_array().unwrap();
        let place = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!((results.len(), &place["artifactLocation"]["uri"]), (1, &json!("a%20b.c")));
    }
}
