//! Answers that take the whole run, stored: `addfg prepare`.

use super::critical::CALLS;
use super::loops::LoopRow;
use super::objects::{ObjectUse, knows_dead};
use super::{ViewError, loops, objects};
use crate::load::{packed, states};
use crate::query::is_prepared;
use crate::replay::critical::{CriticalPath, Weight, critical_path};
use crate::replay::memory::{Profile, profile};
use crate::replay::objects::Use;
use crate::replay::{Code, places};
use crate::store::StoreError;
use crate::store::table::fill;
use crate::store::tables::{
    self, MemoryMoment, MemoryPage, MemoryReuse, MemoryTraffic, Meta, WrittenLine,
};
use duckdb::Connection;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Tables of `schema/9_answer.sql`.
const TABLES: [&str; 11] = [
    "object_use_row",
    "memory_traffic_row",
    "memory_moment_row",
    "memory_page_row",
    "memory_reuse_row",
    "written_line",
    "executed_loop_row",
    "loop_dependence_row",
    "critical_path_row",
    "critical_function_row",
    "critical_call_row",
];

/// What is stored.
struct Answers {
    objects: Vec<ObjectUse>,
    memory: Profile,
    loops: Vec<LoopRow>,
    /// By weight.
    critical: Vec<(Weight, CriticalPath)>,
}

/// Goes through the run a few times, on two processors, and stores what is found. The database is as it
/// was if this ends early.
pub fn prepare(connection: &Connection) -> Result<(), ViewError> {
    if !states::are_made(connection)? {
        states::make(connection)?;
    }
    if is_prepared(connection)? {
        let mut again = String::from("BEGIN TRANSACTION; DELETE FROM meta WHERE key = 'prepared';");
        TABLES.iter().for_each(|table| again += &format!("DELETE FROM {table};"));
        connection.execute_batch(&again)?;
    } else {
        connection.execute_batch("BEGIN TRANSACTION")?;
    }
    packed::ensure_calls(connection)?;
    let answers = find(connection)?;
    packed::remove_temporary(connection)?;
    store(connection, &answers)?;
    Ok(connection.execute_batch("COMMIT; CHECKPOINT;")?)
}

fn find(connection: &Connection) -> Result<Answers, ViewError> {
    if packed::are_temporary(connection)? {
        // Rows that no other connection sees.
        let (memory, critical) = of_whole_run(connection)?;
        let loops = loops::find(connection)?;
        let objects = objects::find(connection, &BTreeSet::new(), &[])?.0;
        return Ok(Answers { objects, memory, loops, critical });
    }
    let beside = connection.try_clone()?;
    std::thread::scope(|scope| {
        let others = scope.spawn(move || of_whole_run(&beside));
        let loops = loops::find(connection)?;
        let objects = objects::find(connection, &BTreeSet::new(), &[])?.0;
        let (memory, critical) = match others.join() {
            Ok(found) => found?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok(Answers { objects, memory, loops, critical })
    })
}

type Critical = Vec<(Weight, CriticalPath)>;

fn of_whole_run(connection: &Connection) -> Result<(Profile, Critical), ViewError> {
    let (code, places) = (Code::open(connection)?, places(connection)?);
    let path = |&weight: &Weight| Ok((weight, critical_path(&code, connection, weight)?));
    let critical = Weight::ALL.iter().map(path).collect::<Result<_, ViewError>>()?;
    Ok((profile(&code, connection, &places)?, critical))
}

fn store(connection: &Connection, answers: &Answers) -> Result<(), StoreError> {
    fill(connection, answers.objects.iter().flat_map(object_rows))?;
    memory(connection, &answers.memory)?;
    store_loops(connection, &answers.loops)?;
    for (weight, path) in &answers.critical {
        critical(connection, *weight, path)?;
    }
    fill(connection, [Meta { key: "prepared", value: Some(env!("CARGO_PKG_VERSION")) }])
}

fn object_rows(object: &ObjectUse) -> impl Iterator<Item = tables::ObjectUse<'_>> {
    let fields = object.fields.iter().map(|(name, users)| (Some(name.as_str()), users));
    std::iter::once((None, &object.users)).chain(fields).flat_map(move |(field, users)| {
        users.iter().map(move |(function_id, of)| {
            let Use { volume, unique_bytes, dead_bytes, first_seq, last_seq } = *of;
            tables::ObjectUse {
                object: &object.name,
                field,
                address: object.address,
                size: object.bytes,
                function_id: *function_id,
                reads: volume.reads,
                read_bytes: volume.read_bytes,
                writes: volume.writes,
                written_bytes: volume.written_bytes,
                unique_bytes,
                dead_bytes: knows_dead(&object.name).then_some(dead_bytes),
                first_seq,
                last_seq,
            }
        })
    })
}

