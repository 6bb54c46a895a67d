//! Rows of `schema/5_control.sql`.

use crate::id::{BlockId, CallId, FileId, FunctionId, ImageId, LoopId, ProcessId, ThreadId};
use crate::store::row::tables;

tables! {
    BasicBlock<'a>, BasicBlocks = "basic_block" {
        basic_block_id: u32 => INTEGER,
        kind: &'a str => VARCHAR,
        number: Option<u64> => UBIGINT,
        process_id: Option<ProcessId> => INTEGER,
        image_id: Option<ImageId> => INTEGER,
        function_id: Option<FunctionId> => INTEGER,
        address: Option<u64> => UBIGINT,
        size: Option<u64> => UBIGINT,
        instructions: Option<u64> => BIGINT,
        last_address: Option<u64> => UBIGINT,
        file_id: Option<FileId> => INTEGER,
        line: Option<u32> => INTEGER,
        executions: Option<u64> => BIGINT,
        block_id: Option<BlockId> => INTEGER,
    }

    CfgEdge<'a>, CfgEdges = "cfg_edge" {
        cfg_edge_id: u32 => INTEGER,
        number: Option<u64> => UBIGINT,
        process_id: Option<ProcessId> => INTEGER,
        source_block_id: u32 => INTEGER,
        target_block_id: u32 => INTEGER,
        kind: &'a str => VARCHAR,
        r#type: Option<&'a str> => VARCHAR,
        count: Option<u64> => BIGINT,
    }

    CfgEdgeThread, CfgEdgeThreads = "cfg_edge_thread" {
        cfg_edge_id: u32 => INTEGER,
        thread_id: ThreadId => INTEGER,
        count: u64 => BIGINT,
    }

    Routine, Routines = "routine" {
        routine_id: u32 => INTEGER,
        process_id: Option<ProcessId> => INTEGER,
        image_id: Option<ImageId> => INTEGER,
        function_id: Option<FunctionId> => INTEGER,
        entry_block_id: u32 => INTEGER,
        entries: Option<u64> => BIGINT,
    }

    RoutineBlock, RoutineBlocks = "routine_block" {
        routine_id: u32 => INTEGER,
        basic_block_id: u32 => INTEGER,
        dominator_block_id: Option<u32> => INTEGER,
        is_exit: bool => BOOLEAN,
    }

    Loop, Loops = "loop" {
        loop_id: LoopId => INTEGER,
        routine_id: Option<u32> => INTEGER,
        function_id: Option<FunctionId> => INTEGER,
        header_block_id: u32 => INTEGER,
        parent_loop_id: Option<LoopId> => INTEGER,
        depth: u32 => INTEGER,
        entries: Option<u64> => BIGINT,
        iterations: Option<u64> => BIGINT,
        steps: Option<u64> => BIGINT,
    }

    LoopBlock, LoopBlocks = "loop_block" {
        loop_id: LoopId => INTEGER,
        basic_block_id: u32 => INTEGER,
        is_back_edge_source: bool => BOOLEAN,
    }

    LoopInstance, LoopInstances = "loop_instance" {
        loop_instance_id: u32 => INTEGER,
        loop_id: LoopId => INTEGER,
        instance: u32 => INTEGER,
        call_id: CallId => INTEGER,
        parent_instance_id: Option<u32> => INTEGER,
        thread_id: ThreadId => INTEGER,
        start_seq: u64 => BIGINT,
        end_seq: u64 => BIGINT,
        iterations: u64 => BIGINT,
    }

    LoopIteration, LoopIterations = "loop_iteration" {
        loop_instance_id: u32 => INTEGER,
        iteration: u64 => BIGINT,
        start_seq: u64 => BIGINT,
    }
}
