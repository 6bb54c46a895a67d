//! Calls and intervals as rows.

use crate::analysis::stack::{Call, Interval};
use crate::store::tables::{ControlFlow, FunctionCall};

/// A row of `function_call`, in a trace with steps.
pub fn with_steps(call: &Call) -> FunctionCall {
    FunctionCall {
        steps_self: Some(call.steps_self),
        steps_total: Some(call.steps_total),
        ..without_steps(call)
    }
}

/// A row of `function_call`, in a trace that has calls only.
pub fn without_steps(call: &Call) -> FunctionCall {
    FunctionCall {
        call_id: call.call,
        function_id: call.function,
        instance: call.instance,
        parent_call_id: call.parent,
        tail_of_call_id: call.tail_of,
        thread_id: call.thread,
        depth: call.depth,
        kind: call.kind,
        ending: call.ending,
        call_seq: call.begin.seq,
        return_seq: call.end.seq,
        call_time: call.begin.time,
        return_time: call.end.time,
        call_instruction_id: call.site,
        steps_self: None,
        steps_total: None,
        bytes_in: None,
    }
}

/// A row of `control_flow`.
pub fn interval(interval: &Interval) -> ControlFlow {
    ControlFlow {
        interval_id: interval.interval,
        thread_id: interval.thread,
        call_id: interval.call,
        function_id: interval.function,
        start_seq: interval.start.seq,
        end_seq: interval.end.seq,
        start_time: interval.start.time,
        end_time: interval.end.time,
    }
}
