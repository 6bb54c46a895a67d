-- Calls from the parts that hold the call instruction to those with which the callee begins, and between the other functions. What
-- jumped to a tail instance is the part that called it, where that is expanded; else its parent is.
-- reads: function_call, instruction
-- needs: TEMP TABLE part (instruction_id, node)
-- caller, callee (nodes), calls, steps (of the callee's instances, with all below them)
WITH entry AS (
    SELECT f.function_id, p.node
    FROM (SELECT i.function_id, min(i.instruction_id) AS instruction_id FROM part p JOIN instruction i USING (instruction_id)
          GROUP BY i.function_id) f
    JOIN part p ON p.instruction_id = f.instruction_id)
SELECT CAST(coalesce(site.node, above.node, parent.function_id) AS BIGINT) AS caller,
       CAST(coalesce(below.node, c.function_id) AS BIGINT) AS callee, count(*) AS calls, CAST(sum(c.steps_total) AS BIGINT) AS steps
FROM function_call c JOIN function_call parent ON parent.call_id = c.parent_call_id
LEFT JOIN part site ON site.instruction_id = c.call_instruction_id
LEFT JOIN entry above ON above.function_id = parent.function_id
LEFT JOIN entry below ON below.function_id = c.function_id
GROUP BY 1, 2;
