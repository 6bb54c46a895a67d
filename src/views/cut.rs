//! What a set of functions exchanges with the rest of the program: what must be sent to and fro if it
//! moves to another core or memory.

use super::{ViewError, report};
use crate::graph::{FunctionNames, GraphError, resolve_function};
use crate::id::FunctionId;
use crate::query::{each, keeps_part};
use crate::render::rows::{RowFormat, RowWriter, word};
use crate::replay::crossing::{
    Along, Callees, Calls, Crossing, Direction, Exchange, Members, Object, Partner, Rule, Sum,
    beside, crossing,
};
use crate::replay::{ReplayError, places};
use crate::text::{human_count, visible, words};
use duckdb::Connection;
use duckdb::types::Value;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io::Write;
use std::rc::Rc;

words! {
    /// What is told of a set.
    pub enum Shown {
        /// Entries, steps, bytes: in all, and the least, mean and most of an entry
        Figures = "figures",
        /// From and to which functions, through what
        Flows = "flows",
        /// Through which variables, buffers and registers
        Objects = "objects",
        /// Each entry with its figures
        Entries = "entries",
    }
}

/// What crosses the border of a set.
pub struct Cut {
    members: Members,
    crossing: Crossing,
    names: Rc<FunctionNames>,
    /// Of the whole run.
    steps: u64,
    callees: Callees,
}

/// The functions that words mean: `name`, `file:name`, `@address`, `glob:` or `re:` with a pattern of the
/// first two, or a source file for all that is in it. A word may be a list with commas.
pub fn choose(
    connection: &Connection,
    words: &[String],
) -> Result<BTreeSet<FunctionId>, ViewError> {
    let mut set = BTreeSet::new();
    for text in &crate::text::lists(words) {
        if let Some(pattern) = text.strip_prefix("re:") {
            let before = set.len();
            each(connection, report!("cut_functions_re"), &[&pattern], |r| {
                set.insert(r.get(0)?);
                Ok(())
            })?;
            if set.len() == before {
                return Err(GraphError::NoFunction {
                    name: visible(text).into_owned(),
                    hint: "no name fits the pattern".into(),
                }
                .into());
            }
            continue;
        }
        let failed = match resolve_function(connection, text) {
            Ok(found) if found.instance.is_none() => {
                set.insert(found.function_id);
                continue;
            }
            Ok(_) => return Err(ViewError::NoSet { text: visible(text).into_owned() }),
            // A file's name may be a function's.
            Err(GraphError::NoFunction { name, hint }) => {
                let is_plain = !text.starts_with("glob:") && text.contains(['*', '?']);
                let more = "; a pattern is written as `glob:...` or `re:...`";
                let hint = if is_plain { format!("{hint}{more}") } else { hint };
                GraphError::NoFunction { name, hint }
            }
            Err(error) => return Err(error.into()),
        };
        let before = set.len();
        let mut any = false;
        each(connection, report!("cut_functions"), &[&text], |r| {
            any = true;
            set.insert(r.get(0)?);
            Ok(())
        })?;
        if !any && set.len() == before {
            return Err(failed.into());
        }
    }
    if set.is_empty() { Err(ViewError::EmptySet) } else { Ok(set) }
}

/// Goes through the calls and the communications once.
///
/// # Errors
/// Where the database is damaged or lacks them, or the set was never entered.
pub fn cut(
    connection: &Connection,
    set: &BTreeSet<FunctionId>,
    callees: Callees,
) -> Result<Cut, ViewError> {
    let cut = several(connection, std::slice::from_ref(set), callees, true)?.pop();
    match cut.filter(|cut| !cut.members.entries.is_empty()) {
        Some(cut) => Ok(cut),
        None => {
            let names = FunctionNames::read(connection)?;
            let mut list: Vec<_> = set.iter().map(|&id| visible(names.name(id))).collect();
            list.truncate(5);
            Err(ViewError::NeverEntered { names: list.join(", ") })
        }
    }
}

