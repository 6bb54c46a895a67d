-- Calls from the parts that hold the call instruction to those with which the callee begins, and between the other functions. What
-- jumped to a tail instance is the part that called it, where that is expanded; else its parent is.
-- reads: function_call, instruction
-- needs: TEMP TABLE part (instruction_id, node)
-- caller_part (its first instruction; NULL: the function), caller_function_id, callee_part, callee_function_id, calls, steps (of the callee's instances, with all below them)
WITH entry AS (
    SELECT f.function_id, p.node
    FROM (SELECT i.function_id, min(i.instruction_id) AS instruction_id FROM part p JOIN instruction i USING (instruction_id)
          GROUP BY i.function_id) f
    JOIN part p ON p.instruction_id = f.instruction_id)
SELECT coalesce(site.node, above.node) AS caller_part,
       CASE WHEN coalesce(site.node, above.node) IS NULL THEN parent.function_id END AS caller_function_id,
       below.node AS callee_part, CASE WHEN below.node IS NULL THEN c.function_id END AS callee_function_id, count(*) AS calls, CAST(sum(c.steps_total) AS BIGINT) AS steps
FROM function_call c JOIN function_call parent ON parent.call_id = c.parent_call_id
LEFT JOIN part site ON site.instruction_id = c.call_instruction_id
LEFT JOIN entry above ON above.function_id = parent.function_id
LEFT JOIN entry below ON below.function_id = c.function_id
GROUP BY 1, 2, 3, 4;
