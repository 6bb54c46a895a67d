use super::Database;
use crate::graph::{self, Level, Selection};
use crate::render::{RENDERERS, layout};
use std::path::PathBuf;
use std::process::ExitCode;

/// Draws the dataflow and call graph
///
/// Solid edges are calls with their counts, dashed ones data with bytes and what they go through. What is not drawn is said in the
/// picture.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    #[arg(long, default_value = "function", value_parser = ["function", "file"])]
    level: String,
    /// Edges to show: data, calls, or both
    #[arg(long, default_value = "data,calls", value_delimiter = ',', value_parser = ["data", "calls"])]
    show: Vec<String>,
    /// Draw what is around this function: name, file:name or @address
    #[arg(long, value_name = "FUNCTION")]
    focus: Option<String>,
    /// Edges from the focus to the farthest node
    #[arg(long, default_value_t = 1)]
    depth: u32,
    /// Functions at most, those with the largest share of steps or bytes; the rest is one node (others)
    #[arg(long, value_name = "N", default_value_t = 24)]
    top: usize,
    /// Leave out data edges with fewer bytes [default: a thousandth of all, from 60 edges on]
    #[arg(long, value_name = "N")]
    min_bytes: Option<i64>,
    /// PLT stubs and the like: merge into their callers, or show
    #[arg(long, default_value = "fold", value_parser = ["fold", "show"])]
    stubs: String,
    /// dot, json, or drawn by Graphviz: svg, png, pdf [default: by the ending of -o, else dot]
    #[arg(long, value_parser = ["dot", "json", "svg", "png", "pdf"])]
    format: Option<String>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let db = args.database.open()?;
    let focus = match &args.focus {
        Some(name) => Some((graph::resolve_function(&db, name)?, args.depth)),
        None => None,
    };
    let selection = Selection {
        level: if args.level == "file" { Level::File } else { Level::Function },
        data: args.show.iter().any(|s| s == "data"),
        calls: args.show.iter().any(|s| s == "calls"),
        focus,
        top: args.top.max(1),
        min_bytes: args.min_bytes,
        stubs: args.stubs == "show",
    };
    anyhow::ensure!(
        selection.level == Level::Function || selection.focus.is_none(),
        "--focus names a function: use it with --level function"
    );
    let graph = graph::load(&db, &selection)?;
    let ending = args.output.as_ref().and_then(|o| o.extension()).map(|e| e.to_string_lossy().into_owned());
    let format = args.format.or(ending).unwrap_or_else(|| "dot".into());
    if let Some(renderer) = RENDERERS.iter().find(|r| r.name == format) {
        return super::output(args.output.as_deref(), (renderer.render)(&graph).as_bytes());
    }
    anyhow::ensure!(["svg", "png", "pdf"].contains(&format.as_str()), "no graph format is named `{format}`");
    let dot = crate::render::dot::render(&graph);
    match layout::draw(dot.clone(), &format) {
        Ok(picture) => super::output(args.output.as_deref(), &picture),
        Err(error @ layout::LayoutError::Missing) if args.output.is_some() => {
            let beside = args.output.unwrap_or_default().with_extension("dot");
            super::output(Some(&beside), dot.as_bytes())?;
            Err(anyhow::Error::new(error).context(format!("wrote {} instead of a picture", beside.display())))
        }
        Err(error) => Err(error.into()),
    }
}