/// The same of several sets, each by itself; `values`: with what was sent before.
///
/// # Errors
/// As [`cut`], but for sets that were never entered.
pub fn several(
    connection: &Connection,
    sets: &[BTreeSet<FunctionId>],
    callees: Callees,
    values: bool,
) -> Result<Vec<Cut>, ViewError> {
    let rules: Vec<Rule> = sets.iter().map(|set| Rule::Set(set, callees)).collect();
    let along = Along::open(connection, &rules)?;
    match callees {
        _ if along.is_some() => {}
        Callees::Outside => {
            super::rows::ensure_crossing(connection, &sets.iter().flatten().copied().collect())?;
        }
        // What they are is known when the calls are.
        Callees::Inside => super::rows::ensure_communications(connection)?,
    }
    let detail: String =
        connection.query_row("SELECT value FROM meta WHERE key = 'detail'", [], |r| r.get(0))?;
    if !matches!(detail.as_str(), "pairs" | "full") {
        return Err(ViewError::CutDetail { detail });
    }
    if keeps_part(connection)? {
        return Err(ViewError::CutPart);
    }
    let steps: Option<i64> =
        connection
            .query_row("SELECT sum(steps_self)::BIGINT FROM function_profile", [], |r| r.get(0))?;
    let stored = "SELECT EXISTS (FROM block_run) OR EXISTS (FROM run_chunk)";
    if !connection.query_row(stored, [], |r| r.get::<_, bool>(0))? {
        let why = crate::store::open::why_no_steps(connection)?;
        return Err(ReplayError::NoSteps { why }.into());
    }
    let names = Rc::new(FunctionNames::read(connection)?);
    let places = places(connection)?;
    let found = match along {
        Some(along) => along.crossing(connection, &places, values)?,
        None => {
            let (calls, mut found) = (Calls::read(connection)?, Vec::new());
            for rule in rules {
                found.push(beside(connection, |stored| -> Result<_, ViewError> {
                    let members = Members::find(connection, &calls, rule)?;
                    let crossing = crossing(connection, &members, &places, stored)?;
                    Ok((members, crossing))
                })?);
            }
            found
        }
    };
    let steps = steps.and_then(|steps| u64::try_from(steps).ok()).unwrap_or(0);
    let cut = |(members, crossing)| Cut { members, crossing, names: names.clone(), steps, callees };
    Ok(found.into_iter().map(cut).collect())
}

/// What a figure is of an entry; None: the trace does not tell.
type Figure = fn(&Exchange) -> Option<u64>;

/// Figures of entries: name, meaning, and how each is found.
const FIGURES: [(&str, &str, Figure); 11] = [
    ("bytes_in", "read of what was written outside, each read counted", |e| Some(e.bytes_in)),
    (
        "unique_bytes_in",
        "each byte of each write once an entry: to be sent in if nothing stays",
        |e| Some(e.unique_in),
    ),
    ("new_bytes_in", "of these, what no entry before had: to be sent in if all stays", |e| {
        Some(e.new_in)
    }),
    ("unchanged_bytes_in", "of these, what an entry before had: could stay", |e| {
        Some(e.unique_in - e.new_in)
    }),
    ("resent_bytes_in", RESENT_IN, |e| e.resent_in),
    ("bytes_out", "read outside of what was written inside, each read counted", |e| {
        Some(e.bytes_out)
    }),
    ("unique_bytes_out", "each byte of each write once: to be sent out", |e| Some(e.unique_out)),
    ("resent_bytes_out", RESENT_OUT, |e| e.resent_out),
    ("bytes_kept", "read of what an entry before wrote: state", |e| Some(e.kept)),
    ("bytes_out_while_inside", "of bytes_out, read before the entry came back", |e| {
        Some(e.went_out)
    }),
    ("bytes_in_while_inside", "of bytes_in, written before the entry came back", |e| {
        Some(e.came_back)
    }),
];
const RESENT_IN: &str =
    "of new_bytes_in, the value that was sent last; NULL: no values in the trace";
const RESENT_OUT: &str = "of unique_bytes_out, the value that was sent last; NULL: as above";

/// A count as a cell.
fn count(n: u64) -> Value {
    Value::UBigInt(n)
}

/// A mean to three places behind the point.
fn mean(sum: u64, of: u64) -> Value {
    // For reading: 2^53 is more than any count here.
    let mean = sum as f64 / of.max(1) as f64;
    Value::Double((mean * 1000.0).round() / 1000.0)
}

