//! From a graph to text: one file a format.

use crate::graph::Graph;

pub mod dot;
pub mod json;
pub mod layout;

/// A text format of graphs.
pub struct Renderer {
    pub name: &'static str,
    pub about: &'static str,
    pub render: fn(&Graph) -> String,
}

pub static RENDERERS: &[Renderer] = &[
    Renderer { name: "dot", about: "Graphviz's language", render: dot::render },
    Renderer { name: "json", about: "nodes and edges as JSON", render: json::render },
];
