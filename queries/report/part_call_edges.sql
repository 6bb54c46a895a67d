-- The same where call instances are not kept: calls of functions, at the part with which each begins.
-- reads: call_edge, instruction
-- needs: TEMP TABLE part (instruction_id, node)
-- caller, callee (nodes), calls, steps
WITH entry AS (
    SELECT i.function_id, arg_min(p.node, i.instruction_id) AS node FROM part p JOIN instruction i USING (instruction_id) GROUP BY ALL)
SELECT coalesce(a.node, e.caller_function_id)::BIGINT AS caller, coalesce(b.node, e.callee_function_id)::BIGINT AS callee,
       sum(e.calls)::BIGINT AS calls, sum(e.steps)::BIGINT AS steps
FROM call_edge e LEFT JOIN entry a ON a.function_id = e.caller_function_id LEFT JOIN entry b ON b.function_id = e.callee_function_id
WHERE e.caller_function_id IS NOT NULL
GROUP BY ALL;
