//! Any log with a line an instruction, described by a layout file (`--layout FILE`, TOML;
//! `docs/layout.md`): columns or a pattern with named fields, and patterns for the registers and
//! accesses behind them.

pub mod description;
mod pattern;
mod reader;
pub mod shipped;
#[cfg(test)]
mod tests;

use super::error::TraceError;
use super::input::Input;
use super::lines::each_line;
use super::problems::Problems;
use super::reader::{Context, Format, Sink, StepFormat};
use super::record::{self, Steps};
use crate::event::Carries;
use description::{Description, Kind};
use pattern::Field;
use reader::Reader;

pub struct Layout;

impl Format for Layout {
    fn name(&self) -> &'static str {
        "layout"
    }
    fn about(&self) -> &'static str {
        "any log with a line an instruction, described by a layout file"
    }
    fn record(&self) -> &'static str {
        "any simulator; then addfg build app.log --layout FILE (docs/layout.md)"
    }
    fn carries(&self) -> Carries {
        record::all()
    }
    fn help(&self) -> &'static str {
        "A layout file (TOML) says how the log's lines look:\n\
         \x20   isa = \"riscv32\"\n\
         \x20   skip = [\"Time\"]                                   # lines that begin so are no steps\n\
         \x20   pattern = \"{time} {_} {pc} {opcode} {text}\"       # or columns = [\"time\", \"pc\", ..., \"items\"], separator = \"\\t\"\n\
         \x20   [[item]]                                          # what may stand in the field {items}\n\
         \x20   kind = \"write\"                                    # read, write, register, load, store\n\
         \x20   pattern = \"{name}={value}\"\n\
         Fields: time cpu pc opcode text mode micro items, _ for what does not matter, and any other name to ask for in `when`. A field\n\
         ends where the pattern goes on; a blank of the pattern matches any blanks. Numbers are hexadecimal but time, cpu, micro and\n\
         size; {time:hex} and {address:dec} say otherwise. What the file has no accesses or opcodes for comes from the operands and\n\
         the ELF. See docs/layout.md for two worked examples. Never detected by content."
    }
    fn sniff(&self, _head: &[u8]) -> bool {
        false
    }
}

impl StepFormat for Layout {
    fn read(&self, input: Input, context: &Context, sink: &mut dyn Sink) -> Result<(), TraceError> {
        let problems = Problems::new(input.locator());
        let Some(text) = context.layout else {
            return Err(problems.malformed(
                1,
                "the format `layout` needs a layout file",
                "give it with --layout FILE",
            ));
        };
        let layout = Description::parse(text).map_err(|(line, message)| TraceError::Malformed {
            name: "layout file".into(),
            position: line.to_string(),
            message,
            remedy: "see docs/layout.md".into(),
        })?;
        let Some(isa) = layout.isa.or(context.isa) else {
            return Err(problems.malformed(
                1,
                "the instruction set is not known",
                "put isa = \"...\" in the layout file or give --elf",
            ));
        };
        let registers = layout.has_item(&[Kind::Read, Kind::Write, Kind::Register]);
        let before = layout.has_item(&[Kind::Read])
            || layout.values_before && layout.has_item(&[Kind::Register]);
        let accesses = layout.has_item(&[Kind::Load, Kind::Store, Kind::Atomic]);
        let carries = Carries {
            opcodes: layout.has(Field::Opcode),
            accesses,
            registers,
            registers_before: before,
            // Where reads and writes are lines, not all registers need be among them.
            written_values: layout.has_item(&[Kind::Write]),
            values: registers || accesses,
            time: layout.has(Field::Time),
            threads: layout.has(Field::Cpu),
            thumb: layout.has(Field::Mode),
            ..self.carries()
        };
        sink.begin(carries, layout.isa)?;
        let steps = Steps::new(isa, before, layout.flags, carries.time)
            .with_all_values(carries.written_values);
        let mut reader = Reader::new(&layout, isa, steps, problems);
        each_line(input, sink, |line, sink| reader.line(line, sink))?;
        reader.finish(sink)
    }
}
