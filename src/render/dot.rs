//! DOT through graphviz-rust: calls solid, data dashed, as in the paper's figures 9 and 10.
//!
//! Labels are Graphviz's HTML-like ones, for sizes and colours within them. graphviz-rust prints
//! ids as they are and names are hostile text, so node ids are numbers, and every text passes
//! [`html`] or [`quoted`].

use crate::graph::{Change, Edge, EdgeKind, Flow, Graph, Level, Node, NodeKind, Via};
use crate::text::{drawn, growth, human_count, percent, shorten};
use graphviz_rust::dot_structures::{
    Attribute, Edge as DotEdge, EdgeTy, Graph as DotGraph, GraphAttributes, Id, Node as DotNode,
    NodeId, Stmt, Subgraph, Vertex,
};
use graphviz_rust::printer::{DotPrinter, PrinterContext};
use petgraph::graph::NodeIndex;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const FONT: &str = "Helvetica,Arial,sans-serif";
pub(super) const GREY: &str = "#777777";
const CARRIED: &str = "#d6006c";
const CONTROL: &str = "#8250df";
/// What was not understood.
pub(super) const PROBLEM: &str = "#cf222e";
/// Characters of such a line.
const PROBLEM_TEXT: usize = 160;
/// What only other instances have.
const POTENTIAL: &str = "#aaaaaa";
/// What ran, among what could.
const RAN: &str = "#c8551b";
/// Characters of a name that are drawn; all of them are in the tooltip.
const NAME: usize = 44;
/// Lines of text below the name that are drawn.
const TEXT: usize = 10;
/// From so many edges on, lines are straight and the layout searches less: it would take minutes.
const LARGE: usize = 400;

pub(super) fn colour(via: Via) -> &'static str {
    match via {
        Via::Register => "#7a3fa0",
        Via::Stack => "#1f6fb4",
        Via::Heap => "#c8551b",
        Via::Global => "#2b8a3e",
        Via::Constant => "#8a7a1f",
        Via::Mmio => "#c2185b",
        Via::Other => "#555555",
    }
}

fn change_colour(change: Change) -> &'static str {
    match change {
        Change::Same => "#999999",
        Change::Added => "#1a7f37",
        Change::Gone => "#cf222e",
        Change::Grown => "#9a6700",
        Change::Shrunk => "#0969da",
    }
}

/// ` (was 80 B, +25 %)` of an edge that was compared with another run.
fn was(edge: &Edge, now: i64, shown: impl Fn(i64) -> String) -> String {
    match (edge.change, edge.before) {
        (Change::Grown | Change::Shrunk, Some(before)) => {
            let by = growth(before, now).map_or(String::new(), |by| format!(", {by:+.0} %"));
            format!("&#160;(was {}{by})", shown(before))
        }
        (Change::Same, _) => String::new(),
        (change, _) => format!("&#160;{}", change.name()),
    }
}

/// A quoted string without an escape sequence or entity of Graphviz's.
fn quoted(text: &str) -> Id {
    Id::Plain(quoted_text(text))
}

