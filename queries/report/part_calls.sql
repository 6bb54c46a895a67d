-- Calls from the parts that hold the call instruction to those with which the callee begins, and between the other functions. What
-- jumped to a tail instance is the part that called it, where that is expanded; else its parent is.
-- reads: function_call, instruction
-- needs: TEMP TABLE part (instruction_id, node)
-- caller_part (its first instruction; NULL: the function), caller_function_id, callee_part, callee_function_id, calls, steps (of the callee's instances, with all below them)
WITH entry AS (
    SELECT f.function_id, p.node
    FROM (SELECT i.function_id, min(i.instruction_id) AS instruction_id FROM part p JOIN instruction i USING (instruction_id)
          GROUP BY i.function_id) f
    JOIN part p ON p.instruction_id = f.instruction_id),
-- Mostly an instruction of a part has called: then nothing is asked of the caller's instance, and calls are counted before they are joined.
site AS (
    SELECT p.node, g.function_id, g.calls, g.steps
    FROM (SELECT call_instruction_id, function_id, count(*) AS calls, sum(steps_total) AS steps
          FROM function_call WHERE parent_call_id IS NOT NULL AND call_instruction_id IS NOT NULL
          GROUP BY call_instruction_id, function_id) g
    JOIN part p ON p.instruction_id = g.call_instruction_id),
other AS (
    SELECT parent.function_id AS caller_function_id, c.function_id, count(*) AS calls, sum(c.steps_total) AS steps
    FROM (SELECT parent_call_id, function_id, steps_total FROM function_call
          WHERE parent_call_id IS NOT NULL
            AND (call_instruction_id IS NULL OR call_instruction_id NOT IN (SELECT instruction_id FROM part))) c
    JOIN function_call parent ON parent.call_id = c.parent_call_id GROUP BY parent.function_id, c.function_id),
called AS (
    SELECT node, NULL AS caller_function_id, function_id, calls, steps FROM site
    UNION ALL
    SELECT a.node, CASE WHEN a.node IS NULL THEN o.caller_function_id END, o.function_id, o.calls, o.steps
    FROM other o LEFT JOIN entry a ON a.function_id = o.caller_function_id)
SELECT c.node AS caller_part, c.caller_function_id, b.node AS callee_part, CASE WHEN b.node IS NULL THEN c.function_id END AS callee_function_id,
       CAST(sum(c.calls) AS BIGINT) AS calls, CAST(sum(c.steps) AS BIGINT) AS steps
FROM called c LEFT JOIN entry b ON b.function_id = c.function_id
GROUP BY 1, 2, 3, 4;