fn memory(connection: &Connection, profile: &Profile) -> Result<(), StoreError> {
    let traffic = profile.traffic.iter().map(|(name, of)| MemoryTraffic {
        name,
        reads: of.volume.reads,
        read_bytes: of.volume.read_bytes,
        writes: of.volume.writes,
        written_bytes: of.volume.written_bytes,
        dead_bytes: of.dead_bytes,
        touched: of.touched,
        unique_read_bytes: of.unique_read_bytes,
        first_read_bytes: of.first_read_bytes,
    });
    fill(connection, traffic)?;
    let moments = profile.moments.iter().enumerate().map(|(moment, of)| MemoryMoment {
        moment,
        first_seq: of.first_seq,
        reads: of.reads,
        writes: of.writes,
        touched: of.touched,
        footprint: of.footprint,
    });
    fill(connection, moments)?;
    let page = |(&(moment, page), &(reads, writes)): (&(usize, u64), &(u64, u64))| MemoryPage {
        moment,
        page,
        reads,
        writes,
    };
    fill(connection, profile.pages.iter().map(page))?;
    let line = |&(first_seq, line): &(i64, u64)| WrittenLine { first_seq, line };
    fill(connection, profile.written.iter().map(line))?;
    let cold = MemoryReuse { class: None, accesses: profile.cold };
    let classes = profile.reuse.iter().enumerate();
    let again = classes.map(|(class, &accesses)| MemoryReuse { class: Some(class), accesses });
    fill(connection, std::iter::once(cold).chain(again))
}

fn store_loops(connection: &Connection, list: &[LoopRow]) -> Result<(), StoreError> {
    let operations: Vec<Option<String>> = list
        .iter()
        .map(|row| {
            let operations = &row.finding.as_ref()?.operations;
            let words: Vec<&str> = operations.iter().map(String::as_str).collect();
            (!words.is_empty()).then(|| words.join(","))
        })
        .collect();
    let rows = list.iter().zip(&operations).enumerate().filter_map(|(i, (row, operations))| {
        let (carried, finding) = (row.carried?, row.finding.as_ref()?);
        Some(tables::ExecutedLoop {
            loop_id: i + 1,
            function_id: row.function_id,
            place: &row.place,
            depth: row.depth,
            irreducible: row.irreducible,
            entries: row.entries?,
            iterations: row.iterations?,
            steps: row.steps?,
            carried_memory: carried.memory,
            carried_register: carried.register,
            carried_edges: carried.edges,
            pattern: finding.pattern.name(),
            operations: operations.as_deref(),
            distance: finding.distance,
            stages: finding.stages,
            recurrences: finding.recurrences,
        })
    });
    fill(connection, rows)?;
    let dependences = list.iter().enumerate().flat_map(|(i, row)| {
        row.dependences.iter().map(move |(conflict, storage, found)| {
            let (space, storage) = storage.words();
            tables::LoopDependence {
                loop_id: i + 1,
                conflict: conflict.name(),
                space,
                storage,
                least: found.least,
                most: found.most,
                count: found.count,
                bytes: found.bytes,
            }
        })
    });
    fill(connection, dependences)
}

fn critical(
    connection: &Connection,
    weight: Weight,
    path: &CriticalPath,
) -> Result<(), StoreError> {
    let weight = weight.name();
    let (steps, length) = (path.steps, path.length);
    fill(connection, [tables::CriticalPath { weight, steps, length }])?;
    let functions = path
        .by_function
        .iter()
        .map(|(&function_id, &on_path)| tables::CriticalFunction { weight, function_id, on_path });
    fill(connection, functions)?;
    let mut most: Vec<_> = path.by_call.iter().collect();
    most.sort_by_key(|(call, (_, on_path))| (Reverse(*on_path), **call));
    let calls = most.iter().take(CALLS).map(|(call, (function_id, on_path))| {
        let (call_id, function_id, on_path) = (**call, *function_id, *on_path);
        tables::CriticalCall { weight, call_id, function_id, on_path }
    });
    fill(connection, calls)
}
