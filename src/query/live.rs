//! What a recorder has summed while the program ran, held against what a build made of the recording of the same run.

use super::each;
use crate::load::live::{FlowEnd, LiveSums};
use duckdb::Connection;
use rustc_hash::FxHashMap;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of a table by their keys.
type Rows = BTreeMap<Vec<String>, Vec<i64>>;

/// A row that the two have otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Different {
    pub key: Vec<String>,
    /// As the recorder has it, and as the build has it; empty: it has no such row.
    pub live: Vec<i64>,
    pub built: Vec<i64>,
}

/// A table, compared.
#[derive(Debug)]
pub struct Compared {
    pub table: &'static str,
    /// What its numbers are.
    pub columns: &'static [&'static str],
    /// Rows that are the same.
    pub equal: usize,
    pub different: Vec<Different>,
}

impl Compared {
    /// By column how far the two are apart, added up over all rows, and what the build has in all.
    pub fn apart(&self) -> Vec<u64> {
        let at = |numbers: &[i64], i: usize| numbers.get(i).copied().unwrap_or(0);
        let off = |i: usize| {
            self.different.iter().map(|d| at(&d.live, i).abs_diff(at(&d.built, i))).sum()
        };
        (0..self.columns.len()).map(off).collect()
    }
}

const FLOWS: &str = "SELECT [writer, reader, via], [bytes, unique_bytes, transfers, addresses]
    FROM function_dataflow";
const PROFILES: &str =
    "SELECT [f.name], [p.calls, p.steps_self, p.steps_total, coalesce(p.written_bytes, 0)]
    FROM function_profile p JOIN function_symbol f USING (function_id)";
const CALLS: &str =
    "SELECT [coalesce(f.name, ''), g.name, e.kind], [e.calls, e.steps] FROM call_edge e
    LEFT JOIN function_symbol f ON f.function_id = e.caller_function_id
    JOIN function_symbol g ON g.function_id = e.callee_function_id";
/// Chains of functions by name.
const CHAINS: &str = "WITH RECURSIVE chain AS (
        SELECT s.stack_id, f.name FROM call_stack s JOIN function_symbol f USING (function_id) WHERE s.parent_stack_id IS NULL
        UNION ALL
        SELECT s.stack_id, chain.name || ';' || f.name FROM call_stack s JOIN function_symbol f USING (function_id)
        JOIN chain ON chain.stack_id = s.parent_stack_id)";
const STACKS: &str =
    "SELECT [chain.name], [p.calls, p.steps_self] FROM chain JOIN stack_profile p USING (stack_id)";
const THREADS: &str = "SELECT [tid], [steps] FROM thread";
/// Contexts are told by number: there may be a million of rows, and chains are long.
const STACK_FLOWS: &str =
    "SELECT [coalesce('#' || e.writer_stack_id, f.name), coalesce('#' || e.reader_stack_id, g.name), e.via],
        [e.bytes, e.unique_bytes, e.transfers]
    FROM stack_edge e JOIN function_symbol f ON f.function_id = e.writer_function_id
    JOIN function_symbol g ON g.function_id = e.reader_function_id";

/// Numbers of contexts by their chains, and chains by what `STACK_FLOWS` tells them by. Of several with the same names
/// one.
struct Chains {
    number: FxHashMap<String, String>,
    name: FxHashMap<String, String>,
}

impl Chains {
    fn read(connection: &Connection) -> duckdb::Result<Chains> {
        let (mut number, mut name) = (FxHashMap::default(), FxHashMap::default());
        let sql = format!("{CHAINS} SELECT '#' || stack_id, name FROM chain ORDER BY stack_id");
        each(connection, &sql, &[], |row| {
            let (id, chain): (String, String) = (row.get(0)?, row.get(1)?);
            name.insert(id.clone(), chain.clone());
            number.entry(chain).or_insert(id);
            Ok(())
        })?;
        Ok(Chains { number, name })
    }

    /// What a context is told by: its first number.
    fn first(&self, end: &str) -> String {
        let chain = self.name.get(end);
        chain.and_then(|chain| self.number.get(chain)).cloned().unwrap_or_else(|| end.to_owned())
    }

