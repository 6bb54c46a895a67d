use super::database::Database;
use super::options::{self, Group};
use super::output::write_output;
use super::pictures;
use crate::graph::{
    self, Facts, Focus, Inside, Level, Selection, Show, Strategy, Stubs, Via, resolve_function,
    resolve_whole,
};
use crate::id::FunctionId;
use crate::load::Detail;
use crate::render::{Made, Renderer};
use crate::views::library::ensure_traffic;
use crate::views::{grouped, rows};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;

/// Draws the dataflow and call graph
///
/// Without further options it is an overview: at most a dozen functions, where data comes from and where it
/// ends; the functions that are not drawn are counted with their callers. With --all, other options, or as
/// GraphML it is the graph itself: solid edges are calls with their counts, dashed ones data with bytes
/// and what they go through. What is not drawn is said in the picture.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    database: Database,
    /// Kind of nodes [default: function]
    #[arg(long, value_name = "LEVEL")]
    level: Option<Level>,
    /// Edges to show, a list: data, calls, control, jumps, carried
    ///
    /// Below functions (instruction, block, line, loop, inlined) control dependences, executed jumps, and
    /// data that loops carry to a later iteration can be shown. Default: data, calls, and control if the trace
    /// recorded it.
    #[arg(long, value_delimiter = ',', hide_possible_values = true)]
    show: Vec<Show>,
    /// Show the inside of these functions in the graph of functions
    #[arg(long, value_name = "FUNCTION,...")]
    expand: Vec<String>,
    /// Nodes inside an expanded function
    #[arg(long, default_value = "line", requires = "expand", hide_short_help = true)]
    inside: Inside,
    /// Functions that are one node, for example of one core
    ///
    /// Names as in `addfg cut`.
    #[arg(long, value_name = "NAME=FUNCTION,...", value_parser = options::group)]
    group: Vec<Group>,
    /// Draw memories and devices, and what functions load from and store to each
    ///
    /// `addfg build --memory`, `--memory-map` and `--svd` name them; without names, sections of the program.
    #[arg(long, conflicts_with_all = ["level", "expand", "group", "range", "via", "stubs", "strategy"])]
    by_memory: bool,
    /// Steps to draw with --level step, by number
    #[arg(long, value_name = "FIRST..LAST", value_parser = options::range, hide_short_help = true)]
    range: Option<(i64, i64)>,
    /// Draw the neighbours of this function: name, file:name, @address
    ///
    /// #N draws the neighbours of its call N.
    #[arg(long, value_name = "FUNCTION[#INSTANCE]")]
    focus: Option<String>,
    /// Edges from the focus to the farthest node
    #[arg(long, default_value_t = 1, value_name = "N", requires = "focus")]
    depth: u32,
    /// Maximum nodes, those with most steps or bytes; the rest is (others); 0: all [default: 24]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Draw the graph instead of the overview
    #[arg(long)]
    all: bool,
    /// Minimum bytes of a data edge; 0 draws all [default: about two edges per node remain]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    min_bytes: Option<i64>,
    /// Show only data through these places: register, stack, heap, global, constant, mmio, other
    #[arg(long, value_delimiter = ',', value_name = "VIA,...", hide_possible_values = true)]
    via: Vec<Via>,
    /// PLT stubs and the like: merge into their callers, or show
    #[arg(long, default_value = "fold", hide_short_help = true)]
    stubs: Stubs,
    /// How data edges are made: top-down, or bottom-up for comparison
    ///
    /// top-down reads the sums of the build. bottom-up makes the graph of all executed instructions and
    /// merges it: the same bytes and transfers, much slower.
    #[arg(long, default_value = "top-down", hide_short_help = true)]
    strategy: Strategy,
    /// dot, json, graphml, svg, png, pdf, flamegraph [default: by the ending of -o, else dot]
    #[arg(long, value_parser = options::renderers(), hide_possible_values = true)]
    format: Option<&'static Renderer>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What is not of whole functions is made of rows.
fn ensure_rows(db: &duckdb::Connection, args: &Args) -> anyhow::Result<()> {
    let of_functions = matches!(args.level(), Level::Function | Level::File | Level::Image);
    let of_call = args.focus.as_ref().is_some_and(|focus| focus.contains('#'));
    if args.by_memory {
        ensure_traffic(db)?;
    } else if !args.group.is_empty() {
        rows::ensure_communications(db)?;
    } else if !of_functions
        || of_call
        || !args.expand.is_empty()
        || args.strategy == Strategy::BottomUp
    {
        rows::ensure(db, Detail::Instance)?;
    }
    Ok(())
}

impl Args {
    fn level(&self) -> Level {
        self.level.unwrap_or(Level::Function)
    }

