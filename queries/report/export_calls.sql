-- Call instances by thread, in order of their first steps, stubs merged into their callers.
-- reads: function_call
-- needs: TEMP TABLE merged (call_id, into_call_id): stub instances and what they are merged into, or no row
-- call_id, function_id, instance, caller (the instance that it counts as called by, NULL: none), thread_id, first, last (seq, exclusive),
-- own (steps of itself)
WITH come AS (
    SELECT m.into_call_id AS call_id, sum(c.steps_self) AS steps
    FROM merged m JOIN function_call c ON c.call_id = m.call_id GROUP BY m.into_call_id)
SELECT c.call_id, c.function_id, c.instance, coalesce(m.into_call_id, c.parent_call_id) AS caller, c.thread_id, c.call_seq AS first,
       c.return_seq + 1 AS last, CAST(c.steps_self + coalesce(come.steps, 0) AS BIGINT) AS own
FROM function_call c LEFT JOIN come ON come.call_id = c.call_id LEFT JOIN merged m ON m.call_id = c.parent_call_id
WHERE c.call_id NOT IN (SELECT call_id FROM merged)
ORDER BY c.thread_id, c.call_id;
