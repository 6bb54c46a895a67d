//! Labels are moved along their lines to where nothing else is; one that has no such place is left out.

use super::crossings::{Area, Drawn, Layout, Point, goes_through};

/// What it costs to stand on a box or a label, on another line, on its own line, nearer to another line
/// than to its own; a point away from where `dot` put it, and from its line.
const COVERED: f64 = 20.0;
/// What it costs to stand outside of the picture: more than all else.
const OUTSIDE: f64 = 1e6;
const CROSSED: f64 = 10.0;
const ON_ITS_LINE: f64 = 9.0;
const NEARER: f64 = 3.0;
const AWAY: f64 = 1.0 / 60.0;
const OFF: f64 = 1.0 / 10.0;
/// Points between a line and its label, the nearest first.
const GAPS: [f64; 4] = [3.0, 8.0, 15.0, 24.0];
/// Rounds in which each label looks for a better place.
const ROUNDS: usize = 3;

/// Moves them. Boxes and lines stay.
pub fn spread(layout: &mut Layout) {
    for _ in 0..ROUNDS {
        for i in 0..layout.lines.len() {
            let Some(now) = layout.lines[i].label else { continue };
            let cost = |at: Place| cost(layout, i, &at, now);
            let best = places(&layout.lines[i], now.half).into_iter().map(|at| (cost(at), at));
            let best = best.min_by(|a, b| a.0.total_cmp(&b.0));
            let stays = cost(Place { middle: now.middle, gap: GAPS[0] });
            if let Some((_, at)) = best.filter(|b| b.0 + 0.5 < stays) {
                layout.lines[i].label = Some(Area { middle: at.middle, ..now });
            }
        }
    }
}

/// Leaves out labels that another line goes through, or that lie on a box or a label; the thickest lines
/// keep theirs.
pub fn give_up(layout: &mut Layout) {
    let mut order: Vec<usize> = (0..layout.lines.len()).collect();
    order.sort_by(|&a, &b| layout.lines[a].thick.total_cmp(&layout.lines[b].thick));
    for i in order {
        if layout.lines[i].label.is_some_and(|area| is_covered(layout, i, area)) {
            layout.lines[i].label = None;
        }
    }
}

fn is_covered(layout: &Layout, own: usize, area: Area) -> bool {
    let by_line = |(i, line): (usize, &Drawn)| {
        i != own && (goes_through(line, area) || line.label.is_some_and(|l| l.meets(area)))
    };
    layout.lines.iter().enumerate().any(by_line) || boxes(layout, area) > 0
}

/// Boxes that an area lies on.
fn boxes(layout: &Layout, area: Area) -> usize {
    layout.boxes.iter().filter(|b| b.area.half.0 > 0.0 && b.area.meets(area)).count()
}

/// Where a label may stand: its middle, and points between it and its line.
#[derive(Clone, Copy)]
struct Place {
    middle: Point,
    gap: f64,
}

/// On both sides of the line, above it and below it.
fn places(line: &Drawn, half: Point) -> Vec<Place> {
    let inner = line.points.len() / 8..line.points.len() - line.points.len() / 8;
    let beside = |&(a, b): &Point| {
        GAPS.into_iter().flat_map(move |gap| {
            let (x, y) = (half.0 + line.thick + gap, half.1 + line.thick + gap);
            [(a + x, b), (a - x, b), (a, b + y), (a, b - y)].map(|middle| Place { middle, gap })
        })
    };
    line.points[inner].iter().flat_map(beside).collect()
}

fn cost(layout: &Layout, own: usize, at: &Place, from: Area) -> f64 {
    let area = Area { middle: at.middle, ..from };
    let away = (area.middle.0 - from.middle.0).hypot(area.middle.1 - from.middle.1);
    let mut sum = AWAY * away + OFF * (at.gap - GAPS[0]);
    sum += COVERED * boxes(layout, area) as f64;
    // Whose label it is, is seen by which line is nearest.
    let near = Area { half: (area.half.0 + at.gap, area.half.1 + at.gap), ..area };
    for (i, line) in layout.lines.iter().enumerate() {
        if i == own {
            sum += if goes_through(line, area) { ON_ITS_LINE } else { 0.0 };
            continue;
        }
        sum += if goes_through(line, area) {
            CROSSED
        } else if at.gap > GAPS[0] && goes_through(line, near) {
            NEARER
        } else {
            0.0
        };
        sum += if line.label.is_some_and(|l| l.meets(area)) { COVERED } else { 0.0 };
    }
    let within = |middle: f64, half: f64, size: f64| middle > half && middle + half < size;
    let inside = within(area.middle.0, area.half.0, layout.size.0)
        && within(area.middle.1, area.half.1, layout.size.1);
    sum + if inside { 0.0 } else { OUTSIDE }
}

#[cfg(test)]
mod tests {
    use super::super::crossings::{faults, read};
    use super::*;

    /// A label on a line that crosses moves off it; where lines are everywhere it is left out.
    #[test]
    fn labels_stand_free_or_not_at_all() {
        let line =
            |x: i32| format!(r#"{{"tail": 2, "head": 3, "pos": "{x},0 {x},60 {x},140 {x},200"}}"#);
        let labelled = r#"{"tail": 0, "head": 1, "pos": "150,0 150,60 150,140 150,200", "lp": "172,100", "label": "12 KiB", "penwidth": "2"}"#;
        let layout = |others: &[i32]| {
            let lines: Vec<String> = others.iter().map(|&x| line(x)).collect();
            let edges = [labelled.to_owned()].into_iter().chain(lines).collect::<Vec<_>>();
            read(format!(r#"{{"bb": "0,0,300,200", "edges": [{}]}}"#, edges.join(",")).as_bytes())
        };
        let mut free = layout(&[175]);
        assert_eq!(faults(&free).seen, 2);
        spread(&mut free);
        give_up(&mut free);
        assert!(free.lines[0].label.is_some_and(|area| area.middle.0 < 150.0));
        assert_eq!(faults(&free).seen, 0);
        let all: Vec<i32> = (0..30).map(|i| i * 10 + 5).collect();
        let mut full = layout(&all);
        spread(&mut full);
        give_up(&mut full);
        assert!(full.lines[0].label.is_none());
    }
}
