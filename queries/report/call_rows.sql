-- Call instances in order of their first steps, stubs merged into their callers.
-- reads: function_call
-- needs: TEMP TABLE merged (call_id, into_call_id): stub instances and what they are merged into, or no row
-- call_id, function_id, caller (the instance that it counts as called by, NULL: none), thread_id, steps_self, steps_total
WITH come AS (
    SELECT m.into_call_id AS call_id, sum(c.steps_self) AS steps FROM merged m JOIN function_call c ON c.call_id = m.call_id GROUP BY m.into_call_id)
SELECT c.call_id, c.function_id, coalesce(m.into_call_id, c.parent_call_id) AS caller, c.thread_id,
       CAST(c.steps_self + coalesce(come.steps, 0) AS BIGINT) AS steps_self, c.steps_total
FROM function_call c LEFT JOIN come ON come.call_id = c.call_id LEFT JOIN merged m ON m.call_id = c.parent_call_id
WHERE c.call_id NOT IN (SELECT call_id FROM merged)
ORDER BY c.call_id;
