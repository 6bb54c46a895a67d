//! The overview as a picture: laid out a few times by `dot` over shuffled statements, the one with the
//! fewest crossings kept. The same overview always gives the same picture.

use super::crossings::{self, Drawn, Faults, Layout};
use super::dot::{FONT, GREY, PROBLEM, colour, html, quoted_text as quoted};
use super::labels;
use super::layout::{self, LayoutError};
use crate::graph::{BoxRole, Overview, OverviewBox, OverviewLine, Via};
use crate::text::{human_bytes, human_count, percent, shorten};
use serde_json::json;
use std::fmt::Write;

/// Layouts that are tried.
const TRIES: u64 = 12;
/// Characters of a name.
const NAME: usize = 30;
/// Points of the narrowest line, and of what all bytes would add.
const THIN: f64 = 0.8;
const WIDE: f64 = 6.2;
/// The share of the largest line from which on a line has its bytes beside it.
const LABELLED: f64 = 0.02;

/// Moves and scales the picture of a page.
const SCRIPT: &str = "<script><![CDATA[
(function(){var s=document.documentElement,v=s.viewBox&&s.viewBox.baseVal;if(!v)return;
var o=[v.x,v.y,v.width,v.height],d=null;function at(e){var p=s.createSVGPoint();p.x=e.clientX;p.y=e.clientY;
return p.matrixTransform(s.getScreenCTM().inverse());}
s.addEventListener('wheel',function(e){e.preventDefault();var f=e.deltaY<0?0.8:1.25,p=at(e);
v.x=p.x-(p.x-v.x)*f;v.y=p.y-(p.y-v.y)*f;v.width*=f;v.height*=f;},{passive:false});
s.addEventListener('mousedown',function(e){d=at(e);});
s.addEventListener('mousemove',function(e){if(d){var p=at(e);v.x-=p.x-d.x;v.y-=p.y-d.y;}});
s.addEventListener('mouseup',function(){d=null;});
s.addEventListener('dblclick',function(){v.x=o[0];v.y=o[1];v.width=o[2];v.height=o[3];});})();
]]></script>";

/// The picture in a format of `dot`.
pub fn draw(overview: &Overview, format: &str) -> Result<Vec<u8>, LayoutError> {
    // Laid out already: only drawn.
    let mut options = vec!["-Kneato", "-n2"];
    if format == "png" {
        options.extend(["-Gsize=16.66,10.41!", "-Gdpi=96"]);
    }
    let text = dot(overview, 0, Some(&best_layout(overview)?));
    let picture = layout::draw_with(&text, format, &options)?;
    if format != "svg" {
        return Ok(picture);
    }
    Ok(fitted(&String::from_utf8_lossy(&picture)).into_bytes())
}

/// The layout with the fewest faults.
fn best_layout(overview: &Overview) -> Result<Layout, LayoutError> {
    type Try = (Faults, u64, Layout);
    let attempt = |seed: u64| -> Result<Try, LayoutError> {
        let json = layout::draw_with(&dot(overview, seed, None), "json0", &[])?;
        let mut layout = crossings::read(&json);
        labels::spread(&mut layout);
        Ok((crossings::faults(&layout), seed, layout))
    };
    let half = |first: u64| -> Result<Vec<Try>, LayoutError> {
        (first..TRIES).step_by(2).map(attempt).collect()
    };
    let (even, odd) = std::thread::scope(|scope| {
        let even = scope.spawn(|| half(0));
        let odd = half(1);
        (even.join(), odd)
    });
    let mut found = odd?;
    if let Ok(even) = even {
        found.extend(even?);
    }
    let best = found.into_iter().min_by_key(|(faults, seed, _)| (*faults, *seed));
    let mut layout = best.map(|found| found.2).unwrap_or_default();
    labels::give_up(&mut layout);
    Ok(layout)
}

/// As large as the window, whatever its size.
fn fitted(svg: &str) -> String {
    let Some(begin) = svg.find("<svg ") else { return svg.to_owned() };
    let end = svg[begin..].find('>').map_or(svg.len(), |e| begin + e);
    let box_at = svg[begin..end].find("viewBox").map_or(begin + 5, |b| begin + b);
    let rest = svg[box_at..].trim_end().trim_end_matches("</svg>");
    let head = "<svg width=\"100%\" height=\"100%\" preserveAspectRatio=\"xMidYMin meet\"\n ";
    format!("{}{head}{rest}{SCRIPT}\n</svg>\n", &svg[..begin])
}

