use super::Database;
use crate::graph::{self, Focus, Graph, Inside, Level, Selection, Via};
use crate::render::{self, Made, RENDERERS, layout};
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Draws the dataflow and call graph
///
/// Solid edges are calls with their counts, dashed ones data with bytes and what they go through.
/// What is not drawn is said in the picture.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// What a node is
    #[arg(long, default_value = "function", value_parser = Level::ALL.map(Level::name),
        value_name = "LEVEL")]
    level: String,
    /// Edges to show; in parts of functions (instruction, block, line, loop) also control
    /// dependences, executed control flow (jumps), and what loops carry from one iteration to a
    /// later one [default: data,calls and, where the trace recorded them, control]
    #[arg(long, value_delimiter = ',', value_parser = ["data", "calls", "control", "jumps", "carried"])]
    show: Vec<String>,
    /// Show the inside of these functions within the graph of functions
    #[arg(long, value_delimiter = ',', value_name = "FUNCTION,...")]
    expand: Vec<String>,
    /// What the inside of an expanded function is made of
    #[arg(long, default_value = "line", requires = "expand", value_parser = Inside::ALL.map(Inside::name))]
    inside: String,
    /// Put functions together as one node: the cores that they shall run on, say
    #[arg(long, value_name = "NAME=FUNCTION,...")]
    group: Vec<String>,
    /// Steps to draw at --level step, by number
    #[arg(long, value_name = "FIRST..LAST", value_parser = range)]
    range: Option<(i64, i64)>,
    /// Draw what is around this function: name, file:name or @address; with #N, what one call of it
    /// has of that
    #[arg(long, value_name = "FUNCTION[#INSTANCE]")]
    focus: Option<String>,
    /// Edges from the focus to the farthest node
    #[arg(long, default_value_t = 1, value_name = "N", requires = "focus")]
    depth: u32,
    /// Nodes at most, those with the largest share of steps or bytes; the rest is one node (others)
    #[arg(long, value_name = "N", default_value_t = 24)]
    top: usize,
    /// Leave out data edges with fewer bytes; 0 draws all edges [default: the smallest, so that two
    /// a node remain]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    min_bytes: Option<i64>,
    /// Only data through these
    #[arg(long, value_delimiter = ',', value_name = "VIA,...", value_parser = Via::ALL.map(Via::name))]
    via: Vec<String>,
    /// PLT stubs and the like: merge into their callers, or show
    #[arg(long, default_value = "fold", value_parser = ["fold", "show"])]
    stubs: String,
    /// Where data edges come from: what the build summed up (top-down), or the graph of all
    /// executed instructions, made now and merged up (bottom-up: the same bytes and transfers, much
    /// slower; for comparison)
    #[arg(long, default_value = "top-down", value_parser = ["top-down", "bottom-up"])]
    strategy: String,
    /// How to draw [default: by the ending of -o, else dot]
    #[arg(long, value_parser = PossibleValuesParser::new(RENDERERS.iter().map(|r| r.name)))]
    format: Option<String>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let level = Level::parse(&args.level).unwrap_or(Level::Function);
    let inside = Inside::parse(&args.inside).unwrap_or(Inside::Line);
    let renderer = renderer(args.format.as_deref(), args.output.as_deref())?;
    let db = args.database.open()?;
    if let Made::Stacks = renderer.made {
        let plain = level == Level::Function
            && args.focus.is_none()
            && args.expand.is_empty()
            && args.group.is_empty();
        anyhow::ensure!(
            plain,
            "a flame graph shows all calling contexts: leave out --level, --focus, --expand and --group"
        );
        let Some(export) = crate::export::find(renderer.name) else {
            anyhow::bail!("no export is named {}", renderer.name)
        };
        let mut text = Vec::new();
        crate::export::stream(&db, export, &Default::default(), &mut text)?;
        return super::output(args.output.as_deref(), &text);
    }
    let focus = match &args.focus {
        Some(name) => {
            let found = graph::resolve_function(&db, name)?;
            Some(Focus {
                function_id: found.function_id,
                instance: found.instance,
                depth: args.depth,
            })
        }
        None => None,
    };
    anyhow::ensure!(
        !matches!(level, Level::File | Level::Image | Level::Thread) || focus.is_none(),
        "--focus names a function: use it with another level than {}",
        level.name()
    );
    anyhow::ensure!(
        level == Level::Function || (args.expand.is_empty() && args.group.is_empty()),
        "--expand and --group change the graph of functions: leave out --level {}",
        level.name()
    );
    anyhow::ensure!(
        args.strategy == "top-down"
            || matches!(level, Level::Function | Level::File | Level::Image)
                && args.expand.is_empty(),
        "--strategy bottom-up is for the levels function, file and image"
    );
    let facts = graph::Facts::find(&db)?;
    let recorded = facts.control
        && !matches!(level, Level::Instance | Level::Context | Level::Thread | Level::Step);
    let shows = |what: &str| match &args.show[..] {
        [] => matches!(what, "data" | "calls") || what == "control" && recorded,
        list => list.iter().any(|s| s == what),
    };
    let parts = level.inside().is_some() || !args.expand.is_empty();
    for what in ["control", "jumps", "carried"] {
        anyhow::ensure!(
            parts || !shows(what) || what == "control" && recorded,
            "--show {what} is between parts of functions: add --level line or --expand FUNCTION, say"
        );
    }
    let expand = args
        .expand
        .iter()
        .map(|name| Ok(graph::resolve_function(&db, name)?.function_id))
        .collect::<anyhow::Result<_>>()?;
    let groups = args.group.iter().map(|text| group(&db, text)).collect::<anyhow::Result<_>>()?;
    let selection = Selection {
        level,
        data: shows("data"),
        calls: shows("calls"),
        control: shows("control"),
        jumps: shows("jumps"),
        carried: shows("carried"),
        expand,
        inside,
        groups,
        range: args.range,
        via: args.via.iter().map(|v| Via::parse(v)).collect(),
        focus,
        top: args.top.max(1),
        min_bytes: args.min_bytes,
        stubs: args.stubs == "show",
        bottom_up: args.strategy == "bottom-up",
    };
    let graph = graph::load_with(&db, facts, &selection)?;
    draw(&graph, renderer, args.output)
}

