//! `record --live`: the hottest functions and edges of a program that runs.

use crate::load::live::LiveSums;
use indicatif::HumanBytes;
use std::cmp::Reverse;
use std::fmt::Write;

/// Functions and edges that are shown.
const SHOWN: usize = 10;
/// A name is cut there.
const WIDTH: usize = 40;

/// What stands on the terminal.
#[derive(Default)]
pub struct Screen {
    lines: usize,
}

impl Screen {
    /// Shows the sums in the place of those before.
    pub fn show(&mut self, sums: &LiveSums) {
        let text = text(sums);
        // Up, and what stood there is cleared.
        let up =
            if self.lines == 0 { String::new() } else { format!("\x1b[{}A\x1b[J", self.lines) };
        self.lines = text.lines().count();
        eprint!("{up}{text}");
    }
}

/// The hottest functions by steps of their own, and edges by bytes.
fn text(sums: &LiveSums) -> String {
    let mut functions: Vec<_> = sums.functions.iter().collect();
    functions.sort_by_key(|(_, f)| Reverse(f.steps_self));
    let steps: u64 = sums.functions.values().map(|f| f.steps_self).sum();
    let mut edges: Vec<_> = sums.flows.iter().filter(|((w, r, _), _)| w != r).collect();
    edges.sort_by_key(|(_, f)| Reverse(f.bytes));
    let mut text = format!("{steps} steps; steps of functions, bytes of edges\n");
    for (name, f) in functions.into_iter().take(SHOWN) {
        let share = 100.0 * f.steps_self as f64 / steps.max(1) as f64;
        // Writing to a string does not fail.
        let _ = writeln!(text, "{share:5.1} %  {:>12} calls  {}", f.calls, cut(name));
    }
    for ((writer, reader, via), f) in edges.into_iter().take(SHOWN) {
        let bytes = HumanBytes(f.bytes).to_string();
        let _ = writeln!(text, "{bytes:>12}  {} -> {}, {via}", cut(writer), cut(reader));
    }
    text
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::live::{FlowSums, FunctionSums};

    #[test]
    fn the_hottest_come_first_and_local_flow_is_no_edge() {
        let mut sums = LiveSums::default();
        for (name, steps_self) in [("cold", 10), ("hot", 30)] {
            let of = FunctionSums { calls: 1, steps_self, ..FunctionSums::default() };
            sums.functions.insert(name.into(), of);
        }
        for (writer, reader, bytes) in [("hot", "hot", 99), ("hot", "cold", 7), ("cold", "hot", 8)]
        {
            let key = (writer.into(), reader.into(), "heap".into());
            sums.flows.insert(key, FlowSums { bytes, ..FlowSums::default() });
        }
        let text = text(&sums);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[1].contains(" 75.0 %") && lines[1].ends_with("hot"), "{text}");
        assert!(lines[3].ends_with("8 B  cold -> hot, heap"), "{text}");
    }
}
