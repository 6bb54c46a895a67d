-- Calls by caller, callee and kind of call, stubs merged into their callers; a tail instance counts as called by its parent.
-- reads: call_edge_folded
-- caller_function_id, callee_function_id, calls, steps (of the callee's instances, with all below them)
SELECT caller_function_id, callee_function_id, calls, steps
FROM call_edge_folded
WHERE caller_function_id IS NOT NULL;
