//! Rows of `schema/8_path.sql`.

use crate::id::{CallId, FileId, FunctionId};
use crate::store::row::tables;

tables! {
    PathFunction<'a>, PathFunctions = "path_function" {
        function_id: FunctionId => INTEGER,
        paths: Option<u64> => UBIGINT,
        increments: Option<bool> => BOOLEAN,
        position: &'a str => VARCHAR,
    }

    PathBlock<'a>, PathBlocks = "path_block" {
        path_block_id: u32 => INTEGER,
        function_id: FunctionId => INTEGER,
        number: u64 => UBIGINT,
        kind: &'a str => VARCHAR,
        executions: Option<u64> => BIGINT,
    }

    PathBlockLine, PathBlockLines = "path_block_line" {
        path_block_id: u32 => INTEGER,
        position: u32 => INTEGER,
        line: Option<u32> => INTEGER,
    }

    PathEdge, PathEdges = "path_edge" {
        path_edge_id: u32 => INTEGER,
        function_id: FunctionId => INTEGER,
        source_block_id: u32 => INTEGER,
        target_block_id: u32 => INTEGER,
        restarts: bool => BOOLEAN,
        increment: u64 => UBIGINT,
        weight: u64 => UBIGINT,
        path_weight: Option<u64> => UBIGINT,
        end_weight: Option<u64> => UBIGINT,
        end_increment: Option<u64> => UBIGINT,
        executions: Option<u64> => BIGINT,
    }

    PathFrame<'a>, PathFrames = "path_frame" {
        frame_id: u32 => INTEGER,
        call_id: CallId => INTEGER,
        function_id: FunctionId => INTEGER,
        file_id: Option<FileId> => INTEGER,
        line: Option<u32> => INTEGER,
        slots: Option<u32> => INTEGER,
        next_slot: Option<i64> => BIGINT,
        wrapped: Option<bool> => BOOLEAN,
        current_path: Option<i64> => BIGINT,
        calls_covered: Option<&'a str> => VARCHAR,
        blocks_covered: Option<&'a str> => VARCHAR,
    }

    ExecutedPath<'a>, ExecutedPaths = "executed_path" {
        executed_path_id: u32 => INTEGER,
        frame_id: u32 => INTEGER,
        ordinal: u32 => INTEGER,
        state: &'a str => VARCHAR,
        alternatives: u32 => INTEGER,
        number: Option<i64> => BIGINT,
        begin_edge_id: Option<u32> => INTEGER,
        end_edge_id: Option<u32> => INTEGER,
        ends_at_exit: Option<bool> => BOOLEAN,
    }

    ExecutedPathBlock, ExecutedPathBlocks = "executed_path_block" {
        executed_path_id: u32 => INTEGER,
        position: u32 => INTEGER,
        path_block_id: u32 => INTEGER,
    }
}
