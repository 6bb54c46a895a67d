//! The argument `--layout`: a file, or the name of a layout that comes with addfg.

use crate::event::NamedRange;
use crate::trace::layout::description::Description;
use crate::trace::layout::shipped::{SHIPPED, named};
use anyhow::Context;
use std::path::Path;

/// Names for which there is a reader.
const READERS: [(&str, &str); 2] = [("spike-commits", "spike"), ("gem5-exec", "gem5")];

/// The format and the text of a layout, as `--format` and `--layout` give them.
pub fn resolve(
    format: Option<String>,
    layout: Option<&Path>,
) -> anyhow::Result<(Option<String>, Option<String>)> {
    let Some(path) = layout else { return Ok((format, None)) };
    let name = path.to_str().filter(|_| !path.exists()).unwrap_or_default();
    if let Some((_, reader)) = READERS.iter().find(|(known, _)| *known == name) {
        return Ok((Some((*reader).to_owned()), None));
    }
    // Whoever gives a layout means the format that reads it.
    let format = format.or_else(|| Some("layout".to_owned()));
    if let Some(shipped) = named(name) {
        return Ok((format, Some(shipped.text.to_owned())));
    }
    let text = std::fs::read_to_string(path).with_context(|| {
        let names: Vec<_> = SHIPPED.iter().map(|shipped| shipped.name).collect();
        format!("{} (layouts that come with addfg: {})", path.display(), names.join(", "))
    })?;
    Ok((format, Some(text)))
}

/// Devices and memories that a layout names. Who reads it says what is wrong with it.
pub fn ranges(layout: Option<&str>) -> (Vec<NamedRange>, Vec<NamedRange>) {
    let description = layout.and_then(|text| Description::parse(text).ok());
    description.map(|of| (of.devices, of.memories)).unwrap_or_default()
}
