//! Labels are moved along their lines to where nothing else is.

use super::crossings::{Area, Drawn, Layout, Point, goes_through};

/// What it costs to stand on a box or a label, on another line, on its own line; and a point away from
/// where `dot` put it.
const COVERED: f64 = 20.0;
const CROSSED: f64 = 10.0;
const ON_ITS_LINE: f64 = 9.0;
const AWAY: f64 = 1.0 / 60.0;
/// Points between a line and its label.
const GAP: f64 = 3.0;
/// Rounds in which each label looks for a better place.
const ROUNDS: usize = 2;

/// Moves them. Boxes and lines stay.
pub fn spread(layout: &mut Layout) {
    for _ in 0..ROUNDS {
        for i in 0..layout.lines.len() {
            let Some(now) = layout.lines[i].label else { continue };
            let cost = |at: Point| cost(layout, i, Area { middle: at, ..now }, now.middle);
            let places = places(&layout.lines[i], now.half);
            let best = places.into_iter().map(|at| (cost(at), at));
            let best = best.min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((_, middle)) = best.filter(|b| b.0 + 0.5 < cost(now.middle)) {
                layout.lines[i].label = Some(Area { middle, ..now });
            }
        }
    }
}

/// On both sides of the line, above it and below it.
fn places(line: &Drawn, half: Point) -> Vec<Point> {
    let inner = line.points.len() / 8..line.points.len() - line.points.len() / 8;
    let (x, y) = (half.0 + line.thick + GAP, half.1 + line.thick + GAP);
    let beside = |&(a, b): &Point| [(a + x, b), (a - x, b), (a, b + y), (a, b - y)];
    line.points[inner].iter().flat_map(beside).collect()
}

fn cost(layout: &Layout, own: usize, area: Area, from: Point) -> f64 {
    let mut sum = AWAY * (area.middle.0 - from.0).hypot(area.middle.1 - from.1);
    let covers = layout.boxes.iter().filter(|b| b.area.half.0 > 0.0 && b.area.meets(area));
    sum += COVERED * covers.count() as f64;
    for (i, line) in layout.lines.iter().enumerate() {
        if i == own {
            sum += if goes_through(line, area) { ON_ITS_LINE } else { 0.0 };
            continue;
        }
        sum += if goes_through(line, area) { CROSSED } else { 0.0 };
        sum += if line.label.is_some_and(|l| l.meets(area)) { COVERED } else { 0.0 };
    }
    let inside = area.middle.0 > area.half.0 && area.middle.0 + area.half.0 < layout.size.0;
    sum + if inside { 0.0 } else { COVERED }
}
