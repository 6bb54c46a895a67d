//! The order of the rooms: each uses only those before it, and no files import one another in a
//! circle. Read from the paths in `src/`, so that no picture of the house can be wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The rooms in their order; those of a line do not use each other.
const ROOMS: &[&[&str]] = &[
    &["id", "diagnostics", "text", "paths", "files"],
    &["event"],
    &["ranges"],
    &["registers"],
    &["trace", "image"],
    &["isa"],
    &["analysis"],
    &["store"],
    &["load"],
    &["scan"],
    &["record"],
    &["query"],
    &["replay"],
    &["graph"],
    &["render"],
    &["views"],
    &["export", "report"],
    &["lake"],
    &["api", "cli"],
    &["internals"],
];

/// A module, its file's text without comments, strings and tests, and what it re-exports.
struct Module {
    text: String,
    /// Name to path, as far as it is of this crate; `*` has the modules whose every name is given.
    exports: BTreeMap<String, Vec<Path_>>,
    children: BTreeSet<String>,
}

/// Segments of a path in this crate, from its root.
type Path_ = Vec<String>;

/// The text without comments, strings and characters, up to the file's tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let bytes: Vec<char> = text.chars().collect();
    let (mut out, mut i) = (String::new(), 0);
    while i < bytes.len() {
        let rest = &bytes[i..];
        if rest.starts_with(&['/', '/']) {
            i += rest.iter().position(|&c| c == '\n').unwrap_or(rest.len());
        } else if rest.starts_with(&['r', '#', '"']) {
            let end = rest[3..].windows(2).position(|w| w == ['"', '#']);
            i += end.map_or(rest.len(), |end| end + 5);
        } else if rest[0] == '"' {
            i += 1;
            while i < bytes.len() && bytes[i] != '"' {
                i += if bytes[i] == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if rest.len() > 2 && rest[0] == '\'' && (rest[2] == '\'' || rest[1] == '\\') {
            i += 2 + rest[2..].iter().position(|&c| c == '\'').unwrap_or(0) + 1;
        } else {
            out.push(rest[0]);
            i += 1;
        }
    }
    out
}

/// The paths of a `use` tree, with the names that they get here.
fn expand(tree: &str, prefix: &[String], found: &mut Vec<(Path_, String)>) {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let mut start = prefix.to_vec();
        start.extend(
            tree[..open].split("::").map(str::trim).filter(|s| !s.is_empty()).map(String::from),
        );
        let inside = &tree[open + 1..tree.rfind('}').expect("a brace that closes")];
        let (mut depth, mut from) = (0, 0);
        for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !inside[from..at].trim().is_empty() {
                        expand(&inside[from..at], &start, found);
                    }
                    from = (at + 1).min(inside.len());
                }
                _ => {}
            }
        }
        return;
    }
    let (path, name) = tree.split_once(" as ").map_or((tree, None), |(p, n)| (p, Some(n.trim())));
    let mut segments = prefix.to_vec();
    segments.extend(path.split("::").map(|s| s.trim().to_owned()));
    if segments.last().is_some_and(|s| s == "self") {
        segments.pop();
    }
    let name = name.map(str::to_owned).or_else(|| segments.last().cloned()).unwrap_or_default();
    found.push((segments, name));
}

/// A path from the crate's root, if it is of this crate.
fn absolute(
    path: &[String],
    module: &[String],
    modules: &BTreeMap<Path_, Module>,
) -> Option<Path_> {
    let mut at = module.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            at.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|s| s == "super") {
                at.pop();
                rest = &rest[1..];
            }
        }
        first if modules[module].children.contains(first) => {}
        _ => return None,
    }
    at.extend(rest.iter().cloned());
    Some(at)
}

/// The module whose file has what a path names, through re-exports.
fn owner(path: &[String], modules: &BTreeMap<Path_, Module>, depth: usize) -> Path_ {
    let module = (0..=path.len()).rev().map(|n| &path[..n]).find(|p| modules.contains_key(*p));
    let module = module.expect("the root is a module").to_vec();
    let Some(item) = path.get(module.len()).filter(|_| depth < 8) else { return module };
    let exports = &modules[&module].exports;
    if let Some([target]) = exports.get(item).map(Vec::as_slice) {
        return owner(target, modules, depth + 1);
    }
    for all in exports.get("*").into_iter().flatten() {
        let text = modules.get(all).map_or("", |m| &m.text);
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let declared = ["struct", "enum", "trait", "fn", "const", "static", "type"];
        if words.windows(2).any(|w| declared.contains(&w[0]) && w[1] == item) {
            return all.clone();
        }
    }
    module
}

/// Splits off the `use` statements: whether each is public, and its tree.
fn uses(text: &str) -> (Vec<(bool, String)>, String) {
    let (mut found, mut rest) = (Vec::new(), String::new());
    let mut text = text;
    let starts = |at: usize, text: &str| {
        at == 0 || !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
    };
    while let Some(at) = text.match_indices("use ").map(|m| m.0).find(|&at| starts(at, text)) {
        let before = text[..at].trim_end();
        let public = before.ends_with("pub") || before.ends_with("pub(crate)");
        rest.push_str(&text[..at]);
        let end = text[at..].find(';').map_or(text.len(), |end| at + end);
        found.push((public, text[at + 4..end].to_owned()));
        text = &text[end..];
    }
    rest.push_str(text);
    (found, rest)
}