/// The statements in an order that depends on the seed; for 0 in the overview's own. `placed`: with the
/// positions of a layout.
pub fn dot(overview: &Overview, seed: u64, placed: Option<&Layout>) -> String {
    let mut out = String::from("digraph overview {\n");
    let _ = writeln!(
        out,
        "graph [rankdir=TB, splines=spline, nodesep=0.35, ranksep=0.4, fontname=\"{FONT}\", fontsize=11, labelloc=b, \
         labeljust=l, label={}];\nnode [fontname=\"{FONT}\", fontsize=13, shape=box, style=\"filled,rounded\", \
         color=\"#555555\", margin=\"0.12,0.05\"];\nedge [fontname=\"{FONT}\", fontsize=11, arrowsize=0.8];",
        caption(overview, placed)
    );
    let mut random = Random(seed);
    let mut nodes: Vec<usize> = (0..overview.parts.len()).collect();
    let mut edges: Vec<usize> = (0..overview.lines.len()).collect();
    random.shuffle(&mut nodes);
    random.shuffle(&mut edges);
    for i in nodes {
        let part = &overview.parts[i];
        let at = placed.map_or(String::new(), |layout| box_at(layout, i));
        let statement = node(part, i, overview, &at);
        let _ = match part.role {
            BoxRole::Source => writeln!(out, "{{rank=source; {statement}}}"),
            BoxRole::Sink => writeln!(out, "{{rank=sink; {statement}}}"),
            _ => writeln!(out, "{statement}"),
        };
    }
    let most = largest(overview);
    let all = overview.lines.iter().map(|l| l.there + l.back).sum::<f64>().max(1.0);
    for i in edges {
        let _ = writeln!(out, "{}", edge(&overview.lines[i], overview, (most, all), placed));
    }
    out.push_str("}\n");
    out
}

/// As JSON: `{"level": "overview", "program", "steps", "start_up_steps", "unattributed", "drawn", "problems",
/// "nodes": [{"id", "name", "full_name", "kind", "steps", "calls", "helpers", "moved_bytes"}], "edges": [{"from",
/// "to", "kind", "bytes", "bytes_back", "via", "calls"}]}`; bytes are those of the picture's arrows.
pub fn json(overview: &Overview) -> String {
    let node = |(id, part): (usize, &OverviewBox)| {
        json!({"id": id, "name": part.name, "full_name": part.full, "kind": part.role.name(), "steps": part.steps,
               "calls": part.calls, "helpers": part.helpers, "moved_bytes": part.moved})
    };
    let edge = |line: &OverviewLine| match line.via {
        None => json!({"from": line.from, "to": line.to, "kind": "call", "calls": line.calls}),
        Some(via) => {
            json!({"from": line.from, "to": line.to, "kind": "data", "bytes": line.there.round() as i64,
                            "bytes_back": line.back.round() as i64, "via": via.name()})
        }
    };
    let nodes: Vec<_> = overview.parts.iter().enumerate().map(node).collect();
    let edges: Vec<_> = overview.lines.iter().map(edge).collect();
    let value = json!({
        "level": "overview", "program": overview.program, "steps": overview.steps,
        "start_up_steps": overview.start_up, "unattributed": overview.unattributed, "drawn": overview.drawn,
        "problems": overview.problems, "nodes": nodes, "edges": edges});
    format!("{value:#}\n")
}

/// Where a layout has a box, as an attribute.
fn box_at(layout: &Layout, i: usize) -> String {
    let name = format!("n{i}");
    let found = layout.boxes.iter().find(|b| b.name == name);
    found.map_or(String::new(), |b| format!("pos=\"{}\", ", b.position))
}

/// A line of a layout, by its boxes.
fn line_of(layout: &Layout, top: usize, bottom: usize) -> Option<&Drawn> {
    let ends = [format!("n{top}"), format!("n{bottom}")];
    let name = |i: usize| layout.boxes.get(i).map(|b| b.name.as_str());
    layout
        .lines
        .iter()
        .find(|l| l.ends.map(name) == [Some(ends[0].as_str()), Some(ends[1].as_str())])
}

/// Where a layout has a line and its label, as attributes.
fn line_at(line: Option<&Drawn>) -> String {
    let Some(line) = line else { return String::new() };
    let label = line.label.map_or(String::new(), |area| {
        format!("lp=\"{:.2},{:.2}\", ", area.middle.0, area.middle.1)
    });
    format!("pos=\"{}\", {label}", line.position)
}

/// Numbers that look random and are the same everywhere (Knuth's MMIX generator).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }

    fn shuffle(&mut self, list: &mut [usize]) {
        if self.0 == 0 {
            return;
        }
        for i in (1..list.len()).rev() {
            let j = self.below(i + 1);
            list.swap(i, j);
        }
    }
}

/// `47 %`, without a decimal: it is read in passing. For an HTML-like label.
fn whole_percent(part: i64, whole: i64) -> String {
    let share = if whole > 0 { 100.0 * part as f64 / whole as f64 } else { 0.0 };
    if share < 1.0 { "&lt;1 %".into() } else { format!("{share:.0} %") }
}

