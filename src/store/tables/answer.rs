//! Rows of `schema/9_answer.sql`.

use crate::id::{CallId, FunctionId};
use crate::store::row::tables;

tables! {
    ObjectUse<'a>, ObjectUses = "object_use_row" {
        object: &'a str => VARCHAR,
        field: Option<&'a str> => VARCHAR,
        address: Option<u64> => UBIGINT,
        size: Option<u64> => UBIGINT,
        function_id: Option<FunctionId> => INTEGER,
        reads: u64 => UBIGINT,
        read_bytes: u64 => UBIGINT,
        writes: u64 => UBIGINT,
        written_bytes: u64 => UBIGINT,
        unique_bytes: u64 => UBIGINT,
        dead_bytes: Option<u64> => UBIGINT,
        first_seq: i64 => BIGINT,
        last_seq: i64 => BIGINT,
    }

    MemoryTraffic<'a>, MemoryTraffics = "memory_traffic_row" {
        name: &'a str => VARCHAR,
        reads: u64 => UBIGINT,
        read_bytes: u64 => UBIGINT,
        writes: u64 => UBIGINT,
        written_bytes: u64 => UBIGINT,
        dead_bytes: u64 => UBIGINT,
        touched: u64 => UBIGINT,
        unique_read_bytes: u64 => UBIGINT,
        first_read_bytes: u64 => UBIGINT,
    }

    MemoryMoment, MemoryMoments = "memory_moment_row" {
        moment: usize => INTEGER,
        first_seq: i64 => BIGINT,
        reads: u64 => UBIGINT,
        writes: u64 => UBIGINT,
        touched: u64 => UBIGINT,
        footprint: u64 => UBIGINT,
    }

    MemoryPage, MemoryPages = "memory_page_row" {
        moment: usize => INTEGER,
        page: u64 => UBIGINT,
        reads: u64 => UBIGINT,
        writes: u64 => UBIGINT,
    }

    MemoryReuse, MemoryReuses = "memory_reuse_row" {
        class: Option<usize> => INTEGER,
        accesses: u64 => UBIGINT,
    }

    WrittenLine, WrittenLines = "written_line" {
        first_seq: i64 => BIGINT,
        line: u64 => UBIGINT,
    }

    ExecutedLoop<'a>, ExecutedLoops = "executed_loop_row" {
        loop_id: usize => INTEGER,
        function_id: Option<FunctionId> => INTEGER,
        place: &'a str => VARCHAR,
        depth: u32 => UINTEGER,
        irreducible: bool => BOOLEAN,
        entries: i64 => BIGINT,
        iterations: i64 => BIGINT,
        steps: i64 => BIGINT,
        carried_memory: i64 => BIGINT,
        carried_register: i64 => BIGINT,
        carried_edges: usize => BIGINT,
        pattern: &'a str => VARCHAR,
        operations: Option<&'a str> => VARCHAR,
        distance: Option<usize> => BIGINT,
        stages: usize => BIGINT,
        recurrences: usize => BIGINT,
    }

    LoopDependence<'a>, LoopDependences = "loop_dependence_row" {
        loop_id: usize => INTEGER,
        conflict: &'a str => VARCHAR,
        space: &'a str => VARCHAR,
        storage: &'a str => VARCHAR,
        least: usize => BIGINT,
        most: usize => BIGINT,
        count: u64 => UBIGINT,
        bytes: u64 => UBIGINT,
    }

    CriticalPath<'a>, CriticalPaths = "critical_path_row" {
        weight: &'a str => VARCHAR,
        steps: i64 => BIGINT,
        length: u64 => UBIGINT,
    }

    CriticalFunction<'a>, CriticalFunctions = "critical_function_row" {
        weight: &'a str => VARCHAR,
        function_id: Option<FunctionId> => INTEGER,
        on_path: u64 => UBIGINT,
    }

    CriticalCall<'a>, CriticalCalls = "critical_call_row" {
        weight: &'a str => VARCHAR,
        call_id: CallId => INTEGER,
        function_id: Option<FunctionId> => INTEGER,
        on_path: u64 => UBIGINT,
    }
}
