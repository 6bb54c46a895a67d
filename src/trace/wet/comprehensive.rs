//! Comprehensive traces: a block for each instruction, with its use ports and values.

use super::line::{INSTANCES, Line, comprehensive_line, source};
use super::visit::{
    At, DAMAGED, NumberedExecution, PORTS, StaticInstruction, Value, Visitor, nothing, refuse, say,
    text,
};
use crate::diagnostics::{Diagnostic, Severity};
use crate::trace::input::Input;
use crate::trace::lines::each_line;
use crate::trace::number::hex;
use rustc_hash::{FxHashMap, FxHashSet};

/// Which list of a block is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// None yet.
    Before,
    Port {
        port: u64,
        size: u64,
        seen: u64,
    },
    Values {
        size: u64,
        seen: u64,
    },
    /// The block was left out.
    Skip,
}

/// What is known of the file up to a line, and of the block that the line is in.
struct Reader {
    declared: Option<u64>,
    blocks: u64,
    /// Instructions that have a block.
    numbers: FxHashSet<u64>,
    /// Last instance of each that others depend on.
    depended: FxHashMap<u64, i64>,
    ports: u64,
    next_port: u64,
    list: List,
}

/// Reads a comprehensive trace.
pub fn read_comprehensive<V: Visitor>(input: Input, visitor: &mut V) -> Result<(), V::Error> {
    let name = input.name().to_owned();
    let locator = &input.locator();
    let mut reader = Reader {
        declared: None,
        blocks: 0,
        numbers: FxHashSet::default(),
        depended: FxHashMap::default(),
        ports: 0,
        next_port: 0,
        list: List::Before,
    };
    let mut end = At { locator, line: 1 };
    each_line(input, visitor, |line, visitor| {
        let text = text(&line);
        if !text.is_empty() {
            end = At { locator, line: line.number };
            reader.line(visitor, end, &text)?;
        }
        Ok::<(), V::Error>(())
    })?;
    if reader.blocks == 0 {
        return Err(nothing(name).into());
    }
    reader.close_block(visitor, end)?;
    reader.count(visitor, end);
    reader.depended_on(visitor, end)
}

impl Reader {
    /// What was missing from the list that ends here.
    fn close_list<V: Visitor>(&mut self, visitor: &mut V, at: At) -> Result<(), V::Error> {
        match self.list {
            List::Port { port, size, seen } => {
                visitor.port(port, seen)?;
                if size != seen {
                    let message =
                        format!("use port {port} announces {size} dependences and lists {seen}");
                    say(visitor, "short-list", message, at);
                }
            }
            List::Values { size, seen } if size != seen => {
                let message = format!("{size} values are announced and {seen} listed");
                say(visitor, "short-list", message, at);
            }
            _ => {}
        }
        Ok(())
    }

    fn close_block<V: Visitor>(&mut self, visitor: &mut V, at: At) -> Result<(), V::Error> {
        self.close_list(visitor, at)?;
        if self.blocks > 0 && !matches!(self.list, List::Values { .. } | List::Skip) {
            let message = format!(
                "the block before has {} of {} use ports and no VALUES",
                self.next_port, self.ports
            );
            say(visitor, "short-block", message, at);
        }
        self.list = List::Before;
        Ok(())
    }

    fn line<V: Visitor>(&mut self, visitor: &mut V, at: At, text: &str) -> Result<(), V::Error> {
        let Some(line) = comprehensive_line(text) else {
            refuse(visitor, text, at);
            return Ok(());
        };
        match line {
            Line::Count(n) if self.declared.is_none() && self.blocks == 0 => {
                self.declared = Some(n);
                Ok(())
            }
            Line::Static { number, ports, address, rest } => {
                self.close_block(visitor, at)?;
                self.blocks += 1;
                (self.ports, self.next_port) = (ports, 0);
                if !self.numbers.insert(number) {
                    self.list = List::Skip;
                    let message =
                        format!("instruction {number} has two blocks; the second is left out");
                    say(visitor, "double-block", message, at);
                    return Ok(());
                }
                let (file, function, line) = source(rest);
                let instruction = StaticInstruction { number, address, file, function, line };
                visitor.instruction(&instruction, at)
            }
            _ if self.blocks == 0 || matches!(line, Line::Count(_)) => {
                refuse(visitor, text, at);
                Ok(())
            }
            _ if self.list == List::Skip => Ok(()),
            Line::Size(size) => self.port(visitor, size, at),
            Line::Values(size) => self.values(visitor, size, at),
            Line::Dependence { entry, number, instance } => {
                let on = NumberedExecution { number, instance };
                self.dependence(visitor, entry, on, at)
            }
            Line::Value { entry, text } => self.value(visitor, entry, text, at),
            Line::Count(_) => Ok(()),
        }
    }