fn fill(part: i64, whole: i64) -> String {
    let share = if whole > 0 { (part as f64 / whole as f64).clamp(0.0, 1.0).sqrt() } else { 0.0 };
    let mix = |to: f64| (255.0 + (to - 255.0) * share).round();
    format!("#{:02x}{:02x}{:02x}", mix(240.0) as u8, mix(140.0) as u8, mix(60.0) as u8)
}

fn node(part: &OverviewBox, number: usize, overview: &Overview, at: &str) -> String {
    let small = |text: &str| format!("<FONT POINT-SIZE=\"11\">{text}</FONT>");
    let name = html(&shorten(&part.name, NAME));
    let mut lines = Vec::new();
    match part.role {
        BoxRole::Function | BoxRole::File => {
            lines.push(format!("<B>{name}</B>"));
            let share = whole_percent(part.steps, overview.steps);
            // One text: renderers with other fonts would put two over each other.
            lines.push(small(&format!("<B>{share} of the steps</B>")));
            let with = match (&part.largest[..], part.helpers) {
                ([], _) | (_, 0) => None,
                ([(one, _), ..], 1) => Some(format!("with {}", shorten(one, 24))),
                (_, count) => Some(format!("with {} helpers", human_count(count as i64))),
            };
            lines.extend(
                with.map(|w| {
                    format!("<FONT POINT-SIZE=\"10\" COLOR=\"{GREY}\">{}</FONT>", html(&w))
                }),
            );
        }
        BoxRole::Helper => {
            lines.push(format!("<B>{name}</B>"));
            lines.push(small("for several of the boxes"));
        }
        BoxRole::Source => {
            lines.push(small("INPUT"));
            lines.push(format!("<B>{name}</B>"));
            lines.extend(part.moved.map(|bytes| small(&human_bytes(bytes))));
        }
        BoxRole::Sink => {
            lines.push(small("OUTPUT"));
            lines.push(format!("<B>{name}</B>"));
            lines.extend(part.moved.map(|bytes| small(&human_bytes(bytes))));
        }
        BoxRole::Constants => {
            lines.push(small("constants and"));
            lines.push(small("initial data"));
        }
    }
    let looks = match part.role {
        BoxRole::Function | BoxRole::File => {
            format!("fillcolor=\"{}\"", fill(part.steps, overview.steps))
        }
        BoxRole::Helper => "style=\"rounded,dashed\"".into(),
        BoxRole::Source | BoxRole::Sink => {
            "shape=cylinder, style=filled, fillcolor=\"#cfe4f7\", color=\"#1f6fb4\", penwidth=1.5"
                .into()
        }
        BoxRole::Constants => "shape=note, style=filled, fillcolor=\"#f4f4f4\"".into(),
    };
    format!(
        "n{number} [{at}label=<{}>, {looks}, tooltip={}];",
        lines.join("<BR/>"),
        quoted(&tooltip(part))
    )
}

fn tooltip(part: &OverviewBox) -> String {
    let mut text = format!("{}: {} steps", part.full, part.steps);
    if part.calls > 0 {
        let _ = write!(text, ", {} calls", part.calls);
    }
    if !part.largest.is_empty() {
        let names: Vec<&str> = part.largest.iter().take(2).map(|h| h.0.as_str()).collect();
        let _ = write!(text, "; with {} functions: {}", part.helpers, names.join(", "));
    }
    text
}

