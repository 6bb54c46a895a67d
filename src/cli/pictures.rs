//! What commands that draw graphs have in common: the format by name or ending, and the file.

use super::output::write_output;
use crate::graph::{Graph, Overview};
use crate::render::rows::RowFormat;
use crate::render::{self, Made, RENDERERS, Renderer, layout};
use crate::store::{open::is_duckdb, sqlite::is_sqlite};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Writes a graph; where no picture can be made, as DOT beside it.
pub fn draw(
    graph: &Graph,
    renderer: &Renderer,
    output: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    let dot = match renderer.made {
        Made::Text(text) => return write_output(output.as_deref(), text(graph).as_bytes()),
        Made::Drawn if graph.graph.edge_count() > layout::MOST => {
            anyhow::bail!(
                "{} edges are more than Graphviz draws in reasonable time ({}): ask for fewer nodes (--top) or edges (--min-bytes), \
                 draw files (--level file) or a matrix (addfg matrix -o FILE.svg), or write --format graphml for Gephi or yEd",
                graph.graph.edge_count(),
                layout::MOST
            )
        }
        Made::Drawn => render::dot::render_for_layout(graph),
        Made::Stacks => anyhow::bail!("{} draws calling contexts, not this graph", renderer.name),
    };
    let beside = || render::dot::render(graph);
    write_picture(layout::draw(&dot, renderer.name), output, beside)
}

/// Draws the overview, or writes it as text; where no picture can be made, its DOT is written beside it.
pub fn draw_overview(
    overview: &Overview,
    renderer: &Renderer,
    output: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    let beside = || render::overview::dot(overview, 0, None);
    match renderer.name {
        "dot" => return write_output(output.as_deref(), beside().as_bytes()),
        "json" => {
            return write_output(output.as_deref(), render::overview::json(overview).as_bytes());
        }
        _ => {}
    }
    write_picture(render::overview::draw(overview, renderer.name), output, beside)
}

fn write_picture(
    picture: Result<Vec<u8>, layout::LayoutError>,
    output: Option<PathBuf>,
    dot: impl Fn() -> String,
) -> anyhow::Result<ExitCode> {
    match picture {
        Ok(picture) => write_output(output.as_deref(), &picture),
        Err(error) => match output.filter(|o| o.as_os_str() != "-") {
            Some(output) => {
                let beside = output.with_extension("dot");
                write_output(Some(&beside), dot().as_bytes())?;
                Err(anyhow::Error::new(error)
                    .context(format!("wrote {} instead of a picture", beside.display())))
            }
            None => Err(anyhow::Error::new(error)
                .context("no picture was made; --format dot writes the graph as text")),
        },
    }
}

/// The format that is asked for, else that of the ending of -o; DOT where neither is given.
pub fn renderer(
    format: Option<&'static Renderer>,
    output: Option<&Path>,
) -> anyhow::Result<&'static Renderer> {
    let renderer = match format {
        Some(renderer) => renderer,
        None => by_ending(output)?,
    };
    if let Some(output) = output.filter(|o| is_duckdb(o) || is_sqlite(o)) {
        anyhow::bail!("{} is a database: -o names the picture", output.display());
    }
    Ok(renderer)
}

fn by_ending(output: Option<&Path>) -> anyhow::Result<&'static Renderer> {
    let name = ending(output).unwrap_or_else(|| "dot".into());
    render::renderer(&name).ok_or_else(|| {
        let names: Vec<_> = RENDERERS.iter().map(|r| r.name).collect();
        anyhow::anyhow!(
            "no graph format is named `{name}`; there are {}: name one with --format",
            names.join(", ")
        )
    })
}

fn ending(output: Option<&Path>) -> Option<String> {
    output.and_then(Path::extension).map(|e| e.to_string_lossy().to_lowercase())
}

/// How rows are written: as is asked for, else by the ending of -o. A file whose name says that it is a picture is refused.
pub fn rows(format: Option<RowFormat>, output: Option<&Path>) -> anyhow::Result<RowFormat> {
    let ending = ending(output).unwrap_or_default();
    if let Some(picture) = render::renderer(&ending).filter(|r| r.name != "json") {
        anyhow::bail!(
            "this is written as rows: no {} is made of it; name -o FILE.csv or FILE.json",
            picture.name
        )
    }
    Ok(format.unwrap_or(match &ending[..] {
        "csv" => RowFormat::Csv,
        "json" => RowFormat::Json,
        _ => RowFormat::Table,
    }))
}

/// Refuses a file whose name says that it is another picture than an SVG, which is the only one that is drawn.
pub fn no_other_than_svg(output: Option<&Path>) -> anyhow::Result<()> {
    let ending = ending(output).unwrap_or_else(|| "svg".into());
    let is_other = ending != "svg" && (render::renderer(&ending).is_some() || ending == "csv");
    anyhow::ensure!(!is_other, "this is drawn as SVG: no {ending} is made of it; name -o FILE.svg");
    Ok(())
}

/// Whether a file is to be a picture by its name.
pub fn is_svg(output: Option<&Path>) -> bool {
    output.and_then(Path::extension).is_some_and(|e| e.eq_ignore_ascii_case("svg"))
}
