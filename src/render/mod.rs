//! From a graph to a file: one file a format, one word in [`RENDERERS`]. From rows to a table:
//! `rows` and `value`. Pictures that are no graphs: `svg`.

use crate::graph::Graph;

mod crossings;
pub mod dot;
pub mod graphml;
pub mod json;
mod labels;
pub mod layout;
pub mod overview;
pub mod rows;
pub mod svg;
pub mod value;

/// How a format is made.
#[derive(Clone, Copy, Debug)]
pub enum Made {
    /// By us, as text.
    Text(fn(&Graph) -> String),
    /// By Graphviz's `dot` program from DOT.
    Drawn,
    /// Not of a graph: of the calling contexts.
    Stacks,
}

/// A format of graphs.
#[derive(Debug)]
pub struct Renderer {
    /// The word for `--format`, and the ending of file names.
    pub name: &'static str,
    pub about: &'static str,
    pub made: Made,
}

pub static RENDERERS: &[Renderer] = &[
    Renderer { name: "dot", about: "Graphviz's language", made: Made::Text(dot::render) },
    Renderer { name: "json", about: "nodes and edges as JSON", made: Made::Text(json::render) },
    Renderer {
        name: "graphml",
        about: "for networkx, Gephi, yEd",
        made: Made::Text(graphml::render),
    },
    Renderer { name: "svg", about: "picture with tooltips, by Graphviz", made: Made::Drawn },
    Renderer { name: "png", about: "picture in pixels, by Graphviz", made: Made::Drawn },
    Renderer { name: "pdf", about: "picture for print, by Graphviz", made: Made::Drawn },
    Renderer {
        name: "flamegraph",
        about: "flame graph (SVG) of the calling contexts",
        made: Made::Stacks,
    },
];

/// Names of the formats that any graph can be written in.
pub fn of_graphs() -> impl Iterator<Item = &'static str> {
    RENDERERS.iter().filter(|r| !matches!(r.made, Made::Stacks)).map(|r| r.name)
}

/// The format of a name.
pub fn renderer(name: &str) -> Option<&'static Renderer> {
    RENDERERS.iter().find(|r| r.name == name)
}
