-- The same where call instances are not kept: calls of functions, at the part with which each begins.
-- reads: call_edge, instruction
-- needs: TEMP TABLE part (instruction_id, node)
-- caller, callee (nodes), calls, steps
WITH entry AS (
    SELECT f.function_id, p.node
    FROM (SELECT i.function_id, min(i.instruction_id) AS instruction_id FROM part p JOIN instruction i USING (instruction_id)
          GROUP BY i.function_id) f
    JOIN part p ON p.instruction_id = f.instruction_id)
SELECT CAST(coalesce(a.node, e.caller_function_id) AS BIGINT) AS caller,
       CAST(coalesce(b.node, e.callee_function_id) AS BIGINT) AS callee, CAST(sum(e.calls) AS BIGINT) AS calls,
       CAST(sum(e.steps) AS BIGINT) AS steps
FROM call_edge e LEFT JOIN entry a ON a.function_id = e.caller_function_id LEFT JOIN entry b ON b.function_id = e.callee_function_id
WHERE e.caller_function_id IS NOT NULL
GROUP BY 1, 2;
