-- The dynamic call graph, stubs merged into their callers.
-- reads: call_edge_folded, function_symbol
-- param function INTEGER: only calls of and by this function; NULL: all
-- param limit BIGINT: rows at most
-- caller, callee, kind, calls, steps (of the callee's instances, with all below them), steps_a_call
SELECT c.name AS caller, f.name AS callee, e.kind, e.calls, e.steps, round(CAST(e.steps AS DOUBLE) / e.calls, 1) AS steps_a_call
FROM call_edge_folded e LEFT JOIN function_symbol c ON c.function_id = e.caller_function_id
JOIN function_symbol f ON f.function_id = e.callee_function_id
WHERE CAST($1 AS INTEGER) IS NULL OR e.caller_function_id = $1 OR e.callee_function_id = $1
ORDER BY e.steps DESC NULLS LAST, e.calls DESC, caller, callee, e.kind
LIMIT $2;