impl Cut {
    /// The set and how large it is, in a sentence.
    pub fn headline(&self) -> String {
        let list: Vec<_> =
            self.members.functions.iter().take(5).map(|&id| visible(self.names.name(id))).collect();
        let more = self.members.functions.len() - list.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let what = if self.callees == Callees::Inside { ", callees included" } else { "" };
        let steps = self.inside();
        // For reading.
        let share = 100.0 * steps as f64 / self.steps.max(1) as f64;
        format!(
            "{}{more}{what}: {} entries, {} steps ({share:.1} % of the run)",
            list.join(", "),
            human_count(self.members.entries.len() as i64),
            human_count(i64::try_from(steps).unwrap_or(i64::MAX)),
        )
    }

    pub fn members(&self) -> &Members {
        &self.members
    }

    pub fn crossing(&self) -> &Crossing {
        &self.crossing
    }

    fn inside(&self) -> u64 {
        self.members.entries.iter().map(|entry| entry.steps).sum()
    }

    /// What is to be known of the entries.
    pub fn notes(&self) -> Vec<String> {
        let entries = &self.members.entries;
        let number = |which: fn(&crate::replay::crossing::Entry) -> bool| {
            entries.iter().filter(|entry| which(entry)).count()
        };
        let mut notes = Vec::new();
        if let Some(root) = entries.iter().find(|entry| entry.caller.is_none()) {
            notes.push(format!(
                "nothing of the run calls {}: that entry is all of its thread, and what comes in is the program's input",
                visible(self.names.name(root.function))
            ));
        }
        let nested = number(|entry| entry.is_nested);
        if nested > 0 {
            notes.push(format!(
                "{nested} entries came from what the set calls outside, before the entry that called it was back; --callees takes those in"
            ));
        }
        let open = number(|entry| entry.is_open);
        if open > 0 {
            notes.push(format!("{open} entries had not come back when the run ended"));
        }
        if let Some((bytes, unknown)) = self.crossing.valued.filter(|(_, unknown)| *unknown > 0) {
            notes.push(format!(
                "of {bytes} bytes that crossed anew the trace does not tell the values of {unknown}: they count as changed"
            ));
        }
        notes
    }

    pub fn write(
        &self,
        shown: Shown,
        limit: usize,
        format: RowFormat,
        out: &mut dyn Write,
    ) -> std::io::Result<u64> {
        match shown {
            Shown::Figures => self.figures(format, out),
            Shown::Flows => self.flows(limit, format, out),
            Shown::Objects => self.objects(limit, format, out),
            Shown::Entries => self.entries(limit, format, out),
        }
    }

    fn figures(&self, format: RowFormat, out: &mut dyn Write) -> std::io::Result<u64> {
        let columns = ["figure", "all", "least", "mean", "most", "meaning"];
        let mut rows = RowWriter::new(&columns, format, out)?.short_names();
        self.figure_rows().iter().try_for_each(|row| rows.row(row))?;
        rows.finish()
    }

    /// Figure, in all, least, mean and most of an entry (NULL: of all only), what it means.
    pub fn figure_rows(&self) -> Vec<[Value; 6]> {
        let entries = self.members.entries.len() as u64;
        let all = |name: &str, n: Value, meaning: &str| {
            let none = || Value::Null;
            [word(name.to_owned()), n, none(), none(), none(), word(meaning.to_owned())]
        };
        let each = |name: &str, of: &mut dyn Iterator<Item = Option<u64>>, meaning: &str| {
            let Some(of) = of.collect::<Option<Vec<u64>>>() else {
                return all(name, Value::Null, meaning);
            };
            let sum = of.iter().sum();
            [
                word(name.to_owned()),
                count(sum),
                count(of.iter().copied().min().unwrap_or(0)),
                mean(sum, entries),
                count(of.iter().copied().max().unwrap_or(0)),
                word(meaning.to_owned()),
            ]
        };
        let mut steps = self.members.entries.iter().map(|entry| Some(entry.steps));
        let mut rows = vec![
            all("entries", count(entries), "from outside into the set"),
            each("steps", &mut steps, "in the set, by entry"),
        ];
        rows.extend(FIGURES.map(|(name, meaning, figure)| {
            each(name, &mut self.crossing.entries.iter().map(figure), meaning)
        }));
        let Crossing { addresses_in, addresses_out, .. } = self.crossing;
        let buffer = "different bytes of storage: the buffer";
        rows.push(all("addresses_in", count(addresses_in), buffer));
        rows.push(all("addresses_out", count(addresses_out), buffer));
        let sent: u64 = self.crossing.entries.iter().map(|e| e.unique_in + e.unique_out).sum();
        let density = mean(sent, self.inside());
        rows.push(all("bytes_a_step", density, "unique bytes in and out for each step"));
        let there_and_back =
            self.crossing.entries.iter().filter(|e| e.went_out > 0 && e.came_back > 0).count();
        let meaning = "entries that data leaves and comes back to before they are back";
        rows.push(all("round_trips", count(there_and_back as u64), meaning));
        rows
    }

