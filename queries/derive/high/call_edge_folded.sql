-- call_edge with stubs merged into their callers.
-- reads: call_edge, function_call, folded_call
-- as the table call_edge_folded
WITH stub AS (SELECT DISTINCT function_id FROM folded_call)
SELECT caller_function_id, callee_function_id, kind, sum(calls)::BIGINT AS calls, sum(steps)::BIGINT AS steps
FROM (SELECT * FROM call_edge
      WHERE callee_function_id NOT IN (FROM stub)
            AND (caller_function_id IS NULL OR caller_function_id NOT IN (FROM stub))
      UNION ALL
      SELECT p.into_function_id, c.function_id, c.kind, 1, c.steps_total
      FROM function_call c JOIN folded_call p ON p.call_id = c.parent_call_id ANTI JOIN folded_call f ON f.call_id = c.call_id
      UNION ALL
      SELECT NULL, c.function_id, c.kind, 1, c.steps_total
      FROM function_call c JOIN folded_call f ON f.call_id = c.call_id WHERE f.into_call_id = f.call_id)
GROUP BY ALL
ORDER BY caller_function_id, callee_function_id, kind
