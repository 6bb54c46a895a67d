//! Where basic blocks begin, and what is known of their instructions.

use super::super::error::ExportError;
use super::super::rows::each;
use crate::id::{BlockId, InstructionId};
use crate::replay::{Code, Piece};
use duckdb::Connection;
use rustc_hash::FxHashSet;

/// Steps that are fetched at a time.
const STEPS: i64 = 1 << 20;

/// What of an instruction the graph needs.
#[derive(Clone, Copy)]
pub struct Executed {
    /// 0: none.
    pub image: i32,
    pub class: Class,
    /// Its target is known.
    pub direct: bool,
    /// File and line.
    pub line: Option<(i32, i32)>,
}

/// Where control goes behind an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Next,
    Jump,
    Call,
    Syscall,
    Other,
}

/// Goes through the run in windows that end where a run of a block ends, so that no block is cut in
/// two.
pub fn forwards(
    code: &Code,
    connection: &Connection,
    mut take: impl FnMut(&Piece) -> bool,
) -> Result<(), ExportError> {
    let mut statement =
        connection.prepare(include_str!("../../../queries/report/dcfg_window.sql"))?;
    let mut from = code.first;
    while from <= code.last {
        let to: Option<i64> =
            statement.query_row([from, from.saturating_add(STEPS)], |r| r.get(0))?;
        let to = to.map_or(code.last, |next| next - 1);
        let mut stop = false;
        let found = code.flow(connection, (from, to), |p| {
            stop = !take(p);
            !stop
        });
        found.map_err(crate::views::ViewError::from)?;
        if stop {
            break;
        }
        from = to + 1;
    }
    Ok(())
}

/// Where basic blocks begin, by instruction.
pub struct Leaders {
    leads: Vec<bool>,
    /// Something ended behind it: what follows is another block.
    ends: Vec<bool>,
}

impl Leaders {
    pub fn find(code: &Code, connection: &Connection) -> Result<Leaders, ExportError> {
        let mut seen: FxHashSet<(BlockId, usize, usize)> = FxHashSet::default();
        let ids = code.instructions();
        let mut leaders = Leaders { leads: vec![false; ids], ends: vec![false; ids] };
        forwards(code, connection, |p| {
            if seen.insert((p.block_id, p.first_step, p.end_step)) {
                let run = p.instructions();
                leaders.leads[run[0].index()] = true;
                leaders.ends[run[run.len() - 1].index()] = true;
            }
            true
        })?;
        for (i, ends) in leaders.ends.iter_mut().enumerate() {
            *ends |= code.instruction(InstructionId::at(i)).transfers;
        }
        Ok(leaders)
    }

    /// Cuts a piece into basic blocks: gives the places behind them.
    pub fn cut(&self, run: &[InstructionId], mut take: impl FnMut(&[InstructionId])) {
        let mut from = 0;
        for i in 1..=run.len() {
            if i == run.len()
                || self.ends[run[i - 1].index()]
                || self.leads[run[i].index()]
                || run[i] == run[i - 1]
            {
                take(&run[from..i]);
                from = i;
            }
        }
    }
}

/// By instruction.
pub fn executed(code: &Code, connection: &Connection) -> Result<Vec<Executed>, ExportError> {
    let none = Executed { image: 0, class: Class::Other, direct: false, line: None };
    let mut list = vec![none; code.instructions()];
    let sql = include_str!("../../../queries/report/dcfg_instructions.sql");
    each::<ExportError>(connection, sql, &[], |r| {
        let class = match r.get_ref(2)?.as_str().unwrap_or_default() {
            "next" => Class::Next,
            "jump" => Class::Jump,
            "call" => Class::Call,
            "syscall" => Class::Syscall,
            _ => Class::Other,
        };
        let line: (Option<i32>, Option<i32>) = (r.get(4)?, r.get(5)?);
        if let Some(place) = list.get_mut(r.get::<_, InstructionId>(0)?.index()) {
            *place =
                Executed { image: r.get(1)?, class, direct: r.get(3)?, line: line.0.zip(line.1) };
        }
        Ok(())
    })?;
    Ok(list)
}
