-- call_edge with stubs merged into their callers.
-- reads: call_edge, function_call, folded_call
-- as the table call_edge_folded
WITH stub AS (SELECT DISTINCT function_id FROM folded_call),
-- Few calls have to do with a stub instance, so that only they are grouped.
merged AS MATERIALIZED (
    SELECT caller_function_id, callee_function_id, kind, count(*) AS calls, sum(steps)::BIGINT AS steps
    FROM (SELECT p.into_function_id AS caller_function_id, c.function_id AS callee_function_id, c.kind, c.steps_total AS steps
          FROM function_call c JOIN folded_call p ON p.call_id = c.parent_call_id ANTI JOIN folded_call f ON f.call_id = c.call_id
          UNION ALL
          SELECT NULL, c.function_id, c.kind, c.steps_total
          FROM function_call c JOIN folded_call f ON f.call_id = c.call_id WHERE f.into_call_id = f.call_id)
    GROUP BY ALL),
own AS NOT MATERIALIZED (
    SELECT * FROM call_edge
    WHERE callee_function_id NOT IN (FROM stub)
          AND (caller_function_id IS NULL OR caller_function_id NOT IN (FROM stub))),
met AS MATERIALIZED (
    SELECT m.caller_function_id, m.callee_function_id, m.kind
    FROM own e JOIN merged m ON m.caller_function_id IS NOT DISTINCT FROM e.caller_function_id
         AND m.callee_function_id = e.callee_function_id AND m.kind = e.kind)
SELECT e.caller_function_id, e.callee_function_id, e.kind, e.calls + coalesce(m.calls, 0) AS calls,
       coalesce(e.steps + m.steps, e.steps, m.steps) AS steps
FROM own e LEFT JOIN merged m ON m.caller_function_id IS NOT DISTINCT FROM e.caller_function_id
     AND m.callee_function_id = e.callee_function_id AND m.kind = e.kind
UNION ALL
(SELECT m.caller_function_id, m.callee_function_id, m.kind, m.calls, m.steps
 FROM merged m ANTI JOIN met ON met.caller_function_id IS NOT DISTINCT FROM m.caller_function_id
      AND met.callee_function_id = m.callee_function_id AND met.kind = m.kind
 ORDER BY m.caller_function_id, m.callee_function_id, m.kind)
