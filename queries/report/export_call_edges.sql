-- Calls by caller and callee, where call instances are not kept.
-- reads: call_edge
-- caller_function_id, callee_function_id, file_id, line (NULL and 0: not known), calls, steps (of the callee's instances, with all below)
SELECT caller_function_id, callee_function_id, NULL AS file_id, 0 AS line, CAST(sum(calls) AS BIGINT) AS calls,
       CAST(coalesce(sum(steps), 0) AS BIGINT) AS steps
FROM call_edge WHERE caller_function_id IS NOT NULL
GROUP BY caller_function_id, callee_function_id
ORDER BY 1, 2;
