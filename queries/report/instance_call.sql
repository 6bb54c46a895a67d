-- Calls between nodes of the instance level.
-- reads: function_call
-- needs: TEMP TABLE merged (call_id, into_call_id): stub instances and what they are merged into, and merged_function (function_id):
-- their functions; or no row
-- caller, callee (nodes), steps (of the callee, with all below it)
SELECT CAST(coalesce(m.into_call_id, c.parent_call_id) AS BIGINT) AS caller, CAST(c.call_id AS BIGINT) AS callee, c.steps_total AS steps
FROM function_call c
LEFT JOIN merged m ON m.call_id = c.parent_call_id
WHERE c.parent_call_id IS NOT NULL AND c.function_id NOT IN (SELECT function_id FROM merged_function);
