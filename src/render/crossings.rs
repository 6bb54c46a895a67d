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

type Point = (f64, f64);

struct Drawn {
    ends: [u64; 2],
    points: Vec<Point>,
    label: Option<Point>,
    /// Half of the label's height.
    high: f64,
}

/// Points of a curve between two of its given ones.
const PIECES: usize = 8;

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

fn meet(a: &[Point], b: &[Point]) -> bool {
    let side = |p: Point, q: Point, r: Point| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    a.windows(2).any(|s| {
        b.windows(2).any(|t| {
            side(s[0], s[1], t[0]) * side(s[0], s[1], t[1]) < 0.0
                && side(t[0], t[1], s[0]) * side(t[0], t[1], s[1]) < 0.0
        })
    })
}

/// Counts them in the JSON that `dot` made.
pub fn faults(json: &[u8]) -> Faults {
    let Ok(picture) = serde_json::from_slice::<Value>(json) else { return Faults::default() };
    let mut lines = Vec::new();
    for edge in picture["edges"].as_array().into_iter().flatten() {
        lines.push(Drawn {
            ends: [edge["tail"].as_u64().unwrap_or(0), edge["head"].as_u64().unwrap_or(0)],
            points: spline(edge["pos"].as_str().unwrap_or_default()),
            label: edge["lp"].as_str().and_then(point),
            high: if edge["label"].as_str().is_some_and(|l| l.contains("<BR/>")) {
                16.0
            } else {
                9.0
            },
        });
    }
    let mut seen = 0;
    for (i, a) in lines.iter().enumerate() {
        for b in &lines[i + 1..] {
            seen += usize::from(meet(&a.points, &b.points));
        }
        let Some((x, y)) = a.label else { continue };
        let hit = |p: &Point| (p.0 - x).abs() < 30.0 && (p.1 - y).abs() < a.high;
        let others = lines.iter().filter(|b| b.ends != a.ends || b.label != a.label);
        seen += 2 * others.filter(|b| b.points.iter().any(hit)).count();
    }
    let bounds = picture["bb"].as_str().unwrap_or_default().splitn(3, ',').nth(2).and_then(point);
    // As it would be on a screen of 16 by 10.
    let size = bounds.map_or(0, |(w, h)| f64::max(w, 1.6 * h) as i64);
    Faults { seen, size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_cross_are_counted() {
        let json = br#"{"bb": "0,0,100,50", "edges": [
            {"tail": 0, "head": 1, "pos": "e,9,9 0,0 3,3 6,6 9,9"},
            {"tail": 2, "head": 3, "pos": "0,9 3,6 6,3 9,0.5", "lp": "80,40"}]}"#;
        assert_eq!(faults(json), Faults { seen: 1, size: 100 });
    }
}
