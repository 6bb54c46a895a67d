use super::Database;
use crate::graph::{self, Focus, Level, Selection, Via};
use crate::render::{self, Made, RENDERERS, layout};
use clap::builder::PossibleValuesParser;
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
    /// What a node is
    #[arg(long, default_value = "function", value_parser = ["function", "file", "image", "instance", "instruction", "block", "line",
        "loop", "context", "thread"], hide_possible_values = true, value_name = "function|file|image|instance")]
    level: String,
    /// Edges to show: data, calls, or both
    #[arg(long, default_value = "data,calls", value_delimiter = ',', value_parser = ["data", "calls"])]
    show: Vec<String>,
    /// Draw what is around this function: name, file:name or @address; with #N, what one call of it has of that
    #[arg(long, value_name = "FUNCTION[#INSTANCE]")]
    focus: Option<String>,
    /// Edges from the focus to the farthest node
    #[arg(long, default_value_t = 1, value_name = "N", requires = "focus")]
    depth: u32,
    /// Nodes at most, those with the largest share of steps or bytes; the rest is one node (others)
    #[arg(long, value_name = "N", default_value_t = 24)]
    top: usize,
    /// Leave out data edges with fewer bytes; 0 draws all edges [default: the smallest, so that two a node remain]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    min_bytes: Option<i64>,
    /// Only data through these
    #[arg(long, value_delimiter = ',', value_name = "VIA,...", value_parser = Via::ALL.map(Via::name))]
    via: Vec<String>,
    /// PLT stubs and the like: merge into their callers, or show
    #[arg(long, default_value = "fold", value_parser = ["fold", "show"])]
    stubs: String,
    /// How to draw [default: by the ending of -o, else dot]
    #[arg(long, value_parser = PossibleValuesParser::new(RENDERERS.iter().map(|r| r.name)))]
    format: Option<String>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let level = match args.level.as_str() {
        "function" => Level::Function,
        "file" => Level::File,
        "image" => Level::Image,
        "instance" => Level::Instance,
        other => anyhow::bail!("graphs of level {other} are not made yet; there are function, file, image and instance"),
    };
    let ending = args.output.as_ref().and_then(|o| o.extension()).map(|e| e.to_string_lossy().to_lowercase());
    let format = args.format.clone().or(ending).unwrap_or_else(|| "dot".into());
    let names = || RENDERERS.iter().map(|r| r.name).collect::<Vec<_>>().join(", ");
    let Some(renderer) = render::renderer(&format) else {
        anyhow::bail!("no graph format is named `{format}`; there are {}: name one with --format", names());
    };
    if let Some(output) = &args.output
        && crate::store::open::is_duckdb(output)
    {
        anyhow::bail!("{} is a database: -o names the picture", output.display());
    }
    let db = args.database.open()?;
    let focus = match &args.focus {
        Some(name) => {
            let found = graph::resolve_function(&db, name)?;
            Some(Focus { function_id: found.function_id, instance: found.instance, depth: args.depth })
        }
        None => None,
    };
    anyhow::ensure!(
        matches!(level, Level::Function | Level::Instance) || focus.is_none(),
        "--focus names a function: use it with --level function or instance"
    );
    let selection = Selection {
        level,
        data: args.show.iter().any(|s| s == "data"),
        calls: args.show.iter().any(|s| s == "calls"),
        via: args.via.iter().map(|v| Via::parse(v)).collect(),
        focus,
        top: args.top.max(1),
        min_bytes: args.min_bytes,
        stubs: args.stubs == "show",
    };
    let graph = graph::load(&db, &selection)?;
    let dot = match renderer.made {
        Made::Text(text) => return super::output(args.output.as_deref(), text(&graph).as_bytes()),
        Made::Drawn => render::dot::render_for_layout(&graph),
    };
    match layout::draw(dot, renderer.name) {
        Ok(picture) => super::output(args.output.as_deref(), &picture),
        Err(error @ layout::LayoutError::Missing) if args.output.is_some() => {
            let beside = args.output.unwrap_or_default().with_extension("dot");
            super::output(Some(&beside), render::dot::render(&graph).as_bytes())?;
            Err(anyhow::Error::new(error).context(format!("wrote {} instead of a picture", beside.display())))
        }
        Err(error) => Err(error.into()),
    }
}
