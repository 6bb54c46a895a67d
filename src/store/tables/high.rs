//! Rows of `schema/3_high.sql`.

use crate::analysis::CallKind;
use crate::id::{CallId, FunctionId, InstructionId, IntervalId, Seq, StackId, ThreadId};
use crate::store::row::tables;

tables! {
    ControlFlow, ControlFlows = "control_flow_row" {
        interval_id: IntervalId => INTEGER,
        thread_id: ThreadId => INTEGER,
        call_id: CallId => INTEGER,
        function_id: FunctionId => INTEGER,
        start_seq: Option<Seq> => BIGINT,
        end_seq: Option<Seq> => BIGINT,
        start_time: Option<u64> => UBIGINT,
        end_time: Option<u64> => UBIGINT,
    }

    DataflowRow, DataflowRows = "dataflow_row" {
        writer_call_id: Option<CallId> => INTEGER,
        reader_call_id: CallId => INTEGER,
        writer_function_id: Option<FunctionId> => INTEGER,
        reader_function_id: FunctionId => INTEGER,
        place_id: u32 => UINTEGER,
        bytes: u64 => BIGINT,
        unique_bytes: Option<u64> => BIGINT,
        transfers: Option<u64> => BIGINT,
    }

    Place<'a>, Places = "place" {
        place_id: u32 => UINTEGER,
        via: &'a str => VARCHAR,
        function_id: Option<FunctionId> => INTEGER,
    }

    FunctionEdge<'a>, FunctionEdges = "function_edge" {
        writer_function_id: FunctionId => INTEGER,
        reader_function_id: FunctionId => INTEGER,
        via: Option<&'a str> => VARCHAR,
        bytes: Option<u64> => BIGINT,
        unique_bytes: Option<u64> => BIGINT,
        addresses: Option<u64> => BIGINT,
        transfers: Option<u64> => BIGINT,
    }

    InstructionEdge<'a>, InstructionEdges = "instruction_edge_row" {
        writer_instruction_id: Option<InstructionId> => INTEGER,
        reader_instruction_id: InstructionId => INTEGER,
        writer_function_id: FunctionId => INTEGER,
        via: Option<&'a str> => VARCHAR,
        bytes: Option<u64> => BIGINT,
        transfers: u64 => BIGINT,
    }

    FoldedCall, FoldedCalls = "folded_call_row" {
        call_id: CallId => INTEGER,
        function_id: FunctionId => INTEGER,
        into_call_id: CallId => INTEGER,
        into_function_id: FunctionId => INTEGER,
        steps_self: Option<u64> => BIGINT,
    }

    CallEdge, CallEdges = "call_edge" {
        caller_function_id: Option<FunctionId> => INTEGER,
        callee_function_id: FunctionId => INTEGER,
        kind: CallKind => VARCHAR,
        calls: u64 => BIGINT,
        steps: Option<u64> => BIGINT,
    }

    FunctionProfile, FunctionProfiles = "function_profile" {
        function_id: FunctionId => INTEGER,
        calls: Option<u64> => BIGINT,
        steps_self: Option<u64> => BIGINT,
        steps_total: Option<u64> => BIGINT,
        dead_bytes: Option<u64> => BIGINT,
        written_bytes: Option<u64> => BIGINT,
    }

    FunctionProfileFolded, FunctionProfilesFolded = "function_profile_folded" {
        function_id: FunctionId => INTEGER,
        calls: Option<u64> => BIGINT,
        steps_self: Option<u64> => BIGINT,
        steps_total: Option<u64> => BIGINT,
    }

    CallStack, CallStacks = "call_stack" {
        stack_id: StackId => INTEGER,
        parent_stack_id: Option<StackId> => INTEGER,
        function_id: FunctionId => INTEGER,
        depth: u32 => INTEGER,
        nested: bool => BOOLEAN,
    }

    StackProfile, StackProfiles = "stack_profile" {
        stack_id: StackId => INTEGER,
        calls: u64 => BIGINT,
        steps_self: u64 => BIGINT,
        steps_total: u64 => BIGINT,
    }

    StackEdge, StackEdges = "stack_edge" {
        writer_stack_id: Option<StackId> => INTEGER,
        reader_stack_id: Option<StackId> => INTEGER,
        writer_function_id: FunctionId => INTEGER,
        reader_function_id: FunctionId => INTEGER,
        via: &'static str => VARCHAR,
        bytes: u64 => BIGINT,
        unique_bytes: Option<u64> => BIGINT,
        transfers: u64 => BIGINT,
    }

    StartUp, StartUps = "start_up" {
        function_id: FunctionId => INTEGER,
        steps: u64 => BIGINT,
        entirely: bool => BOOLEAN,
    }

    Region<'a>, Regions = "region" {
        first_address: u64 => UBIGINT,
        last_address: u64 => UBIGINT,
        via: &'a str => VARCHAR,
    }
}