/// [`quoted`] as text.
pub(super) fn quoted_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in drawn(text).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Text within an HTML-like label; for nothing a space, since Graphviz takes no empty elements.
pub(super) fn html(text: &str) -> String {
    if text.is_empty() {
        return "&#160;".into();
    }
    let mut out = String::with_capacity(text.len());
    for c in drawn(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

fn small(text: &str) -> String {
    format!("<FONT POINT-SIZE=\"9\">{}</FONT>", html(text))
}

fn attribute(name: &str, value: &str) -> Attribute {
    Attribute(Id::Plain(name.into()), quoted(value))
}

/// An HTML-like label of text that is escaped already.
fn label(lines: &[String]) -> Attribute {
    Attribute(Id::Plain("label".into()), Id::Html(format!("<{}>", lines.join("<BR/>"))))
}

fn calls(count: i64) -> String {
    format!("{} call{}", human_count(count), if count == 1 { "" } else { "s" })
}

fn node_label(node: &Node, graph: &Graph) -> Attribute {
    let (level, steps, unit) = (graph.level, graph.steps, graph.unit);
    let path =
        matches!(node.kind, NodeKind::File | NodeKind::Image) && node.name.starts_with(['/', '\\']);
    let name = if path { tail(&node.name) } else { node.name.clone() };
    let limit = if node.kind == NodeKind::Context { 2 * NAME } else { NAME };
    let mut lines = vec![format!("<B>{}</B>", html(&shorten(&name, limit)))];
    if node.kind == NodeKind::Pseudo {
        return label(&lines);
    }
    lines.extend(node.text.iter().take(TEXT).map(|t| small(&shorten(t, NAME))));
    if matches!(node.kind, NodeKind::Step | NodeKind::Memory) {
        return label(&lines);
    }
    let mut figures = Vec::new();
    if let Some(own) = node.steps_self {
        let total = node.steps_total.filter(|&t| t > own);
        let what = if total.is_some() { "self".to_owned() } else { format!("of {unit}") };
        figures.extend(percent(own, steps).map(|p| format!("{p} {what}")));
        figures.extend(total.and_then(|t| percent(t, steps)).map(|p| format!("{p} with callees")));
        lines.push(small(&figures.join(", ")));
    }
    let mut figures = Vec::new();
    if node.members == 0 {
        figures.push("sources of bytes that no step wrote".to_owned());
    } else if node.members != 1 || matches!(node.kind, NodeKind::File | NodeKind::Image) {
        let what = level.member();
        figures.push(format!(
            "{} {what}{}",
            human_count(node.members as i64),
            if node.members == 1 { "" } else { "s" }
        ));
    } else if node.calls > 0 && node.kind != NodeKind::Instance {
        figures.push(calls(node.calls));
    }
    if node.local_bytes() > 0 {
        let carried = if node.carried > 0 {
            format!(" ({} carried)", graph.amount(node.carried))
        } else {
            String::new()
        };
        let unit = match (graph.dependences, node.local_bytes()) {
            (false, _) => "",
            (true, 1) => " dependence",
            (true, _) => " dependences",
        };
        figures.push(format!("local {}{unit}{carried}", graph.amount(node.local_bytes())));
    }
    if !figures.is_empty() {
        lines.push(small(&figures.join(", ")));
    }
    label(&lines)
}

fn node_tooltip(node: &Node, graph: &Graph) -> String {
    let unit = graph.unit;
    let mut text = node.name.clone();
    for line in &node.text {
        text += &format!("; {line}");
    }
    if let Some(function) = &node.function {
        text += &format!(" in {function}");
    }
    if let Some(file) = &node.file {
        text += &format!(" in {file}");
    }
    if let Some(steps) = node.steps_self {
        text += &format!(": {steps} {unit} of its own");
    }
    if let Some(total) = node.steps_total {
        text += &format!(", {total} with callees");
    }
    if !node.local.is_empty() {
        text += &format!("; local {}", split(&node.local, graph));
    }
    text
}

/// White to orange by share of the steps.
fn fill(node: &Node, steps: i64) -> String {
    let own = node.steps_self.unwrap_or(0);
    let share = if steps > 0 { (own as f64 / steps as f64).clamp(0.0, 1.0).sqrt() } else { 0.0 };
    let mix = |from: f64, to: f64| (from + (to - from) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(255.0, 240.0), mix(255.0, 140.0), mix(255.0, 60.0))
}

fn node_statement(graph: &Graph, index: NodeIndex) -> Stmt {
    let node = &graph.graph[index];
    let mut attributes =
        vec![node_label(node, graph), attribute("tooltip", &node_tooltip(node, graph))];
    let fill = fill(node, graph.steps);
    let (shape, style, fill) = match node.kind {
        NodeKind::Function | NodeKind::Instance => (None, None, fill.as_str()),
        NodeKind::Step | NodeKind::Instruction | NodeKind::Block => {
            (None, Some("filled"), fill.as_str())
        }
        NodeKind::Line | NodeKind::Inlined | NodeKind::Context => (None, None, fill.as_str()),
        NodeKind::Loop => (None, Some("filled,rounded,bold"), fill.as_str()),
        NodeKind::Thread => (Some("component"), Some("filled"), fill.as_str()),
        NodeKind::File | NodeKind::Image | NodeKind::Group => {
            (Some("folder"), Some("filled"), fill.as_str())
        }
        NodeKind::Stub => (None, Some("filled,rounded,dotted"), "#f4f4f4"),
        NodeKind::Pseudo | NodeKind::Memory => (Some("cylinder"), Some("filled"), "#e8f0f8"),
        NodeKind::Others => (None, Some("filled,rounded,dashed"), "#eeeeee"),
    };
    attributes.extend(shape.map(|s| attribute("shape", s)));
    attributes.extend(style.map(|s| attribute("style", s)));
    attributes.push(attribute("fillcolor", fill));
    if node.change != Change::Same {
        attributes.push(attribute("color", change_colour(node.change)));
        attributes.push(attribute("penwidth", "2.5"));
    }
    match node.ran {
        Some(true) => attributes.extend([attribute("color", RAN), attribute("penwidth", "2")]),
        Some(false) => attributes.extend([attribute("color", GREY), attribute("fontcolor", GREY)]),
        None => {}
    }
    if graph.focus == Some(index) {
        attributes.push(attribute("penwidth", "3"));
    }
    Stmt::Node(DotNode { id: dot_id(index), attributes })
}

fn dot_id(index: NodeIndex) -> NodeId {
    NodeId(Id::Plain(format!("n{}", index.index())), None)
}

/// `register 1.1 KiB, heap 11.2 KiB`, the largest first.
fn split(flows: &[Flow], graph: &Graph) -> String {
    let via = |f: &Flow| if graph.dependences { "dependences" } else { f.via.name() };
    largest_first(flows)
        .iter()
        .map(|f| format!("{} {}", via(f), graph.amount(f.bytes)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn largest_first(flows: &[Flow]) -> Vec<Flow> {
    let mut flows = flows.to_vec();
    flows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.via.cmp(&b.via)));
    flows
}

fn data_tooltip(from: &Node, to: &Node, flows: &[Flow], graph: &Graph) -> String {
    let mut text = format!("{} to {}:", from.name, to.name);
    if graph.dependences {
        return text + &format!(" {} dependences", flows.iter().map(|f| f.bytes).sum::<i64>());
    }
    for (i, f) in largest_first(flows).iter().enumerate() {
        let of_memory = is_of_memory(from, to);
        let via = if of_memory { String::new() } else { format!(" {}", f.via.name()) };
        text += &format!("{}{via} {} bytes", if i > 0 { ";" } else { "" }, f.bytes);
        for (n, what) in [
            (f.transfers, if of_memory { "accesses" } else { "transfers" }),
            (f.unique_bytes, "unique bytes"),
            (f.addresses, "addresses"),
        ] {
            if let Some(n) = n {
                text += &format!(", {n} {what}");
            }
        }
    }
    text
}

/// `upward`: the end that the edge points to is drawn above the other one.
fn edge_statement(graph: &Graph, a: NodeIndex, b: NodeIndex, edge: &Edge, upward: bool) -> Stmt {
    let (from, to) = (&graph.graph[a], &graph.graph[b]);
    let arrow = if upward { "arrowtail" } else { "arrowhead" };
    let mut attributes = match &edge.kind {
        EdgeKind::Call { calls, steps } => call_attributes(graph, from, to, edge, (*calls, *steps)),
        EdgeKind::Data(flows) => data_attributes(graph, from, to, edge, flows, arrow),
        EdgeKind::Control => vec![
            attribute("style", "dotted"),
            attribute("color", CONTROL),
            attribute(arrow, "odot"),
            attribute("tooltip", &format!("{} decides whether {} runs", from.name, to.name)),
        ],
        EdgeKind::Jump { count } => jump_attributes(from, to, edge, *count),
    };
    let (top, bottom) = if upward { (b, a) } else { (a, b) };
    if upward {
        attributes.push(attribute("dir", "back"));
    }
    Stmt::Edge(DotEdge {
        ty: EdgeTy::Pair(Vertex::N(dot_id(top)), Vertex::N(dot_id(bottom))),
        attributes,
    })
}

fn call_attributes(
    graph: &Graph,
    from: &Node,
    to: &Node,
    edge: &Edge,
    (count, steps): (i64, Option<i64>),
) -> Vec<Attribute> {
    let ink = if edge.potential { POTENTIAL } else { "#222222" };
    let ink = if edge.is_compared() { change_colour(edge.change) } else { ink };
    let below = steps.map_or(String::new(), |s| format!(", {s} {}", graph.unit));
    let text = format!("{}×{}", human_count(count), was(edge, count, human_count));
    let tooltip = format!("{} calls {}: {count} times{below}", from.name, to.name);
    vec![
        label(&[format!("<FONT COLOR=\"{ink}\">{text}</FONT>")]),
        attribute("color", ink),
        attribute("tooltip", &tooltip),
    ]
}

/// Whether an edge is of what a function loads or stores: then the memory says what it goes through.
fn is_of_memory(from: &Node, to: &Node) -> bool {
    [from, to].iter().any(|node| node.kind == NodeKind::Memory)
}

fn data_attributes(
    graph: &Graph,
    from: &Node,
    to: &Node,
    edge: &Edge,
    flows: &[Flow],
    arrow: &str,
) -> Vec<Attribute> {
    let flows = largest_first(flows);
    let bytes = edge.bytes();
    let ink = |via| match edge.change {
        _ if edge.potential => POTENTIAL,
        // Colours mean one thing in a picture.
        change if edge.is_compared() => change_colour(change),
        _ => colour(via),
    };
    let part = |f: &Flow, text: String| format!("<FONT COLOR=\"{}\">{text}</FONT>", ink(f.via));
    let (amount, was) = (graph.amount(bytes), was(edge, bytes, |n| graph.amount(n)));
    let mut lines = match &flows[..] {
        [one] if graph.dependences || is_of_memory(from, to) => {
            vec![part(one, format!("<B>{amount}</B>{was}"))]
        }
        [one] => vec![part(one, format!("<B>{amount}</B>&#160;{}{was}", one.via.name()))],
        _ => {
            let whole = |f: &Flow| part(f, format!("<B>{amount}</B>{was}"));
            let mut lines = vec![flows.first().map_or(String::new(), whole)];
            lines.extend(
                flows
                    .iter()
                    .map(|f| part(f, format!("{} {}", f.via.name(), graph.amount(f.bytes)))),
            );
            lines
        }
    };
    if edge.carried > 0 {
        let carried = graph.amount(edge.carried);
        lines.push(format!("<FONT COLOR=\"{CARRIED}\"><B>↻ {carried} carried</B></FONT>"));
    }
    let ink = if edge.carried > 0 { CARRIED } else { flows.first().map_or(GREY, |f| ink(f.via)) };
    // One point for a byte, four for a gibibyte.
    let width = 1.0 + (bytes.max(1) as f64).log2() / 10.0;
    vec![
        label(&lines),
        attribute("style", "dashed"),
        // A cycle of data: hollow arrow.
        attribute(arrow, if edge.cycle { "onormal" } else { "vee" }),
        attribute("color", ink),
        attribute("penwidth", &format!("{width:.1}")),
        attribute("tooltip", &data_tooltip(from, to, &flows, graph)),
    ]
}

fn jump_attributes(from: &Node, to: &Node, edge: &Edge, count: i64) -> Vec<Attribute> {
    let went = format!("control went from {} to {} {count} times", from.name, to.name);
    let shown = human_count(count);
    let Some(ran) = edge.ran else {
        return vec![
            label(&[format!("<FONT COLOR=\"{GREY}\">{shown}</FONT>")]),
            attribute("color", GREY),
            attribute("arrowsize", "0.5"),
            attribute("tooltip", &went),
        ];
    };
    let mut list = vec![
        attribute("color", if ran { RAN } else { GREY }),
        attribute("penwidth", if ran { "2" } else { "1" }),
        attribute("style", if ran { "solid" } else { "dotted" }),
        attribute("tooltip", &format!("{went} in known paths")),
    ];
    if ran {
        list.push(label(&[format!("<FONT COLOR=\"{RAN}\">{shown}×</FONT>")]));
    }
    list
}

/// An order of the nodes from the top to the bottom of the picture: sources of data that no step
/// wrote, then callers before callees (without calls, writers before readers), the others last.
fn vertical_order(graph: &Graph) -> Vec<usize> {
    let edges = graph.edges();
    let kind = |i: NodeIndex| graph.graph[i].kind;
    let any_calls = edges.iter().any(|e| matches!(e.2.kind, EdgeKind::Call { .. }));
    let count = graph.graph.node_count();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut has_above = vec![false; count];
    for (a, b, edge) in &edges {
        let counts = matches!(edge.kind, EdgeKind::Call { .. }) == any_calls;
        if counts && a != b && kind(*a) != NodeKind::Others && kind(*b) != NodeKind::Others {
            below[a.index()].push(b.index());
            has_above[b.index()] = true;
        }
    }
    // Reverse post-order of a depth-first search, last children first: node numbers follow the
    // order of first steps, and so shall what one node calls from top to bottom.
    below.iter_mut().for_each(|list| list.reverse());
    let mut finished = Vec::with_capacity(count);
    let mut seen = vec![false; count];
    for root in (0..count)
        .rev()
        .filter(|&n| !has_above[n])
        .chain((0..count).rev().filter(|&n| has_above[n]))
    {
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.pop() {
            if next == 0 && std::mem::replace(&mut seen[node], true) {
                continue;
            }
            match below[node].get(next) {
                Some(&child) => {
                    stack.push((node, next + 1));
                    if !seen[child] {
                        stack.push((child, 0));
                    }
                }
                None => finished.push(node),
            }
        }
    }
    let mut order = vec![0; count];
    for (position, node) in finished.into_iter().rev().enumerate() {
        order[node] = match graph.graph[NodeIndex::new(node)].kind {
            NodeKind::Pseudo => 0,
            NodeKind::Others => 2 * count,
            _ => 1 + position,
        };
    }
    order
}

/// What the nodes are.
fn nodes(level: Level) -> &'static str {
    match level {
        Level::Step => "Steps",
        Level::Instruction => "Instructions",
        Level::Block => "Basic blocks",
        Level::Line => "Source lines",
        Level::Loop => "Loops",
        Level::Inlined => "Inlined functions",
        Level::Instance => "Call instances",
        Level::Context => "Calling contexts",
        Level::Function => "Functions",
        Level::File => "Source files",
        Level::Image => "Images",
        Level::Thread => "Threads",
    }
}

/// What lines and colours mean.
fn legend(graph: &Graph) -> Vec<String> {
    let edges = graph.edges();
    let any = |kind| graph.graph.node_weights().any(|n| n.kind == kind);
    let mut legend = Vec::new();
    if edges.iter().any(|e| matches!(e.2.kind, EdgeKind::Call { .. })) {
        legend.push("Solid: calls.".to_owned());
    }
    let mut via: Vec<Via> = edges
        .iter()
        .flat_map(|e| if let EdgeKind::Data(flows) = &e.2.kind { flows.as_slice() } else { &[] })
        .map(|f| f.via)
        .collect();
    via.sort();
    via.dedup();
    if !via.is_empty() && graph.dependences {
        legend.push("Dashed: data dependences, writer to reader.".to_owned());
    } else if !via.is_empty() {
        let names: Vec<_> = via
            .iter()
            .map(|v| format!("<FONT COLOR=\"{}\"><B>{}</B></FONT>", colour(*v), v.name()))
            .collect();
        let through = if edges.iter().any(|e| e.2.is_compared()) {
            String::new()
        } else {
            format!(" through {}", names.join(", "))
        };
        legend.push(match any(NodeKind::Memory) {
            true => "Dashed: bytes stored there, and loaded from there.".to_owned(),
            false => format!("Dashed: bytes from writer to reader{through}."),
        });
    }
    if edges.iter().any(|e| e.2.ran.is_some()) {
        legend.push(format!("<FONT COLOR=\"{RAN}\"><B>Bold</B></FONT>: in a path that ran. Grey: in none that is known."));
    } else if edges.iter().any(|e| matches!(e.2.kind, EdgeKind::Jump { .. })) {
        legend.push("Thin grey: control flow.".to_owned());
    }
    if edges.iter().any(|e| e.2.kind == EdgeKind::Control) {
        legend.push(format!("<FONT COLOR=\"{CONTROL}\">Dotted</FONT>: decides whether it runs."));
    }
    if edges.iter().any(|e| e.2.carried > 0) {
        legend.push(format!("<FONT COLOR=\"{CARRIED}\"><B>↻</B></FONT>: from one iteration of a loop to a later one."));
    }
    if edges.iter().any(|e| e.2.cycle) {
        legend.push("Hollow arrow: part of a cycle of data.".to_owned());
    }
    let changes: BTreeSet<Change> = edges
        .iter()
        .map(|e| e.2.change)
        .chain(graph.graph.node_weights().map(|n| n.change))
        .filter(|&c| c != Change::Same)
        .collect();
    if !changes.is_empty() {
        let names: Vec<_> = changes
            .iter()
            .map(|&c| format!("<FONT COLOR=\"{}\"><B>{}</B></FONT>", change_colour(c), c.name()))
            .collect();
        let same = format!("<FONT COLOR=\"{}\">the same</FONT>", change_colour(Change::Same));
        legend.push(format!("Against the first: {}, {same}.", names.join(", ")));
    }
    if any(NodeKind::Pseudo) {
        legend.push("Cylinder: bytes that no step wrote.".to_owned());
    }
    if any(NodeKind::Memory) {
        legend.push("Cylinder: a memory or device.".to_owned());
    }
    if edges.iter().any(|e| e.2.potential) {
        legend.push("Grey: in other instances only.".to_owned());
    }
    legend
}

/// What the picture shows and what it does not, below it.
fn caption(graph: &Graph) -> Attribute {
    let mut lines = Vec::new();
    let what = graph.title.as_deref().map_or(nodes(graph.level).to_owned(), html);
    let steps = if graph.steps > 0 {
        format!(" in {} {}", human_count(graph.steps), graph.unit)
    } else {
        String::new()
    };
    let around = graph.focus.map_or(String::new(), |f| {
        let instance = graph.instance.map_or(String::new(), |i| format!("#{i}"));
        format!(" around <B>{}{instance}</B>", html(&shorten(&graph.graph[f].name, NAME)))
    });
    let orange = if graph.steps > 0 && graph.level != Level::Step {
        format!(" Orange: share of the {}.", graph.unit)
    } else {
        String::new()
    };
    lines.push(format!("{what}{steps}{around}.{orange}"));
    let legend = legend(graph);
    if !legend.is_empty() {
        lines.push(legend.join(" "));
    }
    lines.extend(graph.problems.iter().map(|p| {
        format!("<FONT COLOR=\"{PROBLEM}\"><B>{}</B></FONT>", html(&shorten(p, PROBLEM_TEXT)))
    }));
    lines.extend(graph.left_out.iter().map(|l| format!("Not drawn: {}.", html(l))));
    lines.extend(graph.notes.iter().map(|n| format!("<B>{}</B>", html(n))));
    let cells: String =
        lines.iter().map(|l| format!("<TR><TD ALIGN=\"LEFT\">{l}</TD></TR>")).collect();
    let table = format!(
        "<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLPADDING=\"1\" CELLSPACING=\"0\">{cells}</TABLE>>"
    );
    Attribute(Id::Plain("label".into()), Id::Html(table))
}

/// The last two parts of a path, enough to tell files apart.
fn tail(path: &str) -> String {
    let parts: Vec<&str> = path.rsplit(['/', '\\']).take(2).collect();
    match parts[..] {
        [file, folder] if !folder.is_empty() => format!("{folder}/{file}"),
        [file, ..] => file.to_owned(),
        [] => String::new(),
    }
}

/// The graph as it is: every edge from caller to callee, from writer to reader.
pub fn render(graph: &Graph) -> String {
    write(graph, false)
}

/// The same picture for `dot` to lay out. It breaks cycles where it happens to find them, which
/// turns call trees upside down; here the edges that go upwards are written from their upper end,
/// with the arrow at the other.
pub fn render_for_layout(graph: &Graph) -> String {
    write(graph, true)
}

/// The looks of all that does not say otherwise.
fn style(graph: &Graph, edges: usize) -> Vec<Stmt> {
    let font = attribute("fontname", FONT);
    let mut whole = vec![
        font.clone(),
        attribute("fontsize", "10"),
        caption(graph),
        attribute("labelloc", "b"),
        attribute("labeljust", "l"),
        attribute("nodesep", "0.3"),
        attribute("ranksep", "0.45"),
    ];
    if edges > LARGE {
        whole.extend([
            attribute("splines", "line"),
            attribute("nslimit", "1"),
            attribute("nslimit1", "1"),
            attribute("mclimit", "0.2"),
        ]);
    }
    vec![
        Stmt::GAttribute(GraphAttributes::Graph(whole)),
        Stmt::GAttribute(GraphAttributes::Node(vec![
            font.clone(),
            attribute("fontsize", "11"),
            attribute("shape", "box"),
            attribute("style", "filled,rounded"),
            attribute("fillcolor", "#ffffff"),
            attribute("color", "#555555"),
            attribute("margin", "0.1,0.05"),
        ])),
        Stmt::GAttribute(GraphAttributes::Edge(vec![
            font,
            attribute("fontsize", "9"),
            attribute("color", "#222222"),
            attribute("arrowsize", "0.7"),
        ])),
    ]
}

fn write(graph: &Graph, for_layout: bool) -> String {
    let edges = graph.edges();
    let mut statements = style(graph, edges.len());
    let images: BTreeSet<&str> =
        graph.graph.node_weights().filter_map(|n| n.image.as_deref()).collect();
    let mut clusters: BTreeMap<Option<&str>, Vec<NodeIndex>> = BTreeMap::new();
    for index in graph.graph.node_indices() {
        let node = &graph.graph[index];
        let image =
            node.image.as_deref().filter(|_| images.len() > 1 && node.kind != NodeKind::Image);
        let frame = node.function.as_deref().or(node.file.as_deref()).or(image);
        clusters.entry(frame).or_default().push(index);
    }
    let functions: BTreeSet<&str> =
        graph.graph.node_weights().filter_map(|n| n.function.as_deref()).collect();
    let several = clusters.keys().flatten().count() > 1 || !functions.is_empty();
    for (number, (file, members)) in clusters.into_iter().enumerate() {
        let nodes = members.into_iter().map(|i| node_statement(graph, i));
        match file {
            Some(file) if several => {
                let mut inner = vec![Stmt::GAttribute(GraphAttributes::Graph(vec![
                    label(&[format!(
                        "<FONT COLOR=\"{GREY}\">{}</FONT>",
                        html(&shorten(
                            &if functions.contains(file) { file.to_owned() } else { tail(file) },
                            NAME
                        ))
                    )]),
                    attribute("tooltip", file),
                    attribute("labelloc", "t"),
                    attribute("labeljust", "l"),
                    attribute("style", "rounded,filled"),
                    attribute("fillcolor", "#fafafa"),
                    attribute("color", "#cccccc"),
                ]))];
                inner.extend(nodes);
                statements.push(Stmt::Subgraph(Subgraph {
                    id: Id::Plain(format!("cluster_{number}")),
                    stmts: inner,
                }));
            }
            _ => statements.extend(nodes),
        }
    }
    let order = if for_layout { vertical_order(graph) } else { Vec::new() };
    let upward = |a: NodeIndex, b: NodeIndex| for_layout && order[a.index()] > order[b.index()];
    statements
        .extend(edges.iter().map(|&(a, b, edge)| edge_statement(graph, a, b, edge, upward(a, b))));
    let dot = DotGraph::DiGraph { id: Id::Plain("addfg".into()), strict: false, stmts: statements };
    let mut text = dot.print(&mut PrinterContext::default());
    text.push('\n');
    text
}
