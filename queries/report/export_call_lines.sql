-- Calls by caller, callee and the source line of the call instruction (NULL and 0 where that is not the caller's: what a tail jumped to).
-- reads: function_call, instruction
-- caller_function_id, callee_function_id, file_id, line, calls, steps (of the callee's instances, with all below them)
SELECT p.function_id AS caller_function_id, c.function_id AS callee_function_id, i.file_id, coalesce(i.line, 0) AS line,
       count(*) AS calls, CAST(coalesce(sum(c.steps_total), 0) AS BIGINT) AS steps
FROM function_call c JOIN function_call p ON p.call_id = c.parent_call_id
LEFT JOIN instruction i ON i.instruction_id = c.call_instruction_id AND i.function_id = p.function_id
GROUP BY p.function_id, c.function_id, i.file_id, coalesce(i.line, 0)
ORDER BY 1, 2, 3, 4;
