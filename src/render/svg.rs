//! Pictures that are no graphs: heat maps, timelines, curves. Plain SVG, every text escaped.

use crate::text::drawn;
use std::fmt::Write;

/// A picture under construction; lengths are pixels.
pub struct Svg {
    body: String,
    width: f64,
    height: f64,
}

/// Text between tags.
pub fn escape(text: &str) -> String {
    drawn(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// White to a colour by a share of 0 to 1.
pub fn shade(share: f64, (r, g, b): (u8, u8, u8)) -> String {
    let mix = |to: u8| (255.0 + (f64::from(to) - 255.0) * share.clamp(0.0, 1.0)).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(r), mix(g), mix(b))
}

impl Default for Svg {
    fn default() -> Svg {
        Svg::new()
    }
}

impl Svg {
    pub fn new() -> Svg {
        Svg { body: String::new(), width: 0.0, height: 0.0 }
    }

    fn cover(&mut self, x: f64, y: f64) {
        self.width = self.width.max(x);
        self.height = self.height.max(y);
    }

    /// A filled rectangle with a tooltip.
    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: &str, tip: &str) {
        self.cover(x + width, y + height);
        let tip =
            if tip.is_empty() { String::new() } else { format!("<title>{}</title>", escape(tip)) };
        let end = if tip.is_empty() { "/>".to_owned() } else { format!(">{tip}</rect>") };
        let _ = writeln!(
            self.body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"{end}"
        );
    }

    /// Text that begins (`start`), ends (`end`) or is centred (`middle`) at x.
    pub fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        self.cover(
            if anchor == "end" { x } else { x + 6.0 * text.chars().count() as f64 },
            y + 4.0,
        );
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escape(text)
        );
    }

    /// What was not understood, a red line each, below all that is there.
    pub fn problems(&mut self, lines: &[String]) {
        for line in lines {
            let y = self.height + 14.0;
            self.cover(10.0 + 6.0 * line.chars().count() as f64, y + 4.0);
            let _ = writeln!(
                self.body,
                "<text x=\"10.0\" y=\"{y:.1}\" fill=\"#cf222e\" font-weight=\"bold\">{}</text>",
                escape(line)
            );
        }
    }

    /// Text that goes upwards from a point.
    pub fn upward(&mut self, x: f64, y: f64, text: &str) {
        self.cover(x, y);
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" transform=\"rotate(-60 {x:.1} {y:.1})\">{}</text>",
            escape(text)
        );
    }

    pub fn line(&mut self, points: &[(f64, f64)], colour: &str) {
        points.iter().for_each(|p| self.cover(p.0, p.1));
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            self.body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            list.join(" ")
        );
    }

    pub fn finish(self) -> String {
        let (w, h) = ((self.width + 10.0).ceil(), (self.height + 10.0).ceil());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"Helvetica,Arial,sans-serif\" font-size=\"11\">\n<rect width=\"{w}\" height=\"{h}\" fill=\"white\"/>\n{}</svg>\n",
            self.body
        )
    }
}
