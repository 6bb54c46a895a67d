//! Figures over a label that is a number, as points on two logarithmic scales: a power of n is a
//! straight line, and its slope is the exponent.

use crate::render::svg::Svg;
use crate::text::{human_count, shorten};

/// The points of one figure, with its name and what is known of its growth.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    /// Number of the label, and the mean of the figure; both above 0.
    pub points: Vec<(f64, f64)>,
}

/// Colours that differ for most eyes, in the order of the series.
const COLOURS: [&str; 8] =
    ["#0969da", "#cf222e", "#1a7f37", "#bf8700", "#8250df", "#57606a", "#bf3989", "#1b7c83"];

/// Of the area with the points, in pixels.
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 34.0;

/// A logarithmic scale.
struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    /// Powers of ten around the values.
    fn around(values: impl Iterator<Item = f64>) -> Scale {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.map(f64::log10) {
            (from, to) = (from.min(value), to.max(value));
        }
        if from > to {
            (from, to) = (0.0, 1.0);
        }
        let (from, mut to) = (from.floor(), to.ceil());
        if to <= from {
            to = from + 1.0;
        }
        Scale { from, to }
    }

    /// 0 to 1.
    fn place(&self, value: f64) -> f64 {
        (value.log10() - self.from) / (self.to - self.from)
    }

    /// Powers of ten, a dozen at most.
    fn ticks(&self) -> Vec<f64> {
        let step = ((self.to - self.from) / 12.0).ceil().max(1.0);
        let mut ticks = Vec::new();
        let mut at = self.from;
        while at <= self.to {
            ticks.push(at);
            at += step;
        }
        ticks
    }
}

/// A power of ten: `100`, `1.0 k`, `10.0 M`.
fn tick(power: f64) -> String {
    let value = 10_f64.powf(power);
    if (1.0..1e15).contains(&value) {
        // Within the range of both.
        human_count(value.round() as i64).replace(".0 ", " ")
    } else {
        format!("1e{power:.0}")
    }
}

/// Draws the series; the names below each other at the right.
pub fn log_log(title: &str, across: &str, series: &[Series]) -> String {
    let all = || series.iter().flat_map(|s| &s.points);
    let (x, y) = (Scale::around(all().map(|p| p.0)), Scale::around(all().map(|p| p.1)));
    let right = |value: f64| LEFT + WIDTH * x.place(value);
    let down = |value: f64| TOP + HEIGHT * (1.0 - y.place(value));
    let mut svg = Svg::new();
    svg.text(LEFT, TOP - 16.0, "start", title);
    for power in x.ticks() {
        let at = LEFT + WIDTH * (power - x.from) / (x.to - x.from);
        svg.line(&[(at, TOP), (at, TOP + HEIGHT)], "#d8dee4");
        svg.text(at, TOP + HEIGHT + 16.0, "middle", &tick(power));
    }
    for power in y.ticks() {
        let at = TOP + HEIGHT * (1.0 - (power - y.from) / (y.to - y.from));
        svg.line(&[(LEFT, at), (LEFT + WIDTH, at)], "#d8dee4");
        svg.text(LEFT - 6.0, at + 4.0, "end", &tick(power));
    }
    svg.text(LEFT + WIDTH / 2.0, TOP + HEIGHT + 34.0, "middle", across);
    for (i, one) in series.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let line: Vec<_> = one.points.iter().map(|p| (right(p.0), down(p.1))).collect();
        svg.line(&line, colour);
        for ((n, value), (x, y)) in one.points.iter().zip(&line) {
            svg.rect(
                x - 3.0,
                y - 3.0,
                6.0,
                6.0,
                colour,
                &format!("{}: {across} {n}: {value}", one.name),
            );
        }
        // 18 pixels a name.
        let y = 18.0_f64.mul_add(f64::from(u16::try_from(i).unwrap_or(u16::MAX)), TOP + 8.0);
        svg.rect(LEFT + WIDTH + 16.0, y - 8.0, 10.0, 10.0, colour, "");
        svg.text(LEFT + WIDTH + 32.0, y + 1.0, "start", &shorten(&one.name, 90));
    }
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_is_a_straight_line() {
        let points: Vec<_> = [10.0, 100.0, 1000.0].map(|n| (n, n * n)).to_vec();
        let picture = log_log("t", "size", &[Series { name: "a -> b: n^2".into(), points }]);
        assert!(picture.contains("points=\"70.0,414.0 330.0,224.0 590.0,34.0\""), "{picture}");
        assert!(picture.contains("a -&gt; b: n^2"), "{picture}");
        assert!(log_log("t", "size", &[]).contains("</svg>"));
    }
}
