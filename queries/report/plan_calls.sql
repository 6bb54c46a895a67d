-- Calls by caller (NULL: nothing of the run) and callee.
-- reads: call_edge
-- caller_function_id, callee_function_id, calls, steps (of the callee's instances, with all below them)
SELECT caller_function_id, callee_function_id, CAST(sum(calls) AS BIGINT) AS calls, CAST(coalesce(sum(steps), 0) AS BIGINT) AS steps
FROM call_edge GROUP BY caller_function_id, callee_function_id
ORDER BY caller_function_id NULLS FIRST, callee_function_id;