    fn port<V: Visitor>(&mut self, visitor: &mut V, size: u64, at: At) -> Result<(), V::Error> {
        if matches!(self.list, List::Values { .. }) {
            let message = "a use port behind the values of its instruction".into();
            say(visitor, "stray-line", message, at);
            return Ok(());
        }
        self.close_list(visitor, at)?;
        let port = self.next_port;
        self.next_port += 1;
        if port >= self.ports.min(PORTS) {
            let message =
                format!("use port {port} of an instruction that announces {}", self.ports);
            say(visitor, "port-count", message, at);
        }
        self.list = List::Port { port, size, seen: 0 };
        Ok(())
    }

    fn values<V: Visitor>(&mut self, visitor: &mut V, size: u64, at: At) -> Result<(), V::Error> {
        if matches!(self.list, List::Values { .. }) {
            say(visitor, "stray-line", "values twice".into(), at);
            return Ok(());
        }
        self.close_list(visitor, at)?;
        if self.next_port < self.ports {
            let message = format!("{} of {} use ports", self.next_port, self.ports);
            say(visitor, "port-count", message, at);
        }
        self.list = List::Values { size, seen: 0 };
        Ok(())
    }

    fn dependence<V: Visitor>(
        &mut self,
        visitor: &mut V,
        entry: u64,
        on: NumberedExecution,
        at: At,
    ) -> Result<(), V::Error> {
        let List::Port { port, size, seen } = self.list else {
            let message = "a dependence outside of a use port".into();
            say(visitor, "stray-line", message, at);
            return Ok(());
        };
        self.list = List::Port { port, size, seen: seen + 1 };
        let Some(instance) = self.entry(visitor, entry, seen, at) else { return Ok(()) };
        let last = self.depended.entry(on.number).or_insert(on.instance);
        *last = on.instance.max(*last);
        visitor.dependence(port.min(PORTS), instance, on)
    }

    fn value<V: Visitor>(
        &mut self,
        visitor: &mut V,
        entry: u64,
        digits: &str,
        at: At,
    ) -> Result<(), V::Error> {
        let List::Values { size, seen } = self.list else {
            say(visitor, "stray-line", "a value outside of VALUES".into(), at);
            return Ok(());
        };
        self.list = List::Values { size, seen: seen + 1 };
        let Some(instance) = self.entry(visitor, entry, seen, at) else { return Ok(()) };
        visitor.value(instance, hex(digits.as_bytes()).map_or(Value::Wide(digits), Value::Word))
    }

    /// The number of an entry of a list, which should be how many were before it.
    fn entry<V: Visitor>(&mut self, visitor: &mut V, entry: u64, seen: u64, at: At) -> Option<i64> {
        if entry != seen {
            let message = format!("entry {entry} of a list stands where {seen} should");
            say(visitor, "entry-order", message, at);
        }
        i64::try_from(entry).ok().filter(|&n| n < INSTANCES)
    }

    /// Whether there are as many blocks as the first line announces.
    fn count<V: Visitor>(&self, visitor: &mut V, end: At) {
        let blocks = self.blocks;
        let (code, message, at, remedy) = match self.declared {
            Some(n) if n > blocks => {
                let message = format!("{n} instructions are announced and {blocks} are there");
                return say(visitor, "lost-blocks", message, end);
            }
            Some(n) if n < blocks => (
                "more-blocks",
                format!("{n} instructions are announced and {blocks} are there"),
                end,
                "all are in the database; if two traces were joined, build one database of each",
            ),
            Some(_) => return,
            None => (
                "no-count",
                "the number of instructions is missing: the beginning of the trace may be".into(),
                At { line: 1, ..end },
                DAMAGED,
            ),
        };
        let (severity, position) = (Severity::Warning, at.to_string());
        visitor.diagnostic(Diagnostic { severity, code, message, position, remedy });
    }

