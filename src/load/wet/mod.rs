//! From the dependences of WET traces to tables.

mod dependences;
mod instructions;

use super::tables::{Filled, Load, TableLoader};
use super::{BuildError, Detail};
use crate::diagnostics::{Diagnostic, Severity};
use crate::event::Carries;
use crate::id::{InstructionId, ProcessId, ThreadId};
use crate::image::AddressSpace;
use crate::isa::FlowKind;
use crate::store::table::{self, Table};
use crate::store::tables::{InstructionValue, InstructionValues, Process, Thread, UsePort};
use crate::trace::input::Input;
use crate::trace::wet::{
    self, At, Execution, NumberedExecution, PORTS, StaticInstruction, Value, Visitor, Wet,
};
use crate::trace::{Listener, TraceError};
use dependences::{Dependence, Dependences};
use duckdb::Connection;
use instructions::Instructions;

/// Temporary tables that dependences are read into: a writer is its number in a comprehensive file,
/// its id in a history.
const READ: &str = "
    CREATE OR REPLACE TEMP TABLE comprehensive (port INTEGER, writer UBIGINT, write_instance BIGINT, reader INTEGER, read_instance BIGINT);
    CREATE OR REPLACE TEMP TABLE history AS FROM comprehensive;
    CREATE OR REPLACE TEMP TABLE numbered (number UBIGINT, instruction_id INTEGER);
    CREATE OR REPLACE TEMP TABLE class_kind (class VARCHAR, kind VARCHAR)";

macro_rules! derive {
    ($name:literal) => {
        include_str!(concat!("../../../queries/derive/", $name, ".sql"))
    };
}

impl TableLoader for Wet {
    fn load(&self, inputs: Vec<Input>, load: &mut Load) -> Result<Filled, BuildError> {
        let space = load.space.clone();
        fill(inputs, &space, load)
    }
}

fn fill(inputs: Vec<Input>, space: &AddressSpace, load: &mut Load) -> Result<Filled, BuildError> {
    let connection = load.connection;
    connection.execute_batch(READ)?;
    let first = space.images().first();
    let temporary = |table| connection.appender_to_catalog_and_db(table, "temp", "main");
    let mut filler = Filler {
        instructions: Instructions::new(space),
        ports: Vec::new(),
        values: false,
        comprehensive: Dependences::new(temporary("comprehensive")?),
        history: Dependences::new(temporary("history")?),
        value: Some(Table::new(connection)),
        load,
    };
    let whole = filler.read(inputs)?;
    filler.write(connection)?;
    filler.say_what_is_unknown(connection)?;
    connection.execute_batch(
        "DROP TABLE comprehensive; DROP TABLE history; DROP TABLE numbered; DROP TABLE class_kind",
    )?;
    let steps = filler.instructions.steps();
    let isa = first.map(|l| format!("{:?}", l.image.isa).to_lowercase());
    let kind = if whole { "comprehensive" } else { "limited history" };
    Ok(Filled {
        carries: Carries { dependences: true, values: filler.values, ..Carries::default() },
        steps,
        calls: 0,
        functions: filler.instructions.functions(),
        meta: vec![("isa", isa), ("wet", Some(kind.to_owned()))],
    })
}

/// What was read so far, and where it goes.
struct Filler<'f, 'l, 's> {
    load: &'f mut Load<'l>,
    instructions: Instructions<'s>,
    ports: Vec<UsePort<'static>>,
    /// There is one.
    values: bool,
    comprehensive: Dependences<'l>,
    history: Dependences<'l>,
    /// None when all was read.
    value: Option<Table<'l, InstructionValues>>,
}

impl Listener for Filler<'_, '_, '_> {
    fn diagnostic(&mut self, diagnostic: Diagnostic) {
        self.load.diagnostic(diagnostic);
    }
    fn progress(&mut self, bytes: u64) {
        self.load.progress(bytes);
    }
}

impl Visitor for Filler<'_, '_, '_> {
    type Error = BuildError;

    fn instruction(&mut self, said: &StaticInstruction, at: At) -> Result<(), BuildError> {
        self.load.check()?;
        self.instructions.described(said, at, self.load)
    }

    fn dependence(
        &mut self,
        port: u64,
        instance: i64,
        on: NumberedExecution,
    ) -> Result<(), BuildError> {
        self.load.check()?;
        let Some(reader) = self.instructions.last() else { return Ok(()) };
        self.instructions.ran(reader, instance);
        self.comprehensive.push(Dependence {
            port: Some(port as i32),
            writer: on.number,
            write_instance: on.instance,
            reader,
            read_instance: instance,
        })
    }

    fn port(&mut self, port: u64, dependences: u64) -> Result<(), BuildError> {
        if let Some(instruction_id) = self.instructions.last() {
            let kind = if port == 0 { "control" } else { "data" };
            let port = port.min(PORTS) as u32;
            self.ports.push(UsePort { instruction_id, port, kind, dependences });
        }
        Ok(())
    }

    fn value(&mut self, instance: i64, value: Value) -> Result<(), BuildError> {
        let Some(instruction_id) = self.instructions.last() else { return Ok(()) };
        self.instructions.ran(instruction_id, instance);
        self.values = true;
        let wide = match value {
            Value::Word(_) => None,
            Value::Wide(digits) => Some(digits.to_ascii_lowercase()),
        };
        let row = InstructionValue {
            instruction_id,
            instance: instance.unsigned_abs(),
            value: match value {
                Value::Word(word) => Some(word),
                Value::Wide(_) => None,
            },
            wide_value: wide.as_deref(),
        };
        Ok(self.value.as_mut().map_or(Ok(()), |table| table.push(row))?)
    }

    fn depended_on(&mut self, last: NumberedExecution) -> Result<(), BuildError> {
        if let Some(id) = self.instructions.numbered(last.number) {
            self.instructions.ran(id, last.instance);
        }
        Ok(())
    }

    fn history(&mut self, reader: Execution, writer: Execution, at: At) -> Result<(), BuildError> {
        self.load.check()?;
        let mut end = |execution: Execution| {
            let id = self.instructions.at(execution.address, at, self.load)?;
            self.instructions.ran(id, execution.instance);
            Ok::<InstructionId, BuildError>(id)
        };
        let (read, write) = (end(reader)?, end(writer)?);
        self.history.push(Dependence {
            port: None,
            writer: write.get().into(),
            write_instance: writer.instance,
            reader: read,
            read_instance: reader.instance,
        })
    }
}