    fn end(&self, end: &FlowEnd, sums: &LiveSums) -> String {
        match end {
            FlowEnd::Named(name) => name.clone(),
            FlowEnd::Context(at) => {
                let chain = sums.chains.get(*at).map_or("", String::as_str);
                self.number.get(chain).cloned().unwrap_or_else(|| chain.to_owned())
            }
        }
    }
}

/// `stack_edge`, compared.
fn flows_in_contexts(connection: &Connection, sums: &LiveSums) -> duckdb::Result<Compared> {
    let chains = Chains::read(connection)?;
    let mut live = Rows::new();
    for ((writer, reader, via), row) in &sums.context_flows {
        let key = vec![chains.end(writer, sums), chains.end(reader, sums), via.clone()];
        let numbers = [row.bytes, row.unique_bytes, row.transfers];
        add(&mut live, key, numbers.map(u64::cast_signed).to_vec());
    }
    let mut built = Rows::new();
    for (mut key, numbers) in rows(connection, STACK_FLOWS)? {
        key[..2].iter_mut().for_each(|end| *end = chains.first(end));
        add(&mut built, key, numbers);
    }
    let columns = &["bytes", "unique_bytes", "transfers"];
    if sums.processes > 1 {
        (live, built) = (alike(live), alike(built));
    }
    let mut compared = table_compared(("stack_edge", columns), &live, &built);
    for end in compared.different.iter_mut().flat_map(|row| &mut row.key[..2]) {
        if let Some(chain) = chains.name.get(end) {
            end.clone_from(chain);
        }
    }
    Ok(compared)
}

/// Compares all that is summed with a database of the run; not `stack_edge` where some contexts count as one.
pub fn compare(connection: &Connection, sums: &LiveSums) -> duckdb::Result<Vec<Compared>> {
    let number = |n: u64| n.cast_signed();
    // Of several processes a build counts an address once, and the sums in each of them.
    let told = if sums.processes > 1 { 3 } else { 4 };
    let flows = sums.flows.iter().map(|((writer, reader, via), row)| {
        let numbers = [row.bytes, row.unique_bytes, row.transfers, row.addresses];
        (vec![writer.clone(), reader.clone(), via.clone()], numbers[..told].to_vec())
    });
    let profiles = sums.functions.iter().map(|(name, row)| {
        let numbers = vec![row.calls, row.steps_self, row.steps_total, row.written_bytes];
        (vec![name.clone()], numbers)
    });
    let calls = sums.calls.iter().map(|((caller, callee, kind), row)| {
        (vec![caller.clone(), callee.clone(), kind.clone()], vec![row.calls, row.steps])
    });
    let stacks = sums
        .contexts
        .iter()
        .map(|(chain, row)| (vec![chain.clone()], vec![row.calls, row.steps_self]));
    let live = |rows: &mut dyn Iterator<Item = (Vec<String>, Vec<u64>)>| -> Rows {
        rows.map(|(key, numbers)| (key, numbers.into_iter().map(number).collect())).collect()
    };
    let threads =
        sums.threads.iter().map(|(thread, steps)| (vec![thread.to_string()], vec![*steps]));
    let tables: [(_, &'static [&'static str], String, Rows); 5] = [
        (
            "function_profile",
            &["calls", "steps_self", "steps_total", "written_bytes"],
            PROFILES.to_owned(),
            live(&mut profiles.into_iter()),
        ),
        ("call_edge", &["calls", "steps"], CALLS.to_owned(), live(&mut calls.into_iter())),
        (
            "stack_profile",
            &["calls", "steps_self"],
            format!("{CHAINS} {STACKS}"),
            live(&mut stacks.into_iter()),
        ),
        (
            "function_dataflow",
            &["bytes", "unique_bytes", "transfers", "addresses"][..told],
            if told == 3 { FLOWS.replace(", addresses", "") } else { FLOWS.to_owned() },
            live(&mut flows.into_iter()),
        ),
        ("thread", &["steps"], THREADS.to_owned(), live(&mut threads.into_iter())),
    ];
    let alike = |rows| if sums.processes > 1 { alike(rows) } else { rows };
    let mut compared: Vec<Compared> = tables
        .into_iter()
        .map(|(table, columns, sql, live)| {
            let built = rows(connection, &sql)?;
            Ok(table_compared((table, columns), &alike(live), &alike(built)))
        })
        .collect::<duckdb::Result<_>>()?;
    if sums.several == 0 {
        compared.push(flows_in_contexts(connection, sums)?);
    }
    Ok(compared)
}