    /// Whether nothing is asked for but a picture.
    fn is_plain(&self) -> bool {
        let Args { level, show, expand, group, range, focus, top, min_bytes, via, .. } = self;
        !self.all
            && !self.by_memory
            && show.is_empty()
            && expand.is_empty()
            && group.is_empty()
            && via.is_empty()
            && (level, range, focus, top, min_bytes) == (&None, &None, &None, &None, &None)
            && (self.stubs, self.strategy) == (Stubs::Fold, Strategy::TopDown)
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let renderer = pictures::renderer(args.format, args.output.as_deref())?;
    let db = args.database.open()?;
    if let Made::Stacks = renderer.made {
        return flame_graph(&args, renderer, &db);
    }
    // One command gives one picture, in whatever format.
    let is_overview = args.is_plain()
        && (matches!(renderer.made, Made::Drawn) || ["dot", "json"].contains(&renderer.name));
    if !is_overview {
        ensure_rows(&db, &args)?;
    }
    let focus = args.focus.as_ref().map(|name| resolve_function(&db, name)).transpose()?;
    check(&args)?;
    let facts = Facts::find(&db)?;
    if is_overview && let Some(folding) = graph::Folding::read(&db, facts)? {
        return pictures::draw_overview(&folding.overview(), renderer, args.output);
    }
    let show = if args.by_memory { by_memory(&args)? } else { show(&args, facts)? };
    let functions = |names: &[String]| -> Result<Vec<FunctionId>, graph::GraphError> {
        names.iter().map(|name| Ok(resolve_whole(&db, name)?.function_id)).collect()
    };
    let expand = functions(&crate::text::lists(&args.expand))?;
    // A function is in one group only.
    let mut groups: BTreeMap<String, Vec<FunctionId>> = BTreeMap::new();
    for (id, name) in grouped::by_function(&db, &options::words(&args.group))? {
        groups.entry(name).or_default().push(id);
    }
    let level = args.level();
    let selection = Selection {
        level,
        show,
        expand,
        inside: args.inside,
        groups: groups.into_iter().collect(),
        range: args.range,
        via: args.via,
        focus: focus.map(|found| Focus {
            function_id: found.function_id,
            // A picture of steps is of one call.
            instance: found.instance.or((level == Level::Step).then_some(1)),
            depth: args.depth,
        }),
        top: match args.top.unwrap_or(24) {
            0 => usize::MAX,
            top => top,
        },
        min_bytes: args.min_bytes,
        stubs: args.stubs,
        strategy: args.strategy,
    };
    let graph = match args.by_memory {
        true => graph::by_memory(&db, facts, &selection)?,
        false => graph::load_with(&db, facts, &selection)?,
    };
    pictures::draw(&graph, renderer, args.output)
}

/// Refuses options that do not go together.
fn check(args: &Args) -> anyhow::Result<()> {
    let level = args.level();
    anyhow::ensure!(
        !matches!(level, Level::File | Level::Image | Level::Thread) || args.focus.is_none(),
        "--focus names a function: use it with another level than {}",
        level.name()
    );
    anyhow::ensure!(
        args.range.is_none() || level == Level::Step && args.focus.is_none(),
        "--range is of steps: use it with --level step and without --focus"
    );
    anyhow::ensure!(
        level == Level::Function || (args.expand.is_empty() && args.group.is_empty()),
        "--expand and --group change the graph of functions: leave out --level {}",
        level.name()
    );
    anyhow::ensure!(
        args.strategy == Strategy::TopDown
            || matches!(level, Level::Function | Level::File | Level::Image)
                && args.expand.is_empty(),
        "--strategy bottom-up is for the levels function, file and image"
    );
    Ok(())
}

/// The edges to show: those asked for, else data, calls, control dependences where the trace
/// recorded them, and of blocks without instructions what there is, executed control flow.
fn show(args: &Args, facts: Facts) -> anyhow::Result<BTreeSet<Show>> {
    let of_calls =
        matches!(args.level(), Level::Instance | Level::Context | Level::Thread | Level::Step);
    let recorded = facts.control && !of_calls;
    let mut show: BTreeSet<Show> = args.show.iter().copied().collect();
    if show.is_empty() {
        show.extend([Show::Data, Show::Calls]);
        show.extend(recorded.then_some(Show::Control));
        show.extend((facts.only_blocks && args.level() == Level::Block).then_some(Show::Jumps));
    }
    let parts = args.level().inside().is_some() || !args.expand.is_empty();
    for what in [Show::Control, Show::Jumps, Show::Carried] {
        anyhow::ensure!(
            parts || !show.contains(&what) || what == Show::Control && recorded,
            "--show {} is between parts of functions: add --level line or --expand FUNCTION, say",
            what.name()
        );
    }
    Ok(show)
}

/// The edges to show beside loads and stores.
fn by_memory(args: &Args) -> anyhow::Result<BTreeSet<Show>> {
    anyhow::ensure!(
        args.show.iter().all(|what| matches!(what, Show::Data | Show::Calls)),
        "--by-memory shows data and calls only"
    );
    Ok(args.show.iter().copied().collect())
}

/// The format that is no picture of a graph.
fn flame_graph(
    args: &Args,
    renderer: &Renderer,
    db: &duckdb::Connection,
) -> anyhow::Result<ExitCode> {
    let plain = args.level() == Level::Function
        && args.focus.is_none()
        && args.expand.is_empty()
        && args.group.is_empty()
        && !args.by_memory
        && args.show.is_empty()
        && args.via.is_empty()
        && (args.range, args.top, args.min_bytes) == (None, None, None)
        && (args.stubs, args.strategy) == (Stubs::Fold, Strategy::TopDown);
    anyhow::ensure!(
        plain,
        "a flame graph shows all calling contexts: leave out what chooses nodes and edges (--level, --focus, --top, --via and the like)"
    );
    let Some(export) = crate::export::find(renderer.name) else {
        anyhow::bail!("no export is named {}", renderer.name)
    };
    let mut text = Vec::new();
    crate::export::stream(db, export, &Default::default(), &mut text)?;
    write_output(args.output.as_deref(), &text)
}