/// The paths in code that begin with `crate`, `super`, `self` or a child module.
fn inline(text: &str, children: &BTreeSet<String>) -> Vec<Path_> {
    let mut found = Vec::new();
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for path in text.split(|c: char| !word(c)).filter(|p| p.contains("::")) {
        let segments: Path_ = path.split("::").map(str::to_owned).collect();
        let first = segments[0].as_str();
        if ["crate", "super", "self"].contains(&first) || children.contains(first) {
            found.push(segments);
        }
    }
    found
}

fn read(folder: &Path, module: &[String], modules: &mut BTreeMap<Path_, Module>) {
    for entry in fs::read_dir(folder).expect("src").map(|e| e.expect("entry").path()) {
        let stem = entry.file_stem().and_then(|s| s.to_str()).expect("UTF-8").to_owned();
        let mut path = module.to_vec();
        if entry.is_dir() {
            path.push(stem);
            read(&entry, &path, modules);
            continue;
        }
        if entry.extension().is_none_or(|e| e != "rs") || ["main", "tests"].contains(&stem.as_str())
        {
            continue;
        }
        if !["mod", "lib"].contains(&stem.as_str()) {
            path.push(stem);
        }
        let text = code(&fs::read_to_string(&entry).expect("text"));
        modules.insert(path, Module { text, exports: BTreeMap::new(), children: BTreeSet::new() });
    }
}

fn modules() -> BTreeMap<Path_, Module> {
    let mut modules = BTreeMap::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &[], &mut modules);
    let paths: Vec<Path_> = modules.keys().cloned().collect();
    for path in &paths {
        if let Some((name, parent)) = path.split_last()
            && let Some(parent) = modules.get_mut(parent)
        {
            parent.children.insert(name.clone());
        }
    }
    for path in &paths {
        let mut exports: BTreeMap<String, Vec<Path_>> = BTreeMap::new();
        for (_, tree) in uses(&modules[path].text).0.iter().filter(|(public, _)| *public) {
            let mut found = Vec::new();
            expand(tree, &[], &mut found);
            for (mut target, name) in found {
                if name == "*" {
                    target.pop();
                }
                if let Some(target) = absolute(&target, path, &modules) {
                    exports.entry(name).or_default().push(target);
                }
            }
        }
        modules.get_mut(path).expect("a module").exports = exports;
    }
    modules
}

/// Which file uses which.
fn imports() -> BTreeMap<Path_, BTreeSet<Path_>> {
    let modules = modules();
    let mut imports = BTreeMap::new();
    for (path, module) in &modules {
        let (statements, rest) = uses(&module.text);
        let mut found = Vec::new();
        for (_, tree) in statements.iter().filter(|(public, _)| !public) {
            expand(tree, &[], &mut found);
        }
        let mut used: Vec<Path_> = found.into_iter().map(|(path, _)| path).collect();
        used.extend(inline(&rest, &module.children));
        let absolute = used.iter().filter_map(|p| absolute(p, path, &modules));
        let targets: BTreeSet<Path_> = absolute
            .map(|p| owner(&p, &modules, 0))
            .filter(|p| p != path && !p.is_empty())
            .collect();
        imports.insert(path.clone(), targets);
    }
    imports
}

fn level(room: &str) -> usize {
    let level = ROOMS.iter().position(|rooms| rooms.contains(&room));
    level.unwrap_or_else(|| panic!("room {room} is not in the list of rooms"))
}

/// Every file that `from` leads to.
fn reached<'a>(
    from: &'a Path_,
    imports: &'a BTreeMap<Path_, BTreeSet<Path_>>,
) -> BTreeSet<&'a Path_> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        for next in imports.get(at).into_iter().flatten() {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}

#[test]
fn rooms_use_earlier_rooms_and_files_no_circles() {
    let imports = imports();
    assert!(imports.len() > 100, "{} files", imports.len());
    let mut wrong = BTreeSet::new();
    for (file, used) in imports.iter().filter(|(file, _)| !file.is_empty()) {
        for other in used {
            let allowed = file[0] == other[0] || level(&other[0]) < level(&file[0]);
            if !allowed {
                wrong.insert(format!("{} -> {}", file.join("::"), other.join("::")));
            }
        }
    }
    let reach: BTreeMap<&Path_, BTreeSet<&Path_>> =
        imports.keys().map(|file| (file, reached(file, &imports))).collect();
    for (file, used) in &imports {
        for other in used.iter().filter(|o| reach.get(o).is_some_and(|r| r.contains(file))) {
            wrong.insert(format!("{} -> {}", file.join("::"), other.join("::")));
        }
    }
    assert!(wrong.is_empty(), "imports of a later room, or in a circle:\n{wrong:#?}");
}