fn warning(code: &'static str, message: String, remedy: &'static str) -> Diagnostic {
    Diagnostic { severity: Severity::Warning, code, message, position: String::new(), remedy }
}

impl Filler<'_, '_, '_> {
    /// Reads all files of a run; whether a comprehensive trace is among them.
    fn read(&mut self, inputs: Vec<Input>) -> Result<bool, BuildError> {
        // Histories last: what a comprehensive trace says of an instruction is more.
        let (histories, comprehensive): (Vec<Input>, Vec<Input>) =
            inputs.into_iter().partition(wet::is_history);
        if let Some(second) = comprehensive.get(1) {
            return Err(TraceError::Malformed {
                name: second.name().to_owned(),
                position: "1".into(),
                message: "a second comprehensive trace".into(),
                remedy: "each is a run of its own: build a database of each".into(),
            }
            .into());
        }
        let whole = !comprehensive.is_empty();
        for input in comprehensive {
            wet::read_comprehensive(input, self)?;
        }
        for input in histories {
            wet::read_history(input, self)?;
        }
        self.load.check()?;
        self.comprehensive.finish()?;
        self.history.finish()?;
        if let Some(value) = self.value.take() {
            value.finish()?;
        }
        self.instructions.check_elf(self.load)?;
        Ok(whole)
    }

    /// What the format leaves open.
    fn say_what_is_unknown(&mut self, connection: &Connection) -> Result<(), BuildError> {
        if self.load.detail < Detail::Pairs {
            connection.execute_batch("DELETE FROM dependence; DELETE FROM instruction_value;")?;
        }
        let unknown: i64 = connection.query_row(
            "SELECT coalesce(sum(count), 0)::BIGINT FROM dependence_edge WHERE kind IS NULL",
            [],
            |r| r.get(0),
        )?;
        if unknown > 0 {
            let message = format!(
                "of {unknown} dependences the trace does not say whether they are of data or of control; drawn as data"
            );
            let remedy = "give the comprehensive trace beside the history, or the program with --elf: jumps give control";
            self.load.problem(warning("unknown-kind", message, remedy))?;
        }
        let short: i64 = connection.query_row(derive!("high/short_ports"), [], |r| r.get(0))?;
        if short > 0 {
            let message = format!(
                "{short} use ports have fewer dependences than executions: their instances count dependences, not executions"
            );
            let remedy = "none: the format does not say which executions those were";
            let mut problem = warning("port-instances", message, remedy);
            problem.severity = Severity::Info;
            self.load.problem(problem)?;
        }
        Ok(())
    }

    fn write(&mut self, connection: &Connection) -> Result<(), BuildError> {
        let (process_id, thread_id) = (ProcessId::FIRST, ThreadId::FIRST);
        table::fill(connection, [Process { process_id, pid: None, name: None }])?;
        let steps = Some(self.instructions.steps());
        table::fill(connection, [Thread { thread_id, process_id, tid: None, steps }])?;
        self.instructions.write(connection, &mut self.load.files)?;
        table::fill(connection, self.ports.drain(..))?;
        // What a dependence on an instruction is, where the trace does not say: a jump computes
        // nothing but where control goes, what goes on to the next instruction decides nothing. A
        // call leaves a return address, too.
        let mut table = connection.appender_to_catalog_and_db("class_kind", "temp", "main")?;
        for (class, kind) in [
            (FlowKind::Jump, "control"),
            (FlowKind::Return, "control"),
            (FlowKind::ExceptionReturn, "control"),
            (FlowKind::Next, "data"),
        ] {
            table.append_row([class.name(), kind])?;
        }
        table.flush()?;
        for (table, sql) in [
            ("dependence", derive!("middle/dependence")),
            ("dependence_edge", derive!("high/dependence_edge")),
            ("instruction_edge_row", derive!("high/dependence_instruction_edge")),
            ("function_edge", derive!("high/dependence_function_edge")),
            ("function_profile", derive!("high/dependence_function_profile")),
        ] {
            connection.execute_batch(&format!("INSERT INTO {table} {sql}"))?;
        }
        Ok(())
    }
}