    fn flows(&self, limit: usize, format: RowFormat, out: &mut dyn Write) -> std::io::Result<u64> {
        let columns = ["direction", "function", "via", "bytes", "unique_bytes", "addresses"];
        let mut rows = RowWriter::new(&columns, format, out)?.short_names();
        self.flow_rows().iter().take(limit).try_for_each(|row| rows.row(row))?;
        rows.finish()
    }

    /// Direction, function on the other side, via, bytes, unique bytes, addresses: by direction the
    /// largest first.
    pub fn flow_rows(&self) -> Vec<[Value; 6]> {
        let mut flows: Vec<_> = self.crossing.flows.iter().collect();
        flows.sort_by_key(|(key, sum)| (key.0, Reverse(sum.bytes), *key));
        let row = |((direction, partner, via), sum): (&(Direction, Partner, String), &Sum)| {
            let name = match partner {
                Partner::Function(id) => self.names.name(*id),
                Partner::Source(name) => name,
            };
            let [bytes, unique, addresses] = sums(sum);
            [way(*direction), word(name.to_owned()), word(via.clone()), bytes, unique, addresses]
        };
        flows.into_iter().map(row).collect()
    }

    fn objects(
        &self,
        limit: usize,
        format: RowFormat,
        out: &mut dyn Write,
    ) -> std::io::Result<u64> {
        let columns =
            ["direction", "object", "via", "first", "size", "bytes", "unique_bytes", "addresses"];
        let mut rows = RowWriter::new(&columns, format, out)?.short_names();
        let mut objects: Vec<_> = self.crossing.objects.iter().collect();
        objects.sort_by_key(|(key, sum)| (key.0, Reverse(sum.bytes), *key));
        for ((direction, object), sum) in objects.into_iter().take(limit) {
            let none = || Value::Null;
            let place = match object {
                Object::Registers => {
                    [word("(registers)".to_owned()), word("register".to_owned()), none(), none()]
                }
                Object::Variable(name) => [word(name.clone()), none(), none(), none()],
                Object::Buffer { via, first, last } => [
                    word(format!("({via})")),
                    word(via.clone()),
                    word(format!("{first:#x}")),
                    count((last - first).saturating_add(1)),
                ],
            };
            rows.row(&[&[way(*direction)][..], &place, &sums(sum)].concat())?;
        }
        rows.finish()
    }

    fn entries(
        &self,
        limit: usize,
        format: RowFormat,
        out: &mut dyn Write,
    ) -> std::io::Result<u64> {
        let mut columns = vec!["call_id", "function", "caller", "first_seq", "last_seq", "steps"];
        columns.extend(FIGURES.iter().map(|(name, ..)| *name));
        let mut rows = RowWriter::new(&columns, format, out)?.short_names();
        let all = self.members.entries.iter().zip(&self.crossing.entries);
        for (entry, exchange) in all.take(limit) {
            let caller = entry.caller.map(|id| self.names.name(id).to_owned());
            let mut row = vec![
                Value::Int(entry.call.column()),
                word(self.names.name(entry.function).to_owned()),
                word(caller),
                Value::BigInt(entry.first),
                Value::BigInt(entry.last),
                count(entry.steps),
            ];
            let figures = FIGURES.iter().map(|(.., figure)| figure(exchange));
            row.extend(figures.map(|n| n.map_or(Value::Null, count)));
            rows.row(&row)?;
        }
        rows.finish()
    }
}

fn way(direction: Direction) -> Value {
    word(match direction {
        Direction::In => "in".to_owned(),
        Direction::Out => "out".to_owned(),
    })
}

fn sums(sum: &Sum) -> [Value; 3] {
    [count(sum.bytes), count(sum.unique_bytes), count(sum.addresses)]
}
