//! What makes a layout hard to read: lines that cross, and lines through labels. From `dot -Tjson0`.

use serde_json::Value;

/// The fewer the better, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Faults {
    /// Lines that cross, and twice the labels that a line goes through.
    pub seen: usize,
    /// Points of the picture's outline.
    pub size: i64,
}

pub type Point = (f64, f64);

/// A rectangle: its middle, and half of its sides.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    pub middle: Point,
    pub half: Point,
}

impl Area {
    pub fn holds(self, p: Point) -> bool {
        (p.0 - self.middle.0).abs() < self.half.0 && (p.1 - self.middle.1).abs() < self.half.1
    }

    pub fn meets(self, other: Area) -> bool {
        let half = (self.half.0 + other.half.0, self.half.1 + other.half.1);
        Area { middle: other.middle, half }.holds(self.middle)
    }
}

/// A box of a layout.
pub struct Placed {
    pub name: String,
    /// As Graphviz says it.
    pub position: String,
    pub area: Area,
}

/// A line of a layout.
pub struct Drawn {
    /// Places of its boxes.
    pub ends: [usize; 2],
    /// As Graphviz says it.
    pub position: String,
    pub points: Vec<Point>,
    /// What holds the points.
    pub bounds: Area,
    /// Half of how thick it is.
    pub thick: f64,
    pub label: Option<Area>,
}

/// What `dot` laid out.
#[derive(Default)]
pub struct Layout {
    pub boxes: Vec<Placed>,
    pub lines: Vec<Drawn>,
    pub size: Point,
}

/// Points of a curve between two of its given ones.
const PIECES: usize = 8;

/// Points that a character of a label is wide, and a space that does not break; and that a line is high.
const WIDE: f64 = 5.8;
const SPACE: f64 = 3.1;
const HIGH: f64 = 13.5;

fn point(text: &str) -> Option<Point> {
    let (x, y) = text.split_once(',')?;
    Some((x.parse().ok()?, y.parse().ok()?))
}

/// A spline of Graphviz's (`e,X,Y X,Y X,Y ...`) as a line of points.
fn spline(text: &str) -> Vec<Point> {
    let plain = text.split([' ', ';']).filter(|t| !t.starts_with(['e', 's']));
    let given: Vec<Point> = plain.filter_map(point).collect();
    let mut points = Vec::new();
    for piece in given.windows(4).step_by(3) {
        for i in 0..=PIECES {
            let t = i as f64 / PIECES as f64;
            let u = 1.0 - t;
            let weights = [u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t];
            let sum =
                |of: fn(&Point) -> f64| piece.iter().zip(weights).map(|(p, w)| of(p) * w).sum();
            points.push((sum(|p| p.0), sum(|p| p.1)));
        }
    }
    points
}

/// Half the width and height of an HTML-like label, by its characters.
fn extent(label: &str) -> Point {
    let (mut widest, mut lines, mut width, mut hidden) = (0.0, 1.0, 0.0, false);
    for part in label.split_inclusive(['<', '>', ';', '&']) {
        // What a bracket or an ampersand begins is no text; an entity is a space.
        let text = part.trim_end_matches(['<', '>', ';', '&']);
        match (hidden, text) {
            (true, "BR/") => (width, lines) = (0.0, lines + 1.0),
            (true, _) if text.starts_with('#') => width += SPACE,
            (true, _) => {}
            (false, _) => width += WIDE * text.chars().count() as f64,
        }
        hidden = part.ends_with(['<', '&']);
        widest = f64::max(widest, width);
    }
    (widest / 2.0, lines * HIGH / 2.0)
}

