-- The same where call instances are not kept: calls of functions, at the part with which each begins.
-- reads: call_edge, instruction
-- needs: TEMP TABLE part (instruction_id, node)
-- caller_part (its first instruction; NULL: the function), caller_function_id, callee_part, callee_function_id, calls, steps
WITH entry AS (
    SELECT f.function_id, p.node
    FROM (SELECT i.function_id, min(i.instruction_id) AS instruction_id FROM part p JOIN instruction i USING (instruction_id)
          GROUP BY i.function_id) f
    JOIN part p ON p.instruction_id = f.instruction_id)
SELECT a.node AS caller_part, CASE WHEN a.node IS NULL THEN e.caller_function_id END AS caller_function_id,
       b.node AS callee_part, CASE WHEN b.node IS NULL THEN e.callee_function_id END AS callee_function_id, CAST(sum(e.calls) AS BIGINT) AS calls,
       CAST(sum(e.steps) AS BIGINT) AS steps
FROM call_edge e LEFT JOIN entry a ON a.function_id = e.caller_function_id LEFT JOIN entry b ON b.function_id = e.callee_function_id
WHERE e.caller_function_id IS NOT NULL
GROUP BY 1, 2, 3, 4;