/// `most`, `all`: bytes of the largest line, and of all.
fn edge(
    line: &OverviewLine,
    overview: &Overview,
    (most, all): (f64, f64),
    placed: Option<&Layout>,
) -> String {
    // What points upwards is written from its upper end.
    let upward = line.from > line.to;
    let (top, bottom) = if upward { (line.to, line.from) } else { (line.from, line.to) };
    let drawn = placed.and_then(|layout| line_of(layout, top, bottom));
    let at = line_at(drawn);
    let name = |i: usize| overview.parts[i].full.as_str();
    let Some(via) = line.via else {
        let calls = format!("{} calls {}: {} times", name(line.from), name(line.to), line.calls);
        return format!(
            "n{top} -> n{bottom} [{at}style=dotted, color=\"#888888\", arrowhead=empty, {}tooltip={}];",
            if upward { "dir=back, arrowtail=empty, " } else { "" },
            quoted(&calls)
        );
    };
    let ink = colour(via);
    let bytes = line.there + line.back;
    let two = line.back >= 0.02 * line.there && line.back >= 1.0;
    let direction = match (two, upward) {
        (true, _) => "both",
        (false, true) => "back",
        (false, false) => "forward",
    };
    let amount = |b: f64| human_bytes(b.round() as i64);
    let (there, back) = if upward { ("↑", "↓") } else { ("↓", "↑") };
    let has_room = drawn.is_none_or(|line| line.label.is_some());
    let label = match has_room && bytes >= LABELLED * most {
        // The space keeps wide lines off the text.
        true if two => format!(
            "&#160;&#160;<B>{} {there}</B><BR/>&#160;&#160;{} {back}",
            amount(line.there),
            amount(line.back)
        ),
        true => format!("&#160;&#160;<B>{}</B>", amount(line.there)),
        false => String::new(),
    };
    let label = if label.is_empty() {
        String::new()
    } else {
        format!("label=<<FONT COLOR=\"{ink}\">{label}</FONT>>, ")
    };
    let tip = format!(
        "{} to {}: {} bytes, mostly {}; back {} bytes",
        name(line.from),
        name(line.to),
        line.there.round(),
        via.name(),
        line.back.round()
    );
    let width = THIN + WIDE * (bytes / all).sqrt();
    let pull = 1.0 + (9.0 * bytes / most).round();
    format!(
        "n{top} -> n{bottom} [{at}dir={direction}, color=\"{ink}\", penwidth={width:.1}, weight={pull}, {label}tooltip={}];",
        quoted(&tip)
    )
}

/// Bytes of the largest line.
fn largest(overview: &Overview) -> f64 {
    overview.lines.iter().map(|l| l.there + l.back).fold(1.0, f64::max)
}

/// Whether a line's label was left out of a layout for want of room.
fn is_given_up(line: &OverviewLine, most: f64, layout: &Layout) -> bool {
    let (top, bottom) = (line.from.min(line.to), line.from.max(line.to));
    line.via.is_some()
        && line.there + line.back >= LABELLED * most
        && line_of(layout, top, bottom).is_some_and(|drawn| drawn.label.is_none())
}

/// What the picture shows, below it.
fn caption(overview: &Overview, placed: Option<&Layout>) -> String {
    let boxes = overview.parts.iter().filter(|p| p.role == BoxRole::Function).count();
    let mut lines = vec![format!(
        "<B>{}</B>: {} steps. Boxes: {boxes} of {} {}, darker: more steps{}.",
        html(&overview.program),
        human_count(overview.steps),
        overview.functions,
        if overview.functions == 1 { "function" } else { "functions" },
        if boxes < overview.functions { "; the others are counted with their callers" } else { "" }
    )];
    let mut via: Vec<Via> = overview.lines.iter().filter_map(|l| l.via).collect();
    via.sort();
    via.dedup();
    let via: Vec<String> = via
        .iter()
        .map(|v| format!("<FONT COLOR=\"{}\"><B>{}</B></FONT>", colour(*v), v.name()))
        .collect();
    let dotted =
        if overview.lines.iter().any(|l| l.via.is_none()) { " Dotted: calls." } else { "" };
    if !via.is_empty() {
        let how = if overview.each_time { "each time" } else { "each once per call" };
        lines.push(format!(
            "Arrows: bytes that one writes and the other reads ({how}), through&#160;&#160;{}; {:.0} % of them.{dotted}",
            via.join(",&#160;"),
            100.0 * overview.drawn
        ));
    }
    let most = largest(overview);
    let given_up = placed.map_or(0, |layout| {
        overview.lines.iter().filter(|line| is_given_up(line, most, layout)).count()
    });
    if given_up > 0 {
        lines.push(format!(
            "{given_up} arrows have no room for their bytes: the tooltips of an SVG have them."
        ));
    }
    if let Some(share) = percent(overview.start_up, overview.steps)
        && overview.start_up > 0
    {
        lines.push(format!(
            "Not drawn: start-up and dynamic linker, {} of the steps.",
            html(&share)
        ));
    }
    if overview.parts.iter().any(|part| part.role == BoxRole::Helper) {
        lines.push(
            "Dashed: a function that several boxes call: its data is for any of them, its steps are counted with them."
                .into(),
        );
    }
    if overview.unattributed >= 0.005 {
        lines.push(format!(
            "Not drawn: up to {:.0} % of the bytes, to and from other functions that several boxes call: sums by function do not tell for whom.",
            100.0 * overview.unattributed
        ));
    }
    lines.extend(
        overview
            .problems
            .iter()
            .map(|p| format!("<FONT COLOR=\"{PROBLEM}\"><B>{}</B></FONT>", html(&shorten(p, 120)))),
    );
    let cells: String =
        lines.iter().map(|l| format!("<TR><TD ALIGN=\"LEFT\">{l}</TD></TR>")).collect();
    format!(
        "<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLPADDING=\"1\" CELLSPACING=\"0\">{cells}</TABLE>>"
    )
}
