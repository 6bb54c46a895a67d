//! A document of XML as a tree of the elements that somebody asks for.

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// Elements within one another at most: a document of nonsense has no end of them.
const DEEPEST: usize = 64;

/// An element with its attributes, its text and what is in it.
#[derive(Debug, Default)]
pub struct Element {
    pub name: String,
    attributes: Vec<(String, String)>,
    text: String,
    pub children: Vec<Element>,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim())
    }

    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of a child, without blanks around it.
    pub fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim())
    }

    /// The children of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// A name without its name space's prefix.
fn local(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    name.rsplit(':').next().unwrap_or_default().to_owned()
}

fn element(start: &BytesStart) -> Element {
    let attributes = start.attributes().flatten().map(|attribute| {
        let raw = String::from_utf8_lossy(&attribute.value).into_owned();
        let value = quick_xml::escape::unescape(&raw).map_or_else(|_| raw.clone(), Into::into);
        (local(attribute.key.as_ref()), value)
    });
    Element {
        name: local(start.name().as_ref()),
        attributes: attributes.collect(),
        ..Element::default()
    }
}

/// The character that `&lt;` or `&#60;` stands for; nothing for what a document defines itself.
fn character(reference: &BytesRef) -> Option<char> {
    if let Ok(Some(found)) = reference.resolve_char_ref() {
        return Some(found);
    }
    match &**reference {
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"amp" => Some('&'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        _ => None,
    }
}

/// The root of a document. Elements that `skipped` names are left out with all that is in them.
///
/// # Errors
/// Says where the document is broken.
pub fn parse(text: &str, skipped: &[&str]) -> Result<Element, String> {
    let mut reader = Reader::from_str(text);
    let mut open = vec![Element::default()];
    // Elements that were begun within one that is left out, with that.
    let mut outside = 0usize;
    loop {
        let event = reader.read_event();
        let line = || {
            let read = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
            1 + text.bytes().take(read).filter(|byte| *byte == b'\n').count()
        };
        match event.map_err(|error| format!("line {}: {error}", line()))? {
            Event::Start(_) if outside > 0 => outside += 1,
            Event::Start(start) => {
                let element = element(&start);
                if skipped.contains(&element.name.as_str()) {
                    outside = 1;
                } else if open.len() > DEEPEST {
                    return Err(format!(
                        "line {}: more than {DEEPEST} elements within one another",
                        line()
                    ));
                } else {
                    open.push(element);
                }
            }
            Event::End(_) if outside > 0 => outside -= 1,
            Event::End(_) => {
                // The reader refuses an end without a beginning.
                if let (Some(ended), Some(parent)) = (open.pop(), open.last_mut()) {
                    parent.children.push(ended);
                }
            }
            Event::Empty(start) if outside == 0 => {
                let element = element(&start);
                if let Some(parent) =
                    open.last_mut().filter(|_| !skipped.contains(&element.name.as_str()))
                {
                    parent.children.push(element);
                }
            }
            Event::Text(part) if outside == 0 => {
                let part = String::from_utf8_lossy(&part);
                open.last_mut().into_iter().for_each(|of| of.text.push_str(&part));
            }
            Event::CData(part) if outside == 0 => {
                let part = String::from_utf8_lossy(&part);
                open.last_mut().into_iter().for_each(|of| of.text.push_str(&part));
            }
            Event::GeneralRef(reference) if outside == 0 => {
                open.last_mut().into_iter().for_each(|of| of.text.extend(character(&reference)));
            }
            Event::Eof => break,
            _ => {}
        }
    }
    match open.as_mut_slice() {
        [document] if outside == 0 => {
            document.children.pop().ok_or_else(|| "it has no element".to_owned())
        }
        [.., open] => Err(format!("it ends within <{}>", open.name)),
        [] => Err("it has no element".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_a_tree() {
        let text = "<?xml version='1.0'?><!-- <b> --><d:a x='1 &lt; 2'><b>one &amp; <![CDATA[<two>]]></b><c/><s><b>no</b></s></d:a>";
        let root = parse(text, &["s"]).expect("a document");
        assert_eq!((root.name.as_str(), root.attribute("x")), ("a", Some("1 < 2")));
        assert_eq!(root.text_of("b"), Some("one & <two>"));
        let names: Vec<&str> = root.children.iter().map(|child| child.name.as_str()).collect();
        assert_eq!(names, ["b", "c"]);
    }

    #[test]
    fn a_broken_document_is_refused_where_it_is_broken() {
        let deep = "<a>".repeat(100);
        for (text, part) in [
            ("", "no element"),
            ("<a>\n<b></a>", "line 2"),
            ("<a><b>", "ends within <b>"),
            ("<a><s>", "ends within <a>"),
            (deep.as_str(), "within one another"),
        ] {
            let error = parse(text, &["s"]).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
