//! Short names of C++ and Rust functions: without return type, parameters and template arguments,
//! the last two components.

/// What only libraries' authors tell apart.
const NOISE: &[&str] = &["__cxx11::", "__detail::", "__gnu_cxx::", "__debug::", "{impl}::"];

/// What stands behind `operator`, the longer ones first.
const SIGNS: &[&str] = &[
    "<<=", ">>=", "<=>", "->*", "<<", ">>", "<=", ">=", "==", "!=", "->", "()", "[]", "&&", "||",
    "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<", ">", "=", "+", "-", "*", "/",
    "%", "&", "|", "^", "!", "~", ",",
];

/// The name without what stands between matching brackets; `<T as Trait>::f` keeps `T`.
fn without_brackets(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let (mut angle, mut round) = (0usize, 0usize);
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if angle == 0 && round == 0 && rest.starts_with("operator") {
            let end = "operator".len();
            // The longest sign that there is: `operator>><char>` has arguments behind it.
            let sign = SIGNS.iter().find(|sign| rest[end..].starts_with(**sign));
            let whole = end + sign.map_or(0, |sign| sign.len());
            out.push_str(&rest[..whole]);
            rest = &rest[whole..];
            continue;
        }
        match c {
            '<' if angle == 0 && round == 0 && (out.is_empty() || out.ends_with("::")) => {
                // A type in angle brackets stands for itself.
                let inner = inside(rest);
                let kept = inner.split(" as ").next().unwrap_or(inner);
                out.push_str(&without_brackets(kept));
                rest = &rest[(inner.len() + 2).min(rest.len())..];
                continue;
            }
            '<' => angle += 1,
            '>' if out.ends_with('-') => {}
            '>' => angle = angle.saturating_sub(1),
            '(' => round += 1,
            ')' => round = round.saturating_sub(1),
            _ if angle == 0 && round == 0 => out.push(c),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// What stands between a bracket, the first character, and the one that closes it.
fn inside(text: &str) -> &str {
    let mut depth = 0usize;
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return &text[1..i];
                }
            }
            _ => {}
        }
    }
    &text[1..]
}

/// A name without `[abi:cxx11]`.
fn without_tags(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, tag)) = rest.split_once("[abi:") {
        out.push_str(before);
        rest = tag.split_once(']').map_or("", |(_, behind)| behind);
    }
    out + rest
}

/// A name as a picture shows it.
pub fn short_name(name: &str) -> String {
    let parts = components(name);
    parts[parts.len().saturating_sub(2)..].join("::")
}

/// Whether a person who says `said` (`count`, `Map::next`) may mean a function: it has these names last.
pub fn is_called(name: &str, said: &str) -> bool {
    let (parts, said) = (components(name), components(said));
    parts.ends_with(&said)
}

/// The names of namespaces, classes and the function itself, without parameters and template arguments.
fn components(name: &str) -> Vec<String> {
    // Of names in one file: `name (file.c)`.
    let name = match name.rsplit_once(" (") {
        Some((bare, file)) if file.ends_with(')') && !bare.contains(['<', '(']) => bare,
        _ => name,
    };
    // `f(int) [clone .cold]`, as demanglers have it.
    let name = name.split_once(" [clone ").map_or(name, |(bare, _)| bare);
    // What GCC makes of a function: a part of it, or one with fewer arguments.
    let made = [".isra.", ".part.", ".constprop."].into_iter().filter_map(|word| name.find(word));
    let name = &name[..made.min().filter(|at| *at > 0).unwrap_or(name.len())];
    // Of functions without symbols: `libz.so.1.2.13+0x1234`.
    if let Some((file, offset)) = name.rsplit_once("+0x")
        && let Some((stem, _)) = file.split_once(".so")
    {
        return vec![format!("{stem}+0x{offset}")];
    }
    if !name.contains("::") && !name.contains('(') || name.starts_with('(') {
        return vec![without_tags(name)];
    }
    let mut plain = without_brackets(&without_tags(name)).replace(" const", "");
    for noise in NOISE {
        plain = plain.replace(noise, "");
    }
    let plain = plain.replace("basic_string", "string").replace("{{closure}}", "{closure}");
    // The type that it returns stands before the last space, unless that is of an operator.
    let from = plain.find("operator").unwrap_or(plain.len());
    let before = &plain[..from];
    let before = if from == plain.len() { before.trim_end() } else { before };
    let start = before.rfind(' ').map_or(0, |at| at + 1);
    let parts: Vec<&str> = plain[start..].trim().split("::").filter(|p| !p.is_empty()).collect();
    // Rust ends names with a hash.
    let hash = |p: &&&str| p.len() == 17 && p.starts_with('h');
    let parts = &parts[..parts.len() - usize::from(parts.last().as_ref().is_some_and(hash))];
    match parts {
        [] => vec![name.to_owned()],
        parts => parts.iter().map(|&part| part.to_owned()).collect(),
    }
}

/// [`short_name`] with the first of its template arguments, or what the database added to tell it from
/// its namesakes.
pub fn distinct_name(name: &str) -> String {
    let short = short_name(name);
    match (name.rsplit_once(" ("), name.find('<').map(|at| inside(&name[at..]))) {
        (Some((_, more)), _) if more.ends_with(')') && !more.contains(',') => {
            format!("{short} ({more}")
        }
        (_, Some(arguments)) => {
            let first = arguments.split(',').next().unwrap_or(arguments);
            format!("{short}<{}>", short_name(first))
        }
        _ => name.to_owned(),
    }
}

/// A file with the folder that it is in.
pub fn with_folder(path: &str) -> String {
    let parts: Vec<&str> = path.rsplitn(3, '/').take(2).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::{is_called, short_name};

    #[test]
    fn the_last_names_are_enough() {
        let name = "std::map<int, n::A> n::Words::count[abi:cxx11](std::istream&)";
        for said in ["count", "Words::count", "n::Words::count"] {
            assert!(is_called(name, said), "{said}");
        }
        for said in ["ount", "Words", "m::Words::count", "count2"] {
            assert!(!is_called(name, said), "{said}");
        }
    }

    #[test]
    fn last_two_components_remain() {
        for (long, short) in [
            ("main", "main"),
            (
                "bool std::__detail::__regex_algo_impl<char const*, std::allocator<std::sub_match<char const*>>>(char const*)",
                "std::__regex_algo_impl",
            ),
            (
                "std::__cxx11::basic_string<char>::_M_append(char const*, unsigned long)",
                "string::_M_append",
            ),
            (
                "std::ostream& std::operator<< <std::char_traits<char>>(std::ostream&, char const*)",
                "std::operator<<",
            ),
            ("<core::iter::Map<I,F> as core::iter::Iterator>::next", "Map::next"),
            ("w::count", "w::count"),
            (
                "std::basic_istream<char, std::char_traits<char> >& std::operator>><char, std::char_traits<char>, std::allocator<char> >(std::basic_istream<char, std::char_traits<char> >&, std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >&)",
                "std::operator>>",
            ),
            ("bool operator< <int>(A<int> const&, A<int> const&)", "operator<"),
            ("a::B::operator()(int) const", "B::operator()"),
            ("a::operator->*(a::B)", "a::operator->*"),
            ("count[abi:cxx11](std::istream&)", "count"),
            ("n::Words::count[abi:cxx11]() const", "Words::count"),
            ("check (file.c)", "check"),
            ("handle_compress.isra.0", "handle_compress"),
            ("n::Words::count(int) const [clone .cold]", "Words::count"),
        ] {
            assert_eq!(short_name(long), short);
        }
    }
}
