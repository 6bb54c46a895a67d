//! Rows of `schema/6_time.sql`.

use crate::id::{CallId, FunctionId, StackId, ThreadId};
use crate::store::row::tables;

tables! {
    CallEventRow, CallEventRows = "call_event_row" {
        event_no: u64 => BIGINT,
        thread_id: ThreadId => INTEGER,
        time: u64 => UBIGINT,
        cpu: u16 => USMALLINT,
        kind: u8 => UTINYINT,
        function_id: FunctionId => INTEGER,
    }

    TraceEvent<'a>, TraceEvents = "trace_event" {
        event_no: u64 => BIGINT,
        thread_id: ThreadId => INTEGER,
        time: u64 => UBIGINT,
        cpu: u16 => USMALLINT,
        kind: &'a str => VARCHAR,
        r#type: Option<i32> => INTEGER,
        size: u64 => BIGINT,
        data: &'a [u8] => BLOB,
        call_id: Option<CallId> => INTEGER,
    }

    CallArgument, CallArguments = "call_argument" {
        call_id: CallId => INTEGER,
        ordinal: u32 => INTEGER,
        value: u64 => UBIGINT,
    }

    CallRecord, CallRecords = "call_record" {
        call_id: CallId => INTEGER,
        call_event: Option<u64> => BIGINT,
        return_event: Option<u64> => BIGINT,
        stack_id: Option<StackId> => INTEGER,
        ticks: Option<u64> => UBIGINT,
        ticks_self: Option<u64> => UBIGINT,
    }

    TraceFunction, TraceFunctions = "trace_function" {
        function_id: FunctionId => INTEGER,
        number: u32 => UINTEGER,
    }

    /// Calls of a stack by the ticks that they took.
    StackTicks, StackTicksRows = "stack_ticks" {
        stack_id: StackId => INTEGER,
        ticks: Option<u64> => UBIGINT,
        calls: u64 => BIGINT,
        ticks_self: u64 => UBIGINT,
    }
}