/// The layout that `dot` wrote as JSON.
pub fn read(json: &[u8]) -> Layout {
    let Ok(picture) = serde_json::from_slice::<Value>(json) else { return Layout::default() };
    let text = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let number = |of: &Value, key: &str| text(of, key).parse::<f64>().unwrap_or(0.0);
    let mut found = Layout::default();
    // Subgraphs are objects, too.
    for object in picture["objects"].as_array().into_iter().flatten() {
        let half = (36.0 * number(object, "width"), 36.0 * number(object, "height"));
        let (name, position) = (text(object, "name"), text(object, "pos"));
        let area = Area { middle: point(&position).unwrap_or_default(), half };
        found.boxes.push(Placed { name, position, area });
    }
    let end = |edge: &Value, key: &str| {
        edge[key].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
    };
    for edge in picture["edges"].as_array().into_iter().flatten() {
        let position = text(edge, "pos");
        let middle = edge["lp"].as_str().and_then(point);
        let half = extent(edge["label"].as_str().unwrap_or_default());
        let points = spline(&position);
        found.lines.push(Drawn {
            ends: [end(edge, "tail"), end(edge, "head")],
            bounds: bounds(&points),
            points,
            position,
            thick: number(edge, "penwidth") / 2.0,
            label: middle.map(|middle| Area { middle, half }),
        });
    }
    let bounds = picture["bb"].as_str().unwrap_or_default().splitn(3, ',').nth(2).and_then(point);
    found.size = bounds.unwrap_or_default();
    found
}

/// The smallest rectangle that holds all points, and a little more, as what lies on a border may be
/// rounded across it.
fn bounds(points: &[Point]) -> Area {
    const MORE: f64 = 1e-6;
    let side = |of: fn(&Point) -> f64| {
        let least = points.iter().map(of).fold(f64::INFINITY, f64::min);
        let most = points.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        ((least + most) / 2.0, (most - least) / 2.0 + MORE)
    };
    let (x, y) = (side(|p| p.0), side(|p| p.1));
    Area { middle: (x.0, y.0), half: (x.1, y.1) }
}

fn meet(a: &[Point], b: &[Point]) -> bool {
    let side = |p: Point, q: Point, r: Point| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    a.windows(2).any(|s| {
        b.windows(2).any(|t| {
            side(s[0], s[1], t[0]) * side(s[0], s[1], t[1]) < 0.0
                && side(t[0], t[1], s[0]) * side(t[0], t[1], s[1]) < 0.0
        })
    })
}

/// Whether a line goes through an area.
pub fn goes_through(line: &Drawn, area: Area) -> bool {
    let half = (area.half.0 + line.thick, area.half.1 + line.thick);
    let wide = Area { half, ..area };
    if !line.bounds.meets(wide) {
        return false;
    }
    // A long piece may have both ends outside.
    let pieces = |p: &[Point]| {
        if !bounds(p).meets(wide) {
            return false;
        }
        let steps = ((p[1].0 - p[0].0).hypot(p[1].1 - p[0].1) / 4.0).ceil().max(1.0) as usize;
        (0..=steps).any(|i| {
            let t = i as f64 / steps as f64;
            wide.holds((p[0].0 + t * (p[1].0 - p[0].0), p[0].1 + t * (p[1].1 - p[0].1)))
        })
    };
    line.points.windows(2).any(pieces)
}

/// Counts them.
pub fn faults(layout: &Layout) -> Faults {
    let mut seen = 0;
    for (i, a) in layout.lines.iter().enumerate() {
        for (k, b) in layout.lines.iter().enumerate() {
            seen += usize::from(k > i && meet(&a.points, &b.points));
            seen += 2 * usize::from(k != i && a.label.is_some_and(|area| goes_through(b, area)));
        }
    }
    // As it would be on a screen of 16 by 10.
    Faults { seen, size: f64::max(layout.size.0, 1.6 * layout.size.1) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_cross_are_counted() {
        let json = br#"{"bb": "0,0,100,50", "edges": [
            {"tail": 0, "head": 1, "pos": "e,9,9 0,0 3,3 6,6 9,9"},
            {"tail": 2, "head": 3, "pos": "0,9 3,6 6,3 9,0.5", "lp": "80,40"}]}"#;
        assert_eq!(faults(&read(json)), Faults { seen: 1, size: 100 });
    }

    #[test]
    fn labels_are_measured_without_their_marks() {
        let label = "<FONT COLOR=\"red\">&#160;&#160;<B>12 KiB</B><BR/>&#160;&#160;3 B</FONT>";
        assert_eq!(extent(label), ((6.0 * WIDE + 2.0 * SPACE) / 2.0, HIGH));
    }
}
