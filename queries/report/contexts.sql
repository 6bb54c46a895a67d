-- Calling contexts as the build found them, stubs merged into their callers, in order of their first calls.
-- reads: call_stack, stack_profile
-- stack_id, parent_stack_id (NULL: a root), function_id, depth, calls, steps_self, steps_total
SELECT stack_id, parent_stack_id, function_id, depth, calls, steps_self, steps_total
FROM call_stack JOIN stack_profile USING (stack_id)
ORDER BY stack_id;