    /// Tells of the instructions that others depend on.
    fn depended_on<V: Visitor>(&self, visitor: &mut V, end: At) -> Result<(), V::Error> {
        let mut lost: Vec<u64> = Vec::new();
        for (&number, &instance) in &self.depended {
            if self.numbers.contains(&number) {
                visitor.depended_on(NumberedExecution { number, instance })?;
            } else {
                lost.push(number);
            }
        }
        let Some(first) = lost.iter().min() else { return Ok(()) };
        let message = format!(
            "{} instructions that others depend on have no block; the first is {first}",
            lost.len()
        );
        say(visitor, "unknown-instruction", message, end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::wet::{Execution, is_history, read_history};
    use crate::trace::{Listener, TraceError};

    /// Writes down what it is told, a line each.
    #[derive(Default)]
    struct Notes(Vec<String>);

    impl Listener for Notes {
        fn diagnostic(&mut self, d: Diagnostic) {
            self.0.push(format!("{} {}", d.position, d.code));
        }
        fn progress(&mut self, _: u64) {}
    }

    impl Visitor for Notes {
        type Error = TraceError;
        fn instruction(&mut self, i: &StaticInstruction, at: At) -> Result<(), TraceError> {
            self.0
                .push(format!("{at} {} {:#x} {:?} {:?}", i.number, i.address, i.function, i.line));
            Ok(())
        }
        fn dependence(
            &mut self,
            port: u64,
            instance: i64,
            on: NumberedExecution,
        ) -> Result<(), TraceError> {
            self.0.push(format!("port {port}: {instance} on {}#{}", on.number, on.instance));
            Ok(())
        }
        fn port(&mut self, port: u64, dependences: u64) -> Result<(), TraceError> {
            self.0.push(format!("port {port}: {dependences}"));
            Ok(())
        }
        fn value(&mut self, instance: i64, value: Value) -> Result<(), TraceError> {
            self.0.push(format!("{instance}: {value:?}"));
            Ok(())
        }
        fn depended_on(&mut self, last: NumberedExecution) -> Result<(), TraceError> {
            self.0.push(format!("{} ran to {}", last.number, last.instance));
            Ok(())
        }
        fn history(&mut self, r: Execution, w: Execution, at: At) -> Result<(), TraceError> {
            let [(a, b), (x, y)] = [r, w].map(|e| (e.address, e.instance));
            self.0.push(format!("{at} {a:#x}#{b} {x:#x}#{y}"));
            Ok(())
        }
    }

    #[test]
    fn records_and_damage_of_a_block() {
        let text = b"1\n7 1 0x10 a.c main 3\nSIZE 2\n0:7 0\n2:9 1\nVALUES 1\n0:ff\nnonsense\n";
        let input = Input::from_bytes("t", text).expect("input");
        assert!(!is_history(&input));
        let mut notes = Notes::default();
        read_comprehensive(input, &mut notes).expect("read");
        let wanted = [
            "t:2 7 0x10 Some(\"main\") Some(3)",
            "port 0: 0 on 7#0",
            "t:5 entry-order",
            "port 0: 2 on 9#1",
            "port 0: 2",
            "0: Word(255)",
            "t:8 malformed-line",
            "7 ran to 0",
            "t:8 unknown-instruction",
        ];
        assert_eq!(notes.0, wanted);
    }

    #[test]
    fn records_and_damage_of_a_history() {
        let text = b"0x10#3 --> 0x8#0\n\n0x10#3 --> x\n";
        let input = Input::from_bytes("t", text).expect("input");
        assert!(is_history(&input));
        let mut notes = Notes::default();
        read_history(input, &mut notes).expect("read");
        assert_eq!(notes.0, ["t:1 0x10#3 0x8#0", "t:3 malformed-line"]);
    }
}
