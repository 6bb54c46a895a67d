-- Call instances of intervals, for whoever has steps; stubs merged into their callers.
-- reads: control_flow, merged, function_call
-- thread_id, start_seq, call_id (that it is merged into), function_id (of that)
SELECT i.thread_id, i.start_seq, c.call_id, c.function_id
FROM control_flow i LEFT JOIN merged m ON m.call_id = i.call_id JOIN function_call c ON c.call_id = coalesce(m.into_call_id, i.call_id)
ORDER BY i.thread_id, i.start_seq;