fn rows(connection: &Connection, sql: &str) -> duckdb::Result<Rows> {
    let mut all = Rows::new();
    // Lists as text, so that one reader does for all tables.
    let sql = format!(
        "SELECT array_to_string(k, chr(31)), array_to_string(n, ' ') FROM ({sql}) AS t(k, n)"
    );
    each(connection, &sql, &[], |row| {
        let (key, numbers): (String, String) = (row.get(0)?, row.get(1)?);
        let key: Vec<String> = key.split('\u{1f}').map(str::to_owned).collect();
        let sums = all.entry(key).or_default();
        for (i, number) in numbers.split(' ').enumerate() {
            let number: i64 = number.parse().unwrap_or(0);
            match sums.get_mut(i) {
                Some(sum) => *sum += number,
                None => sums.push(number),
            }
        }
        Ok(())
    })?;
    Ok(all)
}

/// Without what the sums of several processes have otherwise (docs/sums.md): numbers of pipes and sockets, and whether
/// memory is a stack.
fn alike(rows: Rows) -> Rows {
    let numberless = |name: String| match name.strip_suffix('>') {
        Some(name) => format!("{}>", name.trim_end_matches(|c: char| c.is_ascii_digit())),
        None if name == "stack" => "heap".to_owned(),
        None => name,
    };
    let mut all = Rows::new();
    for (key, numbers) in rows {
        add(&mut all, key.into_iter().map(numberless).collect(), numbers);
    }
    all
}

/// Adds to the row with this key.
fn add(rows: &mut Rows, key: Vec<String>, numbers: Vec<i64>) {
    match rows.entry(key) {
        Entry::Vacant(at) => drop(at.insert(numbers)),
        Entry::Occupied(mut at) => at.get_mut().iter_mut().zip(numbers).for_each(|(a, b)| *a += b),
    }
}

fn table_compared(
    (table, columns): (&'static str, &'static [&'static str]),
    live: &Rows,
    built: &Rows,
) -> Compared {
    let keys: BTreeSet<&Vec<String>> = live.keys().chain(built.keys()).collect();
    let (mut equal, mut different) = (0, Vec::new());
    let is_zero = |numbers: &[i64]| numbers.iter().all(|n| *n == 0);
    for key in keys {
        let [live, built] = [live, built].map(|rows| rows.get(key).cloned().unwrap_or_default());
        if live == built {
            equal += 1;
        } else if !(is_zero(&live) && is_zero(&built)) {
            different.push(Different { key: key.clone(), live, built });
        }
    }
    let off = |d: &Different| -> u64 {
        let pairs = 0..d.live.len().max(d.built.len());
        let at = |numbers: &[i64], i: usize| numbers.get(i).copied().unwrap_or(0);
        pairs.map(|i| at(&d.live, i).abs_diff(at(&d.built, i))).sum()
    };
    different.sort_by_key(|d| std::cmp::Reverse(off(d)));
    Compared { table, columns, equal, different }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[(&str, &[i64])]) -> Rows {
        of.iter().map(|(key, numbers)| (vec![(*key).to_owned()], numbers.to_vec())).collect()
    }

    #[test]
    fn what_differs_is_listed_with_the_largest_first() {
        let live =
            rows(&[("same", &[1, 2]), ("near", &[5, 5]), ("gone", &[9, 9]), ("nothing", &[0, 0])]);
        let built = rows(&[("same", &[1, 2]), ("near", &[5, 6]), ("new", &[100, 0])]);
        let compared = table_compared(("t", &["a", "b"]), &live, &built);
        let keys: Vec<&str> = compared.different.iter().map(|d| d.key[0].as_str()).collect();
        assert_eq!((compared.equal, keys), (1, vec!["new", "gone", "near"]));
        assert_eq!(compared.apart(), [109, 10]);
    }
}
