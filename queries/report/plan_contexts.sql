-- Calling contexts with their own steps, callers before what they call.
-- reads: call_stack, stack_profile
-- stack_id, parent_stack_id (NULL: none), function_id, steps (its own)
SELECT c.stack_id, c.parent_stack_id, c.function_id, CAST(coalesce(p.steps_self, 0) AS BIGINT) AS steps
FROM call_stack c LEFT JOIN stack_profile p ON p.stack_id = c.stack_id
ORDER BY c.depth, c.stack_id;