/// Writes a graph; where no picture can be made, as DOT beside it.
pub fn draw(
    graph: &Graph,
    renderer: &render::Renderer,
    output: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    let dot = match renderer.made {
        Made::Text(text) => return super::output(output.as_deref(), text(graph).as_bytes()),
        Made::Drawn => render::dot::render_for_layout(graph),
        Made::Stacks => anyhow::bail!("{} draws calling contexts, not this graph", renderer.name),
    };
    match layout::draw(&dot, renderer.name) {
        Ok(picture) => super::output(output.as_deref(), &picture),
        Err(error) => match output {
            Some(output) => {
                let beside = output.with_extension("dot");
                super::output(Some(&beside), render::dot::render(graph).as_bytes())?;
                Err(anyhow::Error::new(error)
                    .context(format!("wrote {} instead of a picture", beside.display())))
            }
            None => Err(anyhow::Error::new(error)
                .context("no picture was made; --format dot writes the graph as text")),
        },
    }
}

/// The renderer that --format or the ending of -o names; DOT where neither is given.
pub fn renderer(
    format: Option<&str>,
    output: Option<&std::path::Path>,
) -> anyhow::Result<&'static render::Renderer> {
    let ending = output.and_then(|o| o.extension()).map(|e| e.to_string_lossy().to_lowercase());
    let format = format.map(str::to_owned).or(ending).unwrap_or_else(|| "dot".into());
    let names = || RENDERERS.iter().map(|r| r.name).collect::<Vec<_>>().join(", ");
    let Some(renderer) = render::renderer(&format) else {
        anyhow::bail!(
            "no graph format is named `{format}`; there are {}: name one with --format",
            names()
        );
    };
    if let Some(output) = output
        && (crate::store::open::is_duckdb(output) || crate::store::sqlite::is_sqlite(output))
    {
        anyhow::bail!("{} is a database: -o names the picture", output.display());
    }
    Ok(renderer)
}

fn group(db: &duckdb::Connection, text: &str) -> anyhow::Result<(String, Vec<i32>)> {
    let Some((name, list)) = text.split_once('=') else {
        anyhow::bail!("`{text}` names no functions: write --group NAME=FUNCTION,...");
    };
    let ids = list
        .split(',')
        .map(|f| Ok(graph::resolve_function(db, f)?.function_id))
        .collect::<anyhow::Result<_>>()?;
    Ok((name.to_owned(), ids))
}

/// `FIRST..LAST`, both inclusive.
pub fn range(text: &str) -> Result<(i64, i64), String> {
    let (first, last) = text.split_once("..").ok_or("write FIRST..LAST, as in 100..180")?;
    let number = |t: &str| t.trim().parse::<i64>().map_err(|e| format!("`{t}`: {e}"));
    let (first, last) = (number(first)?, number(last)?);
    if first <= last { Ok((first, last)) } else { Err(format!("{first} is behind {last}")) }
}
